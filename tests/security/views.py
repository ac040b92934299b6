"""Views give no account more than their definers have, and those who use them only what the views show.

The expectations are MySQL 9.7's; with `--address` of such a server the same statements are checked there.
"""
import pymysql

from support.address import Address
from support.report import Report

# 1356 names the view, and nothing that it is made of.
INVALID = (1356, "references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them")


def denied(what: str, name: str) -> tuple[int, str]:
    return 1142, f"{what} command denied to user 'views_u'@'localhost' for table '{name}'"


class Views:
    def __init__(self, address: Address, report: Report):
        self.address, self.report = address, report
        self.user = Address(address.host, address.port, "views_u")

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("views/" + name.removeprefix("case_")):
                try:
                    getattr(self, name)()
                finally:
                    self.root("DROP USER IF EXISTS views_u, views_d, views_r", "DROP DATABASE IF EXISTS views_db")

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def fresh(self, *statements: str) -> None:
        self.root("DROP USER IF EXISTS views_u, views_d, views_r", "DROP DATABASE IF EXISTS views_db", "CREATE DATABASE views_db",
                  "CREATE TABLE views_db.t (id INT PRIMARY KEY, a INT, secret INT)", "INSERT INTO views_db.t VALUES (1, 10, 100), (2, 20, 200)",
                  "CREATE USER views_u, views_d", "CREATE ROLE views_r", *statements)

    def check(self, *cases: tuple) -> None:
        """Statements of views_u, and how they fail; None: they do not; a list: their rows."""
        wrong = []
        with self.user.connect(database="views_db") as connection, connection.cursor() as cursor:
            for statement, expected in cases:
                try:
                    cursor.execute(statement)
                    seen = [list(row) for row in cursor.fetchall()]
                except pymysql.err.MySQLError as error:
                    seen = error.args[0], error.args[1]
                if isinstance(expected, tuple):
                    fits = isinstance(seen, tuple) and seen[0] == expected[0] and expected[1] in seen[1]
                else:
                    fits = isinstance(seen, list) and expected in (None, seen)
                if not fits:
                    wrong.append(f"{statement}: {seen}, expected {expected}")
        assert not wrong, "\n".join(wrong)

    def case_a_view_shows_what_its_definer_reads(self):
        self.fresh("GRANT SELECT (id, a) ON views_db.t TO views_d", "CREATE DEFINER=views_d VIEW views_db.v AS SELECT id, a FROM views_db.t",
                   "CREATE DEFINER=views_d VIEW views_db.w AS SELECT id, secret FROM views_db.t", "GRANT SELECT ON views_db.v TO views_u", "GRANT SELECT ON views_db.w TO views_u")
        self.check(("SELECT * FROM v ORDER BY id", [[1, 10], [2, 20]]), ("SELECT * FROM t", denied("SELECT", "t")), ("SELECT * FROM w", INVALID), ("SELECT secret FROM w", INVALID))
        self.root("REVOKE SELECT (id, a) ON views_db.t FROM views_d")
        self.check(("SELECT * FROM v", INVALID))

    def case_an_invoker_s_view_shows_what_its_user_reads(self):
        self.fresh("CREATE SQL SECURITY INVOKER VIEW views_db.v AS SELECT id, a FROM views_db.t", "GRANT SELECT ON views_db.v TO views_u",
                   "CREATE DEFINER=views_d VIEW views_db.outside AS SELECT id FROM views_db.v", "GRANT SELECT ON views_db.outside TO views_u")
        self.check(("SELECT * FROM v", INVALID), ("SELECT * FROM outside", INVALID))
        self.root("GRANT SELECT (id, a) ON views_db.t TO views_u")
        self.check(("SELECT * FROM v ORDER BY id", [[1, 10], [2, 20]]), ("SELECT * FROM outside", INVALID))
        # Inside a definer's view the invoker is that definer.
        self.root("REVOKE SELECT (id, a) ON views_db.t FROM views_u", "GRANT SELECT ON views_db.* TO views_d")
        self.check(("SELECT * FROM v", INVALID), ("SELECT * FROM outside ORDER BY id", [[1], [2]]))

    def case_the_definer_s_default_roles_count(self):
        self.fresh("GRANT SELECT ON views_db.t TO views_r", "GRANT views_r TO views_d", "CREATE DEFINER=views_d VIEW views_db.v AS SELECT id FROM views_db.t",
                   "GRANT SELECT ON views_db.v TO views_u")
        self.check(("SELECT * FROM v", INVALID))
        self.root("SET DEFAULT ROLE views_r TO views_d")
        self.check(("SELECT * FROM v ORDER BY id", [[1], [2]]))

    def case_columns_of_a_view(self):
        self.fresh("CREATE VIEW views_db.v AS SELECT id, a, secret FROM views_db.t", "GRANT SELECT (id, a) ON views_db.v TO views_u")
        hidden = 1143, "SELECT command denied to user 'views_u'@'localhost' for column 'secret' in table 'v'"
        self.check(("SELECT a FROM v WHERE id = 1", [[10]]), ("SELECT secret FROM v", hidden), ("SELECT a FROM v WHERE secret = 100", hidden), ("SELECT * FROM v", denied("SELECT", "v")))

    def case_a_definer_that_is_gone(self):
        self.fresh("GRANT SELECT ON views_db.t TO views_d", "CREATE DEFINER=views_d VIEW views_db.v AS SELECT id FROM views_db.t", "GRANT SELECT ON views_db.v TO views_u", "DROP ROLE views_r")
        try:
            self.root("DROP USER views_d")
        except pymysql.err.MySQLError:
            self.root("RENAME USER views_d TO views_r")
        self.check(("SELECT * FROM v", (1045, "Access denied for user 'views_u'@")))
        try:
            self.root("SELECT * FROM views_db.v")
        except pymysql.err.MySQLError as error:
            assert error.args == (1449, "The user specified as a definer ('views_d'@'%') does not exist"), error
        else:
            raise AssertionError("it is read")

    def case_prepared_statements_are_checked_again(self):
        self.fresh("GRANT SELECT ON views_db.t TO views_d", "CREATE DEFINER=views_d VIEW views_db.v AS SELECT id FROM views_db.t", "GRANT SELECT ON views_db.v TO views_u")
        with self.user.connect(database="views_db") as connection, connection.cursor() as cursor:
            cursor.execute("PREPARE p FROM 'SELECT id FROM v WHERE id = 1'")
            for change, code in [("SELECT 1", None), ("REVOKE SELECT ON views_db.t FROM views_d", 1356), ("GRANT SELECT ON views_db.t TO views_d", None),
                                 ("REVOKE SELECT ON views_db.v FROM views_u", 1142)]:
                self.root(change)
                for statement in ("EXECUTE p", "SELECT id FROM v WHERE id = 2"):
                    try:
                        cursor.execute(statement)
                        seen = None
                    except pymysql.err.MySQLError as error:
                        seen = error.args[0]
                    assert seen == code, (change, statement, seen)

    def case_who_may_make_views(self):
        self.fresh("GRANT SELECT ON views_db.t TO views_u")
        self.check(("CREATE VIEW v AS SELECT id FROM t", denied("CREATE VIEW", "v")))
        self.root("GRANT CREATE VIEW ON views_db.* TO views_u")
        self.check(("CREATE VIEW v AS SELECT id FROM t", None), ("CREATE OR REPLACE VIEW v AS SELECT a FROM t", denied("DROP", "v")), ("ALTER VIEW v AS SELECT a FROM t", denied("DROP", "v")),
                   ("DROP VIEW v", denied("DROP", "v")))
        self.root("GRANT DROP ON views_db.v TO views_u")
        any_definer = 1227, "SET_ANY_DEFINER"
        self.check(("CREATE OR REPLACE DEFINER=views_d VIEW v AS SELECT a FROM t", any_definer), ("CREATE OR REPLACE DEFINER='skip-grants user'@'skip-grants host' VIEW v AS SELECT a FROM t", any_definer),
                   ("CREATE OR REPLACE DEFINER=views_u VIEW v AS SELECT a FROM t", None), ("CREATE OR REPLACE DEFINER=CURRENT_USER VIEW v AS SELECT a FROM t", None), ("DROP VIEW v", None))

    def case_no_account_is_everybody(self):
        self.fresh("GRANT CREATE VIEW, DROP, SELECT ON views_db.* TO views_u", "GRANT SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER ON *.* TO views_u")
        nobody = 1045, "Access denied for user 'views_u'@"
        self.check(("CREATE DEFINER='skip-grants user'@'skip-grants host' VIEW v AS SELECT id FROM t", None), ("SELECT * FROM v", nobody))

    def case_who_is_shown_the_definition(self):
        self.fresh("CREATE VIEW views_db.v AS SELECT id FROM views_db.t WHERE secret > 0", "GRANT SELECT ON views_db.v TO views_u")
        listed = "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'views_db'"
        self.check(("SHOW CREATE VIEW v", denied("SHOW VIEW", "v")), (listed, [[""]]), ("DESCRIBE v", None))
        self.root("GRANT SHOW VIEW ON views_db.v TO views_u")
        self.check(("SHOW CREATE VIEW v", None), (listed, [["select `views_db`.`t`.`id` AS `id` from `views_db`.`t` where (`views_db`.`t`.`secret` > 0)"]]))
        self.root("REVOKE SELECT ON views_db.v FROM views_u")
        self.check(("SHOW CREATE VIEW v", denied("SELECT", "v")))


def run(server: Address, report: Report) -> None:
    Views(server, report).run()

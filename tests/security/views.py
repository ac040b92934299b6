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


def check_codes(cursor, statements: tuple[str, ...], code: int | None, after: str) -> None:
    """All of the statements fail with this error; None: none of them fails."""
    for statement in statements:
        try:
            cursor.execute(statement)
            seen = None
        except pymysql.err.MySQLError as error:
            seen = error.args[0]
        assert seen == code, (after, statement, seen)


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

    def case_changes_need_the_privilege_on_the_view(self):
        self.fresh("CREATE VIEW views_db.v AS SELECT id, a FROM views_db.t", "GRANT SELECT ON views_db.v TO views_u")
        column = lambda what, name: (1143, f"{what} command denied to user 'views_u'@'localhost' for column '{name}' in table 'v'")
        self.check(("UPDATE v SET a = 1", denied("UPDATE", "v")), ("DELETE FROM v", denied("DELETE", "v")), ("INSERT INTO v VALUES (3, 3)", denied("INSERT", "v")),
                   ("REPLACE INTO v VALUES (1, 3)", denied("INSERT, DELETE", "v")), ("INSERT INTO v VALUES (1, 3) ON DUPLICATE KEY UPDATE a = 1", denied("INSERT, UPDATE", "v")),
                   ("DELETE v FROM v JOIN v x USING (id)", denied("DELETE", "v")), ("SELECT * FROM v FOR UPDATE", denied("SELECT with locking clause", "v")),
                   ("UPDATE t SET a = 1", denied("UPDATE", "t")))
        self.root("GRANT UPDATE (a), INSERT (id) ON views_db.v TO views_u")
        self.check(("UPDATE v SET a = a + 1 WHERE id = 1", None), ("UPDATE v SET id = 7", column("UPDATE", "id")), ("UPDATE v x, v y SET x.id = 7 WHERE x.id = y.id", column("UPDATE", "id")),
                   ("INSERT INTO v (id) VALUES (3)", None), ("INSERT INTO v (id, a) VALUES (4, 4)", column("INSERT", "a")), ("INSERT INTO v VALUES (4, 4)", denied("INSERT", "v")),
                   ("INSERT INTO v (id) VALUES (1) ON DUPLICATE KEY UPDATE a = 12", None), ("INSERT INTO v (id) VALUES (1) ON DUPLICATE KEY UPDATE id = 12", column("UPDATE", "id")),
                   ("UPDATE v SET secret = 1", column("UPDATE", "secret")), ("SELECT * FROM v ORDER BY id", [[1, 12], [2, 20], [3, None]]))
        self.root("REVOKE SELECT ON views_db.v FROM views_u")
        self.check(("UPDATE v SET a = 1", None), ("UPDATE v SET a = a + 1", column("SELECT", "a")), ("UPDATE v SET a = 1 WHERE id = 1", column("SELECT", "id")))

    def case_changes_are_made_with_the_definer_s_rights(self):
        self.fresh("GRANT SELECT ON views_db.t TO views_d", "CREATE DEFINER=views_d VIEW views_db.v AS SELECT id, a FROM views_db.t WHERE id < 10",
                   "GRANT ALL ON views_db.v TO views_u", "CREATE DEFINER=views_d VIEW views_db.j AS SELECT x.id, x.a, y.id AS id2, y.secret FROM views_db.t x JOIN views_db.t y ON x.id = y.id",
                   "GRANT ALL ON views_db.j TO views_u")
        changes = ["UPDATE v SET a = 1", "DELETE FROM v", "INSERT INTO v VALUES (3, 3)", "REPLACE INTO v VALUES (1, 1)", "INSERT INTO v VALUES (1, 1) ON DUPLICATE KEY UPDATE a = 1",
                   "UPDATE v x, v y SET x.a = 1 WHERE x.id = y.id", "DELETE x FROM v x JOIN v y USING (id)", "UPDATE j SET a = 1", "UPDATE j SET secret = 1", "INSERT INTO j (id, a) VALUES (3, 3)"]
        self.check(*((change, INVALID) for change in changes))
        self.root("GRANT UPDATE (a), INSERT (id) ON views_db.t TO views_d")
        self.check(("UPDATE v SET a = a + 1 WHERE id = 1", None), ("UPDATE v SET id = 5", INVALID), ("UPDATE j SET a = a + 1 WHERE id2 = 1", None), ("UPDATE j SET secret = 1", INVALID),
                   ("UPDATE j SET id2 = 9", INVALID), ("INSERT INTO v (id) VALUES (3)", None), ("INSERT INTO v VALUES (4, 4)", INVALID), ("REPLACE INTO v (id) VALUES (3)", INVALID),
                   ("INSERT INTO v (id) VALUES (3) ON DUPLICATE KEY UPDATE a = 33", None), ("INSERT INTO v (id) VALUES (3) ON DUPLICATE KEY UPDATE id = 4", INVALID), ("DELETE FROM v", INVALID),
                   ("SELECT * FROM v ORDER BY id", [[1, 12], [2, 20], [3, 33]]))
        self.root("GRANT DELETE ON views_db.t TO views_d")
        self.check(("REPLACE INTO v (id) VALUES (3)", None), ("DELETE FROM v WHERE id = 3", None), ("DELETE FROM v WHERE id = 77", None))

    def case_changes_through_views_of_views(self):
        self.fresh("GRANT ALL ON views_db.t TO views_d", "CREATE USER views_e", "CREATE DEFINER=views_d VIEW views_db.v AS SELECT id, a FROM views_db.t",
                   "GRANT SELECT ON views_db.v TO views_e", "CREATE DEFINER=views_e VIEW views_db.w AS SELECT id, a FROM views_db.v", "GRANT ALL ON views_db.w TO views_u")
        try:
            self.check(("UPDATE w SET a = 1", INVALID), ("DELETE FROM w", INVALID), ("INSERT INTO w VALUES (3, 3)", INVALID), ("UPDATE v SET a = 1", denied("UPDATE", "v")))
            self.root("GRANT UPDATE (a), INSERT (id), DELETE ON views_db.v TO views_e")
            self.check(("UPDATE w SET a = a + 1", None), ("UPDATE w SET id = id + 1", INVALID), ("INSERT INTO w (id) VALUES (3)", None), ("INSERT INTO w VALUES (4, 4)", INVALID),
                       ("DELETE FROM w WHERE id = 3", None))
            self.root("REVOKE UPDATE, DELETE ON views_db.t FROM views_d")
            self.check(("UPDATE w SET a = a + 1", INVALID), ("DELETE FROM w", INVALID), ("INSERT INTO w (id) VALUES (3)", None))
        finally:
            self.root("DROP VIEW views_db.w", "DROP USER views_e")

    def case_an_invoker_s_view_is_changed_with_its_user_s_rights(self):
        self.fresh("CREATE SQL SECURITY INVOKER VIEW views_db.v AS SELECT id, a FROM views_db.t", "GRANT ALL ON views_db.v TO views_u", "GRANT SELECT ON views_db.t TO views_u")
        self.check(("SELECT COUNT(*) FROM v", [[2]]), ("UPDATE v SET a = 1", INVALID), ("DELETE FROM v", INVALID), ("INSERT INTO v VALUES (3, 3)", INVALID))
        self.root("GRANT UPDATE (a) ON views_db.t TO views_u")
        self.check(("UPDATE v SET a = a + 1", None), ("UPDATE v SET id = id + 5", INVALID))

    def case_prepared_changes_are_checked_again(self):
        self.fresh("GRANT SELECT, UPDATE ON views_db.t TO views_d", "CREATE DEFINER=views_d VIEW views_db.v AS SELECT id, a FROM views_db.t", "GRANT SELECT, UPDATE ON views_db.v TO views_u")
        with self.user.connect(database="views_db") as connection, connection.cursor() as cursor:
            cursor.execute("PREPARE p FROM 'UPDATE v SET a = a + 1 WHERE id = 1'")
            for change, code in [("SELECT 1", None), ("REVOKE UPDATE ON views_db.t FROM views_d", 1356), ("GRANT UPDATE ON views_db.t TO views_d", None),
                                 ("REVOKE UPDATE ON views_db.v FROM views_u", 1142), ("GRANT UPDATE ON views_db.v TO views_u", None),
                                 ("CREATE OR REPLACE DEFINER=views_d VIEW views_db.v AS SELECT id, a + 1 AS a FROM views_db.t", 1348)]:
                self.root(change)
                check_codes(cursor, ("EXECUTE p", "UPDATE v SET a = a + 1 WHERE id = 2"), code, after=change)

    def case_what_a_view_does_not_show_stays(self):
        self.fresh("CREATE VIEW views_db.v AS SELECT id, a FROM views_db.t WHERE a < 15 WITH CHECK OPTION", "GRANT ALL ON views_db.v TO views_u")
        failed = 1369, "CHECK OPTION failed 'views_db.v'"
        unseen = 3059, "REPLACE cannot be executed"
        self.check(("UPDATE v SET a = 1 WHERE id = 2", None), ("DELETE FROM v WHERE id = 2", None), ("UPDATE v x, v y SET x.a = 2 WHERE y.id = 1", None), ("REPLACE INTO v VALUES (2, 3)", unseen),
                   ("INSERT INTO v VALUES (2, 3) ON DUPLICATE KEY UPDATE id = 5", failed), ("UPDATE v SET a = 15", failed), ("INSERT INTO v VALUES (3, 15)", failed),
                   ("UPDATE v x, v y SET x.a = 20 WHERE y.id = 1", failed), ("INSERT INTO v SELECT 3, 15", failed), ("DELETE x FROM v x, v y", None))
        assert self.root("SELECT * FROM views_db.t") == ((2, 20, 200),), self.root("SELECT * FROM views_db.t")

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
                check_codes(cursor, ("EXECUTE p", "SELECT id FROM v WHERE id = 2"), code, after=change)

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

    def case_a_plan_shows_what_is_below_a_view_to_those_who_see_it(self):
        hidden = 1345, "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table"
        self.fresh("CREATE DEFINER=root@localhost VIEW views_db.v AS SELECT id, a FROM views_db.t", "GRANT SELECT, UPDATE ON views_db.v TO views_u")
        plans = ("EXPLAIN SELECT * FROM v", "EXPLAIN UPDATE v SET a = 1")
        self.check(*((plan, hidden) for plan in plans))
        self.root("GRANT SELECT, UPDATE ON views_db.t TO views_u")
        self.check(*((plan, hidden) for plan in plans))
        self.root("GRANT SHOW VIEW ON views_db.v TO views_u")
        self.check(*((plan, None) for plan in plans))

    def case_a_view_that_doubles_another_again_and_again_is_refused(self):
        self.fresh("CREATE VIEW views_db.v0 AS SELECT id, a FROM views_db.t")
        for depth in range(1, 40):
            try:
                self.root(f"CREATE VIEW views_db.v{depth} AS SELECT id, a + a AS a FROM views_db.v{depth - 1}")
            except pymysql.err.MySQLError as error:
                assert error.args[0] == 1473, error
                return
        raise AssertionError("40 views, each with two copies of the one before, were taken")

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

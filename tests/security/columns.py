"""Privileges on columns: every statement that reads or writes one is asked, whichever clause names it, and none tells of others.

The expectations are MySQL 9.7's, by `--address` of such a server the same statements are checked there. Where Tidemark allows less
than MySQL the case says so.
"""
import pymysql

from support.address import Address
from support.report import Report

GRANT = "GRANT SELECT (id, a), INSERT (id, b), UPDATE (b), REFERENCES (c) ON cols_db.t TO {}"


def denied(privilege: str, column: str) -> tuple[int, str]:
    return 1143, f"{privilege} command denied to user 'cols_u'@'localhost' for column '{column}' in table 't'"


def table(privilege: str, name: str = "t") -> tuple[int, str]:
    return 1142, f"{privilege} command denied to user 'cols_u'@'localhost' for table '{name}'"


# A statement of an account with the privileges of GRANT, and how it fails; None: it does not.
READS = [
    ("SELECT id, a FROM t", None),
    ("SELECT * FROM t", table("SELECT")),
    ("SELECT t.* FROM t", table("SELECT")),
    ("SELECT x.*, 1 FROM t x", table("SELECT")),
    ("TABLE t", table("SELECT")),
    ("SELECT b FROM t", denied("SELECT", "b")),
    ("SELECT b FROM t x", denied("SELECT", "b")),
    ("SELECT x.b FROM cols_db.t x", denied("SELECT", "b")),
    ("SELECT cols_db.t.b FROM cols_db.t", denied("SELECT", "b")),
    ("SELECT a + b FROM t", denied("SELECT", "b")),
    ("SELECT IF(0, c, 1) FROM t", denied("SELECT", "c")),
    ("SELECT 1 FROM t", None),
    ("SELECT COUNT(*) FROM t", None),
    ("SELECT COUNT(c) FROM t", denied("SELECT", "c")),
    ("SELECT COUNT(DISTINCT a, c) FROM t", denied("SELECT", "c")),
    ("SELECT GROUP_CONCAT(a ORDER BY c) FROM t", denied("SELECT", "c")),
    ("SELECT id FROM t WHERE b = 1", denied("SELECT", "b")),
    ("SELECT id FROM t WHERE id = 1 AND b IS NULL", denied("SELECT", "b")),
    ("SELECT id FROM t ORDER BY c", denied("SELECT", "c")),
    ("SELECT id FROM t GROUP BY c", denied("SELECT", "c")),
    ("SELECT MIN(id) FROM t GROUP BY a HAVING MAX(c) > 0", denied("SELECT", "c")),
    ("SELECT a AS b FROM t ORDER BY b", None),
    ("SELECT a AS b FROM t GROUP BY b", denied("SELECT", "b")),
    ("SELECT a AS b FROM t HAVING b > 0", None),
    ("SELECT t1.id FROM t t1 JOIN t t2 ON t1.a = t2.b", denied("SELECT", "b")),
    ("SELECT t1.id FROM t t1 LEFT JOIN t t2 ON t2.c = 1", denied("SELECT", "c")),
    ("SELECT t1.id FROM t t1 JOIN t t2 USING (id)", None),
    ("SELECT t1.id, t2.a FROM t t1 JOIN t t2 USING (id, a)", None),
    ("SELECT b FROM t t1, t t2", denied("SELECT", "b")),
    ("SELECT 1 FROM t, s", table("SELECT", "s")),
    ("SELECT id FROM s", table("SELECT", "s")),
    ("SELECT x.id FROM (SELECT * FROM t) x", table("SELECT")),
    ("SELECT x.id FROM (SELECT id FROM t) x", None),
    ("SELECT * FROM (SELECT id, a FROM t) x", None),
    ("SELECT (SELECT b FROM t LIMIT 1)", denied("SELECT", "b")),
    ("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t t2 WHERE t2.c = t.id)", denied("SELECT", "c")),
    ("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM t t2 WHERE t2.id = t.c)", denied("SELECT", "c")),
    ("SELECT id FROM t WHERE a IN (SELECT b FROM t)", denied("SELECT", "b")),
    ("WITH w AS (SELECT b FROM t) SELECT b FROM w", denied("SELECT", "b")),
    ("WITH RECURSIVE w (n) AS (SELECT a FROM t UNION SELECT n + c FROM w, t) SELECT n FROM w", denied("SELECT", "c")),
    ("SELECT id FROM t UNION SELECT b FROM t", denied("SELECT", "b")),
    ("SELECT id FROM t UNION SELECT a FROM t ORDER BY 1", None),
    ("SELECT id FROM t FOR UPDATE", None),
    ("SELECT id FROM t FOR SHARE", None),
    ("SELECT c FROM t FOR UPDATE", denied("SELECT", "c")),
    ("SELECT id FROM t USE INDEX (c)", None),
    ("DO (SELECT b FROM t LIMIT 1)", denied("SELECT", "b")),
    ("SET @x = (SELECT b FROM t LIMIT 1)", denied("SELECT", "b")),
    ("EXPLAIN SELECT b FROM t", denied("SELECT", "b")),
    ("EXPLAIN SELECT id FROM t", None),
    ("PREPARE p FROM 'SELECT c FROM t'", denied("SELECT", "c")),
    ("PREPARE p FROM 'SELECT * FROM t'", table("SELECT")),
    ("PREPARE p FROM 'SELECT id FROM t WHERE a = ?'", None),
    # What is not there is not told from what is.
    ("SELECT nosuch FROM t", denied("SELECT", "nosuch")),
    ("SELECT t.nosuch FROM t", denied("SELECT", "nosuch")),
    ("SELECT 1 FROM t WHERE nosuch = 1", denied("SELECT", "nosuch")),
    ("SELECT 1 FROM t ORDER BY nosuch", denied("SELECT", "nosuch")),
    ("SELECT 1 FROM t GROUP BY nosuch", denied("SELECT", "nosuch")),
]
WRITES = [
    ("INSERT INTO t (id, b) VALUES (30, 3)", None),
    ("INSERT INTO t (id) VALUES (31)", None),
    ("INSERT INTO t SET id = 32, b = 1", None),
    ("INSERT INTO t (id, a) VALUES (33, 3)", denied("INSERT", "a")),
    ("INSERT INTO t SET id = 33, c = 1", denied("INSERT", "c")),
    ("INSERT INTO t VALUES (34, 5, 5, 5)", table("INSERT")),
    ("INSERT INTO t () VALUES ()", table("INSERT")),
    ("INSERT INTO t SELECT 35, 1, 1, 1", table("INSERT")),
    ("INSERT INTO t (id, b) VALUES (36, a)", None),
    ("INSERT INTO t (id, b) VALUES (37, c)", denied("SELECT", "c")),
    ("INSERT INTO t (id, b) VALUES (38, DEFAULT)", None),
    ("INSERT INTO t (id, b) VALUES (38, DEFAULT(b))", denied("SELECT", "b")),
    ("INSERT INTO t (id, b) SELECT id + 50, a FROM t", None),
    ("INSERT INTO t (id, b) SELECT id + 100, c FROM t", denied("SELECT", "c")),
    ("INSERT INTO t (id, c) SELECT id + 100, a FROM t", denied("INSERT", "c")),
    ("INSERT INTO t (id, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE b = 2", None),
    ("INSERT INTO t (id, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE b = a + 1", None),
    ("INSERT INTO t (id, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE a = 2", denied("UPDATE", "a")),
    ("INSERT INTO t (id, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE b = b + 1", denied("SELECT", "b")),
    ("INSERT INTO t (id, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE b = VALUES(b)", denied("SELECT", "b")),
    ("INSERT INTO t (id, b) VALUES (1, 1) ON DUPLICATE KEY UPDATE b = VALUES(id)", None),
    ("INSERT INTO t (id, b) VALUES (1, 1) AS n ON DUPLICATE KEY UPDATE b = n.b", denied("SELECT", "b")),
    ("REPLACE INTO t (id, b) VALUES (1, 1)", table("DELETE")),
    ("INSERT INTO s (id) VALUES (1)", table("INSERT", "s")),
    ("UPDATE t SET b = 1", None),
    ("UPDATE t SET b = a", None),
    ("UPDATE t SET b = DEFAULT", None),
    ("UPDATE t SET b = 1 WHERE id = 1", None),
    ("UPDATE t SET b = 1 ORDER BY a LIMIT 1", None),
    ("UPDATE t SET b = c", denied("SELECT", "c")),
    ("UPDATE t SET b = b + 1", denied("SELECT", "b")),
    ("UPDATE t SET a = 1", denied("UPDATE", "a")),
    ("UPDATE t SET a = c", denied("UPDATE", "a")),
    ("UPDATE t SET b = 1, a = 1", denied("UPDATE", "a")),
    ("UPDATE t SET b = 1 WHERE c = 1", denied("SELECT", "c")),
    ("UPDATE t SET b = 1 ORDER BY c LIMIT 1", denied("SELECT", "c")),
    ("UPDATE t SET b = (SELECT MAX(x) FROM s)", table("SELECT", "s")),
    ("UPDATE t SET b = 1 WHERE id = (SELECT MAX(c) FROM (SELECT c FROM t) x)", denied("SELECT", "c")),
    ("UPDATE t JOIN t t2 USING (id) SET t.b = t2.a", None),
    ("UPDATE t JOIN t t2 USING (id) SET t.a = t2.a", denied("UPDATE", "a")),
    ("UPDATE t JOIN t t2 USING (id) SET t.b = t2.c", denied("SELECT", "c")),
    ("UPDATE t JOIN t t2 ON t.c = t2.id SET t.b = 1", denied("SELECT", "c")),
    ("DELETE FROM t", table("DELETE")),
    ("DELETE FROM t WHERE id = 1", table("DELETE")),
    ("DELETE t FROM t JOIN t t2 USING (id)", table("DELETE")),
    ("EXPLAIN UPDATE t SET b = 1", None),
    ("EXPLAIN UPDATE t SET a = 1", denied("UPDATE", "a")),
    ("PREPARE p FROM 'UPDATE t SET b = ? WHERE c = 1'", denied("SELECT", "c")),
    ("TRUNCATE TABLE t", table("DROP")),
    ("ALTER TABLE t ADD d INT", table("ALTER")),
    ("SHOW CREATE TABLE t", table("SHOW")),
    ("CHECK TABLE t", None),
    ("CHECKSUM TABLE t", None),
    ("ANALYZE TABLE t", None),
    ("LOCK TABLES t READ", (1044, "to database 'cols_db'")),
    ("CREATE TABLE z LIKE t", table("CREATE", "z")),
]
# MySQL joins by columns that the account may not read, and does not ask for those of a derived table that nobody reads.
STRICTER = [
    ("SELECT t1.id FROM t t1 JOIN t t2 USING (b)", denied("SELECT", "b")),
    ("SELECT t1.id FROM t t1 NATURAL JOIN t t2", table("SELECT")),
    ("SELECT x.id FROM (SELECT id, c FROM t) x", denied("SELECT", "c")),
    ("WITH w AS (SELECT b FROM t) SELECT 1 FROM w", denied("SELECT", "b")),
]


class Columns:
    def __init__(self, address: Address, report: Report):
        self.address, self.report = address, report
        self.is_tidemark = "tidemark" in address.execute("SELECT VERSION()")[0][0]
        self.user = Address(address.host, address.port, "cols_u")

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("columns/" + name.removeprefix("case_")):
                try:
                    getattr(self, name)()
                finally:
                    self.root("DROP USER IF EXISTS cols_u, cols_v, cols_r", "DROP DATABASE IF EXISTS cols_db")

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def fresh(self, *statements: str) -> None:
        self.root("DROP USER IF EXISTS cols_u, cols_v, cols_r", "DROP DATABASE IF EXISTS cols_db", "CREATE DATABASE cols_db",
                  "CREATE TABLE cols_db.t (id INT PRIMARY KEY, a INT, b INT DEFAULT 3, c INT, KEY c (c))", "CREATE TABLE cols_db.s (id INT PRIMARY KEY, x INT)",
                  "INSERT INTO cols_db.t VALUES (1, 1, 1, 1), (2, 2, 2, 2)", "CREATE USER cols_u, cols_v", "CREATE ROLE cols_r", *statements)

    @staticmethod
    def error(cursor, statement: str) -> tuple[int, str] | None:
        try:
            cursor.execute(statement)
            cursor.fetchall()
        except pymysql.err.MySQLError as error:
            return error.args[0], error.args[1]
        return None

    def check(self, cursor, cases: list) -> None:
        wrong = []
        for statement, expected in cases:
            seen = self.error(cursor, statement)
            fits = seen is None if expected is None else seen is not None and seen[0] == expected[0] and expected[1] in seen[1]
            if not fits:
                wrong.append(f"{statement}: {seen}, expected {expected}")
        assert not wrong, "\n".join(wrong)

    @staticmethod
    def rows(cursor, statement: str) -> list:
        cursor.execute(statement)
        return [row[0] if len(row) == 1 else row for row in cursor.fetchall()]

    def play(self, cases: list, *grants: str) -> None:
        self.fresh(*grants)
        with self.user.connect(database="cols_db") as connection, connection.cursor() as cursor:
            self.check(cursor, cases)

    def case_reads(self):
        self.play(READS, GRANT.format("cols_u"))

    def case_writes(self):
        self.play(WRITES, GRANT.format("cols_u"))

    def case_where_mysql_allows_more(self):
        self.play(STRICTER if self.is_tidemark else [(statement, None) for statement, _ in STRICTER], GRANT.format("cols_u"))

    def case_reads_by_a_role(self):
        self.play(READS, GRANT.format("cols_r"), "GRANT cols_r TO cols_u", "SET DEFAULT ROLE cols_r TO cols_u")

    def case_writes_by_a_role_and_the_account(self):
        self.play(WRITES, "GRANT SELECT (id), INSERT (b), UPDATE (b) ON cols_db.t TO cols_u", "GRANT SELECT (a), INSERT (id), REFERENCES (c) ON cols_db.t TO cols_r",
                  "GRANT cols_r TO cols_u", "SET DEFAULT ROLE cols_r TO cols_u")

    def case_binary_statements(self):
        self.fresh(GRANT.format("cols_u"))
        with self.user.connect(database="cols_db") as connection:
            for statement, code in [("SELECT b FROM t WHERE id = ?", 1143), ("SELECT * FROM t", 1142), ("UPDATE t SET a = ?", 1143), ("INSERT INTO t VALUES (?, 1, 1, 1)", 1142)]:
                try:
                    connection._execute_command(22, statement)
                    connection._read_packet()
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == code, (statement, error)
                else:
                    raise AssertionError(f"{statement} is prepared")

    def case_prepared_statements_are_checked_again(self):
        self.fresh("GRANT SELECT, UPDATE ON cols_db.t TO cols_u")
        statements = ["SELECT * FROM t", "SELECT a FROM t", "SELECT b FROM t", "UPDATE t SET b = 1 WHERE id = 1", "UPDATE t SET a = 1", "SELECT COUNT(*) FROM t"]
        steps = [("GRANT SELECT (id, a), UPDATE (b) ON cols_db.t TO cols_u", [None] * 6), ("REVOKE SELECT, UPDATE ON cols_db.t FROM cols_u", [1142] * 6),
                 ("GRANT SELECT (id, a), UPDATE (b) ON cols_db.t TO cols_u", [1142, None, 1143, None, 1143, None]),
                 ("REVOKE SELECT (id) ON cols_db.t FROM cols_u", [1142, None, 1143, 1143, 1143, None]),
                 ("GRANT SELECT ON cols_db.* TO cols_u", [None, None, None, None, 1143, None]),
                 ("REVOKE SELECT ON cols_db.* FROM cols_u", [1142, None, 1143, 1143, 1143, None])]
        with self.user.connect(database="cols_db") as connection, connection.cursor() as cursor:
            for n, statement in enumerate(statements):
                cursor.execute(f"PREPARE p{n} FROM '{statement}'")
            for change, expected in steps:
                self.root(change)
                for text in (True, False):
                    seen = [self.error(cursor, statement if text else f"EXECUTE p{n}") for n, statement in enumerate(statements)]
                    codes = [error and error[0] for error in seen]
                    if not self.is_tidemark:
                        # The privileges of a database are read when it becomes the current one, and EXECUTE names a column of `*`.
                        if "cols_db.*" in change:
                            continue
                        codes = [1142 if statement == statements[0] and code == 1143 else code for statement, code in zip(statements, codes)]
                    assert codes == expected, (change, text, codes, expected)

    def case_all_columns_are_the_table(self):
        self.fresh("GRANT SELECT (id, a, b, c), INSERT (id, a, b, c) ON cols_db.t TO cols_u")
        with self.user.connect(database="cols_db") as connection, connection.cursor() as cursor:
            self.check(cursor, [("SELECT * FROM t", None), ("INSERT INTO t VALUES (9, 1, 1, 1)", None), ("SELECT * FROM t t1 JOIN t t2 USING (id)", None),
                                ("SHOW CREATE TABLE t", table("SHOW")), ("SELECT * FROM t FOR UPDATE", table("SELECT with locking clause"))])
            self.root("ALTER TABLE cols_db.t ADD d INT")
            self.check(cursor, [("SELECT * FROM t", table("SELECT")), ("SELECT d FROM t", denied("SELECT", "d")), ("SELECT id, a, b, c FROM t", None)])

    def case_one_kind_gives_no_other(self):
        self.fresh("GRANT INSERT (a) ON cols_db.t TO cols_u")
        with self.user.connect(database="cols_db") as connection, connection.cursor() as cursor:
            self.check(cursor, [("SELECT 1 FROM t", table("SELECT")), ("SELECT a FROM t", table("SELECT")), ("UPDATE t SET a = 1", table("UPDATE")),
                                ("DELETE FROM t", table("DELETE")), ("INSERT INTO t (a) VALUES (id)", denied("SELECT", "id")), ("SELECT 1 FROM t FOR UPDATE", table("SELECT")),
                                ("CHECKSUM TABLE t", table("SELECT")), ("ANALYZE TABLE t", table("SELECT"))])

    def case_what_is_shown(self):
        self.fresh(GRANT.format("cols_u"))
        with self.user.connect(database="cols_db") as connection, connection.cursor() as cursor:
            to = "TO `cols_u`@`%`"
            assert self.rows(cursor, "SHOW GRANTS") == [
                f"GRANT USAGE ON *.* {to}", f"GRANT SELECT (`a`, `id`), INSERT (`b`, `id`), UPDATE (`b`), REFERENCES (`c`) ON `cols_db`.`t` {to}"]
            assert self.rows(cursor, "SHOW TABLES") == ["t"]
            assert "cols_db" in self.rows(cursor, "SHOW DATABASES")
            columns = [("id", "select,insert"), ("a", "select"), ("b", "insert,update"), ("c", "references")]
            assert self.rows(cursor, "SELECT column_name, privileges FROM information_schema.columns WHERE table_schema = 'cols_db' ORDER BY ordinal_position") == columns
            assert [(row[0], row[7]) for row in self.rows(cursor, "SHOW FULL COLUMNS FROM t")] == columns
            assert sorted(self.rows(cursor, "SELECT column_name, privilege_type, is_grantable FROM information_schema.column_privileges")) == [
                ("a", "SELECT", "NO"), ("b", "INSERT", "NO"), ("b", "UPDATE", "NO"), ("c", "REFERENCES", "NO"), ("id", "INSERT", "NO"), ("id", "SELECT", "NO")]
            assert self.error(cursor, "SELECT * FROM mysql.columns_priv")[0] == 1142
            self.root("REVOKE REFERENCES (c), INSERT (b), UPDATE (b) ON cols_db.t FROM cols_u")
            assert [row[0] for row in self.rows(cursor, "DESCRIBE t")] == ["id", "a"]
            assert self.rows(cursor, "DESCRIBE t b") == []
            assert self.rows(cursor, "SELECT column_name FROM information_schema.columns WHERE table_schema = 'cols_db' ORDER BY ordinal_position") == ["id", "a"]
            # MySQL tells the columns of indexes.
            indexed = ["id"] if self.is_tidemark else ["id", "c"]
            assert [row[4] for row in self.rows(cursor, "SHOW INDEX FROM t")] == indexed
            assert sorted(self.rows(cursor, "SELECT column_name FROM information_schema.statistics WHERE table_schema = 'cols_db'"), reverse=True) == indexed
        assert self.root("SELECT column_name, column_priv FROM mysql.columns_priv WHERE user = 'cols_u' ORDER BY column_name") == (("a", "Select"), ("id", "Select,Insert"))
        assert self.root("SELECT table_priv, column_priv FROM mysql.tables_priv WHERE user = 'cols_u'") == (("", "Select,Insert"),)

    def case_tables_of_the_server(self):
        self.fresh("GRANT SELECT (user, host) ON mysql.user TO cols_u")
        with self.user.connect() as connection, connection.cursor() as cursor:
            self.check(cursor, [("SELECT user, host FROM mysql.user", None), ("SELECT authentication_string FROM mysql.user", (1143, "'authentication_string' in table 'user'")),
                                ("SELECT * FROM mysql.user", (1142, "SELECT command denied")), ("SELECT * FROM mysql.db", (1142, "SELECT command denied"))])

    def case_invisible_columns(self):
        self.fresh("ALTER TABLE cols_db.t MODIFY c INT INVISIBLE", "GRANT SELECT (id, a, b) ON cols_db.t TO cols_u")
        with self.user.connect(database="cols_db") as connection, connection.cursor() as cursor:
            self.check(cursor, [("SELECT * FROM t", None), ("SELECT t.* FROM t", None), ("SELECT c FROM t", denied("SELECT", "c"))])

    def case_who_may_grant(self):
        self.fresh("GRANT SELECT (a), REFERENCES (a) ON cols_db.t TO cols_u WITH GRANT OPTION")
        with self.user.connect(database="cols_db") as connection, connection.cursor() as cursor:
            self.check(cursor, [("GRANT SELECT (a) ON t TO cols_v", None), ("GRANT SELECT (b) ON t TO cols_v", denied("SELECT", "b")),
                                ("GRANT INSERT (a) ON t TO cols_v", table("INSERT")), ("GRANT SELECT ON t TO cols_v", table("SELECT")),
                                ("REVOKE SELECT (a) ON t FROM cols_v", None)])
        with self.address.connect(database="cols_db") as connection, connection.cursor() as cursor:
            self.check(cursor, [("GRANT SELECT (nosuch) ON t TO cols_v", (1054, "Unknown column 'nosuch' in 't'")), ("GRANT SELECT (a) ON nosuch TO cols_v", (1146, "")),
                                ("GRANT SELECT (a) ON cols_db.* TO cols_v", (1144, "")), ("GRANT SELECT (a) ON *.* TO cols_v", (1144, "")),
                                ("GRANT DELETE (a) ON t TO cols_v", (1064, "near '(a) ON t TO cols_v'")), ("REVOKE SELECT (b) ON t FROM cols_u", (1147, "")),
                                ("REVOKE UPDATE (a) ON t FROM cols_u", (1147, "'cols_u' on host '%' on table 't'")), ("REVOKE SELECT ON t FROM cols_u", None),
                                ("GRANT SELECT, SELECT (b), INSERT (c, a), DELETE ON t TO cols_v WITH GRANT OPTION", None)])
            assert self.rows(cursor, "SHOW GRANTS FOR cols_v")[1:] == [
                "GRANT SELECT, SELECT (`b`), INSERT (`a`, `c`), DELETE ON `cols_db`.`t` TO `cols_v`@`%` WITH GRANT OPTION"]
            assert self.rows(cursor, "SHOW GRANTS FOR cols_u")[1:] == ["GRANT REFERENCES (`a`) ON `cols_db`.`t` TO `cols_u`@`%` WITH GRANT OPTION"]
            self.check(cursor, [("REVOKE ALL PRIVILEGES, GRANT OPTION FROM cols_v, cols_u", None)])
            assert len(self.rows(cursor, "SHOW GRANTS FOR cols_v")) == len(self.rows(cursor, "SHOW GRANTS FOR cols_u")) == 1


def run(address: Address, report: Report) -> None:
    Columns(address, report).run()

"""Roles: what they give while they are active, and no longer; who may grant them, and who not.

The expectations are MySQL 9.7's, by `--address` of such a server the same statements are checked there: error numbers in all
cases, texts where a case has them.
"""
import pymysql

from support.address import Address
from support.report import Report

# What a statement needs, and how it fails for an account that has nothing else: (grant, statement, error).
KINDS = [
    ("SELECT ON *.*", "SELECT * FROM roles_db.t", 1142),
    ("SELECT ON roles_db.*", "SELECT * FROM roles_db.t", 1142),
    ("SELECT ON roles_db.t", "SELECT a FROM roles_db.t WHERE id = 1", 1142),
    ("SELECT ON roles_db.t", "SELECT COUNT(*) FROM roles_db.t", 1142),
    ("SELECT ON roles_db.t", "DESCRIBE roles_db.t", 1142),
    ("SELECT ON roles_db.t", "SHOW CREATE TABLE roles_db.t", 1142),
    ("SELECT ON roles_db.t", "EXPLAIN SELECT * FROM roles_db.t", 1142),
    ("SELECT ON roles_db.t", "CHECK TABLE roles_db.t", 1142),
    ("INSERT ON roles_db.t", "INSERT INTO roles_db.t (a) VALUES (5)", 1142),
    ("UPDATE ON roles_db.t", "UPDATE roles_db.t SET a = 5", 1142),
    ("SELECT, UPDATE ON roles_db.t", "UPDATE roles_db.t SET a = 5 WHERE id = 1", 1142),
    ("SELECT, UPDATE ON roles_db.t", "SELECT * FROM roles_db.t FOR UPDATE", 1142),
    ("DELETE ON roles_db.t", "DELETE FROM roles_db.t", 1142),
    ("INSERT, DELETE ON roles_db.t", "REPLACE INTO roles_db.t VALUES (1, 1)", 1142),
    ("DROP ON roles_db.t", "TRUNCATE TABLE roles_db.t", 1142),
    ("SELECT, LOCK TABLES ON roles_db.*", "LOCK TABLES roles_db.t READ", 1044),
    ("CREATE ON roles_db.*", "CREATE TABLE IF NOT EXISTS roles_db.u (a INT)", 1142),
    ("ALTER ON roles_db.*", "ALTER TABLE roles_db.t COMMENT 'x'", 1142),
    ("SELECT ON roles_db.*", "USE roles_db", 1044),
    ("SELECT ON roles_db.*", "SHOW TABLES FROM roles_db", 1044),
    ("SELECT ON `roles\\_d%`.*", "SELECT * FROM roles_db.t", 1142),
    ("CREATE USER ON *.*", "CREATE USER IF NOT EXISTS roles_v", 1227),
    ("CREATE ROLE ON *.*", "CREATE ROLE IF NOT EXISTS roles_x", 1227),
    ("PROCESS ON *.*", "SHOW ENGINE INNODB STATUS", 1227),
    ("SYSTEM_VARIABLES_ADMIN ON *.*", "SET GLOBAL max_connect_errors = 100", 1227),
    ("SELECT ON roles_db.t WITH GRANT OPTION", "GRANT SELECT ON roles_db.t TO roles_w", 1142),
    ("ROLE_ADMIN ON *.*", "GRANT roles_other TO roles_w", 1227),
    ("SELECT ON mysql.*", "SHOW GRANTS FOR roles_w", 1142),
]
ACCOUNTS = "roles_u, roles_w, roles_v, roles_r, roles_s, roles_x, roles_other"


class Roles:
    def __init__(self, address: Address, report: Report):
        self.address, self.report = address, report
        self.is_tidemark = "tidemark" in address.execute("SELECT VERSION()")[0][0]
        self.user = Address(address.host, address.port, "roles_u")

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("roles/" + name.removeprefix("case_")):
                try:
                    getattr(self, name)()
                finally:
                    self.root("SET GLOBAL mandatory_roles = ''", "SET GLOBAL activate_all_roles_on_login = OFF",
                              f"DROP USER IF EXISTS {ACCOUNTS}", "DROP DATABASE IF EXISTS roles_db")

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def fresh(self, *statements: str) -> None:
        self.root(f"DROP USER IF EXISTS {ACCOUNTS}", "DROP DATABASE IF EXISTS roles_db", "CREATE DATABASE roles_db",
                  "CREATE TABLE roles_db.t (id INT PRIMARY KEY AUTO_INCREMENT, a INT)", "INSERT INTO roles_db.t VALUES (1, 1), (2, 2)",
                  "CREATE USER roles_u, roles_w", "CREATE ROLE roles_r, roles_s, roles_other", *statements)

    @staticmethod
    def error(cursor, statement: str) -> int | None:
        try:
            cursor.execute(statement)
            cursor.fetchall()
        except pymysql.err.MySQLError as error:
            return error.args[0]
        return None

    def check(self, cursor, *expected: tuple[int | None, str]) -> None:
        wrong = []
        for code, statement in expected:
            seen = self.error(cursor, statement)
            if seen != code:
                wrong.append(f"{statement}: {seen}, expected {code}")
        assert not wrong, "\n".join(wrong)

    @staticmethod
    def rows(cursor, statement: str) -> list:
        cursor.execute(statement)
        return [row[0] if len(row) == 1 else row for row in cursor.fetchall()]

    def matrix(self, path: str, *grants: str) -> None:
        """Every kind of statement, in one session: without the role, with it, prepared, without it again, and taken away."""
        wrong = []
        for grant, statement, code in KINDS:
            privileges, *option = grant.partition(" WITH ")
            self.fresh(*grants, f"GRANT {privileges} TO {path}" + "".join(option))
            with self.user.connect() as connection, connection.cursor() as cursor:
                steps = [("before", None, code), ("active", "SET ROLE roles_r", None), ("none", "SET ROLE NONE", code),
                         ("all", "SET ROLE ALL", None)]
                seen = []
                for step, change, expected in steps:
                    if change:
                        cursor.execute(change)
                    seen.append((step, self.error(cursor, statement), expected))
                    self.error(cursor, "UNLOCK TABLES")
                for step, change, expected in [("revoked", "REVOKE roles_r FROM roles_u", code), ("granted", "GRANT roles_r TO roles_u", None),
                                               ("dropped", "DROP ROLE roles_r", code)]:
                    self.root(change)
                    seen.append((step, self.error(cursor, statement), expected))
                    self.error(cursor, "UNLOCK TABLES")
            wrong += [f"{grant}: {statement}: {step}: {got}, expected {expected}" for step, got, expected in seen if got != expected]
        assert not wrong, "\n".join(wrong)

    def case_active_roles_give_what_they_have(self):
        self.matrix("roles_r", "GRANT roles_r TO roles_u")

    def case_roles_of_roles_give_what_they_have(self):
        self.matrix("roles_s", "GRANT roles_r TO roles_u", "GRANT roles_s TO roles_r")

    def case_prepared_statements_are_checked_again(self):
        self.fresh("GRANT SELECT, INSERT ON roles_db.* TO roles_r", "GRANT roles_r TO roles_u")
        with self.user.connect() as connection, connection.cursor() as cursor:
            self.check(cursor, (1142, "PREPARE p FROM 'SELECT * FROM roles_db.t'"), (None, "SET ROLE roles_r"),
                       (None, "PREPARE p FROM 'SELECT * FROM roles_db.t WHERE id = ?'"), (None, "SET @x = 1"),
                       (None, "EXECUTE p USING @x"), (None, "SET ROLE NONE"), (1142, "EXECUTE p USING @x"),
                       (None, "SET ROLE ALL"), (None, "EXECUTE p USING @x"))
            self.root("REVOKE SELECT ON roles_db.* FROM roles_r")
            self.check(cursor, (1142, "EXECUTE p USING @x"), (None, "INSERT INTO roles_db.t (a) VALUES (1)"))
            self.root("GRANT SELECT ON roles_db.* TO roles_r")
            self.check(cursor, (None, "EXECUTE p USING @x"))
            self.root("DROP ROLE roles_r")
            self.check(cursor, (1142, "EXECUTE p USING @x"), (1142, "INSERT INTO roles_db.t (a) VALUES (1)"))

    def case_who_may_grant(self):
        self.fresh("GRANT roles_r TO roles_u WITH ADMIN OPTION", "GRANT roles_s TO roles_r WITH ADMIN OPTION", "GRANT roles_other TO roles_s")
        with self.user.connect() as connection, connection.cursor() as cursor:
            self.check(cursor, (None, "GRANT roles_r TO roles_w"), (1227, "GRANT roles_s TO roles_w"), (1227, "GRANT roles_other TO roles_w"),
                       (None, "SET ROLE roles_r"), (None, "GRANT roles_s TO roles_w"), (1227, "GRANT roles_other TO roles_w"),
                       (None, "REVOKE roles_s FROM roles_w"), (1227, "CREATE ROLE roles_x"), (1227, "DROP ROLE roles_r"),
                       (1227, "DROP USER roles_w"), (1227, "SET DEFAULT ROLE roles_r TO roles_w"), (None, "SET DEFAULT ROLE roles_r TO roles_u"),
                       (1227, "ALTER USER roles_w DEFAULT ROLE ALL"), (1142, "SHOW GRANTS FOR roles_w"), (1044, "SHOW CREATE USER roles_w"),
                       (1142, "SELECT * FROM mysql.role_edges"), (1142, "SELECT * FROM mysql.default_roles"))
            assert self.rows(cursor, "SHOW GRANTS") == [
                "GRANT USAGE ON *.* TO `roles_u`@`%`", "GRANT `roles_r`@`%`,`roles_s`@`%` TO `roles_u`@`%` WITH ADMIN OPTION"]
            self.check(cursor, (None, "REVOKE roles_r FROM roles_u"), (1227, "REVOKE roles_r FROM roles_w"), (1227, "GRANT roles_s TO roles_u"))

    def case_locked_accounts_only(self):
        """DROP ROLE is for roles: with that privilege alone no account is dropped that can log in."""
        self.fresh("GRANT CREATE ROLE, DROP ROLE ON *.* TO roles_u")
        with self.user.connect() as connection, connection.cursor() as cursor:
            self.check(cursor, (None, "CREATE ROLE roles_x"), (1227, "DROP ROLE roles_w"), (1227, "DROP USER roles_x"),
                       (1227, "ALTER USER roles_x ACCOUNT UNLOCK"), (1227, "GRANT roles_x TO roles_u"), (None, "DROP ROLE roles_x"),
                       (1396, "DROP ROLE roles_x"), (None, "DROP ROLE IF EXISTS roles_x"))

    def case_nobody_rises_above_itself(self):
        """An account with SYSTEM_USER is no role that one without it could give."""
        self.fresh("GRANT ALL ON *.* TO roles_r", "GRANT CREATE USER, ROLE_ADMIN ON *.* TO roles_u")
        with self.user.connect() as connection, connection.cursor() as cursor:
            self.check(cursor, (1227, "GRANT roles_r TO roles_u"), (1227, "REVOKE roles_r FROM roles_w"), (1227, "DROP ROLE roles_r"),
                       (1227, "CREATE USER roles_v DEFAULT ROLE roles_r"), (1227, "ALTER USER roles_r ACCOUNT UNLOCK"),
                       (None, "GRANT roles_s TO roles_u"), (None, "SET ROLE roles_s"), (3530, "SET ROLE roles_r"))

    def case_roles_cannot_log_in(self):
        self.fresh()
        role = Address(self.address.host, self.address.port, "roles_r")
        for change, code in [(None, 1045), ("ALTER USER roles_r ACCOUNT UNLOCK", 1862), ("ALTER USER roles_r IDENTIFIED BY 'pw'", 1045)]:
            if change:
                self.root(change)
            try:
                role.connect().close()
            except pymysql.err.OperationalError as error:
                assert error.args[0] == code, (change, error)
            else:
                raise AssertionError(f"{change}: the role is let in")

    def case_circles_are_refused(self):
        self.fresh("GRANT roles_s TO roles_r", "GRANT roles_other TO roles_s")
        with self.address.connect() as connection, connection.cursor() as cursor:
            self.check(cursor, (4027, "GRANT roles_r TO roles_s"), (4027, "GRANT roles_r TO roles_other"), (4027, "GRANT roles_r TO roles_r"),
                       (4027, "GRANT roles_u TO roles_u"), (None, "GRANT roles_u TO roles_w"), (4027, "GRANT roles_w TO roles_u"))

    def case_errors(self):
        self.fresh("GRANT roles_r TO roles_u", "CREATE USER ''@roles_host")
        try:
            with self.address.connect() as connection, connection.cursor() as cursor:
                self.check(cursor, (1396, "CREATE ROLE roles_r"), (1396, "CREATE ROLE roles_x, roles_u"), (None, "CREATE ROLE IF NOT EXISTS roles_r"),
                           (1396, "CREATE ROLE ''"), (1396, "DROP ROLE roles_x"), (3523, "GRANT roles_x TO roles_u"), (3523, "GRANT roles_r TO roles_x"),
                           (3523, "REVOKE roles_x FROM roles_u"), (3523, "REVOKE roles_r FROM roles_x"), (None, "REVOKE IF EXISTS roles_x FROM roles_u"),
                           (3523, "REVOKE IF EXISTS roles_r FROM roles_x"), (None, "REVOKE roles_r FROM roles_x IGNORE UNKNOWN USER"),
                           (None, "REVOKE roles_s FROM roles_u"), (3530, "SET DEFAULT ROLE roles_s TO roles_u"), (3530, "SET DEFAULT ROLE roles_x TO roles_u"),
                           (3530, "SET DEFAULT ROLE roles_r TO roles_x"), (3523, "SET DEFAULT ROLE ALL TO roles_x"), (3530, "ALTER USER roles_u DEFAULT ROLE roles_s"),
                           (3162, "CREATE USER roles_v DEFAULT ROLE roles_x"), (3530, "SHOW GRANTS FOR roles_u USING roles_s"),
                           (3532, "RENAME USER roles_r TO roles_x"), (3876, "GRANT roles_r TO ''@roles_host"), (3524, "GRANT ''@roles_host TO roles_u"),
                           (1064, "SET ROLE NONE, roles_r"), (1064, "CREATE ROLE NONE"), (1064, "GRANT roles_r TO roles_u WITH GRANT OPTION"),
                           (1064, "ALTER USER roles_u, roles_w DEFAULT ROLE roles_r"), (1064, "CREATE USER roles_v DEFAULT ROLE ALL"),
                           (1470, "CREATE ROLE " + "x" * 33))
        finally:
            self.root("DROP USER ''@roles_host")

    def case_logins_have_their_default_roles(self):
        self.fresh("GRANT roles_r, roles_s TO roles_u", "GRANT SELECT ON roles_db.* TO roles_r")
        expected = [
            (None, "NONE"), ("SET DEFAULT ROLE roles_r TO roles_u", "`roles_r`@`%`"), ("ALTER USER roles_u DEFAULT ROLE ALL", "`roles_r`@`%`,`roles_s`@`%`"),
            ("REVOKE roles_r FROM roles_u", "`roles_s`@`%`"), ("SET DEFAULT ROLE NONE TO roles_u", "NONE"),
            ("SET GLOBAL activate_all_roles_on_login = ON", "`roles_s`@`%`"), ("SET GLOBAL activate_all_roles_on_login = OFF", "NONE"),
            ("SET GLOBAL mandatory_roles = 'roles_r, nobody'", "`roles_r`@`%`"), ("SET DEFAULT ROLE roles_s TO roles_u", "`roles_r`@`%`,`roles_s`@`%`"),
            ("SET GLOBAL mandatory_roles = ''", "`roles_s`@`%`"), ("DROP ROLE roles_s", "NONE")]
        seen = []
        for change, _ in expected:
            if change:
                self.root(change)
            seen.append((change, self.user.execute("SELECT CURRENT_ROLE()")[0][0]))
        assert seen == expected, seen

    def case_mandatory_roles(self):
        self.fresh("GRANT SELECT ON roles_db.* TO roles_r", "SET GLOBAL mandatory_roles = 'roles_r'", "GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO roles_w")
        with self.user.connect() as connection, connection.cursor() as cursor:
            self.check(cursor, (None, "SELECT * FROM roles_db.t"), (None, "SET ROLE NONE"), (1142, "SELECT * FROM roles_db.t"), (None, "SET ROLE roles_r"),
                       (None, "SELECT * FROM roles_db.t"))
            assert self.rows(cursor, "SHOW GRANTS")[-1] == "GRANT `roles_r`@`%` TO `roles_u`@`%`"
            assert self.rows(cursor, "SHOW GRANTS FOR roles_u") == ["GRANT USAGE ON *.* TO `roles_u`@`%`"]
            assert self.rows(cursor, "SELECT role_name, is_mandatory FROM information_schema.applicable_roles") == [("roles_r", "YES")]
            with self.address.connect() as other, other.cursor() as root:
                self.check(root, (3628, "DROP ROLE roles_r"), (3628, "DROP USER roles_r"), (3628, "REVOKE roles_r FROM roles_u"),
                           (1231, "SET GLOBAL mandatory_roles = 'roles_r,'"), (None, "SET GLOBAL mandatory_roles = ''"))
            self.check(cursor, (1142, "SELECT * FROM roles_db.t"), (3530, "SET ROLE roles_r"))
        with Address(self.address.host, self.address.port, "roles_w").connect() as connection, connection.cursor() as cursor:
            self.check(cursor, (1227, "SET GLOBAL mandatory_roles = 'roles_r'"))

    def case_what_is_shown(self):
        self.fresh("GRANT SELECT ON *.* TO roles_r", "GRANT INSERT ON roles_db.* TO roles_r", "GRANT UPDATE ON roles_db.t TO roles_s",
                   "GRANT roles_s TO roles_r WITH ADMIN OPTION", "GRANT roles_r TO roles_u", "GRANT DELETE ON roles_db.t TO roles_u",
                   "SET DEFAULT ROLE roles_r TO roles_u")
        to = "TO `roles_u`@`%`"
        own = [f"GRANT USAGE ON *.* {to}", f"GRANT DELETE ON `roles_db`.`t` {to}", f"GRANT `roles_r`@`%` {to}"]
        with_roles = [f"GRANT SELECT ON *.* {to}", f"GRANT INSERT ON `roles_db`.* {to}", f"GRANT UPDATE, DELETE ON `roles_db`.`t` {to}",
                      f"GRANT `roles_r`@`%` {to}", f"GRANT `roles_s`@`%` {to} WITH ADMIN OPTION"]
        with self.user.connect() as connection, connection.cursor() as cursor:
            assert self.rows(cursor, "SHOW GRANTS") == with_roles
            assert self.rows(cursor, "SHOW GRANTS FOR CURRENT_USER()") == with_roles
            assert self.rows(cursor, "SHOW GRANTS FOR roles_u") == own
            assert self.rows(cursor, "SHOW GRANTS FOR roles_u USING roles_r") == with_roles
            assert "DEFAULT ROLE `roles_r`@`%` REQUIRE NONE" in self.rows(cursor, "SHOW CREATE USER CURRENT_USER()")[0]
            assert self.rows(cursor, "SELECT * FROM information_schema.applicable_roles") == [
                ("roles_u", "%", "roles_u", "%", "roles_r", "%", "NO", "YES", "NO"), ("roles_u", "%", "roles_r", "%", "roles_s", "%", "YES", "NO", "NO")]
            assert self.rows(cursor, "SELECT role_name FROM information_schema.administrable_role_authorizations") == ["roles_s"]
            assert self.rows(cursor, "SELECT * FROM information_schema.enabled_roles") == [("roles_r", "%", "YES", "NO")]
            assert self.rows(cursor, "SELECT grantee, table_name, privilege_type, is_grantable FROM information_schema.role_table_grants") == [
                ("roles_s", "t", "Update", "NO")]
            cursor.execute("SET ROLE NONE")
            assert self.rows(cursor, "SHOW GRANTS") == own
        assert self.root("SELECT * FROM mysql.role_edges WHERE from_user LIKE 'roles_%'") == (
            ("%", "roles_r", "%", "roles_u", "N"), ("%", "roles_s", "%", "roles_r", "Y"))
        assert self.root("SELECT * FROM mysql.default_roles WHERE user LIKE 'roles_%'") == (("%", "roles_u", "%", "roles_r"),)
        self.root("DROP ROLE roles_r")
        assert not self.root("SELECT * FROM mysql.role_edges WHERE from_user LIKE 'roles_%'")
        assert not self.root("SELECT * FROM mysql.default_roles WHERE user LIKE 'roles_%'")


def run(address: Address, report: Report) -> None:
    Roles(address, report).run()

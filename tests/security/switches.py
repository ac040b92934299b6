"""Switches: a variable or option that promises something keeps it, or is refused. None does nothing without a word."""
import threading
import time

import pymysql

from support.address import Address
from support.report import Report
from support.server import Server

READ_ONLY = "The MySQL server is running with the --{} option so it cannot execute this statement"
# With read_only, for an account that administers nothing.
REFUSED = ["INSERT INTO app_db.t VALUES (1, 1, 1)", "UPDATE app_db.t SET a = 1 WHERE id = 1", "DELETE FROM app_db.t WHERE id = 1",
           "REPLACE INTO app_db.t VALUES (1, 1, 1)", "SELECT * FROM app_db.t FOR UPDATE", "CREATE TABLE app_db.t2 (a INT)",
           "ALTER TABLE app_db.t ADD COLUMN x INT", "CREATE INDEX i ON app_db.t (a)", "DROP TABLE app_db.t", "DROP TABLE app_db.nosuch",
           "TRUNCATE TABLE app_db.t", "RENAME TABLE app_db.t TO app_db.t2", "CREATE DATABASE app_x", "DROP DATABASE app_db",
           "ANALYZE TABLE app_db.t", "OPTIMIZE TABLE app_db.t", "LOCK TABLES app_db.t WRITE", "START TRANSACTION READ WRITE",
           "SET PASSWORD = ''", "UPDATE app_db.t x JOIN app_db.t y ON x.id = y.id SET x.a = 1"]
ALLOWED = ["SELECT * FROM app_db.t", "SELECT * FROM app_db.t FOR SHARE", "BEGIN", "COMMIT", "START TRANSACTION READ ONLY", "ROLLBACK", "SET @a = 1",
           "DO 1", "LOCK TABLES app_db.t READ", "UNLOCK TABLES", "CHECKSUM TABLE app_db.t", "SHOW TABLES FROM app_db",
           "EXPLAIN UPDATE app_db.t SET a = 1 WHERE id = 1", "SELECT 1 INTO @x"]


class Switches:
    def __init__(self, server: Server, report: Report):
        self.server, self.address, self.report = server, server.address, report

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("switches/" + name.removeprefix("case_")):
                getattr(self, name)()

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def fails(self, code: int, statement: str, cursor=None) -> str:
        try:
            cursor.execute(statement) if cursor else self.root(statement)
        except pymysql.err.MySQLError as error:
            assert error.args[0] == code, f"{statement}: {error}, expected {code}"
            return error.args[1]
        raise AssertionError(f"{statement}: no error {code}")

    def fresh(self) -> Address:
        """A table, and an account that may do everything with it."""
        self.root("DROP DATABASE IF EXISTS app_db", "CREATE DATABASE app_db", "CREATE TABLE app_db.t (id INT PRIMARY KEY, a INT, b INT)",
                  "INSERT INTO app_db.t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)", "DROP USER IF EXISTS app@localhost", "CREATE USER app@localhost",
                  "GRANT ALL ON `app%`.* TO app@localhost")
        return Address(self.address.host, self.address.port, "app")

    def case_read_only(self):
        app = self.fresh()
        with app.connect() as connection, app.connect() as writer, connection.cursor() as cursor, writer.cursor() as writing:
            cursor.execute("PREPARE kept FROM 'UPDATE app_db.t SET a = 5 WHERE id = 1'")
            cursor.execute("UPDATE app_db.t SET a = 7 WHERE id = 1")
            writing.execute("BEGIN")
            writing.execute("INSERT INTO app_db.t VALUES (9, 9, 9)")
            self.root("SET GLOBAL read_only = ON")
            try:
                assert self.fails(1290, "COMMIT", writing) == READ_ONLY.format("read-only")
                for statement in REFUSED + ["UPDATE app_db.t SET a = 7 WHERE id = 1", "EXECUTE kept"]:
                    text = self.fails(1290, statement, cursor)
                    assert text == READ_ONLY.format("read-only"), text
                for statement in ALLOWED:
                    cursor.execute(statement)
                self.root("UPDATE app_db.t SET a = 8 WHERE id = 1", "CREATE TABLE app_db.by_root (a INT)")
            finally:
                self.root("SET GLOBAL read_only = OFF")
            cursor.execute("EXECUTE kept")
            assert self.root("SELECT id, a FROM app_db.t") == ((1, 5), (2, 2), (3, 3))

    def case_super_read_only(self):
        self.fresh()
        self.root("SET GLOBAL super_read_only = ON")
        try:
            assert self.root("SELECT @@read_only, @@super_read_only") == ((1, 1),)
            for statement in REFUSED + ["CREATE USER other@localhost"]:
                text = self.fails(1290, statement)
                assert text == READ_ONLY.format("super-read-only"), text
            self.root(*ALLOWED)
            self.root("SET GLOBAL read_only = OFF")
            assert self.root("SELECT @@read_only, @@super_read_only") == ((0, 0),)
        finally:
            self.root("SET GLOBAL read_only = OFF")
        self.root("INSERT INTO app_db.t VALUES (5, 5, 5)")

    def case_read_only_from_the_start(self):
        with Server("switches", "--read-only", "--super-read-only=ON") as server:
            try:
                server.address.execute("CREATE DATABASE d")
            except pymysql.err.MySQLError as error:
                assert error.args[0] == 1290, error
            else:
                raise AssertionError("CREATE DATABASE succeeds")

    def case_offline_mode(self):
        app = self.fresh()
        connection, busy, root = app.connect(), app.connect(), self.address.connect()
        ended = []

        def sleep():
            try:
                with busy.cursor() as cursor:
                    cursor.execute("SELECT SLEEP(30)")
                    ended.append(cursor.fetchall())
            except pymysql.err.MySQLError as error:
                ended.append(error.args[0])

        thread = threading.Thread(target=sleep)
        thread.start()
        time.sleep(0.3)
        self.root("SET GLOBAL offline_mode = ON")
        try:
            thread.join(5)
            assert ended and ended[0] in (2013, 1053, 1317), ended
            for _ in range(2):
                try:
                    connection.ping(reconnect=False)
                except pymysql.err.MySQLError:
                    break
            else:
                raise AssertionError("an ordinary client is still there")
            try:
                app.connect().close()
            except pymysql.err.MySQLError as error:
                assert error.args == (3032, "The server is currently in offline mode"), error
            else:
                raise AssertionError("an ordinary client is let in")
            with root.cursor() as cursor:
                cursor.execute("SELECT 1")
        finally:
            self.root("SET GLOBAL offline_mode = OFF")
            root.close()
        app.connect().close()

    def case_offline_mode_wants_its_privilege(self):
        app = self.fresh()
        self.root("GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO app@localhost")
        with app.connect() as connection, connection.cursor() as cursor:
            self.fails(1227, "SET GLOBAL offline_mode = ON", cursor)

    def case_init_connect(self):
        app = self.fresh()
        self.root("SET GLOBAL init_connect = 'SET @welcome = 7; SET SESSION sql_safe_updates = 1'")
        try:
            assert app.execute("SELECT @welcome, @@sql_safe_updates") == ((7, 1),)
            assert self.root("SELECT @welcome, @@sql_safe_updates") == ((None, 0),)
            self.root("SET GLOBAL init_connect = 'SELECT * FROM app_db.nosuch'")
            try:
                app.connect().cursor().execute("SELECT 1")
            except pymysql.err.MySQLError as error:
                assert error.args[0] in (1184, 2013), error
            else:
                raise AssertionError("init_connect fails, and the client is let in")
        finally:
            self.root("SET GLOBAL init_connect = ''")

    def case_sql_safe_updates(self):
        self.fresh()
        with self.address.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET sql_safe_updates = 1")
            for statement in ("UPDATE app_db.t SET a = 1", "DELETE FROM app_db.t", "UPDATE app_db.t SET a = 1 WHERE b = 2", "DELETE FROM app_db.t WHERE b = 2"):
                self.fails(1175, statement, cursor)
            for statement in ("UPDATE app_db.t SET a = 1 LIMIT 1", "UPDATE app_db.t SET a = 1 WHERE id = 2", "DELETE FROM app_db.t WHERE id = 3"):
                cursor.execute(statement)


def run(_: Address, report: Report) -> None:
    """On a server of its own, whose switches it sets."""
    with Server("switches") as server:
        Switches(server, report).run()

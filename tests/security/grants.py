"""Privileges: what an account may not see it does not learn of, and statements ask for what MySQL 9.7 asks for.

Checked against MySQL 9.7, by `--address`; where Tidemark tells less (DESCRIBE of what is not there), the case says so.
"""
import threading
import time

import pymysql

from support.address import Address
from support.report import Report

LOCKING = "SELECT with locking clause"
# What an account with these privileges on app_db.t gets for each statement: None, or the error and what its text names.
TABLE = [
    ("SELECT", "SELECT * FROM app_db.t FOR UPDATE", (1142, LOCKING)),
    ("SELECT", "SELECT * FROM app_db.t FOR SHARE", None),
    ("SELECT, INSERT", "SELECT * FROM app_db.t FOR UPDATE", (1142, LOCKING)),
    ("SELECT, UPDATE", "SELECT * FROM app_db.t FOR UPDATE", None),
    ("SELECT, DELETE", "SELECT * FROM app_db.t FOR UPDATE", None),
    ("UPDATE", "UPDATE app_db.t SET a = 1", None),
    ("UPDATE", "UPDATE app_db.t SET a = DEFAULT", None),
    ("UPDATE", "UPDATE app_db.t SET a = 1 WHERE id = 1", (1143, "SELECT command denied to user 'app'@'localhost' for column 'id' in table 't'")),
    ("UPDATE", "UPDATE app_db.t SET a = a + 1", (1143, "column 'a'")),
    ("UPDATE", "UPDATE app_db.t SET a = 1 ORDER BY b LIMIT 1", (1143, "column 'b'")),
    ("UPDATE", "DELETE FROM app_db.t", (1142, "DELETE command")),
    ("DELETE", "DELETE FROM app_db.t", None),
    ("DELETE", "DELETE FROM app_db.t WHERE id = 99", (1143, "column 'id'")),
    ("DELETE", "UPDATE app_db.t SET a = 1", (1142, "UPDATE command")),
    ("INSERT", "REPLACE INTO app_db.t VALUES (4, 1, 1)", (1142, "DELETE command")),
    ("UPDATE", "REPLACE INTO app_db.t VALUES (4, 1, 1)", (1142, "INSERT, DELETE command")),
    ("INSERT, UPDATE", "INSERT INTO app_db.t VALUES (3, 1, 1) ON DUPLICATE KEY UPDATE a = 2", None),
    ("INSERT, UPDATE", "INSERT INTO app_db.t VALUES (3, 1, 1) ON DUPLICATE KEY UPDATE a = a + 1", (1143, "column 'a'")),
    ("INSERT, UPDATE", "INSERT INTO app_db.t VALUES (3, 1, 1) ON DUPLICATE KEY UPDATE a = VALUES(a)", (1143, "column 'a'")),
    ("DELETE", "INSERT INTO app_db.t VALUES (3, 1, 1) ON DUPLICATE KEY UPDATE a = 2", (1142, "INSERT, UPDATE command")),
    ("ALTER", "ALTER TABLE app_db.t ADD COLUMN c INT", None),
    ("INDEX", "ALTER TABLE app_db.t ADD INDEX (b)", (1142, "ALTER command")),
    ("INDEX", "CREATE INDEX i ON app_db.t (a)", None),
    ("ALTER", "CREATE INDEX i ON app_db.t (a)", (1142, "INDEX command")),
    ("ALTER", "ALTER TABLE app_db.t RENAME TO app_db.r", (1142, "DROP command")),
    ("INDEX", "ALTER TABLE app_db.t RENAME TO app_db.r", (1142, "DROP, ALTER command")),
    ("ALTER, DROP", "ALTER TABLE app_db.t RENAME TO app_db.r", (1142, "INSERT, CREATE command denied to user 'app'@'localhost' for table 'r'")),
    ("ALTER, DROP", "RENAME TABLE app_db.t TO app_db.r", (1142, "INSERT, CREATE command denied to user 'app'@'localhost' for table 'r'")),
    ("ALTER, DROP, CREATE, INSERT", "RENAME TABLE app_db.t TO app_db.r", None),
    ("ALTER, DROP", "OPTIMIZE TABLE app_db.t", (1142, "SELECT, INSERT command")),
    ("INSERT", "ANALYZE TABLE app_db.t", (1142, "SELECT command")),
    ("SELECT", "CHECK TABLE app_db.t", None),
    ("DROP", "TRUNCATE TABLE app_db.t", None),
    ("DELETE", "TRUNCATE TABLE app_db.t", (1142, "DROP command")),
]
# By an account that may see nothing of app_secret: the same whether or not the table and the column are there.
HIDDEN = ["SELECT * FROM {}", "SELECT nosuch FROM {}", "SELECT 1 FROM app_db.t WHERE id IN (SELECT x FROM {})", "INSERT INTO {} VALUES (1)",
          "INSERT INTO {} (nosuch) VALUES (1)", "INSERT INTO app_db.t SELECT nosuch FROM {}", "UPDATE {} SET nosuch = 1", "DELETE FROM {} WHERE nosuch = 1",
          "EXPLAIN SELECT * FROM {}", "SHOW CREATE TABLE {}", "DROP TABLE {}", "ALTER TABLE {} ADD COLUMN c INT", "TRUNCATE TABLE {}",
          "CHECK TABLE {}", "ANALYZE TABLE {}", "RENAME TABLE {} TO app_db.x", "CREATE TABLE app_db.y LIKE {}",
          "UPDATE app_db.t a JOIN {} b SET a.a = 1", "DELETE a FROM app_db.t a JOIN {} b", "SELECT * FROM {} FOR UPDATE"]
# MySQL says 1146 of what is not there; Tidemark does not tell.
TOLD_BY_MYSQL = ["DESCRIBE {}", "SHOW COLUMNS FROM {}", "SHOW INDEX FROM {}"]


class Grants:
    def __init__(self, address: Address, report: Report):
        self.address, self.report = address, report
        self.is_tidemark = "tidemark" in address.execute("SELECT VERSION()")[0][0]

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("grants/" + name.removeprefix("case_")):
                getattr(self, name)()

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def fresh(self, *grants: str) -> Address:
        self.root("DROP DATABASE IF EXISTS app_db", "CREATE DATABASE app_db", "CREATE TABLE app_db.t (id INT PRIMARY KEY, a INT, b INT)",
                  "INSERT INTO app_db.t VALUES (1, 1, 1), (2, 2, 2)", "DROP USER IF EXISTS app@localhost", "CREATE USER app@localhost",
                  *(f"GRANT {grant} TO app@localhost" for grant in grants))
        return Address(self.address.host, self.address.port, "app")

    @staticmethod
    def error(cursor, statement: str) -> tuple[int, str] | None:
        try:
            cursor.execute(statement)
            cursor.fetchall()
        except pymysql.err.MySQLError as error:
            return error.args[0], error.args[1]
        return None

    def case_statements_ask_for_what_mysql_asks_for(self):
        wrong = []
        for privileges, statement, expected in TABLE:
            app = self.fresh(f"{privileges} ON app_db.*")
            with app.connect() as connection, connection.cursor() as cursor:
                seen = self.error(cursor, statement)
            fits = seen is None if expected is None else seen is not None and seen[0] == expected[0] and expected[1] in seen[1]
            if not fits:
                wrong.append(f"{privileges}: {statement}: {seen}, expected {expected}")
        assert not wrong, "\n".join(wrong)

    def case_what_is_hidden_is_not_told_of(self):
        app = self.fresh("ALL ON app_db.*")
        self.root("DROP DATABASE IF EXISTS app_secret", "CREATE DATABASE app_secret", "CREATE TABLE app_secret.there (id INT PRIMARY KEY, x INT)")
        told = []
        with app.connect(database="app_db") as connection, connection.cursor() as cursor:
            for statement in HIDDEN + (TOLD_BY_MYSQL if self.is_tidemark else []):
                errors = [self.error(cursor, statement.format(table)) for table in ("app_secret.there", "app_secret.gone")]
                errors += [self.error(cursor, "PREPARE p FROM '" + statement.format(table) + "'") for table in ("app_secret.there", "app_secret.gone")]
                codes = [error and error[0] for error in errors]
                # PREPARE of a definition's change asks when it is executed.
                if codes[:2] != [1142, 1142] or len({error[1].replace("'there'", "'gone'") for error in errors[:2] if error}) != 1 or not {*codes[2:]} <= {1142, 1295, None} or codes[2] != codes[3]:
                    told.append(f"{statement}: {errors}")
        assert not told, "\n".join(told)

    def case_binary_prepare_tells_no_columns(self):
        app = self.fresh("ALL ON app_db.*")
        self.root("DROP DATABASE IF EXISTS app_secret", "CREATE DATABASE app_secret", "CREATE TABLE app_secret.there (id INT PRIMARY KEY, x INT)")
        with app.connect() as connection:
            for table in ("there", "gone"):
                try:
                    connection._execute_command(22, f"SELECT * FROM app_secret.{table}")
                    connection._read_packet()
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == 1142, error
                else:
                    raise AssertionError(f"{table} is prepared")

    def case_others_statements_are_not_shown(self):
        """A lock wait of root's, its statements long enough to be seen by somebody without PROCESS."""
        app = self.fresh("ALL ON app_db.*")
        holder, waiter = self.address.connect(autocommit=False), self.address.connect()
        thread = threading.Thread(target=lambda: waiter.cursor().execute("UPDATE app_db.t SET a = 5 /* the secret of the waiter */ WHERE id = 1"))
        try:
            holder.cursor().execute("UPDATE app_db.t SET a = 4 /* the secret of the holder */ WHERE id = 1")
            thread.start()
            time.sleep(0.4)
            with app.connect() as connection, connection.cursor() as cursor:
                for statement in ("SHOW FULL PROCESSLIST", "SELECT * FROM information_schema.processlist", "SELECT * FROM performance_schema.threads",
                                  "SELECT * FROM performance_schema.processlist", "SELECT * FROM sys.innodb_lock_waits", "SELECT * FROM information_schema.innodb_trx",
                                  "SELECT * FROM performance_schema.data_locks", "SELECT * FROM performance_schema.data_lock_waits",
                                  "SELECT * FROM performance_schema.metadata_locks", "SELECT * FROM sys.schema_table_lock_waits", "SELECT * FROM sys.tidemark_views",
                                  "SHOW ENGINE INNODB STATUS", "SELECT * FROM performance_schema.events_statements_current"):
                    try:
                        cursor.execute(statement)
                    except pymysql.err.MySQLError:
                        continue
                    assert "the secret" not in str(cursor.fetchall()), statement
                assert self.error(cursor, "SHOW ENGINE INNODB STATUS")[0] == 1227
        finally:
            holder.rollback()
            thread.join(20)
            holder.close()
            waiter.close()

    def case_passwords_are_not_shown(self):
        self.fresh()
        seen = []
        stop = threading.Event()

        def watch():
            with self.address.connect() as connection, connection.cursor() as cursor:
                while not stop.is_set():
                    cursor.execute("SELECT info FROM information_schema.processlist")
                    seen.extend(str(row[0]) for row in cursor.fetchall() if row[0] and "app@localhost" in str(row[0]))

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            with self.address.connect() as connection, connection.cursor() as cursor:
                for _ in range(60):
                    cursor.execute("ALTER USER app@localhost IDENTIFIED BY 'visible'")
                    cursor.execute("SET PASSWORD FOR app@localhost = 'visible'")
        finally:
            stop.set()
            watcher.join(20)
        assert seen, "no statement was seen"
        assert not [text for text in seen if "visible" in text], seen[:3]

    def case_prepared_statements_of_all_are_counted(self):
        before = self.root("SELECT @@global.max_prepared_stmt_count")[0][0]
        self.root("SET GLOBAL max_prepared_stmt_count = 5")
        try:
            with self.address.connect() as first, self.address.connect() as second, first.cursor() as one, second.cursor() as two:
                for n in range(3):
                    one.execute(f"PREPARE p{n} FROM 'SELECT {n}'")
                for n in range(2):
                    two.execute(f"PREPARE p{n} FROM 'SELECT {n}'")
                two.execute("PREPARE p1 FROM 'SELECT 7'")
                for cursor in (one, two):
                    code, text = self.error(cursor, "PREPARE more FROM 'SELECT 1'")
                    assert (code, text) == (1461, "Can't create more than max_prepared_stmt_count statements (current value: 5)"), (code, text)
                try:
                    second._execute_command(22, "SELECT 1")
                    second._read_packet()
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == 1461, error
                else:
                    raise AssertionError("COM_STMT_PREPARE is not counted")
                one.execute("DEALLOCATE PREPARE p0")
                two.execute("PREPARE more FROM 'SELECT 1'")
            time.sleep(0.3)
            assert self.root("SHOW STATUS LIKE 'Prepared_stmt_count'")[0][1] == "0"
        finally:
            self.root(f"SET GLOBAL max_prepared_stmt_count = {before}")


def run(address: Address, report: Report) -> None:
    Grants(address, report).run()

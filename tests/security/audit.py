"""The logs of statements: what MySQL's tools read, without passwords, and off when they are off."""
import re
import shutil
import subprocess

import pymysql

from support.address import Address
from support.patience import is_within
from support.report import Report
from support.server import Server

GENERAL = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\t +(\d+) (\w+)\t(.*)$", re.MULTILINE)
SLOW = re.compile(r"# Time: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\n# User@Host: (\S+)\[(\S+)\] @ (\S*) \[(\S*)\]  Id: +\d+\n"
                  r"# Query_time: (\d+\.\d+)  Lock_time: (\d+\.\d+) Rows_sent: (\d+)  Rows_examined: (\d+)\n(?:use (\w+);\n)?SET timestamp=\d+;\n(.*);\n")

EXAMINED = {
    "SELECT * FROM t": 100, "SELECT * FROM t WHERE id = 5": 1, "SELECT * FROM t WHERE id = 500": 0, "SELECT * FROM t WHERE c = 5": 100, "SELECT * FROM t WHERE a = 3": 10,
    "SELECT id FROM t WHERE id BETWEEN 10 AND 19": 10, "SELECT a FROM t WHERE a > 7": 20, "SELECT COUNT(*) FROM t WHERE c < 3": 100, "SELECT * FROM t ORDER BY c": 200,
    "SELECT * FROM t ORDER BY c LIMIT 3": 103, "SELECT * FROM t ORDER BY id LIMIT 3": 3, "SELECT * FROM t LIMIT 7": 7, "SELECT b, COUNT(*) FROM t GROUP BY b": 100,
    "SELECT DISTINCT b FROM t": 100, "SELECT t.id, u.id FROM t JOIN u ON u.v = t.c": 300,
    "SELECT id FROM t UNION ALL SELECT id FROM u": 300, "SELECT (SELECT COUNT(*) FROM u WHERE u.t = t.id) FROM t WHERE id < 5": 20, "SELECT MAX(id) FROM t": 1,
    "SELECT MAX(c) FROM t": 100, "SELECT id FROM t WHERE id IN (1, 5, 9)": 3,
    "UPDATE t SET c = c WHERE a = 3": 10, "UPDATE t SET c = c + 0 WHERE id = 3": 1, "DELETE FROM u WHERE id = 1": 1, "DELETE FROM u WHERE v = 2": 199,
    "INSERT INTO u SELECT id + 1000, id, 1 FROM t": 100, "SELECT * FROM t FOR UPDATE": 100, "INSERT INTO u VALUES (5000, 1, 1)": 0,
}


class Audit:
    def __init__(self, server: Server, report: Report):
        self.server, self.address, self.report = server, server.address, report

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("audit/" + name.removeprefix("case_")):
                getattr(self, name)()

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def case_general_log(self):
        self.root("DROP USER IF EXISTS app@localhost", "SET GLOBAL general_log_file = 'all.log'", "SET GLOBAL general_log = ON")
        with self.address.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT 'one', 1 + 1")
            cursor.execute("CREATE USER app@localhost IDENTIFIED BY 'hidden'")
            cursor.execute("SET sql_log_off = 1")
            cursor.execute("SELECT 'not logged'")
        self.root("SET GLOBAL general_log = OFF")
        self.root("SELECT 'after'")
        text = (self.server.datadir / "all.log").read_text()
        entries = [entry[1:] for entry in GENERAL.findall(text)]
        for entry in (("Connect", "root@localhost on "), ("Query", "SELECT 'one', 1 + 1"), ("Query", "CREATE USER app@localhost IDENTIFIED BY <secret>")):
            assert entry in entries, (entry, text)
        assert "hidden" not in text and "not logged" not in text and "after" not in text, text
        assert (self.server.datadir / "all.log").stat().st_mode & 0o777 == 0o640

    def case_slow_query_log(self):
        self.root("CREATE DATABASE IF NOT EXISTS app_db", "SET GLOBAL slow_query_log_file = 'slow.log'", "SET GLOBAL slow_query_log = ON")
        with self.address.connect(database="app_db") as connection, connection.cursor() as cursor:
            before = int(self.root("SHOW GLOBAL STATUS LIKE 'Slow_queries'")[0][1])
            cursor.execute("SET long_query_time = 0.2")
            cursor.execute("SELECT 'fast'")
            cursor.execute("SELECT 'slow', SLEEP(0.3)")
            after = int(self.root("SHOW GLOBAL STATUS LIKE 'Slow_queries'")[0][1])
        self.root("SET GLOBAL slow_query_log = OFF")
        path = self.server.datadir / "slow.log"
        text = path.read_text()
        found = [entry for entry in SLOW.findall(text) if "slow" in entry[9]]
        assert len(found) == 1, text
        user, _, host, _, took, locked, sent, examined, schema, statement = found[0]
        assert (user, host, sent, examined, schema, statement) == ("root", "localhost", "1", "1", "app_db", "SELECT 'slow', SLEEP(0.3)"), found
        assert 0.3 <= float(took) and is_within(float(took), 5) and is_within(float(locked), 0.1) and "'fast'" not in text and after == before + 1, (text, before, after)
        for tool in ("mysqldumpslow", "mariadb-dumpslow"):
            if shutil.which(tool):
                said = subprocess.run([tool, str(path)], capture_output=True, text=True, timeout=30).stdout
                assert "Count: 1" in said and "SELECT 'S', SLEEP(N.N)" in said, said
                break
        if shutil.which("pt-query-digest"):
            said = subprocess.run(["pt-query-digest", str(path)], capture_output=True, text=True, timeout=60).stdout
            assert "SELECT 'slow', SLEEP(0.3)" in said, said

    def case_slow_query_log_says_how_long_locks_were_waited_for(self):
        self.root("CREATE DATABASE IF NOT EXISTS app_db", "DROP TABLE IF EXISTS app_db.locked",
                  "CREATE TABLE app_db.locked (id INT PRIMARY KEY)", "INSERT INTO app_db.locked VALUES (1)",
                  "SET GLOBAL slow_query_log_file = 'locks.log'", "SET GLOBAL slow_query_log = ON")
        with self.address.connect(database="app_db") as owner, self.address.connect(database="app_db") as waiter:
            for sql in ("SET innodb_lock_wait_timeout = 1", "SET long_query_time = 0.2"):
                waiter.cursor().execute(sql)
            owner.begin()
            owner.cursor().execute("SELECT * FROM locked FOR UPDATE")
            try:
                waiter.cursor().execute("DELETE FROM locked")
                raise AssertionError("the row is locked")
            except pymysql.err.OperationalError as error:
                assert error.args[0] == 1205, error
            waiter.cursor().execute("SELECT SLEEP(0.3)")
        self.root("SET GLOBAL slow_query_log = OFF")
        text = (self.server.datadir / "locks.log").read_text()
        locked = {entry[9]: (float(entry[4]), float(entry[5])) for entry in SLOW.findall(text)}
        took, waited = locked["DELETE FROM locked"]
        assert 0.9 < waited <= took and is_within(locked["SELECT SLEEP(0.3)"][1], 0.1), text

    def case_rows_examined(self):
        """As many as MySQL 9.7 counts (ROWS_EXAMINED of performance_schema.events_statements_history)."""
        self.root("DROP DATABASE IF EXISTS examined", "CREATE DATABASE examined",
                  "CREATE TABLE examined.t (id INT PRIMARY KEY, a INT, b VARCHAR(10), c INT, KEY (a))", "CREATE TABLE examined.u (id INT PRIMARY KEY, t INT, v INT, KEY (t))",
                  "INSERT INTO examined.t VALUES " + ", ".join(f"({i}, {i % 10}, 'x{i % 7}', {i % 13})" for i in range(1, 101)),
                  "INSERT INTO examined.u VALUES " + ", ".join(f"({i}, {i % 50}, {i % 3})" for i in range(1, 201)))
        path = self.server.datadir / "examined.log"
        self.root("SET GLOBAL slow_query_log_file = 'examined.log'", "SET GLOBAL slow_query_log = ON")
        with self.address.connect(database="examined") as connection, connection.cursor() as cursor:
            cursor.execute("SET long_query_time = 0")
            for statement in EXAMINED:
                cursor.execute(statement)
            cursor.execute("SET min_examined_row_limit = 50")
            cursor.execute("SELECT 'few' FROM t WHERE id < 5")
            cursor.execute("SELECT 'many' FROM t WHERE id < 60")
        self.root("SET GLOBAL slow_query_log = OFF", "DROP DATABASE examined")
        text = path.read_text()
        seen = {entry[9]: int(entry[7]) for entry in SLOW.findall(text)}
        assert {statement: seen.get(statement) for statement in EXAMINED} == EXAMINED, seen
        assert "'many'" in text and "'few'" not in text, text

    def case_logs_are_opened_anew(self):
        self.root("SET GLOBAL general_log_file = 'moved.log'", "SET GLOBAL general_log = ON", "SELECT 'before'")
        path = self.server.datadir / "moved.log"
        path.rename(path.with_suffix(".1"))
        self.root("FLUSH LOGS", "SELECT 'later'")
        self.root("SET GLOBAL general_log = OFF")
        assert "'before'" in path.with_suffix(".1").read_text() and "'later'" in path.read_text()

    def case_what_cannot_be_had_is_refused(self):
        for statement, code in (("SET GLOBAL log_output = 'TABLE'", 1231), ("SET GLOBAL general_log_file = '/no/such/dir/log'", None)):
            self.root("SET GLOBAL general_log = ON")
            try:
                self.root(statement)
            except pymysql.err.MySQLError as error:
                assert code is None or error.args[0] == code, error
                assert code or "/no/such/dir/log" in error.args[1], error
            else:
                raise AssertionError(f"{statement} succeeds")
        self.root("SET GLOBAL log_output = 'NONE'", "SELECT 'nowhere'", "SET GLOBAL log_output = 'FILE'", "SET GLOBAL general_log = OFF")


def run(_: Address, report: Report) -> None:
    """On a server of its own, whose logs it reads."""
    with Server("audit") as server:
        Audit(server, report).run()

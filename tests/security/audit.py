"""The logs of statements: what MySQL's tools read, without passwords, and off when they are off."""
import re
import shutil
import subprocess

import pymysql

from support.address import Address
from support.report import Report
from support.server import Server

GENERAL = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\t +(\d+) (\w+)\t(.*)$", re.MULTILINE)
SLOW = re.compile(r"# Time: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z\n# User@Host: (\S+)\[(\S+)\] @ (\S*) \[(\S*)\]  Id: +\d+\n"
                  r"# Query_time: (\d+\.\d+)  Lock_time: \d+\.\d+ Rows_sent: (\d+)\n(?:use (\w+);\n)?SET timestamp=\d+;\n(.*);\n")


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
            before = int(self.root("SHOW STATUS LIKE 'Slow_queries'")[0][1])
            cursor.execute("SET long_query_time = 0.2")
            cursor.execute("SELECT 'fast'")
            cursor.execute("SELECT 'slow', SLEEP(0.3)")
            after = int(self.root("SHOW STATUS LIKE 'Slow_queries'")[0][1])
        self.root("SET GLOBAL slow_query_log = OFF")
        path = self.server.datadir / "slow.log"
        text = path.read_text()
        found = [entry for entry in SLOW.findall(text) if "slow" in entry[7]]
        assert len(found) == 1, text
        user, _, host, _, took, sent, schema, statement = found[0]
        assert (user, host, sent, schema, statement) == ("root", "localhost", "1", "app_db", "SELECT 'slow', SLEEP(0.3)"), found
        assert 0.3 <= float(took) < 5 and "'fast'" not in text and after == before + 1, (text, before, after)
        for tool in ("mysqldumpslow", "mariadb-dumpslow"):
            if shutil.which(tool):
                said = subprocess.run([tool, str(path)], capture_output=True, text=True, timeout=30).stdout
                assert "Count: 1" in said and "SELECT 'S', SLEEP(N.N)" in said, said
                break
        if shutil.which("pt-query-digest"):
            said = subprocess.run(["pt-query-digest", str(path)], capture_output=True, text=True, timeout=60).stdout
            assert "SELECT 'slow', SLEEP(0.3)" in said, said

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

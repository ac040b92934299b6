"""What somebody without an account, or with a small one, can do: nothing to the log, to others' logins, or to their sessions.

127.0.0.2 is a host like any other; 127.0.0.1 is this machine.
"""
import json
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pymysql

from login import NATIVE, SHA2, Login, random_password, salted
from support.address import Address
from support.patience import patience
from support.report import Report
from support.server import Server, binary, free_port, scratch

OTHER = "127.0.0.2"
LINE = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z \[(Note|Warning|Error)\] (.*)$")
FORGED = "x\n2026-01-01T00:00:00.000000Z [Note] connection 9: root@localhost has logged in\r\x1b[2J\u202e\u2028\x7f"

# Fails to log in from 127.0.0.2 so many times a second, if it can, until its input ends; each time with a wrong password in full.
ATTACK = """
import select, sys, threading, time
sys.path[:0] = sys.argv[4:]
from login import Login, random_password
from support.address import Address
address, rate, began, count = Address(sys.argv[1], int(sys.argv[2])), float(sys.argv[3]), time.monotonic(), [0]
over = threading.Event()

def fail():
    while not over.is_set():
        ahead = count[0] / rate - (time.monotonic() - began)
        if ahead > 0:
            time.sleep(min(ahead, 0.1))
            continue
        count[0] += 1
        try:
            Login(address, "victim", random_password(), source="127.0.0.2")
        except OSError:
            pass

threads = [threading.Thread(target=fail) for _ in range(40)]
[thread.start() for thread in threads]
select.select([sys.stdin], [], [])
over.set()
[thread.join() for thread in threads]
print(count[0])
"""


class Strangers:
    def __init__(self, server: Server, report: Report):
        self.server, self.address, self.report = server, server.address, report

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("strangers/" + name.removeprefix("case_")):
                getattr(self, name)()

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def user(self, name: str, password: str = "") -> Address:
        return Address(self.address.host, self.address.port, name, password)

    def error(self, statement: str, address: Address | None = None, **options) -> int | None:
        try:
            with (address or self.address).connect(**options) as connection:
                connection.cursor().execute(statement)
        except pymysql.err.MySQLError as error:
            return error.args[0]
        return None

    def accounts(self, *definitions: str) -> None:
        for definition in definitions:
            name = definition.split()[0]
            self.root(f"DROP USER IF EXISTS {name}", f"CREATE USER {definition}")

    # ------------------------------------------------------------------------------------------------------ log

    def case_names_do_not_forge_lines_of_the_log(self):
        before = len(self.server.output.read_text(errors="replace"))
        for user in (FORGED, "y" * 100_000, b"\xff\xfe\x80bad", "\u202edesrever", "\t\x00"):
            login = Login(self.address, user, "x")
            assert login.error and login.error[0] == 1045, (user[:40], login.error)
            assert len(login.error[1]) < 200, login.error
        time.sleep(0.2)
        text = self.server.output.read_text()[before:]
        lines = text.splitlines()
        assert len([line for line in lines if "no login" in line]) >= 4, text
        assert all(LINE.match(line) for line in lines), text
        assert all(character.isprintable() for line in lines for character in line), ascii(text)
        assert not any(LINE.match(line)[2].startswith("connection 9: root") for line in lines), text
        assert max(map(len, lines)) < 300, text

    def case_failed_logins_do_not_fill_the_log(self):
        # What was left out before is told by the next line.
        time.sleep(1.1)
        Login(self.address, "somebody", "")
        time.sleep(0.2)
        before = len(self.server.output.read_text())
        began = time.monotonic()
        attempts = 600
        for n in range(attempts):
            Login(self.address, "nobody", "")
        time.sleep(1.1)
        lasted = time.monotonic() - began
        Login(self.address, "somebody", "")
        time.sleep(0.2)
        text = self.server.output.read_text()[before:]
        lines = text.count("no login")
        left_out = sum(int(count) for count in re.findall(r"(\d+) more lines about clients of localhost are left out", text))
        assert lines <= 10 * (lasted + 2), f"{lines} lines in {lasted:.1f} s"
        assert lines + left_out == attempts + 1, (lines, left_out, attempts)
        assert "root@localhost has logged in" in self.login_lines(), "others are logged still"

    def login_lines(self) -> str:
        before = len(self.server.output.read_text())
        self.root("DO 1")
        time.sleep(0.2)
        return self.server.output.read_text()[before:]

    def case_the_log_as_json(self):
        with Server("strangers-json", "--log-format=json") as server:
            for user in (FORGED, "y" * 1000):
                Login(server.address, user, "x")
            time.sleep(0.2)
            lines = [line for line in server.output.read_text().splitlines() if line.startswith("{")]
            messages = [json.loads(line)["msg"] for line in lines]
            refused = [message for message in messages if "no login" in message]
            assert len(refused) == 2 and all(c.isprintable() for message in refused for c in message), refused
            shown = server.address.execute("SELECT DATA FROM performance_schema.error_log WHERE DATA LIKE '%no login%'")
            assert [data for data, in shown] == refused, shown

    # --------------------------------------------------------------------------------------------------- logins

    def case_honest_logins_get_in_beside_failing_ones(self):
        """250 and 1,400 wrong passwords a second from another host, each to be hashed: every honest login gets in."""
        self.accounts(f"victim@'{OTHER}' IDENTIFIED BY 'right'", "honest@localhost IDENTIFIED BY 'right'")
        self.root("SET GLOBAL max_connect_errors = 1000000")
        here = Path(__file__).resolve().parent
        try:
            for rate in (250, 1400):
                arguments = [sys.executable, "-c", ATTACK, self.address.host, str(self.address.port), str(rate / 2), str(here), str(here.parent)]
                attackers = [subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
                try:
                    time.sleep(1)
                    refused, took = [], []
                    for _ in range(20):
                        started = time.monotonic()
                        login = Login(self.address, "honest", "right")
                        took.append(time.monotonic() - started)
                        if login.packets[-1] != "ok":
                            refused.append(login.packets)
                finally:
                    attempts = sum(int(attacker.communicate("")[0]) for attacker in attackers)
                self.report.note(f"strangers: {rate}/s wanted, {attempts} attempts; honest logins took {max(took):.2f} s at most")
                assert attempts >= 20 and not refused, refused
        finally:
            self.root("SET GLOBAL max_connect_errors = 100", "FLUSH HOSTS")

    def case_wrong_passwords_are_counted_of_their_host(self):
        self.accounts(f"victim@'{OTHER}' IDENTIFIED BY 'right'")
        self.root("FLUSH HOSTS")
        for _ in range(3):
            assert Login(self.address, "victim", "wrong", source=OTHER).error[0] == 1045
        counted = self.root(f"SELECT COUNT_AUTHENTICATION_ERRORS FROM performance_schema.host_cache WHERE IP = '{OTHER}'")
        assert counted == ((3,),), counted
        self.root("FLUSH HOSTS")
        assert self.root("SELECT COUNT(*) FROM performance_schema.host_cache") == ((0,),)

    def case_accounts_are_not_told_apart_by_a_wrong_password(self):
        """Kind of account × plugin of the client × guess: the same packets in the same order, and the same error."""
        sha2 = ["present@localhost IDENTIFIED BY 'right'", "without@localhost", "locked@localhost IDENTIFIED BY 'right' ACCOUNT LOCK",
                "lockedwithout@localhost ACCOUNT LOCK", "expired@localhost IDENTIFIED BY 'right' PASSWORD EXPIRE", "few@localhost IDENTIFIED WITH caching_sha2_password AS '"
                + salted("005") + "'", "needs@localhost IDENTIFIED BY 'right' REQUIRE X509"]
        native = [f"n{name.split('@')[0]}@localhost IDENTIFIED WITH mysql_native_password BY 'right' {more}"
                  for name, more in (("present", ""), ("locked", "ACCOUNT LOCK"), ("expired", "PASSWORD EXPIRE"), ("needs", "REQUIRE X509"))]
        self.accounts(*sha2, *native)
        names = lambda definitions: [definition.split("@")[0] for definition in definitions]
        unknown = [f"nosuch{n}" for n in range(24)]
        for plugin in (SHA2, NATIVE):
            for guess in ("wrong", random_password(), "w" * 200):
                seen = {}
                for name in names(sha2) + names(native) + unknown:
                    login = Login(self.address, name, guess, plugin)
                    assert login.error == (1045, f"Access denied for user '{name}'@'localhost' (using password: YES)"), (name, login.error)
                    seen[name] = tuple(login.packets)
                ways = [{seen[name] for name in group} for group in (names(sha2), names(native))]
                assert [len(way) for way in ways] == [1, 1], (plugin, seen)
                assert {seen[name] for name in unknown} == ways[0] | ways[1], (plugin, seen)
            empty = {name: Login(self.address, name, "", plugin).packets[-1] for name in ["present", "locked", "needs", *unknown, *names(native)]}
            assert set(empty.values()) == {"error 1045"}, empty

    def case_a_locked_account_answers_a_right_password_as_a_wrong_one(self):
        self.accounts("locked@localhost IDENTIFIED BY 'right'", "nlocked@localhost IDENTIFIED WITH mysql_native_password BY 'right'",
                      "needs@localhost IDENTIFIED BY 'right'", "counted@localhost IDENTIFIED BY 'right' FAILED_LOGIN_ATTEMPTS 4 PASSWORD_LOCK_TIME 1")
        for name in ("locked", "needs", "counted"):
            Login(self.address, name, "right")      # the server knows the password now
        self.root("ALTER USER locked@localhost, nlocked@localhost, counted@localhost ACCOUNT LOCK", "ALTER USER needs@localhost REQUIRE X509")
        before = len(self.server.output.read_text())
        time.sleep(1.1)
        for name in ("locked", "nlocked", "needs"):
            for plugin in (SHA2, NATIVE):
                right, wrong = (Login(self.address, name, guess, plugin) for guess in ("right", "wrong"))
                assert (right.packets, right.error) == (wrong.packets, wrong.error) and right.error[0] == 1045, (name, right.packets, wrong.packets)
        time.sleep(0.2)
        text = self.server.output.read_text()[before:]
        assert text.count("since the account is locked") == 4, text
        # Nor does it by what it counts.
        answers = [Login(self.address, "counted", guess).packets[-1] for guess in ("wrong", "wrong", "right", "wrong")]
        assert answers == ["error 1045"] * 3 + ["error 3955"], answers

    def case_an_account_cannot_choose_dear_rounds(self):
        self.root("DROP USER IF EXISTS dear@localhost")
        for rounds in ("FFF", "015", "100"):
            assert self.error(f"CREATE USER dear@localhost IDENTIFIED WITH caching_sha2_password AS '{salted(rounds)}'") == 1827, rounds
        for rounds in ("005", "00A", "014"):
            self.accounts(f"dear@localhost IDENTIFIED WITH caching_sha2_password AS '{salted(rounds)}'")
        self.root("DROP USER dear@localhost")

    # ------------------------------------------------------------------------------------------------ identities

    def case_an_anonymous_account_is_not_who_it_says(self):
        self.accounts(f"''@'{OTHER}'")
        anonymous = {"bind_address": OTHER}
        with self.address.connect() as root, self.user("root").connect(**anonymous) as liar:
            root_id, own_id = root.thread_id(), liar.thread_id()
            cursor = liar.cursor()
            seen = {}
            for statement in ("SHOW PROCESSLIST", "SHOW FULL PROCESSLIST", "SELECT ID FROM information_schema.processlist"):
                cursor.execute(statement)
                seen[statement] = [row[0] for row in cursor.fetchall()]
            assert all(ids == [own_id] for ids in seen.values()), seen
            for statement, code in ((f"KILL {root_id}", 1095), (f"KILL QUERY {root_id}", 1095), (f"EXPLAIN FOR CONNECTION {root_id}", 1045)):
                try:
                    cursor.execute(statement)
                    raise AssertionError(f"{statement}: no error")
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == code, (statement, error)
            root.cursor().execute("DO 1")
        self.root(f"DROP USER ''@'{OTHER}'")

    def case_the_account_of_skip_grant_tables_has_no_name(self):
        name = "'skip-grants user'@'skip-grants host'"
        self.accounts("me@localhost")
        for statement, code in ((f"GRANT {name} TO me@localhost", 3523), (f"RENAME USER {name} TO x@localhost", 1396), (f"DROP USER {name}", 1396),
                                (f"CREATE USER {name}", 1396), (f"CREATE ROLE {name}", 1396), (f"RENAME USER me@localhost TO {name}", 1396),
                                (f"ALTER USER {name} ACCOUNT UNLOCK", 1396), (f"SHOW GRANTS FOR {name}", 1141), (f"GRANT SELECT ON *.* TO {name}", 1410)):
            assert self.error(statement) == code, (statement, self.error(statement), code)

    # ---------------------------------------------------------------------------------------------------- bounds

    def case_what_a_statement_puts_aside_is_bounded(self):
        self.root("DROP DATABASE IF EXISTS spilled", "CREATE DATABASE spilled", "CREATE TABLE spilled.t (a INT, b VARCHAR(200))", "INSERT INTO spilled.t VALUES (1, REPEAT('x', 200))",
                  *["INSERT INTO spilled.t SELECT a * 7 % 10007, b FROM spilled.t"] * 13)
        many = "SELECT COUNT(*) FROM (SELECT a, b FROM spilled.t ORDER BY b, a LIMIT 8000) q"
        try:
            self.root("SET GLOBAL tidemark_max_spill_size = 262144")
            with self.address.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SET sort_buffer_size = 32768, tmp_table_size = 32768")
                for statement in (many, "SELECT a, b, COUNT(*) FROM spilled.t GROUP BY a, b, RAND()", "SELECT DISTINCT a, b, RAND() FROM spilled.t"):
                    try:
                        cursor.execute(statement)
                        raise AssertionError(f"{statement}: no error")
                    except pymysql.err.MySQLError as error:
                        assert error.args[0] == 3170 and "tidemark_max_spill_size" in error.args[1], error
                cursor.execute("SELECT COUNT(*) FROM spilled.t")
                assert cursor.fetchall() == ((8192,),)
                cursor.execute("SET GLOBAL tidemark_max_spill_size = DEFAULT")
                cursor.execute(many)
                assert cursor.fetchall() == ((8000,),), "it gave back what it had"
        finally:
            self.root("SET GLOBAL tidemark_max_spill_size = DEFAULT", "DROP DATABASE spilled")

    def case_sorts_leave_room_on_the_disk(self):
        """Forty sorts of an account without rights fill what they may have of a small disk, and are refused; others write on."""
        home = Path(tempfile.mkdtemp(prefix="tidemark-small-"))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_MB}m", "tmpfs", home], capture_output=True)
        if mounted.returncode:
            home.rmdir()
            self.report.skip("strangers/sorts leave room on the disk", "it needs the right to mount a small file system")
            return
        try:
            with Server("small", "--innodb-buffer-pool-size=16M", "--innodb-redo-log-capacity=16M", "--max-connections=100", datadir=home / "data") as server:
                sorts_on_a_small_disk(server)
                assert server.stop() == 0
        finally:
            subprocess.run(["umount", home], check=True)
            home.rmdir()

    def case_files(self):
        """With few files connections are refused by error 1040, and the log says so once."""
        for limit in (64, 100):
            with scratch("files") as home:
                output, port = Path(home) / "log", free_port()
                started = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
                command = [binary(), "serve", f"--datadir={home}/data", f"--port={port}", "--socket="]
                with open(output, "wb") as log:
                    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, preexec_fn=started)
                try:
                    self.few_files(Address("127.0.0.1", port), limit, output)
                finally:
                    process.terminate()
                    process.wait(60)

    def few_files(self, address: Address, limit: int, output: Path) -> None:
        deadline = time.monotonic() + 60
        while True:
            try:
                address.connect(connect_timeout=10).close()
                break
            except pymysql.err.OperationalError:
                assert time.monotonic() < deadline, output.read_text()
                time.sleep(0.1)
        files, connections = address.execute("SELECT @@open_files_limit, @@max_connections")[0]
        assert files == limit and connections < 151, (files, connections)
        text = output.read_text()
        assert f"max_connections is {connections}, not 151" in text, text
        open_ones, codes = [], []
        try:
            for _ in range(limit + 50):
                try:
                    open_ones.append(address.connect(connect_timeout=10))
                except pymysql.err.OperationalError as error:
                    codes.append(error.args[0])
            # One more than that is an administrator's.
            assert len(open_ones) == connections + 1, (len(open_ones), connections)
            assert set(codes) == {1040}, codes
            open_ones[0].cursor().execute("DO 1")
        finally:
            for connection in open_ones:
                connection.close()
        # And if it runs out of files all the same: clients that say nothing have some of them.
        assert output.read_text().count("could not be accepted") <= 1, output.read_text()


SMALL_DISK_MB = 512
SORTERS = 40


def sorts_on_a_small_disk(server: Server) -> None:
    server.address.execute("CREATE USER sorter@localhost", "CREATE DATABASE room", "CREATE TABLE room.t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(1000))")
    refused, strange, over = [], [], threading.Event()

    def sort() -> None:
        rows = "WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 100000) SELECT x, REPEAT(CHAR(65 + x % 26), 500) AS s FROM n"
        statement = f"SELECT COUNT(*), MAX(s) FROM (SELECT x, s FROM ({rows}) y ORDER BY s, x DESC LIMIT 99999) z"
        with Address(server.address.host, server.address.port, "sorter").connect(read_timeout=600) as connection, connection.cursor() as cursor:
            cursor.execute("SET cte_max_recursion_depth = 1000000, sort_buffer_size = 32768, tmp_table_size = 32768")
            while not over.is_set():
                try:
                    cursor.execute(statement)
                    cursor.fetchall()
                except pymysql.err.MySQLError as error:
                    (refused if error.args[0] == 3170 else strange).append(error.args)

    threads = [threading.Thread(target=sort) for _ in range(SORTERS)]
    for thread in threads:
        thread.start()
    wrote = 0
    try:
        with server.address.connect(autocommit=True, read_timeout=600) as connection, connection.cursor() as cursor:
            began = time.monotonic()
            # Until sorts have been refused, and for a while longer.
            while wrote < 300 or len(refused) < SORTERS and time.monotonic() - began < patience(120):
                cursor.execute("INSERT INTO room.t (s) VALUES (REPEAT('x', 1000))")
                cursor.execute("UPDATE room.t SET s = REPEAT('y', 1000) WHERE id = %s", (wrote // 2 + 1,))
                wrote += 1
            cursor.execute("SELECT COUNT(*) FROM room.t")
            assert cursor.fetchall() == ((wrote,),)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert refused, "no sort was refused"
    assert not strange, strange[:3]
    assert all("'tidemark_max_spill_size'" in text for _, text in refused), refused[0]


def run(_: Address, report: Report) -> None:
    """On a server of its own, whose log it reads."""
    with Server("strangers", "--max-connections=100", "--tidemark-max-logins=100") as server:
        Strangers(server, report).run()

"""Connections: clients that never finish, or never begin, keep nobody out, and what they cost is bounded.

`connections.py --idle 5000 --rate 10000 --seconds 10` is the attack at full size: it wants a machine to itself.
"""
import argparse
import re
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import pymysql

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.address import Address
from support.patience import is_within
from support.report import Report
from support.server import Server, free_port

LOGINS_MAX = 100
TLS = {"verify_mode": "none", "check_hostname": False}

# A program that makes so many attempts a second, if it can, until its input ends, and prints how many there were. One in three
# stops where the greeting is, one logs in with a wrong name, one sends what is no login. 300 are open at once.
ATTACK = """
import select, socket, sys, time
address, rate = (sys.argv[1], int(sys.argv[2])), float(sys.argv[3])
login = (0x000a8a85).to_bytes(4, "little") + bytes([0, 0, 0, 1, 45]) + bytes(23) + b"nobody\\0\\x14" + bytes(20) + b"mysql_native_password\\0"
sent = [b"", len(login).to_bytes(3, "little") + b"\\x01" + login, b"GET / HTTP/1.0\\r\\n\\r\\n"]
mine, attempts, began = [], 0, time.monotonic()
while attempts % 50 or not select.select([sys.stdin], [], [], 0)[0]:
    if (ahead := attempts / rate - (time.monotonic() - began)) > 0.01:
        time.sleep(ahead)
    client = socket.socket()
    client.setblocking(False)
    try:
        client.connect(address)
    except BlockingIOError:
        pass
    except OSError:
        continue
    mine.append((client, sent[attempts % 3]))
    attempts += 1
    if len(mine) > 300:
        mine.pop(0)[0].close()
    # What connects has done so by now.
    client, text = mine[len(mine) // 2]
    try:
        client.send(text)
    except OSError:
        pass
print(attempts)
"""


class Half:
    """A client that has got the greeting and goes no further by itself."""

    def __init__(self, address: Address, source: str = ""):
        self.socket = socket.create_connection((address.host, address.port), 10, (source, 0) if source else None)
        self.socket.settimeout(20)
        self.greeting = self.packet()

    def packet(self) -> bytes:
        header = self.exactly(4)
        return self.exactly(int.from_bytes(header[:3], "little")) if header else b""

    def exactly(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            try:
                more = self.socket.recv(length - len(data))
            except ConnectionError:
                return b""
            if not more:
                return b""
            data += more
        return data

    def error(self) -> int | None:
        """The number of the error that was sent in place of a greeting."""
        return int.from_bytes(self.greeting[1:3], "little") if self.greeting[:1] == b"\xff" else None

    def lives_s(self, limit_s: float, drip_s: float = 0, bytes_to_drip: bytes = b"") -> float:
        """How long the server keeps the connection while it is fed a byte at a time."""
        started = time.monotonic()
        self.socket.settimeout(drip_s or limit_s)
        dripped = iter(bytes_to_drip)
        while time.monotonic() - started < limit_s:
            try:
                if (byte := next(dripped, None)) is not None:
                    self.socket.send(bytes([byte]))
                if not self.socket.recv(1000):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        return time.monotonic() - started

    def close(self) -> None:
        self.socket.close()


class Connections:
    idle_max, rate, seconds = 2000, 4000, 8     # of the attack

    def __init__(self, server: Server, report: Report):
        self.server, self.address, self.report = server, server.address, report

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            with self.report.case("connections/" + name.removeprefix("case_")):
                getattr(self, name)()

    def root(self, *statements: str) -> tuple:
        return self.address.execute(*statements)

    def user(self, name: str) -> Address:
        return Address(self.address.host, self.address.port, name)

    def refused(self, code: int, address: Address, statement: str | None = None, **options) -> str:
        """A login, or a statement after it, fails with the error; its text."""
        try:
            with address.connect(**options) as connection:
                if statement:
                    connection.cursor().execute(statement)
        except pymysql.err.MySQLError as error:
            assert error.args[0] == code, f"{statement or 'login'}: {error}, expected {code}"
            return error.args[1]
        raise AssertionError(f"no error {code}")

    def case_slow_logins_lock_nobody_out(self):
        """Thousands of clients that stop after the greeting: the oldest makes room, and everybody else is served."""
        halves = []
        try:
            for _ in range(LOGINS_MAX * 3):
                halves.append(Half(self.address))
                if len(halves) % 50 == 0:
                    self.address.connect(connect_timeout=5).close()
            assert self.root("SELECT 1") == ((1,),)
            threads = int(re.search(r"Threads:\s+(\d+)", Path(f"/proc/{self.server.process.pid}/status").read_text()).group(1))
            assert threads < LOGINS_MAX * 2 + 50, f"{threads} threads"
        finally:
            for half in halves:
                half.close()

    def case_slow_logins_do_not_count_as_connections(self):
        before = self.root("SELECT @@global.max_connections")[0][0]
        halves = [Half(self.address) for _ in range(LOGINS_MAX - 5)]
        try:
            self.root("SET GLOBAL max_connections = 3")
            with self.address.connect(), self.address.connect():
                assert self.root("SELECT 1") == ((1,),)
        finally:
            for half in halves:
                half.close()
            self.root(f"SET GLOBAL max_connections = {before}")

    def case_one_deadline_for_the_whole_login(self):
        """A byte now and then does not begin the time anew: not before TLS, not in its handshake, not after the user's name."""
        self.root("SET GLOBAL connect_timeout = 2")
        try:
            plain = b"\x40\x00\x00\x01" + b"\x85\xa2\x1e\x00" + b"\0" * 60
            to_tls = b"\x20\x00\x00\x01" + (0x0008AA85 | 1 << 11).to_bytes(4, "little") + b"\0" * 28
            hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500
            for what, at_once, dripped in (("silence", b"", b""), ("plain", b"", plain), ("TLS", to_tls, hello)):
                half = Half(self.address)
                half.socket.sendall(at_once)
                lived = half.lives_s(8, 0.4 if dripped else 0, dripped)
                half.close()
                assert 1 < lived and is_within(lived, 4), f"{what}: {lived:.1f} s"
        finally:
            self.root("SET GLOBAL connect_timeout = 10")

    def case_a_place_for_an_administrator(self):
        self.root("DROP USER IF EXISTS plain@localhost, boss@localhost", "CREATE USER plain@localhost, boss@localhost",
                  "GRANT CONNECTION_ADMIN, SYSTEM_VARIABLES_ADMIN ON *.* TO boss@localhost")
        before = self.root("SELECT @@global.max_connections")[0][0]
        self.root("SET GLOBAL max_connections = 2")
        boss = None
        try:
            with self.user("plain").connect(), self.user("plain").connect():
                self.refused(1040, self.user("plain"))
                boss = self.user("boss").connect()
                self.refused(1040, self.user("boss"))
        finally:
            cursor = (boss or self.address.connect()).cursor()
            cursor.execute(f"SET GLOBAL max_connections = {before}")

    def case_the_administrative_interface(self):
        admin = Address("127.0.0.1", self.server.admin_port)
        self.root("DROP USER IF EXISTS plain@localhost, boss@localhost", "CREATE USER plain@localhost, boss@localhost",
                  "GRANT SERVICE_CONNECTION_ADMIN ON *.* TO boss@localhost")
        assert self.root("SELECT @@admin_port, @@admin_address") == ((self.server.admin_port, "127.0.0.1"),)
        text = self.refused(1227, Address(admin.host, admin.port, "plain"))
        assert text == "Access denied; you need (at least one of) the SERVICE_CONNECTION_ADMIN privilege(s) for this operation", text
        before = self.root("SELECT @@global.max_connections")[0][0]
        self.root("SET GLOBAL max_connections = 1")
        try:
            with self.address.connect(), self.address.connect():
                self.refused(1040, self.address)
                several = [Address(admin.host, admin.port, "boss").connect() for _ in range(5)]
                halves = [Half(admin) for _ in range(LOGINS_MAX * 2)]
                admin.connect().close()
                for client in several + halves:
                    client.close()
        finally:
            admin.execute(f"SET GLOBAL max_connections = {before}")

    def case_hosts_that_break_off_are_blocked(self):
        """From 127.0.0.2, which is a host like any other; this machine itself is never blocked."""
        self.root("SET GLOBAL max_connect_errors = 5", "FLUSH HOSTS")
        try:
            for _ in range(4):
                Half(self.address, "127.0.0.2").close()
            time.sleep(0.3)
            assert Half(self.address, "127.0.0.2").error() is None
            for _ in range(20):
                Half(self.address, "127.0.0.2").close()
                Half(self.address).close()
            time.sleep(0.3)
            blocked = Half(self.address, "127.0.0.2")
            assert blocked.error() == 1129, blocked.greeting
            assert b"Host '127.0.0.2' is blocked because of many connection errors" in blocked.greeting, blocked.greeting
            assert self.root("SELECT 1") == ((1,),)
            self.root("FLUSH HOSTS")
            assert Half(self.address, "127.0.0.2").error() is None
        finally:
            self.root("SET GLOBAL max_connect_errors = 100", "FLUSH HOSTS")

    def case_wrong_passwords_block_no_host(self):
        self.root("DROP USER IF EXISTS other@'127.0.0.2'", "CREATE USER other@'127.0.0.2' IDENTIFIED BY 'x'", "SET GLOBAL max_connect_errors = 3")
        try:
            for _ in range(6):
                self.refused(1045, Address("127.0.0.1", self.address.port, "other", "wrong"), bind_address="127.0.0.2")
        finally:
            self.root("SET GLOBAL max_connect_errors = 100", "FLUSH HOSTS")

    def case_connections_of_one_account(self):
        self.root("DROP USER IF EXISTS few@localhost, plain@localhost", "CREATE USER few@localhost WITH MAX_USER_CONNECTIONS 2", "CREATE USER plain@localhost")
        shown = self.root("SHOW CREATE USER few@localhost")[0][0]
        assert " REQUIRE NONE WITH MAX_USER_CONNECTIONS 2 PASSWORD EXPIRE" in shown, shown
        few, plain = self.user("few"), self.user("plain")
        with few.connect() as first, few.connect():
            text = self.refused(1226, few)
            assert text == "User 'few' has exceeded the 'max_user_connections' resource (current value: 2)", text
            with first.cursor() as cursor:
                cursor.execute("SELECT @@session.max_user_connections, @@global.max_user_connections")
                assert cursor.fetchall() == ((2, 0),)
        few.connect().close()
        self.root("SET GLOBAL max_user_connections = 1")
        try:
            with plain.connect():
                text = self.refused(1203, plain)
                assert text == "User plain already has more than 'max_user_connections' active connections", text
            with few.connect(), few.connect():
                pass
            self.refused(1621, plain, "SET SESSION max_user_connections = 5")
        finally:
            self.root("SET GLOBAL max_user_connections = 0")

    def case_limits_of_an_hour(self):
        self.root("DROP USER IF EXISTS hourly@localhost", "CREATE DATABASE IF NOT EXISTS app_db", "CREATE TABLE IF NOT EXISTS app_db.t (id INT)",
                  "CREATE USER hourly@localhost WITH MAX_QUERIES_PER_HOUR 6 MAX_UPDATES_PER_HOUR 2",
                  "GRANT ALL ON app_db.* TO hourly@localhost")
        hourly = self.user("hourly")

        def count(cursor, statement, resource) -> int:
            for n in range(20):
                try:
                    cursor.execute(statement)
                except pymysql.err.MySQLError as error:
                    assert error.args[0] == 1226 and resource in error.args[1], error
                    return n
            raise AssertionError(f"{statement}: no limit")

        with hourly.connect() as connection, connection.cursor() as cursor:
            assert count(cursor, "INSERT INTO app_db.t VALUES (1)", "max_updates_per_hour") == 2
            assert count(cursor, "SELECT 1", "max_queries_per_hour") <= 3
            self.root("FLUSH USER_RESOURCES")
            cursor.execute("SELECT 1")
        self.root("DROP USER hourly@localhost", "CREATE USER hourly@localhost WITH MAX_CONNECTIONS_PER_HOUR 3")
        for _ in range(3):
            hourly.connect().close()
        self.refused(1226, hourly)
        self.root("FLUSH USER_RESOURCES")
        hourly.connect().close()

    def case_thousands_of_attempts_and_of_idle_clients(self):
        """Thousands of connections that do nothing, and thousands that come and go or stop half-way: honest clients are served."""
        idle_max = self.idle_max
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, idle_max + 4096), hard))
        before = self.root("SELECT @@global.max_connections")[0][0]
        self.root(f"SET GLOBAL max_connections = {idle_max + 100}", "SET GLOBAL tidemark_max_logins = DEFAULT")
        idle, attackers = [], []
        try:
            empty = self.server.memory_bytes()
            for _ in range(idle_max):
                idle.append(self.address.connect(ssl_disabled=True))
            each = (self.server.memory_bytes() - empty) / idle_max
            arguments = [sys.executable, "-c", ATTACK, self.address.host, str(self.address.port), str(self.rate / 2)]
            attackers = [subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
            took, began = [], time.monotonic()
            while time.monotonic() - began < self.seconds:
                started = time.monotonic()
                with self.address.connect(ssl_disabled=True) as connection, connection.cursor() as cursor:
                    cursor.execute("SELECT 1")
                took.append(time.monotonic() - started)
            lasted = time.monotonic() - began
            attempts = sum(int(attacker.communicate("")[0]) for attacker in attackers)
            grown = self.server.memory_bytes("VmHWM") - empty
            took.sort()
            self.report.note(f"{each / 1024:.0f} KiB for an idle connection; {attempts / lasted:.0f} attempts a second for {lasted:.0f} s beside {idle_max} idle clients: "
                             f"{len(took)} logins with a query, median {took[len(took) // 2] * 1000:.0f} ms, longest {took[-1] * 1000:.0f} ms; "
                             f"memory grew by at most {grown >> 20} MiB in all")
            assert attempts > 2000, attempts
            assert each < 128 * 1024, each
            assert is_within(took[-1], 5), took[-1]
            with idle[-1].cursor() as cursor:
                cursor.execute("SELECT 1")
        finally:
            for attacker in attackers:
                attacker.kill()
            for connection in idle:
                connection._force_close()
            time.sleep(0.5)
            self.root(f"SET GLOBAL max_connections = {before}", f"SET GLOBAL tidemark_max_logins = {LOGINS_MAX}")
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def run(_: Address, report: Report) -> None:
    """On a server of its own, whose limits it changes."""
    with own_server() as server:
        Connections(server, report).run()


def own_server() -> Server:
    admin_port = free_port()
    server = Server("connections", "--max-connections=500", f"--tidemark-max-logins={LOGINS_MAX}", "--admin-address=127.0.0.1", f"--admin-port={admin_port}")
    server.admin_port = admin_port
    return server


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in [("idle", 5000), ("rate", 10000), ("seconds", 10)]:
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    report = Report("connections")
    Connections.idle_max, Connections.rate, Connections.seconds = options.idle, options.rate, options.seconds
    # The server inherits how many files may be open.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, options.idle + 4096), hard))
    with own_server() as server, report.case("thousands_of_attempts_and_of_idle_clients"):
        Connections(server, report).case_thousands_of_attempts_and_of_idle_clients()
    report.close()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The wire protocol by hand: what well-behaved drivers never send, and the limits of a connection.

    tests/protocol/run.py [--address HOST:PORT[:USER]] [--seed N] [CASE ...]
    tests/protocol/run.py random --seed N --seconds 60        a hunt: the random cases with one seed after the other

Packets are written byte by byte. Whatever one connection sends, it alone is answered with an error or closed; the
server goes on and every other connection with it, which each check ends by asking.
"""
import itertools
import random
import socket
import struct
import sys
import threading
import time
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from support.address import Address  # noqa: E402
from support.patience import is_within, patience  # noqa: E402
from support.report import FIXED_SEED, Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402
from attributes import Attributes  # noqa: E402
from columns import Columns  # noqa: E402
from executions import Executions  # noqa: E402
from names import Names  # noqa: E402
from sent import Sent  # noqa: E402
from texts import TEXTS, answers  # noqa: E402
from tracking import Tracking  # noqa: E402
from wire import (  # noqa: E402
    CAPABILITIES, COM_CHANGE_USER, COM_CLOSE, COM_EXECUTE, COM_FETCH, COM_FIELD_LIST, COM_INIT_DB, COM_LONG_DATA, COM_PING, COM_PREPARE,
    COM_QUERY, COM_QUIT, COM_RESET_CONNECTION, COM_RESET_STMT, COM_SET_OPTION, COM_STATISTICS, MULTI_STATEMENTS, PLUGIN_AUTH, PROTOCOL_41,
    SECURE, WITH_DB, Closed, Wire, error_code)

class Suite(Attributes, Columns, Executions, Names, Sent, Tracking):
    def __init__(self, address: Address, seed: int, report: Report):
        self.address, self.seed, self.report = address, seed, report

    def case(self, name: str, body) -> None:
        with self.report.case(name):
            body()
            assert self.address.execute("SELECT 1 + 1")[0][0] == 2

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            if self.report.wants(short := name.removeprefix("case_")):
                self.case(short, getattr(self, name))

    def case_greeting(self):
        wire = Wire(self.address, login=False)
        assert wire.greeting[0] == 10 and wire.sequence == 0, wire.greeting[:20]
        version, rest = wire.greeting[1:].split(b"\0", 1)
        assert version[:1].isdigit(), version
        assert len(rest) > 30 and rest[12:13] == b"\0", "the scramble is not ended"
        capabilities = int.from_bytes(rest[13:15] + rest[18:20], "little")
        for flag in (PROTOCOL_41, SECURE, PLUGIN_AUTH, MULTI_STATEMENTS):
            assert capabilities & flag, f"capability {flag:x} is missing"
        wire.close()

    def case_commands(self):
        wire = Wire(self.address)
        assert wire.command(COM_PING)[:1] == b"\x00"
        assert b"Uptime" in wire.command(COM_STATISTICS)
        assert error_code(wire.command(COM_INIT_DB, b"no_such_database")) == 1049
        assert wire.command(COM_INIT_DB, b"information_schema")[:1] == b"\x00"
        assert wire.query("SELECT @@autocommit")[0] == b"\x01"
        assert wire.command(COM_RESET_CONNECTION)[:1] == b"\x00"
        assert wire.command(COM_SET_OPTION, struct.pack("<H", 0))[:1] in (b"\xfe", b"\x00")
        assert error_code(wire.command(0x77)) == 1047
        assert wire.command(COM_PING)[:1] == b"\x00", "an unknown command ended the connection"
        wire.send(bytes([COM_QUIT]))
        assert wire.is_closed()

    def case_status_flags(self):
        wire = Wire(self.address)

        def status(sql):
            packet = wire.query(sql)[-1]
            if packet[:1] == b"\x00":
                return int.from_bytes(packet[3:5], "little")
            return int.from_bytes(packet[3:5], "little")  # EOF: warnings, then status

        assert status("SELECT 1") & 3 == 2, "autocommit, not in a transaction"
        assert status("BEGIN") & 1, "in a transaction"
        assert status("SELECT 1") & 1, "still in a transaction"
        assert not status("COMMIT") & 1
        assert not status("SET autocommit = 0") & 2
        wire.close()

    def case_multi_statements(self):
        wire = Wire(self.address)
        assert error_code(wire.query("SELECT 1; SELECT 2")[0]) == 1064
        assert wire.command(COM_SET_OPTION, struct.pack("<H", 0))[:1] in (b"\xfe", b"\x00")
        first = wire.query("DO 1; DO 2")
        assert int.from_bytes(first[0][3:5], "little") & 8, "no sign of more results"
        assert not int.from_bytes(wire.read()[3:5], "little") & 8
        wire.close()

    def case_text_endings_and_comments(self):
        single, multi = Wire(self.address), Wire(self.address, capabilities=CAPABILITIES | MULTI_STATEMENTS)
        for text, of_one, of_many in TEXTS:
            assert (got := answers(single, text)) == of_one, f"{text}: {got}, expected {of_one}"
            assert (got := answers(multi, text)) == of_many, f"{text}, MULTI_STATEMENTS: {got}, expected {of_many}"
        single.close(), multi.close()

    def prepare(self, wire: Wire, sql: bytes) -> bytes:
        """The number of a new statement without parameters, as it is sent."""
        ok = wire.command(COM_PREPARE, sql)
        assert ok[:1] == b"\x00", ok
        if columns := int.from_bytes(ok[5:7], "little"):
            for _ in range(columns + 1):
                wire.read()
        return ok[1:5]

    def open_cursor(self, wire: Wire, statement: bytes) -> int:
        """Executes with a cursor wanted; the status behind the definitions."""
        head = wire.command(COM_EXECUTE, statement + struct.pack("<BI", 1, 1))
        assert head[:1] not in (b"\x00", b"\xff"), head
        for _ in range(head[0]):
            wire.read()
        end = wire.read()
        assert end[:1] == b"\xfe", end
        return int.from_bytes(end[3:5], "little")

    def fetch(self, wire: Wire, statement: bytes, count: int) -> tuple[int, int]:
        """The number of rows, and the status."""
        wire.send(bytes([COM_FETCH]) + statement + struct.pack("<I", count))
        rows = 0
        while (packet := wire.read())[:1] == b"\x00":
            rows += 1
        assert packet[:1] == b"\xfe", packet
        return rows, int.from_bytes(packet[3:5], "little")

    def case_cursor(self):
        open_, last = 0x40, 0x80
        self.address.execute("DROP DATABASE IF EXISTS cursors", "CREATE DATABASE cursors", "CREATE TABLE cursors.t (id INT PRIMARY KEY)", "INSERT INTO cursors.t VALUES (1), (2), (3), (4), (5)")
        wire = Wire(self.address)
        rows, none, shown = (self.prepare(wire, sql) for sql in (b"SELECT * FROM cursors.t", b"SELECT * FROM cursors.t WHERE id > 9", b"SHOW TABLES FROM cursors LIKE 'nope%'"))
        for empty in (none, shown):
            assert self.open_cursor(wire, empty) & open_, "an empty result has no cursor"
            count, status = self.fetch(wire, empty, 10)
            assert count == 0 and status & last, (count, status)
            assert error_code(wire.command(COM_FETCH, empty + struct.pack("<I", 1))) == 1421
        assert self.open_cursor(wire, rows) & open_
        fetched = [self.fetch(wire, rows, 2) for _ in range(3)]
        assert [count for count, _ in fetched] == [2, 2, 1], fetched
        assert [status & (open_ | last) for _, status in fetched] == [open_, open_, last], fetched
        # Two at a time; a reset closes one and the other goes on.
        other = self.prepare(wire, b"SELECT id + 1 FROM cursors.t")
        self.open_cursor(wire, rows), self.open_cursor(wire, other)
        assert self.fetch(wire, other, 1)[0] == 1 and self.fetch(wire, rows, 1)[0] == 1
        assert wire.command(COM_RESET_STMT, rows)[:1] == b"\x00"
        assert error_code(wire.command(COM_FETCH, rows + struct.pack("<I", 1))) == 1421
        assert self.fetch(wire, other, 100)[0] == 4
        # A statement that fails says only that.
        failing = self.prepare(wire, b"SELECT id, (SELECT id FROM cursors.t) FROM cursors.t")
        assert error_code(wire.command(COM_EXECUTE, failing + struct.pack("<BI", 1, 1))) == 1242
        assert error_code(wire.command(COM_FETCH, struct.pack("<II", 999, 1))) == 1243
        wire.close()

    def case_cursor_over_many_rows(self):
        """Behind a cursor wait bounded bytes: a larger result comes at once, with a status that says so."""
        wire = Wire(self.address)
        digits = " UNION ALL ".join(f"SELECT {n} AS d" for n in range(10))
        large = self.prepare(wire, f"WITH d AS ({digits}) SELECT REPEAT('x', 100) FROM d a, d b, d c, d e, d f".encode())
        status = self.open_cursor(wire, large)
        if status & 0x40:
            rows = 0
            while not status & 0x80:
                count, status = self.fetch(wire, large, 30_000)
                rows += count
        else:
            rows = 0
            while (packet := wire.read())[:1] == b"\x00":
                rows += 1
            assert packet[:1] == b"\xfe" and not int.from_bytes(packet[3:5], "little") & 0x40, packet
        assert rows == 100_000, rows
        assert wire.command(COM_PING)[:1] == b"\x00"
        wire.close()

    def case_prepared(self):
        wire = Wire(self.address)
        ok = wire.command(COM_PREPARE, b"SELECT ? + 1, ?")
        assert ok[:1] == b"\x00", ok
        statement, columns, parameters = struct.unpack("<IHH", ok[1:9])
        assert (columns, parameters) == (2, 2), (columns, parameters)
        for _ in range(2):  # definitions of the parameters and of the columns, each closed
            for _ in range(2):
                wire.read()
            assert wire.read()[:1] == b"\xfe"
        execute = struct.pack("<IBI", statement, 0, 1)
        types = b"\x08\x00\xfd\x00"
        wire.send(bytes([COM_EXECUTE]) + execute + b"\x00\x01" + types + struct.pack("<q", 41) + b"\x03abc")
        rows = self.rows(wire)
        assert rows == [b"\x00\x00" + struct.pack("<q", 42) + b"\x03abc"], rows
        wire.send(bytes([COM_EXECUTE]) + execute + b"\x02\x00" + struct.pack("<q", -1))  # types as before, the second is NULL
        rows = self.rows(wire)
        assert rows == [b"\x00\x08" + struct.pack("<q", 0)], rows
        # Long data, in pieces; then it is used once and gone.
        for piece in (b"long ", b"", b"data"):
            wire.send(bytes([COM_LONG_DATA]) + struct.pack("<IH", statement, 1) + piece)
        wire.send(bytes([COM_EXECUTE]) + execute + b"\x00\x01" + types + struct.pack("<q", 0))
        assert self.rows(wire) == [b"\x00\x00" + struct.pack("<q", 1) + b"\x09long data"]
        assert wire.command(COM_RESET_STMT, struct.pack("<I", statement))[:1] == b"\x00"
        wire.send(bytes([COM_CLOSE]) + struct.pack("<I", statement))  # has no answer
        assert error_code(wire.command(COM_EXECUTE, execute + b"\x00\x00")) == 1243
        assert error_code(wire.command(COM_RESET_STMT, struct.pack("<I", 99))) == 1243
        assert error_code(wire.command(COM_PREPARE, b"SELEC")) == 1064
        wire.close()

    def rows(self, wire: Wire) -> list[bytes]:
        head = wire.read()
        assert head[:1] not in (b"\x00", b"\xff"), head
        for _ in range(head[0]):
            wire.read()
        wire.read()
        rows = []
        while (packet := wire.read())[:1] == b"\x00":
            rows.append(packet)
        assert packet[:1] == b"\xfe", packet
        return rows

    def case_commands_are_counted(self):
        wire = Wire(self.address)

        def counted(*names):
            wire.send(bytes([COM_QUERY]) + b"SHOW SESSION STATUS LIKE 'Com\\_%'")
            found = {}
            wire.read(), wire.read(), wire.read(), wire.read()
            while (row := wire.read())[:1] != b"\xfe":
                name = row[1:1 + row[0]].decode()
                found[name] = int(row[2 + row[0]:])
            return [found[f"Com_{name}"] for name in names]

        whole = "admin_commands", "change_db", "show_fields", "set_option"
        before = counted(*whole)
        for code, body in ((COM_PING, b""), (COM_INIT_DB, b"mysql"), (COM_INIT_DB, b"no_such_database"), (COM_SET_OPTION, b"\0\0"), (COM_STATISTICS, b"")):
            wire.command(code, body)
        assert error_code(wire.command(COM_FIELD_LIST, b"no_such_table\0")) == 1146
        assert [now - then for now, then in zip(counted(*whole), before)] == [1, 2, 1, 1]

        of_statements = "stmt_prepare", "stmt_execute", "stmt_fetch", "stmt_reset", "stmt_send_long_data", "stmt_close", "stmt_reprepare"
        prepared = wire.command(COM_PREPARE, b"SELECT ?")[1:5]
        for _ in range(4):
            wire.read()
        wire.send(bytes([COM_LONG_DATA]) + prepared + b"\0\0" + b"text")
        assert wire.command(COM_RESET_STMT, prepared)[:1] == b"\x00"
        assert error_code(wire.command(COM_FETCH, prepared + struct.pack("<I", 1))) == 1421
        for code in (COM_EXECUTE, COM_RESET_STMT, COM_FETCH):     # of no statement: not counted
            assert error_code(wire.command(code, struct.pack("<IBI", 99, 0, 1))) == 1243
        wire.send(bytes([COM_CLOSE]) + prepared)
        assert counted(*of_statements) == [1, 0, 1, 1, 1, 1, 0]

        assert wire.command(COM_RESET_CONNECTION)[:1] == b"\x00"
        found = counted("admin_commands", "stmt_prepare")
        assert found == [0, 0], found    # a session that begins anew has new counters
        wire.close()

    def case_execute_cut_short(self):
        for cut in range(0, 24):
            wire = Wire(self.address)
            ok = wire.command(COM_PREPARE, b"SELECT ?, ?")
            for _ in range(6):
                wire.read()
            whole = ok[1:5] + struct.pack("<BI", 0, 1) + b"\x00\x01" + b"\x08\x00\xfd\x00" + struct.pack("<q", 1) + b"\x03abc"
            wire.send(bytes([COM_EXECUTE]) + whole[:cut])
            try:
                assert wire.read()[:1] == b"\xff", f"{cut} bytes of {len(whole)} were accepted"
            except Closed:
                pass
            wire.close()

    def case_null_byte_and_nonsense_queries(self):
        wire = Wire(self.address)
        for sql in (b"", b"\0", b"SELECT \xff\xfe", b"(" * 5000, b"SELECT " + b"-" * 10000 + b"1", b"SELECT " + b"(" * 3000 + b"1" + b")" * 3000, b"/*", b"'", b"`"):
            wire.send(bytes([COM_QUERY]) + sql)
            while True:
                packet = wire.read()
                if packet[:1] in (b"\x00", b"\xff"):
                    break
                ends = 0
                while ends < 2 and packet[:1] != b"\xff":
                    packet = wire.read()
                    ends += packet[:1] == b"\xfe" and len(packet) < 9
                break
        assert wire.command(COM_PING)[:1] == b"\x00"
        wire.close()

    def case_wrong_sequence(self):
        wire = Wire(self.address)
        wire.send(bytes([COM_PING]), sequence=5)
        assert wire.is_closed(), "a packet out of order was answered"

    def case_commands_cut_short(self):
        """A packet whose content is malformed is an error, also where none is answered; the connection goes on."""
        wire = Wire(self.address)
        for code, body, expected in [
                (COM_CLOSE, b"\1\0\0", 1835), (COM_LONG_DATA, b"\1\0\0\0\0", 1835), (COM_EXECUTE, b"\1\0", 1835), (COM_RESET_STMT, b"\1", 1835),
                (COM_FETCH, b"", 1835), (COM_SET_OPTION, b"\0", 1835), (COM_SET_OPTION, b"\7\0", 1047)]:
            assert error_code(wire.command(code, body)) == expected, f"command {code}"
            assert wire.command(COM_PING)[:1] == b"\x00", f"command {code} ended the connection"
        wire.send(b"")
        assert error_code(wire.read()) == 1047
        assert error_code(wire.command(COM_CHANGE_USER, b"root\0\xff")) == 1047
        assert wire.is_closed()

    def case_login_cut_short(self):
        whole = Wire(self.address, login=False).login_packet()
        for cut in (0, 1, 4, 31, 32, 33, len(whole) - 25):
            wire = Wire(self.address, login=False)
            wire.send(whole[:cut], 1)
            try:
                packet = wire.read()
                assert packet[:1] in (b"\xff", b"\xfe"), f"{cut} bytes: {packet[:20]}"
            except Closed:
                pass
            wire.close()

    def case_random_bytes(self):
        chance = random.Random(f"bytes {self.seed}")
        for _ in range(60):
            wire = Wire(self.address, login=chance.random() < 0.5)
            try:
                wire.raw(chance.randbytes(chance.randint(1, 300)))
                wire.socket.shutdown(socket.SHUT_WR)
                wire.socket.settimeout(10)
                while wire.socket.recv(65536):
                    pass
            except OSError:
                pass
            wire.close()

    def case_random_commands(self):
        """Every command with random bodies."""
        chance = random.Random(f"commands {self.seed}")
        for code in (2, 3, 4, 17, 22, 23, 24, 25, 26, 27, 28, 31):
            for _ in range(12):
                wire = Wire(self.address)
                try:
                    wire.send(bytes([code]) + chance.randbytes(chance.randint(0, 60)))
                    wire.send(bytes([COM_QUIT]))
                    wire.socket.settimeout(10)
                    while wire.socket.recv(65536):
                        pass
                except OSError:
                    pass
                wire.close()

    def case_slow_login_does_not_block_others(self):
        idle = [Wire(self.address, login=False) for _ in range(20)]
        started = time.monotonic()
        Wire(self.address).close()
        assert is_within(time.monotonic() - started, 2)
        for wire in idle:
            wire.close()

    def case_client_goes_away_in_a_transaction(self):
        self.address.execute("DROP DATABASE IF EXISTS wire", "CREATE DATABASE wire", "CREATE TABLE wire.t (id INT PRIMARY KEY, v INT)", "INSERT INTO wire.t VALUES (1, 0)")
        wire = Wire(self.address)
        wire.query("BEGIN")
        wire.query("UPDATE wire.t SET v = 1 WHERE id = 1")
        wire.close()
        assert self.address.execute("UPDATE wire.t SET v = v + 10 WHERE id = 1", "SELECT v FROM wire.t")[0][0] == 10

    def case_client_goes_away_while_rows_flow(self):
        wire = Wire(self.address)
        wire.send(bytes([COM_QUERY]) + b"SELECT REPEAT('x', 10000000)")
        wire.exactly(1000)
        wire.close()

    def case_wait_timeout(self):
        wire = Wire(self.address)
        wire.query("SET SESSION wait_timeout = 1")
        time.sleep(2.5)
        assert wire.is_closed(5), "an idle connection is still open"

    def case_max_allowed_packet(self):
        self.address.execute("SET GLOBAL max_allowed_packet = 1048576")
        try:
            wire = Wire(self.address)
            small = b"SELECT LENGTH('" + b"x" * 1000000 + b"')"
            wire.send(bytes([COM_QUERY]) + small)
            assert wire.read()[:1] == b"\x01"
            wire.close()
            wire = Wire(self.address)
            try:
                wire.send(bytes([COM_QUERY]) + b"SELECT LENGTH('" + b"x" * 2000000 + b"')")
                assert error_code(wire.read()) == 1153
            except (Closed, OSError):
                pass
            assert wire.is_closed()
        finally:
            self.address.execute("SET GLOBAL max_allowed_packet = 67108864")

    def case_packet_of_exactly_16_mb(self):
        for extra in (-1, 0, 1):
            size = 0xFFFFFF + extra
            sql = b"SELECT LENGTH('" + b"x" * (size - 1 - 17) + b"')"
            assert len(sql) + 1 == size
            wire = Wire(self.address)
            payload = bytes([COM_QUERY]) + sql
            first, rest = payload[:0xFFFFFF], payload[0xFFFFFF:]
            wire.send(first)
            if len(first) == 0xFFFFFF:
                wire.send(rest, 1)
            assert wire.read()[:1] == b"\x01"
            wire.read(), wire.read()
            assert wire.read()[1:] == str(size - 18).encode(), "the length is wrong"
            wire.close()

    def case_kill(self):
        victim = self.address.connect()
        killer = self.address.connect()
        with killer.cursor() as cursor:
            cursor.execute(f"KILL {victim.thread_id()}")
        try:
            with victim.cursor() as cursor:
                cursor.execute("SELECT 1")
            raise AssertionError("a killed connection answers")
        except pymysql.err.OperationalError as error:
            assert error.args[0] in (2006, 2013, 1317), error
        killer.close()

    def case_kill_query_ends_a_sleep(self):
        sleeper, killer = self.address.connect(), self.address.connect()
        result = []

        def sleep():
            with sleeper.cursor() as cursor:
                try:
                    cursor.execute("SELECT SLEEP(30)")
                    result.append(cursor.fetchone()[0])
                except pymysql.err.OperationalError as error:
                    result.append(error.args[0])

        thread = threading.Thread(target=sleep)
        started = time.monotonic()
        thread.start()
        time.sleep(0.3)
        with killer.cursor() as cursor:
            cursor.execute("SHOW PROCESSLIST")
            shown = [row for row in cursor.fetchall() if row[0] == sleeper.thread_id()]
            assert shown and "SLEEP" in shown[0][7], shown
            cursor.execute(f"KILL QUERY {sleeper.thread_id()}")
        thread.join(patience(5))
        assert is_within(time.monotonic() - started, 5) and result in ([1], [1317]), result
        with sleeper.cursor() as cursor:
            cursor.execute("SELECT 5")
            assert cursor.fetchone()[0] == 5
        sleeper.close(), killer.close()

    def case_connection_limit(self):
        refused_before = self.refused_for_number()
        before = self.address.execute("SELECT @@global.max_connections")[0][0]
        self.address.execute("SET GLOBAL max_connections = 20")
        connections = []
        try:
            for _ in range(25):
                try:
                    connections.append(self.address.connect(connect_timeout=5))
                except pymysql.err.OperationalError as error:
                    assert error.args[0] == 1040, error
                    break
            else:
                raise AssertionError("25 connections where 20 are allowed")
            assert len(connections) >= 19, len(connections)
            connections.pop().close()
            connections.pop().close()
            time.sleep(0.3)
            connections.append(self.address.connect(connect_timeout=5))
        finally:
            for connection in connections:
                connection.close()
            time.sleep(0.3)
            self.address.execute(f"SET GLOBAL max_connections = {before}")
        assert self.refused_for_number() > refused_before

    def refused_for_number(self) -> int:
        return int(self.address.execute("SHOW GLOBAL STATUS LIKE 'Connection_errors_max_connections'")[0][1])

    def case_many_connections(self):
        wires = [Wire(self.address) for _ in range(300)]
        for wire in wires:
            assert wire.command(COM_PING)[:1] == b"\x00"
        for wire in wires:
            wire.close()


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", help="HOST:PORT[:USER]; default: a Tidemark server of its own")
    parser.add_argument("--seed", type=int, default=FIXED_SEED, help="of the random cases")
    parser.add_argument("--seconds", type=float, default=0, help="go on with the next seed until so many")
    options = parser.parse_args()
    report = Report("protocol", options.filters)
    until = time.monotonic() + options.seconds

    def run(address: Address) -> None:
        for seed in itertools.count(options.seed):
            if options.seconds:
                report.note(f"--seed {seed}")
            Suite(address, seed, report).run()
            if report.failed or time.monotonic() >= until:
                break

    if options.address:
        run(Address.parse(options.address))
    else:
        with Server("protocol", "--max-connections=500") as server:
            run(server.address)
            report.equal(server.stop(), 0, "stops")
    report.close()


if __name__ == "__main__":
    main()

"""What sessions hold between their statements is bounded in all: texts and plans of prepared statements, parameters that came ahead, packets
that are not complete, variables, buffers, cursors, definitions.

The server has little memory, and an address space that ends not far beyond it. Each way is tried by many sessions at once; they are refused by
MySQL's numbers, the server goes on, and so does a session that asks for little.

    tests/security/held.py --total 200 --sessions 200          the same at full size
"""
import argparse
import resource
import struct
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pymysql

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.report import Report
from support.server import Server

POOL_MB = 16
# What the process holds beside the pool and what is counted: its code, stacks and the allocator's own.
ASIDE_MB = 160
# Beside the pool; the addresses of stacks, which nothing fills, come in addition.
BEYOND_MB = 500
STACK_MB = 5
REFUSALS = (1041, 1153, 1461, 3170, 1105)
PREPARE, EXECUTE, LONG_DATA = 0x16, 0x17, 0x18
PIECE = 900_000
WAIT_S = 60


class Refused(Exception):
    """The server has said no, or has closed the connection after it did."""


def command(connection, number, body):
    """Sends a command as it is, and returns the first packet of its answer."""
    connection._execute_command(number, body)
    return connection._read_packet()


def prepare(connection, sql):
    """Prepares over the binary protocol; returns the statement's number."""
    packet = command(connection, PREPARE, sql)
    number, columns, params = struct.unpack_from("<IHH", packet._data, 1)
    for count in (params, columns):
        for _ in range(count + (1 if count else 0)):
            connection._read_packet()
    return number


def long_data(connection, way):
    number = prepare(connection, "SELECT LENGTH(?)")
    for _ in range(way.pieces):
        connection._execute_command(LONG_DATA, struct.pack("<IH", number, 0) + b"a" * PIECE)
        connection._next_seq_id = 0
    packet = command(connection, EXECUTE, struct.pack("<IBIBBHB", number, 0, 1, 0, 1, 252, 0)[:-1])
    del packet


def incomplete(connection, way):
    len_max = min(way.pieces * PIECE, 0xfffffe)
    connection._write_bytes(struct.pack("<I", len_max)[:3] + b"\0" + b"\x03")
    for _ in range(len_max // PIECE - 1):
        connection._write_bytes(b" " * PIECE)


def prepared(connection, way):
    for n in range(way.pieces):
        prepare(connection, f"SELECT {n}, LENGTH('{'a' * PIECE}')")


def prepared_plans(connection, way):
    for n in range(way.pieces * 4):
        prepare(connection, f"SELECT {n} IN ({','.join(map(str, range(n, n + 1500)))})")


def variables(connection, way):
    with connection.cursor() as cursor:
        for n in range(way.pieces):
            cursor.execute(f"SET @v{n} = REPEAT('a', {PIECE})")


def buffers(connection, way):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT LENGTH('{'a' * PIECE}'), REPEAT('b', {PIECE})")


def plans(connection, way):
    with connection.cursor() as cursor:
        for n in range(way.pieces * 2):
            cursor.execute(f"SELECT {' + '.join(f'ABS({n})' for n in range(600 + n))}")


def cursors(connection, way):
    for _ in range(way.pieces):
        number = prepare(connection, f"SELECT REPEAT('a', {PIECE})")
        command(connection, EXECUTE, struct.pack("<IBI", number, 1, 1))
        while True:
            packet = connection._read_packet()
            if packet._data[:1] == b"\xfe" and len(packet._data) < 9:
                break


def values(connection, way):
    with connection.cursor() as cursor:
        cursor.execute(f"SET @v = REPEAT('a', {PIECE // 4})")
        names = ", ".join(["@v"] * way.pieces * 4)
        marks = ", ".join(["?"] * way.pieces * 4)
        cursor.execute(f"PREPARE s FROM 'DO CONCAT({marks})'")
        cursor.execute(f"EXECUTE s USING {names}")


def temporary(connection, way):
    columns = ", ".join(f"c{n} INT COMMENT '{'c' * 900}'" for n in range(200))
    with connection.cursor() as cursor:
        for n in range(way.pieces):
            cursor.execute(f"CREATE TEMPORARY TABLE held.t{n} ({columns})")


def documents(connection, way):
    with connection.cursor() as cursor:
        cursor.execute(f"SET @j = CONCAT('[', REPEAT('1,', {PIECE // 2}), '1]')")
        for n in range(way.pieces):
            cursor.execute(f"SET @d{n} = JSON_ARRAY(@j, {n})")


WAYS = [long_data, incomplete, prepared, prepared_plans, variables, buffers, plans, cursors, values, temporary, documents]


class Way:
    """Many sessions that hold what they can get, one way."""

    def __init__(self, server, hold, sessions, pieces):
        self.server, self.hold, self.pieces = server, hold, pieces
        self.connections, self.refused, self.strange = [], [], []
        self.threads = [threading.Thread(target=self.session) for _ in range(sessions)]

    def session(self):
        try:
            connection = self.server.address.connect(read_timeout=WAIT_S, write_timeout=WAIT_S, connect_timeout=WAIT_S)
            self.connections.append(connection)
            self.hold(connection, self)
        except pymysql.err.MySQLError as error:
            known = error.args[0] in REFUSALS or error.args[0] in (2006, 2013, 1135, 1040)
            (self.refused if known else self.strange).append(error.args)
        except (OSError, AttributeError, RuntimeError) as error:
            self.refused.append((0, str(error)))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()
        return self

    def __exit__(self, *_):
        for connection in self.connections:
            try:
                connection._force_close()
            except (OSError, AttributeError):
                pass


def ask_for_little(connection):
    """What another session goes on to do meanwhile; returns the longest time it took."""
    took = 0
    with connection.cursor() as cursor:
        for n in range(5):
            began = time.monotonic()
            cursor.execute("INSERT INTO held.small VALUES (%s, %s)", (None, "x" * 1000))
            cursor.execute("SELECT COUNT(*), MAX(LENGTH(s)) FROM held.small WHERE id > %s", (n,))
            cursor.fetchall()
            took = max(took, time.monotonic() - began)
    return took


def run(address, report, total_mb=64, sessions=40, pieces=10):
    del address
    server = Server("held", f"--innodb-buffer-pool-size={POOL_MB}M", f"--max-connections={sessions + 20}",
                    f"--tidemark-total-memory={total_mb}M", f"--max-allowed-packet={total_mb}M")
    with ExitStack() as stack:
        stack.enter_context(server)
        # The pool has its addresses from the start.
        addresses = server.memory_bytes("VmSize") + ((BEYOND_MB + STACK_MB * sessions) << 20)
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (addresses, addresses))
        honest = stack.enter_context(server.address.connect(autocommit=True, read_timeout=WAIT_S))
        with honest.cursor() as cursor:
            cursor.execute("CREATE DATABASE held")
            cursor.execute("CREATE TABLE held.small (id INT PRIMARY KEY AUTO_INCREMENT, s TEXT)")
        for hold in WAYS:
            if report.wants(hold.__name__):
                one_way(server, honest, report, hold, (total_mb, sessions, pieces))
        if report.wants("large_packets"):
            with report.case("held: a packet that there is no room for is refused by name"):
                large_packets(server, total_mb)
        report.equal(server.stop(), 0, "held: stops")


def large_packets(server, total_mb):
    """Statements of several packets, too large for the memory there is. The client reads why, however much it has sent."""
    for share, code in ((0.23, None), (0.52, 1041), (0.75, 1041), (1, 1041), (1.56, 1041)):
        # Room for a packet grows by doubling.
        megabytes = int(share * (1 << (total_mb - 1).bit_length()))
        connection = server.address.connect(read_timeout=WAIT_S)
        seen = None
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT /* {'a' * (megabytes << 20)} */ 1")
        except pymysql.err.MySQLError as error:
            seen = error.args[0]
        finally:
            connection._force_close()
        assert seen == code, (megabytes, seen)


def one_way(server, honest, report, hold, sizes):
    total_mb, sessions, pieces = sizes
    with report.case(f"held by {hold.__name__}"):
        with Way(server, hold, sessions, pieces) as way:
            assert server.is_running(), server.log_tail()
            took = ask_for_little(honest)
            resident = server.memory_bytes() >> 20
        assert not way.strange, way.strange[:3]
        assert resident <= POOL_MB + total_mb + ASIDE_MB, f"{resident} MB are resident"
        assert took < 10, f"others waited {took:.1f} s"
        assert server.is_running(), server.log_tail()
        report.note(f"held by {hold.__name__}: {len(way.refused)} of {sessions} refused, {resident} MB resident, others within {took:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filters", nargs="*")
    parser.add_argument("--total", type=int, default=64)
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--pieces", type=int, default=10)
    options = parser.parse_args()
    report = Report("held", options.filters)
    run(None, report, options.total, options.sessions, options.pieces)
    report.close()


if __name__ == "__main__":
    main()

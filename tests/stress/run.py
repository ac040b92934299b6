#!/usr/bin/env python3
"""256 clients on ten rows, at every level: deadlocks are welcome, hangs and locks left behind are not.

    tests/stress/run.py [--address HOST:PORT[:USER]] [--against HOST:PORT[:USER]] [--seconds 5] [--clients 256]

Each client repeats small transactions on the same ten rows: two updates in any order, locking reads of ranges, an insert and a
delete in the gaps between them, by the primary key and by a secondary index. A round is right if every client comes to its
end soon after the time is over, with nothing but commits, deadlocks and lock timeouts behind it; if no lock is left, no
transaction is open and none is waited for; and if the rows are what the committed updates make of them. With `--against` the same clients
are let loose on that server, in turns, and the rates are compared.
"""
import multiprocessing
import random
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

LEVELS = ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
DATABASE = "stress"
ROWS = 10
ENDS_WITHIN_S = 60.0         # after the time is over; the longest wait for a lock is below it
LOCK_WAIT_S = 20
TURNS = 2                    # with a second server: how often they take turns


class Client(threading.Thread):
    until: float

    def __init__(self, address: Address, level: str, number: int):
        super().__init__(daemon=True)
        self.address, self.level = address, level
        self.random = random.Random(number)
        self.ends: Counter = Counter()
        self.added = 0
        self.error: str | None = None

    def connect(self) -> None:
        self.connection = self.address.connect(database=DATABASE, autocommit=None, conv={}, read_timeout=ENDS_WITHIN_S * 2, connect_timeout=60)
        self.ask(f"SET SESSION TRANSACTION ISOLATION LEVEL {self.level}", f"SET SESSION innodb_lock_wait_timeout = {LOCK_WAIT_S}")

    def run(self) -> None:
        try:
            while time.time() < self.until:
                try:
                    added = self.transaction()
                    self.ask("COMMIT")
                    self.ends["commits"] += 1
                    self.added += added
                except pymysql.err.MySQLError as error:
                    if error.args[0] not in (1213, 1205):
                        raise
                    self.ends["deadlocks" if error.args[0] == 1213 else "timeouts"] += 1
                    self.ask("ROLLBACK")
            self.connection.close()
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"

    def ask(self, *statements: str) -> None:
        for sql in statements:
            self.connection.query(sql)

    def transaction(self) -> int:
        """One transaction without its COMMIT; returns what it adds to the sum of the ten rows."""
        chance = self.random
        self.ask("BEGIN")
        roll, (one, other) = chance.random(), chance.sample(range(0, ROWS * 10, 10), 2)
        if roll < 0.6:
            self.ask(f"UPDATE hot SET v = v + 1 WHERE id = {one}", f"UPDATE hot SET v = v + 1 WHERE id = {other}")
            return 2
        if roll < 0.75:
            self.ask(f"SELECT * FROM hot WHERE id BETWEEN {min(one, other)} AND {max(one, other)} {chance.choice(['FOR UPDATE', 'FOR SHARE'])}")
            self.ask(f"UPDATE hot SET v = v + 1 WHERE id = {one}")
            return 1
        if roll < 0.9:
            self.ask(f"INSERT INTO hot VALUES ({one + chance.randint(1, 9)}, {one // 10}, 0) ON DUPLICATE KEY UPDATE v = v")
            self.ask(f"DELETE FROM hot WHERE id BETWEEN {one + 1} AND {one + 9}")
            return 0
        self.ask(f"UPDATE hot SET v = v + 1 WHERE k = {one // 10} AND id % 10 = 0")
        return 1


def process(address: Address, level: str, numbers, seconds: float, all_are_connected, results) -> None:
    crowd = [Client(address, level, number) for number in numbers]
    for client in crowd:
        client.connect()
    all_are_connected.wait()
    until = time.time() + seconds
    for client in crowd:
        client.until = until
        client.start()
    for client in crowd:
        client.join(max(0.0, until - time.time()) + ENDS_WITHIN_S)
    ends: Counter = Counter()
    for client in crowd:
        ends.update(client.ends)
    hung = sum(client.is_alive() for client in crowd)
    results.put((hung, sorted({client.error for client in crowd if client.error}), ends, sum(client.added for client in crowd)))


def crowd(address: Address, level: str, options) -> tuple[list[str], Counter, int]:
    """What went wrong, how transactions ended, and what the committed ones have added."""
    address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}",
                    "CREATE TABLE hot (id INT PRIMARY KEY, k INT NOT NULL, v BIGINT NOT NULL, KEY (k))",
                    "INSERT INTO hot VALUES " + ", ".join(f"({n * 10}, {n}, 0)" for n in range(ROWS)))
    results: multiprocessing.Queue = multiprocessing.Queue()
    all_are_connected = multiprocessing.Barrier(options.processes)
    members = [multiprocessing.Process(target=process, daemon=True, args=(address, level, range(n, options.clients, options.processes), options.seconds, all_are_connected, results))
               for n in range(options.processes)]
    for member in members:
        member.start()
    wrong, ends, added = [], Counter(), 0
    for _ in members:
        hung, errors, part, sum_ = results.get(timeout=options.seconds + 3 * ENDS_WITHIN_S)
        wrong += errors[:3] + ([f"{hung} clients hang"] if hung else [])
        ends.update(part)
        added += sum_
    return wrong, ends, added


def left_behind(address: Address) -> list[str]:
    """Locks, waits and transactions that are still there, where the server can tell."""
    found = []
    for table in ("performance_schema.data_locks", "performance_schema.data_lock_waits", "information_schema.INNODB_TRX"):
        try:
            count = address.execute(f"SELECT COUNT(*) FROM {table}")[0][0]
        except pymysql.err.MySQLError as error:
            if error.args[0] not in (1146, 1109, 1049):     # MariaDB has no such table
                raise
            continue
        if count:
            found.append(f"{count} rows in {table}")
    return found


def rate(ends: Counter, options) -> float:
    return ends["commits"] / options.seconds


def play_round(options, address: Address, level: str, report: Report) -> None:
    ours, theirs = [], []
    for _ in range(TURNS if options.against else 1):
        wrong, ends, added = crowd(address, level, options)
        total = int(address.execute(f"USE {DATABASE}", "SELECT SUM(v) FROM hot WHERE id % 10 = 0")[0][0])
        if total != added:
            wrong.append(f"the rows add up to {total}, the committed updates to {added}")
        wrong += left_behind(address)
        ours.append(rate(ends, options))
        if options.against:
            theirs.append(rate(crowd(options.against, level, options)[1], options))
    detail = ", ".join(f"{count} {what}" for what, count in sorted(ends.items())) + f"; {max(ours):.0f} commits/s"
    if theirs:
        detail += f", the other server {max(theirs):.0f}: ratio {sum(ours) / max(1.0, sum(theirs)):.2f}"
    name = level.lower().replace(" ", "_")
    if wrong or not ends["commits"]:
        report.fail(name, "; ".join([detail, *wrong]))
    else:
        report.ok(name, detail)


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", type=Address.parse)
    parser.add_argument("--against", type=Address.parse)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--levels", type=lambda text: text.upper().split(","), default=list(LEVELS))
    options = parser.parse_args()
    report = Report("stress", options.filters)
    options.levels = [level for level in options.levels if report.wants(level.lower().replace(" ", "_"))]
    if options.address:
        for level in options.levels:
            play_round(options, options.address, level, report)
    else:
        with Server("stress", "--max-connections=400") as server:
            for level in options.levels:
                play_round(options, server.address, level, report)
    report.close()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What must be true whatever many clients do at once.

    tests/invariants/run.py [--address HOST:PORT[:USER]] [--seconds 3]

Money is moved and never made; no increment is lost; a unique key is won once; a job is handed out once; generated numbers
are never given twice; every index shows the same rows as the table, at every moment, in one view; an index that is added holds up no
writer. Deadlocks and lock timeouts are tried again, as a program would.
"""
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

LEVELS = ("READ COMMITTED", "REPEATABLE READ")
RETRY = (1213, 1205)


class Crowd:
    """Threads that each repeat one thing on a connection of their own until the time is over, and it was done at least once."""

    def __init__(self, address: Address, seconds: float):
        self.address, self.until = address, time.monotonic() + seconds
        self.threads: list[threading.Thread] = []
        self.errors: list[str] = []
        self.done: Counter = Counter()
        self.lock = threading.Lock()

    def add(self, count: int, name: str, level: str, body) -> None:
        for number in range(count):
            self.threads.append(threading.Thread(target=self._work, args=(name, number, level, body)))

    def _work(self, name: str, number: int, level: str, body) -> None:
        try:
            connection = self.address.connect(database="invariants", autocommit=False)
            chance = random.Random(f"{name}{number}")
            with connection.cursor() as cursor:
                cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
                while time.monotonic() < self.until or not self.done[name] and not self.errors:
                    try:
                        body(cursor, chance, number)
                        connection.commit()
                        with self.lock:
                            self.done[name] += 1
                    except pymysql.err.MySQLError as error:
                        if error.args[0] not in RETRY:
                            raise
                        connection.rollback()
            connection.close()
        except Exception as error:
            with self.lock:
                self.errors.append(f"{name}: {type(error).__name__}: {error}")
            self.until = 0

    def run(self) -> None:
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join(120)
        if self.errors:
            raise AssertionError("; ".join(sorted(set(self.errors))[:3]))


def fetch(cursor, sql: str, *arguments):
    cursor.execute(sql, arguments or None)
    return cursor.fetchall()


class Suite:
    def __init__(self, address: Address, seconds: float, report: Report):
        self.address, self.seconds, self.report = address, seconds, report

    def fresh(self, *statements: str) -> None:
        self.address.execute("DROP DATABASE IF EXISTS invariants", "CREATE DATABASE invariants", "USE invariants", *statements)

    def one(self, sql: str):
        return self.address.execute("USE invariants", sql)[0]

    def run(self) -> None:
        for name in sorted(n for n in dir(self) if n.startswith("case_")):
            for level in LEVELS:
                short = "".join(word[0] for word in level.split())
                shown = f"{name.removeprefix('case_')}/{short}"
                if self.report.wants(shown):
                    with self.report.case(shown):
                        getattr(self, name)(level)

    def case_money(self, level: str):
        self.fresh("CREATE TABLE account (id INT PRIMARY KEY, branch INT, balance INT NOT NULL, KEY (branch), KEY (balance))",
                   "INSERT INTO account VALUES " + ", ".join(f"({n}, {n % 7}, 100)" for n in range(100)))

        def move(cursor, chance, _):
            source, target, amount = *chance.sample(range(100), 2), chance.randint(1, 20)
            cursor.execute("UPDATE account SET balance = balance - %s WHERE id = %s", (amount, source))
            cursor.execute("UPDATE account SET balance = balance + %s, branch = %s WHERE id = %s", (amount, chance.randrange(7), target))
            if chance.random() < 0.1:
                cursor.execute("ROLLBACK")

        def look(cursor, *_):
            seen = fetch(cursor, "SELECT COUNT(*), SUM(balance) FROM account")[0]
            assert seen == (100, 10000), f"by table {seen}"
            # In one view, each index shows the rows that the table has.
            by_branch = fetch(cursor, "SELECT COUNT(*), SUM(balance) FROM account FORCE INDEX (branch) WHERE branch >= 0")[0]
            by_balance = fetch(cursor, "SELECT COUNT(*), SUM(balance) FROM account FORCE INDEX (balance) WHERE balance > -1000000")[0]
            assert by_branch == (100, 10000), f"by branch {by_branch}"
            assert by_balance == (100, 10000), f"by balance {by_balance}"

        def look_twice(cursor, *_):
            first = fetch(cursor, "SELECT id, balance FROM account ORDER BY id")
            time.sleep(0.02)
            again = fetch(cursor, "SELECT id, balance FROM account ORDER BY id")
            assert first == again, "the view moved"

        crowd = Crowd(self.address, self.seconds)
        crowd.add(8, "move", level, move)
        crowd.add(3, "look", level, look)
        if level == "REPEATABLE READ":
            crowd.add(2, "look_twice", level, look_twice)
        crowd.run()
        assert crowd.done["move"] and crowd.done["look"], crowd.done
        assert self.one("SELECT COUNT(*), SUM(balance) FROM account") == (100, 10000)

    def case_counters(self, level: str):
        self.fresh("CREATE TABLE counter (id INT PRIMARY KEY, n INT NOT NULL, m INT NOT NULL)", "INSERT INTO counter VALUES (1, 0, 0), (2, 0, 0)")

        def add(cursor, *_):
            cursor.execute("UPDATE counter SET n = n + 1 WHERE id = 1")

        def read_and_add(cursor, *_):
            value = fetch(cursor, "SELECT m FROM counter WHERE id = 2 FOR UPDATE")[0][0]
            cursor.execute("UPDATE counter SET m = %s WHERE id = 2", (value + 1,))

        crowd = Crowd(self.address, self.seconds)
        crowd.add(6, "add", level, add)
        crowd.add(6, "read_and_add", level, read_and_add)
        crowd.run()
        assert self.one("SELECT n FROM counter WHERE id = 1")[0] == crowd.done["add"]
        assert self.one("SELECT m FROM counter WHERE id = 2")[0] == crowd.done["read_and_add"]

    def case_unique_keys(self, level: str):
        self.fresh("CREATE TABLE seat (id INT AUTO_INCREMENT PRIMARY KEY, seat INT, who INT, UNIQUE KEY (seat))")
        won: Counter = Counter()
        lock = threading.Lock()

        def take(cursor, chance, number):
            seat = chance.randrange(60)
            try:
                cursor.execute("INSERT INTO seat (seat, who) VALUES (%s, %s)", (seat, number))
                change = 1
            except pymysql.err.IntegrityError as error:
                assert error.args[0] == 1062, error
                change = -cursor.execute("DELETE FROM seat WHERE seat = %s", (seat,))
            cursor.execute("COMMIT")
            with lock:
                won["taken"] += change

        crowd = Crowd(self.address, self.seconds)
        crowd.add(10, "take", level, take)
        crowd.run()
        count, distinct = self.one("SELECT COUNT(*), COUNT(DISTINCT seat) FROM seat")
        assert count == distinct == won["taken"], (count, distinct, won)
        assert self.one("SELECT COUNT(*) FROM seat FORCE INDEX (seat) WHERE seat >= 0")[0] == count

    def case_queue(self, level: str):
        self.fresh("CREATE TABLE job (id INT PRIMARY KEY, state INT NOT NULL)", "INSERT INTO job VALUES " + ", ".join(f"({n}, 0)" for n in range(3000)))
        taken: Counter = Counter()
        lock = threading.Lock()

        def take(cursor, *_):
            rows = fetch(cursor, "SELECT id FROM job WHERE state = 0 ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED")
            for row in rows:
                cursor.execute("UPDATE job SET state = 1 WHERE id = %s", row)
            cursor.execute("COMMIT")
            with lock:
                taken.update(row[0] for row in rows)

        crowd = Crowd(self.address, self.seconds)
        crowd.add(8, "take", level, take)
        crowd.run()
        twice = [job for job, times in taken.items() if times > 1]
        assert not twice, f"handed out more than once: {twice[:5]}"
        assert self.one("SELECT COUNT(*) FROM job WHERE state = 1")[0] == len(taken) > 0

    def case_generated_numbers(self, level: str):
        self.fresh("CREATE TABLE n (id INT AUTO_INCREMENT PRIMARY KEY, who INT)")
        given: Counter = Counter()
        lock = threading.Lock()

        def insert(cursor, chance, number):
            rows = chance.randint(1, 4)
            cursor.execute("INSERT INTO n (who) VALUES " + ", ".join([f"({number})"] * rows))
            first = cursor.lastrowid
            if chance.random() < 0.2:
                cursor.execute("ROLLBACK")
            else:
                cursor.execute("COMMIT")
            with lock:
                given.update(range(first, first + rows))

        crowd = Crowd(self.address, self.seconds)
        crowd.add(8, "insert", level, insert)
        crowd.run()
        assert max(given.values()) == 1, "a number was given twice"
        assert self.one("SELECT COUNT(*) = COUNT(DISTINCT id) FROM n")[0] == 1

    def case_churn(self, level: str):
        """Rows come, go, grow and change their keys; readers compare the table with its indexes."""
        self.fresh("CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, s VARCHAR(300) NOT NULL, KEY (a), KEY (s, a))")

        def write(cursor, chance, _):
            for _ in range(chance.randint(1, 4)):
                key, roll = chance.randrange(400), chance.random()
                text = chance.choice("abcdef") * chance.choice([1, 5, 50, 300])
                if roll < 0.4:
                    cursor.execute("REPLACE INTO t VALUES (%s, %s, %s)", (key, chance.randrange(100), text))
                elif roll < 0.6:
                    cursor.execute("DELETE FROM t WHERE id = %s", (key,))
                elif roll < 0.8:
                    cursor.execute("UPDATE t SET a = %s WHERE id = %s", (chance.randrange(100), key))
                else:
                    cursor.execute("UPDATE t SET s = %s, a = a + 1 WHERE id = %s", (text, key))
            if chance.random() < 0.15:
                cursor.execute("ROLLBACK")

        def look(cursor, *_):
            table = fetch(cursor, "SELECT id, a, s FROM t FORCE INDEX (PRIMARY) WHERE id >= 0 ORDER BY id")
            by_a = fetch(cursor, "SELECT id, a, s FROM t FORCE INDEX (a) WHERE a >= 0")
            by_s = fetch(cursor, "SELECT id, a, s FROM t FORCE INDEX (s) WHERE s >= ''")
            assert sorted(by_a) == list(table), f"by a: {len(by_a)} rows of {len(table)}"
            assert sorted(by_s) == list(table), f"by s: {len(by_s)} rows of {len(table)}"

        crowd = Crowd(self.address, self.seconds)
        crowd.add(6, "write", level, write)
        if level == "REPEATABLE READ":  # three statements, so they need one view
            crowd.add(3, "look", level, look)
        crowd.run()
        assert crowd.done["write"]
        crowd = Crowd(self.address, 0.2)
        crowd.add(1, "look", "REPEATABLE READ", look)
        crowd.run()

    def case_definitions(self, level: str):
        """Indexes and columns come and go beside writers, which go on meanwhile and lose nothing."""
        self.fresh("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL DEFAULT 0, a INT NOT NULL, s VARCHAR(200) NOT NULL, KEY a (a))",
                   "SET SESSION cte_max_recursion_depth = 30000",
                   "INSERT INTO t (id, a, s) WITH RECURSIVE k AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM k WHERE i < 29999) "
                   "SELECT i, i % 1000, REPEAT('x', 100) FROM k")
        builds, building, beside = iter(range(1, 1_000_000)), [0], Counter()

        def write(cursor, chance, _):
            before = building[0]
            cursor.execute("UPDATE t SET n = n + 1, a = %s, s = REPEAT(%s, 100) WHERE id = %s",
                           (chance.randrange(1000), chance.choice("xyz"), chance.randrange(30000)))
            beside[bool(before) and before == building[0]] += 1

        def change(cursor, *_):
            building[0] = next(builds)
            cursor.execute("ALTER TABLE t ADD INDEX s (s, a), ALGORITHM=INPLACE, LOCK=NONE")
            building[0] = 0
            cursor.execute("ALTER TABLE t ADD COLUMN c INT NOT NULL DEFAULT 7, ALGORITHM=INSTANT")
            seen = fetch(cursor, "SELECT COUNT(*), SUM(n), SUM(a), SUM(c) FROM t IGNORE INDEX (s)")
            by_s = fetch(cursor, "SELECT COUNT(*), SUM(n), SUM(a), SUM(c) FROM t FORCE INDEX (s) WHERE s > ''")
            assert level != "REPEATABLE READ" or seen == by_s, f"{seen} by table, {by_s} by s"
            cursor.execute("ALTER TABLE t DROP COLUMN c, ALGORITHM=INSTANT")
            cursor.execute("ALTER TABLE t DROP INDEX s")

        crowd = Crowd(self.address, self.seconds)
        crowd.add(4, "write", level, write)
        crowd.add(1, "change", level, change)
        crowd.run()
        # Each of the four may have begun before the table was locked for a moment; more have gone on beside the build.
        assert beside[True] > 4 * crowd.done["change"], f"{beside[True]} writes beside {crowd.done['change']} builds"
        assert self.one("SELECT COUNT(*), SUM(n) FROM t") == (30000, crowd.done["write"])
        assert self.one("SELECT COUNT(*), SUM(n) FROM t FORCE INDEX (a) WHERE a >= 0") == (30000, crowd.done["write"])


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", help="HOST:PORT[:USER]; default: a Tidemark server of its own")
    parser.add_argument("--seconds", type=float, default=3, help="per case and level")
    options = parser.parse_args()
    report = Report("invariants", options.filters)
    if options.address:
        Suite(Address.parse(options.address), options.seconds, report).run()
    else:
        with Server("invariants", "--innodb-buffer-pool-size=64M") as server:
            Suite(server.address, options.seconds, report).run()
            report.equal(server.stop(), 0, "stops")
            checked = server.check()
            report.check(checked.returncode == 0, "tidemark_check", (checked.stdout + checked.stderr)[-1000:])
    report.close()


if __name__ == "__main__":
    main()

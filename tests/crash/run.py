#!/usr/bin/env python3
"""kill -9 in the middle of oltp_read_write, again and again.

    tests/crash/run.py [--rounds 20 | --seconds N] [--seed N] [ROUND ...]
    tests/crash/run.py --cycles 1000 [--seed N] [--volatile]

Each round: sysbench runs oltp_read_write with 16 clients, beside it eight connections keep a journal; after a random
moment the server is killed. Some rounds kill it a second time while it recovers. Then it starts again, and

- every commit that a journal connection saw acknowledged is there, and of the one that was under way all or nothing;
- a transfer between accounts happened whole or not at all: their sum is what it was;
- sysbench's tables have the rows they had (its transactions delete a row and insert it again), by either index;
- after a clean stop `tidemark check` finds nothing.

A journal transaction writes a row, adds to a counter, adds three details in another table and moves money between two
accounts, so that a part of it, had it survived alone, would show. It also changes long rows of a temporary table, which must be gone
after the start, with its pages. Every fourth round runs with
innodb_flush_log_at_trx_commit = 2, which gives up power failures but not the death of the process.

With `--cycles N` the server dies N times, at shorter intervals and under 16 journals, while definitions change beside them: at work,
while it recovers, while it stops. Definitions must be there whole or not at all, too.

`--volatile` wants a server built with the feature `sabotage`: it keeps what it writes in memory until it is synced, and loses the
rest with the process, so that a sync that is missing shows (`TIDEMARK_SABOTAGE=volatile,unsynced` leaves out those of the log, and the
suite must fail).

A round draws from the seed and its number, so `--seed N round_7` makes the choices of that round alone.
"""
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address  # noqa: E402
from support.report import FIXED_SEED, Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

JOURNALS = 8
ACCOUNTS = 50
TABLES, ROWS = 2, 5000
DETAILS = 3


class Journal(threading.Thread):
    """One connection that commits transactions and remembers the last one the server acknowledged."""

    def __init__(self, number: int, address: Address, acknowledged: int, seed: int):
        super().__init__()
        self.number, self.address, self.acknowledged = number, address, acknowledged
        self.random = random.Random(seed)
        self.error: str | None = None

    def run(self):
        try:
            connection = self.address.connect(database="crash", autocommit=False, ssl_disabled=True)
            with connection.cursor() as cursor:
                cursor.execute("CREATE TEMPORARY TABLE scratch (id INT PRIMARY KEY, b LONGTEXT, KEY (b(10)))")
                while True:
                    self.transaction(connection, cursor, self.acknowledged + 1)
                    self.acknowledged += 1
        except pymysql.err.OperationalError as error:
            if error.args[0] not in (2006, 2013, 2003, 0):  # anything but a lost connection
                self.error = str(error)
        except (pymysql.err.InterfaceError, OSError):
            pass  # the connection is gone
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"

    def transaction(self, connection, cursor, sequence: int):
        debit, credit = sorted(self.random.sample(range(ACCOUNTS), 2))  # in order, so that journals do not deadlock
        amount = self.random.randint(-100, 100)
        cursor.execute("REPLACE INTO scratch VALUES (%s, REPEAT(%s, 40000))", (sequence % 20, chr(97 + sequence % 26)))
        cursor.execute("INSERT INTO journal VALUES (%s, %s, %s)", (self.number, sequence, "x" * self.random.randint(1, 500)))
        for part in range(DETAILS):
            cursor.execute("INSERT INTO detail (journal, sequence, part) VALUES (%s, %s, %s)", (self.number, sequence, part))
        cursor.execute("UPDATE account SET balance = balance - %s WHERE id = %s", (amount, debit))
        cursor.execute("UPDATE account SET balance = balance + %s WHERE id = %s", (amount, credit))
        cursor.execute("UPDATE counter SET n = n + 1 WHERE id = %s", (self.number,))
        if self.random.random() < 0.1:
            connection.rollback()
            self.transaction(connection, cursor, sequence)
        else:
            connection.commit()


class Definitions(threading.Thread):
    """A connection that makes, changes and drops tables until it loses its server."""

    def __init__(self, address: Address, cycle: int, seed: int):
        super().__init__()
        self.address, self.cycle, self.random = address, cycle, random.Random(seed)
        self.error: str | None = None

    def run(self):
        try:
            connection = self.address.connect(database="ddl", ssl_disabled=True)
            with connection.cursor() as cursor:
                for number in itertools.count():
                    table = f"t_{self.cycle}_{number}"
                    rows = ", ".join(f"({n}, {n % 7}, REPEAT('d', {self.random.randint(1, 900)}))" for n in range(self.random.randint(1, 60)))
                    for statement in (f"CREATE TABLE {table} (id INT PRIMARY KEY, k INT, v VARCHAR(1000))", f"INSERT INTO {table} VALUES {rows}",
                                      f"ALTER TABLE {table} ADD KEY (k)", f"ALTER TABLE {table} ADD COLUMN c INT DEFAULT 5, ADD UNIQUE KEY (id, c)",
                                      f"RENAME TABLE {table} TO {table}_r", f"TRUNCATE TABLE {table}_r", f"INSERT INTO {table}_r (id, k, v) VALUES {rows}"):
                        cursor.execute(statement)
                    if self.random.random() < 0.7:
                        cursor.execute(f"DROP TABLE {table}_r")
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError, OSError) as error:
            if isinstance(error, pymysql.err.OperationalError) and error.args[0] not in (2006, 2013, 2003, 0, 1053):
                self.error = str(error)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"


def verify_definitions(address: Address) -> list[str]:
    """Every table can be read whole by each of its indexes; then they go."""
    faults = []
    with address.connect(database="ddl", ssl_disabled=True) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW TABLES")
        for (table,) in cursor.fetchall():
            cursor.execute(f"SHOW INDEX FROM {table} WHERE Key_name = 'k'")
            counts = set()
            for index, condition in [("PRIMARY", "id >= 0"), ("k", "k >= 0")][:2 if cursor.fetchall() else 1]:
                cursor.execute(f"SELECT COUNT(*) FROM {table} FORCE INDEX ({index}) WHERE {condition}")
                counts.add(cursor.fetchone()[0])
            if len(counts) != 1:
                faults.append(f"{table}: its indexes have {sorted(counts)} rows")
            cursor.execute(f"DROP TABLE {table}")
    return faults


def die_at_some_moment(server: Server, chance: random.Random) -> str:
    """Kills the server at work, while it stops, or while it recovers; says which."""
    moment = chance.choice(["work", "work", "shutdown", "recovery"])
    if moment == "shutdown":
        server.process.send_signal(signal.SIGTERM)
        time.sleep(chance.uniform(0.0, 0.3))
    server.kill()
    if moment == "recovery":
        for _ in range(chance.randint(1, 3)):
            second = subprocess.Popen(server_command(server), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=server.home)
            time.sleep(chance.uniform(0.0, 0.3))
            second.kill()
            second.wait()
    return moment


def cycles(options, report: Report) -> None:
    server = Server("cycles", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M")
    server.start()
    acknowledged = [0] * 16
    server.address.execute("CREATE DATABASE ddl", *tables_of_journals(len(acknowledged)))
    moments, began = {}, time.monotonic()
    try:
        for number in range(1, options.cycles + 1):
            chance = random.Random(f"{options.seed}/cycle {number}")
            journals = [Journal(n, server.address, acknowledged[n], chance.getrandbits(32)) for n in range(len(acknowledged))]
            definitions = Definitions(server.address, number, chance.getrandbits(32))
            for thread in (*journals, definitions):
                thread.start()
            time.sleep(chance.uniform(0.05, 0.8))
            moment = die_at_some_moment(server, chance)
            moments[moment] = moments.get(moment, 0) + 1
            for thread in (*journals, definitions):
                thread.join(60)
            server.start()
            acknowledged, faults = verify_journals(server.address, [journal.acknowledged for journal in journals])
            faults += verify_definitions(server.address) + [thread.error for thread in (*journals, definitions) if thread.error]
            if number % 25 == 0:
                server.stop()
                checked = server.check()
                faults += [] if checked.returncode == 0 else [checked.stdout[-1000:]]
                server.start()
            if faults:
                report.fail(f"cycle_{number}", f"killed at {moment}: " + "; ".join(faults))
                break
            if number % 25 == 0:
                print(f"  {number} cycles, {sum(acknowledged)} commits, {time.monotonic() - began:.0f} s", flush=True)
        else:
            report.check(True, f"{options.cycles}_cycles")
        print(f"  killed {moments}; {sum(acknowledged)} commits survived", flush=True)
    finally:
        server.__exit__()


def tables_of_journals(count: int) -> list[str]:
    return ["CREATE DATABASE crash", "USE crash",
            "CREATE TABLE journal (id INT, sequence INT, filler VARCHAR(500), PRIMARY KEY (id, sequence), KEY (sequence))",
            "CREATE TABLE detail (id INT AUTO_INCREMENT PRIMARY KEY, journal INT, sequence INT, part INT, UNIQUE KEY (journal, sequence, part))",
            "CREATE TABLE account (id INT PRIMARY KEY, balance INT NOT NULL)",
            "CREATE TABLE counter (id INT PRIMARY KEY, n INT NOT NULL)",
            "INSERT INTO account VALUES " + ", ".join(f"({i}, 1000)" for i in range(ACCOUNTS)),
            "INSERT INTO counter VALUES " + ", ".join(f"({i}, 0)" for i in range(count))]


def prepare(address: Address) -> None:
    address.execute(*tables_of_journals(JOURNALS), "CREATE DATABASE sbtest")
    subprocess.run(sysbench(address, "prepare"), check=True, capture_output=True)


def sysbench(address: Address, command: str, *options: str) -> list[str]:
    return ["sysbench", "oltp_read_write", *address.sysbench_arguments("sbtest"), f"--tables={TABLES}", f"--table-size={ROWS}", *options, command]


def verify_journals(address: Address, acknowledged: list[int]) -> tuple[list[int], list[str]]:
    """Where each journal goes on, and what differs from what was acknowledged."""
    faults = []
    found = []
    with address.connect(database="crash", ssl_disabled=True) as connection, connection.cursor() as cursor:
        def ask(sql: str) -> tuple:
            cursor.execute(sql)
            return cursor.fetchall()

        journals = {number: (rows, last) for number, rows, last in ask("SELECT id, COUNT(*), MAX(sequence) FROM journal GROUP BY id")}
        parts = {number: (rows, last) for number, rows, last in ask("SELECT journal, COUNT(*), MAX(sequence) FROM detail GROUP BY journal")}
        counters = dict(ask("SELECT id, n FROM counter"))
        total = ask("SELECT SUM(balance) FROM account")[0][0]
        temporary = ask("SELECT COUNT(*) FROM information_schema.innodb_temp_table_info")[0][0]
    if temporary:
        faults.append(f"{temporary} temporary tables of sessions that are gone")
    for number in range(len(acknowledged)):
        rows, last = journals.get(number, (0, 0))
        details, counter = parts.get(number, (0, 0)), counters.get(number)
        if last not in (acknowledged[number], acknowledged[number] + 1):
            faults.append(f"journal {number}: {acknowledged[number]} acknowledged, the last found is {last}")
        if rows != last:
            faults.append(f"journal {number}: {rows} rows up to {last}")
        if details != (DETAILS * last, last):
            faults.append(f"journal {number}: {details[0]} details up to {details[1]} for {last} rows")
        if counter != last:
            faults.append(f"journal {number}: the counter says {counter}, there are {last} rows")
        found.append(last)
    if total != 1000 * ACCOUNTS:
        faults.append(f"the accounts hold {total}, not {1000 * ACCOUNTS}")
    return found, faults


def verify(address: Address, acknowledged: list[int], report: Report, name: str) -> list[int]:
    """Holds what is there against what was acknowledged; returns where each journal goes on."""
    found, faults = verify_journals(address, acknowledged)
    for table in range(1, TABLES + 1):
        by_key = address.execute(f"SELECT COUNT(*) FROM sbtest.sbtest{table} WHERE id > 0")[0][0]
        by_index = address.execute(f"SELECT COUNT(*) FROM sbtest.sbtest{table} FORCE INDEX (k_{table}) WHERE k >= 0")[0][0]
        if by_key != ROWS or by_index != ROWS:
            faults.append(f"sbtest{table}: {by_key} rows by primary key, {by_index} by index, {ROWS} expected")
    report.check(not faults, f"{name}/data", "; ".join(faults))
    return found


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, help="go on with rounds until so many")
    parser.add_argument("--seed", type=int, default=FIXED_SEED)
    parser.add_argument("--cycles", type=int, help="kill it so often instead, at all kinds of moments")
    parser.add_argument("--volatile", action="store_true", help="what was not synced is lost; wants a build with the feature sabotage")
    options = parser.parse_args()
    if options.volatile:
        os.environ.setdefault("TIDEMARK_SABOTAGE", "volatile")
    print(f"  seed {options.seed}", flush=True)
    report = Report("crash", options.filters)
    if options.cycles:
        cycles(options, report)
        return report.close()
    until = time.monotonic() + (options.seconds or 0)
    rounds = itertools.takewhile(lambda _: time.monotonic() < until, itertools.count(1)) if options.seconds else range(1, options.rounds + 1)
    # A small pool and a small log: pages are evicted and log segments recycled while it runs.
    server = Server("crash", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=16M")
    server.start()
    prepare(server.address)
    acknowledged = [0] * JOURNALS
    commits = 0
    try:
        for number in rounds:
            name = f"round_{number}"
            if not report.wants(name):
                continue
            chance = random.Random(f"{options.seed}/{number}")
            load = subprocess.Popen(sysbench(server.address, "run", "--threads=16", "--time=60"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            journals = [Journal(n, server.address, acknowledged[n], chance.getrandbits(32)) for n in range(JOURNALS)]
            for journal in journals:
                journal.start()
            # However busy the machine is, the blow falls when there is something to lose.
            begun, gives_up = sum(acknowledged), time.monotonic() + 60
            while sum(j.acknowledged for j in journals) == begun and time.monotonic() < gives_up:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 2.0))
            died = not server.is_running()
            server.kill()
            for journal in journals:
                journal.join(60)
            load.wait(60)
            if died:
                report.fail(f"{name}/runs", server.log_tail())
                break
            errors = [f"journal {j.number}: {j.error}" for j in journals if j.error]
            if errors:
                report.fail(f"{name}/journals", "; ".join(errors))
            acknowledged = [j.acknowledged for j in journals]
            if number % 3 == 0:  # die again while recovering
                second = subprocess.Popen([*server_command(server)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=server.home)
                time.sleep(chance.uniform(0.0, 0.2))
                second.kill()
                second.wait()
            server.start(*(["--innodb-flush-log-at-trx-commit=2"] if number % 4 == 3 else []))
            before = commits
            acknowledged = verify(server.address, acknowledged, report, name)
            commits = sum(acknowledged)
            if commits == before:
                report.fail(f"{name}/journals", "nothing was committed in this round")
            report.equal(server.stop(), 0, f"{name}/stops")
            checked = server.check()
            report.check(checked.returncode == 0, f"{name}/check", (checked.stdout + checked.stderr)[-1000:])
            server.start(*(["--innodb-flush-log-at-trx-commit=2"] if number % 4 == 3 else []))
        print(f"  {commits} commits of the journals survived", flush=True)
    finally:
        server.__exit__()
    report.close()


def server_command(server: Server) -> list[str]:
    return [str(part) for part in server.process.args]


if __name__ == "__main__":
    main()

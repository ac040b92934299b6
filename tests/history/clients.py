"""Clients that do small random transactions and remember what they did and saw.

Three workloads. `append`: lists to whose end numbers are added, read one by one or four by an index of their group, so that
lists which are not there are read too. `register`: a value is read and written over by what the client makes of it.
`bank`: money is moved, and all accounts are read, in one statement by either index or one after the other.

A transaction ends committed, aborted, or unknown: a connection that broke while COMMIT was under way. Clients break
their connection on purpose now and then, and connect again whenever it is gone, for the server may be killed at any time.
"""
import multiprocessing
import random
import sys
import threading
import time
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from check import ABORTED, COMMITTED, UNKNOWN, Transaction  # noqa: E402
from support.address import Address  # noqa: E402

DATABASE = "history"
LISTS_ACTIVE = 12            # how many lists are in use at a time
APPENDS_PER_LIST = 30        # about so many, then the next one is begun
LISTS_PER_GROUP = 4
REGISTERS = 8
ACCOUNTS, BALANCE = 12, 100
DROPS = 0.002                # so many transactions are left by breaking the connection
RETRY_EVERY_S = 0.02
GIVES_UP_AFTER_S = 120.0

SCHEMA = {
    "append": ["CREATE TABLE lists (id INT PRIMARY KEY, part INT NOT NULL, elements TEXT NOT NULL, KEY (part))"],
    "register": ["CREATE TABLE registers (id INT PRIMARY KEY, value BIGINT NOT NULL)",
                 "INSERT INTO registers VALUES " + ", ".join(f"({n}, 0)" for n in range(REGISTERS))],
    "bank": ["CREATE TABLE accounts (id INT PRIMARY KEY, branch INT NOT NULL, balance INT NOT NULL, KEY (branch), KEY (balance))",
             "INSERT INTO accounts VALUES " + ", ".join(f"({n}, {n % 3}, {BALANCE})" for n in range(ACCOUNTS))],
}
SETTINGS = {
    "SNAPSHOT ISOLATION": ["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET SESSION innodb_snapshot_isolation = ON"],
}


class Broken(Exception):
    """The connection is gone."""


class Client(threading.Thread):
    def __init__(self, address: Address, workload: str, level: str, number: int, clients: int, seed: int, until: float, transactions: int):
        super().__init__(daemon=True)
        self.address, self.level, self.number, self.clients = address, level, number, clients
        self.body = getattr(self, workload)
        self.random = random.Random(f"{seed}/{number}")
        self.until, self.transactions_max = until, transactions
        self.history: list[Transaction] = []
        self.connection: pymysql.connections.Connection | None = None
        self.error: str | None = None

    def run(self) -> None:
        try:
            while time.time() < self.until and len(self.history) < self.transactions_max:
                if self.connection is None:
                    self.connect()
                self.transaction()
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
        finally:
            if self.connection is not None:
                self.connection._force_close()

    def connect(self) -> None:
        gives_up = time.time() + GIVES_UP_AFTER_S
        while True:
            try:
                self.connection = self.address.connect(database=DATABASE, conv={}, autocommit=None)
                for sql in SETTINGS.get(self.level, [f"SET SESSION TRANSACTION ISOLATION LEVEL {self.level}"]):
                    self.connection.query(sql)
                return
            except (pymysql.err.MySQLError, OSError):
                if time.time() > gives_up:
                    raise
                time.sleep(RETRY_EVERY_S)

    def ask(self, sql: str) -> tuple:
        try:
            self.connection.query(sql)
            return self.connection._result.rows or ()
        except pymysql.err.MySQLError as error:
            if isinstance(error, pymysql.err.InterfaceError) or error.args[0] in (0, 1053, 1927, 2006, 2013):
                raise Broken from error
            raise
        except (OSError, AttributeError) as error:      # PyMySQL's socket was closed under it
            raise Broken from error

    def unique(self) -> int:
        """A number that nobody else writes."""
        return (len(self.history) + 1) * 1_000_000 + self.number * 100 + self.random.randrange(100)

    def transaction(self) -> None:
        done = Transaction(f"c{self.number}.{len(self.history)}", ABORTED, [], time.monotonic())
        self.history.append(done)
        try:
            self.ask("BEGIN")
            self.body(done.operations)
            if self.random.random() < DROPS:
                raise Broken
            if self.random.random() < 0.03:
                self.ask("ROLLBACK")
                return
            done.status = UNKNOWN
            if self.random.random() < DROPS:        # COMMIT is sent, the answer not waited for
                self.connection._execute_command(3, "COMMIT")
                raise Broken
            self.ask("COMMIT")
            done.ended, done.status = time.monotonic(), COMMITTED
        except Broken:
            self.connection._force_close()
            self.connection = None
        except pymysql.err.MySQLError as error:
            done.status = ABORTED
            if error.args[0] not in (1213, 1205, 1020):
                raise
            try:
                self.ask("ROLLBACK")
            except Broken:
                self.connection._force_close()
                self.connection = None
        finally:
            done.ended = done.ended or time.monotonic()

    # -------------------------------------------------------------------------------------------- workloads

    def append(self, operations: list[tuple]) -> None:
        chance = self.random
        base = len(self.history) * self.clients // APPENDS_PER_LIST
        taken: set[int] = set()
        for _ in range(chance.randint(1, 4)):
            key, roll = base + chance.randrange(LISTS_ACTIVE), chance.random()
            if roll < 0.45:
                number = self.unique()
                while number in taken:
                    number = self.unique()
                taken.add(number)
                self.ask(f"INSERT INTO lists VALUES ({key}, {key // LISTS_PER_GROUP}, '{number}') "
                         f"ON DUPLICATE KEY UPDATE elements = CONCAT(elements, ',{number}')")
                operations.append(("append", key, number))
            elif roll < 0.8:
                rows = self.ask(f"SELECT elements FROM lists WHERE id = {key}")
                operations.append(("read", key, text(rows[0][0]) if rows else ""))
            else:
                group = key // LISTS_PER_GROUP
                rows = {int(row[0]): text(row[1]) for row in self.ask(f"SELECT id, elements FROM lists FORCE INDEX (part) WHERE part = {group}")}
                operations += [("read", member, rows.get(member, "")) for member in range(group * LISTS_PER_GROUP, (group + 1) * LISTS_PER_GROUP)]

    def register(self, operations: list[tuple]) -> None:
        key = self.random.randrange(REGISTERS)
        value = text(self.ask(f"SELECT value FROM registers WHERE id = {key}")[0][0])
        operations.append(("read", key, value))
        if self.random.random() < 0.7:
            number = self.unique()
            self.ask(f"UPDATE registers SET value = {number} WHERE id = {key}")
            operations.append(("write", key, number))

    def bank(self, operations: list[tuple]) -> None:
        chance = self.random
        roll = chance.random()
        if roll < 0.6:
            source, target = chance.sample(range(ACCOUNTS), 2)
            amount = chance.randint(1, 9)
            self.ask(f"UPDATE accounts SET balance = balance - {amount} WHERE id = {source}")
            self.ask(f"UPDATE accounts SET balance = balance + {amount}, branch = {chance.randrange(3)} WHERE id = {target}")
            operations.append(("move", f"{source} to {target}", amount))
        elif roll < 0.8:
            hint = chance.choice(["", "FORCE INDEX (branch) WHERE branch >= 0", "FORCE INDEX (balance) WHERE balance > -1000000"])
            operations.append(("sum", hint or "table", int(self.ask(f"SELECT SUM(balance) FROM accounts {hint}")[0][0])))
        else:
            for account in chance.sample(range(ACCOUNTS), ACCOUNTS):
                operations.append(("balance", account, int(self.ask(f"SELECT balance FROM accounts WHERE id = {account}")[0][0])))


def text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def process(address, workload, level, numbers, clients, seed, until, transactions, results) -> None:
    crowd = [Client(address, workload, level, number, clients, seed, until, transactions) for number in numbers]
    for client in crowd:
        client.start()
    for client in crowd:
        client.join(max(0.0, until - time.time()) + 2 * GIVES_UP_AFTER_S)
    errors = [client.error or "it hangs" for client in crowd if client.error or client.is_alive()]
    results.put((errors, [transaction for client in crowd for transaction in client.history]))


def run_clients(address: Address, workload: str, level: str, clients: int, processes: int, seed: int, seconds: float, transactions: int,
                meanwhile) -> list[Transaction]:
    """A history; `meanwhile` is called again and again while it is made (it may kill the server)."""
    results: multiprocessing.Queue = multiprocessing.Queue()
    until = time.time() + seconds
    crowd = [multiprocessing.Process(target=process, daemon=True,
                                     args=(address, workload, level, range(n, clients, processes), clients, seed, until, transactions // clients + 1, results))
             for n in range(processes)]
    for member in crowd:
        member.start()
    history, finished = [], 0
    while finished < processes:
        meanwhile()
        if not results.empty() or not any(member.is_alive() for member in crowd):
            errors, part = results.get(timeout=60)
            finished += 1
            history += part
            if errors:
                raise AssertionError("; ".join(sorted(set(errors))[:3]))
    return history

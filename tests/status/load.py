"""Work for the status page to show: a few clients that read and write, a lock wait, a deadlock, an old snapshot."""
import random
import threading
import time

import pymysql

from support.address import Address

DATABASE = "status_page"


def prepare(address: Address) -> None:
    address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}",
                    f"CREATE TABLE {DATABASE}.account (id INT PRIMARY KEY, balance INT NOT NULL, note VARCHAR(100))",
                    f"INSERT INTO {DATABASE}.account VALUES " + ", ".join(f"({n}, 100, 'note {n}')" for n in range(1, 201)))


class Load:
    """Clients that each run short transactions, with a rest after each; most change the same row."""

    def __init__(self, address: Address, clients: int = 4, rest_s: float = 0.002):
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(address, rest_s, n), daemon=True) for n in range(clients)]

    def _run(self, address: Address, rest_s: float, seed: int) -> None:
        draw = random.Random(seed)
        with address.connect(database=DATABASE) as connection, connection.cursor() as cursor:
            while not self.is_over.is_set():
                try:
                    cursor.execute(f"SELECT balance FROM account WHERE id = {draw.randint(10, 200)}")
                    row = 7 if draw.random() < 0.9 else draw.randint(10, 200)
                    cursor.execute(f"UPDATE account SET balance = balance + 1 WHERE id = {row}")
                except pymysql.err.OperationalError:
                    pass
                time.sleep(rest_s)

    def __enter__(self) -> "Load":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.is_over.set()
        for thread in self.threads:
            thread.join(30)


class Client:
    """A connection; `start` runs a statement on a thread of its own."""

    def __init__(self, address: Address):
        self.connection = address.connect(database=DATABASE)
        self.id = self.connection.thread_id()
        self.thread: threading.Thread | None = None

    def ask(self, *statements: str) -> tuple:
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall()

    def start(self, statement: str) -> None:
        def run() -> None:
            try:
                self.ask(statement)
            except pymysql.err.MySQLError:
                pass

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def end(self) -> None:
        if self.thread:
            self.thread.join(30)
        self.connection.close()


def deadlock(address: Address) -> tuple[Client, Client]:
    """Two transactions of which one is rolled back; both are still connected."""
    one, two = Client(address), Client(address)
    one.ask("BEGIN", "UPDATE account SET note = 'one' WHERE id = 1")
    two.ask("BEGIN", "UPDATE account SET note = 'two' WHERE id = 2")
    one.start("UPDATE account SET note = 'one takes the second' WHERE id = 2")
    time.sleep(0.3)
    two.start("UPDATE account SET note = 'two takes the first' WHERE id = 1")
    one.thread.join(30)
    two.thread.join(30)
    return one, two

"""Who waits for whom, as the server itself tells it.

A statement that does not answer may be slow, or it may wait for a lock; only the server knows. MySQL and Tidemark say it
in `performance_schema.data_lock_waits`, at the moment they are asked. MariaDB has no such table; its transactions in
`information_schema` are a picture that may be older than the question, so it is read from `SHOW ENGINE INNODB STATUS`,
which says that a connection waits and where, but not for whom. Waits for metadata locks are in none of these, but in
`performance_schema.metadata_locks`, where one can ask for them.
"""
import re
from dataclasses import dataclass

import pymysql

from .address import Address

WAITS = """SELECT waiter.PROCESSLIST_ID, waits.REQUESTING_ENGINE_TRANSACTION_ID, waits.BLOCKING_ENGINE_TRANSACTION_ID,
    asked.LOCK_TYPE, asked.LOCK_MODE, asked.OBJECT_NAME, asked.INDEX_NAME, asked.LOCK_DATA
  FROM performance_schema.data_lock_waits AS waits
  JOIN performance_schema.data_locks AS asked ON asked.ENGINE_LOCK_ID = waits.REQUESTING_ENGINE_LOCK_ID
  JOIN performance_schema.threads AS waiter ON waiter.THREAD_ID = waits.REQUESTING_THREAD_ID"""
METADATA_WAITS = """SELECT waiter.PROCESSLIST_ID, asked.LOCK_TYPE, asked.OBJECT_NAME
  FROM performance_schema.metadata_locks AS asked JOIN performance_schema.threads AS waiter ON waiter.THREAD_ID = asked.OWNER_THREAD_ID
  WHERE asked.LOCK_STATUS = 'PENDING'"""
LOCKS = """SELECT thread.PROCESSLIST_ID, held.ENGINE_TRANSACTION_ID, held.LOCK_TYPE, held.LOCK_MODE, held.OBJECT_NAME, held.INDEX_NAME,
    held.LOCK_DATA, held.LOCK_STATUS
  FROM performance_schema.data_locks AS held
  JOIN performance_schema.threads AS thread ON thread.THREAD_ID = held.THREAD_ID"""


@dataclass(frozen=True)
class Wait:
    """What a connection waits for. Transactions are named by the server's numbers; `blockers` is empty where it does not say."""
    transaction: int | str
    blockers: frozenset[int | str]
    lock: str


class Observer:
    """A connection that looks at the others; with `metadata`, at their metadata locks as well."""

    def __init__(self, address: Address, metadata: bool = False):
        self.metadata = metadata
        self.connection = address.connect()
        self.is_mariadb = "MariaDB" in self.connection.get_server_info()
        self.tells_locks = not self.is_mariadb and self._has_tables()

    def _has_tables(self) -> bool:
        try:
            self._rows(WAITS + " LIMIT 1")
        except pymysql.err.MySQLError:
            return False
        return True

    def _rows(self, sql: str) -> tuple:
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    @property
    def tells_waits(self) -> bool:
        return self.tells_locks or self.is_mariadb

    def waits(self) -> dict[int, Wait]:
        """Every connection that waits for a lock at this moment."""
        if self.is_mariadb:
            return self._waits_from_status()
        if not self.tells_locks:
            return {}
        waits: dict[int, Wait] = {}
        for waiter, transaction, blocker, kind, mode, table, index, data in self._rows(WAITS):
            known = waits[waiter].blockers if waiter in waits else frozenset()
            waits[waiter] = Wait(transaction, known | {blocker}, lock_name(kind, mode, table, index, data))
        if self.metadata:
            for waiter, mode, table in self._rows(METADATA_WAITS):
                waits[waiter] = Wait(f"connection {waiter}", frozenset(), f"{mode} on the definition of {table}")
        return waits

    def owners(self) -> dict[int, int]:
        """The connection of each transaction that holds locks.

        The thread of a row's lock is the one that made the object, which for the lock of a writer is the first that met
        it; a table's lock is always made by its owner."""
        rows = self._rows(LOCKS)
        return {row[1]: row[0] for row in sorted(rows, key=lambda row: row[2] == "TABLE")}

    def locks(self, connections: set[int]) -> list[tuple[int, str]]:
        """What these connections hold and ask for, as (connection, text)."""
        owners, found = self.owners(), []
        for _, transaction, kind, mode, table, index, data, status in self._rows(LOCKS):
            if owners.get(transaction) in connections:
                waiting = " waits" if status == "WAITING" else ""
                found.append((owners[transaction], lock_name(kind, mode, table, index, data) + waiting))
        return found

    def weight(self, connection: int) -> str:
        """What a transaction weighs when a deadlock's victim is chosen. MySQL copies the table it comes from ten times a second."""
        rows = self._rows(f"SELECT trx_weight, trx_rows_modified FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = {connection}")
        weight, changes = rows[0] if rows else (0, 0)
        return f"weighs {weight}, with {changes} changes"

    def _waits_from_status(self) -> dict[int, Wait]:
        text = self._rows("SHOW ENGINE INNODB STATUS")[0][2]
        waits = {}
        for transaction in text.split("\n---TRANSACTION ")[1:]:
            if not re.search(r"^LOCK WAIT", transaction, re.MULTILINE):
                continue
            if thread := re.search(r"^\w+ thread id (\d+)", transaction, re.MULTILINE):
                waits[int(thread[1])] = Wait(transaction.split(",")[0], frozenset(), place_in_status(transaction))
        return waits

    def close(self) -> None:
        self.connection.close()


def place_in_status(transaction: str) -> str:
    """The lock a transaction waits for, by the names of `lock_name` and the first column of the record, an integer."""
    asked = re.search(r"index (\S+) of table \S+?\.`(\w+)` trx id \d+ lock[_ ]mode (\w+)([^\n]*) waiting", transaction)
    if not asked:
        return "a table"
    index, table, mode, kind = asked.groups()
    mode += ",REC_NOT_GAP" * ("rec but not gap" in kind) + ",GAP" * ("gap before" in kind) + ",INSERT_INTENTION" * ("insert intention" in kind)
    column = re.search(r"^ 0: len 4; hex (\w{8});", transaction[asked.end():], re.MULTILINE)
    return f"{mode} on {table}.{index} ({int(column[1], 16) - (1 << 31) if column else 'supremum'})"


def lock_name(kind: str, mode: str, table: str, index: str | None, data: str | None) -> str:
    """`X,REC_NOT_GAP on t.PRIMARY (5)`, `IX on t`."""
    if kind == "TABLE":
        return f"{mode} on {table}"
    return f"{mode} on {table}.{index} ({'supremum' if data == 'supremum pseudo-record' else data})"


def has_cycle(waits: dict[int, Wait]) -> bool:
    """A deadlock that the server has yet to break: who waits in it will be woken without anybody's doing."""
    edges = {wait.transaction: wait.blockers for wait in waits.values()}
    settled: set[int | str] = set()

    def leads_back(transaction: int | str, path: frozenset[int | str]) -> bool:
        if transaction in path:
            return True
        if transaction in settled or transaction not in edges:
            return False
        found = any(leads_back(blocker, path | {transaction}) for blocker in edges[transaction])
        settled.add(transaction)
        return found

    return any(leads_back(transaction, frozenset()) for transaction in edges)

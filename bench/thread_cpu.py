"""The processor time of single statements: that of the server's thread that runs them, by the kernel's scheduler, in microseconds.

Tidemark and MySQL have a thread for each connection, and `performance_schema.threads` names it. Wall time has the client, the network and whatever else
the machine does in it; this has not.
"""
from pathlib import Path

import pymysql

from generator import listening


class Measured:
    """A connection and the thread behind it. `NAME=PORT` or `NAME=PORT:USER`."""

    def __init__(self, peer: str, database: str | None = None, *settings: str, timeout_s: int = 60):
        self.name, _, where = peer.partition("=")
        port, _, user = where.partition(":")
        self.connection = pymysql.connect(host="127.0.0.1", port=int(port), user=user or "sbtest", database=database, autocommit=True, charset="utf8mb4",
                                          read_timeout=timeout_s + 30)
        self.cursor = self.connection.cursor()
        self.cursor.execute(f"SET max_execution_time = {timeout_s * 1000}")
        for setting in settings:
            self.cursor.execute(setting)
        self.cursor.execute("SELECT thread_os_id FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID()")
        self.schedstat = listening(int(port)) / "task" / str(self.cursor.fetchone()[0]) / "schedstat"

    def cpu_us(self) -> float:
        return int(Path(self.schedstat).read_text().split()[0]) / 1000

    def rows(self, sql: str) -> list[tuple]:
        self.cursor.execute(sql)
        return list(self.cursor.fetchall())

    def measure(self, sql: str) -> tuple[float, list[tuple]]:
        """The processor time of a statement and its rows."""
        before = self.cpu_us()
        rows = self.rows(sql)
        return self.cpu_us() - before, rows

    def close(self) -> None:
        self.connection.close()

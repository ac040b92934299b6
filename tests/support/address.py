"""Where a MySQL-protocol server listens and who connects to it.

Every suite takes `--address HOST:PORT[:USER]`, so that the same checks run against Tidemark and, to confirm what they
expect, against a MySQL server.
"""
import socket
from dataclasses import dataclass

import pymysql


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    user: str = "root"
    password: str = ""

    @classmethod
    def parse(cls, text: str) -> "Address":
        host, port, *user = text.split(":")
        return cls(host, int(port), *user)

    def connect(self, **options) -> pymysql.connections.Connection:
        options = {"charset": "utf8mb4", "autocommit": True, "read_timeout": 120, **options}
        return pymysql.connect(host=self.host, port=self.port, user=self.user, password=self.password, **options)

    def execute(self, *statements: str) -> tuple:
        """Runs the statements on a connection of their own and returns the rows of the last."""
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return cursor.fetchall()
        finally:
            connection.close()

    def client_arguments(self) -> list[str]:
        """The arguments by which the command line clients reach this address."""
        return [f"-h{self.host}", f"-P{self.port}", f"-u{self.user}", "--protocol=TCP"]

    def sysbench_arguments(self, database: str) -> list[str]:
        return ["--db-driver=mysql", f"--mysql-host={self.host}", f"--mysql-port={self.port}",
                f"--mysql-user={self.user}", f"--mysql-password={self.password}", f"--mysql-db={database}"]


def hang_up(connection: pymysql.connections.Connection) -> None:
    """Drops a connection without a word, also one on which another thread waits for an answer: it sees the end of it."""
    try:
        connection._sock.shutdown(socket.SHUT_RDWR)
    except (AttributeError, OSError):
        pass    # it is gone already
    connection._force_close()

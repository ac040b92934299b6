"""Who is measured: a Tidemark of our own, and servers that are up already, side by side.

A side knows its server's address, makes and drops the database of a measurement, and tells what the server says of itself.
What one server has no word for is `None`.
"""
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from support.address import Address
from support.server import Server

DATABASE = "snapshots"
LUA = Path(__file__).resolve().parents[1] / "lua"
MB = 1 << 20


@dataclass
class Side:
    name: str
    address: Address
    server: Server | None = None
    open_connections: list = field(default_factory=list)
    #: What `version_bytes` counts.
    versions_are = "pages of old versions"

    @property
    def is_tidemark(self) -> bool:
        return self.server is not None

    def fresh_database(self) -> None:
        self.address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}")

    def drop_database(self) -> None:
        self.close_all()
        self.address.execute(f"DROP DATABASE IF EXISTS {DATABASE}")

    def connect(self, **options) -> pymysql.connections.Connection:
        connection = self.address.connect(database=DATABASE, read_timeout=3600, **options)
        self.open_connections.append(connection)
        return connection

    def execute(self, *statements: str) -> tuple:
        connection = self.connect()
        try:
            return [ask(connection, statement) for statement in statements][-1]
        finally:
            self.close(connection)

    def close(self, connection) -> None:
        self.open_connections.remove(connection)
        try:
            connection.close()
        except pymysql.err.MySQLError:
            pass                        # its server may have been killed on purpose

    def close_all(self) -> None:
        for connection in list(self.open_connections):
            self.close(connection)

    def snapshot(self, read: str) -> "Snapshot":
        return Snapshot(self, read)

    def begin_snapshot(self):
        """A connection in whose transaction a snapshot is open."""
        connection = self.connect(autocommit=None)
        ask(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        ask(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        return connection

    def status(self, name: str) -> int:
        rows = self.address.execute(f"SHOW GLOBAL STATUS LIKE '{name}'")
        return int(rows[0][1])

    def variable(self, name: str) -> str:
        return self.address.execute(f"SHOW GLOBAL VARIABLES LIKE '{name}'")[0][1]

    def history_length(self) -> int:
        """Transactions that are not purged."""
        return int(re.search(r"History list length (\d+)", self.monitor())[1])

    def version_bytes(self) -> int | None:
        """Pages that hold old versions."""
        found = re.search(r"Old versions (\d+) bytes", self.monitor())
        return int(found[1]) if found else None

    def log_end(self) -> int:
        """The position where the log ends, bytes."""
        return int(re.search(r"Log sequence number\s+(\d+)", self.monitor())[1])

    def log_to_redo(self) -> int:
        """What a start after a crash would have to redo: from the last checkpoint to the log's end, bytes."""
        monitor = self.monitor()
        end, checkpoint = (int(re.search(rf"{what}\s+(\d+)", monitor)[1]) for what in ("Log sequence number", "Last checkpoint at"))
        return end - checkpoint

    def needed_bytes(self) -> int:
        """Versions that an open view alone needs, over all of them."""
        return int(self.address.execute("SELECT COALESCE(SUM(bytes), 0) FROM sys.tidemark_views")[0][0])

    def buried(self) -> int:
        """Deleted entries that are kept beside their tables."""
        found = re.search(r"(\d+) deleted entries out of the way", self.monitor())
        return int(found[1]) if found else 0

    def monitor(self) -> str:
        return self.address.execute("SHOW ENGINE INNODB STATUS")[0][2]

    def wait_for_purge(self, most_s: float) -> float:
        """Waits until nothing is left to purge, and returns how long it took."""
        started = time.monotonic()
        while self.history_length() > 0 or self.buried() > 0 or (self.version_bytes() or 0) > MB:
            if time.monotonic() - started > most_s:
                raise TimeoutError(f"{self.name}: purge is not idle after {most_s:.0f} s: {self.history_length()} transactions, "
                                   f"{self.version_bytes()} bytes of versions, {self.buried()} buried entries")
            time.sleep(0.2)
        return time.monotonic() - started

    def data_bytes(self, table: str) -> int:
        """The size of the file that holds the table, as far as room on disk is set aside for it. What the file system needs
        beside that to know where its pieces are is not part of it."""
        if self.is_tidemark:
            data = (self.server.datadir / "data").stat()
            return min(data.st_blocks * 512, data.st_size)
        rows = self.address.execute(f"SELECT FILE_SIZE FROM information_schema.INNODB_TABLESPACES WHERE NAME = '{DATABASE}/{table}'")
        return int(rows[0][0])

    def memory_peak_mb(self) -> float | None:
        return self.server.memory_bytes("VmHWM") / MB if self.is_tidemark else None

    # ------------------------------------------------------------------------------------------------- sysbench

    def sysbench(self, script: str, command: str, *options: str, timeout_s: float = 3600) -> str:
        line = self._line(script, command, options)
        done = subprocess.run(line, capture_output=True, text=True, timeout=timeout_s)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {script} {command}: " + (done.stdout + done.stderr)[-600:])
        return done.stdout

    def load(self, script: str, seconds: int, threads: int, *options: str) -> "Load":
        """Starts a load that runs beside."""
        return Load(self._line(script, "run", [*options, f"--threads={threads}", f"--time={seconds}", "--events=0", "--report-interval=1"]))

    def _line(self, script: str, command: str, options) -> list[str]:
        path = str(LUA / script) if script.endswith(".lua") else script
        return ["sysbench", path, *self.sysbench_arguments(), *options, command]

    def sysbench_arguments(self) -> list[str]:
        return self.address.sysbench_arguments(DATABASE)


class Load:
    """A sysbench that runs beside us and tells its rate every second."""

    def __init__(self, line: list[str]):
        self.started = time.monotonic()
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def finish(self) -> list[float]:
        """Waits for its end; the transactions of each second."""
        output, _ = self.process.communicate()
        if self.process.returncode != 0 or "FATAL" in output:
            raise RuntimeError("sysbench: " + output[-600:])
        return [float(rate) for rate in re.findall(r"tps: ([\d.]+)", output)]

    def age_s(self) -> float:
        return time.monotonic() - self.started

    def until(self, second: float) -> None:
        """Sleeps until the load has run for so long."""
        time.sleep(max(0.0, second - self.age_s()))

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class Snapshot:
    """An open snapshot, the answer it gave at first, and what a read in it takes."""

    def __init__(self, side: Side, read: str):
        self.side, self.read = side, read
        self.connection = side.begin_snapshot()
        self.first = ask(self.connection, read)

    def again_s(self) -> float:
        """Reads again, and returns the time; a different answer is an error."""
        started = time.perf_counter()
        seen = ask(self.connection, self.read)
        took = time.perf_counter() - started
        if seen != self.first:
            raise AssertionError(f"{self.side.name}: the snapshot has changed: {self.first} was read first, then {seen}")
        return took

    def end(self) -> None:
        ask(self.connection, "COMMIT")
        self.side.close(self.connection)


def ask(connection, statement: str) -> tuple:
    cursor = connection.cursor()
    try:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else ()
    finally:
        cursor.close()

"""kill -9 under oltp_read_write with as full a log as the server lets it get; the time from the new start to the first row.

Pages are kept from being written ahead of need where the server has a switch for that, so that the log fills. What each
then has to redo is shown beside the time: the bytes between the last checkpoint and the log's end.
"""
import os
import signal
import subprocess
import time

import pymysql

from sides import DATABASE, Side, ask
from tidemark import tidemark

TABLES, CLIENTS, ROUNDS = 8, 16, 3
#: MySQL's switches that let the log fill.
LAZY = {"innodb_adaptive_flushing": "OFF", "innodb_max_dirty_pages_pct_lwm": "0", "innodb_max_dirty_pages_pct": "99", "innodb_io_capacity": "100"}


def run(report, peer: Side | None, options) -> None:
    capacity_mb, rows, most_s, rounds = (100, 40_000, 20, 1) if options.short else (1024, 500_000, 300, ROUNDS)
    if peer and not (options.peer_pid_file and options.peer_start):
        raise SystemExit("--peer-pid-file and --peer-start are needed to kill the peer and start it again")
    tables = [f"--tables={TABLES}", f"--table-size={rows}"]
    peer_process: subprocess.Popen | None = None
    with tidemark("recovery", f"--innodb-redo-log-capacity={capacity_mb}M", pool_mb=2000) as own:
        sides = [own, *([peer] if peer else [])]
        for side in sides:
            side.fresh_database()
            side.sysbench("oltp_read_write", "prepare", *tables, "--threads=2")
        took: dict[str, list[float]] = {side.name: [] for side in sides}
        for _ in range(rounds):
            for side in sides:
                if side is peer:
                    for name, value in {**LAZY, "innodb_redo_log_capacity": str(capacity_mb << 20)}.items():
                        side.address.execute(f"SET GLOBAL {name} = {value}")
                load = side.load("oltp_read_write", 3600, CLIENTS, *tables)
                try:
                    age = fill(side, capacity_mb << 20, most_s)
                    if side is own:
                        own.server.kill()
                    else:
                        kill(int(options.peer_pid_file.read_text()), peer_process)
                finally:
                    load.stop()
                side.close_all()
                started = time.monotonic()
                if side is own:
                    own.server.start(wait_s=1800)
                else:
                    peer_process = subprocess.Popen(options.peer_start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                first_row(side)
                seconds = time.monotonic() - started
                took[side.name].append(seconds)
                report.note(f"{side.name}: {age / 1e6:.0f} MB to redo, the first row after {seconds:.2f} s")
        for side in sides:
            side.drop_database()
        if peer:
            ratio = sorted(took[peer.name])[rounds // 2] / sorted(took[own.name])[rounds // 2]
            report.check(ratio >= 2, "recovery", f"{ratio:.2f} times as fast as the peer, 2 is asked for")


def fill(side: Side, capacity: int, most_s: float) -> int:
    """Waits until the log is nearly full, or does not get fuller; returns what there is to redo, bytes."""
    started = risen = time.monotonic()
    highest = 0
    while True:
        age = side.log_to_redo()
        now = time.monotonic()
        if age > highest:
            highest, risen = age, now
        if (age >= highest * 0.98 and (age > capacity * 0.8 or now - risen > 15)) or now - started > most_s:
            return age
        time.sleep(0.1)


def kill(pid: int, started: subprocess.Popen | None) -> None:
    """Ends a server at once. One that was started here must be waited for, or it stays as a process that has ended."""
    os.kill(pid, signal.SIGKILL)
    if started:
        started.wait()
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.01)


def first_row(side: Side) -> None:
    """Waits until the server answers with a row of the loaded tables."""
    while True:
        try:
            connection = side.address.connect(database=DATABASE, connect_timeout=60, read_timeout=1800)
            ask(connection, "SELECT k FROM sbtest1 WHERE id = 1")
            connection.close()
            return
        except pymysql.err.OperationalError:
            time.sleep(0.02)

#!/usr/bin/env python3
"""Stock sysbench, unmodified: every workload, prepared statements on and off, both isolation levels, many clients.

    tests/sysbench/run.py              small tables, a second or 2,000 transactions per cell, 1, 16 and 64 clients
    tests/sysbench/run.py --quick      16 clients, each level with one way to prepare
    tests/sysbench/run.py --full       a second per cell, however much is done in it: 8 tables of 200,000 rows, then one of 2,000,000; 1, 16, 64, 256 and 1,024 clients

A cell fails if sysbench reports any error but deadlocks it may ignore (1213), or makes no progress. Workloads that keep
the number of rows must have kept it, in the table and in its index. At the end the server stops and `tidemark check`
reads the whole data directory.
"""
import re
import resource
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import ROOT, Server  # noqa: E402

DATABASE = "sbtest"
EVENTS = 2000
LEVELS = {"RC": "READ COMMITTED", "RR": "REPEATABLE READ"}
STUDIES = ROOT / "bench/lua"
# name → (script, options, does it leave the number of rows as it was)
WORKLOADS = {
    **{name: (name, [], True) for name in ("oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only",
                                           "oltp_update_index", "oltp_update_non_index",
                                           "select_random_points", "select_random_ranges")},
    "rc_three_points": (str(STUDIES / "rc_three_points.lua"), [], True),
    "rw_ratio_4": (str(STUDIES / "rw_ratio.lua"), ["--ratio=4"], True),
    "p_sel10": (str(STUDIES / "rw_ratio.lua"), ["--ratio=1", "--psel=on"], True),
    "hot_row": (str(STUDIES / "hot_row.lua"), [], True),
    "oltp_insert": ("oltp_insert", [], False),
    "oltp_delete": ("oltp_delete", [], False),
}


class Matrix:
    modes = {"RC": ("auto", "disable"), "RR": ("auto", "disable")}      # of prepared statements
    events = EVENTS                                                     # that end a cell before its time is over; 0: none do

    def __init__(self, address: Address, tables: int, rows: int, seconds: int, report: Report):
        self.address, self.tables, self.rows, self.seconds, self.report = address, tables, rows, seconds, report

    def sysbench(self, script: str, command: str, *options: str, **shape) -> tuple[bool, str]:
        shape = {"tables": self.tables, "table-size": self.rows, **shape}
        arguments = ["sysbench", script, *self.address.sysbench_arguments(DATABASE), "--mysql-ignore-errors=1213",
                     *(f"--{name}={value}" for name, value in shape.items()), *options, command]
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=3600)
        output = done.stdout + done.stderr
        complaint = re.search(r"^.*(FATAL|ALERT|error \d+|failed).*$", output, re.MULTILINE)
        return done.returncode == 0 and not complaint, complaint[0] if complaint else output

    def prepare(self) -> None:
        self.address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}")
        good, output = self.sysbench("oltp_read_write", "prepare", "--threads=2")
        self.report.check(good, f"prepare_{self.tables}x{self.rows}", output)
        self.address.execute(f"CREATE TABLE {DATABASE}.hot (id INT PRIMARY KEY, c BIGINT NOT NULL)", f"INSERT INTO {DATABASE}.hot VALUES (1, 0)")

    def cell(self, workload: str, level: str, mode: str, clients: int) -> None:
        script, options, _ = WORKLOADS[workload]
        self.address.execute(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {LEVELS[level]}")
        good, output = self.sysbench(script, "run", *options, f"--db-ps-mode={mode}", f"--threads={clients}", f"--time={self.seconds}", f"--events={self.events}")
        self.judge(f"{workload}/{level}/ps_{mode}/{clients}", good, output)

    def judge(self, name: str, good: bool, output: str) -> None:
        events = re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", output)
        if not good or not events or int(events[1]) == 0:
            self.report.fail(name, output[-1000:])
        else:
            self.report.ok(name, f"{float(events[2]):.0f}/s")

    def rows_kept(self, workload: str) -> None:
        for table in range(1, self.tables + 1):
            query = f"SELECT COUNT(*), MIN(id), MAX(id) FROM {DATABASE}.sbtest{table} "
            by_key = self.address.execute(query + "WHERE id > 0")[0]
            by_index = self.address.execute(query + "FORCE INDEX (k_%d) WHERE k >= 0" % table)[0]
            if not by_key == by_index == (self.rows, 1, self.rows):
                self.report.fail(f"{workload}/rows", f"sbtest{table}: {by_key} by primary key, {by_index} by index, {self.rows} expected")
                return
        self.report.ok(f"{workload}/rows")

    def bulk_insert(self, clients: int) -> None:
        self.address.execute("DROP DATABASE IF EXISTS bulk", "CREATE DATABASE bulk")
        for command in ("prepare", "run", "cleanup"):
            extra = [f"--time={self.seconds}", "--events=0"] if command == "run" else []
            arguments = ["sysbench", "bulk_insert", *self.address.sysbench_arguments("bulk"), f"--threads={clients}", *extra, command]
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=3600)
            output = done.stdout + done.stderr
            good = done.returncode == 0 and not re.search(r"FATAL|ALERT|error \d+", output)
            if command == "run":
                self.judge(f"bulk_insert/{clients}", good, output)
            elif not good:
                self.report.fail(f"bulk_insert/{command}/{clients}", output[-400:])

    def run(self, clients: list[int], workloads: list[str]) -> None:
        self.prepare()
        for workload in workloads:
            if workload == "bulk_insert":
                for count in clients:
                    self.bulk_insert(min(count, 64))
                continue
            for level in LEVELS:
                for mode in self.modes[level]:
                    for count in clients:
                        self.cell(workload, level, mode, count)
            if WORKLOADS[workload][2]:
                self.rows_kept(workload)
        good, output = self.sysbench("oltp_read_write", "cleanup")
        self.report.check(good, f"cleanup_{self.tables}x{self.rows}", output)
        self.report.equal(self.address.execute(f"SHOW TABLES FROM {DATABASE}"), (("hot",),), "cleanup_leaves_nothing")


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", help="HOST:PORT[:USER]; default: a Tidemark server of its own")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--seconds", type=int, default=1, help="per cell")
    parser.add_argument("--clients", help="a list, as 1,16,64")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    report = Report("sysbench", options.filters)
    clients = [1, 16, 64, 256, 1024] if options.full else [16] if options.quick else [1, 16, 64]
    if options.clients:
        clients = [int(c) for c in options.clients.split(",")]
    if options.quick:
        Matrix.modes = {"RC": ("disable",), "RR": ("auto",)}
    if options.full:
        Matrix.events = 0
    shapes = [(8, 200_000), (1, 2_000_000)] if options.full else [(2, 10_000)]
    workloads = [name for name in [*WORKLOADS, "bulk_insert"] if report.wants(name)]
    server = None
    if options.address:
        address = Address.parse(options.address)
    else:
        pool = "2G" if options.full else "256M"
        # 1,024 clients prepare some ten statements for each of eight tables; the default admits 16,382 in all.
        server = Server("sysbench", "--max-connections=2000", "--max-prepared-stmt-count=200000", f"--innodb-buffer-pool-size={pool}").start()
        address = server.address
    try:
        for tables, rows in shapes:
            Matrix(address, tables, rows, options.seconds, report).run(clients, workloads)
        if server:
            report.equal(server.stop(), 0, "stops")
            checked = server.check()
            report.check(checked.returncode == 0, "tidemark_check", checked.stdout[-1000:] + checked.stderr[-1000:])
    finally:
        if server:
            server.__exit__()
    report.close()


if __name__ == "__main__":
    main()

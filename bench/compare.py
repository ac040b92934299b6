#!/usr/bin/env python3
"""Runs one workload after the other against several servers that are up, and prints their rates side by side.

    bench/compare.py --server tidemark=3306 --server mysql=3307 [--server null=4001]
                     [--workloads point,rw] [--clients 1,16,64] [--isolation RR,RC] [--seconds 6] [--rounds 3]
                     [--database sbtest] [--tables 8] [--rows 200000] [--prepare | --cleanup] [--csv FILE]

Every server speaks MySQL's protocol on 127.0.0.1 and is asked as user sbtest without a password, who may set global
variables, by the sysbench that is installed. `--prepare` makes the database and its tables anew first, `--cleanup` drops
the tables in the end.

Within a round the servers take turns, so that whatever else the machine does meets all of them; a cell is the median of
its rounds. The last column is the first server's rate divided by the best of the others; a server called null is shown,
as what the client could reach at most, but not compared with. The isolation level is set globally, for sysbench cannot
set its sessions', and put back in the end.
"""
import argparse
import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

LUA = Path(__file__).resolve().parent / "lua"
LEVELS = {"RR": "REPEATABLE READ", "RC": "READ COMMITTED", "RU": "READ UNCOMMITTED", "SER": "SERIALIZABLE"}
TABLES, HOT_ROW = "oltp_read_write", str(LUA / "hot_row.lua")


def workloads() -> dict[str, list[str]]:
    """By name: the script and the options of its own."""
    known = {
        "point": ["oltp_point_select"],
        "ro": ["oltp_read_only"],
        "ro1000": ["oltp_read_only", "--range_size=1000", "--db-ps-mode=disable"],
        "rw": ["oltp_read_write"],
        "rwtext": ["oltp_read_write", "--db-ps-mode=disable"],
        "wo": ["oltp_write_only"],
        "upd": ["oltp_update_non_index"],
        "updidx": ["oltp_update_index"],
        "ins": ["oltp_insert"],
        "del": ["oltp_delete"],
        "rc3": [str(LUA / "rc_three_points.lua")],
        "hot": [HOT_ROW],
    }
    for ratio in (1, 2, 4, 16, 128):
        script = [str(LUA / "rw_ratio.lua"), f"--ratio={ratio}"]
        known[f"rw{ratio}"] = script
        known[f"psel{ratio}"] = [*script, "--psel=on"]
    return known


class Failed(Exception):
    """What a server or a client said instead of what was wanted."""


class Server:
    def __init__(self, text: str):
        self.name, _, port = text.partition("=")
        self.port = int(port)

    @property
    def stores(self) -> bool:
        return self.name != "null"

    def sysbench(self, command: str, script: list[str], options: argparse.Namespace, *more: str) -> str:
        line = ["sysbench", *script, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={self.port}",
                "--mysql-user=sbtest", f"--mysql-db={options.database}", "--rand-type=uniform",
                f"--tables={options.tables}", f"--table-size={options.rows}", *more, command]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode != 0:
            said = [line for line in (done.stdout + done.stderr).splitlines() if "FATAL" in line]
            raise Failed("\n".join(said[:3]) or (done.stdout + done.stderr)[-400:])
        return done.stdout

    def execute(self, statement: str) -> list[list[str]]:
        client = shutil.which("mariadb") or "mysql"
        done = subprocess.run([client, "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-usbtest", "-N", "-e", statement],
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        return [line.split("\t") for line in done.stdout.splitlines()]

    def variables(self, *names: str) -> dict[str, str]:
        listed = ", ".join(f"'{name}'" for name in names)
        return dict(self.execute(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({listed})"))

    def isolation(self) -> str:
        # MariaDB knows the variable by its older name.
        return next(iter(self.variables("transaction_isolation", "tx_isolation").values())).replace("-", " ")

    def set_isolation(self, level: str) -> None:
        self.execute(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {level}")

    def describe(self) -> str:
        seen = self.variables("version", "innodb_buffer_pool_size", "innodb_flush_log_at_trx_commit")
        pool_mib = int(seen["innodb_buffer_pool_size"]) >> 20
        return f"{self.name}: {seen['version']}, pool {pool_mib} MiB, innodb_flush_log_at_trx_commit {seen['innodb_flush_log_at_trx_commit']}"

    def prepare(self, options: argparse.Namespace) -> None:
        self.execute(f"CREATE DATABASE IF NOT EXISTS `{options.database}`")
        self.cleanup(options)
        self.sysbench("prepare", [TABLES], options, f"--threads={min(2, options.tables)}")
        self.sysbench("prepare", [HOT_ROW], options)

    def cleanup(self, options: argparse.Namespace) -> None:
        self.sysbench("cleanup", [TABLES], options)
        self.sysbench("cleanup", [HOT_ROW], options)


class Cell:
    """What one server did with one workload."""

    def __init__(self):
        self.rates, self.p95_ms, self.errors, self.failed = [], [], 0, 0

    def add(self, output: str) -> None:
        def number(pattern: str) -> float:
            return float(re.search(pattern, output).group(1))
        self.rates.append(number(r"transactions:\s+\d+\s+\(([\d.]+) per sec"))
        self.p95_ms.append(number(r"95th percentile:\s+([\d.]+)"))
        self.errors += int(number(r"ignored errors:\s+(\d+)"))

    @property
    def rate(self) -> float:
        """The median; nothing that has failed is a rate."""
        return median(self.rates) if self.rates and not self.failed else 0.0

    def __str__(self):
        if self.failed:
            return "failed"
        return f"{self.rate:,.0f}/s p95 {median(self.p95_ms):.2f} ms" + (f" {self.errors} err" if self.errors else "")


def compare(options: argparse.Namespace) -> tuple[list[list], bool]:
    """Prints a line for every workload, level and number of clients. Answers the same as rows, and whether all went well."""
    known, rows, well = workloads(), [], True
    for workload in options.workloads:
        for level in options.isolation:
            for clients in options.clients:
                cells = {server.name: Cell() for server in options.server}
                for _ in range(options.rounds):
                    for server in options.server:
                        try:
                            if server.stores:
                                server.set_isolation(LEVELS[level])
                            cells[server.name].add(server.sysbench("run", known[workload], options, f"--threads={clients}",
                                                                   f"--time={options.seconds}", "--events=0"))
                        except Failed as why:
                            cells[server.name].failed += 1
                            well = False
                            print(f"{server.name}: {why}", file=sys.stderr, flush=True)
                first, *others = [cells[server.name].rate for server in options.server if server.stores]
                ratio = f" | x {first / max(others):.2f}" if first and any(others) else ""
                shown = " | ".join(f"{name} {cell}" for name, cell in cells.items())
                print(f"{workload:8} {level:3} {clients:>4} clients | {shown}{ratio}", flush=True)
                rows += [[workload, level, clients, name, cell.rate, median(cell.p95_ms or [0]), cell.errors]
                         for name, cell in cells.items()]
    return rows, well


def arguments() -> argparse.Namespace:
    def some_of(known):
        def parse(text: str) -> list[str]:
            names = text.split(",")
            wrong = [name for name in names if name not in known]
            if wrong:
                raise argparse.ArgumentTypeError(f"{', '.join(wrong)} is unknown; there are {', '.join(known)}")
            return names
        return parse

    def numbers(text: str) -> list[int]:
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True, type=Server, metavar="NAME=PORT")
    parser.add_argument("--workloads", default="point,rc3,rw,upd", type=some_of(workloads()))
    parser.add_argument("--clients", default="1,16,64", type=numbers)
    parser.add_argument("--isolation", default="RR,RC", type=some_of(LEVELS))
    parser.add_argument("--seconds", type=int, default=6, help="per run")
    parser.add_argument("--rounds", type=int, default=3, help="runs per cell and server")
    parser.add_argument("--database", default="sbtest")
    parser.add_argument("--tables", type=int, default=8)
    parser.add_argument("--rows", type=int, default=200_000, help="per table")
    parser.add_argument("--prepare", action="store_true", help="make the tables first")
    parser.add_argument("--cleanup", action="store_true", help="drop the tables in the end")
    parser.add_argument("--csv", type=Path, help="add the figures to this file")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if not shutil.which("sysbench"):
        sys.exit("sysbench is not installed")
    stores = [server for server in options.server if server.stores]
    before = {}
    try:
        for server in stores:
            before[server] = server.isolation()
            print(server.describe(), flush=True)
            if options.prepare:
                server.prepare(options)
        print(f"{options.tables} x {options.rows:,} rows; medians of {options.rounds} runs of {options.seconds} s", flush=True)
        rows, well = compare(options)
        if options.cleanup:
            for server in stores:
                server.cleanup(options)
    except Failed as why:
        sys.exit(str(why))
    finally:
        for server, level in before.items():
            server.set_isolation(level)
    if options.csv:
        new = not options.csv.exists()
        with options.csv.open("a", newline="") as file:
            if new:
                csv.writer(file).writerow(["workload", "isolation", "clients", "server", "per_s", "p95_ms", "errors"])
            csv.writer(file).writerows(rows)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs one workload after the other against several servers that are up, and prints their rates side by side.

    bench/compare.py --server tidemark=3306 --server mysql=3307 [--server null=4001]
                     [--workloads point,rw] [--clients 1,16,64] [--isolation RR,RC]
                     [--seconds 6] [--rounds 3] [--tables 8] [--rows 200000] [--prepare] [--csv FILE]

Every server is asked as user sbtest without a password, in the database sbtest, by the sysbench that is installed.
Within a round the servers take turns, so that whatever else the machine does meets all of them; a cell is the median
of its rounds. The last column is the first server's rate divided by the best of the others; a server called null is
shown, as what the client could reach at most, but not compared with.
"""
import argparse
import csv
import re
import subprocess
import sys
from pathlib import Path
from statistics import median

LUA = Path(__file__).resolve().parent / "lua"
LEVELS = {"RR": "REPEATABLE READ", "RC": "READ COMMITTED", "RU": "READ UNCOMMITTED", "SER": "SERIALIZABLE"}


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
    }
    for ratio in (1, 2, 4, 16, 128):
        script = [str(LUA / "rw_ratio.lua"), f"--ratio={ratio}"]
        known[f"rw{ratio}"] = script
        known[f"psel{ratio}"] = [*script, "--psel=on"]
    return known


class Server:
    def __init__(self, text: str):
        self.name, _, port = text.partition("=")
        self.port = int(port)

    def sysbench(self, command: str, script: list[str], options: argparse.Namespace, *more: str) -> str:
        line = ["sysbench", *script, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={self.port}",
                "--mysql-user=sbtest", "--mysql-db=sbtest", "--rand-type=uniform", f"--tables={options.tables}",
                f"--table-size={options.rows}", *more, command]
        done = subprocess.run(line, capture_output=True, text=True)
        return done.stdout + done.stderr

    def set_isolation(self, level: str) -> None:
        statement = f"SET GLOBAL TRANSACTION ISOLATION LEVEL {LEVELS[level]}"
        subprocess.run(["mysql", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-usbtest", "-e", statement],
                       check=True, capture_output=True)

    def prepare(self, options: argparse.Namespace) -> None:
        self.sysbench("cleanup", ["oltp_read_write"], options)
        output = self.sysbench("prepare", ["oltp_read_write"], options, f"--threads={min(2, options.tables)}")
        print(f"prepared {self.name}" if "FATAL" not in output else f"{self.name}: {output[-400:]}", flush=True)


class Cell:
    """What one server did with one workload."""

    def __init__(self):
        self.rates, self.p95_ms, self.errors = [], [], 0

    def add(self, output: str) -> bool:
        rate = re.search(r"transactions:\s+\d+\s+\(([\d.]+) per sec", output)
        p95 = re.search(r"95th percentile:\s+([\d.]+)", output)
        errors = re.search(r"ignored errors:\s+(\d+)", output)
        self.rates.append(float(rate.group(1)) if rate else 0.0)
        self.p95_ms.append(float(p95.group(1)) if p95 else 0.0)
        self.errors += int(errors.group(1)) if errors else 0
        return rate is not None

    def __str__(self):
        return f"{median(self.rates):,.0f}/s p95 {median(self.p95_ms):.2f} ms" + (f" {self.errors} err" if self.errors else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True, type=Server, metavar="NAME=PORT")
    parser.add_argument("--workloads", default="point,rc3,rw,upd")
    parser.add_argument("--clients", default="1,16,64")
    parser.add_argument("--isolation", default="RR,RC")
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tables", type=int, default=8)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--prepare", action="store_true", help="make the tables first")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    known = workloads()
    wrong = [name for name in options.workloads.split(",") if name not in known]
    if wrong:
        sys.exit(f"no such workload: {', '.join(wrong)}; there are {', '.join(known)}")
    if options.prepare:
        for server in options.server:
            if server.name != "null":
                server.prepare(options)
    rows = []
    for workload in options.workloads.split(","):
        for level in options.isolation.split(","):
            for clients in options.clients.split(","):
                cells = {server.name: Cell() for server in options.server}
                for _ in range(options.rounds):
                    for server in options.server:
                        server.set_isolation(level)
                        output = server.sysbench("run", known[workload], options, f"--threads={clients}",
                                                 f"--time={options.seconds}", "--events=0")
                        if not cells[server.name].add(output):
                            print(f"{server.name}: {output[-400:]}", file=sys.stderr, flush=True)
                rates = {name: median(cell.rates) for name, cell in cells.items()}
                first, *others = [name for name in rates if name != "null"]
                best = max((rates[name] for name in others), default=0)
                ratio = f" | x {rates[first] / best:.2f}" if best else ""
                shown = " | ".join(f"{name} {cell}" for name, cell in cells.items())
                print(f"{workload:8} {level:3} {clients:>4} clients | {shown}{ratio}", flush=True)
                rows += [[workload, level, clients, name, rates[name], median(cells[name].p95_ms), cells[name].errors]
                         for name in rates]
    if options.csv:
        with options.csv.open("a", newline="") as file:
            csv.writer(file).writerows(rows)


main()

#!/usr/bin/env python3
"""What do READ COMMITTED and READ UNCOMMITTED cost against REPEATABLE READ, and transactions that are open and have written?

    bench/levels.py NAME=PORT[:USER]... [--minutes 10] [--seconds 0.5] [--cells rw-16,open,…] [--open 1000] [--rows 25000]

The servers are up, on this machine, and speak MySQL's protocol; TIDEMARK_BINARY is the program whose load generator is used. Levels differ by a percent or two where
a machine differs from itself by ten, so many short turns are compared, each with what stands beside it:

    cell        RR  RC  RU  RR     every other turn: RR  RU  RC  RR
    cell open    0  all   0

A ratio is that of a rate, or of the server's processor time per transaction, to the mean of the two at the ends, which cancels what drifts; the control is the ratio of the two at
the ends, which do the same. Quoted are the median of the turns' ratios and its interval of 95 % by order statistics: no distribution is assumed.

`open` is rc3 at READ COMMITTED by 8 clients beside connections that are there all the time. Before each measurement every one of them inserts a row in a transaction; for `0` all are rolled
back before it, for `all` after it. So connections, threads and what they have just done are the same, and open transactions are the difference.
"""
import argparse
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict

import pymysql

TABLES = ["--tables=4"]
ONE = ["--tables=1", "--text", "--range=1000"]
CELLS = {
    "ro1000-1": ["ro", *ONE, "--clients=1"],
    "ro1000-16": ["ro", *ONE, "--clients=16"],
    "rw-1": ["rw", *TABLES, "--clients=1"],
    "rw-16": ["rw", *TABLES, "--clients=16"],
    "rw-64": ["rw", *TABLES, "--clients=64"],
    "rw128-16": ["rw", "--ratio=128", *TABLES, "--clients=16"],
    "psel1-16": ["psel", *TABLES, "--clients=16"],
    "psel128-16": ["psel", "--ratio=128", *TABLES, "--clients=16"],
    "rc3-1": ["rc3", *TABLES, "--clients=1"],
    "rc3-16": ["rc3", *TABLES, "--clients=16"],
}
OPEN = "open"
OPEN_LOAD = ["rc3", *TABLES, "--clients=8"]
DATABASE = "lab_levels"
WARM_S = 0.1
#: What an interval is to miss on each side.
TAIL = 0.025


class Server:
    def __init__(self, text: str, arguments: argparse.Namespace):
        self.name, _, address = text.partition("=")
        port, _, user = address.partition(":")
        self.port, self.user = int(port), user or "root"
        self.arguments = arguments
        self.idle: list[pymysql.Connection] = []

    def load(self, words: list[str], level: str) -> tuple[float, float]:
        """Rate, and the server's processor time per transaction."""
        program = os.environ.get("TIDEMARK_BINARY", "target/release/tidemark")
        url = f"mysql://{self.user}@127.0.0.1:{self.port}/{DATABASE}"
        done = subprocess.run([program, "lab", "load", *words, f"--rows={self.arguments.rows}", f"--level={level}", f"--warm={WARM_S}", f"--seconds={self.arguments.seconds}",
                               f"--server={url}"], capture_output=True, text=True)
        figures = dict(re.findall(r"^(\w+)\s+(\S+)$", done.stdout, re.M))
        if "server_cpu_us" not in figures:
            sys.exit(f"{self.name} {words}: {done.stdout}{done.stderr}")
        return float(figures["tps"]), float(figures["server_cpu_us"])

    def connect(self, count: int) -> None:
        with pymysql.connect(host="127.0.0.1", port=self.port, user=self.user, autocommit=True) as connection:
            cursor = connection.cursor()
            for statement in (f"CREATE DATABASE IF NOT EXISTS {DATABASE}", f"DROP TABLE IF EXISTS {DATABASE}.open_rows", f"CREATE TABLE {DATABASE}.open_rows (id INT PRIMARY KEY)"):
                cursor.execute(statement)
        self.idle = [pymysql.connect(host="127.0.0.1", port=self.port, user=self.user, database=DATABASE) for _ in range(count)]

    def beside_transactions(self, is_open: bool) -> tuple[float, float]:
        """A load while the transactions of all idle connections are open, or just after."""
        for number, connection in enumerate(self.idle):
            connection.begin()
            connection.cursor().execute(f"INSERT INTO open_rows VALUES ({number})")
        if not is_open:
            self.roll_back()
        found = self.load(OPEN_LOAD, "RC")
        if is_open:
            self.roll_back()
        return found

    def roll_back(self) -> None:
        for connection in self.idle:
            connection.rollback()


def levels_turn(server: Server, words: list[str], number: int) -> dict:
    between = ["RC", "RU"] if number % 2 else ["RU", "RC"]
    first = server.load(words, "RR")
    found = {level: server.load(words, level) for level in between}
    return against(found, first, server.load(words, "RR"))


def open_turn(server: Server) -> dict:
    first = server.beside_transactions(False)
    found = {f"{len(server.idle)} open": server.beside_transactions(True)}
    return against(found, first, server.beside_transactions(False))


def against(found: dict, first: tuple[float, float], last: tuple[float, float]) -> dict:
    ratios = {what: [of / ((one + other) / 2) for of, one, other in zip(figures, first, last)] for what, figures in found.items()}
    return ratios | {"control": [other / one for one, other in zip(first, last)]}


def interval(values: list[float]) -> tuple[float, float]:
    """Of 95 % for the median; of fewer than six values everything."""
    ordered, count = sorted(values), len(values)
    missed, cut = 0.0, 0
    while (missed := missed + math.comb(count, cut) / 2 ** count) <= TAIL:
        cut += 1
    cut = max(cut, 1)
    return ordered[cut - 1], ordered[count - cut]


def told(values: list[float]) -> str:
    low, high = interval(values)
    return f"{statistics.median(values):.3f} ({low:.3f} to {high:.3f})"


def run(servers: list[Server], cells: list[str], minutes: float) -> dict:
    """Ratios of rate and processor time, by cell, server and level; whole turns, as many as there is time for."""
    seen: dict = defaultdict(list)
    until, number = time.monotonic() + minutes * 60, 0
    while time.monotonic() < until:
        for cell in cells:
            for server in servers if number % 2 else reversed(servers):
                ratios = open_turn(server) if cell == OPEN else levels_turn(server, CELLS[cell], number)
                for what, (rate, cpu) in ratios.items():
                    seen[cell, server.name, what].append((rate, cpu))
        number += 1
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=PORT[:USER]")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--cells", default=",".join([*CELLS, OPEN]))
    parser.add_argument("--open", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=25_000)
    arguments = parser.parse_args()
    servers = [Server(text, arguments) for text in arguments.servers]
    cells = arguments.cells.split(",")
    if unknown := set(cells) - {*CELLS, OPEN}:
        parser.error(f"there is no cell {', '.join(sorted(unknown))}")
    for server in servers:
        for words in {tuple(CELLS.get(cell, OPEN_LOAD)) for cell in cells}:
            server.load(list(words), "RR")          # has the tables be there and in memory
        if OPEN in cells:
            server.connect(arguments.open)
    for (cell, server, what), pairs in run(servers, cells, arguments.minutes).items():
        rates, cpus = zip(*pairs)
        print(f"{server:10} {cell:11} {what:9} rate {told(list(rates))}   processor time {told(list(cpus))}   {len(pairs)} turns")


if __name__ == "__main__":
    main()

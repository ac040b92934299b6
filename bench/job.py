#!/usr/bin/env python3
"""Joins of five to seventeen tables over skewed and correlated data, on servers that are up: processor time per query, and how far estimates are off.

    bench/job.py NAME=PORT[:USER] NAME=PORT[:USER]... [--load] [--scale 1] [--rounds 3] [--only 1a,13] [--timeout 60] [--estimates]

Data and queries are those of `job/`: a made-up film database and 113 queries in the families of the Join Order Benchmark, the same in each run of
a scale. `--load` makes database `job` on each server. MySQL is asked with its hypergraph optimizer and without, and the better of the two counts. The first server is held against the others: a ratio is its time divided by theirs,
below 1 where it is faster. Times are the median processor time of the server's thread. Each query must have the same rows everywhere.

`--estimates` runs EXPLAIN ANALYZE on the first server, and on those named `mysql`, and prints the q-error of the joins' rows.
"""
import argparse
import math
import statistics
import sys
import time

import pymysql

from estimates import OPERATOR, quality
from job.data import fill, make
from job.queries import queries
from thread_cpu import Measured

DATABASE = "job"
#: No median is taken of what takes this long.
LONG_US = 3e6
JOINS = ("Nested loop", "Inner hash join", "Left hash join", "Hash semijoin", "Hash join")


def load(peer: str, tables: dict[str, list[tuple]]) -> None:
    began = time.monotonic()
    server = Measured(peer)
    fill(server.cursor, DATABASE, tables)
    server.close()
    print(f"{server.name}: loaded in {time.monotonic() - began:.0f} s", flush=True)


def ways(peer: str, timeout_s: int) -> list[Measured]:
    """The server, and once more with its other optimizer if it has one."""
    found = [Measured(peer, DATABASE, timeout_s=timeout_s)]
    if "Tidemark" not in found[0].rows("SELECT @@version_comment")[0][0]:
        other = Measured(peer, DATABASE, "SET optimizer_switch = 'hypergraph_optimizer=on'", timeout_s=timeout_s)
        other.name += "+hyp"
        found.append(other)
    return found


def measure(server: Measured, sql: str, rounds: int) -> tuple[float | None, list | str]:
    """The median time of a query, and its rows or its error."""
    times = []
    try:
        for _ in range(rounds):
            cpu, rows = server.measure(sql)
            times.append(cpu)
            if cpu > LONG_US:
                break
    except pymysql.err.MySQLError as error:
        return None, str(error)[:90]
    return statistics.median(times), rows


def compare(peers: list[list[Measured]], texts: dict[str, str], rounds: int) -> None:
    ratios, sums, wrong = [], [0.0, 0.0], []
    for name, sql in texts.items():
        found = [[(server.name, *measure(server, sql, rounds)) for server in of_peer] for of_peer in peers]
        best = [min(of_peer, key=lambda one: math.inf if one[1] is None else one[1]) for of_peer in found]
        results = {str(rows) for of_peer in found for _, cpu, rows in of_peer if cpu is not None}
        cells = "  ".join(f"{who} {'-' if cpu is None else f'{cpu / 1000:.2f} ms'}" for of_peer in found for who, cpu, _ in of_peer)
        own, others = best[0], best[1:]
        if len(results) > 1:
            wrong.append(name)
        note = "" if len(results) <= 1 else "  OTHER ROWS"
        for _, cpu, rows in best:
            note += f"  ({rows})" if cpu is None else ""
        timed = [cpu for _, cpu, _ in others if cpu is not None]
        if timed and own[1] is not None:
            ratios.append((own[1] / min(timed), name))
            sums = [sums[0] + own[1], sums[1] + min(timed)]
            note = f"  x{ratios[-1][0]:.2f}" + note
        print(f"{name:4} {sql.count(' AS ')} tables  {cells}{note}", flush=True)
    if not ratios:
        return
    ratios.sort(reverse=True)
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in ratios))
    print(f"{len(ratios)} compared: sum {sums[0] / 1e6:.2f} s to {sums[1] / 1e6:.2f} s (x{sums[0] / sums[1]:.2f}), geometric mean x{mean:.2f}, "
          f"{sum(ratio > 2 for ratio, _ in ratios)} above x2")
    print("worst: " + ", ".join(f"{name} x{ratio:.1f}" for ratio, name in ratios[:10]))
    if wrong:
        sys.exit(f"other rows: {', '.join(wrong)}")


def estimates(server: Measured, texts: dict[str, str], worst: int) -> None:
    errors, found = [], []
    for name, sql in texts.items():
        try:
            text = server.rows("EXPLAIN ANALYZE " + sql)[0][0]
        except pymysql.err.MySQLError as error:
            print(f"{server.name} {name}: {str(error)[:90]}")
            continue
        for _, what, expected, counted, _ in OPERATOR.findall(text):
            if what.startswith(JOINS):
                expected, counted = max(float(expected), 1.0), max(float(counted), 1.0)
                errors.append(max(expected / counted, counted / expected))
                found.append((errors[-1], f"{name}: expected {expected:.0f}, counted {counted:.0f}: {what[:80]}"))
    print(f"{server.name:12} joins {quality(errors)}")
    for error, line in sorted(found, reverse=True)[:worst]:
        print(f"{error:12.1f} {line}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=PORT")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="names of queries, or numbers of families")
    parser.add_argument("--timeout", type=int, default=60, help="seconds")
    parser.add_argument("--estimates", action="store_true")
    parser.add_argument("--worst", type=int, default=5, help="print so many of the worst estimates")
    options = parser.parse_args()
    tables = make(options.scale)
    texts = queries(tables)
    only = options.only.split(",") if options.only else list(texts)
    texts = {name: sql for name, sql in texts.items() if name in only or name.rstrip("abcdef") in only}
    for peer in options.servers if options.load else []:
        load(peer, tables)
    peers = [ways(peer, options.timeout) for peer in options.servers]
    if options.estimates:
        for server in [server for of_peer in peers for server in of_peer]:
            estimates(server, texts, options.worst)
    else:
        compare(peers, texts, options.rounds)


if __name__ == "__main__":
    main()

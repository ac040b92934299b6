"""Queries held side by side on several servers: processor time, rows, and how far estimates of joins are off.

The first server is held against the others: a ratio is its time divided by the best of theirs, below 1 where it is faster. MySQL is asked with its
hypergraph optimizer and without, and the better of the two counts. Times are the median processor time of the server's thread (`thread_cpu.py`).
"""
import decimal
import math
import statistics
import sys
import time
from collections.abc import Callable

import pymysql

from estimates import OPERATOR, quality
from thread_cpu import Measured

#: No median is taken of what takes this long, in microseconds.
LONG_US = 3e6
JOINS = ("Nested loop", "Inner hash join", "Left hash join", "Hash semijoin", "Hash join")


class Peers:
    """The servers, each as often as it has optimizers."""

    def __init__(self, servers: list[str], database: str, timeout_s: int):
        self.of = [self.ways(peer, database, timeout_s) for peer in servers]

    @staticmethod
    def ways(peer: str, database: str, timeout_s: int) -> list[Measured]:
        found = [Measured(peer, database, timeout_s=timeout_s)]
        if "Tidemark" not in found[0].rows("SELECT @@version_comment")[0][0]:
            other = Measured(peer, database, "SET optimizer_switch = 'hypergraph_optimizer=on'", timeout_s=timeout_s)
            other.name += "+hyp"
            found.append(other)
        return found


def load(servers: list[str], fill: Callable[[Measured], None]) -> None:
    for peer in servers:
        began = time.monotonic()
        server = Measured(peer, timeout_s=600)
        fill(server)
        server.close()
        print(f"{server.name}: loaded in {time.monotonic() - began:.0f} s", flush=True)


def plain(value: object) -> str:
    """A value as it is compared: of numbers that are no integers six digits, as their types differ from server to server."""
    return f"{float(value):.6g}" if isinstance(value, float | decimal.Decimal) else str(value)


def measure(server: Measured, sql: str, rounds: int) -> tuple[float | None, list | str]:
    """The median time of a query, and its rows in an order of their own, or its error."""
    times = []
    try:
        for _ in range(rounds):
            cpu, rows = server.measure(sql)
            times.append(cpu)
            if cpu > LONG_US:
                break
    except pymysql.err.MySQLError as error:
        return None, str(error)[:90]
    return statistics.median(times), sorted([plain(value) for value in row] for row in rows)


def compare(peers: Peers, texts: dict[str, str], rounds: int) -> None:
    ratios, sums, wrong = [], [0.0, 0.0], []
    for name, sql in texts.items():
        found = [[(server.name, *measure(server, sql, rounds)) for server in of_peer] for of_peer in peers.of]
        best = [min(of_peer, key=lambda one: math.inf if one[1] is None else one[1]) for of_peer in found]
        results = {str(rows) for of_peer in found for _, cpu, rows in of_peer if cpu is not None}
        cells = "  ".join(f"{who} {'-' if cpu is None else f'{cpu / 1000:.2f} ms'}" for of_peer in found for who, cpu, _ in of_peer)
        own, others = best[0], best[1:]
        note = "" if len(results) <= 1 else "  OTHER ROWS"
        if note or own[1] is None:
            wrong.append(name)
        for _, cpu, rows in best:
            note += f"  ({rows})" if cpu is None else ""
        timed = [cpu for _, cpu, _ in others if cpu is not None]
        if timed and own[1] is not None:
            ratios.append((own[1] / min(timed), name))
            sums = [sums[0] + own[1], sums[1] + min(timed)]
            note = f"  x{ratios[-1][0]:.2f}" + note
        print(f"{name:4} {cells}{note}", flush=True)
    if ratios:
        ratios.sort(reverse=True)
        mean = math.exp(statistics.fmean(math.log(ratio) for ratio, _ in ratios))
        above = ", ".join(f"{sum(ratio > limit for ratio, _ in ratios)} above x{limit}" for limit in (1.2, 2))
        print(f"{len(ratios)} compared: sum {sums[0] / 1e6:.2f} s to {sums[1] / 1e6:.2f} s (x{sums[0] / sums[1]:.2f}), geometric mean x{mean:.2f}, {above}")
        print("worst: " + ", ".join(f"{name} x{ratio:.1f}" for ratio, name in ratios[:12]))
    if wrong:
        sys.exit(f"other rows, or none: {', '.join(wrong)}")


def estimates(peers: Peers, texts: dict[str, str], worst: int) -> None:
    """The q-error of the joins' rows by EXPLAIN ANALYZE on each server, and the worst of them."""
    for server in [server for of_peer in peers.of for server in of_peer]:
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

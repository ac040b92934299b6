#!/usr/bin/env python3
"""ROLLUP and window functions over a million rows, on servers that are up, in turns.

    bench/analytic.py NAME=PORT[:USER] NAME=PORT[:USER]... [--rows 1000000] [--rounds 5] [--cases rollup,sum] [--prepare]

The first server is held against each of the others: a ratio is the other's median time divided by the first's, above 1 where the first is
faster. `cpu` is the processor time of the server's process by /proc, which other work on the machine changes little, `wall` what a client waits.
A statement of many rows sends only its last one (LIMIT with an offset), so that neither client nor network is part of it.

`--prepare` makes the table anew on each server: whole numbers, decimals, doubles, texts and dates made of the row's number, the same everywhere.
"""
import argparse
import shutil
import statistics
import subprocess
import time

from generator import Peer, listening

DATABASE, CHUNK = "bench_analytic", 100_000

TABLE = """CREATE TABLE facts (id INT PRIMARY KEY, region INT NOT NULL, shop INT NOT NULL, town VARCHAR(30) NOT NULL, n INT NOT NULL,
 code INT NOT NULL, price DECIMAL(10,2) NOT NULL, weight DOUBLE NOT NULL, day DATE NOT NULL)"""

#: The row of number @i, in no order of anything but its id.
ROW = """SELECT i, CRC32(i) % 100, CRC32(i + 7) % 50, CONCAT('Town of number ', CRC32(i + 3) % 200), CRC32(i + 5) % 10000, i * 7919 % 1000003,
 CRC32(i + 11) % 100000 / 100, CRC32(i + 13) / 1e7, DATE '2020-01-01' + INTERVAL CRC32(i + 17) % 1000 DAY"""

#: By name: keys and aggregates.
ROLLUPS = {
    "count": ("region, shop", "COUNT(*)"),
    "int": ("region, shop", "SUM(n), MIN(n), MAX(n), COUNT(*)"),
    "decimal": ("region, shop", "SUM(price), AVG(price)"),
    "double": ("region, shop", "SUM(weight)"),
    "double_3": ("region, shop", "SUM(weight), AVG(weight), SUM(n)"),
    "stddev": ("region, shop", "STDDEV(weight)"),
    "distinct": ("region, shop", "COUNT(DISTINCT n)"),
    "sum_distinct": ("region, shop", "SUM(DISTINCT n), COUNT(*)"),
    "distinct_text": ("region, shop", "COUNT(DISTINCT town)"),
    "concat": ("region, shop", "GROUP_CONCAT(n)"),
    "text": ("town, region", "SUM(n)"),
    "text_double": ("town, region", "SUM(weight)"),
    "days": ("YEAR(day), MONTH(day)", "SUM(price), COUNT(*)"),
    "many": ("n, shop", "SUM(price)"),
    "many_double": ("n, shop", "SUM(weight)"),
    "primary": ("id", "SUM(price)"),
    "primary_double": ("id", "SUM(weight)"),
    "unique": ("code", "SUM(price)"),
    "unique_double": ("code", "SUM(weight)"),
    "unique_2": ("region, code", "SUM(price)"),
    "unique_distinct": ("region, code", "COUNT(DISTINCT n)"),
}

#: By name: functions, and the windows that they name.
WINDOWS = {
    "row_number": ("ROW_NUMBER() OVER w", "w AS (ORDER BY n)"),
    "row_number_pk": ("ROW_NUMBER() OVER w", "w AS (ORDER BY id)"),
    "row_number_parts": ("ROW_NUMBER() OVER w", "w AS (PARTITION BY region ORDER BY n)"),
    "row_number_text": ("ROW_NUMBER() OVER w", "w AS (PARTITION BY town ORDER BY price)"),
    "row_number_decimal": ("ROW_NUMBER() OVER w", "w AS (ORDER BY price DESC)"),
    "rank": ("RANK() OVER w", "w AS (PARTITION BY region ORDER BY n)"),
    "dense_rank": ("DENSE_RANK() OVER w", "w AS (ORDER BY n)"),
    "percent_rank": ("PERCENT_RANK() OVER w", "w AS (PARTITION BY region ORDER BY n)"),
    "cume_dist": ("CUME_DIST() OVER w", "w AS (PARTITION BY region ORDER BY n)"),
    "ntile": ("NTILE(10) OVER w", "w AS (PARTITION BY region ORDER BY n)"),
    "lag": ("LAG(n) OVER w", "w AS (PARTITION BY region ORDER BY day)"),
    "lag_lead": ("LAG(price, 3, 0) OVER w, LEAD(price, 3, 0) OVER w", "w AS (ORDER BY code)"),
    "first_value": ("FIRST_VALUE(n) OVER w", "w AS (PARTITION BY region ORDER BY day)"),
    "last_value": ("LAST_VALUE(n) OVER w", "w AS (PARTITION BY region ORDER BY day)"),
    "nth_value": ("NTH_VALUE(n, 3) OVER w", "w AS (PARTITION BY region ORDER BY day)"),
    "first_last_all": ("FIRST_VALUE(n) OVER w, LAST_VALUE(n) OVER w",
                       "w AS (PARTITION BY region ORDER BY day ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"),
    "sum_all": ("SUM(n) OVER ()", None),
    "sum_part": ("SUM(n) OVER w", "w AS (PARTITION BY region)"),
    "sum_part_double": ("SUM(weight) OVER w", "w AS (PARTITION BY region, shop)"),
    "share": ("price / SUM(price) OVER w", "w AS (PARTITION BY region)"),
    "sum_peers": ("SUM(n) OVER w", "w AS (PARTITION BY region ORDER BY day)"),
    "sum_running": ("SUM(n) OVER w", "w AS (ORDER BY code ROWS UNBOUNDED PRECEDING)"),
    "sum_running_decimal": ("SUM(price) OVER w", "w AS (ORDER BY code ROWS UNBOUNDED PRECEDING)"),
    "sum_running_double": ("SUM(weight) OVER w", "w AS (ORDER BY code ROWS UNBOUNDED PRECEDING)"),
    "sum_rows": ("SUM(n) OVER w", "w AS (ORDER BY code ROWS BETWEEN 10 PRECEDING AND 10 FOLLOWING)"),
    "sum_rows_decimal": ("SUM(price) OVER w", "w AS (ORDER BY code ROWS BETWEEN 10 PRECEDING AND 10 FOLLOWING)"),
    "sum_rows_double": ("SUM(weight) OVER w", "w AS (ORDER BY code ROWS BETWEEN 10 PRECEDING AND 10 FOLLOWING)"),
    "avg_rows_100": ("AVG(n) OVER w", "w AS (ORDER BY code ROWS BETWEEN 99 PRECEDING AND CURRENT ROW)"),
    "sum_range": ("SUM(n) OVER w", "w AS (ORDER BY code RANGE BETWEEN 10 PRECEDING AND 10 FOLLOWING)"),
    "sum_range_double": ("SUM(weight) OVER w", "w AS (ORDER BY code RANGE BETWEEN 10 PRECEDING AND 10 FOLLOWING)"),
    "sum_range_days": ("SUM(n) OVER w", "w AS (PARTITION BY region, shop ORDER BY day RANGE BETWEEN INTERVAL 7 DAY PRECEDING AND CURRENT ROW)"),
    "max_rows": ("MAX(n) OVER w", "w AS (ORDER BY code ROWS BETWEEN 100 PRECEDING AND CURRENT ROW)"),
    "min_max_rows": ("MIN(price) OVER w, MAX(price) OVER w", "w AS (PARTITION BY region ORDER BY code ROWS BETWEEN 10 PRECEDING AND 10 FOLLOWING)"),
    "max_range": ("MAX(weight) OVER w", "w AS (ORDER BY code RANGE BETWEEN 100 PRECEDING AND CURRENT ROW)"),
    "count_rest": ("COUNT(*) OVER w", "w AS (PARTITION BY region ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"),
    "sum_rest": ("SUM(n) OVER w", "w AS (PARTITION BY region ORDER BY n ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"),
    "stddev_rows": ("STDDEV(weight) OVER w", "w AS (ORDER BY code ROWS BETWEEN 10 PRECEDING AND CURRENT ROW)"),
    "stddev_part": ("STDDEV(weight) OVER w", "w AS (PARTITION BY region)"),
    "two_windows": ("ROW_NUMBER() OVER w, SUM(n) OVER v", "w AS (ORDER BY code), v AS (PARTITION BY region)"),
}


def cases(rows: int) -> dict[str, str]:
    found = {}
    for name, (keys, aggregates) in ROLLUPS.items():
        last = f" LIMIT {rows}, 1" if "unique" in name or "primary" in name or "many" in name else ""
        found[f"rollup_{name}"] = f"SELECT {keys}, {aggregates} FROM facts GROUP BY {keys} WITH ROLLUP{last}"
    for name, (functions, window) in WINDOWS.items():
        named = f" WINDOW {window}" if window else ""
        found[name] = f"SELECT id, {functions} FROM facts{named} LIMIT {rows - 1}, 1"
    return found


class Side:
    def __init__(self, text: str):
        name, _, address = text.partition("=")
        port, _, user = address.partition(":")
        self.peer = Peer(name, int(port), user or "root", listening(int(port)))

    def run(self, *statements: str, database: str = DATABASE) -> str:
        client = shutil.which("mariadb") or "mysql"
        line = [client, "--no-defaults", "-h127.0.0.1", f"-P{self.peer.port}", f"-u{self.peer.user}", "--quick", "-N", database, "-e", ";".join(statements)]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{self.peer.name}: {done.stderr.strip()}")
        return done.stdout

    def timed(self, statement: str) -> tuple[float, float, str]:
        """Seconds of the processor and of the clock, and what came."""
        cpu, began = self.peer.cpu_us(), time.monotonic()
        said = self.run(statement)
        return (self.peer.cpu_us() - cpu) / 1e6, time.monotonic() - began, said

    def prepare(self, rows: int) -> None:
        self.run(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", database="")
        self.run(TABLE)
        digits = "SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9"
        self.run("CREATE TABLE digits (d INT)", f"INSERT INTO digits {digits}")
        numbers = "SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + {first} AS i FROM digits a, digits b, digits c, digits e, digits f"
        for first in range(1, rows + 1, CHUNK):
            self.run(f"INSERT INTO facts {ROW} FROM ({numbers.format(first=first)}) numbers WHERE i <= {rows}")
        self.run("ANALYZE TABLE facts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=PORT[:USER]", type=Side)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", default="", help="those whose name contains one of these")
    parser.add_argument("--prepare", action="store_true")
    arguments = parser.parse_args()
    if arguments.prepare:
        for side in arguments.servers:
            side.prepare(arguments.rows)
    wanted = arguments.cases.split(",")
    for name, statement in cases(arguments.rows).items():
        if not any(word in name for word in wanted):
            continue
        times = {side: [] for side in arguments.servers}
        for _ in range(arguments.rounds):
            for side in arguments.servers:
                times[side].append(side.timed(statement)[:2])
        medians = {side: [statistics.median(column) for column in zip(*found)] for side, found in times.items()}
        first, *others = arguments.servers
        words = [f"{side.peer.name} cpu {cpu:.2f} s, wall {wall:.2f} s" for side, (cpu, wall) in medians.items()]
        for other in others:
            cpu, wall = (theirs / max(ours, 1e-3) for theirs, ours in zip(medians[other], medians[first]))
            words.append(f"{other.peer.name} ÷ {first.peer.name}: cpu {cpu:.2f} wall {wall:.2f}")
        print(f"{name:22} " + "   ".join(words), flush=True)


if __name__ == "__main__":
    main()

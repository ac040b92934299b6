"""A full scan in a snapshot, before and after every row was updated ten times.

Of a table with an index on `k`, which answers the scan by itself, and of one without; and the updates change another
column, or `k` itself, so that every entry of its index has moved ten times.
"""
from statistics import median

from sides import Side
from tidemark import tidemark

UPDATES = 10
SUM = "SELECT SUM(k) FROM sbtest1"
INDEXED = {"indexed": ("--create_secondary=on",), "unindexed": ("--create_secondary=off",)}
CHANGES = {"other_column": "UPDATE sbtest1 SET c = REVERSE(c)", "same_column": "UPDATE sbtest1 SET k = k + 1"}


def run(report, peers: list[Side], short: bool) -> None:
    rows = 50_000 if short else 500_000
    with tidemark("scan") as own:
        for indexed, options in INDEXED.items():
            for column, change in CHANGES.items():
                name = f"{indexed}_{column}"
                for side in [own, *peers]:
                    before, after = scan_twice(side, rows, options, change)
                    ratio = after / before
                    report.note(f"SUM(k) of {rows} rows, {name}: {side.name}: {before * 1e3:.0f} ms before, {after * 1e3:.0f} ms after, ratio {ratio:.2f}")
                    if side is own:
                        report.check(ratio <= 2, f"point_4_{name}", f"{ratio:.2f} times as long, 2 is asked for")


def scan_twice(side: Side, rows: int, options: tuple[str, ...], change: str) -> tuple[float, float]:
    side.fresh_database()
    try:
        side.sysbench("oltp_read_write", "prepare", "--tables=1", f"--table-size={rows}", *options)
        snapshot = side.snapshot(SUM)
        before = median(snapshot.again_s() for _ in range(7))
        for _ in range(UPDATES):
            side.execute(change)
        after = median(snapshot.again_s() for _ in range(7))
        snapshot.end()
    finally:
        side.drop_database()
    return before, after

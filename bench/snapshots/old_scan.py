"""A full scan in a snapshot, before and after every row was updated ten times.

Twice: once the updates leave `k` alone, so that its index answers both scans, and once they change `k` itself.
"""
from statistics import median

from sides import Side
from tidemark import tidemark

UPDATES = 10
SUM = "SELECT SUM(k) FROM sbtest1"
CHANGES = {"other_column": "UPDATE sbtest1 SET c = REVERSE(c)", "same_column": "UPDATE sbtest1 SET k = k + 1"}


def run(report, peers: list[Side], short: bool) -> None:
    rows = 50_000 if short else 500_000
    with tidemark("scan") as own:
        for name, change in CHANGES.items():
            for side in [own, *peers]:
                before, after = scan_twice(side, rows, change)
                ratio = after / before
                report.note(f"SUM(k) of {rows} rows, updates of {name}: {side.name}: {before * 1e3:.0f} ms before, {after * 1e3:.0f} ms after, ratio {ratio:.2f}")
                if side is own:
                    report.check(ratio <= 2, f"point_4_{name}", f"{ratio:.2f} times as long, 2 is asked for")


def scan_twice(side: Side, rows: int, change: str) -> tuple[float, float]:
    side.fresh_database()
    try:
        side.sysbench("oltp_read_write", "prepare", "--tables=1", f"--table-size={rows}")
        snapshot = side.snapshot(SUM)
        before = median(snapshot.again_s() for _ in range(7))
        for _ in range(UPDATES):
            side.execute(change)
        after = median(snapshot.again_s() for _ in range(7))
        snapshot.end()
    finally:
        side.drop_database()
    return before, after

"""oltp_read_write beside one snapshot that stays open: does it get slower, and is more kept than the snapshot needs?

The first and the last fifth of the time are compared (minutes, unless it is a short run), after a warm-up without the
snapshot. What it needs is one version of every row that was changed since, which `sys.tidemark_views` counts: the more rows
have been changed already, the fewer are added. The pages that hold versions may take twice as much, not more.
"""
from statistics import median

from sides import MB, Side
from tidemark import tidemark

TABLES = 8


def run(report, peers: list[Side], short: bool) -> None:
    rows, hold_s = (2_000, 25) if short else (200_000, 300)
    for distribution in ("uniform", "pareto"):
        with tidemark("mixed") as own:
            for side in [own, *peers]:
                name = f"oltp_read_write {distribution}: {side.name}"
                falls, first, kept, needed = beside_snapshot(side, rows, hold_s, distribution)
                report.note(f"{name}: {first:.0f}/s at first, last / first fifth {1 - falls:.3f}")
                if any(kept):
                    shown = ", ".join(f"{bytes_ / MB:.1f}" for bytes_ in kept)
                    report.note(f"{name}: {side.versions_are}, from tenth to tenth of the time: {shown} MB")
                if side is own:
                    report.note(f"{name}: needed in the end {needed / MB:.1f} MB")
                    report.check(falls < 0.05, f"point_3_{distribution}_rate", f"falls by {falls:.1%}, less than 5% is asked for")
                    report.check(kept[-1] <= 2 * needed + 4 * MB, f"point_3_{distribution}_versions",
                                 f"{kept[-1] / MB:.1f} MB are kept, {needed / MB:.1f} MB are needed")


def beside_snapshot(side: Side, rows: int, hold_s: int, distribution: str) -> tuple[float, float, list[int], int]:
    part_s, warm_s, tenth_s = hold_s // 5, 5 if rows < 100_000 else 30, hold_s / 10
    tables = [f"--tables={TABLES}", f"--table-size={rows}", f"--rand-type={distribution}"]
    side.fresh_database()
    try:
        side.sysbench("oltp_read_write", "prepare", *tables, "--threads=2")
        load = side.load("oltp_read_write", warm_s + hold_s, 16, *tables)
        try:
            load.until(warm_s)
            snapshot = side.snapshot("SELECT SUM(k), COUNT(*) FROM sbtest1 WHERE id <= 1000")
            kept = []
            for tenth in range(1, 11):
                load.until(warm_s + tenth * tenth_s - 0.5)
                kept.append(side.version_bytes() or 0)
            rates = load.finish()
            needed = side.needed_bytes() if side.is_tidemark else 0
            snapshot.again_s()
            snapshot.end()
        finally:
            load.stop()
    finally:
        side.drop_database()
    held = rates[warm_s:]
    first, last = median(held[:part_s]), median(held[-part_s:])
    return 1 - last / first, first, kept, needed

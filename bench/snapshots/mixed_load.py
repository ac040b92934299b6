"""oltp_read_write beside one snapshot that stays open: does it get slower, and is more kept than the snapshot needs?

The first and the last fifth of the time are compared (minutes, unless it is a short run), after a warm-up without the
snapshot. What it needs is one version of every row that was changed since, which `sys.tidemark_views` counts: the more rows
have been changed already, the fewer are added. The pages that hold versions may take twice as much, not more.

A machine shared with others gets slower and faster within five minutes. So the processor time that our server took for a
transaction is shown beside the rates: it tells a snapshot that costs something from a machine that has less to give.
"""
from dataclasses import dataclass
from itertools import pairwise
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
                seen = beside_snapshot(side, rows, hold_s, distribution)
                first, last = (median(fifth) for fifth in fifths(seen.rates))
                report.note(f"{name}: {first:.0f}/s at first, last / first fifth {last / first:.3f}")
                if any(seen.kept):
                    shown = ", ".join(f"{bytes_ / MB:.1f}" for bytes_ in seen.kept)
                    report.note(f"{name}: {side.versions_are}, from tenth to tenth of the time: {shown} MB")
                if side is own:
                    before, after = (1e6 * sum(taken) / sum(fifth) for taken, fifth in zip(fifths(seen.processor_s), fifths(seen.rates)))
                    report.note(f"{name}: processor time of the server for a transaction: {before:.0f} us, in the last fifth {after:.0f} us")
                    report.note(f"{name}: needed in the end {seen.needed / MB:.1f} MB")
                    falls = 1 - last / first
                    report.check(falls < 0.05, f"point_3_{distribution}_rate", f"falls by {falls:.1%}, less than 5% is asked for")
                    report.check(seen.kept[-1] <= 2 * seen.needed + 4 * MB, f"point_3_{distribution}_versions",
                                 f"{seen.kept[-1] / MB:.1f} MB are kept, {seen.needed / MB:.1f} MB are needed")


@dataclass
class Beside:
    """What was seen beside an open snapshot."""
    rates: list[float]
    """Transactions in each second."""
    kept: list[int]
    """Bytes of versions at the end of each tenth of the time."""
    processor_s: list[float]
    """The processor time that our server took in each tenth."""
    needed: int
    """Bytes of versions that the snapshot needs in the end."""


def fifths(series: list[float]) -> tuple[list[float], list[float]]:
    """The first and the last fifth of it."""
    part = len(series) // 5
    return series[:part], series[-part:]


def beside_snapshot(side: Side, rows: int, hold_s: int, distribution: str) -> Beside:
    warm_s, tenth_s = 5 if rows < 100_000 else 30, hold_s / 10
    tables = [f"--tables={TABLES}", f"--table-size={rows}", f"--rand-type={distribution}"]
    side.fresh_database()
    try:
        side.sysbench("oltp_read_write", "prepare", *tables, "--threads=2")
        load = side.load("oltp_read_write", warm_s + hold_s, 16, *tables)
        try:
            load.until(warm_s - 0.5)
            snapshot = side.snapshot("SELECT SUM(k), COUNT(*) FROM sbtest1 WHERE id <= 1000")
            kept, processor_s = [], [side.processor_s()]
            for tenth in range(1, 11):
                load.until(warm_s + tenth * tenth_s - 0.5)
                kept.append(side.version_bytes() or 0)
                processor_s.append(side.processor_s())
            rates = load.finish()[warm_s:]
            needed = side.needed_bytes() if side.is_tidemark else 0
            snapshot.again_s()
            snapshot.end()
        finally:
            load.stop()
    finally:
        side.drop_database()
    return Beside(rates, kept, [after - before for before, after in pairwise(processor_s)], needed)

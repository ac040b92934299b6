"""A full scan in a snapshot, before and after every row was updated ten times.

Of a table with an index on `k`, which answers the scan by itself, and of one without; and the updates change another
column, or `k` itself, so that every entry of its index has moved ten times.

The scan takes some hundredths of a second, and a machine that is shared with others changes its pace by more than half from
one second to the next. So the reads are spread over some seconds, the first of them while purge is still busy with the last
update. What is judged is how long they take; to tell the machine's pace from the scan's, a second Tidemark whose table nobody
updates is read in turns with it.
"""
from contextlib import contextmanager
from statistics import median
from time import sleep

from sides import Side, Snapshot
from tidemark import tidemark

UPDATES = 10
READS, PAUSE_S = 21, 0.2
SUM = "SELECT SUM(k) FROM sbtest1"
INDEXED = {"indexed": ("--create_secondary=on",), "unindexed": ("--create_secondary=off",)}
CHANGES = {"other_column": "UPDATE sbtest1 SET c = REVERSE(c)", "same_column": "UPDATE sbtest1 SET k = k + 1"}


def run(report, peers: list[Side], short: bool) -> None:
    rows = 50_000 if short else 500_000
    with tidemark("scan") as own, tidemark("control") as control:
        for indexed, options in INDEXED.items():
            with old_snapshot(control, rows, options) as unchanged:
                for column, change in CHANGES.items():
                    name = f"{indexed}_{column}"
                    for side in [own, *peers]:
                        with old_snapshot(side, rows, options) as snapshot:
                            beside = unchanged if side is own else None
                            before = Reads(snapshot, beside)
                            for _ in range(UPDATES):
                                side.execute(change)
                            after = Reads(snapshot, beside)
                        report.note(f"SUM(k) of {rows} rows, {name}: {side.name}: {before.ms:.0f} ms before, {after.ms:.0f} ms after "
                                    f"(first {after.first_ms:.0f} ms), ratio {after.ms / before.ms:.2f}")
                        if side is own:
                            report.note(f"SUM(k) of {rows} rows, {name}: one that is not updated: {before.beside_ms:.0f} ms before, {after.beside_ms:.0f} ms "
                                        f"after; ratio to that {(after.ms / after.beside_ms) / (before.ms / before.beside_ms):.2f}")
                            ratio = after.ms / before.ms
                            report.check(ratio <= 2, f"point_4_{name}", f"{ratio:.2f} times as long, 2 is asked for")


@contextmanager
def old_snapshot(side: Side, rows: int, options: tuple[str, ...]):
    side.fresh_database()
    try:
        side.sysbench("oltp_read_write", "prepare", "--tables=1", f"--table-size={rows}", *options)
        snapshot = side.snapshot(SUM)
        yield snapshot
        snapshot.end()
    finally:
        side.drop_database()


class Reads:
    """What the reads took, in milliseconds: the first, and the median; and the median in the snapshot beside."""

    def __init__(self, snapshot: Snapshot, beside: Snapshot | None):
        times, others = [], []
        for _ in range(READS):
            times.append(snapshot.again_s() * 1e3)
            if beside:
                others.append(beside.again_s() * 1e3)
            sleep(PAUSE_S)
        self.first_ms, self.ms = times[0], median(times)
        self.beside_ms = median(others) if others else None

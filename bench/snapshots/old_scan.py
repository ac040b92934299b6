"""A full scan in a snapshot, before and after every row was updated ten times.

Of a table with an index on `k`, which answers the scan by itself, and of one without; and the updates change another
column, or `k` itself, so that every entry of its index has moved ten times.

The scan takes some hundredths of a second, and a machine that is shared with others changes its pace by more than half from
one second to the next. So the reads are spread over some seconds, the first of them while purge is still busy with the last
update; and beside Tidemark stands a second one whose table nobody updates, read in turns: what counts is how the time
compares with that one's. The peers' times are shown as they are.
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
                            ratio = after.share / before.share
                            report.check(ratio <= 2, f"point_4_{name}", f"{ratio:.2f} times as long beside one that is not updated, 2 is asked for")


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
    """What the reads took: the first, and the median, in milliseconds.

    `share` is the median of what a read took / what one in the snapshot beside took right after.
    """

    def __init__(self, snapshot: Snapshot, beside: Snapshot | None):
        times, shares = [], []
        for _ in range(READS):
            times.append(snapshot.again_s() * 1e3)
            if beside:
                shares.append(times[-1] / (beside.again_s() * 1e3))
            sleep(PAUSE_S)
        self.first_ms, self.ms = times[0], median(times)
        self.share = median(shares) if shares else None

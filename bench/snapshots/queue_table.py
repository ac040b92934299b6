"""A queue in a table beside an old snapshot that keeps all the deleted rows alive.

The rate of the consumers is what the server counts as deleted rows; a queue that runs empty would make it the rate of the
producers, so both see the same number of messages waiting at the beginning.
"""
from statistics import median
from threading import Event, Thread
from time import monotonic

from sides import Side
from tidemark import tidemark

PRODUCERS = CONSUMERS = 8


def run(report, peers: list[Side], short: bool) -> None:
    before_s, hold_s = (6, 20) if short else (20, 120)
    with tidemark("queue") as own:
        for skip_locked in (False, True):
            for side in [own, *peers]:
                before, held = beside_snapshot(side, skip_locked, before_s, hold_s)
                name = "skip_locked" if skip_locked else "for_update"
                report.note(f"queue {name}: {side.name}: {before:.0f} dequeued/s before, {held:.0f}/s at the end of {hold_s} s, ratio {held / before:.3f}")
                if side is own:
                    report.check(held / before >= 0.8, f"point_5_{name}", f"{held / before:.3f} of the rate before, 0.8 is asked for")


class Deletes:
    """Rows deleted, second by second."""

    def __init__(self, side: Side):
        self.side, self.seen, self.ended = side, [], Event()
        self.thread = Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self) -> None:
        while not self.ended.wait(0.5):
            self.seen.append((monotonic(), self.side.status("Innodb_rows_deleted")))

    def close(self) -> None:
        self.ended.set()
        self.thread.join()

    def rate(self, from_: float, to: float) -> float:
        """The median rate between two moments."""
        within = [sample for sample in self.seen if from_ <= sample[0] <= to]
        return median((n - m) / (t - s) for (s, m), (t, n) in zip(within, within[1:]))


def beside_snapshot(side: Side, skip_locked: bool, before_s: int, hold_s: int) -> tuple[float, float]:
    warm_s = 3
    options = [f"--producers={PRODUCERS}", f"--skip_locked={'on' if skip_locked else 'off'}"]
    side.fresh_database()
    try:
        side.sysbench("queue.lua", "prepare", *options)
        load = side.load("queue.lua", warm_s + before_s + hold_s, PRODUCERS + CONSUMERS, *options)
        deletes = Deletes(side)
        try:
            load.until(warm_s + before_s)
            snapshot = side.snapshot("SELECT COUNT(*), MIN(id), MAX(id) FROM queue")
            load.until(warm_s + before_s + hold_s - 1)
            deletes.close()
            snapshot.again_s()
            snapshot.end()
            load.finish()
        finally:
            deletes.close()
            load.stop()
    finally:
        side.drop_database()
    opened, end = load.started + warm_s + before_s, load.started + warm_s + before_s + hold_s
    return deletes.rate(load.started + warm_s, opened), deletes.rate(end - hold_s / 3, end)

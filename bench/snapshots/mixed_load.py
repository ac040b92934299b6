"""oltp_read_write beside one snapshot that stays open: does it get slower, and is more kept than the snapshot needs?

The first and the last fifth of the time are compared (minutes, unless it is a short run), after a warm-up without the
snapshot. A machine that is shared with others gets faster and slower by more than is asked for in five minutes, so in both
fifths a second Tidemark does the same work at the same time, with no snapshot. What the two share of the machine then is
what counts: if the snapshot costs nothing, that does not change from the first fifth to the last. The peers' rates, which
fall by more, are shown as they are.

What the snapshot needs is one version of every row that was changed since, which `sys.tidemark_views` counts: the more rows
have been changed already, the fewer are added. The pages that hold versions may take twice as much, not more.
"""
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median

from sides import MB, Load, Side
from tidemark import tidemark

TABLES, CLIENTS = 8, 16


@dataclass
class Work:
    rows: int
    """In each table."""
    warm_s: int
    hold_s: int
    distribution: str

    @property
    def fifth_s(self) -> int:
        return self.hold_s // 5

    def tables(self) -> list[str]:
        return [f"--tables={TABLES}", f"--table-size={self.rows}", f"--rand-type={self.distribution}"]

    @contextmanager
    def prepared(self, side: Side):
        side.fresh_database()
        try:
            side.sysbench("oltp_read_write", "prepare", *self.tables(), "--threads=2")
            yield
        finally:
            side.drop_database()

    def load(self, side: Side, seconds: float) -> Load:
        return side.load("oltp_read_write", round(seconds), CLIENTS, *self.tables())


@dataclass
class Seen:
    first: float
    """Transactions a second, in the first fifth and in the last."""
    last: float
    kept: list[int]
    """Bytes of versions at the end of each tenth of the time."""
    needed: int
    """Bytes that the snapshot needs in the end."""
    control: tuple[float, float]
    """The rates of the other one, without a snapshot, in the same fifths; zero if there was none."""


def run(report, peers: list[Side], short: bool) -> None:
    rows, warm_s, hold_s = (2_000, 5, 25) if short else (200_000, 30, 300)
    for distribution in ("uniform", "pareto"):
        work = Work(rows, warm_s, hold_s, distribution)
        with tidemark("mixed") as own, tidemark("control") as control:
            seen = beside_snapshot(own, work, control)
            show(report, own, distribution, seen)
            before, after = seen.first / seen.control[0], seen.last / seen.control[1]
            report.note(f"oltp_read_write {distribution}: one without a snapshot at the same time: {seen.control[0]:.0f}/s at first, "
                        f"last / first fifth {seen.control[1] / seen.control[0]:.3f}")
            report.note(f"oltp_read_write {distribution}: rate / its rate {before:.3f} at first, {after:.3f} in the last fifth; "
                        f"needed in the end {seen.needed / MB:.1f} MB")
            falls = 1 - after / before
            report.check(falls < 0.05, f"point_3_{distribution}_rate", f"falls by {falls:.1%}, less than 5% is asked for")
            report.check(seen.kept[-1] <= 2 * seen.needed + 4 * MB, f"point_3_{distribution}_versions",
                         f"{seen.kept[-1] / MB:.1f} MB are kept, {seen.needed / MB:.1f} MB are needed")
        for peer in peers:
            show(report, peer, distribution, beside_snapshot(peer, work))


def show(report, side: Side, distribution: str, seen: Seen) -> None:
    name = f"oltp_read_write {distribution}: {side.name}"
    report.note(f"{name}: {seen.first:.0f}/s at first, last / first fifth {seen.last / seen.first:.3f}")
    if any(seen.kept):
        shown = ", ".join(f"{bytes_ / MB:.1f}" for bytes_ in seen.kept)
        report.note(f"{name}: {side.versions_are}, from tenth to tenth of the time: {shown} MB")


def beside_snapshot(side: Side, work: Work, control: Side | None = None) -> Seen:
    warm_s, hold_s, fifth_s = work.warm_s, work.hold_s, work.fifth_s
    with ExitStack() as stack:
        for each in [side, control] if control else [side]:
            stack.enter_context(work.prepared(each))

        def start(of: Side, seconds: float) -> Load:
            load = work.load(of, seconds)
            stack.callback(load.stop)
            return load

        load = start(side, warm_s + hold_s)
        others = [start(control, warm_s + fifth_s)] if control else []
        load.until(warm_s)
        snapshot = side.snapshot("SELECT SUM(k), COUNT(*) FROM sbtest1 WHERE id <= 1000")
        kept = []
        for tenth in range(1, 11):
            load.until(warm_s + tenth * hold_s / 10 - 0.5)
            kept.append(side.version_bytes() or 0)
            if control and tenth == 7:
                # A tenth to get going, before the last fifth begins.
                others.append(start(control, warm_s + hold_s - load.age_s()))
        rates = load.finish()[warm_s:]
        control_rates = [median(other.finish()[-fifth_s:]) for other in others]
        needed = side.needed_bytes() if side.is_tidemark else 0
        snapshot.again_s()
        snapshot.end()
    return Seen(median(rates[:fifth_s]), median(rates[-fifth_s:]), kept, needed, tuple(control_rates) or (0.0, 0.0))

#!/usr/bin/env python3
"""Random schedules of two to four sessions, played on two servers that must behave alike.

    tests/schedules/run.py --against HOST:PORT[:USER] [--address HOST:PORT[:USER]] [--seed N] [--count 1000] [--lanes 4]
    tests/schedules/run.py --mariadb [--count 2000]                   against Debian's MariaDB
    tests/schedules/run.py --mariadb 17 23                            just the schedules of these seeds
    tests/schedules/run.py --families --against HOST:PORT[:USER]      tables with foreign keys; also --generated, --online
    tests/schedules/run.py --mariadb --arbiter HOST:PORT[:USER]       and asks a third server who is alone with its answer

Compared are, step by step: rows, affected counts, errors, who waits, and who is woken by which step with what answer; and
at the end the table by each of its indexes. A schedule on which the servers differ is played again and again: if both have
shown the same at least once, and several sessions were let go at once before they differed, it was a race and is counted as such. If the
difference stays it is shortened and printed as a golden script with what the other server answers, unless it is a
known one (`known.py`): those are counted. A seed as an argument repeats one. How many are
played is a number, not a time, so that every run of the tests plays the same ones; with `--seconds` it is a hunt.

MySQL and MariaDB differ too. An arbiter, a MySQL server, plays what differs as well, and a difference from MariaDB is known only if
the arbiter does not answer as MariaDB does.

`placement.py` compares what single sessions lock, entry by entry.

Every lane is a process with databases of its own on both servers; schedule n of a run has the seed N + n.
"""
import multiprocessing
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import golden  # noqa: E402
from family import FamilyGenerator  # noqa: E402
from generate import LEVELS, Generator  # noqa: E402
from generated import GeneratedGenerator  # noqa: E402
from online import OnlineGenerator  # noqa: E402
from known import MARIADB_AVOIDS, NOT_AGAIN, RACE, UNSTEADY, Played, experiments, reason, reason_of_definitions  # noqa: E402
from play import Hang, Player, Transcript  # noqa: E402
from shrink import as_script, shrink  # noqa: E402
from support.address import Address  # noqa: E402
from support.mariadb import MariaDB  # noqa: E402
from support.report import FIXED_SEED, Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

DIFFERENCES_MAX = 20           # by then there is enough to look at
REPLAYS_MAX = 20               # of what may be a race
HANGS = "a server hangs: a wait for a row and a wait for a definition are for each other"
NOBODY, THEIRS, OURS, ALL_DIFFER = ("", "# The arbiter answers as the server under test.\n", "# The arbiter answers as the other server.\n",
                                    "# The arbiter has a third answer.\n")


class Lane:
    """Plays schedules on both servers; begins anew with fresh connections after a hang."""

    def __init__(self, ours: Address, theirs: Address, arbiter: Address | None, number: str, metadata: bool):
        self.addresses, self.number, self.metadata = (ours, theirs) if arbiter is None else (ours, theirs, arbiter), number, metadata
        self.players: list[Player] = []

    def both(self, schedule) -> tuple[Transcript, Transcript]:
        ours, theirs = self.played(schedule, (0, 1))
        return ours, theirs

    def played(self, schedule, servers: tuple[int, ...]) -> list[Transcript]:
        if not self.players:
            self.players = [Player(address, self.number, self.metadata) for address in self.addresses]
        try:
            return [self.play(self.players[server], schedule) for server in servers]
        finally:
            if any(player.hangs for player in self.players):
                self.abandon()

    @staticmethod
    def play(player: Player, schedule) -> Transcript:
        try:
            return player.play(schedule)
        except Hang as hang:
            player.hangs = True
            return [[f"hangs: {hang}"]]

    def abandon(self) -> None:
        for player in self.players:
            for session in (*player.sessions.values(), player.keeper, player.clerk):
                session.connection._force_close()
            player.observer.close()
        self.players = []
        time.sleep(0.2)

    def differs(self, schedule) -> bool:
        ours, theirs = self.both(schedule)
        return ours != theirs

    def meet(self, schedule, ours: Transcript, theirs: Transcript, other: int = 1) -> str | None:
        """Who answers now one way, now another, if both servers show the same at least once."""
        shown, expected = [ours], [theirs]
        for _ in range(REPLAYS_MAX):
            ours, theirs = self.played(schedule, (0, other))
            shown.append(ours)
            expected.append(theirs)
            if ours in expected or theirs in shown:
                return OURS if any(transcript != ours for transcript in shown) else THEIRS
        return None

    def odd_one_out(self, schedule) -> str:
        """Which of three servers is alone with its answer."""
        ours, theirs, arbiter = self.played(schedule, (0, 1, 2))
        if ours == theirs:
            return NOBODY
        return THEIRS if arbiter == ours else OURS if arbiter == theirs else ALL_DIFFER

    def try_seed(self, generator: Generator) -> tuple[str | None, str | None]:
        """A golden script if the servers differ, or the reason if it is a known difference; both if it did not come again."""
        schedule = generator.schedule()
        ours, theirs = self.both(schedule)
        if ours == theirs:
            return None, None
        if not self.players:     # one hangs and the other does not
            either = is_hang(theirs) or self.meet(schedule, ours, theirs)
            return (None, HANGS) if either else (as_script(schedule, theirs, ours), None)
        played = self.compared(schedule, theirs, ours)
        if (why := self.reason(played)) and not self.is_denied(schedule):
            return None, why
        if not why and (whose := self.meet(schedule, ours, theirs)):
            if played.raced():
                return None, RACE
            return (None, UNSTEADY) if whose == THEIRS else (played.difference(), NOT_AGAIN)
        differs, whose = self.differs, ""
        if len(self.addresses) == 3:
            whose = self.odd_one_out(schedule)
            if whose == ALL_DIFFER and self.meet(schedule, *self.played(schedule, (0, 2)), other=2):
                whose = THEIRS
            differs = lambda candidate: self.odd_one_out(candidate) == whose  # noqa: E731
        shortest = shrink(schedule, lambda candidate: differs(candidate) and differs(candidate))
        ours, theirs = self.both(shortest)
        if ours == theirs:       # it was shortened to a race
            ours, theirs = self.both(shortest := schedule)
        if whose in (NOBODY, THEIRS) and (why := self.reason(self.compared(shortest, theirs, ours))):
            return None, why
        return whose + as_script(shortest, theirs, ours), None

    def compared(self, schedule, theirs: Transcript, ours: Transcript) -> Played:
        """The schedule that was played last."""
        server, other = self.players[:2]
        let_go = (server if other.observer.is_mariadb else other).let_go
        return Played(schedule, theirs, ours, other.places, server.places, let_go)

    def is_denied(self, schedule) -> bool:
        """Whether the arbiter answers as the other server, and not by chance."""
        if len(self.addresses) < 3 or self.odd_one_out(schedule) != OURS:
            return False
        ours, arbiter = self.played(schedule, (0, 2))
        return ours != arbiter and not self.meet(schedule, ours, arbiter, other=2)

    def reason(self, played: Played) -> str | None:
        """Why the servers differ, if it is known."""
        if not self.players or not self.players[1].observer.is_mariadb:
            return reason_of_definitions(played)
        if why := reason(played):
            return why
        for why, probe, shows in experiments(played):
            ours, theirs = self.both(probe)
            if ours == theirs and shows(ours[len(probe.steps) - 1]):
                return why
        return None


def is_hang(transcript: Transcript) -> bool:
    return transcript[0][0].startswith("hangs: ")


def work(options, ours: Address, theirs: Address, number: int, seeds, found: multiprocessing.Queue) -> None:
    golden.remember_sqlstate()
    lane = Lane(ours, theirs, options.arbiter, f"{options.name}{number}", options.generator.changes_definitions)
    played, known = 0, Counter()
    try:
        for seed in seeds:
            if options.until and time.time() > options.until:
                break
            script, why = lane.try_seed(options.generator(seed, options.avoid, options.levels))
            played += 1
            if why:
                known[why] += 1
            if script:
                found.put((seed, (script, why)))
    except Exception as error:
        found.put((seed, (f"{type(error).__name__}: {error}", None)))
        raise
    finally:
        found.put((None, (played, known)))
        for player in lane.players:
            player.close()


def run(options, seeds: list[int] | range, seconds: float | None, ours: Address, theirs: Address, report: Report) -> None:
    found: multiprocessing.Queue = multiprocessing.Queue()
    options.until = time.time() + seconds if seconds else None
    started, differences, played, known = time.monotonic(), 0, 0, Counter()
    lanes = [multiprocessing.Process(target=work, daemon=True, args=(options, ours, theirs, n, seeds[n::options.lanes], found))
             for n in range(options.lanes)]
    for lane in lanes:
        lane.start()
    running = len(lanes)
    while running:
        number, what = found.get()
        if number is None:
            running, played = running - 1, played + what[0]
            known.update(what[1])
            continue
        script, why = what
        if why:
            report.note(f"{number}: {why}\n{script}")
            continue
        differences += 1
        report.fail(f"{number}", "the servers differ\n" + script)
        if differences >= options.differences:
            for lane in lanes:
                lane.terminate()
            break
    for lane in lanes:
        lane.join()
    took = time.monotonic() - started
    name = f"{played} schedules from seed {seeds[0]} in {took:.0f} s, known differences: {dict(known) or 'none'}"
    if not differences:
        report.check(played > 0, name)
    else:
        print(f"  {name}, {differences} differences", flush=True)


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", type=Address.parse, help="the server under test; default: a Tidemark of its own")
    parser.add_argument("--against", type=Address.parse)
    parser.add_argument("--mariadb", action="store_true")
    parser.add_argument("--arbiter", type=Address.parse, metavar="HOST:PORT[:USER]", help="a MySQL server, to say who is alone with its answer")
    parser.add_argument("--seed", type=int, default=FIXED_SEED, help="of the first")
    parser.add_argument("--count", type=int, help="so many; default: 1000, or as many as the time allows")
    parser.add_argument("--seconds", type=float, help="stop after so many")
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--name", default="", help="of the databases, if several runs share a server")
    parser.add_argument("--levels", type=lambda text: tuple(text.upper().split(",")), default=LEVELS, help="only these, separated by commas")
    parser.add_argument("--avoid", type=lambda text: frozenset(text.split(",")), default=frozenset(), help="forms of conditions to leave out")
    parser.add_argument("--families", dest="generator", action="store_const", const=FamilyGenerator, default=Generator,
                        help="of tables with foreign keys; only against MySQL")
    parser.add_argument("--generated", dest="generator", action="store_const", const=GeneratedGenerator,
                        help="indexes on generated columns and on expressions; only against MySQL")
    parser.add_argument("--online", dest="generator", action="store_const", const=OnlineGenerator,
                        help="writers beside changes of the table's definition; only against MySQL")
    parser.add_argument("--avoid-nothing", action="store_true", help="even against MariaDB")
    parser.add_argument("--differences", type=int, default=DIFFERENCES_MAX)
    options = parser.parse_args()
    report = Report("schedules")
    with ExitStack() as servers:
        ours = options.address or servers.enter_context(Server("schedules")).address
        theirs = servers.enter_context(MariaDB()).address if options.mariadb else options.against
        if theirs is None:
            parser.error("--against or --mariadb")
        is_mariadb = "MariaDB" in theirs.execute("SELECT VERSION()")[0][0]
        if is_mariadb and options.generator is not Generator:
            parser.error("foreign keys, generated columns and changes of definitions are compared with MySQL's alone")
        if is_mariadb and not options.avoid_nothing:
            options.avoid |= MARIADB_AVOIDS
        count = options.count or (1_000_000 if options.seconds else 1000)
        seeds = [int(word) for word in options.filters] or range(options.seed, options.seed + count)
        run(options, seeds, options.seconds, ours, theirs, report)
    report.close()


if __name__ == "__main__":
    sys.exit(main())

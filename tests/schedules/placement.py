#!/usr/bin/env python3
"""One session's random statements on two servers: after each, which locks it holds, and at the end what it weighs.

    tests/schedules/placement.py --against HOST:PORT[:USER] [--address HOST:PORT[:USER]] [--seed N] [--count 1000] [--seconds S]

`run.py` sees a lock only when somebody happens to run into it. Here the locks themselves are compared, as
`performance_schema.data_locks` tells them, and the weight that decides who gives way in a deadlock (`INNODB_TRX`); so this finds in
minutes what a schedule shows once in ten thousand. Only MySQL has both tables.

Not compared is what excludes nobody else: MySQL makes an object of every record that a statement has locked before it wrote it,
where Tidemark goes by the writer's id, and has locks on a gap beside one that covers it already.
"""
import argparse
import re
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import golden  # noqa: E402
from generate import Generator, Schedule  # noqa: E402
from play import Player  # noqa: E402
from shrink import as_script, shrink  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import FIXED_SEED, Report  # noqa: E402
from support.server import Server  # noqa: E402

WEIGHTS_ARE_OLD_FOR_S = 0.11   # MySQL copies INNODB_TRX no more often
STEPS_MAX = 4
DIFFERENCES_MAX = 20
ENTRY = re.compile(r"([SX])((?:,\w+)*) on (\S+ \(.*\))")


def schedule(seed: int) -> Schedule:
    """What one session says within a transaction: the first steps of a random schedule."""
    generator = Generator(seed)
    whole = generator.schedule()
    session = generator.choice(sorted(whole.levels))
    steps = [(session, sql) for _, sql in whole.steps if sql not in ("BEGIN", "COMMIT", "ROLLBACK")]
    return replace(whole.with_steps(steps[:generator.randint(1, STEPS_MAX)]), levels={session: whole.levels[session]})


def place(player: Player, schedule: Schedule) -> list[list[str]]:
    """What each step shows, and the locks after it; at the end the weight."""
    sessions = player.prepare(schedule)
    (name, session), = sessions.items()
    session.execute("BEGIN")
    transcript = []
    for _, sql in schedule.steps:
        transcript.append(player.step(sessions, name, sql) + sorted(lock for _, lock in player.observer.locks({session.id})))
    time.sleep(WEIGHTS_ARE_OLD_FOR_S)
    transcript.append([player.observer.weight(session.id)])
    for ends in (session, player.keeper):
        ends.execute("ROLLBACK")
    return transcript


def covered(transcript: list[list[str]]) -> list[list[str]]:
    """Without the locks that exclude nobody whom another does not."""
    return [[line for line in lines if not is_covered(line, lines)] for lines in transcript]


def is_covered(line: str, lines: list[str]) -> bool:
    if not (lock := ENTRY.fullmatch(line)):
        return False
    mode, kind, entry = lock.groups()
    if kind == ",REC_NOT_GAP":
        return mode == "X"
    stronger = {f"X on {entry}"} | ({f"{mode} on {entry}", f"X,GAP on {entry}"} if kind == ",GAP" else set())
    return kind in ("", ",GAP") and any(other in lines for other in stronger - {line})


def differ(players: list[Player], schedule: Schedule) -> bool:
    ours, theirs = (covered(place(player, schedule)) for player in players)
    return ours != theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", type=Address.parse, help="the server under test; default: a Tidemark of its own")
    parser.add_argument("--against", type=Address.parse, required=True)
    parser.add_argument("--seed", type=int, default=FIXED_SEED)
    parser.add_argument("--count", type=int, default=1000, help="at most so many")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    golden.remember_sqlstate()
    report = Report("placement")
    started, tried, differences = time.monotonic(), 0, 0
    with ExitStack() as servers:
        ours = options.address or servers.enter_context(Server("placement")).address
        players = [Player(address, "placement") for address in (ours, options.against)]
        for seed in range(options.seed, options.seed + options.count):
            if time.monotonic() - started > options.seconds or differences == DIFFERENCES_MAX:
                break
            tried += 1
            if not differ(players, candidate := schedule(seed)):
                continue
            differences += 1
            shortest = shrink(candidate, lambda shorter: differ(players, shorter))
            seen, expected = (covered(place(player, shortest)) for player in players)
            report.fail(str(seed), "the locks differ\n" + as_script(shortest, expected, seen))
        for player in players:
            player.close()
    if not differences:
        report.check(tried > 0, f"{tried} transactions from seed {options.seed} in {time.monotonic() - started:.0f} s")
    report.close()


if __name__ == "__main__":
    main()

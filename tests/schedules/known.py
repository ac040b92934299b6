"""Differences that are known, argued and listed in docs/compatibility.md: what to leave out, and how to tell one.

MariaDB's InnoDB went its own way after 5.7, so some forms are left out of schedules that are held against it: a range with an
upper end locks the row after it there; a shared lock is not made exclusive past somebody who waits for it; a row that is
marked as deleted is locked by a point search; and under READ COMMITTED a search by a secondary index waits for rows, and
keeps them, that MySQL passes over or lets go.

The rest is recognised by the first step at which two transcripts differ, and only there.
"""
from generate import Schedule

MARIADB_AVOIDS = frozenset({"between", "open", "less", "at_most", "share", "serializable", "ghosts", "filter",
                            "read uncommitted", "read committed by index"})

VICTIM = "another victim of the same deadlock"
ORDER = "waiters in another order"


def reason(schedule: Schedule, expected: list[list[str]], seen: list[list[str]]) -> str | None:
    """Why these transcripts differ, if that is known."""
    at = next((n for n, (right, wrong) in enumerate(zip(expected, seen)) if right != wrong), None)
    if at is None:
        return None
    right, wrong = expected[at], seen[at]
    if deadlocks(right) == deadlocks(wrong) == 1:
        return VICTIM
    waiting = sum(lines[0] == "waits" for lines in expected[:at]) - len({line.split()[0] for lines in expected[:at] for line in lines if " woke: " in line})
    if len(schedule.levels) == 4 and waiting >= 2 and right[0] == wrong[0] and woken(right) != woken(wrong) and woken(right) and woken(wrong):
        return ORDER
    return None


def deadlocks(lines: list[str]) -> int:
    return sum("ERROR 1213" in line for line in lines)


def woken(lines: list[str]) -> set[str]:
    return {line.split()[0] for line in lines if " woke: " in line}

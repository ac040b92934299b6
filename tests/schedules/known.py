"""Differences that are known, argued and listed in docs/compatibility.md: what to leave out, and how to tell one.

MariaDB's InnoDB went its own way after 5.7, and where it differs from MySQL's, Tidemark follows MySQL's. Some forms are left
out of schedules that are held against it, because they would differ at every turn:

- `upper end by primary key`: there a range by the primary key locks the row behind it, too;
- `release by index`: below REPEATABLE READ a search by a secondary index keeps the lock on what it met and did not want,
  the entry behind a range and the rows that a filter turned away.

The rest is recognised by the first step at which two transcripts differ, and only there: by its form, by the lock that the
server says it waits for, or by an experiment: a schedule that lacks what is said to make the difference, on which the servers
must agree.

Against MySQL little is known to differ but what is none of the rules but of the clock: where several sessions are let go at
once it is left to the threads which of them comes first to what both want next. So a difference behind such a step is a race, if
both servers have shown the same in one of many plays (`run.py`). And DROP INDEX is done at once when it has the table for itself; MySQL lets
statements in that wait for the table, and waits for them before the index goes.
"""
import re
from dataclasses import dataclass, replace
from typing import Callable, Iterator

from generate import Schedule

MARIADB_AVOIDS = frozenset({"upper end by primary key", "release by index"})

RACE = "several let go at once, another came first"
UNSTEADY = "the other server answers now one way, now another"
NOT_AGAIN = "differed once, and not when played again"
VICTIM = "another victim of the same deadlock"
ORDER = "waiters in another order"
BEHIND = "a new entry of a unique index locks the entry behind it"
GAP = "equality on a unique secondary index locks the gap before its entry"
BLIND = "a deadlock is looked for behind another of several owners"
SOONER = "an entry of a secondary index is taken for locked by whoever has changed its row"
LATER = "below REPEATABLE READ an UPDATE or DELETE by a secondary index does without the lock on its entry"
VANISHED = "a wait for a row whose insertion is rolled back becomes a lock on the gap"
GHOST = "a record that is only marked as deleted is not locked"
UNDONE = "a row whose insertion is undone leaves no lock on its gap"
DROPPED = "an index goes before statements that wait for its table are let in"
UPGRADE = "a shared lock is made exclusive only behind those who wait for it"

INSERTED_BEFORE = re.compile(r"X,GAP,INSERT_INTENTION on t\.u \((-?\d+)\)")
UNIQUE_ENTRY = re.compile(r"[SX](?:,REC_NOT_GAP)? on t\.u \((-?\d+|supremum)\)")
ROW = re.compile(r"\(-?\d+, -?\d+, (-?\d+), -?\d+\)")


@dataclass
class Played:
    """A schedule, what the other server and the one under test have shown, what each step was seen to wait for on either, and how
    many waited at each step for the session that took it."""
    schedule: Schedule
    expected: list[list[str]]
    seen: list[list[str]]
    expected_places: list[str]
    seen_places: list[str]
    let_go: list[int]

    def __post_init__(self):
        self.at = next((n for n, (right, wrong) in enumerate(zip(self.expected, self.seen)) if right != wrong), len(self.expected))
        self.right, self.wrong = self.expected[self.at], self.seen[self.at]

    def raced(self) -> bool:
        """Whether several were let go at once before the servers differed, or when they did: by the step that they waited for, or
        by it and by the rollback of a deadlock's victim."""
        waiting: set[str] = set()
        for n, lines in enumerate(self.expected[:self.at + 1]):
            if self.let_go[n:n + 1] > [1] or (len(waiting) > 1 and (victims(lines) or victims(self.seen[n]))):
                return True
            if lines[0] == "waits":
                waiting.add(self.schedule.steps[n][0])
            waiting -= woken(lines)
        return False

    def difference(self) -> str:
        """What was expected and what was seen, in a few lines."""
        session, sql = self.schedule.steps[self.at] if self.at < len(self.schedule.steps) else ("", "at the end")
        return "\n".join([f"    {session}: {sql}", *(f"      expected: {line}" for line in self.right), *(f"      seen:     {line}" for line in self.wrong)])

    def before(self) -> list[tuple[int, str, str, list[str]]]:
        """The steps before the difference: number, session, statement, what was shown."""
        return [(n, *step, lines) for n, (step, lines) in enumerate(zip(self.schedule.steps[:self.at], self.expected))]

    def without(self, steps: set[int]) -> Schedule:
        """The schedule up to the difference without these steps."""
        return self.schedule.with_steps([step for n, step in enumerate(self.schedule.steps[:self.at + 1]) if n not in steps])


def reason_of_definitions(played: Played) -> str | None:
    """Why a server differs from MySQL where indexes come and go, if it is a known way."""
    dropping = any("DROP INDEX" in sql and lines[0] == "waits" for *_, sql, lines in played.before())
    more = set(played.wrong) - set(played.right)
    done = all(re.match(r"\w woke: ok \(Records", line) for line in more)
    return DROPPED if dropping and more and done and set(played.right) <= set(played.wrong) else None


def reason(played: Played) -> str | None:
    """Why the transcripts differ, if it can be told from these and it is a way of MariaDB's."""
    right, wrong, schedule, at = played.right, played.wrong, played.schedule, played.at
    if victims(right) and victims(wrong) and victims(right) != victims(wrong):
        return VICTIM
    if at < len(played.let_go) and played.let_go[at] >= 2 and len(waiters(played)) >= 3 and right[0] == wrong[0] and woken(right) != woken(wrong) and woken(right) and woken(wrong):
        return ORDER
    if at < len(schedule.steps) and right[0] == "waits" != wrong[0]:
        place = played.expected_places[at]
        if waits_for_gap(schedule, schedule.steps[at][0], at, place):
            return GAP
        if waits_behind(schedule, at, place):
            return BEHIND
    if at < len(played.expected_places) and woken(wrong) - woken(right) and any(
            waits_for_gap(schedule, schedule.steps[waiting][0], at, played.expected_places[at]) for waiting in waiters(played)):
        return GAP
    if at < len(played.expected_places) and woken(wrong) - woken(right) and any(
            waits_behind(schedule, waiting, place) for waiting in waiters(played) for place in played.expected_places[at].split("; ")):
        return BEHIND
    if deadlocks(wrong) > deadlocks(right) and any(
            " on t.PRIMARY " in played.seen_places[n] and " on t.PRIMARY " not in played.expected_places[n] for n in waiters(played)):
        return SOONER
    return None


def experiments(played: Played) -> Iterator[tuple[str, Schedule, Callable[[list[str]], bool]]]:
    """What may be MariaDB's way, the schedule on which the servers then agree, and what its last step must then show.

    UPGRADE: a session that has a shared lock asks for it exclusively. MySQL lets it pass those who wait for the lock, for they
    wait for its owner anyway; in MariaDB it queues behind them, which is a deadlock. If that is it, the step is granted by both
    servers as soon as the others do not wait; had they not only waited but held what it asks for, it would wait.

    GAP: who waits for an entry of a unique index by equality waits for its gap, too, so that a new entry before it must wait for him.

    UNDONE: a row that goes in and is taken out again, by a duplicate in another index, by ROLLBACK TO or by an error in a later row,
    leaves its lock to the gap in MySQL, and nothing in MariaDB. So another's new row waits there for the gap; in MariaDB it goes in,
    and waits for the duplicate, if at all.

    VANISHED: who waits for a row that another has inserted and takes back is left with a lock on its gap in MariaDB.

    LATER: below REPEATABLE READ an UPDATE or DELETE by a secondary index asks in MariaDB for the row and not for its entry, so it neither waits
    for the entry nor has it when it waits for the row. Under REPEATABLE READ there is the same deadlock on both;
    and whoever else asks for the entry fares as if nobody waited for the row.

    GHOST: a search that meets a record that is marked as deleted locks it in MySQL; MariaDB locks at most the gap before it, and
    where it is the end of a range goes on to the next record, so that an insertion between the two waits. Had
    the rows not been deleted or moved, both would lock the same. Who waits for the record comes first, and so others who wait for what
    both want next may see what it has changed there.

    BLIND: of several owners of a shared lock both follow one when they look for a cycle, and not always the same, so that one of
    the two finds the deadlock later. With nobody beside the one through whom it goes, both find
    it at once.

    SOONER: MariaDB at times takes the entry of a secondary index for locked by whoever has changed other columns of its row, so a
    statement waits there, or gives up by NOWAIT or SKIP LOCKED, without the lock on the entry that it has in MySQL when it comes
    to the row; and whoever changed the row and then asks for the entry is taken to have it, and gets no lock. It does so only where
    somebody has put an entry beside it meanwhile."""
    right, wrong, waiting = played.right, played.wrong, waiters(played)
    sql = played.schedule.steps[played.at][1] if played.at < len(played.schedule.steps) else "COMMIT"
    denied = deadlocks(right) > deadlocks(wrong) or "NOWAIT" in sql or "SKIP LOCKED" in sql
    shared = any(takes_shared(sql, played.schedule.levels[session]) for _, session, sql, _ in played.before())
    if denied and waiting and shared:
        yield UPGRADE, played.without(waiting), granted
        for step in waiting:
            yield UPGRADE, played.without({step}), granted if sql != "COMMIT" else anything
    looked_for = any(sought(sql) and n in waiting and played.schedule.levels[session] in ("REPEATABLE READ", "SERIALIZABLE") for n, session, sql, _ in played.before())
    if deadlocks(right) > deadlocks(wrong) and looked_for and new_entries(sql):
        yield GAP, played.without(waiting), granted
    victims = {session for _, session, sql, lines in played.before() if sql == "ROLLBACK" or lines[0].startswith("ERROR 1213")}
    victims |= {line.split()[0] for *_, lines in played.before() for line in lines if "woke: ERROR 1213" in line}
    rolled_back = {n for n, session, sql, _ in played.before() if session in victims and new_entries(sql)}
    if rolled_back and right[0] == "waits" != wrong[0] and "INSERT_INTENTION" in played.expected_places[played.at]:
        yield VANISHED, played.without(rolled_back), granted
    if woken(wrong) - woken(right) and "INSERT_INTENTION" in (played.expected_places[played.at:played.at + 1] or [""])[0]:
        for step in waiting:
            if played.schedule.steps[step][0] in woken(right):
                yield VANISHED, played.without({step}), anything
    kept = deadlocks(wrong) > deadlocks(right) or wrong[0] == "waits" != right[0] or woken(right) - woken(wrong) or ("NOWAIT" in sql or "SKIP LOCKED" in sql)
    failed = {line.split()[0] for line in right if "woke: ERROR 1062" in line}
    undone = {n for n, session, sql, lines in played.before() if is_undone(sql, lines[0]) and not (n in waiting and session not in failed & woken(wrong))}
    for_gap = {n for n in waiting if "INSERT_INTENTION" in played.seen_places[n]}
    elsewhere = any(index_waited_at(played.expected_places[n]) not in ("", index_waited_at(played.seen_places[n])) for n in for_gap)
    if undone and (kept or elsewhere):
        yield UNDONE, played.without(undone), anything
    removed = {n for n, _, sql, _ in played.before() if n not in waiting and re.match(r"DELETE|REPLACE|UPDATE .* SET [idku]+ =", sql)}
    passed = right[0] == "waits" != wrong[0] and "INSERT_INTENTION" in played.expected_places[played.at]
    if (kept or woken(right) or passed) and (removed or played.schedule.ghosts):
        yield GHOST, replace(played.without(removed), ghosts=()), anything
    gave_up = {n for n, _, sql, lines in played.before() if "SKIP LOCKED" in sql or "ERROR 3572" in lines[0]}
    if kept and gave_up:
        yield SOONER, played.without(gave_up), anything
    changed = {n for n, _, sql, _ in played.before() if n not in waiting and sql.startswith("UPDATE")}
    if changed and kept:
        yield SOONER, played.without(changed), wrong.__eq__
    entered = {n for n, _, sql, _ in played.before() if n not in waiting and new_entries(sql)}
    if deadlocks(wrong) > deadlocks(right) and entered:
        yield SOONER, played.without(entered), is_deadlock
    late = {session for n, (session, sql) in enumerate(played.schedule.steps[:played.at + 1])
            if (n in waiting or n == played.at) and re.match(r"UPDATE t FORCE INDEX \([ku]\)|DELETE FROM t WHERE [ku]", sql) and played.schedule.levels[session].startswith("READ ")}
    if deadlocks(wrong) > deadlocks(right) and late:
        levels = {**played.schedule.levels, **dict.fromkeys(late, "REPEATABLE READ")}
        yield LATER, replace(played.without(set()), levels=levels), is_deadlock
        yield LATER, played.without({n for n in waiting if played.schedule.steps[n][0] in late}), right.__eq__
    if (deadlocks(wrong) == 0) != (deadlocks(right) == 0) and played.at < len(played.schedule.steps):
        asked = played.schedule.steps[played.at][0]
        for other in set(played.schedule.levels) - {asked}:
            yield BLIND, played.without({n for n, session, *_ in played.before() if session == other}), is_deadlock


def is_undone(sql: str, answer: str) -> bool:
    """Whether the statement has met a duplicate, so that rows may have gone in and out again, or is itself an undoing."""
    if sql.startswith("ROLLBACK TO"):
        return True
    if not sql.startswith(("INSERT", "REPLACE")):
        return bool(new_entries(sql)) and "ERROR 1062" in answer
    changed = re.match(r"ok, (\d+) row", answer)
    return not changed or int(changed[1]) != len(ROW.findall(sql))


def granted(lines: list[str]) -> bool:
    return lines[0] != "waits"


def is_deadlock(lines: list[str]) -> bool:
    return deadlocks(lines) > 0


def anything(_: list[str]) -> bool:
    return True


def waits_for_gap(schedule: Schedule, session: str, at: int, place: str) -> bool:
    """Under REPEATABLE READ and SERIALIZABLE, MariaDB locks an entry of `u` that is looked for by equality with the gap before it.

    So a new entry waits there for somebody who has looked for just the one behind it."""
    if not (entry := INSERTED_BEFORE.search(place)):
        return False
    return any(other != session and entry[1] in sought(sql) and schedule.levels[other] in ("REPEATABLE READ", "SERIALIZABLE")
               for other, sql in schedule.steps[:at])


def sought(sql: str) -> set[str]:
    """The values that the statement looks for by equality on `u`."""
    found = re.search(r"WHERE u (?:= (\d+)|IN \((\d+), (\d+)\))", sql)
    return set(filter(None, found.groups())) if found else set()


def waits_behind(schedule: Schedule, at: int, place: str) -> bool:
    """MariaDB, when it looks for duplicates of a new entry of `u`, locks the first entry that is not less, as if it were one.

    So the step waits there for an entry that is greater than its own, or it meets one that somebody's new entry has locked."""
    if not (entry := UNIQUE_ENTRY.fullmatch(place)):
        return False
    session, sql = schedule.steps[at]
    if (new := new_entries(sql)) and entry[1] not in new:
        return True
    others = set().union(*(new_entries(earlier) for other, earlier in schedule.steps[:at] if other != session))
    return any(value == "its own" or entry[1] == "supremum" or int(value) < int(entry[1]) for value in others)


def new_entries(sql: str) -> set[str]:
    """The values of `u` for which the statement may make an entry; a row that moves takes its own along."""
    if sql.startswith(("INSERT", "REPLACE")):
        return set(ROW.findall(sql))
    if sets := re.match(r"UPDATE .* SET (id|u) = (\d+)", sql):
        return {"its own" if sets[1] == "id" else sets[2]}
    return set()


def takes_shared(sql: str, level: str) -> bool:
    """A locking read, a plain one that is made one, or a search for duplicates."""
    return "FOR SHARE" in sql or (sql.startswith("SELECT") and level == "SERIALIZABLE") or bool(new_entries(sql))


def waiters(played: Played) -> set[int]:
    """The steps whose statements still wait when the servers first differ."""
    waiting: dict[str, int] = {}
    for n, session, _, lines in played.before():
        if lines[0] == "waits":
            waiting[session] = n
        for other in woken(lines):
            waiting.pop(other, None)
    return set(waiting.values())


def index_waited_at(place: str) -> str:
    found = re.search(r" on t\.(\w+)", place)
    return found[1] if found else ""


def deadlocks(lines: list[str]) -> int:
    return sum("ERROR 1213" in line for line in lines)


def victims(lines: list[str]) -> set[str]:
    """Who was rolled back to break a deadlock: the session that took the step, or who waited."""
    return {line.split()[0] if " woke: " in line else "who asked" for line in lines if "ERROR 1213" in line}


def woken(lines: list[str]) -> set[str]:
    return {line.split()[0] for line in lines if " woke: " in line}

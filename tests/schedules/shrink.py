"""Makes a schedule that shows a difference as short as it can be, and prints it as a golden script.

Delta debugging (Zeller and Hildebrandt, 2002): leave out whole sessions, then runs of steps, shorter and shorter, then rows,
as long as the two servers still differ.
"""
from dataclasses import replace
from typing import Callable

from generate import Schedule

TRIES_MAX = 400


def shrink(schedule: Schedule, differs: Callable[[Schedule], bool]) -> Schedule:
    tries = 0

    def still(candidate: Schedule) -> bool:
        nonlocal tries
        tries += 1
        try:
            return tries <= TRIES_MAX and differs(candidate)
        except ValueError:     # its rows cannot be made: a child's parent is left out
            return False

    for session in list(schedule.levels):
        candidate = schedule.with_steps([step for step in schedule.steps if step[0] != session])
        if candidate.steps and still(candidate):
            schedule = candidate
    size = max(1, len(schedule.steps) // 2)
    while size:
        at, changed = 0, False
        while at < len(schedule.steps):
            candidate = schedule.with_steps(schedule.steps[:at] + schedule.steps[at + size:])
            if candidate.steps and still(candidate):
                schedule, changed = candidate, True
            else:
                at += size
        if not changed or size > 1:
            size //= 2
    for key in schedule.ghosts:
        candidate = replace(schedule, ghosts=tuple(g for g in schedule.ghosts if g != key))
        if still(candidate):
            schedule = candidate
    for child in reversed(schedule.children):
        for row in child.rows:
            candidate = replace(schedule, children=tuple(c.without(row) if c.name == child.name else c for c in schedule.children))
            if still(candidate):
                schedule = candidate
    for row in schedule.rows:
        candidate = replace(schedule, rows=tuple(r for r in schedule.rows if r != row), ghosts=tuple(g for g in schedule.ghosts if g != row[0]))
        if still(candidate):
            schedule = candidate
    return schedule


def as_script(schedule: Schedule, expected: list[list[str]], seen: list[list[str]]) -> str:
    """The schedule as a golden script that says what `expected` was, with what was seen where it first differs."""
    lines = [f"# Schedule {schedule.seed}, shortened."]
    for sql in schedule.create():
        lines += [sql, "    ok"]
    lines += [f"[quiet] {sql}" for sql in schedule.setup()]
    if schedule.ghosts:
        lines += ["keeper: START TRANSACTION WITH CONSISTENT SNAPSHOT", "    ok", *(f"[quiet] {sql}" for sql in schedule.bury())]
    lines += [f"{name}: [quiet] SET SESSION TRANSACTION ISOLATION LEVEL {level}" for name, level in schedule.levels.items()]
    told = False
    for at, (right, wrong) in enumerate(zip(expected, seen)):
        if at < len(schedule.steps):
            name, sql = schedule.steps[at]
            tags = "[code] [sorted] " if sql.startswith("SELECT") else "[code] "
            lines.append(f"{name}: {tags}{sql}" if right != ["(still waiting)"] else f"# {name}, still waiting: {sql}")
        else:
            lines.append("# at the end")
        lines += [f"    {line}" for line in right if line != "(still waiting)"]
        if right != wrong and not told:
            told = True
            lines += [f"#   seen: {line}" for line in wrong]
            if at < len(schedule.steps):
                break
    return "\n".join(lines)

"""Schedules of writers beside a session that changes the table's definition: indexes and columns come and go while transactions are open.

A change of the definition waits for the transactions that use the table, and statements that come after it wait behind it. Compared are which
statements wait, which go on, what an older view still reads, and all answers. The other server must be MySQL.
"""
from dataclasses import replace

from generate import Generator, Schedule

CHANGER = "d"
ONLINE = ("", "", ", ALGORITHM=INPLACE", ", ALGORITHM=INPLACE, LOCK=NONE")
INSTANT = ("", ", ALGORITHM=INSTANT")


class OnlineGenerator(Generator):
    names = "abc"
    changes_definitions = True

    def schedule(self) -> Schedule:
        schedule = super().schedule()
        steps = list(schedule.steps)
        for _ in range(self.choice([1, 2, 2, 3, 4])):
            steps.insert(self.randint(0, len(steps)), (CHANGER, self.change()))
        levels = {**schedule.levels, CHANGER: self.choice(self.levels)}
        return replace(schedule, steps=tuple(steps), levels=levels, added={"v": "x", "u": "y"})

    def change(self) -> str:
        index, columns = self.choice([("x", "v"), ("x", "v"), ("y", "u, v")])
        roll = self.random()
        if roll < 0.4:
            kind = "UNIQUE INDEX" if index == "y" else "INDEX"
            return f"ALTER TABLE t ADD {kind} {index} ({columns}){self.choice(ONLINE)}"
        if roll < 0.6:
            # Not one that the others name: MySQL lets waiting statements in before the index goes, Tidemark after it.
            return f"ALTER TABLE t DROP INDEX {index}{self.choice(ONLINE)}"
        if roll < 0.85:
            return f"ALTER TABLE t ADD COLUMN c INT DEFAULT 7{self.choice(['', ' FIRST'])}{self.choice(INSTANT)}"
        return f"ALTER TABLE t DROP COLUMN c{self.choice(INSTANT)}"

    def statement(self, level: str) -> str:
        # The columns are named: there may be one more.
        return super().statement(level).replace("INTO t VALUES", "INTO t (id, k, u, v) VALUES")

"""Random schedules: a table of few rows, two to four sessions at levels of their own, and who says what in which order.

A schedule is made from its seed alone and never looks at an answer, so the same seed is the same schedule on every server.
A step whose session is still waiting when its turn comes is passed over.

Values lie on a grid, rows at the tens and new rows between them as well, so that every gap is met. Statements that
could be served by one index or another name the one (`FORCE INDEX`), for the optimiser's choice decides what is locked
and is not what is compared here. DELETE takes no such hint, so its conditions leave no choice.
"""
import random
from dataclasses import dataclass, field, replace

LEVELS = ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
NAMES = "abcd"

SHAPES = {  # the indexes of a table, by column
    "plain": {"id": "PRIMARY"},
    "secondary": {"id": "PRIMARY", "k": "k"},
    "unique": {"id": "PRIMARY", "u": "u"},
    "both": {"id": "PRIMARY", "k": "k", "u": "u"},
}
DEFINITIONS = {
    "plain": "id INT PRIMARY KEY, k INT, u INT, v INT",
    "secondary": "id INT PRIMARY KEY, k INT, u INT, v INT, KEY k (k)",
    "unique": "id INT PRIMARY KEY, k INT, u INT, v INT, UNIQUE KEY u (u)",
    "both": "id INT PRIMARY KEY, k INT, u INT, v INT, KEY k (k), UNIQUE KEY u (u)",
}
GENERATED = {  # the same of tables with generated columns, which are invisible, and expressions as parts of indexes (`generated.py`)
    "virtual": {"id": "PRIMARY", "g": "g"},
    "stored": {"id": "PRIMARY", "g": "g"},
    "functional": {"id": "PRIMARY", "(k + 0)": "k"},
}
DEFINITIONS |= {
    "virtual": "id INT PRIMARY KEY, k INT, u INT, v INT, g INT AS (k) VIRTUAL INVISIBLE, KEY g (g)",
    "stored": "id INT PRIMARY KEY, k INT, u INT, v INT, g INT AS (u + 5) STORED INVISIBLE, UNIQUE KEY g (g)",
    "functional": "id INT PRIMARY KEY, k INT, u INT, v INT, KEY k ((k + 0))",
}


@dataclass(frozen=True)
class Child:
    """A table beside `t` whose rows name rows of `t`, or of the child before it, by a foreign key (`family.py`)."""
    name: str
    definition: str
    indexes: dict[str, str] = field(hash=False)   # by column
    rows: tuple[tuple[int | None, ...], ...]

    def without(self, row) -> "Child":
        return replace(self, rows=tuple(r for r in self.rows if r != row))


@dataclass(frozen=True)
class Schedule:
    seed: int
    shape: str
    rows: tuple[tuple[int, int, int, int], ...]
    ghosts: tuple[int, ...]                    # rows that are deleted before the sessions begin, and kept by an old view
    levels: dict[str, str] = field(hash=False)
    steps: tuple[tuple[str, str], ...]         # session, statement
    children: tuple[Child, ...] = ()
    added: dict[str, str] = field(default_factory=dict, hash=False)   # indexes of `t` that come and go, by column (`online.py`)

    def tables(self) -> list[tuple[str, str, dict[str, str]]]:
        """Name, definition, and index by column, parents before children."""
        return [("t", DEFINITIONS[self.shape], (SHAPES | GENERATED)[self.shape]), *((child.name, child.definition, child.indexes) for child in self.children)]

    def create(self) -> list[str]:
        return [f"CREATE TABLE {name} ({definition})" for name, definition, _ in self.tables()]

    def setup(self) -> list[str]:
        return [f"INSERT INTO {name} VALUES " + ", ".join(values(row) for row in rows)
                for name, rows in [("t", self.rows), *((child.name, child.rows) for child in self.children)] if rows]

    def look(self) -> list[str]:
        """The rows by each index."""
        indexes = [(name, column, index) for name, _, of_table in self.tables() for column, index in of_table.items()]
        indexes += [("t", column, index) for column, index in self.added.items()]
        return [f"SELECT * FROM {name} FORCE INDEX ({index}) WHERE {column} >= 0" for name, column, index in indexes]

    def bury(self) -> list[str]:
        return [f"DELETE FROM t WHERE id = {key}" for key in self.ghosts]

    def with_steps(self, steps) -> "Schedule":
        used = {session for session, _ in steps}
        return replace(self, steps=tuple(steps), levels={s: l for s, l in self.levels.items() if s in used})


def values(row: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("NULL" if value is None else str(value) for value in row) + ")"


class Generator(random.Random):
    """Makes one schedule. `avoid` names what the two servers are known to treat differently (`known.py`)."""
    shapes = SHAPES
    names = NAMES
    changes_definitions = False    # so that statements wait for each other's metadata locks, too

    def __init__(self, seed: int, avoid: frozenset[str] = frozenset(), levels: tuple[str, ...] = LEVELS):
        super().__init__(seed)
        self.number, self.avoid, self.levels = seed, avoid, levels
        self.shape = self.choice(list(self.shapes))
        self.indexes = self.shapes[self.shape]

    def schedule(self) -> Schedule:
        keys = self.sample(range(10, 70, 10), self.randint(3, 6))
        rows = tuple((key, self.choice([10, 20, 20, 30, 40]), key, self.randint(0, 3)) for key in sorted(keys))
        ghosts = tuple(self.sample(sorted(keys), 1)) if self.random() < 0.25 and "ghosts" not in self.avoid else ()
        sessions = self.names[:self.choice([2, 2, 3, 3, 4])]
        one_level = self.choice(self.levels) if self.random() < 0.5 else None
        levels = {session: one_level or self.choice(self.levels) for session in sessions}
        steps, open_ = [], {session: False for session in sessions}
        for _ in range(self.randint(5, 16)):
            session = self.choice(sessions)
            roll = self.random()
            if not open_[session] and roll < 0.75:
                steps.append((session, "BEGIN"))
                open_[session] = True
            elif open_[session] and roll < 0.12:
                steps.append((session, self.choice(["COMMIT", "COMMIT", "ROLLBACK"])))
                open_[session] = False
                continue
            elif open_[session] and roll < 0.18:
                steps.append((session, self.choice(["SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO SAVEPOINT s"])))
            steps.append((session, self.statement(levels[session])))
        return Schedule(self.number, self.shape, rows, ghosts, levels, tuple(steps))

    def value(self) -> int:
        return self.choice([5, 10, 10, 15, 20, 20, 25, 30, 30, 35, 40, 40, 45, 50, 55, 60, 65])

    def statement(self, level: str) -> str:
        roll = self.random()
        if roll < 0.14:
            return f"SELECT * FROM t {self.access(level)}"
        if roll < 0.42:
            return f"SELECT * FROM t {self.access(level)} {self.strength()}"
        if roll < 0.58:
            return self.insert()
        if roll < 0.84:
            column = self.choice(list(self.indexes))
            return f"UPDATE t {self.force(column)} SET {self.assignment(column)} WHERE {self.condition(column, level)}"
        column = self.choice(list(self.indexes))
        return f"DELETE FROM t WHERE {self.point(column)}"

    def strength(self) -> str:
        lock = self.choice(["FOR UPDATE", "FOR UPDATE", "FOR SHARE"])
        return lock + self.choice([""] * 8 + [" NOWAIT", " SKIP LOCKED"])

    def force(self, column: str) -> str:
        return f"FORCE INDEX ({self.indexes[column]})"

    def access(self, level: str) -> str:
        if self.random() < 0.06:
            return f"WHERE v = {self.randint(0, 3)}"       # no index has it: the whole table is read
        column = self.choice(list(self.indexes))
        return f"{self.force(column)} WHERE {self.condition(column, level)}"

    def point(self, column: str) -> str:
        return f"{column} = {self.value()}"

    def condition(self, column: str, level: str) -> str:
        roll = self.random()
        if roll < 0.5:
            return self.point(column)
        low, high = sorted((self.value(), self.value()))
        without_end = [f"{column} > {low}", f"{column} >= {low}", f"{column} IN ({low}, {high + 5})"]
        with_end = [f"{column} BETWEEN {low} AND {high}", f"{column} > {low} AND {column} < {high + 5}", f"{column} < {high}", f"{column} <= {high}"]
        released = column != "id" and level in ("READ UNCOMMITTED", "READ COMMITTED")
        if ("upper end by primary key" in self.avoid and column == "id") or ("release by index" in self.avoid and released):
            with_end = []
        condition = self.choice(without_end + with_end)
        if self.random() < 0.2 and not ("release by index" in self.avoid and released):
            condition += f" AND v < {self.randint(1, 3)}"
        return condition

    def assignment(self, by: str) -> str:
        """What an UPDATE sets. Not the column that it goes by: whether a row is met again where it has moved is a matter
        of buffering."""
        choices = ["v = v + 1"] * 5 + [f"{column} = {self.value()}" for column in ("k", "u") if column != by]
        if by != "id":
            choices.append(f"id = {self.value()}")
        return self.choice(choices)

    def row(self) -> str:
        return f"({self.value()}, {self.value()}, {self.value()}, {self.randint(0, 3)})"

    def insert(self) -> str:
        roll = self.random()
        rows = ", ".join(self.row() for _ in range(self.choice([1, 1, 1, 2])))
        if roll < 0.6:
            return f"INSERT INTO t VALUES {rows}"
        if roll < 0.7:
            return f"INSERT IGNORE INTO t VALUES {rows}"
        if roll < 0.88:
            return f"INSERT INTO t VALUES {self.row()} ON DUPLICATE KEY UPDATE v = t.v + 1"
        return f"REPLACE INTO t VALUES {self.row()}"

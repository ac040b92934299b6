"""Schedules of a family: `t` with a table whose rows name its rows by a foreign key, and at times a third that names those.

The checks of foreign keys take locks: on the parent of a row that is inserted, on the children of a row that is deleted or
changes its key, and along cascades through two tables. The schedules show which locks they take and which statements wait for them.

MySQL alone can be compared with: since 9.6 the server looks after foreign keys there, while MariaDB leaves them to InnoDB.
"""
from dataclasses import replace

from generate import LEVELS, Child, Generator, Schedule, values

CHILDREN = ("c", "d")
ACTIONS = ("RESTRICT", "NO ACTION", "CASCADE", "CASCADE", "SET NULL")
INDEXES = {"id": "PRIMARY", "p": "p"}


class FamilyGenerator(Generator):
    def __init__(self, seed: int, avoid: frozenset[str] = frozenset(), levels: tuple[str, ...] = LEVELS):
        super().__init__(seed, avoid, levels)
        self.children: tuple[Child, ...] = ()

    def schedule(self) -> Schedule:
        parents = self.sample(range(10, 70, 10), self.randint(3, 5))
        children, of = [], ("t", self.choice([column for column in self.indexes if column != "k"]), parents)
        for name in CHILDREN[:self.choice([1, 1, 2])]:
            child = self.child(name, *of)
            children.append(child)
            of = (name, "id", [row[0] for row in child.rows])
        self.children = tuple(children)
        schedule = super().schedule()
        rows = tuple((key, self.choice([10, 20, 20, 30, 40]), key, self.randint(0, 3)) for key in sorted(parents))
        return replace(schedule, rows=rows, ghosts=(), children=self.children)

    def child(self, name: str, of: str, column: str, parents: list[int]) -> Child:
        actions = f"ON DELETE {self.choice(ACTIONS)} ON UPDATE {self.choice(ACTIONS)}"
        definition = f"id INT PRIMARY KEY, p INT, v INT, KEY p (p), FOREIGN KEY (p) REFERENCES {of} ({column}) {actions}"
        keys = sorted(self.sample(range(10, 70, 10), self.randint(2, 4)))
        rows = tuple((key, self.choice([*parents, *parents, None]), self.randint(0, 3)) for key in keys)
        return Child(name, definition, INDEXES, rows)

    def statement(self, level: str) -> str:
        roll = self.random()
        if roll < 0.35:
            return super().statement(level)
        if roll < 0.5:
            return self.choice([f"UPDATE t SET {column} = {self.value()} WHERE {self.point(column)}" for column in self.indexes if column != "k"]
                               + [f"DELETE FROM t WHERE {self.point('id')}"])
        name = self.choice(self.children).name
        column = self.choice(list(INDEXES))
        reached = f"FORCE INDEX ({INDEXES[column]})"
        roll = self.random()
        if roll < 0.05:
            return f"SELECT * FROM {name} {reached} WHERE {self.condition(column, level)}"
        if roll < 0.25:
            return f"SELECT * FROM {name} {reached} WHERE {self.condition(column, level)} {self.strength()}"
        if roll < 0.6:
            return self.insert_child(name)
        if roll < 0.85:
            return f"UPDATE {name} {reached} SET {self.child_assignment(column)} WHERE {self.condition(column, level)}"
        return f"DELETE FROM {name} WHERE {self.point(column)}"

    def child_assignment(self, by: str) -> str:
        choices = ["v = v + 1", "v = v + 1"]
        if by != "p":
            choices += [f"p = {self.value()}"] * 3 + ["p = NULL"]
        if by != "id":
            choices.append(f"id = {self.value()}")
        return self.choice(choices)

    def child_row(self) -> str:
        return values((self.value(), self.choice([self.value(), self.value(), self.value(), None]), self.randint(0, 3)))

    def insert_child(self, name: str) -> str:
        roll = self.random()
        if roll < 0.7:
            return f"INSERT INTO {name} VALUES " + ", ".join(self.child_row() for _ in range(self.choice([1, 1, 1, 2])))
        if roll < 0.78:
            return f"INSERT IGNORE INTO {name} VALUES {self.child_row()}"
        if roll < 0.9:
            return f"INSERT INTO {name} VALUES {self.child_row()} ON DUPLICATE KEY UPDATE v = {name}.v + 1"
        return f"REPLACE INTO {name} VALUES {self.child_row()}"

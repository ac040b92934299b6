"""Schedules of a table whose indexes are on generated columns and on expressions: their entries come and go with the columns that
they are computed of, and are locked as others are.
"""
from generate import GENERATED, LEVELS, Generator

# The column that the index of a shape follows.
FOLLOWED = {"virtual": "k", "stored": "u", "functional": "k"}


class GeneratedGenerator(Generator):
    shapes = GENERATED

    def __init__(self, seed: int, avoid: frozenset[str] = frozenset(), levels: tuple[str, ...] = LEVELS):
        super().__init__(seed, avoid, levels)

    def assignment(self, by: str) -> str:
        return super().assignment(by if by == "id" else FOLLOWED[self.shape])

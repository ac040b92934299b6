"""Random tables: types, collations, indexes, NULLs; and what a query reads them with."""
import random
from dataclasses import dataclass, field

from expressions import DOCUMENTS, WORDS, quoted

TYPES = {
    "n": ["TINYINT", "SMALLINT UNSIGNED", "INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "DECIMAL(8,2)", "DECIMAL(20,5)", "DOUBLE", "FLOAT", "YEAR", "BIT(5)"],
    "s": ["CHAR(6)", "VARCHAR(10)", "VARCHAR(20) COLLATE utf8mb4_bin", "VARCHAR(10) COLLATE utf8mb4_general_ci", "VARCHAR(10) COLLATE utf8mb4_unicode_ci", "VARCHAR(10) COLLATE utf8mb4_0900_as_cs",
          "VARCHAR(10) CHARACTER SET latin1", "VARBINARY(8)", "BINARY(4)", "TEXT", "ENUM('red','green','a','')", "SET('a','b','c')"],
    "d": ["DATE", "TIME", "DATETIME", "DATETIME(3)", "TIMESTAMP NULL", "TIME(2)"],
    "j": ["JSON"],
}
RANGES = {"TINYINT": 127, "YEAR": 0, "BIT(5)": 31}


@dataclass
class Column:
    name: str
    kind: str
    type: str

    def value(self, chance: random.Random, null: float = 0.15) -> str:
        """A literal that the column takes, and an index on it can look for."""
        if chance.random() < null:
            return "NULL"
        if self.kind == "j":
            return chance.choice(DOCUMENTS)
        if self.kind == "n":
            return self.number(chance)
        if self.kind == "d":
            return self.moment(chance)
        if self.type.startswith("ENUM"):
            return chance.choice(["'red'", "'green'", "'a'", "''"])
        if self.type.startswith("SET"):
            return chance.choice(["''", "'a'", "'b'", "'a,b'", "'a,b,c'", "'c'"])
        words = [word for word in WORDS if len(word.encode()) <= (4 if self.type.startswith("BINARY") else 6) and not ("latin1" in self.type and "Ω" in word)]
        return quoted(chance.choice(words))

    def number(self, chance: random.Random) -> str:
        if self.type == "YEAR":
            return str(chance.choice([0, 1999, 2000, 2024, 2030]))
        if "DECIMAL" in self.type or self.type in ("DOUBLE", "FLOAT"):
            return chance.choice(["0", "1", "1.5", "-2.25", "10.01", "-0.5", "100", f"{chance.randint(-20, 20)}.{chance.randint(0, 99):02}"])
        most = RANGES.get(self.type, 300)
        least = 0 if "UNSIGNED" in self.type or self.type.startswith("BIT") else -5
        edges = {"BIGINT": ["9223372036854775807", "9223372036854775806", "9007199254740993", "9007199254740992"],
                 "BIGINT UNSIGNED": ["18446744073709551615", "18446744073709551614", "9007199254740993"], "INT": ["-2147483648"]}.get(self.type, ["1"])
        return chance.choice([*"012357", str(chance.randint(least, min(most, 30))), str(most), str(least), *edges])

    def moment(self, chance: random.Random) -> str:
        date = f"{chance.choice([1999, 2023, 2024])}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        time = f"{chance.randint(0, 23):02}:{chance.choice([0, 30]):02}:{chance.choice([0, 59]):02}"
        if self.type.startswith("TIME") and not self.type.startswith("TIMESTAMP"):
            return f"'{chance.choice(['', '-', '1'])}{time}'"
        if self.type == "DATE":
            return chance.choice([f"'{date}'", "'2024-02-29'"])
        return chance.choice([f"'{date} {time}'", "'2024-02-29 12:30:00'", f"'{date}'", f"'{date} {time}.25'"])


@dataclass
class Table:
    name: str
    columns: list[Column]
    indexes: dict[str, str] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)

    @staticmethod
    def drawn(chance: random.Random, name: str) -> "Table":
        columns = []
        for n in range(chance.randint(2, 6)):
            kind = chance.choice("nnnsssddj")
            columns.append(Column(f"c{n}", kind, chance.choice(TYPES[kind])))
        table = Table(name, columns)
        keyed = [column for column in columns if column.kind != "j"]
        for n in range(chance.randint(0, 3) if keyed else 0):
            parts = chance.sample(keyed, chance.randint(1, min(3, len(keyed))))
            prefix = {"TEXT": "(4)"}
            table.indexes[f"k{n}"] = ", ".join(
                f"{part.name}{prefix.get(part.type, '(2)' if 'CHAR' in part.type and chance.random() < 0.15 else '')}{chance.choice(['', '', ' DESC'])}" for part in parts)
        table.rows = [table.row(chance, number) for number in range(chance.choice([0, 1, 5, 12, 30, 30]))]
        return table

    def row(self, chance: random.Random, number: int) -> str:
        return f"({', '.join([str(number + 1), *(column.value(chance) for column in self.columns)])})"

    def statements(self) -> list[str]:
        parts = ["id INT PRIMARY KEY", *(f"{column.name} {column.type}" for column in self.columns),
                 *(f"KEY {name} ({listed})" for name, listed in self.indexes.items())]
        rows = [f"INSERT IGNORE INTO {self.name} VALUES {', '.join(self.rows)}"] if self.rows else []
        return [f"CREATE TABLE {self.name} ({', '.join(parts)})", *rows]

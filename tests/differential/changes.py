"""Random tables, and inserts, updates, deletes, transactions and simple queries of them."""
import random

TYPES = ["TINYINT", "SMALLINT UNSIGNED", "INT", "BIGINT", "BIGINT UNSIGNED", "DECIMAL(8,2)", "DOUBLE", "CHAR(6)", "VARCHAR(10)",
         "VARCHAR(10) COLLATE utf8mb4_bin", "VARCHAR(10) COLLATE utf8mb4_general_ci", "VARBINARY(8)", "TEXT", "DATE", "TIME", "DATETIME", "DATETIME(3)", "YEAR",
         "ENUM('red','green','blue')"]
WORDS = ["a", "A", "b", "ab", "aB", "abc", "", "z", "ß", "ss", "é", "e", "0", "1", "10", "2x", " a", "a ", "zebra", "Ω"]


class Chance(random.Random):
    odd = False  # literals of other types: not in changes, where MySQL may refuse them before it has looked at any row

    def literal(self, kind: str) -> str:
        if self.random() < 0.12:
            return "NULL"
        if self.odd and self.random() < 0.04 and not any(kind.startswith(t) for t in ("DATE", "TIME", "ENUM", "VARBINARY")):
            return self.choice(["'x'", "-1", "1e3", "''", "'12abc'", "99999999999", "3.7", "'2024-01-01'"])
        if "INT" in kind:
            return str(self.choice([0, 1, 2, 3, 5, 7, 10, 50, 100, 127, self.randint(0, 30), *([] if "UNSIGNED" in kind else [-1, -5, -128])]))
        if kind.startswith("DECIMAL"):
            return self.choice(["0", "1.5", "-2.25", "10.01", "99.99", f"{self.randint(-50, 50)}.{self.randint(0, 99):02}"])
        if kind == "DOUBLE":
            return self.choice(["0", "1.5e0", "-2.5", "1e10", "0.125", str(self.randint(-20, 20))])
        if kind == "DATE":
            return f"'{self.choice([1999, 2023, 2024])}-{self.randint(1, 12):02}-{self.randint(1, 28):02}'"
        if kind == "TIME":
            return f"'{self.randint(-30, 30)}:{self.randint(0, 59):02}:{self.randint(0, 59):02}'"
        if kind.startswith("DATETIME"):
            return f"'{self.choice([1999, 2024])}-0{self.randint(1, 9)}-1{self.randint(0, 9)} {self.randint(0, 23)}:00:{self.randint(0, 59):02}.{self.randint(0, 999):03}'"
        if kind == "YEAR":
            return str(self.choice([1999, 2000, 2024, self.randint(1990, 2030)]))
        if kind.startswith("ENUM"):
            return self.choice(["'red'", "'green'", "'blue'", "2"])
        return "'" + self.choice(WORDS) + "'"


class Table:
    def __init__(self, chance: Chance, name: str):
        self.chance, self.name = chance, name
        self.columns = {f"c{n}": chance.choice(TYPES) for n in range(chance.randint(2, 5))}

    def create(self) -> str:
        chance = self.chance
        parts = ["id INT PRIMARY KEY"]
        for name, kind in self.columns.items():
            default = ""
            if kind != "TEXT" and not kind.startswith("ENUM") and chance.random() < 0.2:
                literal = chance.literal(kind)
                default = "" if literal == "NULL" else f" DEFAULT {literal}"
            parts.append(f"{name} {kind}{' NOT NULL' if chance.random() < 0.15 else ''}{default}")
        for n in range(chance.randint(0, 3)):
            columns = chance.sample(list(self.columns), chance.randint(1, min(2, len(self.columns))))
            listed = ", ".join(c + ("(4)" if self.columns[c] == "TEXT" else "") + chance.choice(["", "", " DESC"]) for c in columns)
            parts.append(f"{'UNIQUE ' if chance.random() < 0.2 else ''}KEY k{n} ({listed})")
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"

    def any(self, prefix: str = "") -> tuple[str, str]:
        name, kind = self.chance.choice([("id", "INT"), *self.columns.items()])
        return prefix + name, kind

    def condition(self, prefix: str = "", depth: int = 0) -> str:
        chance = self.chance
        column, kind = self.any(prefix)
        roll = chance.random()
        if depth < 2 and roll < 0.25:
            return f"({self.condition(prefix, depth + 1)} {chance.choice(['AND', 'AND', 'OR'])} {self.condition(prefix, depth + 1)})"
        if roll < 0.30:
            return f"NOT ({self.condition(prefix, depth + 1)})"
        if roll < 0.36:
            return f"{column} IS {chance.choice(['', 'NOT '])}NULL"
        if roll < 0.48:
            return f"{column} {chance.choice(['', 'NOT '])}BETWEEN {chance.literal(kind)} AND {chance.literal(kind)}"
        if roll < 0.60:
            return f"{column} {chance.choice(['', 'NOT '])}IN ({', '.join(chance.literal(kind) for _ in range(chance.randint(1, 4)))})"
        if roll < 0.66 and any(t in kind for t in ("CHAR", "TEXT", "ENUM")):
            return f"{column} LIKE '{chance.choice(['a%', '%b', '_', '%', 'A_', 's%', '%e%'])}'"
        return f"{column} {chance.choice(['=', '=', '=', '<', '>', '<=', '>=', '<>', '<=>'])} {chance.literal(kind)}"

    def values(self) -> str:
        chance = self.chance
        return "(" + ", ".join([str(chance.randint(1, 80))] +
                               [chance.choice(["DEFAULT"] + [chance.literal(k)] * 9) for k in self.columns.values()]) + ")"

    def assignment(self) -> str:
        chance = self.chance
        column, kind = chance.choice(list(self.columns.items()))
        if "INT" in kind or kind.startswith("DECIMAL") or kind == "DOUBLE":
            return f"{column} = {chance.choice([chance.literal(kind), f'{column} + 1', f'{column} * 2', f'{column} - 3'])}"
        if "CHAR" in kind or kind == "TEXT":
            return f"{column} = {chance.choice([chance.literal(kind), f'CONCAT({column}, {chance.literal(kind)})', f'UPPER({column})'])}"
        return f"{column} = {chance.literal(kind)}"


class Script:
    def __init__(self, seed: int):
        self.chance = Chance(seed)
        self.tables = [Table(self.chance, f"t{n}") for n in range(2)]

    def start(self) -> list[str]:
        return [t.create() for t in self.tables]

    def next(self) -> str:
        chance = self.chance
        table = chance.choice(self.tables)
        roll = chance.random()
        if roll < 0.22:
            rows = ", ".join(table.values() for _ in range(chance.choice([1, 1, 2, 5])))
            tail = f" ON DUPLICATE KEY UPDATE {table.assignment()}" if chance.random() < 0.25 else ""
            verb = "INSERT" if tail else chance.choice(["INSERT", "INSERT", "INSERT IGNORE", "REPLACE"])
            return f"{verb} INTO {table.name} VALUES {rows}{tail}"
        if roll < 0.34:
            limit = f" ORDER BY id LIMIT {chance.randint(1, 5)}" if chance.random() < 0.3 else ""
            return f"UPDATE {table.name} SET {', '.join(dict.fromkeys(table.assignment() for _ in range(chance.randint(1, 2))))} WHERE {table.condition()}{limit}"
        if roll < 0.40:
            return f"DELETE FROM {table.name} WHERE {table.condition()} AND id % 3 = {chance.randint(0, 2)}"
        if roll < 0.46:
            return chance.choice(["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s"])
        chance.odd = True
        query = self.select(table)
        chance.odd = False
        return query

    def select(self, table: Table) -> str:
        chance = self.chance
        roll = chance.random()
        where = f" WHERE {table.condition()}" if chance.random() < 0.85 else ""
        if roll < 0.35:
            column, _ = table.any()
            direction = chance.choice(["", " DESC"])
            limit = f" LIMIT {chance.randint(0, 8)}" if chance.random() < 0.4 else ""
            return f"SELECT * FROM {table.name}{where} ORDER BY {column}{direction}, id{direction}{limit}"
        if roll < 0.5:
            column, _ = table.any()
            return f"SELECT id, {column} FROM {table.name}{where} ORDER BY id"
        if roll < 0.68:
            column, _ = table.any()
            group, kind = table.any()
            having = chance.choice(["", "", " HAVING COUNT(*) > 1"])
            shown = f"HEX(MIN({group}))" if "CHAR" in kind or kind == "TEXT" else group  # which of equal texts stands for its group is open
            if shown != group:
                shown = "1"
            return f"SELECT {shown}, COUNT(*), COUNT({column}), COUNT(DISTINCT {column}), SUM(id), MIN(id) FROM {table.name}{where} GROUP BY {group}{having} ORDER BY MIN(id)"
        if roll < 0.78:
            column, kind = table.any()
            total = f"SUM({column}), AVG({column})" if "INT" in kind or "DECIMAL" in kind else f"COUNT({column})"
            return f"SELECT {total}, MIN(id), MAX(id), COUNT(*) FROM {table.name}{where}"
        one, two = self.tables
        left, right = one.any("x.")[0], two.any("y.")[0]
        if chance.random() < 0.6:
            left, right = "x.id", "y.id"
        kind = chance.choice(["JOIN", "LEFT JOIN"])
        return f"SELECT x.id, y.id FROM {one.name} x {kind} {two.name} y ON {left} = {right} WHERE {one.condition('x.')} ORDER BY x.id, y.id LIMIT 50"

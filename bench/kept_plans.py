#!/usr/bin/env python3
"""Plans that sessions keep, over tables that grow: none stays much worse than one made now.

    bench/kept_plans.py [--program target/release/tidemark] [--rows 200000] [--shapes 1000] [--seed 1] [--verbose]
    bench/kept_plans.py --address 127.0.0.1:3306:USER                       the same on a server that is up

Four tables grow from empty, each four times as large as before, until the largest has `--rows` rows (`--rows 1000000` for the whole range); their values
are skewed. A thousand statements, of as many shapes, are run at each size with new values, now a rare one, now a common one: half as texts, half
prepared, all in sessions that have run them at all sizes before. Beside each the same text is run with a comment in front, which makes it be
planned anew. What both read is counted (`Handler_read_…`), which no other work on the machine changes. One that reads more than three times as much as the other
is run once more after a second: if it still does, it counts as worse. The program fails if there is one.
"""
import argparse
import os
import random
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.address import Address  # noqa: E402
from support.server import Server  # noqa: E402

DATABASE = "kept_plans"
#: A table and which share of the largest it has.
TABLES = {"big": 1.0, "middle": 0.1, "small": 0.01, "tiny": 0.0002}
COLUMNS = "id INT PRIMARY KEY, k INT, x INT, plain INT, day DATE, word VARCHAR(20), KEY (k), KEY (x), KEY (word, k)"
#: Half of the rows have `k = 1`, the others values of their own; `plain` is the same without an index; `x` is spread evenly.
ROW = "SELECT n, IF(n % 2, 1, n), CRC32(n) % {most}, IF(n % 2, 1, n), DATE '2020-01-01' + INTERVAL n % 2000 DAY, CONCAT(ELT(1 + n % 3, 'a', 'b', 'c'), n) FROM seq"
#: Rows that are read in the time that a plan takes to make.
GROWTH, WORSE, SLACK = 4, 3.0, 1000
#: How often each statement is run at each size.
RUNS = 2
#: A session keeps 400 plans.
SHAPES_PER_SESSION = 250


class Shapes:
    """Statements, each a text with places for values and what may stand there."""

    def __init__(self, seed: int, count: int):
        self.chance = random.Random(seed)
        self.texts: dict[str, list[str]] = {}
        while len(self.texts) < count:
            text, kinds = self.shape()
            self.texts.setdefault(text, kinds)

    def shape(self) -> tuple[str, list[str]]:
        chance = self.chance
        tables = chance.choices(list(TABLES), k=chance.choice([1, 1, 1, 2, 2, 3]))
        aliases = [f"t{n}" for n in range(len(tables))]
        joins = [f"t{n}.{chance.choice(['id', 'id', 'k', 'x'])} = t{n - 1}.{chance.choice(['id', 'x', 'x'])}" for n in range(1, len(tables))]
        kinds: list[str] = []
        conditions = [self.condition(chance.choice(aliases), kinds) for _ in range(chance.choice([1, 1, 2, 3]))]
        if len(tables) == 1 and chance.random() < 0.4:
            shown, tail = "t0.id, t0.word", f" ORDER BY t0.{chance.choice(['id', 'k', 'x', 'word'])} LIMIT {chance.choice([1, 10])}"
        else:
            shown, tail = chance.choice(["COUNT(*)", "SUM(t0.plain), MAX(t0.word)", f"COUNT({aliases[-1]}.day)"]), ""
        text = f"SELECT {shown} FROM {', '.join(f'{table} {alias}' for table, alias in zip(tables, aliases))} WHERE {' AND '.join(joins + conditions)}{tail}"
        return text, kinds

    def condition(self, alias: str, kinds: list[str]) -> str:
        chance, column = self.chance, self.chance.choice(["id", "k", "k", "x", "plain", "word", "day"])
        if column == "word":
            kinds.append("word")
            return f"{alias}.word {chance.choice(['=', 'LIKE', 'LIKE'])} ?"
        if column == "day":
            kinds.append("day")
            return f"{alias}.day {chance.choice(['=', '>', '<'])} ?"
        operator = chance.choice(["=", "=", "=", ">", "<", "IN", "BETWEEN"])
        match operator:
            case "IN":
                kinds += [column, column]
                return f"{alias}.{column} IN (?, ?)"
            case "BETWEEN":
                kinds += [column, "near"]
                return f"{alias}.{column} BETWEEN ? AND ?"
        kinds.append(column)
        return f"{alias}.{column} {operator} ?"

    def values(self, kinds: list[str], rows: int) -> list[str]:
        """Those of one execution, as literals."""
        chance, found = self.chance, []
        for kind in kinds:
            number = chance.choice([1, 1, 2 * chance.randrange(rows // 2 + 1), rows - 2, chance.randrange(rows + 1)])
            match kind:
                case "near":
                    found.append(str(int(found[-1]) + chance.choice([0, 5, rows // 10])))
                case "word":
                    found.append(f"'{chance.choice('abc')}{chance.choice([str(number), '%', f'{number % 100}%'])}'")
                case "day":
                    found.append(f"'2020-0{1 + number % 9}-1{number % 10}'" if number % 3 else f"'202{number % 6}-12-31'")
                case _:
                    found.append(str(number))
        return found


def filled(text: str, values: list[str]) -> str:
    parts = text.split("?")
    return parts[0] + "".join(value + part for value, part in zip(values, parts[1:]))


class Session:
    """A connection that keeps plans, and has prepared every other of its statements."""

    def __init__(self, address: Address, texts: list[str]):
        self.cursor = address.connect(database=DATABASE).cursor()
        self.prepared = {}
        for number, text in enumerate(texts):
            if number % 2:
                self.cursor.execute(f"PREPARE p{number} FROM \"{text}\"")
                self.prepared[text] = number

    def run(self, sql: str) -> tuple[int, tuple]:
        """What a statement reads, and its rows."""
        before = self.read()
        self.cursor.execute(sql)
        rows = self.cursor.fetchall()
        return self.read() - before, rows

    def read(self) -> int:
        self.cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return sum(int(value) for _, value in self.cursor.fetchall())

    def kept(self, text: str, values: list[str]) -> tuple[int, tuple]:
        if text not in self.prepared:
            return self.run(filled(text, values))
        for number, value in enumerate(values):
            self.cursor.execute(f"SET @v{number} = {value}")
        using = " USING " + ", ".join(f"@v{number}" for number in range(len(values))) if values else ""
        return self.run(f"EXECUTE p{self.prepared[text]}{using}")

    def fresh(self, text: str, values: list[str]) -> tuple[int, tuple]:
        return self.run("/* anew */ " + filled(text, values))


def grow(cursor, rows: int, most: int) -> None:
    """Adds rows until the largest table has so many."""
    for table, share in TABLES.items():
        cursor.execute(f"SELECT COUNT(*) FROM {table}")
        have, wanted = cursor.fetchone()[0], max(int(rows * share), min(rows, 5))
        cursor.execute(f"INSERT INTO {table} {ROW.format(most=most)} WHERE n >= {have} AND n < {wanted}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="the server to start; default: TIDEMARK_BINARY, or target/release/tidemark")
    parser.add_argument("--address", help="HOST:PORT[:USER] of a server that is up")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--shapes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="print all that read more at first")
    options = parser.parse_args()
    if options.program:
        os.environ["TIDEMARK_BINARY"] = options.program
    shapes = Shapes(options.seed, options.shapes)
    texts = list(shapes.texts)
    with ExitStack() as stack:
        address = Address.parse(options.address) if options.address else stack.enter_context(Server("kept_plans")).address
        cursor = address.connect().cursor()
        for statement in [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", "SET cte_max_recursion_depth = 100000000",
                          "CREATE TABLE seq (n INT PRIMARY KEY)", *(f"CREATE TABLE {table} ({COLUMNS})" for table in TABLES),
                          f"INSERT INTO seq WITH RECURSIVE n AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM n WHERE n < {options.rows - 1}) SELECT n FROM n"]:
            cursor.execute(statement)
        groups = [texts[at:at + SHAPES_PER_SESSION] for at in range(0, len(texts), SHAPES_PER_SESSION)]
        sessions = [(Session(address, group), group) for group in groups]
        sizes = [0]
        while sizes[-1] < options.rows:
            sizes.append(min(max(sizes[-1] * GROWTH, 2), options.rows))
        worse = []
        for rows in sizes:
            grow(cursor, rows, options.rows)
            worse += compare(sessions, shapes, rows, options.verbose)
        print(f"{len(worse)} of {len(texts) * len(sizes) * RUNS} times a kept plan reads more than {WORSE:g} times what a new one does, for more than a second")
        for text in worse[:20]:
            print("  " + text)
        sys.exit(bool(worse))


def compare(sessions: list[tuple[Session, list[str]]], shapes: Shapes, rows: int, verbose: bool) -> list[str]:
    """Runs all statements at this size of the tables; returns those whose plans stay worse."""
    began, ratios, suspects, worse = time.monotonic(), [], [], []

    def is_worse(kept: int, fresh: int) -> bool:
        return kept > WORSE * fresh + SLACK

    for session, texts in sessions:
        for text in [text for text in texts for _ in range(RUNS)]:
            values = shapes.values(shapes.texts[text], max(rows, 2))
            (kept, seen), (fresh, expected) = session.kept(text, values), session.fresh(text, values)
            if " LIMIT " not in text and sorted(map(str, seen)) != sorted(map(str, expected)):
                sys.exit(f"other rows: {filled(text, values)}: {seen} and {expected}")
            ratios.append((kept + 1) / (fresh + 1))
            if is_worse(kept, fresh):
                suspects.append((session, text, values, kept, fresh))
    if suspects:
        time.sleep(1)
    for session, text, values, kept_first, fresh_first in suspects:
        (kept, _), (fresh, _) = session.kept(text, values), session.fresh(text, values)
        line = f"{rows} rows: {kept_first} read, then {kept}, by a new plan {fresh}: {filled(text, values)}"
        if is_worse(kept, fresh):
            worse.append(line)
        elif verbose:
            print("  for less than a second: " + line)
    print(f"{rows:8} rows: read by kept plans to read by new ones: mean {statistics.geometric_mean(ratios):.3f}, worst {max(ratios):.1f}, "
          f"{len(suspects)} suspects, {len(worse)} worse, {time.monotonic() - began:.0f} s", flush=True)
    return worse


if __name__ == "__main__":
    main()

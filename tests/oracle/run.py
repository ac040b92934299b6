#!/usr/bin/env python3
"""Queries whose answers say whether they are right: no other server is needed, since a query is held against itself.

    tests/oracle/run.py [--address HOST:PORT[:USER]] [--against HOST:PORT:USER] [--seed N] [--seeds 60 | --seconds N]

Each seed makes tables of random types with random indexes, and asks about random conditions over all functions:

- *Three parts.* A condition is true, false or unknown. The rows of a query are those where it is true, those where its
  negation is, and those where it is NULL; so are its groups, its distinct rows, the groups that a HAVING leaves, and its
  aggregates add up. (Rigger and Su, *Finding bugs in database systems via query partitioning*, 2020.)
- *Not optimised.* As many rows pass WHERE as there are for which the condition is true in the select list, where no index
  can help. (The same, *Detecting optimization bugs via non-optimizing reference engine construction*, 2020.)
- *Joins.* A join is the product of its tables with ON in WHERE; a left join is that and the rows with NOT EXISTS.
  `IN (SELECT …)` is EXISTS with the comparison inside.
- *Windows and totals.* What a window function says is what a join of numbered rows says, and ROLLUP adds the groups of fewer keys.
- *Rules.* The answer is the same with each of the rules off that make other queries of queries, and with all off.
- *Plans.* It is the same by plans that are chosen at random (`tidemark_random_plans`), by which every other question is asked, too. (Waas and
  Galindo-Legaria, *Counting, enumerating, and sampling of execution plans*, 2000.)
- *Other ways.* The answer is the same without an index, with each index forced, and with buffers so small that
  everything is put aside.

With `--against`, a MySQL server, the value of each condition for each row must be the same there. A wrong answer is printed as a
golden script. A panic, a lost connection or an answer that does not come in a minute is one, too.
"""
import itertools
import random
import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pymysql

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.address import Address  # noqa: E402
from support.report import FIXED_SEED, Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

from expressions import Expressions  # noqa: E402
from tables import Table  # noqa: E402

TINY = "SET SESSION sort_buffer_size = 32768, join_buffer_size = 128, tmp_table_size = 1024"
# The rules that make other queries of queries, and ways to read a table that are not always considered, each off in turn, and all.
RULES = ["derived_merge", "outer_join_removal", "having_pushdown", "derived_condition_pushdown", "semijoin", "index_merge", "skip_scan"]
WITHOUT = [f"SET SESSION optimizer_switch = '{rule}=off'" for rule in RULES] + ["SET SESSION optimizer_switch = '" + ",".join(f"{rule}=off" for rule in RULES) + "'"]
# And one that is off by default.
WITHOUT.append("SET SESSION optimizer_switch = 'subquery_to_derived=on'")
WITH = "SET SESSION optimizer_switch = DEFAULT"
ROOMY = "SET SESSION sort_buffer_size = 262144, join_buffer_size = 262144, tmp_table_size = 16777216"
# What must never be answered: unknown error, connections that are gone.
NEVER = {1105, 2006, 2013, 2014, 2055}
QUESTIONS = 25
SECONDS_MAX = 60


class Wrong(Exception):
    """An answer that cannot be right."""


def shown(value):
    """Equal for values that differ only in how their last digits were rounded."""
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            return value
        if "." in value or "e" in value.lower():
            return f"{number + 0.0:.9g}"
        return value if value != "-0" else "0"
    return value


def rows_of(rows) -> Counter:
    return Counter(tuple(shown(value) for value in row) for row in rows)


class Asker:
    """A connection; what it is asked is kept, to be printed."""

    def __init__(self, address: Address):
        self.address = address
        self.connect()
        self.asked: list[str] = []
        self.errors = Counter()

    def connect(self) -> None:
        self.connection = self.address.connect(conv={}, charset="utf8mb4", read_timeout=SECONDS_MAX)

    def ask(self, sql: str) -> list | None:
        """The rows; None if it was refused with an error that a statement may have."""
        self.asked.append(sql)
        with self.connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                return list(cursor.fetchall())
            except pymysql.err.MySQLError as error:
                code = error.args[0]
                if code in NEVER:
                    self.connect()
                    raise Wrong(f"{sql}\n{error}") from error
                self.errors[code] += 1
                return None
            except UnicodeDecodeError:
                return None

    def close(self) -> None:
        self.connection.close()


class Questions:
    """The questions of one seed."""

    def __init__(self, seed: int, asker: Asker, database: str):
        self.chance, self.asker, self.database = random.Random(seed), asker, database
        self.tables = [Table.drawn(self.chance, f"t{n}") for n in range(2)]
        self.kinds = [self.parts, self.parts, self.counted, self.counted, self.aggregates, self.distinct, self.grouped, self.having,
                      self.joined, self.left_joined, self.within, self.other_ways, self.other_ways, self.ordered, self.sets, self.derived, self.rewritten, self.rewritten, self.windows, self.totals]

    def start(self) -> list[str]:
        return [f"DROP DATABASE IF EXISTS {self.database}", f"CREATE DATABASE {self.database}", f"USE {self.database}", *(sql for table in self.tables for sql in table.statements())]

    def next(self) -> None:
        self.asker.asked.clear()
        self.asker.ask(f"SET SESSION tidemark_random_plans = {self.chance.choice([0, self.chance.randint(1, 1 << 32)])}")
        self.chance.choice(self.kinds)()

    # ------------------------------------------------------------------------------------------ what a query is made of

    def over(self, *pairs: tuple[str, Table]) -> Expressions:
        """Expressions over tables, each by its alias."""
        columns = []
        for alias, table in pairs:
            columns.append((f"{alias}.id", "n", lambda: str(self.chance.randint(0, 30))))
            for column in table.columns:
                columns.append((f"{alias}.{column.name}", column.kind, lambda column=column: self.constant(column)))
        return Expressions(self.chance, columns)

    def constant(self, column) -> str:
        value = column.value(self.chance, 0.04)
        if column.kind == "n" and value != "NULL" and self.chance.random() < 0.2:
            value = f"'{value}'"
        return f"CAST({value} AS JSON)" if column.kind == "j" and value != "NULL" else value

    def source(self) -> tuple[str, Expressions, str]:
        """A FROM clause, expressions over it, and what names a row of it."""
        one, two = self.tables
        roll = self.chance.random()
        if roll < 0.5:
            return f"{one.name} x", self.over(("x", one)), "x.id"
        both = self.over(("x", one), ("y", two))
        if roll < 0.65:
            return f"{one.name} x, {two.name} y", both, "x.id, y.id"
        if roll < 0.7:
            inner = self.over(("x", one)).condition(1)
            return f"(SELECT * FROM {one.name} x WHERE {inner}) x", self.over(("x", one)), "x.id"
        kind = self.chance.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN"])
        return f"{one.name} x {kind} {two.name} y ON {self.join_condition(both)}", both, "x.id, y.id"

    def join_condition(self, both: Expressions) -> str:
        left = self.chance.choice([name for name, _, _ in both.columns if name.startswith("x.")])
        right = self.chance.choice([name for name, _, _ in both.columns if name.startswith("y.")])
        roll = self.chance.random()
        if roll < 0.3:
            return "x.id = y.id"
        if roll < 0.6:
            return f"{left} = {right}"
        if roll < 0.8:
            return f"{left} = {right} AND {both.condition(1)}"
        return both.condition(2)

    def condition(self, expressions: Expressions) -> str:
        condition = expressions.condition(self.chance.choice([0, 1, 2, 3]))
        if self.chance.random() < 0.12:
            other = self.tables[1]
            inner = Expressions(self.chance, expressions.columns + self.over(("z", other)).columns)
            column = self.chance.choice(expressions.columns)[0]
            sub = self.chance.choice([
                f"EXISTS (SELECT 1 FROM {other.name} z WHERE {inner.condition(1)})",
                f"{column} IN (SELECT z.{self.chance.choice(other.columns).name} FROM {other.name} z WHERE {inner.condition(1)})",
                f"{column} > ALL (SELECT z.id FROM {other.name} z WHERE {inner.condition(1)})",
                f"(SELECT COUNT(*) FROM {other.name} z WHERE {inner.condition(1)}) > {self.chance.randint(0, 3)}",
            ])
            condition = f"({condition} {self.chance.choice(['AND', 'OR'])} {sub})"
        return condition

    def three(self, condition: str) -> list[str]:
        return [condition, f"NOT ({condition})", f"({condition}) IS NULL"]

    def all_of(self, *queries: str) -> list[list] | None:
        """The rows of each; None if one of them is refused."""
        answers = [self.asker.ask(sql) for sql in queries]
        return None if any(rows is None for rows in answers) else answers

    def same(self, seen, expected) -> None:
        if rows_of(seen) != rows_of(expected):
            raise Wrong(f"{sorted(map(str, (rows_of(seen) - rows_of(expected)).items()))[:5]} against {sorted(map(str, (rows_of(expected) - rows_of(seen)).items()))[:5]}")

    # ------------------------------------------------------------------------------------------------------- questions

    def parts(self) -> None:
        source, expressions, row = self.source()
        asked = f"SELECT {row}, HEX({expressions.of('a', 2)}) FROM {source}"
        parts = [f"{asked} WHERE {part}" for part in self.three(self.condition(expressions))]
        if self.chance.random() < 0.3:
            parts = [" UNION ALL ".join(parts)]
        if answers := self.all_of(asked, *parts):
            self.same(itertools.chain(*answers[1:]), answers[0])

    def counted(self) -> None:
        source, expressions, row = self.source()
        condition = self.condition(expressions)
        if answers := self.all_of(f"SELECT {row} FROM {source} WHERE {condition}", f"SELECT {row}, ({condition}) IS TRUE FROM {source}",
                                  f"SELECT COUNT(*) FROM {source} WHERE {condition}"):
            self.same(answers[0], [found[:-1] for found in answers[1] if found[-1] == "1"])
            self.same(answers[2], [(str(len(answers[0])),)])

    def aggregates(self) -> None:
        source, expressions, _ = self.source()
        value = expressions.of("n", 2)
        parts = self.three(self.condition(expressions))
        exact = f"CAST({value} AS DECIMAL(40,6))"
        whole = f"SELECT COUNT(*), COUNT({value}), SUM({exact}), MIN({exact}), MAX({exact}), BIT_XOR({value}) FROM {source}"
        union = " UNION ALL ".join(f"SELECT COUNT(*) a, COUNT({value}) b, SUM({exact}) c, MIN({exact}) d, MAX({exact}) e, BIT_XOR({value}) f FROM {source} WHERE {part}" for part in parts)
        if answers := self.all_of(whole, f"SELECT SUM(a), SUM(b), SUM(c), MIN(d), MAX(e), BIT_XOR(f) FROM ({union}) u"):
            self.same(answers[1], answers[0])
        distinct = " UNION ".join(f"SELECT {exact} v FROM {source} WHERE {part}" for part in parts)
        if answers := self.all_of(f"SELECT COUNT(DISTINCT {exact}), SUM(DISTINCT {exact}) FROM {source}", f"SELECT COUNT(v), SUM(v) FROM ({distinct}) u"):
            self.same(answers[1], answers[0])

    def distinct(self) -> None:
        source, expressions, _ = self.source()
        value = f"HEX({expressions.of('a', 2)})"
        number = expressions.of("n", 1)
        asked = f"SELECT DISTINCT {value}, CAST({number} AS DECIMAL(40,6)) FROM {source}"
        union = " UNION ".join(f"{self.chance.choice([asked, asked.replace('DISTINCT ', '')])} WHERE {part}" for part in self.three(self.condition(expressions)))
        if answers := self.all_of(asked, union):
            self.same(answers[1], answers[0])

    def grouped(self) -> None:
        """Groups are as many as distinct values, and their rows add up."""
        source, expressions, _ = self.source()
        key = expressions.key("a", 1)
        if answers := self.all_of(f"SELECT COUNT(*) FROM (SELECT DISTINCT {key} v FROM {source}) d", f"SELECT COUNT(*) FROM (SELECT COUNT(*) FROM {source} GROUP BY {key}) g",
                                  f"SELECT COUNT(*) FROM {source}", f"SELECT COALESCE(SUM(c), 0) FROM (SELECT COUNT(*) c FROM {source} GROUP BY {key}) g",
                                  f"SELECT COUNT(DISTINCT {key}) + COALESCE(MAX(({key}) IS NULL), 0) FROM {source}"):
            self.same(answers[1], answers[0])
            self.same(answers[3], answers[2])
            self.same(answers[4], answers[0])

    def having(self) -> None:
        source, expressions, _ = self.source()
        key = expressions.key("n", 1)
        inner = Expressions(self.chance, [("MIN(x.id)", "n", lambda: str(self.chance.randint(0, 30))), ("COUNT(*)", "n", lambda: str(self.chance.randint(0, 5))),
                                          (f"SUM({expressions.leaf('n')})", "n", lambda: "3")])
        asked = f"SELECT COUNT(*), MIN(x.id), MAX(x.id) FROM {source} GROUP BY {key}"
        parts = [f"{asked} HAVING {part}" for part in self.three(inner.condition(2))]
        if answers := self.all_of(asked, *parts):
            self.same(itertools.chain(*answers[1:]), answers[0])

    def joined(self) -> None:
        one, two = self.tables
        both = self.over(("x", one), ("y", two))
        on, where = self.join_condition(both), self.condition(both)
        if answers := self.all_of(f"SELECT x.id, y.id FROM {one.name} x JOIN {two.name} y ON {on} WHERE {where}",
                                  f"SELECT x.id, y.id FROM {one.name} x, {two.name} y WHERE ({where}) AND ({on})",
                                  f"SELECT x.id, y.id, ({on}) IS TRUE AND ({where}) IS TRUE FROM {one.name} x CROSS JOIN {two.name} y",
                                  f"SELECT x.id, y.id FROM {two.name} y STRAIGHT_JOIN {one.name} x ON {on} WHERE {where}"):
            for other in answers[1], [row[:-1] for row in answers[2] if row[-1] == "1"], answers[3]:
                self.same(answers[0], other)

    def left_joined(self) -> None:
        one, two = self.tables
        both = self.over(("x", one), ("y", two))
        on, where = self.join_condition(both), self.condition(both)
        if answers := self.all_of(f"SELECT x.id, y.id FROM {one.name} x LEFT JOIN {two.name} y ON {on}",
                                  f"SELECT x.id, y.id FROM {one.name} x JOIN {two.name} y ON {on} UNION ALL "
                                  f"SELECT x.id, NULL FROM {one.name} x WHERE NOT EXISTS (SELECT 1 FROM {two.name} y WHERE {on})",
                                  f"SELECT x.id, y.id FROM {two.name} y RIGHT JOIN {one.name} x ON {on}"):
            self.same(answers[1], answers[0])
            self.same(answers[2], answers[0])
        left = f"{one.name} x LEFT JOIN {two.name} y ON {on}"
        if answers := self.all_of(f"SELECT x.id, y.id FROM {left} WHERE {where}", f"SELECT x.id, y.id, ({where}) IS TRUE FROM {left}"):
            self.same(answers[0], [row[:-1] for row in answers[1] if row[-1] == "1"])

    def within(self) -> None:
        one, two = self.tables
        # No documents: a boolean beside one is another thing in a subquery's result, in MySQL too. Nor literals alone: beside a
        # column they may be dates or times, which they are not as a subquery's result, in MySQL neither.
        kinds = self.chance.choice(["nn", "ss", "dd", "ns", "sd"])
        this, other = self.over(("x", one)), self.over(("y", two))
        value = next(value for _ in itertools.count() if "x." in (value := this.of(kinds[0], 1)))
        inner = next(inner for _ in itertools.count() if "y." in (inner := other.of(kinds[1], 1)))
        where = other.condition(1)
        if answers := self.all_of(f"SELECT x.id FROM {one.name} x WHERE {value} IN (SELECT {inner} FROM {two.name} y WHERE {where})",
                                  f"SELECT x.id FROM {one.name} x WHERE EXISTS (SELECT 1 FROM {two.name} y WHERE ({where}) AND {value} = {inner})",
                                  f"SELECT DISTINCT x.id FROM {one.name} x JOIN {two.name} y ON {value} = {inner} WHERE {where}",
                                  f"SELECT x.id FROM {one.name} x WHERE {value} = ANY (SELECT {inner} FROM {two.name} y WHERE {where})"):
            for rows in answers[1:]:
                self.same(rows, answers[0])

    def other_ways(self) -> None:
        """Without an index, with each, and with all put aside."""
        one, two = self.tables
        both = self.chance.random() < 0.4
        expressions = self.over(("x", one), *([("y", two)] if both else []))
        where, on = self.condition(expressions), self.join_condition(expressions) if both else ""
        kind = self.chance.choice(["JOIN", "LEFT JOIN"])
        total = self.over(("x", one)).key("n", 1)
        shape = self.chance.choice(["SELECT x.id{y} FROM {f} WHERE {w}", "SELECT COUNT(*), COUNT(DISTINCT x.id), SUM(CAST({t} AS DECIMAL(40,6))) FROM {f} WHERE {w}",
                                    "SELECT MIN(x.id), COUNT(*) FROM {f} WHERE {w} GROUP BY {t}", "SELECT x.id{y} FROM {f} WHERE {w} ORDER BY {t} DESC, x.id{y} LIMIT 5",
                                    "SELECT MIN({c}), MAX({c}), COUNT({c}) FROM {f} WHERE {w}"])
        column = self.chance.choice([f"x.{column.name}" for column in one.columns if column.kind in "nd"] or ["x.id"])
        hints = [("", "")]
        hints += [(f" IGNORE INDEX ({', '.join(['PRIMARY', *one.indexes])})", f" IGNORE INDEX ({', '.join(['PRIMARY', *two.indexes])})")]
        hints += [(f" FORCE INDEX ({name})", "") for name in one.indexes]
        if both:
            hints += [("", f" FORCE INDEX ({name})") for name in two.indexes]
        queries = []
        for left, right in hints:
            source = f"{one.name} x{left}" + (f" {kind} {two.name} y{right} ON {on}" if both else "")
            queries.append(shape.format(f=source, w=where, t=total, y=", y.id" if both else "", c=column))
        if answers := self.all_of(*queries, TINY, queries[0], ROOMY):
            for rows in [*answers[1:len(queries)], answers[-2]]:
                self.same(rows, answers[0])

    def ordered(self) -> None:
        """In order by the same comparison that WHERE makes, and a limit is the beginning."""
        source, expressions, row = self.source()
        keys = f"{expressions.key('a', 1)}{self.chance.choice(['', ' DESC'])}, {row}"
        asked = f"SELECT {row} FROM {source} WHERE {self.condition(expressions)} ORDER BY {keys}"
        skip, limit = self.chance.randint(0, 3), self.chance.randint(0, 8)
        if answers := self.all_of(asked, f"{asked} LIMIT {skip}, {limit}", f"SELECT * FROM ({asked.replace('SELECT x.id, y.id', 'SELECT x.id, y.id b')} LIMIT 1000) z", TINY, asked, ROOMY):
            if answers[1] != answers[0][skip:skip + limit] or answers[4] != answers[0]:
                raise Wrong(f"{answers[0]}\n{answers[1]}\n{answers[4]}")
            self.same(answers[2], answers[0])

    def sets(self) -> None:
        """INTERSECT and EXCEPT, by what they mean."""
        one, two = self.tables
        left, right = self.over(("x", one)), self.over(("y", two))
        a = f"SELECT CAST({left.of('n', 1)} AS DECIMAL(40,6)) v FROM {one.name} x WHERE {left.condition(1)}"
        b = f"SELECT CAST({right.of('n', 1)} AS DECIMAL(40,6)) v FROM {two.name} y WHERE {right.condition(1)}"
        forms = [f"{a} {word} {b}" for word in ("INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL", "UNION", "UNION ALL")]
        if answers := self.all_of(a, b, *forms, TINY, *forms, ROOMY):
            a, b = Counter(answers[0]), Counter(answers[1])
            for at, expected in enumerate([a.keys() & b.keys(), a & b, a.keys() - b.keys(), a - b, a.keys() | b.keys(), a + b]):
                for seen in answers[2 + at], answers[9 + at]:
                    if Counter(seen) != Counter(expected):
                        raise Wrong(f"{forms[at]}: {Counter(seen)} against {Counter(expected)}")

    def derived(self) -> None:
        """A condition outside of a derived table, or inside; a common table, read twice."""
        one, _ = self.tables
        expressions = self.over(("x", one))
        condition = self.condition(expressions)
        columns = ", ".join(["id", *(column.name for column in one.columns)])
        # The members of ENUM and SET are texts behind a UNION.
        members = any(column.type.startswith(("ENUM", "SET")) for column in one.columns)
        union = [] if members else [f"SELECT x.id FROM (SELECT * FROM {one.name} UNION ALL SELECT * FROM {one.name} WHERE id < 0) x WHERE {condition}"]
        if answers := self.all_of(f"SELECT x.id FROM {one.name} x WHERE {condition}",
                                  f"SELECT x.id FROM (SELECT {columns} FROM {one.name}) x WHERE {condition}",
                                  f"SELECT x.id FROM (SELECT {columns} FROM {one.name} ORDER BY id LIMIT 100000) x WHERE {condition}",
                                  f"WITH x AS (SELECT {columns} FROM {one.name}) SELECT x.id FROM x WHERE {condition}",
                                  f"WITH c AS (SELECT * FROM {one.name}) SELECT x.id FROM c x JOIN c w ON x.id = w.id WHERE {condition}", *union):
            for rows in answers[1:]:
                self.same(rows, answers[0])

    def rewritten(self) -> None:
        """Queries in queries, with each of the rules off that make other queries of them, and all."""
        one, two = self.tables
        outer, inner = self.over(("x", one)), self.over(("y", two))
        plain = [column for column in one.columns if column.kind != "j"]
        if not plain:
            return
        column = self.chance.choice(plain)
        other = self.chance.choice([of.name for of in two.columns if of.kind == column.kind] or ["id"])
        operator = self.chance.choice(["=", "<=>", "<", ">=", "<>"])
        on_key = self.chance.choice([f"k {operator} {self.constant(column)}", f"k IN ({self.constant(column)}, {self.constant(column)})", "k IS NULL", f"NOT (k = {self.constant(column)})",
                                     f"k BETWEEN {self.constant(column)} AND {self.constant(column)}"])
        within, around = inner.condition(1), outer.condition(1)
        name = column.name
        query = self.chance.choice([
            f"SELECT n, i FROM (SELECT {name} AS k, COUNT(*) AS n, MIN(id) AS i FROM {one.name} GROUP BY {name}) g WHERE {on_key}",
            f"SELECT i FROM (SELECT {name} AS k, id AS i, ROW_NUMBER() OVER (PARTITION BY {name} ORDER BY id) AS r FROM {one.name}) g WHERE {on_key} AND r < 3",
            f"SELECT COUNT(*) FROM (SELECT DISTINCT {name} AS k, id % 3 AS i FROM {one.name}) g WHERE {on_key}",
            f"SELECT i FROM (SELECT {name} AS k, id AS i FROM {one.name} x WHERE {around} UNION SELECT {name}, id + 1 FROM {one.name}) g WHERE {on_key}",
            f"SELECT x.id FROM {one.name} x WHERE x.{name} IN (SELECT y.{other} FROM {two.name} y WHERE {within}) AND {around}",
            f"SELECT x.id FROM {one.name} x WHERE EXISTS (SELECT 1 FROM {two.name} y WHERE y.{other} = x.{name} AND {within}) AND {around}",
            f"SELECT x.id FROM {one.name} x WHERE NOT EXISTS (SELECT 1 FROM {two.name} y WHERE y.{other} = x.{name} AND {within}) AND {around}",
            f"SELECT x.id FROM {one.name} x WHERE {around} OR EXISTS (SELECT 1 FROM {two.name} y WHERE y.{other} = x.{name} AND y.id = x.id AND {within})",
            f"SELECT x.id FROM {one.name} x WHERE NOT ({around} AND NOT EXISTS (SELECT 1 FROM {two.name} y JOIN {two.name} z ON z.id = y.id WHERE y.{other} = x.{name} AND {within}))",
            f"SELECT x.id FROM {one.name} x WHERE EXISTS (SELECT 1 FROM {two.name} y WHERE y.{other} = x.{name} AND EXISTS (SELECT 1 FROM {one.name} z WHERE z.id = y.id AND z.{name} <> '3')) AND {around}",
            f"SELECT x.id FROM {one.name} x WHERE x.{name} IN (SELECT y.{other} FROM {two.name} y WHERE y.id = x.id AND NOT EXISTS (SELECT 1 FROM {one.name} z WHERE z.id = y.id AND {around.replace('x.', 'z.')}))",
            f"SELECT x.id, g.i FROM {one.name} x LEFT JOIN (SELECT y.{other} AS k, y.id AS i FROM {two.name} y WHERE {within}) g ON g.k = x.{name} WHERE {around}",
            f"SELECT x.id, g.i FROM (SELECT * FROM {one.name} x WHERE {around}) x JOIN (SELECT y.{other} AS k, y.id AS i, y.id + 1 AS j FROM {two.name} y) g ON g.k = x.{name} AND g.j > x.id",
            f"SELECT x.id, (SELECT COUNT(*) FROM (SELECT y.id AS i, y.{other} AS k FROM {two.name} y WHERE {within}) g WHERE g.k = x.{name} AND g.i IN (SELECT id FROM {one.name})) FROM {one.name} x",
            *self.indexed(one, [column, self.chance.choice(plain)], outer),
            *self.of_groups(one, two, (name, other), (around, within)),
            *self.outer_joins(one, two, (name, other), (around, within)),
        ])
        seeds = [f"SET SESSION tidemark_random_plans = {self.chance.randint(1, 1 << 32)}" for _ in range(4)]
        if answers := self.all_of(query, *(sql for seed in seeds for sql in (seed, query))):
            for rows in answers[2::2]:
                self.same(rows, answers[0])
        if answers := self.all_of(query, *(sql for rule in WITHOUT for sql in (rule, query)), WITH):
            for rows in answers[2::2]:
                self.same(rows, answers[0])

    def of_groups(self, one: Table, two: Table, keys: tuple[str, str], conditions: tuple[str, str]) -> list[str]:
        """Subqueries that give one value for each row, in the clauses where they may stand."""
        (name, other), (around, within) = keys, conditions
        numbers = [column.name for column in two.columns if column.kind == "n"] + ["id"]
        value, residue = self.chance.choice(numbers), self.chance.choice(two.columns).name
        aggregate = self.chance.choice(["COUNT(*)", f"COUNT(y.{value})", f"SUM(y.{value})", f"AVG(y.{value})", f"MIN(y.{value})", f"MAX(y.id)", f"COUNT(DISTINCT y.{value})", "IFNULL(MAX(y.id), 7)", "COUNT(*) * 2 + 1",
                                        f"0.5 * SUM(y.id)", f"BIT_XOR(y.id)", f"COALESCE(SUM(y.id), COUNT(*), 3)"])
        sub = f"(SELECT {aggregate} FROM {two.name} y WHERE y.{other} = x.{name}{self.chance.choice(['', f' AND {within}', ' AND y.id > 3'])})"
        exists = f"{self.chance.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM {two.name} y WHERE y.{other} = x.{name} AND y.{residue} {self.chance.choice(['<>', '<', '>=', '>', '<='])} x.{self.chance.choice(['id', name])})"
        operator = self.chance.choice(["<", ">=", "=", "<>", "<=>"])
        return [
            f"SELECT x.id FROM {one.name} x WHERE x.id {operator} {sub} AND {around}",
            f"SELECT x.id FROM {one.name} x WHERE x.id {operator} {sub} OR {around}",
            f"SELECT x.id FROM {one.name} x WHERE NOT (x.id * 2 {operator} {sub})",
            f"SELECT x.id FROM {one.name} x WHERE {sub} IS NULL OR {sub} = 0",
            f"SELECT x.id, {sub}, {sub} {operator} x.id FROM {one.name} x WHERE {around} ORDER BY {sub}, x.id",
            f"SELECT SUM({sub}), COUNT(*), MAX(x.id) FROM {one.name} x",
            f"SELECT x.id, z.id FROM {one.name} x LEFT JOIN {two.name} z ON z.id = x.id WHERE x.id {operator} {sub}",
            f"SELECT x.id FROM {one.name} x WHERE x.id IN (SELECT x.id FROM {one.name} x WHERE x.id {operator} {sub})",
            f"SELECT x.id FROM {one.name} x WHERE {exists} AND {around}",
            f"SELECT x.id FROM {one.name} x WHERE {exists} OR {around}",
            f"SELECT x.id, {exists}, EXISTS (SELECT 1 FROM {two.name} y WHERE y.{other} = x.{name}) FROM {one.name} x",
        ]

    def outer_joins(self, one: Table, two: Table, keys: tuple[str, str], conditions: tuple[str, str]) -> list[str]:
        """Outer joins that may add nothing, or nothing but rows of NULLs that are refused; conditions of HAVING and of neighbours."""
        (name, other), (around, within) = keys, conditions
        key = self.chance.choice(["y.id = x.id", f"y.{other} = x.{name}", f"y.id = x.{name}", f"y.{other} = x.{name} AND y.id = 5", f"y.id = x.id AND {within}"])
        left = f"{one.name} x LEFT JOIN {two.name} y ON {key}"
        constant = lambda: self.constant(next(column for column in one.columns if column.name == name))  # noqa: E731
        more = self.chance.choice(["", f" LEFT JOIN {two.name} z ON z.id = y.id", f" LEFT JOIN {one.name} z ON z.{name} = x.{name}"])
        return [
            f"SELECT x.id FROM {left}{more}",
            f"SELECT COUNT(*) FROM {left}{more} WHERE {around}",
            f"SELECT DISTINCT x.id FROM {left}{more} WHERE {around}",
            f"SELECT MIN(x.id), MAX(x.id), COUNT(DISTINCT x.id) FROM {left}{more} GROUP BY x.id % 3",
            f"SELECT x.id, y.id FROM {left} WHERE {within}",
            f"SELECT x.id, y.id FROM {left} WHERE NOT ({within}) OR ({within} AND {around})",
            f"SELECT {name} IS NULL, MIN(id), COUNT(*) FROM {one.name} GROUP BY {name} HAVING {name} {self.chance.choice(['=', '<', '<>'])} {constant()} AND COUNT(*) < 9",
            f"WITH g AS (SELECT {name} AS k, MIN(id) AS i FROM {one.name} GROUP BY {name}) SELECT x.i, y.i FROM g x, g y WHERE x.k = {constant()} AND y.k > {constant()}",
            f"SELECT x.id, g.n FROM {one.name} x JOIN (SELECT {other} AS k, COUNT(*) AS n FROM {two.name} GROUP BY {other}) g ON g.k = x.{name} WHERE x.{name} = {constant()}",
        ]

    def indexed(self, table: Table, columns: list, over: Expressions) -> list[str]:
        """What indexes may be read for in groups, or several for the branches of an OR. Texts that are equal may be different, so of those of a group any may be shown."""
        one, other = (column.name for column in columns)
        where = over.condition(1)
        either = " OR ".join(f"x.{column.name} {self.chance.choice(['=', '<=', '>'])} {self.constant(column)}" for column in [*columns, self.chance.choice(columns)])
        groups = [
            f"SELECT COUNT(*), COUNT(k) FROM (SELECT DISTINCT {one} AS k FROM {table.name} x) g",
            f"SELECT COUNT(*), COUNT(k), COUNT(l) FROM (SELECT DISTINCT {one} AS k, {other} AS l FROM {table.name} x WHERE {where}) g",
            f"SELECT COUNT(DISTINCT {one}), MIN({other}) IS NULL, MAX({one}) IS NULL FROM {table.name} x WHERE {where}",
            f"SELECT COUNT(*), SUM(i), SUM(j) FROM (SELECT MIN(id) AS i, MAX(id) AS j FROM {table.name} x WHERE {where} GROUP BY {one}) g",
            f"SELECT COUNT(*), COUNT(k), SUM(i) FROM (SELECT {one} AS k, COUNT(*) AS i FROM {table.name} x GROUP BY {one} ORDER BY {one} LIMIT 4) g",
            f"SELECT COUNT(*), SUM(i) FROM (SELECT COUNT(*) AS i FROM {table.name} x WHERE {where} GROUP BY {one}, {other} ORDER BY {other}, {one} LIMIT 5) g",
        ]
        numbers = [column.name for column in columns if column.kind in "nd"]
        if len(numbers) == 2:
            groups += [
                f"SELECT {one}, MIN({other}), MAX({other}) FROM {table.name} x GROUP BY {one}",
                f"SELECT {one}, MAX({other}) FROM {table.name} x WHERE {where} GROUP BY {one} ORDER BY {one} DESC LIMIT 3",
                f"SELECT {one}, MIN({other}), COUNT(DISTINCT {one}) FROM {table.name} x WHERE {where} GROUP BY {one}",
                f"SELECT DISTINCT {one} FROM {table.name} x WHERE {where} ORDER BY {one} LIMIT 5",
            ]
        return groups + [f"SELECT x.id FROM {table.name} x WHERE {either}", f"SELECT x.id FROM {table.name} x WHERE ({either}) AND {where}",
                         f"SELECT COUNT(*) FROM {table.name} x LEFT JOIN {table.name} y ON y.{one} = x.{one} OR y.{other} = x.{other}"]

    def windows(self) -> None:
        """Frames, ranks and neighbours, by what they mean: joins of rows that have their numbers."""
        one, _ = self.tables
        expressions = self.over(("x", one))
        value, key = f"CAST({expressions.of('n', 1)} AS DECIMAL(40,6))", f"CAST({expressions.key('n', 1)} AS DECIMAL(40,6))"
        part = self.chance.choice(["1 = 1", "x.id % 3", expressions.condition(1)])
        where = expressions.condition(1)
        before, behind = self.chance.randint(0, 4), self.chance.randint(0, 4)
        over = f"PARTITION BY {part} ORDER BY {key}"
        window = f"{over}, x.id ROWS BETWEEN {before} PRECEDING AND {behind} FOLLOWING"
        asked = (f"SELECT x.id, SUM({value}) OVER w, COUNT({value}) OVER w, MIN({value}) OVER w, MAX({value}) OVER w, FIRST_VALUE(x.id) OVER w, LAST_VALUE(x.id) OVER w, "
                 f"RANK() OVER ({over}), SUM({value}) OVER ({over}), COUNT(*) OVER (PARTITION BY {part}), LEAD(x.id, {behind}) OVER ({over}, x.id) "
                 f"FROM {one.name} x WHERE {where} WINDOW w AS ({window})")
        rows = f"WITH r AS (SELECT x.id i, {value} v, {key} k, {part} p, ROW_NUMBER() OVER (PARTITION BY {part} ORDER BY {key}, x.id) n FROM {one.name} x WHERE {where})"
        frame, peers = f"a.p <=> b.p AND b.n + {before} >= a.n AND b.n <= a.n + {behind}", "a.p <=> b.p AND (b.k IS NULL OR b.k <= a.k OR a.k <=> b.k)"
        meant = (f"{rows} SELECT a.i, SUM(b.v), COUNT(b.v), MIN(b.v), MAX(b.v), (SELECT b.i FROM r b WHERE {frame} ORDER BY b.n LIMIT 1), (SELECT b.i FROM r b WHERE {frame} ORDER BY b.n DESC LIMIT 1), "
                 f"1 + (SELECT COUNT(*) FROM r b WHERE {peers} AND NOT a.k <=> b.k), (SELECT SUM(b.v) FROM r b WHERE {peers}), (SELECT COUNT(*) FROM r b WHERE a.p <=> b.p), "
                 f"(SELECT b.i FROM r b WHERE a.p <=> b.p AND b.n = a.n + {behind}) FROM r a JOIN r b ON {frame} GROUP BY a.i, a.p, a.n, a.k")
        if answers := self.all_of(asked, meant, TINY, asked, ROOMY):
            self.same(answers[1], answers[0])
            self.same(answers[3], answers[0])

    def totals(self) -> None:
        """ROLLUP is the groups of all keys, of all but the last, and so on."""
        source, expressions, _ = self.source()
        keys = [f"CAST({expressions.key('n', 1)} AS DECIMAL(40,6))" for _ in range(2)]
        if keys[0] == keys[1]:
            return
        value = f"CAST({expressions.of('n', 1)} AS DECIMAL(40,6))"
        sums, rest = f"COUNT(*), SUM({value}), COUNT(DISTINCT {value})", f"FROM {source} WHERE {expressions.condition(1)}"
        asked = f"SELECT {keys[0]}, {keys[1]}, GROUPING({keys[0]}, {keys[1]}), {sums} {rest} GROUP BY {keys[0]}, {keys[1]} WITH ROLLUP"
        if answers := self.all_of(asked, f"SELECT {keys[0]}, {keys[1]}, 0, {sums} {rest} GROUP BY {keys[0]}, {keys[1]}",
                                  f"SELECT {keys[0]}, NULL, 1, {sums} {rest} GROUP BY {keys[0]}", f"SELECT NULL, NULL, 3, {sums} {rest}", TINY, asked, ROOMY):
            self.same(answers[0], itertools.chain(*answers[1:4]))
            self.same(answers[5], answers[0])


class Compared:
    """The value of conditions and expressions for each row, on another server too."""

    def __init__(self, questions: Questions, theirs: Asker):
        self.questions, self.theirs = questions, theirs

    def next(self) -> None:
        questions = self.questions
        ours = questions.asker
        ours.asked.clear()
        table = questions.tables[0]
        expressions = questions.over(("x", table))
        value = expressions.of(questions.chance.choice("nsdjpppp"), 2)
        value = questions.chance.choice([value, value, f"HEX({value})"])
        sql = f"SELECT x.id, {value} FROM {table.name} x ORDER BY x.id"
        seen, expected = ours.ask(sql), self.theirs.ask(sql)
        if seen is not None and expected is not None and [tuple(map(shown, row)) for row in seen] != [tuple(map(shown, row)) for row in expected]:
            differ = [(a, b) for a, b in zip(seen, expected) if tuple(map(shown, a)) != tuple(map(shown, b))]
            raise Wrong(f"here and there: {differ[:3]}")
        if (seen is None) != (expected is None):
            raise Wrong(f"an error {'here' if seen is None else 'there'} only")


def play(seed: int, database: str, asker: Asker, theirs: Asker | None, report: Report) -> None:
    questions = Questions(seed, asker, database)
    for sql in questions.start():
        for server in filter(None, (asker, theirs)):
            server.ask(sql)
    compared = Compared(questions, theirs) if theirs else None
    for number in range(QUESTIONS):
        try:
            (compared or questions).next()
        except Wrong as wrong:
            asked = "".join(f"{sql};\n" for sql in [*questions.start()[3:], *asker.asked])
            report.fail(f"{seed}/{number}", f"{wrong}\n{asked}")
            asker.ask(ROOMY)
            asker.ask(f"USE {database}")


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", type=Address.parse, help="default: a Tidemark of its own")
    parser.add_argument("--against", type=Address.parse, help="a MySQL server to compare values with")
    parser.add_argument("--database", default="oracle", help="made anew for each seed")
    parser.add_argument("--seed", type=int, default=FIXED_SEED, help="of the first")
    parser.add_argument("--seeds", type=int, default=60, help="so many")
    parser.add_argument("--seconds", type=float, help="go on with the next seed until so many")
    options = parser.parse_args()
    report = Report("oracle", options.filters)
    until = time.monotonic() + (options.seconds or 0)
    with ExitStack() as servers:
        address = options.address or servers.enter_context(Server("oracle", "--innodb-flush-log-at-trx-commit=0")).address
        askers = [Asker(where) for where in (address, options.against) if where]
        done = 0
        for seed in itertools.count(options.seed):
            if time.monotonic() >= until if options.seconds else seed == options.seed + options.seeds:
                break
            if report.wants(str(seed)):
                play(seed, options.database, askers[0], askers[1] if options.against else None, report)
                done += 1
        report.note(f"{done * QUESTIONS} questions from seed {options.seed}; refused: {dict(askers[0].errors.most_common())}")
        report.equal(address.execute("SELECT 1"), ((1,),), "serves afterwards")
    report.close()


if __name__ == "__main__":
    main()

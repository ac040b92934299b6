"""Random queries: windows, totals, common tables, JSON_TABLE, set operations, subqueries in every place.

A query has one answer: rows are compared as a multiset, LIMIT and frames of ROWS go by an order that is total, and of values that
compare as equal but are written in several ways (texts under a collation) none is shown that stands for others.
"""
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))

from expressions import FORMS, Expressions  # noqa: E402
from tables import Table  # noqa: E402

# MySQL has them no more.
for forms in FORMS.values():
    forms[:] = [form for form in forms if not form.startswith(("MD5(", "SHA1("))]

SHOWN_AS_IS = ("n", "d")        # kinds of which equal values are written alike
UNITS = ["1 DAY", "2 MONTH", "1 YEAR", "36 HOUR"]


class Source:
    """What stands in FROM: a text, and the columns that it has, each with its kind and how to draw a literal for it."""

    def __init__(self, text: str, columns: list[tuple[str, str, callable]], key: str):
        self.text, self.columns, self.key = text, columns, key


class Queries:
    def __init__(self, seed: int):
        self.chance = random.Random(seed)
        self.of_bytes = random.Random(f"bytes {seed}")      # apart, so that all else is drawn as without it
        self.tables = [Table.drawn(self.chance, f"t{n}") for n in range(3)]
        self.names, self.byte_columns = 0, {}
        for table in self.tables:
            self.keep_times_in_a_day(table)

    def start(self) -> list[str]:
        return [statement for table in self.tables for statement in table.statements()]

    def keep_times_in_a_day(self, table: Table) -> None:
        """As a date, a time of more than a day, or before midnight, is another day in MySQL than as a date and time."""
        for column in table.columns:
            if column.type.startswith("TIME") and "STAMP" not in column.type:
                column.type = "DATETIME"
        table.rows = [table.row(self.chance, number) for number in range(len(table.rows))]

    def next(self) -> str:
        self.names = 0
        self.byte_columns.clear()
        chance = self.chance
        shape = chance.choice([self.plain, self.plain, self.windowed, self.windowed, self.totals, self.totals, self.rolled_up, self.common, self.recursive, self.set_operation,
                               self.json_rows, self.lateral, self.with_subqueries, self.with_subqueries, self.change])
        return shape()

    # ------------------------------------------------------------------------------------------- parts

    def name(self) -> str:
        self.names += 1
        return f"x{self.names}"

    def table(self) -> Source:
        table, alias = self.chance.choice(self.tables), self.name()
        columns = [(f"{alias}.{column.name}", column.kind, lambda column=column: column.value(self.chance)) for column in table.columns]
        self.byte_columns |= {f"{alias}.{column.name}": column.type for column in table.columns if "BINARY" in column.type}
        columns.append((f"{alias}.id", "n", lambda: str(self.chance.randint(0, 30))))
        return Source(f"{table.name} {alias}", columns, f"{alias}.id")

    def derived(self) -> Source:
        """A subquery in FROM: its columns have the kinds of what it selects."""
        inner, alias = self.table(), self.name()
        expressions = self.over(inner)
        kinds = [self.chance.choice("nnsdj") for _ in range(self.chance.randint(1, 3))]
        items = [f"{expressions.of(kind, 1)} AS {alias}c{n}" for n, kind in enumerate(kinds)]
        where = f" WHERE {expressions.condition(1)}" if self.chance.random() < 0.5 else ""
        text = f"(SELECT {inner.key} AS {alias}k, {', '.join(items)} FROM {inner.text}{where}) {alias}"
        columns = [(f"{alias}.{alias}c{n}", kind, lambda kind=kind: expressions.constant(kind)) for n, kind in enumerate(kinds)]
        return Source(text, columns, f"{alias}.{alias}k")

    def source(self) -> Source:
        roll = self.chance.random()
        if roll < 0.6:
            return self.table()
        if roll < 0.75:
            return self.derived()
        left, right = self.table(), self.table() if self.chance.random() < 0.7 else self.derived()
        kind = self.chance.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT JOIN"])
        both = Source("", left.columns + right.columns, f"{left.key}, {right.key}")
        on = f"{left.key} = {right.key}" if self.chance.random() < 0.5 else self.over(both).condition(1)
        return Source(f"{left.text} {kind} {right.text} ON {on}", both.columns, both.key)

    def over(self, source: Source, outer: Source | None = None) -> Expressions:
        expressions = Expressions(self.chance, source.columns + (outer.columns if outer else []))
        expressions.own = source.columns
        return expressions

    def where(self, expressions: Expressions) -> str:
        return f" WHERE {expressions.condition(2)}" if self.chance.random() < 0.5 else ""

    def shown(self, expressions: Expressions, depth: int = 2) -> str:
        return expressions.of(self.chance.choice("nnssdjp"), depth)

    def aggregate(self, expressions: Expressions) -> str:
        chance = self.chance
        number, any_of = expressions.of("n", 1), expressions.of(chance.choice("nsd"), 1)
        bits = self.bytes_of(expressions) or number
        return chance.choice([
            "COUNT(*)", f"COUNT({any_of})", f"COUNT(DISTINCT {any_of})", f"SUM({number})", f"AVG({number})", f"MIN({number})", f"MAX({number})",
            f"MIN({expressions.of('d', 1)})", f"MAX({expressions.of('d', 1)})", f"SUM(DISTINCT {number})", f"BIT_AND({bits})", f"BIT_OR({bits})", f"BIT_XOR({bits})",
            f"STDDEV_POP({number})", f"VAR_SAMP({number})", f"GROUP_CONCAT({any_of} ORDER BY 1)" if any_of.startswith("x") else "COUNT(1)",
            f"MAX({expressions.of('s', 1)}) IS NULL", f"SUM({expressions.condition(1)})",
        ])

    def bytes_of(self, expressions: Expressions) -> str | None:
        """At times a column of bytes of the query's own, if there is any; as many in each row, for an aggregate of bits is an error otherwise, but
        only if it is computed."""
        names = [name for name, _, _ in expressions.own if name in self.byte_columns]
        if not names or self.of_bytes.random() < 0.5:
            return None
        name = self.of_bytes.choice(names)
        cut = f"CAST({name} AS BINARY({self.of_bytes.randint(1, 9)}))"
        return cut if self.byte_columns[name].startswith("VAR") else self.of_bytes.choice([name, cut])

    def subquery(self, outer: Source) -> str:
        """Of one value, or of none."""
        inner = self.table()
        expressions = self.over(inner, outer)
        return f"(SELECT {self.aggregate(expressions)} FROM {inner.text}{self.where(expressions)})"

    def tested(self, outer: Source) -> str:
        """A condition with a subquery."""
        chance, inner = self.chance, self.source()
        within, around = self.over(inner, outer), self.over(outer)
        kind = chance.choice("nsd")
        value, where = within.of(kind, 1), self.where(within)
        return chance.choice([
            f"EXISTS (SELECT 1 FROM {inner.text}{where})",
            f"NOT EXISTS (SELECT * FROM {inner.text}{where})",
            f"{around.of(kind, 1)} IN (SELECT {value} FROM {inner.text}{where})",
            f"{around.of(kind, 1)} NOT IN (SELECT {value} FROM {inner.text}{where})",
            f"{around.of(kind, 1)} {chance.choice(['=', '<', '>=', '<>'])} {chance.choice(['ANY', 'ALL'])} (SELECT {value} FROM {inner.text}{where})",
            f"({around.of('n', 0)}, {around.of('s', 0)}) IN (SELECT {within.of('n', 1)}, {within.of('s', 1)} FROM {inner.text}{where})",
            f"{self.subquery(outer)} {chance.choice(['=', '<', '<=>'])} {around.of('n', 1)}",
        ])

    # ------------------------------------------------------------------------------------------ shapes

    def plain(self) -> str:
        source = self.source()
        expressions = self.over(source)
        items = ", ".join(self.shown(expressions) for _ in range(self.chance.randint(1, 3)))
        tail = f" ORDER BY {expressions.key(self.chance.choice('nd'), 1)}, {source.key} LIMIT {self.chance.randint(0, 7)}" if self.chance.random() < 0.3 else ""
        return f"SELECT {items} FROM {source.text}{self.where(expressions)}{tail}"

    def windowed(self) -> str:
        chance, source = self.chance, self.source()
        expressions = self.over(source)
        calls = ", ".join(self.call(expressions, source) for _ in range(chance.randint(1, 2)))
        return f"SELECT {source.key}, {calls} FROM {source.text}{self.where(expressions)}"

    def call(self, expressions: Expressions, source: Source) -> str:
        chance = self.chance
        partition = f"PARTITION BY {expressions.key(chance.choice('nsd'), 1)} " if chance.random() < 0.6 else ""
        by, direction = expressions.key(chance.choice("nsd"), 1), chance.choice(["", " DESC"])
        total = f"{partition}ORDER BY {by}{direction}, {source.key}"
        value = expressions.of(chance.choice("nd"), 1)
        roll = chance.random()
        if roll < 0.3:
            function = chance.choice(["RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"])
            return f"{function} OVER ({partition}ORDER BY {by}{direction})"
        if roll < 0.55:
            function = chance.choice(["ROW_NUMBER()", f"NTILE({chance.randint(1, 4)})", f"LAG({value}, {chance.randint(0, 3)}, {expressions.of('n', 0)})", f"LEAD({value})",
                                      f"FIRST_VALUE({value})", f"LAST_VALUE({value})", f"NTH_VALUE({value}, {chance.randint(1, 3)})"])
            return f"{function} OVER ({total})"
        function = chance.choice([f"SUM({expressions.of('n', 1)})", "COUNT(*)", f"COUNT({value})", f"AVG({expressions.of('n', 1)})", f"MIN({value})", f"MAX({value})",
                                  f"FIRST_VALUE({value})", f"LAST_VALUE({value})"])
        if roll < 0.8:
            return f"{function} OVER ({total} ROWS {self.frame(['CURRENT ROW', '1 PRECEDING', '2 FOLLOWING', 'UNBOUNDED PRECEDING', 'UNBOUNDED FOLLOWING', '3 PRECEDING', '1 FOLLOWING'])})"
        if function.split("(")[0] in ("FIRST_VALUE", "LAST_VALUE"):
            function = "COUNT(*)"
        if chance.random() < 0.5:
            bounds = ["CURRENT ROW", "1 PRECEDING", "2.5 FOLLOWING", "UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING", "10 PRECEDING"]
            return f"{function} OVER ({partition}ORDER BY {expressions.key('n', 1)}{direction} RANGE {self.frame(bounds)})"
        bounds = ["CURRENT ROW", "UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING", *(f"INTERVAL {unit} PRECEDING" for unit in UNITS), *(f"INTERVAL {unit} FOLLOWING" for unit in UNITS)]
        return f"{function} OVER ({partition}ORDER BY {expressions.key('d', 1)}{direction} RANGE {self.frame(bounds)})"

    def frame(self, bounds: list[str]) -> str:
        starts = [bound for bound in bounds if bound != "UNBOUNDED FOLLOWING"]
        start, end = self.chance.choice(starts), self.chance.choice([bound for bound in bounds if bound != "UNBOUNDED PRECEDING"])
        if start.endswith("FOLLOWING") and not end.endswith("FOLLOWING"):
            start = "UNBOUNDED PRECEDING"
        if end.endswith("PRECEDING") and not start.endswith("PRECEDING"):
            end = "CURRENT ROW"
        return f"BETWEEN {start} AND {end}" if self.chance.random() < 0.8 or start.endswith("FOLLOWING") else start

    def groups(self, expressions: Expressions) -> tuple[list[str], list[str]]:
        """Keys to group by, each with a column in it, and those of them that can be shown."""
        kinds = [self.chance.choice("nnsdd") for _ in range(self.chance.randint(1, 2))]
        keys = [expressions.key(kind, 1) for kind in kinds]
        keys = [key if any(name in key for name, _, _ in expressions.columns) else expressions.columns[-1][0] for key in keys]
        return keys, [key for key, kind in zip(keys, kinds) if kind in SHOWN_AS_IS]

    def totals(self) -> str:
        source = self.source()
        expressions = self.over(source)
        keys, shown = self.groups(expressions)
        items = [*shown, *(self.aggregate(expressions) for _ in range(self.chance.randint(1, 3)))]
        having = f" HAVING {self.aggregate(expressions)} {self.chance.choice(['>', '=', '<'])} {expressions.constant('n')}" if self.chance.random() < 0.3 else ""
        by = f" GROUP BY {', '.join(keys)}" if self.chance.random() < 0.8 else ""
        return f"SELECT {', '.join(items if by else items[len(shown):])} FROM {source.text}{self.where(expressions)}{by}{having}"

    def rolled_up(self) -> str:
        source = self.source()
        expressions = self.over(source)
        keys, shown = self.groups(expressions)
        items = [*shown, *(f"GROUPING({key})" for key in keys), self.aggregate(expressions)]
        return f"SELECT {', '.join(items)} FROM {source.text}{self.where(expressions)} GROUP BY {', '.join(keys)} WITH ROLLUP HAVING COUNT(*) > 0"

    def common(self) -> str:
        chance, inner = self.chance, self.source()
        expressions = self.over(inner)
        kinds = [chance.choice("nnsd") for _ in range(2)]
        items = ", ".join(f"{expressions.of(kind, 2)} AS c{n}" for n, kind in enumerate(kinds))
        columns = lambda alias: [(f"{alias}.c{n}", kind, lambda kind=kind: expressions.constant(kind)) for n, kind in enumerate(kinds)]
        one, two = Source("w p", columns("p"), ""), Source("w q", columns("q"), "")
        both = self.over(Source("", one.columns + two.columns, ""))
        head = f"WITH w AS (SELECT {items} FROM {inner.text}{self.where(expressions)}) "
        if chance.random() < 0.5:
            return f"{head}SELECT {self.shown(self.over(one))} FROM w p{self.where(self.over(one))}"
        return f"{head}SELECT COUNT(*), {self.aggregate(both)} FROM w p {chance.choice(['JOIN', 'LEFT JOIN'])} w q ON {both.condition(1)}"

    def recursive(self) -> str:
        chance = self.chance
        inner = self.table()
        first, kind = self.over(inner), chance.choice("nsd")
        start = f"SELECT 1, {first.of(kind, 1)} FROM {inner.text}{self.where(first)}" if chance.random() < 0.5 else f"SELECT 1, {first.constant(kind)}"
        columns = [("r.v", kind, lambda: first.constant(kind)), ("r.n", "n", lambda: str(chance.randint(1, 5)))]
        step = Expressions(chance, columns)
        union = chance.choice(["UNION ALL", "UNION ALL", "UNION"])
        return (f"WITH RECURSIVE r (n, v) AS ({start} {union} SELECT r.n + 1, {step.of(kind, 1)} FROM r WHERE r.n < {chance.randint(2, 5)}) "
                f"SELECT r.n, {chance.choice(['r.v', self.shown(step, 1)]) if kind != 's' else 'HEX(r.v)'} FROM r")

    def set_operation(self) -> str:
        chance = self.chance
        kinds = [chance.choice("nd") for _ in range(chance.randint(1, 2))]

        def operand():
            source = self.source()
            expressions = self.over(source)
            return f"SELECT {', '.join(expressions.of(kind, 1) for kind in kinds)} FROM {source.text}{self.where(expressions)}"

        text = operand()
        for _ in range(chance.randint(1, 2)):
            text += f" {chance.choice(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'INTERSECT ALL', 'EXCEPT ALL', 'UNION DISTINCT'])} {operand()}"
        return text

    def json_rows(self) -> str:
        chance, source = self.chance, self.table()
        document = self.over(source).of("j", 1)
        columns = chance.sample(["n FOR ORDINALITY", "a INT PATH '$.a'", "b VARCHAR(20) PATH '$.b' DEFAULT '\"none\"' ON EMPTY", "e INT EXISTS PATH '$.a'", "w JSON PATH '$'",
                                 "f DOUBLE PATH '$' NULL ON ERROR", "s VARCHAR(3) PATH '$' DEFAULT '\"x\"' ON ERROR", "NESTED PATH '$.b[*]' COLUMNS (m INT PATH '$', o FOR ORDINALITY)"], chance.randint(1, 4))
        path = chance.choice(["$", "$[*]", "$.b[*]", "$.*"])
        return f"SELECT {source.key}, j.* FROM {source.text}, JSON_TABLE({document}, '{path}' COLUMNS ({', '.join(columns)})) j"

    def lateral(self) -> str:
        chance, left, alias = self.chance, self.table(), self.name()
        inner = self.table()
        within = self.over(inner, left)
        body = chance.choice([f"SELECT {self.aggregate(within)} AS v FROM {inner.text}{self.where(within)}",
                              f"SELECT {within.of('n', 1)} AS v FROM {inner.text}{self.where(within)} ORDER BY {inner.key} LIMIT 2"])
        join = chance.choice([f", LATERAL ({body}) {alias}", f" LEFT JOIN LATERAL ({body}) {alias} ON {self.over(left).condition(1)}"])
        return f"SELECT {left.key}, {alias}.v FROM {left.text}{join}"

    def with_subqueries(self) -> str:
        chance, source = self.chance, self.source()
        expressions = self.over(source)
        place = chance.randint(0, 5)
        if place == 0:
            return f"SELECT {source.key}, {self.subquery(source)} FROM {source.text}{self.where(expressions)}"
        if place == 1:
            return f"SELECT {source.key} FROM {source.text} WHERE {self.tested(source)}"
        if place == 2:
            return f"SELECT {source.key} FROM {source.text} WHERE {expressions.condition(1)} {chance.choice(['AND', 'OR'])} {self.tested(source)}"
        if place == 3:
            return f"SELECT {source.key}, ({self.tested(source)}) FROM {source.text}"
        if place == 4:
            return f"SELECT COUNT(*) FROM {source.text} GROUP BY {self.subquery(source)}"
        return f"SELECT {self.aggregate(expressions)} FROM {source.text} HAVING COUNT(*) > {self.subquery(Source('', [('1', 'n', lambda: '1')], ''))}"

    def change(self) -> str:
        """Of a table's numbers, so that other tests of conversion do not end the script; in a transaction that is rolled back."""
        table = self.chance.choice(self.tables)
        columns = [(column.name, column.kind, lambda column=column: column.value(self.chance)) for column in table.columns]
        own = Source(table.name, columns, "id")
        expressions = self.over(own)
        if self.chance.random() < 0.4:
            return f"DELETE FROM {table.name} WHERE {expressions.condition(2)} ORDER BY id LIMIT 1"
        target = self.chance.choice(columns)
        value = self.subquery(own) if self.chance.random() < 0.3 and target[1] == "n" else expressions.of(target[1], 1)
        return f"UPDATE IGNORE {table.name} SET {target[0]} = {value} WHERE {expressions.condition(1)}"

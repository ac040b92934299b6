"""EXPLAIN ANALYZE's actual rows against rows that are counted otherwise.

A query joins one to three tables by conditions that are drawn at random, and says of every operator how many rows it had, over all of its
runs. The same numbers come from COUNT(*) queries that are put together from the conditions, not from the plan:

    Nested loop inner join                rows of (a, b) that meet all conditions on a and b
      Filter: (a.a_x < 3)                 rows of a that do
        Table scan on a                   rows of a
      Filter: (b.b_y <> 1)                rows of (a, b), likewise
        Index lookup on b (b_a = a.a_id)  rows of b for the rows of a that meet theirs: the text itself is the condition

Other queries have groups, DISTINCT, LIMIT, left joins and unions: of them the outermost operator must have the rows of the result.
"""
import json
import random
import re

QUERIES = 200
DATABASE = "actual"
#: Rows of each table. No two columns have the same name, so that the plan's texts are conditions.
TABLES = {"a": 40, "b": 120, "c": 300}
BETWEEN = re.compile(r"(-?\d+) (<=?) (\w+) (<=?) (-?\d+)")
#: What an operator that only looks up or scans says of the rows it reads.
ACCESS = ("lookup_condition", "ranges")


def fill(cursor) -> None:
    cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
    cursor.execute(f"CREATE DATABASE {DATABASE}")
    cursor.execute(f"USE {DATABASE}")
    draw = random.Random(7)
    parents = {"a": "c", "b": "a", "c": "b"}
    for table, rows in TABLES.items():
        cursor.execute(f"CREATE TABLE {table} ({table}_id INT PRIMARY KEY, {table}_up INT NOT NULL, {table}_x INT NOT NULL, {table}_y INT, "
                       f"KEY ({table}_up), KEY ({table}_x, {table}_y))")
        values = [(i, draw.randrange(TABLES[parents[table]]), draw.randrange(12), draw.choice([None, *range(9)])) for i in range(rows)]
        cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s, %s, %s)", values)
    cursor.execute("ANALYZE TABLE a, b, c")
    cursor.fetchall()


class Query:
    """Tables, and the conditions on them: pairs of the tables that each names, and its text."""

    def __init__(self, draw: random.Random):
        self.tables = draw.sample(list(TABLES), draw.randint(1, 3))
        self.conditions: list[tuple[set[str], str]] = []
        for one, other in zip(self.tables, self.tables[1:]):
            text = draw.choice([f"{other}_up = {one}_id", f"{one}_up = {other}_id", f"{one}_x = {other}_y", f"{one}_up = {other}_id + 1"])
            self.conditions.append(({one, other}, text))
        for table in self.tables:
            for _ in range(draw.randint(0, 2)):
                self.conditions.append(({table}, self.on_one(draw, table)))
        self.written = len(self.conditions)
        self.conditions += self.following()

    def following(self) -> list[tuple[set[str], str]]:
        """The equalities that follow from those between columns, which the planner tests as early as it can: of columns that are equal with each
        other, and with a number that one of them equals."""
        pairs = [match.groups() for _, text in self.conditions if (match := re.fullmatch(r"(\w+) = (\w+)", text))]
        classes: list[set[str]] = []
        for one, other in pairs:
            if not other.isdigit():
                joined = [found for found in classes if found & {one, other}]
                classes = [found for found in classes if found not in joined] + [set().union({one, other}, *joined)]
        equalities = []
        for columns in classes:
            numbers = [(one, other) for one, other in pairs if other.isdigit() and one in columns]
            fixed = {one for one, _ in numbers}
            others = sorted(columns - fixed) if numbers else []
            equalities += [({column[0]}, f"{column} = {numbers[0][1]}") for column in others]
            equalities += [({one[0], other[0]}, f"{one} = {other}") for one in columns for other in columns if one < other and one[0] != other[0]]
        return equalities

    @staticmethod
    def on_one(draw: random.Random, table: str) -> str:
        column = f"{table}_{draw.choice(['id', 'up', 'x', 'y'])}"
        low = draw.randrange(10)
        return draw.choice([f"{column} < {low + 3}", f"{column} BETWEEN {low} AND {low + draw.randrange(20)}", f"{column} = {low}",
                            f"{column} IN ({low}, {low + 2}, {low + 5})", f"{column} <> {low}", f"{table}_y IS NOT NULL",
                            f"{table}_x + {table}_y > {low}"])

    def among(self, tables: set[str]) -> list[str]:
        return [text for named, text in self.conditions if named <= tables]

    def text(self) -> str:
        return f"SELECT * FROM {', '.join(self.tables)}{where([text for _, text in self.conditions[:self.written]])}"


def where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def tables_of(node: dict) -> set[str]:
    below = (tables_of(child) for child in node.get("inputs", []))
    return set().union({node["table_name"]} if "table_name" in node else set(), *below)


def access_of(node: dict) -> list[str]:
    """The condition by which a table's rows are read, from the text of the plan."""
    texts = [node[name] for name in ACCESS if name in node]
    return [BETWEEN.sub(r"\1 \2 \3 AND \3 \4 \5", text) for text in texts]


def expectations(query: Query, node: dict, outer: set[str], is_filtered: bool = False):
    """Each operator with the COUNT(*) that says how many rows it has. `outer`: the tables whose rows it is run for; `is_filtered`: what is not
    in the way a table is read stands in the filter above."""
    inputs = node.get("inputs", [])
    own = tables_of(node)
    if "table_name" in node and is_filtered:
        conditions = query.among(outer) + access_of(node)
    else:
        conditions = query.among(outer | own)
    tables = sorted(outer | own)
    if "actual_rows" in node:
        yield node, f"SELECT COUNT(*) FROM {', '.join(tables)}{where(conditions)}"
    if node["access_type"] == "join" and node.get("join_algorithm") == "nested_loop":
        left, right = inputs
        yield from expectations(query, left, outer)
        yield from expectations(query, right, outer | tables_of(left))
        return
    for child in inputs:
        yield from expectations(query, child, outer, is_filtered or node["access_type"] == "filter" and len(own) == 1)


def plan_of(cursor, text: str) -> dict:
    cursor.execute(f"EXPLAIN ANALYZE FORMAT=JSON {text}")
    return json.loads(cursor.fetchone()[0])["query_plan"]


def total(node: dict) -> int:
    return round(node["actual_rows"] * node["actual_loops"])


def others(draw: random.Random) -> str:
    """A query of which only the result is known."""
    join = Query(draw)
    tables, conditions = join.tables, where([text for _, text in join.conditions[:join.written]])
    first = tables[0]
    return draw.choice([
        f"SELECT {first}_x, COUNT(*) FROM {', '.join(tables)}{conditions} GROUP BY {first}_x",
        f"SELECT {first}_y, MAX({first}_id) FROM {', '.join(tables)}{conditions} GROUP BY {first}_y ORDER BY 2",
        f"SELECT * FROM {', '.join(tables)}{conditions} ORDER BY {first}_y",
        f"SELECT * FROM {', '.join(tables)}{conditions} ORDER BY {first}_x LIMIT {draw.randrange(1, 30)}",
        f"SELECT * FROM {', '.join(tables)}{conditions} LIMIT {draw.randrange(1, 30)}",
        f"SELECT * FROM a LEFT JOIN b ON b_up = a_id AND {Query.on_one(draw, 'b')} WHERE {Query.on_one(draw, 'a')}",
        f"SELECT * FROM a LEFT JOIN c ON c_x = a_id WHERE {Query.on_one(draw, 'a')} ORDER BY c_id",
        f"SELECT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b_up = a_id AND {Query.on_one(draw, 'b')})",
        f"SELECT * FROM (SELECT b_x, COUNT(*) AS n FROM b GROUP BY b_x) AS d WHERE n > {draw.randrange(15)}",
    ])


def check(report, address) -> None:
    draw = random.Random(20_150_402)
    operators = right = 0
    with address.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT VERSION()")
        if "tidemark" not in cursor.fetchone()[0]:
            report.skip("actual_rows_are_those_counted", "the texts of Tidemark's plans are conditions")
            return
        fill(cursor)
        for number in range(QUERIES):
            if number % 4 == 3:
                text = others(draw)
                root = plan_of(cursor, text)
                cursor.execute(text)
                seen, counted, what = total(root), len(cursor.fetchall()), [root["operation"]]
                operators += 1
            else:
                query = Query(draw)
                text = query.text()
                seen, counted, what = [], [], []
                for node, count in expectations(query, plan_of(cursor, text), set()):
                    cursor.execute(count)
                    what.append(f"{node['operation']}: {count}")
                    counted.append(cursor.fetchone()[0])
                    seen.append(total(node))
                operators += len(seen)
            right += seen == counted
            if seen != counted:
                report.fail(f"actual_rows_of_query_{number}", f"{text}: {seen}, counted {counted}, {what}")
        report.check(right == QUERIES and operators > 2 * QUERIES, "actual_rows_are_those_counted", f"of {right} of {QUERIES} queries")
        report.note(f"{operators} operators of {QUERIES} queries")
        cursor.execute(f"DROP DATABASE {DATABASE}")

#!/usr/bin/env python3
"""Names in every clause: prints a golden script that uses names of columns and of aliases wherever a query may have them.

    tests/differential/names.py > mysql.test; cp mysql.test tidemark.test
    tests/golden.py --address 127.0.0.1:3306:USER --record mysql.test          # MySQL
    tests/golden.py --address 127.0.0.1:3307:root --record tidemark.test
    tests/differential/names.py mysql.test tidemark.test > tests/sql/names_in_clauses.test
    tests/differential/names.py --different mysql.test tidemark.test > tests/sql/names_in_clauses_that_differ.test

A statement is made of four choices: what the select list calls things (a column, an alias, an alias that hides a column of the same
or of another meaning, an aggregate, an ambiguous column), how the name is used (alone, inside an expression, in an aggregate, in a
subquery), in which clause, and whether ONLY_FULL_GROUP_BY holds. MySQL's answers are recorded, rows or the error's number. The first of
the last two commands keeps the statements that both servers answer alike, and counts the others by kind; the second keeps these others,
by kind, so that none is added unseen. docs/compatibility.md lists the kinds.
"""
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import golden

SETUP = """
CREATE TABLE t (a INT, b INT, s VARCHAR(5))
CREATE TABLE u (a INT, c INT)
INSERT INTO t VALUES (1, 3, 'x'), (2, 2, 'y'), (3, 1, 'X'), (4, 1, 'z')
INSERT INTO u VALUES (1, 1), (2, 2), (3, 2)
"""

# The select list, and the name that the clauses use.
MEANINGS = [
    ("b", "b"),
    ("b", "t.b"),
    ("b + 1 AS x", "x"),
    ("b AS x", "x"),
    ("b AS b", "b"),
    ("a AS b", "b"),
    ("-b AS b", "b"),
    ("a AS b", "t.b"),
    ("a AS b, b AS a", "b"),
    ("b % 2 AS x, a AS x", "x"),
    ("SUM(a) AS b", "b"),
    ("SUM(a) AS x", "x"),
    ("a", "b"),
    ("a", "missing"),
    ("(SELECT MAX(c) FROM u WHERE u.a <= t.a) AS x", "x"),
    ("RANK() OVER (ORDER BY b) AS x", "x"),
]

USES = [
    "{n}",
    "-{n}",
    "{n} * 10 + {n}",
    "IF({n} > 1, {n}, 0)",
    "{n} IS NULL",
    "SUM({n})",
    "MAX({n}) + 1",
    "(SELECT {n})",
    "(SELECT MAX(u.c) FROM u WHERE u.c <= {n})",
    "(SELECT SUM({n}) FROM u)",
]

CLAUSES = [
    "SELECT {items}, {use} AS z FROM t",
    "SELECT {items} FROM t WHERE {use} > 0",
    "SELECT {items} FROM t GROUP BY {use}",
    "SELECT {items}, COUNT(*) FROM t GROUP BY {name} ORDER BY {use}",
    "SELECT {items}, COUNT(*) FROM t GROUP BY {name} HAVING {use} > 1",
    "SELECT {items} FROM t HAVING {use} > 1",
    "SELECT {items} FROM t ORDER BY {use}, a",
    "SELECT DISTINCT {items} FROM t ORDER BY {use}",
    "SELECT {items} FROM t UNION SELECT {items} FROM t ORDER BY {use}",
    "SELECT {items}, ROW_NUMBER() OVER (ORDER BY {use}, a) AS r FROM t",
    "SELECT {items}, COUNT(*) OVER (PARTITION BY {use}) AS r FROM t",
    "SELECT {items}, COUNT(*) FROM t GROUP BY {name} WITH ROLLUP HAVING {use} IS NOT NULL",
]

# What needs two tables, and has no use to choose.
JOINED = [
    "SELECT t.a FROM t JOIN u ON {n} = 1",
    "SELECT t.a FROM t JOIN u ON t.a = u.a WHERE {n} > 0",
    "SELECT t.a FROM t JOIN u ON t.a = u.a GROUP BY {n}",
    "SELECT t.a, COUNT(*) FROM t JOIN u ON t.a = u.a GROUP BY t.a HAVING {n} > 0",
    "SELECT t.a FROM t JOIN u ON t.a = u.a ORDER BY {n}",
    "SELECT t.a, u.a FROM t JOIN u ON t.a = u.a ORDER BY {n}",
    "SELECT t.a, u.a FROM t JOIN u ON t.a = u.a GROUP BY {n}",
    "SELECT t.a, u.a FROM t JOIN u ON t.a = u.a HAVING {n} > 0",
    "SELECT t.a AS a, u.a AS a FROM t JOIN u ON t.a = u.a ORDER BY {n}",
    "SELECT t.a + 1 AS a FROM t JOIN u ON t.a = u.a ORDER BY {n}",
    "SELECT t.a + 1 AS a FROM t JOIN u ON t.a = u.a GROUP BY {n}",
    "SELECT t.a + 1 AS a, COUNT(*) FROM t JOIN u ON t.a = u.a GROUP BY t.a HAVING {n} > 0",
    "SELECT DISTINCT t.a FROM t JOIN u ON t.a = u.a ORDER BY {n}",
    "SELECT {n} FROM t JOIN u USING (a) ORDER BY {n}",
    "SELECT t.a FROM t JOIN u USING (a) GROUP BY {n}",
    "SELECT a FROM t JOIN u USING (a) GROUP BY {n} HAVING {n} > 1",
    "SELECT t.b FROM t JOIN u USING (b) ORDER BY {n}",
    "SELECT * FROM t NATURAL JOIN u WHERE {n} > 1",
]
JOINED_NAMES = ["a", "t.a", "u.a", "a + 0", "(SELECT a)", "SUM(a)", "c", "v.a", "1", "golden.t.a"]

# Positions, and names in places of their own.
SINGLE = """
SELECT a, b FROM t ORDER BY 2, 1
SELECT a, b FROM t ORDER BY 3
SELECT a, b FROM t ORDER BY 0
SELECT a, b FROM t ORDER BY -1
SELECT a, b FROM t ORDER BY 1 + 1
SELECT a, b FROM t ORDER BY '2', a
SELECT a, b FROM t GROUP BY 2, 1
SELECT a, b FROM t GROUP BY 3
SELECT a, b FROM t GROUP BY 0
SELECT a, SUM(b) FROM t GROUP BY 2
SELECT a, SUM(b) AS x FROM t GROUP BY x
SELECT a, SUM(b) AS x FROM t GROUP BY x + 1
SELECT a, RANK() OVER () AS x FROM t GROUP BY x
SELECT a AS x, x + 1 AS y FROM t
SELECT a AS x, (SELECT x + 1) AS y FROM t
SELECT a AS x, (SELECT x + 1) AS y FROM t ORDER BY y DESC
SELECT (SELECT y) AS x, a AS y FROM t
SELECT SUM(a) AS x, (SELECT x) AS y FROM t
SELECT a AS x FROM t GROUP BY a HAVING SUM(x) > 1
SELECT a AS x FROM t GROUP BY x HAVING SUM(x) > 1
SELECT b AS x, SUM(a) AS y FROM t GROUP BY x HAVING y > 1 AND SUM(x) > 1 ORDER BY y, x
SELECT b AS x, SUM(a) AS y FROM t GROUP BY x ORDER BY SUM(y)
SELECT b AS x, SUM(a) AS y FROM t GROUP BY x ORDER BY y + x, SUM(x)
SELECT b AS x, SUM(a) AS y FROM t GROUP BY x ORDER BY (SELECT y)
SELECT b AS x, SUM(a) AS y FROM t GROUP BY x HAVING (SELECT y) > 1 ORDER BY 1
SELECT b AS x, SUM(a) AS y FROM t GROUP BY x HAVING EXISTS (SELECT * FROM u WHERE u.a = x) ORDER BY 1
SELECT b AS x, SUM(a) AS y FROM t GROUP BY x HAVING EXISTS (SELECT * FROM u WHERE u.a + 3 = y) ORDER BY 1
SELECT a AS x FROM t WHERE EXISTS (SELECT * FROM u WHERE u.a = x)
SELECT a AS c FROM t WHERE EXISTS (SELECT c FROM u WHERE u.a = c)
SELECT a AS c FROM t HAVING EXISTS (SELECT c FROM u WHERE u.a = c)
SELECT a AS c FROM t HAVING (SELECT MAX(u.a) FROM u GROUP BY c ORDER BY c LIMIT 1) > 0
SELECT a FROM t UNION SELECT c FROM u ORDER BY a
SELECT a FROM t UNION SELECT c FROM u ORDER BY c
SELECT a FROM t UNION SELECT c FROM u ORDER BY t.a
SELECT a FROM t UNION SELECT c FROM u ORDER BY -a
SELECT a FROM t UNION SELECT c FROM u ORDER BY 2
SELECT a AS x, b FROM t UNION SELECT c, a FROM u ORDER BY x, b
SELECT a AS x, b FROM t UNION SELECT c, a FROM u ORDER BY a
SELECT a AS x FROM t UNION SELECT c FROM u ORDER BY (SELECT x)
SELECT a AS x FROM t UNION SELECT c FROM u ORDER BY SUM(x)
SELECT a AS x FROM t UNION SELECT c FROM u ORDER BY x + 1 DESC
(SELECT a AS x FROM t ORDER BY b) UNION SELECT c FROM u ORDER BY x
SELECT a, b FROM t GROUP BY a
SELECT a, COUNT(*) FROM t
SELECT COUNT(*) FROM t HAVING a > 1
SELECT COUNT(*) FROM t ORDER BY a
SELECT COUNT(*) FROM t ORDER BY SUM(a)
SELECT a FROM t ORDER BY SUM(a)
SELECT 1 FROM t HAVING SUM(a) > 1
SELECT a FROM t HAVING SUM(a) > 1
SELECT a FROM t WHERE SUM(a) > 1
SELECT a FROM t GROUP BY SUM(a)
SELECT a FROM t JOIN u ON SUM(t.a) = 1
SELECT DISTINCT b FROM t ORDER BY a
SELECT DISTINCT b FROM t ORDER BY a + b
SELECT DISTINCT b + 1 FROM t ORDER BY b + 1
SELECT DISTINCT b + 1 FROM t ORDER BY b
SELECT DISTINCT b + 1 AS x FROM t ORDER BY -x
SELECT DISTINCT b + 1 AS x FROM t ORDER BY b + 1, x
SELECT DISTINCT b + 1 AS x FROM t ORDER BY (b + 1) * 2
SELECT DISTINCT b + 1 AS b FROM t ORDER BY b
SELECT DISTINCT b + 1 AS b FROM t ORDER BY -b
SELECT DISTINCT SUM(a) FROM t GROUP BY b ORDER BY SUM(a)
SELECT DISTINCT SUM(a) AS x FROM t GROUP BY b ORDER BY x + 1
SELECT DISTINCT SUM(a) FROM t GROUP BY b ORDER BY MAX(a)
SELECT DISTINCT b FROM t GROUP BY b ORDER BY SUM(a)
SELECT b + 1 FROM t GROUP BY b + 1 ORDER BY b + 1
SELECT b + 1 FROM t GROUP BY b + 1 ORDER BY (b + 1) * 2
SELECT (b + 1) * 2 FROM t GROUP BY b + 1
SELECT b + 1 AS x FROM t GROUP BY b + 1 ORDER BY x * 2
SELECT b + 1 AS x FROM t GROUP BY b + 1 HAVING x * 2 > 4
SELECT b + 1 AS x FROM t GROUP BY x HAVING b + 1 > 2
SELECT b + 1 AS x FROM t GROUP BY x HAVING (b + 1) * 2 > 4
SELECT b + 1 AS x FROM t GROUP BY x ORDER BY b
SELECT b + 1 AS x, x FROM (SELECT 1 AS b, 5 AS x) AS d GROUP BY x
SELECT a AS x, b AS x FROM t ORDER BY x
SELECT a AS x, a AS x FROM t ORDER BY x DESC
SELECT a AS x, b AS x FROM t GROUP BY x
SELECT a AS x, b AS x FROM t GROUP BY a, b HAVING x > 1
SELECT a AS `a b`, b FROM t ORDER BY `a b` DESC
SELECT a 'x' FROM t ORDER BY 'x', a
SELECT a AS X FROM t ORDER BY x DESC
SELECT a AS x FROM t ORDER BY t.x
SELECT a AS x FROM t GROUP BY t.x
SELECT a AS x FROM t HAVING t.x > 1
SELECT a AS x FROM t HAVING t.a > 1
SELECT b AS x FROM t HAVING t.a > 1
SELECT a FROM t AS q ORDER BY t.a
SELECT a FROM t AS q ORDER BY q.a DESC
SELECT golden.t.a FROM t ORDER BY golden.t.a DESC
SELECT golden.q.a FROM t AS q
SELECT a, SUM(b) OVER w AS x FROM t WINDOW w AS (ORDER BY x)
SELECT a AS y, SUM(b) OVER w AS x FROM t WINDOW w AS (ORDER BY y)
SELECT a AS y, SUM(b) OVER (PARTITION BY y) AS x FROM t
SELECT a, SUM(b) OVER (ORDER BY a) AS x FROM t ORDER BY x DESC
SELECT a, SUM(b) OVER (ORDER BY a) AS x FROM t ORDER BY -x
SELECT a, SUM(b) OVER (ORDER BY a) AS x FROM t HAVING x > 1
SELECT a, SUM(b) OVER (ORDER BY a) AS x FROM t WHERE x > 1
SELECT b, SUM(SUM(a)) OVER (ORDER BY b) AS x FROM t GROUP BY b ORDER BY x
SELECT b AS y, SUM(SUM(a)) OVER (ORDER BY b + 1) AS x FROM t GROUP BY y
SELECT b + 1 AS y, SUM(SUM(a)) OVER (ORDER BY b + 1) AS x FROM t GROUP BY y
SELECT b + 1 AS y, SUM(SUM(a)) OVER (ORDER BY -(b + 1)) AS x FROM t GROUP BY y
SELECT b + 1 AS y, GROUPING(b + 1), GROUPING(y) FROM t GROUP BY y WITH ROLLUP
SELECT b + 1 AS y, COUNT(*) FROM t GROUP BY y WITH ROLLUP ORDER BY GROUPING(y), y + 0
SELECT b + 1 AS y, (b + 1) * 2, COUNT(*) FROM t GROUP BY y WITH ROLLUP
SELECT b AS y, b * 2, COUNT(*) FROM t GROUP BY y WITH ROLLUP HAVING y * 2 > 2
SELECT s AS x, COUNT(*) FROM t GROUP BY x ORDER BY LOWER(x)
SELECT s COLLATE utf8mb4_bin AS x, COUNT(*) FROM t GROUP BY x ORDER BY x
SELECT s COLLATE utf8mb4_bin AS x, COUNT(*) FROM t GROUP BY x ORDER BY CONCAT(x, 1)
SELECT s, COUNT(*) FROM t GROUP BY s COLLATE utf8mb4_bin ORDER BY 1
DELETE FROM t WHERE x > 1
UPDATE t SET b = x
UPDATE t JOIN u ON t.a = u.a SET a = 1
INSERT INTO t (a) SELECT a AS x FROM u WHERE x > 1
INSERT INTO t (a) SELECT a + 10 AS x FROM u HAVING x > 100
"""

REASON = "names of items within subqueries"
MODES = [("the default mode", "DEFAULT"), ("any mode", "''"), ("ANSI", "'ANSI'")]


def statements():
    """The statements of a mode, each once, in order."""
    made = {}
    for items, name in MEANINGS:
        for use in USES:
            for clause in CLAUSES:
                made[clause.format(items=items, use=use.format(n=name), name=name)] = None
    for clause in JOINED:
        for name in JOINED_NAMES:
            made[clause.format(n=name)] = None
    made.update(dict.fromkeys(SINGLE.strip().splitlines()))
    return list(made)


def kind(step: golden.Step) -> str:
    first = step.expected[0] if step.expected else ""
    return first.split(" (")[0] if first.startswith("ERROR") else "rows"


def common(mysql: str, tidemark: str) -> None:
    """Prints what two recordings of the script have in common."""
    other = Counter()
    for mine, theirs in zip(*(golden.parse(Path(name).read_text()) for name in (tidemark, mysql)), strict=True):
        if isinstance(theirs, str):
            print(theirs)
        elif theirs.expected == mine.expected:
            print("\n".join(theirs.written + [golden.INDENT + line for line in theirs.expected]))
        else:
            other[kind(theirs), kind(mine)] += 1
    for (theirs, mine), count in other.most_common():
        print(f"{count} with {theirs} in MySQL and {mine} here", file=sys.stderr)


def different(mysql: str, tidemark: str) -> None:
    """Prints the statements that two recordings of the script answer differently, under each SQL mode by kind."""
    kinds: dict[tuple[str, str], list[golden.Step]] = {}

    def end_of_mode() -> None:
        for (theirs, mine), steps in sorted(kinds.items(), key=lambda found: -len(found[1])):
            print(f"\n# {theirs} in MySQL, {'other ' if theirs == mine else ''}{mine} here")
            for step in steps:
                print("\n".join(step.written + [golden.INDENT + line for line in step.expected]))
        kinds.clear()

    for mine, theirs in zip(*(golden.parse(Path(name).read_text()) for name in (tidemark, mysql)), strict=True):
        if isinstance(theirs, str):
            if theirs.startswith("# In "):
                end_of_mode()
            print(theirs)
            if theirs.startswith("# Names"):
                print(f"# Differs from MySQL: {REASON}")
        elif "code" not in theirs.tags:
            print("\n".join(theirs.written + [golden.INDENT + line for line in theirs.expected]))
        elif theirs.expected != mine.expected:
            kinds.setdefault((kind(theirs), kind(mine)), []).append(mine)
    end_of_mode()


def main() -> None:
    if len(sys.argv) == 4:
        return different(*sys.argv[2:])
    if len(sys.argv) == 3:
        return common(*sys.argv[1:])
    print("# Names of columns and aliases in every clause: made by tests/differential/names.py, which says how.")
    for line in SETUP.strip().splitlines():
        print(line)
    for title, mode in MODES:
        print(f"# In {title}.\nSET sql_mode = {mode}")
        chosen = statements()
        if mode == "'ANSI'":
            # ANSI takes "x" for a name, and quotes nothing else otherwise.
            chosen = [text.replace("'x'", '"x"') for text in SINGLE.strip().splitlines()]
        for text in chosen:
            # Rows that are equal in the order asked for come in any.
            ordered = text.endswith(", a") or not text.startswith("SELECT")
            print(f"[code] {text}" if ordered else f"[code] [sorted] {text}")


if __name__ == "__main__":
    main()

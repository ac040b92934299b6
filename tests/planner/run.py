#!/usr/bin/env python3
"""Skewed data: with histograms the planner finds the way that reads fewer rows, and never one that reads more. And EXPLAIN ANALYZE
counts the rows of each operator right (see `actual`). And what it takes the sizes of tables to be (see `estimates`), and
knows of columns without an index (see `unindexed`).

    tests/planner/run.py [--address HOST:PORT[:USER]] [--rows 40000]

Twenty queries whose conditions are on columns that no index leads to, with values spread very unevenly. Without histograms an
equality passes for rare and a range for frequent, so each query has one of either that is the other way round. They are
planned and run before there are histograms and after: their rows must be the same, and the rows that the engine looked at
(`Handler_read_…`) are compared.
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import actual  # noqa: E402
import estimates  # noqa: E402
import unindexed  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

DATABASE = "planner"
#: More rows than this are looked at without being counted as worse.
SLACK = 50
#: A query counts as better if it looks at no more than this share of the rows.
BETTER = 0.8
#: Queries of the twenty that must get better.
BETTER_MIN = 20

#: Sales have a shop, a buyer and an article, each found by an index.
TABLES = [
    "CREATE TABLE shops (id INT PRIMARY KEY, region VARCHAR(10), opened DATE, size ENUM('small', 'big'), manager VARCHAR(20))",
    "CREATE TABLE buyers (id INT PRIMARY KEY, age INT, since DATETIME, rating DECIMAL(4,1), tags SET('a', 'b'), mail VARCHAR(20))",
    "CREATE TABLE articles (id INT PRIMARY KEY, price DOUBLE, weight BIGINT UNSIGNED, colour VARCHAR(10), made TIMESTAMP NULL, rest TIME)",
    "CREATE TABLE sales (id INT PRIMARY KEY, shop INT NOT NULL, buyer INT NOT NULL, article INT NOT NULL, state VARCHAR(10), amount INT, "
    "KEY (shop), KEY (buyer), KEY (article))",
]
NUMBERS = "WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < {}) "

SHOP_BUYER = "SELECT COUNT(*), SUM(s.id) FROM sales s JOIN shops h ON h.id = s.shop JOIN buyers b ON b.id = s.buyer WHERE "
SHOP_ARTICLE = "SELECT COUNT(*), SUM(s.id) FROM sales s JOIN shops h ON h.id = s.shop JOIN articles a ON a.id = s.article WHERE "
BUYER_ARTICLE = "SELECT COUNT(*), SUM(s.id) FROM sales s JOIN buyers b ON b.id = s.buyer JOIN articles a ON a.id = s.article WHERE "
ALL = "SELECT COUNT(*), SUM(s.id) FROM shops h, buyers b, articles a, sales s WHERE h.id = s.shop AND b.id = s.buyer AND a.id = s.article AND "
QUERIES = [
    SHOP_BUYER + "h.region = 'south' AND b.age > 90",
    SHOP_BUYER + "h.size = 'small' AND b.age BETWEEN 91 AND 99",
    SHOP_BUYER + "h.manager IS NULL AND b.age IN (91, 92, 93)",
    SHOP_BUYER + "h.opened = '2001-01-01' AND b.since >= '2024-01-01'",
    SHOP_BUYER + "h.region = 'south' AND b.rating > 9.5",
    SHOP_BUYER + "h.region = 'south' AND b.mail IS NOT NULL",
    SHOP_BUYER + "h.region <> 'south' AND b.tags = 'a'",
    SHOP_BUYER + "h.size <> 'small' AND b.mail IS NULL",
    SHOP_BUYER + "h.manager > 'm' AND b.tags = 'a'",
    SHOP_ARTICLE + "h.region = 'south' AND a.price < 1.5",
    SHOP_ARTICLE + "h.size = 'small' AND a.weight > 1000000",
    SHOP_ARTICLE + "h.region IN ('north', 'west') AND a.colour = 'grey'",
    SHOP_ARTICLE + "h.opened > '2020-01-01' AND a.made IS NULL",
    BUYER_ARTICLE + "b.tags = 'a' AND a.made > '2024-01-01'",
    BUYER_ARTICLE + "b.mail IS NULL AND a.rest < '01:00:00'",
    BUYER_ARTICLE + "(b.age = 91 OR b.age > 97) AND a.colour = 'grey'",
    ALL + "h.region = 'south' AND b.mail IS NULL AND a.weight > 1000000",
    "SELECT id FROM sales WHERE state = 'open' AND shop BETWEEN 10 AND 12 ORDER BY id LIMIT 10",
    "SELECT id FROM sales WHERE amount > 9000 AND shop BETWEEN 20 AND 25 ORDER BY id LIMIT 10",
    "SELECT id FROM sales WHERE amount BETWEEN 9000 AND 9999 AND buyer BETWEEN 7 AND 9 ORDER BY id DESC LIMIT 10",
]
HISTOGRAMS = [
    "ANALYZE TABLE shops UPDATE HISTOGRAM ON region, opened, size, manager WITH 32 BUCKETS",
    "ANALYZE TABLE buyers UPDATE HISTOGRAM ON age, since, rating, tags, mail WITH 32 BUCKETS",
    "ANALYZE TABLE articles UPDATE HISTOGRAM ON price, weight, colour, made, rest WITH 32 BUCKETS",
    "ANALYZE TABLE sales UPDATE HISTOGRAM ON state, amount WITH 32 BUCKETS",
]


def fill(cursor, rows: int) -> None:
    cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
    cursor.execute(f"CREATE DATABASE {DATABASE}")
    cursor.execute(f"USE {DATABASE}")
    for table in TABLES:
        cursor.execute(table)
    cursor.execute("SET SESSION cte_max_recursion_depth = 10000000")
    few = rows // 40
    cursor.execute("INSERT INTO shops " + NUMBERS.format(few) +
                   "SELECT x, IF(x % 500 = 7, ELT(1 + x % 2, 'north', 'west'), 'south'), IF(x % 500 = 11, '2021-05-05', '2001-01-01'), "
                   "IF(x % 500 = 13, 'big', 'small'), IF(x % 500 = 17, 'moore', NULL) FROM n")
    cursor.execute("INSERT INTO buyers " + NUMBERS.format(few) +
                   "SELECT x, IF(x % 400 = 19, 91 + x % 9, x % 80), IF(x % 500 = 23, '2024-02-02 10:00:00', '2010-01-01') + INTERVAL x SECOND, "
                   "IF(x % 500 = 29, 9.9, x % 90 / 10), IF(x % 500 = 31, 'b', 'a'), IF(x % 500 = 37, 'x@y', NULL) FROM n")
    cursor.execute("INSERT INTO articles " + NUMBERS.format(few) +
                   "SELECT x, IF(x % 500 = 41, 1.25, 2 + x), IF(x % 500 = 43, 5000000 + x, x), IF(x % 500 = 47, 'red', 'grey'), "
                   "IF(x % 500 = 53, '2024-03-03 03:03:03', NULL), SEC_TO_TIME(IF(x % 500 = 59, 1800, 36000) + x % 60) FROM n")
    cursor.execute("INSERT INTO sales " + NUMBERS.format(rows) +
                   f"SELECT x, 1 + x * 7919 % {few}, 1 + x * 104729 % {few}, 1 + x * 1299709 % {few}, IF(x % 2000 = 3, 'open', 'done'), "
                   "IF(x % 2000 = 5, 9000 + x % 1000, x % 100) FROM n")


def looked_at(cursor, query: str) -> tuple[int, tuple]:
    """The rows that the engine looked at, and the query's own."""
    def read() -> int:
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return sum(int(value) for _, value in cursor.fetchall())

    before = read()
    cursor.execute(query)
    rows = cursor.fetchall()
    return read() - before, rows


def skewed(report: Report, address: Address, rows: int) -> None:
    with address.connect() as connection, connection.cursor() as cursor:
        fill(cursor, rows)
        before = [looked_at(cursor, query) for query in QUERIES]
        for statement in HISTOGRAMS:
            cursor.execute(statement)
            said = cursor.fetchall()
            report.check(all(row[2] == "status" for row in said), "histograms_are_made", repr(said))
        after = [looked_at(cursor, query) for query in QUERIES]
        better = 0
        for number, (query, (guessed, rows_then), (known, rows_now)) in enumerate(zip(QUERIES, before, after), 1):
            report.equal(rows_now, rows_then, f"{number:02}_has_the_same_rows")
            report.check(known <= guessed + SLACK, f"{number:02}_is_not_worse", f"{guessed} rows before, {known} after: {query}")
            better += known <= guessed * BETTER
            report.note(f"{number:02}: {guessed} rows looked at before, {known} after")
        report.check(better >= BETTER_MIN, "most_are_better", f"{better} of {len(QUERIES)}")
        cursor.execute(f"DROP DATABASE {DATABASE}")


def main() -> None:
    parser = suite_parser(__doc__)
    parser.add_argument("--address", type=Address.parse, metavar="HOST:PORT[:USER]", help="the server; default: a Tidemark of its own")
    parser.add_argument("--rows", type=int, default=40_000, help="of the largest table")
    options = parser.parse_args()
    report = Report("planner", options.filters)
    if options.address:
        skewed(report, options.address, options.rows)
        actual.check(report, options.address)
        estimates.check(report, options.address)
    else:
        # When a table is looked at again depends on time, and whether plans are made again on that.
        with Server("planner", "--innodb-stats-auto-recalc=OFF") as server:
            skewed(report, server.address, options.rows)
            actual.check(report, server.address)
            estimates.check(report, server.address)
        with Server("planner") as server:
            unindexed.check(report, server.address)
    report.close()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""How far the planner's estimates of rows are from the rows that there are.

    bench/estimates.py [--program target/release/tidemark] [--analyze yes|no|wait] [--worst 10] [--scale 1]
    bench/estimates.py --address 127.0.0.1:3306:USER                      the same on a server that is up

Fills six tables of a shop with skew (a few cities have most customers, a few products most sales) and correlation (a brand has one category, what was
ordered long ago is done, a customer's country is that of the city), then runs queries over them with EXPLAIN ANALYZE. Each operator of each
plan says how many rows it was expected to return and how many it did. Their quotient, whichever is greater above, is the *q-error*: 1 is right.
Printed are its geometric mean, median, 90th percentile and the worst, of filters and scans of single tables, and of joins.

`--analyze no` asks a planner that was told nothing, `yes` runs ANALYZE TABLE before, `wait` waits until the server has found out by itself.
The data and the queries are the same in every run.
"""
import argparse
import math
import os
import random
import re
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.address import Address  # noqa: E402
from support.server import Server  # noqa: E402

SCHEMA = """
CREATE TABLE city (id INT PRIMARY KEY, name VARCHAR(30), country VARCHAR(20), population INT);
CREATE TABLE customer (id INT PRIMARY KEY, city_id INT, country VARCHAR(20), segment VARCHAR(12), vip TINYINT, born DATE, balance DECIMAL(12,2), KEY (city_id));
CREATE TABLE product (id INT PRIMARY KEY, brand VARCHAR(20), category VARCHAR(20), price DECIMAL(10,2), weight INT);
CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT, placed DATE, status VARCHAR(10), priority INT, clerk VARCHAR(12), KEY (customer_id));
CREATE TABLE warehouse (id INT PRIMARY KEY, region VARCHAR(10));
CREATE TABLE line (order_id INT, no INT, product_id INT, quantity INT, shipped DATETIME, returned CHAR(1), warehouse_id INT, PRIMARY KEY (order_id, no), KEY (product_id))
"""
TABLES = ["city", "customer", "product", "orders", "warehouse", "line"]
ROWS_AT_ONCE = 1000
OPERATOR = re.compile(r"^( *)-> (.*?)\s+\(cost=[^ )]+ rows=([0-9.e+]+)\) \(actual time=\S+ rows=([0-9.e+]+) loops=(\d+)\)", re.MULTILINE)
# What an operator does with one table alone.
SINGLE = re.compile(r"(Filter|.* scan|.* lookup|.* search|Rows fetched|Covering)", re.IGNORECASE)


def day(number: int) -> str:
    year, rest = divmod(number, 336)
    return f"{2018 + year}-{rest // 28 + 1:02}-{rest % 28 + 1:02}"


def data(scale: float) -> dict[str, list[tuple]]:
    chance = random.Random(42)

    def zipf(count: int) -> int:
        return min(int(math.exp(chance.random() * math.log(count + 1))) - 1, count - 1)

    cities = [(n, f"city{n}", f"country{n % 23 if n > 20 else n % 4}", int(10 ** (3 + 4 * chance.random()))) for n in range(500)]
    customers = []
    for n in range(int(8_000 * scale)):
        city = zipf(len(cities))
        segment = chance.choices(["private", "business", "state", "school", "press"], [70, 22, 5, 2.5, 0.5])[0]
        customers.append((n, city, cities[city][2], segment, chance.choices([None, 0, 1], [20, 78, 2])[0], day(chance.randrange(2000)),
                          round(chance.lognormvariate(5, 2), 2)))
    products = []
    for n in range(int(2_000 * scale)):
        brand = zipf(60)
        products.append((n, f"brand{brand}", f"category{brand % 9}", round(chance.lognormvariate(3, 1), 2), None if chance.random() < 0.3 else zipf(400)))
    orders, lines = [], []
    for n in range(int(30_000 * scale)):
        placed = int(n / (30_000 * scale) * 2000)
        status = "done" if placed < 1_950 and chance.random() < 0.98 else chance.choice(["open", "paid", "lost", "back"])
        orders.append((n, zipf(len(customers)), day(placed), status, chance.randrange(5), f"clerk{chance.randrange(200)}"))
        for no in range(chance.choice([1, 1, 2, 3, 4, 7])):
            product = zipf(len(products))
            lines.append((n, no, product, 1 + zipf(50), f"{day(placed + chance.randrange(10))} {chance.randrange(24):02}:00:00",
                          "R" if products[product][1] in ("brand0", "brand3") and chance.random() < 0.2 else "N", product % 40))
    warehouses = [(n, "north" if n < 25 else "south" if n < 38 else "far") for n in range(40)]
    return dict(city=cities, customer=customers, product=products, orders=orders, warehouse=warehouses, line=lines)


def queries(tables: dict[str, list[tuple]]) -> list[str]:
    chance = random.Random(7)
    columns = {name: [part.split()[0] for part in re.findall(r"\((.*)\)", line)[0].split(", ")] for name, line in
               re.findall(r"CREATE TABLE (\w+) (.*)", SCHEMA)}

    def value(name: str, row: tuple | None = None) -> str:
        table, column = name.split(".")
        row = row or chance.choice(tables[table])
        found = row[columns[table].index(column)]
        return "NULL" if found is None else f"'{found}'" if isinstance(found, str) else str(found)

    unindexed = ["customer.country", "customer.segment", "customer.vip", "customer.born", "customer.balance", "product.brand", "product.category", "product.price",
                 "product.weight", "orders.placed", "orders.status", "orders.priority", "orders.clerk", "line.quantity", "line.shipped", "line.returned",
                 "line.warehouse_id", "warehouse.region", "city.country", "city.population"]
    found = []
    for name in unindexed:
        table = name.split(".")[0]
        low, high = sorted([value(name), value(name)], key=lambda text: (len(text), text) if text[0] != "'" else (0, text))
        conditions = [f"{name} = {value(name)}", f"{name} <> {value(name)}", f"{name} IN ({value(name)}, {value(name)})", f"{name} IS NULL",
                      f"{name} > {value(name)}", f"{name} BETWEEN {low} AND {high}"]
        found += [f"SELECT COUNT(*) FROM {table} WHERE {condition}" for condition in conditions if "= NULL" not in condition and "> NULL" not in condition]
    pairs = [("product.brand", "product.category"), ("orders.placed", "orders.status"), ("customer.country", "customer.segment"),
             ("line.returned", "line.warehouse_id"), ("orders.priority", "orders.status"), ("line.product_id", "line.returned"), ("customer.city_id", "customer.country")]
    for one, other in pairs:
        table = one.split(".")[0]
        for _ in range(3):
            row = chance.choice(tables[table])
            found.append(f"SELECT COUNT(*) FROM {table} WHERE {one} = {value(one, row)} AND {other} = {value(other, row)}")
            found.append(f"SELECT COUNT(*) FROM {table} WHERE {one} >= {value(one, row)} AND {other} = {value(other)}")
    joins = [
        ("customer JOIN orders ON orders.customer_id = customer.id", ["customer.segment", "orders.status"]),
        ("customer JOIN orders ON orders.customer_id = customer.id", ["customer.country", "orders.priority"]),
        ("city JOIN customer ON customer.city_id = city.id", ["city.country", "customer.segment"]),
        ("orders JOIN line ON line.order_id = orders.id", ["orders.status", "line.returned"]),
        ("orders JOIN line ON line.order_id = orders.id JOIN product ON product.id = line.product_id", ["orders.placed", "product.brand"]),
        ("customer JOIN orders ON orders.customer_id = customer.id JOIN line ON line.order_id = orders.id", ["customer.vip", "line.quantity"]),
        ("line JOIN product ON product.id = line.product_id", ["product.category", "line.returned"]),
        ("line JOIN warehouse ON warehouse.id = line.warehouse_id", ["warehouse.region", "line.quantity"]),
        ("product JOIN line ON line.product_id = product.id JOIN orders ON orders.id = line.order_id JOIN customer ON customer.id = orders.customer_id",
         ["product.brand", "customer.country"]),
        ("city a JOIN customer ON customer.country = a.country", ["customer.segment"]),
    ]
    for tables_of, conditions in joins:
        for _ in range(4):
            chosen = [f"{name} = {text}" for name in conditions if (text := value(name)) != "NULL"]
            found.append(f"SELECT COUNT(*) FROM {tables_of} WHERE {' AND '.join(chosen) or 'TRUE'}")
    return found


def fill(cursor, tables: dict[str, list[tuple]]) -> None:
    for statement in SCHEMA.split(";"):
        cursor.execute(statement)
    for name in TABLES:
        rows = tables[name]
        for at in range(0, len(rows), ROWS_AT_ONCE):
            some = rows[at:at + ROWS_AT_ONCE]
            cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(some[0]))})", some)


def told(cursor, analyze: str) -> None:
    """Waits until the server knows what it is to know."""
    if analyze == "yes":
        cursor.execute("ANALYZE TABLE " + ", ".join(TABLES))
        cursor.fetchall()
    deadline = time.monotonic() + 120
    while analyze == "wait":
        cursor.execute("SELECT COUNT(*) FROM mysql.innodb_table_stats WHERE database_name = 'estimates' AND n_rows > 500")
        if cursor.fetchone()[0] >= 4:
            return
        if time.monotonic() > deadline:
            sys.exit("the server has found nothing out by itself in two minutes")
        time.sleep(0.5)


def quality(errors: list[float]) -> str:
    if not errors:
        return "none"
    mean = math.exp(statistics.fmean(math.log(error) for error in errors))
    ordered = sorted(errors)
    return f"{len(errors):4} operators: geometric mean {mean:6.2f}, median {statistics.median(errors):6.2f}, " \
           f"90 % {ordered[int(len(ordered) * 0.9)]:8.1f}, worst {ordered[-1]:10.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", help="the server to start; default: TIDEMARK_BINARY, or target/release/tidemark")
    parser.add_argument("--address", help="HOST:PORT[:USER] of a server that is up")
    parser.add_argument("--analyze", choices=["yes", "no", "wait"], default="yes")
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst estimates")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--keep", action="store_true", help="the tables are there from the last run with --address")
    options = parser.parse_args()
    if options.program:
        os.environ["TIDEMARK_BINARY"] = options.program
    tables = data(options.scale)
    with ExitStack() as stack:
        recalc = "ON" if options.analyze == "wait" else "OFF"
        address = Address.parse(options.address) if options.address else stack.enter_context(
            Server("estimates", f"--innodb-stats-auto-recalc={recalc}")).address
        connection = stack.enter_context(address.connect())
        cursor = stack.enter_context(connection.cursor())
        if not options.keep:
            cursor.execute("DROP DATABASE IF EXISTS estimates")
            cursor.execute("CREATE DATABASE estimates")
        cursor.execute("USE estimates")
        if not options.keep:
            fill(cursor, tables)
        told(cursor, options.analyze)
        single, joined, worst = [], [], []
        for query in queries(tables):
            cursor.execute("EXPLAIN ANALYZE " + query)
            text = cursor.fetchall()[0][0]
            for _, what, expected, counted, loops in OPERATOR.findall(text):
                if "ggregate" in what:
                    continue
                # Less than a row is none: a fraction below one says nothing that a plan depends on.
                expected, counted = max(float(expected), 1.0), max(float(counted), 1.0)
                error = max(expected / counted, counted / expected)
                (single if SINGLE.match(what) and " JOIN " not in query else joined).append(error)
                worst.append((error, f"expected {expected:.0f}, counted {counted:.0f}, {loops} loops: {what[:90]} | {query}"))
        print("single tables", quality(single))
        print("joins        ", quality(joined))
        for error, line in sorted(worst, reverse=True)[:options.worst]:
            print(f"{error:10.1f} {line}")


if __name__ == "__main__":
    main()

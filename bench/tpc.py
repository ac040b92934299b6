#!/usr/bin/env python3
"""TPC-H's 22 and TPC-DS's 99 queries on servers that are up: processor time per query, the same rows, and how far estimates are off.

    bench/tpc.py h|ds NAME=PORT[:USER] NAME=PORT[:USER]... [--load] [--sf 0.1] [--rounds 3] [--only 1,5] [--timeout 60] [--estimates] [--changes]

Data and texts come from DuckDB's generators (`pip install duckdb==0.9.2`, which has both built in). `--load` makes database `tpch` or `tpcds` on each
server, with the primary keys and, in TPC-H, indexes of the foreign keys; TPC-DS gets one index for each of the first few keys of its fact tables.
What is not MySQL's syntax is changed (`--changes` says what, and where). How servers are compared: see `compared.py`.
"""
import argparse
import re
import sys
from collections import defaultdict

from compared import Peers, compare, estimates, load
from thread_cpu import Measured

PRIMARY = {
    "region": "r_regionkey", "nation": "n_nationkey", "supplier": "s_suppkey", "customer": "c_custkey", "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey", "orders": "o_orderkey", "lineitem": "l_orderkey, l_linenumber",
}
INDEXES = {
    "nation": ["n_regionkey"], "supplier": ["s_nationkey"], "customer": ["c_nationkey"], "partsupp": ["ps_suppkey"],
    "orders": ["o_custkey", "o_orderdate"], "lineitem": ["l_partkey, l_suppkey", "l_suppkey", "l_shipdate"],
}
#: Tables of TPC-DS whose first column is their key.
DIMENSIONS = {
    "item", "customer", "date_dim", "store", "warehouse", "time_dim", "promotion", "customer_address", "customer_demographics", "household_demographics",
    "income_band", "reason", "ship_mode", "call_center", "catalog_page", "web_page", "web_site",
}
KEYS = ("_date_sk", "_item_sk", "_customer_sk", "_order_number", "_ticket_number")

#: What is not MySQL's syntax, and what stands for it: the words for it, a pattern, its replacement.
CHANGES = [
    ("NULLS FIRST is left out: NULL is less than all in MySQL", r"\s+NULLS\s+(?:FIRST|LAST)\b", ""),
    ("no space between a function and its parenthesis", r"\b(SUM|CAST|COUNT|AVG|MIN|MAX)\s+\(", r"\1("),
    ("CAST AS SIGNED for integers", r"CAST\(([^()]+(?:\([^()]*\)[^()]*)*?) AS (?:integer|bigint|int)\)", r"CAST(\1 AS SIGNED)"),
    ("no CAST to DOUBLE", r"\bCAST\(([^()]+(?:\([^()]*\)[^()]*)*?) AS (?:double|float)\)", r"(\1)"),
    ("a table's * behind other columns", r",\s*\*(\s+FROM (\w+)\))", r", \2.*\1"),
    (
        "FULL JOIN as two LEFT JOINs (rows)",
        r"\(SELECT ((?:(?!\bSELECT\b).)+?)\s+FROM (\w+) (\w+)\s+FULL OUTER JOIN (\w+) (\w+) ON \((.+?)\)\)(x\b)",
        r"(SELECT \1 FROM \2 \3 LEFT JOIN \4 \5 ON (\6) UNION ALL "
        r"SELECT \1 FROM \4 \5 LEFT JOIN \2 \3 ON (\6) WHERE \3.item_sk IS NULL)\7",
    ),
    (
        "FULL JOIN as two LEFT JOINs (sums)",
        r"FROM ssci\s+FULL OUTER JOIN csci ON \((.+?)\)\s+LIMIT",
        r"FROM (SELECT ssci.customer_sk AS s, csci.customer_sk AS c FROM ssci LEFT JOIN csci ON (\1) UNION ALL "
        r"SELECT ssci.customer_sk, csci.customer_sk FROM csci LEFT JOIN ssci ON (\1) WHERE ssci.item_sk IS NULL) joined LIMIT",
    ),
    ("the columns of that", r"\b([sc])(?:sci)\.customer_sk IS\b", r"joined.\1 IS"),
    ("a name in one case", r"\bCATALOG\b", "catalog"),
]


def duckdb_of(kind: str, sf: float):
    try:
        import duckdb
    except ImportError:
        sys.exit("this needs DuckDB's generators: pip install duckdb==0.9.2")
    source = duckdb.connect()
    source.execute(f"CALL {'dbgen' if kind == 'h' else 'dsdgen'}(sf={sf})")
    return source


def texts(source, kind: str, changes: bool) -> dict[str, str]:
    """The queries by their numbers, in MySQL's syntax."""
    found, changed = {}, defaultdict(list)
    for number, sql in source.execute(f"SELECT query_nr, query FROM tpc{kind}_queries()").fetchall():
        name, sql = f"{kind}{number:02}", sql.strip().rstrip(";")
        for words, pattern, replacement in CHANGES:
            sql, times = re.subn(pattern, replacement, sql, flags=re.IGNORECASE | re.DOTALL)
            if times:
                changed[words].append(name)
        found[name] = sql
    if changes:
        for words, names in changed.items():
            print(f"{words}: {', '.join(names)}")
    return found


def definition(source, kind: str, table: str) -> str:
    columns = source.execute(
        f"SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '{table}' ORDER BY ordinal_position").fetchall()
    types = {"VARCHAR": "VARCHAR(200)", "INTEGER": "INT"}
    parts = [f"{name} {types.get(of, of)}" for name, of in columns]
    if kind == "h":
        parts += [f"PRIMARY KEY ({PRIMARY[table]})"] + [f"KEY ({columns})" for columns in INDEXES.get(table, [])]
    elif table in DIMENSIONS:
        parts.append(f"PRIMARY KEY ({columns[0][0]})")
    else:
        parts += [f"KEY ({name})" for name, _ in columns if name.endswith(KEYS)][:5]
    return f"CREATE TABLE {table} ({', '.join(parts)})"


def fill(source, kind: str, server: Measured) -> None:
    database = f"tpc{kind}"
    names = source.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'").fetchall()
    tables = [name for name, in names]
    for statement in (f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}", f"USE {database}"):
        server.cursor.execute(statement)
    for table in tables:
        server.cursor.execute(definition(source, kind, table))
        rows = source.execute(f"SELECT * FROM {table}")
        while some := rows.fetchmany(1000):
            server.cursor.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(some[0]))})", some)
    server.rows("ANALYZE TABLE " + ", ".join(tables))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["h", "ds"])
    parser.add_argument("servers", nargs="+", metavar="NAME=PORT")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--sf", type=float, default=0.1, help="scale factor")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="numbers of queries")
    parser.add_argument("--timeout", type=int, default=60, help="seconds")
    parser.add_argument("--estimates", action="store_true")
    parser.add_argument("--changes", action="store_true", help="say what of the texts is not MySQL's syntax")
    options = parser.parse_args()
    source = duckdb_of(options.kind, options.sf if options.load else 0)
    queries = texts(source, options.kind, options.changes)
    if options.only:
        only = {f"{options.kind}{int(number):02}" for number in options.only.split(",")}
        queries = {name: sql for name, sql in queries.items() if name in only}
    if options.load:
        load(options.servers, lambda server: fill(source, options.kind, server))
    peers = Peers(options.servers, f"tpc{options.kind}", options.timeout)
    if options.estimates:
        estimates(peers, queries, worst=5)
    else:
        compare(peers, queries, options.rounds)


if __name__ == "__main__":
    main()

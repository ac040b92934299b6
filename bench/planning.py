#!/usr/bin/env python3
"""What planning costs: microseconds of processor time for joins of 1 to 17 tables, on servers that are up.

    bench/planning.py NAME=PORT[:USER] [NAME=PORT[:USER]...] [--load] [--repeats 200] [--only star] [--statement EXPLAIN]

What is measured is EXPLAIN, which plans and does not run, less EXPLAIN of `SELECT 1`, which has the rest: network, parsing, what is shown. Of
each server the least of the means of five turns counts, so other work on the machine does not. *Stars* join a table of facts with others by their keys,
*chains* each table with the next one; half of the tables have a condition. `point` is a row by its primary key, `secondary` rows by an index
of one column, `range` those between two values of it, all of one table. MySQL is measured with its hypergraph optimizer, too.

The limits of the first server: 1 table 20 µs, 8 tables 1 ms, 17 tables 10 ms. The program fails if it is over one.
"""
import argparse
import sys

import pymysql

from thread_cpu import Measured

DATABASE, TABLES, ROWS = "planning", 17, 3000
COUNTS = [2, 4, 8, 12, 17]
LIMITS_US = {1: 20, 8: 1000, 17: 10_000}
TURNS = 5


def load(peer: str) -> None:
    server = Measured(peer)
    keys = ", ".join(f"KEY (k{number})" for number in range(1, TABLES + 1))
    facts = ", ".join(f"k{number} INT" for number in range(1, TABLES + 1))
    numbers = f"WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})"
    for statement in [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", "SET cte_max_recursion_depth = 1000000",
                      f"CREATE TABLE facts (id INT PRIMARY KEY, {facts}, v INT, {keys})",
                      f"INSERT INTO facts {numbers} SELECT i, {', '.join(f'1 + i * 7919 % {100 * number}' for number in range(1, TABLES + 1))}, i FROM n"]:
        server.rows(statement)
    for number in range(1, TABLES + 1):
        server.rows(f"CREATE TABLE t{number} (id INT PRIMARY KEY, next INT, kind INT, name VARCHAR(20), KEY (next), KEY (kind))")
        server.rows(f"INSERT INTO t{number} {numbers} SELECT i, 1 + i * 104729 % {ROWS}, i % {10 * number}, CONCAT('name', i % 50) FROM n")
    tables = ["facts", *(f"t{number}" for number in range(1, TABLES + 1))]
    server.rows("ANALYZE TABLE " + ", ".join(tables))
    server.close()


def queries() -> dict[str, tuple[int, str]]:
    """By name how many tables there are, and the text."""
    found = {"point": (1, "SELECT v FROM facts WHERE id = 77"), "secondary": (1, "SELECT v FROM facts WHERE k3 = 77"),
             "range": (1, "SELECT v FROM facts WHERE k3 BETWEEN 20 AND 40"), "two of": (1, "SELECT v FROM facts WHERE k3 = 7 AND k5 = 8 AND v > 9")}
    for count in COUNTS:
        others = [f"t{number}" for number in range(1, count)]
        conditions = [f"{table}.kind = {number}" if number % 4 else f"{table}.name LIKE 'name1%'" for number, table in enumerate(others) if number % 2 == 0]
        star = [f"facts.k{number} = t{number}.id" for number in range(1, count)]
        found[f"star {count}"] = (count, f"SELECT COUNT(*) FROM facts, {', '.join(others)} WHERE {' AND '.join(star + conditions)}")
        tables = [*others, f"t{count}"]
        chain = [f"{one}.next = {other}.id" for one, other in zip(tables, tables[1:])]
        found[f"chain {count}"] = (count, f"SELECT COUNT(*) FROM {', '.join(tables)} WHERE {' AND '.join(chain + conditions)}")
    return found


def mean_us(server: Measured, sql: str, repeats: int) -> float:
    """The least of the means of some turns; a turn ends early if the statement is slow."""
    server.rows(sql)
    means = []
    for _ in range(TURNS):
        before, done = server.cpu_us(), 0
        while done < repeats and (done < 5 or server.cpu_us() - before < 100_000):
            for _ in range(5):
                server.rows(sql)
            done += 5
        means.append((server.cpu_us() - before) / done)
    return min(means)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=PORT")
    parser.add_argument("--load", action="store_true", help="make the tables")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--only", default="", help="what the names of queries begin with")
    parser.add_argument("--statement", default="EXPLAIN", help="what is put before each query, as EXPLAIN FORMAT=TREE; nothing: it is run")
    options = parser.parse_args()
    servers = []
    for peer in options.servers:
        if options.load:
            load(peer)
        servers.append(Measured(peer, DATABASE))
        if "Tidemark" not in servers[-1].rows("SELECT @@version_comment")[0][0]:
            servers.append(Measured(peer, DATABASE, "SET optimizer_switch = 'hypergraph_optimizer=on'"))
            servers[-1].name += "+hyp"
    rest = [mean_us(server, f"{options.statement} SELECT 1", options.repeats) for server in servers]
    print(f"{'':12}" + "".join(f"{server.name:>16}" for server in servers))
    print(f"{'select 1':12}" + "".join(f"{us:13.1f} µs" for us in rest))
    over = []
    for name, (count, sql) in queries().items():
        if not name.startswith(options.only):
            continue
        found = []
        for server, less in zip(servers, rest):
            try:
                found.append(mean_us(server, f"{options.statement} {sql}", options.repeats) - less)
            except pymysql.err.MySQLError as error:
                found.append(float("nan"))
                print(f"{server.name}: {error}")
        print(f"{name:12}" + "".join(f"{us:13.1f} µs" for us in found), flush=True)
        if found[0] > LIMITS_US.get(count, float("inf")):
            over.append(f"{name}: {found[0]:.0f} of {LIMITS_US[count]} µs")
    if over:
        sys.exit("over the limit: " + ", ".join(over))


if __name__ == "__main__":
    main()

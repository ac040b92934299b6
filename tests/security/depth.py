"""Depth and length: every recursive form of the grammar at doubling depths, sent as text and prepared.

A statement gives rows or an error, in bounded time, and the server goes on. What applications send must run: chains and
lists of tens of thousands, and a nesting of some hundreds (MySQL 9.7 runs out of its stack at 450 to 2,000 levels).
"""
import time

import pymysql

from forms import DEEP, LONG
from support.patience import is_within
from support.server import binary

DEEPEST = 1 << 17
# What a statement may take. Many are quadratic in planning or in the size of their text, none is worse.
SECONDS_MAX = 30

# How deep what MySQL runs must run here too, where that is not every depth: the nesting that applications use. A build
# without optimisation has larger frames.
MUST_RUN = 60 if "debug" in str(binary()) else 200
# Forms that do not nest that far, in MySQL 9.7 neither or only in parts.
LESS = {
    # MySQL's limits: 63 SELECTs inside each other (1473), 61 tables in a join (1116), 100 levels of JSON (3157).
    "subquery": 30, "subquery and plus": 30, "subquery in WHERE": 20, "EXISTS": 30, "IN a query": 30, "IN a query in WHERE": 20,
    "correlated": 20, "derived table": 30, "derived table with an expression": 30, "derived table with parentheses": 30,
    "common table": 30, "common tables in turn": 30,
    "join in parentheses, right": 60, "join in parentheses, left": 60, "joins whose ON follow": 60,
    "JSON_ARRAY": 100, "JSON text": 100, "regular expression": 90,
    # A level of these is several of the nodes that may stand above each other.
    "chains in parentheses": 25, "chains of 40 in parentheses": 20, "parentheses and OR, AND": 100, "SOUNDS LIKE": 100, "HEX": 100,
    "DATE_ADD": 100, "INTERVAL, the amount": 100, "INTERVAL, leading": 100, "INTERVAL, following": 100,
    "query in parentheses": 100, "query in parentheses with LIMIT": 100, "UNION in parentheses": 60,
    "UNION in parentheses, at the left": 60,
    # Not in the grammar, or not more than once.
    "arrow": 1, "long arrow": 1, "arrows in calls": 0, "IS TRUE": 1, "IN a list, after": 1, "regular expression, repeated": 1, "ROW": 0,
    "EXPLAIN of EXPLAIN": 1, "version comment": 1, "joins whose ON follow": 2,
}
LONG_ENOUGH = 20_000
SHORTER = {
    "semicolons": 0, "mixed set operations": 30, "comma joins": 61, "cross joins": 60, "left joins": 60, "natural joins": 60, "derived in joins": 60,
}


class Depth:
    def __init__(self, address, report):
        self.address, self.report = address, report
        self.connection = None
        self.connect()
        self.execute("CREATE DATABASE IF NOT EXISTS depth")
        self.execute("USE depth")
        for statement in ("DROP TABLE IF EXISTS one, sink", "CREATE TABLE one (a INT, doc JSON)", "INSERT INTO one VALUES (1, '{\"a\": 2}')",
                          "CREATE TABLE sink (a INT)", "SET SESSION group_concat_max_len = 1000"):
            self.execute(statement)

    def connect(self):
        self.connection = self.address.connect(read_timeout=120)

    def execute(self, sql):
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def attempt(self, sql):
        """None if it ran, or the error's number. Whatever the client loses is the server's fault."""
        try:
            self.execute(sql)
            return None
        except pymysql.err.MySQLError as error:
            if error.args[0] in (0, 2006, 2013):
                raise
            return error.args[0]

    def attempt_prepared(self, sql):
        quoted = sql.replace("\\", "\\\\").replace("'", "\\'")
        return self.attempt(f"PREPARE deep FROM '{quoted}'") or self.attempt("EXECUTE deep")

    def run(self, kind, name, form, must_run):
        ran, depth = 0, 1
        while depth <= DEEPEST:
            sql = form(depth)
            for attempt in (self.attempt, self.attempt_prepared):
                if attempt == self.attempt_prepared and sql.startswith("PREPARE"):
                    continue
                started = time.monotonic()
                try:
                    error = attempt(sql)
                except pymysql.err.MySQLError as lost:
                    self.report.fail(f"{kind} {name}", f"{attempt.__name__} at depth {depth}: {lost}")
                    self.connect()
                    self.execute("USE depth")
                    return
                took = time.monotonic() - started
                if not is_within(took, SECONDS_MAX):
                    self.report.fail(f"{kind} {name}", f"{attempt.__name__} took {took:.1f} s at depth {depth}")
                    return
            if error is None:
                ran = depth
            if sql.startswith("CREATE TABLE"):
                self.execute("SHOW TABLES")
                self.execute("DROP TABLE IF EXISTS sink")
            depth *= 2
        if must_run and (error := self.attempt(form(must_run))) is not None:
            self.report.fail(f"{kind} {name}", f"error {error} at depth {must_run}; ran to {ran}")
        else:
            self.report.ok(f"{kind} {name}", f"ran to {ran}")
        if form(1).startswith("CREATE TABLE"):
            self.execute("DROP TABLE IF EXISTS sink")
            self.execute("CREATE TABLE sink (a INT)")
        self.execute("TRUNCATE TABLE sink")


def run(address, report):
    depth = Depth(address, report)
    for name, form in DEEP.items():
        depth.run("deep", name, form, min(MUST_RUN, LESS.get(name, MUST_RUN)))
    for name, form in LONG.items():
        depth.run("long", name, form, SHORTER.get(name, LONG_ENOUGH))
    depth.execute("DROP DATABASE depth")

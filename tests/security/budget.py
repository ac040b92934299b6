"""Memory: what statements hold is bounded, one by one and in all, whatever they are. Each ends with its rows, or with error 3170
that names the limit; rows that can wait are put aside, and the results are those of a server with memory to spare.

The server has little memory on purpose. `budget.py --megabytes 2000 --clients 32 --total 512 --pool 128 --each 2` is the same at full size; with
`--against HOST:PORT:USER`, a MySQL server, its results must be the same (in the database that `--database` names), and a sort beyond memory takes
at most three times as long as there.
"""
import argparse
import random
import sys
import threading
import time
from pathlib import Path

import pymysql

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support.address import Address
from support.report import Report
from support.server import Server

ROW_BYTES = 260
LIMITS = ("'tidemark_statement_memory'", "'tidemark_total_memory'")
# What the process holds beside the pool and what is counted: its code and stacks, and what the allocator keeps.
ASIDE_MB = 150
# Beside 31 others over gigabytes a statement may take long.
READ_TIMEOUT_S = 3600
# Where the clients begin in the list of statements, of which each runs some.
APART = 5
# How many times as long as MySQL a sort may take.
SLOWER_MAX = 3
SORT = "SELECT COUNT(*), MAX(x.pad) FROM (SELECT id, pad FROM t ORDER BY b DESC, id LIMIT 1000000000) x"

# Rows that can be put aside: these give their rows, however little memory there is.
SPILLS = {
    "sort": "SELECT id, pad FROM t ORDER BY b, id LIMIT {last}, 3",
    "sort by an expression": "SELECT id FROM t ORDER BY CRC32(pad), a * 2 DESC, id LIMIT 100, 10",
    "group": "SELECT b, COUNT(*), SUM(a), MAX(pad) FROM t GROUP BY b ORDER BY 2 DESC, 1 LIMIT 5",
    "distinct": "SELECT COUNT(*), SUM(a) FROM (SELECT DISTINCT b, a FROM t) x",
    "union": "SELECT COUNT(*), SUM(a) FROM (SELECT a, pad FROM t UNION SELECT id, pad FROM t WHERE id % 3 = 0) x",
    "derived table": "SELECT COUNT(*), SUM(x.a) FROM (SELECT a, pad FROM t ORDER BY pad, a LIMIT 1000000) x",
    "hash join": "SELECT COUNT(*), SUM(y.a) FROM t x JOIN t y ON x.b = y.b WHERE y.id % 10 = 0",
    "values of IN": "SELECT COUNT(*) FROM t WHERE b IN (SELECT CONCAT('name ', a) FROM t)",
    "common table": "WITH c AS (SELECT a, b FROM t) SELECT COUNT(*) FROM c x JOIN c y ON x.a = y.a WHERE x.b <> y.b",
    "distinct count": "SELECT COUNT(DISTINCT pad, id) FROM t",
    "group concat": "SELECT LENGTH(GROUP_CONCAT(pad ORDER BY b)) FROM t",
    "distinct sum": "SELECT a % 10, SUM(DISTINCT id), COUNT(DISTINCT b), AVG(DISTINCT a) FROM t GROUP BY a % 10 ORDER BY 1",
    "intersect": "SELECT COUNT(*), SUM(a) FROM (SELECT a, pad FROM t INTERSECT ALL SELECT id, pad FROM t) x",
    "except": "SELECT COUNT(*) FROM (SELECT id, pad FROM t EXCEPT SELECT a, pad FROM t) x",
}
# These are kept by the limits alone, and the last must end by them.
GREEDY = {
    "text": "SELECT LENGTH(CONCAT(REPEAT('a', 60000000), REPEAT('b', 1000000)))",
    "replaced text": "SELECT LENGTH(REGEXP_REPLACE(REPEAT('a', 60000000), 'a', 'b'))",
    "texts": "SELECT LENGTH(a), LENGTH(b) FROM (SELECT REPEAT('a', 60000000) a, REPEAT('b', 60000000) b UNION SELECT REPEAT('c', 60000000), 1) x",
    "variables": ["SET " + ", ".join(f"@v{n} = REPEAT('a', 10000000)" for n in range(i, i + 10)) for i in range(0, 500, 10)],
}
# Documents of which the tree is beyond the limit, and the text is not.
DOCUMENT_BYTES, DOCUMENT_LIMIT = 8 << 20, 48 << 20
# Beside the limit: what the allocator keeps, and what the engine does meanwhile.
DOCUMENT_ASIDE = 32 << 20
DOCUMENTS = {
    "read": "SELECT JSON_LENGTH(@t)",
    "cast": "SELECT LENGTH(CAST(@t AS JSON))",
    "valid": "SELECT JSON_VALID(@t)",
    "merged": "SELECT LENGTH(JSON_MERGE_PRESERVE('[]', @t, '[1]'))",
    "patched": "SELECT LENGTH(JSON_MERGE_PATCH('{}', @t))",
    "put into another": "SELECT LENGTH(JSON_ARRAY(@u, @u, @u, @u, @u, @u, @u))",
    "members": "SELECT LENGTH(JSON_OBJECT('a', @u, 'b', @u, 'c', @u, 'd', @u, 'e', @u, 'f', @u))",
    "changed": "SELECT LENGTH(JSON_SET('{}', '$.a', @u, '$.b', @u, '$.c', @u, '$.d', @u, '$.e', @u))",
    "looked through": "SELECT JSON_SEARCH(@t, 'one', 'a')",
    "a table": "SELECT COUNT(*) FROM JSON_TABLE(@t, '$[*]' COLUMNS (a INT PATH '$')) j",
    "an array of rows": "SELECT JSON_LENGTH(JSON_ARRAYAGG(pad)) FROM t",
    "an object of rows": "SELECT JSON_LENGTH(JSON_OBJECTAGG(id, pad)) FROM t",
    "an array of numbers": "SELECT JSON_LENGTH(JSON_ARRAYAGG(x.id)) FROM t x JOIN t y ON y.id < 20",
}


class Budget:
    against: Address | None = None
    database = "d"      # there
    each: int | None = None     # so many of the statements that put rows aside are run by each client; all of them otherwise

    def __init__(self, report: Report, pool_mb=48, total_mb=192, clients=6, megabytes=60):
        self.report, self.pool_mb, self.total_mb, self.clients = report, pool_mb, total_mb, clients
        self.rows = max(10_000, (megabytes << 20) // ROW_BYTES)

    def run(self) -> None:
        limits = [f"--innodb-buffer-pool-size={self.pool_mb}M", f"--tidemark-total-memory={self.total_mb}M", f"--tidemark-statement-memory={self.total_mb // 3}M",
                  "--innodb-flush-log-at-trx-commit=0", "--max-connections=100"]
        with Server("budget", *limits) as self.server:
            self.load(self.connect(None), "d")
            expected = self.plenty()
            if self.against:
                self.compare(expected)
            peak = self.crowd(expected)
            most = self.pool_mb + self.total_mb + ASIDE_MB
            self.report.check(peak >> 20 <= most, "budget/resident", f"{peak >> 20} MB, at most {most}")
            self.insert_select()
            self.long_statement()
            self.session_limit()
            self.documents()
            self.report.equal(self.server.address.execute("SELECT COUNT(*) FROM d.t"), ((self.rows,),), "budget/serves afterwards")
            self.report.equal(self.server.stop(), 0, "budget/stops")

    def load(self, connection, database: str) -> None:
        with connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {database}")
            cursor.execute(f"USE {database}")
            cursor.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(40), pad CHAR(200), KEY (a))")
            rows = ", ".join(f"({n}, {n * 7919 % 1000003}, 'name {n * 31 % 40000}', REPEAT('x', 190))" for n in range(10_000))
            cursor.execute(f"INSERT INTO t VALUES {rows}")
            count = 10_000
            while count < self.rows:
                cursor.execute(f"INSERT INTO t SELECT id + {count}, (id + {count}) * 7919 % 1000003, "
                               f"CONCAT('name ', (id + {count}) * 31 % 40000), pad FROM t WHERE id < {self.rows - count}")
                count *= 2

    def compare(self, expected: dict) -> None:
        """MySQL's results, and the time of a sort, by the same share of memory."""
        theirs = self.against.connect(read_timeout=READ_TIMEOUT_S)
        with theirs.cursor() as cursor:
            cursor.execute(f"DROP DATABASE IF EXISTS {self.database}")
        self.load(self.against.connect(read_timeout=READ_TIMEOUT_S), self.database)
        theirs.select_db(self.database)
        with theirs.cursor() as cursor:
            for name, query in SPILLS.items():
                cursor.execute(self.sql(query))
                self.report.equal(expected[name], cursor.fetchall(), f"budget/as MySQL: {name}")
        took = [self.sort_s(connection) for connection in (self.connect(), theirs, self.connect(), theirs)]
        ours, other = min(took[::2]), min(took[1::2])
        self.report.check(ours <= SLOWER_MAX * other, "budget/sort", f"{ours:.1f} s, {other:.1f} s in MySQL")
        self.report.note(f"sort of {self.rows} rows: {ours:.1f} s, {other:.1f} s in MySQL")
        with theirs.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {self.database}")
        theirs.close()

    def sort_s(self, connection) -> float:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION sort_buffer_size = 262144")
            started = time.monotonic()
            cursor.execute(SORT)
            cursor.fetchall()
            return time.monotonic() - started

    def connect(self, database="d") -> pymysql.connections.Connection:
        connection = self.server.address.connect(read_timeout=READ_TIMEOUT_S, database=database)
        connection.cursor().execute("SET SESSION transaction_isolation = 'READ-COMMITTED'")
        return connection

    def sql(self, query: str) -> str:
        return query.format(last=self.rows - 5)

    def plenty(self) -> dict:
        """The results with memory to spare: nothing is put aside."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET GLOBAL tidemark_total_memory = 8589934592")
            cursor.execute("SET SESSION sort_buffer_size = 4294967295, join_buffer_size = 4294967295, tmp_table_size = 4294967295, "
                           "tidemark_statement_memory = 8589934592")
            results = {}
            for name, query in SPILLS.items():
                cursor.execute(self.sql(query))
                results[name] = cursor.fetchall()
            cursor.execute(f"SET GLOBAL tidemark_total_memory = {self.total_mb << 20}")
        return results

    def crowd(self, expected: dict) -> int:
        """All statements, or some of the first kind, by all clients at once, in another order each; the most memory that was resident."""
        wrong, ended, lock = [], {name: 0 for name in [*SPILLS, *GREEDY]}, threading.Lock()

        def work(number: int) -> None:
            random_order = random.Random(number)
            first, each = number * APART, self.each or len(SPILLS)
            order = [sorted(SPILLS)[(first + at) % len(SPILLS)] for at in range(each)] + list(GREEDY)
            random_order.shuffle(order)
            connection = self.connect()
            cursor = connection.cursor()
            for name in order:
                try:
                    statements = SPILLS.get(name) or GREEDY[name]
                    for statement in [statements] if isinstance(statements, str) else statements:
                        cursor.execute(self.sql(statement))
                    seen = cursor.fetchall()
                    if name in expected and seen != expected[name]:
                        wrong.append(f"{name}: {seen!r:.200}")
                except pymysql.MySQLError as error:
                    if error.args[0] != 3170 or not any(limit in error.args[1] for limit in LIMITS):
                        wrong.append(f"{name}: {error}")
                    with lock:
                        ended[name] += 1
                if name == "variables":
                    connection.close()
                    connection = self.connect()
                    cursor = connection.cursor()
            connection.close()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(self.clients)]
        for thread in threads:
            thread.start()
        peak = 0
        while any(thread.is_alive() for thread in threads) and self.server.is_running():
            peak = max(peak, self.server.memory_bytes())
            time.sleep(0.02)
        for thread in threads:
            thread.join()
        self.report.check(not wrong, "budget/rows or the named error", "\n".join(wrong))
        self.report.equal(ended["variables"], self.clients, "budget/variables end by the limit")
        print("  ended by a limit:", {name: count for name, count in ended.items() if count}, f"peak {peak >> 20} MB", flush=True)
        # Alone, each of the first kind has room enough.
        with self.connect() as connection, connection.cursor() as cursor:
            for name, query in SPILLS.items():
                cursor.execute(self.sql(query))
                self.report.equal(cursor.fetchall(), expected[name], f"budget/alone: {name}")
        return peak

    def insert_select(self) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE copy (id INT PRIMARY KEY, a INT, b VARCHAR(40), pad CHAR(200))")
            cursor.execute("INSERT INTO copy SELECT id, a, b, pad FROM t ORDER BY b")
            # A row lock is memory, too.
            cursor.execute("UPDATE copy SET a = a + 1 WHERE id < 20000 ORDER BY pad, b")
            cursor.execute("SELECT (SELECT SUM(a) FROM copy) - (SELECT SUM(a) FROM t)")
            self.report.equal(cursor.fetchall()[0][0], 20000, "budget/INSERT … SELECT and UPDATE … ORDER BY")
            cursor.execute("DROP TABLE copy")

    def long_statement(self) -> None:
        """A text within the packet whose syntax tree is not within the memory."""
        with self.connect() as connection, connection.cursor() as cursor:
            seen = None
            try:
                cursor.execute("SELECT " + "1+" * 5_000_000 + "1")
            except pymysql.MySQLError as error:
                seen = error.args[0]
            self.report.equal(seen, 3170, "budget/long statement")

    def session_limit(self) -> None:
        for variable in ["tidemark_statement_memory", "connection_memory_limit"]:
            with self.connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"SET SESSION {variable} = 4194304")
                seen = None
                try:
                    cursor.execute("SELECT LENGTH(REPEAT('a', 5000000))")
                except pymysql.MySQLError as error:
                    seen = error.args
                text = f"Memory capacity of 4194304 bytes for '{variable}' exceeded. The statement was ended."
                self.report.equal(seen, (3170, text), f"budget/{variable}")
                cursor.execute("SELECT LENGTH(REPEAT('a', 3000000))")
                self.report.equal(cursor.fetchall(), ((3000000,),), f"budget/within {variable}")

    def documents(self) -> None:
        """A tree is many times as large as the text it is read from: it is refused while it grows, not when it is there."""
        elements = f"CONCAT('[', REPEAT('1,', {DOCUMENT_BYTES // 2}), '1]')"
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION tidemark_statement_memory = 1073741824")
            cursor.execute(f"SET @t = {elements}, @u = REPEAT('a', {DOCUMENT_BYTES})")
            cursor.execute(f"SET SESSION tidemark_statement_memory = {DOCUMENT_LIMIT}")
            for name, statement in DOCUMENTS.items():
                with self.report.case(f"budget/document: {name}"):
                    Path(f"/proc/{self.server.process.pid}/clear_refs").write_text("5")
                    before = self.server.memory_bytes()
                    try:
                        cursor.execute(statement)
                        seen = cursor.fetchall()
                    except pymysql.MySQLError as error:
                        seen = error.args
                    grown = self.server.memory_bytes("VmHWM") - before
                    assert seen[0] == 3170 and "'tidemark_statement_memory'" in seen[1], seen
                    assert grown < DOCUMENT_LIMIT + DOCUMENT_ASIDE, f"took {grown >> 20} MB"
            cursor.execute("SELECT JSON_LENGTH(JSON_MERGE_PRESERVE('[1, 2]', '{}'))")
            self.report.equal(cursor.fetchall(), ((3,),), "budget/a small document")


def run(_address, report: Report) -> None:
    budget = Budget(report)
    # Each statement by two clients or more; alone all run, too.
    budget.each = 7
    budget.run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, default in [("megabytes", 2000), ("clients", 32), ("total", 512), ("pool", 128)]:
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--against", type=Address.parse, help="a MySQL server")
    parser.add_argument("--database", default="d", help="made there, and dropped")
    parser.add_argument("--each", type=int, help="so many of the statements that put rows aside are run by each client (all)")
    options = parser.parse_args()
    own = Report("budget", [])
    budget = Budget(own, options.pool, options.total, options.clients, options.megabytes)
    budget.against, budget.database, budget.each = options.against, options.database, options.each
    budget.run()
    own.close()

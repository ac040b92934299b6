#!/usr/bin/env python3
"""What each operator of the executor takes for a row, on servers that are up, in turns.

    bench/operators.py NAME=PORT[:USER]... [--rows 300000] [--rounds 5] [--cases hash_join,top_n] [--join-buffer 8388608] [--prepare]

A figure is nanoseconds of processor time of the connection's thread (/proc/PID/task/TID/schedstat), divided by the rows that the operator takes in: the
median of the rounds. The servers take turns, and what else the machine does counts little. With several servers the last column is the first
one's time divided by the least of the others; below 1 the first is faster.

`hyp` behind a name (`mysql.hyp=3306`) switches MySQL's hypergraph optimizer on. Every server has the same tables, which `--prepare` makes anew:
numbers, decimals, texts and dates made of the row's number. Each statement sends one row, or few.
"""
import argparse
import statistics

from thread_cpu import Measured

DATABASE = "bench_operators"

TABLES = (
    """CREATE TABLE facts (id INT PRIMARY KEY, few INT NOT NULL, some INT NOT NULL, many INT NOT NULL, parent INT NOT NULL, small INT NOT NULL,
       price DECIMAL(12,2) NOT NULL, discount DECIMAL(12,2) NOT NULL, tax DECIMAL(12,2) NOT NULL, day DATE NOT NULL, mode VARCHAR(10) NOT NULL,
       note VARCHAR(60) NOT NULL, KEY covering (some, few))""",
    "CREATE TABLE parents (id INT PRIMARY KEY, code INT NOT NULL, name VARCHAR(30) NOT NULL, KEY (code))",
    "CREATE TABLE thousand (id INT PRIMARY KEY, code INT NOT NULL, name VARCHAR(30) NOT NULL)",
    "CREATE TABLE halves (a INT NOT NULL, b INT NOT NULL, n BIGINT NOT NULL, c VARCHAR(20) NOT NULL)",
    "CREATE TABLE others (a INT NOT NULL, b INT NOT NULL, n BIGINT NOT NULL, c VARCHAR(20) NOT NULL)",
)

FACT = """SELECT i, CRC32(i) % 7, CRC32(i + 7) % 20000, CRC32(i + 3) % {many}, i DIV 4 % {parents} + 1, CRC32(i + 5) % 1000 + 1,
 CRC32(i + 11) % 10000000 / 100, CRC32(i + 13) % 11 / 100, CRC32(i + 17) % 9 / 100, DATE '1992-01-01' + INTERVAL CRC32(i + 19) % 2500 DAY,
 ELT(CRC32(i + 23) % 7 + 1, 'AIR', 'FOB', 'MAIL', 'RAIL', 'REG AIR', 'SHIP', 'TRUCK'),
 CONCAT(ELT(CRC32(i + 29) % 5 + 1, 'carefully ', 'quickly ', 'furiously ', 'slyly ', 'blithely '), CRC32(i + 31), ' packages sleep ', CRC32(i + 37))"""


def cases(rows: int) -> dict[str, tuple[int, str]]:
    """By name: the rows that are taken in, and a statement."""
    half = rows // 3
    facts = {
        "covering_scan": "SELECT COUNT(few), SUM(some) FROM facts FORCE INDEX (covering) WHERE some >= 0",
        "clustered_scan": "SELECT COUNT(mode) FROM facts IGNORE INDEX (covering) WHERE id > 0",
        "filter_int": "SELECT COUNT(*) FROM facts WHERE small = 7",
        "filter_decimal": "SELECT COUNT(*) FROM facts WHERE discount < 0.02",
        "filter_date": "SELECT COUNT(*) FROM facts WHERE day BETWEEN '1994-01-01' AND '1994-06-30'",
        "filter_varchar": "SELECT COUNT(*) FROM facts WHERE mode = 'MAIL'",
        "like": "SELECT COUNT(*) FROM facts WHERE note LIKE '%slyly%9%'",
        "in_ints": "SELECT COUNT(*) FROM facts WHERE small IN (3, 44, 555, 666, 901)",
        "sum_decimal": "SELECT SUM(price) FROM facts",
        "decimal_product": "SELECT SUM(price * (1 - discount) * (1 + tax)) FROM facts",
        "year": "SELECT SUM(YEAR(day)) FROM facts",
        "case": "SELECT SUM(CASE WHEN small < 500 THEN few ELSE 0 END) FROM facts",
        "substring_concat": "SELECT MAX(CONCAT(SUBSTRING(note, 3, 8), mode)) FROM facts",
        "in_subquery": "SELECT COUNT(*) FROM facts WHERE small NOT IN (SELECT code FROM thousand WHERE id % 2 = 0)",
        "group_few": "SELECT few, SUM(small) FROM facts GROUP BY few",
        "group_20k": "SELECT COUNT(*), SUM(s) FROM (SELECT many % 20000 k, SUM(small) s FROM facts GROUP BY k) g",
        "group_many": "SELECT COUNT(*), SUM(s) FROM (SELECT many, SUM(small) s FROM facts GROUP BY many) g",
        "group_decimal": "SELECT discount, SUM(small) FROM facts GROUP BY discount",
        "group_varchar": "SELECT mode, SUM(small) FROM facts GROUP BY mode",
        "eight_aggregates": "SELECT few, mode, SUM(small), SUM(price), SUM(price * (1 - discount)), SUM(price * (1 - discount) * (1 + tax)), AVG(small),"
                            " AVG(price), AVG(discount), COUNT(*) FROM facts GROUP BY few, mode",
        "count_distinct": "SELECT COUNT(DISTINCT many % 20000) FROM facts",
        "distinct": "SELECT DISTINCT few, mode FROM facts",
        "top_n": "SELECT id, note FROM facts ORDER BY price DESC, id LIMIT 10",
        "sort": f"SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY price, id) n FROM facts) s",
        "window_sum": "SELECT MAX(s) FROM (SELECT SUM(small) OVER (PARTITION BY many) s FROM facts) w",
        "hash_join_small": "SELECT COUNT(*), SUM(t.id) FROM facts f JOIN thousand t ON f.small = t.code",
        "hash_left_small": "SELECT COUNT(t.id) FROM facts f LEFT JOIN thousand t ON f.small = t.code AND t.id % 2 = 0",
        "primary_1k": "SELECT COUNT(t.name) FROM facts f STRAIGHT_JOIN thousand t FORCE INDEX (PRIMARY) ON f.small = t.id",
        "primary_many": "SELECT COUNT(p.name) FROM facts f STRAIGHT_JOIN parents p FORCE INDEX (PRIMARY) ON f.many = p.id",
        "primary_in_order": "SELECT COUNT(p.name) FROM facts f IGNORE INDEX (covering) STRAIGHT_JOIN parents p FORCE INDEX (PRIMARY) ON f.parent = p.id",
        "secondary_to_row": "SELECT COUNT(p.name) FROM facts f STRAIGHT_JOIN parents p FORCE INDEX (code) ON f.many = p.code",
    }
    found = {name: (rows, statement) for name, statement in facts.items()}
    found |= {
        "hash_join": (2 * half, "SELECT COUNT(*), SUM(x.b + y.b) FROM halves x JOIN others y ON x.a = y.a"),
        "hash_join_two_keys": (2 * half, "SELECT COUNT(*), SUM(x.b + y.b) FROM halves x JOIN others y ON x.a = y.a AND x.b = y.b"),
        "hash_join_text": (2 * half, "SELECT COUNT(*), SUM(x.b + y.b) FROM halves x JOIN others y ON x.c = y.c"),
        "hash_left_join": (2 * half, "SELECT COUNT(y.b) FROM halves x LEFT JOIN others y ON x.a = y.a"),
        "hash_join_spilled": (2 * half, "SELECT /*+ SET_VAR(join_buffer_size = 1048576) */ COUNT(*), SUM(x.b + y.b) FROM halves x JOIN others y ON x.a = y.a"),
    }
    return found


class Side:
    def __init__(self, peer: str, options: argparse.Namespace):
        settings = {"join_buffer_size": options.join_buffer, "tmp_table_size": 64 << 20, "sort_buffer_size": 32 << 20}
        assignments = [f"SET {name} = {value}" for name, value in settings.items()]
        if peer.partition("=")[0].endswith(".hyp"):
            assignments.append("SET optimizer_switch = 'hypergraph_optimizer=on'")
        self.measured = Measured(peer, None, *assignments, timeout_s=600)
        self.name = self.measured.name

    def run(self, statement: str) -> list[tuple]:
        return self.measured.rows(statement)

    def spent_ns(self, statement: str) -> float:
        return self.measured.measure(statement)[0] * 1000

    def prepare(self, rows: int) -> None:
        for statement in (f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *TABLES):
            self.run(statement)
        digits = " UNION ALL ".join(f"SELECT {n} d" for n in range(10))
        self.run("CREATE TABLE digits (d INT)")
        self.run(f"INSERT INTO digits {digits}")
        numbers = "SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + {first} AS i FROM digits a, digits b, digits c, digits e, digits f"
        parents = rows // 4

        def fill(table: str, row: str, count: int) -> None:
            for first in range(1, count + 1, 100_000):
                self.run(f"INSERT INTO {table} {row} FROM ({numbers.format(first=first)}) numbers WHERE i <= {count}")
        fill("facts", FACT.format(many=parents, parents=parents), rows)
        fill("parents", f"SELECT i, i * 7919 % {parents}, CONCAT('parent ', i)", parents)
        fill("thousand", "SELECT i, i * 7919 % 1000 + 1, CONCAT('number ', i)", 1000)
        half = rows // 3
        fill("halves", f"SELECT i * 7919 % {half}, i % 100, i, CONCAT('key ', i * 7919 % {half})", half)
        fill("others", f"SELECT i * 5003 % {half}, i % 100, i, CONCAT('key ', i * 5003 % {half})", half)
        self.run("ANALYZE TABLE facts, parents, thousand, halves, others")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("servers", nargs="+", metavar="NAME=PORT[:USER]")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", help="only these, by commas")
    parser.add_argument("--join-buffer", type=int, default=8 << 20)
    parser.add_argument("--prepare", action="store_true", help="make the tables anew")
    options = parser.parse_args()
    sides = [Side(text, options) for text in options.servers]
    for side in sides:
        if options.prepare:
            side.prepare(options.rows)
        side.run(f"USE {DATABASE}")
    wanted = options.cases.split(",") if options.cases else None
    print(f"{'ns a row':20}" + "".join(f"{side.name:>12}" for side in sides) + ("   first ÷ best other" if len(sides) > 1 else ""))
    for name, (rows, statement) in cases(options.rows).items():
        if wanted and name not in wanted:
            continue
        answers = [sorted(side.run(statement)) for side in sides]
        if name != "top_n" and any(answer != answers[0] for answer in answers):
            raise SystemExit(f"{name}: the answers differ: {answers}")
        found = {side.name: [] for side in sides}
        for turn in range(options.rounds):
            for side in sides if turn % 2 == 0 else sides[::-1]:
                found[side.name].append(side.spent_ns(statement) / rows)
        medians = [statistics.median(found[side.name]) for side in sides]
        ratio = f"{medians[0] / min(medians[1:]):12.2f}" if len(medians) > 1 else ""
        print(f"{name:20}" + "".join(f"{median:12.0f}" for median in medians) + ratio, flush=True)


if __name__ == "__main__":
    main()

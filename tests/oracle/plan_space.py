#!/usr/bin/env python3
"""The plans that a query may have: random ones give the same rows, and the one that is chosen is hardly dearer than the best of them.

    tests/oracle/plan_space.py [--address HOST:PORT[:USER]] [--seed N] [--queries 200] [--plans 50] [--scale 0.01] [--seconds N] [--cost]

Half of the queries are joins of five to seventeen tables over a film database (`bench/job`), half are drawn like those of the suite `oracle`: two or three random
tables, inner and outer joins, semijoins, groups, over conditions of all functions. Each is run by the plan that the planner chooses, and by others
that it takes at random (`tidemark_random_plans`). Rows that differ are a wrong result. (Waas and Galindo-Legaria, *Counting, enumerating, and
sampling of execution plans*, SIGMOD 2000.)

`--cost` measures the processor time of the server's thread instead, over the film database alone: the chosen plan's, divided by that of the best of all.
(Gu, Soliman and Waas, *Testing the accuracy of query optimizers*, DBTest 2012.) A random plan may be very bad, so each has as long as `LIMIT` says.
"""
import math
import random
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).resolve().parent), str(ROOT / "tests"), str(ROOT / "bench")]

import pymysql  # noqa: E402

from support.address import Address  # noqa: E402
from support.report import FIXED_SEED, Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

from job.data import fill, make  # noqa: E402
from job.queries import queries as film_queries  # noqa: E402
from run import Asker, Questions, Wrong, rows_of  # noqa: E402
from tables import Table  # noqa: E402
from thread_cpu import Measured  # noqa: E402

FILMS = "plan_space_films"
#: A random plan that has taken so long, in milliseconds, is given up.
LIMIT_MS = 2000
INTERRUPTED = 3024
#: A set of random tables has so many queries.
QUERIES_A_SET = 5
#: Differences between plans that take less are not measured, in microseconds.
LEAST_US = 300.0


class Drawn(Questions):
    """Queries over three random tables."""

    def __init__(self, seed: int, asker: Asker, database: str):
        super().__init__(seed, asker, database)
        self.third = Table.drawn(self.chance, "t2")

    def start(self) -> list[str]:
        return [*super().start(), *self.third.statements()]

    def query(self) -> str:
        """One whose rows do not depend on which rows come first, nor on which of equal texts stands for a group."""
        chance = self.chance
        source, expressions, row = self.joined_source() if chance.random() < 0.6 else self.source()
        where = self.condition(expressions)
        key = expressions.key("n", 1)
        return chance.choice([
            f"SELECT {row} FROM {source} WHERE {where}",
            f"SELECT {row}, HEX({expressions.of('a', 1)}) FROM {source} WHERE {where}",
            f"SELECT COUNT(*), MIN(x.id), MAX(x.id) FROM {source} WHERE {where}",
            f"SELECT {key}, COUNT(*), MIN(x.id) FROM {source} WHERE {where} GROUP BY {key}",
            f"SELECT DISTINCT x.id FROM {source} WHERE {where}",
            f"SELECT {row} FROM {source} WHERE {where} ORDER BY {row} LIMIT {chance.randint(1, 8)}",
        ])

    def joined_source(self) -> tuple:
        """Three tables, or a table and two that its rows are looked for in."""
        (one, two), three = self.tables, self.third
        pairs = [("x", one), ("y", two), ("z", three)]
        columns = {alias: ["id", *(column.name for column in table.columns if column.kind != "j")] for alias, table in pairs}
        pick = lambda alias: f"{alias}.{self.chance.choice(columns[alias])}"  # noqa: E731
        kinds = [self.chance.choice(["JOIN", "JOIN", "LEFT JOIN"]) for _ in range(2)]
        first, second = f"{pick('x')} = {pick('y')}", self.chance.choice([f"{pick('y')} = {pick('z')}", f"{pick('x')} = {pick('z')} AND {pick('y')} <= {pick('z')}"])
        return f"{one.name} x {kinds[0]} {two.name} y ON {first} {kinds[1]} {three.name} z ON {second}", self.over(*pairs), "x.id, y.id, z.id"


def films_in(address: Address, scale: float) -> dict[str, str]:
    """Makes the film database; returns the queries over it."""
    tables = make(scale)
    with address.connect() as connection, connection.cursor() as cursor:
        fill(cursor, FILMS, tables)
    return film_queries(tables)


def compare(asker: Asker, name: str, sql: str, chance: random.Random, plans: int) -> tuple[int, int]:
    """Runs a query by random plans. Returns how many had rows to compare, and how many took too long."""
    asker.ask("SET SESSION tidemark_random_plans = 0, max_execution_time = 0")
    expected = asker.ask(sql)
    if expected is None:
        return 0, 0
    asker.ask(f"SET SESSION max_execution_time = {LIMIT_MS}")
    compared = late = 0
    for _ in range(plans):
        seed = chance.randint(1, 1 << 32)
        asker.ask(f"SET SESSION tidemark_random_plans = {seed}")
        before = asker.errors[INTERRUPTED]
        seen = asker.ask(sql)
        if seen is None:
            # Another plan may evaluate what this one need not, and refuse that.
            late += asker.errors[INTERRUPTED] - before
            continue
        compared += 1
        if rows_of(seen) != rows_of(expected):
            raise Wrong(f"{name}: SET tidemark_random_plans = {seed}; {sql}\n{len(expected)} rows {expected[:3]}, by this plan {len(seen)} {seen[:3]}")
    return compared, late


def same_rows(report: Report, address: Address, options) -> None:
    chance, ends = random.Random(options.seed), time.monotonic() + (options.seconds or math.inf)
    asker = Asker(address)
    films = films_in(address, options.scale)
    asker.ask(f"USE {FILMS}")
    names = list(films)
    chance.shuffle(names)
    compared = late = 0

    def check(name: str, sql: str) -> None:
        nonlocal compared, late
        try:
            one, other = compare(asker, name, sql, chance, options.plans)
        except Wrong as wrong:
            report.fail(name.replace(" ", "_"), str(wrong))
            return
        compared, late = compared + one, late + other
        report.ok(name.replace(" ", "_"))

    for name in names[:options.queries // 2]:
        if time.monotonic() < ends:
            check(f"films {name}", films[name])
    for number in range(math.ceil((options.queries - options.queries // 2) / QUERIES_A_SET)):
        if time.monotonic() > ends:
            break
        drawn = Drawn(options.seed * 1_000_003 + number, asker, "plan_space")
        for sql in drawn.start():
            asker.ask(sql)
        for at in range(QUERIES_A_SET):
            check(f"drawn {number} {at}", drawn.query())
        asker.ask(f"USE {FILMS}")
    report.check(compared > 0, "some_are_compared")
    report.note(f"{compared} random plans have the same rows, {late} took too long")
    asker.ask(f"DROP DATABASE {FILMS}")
    asker.ask("DROP DATABASE IF EXISTS plan_space")
    asker.close()


def best_of(server: Measured, sql: str, rounds: int) -> float:
    """The least time of some runs by a plan that the session has then; infinite if it takes too long."""
    try:
        server.rows(sql)
        return min(server.measure(sql)[0] for _ in range(rounds))
    except pymysql.err.MySQLError as error:
        if error.args[0] == INTERRUPTED:
            return math.inf
        raise


def costs(report: Report, address: Address, options) -> None:
    films = films_in(address, options.scale)
    server = Measured(f"tidemark={address.port}:{address.user}", FILMS)
    chance, ratios = random.Random(options.seed), []
    for name, sql in list(films.items())[:options.queries]:
        server.rows("SET SESSION tidemark_random_plans = 0, max_execution_time = 0")
        chosen = best_of(server, sql, 3)
        server.rows(f"SET SESSION max_execution_time = {LIMIT_MS}")
        times = {}
        for _ in range(options.plans):
            seed = chance.randint(1, 1 << 32)
            server.rows(f"SET SESSION tidemark_random_plans = {seed}")
            times[seed] = best_of(server, sql, 1)
        for seed in sorted(times, key=times.get)[:2]:
            server.rows(f"SET SESSION tidemark_random_plans = {seed}")
            times[seed] = min(times[seed], best_of(server, sql, 3))
        seed = min(times, key=times.get)
        ratio = max(chosen, LEAST_US) / max(min(chosen, times[seed]), LEAST_US)
        ratios.append((ratio, name))
        report.note(f"{name}: chosen {chosen / 1000:.2f} ms, best {times[seed] / 1000:.2f} ms by {seed}: x{ratio:.2f}")
    ratios.sort(reverse=True)
    mean = statistics.geometric_mean(ratio for ratio, _ in ratios)
    report.note(f"chosen to best of {options.plans} random plans: geometric mean x{mean:.2f}, worst {', '.join(f'{name} x{ratio:.1f}' for ratio, name in ratios[:5])}")
    report.check(mean < 2, "chosen_plans_are_near_the_best", f"geometric mean x{mean:.2f}")
    server.close()


def main() -> None:
    parser = suite_parser(__doc__)
    parser.add_argument("--address", type=Address.parse, metavar="HOST:PORT[:USER]", help="the server; default: a Tidemark of its own")
    parser.add_argument("--seed", type=int, default=FIXED_SEED)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--plans", type=int, default=50)
    parser.add_argument("--scale", type=float, default=0.01, help="of the film database; 1 has 1.3 million rows")
    parser.add_argument("--seconds", type=float, help="begin no query after so long")
    parser.add_argument("--cost", action="store_true")
    options = parser.parse_args()
    report = Report("plan_space", options.filters)
    with ExitStack() as stack:
        # When a table is looked at again depends on time, and plans depend on that.
        address = options.address or stack.enter_context(Server("plan_space", "--innodb-stats-auto-recalc=OFF")).address
        (costs if options.cost else same_rows)(report, address, options)
    report.close()


if __name__ == "__main__":
    main()

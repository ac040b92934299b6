#!/usr/bin/env python3
"""Random statements sent to two servers, whose answers must be the same.

    tests/differential/run.py --against HOST:PORT:USER [--address HOST:PORT:USER] [changes] [queries] [--seed N] [--seconds 60 | --seeds 20] [--statements 500]
                              [--differences 1]

For bug hunting beside a real MySQL server; CI has none and does not run it. Each seed makes tables of random types with
random indexes and sends both servers the same statements: of `changes` inserts, updates, deletes, replaces, transactions and simple
queries, of `queries` windows, totals with ROLLUP, common tables, JSON_TABLE, set operations and subqueries in every place. Rows,
affected rows, generated ids, warning counts and error numbers are compared. A difference is printed as a golden script, without
the statements that it does not need; `tests/golden.py --record` fills in what the other server answers.

What is no difference is counted, by why: the other server gives our answer too when it plans the query otherwise (`plans.py`), an error
of a value that one of the two has no need to compute, or one of the few forms of `forms.py`.
"""
import itertools
import math
import re
import sys
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from changes import Script  # noqa: E402
from forms import deliberate  # noqa: E402
from plans import (ONE_TABLE, OtherPlans, by_other_indexes, guarded, with_dates_beside_null, with_each_compared, with_early_dates, with_exact_signs, with_joined_texts, with_live_conditions, with_live_documents,  # noqa: E402
                   with_live_intervals, with_long_replacements, with_mixed_lists, with_numbered_keys, with_one_set, with_plain_bytes, with_single_times, with_text_extremes, with_text_keys, with_times_as_dates,
                   with_wide_averages, without_lost_dates)
from queries import Queries  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import FIXED_SEED, Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

SCRIPTS = {"changes": Script, "queries": Queries}
DATABASE = "differential"
SETUP = [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}"]
TRIES_MAX = 300         # to leave statements out
SECONDS_MAX = 30        # of a statement
# Errors of a value: whether it is computed at all is up to the plan.
OF_VALUES = {f"error {code}" for code in (1242, 1292, 1365, 1411, 1690, 3020, 3024, 3140, 3141, 3143, 3144, 3146, 3147, 3149, 3156, 3854, 3995, 6527)}
# Other forms of a query that ask the same, by which fault of MySQL one of them makes a difference.
OTHERWISE = {
    with_exact_signs: "a negative integer in a list, a CASE or FIELD beside an unsigned one, which MySQL takes for equal if their bits are",
    with_dates_beside_null: "a date between a number and NULL, which MySQL compares with the packed date",
    with_mixed_lists: "doubles and texts in a list, which MySQL rounds beside an integer",
    without_lost_dates: "GREATEST of a date and a text that is none",
    with_live_conditions: "a constant condition beside a document, which MySQL takes for a number in WHERE",
    with_live_documents: "a constant document beside an integer of a derived table, which MySQL takes for a number",
    with_live_intervals: "a constant condition of a recursive table, which MySQL computes before and only warns of",
    with_text_keys: "a document among the keys of ROLLUP, which MySQL has more than once",
    with_one_set: "FIND_IN_SET of texts in two character sets, which MySQL compares by their bytes",
    with_joined_texts: "CONCAT_WS of a BIT that is NULL and a date, which MySQL sorts apart from what is equal to it",
    with_times_as_dates: "a frame of times that would begin or end before the least",
    with_numbered_keys: "peers in a window that are two members of an ENUM with one text",
    with_single_times: "a key of ROLLUP that is a date or time, taken for a CAST of the same",
    with_each_compared: "the greatest or least of ANY or ALL under a collation of its own",
    with_wide_averages: "AVG of years and smaller numbers in a window, which MySQL cuts to the digits of these",
    with_plain_bytes: "bytes of REGEXP_SUBSTR or REGEXP_REPLACE in a function or a document, which are latin1 there",
    with_text_extremes: "GREATEST or LEAST of a text and a date, which are bytes in a document",
    with_long_replacements: "REPLACE by a longer text, which MySQL cuts in a temporary table",
}
DOUBLE = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
LONG_TIMES = re.compile(r"TIMEDIFF|SEC_TO_TIME|MAKETIME|SUBTIME|ADDTIME|AS TIME|TIME\(")     # functions that give times beyond a day


def perform(connection, sql: str):
    with connection.cursor() as cursor:
        try:
            affected = cursor.execute(sql)
            if sql.startswith("USE "):
                connection.used = sql[4:]   # for a connection that is made anew
            rows = cursor.fetchall() if cursor.description else None
            if rows is not None:
                return [tuple(r) for r in rows]
            # What an INSERT IGNORE of several rows warns of once and what for each row is not worth imitating, nor what is deprecated.
            warnings = "" if "IGNORE" in sql or "BINARY" in sql else f", {cursor._result.warning_count} warnings"
            return f"ok, {affected} rows, id {cursor.lastrowid}{warnings}"
        except pymysql.err.MySQLError as error:
            return f"error {error.args[0]}"
        except UnicodeDecodeError:
            connection.connect()
            connection.select_db(connection.used)
            return "a text that is none"


def rows_beside_null(sql: str) -> str | None:
    """For a change whose condition MySQL may take otherwise beside NULL, the query of its rows: as many may be changed, but others."""
    found = ONE_TABLE.match(sql)
    return f"SELECT * FROM {found[2]}" if found and with_dates_beside_null(sql) != sql else None


def alike(one, two) -> bool:
    """The same, or the same numbers but for what rounding leaves of a sum of doubles."""
    if one == two:
        return True
    if isinstance(one, str) or isinstance(two, str) or len(one) != len(two):
        return False
    return all(len(a) == len(b) and all(map(alike_values, a, b)) for a, b in zip(sorted(one, key=rounded), sorted(two, key=rounded)))


def rounded(row: tuple) -> str:
    """Where a row is sorted: doubles are told apart by as many digits as count."""
    return repr([f"{float(value):.9g}" if isinstance(value, str) and DOUBLE.fullmatch(value) else value for value in row])


def alike_values(one, two) -> bool:
    if one == two:
        return True
    try:
        return math.isclose(float(one), float(two), rel_tol=1e-9, abs_tol=1e-9)
    except (TypeError, ValueError):
        return False


class Pair:
    """The two servers, each with one connection."""

    def __init__(self, ours: Address, theirs: Address):
        self.theirs = theirs
        self.connections = [address.connect(conv={}, charset="utf8mb4", read_timeout=4 * SECONDS_MAX) for address in (ours, theirs)]
        self.ask(f"SET SESSION max_execution_time = {SECONDS_MAX * 1000}")

    def ask(self, sql: str) -> list:
        return [perform(connection, sql) for connection in self.connections]

    def reason(self, played: list[str], sql: str, mine, real) -> str | None:
        """Why these answers are no difference."""
        if sql.startswith(("SELECT", "WITH")):
            with closing(OtherPlans(perform, self.connections[1], self.theirs).answers(played, sql)) as others:
                if any(alike(mine, other) for other in others):
                    return "MySQL says both, by its plan"
            if "JOIN" in sql and alike(mine, perform(self.connections[1], guarded(sql))):
                return "a condition that is not NULL beside NULL, for which MySQL makes an inner join of an outer one"
            for ask_otherwise, why in OTHERWISE.items():
                other = ask_otherwise(sql)
                if other != sql and alike(mine, perform(self.connections[1], other)):
                    return why
            early = with_early_dates(sql)
            if early != sql and self.holds_zero_dates(sql) and alike(mine, perform(self.connections[1], early)):
                return "a frame beside the zero date, which MySQL loses"
            if played and sql == rows_beside_null(played[-1]) and alike(mine, self.theirs_after([*played[:-1], with_dates_beside_null(played[-1])], sql)):
                return OTHERWISE[with_dates_beside_null]
            if LONG_TIMES.search(sql) and alike(*self.at_midnight(sql)):
                return "the date of a TIME beyond a day, to which MySQL adds the time of day"
        elif any(alike(mine, self.theirs_after(played, other)) for other in by_other_indexes(sql)):
            return "MySQL says both, by its plan"
        else:
            for ask_otherwise in (with_exact_signs, with_dates_beside_null, with_mixed_lists, with_plain_bytes):
                other = ask_otherwise(sql)
                if other != sql and alike(mine, self.theirs_after(played, other)):
                    return OTHERWISE[ask_otherwise]
        if any(answer in OF_VALUES for answer in (mine, real) if isinstance(answer, str)):
            return "an error of a value that one of the two does not compute"
        return deliberate(played, sql, mine, real)

    def theirs_after(self, played: list[str], sql: str):
        """What the other server answers when it has played what came before once more."""
        for statement in ["ROLLBACK", *SETUP, *played]:
            perform(self.connections[1], statement)
        return perform(self.connections[1], sql)

    def holds_zero_dates(self, sql: str) -> bool:
        """Whether there are any in the tables that a query names."""
        rows = (row for table in set(re.findall(r"\bt\d\b", sql)) for row in perform(self.connections[1], f"SELECT * FROM {table}"))
        return any(isinstance(value, str) and value.startswith("0000-00-00") for row in rows for value in row)

    def at_midnight(self, sql: str) -> list:
        self.ask("SET SESSION timestamp = UNIX_TIMESTAMP(CURRENT_DATE)")
        answers = self.ask(sql)
        self.ask("SET SESSION timestamp = DEFAULT")
        return answers

    def differ_after(self, statements: list[str]) -> bool:
        """True if the answers to the last statement differ, played from the start."""
        for sql in ["ROLLBACK", *SETUP, *statements[:-1]]:
            self.ask(sql)
        return not alike(*self.ask(statements[-1]))

    def close(self) -> None:
        for connection in self.connections:
            connection.close()


def shortened(statements: list[str], still_differ) -> list[str]:
    """What is left when no part of the statements before the last can be left out, halves first, then quarters, and so on."""
    part, tries = len(statements) // 2, 0
    while part:
        at = 0
        while at < len(statements) - 1 and tries < TRIES_MAX:
            candidate = statements[:at] + statements[min(at + part, len(statements) - 1):]
            tries += 1
            if still_differ(candidate):
                statements = candidate
            else:
                at += part
        part //= 2
    return statements


def run(name: str, seed: int, options, ours: Address, report: Report, counted: tuple[Counter, Counter]) -> None:
    asked, explained = counted
    script, pair = SCRIPTS[name](seed), Pair(ours, options.against)
    played, differences = script.start(), 0
    for sql in SETUP + played:
        pair.ask(sql)
    for _ in range(options.statements):
        sql = script.next()
        changes, asked_too = not sql.startswith(("SELECT", "WITH")), []
        mine, real = pair.ask(sql)
        if (rows := rows_beside_null(sql)) and alike(mine, real):
            asked_too = [rows]
            mine, real = pair.ask(rows)
        asked["errors" if isinstance(real, str) and real.startswith("error") else "rows"] += 1
        if alike(mine, real):
            why = None
        elif why := pair.reason([*played, sql], asked_too[0], mine, real) if asked_too else pair.reason(played, sql, mine, real):
            explained[why] += 1
        else:
            found = [*played, sql, *asked_too]
            again = pair.differ_after(found)
            lines = shortened(found, pair.differ_after) if again else found
            text = "".join(f"{line}\n" for line in lines)
            report.fail(f"{name}/{seed}", f"expected {str(real)[:1500]}\n  seen     {str(mine)[:1500]}\n# {'' if again else 'It did not come again. '}--seed {seed}\n{text}")
            differences += 1
            if differences == options.differences:
                break
            why = "reported"
        if why is None and changes:
            played.append(sql)
        elif why == "reported" or why and changes:
            for statement in ["ROLLBACK", *SETUP, *played]:
                pair.ask(statement)
    if not differences:
        report.ok(f"{name}/{seed}")
    pair.close()


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", type=Address.parse, help="default: a Tidemark of its own")
    parser.add_argument("--against", required=True, type=Address.parse)
    parser.add_argument("--seed", type=int, default=FIXED_SEED, help="of the first")
    parser.add_argument("--seeds", type=int, default=20, help="so many")
    parser.add_argument("--seconds", type=float, help="go on with the next seed until so many")
    parser.add_argument("--statements", type=int, default=500)
    parser.add_argument("--differences", type=int, default=1, help="how many of one seed are shown")
    options = parser.parse_args()
    names = [name for name in SCRIPTS if not options.filters or name in options.filters]
    report, counted = Report("differential"), (Counter(), Counter())
    until = time.monotonic() + (options.seconds or 0)
    with ExitStack() as servers:
        ours = options.address or servers.enter_context(Server("differential")).address
        for seed in itertools.count(options.seed):
            if time.monotonic() >= until if options.seconds else seed == options.seed + options.seeds:
                break
            for name in names:
                run(name, seed, options, ours, report, counted)
        asked, explained = counted
        report.note(f"{asked.total()} statements, {asked['errors']} of them errors, {explained.total()} explained")
        for why, number in explained.most_common():
            report.note(f"{number}: {why}")
    report.close()


if __name__ == "__main__":
    main()

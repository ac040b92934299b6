"""What the other server says when it has to plan a query otherwise.

Some answers of MySQL are up to its plan: a value that cannot be computed is an error only where it is computed at all, and a
constant beside an indexed column is at times looked for as something else than it is compared as. A query on which MySQL does not
agree with itself has several right answers, and ours is to be one of them.

Three of its faults are told apart by asking in another way, too: an outer join that it takes for an inner one, where a condition is asked
behind IFNULL; a negative integer that it takes for the unsigned one with its bits, by decimals; and the date of a long TIME, to which it
adds the time of day, at midnight.
"""
import re

SWITCHES = ("derived_merge=off", "semijoin=off,materialization=off", "semijoin=off,materialization=on,subquery_materialization_cost_based=off",
            "index_condition_pushdown=off,derived_condition_pushdown=off", "subquery_to_derived=on,derived_merge=off")
DATABASE = "differential_bare"
KEYS = re.compile(r", KEY k\d \((?:[^()]|\(\d\))*\)")


LISTED = re.compile(r"(?:-?\d+ )?IN \([^()]*\)")
SIGNED = re.compile(r"(?<![\w.])(-\d+|\d{19,20})(?![\w.])")
BEHIND_WHERE = re.compile(r" (GROUP BY|ORDER BY|HAVING|LIMIT|UNION|EXCEPT|INTERSECT|WINDOW)\b")


def guarded(sql: str) -> str:
    """The query with each condition of WHERE in IFNULL, which shows MySQL nothing of what it refuses."""
    start = at_word(sql, " WHERE ")
    if start is None:
        return sql
    start += len(" WHERE ")
    end = end_of_condition(sql, start)
    return f"{sql[:start]}IFNULL({guarded(sql[start:end])}, FALSE){guarded(sql[end:])}"


def with_exact_signs(sql: str) -> str:
    """The query with the integers of which a list may have both signs as decimals."""
    def listed(found: re.Match) -> str:
        return SIGNED.sub(r"\1.0", found[0])
    return LISTED.sub(listed, sql)


def at_word(sql: str, word: str) -> int | None:
    """Where it stands first outside of a text."""
    quoted = False
    for at, letter in enumerate(sql):
        quoted ^= letter == "'"
        if not quoted and sql.startswith(word, at):
            return at
    return None


def end_of_condition(sql: str, start: int) -> int:
    depth, quoted = 0, False
    for at in range(start, len(sql)):
        letter = sql[at]
        quoted ^= letter == "'"
        if quoted:
            continue
        depth += (letter == "(") - (letter == ")")
        if depth < 0 or depth == 0 and BEHIND_WHERE.match(sql, at):
            return at
    return len(sql)


class OtherPlans:
    """Asks a query under other switches in the session itself, and in another of the same tables without their secondary indexes."""

    def __init__(self, perform, connection, address):
        self.perform, self.connection, self.address = perform, connection, address

    def answers(self, played: list[str], sql: str):
        try:
            for switches in SWITCHES:
                self.perform(self.connection, f"SET SESSION optimizer_switch = '{switches}'")
                yield self.perform(self.connection, sql)
                self.perform(self.connection, "SET SESSION optimizer_switch = DEFAULT")
        finally:
            self.perform(self.connection, "SET SESSION optimizer_switch = DEFAULT")
        bare = self.address.connect(conv={}, charset="utf8mb4")
        try:
            for statement in [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *played]:
                self.perform(bare, KEYS.sub("", statement) if statement.startswith("CREATE TABLE") else statement)
            yield self.perform(bare, sql)
        finally:
            bare.close()

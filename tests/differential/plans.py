"""What the other server says when it has to plan a query otherwise.

Some answers of MySQL are up to its plan: a value that cannot be computed is an error only where it is computed at all, and a
constant beside an indexed column is at times looked for as something else than it is compared as. A query on which MySQL does not
agree with itself has several right answers, and ours is to be one of them.

Some of its faults are told apart by asking in another way, too:

- an outer join that it takes for an inner one, where a condition, and what a subquery of IN, ANY or ALL selects, is asked behind IFNULL;
- a negative integer that it takes in a list, a CASE or FIELD for the unsigned one with its bits, by decimals;
- a number in BETWEEN that it takes for a packed date beside NULL, by its text;
- what a constant condition of a recursive table only warns of, because it is computed before, with intervals that are no constants;
- the date of a long TIME, to which it adds the time of day, at midnight;
- doubles in a list that it rounds beside an integer, with an integer in the list;
- the date that is none of a GREATEST of a text that is none, where it is made NULL;
- a frame that is lost where it would begin or end before the least TIME, by dates, or beside the zero date, by an early one;
- a condition that is no boolean beside a document where it is a constant of WHERE, and a constant document that becomes a number beside an
  integer of a derived table, by some that are no constants;
- a document that ROLLUP groups by and has more than once, by its text;
- texts that FIND_IN_SET compares by their bytes in two character sets, in one set;
- what CONCAT_WS makes of a BIT that is NULL and a date, which it sorts apart from what is equal to it, by the text of the date;
- two members of an ENUM with one text that are peers in a window if they are neighbours, by their numbers;
- TIME() or DATE() that ROLLUP takes for a CAST of the same, behind IFNULL;
- GREATEST or LEAST of a text and a date, which are at times bytes in a document, as a text;
- what a function or a document makes of the bytes of REGEXP_SUBSTR or REGEXP_REPLACE, which are latin1 there, of bytes;
- an average of a window over a CASE of years and smaller numbers, for which it has no room, over a sum;
- the greatest or least text of ANY or ALL under a collation of its own, row by row;
- what REPLACE makes longer, for which a table of its own has no room, of a text that may be long.
"""
import re

SWITCHES = ("derived_merge=off", "semijoin=off,materialization=off", "semijoin=off,materialization=on,subquery_materialization_cost_based=off",
            "index_condition_pushdown=off,derived_condition_pushdown=off", "hash_set_operations=off", "subquery_to_derived=on,derived_merge=off",
            "derived_merge=off,derived_condition_pushdown=off")
DATABASE = "differential_bare"
KEYS = re.compile(r", KEY k\d \((?:[^()]|\(\d\))*\)")


DOCUMENTS = re.compile(r"CAST\(('(?:[^'])*') AS JSON\)")
CONDITIONS = re.compile(r"\b(?:JSON_VALID|JSON_CONTAINS|JSON_CONTAINS_PATH|ISNULL|STRCMP)\(")
MOMENTS = re.compile(r"DATE|TIME|'[^']*[-:]")     # in a list of which an integer more would change how all are read
LISTED = re.compile(r"(?:-?\d+ )?IN \((?!SELECT)|\bFIELD\(")
ROWS = re.compile(r"\([^()]*\) (?:NOT )?IN \((?:\([^()]*\),?)+\)")
BITS = re.compile(r"(x\d+\.c\d+|\bc\d+)( (?:NOT )?IN \((?!SELECT))([^()]*\([^()]*[|&^~<>][^()]*\)|~)")     # a column in a list of what has all bits
SIGNED = re.compile(r"(?<![\w.])(-\d+|\d{19,20})(?![\w.])")
CASES = re.compile(r"\b(?:CASE|WHEN) (?:-\d+|\d{19,20}) ")
WINDOW_KEY = re.compile(r"(OVER \([^()]*(?:\([^()]*\)[^()]*)*?ORDER BY )(x\d+\.c\d+)(?=[ ,)])")
BESIDE_NULL = re.compile(r"\bBETWEEN (?:(NULL AND )(\d{8}(?:\d{6})?)|(\d{8}(?:\d{6})?)( AND NULL))\b")
INTERVALS = re.compile(r"\bINTERVAL (-?\d+(?:\.\d+)?(?:e\d+)?) ")
ONE_TABLE = re.compile(r"(UPDATE|DELETE)(?: IGNORE)?(?: FROM)? (t\d)\b")
BEHIND_WHERE = re.compile(r" (GROUP BY|ORDER BY|HAVING|LIMIT|UNION|EXCEPT|INTERSECT|WINDOW)\b")


EACH = re.compile(r"\b(?:ANY|ALL) \((?=SELECT )")
TESTED = re.compile(r"\b(?:IN|ANY|ALL) \(SELECT ")


def guarded(sql: str) -> str:
    """The query with each condition of WHERE, and each value that is compared with others in one, in IFNULL, which shows MySQL nothing of
    what it refuses."""
    return with_guarded_values(with_guarded_conditions(sql))


def with_guarded_values(sql: str) -> str:
    """With what each subquery of IN, ANY or ALL selects in IFNULL(…, NULL), which is the same."""
    at = 0
    while found := TESTED.search(sql, at):
        start = found.end()
        end = start + at_depth(sql[start:], " FROM ")
        items = split_list(sql[start:end])
        sql = sql[:start] + ", ".join(f"IFNULL({item}, NULL)" for item in items) + sql[end:]
        at = start
    return sql


def at_depth(sql: str, word: str) -> int:
    """Where it stands first outside of texts and of parentheses; the end of the text if nowhere."""
    depth, quoted = 0, False
    for at, letter in enumerate(sql):
        quoted ^= letter == "'"
        if quoted:
            continue
        if depth == 0 and sql.startswith(word, at):
            return at
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return at
    return len(sql)


def split_list(sql: str) -> list[str]:
    """The items of a list, between its commas."""
    items = []
    while (end := at_depth(sql, ", ")) < len(sql):
        items.append(sql[:end])
        sql = sql[end + 2:]
    return [*items, sql]


def with_guarded_conditions(sql: str) -> str:
    """With each condition of WHERE in IFNULL."""
    start = at_word(sql, " WHERE ")
    if start is None:
        return sql
    start += len(" WHERE ")
    end = end_of_condition(sql, start)
    return f"{sql[:start]}IFNULL({with_guarded_conditions(sql[start:end])}, FALSE){with_guarded_conditions(sql[end:])}"


def with_exact_signs(sql: str) -> str:
    """The query with the integers of which a list, a CASE or FIELD may have both signs as decimals."""
    def exact(text: str) -> str:
        return SIGNED.sub(r"\1.0", text)
    def in_rows(found: re.Match) -> str:
        # The number of a row is its first value; what stands beside an integer there is rounded to one.
        return re.sub(r"^\(([^(),]+),", r"(\1+0.0,", exact(found[0]))
    out, at = [], 0
    for found in LISTED.finditer(sql):
        if found.start() >= at:
            end = closing(sql, found.end())
            out += [sql[at:found.start()], exact(sql[found.start():end])]
            at = end
    lists = BITS.sub(r"\1+0.0\2\3", "".join(out) + sql[at:])
    return ROWS.sub(in_rows, CASES.sub(lambda found: exact(found[0]), lists))


def with_live_conditions(sql: str) -> str:
    """The query with conditions that MySQL does not take for constants where it asks them of documents."""
    found = CONDITIONS.search(sql) if "JSON" in sql else None
    if not found:
        return sql
    end = closing(sql, found.end())
    return f"{sql[:found.start()]}({found[0]}{with_live_conditions(sql[found.end():end])}) AND RAND() < 2){with_live_conditions(sql[end + 1:])}"


def with_live_documents(sql: str) -> str:
    """The query with documents that MySQL does not take for constants."""
    return DOCUMENTS.sub(r"CAST(IF(RAND() < 2, \1, NULL) AS JSON)", sql)


def with_dates_beside_null(sql: str) -> str:
    """The query with each number that stands beside NULL in a BETWEEN as a text, which MySQL does not take for a packed date."""
    return BESIDE_NULL.sub(lambda found: f"BETWEEN {found[1] or ''}'{found[2] or found[3]}'{found[4] or ''}", sql)


def with_live_intervals(sql: str) -> str:
    """The query with intervals in the queries of a recursive table that are no constants."""
    return INTERVALS.sub(r"INTERVAL IF(RAND() < 2, \1, NULL) ", sql) if sql.startswith("WITH RECURSIVE") else sql


def with_mixed_lists(sql: str) -> str:
    """The query with an integer more in each list that is no subquery and has no rows, dates or times."""
    out, at = [], 0
    for found in re.finditer(r" IN \((?!SELECT|\()", sql):
        end = closing(sql, found.end())
        if not MOMENTS.search(sql[found.end():end]):
            out.append(sql[at:end] + ", -987654321")
            at = end
    return "".join(out) + sql[at:]


def with_one_set(sql: str) -> str:
    """The query with each text that FIND_IN_SET takes in one character set."""
    return with_arguments(sql, "FIND_IN_SET", lambda listed: ", ".join(f"CONVERT({item} USING utf8mb4)" for item in parts(listed)))


def with_joined_texts(sql: str) -> str:
    """The query with the texts of the dates and times that CONCAT_WS joins."""
    return with_arguments(sql, "CONCAT_WS", lambda listed: re.sub(r"\b(?:TIMESTAMP|DATE|TIME)(?=')", "", listed))


def with_arguments(sql: str, name: str, change) -> str:
    """The query with other arguments of each call of the function."""
    found = re.search(rf"\b{name}\(", sql)
    if not found:
        return sql
    end = closing(sql, found.end())
    return f"{sql[:found.end()]}{change(with_arguments(sql[found.end():end], name, change))}{with_arguments(sql[end:], name, change)}"


def without_lost_dates(sql: str) -> str:
    """The query with NULL for what GREATEST makes of a date and a text that is none."""
    start = sql.find("GREATEST(")
    if start < 0:
        return sql
    inner = start + len("GREATEST(")
    end = closing(sql, inner)
    return f"{sql[:start]}NULLIF(GREATEST({without_lost_dates(sql[inner:end])}), '16383-15-31'){without_lost_dates(sql[end + 1:])}"


def with_times_as_dates(sql: str) -> str:
    """The query with each key of a frame of intervals as so long after a date, as it may be if it is a TIME."""
    return with_frame_keys(sql, "TIMESTAMP('2000-01-01', {})")


def with_early_dates(sql: str) -> str:
    """The query with an early date for the zero date among the keys of a frame of intervals, which stay dates, or dates and times."""
    return with_frame_keys(sql, "IF({0} + 0 = 0, DATE'0200-01-01', {0})")


def with_frame_keys(sql: str, form: str) -> str:
    """The query with each key of a frame of intervals in this form."""
    out, at = [], 0
    for found in re.finditer(r"( DESC)? RANGE (?=BETWEEN|CURRENT|UNBOUNDED|INTERVAL)", sql):
        start, end = at_own_depth(sql, found.start()), found.start()
        if start is not None and start >= at:
            out += [sql[at:start], form.format(sql[start:end])]
            at = end
    return "".join(out) + sql[at:]


def with_numbered_keys(sql: str) -> str:
    """The query with each window that a column alone orders ordered by the numbers of its values."""
    return WINDOW_KEY.sub(r"\1\2 + 0", sql)


def with_single_times(sql: str) -> str:
    """The query with TIME() and DATE() behind IFNULL, if ROLLUP groups by them, where they are no CAST of the same."""
    return around_calls(around_calls(sql, "TIME", "IFNULL(", ", NULL)"), "DATE", "IFNULL(", ", NULL)") if "ROLLUP" in sql else sql


def with_each_compared(sql: str) -> str:
    """The query with each row of a subquery of ANY or ALL compared, not the greatest or the least of them."""
    at = 0
    while found := EACH.search(sql, at):
        end = closing(sql, found.end())
        if not BEHIND_WHERE.search(sql, found.end(), end):
            sql = f"{sql[:end]} HAVING RAND() < 2{sql[end:]}"
        at = found.end()
    return sql


def with_wide_averages(sql: str) -> str:
    """The query with each average of a window as one of sums, whose type has room for the digits of a YEAR."""
    start = sql.find("AVG(")
    if start < 0:
        return sql
    inner = start + len("AVG(")
    end = closing(sql, inner)
    added = "+0" if sql.startswith(") OVER", end) else ""
    return f"{sql[:inner]}({with_wide_averages(sql[inner:end])}){added}{with_wide_averages(sql[end:])}"


def with_plain_bytes(sql: str) -> str:
    """The query with what REGEXP_SUBSTR and REGEXP_REPLACE make as bytes."""
    return around_calls(around_calls(sql, "REGEXP_REPLACE", "CAST(", " AS BINARY)"), "REGEXP_SUBSTR", "CAST(", " AS BINARY)")


def with_long_replacements(sql: str) -> str:
    """The query with what REPLACE puts in as a text whose type is long."""
    def longer(listed: str) -> str:
        items = parts(listed)
        return ", ".join([*items[:-1], f"INSERT({items[-1]}, 999, 0, SPACE(99))"])
    return with_arguments(sql, "REPLACE", longer)


def with_text_extremes(sql: str) -> str:
    """The query with what GREATEST and LEAST choose as a text, if there are documents."""
    return around_calls(around_calls(sql, "GREATEST", "CONCAT(", ")"), "LEAST", "CONCAT(", ")") if "JSON" in sql else sql


def around_calls(sql: str, name: str, before: str, behind: str) -> str:
    """The query with this before and that behind each call of the function."""
    found = re.search(rf"\b{name}\(", sql)
    if not found:
        return sql
    end = closing(sql, found.end())
    inner, rest = (around_calls(part, name, before, behind) for part in (sql[found.end():end], sql[end + 1:]))
    return f"{sql[:found.start()]}{before}{found[0]}{inner}){behind}{rest}"


def with_text_keys(sql: str) -> str:
    """The query with the texts of what ROLLUP groups by, if there may be documents among it."""
    totals = re.fullmatch(r"SELECT (.*?) (FROM .*) GROUP BY (.*) WITH ROLLUP(.*)", sql, re.S)
    if not totals or "JSON" not in sql:
        return sql
    items, source, keys, tail = totals.groups()
    texts = {key: f"CAST({key} AS CHAR)" for key in parts(keys)}
    texts |= {f"GROUPING({key})": f"GROUPING({text})" for key, text in texts.items()}
    shown = ", ".join(texts.get(item, item) for item in parts(items))
    return f"SELECT {shown} {source} GROUP BY {', '.join(texts[key] for key in parts(keys))} WITH ROLLUP{tail}"


def parts(listed: str) -> list[str]:
    """What stands between the commas of a list."""
    out, depth, quoted, start = [], 0, False, 0
    for at, letter in enumerate(listed + ","):
        quoted ^= letter == "'"
        depth += 0 if quoted else (letter == "(") - (letter == ")")
        if letter == "," and depth == 0 and not quoted:
            out.append(listed[start:at].strip())
            start = at + 1
    return out


def closing(sql: str, start: int) -> int:
    """Where the parenthesis ends whose contents begin here."""
    depth, quoted = 1, False
    for at in range(start, len(sql)):
        quoted ^= sql[at] == "'"
        depth += 0 if quoted else (sql[at] == "(") - (sql[at] == ")")
        if depth == 0:
            return at
    return len(sql)


def at_own_depth(sql: str, end: int) -> int | None:
    """Where the key begins that a window is ordered by up to here."""
    depth, quoted = 0, False
    for at in range(end - 1, -1, -1):
        quoted ^= sql[at] == "'"
        depth += 0 if quoted else (sql[at] == ")") - (sql[at] == "(")
        if depth < 0:
            return None
        if depth == 0 and not quoted and sql.startswith("ORDER BY ", at):
            return at + len("ORDER BY ")
    return None


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


def by_other_indexes(sql: str) -> list[str]:
    """A change that finds its rows by other indexes, and so in another order, or by other members of an ENUM with the same text."""
    found = ONE_TABLE.match(sql)
    return [f"{found[1]} /*+ INDEX({found[2]} {index}) */{sql[found.end(1):]}" for index in ("PRIMARY", "k0", "k1", "k2")] if found else []


def by_forced_indexes(sql: str) -> list[str]:
    """A query that reads one of its tables by one index: two members of an ENUM with one text are one to a scan, but not to an index."""
    tables = dict.fromkeys(re.findall(r"\bt\d x\d+\b", sql))
    return [re.sub(rf"\b{table}\b", f"{table} FORCE INDEX ({index})", sql, count=1) for table in tables for index in ("k0", "k1", "k2")]


class OtherPlans:
    """Asks a query under other switches and by other indexes in the session itself, and in another of the same tables without their
    secondary indexes."""

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
        for forced in by_forced_indexes(sql):
            yield self.perform(self.connection, forced)
        bare = self.address.connect(conv={}, charset="utf8mb4")
        try:
            for statement in [f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *played]:
                self.perform(bare, KEYS.sub("", statement) if statement.startswith("CREATE TABLE") else statement)
            yield self.perform(bare, sql)
        finally:
            bare.close()

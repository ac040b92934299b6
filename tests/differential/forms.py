"""Deliberate differences, told by their form. Each stands in docs/compatibility.md."""
import re
import struct
import unicodedata
from collections import Counter

from plans import ONE_TABLE, at_depth, split_list

FLOAT = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
ZERO = re.compile(r"^-0$")
ZERO_DATE = "0000-00-00 "
ASSIGNED = re.compile(r"ON DUPLICATE KEY UPDATE (c\d) = ")
CHANGED = re.compile(r"ok, (\d+) rows(, .*)")
WARNINGS = re.compile(r", (\d+) warnings")
BOUND = r"((?:DATE|TIME|TIMESTAMP)?'[^']*'|[-\w.]+)"
BOUNDS = re.compile(rf"\b(c\d) (?:NOT )?BETWEEN {BOUND} AND {BOUND}")
DATE = re.compile(r"'\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d+)?)?'")
CHOSEN = re.compile(r"(?:MIN|MAX)\((?:.*\b(?:IFNULL|COALESCE|GREATEST|LEAST|ANY_VALUE|IF|CASE)\b|x\d+\.x\d+c\d\)$)")


def deliberate(played: list[str], sql: str, mine, real) -> str | None:
    if isinstance(mine, str) and isinstance(real, str):
        if counts_nulls(played, sql, mine, real):
            return "ON DUPLICATE KEY UPDATE of a NULL to NULL in a column with a default, which MySQL counts as a row"
        if warned_of_bounds(played, sql, mine, real):
            return "a document, or a text that is no date, in BETWEEN, of which MySQL warns"
        return None
    if real == "error 1525" and re.search(r"(ADD|SUB)TIME\(.* (ANY|ALL|IN) \(SELECT", sql):
        return "a sum of times beside the dates of a subquery, of which MySQL says in WHERE alone that it is no date"
    if real == "error 1525" and re.search(r"NULLIF\((?:\d|')", sql):
        return "NULLIF of a constant that MySQL has turned into a column's type"
    if "GROUPING(INTERVAL(" in sql and real == "error 3602":
        return "GROUPING of INTERVAL(), which MySQL does not find in GROUP BY"
    if isinstance(mine, str) or isinstance(real, str):
        return None
    if re.search(r"(IFNULL|COALESCE|GREATEST|LEAST|ANY_VALUE|NULLIF)\(", sql) and sorted(map(digits_of_bits, mine)) == sorted(map(digits_of_bits, real)):
        return "a BIT that COALESCE or its like chooses, of which MySQL sends the digits if no temporary table keeps it"
    if " GROUP BY " in sql and any(" FLOAT" in text for text in played) and kept_as_doubles(sql, mine, real):
        return "MIN or MAX of a FLOAT that a function has chosen, which a temporary table of MySQL keeps as a double"
    if re.search(r"(VAR_SAMP|VAR_POP|STDDEV_POP|STDDEV_SAMP)\(\(~", sql) and len(mine) == len(real):
        return "how far numbers about 2^64 are apart, which doubles add up otherwise in another order"
    if re.search(r"IF\(|CASE", sql) and sorted(map(repr, mine)) == sorted(map(bits_as_numbers, real)):
        return "a BIT that IF or CASE chooses among numbers, of which MySQL sends the byte"
    if re.search(r"NULLIF\((?:\d|')", sql):
        return "NULLIF of a constant that MySQL has turned into a column's type"
    if re.search(r"BETWEEN '[^']*' AND \d", sql):
        return "a date between a text that is none and a number, which MySQL compares with the packed date"
    if "ORDER BY 1)" in sql and len(mine) == len(real) and sorted(map(members, mine)) == sorted(map(members, real)):
        return "GROUP_CONCAT of texts that are equal under their collation, in any order"
    if re.search("GROUP BY|DISTINCT|UNION|EXCEPT|INTERSECT", sql) and sorted(map(folded, mine)) == sorted(map(folded, real)):
        return "which of several equal texts, or of 0 and -0, stands for its group"
    if re.search("EXCEPT.*INTERSECT", sql, re.S) and len(real) < len(mine) and all(row in mine for row in real):
        return "EXCEPT of an INTERSECT that gives NULL, for which MySQL leaves out a row that is none"
    if re.search("EXCEPT|INTERSECT", sql) and only_zeros_differ(mine, real):
        return "a double that is -0, which MySQL tells from 0 in EXCEPT and INTERSECT"
    if re.search("UNION|EXCEPT|INTERSECT", sql) and "TIME" in sql and read_as_dates(mine, real):
        return "a function of times beside a DATETIME, which MySQL makes the zero date"
    return None


def read_as_dates(mine, real) -> bool:
    """Whether there are zero dates, or the dates that times spell."""
    if any(str(value).startswith(ZERO_DATE) for row in real for value in row):
        return True
    times = [value for row in mine for value in row if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", str(value))]
    return any(as_spelt(time) == value for time in times for row in real for value in row)


def bits_as_numbers(row: tuple) -> str:
    """The values of a row with the numbers of a BIT for its one byte."""
    return repr(tuple(str(ord(value)) if isinstance(value, str) and len(value) == 1 and value < " " else value for value in row))


def digits_of_bits(row: tuple) -> str:
    """The values of a row with the number of a BIT, as its bytes or as its digits."""
    def number(value):
        if not isinstance(value, bytes):
            return value
        return value.decode() if value.isdigit() else str(int.from_bytes(value, "big"))
    return repr([number(value) for value in row])


def kept_as_doubles(sql: str, mine, real) -> bool:
    """Whether the rows differ in nothing but MIN and MAX of what a function chooses: one has a FLOAT, the other the double that it is."""
    items = split_list(sql[len("SELECT "):at_depth(sql, " FROM ")])
    chosen = {n for n, item in enumerate(items) if CHOSEN.match(item)}

    def same(one: tuple, two: tuple) -> bool:
        return all(a == b or n in chosen and is_double_of(b, a) for n, (a, b) in enumerate(zip(one, two)))

    if len(mine) != len(real):
        return False
    if at_depth(sql, " ORDER BY ") < len(sql):
        return all(map(same, mine, real))
    left = list(real)
    for row in mine:
        found = next((n for n, other in enumerate(left) if same(row, other)), None)
        if found is None:
            return False
        del left[found]
    return True


def is_double_of(double, single) -> bool:
    """Whether a text is of the very double that the FLOAT of another text is."""
    if not all(isinstance(value, str) and FLOAT.fullmatch(value) for value in (double, single)) or abs(float(single)) > 3e38:
        return False
    return float(double) == struct.unpack("f", struct.pack("f", float(single)))[0]


def warned_of_bounds(played: list[str], sql: str, mine: str, real: str) -> bool:
    """Whether the other server has more warnings, and a column of documents, or one of dates and a text that is none, stands with BETWEEN."""
    here, there = (WARNINGS.search(answer) for answer in (mine, real))
    if not (here and there) or WARNINGS.sub("", mine) != WARNINGS.sub("", real) or int(here[1]) >= int(there[1]):
        return False
    table = ONE_TABLE.match(sql)
    definition = next((text for text in played if table and text.startswith(f"CREATE TABLE {table[2]} ")), "")
    for column, *bounds in BOUNDS.findall(sql):
        kind = re.search(rf"\b{column} (\w+)", definition)
        if kind and (kind[1] == "JSON" or kind[1] in ("DATE", "DATETIME", "TIMESTAMP") and any(bound.startswith("'") and not DATE.fullmatch(bound) for bound in bounds)):
            return True
    return False


def counts_nulls(played: list[str], sql: str, mine: str, real: str) -> bool:
    """Whether the other server counts more rows, of those it has inserted or not changed, and assigns to columns that have a default."""
    found, (here, there) = ASSIGNED.search(sql), (CHANGED.fullmatch(answer) for answer in (mine, real))
    if not (found and here and there) or here[2] != there[2]:
        return False
    table = sql.split()[2]
    definition = next((text for text in played if text.startswith(f"CREATE TABLE {table} ")), "")
    return (re.search(rf"\b{found[1]} [^,]*(?:\([^)]*\)[^,]*)?DEFAULT ", definition) is not None
            and 0 < int(there[1]) - int(here[1]) <= sql.count("), (") + 1)


def only_zeros_differ(mine, real) -> bool:
    """Whether all rows that one of the two does not have hold a zero, and one of them a negative one."""
    apart = [row for one, two in ((mine, real), (real, mine)) for row in (Counter(one) - Counter(two))]
    return all({"0", "-0"} & set(row) for row in apart) and any("-0" in row for row in [*mine, *real])


def as_spelt(time: str) -> str:
    """The date that MySQL reads in the time of a DATETIME."""
    year, month, day = map(int, time[-8:].split(":"))
    return f"{year + 2000}-{month:02}-{day:02} 00:00:00"


def folded(row: tuple) -> str:
    """The values of a row without what a collation may take no notice of, nor the sign of a zero."""
    text = repr([ZERO.sub("0", value.rstrip(" ")) if isinstance(value, str) else value for value in row])
    return "".join(c for c in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(c))


def members(row: tuple) -> list[str]:
    """The values of a row, those joined by commas in an order of their own, doubles by as many digits as count."""
    def shown(value) -> str:
        if isinstance(value, str) and "," in value:
            return "".join(sorted(value)).lower()
        return f"{float(value):.9g}" if isinstance(value, str) and FLOAT.fullmatch(value) else repr(value)
    return list(map(shown, row))

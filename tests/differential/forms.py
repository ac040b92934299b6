"""Deliberate differences, told by their form. Each stands in docs/compatibility.md."""
import re
import unicodedata
from datetime import date

NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][+-]?\d+)?")
# What a document that was written still says of its parts.
KEPT_AS = {"DECIMAL": "DOUBLE", "DATE": "STRING", "TIME": "STRING", "DATETIME": "STRING", "TIMESTAMP": "STRING"}
NO_DATE = "16383-15-3"          # MySQL's GREATEST of a date and a text that is none
ZERO_DATE = "0000-00-00 "
DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
GREATEST_INTEGER = "18446744073709551615"
WARNINGS = re.compile(r", \d+ warnings")


def deliberate(sql: str, mine, real) -> str | None:
    if isinstance(mine, str) and isinstance(real, str):
        if re.search(r"c\d (NOT )?BETWEEN '", sql) and WARNINGS.sub("", mine) == WARNINGS.sub("", real):
            return "a document in BETWEEN, of which MySQL warns"
        return None
    if "GROUPING(INTERVAL(" in sql and real == "error 3602":
        return "GROUPING of INTERVAL(), which MySQL does not find in GROUP BY"
    if isinstance(mine, str) or isinstance(real, str):
        return None
    if "JSON" in sql and sorted(map(as_kept, mine)) == sorted(map(as_kept, real)):
        return "a document is a text: a DECIMAL in it is a double, a date a string"
    if "GREATEST" in sql and any(NO_DATE in str(value) for row in real for value in row):
        return "GREATEST of a date and a text that is none"
    if re.search(r"NULLIF\((?:\d|')", sql):
        return "NULLIF of a constant that MySQL has turned into a column's type"
    if re.search(r"BETWEEN '[^']*' AND \d", sql):
        return "a date between a text that is none and a number, which MySQL compares with the packed date"
    if is_signed_beside_unsigned(sql):
        return "a negative integer in a list beside an unsigned one, which MySQL takes for equal if their bits are"
    if "ORDER BY 1)" in sql and len(mine) == len(real) and sorted(map(members, mine)) == sorted(map(members, real)):
        return "GROUP_CONCAT of texts that are equal under their collation, in any order"
    if re.search("GROUP BY|DISTINCT|UNION|EXCEPT|INTERSECT", sql) and sorted(map(folded, mine)) == sorted(map(folded, real)):
        return "which of several equal texts stands for its group"
    if re.search("EXCEPT.*INTERSECT", sql, re.S) and len(real) < len(mine) and all(row in mine for row in real):
        return "EXCEPT of an INTERSECT that gives NULL, for which MySQL leaves out a row that is none"
    if "JOIN" in sql and re.search(r"\)[<>]=?\(|WHERE .*INTERVAL\(", sql) and len(real) < len(mine) and all(row in mine for row in real):
        return "a comparison of rows or INTERVAL(), for which MySQL makes an inner join of an outer one"
    if re.search("UNION|EXCEPT|INTERSECT", sql) and "TIME" in sql and any(str(value).startswith(ZERO_DATE) for row in real for value in row):
        return "a function of times beside a DATETIME, which MySQL makes the zero date"
    if re.search(r"TIMEDIFF|SEC_TO_TIME|MAKETIME|SUBTIME", sql) and are_days_apart(mine, real):
        return "the date of a TIME beyond a day, to which MySQL adds the time of day"
    return None


def as_kept(row: tuple) -> str:
    """The values of a row as far as documents that are texts tell them apart."""
    return repr([KEPT_AS.get(value, NUMBER.sub(lambda number: repr(float(number[0])), value)) if isinstance(value, str) else value for value in row])


def folded(row: tuple) -> str:
    """The values of a row without what a collation may take no notice of."""
    return "".join(c for c in unicodedata.normalize("NFD", repr(row).casefold()) if not unicodedata.combining(c))


def is_signed_beside_unsigned(sql: str) -> bool:
    """Whether the greatest unsigned integer stands before a list of IN, or in one of several."""
    for found in re.finditer(r" IN \(", sql):
        before, listed = sql[max(found.start() - 60, 0):found.start()], sql[found.end():].split(")")[0]
        if GREATEST_INTEGER in before and "-" in listed or GREATEST_INTEGER in listed and "," in listed:
            return True
    return False


def members(row: tuple) -> list[str]:
    """The values of a row, those joined by commas in an order of their own."""
    return ["".join(sorted(value)).lower() if isinstance(value, str) and "," in value else repr(value) for value in row]


def are_days_apart(mine: list, real: list) -> bool:
    """The same rows but for dates that are a day apart."""
    if len(mine) != len(real):
        return False
    for one, other in zip(sorted(mine, key=repr), sorted(real, key=repr)):
        for a, b in zip(one, other):
            if a == b:
                continue
            days = [DAY.fullmatch(str(value)) for value in (a, b)]
            if not all(days):
                return False
            first, second = (date(*map(int, day.groups())) for day in days)
            if abs((first - second).days) != 1:
                return False
    return True

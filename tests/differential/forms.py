"""Deliberate differences, told by their form. Each stands in docs/compatibility.md."""
import re

NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][+-]?\d+)?")
# What a document that was written still says of its parts.
KEPT_AS = {"DECIMAL": "DOUBLE", "DATE": "STRING", "TIME": "STRING", "DATETIME": "STRING", "TIMESTAMP": "STRING", "BLOB": "STRING", "BIT": "STRING", "OPAQUE": "STRING"}
NO_DATE = "16383-15-31"         # MySQL's GREATEST of a date and a text that is none


def deliberate(sql: str, mine, real) -> str | None:
    if isinstance(mine, str) or isinstance(real, str):
        return None
    if "JSON" in sql and sorted(map(as_kept, mine)) == sorted(map(as_kept, real)):
        return "a document is a text: a DECIMAL in it is a double, a date a string"
    if "GREATEST" in sql and any(NO_DATE in str(value) for row in real for value in row):
        return "GREATEST of a date and a text that is none"
    if re.search(r"NULLIF\((?:\d|')", sql):
        return "NULLIF of a constant that MySQL has turned into a column's type"
    return None


def as_kept(row: tuple) -> str:
    """The values of a row as far as documents that are texts tell them apart."""
    return repr([KEPT_AS.get(value, NUMBER.sub(lambda number: repr(float(number[0])), value)) if isinstance(value, str) else value for value in row])

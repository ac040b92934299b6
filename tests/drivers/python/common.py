"""What the two Python programs share: the expected values, and how a line of output is made."""
import datetime
import decimal
import json
import os
import traceback

EXPECTED = json.load(open(os.environ["EXPECTED"], encoding="utf-8"))
COLUMNS = EXPECTED["columns"]
ROWS = range(3)
HOST, PORT, USER = os.environ["DB_HOST"], int(os.environ["DB_PORT"]), os.environ["DB_USER"]
PASSWORD, PLUGINS = os.environ["DB_PASSWORD"], os.environ["DB_PLUGINS"].split()


def check(name, body):
    try:
        body()
        print(f"ok {name}", flush=True)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        print(f"FAILED {name}: {type(error).__name__} {error} (line {frame.lineno})".replace("\n", " "), flush=True)


def equal(seen, expected, what=""):
    assert seen == expected, f"{what} expected {expected!r}, saw {seen!r}"


def show_time(value: datetime.timedelta, micros: bool) -> str:
    sign, value = ("-", -value) if value < datetime.timedelta(0) else ("", value)
    seconds = value.days * 86400 + value.seconds
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return text + (f".{value.microseconds:06}" if micros else "")


def parse_time(text: str) -> datetime.timedelta:
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = text.lstrip("-").split(":")
    return sign * datetime.timedelta(hours=int(hours), minutes=int(minutes), microseconds=int(decimal.Decimal(seconds) * 1000000))


def fraction(column) -> int:
    kind = column["type"].split()[0]
    return int(kind[-2]) if kind.endswith(")") else 0


def show(column, value):
    """What the driver gave, in the words of expected.json."""
    if value is None:
        return None
    match column["kind"]:
        case "date" | "datetime":
            assert isinstance(value, (datetime.date, datetime.datetime)), type(value)
            text = str(value)
            digits = fraction(column)
            if digits:
                whole, _, part = text.partition(".")
                return f"{whole}.{part.ljust(6, '0')[:digits]}"
            return text
        case "time":
            assert isinstance(value, datetime.timedelta), type(value)
            return show_time(value, fraction(column) > 0)
        case "decimal":
            assert isinstance(value, decimal.Decimal), type(value)
            return format(value, "f")
        case "double":
            return repr(value)
        case "binary":
            assert isinstance(value, (bytes, bytearray)), type(value)
            return bytes(value).hex()
        case "text":
            assert isinstance(value, str), type(value)
            return value
    assert isinstance(value, int), type(value)
    return str(value)


def parameter(column, text):
    """A value to bind."""
    if text is None:
        return None
    match column["kind"]:
        case "int" | "uint" | "year":
            return int(text)
        case "decimal":
            return decimal.Decimal(text)
        case "double":
            return float(text)
        case "date":
            return datetime.date.fromisoformat(text)
        case "datetime":
            return datetime.datetime.fromisoformat(text)
        case "time":
            return parse_time(text)
        case "binary":
            return bytes.fromhex(text)
    return text


def create_types(table: str) -> str:
    columns = ", ".join(f"{c['name']} {c['type']}" for c in COLUMNS)
    return f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns})"


def compare_row(number, row, columns=COLUMNS):
    for column, value in zip(columns, row, strict=True):
        equal(show(column, value), column["values"][number], f"{column['name']} of row {number}:")

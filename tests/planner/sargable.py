#!/usr/bin/env python3
"""Every type of column, every operator, every way in which a value comes: the index is bounded where MySQL bounds it.

    tests/planner/sargable.py [--address HOST:PORT[:USER]] [--record HOST:PORT[:USER]] [FILTER ...]

For each type there is a table of 200 rows with an index on the column. Each case compares the column with a value near one row,
by one operator, where the value is a literal, a text, a number, a parameter of one type of the binary protocol, a user variable,
or a function of constants. A case is run as SELECT; for the ways in LOCKED as SELECT ... FOR UPDATE and as UPDATE, and locks are counted.
What is compared with `sargable.data`, which MySQL 9.7 wrote (`--record`):

- the rows found, or the number of the error: the same;
- the rows that the engine looked at (`Handler_read_*`) and the record locks (`performance_schema.data_locks`): at most SLACK more.

What is known to differ stands in KNOWN, with the reason.
"""
import datetime
import struct
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import pymysql  # noqa: E402
from pymysql.constants import CLIENT  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

DATA = HERE / "sargable.data"
DATABASE = "sargable"
ROWS = 200
#: More rows looked at, or locked, than this are a bound that is missing.
SLACK = 6
#: Ways whose locks are counted.
LOCKED = ("literal", "text", "p-string")
COM_PREPARE, COM_EXECUTE, COM_CLOSE = 22, 23, 25


def day(n: int) -> datetime.date:
    return datetime.date(2000, 1, 1) + datetime.timedelta(days=n)


@dataclass(frozen=True)
class Type:
    """A type of column."""
    name: str
    column: str
    #: The value of row n as a text.
    value: Callable[[int], str]
    #: The same as a number.
    number: Callable[[int], int | float]
    #: How it is written as a literal.
    literal: Callable[[str], str]
    #: What computes it from a literal, twice.
    calls: tuple[str, str]
    key: str = "a, b"


def plain(value: str) -> str:
    return value


def quoted(value: str) -> str:
    return f"'{value}'"


def numbers(name: str, column: str, value: Callable[[int], int | float], cast: str, number=None) -> Type:
    return Type(name, column, lambda n: str(value(n)), number or value, plain, ("({} + 0)", f"CAST({{}} AS {cast})"))


def texts(name: str, column: str, key: str = "a, b", cast: str = "CHAR") -> Type:
    return Type(name, column, lambda n: f"k{n:07}", lambda n: n, quoted, ("CONCAT({}, '')", f"CAST({{}} AS {cast})"), key)


def moments(name: str, column: str, value: Callable[[int], str], number: Callable[[int], int], calls: tuple[str, str]) -> Type:
    return Type(name, column, value, number, quoted, calls)


def clock(n: int) -> str:
    return f"{n // 60:02}:{n % 60:02}:10"


TYPES = [
    numbers("tinyint", "TINYINT", lambda n: n - 100, "SIGNED"),
    numbers("smallint", "SMALLINT UNSIGNED", lambda n: n * 10, "UNSIGNED"),
    numbers("int", "INT", lambda n: n * 1000, "SIGNED"),
    numbers("bigint", "BIGINT", lambda n: n * 10**12 + 1, "SIGNED"),
    numbers("decimal", "DECIMAL(10, 2)", lambda n: n + 0.25, "DECIMAL(12, 4)"),
    numbers("float", "FLOAT", lambda n: n + 0.5, "FLOAT"),
    numbers("double", "DOUBLE", lambda n: n + 0.125, "DOUBLE"),
    numbers("bit", "BIT(16)", lambda n: n * 3, "UNSIGNED"),
    numbers("year", "YEAR", lambda n: 1950 + n // 2, "SIGNED"),
    moments("date", "DATE", lambda n: str(day(n)), lambda n: int(day(n).strftime("%Y%m%d")), ("DATE({})", "CAST({} AS DATE)")),
    moments("datetime", "DATETIME", lambda n: f"{day(n)} 10:20:30", lambda n: int(day(n).strftime("%Y%m%d102030")),
            ("({} + INTERVAL 0 SECOND)", "CAST({} AS DATETIME)")),
    moments("datetime6", "DATETIME(6)", lambda n: f"{day(n)} 10:20:30.123456", lambda n: int(day(n).strftime("%Y%m%d102030")),
            ("TIMESTAMP({})", "CAST({} AS DATETIME(6))")),
    moments("timestamp", "TIMESTAMP NULL", lambda n: f"{day(n)} 10:20:30", lambda n: int(day(n).strftime("%Y%m%d102030")),
            ("TIMESTAMP({})", "CAST({} AS DATETIME)")),
    moments("time", "TIME", clock, lambda n: int(clock(n).replace(":", "")), ("ADDTIME({}, '0:0:0')", "CAST({} AS TIME)")),
    texts("char", "CHAR(10)"),
    texts("varchar", "VARCHAR(20)"),
    texts("as_cs", "VARCHAR(20) COLLATE utf8mb4_0900_as_cs"),
    texts("0900_bin", "VARCHAR(20) COLLATE utf8mb4_0900_bin"),
    texts("bin", "VARCHAR(20) COLLATE utf8mb4_bin"),
    texts("general_ci", "VARCHAR(20) COLLATE utf8mb4_general_ci"),
    texts("unicode_ci", "VARCHAR(20) COLLATE utf8mb4_unicode_ci"),
    texts("latin1", "VARCHAR(20) CHARACTER SET latin1"),
    texts("ascii", "VARCHAR(20) CHARACTER SET ascii"),
    texts("varbinary", "VARBINARY(20)", cast="BINARY"),
    texts("binary", "BINARY(8)", cast="BINARY"),
    texts("prefix", "VARCHAR(20) COLLATE utf8mb4_general_ci", key="a(7)"),
    texts("prefix_0900", "VARCHAR(20)", key="a(7)"),
    texts("text", "TEXT CHARACTER SET latin1", key="a(12)"),
    texts("blob", "BLOB", key="a(12)", cast="BINARY"),
    Type("enum", "ENUM({})".format(", ".join(f"'k{n:07}'" for n in range(ROWS))), lambda n: f"k{n:07}", lambda n: n + 1, quoted,
         ("CONCAT({}, '')", "CAST({} AS CHAR)")),
    Type("set", "SET('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')", lambda n: ",".join(m for i, m in enumerate("abcdefgh") if n >> i & 1),
         lambda n: n, quoted, ("CONCAT({}, '')", "CAST({} AS CHAR)")),
]


ORDERED = ("<", "<=", ">", ">=", "both", "between")
#: Types, ways, operators and why they differ. No operators: all.
KNOWN: list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str]] = [
    (("bit",), ("text", "p-string"), (), "MySQL takes the bytes of a text beside BIT for the number where it is stored, its digits elsewhere"),
    (("year",), ("p-date", "p-datetime"), (), "MySQL stores a date in a YEAR as its digits for `<`, which is no year, and as its year for `=`"),
    (("date",), ("fraction",), ("rows",), "MySQL takes the fraction off where rows are listed"),
    (("time",), ("p-time",), ("like",), "MySQL gives a TIME parameter six digits of a fraction beside LIKE"),
    (("time",), ("variable", "call"), (), "texts that are no literals are compared with TIME as texts"),
    (("datetime6",), ("p-double", "p-decimal"), (), "floating-point numbers do not tell microseconds apart, so no value has a place"),
    (("enum", "set"), ("number", "p-int", "p-double", "p-decimal"), ("rows",), "MySQL compares members in listed rows with numbers as texts"),
    (("as_cs", "general_ci", "unicode_ci", "prefix", "latin1", "ascii", "text"), (), ("rows",),
     "the collation of listed rows is decided row by row, and may be none"),
    (("prefix_0900",), (), ORDERED, "characters may weigh nothing, so the order of cut texts is not that of texts"),
]


# ---------------------------------------------------------------------------------------------------- the ways a value comes

@dataclass(frozen=True)
class Given:
    """A value: what stands in the statement, and the parameter that belongs to it."""
    text: str
    setup: str = ""
    #: Its type in the binary protocol, and its bytes.
    parameter: tuple[int, bytes] | None = None


def length_coded(data: bytes) -> bytes:
    return bytes([len(data)]) + data


def date_bytes(value: str) -> bytes:
    is_date = value[4:5] == "-" and "%" not in value
    moment = datetime.datetime.fromisoformat(value) if is_date else datetime.datetime(2000, 4, 10)
    return struct.pack("<HBBBBBI", moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond)


def time_bytes(value: str) -> bytes:
    hours, minutes, seconds = (int(part) for part in value.split(":")) if value[2:3] == ":" and "%" not in value else (1, 40, 10)
    return b"\0" + struct.pack("<IBBB", 0, hours, minutes, seconds)


def parameter(code: int, data: bytes) -> Given:
    return Given("?", parameter=(code, data))


#: Names of variables that the cases set.
VARIABLES = iter(range(10**9))


def variable(ty: Type, n: int) -> Given:
    name = f"@v{next(VARIABLES) % 4}"
    return Given(name, f"SET {name} = {ty.literal(ty.value(n))}")


WAYS: dict[str, Callable[[Type, int], Given]] = {
    "literal": lambda ty, n: Given(ty.literal(ty.value(n))),
    "text": lambda ty, n: Given(quoted(ty.value(n))),
    "number": lambda ty, n: Given(str(ty.number(n))),
    "fraction": lambda ty, n: Given(f"{int(ty.number(n))}.5"),
    "variable": variable,
    "call": lambda ty, n: Given(ty.calls[0].format(ty.literal(ty.value(n)))),
    "cast": lambda ty, n: Given(ty.calls[1].format(ty.literal(ty.value(n)))),
    "p-int": lambda ty, n: parameter(8, struct.pack("<q", int(ty.number(n)))),
    "p-double": lambda ty, n: parameter(5, struct.pack("<d", ty.number(n))),
    "p-decimal": lambda ty, n: parameter(246, length_coded(str(ty.number(n)).encode())),
    "p-string": lambda ty, n: parameter(253, length_coded(ty.value(n).encode())),
    "p-date": lambda ty, n: parameter(10, length_coded(date_bytes(ty.value(n)[:10])[:4])),
    "p-datetime": lambda ty, n: parameter(12, length_coded(date_bytes(ty.value(n)))),
    "p-time": lambda ty, n: parameter(11, length_coded(time_bytes(ty.value(n)))),
    "p-null": lambda ty, n: parameter(6, b""),
}


def like(ty: Type, way: str) -> list[Given]:
    """The pattern of all that begins as the value, but for its last character."""
    shorter = Type(ty.name, ty.column, lambda n: ty.value(n)[:-1] + "%", ty.number, quoted, ty.calls)
    return [WAYS[way](shorter, 100)]


def rows_of(ty: Type, way: str, at: list[int]) -> list[Given]:
    return [each for n in at for each in (WAYS[way](ty, n), Given(str(n)))]


#: Operators: the condition, and the rows whose values it compares with.
OPERATORS: dict[str, tuple[str, Callable[[Type, str], list[Given]]]] = {
    "=": ("a = {}", lambda ty, way: [WAYS[way](ty, 100)]),
    "turned": ("{} = a", lambda ty, way: [WAYS[way](ty, 100)]),
    "<=>": ("a <=> {}", lambda ty, way: [WAYS[way](ty, 100)]),
    "<": ("a < {}", lambda ty, way: [WAYS[way](ty, 4)]),
    "<=": ("a <= {}", lambda ty, way: [WAYS[way](ty, 4)]),
    ">": ("a > {}", lambda ty, way: [WAYS[way](ty, 195)]),
    ">=": ("a >= {}", lambda ty, way: [WAYS[way](ty, 195)]),
    "both": ("a > {} AND a <= {}", lambda ty, way: [WAYS[way](ty, 100), WAYS[way](ty, 103)]),
    "between": ("a BETWEEN {} AND {}", lambda ty, way: [WAYS[way](ty, 100), WAYS[way](ty, 103)]),
    "in": ("a IN ({}, {}, {})", lambda ty, way: [WAYS[way](ty, n) for n in (100, 103, 107)]),
    "like": ("a LIKE {}", like),
    "row": ("(a, b) = ({}, {})", lambda ty, way: rows_of(ty, way, [100])),
    "rows": ("(a, b) IN (({}, {}), ({}, {}))", lambda ty, way: rows_of(ty, way, [100, 103])),
}


# ------------------------------------------------------------------------------------------------------------------ a server

class Session:
    """A connection that counts what its statements look at and lock."""

    def __init__(self, address: Address):
        self.connection = address.connect(client_flag=CLIENT.MULTI_STATEMENTS)
        self.cursor = self.connection.cursor()
        self.cursor.execute("SET time_zone = '+00:00', transaction_isolation = 'REPEATABLE-READ'")
        #: What a look at the counters adds to them.
        self.look = -self.looked_at() + self.looked_at()

    def fill(self, types: list[Type]) -> None:
        run = self.cursor.execute
        run(f"DROP DATABASE IF EXISTS {DATABASE}")
        run(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci")
        run(f"USE {DATABASE}")
        for ty in types:
            run(f"CREATE TABLE `{ty.name}` (id INT PRIMARY KEY, a {ty.column}, b INT, c INT, KEY ({ty.key}))")
            rows = ", ".join(f"({n}, {ty.literal(ty.value(n))}, {n}, 0)" for n in range(ROWS))
            run(f"INSERT INTO `{ty.name}` VALUES {rows}, ({ROWS}, NULL, {ROWS}, 0)")
            run(f"ANALYZE TABLE `{ty.name}`")

    def fetch(self, sql: str) -> list[tuple]:
        self.cursor.execute(sql)
        return list(self.cursor.fetchall())

    def execute(self, sql: str, parameters: list[tuple[int, bytes]]) -> list[int]:
        """Runs a statement, prepared if it has parameters; the first column of its rows, which are whole numbers."""
        if not parameters:
            return [row[0] for row in self.fetch(sql)]
        wire = self.connection
        wire._execute_command(COM_PREPARE, sql)
        head = wire._read_packet().get_all_data()
        statement, columns, count = struct.unpack("<IHH", head[1:9])
        for each in (count, columns):
            for _ in range(each + 1 if each else 0):
                wire._read_packet()
        nulls = sum((code == 6) << n for n, (code, _) in enumerate(parameters)).to_bytes((count + 7) // 8, "little")
        types = b"".join(struct.pack("<H", code) for code, _ in parameters)
        body = struct.pack("<IBI", statement, 0, 1) + nulls + b"\1" + types + b"".join(data for _, data in parameters)
        try:
            wire._execute_command(COM_EXECUTE, body)
            first = wire._read_packet()
            if first.is_ok_packet():
                return []
            for _ in range(first.get_all_data()[0] + 1):
                wire._read_packet()
            found = []
            while not (packet := wire._read_packet()).is_eof_packet():
                data = packet.get_all_data()
                found.append(struct.unpack("<i", data[2:6])[0])
            return found
        finally:
            wire._execute_command(COM_CLOSE, struct.pack("<I", statement))

    def looked_at(self) -> int:
        return sum(int(value) for _, value in self.fetch("SHOW SESSION STATUS LIKE 'Handler\\_read%'"))

    def locked(self) -> int:
        return self.fetch("SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_TYPE = 'RECORD'")[0][0]

    def case(self, ty: Type, way: str, operator: str) -> str:
        """What the case finds, looks at, and locks: `rows:checksum/looked at/locked[/locked by UPDATE]`."""
        condition, values = OPERATORS[operator]
        given = values(ty, way)
        parameters = [each.parameter for each in given if each.parameter]
        condition = condition.format(*(each.text for each in given))
        for setup in (each.setup for each in given if each.setup):
            self.cursor.execute(setup)
        select = f"SELECT id FROM `{ty.name}` WHERE {condition}"
        is_locked = way in LOCKED
        try:
            before = self.looked_at()
            self.cursor.execute("BEGIN")
            found = sorted(self.execute(f"{select} FOR UPDATE" if is_locked else select, parameters))
            seen = [self.looked_at() - before - self.look]
            if is_locked:
                seen.append(self.locked())
                self.cursor.execute("ROLLBACK")
                self.cursor.execute("BEGIN")
                seen.append(self.update(f"UPDATE `{ty.name}` SET c = c + 1 WHERE {condition}", parameters))
        except pymysql.Error as error:
            return f"E{error.args[0]}"
        finally:
            self.cursor.execute("ROLLBACK")
        sum_ = zlib.crc32(repr(found).encode()) % 4096
        return "/".join(map(str, [f"{len(found)}:{sum_:x}", *seen]))

    def update(self, sql: str, parameters: list[tuple[int, bytes]]) -> int | str:
        """The locks of a change, or its error."""
        try:
            self.execute(sql, parameters)
        except pymysql.Error as error:
            return f"E{error.args[0]}"
        return self.locked()


# ----------------------------------------------------------------------------------------------------------------- the table

def record(address: Address) -> None:
    session = Session(address)
    session.fill(TYPES)
    lines = []
    for ty in TYPES:
        for way in WAYS:
            lines.append(f"{ty.name} {way} " + " ".join(session.case(ty, way, operator) for operator in OPERATORS))
    version = session.fetch("SELECT VERSION()")[0][0]
    DATA.write_text(f"# What MySQL {version} finds, looks at and locks; written by sargable.py --record. Columns: {' '.join(OPERATORS)}\n"
                    + "\n".join(lines) + "\n")
    print(f"{len(lines) * len(OPERATORS)} cases recorded")


def is_known(ty: str, way: str, operator: str) -> bool:
    return any(ty in types and (way in ways or not ways) and (operator in operators or not operators)
               for types, ways, operators, _ in KNOWN)


def worse(seen: str, recorded: str) -> str | None:
    """How a case does not do as well as it was recorded to."""
    (found, *counts), (expected, *least) = seen.split("/"), recorded.split("/")
    if found != expected:
        return "finds other rows"
    for what, mine, theirs in zip(("looks at", "locks", "UPDATE locks"), counts, least):
        if mine.startswith("E") or theirs.startswith("E"):
            if mine != theirs:
                return f"{what} {mine}, not {theirs}"
        elif int(mine) > int(theirs) + SLACK:
            return f"{what} {mine}, not {theirs}"
    return None


def check(address: Address, report: Report) -> None:
    recorded = {}
    for line in DATA.read_text().splitlines()[1:]:
        ty, way, *answers = line.split(" ")
        recorded[ty, way] = dict(zip(OPERATORS, answers))
    session = Session(address)
    wanted = [ty for ty in TYPES if report.wants(ty.name)]
    session.fill(wanted)
    for ty in wanted:
        wrong, count = [], 0
        for way in WAYS:
            for operator in OPERATORS:
                if is_known(ty.name, way, operator):
                    continue
                seen = session.case(ty, way, operator)
                count += 1
                expected = recorded[ty.name, way][operator]
                if complaint := worse(seen, expected):
                    wrong.append(f"{way} {operator}: {complaint} ({seen}, recorded {expected})")
        report.check(not wrong, f"{ty.name}, {count} comparisons", f"{len(wrong)} wrong\n    " + "\n    ".join(wrong))


def main() -> None:
    options = suite_parser(__doc__)
    options.add_argument("--address", type=Address.parse, help="a server that runs already; otherwise one is started")
    options.add_argument("--record", type=Address.parse, metavar="HOST:PORT[:USER]", help="write the table anew, from MySQL")
    arguments = options.parse_args()
    if arguments.record:
        record(arguments.record)
        return
    report = Report("sargable", arguments.filters)
    if arguments.address:
        check(arguments.address, report)
    else:
        with Server("sargable") as server:
            check(server.address, report)
    report.close()


if __name__ == "__main__":
    main()

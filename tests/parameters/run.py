#!/usr/bin/env python3
"""Every place in which a parameter of a prepared statement stands, with a value of every type bound to it: the answer is MySQL's.

    tests/parameters/run.py [--address HOST:PORT[:USER]] [--record HOST:PORT[:USER]] [--against HOST:PORT[:USER]] [--known] [FILTER ...]

A parameter has a type when its statement is prepared: that of the column that it is compared with, of the argument of a function, of the column that
it is written to. A value of another type is converted to it, or the statement is prepared again with the type of the value. So a
case is a place (`places`: with each type of column, in each function, in whole queries) and a value: by COM_STMT_EXECUTE in each type
of the binary protocol, or by EXECUTE ... USING a user variable. Its answer is the type and the values of the column that is
returned, or the number of the error; for a statement that writes, what the table has then. A line of the table is a place, with
the types that PREPARE reports for its parameters, and a checksum of each answer. `parameters.data` has what MySQL 9.7 answers
(`--record`). `--against` shows the answers of a MySQL beside those that differ.

What is known to differ is in `known.data`, a place a line, with the values (`--known` writes it again). A case
in it that has MySQL's answer fails, too, so that the list gets no longer than it has to be.
"""
import struct
import sys
import zlib
from pathlib import Path
from typing import Iterator

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))

import pymysql  # noqa: E402
from cases import BESIDE, CALLS, COLUMNS, QUERIES, VALUES, WRITES, Bound  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

DATA = HERE / "parameters.data"
KNOWN = HERE / "known.data"
DATABASE = "parameters"
COM_PREPARE, COM_EXECUTE, COM_CLOSE = 22, 23, 25
UNSIGNED = 0x20

#: Types of the protocol, as answers name them. Integers of all sizes are one, and so are texts.
NAMES = {1: "int", 2: "int", 3: "int", 8: "int", 9: "int", 4: "double", 5: "double", 6: "null", 7: "datetime", 10: "date", 11: "time", 12: "datetime", 13: "year",
         16: "bit", 245: "json", 246: "decimal", 249: "text", 250: "text", 251: "text", 252: "text", 253: "text", 254: "text"}


class Reader:
    """Reads a packet from its start."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def text(self) -> bytes:
        first = self.number(1)
        return self.take(first if first < 251 else self.number({252: 2, 253: 3, 254: 8}[first]))

    def column(self) -> tuple[int, int]:
        """The type and the flags of a column's description."""
        for _ in range(6):
            self.text()
        self.take(7)
        return self.number(1), self.number(2)

    def value(self, code: int, flags: int) -> str:
        if size := {1: 1, 2: 2, 13: 2, 3: 4, 9: 4, 8: 8}.get(code):
            return str(self.number(size, not flags & UNSIGNED))
        if code in (4, 5):
            form, size, digits = ("<f", 4, 6) if code == 4 else ("<d", 8, 14)
            return f"{struct.unpack(form, self.take(size))[0]:.{digits}g}"
        data = self.text()
        if code in (7, 10, 11, 12):
            return data.hex()
        return data.decode("latin1")


class Session:
    def __init__(self, address: Address):
        self.connection = address.connect(conv={})
        self.cursor = self.connection.cursor()
        self.cursor.execute("SET time_zone = '+00:00', timestamp = 1715000000, information_schema_stats_expiry = 0")
        self.fill()

    def fill(self) -> None:
        run = self.cursor.execute
        run(f"DROP DATABASE IF EXISTS {DATABASE}")
        run(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci")
        run(f"USE {DATABASE}")
        columns = ", ".join(f"{name} {ty}" for name, (ty, *_) in COLUMNS.items())
        run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
        for number in (1, 2):
            run(f"INSERT INTO t VALUES ({number}, {', '.join(values[number] for values in COLUMNS.values())})")
        run("INSERT INTO t (id) VALUES (3)")
        for name, (ty, *_) in COLUMNS.items():
            run(f"CREATE TABLE w_{name} AS SELECT id, {name} FROM t")
            run(f"ALTER TABLE w_{name} ADD PRIMARY KEY (id), MODIFY {name} {ty}")

    def prepare(self, sql: str) -> tuple[int, list[tuple[int, int]]]:
        """The statement's number and its parameters' types and flags."""
        wire = self.connection
        wire._execute_command(COM_PREPARE, sql)
        statement, columns, count = struct.unpack("<IHH", wire._read_packet().get_all_data()[1:9])
        types = []
        for each in (count, columns):
            described = [Reader(wire._read_packet().get_all_data()).column() for _ in range(each)]
            types.append(described)
            if each:
                wire._read_packet()
        return statement, types[0]

    def execute(self, statement: int, bound: Bound, count: int) -> list[str]:
        """The type of the last column and its values; nothing for a statement without rows."""
        wire = self.connection
        nulls = sum((bound.code == 6) << n for n in range(count)).to_bytes((count + 7) // 8, "little")
        types = struct.pack("<H", bound.code) * count
        wire._execute_command(COM_EXECUTE, struct.pack("<IBI", statement, 0, 1) + nulls + b"\1" + types + bound.data * count)
        first = wire._read_packet()
        if first.is_ok_packet():
            return []
        columns = [Reader(wire._read_packet().get_all_data()).column() for _ in range(first.get_all_data()[0])]
        wire._read_packet()
        answer = [NAMES.get(columns[-1][0], "?")]
        while not (packet := wire._read_packet()).is_eof_packet():
            row = Reader(packet.get_all_data())
            row.take(1)
            missing = row.take((len(columns) + 9) // 8)
            values = ["NULL" if missing[(n + 2) // 8] >> (n + 2) % 8 & 1 else row.value(*column) for n, column in enumerate(columns)]
            answer.append(values[-1])
        return answer

    def execute_using(self, sql: str, bound: Bound, count: int) -> list[str]:
        run = self.cursor.execute
        run(f"SET @v = {bound.variable}")
        run("PREPARE s FROM '{}'".format(sql.replace("\\", "\\\\").replace("'", "''")))
        run("EXECUTE s USING " + ", ".join(["@v"] * count))
        if not self.cursor.description:
            return []
        shown = [description[1] for description in self.cursor.description]
        return [NAMES.get(shown[-1], "?"), *(self.shown(row[-1]) for row in self.cursor.fetchall())]

    @staticmethod
    def shown(value) -> str:
        if isinstance(value, bytes):
            return value.decode("latin1")
        return "NULL" if value is None else str(value)

    def types(self, sql: str) -> str:
        """The types that PREPARE reports for the parameters, or its error."""
        try:
            statement, types = self.prepare(sql)
        except pymysql.Error as error:
            return f"E{error.args[0]}"
        self.connection._execute_command(COM_CLOSE, struct.pack("<I", statement))
        return "+".join(("u" if flags & UNSIGNED and NAMES.get(code) == "int" else "") + NAMES.get(code, "?") for code, flags in types)

    def case(self, sql: str, bound: Bound, shows: str) -> str:
        """What a statement with this value answers, or what the table shows after it."""
        count = sql.count("?")
        statement = None
        try:
            if shows:
                self.cursor.execute("BEGIN")
            if bound.variable:
                answer = self.execute_using(sql, bound, count)
            else:
                statement, _ = self.prepare(sql)
                answer = self.execute(statement, bound, count)
            if shows:
                self.cursor.execute(shows)
                answer = ["/".join(map(self.shown, row)) for row in self.cursor.fetchall()]
        except pymysql.Error as error:
            return f"E{error.args[0]}"
        finally:
            if statement is not None:
                self.connection._execute_command(COM_CLOSE, struct.pack("<I", statement))
            if shows:
                self.cursor.execute("ROLLBACK")
        return "|".join(answer)


def places() -> Iterator[tuple[str, str, str]]:
    """The name of each place, its statement, and how what it has written is read."""
    for column in COLUMNS:
        for name, form in BESIDE.items():
            yield f"{column}:{name}", f"SELECT {form.format(column)} FROM t ORDER BY id", ""
        for name, form in WRITES.items():
            yield f"{column}:{name}", form.format(t=f"w_{column}", c=column), f"SELECT * FROM w_{column} ORDER BY id"
    for sql in [f"SELECT {call}" for call in CALLS] + QUERIES:
        yield sql.replace(" ", "_"), sql, ""


def checksum(answer: str) -> str:
    """An error's number, or four digits for what was answered."""
    return answer if answer.startswith("E") else f"{zlib.crc32(answer.encode()) % 65536:04x}"


def known() -> dict[str, set[str]]:
    """The places of which something is known to differ, with the values; `types`: the types that PREPARE reports."""
    lines = (line.split(" ") for line in KNOWN.read_text().splitlines() if not line.startswith("#"))
    return {place: set(values) for place, *values in lines}


def record(address: Address) -> None:
    session = Session(address)
    lines = []
    for place, sql, shows in places():
        answers = [checksum(session.case(sql, bound, shows)) for bound in VALUES.values()]
        lines.append(f"{place} {session.types(sql)} {' '.join(answers)}")
    version = address.execute("SELECT VERSION()")[0][0]
    DATA.write_text(f"# What MySQL {version} answers; written by run.py --record. Values: {' '.join(name.replace(' ', '_') for name in VALUES)}\n"
                    + "\n".join(lines) + "\n")
    print(f"{len(lines)} places, {len(lines) * len(VALUES)} cases recorded")


def recorded() -> dict[str, dict[str, str]]:
    """The answers of each place by value, and its types."""
    lines = (line.split(" ") for line in DATA.read_text().splitlines()[1:])
    return {place: {"types": types, **dict(zip(VALUES, answers))} for place, types, *answers in lines}


def answers(session: Session, sql: str, shows: str) -> Iterator[tuple[str, str, Bound | None]]:
    """The types of a place, and what it answers with each value."""
    yield "types", session.types(sql), None
    for value, bound in VALUES.items():
        yield value, session.case(sql, bound, shows), bound


def check(address: Address, report: Report, other: Session | None) -> None:
    table, excused = recorded(), known()
    session = Session(address)
    for place, sql, shows in places():
        if not report.wants(place):
            continue
        wrong, count = [], 0
        for value, seen, bound in answers(session, sql, shows):
            count += 1
            expected, name = table[place][value], value.replace(" ", "_")
            is_known = name in excused.get(place, ())
            is_same = (seen if bound is None else checksum(seen)) == expected
            if is_same and is_known:
                wrong.append(f"{value}: is known to differ, and does not")
            elif not is_same and not is_known:
                if other and bound:
                    expected = other.case(sql, bound, shows)
                wrong.append(f"{value}: {seen}, recorded {expected}")
        report.check(not wrong, place, f"{len(wrong)} of {count} are wrong\n    " + "\n    ".join(wrong))


def write_known(address: Address) -> None:
    table, session, lines = recorded(), Session(address), []
    for place, sql, shows in places():
        differ = [value.replace(" ", "_") for value, seen, bound in answers(session, sql, shows)
                  if (seen if bound is None else checksum(seen)) != table[place][value]]
        if differ:
            lines.append(" ".join([place, *differ]))
    count = sum(line.count(" ") for line in lines)
    KNOWN.write_text(f"# {count} of {len(table) * (len(VALUES) + 1)} that differ from parameters.data; written by run.py --known.\n"
                     + "".join(f"{line}\n" for line in lines))
    print(f"{count} differ in {len(lines)} places")


def main() -> None:
    options = suite_parser(__doc__)
    options.add_argument("--address", type=Address.parse, help="a server that runs already; otherwise one is started")
    options.add_argument("--record", type=Address.parse, metavar="HOST:PORT[:USER]", help="write the table anew, from MySQL")
    options.add_argument("--against", type=Address.parse, metavar="HOST:PORT[:USER]", help="a MySQL whose answers are shown beside those that differ")
    options.add_argument("--known", action="store_true", help="write what differs from the table to known.data")
    arguments = options.parse_args()
    if arguments.record:
        record(arguments.record)
        return
    if arguments.known:
        with Server("parameters") as server:
            write_known(server.address)
        return
    report = Report("parameters", arguments.filters)
    other = Session(arguments.against) if arguments.against else None
    if arguments.address:
        check(arguments.address, report, other)
    else:
        with Server("parameters") as server:
            check(server.address, report, other)
    report.close()


if __name__ == "__main__":
    main()

"""Query attributes: values by name beside COM_QUERY and COM_STMT_EXECUTE, and what is no such thing."""
import struct
from contextlib import contextmanager
from dataclasses import dataclass

from wire import CAPABILITIES, COM_EXECUTE, COM_PING, COM_PREPARE, COM_QUERY, MULTI_STATEMENTS, QUERY_ATTRIBUTES, Wire, error_code

COMPONENT = "'file://component_query_attributes'"
TINY, LONG, FLOAT, DOUBLE, NULL, TIMESTAMP, LONGLONG, DATE, TIME, DATETIME, DECIMAL, STRING = 1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 246, 254
UNSIGNED = 0x8000
COUNT_MAX = 65_535


def number(value: int) -> bytes:
    """A length-encoded integer."""
    for limit, lead, length in ((251, b"", 1), (1 << 16, b"\xfc", 2), (1 << 24, b"\xfd", 3)):
        if value < limit:
            return lead + value.to_bytes(length, "little")
    raise ValueError(value)


def text(value: bytes) -> bytes:
    return number(len(value)) + value


@dataclass
class Value:
    """One that is sent: None as `sent` is NULL."""
    name: bytes
    kind: int
    sent: bytes | None


def string(name: str, value: str | None) -> Value:
    return Value(name.encode(), STRING, None if value is None else text(value.encode()))


def block(values: list[Value], types_are_new: int = 1) -> bytes:
    """The bitmap, the types with their names, the values."""
    if not values:
        return b""
    nulls = sum(1 << at for at, value in enumerate(values) if value.sent is None)
    types = b"".join(struct.pack("<H", value.kind) + text(value.name) for value in values) if types_are_new else b""
    return nulls.to_bytes((len(values) + 7) // 8, "little") + bytes([types_are_new]) + types + b"".join(value.sent or b"" for value in values)


def query(sql: str, values: list[Value], sets: int = 1, count: int | None = None, types_are_new: int = 1) -> bytes:
    return number(len(values) if count is None else count) + number(sets) + block(values, types_are_new) + sql.encode()


def asked(*names: str) -> str:
    return "SELECT " + ", ".join(f"mysql_query_attribute_string('{name}')" for name in names)


def split(row: bytes) -> list[str | None]:
    """A row of short texts."""
    found = []
    while row:
        length, row = row[0], row[1:]
        found.append(None if length == 0xFB else row[:length].decode())
        row = row if length == 0xFB else row[length:]
    return found


class Attributes:
    """Cases of the suite."""

    @contextmanager
    def component(self):
        self.address.execute(f"INSTALL COMPONENT {COMPONENT}")
        try:
            yield Wire(self.address, capabilities=CAPABILITIES | QUERY_ATTRIBUTES | MULTI_STATEMENTS)
        finally:
            self.address.execute(f"UNINSTALL COMPONENT {COMPONENT}")

    def answers(self, wire: Wire) -> list[list[str | None]]:
        """The rows of all results of a command."""
        rows, ends = [], 0
        while True:
            packet = wire.read()
            assert packet[:1] != b"\xff", packet
            if packet[:1] == b"\xfe" and len(packet) < 9:
                ends += 1
                if ends % 2 == 0 and not packet[3] & 8:
                    return rows
            elif ends % 2:
                rows.append(split(packet))

    def ask(self, wire: Wire, sql: str, values: list[Value]) -> list[list[str | None]]:
        wire.send(bytes([COM_QUERY]) + query(sql, values))
        return self.answers(wire)

    def case_attributes_need_the_component(self):
        wire = Wire(self.address, capabilities=CAPABILITIES | QUERY_ATTRIBUTES)
        packet = wire.command(COM_QUERY, query(f"{asked('a')} FROM mysql.user", [string("a", "1")]))
        assert error_code(packet) in (1046, 1305), packet
        assert self.ask(wire, "SELECT 1", [string("a", "1")]) == [["1"]], "attributes without the component"
        wire.close()

    def case_attributes_of_queries(self):
        with self.component() as wire:
            two = [string("a", "hello"), string("n", None), string("", "nameless")]
            assert self.ask(wire, asked("a", "n", "A", "x"), two) == [["hello", None, "hello", None]]
            assert self.ask(wire, asked("é", "É", "e"), [string("É", "x")]) == [["x"] * 3], "names are compared as MySQL compares names"
            assert self.ask(wire, asked("a"), []) == [[None]], "an attribute outlives its command"
            assert self.ask(wire, asked("a"), [string("a", "1"), string("a", "2")]) == [["1"]]
            assert self.ask(wire, f"{asked('a')}; {asked('b')}", [string("a", "1"), string("b", "2")]) == [["1"], ["2"]]
            by_row = "SELECT mysql_query_attribute_string(n) FROM (SELECT 'a' AS n UNION ALL SELECT 'b') d"
            assert self.ask(wire, by_row, [string("a", "1")]) == [["1"], [None]]
            for wrong in ("", "'a', 'b'", "1"):
                packet = wire.command(COM_QUERY, query(f"SELECT mysql_query_attribute_string({wrong})", []))
                assert error_code(packet) == 1123, packet
            many = [string(f"a{n}", "1") for n in range(COUNT_MAX)]
            assert self.ask(wire, asked(f"a{COUNT_MAX - 1}"), many) == [["1"]]
            wire.close()

    def case_attributes_as_texts(self):
        day = b"\xe8\x07\x02\x1d"
        kinds = [
            (TINY, b"\xff", "-1"), (LONG, b"\xfe\xff\xff\xff", "-2"), (LONGLONG | UNSIGNED, b"\xff" * 8, str(2**64 - 1)),
            (FLOAT, struct.pack("<f", 1.1), "1.100000023841858"), (DOUBLE, struct.pack("<d", 1.1e100), "1.1e100"), (DOUBLE, struct.pack("<d", 1e15), "1e15"),
            (DECIMAL, text(b"01.50"), "1.50"), (NULL, None, None), (DATE, b"\x04" + day, "2024-02-29"), (TIMESTAMP, b"\x04" + day, "2024-02-29 00:00:00.000000"),
            (DATETIME, b"\x0b" + day + b"\x0c\x22\x38\x40\xe2\x01\x00", "2024-02-29 12:34:56.123456"), (DATETIME, b"\x00", "0000-00-00 00:00:00.000000"),
            (TIME, b"\x08\x01\x01\0\0\0\x02\x03\x04", "-26:03:04.000000"), (TIME, b"\x00", "00:00:00.000000")]
        with self.component() as wire:
            for kind, sent, shown in kinds:
                assert (got := self.ask(wire, asked("a"), [Value(b"a", kind, sent)])) == [[shown]], f"{kind}: {got}"
            wire.close()

    def case_attributes_of_prepared_statements(self):
        with self.component() as wire:
            def prepare(sql: str) -> tuple[bytes, int]:
                ok = wire.command(COM_PREPARE, sql.encode())
                assert ok[:1] == b"\x00", ok
                columns, params = struct.unpack("<HH", ok[5:9])
                for count in (params, columns):
                    for _ in range(count + 1 if count else 0):
                        wire.read()
                return ok[1:5], columns

            def execute(statement: tuple[bytes, int], values: list[Value] | None, types_are_new: int = 1):
                """The row, or the error's number; without values not even their number is sent."""
                sent = b"" if values is None else number(len(values)) + block(values, types_are_new)
                packet = wire.command(COM_EXECUTE, statement[0] + struct.pack("<BI", 0 if values is None else 8, 1) + sent)
                if packet[:1] == b"\xff":
                    return error_code(packet)
                for _ in range(packet[0] + 1):
                    wire.read()
                row = wire.read()
                assert wire.read()[:1] == b"\xfe"
                return binary_row(row, statement[1])

            a, b, par = string("a", "one"), string("b", "two"), string("", "par")
            bare = prepare(asked("a", "b"))
            assert execute(bare, None) == execute(bare, []) == [None, None]
            assert execute(bare, [a, b]) == ["one", "two"]
            assert execute(bare, None) == [None, None], "an attribute outlives its command"
            with_one = prepare(f"{asked('a', 'b')}, ?")
            assert execute(with_one, [par]) == [None, None, "par"]
            assert execute(with_one, [par, b]) == [None, "two", "par"]
            assert execute(with_one, [par], types_are_new=0) == [None, None, "par"]
            assert execute(with_one, [a, b]) == ["one", "two", "one"], "a parameter with a name is an attribute"
            assert execute(with_one, []) == 1210
            assert execute(with_one, [par, b], types_are_new=0) == 1835
            wire.close()

    def case_attributes_malformed(self):
        sql, one = asked("a"), [string("a", "1")]
        whole = query(sql, one)
        sent = [query(sql, one, sets=0), query(sql, one, sets=2), query(sql, one, types_are_new=0), query(sql, one, count=COUNT_MAX + 1),
                query(sql, one, count=1000), query(sql, [string(f"a{n}", "1") for n in range(COUNT_MAX + 1)]), b"", b"\x00",
                number(1) + b"\x01\x00\x01" + struct.pack("<H", STRING) + b"\xfe" + b"\xff" * 8 + sql.encode()]
        sent += [whole[:length] for length in range(1, len(whole) - len(sql))]
        wire = Wire(self.address, capabilities=CAPABILITIES | QUERY_ATTRIBUTES)
        for body in sent:
            # MySQL takes a text that is cut off for an empty statement.
            assert (code := error_code(wire.command(COM_QUERY, body))) in (1835, 1065), f"{code} of {body[:40]}"
            assert wire.command(COM_PING)[:1] == b"\x00", f"{body[:40]} ended the connection"
        assert self.ask(wire, "SELECT 1", one) == [["1"]]
        wire.close()

    def case_attributes_of_prepared_statements_malformed(self):
        values = [string("", "x"), string("a", "1")]
        whole = number(len(values)) + block(values)
        last = len(text(b"1"))
        sent = [whole[:length] for length in range(len(whole) - last + 1)]
        sent += [number(COUNT_MAX + 1) + block(values), number(len(values)) + block(values, types_are_new=0)]
        wire = Wire(self.address, capabilities=CAPABILITIES | QUERY_ATTRIBUTES)
        ok = wire.command(COM_PREPARE, b"SELECT ?")
        for _ in range(4):  # the definitions of a parameter and a column, each with its end
            wire.read()
        bodies = [struct.pack("<BI", flags, 1) + body for flags in (0, 8) for body in sent]
        for body in [ok[1:5] + body for body in bodies] + [ok[1:4], b""]:
            assert (code := error_code(wire.command(COM_EXECUTE, body))) == 1835, f"{code} of {body}"
            assert wire.command(COM_PING)[:1] == b"\x00", f"{body} ended the connection"
        assert wire.command(COM_EXECUTE, ok[1:5] + struct.pack("<BI", 8, 1) + whole)[:1] == b"\x01"
        for _ in range(2):
            wire.read()
        assert binary_row(wire.read(), 1) == ["x"]
        assert wire.read()[:1] == b"\xfe"
        wire.close()


def binary_row(row: bytes, columns: int) -> list[str | None]:
    """A row of short texts in the binary protocol."""
    bits, row = int.from_bytes(row[1:1 + (columns + 9) // 8], "little"), row[1 + (columns + 9) // 8:]
    found = []
    for at in range(columns):
        if bits >> (at + 2) & 1:
            found.append(None)
        else:
            found.append(row[1:1 + row[0]].decode())
            row = row[1 + row[0]:]
    return found

"""What a result's columns say of themselves: from which table and column they come, and what part they have in keys.

Drivers look columns up by their table's name, or group a row's values by it, and object mappers ask for keys.
"""
from wire import Wire

FLAGS = {1: "not null", 2: "primary", 4: "unique", 8: "key", 512: "auto", 1024: "timestamp", 4096: "no default", 8192: "on update", 16384: "in key"}
DATABASE = "columns_say"
DEFINITIONS = [
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20) NOT NULL, b INT, c INT DEFAULT 3, d INT, UNIQUE (a), KEY (b), KEY (c, d))",
    """CREATE TABLE u (a INT NOT NULL, b INT NOT NULL, c INT, d INT NOT NULL, e INT NOT NULL,
       UNIQUE (c), UNIQUE (c, d), UNIQUE (b, e), UNIQUE (a), KEY (a, b))""",
    """CREATE TABLE v (now TIMESTAMP DEFAULT CURRENT_TIMESTAMP, later TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP, fixed TIMESTAMP NOT NULL DEFAULT '2020-01-01',
       day DATETIME ON UPDATE CURRENT_TIMESTAMP, made INT GENERATED ALWAYS AS (1), full INT GENERATED ALWAYS AS (2) STORED NOT NULL, given INT NOT NULL)""",
    "CREATE VIEW renamed AS SELECT x.a AS aa, x.b + 1 AS e, x.id FROM t x",
    "CREATE VIEW above AS SELECT aa, id FROM renamed",
    "CREATE VIEW apart AS SELECT DISTINCT a AS aa, b + 1 AS e FROM t",
]
# A query, and of each of its columns: name, its own name, table, the table's own name.
NAMES = {
    "SELECT id, a AS q FROM t AS z": [("id", "id", "z", "t"), ("q", "a", "z", "t")],
    "SELECT aa, id AS i FROM renamed": [("aa", "aa", "renamed", "renamed"), ("i", "id", "renamed", "renamed")],
    "SELECT w.aa FROM renamed AS w": [("aa", "aa", "w", "renamed")],
    "SELECT * FROM above AS z": [("aa", "aa", "z", "above"), ("id", "id", "z", "above")],
    "SELECT * FROM apart": [("aa", "aa", "apart", "t"), ("e", "e", "apart", "apart")],
    "SELECT a FROM t JOIN renamed USING (id)": [("a", "a", "t", "t")],
    "SELECT i AS ii, e FROM (SELECT DISTINCT a AS aa, b + 1 AS e, id AS i FROM t) AS d": [("ii", "i", "d", "t"), ("e", "e", "d", "")],
    "WITH c AS (SELECT a AS q FROM t) SELECT * FROM c": [("q", "q", "c", "t")],
    "SELECT * FROM (SELECT 1 AS x UNION SELECT 2) AS z": [("x", "x", "z", "")],
}
KEYS = {
    "t": ["not null, primary, auto, in key", "not null, unique, no default, in key", "key, in key", "key, in key", "in key"],
    "u": ["not null, unique, key, no default, in key", "not null, primary, no default, in key", "unique, key, in key", "not null, no default, in key",
          "not null, primary, no default, in key"],
    "v": ["timestamp", "timestamp, on update", "not null", "", "", "not null, no default", "not null, no default"],
}


def string(packet: bytes, at: int) -> tuple[str, int]:
    """A text of less than 251 bytes, and where it ends."""
    end = at + 1 + packet[at]
    return packet[at + 1:end].decode(), end


def column(packet: bytes) -> tuple[tuple[str, str, str, str], str]:
    """The names and the flags of a column definition."""
    at, texts = 0, []
    for _ in ("catalog", "database", "table", "own table", "name", "own name"):
        text, at = string(packet, at)
        texts.append(text)
    _, _, table, own_table, name, own_name = texts
    flags = int.from_bytes(packet[at + 8:at + 10], "little")
    return (name, own_name, table, own_table), ", ".join(word for bit, word in FLAGS.items() if flags & bit)


class Columns:
    """Cases of `Suite`."""

    def columns_of(self, wire: Wire, query: str) -> list[tuple[tuple[str, str, str, str], str]]:
        packets = wire.query(query)
        return [column(packet) for packet in packets[1:1 + packets[0][0]]]

    def case_columns_say_where_they_come_from(self):
        self.address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *DEFINITIONS)
        wire = Wire(self.address)
        wire.query(f"USE {DATABASE}")
        for query, expected in NAMES.items():
            assert (names := [names for names, _ in self.columns_of(wire, query)]) == expected, f"{query}: {names}"
        for table, expected in KEYS.items():
            assert (flags := [flags for _, flags in self.columns_of(wire, f"SELECT * FROM {table}")]) == expected, f"{table}: {flags}"
        wire.close()
        self.address.execute(f"DROP DATABASE {DATABASE}")

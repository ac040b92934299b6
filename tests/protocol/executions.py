"""What executions of prepared statements count: for each kind of statement the figures of MySQL 9.7."""
import struct

from wire import COM_CLOSE, COM_EXECUTE, COM_PREPARE, COM_QUERY, Wire

EXECUTIONS = 3
NAMES = ("Questions", "Com_stmt_prepare", "Com_stmt_execute", "Com_stmt_close", "Com_select", "Com_insert",
         "Com_update", "Com_delete", "Com_replace", "Com_insert_select", "Com_update_multi", "Com_set_option", "Com_begin", "Com_commit", "Com_create_table",
         "Com_drop_table", "Com_show_tables", "Com_do", "Sort_rows", "Sort_scan", "Select_scan", "Select_full_join")
DIGEST = ("COUNT_STAR", "SUM_ROWS_EXAMINED", "SUM_ROWS_SENT", "SUM_ROWS_AFFECTED", "SUM_ERRORS", "SUM_SORT_ROWS", "SUM_SELECT_SCAN", "SUM_NO_INDEX_USED")
INSTANCE = ("COUNT_EXECUTE", "SUM_ROWS_EXAMINED", "SUM_ROWS_SENT", "SUM_ROWS_AFFECTED")

# A statement, what its executions add to the session's status beside EACH (what is not named stays), to the statement's digest and to its instance.
EACH = {"Questions": EXECUTIONS + 1, "Com_stmt_prepare": 1, "Com_stmt_execute": EXECUTIONS, "Com_stmt_close": 1}
STATEMENTS = [
    ("SELECT v FROM t WHERE id = ?", {"Com_select": 3}, (3, 3, 3, 0, 0, 0, 0, 0), (3, 3, 3, 0)),
    ("SELECT v FROM t WHERE v > ? ORDER BY w", {"Com_select": 3, "Sort_rows": 6, "Sort_scan": 3, "Select_scan": 3}, (3, 18, 6, 0, 0, 6, 3, 3), (3, 18, 6, 0)),
    ("SELECT COUNT(*), MAX(v) FROM t", {"Com_select": 3, "Select_scan": 3}, (3, 12, 3, 0, 0, 0, 3, 3), (3, 12, 3, 0)),
    ("SELECT a.v FROM t a JOIN t b ON a.v = b.w", {"Com_select": 3, "Select_scan": 3, "Select_full_join": 3}, (3, 24, 12, 0, 0, 0, 3, 3), (3, 24, 12, 0)),
    ("INSERT INTO u (v) VALUES (?), (?)", {"Com_insert": 3}, (3, 0, 0, 6, 0, 0, 0, 0), (3, 0, 0, 6)),
    ("INSERT INTO u (v) SELECT v FROM t", {"Com_insert_select": 3, "Select_scan": 3}, (3, 12, 0, 12, 0, 0, 3, 3), (3, 12, 0, 12)),
    ("UPDATE t SET v = v + ? WHERE id < 3", {"Com_update": 3}, (3, 6, 0, 6, 0, 0, 0, 0), (3, 6, 0, 6)),
    ("UPDATE t, u SET t.w = t.w WHERE t.id = u.id", {"Com_update_multi": 3, "Select_scan": 3}, (3, 24, 0, 0, 0, 0, 3, 3), (3, 24, 0, 0)),
    ("REPLACE INTO t VALUES (4, ?, 4)", {"Com_replace": 3}, (3, 0, 0, 4, 0, 0, 0, 0), (3, 0, 0, 4)),
    ("DELETE FROM u WHERE id = ?", {"Com_delete": 3}, (3, 1, 0, 1, 0, 0, 0, 0), (3, 1, 0, 1)),
    ("COMMIT", {"Com_commit": 3}, (3, 0, 0, 0, 0, 0, 0, 0), (3, 0, 0, 0)),
    ("DROP TABLE IF EXISTS n", {"Com_drop_table": 3}, (3, 0, 0, 0, 0, 0, 0, 0), (3, 0, 0, 0)),
    ("TRUNCATE u", {}, (3, 0, 0, 0, 0, 0, 0, 0), (3, 0, 0, 0)),
]


def counted(wire: Wire) -> dict[str, int]:
    wire.send(bytes([COM_QUERY]) + b"SHOW SESSION STATUS")
    for _ in range(4):
        wire.read()
    found = {}
    while (row := wire.read())[:1] != b"\xfe" or len(row) > 8:
        name, rest = row[1:1 + row[0]].decode(), row[1 + row[0]:]
        if name in NAMES:
            found[name] = int(rest[1:])
    return found


def answer(wire: Wire, packet: bytes) -> None:
    """Reads what is left of an answer."""
    assert packet[:1] != b"\xff", packet
    ends = 0 if packet[:1] != b"\x00" else 2
    while ends < 2:
        packet = wire.read()
        assert packet[:1] != b"\xff", packet
        ends += packet[:1] == b"\xfe" and len(packet) < 9


class Executions:
    """Cases of the suite."""

    def figures(self, wire: Wire, sql: str) -> tuple[dict[str, int], tuple[int, ...], tuple[int, ...]]:
        """What three executions of a statement add."""
        watcher = self.address.connect()
        with watcher.cursor() as cursor:
            cursor.execute("TRUNCATE performance_schema.events_statements_summary_by_digest")
            before = counted(wire)
            ok = wire.command(COM_PREPARE, sql.encode())
            assert ok[:1] == b"\x00", f"{sql}: {ok}"
            columns, params = struct.unpack("<HH", ok[5:9])
            for count in (params, columns):
                for _ in range(count + 1 if count else 0):
                    wire.read()
            for _ in range(EXECUTIONS):
                values = b"\x00" * ((params + 7) // 8) + b"\x01" + b"\x08\x00" * params + struct.pack("<q", 2) * params if params else b""
                answer(wire, wire.command(COM_EXECUTE, ok[1:5] + struct.pack("<BI", 0, 1) + values))
            cursor.execute(f"SELECT {', '.join(INSTANCE)} FROM performance_schema.prepared_statements_instances WHERE SQL_TEXT = %s", sql)
            instance = tuple(int(value) for value in cursor.fetchone() or ())
            wire.send(bytes([COM_CLOSE]) + ok[1:5])
            after = counted(wire)
            cursor.execute(f"SELECT {', '.join(DIGEST)} FROM performance_schema.events_statements_summary_by_digest "
                           "WHERE SCHEMA_NAME = 'executions' AND DIGEST_TEXT <> 'SHOW SESSION STATUS'")
            found = [tuple(int(value) for value in row) for row in cursor.fetchall()]
        watcher.close()
        added = {name: after[name] - before[name] for name in NAMES if after[name] != before[name]}
        # PREPARE has a digest of its own.
        digest, = [row for row in found if row[0] == EXECUTIONS]
        return added, digest, instance

    def case_executions_are_counted(self):
        self.address.execute(
            "DROP DATABASE IF EXISTS executions", "CREATE DATABASE executions", "CREATE TABLE executions.t (id INT PRIMARY KEY, v INT, w INT)",
            "CREATE TABLE executions.u (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
            "INSERT INTO executions.t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4)")
        wire = Wire(self.address)
        wire.query("USE executions")
        for sql, added, digest, instance in STATEMENTS:
            found, expected = self.figures(wire, sql), ({**EACH, **added}, digest, instance)
            assert found == expected, f"{sql}: {found}, expected {expected}"
        wire.close()
        self.address.execute("DROP DATABASE executions")

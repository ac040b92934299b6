"""What OK packets say of changes of the session (CLIENT_SESSION_TRACK), byte by byte."""
import struct

from attributes import number, text
from wire import CAPABILITIES, COM_INIT_DB, COM_QUERY, COM_RESET_CONNECTION, MULTI_STATEMENTS, WITH_DB, Wire

SESSION_TRACK = 1 << 23
CHANGED = 0x4000
ASKING = CAPABILITIES | MULTI_STATEMENTS | SESSION_TRACK


def variable(name: str, value: str) -> bytes:
    return b"\x00" + text(text(name.encode()) + text(value.encode()))


def schema(name: str) -> bytes:
    return b"\x01" + text(text(name.encode()))


STATE = b"\x02" + text(b"1")
DEPRECATE_EOF = 1 << 24
IN_TRANS, AUTOCOMMIT, NO_INDEX_USED, DB_DROPPED, READ_ONLY = 1, 2, 0x20, 0x100, 0x2000


def state(letters: str) -> bytes:
    """The state of the transaction."""
    return b"\x05" + text(text(letters.encode()))


def kind(statements: str) -> bytes:
    """Its characteristics."""
    return b"\x04" + text(text(statements.encode()))


def ok(changes: bytes | None, status: int = 2, warnings: int = 0, info: bytes = b"") -> bytes:
    """An OK packet of a statement that changed no rows; None where nothing is told."""
    if changes is None:
        return b"\0\0\0" + struct.pack("<HH", status, warnings) + (text(info) if info else b"")
    return b"\0\0\0" + struct.pack("<HH", status | CHANGED, warnings) + text(info) + number(len(changes)) + changes


class Tracking:
    """Cases of the suite."""

    def tells(self, wire: Wire, sql: str, changes: bytes | None, **others) -> None:
        packet = wire.command(COM_QUERY, sql.encode())
        assert packet == ok(changes, **others), f"{sql}: {packet} in place of {ok(changes, **others)}"

    def case_tracking_of_variables(self):
        wire = Wire(self.address, capabilities=ASKING)
        client = [variable(f"character_set_{name}", "latin1") for name in ("client", "connection", "results")]
        self.tells(wire, "SET NAMES latin1", b"".join(client))
        self.tells(wire, "SET autocommit = 0", variable("autocommit", "OFF"), status=0)
        self.tells(wire, "SET time_zone = '+01:00', autocommit = 1", variable("autocommit", "ON") + variable("time_zone", "+01:00"))
        self.tells(wire, "SET autocommit = 1", variable("autocommit", "ON"))
        self.tells(wire, "SET character_set_results = NULL", variable("character_set_results", ""))
        self.tells(wire, "SET sql_mode = ''", None)
        self.tells(wire, "SET @a = 1", None)
        self.tells(wire, "SET session_track_system_variables = 'sql_mode, FOREIGN_KEY_CHECKS'", None)
        self.tells(wire, "SET sql_mode = 'ANSI_QUOTES', foreign_key_checks = 0", variable("FOREIGN_KEY_CHECKS", "OFF") + variable("sql_mode", "ANSI_QUOTES"))
        self.tells(wire, "SET session_track_system_variables = ''", None)
        self.tells(wire, "SET autocommit = 1", None)
        self.tells(wire, "SET session_track_system_variables = 'autocommit,nonsense'", None, warnings=1)
        answer = wire.command(COM_QUERY, b"SET session_track_system_variables = 'AutoCommit,autocommit'")
        assert answer == b"\xff\xd2\x0b#HY000Duplicate entry 'autocommit'.", answer
        self.tells(wire, "SET autocommit = 1", variable("autocommit", "ON"))
        self.tells(wire, "SET session_track_system_variables = '*'", variable("session_track_system_variables", "*"))
        wire.close()

    def case_tracking_of_the_database(self):
        wire = Wire(self.address, capabilities=ASKING)
        self.address.execute("DROP DATABASE IF EXISTS tracked", "CREATE DATABASE tracked")
        for _ in range(2):
            self.tells(wire, "USE tracked", schema("tracked"))
            assert wire.command(COM_INIT_DB, b"tracked") == ok(schema("tracked"))
        assert wire.command(COM_RESET_CONNECTION) == ok(None)
        self.tells(wire, "SET session_track_schema = 0", None)
        self.tells(wire, "USE tracked", None)
        self.tells(wire, "SET session_track_schema = 1", None)
        packet = wire.command(COM_QUERY, b"DROP DATABASE tracked")
        assert packet[3] == 2 and packet[4] & 0x40 and packet[5:] == b"\0\0\0" + text(schema("")), packet
        wire.close()

    def case_tracking_from_the_login_on(self):
        wire = Wire(self.address, login=False)
        login = wire.login_packet(ASKING | WITH_DB)
        wire.send(login.replace(b"mysql_native_password\0", b"mysql\0mysql_native_password\0"), 1)
        answer = wire.read()
        while answer[:1] in (b"\x01", b"\xfe"):
            if answer[:1] == b"\xfe":
                wire.send(b"", wire.sequence + 1)
            answer = wire.read()
        assert answer == ok(schema("mysql")), answer
        wire.close()

    def case_tracking_of_state(self):
        wire = Wire(self.address, capabilities=ASKING)
        self.address.execute("DROP DATABASE IF EXISTS tracked", "CREATE DATABASE tracked")
        self.tells(wire, "SET session_track_state_change = 1", None)
        self.tells(wire, "USE tracked", schema("tracked") + STATE)
        self.tells(wire, "SET @a = 1", STATE)
        self.tells(wire, "SET sql_mode = ''", STATE)
        self.tells(wire, "SET autocommit = 1", variable("autocommit", "ON") + STATE)
        self.tells(wire, "SET SESSION TRANSACTION READ WRITE", STATE)
        self.tells(wire, "SET TRANSACTION READ WRITE", None)
        self.tells(wire, "CREATE TEMPORARY TABLE t (a INT)", STATE)
        self.tells(wire, "ALTER TABLE t ADD b INT", STATE, info=b"Records: 0  Duplicates: 0  Warnings: 0")
        self.tells(wire, "DROP TEMPORARY TABLE t", STATE)
        self.tells(wire, "PREPARE s FROM 'DO 1'", STATE, info=b"Statement prepared")
        self.tells(wire, "EXECUTE s", None)
        self.tells(wire, "DEALLOCATE PREPARE s", STATE)
        self.tells(wire, "DO 1", None)
        self.tells(wire, "SET session_track_state_change = 0", None)
        self.tells(wire, "SET @a = 1", None)
        wire.close()
        self.address.execute("DROP DATABASE tracked")

    def case_tracking_of_transactions(self):
        """Each statement with what its last packet tells of the transaction: rows end with an OK packet, too."""
        self.address.execute("DROP DATABASE IF EXISTS tracked", "CREATE DATABASE tracked", "CREATE TABLE tracked.t (a INT PRIMARY KEY, b INT)")
        wire = Wire(self.address, capabilities=ASKING | DEPRECATE_EOF)
        wire.query("USE tracked")
        wire.query("SET session_track_transaction_info = 'STATE'")
        for sql, letters in (
            ("SELECT * FROM t WHERE a = 1", None), ("BEGIN", "T_______"), ("SELECT 1", "T_____S_"), ("SELECT * FROM t WHERE a = 1", "T_R___S_"),
            ("SELECT * FROM t WHERE a = 2", None), ("INSERT INTO t VALUES (1, 1)", "T_R_W_S_"), ("COMMIT", "________"), ("COMMIT", None),
            ("BEGIN", "T_______"), ("UPDATE t SET b = b + 1 WHERE a = 1", "T___W___"), ("SELECT a FROM t WHERE a = 1 LIMIT 1", "T_R_WsS_"),
            ("COMMIT AND CHAIN", "T_______"), ("DO RAND()", "T____s__"), ("CREATE TABLE u (a INT)", "________"),
            ("BEGIN", "T_______"), ("SET @x = (SELECT b FROM t WHERE a = 1)", "T_R_____"), ("DELETE FROM t WHERE a = 77", "T_R_W___"),
            ("ROLLBACK", "________"), ("BEGIN", "T_______"), ("SELECT * FROM t WHERE a = 1 FOR UPDATE", "T___W_S_"), ("ROLLBACK", "________"),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT", "T_R_____"), ("SELECT @@sql_mode", "T_R__sS_"), ("ROLLBACK", "________"),
            ("SET autocommit = 0", None), ("SELECT 1", None), ("SELECT * FROM t WHERE a = 1", "I_R___S_"), ("COMMIT", "________"),
            ("LOCK TABLES t WRITE", "I___W__L"), ("COMMIT", "_______L"), ("UNLOCK TABLES", "________"), ("SET autocommit = 1", None),
            ("LOCK TABLES t READ", "_______L"), ("SELECT * FROM t WHERE a = 1", None), ("BEGIN", "T_______"), ("ROLLBACK", "________"),
        ):
            packet = self.last(wire, sql)
            tells = b"" if letters is None else state(letters)
            assert packet.endswith(tells) and (tells or b"\x05\x09\x08" not in packet), f"{sql}: {packet}"
        wire.close()

    def case_tracking_of_transactions_by_kind(self):
        self.address.execute("DROP DATABASE IF EXISTS tracked", "CREATE DATABASE tracked", "CREATE TABLE tracked.t (a INT PRIMARY KEY)")
        wire = Wire(self.address, capabilities=ASKING)
        wire.query("USE tracked")
        begun, over = state("T_______"), state("________") + kind("")
        serializable = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;"
        self.tells(wire, "SET session_track_transaction_info = 'CHARACTERISTICS'", kind(""))
        self.tells(wire, "BEGIN", begun + kind("START TRANSACTION;"), status=AUTOCOMMIT | IN_TRANS)
        self.tells(wire, "COMMIT", over)
        self.tells(wire, "START TRANSACTION READ WRITE", begun + kind("START TRANSACTION READ WRITE;"), status=AUTOCOMMIT | IN_TRANS)
        self.tells(wire, "START TRANSACTION", kind("START TRANSACTION READ WRITE;"), status=AUTOCOMMIT | IN_TRANS)
        self.tells(wire, "COMMIT", over)
        self.tells(wire, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", kind(serializable))
        self.tells(wire, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", None)
        self.tells(wire, "SET TRANSACTION READ ONLY", kind(f"{serializable} SET TRANSACTION READ ONLY;"))
        self.tells(wire, "DO 1", None)
        both = f"{serializable} START TRANSACTION READ ONLY;"
        self.tells(wire, "BEGIN", begun + kind(both), status=AUTOCOMMIT | IN_TRANS | READ_ONLY)
        self.tells(wire, "COMMIT AND CHAIN", kind(both), status=AUTOCOMMIT | IN_TRANS | READ_ONLY)
        self.tells(wire, "COMMIT", over)
        self.tells(wire, "SET TRANSACTION READ ONLY", kind("SET TRANSACTION READ ONLY;"))
        self.tells(wire, "CREATE TABLE u (a INT)", kind(""))
        self.tells(wire, "SET TRANSACTION READ WRITE", kind("SET TRANSACTION READ WRITE;"))
        self.tells(wire, "ROLLBACK", kind(""))
        self.tells(wire, "SET SESSION TRANSACTION READ ONLY", None)
        self.tells(wire, "BEGIN", begun + kind("START TRANSACTION;"), status=AUTOCOMMIT | IN_TRANS | READ_ONLY)
        wire.query("SET session_track_transaction_info = 'STATE'")
        self.tells(wire, "ROLLBACK", state("________"))
        wire.close()

    def case_tracking_waits_for_an_ok_packet(self):
        """A client that does not know the other form of the end of rows is told with the next statement."""
        self.address.execute("DROP DATABASE IF EXISTS tracked", "CREATE DATABASE tracked", "CREATE TABLE tracked.t (a INT PRIMARY KEY)")
        wire = Wire(self.address, capabilities=ASKING)
        wire.query("USE tracked")
        wire.query("SET session_track_transaction_info = 'STATE'")
        self.tells(wire, "BEGIN", state("T_______"), status=AUTOCOMMIT | IN_TRANS)
        wire.query("SELECT * FROM t WHERE a = 1")
        self.tells(wire, "DO 1", state("T_R___S_"), status=AUTOCOMMIT | IN_TRANS)
        wire.close()

    def case_tracking_of_statements(self):
        """Of all variables, the number of the statement is one that each statement changes."""
        wire = Wire(self.address, capabilities=ASKING | DEPRECATE_EOF)
        wire.query("SET session_track_system_variables = 'statement_id'")
        for sql in ("SELECT 1", "DO 1"):
            packet = self.last(wire, sql)
            assert b"\x0cstatement_id" in packet, packet
        wire.close()

    def case_flags_of_statements(self):
        wire = Wire(self.address, capabilities=ASKING | DEPRECATE_EOF)
        self.address.execute("DROP DATABASE IF EXISTS tracked", "CREATE DATABASE tracked", "CREATE TABLE tracked.t (a INT PRIMARY KEY, b INT, c INT, KEY (b))")
        self.address.execute("INSERT INTO tracked.t VALUES (1, 1, 1), (2, 2, 2)")
        wire.query("USE tracked")
        for sql, whole in (
            ("SELECT * FROM t", True), ("SELECT * FROM t WHERE a = 1", False), ("SELECT * FROM t WHERE c = 1", True), ("SELECT b FROM t", False),
            ("SELECT * FROM t WHERE b > 1", False), ("UPDATE t SET c = 3", True), ("UPDATE t SET c = 4 WHERE a = 1", False), ("DO 1", False),
            ("DELETE FROM t WHERE c = 9", True), ("DELETE FROM t WHERE a = 9", False), ("SELECT 1", False), ("INSERT INTO t SELECT a + 5, b, c FROM t", True),
        ):
            flags = self.flags(self.last(wire, sql))
            assert bool(flags & NO_INDEX_USED) == whole, f"{sql}: {flags:x}"
        for sql, dropped in (("CREATE DATABASE IF NOT EXISTS tracked", False), ("DROP DATABASE tracked", True), ("DROP DATABASE IF EXISTS tracked", True), ("DO 1", False)):
            flags = self.flags(self.last(wire, sql))
            assert bool(flags & DB_DROPPED) == dropped, f"{sql}: {flags:x}"
        wire.close()

    def last(self, wire: Wire, sql: str) -> bytes:
        """The packet that ends the answer to a statement, whose rows end with an OK packet."""
        packet = wire.command(COM_QUERY, sql.encode())
        assert packet[:1] != b"\xff", f"{sql}: {packet}"
        if packet[:1] != b"\x00":
            for _ in range(packet[0]):
                wire.read()
            while packet[:1] != b"\xfe":
                packet = wire.read()
        return packet

    def flags(self, packet: bytes) -> int:
        """The status flags of an OK packet of fewer than 251 rows."""
        return int.from_bytes(packet[3:5], "little")

    def case_tracking_is_asked_for(self):
        """Clients without the flag are told nothing."""
        wire = Wire(self.address)
        self.tells(wire, "SET session_track_state_change = 1, autocommit = 1", None)
        self.tells(wire, "USE mysql", None)
        wire.close()

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

    def case_tracking_is_asked_for(self):
        """Clients without the flag are told nothing."""
        wire = Wire(self.address)
        self.tells(wire, "SET session_track_state_change = 1, autocommit = 1", None)
        self.tells(wire, "USE mysql", None)
        wire.close()

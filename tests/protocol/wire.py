"""A connection of which every byte is written by hand."""
import socket
import struct

from support.address import Address

COM_QUIT, COM_INIT_DB, COM_QUERY, COM_FIELD_LIST, COM_STATISTICS, COM_PING = 1, 2, 3, 4, 9, 14
COM_CHANGE_USER, COM_PREPARE, COM_EXECUTE, COM_LONG_DATA, COM_CLOSE, COM_RESET_STMT = 17, 22, 23, 24, 25, 26
COM_SET_OPTION, COM_FETCH, COM_RESET_CONNECTION = 27, 28, 31

PROTOCOL_41, SECURE, PLUGIN_AUTH, WITH_DB, MULTI_STATEMENTS, MULTI_RESULTS, TRANSACTIONS = 0x200, 0x8000, 0x80000, 8, 0x10000, 0x20000, 0x2000
QUERY_ATTRIBUTES = 1 << 27
CAPABILITIES = PROTOCOL_41 | SECURE | PLUGIN_AUTH | TRANSACTIONS | MULTI_RESULTS | 1


class Closed(Exception):
    pass


class Wire:
    """A connection of which every byte is ours."""

    def __init__(self, address: Address, login: bool = True, capabilities: int = CAPABILITIES):
        self.address = address
        self.socket = socket.create_connection((address.host, address.port), timeout=20)
        self.greeting = self.read()
        if login:
            self.send(self.login_packet(capabilities), 1)
            answer = self.read()
            while answer[:1] in (b"\x01", b"\xfe"):  # more of the authentication: an empty password answers with nothing
                if answer[:1] == b"\xfe":
                    self.send(b"", self.sequence + 1)
                answer = self.read()
            assert answer[:1] == b"\x00", answer

    def login_packet(self, capabilities: int = CAPABILITIES) -> bytes:
        return (struct.pack("<IIB23x", capabilities, 1 << 24, 45) + self.address.user.encode() + b"\0" + b"\0" + b"mysql_native_password\0")

    def send(self, payload: bytes, sequence: int = 0) -> None:
        self.socket.sendall(struct.pack("<I", len(payload))[:3] + bytes([sequence % 256]) + payload)

    def raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                part = self.socket.recv(count - len(data))
            except ConnectionResetError:
                part = b""
            if not part:
                raise Closed
            data += part
        return data

    def read(self) -> bytes:
        header = self.exactly(4)
        self.sequence = header[3]
        return self.exactly(int.from_bytes(header[:3], "little"))

    def command(self, code: int, body: bytes = b"") -> bytes:
        self.send(bytes([code]) + body)
        return self.read()

    def query(self, sql: str) -> list[bytes]:
        """All packets of the answer to one statement."""
        packets = [self.command(COM_QUERY, sql.encode())]
        if packets[0][:1] in (b"\x00", b"\xff"):
            return packets
        ends = 0
        while ends < 2:
            packet = self.read()
            packets.append(packet)
            if packet[:1] == b"\xff":
                break
            ends += packet[:1] == b"\xfe" and len(packet) < 9
        return packets

    def is_closed(self, within_s: float = 10) -> bool:
        """Closed, perhaps after an error packet."""
        self.socket.settimeout(within_s)
        try:
            while True:
                packet = self.read()
                if packet[:1] != b"\xff":
                    return False
        except (Closed, OSError) as error:
            return not isinstance(error, TimeoutError)

    def close(self) -> None:
        self.socket.close()


def error_code(packet: bytes) -> int:
    assert packet[:1] == b"\xff", f"not an error: {packet[:40]}"
    return int.from_bytes(packet[1:3], "little")

"""A login written by hand, packet by packet, and what the server answers to each."""
import hashlib
import os
import socket
import struct

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

from support.address import Address

SHA2, NATIVE = "caching_sha2_password", "mysql_native_password"
CAPABILITIES = 0x1 | 0x200 | 0x2000 | 0x8000 | 0x80000


def sha(name: str, *parts: bytes) -> bytes:
    return hashlib.new(name, b"".join(parts)).digest()


def xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other))


def proof(plugin: str, password: str, nonce: bytes) -> bytes:
    """What a client proves a password with."""
    if not password:
        return b""
    text = password.encode()
    if plugin == NATIVE:
        return xor(sha("sha1", text), sha("sha1", nonce, sha("sha1", sha("sha1", text))))
    return xor(sha("sha256", text), sha("sha256", sha("sha256", sha("sha256", text)), nonce))


class Login:
    """One attempt. `packets` says what the server sent, `error` what it ended with: (number, text), or None."""

    def __init__(self, address: Address, user: bytes | str, password: str, plugin: str = SHA2, source: str = ""):
        self.packets, self.error, self.key = [], None, None
        self.socket = socket.create_connection((address.host, address.port), 30, (source, 0) if source else None)
        try:
            greeting = self.read()
            if greeting[:1] == b"\xff":
                self.end(greeting)
                return
            rest = greeting[1:].split(b"\0", 1)[1]
            self.nonce = rest[4:12] + rest[31:43]
            name = user if isinstance(user, bytes) else user.encode()
            own = proof(plugin, password, self.nonce)
            self.send(struct.pack("<IIB23x", CAPABILITIES, 1 << 24, 45) + name + b"\0" + bytes([len(own)]) + own + plugin.encode() + b"\0")
            self.converse(password)
        except (ConnectionError, TimeoutError) as error:
            self.packets.append("closed")
            self.error = (0, str(error))
        finally:
            self.socket.close()

    def converse(self, password: str) -> None:
        while True:
            packet = self.read()
            if packet[:1] == b"\x00":
                self.packets.append("ok")
                return
            if packet[:1] == b"\xff":
                self.end(packet)
                return
            if packet[:1] == b"\xfe":
                plugin, _, nonce = packet[1:].partition(b"\0")
                self.packets.append(f"switch to {plugin.decode()}")
                self.nonce = nonce[:20]
                self.send(proof(plugin.decode(), password, self.nonce))
            elif packet == b"\x01\x03":
                self.packets.append("quick")
            elif packet == b"\x01\x04":
                self.packets.append("in full")
                self.send(b"\x02")
                self.packets.append("key")
                key = serialization.load_pem_public_key(self.read()[1:])
                text = password.encode() + b"\0"
                masked = xor(text, self.nonce * (len(text) // 20 + 1))
                self.send(key.encrypt(masked, padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)))
            else:
                raise AssertionError(packet)

    def end(self, packet: bytes) -> None:
        number = int.from_bytes(packet[1:3], "little")
        text = packet[3:].decode(errors="replace")
        self.error = (number, text[6:] if text[:1] == "#" else text)
        self.packets.append(f"error {number}")

    def send(self, payload: bytes) -> None:
        self.sequence = (self.sequence + 1) % 256
        self.socket.sendall(len(payload).to_bytes(3, "little") + bytes([self.sequence]) + payload)

    def read(self) -> bytes:
        header = self.exactly(4)
        self.sequence = header[3]
        return self.exactly(int.from_bytes(header[:3], "little"))

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise ConnectionError("closed")
            data += part
        return data


def salted(rounds: str) -> str:
    """A stored password that nobody knows, of so many thousand rounds, as three hexadecimal digits."""
    return f"$A${rounds}$" + "a" * 20 + "." * 43


def random_password() -> str:
    return os.urandom(8).hex()

"""HTTP by hand, so that what a careless or hostile client sends can be sent, too."""
import base64
import json
import socket
import time
from dataclasses import dataclass

from support.patience import is_within


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def connect(address: tuple[str, int], timeout_s: float = 10.0) -> socket.socket:
    return socket.create_connection(address, timeout=timeout_s)


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def request_text(path: str, method: str = "GET", host: str | None = "localhost", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1"] + ([f"Host: {host}"] if host is not None else [])
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def read_answer(connection: socket.socket) -> Answer:
    """The whole answer: the server closes behind it."""
    data = b""
    while part := connection.recv(65536):
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    if not head:
        raise ConnectionError("no answer")
    first, *rest = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in rest)
    return Answer(int(first.split()[1]), {name.lower(): value for name, value in headers.items()}, body)


def send(address: tuple[str, int], request: bytes, timeout_s: float = 10.0) -> Answer:
    with connect(address, timeout_s) as connection:
        connection.sendall(request)
        return read_answer(connection)


def get(address: tuple[str, int], path: str, method: str = "GET", host: str | None = "localhost", **headers: str) -> Answer:
    return send(address, request_text(path, method, host, **headers))


class Events:
    """A viewer: the events of the page, one after the other."""

    def __init__(self, address: tuple[str, int]):
        self.connection = connect(address, timeout_s=20)
        self.connection.sendall(request_text("/events"))
        self.data = b""
        self.received = 0
        self.head = self._until(b"\r\n\r\n").decode()

    def _until(self, end: bytes) -> bytes:
        while end not in self.data:
            part = self.connection.recv(65536)
            if not part:
                raise ConnectionError("the events have ended")
            self.received += len(part)
            self.data += part
        found, _, self.data = self.data.partition(end)
        return found

    def next(self) -> tuple[str, object]:
        """The next event's name and what it carries."""
        while True:
            lines = self._until(b"\n\n").decode().splitlines()
            fields = dict(line.split(": ", 1) for line in lines if ": " in line)
            if "event" in fields:
                return fields["event"], json.loads(fields["data"])

    def until(self, wanted, within_s: float) -> tuple[dict, float]:
        """The first sample that is as `wanted` says, and after how long it came."""
        started = time.monotonic()
        while (passed := time.monotonic() - started) < within_s or is_within(passed, within_s):
            name, sample = self.next()
            if name == "sample" and wanted(sample):
                return sample, time.monotonic() - started
        raise AssertionError(f"no such sample within {within_s} s")

    def close(self) -> None:
        self.connection.close()

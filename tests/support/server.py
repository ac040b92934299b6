"""A Tidemark server under test: the real binary, a data directory of its own, a free port.

The server is always this suite's own child process: it is stopped, interrupted or killed by its process id alone.
"""
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pymysql

from .address import Address

ROOT = Path(__file__).resolve().parents[2]


def binary() -> Path:
    """The release binary, or the one `TIDEMARK_BINARY` names."""
    return Path(os.environ.get("TIDEMARK_BINARY", ROOT / "target/release/tidemark"))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def scratch(prefix: str) -> tempfile.TemporaryDirectory:
    """A directory on a real disk (not a memory file system, where durability and O_DIRECT mean nothing)."""
    base = Path(os.environ.get("TIDEMARK_SCRATCH", ROOT / "target/scratch"))
    base.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix=prefix + "-", dir=base)


class ServerFailed(Exception):
    pass


class Server:
    """`with Server("crash") as server:` starts it and stops it; `kill` and `start` again test recovery."""

    def __init__(self, name: str, *arguments: str, datadir: Path | None = None):
        self._home = scratch(name)
        self.home = Path(self._home.name)
        self.datadir = datadir or self.home / "data"
        self.output = self.home / "server.log"
        self.arguments = list(arguments)
        self.port = free_port()
        self.process: subprocess.Popen | None = None

    @property
    def address(self) -> Address:
        return Address("127.0.0.1", self.port)

    def start(self, *extra: str, wait_s: float = 120) -> "Server":
        command = [binary(), "serve", f"--datadir={self.datadir}", f"--port={self.port}",
                   f"--socket={self.home / 'tidemark.sock'}", *self.arguments, *extra]
        with open(self.output, "ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=self.home)
        deadline = time.monotonic() + wait_s
        while True:
            if self.process.poll() is not None:
                raise ServerFailed(f"the server ended with {self.process.returncode} at start:\n{self.log_tail()}")
            try:
                self.address.connect(connect_timeout=5).close()
                return self
            except pymysql.err.OperationalError as error:
                if error.args[0] != 2003:  # anything but "cannot connect" is an answer, and a wrong one
                    raise
            if time.monotonic() > deadline:
                raise ServerFailed(f"the server does not answer after {wait_s} s:\n{self.log_tail()}")
            time.sleep(0.05)

    def start_of_any_kind(self, wait_s: float = 120) -> None:
        """Starts it and waits until it says that it is ready, whether or not a client may connect with what it was told to be."""
        said = len(self.output.read_text(errors="replace"))
        command = [binary(), "serve", f"--datadir={self.datadir}", f"--port={self.port}", f"--socket={self.home / 'tidemark.sock'}", *self.arguments]
        with open(self.output, "ab") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=self.home)
        deadline = time.monotonic() + wait_s
        while "is ready" not in self.output.read_text(errors="replace")[said:]:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(f"the server does not start:\n{self.log_tail()}")
            time.sleep(0.05)

    def stop(self, how: int = signal.SIGTERM, wait_s: float = 120) -> int:
        """Asks the server to end and returns its exit status."""
        self.process.send_signal(how)
        try:
            return self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise ServerFailed(f"the server did not stop within {wait_s} s:\n{self.log_tail()}") from None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def memory_bytes(self, field: str = "VmRSS") -> int:
        """`VmRSS` is what is resident now, `VmHWM` the most there ever was."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE).group(1)) * 1024

    def check(self, datadir: Path | None = None) -> subprocess.CompletedProcess:
        """`tidemark check` of a stopped data directory."""
        return subprocess.run([binary(), "check", f"--datadir={datadir or self.datadir}"],
                              capture_output=True, text=True, timeout=1800)

    def log_tail(self, lines: int = 30) -> str:
        return "\n".join(self.output.read_text(errors="replace").splitlines()[-lines:])

    def __enter__(self) -> "Server":
        return self.start()

    def __exit__(self, *_) -> None:
        if self.is_running():
            try:
                self.stop()
            except ServerFailed as error:
                print(error, flush=True)
        self._home.cleanup()

"""Debian's PostgreSQL as a server of the lab: a data directory of its own, a free port, and accounts that prove their passwords in each way."""
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from .server import free_port, scratch

PASSWORD = "p@ss: word%"
# An account for each way: its name is that of the method in pg_hba.conf.
METHODS = ("trust", "md5", "scram-sha-256", "password")
SETTINGS = ["-c", "fsync=off", "-c", "shared_buffers=64MB", "-c", "max_connections=100"]
ROLES = "".join(f"SET password_encryption = '{'md5' if method == 'md5' else 'scram-sha-256'}'; CREATE ROLE \"{method}\" SUPERUSER LOGIN PASSWORD '{PASSWORD}';\n" for method in METHODS)


def programs() -> Path | None:
    """Where its programs are: Debian has them where no user looks."""
    found = shutil.which("initdb") or next(iter(sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")), reverse=True)), None)
    return Path(found).resolve().parent if found else None


class Postgres:
    """`with Postgres() as peer:` makes a data directory, starts the server and ends it."""

    def __init__(self):
        # It refuses to run as root, and its own user cannot look into root's home, where the checkout may be.
        self.user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        self._home = tempfile.TemporaryDirectory(prefix="tidemark-postgres-") if self.user else scratch("postgres")
        self.home = Path(self._home.name)
        self.port = free_port()
        self.process: subprocess.Popen | None = None

    def _run(self, *command: object, **options) -> subprocess.Popen:
        identity = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        return subprocess.Popen(list(map(str, command)), cwd="/", **identity, **options)

    def __enter__(self) -> "Postgres":
        bin, data, log = programs(), self.home / "data", open(self.home / "postgres.log", "ab")
        if self.user:
            os.chown(self.home, self.user.pw_uid, self.user.pw_gid)
        if self._run(bin / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync", stdout=log, stderr=log).wait():
            raise RuntimeError("initdb fails:\n" + (self.home / "postgres.log").read_text())
        single = self._run(bin / "postgres", "--single", "-D", data, "-j", "postgres", stdin=subprocess.PIPE, stdout=log, stderr=log, text=True)
        single.communicate(ROLES.replace("\n", "\n\n"))
        hba = data / "pg_hba.conf"
        hba.write_text("".join(f'host all "{method}" 127.0.0.1/32 {method}\n' for method in METHODS))
        self.process = self._run(bin / "postgres", "-D", data, "-p", self.port, "-h", "127.0.0.1", "-k", self.home, *SETTINGS, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("PostgreSQL does not start:\n" + (self.home / "postgres.log").read_text())
            time.sleep(0.05)

    def __exit__(self, *_) -> None:
        self.process.send_signal(2)     # fast shutdown: sessions are ended
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._home.cleanup()

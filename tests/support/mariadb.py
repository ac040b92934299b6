"""Debian's MariaDB as a peer: an InnoDB to be held against, with a data directory of its own and a free port."""
import getpass
import subprocess
import time
from pathlib import Path

import pymysql

from .address import Address
from .server import free_port, scratch

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"       # Debian keeps mariadbd where not every user looks
SETTINGS = ["--skip-networking=0", "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=128M", "--innodb-flush-log-at-trx-commit=0",
            "--transaction-isolation=REPEATABLE-READ", "--max-connections=400", "--skip-log-bin"]


class MariaDB:
    """`with MariaDB() as peer:` installs a data directory, starts the server and ends it."""

    def __init__(self):
        self._home = scratch("mariadb")
        self.home = Path(self._home.name)
        self.address = Address("127.0.0.1", free_port())
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> "MariaDB":
        user = getpass.getuser()
        data, log = self.home / "data", self.home / "mariadb.log"
        with open(log, "ab") as output:
            subprocess.run(["mariadb-install-db", "--no-defaults", f"--user={user}", f"--datadir={data}", "--auth-root-authentication-method=normal",
                            "--skip-test-db"], check=True, stdout=output, stderr=output, env={"PATH": PATH})
            self.process = subprocess.Popen(["mariadbd", "--no-defaults", f"--user={user}", f"--datadir={data}", f"--port={self.address.port}",
                                             f"--socket={self.home / 'mariadb.sock'}", f"--pid-file={self.home / 'mariadb.pid'}", *SETTINGS],
                                            stdout=output, stderr=output, env={"PATH": PATH})
        deadline = time.monotonic() + 120
        while True:
            try:
                self.address.connect(connect_timeout=5).close()
                return self
            except pymysql.err.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("MariaDB does not start:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-20:])) from None
                time.sleep(0.1)

    def __exit__(self, *_) -> None:
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._home.cleanup()

"""A Tidemark to be measured: started for one point, with settings of its own, and stopped."""
from contextlib import contextmanager

from sides import Side
from support.server import Server


@contextmanager
def tidemark(name: str, *settings: str, pool_mb: int = 1024):
    with Server(name, f"--innodb-buffer-pool-size={pool_mb}M", *settings) as server:
        side = Side("tidemark", server.address, server)
        try:
            yield side
        finally:
            side.close_all()

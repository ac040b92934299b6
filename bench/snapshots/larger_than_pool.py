"""Data ten times the pool, direct I/O: point selects, oltp_read_write and full scans by 16 clients, beside a peer.

The servers are loaded and measured in turns, each with the same pool; the peer's is resized for the time of the measurement
and put back. Without a peer there is nothing to judge, and the rates are only shown.
"""
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from statistics import median
from time import monotonic, sleep

from sides import MB, Side, ask
from tidemark import tidemark

TABLES, CLIENTS = 8, 16
ROW_BYTES = 240          # what a row of sysbench takes with its index entry, about
ROUNDS = 3


def run(report, peers: list[Side], short: bool) -> None:
    pool_mb, data_mb, seconds = (128, 400, 8) if short else (256, 2500, 30)
    rows = data_mb * MB // ROW_BYTES // TABLES
    tables = [f"--tables={TABLES}", f"--table-size={rows}"]
    with tidemark("larger", pool_mb=pool_mb) as own:
        sides = [own, *peers]
        for side in sides:
            with pool_of(side, pool_mb):
                started = monotonic()
                side.fresh_database()
                side.sysbench("oltp_read_write", "prepare", *tables, "--threads=2")
                report.note(f"{side.name}: {TABLES} x {rows} rows loaded in {monotonic() - started:.0f} s, pool {int(side.variable('innodb_buffer_pool_size')) / MB:.0f} MB, "
                            f"{side.variable('innodb_flush_method')}")
        found: dict[str, dict[str, list[float]]] = {}
        try:
            for _ in range(ROUNDS):
                for side in sides:
                    with pool_of(side, pool_mb):
                        for name, rate in workloads(side, tables, seconds):
                            found.setdefault(name, {}).setdefault(side.name, []).append(rate)
        finally:
            for side in sides:
                side.drop_database()
        for name, rates in found.items():
            shown = ", ".join(f"{who} {median(of):.1f}/s" for who, of in rates.items())
            report.note(f"{name}, {CLIENTS} clients: {shown}")
            if peers:
                ratio = median(rates[own.name]) / max(median(rates[peer.name]) for peer in peers)
                report.note(f"{name}: ratio {ratio:.2f}")
                report.check(ratio >= 1.5, f"point_7_{name}", f"{ratio:.2f} times the peer's rate, 1.5 is asked for")


@contextmanager
def pool_of(side: Side, mb: int):
    """The side's pool has that size; a peer's is put back."""
    before = int(side.variable("innodb_buffer_pool_size"))
    if before == mb * MB:
        yield
        return
    resize(side, mb * MB)
    try:
        yield
    finally:
        resize(side, before)


def resize(side: Side, size: int) -> None:
    side.address.execute(f"SET GLOBAL innodb_buffer_pool_size = {size}")
    until = monotonic() + 120
    # While pages leave, the pool has not its size yet.
    while side.status("Innodb_buffer_pool_pages_total") * 16384 > size * 1.05:
        if monotonic() > until:
            raise TimeoutError(f"{side.name}: the pool does not shrink to {size / MB:.0f} MB")
        sleep(0.5)


def workloads(side: Side, tables: list[str], seconds: int):
    for script in ("oltp_point_select", "oltp_read_write"):
        rates = side.load(script, seconds, CLIENTS, *tables, "--rand-type=uniform").finish()
        yield script, median(rates[len(rates) // 4:])
    yield "full_scan", scans(side)


def scans(side: Side) -> float:
    """Each client reads one table from end to end; tables per second."""
    connections = [side.connect() for _ in range(CLIENTS)]

    def scan(n: int) -> None:
        ask(connections[n], f"SELECT COUNT(*), SUM(LENGTH(pad)) FROM sbtest{n % TABLES + 1}")

    started = monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(scan, range(CLIENTS)))
    took = monotonic() - started
    for connection in connections:
        side.close(connection)
    return CLIENTS / took

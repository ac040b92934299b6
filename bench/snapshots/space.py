"""Room that deleted rows leave is used again: fill a table, delete all, end the snapshot, let purge finish, fill it again."""
from time import monotonic

from sides import MB, Side
from tidemark import tidemark

MOST_S = 1800


def run(report, peers: list[Side], short: bool) -> None:
    rows = 200_000 if short else 2_000_000
    with tidemark("space") as own:
        for side in [own, *peers]:
            full, empty, again, purge_s = there_and_back(side, rows)
            report.note(f"{rows} rows: {side.name}: data file {full / MB:.0f} MB full, {empty / MB:.0f} MB once purge was idle ({purge_s:.1f} s), "
                        f"{again / MB:.0f} MB full again")
            if side is own:
                report.check(again <= full, "point_8_data_file", f"{full / MB:.1f} MB at first, {again / MB:.1f} MB then")


def there_and_back(side: Side, rows: int) -> tuple[int, int, int, float]:
    side.fresh_database()
    try:
        side.execute("CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, KEY (k))")
        insert(side, rows)
        settle(side)
        full = side.data_bytes("t")
        snapshot = side.snapshot("SELECT COUNT(*), SUM(k) FROM t")
        side.execute("DELETE FROM t")
        snapshot.again_s()
        snapshot.end()
        started = monotonic()
        side.wait_for_purge(MOST_S)
        purge_s = monotonic() - started
        empty = side.data_bytes("t")
        insert(side, rows)
        settle(side)
        again = side.data_bytes("t")
    finally:
        side.drop_database()
    return full, empty, again, purge_s


def insert(side: Side, rows: int) -> None:
    batch = 4000
    connection = side.connect()
    with connection.cursor() as cursor:
        for first in range(0, rows, batch):
            some = range(first, min(first + batch, rows))
            cursor.execute("INSERT INTO t (k, c) VALUES " + ", ".join(f"({n * 7919 % rows}, '{n:0120}')" for n in some))
    side.close(connection)


def settle(side: Side) -> None:
    side.wait_for_purge(MOST_S)

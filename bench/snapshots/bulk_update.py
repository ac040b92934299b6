"""One UPDATE of a table four times the pool, a snapshot open on it: rolled back; and killed in the middle.

Nobody is compared with: what counts is that it completes, that memory stays within the pool and 200 MB, that the snapshot
answers right, and that recovery brings back what was there, with a clean `tidemark check`.
"""
from threading import Thread
from time import monotonic, sleep

import pymysql

from sides import MB, Side, ask
from tidemark import tidemark

ROW_BYTES = 256          # what a row of this table takes in a page, about
CHANGE = "UPDATE t SET c = REVERSE(c), k = k + 1"
SUMMARY = "SELECT COUNT(*), SUM(k), SUM(CRC32(c)) FROM t"
PART = SUMMARY + " WHERE id <= 10000"      # what the update comes to first


def run(report, peers: list[Side], short: bool) -> None:
    pool_mb = 32 if short else 128
    rows, limit_mb = pool_mb * 4 * MB // ROW_BYTES, pool_mb + 200
    with tidemark("bulk", "--innodb-redo-log-capacity=512M", pool_mb=pool_mb) as side:
        started = monotonic()
        fill(side, rows)
        report.note(f"{rows} rows, data file {side.data_bytes('t') / MB:.0f} MB, pool {pool_mb} MB, loaded in {monotonic() - started:.0f} s")
        snapshot = side.snapshot(SUMMARY)
        whole = snapshot.first

        with report.case("point_6_update_and_rollback"):
            writer = side.connect(autocommit=None)
            times = []
            for statement in ("BEGIN", CHANGE, SUMMARY, "ROLLBACK"):
                started = monotonic()
                rows_seen = ask(writer, statement)
                times.append(monotonic() - started)
                if statement == SUMMARY and (rows_seen[0][0], rows_seen[0][1]) != (whole[0][0], whole[0][1] + whole[0][0]):
                    raise AssertionError(f"the writer sees {rows_seen[0]}, beside {whole[0]} before")
                if statement == CHANGE:
                    read_s = snapshot.again_s()
                    report.note(f"versions {side.version_bytes() / MB:.0f} MB, the snapshot reads the table in {read_s:.1f} s")
            side.close(writer)
            report.note(f"UPDATE {times[1]:.1f} s, ROLLBACK {times[3]:.1f} s")
            if side.execute(SUMMARY) != whole:
                raise AssertionError("the rollback left something")
        memory(report, side, "rollback", limit_mb)

        with report.case("point_6_kill_in_the_middle"):
            after_s = times[1] / 2
            report.note(f"killed after {after_s:.1f} s, answers again after {kill_in_update(side, snapshot.connection, after_s):.1f} s")
            if side.execute(SUMMARY) != whole:
                raise AssertionError("recovery left something")
        memory(report, side, "recovery", limit_mb)
        side.close_all()
        report.equal(side.server.stop(wait_s=600), 0, "point_6_stops")
        checked = side.server.check()
        report.check(checked.returncode == 0, "point_6_tidemark_check", (checked.stdout + checked.stderr)[-600:])


def memory(report, side: Side, after: str, limit_mb: int) -> None:
    peak_mb = side.memory_peak_mb()
    report.note(f"{peak_mb:.0f} MB resident at most until {after}")
    report.check(peak_mb <= limit_mb, f"point_6_memory_until_{after}", f"{peak_mb:.0f} MB, the bound is {limit_mb} MB")


def fill(side: Side, rows: int) -> None:
    side.fresh_database()
    side.execute("CREATE TABLE t (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL)")
    batch = 4096
    with side.connect() as connection, connection.cursor() as cursor:
        for first in range(0, rows, batch):
            some = range(first, min(first + batch, rows))
            cursor.execute("INSERT INTO t (k, c, pad) VALUES " + ", ".join(f"({n}, '{n:0120}', '{n:060}')" for n in some))
    side.close(connection)


def kill_in_update(side: Side, snapshot, after_s: float) -> float:
    """Kills the server while it updates, starts it, and returns how long it took to answer. The snapshot is asked before."""
    ended: list[str] = []

    def update() -> None:
        try:
            ask(writer, CHANGE)
            ended.append("completed")
        except pymysql.err.MySQLError:
            ended.append("killed")

    writer, part = side.connect(autocommit=None), ask(snapshot, PART)
    thread = Thread(target=update)
    thread.start()
    sleep(after_s)
    seen = ask(snapshot, PART)
    side.server.kill()
    thread.join()
    if seen != part:
        raise AssertionError(f"the snapshot has changed: {part} was read first, then {seen}")
    if ended != ["killed"]:
        raise AssertionError("the update was over before the kill")
    side.close_all()
    started = monotonic()
    side.server.start(wait_s=600)
    return monotonic() - started

"""What two studies could not see, here in one look.

Zaitsev (2015): one row is updated all the time, and somebody holds a snapshot. In MySQL updates and reads get slower and slower, and nothing says
why. Here the page, `sys` and SHOW ENGINE INNODB STATUS each name the session that holds the snapshot, since when, by which statement, and
what that costs.

Bug #79005 (2015): many short transactions wait for one mutex that no table of the server's names. Here the wait summary has no such wait; with
`--museum=trx_sys` (a build of the feature `museum`) the mutex is there, and is named first.
"""
import re
import threading
import time

import http_client as http
import load
from support.address import Address
from support.report import Report
from support.server import Server, ServerFailed

HELD_S = 3.0
#: Waits that say nothing about the server: for the client, and for the disk.
OUTSIDE = ("idle", "wait/io/%")


def held_snapshot(report: Report, page: tuple[str, int], server: Server) -> None:
    reader = load.Client(server.address)
    with load.Load(server.address):
        time.sleep(0.5)
        reader.ask("START TRANSACTION", "SELECT balance FROM account WHERE id = 7 /* holds it */")
        began = time.monotonic()
        time.sleep(HELD_S)
        viewer = http.Events(page)

        def names_it(sample: dict) -> bool:
            views = sample["views"]["list"]
            hot = sample["hot"]["rows"]
            return bool(views and hot) and views[0]["id"] == reader.id and bool(views[0]["versions"])

        sample, _ = viewer.until(names_it, 20)
        viewer.close()
        held_s = time.monotonic() - began
        status = server.address.execute("SHOW ENGINE INNODB STATUS")[0][2]
        watcher = load.Client(server.address)
        by_sys = watcher.ask("SELECT pid, user, opened_by, age_secs, transactions, versions, bytes, ended_by FROM sys.tidemark_history LIMIT 1")
        hot = watcher.ask("SELECT table_name, row_key FROM sys.tidemark_hot_rows LIMIT 1")
        watcher.end()
    opener = "SELECT balance FROM account WHERE id = 7 /* holds it */"

    view = sample["views"]["list"][0]
    report.equal((view["opened_by"], view["idle"], view["user"]), (opener, True, "root"), "the page names who holds a snapshot, and by what")
    report.check(HELD_S - 1 <= view["age_s"] <= held_s + 1, "since when", repr(view))
    report.check(view["versions"] >= 1 and view["bytes"] > 0 and view["behind"] > 10_000, "and what it costs", repr(view))
    report.equal(sample["hot"]["rows"][0]["key"], "7", "beside the hot row")

    pid, user, opened_by, age_s, transactions, versions, size, ended_by = by_sys[0]
    report.equal((pid, user, opened_by), (reader.id, "root", opener), "the first row of sys.tidemark_history names who holds a snapshot, and by what")
    report.check(HELD_S - 1 <= age_s <= held_s + 2, "since when", repr(by_sys))
    report.check(transactions > 100 and versions >= 1 and size > 0, "what it costs", repr(by_sys))
    report.check(f"KILL {reader.id}" in ended_by, "and what ends it", ended_by)
    report.equal(hot[0], ("account", "7"), "beside the hot row of sys.tidemark_hot_rows")

    section = status[status.index("READ VIEWS AND PURGE"):]
    found = re.search(r"---VIEW of the log up to \d+, open (\d+) sec, (\d+) versions and (\d+) bytes for it alone\n"
                      rf"MySQL thread id {reader.id}, .* root Sleep\nView opened by: {re.escape(opener)}\n", section)
    report.check(found is not None, "SHOW ENGINE INNODB STATUS names who holds a snapshot, and by what", section)
    report.check(found and HELD_S - 1 <= int(found[1]) <= held_s + 2, "since when", section)
    report.check(found and int(found[2]) >= 1 and int(found[3]) > 0, "and what it costs", section)
    lag = re.search(r"^Purge lag (\d+) transactions", section, re.MULTILINE)
    report.check(lag and int(lag[1]) > 100, "with the transactions that are not purged", section)
    reader.end()


def history_warning(report: Report, server: Server) -> None:
    """Beyond the limit that is set the status text has the warning, which names the session."""
    address = server.address
    reader = load.Client(address)
    address.execute("SET GLOBAL innodb_max_purge_lag = 50")
    try:
        with load.Load(address):
            reader.ask("START TRANSACTION", "SELECT balance FROM account WHERE id = 9")
            warned, deadline = None, time.monotonic() + 30
            while warned is None and time.monotonic() < deadline:
                time.sleep(0.3)
                status = address.execute("SHOW ENGINE INNODB STATUS")[0][2]
                warned = re.search(r"^Latest warning, .*: \d+ transactions are not purged .* connection (\d+) of", status, re.MULTILINE)
    finally:
        address.execute("SET GLOBAL innodb_max_purge_lag = DEFAULT")
    report.check(warned and int(warned[1]) == reader.id, "the latest warning of history that is too long names the session", status)
    reader.end()


def short_transactions(address: Address, clients: int, seconds: float) -> None:
    """The workload of #79005: begin, three point selects, commit; some of the clients write, so that views differ."""
    ends_at = time.monotonic() + seconds

    def run(number: int) -> None:
        with address.connect(database=load.DATABASE) as connection, connection.cursor() as cursor:
            while time.monotonic() < ends_at:
                cursor.execute("BEGIN")
                for row in (10, 20, 30):
                    cursor.execute(f"SELECT balance FROM account WHERE id = {row + number}")
                if number % 4 == 0:
                    cursor.execute(f"UPDATE account SET balance = balance + 1 WHERE id = {100 + number}")
                cursor.execute("COMMIT")

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def waits_of_short_transactions(address: Address) -> list[str]:
    """What threads wait for within the server, the most first, while such clients are at work."""
    outside = " AND ".join(f"event_name NOT LIKE '{name}'" for name in OUTSIDE)

    def waited() -> dict[str, int]:
        return dict(address.execute("SELECT event_name, sum_timer_wait FROM performance_schema.events_waits_summary_global_by_event_name "
                                    f"WHERE count_star > 0 AND {outside}"))

    before = waited()
    short_transactions(address, 16, 3.0)
    grown = {name: time - before.get(name, 0) for name, time in waited().items()}
    return sorted((name for name, time in grown.items() if time > 0), key=lambda name: -grown[name])


def global_lock(report: Report, server: Server) -> None:
    named = waits_of_short_transactions(server.address)
    report.check("wait/synch/cond/innodb/commit_group" in named and not [name for name in named if "mutex" in name or "rwlock" in name],
                 "short transactions wait for each other's commits, for no lock of the whole server", repr(named))
    try:
        with Server("status-museum", "--museum=trx_sys") as museum:
            load.prepare(museum.address)
            named = waits_of_short_transactions(museum.address)
    except ServerFailed:
        report.skip("with a lock of the whole server the summary names it first", "needs a build of the feature museum")
        return
    report.check(named[:1] == ["wait/synch/mutex/museum/trx_sys"], "with a lock of the whole server the summary names it first", repr(named))

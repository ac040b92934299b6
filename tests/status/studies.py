"""What two studies could not see, here in one look.

Zaitsev (2015): one row is updated all the time, and somebody holds a snapshot. In MySQL updates and reads get slower and slower, and nothing says
why. Here the page, `sys` and SHOW ENGINE INNODB STATUS each name the session that holds the snapshot, since when, by which statement, and
what that costs.

Bug #79005 (2015): many short transactions wait for one mutex that no table of the server's names. Here the wait summary has no such wait; with
`--museum=trx_sys` (a build of the feature `museum`) the mutex is there, and is named first.
"""
import re
import subprocess
import time

import http_client as http
import load
from support.report import Report
from support.server import Server, ServerFailed, binary

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
        by_sys = watcher.ask("SELECT pid, user, opened_by, age_secs, versions, bytes, ended_by FROM sys.tidemark_history LIMIT 1")
        hot = watcher.ask("SELECT table_name, row_key FROM sys.tidemark_hot_rows LIMIT 1")
        watcher.end()
    opener = "SELECT balance FROM account WHERE id = 7 /* holds it */"

    view = sample["views"]["list"][0]
    report.equal((view["opened_by"], view["idle"], view["user"]), (opener, True, "root"), "the page names who holds a snapshot, and by what")
    report.check(HELD_S - 1 <= view["age_s"] <= held_s + 1, "since when", repr(view))
    report.check(view["versions"] >= 1 and view["bytes"] > 0 and view["behind"] > 10_000, "and what it costs", repr(view))
    report.equal(sample["hot"]["rows"][0]["key"], "7", "beside the hot row")

    pid, user, opened_by, age_s, versions, size, ended_by = by_sys[0]
    report.equal((pid, user, opened_by), (reader.id, "root", opener), "the first row of sys.tidemark_history names who holds a snapshot, and by what")
    report.check(HELD_S - 1 <= age_s <= held_s + 2, "since when", repr(by_sys))
    report.check(versions >= 1 and size > 0, "what it costs", repr(by_sys))
    report.check(f"KILL {reader.id}" in ended_by, "and what ends it", ended_by)
    report.equal(hot[0], ("account", "7"), "beside the hot row of sys.tidemark_hot_rows")

    section = status[status.index("READ VIEWS AND PURGE"):]
    found = re.search(r"---VIEW of the log up to \d+, open (\d+) sec, (\d+) versions and (\d+) bytes for it alone\n"
                      rf"MySQL thread id {reader.id}, .* root Sleep\nView opened by: {re.escape(opener)}\n", section)
    report.check(found is not None, "SHOW ENGINE INNODB STATUS names who holds a snapshot, and by what", section)
    report.check(found and HELD_S - 1 <= int(found[1]) <= held_s + 2, "since when", section)
    report.check(found and int(found[2]) >= 1 and int(found[3]) > 0, "and what it costs", section)
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


def waits_of_short_transactions(server: Server) -> list[str]:
    """What threads wait for within the server, the most first, while 64 clients of the lab run its experiment on the bug."""
    outside = " AND ".join(f"event_name NOT LIKE '{name}'" for name in OUTSIDE)

    def waited() -> dict[str, int]:
        return dict(server.address.execute("SELECT event_name, sum_timer_wait FROM performance_schema.events_waits_summary_global_by_event_name "
                                           f"WHERE count_star > 0 AND {outside}"))

    def run(seconds: str) -> None:
        subprocess.run([binary(), "lab", "run", "three-points-79005", "--quick", "--clients", "64", "--repeats", "1", "--seconds", seconds, "--server",
                        f"it=mysql://root@127.0.0.1:{server.port}/lab", "--results", server.home / f"{seconds}.jsonl"],
                       check=True, stdout=subprocess.DEVNULL, timeout=300)

    run("0.5")  # makes the tables
    before = waited()
    run("3")
    grown = {name: time - before.get(name, 0) for name, time in waited().items()}
    return sorted((name for name, time in grown.items() if time > 0), key=lambda name: -grown[name])


def global_lock(report: Report) -> None:
    with Server("status-short") as server:
        named = waits_of_short_transactions(server)
    report.check(set(named) <= {"wait/synch/sxlock/innodb/page_latch"}, "short transactions that read wait for nothing that all share", repr(named))
    try:
        with Server("status-museum", "--museum=trx_sys") as museum:
            named = waits_of_short_transactions(museum)
    except ServerFailed:
        report.skip("with a lock of the whole server the summary names it first", "needs a build of the feature museum")
        return
    report.check(named[:1] == ["wait/synch/mutex/museum/trx_sys"], "with a lock of the whole server the summary names it first", repr(named))

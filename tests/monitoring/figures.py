"""Status variables that other cases have no need of: each moves when what it counts happens, and stands in the relation to others that its name promises."""
import threading
import time

import pymysql
from support.address import Address
from support.report import Report
from support.server import Server

PAGE = 16384


def status(cursor) -> dict[str, str]:
    cursor.execute("SHOW GLOBAL STATUS")
    return dict(cursor.fetchall())


def public_key(report: Report, server: Server, cursor) -> None:
    """A client without TLS asks for the key under which it sends a password."""
    name = "Caching_sha2_password_rsa_public_key"
    report.equal(status(cursor)[name], "", "there is no key for passwords before a client asks for one")
    server.address.execute("CREATE USER known@'%' IDENTIFIED WITH caching_sha2_password BY 'secret'")
    # Of an account that is made from a hash the server does not know yet what it needs to do without the password.
    cursor.execute("SET print_identified_with_as_hex = ON")
    cursor.execute("SHOW CREATE USER known@'%'")
    cursor.execute(cursor.fetchone()[0].replace("known", "keyed", 1))
    connection = pymysql.connect(host=server.address.host, port=server.address.port, user="keyed", password="secret", ssl_disabled=True)
    key = status(cursor)[name]
    connection.close()
    report.check(key.startswith("-----BEGIN PUBLIC KEY-----\n") and key.endswith("-----END PUBLIC KEY-----\n"), "and then it is shown", repr(key))
    pymysql.connect(host=server.address.host, port=server.address.port, user="keyed", password="secret", ssl_disabled=True, server_public_key=key.encode()).close()


def lock_waits(report: Report, server: Server, cursor) -> None:
    server.address.execute("CREATE TABLE app.waited (id INT PRIMARY KEY)", "INSERT INTO app.waited VALUES (1)")
    holder = server.address.connect()
    before = status(cursor)
    with holder.cursor() as held:
        held.execute("BEGIN")
        held.execute("SELECT * FROM app.waited WHERE id = 1 FOR UPDATE")
        waiter = threading.Thread(target=server.address.execute, args=("DELETE FROM app.waited WHERE id = 1",))
        waiter.start()
        end = time.monotonic() + 10
        while status(cursor)["Innodb_row_lock_current_waits"] != "1" and time.monotonic() < end:
            time.sleep(0.01)
        report.equal(status(cursor)["Innodb_row_lock_current_waits"], "1", "a wait for a row, while it lasts")
        time.sleep(0.2)
        holder.rollback()
        waiter.join()
    holder.close()
    after = status(cursor)
    waits, took = (int(after[name]) - int(before[name]) for name in ("Innodb_row_lock_waits", "Innodb_row_lock_time"))
    longest, mean = int(after["Innodb_row_lock_time_max"]), int(after["Innodb_row_lock_time_avg"])
    report.equal((after["Innodb_row_lock_current_waits"], waits), ("0", 1), "and when it is over")
    report.check(took >= 200 and longest >= took and mean == int(after["Innodb_row_lock_time"]) // int(after["Innodb_row_lock_waits"]),
                 "how long, the longest, and in the mean", f"{took} {longest} {mean}")


def figures(report: Report, server: Server) -> None:
    connection = server.address.connect(autocommit=True)
    cursor = connection.cursor()
    public_key(report, server, cursor)
    lock_waits(report, server, cursor)

    before = status(cursor)
    server.address.execute("CREATE TABLE app.counted (id INT PRIMARY KEY, a INT)", "INSERT INTO app.counted VALUES (1, 1), (2, 2), (3, 3)",
                           "UPDATE app.counted SET a = a + 1", "DELETE FROM app.counted WHERE id > 1", "SELECT * FROM app.counted", "FLUSH TABLES")
    now = status(cursor)
    grown = lambda name: int(now[name]) - int(before[name])  # noqa: E731
    report.equal([grown(f"Innodb_rows_{what}") for what in ("inserted", "updated", "deleted")], [3, 3, 2], "rows that are changed are counted")
    report.equal(grown("Flush_commands"), 1, "and FLUSH")
    report.check(grown("Handler_commit") >= 4, "and commits", str(grown("Handler_commit")))
    report.check(grown("Bytes_received") > 200 and grown("Bytes_sent") > 1000, "and what clients send and get", f"{grown('Bytes_received')}, {grown('Bytes_sent')}")
    report.check(grown("Connections") == 1 and int(now["Threads_created"]) >= 1, "and connections", str(grown("Connections")))
    report.check(grown("Opened_tables") >= 1 and int(now["Open_tables"]) >= 1, "and tables that are opened", str(grown("Opened_tables")))

    number = lambda name: int(now[name])  # noqa: E731
    pages = {what: number(f"Innodb_buffer_pool_pages_{what}") for what in ("data", "dirty", "free", "misc", "total")}
    report.check(pages["dirty"] <= pages["data"] and pages["data"] + pages["free"] + pages["misc"] == pages["total"], "the pool's pages add up", str(pages))
    report.check(number("Innodb_buffer_pool_bytes_data") == pages["data"] * PAGE and number("Innodb_buffer_pool_bytes_dirty") == pages["dirty"] * PAGE,
                 "as do their bytes", f"{now['Innodb_buffer_pool_bytes_data']}, {now['Innodb_buffer_pool_bytes_dirty']}")
    [current, flushed, checkpoint] = (number(f"Innodb_redo_log_{what}_lsn") for what in ("current", "flushed_to_disk", "checkpoint"))
    report.check(checkpoint <= flushed <= current and current > 0, "the log's positions are in order", f"{checkpoint}, {flushed}, {current}")
    report.check(number("Innodb_redo_log_logical_size") <= number("Innodb_redo_log_physical_size"), "and what is needed of it is in its files",
                 f"{now['Innodb_redo_log_logical_size']}, {now['Innodb_redo_log_physical_size']}")
    report.check(number("Innodb_data_writes") > 0 and number("Innodb_os_log_written") > 0 and number("Innodb_num_open_files") >= 3, "files are open and written",
                 f"{now['Innodb_data_writes']}, {now['Innodb_os_log_written']}, {now['Innodb_num_open_files']}")
    report.check(now["Max_used_connections_time"][:4].isdigit() and number("Max_used_connections") >= 2, "when there were most connections", now["Max_used_connections_time"])
    report.check(number("Uptime_since_flush_status") <= number("Uptime"), "how long it has run", f"{now['Uptime_since_flush_status']}, {now['Uptime']}")
    refused = Address(server.address.host, server.address.port, "keyed", "wrong")
    try:
        refused.connect().close()
        report.fail("a wrong password is refused")
    except Exception as error:
        report.equal(error.args[0], 1045, "a wrong password is refused")
    before, now = now, status(cursor)
    report.equal(grown("Aborted_connects"), 1, "and counted")
    dead = [name for name in now if name.startswith(("Key_", "Delayed_", "Binlog_", "Tc_log_")) and name not in ("Key_blocks_unused",) and now[name] != "0"]
    report.equal(dead, [], "what is not here has done nothing")
    connection.close()

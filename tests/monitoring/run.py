#!/usr/bin/env python3
"""What tools of the MySQL world read of a server.

    tests/monitoring/run.py [--record HOST:PORT:USER] [--write] [FILTER...]

Names and columns are MySQL's, but for those that docs/compatibility.md lists (`surface.py`); counters move when what they count
happens, by as much. The tools themselves (`tools.py`) run unchanged. `--record` writes down what a MySQL server has, `--write` the list of what is missing here.
"""
import socket
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import figures  # noqa: E402
import spans  # noqa: E402
import surface  # noqa: E402
import tools  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

PAGE = 16384


class Watched:
    """A session beside those that do something, which looks at counters."""

    def __init__(self, server: Server):
        self.connection = server.address.connect(autocommit=True)
        self.cursor = self.connection.cursor()

    def ask(self, sql: str) -> tuple:
        self.cursor.execute(sql)
        return self.cursor.fetchall()

    def status(self) -> dict[str, str]:
        return dict(self.ask("SHOW GLOBAL STATUS"))

    def grown(self, before: dict[str, str], *names: str) -> list[int]:
        now = self.status()
        return [int(now[name]) - int(before[name]) for name in names]


def names(report: Report, server: Server, write: bool) -> None:
    here, there = surface.surface(server.address), surface.recorded()
    found = surface.missing(here, there)
    if write:
        surface.write(found)
    report.equal(surface.text(found), surface.documented(), "docs/compatibility.md lists what is missing")
    report.equal(surface.differences(here, there), [], "columns are MySQL's, in its order")
    own = [name for name in here["status"] if name not in there["status"] and not name.startswith("Tidemark_")]
    report.equal(own, ["Innodb_deadlocks", "Innodb_history_list_length"], "of status variables that MySQL lacks, these alone have its names")
    report.equal([name for name in here["metrics"] if name not in there["metrics"]], [], "each metric of the engine is one of MySQL's")
    for schema in surface.SCHEMAS:
        failed = []
        for table in (name for name in here["tables"] if name.startswith(schema + ".")):
            rows, columns = server.address.execute(f"SELECT * FROM {table} LIMIT 3"), here["tables"][table]
            if any(len(row) != len(columns) for row in rows):
                failed.append(table)
        report.equal(failed, [], f"each table of {schema} can be read")


def pages_and_files(report: Report, server: Server) -> None:
    watched = Watched(server)
    before = watched.status()
    server.address.execute("CREATE TABLE app.pages (id INT PRIMARY KEY, filler VARCHAR(1000))")
    values = ", ".join(f"({n}, REPEAT('x', 1000))" for n in range(2000))
    server.address.execute(f"INSERT INTO app.pages VALUES {values}")
    created, requests, changes, records, rows = watched.grown(
        before, "Innodb_pages_created", "Innodb_buffer_pool_read_requests", "Innodb_buffer_pool_write_requests", "Innodb_log_write_requests", "Innodb_rows_inserted")
    report.equal(rows, 2000, "inserted rows are counted")
    report.check(2000 * 1000 // PAGE <= created <= 400, "so are the pages that they take", str(created))
    report.check(requests >= changes >= 2000 and records >= 2000, "and the pages asked for and changed, and records of the log", f"{requests}, {changes}, {records}")
    syncs, writes, written = watched.grown(before, "Innodb_os_log_fsyncs", "Innodb_log_writes", "Innodb_data_written")
    report.check(syncs >= 2 and writes >= 2 and written > 2_000_000, "the log is written and synced", f"{syncs}, {writes}, {written}")
    before = watched.status()
    for n in range(10):
        server.address.execute(f"SELECT * FROM app.pages WHERE id = {n}")
    (read,) = watched.grown(before, "Innodb_rows_read")
    report.equal(read, 10, "rows found by their keys are read rows")
    pending = [watched.status()[f"Innodb_{name}"] for name in ("data_pending_reads", "data_pending_writes", "os_log_pending_fsyncs")]
    report.equal(pending, ["0"] * 3, "nothing is under way in the end")


def metrics(report: Report, server: Server) -> None:
    watched = Watched(server)
    status = watched.status()
    found = {name: (count, enabled, kind) for name, count, enabled, kind in watched.ask("SELECT NAME, COUNT, STATUS, TYPE FROM information_schema.INNODB_METRICS")}
    same = [("dml_inserts", "Innodb_rows_inserted"), ("buffer_pool_pages_total", "Innodb_buffer_pool_pages_total"), ("innodb_page_size", "Innodb_page_size"),
            ("buffer_pages_created", "Innodb_pages_created")]
    report.equal([found[metric][0] for metric, _ in same], [int(status[name]) for _, name in same], "INNODB_METRICS has the counters of SHOW STATUS")
    report.equal({enabled for _, enabled, _ in found.values()}, {"enabled"}, "all of them are enabled")
    report.equal({kind for _, _, kind in found.values()}, {"counter", "status_counter", "value"}, "of MySQL's kinds")


def connections(report: Report, server: Server) -> None:
    watched = Watched(server)
    before = watched.status()
    server.address.execute("CREATE USER locked@'%' IDENTIFIED BY 'secret' ACCOUNT LOCK")
    try:
        Address(server.address.host, server.address.port, "locked", "secret").connect().close()
        report.fail("a locked account is refused")
    except Exception as error:
        report.equal(error.args[0], 1045, "a locked account is refused as a wrong password is")
    report.equal(watched.grown(before, "Locked_connects"), [1], "and counted")
    seen = watched.status()
    after, since = (time.strptime(seen[f"Ssl_server_not_{end}"], "%b %d %H:%M:%S %Y GMT") for end in ("after", "before"))
    report.check(since < time.gmtime() < after, "the certificate's validity is told", f"{since}, {after}")
    report.equal(seen["Current_tls_version"], "TLSv1.2,TLSv1.3", "and the settings of TLS")


def tables_and_indexes(report: Report, server: Server) -> None:
    server.address.execute("CREATE TABLE app.used (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b INT, c INT, KEY by_a (a), KEY by_ab (a, b), KEY unused (b))",
                           "INSERT INTO app.used (a, b) VALUES (1, 1), (2, 2), (2, 3), (3, 4)")
    for _ in range(3):
        server.address.execute("SELECT * FROM app.used WHERE id = 1", "SELECT * FROM app.used FORCE INDEX (by_a) WHERE a = 2")
    server.address.execute("SELECT * FROM app.used WHERE c + 0 = 9", "UPDATE app.used SET b = 5 WHERE id = 1", "DELETE FROM app.used WHERE id = 4")
    watched = Watched(server)
    rows = watched.ask("""SELECT INDEX_NAME, COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE
        FROM performance_schema.table_io_waits_summary_by_index_usage WHERE OBJECT_NAME = 'used' ORDER BY INDEX_NAME""")
    report.equal(rows, ((None, 4, 4, 1, 1), ("by_a", 6, 0, 0, 0), ("by_ab", 0, 0, 0, 0), ("PRIMARY", 5, 0, 0, 0), ("unused", 0, 0, 0, 0)), "rows are counted by index")
    rows = watched.ask("SELECT rows_fetched, rows_inserted, rows_updated, rows_deleted FROM sys.schema_table_statistics WHERE table_name = 'used'")
    report.equal(rows, ((15, 4, 1, 1),), "and by table")
    report.equal(watched.ask("SELECT index_name FROM sys.schema_unused_indexes WHERE object_name = 'used' ORDER BY 1"), (("by_ab",), ("unused",)), "unused indexes")
    rows = watched.ask("SELECT redundant_index_name, dominant_index_name, sql_drop_index FROM sys.schema_redundant_indexes WHERE table_name = 'used'")
    report.equal(rows, (("by_a", "by_ab", "ALTER TABLE `app`.`used` DROP INDEX `by_a`"),), "redundant indexes")
    rows = watched.ask("SELECT column_name, max_value, auto_increment FROM sys.schema_auto_increment_columns WHERE table_name = 'used'")
    report.equal(rows, (("id", 2147483647, 5),), "how far AUTO_INCREMENT is")
    report.equal(watched.ask("SELECT object_name, rows_full_scanned FROM sys.schema_tables_with_full_table_scans WHERE object_name = 'used'"), (("used", 4),), "scans of whole tables")


def pool(report: Report, server: Server) -> None:
    server.address.execute("CREATE TABLE app.paged (id INT PRIMARY KEY, t VARCHAR(500), KEY by_t (t))",
                           "INSERT INTO app.paged WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT i, REPEAT(CHAR(97 + i % 26), 500) FROM n")
    watched = Watched(server)
    (size,) = watched.ask("SELECT SUM(POOL_SIZE) FROM information_schema.INNODB_BUFFER_POOL_STATS")[0]
    # A page that a thread changes at this moment has its number alone.
    ((frames, pages, clean),) = watched.ask("""SELECT COUNT(*), SUM(PAGE_STATE = 'FILE_PAGE'), SUM(OLDEST_MODIFICATION = 0 OR NEWEST_MODIFICATION >= OLDEST_MODIFICATION OR PAGE_TYPE = 'UNKNOWN')
        FROM information_schema.INNODB_BUFFER_PAGE""")
    report.check(frames == size and clean == frames and 30 < pages < frames, "each frame of the pool is told of", f"{size} {frames} {pages} {clean}")
    ((listed, last),) = watched.ask("SELECT COUNT(*), MAX(LRU_POSITION) FROM information_schema.INNODB_BUFFER_PAGE_LRU")
    report.check(listed >= pages and last == listed - 1, "those with a page in their order", f"{pages} {listed} {last}")
    rows = watched.ask("SELECT INDEX_NAME, SUM(NUMBER_RECORDS) >= 500, COUNT(*) > 15 FROM information_schema.INNODB_BUFFER_PAGE WHERE TABLE_NAME = '`app`.`paged`' GROUP BY 1 ORDER BY 1")
    report.equal(rows, (("by_t", 1, 1), ("PRIMARY", 1, 1)), "with table and index")
    rows = watched.ask("""SELECT i.NAME, c.N_CACHED_PAGES = (SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE p
        WHERE p.TABLE_NAME = '`app`.`paged`' AND p.INDEX_NAME = i.NAME) FROM information_schema.INNODB_CACHED_INDEXES c JOIN information_schema.INNODB_INDEXES i USING (INDEX_ID)
        JOIN information_schema.INNODB_TABLES t USING (TABLE_ID) WHERE t.NAME = 'app/paged' ORDER BY 1""")
    report.equal(rows, (("by_t", 1), ("PRIMARY", 1)), "pages by index")
    rows = watched.ask("""SELECT b.pages > 30, b.rows_cached >= 500, b.pages = w.innodb_buffer_pages, s.pages >= b.pages FROM sys.innodb_buffer_stats_by_table b
        JOIN sys.schema_table_statistics_with_buffer w ON w.table_schema = b.object_schema AND w.table_name = b.object_name
        JOIN sys.innodb_buffer_stats_by_schema s USING (object_schema) WHERE b.object_name = 'paged'""")
    report.equal(rows, ((1, 1, 1, 1),), "and by table")
    server.address.execute("CREATE TABLE app.made (a INT PRIMARY KEY, b INT AS (a + 1) VIRTUAL, c VARCHAR(10), d VARCHAR(30) AS (CONCAT(c, b)) VIRTUAL, e INT AS (a) STORED)")
    rows = watched.ask("SELECT POS, BASE_POS FROM information_schema.INNODB_VIRTUAL JOIN information_schema.INNODB_TABLES USING (TABLE_ID) WHERE NAME = 'app/made' ORDER BY 1, 2")
    report.equal(rows, ((65537, 0), (131075, 0), (131075, 1)), "what virtual columns are made of")


def begun_anew(report: Report, server: Server) -> None:
    watched, other = Watched(server), Watched(server)
    server.address.execute("CREATE TABLE app.awaited (id INT PRIMARY KEY)", "INSERT INTO app.awaited VALUES (1)")
    watched.ask("LOCK TABLES app.awaited WRITE")
    waiting = threading.Thread(target=lambda: other.ask("SELECT * FROM app.awaited"))
    waiting.start()
    until(lambda: server.address.execute("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for table%'"), lambda rows: rows == ((1,),))
    watched.ask("UNLOCK TABLES")
    waiting.join()
    waits = "SELECT COUNT_STAR, COUNT_READ_EXTERNAL, COUNT_WRITE, SUM_TIMER_WAIT > 0, MIN_TIMER_READ = MAX_TIMER_READ FROM performance_schema.table_lock_waits_summary_by_table WHERE OBJECT_NAME = 'awaited'"
    report.equal(watched.ask(waits), ((1, 1, 0, 1, 1),), "a wait for a table")
    watched.ask("PREPARE again FROM 'SELECT COUNT(*) FROM app.awaited'")
    watched.ask("EXECUTE again")
    executed = "SELECT COUNT_EXECUTE, SUM_ROWS_SENT, MAX_TIMER_EXECUTE > 0 FROM performance_schema.prepared_statements_instances WHERE STATEMENT_NAME = 'again'"
    report.equal(watched.ask(executed), ((1, 1, 1),), "a prepared statement")
    fetched = "SELECT COUNT_STAR > 0 FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_NAME = 'awaited'"
    report.equal(watched.ask(fetched), ((1,),), "rows of a table")
    written = "SELECT SUM(SUM_NUMBER_OF_BYTES_WRITE) FROM performance_schema.file_summary_by_event_name"
    ((before,),) = watched.ask(written)
    status = "SELECT VARIABLE_VALUE + 0 FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Innodb_data_written'"
    ((counted,),) = watched.ask(status)
    for table in ("table_lock_waits_summary_by_table", "prepared_statements_instances", "table_io_waits_summary_by_table", "file_summary_by_instance"):
        watched.ask(f"TRUNCATE performance_schema.{table}")
    report.equal((watched.ask(waits)[0][0], watched.ask(executed), watched.ask(fetched)), (0, ((0, 0, 0),), ((0,),)), "begin anew")
    report.check(watched.ask(written)[0][0] < before and watched.ask(status)[0][0] >= counted, "and so do files, but not SHOW STATUS", f"{before} {counted}")
    watched.ask("EXECUTE again")
    report.equal(watched.ask(executed), ((1, 1, 1),), "and count on")


def what_is_under_way(report: Report, server: Server) -> None:
    watched, other = Watched(server), Watched(server)
    server.address.execute("CREATE TABLE app.open (id INT PRIMARY KEY)")
    other.ask("BEGIN")
    other.ask("INSERT INTO app.open VALUES (1)")
    (thread,) = other.ask("SELECT CONNECTION_ID()")[0]
    rows = watched.ask(f"SELECT STATE, ACCESS_MODE, ISOLATION_LEVEL, TIMER_WAIT > 0 FROM performance_schema.events_transactions_current WHERE THREAD_ID = {thread}")
    report.equal(rows, (("ACTIVE", "READ WRITE", "REPEATABLE READ", 1),), "the open transaction")
    rows = watched.ask(f"SELECT VARIABLE_VALUE FROM performance_schema.status_by_thread WHERE THREAD_ID = {thread} AND VARIABLE_NAME = 'Com_insert'")
    report.equal(rows, (("1",),), "what the session has counted")
    other.ask("ROLLBACK")
    (logged,) = watched.ask("SELECT COUNT(*) FROM performance_schema.error_log WHERE PRIO = 'Note' AND LOGGED > NOW() - INTERVAL 1 HOUR")[0]
    report.check(logged > 0, "the server's log")
    (buffered,) = watched.ask("SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Error_log_buffered_events'")[0]
    report.equal(int(buffered), logged, "as SHOW STATUS counts it")
    (total,) = watched.ask("SELECT total_allocated FROM sys.x$memory_global_total")[0]
    (pool,) = watched.ask("SELECT @@innodb_buffer_pool_size")[0]
    report.check(pool < total < 4 * pool, "memory is the pool and what is allocated beside it", f"{total}")
    (file, written) = watched.ask("SELECT file, count_write FROM sys.io_global_by_file_by_latency WHERE file LIKE '%/redo-%' ORDER BY count_write DESC")[0]
    report.check(file.startswith("@@datadir/redo-") and written > 0, "files are named from the data directory on", f"{file} {written}")


def open_tables(report: Report, server: Server) -> None:
    server.address.execute("CREATE DATABASE elsewhere", "CREATE TABLE elsewhere.t (a INT)")
    seen = [row[:2] for row in server.address.execute("SHOW OPEN TABLES LIKE 't'")]
    report.check(("elsewhere", "t") in seen, "SHOW OPEN TABLES has those of all databases", f"{seen}")
    report.equal(server.address.execute("SHOW OPEN TABLES FROM elsewhere"), (("elsewhere", "t", 0, 0),), "or of one")
    kinds = {row[0] for row in server.address.execute("SHOW ENGINE PERFORMANCE_SCHEMA STATUS")}
    report.equal(kinds, {"performance_schema"}, "SHOW ENGINE PERFORMANCE_SCHEMA STATUS")


def functions(report: Report, server: Server) -> None:
    """What MySQL 9.7 answers."""
    for call, answer in (("format_bytes(1048577)", "1.00 MiB"), ("format_time(123456789)", "123.46 us"), ("format_path('/elsewhere/x')", "/elsewhere/x"),
                         ("format_statement(REPEAT('a', 100))", "a" * 30 + " ... " + "a" * 30), ("quote_identifier('a`b')", "`a``b`"),
                         ("extract_schema_from_file_name('/a/b/c.ibd')", "b"), ("extract_table_from_file_name('/a/b/c.ibd')", "c"), ("list_add('a,b', 'c')", "a,b,c"),
                         ("list_drop('a,b', 'a')", "b"), ("list_drop('a', 'a')", ""), ("ps_thread_id(NULL) = CONNECTION_ID()", 1), ("version_major() > 7", 1)):
        report.equal(server.address.execute(f"SELECT sys.{call}"), ((answer,),), f"sys.{call}")
    try:
        server.address.execute("SELECT sys.no_such_function(1)")
        report.fail("a function that sys does not have")
    except Exception as error:
        report.equal(error.args[0], 1235, "a function that sys does not have")


def events(report: Report, server: Server) -> None:
    """What tests/sql/events_of_sessions.test cannot show: other sessions, work that takes long, and what is left of sessions that are over."""
    watched, other = Watched(server), Watched(server)
    (thread,) = other.ask("SELECT CONNECTION_ID()")[0]
    watched.ask("UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME LIKE 'events_waits%' OR NAME LIKE 'events_stages%' OR NAME LIKE '%long'")
    server.address.execute("CREATE TABLE app.staged (id INT PRIMARY KEY AUTO_INCREMENT, filler CHAR(100))", "INSERT INTO app.staged (filler) SELECT UUID() FROM information_schema.COLUMNS",
                           "INSERT INTO app.staged (filler) SELECT filler FROM app.staged")
    other.ask("ALTER TABLE app.staged ADD KEY (filler)")
    rows = watched.ask(f"""SELECT EVENT_NAME, WORK_COMPLETED = WORK_ESTIMATED, NESTING_EVENT_TYPE FROM performance_schema.events_stages_history
        WHERE THREAD_ID = {thread} AND EVENT_NAME LIKE 'stage/innodb/alter table%' GROUP BY 1, 2, 3 ORDER BY 1""")
    names = [row[0] for row in rows]
    report.check("stage/innodb/alter table (insert)" in names and {row[2] for row in rows} == {"STATEMENT"}, "the stages of ALTER TABLE are events", f"{rows}")
    (count, total) = watched.ask("SELECT SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) FROM performance_schema.events_stages_summary_global_by_event_name WHERE EVENT_NAME LIKE 'stage/innodb/alter table%'")[0]
    report.check(count >= len(names) and total > 0, "and summed up", f"{count} {total}")
    other.ask("SELECT COUNT(*) FROM app.staged")
    waits = {name for (name,) in watched.ask(f"SELECT EVENT_NAME FROM performance_schema.events_waits_history WHERE THREAD_ID = {thread}")}
    report.check("idle" in waits, "single waits are kept", f"{waits}")
    other.connection.close()
    time.sleep(0.1)
    for kind in ("statements", "stages", "waits", "transactions"):
        (count,) = watched.ask(f"SELECT COUNT(*) FROM performance_schema.events_{kind}_history_long WHERE THREAD_ID = {thread}")[0]
        report.check(count > 0, f"the {kind} of a session that is over", f"{count}")
    watched.ask("TRUNCATE performance_schema.events_waits_summary_global_by_event_name")
    rows = watched.ask("SELECT EVENT_NAME, COUNT_STAR FROM performance_schema.events_waits_summary_global_by_event_name WHERE COUNT_STAR > 5")
    report.equal(rows, (), "the summaries of waits begin anew")
    watched.ask("UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = 'idle'")
    watched.ask("TRUNCATE performance_schema.events_waits_summary_global_by_event_name")
    for _ in range(3):
        watched.ask("SELECT 1")
    (count,) = watched.ask("SELECT COUNT_STAR FROM performance_schema.events_waits_summary_global_by_event_name WHERE EVENT_NAME = 'idle'")[0]
    report.equal(count, 0, "a wait that is switched off is not counted")
    watched.ask("UPDATE performance_schema.setup_instruments SET ENABLED = 'YES' WHERE NAME = 'idle'")
    watched.ask("UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME LIKE 'events_waits_history%' OR NAME LIKE 'events_stages%' OR NAME LIKE '%long'")
    for name in ("global_instrumentation", "statements_digest"):
        watched.ask(f"UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = '{name}'")
        watched.ask(f"SELECT 4711 AS {name}")
        watched.ask(f"UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = '{name}'")
    found = watched.ask("SELECT DIGEST_TEXT FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE 'SELECT ? AS `global_ins%' OR DIGEST_TEXT LIKE 'SELECT ? AS `statements_dig%'")
    report.equal(found, (), "no digest of what ran while nothing was collected")


def sessions(report: Report, server: Server) -> None:
    """Memory, transactions and encryption of other sessions, in sys."""
    watched, other = Watched(server), Watched(server)
    (thread,) = other.ask("SELECT CONNECTION_ID()")[0]
    other.ask("CREATE TABLE app.locked (id INT PRIMARY KEY)")
    other.ask("BEGIN")
    other.ask("INSERT INTO app.locked VALUES (1)")
    other.ask("SET @large = REPEAT('x', 3000000)")
    rows = watched.ask(f"SELECT trx_state, trx_autocommit, last_wait FROM sys.processlist WHERE conn_id = {thread}")
    report.equal(rows, (("ACTIVE", "NO", "idle"),), "sys.processlist has the transaction of a session, and what it waits for")
    (memory,) = watched.ask(f"SELECT current_allocated FROM sys.`x$memory_by_thread_by_current_bytes` WHERE thread_id = {thread}")[0]
    report.check(3_000_000 < memory < 30_000_000, "the memory of a session", f"{memory}")
    (by_user,) = watched.ask("SELECT SUM(current_allocated) FROM sys.`x$memory_by_user_by_current_bytes`")[0]
    report.check(by_user >= memory, "and by user", f"{by_user}")
    floors = dict(watched.ask("SELECT event_name, current_alloc FROM sys.`x$memory_global_by_current_bytes`"))
    report.check(floors["memory/tidemark/sessions"] >= 3_000_000, "and of all", f"{floors}")
    handles = watched.ask(f"SELECT OBJECT_NAME, EXTERNAL_LOCK FROM performance_schema.table_handles WHERE OWNER_THREAD_ID = {thread}")
    report.equal(handles, (("locked", "WRITE EXTERNAL"),), "the tables that it has in use")
    other.ask("ROLLBACK")
    (version, cipher) = watched.ask(f"SELECT ssl_version, ssl_cipher FROM sys.session_ssl_status WHERE thread_id = {thread}")[0]
    report.equal((version, cipher), other.ask("""SELECT (SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_version'),
        (SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher')""")[0], "what it is encrypted with")
    server.address.execute("CREATE USER often@'%' IDENTIFIED BY 'secret' FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2")
    try:
        Address(server.address.host, server.address.port, "often", "wrong").connect().close()
        report.fail("a wrong password is refused")
    except Exception as error:
        report.equal(error.args[0], 1045, "a wrong password is refused")
    rows = watched.ask("SELECT USER, LOCKED, FAILED_LOGIN_ATTEMPTS, REMAINING_LOGIN_ATTEMPTS, PASSWORD_LOCK_TIME, LOCKED_SINCE FROM performance_schema.temporary_account_locks")
    report.equal(rows, (("often", "NO", 3, 2, 2, None),), "and counted for the account")
    (start, end, size, full) = watched.ask("SELECT MIN(START_LSN), MAX(END_LSN), MIN(SIZE_IN_BYTES), MIN(IS_FULL) FROM performance_schema.innodb_redo_log_files")[0]
    tail = int(watched.status()["Tidemark_log_tail_lsn"])
    report.check(start <= tail < end and size > 0 and full == 0, "the files of the log", f"{start} {tail} {end} {size}")


def hosts(report: Report, server: Server) -> None:
    """From where connections were refused. The machine itself is not told of, so this needs another address of it than that of its loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))     # which sends nothing
            own = probe.getsockname()[0]
        except OSError:
            return report.skip("hosts", "the machine has no address but 127.0.0.1")
    with Server("monitoring-hosts", "--bind-address=0.0.0.0", "--max-connect-errors=3") as there:
        watched, outside = Watched(there), Address(own, there.port, "nobody", "wrong")
        for _ in range(2):
            socket.create_connection((own, there.port)).close()
        for _ in range(2):
            try:
                outside.connect().close()
                report.fail("a wrong password is refused")
            except Exception as error:
                report.equal(error.args[0], 1045, "a wrong password is refused")
        columns = "IP, SUM_CONNECT_ERRORS, COUNT_HANDSHAKE_ERRORS, COUNT_AUTHENTICATION_ERRORS, COUNT_HOST_BLOCKED_ERRORS, FIRST_SEEN <= LAST_ERROR_SEEN"
        ask = f"SELECT {columns} FROM performance_schema.host_cache"
        rows = until(lambda: watched.ask(ask), lambda rows: rows and rows[0][2] == 2)
        report.equal(rows, ((own, 2, 2, 2, 0, 1),), "broken logins and wrong passwords are counted for their host")
        socket.create_connection((own, there.port)).close()
        until(lambda: watched.ask(ask), lambda rows: rows and rows[0][1] == 3)
        try:
            outside.connect().close()
            report.fail("a host of too many broken logins is blocked")
        except Exception as error:
            report.equal(error.args[0], 1129, "a host of too many broken logins is blocked")
        report.equal(watched.ask(ask), ((own, 3, 3, 2, 1, 1),), "which is counted")
        watched.ask("TRUNCATE performance_schema.host_cache")
        report.equal(watched.ask(ask), (), "TRUNCATE forgets all hosts")
        try:
            outside.connect().close()
        except Exception as error:
            report.equal(error.args[0], 1045, "and with them that one was blocked")


def until(ask, holds, seconds: float = 5):
    """What is answered once it holds, or in the end."""
    end = time.monotonic() + seconds
    while not holds(answer := ask()) and time.monotonic() < end:
        time.sleep(0.02)
    return answer


CASES = (figures.figures, pages_and_files, metrics, connections, tables_and_indexes, pool, begun_anew, what_is_under_way, events, sessions, hosts, open_tables, functions, spans.spans, tools.tools)


def main() -> None:
    parser = suite_parser(__doc__)
    parser.add_argument("--record", metavar="HOST:PORT:USER", help="write mysql.json from this MySQL server, and do no more")
    parser.add_argument("--write", action="store_true", help="write what is missing into docs/compatibility.md")
    options = parser.parse_args()
    if options.record:
        return surface.record(Address.parse(options.record))
    report = Report("monitoring", options.filters)
    with Server("monitoring") as server:
        server.address.execute("CREATE DATABASE app")
        if report.wants("names"):
            names(report, server, options.write)
        for case in CASES:
            if report.wants(case.__name__):
                try:
                    case(report, server)
                except Exception as error:  # whatever went wrong in there is this case's failure
                    report.fail(case.__name__, f"{type(error).__name__}: {error}")
    report.close()


if __name__ == "__main__":
    main()

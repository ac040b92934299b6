#!/usr/bin/env python3
"""What the server tells people about locks, and how soon a wait ends that somebody ends.

    tests/lock_reports/run.py [--address HOST:PORT[:USER]]

`SHOW ENGINE INNODB STATUS` names the latest deadlock, with each transaction's statement, the locks it held and waited for and
who was rolled back, and the transactions that wait at this moment; `innodb_print_all_deadlocks` writes every deadlock to the
log; errors 1205 and 1213 have a note in SHOW WARNINGS, and a line in the log, that say who held what; `sys.innodb_lock_waits` says who waits for whom, since when, on which key, with which statement, and the KILL that it
names ends the wait, at once, as do KILL QUERY and a client that goes away. The text is InnoDB's and is read the same way from
MySQL with `--address`; the log is read only of a server of one's own.
"""
import re
import sys
import threading
import time
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address, hang_up  # noqa: E402
from support.patience import is_within  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

DATABASE = "lock_reports"
AT_ONCE_S = 1.0              # a wait that is ended has ended within this time
WAITS_AFTER_S = 30.0         # a statement meant to wait does so within this time


class Session:
    """A connection; `ask` runs a statement here, `start` on a thread of its own."""

    def __init__(self, address: Address):
        self.connection = address.connect(database=DATABASE)
        self.id = self.connection.thread_id()
        self.outcome: list = []
        self.thread: threading.Thread | None = None

    def ask(self, *statements: str) -> tuple:
        with self.connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return cursor.fetchall()

    def start(self, statement: str) -> None:
        def run():
            try:
                self.ask(statement)
                self.outcome.append("ok")
            except pymysql.err.MySQLError as error:
                self.outcome.append(error.args[0])

        self.outcome = []
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def end(self, within_s: float = 30.0):
        """What became of the statement that was started: `ok` or an error's number."""
        self.thread.join(within_s)
        return self.outcome[0] if self.outcome else "still waits"

    def close(self) -> None:
        try:
            self.connection.close()
        except pymysql.err.MySQLError:
            pass


class Scene:
    """A table of five rows, sessions by name, and somebody who looks at them."""

    def __init__(self, address: Address):
        address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}")
        self.address = address
        self.watcher = Session(address)
        self.watcher.ask("CREATE TABLE t (id INT PRIMARY KEY, k INT, v INT, KEY by_k (k))",
                         "INSERT INTO t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0), (4, 40, 0), (5, 50, 0)")
        self.sessions: list[Session] = []

    def session(self) -> Session:
        self.sessions.append(Session(self.address))
        return self.sessions[-1]

    def wait_until_waiting(self, *sessions: Session) -> None:
        ids = {session.id for session in sessions}
        deadline = time.monotonic() + WAITS_AFTER_S
        while not ids <= {row[0] for row in self.watcher.ask("SELECT waiting_pid FROM sys.innodb_lock_waits")}:
            if time.monotonic() > deadline:
                raise AssertionError(f"sessions {ids} should wait by now")
            time.sleep(0.01)

    def wait(self, session: Session, statement: str) -> None:
        session.start(statement)
        self.wait_until_waiting(session)

    def status(self) -> str:
        return self.watcher.ask("SHOW ENGINE INNODB STATUS")[0][2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for session in self.sessions:
            session.close()
        self.watcher.ask(f"DROP DATABASE {DATABASE}")
        self.watcher.close()


def section(status: str, title: str) -> str:
    """The text under a heading, up to the next one."""
    found = re.search(rf"^-+\n{title}\n-+\n(.*?)(?=^-{{4,}}\n[A-Z /]+\n-{{4,}}\n)", status, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


LOCK = re.compile(r"^RECORD LOCKS .*?index (\w+) of table `(\w+)`\.`(\w+)` .*?lock[_ ]mode (\w+)(.*)$", re.MULTILINE)


def locks(text: str) -> list[str]:
    """The record locks in a piece of the text, as `X locks rec but not gap on t.PRIMARY`."""
    return [f"{mode}{how.removesuffix(' waiting').rstrip()} on {table}.{index}"
            for index, _, table, mode, how in LOCK.findall(text)]


def deadlock(text: str) -> dict:
    """The text of one deadlock, taken apart."""
    members = []
    for part in re.split(r"^\*\*\* \(\d+\) TRANSACTION:\n", text, flags=re.MULTILINE)[1:]:
        about, _, rest = part.partition("HOLDS THE LOCK(S):")
        holds, _, waits = rest.partition("WAITING FOR THIS LOCK TO BE GRANTED:")
        thread = re.search(r"^MySQL thread id (\d+)", about, re.MULTILINE)
        statement = re.search(r"^(?:UPDATE|DELETE|INSERT|SELECT)\b.*$", about, re.MULTILINE)
        members.append({"thread": int(thread[1]) if thread else None, "statement": statement[0] if statement else None,
                        "holds": locks(holds), "waits": locks(waits.split("*** WE ROLL BACK")[0])})
    victim = re.search(r"^\*\*\* WE ROLL BACK TRANSACTION \((\d+)\)", text, re.MULTILINE)
    return {"members": members, "victim": int(victim[1]) if victim else None}


def make_deadlock(scene: Scene) -> tuple[Session, Session, list]:
    """The heavier transaction closes the cycle; the lighter one is rolled back."""
    light, heavy = scene.session(), scene.session()
    light.ask("BEGIN", "UPDATE t SET v = 1 WHERE id = 1")
    heavy.ask("BEGIN", "UPDATE t SET v = 2 WHERE id IN (2, 3, 4)")
    scene.wait(light, "UPDATE t SET v = 10 WHERE id = 2")
    heavy.start("UPDATE t SET v = 20 WHERE id = 1")
    return light, heavy, [light.end(), heavy.end()]


def two_in_a_deadlock(report: Report, address: Address) -> None:
    with Scene(address) as scene:
        light, heavy, ends = make_deadlock(scene)
        report.equal(ends, [1213, "ok"], "the lighter transaction is rolled back")
        found = deadlock(section(scene.status(), "LATEST DETECTED DEADLOCK"))
        by_thread = {member["thread"]: member for member in found["members"]}
        report.equal(sorted(by_thread), sorted([light.id, heavy.id]), "the deadlock names both connections")
        record = "X locks rec but not gap on t.PRIMARY"
        report.equal(by_thread[light.id], {"thread": light.id, "statement": "UPDATE t SET v = 10 WHERE id = 2",
                                           "holds": [record], "waits": [record]}, "the lighter one: statement, locks held and waited for")
        report.equal(by_thread[heavy.id], {"thread": heavy.id, "statement": "UPDATE t SET v = 20 WHERE id = 1",
                                           "holds": [record], "waits": [record]}, "the heavier one: statement, locks held and waited for")
        report.equal(found["members"][found["victim"] - 1]["thread"], light.id, "the text says which was rolled back")
        heavy.ask("COMMIT")
        again = deadlock(section(scene.status(), "LATEST DETECTED DEADLOCK"))
        report.equal(again, found, "the latest deadlock stays to be read")


def gaps_in_a_deadlock(report: Report, address: Address) -> None:
    """Two that found nothing and both insert: they hold the gap they wait to enter."""
    with Scene(address) as scene:
        one, two = scene.session(), scene.session()
        for session in (one, two):
            session.ask("BEGIN", "SELECT * FROM t WHERE k = 25 FOR UPDATE")
        one.ask("UPDATE t SET v = 1 WHERE id = 5")
        scene.wait(two, "INSERT INTO t VALUES (8, 26, 0)")
        one.start("INSERT INTO t VALUES (9, 27, 0)")
        report.equal([one.end(), two.end()], ["ok", 1213], "of two inserts into one gap the lighter is rolled back")
        found = deadlock(section(scene.status(), "LATEST DETECTED DEADLOCK"))
        for member in found["members"]:
            report.equal((member["holds"], member["waits"]),
                         (["X locks gap before rec on t.by_k"], ["X locks gap before rec insert intention on t.by_k"]),
                         f"the gap is held and waited for: {member['statement']}")


def three_in_a_deadlock(report: Report, address: Address) -> None:
    with Scene(address) as scene:
        sessions = [scene.session() for _ in range(3)]
        for number, session in enumerate(sessions, 1):
            session.ask("BEGIN", f"UPDATE t SET v = v + 1 WHERE id IN ({number}{', 4, 5' if number == 2 else ''})")
        scene.wait(sessions[0], "UPDATE t SET v = 0 WHERE id = 2")
        scene.wait(sessions[1], "UPDATE t SET v = 0 WHERE id = 3")
        sessions[2].start("UPDATE t SET v = 0 WHERE id = 1")
        report.equal(sessions[2].end(), 1213, "a cycle of three is broken")
        found = deadlock(section(scene.status(), "LATEST DETECTED DEADLOCK"))
        report.equal(sorted(member["thread"] for member in found["members"]), sorted(s.id for s in sessions), "all three are named")
        report.equal(found["members"][found["victim"] - 1]["thread"], sessions[2].id, "and the one that was rolled back")
        report.equal(sessions[1].end(), "ok", "the one behind the victim goes on")
        sessions[1].ask("COMMIT")
        report.equal(sessions[0].end(), "ok", "then the one behind that")


def waiting_transactions(report: Report, address: Address) -> None:
    with Scene(address) as scene:
        holder, waiter = scene.session(), scene.session()
        holder.ask("BEGIN", "UPDATE t SET v = 1 WHERE id = 3")
        scene.wait(waiter, "DELETE FROM t WHERE id = 3")
        time.sleep(1.2)
        text = section(scene.status(), "TRANSACTIONS")
        parts = re.split(r"^---TRANSACTION ", text, flags=re.MULTILINE)[1:]
        mine = {session: next((p for p in parts if f"MySQL thread id {session.id}," in p), "") for session in (holder, waiter)}
        report.check("LOCK WAIT" in mine[waiter] and "DELETE FROM t WHERE id = 3" in mine[waiter],
                     "a transaction that waits is shown with its statement", mine[waiter])
        waited = re.search(r"TRX HAS BEEN WAITING (\d+) SEC FOR THIS LOCK TO BE GRANTED:", mine[waiter])
        report.check(waited is not None and 1 <= int(waited[1]) <= 20, "and since when", mine[waiter])
        report.equal(locks(mine[waiter]), ["X locks rec but not gap on t.PRIMARY"], "and for which lock")
        active = re.search(r"^\d+, ACTIVE (\d+) sec", mine[holder])
        report.check(active is not None and int(active[1]) >= 1 and "LOCK WAIT" not in mine[holder],
                     "the one it waits for is shown with its age", mine[holder])
        report.check("undo log entries 1" in mine[holder], "and what it has changed", mine[holder])
        holder.ask("ROLLBACK")
        report.equal(waiter.end(), "ok", "the wait ends with the holder")


def who_waits_for_whom(report: Report, address: Address) -> None:
    """Every way to end a wait: each within a second, and whoever waited behind goes on."""
    ask = """SELECT waits.waiting_pid, waits.blocking_pid, waits.waiting_query, waits.locked_index, locks.LOCK_DATA, waits.wait_age_secs,
        waits.sql_kill_blocking_query, waits.sql_kill_blocking_connection
      FROM sys.innodb_lock_waits AS waits
      JOIN performance_schema.data_locks AS locks ON locks.ENGINE_LOCK_ID = waits.waiting_lock_id"""
    with Scene(address) as scene:
        holder, waiter, behind = scene.session(), scene.session(), scene.session()
        holder.ask("BEGIN", "SELECT * FROM t WHERE k = 20 FOR UPDATE")
        scene.wait(waiter, "UPDATE t SET v = 1 WHERE k = 20")
        rows = scene.watcher.ask(ask)
        report.check(len(rows) == 1, "one wait is one row", repr(rows))
        pid, blocker, query, index, key, age, kill_query, kill = rows[0]
        report.equal((pid, blocker, query), (waiter.id, holder.id, "UPDATE t SET v = 1 WHERE k = 20"), "who waits for whom, with which statement")
        report.equal((index, key), ("by_k", "20, 2"), "on which key")
        report.check(0 <= age <= 20, "since when", repr(age))
        report.equal((kill_query, kill), (f"KILL QUERY {holder.id}", f"KILL {holder.id}"), "and what would end it")

        def ends(name: str, session: Session, expected, how) -> None:
            started = time.monotonic()
            how()
            end = session.end()
            took = time.monotonic() - started
            report.check(end == expected and is_within(took, AT_ONCE_S), name, f"expected {expected}, saw {end} after {took:.1f} s")

        ends("the KILL it names ends the wait at once", waiter, "ok", lambda: scene.watcher.ask(kill))
        holder = scene.session()
        holder.ask("BEGIN", "UPDATE t SET v = 2 WHERE id = 2")
        waiter.ask("BEGIN", "UPDATE t SET v = 3 WHERE id = 4")
        scene.wait(waiter, "UPDATE t SET v = 3 WHERE id = 2")
        scene.wait(behind, "UPDATE t SET v = 4 WHERE id = 4")
        ends("KILL QUERY ends one's own wait at once", waiter, 1317, lambda: scene.watcher.ask(f"KILL QUERY {waiter.id}"))
        report.equal(waiter.ask("SELECT v FROM t WHERE id = 4"), ((3,),), "and the transaction goes on")
        report.equal(behind.end(0.2), "still waits", "so that its locks are still in the way")
        scene.wait(waiter, "UPDATE t SET v = 3 WHERE id = 2")
        ends("KILL of one that waits frees those behind it at once", behind, "ok", lambda: scene.watcher.ask(f"KILL {waiter.id}"))
        report.check(waiter.end() in (2013, 1317), "and ends its statement", repr(waiter.outcome))

        waiter = scene.session()
        waiter.ask("BEGIN", "UPDATE t SET v = 5 WHERE id = 5")
        scene.wait(waiter, "UPDATE t SET v = 5 WHERE id = 2")
        scene.wait(behind, "UPDATE t SET v = 6 WHERE id = 5")
        if not scene.watcher.ask("SELECT VERSION() LIKE '%tidemark%'")[0][0]:
            report.skip("a client that goes away while it waits frees those behind it at once", "MySQL notices when the wait is over")
            scene.watcher.ask(f"KILL {waiter.id}")
        else:
            ends("a client that goes away while it waits frees those behind it at once", behind, "ok", lambda: hang_up(waiter.connection))
        scene.wait(behind, "UPDATE t SET v = 7 WHERE id = 2")
        ends("a client that goes away while idle frees those behind it at once", behind, "ok", lambda: hang_up(holder.connection))
        report.equal(scene.watcher.ask("SELECT COUNT(*) FROM performance_schema.data_lock_waits"), ((0,),), "nobody waits any longer")


def hottest_rows(report: Report, server: Server) -> None:
    """The row that everybody updates is the first named, with the versions that an open view keeps alive."""
    with Scene(server.address) as scene:
        reader, writer = scene.session(), scene.session()
        reader.ask("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        for _ in range(2000):
            writer.ask("UPDATE t SET v = v + 1 WHERE id = 4")
        rows = scene.watcher.ask(f"SELECT table_name, row_key, updates, versions FROM sys.tidemark_hot_rows WHERE table_schema = '{DATABASE}'")
        report.check(len(rows) >= 1 and rows[0][:2] == ("t", "4"), "the hottest row is named by its key", repr(rows))
        report.check(1 <= rows[0][3] <= 3, "and how many old versions it has", repr(rows))
        text = section(scene.status(), "READ VIEWS AND PURGE")
        report.check(f"`{DATABASE}`.`t` (4): " in text, "the status text names it, too", text)
        report.check(re.search(r"^Purge lag \d+ transactions, \d+ seconds$", text, re.MULTILINE) is not None, "and the purge lag", text)
        report.check(re.search(r"^Longest chain \d+ versions$", text, re.MULTILINE) is not None, "and the longest chain", text)


def log_of_deadlocks(report: Report, server: Server) -> None:
    def logged() -> str:
        return server.output.read_text(errors="replace")

    with Scene(server.address) as scene:
        time.sleep(1.1)  # the log has one such line a second
        victim = make_deadlock(scene)[0]
        report.check("deadlock detected" not in logged() and "HOLDS THE LOCK" not in logged(), "a deadlock is not written to the log in full unasked")
        lines = [line for line in logged().splitlines() if f"connection {victim.id} is rolled back to end a deadlock" in line]
        report.check(len(lines) == 1 and "UPDATE t SET v = 20 WHERE id = 1" in lines[0], "but in one line, with the statement of the other", repr(lines))
        for session in scene.sessions:
            session.ask("ROLLBACK")
        scene.watcher.ask("SET GLOBAL innodb_print_all_deadlocks = ON")
        before = len(logged())
        threads = []
        for _ in range(2):
            light, heavy, _ = make_deadlock(scene)
            threads.append(sorted([light.id, heavy.id]))
            light.ask("ROLLBACK")
            heavy.ask("ROLLBACK")
        found = re.split(r"(?=transactions deadlock detected)", logged()[before:])[1:]
        seen = [deadlock(text) for text in found]
        report.equal([sorted(m["thread"] for m in one["members"]) for one in seen], threads, "innodb_print_all_deadlocks logs every one")
        report.equal([[m["statement"] for m in one["members"]] for one in seen],
                     [["UPDATE t SET v = 10 WHERE id = 2", "UPDATE t SET v = 20 WHERE id = 1"]] * 2
                     if [m["thread"] for m in seen[0]["members"]] == threads[0] else
                     [["UPDATE t SET v = 20 WHERE id = 1", "UPDATE t SET v = 10 WHERE id = 2"]] * 2, "with both statements")
        report.check(all(one["victim"] for one in seen), "and who was rolled back")
        scene.watcher.ask("SET GLOBAL innodb_print_all_deadlocks = OFF")


def plan_of_another(report: Report, address: Address) -> None:
    """EXPLAIN FOR CONNECTION shows what EXPLAIN shows of the same statement."""
    with Scene(address) as scene:
        holder, waiter = scene.session(), scene.session()
        holder.ask("BEGIN", "UPDATE t SET v = 1 WHERE id = 3")
        for statement in ("UPDATE t SET v = 1 WHERE k > 20 AND k < 40", "DELETE FROM t WHERE id > 2", "INSERT INTO t SELECT id + 10, k, v FROM t WHERE k = 30"):
            scene.wait(waiter, statement)
            for form in ("TRADITIONAL", "TREE"):
                seen = scene.watcher.ask(f"EXPLAIN FORMAT={form} FOR CONNECTION {waiter.id}")
                report.equal(seen, scene.watcher.ask(f"EXPLAIN FORMAT={form} {statement}"), f"the plan of what another session runs, as {form}: {statement}")
            scene.watcher.ask(f"KILL QUERY {waiter.id}")
            waiter.end()
        holder.ask("ROLLBACK")


def where_time_goes(report: Report, server: Server) -> None:
    """A wait under way is in events_waits_current, one that is over in SHOW PROFILE; errors are counted by account."""
    with Scene(server.address) as scene:
        holder, waiter = scene.session(), scene.session()
        holder.ask("BEGIN", "UPDATE t SET v = 1 WHERE k = 30")
        waiter.ask("SET profiling = 1")
        scene.wait(waiter, "UPDATE t SET v = 2 WHERE k = 30")
        time.sleep(0.3)
        now = "SELECT event_name, object_schema, object_name, index_name, operation, timer_wait BETWEEN 2e11 AND 2e13 " \
              "FROM performance_schema.events_waits_current WHERE thread_id = {}"
        report.equal(scene.watcher.ask(now.format(waiter.id)), (("wait/lock/row/innodb/record", DATABASE, "t", "by_k", "lock", 1),),
                     "the wait for a row is there, with its index")
        report.equal(scene.watcher.ask(now.format(holder.id))[0][:5], ("idle", None, None, None, "idle"), "and the wait for a client")
        holder.ask("ROLLBACK")
        waiter.end()
        stages = waiter.ask("SELECT state, duration FROM information_schema.PROFILING WHERE query_id = 1")
        waited = [float(time) for state, time in stages if state == "waiting for a row lock"]
        report.check(len(waited) == 1 and waited[0] > 0.2, "SHOW PROFILE says how long it was", repr(stages))
        count = "SELECT SUM(sum_error_raised) FROM performance_schema.events_errors_summary_by_{} WHERE error_number = 1064"
        before = [scene.watcher.ask(count.format(by))[0][0] or 0 for by in ("account_by_error", "user_by_error", "host_by_error")]
        for _ in range(3):
            try:
                holder.ask("NOTHING")
            except pymysql.err.ProgrammingError:
                pass
        after = [scene.watcher.ask(count.format(by))[0][0] or 0 for by in ("account_by_error", "user_by_error", "host_by_error")]
        report.equal([now - then for now, then in zip(after, before)], [3] * 3, "errors are counted by account, user and host")
        own = scene.watcher.ask(count.format("thread_by_error") + f" AND thread_id = {holder.id}")
        report.equal(own[0][0], 3, "and by session")


def why_it_failed(report: Report, server: Server) -> None:
    """What SHOW WARNINGS has beside 1205 and 1213, for those who may see everything, and for those who may not."""
    def notes(session: Session) -> list[tuple]:
        return [row for row in session.ask("SHOW WARNINGS") if row[0] == "Note"]

    with Scene(server.address) as scene:
        holder, waiter = scene.session(), scene.session()
        holder.ask("BEGIN", "UPDATE t SET v = 1 WHERE id = 3")
        waiter.ask("SET innodb_lock_wait_timeout = 1")
        waiter.start("UPDATE t SET v = 2 WHERE id = 3")
        report.equal(waiter.end(), 1205, "a wait that takes too long fails")
        found = notes(waiter)
        expected = (rf"Waited 1\.\d s for X,REC_NOT_GAP on {DATABASE}\.t PRIMARY \(3\)\. In the way: connection {holder.id} of 'root'@'[\w.]+' "
                    r"with X,REC_NOT_GAP, in transaction \d+, open for \d\.\d s, idle for \d\.\d s after: UPDATE t SET v = 1 WHERE id = 3")
        report.check(len(found) == 1 and found[0][1] == 1205 and re.fullmatch(expected, found[0][2]), "a note says who had the lock, since when, by what", repr(found))
        log = server.output.read_text(errors="replace")
        report.check(re.search(rf"connection {waiter.id} has waited for a lock too long\. Waited 1\.\d s for .* connection {holder.id} of", log), "and so does the log")
        report.equal(waiter.ask("SELECT 1"), ((1,),), "the session goes on")
        report.equal(notes(waiter), [], "and the next statement has no such note")

        waiter.ask("SET sql_notes = 0")
        waiter.start("UPDATE t SET v = 2 WHERE id = 3")
        waiter.end()
        report.equal(notes(waiter), [], "without sql_notes there is none")
        waiter.ask("SET sql_notes = 1", "SET lock_wait_timeout = 1")
        waiter.start("ALTER TABLE t ADD COLUMN w INT")
        report.equal(waiter.end(), 1205, "a wait for a definition fails likewise")
        found = notes(waiter)
        expected = (rf"Asked for EXCLUSIVE on the definition of {DATABASE}\.t\. In the way: connection {holder.id} of 'root'@'[\w.]+' with SHARED_WRITE, "
                    r"idle for \d\.\d s after: UPDATE t SET v = 1 WHERE id = 3")
        report.check(len(found) == 1 and re.fullmatch(expected.replace("EXCLUSIVE", r"\w+"), found[0][2]), "with a note that says who uses the table", repr(found))
        holder.ask("ROLLBACK")

        light, heavy, _ = make_deadlock(scene)
        found = notes(light)
        expected = (rf"connection {heavy.id} of 'root'@'[\w.]+', in transaction \d+, open for \d\.\d s, running: UPDATE t SET v = 20 WHERE id = 1 waited for "
                    rf"X,REC_NOT_GAP on {DATABASE}\.t PRIMARY \(1\), which this transaction has; This transaction waited for X,REC_NOT_GAP on {DATABASE}\.t "
                    rf"PRIMARY \(2\), which connection {heavy.id} has")
        report.check(len(found) == 1 and found[0][1] == 1213 and re.fullmatch(expected, found[0][2]), "a deadlock's victim reads who held and wanted what", repr(found))
        heavy.ask("ROLLBACK")

        scene.watcher.ask("CREATE USER IF NOT EXISTS few@'%'", f"GRANT UPDATE, SELECT (id) ON {DATABASE}.t TO few@'%'")
        holder.ask("BEGIN", "UPDATE t SET v = 1 WHERE id = 3")
        few = Address(server.address.host, server.address.port, "few").connect(database=DATABASE)
        with few.cursor() as cursor:
            cursor.execute("SET innodb_lock_wait_timeout = 1")
            try:
                cursor.execute("UPDATE t SET v = 5 WHERE id = 3")
            except pymysql.err.OperationalError:
                pass
            cursor.execute("SHOW WARNINGS")
            found = [row[2] for row in cursor.fetchall() if row[0] == "Note"]
        few.close()
        expected = rf"Waited 1\.\d s for X,REC_NOT_GAP on {DATABASE}\.t PRIMARY\. In the way: connection {holder.id} with X,REC_NOT_GAP, in transaction \d+, open for \d\.\d s"
        report.check(len(found) == 1 and re.fullmatch(expected, found[0]), "whoever may not see other users' statements, nor the row's key, reads neither", repr(found))
        scene.watcher.ask("DROP USER few@'%'")


CASES = (two_in_a_deadlock, gaps_in_a_deadlock, three_in_a_deadlock, waiting_transactions, who_waits_for_whom, plan_of_another)


def main() -> None:
    parser = suite_parser(__doc__)
    parser.add_argument("--address", help="HOST:PORT[:USER]")
    options = parser.parse_args()
    report = Report("lock_reports", options.filters)

    def run(case, about) -> None:
        if not report.wants(case.__name__):
            return
        try:
            case(report, about)
        except Exception as error:  # whatever went wrong in there is this case's failure
            report.fail(case.__name__, f"{type(error).__name__}: {error}")

    if options.address:
        for case in CASES:
            run(case, Address.parse(options.address))
    else:
        with Server("lock_reports") as server:
            for case in CASES:
                run(case, server.address)
            run(log_of_deadlocks, server)
            run(why_it_failed, server)
            run(where_time_goes, server)
            run(hottest_rows, server)
    report.close()


if __name__ == "__main__":
    main()

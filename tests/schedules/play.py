"""Plays a schedule on one server and writes down what there was to see.

The statements of all sessions are sent from one thread, without waiting for those that block: what each step shows is the
answer, or that the statement waits, and which of those that waited have been woken by it, with their answers. A step is
over when every statement under way has answered or waits for a lock, which the server is asked (`support/waits.py`), so
that nothing here is decided by time.

What is deleted must not vanish in the middle: a record that is only marked as deleted can still be locked, and when purge
comes for it is the server's affair. An old view, held open while the schedule runs, keeps purge away on both sides; Tidemark,
which puts such records out of the way even so, is told to leave them (`tidemark_bury_after`).
"""
import select
import sys
import time
from pathlib import Path

import pymysql
from pymysql.constants import CLIENT, COMMAND

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import golden  # noqa: E402
from support.address import Address  # noqa: E402
from support.waits import Observer, Wait, has_cycle  # noqa: E402

from family import CHILDREN  # noqa: E402
from generate import NAMES, Schedule  # noqa: E402

ANSWER_AT_ONCE_S = 0.002       # most answers are there by then; after it, the server is asked
LOOK_AGAIN_AFTER_S = 0.001
DEADLOCK_FOUND_WITHIN_S = 0.004   # MariaDB says that two wait, not for whom: the look that counts comes this much later
SILENT_AFTER_S = 0.03          # a server that does not tell who waits is given this long to answer
CYCLE_BROKEN_WITHIN_S = 3.0    # a deadlock that InnoDB sees; it does not see one behind the second owner of a shared lock
HANGS_AFTER_S = 20.0
# The other way to write DELETE is the one that takes a hint; MySQL, on so small a table, needs none.
FOR_MARIADB = [(" FOR SHARE", " LOCK IN SHARE MODE"), ("DELETE FROM t WHERE k", "DELETE t FROM t FORCE INDEX (k) WHERE k")]
TABLES = [*reversed(CHILDREN), "t"]     # children go before their parents

Transcript = list[list[str]]


class Hang(Exception):
    """A statement neither answers nor waits, or all wait and nobody is left to wake them."""


class Session:
    """A connection whose answers are fetched when they are there."""

    def __init__(self, address: Address, database: str):
        self.connection = address.connect(database=database, conv={}, client_flag=CLIENT.MULTI_STATEMENTS, autocommit=None)
        self.id = self.connection.thread_id()
        self.step: golden.Step | None = None

    def send(self, sql: str) -> None:
        tags = "[code] [sorted] " if sql.startswith("SELECT") else "[code] "
        self.step = golden.Step([tags + sql])
        self.connection._execute_command(COMMAND.COM_QUERY, self.step.sql)

    def answer(self, within_s: float) -> list[str] | None:
        if not select.select([self.connection._sock], [], [], within_s)[0]:
            return None
        step, self.step = self.step, None
        try:
            self.connection._read_query_result()
            return golden.show_result(self.connection._result, step)
        except pymysql.err.MySQLError as error:
            state = golden.sqlstate(self.connection, error.args[0])
            if error.args[0] in (2006, 2013):
                raise
            return [f"ERROR {error.args[0]} ({state})"]

    def ask(self, sql: str) -> list[str]:
        """The answer to a statement that waits for nobody."""
        self.send(sql)
        lines = self.answer(HANGS_AFTER_S)
        if lines is None:
            raise Hang(sql)
        return lines

    def execute(self, *statements: str) -> None:
        for sql in statements:
            if (lines := self.ask(sql))[0].startswith("ERROR"):
                raise ValueError(f"{sql}: {lines[0]}")


class Player:
    """A lane on one server: a database, four sessions, a view that is held open."""

    def __init__(self, address: Address, lane: str, metadata: bool = False):
        self.database = f"schedules_{lane}"
        address.execute(f"DROP DATABASE IF EXISTS {self.database}", f"CREATE DATABASE {self.database}")
        self.sessions = {name: Session(address, self.database) for name in NAMES}
        self.keeper, self.clerk = Session(address, self.database), Session(address, self.database)
        self.observer = Observer(address, metadata)
        if "tidemark" in self.observer.connection.get_server_info():
            address.execute("SET GLOBAL tidemark_bury_after = 3600000")
        self.hangs = False
        self.waits: dict[int, Wait] = {}   # who waits, at the end of the last step
        self.let_go: list[int] = []        # how many sessions waited, at each step, for the one that took it
        self.places: list[str] = []        # for what lock each step was seen to wait, or the others after it
        self.translate = FOR_MARIADB if self.observer.is_mariadb else []

    def close(self) -> None:
        for session in (*self.sessions.values(), self.keeper, self.clerk):
            session.connection._force_close()
        self.observer.connection.cursor().execute(f"DROP DATABASE IF EXISTS {self.database}")
        self.observer.close()

    def prepare(self, schedule: Schedule) -> dict[str, Session]:
        """The table with its rows, those that are to be deleted deleted, and the sessions at their levels."""
        self.clerk.execute(f"DROP TABLE IF EXISTS {', '.join(TABLES)}", *schedule.create(), *schedule.setup())
        sessions = {name: self.sessions[name] for name in schedule.levels}
        for name, level in schedule.levels.items():
            sessions[name].execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        self.keeper.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        self.clerk.execute("DO 0", *schedule.bury())
        self.waits, self.let_go, self.places = {}, [], []
        return sessions

    def play(self, schedule: Schedule) -> Transcript:
        """What each step shows, then what the sessions say when they end, then the rows by each index."""
        sessions = self.prepare(schedule)
        transcript = [self.step(sessions, name, sql) for name, sql in schedule.steps]
        while any(session.step for session in sessions.values()):
            free = [name for name, session in sessions.items() if not session.step]
            before = len(free)
            for name in free:
                transcript.append(self.step(sessions, name, "COMMIT"))
            if before == len([s for s in sessions.values() if not s.step]):
                raise Hang("everybody waits")
        for session in sessions.values():
            session.execute("COMMIT")
        self.keeper.execute("COMMIT")
        return transcript + [self.clerk.ask(sql) for sql in schedule.look()]

    def step(self, sessions: dict[str, Session], name: str, sql: str) -> list[str]:
        asked = sessions[name]
        self.let_go.append(0 if asked.step else self.waiting_for(asked))
        self.places.append("")
        if asked.step:
            return ["(still waiting)"]
        for theirs, ours in self.translate:
            sql = sql.replace(theirs, ours)
        asked.send(sql)
        answers = self.settle(sessions, asked)
        if self.translate and asked in answers and "NOWAIT" in sql:
            answers[asked] = [line.replace("1205 (HY000)", "3572 (HY000)") for line in answers[asked]]
        lines = answers.pop(asked, ["waits"])
        for woken, session in sessions.items():
            lines = lines + [f"{woken} woke: {line}" for line in answers.get(session, [])]
        return lines

    def waiting_for(self, session: Session) -> int:
        """How many wait for it, if several wait for anybody."""
        if len(self.waits) < 2 or not self.observer.tells_locks:
            return 0
        owners = self.observer.owners()
        return sum(any(owners.get(blocker) == session.id for blocker in wait.blockers) for wait in self.waits.values())

    def settle(self, sessions: dict[str, Session], asked: Session) -> dict[Session, list[str]]:
        answers: dict[Session, list[str]] = {}
        started = time.monotonic()
        answer = asked.answer(ANSWER_AT_ONCE_S)
        if answer is not None:
            answers[asked] = answer
        seen, since = None, started
        while True:
            for session in sessions.values():
                if session.step and (answer := session.answer(0)) is not None:
                    answers[session] = answer
                    seen = None
            silent = {session.id for session in sessions.values() if session.step}
            if not silent:
                self.waits = {}
                return answers
            elapsed = time.monotonic() - started
            if not self.observer.tells_waits:
                if seen == silent and elapsed > SILENT_AFTER_S:
                    return answers
                if seen != silent:
                    seen, started = silent, time.monotonic()
                select.select([s.connection._sock for s in sessions.values() if s.step], [], [], SILENT_AFTER_S)
                continue
            waits = {connection: wait for connection, wait in self.observer.waits().items() if connection in silent}
            if waits != seen:
                since = time.monotonic()
            is_cycle = has_cycle(waits)
            if waits.keys() == silent and not (is_cycle and time.monotonic() - since < CYCLE_BROKEN_WITHIN_S):
                if waits == seen:
                    self.waits = waits
                    self.places[-1] = "; ".join(wait.lock for wait in ([waits[asked.id]] if asked.step else waits.values()))
                    return answers
                seen = waits
                if self.observer.is_mariadb and len(waits) > 1:
                    time.sleep(DEADLOCK_FOUND_WITHIN_S)
                continue
            seen = waits if is_cycle else None
            if elapsed > HANGS_AFTER_S:
                raise Hang(", ".join(s.step.sql for s in sessions.values() if s.step))
            select.select([s.connection._sock for s in sessions.values() if s.step], [], [], LOOK_AGAIN_AFTER_S)

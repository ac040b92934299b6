#!/usr/bin/env python3
"""Golden scripts: a text file per behaviour, which reads as what one would type and see.

    tests/golden.py [FILE|FOLDER|FILTER ...]                              compare, with a Tidemark server of its own
    tests/golden.py --address 127.0.0.1:3306 [FILE|FOLDER ...]            compare with that server
    tests/golden.py --address 127.0.0.1:3306:USER --record [FILE ...]     write down what that server answers
    tests/golden.py --against 127.0.0.1:3306:USER [FILE|FOLDER ...]       compare with MySQL, which may differ where a file says so

A file is a transcript: a statement, and indented under it what happened.

    # A comment.
    t1: BEGIN
        ok
    t1: UPDATE t SET v = 11 WHERE id = 1
        ok, 1 row (Rows matched: 1  Changed: 1  Warnings: 0)
    t2: UPDATE t SET v = 12 WHERE id = 1
        waits
    t1: COMMIT
        ok
        t2 woke: ok, 1 row (Rows matched: 1  Changed: 1  Warnings: 0)
    locks
        (none)

`waits` may go on to say for whom and for what lock: `waits for t1: X,REC_NOT_GAP on t.PRIMARY (1)`. `locks` shows what
the named sessions hold and ask for (`t1: locks` those of one session). Both come from `performance_schema.data_locks`,
and a server that has no such table is not asked. `t1: disconnect` drops a connection.

`t1:` names a session, a connection of its own; a statement without a name belongs to an unnamed session. A line that
ends with a backslash is continued on the next. Tags before a statement change how it is shown: `[sorted]` sorts the
rows, `[types]` adds each column's type to its name, `[code]` leaves out the text of an error, `[quiet]` leaves out the
answer unless it is an error, `[warnings]` counts the warnings of a statement other than INSERT, REPLACE, UPDATE and
DELETE, `[vertical]` shows a row as `name: value` lines. `{t1}` stands for the connection id of session t1. A session
with a waiting statement can only be woken by another, or by time: `pause 1.5` lets so many seconds go by.

Every file starts in an empty database, `golden`, with the server's default variables. A comment `# With --NAME=VALUE`
says what the server must have been started with: such a file has a Tidemark server of its own, and is skipped with an
`--address` whose server was not. A comment `# Not with TIDEMARK_NAME` skips the file where the environment has that.

The files are recorded from MySQL (those in `snapshot_isolation`, which MySQL has not, from MariaDB), so they say what MySQL
does. Where Tidemark means to differ, the file says so among its first lines, `# Differs from MySQL: REASON`, and REASON is
the first cell of a row in docs/compatibility.md. `--against` holds both to their word: a file that is so marked must not
agree with MySQL, and any other must.
"""
import difflib
import os
import queue
import re
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE, FLAG

from support.address import Address, hang_up
from support.patience import is_within, patience
from support.report import Report, suite_parser
from support.server import Server
from support.waits import Observer, Wait, has_cycle

HERE = Path(__file__).resolve().parent
COMPATIBILITY = HERE.parent / "docs/compatibility.md"
DEFAULT_LEVEL = "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"    # whatever the server at --address was told
LANES = 4                    # servers of its own that play scripts at the same time
ANSWER_AT_ONCE_S = 0.02      # before the server is asked whether a statement waits
LOOK_AGAIN_AFTER_S = 0.01
BLOCKED_AFTER_S = 2.0        # recording: a statement that takes longer, and is not said to wait, waits for a metadata lock
STILL_BLOCKED_S = 0.25       # comparing: such a statement must not have answered by then
NOTICED_WITHIN_S = 1.0       # on an idle machine: a client that went away while its statement waits
ANSWER_WITHIN_S = 30.0       # comparing: a statement said to answer must have answered by then

INDENT = "    "
DIFFERS = re.compile(r"^# Differs from MySQL: (.+)$", re.MULTILINE)
WARNS = re.compile(r"\s*(INSERT|REPLACE|UPDATE|DELETE)\b", re.IGNORECASE)   # their warnings are part of the answer
STEP = re.compile(r"^(?:(?P<session>[a-z]\w*):\s+)?(?P<tags>(?:\[\w+\]\s*)*)(?P<sql>.*)$", re.DOTALL)
TYPE_NAMES = {value: name for name, value in vars(FIELD_TYPE).items() if name.isupper() and name not in ("CHAR", "INTERVAL")}
UNSIGNED_KINDS = {FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG,
                  FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE, FIELD_TYPE.NEWDECIMAL}
BINARY_CHARSET = 63


class Step:
    """A statement as written, and the lines expected under it."""

    def __init__(self, written: list[str]):
        self.written = written
        self.expected: list[str] = []
        match = STEP.match("\n".join(line.removesuffix("\\") for line in written))
        self.session = match["session"] or ""
        self.tags = set(re.findall(r"\w+", match["tags"]))
        self.sql = match["sql"].strip()


def parse(text: str) -> list[Step | str]:
    """Steps, and between them the comments and empty lines as they stand."""
    items: list[Step | str] = []
    continued: list[str] = []
    for line in text.splitlines():
        if line.startswith(INDENT) and not continued:
            items[-1].expected.append(line[len(INDENT):])
        elif line.endswith("\\"):
            continued.append(line)
        elif continued or (line and not line.startswith("#")):
            items.append(Step(continued + [line]))
            continued = []
        else:
            items.append(line)
    return items


def type_name(field) -> str:
    name = TYPE_NAMES.get(field.type_code, str(field.type_code)).lower()
    words = [name]
    if field.type_code in (FIELD_TYPE.NEWDECIMAL, FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE):
        words.append(f"scale {field.scale}")
    if field.type_code in UNSIGNED_KINDS and field.flags & FLAG.UNSIGNED:
        words.append("unsigned")
    if field.flags & FLAG.NOT_NULL:
        words.append("not null")
    for flag, word in ((FLAG.PRI_KEY, "primary key"), (FLAG.UNIQUE_KEY, "unique key"), (FLAG.MULTIPLE_KEY, "key"),
                       (FLAG.AUTO_INCREMENT, "auto_increment"), (FLAG.ENUM, "enum")):
        if field.flags & flag:
            words.append(word)
    if field.type_code in (FIELD_TYPE.VAR_STRING, FIELD_TYPE.STRING, FIELD_TYPE.BLOB) and field.charsetnr == BINARY_CHARSET:
        words.append("binary")
    return " ".join(words)


def cell(value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        try:
            text = value.decode("ascii")
            if text.isprintable():
                return text
        except UnicodeDecodeError:
            pass
        return "0x" + value.hex()
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t").replace("\0", "\\0")


def info_text(message: bytes | None) -> str:
    """The sentence at the end of an OK packet, which PyMySQL leaves with its length in front."""
    if not message:
        return ""
    return message[1:].decode() if message[0] == len(message) - 1 else f"not length-encoded: {message!r}"


def show_result(result, step: Step) -> list[str]:
    if result.description is None:
        parts = ["ok"]
        if result.affected_rows:
            parts.append(f"{result.affected_rows} row" + ("s" if result.affected_rows != 1 else ""))
        if result.insert_id:
            parts.append(f"id {result.insert_id}")
        if result.warning_count and (WARNS.match(step.sql) or "warnings" in step.tags):
            parts.append(f"{result.warning_count} warning" + ("s" if result.warning_count != 1 else ""))
        info = info_text(result.message)
        return [", ".join(parts) + (f" ({info})" if info else "")]
    names = [cell(f.name) + (f" ({type_name(f)})" if "types" in step.tags else "") for f in result.fields]
    rows = [[cell(v) for v in row] for row in result.rows]
    if "sorted" in step.tags:
        rows.sort()
    warnings = []
    if result.warning_count and "warnings" in step.tags:
        warnings = [f"({result.warning_count} warning{'s' if result.warning_count != 1 else ''})"]
    if "vertical" in step.tags:
        cells = (f"{name}: {value}" for row in rows for name, value in zip(names, row))
        return [line for text in cells for line in text.replace("\\n", "\n").splitlines()] + warnings
    lines = [" | ".join(row).rstrip() or "''" for row in rows] or ["(no rows)"]
    return [" | ".join(names)] + lines + warnings


class Session(threading.Thread):
    """A connection and the thread that runs its statements one at a time."""

    def __init__(self, address: Address):
        super().__init__(daemon=True)
        self.connection = address.connect(database="golden", conv={}, client_flag=CLIENT.MULTI_STATEMENTS, autocommit=None,
                                          init_command=DEFAULT_LEVEL)
        self.id = self.connection.thread_id()
        self.work: queue.Queue = queue.Queue()
        self.answers: queue.Queue = queue.Queue()
        self.step: Step | None = None       # what it has been given and has not answered
        self.start()

    def run(self):
        while (step := self.work.get()) is not None:
            self.answers.put(self._perform(step))

    def perform(self, step: Step) -> None:
        self.step = step
        self.work.put(step)

    def _perform(self, step: Step) -> list[str]:
        lines = []
        try:
            self.connection.query(step.sql)
            lines += show_result(self.connection._result, step)
            while self.connection._result.has_next:
                self.connection.next_result()
                lines += show_result(self.connection._result, step)
        except pymysql.err.MySQLError as error:
            code, message = (error.args + ("", ""))[:2]
            state = sqlstate(self.connection, code)
            lines.append(f"ERROR {code} ({state})" + ("" if "code" in step.tags else f": {message}"))
            return lines
        return [] if "quiet" in step.tags else lines

    def answer(self, within_s: float) -> list[str] | None:
        try:
            answer = self.answers.get(timeout=within_s) if within_s else self.answers.get_nowait()
        except queue.Empty:
            return None
        self.step = None
        return answer

    def end(self):
        self.work.put(None)
        hang_up(self.connection)


_last_state: dict[int, str] = {}


def remember_sqlstate():
    """PyMySQL drops the SQLSTATE of an error; keep it as the packet passes by."""
    original = pymysql.err.raise_mysql_exception

    def raising(data):
        if data[3:4] == b"#":
            _last_state[threading.get_ident()] = data[4:9].decode()
        original(data)

    pymysql.err.raise_mysql_exception = raising


def sqlstate(_connection, _code) -> str:
    return _last_state.pop(threading.get_ident(), "-----")


class Run:
    """One pass over one file."""

    def __init__(self, address: Address, record: bool):
        self.address, self.record = address, record
        self.sessions: dict[str, Session] = {}
        address.execute("DROP DATABASE IF EXISTS golden", "CREATE DATABASE golden")
        self.observer = Observer(address)

    def session(self, name: str) -> Session:
        if name not in self.sessions:
            self.sessions[name] = Session(self.address)
        return self.sessions[name]

    def step(self, step: Step) -> list[str]:
        if step.sql == "locks":
            return self.locks(step)
        if pause := re.fullmatch(r"pause ([\d.]+)", step.sql):
            time.sleep(float(pause[1]))
            return self.settle(step, None)
        if step.sql == "disconnect":
            self.sessions.pop(step.session).end()
            return self.settle(step, None)
        session = self.session(step.session)
        if session.step is not None:
            raise ValueError(f"session {step.session} is still waiting when it is given: {step.sql}")
        step.sql = re.sub(r"\{(\w+)\}", lambda m: str(self.session(m[1]).id), step.sql)
        session.perform(step)
        return self.settle(step, session)

    def settle(self, step: Step, asked: Session | None) -> list[str]:
        """Lets time go by until every statement under way has answered or waits; returns what there is to see.

        A statement waits if the server says so, twice in the same words, and no deadlock is still to be broken. Where
        the server does not say it (a metadata lock), a statement waits if it has been silent for long."""
        started = time.monotonic()
        answers: dict[Session, list[str]] = {}
        seen: dict[int, Wait] = {}
        noticed_within = patience(NOTICED_WITHIN_S) if step.sql == "disconnect" else 0.0
        if asked and (answer := asked.answer(ANSWER_AT_ONCE_S)) is not None:
            answers[asked] = answer
        while True:
            for session in self.sessions.values():
                if session.step is not None and (answer := session.answer(0)) is not None:
                    answers[session] = answer
            silent = {session.id: name for name, session in self.sessions.items() if session.step is not None}
            if not silent:
                break
            waits = {connection: wait for connection, wait in self.observer.waits().items() if connection in silent}
            unexplained = silent if has_cycle(waits) else silent.keys() - waits.keys()
            noticed = time.monotonic() - started > noticed_within or step.sql != "disconnect"
            if not unexplained and waits == seen and noticed:
                break
            limit = max((self.patience(step, asked, silent[c]) for c in unexplained), default=0.0)
            passed = time.monotonic() - started
            if unexplained and passed > limit and not (limit == ANSWER_WITHIN_S and is_within(passed, limit)):
                break
            seen = waits
            time.sleep(LOOK_AGAIN_AFTER_S)
        lines = []
        if asked:
            lines = answers[asked] if asked in answers else [self.describe_wait(step, waits.get(asked.id))]
        for name in sorted(self.sessions):
            session = self.sessions[name]
            if session in answers and session is not asked:
                lines = lines + [f"{name} woke: {line}" for line in answers[session] or ["ok"]]
        return lines

    def patience(self, step: Step, asked: Session | None, name: str) -> float:
        """How long a session that is silent, and of which the server says nothing, is given to answer."""
        if self.record:
            return BLOCKED_AFTER_S
        if self.sessions[name] is asked:
            return STILL_BLOCKED_S if step.expected and step.expected[0].startswith("waits") else ANSWER_WITHIN_S
        return ANSWER_WITHIN_S if any(line.startswith(f"{name} woke: ") for line in step.expected) else STILL_BLOCKED_S / 5

    def describe_wait(self, step: Step, wait: Wait | None) -> str:
        """`waits`, or `waits for a: X on t.PRIMARY (1)` where the file wants to know and the server can tell."""
        expected = step.expected[0] if step.expected else ""
        if expected == "waits" and not self.record:
            return "waits"
        if not self.observer.tells_locks:
            return "waits" if self.record or not expected.startswith("waits") else expected
        if wait is None:
            return "waits"
        names, owners = {s.id: name or "the unnamed session" for name, s in self.sessions.items()}, self.observer.owners()
        return f"waits for {', '.join(sorted(names.get(owners.get(b), '?') for b in wait.blockers))}: {wait.lock}"

    def locks(self, step: Step) -> list[str]:
        if not self.observer.tells_locks:
            return step.expected
        names = {s.id: name for name, s in self.sessions.items() if not step.session or name == step.session}
        lines = [f"{names[connection]}: {text}" for connection, text in self.observer.locks(set(names))]
        return sorted(lines) or ["(none)"]

    def close(self):
        for session in self.sessions.values():
            session.end()
        self.observer.close()


def start_options(path: Path) -> list[str]:
    """What the server must have been started with."""
    return re.findall(r"^# With (--[\w-]+=\w+)", path.read_text(), re.MULTILINE)


def lacks(address: Address, option: str) -> bool:
    name, value = option.removeprefix("--").replace("-", "_").split("=")
    return address.execute(f"SHOW VARIABLES LIKE '{name}'") != ((name, value),)


def run_file(path: Path, address: Address, record: bool) -> str:
    """The file as it would read if this run were right.

    A session called `keeper` is there to keep deleted rows in place by its view: Tidemark, which puts them out of the way after a while
    even so, is told to leave them."""
    text = path.read_text()
    keeps = re.search(r"^keeper: ", text, re.MULTILINE) and "tidemark" in address.execute("SELECT VERSION()")[0][0]
    if keeps:
        address.execute("SET GLOBAL tidemark_bury_after = 3600000")
    run = Run(address, record)
    try:
        lines = []
        for item in parse(text):
            if isinstance(item, Step):
                lines += item.written + [INDENT + line for line in run.step(item)]
            else:
                lines.append(item)
        return "\n".join(lines) + "\n"
    finally:
        run.close()
        if keeps:
            address.execute("SET GLOBAL tidemark_bury_after = DEFAULT")


def reason_to_differ(text: str) -> str | None:
    """Why the file may differ from MySQL; it must stand in docs/compatibility.md."""
    if not (marked := DIFFERS.search(text)):
        return None
    listed = re.findall(r"^\| (.+?) \|", COMPATIBILITY.read_text(), re.MULTILINE)
    if marked[1] not in listed:
        raise ValueError(f"it is to differ from MySQL by {marked[1]!r}, which docs/compatibility.md does not list")
    return marked[1]


def main():
    parser = suite_parser(__doc__)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--address", type=Address.parse, metavar="HOST:PORT[:USER]")
    where.add_argument("--against", type=Address.parse, metavar="HOST:PORT[:USER]", help="a MySQL server")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    remember_sqlstate()
    paths = [Path(word) for word in options.filters if Path(word).exists()]
    report = Report("golden", [word for word in options.filters if not Path(word).exists()])
    found = (f for p in paths or [HERE / "sql", HERE / "isolation"] for f in (p.rglob("*.test") if p.is_dir() else [p]))
    files = sorted(f for f in found if report.wants(test_name(f)))
    for path in [path for path in files if unfit(path)]:
        report.skip(test_name(path), f"{unfit(path)} is set")
        files.remove(path)
    if address := options.address or options.against:
        listed = 0
        for path in files:
            if missing := [option for option in start_options(path) if lacks(address, option)]:
                report.skip(test_name(path), f"the server was not started with {' '.join(missing)}")
            else:
                listed += run_one(report, path, address, options.record, is_mysql=options.against is not None)
        if options.against:
            print(f"  {report.passed - listed} as here, {listed} listed", flush=True)
    else:
        play_in_lanes(report, sorted(files, key=start_options), options.record)
    report.close()


def unfit(path: Path) -> str:
    """The variable in the environment with which the file is not played, if there is one."""
    names = re.findall(r"^# Not with (TIDEMARK_\w+)", path.read_text(), re.MULTILINE)
    return next((name for name in names if name in os.environ), "")


def play_in_lanes(report: Report, files: list[Path], record: bool) -> None:
    """Plays the files on several servers at a time: most of what a script does is wait."""
    left: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for path in files:
        left.put(path)

    def lane() -> None:
        with ExitStack() as servers:
            server = None
            while not left.empty():
                try:
                    path = left.get_nowait()
                except queue.Empty:
                    return
                try:
                    # When a table is looked at again depends on time, and what EXPLAIN shows on that.
                    arguments = ["--innodb-stats-auto-recalc=OFF", *start_options(path)]
                    if server is None or server.arguments != arguments:
                        servers.close()
                        server = servers.enter_context(Server("golden", *arguments))
                except Exception as error:  # the server does not start
                    server = None
                    report.fail(test_name(path), f"{type(error).__name__}: {error}")
                else:
                    run_one(report, path, server.address, record)

    threads = [threading.Thread(target=lane) for _ in range(min(LANES, len(files)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_name(path: Path) -> str:
    path = path.resolve().with_suffix("")
    return str(path.relative_to(HERE)) if path.is_relative_to(HERE) else path.name


def run_one(report: Report, path: Path, address: Address, record: bool, is_mysql: bool = False) -> bool:
    """Whether the file differs as it is to."""
    name, started, expected = test_name(path), time.monotonic(), path.read_text()
    try:
        reason = reason_to_differ(expected)
        text = run_file(path, address, record)
    except Exception as error:  # a lost connection, a file that cannot be read: this file's failure
        report.fail(name, f"{type(error).__name__}: {error}")
        return False
    if record:
        path.write_text(text)
        report.ok(name, f"recorded in {time.monotonic() - started:.1f} s")
    elif is_mysql and reason:
        return report.check(text != expected, name, f"it is to differ by {reason} and does not")
    elif text == expected:
        report.ok(name)
    else:
        difference = difflib.unified_diff(expected.splitlines(), text.splitlines(), "expected", "seen", lineterm="", n=6)
        report.fail(name, "\n" + "\n".join("      " + line for line in difference))
    return False


if __name__ == "__main__":
    sys.exit(main())

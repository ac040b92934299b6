#!/usr/bin/env python3
"""Golden scripts: a text file per behaviour, which reads as what one would type and see.

    tests/golden.py [FILE|FOLDER ...]                                     compare, with a Tidemark server of its own
    tests/golden.py --address 127.0.0.1:3306 [FILE|FOLDER ...]            compare with that server
    tests/golden.py --address 127.0.0.1:3306:USER --record [FILE ...]     write down what that server answers

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

`t1:` names a session, a connection of its own; a statement without a name belongs to an unnamed session. A line that
ends with a backslash is continued on the next. Tags before a statement change how it is shown: `[sorted]` sorts the
rows, `[types]` adds each column's type to its name, `[code]` leaves out the text of an error, `[quiet]` leaves out the
answer unless it is an error, `[warnings]` counts the warnings of a statement other than INSERT, REPLACE, UPDATE and
DELETE, `[vertical]` shows a row as `name: value` lines. `{t1}` stands for the connection id of session t1. A session
with a waiting statement can only be woken by another, or by time: `pause 1.5` lets so many seconds go by.

Every file starts in an empty database, `golden`, with the server's default variables. The files are recorded from MySQL,
so they say what MySQL does; where Tidemark means to differ, the difference is in docs/compatibility.md and not here.
"""
import argparse
import difflib
import queue
import re
import sys
import threading
import time
from pathlib import Path

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE, FLAG

from support.address import Address
from support.report import Report
from support.server import Server

HERE = Path(__file__).resolve().parent
BLOCKED_AFTER_S = 0.4        # recording: a statement that takes longer waits for something
STILL_BLOCKED_S = 0.25       # comparing: a statement said to wait must not have answered by then
ANSWER_WITHIN_S = 30.0       # comparing: a statement said to answer must have answered by then

INDENT = "    "
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
        self.connection = address.connect(database="golden", conv={}, client_flag=CLIENT.MULTI_STATEMENTS, autocommit=None)
        self.work: queue.Queue = queue.Queue()
        self.answers: queue.Queue = queue.Queue()
        self.waiting = False
        self.start()

    def run(self):
        while (step := self.work.get()) is not None:
            self.answers.put(self.perform(step))

    def perform(self, step: Step) -> list[str]:
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
            return self.answers.get(timeout=within_s)
        except queue.Empty:
            return None

    def end(self):
        self.work.put(None)
        self.connection._force_close()


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

    def session(self, name: str) -> Session:
        if name not in self.sessions:
            self.sessions[name] = Session(self.address)
        return self.sessions[name]

    def step(self, step: Step) -> list[str]:
        session = self.session(step.session)
        if session.waiting:
            raise ValueError(f"session {step.session} is still waiting when it is given: {step.sql}")
        if pause := re.fullmatch(r"pause ([\d.]+)", step.sql):
            time.sleep(float(pause[1]))
            return self.woken(step)
        step.sql = re.sub(r"\{(\w+)\}", lambda m: str(self.session(m[1]).connection.thread_id()), step.sql)
        session.work.put(step)
        limit = BLOCKED_AFTER_S if self.record else STILL_BLOCKED_S if step.expected[:1] == ["waits"] else ANSWER_WITHIN_S
        answer = session.answer(limit)
        if answer is None:
            session.waiting = True
            answer = ["waits"]
        return answer + self.woken(step)

    def woken(self, step: Step) -> list[str]:
        """What sessions that were waiting answer after this step, in the order of their names."""
        lines = []
        for name in sorted(self.sessions):
            session = self.sessions[name]
            if not session.waiting or (name == step.session and not self.record and f"{name} woke: " not in "".join(step.expected)):
                continue
            prefix = f"{name} woke: "
            expected = any(line.startswith(prefix) for line in step.expected)
            answer = session.answer(BLOCKED_AFTER_S if self.record else ANSWER_WITHIN_S if expected else 0.05)
            if answer is not None:
                session.waiting = False
                lines += [prefix + line for line in answer or ["ok"]]
        return lines

    def close(self):
        for session in self.sessions.values():
            session.end()


def run_file(path: Path, address: Address, record: bool) -> str:
    """The file as it would read if this run were right."""
    run = Run(address, record)
    try:
        lines = []
        for item in parse(path.read_text()):
            if isinstance(item, Step):
                lines += item.written + [INDENT + line for line in run.step(item)]
            else:
                lines.append(item)
        return "\n".join(lines) + "\n"
    finally:
        run.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="HOST:PORT[:USER]")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("paths", nargs="*", type=Path, default=[HERE / "sql", HERE / "isolation"])
    options = parser.parse_args()
    remember_sqlstate()
    if options.address:
        run_all(options, Address.parse(options.address))
    else:
        with Server("golden") as server:
            run_all(options, server.address)


def run_all(options, address: Address):
    files = sorted(f for p in options.paths for f in (p.rglob("*.test") if p.is_dir() else [p]))
    report = Report("golden")
    for path in files:
        name = f"{path.resolve().parent.name}/{path.stem}"
        started = time.monotonic()
        try:
            text = run_file(path, address, options.record)
        except Exception as error:  # a lost connection, a file that cannot be read: this file's failure
            report.fail(name, f"{type(error).__name__}: {error}")
            continue
        if options.record:
            path.write_text(text)
            report.ok(name, f"recorded in {time.monotonic() - started:.1f} s")
        elif text == path.read_text():
            report.ok(name)
        else:
            difference = difflib.unified_diff(path.read_text().splitlines(), text.splitlines(), "expected", "seen", lineterm="", n=6)
            report.fail(name, "\n" + "\n".join("      " + line for line in difference))
    report.close()


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Files that statements read and write: LOAD DATA and SELECT … INTO OUTFILE with every option, against what MySQL made of the same.

    tests/files/run.py                                                                  the table beside this program
    tests/files/run.py --record --against HOST:PORT:USER --directory DIR[=SEEN]         makes the table anew
    tests/files/run.py --against HOST:PORT:USER --directory DIR[=SEEN] --seed N --seconds 60     a hunt

The other server must run with local_infile and an empty secure_file_priv, and see the directory DIR (as SEEN, if it is in a root of its
own). `cases.py` says how a case is made. KNOWN has the cases that differ, by reason: another that does is a failure, and so is one that
no longer does. Rows, the sentence of the OK packet, warnings and errors are compared, and of INTO OUTFILE the
file's bytes, and what a table has after the file was read back.
"""
import json
import sys
import time
from collections import Counter
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from cases import GIVEN, ROWS, TABLES, Case, Maker  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import FIXED_SEED, Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

TABLE = HERE / "recorded.json"
RECORDED = 600
PER_REPORT = 50         # cases that are counted as one check
MESSAGE_MAX = 200
DATABASE = "files"
# Cases of the table that differ from MySQL, by number.
KNOWN = {
    "a floating-point literal is a DOUBLE like others: 23 bytes wide, and in the file's character set": [130, 155, 567],
    "a user variable that is NULL has no character set of its own": [219],
    "a user variable takes no text that is not valid": [505],
    "an error shows control characters by their numbers": [239, 443],
    "an error shows bytes that are no text as question marks, or ends in front of them": [251, 354],
    "dates and times with white space in front give no warning 4096": [545],
}
REASONS = {number: reason for reason, numbers in KNOWN.items() for number in numbers}


class Player:
    """A server, and the directory whose files it reads and writes."""

    def __init__(self, address: Address, directory: Path, seen: str = ""):
        self.directory, self.seen = directory, seen or str(directory)
        self.connection = address.connect(local_infile=True, charset="utf8mb4")
        self.files = 0
        self.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        self.execute(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        self.execute(f"USE {DATABASE}")
        self.execute("SET timestamp = 1600000000, time_zone = '+00:00'")
        for name, (columns, _) in TABLES.items():
            self.execute(f"CREATE TABLE {name} ({columns})")

    def execute(self, sql: str) -> list:
        """What a statement answers: rows as hexadecimal digits, or its sentence; errors by number and text."""
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql)
                if cursor.description:
                    return [[None if value is None else value for value in row] for row in cursor.fetchall()]
                message = cursor._result.message or b""
                return [message[1:].decode(errors="replace"), cursor.rowcount]
        except pymysql.err.MySQLError as error:
            return ["error", error.args[0], str(error.args[1] if len(error.args) > 1 else "").replace(self.seen, "DIR")[:MESSAGE_MAX]]

    def rows(self, table: str, as_bytes: bool = True) -> list:
        shown = ", ".join(f"HEX({column})" for column in TABLES[table][1])
        return sorted(self.execute(f"SELECT {shown} FROM {table}"), key=repr)

    def load(self, table: str, mode: str, statement: str, path: Path) -> list:
        self.execute(f"TRUNCATE TABLE {table}" if table == "keyed" else f"DELETE FROM {table}")
        self.execute("SET @v0 = NULL, @v1 = NULL, @v2 = NULL, @v3 = NULL, @v4 = NULL")
        self.execute(f"SET sql_mode = '{mode}'")
        if table == "keyed" and path.stat().st_size % 2:
            self.execute("INSERT INTO keyed VALUES (1, 'a', 1), (12, 'bc', 2)")
        name = str(path) if " LOCAL " in statement else f"{self.seen}/{path.name}"
        answer = self.execute(statement.replace("{file}", name))
        warnings = self.execute("SHOW WARNINGS")
        self.execute("SET sql_mode = ''")
        return [answer, [[code, text.replace(self.seen, "DIR")] for _, code, text in warnings], self.rows(table)]

    def new_path(self) -> Path:
        self.files += 1
        path = self.directory / f"{self.files}.txt"
        path.unlink(missing_ok=True)
        return path

    def play(self, case: Case) -> list:
        path = self.new_path()
        try:
            if case.file is not None:
                path.write_bytes(case.file)
                path.chmod(0o644)
                return self.load(case.table, case.mode, case.statement, path)
            self.execute("SET sql_mode = ''")
            self.execute(f"DELETE FROM {case.table}")
            self.execute(f"INSERT INTO {case.table} VALUES {ROWS[case.table]}")
            answer = self.execute(case.statement.replace("{file}", f"{self.seen}/{path.name}"))
            warnings = [[code, text] for _, code, text in self.execute("SHOW WARNINGS")]
            written = path.read_bytes().decode("latin1") if path.exists() else None
            back = self.load(case.table, case.mode, case.back, path) if case.back and written is not None else None
            return [answer, warnings, written, back]
        finally:
            path.unlink(missing_ok=True)


def cases(seed: int):
    maker = Maker(seed)
    while True:
        yield maker.write() if maker.chance(0.3) else maker.load()


def as_json(case: Case, answer: list) -> str:
    file = None if case.file is None else case.file.decode("latin1")
    return json.dumps([case.table, case.mode, case.statement, file, case.back, answer])


def shown(case: Case, expected: list, seen: list) -> str:
    parts = [(old, new) for old, new in zip(expected, seen) if old != new]
    return f"{case.table} [{case.mode}] {case.statement}\n      file {case.file!r}\n" + "\n".join(f"      expected {old!r}\n      seen     {new!r}" for old, new in parts)


def play_table(report: Report, player: Player) -> None:
    lines = TABLE.read_text().splitlines()
    for first in range(0, len(lines), PER_REPORT):
        if not report.wants(name := f"recorded_{first}"):
            continue
        wrong = []
        for number, line in enumerate(lines[first:first + PER_REPORT], first):
            table, mode, statement, file, back, expected = json.loads(line)
            case = Case(table, mode, statement, None if file is None else file.encode("latin1"), back)
            seen = json.loads(json.dumps(player.play(case)))
            if (seen == expected) == (number in REASONS):
                wrong.append(f"{number}: {REASONS.get(number, '')} {shown(case, expected, seen)}")
        report.check(not wrong, name, f"{len(wrong)} of {PER_REPORT} are not what is known\n    " + "\n    ".join(wrong[:5]))


def main() -> None:
    parser = suite_parser(__doc__)
    parser.add_argument("--against", type=Address.parse, metavar="HOST:PORT[:USER]")
    parser.add_argument("--directory", help="where the other server reads and writes, and as what it sees that")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--seed", type=int, default=FIXED_SEED)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--differences", type=int, default=20)
    options = parser.parse_args()
    report = Report("files", options.filters)
    other = None
    if options.against:
        directory, _, seen = options.directory.partition("=")
        other = Player(options.against, Path(directory), seen)
    if options.record:
        chosen = [case for case, _ in zip(cases(options.seed), range(RECORDED))] + GIVEN
        TABLE.write_text("".join(as_json(case, other.play(case)) + "\n" for case in chosen))
        print(f"recorded {len(chosen)} cases")
        return
    with Server("files", "--secure-file-priv=", "--local-infile=ON") as server:
        directory = server.home / "files"
        directory.mkdir()
        player = Player(server.address, directory)
        if other is None:
            play_table(report, player)
            report.close()
        hunt(report, player, other, options)


def hunt(report: Report, player: Player, other: Player, options) -> None:
    played, differences, ends = 0, Counter(), time.monotonic() + options.seconds
    for case in cases(options.seed):
        if time.monotonic() > ends or differences.total() >= options.differences:
            break
        played += 1
        seen, expected = player.play(case), other.play(case)
        if seen != expected:
            differences["differs"] += 1
            report.fail(f"case_{played}", shown(case, expected, seen))
    report.note(f"{played} cases of seed {options.seed}")
    report.check(not differences, "hunt", f"{differences.total()} differ")
    report.close()


if __name__ == "__main__":
    main()

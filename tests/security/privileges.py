#!/usr/bin/env python3
"""The matrix of privileges: every kind of statement, by accounts with every set of privileges, answered as by MySQL 9.7.

    tests/security/privileges.py --record --address HOST:PORT[:USER]    # writes privileges.txt, from a MySQL server that may be changed
    tests/security/privileges.py [--address HOST:PORT[:USER]] [--whole] [--statements WORD]

A *set* is what an account holds: one privilege on one level; everything on a level but one privilege; what the statement needs on each
level, whole and with one missing; everything on other databases and tables. Each is granted to the account and to a role that is
active. The answer to a statement is that it succeeds (with its rows, where they are of interest), or its error's number, and the
text if privileges are what is missing.

`privileges.txt` has, for each statement, its answers and the sets that give each. Without `--whole` a fixed part of the pairs is tried,
every statement and every set among them.
"""
import argparse
import re
import sys
import zlib
from collections import defaultdict
from pathlib import Path

import pymysql

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from privilege_known import DIFFERENT, UNSUPPORTED  # noqa: E402
from privilege_statements import ALL, DB, KINDS, MAKE_DB, MAKE_SYS, MAKE_TWO, MAKE_V, MAKE_X, T, Kind  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import Report  # noqa: E402
from support.server import Server  # noqa: E402

RECORDED = HERE / "privileges.txt"
GLOBAL = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "RELOAD", "SHUTDOWN", "PROCESS", "FILE", "REFERENCES", "INDEX", "ALTER", "SHOW DATABASES", "SUPER",
          "CREATE TEMPORARY TABLES", "LOCK TABLES", "EXECUTE", "REPLICATION SLAVE", "REPLICATION CLIENT", "CREATE VIEW", "SHOW VIEW", "CREATE ROUTINE",
          "ALTER ROUTINE", "CREATE USER", "EVENT", "TRIGGER", "CREATE TABLESPACE", "CREATE ROLE", "DROP ROLE", "GRANT OPTION"]
DYNAMIC = ["ALLOW_NONEXISTENT_DEFINER", "APPLICATION_PASSWORD_ADMIN", "AUDIT_ADMIN", "AUTHENTICATION_POLICY_ADMIN", "BACKUP_ADMIN", "BINLOG_ADMIN",
           "BINLOG_ENCRYPTION_ADMIN", "CLONE_ADMIN", "CONNECTION_ADMIN", "ENCRYPTION_KEY_ADMIN", "FLUSH_OPTIMIZER_COSTS", "FLUSH_PRIVILEGES", "FLUSH_STATUS",
           "FLUSH_TABLES", "FLUSH_USER_RESOURCES", "GROUP_REPLICATION_ADMIN", "INNODB_REDO_LOG_ARCHIVE", "INNODB_REDO_LOG_ENABLE", "OPTIMIZE_LOCAL_TABLE",
           "PASSWORDLESS_USER_ADMIN", "PERSIST_RO_VARIABLES_ADMIN", "REPLICATION_APPLIER", "REPLICATION_SLAVE_ADMIN", "RESOURCE_GROUP_ADMIN", "RESOURCE_GROUP_USER",
           "ROLE_ADMIN", "SENSITIVE_VARIABLES_OBSERVER", "SERVICE_CONNECTION_ADMIN", "SESSION_VARIABLES_ADMIN", "SET_ANY_DEFINER", "SHOW_ROUTINE", "SYSTEM_USER",
           "SYSTEM_VARIABLES_ADMIN", "TABLE_ENCRYPTION_ADMIN", "XA_RECOVER_ADMIN"]
ONLY_GLOBAL = {"RELOAD", "SHUTDOWN", "PROCESS", "FILE", "SHOW DATABASES", "SUPER", "REPLICATION SLAVE", "REPLICATION CLIENT", "CREATE USER", "CREATE TABLESPACE",
               "CREATE ROLE", "DROP ROLE"}
NOT_ON_TABLES = ONLY_GLOBAL | {"CREATE TEMPORARY TABLES", "LOCK TABLES", "EXECUTE", "CREATE ROUTINE", "ALTER ROUTINE", "EVENT"}
COLUMNS = {"SELECT": "id, a, b, c", "INSERT": "id, a", "UPDATE": "a", "REFERENCES": "id"}
# Errors that say which privilege is missing: their texts are compared. Of the others, the numbers.
DENIALS = {1044, 1045, 1095, 1142, 1143, 1227, 1370, 1410, 3523, 3530, 3879, 3880}
NOT_THERE = {"z", "v", "nosuch"}       # tables, on which only CREATE can be granted
WHO = {"own": "priv_u", "role": "priv_r"}

Grants = tuple[str, ...]


def grant(privilege: str, where: str, columns: str = "") -> str:
    """A GRANT without its grantee."""
    if where == "option":
        return f"GRANT {privilege} ON *.* TO {{}} WITH GRANT OPTION"
    return f"GRANT {privilege}{columns and f' ({columns})'} ON {where} TO {{}}"


# Those whose absence alone is tried, beside those that the statement needs.
MATTER = {"data": {"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "REFERENCES", "INDEX", "ALTER", "CREATE TEMPORARY TABLES", "LOCK TABLES", "GRANT OPTION"},
          "server": {"RELOAD", "PROCESS", "SUPER", "CREATE USER", "CREATE ROLE", "GRANT OPTION", "SYSTEM_USER", "ROLE_ADMIN", "CONNECTION_ADMIN",
                     "SYSTEM_VARIABLES_ADMIN", "SESSION_VARIABLES_ADMIN"}}


def data_sets() -> dict[str, Grants]:
    """What is tried with every statement about data and definitions, by name."""
    sets: dict[str, Grants] = {"nothing": ()}
    levels = {"global": (GLOBAL, ALL), "database": ([p for p in GLOBAL if p not in ONLY_GLOBAL], DB), "table": ([p for p in GLOBAL if p not in NOT_ON_TABLES], T)}
    for level, (names, where) in levels.items():
        for name in names:
            sets[f"{name} on {level}"] = (grant(name, where),)
            if name in MATTER["data"]:
                rest = [other for other in names if other != name]
                sets[f"all but {name} on {level}"] = (grant(", ".join(rest), where),)
        sets[f"all on {level}"] = (grant("ALL", where),)
        sets[f"all with option on {level}"] = (grant("ALL", where) + " WITH GRANT OPTION",)
    for name, columns in COLUMNS.items():
        sets[f"{name} on columns"] = (grant(name, T, columns),)
        others = [f"{other} ({of})" for other, of in COLUMNS.items() if other != name]
        sets[f"all but {name} on columns"] = (grant(", ".join(others), T),)
    sets["all on columns"] = tuple(grant(name, T, columns) for name, columns in COLUMNS.items())
    sets["all on other tables"] = (grant("ALL", "priv_two.*"), grant("ALL", "priv_db.s"), grant("ALL", "priv_db.p"))
    sets["static on global"] = (grant(", ".join(GLOBAL), ALL),)
    sets["dynamic on global"] = (grant(", ".join(DYNAMIC), ALL),)
    return sets


def server_sets(kind: Kind) -> dict[str, Grants]:
    """What is tried with the statements about the server and accounts: global privileges, the dynamic ones with their own option."""
    everything = GLOBAL + DYNAMIC
    matter = MATTER["server"] | {name for name, _ in kind.needs}
    sets: dict[str, Grants] = {"nothing": (), "all on global": (grant("ALL", ALL),), "all with option on global": (grant("ALL", ALL) + " WITH GRANT OPTION",),
                               "all on database": (grant("ALL", DB),), "all on other tables": (grant("ALL", "priv_two.*"), grant("ALL", "priv_db.s")),
                               "static on global": (grant(", ".join(GLOBAL), ALL),), "dynamic on global": (grant(", ".join(DYNAMIC), ALL),)}
    for name in everything:
        sets[f"{name} on global"] = (grant(name, ALL),)
        if name in matter:
            sets[f"all but {name} on global"] = (grant(", ".join(other for other in everything if other != name), ALL),)
        if name in DYNAMIC and "grant" in kind.name:
            sets[f"{name} with option"] = (grant(name, "option"),)
    return sets


def own_sets(kind: Kind) -> dict[str, Grants]:
    """What the statement needs, on each level it can be granted on, whole and with one missing."""
    if not kind.needs:
        return {}
    sets = {}
    for level in ("as needed", "global", "database", "columns"):
        grants = [at_level(name, where, level) for name, where in kind.needs]
        sets[f"needs at {level}"] = tuple(grants)
        if len(grants) > 1:
            for n, (name, where) in enumerate(kind.needs):
                sets[f"needs at {level} but {name} ({where})"] = tuple(grants[:n] + grants[n + 1:])
    return sets


def at_level(name: str, where: str, level: str) -> str:
    database, _, table = where.partition(".")
    if where == "option" or where == ALL or (level == "global"):
        return grant(name, where if where == "option" else ALL)
    if level == "database" or table == "*" or name in NOT_ON_TABLES or name != "CREATE" and (table in NOT_THERE or "nosuch" in database):
        return grant(name, f"{database}.*")
    if level == "columns" and where == T and name in COLUMNS:
        return grant(name, where, COLUMNS[name])
    return grant(name, where)


def sets_of(kind: Kind) -> dict[str, Grants]:
    sets = data_sets() if kind.about == "data" else server_sets(kind)
    sets.update(own_sets(kind))
    if kind.only_without:
        sets = {name: grants for name, grants in sets.items() if not any(kind.only_without in text or "ALL" in text for text in grants)}
    return sets


class Player:
    """Gives the account each set in turn and runs the statements that are tried with it."""

    def __init__(self, address: Address):
        self.root = address.connect(ssl_disabled=True)
        self.address = address
        self.account = Address(address.host, address.port, "priv_u")
        self.victims: dict[str, pymysql.connections.Connection] = {}

    def do(self, *statements: str) -> None:
        with self.root.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def prepare(self) -> None:
        self.do(*MAKE_DB, "DROP DATABASE IF EXISTS priv_two", "CREATE DATABASE priv_two", *MAKE_TWO, *MAKE_V, *MAKE_SYS, *MAKE_X)
        for name, user in (("victim", "priv_victim"), ("victim_system", "priv_victim_system")):
            self.do(f"DROP USER IF EXISTS {user}", f"CREATE USER {user}")
        self.do("GRANT SYSTEM_USER ON *.* TO priv_victim_system")

    def clean_up(self) -> None:
        self.do("DROP DATABASE IF EXISTS priv_db", "DROP DATABASE IF EXISTS priv_two", "DROP DATABASE IF EXISTS priv_new",
                "DROP USER IF EXISTS priv_u, priv_r, priv_v, priv_w, priv_sys, priv_x, priv_y, priv_victim, priv_victim_system")
        self.root.close()

    def victim(self, name: str) -> int:
        """The id of a connection that may be ended, of an ordinary account or of one with SYSTEM_USER."""
        alive = self.victims.get(name)
        try:
            if alive:
                alive.ping(reconnect=False)
        except pymysql.err.MySQLError:
            alive = None
        if not alive:
            alive = Address(self.address.host, self.address.port, f"priv_{name}").connect(ssl_disabled=True)
            self.victims[name] = alive
        return alive.thread_id()

    def play(self, by: str, grants: Grants, tried: list[Kind]) -> dict[str, str]:
        """The answers to the statements, by name, of an account that has just these grants."""
        self.do("DROP USER IF EXISTS priv_u, priv_r", "CREATE USER priv_u", "CREATE ROLE priv_r")
        try:
            self.do(*(text.format(WHO[by]) for text in grants))
        except pymysql.err.MySQLError as error:
            return dict.fromkeys((kind.name for kind in tried), f"{grants} are refused: {error.args}")
        if by == "role":
            self.do("GRANT priv_r TO priv_u", "SET DEFAULT ROLE priv_r TO priv_u")
        connection = self.account.connect(ssl_disabled=True)
        answers = {}
        for kind in tried:
            answer = self.answer(connection, kind)
            if answer.startswith("ok"):
                self.undo(kind)
            answers[kind.name] = answer
            if not connection.open or answer.startswith("20"):
                connection = self.account.connect(ssl_disabled=True)
        connection.close()
        return answers

    def undo(self, kind: Kind) -> None:
        with self.root.cursor() as cursor:
            for statement in kind.undo:
                try:
                    cursor.execute(statement)
                except pymysql.err.NotSupportedError:
                    pass    # then it has not been done either

    def answer(self, connection: pymysql.connections.Connection, kind: Kind) -> str:
        sql = kind.sql
        for name in ("victim", "victim_system"):
            if f"{{{name}}}" in sql:
                sql = sql.replace(f"{{{name}}}", str(self.victim(name)))
        with connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                rows = cursor.fetchall()
            except pymysql.err.MySQLError as error:
                number, text = error.args[0], str(error.args[1])
                return f"{number} {normal(text)}" if number in DENIALS else str(number)
            verdict = table_verdict(kind, rows)
            for statement in kind.after:
                try:
                    cursor.execute(statement)
                except pymysql.err.MySQLError:
                    pass    # nothing was opened
        return verdict


def table_verdict(kind: Kind, rows: tuple) -> str:
    if kind.sql.startswith(("CHECK ", "ANALYZE ", "OPTIMIZE ", "REPAIR ")):
        return "ok"
    return f"ok {normal(repr(sorted(rows, key=repr)))}" if kind.rows else "ok"


def normal(text: str) -> str:
    """A text without what differs from run to run."""
    return re.sub(r"thread \d+", "thread N", text).replace("\n", " ")


def plan(whole: bool, word: str = "") -> dict[tuple[str, Grants], dict[str, list[tuple[Kind, str]]]]:
    """The statements to be tried by holder and grants, each with the name of the set."""
    out: dict = defaultdict(list)
    for kind in KINDS:
        if word and word not in kind.name:
            continue
        for name, grants in sets_of(kind).items():
            for by in WHO:
                if by == "role" and not by_role_too(kind, name, grants):
                    continue
                if whole or is_chosen(kind, by, name):
                    out[by, grants].append((kind, name))
    return out


def by_role_too(kind: Kind, name: str, grants: Grants) -> bool:
    """What is tried through a role, too: single privileges that the statement needs or may need, and the sets of its own."""
    if not grants or name.startswith("all but"):
        return False
    single = name.rsplit(" on ", 1)[0]
    return not name.endswith(" on global") or single in MATTER[kind.about] or any(single == needed for needed, _ in kind.needs)


SHARE = 4          # one pair in so many is tried by default
OWN_SHARE = 2      # of the sets that are a statement's own, for each of which an account is made


def is_chosen(kind: Kind, by: str, name: str) -> bool:
    if name in ("nothing", "needs at as needed") and by == "own":
        return True
    share = OWN_SHARE if name.startswith("needs") else SHARE
    return zlib.crc32(f"{kind.name}/{by}/{name}".encode()) % share == 0


def run_all(address: Address, whole: bool, word: str = "", progress=lambda *_: None) -> dict[str, dict[str, str]]:
    """The answers, by statement and then by `own: set` or `role: set`."""
    player = Player(address)
    player.prepare()
    answers: dict[str, dict[str, str]] = defaultdict(dict)
    work = plan(whole, word)
    try:
        for n, ((by, grants), tried) in enumerate(work.items()):
            progress(n, len(work))
            seen = player.play(by, grants, list(dict.fromkeys(kind for kind, _ in tried)))
            for kind, name in tried:
                answers[kind.name][f"{by}: {name}"] = seen[kind.name]
    finally:
        player.clean_up()
    return answers


def write(answers: dict[str, dict[str, str]]) -> None:
    """One block per statement: the commonest answer first and without its sets."""
    lines = ["# What MySQL answers; made by privileges.py --record. Under each statement its answers, and behind each the sets that give it;",
             "# the first is the answer to all sets that are not named."]
    for kind in KINDS:
        by_answer = defaultdict(list)
        for name, answer in answers[kind.name].items():
            by_answer[answer].append(name)
        ranked = sorted(by_answer.items(), key=lambda entry: -len(entry[1]))
        lines += ["", f"{kind.name} ({len(answers[kind.name])})"]
        for n, (answer, names) in enumerate(ranked):
            lines.append(f"  {answer}")
            for by in WHO if n else ():
                held = [name.removeprefix(f"{by}: ") for name in names if name.startswith(f"{by}: ")]
                lines += [f"    {by}: " + "; ".join(held)] if held else []
    RECORDED.write_text("\n".join(lines) + "\n")


def read() -> dict[str, tuple[str, dict[str, str]]]:
    """By statement: the answer to all sets but those that are named, and the answers to these."""
    out: dict[str, tuple[str, dict[str, str]]] = {}
    statement, answer = "", ""
    for line in RECORDED.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        text = line.strip()
        if line.startswith("    "):
            by, _, names = text.partition(": ")
            out[statement][1].update((f"{by}: {name}", answer) for name in names.split("; "))
        elif line.startswith("  "):
            answer = text
            if statement not in out:
                out[statement] = (text, {})
        else:
            statement = text.rsplit(" (", 1)[0]
    return out


def recorded_answers() -> dict[str, dict[str, str]]:
    """What was recorded, as `run_all` returns it."""
    answers: dict[str, dict[str, str]] = defaultdict(dict)
    recorded = read()
    for (by, _), tried in plan(whole=True).items():
        for kind, name in tried:
            common, named = recorded.get(kind.name, ("", {}))
            answers[kind.name][f"{by}: {name}"] = named.get(f"{by}: {name}", common)
    return answers


def compare(answers: dict[str, dict[str, str]]) -> tuple[int, dict[str, list[str]], set[str]]:
    """How many answers were looked at, those that differ by statement, and the known differences that were met."""
    recorded, count, met = read(), 0, set()
    wrong: dict[str, list[str]] = defaultdict(list)
    for statement, seen in answers.items():
        common, named = recorded[statement]
        for name, answer in seen.items():
            count += 1
            expected = named.get(name, common)
            if answer == expected:
                continue
            known = statement in UNSUPPORTED and re.match(UNSUPPORTED[statement], answer)
            if known or any(difference.covers(name, expected, answer) for difference in DIFFERENT.get(statement, [])):
                met.add(statement)
                continue
            wrong[statement].append(f"{name}: {answer}, MySQL: {expected}")
    return count, wrong, met


def run(address: Address, report: Report) -> None:
    if "tidemark" not in address.execute("SELECT VERSION()")[0][0]:
        report.skip("privileges", "is recorded from MySQL with --record")
        return
    count, wrong, _ = compare(run_all(address, whole=False))
    for statement, lines in sorted(wrong.items()):
        report.fail(f"privileges/{statement}", "; ".join(lines[:4]))
    report.check(not wrong, f"privileges: {count} statements by accounts with and without each privilege")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="HOST:PORT[:USER]; default: a Tidemark server of its own")
    parser.add_argument("--record", action="store_true", help="write what this server answers to privileges.txt")
    parser.add_argument("--whole", action="store_true", help="all pairs, not a fixed part of them")
    parser.add_argument("--statements", default="", metavar="WORD", help="only those with this in their name")
    options = parser.parse_args()

    def progress(n: int, of: int) -> None:
        if n % 50 == 0:
            print(f"{n} of {of} sets", file=sys.stderr, flush=True)

    def play(address: Address) -> int:
        answers = run_all(address, options.whole or options.record, options.statements, progress)
        if options.record:
            write({**recorded_answers(), **answers} if options.statements else answers)
            return 0
        count, wrong, met = compare(answers)
        for statement, lines in sorted(wrong.items()):
            print(f"{statement}:", *lines, sep="\n    ")
        idle = [name for name in (*UNSUPPORTED, *DIFFERENT) if name not in met] if options.whole and not options.statements else []
        if idle:
            print("known differences that are none:", ", ".join(idle))
        print(f"{count} statements, {sum(map(len, wrong.values()))} differ in {len(wrong)} kinds")
        return 1 if wrong or idle else 0

    if options.address:
        sys.exit(play(Address.parse(options.address)))
    with Server("privileges", "--max-connections=500") as server:
        failed = play(server.address)
    sys.exit(failed)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Histories of many clients at each level, and what anomalies are in them.

    tests/history/run.py [--address HOST:PORT[:USER]] [--seconds 10] [--transactions N] [--seed N]
                         [--levels ...] [--workloads append,register,bank] [--clients 16] [--kills EVERY_S]

    tests/history/run.py --total-seconds 3600 --total-transactions 1000000 [--seconds 60]     round after round, until both
    tests/history/run.py --sabotaged BINARY               that the checker notices what is broken in a server built for it

A round is one workload at one level for so many seconds. With a server of its own the server is killed (kill -9) and
started again while the clients go on; what was acknowledged must be there afterwards. A round is right if nothing is found that its
level forbids; what is found and allowed is printed. `check.py` has the names and says what each level forbids.

First the checker itself is checked, with a short history for each anomaly; and in the rounds at READ COMMITTED and REPEATABLE READ
it must find what those levels are known to allow, or the clients are too tame to prove anything.
"""
import itertools
import os
import random
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from check import ABORTED, COMMITTED, FORBIDDEN, UNKNOWN, Findings, History, Transaction, check_bank, check_registers  # noqa: E402
from clients import ACCOUNTS, BALANCE, DATABASE, SCHEMA, run_clients, text  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import FIXED_SEED, Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

LOOK_EVERY_S = 0.1
KNOWN = {("append", "READ COMMITTED"): "read skew", ("append", "REPEATABLE READ"): "G-single", ("append", "SNAPSHOT ISOLATION"): "G2",
         ("register", "READ COMMITTED"): "lost update", ("register", "REPEATABLE READ"): "lost update"}


class Killer:
    """Kills the server every so many seconds and starts it again."""

    def __init__(self, server: Server | None, every_s: float, seed: int):
        self.server, self.every_s, self.random = server, every_s, random.Random(seed)
        self.kills = 0
        self.plan()

    def plan(self) -> None:
        self.next = time.monotonic() + self.every_s * self.random.uniform(0.5, 1.5)

    def __call__(self) -> None:
        time.sleep(LOOK_EVERY_S)
        if self.server and self.every_s and time.monotonic() > self.next:
            self.server.kill()
            self.server.start()
            self.kills += 1
            self.plan()


def judge(workload: str, level: str, transactions: list[Transaction], address: Address) -> Findings:
    if workload == "append":
        final = {int(key): text(value) for key, value in address.execute(f"USE {DATABASE}", "SELECT id, elements FROM lists")}
        return History(transactions, final, dirty=level == "READ UNCOMMITTED").check()
    if workload == "register":
        final = {int(key): text(value) for key, value in address.execute(f"USE {DATABASE}", "SELECT id, value FROM registers")}
        return check_registers(transactions, final)
    total = int(address.execute(f"USE {DATABASE}", "SELECT SUM(balance) FROM accounts")[0][0])
    return check_bank(transactions, ACCOUNTS, ACCOUNTS * BALANCE, total)


def make_history(options, address: Address, meanwhile, workload: str, level: str, seed: int) -> tuple[list[Transaction], Findings]:
    address.execute(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE}", f"USE {DATABASE}", *SCHEMA[workload])
    transactions = run_clients(address, workload, level, options.clients, options.processes, seed, options.seconds, options.transactions, meanwhile)
    transactions.sort(key=lambda t: t.begun)
    return transactions, judge(workload, level, transactions, address)


def round_name(workload: str, level: str) -> str:
    return f"{workload}/{level.lower().replace(' ', '_')}"


def play_round(options, address: Address, server: Server | None, workload: str, level: str, seed: int, report: Report) -> Counter:
    started, killer = time.monotonic(), Killer(server, options.kills, seed)
    transactions, findings = make_history(options, address, killer, workload, level, seed)
    took = time.monotonic() - started
    committed = sum(t.status == COMMITTED for t in transactions)
    unknown = sum(t.status == UNKNOWN for t in transactions)
    detail = (f"{len(transactions)} transactions, {committed} committed, {unknown} unknown, {killer.kills} kills, {took:.0f} s; "
              f"{findings.summary()}")
    forbidden = findings.forbidden(level)
    name = round_name(workload, level)
    if forbidden:
        report.fail(name, detail + "".join(f"\n    {kind}: {example}" for kind in forbidden for example in findings.examples[kind]))
    elif not committed:
        report.fail(name, "nothing was committed: " + detail)
    elif (known := KNOWN.get((workload, level))) and committed > 20_000 and known not in findings.counts:
        report.fail(name, f"{known} is allowed here and never happened: {detail}")
    else:
        report.ok(name, detail)
    return Counter({"transactions": len(transactions), "committed": committed, "seconds": options.seconds, "kills": killer.kills,
                    **{f"{kind} ×": count for kind, count in findings.counts.items()}})


def check_the_checker(report: Report) -> None:
    """A history for each anomaly, and the anomaly that must be found in it."""
    def read(key, value):
        return ("read", key, value)

    def append(key, number):
        return ("append", key, number)

    cases = {
        "G0": ([[append(1, 1), append(2, 2)], [append(1, 3), append(2, 4)]], {1: "1,3", 2: "4,2"}),
        "G1b": ([[append(1, 1), append(1, 2)], [read(1, "1")]], {1: "1,2"}),
        "G1c": ([[append(1, 1), read(2, "2")], [append(2, 2), read(1, "1")]], {1: "1", 2: "2"}),
        "read skew": ([[append(1, 1), append(2, 2)], [read(1, ""), read(2, "2")]], {1: "1", 2: "2"}),
        "G-single": ([[append(1, 1), append(2, 2)], [read(1, ""), append(2, 3)]], {1: "1", 2: "2,3"}),
        "G2": ([[read(1, ""), append(2, 2)], [read(2, ""), append(1, 1)]], {1: "1", 2: "2"}),
        "lost write": ([[append(1, 1)], [append(1, 2)]], {1: "2"}),
        "duplicate write": ([[append(1, 1)]], {1: "1,1"}),
        "own write unread": ([[append(1, 1), read(1, "")]], {1: "1"}),
    }
    for name, (bodies, final) in cases.items():
        transactions = [Transaction(f"t{n}", COMMITTED, body, 0.0, 1.0 + n) for n, body in enumerate(bodies)]
        report.equal(sorted(History(transactions, final, dirty=False).check().counts), [name], f"checker/{name}")
    aborted = [Transaction("t0", ABORTED, [append(1, 1)]), Transaction("t1", COMMITTED, [read(1, "1")])]
    report.equal(sorted(History(aborted, {}, dirty=False).check().counts), ["G1a"], "checker/G1a")
    stale = [Transaction("t0", COMMITTED, [append(1, 1)], 0.0, 1.0), Transaction("t1", COMMITTED, [read(1, "")], 2.0, 3.0)]
    report.equal(sorted(History(stale, {1: "1"}, dirty=False).check().counts), ["stale read"], "checker/stale read")
    half = [Transaction("t0", UNKNOWN, [append(1, 1), append(2, 2)])]
    report.equal(sorted(History(half, {1: "1"}, dirty=False).check().counts), ["half a transaction"], "checker/half a transaction")
    updates = [Transaction(f"t{n}", COMMITTED, [read(1, "0"), ("write", 1, n)]) for n in (1, 2)]
    report.equal(sorted(check_registers(updates, {1: "2"}).counts), ["lost update"], "checker/lost update")
    sums = [Transaction("t0", COMMITTED, [("sum", "table", 90)]), Transaction("t1", COMMITTED, [("balance", 0, 40), ("balance", 1, 50)])]
    report.equal(sorted(check_bank(sums, 2, 100, 100).counts), ["read skew", "torn statement"], "checker/bank")
    serial = [Transaction("t0", COMMITTED, [append(1, 1), append(2, 2)], 0.0, 1.0), Transaction("t1", COMMITTED, [read(1, "1"), append(2, 3)], 2.0, 3.0)]
    report.equal(sorted(History(serial, {1: "1", 2: "2,3"}, dirty=False).check().counts), [], "checker/nothing")


SABOTAGE = [("view", "append", "REPEATABLE READ", {"read skew"}), ("view", "bank", "REPEATABLE READ", {"read skew"}),
            ("shared", "register", "SERIALIZABLE", {"lost update"}), ("gap", "append", "SERIALIZABLE", {"read skew", "G-single", "G2"})]
ROUNDS_UNTIL_FOUND = 8


def check_sabotage(options, report: Report) -> None:
    """A server that is broken in one place (the feature `sabotage` of the engine), and what must be found in it.

    One round nearly always shows it; chance, and a machine that is busy, are allowed a few. A round of the same server that is
    not told what to break finds nothing, so it is the breach that was found."""
    os.environ["TIDEMARK_BINARY"] = str(options.sabotaged.resolve())
    for broken, workload, level, anomalies in SABOTAGE:
        name = f"sabotage/{broken}/{workload}/{level.lower().replace(' ', '_')}"
        if not report.wants(name):
            continue
        for at in range(ROUNDS_UNTIL_FOUND):
            transactions, findings = round_of(options, broken, workload, level, at)
            if found := sorted(anomalies.intersection(findings.forbidden(level))):
                report.ok(name, f"{findings.summary()} in {len(transactions)} transactions\n    {found[0]}: {findings.examples[found[0]][0]}")
                break
        else:
            report.fail(name, f"no {' or '.join(sorted(anomalies))} in {ROUNDS_UNTIL_FOUND} rounds; in the last {findings.summary()}")
    for workload, level in sorted({(workload, level) for _, workload, level, _ in SABOTAGE}):
        name = f"sabotage/nothing/{workload}/{level.lower().replace(' ', '_')}"
        if report.wants(name):
            _, findings = round_of(options, "nothing", workload, level, 0)
            report.check(not findings.forbidden(level), name, findings.summary())


def round_of(options, broken: str, workload: str, level: str, at: int) -> tuple[list[Transaction], Findings]:
    os.environ["TIDEMARK_SABOTAGE"] = broken
    with Server("sabotage") as server:
        return make_history(options, server.address, lambda: time.sleep(LOOK_EVERY_S), workload, level, options.seed + at)


def run(options, address: Address, server: Server | None, report: Report) -> None:
    seed = options.seed
    print(f"  seed {seed}", flush=True)
    rounds = [(level, workload) for level, workload in itertools.product(options.levels, options.workloads) if report.wants(round_name(workload, level))]
    totals: dict[tuple[str, str], Counter] = defaultdict(Counter)
    if options.total_seconds or options.total_transactions:
        rounds = itertools.cycle(rounds)
    for level, workload in rounds:
        try:
            totals[level, workload] += play_round(options, address, server, workload, level, seed, report)
        except Exception as error:
            report.fail(round_name(workload, level), f"{type(error).__name__}: {error}")
            if server and not server.is_running():
                print(server.log_tail(), flush=True)
                server.start()
        seed += 1
        played = sum(totals.values(), Counter())
        if (options.total_seconds or options.total_transactions) and (
                report.failed or played["seconds"] >= options.total_seconds and played["transactions"] >= options.total_transactions):
            break
    for (level, workload), counts in totals.items():
        print(f"  {level.lower()}, {workload}: {describe(counts)}", flush=True)
    print(f"  in all: {describe(sum(totals.values(), Counter()))}", flush=True)


def describe(counts: Counter) -> str:
    found = ", ".join(f"{kind}{count}" for kind, count in sorted(counts.items()) if kind.endswith("×"))
    return f"{counts['transactions']} transactions, {counts['committed']} committed, {counts['kills']} kills, {counts['seconds']:.0f} s; {found or 'no anomaly'}"


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", type=Address.parse)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--transactions", type=int, default=10**9, help="end a round at about so many")
    parser.add_argument("--total-seconds", type=float, default=0, help="go on with rounds until so many")
    parser.add_argument("--total-transactions", type=int, default=0, help="go on with rounds until so many")
    parser.add_argument("--seed", type=int, default=FIXED_SEED)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--kills", type=float, default=4.0, help="seconds between kills of the suite's own server; 0: none")
    parser.add_argument("--levels", type=lambda text: text.upper().split(","), default=list(FORBIDDEN))
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=list(SCHEMA))
    parser.add_argument("--sabotaged", type=Path, metavar="BINARY", help="a server built with the feature `sabotage`")
    options = parser.parse_args()
    report = Report("history", options.filters)
    if report.wants("checker"):
        check_the_checker(report)
    if options.sabotaged:
        check_sabotage(options, report)
    elif options.address:
        run(options, options.address, None, report)
    else:
        with Server("history") as server:
            run(options, server.address, server, report)
    report.close()


if __name__ == "__main__":
    sys.exit(main())

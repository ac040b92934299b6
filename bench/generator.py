#!/usr/bin/env python3
"""The lab's load generator against stock sysbench, on the same work: is the load the same, and what does each generator cost?

    bench/generator.py NAME=PORT[:USER]... [--apart [--even]] [--rounds 12] [--seconds 3] [--workloads point,rw,upd] [--clients 1,16]

The servers are up, on this machine, and speak MySQL's protocol; TIDEMARK_BINARY is the program whose generator is tried. Each round runs
one after the other, the first of one round is the last of the next, and what is quoted is the median of the rounds' ratios, lab ÷ sysbench: a machine gets
faster and slower by more than the generators differ. Both begin cold and count everything, the tables are the lab's own, and a
generator's processor time is that of its whole process by its exit, divided by its transactions.

In a closed loop a cheaper generator is a faster one wherever its own time counts: with one client always, since

    time of a transaction = generator + server + waking each other

and with more where both share processors. So two rates may differ although server and transactions are the same. `--apart` takes the generator out: it has one
processor, the server's threads another.

    several clients   they keep the server's processor busy, so the rate is the server's
    one client        `rest` is what the generator's own processor time leaves of a transaction: the server's part, and the waking

`--even` says what the ratios are where both generators take the same time for a transaction. For a server that has waited longer for its next statement is slower
with it: its thread sleeps deeper and its processor's caches are colder. Each round has the lab run twice, as it is and with clients that work before each statement,
so much that it is the slower generator; between the two, the ratios are read where the generators are even. What differs then is the load itself.

`server` is the server's processor time per transaction by /proc, `busy` the share of its processor that it used. `--apart` needs the right to move the
server's threads (its user, or root); they are put back at the end.
"""
import argparse
import os
import random
import re
import statistics
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# The script, and the statements of a transaction.
SCRIPTS = {"point": ("oltp_point_select", 1), "rw": ("oltp_read_write", 20), "upd": ("oltp_update_non_index", 1)}
TABLES, ROWS = 4, 25_000
TRIALS = 4          # to find out how much work makes the lab the slower generator
LEAST_WORK = 0.3    # of what sysbench takes for a transaction: two runs that are too near each other tell nothing of what lies between
RESAMPLED = 1000    # choices of the rounds, for the spread of what is read between two runs
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")
GENERATORS_ON, SERVER_ON = 0, 1
LISTEN = "0A"


@dataclass(frozen=True)
class Peer:
    name: str
    port: int
    user: str
    process: Path

    def cpu_us(self) -> float:
        """Of all threads, those that have ended included."""
        fields = (self.process / "stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) * TICK_US

    def move(self, processors: set[int]) -> None:
        # A thread that begins has the processors of the one that starts it, so the second look finds none that has slipped through.
        for _ in range(2):
            for thread in (self.process / "task").iterdir():
                try:
                    os.sched_setaffinity(int(thread.name), processors)
                except ProcessLookupError:
                    pass                    # it has ended


@dataclass(frozen=True)
class Turn:
    """What one generator found in one run; processor times are microseconds per transaction."""
    tps: float
    own_us: float
    server_us: float

    @property
    def rest_us(self) -> float:
        """What its own processor time leaves of a transaction of one client."""
        return 1e6 / self.tps - self.own_us

    @property
    def busy(self) -> float:
        return self.server_us * self.tps / 1e6


def listening(port: int) -> Path:
    """The process that listens on a TCP port."""
    lines = [line.split() for table in ("tcp", "tcp6") for line in Path("/proc/net", table).read_text().splitlines()[1:]]
    sockets = {f"socket:[{line[9]}]" for line in lines if line[3] == LISTEN and int(line[1].rsplit(":", 1)[1], 16) == port}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(file) in sockets for file in (process / "fd").iterdir()):
                return process
        except OSError:
            continue                        # it has ended, or is another user's
    raise SystemExit(f"no process of this user listens on port {port}")


def timed(command: list[str], processors: set[int]) -> tuple[str, float]:
    """What a command says, and the processor time that it takes."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=lambda: os.sched_setaffinity(0, processors))
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command}: {said}")
    return said, usage.ru_utime + usage.ru_stime


def of_lab(peer: Peer, workload: str, clients: int, seconds: int, processors: set[int], work_ns: int) -> Turn:
    program = os.environ.get("TIDEMARK_BINARY", "target/release/tidemark")
    before = peer.cpu_us()
    said, own = timed([program, "lab", "load", workload, f"--clients={clients}", f"--tables={TABLES}", f"--rows={ROWS}", "--warm=0", f"--seconds={seconds}", f"--work={work_ns}",
                       f"--server=mysql://{peer.user}@127.0.0.1:{peer.port}/lab_generator"], processors)
    tps = float(re.search(r"^tps\s+(\S+)", said, re.M).group(1))
    count = tps * seconds
    return Turn(tps, own * 1e6 / count, (peer.cpu_us() - before) / count)


def of_sysbench(peer: Peer, workload: str, clients: int, seconds: int, processors: set[int]) -> Turn:
    before = peer.cpu_us()
    said, own = timed(["sysbench", SCRIPTS[workload][0], f"--threads={clients}", f"--tables={TABLES}", f"--table-size={ROWS}", "--rand-type=uniform", f"--time={seconds}", "--events=0",
                       "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={peer.port}", f"--mysql-user={peer.user}", "--mysql-db=lab_generator", "run"], processors)
    count = float(re.search(r"transactions:\s+(\d+)", said).group(1))
    return Turn(count / float(re.search(r"total time:\s+([\d.]+)s", said).group(1)), own * 1e6 / count, (peer.cpu_us() - before) / count)


@contextmanager
def placed(peer: Peer, apart: bool):
    """The processors of the generators, the server's set apart from them where that is wanted."""
    everywhere = os.sched_getaffinity(0)
    if not apart:
        yield everywhere
        return
    peer.move({SERVER_ON})
    try:
        yield {GENERATORS_ON}
    finally:
        peer.move(everywhere)


@dataclass(frozen=True)
class Round:
    """What one round found: sysbench, the lab as it is and, where the generators are made even, the lab with work."""
    stock: Turn
    lab: Turn
    slowed: Turn | None


def even(rounds: list[Round], of) -> float:
    """The ratio lab ÷ sysbench on the line between the lab's two runs, where the generators take the same time."""
    def median(turn, of) -> float:
        return statistics.median(of(turn(found)) / of(found.stock) for found in rounds)

    (from_x, from_y), (to_x, to_y) = ((median(turn, lambda turn: turn.own_us), median(turn, of)) for turn in (lambda found: found.lab, lambda found: found.slowed))
    return from_y + (to_y - from_y) * (1 - from_x) / (to_x - from_x)


def cell(arguments: argparse.Namespace, peer: Peer, workload: str, clients: int) -> str:
    rounds = []
    with placed(peer, arguments.apart) as processors:
        def lab(work_ns: int = 0) -> Turn:
            return of_lab(peer, workload, clients, arguments.seconds, processors, work_ns)

        def stock() -> Turn:
            return of_sysbench(peer, workload, clients, arguments.seconds, processors)

        lab()                               # has the tables be there and in memory
        work_ns = 0
        if arguments.even:
            trials = [(stock().own_us, lab().own_us) for _ in range(TRIALS)]
            lacks_us, stock_us = statistics.median(stock_us - lab_us for stock_us, lab_us in trials), statistics.median(stock_us for stock_us, _ in trials)
            work_ns = round(max(2 * lacks_us, LEAST_WORK * stock_us) * 1000 / SCRIPTS[workload][1])
        for number in range(arguments.rounds):
            order = ["stock", "lab", "slowed"] if arguments.even else ["stock", "lab"]
            runs = {"stock": stock, "lab": lab, "slowed": lambda: lab(work_ns)}
            found = {name: runs[name]() for name in (order if number % 2 else reversed(order))}
            rounds.append(Round(found["stock"], found["lab"], found.get("slowed")))

    def spread(of, turn) -> str:
        ratios = [of(turn(found)) / of(found.stock) for found in rounds]
        low, _, high = statistics.quantiles(ratios, n=4)
        return f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"

    def ratio(of) -> str:
        return spread(of, lambda found: found.lab)

    def even_ratio(of) -> str:
        chance = random.Random(1)
        found = [even(chance.choices(rounds, k=len(rounds)), of) for _ in range(RESAMPLED)]
        low, _, high = statistics.quantiles(found, n=4)
        return f"{even(rounds, of):.3f} ({low:.3f} to {high:.3f})"

    def median(of) -> float:
        return statistics.median(of(found.lab) for found in rounds)

    of_each = {"rate": lambda turn: turn.tps, "generator": lambda turn: turn.own_us, "server": lambda turn: turn.server_us}
    if arguments.apart and clients == 1:
        of_each["rest"] = lambda turn: turn.rest_us
    words = [f"{workload:6} {clients:3} clients", *(f"{name} {ratio(of)}" for name, of in of_each.items())]
    if arguments.even:
        words.append(f"with {work_ns} ns of work: generator {spread(of_each['generator'], lambda found: found.slowed)}")
        words.append("even: " + "   ".join(f"{name} {even_ratio(of)}" for name, of in of_each.items() if name != "generator"))
    words.append(f"{median(lambda turn: turn.tps):.0f} tps, generator {median(lambda turn: turn.own_us):.1f} µs, server {median(lambda turn: turn.server_us):.1f} µs, busy {median(lambda turn: turn.busy):.0%}")
    return "   ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=PORT[:USER]")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--even", action="store_true")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--workloads", default="point,rw,upd")
    parser.add_argument("--clients", default="1,16")
    arguments = parser.parse_args()
    for server in arguments.servers:
        name, _, address = server.partition("=")
        port, _, user = address.partition(":")
        peer = Peer(name, int(port), user or "root", listening(int(port)))
        for workload in arguments.workloads.split(","):
            for clients in map(int, arguments.clients.split(",")):
                print(f"{name:10} {cell(arguments, peer, workload, clients)}", flush=True)


if __name__ == "__main__":
    main()

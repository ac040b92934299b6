#!/usr/bin/env python3
"""What counting costs: waits, statements, digests, histograms, rows and pages, against a build that counts nothing.

    cargo build --release && cp target/release/tidemark /tmp/counted
    cargo build --release --features uncounted && cp target/release/tidemark /tmp/uncounted
    bench/counting.py --counted /tmp/counted --uncounted /tmp/uncounted
                      [--workloads point,rw] [--clients 4] [--seconds 2] [--rounds 60] [--tables 4] [--rows 20000] [--instructions]

Two servers have the same tables, one of each build. Stock sysbench runs on both at once, so that whatever else the machine does meets both
alike; what a server's process has spent, the kernel's share for it included (/proc/PID/stat), is divided by its transactions. A round is a
pair, and the price is the median of the pairs' ratios, with the quartiles beside it. In the second half of the rounds each build has
the other's data: where rows lie costs something, too, and a server's tables stay as they were loaded.

`--instructions` counts instead, with valgrind's callgrind: the instructions outside the kernel that a transaction takes in the thread of its
connection, from the difference of two lengths of one run, so that what login and preparation take is no part, nor what other threads do
meanwhile. They depend on no noise, and say nothing of the kernel, nor that a locked instruction takes longer than others, nor of the clock as it is:
under valgrind it is read by a system call.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import compare  # noqa: E402
from support.server import Server  # noqa: E402

DATABASE = "counting"
EVENTS = {"point": 2000, "rw": 100}
TICK_US = 1e6 / os.sysconf("SC_CLK_TCK")


class Build:
    """A server of one build, with tables to work on."""

    def __init__(self, name: str, program: Path, options: argparse.Namespace):
        self.name, self.options = name, options
        self.server = Server(f"counting-{name}", "--innodb-buffer-pool-size=1G")
        self.program = program.resolve()
        if options.instructions:
            wrapper = self.server.home / "under-callgrind"
            wrapper.write_text(f'#!/bin/sh\nexec valgrind --tool=callgrind --instr-atstart=no --separate-threads=yes "{self.program}" "$@"\n')
            wrapper.chmod(0o755)
            self.program = wrapper

    def start(self) -> None:
        os.environ["TIDEMARK_BINARY"] = str(self.program)
        self.server.start()
        self.bench = compare.Server(f"{self.name}={self.server.port}")

    def prepare(self) -> None:
        self.server.address.execute("CREATE USER sbtest@'%'", "GRANT ALL ON *.* TO sbtest@'%'")
        self.bench.prepare(self.options)

    def change_data(self, other: "Build") -> None:
        """Each goes on with what the other has loaded."""
        for build in (self, other):
            build.server.stop()
        self.server, other.server = other.server, self.server
        for build in (self, other):
            build.start()

    def run(self, workload: str, clients: int, *length: str) -> int:
        """Returns how many transactions there were."""
        script = compare.workloads()[workload]
        output = self.bench.sysbench("run", script, self.options, f"--threads={clients}", *length)
        return int(re.search(r"transactions:\s+(\d+)", output).group(1))

    def spent_us(self) -> tuple[float, float]:
        """Processor time so far, outside the kernel and in it."""
        fields = Path(f"/proc/{self.server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) * TICK_US, int(fields[12]) * TICK_US

    def time_us(self, workload: str) -> tuple[float, float]:
        """Processor time of a transaction."""
        before = self.spent_us()
        count = self.run(workload, self.options.clients, f"--time={self.options.seconds}", "--events=0")
        time.sleep(0.5)
        now = self.spent_us()
        return (now[0] - before[0]) / count, (now[1] - before[1]) / count

    def instructions(self, workload: str) -> float:
        """Of a transaction, outside the kernel, in the connection's thread."""
        events = self.options.events or EVENTS.get(workload, 500)
        self.run(workload, 1, "--time=0", "--events=50")
        short, long = (self._counted(workload, events * times) for times in (1, 3))
        return (long - short) / (2 * events)

    def _counted(self, workload: str, events: int) -> int:
        def control(*what: str) -> None:
            subprocess.run(["callgrind_control", *what, str(self.server.process.pid)], check=True, capture_output=True)
        control("-z")
        control("-i", "on")
        self.run(workload, 1, "--time=0", f"--events={events}")
        control("-i", "off")
        for written in self.dumps():
            written.unlink()
        control("-d")
        # There is one for each thread, and the connection's has done most. The summary in front is of what ran since
        # instrumentation ended.
        return max(int(re.search(r"^totals: (\d+)", written.read_text(), re.MULTILINE).group(1)) for written in self.dumps())

    def dumps(self) -> list[Path]:
        return list(self.server.home.glob("callgrind.out.*-*"))


def side_by_side(builds: list[Build], workload: str, options: argparse.Namespace) -> list[dict]:
    """The rounds of half of the time: by build what a transaction takes, outside the kernel and in it."""
    with ThreadPoolExecutor(len(builds)) as pool:
        def one_round(turn: int) -> dict:
            order = builds if turn % 2 == 0 else builds[::-1]
            running = {build.name: pool.submit(build.time_us, workload) for build in order}
            return {name: one.result() for name, one in running.items()}
        one_round(0)
        return [one_round(turn) for turn in range(options.rounds // 2)]


def show(workload: str, builds: list[Build], pairs: list[dict]) -> None:
    for build in builds:
        user, system = (median(pair[build.name][part] for pair in pairs) for part in (0, 1))
        print(f"{workload:6} {build.name:9} {user + system:8.2f} µs a transaction: {user:.2f} outside the kernel, {system:.2f} in it", flush=True)
    price = [100 * (sum(pair["counted"]) / sum(pair["uncounted"]) - 1) for pair in pairs]
    low, middle, high = quantiles(price, n=4)
    print(f"{workload:6} counting costs {middle:+.2f} % of the processor time (quartiles {low:+.2f}, {high:+.2f}; {len(pairs)} pairs)", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counted", type=Path, required=True)
    parser.add_argument("--uncounted", type=Path, required=True)
    parser.add_argument("--workloads", type=lambda text: text.split(","), default=["point", "rw"])
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--events", type=int, help="transactions of a run with --instructions")
    options = parser.parse_args()
    options.database = DATABASE
    return options


def main() -> int:
    options = arguments()
    builds = [Build("counted", options.counted, options), Build("uncounted", options.uncounted, options)]
    try:
        for build in builds:
            build.start()
            build.prepare()
        if options.instructions:
            for workload in options.workloads:
                counted, uncounted = (build.instructions(workload) for build in builds)
                print(f"{workload:6} {counted:,.0f} instructions a transaction, {uncounted:,.0f} without counting: "
                      f"{100 * (counted / uncounted - 1):+.2f} %", flush=True)
            return 0
        pairs = {workload: [] for workload in options.workloads}
        for half in range(2):
            if half == 1:
                builds[0].change_data(builds[1])
            for workload, seen in pairs.items():
                seen += side_by_side(builds, workload, options)
        for workload, seen in pairs.items():
            show(workload, builds, seen)
    finally:
        for build in builds:
            build.server.__exit__()
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What a closed loop hides: the lab's load generator at the peak and at 70 % of it, on a server that runs, and on one that stands still for a while.

    bench/open_loop.py PORT[:USER] [--workload rw] [--clients 16] [--seconds 10] [--pause 0.5]

The server is up, on this machine, and speaks MySQL's protocol; TIDEMARK_BINARY is the program whose load generator is used. A closed loop of a few clients finds the peak. In
the middle of two more runs, one closed and one open, the server's process is stopped (SIGSTOP, SIGCONT) for `--pause` seconds. Each client of the closed loop then has one slow transaction, whatever the pause
keeps others from: the percentiles do not show it. The open loop counts from when transactions should have begun, and shows it in as large a part of them as the pause is of the time. It
has as many clients as transactions may wait.
"""
import argparse
import os
import re
import signal
import subprocess
import time

from generator import listening

SHOWN = ("tps", "p50_us", "p95_us", "p99_us", "p999_us", "max_us")
PEAK_SHARE = 0.7
#: Clients of the open loop: more than may be under way at once, but for what waits during a pause.
OPEN_CLIENTS = 64


def figures(arguments: argparse.Namespace, pause_s: float, *words: str) -> dict[str, float]:
    program = os.environ.get("TIDEMARK_BINARY", "target/release/tidemark")
    port, _, user = arguments.address.partition(":")
    command = [program, "lab", "load", arguments.workload, "--tables=4", "--rows=25000", "--warm=1", f"--seconds={arguments.seconds}", f"--server=mysql://{user or 'root'}@127.0.0.1:{port}/lab_open_loop", *words]
    load = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if pause_s:
        server = int(listening(int(port)).name)
        time.sleep(1 + arguments.seconds / 2)
        os.kill(server, signal.SIGSTOP)
        try:
            time.sleep(pause_s)
        finally:
            os.kill(server, signal.SIGCONT)
    said, _ = load.communicate()
    if load.returncode:
        raise SystemExit(f"{command} has failed")
    return {name: float(value) for name, value in re.findall(r"^(\w+)\s+(\S+)$", said, re.M)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", metavar="PORT[:USER]")
    parser.add_argument("--workload", default="rw")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--pause", type=float, default=0.5)
    arguments = parser.parse_args()
    closed = [f"--clients={arguments.clients}"]
    figures(arguments, 0, *closed)          # has the tables be there and in memory
    peak = figures(arguments, 0, *closed)
    rated = [f"--clients={OPEN_CLIENTS}", f"--rate={peak['tps'] * PEAK_SHARE:.1f}"]
    print(f"{'':24}" + "".join(f"{name:>12}" for name in SHOWN))
    for name, found in (
        ("closed", peak), ("open, 70 %", figures(arguments, 0, *rated)),
        (f"closed, {arguments.pause} s still", figures(arguments, arguments.pause, *closed)), (f"open, {arguments.pause} s still", figures(arguments, arguments.pause, *rated)),
    ):
        print(f"{name:24}" + "".join(f"{found[value]:12.0f}" for value in SHOWN), flush=True)


if __name__ == "__main__":
    main()

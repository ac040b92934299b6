#!/usr/bin/env python3
"""The lab's load generator against stock sysbench, on the same work: do they find the same rate, and what does each cost?

    bench/generator.py NAME=PORT[:USER]... [--rounds 12] [--seconds 3] [--workloads point,rw,upd] [--clients 1,16] [--cpu 0]

The servers are up, on this machine, and speak MySQL's protocol; TIDEMARK_BINARY is the program whose generator is tried. Each round runs
one after the other, the first of one round is the last of the next, and what is quoted is the median of the rounds' ratios: a machine gets
faster and slower by more than the generators differ. Both begin cold and count everything, the tables are the lab's own, and
processor time is that of the whole process by its exit, divided by its transactions.

In a closed loop a cheaper generator is a faster one wherever its own time counts: with one client always, with more where it shares the
processors with the server. `--cpu` has the generators on one processor; put the server on another (`taskset -acp 1 PID`), and with many clients the
server alone decides the rate.
"""
import argparse
import os
import re
import statistics
import subprocess

SCRIPTS = {"point": "oltp_point_select", "rw": "oltp_read_write", "upd": "oltp_update_non_index"}
TABLES, ROWS = 4, 25_000
PINNED: list[str] = []


def timed(command: list[str]) -> tuple[str, float]:
    """What a command says, and the processor time that it takes."""
    child = subprocess.Popen(PINNED + command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command}: {said}")
    return said, usage.ru_utime + usage.ru_stime


def of_lab(workload: str, clients: int, seconds: int, address: tuple[int, str]) -> tuple[float, float]:
    port, user = address
    program = os.environ.get("TIDEMARK_BINARY", "target/release/tidemark")
    said, cpu = timed([program, "lab", "load", workload, f"--clients={clients}", f"--tables={TABLES}", f"--rows={ROWS}", "--warm=0", f"--seconds={seconds}",
                       f"--server=mysql://{user}@127.0.0.1:{port}/lab_generator"])
    tps = float(re.search(r"^tps\s+(\S+)", said, re.M).group(1))
    return tps, cpu * 1e6 / (tps * seconds)


def of_sysbench(workload: str, clients: int, seconds: int, address: tuple[int, str]) -> tuple[float, float]:
    port, user = address
    said, cpu = timed(["sysbench", SCRIPTS[workload], f"--threads={clients}", f"--tables={TABLES}", f"--table-size={ROWS}", "--rand-type=uniform", f"--time={seconds}", "--events=0",
                       "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={port}", f"--mysql-user={user}", "--mysql-db=lab_generator", "run"])
    count = float(re.search(r"transactions:\s+(\d+)", said).group(1))
    return count / float(re.search(r"total time:\s+([\d.]+)s", said).group(1)), cpu * 1e6 / count


def cell(arguments: argparse.Namespace, address: tuple[int, str], workload: str, clients: int) -> str:
    rates, costs, lab_rates = [], [], []
    of_lab(workload, clients, 1, address)  # has the tables be there and in memory
    for number in range(arguments.rounds):
        order = [of_lab, of_sysbench] if number % 2 else [of_sysbench, of_lab]
        found = {run: run(workload, clients, arguments.seconds, address) for run in order}
        (lab, lab_cpu), (stock, stock_cpu) = found[of_lab], found[of_sysbench]
        rates.append(lab / stock)
        costs.append(lab_cpu / stock_cpu)
        lab_rates.append(lab)
    quartiles = statistics.quantiles(rates, n=4)
    return (f"{workload:6} {clients:3} clients   rate {statistics.median(rates):.3f} (quartiles {quartiles[0]:.3f} to {quartiles[2]:.3f})   "
            f"processor time {statistics.median(costs):.2f}   {statistics.median(lab_rates):.0f} tps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=PORT[:USER]")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--workloads", default="point,rw,upd")
    parser.add_argument("--clients", default="1,16")
    parser.add_argument("--cpu", type=int)
    arguments = parser.parse_args()
    if arguments.cpu is not None:
        PINNED.extend(["taskset", "-c", str(arguments.cpu)])
    for server in arguments.servers:
        name, _, address = server.partition("=")
        port, _, user = address.partition(":")
        for workload in arguments.workloads.split(","):
            for clients in map(int, arguments.clients.split(",")):
                print(f"{name:10} {cell(arguments, (int(port), user or 'root'), workload, clients)}", flush=True)


if __name__ == "__main__":
    main()

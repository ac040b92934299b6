#!/usr/bin/env python3
"""How much of its statements' time a server explains: waits that it names, and the processor.

    bench/explained.py --program target/release/tidemark [--seconds 3] [--clients 1,16] [EXPERIMENT...]

Runs the lab's workloads on a server of its own and looks at each of its sessions twice, at the beginning and towards the end of its life. In between

    time - idle = named waits + the processor's time in the server's own code + rest

`idle` is the wait for the client's next command, the other waits are those of events_waits_summary_by_thread_by_event_name. The processor's time
is the kernel's, of the thread that threads.THREAD_OS_ID names: the precise sum of /proc/PID/task/TID/schedstat, of which /proc/PID/task/TID/stat says
how much was spent outside the kernel. What is spent in it counts as part of the wait in whose system call it is, so nothing counts twice. The rest is
what no name explains, and time in which the thread was ready, but another had the processor: `ready` is the most that this can be, as it has also
what passes between a wait's end and the processor, which belongs to the wait. So `explained` is the least that can be true, and means something on
a machine that does nothing else. Sessions of less than half a second, or of less than 20 ms in statements, are left out.
"""
import argparse
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.server import Server, scratch  # noqa: E402

EXPERIMENTS = ["clients-2010", "ratio-2015", "hot-row-2015", "three-points-79005", "clients-2017", "open-writers", "tpcc-2015", "queue"]
LOOK_EVERY_S = 0.3
SESSION_MIN_S = 0.5
STATEMENTS_MIN_S = 0.02

QUERY = """
SELECT t.thread_id, t.thread_os_id,
  (SELECT SUM(w.sum_timer_wait) FROM performance_schema.events_waits_summary_by_thread_by_event_name w
    WHERE w.thread_id = t.thread_id AND w.event_name = 'idle') AS idle,
  (SELECT SUM(w.sum_timer_wait) FROM performance_schema.events_waits_summary_by_thread_by_event_name w
    WHERE w.thread_id = t.thread_id AND w.event_name <> 'idle') AS waits,
  (SELECT SUM(s.sum_timer_wait) FROM performance_schema.events_statements_summary_by_thread_by_event_name s
    WHERE s.thread_id = t.thread_id) AS statements
FROM performance_schema.threads t WHERE t.thread_id <> CONNECTION_ID()"""


@dataclass
class Look:
    """All in seconds since some moment."""
    at: float
    idle: float
    waits: float
    statements: float
    user: float
    ready: float


@dataclass
class Session:
    first: Look
    last: Look

    def of(self, name: str) -> float:
        return getattr(self.last, name) - getattr(self.first, name)

    @property
    def busy(self) -> float:
        return self.of("at") - self.of("idle")


@dataclass
class Watch:
    """Looks at all sessions now and then, until it is told to stop."""
    server: Server
    sessions: dict[int, Session] = field(default_factory=dict)
    is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        with self.server.address.connect() as connection, connection.cursor() as cursor:
            while not self.is_over.wait(LOOK_EVERY_S):
                self.look(cursor)

    def look(self, cursor) -> None:
        cursor.execute(QUERY)
        for thread, task, *picos in cursor.fetchall():
            if task is None or None in picos:
                continue
            of_thread = Path(f"/proc/{self.server.process.pid}/task/{task}")
            try:
                processor, ready, _ = (int(field) / 1e9 for field in (of_thread / "schedstat").read_text().split())
                fields = (of_thread / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            user, system = int(fields[11]), int(fields[12])
            idle, waits, statements = (float(value) / 1e12 for value in picos)
            look = Look(time.monotonic(), idle, waits, statements, processor * user / max(user + system, 1), ready)
            known = self.sessions.get(thread)
            if known is None:
                self.sessions[thread] = Session(look, look)
            else:
                known.last = look


def run(program: str, server: Server, home: Path, experiment: str, options) -> list[Session]:
    watch = Watch(server)
    thread = threading.Thread(target=watch.run)
    thread.start()
    url = f"mysql://root@127.0.0.1:{server.port}/explained"
    command = [program, "lab", "run", experiment, "--quick", "--server", f"tidemark={url}", "--clients", options.clients, "--repeats", "1",
               "--seconds", str(options.seconds), "--results", str(home / "results.jsonl")]
    try:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=1800)
    finally:
        watch.is_over.set()
        thread.join()
    long = [session for session in watch.sessions.values() if session.of("at") >= SESSION_MIN_S]
    return [session for session in long if session.of("statements") >= STATEMENTS_MIN_S]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiments", nargs="*", default=EXPERIMENTS)
    parser.add_argument("--program", default=str(ROOT / "target/release/tidemark"))
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--clients", default="1,16")
    options = parser.parse_args()
    shares = []
    print(f"{'workload':20} {'sessions':>8} {'statements':>11} {'busy':>9} {'waits':>9} {'own code':>9} {'rest':>9} {'ready':>9} {'explained':>10}")
    with scratch("explained") as home, Server("explained") as server:
        for experiment in options.experiments:
            sessions = run(options.program, server, Path(home), experiment, options)
            if not sessions:
                print(f"{experiment:20} no session was long enough")
                continue
            statements, waits, user, ready = (sum(session.of(name) for session in sessions) for name in ("statements", "waits", "user", "ready"))
            busy = sum(session.busy for session in sessions)
            # A look takes time, so a session may seem to have a little more than there was.
            rest = busy - waits - user
            shares.append(1 - abs(rest) / busy)
            figures = "".join(f"{value:8.1f} s" for value in (busy, waits, user, rest, ready))
            print(f"{experiment:20} {len(sessions):8} {statements:9.1f} s {figures} {shares[-1]:10.1%}", flush=True)
    if shares:
        print(f"median over {len(shares)} workloads: {statistics.median(shares):.1%}, least {min(shares):.1%}")


if __name__ == "__main__":
    main()

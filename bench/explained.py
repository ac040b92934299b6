#!/usr/bin/env python3
"""How much of its statements' time a server explains: waits that it names, and the processor.

    bench/explained.py --program target/release/tidemark [--seconds 3] [--clients 1,16] [EXPERIMENT...]

Runs the lab's workloads on a server of its own and looks at each of its sessions twice, at the beginning and towards the end of its life. In between

    time = idle + named waits + on the processor + ready, but waiting for one + unexplained

`idle` is the wait for the client's next command, the other waits are those of events_waits_summary_by_thread_by_event_name, and both times of the
processor are the kernel's own, to the nanosecond (/proc/PID/task/TID/schedstat; threads.THREAD_OS_ID says which thread serves which session). What is
left is held against the time of the session's statements, all of it, though some belongs to the protocol around them: so at least the share that is
printed is explained. Sessions of less than half a second, or of less than 20 ms in statements, are left out.
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
    processor: float
    ready: float


@dataclass
class Session:
    first: Look
    last: Look

    def of(self, name: str) -> float:
        return getattr(self.last, name) - getattr(self.first, name)

    @property
    def unexplained(self) -> float:
        return self.of("at") - self.of("idle") - self.of("waits") - self.of("processor") - self.of("ready")


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
            try:
                on, ready, _ = Path(f"/proc/{self.server.process.pid}/task/{task}/schedstat").read_text().split()
            except OSError:
                continue
            idle, waits, statements = (float(value) / 1e12 for value in picos)
            look = Look(time.monotonic(), idle, waits, statements, int(on) / 1e9, int(ready) / 1e9)
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
    print(f"{'workload':20} {'sessions':>8} {'statements':>11} {'waits':>8} {'processor':>10} {'ready':>8} {'left':>8} {'explained':>10}")
    with scratch("explained") as home, Server("explained") as server:
        for experiment in options.experiments:
            sessions = run(options.program, server, Path(home), experiment, options)
            if not sessions:
                print(f"{experiment:20} no session was long enough")
                continue
            total = {name: sum(session.of(name) for session in sessions) for name in ("statements", "waits", "processor", "ready")}
            # A look takes time, so what one session seems to have too much another may have too little.
            left = sum(session.unexplained for session in sessions)
            shares.append(1 - abs(left) / total["statements"])
            print(f"{experiment:20} {len(sessions):8} {total['statements']:9.1f} s {total['waits']:6.1f} s {total['processor']:8.1f} s {total['ready']:6.1f} s "
                  f"{left:6.2f} s {shares[-1]:10.1%}", flush=True)
    if shares:
        print(f"median over {len(shares)} workloads: {statistics.median(shares):.1%}, least {min(shares):.1%}")


if __name__ == "__main__":
    main()

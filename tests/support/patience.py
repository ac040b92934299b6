"""Limits of time that hold on a machine that is busy with something else.

A test that says "within two seconds" means: on a machine that has a core for it. Where others want the processors, everything takes
longer, the server and the test itself, and neither is at fault. So a limit is stretched by how much longer things take at present than
they would alone, and not at all on a machine that is idle. What the server must not *compute* for long is better measured
by its own processor time (`processor_s`), which a load does not change.
"""
import os
import time
from pathlib import Path

SAMPLE_S = 0.02         # of the processor, for a look at how long that takes
MARGIN = 3.0            # a load is not even: what waits its turn may wait several


def slowdown() -> float:
    """How many times longer something takes than on a machine of its own: 1 on an idle one."""
    started, spent = time.monotonic(), time.thread_time()
    while time.thread_time() - spent < SAMPLE_S:
        pass
    sampled = (time.monotonic() - started) / (time.thread_time() - spent)
    # The sample may have met a gap in a load that was there all the while.
    load = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    return max(1.0, sampled, load)


def patience(limit_s: float) -> float:
    """The limit, stretched by what the machine is busy with now."""
    factor = slowdown()
    return limit_s if factor < 1.2 else limit_s * factor * MARGIN


def is_within(took_s: float, limit_s: float) -> bool:
    """True if something took no longer than it may, given how busy the machine is."""
    return took_s < limit_s or took_s < patience(limit_s)


def processor_s(pid: int) -> float:
    """The processor time that a process has taken, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

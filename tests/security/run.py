#!/usr/bin/env python3
"""What no client may do to a server, whatever it sends: end it, stop it answering, or take its memory.

    tests/security/run.py [--address HOST:PORT[:USER]] [PART...]

Each part is a module of this folder with a `run(server, report)`: `server` gives connections and says whether it is
still the same process. Two parts that take processor time and nothing else run beside the others with servers of their own, and have a count of their own.
"""
import importlib
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

PARTS = ["depth", "memory", "budget", "held", "hangs", "endless", "accounts", "grants", "roles", "columns", "connections", "strangers", "switches", "audit", "tls", "passwords", "strength", "partial", "views", "barrier", "privileges"]


BESIDE = ["depth", "endless"]


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", help="HOST:PORT[:USER]; default: a Tidemark server of its own")
    options = parser.parse_args()
    report = Report("security", options.filters)
    is_whole = not options.filters and not options.address
    modules = [importlib.import_module(part) for part in PARTS if report.wants(part) and not (is_whole and part in BESIDE)]
    beside = subprocess.Popen([sys.executable, __file__, *BESIDE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) if is_whole else None
    if options.address:
        for module in modules:
            module.run(Address.parse(options.address), report)
    else:
        with Server("security", "--max-connections=500") as server:
            for module in modules:
                module.run(server.address, report)
            report.equal(server.stop(), 0, "stops")
    if beside:
        print(beside.communicate()[0], end="", flush=True)
        report.equal(beside.returncode, 0, f"{' and '.join(BESIDE)}, beside the others")
    report.close()


if __name__ == "__main__":
    main()

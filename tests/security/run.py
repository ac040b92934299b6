#!/usr/bin/env python3
"""What no client may do to a server, whatever it sends: end it, stop it answering, or take its memory.

    tests/security/run.py [--address HOST:PORT[:USER]] [PART...]

Each part is a module of this folder with a `run(server, report)`: `server` gives connections and says whether it is
still the same process.
"""
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

PARTS = ["depth", "memory", "budget", "hangs", "accounts", "grants", "roles", "columns", "connections", "switches", "audit", "tls", "passwords", "strength", "partial", "views", "privileges"]


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", help="HOST:PORT[:USER]; default: a Tidemark server of its own")
    options = parser.parse_args()
    report = Report("security", options.filters)
    modules = [importlib.import_module(part) for part in PARTS if report.wants(part)]
    if options.address:
        for module in modules:
            module.run(Address.parse(options.address), report)
    else:
        with Server("security", "--max-connections=500") as server:
            for module in modules:
                module.run(server.address, report)
            report.equal(server.stop(), 0, "stops")
    report.close()


if __name__ == "__main__":
    main()

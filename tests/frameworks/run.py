#!/usr/bin/env python3
"""Applications, frameworks and tools, with the tests and schemas that they bring, unchanged.

    tests/frameworks/run.py [SUITE] [FILTER ...] [--address HOST:PORT[:USER]] [--peer HOST:PORT[:USER]] [--short] [--record]

SUITE is one of django, sqlalchemy, go_driver, schemas, tools; without one all run. Without an address it starts a Tidemark server of its
own. What a suite needs it fetches by name into `target/frameworks` (`install.py`), the first time; what cannot be had is skipped.

A test that fails is a failure unless `known/SUITE.txt` lists it (`known.py`): it fails on MySQL 9.7 as well, or what it needs is missing
here, and then it must go on failing until its line is taken away. `--short` runs what needs no more than the suites `clients` and
`drivers` do, in less than a minute. `--peer` names a MySQL server that loads the
schemas and their dumps as well. `--record`, with the address of a MySQL server, writes down what it refuses of the schemas.
"""
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import django_tests  # noqa: E402
import go_driver  # noqa: E402
import install  # noqa: E402
import schemas  # noqa: E402
import sqlalchemy_tests  # noqa: E402
import tools  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

SUITES = {"tools": tools, "go_driver": go_driver, "schemas": schemas, "sqlalchemy": sqlalchemy_tests, "django": django_tests}
# What `--short` runs, with its filters.
SHORT = {"tools": ["dump_and_load", "mysqlimport", "mysqlslap"], "go_driver": []}
# Durability is not what is tested here, and definitions are made and dropped by the thousand.
OPTIONS = ["--innodb-flush-log-at-trx-commit=0"]


def play(report: Report, address: Address, chosen: dict[str, list[str]], peer: Address | None) -> None:
    """Runs suites, each with its filters."""
    is_mysql = "tidemark" not in address.execute("SELECT VERSION()")[0][0]
    install.BUILD.mkdir(parents=True, exist_ok=True)
    for name, filters in chosen.items():
        more = {"peer": peer} if name == "schemas" else {}
        try:
            SUITES[name].run(report, address, is_mysql, filters, **more)
        except install.Missing as missing:
            report.skip(name, str(missing))
    address.execute("SELECT 1")    # whatever the programs did, the server still answers


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--address", type=Address.parse, metavar="HOST:PORT[:USER]")
    parser.add_argument("--peer", type=Address.parse, metavar="HOST:PORT[:USER]", help="a MySQL server, for the schemas")
    parser.add_argument("--short", action="store_true", help="what takes less than a minute")
    parser.add_argument("--record", action="store_true", help="write down what the MySQL server at the address refuses of the schemas")
    options = parser.parse_args()
    filters = [word for word in options.filters if word not in SUITES]
    asked = [word for word in options.filters if word in SUITES] or list(SUITES)
    chosen = SHORT if options.short else {name: filters for name in asked}
    report = Report("frameworks")
    if options.record:
        schemas.record(options.address, schemas.chosen_schemas(filters))
        return
    if options.address:
        play(report, options.address, chosen, options.peer)
    else:
        with Server("frameworks", *OPTIONS) as server:
            play(report, server.address, chosen, options.peer)
    report.close()


if __name__ == "__main__":
    main()

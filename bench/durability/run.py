#!/usr/bin/env python3
"""What durability costs and how long it takes: three measurements beside a MySQL.

    bench/durability/run.py [recovery] [steady] [backup] [--short] [--against HOST:PORT[:USER]]
                            [--peer-pid-file FILE --peer-start COMMAND]

    recovery  kill -9 under oltp_read_write with a full log, until the first row is read again        half of MySQL's time
    steady    oltp_write_only, 16 clients, ten minutes over several checkpoints                       p99.9 and worst second better
    backup    a copy is made under oltp_read_write, 16 clients, 2 GB: rate meanwhile ÷ rate before     >= 0.8, the copy is whole

Every point starts a Tidemark of its own (the release build, or the one TIDEMARK_BINARY names) with default durability.
`--against` measures a MySQL that is up beside it, in turns; its user needs no password. For `recovery` it is killed: its
process id stands in `--peer-pid-file`, and `--peer-start` starts it again. `--short` does the same with less data and less
time: good to see that it works, too short to quote. The last line counts what passed.
"""
import argparse
import shlex
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests"), str(HERE.parent / "servers"), str(HERE)]

import backup  # noqa: E402
import recovery  # noqa: E402
import steady  # noqa: E402
from sides import Side  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import Report  # noqa: E402

POINTS = {"recovery": recovery.run, "steady": steady.run, "backup": backup.run}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", nargs="*", choices=[[], *POINTS], metavar="POINT", help="all, if none is named")
    parser.add_argument("--short", action="store_true", help="less data, less time")
    parser.add_argument("--against", type=Address.parse, metavar="HOST:PORT[:USER]")
    parser.add_argument("--peer-pid-file", type=Path, metavar="FILE")
    parser.add_argument("--peer-start", type=shlex.split, metavar="COMMAND")
    options = parser.parse_args()
    report = Report("durability")
    peer = Side("peer", options.against) if options.against else None
    for name in options.points or POINTS:
        with report.case(f"{name}_completes"):
            POINTS[name](report, peer, options)
    report.close()


if __name__ == "__main__":
    main()

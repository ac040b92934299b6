#!/usr/bin/env python3
"""What a snapshot that is held costs everybody else: eight measurements, each with a figure to reach.

    bench/snapshots/run.py [POINT...] [--short] [--against HOST:PORT[:USER]] [--postgres HOST:PORT[:USER]]

    1  one hot row, two snapshots held: the update rate, and the read in the snapshot     rate >= 0.95, read < 1 ms
    2  one hot row, a thousand snapshots                                                  rate >= 0.8
    3  oltp_read_write beside one snapshot, uniform and Pareto                            falls by < 5%, version bytes level off
    4  a full SUM(k) in a snapshot, every row updated ten times since                     time <= 2x
    5  a queue table with 8 producers and 8 consumers beside a snapshot                   rate >= 0.8
    6  UPDATE of a table four times the pool, rolled back, and killed                     memory <= pool + 200 MB
    7  data ten times the pool: point select, oltp_read_write, full scan                  >= 1.5x the peer
    8  delete all rows, purge, insert as many                                             the data file does not grow

Every point starts a Tidemark of its own (the release build, or the one TIDEMARK_BINARY names) with default durability and
stops it in the end. `--against` measures a MySQL that is up beside it, in turns; its user needs no password and may set
global variables: for point 7 its pool is made as small as Tidemark's, and put back. `--postgres` does the same with a
PostgreSQL, in points 1, 3 and 4. Figures are medians of seconds. `--short`
does the same with less data and less time: good to see that it works, too short to quote. The last line counts what passed;
the exit status says whether anything failed.
"""
import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tests"), str(HERE.parent / "servers"), str(HERE)]

import bulk_update  # noqa: E402
import hot_row  # noqa: E402
import larger_than_pool  # noqa: E402
import mixed_load  # noqa: E402
import old_scan  # noqa: E402
import queue_table  # noqa: E402
import space  # noqa: E402
from postgres import Postgres  # noqa: E402
from sides import Side  # noqa: E402
from support.address import Address  # noqa: E402
from support.report import Report  # noqa: E402

POINTS = {1: hot_row.two_snapshots, 2: hot_row.thousand_snapshots, 3: mixed_load.run, 4: old_scan.run, 5: queue_table.run,
          6: bulk_update.run, 7: larger_than_pool.run, 8: space.run}
WITH_POSTGRES = {1, 3, 4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("points", nargs="*", type=int, choices=[[], *POINTS], metavar="POINT", help="all, if none is named")
    parser.add_argument("--short", action="store_true", help="less data, less time")
    parser.add_argument("--against", type=Address.parse, metavar="HOST:PORT[:USER]")
    parser.add_argument("--postgres", type=Address.parse, metavar="HOST:PORT[:USER]")
    options = parser.parse_args()
    report = Report("snapshots")
    mysql = [Side("peer", options.against)] if options.against else []
    postgres = [Postgres("postgres", options.postgres)] if options.postgres else []
    for number in options.points or POINTS:
        peers = mysql + (postgres if number in WITH_POSTGRES else [])
        with report.case(f"point_{number}_completes"):
            POINTS[number](report, peers, options.short)
    report.close()


if __name__ == "__main__":
    main()

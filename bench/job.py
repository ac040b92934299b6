#!/usr/bin/env python3
"""Joins of five to seventeen tables over skewed and correlated data, on servers that are up: processor time per query, and how far estimates are off.

    bench/job.py NAME=PORT[:USER] NAME=PORT[:USER]... [--load] [--scale 1] [--rounds 3] [--only 1a,13] [--timeout 60] [--estimates]

Data and queries are those of `job/`: a made-up film database and 113 queries in the families of the Join Order Benchmark, the same in each run of
a scale. `--load` makes database `job` on each server. How servers are compared: see `compared.py`. Each query must have the same rows everywhere.

`--estimates` runs EXPLAIN ANALYZE on the first server, and on those named `mysql`, and prints the q-error of the joins' rows.
"""
import argparse

from compared import Peers, compare, estimates, load
from job.data import fill, make
from job.queries import queries

DATABASE = "job"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", nargs="+", metavar="NAME=PORT")
    parser.add_argument("--load", action="store_true")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="names of queries, or numbers of families")
    parser.add_argument("--timeout", type=int, default=60, help="seconds")
    parser.add_argument("--estimates", action="store_true")
    parser.add_argument("--worst", type=int, default=5, help="print so many of the worst estimates")
    options = parser.parse_args()
    tables = make(options.scale)
    texts = queries(tables)
    only = options.only.split(",") if options.only else list(texts)
    texts = {name: sql for name, sql in texts.items() if name in only or name.rstrip("abcdef") in only}
    if options.load:
        load(options.servers, lambda server: fill(server.cursor, DATABASE, tables))
    peers = Peers(options.servers, DATABASE, options.timeout)
    if options.estimates:
        estimates(peers, texts, options.worst)
    else:
        compare(peers, texts, options.rounds)


if __name__ == "__main__":
    main()

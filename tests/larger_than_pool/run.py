#!/usr/bin/env python3
"""Data ten times the pool: load, point selects, updates, one huge update; memory stays within its bound.

    tests/larger_than_pool/run.py            a pool of 16 MB
    tests/larger_than_pool/run.py --full     a pool of 128 MB

The bound is the pool and 200 MB, taken from /proc: the most that was ever resident. One UPDATE writes five
times more old versions than the pool holds while an older view still needs them, and is then rolled back.
"""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.address import Address  # noqa: E402
from support.report import Report, suite_parser  # noqa: E402
from support.server import Server  # noqa: E402

ROW_BYTES = 4 + 4 + 120 + 60  # id, k, c, pad of a sysbench row
MB = 1 << 20


def sysbench(address: Address, script: str, command: str, rows: int, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run(["sysbench", script, *address.sysbench_arguments("sbtest"), "--tables=1", f"--table-size={rows}", *options, command],
                          capture_output=True, text=True, timeout=3600)


def main():
    parser = suite_parser(__doc__)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--pool-mb", type=int)
    parser.add_argument("--seconds", type=int, default=5, help="per workload")
    options = parser.parse_args()
    pool_mb = options.pool_mb or (128 if options.full else 16)
    rows = pool_mb * MB * 10 // ROW_BYTES
    limit = (pool_mb + 200) * MB
    report = Report("larger_than_pool", options.filters)
    server = Server("larger", f"--innodb-buffer-pool-size={pool_mb}M", "--innodb-log-file-size=256M").start()
    address = server.address

    def memory(after: str):
        peak = server.memory_bytes("VmHWM")
        report.check(peak <= limit, f"memory_after_{after}", f"{peak / MB:.0f} MB were resident, the bound is {limit / MB:.0f} MB")
        print(f"  {peak / MB:.0f} MB resident at most", flush=True)

    try:
        address.execute("CREATE DATABASE sbtest")
        loaded = sysbench(address, "oltp_read_write", "prepare", rows)
        report.check(loaded.returncode == 0, f"load_{rows}_rows", (loaded.stdout + loaded.stderr)[-500:])
        memory("load")
        for script in filter(report.wants, ("oltp_point_select", "oltp_update_non_index", "oltp_update_index", "oltp_read_write")):
            ran = sysbench(address, script, "run", rows, "--threads=16", f"--time={options.seconds}", "--events=0", "--rand-type=uniform")
            report.check(ran.returncode == 0 and "FATAL" not in ran.stdout + ran.stderr, script, (ran.stdout + ran.stderr)[-500:])
            memory(script)
        with report.case("update_of_half"):
            half = rows // 2
            reader, writer = address.connect(database="sbtest", read_timeout=1800), address.connect(database="sbtest", read_timeout=1800)
            summary = "SELECT COUNT(*), SUM(k), MIN(pad), MAX(pad) FROM sbtest1"
            with reader.cursor() as old, writer.cursor() as new:
                old.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
                old.execute(summary)
                before = old.fetchall()
                assert before[0][0] == rows, f"{before[0][0]} rows, not {rows}"
                new.execute("BEGIN")
                assert new.execute(f"UPDATE sbtest1 SET c = REVERSE(c), pad = CONCAT('!', LEFT(pad, 59)) WHERE id <= {half}") == half
                old.execute(summary)
                assert old.fetchall() == before, "the old view changed"
                new.execute(summary)
                assert new.fetchall()[0][2][:1] == "!", "one's own update is not there"
                new.execute("ROLLBACK")
                new.execute(summary)
                assert new.fetchall() == before, "the rollback left something"
        memory("update_of_half")
        report.equal(server.stop(wait_s=600), 0, "stops")
        checked = server.check()
        report.check(checked.returncode == 0, "tidemark_check", (checked.stdout + checked.stderr)[-1000:])
    finally:
        server.__exit__()
    report.close()


if __name__ == "__main__":
    main()

"""A copy of a running server under oltp_read_write: the rate meanwhile, and whether the copy is whole.

Beside the load a bank moves money between accounts; in the copy the sum must be what it always was.
"""
import random
import shutil
import subprocess
import threading
import time
from statistics import median

from sides import DATABASE, MB, Side, ask
from support.server import Server, binary
from tidemark import tidemark

TABLES, CLIENTS, ACCOUNTS = 8, 16, 1000
ROW_BYTES = 240          # what a row of sysbench takes with its index entry, about


def run(report, peer: Side | None, options) -> None:
    data_mb, quiet_s, most_s = (100, 5, 10) if options.short else (2000, 60, 60)
    rows = data_mb * MB // ROW_BYTES // TABLES
    tables = [f"--tables={TABLES}", f"--table-size={rows}"]
    with tidemark("backup", "--innodb-redo-log-capacity=1G", pool_mb=1000) as own:
        own.fresh_database()
        own.sysbench("oltp_read_write", "prepare", *tables, "--threads=2")
        own.execute("CREATE TABLE bank (id INT PRIMARY KEY, balance INT NOT NULL)",
                    "INSERT INTO bank VALUES " + ", ".join(f"({n}, 100)" for n in range(ACCOUNTS)))
        copy = own.server.home / "copy"
        load = own.load("oltp_read_write", 10 + 2 * quiet_s + most_s, CLIENTS, *tables)
        ends = threading.Event()
        banker = threading.Thread(target=move_money, args=(own, ends))
        banker.start()
        try:
            load.until(10 + quiet_s)
            began = load.age_s()
            subprocess.run([binary(), "backup", "--to", str(copy), "--host", "127.0.0.1", "--port", str(own.server.port), "--user", "root"],
                           check=True, capture_output=True)
            ended = load.age_s()
            rates = load.finish()
        finally:
            ends.set()
            banker.join()
            load.stop()
        before, during = median(rates[10:int(began)]), median(rates[int(began):max(int(began) + 1, int(ended))])
        after = median(rates[int(ended) + 1:-1])
        size = sum(file.stat().st_size for file in copy.rglob("*") if file.is_file())
        report.note(f"{size / 1e9:.2f} GB copied in {ended - began:.1f} s; transactions a second before {before:.0f}, meanwhile {during:.0f}, after {after:.0f}")
        report.check(during >= 0.8 * before, "rate", f"{during / before:.2f} of the rate before, 0.8 is asked for")
        whole(report, copy)
        shutil.rmtree(copy)


def whole(report, copy) -> None:
    restored = copy.parent / "restored"
    done = subprocess.run([binary(), "restore", f"--from={copy}", f"--datadir={restored}"], capture_output=True, text=True)
    report.check(done.returncode == 0, "restore", done.stdout + done.stderr)
    with Server("copy", datadir=restored) as server:
        total = server.address.execute(f"SELECT SUM(balance), COUNT(*) FROM {DATABASE}.bank")[0]
        report.check(tuple(map(int, total)) == (100 * ACCOUNTS, ACCOUNTS), "sum", f"{total}")
        server.stop()
        checked = server.check()
        report.check(checked.returncode == 0, "check", checked.stdout + checked.stderr)
    shutil.rmtree(restored)


def move_money(side: Side, ends: threading.Event) -> None:
    connection = side.connect(autocommit=False)
    chance = random.Random(1)
    while not ends.is_set():
        first, second = chance.sample(range(ACCOUNTS), 2)
        ask(connection, f"UPDATE bank SET balance = balance - 1 WHERE id = {first}")
        ask(connection, f"UPDATE bank SET balance = balance + 1 WHERE id = {second}")
        ask(connection, "COMMIT")
        time.sleep(0.005)
    side.close(connection)

"""What is known of columns that no index has: the server finds it out by itself, and nobody waits for that.

The thread that looks at tables wakes up every few seconds, so these checks take some.
"""
import time

from support.patience import patience

DATABASE = "unindexed"
ROWS = 60_000
NUMBERS = "WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < {}) "
FOUND_WITHIN_S = 40.0
DDL_WITHIN_S = 2.0


def expected(cursor, condition: str) -> float:
    cursor.execute(f"EXPLAIN FORMAT=TRADITIONAL SELECT * FROM sales WHERE {condition}")
    row = cursor.fetchone()
    return float(row[9]) * float(row[10]) / 100


def fill(cursor, name: str, rows: int) -> None:
    cursor.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, status VARCHAR(10), amount INT, note INT)")
    cursor.execute(f"INSERT INTO {name} {NUMBERS.format(rows)} SELECT x, IF(x % 100, 'done', 'open'), x % 5000, IF(x % 10, NULL, x) FROM n")


def by_itself(report, cursor) -> None:
    fill(cursor, "sales", ROWS)
    ddl = 0.0
    deadline = time.monotonic() + patience(FOUND_WITHIN_S)
    truths = {"status = 'open'": ROWS / 100, "amount = 17": ROWS / 5000, "note IS NOT NULL": ROWS / 10, "amount < 500": ROWS / 10}
    while time.monotonic() < deadline and not ROWS / 130 < expected(cursor, "status = 'open'") < ROWS / 70:
        # A change of the definition waits for one leaf at most.
        began = time.monotonic()
        cursor.execute("CREATE TABLE beside (a INT)")
        cursor.execute("ALTER TABLE beside ADD COLUMN b INT")
        cursor.execute("DROP TABLE beside")
        ddl = max(ddl, time.monotonic() - began)
        time.sleep(0.2)
    for condition, truth in truths.items():
        found = expected(cursor, condition)
        report.check(truth / 1.5 < found < truth * 1.5, f"{condition.replace(' ', '_')}_is_known_by_itself", f"{found:.0f} expected, {truth:.0f} there")
    report.check(ddl < patience(DDL_WITHIN_S), "definitions_change_meanwhile", f"{ddl:.2f} s")


def dropped(report, cursor) -> None:
    """Tables that go, are emptied or redefined while they are looked at."""
    for at in range(6):
        fill(cursor, "passing", 3000)
        time.sleep(1.0)
        cursor.execute(["DROP TABLE passing", "TRUNCATE passing", "ALTER TABLE passing DROP COLUMN note"][at % 3])
        if at % 3:
            cursor.execute("DROP TABLE passing")
    cursor.execute("SELECT COUNT(*) FROM mysql.innodb_table_stats WHERE table_name = 'passing'")
    report.equal(cursor.fetchone()[0], 0, "what_is_gone_has_no_statistics")


def check(report, address) -> None:
    with address.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        cursor.execute(f"USE {DATABASE}")
        cursor.execute("SET cte_max_recursion_depth = 1000000")
        for part in (by_itself, dropped):
            part(report, cursor)
        cursor.execute(f"DROP DATABASE {DATABASE}")

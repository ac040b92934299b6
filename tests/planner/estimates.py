"""What the planner takes sizes to be, and how long it believes that.

Rows per key are counted in leaves all over an index, so that skew at its beginning misleads nobody; bounds that come from the row
around a subquery are estimated by them. A kept plan ends when a table that it reads has doubled, or was analysed, and not for the sake of other tables.
What the server did is seen in `Handler_read_...`, and whether it has planned again in `Com_stmt_reprepare`.
"""
DATABASE = "estimates"
ROWS = 40_000
NUMBERS = "WITH RECURSIVE n AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM n WHERE x < {}) "
#: Values of a column of ROWS rows, and between which numbers of different values the estimate must lie.
SPREADS = {
    "two_values": ("x % 2", 2, 4),
    "one_value_late": ("IF(x <= 8000, x, 9000)", 4_000, 16_000),
    "one_value_first": ("IF(x <= 32000, 0, x)", 4_000, 16_000),
    "a_thousand": ("x * 7919 % 1000", 700, 1_400),
    "all_different": ("x", 30_000, 50_000),
}


def status(cursor, name: str) -> dict[str, int]:
    cursor.execute(f"SHOW SESSION STATUS LIKE '{name}'")
    return {row[0]: int(row[1]) for row in cursor.fetchall()}


def reads(cursor, query: str) -> dict[str, int]:
    """How many rows were read in each way, and the rows of the query."""
    before = status(cursor, "Handler_read%")
    cursor.execute(query)
    cursor.fetchall()
    after = status(cursor, "Handler_read%")
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}


def rows_per_key(report, cursor) -> None:
    columns = "".join(f", {name} INT NOT NULL, KEY ({name})" for name in SPREADS)
    cursor.execute(f"CREATE TABLE spread (id INT PRIMARY KEY{columns})")
    values = ", ".join(value for value, _, _ in SPREADS.values())
    cursor.execute(f"INSERT INTO spread {NUMBERS.format(ROWS)} SELECT x, {values} FROM n")
    cursor.execute("ANALYZE TABLE spread")
    cursor.fetchall()
    cursor.execute("SELECT index_name, cardinality FROM information_schema.statistics WHERE table_name = 'spread' AND table_schema = DATABASE()")
    found = dict(cursor.fetchall())
    for name, (_, least, most) in SPREADS.items():
        report.check(least <= found[name] <= most, f"rows_per_key_of_{name}", f"{found[name]} values, not {least} to {most}")


def correlated(report, cursor) -> None:
    """The index that stands first in the definition leads to all rows, the other to one."""
    cursor.execute("CREATE TABLE around (k INT PRIMARY KEY, one INT NOT NULL)")
    cursor.execute("CREATE TABLE inside (id INT PRIMARY KEY, flag INT NOT NULL, k INT NOT NULL, KEY bad (flag), KEY good (k))")
    cursor.execute(f"INSERT INTO around {NUMBERS.format(20)} SELECT x * 50, 1 FROM n")
    cursor.execute(f"INSERT INTO inside {NUMBERS.format(5000)} SELECT x, 1, x FROM n")
    query = "SELECT COUNT(*) FROM around WHERE (SELECT COUNT(*) FROM inside WHERE inside.flag = around.one AND inside.k = around.k) = 1"
    read = sum(reads(cursor, query).values())
    report.check(read < 200, "a_correlated_subquery_takes_the_better_index", f"{read} rows read")


def kept(report, cursor) -> None:
    cursor.execute("CREATE TABLE few (id INT PRIMARY KEY, x INT NOT NULL, KEY (x))")
    cursor.execute("CREATE TABLE many (id INT PRIMARY KEY, x INT NOT NULL, KEY (x))")
    cursor.execute("CREATE TABLE other (id INT PRIMARY KEY)")
    query = "SELECT COUNT(*) FROM many JOIN few ON many.x = few.x"
    cursor.execute(f"PREPARE s FROM '{query}'")
    for way, run in (("text", query), ("prepared", "EXECUTE s")):
        cursor.execute("DELETE FROM few")
        cursor.execute("TRUNCATE many")
        cursor.execute(run)
        cursor.execute(f"INSERT INTO many {NUMBERS.format(20_000)} SELECT x, x FROM n")
        cursor.execute(f"INSERT INTO few {NUMBERS.format(10)} SELECT x, x FROM n")
        read = sum(reads(cursor, run).values())
        report.check(read < 100, f"{way}_plan_of_empty_tables_ends", f"{read} rows read")
    planned = status(cursor, "Com_stmt_reprepare")
    cursor.execute("ANALYZE TABLE other")
    cursor.fetchall()
    cursor.execute("EXECUTE s")
    report.equal(status(cursor, "Com_stmt_reprepare"), planned, "analysing_another_table_ends_no_plan")


def analysed(report, cursor) -> None:
    """A value that was rare is everywhere: ANALYZE is how the planner is told."""
    cursor.execute("CREATE TABLE changed (id INT PRIMARY KEY, x INT NOT NULL, pad CHAR(20) NOT NULL, KEY (x))")
    cursor.execute(f"INSERT INTO changed {NUMBERS.format(5000)} SELECT x, x, '' FROM n")
    query = "SELECT COUNT(pad) FROM changed WHERE x = 1"
    report.check(reads(cursor, query).get("Handler_read_rnd_next", 0) == 0, "a_rare_value_is_looked_up")
    cursor.execute("UPDATE changed SET x = 1")
    cursor.execute("ANALYZE TABLE changed")
    cursor.fetchall()
    read = reads(cursor, query)
    report.check(read.get("Handler_read_rnd_next", 0) >= 5000, "analyze_ends_the_plan", str(read))


def check(report, address) -> None:
    with address.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        cursor.execute(f"CREATE DATABASE {DATABASE}")
        cursor.execute(f"USE {DATABASE}")
        cursor.execute("SET cte_max_recursion_depth = 1000000")
        for part in (rows_per_key, correlated, kept, analysed):
            part(report, cursor)
        cursor.execute(f"DROP DATABASE {DATABASE}")

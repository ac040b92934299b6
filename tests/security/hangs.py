"""Statements that take long are ended by KILL QUERY within a tenth of a second."""
import threading
import time

import pymysql

# Each takes minutes or more if nobody ends it.
SLOW = {
    "LIKE": "SELECT REPEAT('a', 4000000) LIKE CONCAT('%', REPEAT('a', 2000000), 'b%')",
    "LIKE of characters": "SELECT REPEAT('ä', 4000000) LIKE CONCAT('%', REPEAT('Ä', 1000000), 'b%')",
    "LOCATE": "SELECT LOCATE(CONCAT(REPEAT('a', 2000000), 'b'), REPEAT('a', 4000000))",
    "REPLACE": "SELECT LENGTH(REPLACE(REPEAT('a', 40000000), CONCAT(REPEAT('a', 20000000), 'b'), 'c'))",
    "SUBSTRING_INDEX": "SELECT LENGTH(SUBSTRING_INDEX(REPEAT('a', 40000000), CONCAT(REPEAT('a', 20000000), 'b'), 1))",
    "BENCHMARK": "SELECT BENCHMARK(100000000000, 1 + 1)",
    "joins without a condition": "SELECT COUNT(*) FROM " + ", ".join(f"information_schema.columns c{i}" for i in range(8)),
}
WITHIN = 0.1
# The machine's own delays: another process may have the processor.
SLACK = 0.4


def run(address, report):
    for name, sql in SLOW.items():
        with report.case(f"KILL QUERY ends {name}"):
            took = killed_after(address, sql)
            assert took < WITHIN + SLACK, f"{took:.2f} s"
    field_list(address, report)


def killed_after(address, sql):
    connection = address.connect()
    ended = []

    def query():
        with connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                ended.append((time.monotonic(), None))
            except pymysql.err.MySQLError as error:
                ended.append((time.monotonic(), error.args[0]))

    thread = threading.Thread(target=query)
    thread.start()
    time.sleep(0.7)
    assert thread.is_alive(), f"ended by itself: {ended}"
    killed = time.monotonic()
    address.execute(f"KILL QUERY {connection.thread_id()}")
    thread.join(30)
    assert not thread.is_alive(), "went on for 30 s"
    assert ended[0][1] in (1317, None), ended
    connection.close()
    return ended[0][0] - killed


def field_list(address, report):
    """COM_FIELD_LIST: a pattern of many `%` is neither a deep recursion nor an exponential search."""
    for name, pattern in (("100,000 %", b"%" * 100_000), ("% and letters", b"%a" * 40 + b"%\\_b")):
        with report.case(f"COM_FIELD_LIST with {name}"), address.connect(database="information_schema", read_timeout=20) as connection:
            started = time.monotonic()
            connection._execute_command(4, b"TABLES\0" + pattern)
            while not connection._read_packet().is_eof_packet():
                pass
            assert time.monotonic() - started < 2
            connection.ping()

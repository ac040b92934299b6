"""Results larger than a packet: MySQL's NULL and warning 1301, or its error, before the memory is taken.

The answers are those of MySQL 9.7 with `max_allowed_packet` = 1 MiB. HEX, MAKE_SET and JSON_QUOTE have no bound there but the
machine's memory; here their calls inside each other end at a few packets.
"""
import pymysql

PACKET = 1 << 20
NULL = "NULL"
LONG = "REPEAT('a', 700000)"

ANSWERS = [
    ("REPEAT('a', 1048576)", 1048576), ("REPEAT('a', 1048577)", "repeat"), ("SPACE(2000000)", "space"),
    (f"HEX({LONG})", 1400000), ("HEX(REPEAT('a', 524289))", 1048578),
    ("QUOTE(REPEAT('\\'', 600000))", "quote"), ("QUOTE(REPEAT('a', 1048574))", 1048576), ("QUOTE(REPEAT('a', 1048575))", "quote"),
    (f"INSERT({LONG}, 1, 0, {LONG})", "insert"), ("INSERT(REPEAT('a', 1048570), 1, 0, '123456')", 1048576),
    ("INSERT(REPEAT('a', 1048570), 1, 0, '1234567')", "insert"),
    (f"EXPORT_SET(3, {LONG}, 'b')", "export_set"), ("EXPORT_SET(0, 'a', REPEAT('b', 20000))", "export_set"),
    (f"REPLACE({LONG}, 'a', 'bb')", "replace"), (f"REPLACE({LONG}, 'x', 'bb')", 700000),
    ("LPAD('a', 1048576, 'b')", "lpad"), ("LPAD('a', 262145, 'b')", "lpad"), ("LPAD('a', 262144, 'b')", 262144),
    ("RPAD('a', 1048577, 'b')", "rpad"), ("LPAD(_latin1'a', 1048577, _latin1'b')", "lpad"),
    ("LPAD(_latin1'a', 1048576, _latin1'b')", 1048576), ("LPAD(_binary'a', 1048576, _binary'b')", 1048576),
    (f"CONCAT({LONG}, {LONG})", "concat"), (f"CONCAT_WS(',', {LONG}, {LONG})", "concat_ws"),
    (f"CONCAT_WS({LONG}, 'a', 'b', 'c')", "concat_ws"),
    (f"REGEXP_REPLACE({LONG}, 'a', 'bb')", 3684),
    (f"MAKE_SET(3, {LONG}, {LONG})", 1400001), (f"ELT(1, {LONG})", 700000),
    (f"TO_BASE64({LONG})", 945616), ("TO_BASE64(REPEAT('a', 900000))", "to_base64"),
    (f"JSON_QUOTE({LONG})", 700002), ("JSON_QUOTE(REPEAT('\"', 700000))", 1400002),
    ("CAST('a' AS BINARY(2000000))", "cast_as_binary"),
]

# What has taken gigabytes, or a machine's whole memory.
GREEDY = [
    "REGEXP_REPLACE(REPEAT('a', 1000000), 'a', REPEAT('b', 1000000))",
    "REGEXP_REPLACE(REPEAT('a', 1000000), '(.*)', REPEAT('$1', 500000))",
    "HEX(" * 20 + "REPEAT('a', 1000000)" + ")" * 20,
    "QUOTE(" * 30 + "REPEAT('\\'', 1000000)" + ")" * 30,
    "JSON_QUOTE(" * 30 + "REPEAT('\"', 1000000)" + ")" * 30,
    "EXPORT_SET(0, 'a', REPEAT('b', 1000000), REPEAT('c', 1000000))",
    "MAKE_SET(-1, " + ", ".join(["REPEAT('b', 1000000)"] * 64) + ")",
    "REPLACE(REPEAT('a', 1000000), 'a', REPEAT('b', 1000000))",
    "CAST('a' AS BINARY(4294967295))",
    "RPAD('a', 4294967295, 'b')", "REPEAT(REPEAT('a', 1000000), 4294967295)", "SPACE(4294967295)",
]


def run(address, report):
    with address.connect() as admin, admin.cursor() as cursor:
        cursor.execute(f"SET GLOBAL max_allowed_packet = {PACKET}")
    try:
        with address.connect() as connection, connection.cursor() as cursor:
            for expression, expected in ANSWERS:
                report.equal(answer(cursor, expression), expected, f"large result {expression[:60]}")
            for expression in GREEDY:
                seen = answer(cursor, expression)
                fits = not isinstance(seen, int) or seen in (1301, 3684) or seen <= 8 * PACKET
                report.check(fits, f"greedy {expression[:60]}", f"saw {seen!r}")
    finally:
        with address.connect() as admin, admin.cursor() as cursor:
            cursor.execute("SET GLOBAL max_allowed_packet = DEFAULT")


def answer(cursor, expression):
    """The length of the result, the function that the warning names if it is NULL, or the error."""
    try:
        cursor.execute(f"SELECT LENGTH({expression})")
    except pymysql.err.MySQLError as error:
        return error.args[0]
    length = cursor.fetchall()[0][0]
    if length is not None:
        return length
    cursor.execute("SHOW WARNINGS")
    (_, code, text), *_ = cursor.fetchall()
    assert code == 1301, text
    return text.split("(")[0].removeprefix("Result of ")

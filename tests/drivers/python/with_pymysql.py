"""PyMySQL: pure Python, text protocol."""
import os
import threading

import pymysql
from pymysql.constants import CLIENT

from common import COLUMNS, EXPECTED, HOST, PASSWORD, PLUGINS, PORT, ROWS, USER, check, compare_row, create_types, equal, parameter

STATES = {}


def connect(user=USER, password="", **options):
    return pymysql.connect(host=HOST, port=PORT, user=user, password=password, database="drivers", **options)


def keep_sqlstates():
    """The driver drops SQLSTATEs; note them as they come in."""
    original = pymysql.err.raise_mysql_exception

    def raising(data):
        STATES[threading.get_ident()] = data[4:9].decode()
        original(data)

    pymysql.err.raise_mysql_exception = raising


def fails(code, state, action):
    try:
        action()
    except pymysql.err.MySQLError as error:
        equal((error.args[0], STATES.get(threading.get_ident())), (code, state))
        return
    raise AssertionError(f"no error {code}")


def accounts():
    for plugin in PLUGINS:
        user = f"drv_{plugin.split('_')[0]}"

        def right(user=user):
            for _ in range(2):  # the second time a caching server may skip the full exchange
                with connect(user, PASSWORD).cursor() as cursor:
                    cursor.execute("SELECT CURRENT_USER()")
                    equal(cursor.fetchone()[0], f"{user}@%")

        check(f"connect_{plugin}", right)
        check(f"wrong_password_{plugin}", lambda user=user: fails(1045, "28000", lambda: connect(user, "wrong")))
        check(f"no_password_{plugin}", lambda user=user: fails(1045, "28000", lambda: connect(user, "")))
    check("unknown_user", lambda: fails(1045, "28000", lambda: connect("nobody_here", "x")))


def types(connection):
    with connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(create_types("types_pymysql"))
        marks = ", ".join(["%s"] * (len(COLUMNS) + 1))
        for number in ROWS:
            cursor.execute(f"INSERT INTO types_pymysql VALUES ({marks})", [number] + [parameter(c, c["values"][number]) for c in COLUMNS])
        connection.commit()
        cursor.execute("SELECT * FROM types_pymysql ORDER BY id")
        rows = cursor.fetchall()
        equal(len(rows), 3)
        for number in ROWS:
            compare_row(number, rows[number][1:])


def large(connection):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE large_pymysql (id INT PRIMARY KEY, b LONGBLOB)")
        value = os.urandom(1 << 20) * 20
        cursor.execute("INSERT INTO large_pymysql VALUES (1, _binary %s)", [value])
        connection.commit()
        cursor.execute("SELECT LENGTH(b), b FROM large_pymysql")
        length, seen = cursor.fetchone()
        equal(length, len(value))
        assert seen == value, "the value came back changed"
        cursor.execute("SELECT REPEAT('x', 16777210)")  # the row just over one packet
        equal(len(cursor.fetchone()[0]), 16777210)


def transactions(connection):
    def balance(of):
        with of.cursor() as cursor:
            cursor.execute("SELECT balance FROM accounts WHERE id = 1")
            value = cursor.fetchone()[0]
        of.commit()
        return value

    other = connect()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE accounts SET balance = 150 WHERE id = 1")
        equal(balance(other), 100, "uncommitted:")
        connection.rollback()
        equal(balance(connection), 100, "rolled back:")
        cursor.execute("UPDATE accounts SET balance = 150 WHERE id = 1")
        connection.commit()
        equal(balance(other), 150, "committed:")
        cursor.execute("UPDATE accounts SET balance = 100 WHERE id = 1")
        connection.commit()
    other.close()


def lock_timeout(connection):
    other = connect()
    with connection.cursor() as holder, other.cursor() as waiter:
        holder.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
        waiter.execute("SET innodb_lock_wait_timeout = 1")
        fails(1205, "HY000", lambda: waiter.execute("UPDATE accounts SET balance = 2 WHERE id = 1"))
    connection.rollback()
    other.close()


def deadlock(connection):
    other = connect()
    with connection.cursor() as heavy, other.cursor() as light:
        heavy.execute("INSERT INTO accounts VALUES (50, 0), (51, 0), (52, 0)")
        heavy.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")
        light.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 2")
        waiting = threading.Thread(target=lambda: heavy.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 2"))
        waiting.start()
        waiting.join(0.5)
        fails(1213, "40001", lambda: light.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1"))
        waiting.join(10)
        assert not waiting.is_alive(), "the survivor still waits"
    connection.rollback()
    other.close()


def multi(connection):
    many = connect(client_flag=CLIENT.MULTI_STATEMENTS)
    with many.cursor() as cursor:
        cursor.execute("SELECT 1; UPDATE accounts SET balance = balance WHERE id = 1; SELECT 'last'")
        equal(cursor.fetchall(), ((1,),))
        cursor.nextset()
        equal(cursor.rowcount, 0)
        cursor.nextset()
        equal(cursor.fetchall(), (("last",),))
        assert not cursor.nextset()
    many.close()
    with connection.cursor() as cursor:
        fails(1064, "42000", lambda: cursor.execute("SELECT 1; SELECT 2"))


def ids(connection):
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE ids_pymysql (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
        equal(cursor.execute("INSERT INTO ids_pymysql (v) VALUES (1), (2), (3)"), 3)
        equal(cursor.lastrowid, 1)
        cursor.execute("INSERT INTO ids_pymysql (v) VALUES (4)")
        equal(cursor.lastrowid, 4)
        equal(cursor.execute("UPDATE ids_pymysql SET v = 4 WHERE id >= 3"), 1, "changed rows:")
        equal(cursor.execute("DELETE FROM ids_pymysql WHERE id < 3"), 2)
    connection.commit()
    found = connect(client_flag=CLIENT.FOUND_ROWS)
    with found.cursor() as cursor:
        equal(cursor.execute("UPDATE ids_pymysql SET v = 4 WHERE id >= 3"), 2, "found rows:")
    found.close()


def odds(connection):
    connection.ping()
    connection.select_db("drivers")
    with connection.cursor(pymysql.cursors.SSCursor) as cursor:  # rows as they come
        cursor.execute("SELECT id FROM accounts ORDER BY id")
        equal([row[0] for row in cursor], [1, 2])


def main():
    keep_sqlstates()
    accounts()
    connection = connect()
    cursor = connection.cursor()
    check("types_text", lambda: types(connection))
    check("large_value", lambda: large(connection))
    check("transactions", lambda: transactions(connection))
    for error in EXPECTED["errors"]:
        check(f"error_{error['name']}", lambda e=error: fails(e["code"], e["state"], lambda: cursor.execute(e["sql"])))
    check("error_lock_timeout", lambda: lock_timeout(connection))
    check("error_deadlock", lambda: deadlock(connection))
    check("multi_statements", lambda: multi(connection))
    check("affected_rows_and_ids", lambda: ids(connection))
    check("ping_use_and_streaming", lambda: odds(connection))


main()

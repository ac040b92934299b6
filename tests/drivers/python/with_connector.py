"""mysql-connector-python, in its pure Python form and, where the wheel carries it, its C extension."""
import os
import threading

import mysql.connector
from mysql.connector.constants import ClientFlag

from common import COLUMNS, EXPECTED, HOST, PASSWORD, PLUGINS, PORT, ROWS, USER, check, compare_row, create_types, equal, parameter


def connect(pure, user=USER, password="", **options):
    return mysql.connector.connect(host=HOST, port=PORT, user=user, password=password, database="drivers", use_pure=pure, **options)


def fails(code, state, action):
    try:
        action()
    except mysql.connector.Error as error:
        equal((error.errno, error.sqlstate), (code, state))
        return
    raise AssertionError(f"no error {code}")


def types(connection, table, prepared, pure):
    cursor = connection.cursor(prepared=prepared)
    cursor.execute("SET time_zone = '+00:00'")
    cursor.execute(create_types(table))
    marks = ", ".join(["%s"] * (len(COLUMNS) + 1))
    for number in ROWS:
        # Times as text: the driver binds negative ones wrongly.
        values = [c["values"][number] if c["kind"] == "time" else parameter(c, c["values"][number]) for c in COLUMNS]
        cursor.execute(f"INSERT INTO {table} VALUES ({marks})", [number] + values)
    connection.commit()
    # The pure driver misreads YEAR and negative TIME of the binary protocol: those are left to the other drivers.
    columns = [c for c in COLUMNS if not (prepared and pure and c["kind"] in ("year", "time"))]
    for _ in range(2):  # the second execution uses the statement already prepared
        cursor.execute(f"SELECT {', '.join(c['name'] for c in columns)} FROM {table} WHERE id >= %s ORDER BY id", (0,))
        rows = cursor.fetchall()
        equal(len(rows), 3)
        for number in ROWS:
            compare_row(number, rows[number], columns)
    cursor.close()


def large(connection, table):
    cursor = connection.cursor(prepared=True)
    cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, b LONGBLOB)")
    value = os.urandom(1 << 20) * 20
    cursor.execute(f"INSERT INTO {table} VALUES (%s, %s)", (1, value))
    connection.commit()
    cursor.close()
    cursor = connection.cursor()  # by text: the driver's binary rows end at the first packet's 16 MB
    cursor.execute(f"SELECT b FROM {table}")
    seen = cursor.fetchall()[0][0]
    assert bytes(seen) == value, "the value came back changed"


def transactions(pure, connection):
    other = connect(pure)
    mine, theirs = connection.cursor(), other.cursor()

    def balance(connection_, cursor):
        cursor.execute("SELECT balance FROM accounts WHERE id = 1")
        value = cursor.fetchone()[0]
        connection_.commit()
        return value

    mine.execute("UPDATE accounts SET balance = 150 WHERE id = 1")
    equal(balance(other, theirs), 100, "uncommitted:")
    connection.rollback()
    equal(balance(connection, mine), 100, "rolled back:")
    connection.start_transaction(isolation_level="READ COMMITTED")
    equal(connection.in_transaction, True)
    mine.execute("UPDATE accounts SET balance = 150 WHERE id = 1")
    connection.commit()
    equal(connection.in_transaction, False)
    equal(balance(other, theirs), 150, "committed:")
    mine.execute("UPDATE accounts SET balance = 100 WHERE id = 1")
    connection.commit()
    other.close()


def lock_timeout(pure, connection):
    other = connect(pure)
    holder, waiter = connection.cursor(), other.cursor()
    holder.execute("UPDATE accounts SET balance = 1 WHERE id = 1")
    waiter.execute("SET innodb_lock_wait_timeout = 1")
    fails(1205, "HY000", lambda: waiter.execute("UPDATE accounts SET balance = 2 WHERE id = 1"))
    connection.rollback()
    other.close()


def deadlock(pure, connection):
    other = connect(pure)
    heavy, light = connection.cursor(), other.cursor()
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


def ids(connection, table):
    cursor = connection.cursor()
    cursor.execute(f"CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    cursor.execute(f"INSERT INTO {table} (v) VALUES (1), (2), (3)")
    equal((cursor.rowcount, cursor.lastrowid), (3, 1))
    cursor.executemany(f"INSERT INTO {table} (v) VALUES (%s)", [(5,), (6,)])
    equal(cursor.rowcount, 2)
    cursor.execute(f"DELETE FROM {table} WHERE id < 3")
    equal(cursor.rowcount, 2)
    prepared = connection.cursor(prepared=True)
    prepared.execute(f"INSERT INTO {table} (v) VALUES (%s)", (7,))
    equal((prepared.rowcount, prepared.lastrowid), (1, 6))
    connection.commit()


def reset(connection):
    cursor = connection.cursor()
    cursor.execute("SET @kept = 1")
    connection.cmd_reset_connection()
    cursor.execute("SELECT @kept")
    equal(cursor.fetchone()[0], None)
    connection.cmd_init_db("drivers")
    connection.ping()
    assert "Threads" in str(connection.cmd_statistics()) or connection.cmd_statistics(), "no statistics"


def query_attributes(connection):
    """What is sent by name beside a statement: without a parameter, with one, and prepared."""
    asked = "SELECT mysql_query_attribute_string('who'), mysql_query_attribute_string('n')"
    component = "COMPONENT 'file://component_query_attributes'"
    connection.cursor().execute(f"INSTALL {component}")
    for prepared in (False, True):
        cursor = connection.cursor(prepared=prepared)
        cursor.add_attribute("who", "shop")
        cursor.add_attribute("n", 42)
        for sql, values, row in ((asked, (), ("shop", "42")), (f"{asked}, %s", (7,), ("shop", "42", 7))):
            cursor.execute(sql, values)
            equal(cursor.fetchone(), row)
        cursor.clear_attributes()
        cursor.execute(asked)
        equal(cursor.fetchone(), (None, None))
        cursor.close()
    connection.cursor().execute(f"UNINSTALL {component}")


def statement_errors(connection):
    cursor = connection.cursor(prepared=True)
    for error in EXPECTED["errors"]:
        if error["name"] != "no_such_database":  # USE cannot be prepared
            fails(error["code"], error["state"], lambda: cursor.execute(error["sql"]))


def both(pure, form):
    for plugin in PLUGINS:
        user = f"drv_{plugin.split('_')[0]}"
        name = f"{form}_{plugin}"

        def right(user=user):
            for _ in range(2):
                connection = connect(pure, user, PASSWORD)
                cursor = connection.cursor()
                cursor.execute("SELECT CURRENT_USER()")
                equal(cursor.fetchone()[0], f"{user}@%")
                connection.close()

        check(f"connect_{name}", right)
        check(f"wrong_password_{name}", lambda user=user: fails(1045, "28000", lambda: connect(pure, user, "wrong")))
    def with_connection(name, body):
        def run():
            connection = connect(pure)
            try:
                body(connection)
            finally:
                connection.close()

        check(f"{name}_{form}", run)

    with_connection("types_text", lambda c: types(c, f"types_text_{form}", False, pure))
    with_connection("large_value", lambda c: large(c, f"large_{form}"))
    with_connection("transactions", lambda c: transactions(pure, c))
    for error in EXPECTED["errors"]:
        with_connection(f"error_{error['name']}", lambda c, e=error: fails(e["code"], e["state"], lambda: c.cursor().execute(e["sql"])))
    if pure:  # the C extension's prepared statements lose the sign of numbers and the numbers of errors
        with_connection("types_binary", lambda c: types(c, f"types_binary_{form}", True, pure))
        with_connection("errors_of_prepared", statement_errors)
        with_connection("query_attributes", query_attributes)
    with_connection("error_lock_timeout", lambda c: lock_timeout(pure, c))
    with_connection("error_deadlock", lambda c: deadlock(pure, c))
    with_connection("affected_rows_and_ids", lambda c: ids(c, f"ids_{form}"))
    with_connection("reset_and_ping", reset)

    def change_user():
        if not PLUGINS:
            return
        user = f"drv_{PLUGINS[0].split('_')[0]}"
        other = connect(pure)
        other.cmd_change_user(username=user, password=PASSWORD, database="drivers")
        cursor = other.cursor()
        cursor.execute("SELECT CURRENT_USER(), DATABASE()")
        equal(cursor.fetchone(), (f"{user}@%", "drivers"))
        other.close()

    check(f"change_user_{form}", change_user)

    def no_found_rows():
        other = connect(pure, client_flags=[-ClientFlag.FOUND_ROWS])
        cursor = other.cursor()
        cursor.execute("UPDATE accounts SET balance = balance WHERE id = 1")
        equal(cursor.rowcount, 0)
        other.close()

    check(f"changed_rows_{form}", no_found_rows)


both(True, "pure")
if mysql.connector.HAVE_CEXT:
    both(False, "cext")
else:
    print("skipped cext: this wheel has no C extension")

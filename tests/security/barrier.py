"""What a definer's view hides is not seen by what a statement evaluates.

An account that may read a view, and not the tables below it, can add expressions to the view's own conditions that say what they
have been given: they assign variables, take locks, warn, fail, or count. Here each of them stands in each place of a statement over
each kind of view. None of the rows that the view shows makes any of them say anything; every row that it hides does.

MySQL 9.7 has no such barrier: with `--address` of one the leaks are found there.
"""
import pymysql

from support.address import Address
from support.report import Report

HIDDEN = 666
HIDDEN_ROWS = 40
SHOWN = {1: 0, 2: 1, 3: 1}
# What a statement evaluates at most for the rows that are shown: each with each row of the account's own table, in two places.
EVALUATIONS_MAX = 2 * len(SHOWN) ** 2
# Of a statement that an index leads to a row, with all that a view reads of its smaller tables: less than there is in the larger one.
ROWS_READ_MAX = 30

TABLES = ["CREATE TABLE barrier_db.t (id INT PRIMARY KEY, owner VARCHAR(10), a INT, s VARCHAR(20), KEY (a))",
          "CREATE TABLE barrier_db.k (t_id INT PRIMARY KEY, is_open INT)", "CREATE TABLE barrier_db.gone (t_id INT, KEY (t_id))",
          "INSERT INTO barrier_db.t VALUES " + ", ".join(f"({at}, 'me', {a}, '{at}')" for at, a in SHOWN.items()),
          "INSERT INTO barrier_db.t VALUES " + ", ".join(f"({at}, {owner}, {HIDDEN}, 'x{HIDDEN}')" for at in range(10, 10 + HIDDEN_ROWS) for owner in ["'you'" if at % 2 else "NULL"]),
          "INSERT INTO barrier_db.k SELECT id, owner = 'me' FROM barrier_db.t WHERE id < 20", "INSERT INTO barrier_db.gone SELECT id FROM barrier_db.t WHERE id >= 10",
          "CREATE TABLE barrier_db.mine (id INT PRIMARY KEY, n INT)", "INSERT INTO barrier_db.mine VALUES (1, 0), (2, 0), (3, 0)",
          "CREATE TABLE barrier_db.few SELECT id FROM barrier_db.mine"]

VIEWS = {
    "v_simple": "SELECT id, a, s FROM t WHERE owner = 'me'",
    "v_computed": "SELECT id + 0 AS id, a + 0 AS a, CONCAT(s, '') AS s FROM t WHERE owner = 'me'",
    "v_subquery": "SELECT id, a, s FROM t WHERE id IN (SELECT t_id FROM k WHERE is_open = 1)",
    "v_correlated": "SELECT id, a, s FROM t WHERE NOT EXISTS (SELECT 1 FROM gone WHERE t_id = id)",
    "v_join": "SELECT t.id, t.a, t.s FROM t JOIN k ON k.t_id = t.id WHERE k.is_open = 1",
    "v_join_alone": "SELECT t.id, t.a, t.s FROM t JOIN (SELECT 1 AS id UNION SELECT 2 UNION SELECT 3) i ON i.id = t.id",
    "v_three": "SELECT t.id, t.a, t.s FROM t JOIN k ON k.t_id = t.id JOIN mine ON mine.id = k.t_id",
    "v_left": "SELECT t.id, t.a, t.s FROM t LEFT JOIN k ON k.t_id = t.id AND k.is_open = 1 WHERE IFNULL(k.is_open, 0) = 1",
    "v_without": "SELECT t.id, t.a, t.s FROM t LEFT JOIN gone ON gone.t_id = t.id WHERE gone.t_id IS NULL",
    "v_nested": "SELECT id, a, s FROM open_ones WHERE owner = 'me'",
    "v_users": "SELECT id, a, s FROM v_simple",
    "v_union": "SELECT id, a, s FROM t WHERE id = 1 UNION ALL SELECT id, a, s FROM t WHERE id IN (2, 3)",
    "v_grouped": "SELECT id, MAX(a) AS a, MAX(s) AS s FROM t WHERE owner = 'me' GROUP BY id",
    "v_distinct": "SELECT DISTINCT id, a, s FROM t WHERE owner = 'me'",
    "v_limited": "SELECT id, a, s FROM t WHERE owner = 'me' ORDER BY id LIMIT 3",
}
CHANGED = ("v_simple", "v_subquery", "v_join", "v_nested", "v_users")

# Each is true of the rows that are shown.
LEAKS = {
    "assigns": "(@seen := CONCAT(@seen, ',', v.a)) IS NOT NULL",
    "counts": "(@n := @n + 1) > 0",
    "locks": "IFNULL(GET_LOCK(CONCAT('barrier', v.a), 0), 1) >= 0",
    "remembers": "LAST_INSERT_ID(v.a) >= 0",
    "compares_a_text_with_a_number": "v.s > 0",
    "converts": "CAST(v.s AS SIGNED) > 0",
    "divides": f"IFNULL(1 / (v.a - {HIDDEN}), -1) <> 7",
    "overflows": "v.a * 9223372036854775807 >= 0",
    "overflows_a_double": "EXP(v.a * 2) > 0",
    "has_two_rows": "IFNULL((SELECT few.id FROM few WHERE few.id < v.a), 0) = 0",
    "is_no_document": "JSON_EXTRACT(v.s, '$') IS NOT NULL",
    "is_no_date": "IFNULL(DATE_ADD('2020-01-01', INTERVAL v.a * 100000 DAY), 1) IS NOT NULL",
    "in_a_list": "v.s NOT IN (0, -1, 1e300)",
    "in_a_case": "CASE WHEN v.a >= 0 THEN 1 / (v.a + 1) + (@n := @n + 1) ELSE 1 END IS NOT NULL",
    "between": "v.s BETWEEN 0 AND 100",
}

PLACES = {
    "where": "SELECT v.id FROM {view} v WHERE {leak}",
    "where_first": "SELECT v.id FROM {view} v WHERE {leak} AND v.id > 0 AND v.a >= 0",
    "where_with_key": "SELECT v.id FROM {view} v WHERE v.a IN (0, 1, 666) AND {leak}",
    "where_with_or": "SELECT v.id FROM {view} v WHERE v.id = 0 OR {leak}",
    "prepared": "EXECUTE {prepared}",
    "on": "SELECT v.id FROM mine m JOIN {view} v ON {leak} AND m.id = v.id",
    "on_key": "SELECT v.id FROM mine m JOIN {view} v ON v.id = IF({leak}, m.id, m.id)",
    "on_key_of_own": "SELECT v.id FROM {view} v JOIN mine m ON m.id = IF({leak}, v.id, v.id)",
    "on_straight": "SELECT v.id FROM {view} v STRAIGHT_JOIN mine m ON m.id = v.id AND {leak}",
    "on_straight_after": "SELECT v.id FROM mine m STRAIGHT_JOIN {view} v ON m.id = v.id AND {leak}",
    "on_inner": "SELECT v.id FROM mine m LEFT JOIN {view} v ON v.id = m.id AND {leak}",
    "on_outer": "SELECT v.id FROM {view} v LEFT JOIN mine m ON m.id = v.id AND {leak}",
    "where_after_left": "SELECT v.id FROM {view} v LEFT JOIN mine m ON m.id = v.id WHERE {leak} AND m.n = 0",
    "twice": "SELECT v.id FROM {view} v JOIN {view} w ON v.id = w.id WHERE {leak}",
    "having": "SELECT v.id, v.a, v.s FROM {view} v HAVING {leak}",
    "lateral": "SELECT v.id FROM {view} v JOIN LATERAL (SELECT {leak} AS x) l ON l.x",
    "exists": "SELECT m.id FROM mine m WHERE EXISTS (SELECT 1 FROM {view} v WHERE v.id = m.id AND {leak})",
    "in": "SELECT m.id FROM mine m WHERE m.id IN (SELECT v.id FROM {view} v WHERE {leak})",
    "limit": "SELECT v.id FROM {view} v WHERE {leak} ORDER BY v.a, v.id LIMIT 3",
    "derived": "SELECT v.id FROM (SELECT * FROM {view}) v WHERE {leak}",
    "common": "WITH v AS (SELECT * FROM {view}) SELECT v.id FROM v WHERE {leak}",
}
CHANGES = {
    "insert": "INSERT INTO mine SELECT v.id + 100, 0 FROM {view} v WHERE {leak}",
    "update_own": "UPDATE mine m JOIN {view} v ON m.id = v.id SET m.n = m.n + 1 WHERE {leak}",
    "update": "UPDATE {view} v SET v.s = CONCAT(v.s, '') WHERE {leak}",
    "update_key": "UPDATE {view} v SET v.s = CONCAT(v.s, '') WHERE v.a IN (0, 1, 666) AND {leak}",
    "update_joined": "UPDATE {view} v JOIN mine m ON m.id = v.id SET v.s = CONCAT(v.s, '') WHERE {leak}",
    "delete_own": "DELETE m FROM mine m JOIN {view} v ON m.id = v.id WHERE {leak}",
}


class Barrier:
    def __init__(self, address: Address, report: Report):
        self.address, self.report = address, report
        self.user = Address(address.host, address.port, "barrier_u")

    def run(self) -> None:
        if not self.report.wants("barrier"):
            return
        self.clear()
        try:
            self.address.execute("CREATE DATABASE barrier_db", *TABLES)
            with self.address.connect(database="barrier_db") as connection, connection.cursor() as cursor:
                cursor.execute("CREATE VIEW own AS SELECT 1 AS id")
                cursor.execute("CREATE VIEW open_ones AS SELECT t.id, t.owner, t.a, t.s FROM t JOIN k ON k.t_id = t.id WHERE t.id < 15")
                for name, query in VIEWS.items():
                    cursor.execute(f"CREATE VIEW {name} AS {query}")
            self.address.execute("CREATE USER barrier_u", "GRANT SELECT, INSERT, UPDATE, DELETE ON barrier_db.mine TO barrier_u", "GRANT SELECT ON barrier_db.few TO barrier_u",
                                 "GRANT FLUSH_STATUS ON *.* TO barrier_u",
                                 *(f"GRANT SELECT, UPDATE, SHOW VIEW ON barrier_db.{name} TO barrier_u" for name in VIEWS),
                                 "GRANT CREATE VIEW, DROP ON barrier_db.own TO barrier_u", "GRANT SELECT ON barrier_db.own TO barrier_u")
            for name in VIEWS:
                with self.report.case(f"barrier/{name}"):
                    self.check(name)
            with self.report.case("barrier/views_of_the_account"):
                self.check_own_views()
            with self.report.case("barrier/harmless_conditions_use_indexes"):
                self.check_indexes()
            with self.report.case("barrier/rights_decide"):
                self.check_rights()
        finally:
            self.clear()

    def clear(self) -> None:
        self.address.execute("DROP DATABASE IF EXISTS barrier_db", "DROP USER IF EXISTS barrier_u")

    def check(self, view: str) -> None:
        leaks = []
        with self.user.connect(database="barrier_db") as connection, connection.cursor() as cursor:
            for what, leak in LEAKS.items():
                for place, statement in PLACES.items():
                    if "prepared" in statement:
                        cursor.execute("PREPARE p FROM %s", (f"SELECT v.id FROM {view} v WHERE v.a <> ? AND {leak}",))
                        cursor.execute("SET @none = 77")
                        statement = "EXECUTE p USING @none"
                    leaks += self.seen(cursor, (what, place), statement.format(view=view, leak=leak), sorted(SHOWN))
                for place, statement in CHANGES.items():
                    if place.startswith("update") and place != "update_own" and view not in CHANGED:
                        continue
                    cursor.execute("BEGIN")
                    leaks += self.seen(cursor, (what, place), statement.format(view=view, leak=leak), None)
                    cursor.execute("ROLLBACK")
        assert not leaks, f"{len(leaks)} leaks: " + "\n".join(leaks[:20])

    def check_own_views(self) -> None:
        leaks = []
        with self.user.connect(database="barrier_db") as connection, connection.cursor() as cursor:
            for view in VIEWS:
                for what, leak in LEAKS.items():
                    if "@" in leak:
                        continue
                    cursor.execute(f"CREATE OR REPLACE VIEW own AS SELECT v.id, v.a, v.s FROM {view} v WHERE {leak}")
                    leaks += self.seen(cursor, (view, what), "SELECT id FROM own", sorted(SHOWN))
        assert not leaks, f"{len(leaks)} leaks: " + "\n".join(leaks[:20])

    def seen(self, cursor, where: tuple, statement: str, shown: list | None) -> list[str]:
        """What a statement has said of rows that are hidden, if anything."""
        cursor.execute("SELECT RELEASE_ALL_LOCKS(), LAST_INSERT_ID(0), @seen := '', @n := 0")
        found = []
        try:
            cursor.execute(statement)
            rows = sorted(row[0] for row in cursor.fetchall())
            if shown is not None and rows != shown:
                found.append(f"rows {rows}")
        except pymysql.err.MySQLError as error:
            found.append(str(error.args))
        cursor.execute(f"SELECT @@warning_count, @seen, @n, IS_USED_LOCK('barrier{HIDDEN}'), LAST_INSERT_ID()")
        warnings, seen, n, lock, last = cursor.fetchone()
        # Assignments in expressions are deprecated, and say so.
        found += [f"{warnings} warnings"] if warnings and ":=" not in statement and not found else []
        found += [f"assigned {seen}"] if str(HIDDEN) in str(seen) else []
        found += [f"evaluated {n} times"] if int(n) > EVALUATIONS_MAX else []
        found += ["locked"] if lock else []
        found += ["remembered"] if last == HIDDEN else []
        return [f"{where}: {statement}: {what}" for what in found]

    def check_indexes(self) -> None:
        """Comparisons that say nothing are bounds of an index: few rows are read."""
        wrong = []
        with self.user.connect(database="barrier_db") as connection, connection.cursor() as cursor:
            cursor.execute("SET @one = 1, @text = '1'")
            for view in ("v_simple", "v_join", "v_three", "v_nested", "v_subquery", "v_correlated", "v_users"):
                for condition in ("id = 1", "a = 0", "id = '1'", "id < 2", "id IN (1, 77)", "id BETWEEN 0 AND 1", "id = @one", "id = 0 + 1", "id = '1.0'", "1 = id AND a >= 0",
                                  "id = (SELECT MIN(id) FROM mine)", "id = IF(NOW() > '2020-01-01', 1, 2)", "id = 1 AND s > 0", "id = @text"):
                    cursor.execute("FLUSH STATUS")
                    cursor.execute(f"SELECT id FROM {view} WHERE {condition}")
                    rows = cursor.fetchall()
                    cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
                    read = sum(int(value) for _, value in cursor.fetchall())
                    if rows != ((1,),) or read > ROWS_READ_MAX:
                        wrong.append(f"{view} WHERE {condition}: {rows}, {read} rows read")
        assert not wrong, "\n".join(wrong)

    def check_rights(self) -> None:
        """Where the account may read the tables itself nothing is hidden, and the statement is planned as any other."""
        with self.user.connect(database="barrier_db") as connection, connection.cursor() as cursor:
            query = "SELECT id FROM v_simple v WHERE v.s >= 0 OR 1 / v.a > 0"
            cursor.execute("PREPARE p FROM %s", (query,))
            for change, hides in (("GRANT SELECT ON barrier_db.t TO barrier_u", False), ("REVOKE SELECT ON barrier_db.t FROM barrier_u", True)):
                self.address.execute(change)
                cursor.execute("EXECUTE p")
                assert sorted(cursor.fetchall()) == [(1,), (2,), (3,)]
                cursor.execute("SHOW WARNINGS")
                warnings = cursor.fetchall()
                assert not (hides and warnings), warnings


def run(server: Address, report: Report) -> None:
    Barrier(server, report).run()

//! Which changes of definitions end the plans that sessions keep.

use super::*;

/// How many prepared statements the session has planned again.
fn planned_again(s: &mut Session) -> u64 {
    let read = "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Com_stmt_reprepare'";
    ok(s, read)[0].parse().unwrap()
}

#[test]
fn plans_end_with_changes_of_what_they_depend_on() {
    let world = World::new("kept_plans");
    let (mut s, mut other) = (world.session(), world.session());
    ok(
        &mut s,
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, KEY (k)); CREATE TABLE p (id INT PRIMARY KEY); INSERT INTO p VALUES (1), (2); \
         CREATE VIEW v AS SELECT id, k FROM t; \
         PREPARE of_t FROM 'SELECT COUNT(*) FROM t WHERE k = 5'; PREPARE of_v FROM 'SELECT COUNT(*) FROM v'; \
         PREPARE of_p FROM 'DELETE FROM p WHERE id = 1'",
    );
    // A change, and the statements that it ends.
    let cases: &[(&str, &[&str])] = &[
        ("CREATE TABLE other (a INT)", &[]),
        ("ALTER TABLE other ADD b INT", &[]),
        ("CREATE INDEX i ON other (a)", &[]),
        ("ANALYZE TABLE other UPDATE HISTOGRAM ON a", &[]),
        ("RENAME TABLE other TO another", &[]),
        ("TRUNCATE TABLE another", &[]),
        ("DROP TABLE another", &[]),
        ("ALTER TABLE t ADD w INT", &["of_t", "of_v"]),
        ("CREATE INDEX w ON t (w)", &["of_t", "of_v"]),
        ("ANALYZE TABLE t UPDATE HISTOGRAM ON w", &["of_t", "of_v"]),
        ("TRUNCATE TABLE t", &["of_t", "of_v"]),
        // A view is over it.
        (
            "RENAME TABLE t TO u; CREATE TABLE t LIKE u",
            &["of_t", "of_v", "of_p"],
        ),
        (
            "CREATE OR REPLACE VIEW v AS SELECT id FROM u",
            &["of_t", "of_v", "of_p"],
        ),
        (
            "CREATE TABLE child (p INT, FOREIGN KEY (p) REFERENCES p (id))",
            &["of_t", "of_v", "of_p"],
        ),
    ];
    let statements = ["of_t", "of_v", "of_p"];
    for statement in statements {
        ok(&mut s, &format!("EXECUTE {statement}"));
    }
    for (change, ended) in cases {
        ok(&mut other, change);
        for statement in statements {
            let before = planned_again(&mut s);
            ok(&mut s, &format!("EXECUTE {statement}"));
            let ends = planned_again(&mut s) > before;
            assert_eq!(ends, ended.contains(&statement), "{statement} after {change}");
        }
    }
    ok(
        &mut other,
        "INSERT INTO p VALUES (1); INSERT INTO child VALUES (1)",
    );
    assert_eq!(fails(&mut s, "EXECUTE of_p"), 1451);
}

/// How many rows a statement reads, by index and one after the other.
fn read_by(s: &mut Session, statement: &str) -> u64 {
    let sum = "SELECT SUM(VARIABLE_VALUE) FROM performance_schema.session_status WHERE VARIABLE_NAME LIKE 'Handler_read%'";
    ok(s, "FLUSH STATUS");
    ok(s, statement);
    ok(s, sum)[0].parse().unwrap()
}

const NUMBERS: &str = "SET cte_max_recursion_depth = 100000; CREATE TABLE n (i INT PRIMARY KEY); \
    INSERT INTO n WITH RECURSIVE n AS (SELECT 0 i UNION ALL SELECT i + 1 FROM n WHERE i < 19999) SELECT i FROM n";

/// A statement whose literal stands for one row is run by another plan than with one that stands for most, whichever came first. So is one
/// that is prepared.
#[test]
fn a_common_value_and_a_rare_one_have_plans_of_their_own() {
    let world = World::new("kept_plans_of_values");
    let mut s = world.session();
    ok(&mut s, NUMBERS);
    ok(
        &mut s,
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, word VARCHAR(20), pad VARCHAR(100), plain INT, KEY (k), KEY (word)); \
         INSERT INTO t SELECT i, IF(i < 19000, 1, i), IF(i < 19000, CONCAT('most', i), CONCAT('few', i)), REPEAT('x', 60), IF(i < 19000, 1, i) FROM n; \
         CREATE TABLE u (id INT PRIMARY KEY, t INT, pad VARCHAR(20), KEY (t)); INSERT INTO u SELECT i, i, 'x' FROM n; \
         ANALYZE TABLE t, u; ANALYZE TABLE t UPDATE HISTOGRAM ON plain",
    );
    // A statement, and a rare and a common value with the most rows that each may read.
    let cases = [
        (
            "SELECT SUM(LENGTH(pad)) FROM t WHERE k = {}",
            ("19500", 50),
            ("1", 25_000),
        ),
        (
            "SELECT SUM(LENGTH(pad)) FROM t WHERE word LIKE {}",
            ("'few195%'", 200),
            ("'most%'", 25_000),
        ),
        (
            "SELECT SUM(LENGTH(pad)) FROM t WHERE k > {}",
            ("19900", 200),
            ("0", 25_000),
        ),
        (
            "UPDATE t SET pad = 'y' WHERE k = {}",
            ("19501", 50),
            ("1", 45_000),
        ),
        (
            "SELECT SUM(LENGTH(u.pad)) FROM t JOIN u ON u.t = t.id WHERE t.k = {}",
            ("19500", 50),
            ("1", 70_000),
        ),
        (
            "SELECT SUM(LENGTH(u.pad)) FROM t JOIN u ON u.t = t.id WHERE t.plain = {}",
            ("19500", 21_000),
            ("1", 70_000),
        ),
    ];
    for (n, (statement, rare, common)) in cases.into_iter().enumerate() {
        for order in [[rare, common], [common, rare]] {
            ok(&mut s, "USE d");
            ok(
                &mut s,
                &format!("PREPARE p{n} FROM \"{}\"", statement.replace("{}", "?")),
            );
            for _ in 0..3 {
                for (value, most) in order {
                    let read = read_by(&mut s, &statement.replace("{}", value));
                    assert!(read <= most, "{statement} of {value} reads {read}");
                    ok(&mut s, &format!("SET @value = {value}"));
                    let read = read_by(&mut s, &format!("EXECUTE p{n} USING @value"));
                    assert!(read <= most, "{statement} prepared, of {value}, reads {read}");
                }
            }
        }
    }
}

/// Values that lead to more different numbers of rows than plans are kept for.
#[test]
fn values_of_all_kinds_have_the_same_rows() {
    let world = World::new("kept_plans_of_many_values");
    let mut s = world.session();
    ok(&mut s, NUMBERS);
    ok(
        &mut s,
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, pad VARCHAR(100), KEY (a), KEY (b)); \
         INSERT INTO t SELECT i, FLOOR(LOG2(i + 1)), FLOOR(SQRT(i)), 'x' FROM n; ANALYZE TABLE t",
    );
    ok(
        &mut s,
        "PREPARE p FROM 'SELECT COUNT(pad), SUM(id) FROM t WHERE a = ? AND b > ?'",
    );
    for round in 0..3 {
        for (a, b) in (0..20).flat_map(|a| [0, 3, 30, 100, 140, 500].map(|b| (a, b + round))) {
            let shaped = ok(
                &mut s,
                &format!("SELECT COUNT(pad), SUM(id) FROM t WHERE a = {a} AND b > {b}"),
            );
            let plain = ok(
                &mut s,
                &format!("/* */ SELECT COUNT(pad), SUM(id) FROM t WHERE a = {a} AND b > {b}"),
            );
            ok(&mut s, &format!("SET @a = {a}, @b = {b}"));
            let prepared = ok(&mut s, "EXECUTE p USING @a, @b");
            assert_eq!(shaped, plain);
            assert_eq!(prepared, plain);
        }
    }
}

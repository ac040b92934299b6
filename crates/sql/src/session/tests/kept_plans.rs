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

//! Histograms, as far as golden scripts do not reach: restarts, and plans that follow the values.

use super::{World, ok};

const COLUMNS: &str =
    "SELECT TABLE_NAME, COLUMN_NAME, HISTOGRAM->'$.buckets' FROM information_schema.COLUMN_STATISTICS";

#[test]
fn histograms_survive_a_restart_and_go_with_their_table() {
    let mut world = World::new("histograms");
    let mut s = world.root();
    let long = "é".repeat(64);
    ok(
        &mut s,
        &format!("CREATE TABLE d.`{long}` (`{long}` INT, b VARCHAR(9), c TIMESTAMP)"),
    );
    ok(
        &mut s,
        &format!(
            "SET time_zone = '+03:00'; INSERT INTO d.`{long}` VALUES (1, 'x', '2024-01-01 03:00:00'), (2, 'y', NULL); \
             ANALYZE TABLE d.`{long}` UPDATE HISTOGRAM ON `{long}`, b, c; RENAME TABLE d.`{long}` TO d.t"
        ),
    );
    let expected = [
        r#"t|b|[["base64:type254:eA==", 0.5], ["base64:type254:eQ==", 1.0]]"#.to_owned(),
        r#"t|c|[["2024-01-01 00:00:00.000000", 0.5]]"#.to_owned(),
        format!("t|{long}|[[1, 0.5], [2, 1.0]]"),
    ];
    assert_eq!(ok(&mut s, COLUMNS), expected);
    drop(s);
    world.restart();
    let mut s = world.root();
    assert_eq!(ok(&mut s, COLUMNS), expected);
    // Names that change places within one statement keep what is theirs.
    ok(
        &mut s,
        "CREATE TABLE d.u (a INT); RENAME TABLE d.t TO d.x, d.u TO d.t, d.x TO d.u",
    );
    ok(
        &mut s,
        "DROP TABLE d.t; CREATE TABLE d.t (b VARCHAR(9)); CREATE TABLE d.x (b VARCHAR(9))",
    );
    drop(s);
    world.restart();
    let mut s = world.root();
    assert_eq!(
        ok(&mut s, COLUMNS),
        expected.map(|line| line.replacen('t', "u", 1))
    );
    ok(&mut s, "DROP TABLE d.u");
    drop(s);
    world.restart();
    assert!(ok(&mut world.root(), COLUMNS).is_empty());
}

/// A text that differs in a literal alone has a plan of its own where a histogram is asked about it.
#[test]
fn plans_follow_the_literals() {
    let world = World::new("histogram_plans");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE f (id INT PRIMARY KEY, a INT, b INT, KEY (a), KEY (b)); CREATE TABLE x (id INT PRIMARY KEY, v INT); \
         CREATE TABLE y (id INT PRIMARY KEY, v INT); SET cte_max_recursion_depth = 100000; \
         INSERT INTO f WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 4000) \
         SELECT i, 1 + i * 7 % 400, 1 + i * 11 % 400 FROM n; \
         INSERT INTO x SELECT id, id % 200 = 0 FROM f WHERE id <= 400; INSERT INTO y SELECT id, id % 200 = 0 FROM f WHERE id <= 400",
    );
    let examined = |s: &mut _, x: u32, y: u32| {
        let read = "SELECT SUM(VARIABLE_VALUE) FROM performance_schema.session_status WHERE VARIABLE_NAME LIKE 'Handler_read%'";
        let before: f64 = ok(s, read)[0].parse().unwrap();
        ok(
            s,
            &format!(
                "SELECT COUNT(*) FROM x, y, f WHERE x.id = f.a AND y.id = f.b AND x.v = {x} AND y.v = {y}"
            ),
        );
        let after: f64 = ok(s, read)[0].parse().unwrap();
        after - before
    };
    ok(
        &mut s,
        "ANALYZE TABLE x UPDATE HISTOGRAM ON v; ANALYZE TABLE y UPDATE HISTOGRAM ON v",
    );
    for (x, y) in [(0, 1), (1, 0), (0, 1)] {
        let rows = examined(&mut s, x, y);
        assert!(rows < 1500.0, "{rows} rows looked at");
    }
}

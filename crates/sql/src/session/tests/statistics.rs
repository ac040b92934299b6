//! Statistics of tables, as far as golden scripts do not reach: restarts, crashes, and tables that go.

use super::{World, ok};
use tidemark_engine::disk::sim::SimDisk;

const FILL: &str = "CREATE TABLE d.t (id INT PRIMARY KEY, k INT, plain INT, word VARCHAR(20), big TEXT, KEY (k)); \
     SET cte_max_recursion_depth = 100000; \
     INSERT INTO d.t WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 4000) \
     SELECT i, i DIV 4, IF(i % 4, 7, NULLIF(i, 4)), ELT(1 + i % 2, 'even', CONCAT('odd', i)), REPEAT('x', IF(i % 100, 10, 9000)) FROM n";

const SHOWN: &str = "SELECT n_rows, stat_name, stat_value FROM mysql.innodb_table_stats t JOIN mysql.innodb_index_stats i \
     USING (database_name, table_name) WHERE table_name = 't' AND index_name = 'k' AND stat_name LIKE 'n_diff%'";

/// The rows that are expected of a condition.
fn expected(s: &mut super::Session, condition: &str) -> f64 {
    expected_of(s, "d.t", condition)
}

fn expected_of(s: &mut super::Session, table: &str, condition: &str) -> f64 {
    let plan = ok(
        s,
        &format!("EXPLAIN FORMAT=TREE SELECT * FROM {table} WHERE {condition}"),
    )
    .join("\n");
    let filter = plan.split("Filter").nth(1).expect("a filter");
    let rows = filter.split("rows=").nth(1).expect("its rows");
    let digits = rows.split(')').next().unwrap_or_default();
    digits.parse().unwrap_or_else(|_| panic!("{plan}"))
}

fn check(s: &mut super::Session) {
    let truths = [
        ("plain = 7", 3000.0),
        ("plain <> 7", 999.0),
        ("plain = 400", 1.0),
        ("plain IS NOT NULL", 3999.0),
        ("plain IN (7, 8, 12)", 3002.0),
        ("plain > 2000", 500.0),
        ("plain BETWEEN 8 AND 1000", 250.0),
        ("word = 'even'", 2000.0),
        ("word = 'odd17'", 1.0),
        ("plain = 7 AND word = 'even'", 1500.0),
        ("id < 1000 AND word = 'even'", 500.0),
    ];
    for (condition, truth) in truths {
        let found = expected(s, condition);
        assert!(
            found >= truth / 1.5 && found <= truth * 1.5,
            "{condition}: {found}, not {truth}"
        );
    }
}

#[test]
fn statistics_survive_restarts_and_crashes() {
    let mut world = World::at("statistics", Some(SimDisk::new(1)));
    let mut s = world.root();
    ok(
        &mut s,
        &format!("SET GLOBAL innodb_stats_auto_recalc = OFF; {FILL}"),
    );
    assert!(expected(&mut s, "plain = 7") < 500.0, "a guess");
    ok(&mut s, "ANALYZE TABLE d.t");
    let shown = ["4000|n_diff_pfx01|1001", "4000|n_diff_pfx02|4000"];
    assert_eq!(ok(&mut s, SHOWN), shown);
    check(&mut s);
    drop(s);
    world.restart();
    let mut s = world.root();
    check(&mut s);
    assert_eq!(ok(&mut s, SHOWN), shown);
    // A new definition keeps what is known, but for columns of another type.
    ok(
        &mut s,
        "SET GLOBAL innodb_stats_auto_recalc = OFF; ALTER TABLE d.t ADD COLUMN more INT; ALTER TABLE d.t ADD KEY (word); RENAME TABLE d.t TO d.u; RENAME TABLE d.u TO d.t",
    );
    let found = expected(&mut s, "plain = 7");
    assert!((2900.0..3100.0).contains(&found), "{found}");
    drop(s);
    world.crash();
    let mut s = world.root();
    assert_eq!(ok(&mut s, SHOWN), shown);
    ok(&mut s, "DROP TABLE d.t");
    assert!(ok(&mut s, SHOWN).is_empty());
    ok(&mut s, FILL);
    assert!(expected(&mut s, "plain = 7") < 500.0, "a guess");
}

#[test]
fn what_is_not_to_be_stored_is_known_until_the_stop() {
    let mut world = World::new("transient_statistics");
    let mut s = world.root();
    ok(
        &mut s,
        &format!("SET GLOBAL innodb_stats_auto_recalc = OFF, GLOBAL innodb_stats_persistent = OFF; {FILL}"),
    );
    ok(
        &mut s,
        "ANALYZE TABLE d.t; CREATE TEMPORARY TABLE d.own AS SELECT plain FROM d.t; ANALYZE TABLE d.own",
    );
    check(&mut s);
    let own = expected_of(&mut s, "d.own", "plain = 7");
    assert!((2800.0..3200.0).contains(&own), "{own}");
    drop(s);
    world.restart();
    let mut s = world.root();
    ok(&mut s, "SET GLOBAL innodb_stats_auto_recalc = OFF");
    assert!(expected(&mut s, "plain = 7") < 500.0, "a guess");
}

/// Common values of two columns are expected to meet.
#[test]
fn joins_know_the_common_values() {
    let world = World::new("statistics_joins");
    let mut s = world.session();
    ok(
        &mut s,
        "SET cte_max_recursion_depth = 100000; CREATE TABLE n (i INT PRIMARY KEY); \
         INSERT INTO n WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n; \
         CREATE TABLE a (id INT PRIMARY KEY, v INT); CREATE TABLE b (id INT PRIMARY KEY, v INT); \
         INSERT INTO a SELECT i, IF(i % 2, 5, i) FROM n; INSERT INTO b SELECT i, IF(i % 4, i, 5) FROM n; ANALYZE TABLE a, b",
    );
    let truth: f64 = ok(&mut s, "SELECT COUNT(*) FROM a JOIN b ON a.v = b.v")[0]
        .parse()
        .unwrap();
    let plan = ok(&mut s, "EXPLAIN FORMAT=TREE SELECT * FROM a JOIN b ON a.v = b.v").join("\n");
    let rows = plan.split("rows=").nth(1).and_then(|rows| rows.split(')').next());
    let found: f64 = rows.unwrap().parse().unwrap();
    assert!(
        found > truth / 1.2 && found < truth * 1.2,
        "{found}, not {truth}: {plan}"
    );
}

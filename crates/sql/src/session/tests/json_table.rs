//! JSON_TABLE: how it is planned, and what its rows cost.

use super::{World, ok};

const TABLE: &str = "JSON_TABLE(t.j, '$[*]' COLUMNS (n FOR ORDINALITY, v INT PATH '$')) AS d";

#[test]
fn explain_shows_a_table_function_behind_the_tables_it_names() {
    let world = World::new("json_explain");
    let mut s = world.session();
    ok(&mut s, "CREATE TABLE t (id INT PRIMARY KEY, j JSON)");
    let lines = ok(
        &mut s,
        &format!("EXPLAIN FORMAT=TRADITIONAL SELECT * FROM t, {TABLE} WHERE d.v > 1"),
    );
    assert!(lines[0].contains("|t|"), "{lines:?}");
    assert!(
        lines[1].contains("|d|")
            && lines[1].ends_with("Table function: json_table; Using temporary; Using where"),
        "{lines:?}"
    );
    let tree = ok(&mut s, &format!("EXPLAIN FORMAT=TREE SELECT * FROM t, {TABLE}"));
    assert!(tree.concat().contains("Materialize table function d"), "{tree:?}");
}

#[test]
fn rows_come_one_after_the_other() {
    let world = World::new("json_rows");
    let mut s = world.session();
    let many = "JSON_TABLE(CONCAT('[', REPEAT('1,', 200000), '1]'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS d";
    assert_eq!(
        ok(&mut s, &format!("SELECT COUNT(*), MAX(n) FROM {many}")),
        ["200001|200001"]
    );
    assert_eq!(ok(&mut s, &format!("SELECT n FROM {many} LIMIT 1")), ["1"]);
    ok(&mut s, "SET tmp_table_size = 1024, join_buffer_size = 128");
    let paired = format!("SELECT COUNT(*) FROM {many} JOIN (SELECT 7 AS k UNION SELECT 9) AS u ON u.k = d.n");
    assert_eq!(ok(&mut s, &paired), ["2"]);
}

#[test]
fn conditions_of_the_row_around_do_not_stay() {
    let world = World::new("json_outer");
    let mut s = world.session();
    ok(&mut s, "CREATE TABLE t (id INT PRIMARY KEY, j JSON)");
    ok(
        &mut s,
        "INSERT INTO t VALUES (1, '[1]'), (2, '[1, 2]'), (3, '[2, 3, 1]')",
    );
    // The document is of the row around the subquery, so a table made of it serves that row alone.
    let sql = format!("SELECT (SELECT COUNT(*) FROM t AS u JOIN {TABLE} ON d.v = u.id) FROM t ORDER BY id");
    assert_eq!(ok(&mut s, &sql), ["1", "2", "3"]);
}

//! EXPLAIN: the tree of operators, and what EXPLAIN ANALYZE counts of them.

use super::*;

/// The lines of a tree, without costs, estimates and times, which depend on statistics and on the clock.
fn tree(session: &mut Session, sql: &str) -> Vec<String> {
    let text = ok(session, sql).join("\n");
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| without_figures(line).to_owned()).collect()
}

fn without_figures(line: &str) -> &str {
    let end = ["  (cost=", "  (actual time="]
        .iter()
        .filter_map(|start| line.find(start))
        .min();
    &line[..end.unwrap_or(line.len())]
}

/// What EXPLAIN ANALYZE says of each line: rows, and how often.
fn counted(session: &mut Session, sql: &str) -> Vec<String> {
    let text = ok(session, &format!("EXPLAIN ANALYZE {sql}")).join("\n");
    let figures = |line: &str| match line.split_once("(actual time=") {
        Some((_, rest)) => {
            let (_, rest) = rest.split_once(" rows=").expect("rows");
            format!(" rows={}", rest.trim_end_matches(')'))
        }
        None if line.ends_with("(never executed)") => " never".to_owned(),
        None => String::new(),
    };
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            format!(
                "{}{}",
                without_figures(line).trim_end_matches("  (never executed)"),
                figures(line)
            )
        })
        .collect()
}

fn with_tables(session: &mut Session) {
    ok(
        session,
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, u INT, pad VARCHAR(20), KEY k (k), UNIQUE KEY u (u))",
    );
    ok(
        session,
        "INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i, i DIV 4, i, 'x' FROM n",
    );
    ok(session, "CREATE TABLE s (id INT PRIMARY KEY, t INT)");
    ok(session, "INSERT INTO s VALUES (1, 3), (2, 3), (3, 5)");
}

#[test]
fn operators_are_shown_with_their_conditions() {
    let world = World::new("tree");
    let mut s = world.session();
    with_tables(&mut s);
    let cases: &[(&str, &[&str])] = &[
        ("SELECT * FROM t", &["-> Table scan on t"]),
        (
            "SELECT * FROM t WHERE id = 3",
            &["-> Single-row index lookup on t using PRIMARY (id = 3)"],
        ),
        (
            "SELECT * FROM t WHERE k = 3 AND pad = 'x'",
            &[
                "-> Filter: (t.pad = 'x')",
                "    -> Index lookup on t using k (k = 3)",
            ],
        ),
        (
            "SELECT * FROM t x ORDER BY pad DESC, id LIMIT 3",
            &[
                "-> Limit: 3 row(s)",
                "    -> Sort: x.pad DESC, x.id, limit input to 3 row(s) per chunk",
                "        -> Table scan on x",
            ],
        ),
        (
            "SELECT k, COUNT(*) FROM t GROUP BY k HAVING COUNT(*) > 2",
            &[
                "-> Filter: (count(0) > 2)",
                "    -> Group aggregate: count(0), count(0)",
                "        -> Covering index scan on t using k",
            ],
        ),
        (
            "SELECT * FROM s STRAIGHT_JOIN t ON t.id = s.t",
            &[
                "-> Nested loop inner join",
                "    -> Table scan on s",
                "    -> Single-row index lookup on t using PRIMARY (id = s.t)",
            ],
        ),
        (
            "SELECT (SELECT MAX(s.id) FROM s WHERE s.t = t.k) FROM t FORCE INDEX (PRIMARY)",
            &[
                "-> Left hash join (`<subquery2>`.t = t.k)",
                "    -> Table scan on t",
                "    -> Hash",
                "        -> Table scan on `<subquery2>`",
                "            -> Materialize",
                "                -> Aggregate using temporary table: max(s.id)",
                "                    -> Filter: (s.t is not null)",
                "                        -> Table scan on s",
            ],
        ),
        (
            "UPDATE t SET pad = 'y' WHERE id = 3",
            &[
                "-> Update t",
                "    -> Filter: (t.id = 3)",
                "        -> Single-row index lookup on t using PRIMARY (id = 3)",
            ],
        ),
        (
            "SELECT 1 UNION SELECT 2",
            &[
                "-> Union with deduplication",
                "    -> Rows fetched before execution",
                "    -> Rows fetched before execution",
            ],
        ),
    ];
    for (sql, expected) in cases {
        assert_eq!(
            tree(&mut s, &format!("EXPLAIN FORMAT=TREE {sql}")),
            *expected,
            "{sql}"
        );
    }
}

#[test]
fn the_form_is_the_one_that_is_asked_for() {
    let world = World::new("forms");
    let mut s = world.session();
    with_tables(&mut s);
    assert!(ok(&mut s, "EXPLAIN SELECT * FROM t")[0].starts_with("-> Table scan on t"));
    ok(&mut s, "SET explain_format = TRADITIONAL");
    assert!(ok(&mut s, "EXPLAIN SELECT * FROM t")[0].starts_with("1|SIMPLE|t|NULL|ALL|"));
    assert!(ok(&mut s, "EXPLAIN ANALYZE SELECT * FROM t")[0].starts_with("-> Table scan on t"));
    let json = ok(&mut s, "EXPLAIN FORMAT=JSON SELECT * FROM t WHERE id = 3").join("\n");
    assert!(
        json.contains("\"lookup_condition\": \"id = 3\"") && json.contains("\"query_type\": \"select\""),
        "{json}"
    );
    for (sql, code) in [
        ("EXPLAIN ANALYZE FORMAT=TRADITIONAL SELECT 1", 1235),
        ("EXPLAIN ANALYZE DELETE FROM t", 1235),
        ("EXPLAIN INTO @x SELECT 1", 6006),
        ("EXPLAIN ANALYZE SELECT * FROM nowhere", 1146),
    ] {
        assert_eq!(fails(&mut s, sql), code, "{sql}");
    }
    assert_eq!(ok(&mut s, "SELECT COUNT(*) FROM t"), ["40"]);
}

#[test]
fn what_operators_did_is_counted() {
    let world = World::new("analyze");
    let mut s = world.session();
    with_tables(&mut s);
    let cases: &[(&str, &[&str])] = &[
        ("SELECT * FROM t", &["-> Table scan on t rows=40 loops=1"]),
        (
            "SELECT * FROM t WHERE k = 3 AND id > 13",
            &[
                "-> Filter: (t.id > 13) rows=2 loops=1",
                "    -> Index lookup on t using k (k = 3) rows=4 loops=1",
            ],
        ),
        (
            "SELECT * FROM s STRAIGHT_JOIN t ON t.id = s.t WHERE t.pad = 'x'",
            &[
                "-> Nested loop inner join rows=3 loops=1",
                "    -> Table scan on s rows=3 loops=1",
                "    -> Filter: (t.pad = 'x') rows=1 loops=3",
                "        -> Single-row index lookup on t using PRIMARY (id = s.t) rows=1 loops=3",
            ],
        ),
        (
            "SELECT * FROM t ORDER BY pad, id DESC LIMIT 2",
            &[
                "-> Limit: 2 row(s) rows=2 loops=1",
                "    -> Sort: t.pad, t.id DESC, limit input to 2 row(s) per chunk rows=2 loops=1",
                "        -> Table scan on t rows=40 loops=1",
            ],
        ),
        (
            "SELECT * FROM (SELECT k, COUNT(*) AS c FROM t GROUP BY k) x WHERE c > 1",
            &[
                "-> Filter: (x.c > 1) rows=10 loops=1",
                "    -> Table scan on x rows=11 loops=1",
                "        -> Materialize rows=11 loops=1",
                "            -> Group aggregate: count(0) rows=11 loops=1",
                "                -> Covering index scan on t using k rows=40 loops=1",
            ],
        ),
        (
            "SELECT * FROM s STRAIGHT_JOIN t ON t.id = s.t + 100 STRAIGHT_JOIN s r ON r.id = t.k",
            &[
                "-> Nested loop inner join rows=0 loops=1",
                "    -> Nested loop inner join rows=0 loops=1",
                "        -> Table scan on s rows=3 loops=1",
                "        -> Single-row index lookup on t using PRIMARY (id = (s.t + 100)) rows=0 loops=3",
                "    -> Single-row index lookup on r using PRIMARY (id = t.k) never",
            ],
        ),
        (
            "SELECT * FROM t STRAIGHT_JOIN s ON s.t = t.k WHERE s.id + 0 < 3",
            &[
                "-> Inner hash join (s.t = t.k) rows=8 loops=1",
                "    -> Table scan on t rows=40 loops=1",
                "    -> Hash",
                "        -> Filter: ((s.id + 0) < 3) rows=2 loops=1",
                "            -> Table scan on s rows=3 loops=1",
            ],
        ),
        (
            "SELECT * FROM t LEFT JOIN s ON s.t = t.k LEFT JOIN s r ON r.t = s.t",
            &[
                "-> Left hash join (r.t = s.t) rows=52 loops=1",
                "    -> Left hash join (s.t = t.k) rows=44 loops=1",
                "        -> Table scan on t rows=40 loops=1",
                "        -> Hash",
                "            -> Table scan on s rows=3 loops=1",
                "    -> Hash",
                "        -> Table scan on r rows=3 loops=1",
            ],
        ),
    ];
    for (sql, expected) in cases {
        assert_eq!(counted(&mut s, sql), *expected, "{sql}");
    }
}

#[test]
fn what_follows_from_conditions_leads_to_rows() {
    let world = World::new("follows");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE a (id INT PRIMARY KEY, x INT NOT NULL, t VARCHAR(20), n DOUBLE, KEY (x))",
    );
    for name in ["b", "c"] {
        ok(&mut s, &format!("CREATE TABLE {name} LIKE a"));
    }
    let rows = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT i, i DIV 3, 'text', i FROM n";
    ok(&mut s, "SET cte_max_recursion_depth = 1000");
    ok(&mut s, &format!("INSERT INTO a {rows} WHERE i <= 3"));
    ok(&mut s, &format!("INSERT INTO b {rows}"));
    ok(&mut s, &format!("INSERT INTO c {rows} WHERE i <= 30"));
    let cases: [(&str, &[&str]); 6] = [
        (
            "EXPLAIN FORMAT=TREE SELECT * FROM b, a, c WHERE a.id = c.id AND c.id = b.id",
            &[
                "-> Nested loop inner join",
                "    -> Nested loop inner join",
                "        -> Table scan on a",
                "        -> Single-row index lookup on b using PRIMARY (id = a.id)",
                "    -> Filter: (a.id = c.id)",
                "        -> Single-row index lookup on c using PRIMARY (id = b.id)",
            ],
        ),
        (
            "EXPLAIN FORMAT=TREE SELECT * FROM b, c WHERE b.x = c.id AND c.id = 5",
            &[
                "-> Nested loop inner join",
                "    -> Single-row index lookup on c using PRIMARY (id = 5)",
                "    -> Index lookup on b using x (x = 5)",
            ],
        ),
        (
            "EXPLAIN FORMAT=TREE SELECT * FROM b, a WHERE (a.id = b.id AND b.t = 'x') OR (b.t = 'y' AND a.id = b.id)",
            &[
                "-> Nested loop inner join",
                "    -> Table scan on a",
                "    -> Filter: ((b.t = 'x') or (b.t = 'y'))",
                "        -> Single-row index lookup on b using PRIMARY (id = a.id)",
            ],
        ),
        (
            "EXPLAIN FORMAT=TREE SELECT * FROM b WHERE t LIKE '%x%' AND x > 0 AND n / 2 > 1 AND t LIKE '%y%' AND id > 7 AND n + 1 > 0",
            &[
                "-> Filter: ((b.x > 0) and (b.t like '%x%') and ((b.n / 2) > 1) and (b.t like '%y%') and ((b.n + 1) > 0))",
                "    -> Index range scan on b using PRIMARY over (7 < id)",
            ],
        ),
        (
            "EXPLAIN FORMAT=TREE SELECT MAX(id), MIN(x), MAX(x) FROM b",
            &[
                "-> Aggregate: max(b.id), min(b.x), max(b.x)",
                "    -> Index scan on b using PRIMARY (reverse)",
                "    -> Covering index scan on b using x",
                "    -> Covering index scan on b using x (reverse)",
            ],
        ),
        (
            "EXPLAIN FORMAT=TREE SELECT MAX(id), MAX(n) FROM b",
            &["-> Aggregate: max(b.id), max(b.n)", "    -> Table scan on b"],
        ),
    ];
    for (sql, expected) in cases {
        assert_eq!(tree(&mut s, sql), *expected, "{sql}");
    }
}

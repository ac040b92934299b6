//! A statement that is run by its shape, with the plan made for other literals, has the result of one that is parsed by itself.
//!
//! A statement with a comment has no shape. So `SELECT …` is first run with other literals, which leaves a plan, then as it stands, and then
//! with a comment in front; the last two are compared, rows and errors.

use super::{Session, World, run};
use crate::error::er;
use proptest::prelude::*;
use std::cell::RefCell;
use tidemark_testing::properties;

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (-3i32..30).prop_map(|n| n.to_string()),
        1 => prop::sample::select(vec!["0.5", "2.50", "1e1", ".5", "18446744073709551616", "0x31", "TRUE", "NULL", "007"]).prop_map(str::to_owned),
        3 => prop::sample::select(vec!["'a'", "'b5'", "''", "'5'", "'2024-01-05'", "'it''s'", "\"q\"", "'\\\\'", "'x' 'y'", "'c%'"]).prop_map(str::to_owned),
        1 => prop::sample::select(vec!["DATE '2024-01-05'", "INTERVAL 1 DAY + '2024-01-05'", "-7", "- 7", "+3"]).prop_map(str::to_owned),
    ]
}

fn column() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["id", "a", "b", "c", "d", "t.a", "`c`"]).prop_map(str::to_owned)
}

fn operand() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![3 => column(), 2 => literal()];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(vec!["+", "-", "*", "DIV", "%"]),
                inner.clone()
            )
                .prop_map(|(l, op, r)| format!("({l} {op} {r})")),
            (inner.clone(), inner.clone()).prop_map(|(l, r)| format!("CONCAT({l}, {r})")),
            (inner.clone(), 0u8..9).prop_map(|(l, n)| format!("ROUND({l}, {n})")),
            (inner.clone(), 1u8..5).prop_map(|(l, n)| format!("LEFT({l}, {n})")),
            inner.clone().prop_map(|l| format!("CAST({l} AS CHAR(3))")),
            inner.clone().prop_map(|l| format!("CAST({l} AS DECIMAL(6, 2))")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("CASE {a} WHEN {b} THEN 1 ELSE {c} END")),
        ]
    })
}

fn condition() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (
            operand(),
            prop::sample::select(vec!["=", "<", ">=", "<>", "<=>"]),
            operand()
        )
            .prop_map(|(l, op, r)| format!("{l} {op} {r}")),
        (operand(), literal(), literal()).prop_map(|(l, a, b)| format!("{l} BETWEEN {a} AND {b}")),
        (column(), prop::collection::vec(literal(), 1..4))
            .prop_map(|(c, list)| format!("{c} IN ({})", list.join(", "))),
        (column(), literal()).prop_map(|(c, l)| format!("{c} LIKE {l}")),
        column().prop_map(|c| format!("{c} IS NOT NULL")),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(vec!["AND", "OR", "XOR"]),
                inner.clone()
            )
                .prop_map(|(l, op, r)| format!("({l} {op} {r})")),
            inner.prop_map(|c| format!("NOT ({c})")),
        ]
    })
}

fn statement() -> impl Strategy<Value = String> {
    let list = prop_oneof![
        Just("*".to_owned()),
        operand(),
        (column(), operand()).prop_map(|(c, o)| format!("{c}, {o} AS x"))
    ];
    let tail = prop_oneof![
        2 => Just(" ORDER BY id".to_owned()),
        1 => (0u8..9).prop_map(|n| format!(" ORDER BY 1, id LIMIT {n}")),
        1 => (0u8..9, 0u8..3).prop_map(|(n, from)| format!(" ORDER BY id DESC LIMIT {from}, {n}")),
    ];
    prop_oneof![
        6 => (list, condition(), tail).prop_map(|(list, condition, tail)| format!("SELECT {list} FROM t WHERE {condition}{tail}")),
        1 => (operand(), condition()).prop_map(|(o, c)| format!("SELECT b, COUNT(*), MIN({o}) FROM t GROUP BY b HAVING COUNT(*) > 2 OR ({c}) ORDER BY b")),
        1 => condition().prop_map(|c| format!("SELECT x.id FROM t x WHERE EXISTS (SELECT 1 FROM t WHERE t.a = x.a + 1 AND {c}) ORDER BY 1")),
    ]
}

/// The statement with its digits and quoted words replaced, so that it often has the same shape.
fn with_other_literals(sql: &str) -> String {
    let digit = |c: char| if c.is_ascii_digit() { '1' } else { c };
    sql.chars().map(digit).collect()
}

fn answer(session: &mut Session, sql: &str) -> std::result::Result<Vec<String>, u16> {
    run(session, sql)
        .map(|text| text.lines)
        .map_err(|error| error.code)
}

#[test]
fn properties_of_shapes() {
    let world = World::new("shapes");
    let mut session = world.session();
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(10), c VARCHAR(10) NOT NULL, d DATE, KEY (a), KEY (b, a), KEY (d))",
        "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) \
         SELECT i, IF(i % 7 = 0, NULL, i % 10), CONCAT('b', i % 6), i, DATE_ADD('2024-01-01', INTERVAL i DAY) FROM n",
    ] {
        super::ok(&mut session, sql);
    }
    let session = RefCell::new(session);
    proptest!(properties(1500), |(sql in statement())| {
        let mut session = session.borrow_mut();
        // Fails or not, it leaves a plan if it can have one.
        let _ = answer(&mut session, &with_other_literals(&sql));
        let by_shape = answer(&mut session, &sql);
        let parsed = answer(&mut session, &format!("/* as it stands */ {sql}"));
        // A date compared with a text that is none is an error where the planner meets the text, and else finds no row.
        let no_date = Err(er::TRUNCATED_WRONG_VALUE_IN_FUNCTION);
        if by_shape != no_date && parsed != no_date {
            prop_assert_eq!(by_shape, parsed, "{}", sql);
        }
    });
    session.into_inner().end();
}

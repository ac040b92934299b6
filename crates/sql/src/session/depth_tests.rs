//! Depth and length of statements, on threads with the server's stack.
//!
//! Each form of the grammar that nests is taken as deep as it runs; that depth, and everything deeper, must not end the
//! process, in this build with its large frames. Long chains must give what their operators would give one by one.

use super::tests::{World, run};
use crate::error::{depth, er};
use crate::expr::{BindCtx, Expr, build, call};
use crate::parse::parse;
use crate::types::SqlMode;

/// What cannot fail (clone, drop, comparison, a walk) must fit the reserve, for the highest tree that there is. A level of
/// syntax may become more levels when it is bound, of which each was made by a checked recursion with larger frames than
/// its copy's.
#[test]
fn walks_over_the_highest_tree_fit_the_reserve() {
    fn on_a_stack_of<T: Send + 'static>(bytes: usize, f: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = std::thread::Builder::new().stack_size(bytes);
        let run = move || {
            depth::set_stack_len(bytes);
            f()
        };
        thread.spawn(run).unwrap().join().unwrap()
    }
    let forms = [
        ("", "'a'", " COLLATE utf8mb4_bin"),
        ("NOT ", "1", ""),
        ("ABS(", "1", ")"),
        ("CASE WHEN 1 THEN ", "1", " END"),
        ("1 BETWEEN 0 AND ", "1", ""),
        ("(1, ", "1", ")"),
    ];
    for (before, within, behind) in forms {
        let highest = on_a_stack_of(64 << 20, move || {
            let sql = |n: usize| format!("SELECT {}{within}{}", before.repeat(n), behind.repeat(n));
            let parsed = |n| parse(sql(n).as_bytes(), 0, SqlMode::DEFAULT);
            let n = (1..=depth::HEIGHT_MAX)
                .rev()
                .find(|n| parsed(*n).is_ok())
                .unwrap();
            assert!(n > depth::HEIGHT_MAX - 10, "{before}{behind}: {n}");
            parsed(n).unwrap().statement
        });
        on_a_stack_of(depth::RESERVE, move || {
            let copy = highest.clone();
            assert!(copy == highest);
        });
    }
    let bound = |levels: usize| {
        on_a_stack_of(64 << 20, move || {
            let mut e: Expr = build::param(0, crate::types::SqlType::bigint());
            for level in 0..levels {
                e = match level % 3 {
                    0 => build::neg(e, &BindCtx::default()).unwrap(),
                    1 => call("ABS", vec![e], &BindCtx::default()).unwrap(),
                    _ => build::case(None, vec![(build::null(), e)], None, &BindCtx::default()).unwrap(),
                };
            }
            e
        })
    };
    let high = bound(depth::HEIGHT_MAX);
    on_a_stack_of(depth::RESERVE, move || drop(high.clone()));
    let higher = bound(3 * depth::HEIGHT_MAX);
    on_a_stack_of(depth::RESERVE, move || {
        let mut nodes = 0;
        higher.walk(&mut |_| nodes += 1);
        assert!(nodes > 3 * depth::HEIGHT_MAX && !higher.is_constant());
    });
}

/// What stands before, within and behind the innermost of `n` levels.
const NESTED: &[(&str, &str, &str)] = &[
    ("SELECT |(", "1", ")"),
    ("SELECT |(1+", "1", ")"),
    ("SELECT |(", "1", "+1)"),
    (
        "SELECT |(0 OR 0 XOR 0 AND 1 = 0 | 0 & 0 << 0 + 0 * 0 ^ ",
        "1",
        ")",
    ),
    (
        "SELECT |(1+1+1+1+1+1+1+1+1+1+1+1+",
        "1",
        "+1+1+1+1+1+1+1+1+1+1+1)",
    ),
    ("SELECT |- ", "1", ""),
    ("SELECT |! ", "1", ""),
    ("SELECT |NOT ", "1", ""),
    ("SELECT |BINARY ", "'a'", ""),
    ("SELECT |", "'a'", " COLLATE utf8mb4_bin"),
    ("SELECT |", "1", " IS NULL"),
    ("SELECT |", "1", " = ANY (SELECT 1)"),
    ("SELECT |1 IN (", "1", ")"),
    ("SELECT |1 BETWEEN 0 AND ", "1", ""),
    ("SELECT |(", "1", " BETWEEN 0 AND 1)"),
    ("SELECT |('a' LIKE ", "'a'", ")"),
    ("SELECT |('1' REGEXP ", "'1'", ")"),
    ("SELECT |CASE ", "1", " WHEN 1 THEN 1 END"),
    ("SELECT |CASE WHEN 1 THEN ", "1", " END"),
    ("SELECT |CASE WHEN 0 THEN 1 ELSE ", "1", " END"),
    ("SELECT |ABS(", "1", ")"),
    ("SELECT |IF(1,", "1", ",0)"),
    ("SELECT |CONCAT('', ", "'a'", ")"),
    ("SELECT |LEFT(HEX(", "'a'", "), 1)"),
    ("SELECT |CAST(", "1", " AS SIGNED)"),
    ("SELECT |CONVERT(", "'a'", " USING utf8mb4)"),
    ("SELECT |DATE_ADD(", "'2020-01-01'", ", INTERVAL 1 DAY)"),
    ("SELECT |'2020-01-01' + INTERVAL ", "1", " DAY"),
    ("SELECT |INTERVAL(", "1", ", 1)"),
    ("SELECT |TRIM(BOTH 'x' FROM ", "'a'", ")"),
    ("SELECT |JSON_ARRAY(", "1", ")"),
    ("SELECT |@v := ", "1", ""),
    ("SELECT |(SELECT ", "1", ")"),
    ("SELECT |(SELECT ((((1 + ", "1", ")))))"),
    ("SELECT |EXISTS (SELECT ", "1", ")"),
    (
        "SELECT 1 FROM one WHERE |a IN (SELECT a FROM one WHERE ",
        "1",
        ")",
    ),
    (
        "SELECT 1 FROM one WHERE |EXISTS (SELECT 1 FROM one x WHERE x.a = one.a AND ",
        "1",
        ")",
    ),
    ("|SELECT * FROM (", "SELECT 1 AS a", ") t"),
    ("|SELECT a + 1 AS a FROM (", "SELECT 1 AS a", ") t"),
    ("|WITH t AS (", "SELECT 1 AS a", ") SELECT * FROM t"),
    ("|(", "SELECT 1", ")"),
    ("|(", "SELECT 1", " LIMIT 1)"),
    ("|(SELECT 1 UNION ", "SELECT 1", ")"),
    ("|(", "SELECT 1", " UNION SELECT 1)"),
    ("SELECT 1 FROM |(", "one", ")"),
    ("SELECT 1 FROM one a JOIN one b ON |(1 AND ", "1", ")"),
    ("DO |(1+", "1", ")"),
    ("SET @a = |(1+", "1", ")"),
    ("SELECT a FROM one WHERE a = |(1+", "1", ")"),
    ("SELECT COUNT(*) FROM one GROUP BY |(1+", "a", ")"),
    ("SELECT a FROM one ORDER BY |(1+", "a", ")"),
    ("SELECT a FROM one HAVING a < |(1+", "1", ")"),
    ("INSERT INTO sink VALUES (|(1+", "1", "))"),
    ("UPDATE one SET a = 1 WHERE a = |(1+", "1", ")"),
    ("DELETE FROM sink WHERE a = |(1+", "1", ")"),
    ("EXPLAIN FORMAT=TREE SELECT a FROM one WHERE a > |(a+", "1", ")"),
    ("CREATE TABLE made (a INT DEFAULT (|(1+", "1", ")))"),
    ("CREATE TABLE made (a INT, CHECK (a > |(1+", "1", ")))"),
    ("CREATE TABLE made (a INT, CHECK (|NOT ", "(a > 1)", "))"),
];

fn statement((before, within, behind): (&str, &str, &str), n: usize) -> String {
    let (start, before) = before.split_once('|').expect("where the nesting begins");
    // What closes the statement closes it once.
    let once = start.matches('(').count() - start.matches(')').count();
    let (each, end) = behind.split_at(behind.len() - once);
    format!("{start}{}{within}{}{end}", before.repeat(n), each.repeat(n))
}

/// Runs on a thread with the stack of a connection.
fn on_a_connections_stack(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(depth::STACK_LEN);
    let thread = thread.spawn(|| {
        depth::set_stack_len(depth::STACK_LEN);
        f();
    });
    thread.unwrap().join().unwrap();
}

fn world(name: &str) -> World {
    let world = World::new(name);
    let mut s = world.session();
    for sql in [
        "CREATE TABLE one (a INT, KEY (a))",
        "INSERT INTO one VALUES (1)",
        "CREATE TABLE sink (a INT)",
    ] {
        run(&mut s, sql).unwrap();
    }
    world
}

#[test]
fn the_deepest_statement_of_every_form_fits_the_stack() {
    let world = world("depth_forms");
    on_a_connections_stack(move || {
        let mut s = world.session();
        let mut attempt = |form, n: usize| -> Option<u16> {
            let sql = statement(form, n);
            let error = run(&mut s, &sql).err().map(|e| e.code);
            if sql.starts_with("CREATE") {
                // What could be made can be read.
                if error.is_none() {
                    run(&mut s, "SHOW CREATE TABLE made").unwrap();
                    run(&mut s, "INSERT INTO made VALUES (DEFAULT)").ok();
                    run(&mut s, "DROP TABLE made").unwrap();
                }
                return error;
            }
            let quoted = sql.replace('\'', "''");
            let prepared =
                run(&mut s, &format!("PREPARE p FROM '{quoted}'")).and_then(|_| run(&mut s, "EXECUTE p"));
            error.or(prepared.err().map(|e| e.code))
        };
        for form in NESTED {
            let (mut runs, mut fails) = (0, 1);
            while fails <= 1 << 16 && attempt(*form, fails).is_none() {
                (runs, fails) = (fails, fails * 2);
            }
            while fails - runs > 1 {
                let middle = (runs + fails) / 2;
                match attempt(*form, middle) {
                    None => runs = middle,
                    Some(_) => fails = middle,
                }
            }
            let error = attempt(*form, fails);
            let queries = form.0.contains("(SELECT")
                || form.0.starts_with('|') && form.0.contains("FROM (")
                || form.0.contains("WITH");
            let many_nodes = form.0.contains("XOR");
            let least = if queries || many_nodes { 10 } else { 30 };
            assert!(
                runs >= least,
                "{form:?} runs to {runs} only, then error {error:?}"
            );
            for n in [fails, 2 * fails, 100_000] {
                let error = attempt(*form, n);
                let nesting = [
                    er::STACK_OVERRUN_NEED_MORE,
                    er::TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT,
                ];
                let json = form.0.contains("JSON");
                assert!(
                    error.is_some_and(|e| json || nesting.contains(&e)),
                    "{form:?} at {n}: {error:?}"
                );
            }
        }
    });
}

#[test]
fn long_chains_and_lists_run() {
    let world = world("depth_chains");
    on_a_connections_stack(move || {
        let mut s = world.session();
        let n = 20_000;
        let mut value = |sql: String| run(&mut s, &sql).unwrap().lines[0].clone();
        let chain = |first: &str, link: &str| format!("SELECT {first}{}", link.repeat(n));
        assert_eq!(value(chain("(1)", "+1")), "20001");
        assert_eq!(value(chain("0", "-1")), "-20000");
        assert_eq!(value(chain("1", "*1")), "1");
        assert_eq!(value(chain("0", "|1|2")), "3");
        assert_eq!(value(chain("1", " XOR 1")), "1");
        assert_eq!(value(chain("1", " = 1")), "1");
        assert_eq!(value(chain("1", " < 2")), "1");
        assert_eq!(value(chain("1", " AND 1")), "1");
        assert_eq!(value(chain("0", " OR 0 AND 1")), "0");
        assert_eq!(value(chain("NULL", " + 1")), "NULL");
        assert_eq!(value(chain("1", " UNION SELECT 1")), "1");
        assert_eq!(
            value(format!(
                "SELECT COUNT(*) FROM (SELECT 1{}) t",
                " UNION ALL SELECT 1".repeat(2_000)
            )),
            "2001"
        );
        assert_eq!(
            value(format!(
                "SELECT COUNT(*) FROM (SELECT 1{}) t",
                " UNION ALL SELECT 2 EXCEPT SELECT 1".repeat(30)
            )),
            "1"
        );
        assert_eq!(
            value(format!(
                "SELECT COUNT(*) FROM (SELECT 1{}) t",
                " INTERSECT SELECT 1".repeat(n)
            )),
            "1"
        );
        assert_eq!(
            value(format!("SELECT a FROM one WHERE a IN (1{})", ",7".repeat(n))),
            "1"
        );
        assert_eq!(
            value(format!(
                "SELECT a FROM one WHERE a = 1{}",
                " OR a = 2 AND a = 3".repeat(n)
            )),
            "1"
        );
        assert_eq!(
            value(format!("SELECT a FROM one WHERE a = 0{}-19999", "+1".repeat(n))),
            "1"
        );
        assert_eq!(
            value(format!("SELECT LENGTH(CONCAT('a'{}))", ",'b'".repeat(n))),
            "20001"
        );
        let joins = |n: usize| {
            let tables: String = (0..n).map(|i| format!(" CROSS JOIN one t{i} ON 1")).collect();
            format!("SELECT 1 FROM one{tables}")
        };
        assert_eq!(value(joins(60)), "1");
        for n in [61, 3_000] {
            assert_eq!(
                run(&mut s, &joins(n)).err().map(|e| e.code),
                Some(er::TOO_MANY_TABLES)
            );
        }
        run(&mut s, "SET sql_mode = 'PIPES_AS_CONCAT'").unwrap();
        let text = run(&mut s, &format!("SELECT LENGTH('a'{})", "||'b'".repeat(n))).unwrap();
        assert_eq!(text.lines, ["20001"]);
        // Many parameters, in the condition of an index and as a statement that has no values yet.
        let places = format!("SELECT a FROM one WHERE a IN (?{})", ",?".repeat(5_000));
        run(&mut s, &format!("PREPARE p FROM '{places}'")).unwrap();
    });
}

/// Views and common tables of which each names the one before twice: the work of planning them doubles with each.
#[test]
fn what_doubles_from_name_to_name_is_refused() {
    let world = world("doubling");
    let mut s = world.session();
    for sql in [
        "CREATE VIEW m0 AS SELECT a FROM one",
        "CREATE VIEW g0 AS SELECT MAX(a) a FROM one",
    ] {
        run(&mut s, sql).unwrap();
    }
    // What is merged counts as the tables that it is made of.
    for n in 1..6 {
        run(
            &mut s,
            &format!("CREATE VIEW m{n} AS SELECT x.a FROM m{0} x JOIN m{0} y", n - 1),
        )
        .unwrap();
    }
    let refused = run(&mut s, "SELECT 1 FROM m5 x JOIN m5 y").err();
    assert_eq!(refused.map(|e| e.code), Some(er::TOO_MANY_TABLES));
    let others: String = (0..30).map(|n| format!(", one t{n}")).collect();
    let refused = run(&mut s, &format!("SELECT 1 FROM m5{others}")).err();
    assert_eq!(refused.map(|e| e.code), Some(er::TOO_MANY_TABLES));
    let refused = (1..40).find_map(|n| {
        let view = format!(
            "CREATE VIEW g{n} AS SELECT MAX(x.a) a FROM g{0} x JOIN g{0} y",
            n - 1
        );
        run(&mut s, &view).err()
    });
    assert_eq!(
        refused.map(|e| e.code),
        Some(er::TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT)
    );
    let common = |first: &str, n: usize| {
        let tables: String = (1..=n)
            .map(|n| format!(", c{n} AS (SELECT MAX(x.a) a FROM c{0} x JOIN c{0} y)", n - 1))
            .collect();
        format!("WITH c0 AS ({first}){tables} SELECT a FROM c{n}")
    };
    // A table that reads nothing around it is planned once, however often it is named.
    assert_eq!(run(&mut s, &common("SELECT 1 a", 40)).unwrap().lines, ["1"]);
    let around = |n: usize| format!("SELECT ({}) FROM (SELECT 1 a) o", common("SELECT o.a", n));
    assert_eq!(run(&mut s, &around(8)).unwrap().lines, ["1"]);
    let refused = run(&mut s, &around(40)).err();
    assert_eq!(
        refused.map(|e| e.code),
        Some(er::TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT)
    );
}

/// A chain gives what nested operators give: the same value and the same type at each step.
#[test]
fn a_chain_is_its_operators_one_by_one() {
    let world = world("depth_equal");
    let mut s = world.session();
    let operands = [
        "1",
        "2.50",
        "'3'",
        "NULL",
        "7e0",
        "'abc'",
        "DATE'2020-02-03'",
        "a",
        "-4",
        "0",
        "TIME'10:11:12'",
        "0x41",
        "18446744073709551615",
    ];
    let groups: [&[&str]; 5] = [
        &["+", "-"],
        &["*", "/", "DIV", "%"],
        &["=", "<", "<=>", "<>", ">="],
        &["|"],
        &["XOR"],
    ];
    let mut seed = 42u64;
    let mut random = |n: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % n
    };
    for round in 0..400 {
        let ops = groups[round % groups.len()];
        let length = 9 + random(12);
        let (mut flat, mut nested) = (operands[random(operands.len())].to_owned(), String::new());
        nested.push_str(&flat);
        for _ in 0..length {
            let (op, operand) = (ops[random(ops.len())], operands[random(operands.len())]);
            flat = format!("{flat} {op} {operand}");
            nested = format!("({nested} {op} {operand})");
        }
        let mut answer = |e: &str| {
            let rows = run(&mut s, &format!("SELECT {e} FROM one"));
            rows.map(|text| text.lines).map_err(|e| e.code)
        };
        assert_eq!(answer(&flat), answer(&nested), "{flat}");
    }
}

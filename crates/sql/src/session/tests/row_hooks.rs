//! Hooks on rows: which are called when, what they may change, and that they run statements in the same transaction.

use super::{World, ok, run};
use crate::context::Discard;
use crate::error::Result;
use crate::exec::Receiver;
use crate::plan::change::hooks::{After, Before, HookContext, Origin, RowEvent, RowHook, testing};
use crate::types::{SqlMode, Val, Value};
use std::sync::{Arc, Mutex};

/// Does what triggers of MySQL do that write a line for each of their six occasions, and in BEFORE give columns other values.
struct Triggers;

const A: usize = 1;
const B: usize = 2;
const U: usize = 3;

fn show(row: &[Value]) -> String {
    let mut row = row.iter().map(|value| match value {
        Val::Null => "-".to_owned(),
        value => String::from_utf8_lossy(&value.to_text()).into_owned(),
    });
    let id = row.next().filter(|id| id != "-").unwrap_or("0".to_owned());
    let rest: Vec<String> = row.collect();
    format!("{id} {}", rest.join(" "))
}

fn replace_null(new: &mut [Value]) {
    match new[A] {
        Val::Null => new[A] = Val::Int(5),
        Val::Int(-1) => new[A] = Val::Null,
        _ => {}
    }
}

/// Runs a statement in the midst of another.
fn write(context: HookContext, what: &str) -> Result<()> {
    let sql = format!("INSERT INTO d.log (what) VALUES ('{what}')");
    let parsed = crate::parse::parse(sql.as_bytes(), 0, SqlMode::DEFAULT)?;
    let plan = crate::plan::plan(&parsed.statement, context.session, (&[] as &[Value]).into())?;
    let with = (context.session, context.txn);
    crate::exec::run(&plan, with, &[], &mut Receiver::Sink(&mut Discard), None)?;
    Ok(())
}

impl RowHook for Triggers {
    fn acts_before(&self, _: RowEvent) -> bool {
        true
    }

    fn acts_on(&self, _: RowEvent) -> bool {
        true
    }

    fn before(&self, context: HookContext, row: Before) -> Result<()> {
        match row {
            Before::Insert { new } => {
                write(context, &format!("BI {}", show(new)))?;
                replace_null(new);
            }
            Before::Update { old, new } => {
                write(context, &format!("BU {} > {}", show(old), show(new)))?;
                replace_null(new);
                if new[A] == Val::Int(77) {
                    new[B] = old[A].clone();
                }
                if let (Val::Int(55), Val::Int(u)) = (&new[B], &new[U]) {
                    (new[B], new[U]) = (Val::Null, Val::Int(u + 1000));
                }
            }
            Before::Delete { old } => write(context, &format!("BD {}", show(old)))?,
        }
        Ok(())
    }

    fn after(&self, context: HookContext, row: After) -> Result<()> {
        assert_eq!(context.origin, Origin::Statement);
        let line = match row {
            After::Insert { new } | After::Replace { new, .. } => format!("AI {}", show(new)),
            After::Update { old, new, .. } => format!("AU {} > {}", show(old), show(new)),
            After::Delete { old } => format!("AD {}", show(old)),
        };
        write(context, &line)
    }
}

/// Statements, and under each what triggers of MySQL 9.7 write down, or its error.
const RECORDED: &str = include_str!("row_hooks.txt");

#[test]
fn hooks_are_called_in_the_order_of_mysqls_triggers() {
    let world = World::new("row_hooks");
    let mut s = world.session();
    ok(
        &mut s,
        "CREATE TABLE log (n INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(200))",
    );
    ok(
        &mut s,
        "CREATE TABLE hooked (id INT AUTO_INCREMENT PRIMARY KEY, a INT NOT NULL, b INT, u INT UNIQUE, v INT UNIQUE, \
         g INT AS (a * 10), CHECK (a < 100))",
    );
    ok(&mut s, "CREATE TABLE other (id INT PRIMARY KEY)");
    ok(&mut s, "INSERT INTO other VALUES (1), (2), (3), (4)");
    ok(
        &mut s,
        "CREATE TABLE hooked_child (id INT PRIMARY KEY, a INT NOT NULL, b INT, u INT, v INT DEFAULT 3, g INT AS (a + u), \
         KEY (u), FOREIGN KEY (b) REFERENCES other(id) ON DELETE SET NULL)",
    );
    ok(
        &mut s,
        "CREATE VIEW seen AS SELECT id, a, u FROM hooked WHERE a < 50 WITH CHECK OPTION",
    );
    for table in ["hooked", "hooked_child"] {
        testing::put(table, &[Origin::Statement], Arc::new(Triggers));
    }
    let mut shown = String::new();
    for sql in RECORDED.lines().filter(|line| !line.starts_with(' ')) {
        ok(&mut s, "DELETE FROM log");
        shown += &format!("{sql}\n");
        match run(&mut s, sql) {
            Ok(answer) if sql.starts_with("SELECT") => {
                for row in answer.lines {
                    shown += &format!("    {}\n", row.replace('|', " ").replace("NULL", "-"));
                }
            }
            Ok(_) => {}
            Err(error) => shown += &format!("    error {}\n", error.code),
        }
        for line in ok(&mut s, "SELECT what FROM log ORDER BY n") {
            shown += &format!("    {line}\n");
        }
    }
    assert_eq!(shown, RECORDED);
    // A file in the data directory would be refused.
    let file = world.dir.with_extension("file");
    std::fs::write(&file, "90\t\\N\n").unwrap();
    ok(&mut s, "DELETE FROM log");
    ok(
        &mut s,
        &format!("LOAD DATA INFILE '{}' INTO TABLE hooked (id, a)", file.display()),
    );
    std::fs::remove_file(&file).unwrap();
    let log = ok(&mut s, "SELECT what FROM log ORDER BY n");
    assert_eq!(log, ["BI 90 - - - - -", "AI 90 5 - - - 50"]);
}

/// Writes down what comes after, with its origin.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl RowHook for Recorder {
    fn acts_before(&self, _: RowEvent) -> bool {
        false
    }

    fn acts_on(&self, _: RowEvent) -> bool {
        false
    }

    fn before(&self, _: HookContext, _: Before) -> Result<()> {
        Ok(())
    }

    fn after(&self, context: HookContext, row: After) -> Result<()> {
        let line = match row {
            After::Insert { new } => format!("insert {}", show(new)),
            After::Update { old, new, written } => match written {
                true => format!("update {} > {}", show(old), show(new)),
                false => format!("leave {}", show(old)),
            },
            After::Replace { old, new, written } => match written {
                true => format!("replace {} > {}", show(old), show(new)),
                false => format!("leave {}", show(old)),
            },
            After::Delete { old } => format!("delete {}", show(old)),
        };
        let by = match context.origin {
            Origin::Statement => "",
            Origin::Cascade => " by a cascade",
        };
        self.0
            .lock()
            .unwrap()
            .push(format!("{}: {line}{by}", context.table.name));
        Ok(())
    }
}

#[test]
fn a_hook_that_records_hears_of_each_row_that_is_written() {
    let world = World::new("row_hooks_recorded");
    let mut s = world.session();
    const BOTH: &[Origin] = &[Origin::Statement, Origin::Cascade];
    let recorder = Arc::new(Recorder::default());
    for table in ["heard_p", "heard_c"] {
        testing::put(table, BOTH, recorder.clone());
    }
    ok(&mut s, "CREATE TABLE heard_p (id INT PRIMARY KEY, u INT UNIQUE)");
    ok(
        &mut s,
        "CREATE TABLE heard_c (id INT PRIMARY KEY, p INT, g INT AS (p + 1), \
         FOREIGN KEY (p) REFERENCES heard_p(id) ON DELETE SET NULL ON UPDATE CASCADE)",
    );
    ok(&mut s, "CREATE TABLE heard_r LIKE heard_p");
    testing::put("heard_r", BOTH, recorder.clone());
    let cases: &[(&str, &[&str])] = &[
        (
            "INSERT INTO heard_p VALUES (1, 1), (2, 2)",
            &["heard_p: insert 1 1", "heard_p: insert 2 2"],
        ),
        (
            "INSERT INTO heard_c (id, p) VALUES (1, 1)",
            &["heard_c: insert 1 1 2"],
        ),
        (
            "UPDATE heard_p SET id = 3 WHERE id = 1",
            &[
                "heard_c: update 1 1 2 > 1 3 4 by a cascade",
                "heard_p: update 1 1 > 3 1",
            ],
        ),
        ("UPDATE heard_p SET u = 1 WHERE id = 3", &["heard_p: leave 3 1"]),
        (
            "REPLACE INTO heard_p VALUES (3, 4)",
            // The row that comes has the key that its children refer to.
            &["heard_p: delete 3 1", "heard_p: insert 3 4"],
        ),
        ("REPLACE INTO heard_r VALUES (1, 1)", &["heard_r: insert 1 1"]),
        (
            "REPLACE INTO heard_r VALUES (2, 1)",
            &["heard_r: replace 1 1 > 2 1"],
        ),
        (
            "REPLACE INTO heard_r VALUES (2, 1)",
            &["heard_r: delete 2 1", "heard_r: insert 2 1"],
        ),
        (
            "INSERT INTO heard_r VALUES (2, 5) ON DUPLICATE KEY UPDATE u = VALUES(u)",
            &["heard_r: update 2 1 > 2 5"],
        ),
        (
            "INSERT INTO heard_r VALUES (2, 5) ON DUPLICATE KEY UPDATE u = VALUES(u)",
            &["heard_r: leave 2 5"],
        ),
        (
            "INSERT IGNORE INTO heard_r VALUES (2, 6), (6, 6)",
            &["heard_r: insert 6 6"],
        ),
        (
            "DELETE heard_p, heard_r FROM heard_p JOIN heard_r ON heard_p.id = heard_r.id",
            &["heard_p: delete 2 2", "heard_r: delete 2 5"],
        ),
        ("DELETE FROM heard_r", &["heard_r: delete 6 6"]),
        (
            "DELETE FROM heard_p",
            &[
                "heard_c: update 1 3 4 > 1 - - by a cascade",
                "heard_p: delete 3 4",
            ],
        ),
    ];
    for (sql, expected) in cases {
        ok(&mut s, sql);
        let heard = std::mem::take(&mut *recorder.0.lock().unwrap());
        assert_eq!(&heard, expected, "{sql}");
    }
}

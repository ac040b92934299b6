//! Statements inside running statements: functions that tests make of closures, and a procedure's host.

use super::{Session, Text, World, ok};
use crate::context::{SessionState, status};
use crate::error::{Result, SqlError, er};
use crate::parse::parse_shape;
use crate::plan::program::{Library, Locals, ProgramHost, StoredFunction, Unit, ValueUse, set_library};
use crate::types::{SqlMode, SqlType, TypeKind, Value};
use std::sync::Arc;

type Body = dyn Fn(&mut dyn ProgramHost, &[Value]) -> Result<Value> + Send + Sync;

struct Function {
    body: Box<Body>,
    returns: SqlType,
}

impl StoredFunction for Function {
    fn returns(&self) -> &SqlType {
        &self.returns
    }

    fn call(&self, host: &mut dyn ProgramHost, arguments: Vec<Value>) -> Result<Value> {
        (self.body)(host, &arguments)
    }
}

#[derive(Default)]
struct Functions(Vec<(&'static str, Arc<dyn StoredFunction>)>);

impl Functions {
    fn with(
        mut self,
        name: &'static str,
        body: impl Fn(&mut dyn ProgramHost, &[Value]) -> Result<Value> + Send + Sync + 'static,
    ) -> Functions {
        let function = Function {
            body: Box::new(body),
            returns: SqlType::new(TypeKind::BigInt),
        };
        self.0.push((name, Arc::new(function)));
        self
    }
}

impl Library for Functions {
    fn function(&self, _: &SessionState, _: &str, name: &str) -> Result<Option<Arc<dyn StoredFunction>>> {
        let mut all = self.0.iter();
        let found = all.find(|(known, _)| known.eq_ignore_ascii_case(name));
        Ok(found.map(|(_, function)| Arc::clone(function)))
    }
}

/// A unit whose variables are the placeholders of the text.
fn unit(sql: &str) -> Unit {
    let parsed = parse_shape(sql.as_bytes(), 0, SqlMode::DEFAULT, 0, &[]).unwrap();
    Unit::statement(parsed.statement)
}

fn locals<'a>(values: &'a [Value], types: &'a [SqlType]) -> Locals<'a> {
    Locals { values, types }
}

fn run(host: &mut dyn ProgramHost, unit: &Unit, values: &[Value]) -> Result<()> {
    let types = vec![SqlType::new(TypeKind::BigInt); values.len()];
    host.run(unit, locals(values, &types), &mut crate::context::Discard)
}

fn value(host: &mut dyn ProgramHost, unit: &Unit, values: &[Value]) -> Result<Value> {
    let types = vec![SqlType::new(TypeKind::BigInt); values.len()];
    host.evaluate(unit, locals(values, &types), ValueUse::Assigned)
}

/// A session with tables `t` (three rows), `log` and `u`, and functions.
fn session(world: &World, functions: Functions) -> Session {
    let mut s = world.root();
    for sql in [
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b INT NOT NULL DEFAULT 0, KEY (b))",
        "INSERT INTO t (a) VALUES (1), (2), (3)",
        "CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, a INT, UNIQUE (a))",
        "CREATE TABLE u (a INT)",
    ] {
        ok(&mut s, sql);
    }
    set_library(&mut s.state, Box::new(functions));
    s
}

/// `f(a)` writes a row and asks `g(a)`, which reads it by a query and asks `h(a)`, which changes it.
fn three_deep() -> Functions {
    let insert = unit("INSERT INTO log (a) VALUES (?)");
    let ask_g = unit("DO g(?)");
    let read = unit("SELECT a FROM log WHERE a = ?");
    let ask_h = unit("DO h(?) + (SELECT COUNT(*) FROM t WHERE a < 0)");
    let change = unit("UPDATE log SET a = a + 100 WHERE a = ?");
    let find = unit("DO (SELECT a FROM log WHERE a = ? + 100)");
    Functions::default()
        .with("f", move |host, args| {
            run(host, &insert, args)?;
            value(host, &ask_g, args)
        })
        .with("g", move |host, args| {
            let mut found = Vec::new();
            let types = [SqlType::new(TypeKind::BigInt)];
            host.query(&read, locals(args, &types), &mut |_, row| {
                found.extend_from_slice(row);
                Ok(true)
            })?;
            assert_eq!(found.len(), 1);
            value(host, &ask_h, &found)
        })
        .with("h", move |host, args| {
            run(host, &change, args)?;
            assert_eq!(host.state().row_count.get(), 1);
            value(host, &find, args)
        })
}

#[test]
fn functions_run_three_deep_in_every_statement() {
    let world = World::new("nested-deep");
    let mut s = session(&world, three_deep());
    assert_eq!(ok(&mut s, "SELECT f(5), f(6)"), ["105|106"]);
    assert_eq!(ok(&mut s, "SELECT f(a) FROM t ORDER BY a"), ["101", "102", "103"]);
    assert_eq!(
        ok(&mut s, "SELECT a FROM t WHERE f(a + 10) > 111 ORDER BY a"),
        ["2", "3"]
    );
    ok(&mut s, "DELETE FROM log");
    let updated = ok(&mut s, "UPDATE t SET b = f(a)");
    assert_eq!(updated, ["ok 3 Rows matched: 3  Changed: 3  Warnings: 0"]);
    assert_eq!(ok(&mut s, "SELECT b FROM t ORDER BY a"), ["101", "102", "103"]);
    ok(&mut s, "DELETE FROM log");
    ok(&mut s, "INSERT INTO u SELECT f(a) FROM t WHERE a < 3");
    ok(&mut s, "INSERT INTO u VALUES (f(7)), (f(8))");
    assert_eq!(
        ok(&mut s, "SELECT a FROM u ORDER BY a"),
        ["101", "102", "107", "108"]
    );
    ok(&mut s, "DELETE FROM u WHERE f(a + 900) > 1105");
    ok(&mut s, "UPDATE t SET b = 0 WHERE f(a + 2000) = 2101");
    assert_eq!(ok(&mut s, "SELECT a FROM t WHERE b = 0"), ["1"]);
    assert_eq!(ok(&mut s, "SELECT COUNT(*), SUM(f(a + 30)) FROM t"), ["3|396"]);
    assert_eq!(
        ok(&mut s, "SELECT a FROM log WHERE a < 100"),
        Vec::<String>::new()
    );
}

/// `f(a)` writes the row `a`, then rows `a + 10` and `a` again in one statement, which fails.
fn failing(caught: bool) -> Functions {
    let first = unit("INSERT INTO log (a) VALUES (?)");
    let twice = unit("INSERT INTO log (a) VALUES (? + 10), (?)");
    Functions::default().with("f", move |host, args| {
        run(host, &first, args)?;
        let both = [args[0].clone(), args[0].clone()];
        match run(host, &twice, &both) {
            Err(error) if caught && host.may_handle(&error) => {
                assert_eq!(error.code, er::DUP_ENTRY);
                let shown = host.state().warnings.to_vec();
                assert_eq!(shown.last().map(|warning| warning.code), Some(er::DUP_ENTRY));
                host.state().clear();
                Ok(args[0].clone())
            }
            done => done.map(|()| Value::Null),
        }
    })
}

#[test]
fn an_error_that_is_handled_undoes_the_inner_statement_alone() {
    let world = World::new("nested-handled");
    let mut s = session(&world, failing(true));
    ok(&mut s, "BEGIN");
    ok(&mut s, "UPDATE t SET b = f(a)");
    assert_eq!(ok(&mut s, "SHOW WARNINGS"), Vec::<String>::new());
    assert_eq!(ok(&mut s, "SELECT a FROM log ORDER BY a"), ["1", "2", "3"]);
    assert_eq!(ok(&mut s, "SELECT b FROM t ORDER BY a"), ["1", "2", "3"]);
    ok(&mut s, "ROLLBACK");
    assert_eq!(ok(&mut s, "SELECT COUNT(*) FROM log"), ["0"]);
}

#[test]
fn an_error_that_is_not_handled_undoes_the_outer_statement() {
    let world = World::new("nested-unhandled");
    let mut s = session(&world, failing(false));
    for begin in ["DO 0", "BEGIN"] {
        ok(&mut s, begin);
        for sql in [
            "UPDATE t SET b = f(a)",
            "SELECT f(1)",
            "DO f(1)",
            "INSERT INTO u SELECT f(a) FROM t",
        ] {
            let error = s.query(sql.as_bytes(), &mut Text::default()).unwrap_err();
            assert_eq!(error.code, er::DUP_ENTRY, "{sql}");
            // The error is listed once.
            let listed = ok(&mut s, "SHOW WARNINGS");
            assert_eq!(listed.len(), 1, "{listed:?}");
            assert_eq!(ok(&mut s, "SELECT COUNT(*) FROM log"), ["0"], "{sql}");
            assert_eq!(ok(&mut s, "SELECT COUNT(*) FROM u"), ["0"], "{sql}");
            assert_eq!(ok(&mut s, "SELECT DISTINCT b FROM t"), ["0"], "{sql}");
        }
        ok(&mut s, "COMMIT");
    }
}

#[test]
fn what_a_function_does_is_not_seen_in_the_counts_after_it() {
    let world = World::new("nested-counts");
    let mut s = session(&world, three_deep());
    ok(&mut s, "INSERT INTO log (a) VALUES (-1)");
    let before = ok(&mut s, "SELECT LAST_INSERT_ID()");
    ok(&mut s, "SELECT SQL_CALC_FOUND_ROWS f(a) FROM t LIMIT 1");
    assert_eq!(ok(&mut s, "SELECT FOUND_ROWS()"), ["3"]);
    ok(&mut s, "DELETE FROM log WHERE a > 0");
    ok(&mut s, "UPDATE t SET b = f(a) WHERE a < 3");
    assert_eq!(ok(&mut s, "SELECT ROW_COUNT()"), ["2"]);
    assert_eq!(ok(&mut s, "SELECT LAST_INSERT_ID()"), before);
}

#[test]
fn a_function_sends_nothing_and_ends_somewhere() {
    let world = World::new("nested-refused");
    let select = unit("SELECT 1");
    let again = unit("DO g()");
    let commit = unit("COMMIT");
    let functions = Functions::default()
        .with("f", move |host, _| run(host, &select, &[]).map(|()| Value::Null))
        .with("g", move |host, _| value(host, &again, &[]))
        .with("h", move |host, _| run(host, &commit, &[]).map(|()| Value::Null));
    let mut s = session(&world, functions);
    let mut fails = |sql: &str| s.query(sql.as_bytes(), &mut Text::default()).unwrap_err().code;
    assert_eq!(fails("SELECT f()"), er::SP_NO_RETSET);
    assert_eq!(fails("SELECT g()"), er::STACK_OVERRUN_NEED_MORE);
    assert_eq!(fails("SELECT h()"), er::COMMIT_NOT_ALLOWED_IN_SF_OR_TRG);
    assert_eq!(fails("SELECT nothing()"), er::SP_DOES_NOT_EXIST);
    assert_eq!(s.state.depth.get(), 0);
    assert_eq!(ok(&mut s, "SELECT 1"), ["1"]);
}

#[test]
fn a_read_only_transaction_has_functions_that_write_nothing() {
    let world = World::new("nested-read-only");
    let mut s = session(&world, three_deep());
    ok(&mut s, "START TRANSACTION READ ONLY");
    let error = s.query(b"SELECT f(1)", &mut Text::default()).unwrap_err();
    assert_eq!(error.code, er::CANT_EXECUTE_IN_READ_ONLY_TRANSACTION);
    ok(&mut s, "COMMIT");
    assert_eq!(ok(&mut s, "SELECT f(1)"), ["101"]);
}

#[test]
fn a_procedure_sends_several_results_and_commits_between_them() {
    let world = World::new("nested-procedure");
    let mut s = session(&world, three_deep());
    let (insert, select) = (unit("INSERT INTO u VALUES (?)"), unit("SELECT a FROM u"));
    let (begin, rollback) = (unit("BEGIN"), unit("ROLLBACK"));
    let (set, sum) = (unit("SET SESSION sort_buffer_size = 40000"), unit("DO ? + f(?)"));
    let mut out = Text::default();
    s.host(&mut out, |host, out| {
        assert!(!host.is_nested());
        run(host, &insert, &[Value::Int(1)])?;
        run(host, &begin, &[])?;
        run(host, &insert, &[Value::Int(2)])?;
        assert_eq!(host.state().row_count.get(), 1);
        host.run(&select, Locals::default(), out)?;
        run(host, &rollback, &[])?;
        host.run(&select, Locals::default(), out)?;
        run(host, &set, &[])?;
        assert_eq!(
            value(host, &sum, &[Value::Int(5), Value::Int(4)])?,
            Value::Int(109)
        );
        Ok(())
    })
    .unwrap();
    assert_eq!(out.lines, ["1", "2", "1"]);
    assert_eq!(
        out.status & status::MORE_RESULTS_EXISTS,
        status::MORE_RESULTS_EXISTS
    );
    assert!(!out.more);
    assert_eq!(ok(&mut s, "SELECT @@sort_buffer_size"), ["40000"]);
    assert_eq!(ok(&mut s, "SELECT a FROM log"), ["104"]);
}

#[test]
fn an_error_of_a_procedure_is_listed_once() {
    let world = World::new("nested-listed");
    let mut s = session(&world, Functions::default());
    let bad = unit("INSERT INTO t (a) VALUES (1)");
    let failed: Result<(), SqlError> = s.host(&mut Text::default(), |host, _| run(host, &bad, &[]));
    let error = failed.unwrap_err();
    assert_eq!(error.code, er::DUP_ENTRY);
    assert_eq!(s.state.warnings.count(), 0);
    assert_eq!(s.state.error_count.get(), 0);
}

//! A large table of expressions and what MySQL 9 makes of them: value, protocol type, warnings or error.
//!
//! `testdata/expressions.txt` has lines `expression => type 'value' ! warning, warning` or `expression => error number`;
//! the other tables are alike. They were recorded in a session with the time zone +00:00 and the timestamp 1700000000.123456.

mod aggregates;
mod assignments;
mod columns;
mod metadata;
mod nasty;

use super::cast::display;
use super::{BindCtx, Env, Expr, NoRow, NoSubqueries, Row, SessionInfo, VarScope, build};
use crate::bind::{Binder, PlainHooks};
use crate::scope::{DefaultOf, Scope, ScopeColumn, ScopeTable};
use std::cell::RefCell;
use std::collections::HashMap;
use tidemark_parse::{expression_in, parse_expression};
use tidemark_types::assign::assign;
use tidemark_types::error::{Result, SqlError};
use tidemark_types::meta::{type_byte, wire};
use tidemark_types::{Collation, SqlMode, SqlType, TimeZone, Value, Warnings};

#[derive(Default)]
struct TestSession {
    variables: RefCell<HashMap<String, Value>>,
}

impl SessionInfo for TestSession {
    fn user_variable(&self, name: &str) -> Option<Value> {
        self.variables.borrow().get(name).cloned()
    }
    fn set_user_variable(&self, name: &str, value: Value) -> Result<()> {
        self.variables.borrow_mut().insert(name.to_string(), value);
        Ok(())
    }
    fn system_variable(&self, _scope: VarScope, name: &str) -> Result<Value> {
        Err(SqlError::unknown_system_variable(name))
    }
    fn connection_id(&self) -> u64 {
        7
    }
    fn user(&self) -> String {
        "sbtest@127.0.0.1".into()
    }
    fn current_user(&self) -> String {
        "sbtest@%".into()
    }
    fn current_role(&self) -> String {
        "NONE".into()
    }
    fn database(&self) -> Option<String> {
        Some("sbtest".into())
    }
    fn version(&self) -> String {
        "9.7.4".into()
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn set_last_insert_id(&self, _id: u64) {}
    fn row_count(&self) -> i64 {
        -1
    }
    fn found_rows(&self) -> u64 {
        1
    }
    fn interrupted(&self) -> bool {
        false
    }
    fn get_named_lock(&self, _name: &str, _seconds: i64) -> Result<bool> {
        Ok(true)
    }
    fn release_named_lock(&self, _name: &str) -> bool {
        false
    }
    fn release_named_locks(&self) -> u64 {
        0
    }
    fn named_lock_holder(&self, _name: &str) -> Option<u64> {
        None
    }
}

fn shown(text: Option<&[u8]>) -> String {
    let Some(bytes) = text else { return "NULL".into() };
    match std::str::from_utf8(bytes) {
        Ok(s) if !s.chars().any(char::is_control) => format!("'{s}'"),
        _ => format!(
            "x'{}'",
            bytes.iter().map(|b| format!("{b:02X}")).collect::<String>()
        ),
    }
}

/// The protocol's type; the string types differ only in how long a text may get.
fn type_shown(ty: &SqlType) -> u8 {
    match type_byte(ty) {
        wire::BLOB | wire::STRING => wire::VAR_STRING,
        other => other,
    }
}

fn value_shown(value: Value, ty: &SqlType) -> String {
    let text = if value.is_null() {
        None
    } else {
        Some(display(value, ty).into_owned())
    };
    format!("{} {}", type_shown(ty), shown(text.as_deref()))
}

/// Runs something in an environment; adds the warnings to its result.
fn with_env(mode: SqlMode, f: impl FnOnce(&Env, &TestSession) -> Result<String>) -> String {
    let (session, warnings, zone) = (TestSession::default(), Warnings::default(), TimeZone::UTC);
    let mut env = Env::new(&session, &NoSubqueries, &warnings, &zone);
    env.now_micros = 1_700_000_000_123_456;
    env.sql_mode = mode;
    env.strict = mode.strict();
    match f(&env, &session) {
        Err(e) => format!("error {}", e.code),
        Ok(text) => {
            let codes: Vec<String> = warnings.to_vec().iter().map(|w| w.code.to_string()).collect();
            if codes.is_empty() {
                text
            } else {
                format!("{text} ! {}", codes.join(","))
            }
        }
    }
}

fn bind(expression: &str, scope: &Scope, session: &TestSession, mode: SqlMode) -> Result<Expr> {
    let parsed = expression_in(expression, mode)?;
    let ctx = BindCtx {
        sql_mode: mode,
        ..BindCtx::default()
    };
    let binder = Binder {
        ctx: &ctx,
        session,
        params: &[],
        clause: "field list",
    };
    binder.bind(&parsed, scope, &mut PlainHooks)
}

/// The evaluator's result, as the table writes it.
fn answer(expression: &str, scope: &Scope, row: &dyn Row) -> String {
    with_env(SqlMode::DEFAULT, |env, session| {
        let bound = bind(expression, scope, session, SqlMode::DEFAULT)?;
        let value = bound.eval_owned(&env.ctx_with(row))?;
        Ok(value_shown(value, &bound.ty))
    })
}

/// A type as a column definition writes it.
fn type_named(text: &str) -> SqlType {
    let sql = format!("CREATE TABLE t (c {text})");
    let parsed = tidemark_parse::parse(sql.as_bytes(), 0, SqlMode::DEFAULT).expect("a type");
    let tidemark_parse::ast::Statement::CreateTable(table) = parsed.statement else {
        panic!("{sql}")
    };
    crate::column_type("c", &table.columns[0].ty, Collation::DEFAULT)
        .expect("a type")
        .0
}

/// A table of the columns `name type`, for expressions to name.
fn scope_of(columns: &[(&str, SqlType)]) -> Scope<'static> {
    let columns = columns.iter().enumerate().map(|(slot, (name, ty))| ScopeColumn {
        name: name.to_string(),
        ty: ty.clone(),
        slot,
        hidden: false,
        merged: false,
        value: None,
        default: DefaultOf::Missing,
    });
    let mut scope = Scope::default();
    scope.tables.push(ScopeTable {
        schema: None,
        alias: "t".into(),
        columns: columns.collect(),
        readable: None,
    });
    scope
}

/// A value stored in a column and read back.
fn stored(expression: &str, ty: &SqlType, env: &Env, session: &TestSession) -> Result<Value> {
    let bound = bind(expression, &Scope::default(), session, env.sql_mode)?;
    let bound = build::assignable(bound, ty, "c", &BindCtx::default());
    let value = assign(bound.eval_owned(&env.ctx())?, ty, "c", env)?;
    let mut scratch = [0; 32];
    Ok(ty
        .load(ty.store(&value, env.time_zone, &mut scratch), env.time_zone)
        .into_owned())
}

/// Compares a table's results with ours.
fn check(table: &str, ours: impl Fn(&str) -> String) {
    let lines = table.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines {
        let (expression, expected) = line.rsplit_once(" => ").expect("a line of the table");
        count += 1;
        let got = ours(expression);
        if got != expected {
            wrong.push(format!("{expression}\n    want {expected}\n    got  {got}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn expressions_have_mysqls_answers() {
    let table = include_str!("../../testdata/expressions.txt");
    check(table, |expression| answer(expression, &Scope::default(), &NoRow));
}

//! A large table of expressions and what MySQL 9 answers to them: value, protocol type, warnings or error.
//!
//! `testdata/expressions.txt` has lines `expression => type 'value' ! warning, warning` or `expression => error number`.
//! The session that answered had the default `sql_mode`, the time zone +00:00 and the timestamp 1700000000.123456.

use super::cast::display;
use super::{BindCtx, Env, NoSubqueries, SessionInfo, VarScope, Warnings};
use crate::error::{Result, SqlError};
use crate::parse::parse_expression;
use crate::plan::bind::{Binder, PlainHooks};
use crate::plan::scope::Scope;
use crate::types::meta::{type_byte, wire};
use crate::types::{SqlMode, TimeZone, Value};
use std::cell::RefCell;
use std::collections::HashMap;

#[derive(Default)]
struct TestSession {
    variables: RefCell<HashMap<String, Value>>,
}

impl SessionInfo for TestSession {
    fn user_variable(&self, name: &str) -> Option<Value> {
        self.variables.borrow().get(name).cloned()
    }
    fn set_user_variable(&self, name: &str, value: Value) {
        self.variables.borrow_mut().insert(name.to_string(), value);
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

/// What the evaluator answers, as the table writes it.
fn answer(expression: &str, session: &TestSession) -> String {
    let warnings = Warnings::default();
    let zone = TimeZone::UTC;
    let mut env = Env::new(session, &NoSubqueries, &warnings, &zone);
    env.now_micros = 1_700_000_000_123_456;
    let ctx = BindCtx::default();
    let outcome = (|| {
        let parsed = parse_expression(expression, SqlMode::DEFAULT)?;
        let binder = Binder {
            ctx: &ctx,
            session,
            params: &[],
            clause: "field list",
        };
        let bound = binder.bind(&parsed, &Scope::default(), &mut PlainHooks)?;
        let value = bound.eval_owned(&env.ctx())?;
        // The string types differ only in how long a text may get.
        let ty = match type_byte(&bound.ty) {
            wire::BLOB | wire::STRING => wire::VAR_STRING,
            other => other,
        };
        let text = if value.is_null() {
            None
        } else {
            Some(display(value, &bound.ty).into_owned())
        };
        Ok::<_, SqlError>(format!("{ty} {}", shown(text.as_deref())))
    })();
    match outcome {
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

#[test]
fn expressions_have_mysqls_answers() {
    let table = include_str!("../../testdata/expressions.txt");
    let session = TestSession::default();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in table.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let (expression, expected) = line.rsplit_once(" => ").expect("a line of the table");
        count += 1;
        let got = answer(expression, &session);
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

//! What is known of system variables beside their values: `performance_schema.variables_info` (where a value comes from) and
//! `variables_metadata` (what values there may be); and the values of the session that asks, as `variables_by_thread` and
//! `user_variables_by_thread` have them. Other sessions' are theirs alone: they change them without a lock.

use super::rows::{session_variables, string};
use crate::context::SessionState;
use crate::error::Result;
use crate::types::Value;
use crate::variables::{DEFS, Def, Kind, Role, Setting, VariableScope, persist};
use std::collections::HashMap;

type Made = Result<Vec<Vec<Value>>>;

/// Least and largest value, as text; of what has none, `none`.
fn bounds(kind: Kind, none: &str) -> [Value; 2] {
    let [least, most] = match kind {
        Kind::Uint { min, max } => [min.to_string(), max.to_string()],
        Kind::Int { min, max } => [min.to_string(), max.to_string()],
        Kind::Float { min, max } => [min.to_string(), max.to_string()],
        _ => [none.to_owned(), none.to_owned()],
    };
    [string(least), string(most)]
}

fn data_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "Boolean",
        Kind::Uint { .. } | Kind::Int { .. } => "Integer",
        Kind::Float { .. } => "Numeric",
        Kind::Enum(_) => "Enumeration",
        Kind::Flags(..) | Kind::Switches(_) | Kind::SqlMode => "Set",
        _ => "String",
    }
}

fn scope(def: &Def) -> &'static str {
    match def.scope {
        VariableScope::Global => "GLOBAL",
        VariableScope::Session => "SESSION_ONLY",
        VariableScope::Both => "SESSION",
    }
}

/// Sorted by name, as MySQL's are.
fn sorted() -> Vec<(usize, &'static Def)> {
    let mut defs: Vec<_> = DEFS.iter().enumerate().collect();
    defs.sort_unstable_by_key(|(_, def)| def.name);
    defs
}

/// The account and the time of a change are not kept: a value that is neither what was given at the start, nor persisted, nor the default
/// has been set while the server runs.
pub fn info(state: &SessionState) -> Made {
    let database = &state.database;
    let kept: HashMap<String, String> = persist::kept(database.engine())?.into_iter().collect();
    let row = |(at, def): (usize, &'static Def)| {
        let now = database.globals().get(at);
        let source = if database.given(at) == Some(&now) {
            "COMMAND_LINE"
        } else if kept.get(def.name).is_some_and(|kept| *kept == now.to_string()) {
            "PERSISTED"
        } else if def.role == Role::Fact
            || !def.dynamic
            || Setting::parse(def, def.default).as_ref() == Ok(&now)
        {
            "COMPILED"
        } else {
            "DYNAMIC"
        };
        let mut row = vec![string(def.name), string(source), string("")];
        row.extend(bounds(def.kind, "0"));
        row.extend([Value::Null, Value::Null, Value::Null]);
        row
    };
    Ok(sorted().into_iter().map(row).collect())
}

pub fn metadata(_: &SessionState) -> Made {
    let row = |(_, def): (usize, &'static Def)| {
        let mut row = vec![string(def.name), string(scope(def)), string(data_type(def.kind))];
        row.extend(bounds(def.kind, ""));
        row.push(string(
            def.unused()
                .map_or(String::new(), |why| format!("Has no effect: {why}")),
        ));
        row
    };
    Ok(sorted().into_iter().map(row).collect())
}

fn of_this_session(state: &SessionState, rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let with_thread = |mut row: Vec<Value>| {
        row.insert(0, Value::UInt(state.info.connection_id));
        row
    };
    rows.into_iter().map(with_thread).collect()
}

pub fn by_thread(state: &SessionState) -> Made {
    Ok(of_this_session(state, session_variables(state)?))
}

pub fn user_by_thread(state: &SessionState) -> Made {
    let variables = state.user_variables.borrow();
    let row = |(name, value): (&str, &Value)| {
        let value = match value {
            Value::Null => Value::Null,
            value => Value::Str(value.to_text().into_owned().into()),
        };
        vec![string(name), value]
    };
    Ok(of_this_session(
        state,
        variables.all().into_iter().map(row).collect(),
    ))
}

/// What `sys` goes by, of what MySQL lists: how long a statement may be in its views. It is what it is at the start of MySQL.
pub fn sys_config(_: &SessionState) -> Made {
    let row = [
        string("statement_truncate_len"),
        string("64"),
        Value::Null,
        Value::Null,
    ];
    Ok(vec![row.to_vec()])
}

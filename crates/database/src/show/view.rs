//! SHOW CREATE VIEW, and what `information_schema` tells of views.

use super::string;
use crate::accounts::{Privileges, table_denied};
use crate::context::SessionState;
use crate::context::answer::{ResultRows, text};
use crate::dictionary::{TableDef, ViewDef};
use crate::error::{Result, SqlError};
use crate::parse::ast::{CheckOption, ObjectName};
use crate::parse::print::identifier;
use crate::parse::view_text::{self, ViewText};
use crate::types::Value;
use std::fmt::Write;

/// SHOW CREATE VIEW.
pub fn create_view(state: &SessionState, name: &ObjectName) -> Result<ResultRows> {
    let (schema, written) = state.resolve(name)?;
    let rights = state.rights();
    let denied = |command| table_denied(command, &state.info.user, &state.info.host, written);
    if !rights.allow(Privileges::SELECT, schema, written) {
        return Err(denied("SELECT"));
    }
    let hidden = state.temporary.hide();
    let table = state.table(name)?;
    drop(hidden);
    match &table.view {
        Some(_) if !rights.allow(Privileges::SHOW_VIEW, schema, written) => Err(denied("SHOW VIEW")),
        Some(view) => Ok(rows(state, &table, view)),
        None => Err(SqlError::wrong_object(schema, written, "VIEW")),
    }
}

/// The result of SHOW CREATE VIEW, and of SHOW CREATE TABLE of a view.
pub fn rows(state: &SessionState, table: &TableDef, view: &ViewDef) -> ResultRows {
    let mut rows = ResultRows::new(&[
        ("View", text(64)),
        ("Create View", text(1024)),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
    ]);
    rows.push(vec![
        string(&table.name),
        string(statement(state, table, view)),
        string(view.client.charset().name()),
        string(view.collation.name()),
    ]);
    if !view.valid {
        state
            .warnings
            .warn(SqlError::view_invalid(&table.schema, &table.name));
    }
    rows
}

/// Names are short where all of them are in the current database.
fn statement(state: &SessionState, table: &TableDef, view: &ViewDef) -> String {
    let is_current = |schema: &str| state.schema.as_deref() == Some(schema);
    let named = match is_current(&table.schema) {
        true => identifier(&table.name),
        false => format!("{}.{}", identifier(&table.schema), identifier(&table.name)),
    };
    let short = is_current(&table.schema) && view.tables.iter().all(|(schema, _)| *schema == table.schema);
    let mut out = format!(
        "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {} VIEW {named}",
        view.algorithm.as_sql(),
        identifier(&view.definer.0),
        identifier(&view.definer.1),
        security(view),
    );
    if !view.names.is_empty() {
        let names: Vec<String> = view.names.iter().map(|name| identifier(name)).collect();
        let _ = write!(out, " ({})", names.join(","));
    }
    let style = if short { ViewText::Short } else { ViewText::Whole };
    let _ = write!(out, " AS {}", printed(view, style));
    if view.check != CheckOption::None {
        let _ = write!(out, " WITH {} CHECK OPTION", view.check.as_sql());
    }
    out
}

/// The view's query in another form than it is kept in.
fn printed(view: &ViewDef, style: ViewText) -> String {
    match crate::parse::parse_query(&view.text) {
        Ok(query) => view_text::query(&query, style),
        Err(_) => view.text.clone(),
    }
}

fn security(view: &ViewDef) -> &'static str {
    if view.invoker { "INVOKER" } else { "DEFINER" }
}

/// Error 1356 for a view whose query can no longer be planned.
pub fn valid_view(table: &TableDef) -> Result<()> {
    match &table.view {
        Some(view) if !view.valid => Err(SqlError::view_invalid(&table.schema, &table.name)),
        _ => Ok(()),
    }
}

/// A row of `information_schema.VIEWS`. Its query is for accounts that may see the view's definition.
pub fn listed(state: &SessionState, table: &TableDef, view: &ViewDef) -> Vec<Value> {
    let own = &state.info.account;
    let both = Privileges::SELECT.union(Privileges::SHOW_VIEW);
    let shown = state.rights().allow(both, &table.schema, &table.name)
        || (view.definer.0 == own.user && view.definer.1.eq_ignore_ascii_case(&own.host));
    let query = match shown {
        true => printed(view, ViewText::Listed),
        false => String::new(),
    };
    vec![
        string("def"),
        string(&table.schema),
        string(&table.name),
        string(query),
        string(view.check.as_sql()),
        string(if view.updatable { "YES" } else { "NO" }),
        string(format!("{}@{}", view.definer.0, view.definer.1)),
        string(security(view)),
        string(view.client.charset().name()),
        string(view.collation.name()),
    ]
}

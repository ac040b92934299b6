//! Tables that are not stored: those of `information_schema`, `performance_schema`, `mysql` and `sys`.
//!
//! Each is a definition like any other table's, so that the planner treats it as one, and a function that makes all its
//! rows for a session. What an account may not see is not among them.

mod accounts;
mod define;
mod locks;
mod metadata_locks;
mod rows;
mod tables;

use crate::dictionary::TableDef;
use crate::error::Result;
use crate::session::SessionState;
use crate::types::Value;
use std::sync::Arc;

/// The definition of a virtual table; names compare without case.
pub fn table(schema: &str, name: &str) -> Option<Arc<TableDef>> {
    define::all()
        .iter()
        .find(|table| table.def.schema == schema && table.def.name.eq_ignore_ascii_case(name))
        .map(|table| Arc::clone(&table.def))
}

/// The virtual tables of a database.
pub fn tables(schema: &str) -> Vec<Arc<TableDef>> {
    define::all()
        .iter()
        .filter(|table| table.def.schema == schema)
        .map(|table| Arc::clone(&table.def))
        .collect()
}

/// All rows of a virtual table, columns in the definition's order.
pub fn rows(table: &TableDef, state: &SessionState) -> Result<Vec<Vec<Value>>> {
    let found = define::all().iter().find(|virtual_table| {
        virtual_table.def.schema == table.schema && virtual_table.def.name == table.name
    });
    match found {
        Some(virtual_table) => (virtual_table.rows)(state),
        None => Ok(Vec::new()),
    }
}

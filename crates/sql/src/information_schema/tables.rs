//! The virtual tables' columns, and where their rows come from.

use crate::error::Result;
use crate::session::SessionState;
use crate::types::Value;

type Rows = fn(&SessionState) -> Result<Vec<Vec<Value>>>;

fn none(_: &SessionState) -> Result<Vec<Vec<Value>>> {
    Ok(Vec::new())
}

const INFORMATION: &str = "information_schema";

/// Schema, name, columns, rows.
pub const LIST: &[(&str, &str, &str, Rows)] = &[(
    INFORMATION,
    "VIEWS",
    "TABLE_CATALOG 64, TABLE_SCHEMA 64, TABLE_NAME 64",
    none,
)];

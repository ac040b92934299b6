//! The tables that a session has open by HANDLER, and how far each has been read.

use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use std::sync::Arc;
use tidemark_engine::IndexNo;

/// How many tables a session may have open.
const OPEN_MAX: usize = 1024;

/// A table that is open.
#[derive(Clone, Debug)]
pub struct OpenTable {
    /// The name that it goes by, which compares without case.
    pub name: String,
    /// What it was when it was opened.
    pub table: Arc<TableDef>,
    /// Where it has been read to.
    pub place: Place,
}

/// Where a table has been read to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// It has not been read.
    #[default]
    Start,
    /// The row of this key, of this index; `None`: in the table's own order.
    Row(Option<IndexNo>, Vec<u8>),
    /// Past the last row of the index, or, with true, before the first.
    End(Option<IndexNo>, bool),
}

/// A session's open tables.
#[derive(Debug, Default)]
pub struct Handlers(Vec<OpenTable>);

impl Handlers {
    /// Opens a table. Error 1066 if the name is taken.
    pub fn open(&mut self, name: &str, table: Arc<TableDef>) -> Result<()> {
        if self.position(name).is_some() {
            return Err(SqlError::not_unique_table(name));
        }
        if self.0.len() >= OPEN_MAX {
            return Err(SqlError::unknown(format!(
                "A session may have no more than {OPEN_MAX} tables open by HANDLER"
            )));
        }
        self.0.push(OpenTable {
            name: name.to_owned(),
            table,
            place: Place::Start,
        });
        Ok(())
    }

    /// The table of this name. Error 1109 if there is none.
    pub fn find(&self, name: &str) -> Result<&OpenTable> {
        let at = self.position(name).ok_or_else(|| unknown(name))?;
        Ok(&self.0[at])
    }

    /// The table of this name has been read to here.
    pub fn move_to(&mut self, name: &str, place: Place) {
        if let Some(at) = self.position(name) {
            self.0[at].place = place;
        }
    }

    /// Closes a table. Error 1109 if there is none of this name.
    pub fn close(&mut self, name: &str) -> Result<()> {
        let at = self.position(name).ok_or_else(|| unknown(name))?;
        self.0.remove(at);
        Ok(())
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.0
            .iter()
            .position(|open| open.name.eq_ignore_ascii_case(name))
    }
}

/// Error 1109.
fn unknown(name: &str) -> SqlError {
    SqlError::new(er::UNKNOWN_TABLE, format!("Unknown table '{name}' in HANDLER"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_not_open_is_unknown() {
        let mut handlers = Handlers::default();
        assert_eq!(handlers.find("t").unwrap_err().code, 1109);
        assert_eq!(
            handlers.close("t").unwrap_err().message,
            "Unknown table 't' in HANDLER"
        );
        handlers.move_to("t", Place::End(None, false));
    }
}

//! Cursors. OPEN reads all rows, so that what is changed afterwards is not seen: a cursor is asensitive, as MySQL's are.

use super::frame::Frame;
use crate::error::memory::check_memory;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::Slot;
use crate::plan::program::ProgramHost;
use crate::types::Value;

/// The rows that are left of an open cursor.
pub struct OpenCursor {
    rows: std::vec::IntoIter<Vec<Value>>,
    /// `None`: there are no rows, and the text does not tell.
    columns: Option<usize>,
}

impl Frame<'_> {
    /// OPEN. Error 1325 if it is open.
    pub fn open(&mut self, cursor: usize, host: &mut dyn ProgramHost) -> Result<()> {
        if self.cursors[cursor].is_some() {
            return Err(SqlError::new(
                er::SP_CURSOR_ALREADY_OPEN,
                "Cursor is already open",
            ));
        }
        let code = &self.code.cursors[cursor];
        let (mut rows, mut columns) = (Vec::new(), code.columns);
        let row_count = host.state().row_count.get();
        host.query(&code.unit, self.locals(), &mut |types, row| {
            columns = Some(types.len());
            rows.push(row.to_vec());
            check_memory()?;
            Ok(true)
        })?;
        host.state().row_count.set(row_count);
        self.cursors[cursor] = Some(OpenCursor {
            columns,
            rows: rows.into_iter(),
        });
        Ok(())
    }

    /// FETCH. Errors 1326 if it is not open, 1328 for another number of variables, 1329 if there is no row.
    pub fn fetch(&mut self, cursor: usize, into: &[Slot], host: &mut dyn ProgramHost) -> Result<()> {
        let open = self.cursors[cursor].as_mut().ok_or_else(not_open)?;
        if open.columns.is_some_and(|columns| columns != into.len()) {
            return Err(SqlError::new(
                er::SP_WRONG_NO_OF_FETCH_ARGS,
                "Incorrect number of FETCH variables",
            ));
        }
        let row = open.rows.next().ok_or_else(no_data)?;
        for (slot, value) in into.iter().zip(row) {
            self.assign(*slot, value, host.state())?;
        }
        Ok(())
    }

    /// CLOSE. Error 1326 if it is not open.
    pub fn close(&mut self, cursor: usize) -> Result<()> {
        self.cursors[cursor].take().map(drop).ok_or_else(not_open)
    }
}

fn not_open() -> SqlError {
    SqlError::new(er::SP_CURSOR_NOT_OPEN, "Cursor is not open")
}

/// Error 1329, or the warning of a SELECT … INTO without rows.
pub fn no_data() -> SqlError {
    SqlError::new(
        er::SP_FETCH_NO_DATA,
        "No data - zero rows fetched, selected, or processed",
    )
}

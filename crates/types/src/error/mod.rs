//! Errors as a MySQL client sees them: a number, an SQLSTATE and a text.
//!
//! Applications match on the numbers and sometimes on the texts, so both are MySQL's. Every error that a client
//! can see is made here, by a constructor named after what happened ([`texts`]); the rest of the crate never spells a
//! number. [`numbers`] alone knows which SQLSTATE belongs to which number. [`depth`]: how deep a statement may nest;
//! [`memory`]: how much it may take; [`interrupt`]: whether it is to end; [`views`]: errors about views.

pub mod depth;
pub mod interrupt;
pub mod memory;
mod names;
mod numbers;
pub mod programs;
mod texts;
mod views;

pub use numbers::{er, sqlstate_of};

use std::fmt;

/// An error for the client: MySQL's number, its SQLSTATE and the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// MySQL's error number.
    pub code: u16,
    /// Five characters, as ODBC and the SQL standard have them.
    pub sqlstate: [u8; 5],
    /// MySQL's text.
    pub message: String,
}

/// The result of nearly everything here.
pub type Result<T, E = SqlError> = std::result::Result<T, E>;

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = std::str::from_utf8(&self.sqlstate).unwrap_or("HY000");
        write!(f, "ERROR {} ({state}): {}", self.code, self.message)
    }
}

impl std::error::Error for SqlError {}

impl SqlError {
    /// An error of this number; the SQLSTATE goes with that.
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        SqlError {
            code,
            sqlstate: sqlstate_of(code),
            message: message.into(),
        }
    }
}

/// What the engine says, in MySQL's words. A duplicate key is named by the caller, who knows the index; an error that
/// came out of a callback comes back as it was.
impl From<tidemark_engine::Error> for SqlError {
    fn from(error: tidemark_engine::Error) -> SqlError {
        use tidemark_engine::Error;
        match error {
            Error::Callback(inner) => match inner.downcast::<SqlError>() {
                Ok(error) => *error,
                Err(other) => SqlError::unknown(other.to_string()),
            },
            Error::DuplicateKey { .. } => SqlError::new(er::DUP_ENTRY, "Duplicate entry"),
            Error::Deadlock => SqlError::deadlock(),
            Error::LockTableFull => SqlError::lock_table_full(),
            Error::LockWaitTimeout => SqlError::lock_wait_timeout(),
            Error::LockNoWait => SqlError::lock_nowait(),
            Error::Interrupted => SqlError::interrupted(),
            Error::RecordChanged => SqlError::record_changed(""),
            Error::HistoryGone => SqlError::unknown(
                "AS OF names a moment that is not within the history that is kept (innodb_undo_retention)",
            ),
            Error::ReadOnly => SqlError::read_only_transaction(),
            Error::DiskFull => SqlError::new(er::DISK_FULL, "The disk is full"),
            Error::SpoolFull { max_bytes } => SqlError::new(
                er::CAPACITY_EXCEEDED,
                format!(
                    "Capacity of {max_bytes} bytes for 'tidemark_max_spill_size' exceeded. The statement puts more rows \
                     aside than it may."
                ),
            ),
            Error::Reserved { bytes } => SqlError::new(
                er::CAPACITY_EXCEEDED,
                format!(
                    "Capacity of the disk exceeded: its last {bytes} bytes are kept for the log, the data and old row versions. The \
                     statement puts more rows aside than there is room for; 'tidemark_max_spill_size' bounds what one may have."
                ),
            ),
            Error::RowTooLarge { max_bytes, .. } => SqlError::new(
                er::TOO_BIG_ROWSIZE,
                format!(
                    "Row size too large (> {max_bytes}). Changing some columns to TEXT or BLOB may help. In current row \
                     format, BLOB prefix of 0 bytes is stored inline."
                ),
            ),
            Error::DefinitionChanged | Error::TableGone | Error::NoSuchTable => SqlError::new(
                er::TABLE_DEF_CHANGED,
                "Table definition has changed, please retry transaction",
            ),
            Error::AutoIncrementExhausted => SqlError::new(
                er::AUTOINC_READ_FAILED,
                "Failed to read auto-increment value from storage engine",
            ),
            Error::DefinitionTooLong { .. } => SqlError::not_supported(error.to_string()),
            Error::Unsupported(what) => SqlError::not_supported(what),
            Error::Stopped(_) => SqlError::new(er::SERVER_SHUTDOWN, "Server shutdown in progress"),
            other => SqlError::new(er::GET_ERRNO, format!("Got error from storage engine: {other}")),
        }
    }
}

/// So that an engine callback can end a scan with an SQL error by `?`.
impl From<SqlError> for tidemark_engine::Error {
    fn from(error: SqlError) -> Self {
        tidemark_engine::Error::callback(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_carry_their_state_and_text() {
        let e = SqlError::duplicate_entry("1-a", "t.PRIMARY");
        assert_eq!((e.code, &e.sqlstate), (1062, b"23000"));
        assert_eq!(
            e.to_string(),
            "ERROR 1062 (23000): Duplicate entry '1-a' for key 't.PRIMARY'"
        );
        assert_eq!(SqlError::deadlock().sqlstate, *b"40001");
        assert_eq!(sqlstate_of(9999), *b"HY000");
    }
}

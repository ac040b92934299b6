//! Where results go. The executor writes each value straight into the connection's output buffer through this trait;
//! whether it becomes text or binary protocol is the implementor's affair.
//!
//! Nothing between `begin_row` and `end_row` may block: rows are written while a leaf of the tree is latched. The
//! executor asks [`ResultSink::is_full`] between rows and calls [`ResultSink::flush`] only where it holds no latch.

use super::session_track::SessionChange;
use crate::error::{Result, SqlError};
use crate::types::{Charset, ColumnMeta, Date, DateTime, Time};

/// The result of a statement without rows: an OK packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OkInfo {
    /// Rows changed; with CLIENT_FOUND_ROWS, rows that an UPDATE found.
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value that the statement generated; 0 for none.
    pub last_insert_id: u64,
    /// The protocol's status flags, see [`status`].
    pub status: u16,
    /// How many warnings SHOW WARNINGS would list.
    pub warnings: u16,
    /// The human-readable part, for example `Rows matched: 1  Changed: 1  Warnings: 0`; often empty.
    pub info: String,
    /// What has changed in the session, for clients that ask for it (CLIENT_SESSION_TRACK).
    pub changes: Vec<SessionChange>,
}

/// The status flags of OK and EOF packets.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANS: u16 = 0x0001;
    /// `autocommit` is on.
    pub const AUTOCOMMIT: u16 = 0x0002;
    /// Another result of the same packet follows.
    pub const MORE_RESULTS_EXISTS: u16 = 0x0008;
    /// The plan has read a table as a whole, not by an index.
    pub const NO_INDEX_USED: u16 = 0x0020;
    /// The rows are held by a cursor; COM_STMT_FETCH gets them.
    pub const CURSOR_EXISTS: u16 = 0x0040;
    /// The cursor has no more rows.
    pub const LAST_ROW_SENT: u16 = 0x0080;
    /// DROP DATABASE has succeeded.
    pub const DB_DROPPED: u16 = 0x0100;
    /// The SQL mode NO_BACKSLASH_ESCAPES is on: the client must escape quotes by doubling them.
    pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
    /// The result is the OUT and INOUT parameters of a procedure.
    pub const PS_OUT_PARAMS: u16 = 0x1000;
    /// The open transaction is READ ONLY.
    pub const IN_TRANS_READONLY: u16 = 0x2000;
    /// The packet says what has changed in the session.
    pub const SESSION_STATE_CHANGED: u16 = 0x4000;
}

/// Takes the result of a statement: result sets value by value, or an OK.
pub trait ResultSink {
    /// Begins a result set. The columns' types say how each value of a row is encoded.
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()>;

    /// Names are sent in this character set from now on.
    fn texts_in(&mut self, charset: Option<Charset>) {
        let _ = charset;
    }

    /// Says whether each result from now on is followed by another of the same command: the sink adds
    /// [`status::MORE_RESULTS_EXISTS`] to their status then. Returns what was said before, which is false at first.
    fn more_follows(&mut self, more: bool) -> bool {
        let _ = more;
        false
    }

    /// Begins a row; as many values as there are columns follow, in their order.
    fn begin_row(&mut self);
    /// NULL.
    fn null(&mut self);
    /// A signed integer.
    fn int(&mut self, value: i64);
    /// An unsigned integer.
    fn uint(&mut self, value: u64);
    /// A single-precision number.
    fn float(&mut self, value: f32);
    /// A double-precision number.
    fn double(&mut self, value: f64);
    /// An exact number as it is shown, for example `-1.50`.
    fn decimal(&mut self, digits: &str);
    /// Text and blobs, already in the result's character set.
    fn bytes(&mut self, value: &[u8]);
    /// A date; years up to 9999, parts may be zero.
    fn date(&mut self, value: Date);
    /// A date and time of day, with the precision it carries.
    fn datetime(&mut self, value: DateTime);
    /// A TIME: hours may pass 24, and be negative.
    fn time(&mut self, value: Time);
    /// Ends the row in memory; never blocks. An error (a row larger than `max_allowed_packet`) ends the statement.
    fn end_row(&mut self) -> Result<()>;

    /// Enough is buffered that the executor should let go of its latches and call [`ResultSink::flush`].
    fn is_full(&self) -> bool;
    /// Sends what is buffered. May block on the client.
    fn flush(&mut self) -> Result<()>;

    /// Asks the client for a file, which [`ResultSink::file_part`] then gets. Error 3948 where there is no client to be asked.
    fn ask_for_file(&mut self, _path: &str) -> Result<()> {
        Err(SqlError::local_files_disabled())
    }
    /// The next part of the file that was asked for, in place of what `part` holds; false at its end. After an error the file has
    /// to be read to its end, lest the client's next command be taken for it.
    fn file_part(&mut self, _part: &mut Vec<u8>) -> Result<bool> {
        Ok(false)
    }

    /// Ends a result set. `changes` is as in [`OkInfo`].
    fn end_rows(&mut self, warnings: u16, status: u16, changes: &[SessionChange]) -> Result<()>;
    /// Whether a client hears of it. What has changed in the session is told to no other.
    fn is_heard(&self) -> bool {
        true
    }
    /// Sends the OK of a statement that has no rows.
    fn ok(&mut self, info: &OkInfo) -> Result<()>;
}

/// Forgets what it is given: for statements whose results nothing looks at.
pub struct Discard;

impl ResultSink for Discard {
    fn is_heard(&self) -> bool {
        false
    }
    fn columns(&mut self, _: &[ColumnMeta]) -> Result<()> {
        Ok(())
    }
    fn begin_row(&mut self) {}
    fn null(&mut self) {}
    fn int(&mut self, _: i64) {}
    fn uint(&mut self, _: u64) {}
    fn float(&mut self, _: f32) {}
    fn double(&mut self, _: f64) {}
    fn decimal(&mut self, _: &str) {}
    fn bytes(&mut self, _: &[u8]) {}
    fn date(&mut self, _: Date) {}
    fn datetime(&mut self, _: DateTime) {}
    fn time(&mut self, _: Time) {}
    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }
    fn is_full(&self) -> bool {
        false
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
    fn end_rows(&mut self, _: u16, _: u16, _: &[SessionChange]) -> Result<()> {
        Ok(())
    }
    fn ok(&mut self, _: &OkInfo) -> Result<()> {
        Ok(())
    }
}

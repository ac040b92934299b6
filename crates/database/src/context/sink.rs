//! Where results go. The executor writes each value straight into the connection's output buffer through this trait;
//! whether it becomes text or binary protocol is the implementor's affair.
//!
//! Nothing between `begin_row` and `end_row` may block: rows are written while a leaf of the tree is latched. The
//! executor asks [`ResultSink::is_full`] between rows and calls [`ResultSink::flush`] only where it holds no latch.

use crate::error::Result;
use crate::types::{ColumnMeta, Date, DateTime, Time};

/// What a statement without rows answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OkInfo {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    /// The protocol's status flags, see [`status`].
    pub status: u16,
    pub warnings: u16,
    /// The human-readable part, for example `Rows matched: 1  Changed: 1  Warnings: 0`; often empty.
    pub info: String,
}

/// The status flags of OK and EOF packets.
pub mod status {
    pub const IN_TRANS: u16 = 0x0001;
    pub const AUTOCOMMIT: u16 = 0x0002;
    pub const MORE_RESULTS_EXISTS: u16 = 0x0008;
    pub const NO_GOOD_INDEX_USED: u16 = 0x0010;
    pub const NO_INDEX_USED: u16 = 0x0020;
    pub const CURSOR_EXISTS: u16 = 0x0040;
    pub const LAST_ROW_SENT: u16 = 0x0080;
    pub const DB_DROPPED: u16 = 0x0100;
    pub const NO_BACKSLASH_ESCAPES: u16 = 0x0200;
    pub const METADATA_CHANGED: u16 = 0x0400;
    pub const IN_TRANS_READONLY: u16 = 0x2000;
}

pub trait ResultSink {
    /// Begins a result set. The columns' types say how each value of a row is encoded.
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()>;

    fn begin_row(&mut self);
    fn null(&mut self);
    fn int(&mut self, value: i64);
    fn uint(&mut self, value: u64);
    fn float(&mut self, value: f32);
    fn double(&mut self, value: f64);
    fn decimal(&mut self, digits: &str);
    /// Text and blobs, already in the result's character set.
    fn bytes(&mut self, value: &[u8]);
    fn date(&mut self, value: Date);
    fn datetime(&mut self, value: DateTime);
    fn time(&mut self, value: Time);
    /// Ends the row in memory; never blocks. An error (a row larger than `max_allowed_packet`) ends the statement.
    fn end_row(&mut self) -> Result<()>;

    /// Enough is buffered that the executor should let go of its latches and call [`ResultSink::flush`].
    fn is_full(&self) -> bool;
    /// Sends what is buffered. May block on the client.
    fn flush(&mut self) -> Result<()>;

    /// Ends a result set.
    fn end_rows(&mut self, warnings: u16, status: u16) -> Result<()>;
    /// Answers a statement that has no rows.
    fn ok(&mut self, info: &OkInfo) -> Result<()>;
}

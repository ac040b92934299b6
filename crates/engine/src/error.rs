//! Everything that can go wrong in the engine, in the terms of its caller. An error ends one call, never the process,
//! except a failed sync of the log, after which nothing in memory can be trusted.

use crate::ids::PageId;
use std::{fmt, io};

/// What most of the engine returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The disk failed.
    Io(io::Error),
    /// No room left for a page or for the log.
    DiskFull,
    /// The spools of one owner would take more than they may.
    SpoolFull {
        /// What they may take.
        max_bytes: u64,
    },
    /// What is left of the disk is kept for the log, the data and old versions: a spool gets none of it.
    Reserved {
        /// What is kept.
        bytes: u64,
    },
    /// Something on disk is not what was written there.
    Corrupt {
        /// The page, if it is known.
        page: Option<PageId>,
        /// What is wrong there.
        what: String,
    },
    /// The data directory is damaged, or lacks something.
    CannotOpen(String),
    /// The data directory is in order, but not for this engine to use: of another format version, of another program, on a
    /// volume that is not there.
    Refused(String),
    /// Another process has this data directory open.
    InUse(String),
    /// A unique index already holds the key. `index` is 0 for the primary key, `n` for the table's n-th secondary
    /// index; `primary_key` is the encoded primary key of the row that holds it.
    DuplicateKey {
        /// 0 for the primary key, `n` for the n-th secondary index.
        index: usize,
        /// The encoded primary key.
        primary_key: Vec<u8>,
    },
    /// This transaction was chosen to break a cycle of waits, and has been marked for rollback: the caller rolls it
    /// back as a whole.
    Deadlock,
    /// Locks take all the memory there is for them. Only a rollback of the whole transaction is possible.
    LockTableFull,
    /// A row lock was not granted in time. Only the statement has failed.
    LockWaitTimeout,
    /// A row is locked and the statement asked not to wait (`NOWAIT`).
    LockNoWait,
    /// The statement was interrupted (`KILL`).
    Interrupted,
    /// A row or a key does not fit the page format.
    RowTooLarge {
        /// Its length.
        bytes: usize,
        /// What fits.
        max_bytes: usize,
    },
    /// A definition, or meta data of the floor above, is longer than the catalog can hold.
    DefinitionTooLong {
        /// Its length.
        bytes: usize,
        /// What fits.
        max_bytes: usize,
    },
    /// A column that cannot be NULL was given NULL, or a value did not have its column's type.
    WrongValue {
        /// The column's number.
        column: usize,
        /// What is wrong with the value.
        what: &'static str,
    },
    /// The transaction was begun READ ONLY, or the engine was.
    ReadOnly,
    /// No table has that id or name.
    NoSuchTable,
    /// The table was dropped or truncated under a handle.
    TableGone,
    /// The table's definition is newer than this transaction's view.
    DefinitionChanged,
    /// A view of the past was asked for that is not kept, or not yet there.
    HistoryGone,
    /// With snapshot isolation on: the row changed since this transaction's view.
    RecordChanged,
    /// The engine is shutting down, or has stopped after a fatal error.
    Stopped(String),
    /// Something the engine does not do.
    Unsupported(&'static str),
    /// The auto-increment counter has reached its last value.
    AutoIncrementExhausted,
    /// The caller's own error, out of a callback.
    Callback(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// [`Error::Corrupt`] of this page, or of none.
    pub fn corrupt(page: impl Into<Option<PageId>>, what: impl Into<String>) -> Error {
        Error::Corrupt {
            page: page.into(),
            what: what.into(),
        }
    }

    /// [`Error::Callback`] with the caller's own error.
    pub fn callback(error: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error::Callback(Box::new(error))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) => write!(f, "input/output error: {e}"),
            Error::DiskFull => f.write_str("the disk is full"),
            Error::Corrupt {
                page: Some(page),
                what,
            } => write!(f, "page {page} is corrupt: {what}"),
            Error::Corrupt { page: None, what } => write!(f, "corrupt data: {what}"),
            Error::CannotOpen(why) | Error::Refused(why) => {
                write!(f, "cannot open the data directory: {why}")
            }
            Error::InUse(directory) => write!(f, "{directory} is in use by another process"),
            Error::DuplicateKey { index, .. } => write!(f, "duplicate key in index {index}"),
            Error::LockTableFull => f.write_str("the locks of rows take more memory than is allowed"),
            Error::Deadlock => f.write_str("deadlock: this transaction was chosen as the victim"),
            Error::LockWaitTimeout => f.write_str("lock wait timeout exceeded"),
            Error::LockNoWait => f.write_str("the row is locked and the statement does not wait"),
            Error::Interrupted => f.write_str("interrupted"),
            Error::RowTooLarge { bytes, max_bytes } => {
                write!(f, "{bytes} bytes do not fit where at most {max_bytes} may stand")
            }
            Error::DefinitionTooLong { bytes, max_bytes } => {
                write!(f, "a definition of {bytes} bytes, where at most {max_bytes} fit")
            }
            Error::WrongValue { column, what } => write!(f, "column {column}: {what}"),
            Error::ReadOnly => f.write_str("read-only"),
            Error::NoSuchTable => f.write_str("no such table"),
            Error::TableGone => f.write_str("the table was dropped"),
            Error::DefinitionChanged => {
                f.write_str("the table's definition has changed since the view was taken")
            }
            Error::HistoryGone => f.write_str("that moment is not within the history that is kept"),
            Error::RecordChanged => f.write_str("the row has changed since the view was taken"),
            Error::Stopped(why) => write!(f, "the engine has stopped: {why}"),
            Error::Unsupported(what) => write!(f, "not supported: {what}"),
            Error::AutoIncrementExhausted => f.write_str("the auto-increment counter is exhausted"),
            Error::Reserved { bytes } => write!(f, "the last {bytes} bytes of the disk are kept"),
            Error::SpoolFull { max_bytes } => write!(f, "more than {max_bytes} bytes are put aside"),
            Error::Callback(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(e) => Some(e),
            Error::Callback(e) => Some(e.as_ref()),
            _ => None,
        }
    }
}

impl From<tidemark_pages::Error> for Error {
    #[cold]
    fn from(e: tidemark_pages::Error) -> Error {
        use tidemark_pages::Error as Pages;
        match e {
            Pages::Io(e) => Error::Io(e),
            Pages::DiskFull => Error::DiskFull,
            Pages::Reserved { bytes } => Error::Reserved { bytes },
            Pages::Corrupt { page, what } => Error::Corrupt { page, what },
            Pages::CannotOpen(why) => Error::CannotOpen(why),
            Pages::Refused(why) => Error::Refused(why),
            Pages::TooLarge { bytes, max_bytes } => Error::RowTooLarge { bytes, max_bytes },
            Pages::Stopped(why) => Error::Stopped(why),
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Error {
        tidemark_pages::Error::from(e).into()
    }
}

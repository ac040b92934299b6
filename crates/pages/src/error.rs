//! What can go wrong with pages and the log. An error ends one call, never the process, except a failed sync of the log,
//! after which nothing in memory can be trusted.

use crate::ids::PageId;
use std::{fmt, io};

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. What it would have changed is unchanged.
#[derive(Debug)]
pub enum Error {
    /// The disk failed.
    Io(io::Error),
    /// No room left for a page or for the log.
    DiskFull,
    /// What is left of the disk is kept for others.
    Reserved {
        /// What is kept.
        bytes: u64,
    },
    /// Something on disk is not what was written there.
    Corrupt {
        /// The page, if it is one.
        page: Option<PageId>,
        /// What is wrong with it.
        what: String,
    },
    /// The data directory is damaged, or lacks something: it cannot be used at all.
    CannotOpen(String),
    /// The data directory is in order, but not for this engine to use, or not here.
    Refused(String),
    /// A key, or a key with its value, that no page could hold.
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The size that would fit.
        max_bytes: usize,
    },
    /// The log has failed, and with it everything that would change a page.
    Stopped(String),
}

impl Error {
    /// Corruption, of a page or, with `None`, of something else.
    pub fn corrupt(page: impl Into<Option<PageId>>, what: impl Into<String>) -> Error {
        Error::Corrupt {
            page: page.into(),
            what: what.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) => write!(f, "input/output error: {e}"),
            Error::DiskFull => f.write_str("the disk is full"),
            Error::Reserved { bytes } => write!(f, "the last {bytes} bytes of the disk are kept"),
            Error::Corrupt {
                page: Some(page),
                what,
            } => write!(f, "page {page} is corrupt: {what}"),
            Error::Corrupt { page: None, what } => write!(f, "corrupt data: {what}"),
            Error::CannotOpen(why) | Error::Refused(why) => {
                write!(f, "cannot open the data directory: {why}")
            }
            Error::TooLarge { bytes, max_bytes } => {
                write!(f, "{bytes} bytes do not fit where at most {max_bytes} may stand")
            }
            Error::Stopped(why) => write!(f, "the engine has stopped: {why}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(e) => Some(e),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Error {
        match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::DiskFull,
            _ => Error::Io(e),
        }
    }
}

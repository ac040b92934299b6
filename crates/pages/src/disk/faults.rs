//! What a simulated disk is to do wrong: which of its calls fail, and how.

use std::io;
use std::ops::Range;
use std::time::Duration;

/// A call of a disk or of one of its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// [`Disk::open`](super::Disk::open).
    Open,
    /// [`Disk::list`](super::Disk::list).
    List,
    /// [`Disk::remove`](super::Disk::remove).
    Remove,
    /// [`Disk::rename`](super::Disk::rename).
    Rename,
    /// [`Disk::sync_dir`](super::Disk::sync_dir).
    SyncDir,
    /// [`File::read_at`](super::File::read_at).
    Read,
    /// [`File::write_at`](super::File::write_at).
    Write,
    /// [`File::sync`](super::File::sync).
    Sync,
    /// [`File::len`](super::File::len).
    Len,
    /// [`File::allocate`](super::File::allocate).
    Allocate,
    /// [`File::punch`](super::File::punch).
    Punch,
    /// [`File::truncate`](super::File::truncate).
    Truncate,
}

impl Call {
    /// The calls that need room on the disk, or may on some file systems.
    pub const GROWING: &'static [Call] = &[
        Call::Open,
        Call::Write,
        Call::Allocate,
        Call::Rename,
        Call::SyncDir,
        Call::Punch,
        Call::Truncate,
    ];
}

/// A call that fails, or all from one on.
#[derive(Clone, Copy, Debug)]
pub struct Failing {
    /// Only these calls are counted, and fail; all, if there are none.
    pub calls: &'static [Call],
    /// The n-th from now fails.
    pub at: u64,
    /// And so do all after it.
    pub for_ever: bool,
    /// The system's number of the error, such as `libc::EIO`.
    pub error: i32,
}

/// Faults to come. Counters count down; `None` is never.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The power goes during the n-th change from now: of contents, of names, or when one of them is synced.
    pub power_cut_in: Option<u64>,
    /// One call fails, or all from one on. Of a write that fails, a part may have been done.
    pub failing: Option<Failing>,
    /// The n-th sync from now fails, and what it should have made certain stays uncertain.
    pub sync_failure_in: Option<u64>,
    /// A sync that fails takes what it should have made certain for written, as Linux does: it is read back as long as the
    /// disk runs, no later sync writes it, and it is gone when the power is.
    pub sync_failure_drops: bool,
    /// Syncs do nothing, and say that all is well.
    pub syncs_lie: bool,
    /// The n-th write from now is not done, and says that it was.
    pub write_lost_in: Option<u64>,
    /// The n-th write from now goes to another place in its file.
    pub write_misdirected_in: Option<u64>,
    /// Of the n-th write from now only the first sectors are done, and it says that all of it was.
    pub write_short_in: Option<u64>,
    /// The n-th read from now gets the first sectors only, and zeros behind them, and says that all is well.
    pub read_short_in: Option<u64>,
    /// Of the last four only writes and reads of files are counted whose names begin so; of all, if it is empty.
    pub harms: &'static str,
    /// The n-th read from now fails.
    pub read_failure_in: Option<u64>,
    /// Bytes the disk can hold in all.
    pub capacity: Option<u64>,
    /// Writes to these bytes of this file fail.
    pub bad: Option<(String, Range<u64>)>,
    /// The n-th write from now panics: what a bug in the caller would do.
    pub write_panics_in: Option<u64>,
    /// How long a sync takes.
    pub sync_takes: Duration,
}

/// Counts down; true when it is time, which is once.
pub(super) fn is_due(counter: &mut Option<u64>) -> bool {
    let Some(n) = counter else { return false };
    *n = n.saturating_sub(1);
    let due = *n == 0;
    if due {
        *counter = None;
    }
    due
}

/// A write that did not do what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harm {
    /// The file.
    pub file: String,
    /// What is not what it should be.
    pub bytes: Range<u64>,
}

impl Faults {
    /// The error that this call is to return, if it is to fail.
    pub(super) fn fails(&mut self, call: Call) -> io::Result<()> {
        let Some(failing) = &mut self.failing else {
            return Ok(());
        };
        if !failing.calls.is_empty() && !failing.calls.contains(&call) {
            return Ok(());
        }
        failing.at = failing.at.saturating_sub(1);
        if failing.at > 0 {
            return Ok(());
        }
        let error = io::Error::from_raw_os_error(failing.error);
        if !failing.for_ever {
            self.failing = None;
        }
        Err(error)
    }
}

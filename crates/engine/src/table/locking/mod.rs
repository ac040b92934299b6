//! Locking reads: which locks a scan takes, and in which order.
//!
//! They are InnoDB's. Under REPEATABLE READ and above a scan locks every entry it visits with the gap in front of it,
//! so that nothing can appear where it has been; under READ COMMITTED, entries alone, and those that do not match are
//! unlocked again. In detail:
//!
//! | what is looked for | locked |
//! |---|---|
//! | all parts of a unique key, and it is there | the entry alone |
//! | … and it is not | the gap where it would stand |
//! | equality of the leading parts | every entry with its gap, and the gap behind them |
//! | a range | every entry with its gap, and what lies behind: see [`ends`] |
//! | … of the clustered index, from a row that is there | that row alone |
//! | a range, backwards | the gap behind it, every entry with its gap, and the entry before the range |
//!
//! An entry of a secondary index is locked before its row, and its row alone; a shared read that the index covers leaves
//! the row unlocked. What is marked deleted is locked like anything else: it is where its gap is.
//!
//! *A wait* does not restart the scan: it continues at the entry it waited for, or behind it if that is gone, and does
//! not look again at what lies before. While it waits for a gap no insert can enter that gap, so no row of the range
//! can have appeared there; where gaps are not locked, one may.
//!
//! *Nothing appears in between.* A scan that locks gaps keeps the left leaf latched while it moves to the next, and
//! locks the first entry of the right one before it releases the left: an insert at the end of the left leaf comes
//! before it and is seen, or after it and finds the lock. Backwards this is not necessary: the gap between two leaves
//! is locked, at the right one's first entry, before the left one is visited.
//!
//! | file | idea |
//! |---|---|
//! | `target` | what a range looks for, as far as locks depend on it |
//! | `cursor` | one scan on its way: from entry to entry, leaf to leaf |
//! | `step` | one entry and its row |
//! | `committed` | rows that other transactions have locked, matched as they were committed |
//! | `ends` | what keeps the ends of a range as they are |
//! | `point` | one row by its whole clustered key |
//! | `hand_on` | what becomes of the locks of an entry that is taken out |

mod committed;
mod cursor;
mod ends;
mod hand_on;
mod point;
mod step;
mod target;

pub(crate) use ends::key_behind;

use super::row::RowView;
use super::{Flow, Keep};
use crate::error::Result;
use crate::lock::{LockMode, LockWait};
use crate::txn::Txn;
use cursor::{Cursor, LockOutcome, Move};

/// What is done with a locked row.
pub(super) enum Visit<'f> {
    /// It is shown, under the latches of its leaf and of its entry's.
    Show(&'f mut dyn FnMut(&RowView) -> Result<(Keep, Flow)>),
    /// Its key (of the index that is scanned) is handed over, with no latch held. A clustered row has not been locked yet
    /// where no gaps are.
    Key(&'f mut dyn FnMut(&mut Txn<'_>, &[u8]) -> Result<(Keep, Flow)>),
}

/// Evaluates the condition of an UPDATE on a row.
pub(crate) type Matches<'f> = &'f mut dyn FnMut(&RowView) -> Result<bool>;

/// Parameters of a locking read.
#[derive(Clone, Copy)]
pub(super) struct Locking {
    pub mode: LockMode,
    pub wait: LockWait,
    /// The index alone has all the columns asked for.
    pub covering: bool,
    /// Whether an entry is in the range is known from the index, before its row is locked.
    pub tests_entries: bool,
}

impl Locking {
    /// True if the row of an entry is locked just to find out that it lies behind the range.
    fn looks_at_rows(&self) -> bool {
        !(self.tests_entries || self.covering && self.mode == LockMode::Shared)
    }
}

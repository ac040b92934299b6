//! A number for a view, and a look-up for every row: PolarDB-X's Lizard, 2021.
//!
//! ```text
//!   view = 510            row of writer 8 ──► slot of 8: ended at 505 ──► 505 ≤ 510: visible
//!   (the commit number)   row of writer 9 ──► slot of 9: active      ──► not visible
//! ```
//!
//! The view is as cheap as the tide's, which is the same idea. What the tide adds is the bound below which all writers have
//! ended, so that most rows need no look-up; here each row costs one. Slots are used again: for a writer that has lost its own,
//! the tide's view decides, as Lizard takes such a one for long gone.
//!
//! Source: PolarDB-X's description of the Lizard transaction system, for the idea.

use super::{Exhibit, Snapshot};
use crate::ids::{Lsn, TxnId};
use std::sync::atomic::{AtomicU64, Ordering};

const SLOTS: usize = 1 << 16;

/// The end is 0 while its writer is active.
#[derive(Default)]
struct Slot {
    writer: AtomicU64,
    end: AtomicU64,
}

pub(super) struct CommitNumbers(Box<[Slot]>);

impl Default for CommitNumbers {
    fn default() -> CommitNumbers {
        CommitNumbers((0..SLOTS).map(|_| Slot::default()).collect())
    }
}

impl CommitNumbers {
    fn slot(&self, id: TxnId) -> &Slot {
        &self.0[(id.0 % SLOTS as u64) as usize]
    }
}

impl Exhibit for CommitNumbers {
    fn begin(&self, assign: &mut dyn FnMut() -> TxnId) -> TxnId {
        let id = assign();
        let slot = self.slot(id);
        // Nobody's while it changes hands.
        slot.writer.store(0, Ordering::SeqCst);
        slot.end.store(0, Ordering::SeqCst);
        slot.writer.store(id.0, Ordering::SeqCst);
        id
    }

    fn end(&self, id: TxnId, at: Lsn) {
        let slot = self.slot(id);
        if slot.writer.load(Ordering::SeqCst) == id.0 {
            slot.end.store(at.0, Ordering::SeqCst);
        }
    }

    fn open(&self, _: &mut Snapshot) {}

    fn sees(&self, _: &Snapshot, moment: Lsn, writer: TxnId, by_tide: &dyn Fn() -> bool) -> bool {
        let slot = self.slot(writer);
        if slot.writer.load(Ordering::SeqCst) == writer.0 {
            let end = slot.end.load(Ordering::SeqCst);
            if slot.writer.load(Ordering::SeqCst) == writer.0 && end != 0 {
                return end <= moment.0;
            }
        }
        by_tide()
    }
}

//! Intention locks on tables, noted with their owner rather than in a shared queue.
//!
//! Every transaction that locks or writes rows has an intention lock on their table, and hardly any ever wants the
//! table as a whole. So an intention is only noted with its owner, under a mutex that no other thread normally asks
//! for, and becomes a lock object when another transaction wants the whole table (PostgreSQL's *fast path*). That
//! transaction, the *watcher*, first raises the table's `watched` count, then lists the owners there are, and collects
//! the notes of each under the owner's mutex.
//!
//! *Once a watcher has looked through the notes, and until it lowers the count, no note is missing.* An owner that
//! notes an intention holds its mutex from its look at the count to the note itself. If it locks the mutex before the
//! watcher does, the watcher finds the note; if after, the mutex makes it see the raised count. An owner that is not in
//! the watcher's list was added to the list of owners after the list was read, and sees the count by that list's mutex
//! in the same way. `tests/interleavings.rs` tries all orders.

use super::atomic::{AtomicU64, Ordering};

/// Notes an intention; the caller holds the owner's mutex. Returns false, and notes nothing, if the table is watched.
#[inline]
pub(crate) fn note<T>(watched: &AtomicU64, noted: &mut Vec<T>, intention: T) -> bool {
    if watched.load(Ordering::SeqCst) != 0 {
        return false;
    }
    noted.push(intention);
    true
}

/// Watches a table until the caller lowers `watched` by one. `owners` lists all owners; `collect` locks the mutex of
/// one and takes its notes.
pub(crate) fn watch<O>(watched: &AtomicU64, owners: impl FnOnce() -> Vec<O>, collect: impl FnMut(O)) {
    watched.fetch_add(1, Ordering::SeqCst);
    owners().into_iter().for_each(collect);
}

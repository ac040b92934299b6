//! Intentions on tables, noted where nobody else looks.
//!
//! Everybody who locks or writes rows has an intention lock on their table, and hardly anybody ever wants the table as a
//! whole. So an intention is only noted with its owner, under a mutex that nobody else asks for, and is taken out of there
//! when somebody does want the table (PostgreSQL's *fast path*). He first counts himself among those the table is *watched*
//! by, then asks who there is, and looks through the notes of each, under their mutexes.
//!
//! *While a table is watched and its watcher has looked through the notes, no note is missing.* Whoever notes an intention
//! holds his mutex from his look at the count to the note itself. If he has it before the watcher, the watcher finds the
//! note; if after, the mutex makes him see the count. An owner who is not in the watcher's list was added to the owners
//! after the list was made, and so sees the count by their mutex in the same way. `tests/interleavings.rs` tries all
//! orders.

use super::atomic::{AtomicU64, Ordering};

/// Notes an intention; the owner's mutex is held. False: the table is watched, and nothing was noted.
#[inline]
pub(crate) fn note<T>(watched: &AtomicU64, noted: &mut Vec<T>, intention: T) -> bool {
    if watched.load(Ordering::SeqCst) != 0 {
        return false;
    }
    noted.push(intention);
    true
}

/// Watches a table, until `watched` is lowered by one: `collect` is to lock the mutex of each owner and take the notes.
pub(crate) fn watch<O>(watched: &AtomicU64, owners: impl FnOnce() -> Vec<O>, collect: impl FnMut(O)) {
    watched.fetch_add(1, Ordering::SeqCst);
    owners().into_iter().for_each(collect);
}

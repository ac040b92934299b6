//! Changes of a definition that work beside the users of their table: metadata locks that are given up for a while, in part.
//!
//! ```text
//!   own(Definition) ── admit(…) ── …work… ── own(Definition) ── commit ── release
//!   alone              others use the table   waits for them
//! ```
//!
//! In between the session stays the table's *alterer*: no other session can own the table, so the definition is at the end what
//! it was at the beginning. This is what MySQL calls a shared upgradable lock. Users never look at it, so it costs them nothing.

use super::{Block, Blocker, Holder, TableLock};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Whom an alterer lets in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// Readers alone.
    Readers,
    /// Readers and writers.
    Users,
}

impl TableLock {
    /// The other session that alters the table, if that keeps `session` from owning it in this way. LOCK TABLES … READ goes
    /// beside an alteration; its end then waits for the unlocking.
    pub(super) fn altered_beside(&self, session: u64, block: Block) -> Option<u64> {
        let alterer = self.alterer.load(Ordering::Relaxed);
        (alterer != 0 && alterer != session && block != Block::Writers).then_some(alterer)
    }
}

impl Holder {
    /// Lets other sessions use a table that this one [owns](Holder::own) with [`Block::Definition`]. To be alone again it
    /// owns it once more. Does nothing to a table that it does not own so.
    pub fn admit(&self, lock: &Arc<TableLock>, admitted: Admitted) {
        let _state = self.locks.state.lock();
        let mut owned = self.owned.lock();
        let mut owned = owned.iter_mut();
        let Some((_, block)) =
            owned.find(|(owned, block)| *block == Block::Definition && Arc::ptr_eq(owned, lock))
        else {
            return;
        };
        lock.alterer.store(self.session, Ordering::Relaxed);
        let (now, blocker) = match admitted {
            Admitted::Readers => (Block::Writers, Blocker::Readers(1)),
            Admitted::Users => (Block::Owners, Blocker::None),
        };
        *block = now;
        lock.set_blocker(blocker);
        self.locks.changed.notify_all();
    }

    /// Gives up a lock that it owned in this way. The caller has the common mutex.
    pub(super) fn give_up(&self, lock: &TableLock, block: Block) {
        if lock.alterer.load(Ordering::Relaxed) == self.session {
            lock.alterer.store(0, Ordering::Relaxed);
        }
        if block != Block::Owners {
            lock.release();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::policy;
    use super::super::{Failure, Locks, Mode};
    use super::*;
    use std::thread;

    #[test]
    fn users_go_on_beside_an_alteration_and_other_owners_wait() {
        let locks = Arc::new(Locks::default());
        let t = locks.table("test", "t");
        let (alterer, user, other) = (locks.holder(1), locks.holder(2), locks.holder(3));
        alterer.own(&t, Block::Definition, &policy(0)).unwrap();
        alterer.admit(&t, Admitted::Users);
        user.use_table(&t, Mode::Write, &policy(0)).unwrap();
        for block in [Block::Definition, Block::Users] {
            assert_eq!(other.own(&t, block, &policy(5)), Err(Failure::Timeout));
        }
        // It cannot be alone before the user is gone, and stays the alterer.
        let alone = alterer.own(&t, Block::Definition, &policy(5));
        assert_eq!(alone, Err(Failure::Timeout));
        let late = locks.holder(4);
        late.use_table(&t, Mode::Write, &policy(0)).unwrap();
        late.release_used();
        let owned = other.own(&t, Block::Definition, &policy(5));
        assert_eq!(owned, Err(Failure::Timeout));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| alterer.own(&t, Block::Definition, &policy(10_000)));
            while t.blocker() != Blocker::Owner(1) {
                thread::yield_now();
            }
            let used = late.use_table(&t, Mode::Read, &policy(5));
            assert_eq!(used, Err(Failure::Timeout));
            user.release_used();
            waiting.join().unwrap().unwrap();
        });
        alterer.release_owned_after(0);
        other.own(&t, Block::Definition, &policy(0)).unwrap();
    }

    #[test]
    fn a_table_may_be_locked_for_reading_beside_an_alteration() {
        let locks = Arc::new(Locks::default());
        let t = locks.table("test", "t");
        let (alterer, user, dump) = (locks.holder(1), locks.holder(2), locks.holder(3));
        let is_alone = || alterer.own(&t, Block::Definition, &policy(5));
        let writes = || user.use_table(&t, Mode::Write, &policy(5));
        is_alone().unwrap();
        alterer.admit(&t, Admitted::Readers);
        user.use_table(&t, Mode::Read, &policy(0)).unwrap();
        assert_eq!(writes(), Err(Failure::Timeout));
        user.release_used();
        dump.own(&t, Block::Writers, &policy(0)).unwrap();
        assert_eq!(is_alone(), Err(Failure::Timeout));
        dump.release_all();
        is_alone().unwrap();
        alterer.release_owned_after(0);
        writes().unwrap();
        user.release_used();
        // The same beside writers, which the dump stops.
        is_alone().unwrap();
        alterer.admit(&t, Admitted::Users);
        dump.own(&t, Block::Writers, &policy(0)).unwrap();
        assert_eq!(is_alone(), Err(Failure::Timeout));
        alterer.release_all();
        assert_eq!(writes(), Err(Failure::Timeout));
        dump.release_all();
        writes().unwrap();
    }
}

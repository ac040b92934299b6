//! Locks that applications name: GET_LOCK and its kin.
//!
//! They are metadata locks of no table, owned until they are given up or the session ends, so a wait that closes a cycle
//! through them, or through them and tables, is found like any other. A session that has one may take it again, and has it
//! until it has given it up as many times. Names differ not by case.

use super::{Block, Blocker, Failure, Holder, Locks, ObjectKey, TableLock, WaitPolicy};
use std::cell::RefCell;
use std::sync::Arc;

impl Locks {
    fn named(&self, name: &str) -> Arc<TableLock> {
        self.lock(ObjectKey::application(name))
    }

    /// The session that has the lock of this name.
    pub fn session_with(&self, name: &str) -> Option<u64> {
        match self.named(name).blocker() {
            Blocker::Owner(session) => Some(session),
            _ => None,
        }
    }
}

/// The named locks of one session.
pub struct NamedLocks {
    holder: Arc<Holder>,
    /// How many times each was taken. Only the session's own thread looks here.
    taken: RefCell<Vec<(Arc<TableLock>, u64)>>,
}

impl NamedLocks {
    /// None yet, for the session of this number.
    pub fn new(locks: &Arc<Locks>, session: u64) -> NamedLocks {
        NamedLocks {
            holder: locks.holder(session),
            taken: RefCell::default(),
        }
    }

    /// Takes a lock, once more if the session has it.
    pub fn get(&self, name: &str, policy: &WaitPolicy<'_>) -> Result<(), Failure> {
        let lock = self.holder.locks.named(name);
        let mut taken = self.taken.borrow_mut();
        if let Some((_, times)) = taken.iter_mut().find(|(taken, _)| Arc::ptr_eq(taken, &lock)) {
            *times += 1;
            return Ok(());
        }
        self.holder.own(&lock, Block::Users, policy)?;
        taken.push((lock, 1));
        Ok(())
    }

    /// Gives up a lock, once; false if the session does not have it.
    pub fn release(&self, name: &str) -> bool {
        let lock = self.holder.locks.named(name);
        let mut taken = self.taken.borrow_mut();
        let Some(at) = taken.iter().position(|(taken, _)| Arc::ptr_eq(taken, &lock)) else {
            return false;
        };
        taken[at].1 -= 1;
        if taken[at].1 == 0 {
            taken.swap_remove(at);
            self.holder.disown(&lock);
        }
        true
    }

    /// Gives up all; returns how many times they had been taken.
    pub fn release_all(&self) -> u64 {
        let taken = std::mem::take(&mut *self.taken.borrow_mut());
        self.holder.release_owned_after(0);
        taken.iter().map(|(_, times)| times).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::policy;
    use super::*;
    use std::thread;

    fn sessions(locks: &Arc<Locks>) -> [NamedLocks; 2] {
        [1, 2].map(|session| NamedLocks::new(locks, session))
    }

    #[test]
    fn a_lock_is_given_up_as_often_as_it_was_taken() {
        let locks = Arc::new(Locks::default());
        let [a, b] = sessions(&locks);
        a.get("Job", &policy(0)).unwrap();
        a.get("jOB", &policy(0)).unwrap();
        assert_eq!(locks.session_with("JOB"), Some(1));
        assert_eq!(b.get("job", &policy(5)), Err(Failure::Timeout));
        assert!(!b.release("job"));
        assert!(a.release("job"));
        assert_eq!(b.get("job", &policy(5)), Err(Failure::Timeout));
        assert!(a.release("job"));
        assert!(!a.release("job"));
        b.get("job", &policy(0)).unwrap();
        b.get("other", &policy(0)).unwrap();
        b.get("other", &policy(0)).unwrap();
        assert_eq!(b.release_all(), 3);
        assert_eq!(locks.session_with("other"), None);
        b.get("job", &policy(0)).unwrap();
        drop(b);
        assert_eq!(locks.session_with("job"), None, "gone with the session");
    }

    #[test]
    fn a_cycle_of_waits_is_refused() {
        let locks = Arc::new(Locks::default());
        let [a, b] = sessions(&locks);
        a.get("x", &policy(0)).unwrap();
        b.get("y", &policy(0)).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(move || {
                let got = a.get("y", &policy(60_000));
                (got, a)
            });
            while locks.waiting_states().is_empty() {
                thread::yield_now();
            }
            assert_eq!(b.get("x", &policy(60_000)), Err(Failure::Deadlock));
            assert_eq!(b.release_all(), 1);
            let (got, _a) = waiting.join().expect("it does not panic");
            got.unwrap();
        });
    }
}

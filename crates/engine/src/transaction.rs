//! A connection's transaction. One per connection, reused: idle → begin → … → commit or rollback → idle. It costs
//! nothing until the first read (a view) or the first write (an id).

use crate::error::{Error, Result};
use crate::ids::{Lsn, TxnId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    /// As REPEATABLE READ; that plain reads lock is for the caller to ask for.
    Serializable,
}

/// Ends another thread's statement: its lock waits and its scans fail with [`Error::Interrupted`].
#[derive(Debug, Default)]
pub struct Interrupt {
    killed: AtomicU32,
}

impl Interrupt {
    /// May be called from any thread.
    pub fn kill(&self) {
        self.killed.store(1, Ordering::SeqCst);
    }

    pub fn reset(&self) {
        self.killed.store(0, Ordering::SeqCst);
    }

    #[inline]
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed) != 0
    }
}

/// A point in a transaction that it can be rolled back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint {
    pub(crate) writes: u64,
}

/// See the module's head. Dropping an active transaction rolls it back.
pub struct Transaction {
    interrupt: Arc<Interrupt>,
}

impl Transaction {
    /// Starts a transaction; the last one must have ended.
    pub fn begin(&mut self, isolation: Isolation, read_only: bool) {
        let _ = (isolation, read_only);
    }

    pub fn is_active(&self) -> bool {
        false
    }

    pub fn isolation(&self) -> Isolation {
        Isolation::RepeatableRead
    }

    /// `WITH CONSISTENT SNAPSHOT`: takes the view now rather than at the first read.
    pub fn consistent_snapshot(&mut self) {}

    /// Under READ COMMITTED and below, the next read takes a new view.
    pub fn statement_begin(&mut self) {}

    /// The statement is over: under READ COMMITTED and below its view is given up.
    pub fn statement_end(&mut self) {}

    pub fn savepoint(&mut self) -> Savepoint {
        Savepoint { writes: 0 }
    }

    /// Undoes everything since; the savepoint remains. Locks are kept.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        let _ = savepoint.writes;
        Err(Error::Unsupported("rollback_to"))
    }

    /// At the default durability, returns when the commit is on disk.
    pub fn commit(&mut self) -> Result<()> {
        Err(Error::Unsupported("commit"))
    }

    pub fn rollback(&mut self) -> Result<()> {
        Err(Error::Unsupported("rollback"))
    }

    /// Its id, once it has written.
    pub fn id(&self) -> Option<TxnId> {
        None
    }

    pub fn has_written(&self) -> bool {
        self.id().is_some()
    }

    /// The log position its consistent reads see, if it has a view.
    pub fn view(&self) -> Option<Lsn> {
        None
    }

    pub fn set_lock_wait_timeout(&mut self, timeout: Duration) {
        let _ = timeout;
    }

    /// `innodb_snapshot_isolation`: changing a row that changed since the view fails ([`Error::RecordChanged`]).
    pub fn set_snapshot_isolation(&mut self, on: bool) {
        let _ = on;
    }

    pub fn interrupt(&self) -> Arc<Interrupt> {
        self.interrupt.clone()
    }
}

//! Metadata locks: between statements that use a table and statements that change what it is.
//!
//! A statement takes a shared lock on every table it names and holds it to the end of its transaction; DDL takes an
//! exclusive one, waits for the transactions that use the table, and admits no others meanwhile. Statements are
//! many and DDL is rare, so the price is put on the rare side: each session keeps a list of its own locks, which no
//! other session writes, and a table's lock is one word that says whether a session wants it exclusively. The shared
//! side writes its list, then reads the word; the exclusive side writes the word, then reads the lists of all
//! sessions. With a sequentially consistent fence between the write and the read on both sides, at least one of the
//! two sees the other. No cache line is written by two sessions unless one of them does DDL.
//!
//! A name's lock is made when it is first asked for and goes when nothing refers to it any more: no definition, no session's list,
//! no waiter. The map of names has one reference of its own, so a lock that is referred to once is the map's alone.
//! A new reference comes from the map, under the map's mutex, or from one that keeps the count above one: there are never
//! two locks of one name in use. The map is swept whenever it has twice the names that were left the last time,
//! which costs each new name a constant.
//!
//! All waits are under one mutex and one condition variable, where cycles of waits are found as well: the request that
//! closes a cycle fails with the deadlock error.

mod alteration;
pub(crate) mod inspect;
mod key;
mod named;
#[cfg(test)]
mod tests;
mod waited;

pub use alteration::Admitted;
pub use key::{Namespace, ObjectKey};
pub use named::NamedLocks;
pub use waited::WaitSums;

use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tidemark_engine::waits::{Wait, timed};
use waited::Waited;

/// How often a waiting session looks whether there is a reason to stop.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// What a session does with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Reads rows.
    Read,
    /// Changes or locks rows.
    Write,
}

/// What an exclusive lock keeps other sessions from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// `LOCK TABLES … READ`: other sessions may read, but not write.
    Writers,
    /// `LOCK TABLES … WRITE`: other sessions may neither read nor write.
    Users,
    /// DDL: as [`Block::Users`], because the table's definition changes.
    Definition,
    /// A change of the definition that works beside users: other sessions may read and write, but not change the definition or
    /// lock the table for writing.
    Owners,
}

impl Block {
    fn stops(self, mode: Mode) -> bool {
        match self {
            Block::Writers => mode == Mode::Write,
            Block::Users | Block::Definition => true,
            Block::Owners => false,
        }
    }
}

/// The lock of one name, whether or not a table of that name exists.
pub struct TableLock {
    key: ObjectKey,
    /// 0; or, with [`Block::Writers`], how many sessions × 2; otherwise the owning session's id × 2 + 1.
    blocker: AtomicU64,
    /// The session that alters the table beside its users, or 0. Read and written under the common mutex.
    alterer: AtomicU64,
    /// How long sessions have waited to use it, and to have it for themselves.
    waited: [Waited; 2],
}

/// The exclusive side of a lock, decoded from its word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blocker {
    None,
    /// The number of sessions that keep writers off.
    Readers(u64),
    Owner(u64),
}

impl TableLock {
    /// A lock that no other session knows: what is defined under it is one session's.
    pub(crate) fn private() -> Arc<TableLock> {
        Arc::new(TableLock {
            key: ObjectKey::table("", ""),
            blocker: AtomicU64::new(0),
            alterer: AtomicU64::new(0),
            waited: Default::default(),
        })
    }

    fn blocker(&self) -> Blocker {
        match self.blocker.load(Ordering::SeqCst) {
            0 => Blocker::None,
            word if word & 1 == 1 => Blocker::Owner(word >> 1),
            word => Blocker::Readers(word >> 1),
        }
    }

    fn set_blocker(&self, blocker: Blocker) {
        let word = match blocker {
            Blocker::None => 0,
            Blocker::Readers(n) => n << 1,
            Blocker::Owner(session) => session << 1 | 1,
        };
        self.blocker.store(word, Ordering::SeqCst);
    }

    /// Ends one session's exclusive lock.
    fn release(&self) {
        match self.blocker() {
            Blocker::Readers(n) => self.set_blocker(Blocker::Readers(n - 1)),
            _ => self.set_blocker(Blocker::None),
        }
    }

    fn stops(&self, session: u64, mode: Mode) -> bool {
        match self.blocker() {
            Blocker::None => false,
            Blocker::Readers(_) => mode == Mode::Write,
            Blocker::Owner(owner) => owner != session,
        }
    }
}

impl fmt::Debug for TableLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableLock({:?})", self.key)
    }
}

/// Why a metadata lock was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// `lock_wait_timeout` is over: error 1205.
    Timeout,
    /// The wait would close a cycle of waits: error 1213.
    Deadlock,
    /// The statement was killed: error 1317.
    Interrupted,
}

/// A session that may have to wait.
pub trait Waiter {
    /// Whether its statement is to end.
    fn is_interrupted(&self) -> bool;
    /// Called now and then while it waits, to find a reason for that.
    fn look(&self);
    /// Whether its wait for this table is counted, and its time.
    fn counts(&self, lock: &TableLock) -> [bool; 2];
}

/// How long a session is ready to wait, and how it learns that it should not.
#[derive(Clone, Copy)]
pub struct WaitPolicy<'a> {
    /// Longest wait: `lock_wait_timeout`.
    pub timeout: Duration,
    /// The session that waits.
    pub waiter: &'a dyn Waiter,
}

/// All metadata locks of a database.
#[derive(Default)]
pub struct Locks {
    names: Mutex<LocksByName>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The locks by name.
#[derive(Default)]
struct LocksByName {
    locks: HashMap<ObjectKey, Arc<TableLock>>,
    /// How many there were after the last sweep.
    swept_len: usize,
}

impl LocksByName {
    /// Fewer are not swept.
    const LEN_MIN: usize = 256;

    /// Removes the locks that only the map refers to, if there are many more than after the last sweep.
    fn sweep(&mut self) {
        if self.locks.len() < (2 * self.swept_len).max(LocksByName::LEN_MIN) {
            return;
        }
        self.locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        self.swept_len = self.locks.len();
    }
}

#[derive(Default)]
struct State {
    sessions: Vec<Weak<Holder>>,
    waits: HashMap<u64, (Arc<TableLock>, MdlRequest)>,
}

#[derive(Clone, Copy)]
enum MdlRequest {
    Use(Mode),
    Own(Block),
}

/// The locks of one session.
pub struct Holder {
    locks: Arc<Locks>,
    session: u64,
    used: Mutex<Vec<(Arc<TableLock>, Mode)>>,
    owned: Mutex<Vec<(Arc<TableLock>, Block)>>,
    /// What was in the way of its latest request that failed.
    refused: Mutex<Vec<inspect::ShownWait>>,
    /// When the wait at hand began, if it waits or has just waited.
    waits_since: Mutex<Option<Instant>>,
}

impl Locks {
    /// The lock of an object.
    pub fn lock(&self, key: ObjectKey) -> Arc<TableLock> {
        let mut names = self.names.lock();
        names.sweep();
        let make = |key: &ObjectKey| {
            Arc::new(TableLock {
                key: key.clone(),
                blocker: AtomicU64::new(0),
                alterer: AtomicU64::new(0),
                waited: Default::default(),
            })
        };
        Arc::clone(names.locks.entry(key).or_insert_with_key(make))
    }

    /// The lock of a table or a view.
    pub fn table(&self, schema: &str, name: &str) -> Arc<TableLock> {
        self.lock(ObjectKey::table(schema, name))
    }

    /// The lock of LOCK INSTANCE FOR BACKUP.
    pub fn instance(&self) -> Arc<TableLock> {
        self.lock(ObjectKey::backup())
    }

    /// A session's locks, none at first. `session` is its CONNECTION_ID().
    pub fn holder(self: &Arc<Self>, session: u64) -> Arc<Holder> {
        let holder = Arc::new(Holder {
            locks: Arc::clone(self),
            session,
            used: Mutex::new(Vec::new()),
            owned: Mutex::new(Vec::new()),
            refused: Mutex::default(),
            waits_since: Mutex::default(),
        });
        let mut state = self.state.lock();
        state.sessions.retain(|weak| weak.strong_count() > 0);
        state.sessions.push(Arc::downgrade(&holder));
        holder
    }

    /// Makes every waiter ask again whether it has been interrupted.
    pub fn wake_all(&self) {
        let _state = self.state.lock();
        self.changed.notify_all();
    }

    /// Waits until `state` and the lock words change, or policy ends, or it is time to look up.
    fn wait(
        &self,
        state: &mut parking_lot::MutexGuard<'_, State>,
        deadline: Option<Instant>,
        policy: &WaitPolicy<'_>,
    ) -> Result<(), Failure> {
        if policy.waiter.is_interrupted() {
            return Err(Failure::Interrupted);
        }
        let look_at = Instant::now() + LOOK_EVERY;
        let wake_at = deadline.map_or(look_at, |deadline| deadline.min(look_at));
        let woken = !timed(Wait::MetadataLock, || self.changed.wait_until(state, wake_at)).timed_out();
        let timed_out = !woken && deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if !woken && !timed_out {
            policy.waiter.look();
        }
        if policy.waiter.is_interrupted() {
            return Err(Failure::Interrupted);
        }
        if timed_out {
            return Err(Failure::Timeout);
        }
        Ok(())
    }
}

impl State {
    /// The sessions that a wait of `session` for `want` on `lock` waits for.
    fn blockers(&self, session: u64, lock: &Arc<TableLock>, want: MdlRequest, found: &mut Vec<u64>) {
        let compatible = |readers: bool| match want {
            MdlRequest::Use(mode) => readers && mode == Mode::Read,
            MdlRequest::Own(block) => readers && block == Block::Writers,
        };
        match lock.blocker() {
            Blocker::Owner(owner) if owner != session => found.push(owner),
            Blocker::Readers(_) if !compatible(true) => {
                let owners = self.sessions.iter().filter_map(Weak::upgrade);
                let owners = owners.filter(|holder| holder.session != session && holder.keeps_off(lock));
                found.extend(owners.map(|holder| holder.session));
                // Sessions that are about to keep writers off, and wait for the last writer.
                let becoming = self.waits.iter().filter(|(waiting, (of, want))| {
                    **waiting != session
                        && Arc::ptr_eq(of, lock)
                        && matches!(want, MdlRequest::Own(Block::Writers))
                });
                found.extend(becoming.map(|(waiting, _)| *waiting));
            }
            _ => {}
        }
        if let MdlRequest::Own(block) = want {
            found.extend(lock.altered_beside(session, block));
            for holder in self.sessions.iter().filter_map(Weak::upgrade) {
                if holder.session != session && holder.uses(lock, block) {
                    found.push(holder.session);
                }
            }
        }
    }

    /// Whether a wait of `session` would close a cycle.
    fn closes_cycle(&self, session: u64, lock: &Arc<TableLock>, want: MdlRequest) -> bool {
        let mut open = Vec::new();
        self.blockers(session, lock, want, &mut open);
        let mut seen = Vec::new();
        while let Some(next) = open.pop() {
            if next == session {
                return true;
            }
            if seen.contains(&next) {
                continue;
            }
            seen.push(next);
            if let Some((lock, want)) = self.waits.get(&next) {
                self.blockers(next, lock, *want, &mut open);
            }
        }
        false
    }
}

impl Holder {
    fn uses(&self, lock: &Arc<TableLock>, block: Block) -> bool {
        let used = self.used.lock();
        used.iter()
            .any(|(held, mode)| Arc::ptr_eq(held, lock) && block.stops(*mode))
    }

    /// Whether it keeps other sessions off the table.
    fn keeps_off(&self, lock: &Arc<TableLock>) -> bool {
        let owned = self.owned.lock();
        let mut owned = owned.iter();
        owned.any(|(owned, block)| *block != Block::Owners && Arc::ptr_eq(owned, lock))
    }

    /// Takes the lock for use until [`Holder::release_used`].
    pub fn use_table(
        &self,
        lock: &Arc<TableLock>,
        mode: Mode,
        policy: &WaitPolicy<'_>,
    ) -> Result<(), Failure> {
        if !self.note_use(lock, mode) {
            return Ok(());
        }
        fence(Ordering::SeqCst);
        if !lock.stops(self.session, mode) {
            return Ok(());
        }
        let used = self.wait_to_use(lock, mode, policy);
        self.tell_wait(lock, mode == Mode::Write, policy);
        used
    }

    /// Writes down the use; false if it was there already.
    fn note_use(&self, lock: &Arc<TableLock>, mode: Mode) -> bool {
        let mut used = self.used.lock();
        if used
            .iter()
            .any(|(held, held_mode)| *held_mode >= mode && Arc::ptr_eq(held, lock))
        {
            return false;
        }
        used.push((Arc::clone(lock), mode));
        true
    }

    fn forget_use(&self, lock: &Arc<TableLock>, mode: Mode) {
        let mut used = self.used.lock();
        if let Some(at) = used
            .iter()
            .rposition(|(held, held_mode)| *held_mode == mode && Arc::ptr_eq(held, lock))
        {
            used.swap_remove(at);
        }
    }

    #[cold]
    fn wait_to_use(&self, lock: &Arc<TableLock>, mode: Mode, policy: &WaitPolicy<'_>) -> Result<(), Failure> {
        let deadline = Instant::now().checked_add(policy.timeout);
        let locks = &self.locks;
        let mut state = locks.state.lock();
        self.forget_use(lock, mode);
        locks.changed.notify_all();
        // The exclusive side writes the lock's word under this mutex, so it cannot change between the test below and the
        // wait.
        while lock.stops(self.session, mode) {
            self.wait(&mut state, lock, MdlRequest::Use(mode), deadline, policy)?;
        }
        self.note_use(lock, mode);
        Ok(())
    }

    /// Ends the use of all tables: the end of a transaction.
    pub fn release_used(&self) {
        let mut wake = false;
        {
            let mut used = self.used.lock();
            if used.is_empty() {
                return;
            }
            // The lists are emptied before the words are read, as on the way in: a blocker that still saw the use has
            // written its word before, and is seen here.
            let released = std::mem::take(&mut *used);
            drop(used);
            fence(Ordering::SeqCst);
            for (lock, _) in &released {
                wake |= lock.blocker.load(Ordering::SeqCst) != 0;
            }
            let mut released = released;
            released.clear();
            let mut used = self.used.lock();
            if used.is_empty() {
                *used = released;
            }
        }
        if wake {
            self.locks.wake_all();
        }
    }

    /// Number of uses that would be given up by going back to it with [`Holder::release_used_after`].
    pub fn used_count(&self) -> usize {
        self.used.lock().len()
    }

    /// Ends the uses taken after [`Holder::used_count`] returned `count`: ROLLBACK TO SAVEPOINT.
    pub fn release_used_after(&self, count: usize) {
        let released: Vec<_> = {
            let mut used = self.used.lock();
            let count = count.min(used.len());
            used.drain(count..).collect()
        };
        fence(Ordering::SeqCst);
        if released
            .iter()
            .any(|(lock, _)| lock.blocker.load(Ordering::SeqCst) != 0)
        {
            self.locks.wake_all();
        }
    }

    /// Takes the lock for this session alone (as far as `block` says), until [`Holder::release_owned`].
    pub fn own(&self, lock: &Arc<TableLock>, block: Block, policy: &WaitPolicy<'_>) -> Result<(), Failure> {
        let owned = self.wait_to_own(lock, block, policy);
        self.tell_wait(lock, block != Block::Writers, policy);
        owned
    }

    fn wait_to_own(
        &self,
        lock: &Arc<TableLock>,
        block: Block,
        policy: &WaitPolicy<'_>,
    ) -> Result<(), Failure> {
        let deadline = Instant::now().checked_add(policy.timeout);
        let locks = &self.locks;
        let mut state = locks.state.lock();
        let own_readers = u64::from(self.keeps_off(lock));
        let want = MdlRequest::Own(block);
        let mine = loop {
            match (lock.blocker(), block) {
                _ if lock.altered_beside(self.session, block).is_some() => {
                    self.wait(&mut state, lock, want, deadline, policy)?;
                }
                (Blocker::Owner(owner), _) if owner == self.session => return Ok(()),
                (Blocker::Readers(_), Block::Writers) if own_readers > 0 => return Ok(()),
                (Blocker::None, Block::Writers) => break Blocker::Readers(1),
                (Blocker::Readers(n), Block::Writers) => break Blocker::Readers(n + 1),
                (Blocker::None, _) => break Blocker::Owner(self.session),
                (Blocker::Readers(n), Block::Users | Block::Definition) if n == own_readers => {
                    break Blocker::Owner(self.session);
                }
                _ => self.wait(&mut state, lock, want, deadline, policy)?,
            }
        };
        lock.set_blocker(mine);
        fence(Ordering::SeqCst);
        loop {
            let in_use = state
                .sessions
                .iter()
                .filter_map(Weak::upgrade)
                .any(|other| other.session != self.session && other.uses(lock, block));
            if !in_use {
                break;
            }
            if let Err(failure) = self.wait(&mut state, lock, want, deadline, policy) {
                if own_readers > 0 {
                    lock.set_blocker(Blocker::Readers(own_readers));
                } else {
                    lock.release();
                }
                locks.changed.notify_all();
                return Err(failure);
            }
        }
        let mut owned = self.owned.lock();
        match owned.iter_mut().find(|(owned, _)| Arc::ptr_eq(owned, lock)) {
            Some((_, had)) => *had = block,
            None => owned.push((Arc::clone(lock), block)),
        }
        Ok(())
    }

    /// Waits until something changes; not at all if the wait would close a cycle.
    fn wait(
        &self,
        state: &mut parking_lot::MutexGuard<'_, State>,
        lock: &Arc<TableLock>,
        want: MdlRequest,
        deadline: Option<Instant>,
        policy: &WaitPolicy<'_>,
    ) -> Result<(), Failure> {
        let waited = if state.closes_cycle(self.session, lock, want) {
            Err(Failure::Deadlock)
        } else {
            state.waits.insert(self.session, (Arc::clone(lock), want));
            self.waits_since.lock().get_or_insert_with(Instant::now);
            let waited = self.locks.wait(state, deadline, policy);
            state.waits.remove(&self.session);
            waited
        };
        waited.inspect_err(|failure| {
            if *failure != Failure::Interrupted {
                self.note_refused(state, lock, want);
            }
        })
    }

    /// Gives up the locks taken by [`Holder::own`] since `keep` of them were held.
    pub fn release_owned_after(&self, keep: usize) {
        if self.owned_count() <= keep {
            return;
        }
        // The common mutex first, as wherever both are held.
        let _state = self.locks.state.lock();
        let mut owned = self.owned.lock();
        for (lock, block) in owned.drain(keep..) {
            self.give_up(&lock, block);
        }
        self.locks.changed.notify_all();
    }

    /// Gives up one lock taken by [`Holder::own`].
    fn disown(&self, lock: &Arc<TableLock>) {
        let _state = self.locks.state.lock();
        let mut owned = self.owned.lock();
        if let Some(at) = owned.iter().position(|(owned, _)| Arc::ptr_eq(owned, lock)) {
            let (lock, block) = owned.remove(at);
            self.give_up(&lock, block);
        }
        drop(owned);
        self.locks.changed.notify_all();
    }

    /// How many locks it owns, for [`Holder::release_owned_after`].
    pub fn owned_count(&self) -> usize {
        self.owned.lock().len()
    }

    /// Releases all locks, used and owned.
    pub fn release_all(&self) {
        self.release_used();
        self.release_owned_after(0);
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.release_all();
    }
}

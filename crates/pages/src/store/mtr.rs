//! Mini-transactions: changes of pages that happen together, as one record of the log.
//!
//! A mini-transaction owns the exclusive latches of the pages it changes until it commits, so no thread sees half of it;
//! and it is one record, so recovery replays all of it or nothing. It cannot be undone: the code that builds one makes sure
//! first that it will work (pages latched, room reserved) and then only applies.
//!
//! Committing waits for nothing but a full log buffer. The order at commit is the whole write-ahead rule:
//!
//! 1. every page changed gets a `rec_lsn` no later than the record's place, *before* that place is reserved, so that a
//!    checkpoint which overlooks the page cannot lie behind the record;
//! 2. the place is reserved, filled and published;
//! 3. the pages get the record's end as their LSN, up to which the cleaner has the log flushed before it writes them;
//! 4. the latches are released.
//!
//! A *scratch* mini-transaction is about pages that no log knows: the same changes, without a record. It is for structures
//! that are void after a restart.

use super::Store;
use super::op::{Format, PageOp, ROOTS, SetRoot};
use super::space::SpaceGuard;
use crate::error::Result;
use crate::ids::{Lsn, PageId, TxnId};
use crate::log::{MtrLsn, RECORD_ALIGN, RECORD_HEADER, TxnNote, finish_record, push_op};
use crate::pool::{ExclusiveGuard, PageBuf, page_type};
use crate::tally::{self, Event};
use std::cell::Cell;

/// A page in a mini-transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageHandle(u32);

struct Latched<'s> {
    guard: ExclusiveGuard<'s>,
    changed: bool,
}

/// Most mini-transactions change a page or two; those are kept in place.
const INLINE: usize = 4;

struct Pages<'s> {
    inline: [Option<Latched<'s>>; INLINE],
    more: Vec<Latched<'s>>,
    len: u32,
}

impl<'s> Pages<'s> {
    #[inline]
    fn new() -> Pages<'s> {
        Pages {
            inline: [const { None }; INLINE],
            more: Vec::new(),
            len: 0,
        }
    }

    #[inline]
    fn push(&mut self, latched: Latched<'s>) -> PageHandle {
        let at = self.len;
        match self.inline.get_mut(at as usize) {
            Some(place) => *place = Some(latched),
            None => self.more.push(latched),
        }
        self.len += 1;
        PageHandle(at)
    }

    #[inline]
    fn get(&self, handle: PageHandle) -> &Latched<'s> {
        let at = handle.0 as usize;
        if at < INLINE {
            self.inline[at].as_ref().expect("a page of this mtr")
        } else {
            &self.more[at - INLINE]
        }
    }

    #[inline]
    fn get_mut(&mut self, handle: PageHandle) -> &mut Latched<'s> {
        let at = handle.0 as usize;
        if at < INLINE {
            self.inline[at].as_mut().expect("a page of this mtr")
        } else {
            &mut self.more[at - INLINE]
        }
    }

    #[inline]
    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Latched<'s>> {
        self.inline.iter_mut().flatten().chain(&mut self.more)
    }

    #[inline]
    fn handle_of(&self, page: PageId) -> Option<PageHandle> {
        (0..self.len)
            .map(PageHandle)
            .find(|&handle| self.get(handle).guard.id() == page)
    }
}

/// What a mini-transaction writes into; kept by the thread from one to the next.
#[derive(Default)]
struct Buffers {
    record: Vec<u8>,
    payload: Vec<u8>,
}

/// A buffer that grew beyond this is not kept.
const BUFFER_KEEP: usize = 256 << 10;

thread_local! {
    static BUFFERS: Cell<Option<Box<Buffers>>> = const { Cell::new(None) };
}

/// A note but for its payload.
#[derive(Clone, Copy)]
enum Note {
    Undo { txn: TxnId, prev: Lsn },
    Other(TxnNote<'static>),
}

/// A mini-transaction: changes of pages that take effect together, at [`commit`](Mtr::commit).
pub struct Mtr<'s> {
    store: &'s Store,
    pages: Pages<'s>,
    buffers: Option<Box<Buffers>>,
    note: Option<Note>,
    space: Option<SpaceGuard<'s>>,
    /// Free pages, latched, that allocations to come will take.
    pub(super) reserved: Vec<ExclusiveGuard<'s>>,
    committed: bool,
    /// It may use the pages that are promised to undoing.
    urgent: bool,
    /// All pages are scratch pages, and nothing is logged.
    scratch: bool,
    /// Scratch pages that are free from the commit on.
    freed: Vec<PageId>,
}

impl<'s> Mtr<'s> {
    #[inline]
    pub(super) fn new(store: &'s Store) -> Mtr<'s> {
        let mut buffers = BUFFERS.take().unwrap_or_default();
        buffers.record.clear();
        buffers.record.resize(RECORD_HEADER, 0);
        buffers.payload.clear();
        Mtr {
            store,
            pages: Pages::new(),
            buffers: Some(buffers),
            note: None,
            space: None,
            reserved: Vec::new(),
            committed: false,
            urgent: false,
            scratch: false,
            freed: Vec::new(),
        }
    }

    /// One that may use what is kept for undoing.
    #[inline]
    pub(super) fn new_urgent(store: &'s Store) -> Mtr<'s> {
        let mut mtr = Mtr::new(store);
        mtr.urgent = true;
        mtr
    }

    pub(super) fn is_urgent(&self) -> bool {
        self.urgent
    }

    #[inline]
    pub(super) fn new_scratch(store: &'s Store) -> Mtr<'s> {
        let mut mtr = Mtr::new(store);
        mtr.scratch = true;
        mtr
    }

    /// The store whose pages it changes.
    #[inline]
    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// The mini-transaction owns the latch until it commits.
    #[inline]
    pub fn add(&mut self, guard: ExclusiveGuard<'s>) -> PageHandle {
        debug_assert_eq!(
            guard.id().is_scratch(),
            self.scratch,
            "scratch pages are not logged"
        );
        self.pages.push(Latched {
            guard,
            changed: false,
        })
    }

    /// The bytes of a page that it holds.
    #[inline]
    pub fn page(&self, handle: PageHandle) -> &PageBuf {
        &self.pages.get(handle).guard
    }

    /// The number of a page that it holds.
    #[inline]
    pub fn id(&self, handle: PageHandle) -> PageId {
        self.pages.get(handle).guard.id()
    }

    /// Whether this mini-transaction holds the page already, and as what.
    #[inline]
    pub(crate) fn handle_of(&self, page: PageId) -> Option<PageHandle> {
        self.pages.handle_of(page)
    }

    /// Records the op and does it.
    #[inline]
    pub fn apply<O: PageOp>(&mut self, handle: PageHandle, op: &O) {
        let latched = self.pages.get_mut(handle);
        if self.scratch {
            op.apply(latched.guard.scratch_mut());
            return;
        }
        let record = &mut self.buffers.as_mut().expect("not committed").record;
        push_op(record, latched.guard.id(), O::KIND, |out| op.encode(out));
        latched.changed = true;
        op.apply(latched.guard.bytes_mut());
    }

    /// Changes bytes of a logged page that mean nothing after a restart, and no other ones: nothing is recorded.
    pub(crate) fn change_unlogged(&mut self, handle: PageHandle, change: impl FnOnce(&mut PageBuf)) {
        let store = self.store;
        let latched = self.pages.get_mut(handle);
        // Dirty all the same: the change must survive the page's being evicted.
        store.pool().set_dirty(latched.guard.id(), || store.log().tail());
        change(latched.guard.bytes_mut());
    }

    /// Bytes recorded so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.buffers().record.len() + self.buffers().payload.len()
    }

    /// Whether nothing was recorded, so that dropping it is harmless.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.buffers().record.len() == RECORD_HEADER && self.note.is_none()
    }

    #[inline]
    fn buffers(&self) -> &Buffers {
        self.buffers.as_ref().expect("not committed")
    }

    /// Says what the mini-transaction means to its transaction; at most once.
    #[inline]
    pub fn note(&mut self, note: TxnNote<'_>) {
        debug_assert!(
            self.note.is_none() && !self.scratch,
            "one note per mini-transaction"
        );
        self.note = Some(match note {
            TxnNote::Undo { txn, prev, payload } => {
                self.buffers
                    .as_mut()
                    .expect("not committed")
                    .payload
                    .extend_from_slice(payload);
                Note::Undo { txn, prev }
            }
            TxnNote::Clr { txn, undo_next } => Note::Other(TxnNote::Clr { txn, undo_next }),
            TxnNote::Commit { txn } => Note::Other(TxnNote::Commit { txn }),
            TxnNote::RolledBack { txn } => Note::Other(TxnNote::RolledBack { txn }),
        });
    }

    /// Makes sure that the next `count` calls of [`alloc_page`](Self::alloc_page) will succeed. To be called before
    /// anything is applied; takes the lock on allocation, which is held until the commit. A mini-transaction that only
    /// reserved can be dropped.
    pub fn reserve_pages(&mut self, count: usize) -> Result<()> {
        if self.scratch {
            while self.reserved.len() < count {
                self.reserved.push(self.store.alloc_scratch(page_type::TREE)?);
            }
            return Ok(());
        }
        self.with_space(|space, mtr| space.reserve(mtr, count))
    }

    /// A new page, formatted and latched.
    pub fn alloc_page(&mut self, page_type: u8, level: u8) -> Result<PageHandle> {
        if self.reserved.is_empty() {
            self.reserve_pages(1)?;
        }
        let guard = self.reserved.remove(0);
        let page = guard.id();
        let handle = self.add(guard);
        self.apply(
            handle,
            &Format {
                page,
                page_type,
                level,
            },
        );
        if !self.scratch {
            self.with_space(|space, mtr| space.take(mtr, page))?;
        }
        tally::count(Event::PageCreated, 1);
        Ok(handle)
    }

    /// The same, not far from another page if that can be had.
    pub(crate) fn alloc_page_near(&mut self, near: PageId, page_type: u8, level: u8) -> Result<PageHandle> {
        if self.reserved.is_empty() && !self.scratch {
            self.with_space(|space, mtr| space.reserve_near(mtr, near))?;
        }
        self.alloc_page(page_type, level)
    }

    pub(super) fn format_unread(&mut self, page: PageId, page_type: u8, level: u8) -> Result<PageHandle> {
        let handle = self.add(self.store.pool().exclusive_unread(page)?);
        self.apply(
            handle,
            &Format {
                page,
                page_type,
                level,
            },
        );
        Ok(handle)
    }

    /// Frees pages; see [`free_page`](Self::free_page). If one of them cannot be freed, none is: what a damaged page leads to
    /// is found out before anything is changed.
    pub fn free_pages(&mut self, pages: &[PageId]) -> Result<()> {
        if !self.scratch {
            self.with_space(|space, mtr| space.check_used(mtr, pages))?;
        }
        pages.iter().try_for_each(|&page| self.free_page(page))
    }

    /// The page is free from this mini-transaction on. Its latch, if this one holds it, is kept until the commit.
    pub fn free_page(&mut self, page: PageId) -> Result<()> {
        if self.scratch {
            self.freed.push(page);
            return Ok(());
        }
        self.with_space(|space, mtr| space.free(mtr, page))
    }

    /// Sees to it that [`set_root`](Self::set_root) will succeed. To be called before anything is applied.
    pub fn hold_roots(&mut self) -> Result<()> {
        self.hold(PageId(0)).map(drop)
    }

    /// Changes a root slot of the superblock; see [`Store::root`].
    pub fn set_root(&mut self, slot: usize, value: u64) -> Result<()> {
        assert!(slot < ROOTS);
        let superblock = self.hold(PageId(0))?;
        self.apply(
            superblock,
            &SetRoot {
                slot: slot as u8,
                value,
            },
        );
        Ok(())
    }

    /// The page, latched now if it was not.
    pub(super) fn hold(&mut self, page: PageId) -> Result<PageHandle> {
        match self.handle_of(page) {
            Some(handle) => Ok(handle),
            None => Ok(self.add(self.store.pool().exclusive(page)?)),
        }
    }

    fn with_space<T>(&mut self, f: impl FnOnce(&mut SpaceGuard<'s>, &mut Mtr<'s>) -> Result<T>) -> Result<T> {
        let mut space = self.space.take().unwrap_or_else(|| self.store.space().lock());
        let done = f(&mut space, self);
        self.space = Some(space);
        done
    }

    /// Logs the changes as one record and releases the pages. Returns where the record stands.
    #[inline]
    pub fn commit(self) -> MtrLsn {
        self.commit_with(|_| {})
    }

    /// Commits; `before_publish` learns the record's end before any other thread can. An empty one leaves no record and
    /// ends at zero.
    #[inline]
    pub fn commit_with(mut self, before_publish: impl FnOnce(Lsn)) -> MtrLsn {
        // While it still counts as abandoned: an incomplete change must not be seen by any thread.
        assert!(
            self.scratch || self.len() + RECORD_ALIGN as usize <= self.store.log().record_max(),
            "a mini-transaction of {} bytes",
            self.len()
        );
        self.committed = true;
        if self.is_empty() {
            return MtrLsn::default();
        }
        let (store, note) = (self.store, self.note);
        let log = store.log();
        let buffers = self.buffers.as_mut().expect("not committed");
        let ops_len = buffers.record.len() - RECORD_HEADER;
        buffers.record.extend_from_slice(&buffers.payload);
        let note = note.map(|note| match note {
            Note::Undo { txn, prev } => TxnNote::Undo {
                txn,
                prev,
                payload: &buffers.payload,
            },
            Note::Other(note) => note,
        });
        finish_record(&mut buffers.record, ops_len, note, log.epoch(), log.flushed());
        for latched in self.pages.iter_mut().filter(|l| l.changed) {
            store.pool().set_dirty(latched.guard.id(), || log.tail());
        }
        let lsn = log.append(&buffers.record, before_publish);
        tally::count(Event::LogRecord, 1);
        let mut changed = 0;
        for latched in self.pages.iter_mut().filter(|l| l.changed) {
            latched.guard.bytes_mut().set_lsn(lsn.end);
            changed += 1;
        }
        tally::count(Event::PageChange, changed);
        if let Some(space) = &mut self.space {
            space.committed(lsn.end);
        }
        lsn
    }
}

impl Drop for Mtr<'_> {
    fn drop(&mut self) {
        if !self.committed && !self.is_empty() {
            // Pages are half changed and nothing in the log says how; only the log knows what they were.
            ::log::error!(
                "a mini-transaction was abandoned after it had changed pages; stopping to recover."
            );
            std::process::abort();
        }
        if let Some(buffers) = self.buffers.take()
            && buffers.record.capacity() + buffers.payload.capacity() <= BUFFER_KEEP
        {
            BUFFERS.set(Some(buffers));
        }
        if self.scratch {
            // Freeing waits for the page's latch, so ours go first.
            self.pages = Pages::new();
            let unused = self.reserved.drain(..).map(|guard| guard.id());
            let unused: Vec<PageId> = unused.collect();
            let freed = if self.committed { &self.freed[..] } else { &[] };
            unused
                .iter()
                .chain(freed)
                .for_each(|&page| self.store.free_scratch(page));
        }
    }
}

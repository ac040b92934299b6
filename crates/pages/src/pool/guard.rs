//! The right to touch a page, as values: it lasts as long as the guard.
//!
//! | guard | others may | the bytes are |
//! |---|---|---|
//! | [`OptimisticGuard`] | do anything | a rumour, until [`validate`](OptimisticGuard::validate) says they were true |
//! | [`SharedGuard`] | read | true |
//! | [`ExclusiveGuard`] | not even read | ours |

use super::Pool;
use super::latch::{Latch, Version};
use super::page::PageBuf;
use crate::ids::PageId;
use std::mem;
use std::ops::Deref;
use std::ptr::NonNull;

/// The page changed under an optimistic reader: begin again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Restart;

impl Pool {
    #[inline]
    fn latch_of(&self, page: PageId) -> &Latch {
        &self.arena.state(page).latch
    }
}

/// Where a page lies as long as its guard lasts.
#[derive(Clone, Copy)]
struct At(NonNull<PageBuf>);

// SAFETY: it is used through a guard alone, which is the right to.
#[allow(unsafe_code)]
unsafe impl Send for At {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for At {}

#[derive(Clone, Copy)]
pub struct OptimisticGuard<'p> {
    pool: &'p Pool,
    page: PageId,
    version: Version,
    at: At,
}

impl<'p> OptimisticGuard<'p> {
    #[inline]
    pub(super) fn new(pool: &'p Pool, page: PageId, version: Version) -> OptimisticGuard<'p> {
        // After the version, so that this is where the page lay then, or lay later.
        let at = At(pool.arena.page(page));
        OptimisticGuard {
            pool,
            page,
            version,
            at,
        }
    }

    /// Where the page lies: [`PAGE_SIZE`](crate::ids::PAGE_SIZE) readable bytes, aligned to a page of memory, for as long
    /// as the pool lives. Others may be writing there, even another page, so read through raw pointers, with atomic or
    /// volatile loads, and check every offset found there before following it.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.at.0.as_ptr().cast_const().cast()
    }

    /// Ok if everything read through this guard so far was true, at one moment.
    #[inline]
    pub(crate) fn validate(&self) -> Result<(), Restart> {
        if self.pool.latch_of(self.page).validate(self.version) {
            Ok(())
        } else {
            Err(Restart)
        }
    }

    /// A share of the page, unchanged since this guard was obtained.
    #[inline]
    pub(crate) fn into_shared(self) -> Result<SharedGuard<'p>, Restart> {
        if self.pool.latch_of(self.page).share_at(self.version) {
            Ok(SharedGuard::new(self.pool, self.page))
        } else {
            Err(Restart)
        }
    }

    /// The page for oneself, unchanged since this guard was obtained. Waits for sharers.
    #[inline]
    pub(crate) fn into_exclusive(self) -> Result<ExclusiveGuard<'p>, Restart> {
        if self.pool.latch_of(self.page).exclude_at(self.version) {
            Ok(ExclusiveGuard::new(self.pool, self.page))
        } else {
            Err(Restart)
        }
    }
}

/// A shared latch on a page: other threads may read it, none can change it.
pub struct SharedGuard<'p> {
    pool: &'p Pool,
    page: PageId,
    at: At,
}

impl<'p> SharedGuard<'p> {
    #[inline]
    pub(super) fn new(pool: &'p Pool, page: PageId) -> SharedGuard<'p> {
        let at = At(pool.arena.page(page));
        SharedGuard { pool, page, at }
    }

    /// The page's number.
    #[inline]
    pub fn id(&self) -> PageId {
        self.page
    }
}

#[allow(unsafe_code)]
impl Deref for SharedGuard<'_> {
    type Target = PageBuf;
    #[inline]
    fn deref(&self) -> &PageBuf {
        // SAFETY: while we hold a share no thread writes to the page or evicts it.
        unsafe { self.at.0.as_ref() }
    }
}

impl Drop for SharedGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.pool.latch_of(self.page).unlock_shared();
    }
}

/// Changing a logged page is the mini-transaction's affair, so this gives only the right to; scratch pages, which no
/// log knows, can be changed through [`scratch_mut`](Self::scratch_mut).
pub struct ExclusiveGuard<'p> {
    pool: &'p Pool,
    page: PageId,
    at: At,
}

impl<'p> ExclusiveGuard<'p> {
    #[inline]
    pub(super) fn new(pool: &'p Pool, page: PageId) -> ExclusiveGuard<'p> {
        let at = At(pool.arena.page(page));
        ExclusiveGuard { pool, page, at }
    }

    /// The page's number.
    #[inline]
    pub fn id(&self) -> PageId {
        self.page
    }

    /// Turns the latch into a shared one; no other thread can change the page in between.
    #[inline]
    pub fn downgrade(self) -> SharedGuard<'p> {
        let guard = mem::ManuallyDrop::new(self);
        guard.pool.latch_of(guard.page).downgrade();
        SharedGuard::new(guard.pool, guard.page)
    }

    /// The bytes of a scratch page, to change them.
    #[inline]
    pub fn scratch_mut(&mut self) -> &mut PageBuf {
        assert!(self.page.is_scratch());
        self.pool.set_scratch_dirty(self.page);
        self.bytes_mut()
    }

    /// The bytes of the page, for the floor that logs what is done to them and says `set_dirty`.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn bytes_mut(&mut self) -> &mut PageBuf {
        // SAFETY: we hold the page exclusively, and the reference borrows the guard.
        unsafe { self.at.0.as_mut() }
    }
}

#[allow(unsafe_code)]
impl Deref for ExclusiveGuard<'_> {
    type Target = PageBuf;
    #[inline]
    fn deref(&self) -> &PageBuf {
        // SAFETY: we hold the page exclusively.
        unsafe { self.at.0.as_ref() }
    }
}

impl Drop for ExclusiveGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.pool.latch_of(self.page).unlock_exclusive();
    }
}

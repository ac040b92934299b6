//! Which pages of the data file are used: one bit each, in bitmap pages spread over the file.
//!
//! ```text
//!  page 0       1         2 …              1 + BITS   2 + BITS …
//!  superblock   bitmap 0  pages it covers  bitmap 1   pages it covers
//! ```
//!
//! Bit *i* of the bitmap in page *b* speaks for page *b + i*; bit 0, the bitmap itself, is always set. The bits are
//! logged and recovered like any page; this module keeps what follows from them (how many are free, where to look next)
//! and one lock, held from a mini-transaction's first allocation until its commit, so that both always agree.
//!
//! *Where.* A tree that grows takes its pages from the extent of the page that it splits, and when that is full a free
//! extent; so what is read together lies together, and small tables share extents. If no extent is free any page will do,
//! and the file grows only when there is none: room comes before order.
//!
//! The file grows by `fallocate`, so writing a page never fails for want of room. Free pages are used again. A whole
//! extent of free pages is given back to the file system once no redo can touch them any more, that is when a
//! checkpoint has passed the moment they were freed, and allocated again before one of its pages is used.
//!
//! *Promised.* A rollback must be possible on a full disk, and it may have to split pages: rows have become shorter, and others
//! have taken the room. So before a transaction makes a row shorter it has pages promised to it. There are always as many free pages
//! that have room on the disk as are promised, and only urgent mini-transactions take from them.

use super::Store;
use super::mtr::Mtr;
use super::op::{BITS, SetBits, bit_at};
use crate::disk::File;
use crate::error::{Error, Result};
use crate::ids::{Lsn, PAGE_SIZE, PageId};
use crate::pool::{PAGE_HEADER, PageBuf, Pool, page_type};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Pages given back, and taken again, together: a mebibyte.
const EXTENT: u32 = 64;
/// The file grows by an eighth of itself, within these bounds.
const GROW_MIN: u32 = 64;
const GROW_MAX: u32 = 4096;
/// Free pages besides those that are promised: splits go up to the root now and then.
const SPARE: u32 = 8;
const NOT_IN_USE: &str = "a page that is not in use cannot be freed";
/// Extents given back under one hold of the lock.
const PUNCH_AT_ONCE: usize = 16;

/// Bitmap pages are spaced by so many, from page 1 on.
pub(super) const BITMAP_EVERY: u32 = BITS;

pub(super) struct Space {
    data: Arc<dyn File>,
    state: Mutex<State>,
    /// `end`, for readers that must not wait for the lock.
    allocated: AtomicU32,
}

struct State {
    /// Pages the file has room for.
    end: u32,
    /// Free pages below `end`, by bitmap.
    free: Vec<u32>,
    /// Where to look next.
    hint: u32,
    /// Where to look for a free extent next; `None` if there was none, and none has come since.
    extent_hint: Option<u32>,
    /// Free extents that may have no room on disk.
    unbacked: BTreeSet<u32>,
    /// Pages that undoing may need.
    promised: u32,
    /// Extents in which a page was freed, and when the last one was.
    emptied: BTreeMap<u32, Lsn>,
    /// Extents in which the mini-transaction now holding the lock has freed a page, and whether it was the last.
    freeing: Vec<(u32, bool)>,
}

/// The lock on allocation.
pub(super) struct SpaceGuard<'s> {
    data: &'s dyn File,
    state: MutexGuard<'s, State>,
    allocated: &'s AtomicU32,
}

fn bitmap_of(page: PageId) -> usize {
    ((page.0 - 1) / BITS) as usize
}

fn bitmap_page(bitmap: usize) -> PageId {
    PageId(1 + bitmap as u32 * BITS)
}

impl Space {
    pub fn new(data: Arc<dyn File>) -> Space {
        let state = State {
            end: 0,
            free: Vec::new(),
            hint: 1,
            extent_hint: Some(1),
            unbacked: BTreeSet::new(),
            promised: 0,
            emptied: BTreeMap::new(),
            freeing: Vec::new(),
        };
        Space {
            data,
            state: Mutex::new(state),
            allocated: AtomicU32::new(0),
        }
    }

    pub fn lock(&self) -> SpaceGuard<'_> {
        SpaceGuard {
            data: &*self.data,
            state: self.state.lock(),
            allocated: &self.allocated,
        }
    }

    /// Learns from the bitmaps, which from now on stay in memory. What is free may have been freed just before a crash, and its
    /// room not been given back: it will be when a checkpoint has passed `log_end`, up to where the log was redone. `lenient`: a bitmap that cannot be read ends what can be used.
    pub fn load(&self, pool: &Pool, log_end: Lsn, lenient: bool) -> Result<()> {
        let mut state = self.state.lock();
        let in_file = (self.data.len()? / PAGE_SIZE as u64).min(u64::from(PageId::DATA_END)) as u32;
        state.end = in_file;
        state.free.clear();
        while bitmap_page(state.free.len()).0 < PageId::DATA_END {
            let bitmap = state.free.len();
            let page = match pool.shared(bitmap_page(bitmap)) {
                // What lies behind it can be read, and nothing be allocated there.
                Err(Error::Corrupt { .. }) if lenient => break,
                found => found?,
            };
            if page.page_type() != page_type::BITMAP {
                let first = bitmap_page(bitmap);
                match self.first_used(first, in_file)? {
                    // The file grew, and the power went before the bitmap of what is new was certain.
                    None => state.end = state.end.min(first.0),
                    Some(used) if !lenient => {
                        let what = format!(
                            "it is no bitmap, although page {used} has been in use: a write was lost"
                        );
                        return Err(Error::corrupt(first, what));
                    }
                    // As above.
                    Some(_) => {}
                }
                break;
            }
            // Or the bitmap was certain, by the log, and the file's new length was not.
            if let Some(last) = (0..BITS).rev().find(|&bit| bit_at(&page, bit)) {
                state.end = state.end.max(bitmap_page(bitmap).0 + last + 1);
            }
            let covered = BITS.min(state.end - bitmap_page(bitmap).0);
            let free = (0..covered).filter(|&bit| !bit_at(&page, bit)).count();
            state.free.push(free as u32);
            for extent in (0..covered)
                .step_by(EXTENT as usize)
                .map(|bit| bitmap_page(bitmap).0 + bit)
            {
                if extent_is_free(&page, extent, state.end) {
                    state.unbacked.insert(extent);
                    state.emptied.insert(extent, log_end);
                }
            }
        }
        if state.end > in_file {
            let grown = u64::from(state.end - in_file) * PAGE_SIZE as u64;
            self.data.allocate(u64::from(in_file) * PAGE_SIZE as u64, grown)?;
        }
        self.allocated.store(state.end, Ordering::Release);
        Ok(())
    }

    /// The first page that shows that a bitmap which is not there has been: the superblock, which is younger than the first one,
    /// or a page behind it. What a page is written for was logged before that, and the bitmap before what it speaks for; so had its
    /// record been lost with the power, none of them would be on the disk.
    fn first_used(&self, bitmap: PageId, end: u32) -> Result<Option<PageId>> {
        let behind = bitmap.0 + 1..end.min(bitmap.0.saturating_add(BITS));
        let mut page = PageBuf::zeroed();
        for id in (bitmap.0 == 1).then_some(0).into_iter().chain(behind) {
            self.data
                .read_at(&mut page[..], u64::from(id) * PAGE_SIZE as u64)?;
            if page.iter().any(|&byte| byte != 0) {
                return Ok(Some(PageId(id)));
            }
        }
        Ok(None)
    }

    /// Whether there may be extents to give back.
    pub fn may_punch(&self) -> bool {
        self.state
            .try_lock()
            .is_some_and(|state| !state.emptied.is_empty())
    }

    /// The data file itself.
    pub fn file(&self) -> &dyn File {
        &*self.data
    }

    /// Pages that the file has room for.
    pub fn allocated(&self) -> u32 {
        self.allocated.load(Ordering::Acquire)
    }

    /// Pages in the file, and how many of them are free.
    pub fn count(&self) -> (u32, u32) {
        let state = self.state.lock();
        (state.end, state.free.iter().sum())
    }

    /// Whether the page is in use.
    pub fn is_used(&self, pool: &Pool, page: PageId) -> Result<bool> {
        let end = self.state.lock().end;
        if page.0 == 0 || page.0 >= end {
            return Ok(page.0 == 0);
        }
        let bitmap = bitmap_page(bitmap_of(page));
        Ok(bit_at(&*pool.shared(bitmap)?, page.0 - bitmap.0))
    }

    /// Gives extents back that were emptied before `passed`. For the cleaner, between batches, so that no page is being
    /// written meanwhile.
    pub fn punch(&self, pool: &Pool, passed: Lsn) -> Result<()> {
        let mut from = 0;
        // Another time, if a thread is allocating: that one may be waiting for the cleaner.
        while let Some(mut state) = self.state.try_lock() {
            let ripe = state
                .emptied
                .range(from..)
                .filter(|&(_, &freed)| freed <= passed)
                .map(|(&extent, _)| extent);
            let ripe: Vec<u32> = ripe.take(PUNCH_AT_ONCE).collect();
            let Some(last) = ripe.last() else { break };
            from = last + 1;
            for extent in ripe {
                let is_promised = state.promised > 0
                    && !state.unbacked.contains(&extent)
                    && state.backed() < state.promised + SPARE + EXTENT;
                if is_promised || (extent..extent + EXTENT).any(|page| pool.is_dirty(PageId(page))) {
                    continue;
                }
                state.emptied.remove(&extent);
                let bitmap = pool.shared(bitmap_page(bitmap_of(PageId(extent))))?;
                if extent_is_free(&bitmap, extent, state.end) {
                    (extent..extent + EXTENT).for_each(|page| pool.forget_written(PageId(page)));
                    self.data.punch(
                        u64::from(extent) * PAGE_SIZE as u64,
                        u64::from(EXTENT) * PAGE_SIZE as u64,
                    )?;
                    state.unbacked.insert(extent);
                }
            }
        }
        Ok(())
    }
}

impl State {
    /// Free pages that have room on the disk.
    fn backed(&self) -> u32 {
        let free: u32 = self.free.iter().sum();
        free.saturating_sub(self.unbacked.len() as u32 * EXTENT)
    }
}

/// The extent a page lies in; extents are counted from their bitmap page on.
fn extent_of(page: PageId) -> u32 {
    let bitmap = bitmap_page(bitmap_of(page)).0;
    bitmap + (page.0 - bitmap) / EXTENT * EXTENT
}

/// Whether an extent is whole (within its bitmap's pages and the file) and free.
fn extent_is_free(bitmap: &PageBuf, extent: u32, end: u32) -> bool {
    let first = extent - bitmap_page(bitmap_of(PageId(extent))).0;
    let at = PAGE_HEADER + first as usize / 8;
    extent + EXTENT <= end
        && first + EXTENT <= BITS
        && bitmap[at..at + EXTENT as usize / 8].iter().all(|&b| b == 0)
}

/// The first unset bit in a range.
fn find_free(bitmap: &PageBuf, from: u32, to: u32) -> Option<u32> {
    let mut bit = from;
    while bit < to {
        if bit.is_multiple_of(8) && bitmap[PAGE_HEADER + bit as usize / 8] == 0xFF {
            bit += 8;
        } else if bit_at(bitmap, bit) {
            bit += 1;
        } else {
            return Some(bit);
        }
    }
    None
}

impl<'s> SpaceGuard<'s> {
    /// Finds so many free pages that `mtr` holds `count` of them, each latched and with room on disk. Nothing is applied.
    pub fn reserve(&mut self, mtr: &mut Mtr<'s>, count: usize) -> Result<()> {
        self.leave_promised(mtr, count)?;
        while (self.state.free.iter().sum::<u32>() as usize) < count {
            self.grow(mtr.store(), count)?;
        }
        while mtr.reserved.len() < count {
            let Some(mut page) = self.find(mtr, |_| true)? else {
                return Err(Error::corrupt(None, "the free pages counted are not there"));
            };
            if let Err(error) = self.back(page) {
                // The disk has no room for an extent that was given back. A page that has some, then.
                let unbacked = &self.state.unbacked;
                page = self
                    .find(mtr, |page| !unbacked.contains(&extent_of(page)))?
                    .ok_or(error)?;
            }
            self.state.hint = page.0 + 1;
            Self::latch(mtr, page)?;
        }
        Ok(())
    }

    /// The same for one page that should lie near another.
    pub fn reserve_near(&mut self, mtr: &mut Mtr<'s>, near: PageId) -> Result<()> {
        debug_assert!(mtr.reserved.is_empty());
        self.leave_promised(mtr, 1)?;
        let page = match self.find_in_extent(mtr, near)? {
            Some(page) => Some(page),
            None => self.find_extent(mtr)?,
        };
        if let Some(page) = page {
            if self.back(page).is_ok() {
                return Self::latch(mtr, page);
            }
            // None has room on disk, until one is free that was not.
            self.state.extent_hint = None;
        }
        self.reserve(mtr, 1)
    }

    /// Sees to it that what is promised is still there when so many pages are taken.
    fn leave_promised(&mut self, mtr: &Mtr<'s>, count: usize) -> Result<()> {
        match self.state.promised {
            0 => Ok(()),
            _ if mtr.is_urgent() => Ok(()),
            promised => self.have_backed(mtr.store(), promised + count as u32 + SPARE),
        }
    }

    /// Promises so many pages more to undoing.
    pub fn promise(&mut self, store: &'s Store, count: u32) -> Result<()> {
        self.have_backed(store, self.state.promised + count + SPARE)?;
        self.state.promised += count;
        Ok(())
    }

    /// So many are not needed any more.
    pub fn take_back(&mut self, count: u32) {
        self.state.promised -= count;
    }

    /// Sees to it that so many free pages have room on the disk.
    fn have_backed(&mut self, store: &'s Store, count: u32) -> Result<()> {
        while self.state.backed() < count {
            match self.state.unbacked.first() {
                Some(&extent) => self.back(PageId(extent))?,
                None => self.grow(store, (count - self.state.backed()) as usize)?,
            }
        }
        Ok(())
    }

    /// Latches a page that is to be taken and its bitmap, so that nothing has to be read once the mini-transaction has changed pages.
    fn latch(mtr: &mut Mtr<'s>, page: PageId) -> Result<()> {
        mtr.hold(bitmap_page(bitmap_of(page)))?;
        let guard = mtr.store().pool().exclusive_unread(page)?;
        mtr.reserved.push(guard);
        Ok(())
    }

    /// Marks a page used.
    pub fn take(&mut self, mtr: &mut Mtr<'s>, page: PageId) -> Result<()> {
        let bitmap = bitmap_of(page);
        let handle = mtr.hold(bitmap_page(bitmap))?;
        mtr.apply(
            handle,
            &SetBits {
                bit: page.0 - bitmap_page(bitmap).0,
                value: true,
            },
        );
        self.state.free[bitmap] -= 1;
        Ok(())
    }

    /// Fails unless all of the pages are in use, and each is named once: then they can be freed, and nothing has to be read for
    /// that, as their bitmaps are latched.
    pub fn check_used(&self, mtr: &mut Mtr<'s>, pages: &[PageId]) -> Result<()> {
        let mut seen = HashSet::with_capacity(pages.len());
        for &page in pages {
            self.check_within(page)?;
            let first = bitmap_page(bitmap_of(page));
            let bit = page.0 - first.0;
            let bitmap = mtr.hold(first)?;
            if bit == 0 || !seen.insert(page) || !bit_at(mtr.page(bitmap), bit) {
                return Err(Error::corrupt(page, NOT_IN_USE));
            }
        }
        Ok(())
    }

    fn check_within(&self, page: PageId) -> Result<()> {
        if page.0 == 0 || page.0 >= self.state.end {
            return Err(Error::corrupt(page, "a page outside the file cannot be freed"));
        }
        Ok(())
    }

    pub fn free(&mut self, mtr: &mut Mtr<'s>, page: PageId) -> Result<()> {
        self.check_within(page)?;
        let bitmap = bitmap_of(page);
        let bit = page.0 - bitmap_page(bitmap).0;
        let handle = mtr.hold(bitmap_page(bitmap))?;
        if bit == 0 || !bit_at(mtr.page(handle), bit) {
            return Err(Error::corrupt(page, NOT_IN_USE));
        }
        mtr.apply(handle, &SetBits { bit, value: false });
        self.state.free[bitmap] += 1;
        let extent = extent_of(page);
        let is_free = extent_is_free(mtr.page(handle), extent, self.state.end);
        self.state.freeing.push((extent, is_free));
        Ok(())
    }

    /// The mini-transaction has committed, at this moment.
    pub fn committed(&mut self, lsn: Lsn) {
        while let Some((extent, is_free)) = self.state.freeing.pop() {
            self.state.emptied.insert(extent, lsn);
            if is_free {
                self.state.extent_hint.get_or_insert(1);
            }
        }
    }

    /// A free page in the extent of another, behind it if there is one.
    fn find_in_extent(&self, mtr: &Mtr<'s>, near: PageId) -> Result<Option<PageId>> {
        if near.0 == 0 || near.0 >= self.state.end {
            return Ok(None);
        }
        let first = bitmap_page(bitmap_of(near)).0;
        let from = extent_of(near) - first;
        let to = (from + EXTENT).min(BITS).min(self.state.end - first);
        let found = self.look(mtr, PageId(first), |page| {
            find_free(page, near.0 - first, to).or_else(|| find_free(page, from, to))
        })?;
        Ok(found.map(|bit| PageId(first + bit)))
    }

    /// The first page of a free extent.
    fn find_extent(&mut self, mtr: &Mtr<'s>) -> Result<Option<PageId>> {
        let Some(hint) = self.state.extent_hint else {
            return Ok(None);
        };
        for from in [hint, 1] {
            for bitmap in bitmap_of(PageId(from))..self.state.free.len() {
                if self.state.free[bitmap] < EXTENT {
                    continue;
                }
                let (first, end) = (bitmap_page(bitmap).0, self.state.end);
                let found = self.look(mtr, PageId(first), |page| {
                    let mut extents = (first..first + BITS).step_by(EXTENT as usize);
                    extents.find(|extent| *extent >= from && extent_is_free(page, *extent, end))
                })?;
                if let Some(extent) = found {
                    self.state.extent_hint = Some(extent);
                    return Ok(Some(PageId(extent)));
                }
            }
        }
        self.state.extent_hint = None;
        Ok(None)
    }

    /// A free page that `mtr` has not reserved yet and that will do, from the hint on and then from the beginning.
    fn find(&self, mtr: &Mtr<'s>, will_do: impl Fn(PageId) -> bool) -> Result<Option<PageId>> {
        for from in [self.state.hint, 1] {
            for bitmap in bitmap_of(PageId(from))..self.state.free.len() {
                if self.state.free[bitmap] == 0 {
                    continue;
                }
                let first = bitmap_page(bitmap).0;
                let end = BITS.min(self.state.end - first);
                let mut bit = from.saturating_sub(first);
                while let Some(free) =
                    self.look(mtr, bitmap_page(bitmap), |page| find_free(page, bit, end))?
                {
                    let page = PageId(first + free);
                    if mtr.reserved.iter().all(|guard| guard.id() != page) && will_do(page) {
                        return Ok(Some(page));
                    }
                    bit = free + 1;
                }
            }
        }
        Ok(None)
    }

    fn look<T>(&self, mtr: &Mtr<'s>, bitmap: PageId, f: impl Fn(&PageBuf) -> T) -> Result<T> {
        match mtr.handle_of(bitmap) {
            Some(handle) => Ok(f(mtr.page(handle))),
            None => Ok(f(&*mtr.store().pool().shared(bitmap)?)),
        }
    }

    fn back(&mut self, page: PageId) -> Result<()> {
        let extent = extent_of(page);
        if self.state.unbacked.contains(&extent) {
            self.data.allocate(
                u64::from(extent) * PAGE_SIZE as u64,
                u64::from(EXTENT) * PAGE_SIZE as u64,
            )?;
            self.state.unbacked.remove(&extent);
        }
        Ok(())
    }

    /// Makes the file longer, by no more than one bitmap speaks for. A bitmap of its own is a mini-transaction of its
    /// own, so that growing leaves nothing half done if what follows fails.
    fn grow(&mut self, store: &'s Store, count: usize) -> Result<()> {
        let end = self.state.end;
        let next_bitmap = bitmap_page(self.state.free.len()).0;
        let bound = if end < next_bitmap {
            next_bitmap
        } else {
            next_bitmap + BITS
        }
        .min(PageId::DATA_END);
        let chunk = (end / 8).clamp(GROW_MIN, GROW_MAX).max(count as u32);
        let to = (end + chunk).min(bound);
        if to <= end {
            return Err(Error::DiskFull);
        }
        self.data.allocate(
            u64::from(end) * PAGE_SIZE as u64,
            u64::from(to - end) * PAGE_SIZE as u64,
        )?;
        if end == next_bitmap {
            let mut mtr = Mtr::new(store);
            let handle = mtr.format_unread(PageId(next_bitmap), page_type::BITMAP, 0)?;
            mtr.apply(handle, &SetBits { bit: 0, value: true });
            mtr.commit();
            self.state.free.push(to - end - 1);
        } else if let Some(last) = self.state.free.last_mut() {
            *last += to - end;
        }
        self.state.end = to;
        self.allocated.store(to, Ordering::Release);
        self.state.extent_hint.get_or_insert(end);
        Ok(())
    }
}

//! The memory of the pool's frames, and the state of every page that could be.
//!
//! An array of states, indexed by page number, takes the place of a hash table: a word for the latch, one for what the
//! log must hold, and the frame in which the page lies. Every access to a page reads its latch, which is in the same
//! cache line. The array, and the frames that the pool may grow to, are reserved ranges of addresses; what of them is used is opened,
//! and the operating system gives memory only to what of that is touched. It counts the reserved rest as nothing where it lets no process have
//! more than there is (`vm.overcommit_memory=2`). A limit of addresses counts that, too: under one, as little as can be is reserved.
//!
//! *Frames stay mapped.* The design after which this pool was built gives each page an address of its own, and a page that
//! is evicted gives its memory back; where most reads miss the pool, giving memory back and taking it again is a good part of
//! what a miss costs the processor. So it is the frames that have addresses, and a page that
//! changes its frame is a change like any other made under its exclusive latch.

use super::latch::Latch;
use super::page::PageBuf;
use crate::error::{Error, Result};
use crate::ids::PageId;
use parking_lot::Mutex;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// What the pool knows of a page. All zeros is a page never touched.
#[derive(Default)]
#[repr(align(32))]
pub struct PageState {
    pub latch: Latch,
    /// Where the log must be read from to bring the page on disk up to date; 0 if it is up to date. See `dirty.rs`.
    pub rec_lsn: AtomicU64,
    /// Where the page lies, if it is in memory. Changed by the exclusive holder of the latch alone.
    frame: AtomicU32,
    /// What was written to the disk last. See `written.rs`.
    pub written: AtomicU32,
}

pub struct Arena {
    frames: NonNull<PageBuf>,
    /// Frames that have addresses, and those of them that have memory, or get it when they are touched.
    count: usize,
    open: AtomicUsize,
    data: States,
    scratch: States,
}

/// The states of pages that are numbered one after the other.
struct States {
    at: NonNull<PageState>,
    first: u32,
    /// Those that have addresses.
    count: u32,
    /// The first of them, which may be touched; raised by the holder of `opening`.
    open: AtomicU32,
    opening: Mutex<()>,
}

/// Pages whose states are opened together: those of a gibibyte, in two mebibytes.
const OPENED: u32 = 1 << 16;
/// Under a limit of addresses the states of data pages may take this part of it, and as much those of scratch pages.
const LIMITED_PART: u64 = 16;

/// Whether memory is to be had in huge pages. They spare the processor's address cache, and a page that lies in one is a
/// single piece to the disk; but touching one byte takes two mebibytes.
#[derive(Clone, Copy)]
enum Huge {
    /// What fills up from its beginning.
    Yes,
    /// What is touched here and there.
    No,
}

/// The bytes of addresses that the process may have, if there is a limit.
#[allow(unsafe_code)]
fn address_limit() -> Option<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: writes to the structure that it is given.
    let done = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    (done == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Addresses without memory: nothing counts them as used until they are [opened](open).
#[allow(unsafe_code)]
fn reserve<T>(count: usize, huge: Huge) -> Result<NonNull<T>> {
    let bytes = count * size_of::<T>();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping at an address of the system's choice touches no memory in use.
    let at = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        let why = std::io::Error::last_os_error();
        return Err(Error::Refused(format!(
            "cannot reserve {bytes} bytes of address space: {why}"
        )));
    }
    let advice = match huge {
        Huge::Yes => libc::MADV_HUGEPAGE,
        Huge::No => libc::MADV_NOHUGEPAGE,
    };
    // Kernels without huge pages refuse either, and that is as well.
    // SAFETY: the range is the mapping just made.
    unsafe { libc::madvise(at, bytes, advice) };
    Ok(NonNull::new(at.cast()).expect("a mapping is not at zero"))
}

/// Lets part of what was reserved be read and written; it reads as zeros at first.
#[allow(unsafe_code)]
fn open<T>(at: NonNull<T>, part: Range<usize>) -> Result<()> {
    let bytes = (part.end - part.start) * size_of::<T>();
    // SAFETY: the caller passes a part of a mapping that `reserve` made. More is allowed there than before, so nothing that uses it
    // is disturbed.
    let done = unsafe {
        let from = at.add(part.start).as_ptr().cast();
        libc::mprotect(from, bytes, libc::PROT_READ | libc::PROT_WRITE)
    };
    match done {
        0 => Ok(()),
        _ => Err(Error::Refused(format!(
            "cannot have {bytes} bytes of memory: {}",
            std::io::Error::last_os_error()
        ))),
    }
}

#[allow(unsafe_code)]
fn give_back<T>(at: NonNull<T>, count: usize) {
    // SAFETY: a mapping that `reserve` made, and that nothing refers to any more.
    unsafe { libc::munmap(at.as_ptr().cast(), count * size_of::<T>()) };
}

impl States {
    /// Of pages from `first` up to `end`, or fewer, if addresses are limited.
    fn new(first: u32, end: u32, limit: Option<u64>) -> Result<States> {
        let wanted = end - first;
        let count = match limit {
            None => wanted,
            Some(bytes) => {
                let pages = bytes / LIMITED_PART / size_of::<PageState>() as u64;
                let pages = pages.next_multiple_of(u64::from(OPENED));
                u32::try_from(pages).map_or(wanted, |pages| pages.min(wanted))
            }
        };
        Ok(States {
            at: reserve(count as usize, Huge::No)?,
            first,
            count,
            open: AtomicU32::new(0),
            opening: Mutex::new(()),
        })
    }

    #[inline]
    fn has(&self, page: PageId) -> bool {
        page.0 - self.first < self.open.load(Ordering::Acquire)
    }

    #[inline]
    #[allow(unsafe_code)]
    fn get(&self, page: PageId) -> Option<&PageState> {
        // SAFETY: it is open; zeros are a valid `PageState`, which is all atomics.
        self.has(page)
            .then(|| unsafe { self.at.add((page.0 - self.first) as usize).as_ref() })
    }

    #[cold]
    fn cover(&self, page: PageId) -> Result<()> {
        let _opening = self.opening.lock();
        let (at, open_now) = (page.0 - self.first, self.open.load(Ordering::Acquire));
        if at < open_now {
            return Ok(());
        }
        if at >= self.count {
            return Err(Error::Refused(format!(
                "page {page} is beyond those that the limit of the address space (ulimit -v) leaves room for"
            )));
        }
        let end = (at + 1).next_multiple_of(OPENED).min(self.count);
        open(self.at, open_now as usize..end as usize)?;
        self.open.store(end, Ordering::Release);
        Ok(())
    }
}

impl Drop for States {
    fn drop(&mut self) {
        // References into the mapping borrow from the arena.
        give_back(self.at, self.count as usize);
    }
}

#[allow(unsafe_code)]
impl Arena {
    /// Memory for so many frames, and addresses for `most`, if there are such and the process has no limit of them.
    pub fn new(count: usize, most: usize) -> Result<Arena> {
        let limit = address_limit();
        let most = if limit.is_none() { most.max(count) } else { count };
        let (frames, most) = match reserve(most, Huge::Yes) {
            Ok(frames) => (frames, most),
            Err(_) => (reserve(count, Huge::Yes)?, count),
        };
        let states = States::new(0, PageId::DATA_END, limit).and_then(|data| {
            let scratch = States::new(PageId::SCRATCH_FIRST, PageId::SCRATCH_END, limit)?;
            Ok((data, scratch))
        });
        let (data, scratch) = states.inspect_err(|_| give_back(frames, most))?;
        let arena = Arena {
            frames,
            count: most,
            open: AtomicUsize::new(0),
            data,
            scratch,
        };
        arena.open_frames(count)?;
        Ok(arena)
    }

    /// The frames for which there are addresses.
    pub fn most(&self) -> usize {
        self.count
    }

    /// Lets the first frames be used. For the thread that resizes.
    pub fn open_frames(&self, count: usize) -> Result<()> {
        assert!(count <= self.count);
        let open_now = self.open.load(Ordering::Acquire);
        if count > open_now {
            open(self.frames, open_now..count)?;
            self.open.store(count, Ordering::Release);
        }
        Ok(())
    }

    /// Gives back the memory of frames that are closed: those from one on that are open. They read as zeros from now on, which a reader
    /// without a latch that still looks there notices as it does the next page's bytes: its page's version was raised before. For the
    /// thread that resizes.
    pub fn release(&self, frames: Range<usize>) {
        assert!(frames.start <= frames.end && frames.end == self.open.load(Ordering::Acquire));
        let bytes = (frames.end - frames.start) * size_of::<PageBuf>();
        self.open.store(frames.start, Ordering::Release);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the range is part of the mapping that `reserve` made, anonymous and private; nothing that lies there is wanted, and no
        // frame there is written to before it is opened again. The new mapping takes the place of the old one at once.
        unsafe {
            let from = self.frames.add(frames.start).as_ptr().cast();
            if libc::mmap(from, bytes, libc::PROT_READ, flags, -1, 0) == libc::MAP_FAILED {
                // It stays counted, but takes no memory.
                libc::madvise(from, bytes, libc::MADV_DONTNEED);
            } else {
                libc::madvise(from, bytes, libc::MADV_HUGEPAGE);
            }
        }
    }

    /// Copies the page to another frame, which is its place from now on. The caller holds the page's latch exclusively, and
    /// has won the frame.
    pub fn move_to(&self, page: PageId, frame: usize) {
        assert!(frame < self.open.load(Ordering::Acquire));
        let from = self.page(page);
        // SAFETY: both frames are the caller's alone to write, and not the same: the page stands in the other. Readers without a
        // latch use volatile or atomic loads, and find that the version has changed.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.frames.add(frame).as_ptr(), 1) };
        self.seat(page, frame);
    }

    #[inline]
    fn states(&self, page: PageId) -> &States {
        match page.is_scratch() {
            false => &self.data,
            true => &self.scratch,
        }
    }

    /// Whether the page has a state. One that has been in memory has.
    #[inline]
    pub fn has(&self, page: PageId) -> bool {
        self.states(page).has(page)
    }

    /// Gives the page a state, if it has none. Fails if no page has this number, or there is no memory.
    #[cold]
    pub fn cover(&self, page: PageId) -> Result<()> {
        match page.is_valid() {
            true => self.states(page).cover(page),
            false => Err(Error::corrupt(page, "a link leads beyond the last possible page")),
        }
    }

    /// The state of a page that has one. Those of others would be all zeros.
    #[inline]
    pub fn known(&self, page: PageId) -> Option<&PageState> {
        self.states(page).get(page)
    }

    /// The state of a page that [has](Self::has) one.
    #[inline]
    pub fn state(&self, page: PageId) -> &PageState {
        self.known(page).expect("a page that has a state")
    }

    /// Assigns this frame, which still holds the bytes of its former page, to the page. The caller holds the page's
    /// latch exclusively, and has won the frame.
    pub fn seat(&self, page: PageId, frame: usize) {
        assert!(frame < self.open.load(Ordering::Acquire));
        self.state(page).frame.store(frame as u32, Ordering::Relaxed);
    }

    /// The page's bytes if it is in memory, otherwise those of another page. Always readable: the latch says what they
    /// mean and which thread may write them, and a thread that has read the latch first finds the frame that belongs to
    /// it, or a later one.
    #[inline]
    pub fn page(&self, page: PageId) -> NonNull<PageBuf> {
        let frame = self.state(page).frame.load(Ordering::Relaxed);
        // SAFETY: in bounds, for only `seat` says where pages lie.
        unsafe { self.frames.add(frame as usize) }
    }

    /// Copies a page that is in memory. For a holder of its latch, shared or exclusive.
    pub fn copy_out(&self, page: PageId, copy: &mut PageBuf) {
        // SAFETY: the caller holds the page's latch, so no other thread changes it.
        copy.copy_from_slice(&unsafe { self.page(page).as_ref() }[..]);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // References into the mapping borrow from `self`.
        give_back(self.frames, self.count);
    }
}

// SAFETY: the memory is plain bytes owned by the arena; access to pages is governed by their latches, states are atomics.
#[allow(unsafe_code)]
unsafe impl Send for Arena {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Arena {}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the mappings that begin from `at` on, up to `bytes` behind it, may be used for, and their lengths.
    fn mappings(at: usize, bytes: usize) -> Vec<(String, usize)> {
        let mut found = Vec::new();
        for line in std::fs::read_to_string("/proc/self/maps").unwrap().lines() {
            let mut words = line.split_whitespace();
            let (range, may) = (words.next().unwrap(), words.next().unwrap());
            let (from, to) = range.split_once('-').unwrap();
            let [from, to] = [from, to].map(|text| usize::from_str_radix(text, 16).unwrap());
            let [from, to] = [from.max(at), to.min(at + bytes)];
            if from < to {
                found.push((may.to_owned(), to - from));
            }
        }
        found
    }

    #[test]
    fn only_what_is_used_is_counted_as_memory() {
        const MOST: usize = 1 << 14;
        let arena = Arena::new(64, MOST).unwrap();
        let writable = |at: usize, bytes: usize| -> usize {
            let found = mappings(at, bytes);
            let writable = found.iter().filter(|(may, _)| may.starts_with("rw"));
            writable.map(|(_, len)| len).sum()
        };
        let frames = arena.frames.as_ptr() as usize;
        let frame_bytes = size_of::<PageBuf>();
        let of_frames = || writable(frames, MOST * frame_bytes) / frame_bytes;
        assert_eq!(of_frames(), 64);
        arena.open_frames(1000).unwrap();
        assert_eq!(of_frames(), 1000);
        arena.release(100..1000);
        assert_eq!(of_frames(), 100);
        arena.open_frames(200).unwrap();
        assert_eq!(of_frames(), 200);

        for (states, pages) in [(&arena.data, PageId::DATA_END), (&arena.scratch, 1 << 24)] {
            let bytes = pages as usize * size_of::<PageState>();
            let of_states = || writable(states.at.as_ptr() as usize, bytes) / size_of::<PageState>();
            let page = |at: u32| PageId(states.first + at);
            assert_eq!((of_states(), arena.has(page(0))), (0, false));
            arena.cover(page(OPENED)).unwrap();
            assert_eq!(of_states(), 2 * OPENED as usize);
            assert!(arena.has(page(2 * OPENED - 1)) && !arena.has(page(2 * OPENED)));
            arena.cover(page(3)).unwrap();
            arena.cover(page(pages - 1)).unwrap();
            assert_eq!(of_states(), pages as usize);
        }
        assert!(arena.cover(PageId(PageId::SCRATCH_END)).is_err());
        assert!(!arena.has(PageId(u32::MAX)));
    }

    #[test]
    fn a_limit_of_addresses_leaves_room_for_fewer_pages() {
        let states = States::new(0, PageId::DATA_END, Some(512 << 20)).unwrap();
        assert_eq!(states.count, 1 << 20);
        states.cover(PageId(states.count - 1)).unwrap();
        let beyond = states.cover(PageId(states.count)).unwrap_err();
        assert!(beyond.to_string().contains("ulimit -v"), "{beyond}");
    }
}

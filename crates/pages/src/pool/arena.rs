//! The memory of the pool's frames, and the state of every page that could be.
//!
//! An array of states, indexed by page number, takes the place of a hash table: a word for the latch, one for what the
//! log must hold, and the frame in which the page lies. Every access to a page reads its latch, which is in the same
//! cache line. The array is a reserved range of addresses; the operating system gives memory only to what of it is
//! touched.
//!
//! *Frames stay mapped.* The design after which this pool was built gives each page an address of its own, and a page that
//! is evicted gives its memory back; where most reads miss the pool, giving memory back and taking it again is a good part of
//! what a miss costs the processor. So it is the frames that have addresses, and a page that
//! changes its frame is a change like any other made under its exclusive latch.

use super::latch::Latch;
use super::page::PageBuf;
use crate::error::{Error, Result};
use crate::ids::PageId;
use std::ops::Range;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

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
    count: usize,
    states: NonNull<PageState>,
}

const PAGES: usize = PageId::SCRATCH_END as usize;

/// Whether memory is to be had in huge pages. They spare the processor's address cache, and a page that lies in one is a
/// single piece to the disk; but touching one byte takes two mebibytes.
#[derive(Clone, Copy)]
enum Huge {
    /// What fills up from its beginning.
    Yes,
    /// What is touched here and there.
    No,
}

#[allow(unsafe_code)]
fn reserve<T>(count: usize, huge: Huge) -> Result<NonNull<T>> {
    let bytes = count * size_of::<T>();
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping at an address of the system's choice touches no memory in use.
    let at = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
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

#[allow(unsafe_code)]
fn give_back<T>(at: NonNull<T>, count: usize) {
    // SAFETY: a mapping that `reserve` made, and that nothing refers to any more.
    unsafe { libc::munmap(at.as_ptr().cast(), count * size_of::<T>()) };
}

#[allow(unsafe_code)]
impl Arena {
    /// Memory for so many frames; for `most`, if there are addresses for them.
    pub fn new(count: usize, most: usize) -> Result<Arena> {
        let (frames, count) = match reserve(most.max(count), Huge::Yes) {
            Ok(frames) => (frames, most.max(count)),
            Err(_) => (reserve(count, Huge::Yes)?, count),
        };
        match reserve(PAGES, Huge::No) {
            Ok(states) => Ok(Arena {
                frames,
                count,
                states,
            }),
            Err(e) => {
                give_back(frames, count);
                Err(e)
            }
        }
    }

    /// The frames for which there are addresses.
    pub fn most(&self) -> usize {
        self.count
    }

    /// Gives back the memory of frames that are closed. They read as zeros from now on, which a reader without a latch that still
    /// looks there notices as it does the next page's bytes: its page's version was raised before.
    pub fn release(&self, frames: Range<usize>) {
        assert!(frames.start <= frames.end && frames.end <= self.count);
        let bytes = (frames.end - frames.start) * size_of::<PageBuf>();
        // SAFETY: the range is part of the mapping that `reserve` made, anonymous and private; nothing that lies there is wanted.
        unsafe {
            libc::madvise(
                self.frames.add(frames.start).as_ptr().cast(),
                bytes,
                libc::MADV_DONTNEED,
            )
        };
    }

    /// Copies the page to another frame, which is its place from now on. The caller holds the page's latch exclusively, and
    /// has won the frame.
    pub fn move_to(&self, page: PageId, frame: usize) {
        assert!(frame < self.count);
        let from = self.page(page);
        // SAFETY: both frames are the caller's alone to write, and not the same: the page stands in the other. Readers without a
        // latch use volatile or atomic loads, and find that the version has changed.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.frames.add(frame).as_ptr(), 1) };
        self.seat(page, frame);
    }

    #[inline]
    pub fn state(&self, page: PageId) -> &PageState {
        assert!(page.is_valid());
        // SAFETY: in bounds by the assertion; zeros are a valid `PageState`, which is all atomics.
        unsafe { self.states.add(page.0 as usize).as_ref() }
    }

    /// Assigns this frame, which still holds the bytes of its former page, to the page. The caller holds the page's
    /// latch exclusively, and has won the frame.
    pub fn seat(&self, page: PageId, frame: usize) {
        assert!(frame < self.count);
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
        // References into the mappings borrow from `self`.
        give_back(self.frames, self.count);
        give_back(self.states, PAGES);
    }
}

// SAFETY: the memory is plain bytes owned by the arena; access to pages is governed by their latches, states are atomics.
#[allow(unsafe_code)]
unsafe impl Send for Arena {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Arena {}

//! One reserved range of addresses in which page *n* lives at `base + n × 16 KiB`, and beside it the state of every
//! page that could be.
//!
//! Reserving costs nothing: the operating system gives memory only to what is touched, and takes it back from a page
//! when told so. What was given back, and what was never touched, reads as zeros.

use super::latch::Latch;
use super::page::PageBuf;
use crate::error::{Error, Result};
use crate::ids::{PAGE_SIZE, PageId};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;

/// What the pool knows of a page. All zeros is a page never touched.
#[derive(Default)]
pub struct PageState {
    pub latch: Latch,
    /// Where the log must be read from to bring the page on disk up to date; 0 if it is up to date. See `dirty.rs`.
    pub rec_lsn: AtomicU64,
}

pub struct Arena {
    pages: NonNull<PageBuf>,
    states: NonNull<PageState>,
    /// This process, for giving back several pages in one call; `None` where the kernel knows no such call.
    this_process: Option<OwnedFd>,
}

const PAGES: usize = PageId::SCRATCH_END as usize;

#[allow(unsafe_code)]
fn reserve(bytes: usize) -> Result<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new anonymous mapping at an address of the system's choice touches nobody's memory.
    let at = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        let why = std::io::Error::last_os_error();
        return Err(Error::CannotOpen(format!(
            "cannot reserve {bytes} bytes of address space: {why}"
        )));
    }
    // A huge page would take memory for 128 pages when one is touched. Kernels without them refuse; all the better.
    // SAFETY: the range is the mapping just made.
    unsafe { libc::madvise(at, bytes, libc::MADV_NOHUGEPAGE) };
    Ok(NonNull::new(at.cast()).expect("a mapping is not at zero"))
}

#[allow(unsafe_code)]
impl Arena {
    pub fn new() -> Result<Arena> {
        let pages = reserve(PAGES * PAGE_SIZE)?.cast();
        match reserve(PAGES * size_of::<PageState>()) {
            Ok(states) => Ok(Arena {
                pages,
                states: states.cast(),
                this_process: this_process(),
            }),
            Err(e) => {
                // SAFETY: made above, handed to nobody.
                unsafe { libc::munmap(pages.as_ptr().cast(), PAGES * PAGE_SIZE) };
                Err(e)
            }
        }
    }

    #[inline]
    pub fn state(&self, page: PageId) -> &PageState {
        assert!(page.is_valid());
        // SAFETY: in bounds by the assertion; zeros are a valid `PageState`, which is all atomics.
        unsafe { self.states.add(page.0 as usize).as_ref() }
    }

    /// The page's bytes. Always readable; what they mean and who may write them is the latch's affair.
    #[inline]
    pub fn page(&self, page: PageId) -> NonNull<PageBuf> {
        assert!(page.is_valid());
        // SAFETY: in bounds by the assertion.
        unsafe { self.pages.add(page.0 as usize) }
    }

    /// Gives the page's memory back. For the exclusive holder of its latch.
    pub fn release(&self, page: PageId) {
        let at = self.page(page).as_ptr();
        // SAFETY: one page of our own mapping. Its bytes become zeros, a change like any other made under the
        // exclusive latch: no reference to them exists, and optimistic readers will see the version raised.
        let done = unsafe { libc::madvise(at.cast(), PAGE_SIZE, libc::MADV_DONTNEED) };
        assert_eq!(done, 0, "the memory of page {page} could not be given back");
    }

    /// The same for several pages. The other processors are interrupted once, where the kernel can do that.
    pub fn release_all(&self, pages: impl ExactSizeIterator<Item = PageId> + Clone) {
        const AT_ONCE: usize = 16;
        let mut ranges = [libc::iovec {
            iov_base: ptr::null_mut(),
            iov_len: 0,
        }; AT_ONCE];
        let count = pages.len();
        if count > 1
            && count <= AT_ONCE
            && let Some(process) = &self.this_process
        {
            for (range, page) in ranges.iter_mut().zip(pages.clone()) {
                *range = libc::iovec {
                    iov_base: self.page(page).as_ptr().cast(),
                    iov_len: PAGE_SIZE,
                };
            }
            // SAFETY: as in `release`, of each page.
            let done = unsafe {
                libc::syscall(
                    libc::SYS_process_madvise,
                    process.as_raw_fd(),
                    ranges.as_ptr(),
                    count,
                    libc::MADV_DONTNEED,
                    0,
                )
            };
            if done == (count * PAGE_SIZE) as i64 {
                return;
            }
        }
        pages.for_each(|page| self.release(page));
    }
}

#[allow(unsafe_code)]
fn this_process() -> Option<OwnedFd> {
    // SAFETY: the call takes no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) };
    // SAFETY: a descriptor just made, and nobody else's.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[allow(unsafe_code)]
impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mappings are ours, and references into them borrow from `self`.
        unsafe {
            libc::munmap(self.pages.as_ptr().cast(), PAGES * PAGE_SIZE);
            libc::munmap(self.states.as_ptr().cast(), PAGES * size_of::<PageState>());
        }
    }
}

// SAFETY: the memory is plain bytes owned by the arena; access to pages is governed by their latches, states are atomics.
#[allow(unsafe_code)]
unsafe impl Send for Arena {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Arena {}

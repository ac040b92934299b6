//! The memory of a run: an allocation is a moment at which another thread may go on, and addresses are the same in every run
//! of a seed.
//!
//! Addresses matter because `parking_lot` hashes those of its locks, and what has the same hash shares a place where it is
//! decided which lock is handed over fairly. The C library's allocator gives each thread what is free at the moment at which
//! it really asks, and the kernel puts statics and stacks at random places unless it is told not to (`fix_addresses`). So memory comes from here: one range of addresses, and lists of what is free, by size. Only the thread that
//! has the token gets here; others get the C library's.

use super::scheduler;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;

/// Where the range begins: far from what the system gives out.
const BEGINS: usize = 0x1000_0000_0000;
const BYTES: usize = 1 << 38;
/// Sizes up to here are rounded up to 16 bytes, larger ones to a quarter of a power of two.
const SMALL: usize = 1024;
const CLASSES: usize = SMALL / 16 + 1 + 4 * 40;
/// Blocks from this size on lie at multiples of a page; of smaller ones that are to lie at multiples of more than 16, each is
/// a fresh one.
const LARGE: usize = 4 * ALIGN;
/// No allocation needs more.
const ALIGN: usize = 4096;

/// The allocator of the program.
pub struct Heap(UnsafeCell<Lists>);

struct Lists {
    /// What is free, of each size: each block holds the address of the next.
    free: [usize; CLASSES],
    /// What lies from here on was never given out.
    fresh: usize,
    is_open: bool,
}

// SAFETY: only the thread that has the token looks inside.
unsafe impl Sync for Heap {}

/// The list for this many bytes, and the bytes of a block in it.
fn class_of(bytes: usize) -> (usize, usize) {
    if bytes <= SMALL {
        let class = bytes.max(1).div_ceil(16);
        return (class, class * 16);
    }
    let quarter = (bytes - 1).ilog2() as usize - 2;
    let quarters = (bytes - 1) >> quarter;
    let class = SMALL / 16 + 1 + (quarter - 8) * 4 + (quarters - 4);
    (class, (quarters + 1) << quarter)
}

fn is_ours(at: *mut u8) -> bool {
    (BEGINS..BEGINS + BYTES).contains(&(at as usize))
}

impl Heap {
    /// A heap that is not open yet.
    pub const fn new() -> Heap {
        Heap(UnsafeCell::new(Lists {
            free: [0; CLASSES],
            fresh: BEGINS,
            is_open: false,
        }))
    }

    /// From here on memory comes from the range. To be called while there is one thread.
    pub fn open(&self) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: a new mapping that replaces none; and there is one thread.
        unsafe {
            let at = libc::mmap(
                BEGINS as *mut _,
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                -1,
                0,
            );
            (*self.0.get()).is_open = at as usize == BEGINS;
        }
    }

    /// A block of the range; null if it is to come from elsewhere.
    fn take(&self, layout: Layout) -> (*mut u8, bool) {
        if !scheduler::is_active() || layout.align() > ALIGN {
            return (ptr::null_mut(), false);
        }
        // SAFETY: this thread takes part and runs, so it has the token.
        let lists = unsafe { &mut *self.0.get() };
        if !lists.is_open {
            return (ptr::null_mut(), false);
        }
        let (class, bytes) = class_of(layout.size().max(layout.align()));
        let block = lists.free[class];
        let aligned_to = if bytes >= LARGE { ALIGN } else { 16 };
        if block != 0 && layout.align() <= aligned_to {
            // SAFETY: a free block begins with the address of the next.
            lists.free[class] = unsafe { *(block as *const usize) };
            return (block as *mut u8, false);
        }
        let at = lists.fresh.next_multiple_of(layout.align().max(aligned_to));
        lists.fresh = at + bytes;
        assert!(lists.fresh < BEGINS + BYTES, "the run has used up its addresses");
        (at as *mut u8, true)
    }

    fn give(&self, at: *mut u8, layout: Layout) {
        // From a thread without the token it is lost, which is better than an order that differs from run to run.
        if scheduler::is_active() {
            // SAFETY: this thread takes part and runs, so it has the token.
            let lists = unsafe { &mut *self.0.get() };
            let (class, _) = class_of(layout.size().max(layout.align()));
            // SAFETY: the block is free now, and has 16 bytes at least.
            unsafe { *(at as *mut usize) = lists.free[class] };
            lists.free[class] = at as usize;
        }
    }
}

// SAFETY: a block belongs to one caller until it is given back, and is as large and as aligned as was asked for.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        scheduler::allocates();
        match self.take(layout) {
            // SAFETY: as we were called.
            (at, _) if at.is_null() => unsafe { System.alloc(layout) },
            (at, _) => at,
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        scheduler::allocates();
        match self.take(layout) {
            // SAFETY: as we were called.
            (at, _) if at.is_null() => unsafe { System.alloc_zeroed(layout) },
            (at, true) => at,
            (at, false) => {
                // SAFETY: the block is so large.
                unsafe { ptr::write_bytes(at, 0, layout.size()) };
                at
            }
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        match is_ours(at) {
            true => self.give(at, layout),
            // SAFETY: as we were called.
            false => unsafe { System.dealloc(at, layout) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_a_class_that_holds_it() {
        let mut last = (0, 0);
        for bytes in (1..5000).chain([1 << 20, (1 << 20) + 1, (3 << 30) - 1]) {
            let (class, holds) = class_of(bytes);
            assert!(holds >= bytes && class < CLASSES, "{bytes}");
            assert!(class >= last.0 && holds >= last.1, "{bytes}");
            assert_eq!(class_of(holds), (class, holds), "{bytes}");
            last = (class, holds);
        }
    }
}

//! What is left when the system gives no more memory: under an address-space limit, or without overcommitment.
//!
//! An allocation that fails ends the process: the standard library knows no other way, and most of them are too small to be asked for one
//! by one. So some memory is kept for that moment. The first allocation that fails gives it back to the system and is tried again, and from
//! then on [`check`](super::check) and [`reserve`](super::reserve) refuse whatever is large, until there is as much again as was kept.
//! What is kept is mapped and never touched: it takes addresses, not pages.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// What is kept: enough for what all statements take until each has come to its next check.
const BYTES: usize = 48 << 20;

static KEPT: AtomicPtr<libc::c_void> = AtomicPtr::new(null_mut());
/// The system has refused memory, and what was kept is given back.
static STARVED: AtomicBool = AtomicBool::new(false);
/// The system has a limit for the addresses of this process, so that large blocks are asked for before they are made.
static LIMITED: AtomicBool = AtomicBool::new(false);

fn map(bytes: usize, protection: libc::c_int) -> *mut libc::c_void {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: maps new memory, at an address that the system chooses.
    let block = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    if block == libc::MAP_FAILED {
        null_mut()
    } else {
        block
    }
}

fn unmap(block: *mut libc::c_void, bytes: usize) {
    // SAFETY: the block was mapped with this length, nothing refers to it, and it is not unmapped twice.
    unsafe { libc::munmap(block, bytes) };
}

/// Keeps memory for later; false if there is too little.
pub(super) fn arm() -> bool {
    LIMITED.store(address_limit() != u64::MAX, Ordering::Relaxed);
    let block = map(BYTES, libc::PROT_READ | libc::PROT_WRITE);
    if block.is_null() {
        return false;
    }
    // Before the block can be taken: a thread that takes it sets this again.
    STARVED.store(false, Ordering::Release);
    let before = KEPT.swap(block, Ordering::AcqRel);
    if !before.is_null() {
        unmap(before, BYTES);
    }
    true
}

/// The bytes of addresses that the process may have; the largest number without a limit.
pub(super) fn address_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: libc::RLIM_INFINITY,
        rlim_max: libc::RLIM_INFINITY,
    };
    // SAFETY: writes to the structure that it is given.
    let done = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) };
    match done == 0 && limit.rlim_cur != libc::RLIM_INFINITY {
        true => limit.rlim_cur,
        false => u64::MAX,
    }
}

/// An allocation has failed: gives back what was kept. True if it is worth trying again, for the `tries`-th time.
#[cold]
pub(super) fn give_way(bytes: usize, tries: u32) -> bool {
    STARVED.store(true, Ordering::Release);
    let block = KEPT.swap(null_mut(), Ordering::AcqRel);
    if !block.is_null() {
        unmap(block, BYTES);
        return true;
    }
    // Another thread was first, or what was kept is used up: statements that are being refused give back what they have.
    const SMALL: usize = 1 << 20;
    const TRIES_MAX: u32 = 2000;
    if bytes > SMALL && tries > 0 || tries >= TRIES_MAX {
        return false;
    }
    let pause = libc::timespec {
        tv_sec: 0,
        tv_nsec: 1_000_000,
    };
    // SAFETY: reads the structure; a pause that is cut short does no harm.
    unsafe { libc::nanosleep(&pause, null_mut()) };
    true
}

/// True if the system has refused memory, and still has not as much as is kept.
#[inline]
pub(super) fn is_starved() -> bool {
    STARVED.load(Ordering::Relaxed) && !arm()
}

/// True if the system would give a block of so many bytes now.
pub(super) fn has_room(bytes: u64) -> bool {
    if !LIMITED.load(Ordering::Relaxed) {
        return true;
    }
    let Ok(bytes) = usize::try_from(bytes) else {
        return false;
    };
    let block = map(bytes.max(1), libc::PROT_NONE);
    if !block.is_null() {
        unmap(block, bytes.max(1));
    }
    !block.is_null()
}

//! Has the processor fetch what is about to be written.
//!
//! What a session counts lies still between its statements, and by then the work of others has driven it out of the nearest caches. Asked for
//! when a statement begins, it is there when it ends.

const LINE: usize = 64;

/// Has the first cache lines of a value fetched, two at most. Nothing waits for them.
#[inline]
pub fn prefetch<T>(value: &T) {
    let first = std::ptr::from_ref(value).cast::<i8>();
    fetch(first);
    if size_of::<T>() > LINE {
        fetch(first.wrapping_add(LINE));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code)]
fn fetch(at: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: it reads and writes nothing, and an address that there is not does nothing.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn fetch(_: *const i8) {}

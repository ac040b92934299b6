//! Panics on purpose, to test that one ends its statement and nothing else.
//!
//! A test names a place with [`arm`]; a connection's thread that passes it panics there, once. Threads of the server's own
//! pass unharmed. Without debug assertions, as in every release, a place is nothing at all.

#[cfg(debug_assertions)]
use std::sync::Mutex;

#[cfg(debug_assertions)]
static ARMED: Mutex<Option<(&'static str, usize)>> = Mutex::new(None);

/// A connection's thread that reaches the place, once others have passed it so many times, panics.
#[cfg(debug_assertions)]
pub fn arm(place: &'static str, passes: usize) {
    *ARMED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some((place, passes));
}

/// Whether no place is armed, or the panic has happened.
#[cfg(debug_assertions)]
pub fn is_spent() -> bool {
    ARMED
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
        .is_none()
}

/// A place where a test may want a panic.
#[cfg(debug_assertions)]
pub fn reach(place: &str) {
    let mut armed = ARMED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let is_connection = || {
        std::thread::current()
            .name()
            .is_some_and(|name| name.starts_with("connection"))
    };
    let Some((at, passes)) = &mut *armed else { return };
    if *at != place || !is_connection() {
        return;
    }
    if *passes > 0 {
        *passes -= 1;
        return;
    }
    *armed = None;
    drop(armed);
    panic!("failpoint {place}");
}

/// A place where a test may want a panic: nothing in a release.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn reach(_: &str) {}

//! What a session holds from one statement to the next: prepared statements, variables, parameters that came ahead, packets that are not
//! complete, plans, definitions of temporary tables.
//!
//! A session has a thread of its own, and the allocator counts by thread, so what a session holds is what its thread has taken since the
//! session began: one number, which nothing can be forgotten in. (What it has allocated for others, such as a definition in the dictionary, counts too.) Before it keeps something it asks ([`hold`]):
//!
//! ```text
//!   0 ─────────────────────────────── 3/4 of the limit ────────── limit
//!   any session may hold more,        a session may hold more     statements that have taken more than a little end,
//!   up to half of all                 a quarter of its share      and sessions that hold more than their share wait
//! ```
//!
//! The last quarter is for statements that run, so that sessions which hold what they can get do not stop the others. The fair share of a
//! session is the limit over the number of sessions, at most a sixteenth; if every session holds a quarter of it, statements have the rest.

use super::{Exceeded, THREAD, process_bytes, process_limit};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// So much a session may always hold: its buffers, and a few statements.
pub const HELD_FREELY: u64 = 256 << 10;

/// What a session may hold in any case before statements are refused for it.
const SHARE_MIN: u64 = 1 << 20;

static SESSIONS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// The thread's count when its session began.
    static BEGAN: Cell<Option<i64>> = const { Cell::new(None) };
}

/// A session of the calling thread, until this is dropped.
#[derive(Debug)]
pub struct SessionMemory(PhantomData<*const ()>);

/// Begins to count what the calling thread holds for a session.
pub fn begin_session() -> SessionMemory {
    BEGAN.set(Some(THREAD.with(|thread| thread.used())));
    SESSIONS.fetch_add(1, Ordering::Relaxed);
    SessionMemory(PhantomData)
}

impl Drop for SessionMemory {
    fn drop(&mut self) {
        BEGAN.set(None);
        SESSIONS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes that the calling thread's session has taken and not given back; 0 without a session.
pub fn held_bytes() -> u64 {
    let Some(began) = BEGAN.get() else { return 0 };
    let used = THREAD.with(|thread| thread.used());
    u64::try_from(used - began).unwrap_or(0)
}

/// What each session may hold while the process has more than its limit.
pub(super) fn fair_share() -> u64 {
    let sessions = SESSIONS.load(Ordering::Relaxed).max(16);
    (process_limit().bytes / sessions).max(SHARE_MIN)
}

/// Asks whether the session may keep so many bytes more than it has.
pub fn hold(bytes: u64) -> Result<(), Exceeded> {
    let held = held_bytes().saturating_add(bytes);
    if held <= HELD_FREELY {
        return Ok(());
    }
    let limit = process_limit();
    let used = process_bytes().saturating_add(bytes);
    let is_tight = used > limit.bytes - limit.bytes / 4;
    let own_max = match is_tight {
        true => fair_share() / 4,
        false => limit.bytes / 2,
    };
    match held > own_max.max(HELD_FREELY) {
        true => Err(Exceeded(limit)),
        false => Ok(()),
    }
}

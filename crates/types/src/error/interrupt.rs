//! Whether the statement that this thread runs is to end: KILL, `max_execution_time`, a client that has gone, a shutdown.
//!
//! Whatever loops over a client's data asks: the parser for each node, the binder for each expression, evaluation for each row, functions
//! of long texts for each million steps. Most of these places know nothing of a session, so the flag is the thread's: the session
//! [sets](watch) it when a statement begins, and [`check_interrupt`] loads it.
//!
//! Work that must not stop halfway for a reason of the session (a view of the server's own that is parsed once for all) is
//! [shielded](shielded).

use super::{Result, SqlError};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use tidemark_engine::Interrupt;

thread_local! {
    static WATCHED: RefCell<Option<Arc<Interrupt>>> = const { RefCell::new(None) };
    static SHIELDED: Cell<bool> = const { Cell::new(false) };
}

/// Makes [`check_interrupt`] look at this interrupt from now on, on this thread.
#[inline]
pub fn watch(interrupt: &Arc<Interrupt>) {
    let _ = WATCHED.try_with(|watched| {
        let mut watched = watched.borrow_mut();
        if !watched
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, interrupt))
        {
            *watched = Some(Arc::clone(interrupt));
        }
    });
}

/// Runs `f` without asking: [`check_interrupt`] returns `Ok` within it.
pub fn shielded<T>(f: impl FnOnce() -> T) -> T {
    struct Unshield(bool);
    impl Drop for Unshield {
        fn drop(&mut self) {
            SHIELDED.set(self.0);
        }
    }
    let _unshield = Unshield(SHIELDED.replace(true));
    f()
}

/// Error 1317 if the running statement is to end.
#[inline]
pub fn check_interrupt() -> Result<()> {
    let is_killed = WATCHED
        .try_with(|watched| {
            watched
                .borrow()
                .as_ref()
                .is_some_and(|watched| watched.is_killed())
        })
        .unwrap_or(false);
    match is_killed && !SHIELDED.get() {
        false => Ok(()),
        true => Err(SqlError::interrupted()),
    }
}

/// Counts the steps of work on a value, and asks now and then.
#[derive(Debug, Default)]
pub struct Steps(u32);

impl Steps {
    const BETWEEN: u32 = 1 << 12;

    /// Error 1317 if the running statement is to end, 3170 if it has taken more memory than it may.
    #[inline]
    pub fn step(&mut self) -> Result<()> {
        self.0 += 1;
        if self.0 < Steps::BETWEEN {
            return Ok(());
        }
        self.0 = 0;
        super::memory::check_memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_statement_is_told_so_unless_it_is_shielded() {
        let interrupt = Arc::new(Interrupt::default());
        watch(&interrupt);
        assert!(check_interrupt().is_ok());
        interrupt.kill();
        assert!(check_interrupt().is_err());
        assert!(shielded(check_interrupt).is_ok());
        assert!(std::thread::spawn(check_interrupt).join().unwrap().is_ok());
        interrupt.reset();
        assert!(check_interrupt().is_ok());
    }
}

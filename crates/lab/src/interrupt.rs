//! Ctrl-C and SIGTERM: what runs is stopped in order, and the server that the lab has started, too. The second one ends the
//! process at once.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The longest that a wait does not look whether it is to end.
const LOOKS_EVERY: Duration = Duration::from_millis(50);

/// Whether somebody wants the lab to stop.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// One that signals set.
    pub fn on_signals() -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            flag::register_conditional_default(signal, Arc::clone(&interrupt.0))?;
            flag::register(signal, Arc::clone(&interrupt.0))?;
        }
        Ok(interrupt)
    }

    /// An error if it was asked for.
    pub fn check(&self) -> Result<(), Failure> {
        match self.0.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(Failure::Interrupted),
        }
    }

    /// Sleeps until then, unless `check` fails before.
    pub fn sleep_until(
        &self,
        then: Instant,
        mut check: impl FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        loop {
            self.check()?;
            check()?;
            let rest = then.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Ok(());
            }
            thread::sleep(rest.min(LOOKS_EVERY));
        }
    }
}

//! Readings of the system's monotonic clock as plain numbers of nanoseconds, for what is timed with every statement.
//!
//! It is the clock of `std::time::Instant`. An `Instant` is a pair of seconds and nanoseconds whose difference is checked and carried;
//! a tick is one word, which costs a subtraction to compare and a store to keep.

use std::time::Duration;

/// A moment of the clock. Those of one process compare; they say nothing about the time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(u64);

impl Tick {
    /// This one.
    #[inline]
    #[allow(unsafe_code)]
    pub fn now() -> Tick {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the call writes to the time that it is given, and keeps nothing.
        let read = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        // It fails for a clock that the system does not have, and each has this one.
        debug_assert_eq!(read, 0);
        Tick(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    /// How many nanoseconds after an earlier one it is; 0 if that is later.
    #[inline]
    pub fn nanos_since(self, earlier: Tick) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// How long after an earlier one it is; nothing if that is later.
    #[inline]
    pub fn since(self, earlier: Tick) -> Duration {
        Duration::from_nanos(self.nanos_since(earlier))
    }

    /// How long ago it was.
    pub fn elapsed(self) -> Duration {
        Tick::now().since(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn ticks_pass_as_instants_do() {
        let (instant, tick) = (Instant::now(), Tick::now());
        std::thread::sleep(Duration::from_millis(3));
        let passed = tick.elapsed();
        assert!(passed >= Duration::from_millis(3) && passed <= instant.elapsed());
        assert_eq!(tick.since(Tick::now()), Duration::ZERO);
    }
}

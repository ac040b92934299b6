//! Readings of the system's clocks as plain numbers, for what is timed with every statement.
//!
//! A tick is of the clock of `std::time::Instant`. An `Instant` is a pair of seconds and nanoseconds whose difference is checked and carried;
//! a tick is one word, which costs a subtraction to compare and a store to keep.

use std::time::Duration;

/// A moment of the clock. Those of one process compare; they say nothing about the time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tick(u64);

impl Tick {
    /// This one.
    #[inline]
    pub fn now() -> Tick {
        let time = read(libc::CLOCK_MONOTONIC);
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

/// The time of day as the system's last timer interrupt had it, some milliseconds ago, in microseconds since 1970 UTC: for a fraction of what
/// reading the clock takes.
#[inline]
pub fn recent_unix_micros() -> u64 {
    let time = read(libc::CLOCK_REALTIME_COARSE);
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
}

#[inline]
#[allow(unsafe_code)]
fn read(clock: libc::clockid_t) -> libc::timespec {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to the time that it is given, and keeps nothing.
    let read = unsafe { libc::clock_gettime(clock, &mut time) };
    // It fails for a clock that the system does not have, and each has these.
    debug_assert_eq!(read, 0);
    time
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Instant, SystemTime};

    #[test]
    fn the_recent_time_of_day_is_recent() {
        let now = || {
            SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap()
                .as_micros() as u64
        };
        let (before, recent, after) = (now(), recent_unix_micros(), now());
        assert!(
            recent <= after && recent + 1_000_000 > before,
            "{recent} between {before} and {after}"
        );
    }

    #[test]
    fn ticks_pass_as_instants_do() {
        let (instant, tick) = (Instant::now(), Tick::now());
        std::thread::sleep(Duration::from_millis(3));
        let passed = tick.elapsed();
        assert!(passed >= Duration::from_millis(3) && passed <= instant.elapsed());
        assert_eq!(tick.since(Tick::now()), Duration::ZERO);
    }
}

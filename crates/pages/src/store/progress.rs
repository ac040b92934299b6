//! How far a start is with what takes long, said in the log.

use std::time::{Duration, Instant};

/// Work is told of that takes longer than this, and again after as long.
const SAY_EVERY: Duration = Duration::from_secs(2);
/// Steps between two looks at the clock.
const LOOK_EVERY: u64 = 256;

/// Work under way that a person may be waiting for.
pub struct Progress {
    began: Instant,
    said: Instant,
    steps: u64,
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// So much of it is done.
    pub percent: u64,
    /// If it goes on as it has, it is done in so many seconds.
    pub seconds_left: u64,
}

impl Progress {
    /// Of work that begins now.
    #[allow(clippy::new_without_default, reason = "that it begins is a deed")]
    pub fn new() -> Progress {
        let now = Instant::now();
        Progress {
            began: now,
            said: now,
            steps: 0,
        }
    }

    /// A step is done, with which so much `of` all is. If it is time for it, `tell` makes a line for the log of that.
    pub fn step(&mut self, done: u64, of: u64, tell: impl FnOnce(Share) -> String) {
        self.steps += 1;
        if !self.steps.is_multiple_of(LOOK_EVERY) || self.said.elapsed() < SAY_EVERY {
            return;
        }
        self.said = Instant::now();
        ::log::info!("{}", tell(Share::of(done, of, self.began.elapsed())));
    }
}

impl Share {
    fn of(done: u64, of: u64, elapsed: Duration) -> Share {
        let of = of.max(1);
        let left = elapsed.as_secs_f64() * of.saturating_sub(done) as f64 / done.max(1) as f64;
        Share {
            percent: (u128::from(done) * 100 / u128::from(of)) as u64,
            seconds_left: left.round() as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_in_percent_and_seconds() {
        let share = |percent, seconds_left| Share {
            percent,
            seconds_left,
        };
        assert_eq!(Share::of(1000, 4000, Duration::from_secs(10)), share(25, 30));
        assert_eq!(Share::of(0, 0, Duration::from_secs(10)), share(0, 10));
        assert_eq!(Share::of(u64::MAX, u64::MAX, Duration::MAX), share(100, 0));
    }
}

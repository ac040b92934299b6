//! How long statements and commits take: a histogram of durations.
//!
//! Buckets are a quarter of a power of two wide, so a quantile is known to an eighth of its value, from a microsecond to two
//! minutes, in less than a kilobyte. What is longer counts into the last bucket.

/// The number of buckets.
pub const BUCKETS: usize = 104;

/// The bucket that so many nanoseconds count into. A table would be a cache line more for each statement.
#[inline]
pub fn bucket(nanos: u64) -> usize {
    let micros = nanos / 1000;
    // Three bits of the number are left, of which those below four have no more.
    let shift = (micros | 4).ilog2() - 2;
    ((u64::from(shift) * 4 + (micros >> shift)) as usize).min(BUCKETS - 1)
}

/// The shortest duration of a bucket, in microseconds.
pub const fn from_micros(bucket: usize) -> u64 {
    match bucket {
        0..4 => bucket as u64,
        _ => (4 + bucket as u64 % 4) << (bucket / 4 - 1),
    }
}

/// Counts of durations by bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durations {
    /// How many there were in each bucket.
    pub counts: [u64; BUCKETS],
    /// How long they took together.
    pub nanos: u64,
}

impl Default for Durations {
    fn default() -> Durations {
        Durations {
            counts: [0; BUCKETS],
            nanos: 0,
        }
    }
}

impl Durations {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Those that have come since `before`.
    pub fn since(&self, before: &Durations) -> Durations {
        Durations {
            counts: std::array::from_fn(|at| self.counts[at].saturating_sub(before.counts[at])),
            nanos: self.nanos.saturating_sub(before.nanos),
        }
    }

    /// The duration, in microseconds, that this share of them did not exceed: the end of its bucket. `None`: there were none.
    pub fn quantile_micros(&self, share: f64) -> Option<u64> {
        let wanted = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut passed = 0;
        let at = self.counts.iter().position(|count| {
            passed += count;
            passed >= wanted
        })?;
        Some(from_micros(at + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn buckets_meet_and_a_duration_is_in_its_own() {
        for at in 0..BUCKETS - 1 {
            let (from, to) = (from_micros(at), from_micros(at + 1));
            assert!(from < to, "bucket {at}");
            assert_eq!(bucket(from * 1000), at);
            assert_eq!(bucket(to * 1000 - 1), at);
            assert!(at < 4 || (to - from) * 4 <= from, "bucket {at} is too wide");
        }
        assert_eq!(bucket(100_000 * SECOND), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_those_of_what_has_come_since() {
        let mut seen = Durations::default();
        assert_eq!(seen.quantile_micros(0.5), None);
        seen.counts[bucket(SECOND)] = 50;
        let before = seen.clone();
        seen.counts[bucket(SECOND / 10_000)] += 98;
        seen.counts[bucket(SECOND / 100)] += 2;
        let since = seen.since(&before);
        assert_eq!(since.count(), 100);
        let near = |share, micros: u64| {
            let found = since.quantile_micros(share).unwrap();
            assert!(found >= micros && found <= micros * 5 / 4, "{share}: {found}");
        };
        near(0.5, 100);
        near(0.98, 100);
        near(0.99, 10_000);
        near(1.0, 10_000);
    }
}

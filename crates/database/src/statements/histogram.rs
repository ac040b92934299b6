//! How long statements took, in buckets of which each is as much longer than the one before: fifty of them make a power of ten.
//! The bounds are MySQL's. The first bucket is all below ten microseconds, the last all above some hours.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The number of buckets.
pub const BUCKETS: usize = 450;
const BUCKETS_IN_POWER: f64 = 50.0;
const FIRST_PICOS: f64 = 1e7;

/// The buckets' lower bounds in picoseconds.
static BOUNDS: LazyLock<[u64; BUCKETS]> = LazyLock::new(|| {
    std::array::from_fn(|at| match at {
        0 => 0,
        // A bucket of a whole power begins at it, whatever the floating point makes of it.
        _ => (FIRST_PICOS * 10f64.powf((at - 1) as f64 / BUCKETS_IN_POWER) * (1.0 + 1e-15)) as u64,
    })
});

/// For each number of bits, the bucket in which the shortest time of so many bits in nanoseconds falls.
static STARTS: LazyLock<[u16; 65]> = LazyLock::new(|| {
    std::array::from_fn(|bits| {
        let shortest = 1u64.checked_shl((bits as u32).wrapping_sub(1)).unwrap_or(0);
        let at = BOUNDS.partition_point(|bound| *bound <= shortest.saturating_mul(1000));
        at.saturating_sub(1) as u16
    })
});

/// The bucket of a time: its first guess is by the number of bits, and a search among the sixteen that these leave ends it.
#[inline]
pub fn bucket_of(nanos: u64) -> u16 {
    let bits = 64 - nanos.leading_zeros() as usize;
    let picos = nanos.saturating_mul(1000);
    let (from, to) = (STARTS[bits] as usize, STARTS[(bits + 1).min(64)] as usize);
    let bounds = &BOUNDS[from + 1..=to.max(from).min(BUCKETS - 1)];
    (from + bounds.partition_point(|bound| *bound <= picos)) as u16
}

/// A bucket's lower and upper bound in picoseconds.
pub fn bounds_of(bucket: usize) -> (u64, u64) {
    let above = BOUNDS.get(bucket + 1).copied().unwrap_or(u64::MAX);
    (BOUNDS.get(bucket).copied().unwrap_or(0), above)
}

/// Statements by bucket. Those without any take no room: the latencies of a kind of statement fall in some dozen buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(BTreeMap<u16, u64>);

impl Histogram {
    /// Counts so many.
    pub fn add(&mut self, bucket: u16, more: u64) {
        *self.0.entry(bucket).or_default() += more;
    }

    /// Adds another's.
    pub fn add_all(&mut self, other: &Histogram) {
        other
            .0
            .iter()
            .for_each(|(bucket, count)| self.add(*bucket, *count));
    }

    /// What is left without those of an earlier moment.
    pub fn less(mut self, earlier: &Histogram) -> Histogram {
        for (bucket, count) in &earlier.0 {
            if let Some(own) = self.0.get_mut(bucket) {
                *own = own.saturating_sub(*count);
            }
        }
        self.0.retain(|_, count| *count > 0);
        self
    }

    /// How many fell into a bucket.
    pub fn of(&self, bucket: usize) -> u64 {
        self.0.get(&(bucket as u16)).copied().unwrap_or(0)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The upper bound of the bucket in which a share of all ends, in picoseconds; 0 if there are none.
    pub fn quantile_picos(&self, share: f64) -> u64 {
        let count = self.count();
        let wanted = (count as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, more) in &self.0 {
            seen += more;
            if seen >= wanted {
                return bounds_of(*bucket as usize).1;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_mysql() {
        for (bucket, low, high) in [
            (0, 0, 10_000_000),
            (1, 10_000_000, 10_471_285),
            (2, 10_471_285, 10_964_781),
            (51, 100_000_000, 104_712_854),
            (150, 9_549_925_860, 10_000_000_000),
            (213, 173_780_082_874, 181_970_085_861),
        ] {
            assert_eq!(bounds_of(bucket), (low, high), "{bucket}");
        }
        assert_eq!(bounds_of(BUCKETS - 1).1, u64::MAX);
    }

    #[test]
    fn every_time_is_in_its_bucket() {
        let mut nanos = 0u64;
        while nanos < 1 << 62 {
            let bucket = bucket_of(nanos) as usize;
            let (low, high) = bounds_of(bucket);
            let picos = nanos.saturating_mul(1000);
            assert!(
                low <= picos && (picos < high || bucket == BUCKETS - 1),
                "{nanos}: {bucket}"
            );
            nanos += 1 + nanos / 37;
        }
        assert_eq!(bucket_of(u64::MAX) as usize, BUCKETS - 1);
        assert_eq!(bucket_of(10_000), 1);
        assert_eq!(bucket_of(9_999), 0);
    }

    #[test]
    fn quantiles_are_upper_bounds() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_picos(0.95), 0);
        for nanos in [20_000; 19] {
            histogram.add(bucket_of(nanos), 1);
        }
        histogram.add(bucket_of(5_000_000), 1);
        assert_eq!(
            histogram.quantile_picos(0.95),
            bounds_of(bucket_of(20_000) as usize).1
        );
        assert_eq!(
            histogram.quantile_picos(0.99),
            bounds_of(bucket_of(5_000_000) as usize).1
        );
    }
}

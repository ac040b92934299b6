//! How long statements took, in buckets of which each is as much longer than the one before: fifty of them make a power of ten.
//! The bounds are MySQL's. The first bucket is all below ten microseconds, the last all above some hours.

use std::sync::LazyLock;

/// The number of buckets.
pub const BUCKETS: usize = 450;
const BUCKETS_IN_POWER: f64 = 50.0;
const FIRST_PICOS: f64 = 1e7;
/// So many bits behind the first one are looked at for a first guess: it is one bucket off at most.
const GUESS_BITS: u32 = 5;

struct Tables {
    /// The buckets' lower bounds in picoseconds, and one that no time comes up to.
    bounds: [u64; BUCKETS + 1],
    /// The same in nanoseconds: the shortest time of each bucket. Numbers that are none have none.
    shortest: [u64; 512],
    /// The bucket of the shortest time in nanoseconds that begins with these bits.
    guesses: [u16; beginnings(GUESS_BITS)],
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    // Multiplied bucket by bucket, as MySQL does: its bounds carry the errors of that.
    let factor = 10f64.powf(1.0 / BUCKETS_IN_POWER);
    let mut picos = FIRST_PICOS;
    let mut bounds = [0; BUCKETS + 1];
    for bound in &mut bounds[1..BUCKETS] {
        *bound = picos as u64;
        picos *= factor;
    }
    bounds[BUCKETS] = u64::MAX;
    let mut shortest = [u64::MAX; 512];
    for (shortest, bound) in shortest.iter_mut().zip(&bounds[..BUCKETS]) {
        *shortest = bound.div_ceil(1000);
    }
    let guesses = std::array::from_fn(|at| {
        let below = shortest[..BUCKETS].partition_point(|one| *one <= shortest_of(at, GUESS_BITS));
        (below.saturating_sub(1)) as u16
    });
    Tables {
        bounds,
        shortest,
        guesses,
    }
});

/// How many beginnings of numbers there are with so many bits behind the first one.
const fn beginnings(bits: u32) -> usize {
    (65 - bits as usize) << bits
}

/// How many bits a number has, and so many of those that follow the first one. Numbers that are too small are taken for the least one
/// with so many bits.
#[inline]
fn beginning_of(number: u64, bits: u32) -> usize {
    let number = number.max(1 << bits);
    let shift = number.ilog2() - bits;
    ((shift as usize) << bits) + (number >> shift) as usize
}

/// The least number with a [beginning](beginning_of).
const fn shortest_of(beginning: usize, bits: u32) -> u64 {
    if beginning <= 1 << bits {
        return 0;
    }
    let shift = (beginning >> bits) - 1;
    ((beginning & ((1 << bits) - 1)) as u64 | 1 << bits) << shift
}

/// Finds the buckets of times.
#[derive(Clone, Copy)]
pub struct Buckets(&'static Tables);

impl Buckets {
    /// For some times, as a loop over them does not look each time whether there are tables.
    #[inline]
    pub fn get() -> Buckets {
        Buckets(&TABLES)
    }

    /// The bucket of a time.
    #[inline]
    pub fn of(self, nanos: u64) -> u16 {
        let guess = self.0.guesses[beginning_of(nanos, GUESS_BITS)] & 511;
        let next = (guess + 1) & 511;
        let is_next = self.0.shortest[next as usize] <= nanos;
        (guess + u16::from(is_next)).min(BUCKETS as u16 - 1)
    }
}

/// A bucket's lower and upper bound in picoseconds.
pub fn bounds_of(bucket: usize) -> (u64, u64) {
    let bounds = &TABLES.bounds;
    let at = bucket.min(BUCKETS - 1);
    (bounds[at], bounds[at + 1])
}

/// Statements by bucket. It takes no room until there are some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(Vec<u64>);

impl Histogram {
    /// Counts so many.
    #[inline]
    pub fn add(&mut self, bucket: u16, more: u64) {
        if self.0.is_empty() {
            self.0.resize(BUCKETS, 0);
        }
        if let Some(count) = self.0.get_mut(bucket as usize) {
            *count += more;
        }
    }

    /// Counts one of each of these.
    pub fn add_each(&mut self, buckets: impl Iterator<Item = u16>) {
        self.0.resize(BUCKETS, 0);
        let counts = &mut self.0[..];
        for bucket in buckets {
            counts[bucket as usize] += 1;
        }
    }

    /// Adds another's.
    pub fn add_all(&mut self, other: &Histogram) {
        for (bucket, count) in other.0.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add(bucket as u16, *count);
        }
    }

    /// What is left without those of an earlier moment.
    pub fn less(mut self, earlier: &Histogram) -> Histogram {
        for (own, count) in self.0.iter_mut().zip(&earlier.0) {
            *own = own.saturating_sub(*count);
        }
        self
    }

    /// How many fell into a bucket.
    pub fn of(&self, bucket: usize) -> u64 {
        self.0.get(bucket).copied().unwrap_or(0)
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The upper bound of the bucket in which a share of all ends, in picoseconds; 0 if there are none.
    pub fn quantile_picos(&self, share: f64) -> u64 {
        let count = self.count();
        let wanted = (count as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bucket, more) in self.0.iter().enumerate() {
            seen += more;
            if seen >= wanted && count > 0 {
                return bounds_of(bucket).1;
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
            (448, 8_709_635_899_561_102, 9_120_108_393_559_408),
        ] {
            assert_eq!(bounds_of(bucket), (low, high), "{bucket}");
        }
        assert_eq!(bounds_of(BUCKETS - 1).1, u64::MAX);
    }

    #[test]
    fn every_time_is_in_its_bucket() {
        let mut nanos = 0u64;
        while nanos < 1 << 62 {
            let bucket = Buckets::get().of(nanos) as usize;
            let (low, high) = bounds_of(bucket);
            let picos = nanos.saturating_mul(1000);
            assert!(
                low <= picos && (picos < high || bucket == BUCKETS - 1),
                "{nanos}: {bucket}"
            );
            nanos += 1 + nanos / 37;
        }
        for bucket in 1..BUCKETS {
            let first = bounds_of(bucket).0.div_ceil(1000);
            let of = |nanos| Buckets::get().of(nanos) as usize;
            assert_eq!((of(first - 1), of(first)), (bucket - 1, bucket));
        }
        assert_eq!(Buckets::get().of(u64::MAX) as usize, BUCKETS - 1);
        assert_eq!(Buckets::get().of(10_000), 1);
        assert_eq!(Buckets::get().of(9_999), 0);
    }

    #[test]
    fn the_beginning_of_a_number_is_that_of_the_least_one_with_it() {
        for bits in [3, GUESS_BITS] {
            let (mut number, mut before) = (1u64 << bits, 0);
            while number < 1 << 63 {
                let beginning = beginning_of(number, bits);
                let least = shortest_of(beginning, bits);
                assert!(beginning >= before && beginning < beginnings(bits), "{number}");
                assert!(
                    least <= number && (least == 0 || beginning_of(least, bits) == beginning),
                    "{number}"
                );
                assert!(number < 2 << bits || number - least <= number >> bits, "{number}");
                before = beginning;
                number += 1 + number / 29;
            }
            assert!(
                beginning_of(u64::MAX, bits) == beginnings(bits) - 1 && beginning_of(0, bits) == 1 << bits
            );
        }
    }

    #[test]
    fn quantiles_are_upper_bounds() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_picos(0.95), 0);
        for nanos in [20_000; 19] {
            histogram.add(Buckets::get().of(nanos), 1);
        }
        histogram.add(Buckets::get().of(5_000_000), 1);
        assert_eq!(
            histogram.quantile_picos(0.95),
            bounds_of(Buckets::get().of(20_000) as usize).1
        );
        assert_eq!(
            histogram.quantile_picos(0.99),
            bounds_of(Buckets::get().of(5_000_000) as usize).1
        );
    }
}

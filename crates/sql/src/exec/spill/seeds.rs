//! Hashes of keys, by numbers that no client knows.
//!
//! One multiplication of 64 by 64 bits for each eight bytes, whose halves are folded into one (as in wyhash and foldhash). It is much cheaper than
//! SipHash, for most keys of a join are one integer. Clients choose keys: with a hash that is the same in each server they could
//! choose such as all fall together, and a join of theirs would take the square of its rows. So every factor and every summand is
//! drawn at random for each table, and no answer shows a hash. Nothing here withstands somebody who knows the numbers.

use std::hash::{BuildHasher, RandomState};

/// What the hashes of one table depend on.
#[derive(Clone, Copy)]
pub struct Seeds {
    summand: u64,
    factor: u64,
}

impl Seeds {
    /// Seeds that are independent of all others.
    pub fn new() -> Seeds {
        let random = RandomState::new();
        Seeds {
            summand: random.hash_one(0),
            // A factor of few bits would mix little.
            factor: random.hash_one(1) | 1 << 63 | 1,
        }
    }

    #[inline]
    pub fn of_word(self, word: u64) -> u64 {
        fold(word ^ self.summand, self.factor)
    }

    /// The hash of some bytes. Those of a key of another length differ though it has zeros for the rest.
    #[inline]
    pub fn of_bytes(self, bytes: &[u8]) -> u64 {
        let mut hash = self.summand ^ bytes.len() as u64;
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            hash = fold(hash ^ u64::from_le_bytes(*word), self.factor);
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        fold(hash ^ u64::from_le_bytes(last), self.factor)
    }
}

/// The product's halves as one.
#[inline]
fn fold(word: u64, factor: u64) -> u64 {
    let product = u128::from(word) * u128::from(factor);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn hashes_of_near_keys_are_spread() {
        // The bits of pi and of e. Of drawn seeds some spread near keys less well, so the test would depend on the draw.
        let seeds = Seeds {
            summand: 0x243F_6A88_85A3_08D3,
            factor: 0xB7E1_5162_8AED_2A6B,
        };
        let spread = |hashes: &[u64]| {
            // As buckets, as tags and as partitions: about as many differ as of random numbers.
            let different = |part: fn(&u64) -> u64| hashes.iter().map(part).collect::<HashSet<_>>().len();
            assert!(different(|hash| hash >> 32 & 0xFFFF) > 8000, "buckets");
            assert!(different(|hash| hash & 0xFFFF_FFFC) > 9990, "tags");
            let mut parts = [0; 16];
            hashes.iter().for_each(|hash| parts[(hash >> 60) as usize] += 1);
            assert!(parts.iter().all(|n| (400..900).contains(n)), "{parts:?}");
        };
        for step in [1, 256, 1 << 20, 1 << 32, 10_000_019] {
            let words: Vec<u64> = (0..10_000).map(|n| seeds.of_word(n * step)).collect();
            spread(&words);
            let bytes = (0..10_000u64).map(|n| seeds.of_bytes(&(n * step).to_be_bytes()[..]));
            spread(&bytes.collect::<Vec<_>>());
            let texts = (0..10_000u64).map(|n| seeds.of_bytes(format!("customer {}", n * step).as_bytes()));
            spread(&texts.collect::<Vec<_>>());
        }
        assert_ne!(seeds.of_bytes(b""), seeds.of_bytes(b"\0"));
        assert_ne!(seeds.of_bytes(b"12345678"), seeds.of_bytes(b"12345678\0"));
    }

    #[test]
    fn seeds_differ_from_table_to_table() {
        let (one, other) = (Seeds::new(), Seeds::new());
        assert!((0..100).any(|n| one.of_word(n) != other.of_word(n)));
    }
}

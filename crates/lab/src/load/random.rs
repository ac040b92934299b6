//! Random numbers for a load: a generator per client, seeded by the client's number, so that no two draw the same.
//!
//! SplitMix64 (Steele, Lea, Flood, *Fast splittable pseudorandom number generators*, 2014): a counter with a mixing function
//! behind it. It passes the usual tests, and costs two multiplications.

/// A generator.
pub struct Random(u64);

impl Random {
    /// The same seed draws the same numbers.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Each of 1 to `max` alike.
    pub fn up_to(&mut self, max: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(max)) >> 64) as u32 + 1
    }

    /// At least 0 and below 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Groups of eleven digits with dashes between them, until `text` is full: what sysbench puts into its columns.
    pub fn digits(&mut self, text: &mut [u8]) {
        const GROUP: usize = 11;
        for group in text.chunks_mut(GROUP + 1) {
            let mut bits = self.next();
            for (at, letter) in group.iter_mut().enumerate() {
                *letter = if at == GROUP {
                    b'-'
                } else {
                    // The digit is the part of the product above 64 bits, and what is below it holds the next ones.
                    let product = u128::from(bits) * 10;
                    bits = product as u64;
                    b'0' + (product >> 64) as u8
                };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_range_are_drawn_alike() {
        let mut random = Random::new(1);
        let mut seen = [0; 10];
        for _ in 0..100_000 {
            seen[random.up_to(10) as usize - 1] += 1;
        }
        assert!(
            seen.iter().all(|count| (9_500..10_500).contains(count)),
            "{seen:?}"
        );
        assert_eq!(random.up_to(1), 1);
        let mean = (0..100_000).map(|_| random.fraction()).sum::<f64>() / 100_000.0;
        assert!((0.49..0.51).contains(&mean), "{mean}");
    }

    #[test]
    fn texts_are_groups_of_digits() {
        let mut text = [0; 119];
        Random::new(2).digits(&mut text);
        for (at, letter) in text.iter().enumerate() {
            assert_eq!(*letter == b'-', at % 12 == 11, "{at}");
            assert!(*letter == b'-' || letter.is_ascii_digit());
        }
        let mut other = [0; 119];
        Random::new(3).digits(&mut other);
        assert_ne!(text, other);
    }
}

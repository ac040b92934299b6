//! A small random number generator for this floor's tests, so that a failure is repeated by its seed.

/// splitmix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A number near the edges of its range as often as not.
    pub fn edge(&mut self) -> u64 {
        match self.below(6) {
            0 => self.below(4),
            1 => u64::MAX - self.below(4),
            2 => (1 << 63) - 2 + self.below(4),
            _ => self.next() >> self.below(64),
        }
    }
}

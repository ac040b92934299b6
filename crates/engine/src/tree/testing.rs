//! What the tree's tests share.

/// A small deterministic generator (xorshift64*): tests name their seed, failures repeat.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 33) as usize) % limit
    }
}

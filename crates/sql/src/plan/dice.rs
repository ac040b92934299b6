//! Plans at random, to test that all that are considered give the same rows.
//!
//! A planner compares costs. With `tidemark_random_plans` set, each cost is multiplied by a random factor first, so that any of the plans
//! may be taken; the same number gives the same plan of the same statement. See Waas and Galindo-Legaria, *Counting, enumerating, and
//! sampling of execution plans in a cost-based query optimizer* (SIGMOD 2000).

use std::cell::Cell;

/// The state of a generator of random numbers; 0: costs are left as they are.
pub struct Dice(Cell<u64>);

/// The decimal digits of the greatest factor.
const DIGITS: f64 = 4.0;

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Cell::new(seed))
    }

    /// Whether costs are changed.
    pub fn is_thrown(&self) -> bool {
        self.0.get() != 0
    }

    /// A cost as it is compared with others.
    pub fn weigh(&self, cost: f64) -> f64 {
        if !self.is_thrown() {
            return cost;
        }
        // SplitMix64; its state is never 0 in practice, and if it were, costs would only be left as they are.
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let unit = ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
        cost * 10f64.powf((2.0 * unit - 1.0) * DIGITS)
    }
}

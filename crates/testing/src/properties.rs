//! How properties are checked (with `proptest`): on the same cases in every run.

use crate::environment::number_of;
use proptest::test_runner::{Config, RngSeed};

/// A configuration for `cases` cases from the seed 1. A hunt (`./test hunt properties`) sets `TIDEMARK_FUZZ_SEED` for others and
/// `TIDEMARK_PROPERTY_CASES` for more; a failing case is printed in its smallest form, to be made a test.
pub fn properties(cases: u32) -> Config {
    let asked = number_of("TIDEMARK_PROPERTY_CASES").map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    Config {
        cases: asked.unwrap_or(cases),
        rng_seed: RngSeed::Fixed(number_of("TIDEMARK_FUZZ_SEED").unwrap_or(1)),
        failure_persistence: None,
        ..Config::default()
    }
}

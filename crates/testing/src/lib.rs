//! What tests and benchmarks of several crates share; nothing that ships depends on it.
//!
//! - [`Random`]: numbers from a seed, the same on every machine.
//! - [`properties`]: a configuration for `proptest` that repeats itself.
//! - [`fuzz`]: a function is fed mutated inputs, for moments in CI and for hours by hand.
//! - [`bench`]: times a function and prints a line, for the benchmarks below `benches/`.

#![forbid(unsafe_code)]

pub mod bench;
mod environment;
pub mod fuzz;
mod properties;
mod random;

pub use properties::properties;
pub use random::Random;

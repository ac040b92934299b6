//! Planning: from syntax to what the executor runs.
//!
//! - [`scope`]: which names an expression can see.
//! - [`bind`]: expressions' syntax to expressions that can be evaluated.
//! - [`access`]: conditions on one table to ranges of an index.

pub mod access;
pub mod bind;
pub mod scope;

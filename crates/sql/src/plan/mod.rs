//! Planning: from syntax to what the executor runs.
//!
//! - [`scope`]: which names an expression can see.
//! - [`bind`]: expressions' syntax to expressions that can be evaluated.

pub mod bind;
pub mod scope;

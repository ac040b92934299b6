//! The B+tree.

pub mod node;
pub mod op;
mod overflow;
mod racy;

#[cfg(test)]
mod node_tests;
#[cfg(test)]
mod testing;

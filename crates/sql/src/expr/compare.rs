//! Comparison.

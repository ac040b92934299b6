//! What a hunt says to the tests that it runs.

/// The number that an environment variable holds; `None` if it is not set.
///
/// # Panics
/// If it is set and is no number.
pub(crate) fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number")))
}

//! LIKE and REGEXP.

use std::sync::OnceLock;

/// A LIKE pattern taken apart.
#[derive(Clone, Debug)]
pub struct LikePattern {}

/// A compiled regular expression, if the pattern is constant.
#[derive(Clone, Debug, Default)]
pub struct RegexCache(pub OnceLock<regex::Regex>);

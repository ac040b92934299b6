//! KEYWORDS: the words of MySQL's grammar, and which of them are reserved.

use crate::context::SessionState;
use crate::error::Result;
use crate::parse::{FREE, RESERVED};
use crate::types::Value;

/// All of them, by the alphabet.
pub fn keywords(_: &SessionState) -> Result<Vec<Vec<Value>>> {
    let reserved = RESERVED.iter().map(|word| (*word, 1));
    let mut words: Vec<(&str, i64)> = FREE.split(' ').map(|word| (word, 0)).chain(reserved).collect();
    words.sort_unstable();
    let row = |(word, reserved): (&str, i64)| vec![Value::string(word), Value::Int(reserved)];
    Ok(words.into_iter().map(row).collect())
}

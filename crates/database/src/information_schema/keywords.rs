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

/// The words that a full-text index leaves out unless it is told others, as MySQL lists them.
pub fn stopwords(_: &SessionState) -> Result<Vec<Vec<Value>>> {
    const WORDS: &str = "a about an are as at be by com de en for from how i in is it la of on or that the this to was what when where \
                         who will with und the www";
    Ok(WORDS.split(' ').map(|word| vec![Value::string(word)]).collect())
}

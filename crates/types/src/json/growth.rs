//! Documents that grow: their trees and texts ask for memory before they take it.
//!
//! A tree may be sixteen times as large as the text it is read from, so no estimate from the length is both safe and fair. Lists are
//! grown here instead, each by doubling, and what a list doubles to is [reserved](reserve_memory) before; texts that are written
//! likewise. Small lists and texts are caught by their number: whatever makes nodes counts its [`Steps`], which look at the memory that the
//! statement has taken and whether it is to end. Error 3170 names the limit, or 1317, 3024 say that the statement ends.

use super::Json;
use crate::error::Result;
use crate::error::interrupt::Steps;
use crate::error::memory::{check_memory, reserve_memory};

/// Bytes between two looks while a text is read or written.
const LOOK_EVERY: usize = 1 << 20;

/// Adds an element.
#[inline]
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<()> {
    grow_by_one(list)?;
    list.push(value);
    Ok(())
}

/// Makes room for so many more.
pub(super) fn grow<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    let wanted = list
        .len()
        .saturating_add(more)
        .max(list.capacity().saturating_mul(2))
        .max(4);
    let _room = reserve_memory(wanted.saturating_mul(size_of::<T>()))?;
    list.reserve_exact(wanted - list.len());
    Ok(())
}

/// Makes room for one more.
#[inline]
pub(super) fn grow_by_one<T>(list: &mut Vec<T>) -> Result<()> {
    match list.len() == list.capacity() {
        true => grow(list, 1),
        false => Ok(()),
    }
}

/// Adds bytes, and looks between pieces of long ones.
#[inline]
pub(super) fn extend(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    if out.capacity() - out.len() < bytes.len() {
        grow(out, bytes.len())?;
    }
    if bytes.len() < LOOK_EVERY {
        out.extend_from_slice(bytes);
        return Ok(());
    }
    for piece in bytes.chunks(LOOK_EVERY) {
        out.extend_from_slice(piece);
        if piece.len() == LOOK_EVERY {
            check_memory()?;
        }
    }
    Ok(())
}

impl Json {
    /// A copy.
    pub fn copy(&self) -> Result<Json> {
        self.copied(&mut Steps::default())
    }

    fn copied(&self, steps: &mut Steps) -> Result<Json> {
        steps.step()?;
        Ok(match self {
            Json::Array(list) => {
                let mut copy = Vec::new();
                grow(&mut copy, list.len())?;
                for value in list {
                    copy.push(value.copied(steps)?);
                }
                Json::Array(copy)
            }
            Json::Object(members) => {
                let mut copy = Vec::new();
                grow(&mut copy, members.len())?;
                for (name, value) in members {
                    copy.push((name.clone(), value.copied(steps)?));
                }
                Json::Object(copy)
            }
            Json::String(text) => {
                let _room = reserve_memory(text.len())?;
                Json::String(text.clone())
            }
            scalar => scalar.clone(),
        })
    }

    /// An array of copies.
    pub fn array_of(values: &[&Json]) -> Result<Json> {
        let mut list = Vec::new();
        let mut steps = Steps::default();
        for value in values {
            push(&mut list, value.copied(&mut steps)?)?;
        }
        Ok(Json::Array(list))
    }

    /// As [`object`](Json::object), of any number of members.
    pub fn large_object(members: Vec<(String, Json)>) -> Result<Json> {
        check_memory()?;
        // Sorting takes half as much again, and what is left of equal names as much.
        let _room = reserve_memory(2 * members.len() * size_of::<(String, Json)>())?;
        Ok(Json::object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::er;
    use crate::json::{JsonError, shown_text};
    use tidemark_memory::{Limit, begin_statement};

    /// Runs it with a limit that small documents are far below. The allocator of unit tests does not count, so what is refused here is a
    /// reservation.
    fn limited<T>(f: impl FnOnce() -> T) -> T {
        begin_statement(Limit {
            bytes: 1 << 20,
            name: "a_limit",
        });
        let done = f();
        begin_statement(Limit::NONE);
        done
    }

    #[test]
    fn a_tree_that_grows_beyond_the_memory_is_refused_by_name() {
        let elements = format!("[{}1]", "1,".repeat(100_000));
        let members = format!(
            "{{{}\"\": 1}}",
            (0..50_000).map(|n| format!("\"{n}\": 1,")).collect::<String>()
        );
        let string = format!("\"{}\"", "a".repeat(2 << 20));
        for text in [&elements, &members, &string] {
            let tree = Json::parse(text).unwrap();
            let refused = limited(|| Json::parse(text));
            let error = match refused {
                Err(JsonError::Ended(error)) => error,
                other => panic!("{} bytes: {:?}", text.len(), other.map(|_| ())),
            };
            assert_eq!(error.code, er::CAPACITY_EXCEEDED);
            assert!(error.message.contains("'a_limit'"), "{error:?}");
            let stored = tree.stored().unwrap();
            assert!(limited(|| Json::of_stored(&stored)).is_err());
            assert!(limited(|| Json::of_stored(text.as_bytes())).is_err());
            assert!(limited(|| tree.copy()).is_err());
            assert_eq!(tree.copy().unwrap(), tree);
            let large = tree.clone();
            assert!(limited(|| Json::array_of(&[&large; 2])).is_err());
            let several = Json::Array(vec![tree; 8]);
            assert!(limited(|| several.stored()).is_err());
            let stored = several.stored().unwrap();
            assert!(limited(|| shown_text(stored.as_slice().into())).is_err());
            if !matches!(large, Json::String(_)) {
                let (other, mut steps) = (large.clone(), Steps::default());
                assert!(limited(|| large.merge_preserve(other, &mut steps)).is_err());
            }
        }
        let small = limited(|| Json::parse("[1, {\"a\": \"b\"}]")).unwrap();
        let stored = limited(|| small.stored()).unwrap();
        let shown = limited(|| shown_text(stored.as_slice().into())).unwrap();
        assert_eq!(*shown, *small.to_string().as_bytes());
    }
}

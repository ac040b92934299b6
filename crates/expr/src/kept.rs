//! What expressions keep from one row to the next, for one statement: what they have compiled, and the state of RAND().
//!
//! What is constant in the text of an expression is kept by call site; a site is the address of the expression, which outlives the statement. A
//! pattern or path that is only known when the statement runs is kept by its own bytes, so that it does not matter who asks. Most statements keep
//! nothing, so nothing is made before it is needed.

use super::env::RandState;
use super::json_schema::Schema;
use super::like::LikePattern;
use super::regexp::Regex;
use std::collections::HashMap;
use std::rc::Rc;
use tidemark_types::Collation;
use tidemark_types::error::Result;
use tidemark_types::json::PathStep;

/// So many paths and patterns are kept. They are looked for one after the other.
const TEXTS_MAX: usize = 16;
/// Longer patterns are not kept: comparing them takes as long as taking them apart.
const PATTERN_LEN_MAX: usize = 1024;

#[derive(Default)]
pub(crate) struct Kept {
    /// State of RAND() and RAND(n), by call site.
    pub random: HashMap<usize, RandState>,
    /// Constant schemas of JSON_SCHEMA_VALID, by call site.
    pub schemas: HashMap<usize, Rc<Schema>>,
    /// Regular expressions whose patterns are constant, by call site.
    pub regexes: HashMap<usize, Rc<Regex>>,
    /// Paths into documents, by their texts.
    paths: Vec<(Box<[u8]>, Rc<[PathStep]>)>,
    patterns: Vec<(Written, Rc<LikePattern>)>,
}

/// A LIKE pattern as it is written.
struct Written {
    text: Box<[u8]>,
    escape: Option<char>,
    collation: Collation,
}

impl Kept {
    /// Returns a path that was kept.
    pub fn path(&self, written: &[u8]) -> Option<Rc<[PathStep]>> {
        let known = self.paths.iter().find(|(text, _)| **text == *written)?;
        Some(Rc::clone(&known.1))
    }

    /// Keeps a path, unless there are too many.
    pub fn keep_path(&mut self, written: &[u8], path: &Rc<[PathStep]>) {
        if self.paths.len() < TEXTS_MAX {
            self.paths.push((written.into(), Rc::clone(path)));
        }
    }

    /// Returns a LIKE pattern taken apart, as it was kept if it is.
    pub fn pattern(
        &mut self,
        text: &[u8],
        escape: Option<char>,
        collation: Collation,
    ) -> Result<Rc<LikePattern>> {
        let is_same = |written: &Written| {
            *written.text == *text && written.escape == escape && written.collation == collation
        };
        if let Some((_, pattern)) = self.patterns.iter().find(|(written, _)| is_same(written)) {
            return Ok(Rc::clone(pattern));
        }
        let pattern = Rc::new(LikePattern::new(text, escape, collation)?);
        if self.patterns.len() < TEXTS_MAX && text.len() <= PATTERN_LEN_MAX {
            let written = Written {
                text: text.into(),
                escape,
                collation,
            };
            self.patterns.push((written, Rc::clone(&pattern)));
        }
        Ok(pattern)
    }
}

//! LIKE and REGEXP.
//!
//! A LIKE pattern is taken apart once: into literal characters, `_` and `%`. Matching walks the text with one point of
//! return, the latest `%`: whatever an earlier one swallowed need never change, so no pattern takes more than the
//! product of the lengths. Single characters are compared under the collation.

use super::env::{EvalCtx, Watch};
use super::node::Expr;
use super::pieces::{pieces, pieces_of_text};
use super::regexp::{Flags, Regex};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use tidemark_types::Collation;
use tidemark_types::error::memory::reserve_memory;
use tidemark_types::error::{Result, SqlError};

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Char(char),
    /// `_`
    One,
    /// `%`
    Any,
}

/// A LIKE pattern taken apart.
#[derive(Clone, Debug)]
pub struct LikePattern {
    parts: Vec<Part>,
    collation: Collation,
}

/// A pattern that is being taken apart.
struct Parts {
    parts: Vec<Part>,
    escape: Option<char>,
    /// The character before was the escape.
    is_escaped: bool,
}

impl Parts {
    /// Takes the pattern's next character.
    #[inline]
    fn take(&mut self, c: char) {
        if std::mem::take(&mut self.is_escaped) {
            self.parts.push(Part::Char(c));
            return;
        }
        self.parts.push(match c {
            c if Some(c) == self.escape => {
                self.is_escaped = true;
                return;
            }
            '_' => Part::One,
            '%' if self.parts.last() == Some(&Part::Any) => return,
            '%' => Part::Any,
            c => Part::Char(c),
        });
    }

    /// Returns the parts. An escape with nothing after it is a character like others.
    fn finish(mut self) -> Vec<Part> {
        if self.is_escaped {
            self.parts.extend(self.escape.map(Part::Char));
        }
        self.parts
    }
}

/// True for what is compared byte by byte: binary strings, and texts that are not valid.
fn is_bytes(text: &[u8], collation: Collation) -> bool {
    collation.is_binary() || std::str::from_utf8(text).is_err()
}

/// Returns the characters of a text, or its bytes.
fn chars(text: &[u8], collation: Collation) -> Result<Vec<char>> {
    let mut chars = Vec::with_capacity(text.len());
    if is_bytes(text, collation) {
        for piece in pieces(text) {
            chars.extend(piece?.iter().map(|byte| *byte as char));
        }
        return Ok(chars);
    }
    for piece in pieces_of_text(text) {
        chars.extend(String::from_utf8_lossy(piece?).chars());
    }
    Ok(chars)
}

impl LikePattern {
    /// Takes a pattern apart; `escape` makes the character after it literal, `None` where there is no such character.
    /// Error 3170 if there is no memory for that.
    pub fn new(pattern: &[u8], escape: Option<char>, collation: Collation) -> Result<LikePattern> {
        let _room = reserve_memory(pattern.len().saturating_mul(size_of::<Part>()))?;
        let mut parts = Parts {
            parts: Vec::with_capacity(pattern.len()),
            escape,
            is_escaped: false,
        };
        if is_bytes(pattern, collation) {
            for piece in pieces(pattern) {
                piece?.iter().for_each(|byte| parts.take(*byte as char));
            }
        } else {
            for piece in pieces_of_text(pattern) {
                let piece = String::from_utf8_lossy(piece?);
                piece.chars().for_each(|c| parts.take(c));
            }
        }
        Ok(LikePattern {
            parts: parts.finish(),
            collation,
        })
    }

    /// What every match begins with, character by character, and whether that is all of it: what a range of an index can use.
    pub fn head(&self) -> (Vec<u8>, bool) {
        let literal = |part: &Part| if let Part::Char(c) = part { Some(*c) } else { None };
        let chars = self.parts.iter().map_while(literal);
        let count = chars.clone().count();
        let head = match self.collation.is_binary() {
            true => chars.map(|c| c as u8).collect(),
            false => chars.collect::<String>().into_bytes(),
        };
        (head, count == self.parts.len())
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &[u8]) -> bool {
        matches!(self.matches_watched(text, &mut Watch::off()), Ok(true))
    }

    /// `watch` ends a long search of a statement that is interrupted.
    pub(crate) fn matches_watched(&self, text: &[u8], watch: &mut Watch) -> Result<bool> {
        if text.is_ascii() || self.collation.is_binary() {
            return self.run(text.len(), |at| text[at] as char, watch);
        }
        let _room = reserve_memory(text.len().saturating_mul(size_of::<char>()))?;
        let chars = chars(text, self.collation)?;
        self.run(chars.len(), |at| chars[at], watch)
    }

    fn run(&self, len: usize, text: impl Fn(usize) -> char, watch: &mut Watch) -> Result<bool> {
        let (mut at, mut part) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        loop {
            watch.step(1)?;
            let step = match self.parts.get(part) {
                Some(Part::Any) => {
                    part += 1;
                    if part == self.parts.len() {
                        return Ok(true);
                    }
                    retry = Some((at, part));
                    continue;
                }
                None => at == len,
                Some(_) if at == len => false,
                Some(Part::One) => true,
                Some(Part::Char(c)) => self.same(*c, text(at)),
            };
            if step && part == self.parts.len() {
                return Ok(true);
            }
            if step {
                at += 1;
                part += 1;
                continue;
            }
            match &mut retry {
                Some((from, after)) if *from < len => {
                    *from += 1;
                    (at, part) = (*from, *after);
                }
                _ => return Ok(false),
            }
        }
    }

    fn same(&self, a: char, b: char) -> bool {
        a == b || self.collation.same_char(a, b)
    }
}

pub(crate) fn like<'a>(
    args: &'a [Expr; 2],
    compiled: Option<&LikePattern>,
    escape: Option<char>,
    collation: Collation,
    ctx: &EvalCtx<'a>,
) -> Result<Option<bool>> {
    let value = args[0].eval(ctx)?;
    if value.is_null() {
        return Ok(None);
    }
    if let Some(pattern) = compiled {
        return Ok(Some(pattern.matches_watched(
            &value.borrowed().checked_text()?,
            &mut Watch::new(ctx.env),
        )?));
    }
    let pattern = args[1].eval(ctx)?;
    if pattern.is_null() {
        return Ok(None);
    }
    let text = pattern.borrowed().checked_text()?;
    let pattern = match args[1].is_parameter() {
        true => ctx.env.kept().pattern(&text, escape, collation)?,
        false => Rc::new(LikePattern::new(&text, escape, collation)?),
    };
    Ok(Some(pattern.matches_watched(
        &value.borrowed().checked_text()?,
        &mut Watch::new(ctx.env),
    )?))
}

/// A compiled regular expression, once the constant pattern has been seen.
#[derive(Clone, Debug, Default)]
pub struct RegexCache(OnceLock<Arc<Regex>>);

/// Compiles a pattern, of bytes or of characters that `collation` folds or not; `flags` are MySQL's match types: `c`, `i`, `m`, `n`, `u`.
/// Error 1210 names `function`.
pub(crate) fn compile(pattern: &[u8], collation: Collation, flags: &str, function: &str) -> Result<Regex> {
    let mut read = Flags {
        ignores_case: collation.ignores_case(),
        ..Flags::default()
    };
    for flag in flags.chars() {
        match flag {
            'c' => read.ignores_case = false,
            'i' => read.ignores_case = true,
            'm' => read.lines = true,
            'n' => read.dot_all = true,
            'u' => read.unix_lines = true,
            _ => return Err(SqlError::wrong_arguments(function)),
        };
    }
    Regex::new(pattern, collation.is_binary(), read)
}

pub(crate) fn regexp<'a>(
    args: &'a [Expr; 2],
    collation: Collation,
    cache: &RegexCache,
    ctx: &EvalCtx<'a>,
) -> Result<Option<bool>> {
    let (value, pattern) = (args[0].eval(ctx)?, args[1].eval(ctx)?);
    if pattern.is_null() {
        return Ok(None);
    }
    let limits = ctx.env.regexp_limits();
    if let Some(regex) = cache.0.get() {
        return match value.is_null() {
            true => Ok(None),
            false => regex
                .is_match(&value.borrowed().checked_text()?, limits)
                .map(Some),
        };
    }
    // What is wrong with a pattern is said even where there is nothing to search.
    let regex = compile(&pattern.borrowed().checked_text()?, collation, "", "regexp_like")?;
    if value.is_null() {
        return Ok(None);
    }
    let found = regex.is_match(&value.borrowed().checked_text()?, limits)?;
    if args[1].is_constant() {
        // Another session may have been first with the same expression: no matter.
        let _ = cache.0.set(Arc::new(regex));
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        LikePattern::new(pattern.as_bytes(), Some('\\'), Collation::DEFAULT)
            .unwrap()
            .matches(text.as_bytes())
    }

    #[test]
    fn percent_and_underscore() {
        assert!(like("David!", "David_"));
        assert!(like("David!", "%D%v%"));
        assert!(like("abcabcd", "%abcd"));
        assert!(like("", "%"));
        assert!(!like("", "_"));
        assert!(!like("ab", "a"));
        assert!(like("a%b", "a\\%b"));
        assert!(!like("axb", "a\\%b"));
        assert!(like("Ünder", "under"));
        assert!(like("a\\", "a\\") && like("a_", "a\\_") && !like("ab", "a\\_"));
        assert!(like("a\\b", "a\\\\b") && like("a%", "_\\%") && !like("ab", "_\\%"));
        assert!(!like("aaaaaaaaaaaaaaaaaaaaaaaab", "%a%a%a%a%a%a%a%a%c"));
    }

    #[test]
    fn a_long_pattern_ends_with_its_statement() {
        let interrupt = std::sync::Arc::default();
        tidemark_types::error::interrupt::watch(&interrupt);
        let pattern = "ä_".repeat(1 << 20);
        let apart = |collation| LikePattern::new(pattern.as_bytes(), Some('\\'), collation);
        assert_eq!(apart(Collation::DEFAULT).unwrap().parts.len(), 2 << 20);
        interrupt.kill();
        assert!(apart(Collation::DEFAULT).is_err() && apart(Collation::BINARY).is_err());
        interrupt.reset();
    }

    #[test]
    fn prefixes_for_the_index() {
        let p = LikePattern::new(b"ab\\%c%", Some('\\'), Collation::DEFAULT).unwrap();
        assert_eq!(p.head(), (b"ab%c".to_vec(), false));
    }
}

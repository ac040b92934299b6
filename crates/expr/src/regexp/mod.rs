//! Regular expressions with ICU's syntax and meaning, as MySQL has them.
//!
//! ```text
//!  pattern ──parse──▶ Node ──program──▶ Vec<Op> ──run──▶ captures
//!                      │                              a stack of frames: where to go on when a way fails
//!                    class: sets of characters, from Unicode's properties
//! ```
//!
//! ICU searches by backtracking, and what MySQL documents follows from that: the leftmost match, the first alternative that fits, groups
//! that keep what their last round matched, back-references, look-around, and limits. [`Limits::time`] is counted as ICU counts, one unit
//! for 10,000 saved frames (`regexp_time_limit`), and the stack of frames is as long as `regexp_stack_limit` allows; errors 3699 and 3698.
//! So every search ends, and one that is allowed to run for long asks whether its statement goes on, whatever it does.
//!
//! A library for automata (such as `regex`) has no back-references and no look-around, and cannot be interrupted within a call.
//! Libraries that backtrack have other syntax, other sets of characters, fold case one character by one, and count steps of their own, so
//! that translating into one leaves more differences than it saves lines. Properties of characters are `regex-syntax`'s.

mod class;
mod parse;
mod program;
mod run;

use program::Program;
use tidemark_types::error::{Result, SqlError, er};

pub(crate) use run::Search;

/// How a pattern is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    /// `i`: case does not matter.
    pub ignores_case: bool,
    /// `m`: `^` and `$` match at each line.
    pub lines: bool,
    /// `n` here, `s` in a pattern: `.` matches line ends.
    pub dot_all: bool,
    /// `u` here, `d` in a pattern: only `\n` ends a line.
    pub unix_lines: bool,
    /// `x`, in a pattern only: white space and comments are left out.
    pub comments: bool,
    /// `w`, in a pattern only: `\\b` is a boundary of Unicode's words.
    pub words: bool,
}

/// What a search may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In units of 10,000 saved frames; 0: no limit.
    pub time: u32,
    /// The stack of frames, in bytes; 0: no limit.
    pub stack_bytes: u32,
}

impl Default for Limits {
    /// MySQL's.
    fn default() -> Limits {
        Limits {
            time: 32,
            stack_bytes: 8_000_000,
        }
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Regex {
    program: Program,
    /// Characters are bytes.
    bytes: bool,
}

impl Regex {
    /// Compiles a pattern, of bytes or of characters. The errors are MySQL's, 3685 to 3700, 3887 and 4007.
    pub fn new(pattern: &[u8], bytes: bool, flags: Flags) -> Result<Regex> {
        let pattern: Vec<u32> = match bytes {
            true => pattern.iter().map(|b| u32::from(*b)).collect(),
            false => String::from_utf8_lossy(pattern).chars().map(u32::from).collect(),
        };
        let parsed = parse::parse(&pattern, flags)?;
        Ok(Regex {
            program: Program::new(&parsed)?,
            bytes,
        })
    }

    /// Returns a search in a text, whose limits are those of all its calls together.
    pub fn search<'r>(&'r self, text: &'r [u8], limits: Limits) -> Search<'r> {
        Search::new(&self.program, self.bytes, text, limits)
    }

    /// Returns whether the text has a match, within MySQL's limits.
    pub fn is_match(&self, text: &[u8], limits: Limits) -> Result<bool> {
        self.search(text, limits).find_next()
    }

    /// How many groups the pattern has.
    pub fn groups(&self) -> usize {
        self.program.groups
    }

    /// The number of a named group.
    pub fn group_named(&self, name: &str) -> Option<usize> {
        self.program
            .names
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, n)| *n)
    }
}

pub(super) fn error(code: u16, text: &str) -> SqlError {
    SqlError::new(code, text)
}

pub(super) fn illegal_argument() -> SqlError {
    error(
        er::REGEXP_ILLEGAL_ARGUMENT,
        "Illegal argument to a regular expression.",
    )
}

/// Error 3887.
pub(crate) fn bad_group_name() -> SqlError {
    error(
        er::REGEXP_INVALID_CAPTURE_GROUP_NAME,
        "A capture group has an invalid name.",
    )
}

/// Error 3686.
pub(crate) fn out_of_bounds() -> SqlError {
    error(
        er::REGEXP_INDEX_OUT_OF_BOUNDS,
        "Index out of bounds in regular expression search.",
    )
}

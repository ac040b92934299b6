//! Reads ICU's syntax of regular expressions into a tree. Sets of characters are read in `set`.

mod set;

use super::class::Class;
use super::{Flags, bad_group_name, error, illegal_argument};
use regex_syntax::hir::ClassUnicode;
use std::collections::HashMap;
use std::sync::Arc;
use tidemark_types::error::depth::check_stack;
use tidemark_types::error::memory::check_memory;
use tidemark_types::error::{Result, SqlError, er};

/// What stands between characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `^`, `\A`
    TextStart,
    /// `^` in lines; only `\n` ends one.
    LineStart { unix: bool },
    /// `$`, `\Z`: the end, or before the line end there.
    TextEnd { unix: bool },
    /// `$` in lines.
    LineEnd { unix: bool },
    /// `\z`
    VeryEnd,
    /// `\b`, `\B`
    WordBoundary { is_one: bool },
    /// `\G`: where the search before ended.
    SearchStart,
}

/// How much a repetition takes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greed {
    Most,
    Least,
    /// The most, and nothing of it is given back.
    Possessive,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Empty,
    Char {
        c: u32,
        folds: bool,
    },
    Set(Arc<Class>),
    /// `.`
    Any {
        dot_all: bool,
        unix: bool,
    },
    /// `\R`
    LineBreak,
    /// `\X`
    Grapheme,
    Place(Place),
    Concat(Vec<Node>),
    Alternatives(Vec<Node>),
    /// `(…)`, the number from 1.
    Capture(Box<Node>, usize),
    /// `(?>…)`
    Atomic(Box<Node>),
    LookAhead {
        body: Box<Node>,
        negated: bool,
    },
    LookBehind {
        body: Box<Node>,
        negated: bool,
    },
    Repeat {
        body: Box<Node>,
        min: u32,
        max: Option<u32>,
        greed: Greed,
    },
    BackRef {
        group: usize,
        folds: bool,
    },
}

pub(super) struct Parsed {
    pub root: Node,
    /// How many groups there are.
    pub groups: usize,
    pub names: Vec<(String, usize)>,
}

pub(super) fn parse(pattern: &[u32], flags: Flags) -> Result<Parsed> {
    if pattern.is_empty() {
        return Err(illegal_argument());
    }
    let mut parser = Parser {
        pattern,
        at: 0,
        flags,
        quoted: false,
        groups: 0,
        names: Vec::new(),
        back_ref_max: 0,
        classes: HashMap::new(),
    };
    let root = parser.alternatives()?;
    if parser.at < pattern.len() {
        return Err(mismatched_paren());
    }
    if parser.back_ref_max > parser.groups {
        return Err(invalid_back_ref());
    }
    Ok(Parsed {
        root,
        groups: parser.groups,
        names: parser.names,
    })
}

fn mismatched_paren() -> SqlError {
    error(
        er::REGEXP_MISMATCHED_PAREN,
        "Mismatched parenthesis in regular expression.",
    )
}

fn invalid_back_ref() -> SqlError {
    error(
        er::REGEXP_INVALID_BACK_REF,
        "Invalid back-reference in regular expression.",
    )
}

fn bad_escape() -> SqlError {
    error(
        er::REGEXP_BAD_ESCAPE_SEQUENCE,
        "Unrecognized escape sequence in regular expression.",
    )
}

fn missing_bracket() -> SqlError {
    error(
        er::REGEXP_MISSING_CLOSE_BRACKET,
        "The regular expression contains an unclosed bracket expression.",
    )
}

fn invalid_range() -> SqlError {
    error(
        er::REGEXP_INVALID_RANGE,
        "The regular expression contains an [x-y] character range where x comes after y.",
    )
}

fn unimplemented() -> SqlError {
    error(
        er::REGEXP_UNIMPLEMENTED,
        "The regular expression contains a feature that is not implemented in this library version.",
    )
}

struct Parser<'p> {
    pattern: &'p [u32],
    at: usize,
    flags: Flags,
    /// Between `\Q` and `\E`.
    quoted: bool,
    groups: usize,
    names: Vec<(String, usize)>,
    back_ref_max: usize,
    classes: HashMap<(Vec<u32>, bool, bool), Arc<Class>>,
}

/// A character of the pattern, for comparisons with literals.
fn is(c: Option<u32>, literal: char) -> bool {
    c == Some(u32::from(literal))
}

fn ascii(c: u32) -> char {
    char::from_u32(c).filter(char::is_ascii).unwrap_or('\u{fffd}')
}

impl Parser<'_> {
    fn peek(&self) -> Option<u32> {
        self.pattern.get(self.at).copied()
    }

    fn peek_second(&self) -> Option<u32> {
        self.pattern.get(self.at + 1).copied()
    }

    fn next(&mut self) -> Option<u32> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn take(&mut self, literal: &str) -> bool {
        let wanted = literal.chars().map(u32::from);
        let len = literal.chars().count();
        let rest = self.pattern.get(self.at..self.at + len);
        let fits = rest.is_some_and(|rest| rest.iter().copied().eq(wanted));
        if fits {
            self.at += len;
        }
        fits
    }

    /// Error 3688 at the character that stands at `at`.
    fn syntax(&self, at: usize) -> SqlError {
        let before = &self.pattern[..at.min(self.pattern.len().saturating_sub(1))];
        let is_end = |c: &u32| *c == u32::from('\n');
        let line = before.iter().filter(|c| is_end(c)).count() + 1;
        let column = before.iter().rev().take_while(|c| !is_end(c)).count() + 1;
        error(
            er::REGEXP_RULE_SYNTAX,
            &format!("Syntax error in regular expression on line {line}, character {column}."),
        )
    }

    // ---------------------------------------------------------------------------------------------- structure

    fn alternatives(&mut self) -> Result<Node> {
        check_stack()?;
        let mut ways = vec![self.concat()?];
        while is(self.peek(), '|') && !self.quoted {
            self.at += 1;
            ways.push(self.concat()?);
        }
        Ok(match ways.len() {
            1 => ways.remove(0),
            _ => Node::Alternatives(ways),
        })
    }

    fn concat(&mut self) -> Result<Node> {
        let mut parts = Vec::new();
        loop {
            check_memory()?;
            self.skip_comments();
            let Some(c) = self.peek() else { break };
            if !self.quoted && matches!(ascii(c), '|' | ')') {
                break;
            }
            if let Some((term, repeats)) = self.term()? {
                parts.push(match repeats {
                    true => self.repeated(term)?,
                    false => term,
                });
            }
        }
        Ok(match parts.len() {
            0 => Node::Empty,
            1 => parts.remove(0),
            _ => Node::Concat(parts),
        })
    }

    /// White space and `#…` in `(?x)`, and `\Q`, `\E` everywhere.
    fn skip_comments(&mut self) {
        loop {
            if self.quoted {
                match self.take("\\E") {
                    true => self.quoted = false,
                    false => return,
                }
            } else if self.take("\\Q") {
                self.quoted = true;
            } else if self.flags.comments && self.peek().is_some_and(is_blank) {
                self.at += 1;
            } else if self.flags.comments && is(self.peek(), '#') {
                while self.peek().is_some_and(|c| !is_line_end(c)) {
                    self.at += 1;
                }
            } else {
                return;
            }
        }
    }

    fn literal(&self, c: u32) -> Node {
        Node::Char {
            c,
            folds: self.flags.ignores_case,
        }
    }

    /// One term, and whether it may be repeated; `None` for what only sets flags.
    fn term(&mut self) -> Result<Option<(Node, bool)>> {
        let start = self.at;
        let Some(c) = self.next() else {
            return Ok(None);
        };
        if self.quoted {
            return Ok(Some((self.literal(c), true)));
        }
        let unix = self.flags.unix_lines;
        Ok(Some(match ascii(c) {
            '(' => return self.group(start),
            '[' => (self.set_node()?, true),
            '.' => {
                let dot_all = self.flags.dot_all;
                (Node::Any { dot_all, unix }, true)
            }
            '^' if self.flags.lines => (Node::Place(Place::LineStart { unix }), true),
            '^' => (Node::Place(Place::TextStart), true),
            '$' if self.flags.lines => (Node::Place(Place::LineEnd { unix }), true),
            '$' => (Node::Place(Place::TextEnd { unix }), true),
            '\\' => self.escape()?,
            '*' | '+' | '?' | '{' | '}' => return Err(self.syntax(start)),
            _ => (self.literal(c), true),
        }))
    }

    /// Repetitions behind a term.
    fn repeated(&mut self, term: Node) -> Result<Node> {
        self.skip_comments();
        while !self.quoted && self.take("(?#") {
            self.skip_comment_group()?;
            self.skip_comments();
        }
        if self.quoted {
            return Ok(term);
        }
        let sign = self.peek().map_or(' ', ascii);
        if !matches!(sign, '*' | '+' | '?' | '{') {
            return Ok(term);
        }
        self.at += 1;
        let (min, max) = match sign {
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            _ => self.interval()?,
        };
        let greed = match self.peek().map(ascii) {
            Some('?') => Greed::Least,
            Some('+') => Greed::Possessive,
            _ => Greed::Most,
        };
        if greed != Greed::Most {
            self.at += 1;
        }
        Ok(Node::Repeat {
            body: Box::new(term),
            min,
            max,
            greed,
        })
    }

    fn number(&mut self) -> Result<Option<u32>> {
        let mut number: Option<u32> = None;
        while let Some(digit) = self.peek().and_then(|c| ascii(c).to_digit(10)) {
            self.at += 1;
            let more = number
                .unwrap_or(0)
                .checked_mul(10)
                .and_then(|n| n.checked_add(digit));
            match more.filter(|n| *n <= i32::MAX as u32) {
                Some(more) => number = Some(more),
                None => {
                    return Err(error(
                        er::REGEXP_NUMBER_TOO_BIG,
                        "Decimal number in regular expression is too large.",
                    ));
                }
            }
        }
        Ok(number)
    }

    /// `{n}`, `{n,}`, `{n,m}`, from behind the first brace.
    fn interval(&mut self) -> Result<(u32, Option<u32>)> {
        let min = self.number()?.ok_or_else(bad_interval)?;
        let max = match is(self.peek(), ',') {
            false => Some(min),
            true => {
                self.at += 1;
                self.number()?
            }
        };
        if !is(self.next(), '}') {
            return Err(bad_interval());
        }
        if max.is_some_and(|max| max < min) {
            return Err(error(
                er::REGEXP_MAX_LT_MIN,
                "The maximum is less than the minumum in a {min,max} interval.",
            ));
        }
        Ok((min, max))
    }

    fn skip_comment_group(&mut self) -> Result<()> {
        loop {
            match self.next() {
                None => return Err(mismatched_paren()),
                Some(c) if ascii(c) == ')' => return Ok(()),
                Some(_) => {}
            }
        }
    }

    fn group(&mut self, start: usize) -> Result<Option<(Node, bool)>> {
        if !is(self.peek(), '?') {
            self.groups += 1;
            let number = self.groups;
            let body = self.body()?;
            return Ok(Some((Node::Capture(body, number), true)));
        }
        self.at += 1;
        let kind = self.next().map(ascii);
        let node = match kind {
            Some(':') => *self.body()?,
            Some('>') => Node::Atomic(self.body()?),
            Some('=') => Node::LookAhead {
                body: self.body()?,
                negated: false,
            },
            Some('!') => Node::LookAhead {
                body: self.body()?,
                negated: true,
            },
            Some('<') if is(self.peek(), '=') || is(self.peek(), '!') => {
                let negated = is(self.next(), '!');
                Node::LookBehind {
                    body: self.body()?,
                    negated,
                }
            }
            Some('<') => {
                if !self.peek().is_some_and(|c| ascii(c).is_ascii_alphabetic()) {
                    return Err(self.syntax(self.at));
                }
                let name = self.group_name()?;
                if self.names.iter().any(|(known, _)| *known == name) {
                    return Err(bad_group_name());
                }
                self.groups += 1;
                let number = self.groups;
                self.names.push((name, number));
                Node::Capture(self.body()?, number)
            }
            Some('#') => {
                self.skip_comment_group()?;
                return Ok(None);
            }
            Some('i' | 'm' | 's' | 'd' | 'x' | 'w' | '-') => {
                self.at -= 1;
                return self.flags_group();
            }
            _ => return Err(self.syntax(start + 2)),
        };
        let repeats = !matches!(node, Node::LookAhead { .. } | Node::LookBehind { .. });
        Ok(Some((node, repeats || matches!(kind, Some(':' | '>')))))
    }

    /// The inside of a group up to its `)`. Flags that change inside end there.
    fn body(&mut self) -> Result<Box<Node>> {
        let flags = self.flags;
        let body = self.alternatives()?;
        if !is(self.next(), ')') {
            return Err(mismatched_paren());
        }
        self.flags = flags;
        Ok(Box::new(body))
    }

    /// `<name>`, from behind its first sign.
    fn group_name(&mut self) -> Result<String> {
        let mut name = String::new();
        loop {
            match self.next().map(ascii) {
                Some('>') if !name.is_empty() => return Ok(name),
                Some(c) if c.is_ascii_alphabetic() || c.is_ascii_digit() && !name.is_empty() => name.push(c),
                _ => return Err(bad_group_name()),
            }
        }
    }

    /// `(?ims-x)` and `(?ims-x:…)`, from the first letter.
    fn flags_group(&mut self) -> Result<Option<(Node, bool)>> {
        let start = self.at;
        let before = self.flags;
        let (mut flags, mut on) = (before, true);
        loop {
            let at = self.at;
            match self.next().map(ascii) {
                Some('i') => flags.ignores_case = on,
                Some('m') => flags.lines = on,
                Some('s') => flags.dot_all = on,
                Some('d') => flags.unix_lines = on,
                Some('x') => flags.comments = on,
                Some('w') => flags.words = on,
                Some('-') if on => on = false,
                Some(')') => {
                    self.flags = flags;
                    return Ok(None);
                }
                Some(':') => {
                    self.flags = flags;
                    let body = self.body();
                    self.flags = before;
                    return Ok(Some((*body?, true)));
                }
                Some(_) if at == start => return Err(self.syntax(at)),
                _ => {
                    return Err(error(
                        er::REGEXP_INVALID_FLAG,
                        "Invalid match mode flag in regular expression.",
                    ));
                }
            }
        }
    }

    // ------------------------------------------------------------------------------------------------ escapes

    /// A set that is written from `start` on. One that was written before is not made again.
    fn class_node(&mut self, start: usize, set: &ClassUnicode) -> Node {
        const KEPT_LEN_MAX: usize = 64;
        let written = &self.pattern[start..self.at];
        if written.len() > KEPT_LEN_MAX {
            return Node::Set(Arc::new(Class::new(set)));
        }
        let key = (written.to_vec(), self.flags.ignores_case, self.flags.comments);
        let known = self.classes.entry(key);
        Node::Set(Arc::clone(known.or_insert_with(|| Arc::new(Class::new(set)))))
    }

    fn escape(&mut self) -> Result<(Node, bool)> {
        let start = self.at;
        let Some(c) = self.peek() else {
            return Err(bad_escape());
        };
        let place = |place| Ok((Node::Place(place), false));
        if let Some(c) = self.escaped_char()? {
            return Ok((self.literal(c), true));
        }
        if let Some(set) = self.escaped_set()? {
            return Ok((self.class_node(start, &set), true));
        }
        self.at += 1;
        match ascii(c) {
            'A' => place(Place::TextStart),
            'Z' => place(Place::TextEnd { unix: false }),
            'z' => place(Place::VeryEnd),
            'b' | 'B' if self.flags.words => Err(unimplemented()),
            'b' => place(Place::WordBoundary { is_one: true }),
            'B' => place(Place::WordBoundary { is_one: false }),
            'G' => place(Place::SearchStart),
            'R' => Ok((Node::LineBreak, true)),
            'X' => Ok((Node::Grapheme, true)),
            'k' => self.named_back_ref(),
            digit if digit.is_ascii_digit() => Ok((self.back_ref(digit), true)),
            _ => Ok((self.literal(c), true)),
        }
    }

    /// As many digits as make the number of a group that has begun, one at least.
    fn back_ref(&mut self, first: char) -> Node {
        let mut group = first.to_digit(10).unwrap_or(0) as usize;
        while let Some(digit) = self.peek().and_then(|c| ascii(c).to_digit(10)) {
            let more = group * 10 + digit as usize;
            if more > self.groups {
                break;
            }
            group = more;
            self.at += 1;
        }
        self.back_ref_max = self.back_ref_max.max(group);
        Node::BackRef {
            group,
            folds: self.flags.ignores_case,
        }
    }

    fn named_back_ref(&mut self) -> Result<(Node, bool)> {
        if !is(self.next(), '<') {
            return Err(bad_group_name());
        }
        let name = self.group_name()?;
        let known = self.names.iter().find(|(known, _)| *known == name);
        let group = known.ok_or_else(bad_group_name)?.1;
        let folds = self.flags.ignores_case;
        Ok((Node::BackRef { group, folds }, true))
    }

    /// The character of an escape behind the backslash that stands for one: `\n`, `\x41`, `\u0041`, `\0101`, `\cA`.
    fn escaped_char(&mut self) -> Result<Option<u32>> {
        let Some(c) = self.peek().map(ascii) else {
            return Ok(None);
        };
        let simple = match c {
            'a' => 7,
            'e' => 27,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'c' => {
                self.at += 1;
                let c = self.next().ok_or_else(bad_escape)?;
                return Ok(Some(c & 0x1f));
            }
            'x' => {
                self.at += 1;
                return self.hex_char().map(Some);
            }
            'u' => {
                self.at += 1;
                return self.hex_digits(4, 4).map(Some);
            }
            'U' => {
                self.at += 1;
                return self.hex_digits(8, 8).map(Some);
            }
            '0' => {
                self.at += 1;
                return self.octal_char().map(Some);
            }
            _ => return Ok(None),
        };
        self.at += 1;
        Ok(Some(simple))
    }

    fn hex_char(&mut self) -> Result<u32> {
        if !is(self.peek(), '{') {
            return self.hex_digits(1, 2);
        }
        self.at += 1;
        let c = self.hex_digits(1, 8)?;
        match is(self.next(), '}') {
            true => Ok(c),
            false => Err(bad_escape()),
        }
    }

    fn hex_digits(&mut self, least: usize, most: usize) -> Result<u32> {
        let (mut c, mut digits) = (0u32, 0);
        while digits < most
            && let Some(digit) = self.peek().and_then(|c| ascii(c).to_digit(16))
        {
            c = c << 4 | digit;
            digits += 1;
            self.at += 1;
        }
        match digits >= least && c <= 0x10ffff {
            true => Ok(c),
            false => Err(bad_escape()),
        }
    }

    fn octal_char(&mut self) -> Result<u32> {
        let (mut c, mut digits) = (0u32, 0);
        while digits < 3
            && let Some(digit) = self.peek().and_then(|c| ascii(c).to_digit(8))
            && c * 8 + digit <= 0o377
        {
            c = c * 8 + digit;
            digits += 1;
            self.at += 1;
        }
        match digits {
            0 => Err(bad_escape()),
            _ => Ok(c),
        }
    }
}

fn bad_interval() -> SqlError {
    error(
        er::REGEXP_BAD_INTERVAL,
        "Incorrect description of a {min,max} interval.",
    )
}

fn is_blank(c: u32) -> bool {
    matches!(c, 9..=13 | 32 | 0x85 | 0x200e | 0x200f | 0x2028 | 0x2029)
}

pub(super) fn is_line_end(c: u32) -> bool {
    matches!(c, 10..=13 | 0x85 | 0x2028 | 0x2029)
}

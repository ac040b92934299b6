//! Reads sets of characters: `[…]` with ICU's operators, and escapes that stand for sets.

use super::{
    Node, Parser, ascii, illegal_argument, invalid_range, is, is_blank, missing_bracket, unimplemented,
};
use crate::regexp::class;
use regex_syntax::hir::ClassUnicode;
use tidemark_types::error::Result;
use tidemark_types::error::depth::check_stack;
use tidemark_types::error::memory::check_memory;

impl Parser<'_> {
    /// The set of an escape that stands for one: `\w`, `\P{Lu}`.
    pub(super) fn escaped_set(&mut self) -> Result<Option<ClassUnicode>> {
        let Some(c) = self.peek().map(ascii) else {
            return Ok(None);
        };
        let (set, negated) = match c {
            'w' | 'W' => (class::word(), c == 'W'),
            'd' | 'D' => (class::digit(), c == 'D'),
            's' | 'S' => (class::space(), c == 'S'),
            'h' | 'H' => (class::horizontal(), c == 'H'),
            'v' | 'V' => (class::vertical(), c == 'V'),
            'p' | 'P' => {
                self.at += 1;
                return self.property(c == 'P').map(Some);
            }
            'N' if is(self.peek_second(), '{') => return Err(unimplemented()),
            'N' => return Err(illegal_argument()),
            _ => return Ok(None),
        };
        self.at += 1;
        let mut set = set.clone();
        if negated {
            set.negate();
        }
        Ok(Some(set))
    }

    /// `{…}` of a property.
    fn property(&mut self, negated: bool) -> Result<ClassUnicode> {
        if !is(self.next(), '{') {
            return Err(illegal_argument());
        }
        let mut name = String::new();
        loop {
            match self.next() {
                Some(c) if ascii(c) == '}' => break,
                Some(c) => name.extend(char::from_u32(c)),
                None => return Err(illegal_argument()),
            }
        }
        self.named_set(&name, negated)
    }

    fn named_set(&self, name: &str, negated: bool) -> Result<ClassUnicode> {
        if class::is_beyond_us(name) {
            return Err(unimplemented());
        }
        let mut set = class::property(name)?;
        if self.flags.ignores_case {
            class::close_over_case(&mut set);
        }
        if negated {
            set.negate();
        }
        Ok(set)
    }

    pub(super) fn set_node(&mut self) -> Result<Node> {
        let start = self.at;
        let set = self.set()?;
        Ok(self.class_node(start, &set))
    }

    /// A set from behind its first bracket.
    fn set(&mut self) -> Result<ClassUnicode> {
        check_stack()?;
        check_memory()?;
        if is(self.peek(), ':')
            && let Some(set) = self.posix()?
        {
            return Ok(set);
        }
        let negated = is(self.peek(), '^');
        if negated {
            self.at += 1;
        }
        let mut set = ClassUnicode::empty();
        // A bracket that would end the set at once is a character of it.
        if is(self.peek(), ']') {
            self.at += 1;
            self.range_from(u32::from(']'), &mut set)?;
        }
        self.set_operations(&mut set)?;
        if self.flags.ignores_case {
            class::close_over_case(&mut set);
        }
        if negated {
            set.negate();
        }
        Ok(set)
    }

    /// The parts of a set up to its bracket, joined by their operators.
    fn set_operations(&mut self, set: &mut ClassUnicode) -> Result<()> {
        loop {
            check_memory()?;
            let Some(c) = self.next() else {
                return Err(missing_bracket());
            };
            match ascii(c) {
                ']' => return Ok(()),
                '[' => set.union(&self.set()?),
                '&' if is(self.peek(), '&') => {
                    self.at += 1;
                    let mut other = ClassUnicode::empty();
                    self.set_operand(&mut other)?;
                    set.intersect(&other);
                }
                '&' if is(self.peek(), '[') => {
                    self.at += 1;
                    let other = self.set()?;
                    set.intersect(&other);
                }
                '-' if is(self.peek(), '-') => {
                    self.at += 1;
                    let mut other = ClassUnicode::empty();
                    self.set_operand(&mut other)?;
                    set.difference(&other);
                }
                '-' if is(self.peek(), '[') => {
                    self.at += 1;
                    let other = self.set()?;
                    set.difference(&other);
                }
                '\\' => self.set_escape(set)?,
                _ if self.flags.comments && is_blank(c) => {}
                _ => self.range_from(c, set)?,
            }
        }
    }

    /// What an operator of two signs takes: all that stands up to the next of them, or the end.
    fn set_operand(&mut self, set: &mut ClassUnicode) -> Result<()> {
        loop {
            check_memory()?;
            let (Some(c), second) = (self.peek(), self.peek_second()) else {
                return Err(missing_bracket());
            };
            match ascii(c) {
                ']' => return Ok(()),
                '&' if is(second, '&') => return Ok(()),
                '-' if is(second, '-') => return Ok(()),
                _ => {}
            }
            self.at += 1;
            match ascii(c) {
                '[' => set.union(&self.set()?),
                '\\' => self.set_escape(set)?,
                _ => self.range_from(c, set)?,
            }
        }
    }

    fn set_escape(&mut self, set: &mut ClassUnicode) -> Result<()> {
        if let Some(c) = self.escaped_char()? {
            return self.range_from(c, set);
        }
        if let Some(other) = self.escaped_set()? {
            set.union(&other);
            return Ok(());
        }
        let c = self.next().ok_or_else(missing_bracket)?;
        self.range_from(c, set)
    }

    /// A character, or the range that begins with it.
    fn range_from(&mut self, from: u32, set: &mut ClassUnicode) -> Result<()> {
        let second = self.peek_second().map(ascii);
        if !is(self.peek(), '-') || matches!(second, None | Some(']' | '[' | '-')) {
            set.union(&class::range(from, from));
            return Ok(());
        }
        self.at += 1;
        let mut to = self.next().ok_or_else(missing_bracket)?;
        if ascii(to) == '\\' {
            to = match self.escaped_char()? {
                Some(c) => c,
                None => {
                    let c = self.next().ok_or_else(missing_bracket)?;
                    if matches!(
                        ascii(c),
                        'w' | 'W' | 'd' | 'D' | 's' | 'S' | 'h' | 'H' | 'v' | 'V' | 'p' | 'P' | 'N'
                    ) {
                        return Err(self.syntax(self.at - 1));
                    }
                    c
                }
            };
        }
        if to < from {
            return Err(invalid_range());
        }
        set.union(&class::range(from, to));
        Ok(())
    }

    /// `[:name:]`, from its first colon; `None` if it is none, and nothing is read.
    fn posix(&mut self) -> Result<Option<ClassUnicode>> {
        let start = self.at;
        self.at += 1;
        let negated = is(self.peek(), '^');
        if negated {
            self.at += 1;
        }
        let mut name = String::new();
        loop {
            match self.next() {
                Some(c) if ascii(c) == ':' && is(self.peek(), ']') => {
                    self.at += 1;
                    return self.named_set(&name, negated).map(Some);
                }
                Some(c) if !matches!(ascii(c), '[' | ']' | '\\') => name.extend(char::from_u32(c)),
                _ => {
                    self.at = start;
                    return Ok(None);
                }
            }
        }
    }
}

//! Searches a text: instructions, a frame, and a stack of frames to go back to.
//!
//! A frame is where the search is in the text, and what its groups and loops have noted; all of it is copied when a way is put aside, so
//! that going back is a copy, too. The stack is as long as the limit allows; every 10,000 frames are a unit of time. Beside these limits
//! every step of every kind counts towards the next look at whether the statement goes on.

use super::Limits;
use super::class::{Ready, fold, ready};
use super::parse::{Place, is_line_end};
use super::program::{Op, Program};
use super::{error, program::First};
use tidemark_types::error::memory::{check_memory, reserve_memory};
use tidemark_types::error::{Result, er};

/// A slot that notes nothing.
const UNSET: usize = usize::MAX;
/// Frames in a unit of time, as in ICU.
const TICKS: u32 = 10_000;
/// Steps between two looks at the statement: about a millisecond.
const STEPS: usize = 1 << 17;
/// ICU's limit is one of 32-bit words, of which its stack has two for each of ours.
const WORD_BYTES: usize = 4;

const NEWLINE: u32 = '\n' as u32;
const RETURN: u32 = '\r' as u32;

/// A search for one match after the other.
pub(crate) struct Search<'r> {
    program: &'r Program,
    text: Text<'r>,
    stack_words_max: usize,
    time_max: u32,
    ticks: u32,
    time: u32,
    steps: usize,
    /// The slots of the frame at hand.
    frame: Vec<usize>,
    /// Frames put aside: slots, place in the text, place in the program.
    stack: Vec<usize>,
    found: Option<(usize, usize)>,
    /// Where the match before began to be searched for.
    from: usize,
    ready: Option<&'static Ready>,
}

#[derive(Clone, Copy)]
struct Text<'r> {
    text: &'r [u8],
    bytes: bool,
}

impl Text<'_> {
    /// The character at a place and the place after it.
    #[inline]
    fn next(self, at: usize) -> Option<(u32, usize)> {
        let first = *self.text.get(at)?;
        if first < 0x80 || self.bytes {
            return Some((first.into(), at + 1));
        }
        Some(self.next_long(at, first))
    }

    #[cold]
    fn next_long(self, at: usize, first: u8) -> (u32, usize) {
        let len = match first {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return (0xfffd, at + 1),
        };
        let decoded = self
            .text
            .get(at..at + len)
            .and_then(|part| std::str::from_utf8(part).ok());
        match decoded.and_then(|part| part.chars().next()) {
            Some(c) => (c.into(), at + len),
            None => (0xfffd, at + 1),
        }
    }

    /// The character before a place, and where it begins.
    #[inline]
    fn before(self, at: usize) -> Option<(u32, usize)> {
        let last = *self.text.get(at.checked_sub(1)?)?;
        if last < 0x80 || self.bytes {
            return Some((last.into(), at - 1));
        }
        let whole = (2..=4.min(at)).find_map(|len| {
            let (c, end) = self.next(at - len)?;
            (end == at && len > 1).then_some((c, at - len))
        });
        Some(whole.unwrap_or((0xfffd, at - 1)))
    }

    fn is_end(self, at: usize) -> bool {
        at >= self.text.len()
    }
}

impl<'r> Search<'r> {
    pub(super) fn new(program: &'r Program, bytes: bool, text: &'r [u8], limits: Limits) -> Search<'r> {
        Search {
            program,
            text: Text { text, bytes },
            stack_words_max: match limits.stack_bytes {
                0 => usize::MAX,
                bytes => bytes as usize / WORD_BYTES,
            },
            time_max: limits.time,
            ticks: TICKS,
            time: 0,
            steps: 0,
            frame: vec![UNSET; program.slots],
            stack: Vec::new(),
            found: None,
            from: 0,
            ready: None,
        }
    }

    /// Searches from a byte on; what is before it can be seen by look-behind and `^`.
    pub fn find_from(&mut self, from: usize) -> Result<bool> {
        self.found = None;
        self.from = from;
        self.find(from)
    }

    /// Searches behind the last match, which an empty one does not stop.
    pub fn find_next(&mut self) -> Result<bool> {
        let from = match self.found {
            None => 0,
            Some((start, end)) if start == end => match self.text.next(end) {
                Some((_, next)) => next,
                None => {
                    self.found = None;
                    return Ok(false);
                }
            },
            Some((_, end)) => end,
        };
        self.from = self.found.map_or(0, |(_, end)| end);
        self.find(from)
    }

    /// Where the match begins and ends, in bytes.
    pub fn matched(&self) -> Option<(usize, usize)> {
        self.found
    }

    /// Where a group does; group 0 is the match.
    pub fn group(&self, number: usize) -> Option<(usize, usize)> {
        let found = self.found?;
        let Some(slot) = number.checked_sub(1).map(|n| 3 * n) else {
            return Some(found);
        };
        let (start, end) = (*self.frame.get(slot)?, *self.frame.get(slot + 1)?);
        (start != UNSET && end != UNSET).then_some((start, end))
    }

    fn find(&mut self, from: usize) -> Result<bool> {
        self.found = None;
        let program = self.program;
        let mut start = from;
        loop {
            match self.candidate(start)? {
                Some(at) => start = at,
                None => return Ok(false),
            }
            if self.text.text.len() - start < program.min_len || program.anchored && start > 0 {
                return Ok(false);
            }
            if let Some(end) = self.match_at(start)? {
                self.found = Some((start, end));
                return Ok(true);
            }
            match self.text.next(start) {
                Some((_, next)) => start = next,
                None => return Ok(false),
            }
        }
    }

    /// The next place at which a match may begin.
    fn candidate(&mut self, start: usize) -> Result<Option<usize>> {
        let text = self.text.text;
        if let Some(prefix) = &self.program.prefix {
            // In windows, for the library does not ask.
            const WINDOW: usize = 1 << 20;
            let (mut at, overlap) = (start, prefix.needle().len() - 1);
            loop {
                let end = text.len().min(at + WINDOW + overlap);
                if let Some(found) = prefix.find(&text[at..end]) {
                    self.step(1 + found / 16)?;
                    return Ok(Some(at + found));
                }
                if end == text.len() {
                    return Ok(None);
                }
                self.step(WINDOW / 16)?;
                at = end - overlap;
            }
        }
        let Some(First { ascii, others }) = self.program.first else {
            self.step(1)?;
            return Ok(Some(start));
        };
        let mut at = start;
        while let Some(&b) = text.get(at) {
            let may = match b < 0x80 {
                true => ascii >> b & 1 == 1,
                // In the middle of a character, or at the beginning of one.
                false => others && (at == start || self.text.bytes || b & 0xc0 != 0x80),
            };
            if may {
                break;
            }
            at += 1;
            self.step(1)?;
        }
        Ok((at < text.len()).then_some(at))
    }

    #[inline]
    fn step(&mut self, steps: usize) -> Result<()> {
        self.steps += steps;
        if self.steps >= STEPS {
            self.steps = 0;
            check_memory()?;
        }
        Ok(())
    }

    #[inline]
    fn tick(&mut self) -> Result<()> {
        self.ticks -= 1;
        if self.ticks == 0 {
            self.ticks = TICKS;
            self.time += 1;
            if self.time_max > 0 && self.time >= self.time_max {
                return Err(error(
                    er::REGEXP_TIME_OUT,
                    "Timeout exceeded in regular expression match.",
                ));
            }
        }
        Ok(())
    }

    /// Puts a way aside.
    #[inline]
    fn save(&mut self, at: usize, to: usize) -> Result<()> {
        let words = self.frame.len() + 2;
        if self.stack.len() + words > self.stack.capacity() {
            self.grow(words)?;
        }
        self.stack.extend_from_slice(&self.frame);
        self.stack.extend_from_slice(&[at, to]);
        self.tick()
    }

    #[cold]
    fn grow(&mut self, words: usize) -> Result<()> {
        let overflow = || {
            error(
                er::REGEXP_STACK_OVERFLOW,
                "Overflow in the regular expression backtrack stack.",
            )
        };
        let needed = self.stack.len() + words;
        if needed > self.stack_words_max {
            return Err(overflow());
        }
        let wanted = (2 * needed).max(1024).min(self.stack_words_max);
        let _room = reserve_memory(wanted * size_of::<usize>())?;
        let more = wanted - self.stack.len();
        self.stack.try_reserve_exact(more).map_err(|_| overflow())
    }

    /// Goes back to the way put aside last; where it is in the text and the program.
    #[inline]
    fn go_back(&mut self) -> Option<(usize, usize)> {
        let slots = self.frame.len();
        let start = self.stack.len().checked_sub(slots + 2)?;
        self.frame.copy_from_slice(&self.stack[start..start + slots]);
        let place = (self.stack[start + slots], self.stack[start + slots + 1]);
        self.stack.truncate(start);
        Some(place)
    }

    /// Where a match that begins here ends.
    fn match_at(&mut self, start: usize) -> Result<Option<usize>> {
        self.stack.clear();
        self.frame.fill(UNSET);
        let program = self.program;
        let (mut at, mut pc) = (start, 0);
        loop {
            self.step(1)?;
            let went_on = match &program.ops[pc] {
                Op::Match => return Ok(Some(at)),
                op => self.execute(op, &mut at, &mut pc)?,
            };
            if !went_on {
                match self.go_back() {
                    Some(place) => (at, pc) = place,
                    None => return Ok(None),
                }
            }
        }
    }

    /// Executes an instruction and moves on; false if this way fails.
    #[inline]
    fn execute(&mut self, op: &'r Op, at: &mut usize, pc: &mut usize) -> Result<bool> {
        let text = self.text;
        let behind = *pc + 1;
        *pc = behind;
        match op {
            Op::Match => return Ok(false),
            Op::Char(wanted) => match text.next(*at) {
                Some((c, next)) if c == *wanted => *at = next,
                _ => return Ok(false),
            },
            Op::Text(wanted) => {
                for wanted in wanted {
                    match text.next(*at) {
                        Some((c, next)) if c == *wanted => *at = next,
                        _ => return Ok(false),
                    }
                    self.step(1)?;
                }
            }
            Op::Folded(wanted) => match self.folded(wanted, *at)? {
                Some(end) => *at = end,
                None => return Ok(false),
            },
            Op::Set(set) => match text.next(*at) {
                Some((c, next)) if set.has(c) => *at = next,
                _ => return Ok(false),
            },
            Op::Any { dot_all, unix } => match self.any(*at, *dot_all, *unix) {
                Some(next) => *at = next,
                None => return Ok(false),
            },
            Op::LineBreak => match text.next(*at) {
                Some((RETURN, next)) => {
                    *at = match text.next(next) {
                        Some((NEWLINE, after)) => after,
                        _ => next,
                    };
                }
                Some((c, next)) if is_line_end(c) => *at = next,
                _ => return Ok(false),
            },
            Op::Grapheme => match self.grapheme(*at)? {
                Some(end) => *at = end,
                None => return Ok(false),
            },
            Op::At(place) => return Ok(self.is_at(*place, *at)),
            Op::CaptureStart(slot) => self.frame[slot + 2] = *at,
            Op::CaptureEnd(slot) => {
                self.frame[*slot] = self.frame[slot + 2];
                self.frame[slot + 1] = *at;
            }
            Op::BackRef { slot, folds } => match self.back_ref(*slot, *folds, *at)? {
                Some(end) => *at = end,
                None => return Ok(false),
            },
            Op::Save(to) => self.save(*at, *to)?,
            Op::Jmp(to) => *pc = *to,
            Op::JmpSav(to) => {
                self.save(*at, behind)?;
                *pc = *to;
            }
            Op::NoteInput(slot) => self.frame[*slot] = *at,
            Op::JmpSavMoved { to, slot } => {
                if self.frame[*slot] < *at {
                    self.save(*at, behind)?;
                    *pc = *to;
                }
            }
            Op::SaveMoved { to, slot } => {
                if self.frame[*slot] < *at {
                    self.save(*at, *to)?;
                }
            }
            _ => return self.execute_rare(op, at, pc),
        }
        Ok(true)
    }

    fn execute_rare(&mut self, op: &'r Op, at: &mut usize, pc: &mut usize) -> Result<bool> {
        let text = self.text;
        let behind = *pc;
        match op {
            Op::LoopSet { set, slot } => {
                self.frame[*slot] = *at;
                while let Some((c, next)) = text.next(*at)
                    && set.has(c)
                {
                    *at = next;
                    self.step(1)?;
                }
            }
            Op::LoopAny { dot_all, unix, slot } => {
                self.frame[*slot] = *at;
                match dot_all {
                    true => *at = text.text.len(),
                    false => {
                        while let Some(next) = self.any(*at, false, *unix) {
                            *at = next;
                            self.step(1)?;
                        }
                    }
                }
            }
            Op::LoopBack { slot, dot_all } => {
                let first = self.frame[*slot];
                if *at <= first {
                    return Ok(true);
                }
                let (c, mut before) = text.before(*at).unwrap_or((0, first));
                if *dot_all
                    && c == NEWLINE
                    && let Some((RETURN, pair)) = text.before(before)
                    && pair >= first
                {
                    before = pair;
                }
                self.save(before.max(first), behind - 1)?;
            }
            Op::CounterStart {
                slot,
                min,
                exit,
                lazy,
            } => {
                self.frame[*slot] = 0;
                self.frame[slot + 1] = UNSET;
                if *min == 0 {
                    match lazy {
                        false => self.save(*at, *exit)?,
                        true => {
                            self.save(*at, behind)?;
                            *pc = *exit;
                        }
                    }
                }
            }
            Op::CounterLoop {
                slot,
                min,
                max,
                body,
                lazy,
            } => {
                let count = self.frame[*slot] + 1;
                self.frame[*slot] = count;
                if max.is_some_and(|max| count >= max as usize) {
                    return Ok(true);
                }
                if count < *min as usize {
                    self.tick()?;
                    *pc = *body;
                    return Ok(true);
                }
                // A round without a limit that has not moved is the last.
                let moved = self.frame[slot + 1] != *at;
                self.frame[slot + 1] = *at;
                if !moved {
                    return Ok(true);
                }
                match lazy {
                    true => self.save(*at, *body)?,
                    false => {
                        self.save(*at, behind)?;
                        *pc = *body;
                    }
                }
            }
            Op::StoreStack(slot) => self.frame[*slot] = self.stack.len(),
            Op::RestoreStack(slot) => self.stack.truncate(self.frame[*slot]),
            Op::LookStart(slot) => {
                self.frame[*slot] = self.stack.len();
                self.frame[slot + 1] = *at;
            }
            Op::LookEnd(slot) => {
                self.stack.truncate(self.frame[*slot]);
                *at = self.frame[slot + 1];
            }
            Op::LookFail(slot) => {
                self.stack.truncate(self.frame[*slot]);
                return Ok(false);
            }
            Op::BehindStart { slot, min } => {
                self.frame[*slot] = self.stack.len();
                self.frame[slot + 1] = *at;
                self.frame[slot + 2] = *min as usize;
            }
            Op::BehindNext { slot, max, none } => return self.behind_next(*slot, *max, *none, at, pc),
            Op::BehindEnd { slot, negated } => {
                if *at != self.frame[slot + 1] {
                    return Ok(false);
                }
                self.stack.truncate(self.frame[*slot]);
                return Ok(!negated);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn behind_next(
        &mut self,
        slot: usize,
        max: u32,
        none: Option<usize>,
        at: &mut usize,
        pc: &mut usize,
    ) -> Result<bool> {
        let own = *pc - 1;
        let (end, length) = (self.frame[slot + 1], self.frame[slot + 2]);
        let mut start = Some(end);
        for _ in 0..length {
            self.step(1)?;
            start = start
                .and_then(|start| self.text.before(start))
                .map(|(_, before)| before);
            if start.is_none() {
                break;
            }
        }
        let Some(start) = start.filter(|_| length <= max as usize) else {
            return Ok(match none {
                None => false,
                Some(to) => {
                    self.stack.truncate(self.frame[slot]);
                    *at = end;
                    *pc = to;
                    true
                }
            });
        };
        self.frame[slot + 2] = length + 1;
        self.save(*at, own)?;
        *at = start;
        Ok(true)
    }

    // ------------------------------------------------------------------------------------------- characters

    fn any(&self, at: usize, dot_all: bool, unix: bool) -> Option<usize> {
        let (c, next) = self.text.next(at)?;
        match (dot_all, c) {
            (true, RETURN) => match self.text.next(next) {
                Some((NEWLINE, after)) => Some(after),
                _ => Some(next),
            },
            (true, _) => Some(next),
            (false, c) if unix => (c != NEWLINE).then_some(next),
            (false, c) => (!is_line_end(c)).then_some(next),
        }
    }

    /// Where the text in folded case ends. It must not end within what a character folds to.
    fn folded(&mut self, wanted: &[u32], at: usize) -> Result<Option<usize>> {
        let (mut at, mut wanted) = (at, wanted);
        let mut several = Vec::new();
        while let Some((first, rest)) = wanted.split_first() {
            self.step(1)?;
            let Some((c, next)) = self.text.next(at) else {
                return Ok(None);
            };
            at = next;
            if c < 128 {
                if u32::from((c as u8).to_ascii_lowercase()) != *first {
                    return Ok(None);
                }
                wanted = rest;
                continue;
            }
            several.clear();
            self.fold(c, &mut several);
            match wanted.strip_prefix(several.as_slice()) {
                Some(rest) => wanted = rest,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    fn fold(&self, c: u32, out: &mut Vec<u32>) {
        match self.text.bytes {
            true => out.push(c),
            false => fold(c, out),
        }
    }

    fn back_ref(&mut self, slot: usize, folds: bool, at: usize) -> Result<Option<usize>> {
        let (start, end) = (self.frame[slot], self.frame[slot + 1]);
        if start == UNSET || end == UNSET {
            return Ok(None);
        }
        let text = self.text;
        if !folds {
            let wanted = &text.text[start..end];
            self.step(1 + wanted.len() / 8)?;
            return Ok(text.text[at..].starts_with(wanted).then_some(at + wanted.len()));
        }
        let (mut from, mut at) = (start, at);
        let (mut own, mut other) = (Vec::new(), Vec::new());
        // Both sides are folded character by character; either may be ahead.
        while from < end || !own.is_empty() {
            self.step(1)?;
            if own.is_empty() {
                let Some((c, next)) = text.next(from) else {
                    return Ok(None);
                };
                from = next;
                self.fold(c, &mut own);
            }
            if other.is_empty() {
                let Some((c, next)) = text.next(at) else {
                    return Ok(None);
                };
                at = next;
                self.fold(c, &mut other);
            }
            let same = own.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if same != own.len().min(other.len()) {
                return Ok(None);
            }
            own.drain(..same);
            other.drain(..same);
        }
        Ok(other.is_empty().then_some(at))
    }

    fn is_at(&mut self, place: Place, at: usize) -> bool {
        let text = self.text;
        let is_after_return = || matches!(text.before(at), Some((RETURN, _)));
        match place {
            Place::TextStart => at == 0,
            Place::VeryEnd => text.is_end(at),
            Place::SearchStart => at == self.from,
            Place::LineStart { unix } => match text.before(at) {
                None => true,
                Some((c, _)) if unix => c == NEWLINE,
                Some((RETURN, _)) => !matches!(text.next(at), None | Some((NEWLINE, _))),
                Some((c, _)) => is_line_end(c) && !text.is_end(at),
            },
            Place::TextEnd { unix } => match text.next(at) {
                None => true,
                Some((c, next)) if unix => c == NEWLINE && text.is_end(next),
                Some((RETURN, next)) if matches!(text.next(next), Some((NEWLINE, after)) if text.is_end(after)) => {
                    true
                }
                Some((c, next)) => {
                    text.is_end(next) && is_line_end(c) && !(c == NEWLINE && is_after_return())
                }
            },
            Place::LineEnd { unix } => match text.next(at) {
                None => true,
                Some((c, _)) if unix => c == NEWLINE,
                Some((c, _)) => is_line_end(c) && !(c == NEWLINE && is_after_return()),
            },
            Place::WordBoundary { is_one } => self.is_word_boundary(at) == is_one,
        }
    }

    fn ready(&mut self) -> &'static Ready {
        self.ready.get_or_insert_with(ready)
    }

    fn is_word_boundary(&mut self, at: usize) -> bool {
        let (text, ready) = (self.text, self.ready());
        let mut is_word = false;
        if let Some((c, _)) = text.next(at) {
            if ready.extending.has(c) {
                return false;
            }
            is_word = ready.word.has(c);
        }
        let mut before = text.before(at);
        while let Some((c, start)) = before
            && ready.extending.has(c)
        {
            self.steps += 1;
            before = text.before(start);
        }
        before.is_some_and(|(c, _)| ready.word.has(c)) != is_word
    }

    /// Where the grapheme cluster that begins here ends.
    fn grapheme(&mut self, at: usize) -> Result<Option<usize>> {
        let (text, ready) = (self.text, self.ready());
        let Some((mut c, mut end)) = text.next(at) else {
            return Ok(None);
        };
        if c == RETURN {
            return Ok(Some(match text.next(end) {
                Some((NEWLINE, after)) => after,
                _ => end,
            }));
        }
        if is_control(c) {
            return Ok(Some(end));
        }
        let mut flags = usize::from(is_flag(c));
        let mut joins_pictures = ready.pictographic.has(c);
        while let Some((next, after)) = text.next(end) {
            self.step(1)?;
            let extends = ready.grapheme_extend.has(next);
            let goes_on = match () {
                () if is_control(next) => false,
                () if extends || ready.prepend.has(c) => true,
                () if c == ZERO_WIDTH_JOINER && joins_pictures && ready.pictographic.has(next) => true,
                () if is_flag(c) && is_flag(next) => flags % 2 == 1,
                () => is_hangul_pair(c, next),
            };
            if !goes_on {
                break;
            }
            flags += usize::from(is_flag(next));
            joins_pictures = ready.pictographic.has(next) || joins_pictures && extends;
            (c, end) = (next, after);
        }
        Ok(Some(end))
    }
}

const ZERO_WIDTH_JOINER: u32 = 0x200d;

fn is_control(c: u32) -> bool {
    matches!(c, 0..=0x1f | 0x7f..=0x9f | 0xad | 0x200b | 0x200e | 0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0xfeff)
}

fn is_flag(c: u32) -> bool {
    matches!(c, 0x1f1e6..=0x1f1ff)
}

/// Whether two parts of a syllable of Hangul are not parted.
fn is_hangul_pair(a: u32, b: u32) -> bool {
    let leads = |c| matches!(c, 0x1100..=0x115f | 0xa960..=0xa97c);
    let vowel = |c| matches!(c, 0x1160..=0x11a7 | 0xd7b0..=0xd7c6);
    let tail = |c| matches!(c, 0x11a8..=0x11ff | 0xd7cb..=0xd7fb);
    let syllable = |c| matches!(c, 0xac00..=0xd7a3);
    let open = |c: u32| syllable(c) && (c - 0xac00).is_multiple_of(28);
    leads(a) && (leads(b) || vowel(b) || syllable(b))
        || (vowel(a) || open(a)) && (vowel(b) || tail(b))
        || (tail(a) || syllable(a)) && tail(b)
}

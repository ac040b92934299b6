//! Turns the tree of a pattern into instructions, as ICU does.
//!
//! ```text
//!  X*     Save 4; 2: X; JmpSav 2; 4:            X*?    Jmp 3; 2: X; 3: Save 2
//!  X+     1: X; JmpSav 1                        X|Y    Save 2; X; Jmp 3; 2: Y; 3:
//!  [x]*   LoopSet; LoopBack                     (?>X)  StoreStack; X; RestoreStack
//! ```
//!
//! The forms matter beyond their results: each frame that is saved counts towards the limits of a search. A loop whose body may match
//! nothing notes where it began, and ends after a round that has not moved.

use super::class::{Class, fold};
use super::error;
use super::parse::{Greed, Node, Parsed, Place};
use memchr::memmem::Finder;
use std::sync::Arc;
use tidemark_types::error::depth::check_stack;
use tidemark_types::error::memory::check_memory;
use tidemark_types::error::{Result, er};

/// An instruction. `usize` are places in the program, or slots of the frame.
#[derive(Debug)]
pub(super) enum Op {
    Match,
    Char(u32),
    Text(Box<[u32]>),
    /// A text in folded case.
    Folded(Box<[u32]>),
    Set(Arc<Class>),
    Any {
        dot_all: bool,
        unix: bool,
    },
    LineBreak,
    Grapheme,
    At(Place),
    /// A group begins: noted at the second of its slots after its own two.
    CaptureStart(usize),
    CaptureEnd(usize),
    BackRef {
        slot: usize,
        folds: bool,
    },
    /// Another way, for when this one fails.
    Save(usize),
    Jmp(usize),
    /// To go on behind is another way; jumps.
    JmpSav(usize),
    /// Notes where a round of a loop begins.
    NoteInput(usize),
    /// `JmpSav` if there was progress since the note; else goes on behind.
    JmpSavMoved {
        to: usize,
        slot: usize,
    },
    /// `Save` if there was progress since the note; goes on behind.
    SaveMoved {
        to: usize,
        slot: usize,
    },
    /// As many of a set as there are; [`Op::LoopBack`] gives them back one by one.
    LoopSet {
        set: Arc<Class>,
        slot: usize,
    },
    LoopAny {
        dot_all: bool,
        unix: bool,
        slot: usize,
    },
    LoopBack {
        slot: usize,
        dot_all: bool,
    },
    /// Begins to count; the slot after `slot` notes where rounds without a limit begin.
    CounterStart {
        slot: usize,
        min: u32,
        exit: usize,
        lazy: bool,
    },
    CounterLoop {
        slot: usize,
        min: u32,
        max: Option<u32>,
        body: usize,
        lazy: bool,
    },
    StoreStack(usize),
    RestoreStack(usize),
    /// Notes the stack and the place, at two slots.
    LookStart(usize),
    LookEnd(usize),
    /// Forgets the ways since the note, and fails.
    LookFail(usize),
    /// Three slots: the stack, the place, the length to try next.
    BehindStart {
        slot: usize,
        min: u32,
    },
    /// Tries the body at the next length before the place. Without one more: fails, or goes to `none`.
    BehindNext {
        slot: usize,
        max: u32,
        none: Option<usize>,
    },
    /// The body must have come to the place. Then goes on from there, or fails if that is what must not be.
    BehindEnd {
        slot: usize,
        negated: bool,
    },
}

/// A pattern ready to be searched for.
#[derive(Debug)]
pub(super) struct Program {
    pub ops: Vec<Op>,
    pub groups: usize,
    pub names: Vec<(String, usize)>,
    /// The slots of a frame: three for each group, then those of loops and look-around.
    pub slots: usize,
    /// The least bytes of a match.
    pub min_len: usize,
    /// A match begins at the beginning of the text, or nowhere.
    pub anchored: bool,
    /// Characters of ASCII that every match begins with.
    pub prefix: Option<Finder<'static>>,
    /// Where a match may begin; `None`: anywhere.
    pub first: Option<First>,
}

/// The first characters of matches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct First {
    pub ascii: u128,
    pub others: bool,
}

const OPS_MAX: usize = 1 << 24;

impl Program {
    pub fn new(parsed: &Parsed) -> Result<Program> {
        let mut compiler = Compiler {
            ops: Vec::new(),
            slots: 3 * parsed.groups,
        };
        compiler.node(&parsed.root)?;
        compiler.emit(Op::Match)?;
        let (min_len, _) = width(&parsed.root);
        let mut first = First::default();
        let has_first = !first_of(&parsed.root, &mut first);
        Ok(Program {
            groups: parsed.groups,
            names: parsed.names.clone(),
            slots: compiler.slots,
            min_len: min_len as usize,
            anchored: is_anchored(&parsed.root),
            prefix: prefix_of(&parsed.root),
            first: has_first.then_some(first),
            ops: compiler.ops,
        })
    }
}

struct Compiler {
    ops: Vec<Op>,
    slots: usize,
}

impl Compiler {
    fn emit(&mut self, op: Op) -> Result<usize> {
        check_memory()?;
        if self.ops.len() >= OPS_MAX {
            return Err(error(
                er::REGEXP_PATTERN_TOO_BIG,
                "The regular expression pattern exceeds limits on size or complexity.",
            ));
        }
        self.ops.push(op);
        Ok(self.ops.len() - 1)
    }

    fn here(&self) -> usize {
        self.ops.len()
    }

    fn slot(&mut self, count: usize) -> usize {
        self.slots += count;
        self.slots - count
    }

    /// Makes the instruction at `at` go to what comes next.
    fn land(&mut self, at: usize) {
        let here = self.here();
        match &mut self.ops[at] {
            Op::Save(to) | Op::Jmp(to) => *to = here,
            Op::CounterStart { exit, .. } => *exit = here,
            Op::BehindNext { none, .. } => *none = Some(here),
            _ => {}
        }
    }

    fn node(&mut self, node: &Node) -> Result<()> {
        check_stack()?;
        match node {
            Node::Empty => {}
            Node::Char { .. } => self.chars(std::slice::from_ref(node))?,
            Node::Set(set) => drop(self.emit(Op::Set(Arc::clone(set)))?),
            Node::Any { dot_all, unix } => {
                let (dot_all, unix) = (*dot_all, *unix);
                self.emit(Op::Any { dot_all, unix })?;
            }
            Node::LineBreak => drop(self.emit(Op::LineBreak)?),
            Node::Grapheme => drop(self.emit(Op::Grapheme)?),
            Node::Place(place) => drop(self.emit(Op::At(*place))?),
            Node::Concat(parts) => self.concat(parts)?,
            Node::Alternatives(ways) => self.alternatives(ways)?,
            Node::Capture(body, number) => {
                let slot = 3 * (number - 1);
                self.emit(Op::CaptureStart(slot))?;
                self.node(body)?;
                self.emit(Op::CaptureEnd(slot))?;
            }
            Node::Atomic(body) => self.atomic(|compiler| compiler.node(body))?,
            Node::LookAhead { body, negated } => self.look_ahead(body, *negated)?,
            Node::LookBehind { body, negated } => self.look_behind(body, *negated)?,
            Node::Repeat {
                body,
                min,
                max,
                greed,
            } => match greed {
                Greed::Possessive => {
                    self.atomic(|compiler| compiler.repeat(body, *min, *max, false))?;
                }
                greed => self.repeat(body, *min, *max, *greed == Greed::Least)?,
            },
            Node::BackRef { group, folds } => {
                let slot = 3 * (group - 1);
                let folds = *folds;
                self.emit(Op::BackRef { slot, folds })?;
            }
        }
        Ok(())
    }

    fn atomic(&mut self, body: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let slot = self.slot(1);
        self.emit(Op::StoreStack(slot))?;
        body(self)?;
        self.emit(Op::RestoreStack(slot))?;
        Ok(())
    }

    fn concat(&mut self, parts: &[Node]) -> Result<()> {
        let mut at = 0;
        while at < parts.len() {
            let alike = |node: &Node| match (node, &parts[at]) {
                (Node::Char { folds: a, .. }, Node::Char { folds: b, .. }) => a == b,
                _ => false,
            };
            let run = parts[at..].iter().take_while(|node| alike(node)).count();
            match run {
                0 => self.node(&parts[at])?,
                run => self.chars(&parts[at..at + run])?,
            }
            at += run.max(1);
        }
        Ok(())
    }

    /// Characters that all fold, or all do not.
    fn chars(&mut self, chars: &[Node]) -> Result<()> {
        let (mut text, mut any_folds) = (Vec::new(), false);
        for node in chars {
            if let Node::Char { c, folds } = node {
                any_folds |= folds;
                match folds {
                    true => fold(*c, &mut text),
                    false => text.push(*c),
                }
            }
        }
        self.emit(match (any_folds, text.as_slice()) {
            (true, _) => Op::Folded(text.into()),
            (false, [c]) => Op::Char(*c),
            (false, _) => Op::Text(text.into()),
        })?;
        Ok(())
    }

    fn alternatives(&mut self, ways: &[Node]) -> Result<()> {
        let mut ends = Vec::new();
        for (n, way) in ways.iter().enumerate() {
            if n + 1 == ways.len() {
                self.node(way)?;
                break;
            }
            let other = self.emit(Op::Save(0))?;
            self.node(way)?;
            ends.push(self.emit(Op::Jmp(0))?);
            self.land(other);
        }
        ends.into_iter().for_each(|end| self.land(end));
        Ok(())
    }

    fn look_ahead(&mut self, body: &Node, negated: bool) -> Result<()> {
        let slot = self.slot(2);
        self.emit(Op::LookStart(slot))?;
        if !negated {
            self.node(body)?;
            self.emit(Op::LookEnd(slot))?;
            return Ok(());
        }
        let none = self.emit(Op::Save(0))?;
        self.node(body)?;
        self.emit(Op::LookFail(slot))?;
        self.land(none);
        Ok(())
    }

    fn look_behind(&mut self, body: &Node, negated: bool) -> Result<()> {
        let (min, Some(max)) = width(body) else {
            return Err(error(
                er::REGEXP_LOOK_BEHIND_LIMIT,
                "The look-behind assertion exceeds the limit in regular expression.",
            ));
        };
        let slot = self.slot(3);
        self.emit(Op::BehindStart { slot, min })?;
        let next = self.emit(Op::BehindNext {
            slot,
            max,
            none: None,
        })?;
        self.node(body)?;
        self.emit(Op::BehindEnd { slot, negated })?;
        if negated {
            self.land(next);
        }
        Ok(())
    }

    fn repeat(&mut self, body: &Node, min: u32, max: Option<u32>, lazy: bool) -> Result<()> {
        const UNROLLED_MAX: u32 = 10;
        match (min, max) {
            (_, Some(0)) => Ok(()),
            (1, Some(1)) => self.node(body),
            (0, None) => self.star(body, lazy),
            (1, None) => self.plus(body, lazy),
            (0, Some(1)) => self.optional(body, lazy),
            (_, Some(max)) if max <= UNROLLED_MAX && is_single(body) => {
                for _ in 0..min {
                    self.node(body)?;
                }
                let mut ends = Vec::new();
                for _ in min..max {
                    ends.extend(self.may(lazy)?);
                    self.node(body)?;
                }
                ends.into_iter().for_each(|end| self.land(end));
                Ok(())
            }
            _ => self.counted(body, min, max, lazy),
        }
    }

    /// Begins what may be left out; what is to be landed behind it.
    fn may(&mut self, lazy: bool) -> Result<Vec<usize>> {
        let save = self.emit(Op::Save(0))?;
        if !lazy {
            return Ok(vec![save]);
        }
        let leave = self.emit(Op::Jmp(0))?;
        self.land(save);
        Ok(vec![leave])
    }

    fn optional(&mut self, body: &Node, lazy: bool) -> Result<()> {
        let ends = self.may(lazy)?;
        self.node(body)?;
        ends.into_iter().for_each(|end| self.land(end));
        Ok(())
    }

    /// The loop of a set or `.` that saves one frame at a time.
    fn simple_loop(&mut self, body: &Node) -> Result<bool> {
        let slot = self.slots;
        let (op, back) = match body {
            Node::Set(set) => {
                let set = Arc::clone(set);
                (Op::LoopSet { set, slot }, Op::LoopBack { slot, dot_all: false })
            }
            Node::Any { dot_all, unix } => {
                let (dot_all, unix) = (*dot_all, *unix);
                (
                    Op::LoopAny { dot_all, unix, slot },
                    Op::LoopBack { slot, dot_all },
                )
            }
            _ => return Ok(false),
        };
        self.slot(1);
        self.emit(op)?;
        self.emit(back)?;
        Ok(true)
    }

    fn star(&mut self, body: &Node, lazy: bool) -> Result<()> {
        if !lazy && self.simple_loop(body)? {
            return Ok(());
        }
        let may_be_empty = width(body).0 == 0;
        if lazy {
            let enter = self.emit(Op::Jmp(0))?;
            let top = self.here();
            let noted = self.round(body, may_be_empty)?;
            match noted {
                None => {
                    self.land(enter);
                    self.emit(Op::Save(top))?;
                }
                Some(slot) => {
                    self.emit(Op::SaveMoved { to: top, slot })?;
                    let end = self.emit(Op::Jmp(0))?;
                    self.land(enter);
                    self.emit(Op::Save(top))?;
                    self.land(end);
                }
            }
            return Ok(());
        }
        let none = self.emit(Op::Save(0))?;
        self.greedy_rounds(body, may_be_empty)?;
        self.land(none);
        Ok(())
    }

    /// One round of a loop, which notes where it begins if it may match nothing.
    fn round(&mut self, body: &Node, may_be_empty: bool) -> Result<Option<usize>> {
        let noted = may_be_empty.then(|| self.slot(1));
        if let Some(slot) = noted {
            self.emit(Op::NoteInput(slot))?;
        }
        self.node(body)?;
        Ok(noted)
    }

    fn greedy_rounds(&mut self, body: &Node, may_be_empty: bool) -> Result<()> {
        let to = self.here();
        match self.round(body, may_be_empty)? {
            Some(slot) => self.emit(Op::JmpSavMoved { to, slot })?,
            None => self.emit(Op::JmpSav(to))?,
        };
        Ok(())
    }

    fn plus(&mut self, body: &Node, lazy: bool) -> Result<()> {
        let may_be_empty = width(body).0 == 0;
        if lazy {
            let to = self.here();
            match self.round(body, may_be_empty)? {
                Some(slot) => self.emit(Op::SaveMoved { to, slot })?,
                None => self.emit(Op::Save(to))?,
            };
            return Ok(());
        }
        if matches!(body, Node::Set(_) | Node::Any { .. }) {
            self.node(body)?;
            self.simple_loop(body)?;
            return Ok(());
        }
        self.greedy_rounds(body, may_be_empty)
    }

    fn counted(&mut self, body: &Node, min: u32, max: Option<u32>, lazy: bool) -> Result<()> {
        let slot = self.slot(2);
        let start = self.emit(Op::CounterStart {
            slot,
            min,
            exit: 0,
            lazy,
        })?;
        let top = self.here();
        self.node(body)?;
        self.emit(Op::CounterLoop {
            slot,
            min,
            max,
            body: top,
            lazy,
        })?;
        self.land(start);
        Ok(())
    }
}

fn is_single(node: &Node) -> bool {
    matches!(node, Node::Char { .. } | Node::Set(_) | Node::Any { .. })
}

/// How many characters a match of a node has: at least, and at most, if there is a limit.
fn width(node: &Node) -> (u32, Option<u32>) {
    match node {
        Node::Empty | Node::Place(_) | Node::LookAhead { .. } | Node::LookBehind { .. } => (0, Some(0)),
        // What is folded may be several characters, or part of one.
        Node::Char { c, folds: true } => {
            let mut folded = Vec::new();
            fold(*c, &mut folded);
            (0, Some(folded.len() as u32))
        }
        Node::Char { .. } | Node::Set(_) | Node::Any { dot_all: false, .. } => (1, Some(1)),
        Node::Any { .. } | Node::LineBreak => (1, Some(2)),
        Node::Grapheme => (1, None),
        Node::BackRef { .. } => (0, None),
        Node::Capture(body, _) | Node::Atomic(body) => width(body),
        Node::Concat(parts) => {
            let both = |(min, max): (u32, Option<u32>), part: &Node| {
                let (more_min, more_max) = width(part);
                let max = max.zip(more_max).and_then(|(a, b)| a.checked_add(b));
                (min.saturating_add(more_min), max)
            };
            parts.iter().fold((0, Some(0)), both)
        }
        Node::Alternatives(ways) => {
            let widths = ways.iter().map(width);
            widths
                .reduce(|(min, max), (a, b)| (min.min(a), max.zip(b).map(|(max, b)| max.max(b))))
                .unwrap_or((0, Some(0)))
        }
        Node::Repeat { body, min, max, .. } => {
            let (least, most) = width(body);
            let max = match (most, max) {
                (Some(0), _) => Some(0),
                (most, max) => most.zip(*max).and_then(|(a, b)| a.checked_mul(b)),
            };
            (least.saturating_mul(*min), max)
        }
    }
}

/// Adds what a match of a node may begin with; returns true if it may have no character.
fn first_of(node: &Node, first: &mut First) -> bool {
    match node {
        Node::Empty | Node::Place(_) | Node::LookAhead { .. } | Node::LookBehind { .. } => true,
        Node::Char { c, folds } => {
            for c in char::from_u32(*c).into_iter().flat_map(|c| match folds {
                true => vec![c.to_ascii_lowercase(), c.to_ascii_uppercase()],
                false => vec![c],
            }) {
                match c.is_ascii() {
                    true => first.ascii |= 1 << u32::from(c),
                    false => first.others = true,
                }
            }
            if *folds {
                // A character that is not of ASCII may fold to some that are, and the other way round.
                first.others = true;
                let mut folded = Vec::new();
                fold(*c, &mut folded);
                if let Some(c) = folded.first().filter(|c| **c < 128) {
                    first.ascii |= 1 << c;
                    first.ascii |= 1 << u32::from((*c as u8).to_ascii_uppercase());
                }
            }
            false
        }
        Node::Set(set) => {
            first.ascii |= set.ascii();
            first.others |= set.has_others();
            false
        }
        Node::Any { .. } | Node::LineBreak | Node::Grapheme => {
            *first = First {
                ascii: u128::MAX,
                others: true,
            };
            false
        }
        Node::BackRef { .. } => {
            *first = First {
                ascii: u128::MAX,
                others: true,
            };
            true
        }
        Node::Concat(parts) => parts.iter().all(|part| first_of(part, first)),
        Node::Alternatives(ways) => ways.iter().fold(false, |empty, way| first_of(way, first) | empty),
        Node::Capture(body, _) | Node::Atomic(body) => first_of(body, first),
        Node::Repeat { body, min, .. } => first_of(body, first) | (*min == 0),
    }
}

fn is_anchored(node: &Node) -> bool {
    match node {
        Node::Place(Place::TextStart) => true,
        Node::Concat(parts) => parts.first().is_some_and(is_anchored),
        Node::Alternatives(ways) => ways.iter().all(is_anchored),
        Node::Capture(body, _) | Node::Atomic(body) => is_anchored(body),
        _ => false,
    }
}

/// The text of ASCII that a pattern begins with, if case matters.
fn prefix_of(node: &Node) -> Option<Finder<'static>> {
    let parts = match node {
        Node::Concat(parts) => parts.as_slice(),
        node => std::slice::from_ref(node),
    };
    let chars = parts.iter().map_while(|node| match node {
        Node::Char { c, folds: false } => char::from_u32(*c).filter(char::is_ascii),
        _ => None,
    });
    let text: String = chars.collect();
    (!text.is_empty()).then(|| Finder::new(text.as_bytes()).into_owned())
}

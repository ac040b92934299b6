//! What the names of a body mean where the parser stands.
//!
//! ```text
//! frames          the root, which has the parameters; then each block, loop and handler around the cursor
//! names           of variables, conditions and cursors: for each name the declarations in sight, the innermost last
//! ```
//!
//! A declaration is in sight from behind it to the end of its block. Labels are found on the frames, and a handler hides those
//! around it: nothing leaves a handler but its own end.

use crate::ast::{Condition, Cursor, Label, Local, Program, ProgramKind, Slot, TriggerEvent, TriggerTiming};
use std::collections::HashMap;

/// The body that is being read.
pub(crate) struct Scope {
    pub(super) kind: ProgramKind,
    /// When a trigger is executed, and by what.
    pub(super) fires: Option<(TriggerTiming, TriggerEvent)>,
    pub(super) program: Program,
    pub(super) variables: Names<Slot>,
    pub(super) conditions: Names<Condition>,
    pub(super) cursors: Names<usize>,
    frames: Vec<Frame>,
    /// Where the body begins in the statement's text.
    pub(super) start: usize,
    /// How many variables have been read as values.
    pub(super) reads: usize,
    /// A RETURN has been read.
    pub(super) returns: bool,
    /// What functions and triggers may not have, as far as it has been read.
    pub(super) found: super::allowed::Found,
}

/// What is around the cursor.
struct Frame {
    /// The label and its number, and whether it is one of a loop.
    label: Option<(String, Label, bool)>,
    is_handler: bool,
}

/// Names of one kind: the declarations in sight, each with the depth of its block.
pub(super) struct Names<T> {
    by_name: HashMap<String, Vec<(usize, T)>>,
    declared: Vec<String>,
}

impl<T> Names<T> {
    fn new() -> Names<T> {
        Names {
            by_name: HashMap::new(),
            declared: Vec::new(),
        }
    }

    /// Declares a name in the block of a depth. Returns false if the block has it already.
    fn declare(&mut self, name: &str, depth: usize, what: T) -> bool {
        let name = name.to_lowercase();
        let known = self.by_name.entry(name.clone()).or_default();
        if known.last().is_some_and(|(other, _)| *other == depth) {
            return false;
        }
        known.push((depth, what));
        self.declared.push(name);
        true
    }

    /// Returns what a name means.
    pub(super) fn find(&self, name: &str) -> Option<&T> {
        // Most bodies ask for many names that are columns.
        if self.declared.is_empty() {
            return None;
        }
        let (_, what) = self.by_name.get(&name.to_lowercase())?.last()?;
        Some(what)
    }

    fn forget(&mut self, count: usize) {
        for name in self.declared.drain(count..) {
            if let Some(known) = self.by_name.get_mut(&name) {
                known.pop();
                if known.is_empty() {
                    self.by_name.remove(&name);
                }
            }
        }
    }
}

/// How many names there were when a block began.
pub(super) struct Mark([usize; 3]);

impl Scope {
    pub(super) fn new(kind: ProgramKind, fires: Option<(TriggerTiming, TriggerEvent)>) -> Scope {
        Scope {
            kind,
            fires,
            program: Program::default(),
            variables: Names::new(),
            conditions: Names::new(),
            cursors: Names::new(),
            frames: Vec::new(),
            start: 0,
            reads: 0,
            returns: false,
            found: Default::default(),
        }
    }

    // ------------------------------------------------------------------------------------------ declarations

    /// Returns false if the block, or the list of parameters, has the name already.
    pub(super) fn declare_variable(&mut self, local: Local) -> bool {
        let slot = self.program.locals.len();
        let is_new = self.variables.declare(&local.name, self.frames.len(), slot);
        self.program.locals.push(local);
        is_new
    }

    pub(super) fn declare_condition(&mut self, name: &str, condition: Condition) -> bool {
        self.conditions.declare(name, self.frames.len(), condition)
    }

    pub(super) fn declare_cursor(&mut self, cursor: Cursor) -> bool {
        let at = self.program.cursors.len();
        let is_new = self.cursors.declare(&cursor.name, self.frames.len(), at);
        self.program.cursors.push(cursor);
        is_new
    }

    // ------------------------------------------------------------------------------------------------ frames

    /// Enters a statement that may have a label.
    pub(super) fn enter(&mut self, label: Option<(String, Label)>, is_loop: bool) -> Mark {
        self.frames.push(Frame {
            label: label.map(|(name, number)| (name, number, is_loop)),
            is_handler: false,
        });
        self.mark()
    }

    pub(super) fn enter_handler(&mut self) -> Mark {
        self.frames.push(Frame {
            label: None,
            is_handler: true,
        });
        self.mark()
    }

    fn mark(&self) -> Mark {
        Mark([
            self.variables.declared.len(),
            self.conditions.declared.len(),
            self.cursors.declared.len(),
        ])
    }

    /// Leaves what was entered last, and forgets what was declared in it.
    pub(super) fn leave(&mut self, mark: &Mark) {
        self.frames.pop();
        self.variables.forget(mark.0[0]);
        self.conditions.forget(mark.0[1]);
        self.cursors.forget(mark.0[2]);
    }

    /// Returns the number of a label around the cursor, and whether it is a loop's.
    pub(super) fn label(&self, name: &str) -> Option<(Label, bool)> {
        let name = name.to_lowercase();
        let inside = self.frames.iter().rev().take_while(|frame| !frame.is_handler);
        let mut labels = inside.filter_map(|frame| frame.label.as_ref());
        let (_, label, is_loop) = labels.find(|(known, ..)| *known == name)?;
        Some((*label, *is_loop))
    }

    /// Makes a label; `None`: one around the cursor has its name.
    pub(super) fn new_label(&mut self, name: &str) -> Option<(String, Label)> {
        if self.label(name).is_some() {
            return None;
        }
        let number = self.program.labels;
        self.program.labels += 1;
        Some((name.to_lowercase(), number))
    }
}

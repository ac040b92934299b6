//! A running body: the values of its variables, its cursors, the handlers that are in force and those that are at work.

use super::code::{At, Code};
use super::cursor::OpenCursor;
use crate::context::SessionState;
use crate::error::Result;
use crate::error::memory::check_memory;
use crate::expr::NoSubqueries;
use crate::expr::SessionInfo;
use crate::parse::ast::{Slot, Target};
use crate::plan::program::Locals;
use crate::types::assign::assign;
use crate::types::{SqlType, Value, Warning};
use std::borrow::Cow;

/// See the module's head.
pub struct Frame<'c> {
    pub code: &'c Code,
    values: Vec<Value>,
    types: Cow<'c, [SqlType]>,
    /// The handlers that are in force, the innermost last.
    pub handlers: Vec<usize>,
    /// The handlers that are at work, the innermost last.
    pub active: Vec<Active>,
    pub cursors: Vec<Option<OpenCursor>>,
    /// What RETURN has given.
    pub returned: Option<Value>,
}

/// A handler at work.
pub struct Active {
    pub handler: usize,
    /// Where a CONTINUE handler goes on.
    pub back: At,
    /// What it handles.
    pub condition: Warning,
    /// The diagnostics of the statement that raised it, which GET STACKED DIAGNOSTICS reads.
    pub stacked: Vec<Warning>,
    /// RESIGNAL has made them the present ones again.
    pub resignalled: bool,
    /// ROW_COUNT of that statement.
    pub row_count: i64,
}

impl<'c> Frame<'c> {
    /// A body that begins: its variables are NULL.
    pub fn new(code: &'c Code) -> Frame<'c> {
        Frame {
            code,
            values: vec![Value::Null; code.types.len()],
            types: Cow::Borrowed(&code.types),
            handlers: Vec::new(),
            active: Vec::new(),
            cursors: code.cursors.iter().map(|_| None).collect(),
            returned: None,
        }
    }

    /// Returns what units see of the variables.
    pub fn locals(&self) -> Locals<'_> {
        Locals {
            values: &self.values,
            types: &self.types,
        }
    }

    /// Returns a variable's value.
    pub fn value(&self, slot: Slot) -> &Value {
        &self.values[slot]
    }

    /// Sets a variable to NULL.
    pub fn clear(&mut self, slot: Slot) {
        self.values[slot] = Value::Null;
    }

    /// Assigns a value, converted to the variable's type as a column's would be: in strict mode what does not fit is an error.
    pub fn assign(&mut self, slot: Slot, value: Value, state: &SessionState) -> Result<()> {
        let mut env = state.env(&NoSubqueries, &[]);
        env.writes = true;
        let converted = assign(value, &self.types[slot], &self.code.names[slot], &env)?;
        self.values[slot] = converted.into_owned();
        check_memory()
    }

    /// Assigns a value as it is, of this type.
    pub fn put_aside(&mut self, slot: Slot, value: Value, ty: SqlType) {
        self.values[slot] = value;
        if self.types[slot] != ty {
            self.types.to_mut()[slot] = ty;
        }
    }

    /// Sets a user variable or a variable of the program.
    pub fn set(&mut self, target: &Target, value: Value, state: &SessionState) -> Result<()> {
        match target {
            Target::UserVar(name) => state.set_user_variable(name, value),
            Target::Local(slot) => self.assign(*slot, value, state),
        }
    }

    /// Takes away what a block, and those inside of it, have declared: handlers and cursors.
    pub fn leave(&mut self, block: usize) {
        let code = self.code;
        let left = &code.blocks[block];
        let is_of_left = |handler: usize| left.blocks.contains(&code.handlers[handler].block);
        if let Some(first) = self.handlers.iter().position(|handler| is_of_left(*handler)) {
            self.handlers.truncate(first);
        }
        self.active.retain(|active| !is_of_left(active.handler));
        for cursor in left.cursors.clone() {
            self.cursors[cursor] = None;
        }
    }
}

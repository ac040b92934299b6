//! A body as it is executed: steps one after the other, with jumps.
//!
//! ```text
//!   BEGIN                                        0  PushHandler 0
//!     DECLARE EXIT HANDLER FOR 1062 SET a = 1;   1  Jump 4
//!     IF a < 9 THEN                              2  Set a = 1            scope: the handler's
//!       INSERT …;                                3  EndHandler 0         the next step is 7, as the handler exits
//!     END IF;                                    4  Unless a < 9 → 6     after an error in the condition: 6
//!   END                                          5  Run INSERT
//!                                                6  (what follows)
//!                                                7  LeaveBlock 0
//! ```
//!
//! Each step knows its *scope*, the block or handler that it stands in, because that decides which handler an error finds: the search is
//! lexical, while the handlers that are in force at a moment are a stack of the [frame](super::frame). Blocks are left in one way only,
//! [`Op::LeaveBlock`], which LEAVE, ITERATE and the end of an EXIT handler come by as well.

use super::formula::Formula;
use crate::parse::ast::{Condition, GetDiagnostics, ObjectName, SetItem, Signal, Slot, Target};
use crate::plan::program::Unit;
use crate::types::SqlType;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::ops::Range;

/// The number of a step.
pub type At = usize;

/// What a body is compiled to. The parameters are its first variables.
pub struct Code {
    pub steps: Vec<Step>,
    /// The variables' names, for errors about their values.
    pub names: Vec<String>,
    pub types: Vec<SqlType>,
    /// The types that operands of CASE had when they were put aside last.
    pub aside: Mutex<HashMap<Slot, SqlType>>,
    pub cursors: Vec<CursorCode>,
    pub handlers: Vec<HandlerCode>,
    pub blocks: Vec<BlockCode>,
    pub scopes: Vec<Scope>,
}

pub struct Step {
    pub op: Op,
    /// An index of [`Code::scopes`].
    pub scope: usize,
}

/// What a step does. Without a jump the next step follows.
pub enum Op {
    /// A statement that sends what it has to send to the client.
    Run(Unit),
    /// SELECT … INTO variables of the program.
    Select {
        unit: Unit,
        into: Vec<Target>,
    },
    /// SET of a user variable.
    SetUser {
        name: String,
        value: Formula,
    },
    /// SET of a variable of the server to what the program's variables say.
    SetServer {
        item: Box<SetItem>,
        value: Formula,
    },
    Call(CallCode),
    Signal(Box<Signal>),
    Resignal(Box<Signal>),
    GetDiagnostics(Box<GetDiagnostics>),
    /// Assigns a value to a variable, converted to its type.
    Set {
        slot: Slot,
        value: Formula,
    },
    /// A variable gets its first value: NULL.
    Clear(Slot),
    /// The operand of CASE is put aside, as it is; an error in it leads to `after`.
    PutAside {
        slot: Slot,
        value: Formula,
        after: At,
    },
    Jump(At),
    /// Jumps if the condition is not true. After an error in it a CONTINUE handler goes on at `after`.
    Unless {
        condition: Formula,
        to: At,
        after: At,
    },
    /// Error 1339: no branch of a CASE holds.
    NoCase,
    /// A handler is in force from now on.
    PushHandler(usize),
    /// A handler has done its work.
    EndHandler(usize),
    /// What a block has declared goes.
    LeaveBlock(usize),
    Open(usize),
    Fetch {
        cursor: usize,
        into: Vec<Slot>,
    },
    Close(usize),
    Return(Formula),
}

/// A cursor's query.
pub struct CursorCode {
    pub unit: Unit,
    /// How many columns it has, if its text tells: a query without rows does not.
    pub columns: Option<usize>,
}

/// CALL, with what its arguments are.
pub struct CallCode {
    pub name: ObjectName,
    pub args: Vec<Argument>,
}

/// An argument: its value, and where it can be set if the parameter is OUT or INOUT.
pub struct Argument {
    pub value: Formula,
    pub target: Option<Target>,
}

pub struct HandlerCode {
    pub exits: bool,
    pub conditions: Vec<Condition>,
    /// Its first step.
    pub first: At,
    /// The block that declares it.
    pub block: usize,
    /// The step that leaves that block.
    pub end: At,
}

pub struct BlockCode {
    /// The blocks, itself and those inside of it: they are numbered in the order of the text.
    pub blocks: Range<usize>,
    /// The cursors that these declare.
    pub cursors: Range<usize>,
}

/// A block or a handler's body; the first is the program itself.
pub struct Scope {
    pub around: Option<usize>,
    pub of_handler: bool,
    /// The handlers that the block declares.
    pub handlers: Range<usize>,
}

impl Op {
    /// Returns true if conditions of the statement before are forgotten when it begins. A statement of SQL sees to that by itself.
    pub fn clears(&self) -> bool {
        matches!(
            self,
            Op::Set { .. }
                | Op::SetUser { .. }
                | Op::SetServer { .. }
                | Op::Clear(_)
                | Op::PutAside { .. }
                | Op::Unless { .. }
                | Op::Open(_)
                | Op::Fetch { .. }
                | Op::Close(_)
                | Op::Return(_)
                | Op::Signal(_)
                | Op::Call(_)
        )
    }

    /// Returns true if it may raise conditions that handlers look at.
    pub fn raises(&self) -> bool {
        !matches!(
            self,
            Op::Clear(_)
                | Op::Jump(_)
                | Op::PushHandler(_)
                | Op::EndHandler(_)
                | Op::LeaveBlock(_)
                | Op::GetDiagnostics(_)
        )
    }
}

impl Code {
    /// Returns the step at which a CONTINUE handler goes on after a condition that step `at` has raised.
    pub fn after(&self, at: At) -> At {
        match &self.steps[at].op {
            Op::Unless { after, .. } | Op::PutAside { after, .. } => *after,
            _ => at + 1,
        }
    }
}

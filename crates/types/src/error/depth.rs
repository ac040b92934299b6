//! How deep a statement may nest: no tree of a statement, and no walk over one, may exhaust a thread's stack.
//!
//! A connection's thread has [`STACK_LEN`] bytes of stack, and to overflow it ends the process. Two things grow with a
//! statement's depth:
//!
//! ```text
//!  recursion that can fail      the parser's rules, binding, planning, evaluation, queries inside queries
//!                               → [`check_stack`]: how much of the stack is left, at every level; error 1436
//!  recursion that cannot fail   clone, drop, the walks over a finished tree
//!                               → [`HEIGHT_MAX`]: the parser makes no higher tree; error 1436
//! ```
//!
//! The first is measured rather than counted, as in MySQL: what a level needs differs by a factor of fifty between a
//! parenthesis and a correlated subquery, and between builds. The address of a local variable is where the stack stands.
//! [`RESERVE`] is what is left below the last check for what follows without one: the second kind of recursion, and the
//! engine.
//!
//! The second must be bounded by the tree's height wherever a node is made, not by the parser's own recursion alone: a
//! loop (`a COLLATE x COLLATE x …`) makes a high tree without recursion. The parser counts heights bottom-up
//! (`Parser::link`). Long chains of operators do not make a high tree: they are one node with a list
//! (`ast::Expr::Chain`, `expr::Node::Chain`), as are AND, OR, joins' tables and set operations.
//!
//! Measured, in bytes a level, in a build with `opt-level = 1` (an optimised one needs less):
//!
//! ```text
//!  parse, bind, evaluate: the largest of them   2,500 to 5,500 for an expression's level, 11,000 for a UNION's   checked
//!  a query inside a query, planned and run      11,000 to 22,000                                               checked
//!  clone of syntax                                 700 to 1,100                                                ≤ RESERVE
//!  clone of a bound expression                     800 to 1,150                                                ≤ RESERVE
//!  drop, walk                                               100   (three times HEIGHT_MAX fit)                 ≤ RESERVE
//! ```
//!
//! `session::depth_tests` holds the highest trees against the reserve, and runs the deepest statement of every form on a
//! connection's stack. That stack is four times MySQL's, so that what nests as deep as MySQL's own limits (450 levels or
//! more, by the kind of node) runs. Only what is touched of it takes memory.

use super::{Result, SqlError, er};
use std::cell::Cell;

/// The nodes on the longest path down a statement's syntax tree. MySQL runs out of its own stack at 450 to 2,000, by
/// the kind of node.
pub const HEIGHT_MAX: usize = 1000;

/// How many SELECTs may stand inside each other, as in MySQL; error 1473.
pub const SELECTS_MAX: usize = 63;

/// How many tables a query block may join, those of views that are merged into it included. MySQL's limit.
pub const TABLES_MAX: usize = 61;

/// What must be left of the stack at a check, in bytes: a walk over the highest tree there is, or what the engine
/// needs.
pub const RESERVE: usize = 1280 << 10;

/// The stack of a connection's thread, in bytes, unless `thread_stack` asks for more.
pub const STACK_LEN: usize = 4 << 20;

/// The stack that a thread is taken to have if nothing says otherwise: what the standard library gives.
const STACK_LEN_DEFAULT: usize = 2 << 20;

/// What a thread may have used of its stack before its first check.
const USED_BEFORE: usize = 32 << 10;

thread_local! {
    /// The lowest address to which checks let the stack grow; the highest address there is: not known yet.
    static FLOOR: Cell<usize> = const { Cell::new(usize::MAX) };
}

#[inline(always)]
fn here() -> usize {
    let marker = 0u8;
    std::ptr::from_ref(&marker).addr()
}

/// Tells how long this thread's stack is, near its beginning. A thread that does not say is taken to have two megabytes.
pub fn set_stack_len(bytes: usize) {
    FLOOR.set(here().saturating_sub(bytes.saturating_sub(USED_BEFORE + RESERVE)));
}

/// Error 1436 if little is left of this thread's stack.
#[inline(always)]
pub fn check_stack() -> Result<()> {
    if here() < FLOOR.get() {
        first_check_or_error()
    } else {
        Ok(())
    }
}

#[cold]
#[inline(never)]
fn first_check_or_error() -> Result<()> {
    if FLOOR.get() == usize::MAX {
        set_stack_len(STACK_LEN_DEFAULT);
        return Ok(());
    }
    Err(SqlError::stack_overrun())
}

impl SqlError {
    /// Error 1436: the statement nests too deeply.
    pub fn stack_overrun() -> Self {
        let message = format!(
            "Thread stack overrun:  the statement nests too deeply; {RESERVE} bytes of the stack, or a tree of at most \
             {HEIGHT_MAX} levels, needed."
        );
        SqlError::new(er::STACK_OVERRUN_NEED_MORE, message)
    }

    /// Error 1116: more than [`TABLES_MAX`] tables in a join.
    pub fn too_many_tables() -> Self {
        SqlError::new(
            er::TOO_MANY_TABLES,
            "Too many tables; MySQL can only use 61 tables in a join",
        )
    }

    /// Error 1473: more than [`SELECTS_MAX`] SELECTs inside each other.
    pub fn too_high_nesting_for_select() -> Self {
        SqlError::new(
            er::TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT,
            "Too high level of nesting for select",
        )
    }
}

//! What a stored program needs of the session that runs it, and what a plan needs of a program that it calls.
//!
//! A program (procedure, function, trigger, event) is a list of *units*, statements and expressions, between which an interpreter
//! decides which is next. A unit is planned when it first runs and keeps its plans, like a prepared statement whose parameters
//! are the program's variables ([`Locals`]): one typed slot each. The interpreter runs units by a [`ProgramHost`], of which there are two:
//!
//! ```text
//!   CALL, an event           the statement runner itself (`session::nested`): a unit is a statement of its own, begins and ends like one
//!                            that a client has sent, may commit, and sends its rows to the client
//!   a function, a trigger    `exec::nested`: a unit is a part of the statement that runs; it shares its transaction, commits nothing,
//!                            and has no client
//! ```
//!
//! A procedure called by a function runs on the function's host: the interpreter passes its host on.
//!
//! **Diagnostics.** A function or trigger has diagnostics of its own, which its host pushes before and pops after it
//! ([`Diagnostics`](crate::context::Diagnostics) says what flows back); the statements of a procedure that a client calls replace those of the session one
//! after the other. [`ProgramHost::run`], [`query`](ProgramHost::query) and [`evaluate`](ProgramHost::evaluate) leave the conditions of the unit, its error
//! as the last one, in `state.warnings`, where handlers and GET DIAGNOSTICS find them; ROW_COUNT() and the like are in `state`, too.
//!
//! **Functions in statements.** The planner looks a function up in the session's [`Library`], numbers it, and the plan keeps it; its tables
//! are the library's to add to those that the plan uses.
//!
//! **Variables of the server.** SET of `@name` and of the program's variables is the interpreter's ([`evaluate`](ProgramHost::evaluate), then
//! `state.set_user_variable`); SET of a system variable is a statement to [`run`](ProgramHost::run).

use super::Planner;
use super::kept::Kept;
use crate::context::{ResultSink, SessionState};
use crate::error::{Result, SqlError, er};
use crate::expr::{Expr as BoundExpr, Node, Params, Routine};
use crate::parse::ast::{Expr, Inside, Statement};
use crate::types::{SqlType, Value};
use parking_lot::Mutex;
use std::any::Any;
use std::cell::OnceCell;
use std::sync::Arc;
use tidemark_engine::Savepoint;

/// The variables that a unit sees: one slot for each, NEW and OLD columns of a trigger among them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Locals<'a> {
    /// The values now. A value has its slot's type, or is NULL.
    pub values: &'a [Value],
    /// The declared types. They are the same at each run of a unit.
    pub types: &'a [SqlType],
}

impl<'a> From<Locals<'a>> for Params<'a> {
    /// What a unit is planned with: the types alone, so that one plan serves all values.
    fn from(locals: Locals<'a>) -> Params<'a> {
        Params {
            values: locals.values,
            locals: locals.types,
            typical: true,
            ..Params::default()
        }
    }
}

/// A statement or an expression of a program, with the plans that are kept of it.
pub struct Unit {
    statement: Arc<Statement>,
    /// Taken out while it runs: one that is reached again from inside itself is planned once more. The number says for which settings of the
    /// session they were made.
    plans: Mutex<(u64, Kept)>,
}

impl Unit {
    /// A statement that is no construct of a program: no block, no CALL, no cursor statement. INTO of variables of the program is not
    /// part of it: the interpreter takes the rows by [`ProgramHost::query`].
    pub fn statement(statement: Statement) -> Unit {
        Unit {
            statement: Arc::new(statement),
            plans: Mutex::default(),
        }
    }

    /// An expression: the value of SET, DEFAULT, RETURN, an argument, the condition of IF, CASE, WHILE, UNTIL.
    pub fn expression(expression: Expr) -> Unit {
        Unit::statement(Statement::Do(vec![expression]))
    }

    /// Returns its syntax.
    pub fn syntax(&self) -> &Arc<Statement> {
        &self.statement
    }

    /// Whether it is planned, rather than carried out as it is.
    pub fn is_planned(&self) -> bool {
        self.statement.is_planned()
    }

    /// Whether it looks at the diagnostics of the statement before.
    pub fn keeps_diagnostics(&self) -> bool {
        self.statement.facts().keeps_diagnostics
    }

    /// Returns the error of a statement that is not planned, where it is a part of another.
    pub fn refused_inside(&self, within: &str) -> SqlError {
        match self.statement.facts().inside {
            Inside::Commits => SqlError::new(
                er::COMMIT_NOT_ALLOWED_IN_SF_OR_TRG,
                "Explicit or implicit commit is not allowed in stored function or trigger.",
            ),
            Inside::Sends => SqlError::no_result_set(within),
            Inside::Dynamic(name) => SqlError::new(
                er::STMT_NOT_ALLOWED_IN_SF_OR_TRG,
                format!("{name} is not allowed in stored function or trigger"),
            ),
            Inside::Never(name) => SqlError::new(
                er::SP_BADSTATEMENT,
                format!("{name} is not allowed in stored procedures"),
            ),
            Inside::Runs => SqlError::not_supported("this statement in a stored function or trigger"),
        }
    }

    /// Takes out its plans, if they are for what the session's variables are now.
    pub fn take_plans(&self, state: &SessionState) -> Kept {
        let (at, plans) = std::mem::take(&mut *self.plans.lock());
        match at == state.planned_for.get() {
            true => plans,
            false => Kept::default(),
        }
    }

    /// Puts plans back.
    pub fn put_plans(&self, state: &SessionState, plans: Kept) {
        *self.plans.lock() = (state.planned_for.get(), plans);
    }
}

/// What the value of an expression is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueUse {
    /// It is assigned: in strict mode a bad operand is an error.
    Assigned,
    /// It decides which unit is next: a bad operand is a warning.
    Tested,
}

/// Runs the units of a program.
pub trait ProgramHost {
    /// What statements see of the session.
    fn state(&self) -> &SessionState;

    /// The session's state, to be changed; `None` inside a statement, which holds references to it.
    fn state_mut(&mut self) -> Option<&mut SessionState>;

    /// Returns true in a function or trigger, and in procedures that they call: the program is a part of a statement that runs. Nothing
    /// commits there and nothing is sent, which CREATE has refused already (1422, 1415), and [`run`](Self::run) refuses for procedures.
    fn is_nested(&self) -> bool;

    /// Runs a statement. Its rows go to `out`; its OK to nobody. Clears the diagnostics first, except where the statement keeps them. After an
    /// error what the statement did is undone, and its transaction where the error says so (1213).
    fn run(&mut self, unit: &Unit, locals: Locals, out: &mut dyn ResultSink) -> Result<()>;

    /// Runs a query and hands its rows to `each`, with the types of the columns, until it returns false. Clears the diagnostics first and sets
    /// FOUND_ROWS(). For cursors and SELECT INTO: 1172 and 1329 are the caller's to raise, and ROW_COUNT() is its to set. `each` may be called
    /// while a page is latched: it keeps or assigns the row, and runs nothing.
    fn query(
        &mut self,
        unit: &Unit,
        locals: Locals,
        each: &mut dyn FnMut(&[SqlType], &[Value]) -> Result<bool>,
    ) -> Result<()>;

    /// Returns the value of an expression, of the type that the expression has: `types::assign` makes it a variable's. Does not clear the
    /// diagnostics.
    fn evaluate(&mut self, unit: &Unit, locals: Locals, used: ValueUse) -> Result<Value>;

    /// Whether a handler may see an error. KILL, `max_execution_time` and an exhausted stack end every program; where the transaction that
    /// a function is a part of has been lost, so has the function.
    fn may_handle(&self, error: &SqlError) -> bool;

    /// The present point of the transaction, if one is open: what a function or trigger did is undone to it when an error leaves it.
    fn savepoint(&mut self) -> Option<Savepoint>;

    /// Undoes what was done since. Locks are kept.
    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()>;
}

/// Errors that no handler sees.
pub fn ends_programs(error: &SqlError) -> bool {
    matches!(
        error.code,
        er::QUERY_INTERRUPTED | er::QUERY_TIMEOUT | er::STACK_OVERRUN_NEED_MORE
    )
}

/// A stored function as plans call it ([`Node::Routine`](crate::expr::Node)).
pub trait StoredFunction: Send + Sync {
    /// The type of its values.
    fn returns(&self) -> &SqlType;

    /// Runs it. The host shares the transaction of the statement that calls; no latch is held.
    fn call(&self, host: &mut dyn ProgramHost, arguments: Vec<Value>) -> Result<Value>;
}

/// Where a session finds the stored functions that its statements call. It keeps what it has made ready to run.
pub trait Library: Send {
    /// Returns the function of this name, ready to run; `None` if there is none. Error 1370 if the account may not call it.
    fn function(
        &self,
        state: &SessionState,
        schema: &str,
        name: &str,
    ) -> Result<Option<Arc<dyn StoredFunction>>>;
}

/// Gives a session its library. The session's state is a floor below, and knows it by no type.
pub fn set_library(state: &mut SessionState, library: Box<dyn Library>) {
    let library: Box<dyn Any + Send> = Box::new(library);
    state.programs = OnceCell::from(library);
}

/// Returns the session's library, if it has one.
pub fn library(state: &SessionState) -> Option<&dyn Library> {
    let library = state.programs.get()?.downcast_ref::<Box<dyn Library>>()?;
    Some(&**library)
}

impl Planner<'_> {
    /// A call of a stored function; `None` if there is none of this name.
    pub(super) fn call_routine(
        &mut self,
        schema: Option<&str>,
        name: &str,
        args: Vec<BoundExpr>,
    ) -> Result<Option<BoundExpr>> {
        let Some(schema) = schema.or(self.state.schema.as_deref()) else {
            return Ok(None);
        };
        let function = match library(self.state) {
            Some(library) => library.function(self.state, schema, name)?,
            None => None,
        };
        let Some(function) = function else {
            return Ok(None);
        };
        let ty = function.returns().clone();
        self.routines.push(function);
        let routine = Routine {
            id: self.routines.len() - 1,
            name: format!("`{schema}`.`{name}`").into(),
            args,
        };
        Ok(Some(BoundExpr {
            ty,
            node: Node::Routine(Box::new(routine)),
            name: None,
        }))
    }
}

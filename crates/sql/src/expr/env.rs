//! What an evaluation can see.
//!
//! [`Env`] is fixed for a statement: parameters, the session's settings, one clock reading. [`EvalCtx`] adds the row and
//! is two pointers, so that making one per row costs nothing. Everything is behind `&`: one statement is evaluated by
//! one thread, and what changes (warnings, user variables) uses interior mutability.

use super::CmpKind;
use crate::error::{Result, SqlError};
use crate::types::{Collation, SqlMode, SqlType, TimeZone, Val, Value};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// Access to the current row by slot. Values borrow from the row.
pub trait Row {
    fn column(&self, slot: usize) -> Val<'_>;

    /// The value of the steps before, in a step of a chain.
    fn previous(&self) -> Val<'_> {
        Val::Null
    }
}

/// A row beside which a step of a chain sees the value of the steps before.
pub(super) struct Linked<'a> {
    pub row: &'a dyn Row,
    pub previous: Value,
}

impl Row for Linked<'_> {
    fn column(&self, slot: usize) -> Val<'_> {
        self.row.column(slot)
    }

    fn previous(&self) -> Val<'_> {
        self.previous.borrowed()
    }
}

/// The row of an expression without columns.
pub struct NoRow;

impl Row for NoRow {
    fn column(&self, _slot: usize) -> Val<'_> {
        Val::Null
    }
}

impl Row for &[Val<'_>] {
    fn column(&self, slot: usize) -> Val<'_> {
        self.get(slot).map_or(Val::Null, Val::borrowed)
    }
}

impl Row for Vec<Val<'_>> {
    fn column(&self, slot: usize) -> Val<'_> {
        self.get(slot).map_or(Val::Null, Val::borrowed)
    }
}

/// What expressions ask the session.
pub trait SessionInfo {
    /// `None` if never set: NULL.
    fn user_variable(&self, name: &str) -> Option<Value>;
    fn set_user_variable(&self, name: &str, value: Value);
    fn system_variable(&self, scope: super::VarScope, name: &str) -> Result<Value>;
    fn connection_id(&self) -> u64;
    /// `user@host` as the client gave it.
    fn user(&self) -> String;
    /// `user@host` of the account that matched.
    fn current_user(&self) -> String;
    fn database(&self) -> Option<String>;
    fn version(&self) -> String;
    fn last_insert_id(&self) -> u64;
    fn set_last_insert_id(&self, id: u64);
    fn row_count(&self) -> i64;
    fn found_rows(&self) -> u64;
    /// The connection was killed or its statement was: SLEEP and BENCHMARK end.
    fn interrupted(&self) -> bool;
}

/// The executor's side of subqueries. `id` is the number the binder gave the subquery; `ctx` holds the outer row.
pub trait Subqueries {
    /// The only row's columns; `None` when there is none. More than one row is error 1242.
    fn row(&self, id: usize, ctx: &EvalCtx) -> Result<Option<Vec<Value>>>;
    /// Whether there is a row.
    fn exists(&self, id: usize, ctx: &EvalCtx) -> Result<bool>;
    /// Calls `f` for each row until it answers false.
    fn for_each(&self, id: usize, ctx: &EvalCtx, f: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()>;

    /// Whether the only column of some row equals the value (`None`: UNKNOWN), where that can be looked up. Outer `None`:
    /// the rows must be compared one by one.
    fn contains(
        &self,
        id: usize,
        value: (&Val, &SqlType, CmpKind),
        ctx: &EvalCtx,
    ) -> Result<Option<Option<bool>>> {
        let _ = (id, value, ctx);
        Ok(None)
    }
}

/// For statements without subqueries.
pub struct NoSubqueries;

impl Subqueries for NoSubqueries {
    fn row(&self, _id: usize, _ctx: &EvalCtx) -> Result<Option<Vec<Value>>> {
        Err(SqlError::not_supported("subquery in this place"))
    }
    fn exists(&self, _id: usize, _ctx: &EvalCtx) -> Result<bool> {
        Err(SqlError::not_supported("subquery in this place"))
    }
    fn for_each(
        &self,
        _id: usize,
        _ctx: &EvalCtx,
        _f: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        Err(SqlError::not_supported("subquery in this place"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningLevel {
    Note,
    Warning,
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub level: WarningLevel,
    pub code: u16,
    pub message: String,
}

/// The diagnostics area of a statement: counts all, keeps the first `max_error_count`.
#[derive(Debug)]
pub struct Warnings {
    list: RefCell<Vec<Warning>>,
    count: Cell<u32>,
    limit: usize,
}

impl Warnings {
    /// `limit` is `max_error_count`.
    pub fn new(limit: usize) -> Warnings {
        Warnings {
            list: RefCell::new(Vec::new()),
            count: Cell::new(0),
            limit,
        }
    }

    pub fn push(&self, level: WarningLevel, error: SqlError) {
        self.count.set(self.count.get().saturating_add(1));
        let mut list = self.list.borrow_mut();
        if list.len() < self.limit {
            list.push(Warning {
                level,
                code: error.code,
                message: error.message,
            });
        }
    }

    pub fn warn(&self, error: SqlError) {
        self.push(WarningLevel::Warning, error);
    }

    pub fn note(&self, error: SqlError) {
        self.push(WarningLevel::Note, error);
    }

    /// The count in OK and EOF packets.
    pub fn count(&self) -> u16 {
        self.count.get().min(u16::MAX as u32) as u16
    }

    pub fn clear(&self) {
        self.count.set(0);
        self.list.borrow_mut().clear();
    }

    /// A copy for `SHOW WARNINGS`.
    pub fn to_vec(&self) -> Vec<Warning> {
        self.list.borrow().clone()
    }
}

impl Default for Warnings {
    fn default() -> Self {
        Warnings::new(1024)
    }
}

/// All that is fixed while one statement runs.
pub struct Env<'a> {
    pub params: &'a [Value],
    /// The statement is only prepared: a parameter without a value is NULL, not an error.
    pub unbound: bool,
    pub session: &'a dyn SessionInfo,
    pub subqueries: &'a dyn Subqueries,
    pub warnings: &'a Warnings,
    pub sql_mode: SqlMode,
    /// Bad values for columns are errors rather than warnings: strict mode and no IGNORE.
    pub strict: bool,
    /// The statement writes rows: in strict mode division by zero and bad casts are then errors.
    pub writes: bool,
    pub time_zone: &'a TimeZone,
    /// NOW() in microseconds since 1970 UTC.
    pub now_micros: i64,
    pub collation_connection: Collation,
    pub div_precision_increment: u8,
    pub group_concat_max_len: u64,
    pub max_allowed_packet: u64,
    /// The row of a multi-row statement, from 1, as error texts count.
    pub row_number: Cell<u64>,
    /// State of RAND() and RAND(n), by call site.
    pub random: RefCell<HashMap<usize, RandState>>,
}

impl<'a> Env<'a> {
    /// The defaults of a fresh session; adjust the fields that differ.
    pub fn new(
        session: &'a dyn SessionInfo,
        subqueries: &'a dyn Subqueries,
        warnings: &'a Warnings,
        time_zone: &'a TimeZone,
    ) -> Env<'a> {
        Env {
            params: &[],
            unbound: false,
            session,
            subqueries,
            warnings,
            sql_mode: SqlMode::DEFAULT,
            strict: true,
            writes: false,
            time_zone,
            now_micros: 0,
            collation_connection: Collation::DEFAULT,
            div_precision_increment: 4,
            group_concat_max_len: 1024,
            max_allowed_packet: 64 << 20,
            row_number: Cell::new(1),
            random: RefCell::default(),
        }
    }

    /// The context of an expression without columns.
    pub fn ctx(&'a self) -> EvalCtx<'a> {
        EvalCtx {
            row: &NoRow,
            env: self,
        }
    }

    pub fn ctx_with(&'a self, row: &'a dyn Row) -> EvalCtx<'a> {
        EvalCtx { row, env: self }
    }

    /// A fault in a value: an error where the statement is strict about what it writes, else a warning.
    pub fn complain(&self, error: SqlError) -> Result<()> {
        if self.strict && self.writes {
            return Err(error);
        }
        self.warnings.warn(error);
        Ok(())
    }
}

/// Counts the steps of work on long texts, and looks now and then whether the statement has been interrupted.
pub(crate) struct Watch<'a> {
    session: Option<&'a dyn SessionInfo>,
    steps: usize,
}

impl<'a> Watch<'a> {
    /// The steps between two looks: some milliseconds.
    const STEPS: usize = 1 << 20;

    pub fn new(env: &Env<'a>) -> Watch<'a> {
        Watch {
            session: Some(env.session),
            steps: 0,
        }
    }

    /// For work that ends soon in any case.
    pub fn nobody() -> Watch<'a> {
        Watch {
            session: None,
            steps: 0,
        }
    }

    /// Error 1317 if the statement is to end.
    #[inline]
    pub fn step(&mut self, steps: usize) -> Result<()> {
        self.steps += steps;
        if self.steps < Watch::STEPS {
            return Ok(());
        }
        self.steps = 0;
        if self.session.is_some_and(|session| session.interrupted()) {
            return Err(SqlError::interrupted());
        }
        Ok(())
    }
}

/// A row in an environment.
#[derive(Clone, Copy)]
pub struct EvalCtx<'a> {
    pub row: &'a dyn Row,
    pub env: &'a Env<'a>,
}

/// MySQL's random numbers: two linear congruences. `RAND(n)` must repeat MySQL's sequence.
#[derive(Clone, Copy, Debug)]
pub struct RandState {
    seed1: u64,
    seed2: u64,
}

const RAND_MODULUS: u64 = 0x3FFF_FFFF;

impl RandState {
    /// From the argument of `RAND(n)`.
    pub fn seeded(n: u32) -> RandState {
        RandState::new(
            n.wrapping_mul(0x10001).wrapping_add(55_555_555) as u64,
            n.wrapping_mul(0x1000_0001) as u64,
        )
    }

    pub fn new(seed1: u64, seed2: u64) -> RandState {
        RandState {
            seed1: seed1 % RAND_MODULUS,
            seed2: seed2 % RAND_MODULUS,
        }
    }

    pub fn advance(&mut self) -> f64 {
        self.seed1 = (self.seed1 * 3 + self.seed2) % RAND_MODULUS;
        self.seed2 = (self.seed1 + self.seed2 + 33) % RAND_MODULUS;
        self.seed1 as f64 / RAND_MODULUS as f64
    }
}

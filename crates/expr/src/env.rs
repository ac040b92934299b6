//! What an evaluation can see.
//!
//! [`Env`] is fixed for a statement: parameters, the session's settings, one clock reading. [`EvalCtx`] adds the row and
//! is two pointers, so that making one per row costs nothing. Everything is behind `&`: one statement is evaluated by
//! one thread, and what changes (warnings, user variables) uses interior mutability.

use super::VarScope;
use super::kept::Kept;
use super::regexp::Limits;
use std::cell::{Cell, RefCell, RefMut};
use std::ops::{Deref, DerefMut};
use tidemark_types::error::{Result, SqlError};
use tidemark_types::{CmpKind, Collation, Conversion, Locale, TimeZone, Val, Value, Warnings};

/// Access to the current row by slot. Values borrow from the row.
pub trait Row {
    /// The value in a slot. Rows that know of no such slot return NULL.
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
    /// `SET @name = value`, and `@name := value` inside an expression. Error 3170 if the session's variables
    /// would hold more than a statement may take.
    fn set_user_variable(&self, name: &str, value: Value) -> Result<()>;
    /// `@@name`; error 1193 for an unknown name.
    fn system_variable(&self, scope: super::VarScope, name: &str) -> Result<Value>;
    /// CONNECTION_ID().
    fn connection_id(&self) -> u64;
    /// `user@host` as the client gave it.
    fn user(&self) -> String;
    /// `user@host` of the account that matched.
    fn current_user(&self) -> String;
    /// CURRENT_ROLE(): the active roles, or `NONE`.
    fn current_role(&self) -> String;
    /// VALIDATE_PASSWORD_STRENGTH(): from 0 to 100.
    fn password_strength(&self, _password: &str) -> u64 {
        0
    }
    /// mysql_query_attribute_string(): what the client has sent by this name beside the command, if it is not NULL.
    fn query_attribute(&self, _name: &str) -> Option<Vec<u8>> {
        None
    }
    /// LOAD_FILE(): the bytes of a file, at most so many; `None` if it may not be read, or cannot.
    fn file(&self, _path: &str, _bytes_max: u64) -> Option<Vec<u8>> {
        None
    }
    /// Whether there is a connection of this number.
    fn is_connected(&self, _id: u64) -> bool {
        false
    }
    /// DATABASE(); `None` without a current database.
    fn database(&self) -> Option<String>;
    /// VERSION().
    fn version(&self) -> String;
    /// The data directory, with a slash at its end.
    fn datadir(&self) -> String {
        String::new()
    }
    /// LAST_INSERT_ID(): the first counter value that the latest INSERT generated.
    fn last_insert_id(&self) -> u64;
    /// LAST_INSERT_ID(n) makes `n` the value of later calls.
    fn set_last_insert_id(&self, id: u64);
    /// ROW_COUNT(): rows changed by the previous statement, -1 after one that returns rows.
    fn row_count(&self) -> i64;
    /// FOUND_ROWS().
    fn found_rows(&self) -> u64;
    /// The connection was killed or its statement was: SLEEP and BENCHMARK end.
    fn interrupted(&self) -> bool;
    /// GET_LOCK(): waits at most so many seconds, for ever if they are negative; false if it was in vain. Error 3058 if the
    /// wait would close a cycle.
    fn get_named_lock(&self, name: &str, seconds: i64) -> Result<bool>;
    /// RELEASE_LOCK(); false if the session does not have the lock.
    fn release_named_lock(&self, name: &str) -> bool;
    /// RELEASE_ALL_LOCKS(): how many were given up, each as often as it had been taken.
    fn release_named_locks(&self) -> u64;
    /// IS_USED_LOCK(): the connection that has the lock.
    fn named_lock_holder(&self, name: &str) -> Option<u64>;
}

/// For expressions outside a session: there is no client, there are no variables, and what is set is forgotten.
pub struct NoSession;

impl SessionInfo for NoSession {
    fn user_variable(&self, _name: &str) -> Option<Value> {
        None
    }
    fn set_user_variable(&self, _name: &str, _value: Value) -> Result<()> {
        Ok(())
    }
    fn system_variable(&self, _scope: super::VarScope, name: &str) -> Result<Value> {
        Err(SqlError::unknown_system_variable(name))
    }
    fn connection_id(&self) -> u64 {
        0
    }
    fn user(&self) -> String {
        String::new()
    }
    fn current_user(&self) -> String {
        String::new()
    }
    fn current_role(&self) -> String {
        "NONE".to_owned()
    }
    fn database(&self) -> Option<String> {
        None
    }
    fn version(&self) -> String {
        String::new()
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn set_last_insert_id(&self, _id: u64) {}
    fn row_count(&self) -> i64 {
        -1
    }
    fn found_rows(&self) -> u64 {
        0
    }
    fn interrupted(&self) -> bool {
        false
    }
    fn get_named_lock(&self, _name: &str, _seconds: i64) -> Result<bool> {
        Ok(true)
    }
    fn release_named_lock(&self, _name: &str) -> bool {
        false
    }
    fn release_named_locks(&self) -> u64 {
        0
    }
    fn named_lock_holder(&self, _name: &str) -> Option<u64> {
        None
    }
}

/// The executor's side of subqueries. `id` is the number the binder gave the subquery; `ctx` holds the outer row.
pub trait Subqueries {
    /// The only row's columns; `None` when there is none. More than one row is error 1242.
    fn row(&self, id: usize, ctx: &EvalCtx) -> Result<Option<Vec<Value>>>;
    /// Whether there is a row.
    fn exists(&self, id: usize, ctx: &EvalCtx) -> Result<bool>;
    /// Calls `f` for each row until it returns false.
    fn for_each(&self, id: usize, ctx: &EvalCtx, f: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()>;

    /// Calls a stored function of the statement.
    fn call(&self, id: usize, arguments: Vec<Value>) -> Result<Value> {
        let _ = (id, arguments);
        Err(SqlError::not_supported("a stored function in this place"))
    }

    /// Whether the columns of some row equal the values of the operands (`None`: UNKNOWN), where that can be looked up. Outer `None`:
    /// the rows must be compared one by one.
    fn contains(
        &self,
        id: usize,
        values: &[Val],
        operands: &[(CmpKind, crate::Expr)],
        ctx: &EvalCtx,
    ) -> Result<Option<Option<bool>>> {
        let _ = (id, values, operands, ctx);
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

/// All that is fixed while one statement runs. What conversions of values need of it is a part, which it dereferences to.
pub struct Env<'a> {
    /// The values of the statement's placeholders, by number.
    pub params: &'a [Value],
    /// They are literals of its text, which error texts show.
    pub params_are_literals: bool,
    /// The statement is only prepared: a parameter without a value is NULL, not an error.
    pub unbound: bool,
    /// The session that the statement runs in.
    pub session: &'a dyn SessionInfo,
    /// Runs the statement's subqueries.
    pub subqueries: &'a dyn Subqueries,
    /// What conversions of values need: SQL mode, time zone, warnings.
    pub conversion: Conversion<'a>,
    /// Collation of numbers and dates that become text.
    pub collation_connection: Collation,
    /// Digits that `/` and AVG add behind the decimal point. 4 by default.
    pub div_precision_increment: u8,
    /// The mode of EXTRACT(WEEK FROM …). 0 by default.
    pub default_week_format: u8,
    /// How days and months are named. `en_US` by default.
    pub lc_time_names: &'static Locale,
    /// GROUP_CONCAT's result is cut here, in bytes. 1024 by default.
    pub group_concat_max_len: u64,
    /// Longest value that a function may return, in bytes. 64 MiB by default.
    pub max_allowed_packet: u64,
    regexp_limits: Cell<Option<Limits>>,
    kept: RefCell<Option<Box<Kept>>>,
}

impl<'a> Deref for Env<'a> {
    type Target = Conversion<'a>;

    #[inline]
    fn deref(&self) -> &Conversion<'a> {
        &self.conversion
    }
}

impl DerefMut for Env<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.conversion
    }
}

impl<'a> Env<'a> {
    /// The defaults of a fresh session; adjust the fields that differ.
    #[inline]
    pub fn new(
        session: &'a dyn SessionInfo,
        subqueries: &'a dyn Subqueries,
        warnings: &'a Warnings,
        time_zone: &'a TimeZone,
    ) -> Env<'a> {
        Env {
            params: &[],
            params_are_literals: false,
            unbound: false,
            session,
            subqueries,
            conversion: Conversion::new(warnings, time_zone),
            collation_connection: Collation::DEFAULT,
            div_precision_increment: 4,
            default_week_format: 0,
            lc_time_names: Locale::english(),
            group_concat_max_len: 1024,
            max_allowed_packet: 64 << 20,
            regexp_limits: Cell::new(None),
            kept: RefCell::new(None),
        }
    }

    /// Returns what expressions keep from one row to the next. Nothing is evaluated while it is borrowed.
    pub(crate) fn kept(&self) -> RefMut<'_, Kept> {
        RefMut::map(self.kept.borrow_mut(), |kept| &mut **kept.get_or_insert_default())
    }

    /// What a search for a regular expression may take: `regexp_time_limit`, `regexp_stack_limit`.
    pub(crate) fn regexp_limits(&self) -> Limits {
        if let Some(limits) = self.regexp_limits.get() {
            return limits;
        }
        let limit = |name: &str, default: u32| {
            let value = self.session.system_variable(VarScope::Global, name).ok();
            let number = match value {
                Some(Val::Int(n)) => u32::try_from(n).ok(),
                Some(Val::UInt(n)) => u32::try_from(n).ok(),
                _ => None,
            };
            number.unwrap_or(default)
        };
        let default = Limits::default();
        let limits = Limits {
            time: limit("regexp_time_limit", default.time),
            stack_bytes: limit("regexp_stack_limit", default.stack_bytes),
        };
        self.regexp_limits.set(Some(limits));
        limits
    }

    /// The context of an expression without columns.
    pub fn ctx(&'a self) -> EvalCtx<'a> {
        EvalCtx {
            row: &NoRow,
            env: self,
        }
    }

    /// The context for a row.
    pub fn ctx_with(&'a self, row: &'a dyn Row) -> EvalCtx<'a> {
        EvalCtx { row, env: self }
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
    pub fn off() -> Watch<'a> {
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
    /// The row that columns are read from.
    pub row: &'a dyn Row,
    /// What is the same for all rows of the statement.
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

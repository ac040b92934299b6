//! What a session knows, apart from its transaction: variables, current database, account, diagnostics.
//!
//! A statement sees it by shared reference (it is one thread's), while it holds the transaction exclusively; what
//! statements change along the way has interior mutability.

use super::client::{ConnectInfo, capability};
use super::compiled::Compiled;
use super::components::Component;
use super::counters::Counter;
use super::database::Database;
use super::diagnostics::Diagnostics;
use super::files;
use super::handlers::Handlers;
use super::process::Process;
use super::profile::Profiler;
use super::query_attributes::QueryAttributes;
use super::roles::ActiveRoles;
use super::session_track::Changes;
use super::sink::status;
use super::traces::Traces;
use super::transaction_track::TransactionTrack;
use super::user_variables::UserVariables;
use crate::accounts::{Account, Privileges};
use crate::dictionary::TemporaryTables;
use crate::error::{Result, SqlError, er};
use crate::expr::{BindCtx, Env, Parameters, SessionInfo, Subqueries, VarScope};
use crate::mdl::{self, Holder};
use crate::statements::long::Told;
use crate::statements::setup::{Collected, Consumer};
use crate::statements::stages::Stage;
use crate::types::{Collation, Value};
use crate::variables::{DEFS, Setting, Settings, VERSION, Values, VariableScope};
use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tidemark_engine::waits::Wait;
use tidemark_engine::{COUNTED, Ddl, TableId};

/// A table of the server's that a dump has just created, as it means to, in `ddl::server_tables`.
#[derive(Clone, Debug)]
pub struct DumpedTable {
    /// `mysql` or `sys`.
    pub schema: &'static str,
    /// The table's name as written.
    pub name: String,
    /// Its columns in the dump.
    pub columns: Vec<String>,
}

/// What a session knows apart from its transaction. One thread at a time uses it.
pub struct SessionState {
    /// The server.
    pub database: Arc<Database>,
    /// The connection: account, address, capabilities.
    pub info: ConnectInfo,
    /// What other sessions see of this one.
    pub process: Arc<Process>,
    /// The session's metadata locks.
    pub locks: Arc<Holder>,
    /// Those of GET_LOCK, once there are any.
    named_locks: OnceCell<mdl::NamedLocks>,
    /// The current database.
    pub schema: Option<String>,
    /// All variables; [`SessionState::settings`] is derived from them.
    pub values: Values,
    /// What statements need of `values`, decoded.
    pub settings: Settings,
    /// What belongs to the statement at hand, which the state dereferences to.
    diagnostics: Diagnostics,
    /// The statement's time in microseconds since 1970 UTC.
    pub now_micros: Cell<i64>,
    /// `@name`, by lower-case name.
    pub user_variables: RefCell<UserVariables>,
    /// Rows that the command at hand has read: those of tables, of what it has put together itself, and those that it has
    /// sorted once more.
    pub examined: Cell<u64>,
    /// Rows that the statement at hand has sent.
    pub sent: Cell<u64>,
    digest_length_max: usize,
    /// How long the session had waited for locks when the command at hand began, in nanoseconds.
    lock_nanos_before: Cell<u64>,
    /// The stages that every statement goes through are counted.
    counts_stages: Cell<bool>,
    /// `@@statement_id`: counts the session's statements.
    pub statement_id: Cell<u64>,
    /// Whether a transaction of more than one statement is open.
    pub in_transaction: Cell<bool>,
    /// The open transaction is READ ONLY.
    pub read_only_transaction: Cell<bool>,
    /// The active roles, and what the session may do.
    pub roles: ActiveRoles,
    /// The session's temporary tables.
    pub temporary: TemporaryTables,
    /// Where the time of its last statements went, while `profiling` is on.
    pub profiler: Profiler,
    /// Why its last statements were planned as they were, while `optimizer_trace` is on.
    pub traces: RefCell<Traces>,
    /// What the client has sent beside the command at hand.
    pub query_attributes: QueryAttributes,
    /// The tables that it has open by HANDLER.
    pub handlers: RefCell<Handlers>,
    /// What INSERT means by the columns of a table of the server's.
    pub dumped_table: RefCell<Option<DumpedTable>>,
    /// The library of its stored functions, which floors above give it and know the type of.
    pub programs: OnceCell<Box<dyn Any + Send>>,
    /// Counts how often what plans depend on has changed: variables, how texts are read.
    pub planned_for: Cell<u64>,
    /// How many statements run inside each other.
    pub depth: Cell<u32>,
    /// The tables of the running statements that have called programs, of the outermost first.
    pub busy: RefCell<Vec<TableId>>,
    /// The stored programs that it has called.
    pub compiled: Compiled,
    /// What the next OK packet tells of.
    pub(super) changes: Changes,
    pub(super) transaction_track: TransactionTrack,
}

impl SessionState {
    /// Adds to one of the session's counters.
    #[inline]
    pub fn count(&self, counter: Counter, more: u64) {
        self.process.counters.add(counter, more);
    }

    /// Counts a row that was read.
    #[inline]
    pub fn examine(&self) {
        if COUNTED {
            self.examined.set(self.examined.get() + 1);
        }
    }

    /// A command begins, for what is said of it when it is over.
    pub fn begin_command(&self) {
        self.examined.set(0);
        self.lock_nanos_before.set(self.lock_nanos());
        self.counts_stages
            .set(self.database.setup.counts_statement_stages());
        self.stage(Stage::Starting);
    }

    /// How much of a statement its digest is of: `max_digest_length`.
    pub fn digest_length_max(&self) -> usize {
        self.digest_length_max
    }

    /// How long the command at hand has waited for locks of rows, of tables and of definitions.
    pub fn waited_for_locks(&self) -> Duration {
        Duration::from_nanos(self.lock_nanos().saturating_sub(self.lock_nanos_before.get()))
    }

    /// How long the session has waited for locks until now, in nanoseconds.
    #[inline]
    pub fn lock_nanos(&self) -> u64 {
        let waits = &self.process.waits;
        waits.nanos(Wait::RowLock) + waits.nanos(Wait::MetadataLock)
    }

    /// The state of a new session, with the server's values of all variables.
    pub fn new(
        database: Arc<Database>,
        info: ConnectInfo,
        process: Arc<Process>,
        locks: Arc<Holder>,
    ) -> SessionState {
        let mut values = database.globals().session_values();
        let collation = Collation::from_id(info.collation)
            .filter(|collation| !collation.charset().is_for_texts_only())
            .unwrap_or(Collation::DEFAULT);
        values.set_names(collation);
        let settings = values.settings();
        let digest_length_max = database.globals().u64("max_digest_length") as usize;
        SessionState {
            diagnostics: Diagnostics::new(settings.max_error_count),
            database,
            info,
            process,
            locks,
            named_locks: OnceCell::new(),
            schema: None,
            values,
            settings,
            now_micros: Cell::new(0),
            traces: RefCell::default(),
            user_variables: RefCell::default(),
            examined: Cell::new(0),
            sent: Cell::new(0),
            digest_length_max,
            lock_nanos_before: Cell::new(0),
            counts_stages: Cell::new(false),
            statement_id: Cell::new(0),
            in_transaction: Cell::new(false),
            read_only_transaction: Cell::new(false),
            roles: ActiveRoles::default(),
            temporary: TemporaryTables::default(),
            profiler: Profiler::default(),
            query_attributes: QueryAttributes::default(),
            handlers: RefCell::default(),
            dumped_table: RefCell::default(),
            programs: OnceCell::new(),
            planned_for: Cell::new(0),
            depth: Cell::new(0),
            busy: RefCell::default(),
            compiled: Compiled::default(),
            changes: Changes::default(),
            transaction_track: TransactionTrack::default(),
        }
    }

    /// The environment of the running statement's expressions.
    #[inline]
    pub fn env<'a>(&'a self, subqueries: &'a dyn Subqueries, params: &'a [Value]) -> Env<'a> {
        let settings = &self.settings;
        let mut env = Env::new(self, subqueries, &self.warnings, &settings.time_zone);
        env.params = params;
        env.params_are_literals = self.params_are_literals.get();
        env.sql_mode = settings.sql_mode;
        env.strict = settings.sql_mode.strict();
        env.now_micros = self.now_micros.get();
        env.collation_connection = settings.collation_connection;
        env.div_precision_increment = settings.div_precision_increment;
        env.default_week_format = settings.default_week_format;
        env.lc_time_names = settings.lc_time_names;
        env.group_concat_max_len = settings.group_concat_max_len;
        env.max_allowed_packet = settings.max_allowed_packet;
        env
    }

    /// What the types of expressions depend on.
    pub fn bind_ctx(&self) -> BindCtx {
        BindCtx {
            collation_connection: self.settings.collation_connection,
            character_set_client: self.settings.character_set_client,
            sql_mode: self.settings.sql_mode,
            div_precision_increment: self.settings.div_precision_increment,
            group_concat_max_len: self.settings.group_concat_max_len,
            lc_time_names: self.settings.lc_time_names,
            query_attributes: self.database.components.is_installed(Component::QueryAttributes),
            literals: self.params_are_literals.get(),
            parameters: Parameters::default(),
            depends_on_literals: Cell::new(false),
            depends_on_values: Cell::new(false),
            is_unsafe: Cell::new(false),
            assigns_variables: Cell::new(false),
            deprecated: RefCell::default(),
            dates: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// Whether the client wants to hear of rows found rather than changed.
    pub fn wants_found_rows(&self) -> bool {
        self.info.capabilities & capability::FOUND_ROWS != 0
    }

    /// The collation that text is sent in; `None`: each text in its own.
    pub fn results_collation(&self) -> Option<Collation> {
        let charset = self.settings.character_set_results?;
        let connection = self.settings.collation_connection;
        Some(match charset == connection.charset() {
            true => connection,
            false => charset.default_collation(),
        })
    }

    /// The database an unqualified name belongs to. Error 1046.
    pub fn current_schema(&self) -> Result<&str> {
        self.schema.as_deref().ok_or_else(SqlError::no_database)
    }

    /// The account as it is now, without its roles; it may have changed since the session began.
    pub fn account(&self) -> Arc<Account> {
        let auth = &self.info.account;
        self.database.full_account(&auth.user, &auth.host)
    }

    /// `collation_server`, which new databases take.
    pub fn server_collation(&self) -> Collation {
        self.values.server_collation()
    }

    /// Ends the plans that programs keep: a setting that plans depend on has changed.
    pub fn planning_changes(&self) {
        self.planned_for.set(self.planned_for.get() + 1);
    }

    /// The flags of OK and EOF packets.
    pub fn status_flags(&self) -> u16 {
        let mut flags = 0;
        if self.settings.autocommit {
            flags |= status::AUTOCOMMIT;
        }
        if self.in_transaction.get() {
            flags |= status::IN_TRANS;
            if self.read_only_transaction.get() {
                flags |= status::IN_TRANS_READONLY;
            }
        }
        if self
            .settings
            .sql_mode
            .has(crate::types::SqlMode::NO_BACKSLASH_ESCAPES)
        {
            flags |= status::NO_BACKSLASH_ESCAPES;
        }
        flags
    }

    /// What is taken of memory from now on is the next statement's, and what interrupts the session ends it.
    pub fn begin_memory(&self) {
        crate::error::interrupt::watch(self.process.interrupt_ref());
        tidemark_memory::begin_statement(self.settings.statement_memory);
    }

    /// The statement is over: what it had much of goes back to the system.
    pub fn end_memory(&self) {
        tidemark_memory::end_statement();
    }

    /// Begins a statement's time: NOW() stays at this moment, or at `SET timestamp`.
    pub fn read_clock(&self) {
        let micros = match self.settings.timestamp_micros {
            0 => clock_micros(),
            fixed => fixed,
        };
        self.now_micros.set(micros);
    }

    /// The statement at hand comes to another stage, for SHOW PROFILE and `events_stages_…`.
    #[inline]
    pub fn stage(&self, stage: Stage) {
        if self.profiler.is_on() {
            self.profiler.enter(stage.state(), &self.process.waits);
        }
        if self.counts_stages.get() {
            self.process.enter_stage(Some(stage), None, self.told());
        }
    }

    /// How far the statement at hand is in a long work: so many of so many parts. The process list and `events_stages_current` show it.
    pub fn progress(&self, stage: Stage, done: u64, of: u64) {
        self.process.set_doing(stage, done, of);
        self.process
            .enter_stage(Some(stage), Some((done, of)), self.told());
    }

    /// The long work is over.
    pub fn end_progress(&self) {
        self.process.clear_doing();
        self.process.enter_stage(None, None, self.told());
    }

    /// What takes its events in.
    #[inline]
    pub fn collected(&self) -> Collected {
        self.database.setup.collected(self.process.watched())
    }

    /// Where its events are told to.
    #[inline]
    pub fn told(&self) -> Told<'_> {
        Told {
            session: self.process.id,
            setup: &self.database.setup,
            collected: self.collected(),
            long: &self.database.long_history,
        }
    }

    /// How this session waits for metadata locks.
    pub fn with_wait_policy<T>(
        &self,
        f: impl FnOnce(&mdl::WaitPolicy<'_>) -> Result<T, mdl::Failure>,
    ) -> Result<T> {
        self.wait_for_metadata(self.settings.lock_wait_timeout, f)
            .map_err(|failure| match failure {
                mdl::Failure::Timeout => SqlError::lock_wait_timeout(),
                mdl::Failure::Deadlock => SqlError::deadlock(),
                mdl::Failure::Interrupted => SqlError::interrupted(),
            })
    }

    /// Begins a change of definitions, accounts or stored variables. KILL ends the wait for its turn, and so does
    /// `lock_wait_timeout`: error 1205.
    pub fn ddl(&self) -> Result<Ddl> {
        let engine = self.database.engine();
        Ok(engine.ddl_within(self.process.interrupt(), self.settings.lock_wait_timeout)?)
    }

    /// The right to change accounts, one statement at a time. Errors 1205 and 1317.
    pub fn change_accounts(&self) -> Result<parking_lot::MutexGuard<'_, ()>> {
        let since = Instant::now();
        self.database.accounts.change(|| {
            self.process.end_if_abandoned();
            if self.process.is_interrupted() {
                return Err(SqlError::interrupted());
            }
            match since.elapsed() < self.settings.lock_wait_timeout {
                true => Ok(()),
                false => Err(SqlError::lock_wait_timeout()),
            }
        })
    }

    fn wait_for_metadata<T>(
        &self,
        timeout: Duration,
        f: impl FnOnce(&mdl::WaitPolicy<'_>) -> Result<T, mdl::Failure>,
    ) -> Result<T, mdl::Failure> {
        f(&mdl::WaitPolicy {
            timeout,
            waiter: self,
        })
    }

    fn named_locks(&self) -> &mdl::NamedLocks {
        let locks = || mdl::NamedLocks::new(self.database.dictionary().locks(), self.info.connection_id);
        self.named_locks.get_or_init(locks)
    }

    /// The values of all variables in a scope, for SHOW VARIABLES.
    pub fn variable_setting(&self, at: usize, global: bool) -> Setting {
        let def = &DEFS[at];
        if global || def.scope == VariableScope::Global {
            return self.database.globals().get(at);
        }
        match def.name {
            "last_insert_id" | "identity" => Setting::Uint(self.last_insert_id.get()),
            "insert_id" => Setting::Uint(self.insert_id.get()),
            "max_user_connections" => match self.account().limits.at_once {
                0 => self.database.globals().get(at),
                own => Setting::Uint(own as u64),
            },
            "pseudo_thread_id" => Setting::Uint(self.info.connection_id),
            "warning_count" => Setting::Uint(self.warnings.count() as u64),
            "error_count" => Setting::Uint(self.error_count.get() as u64),
            "statement_id" => Setting::Uint(self.statement_id.get()),
            "timestamp" => Setting::Float(self.now_micros.get() as f64 / 1e6),
            _ => self.values.get(at).clone(),
        }
    }
}

impl Deref for SessionState {
    type Target = Diagnostics;

    #[inline]
    fn deref(&self) -> &Diagnostics {
        &self.diagnostics
    }
}

impl DerefMut for SessionState {
    fn deref_mut(&mut self) -> &mut Diagnostics {
        &mut self.diagnostics
    }
}

impl mdl::Waiter for SessionState {
    fn is_interrupted(&self) -> bool {
        self.process.is_interrupted()
    }

    fn look(&self) {
        self.process.end_if_abandoned();
    }

    fn counts(&self, lock: &mdl::TableLock) -> [bool; 2] {
        let (schema, name) = lock.names();
        match self.collected().has(Consumer::Global) {
            true => self.database.setup.objects.read().of_table(schema, name),
            false => [false; 2],
        }
    }
}

pub fn clock_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}

impl SessionInfo for SessionState {
    fn user_variable(&self, name: &str) -> Option<Value> {
        self.user_variables.borrow().get(name).cloned()
    }

    fn set_user_variable(&self, name: &str, value: Value) -> Result<()> {
        let limit = self.settings.statement_memory;
        self.user_variables.borrow_mut().set(name, value, limit)
    }

    fn system_variable(&self, scope: VarScope, name: &str) -> Result<Value> {
        let at = self.database.find_variable(name)?;
        let def = &DEFS[at];
        let wrong_scope = match (scope, def.scope) {
            (VarScope::Global, VariableScope::Session) => Some("SESSION"),
            (VarScope::Session, VariableScope::Global) => Some("GLOBAL"),
            _ => None,
        };
        if let Some(is) = wrong_scope {
            return Err(SqlError::new(
                er::INCORRECT_GLOBAL_LOCAL_VAR,
                format!("Variable '{}' is a {is} variable", def.name),
            ));
        }
        Ok(self.variable_setting(at, scope == VarScope::Global).to_value())
    }

    fn connection_id(&self) -> u64 {
        self.info.connection_id
    }

    fn user(&self) -> String {
        format!("{}@{}", self.info.user, self.info.host)
    }

    fn current_user(&self) -> String {
        let (user, host) = self.acting_user();
        format!("{user}@{host}")
    }

    fn current_role(&self) -> String {
        self.active_roles_text()
    }

    fn password_strength(&self, password: &str) -> u64 {
        self.password_policy()
            .map_or(0, |(policy, words)| policy.strength(password, &words))
    }

    fn query_attribute(&self, name: &str) -> Option<Vec<u8>> {
        self.query_attributes.find(name)?.map(<[u8]>::to_vec)
    }

    fn file(&self, path: &str, bytes_max: u64) -> Option<Vec<u8>> {
        self.require_global(Privileges::FILE, "FILE").ok()?;
        files::read_whole(self, path, bytes_max)
    }

    fn is_connected(&self, id: u64) -> bool {
        self.database.has_session(id)
    }

    fn database(&self) -> Option<String> {
        self.schema.clone()
    }

    fn version(&self) -> String {
        VERSION.to_owned()
    }

    fn datadir(&self) -> String {
        self.database.variable("datadir").unwrap_or_default()
    }

    fn last_insert_id(&self) -> u64 {
        self.last_insert_id.get()
    }

    fn set_last_insert_id(&self, id: u64) {
        self.last_insert_id.set(id);
        self.told_insert_id.set(true);
    }

    fn row_count(&self) -> i64 {
        self.row_count.get()
    }

    fn found_rows(&self) -> u64 {
        self.found_rows.get()
    }

    fn interrupted(&self) -> bool {
        self.process.is_interrupted()
    }

    fn get_named_lock(&self, name: &str, seconds: i64) -> Result<bool> {
        let timeout = u64::try_from(seconds).map_or(Duration::MAX, Duration::from_secs);
        let locks = self.named_locks();
        match self.wait_for_metadata(timeout, |policy| locks.get(name, policy)) {
            Ok(()) => Ok(true),
            Err(mdl::Failure::Timeout) => Ok(false),
            Err(mdl::Failure::Deadlock) => Err(SqlError::user_lock_deadlock()),
            Err(mdl::Failure::Interrupted) => Err(SqlError::interrupted()),
        }
    }

    fn release_named_lock(&self, name: &str) -> bool {
        self.named_locks.get().is_some_and(|locks| locks.release(name))
    }

    fn release_named_locks(&self) -> u64 {
        self.named_locks.get().map_or(0, mdl::NamedLocks::release_all)
    }

    fn named_lock_holder(&self, name: &str) -> Option<u64> {
        self.database.dictionary().locks().session_with(name)
    }
}

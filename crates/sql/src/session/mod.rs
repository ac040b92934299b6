//! A session: one client's conversation with the database.
//!
//! - [`text`]: a text of statements, one after the other, parsed or recognised by their shape ([`plan_cache`]). [`kept`]: the plans of one
//!   statement.
//! - [`dispatch`]: what each kind of statement leads to; [`run`]: how planned ones are run.
//! - [`guard`]: what stops a statement before it begins.
//! - [`measure`]: what each statement did, told when it is over.
//! - [`prepared`]: statements kept for later, over the protocol or by PREPARE.
//! - [`transaction`]: how statements are put into transactions.
//! - [`call`]: CALL; [`diagnostics`]: SIGNAL, RESIGNAL, GET DIAGNOSTICS.
//! - [`set`], [`admin`], [`locked`]: SET; KILL, USE, FLUSH; LOCK TABLES. [`views`]: CREATE VIEW. [`create_filled`]: CREATE TABLE …
//!   SELECT. [`temporary`]: temporary tables. [`handler`]: HANDLER. [`explain_connection`]: EXPLAIN of what another session
//!   runs, [`explain_schema`] in another database. [`nested`]: statements of programs.
//!
//! What statements see of the session while they run is `context`, far below; nothing below knows the session.

mod admin;
mod argument;
mod call;
mod checksum;
mod create_filled;
#[cfg(test)]
mod depth_tests;
mod diagnostics;
mod dispatch;
mod explain_connection;
mod explain_schema;
mod gtid;
mod guard;
mod handler;
mod hinted;
mod kept;
mod locked;
mod measure;
mod nested;
mod plan_cache;
mod prepared;
mod restricted;
mod run;
mod set;
mod temporary;
#[cfg(test)]
mod tests;
mod text;
mod transaction;
mod views;

use crate::accounts::{Privileges, Seat};
use crate::context::error_log::printable;
use crate::context::{
    ConnectInfo, Counter, Database, Discard, Process, QueryAttributes, ResultSink, SessionState, capability,
    command,
};
use crate::error::{Result, SqlError, er};
use crate::parse::trim;
use crate::plan::program::set_library;
use crate::program::Functions;
use crate::types::{Collation, ColumnMeta, Value};
use plan_cache::PlanCache;
use prepared::Statements;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_engine::{Tick, Transaction, waits};
use transaction::TransactionState;

/// A statement prepared over the binary protocol.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What the client names the statement by; unique in the session.
    pub id: u32,
    /// One per placeholder, in order.
    pub params: Vec<ColumnMeta>,
    /// Empty for a statement without rows.
    pub columns: Vec<ColumnMeta>,
    /// How many warnings preparing it gave.
    pub warnings: u16,
}

/// One client's session: its transaction, settings, prepared statements and cached plans. Used by one thread at a time;
/// dropping it rolls back what is open.
pub struct Session {
    state: SessionState,
    txn: Transaction,
    transaction: TransactionState,
    statements: Statements,
    plans: PlanCache,
    measure: measure::Measure,
    /// Its connection, counted among those of its account.
    seat: Seat,
    guard: guard::Guard,
    /// The server is to close the connection: COMMIT RELEASE, or a rollback that failed.
    released: bool,
    /// KILL of its own connection.
    killed_itself: bool,
    /// How many programs run that statements of this client have called, one inside the other.
    programs: u32,
    /// The OUT parameters of the procedure called last that stand for parameters of the statement.
    out_parameters: Vec<call::OutParameter>,
    /// The statement is executed over the binary protocol.
    is_binary: bool,
}

impl Session {
    /// Begins a session for a client that has proved who it is. Errors 1044 and 1049 for the database it names, 1203 and
    /// 1226 if its account has too many connections, 3032 in `offline_mode`.
    pub fn connect(database: Arc<Database>, info: ConnectInfo) -> Result<Session> {
        let seat = seat(&database, &info)?;
        let txn = database.engine().transaction();
        let process = Arc::new(Process::new(
            info.connection_id,
            &info.user,
            info.address(),
            txn.owner(),
            txn.interrupt(),
            info.client.clone(),
        ));
        let waiting = Arc::downgrade(&process);
        txn.interrupt().set_on_wait(move || {
            if let Some(process) = waiting.upgrade() {
                process.end_if_abandoned();
            }
        });
        let locks = database.dictionary().locks().holder(info.connection_id);
        let schema = info.database.clone();
        let state = SessionState::new(database, info, process, locks);
        state.begin_roles();
        state.refuse_offline()?;
        state
            .process
            .set_account(&state.info.account.user, &state.info.account.host);
        state.process.set_attributes(&state.info.attributes);
        state.process.set_encryption(state.info.encryption.clone());
        state.database.add_session(&state.process);
        let mut session = Session {
            state,
            txn,
            transaction: TransactionState::default(),
            statements: Statements::default(),
            plans: PlanCache::default(),
            measure: measure::Measure::default(),
            seat,
            guard: guard::Guard::default(),
            released: false,
            killed_itself: false,
            programs: 0,
            out_parameters: Vec::new(),
            is_binary: false,
        };
        set_library(&mut session.state, Box::new(Functions));
        if let Some(schema) = schema.filter(|schema| !schema.is_empty()) {
            session.use_database(&schema)?;
        }
        let state = &session.state;
        let who = format!(
            "{}@{} on {}",
            state.info.user,
            state.info.host,
            state.schema.as_deref().unwrap_or("")
        );
        let who = printable(&who);
        state.database.logs.command(state, "Connect", who.as_bytes());
        Ok(session)
    }

    /// `init_connect`, for accounts that may not administer connections. Error 1184 if one of its statements fails: the
    /// connection is to end.
    pub fn run_init_connect(&mut self) -> Result<()> {
        let text = self.state.database.variable("init_connect").unwrap_or_default();
        if text.is_empty() || self.state.has_global(Privileges::ADMINISTERS_CONNECTIONS) {
            return Ok(());
        }
        let allowed = self.state.info.capabilities;
        self.set_multi_statements(true);
        let done = self.query(text.as_bytes(), &mut Discard);
        self.state.info.capabilities = allowed;
        done.map_err(|error| {
            let info = &self.state.info;
            log::warn!("init_connect fails for {}@{}: {error}", info.user, info.host);
            SqlError::new(
                er::NEW_ABORTING_CONNECTION,
                format!(
                    "Aborted connection {} to db: '{}' user: '{}' host: '{}' (init_connect command failed)",
                    info.connection_id,
                    self.state.schema.as_deref().unwrap_or("unconnected"),
                    info.user,
                    info.host
                ),
            )
        })
    }

    /// The calling thread serves the session: what it waits for from now on is the session's, and is counted where this returns.
    pub fn serve_here(&self) -> Arc<waits::Waits> {
        let process = &self.state.process;
        waits::count_for(Some(Arc::clone(&process.waits)));
        // Ends in the thread's number, where there is such a file.
        let own = std::fs::read_link("/proc/thread-self").ok();
        let number = own.and_then(|path| path.file_name()?.to_str()?.parse().ok());
        process.os_thread.store(number.unwrap_or(0), Ordering::Relaxed);
        let place = tidemark_memory::own_place();
        process.memory_place.store(place, Ordering::Relaxed);
        Arc::clone(&process.waits)
    }

    /// When the command that comes next has arrived, if that is known: the clock is then not read again for when it began.
    #[inline]
    pub fn arrived_at(&mut self, moment: Option<Tick>) {
        self.measure.arrived = moment;
    }

    /// When the last statement of the command before ended, if that was a moment ago. Is asked once.
    #[inline]
    pub fn ended_at(&mut self) -> Option<Tick> {
        self.measure.just_ended.take()
    }

    /// What the client has sent beside the command that comes next. It holds until the next call.
    pub fn set_query_attributes(&mut self, attributes: QueryAttributes) {
        self.state.query_attributes = attributes;
    }

    /// The command is over, and so are its attributes.
    #[inline]
    pub fn forget_query_attributes(&mut self) {
        if !self.state.query_attributes.is_empty() {
            self.set_query_attributes(QueryAttributes::default());
        }
    }

    /// What statements see of the session.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// One COM_QUERY, which may hold several statements. Each one's result goes to `out`, all but the last with
    /// [`status::MORE_RESULTS_EXISTS`]. An error ends the whole: the server sends it as the next result.
    pub fn query(&mut self, sql: &[u8], out: &mut dyn ResultSink) -> Result<()> {
        let sql = &*self.received(trim(sql));
        self.show_command("Query", sql);
        let result = self.run_text(sql, out);
        self.finish_statement();
        result
    }

    /// COM_STMT_PREPARE. Error 1461 past `max_prepared_stmt_count`.
    pub fn prepare(&mut self, sql: &[u8]) -> Result<Prepared> {
        let sql = &*self.received(sql);
        self.show_command("Prepare", sql);
        let result = self.prepare_binary(sql);
        self.finish();
        result
    }

    /// A statement's text as the server has texts.
    #[inline]
    fn received<'a>(&self, sql: &'a [u8]) -> Cow<'a, [u8]> {
        self.state.settings.character_set_client.receive(sql)
    }

    /// A command begins: the process list and the general log show it.
    fn show_command(&mut self, command: &'static str, text: &[u8]) {
        let arrived = self.measure.arrived.take();
        let began = self.state.process.begin(command, text, arrived);
        self.measure_command(began);
        self.state.begin_command();
        self.state.database.logs.command(&self.state, command, text);
    }

    /// A command that runs statements is over.
    #[inline]
    fn finish_statement(&mut self) {
        let nanos = self.command_nanos();
        self.state.process.counters.add_statement(nanos);
        self.finish();
    }

    /// A command is over: the slow query log has it if it took long.
    #[inline]
    fn finish(&mut self) {
        let nanos = self.command_nanos();
        if nanos as f64 >= self.state.settings.long_query_time * 1e9 {
            self.note_slow(Duration::from_nanos(nanos));
        }
        self.note_view();
        self.end_command();
        self.plans.give_back();
        self.state.end_memory();
    }

    #[cold]
    fn note_slow(&self, took: Duration) {
        let (state, logs) = (&self.state, &self.state.database.logs);
        state.count(Counter::SlowQueries, 1);
        if logs.slow_is_on() {
            state
                .process
                .with_current(|current| logs.slow(state, current, took));
        }
    }

    /// COM_STMT_EXECUTE: runs a prepared statement with a value for each placeholder. Error 1243 for an unknown `id`.
    pub fn execute(&mut self, id: u32, params: &[Value], out: &mut dyn ResultSink) -> Result<()> {
        self.execute_binary(id, params, out)
    }

    /// The number of parameters of a prepared statement, to decode COM_STMT_EXECUTE with.
    pub fn param_count(&self, id: u32) -> Option<usize> {
        self.statements
            .binary
            .get(&id)
            .map(|statement| statement.param_count)
    }

    /// COM_STMT_CLOSE. An unknown `id` is ignored.
    pub fn close_statement(&mut self, id: u32) {
        self.state.process.counters.add_command(command::STMT_CLOSE);
        self.statements.binary.remove(&id);
    }

    /// Counts a command that is no statement: one of [`command`]'s constants.
    pub fn count_command(&self, command: usize) {
        self.state.process.counters.add_command(command);
    }

    /// COM_STMT_RESET. Error 1243 for an unknown `id`.
    pub fn reset_statement(&mut self, id: u32) -> Result<()> {
        match self.statements.binary.contains_key(&id) {
            true => Ok(()),
            false => Err(crate::error::SqlError::unknown_statement(id)),
        }
    }

    /// COM_INIT_DB and USE. Errors 1049 and 1044.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        self.change_database(name)
    }

    /// COM_RESET_CONNECTION: as if the client had just connected, but in the same database.
    pub fn reset(&mut self) -> Result<()> {
        self.end();
        let state = &mut self.state;
        let schema = state.schema.clone();
        let collation = state.info.collation;
        state.database.count_anew(&state.process);
        let mut fresh = SessionState::new(
            Arc::clone(&state.database),
            state.info.clone(),
            Arc::clone(&state.process),
            Arc::clone(&state.locks),
        );
        fresh.info.collation = collation;
        fresh.planned_for.set(state.planned_for.get());
        fresh.programs = std::mem::take(&mut state.programs);
        fresh.planning_changes();
        *state = fresh;
        state.begin_roles();
        // Plans were made under the variables of before, and allowed to the account of before.
        self.plans.clear();
        self.measure.forget_meters();
        self.statements = Statements::default();
        self.transaction = TransactionState::default();
        if let Some(schema) = schema {
            // It may have been dropped meanwhile.
            let _ = self.change_database(&schema);
        }
        // The client knows what it has asked for.
        self.state.take_changes();
        Ok(())
    }

    /// COM_CHANGE_USER, after the server has checked the new user's secret.
    pub fn change_user(&mut self, info: ConnectInfo) -> Result<()> {
        self.end();
        self.seat = seat(&self.state.database, &info)?;
        let schema = info.database.clone();
        self.state.schema = None;
        self.state.process.set_user(&info.user, &info.address());
        self.state
            .process
            .set_account(&info.account.user, &info.account.host);
        self.state.database.watch(&self.state.process);
        self.state.process.set_attributes(&info.attributes);
        self.guard = guard::Guard::default();
        self.state.info = info;
        self.reset()?;
        self.state.refuse_offline()?;
        match schema.filter(|schema| !schema.is_empty()) {
            Some(schema) => self.change_database(&schema),
            None => Ok(()),
        }
    }

    /// COM_FIELD_LIST: the columns of a table whose names match a LIKE pattern (empty: all).
    pub fn field_list(&mut self, table: &str, pattern: &str) -> Result<Vec<ColumnMeta>> {
        let name = crate::parse::ast::ObjectName {
            schema: None,
            name: table.to_owned(),
        };
        self.state.require_in_part_of(Privileges::SELECT, &name)?;
        let def = self.state.table(&name)?;
        let results = self.state.results_collation();
        let columns = def.named_columns().map(|(_, column)| column);
        let matching = columns.filter(|column| {
            (pattern.is_empty() || crate::accounts::pattern_matches(pattern, &column.name, true))
                && !self.state.on_column(&def, &column.name).is_empty()
        });
        Ok(matching
            .map(|column| {
                ColumnMeta::of_column(
                    &def.schema,
                    (&def.name, &def.name),
                    (&column.name, &column.name),
                    &column.ty,
                    results,
                )
            })
            .collect())
    }

    /// COM_SET_OPTION: whether one query may hold several statements.
    pub fn set_multi_statements(&mut self, allow: bool) {
        let capabilities = &mut self.state.info.capabilities;
        *capabilities &= !capability::MULTI_STATEMENTS;
        if allow {
            *capabilities |= capability::MULTI_STATEMENTS;
        }
    }

    /// COM_STATISTICS.
    pub fn statistics(&self) -> String {
        let database = &self.state.database;
        let totals = database.totals();
        let (questions, slow) = (totals.of(Counter::Questions), totals.of(Counter::SlowQueries));
        let uptime = database.started.elapsed().as_secs().max(1);
        format!(
            "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {slow}  Opens: 0  Flush tables: {}  Open \
             tables: {}  Queries per second avg: {:.3}",
            database.session_count(),
            database.counters().flushes.load(Ordering::Relaxed),
            database.engine().table_ids().len(),
            questions as f64 / uptime as f64
        )
    }

    /// The flags of [`status`](crate::status) that tell the client of its transaction and modes.
    pub fn status_flags(&self) -> u16 {
        self.state.status_flags()
    }

    /// KILL CONNECTION has been asked for this session, or it has asked to be released: the server closes it.
    pub fn is_killed(&self) -> bool {
        self.released || self.state.process.is_killed()
    }

    /// Another session has killed this one: its client hears nothing more.
    pub fn is_cut_off(&self) -> bool {
        self.state.process.is_killed() && !self.killed_itself
    }

    /// Seconds this session may be idle (`wait_timeout`, or `interactive_timeout` for an interactive client).
    pub fn idle_timeout_s(&self) -> u64 {
        let interactive = self.state.info.capabilities & capability::INTERACTIVE != 0;
        self.state.settings.idle_timeout_s(interactive)
    }

    /// Longest packet that the client may send, in bytes: `max_allowed_packet`.
    pub fn max_allowed_packet(&self) -> usize {
        self.state.settings.max_allowed_packet as usize
    }

    /// The session's own number, which is the connection's.
    pub fn connection_id(&self) -> u64 {
        self.state.info.connection_id
    }

    /// The server that the session belongs to.
    pub fn database(&self) -> &Arc<Database> {
        &self.state.database
    }

    /// Rolls back what is open, drops the temporary tables and gives up all locks. Dropping a session does the same.
    pub fn end(&mut self) {
        self.abandon_transaction();
        self.tell_transaction();
        self.drop_temporary_tables();
        self.state.locks.release_all();
        self.transaction.locked = locked::Locked::default();
        self.transaction.instance = None;
    }
}

/// Runs statements that stand in no client's name, such as those of `init_file`, with all privileges.
pub fn run_trusted(database: &Arc<Database>, sql: &[u8]) -> Result<()> {
    run_trusted_into(database, sql, &mut Discard)
}

/// Like [`run_trusted`], with a sink for the results.
pub fn run_trusted_into(database: &Arc<Database>, sql: &[u8], out: &mut dyn ResultSink) -> Result<()> {
    let account = database.accounts.unrestricted();
    let info = ConnectInfo {
        connection_id: 0,
        user: account.user.clone(),
        host: account.host.clone(),
        port: 0,
        account,
        database: None,
        capabilities: capability::MULTI_STATEMENTS,
        collation: Collation::DEFAULT.id(),
        encryption: None,
        attributes: Vec::new(),
        password_expired: false,
        client: None,
    };
    Session::connect(Arc::clone(database), info)?.query(sql, out)
}

/// Counts a connection of the account. Error 1273 if its collation is not here.
fn seat(database: &Database, info: &ConnectInfo) -> Result<Seat> {
    // A client that asks for a collation of MySQL's that is not here is not given another without a word. Numbers that MySQL
    // does not know mean the default, as there.
    const LAST_OF_MYSQL: u16 = 323;
    let known = Collation::from_id(info.collation).is_some();
    if !known && (1..=LAST_OF_MYSQL).contains(&info.collation) {
        return Err(SqlError::unknown_collation(&info.collation.to_string()));
    }
    let account = database.full_account(&info.account.user, &info.account.host);
    let shared = database.globals().u64("max_user_connections");
    database.resources.connect(&account, shared)
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
        self.state.database.logs.command(&self.state, "Quit", b"");
        self.state.database.remove_session(self.state.info.connection_id);
    }
}

//! A database server without the network: one engine, its dictionary, its accounts, its variables and the list of its
//! sessions.

use super::command;
use super::components::Components;
use super::counters::{Counters, Totals};
use super::deadlocks::Deadlocks;
use super::logs::Logs;
use super::modes::Modes;
use super::options::{FORCE_RECOVERY_MAX, Options};
use super::process::Process;
use super::resize::PoolResize;
use super::timer::Timer;
use super::tls::TlsInUse;
use super::traffic::TrafficBefore;
use crate::accounts::now_s;
use crate::accounts::{
    Account, AccountAuth, Accounts, AuthPlugin, Hosts, Privileges, Resources, Rights, roles,
};
use crate::dictionary::Dictionary;
use crate::error::{Result, SqlError, er};
use crate::mdl::Locks;
use crate::spans::Spans;
use crate::statements::Digests;
use crate::statements::accounts::Accounts as StatementAccounts;
use crate::statements::errors::Errors;
use crate::statements::long::LongHistory;
use crate::statements::setup::{Setup, Watched};
use crate::statistics::{Statistics, TableStatistics};
use crate::types::collation::SqlCollator;
use crate::variables::{Globals, Setting, find, persist};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use tidemark_engine::disk::Disk;
use tidemark_engine::disk::real::RealDisk;
use tidemark_engine::waits::{self, Wait, WaitSum};
use tidemark_engine::{Collator, Config, Damage, Engine, TableId, Tick};

/// Reads the settings of TLS anew: see [`Database::on_reload_tls`].
type ReloadTls = Box<dyn Fn(&Database, bool) -> std::result::Result<(), String> + Send>;

/// The collator that every engine under SQL tables is opened with, also to check a data directory.
pub fn collator() -> Arc<dyn Collator> {
    Arc::new(SqlCollator)
}

/// The server that all sessions share.
pub struct Database {
    pub(crate) engine: Engine,
    dictionary: Dictionary,
    /// Accounts and their privileges.
    pub accounts: Accounts,
    /// What accounts use of what they may.
    pub resources: Resources,
    hosts: Hosts,
    /// The general log and the slow query log.
    pub logs: Logs,
    /// What the server refuses at present.
    pub modes: Modes,
    stop: Mutex<Option<Box<dyn Fn() + Send>>>,
    reload_tls: Mutex<Option<ReloadTls>>,
    pub(crate) globals: Globals,
    /// The variables that were given at the start, by position in the registry.
    given: Vec<(usize, Setting)>,
    /// The connections, by number.
    pub sessions: Mutex<BTreeMap<u64, Arc<Process>>>,
    pub(crate) counters: Counters,
    /// What sessions have counted that are over, or have begun to count anew. Changed and read under the lock of `sessions`.
    counted_before: Mutex<Totals>,
    /// What sessions have waited for that are over; likewise under that lock.
    waited_before: Mutex<[WaitSum; Wait::ALL.len()]>,
    /// What the sessions of the last deadlock were running.
    pub deadlocks: Deadlocks,
    /// When the log was last told that history is too long, and what it was told.
    pub history_warning: Mutex<Option<(SystemTime, String)>>,
    /// What statements did, by digest.
    pub digests: Digests,
    /// Statements for OpenTelemetry.
    pub spans: Spans,
    /// With which errors statements ended.
    pub errors: Errors,
    /// What of the events is collected.
    pub setup: Setup,
    /// The last events of all sessions.
    pub long_history: LongHistory,
    /// What statements did, by user and host; their connections.
    pub statement_accounts: StatementAccounts,
    /// What TLS connections begin with at present.
    pub tls: Mutex<TlsInUse>,
    /// What sockets had carried when their summaries were begun anew.
    pub traffic_before: TrafficBefore,
    /// The key under which clients send passwords over an open line, once one has asked for it.
    pub public_key: OnceLock<String>,
    /// What is installed besides.
    pub components: Components,
    /// Ends statements that run longer than `max_execution_time`.
    pub statement_timer: Timer,
    /// What the engine does by itself, if it takes long, as sessions see it: [`Process::of_server`].
    pub own_work: Process,
    /// The latest change of the buffer pool's size.
    pub pool_resize: PoolResize,
    /// What is known of the rows of tables.
    pub statistics: Statistics,
    /// When the server was started.
    pub started: Tick,
}

/// What the options say to the engine.
fn engine_config(options: &Options, globals: &Globals) -> Result<Config> {
    let mut config = Config::new(&options.datadir);
    config.buffer_pool_bytes = globals.u64("innodb_buffer_pool_size");
    config.buffer_pool_bytes_max = tidemark_memory::machine_bytes();
    config.log_capacity_bytes = options.log_capacity(globals);
    config.log_buffer_bytes = globals.u64("innodb_log_buffer_size");
    config.flush_at_trx_commit = globals.u64("innodb_flush_log_at_trx_commit") as u8;
    config.o_direct = options
        .get_or_default("innodb_flush_method")
        .is_some_and(|method| method.starts_with("O_DIRECT"));
    config.max_dirty_pages_pct = match globals.by_name("innodb_max_dirty_pages_pct") {
        Some(Setting::Float(pct)) => pct,
        _ => 90.0,
    };
    config.purge_threads = globals.u64("innodb_purge_threads") as usize;
    config.collator = collator();
    config.force_recovery = options.force_recovery(globals);
    config.discard_changes = options.discard_changes;
    let archive = options
        .get_or_default("tidemark_log_archive_dir")
        .unwrap_or_default();
    if !archive.is_empty() {
        let disk = RealDisk::open(Path::new(&archive)).map_err(|error| {
            SqlError::unknown(format!("cannot open tidemark_log_archive_dir {archive}: {error}"))
        })?;
        config.log_archive = Some(Arc::new(disk));
    }
    Ok(config)
}

/// What may help against an error at the start.
fn hint(error: &tidemark_engine::Error, force_recovery: u8) -> &'static str {
    use tidemark_engine::Error;
    match error {
        Error::Corrupt { .. } | Error::CannotOpen(_) if force_recovery < FORCE_RECOVERY_MAX => {
            ". `tidemark salvage` copies out what can be read; innodb_force_recovery=1 to 6 starts with ever less"
        }
        Error::InUse(_) => ": a server runs on it. Stop that, or give this one another --datadir",
        Error::Io(_) => ". --datadir names another directory; the server must be allowed to write there",
        Error::DiskFull => ". Make room, or give a directory on another disk as --datadir",
        _ => "",
    }
}

impl Database {
    /// Opens the data directory (recovering it if it was not shut down), creating it on first start; or, in its place, a
    /// disk. The monitor does not watch the engine yet: [`crate::open`] starts it.
    pub(crate) fn open(options: Options, disk: Option<Arc<dyn Disk>>) -> Result<Arc<Database>> {
        let globals = Globals::default();
        for (at, setting) in &options.given {
            globals.put(*at, setting.clone());
        }
        let datadir = options.datadir.display().to_string();
        globals.put_by_name("datadir", &format!("{}/", datadir.trim_end_matches('/')))?;
        let mut config = engine_config(&options, &globals)?;
        config.abort_on_log_failure = disk.is_none();
        config.disk = disk;
        let force_recovery = config.force_recovery;
        if force_recovery > 0 {
            log::warn!(
                "innodb_force_recovery is {force_recovery}: what is damaged is gone round, and rows are not changed"
            );
        }
        let engine = Engine::open(config).map_err(|error| {
            SqlError::unknown(format!(
                "cannot open {datadir}: {error}{}",
                hint(&error, force_recovery)
            ))
        })?;
        let dictionary = Dictionary::load(&engine, Arc::new(Locks::default()))?;
        dictionary.drop_unfinished(&engine)?;
        let statistics = Statistics::load(&engine)?;
        let accounts = Accounts::load(&engine)?;
        let components = Components::load(&engine)?;
        let log_capacity = globals.u64("innodb_redo_log_capacity");
        crate::variables::persist::load(&engine, &globals, |at| {
            options.given.iter().any(|(given, _)| *given == at)
        })?;
        let digests_max = globals.u64("performance_schema_digests_size") as usize;
        let database = Arc::new(Database {
            engine,
            dictionary,
            accounts,
            resources: Resources::default(),
            hosts: Hosts::default(),
            logs: Logs::default(),
            modes: Modes::default(),
            stop: Mutex::new(None),
            reload_tls: Mutex::new(None),
            globals,
            given: options.given,
            sessions: Mutex::new(BTreeMap::new()),
            counters: Counters::default(),
            counted_before: Mutex::default(),
            waited_before: Mutex::default(),
            deadlocks: Deadlocks::default(),
            history_warning: Mutex::default(),
            digests: Digests::new(digests_max),
            spans: Spans::default(),
            errors: Errors::default(),
            setup: Setup::new(command::KINDS),
            long_history: LongHistory::default(),
            statement_accounts: StatementAccounts::default(),
            tls: Mutex::default(),
            components,
            statement_timer: Timer::default(),
            traffic_before: TrafficBefore::default(),
            public_key: OnceLock::new(),
            own_work: Process::of_server(),
            pool_resize: PoolResize::default(),
            statistics,
            started: Tick::now(),
        });
        database.modes.force_recovery(u64::from(force_recovery));
        database.adopt_sizes(log_capacity)?;
        database.begin()?;
        Ok(database)
    }

    /// Puts in place what the variables say, once they are known.
    fn begin(self: &Arc<Database>) -> Result<()> {
        let globals = &self.globals;
        let on = |name| globals.by_name(name).is_some_and(|setting| setting.as_bool());
        if on("super_read_only") {
            globals.put_by_name("read_only", "ON")?;
        }
        let hostname = globals.by_name("hostname").map(|setting| setting.to_string());
        let hostname = hostname.unwrap_or_default();
        for (name, ending) in [("general_log_file", ""), ("slow_query_log_file", "-slow")] {
            if globals
                .by_name(name)
                .is_none_or(|file| file.to_string().is_empty())
            {
                globals.put_by_name(name, &format!("{hostname}{ending}.log"))?;
            }
        }
        if let Err(error) = self.logs.adopt(globals) {
            log::error!(
                "{}. It is off; once the cause is gone, SET GLOBAL general_log = ON or slow_query_log = ON switches it on",
                error.message
            );
            for name in ["general_log", "slow_query_log"] {
                if !self.logs.is_on(name) {
                    globals.put_by_name(name, "OFF")?;
                }
            }
        }
        if on("skip_grant_tables") {
            self.accounts.skip();
        }
        let mandatory = globals.by_name("mandatory_roles").map(|names| names.to_string());
        let mandatory = mandatory.unwrap_or_default();
        let ids = roles::parse_names(&mandatory)
            .ok_or_else(|| SqlError::wrong_value_for_variable("mandatory_roles", &mandatory));
        let ids = match ids {
            Err(error) if !self.is_given("mandatory_roles") => {
                log::error!("what SET PERSIST has stored is left out: {}", error.message);
                globals.put_by_name("mandatory_roles", "")?;
                Vec::new()
            }
            ids => ids?,
        };
        self.accounts.set_mandatory_roles(ids);
        for mode in ["read_only", "super_read_only", "offline_mode"] {
            self.modes.set(mode, on(mode));
        }
        self.deadlocks.set_print_all(on("innodb_print_all_deadlocks"));
        let collector = globals
            .by_name("tidemark_otlp_endpoint")
            .map(|url| url.to_string());
        if let Some(url) = collector.filter(|url| !url.is_empty()) {
            self.spans
                .start(&url)
                .map_err(|why| SqlError::unknown(format!("tidemark_otlp_endpoint = {url}: {why}")))?;
        }
        self.engine.set_deadlock_detect(on("innodb_deadlock_detect"));
        // Given to the engine when it was opened, but what SET PERSIST has stored was not known then.
        self.engine
            .set_flush_at_trx_commit(globals.u64("innodb_flush_log_at_trx_commit") as u8);
        if let Some(Setting::Float(pct)) = globals.by_name("innodb_max_dirty_pages_pct") {
            self.engine.set_max_dirty_pages_pct(pct);
        }
        let flush_every = Duration::from_secs(globals.u64("innodb_flush_log_at_timeout"));
        self.engine.set_flush_log_every(flush_every);
        self.engine.set_scrub_rate(globals.u64("tidemark_scrub_rate"));
        let seen = Arc::downgrade(self);
        self.engine.set_on_damage(move |damage| {
            if let Some(database) = seen.upgrade() {
                database.tell_of_damage(damage);
            }
        });
        Ok(())
    }

    /// A damaged page goes to the log, with its table's name.
    fn tell_of_damage(&self, damage: &Damage) {
        let table = damage.table.and_then(|id| self.dictionary.table_by_id(id));
        let of = match table {
            Some(table) => format!("of table {}.{}", table.schema, table.name),
            None => "whose table is not known".to_owned(),
        };
        log::error!(
            "page {}, {of}, is damaged on the disk. What is in it cannot be read once it is needed: restore a backup, or save the rest \
             of the table",
            damage.page
        );
    }

    /// The engine that holds all tables.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Names and definitions.
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// What is known of the rows of a table.
    pub fn statistics_of(&self, table: TableId) -> Option<Arc<TableStatistics>> {
        self.statistics.of(&self.engine, table)
    }

    /// The server's system variables.
    pub fn globals(&self) -> &Globals {
        &self.globals
    }

    /// What SHOW STATUS counts above the engine.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The account that a user name and a client's host (an IP address, or `localhost` for a socket) select.
    pub fn account(&self, user: &str, host: &str) -> Option<AccountAuth> {
        let account = self.accounts.find_for(user, host);
        account.map(|account| account.auth.clone())
    }

    /// The plugin that a login of a name without an account is asked to go on with.
    pub fn plugin_of_unknown(&self, user: &str) -> AuthPlugin {
        self.accounts.plugin_of_unknown(user)
    }

    /// Whether a password that was sent is the account's, and whether it is its second one; at the same price for every account,
    /// and for none.
    pub fn prove_password(&self, account: Option<&AccountAuth>, password: &[u8]) -> (bool, bool) {
        self.accounts.prove(account, password)
    }

    /// What the account may do everywhere.
    pub fn global_privileges(&self, account: &AccountAuth) -> Privileges {
        self.full_account(&account.user, &account.host).global
    }

    /// From where logins have failed.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// True if the account is still there, and its secret is what it was when a login began.
    pub fn is_current(&self, account: &AccountAuth) -> bool {
        self.accounts.is_current(account)
    }

    /// A login's password was right or wrong. Error 3955 if too many wrong ones have locked the account.
    pub fn note_login(&self, account: &AccountAuth, host: &str, right: bool) -> Result<()> {
        let account = self.full_account(&account.user, &account.host);
        self.accounts.attempts.note(&account, host, right)
    }

    /// Whether an account's password must be changed before anything else is done.
    pub fn is_password_expired(&self, account: &AccountAuth) -> bool {
        let account = self.full_account(&account.user, &account.host);
        account.is_password_expired(self.variable_u64("default_password_lifetime"), now_s())
    }

    /// Remembers SHA256(SHA256(password)) of an account that has just proved to know the password.
    pub fn remember_digest(&self, account: &AccountAuth, digest: [u8; 32]) {
        self.accounts.cache_digest(account, digest);
    }

    /// The account of exactly this name and host, with its privileges; without privileges if it is gone.
    pub fn full_account(&self, user: &str, host: &str) -> Arc<Account> {
        self.accounts
            .of_session(user, host)
            .unwrap_or_else(|| Arc::new(Account::new(user, host)))
    }

    /// Whether the account has SYSTEM_USER, or may have it by one of its roles.
    pub fn is_system_user(&self, user: &str, host: &str) -> bool {
        let account = self.full_account(user, host);
        let granted = self.accounts.granted_roles(&account).into_keys();
        let roles = self.accounts.with_their_roles(granted);
        Rights::new(account, roles)
            .global
            .contains(Privileges::SYSTEM_USER)
    }

    /// The number of sessions.
    pub fn session_count(&self) -> usize {
        self.sessions.lock().len()
    }

    /// Whether there is a session of this connection.
    pub fn has_session(&self, id: u64) -> bool {
        self.sessions.lock().contains_key(&id)
    }

    /// The global value of a system variable, as SHOW prints it.
    pub fn variable(&self, name: &str) -> Option<String> {
        self.globals.by_name(name).map(|setting| setting.to_string())
    }

    /// The global value of a numeric system variable; 0 if it has none.
    pub fn variable_u64(&self, name: &str) -> u64 {
        self.globals.u64(name)
    }

    /// Sets what only the server knows: `port`, `socket`, `bind_address`, `have_ssl`…
    pub fn set_variable_at_start(&self, name: &str, value: &str) -> Result<()> {
        self.globals.put_by_name(name, value)
    }

    /// Ends a connection, or only the statement it is running.
    pub fn kill(&self, connection_id: u64, query_only: bool) -> Result<()> {
        let process = self.sessions.lock().get(&connection_id).cloned();
        let Some(process) = process else {
            let message = format!("Unknown thread id: {connection_id}");
            return Err(SqlError::new(er::NO_SUCH_THREAD, message));
        };
        process.kill(query_only);
        self.dictionary.locks().wake_all();
        Ok(())
    }

    /// What SHUTDOWN is to do: stop the server around this database.
    pub fn on_shutdown(&self, stop: impl Fn() + Send + 'static) {
        *self.stop.lock() = Some(Box::new(stop));
    }

    /// SHUTDOWN. Error 1235 without a server that could be stopped.
    pub fn request_shutdown(&self) -> Result<()> {
        match &*self.stop.lock() {
            Some(stop) => stop(),
            None => return Err(SqlError::not_supported("SHUTDOWN of an embedded database")),
        }
        Ok(())
    }

    /// What ALTER INSTANCE RELOAD TLS is to do: read certificates and settings anew. Told whether the present ones stay if
    /// that fails; returns why it failed.
    pub fn on_reload_tls(
        &self,
        reload: impl Fn(&Database, bool) -> std::result::Result<(), String> + Send + 'static,
    ) {
        *self.reload_tls.lock() = Some(Box::new(reload));
    }

    /// ALTER INSTANCE RELOAD TLS. Error 3888 if the certificates cannot be had, 1235 without a server that speaks TLS.
    pub fn reload_tls(&self, keep_on_error: bool) -> Result<()> {
        match &*self.reload_tls.lock() {
            Some(reload) => reload(self, keep_on_error).map_err(|why| SqlError::tls_failed(&why)),
            None => Err(SqlError::not_supported(
                "ALTER INSTANCE RELOAD TLS of a server that was started without TLS",
            )),
        }
    }

    /// Ends the sessions of accounts that may not stay in `offline_mode`.
    pub fn end_ordinary_sessions(&self) {
        let sessions: Vec<Arc<Process>> = self.sessions.lock().values().cloned().collect();
        for process in sessions {
            let (user, host) = process.account();
            let account = self.full_account(&user, &host);
            if !account.global.intersects(Privileges::ADMINISTERS_CONNECTIONS) {
                process.kill(false);
            }
        }
        self.dictionary.locks().wake_all();
    }

    /// Ends all sessions' waits and closes the engine cleanly. The server has stopped accepting connections.
    pub fn shutdown(&self) -> Result<()> {
        for process in self.sessions.lock().values() {
            process.kill(false);
        }
        self.dictionary.locks().wake_all();
        self.statistics.thread.stop();
        Ok(self.engine.shutdown()?)
    }

    /// Puts a session into the process list, and counts its connection.
    pub fn add_session(&self, process: &Arc<Process>) {
        self.watch(process);
        let mut sessions = self.sessions.lock();
        sessions.insert(process.id, Arc::clone(process));
        *process.counted_as.lock() = self.connected_as(process);
        let now = sessions.len() as u64;
        self.counters.connections.fetch_add(1, Ordering::Relaxed);
        self.counters.note_connections(now);
    }

    /// A session has logged in: such of its events are collected as `setup_actors` says of its user and the host that it comes from.
    pub fn watch(&self, process: &Process) {
        let (user, host) = process.user_and_host();
        let [instrumented, history] = self.setup.actors.read().of_actor(&user, &host);
        process.watch(Watched::new(instrumented, history));
    }

    /// Counts a session's connection by its user and the host that it comes from.
    fn connected_as(&self, process: &Process) -> Option<(String, String)> {
        let (user, host) = process.user_and_host();
        self.statement_accounts.connect(&user, &host)
    }

    /// Takes a session out of the process list.
    pub fn remove_session(&self, id: u64) {
        let mut sessions = self.sessions.lock();
        if let Some(process) = sessions.remove(&id) {
            self.counted_before.lock().take(&process.counters);
            self.traffic_before.forget(id);
            let account = process.counted_as.lock().take();
            self.statement_accounts
                .disconnect(&account, |sums| process.add_to(sums));
            let mut before = self.waited_before.lock();
            for (sum, wait) in before.iter_mut().zip(Wait::ALL) {
                sum.add(&process.waits.of(wait));
            }
        }
    }

    /// A session counts from 0 again; its thread calls this.
    pub fn count_anew(&self, session: &Process) {
        let _sessions = self.sessions.lock();
        self.counted_before.lock().take(&session.counters);
        self.traffic_before.forget(session.id);
    }

    /// What all sessions, and threads in the background, have waited for since the start.
    pub fn waited(&self, wait: Wait) -> WaitSum {
        let sessions = self.sessions.lock();
        let mut sum = self.waited_before.lock()[wait as usize];
        sessions
            .values()
            .for_each(|process| sum.add(&process.waits.of(wait)));
        sum.add(&waits::background().of(wait));
        sum
    }

    /// Opens the files of all logs again, so that the old ones can be moved away.
    pub fn flush_logs(&self) -> Result<()> {
        log::logger().flush();
        self.logs.adopt(&self.globals)
    }

    /// True if a variable was given at the start, not stored by SET PERSIST.
    pub fn is_given(&self, name: &str) -> bool {
        find(name).is_some_and(|at| self.given(at).is_some())
    }

    /// True if a variable has a value that SET PERSIST has stored.
    pub fn is_stored(&self, name: &str) -> bool {
        let stored = persist::kept(&self.engine).unwrap_or_default();
        !self.is_given(name) && stored.iter().any(|(stored, _)| stored == name)
    }

    /// The value that a variable was given at the start, by its position in the registry.
    pub fn given(&self, at: usize) -> Option<&Setting> {
        let mut given = self.given.iter().rev();
        given.find(|(given, _)| *given == at).map(|(_, setting)| setting)
    }

    /// Seconds since the start.
    pub fn uptime_s(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// What all sessions have counted since the start.
    pub fn totals(&self) -> Totals {
        let sessions = self.sessions.lock();
        let mut totals = self.counted_before.lock().clone();
        sessions
            .values()
            .for_each(|process| totals.add(&process.counters));
        totals
    }
}

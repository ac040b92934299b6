//! A database server without the network: one engine, its dictionary, its accounts and its sessions.

use crate::accounts::{Account, AccountAuth, Accounts};
use crate::dictionary::Dictionary;
use crate::error::{Result, SqlError, er};
use crate::mdl::Locks;
use crate::monitor::{self, Deadlocks};
use crate::session::process::Process;
use crate::session::timer::Timer;
use crate::session::{ConnectInfo, Session};
use crate::types::collation::SqlCollator;
use crate::variables::{DEFS, Globals, OLD_OPTION_NAMES, Setting, find};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tidemark_engine::{Collator, Config, Engine, Striped};

/// What a server is started with: where the data lives, and the system variables given on the command line or in
/// `my.cnf`, already checked against the registry.
#[derive(Clone, Debug)]
pub struct Options {
    pub datadir: PathBuf,
    given: Vec<(usize, Setting)>,
    warnings: Vec<String>,
}

impl Options {
    /// Checks `name = value` pairs (dashes or underscores, `loose-` allowed, K/M/G suffixes) against the registry of
    /// system variables. An unknown name or a bad value is an error that names it.
    pub fn from_pairs(
        datadir: PathBuf,
        pairs: impl IntoIterator<Item = (String, Option<String>)>,
    ) -> Result<Options, String> {
        let mut options = Options {
            datadir,
            given: Vec::new(),
            warnings: Vec::new(),
        };
        for (name, value) in pairs {
            options.add(&name, value)?;
        }
        Ok(options)
    }

    fn add(&mut self, written: &str, value: Option<String>) -> Result<(), String> {
        let name = written
            .trim_start_matches("--")
            .replace('-', "_")
            .to_ascii_lowercase();
        let (loose, name) = match name.strip_prefix("loose_") {
            Some(rest) => (true, rest.to_owned()),
            None => (false, name),
        };
        let mut value = value.unwrap_or_default();
        let old = OLD_OPTION_NAMES.iter().find(|(old, _)| *old == name);
        let mut found = find(old.map_or(name.as_str(), |(_, new)| new));
        if found.is_none() {
            // `skip-x` and `disable-x` switch x off, `enable-x` switches it on.
            for (prefix, on) in [("skip_", "OFF"), ("disable_", "OFF"), ("enable_", "ON")] {
                if let Some(rest) = name.strip_prefix(prefix) {
                    found = find(rest);
                    value = on.to_owned();
                }
            }
        }
        let Some(at) = found else {
            let message = format!("unknown variable '{written}={value}'");
            if loose {
                self.warnings.push(format!("{message} is ignored"));
                return Ok(());
            }
            return Err(message);
        };
        let def = &DEFS[at];
        let setting = Setting::parse(def, &value).map_err(|error| error.message)?;
        if let Some(why) = def.unused {
            self.warnings
                .push(format!("'{}' is accepted but does nothing: {why}", def.name));
        }
        self.given.push((at, setting));
        Ok(())
    }

    /// What the log should say at start: options that are accepted but have nothing to act on.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The value given for a variable, if any.
    pub fn get(&self, name: &str) -> Option<String> {
        let at = find(name)?;
        let found = self.given.iter().rev().find(|(given, _)| *given == at);
        found.map(|(_, setting)| setting.to_string())
    }

    /// The value given for a variable, or its default.
    pub fn get_or_default(&self, name: &str) -> Option<String> {
        let at = find(name)?;
        Some(self.get(name).unwrap_or_else(|| DEFS[at].default.to_owned()))
    }
}

/// The collator that every engine under SQL tables is opened with, also to check a data directory.
pub fn collator() -> Arc<dyn Collator> {
    Arc::new(SqlCollator)
}

/// Counters of the SQL floor, for SHOW STATUS.
#[derive(Default)]
pub struct Counters {
    pub connections: AtomicU64,
    pub max_used_connections: AtomicU64,
    pub aborted_clients: AtomicU64,
    pub aborted_connects: AtomicU64,
    pub slow_queries: AtomicU64,
    pub traffic: Striped<Traffic>,
}

/// What every statement counts.
#[derive(Default)]
pub struct Traffic {
    pub questions: AtomicU64,
    pub commands: [AtomicU64; crate::session::command::COUNT],
    pub bytes_received: AtomicU64,
    pub bytes_sent: AtomicU64,
}

pub struct Database {
    pub(crate) engine: Engine,
    dictionary: Dictionary,
    pub(crate) accounts: Accounts,
    pub(crate) globals: Globals,
    pub(crate) sessions: Mutex<BTreeMap<u64, Arc<Process>>>,
    pub(crate) counters: Counters,
    pub(crate) deadlocks: Deadlocks,
    pub(crate) statement_timer: Timer,
    pub(crate) started: Instant,
}

impl Database {
    /// Opens the data directory (recovering it if it was not shut down), creating it on first start.
    pub fn open(options: Options) -> Result<Arc<Database>> {
        let globals = Globals::default();
        for (at, setting) in &options.given {
            globals.put(*at, setting.clone());
        }
        let datadir = options.datadir.display().to_string();
        globals.put_by_name("datadir", &format!("{}/", datadir.trim_end_matches('/')))?;
        let mut config = Config::new(&options.datadir);
        config.buffer_pool_bytes = globals.u64("innodb_buffer_pool_size");
        config.log_capacity_bytes = log_capacity(&options, &globals);
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
        let engine = Engine::open(config)
            .map_err(|error| SqlError::unknown(format!("cannot open {datadir}: {error}")))?;
        let dictionary = Dictionary::load(&engine, Arc::new(Locks::default()))?;
        let accounts = Accounts::load(&engine)?;
        crate::variables::persist::load(&engine, &globals, |at| {
            options.given.iter().any(|(given, _)| *given == at)
        })?;
        let database = Arc::new(Database {
            engine,
            dictionary,
            accounts,
            globals,
            sessions: Mutex::new(BTreeMap::new()),
            counters: Counters::default(),
            deadlocks: Deadlocks::default(),
            statement_timer: Timer::default(),
            started: Instant::now(),
        });
        monitor::watch_deadlocks(&database);
        monitor::history::watch(&database);
        monitor::history::apply(&database);
        let globals = &database.globals;
        let on = |name| globals.by_name(name).is_some_and(|setting| setting.as_bool());
        database.deadlocks.set_print_all(on("innodb_print_all_deadlocks"));
        database.engine.set_deadlock_detect(on("innodb_deadlock_detect"));
        Ok(database)
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The server's system variables.
    pub fn globals(&self) -> &Globals {
        &self.globals
    }

    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The account that a user name and a client's host (an IP address, or `localhost` for a socket) select.
    pub fn account(&self, user: &str, host: &str) -> Option<AccountAuth> {
        let account = self.accounts.find_for(user, host);
        account.map(|account| account.auth.clone())
    }

    /// Remembers SHA256(SHA256(password)) of an account that has just proved to know the password.
    pub fn remember_digest(&self, account: &AccountAuth, digest: [u8; 32]) {
        self.accounts.cache_digest(&account.user, &account.host, digest);
    }

    pub(crate) fn full_account(&self, user: &str, host: &str) -> Arc<Account> {
        self.accounts
            .get(user, host)
            .unwrap_or_else(|| Arc::new(Account::new(user, host)))
    }

    /// Begins a session for a client that has proved who it is.
    pub fn connect(self: &Arc<Self>, info: ConnectInfo) -> Result<Session> {
        Session::new(Arc::clone(self), info)
    }

    /// The number of sessions.
    pub fn session_count(&self) -> usize {
        self.sessions.lock().len()
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

    /// Ends all sessions' waits and closes the engine cleanly. The server has stopped accepting connections.
    pub fn shutdown(&self) -> Result<()> {
        for process in self.sessions.lock().values() {
            process.kill(false);
        }
        self.dictionary.locks().wake_all();
        Ok(self.engine.shutdown()?)
    }

    pub(crate) fn add_session(&self, process: &Arc<Process>) {
        let mut sessions = self.sessions.lock();
        sessions.insert(process.id, Arc::clone(process));
        let now = sessions.len() as u64;
        self.counters.connections.fetch_add(1, Ordering::Relaxed);
        self.counters
            .max_used_connections
            .fetch_max(now, Ordering::Relaxed);
    }

    pub(crate) fn remove_session(&self, id: u64) {
        self.sessions.lock().remove(&id);
    }
}

/// `innodb_redo_log_capacity`, or what the older pair of options comes to.
fn log_capacity(options: &Options, globals: &Globals) -> u64 {
    let old = options.get("innodb_log_file_size").is_some();
    if old && options.get("innodb_redo_log_capacity").is_none() {
        return globals.u64("innodb_log_file_size") * globals.u64("innodb_log_files_in_group");
    }
    globals.u64("innodb_redo_log_capacity")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Result<Options, String> {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.to_string(), Some(value.to_string())));
        Options::from_pairs(PathBuf::from("data"), pairs)
    }

    #[test]
    fn the_configuration_of_the_2010_study_is_accepted() {
        let options = options(&[
            ("innodb_buffer_pool_size", "2000M"),
            ("innodb_log_file_size", "100M"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_thread_concurrency", "0"),
            ("max_connections", "2000"),
            ("table_cache", "2000"),
            ("innodb-max-dirty-pages-pct", "80"),
            ("transaction_isolation", "READ-COMMITTED"),
        ])
        .unwrap();
        assert_eq!(
            options.get("innodb_buffer_pool_size").unwrap(),
            (2000u64 << 20).to_string()
        );
        assert_eq!(
            options
                .get("transaction-isolation".replace('-', "_").as_str())
                .unwrap(),
            "READ-COMMITTED"
        );
        assert_eq!(options.warnings().len(), 2);
        assert!(options.warnings()[1].contains("table_cache"));
    }

    #[test]
    fn unknown_options_are_errors_unless_loose() {
        assert!(
            options(&[("inodb_buffer_pool_size", "1G")])
                .unwrap_err()
                .contains("inodb_buffer_pool_size")
        );
        assert!(options(&[("max_connections", "many")]).is_err());
        let loose = options(&[("loose-inodb_buffer_pool_size", "1G"), ("skip-log-bin", "")]).unwrap();
        assert_eq!(loose.warnings().len(), 2);
    }
}

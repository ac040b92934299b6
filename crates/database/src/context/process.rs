//! What other sessions see of a session, and what they can do to it: the process list and KILL.

use super::client::Client;
use super::counters::SessionCounters;
use super::deadlocks::Deadlock;
use crate::parse::conceal;
use crate::statements::accounts::{self, Kinds};
use crate::statements::errors::OwnErrors;
use crate::statements::history::{Ended, History};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;
use tidemark_engine::waits::Waits;
use tidemark_engine::{Interrupt, Lsn};

/// A session as the process list and KILL know it. Shared with all other sessions.
pub struct Process {
    /// CONNECTION_ID().
    pub id: u64,
    /// User, and `host:port` or `localhost` for a socket; COM_CHANGE_USER changes them.
    user: Mutex<(String, String)>,
    /// Its account, which may have another name and host.
    account: Mutex<(String, String)>,
    attributes: Mutex<Arc<[(String, String)]>>,
    /// When the session began.
    pub connected: Instant,
    /// Set by KILL CONNECTION, for good.
    killed: AtomicBool,
    /// Ends the running statement; also wakes the engine's lock waits.
    interrupt: Arc<Interrupt>,
    client: Option<Arc<dyn Client>>,
    current: Mutex<Current>,
    /// What it counts for SHOW STATUS.
    pub counters: SessionCounters,
    /// What it has waited for.
    pub waits: Arc<Waits>,
    /// With which errors its statements ended.
    pub errors: OwnErrors,
    /// The operating system's number for the thread that serves it; 0 if none does yet.
    pub os_thread: AtomicU64,
    /// What its statements did, by kind.
    pub kinds: Arc<Kinds>,
    /// What its connection is counted as.
    pub counted_as: Mutex<accounts::Account>,
    /// The open transaction is READ ONLY.
    pub read_only: AtomicBool,
    /// The number under which the engine knows its transactions.
    owner: u64,
    /// The latest deadlock that it was chosen to end.
    victim_of: Mutex<Option<Arc<Deadlock>>>,
    /// The numbers of those that its statement has beside them, to read what its own would not.
    beside: Mutex<Vec<u64>>,
}

/// What the session is doing.
pub struct Current {
    pub command: &'static str,
    pub since: Instant,
    pub schema: Option<String>,
    /// The statement's text, passwords and all; its buffer is used again by the next one.
    statement: Vec<u8>,
    pub running: bool,
    /// How far a long statement is; empty: nothing is said of it.
    pub doing: String,
    /// The statements before.
    pub history: History,
    /// The latest view that outlived the statement that opened it.
    view: Lsn,
    /// The beginning of that statement's text, passwords and all.
    view_opened_by: Vec<u8>,
}

/// Of a longer statement that opens a view so much is kept.
const OPENED_BY_LEN_MAX: usize = 4096;

impl Current {
    /// The statement's text as it may be shown: without passwords.
    pub fn text(&self) -> Cow<'_, [u8]> {
        conceal(&self.statement)
    }

    /// The statement's text, passwords and all, to be parsed.
    pub fn statement(&self) -> &[u8] {
        &self.statement
    }

    /// No more of it than so many bytes, which is found as fast however long the statement is.
    pub fn beginning(&self, len_max: usize) -> Cow<'_, [u8]> {
        conceal(&self.statement[..self.statement.len().min(len_max)])
    }

    /// The statement that opened the session's view at this position, as it may be shown; `None` if that is not known.
    pub fn opener(&self, view: Lsn) -> Option<Cow<'_, [u8]>> {
        match self.view == view {
            true => Some(conceal(&self.view_opened_by)),
            false => self.running.then(|| self.beginning(OPENED_BY_LEN_MAX)),
        }
    }
}

impl Process {
    /// A session that runs nothing. `owner` is the engine's number for it, `interrupt` ends the engine's waits for it.
    pub fn new(
        id: u64,
        user: &str,
        host: String,
        owner: u64,
        interrupt: Arc<Interrupt>,
        client: Option<Arc<dyn Client>>,
    ) -> Process {
        Process {
            id,
            user: Mutex::new((user.to_owned(), host)),
            account: Mutex::default(),
            attributes: Mutex::default(),
            connected: Instant::now(),
            killed: AtomicBool::new(false),
            interrupt,
            client,
            current: Mutex::new(Current {
                command: "Sleep",
                since: Instant::now(),
                schema: None,
                statement: Vec::new(),
                running: false,
                doing: String::new(),
                history: History::default(),
                view: Lsn::ZERO,
                view_opened_by: Vec::new(),
            }),
            counters: SessionCounters::default(),
            waits: Arc::default(),
            errors: OwnErrors::default(),
            os_thread: AtomicU64::new(0),
            kinds: Arc::default(),
            counted_as: Mutex::default(),
            read_only: AtomicBool::new(false),
            owner,
            victim_of: Mutex::default(),
            beside: Mutex::default(),
        }
    }

    /// The numbers under which the engine knows its transactions.
    pub fn owners(&self) -> Vec<u64> {
        let mut owners = vec![self.owner];
        owners.extend_from_slice(&self.beside.lock());
        owners
    }

    /// Its transaction has been chosen to end this deadlock.
    pub fn note_victim(&self, deadlock: &Arc<Deadlock>) {
        *self.victim_of.lock() = Some(Arc::clone(deadlock));
    }

    /// The latest deadlock that it was chosen to end; each is told once.
    pub fn take_deadlock(&self) -> Option<Arc<Deadlock>> {
        self.victim_of.lock().take()
    }

    /// Does something with a transaction of that number beside the session's own.
    pub fn beside<T>(&self, owner: u64, f: impl FnOnce() -> T) -> T {
        self.beside.lock().push(owner);
        let done = f();
        self.beside.lock().retain(|other| *other != owner);
        done
    }

    /// User name, and `host:port`, or `localhost` for a socket.
    pub fn user(&self) -> (String, String) {
        self.user.lock().clone()
    }

    /// User and host pattern of the account.
    pub fn account(&self) -> (String, String) {
        self.account.lock().clone()
    }

    /// Notes the account that a login or COM_CHANGE_USER selected.
    pub fn set_account(&self, user: &str, host: &str) {
        *self.account.lock() = (user.to_owned(), host.to_owned());
    }

    /// Notes what the client calls itself, and its address.
    pub fn set_user(&self, user: &str, host: &str) {
        *self.user.lock() = (user.to_owned(), host.to_owned());
    }

    /// Notes what the client says of itself.
    pub fn set_attributes(&self, attributes: &[(String, String)]) {
        *self.attributes.lock() = attributes.into();
    }

    /// What the client says of itself: names and values.
    pub fn attributes(&self) -> Arc<[(String, String)]> {
        Arc::clone(&self.attributes.lock())
    }

    /// KILL QUERY or KILL CONNECTION: interrupts the statement that runs; the latter also ends the session.
    pub fn kill(&self, query_only: bool) {
        if !query_only {
            self.killed.store(true, Ordering::SeqCst);
        }
        // A statement that is not running cannot be interrupted; the next one is not meant. Under the lock, lest the one
        // that is running ends in between.
        let current = self.current.lock();
        if !query_only || current.running {
            self.interrupt.kill();
        }
        drop(current);
        if !query_only && let Some(client) = &self.client {
            client.wake();
        }
    }

    /// Asked while a statement waits: a session whose client has left is as good as killed.
    pub fn end_if_abandoned(&self) {
        if !self.is_killed() && self.client.as_ref().is_some_and(|client| client.is_gone()) {
            self.kill(false);
        }
    }

    /// What interrupts the session's waits in the engine.
    pub fn interrupt(&self) -> Arc<Interrupt> {
        Arc::clone(&self.interrupt)
    }

    /// Killed for good.
    #[inline]
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Relaxed)
    }

    /// The running statement is to end.
    #[inline]
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.is_killed()
    }

    /// Notes that a statement begins, and returns when: at `arrived`, if that is known. `command` is its kind in the process list,
    /// such as `Query`.
    pub fn begin(&self, command: &'static str, statement: &[u8], arrived: Option<Instant>) -> Instant {
        let now = arrived.unwrap_or_else(Instant::now);
        let mut current = self.current.lock();
        current.command = command;
        current.since = now;
        current.running = true;
        current.statement.clear();
        current.statement.extend_from_slice(statement);
        now
    }

    /// Notes that the statement that runs has opened a view which outlives it.
    pub fn note_view(&self, view: Lsn) {
        let current = &mut *self.current.lock();
        current.view = view;
        current.view_opened_by.clear();
        let kept = current.statement.len().min(OPENED_BY_LEN_MAX);
        current
            .view_opened_by
            .extend_from_slice(&current.statement[..kept]);
    }

    /// Notes that the view that was [noted](Process::note_view) is closed.
    pub fn forget_view(&self) {
        self.current.lock().view = Lsn::ZERO;
    }

    /// Notes that the statement has ended, and what is to be kept of it.
    pub fn end(&self, now: Instant, ended: Option<&mut Ended>) {
        let mut current = self.current.lock();
        if matches!(current.command, "Query" | "Execute") {
            self.counters.add_statement(now.duration_since(current.since));
        }
        current.command = "Sleep";
        current.since = now;
        current.running = false;
        if let Some(ended) = ended {
            let Current {
                history, statement, ..
            } = &mut *current;
            history.add(ended, statement);
        }
        self.forget_interrupt();
    }

    /// Notes the end of a statement of several in one text.
    pub fn end_one_of_several(&self, ended: &mut Ended, text: &[u8]) {
        let kept = text.len().min(crate::statements::history::TEXT_LENGTH_MAX);
        let mut text = text[..kept].to_vec();
        self.current.lock().history.add(ended, &mut text);
    }

    /// Forgets the statements before.
    pub fn forget_history(&self) {
        self.current.lock().history.clear();
    }

    /// What was to interrupt the last statement is no concern of the next, unless the session is killed for good.
    pub fn forget_interrupt(&self) {
        if self.interrupt.is_killed() && !self.is_killed() {
            self.interrupt.reset();
        }
    }

    /// Notes the current database.
    pub fn set_schema(&self, schema: Option<&str>) {
        self.current.lock().schema = schema.map(str::to_owned);
    }

    /// Says how far the statement is; empty: nothing is said of it.
    pub fn set_doing(&self, doing: String) {
        self.current.lock().doing = doing;
    }

    /// Shows the current state to `f`.
    pub fn with_current<T>(&self, f: impl FnOnce(&Current) -> T) -> T {
        f(&self.current.lock())
    }
}

/// A session at one moment.
#[derive(Clone)]
pub struct SessionSnapshot {
    /// CONNECTION_ID().
    pub id: u64,
    /// The user name as the client gave it.
    pub user: String,
    /// `host:port`, or `localhost` for a socket.
    pub host: String,
    /// Kind of command, as in the process list; `Sleep` between statements.
    pub command: &'static str,
    /// The number of its statement in the server, as `performance_schema` has it.
    pub statement_id: u64,
    /// What it is running.
    pub statement: Option<String>,
}

/// A number that no other statement in the server has: that of the session, and its own there.
pub fn statement_id(session: u64, own: u64) -> u64 {
    session << 32 | own
}

impl SessionSnapshot {
    /// What the session is doing now.
    pub fn of(process: &Process) -> SessionSnapshot {
        let (user, host) = process.user();
        process.with_current(|current| SessionSnapshot {
            id: process.id,
            user,
            host,
            command: current.command,
            statement_id: statement_id(process.id, current.history.next_id()),
            statement: current
                .running
                .then(|| String::from_utf8_lossy(&current.text()).into_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_session_loses_nothing_to_kill_query() {
        let interrupt = Arc::new(Interrupt::default());
        let process = Process::new(1, "u", "h".to_owned(), 1, Arc::clone(&interrupt), None);
        process.kill(true);
        assert!(!process.is_interrupted());
        process.begin("Query", b"SELECT 1", None);
        process.kill(true);
        assert!(process.is_interrupted());
        process.end(Instant::now(), None);
        assert!(!process.is_interrupted());
        process.kill(false);
        process.end(Instant::now(), None);
        assert!(process.is_interrupted() && process.is_killed());
    }
}

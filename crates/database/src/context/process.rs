//! What other sessions see of a session, and what they can do to it: the process list and KILL.

use super::client::{Client, ClientSocket};
use super::counters::SessionCounters;
use super::deadlocks::Deadlock;
use crate::accounts::Encryption;
use crate::parse::conceal;
use crate::statements::accounts::{self, AccountSums, Kinds};
use crate::statements::errors::OwnErrors;
use crate::statements::history::{Ended, History, OwnTransaction, Place, Said};
use crate::statements::long::{LongStatement, Told};
use crate::statements::prepared::Instance;
use crate::statements::setup::{Consumer, Instrument, Watched};
use crate::statements::stages::{Running, Stage, Stages};
use crate::statements::transactions::{Begun, Over, TransactionEvent, Transactions};
use parking_lot::{Mutex, MutexGuard};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;
use tidemark_engine::waits::{Wait, Waits};
use tidemark_engine::{COUNTED, Interrupt, Isolation, Lsn, SpoolOwner, Tick};

/// A session as the process list and KILL know it. Shared with all other sessions.
pub struct Process {
    /// CONNECTION_ID().
    pub id: u64,
    /// User, and `host:port` or `localhost` for a socket; COM_CHANGE_USER changes them.
    user: Mutex<(String, String)>,
    /// Its account, which may have another name and host.
    account: Mutex<(String, String)>,
    attributes: Mutex<Arc<[(String, String)]>>,
    /// What TLS has agreed on; `None`: the connection is not encrypted.
    encryption: Mutex<Option<Encryption>>,
    /// When the session began.
    pub connected: Instant,
    /// Set by KILL CONNECTION, for good.
    killed: AtomicBool,
    /// Which of its events are collected: [`Watched`].
    watched: AtomicU8,
    /// Ends the running statement; also wakes the engine's lock waits.
    interrupt: Arc<Interrupt>,
    client: Option<Arc<dyn Client>>,
    current: Mutex<Current>,
    /// What it counts for SHOW STATUS.
    pub counters: SessionCounters,
    /// What it has waited for.
    pub waits: Arc<Waits>,
    /// The rows that its statements put aside.
    pub spools: SpoolOwner,
    /// With which errors its statements ended.
    pub errors: OwnErrors,
    /// The operating system's number for the thread that serves it; 0 if none does yet.
    pub os_thread: AtomicU64,
    /// That thread's place among those whose memory is told; 0 if it has none.
    pub memory_place: AtomicU32,
    /// What its statements did, by kind.
    pub kinds: Arc<Kinds>,
    /// Its prepared statements, by number.
    prepared: Mutex<BTreeMap<u64, Arc<Instance>>>,
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

/// A longer text of a statement is not kept for its memory.
const SHOWN_KEPT_MAX: usize = 64 << 10;

/// What the session is doing.
pub struct Current {
    pub command: &'static str,
    pub since: Tick,
    pub schema: Option<String>,
    /// The statement's text, passwords and all; its buffer is used again by the next one.
    statement: Vec<u8>,
    pub running: bool,
    /// How far a long statement is; empty: nothing is said of it.
    pub doing: String,
    /// The statements before.
    pub history: History,
    /// The number of the transaction that was open when the statement began.
    pub transaction: Option<NonZeroU64>,
    /// Its transactions.
    pub transactions: Transactions,
    /// The parts of its statements' work.
    pub stages: Stages,
    /// The latest view that outlived the statement that opened it.
    view: Lsn,
    /// The beginning of that statement's text, passwords and all.
    view_opened_by: Vec<u8>,
}

/// The number of the server's own work among those of connections, which are counted from the next one on.
pub const SERVER_ID: u64 = 1;

/// How long a work must have gone on for its end to be foreseen.
const FORESEEN_FROM_S: u64 = 3;

/// Of a longer statement that opens a view so much is kept.
const OPENED_BY_LEN_MAX: usize = 4096;

impl Current {
    /// Shows a statement's text: the beginning of one for which there is no room twice.
    fn show(&mut self, text: &[u8]) {
        self.statement.clear();
        let is_small = text.len() <= SHOWN_KEPT_MAX;
        let fits = is_small || tidemark_memory::hold(text.len() as u64).is_ok();
        let shown = match fits && self.statement.try_reserve(text.len()).is_ok() {
            true => text.len(),
            false => text.len().min(SHOWN_KEPT_MAX),
        };
        self.statement.extend_from_slice(&text[..shown]);
    }

    /// A session that waits for its client does not keep a long text.
    fn give_back(&mut self) {
        if self.statement.capacity() > SHOWN_KEPT_MAX {
            self.statement = Vec::new();
        }
    }

    /// The statement's text as it may be shown: without passwords.
    pub fn text(&self) -> Cow<'_, [u8]> {
        conceal(&self.statement)
    }

    /// The statement's transaction and its last stage are over. Always inlined, as [`Current::keep`], for the sake of
    /// [`Process::end`], through which each statement goes; the other callers are rare.
    #[inline(always)]
    fn end_events(&mut self, now: Tick, over: Option<&Over>, told: Told) {
        if self.history.has_transactions() {
            self.settle_transactions();
        }
        if self.stages.running.is_some() {
            self.stages.end(now, told);
        }
        if let Some(over) = over {
            let history = &mut self.history;
            self.transactions
                .end((over, now), || (history.id_within(), history.next_id()), told);
        }
    }

    /// The transactions that are kept with the last statements become events.
    #[cold]
    fn settle_transactions(&mut self) {
        let recent = &mut self.transactions.recent;
        self.history
            .take_transactions(|event| *recent.slot(true, TransactionEvent::none) = event);
    }

    /// What is told of a statement that began at a moment and was a transaction of its own, if that may be kept with it.
    #[inline(always)]
    fn own_transaction(&self, began: Tick, over: Option<&Over>, told: Told) -> Option<OwnTransaction> {
        let over = over.filter(|_| told.collected.is_usual())?;
        let (at, isolation, read_only) = over.alone?;
        let is_its_own = at == began && self.transaction.is_none();
        let may_be_kept = is_its_own && self.history.may_have_transaction() && self.stages.running.is_none();
        may_be_kept.then_some(OwnTransaction {
            isolation,
            read_only,
            committed: over.committed,
        })
    }

    /// Keeps a statement that is over, with its own text if it is said where that is, else with what it is the last statement of.
    #[inline(always)]
    fn keep(&mut self, ended: &mut Ended, said: Option<Said>, told: Told) {
        let place = Place {
            transaction: self.transaction,
            is_kept: told.collected.has(Consumer::StatementsHistory),
        };
        let said = said.unwrap_or(Said::Here(&mut self.statement));
        self.history.add(ended, said, place);
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
            account: Mutex::new((user.to_owned(), host.clone())),
            user: Mutex::new((user.to_owned(), host)),
            attributes: Mutex::default(),
            encryption: Mutex::default(),
            connected: Instant::now(),
            killed: AtomicBool::new(false),
            watched: AtomicU8::new(Watched::FULLY.bits()),
            interrupt,
            client,
            current: Mutex::new(Current {
                command: "Sleep",
                since: Tick::now(),
                schema: None,
                statement: Vec::new(),
                running: false,
                doing: String::new(),
                history: History::default(),
                transaction: None,
                transactions: Transactions::default(),
                stages: Stages::default(),
                view: Lsn::ZERO,
                view_opened_by: Vec::new(),
            }),
            counters: SessionCounters::default(),
            waits: Arc::new(Waits::of_session(id)),
            spools: SpoolOwner::bounded(),
            errors: OwnErrors::default(),
            os_thread: AtomicU64::new(0),
            memory_place: AtomicU32::new(0),
            kinds: Arc::default(),
            prepared: Mutex::default(),
            counted_as: Mutex::default(),
            read_only: AtomicBool::new(false),
            owner,
            victim_of: Mutex::default(),
            beside: Mutex::default(),
        }
    }

    /// The server's own work: no session, and without transactions.
    pub fn of_server() -> Process {
        Process::new(SERVER_ID, "system user", String::new(), 0, Arc::default(), None)
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

    /// User name, and the host that it comes from.
    pub fn user_and_host(&self) -> (String, String) {
        let (user, mut address) = self.user();
        if let Some(end) = address.rfind(':') {
            address.truncate(end);
        }
        (user, address)
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

    /// Notes what TLS has agreed on.
    pub fn set_encryption(&self, encryption: Option<Encryption>) {
        *self.encryption.lock() = encryption;
    }

    /// What TLS has agreed on.
    pub fn encryption(&self) -> Option<Encryption> {
        self.encryption.lock().clone()
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

    /// The client's socket; `None` if there is no client.
    pub fn socket(&self) -> Option<ClientSocket> {
        self.client.as_ref().map(|client| client.socket())
    }

    /// Which of its events are collected.
    #[inline]
    pub fn watched(&self) -> Watched {
        Watched::of_bits(self.watched.load(Ordering::Relaxed))
    }

    /// Such of its events are collected from now on.
    pub fn watch(&self, watched: Watched) {
        self.watched.store(watched.bits(), Ordering::Relaxed);
        self.waits.watch(watched.is_instrumented(), watched.has_history());
    }

    /// What interrupts the session's waits in the engine.
    pub fn interrupt(&self) -> Arc<Interrupt> {
        Arc::clone(&self.interrupt)
    }

    /// The same, for a look.
    #[inline]
    pub fn interrupt_ref(&self) -> &Arc<Interrupt> {
        &self.interrupt
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
    pub fn begin(&self, command: &'static str, statement: &[u8], arrived: Option<Tick>) -> Tick {
        let now = arrived.unwrap_or_else(Tick::now);
        let mut current = self.current.lock();
        current.command = command;
        current.since = now;
        current.running = true;
        current.show(statement);
        current.transaction = current.transactions.open.map(|open| open.id);
        if COUNTED {
            self.counters.approach();
            current.history.recent.approach();
        }
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

    /// Notes that the statement has ended, what is to be kept of it and where its text is, if not here, and the end of the transaction
    /// that ended with it.
    pub fn end(
        &self,
        now: Tick,
        ended: Option<(&mut Ended, Option<NonZeroU64>)>,
        over: Option<&Over>,
        told: Told,
    ) {
        let current = &mut *self.current.lock();
        current.command = "Sleep";
        current.since = now;
        current.running = false;
        let Some((ended, prepared)) = ended else {
            current.end_events(now, over, told);
            current.history.pass_within();
            current.give_back();
            return self.forget_interrupt();
        };
        if let Some(own) = current.own_transaction(ended.began, over, told) {
            current.transactions.count(own.read_only, ended.figures.nanos);
            ended.own_transaction = Some(own);
            let said = prepared.map_or(Said::Here(&mut current.statement), Said::Prepared);
            let txn = over.and_then(|over| over.txn);
            current.history.add_with_transaction(ended, said, txn);
            ended.own_transaction = None;
        } else {
            current.end_events(now, over, told);
            current.keep(ended, prepared.map(Said::Prepared), told);
            if told.collected.has(Consumer::StatementsHistoryLong) {
                self.tell_long(current, told);
            }
        }
        current.give_back();
        self.forget_interrupt();
    }

    /// Notes the end of a statement of several in one text.
    #[cold]
    pub fn end_one_of_several(&self, ended: &mut Ended, text: &[u8], told: Told) {
        let kept = text.len().min(crate::statements::history::TEXT_LENGTH_MAX);
        let mut text = text[..kept].to_vec();
        let current = &mut *self.look();
        current.keep(ended, Some(Said::Here(&mut text)), told);
        if told.collected.has(Consumer::StatementsHistoryLong) {
            self.tell_long(current, told);
        }
        current.transaction = current.transactions.open.map(|open| open.id);
    }

    /// The last statement goes into the history of all sessions.
    #[cold]
    fn tell_long(&self, current: &mut Current, told: Told) {
        self.settle(&mut current.history);
        if let Some(event) = current.history.recent.last() {
            let statement = LongStatement {
                event: event.clone(),
                schema: current.schema.clone(),
            };
            told.long.statements.push(told.session, statement);
        }
    }

    /// The last statements have their texts.
    fn settle(&self, history: &mut History) {
        // Of the two locks, that of what the session is doing is taken first everywhere.
        let prepared = self.prepared.lock();
        history.settle(|number| prepared.get(&number.get()).map(|one| Arc::clone(&one.text)));
    }

    /// Shows the current state to `f`, with the last statements and their texts.
    pub fn with_statements<T>(&self, f: impl FnOnce(&Current) -> T) -> T {
        let current = &mut *self.look();
        self.settle(&mut current.history);
        f(current)
    }

    /// The current state for somebody who looks at it, with the last transactions.
    fn look(&self) -> MutexGuard<'_, Current> {
        let mut current = self.current.lock();
        if current.history.has_transactions() {
            current.settle_transactions();
        }
        current
    }

    /// Notes the end of a transaction, before its statement's.
    #[cold]
    pub fn end_transaction(&self, over: &Over, at: Tick, told: Told) {
        self.current.lock().end_events(at, Some(over), told);
    }

    /// Notes that a transaction of more than one statement has begun.
    pub fn open_transaction(&self, isolation: Isolation, read_only: bool) {
        let current = &mut *self.current.lock();
        current.transactions.open = Some(Begun {
            id: current.history.id_within(),
            statement: current.history.next_id(),
            at: current.since,
            isolation,
            read_only,
            autocommit: false,
            savepoints: 0,
            rolled_back_to: 0,
            released: 0,
        });
    }

    /// Changes what is known of the open transaction.
    pub fn with_open_transaction(&self, f: impl FnOnce(&mut Begun)) {
        if let Some(open) = &mut self.current.lock().transactions.open {
            f(open);
        }
    }

    /// Notes that the statement comes to a stage, or how far it is in the one that it is in; `None`: the last is over.
    pub fn enter_stage(&self, stage: Option<Stage>, work: Option<(u64, u64)>, told: Told) {
        let current = &mut *self.current.lock();
        if let (Some(running), Some(stage)) = (&mut current.stages.running, stage)
            && running.stage == stage
        {
            running.work = work;
            return;
        }
        let now = Tick::now();
        current.stages.end(now, told);
        let Some(stage) = stage.filter(|stage| told.counts(Instrument::Stage(*stage))) else {
            return;
        };
        current.stages.running = Some(Running {
            id: current.history.id_within().get(),
            statement: current.history.next_id(),
            stage,
            since: now,
            work,
        });
    }

    /// Changes what is kept of its events.
    pub fn with_events(&self, f: impl FnOnce(&mut Current)) {
        f(&mut self.look());
    }

    /// What was to interrupt the last statement is no concern of the next, unless the session is killed for good.
    pub fn forget_interrupt(&self) {
        if self.interrupt.is_killed() && !self.is_killed() {
            self.interrupt.reset();
        }
    }

    /// Lists a prepared statement until [`Process::unlist_prepared`].
    pub fn list_prepared(&self, instance: &Arc<Instance>) {
        self.prepared.lock().insert(instance.id, Arc::clone(instance));
    }

    /// A prepared statement is gone; its text stays with the last statements.
    pub fn unlist_prepared(&self, id: u64) {
        let mut current = self.current.lock();
        let gone = self.prepared.lock().remove(&id);
        if let (Some(number), Some(gone)) = (NonZeroU64::new(id), gone) {
            current.history.keep_text(number, &gone.text);
        }
    }

    /// The prepared statements.
    pub fn prepared(&self) -> Vec<Arc<Instance>> {
        self.prepared.lock().values().cloned().collect()
    }

    /// Notes the current database.
    pub fn set_schema(&self, schema: Option<&str>) {
        self.current.lock().schema = schema.map(str::to_owned);
    }

    /// Adds what it has counted until now to the sums of its account.
    pub fn add_to(&self, sums: &mut AccountSums) {
        accounts::add_all(&mut sums.before, &self.kinds.totals());
        for (sum, wait) in sums.waited.iter_mut().zip(Wait::ALL) {
            sum.add(&self.waits.shown(wait));
        }
        self.with_current(|current| {
            for (sum, more) in sums.transactions.iter_mut().zip(&current.transactions.sums) {
                sum.add(more);
            }
            for (stage, more) in current.stages.sums() {
                sums.stages.entry(stage).or_default().add(&more);
            }
        });
    }

    /// Says in the process list how far the statement is, and how long it will take yet, as far as that can be told. Of 0: so many
    /// bytes of a number that is not known.
    pub fn set_doing(&self, stage: Stage, done: u64, of: u64) {
        let current = &mut *self.current.lock();
        if of == 0 {
            current.doing = format!("{}: {} MiB", stage.state(), done >> 20);
            return;
        }
        let percent = u128::from(done.min(of)) * 100 / u128::from(of);
        let since = current.stages.running.filter(|running| running.stage == stage);
        let took = since.map_or(0, |running| running.since.elapsed().as_secs());
        let yet = u128::from(took) * u128::from(of.saturating_sub(done)) / u128::from(done.max(1));
        current.doing = match took >= FORESEEN_FROM_S && done > 0 {
            true => format!("{}: {percent}%, {yet} s left", stage.state()),
            false => format!("{}: {percent}%", stage.state()),
        };
    }

    /// Nothing is said of the statement any more.
    pub fn clear_doing(&self) {
        self.current.lock().doing.clear();
    }

    /// Shows the current state to `f`.
    pub fn with_current<T>(&self, f: impl FnOnce(&Current) -> T) -> T {
        f(&self.look())
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
    /// The name of its account, which it has proved.
    pub account: String,
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
            account: process.account().0,
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
    use crate::statements::long::LongHistory;
    use crate::statements::setup::Setup;
    use tidemark_testing::Random;

    fn process(interrupt: &Arc<Interrupt>) -> Process {
        Process::new(1, "u", "h".to_owned(), 1, Arc::clone(interrupt), None)
    }

    fn told<'a>(setup: &'a Setup, long: &'a LongHistory) -> Told<'a> {
        Told {
            session: 1,
            setup,
            collected: setup.collected(Watched::FULLY),
            long,
        }
    }

    fn end(process: &Process) {
        let (setup, long) = (Setup::new(1), LongHistory::default());
        process.end(Tick::now(), None, None, told(&setup, &long));
    }

    /// What is shown of the last statements and transactions.
    fn events(process: &Process) -> String {
        process.with_statements(|current| {
            let statements = current.history.recent.history();
            let statements: Vec<_> = statements
                .map(|event| (event.id, event.ended.began, event.transaction()))
                .collect();
            let transactions: Vec<_> = current.transactions.recent.history().collect();
            format!("{statements:?} {transactions:?}")
        })
    }

    /// Of two sessions that do the same, one keeps transactions of one statement with the statement, and one does not, since the history
    /// of all sessions is to have them. Whoever looks, at whatever moment, sees the same of both.
    #[test]
    fn transactions_kept_with_their_statements_are_shown_as_others() {
        let interrupt = Arc::default();
        let (usual, apart) = (process(&interrupt), process(&interrupt));
        let setups = [Setup::new(1), Setup::new(1)];
        setups[1].switch(Consumer::TransactionsHistoryLong, true);
        let long = LongHistory::default();
        let mut random = Random::new(5);
        let mut at = Tick::default();
        for number in 1..20_000 {
            let (before, began) = (at, Tick::now());
            at = Tick::now();
            let over = |alone| Over {
                txn: NonZeroU64::new(number % 3 * number),
                committed: number % 5 > 0,
                alone,
            };
            let is_kept = !random.one_in(20);
            // Stretches of autocommitted statements, with others between them.
            let kind = random.below(if number / 40 % 2 == 0 { 40 } else { 5 });
            // The transaction of an earlier statement is told of with this one, or this is one of several.
            let (is_late, is_of_several) = (random.one_in(20), random.one_in(20));
            let looks = random.one_in(30);
            for (process, setup) in [&usual, &apart].into_iter().zip(&setups) {
                let told = told(setup, &long);
                process.begin("Query", b"", Some(began));
                let alone = if is_late { before } else { began };
                let over = match kind {
                    0 => None,
                    1 => {
                        process.open_transaction(Isolation::ReadCommitted, true);
                        None
                    }
                    2 => Some(over(None)),
                    _ => Some(over(Some((alone, Isolation::RepeatableRead, number % 2 == 0)))),
                };
                let mut ended = Ended::none();
                ended.began = began;
                ended.figures.nanos = at.nanos_since(began);
                if is_of_several {
                    process.end_one_of_several(&mut ended, b"", told);
                }
                let kept = is_kept.then_some((&mut ended, None));
                process.end(at, kept, over.as_ref(), told);
                if looks && number % 2 == 0 {
                    process.with_events(|current| current.history.recent.forget_history());
                }
            }
            if looks {
                assert_eq!(events(&usual), events(&apart), "{number}");
            }
        }
        let sums = |process: &Process| process.with_current(|current| current.transactions.sums);
        assert_eq!(sums(&usual), sums(&apart));
    }

    #[test]
    fn an_idle_session_loses_nothing_to_kill_query() {
        let interrupt = Arc::new(Interrupt::default());
        let process = process(&interrupt);
        process.kill(true);
        assert!(!process.is_interrupted());
        process.begin("Query", b"SELECT 1", None);
        process.kill(true);
        assert!(process.is_interrupted());
        end(&process);
        assert!(!process.is_interrupted());
        process.kill(false);
        end(&process);
        assert!(process.is_interrupted() && process.is_killed());
    }
}

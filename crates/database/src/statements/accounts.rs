//! What the sessions of each user and host did, by kind of statement, and how many of them there were.
//!
//! A session counts for itself ([`Kinds`]); what it has counted is added to its account's sums when it is over. There is room for
//! [`ACCOUNTS_MAX`] pairs of user and host: connections from more are counted, with what they did, as of nobody.

use super::digests::Local;
use super::figures::{Figures, Sums, Totals};
use super::stages::Stage;
use super::transactions::TransactionSums;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_engine::waits::{Wait, WaitSum};

/// Pairs of user and host that are told apart.
pub const ACCOUNTS_MAX: usize = 10_000;

/// What one session did, by kind of statement: the sums of its meters, and what those had counted that are gone.
#[derive(Debug, Default)]
pub struct Kinds(Mutex<OfSession>);

#[derive(Debug, Default)]
struct OfSession {
    meters: Vec<(usize, Arc<Local>)>,
    before: ByKind,
}

impl Kinds {
    /// A meter of that kind of statement begins to count.
    pub(super) fn begin(&self, kind: usize, local: &Arc<Local>) {
        self.0.lock().meters.push((kind, Arc::clone(local)));
    }

    /// A meter counts no more.
    pub(super) fn end(&self, kind: usize, local: &Arc<Local>) {
        let mut own = self.0.lock();
        let meters = own.meters.len();
        own.meters.retain(|(_, other)| !Arc::ptr_eq(other, local));
        // One that is not listed has counted before all began anew.
        if own.meters.len() < meters {
            let totals = local.totals();
            own.before.entry(kind).or_default().add(&totals);
        }
    }

    /// Begins anew; its meters are to be replaced. A statement that ends meanwhile may be lost.
    pub fn begin_anew(&self) {
        let mut own = self.0.lock();
        own.meters.drain(..).for_each(|(_, local)| local.retire());
        own.before.clear();
    }

    /// Counts a statement that has no meter.
    pub fn add(&self, kind: usize, figures: &Figures) {
        let sums = Sums::default();
        sums.add(figures);
        let totals = Totals::of(&sums);
        self.0.lock().before.entry(kind).or_default().add(&totals);
    }

    /// The sums of all kinds that it has run.
    pub fn totals(&self) -> ByKind {
        let own = self.0.lock();
        let mut all = own.before.clone();
        for (kind, local) in &own.meters {
            all.entry(*kind).or_default().add(&local.totals());
        }
        all.retain(|_, totals| totals.count > 0);
        all
    }
}

/// Sums by kind of statement.
pub type ByKind = BTreeMap<usize, Totals>;

/// Adds sums to others.
pub fn add_all(to: &mut ByKind, more: &ByKind) {
    for (kind, totals) in more {
        to.entry(*kind).or_default().add(totals);
    }
}

/// A user and a host; none: what has found no room.
pub type Account = Option<(String, String)>;

/// What is known of a user and host.
#[derive(Clone, Debug, Default)]
pub struct AccountSums {
    /// Connections there are.
    pub connected: u64,
    /// Connections there have been.
    pub connections: u64,
    /// What those that are over did.
    pub before: ByKind,
    /// What those that are over have waited for.
    pub waited: [WaitSum; Wait::ALL.len()],
    /// What their transactions took.
    pub transactions: TransactionSums,
    /// What the stages of their statements took.
    pub stages: BTreeMap<Stage, WaitSum>,
}

impl AccountSums {
    /// Adds another's.
    pub fn add(&mut self, other: &AccountSums) {
        self.connected += other.connected;
        self.connections += other.connections;
        add_all(&mut self.before, &other.before);
        for (sum, more) in self.waited.iter_mut().zip(&other.waited) {
            sum.add(more);
        }
        for (sum, more) in self.transactions.iter_mut().zip(&other.transactions) {
            sum.add(more);
        }
        for (stage, more) in &other.stages {
            self.stages.entry(*stage).or_default().add(more);
        }
    }
}

/// By user and host.
#[derive(Debug, Default)]
pub struct Accounts(Mutex<BTreeMap<Account, AccountSums>>);

impl Accounts {
    /// Counts a connection; returns what it is to be counted as at its end.
    pub fn connect(&self, user: &str, host: &str) -> Account {
        let mut accounts = self.0.lock();
        let own = Some((user.to_owned(), host.to_owned()));
        let account = match accounts.len() < ACCOUNTS_MAX || accounts.contains_key(&own) {
            true => own,
            false => None,
        };
        let sums = accounts.entry(account.clone()).or_default();
        sums.connected += 1;
        sums.connections += 1;
        account
    }

    /// A connection is over; `add` adds what its session has counted until now, which stays with the account.
    pub fn disconnect(&self, account: &Account, add: impl FnOnce(&mut AccountSums)) {
        if let Some(sums) = self.0.lock().get_mut(account) {
            sums.connected = sums.connected.saturating_sub(1);
            add(sums);
        }
    }

    /// Forgets those that have no connection, and counts the others from what they have now.
    pub fn forget_gone(&self) {
        let mut all = self.0.lock();
        all.retain(|_, sums| sums.connected > 0);
        all.values_mut()
            .for_each(|sums| sums.connections = sums.connected);
    }

    /// Changes what is known of each.
    pub fn for_each(&self, f: impl FnMut(&mut AccountSums)) {
        self.0.lock().values_mut().for_each(f);
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<Account, AccountSums> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_session_did_stays_with_its_account() {
        let accounts = Accounts::default();
        let account = accounts.connect("u", "h");
        let kinds = Kinds::default();
        kinds.add(1, &Figures::default());
        accounts.disconnect(&account, |sums| {
            add_all(&mut sums.before, &kinds.totals());
            sums.waited[Wait::RowLock as usize].count_one(7);
        });
        let all = accounts.all();
        let sums = &all[&account];
        assert_eq!(
            (sums.connected, sums.connections, sums.before[&1].count),
            (0, 1, 1)
        );
        assert_eq!(sums.waited[Wait::RowLock as usize].nanos, 7);
    }

    #[test]
    fn accounts_without_connections_are_forgotten() {
        let accounts = Accounts::default();
        let gone = accounts.connect("gone", "h");
        accounts.disconnect(&gone, |_| {});
        for _ in 0..2 {
            let over = accounts.connect("u", "h");
            accounts.disconnect(&over, |_| {});
        }
        accounts.connect("u", "h");
        accounts.forget_gone();
        let all = accounts.all();
        assert_eq!(all.len(), 1);
        assert_eq!(all[&Some(("u".to_owned(), "h".to_owned()))].connections, 1);
    }

    #[test]
    fn accounts_are_bounded() {
        let accounts = Accounts::default();
        for n in 0..ACCOUNTS_MAX + 5 {
            accounts.connect("u", &n.to_string());
        }
        let all = accounts.all();
        assert_eq!(all.len(), ACCOUNTS_MAX + 1);
        assert_eq!(all[&None].connections, 5);
    }
}

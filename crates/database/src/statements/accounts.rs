//! What the sessions of each user and host did, by kind of statement, and how many of them there were.
//!
//! A session counts for itself ([`Kinds`]); what it has counted is added to its account's sums when it is over. There is room for
//! [`ACCOUNTS_MAX`] pairs of user and host: connections from more are counted, with what they did, as of nobody.

use super::figures::{Sums, Totals};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Pairs of user and host that are told apart.
pub const ACCOUNTS_MAX: usize = 10_000;

/// Sums by kind of statement, of one session. Those of a kind that it never ran take no room.
#[derive(Debug)]
pub struct Kinds(Box<[OnceLock<Box<Sums>>]>);

impl Kinds {
    /// For so many kinds.
    pub fn new(kinds: usize) -> Kinds {
        Kinds((0..kinds).map(|_| OnceLock::new()).collect())
    }

    /// The sums of a kind, to be added to by the session's thread alone.
    #[inline]
    pub fn of(&self, kind: usize) -> Option<&Sums> {
        let sums = self.0.get(kind)?;
        Some(sums.get_or_init(Box::default))
    }

    /// The sums of all kinds that it has run.
    pub fn totals(&self) -> ByKind {
        let sums = self.0.iter().enumerate();
        sums.filter_map(|(kind, sums)| Some((kind, Totals::of(sums.get()?))))
            .collect()
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

    /// A connection is over, or belongs to another account now. `did` is what its session has counted until now.
    pub fn disconnect(&self, account: &Account, did: &ByKind) {
        if let Some(sums) = self.0.lock().get_mut(account) {
            sums.connected = sums.connected.saturating_sub(1);
            add_all(&mut sums.before, did);
        }
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<Account, AccountSums> {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Figures;
    use super::*;

    #[test]
    fn what_a_session_did_stays_with_its_account() {
        let accounts = Accounts::default();
        let account = accounts.connect("u", "h");
        let kinds = Kinds::new(3);
        kinds.of(1).unwrap().add(&Figures::default());
        assert!(kinds.of(3).is_none());
        accounts.disconnect(&account, &kinds.totals());
        let all = accounts.all();
        let sums = &all[&account];
        assert_eq!(
            (sums.connected, sums.connections, sums.before[&1].count),
            (0, 1, 1)
        );
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

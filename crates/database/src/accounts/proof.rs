//! A password that a stranger sends is compared at the same price whatever the account is, so that the time of an answer
//! does not tell accounts apart: those with other plugins, a second password, fewer rounds or no password at all, and
//! names without an account.
//!
//! The price is that of the dearest account. What an account costs less is hashed for nothing.

use super::password::{self, caching_sha2_matches, caching_sha2_rounds, native_string};
use super::{Account, AccountAuth, AuthPlugin};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What all accounts together have strangers see.
#[derive(Default)]
pub(super) struct Disguise {
    /// The rounds of the dearest account.
    rounds: AtomicU32,
    /// Some account has `mysql_native_password`.
    has_native: AtomicBool,
    names: RandomState,
}

impl Disguise {
    /// The accounts have changed.
    pub fn note(&self, accounts: &[Arc<Account>]) {
        let rounds = accounts.iter().map(|account| rounds(&account.auth)).max();
        let rounds = rounds
            .unwrap_or(0)
            .clamp(password::ROUNDS, 2 * password::ROUNDS_MAX);
        self.rounds.store(rounds, Ordering::Relaxed);
        let is_native = |account: &Arc<Account>| account.auth.plugin == AuthPlugin::MysqlNativePassword;
        self.has_native
            .store(accounts.iter().any(is_native), Ordering::Relaxed);
    }

    /// The plugin that a name without an account seems to have: always the same while the server runs.
    pub fn plugin(&self, user: &str) -> AuthPlugin {
        match self.has_native.load(Ordering::Relaxed) && self.names.hash_one(user) & 1 == 1 {
            true => AuthPlugin::MysqlNativePassword,
            false => AuthPlugin::CachingSha2Password,
        }
    }

    /// Whether a password is the account's, and whether it is its second one. An account without a password has none that could
    /// be sent.
    pub fn prove(&self, account: Option<&AccountAuth>, password: &[u8]) -> (bool, bool) {
        let matches = |account: &AccountAuth, stored: &[u8]| match account.plugin {
            _ if stored.is_empty() || password.is_empty() => false,
            AuthPlugin::MysqlNativePassword => native_string(password) == stored,
            AuthPlugin::CachingSha2Password => caching_sha2_matches(stored, password),
        };
        let (proved, spent) = account.map_or(((false, false), 0), |account| {
            let present = matches(account, &account.auth_string);
            ((present, matches(account, &account.second)), rounds(account))
        });
        password::spend(
            password,
            self.rounds.load(Ordering::Relaxed).saturating_sub(spent),
        );
        proved
    }
}

/// The rounds that comparing with an account's passwords takes.
fn rounds(account: &AccountAuth) -> u32 {
    let stored = [&account.auth_string, &account.second];
    let rounds = stored.map(|stored| match account.plugin {
        AuthPlugin::CachingSha2Password => caching_sha2_rounds(stored).unwrap_or(0),
        AuthPlugin::MysqlNativePassword => 0,
    });
    rounds.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(plugin: AuthPlugin, password: &[u8]) -> Account {
        let mut account = Account::new("u", "%");
        account.set_password(plugin, password);
        account
    }

    /// Rounds are counted, not timed.
    #[test]
    fn every_account_and_none_takes_the_same_rounds() {
        let sha2 = account(AuthPlugin::CachingSha2Password, b"right");
        let native = account(AuthPlugin::MysqlNativePassword, b"right");
        let without = Account::new("u", "%");
        let mut two = sha2.clone();
        two.auth.second = password::caching_sha2_string(b"former");
        let mut few = sha2.clone();
        few.auth.auth_string[3..6].copy_from_slice(b"005");
        let all = [sha2, native, without, two, few];
        let disguise = Disguise::default();
        disguise.note(&all.clone().map(Arc::new));
        let spent = |account: Option<&AccountAuth>, text: &[u8]| {
            let before = password::rounds_done();
            let proved = disguise.prove(account, text);
            (proved, password::rounds_done() - before)
        };
        let work = 2 * password::ROUNDS as u64;
        assert_eq!(spent(None, b"wrong"), ((false, false), work));
        for (n, account) in all.iter().enumerate() {
            assert_eq!(
                spent(Some(&account.auth), b"wrong"),
                ((false, false), work),
                "{n}"
            );
        }
        assert_eq!(spent(Some(&all[0].auth), b"right"), ((true, false), work));
        assert_eq!(spent(Some(&all[1].auth), b"right"), ((true, false), work));
        assert_eq!(spent(Some(&all[3].auth), b"former"), ((false, true), work));
    }

    #[test]
    fn names_without_accounts_have_plugins_that_accounts_have() {
        let disguise = Disguise::default();
        let names = || (0..64).map(|n| disguise.plugin(&n.to_string()));
        assert!(names().all(|plugin| plugin == AuthPlugin::CachingSha2Password));
        disguise.note(&[Arc::new(account(AuthPlugin::MysqlNativePassword, b"x"))]);
        let native = names()
            .filter(|plugin| *plugin == AuthPlugin::MysqlNativePassword)
            .count();
        assert!((1..64).contains(&native), "{native}");
        assert!(names().eq(names()));
    }
}

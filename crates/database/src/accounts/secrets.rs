//! The passwords of an account over time: how long one serves, which former ones may not come back, and the one before the
//! present that may serve beside it (`RETAIN CURRENT PASSWORD`), so that an application's servers can be given a new password
//! one after the other.
//!
//! Former passwords are kept as they are stored, and only as many and as long as the account's rules, or the server's,
//! ask. Each takes a hash to compare with, which is why there are at most [`FORMER_MAX`].

use super::password::{caching_sha2_matches, native_string};
use super::{Account, AuthPlugin};
use crate::parse::ast::{Lifetime, LockTime};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many former passwords of an account are kept at most.
pub const FORMER_MAX: usize = 256;

const DAY_S: u64 = 24 * 60 * 60;

/// What CREATE USER and ALTER USER say of an account's passwords. `None`: the server's variable decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordRules {
    /// `PASSWORD EXPIRE`
    pub lifetime: Lifetime,
    /// `PASSWORD HISTORY`: so many changes later a password may come back.
    pub history: Option<u32>,
    /// `PASSWORD REUSE INTERVAL`: so many days later.
    pub reuse_days: Option<u32>,
    /// `PASSWORD REQUIRE CURRENT`: an account that changes its own password must give the present one.
    pub require_current: Option<bool>,
    /// `FAILED_LOGIN_ATTEMPTS`; 0: they are not counted.
    pub failed_attempts: u16,
    /// `PASSWORD_LOCK_TIME`
    pub lock_time: LockTime,
}

/// The rules of accounts that have none of their own: variables of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultRules {
    /// `password_history`
    pub history: u32,
    /// `password_reuse_interval`
    pub reuse_days: u32,
}

/// Seconds since 1970.
pub fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

impl Account {
    /// Whether the password is too old to be used, or was declared so.
    pub fn is_password_expired(&self, default_lifetime_days: u64, now_s: u64) -> bool {
        let days = match self.rules.lifetime {
            Lifetime::Default => default_lifetime_days,
            Lifetime::Never => 0,
            Lifetime::Days(days) => days as u64,
        };
        // Of a password set before the time was noted, the age is not known.
        let has_age = days > 0 && self.changed_at_s > 0;
        self.auth.expired || has_age && now_s >= self.changed_at_s.saturating_add(days * DAY_S)
    }

    /// The passwords, as they are stored, that the rules keep from coming back. Nothing keeps an empty one.
    pub fn kept_back(&self, defaults: DefaultRules, now_s: u64) -> impl Iterator<Item = &[u8]> {
        let kept = self.kept(defaults, now_s);
        let former = &self.former[self.former.len() - kept..];
        former.iter().map(|(_, stored)| &**stored)
    }

    /// Notes when the present password was set, and keeps it among the former ones while the rules ask for them.
    pub fn note_password(&mut self, defaults: DefaultRules, now_s: u64) {
        self.changed_at_s = now_s;
        let keeps = self.history(defaults) > 0 || self.reuse_days(defaults) > 0;
        if keeps && !self.auth.auth_string.is_empty() {
            self.former.push((now_s, self.auth.auth_string.clone()));
        }
        let kept = self.kept(defaults, now_s);
        self.former.drain(..self.former.len() - kept);
    }

    /// How many of the former passwords, the latest, the rules still ask for.
    fn kept(&self, defaults: DefaultRules, now_s: u64) -> usize {
        let young = |(set_s, _): &&(u64, Vec<u8>)| {
            now_s < set_s.saturating_add(self.reuse_days(defaults) as u64 * DAY_S)
        };
        let young = self.former.iter().rev().take_while(young).count();
        let counted = self.history(defaults) as usize;
        young.max(counted).min(FORMER_MAX).min(self.former.len())
    }

    fn history(&self, defaults: DefaultRules) -> u32 {
        self.rules.history.unwrap_or(defaults.history)
    }

    fn reuse_days(&self, defaults: DefaultRules) -> u32 {
        self.rules.reuse_days.unwrap_or(defaults.reuse_days)
    }
}

/// Whether what is stored is of this password, whichever the plugin.
pub fn is_of(stored: &[u8], password: &[u8]) -> bool {
    match AuthPlugin::of_stored(stored) {
        AuthPlugin::MysqlNativePassword => native_string(password) == stored,
        AuthPlugin::CachingSha2Password => caching_sha2_matches(stored, password),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(account: &mut Account, password: &str, defaults: DefaultRules, now_s: u64) -> bool {
        let text = password.as_bytes();
        if !text.is_empty()
            && account
                .kept_back(defaults, now_s)
                .any(|stored| is_of(stored, text))
        {
            return false;
        }
        account.set_password(AuthPlugin::MysqlNativePassword, password.as_bytes());
        account.note_password(defaults, now_s);
        true
    }

    #[test]
    fn a_password_comes_back_after_enough_changes_and_days() {
        let none = DefaultRules::default();
        let mut account = Account::new("u", "%");
        account.rules.history = Some(2);
        assert!(set(&mut account, "a", none, 1));
        assert!(!set(&mut account, "a", none, 2), "it is the present one");
        assert!(set(&mut account, "b", none, 3));
        assert!(!set(&mut account, "a", none, 4));
        assert!(set(&mut account, "c", none, 5));
        assert!(set(&mut account, "a", none, 6), "two changes later");
        assert!(set(&mut account, "", none, 7) && set(&mut account, "", none, 8));

        let days = DefaultRules {
            reuse_days: 2,
            ..none
        };
        let mut account = Account::new("u", "%");
        assert!(set(&mut account, "a", days, 0) && set(&mut account, "b", days, DAY_S));
        assert!(!set(&mut account, "a", days, 2 * DAY_S - 1));
        assert!(set(&mut account, "a", days, 2 * DAY_S));
        account.rules.reuse_days = Some(0);
        assert!(
            set(&mut account, "a", days, 2 * DAY_S),
            "the account's own rule comes first"
        );
        assert!(account.former.is_empty(), "what nobody asks for is not kept");
    }

    #[test]
    fn a_password_expires_by_age_or_by_word() {
        let mut account = Account::new("u", "%");
        account.changed_at_s = DAY_S;
        assert!(!account.is_password_expired(0, u64::MAX));
        let unknown = Account::new("u", "%");
        assert!(!unknown.is_password_expired(3, u64::MAX), "its age is not known");
        assert!(account.is_password_expired(3, 4 * DAY_S) && !account.is_password_expired(3, 4 * DAY_S - 1));
        account.rules.lifetime = Lifetime::Never;
        assert!(!account.is_password_expired(3, u64::MAX));
        account.rules.lifetime = Lifetime::Days(1);
        assert!(account.is_password_expired(0, 2 * DAY_S));
        account.rules.lifetime = Lifetime::Never;
        account.auth.expired = true;
        assert!(account.is_password_expired(0, 0));
    }
}

//! `FAILED_LOGIN_ATTEMPTS`: too many wrong passwords in a row lock an account for `PASSWORD_LOCK_TIME` days. As in MySQL the
//! counts are not stored: a restart, FLUSH PRIVILEGES, ACCOUNT UNLOCK and a change of either option forget them.
//!
//! Only accounts that count are here, so their number bounds the memory, whatever names logins give.

use super::{Account, AuthId, LockTime};
use crate::error::{SqlError, er};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The wrong passwords in a row of the accounts that count them.
#[derive(Default)]
pub struct Attempts {
    failed: Mutex<HashMap<AuthId, Failed>>,
}

/// What an account has counted.
#[derive(Clone, Copy, Debug)]
pub struct WrongPasswords {
    /// How many in a row.
    pub count: u32,
    /// For how long the account has been locked because of them; `None`: it is not.
    pub locked_for: Option<Duration>,
}

struct Failed {
    count: u32,
    locked_at: Option<Instant>,
}

impl Attempts {
    /// A password was right or wrong. Error 3955 if the account is locked, or has been by this very attempt.
    pub fn note(&self, account: &Account, host: &str, right: bool) -> Result<(), SqlError> {
        self.note_at(account, host, right, Instant::now())
    }

    fn note_at(&self, account: &Account, host: &str, right: bool, now: Instant) -> Result<(), SqlError> {
        let limit = account.rules.failed_attempts as u32;
        let lasts = match account.rules.lock_time {
            LockTime::None => return Ok(()),
            LockTime::Days(days) => Some(DAY * days as u32),
            LockTime::Unbounded => None,
        };
        if limit == 0 {
            return Ok(());
        }
        let mut all = self.failed.lock();
        if right && !all.contains_key(&account.id()) {
            return Ok(());
        }
        let failed = all.entry(account.id()).or_insert(Failed {
            count: 0,
            locked_at: None,
        });
        let over = |at: Instant| lasts.is_some_and(|lasts| now.saturating_duration_since(at) >= lasts);
        if failed.locked_at.is_some_and(over) {
            (failed.count, failed.locked_at) = (0, None);
        }
        if failed.locked_at.is_none() && !right {
            failed.count += 1;
            failed.locked_at = (failed.count >= limit).then_some(now);
        }
        match failed.locked_at {
            Some(at) => {
                let left = lasts.map(|lasts| lasts.saturating_sub(now.saturating_duration_since(at)));
                Err(locked(account, host, lasts, left))
            }
            None => {
                if right {
                    all.remove(&account.id());
                }
                Ok(())
            }
        }
    }

    /// Accounts with wrong passwords in a row, in the order of their names.
    pub fn all(&self) -> Vec<(AuthId, WrongPasswords)> {
        let failed = self.failed.lock();
        let of = |(id, failed): (&AuthId, &Failed)| {
            let wrong = WrongPasswords {
                count: failed.count,
                locked_for: failed.locked_at.map(|at| at.elapsed()),
            };
            (id.clone(), wrong)
        };
        let mut all: Vec<_> = failed.iter().map(of).collect();
        all.sort_by(|(a, _), (b, _)| (&a.user, &a.host).cmp(&(&b.user, &b.host)));
        all
    }

    /// The account begins anew.
    pub fn forget(&self, account: &AuthId) {
        self.failed.lock().remove(account);
    }

    /// All accounts begin anew.
    pub fn forget_all(&self) {
        self.failed.lock().clear();
    }
}

fn locked(account: &Account, host: &str, lasts: Option<Duration>, left: Option<Duration>) -> SqlError {
    let days = |time: Option<Duration>| match time {
        Some(time) => time.as_secs().div_ceil(DAY.as_secs()).to_string(),
        None => "unlimited".to_owned(),
    };
    SqlError::new(
        er::ACCOUNT_BLOCKED_BY_PASSWORD_LOCK,
        format!(
            "Access denied for user '{}'@'{host}'. Account is blocked for {} day(s) ({} day(s) remaining) due to {} \
             consecutive failed logins.",
            account.auth.user,
            days(lasts),
            days(left),
            account.rules.failed_attempts
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_passwords_in_a_row_lock_for_some_days() {
        let attempts = Attempts::default();
        let begin = Instant::now();
        let mut account = Account::new("u", "%");
        let after = |account: &Account, hours: u32, right| {
            let at = begin + Duration::from_secs(hours as u64 * 3600);
            attempts.note_at(account, "h", right, at).map_err(|e| e.message)
        };
        assert_eq!(after(&account, 0, false), Ok(()), "it does not count");
        account.rules.failed_attempts = 2;
        account.rules.lock_time = LockTime::Days(3);
        assert_eq!(after(&account, 0, false), Ok(()));
        assert_eq!(after(&account, 0, true), Ok(()));
        assert_eq!(after(&account, 0, false), Ok(()), "they are no longer in a row");
        let denied = |left| {
            Err(format!(
                "Access denied for user 'u'@'h'. Account is blocked for 3 day(s) ({left} day(s) remaining) due to 2 \
                 consecutive failed logins."
            ))
        };
        assert_eq!(after(&account, 0, false), denied(3));
        assert_eq!(
            after(&account, 30, true),
            denied(2),
            "a right password does not help"
        );
        assert_eq!(after(&account, 72, true), Ok(()));
        account.rules.lock_time = LockTime::Unbounded;
        assert_eq!(after(&account, 72, false), Ok(()));
        assert!(
            after(&account, 72, false)
                .unwrap_err()
                .contains("unlimited day(s) remaining")
        );
        assert!(after(&account, 10_000, true).is_err());
        attempts.forget(&account.id());
        assert_eq!(attempts.note_at(&account, "h", true, begin), Ok(()));
    }
}

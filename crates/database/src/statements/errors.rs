//! How often statements have ended with each error: by error, by user and host, and by open session.
//!
//! Only a statement that fails comes here, so a mutex for all of them does. There is room for [`SUMS_MAX`] pairs of an account and an
//! error; what comes beyond is counted as of nobody.

use super::accounts::Account;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Pairs of an account and an error that are told apart.
const SUMS_MAX: usize = 20_000;

/// One error: how often, and when first and last, in microseconds since 1970 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorSum {
    /// How often.
    pub count: u64,
    /// When for the first time.
    pub first_micros: i64,
    /// When for the last time.
    pub last_micros: i64,
}

impl ErrorSum {
    fn count_one(&mut self, micros: i64) {
        if self.count == 0 {
            self.first_micros = micros;
        }
        self.count += 1;
        self.last_micros = micros;
    }

    /// Adds another's.
    pub fn add(&mut self, other: &ErrorSum) {
        if other.count == 0 {
            return;
        }
        self.first_micros = match self.count {
            0 => other.first_micros,
            _ => self.first_micros.min(other.first_micros),
        };
        self.count += other.count;
        self.last_micros = self.last_micros.max(other.last_micros);
    }
}

/// Errors of all accounts.
#[derive(Debug, Default)]
pub struct Errors(Mutex<BTreeMap<(Account, u16), ErrorSum>>);

impl Errors {
    /// Counts one of that account.
    pub fn add(&self, account: &Account, code: u16, micros: i64) {
        let mut sums = self.0.lock();
        let key = (account.clone(), code);
        let key = match sums.len() < SUMS_MAX || sums.contains_key(&key) {
            true => key,
            false => (None, code),
        };
        sums.entry(key).or_default().count_one(micros);
    }

    /// All of them, by account and number.
    pub fn all(&self) -> BTreeMap<(Account, u16), ErrorSum> {
        self.0.lock().clone()
    }

    /// Begins anew.
    pub fn forget(&self) {
        self.0.lock().clear();
    }
}

/// Errors of one session.
#[derive(Debug, Default)]
pub struct OwnErrors(Mutex<BTreeMap<u16, ErrorSum>>);

impl OwnErrors {
    /// Counts one.
    pub fn add(&self, code: u16, micros: i64) {
        self.0.lock().entry(code).or_default().count_one(micros);
    }

    /// All of them, by number.
    pub fn all(&self) -> BTreeMap<u16, ErrorSum> {
        self.0.lock().clone()
    }

    /// Begins anew.
    pub fn forget(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_bounded_and_none_is_lost() {
        let errors = Errors::default();
        for n in 0..SUMS_MAX as i64 + 5 {
            errors.add(&Some(("u".to_owned(), n.to_string())), 1062, n);
        }
        let all = errors.all();
        assert_eq!(all.len(), SUMS_MAX + 1);
        let mut sum = ErrorSum::default();
        all.values().for_each(|other| sum.add(other));
        assert_eq!((sum.count, sum.first_micros), (SUMS_MAX as u64 + 5, 0));
    }
}

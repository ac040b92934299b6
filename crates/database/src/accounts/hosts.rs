//! Hosts from which connections fail: after `max_connect_errors` logins in a row that were broken off or did not keep to
//! the protocol, the host is not heard any more until `FLUSH HOSTS`. A login that succeeds clears its host's count.
//!
//! The machine itself is never blocked, as in MySQL.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many hosts are remembered; beyond that, the one with the fewest errors is forgotten.
const HOSTS_MAX: usize = 4096;

/// From where logins have failed.
#[derive(Default)]
pub struct Hosts {
    /// By host: the errors in a row, and whether they were too many.
    errors: Mutex<HashMap<String, Errors>>,
    /// The number of hosts in `errors`, so that a login from elsewhere needs no lock.
    count: AtomicUsize,
}

#[derive(Default)]
struct Errors {
    in_a_row: u64,
    blocked: bool,
}

impl Hosts {
    /// Whether nothing from the host is to be heard.
    pub fn is_blocked(&self, host: &str) -> bool {
        self.count.load(Ordering::Relaxed) > 0
            && self.errors.lock().get(host).is_some_and(|errors| errors.blocked)
    }

    /// A connection from the host was broken off before it had logged in; `max` is `max_connect_errors`.
    pub fn failed(&self, host: &str, max: u64) {
        if host == "localhost" {
            return;
        }
        let mut hosts = self.errors.lock();
        if hosts.len() >= HOSTS_MAX && !hosts.contains_key(host) {
            let least = hosts.iter().min_by_key(|(_, errors)| errors.in_a_row);
            if let Some(least) = least.map(|(host, _)| host.clone()) {
                hosts.remove(&least);
            }
        }
        let errors = hosts.entry(host.to_owned()).or_default();
        errors.in_a_row += 1;
        if errors.in_a_row >= max && !errors.blocked {
            errors.blocked = true;
            log::warn!(
                "{host} is blocked because of many connection errors (max_connect_errors); FLUSH HOSTS unblocks"
            );
        }
        self.count.store(hosts.len(), Ordering::Relaxed);
    }

    /// A login from the host has succeeded.
    pub fn succeeded(&self, host: &str) {
        if self.count.load(Ordering::Relaxed) > 0 {
            let mut hosts = self.errors.lock();
            hosts.remove(host);
            self.count.store(hosts.len(), Ordering::Relaxed);
        }
    }

    /// FLUSH HOSTS.
    pub fn forget(&self) {
        self.errors.lock().clear();
        self.count.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_in_a_row_block_a_host_until_it_is_forgiven() {
        let hosts = Hosts::default();
        hosts.failed("10.0.0.1", 2);
        assert!(!hosts.is_blocked("10.0.0.1"));
        hosts.succeeded("10.0.0.1");
        hosts.failed("10.0.0.1", 2);
        assert!(!hosts.is_blocked("10.0.0.1"));
        hosts.failed("10.0.0.1", 2);
        assert!(hosts.is_blocked("10.0.0.1") && !hosts.is_blocked("10.0.0.2"));
        hosts.forget();
        assert!(!hosts.is_blocked("10.0.0.1"));
        for _ in 0..5 {
            hosts.failed("localhost", 2);
        }
        assert!(!hosts.is_blocked("localhost"));
        for n in 0..2 * HOSTS_MAX {
            hosts.failed(&n.to_string(), 2);
        }
        assert!(hosts.errors.lock().len() <= HOSTS_MAX);
    }
}

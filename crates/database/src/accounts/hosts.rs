//! Hosts from which connections fail, and how: `performance_schema.host_cache`. After `max_connect_errors` logins in a row that were
//! broken off or did not keep to the protocol, a host is not heard any more until FLUSH HOSTS, or TRUNCATE of that table. A login that
//! succeeds ends the row.
//!
//! The machine itself is neither blocked nor listed, as in MySQL. Hosts are known by their addresses: names are not looked up.

use super::now_s;
use crate::error::er;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many hosts are remembered; beyond that, the one with the fewest errors in a row is forgotten.
const HOSTS_MAX: usize = 4096;

/// Errors that only the protocol has.
const HOST_IS_BLOCKED: u16 = 1129;
const CANT_CREATE_THREAD: u16 = 1135;
const ACCOUNT_LOCKED: u16 = 3118;

/// Declares [`Refusal`], in the order of the columns of `host_cache`.
macro_rules! refusals {
    ($($(#[$doc:meta])* $refusal:ident,)+) => {
        /// Why a connection came to nothing.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Refusal {
            $($(#[$doc])* $refusal,)+
        }

        impl Refusal {
            /// How many there are.
            pub const COUNT: usize = [$(Refusal::$refusal,)+].len();
        }
    };
}

refusals! {
    /// The host is blocked.
    HostBlocked,
    /// It was broken off, or did not keep to the protocol.
    Handshake,
    /// The password was wrong, or there is no such account.
    Authentication,
    /// TLS could not be agreed on.
    Tls,
    /// The account has too many connections.
    UserConnections,
    /// The account has connected too often within the hour.
    UserConnectionsPerHour,
    /// The database that it named is not there, or not for it.
    Database,
    /// `init_connect` failed.
    InitConnect,
    /// The server could not serve it.
    Local,
    /// The account is locked.
    AccountLocked,
    /// The account is locked for some days, after too many wrong passwords.
    AccountLockedForDays,
    /// Anything else.
    Other,
}

impl Refusal {
    /// The client left in the middle, or did not keep to the protocol: such count in a row. Wrong passwords do not, as in MySQL.
    fn is_broken(self) -> bool {
        matches!(self, Refusal::Handshake | Refusal::Tls)
    }

    /// What the error that a client is told means.
    pub fn of(code: u16, message: &str) -> Refusal {
        match code {
            HOST_IS_BLOCKED => Refusal::HostBlocked,
            er::ACCESS_DENIED | er::ACCESS_DENIED_NO_PASSWORD => Refusal::Authentication,
            er::TOO_MANY_USER_CONNECTIONS => Refusal::UserConnections,
            er::USER_LIMIT_REACHED if message.contains("max_connections_per_hour") => {
                Refusal::UserConnectionsPerHour
            }
            er::USER_LIMIT_REACHED => Refusal::UserConnections,
            er::DBACCESS_DENIED | er::BAD_DB => Refusal::Database,
            er::NEW_ABORTING_CONNECTION => Refusal::InitConnect,
            CANT_CREATE_THREAD => Refusal::Local,
            ACCOUNT_LOCKED => Refusal::AccountLocked,
            er::ACCOUNT_BLOCKED_BY_PASSWORD_LOCK => Refusal::AccountLockedForDays,
            _ => Refusal::Other,
        }
    }
}

/// What is known of a host.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Broken logins in a row.
    pub in_a_row: u64,
    /// They were too many.
    pub blocked: bool,
    /// By [`Refusal`].
    pub refused: [u64; Refusal::COUNT],
    /// When the first connection from it was refused, in seconds since 1970 UTC.
    pub first_s: u64,
    /// When one came from it last.
    pub last_s: u64,
    /// When one was refused last.
    pub last_error_s: u64,
}

/// From where connections have failed.
#[derive(Default)]
pub struct Hosts {
    hosts: Mutex<HashMap<String, Host>>,
    /// The number of hosts in `hosts`, so that a login from elsewhere needs no lock.
    count: AtomicUsize,
}

impl Hosts {
    /// Whether nothing from the host is to be heard.
    pub fn is_blocked(&self, host: &str) -> bool {
        self.count.load(Ordering::Relaxed) > 0 && self.hosts.lock().get(host).is_some_and(|host| host.blocked)
    }

    /// A connection from the host was refused, or broken off before it had logged in. `max` is `max_connect_errors`.
    pub fn failed(&self, name: &str, refusal: Refusal, max: u64) {
        if name == "localhost" {
            return;
        }
        let now = now_s();
        let mut hosts = self.hosts.lock();
        if hosts.len() >= HOSTS_MAX && !hosts.contains_key(name) {
            let least = hosts.iter().min_by_key(|(_, host)| host.in_a_row);
            if let Some(least) = least.map(|(name, _)| name.clone()) {
                hosts.remove(&least);
            }
        }
        let host = hosts.entry(name.to_owned()).or_default();
        host.refused[refusal as usize] += 1;
        if host.first_s == 0 {
            host.first_s = now;
        }
        (host.last_s, host.last_error_s) = (now, now);
        if refusal.is_broken() {
            host.in_a_row += 1;
            if host.in_a_row >= max && !host.blocked {
                host.blocked = true;
                log::warn!(
                    "{name} is blocked because of many connection errors (max_connect_errors); FLUSH HOSTS unblocks"
                );
            }
        }
        self.count.store(hosts.len(), Ordering::Relaxed);
    }

    /// A login from the host has succeeded.
    pub fn succeeded(&self, name: &str) {
        if self.count.load(Ordering::Relaxed) > 0
            && let Some(host) = self.hosts.lock().get_mut(name)
        {
            host.in_a_row = 0;
            host.last_s = now_s();
        }
    }

    /// All hosts from which a connection was refused.
    pub fn all(&self) -> Vec<(String, Host)> {
        let hosts = self.hosts.lock();
        hosts
            .iter()
            .map(|(name, host)| (name.clone(), host.clone()))
            .collect()
    }

    /// FLUSH HOSTS.
    pub fn forget(&self) {
        self.hosts.lock().clear();
        self.count.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(hosts: &Hosts, name: &str) {
        hosts.failed(name, Refusal::Handshake, 2);
    }

    #[test]
    fn errors_in_a_row_block_a_host_until_it_is_forgiven() {
        let hosts = Hosts::default();
        broken(&hosts, "10.0.0.1");
        assert!(!hosts.is_blocked("10.0.0.1"));
        hosts.succeeded("10.0.0.1");
        broken(&hosts, "10.0.0.1");
        hosts.failed("10.0.0.1", Refusal::Authentication, 2);
        assert!(!hosts.is_blocked("10.0.0.1"));
        broken(&hosts, "10.0.0.1");
        assert!(hosts.is_blocked("10.0.0.1") && !hosts.is_blocked("10.0.0.2"));
        let [(_, host)] = &hosts.all()[..] else {
            panic!("one host");
        };
        assert_eq!(host.refused[Refusal::Handshake as usize], 3);
        assert_eq!(host.refused[Refusal::Authentication as usize], 1);
        assert!(host.in_a_row == 2 && host.first_s > 0);
        hosts.forget();
        assert!(!hosts.is_blocked("10.0.0.1") && hosts.all().is_empty());
        for _ in 0..5 {
            broken(&hosts, "localhost");
        }
        assert!(!hosts.is_blocked("localhost"));
        for n in 0..2 * HOSTS_MAX {
            broken(&hosts, &n.to_string());
        }
        assert!(hosts.hosts.lock().len() <= HOSTS_MAX);
    }
}

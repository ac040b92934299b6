//! What accounts may use: how many connections at once, and how many connections, statements and changes in an hour.
//!
//! An account's uses are counted together for all its connections. An hour begins with the first use after the last one
//! is over. `FLUSH USER_RESOURCES` begins all hours anew.

use super::Account;
use crate::error::{Result, SqlError, er};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// `WITH MAX_QUERIES_PER_HOUR …`; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// MAX_QUERIES_PER_HOUR: statements of any kind.
    pub queries: u32,
    /// MAX_UPDATES_PER_HOUR: statements that may change something.
    pub updates: u32,
    /// MAX_CONNECTIONS_PER_HOUR: logins.
    pub connections: u32,
    /// Connections at once; 0: as the server's `max_user_connections` says.
    pub at_once: u32,
}

/// The uses of all accounts.
#[derive(Default)]
pub struct Resources {
    /// By user and host of the account. An account without connections whose hour is over is not kept.
    uses: Mutex<HashMap<(String, String), Arc<Mutex<Use>>>>,
}

struct Use {
    connected: u32,
    hour: Hour,
}

/// What has been used since the hour began.
struct Hour {
    began: Instant,
    queries: u32,
    updates: u32,
    connections: u32,
}

impl Hour {
    fn now() -> Hour {
        Hour {
            began: Instant::now(),
            queries: 0,
            updates: 0,
            connections: 0,
        }
    }
}

impl Use {
    fn hour(&mut self) -> &mut Hour {
        if self.hour.began.elapsed() >= HOUR {
            self.hour = Hour::now();
        }
        &mut self.hour
    }
}

/// A connection of an account, counted until this is dropped.
pub struct Seat(Arc<Mutex<Use>>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.lock().connected -= 1;
    }
}

impl Resources {
    /// Counts a connection of the account. Error 1203 if it has more than `max_user_connections`, the server's; error
    /// 1226 if it has more than its own limit, or has connected too often within the hour.
    pub fn connect(&self, account: &Account, max_user_connections: u64) -> Result<Seat> {
        let key = (account.auth.user.clone(), account.auth.host.clone());
        let mut uses = self.uses.lock();
        uses.retain(|other, counted| {
            let counted = counted.lock();
            *other == key || counted.connected > 0 || counted.hour.began.elapsed() < HOUR
        });
        let counted = uses.entry(key).or_insert_with(|| {
            Arc::new(Mutex::new(Use {
                connected: 0,
                hour: Hour::now(),
            }))
        });
        let counted = Arc::clone(counted);
        drop(uses);
        let limits = &account.limits;
        let mut now = counted.lock();
        if limits.at_once == 0 && max_user_connections > 0 && now.connected as u64 >= max_user_connections {
            return Err(too_many_user_connections(&account.auth.user));
        }
        if limits.at_once > 0 && now.connected >= limits.at_once {
            return Err(limit_reached(account, "max_user_connections", limits.at_once));
        }
        let hour = now.hour();
        if limits.connections > 0 && hour.connections >= limits.connections {
            return Err(limit_reached(
                account,
                "max_connections_per_hour",
                limits.connections,
            ));
        }
        hour.connections += 1;
        now.connected += 1;
        drop(now);
        Ok(Seat(counted))
    }

    /// FLUSH USER_RESOURCES.
    pub fn forget(&self) {
        for counted in self.uses.lock().values() {
            counted.lock().hour = Hour::now();
        }
    }
}

impl Seat {
    /// Counts a statement, and a change of data if it `changes`. Error 1226 if that is one too many.
    pub fn statement(&self, account: &Account, changes: bool) -> Result<()> {
        let limits = &account.limits;
        if limits.queries == 0 && limits.updates == 0 {
            return Ok(());
        }
        let mut counted = self.0.lock();
        let hour = counted.hour();
        if limits.queries > 0 && hour.queries >= limits.queries {
            return Err(limit_reached(account, "max_queries_per_hour", limits.queries));
        }
        if changes && limits.updates > 0 && hour.updates >= limits.updates {
            return Err(limit_reached(account, "max_updates_per_hour", limits.updates));
        }
        hour.queries += 1;
        hour.updates += changes as u32;
        Ok(())
    }
}

/// Error 1226.
fn limit_reached(account: &Account, resource: &str, limit: u32) -> SqlError {
    SqlError::new(
        er::USER_LIMIT_REACHED,
        format!(
            "User '{}' has exceeded the '{resource}' resource (current value: {limit})",
            account.auth.user
        ),
    )
}

/// Error 1203.
fn too_many_user_connections(user: &str) -> SqlError {
    SqlError::new(
        er::TOO_MANY_USER_CONNECTIONS,
        format!("User {user} already has more than 'max_user_connections' active connections"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_gets_what_it_may_use() {
        let resources = Resources::default();
        let mut account = Account::new("u", "%");
        let seats: Vec<Seat> = (0..3).map(|_| resources.connect(&account, 0).unwrap()).collect();
        assert_eq!(resources.connect(&account, 3).err().unwrap().code, 1203);
        account.limits.at_once = 3;
        assert_eq!(resources.connect(&account, 100).err().unwrap().code, 1226);
        drop(seats);
        let seat = resources.connect(&account, 1).unwrap();
        account.limits.connections = 4;
        assert_eq!(resources.connect(&account, 0).err().unwrap().code, 1226);
        account.limits.queries = 2;
        account.limits.updates = 1;
        assert!(seat.statement(&account, true).is_ok());
        assert_eq!(seat.statement(&account, true).unwrap_err().code, 1226);
        assert!(seat.statement(&account, false).is_ok());
        assert_eq!(seat.statement(&account, false).unwrap_err().code, 1226);
        resources.forget();
        assert!(seat.statement(&account, false).is_ok());
        assert!(resources.connect(&account, 0).is_ok());
    }
}

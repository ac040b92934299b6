//! The servers that experiments run on.
//!
//! - [`url`]: where one is, as it is given on the command line.
//! - [`own`]: a Tidemark that the lab starts, where none is given.
//! - [`process`]: the processor time of one on this machine.

pub mod own;
pub mod process;
pub mod url;

use crate::failure::Failure;
use own::Own;
use process::Process;
use std::collections::BTreeMap;
use tidemark_client::Client;
use url::Url;

/// The name under which servers have the lab's connections.
const PROGRAM: &str = "tidemark lab";
/// Bad database error: it is to be created.
const UNKNOWN_DATABASE: u16 = 1049;
/// What is kept of a server's settings: what decides how it works and how durable it is.
const SETTINGS: &[&str] = &[
    "version",
    "version_comment",
    "transaction_isolation",
    "tx_isolation",
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_snapshot_isolation",
    "sync_binlog",
    "log_bin",
    "max_connections",
];

/// A server that can be connected to.
#[derive(Clone)]
pub struct Server {
    url: Url,
}

impl Server {
    /// The one at a URL, which need not be there.
    pub fn at(url: Url) -> Server {
        Server { url }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Connects, to the database of the URL; creates that if it is not there.
    pub fn connect(&self) -> Result<Client, Failure> {
        let mut client = Client::connect(&self.url.target(), &self.url.login, PROGRAM)
            .map_err(|e| Failure::because(format!("cannot connect to {}: {e}", self.url)))?;
        let name = format!("`{}`", self.url.database.replace('`', "``"));
        let used = client.query(&format!("USE {name}"));
        if let Err(e) = &used
            && e.code() == Some(UNKNOWN_DATABASE)
        {
            client.query(&format!("CREATE DATABASE IF NOT EXISTS {name}"))?;
            client.query(&format!("USE {name}"))?;
        } else {
            used?;
        }
        Ok(client)
    }

    /// Its process, if it is on this machine and may be looked at.
    pub fn process(&self) -> Option<Process> {
        self.url
            .is_local()
            .then(|| Process::listening(self.url.port))
            .flatten()
    }

    /// The settings that it works with, as far as it has them.
    pub fn settings(&self) -> Result<BTreeMap<String, String>, Failure> {
        let names: Vec<String> = SETTINGS.iter().map(|name| format!("'{name}'")).collect();
        let sql = format!(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})",
            names.join(",")
        );
        let rows = self.connect()?.query(&sql)?;
        let text = |value: &Option<Vec<u8>>| {
            String::from_utf8_lossy(value.as_deref().unwrap_or_default()).into_owned()
        };
        Ok(rows
            .iter()
            .filter(|row| row.len() == 2)
            .map(|row| (text(&row[0]), text(&row[1])))
            .collect())
    }
}

/// A server as it was named: by URL, or one to be started.
pub struct Contender {
    /// Its name in results.
    pub name: String,
    kind: Kind,
}

enum Kind {
    Given(Server),
    /// Started when it is needed first, and again when it has ended.
    Own {
        exhibit: Option<String>,
        running: Option<Own>,
    },
}

impl Contender {
    /// One that is up.
    pub fn given(name: String, url: Url) -> Contender {
        Contender {
            name,
            kind: Kind::Given(Server::at(url)),
        }
    }

    /// A Tidemark to be started.
    pub fn own() -> Contender {
        Contender {
            name: "tidemark".to_owned(),
            kind: Kind::Own {
                exhibit: None,
                running: None,
            },
        }
    }

    /// A Tidemark to be started with an exhibit of the museum.
    #[cfg(feature = "museum")]
    pub fn exhibit(name: String, exhibit: String) -> Contender {
        Contender {
            name,
            kind: Kind::Own {
                exhibit: Some(exhibit),
                running: None,
            },
        }
    }

    /// The server, which is running if it is the lab's own.
    pub fn server(&mut self) -> Result<Server, Failure> {
        match &mut self.kind {
            Kind::Given(server) => Ok(server.clone()),
            Kind::Own {
                exhibit,
                running: own,
            } => {
                if own.as_mut().is_none_or(|own| !own.runs()) {
                    // What is left of one that has ended goes before the next comes.
                    *own = None;
                    *own = Some(Own::start(exhibit.as_deref())?);
                }
                let own = own.as_ref().ok_or_else(|| Failure::because("no server"))?;
                Ok(Server::at(own.url().clone()))
            }
        }
    }
}

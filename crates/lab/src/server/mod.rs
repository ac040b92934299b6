//! The servers that experiments run on.
//!
//! - [`own`]: a Tidemark that the lab starts, where none is given.
//! - [`process`]: the processor time of one on this machine.

pub mod own;
pub mod process;

use crate::client::url::Url;
use crate::client::{Client, Dialect};
use crate::failure::Failure;
use own::Own;
use process::Process;
use std::collections::BTreeMap;

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
        let mut client = Client::connect(&self.url);
        if let Err(e) = &client
            && e.is_unknown_database()
        {
            // Of two that find it missing one is too late to create it.
            let created = Client::create_database(&self.url);
            client = Client::connect(&self.url).map_err(|e| created.err().unwrap_or(e));
        }
        client.map_err(|e| Failure::because(format!("cannot connect to {}: {e}", self.url)))
    }

    /// What its statements differ in.
    pub fn dialect(&self) -> Dialect {
        self.url.dialect
    }

    /// Its process, if it is on this machine and may be looked at; with those of its sessions, if they have each their own.
    pub fn process(&self) -> Option<Process> {
        let process = match self.url.is_local() {
            true => Process::listening(self.url.port)?,
            false => return None,
        };
        Some(match self.url.dialect {
            Dialect::MySql => process,
            Dialect::Postgres => process.with_children(),
        })
    }

    /// The settings that it works with, as far as it has them.
    pub fn settings(&self) -> Result<BTreeMap<String, String>, Failure> {
        let rows = self.connect()?.query(&self.url.dialect.settings())?;
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

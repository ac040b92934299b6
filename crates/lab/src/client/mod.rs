//! A connection to a server, whichever protocol it speaks.
//!
//! ```text
//!  experiments, load ──► Client ─┬─► tidemark_client       MySQL's protocol
//!                                └─► postgres              PostgreSQL's
//! ```
//!
//! - [`url`]: where a server is, as it is given on the command line.
//! - [`dialect`]: in what the statements of servers differ.
//!
//! Statements are written in what both understand; the rest is asked of the [`Dialect`]. A statement that is prepared has `?` for its
//! parameters on both.

pub(crate) mod dialect;
mod postgres;
pub mod url;

pub use dialect::Dialect;
pub use tidemark_client::{Login, Outcome, Param, Row};

use postgres::Postgres;
use std::fmt;
use std::hint;
use std::time::{Duration, Instant};
use tidemark_client as mysql;
use url::Url;

/// The name under which servers have the lab's connections.
pub(crate) const PROGRAM: &str = "tidemark lab";

/// A connection that is logged in.
pub struct Client {
    protocol: Protocol,
    /// See [`Client::set_work`].
    work: Duration,
}

enum Protocol {
    MySql(mysql::Client),
    Postgres(Postgres),
}

/// A statement that the server has prepared, on one connection.
pub struct Statement(Prepared);

enum Prepared {
    MySql(mysql::Statement),
    Postgres(postgres::Statement),
}

impl Client {
    /// Connects to the server of a URL, and uses its database.
    pub(crate) fn connect(url: &Url) -> Result<Client, Error> {
        let protocol = match url.dialect {
            Dialect::MySql => {
                let mut client = mysql::Client::connect(&url.target(), &url.login, PROGRAM)?;
                client.query(&format!("USE {}", url.dialect.quoted(&url.database)))?;
                Protocol::MySql(client)
            }
            Dialect::Postgres => Protocol::Postgres(Postgres::connect(url, &url.database)?),
        };
        Ok(Client {
            protocol,
            work: Duration::ZERO,
        })
    }

    /// Creates the database of a URL.
    pub(crate) fn create_database(url: &Url) -> Result<(), Error> {
        let name = url.dialect.quoted(&url.database);
        match url.dialect {
            Dialect::MySql => {
                let mut client = mysql::Client::connect(&url.target(), &url.login, PROGRAM)?;
                client.query(&format!("CREATE DATABASE IF NOT EXISTS {name}"))?;
            }
            Dialect::Postgres => {
                let mut client = Postgres::connect(url, postgres::ALWAYS_THERE)?;
                client.query(&format!("CREATE DATABASE {name}"))?;
            }
        }
        Ok(())
    }

    /// What the server's statements differ in.
    pub fn dialect(&self) -> Dialect {
        match self.protocol {
            Protocol::MySql(_) => Dialect::MySql,
            Protocol::Postgres(_) => Dialect::Postgres,
        }
    }

    /// Runs one statement, and gives its rows; a statement without rows gives none.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        match &mut self.protocol {
            Protocol::MySql(client) => Ok(client.query(sql)?),
            Protocol::Postgres(client) => client.query(sql),
        }
    }

    /// Has the processor busy for so long before each statement that is run or executed, as the program of a slower driver has. A server
    /// that waits longer for its next statement sleeps deeper, so that figures are compared at equal work.
    pub fn set_work(&mut self, work: Duration) {
        self.work = work;
    }

    fn do_work(&self) {
        if self.work.is_zero() {
            return;
        }
        let begin = Instant::now();
        while begin.elapsed() < self.work {
            hint::spin_loop();
        }
    }

    /// Runs one statement; its rows are counted.
    pub fn run(&mut self, sql: &[u8]) -> Result<Outcome, Error> {
        self.do_work();
        match &mut self.protocol {
            Protocol::MySql(client) => Ok(client.run(sql)?),
            Protocol::Postgres(client) => client.run(sql),
        }
    }

    /// Prepares a statement.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        Ok(Statement(match &mut self.protocol {
            Protocol::MySql(client) => Prepared::MySql(client.prepare(sql)?),
            Protocol::Postgres(client) => Prepared::Postgres(client.prepare(sql)?),
        }))
    }

    /// Runs a prepared statement; its rows are counted.
    ///
    /// # Panics
    /// If the statement is another connection's of the other protocol, or has another number of parameters.
    pub fn execute(&mut self, statement: &mut Statement, params: &[Param<'_>]) -> Result<Outcome, Error> {
        self.do_work();
        match (&mut self.protocol, &mut statement.0) {
            (Protocol::MySql(client), Prepared::MySql(statement)) => Ok(client.execute(statement, params)?),
            (Protocol::Postgres(client), Prepared::Postgres(statement)) => client.execute(statement, params),
            _ => panic!("a statement belongs to the connection that has prepared it"),
        }
    }

    /// How long to wait for bytes of an answer; `None`: for ever. After an error of that kind the connection is of no use any more.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> Result<(), Error> {
        match &self.protocol {
            Protocol::MySql(client) => Ok(client.set_timeout(timeout)?),
            Protocol::Postgres(client) => client.set_timeout(timeout),
        }
    }

    /// Something with which another thread can end the connection, whatever it waits for.
    pub fn breaker(&self) -> Result<Breaker, Error> {
        Ok(match &self.protocol {
            Protocol::MySql(client) => Breaker::MySql(client.breaker()?),
            Protocol::Postgres(client) => Breaker::Postgres(client.breaker()?),
        })
    }
}

/// Ends a connection from another thread.
pub enum Breaker {
    /// Of a connection that speaks MySQL's protocol.
    MySql(mysql::Breaker),
    /// Of one that speaks PostgreSQL's.
    Postgres(postgres::Breaker),
}

impl Breaker {
    /// Ends it: its client gets an error for what it waits for. One that has ended stays so.
    pub fn end(&self) {
        match self {
            Breaker::MySql(breaker) => breaker.end(),
            Breaker::Postgres(breaker) => breaker.end(),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Error {
    /// Of a connection that speaks MySQL's protocol.
    MySql(mysql::Error),
    /// Of one that speaks PostgreSQL's.
    Postgres(postgres::Error),
    /// The answer is not what the statement asks for; says what is wrong.
    Malformed(&'static str),
}

/// After these a transaction is begun anew, as sysbench does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transient {
    /// It stood in a circle of transactions that wait for each other.
    Deadlock,
    /// It has waited too long for a lock.
    LockWaitTimeout,
    /// A row has changed since its snapshot (MariaDB).
    ChangedRecord,
    /// It cannot be as if it had run alone (PostgreSQL).
    Serialization,
    /// PostgreSQL at READ COMMITTED: of two that delete a row and insert it again, the one that has waited does not see the new row, deletes
    /// nothing, and then finds the key taken.
    DuplicateKey,
}

impl Transient {
    /// All of them.
    pub const ALL: [Transient; 5] = [
        Transient::Deadlock,
        Transient::LockWaitTimeout,
        Transient::ChangedRecord,
        Transient::Serialization,
        Transient::DuplicateKey,
    ];

    /// As results have their number.
    pub fn name(self) -> &'static str {
        match self {
            Transient::Deadlock => "deadlocks",
            Transient::LockWaitTimeout => "lock_wait_timeouts",
            Transient::ChangedRecord => "changed_records",
            Transient::Serialization => "serialization_failures",
            Transient::DuplicateKey => "duplicate_keys",
        }
    }
}

impl Error {
    /// MySQL's number, if such a server has answered with an error.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::MySql(e) => e.code(),
            _ => None,
        }
    }

    /// PostgreSQL's SQLSTATE, if such a server has answered with an error.
    pub fn state(&self) -> Option<&str> {
        match self {
            Error::Postgres(e) => e.state(),
            _ => None,
        }
    }

    /// True if the database of the URL is not there.
    pub(crate) fn is_unknown_database(&self) -> bool {
        self.code() == Some(1049) || self.state() == Some("3D000")
    }

    /// What it is, if the transaction is to be begun anew.
    pub fn transient(&self) -> Option<Transient> {
        match (self.code(), self.state()) {
            (Some(1213), _) | (_, Some("40P01")) => Some(Transient::Deadlock),
            (Some(1205), _) | (_, Some("55P03")) => Some(Transient::LockWaitTimeout),
            (Some(1020), _) => Some(Transient::ChangedRecord),
            (_, Some("40001")) => Some(Transient::Serialization),
            (_, Some("23505")) => Some(Transient::DuplicateKey),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::MySql(e) => write!(f, "{e}"),
            Error::Postgres(e) => write!(f, "{e}"),
            Error::Malformed(what) => write!(f, "the server's answer cannot be read: {what}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<mysql::Error> for Error {
    fn from(e: mysql::Error) -> Error {
        Error::MySql(e)
    }
}

impl From<postgres::Error> for Error {
    fn from(e: postgres::Error) -> Error {
        Error::Postgres(e)
    }
}

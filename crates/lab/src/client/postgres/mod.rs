//! PostgreSQL's protocol, version 3: as much as a load generator needs.
//!
//! ```text
//!  run, query   Query                                    → RowDescription, DataRow…, CommandComplete, ReadyForQuery
//!  prepare      Parse, Describe, Sync                    → ParseComplete, ParameterDescription, …, ReadyForQuery
//!  execute      Bind, Execute, Sync                      → BindComplete, DataRow…, CommandComplete, ReadyForQuery
//! ```
//!
//! An answer ends with ReadyForQuery, after an error, too. `run` and `execute` allocate nothing: what is not read is told by its tag and
//! passed over. Integers are sent in binary form, as the types that the server gives its parameters want them.
//!
//! Messages are written, and read where they are more than a tag, by `postgres-protocol`. There is no TLS.

mod error;
mod login;
mod stream;

pub use error::Error;

use super::{Outcome, Param, Row};
use crate::client::url::Url;
use bytes::{BufMut, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::{backend, frontend};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;
use stream::Messages;

/// A database that every server has.
pub(super) const ALWAYS_THERE: &str = "postgres";
/// How values are sent.
const TEXT: i16 = 0;
const BINARY: i16 = 1;
/// No limit to the rows of an answer.
const ALL_ROWS: i32 = 0;

/// A connection that is logged in.
pub(super) struct Postgres {
    messages: Messages<TcpStream>,
    prepared: u32,
}

/// A statement that the server has prepared.
pub(super) struct Statement {
    name: String,
    params: usize,
}

impl Postgres {
    /// Connects to a database of the server, and logs in.
    pub(super) fn connect(url: &Url, database: &str) -> Result<Postgres, Error> {
        Ok(Postgres {
            messages: login::log_in(url, database)?,
            prepared: 0,
        })
    }

    /// Runs one statement, and gives its rows.
    pub(super) fn query(&mut self, sql: &str) -> Result<Vec<Row>, super::Error> {
        frontend::query(sql, self.messages.output()).map_err(Error::Io)?;
        self.messages.send()?;
        let mut rows = Vec::new();
        self.answer(|message| {
            if let backend::Message::DataRow(body) = message()? {
                let value =
                    |range: Option<std::ops::Range<usize>>| range.map(|range| body.buffer()[range].to_vec());
                let row: Row = body.ranges().map(|range| Ok(value(range))).collect()?;
                rows.push(row);
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// Runs one statement; its rows are counted.
    pub(super) fn run(&mut self, sql: &[u8]) -> Result<Outcome, super::Error> {
        let sql = std::str::from_utf8(sql).map_err(|_| Error::Malformed("a statement that is no UTF-8"))?;
        frontend::query(sql, self.messages.output()).map_err(Error::Io)?;
        self.messages.send()?;
        Ok(self.answer(|_| Ok(()))?)
    }

    /// Prepares a statement, whose parameters are `?`.
    pub(super) fn prepare(&mut self, sql: &str) -> Result<Statement, super::Error> {
        self.prepared += 1;
        let name = format!("s{}", self.prepared);
        let (sql, params) = numbered(sql);
        let out = self.messages.output();
        // The server finds the types.
        frontend::parse(&name, &sql, [], out).map_err(Error::Io)?;
        frontend::sync(out);
        self.messages.send()?;
        self.answer(|_| Ok(()))?;
        Ok(Statement { name, params })
    }

    /// Runs a prepared statement; its rows are counted.
    ///
    /// # Panics
    /// If there are not as many parameters as the statement has.
    pub(super) fn execute(
        &mut self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<Outcome, super::Error> {
        assert_eq!(
            params.len(),
            statement.params,
            "each ? of a statement has a parameter"
        );
        bind(statement, params, self.messages.output())?;
        self.messages.send()?;
        Ok(self.answer(|_| Ok(()))?)
    }

    pub(super) fn set_timeout(&self, timeout: Option<Duration>) -> Result<(), super::Error> {
        Ok(self
            .messages
            .stream()
            .set_read_timeout(timeout)
            .map_err(Error::Io)?)
    }

    pub(super) fn breaker(&self) -> Result<Breaker, super::Error> {
        Ok(Breaker(self.messages.stream().try_clone().map_err(Error::Io)?))
    }

    /// Reads an answer to its end; `row` is called for each row, with a way to read it.
    fn answer(
        &mut self,
        mut row: impl FnMut(&dyn Fn() -> Result<backend::Message, Error>) -> Result<(), Error>,
    ) -> Result<Outcome, Error> {
        let (mut rows, mut has_rows, mut affected, mut failed) = (0, false, 0, None);
        loop {
            match self.messages.receive()? {
                backend::DATA_ROW_TAG => {
                    rows += 1;
                    has_rows = true;
                    let messages = &self.messages;
                    row(&|| messages.message())?;
                }
                backend::ROW_DESCRIPTION_TAG => has_rows = true,
                backend::COMMAND_COMPLETE_TAG => affected = self.messages.last_number(),
                backend::ERROR_RESPONSE_TAG => failed = Some(self.messages.error()),
                backend::COPY_IN_RESPONSE_TAG => return Err(Error::Malformed("a demand of data")),
                backend::READY_FOR_QUERY_TAG => break,
                _ => {}
            }
        }
        match (failed, has_rows) {
            (Some(error), _) => Err(error),
            (None, true) => Ok(Outcome::Rows(rows)),
            (None, false) => Ok(Outcome::Affected(affected)),
        }
    }
}

/// Bind, Execute and Sync.
fn bind(statement: &Statement, params: &[Param<'_>], out: &mut BytesMut) -> Result<(), Error> {
    let format = |param: &Param<'_>| match param {
        Param::Int(_) => BINARY,
        Param::Text(_) => TEXT,
    };
    let put = |param: &Param<'_>, out: &mut BytesMut| {
        match param {
            Param::Int(value) => out.put_i32(*value),
            Param::Text(text) => out.put_slice(text),
        }
        Ok(IsNull::No)
    };
    let formats = params.iter().map(format);
    frontend::bind("", &statement.name, formats, params, put, [BINARY], out)
        .map_err(|_| Error::Malformed("a parameter that is too long"))?;
    frontend::execute("", ALL_ROWS, out).map_err(Error::Io)?;
    frontend::sync(out);
    Ok(())
}

/// A statement with `$1`, `$2`… in place of `?`, and how many there are. No statement of the lab has a `?` elsewhere.
fn numbered(sql: &str) -> (String, usize) {
    let mut parts = sql.split('?');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut params = 0;
    for part in parts {
        params += 1;
        out.push_str(&format!("${params}{part}"));
    }
    (out, params)
}

/// Ends a connection from another thread.
pub struct Breaker(TcpStream);

impl Breaker {
    /// Ends it.
    pub fn end(&self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbered() {
        assert_eq!(numbered("COMMIT"), ("COMMIT".to_owned(), 0));
        let (sql, params) = numbered("UPDATE t SET c=? WHERE id=?");
        assert_eq!((sql.as_str(), params), ("UPDATE t SET c=$1 WHERE id=$2", 2));
    }

    #[test]
    fn a_statement_is_bound_as_the_protocol_has_it() {
        let statement = Statement {
            name: "s1".to_owned(),
            params: 2,
        };
        let mut out = BytesMut::new();
        bind(&statement, &[Param::Int(258), Param::Text(b"ab")], &mut out).unwrap();
        let bind = [
            &b"B\0\0\0\x22\0s1\0"[..],
            b"\0\x02\0\x01\0\0",                         // formats: binary, text
            b"\0\x02\0\0\0\x04\0\0\x01\x02\0\0\0\x02ab", // values
            b"\0\x01\0\x01",                             // results: binary
        ]
        .concat();
        let rest = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
        assert_eq!(&out[..], [&bind[..], rest].concat());
    }
}

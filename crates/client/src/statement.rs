//! Prepared statements: prepared once, then run with parameters, their rows counted and skipped.
//!
//! ```text
//!  COM_STMT_PREPARE text            → OK: id, columns, parameters | definitions of parameters | END | of columns | END
//!  COM_STMT_EXECUTE id, parameters  → as of a query, the rows in the binary form
//! ```
//!
//! The types of the parameters are sent with the first execution, and again only when they change, as MySQL's own client does.
//! Nothing is allocated for an execution.

use crate::answer::Outcome;
use crate::{Client, Error};
use mysql_common::constants::{ColumnType, Command};
use mysql_common::io::ParseBuf;
use mysql_common::packets::StmtPacket;
use mysql_common::proto::MyDeserialize;

/// A value for a `?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param<'a> {
    /// An INT, which is sent as a BIGINT: a client that knows no column's type binds integers so, sysbench for one.
    Int(i32),
    /// A text, or bytes.
    Text(&'a [u8]),
}

impl Param<'_> {
    fn column_type(self) -> ColumnType {
        match self {
            Param::Int(_) => ColumnType::MYSQL_TYPE_LONGLONG,
            Param::Text(_) => ColumnType::MYSQL_TYPE_STRING,
        }
    }
}

/// A statement that the server has prepared, on one connection.
#[derive(Debug)]
pub struct Statement {
    id: u32,
    params: usize,
    /// What the server was told last; empty at first.
    types: Vec<u8>,
}

/// No cursor.
const CURSOR_TYPE_NO_CURSOR: u8 = 0;
const ITERATIONS: u32 = 1;

impl Client {
    /// Prepares a statement.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.begin(Command::COM_STMT_PREPARE)
            .extend_from_slice(sql.as_bytes());
        self.framed.send()?;
        self.receive()?;
        let prepared = StmtPacket::deserialize((), &mut ParseBuf(self.framed.packet()))
            .map_err(|_| Error::Malformed("the answer to a preparation"))?;
        for definitions in [prepared.num_params(), prepared.num_columns()] {
            if definitions > 0 {
                while !self.is_end()? {}
            }
        }
        Ok(Statement {
            id: prepared.statement_id(),
            params: usize::from(prepared.num_params()),
            types: Vec::new(),
        })
    }

    /// Runs a prepared statement; its rows are counted.
    ///
    /// # Panics
    /// If there are not as many parameters as the statement has.
    pub fn execute(&mut self, statement: &mut Statement, params: &[Param<'_>]) -> Result<Outcome, Error> {
        assert_eq!(
            params.len(),
            statement.params,
            "each ? of a statement has a parameter"
        );
        let out = self.begin(Command::COM_STMT_EXECUTE);
        out.extend_from_slice(&statement.id.to_le_bytes());
        out.push(CURSOR_TYPE_NO_CURSOR);
        out.extend_from_slice(&ITERATIONS.to_le_bytes());
        if !params.is_empty() {
            put_params(out, params, &mut statement.types);
        }
        self.framed.send()?;
        self.outcome()
    }
}

fn put_params(out: &mut Vec<u8>, params: &[Param<'_>], told: &mut Vec<u8>) {
    // None of them is NULL.
    out.resize(out.len() + params.len().div_ceil(8), 0);
    let types = params.iter().map(|param| param.column_type() as u8);
    let known = told.iter().copied().eq(types.clone());
    out.push(u8::from(!known));
    if !known {
        told.clear();
        told.extend(types);
        for &of in told.iter() {
            out.extend_from_slice(&[of, 0]);
        }
    }
    for param in params {
        match param {
            Param::Int(value) => out.extend_from_slice(&i64::from(*value).to_le_bytes()),
            Param::Text(text) => {
                put_len(out, text.len());
                out.extend_from_slice(text);
            }
        }
    }
}

/// A length as the protocol has it: a byte, or a mark and two, three or eight.
fn put_len(out: &mut Vec<u8>, len: usize) {
    let bytes = (len as u64).to_le_bytes();
    match len {
        0..=0xfa => out.push(len as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sent_when_they_change() {
        let mut told = Vec::new();
        let mut put = |params: &[Param<'_>]| {
            let mut out = Vec::new();
            put_params(&mut out, params, &mut told);
            out
        };
        let long = ColumnType::MYSQL_TYPE_LONGLONG as u8;
        let text = ColumnType::MYSQL_TYPE_STRING as u8;
        assert_eq!(put(&[Param::Int(258)]), [0, 1, long, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            put(&[Param::Int(-3)]),
            [0, 0, 0xfd, 255, 255, 255, 255, 255, 255, 255]
        );
        assert_eq!(put(&[Param::Text(b"ab")]), [0, 1, text, 0, 2, b'a', b'b']);
        assert_eq!(put(&[Param::Text(b"")]), [0, 0, 0]);
    }

    #[test]
    fn lengths() {
        let of = |len| {
            let mut out = Vec::new();
            put_len(&mut out, len);
            out
        };
        assert_eq!(of(250), [250]);
        assert_eq!(of(251), [0xfc, 251, 0]);
        assert_eq!(of(0x1_0000), [0xfd, 0, 0, 1]);
        assert_eq!(of(0x100_0000), [0xfe, 0, 0, 0, 1, 0, 0, 0, 0]);
    }
}

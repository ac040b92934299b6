//! The answer to a statement: an OK, or columns and rows.
//!
//! ```text
//!  OK                                                   no rows
//!  number of columns | a packet each | END | a packet for each row | END
//! ```
//!
//! A row has a value for each column: NULL, or a text with its length in front.

use crate::{Client, Error};
use mysql_common::io::ParseBuf;

/// A value for each column; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// The first bytes of packets.
pub(crate) const OK: u8 = 0;
pub(crate) const END: u8 = 0xfe;
pub(crate) const ERROR: u8 = 0xff;
/// In the place of a value's length.
const NULL: u8 = 0xfb;
/// In the place of the number of columns: the server asks for a file.
const LOCAL_INFILE: u8 = 0xfb;
/// A longer packet that begins with [`END`] is a row.
const END_LEN_MAX: usize = 8;

/// What a statement did, when its rows themselves are not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It gave so many rows.
    Rows(u64),
    /// It has none, and changed so many.
    Affected(u64),
}

/// The first packet of an answer.
enum Head {
    Affected(u64),
    Columns(usize),
}

impl Client {
    pub(crate) fn answer(&mut self) -> Result<Vec<Row>, Error> {
        let Head::Columns(columns) = self.head()? else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        while !self.is_end()? {
            rows.push(row(self.framed.packet(), columns).ok_or(Error::Malformed("a row"))?);
        }
        Ok(rows)
    }

    /// Like [`answer`](Client::answer), for rows of either form that nobody reads: the packets are counted.
    pub(crate) fn outcome(&mut self) -> Result<Outcome, Error> {
        match self.head()? {
            Head::Affected(rows) => Ok(Outcome::Affected(rows)),
            Head::Columns(_) => {
                let mut rows = 0;
                while !self.is_end()? {
                    rows += 1;
                }
                Ok(Outcome::Rows(rows))
            }
        }
    }

    /// Reads up to the first row.
    fn head(&mut self) -> Result<Head, Error> {
        self.receive()?;
        let packet = self.framed.packet();
        let number = |packet| ParseBuf(packet).checked_eat_lenenc_int();
        match packet[0] {
            OK => {
                let affected = number(&packet[1..]).ok_or(Error::Malformed("an OK"))?;
                return Ok(Head::Affected(affected));
            }
            LOCAL_INFILE => return Err(Error::Malformed("a demand of a file")),
            _ => {}
        }
        let columns = number(packet)
            .and_then(|columns| usize::try_from(columns).ok())
            .ok_or(Error::Malformed("the number of columns"))?;
        while !self.is_end()? {}
        Ok(Head::Columns(columns))
    }

    /// Reads a packet. True: it ends definitions, or the rows.
    pub(crate) fn is_end(&mut self) -> Result<bool, Error> {
        self.receive()?;
        let packet = self.framed.packet();
        Ok(packet[0] == END && packet.len() <= END_LEN_MAX)
    }
}

fn row(packet: &[u8], columns: usize) -> Option<Row> {
    let mut rest = ParseBuf(packet);
    let mut row = Row::new();
    for _ in 0..columns {
        row.push(match rest.0.first()? {
            &NULL => {
                rest.skip(1);
                None
            }
            _ => Some(rest.checked_eat_lenenc_str()?.to_vec()),
        });
    }
    rest.is_empty().then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_a_text_or_null_for_each_column() {
        let packet = b"\x01a\xfb\x00\x02bc";
        let expected = vec![Some(b"a".to_vec()), None, Some(Vec::new()), Some(b"bc".to_vec())];
        assert_eq!(row(packet, 4), Some(expected));
        assert_eq!(row(packet, 3), None);
        assert_eq!(row(packet, 5), None);
        for len in 0..packet.len() {
            assert_eq!(row(&packet[..len], 4), None, "{len}");
        }
    }
}

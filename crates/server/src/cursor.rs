//! Cursors: the rows of a prepared statement's result that wait at the server until the client fetches them.
//!
//! A client asks for a cursor when it executes a statement. The answer then ends after the column definitions, with a
//! status that says that a cursor is open, and COM_STMT_FETCH asks for so many rows at a time:
//!
//! ```text
//!  execute → column count | definitions | end (CURSOR_EXISTS)
//!  fetch n → row × up to n | end (CURSOR_EXISTS; LAST_ROW_SENT if the rows ran out)
//! ```
//!
//! The rows are kept as they will be sent, apart from their sequence numbers. How much may wait is bounded: a result that
//! outgrows [`CURSOR_LEN_MAX`], or the connection's [`CURSORS_LEN_MAX`], is sent at once without a cursor, which the
//! protocol allows. A result that is not sent at once must have a cursor even if it has no rows: Connector/J takes the
//! first packet after the definitions for the one that says whether there is a cursor, and would wait for another end.

use crate::packet::{HEADER_LEN, Output, first_payload};

/// The longest result that waits behind a cursor, in bytes of its packets.
pub const CURSOR_LEN_MAX: usize = 1 << 20;
/// What all cursors of a connection may keep together.
pub const CURSORS_LEN_MAX: usize = 16 << 20;

/// An open cursor.
#[derive(Debug)]
pub struct Cursor {
    /// Whole packets, each shorter than a packet may be, so that one packet is one row.
    rows: Vec<u8>,
    /// Where in `rows` the next one begins.
    next: usize,
}

impl Cursor {
    pub fn new(rows: Vec<u8>) -> Cursor {
        Cursor { rows, next: 0 }
    }

    /// The bytes that it keeps.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Writes up to `count` rows. Returns false once the rows have run out.
    pub fn fetch(&mut self, count: u32, out: &mut Output) -> bool {
        for _ in 0..count {
            let Some(payload) = first_payload(&self.rows[self.next..]) else {
                return false;
            };
            out.packet(payload);
            self.next += HEADER_LEN + payload.len();
        }
        true
    }
}

//! Messages on a stream of bytes: a tag, four bytes of length, the rest.
//!
//! ```text
//!  input    | read already | message | bytes that came with it |      read ahead, one system call for many messages
//!           0            start      next                    filled
//! ```
//!
//! A message stays where it was received until the next one is asked for; passing over it copies and allocates nothing. Reading one takes a
//! copy, which `postgres-protocol` then takes apart.

use super::Error;
use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{Header, Message};
use std::io::{self, ErrorKind, Read, Write};

/// Of a message's tag and length.
const HEADER_LEN: usize = 5;
/// What the input buffer begins with, and what it may grow to for reading ahead only, bytes.
const INPUT_LEN_MIN: usize = 16 << 10;
const AHEAD_LEN_MAX: usize = 256 << 10;
/// The longest message that is taken, bytes: the server's own limit for a value.
const MESSAGE_LEN_MAX: usize = 1 << 30;

/// A stream cut into messages.
pub(super) struct Messages<S> {
    stream: S,
    input: Vec<u8>,
    /// Where the message that was received last begins, and where it ends.
    start: usize,
    next: usize,
    /// What is behind it holds nothing yet.
    filled: usize,
    output: BytesMut,
}

impl<S: Read + Write> Messages<S> {
    pub(super) fn new(stream: S) -> Messages<S> {
        Messages {
            stream,
            input: vec![0; INPUT_LEN_MIN],
            start: 0,
            next: 0,
            filled: 0,
            output: BytesMut::new(),
        }
    }

    pub(super) fn stream(&self) -> &S {
        &self.stream
    }

    /// What is to be sent, to be written behind it.
    pub(super) fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    /// Sends what was written, in one piece.
    pub(super) fn send(&mut self) -> Result<(), Error> {
        let sent = self.stream.write_all(&self.output);
        self.output.clear();
        Ok(sent?)
    }

    /// Receives the next message, and gives its tag.
    pub(super) fn receive(&mut self) -> Result<u8, Error> {
        self.start = self.next;
        self.have(HEADER_LEN)?;
        let header = Header::parse(&self.input[self.start..self.filled]).ok().flatten();
        let header = header.ok_or(Error::Malformed("a message's header"))?;
        let len = usize::try_from(header.len()).unwrap_or(usize::MAX);
        if len > MESSAGE_LEN_MAX {
            return Err(Error::Malformed("a message of more than 1 GiB"));
        }
        self.have(1 + len)?;
        self.next = self.start + 1 + len;
        Ok(header.tag())
    }

    /// The message that was received last.
    pub(super) fn message(&self) -> Result<Message, Error> {
        let mut copy = BytesMut::from(&self.input[self.start..self.next]);
        let message = Message::parse(&mut copy).ok().flatten();
        message.ok_or(Error::Malformed("a message"))
    }

    /// The error that was received last.
    pub(super) fn error(&self) -> Error {
        let Ok(Message::ErrorResponse(body)) = self.message() else {
            return Error::Malformed("an error");
        };
        let (mut state, mut message) = (String::new(), String::new());
        let mut fields = body.fields();
        while let Ok(Some(field)) = fields.next() {
            let text = || String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'C' => state = text(),
                b'M' => message = text(),
                _ => {}
            }
        }
        Error::Server { state, message }
    }

    /// The number at the end of the CommandComplete that was received last: of rows that were changed. `COMMIT` has none, which is 0.
    pub(super) fn last_number(&self) -> u64 {
        let body = &self.input[self.start + HEADER_LEN..self.next];
        let tag = body.strip_suffix(&[0]).unwrap_or(body);
        let number = tag.rsplit(|byte| *byte == b' ').next();
        let number = number.and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
        number.unwrap_or(0)
    }

    /// Reads until there are `len` bytes behind `start`.
    fn have(&mut self, len: usize) -> io::Result<()> {
        while self.filled - self.start < len {
            if self.start == self.filled {
                (self.start, self.filled) = (0, 0);
            } else if self.start + len > self.input.len() {
                self.input.copy_within(self.start..self.filled, 0);
                (self.start, self.filled) = (0, self.filled - self.start);
            }
            if self.start + len > self.input.len() {
                self.input.resize(len.next_power_of_two(), 0);
            }
            let free = self.input.len() - self.filled;
            match self.stream.read(&mut self.input[self.filled..]) {
                Ok(0) => {
                    let why = "the server has closed the connection";
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, why));
                }
                Ok(read) => {
                    self.filled += read;
                    if read == free && self.input.len() < AHEAD_LEN_MAX {
                        self.input.resize(self.input.len() * 2, 0);
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // What Linux says when the time that was set for reading is over.
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "no answer in time"));
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Gives its bytes a few at a time.
    struct Slow(Cursor<Vec<u8>>, usize);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(self.1);
            self.0.read(&mut buffer[..len])
        }
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let len = (body.len() as u32 + 4).to_be_bytes();
        [&[tag], &len[..], body].concat()
    }

    #[test]
    fn messages_come_back_however_they_are_cut() {
        let long = [7; 40_000];
        let bytes = [
            message(b'C', b"UPDATE 17\0"),
            message(b'1', b""),
            message(b'D', &long),
            message(b'C', b"COMMIT\0"),
            message(b'C', b""),
            message(b'E', b"SERROR\0C40001\0Mno\0\0"),
        ]
        .concat();
        for step in [1, 3, 4096, 1 << 20] {
            let mut input = Messages::new(Slow(Cursor::new(bytes.clone()), step));
            assert_eq!(input.receive().unwrap(), b'C');
            assert_eq!(input.last_number(), 17);
            assert_eq!(input.receive().unwrap(), b'1');
            assert_eq!(input.receive().unwrap(), b'D');
            assert_eq!(input.input[input.start + HEADER_LEN..input.next], long, "{step}");
            assert_eq!(input.receive().unwrap(), b'C');
            assert_eq!(input.last_number(), 0);
            assert_eq!(input.receive().unwrap(), b'C');
            assert_eq!(input.last_number(), 0, "no text at all");
            assert_eq!(input.receive().unwrap(), b'E');
            assert_eq!(input.error().to_string(), "error 40001: no");
            assert!(matches!(input.receive(), Err(Error::Io(_))));
        }
    }

    #[test]
    fn a_length_that_cannot_be_is_refused() {
        for len in [0_u32, 3, 1 << 31, 0x7fff_ffff] {
            let bytes = [&b"C"[..], &len.to_be_bytes()].concat();
            let mut input = Messages::new(Slow(Cursor::new(bytes), 100));
            assert!(input.receive().is_err(), "{len}");
        }
    }
}

//! What may go wrong on a client's side of the protocol.

use std::{fmt, io};

/// Why there is no answer.
#[derive(Debug)]
pub enum Error {
    /// The connection failed, or ended.
    Io(io::Error),
    /// The server has answered with an error.
    Server {
        /// MySQL's number.
        code: u16,
        /// Its text.
        message: String,
    },
    /// What the server sent is not the protocol; says what could not be read.
    Malformed(&'static str),
    /// The password cannot be proven as the account's plugin wants it.
    Login(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) => write!(f, "{e}"),
            Error::Server { code, message } => write!(f, "error {code}: {message}"),
            Error::Malformed(what) => write!(f, "the server's answer cannot be read: {what}"),
            Error::Login(why) => write!(f, "cannot log in: {why}"),
        }
    }
}

impl Error {
    /// MySQL's number, if the server has answered with an error.
    pub fn code(&self) -> Option<u16> {
        match self {
            Error::Server { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Error {
        Error::Io(e)
    }
}

/// The error of an error packet: its mark, MySQL's number, an SQLSTATE behind a `#`, the text. Before the login has agreed on a protocol there is
/// no SQLSTATE; that is how a server says that it has too many connections.
pub(crate) fn of_server(packet: &[u8]) -> Error {
    let [_, low, high, text @ ..] = packet else {
        return Error::Malformed("an error packet");
    };
    let text = match text {
        [b'#', _, _, _, _, _, text @ ..] => text,
        text => text,
    };
    Error::Server {
        code: u16::from_le_bytes([*low, *high]),
        message: String::from_utf8_lossy(text).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_with_and_without_a_state() {
        let said = |packet| of_server(packet).to_string();
        let expected = "error 1040: Too many connections";
        assert_eq!(said(b"\xff\x10\x04#08004Too many connections"), expected);
        assert_eq!(said(b"\xff\x10\x04Too many connections"), expected);
        assert_eq!(said(b"\xff\x10\x04"), "error 1040: ");
        assert!(matches!(of_server(b"\xff\x10"), Error::Malformed(_)));
    }
}

//! What may go wrong on a client's side of the protocol.

use std::{fmt, io};

/// Why there is no answer.
#[derive(Debug)]
pub enum Error {
    /// The connection failed, or ended.
    Io(io::Error),
    /// The server has answered with an error.
    Server {
        /// Its SQLSTATE.
        state: String,
        /// Its text.
        message: String,
    },
    /// What the server sent is not the protocol; says what could not be read.
    Malformed(&'static str),
    /// The password cannot be proven as the server wants it.
    Login(&'static str),
}

impl Error {
    /// The SQLSTATE, if the server has answered with an error.
    pub fn state(&self) -> Option<&str> {
        match self {
            Error::Server { state, .. } => Some(state),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(e) => write!(f, "{e}"),
            Error::Server { state, message } => write!(f, "error {state}: {message}"),
            Error::Malformed(what) => write!(f, "the server's answer cannot be read: {what}"),
            Error::Login(why) => write!(f, "cannot log in: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(e: io::Error) -> Error {
        Error::Io(e)
    }
}

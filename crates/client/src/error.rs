//! What may go wrong on a client's side of the protocol.

use mysql_common::constants::CapabilityFlags;
use mysql_common::io::ParseBuf;
use mysql_common::packets::ErrPacket;
use mysql_common::proto::MyDeserialize;
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

/// The error of an error packet.
pub(crate) fn of_server(packet: &[u8]) -> Error {
    match ErrPacket::deserialize(CapabilityFlags::CLIENT_PROTOCOL_41, &mut ParseBuf(packet)) {
        Ok(ErrPacket::Error(error)) => Error::Server {
            code: error.error_code(),
            message: error.message_str().into_owned(),
        },
        _ => Error::Malformed("an error packet"),
    }
}

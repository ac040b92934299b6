//! The login: the user and the database; then whatever proof of the password the server asks for.
//!
//! Trust asks for none. MD5 and SCRAM-SHA-256 are proofs; a server that wants the password itself does not get it, since nothing
//! here encrypts it.

use super::Error;
use super::stream::Messages;
use crate::client::PROGRAM;
use crate::client::url::Url;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::{self, sasl};
use postgres_protocol::message::backend::{self, Message};
use postgres_protocol::message::frontend;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// How long a server may take to accept a connection and for each message of a login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Connects and logs in.
pub(super) fn log_in(url: &Url, database: &str) -> Result<Messages<TcpStream>, Error> {
    let stream = tidemark_client::connect_tcp(&url.host, url.port, LOGIN_TIMEOUT)?;
    stream.set_read_timeout(Some(LOGIN_TIMEOUT))?;
    let mut messages = Messages::new(stream);
    introduce(&mut messages, url, database)?;
    messages.stream().set_read_timeout(None)?;
    Ok(messages)
}

/// The login's messages, up to the first moment at which the server waits for a statement.
fn introduce<S: Read + Write>(messages: &mut Messages<S>, url: &Url, database: &str) -> Result<(), Error> {
    let login = &url.login;
    let told = [
        ("user", login.user.as_str()),
        ("database", database),
        ("application_name", PROGRAM),
        ("client_encoding", "UTF8"),
    ];
    frontend::startup_message(told, messages.output())?;
    messages.send()?;
    let mut scram = None;
    loop {
        match next(messages)? {
            Message::AuthenticationOk | Message::BackendKeyData(_) => {}
            Message::AuthenticationMd5Password(body) => {
                let proof =
                    authentication::md5_hash(login.user.as_bytes(), login.password.as_bytes(), body.salt());
                frontend::password_message(proof.as_bytes(), messages.output())?;
                messages.send()?;
            }
            Message::AuthenticationSasl(body) => {
                let is_known = body
                    .mechanisms()
                    .any(|mechanism| Ok(mechanism == sasl::SCRAM_SHA_256))?;
                if !is_known {
                    return Err(Error::Login(
                        "the server asks for no SASL mechanism that is known",
                    ));
                }
                let begun =
                    sasl::ScramSha256::new(login.password.as_bytes(), sasl::ChannelBinding::unsupported());
                frontend::sasl_initial_response(sasl::SCRAM_SHA_256, begun.message(), messages.output())?;
                messages.send()?;
                scram = Some(begun);
            }
            Message::AuthenticationSaslContinue(body) => {
                let scram = scram.as_mut().ok_or(Error::Malformed("a step of SASL"))?;
                scram.update(body.data())?;
                frontend::sasl_response(scram.message(), messages.output())?;
                messages.send()?;
            }
            Message::AuthenticationSaslFinal(body) => {
                let scram = scram.as_mut().ok_or(Error::Malformed("a step of SASL"))?;
                scram.finish(body.data())?;
            }
            Message::AuthenticationCleartextPassword => {
                return Err(Error::Login(
                    "the server wants the password itself, and nothing encrypts it",
                ));
            }
            Message::ReadyForQuery(_) => return Ok(()),
            _ => {
                return Err(Error::Login(
                    "the server asks for a proof that is not known (it may be trust, MD5 or SCRAM-SHA-256)",
                ));
            }
        }
    }
}

/// The next message that is part of the login.
fn next<S: Read + Write>(messages: &mut Messages<S>) -> Result<Message, Error> {
    loop {
        let tag = messages.receive()?;
        if is_aside(tag) {
            continue;
        }
        return match messages.message()? {
            Message::ErrorResponse(_) => Err(messages.error()),
            message => Ok(message),
        };
    }
}

/// True if the server may send such a message at any moment, and it is none of an answer.
fn is_aside(tag: u8) -> bool {
    matches!(
        tag,
        backend::NOTICE_RESPONSE_TAG | backend::PARAMETER_STATUS_TAG | backend::NOTIFICATION_RESPONSE_TAG
    )
}

//! A client of MySQL's protocol, for our own tools: it logs in, sends a statement, and reads the answer.
//!
//! ```text
//!  Client::connect   greeting, login, the steps of the account's plugin      (login)
//!  Client::query     COM_QUERY and its text result: rows of texts, or none   (answer)
//!  Client::run       the same, when its rows are only to be counted
//!  Client::prepare, execute   prepared statements, their rows counted        (statement)
//!    packets on the stream                                                   (frame)
//! ```
//!
//! `run` and `execute` allocate nothing: they are for a load generator, whose own work must stay small beside the server's.
//!
//! One connection belongs to one thread; reads and writes block. What packets hold is read and written by `mysql_common`,
//! which has MySQL's protocol apart from this project, as have the plugins' proofs of a password; this crate has their
//! order. There is no TLS: over a Unix socket a password needs none, over TCP it goes as a proof, or encrypted with
//! the server's key.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

mod answer;
mod error;
mod frame;
mod login;
mod statement;

pub use answer::{Outcome, Row};
pub use error::Error;
pub use statement::{Param, Statement};

use frame::Framed;
use mysql_common::constants::Command;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// How long a server may take to accept a connection and to answer each packet of a login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest packet that is sent or taken, bytes: MySQL's largest.
const PACKET_LEN_MAX: usize = 1 << 30;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A host's name or address, and a port.
    Tcp(String, u16),
    /// A Unix socket.
    Socket(PathBuf),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Tcp(host, port) => write!(f, "{host}:{port}"),
            Target::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

/// An account's name and password.
#[derive(Clone)]
pub struct Login {
    /// The name, without a host.
    pub user: String,
    /// Empty: none.
    pub password: String,
}

/// A connection that is logged in.
pub struct Client {
    framed: Framed,
    connection_id: u32,
}

impl Client {
    /// Connects and logs in. `program` is the name under which `performance_schema.session_connect_attrs` has the client.
    pub fn connect(target: &Target, login: &Login, program: &str) -> Result<Client, Error> {
        let stream = Stream::connect(target)?;
        stream.set_read_timeout(Some(LOGIN_TIMEOUT))?;
        let mut client = Client {
            framed: Framed::new(stream),
            connection_id: 0,
        };
        client.log_in(login, program)?;
        client.framed.stream().set_read_timeout(None)?;
        Ok(client)
    }

    /// The number that KILL and the process list know the connection by.
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// Runs one statement, and gives its rows; a statement without rows gives none.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.begin(Command::COM_QUERY).extend_from_slice(sql.as_bytes());
        self.framed.send()?;
        self.answer()
    }

    /// Runs one statement; its rows are counted.
    pub fn run(&mut self, sql: &[u8]) -> Result<Outcome, Error> {
        self.begin(Command::COM_QUERY).extend_from_slice(sql);
        self.framed.send()?;
        self.outcome()
    }

    /// How long to wait for bytes of an answer; `None`: for ever. After an error of that kind the connection is of no use any more.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> Result<(), Error> {
        Ok(self.framed.stream().set_read_timeout(timeout)?)
    }

    /// Something with which another thread can end the connection, whatever it waits for.
    pub fn breaker(&self) -> Result<Breaker, Error> {
        Ok(Breaker(self.framed.stream().try_clone()?))
    }

    /// A command's packet, to be filled and sent.
    fn begin(&mut self, command: Command) -> &mut Vec<u8> {
        self.framed.begin_command();
        let payload = self.framed.payload();
        payload.push(command as u8);
        payload
    }

    fn send(&mut self, payload: &[u8]) -> Result<(), Error> {
        self.framed.payload().extend_from_slice(payload);
        Ok(self.framed.send()?)
    }

    /// Reads the next packet. An error packet is an error; an end of the stream is one, too.
    fn receive(&mut self) -> Result<(), Error> {
        self.framed.receive()?;
        match self.framed.packet().first() {
            None => Err(Error::Malformed("a packet")),
            Some(&answer::ERROR) => Err(error::of_server(self.framed.packet())),
            Some(_) => Ok(()),
        }
    }
}

/// Connects to the first of a host's addresses that accepts, each of which has so long for it. What is written is sent at once.
pub fn connect_tcp(host: &str, port: u16, within: Duration) -> io::Result<TcpStream> {
    let mut why = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, within) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(e) => why = e,
        }
    }
    Err(why)
}

/// Ends a connection from another thread.
pub struct Breaker(Stream);

impl Breaker {
    /// Ends it: its client gets an error for what it waits for. One that has ended stays so.
    pub fn end(&self) {
        let _ = self.0.shutdown();
    }
}

/// The bytes below.
enum Stream {
    Tcp(TcpStream),
    Socket(UnixStream),
}

impl Stream {
    fn connect(target: &Target) -> io::Result<Stream> {
        match target {
            Target::Tcp(host, port) => Ok(Stream::Tcp(connect_tcp(host, *port, LOGIN_TIMEOUT)?)),
            Target::Socket(path) => Ok(Stream::Socket(UnixStream::connect(path)?)),
        }
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
            Stream::Socket(stream) => stream.set_read_timeout(timeout),
        }
    }

    fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Socket(stream) => Stream::Socket(stream.try_clone()?),
        })
    }

    fn shutdown(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Stream::Socket(stream) => stream.shutdown(Shutdown::Both),
        }
    }

    fn is_socket(&self) -> bool {
        matches!(self, Stream::Socket(_))
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Socket(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Socket(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

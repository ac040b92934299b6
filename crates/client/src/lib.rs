//! A client of MySQL's protocol, for our own tools: it logs in, sends a statement, and reads the answer.
//!
//! ```text
//!  Client::connect   greeting, login, the steps of the account's plugin      (login)
//!  Client::query     COM_QUERY and its text result: rows of texts, or none   (answer)
//! ```
//!
//! One connection belongs to one thread; reads and writes block. What packets hold is read and written by `mysql_common`,
//! which has MySQL's protocol apart from this project, as have the plugins' proofs of a password; this crate has their
//! order. There is no TLS: over a Unix socket a password needs none, over TCP it goes as a proof, or encrypted with
//! the server's key.

#![forbid(unsafe_code)]
#![warn(clippy::too_many_arguments)]

mod answer;
mod error;
mod login;

pub use answer::Row;
pub use error::Error;

use mysql_common::constants::Command;
use mysql_common::proto::sync_framed::MySyncFramed;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
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
    stream: MySyncFramed<Stream>,
    connection_id: u32,
    /// The packet that was read last; used again for the next.
    packet: Vec<u8>,
}

impl Client {
    /// Connects and logs in. `program` is the name under which `performance_schema.session_connect_attrs` has the client.
    pub fn connect(target: &Target, login: &Login, program: &str) -> Result<Client, Error> {
        let stream = Stream::connect(target)?;
        stream.set_read_timeout(Some(LOGIN_TIMEOUT))?;
        let mut framed = MySyncFramed::new(stream);
        framed.codec_mut().max_allowed_packet = PACKET_LEN_MAX;
        let mut client = Client {
            stream: framed,
            connection_id: 0,
            packet: Vec::new(),
        };
        client.log_in(login, program)?;
        client.stream.get_ref().set_read_timeout(None)?;
        Ok(client)
    }

    /// The number that KILL and the process list know the connection by.
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// Runs one statement, and gives its rows; a statement without rows gives none.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.stream.codec_mut().reset_seq_id();
        let mut command = Vec::with_capacity(1 + sql.len());
        command.push(Command::COM_QUERY as u8);
        command.extend_from_slice(sql.as_bytes());
        self.send(&command)?;
        self.answer()
    }

    fn send(&mut self, payload: &[u8]) -> Result<(), Error> {
        let mut payload = payload;
        self.stream.send(&mut payload)?;
        Ok(())
    }

    /// Reads the next packet into `packet`. An error packet is an error; an end of the stream is one, too.
    fn receive(&mut self) -> Result<(), Error> {
        self.packet.clear();
        if !self.stream.next_packet(&mut self.packet)? {
            return Err(Error::Io(io::ErrorKind::UnexpectedEof.into()));
        }
        match self.packet.first() {
            None => Err(Error::Malformed("a packet")),
            Some(&answer::ERROR) => Err(error::of_server(&self.packet)),
            Some(_) => Ok(()),
        }
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
            Target::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Target::Socket(path) => Ok(Stream::Socket(UnixStream::connect(path)?)),
        }
    }

    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
            Stream::Socket(stream) => stream.set_read_timeout(timeout),
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

//! One client's byte stream: TCP or a Unix socket, with or without TLS, and the time it is given.
//!
//! A [`Socket`] is shared between the thread that serves the client and any that may have to end the connection (KILL,
//! shutdown): closing it wakes the thread from whatever it waits for on the network.

use crate::packet::Source;
use crate::tls;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use socket2::SockRef;
use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tidemark_sql::waits::{self, Wait};
use tidemark_sql::{ClientSocket, Encryption};

#[derive(Clone)]
pub enum Socket {
    Tcp(Arc<TcpStream>),
    Unix(Arc<UnixStream>),
}

impl Socket {
    /// Ends the conversation: reads find the end of the stream, writes fail. Errors mean that it has ended already.
    pub fn close(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }

    /// Ends only what comes in, so that a last answer still goes out.
    pub fn close_reading(&self) {
        let _ = self.shutdown(Shutdown::Read);
    }

    /// Whether the client has closed its end, or said farewell (COM_QUIT): looks without waiting, and takes nothing. What is
    /// said inside TLS is not understood here. Only for the thread that reads, between two reads.
    pub fn is_left(&self) -> bool {
        const QUIT: [u8; 5] = [1, 0, 0, 0, 1];
        let (socket, mut next) = (self.options(), [0; 5]);
        if socket.set_nonblocking(true).is_err() {
            return true;
        }
        let peeked = match self {
            Socket::Tcp(stream) => stream.peek(&mut next),
            Socket::Unix(_) => socket.peek(&mut [MaybeUninit::uninit()]),
        };
        let blocks_again = socket.set_nonblocking(false);
        match peeked {
            Ok(0) => true,
            Ok(_) => next == QUIT || blocks_again.is_err(),
            Err(e) => !matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        }
    }

    /// As a session knows it.
    pub fn as_client(&self) -> ClientSocket {
        match self {
            Socket::Tcp(stream) => ClientSocket {
                number: stream.as_raw_fd(),
                peer: stream.peer_addr().ok(),
            },
            Socket::Unix(stream) => ClientSocket {
                number: stream.as_raw_fd(),
                peer: None,
            },
        }
    }

    fn options(&self) -> SockRef<'_> {
        match self {
            Socket::Tcp(stream) => SockRef::from(&**stream),
            Socket::Unix(stream) => SockRef::from(&**stream),
        }
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.shutdown(how),
            Socket::Unix(stream) => stream.shutdown(how),
        }
    }

    pub fn is_unix(&self) -> bool {
        matches!(self, Socket::Unix(_))
    }

    fn set_read_timeout(&self, wait: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_read_timeout(Some(wait)),
            Socket::Unix(stream) => stream.set_read_timeout(Some(wait)),
        }
    }

    fn set_write_timeout(&self, wait: Duration) -> io::Result<()> {
        match self {
            Socket::Tcp(stream) => stream.set_write_timeout(Some(wait)),
            Socket::Unix(stream) => stream.set_write_timeout(Some(wait)),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&mut &**stream).read(out),
            Socket::Unix(stream) => (&mut &**stream).read(out),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Tcp(stream) => (&mut &**stream).write(bytes),
            Socket::Unix(stream) => (&mut &**stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket and the bytes of its TLS conversation that were read before TLS was agreed on.
pub struct Resumed {
    early: Vec<u8>,
    socket: Socket,
}

impl Read for Resumed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.early.is_empty() {
            return self.socket.read(out);
        }
        let n = self.early.len().min(out.len());
        out[..n].copy_from_slice(&self.early[..n]);
        self.early.drain(..n);
        Ok(n)
    }
}

impl Write for Resumed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ServerConnection, Resumed>>),
}

/// How long a client is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the next command: `wait_timeout`.
    pub idle: Duration,
    /// For the rest of a packet: `net_read_timeout`.
    pub read: Duration,
    /// For the client to take an answer: `net_write_timeout`.
    pub write: Duration,
}

pub struct Transport {
    stream: Stream,
    socket: Socket,
    patience: Patience,
    /// The read timeout that the socket has now; changing it costs a system call.
    read_wait: Option<Duration>,
    /// Bytes received and sent that have not been counted yet.
    uncounted: (u64, u64),
    /// The waits for the client.
    pub waits: waits::Series,
}

impl Transport {
    pub fn new(socket: Socket, patience: Patience) -> io::Result<Transport> {
        socket.set_write_timeout(at_least_one_ms(patience.write))?;
        Ok(Transport {
            stream: Stream::Plain(socket.clone()),
            socket,
            patience,
            read_wait: None,
            uncounted: (0, 0),
            waits: waits::Series::default(),
        })
    }

    pub fn set_patience(&mut self, patience: Patience) -> io::Result<()> {
        if patience.write != self.patience.write {
            self.socket.set_write_timeout(at_least_one_ms(patience.write))?;
        }
        self.patience = patience;
        Ok(())
    }

    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// Goes on in TLS; `early` is what the client has sent of it already.
    pub fn start_tls(&mut self, config: Arc<ServerConfig>, early: Vec<u8>) -> io::Result<()> {
        let session = ServerConnection::new(config).map_err(io::Error::other)?;
        let below = Resumed {
            early,
            socket: self.socket.clone(),
        };
        let mut stream = StreamOwned::new(session, below);
        self.wait_for(self.patience.read)?;
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        self.stream = Stream::Tls(Box::new(stream));
        Ok(())
    }

    /// Nobody on the way can read what is sent: TLS, or a socket of this machine.
    pub fn is_private(&self) -> bool {
        self.socket.is_unix() || self.is_tls()
    }

    pub fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }

    /// What TLS has agreed on; `None` without it.
    pub fn encryption(&self) -> Option<Encryption> {
        match &self.stream {
            Stream::Plain(_) => None,
            Stream::Tls(stream) => Some(tls::encryption(&stream.conn)),
        }
    }

    /// Bytes received and sent since the last call, as the protocol has them, before TLS.
    pub fn take_traffic(&mut self) -> (u64, u64) {
        std::mem::take(&mut self.uncounted)
    }

    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.uncounted.1 += bytes.len() as u64;
        self.waits.timed(Wait::ClientWrite, || match &mut self.stream {
            Stream::Plain(socket) => socket.write_all(bytes),
            Stream::Tls(stream) => {
                stream.write_all(bytes)?;
                stream.flush()
            }
        })
    }

    #[inline]
    fn wait_for(&mut self, wait: Duration) -> io::Result<()> {
        if self.read_wait != Some(wait) {
            self.socket.set_read_timeout(at_least_one_ms(wait))?;
            self.read_wait = Some(wait);
        }
        Ok(())
    }
}

impl Read for Transport {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.waits.timed(Wait::ClientRead, || match &mut self.stream {
            Stream::Plain(socket) => socket.read(out),
            Stream::Tls(stream) => match stream.read(out) {
                // A client that closes the socket without a TLS farewell has closed it all the same.
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                other => other,
            },
        });
        if let Ok(bytes) = read {
            self.uncounted.0 += bytes as u64;
        }
        read
    }
}

impl Source for Transport {
    fn expect_command(&mut self) -> io::Result<()> {
        self.wait_for(self.patience.idle)
    }

    fn expect_rest(&mut self) -> io::Result<()> {
        self.wait_for(self.patience.read)
    }
}

/// A socket takes a wait of zero for none at all.
fn at_least_one_ms(wait: Duration) -> Duration {
    wait.max(Duration::from_millis(1))
}

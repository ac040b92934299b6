//! Accepts connections, each on a thread of its own.
//!
//! It listens before the data is open, so that `/ready` can say that the server is starting, and until the data is about to be closed.

use crate::response::{self, Response};
use crate::shared::{Place, Shared};
use crate::{request, routes};
use parking_lot::Mutex;
use socket2::SockRef;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tidemark_database::Database;

const STACK_LEN: usize = 512 << 10;
/// How long [`StatusServer::stop`] waits for those that are being answered.
const STOP_WAIT: Duration = Duration::from_secs(3);
/// How long a new connection waits until the threads of ended ones are gone.
const ADMIT_WAIT: Duration = Duration::from_millis(500);

/// The listener of the status page, and the threads that serve it. Dropping it stops it.
pub struct StatusServer {
    shared: Arc<Shared>,
    listener: Arc<TcpListener>,
    acceptor: Option<JoinHandle<()>>,
    sampler: Mutex<Option<JoinHandle<()>>>,
}

impl StatusServer {
    /// Listens on an address. Fails if it cannot be had.
    pub fn start(address: &str, port: u16) -> io::Result<StatusServer> {
        let named = |e: io::Error| {
            let hint = match e.kind() {
                io::ErrorKind::AddrInUse => "; --status-port chooses another",
                _ => "",
            };
            io::Error::new(
                e.kind(),
                format!("cannot show the status on {address}:{port}: {e}{hint}"),
            )
        };
        let found = (address, port).to_socket_addrs().map_err(named)?.next();
        let listener = found
            .ok_or_else(|| io::ErrorKind::NotFound.into())
            .and_then(TcpListener::bind)
            .map_err(named)?;
        let is_local = listener.local_addr()?.ip().to_canonical().is_loopback();
        let shared = Arc::new(Shared::new(is_local));
        let listener = Arc::new(listener);
        let (for_acceptor, socket) = (Arc::clone(&shared), Arc::clone(&listener));
        let acceptor = thread::Builder::new()
            .name("status-accept".into())
            .spawn(move || accept(&for_acceptor, &socket))?;
        Ok(StatusServer {
            shared,
            listener,
            acceptor: Some(acceptor),
            sampler: Mutex::default(),
        })
    }

    /// The address it listens on.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Whether only this machine can connect.
    pub fn is_local(&self) -> bool {
        self.shared.is_local
    }

    /// The data is open and clients can connect: it is shown from now on.
    pub fn attach(&self, database: Arc<Database>) -> io::Result<()> {
        let (hub, for_sampler) = (Arc::clone(&self.shared.hub), Arc::clone(&database));
        let sampler = thread::Builder::new()
            .name("status-sampler".into())
            .spawn(move || hub.run(&for_sampler))?;
        *self.sampler.lock() = Some(sampler);
        self.shared.attach(database);
        Ok(())
    }

    /// Clients are no longer let in: `/ready` says so.
    pub fn not_ready(&self) {
        self.shared.not_ready();
    }

    /// Stops listening, and lets go of the database.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(acceptor) = self.acceptor.take() else {
            return;
        };
        self.not_ready();
        self.shared.is_stopping.store(true, Ordering::Release);
        self.shared.hub.stop();
        if let Err(e) = SockRef::from(&*self.listener).shutdown(Shutdown::Both) {
            log::warn!("the listener of the status page could not be closed: {e}");
        }
        let sampler = self.sampler.lock().take();
        for thread in [Some(acceptor), sampler].into_iter().flatten() {
            if thread.join().is_err() {
                log::error!("a thread of the status page had panicked");
            }
        }
        self.shared.wait_until_left(STOP_WAIT);
        self.shared.detach();
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept(shared: &Arc<Shared>, listener: &TcpListener) {
    // One line for all that fail in a row.
    let mut failing = false;
    while !shared.is_stopping.load(Ordering::Acquire) {
        match listener.accept() {
            // One too many is closed without a word: words could be waited for.
            Ok((stream, peer)) => {
                failing = false;
                let stream = Arc::new(stream);
                let Some(place) = shared.admit(Arc::clone(&stream), peer.ip(), ADMIT_WAIT) else {
                    continue;
                };
                let spawned = thread::Builder::new()
                    .name("status".into())
                    .stack_size(STACK_LEN)
                    .spawn(move || converse(&place, &stream, peer.ip()));
                if let Err(e) = spawned {
                    log::warn!("no thread for a connection to the status page: {e}");
                }
            }
            Err(_) if shared.is_stopping.load(Ordering::Acquire) => return,
            Err(e) => {
                if !failing {
                    log::warn!("a connection to the status page could not be accepted: {e}");
                }
                failing = true;
                thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// The name by which accounts know the machine that a client is on, as at a login by MySQL's protocol.
fn host_of(ip: IpAddr) -> String {
    match ip.to_canonical() {
        ip if ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST => "localhost".to_owned(),
        ip => ip.to_string(),
    }
}

/// Reads one request and answers it. A client that breaks off is nobody's concern.
fn converse(place: &Place, stream: &TcpStream, peer: IpAddr) {
    let answered = match request::read(stream) {
        Ok(request) => routes::answer(place, stream, &request, &host_of(peer)),
        Err(request::Unreadable::Gone) => return,
        Err(request::Unreadable::Refused(status)) => {
            let why = match status {
                408 => "no request came in time",
                431 => "the request's head is too long",
                505 => "only HTTP/1.0 and HTTP/1.1 are understood",
                _ => "this is no HTTP request",
            };
            response::send(stream, &Response::text(status, why), false)
        }
    };
    // It is answered, and keeps nobody from being answered.
    let ended = answered.and_then(|()| response::linger(stream));
    if let Err(e) = ended {
        log::debug!("a connection to the status page: {e}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn clients_that_keep_an_answered_connection_open_keep_nobody_from_an_answer() {
        let server = StatusServer::start("127.0.0.1", 0).unwrap();
        let address = server.address().unwrap();
        let ask = |_| {
            let mut client = TcpStream::connect(address).unwrap();
            client
                .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                .unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).unwrap();
            assert!(answer.contains("the server is starting or stopping"), "{answer}");
            client
        };
        let open: Vec<TcpStream> = (0..150).map(ask).collect();
        drop((server, open));
    }
}

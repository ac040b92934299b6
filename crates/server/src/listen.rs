//! Listeners: TCP addresses and the Unix socket.

use crate::gate::Interface;
use crate::transport::Socket;
use socket2::{Domain, SockRef, Type};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Connections that may wait to be accepted: a thousand clients that start at once should not have to try again.
const BACKLOG: i32 = 4096;

pub struct Listener {
    source: Endpoint,
    interface: Interface,
}

enum Endpoint {
    Tcp(TcpListener),
    Unix(UnixListener, PathBuf),
}

impl Listener {
    fn ordinary(source: Endpoint) -> Listener {
        Listener {
            source,
            interface: Interface::Ordinary,
        }
    }

    /// The same listener, for administrators.
    pub fn administrative(self) -> Listener {
        Listener {
            interface: Interface::Administrative,
            ..self
        }
    }

    pub fn interface(&self) -> Interface {
        self.interface
    }

    /// Waits for the next client: its socket, its host and its port.
    pub fn accept(&self) -> io::Result<(Socket, String, u16)> {
        match &self.source {
            Endpoint::Tcp(listener) => {
                let (stream, address) = listener.accept()?;
                stream.set_nodelay(true)?;
                SockRef::from(&stream).set_keepalive(true)?;
                let ip = address.ip().to_canonical();
                let host = if is_this_machine(ip) {
                    "localhost".to_string()
                } else {
                    ip.to_string()
                };
                Ok((Socket::Tcp(Arc::new(stream)), host, address.port()))
            }
            Endpoint::Unix(listener, _) => {
                let (stream, _) = listener.accept()?;
                Ok((Socket::Unix(Arc::new(stream)), "localhost".to_string(), 0))
            }
        }
    }

    pub fn address(&self) -> Option<SocketAddr> {
        match &self.source {
            Endpoint::Tcp(listener) => listener.local_addr().ok(),
            Endpoint::Unix(..) => None,
        }
    }

    /// Ends the listening and wakes the threads that wait in [`Listener::accept`].
    pub fn close(&self) {
        let closed = match &self.source {
            Endpoint::Tcp(listener) => SockRef::from(listener).shutdown(Shutdown::Both),
            Endpoint::Unix(listener, path) => SockRef::from(listener)
                .shutdown(Shutdown::Both)
                .and_then(|()| fs::remove_file(path)),
        };
        if let Err(e) = closed {
            log::warn!("a listener could not be closed: {e}");
        }
    }
}

/// The addresses that clients of this machine use by themselves; another of 127.0.0.0/8 is a host like any other.
fn is_this_machine(ip: IpAddr) -> bool {
    ip == Ipv4Addr::LOCALHOST || ip == Ipv6Addr::LOCALHOST
}

/// Listens on each of the comma-separated addresses; `*` means every address of the machine.
pub fn listen_tcp(bind_address: &str, port: u16) -> io::Result<Vec<Listener>> {
    let mut listeners = Vec::new();
    for name in bind_address
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let bound = if name == "*" {
            let any_v6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, port));
            bind(any_v6).or_else(|_| bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))))
        } else {
            (name, port)
                .to_socket_addrs()
                .and_then(|mut found| found.next().ok_or(io::ErrorKind::NotFound.into()))
                .and_then(bind)
        };
        let named = |e: io::Error| {
            let hint = match e.kind() {
                io::ErrorKind::AddrInUse => "; --port chooses another",
                _ => "",
            };
            io::Error::new(e.kind(), format!("cannot listen on {name}:{port}: {e}{hint}"))
        };
        listeners.push(Listener::ordinary(Endpoint::Tcp(bound.map_err(named)?)));
    }
    Ok(listeners)
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Listens on a path. A socket on which no server answers is left over from a crash, and replaced.
pub fn listen_unix(path: &Path) -> io::Result<Listener> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("cannot listen on {}: {e}", path.display()));
    if fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
        if UnixStream::connect(path).is_ok() {
            return Err(named(io::ErrorKind::AddrInUse.into()));
        }
        fs::remove_file(path).map_err(named)?;
    }
    let listen = || {
        let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.bind(&socket2::SockAddr::unix(path)?)?;
        socket.listen(BACKLOG)?;
        // Accounts decide who gets in, not the file system.
        fs::set_permissions(path, fs::Permissions::from_mode(0o777))?;
        Ok(Listener::ordinary(Endpoint::Unix(
            socket.into(),
            path.to_path_buf(),
        )))
    };
    listen().map_err(named)
}

//! The client of a session: its account and address, what it can do, and how to reach it.

use crate::accounts::{AccountAuth, Encryption};
use std::net::SocketAddr;
use std::sync::Arc;

/// What the server knows of a connection after authentication: the account, the address, the capabilities of the client.
#[derive(Clone)]
pub struct ConnectInfo {
    /// CONNECTION_ID(), the number that KILL takes.
    pub connection_id: u64,
    /// The user name as the client gave it.
    pub user: String,
    /// The client's IP address, or `localhost` for a socket.
    pub host: String,
    /// The client's port; 0 for a socket.
    pub port: u16,
    /// The account that the login selected.
    pub account: AccountAuth,
    /// The database named in the handshake.
    pub database: Option<String>,
    /// The protocol's capability flags that both sides have.
    pub capabilities: u64,
    /// The collation number of the handshake.
    pub collation: u16,
    /// What TLS has agreed on; `None`: the connection is not encrypted.
    pub encryption: Option<Encryption>,
    /// What the client says of itself: names and values, in its order.
    pub attributes: Vec<(String, String)>,
    /// Nothing may be done before the password is changed.
    pub password_expired: bool,
    /// Wakes and watches the connection; `None` where there is none, as in an embedded database.
    pub client: Option<Arc<dyn Client>>,
}

impl ConnectInfo {
    /// `host:port`, as the process list shows it.
    pub fn address(&self) -> String {
        match self.port {
            0 => self.host.clone(),
            port => format!("{}:{port}", self.host),
        }
    }
}

/// Capability flags that the session looks at.
pub mod capability {
    /// CLIENT_FOUND_ROWS: an UPDATE counts the rows it found, not the rows it changed.
    pub const FOUND_ROWS: u64 = 2;
    /// CLIENT_LOCAL_FILES: the client sends its files when it is asked to.
    pub const LOCAL_FILES: u64 = 128;
    /// CLIENT_INTERACTIVE: `interactive_timeout` holds in place of `wait_timeout`.
    pub const INTERACTIVE: u64 = 1024;
    /// CLIENT_MULTI_STATEMENTS: one COM_QUERY may hold several statements.
    pub const MULTI_STATEMENTS: u64 = 1 << 16;
    /// CLIENT_SESSION_TRACK: OK packets say what has changed in the session.
    pub const SESSION_TRACK: u64 = 1 << 23;
    /// CLIENT_DEPRECATE_EOF: what ends rows has the form of an OK packet.
    pub const DEPRECATE_EOF: u64 = 1 << 24;
}

/// The socket by which a client is reached.
#[derive(Clone, Copy, Debug)]
pub struct ClientSocket {
    /// The operating system's number for it.
    pub number: i32,
    /// The client's address; `None` for a Unix socket.
    pub peer: Option<SocketAddr>,
}

/// The other end of a session's connection.
pub trait Client: Send + Sync {
    /// Its socket.
    fn socket(&self) -> ClientSocket;

    /// KILL CONNECTION: wakes the thread that waits for the client.
    fn wake(&self);

    /// Whether it has left; looks without waiting.
    fn is_gone(&self) -> bool;
}

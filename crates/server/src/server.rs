//! The server: listeners, the connections they take, and the end of it all.
//!
//! A thread per listener accepts; a thread per connection serves. The [`gate`](crate::gate) decides which clients are
//! admitted. Connections from a host with too many failed ones are refused at once (`max_connect_errors`).

use crate::auth::Authenticator;
use crate::channel::Channel;
use crate::client_log::{self, ClientLog};
use crate::connection::{self, Peer};
use crate::errors;
use crate::gate::{Gate, GateLimits, Interface};
use crate::listen::{Listener, listen_tcp, listen_unix};
use crate::tls::{self, Tls};
use crate::transport::{Patience, Socket, Transport};
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tidemark_sql::accounts::Refusal;
use tidemark_sql::error::depth;
use tidemark_sql::{Database, SERVER_ID, SqlError};

/// How long a stop waits for statements that do not notice.
const STOP_WAIT: Duration = Duration::from_secs(20);

/// How long it waits before it closes connections that still write.
const LAST_ANSWERS_WAIT: Duration = Duration::from_millis(500);

/// Where to listen, and with what.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Addresses to listen on, comma-separated; `*` for all. Empty: no TCP.
    pub bind_address: String,
    /// 0 takes any free port.
    pub port: u16,
    /// Path of the Unix socket to listen on. `None`: no socket.
    pub socket: Option<PathBuf>,
    /// The address of the administrative interface; empty: there is none.
    pub admin_address: String,
    /// The port of the administrative interface.
    pub admin_port: u16,
    /// Whether clients may ask for TLS, as the variables `ssl_cert`, `tls_version` and kin set it up.
    pub with_tls: bool,
}

/// A server that listens: its listeners, and the threads that accept connections on them. [`Server::start`] makes one.
pub struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Arc<Listener>>,
    acceptors: Vec<JoinHandle<()>>,
}

/// What all connections share.
pub struct Shared {
    pub database: Arc<Database>,
    pub authenticator: Authenticator,
    pub tls: Arc<Tls>,
    pub version: String,
    /// The plugin that clients are to begin with; accounts that use the other one ask for it.
    pub greeting_plugin: String,
    /// Logins that come to nothing.
    pub refused: ClientLog,
    /// Logins that succeed.
    pub logged_in: ClientLog,
    gate: Arc<Gate>,
    next_id: AtomicU64,
    stopping: AtomicBool,
}

impl Server {
    /// Listens and serves, on threads of its own.
    pub fn start(database: Arc<Database>, options: &ServerOptions) -> io::Result<Server> {
        let tls = Arc::new(Tls::default());
        if options.with_tls {
            match tls.load(&database, false) {
                // What SET PERSIST has stored keeps no server from starting.
                Err(error) if tls::VARIABLES.iter().any(|name| database.is_stored(name)) => log::error!(
                    "there is no TLS: {error}. Once the cause is gone, ALTER INSTANCE RELOAD TLS begins it"
                ),
                loaded => loaded?,
            }
            for name in ["have_ssl", "have_openssl"] {
                database
                    .set_variable_at_start(name, "YES")
                    .map_err(|e| io::Error::other(e.message))?;
            }
            let reloaded = Arc::clone(&tls);
            database.on_reload_tls(move |database, keep_on_error| {
                reloaded.load(database, keep_on_error).map_err(|e| e.to_string())
            });
        }
        let known = |name, otherwise: &str| database.variable(name).unwrap_or(otherwise.to_string());
        let shared = Arc::new(Shared {
            version: known("version", env!("CARGO_PKG_VERSION")),
            greeting_plugin: known("default_authentication_plugin", "caching_sha2_password"),
            authenticator: Authenticator::new(Arc::clone(&database)),
            tls,
            refused: ClientLog::new(client_log::REFUSED),
            logged_in: ClientLog::new(client_log::LOGGED_IN),
            gate: Arc::default(),
            next_id: AtomicU64::new(SERVER_ID + 1),
            stopping: AtomicBool::new(false),
            database,
        });
        let mut listeners = Vec::new();
        if !options.bind_address.is_empty() {
            listeners.extend(listen_tcp(&options.bind_address, options.port)?);
        }
        if !options.admin_address.is_empty() {
            let administrative = listen_tcp(&options.admin_address, options.admin_port)?;
            listeners.extend(administrative.into_iter().map(Listener::administrative));
        }
        if let Some(path) = &options.socket {
            listeners.push(listen_unix(path)?);
        }
        let mut server = Server {
            shared,
            listeners: listeners.into_iter().map(Arc::new).collect(),
            acceptors: Vec::new(),
        };
        for listener in &server.listeners {
            let (shared, listener) = (Arc::clone(&server.shared), Arc::clone(listener));
            let acceptor = thread::Builder::new()
                .name("accept".into())
                .spawn(move || accept(&shared, &listener))?;
            server.acceptors.push(acceptor);
        }
        let shared = Arc::clone(&server.shared);
        let watch = thread::Builder::new()
            .name("logins".into())
            .spawn(move || shared.gate.watch_logins(&shared.refused))?;
        server.acceptors.push(watch);
        Ok(server)
    }

    /// The TCP addresses it listens on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners
            .iter()
            .filter_map(|listener| listener.address())
            .collect()
    }

    /// Stops accepting, ends every connection (rolling back what it has open) and waits until the last one is gone.
    /// The database is left to its owner to shut down.
    pub fn stop(mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        for listener in &self.listeners {
            listener.close();
        }
        self.shared.gate.close();
        for acceptor in self.acceptors.drain(..) {
            if acceptor.join().is_err() {
                log::error!("a listener's thread had panicked");
            }
        }
        self.shared.end_connections();
        self.shared.refused.flush();
        self.shared.logged_in.flush();
    }
}

impl Shared {
    fn end_connections(&self) {
        let deadline = Instant::now() + STOP_WAIT;
        for (id, socket) in self.gate.clients() {
            // Whoever is still logging in has no session to kill.
            let _ = self.database.kill(id, false);
            // An answer that is on its way still goes out, that to SHUTDOWN above all.
            socket.close_reading();
        }
        self.gate.wait_until_empty(Instant::now() + LAST_ANSWERS_WAIT);
        for (_, socket) in self.gate.clients() {
            socket.close();
        }
        let left = self.gate.wait_until_empty(deadline);
        if left > 0 {
            log::warn!("{left} connections did not end in time");
        }
    }

    /// How long a client may take to log in.
    pub fn patience_at_login(&self) -> Patience {
        let seconds = |name, otherwise| match self.database.variable_u64(name) {
            0 => Duration::from_secs(otherwise),
            set => Duration::from_secs(set),
        };
        Patience {
            idle: seconds("connect_timeout", 10),
            read: seconds("net_read_timeout", 30),
            write: seconds("net_write_timeout", 60),
        }
    }

    pub fn max_connections(&self) -> usize {
        self.database.variable_u64("max_connections") as usize
    }

    fn limits(&self) -> GateLimits {
        GateLimits {
            logins: self.database.variable_u64("tidemark_max_logins") as usize,
            login_time: Duration::from_secs(self.database.variable_u64("connect_timeout")),
            connections: self.max_connections(),
        }
    }

    /// A connection's thread has begun, so long after it was asked for.
    fn note_launch(&self, took: Duration) {
        if took.as_secs() > self.database.variable_u64("slow_launch_time") {
            let slow = &self.database.counters().slow_launches;
            slow.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Of a connection's thread. A statement that needs more gets an error; `thread_stack` gives more, never less.
    fn stack_len(&self) -> usize {
        let wanted = self.database.variable_u64("thread_stack") as usize;
        wanted.clamp(depth::STACK_LEN, 1 << 30)
    }
}

fn accept(shared: &Arc<Shared>, listener: &Listener) {
    let mut spare = Spare::default();
    while !shared.stopping.load(Ordering::SeqCst) {
        match listener.accept() {
            Ok((socket, host, port)) => admit(shared, listener.interface(), socket, (host, port)),
            Err(_) if shared.stopping.load(Ordering::SeqCst) => return,
            Err(e) => {
                let failed = &shared.database.counters().failed_accepts;
                failed.fetch_add(1, Ordering::Relaxed);
                spare.log(&e);
                match spare.accept(listener, &e) {
                    Some(socket) => refuse(shared, socket, &errors::too_many_connections()),
                    None => thread::sleep(Duration::from_millis(100)),
                }
            }
        }
    }
}

/// A file that is open for nothing but to be closed when there can be no more: so there is one for a client that is one too
/// many, to be told so.
struct Spare {
    file: Option<File>,
    /// When it was logged last that connections are not accepted.
    logged: Option<Instant>,
}

impl Default for Spare {
    fn default() -> Spare {
        Spare {
            file: File::open("/dev/null").ok(),
            logged: None,
        }
    }
}

impl Spare {
    /// One line for all that fail within a while.
    fn log(&mut self, error: &io::Error) {
        const EVERY: Duration = Duration::from_secs(60);
        if self.logged.is_none_or(|logged| logged.elapsed() >= EVERY) {
            self.logged = Some(Instant::now());
            log::warn!("a connection could not be accepted: {error}");
        }
    }

    /// The client that could not be accepted because there were too many files.
    fn accept(&mut self, listener: &Listener, error: &io::Error) -> Option<Socket> {
        // The process has too many, or the system.
        const EMFILE: i32 = 24;
        const ENFILE: i32 = 23;
        let out_of_files = matches!(error.raw_os_error(), Some(EMFILE | ENFILE));
        if !out_of_files || self.file.take().is_none() {
            self.file = File::open("/dev/null").ok();
            return None;
        }
        let accepted = listener.accept();
        self.file = File::open("/dev/null").ok();
        accepted.ok().map(|(socket, _, _)| socket)
    }
}

/// Gives a new client its number and its thread, or the reason why not.
fn admit(shared: &Arc<Shared>, interface: Interface, socket: Socket, (host, port): (String, u16)) {
    let connection_id = shared.next_id.fetch_add(1, Ordering::Relaxed);
    let hosts = shared.database.hosts();
    if hosts.is_blocked(&host) {
        let errors_max = shared.database.variable_u64("max_connect_errors");
        hosts.failed(&host, Refusal::HostBlocked, errors_max);
        return refuse(shared, socket, &errors::host_blocked(&host));
    }
    let admitted = shared
        .gate
        .admit(&socket, (&host, connection_id), interface, shared.limits());
    let place = match admitted {
        Ok(place) => place,
        Err(error) => {
            let counters = shared.database.counters();
            counters.too_many_connections.fetch_add(1, Ordering::Relaxed);
            return refuse(shared, socket, &error);
        }
    };
    let peer = Peer {
        socket: socket.clone(),
        connection_id,
        host,
        port,
    };
    let stack_len = shared.stack_len();
    let for_thread = Arc::clone(shared);
    let asked = Instant::now();
    let spawned = thread::Builder::new()
        .name(format!("connection {connection_id}"))
        .stack_size(stack_len)
        .spawn(move || {
            depth::set_stack_len(stack_len);
            for_thread.note_launch(asked.elapsed());
            tidemark_memory::thread_begins();
            connection::serve(&for_thread, peer, place)
        });
    if let Err(e) = spawned {
        let failed = &shared.database.counters().failed_threads;
        failed.fetch_add(1, Ordering::Relaxed);
        refuse(shared, socket, &errors::no_thread(&e));
    }
}

fn refuse(shared: &Shared, socket: Socket, error: &SqlError) {
    let told = Transport::new(socket.clone(), shared.patience_at_login()).and_then(|transport| {
        let mut channel = Channel::new(transport);
        channel.error(error);
        channel.send()
    });
    if let Err(e) = told {
        log::debug!("a refused connection: {e}");
    }
    socket.close();
}

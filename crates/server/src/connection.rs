//! One client from its first byte to its last, on a thread of its own.
//!
//! The thread reads a command, runs it, sends the answer, and so on; row locks and commits simply park it. Whatever
//! goes wrong here ends this connection and no other: a packet out of order, a client that vanishes, even a panic, which is
//! caught, logged and answered with an error before the session is rolled back.

use crate::auth::{AUTH_PACKET_LEN_MAX, Attempt, Failure};
use crate::capability::{self, Capabilities};
use crate::channel::Channel;
use crate::command::{self, CHANGE_USER, Commands, Next};
use crate::errors;
use crate::gate::{ConnectionSlot, Interface};
use crate::handshake::{self, Greeting, Login, Nonce};
use crate::packet::{Input, ReadError, Remainder};
use crate::server::Shared;
use crate::transport::{Patience, Socket, Transport};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, ThreadId};
use std::time::Duration;
use tidemark_sql::accounts::{Privileges, Refusal, privilege_missing};
use tidemark_sql::status;
use tidemark_sql::{Client, ClientSocket};
use tidemark_sql::{ConnectInfo, Counter, Session, SqlError};

/// Answers are collected for a client that has already sent its next command, up to this size.
const COLLECTED_LEN_MAX: usize = 64 << 10;
/// `utf8mb4_0900_ai_ci`, as far as a greeting's byte can say.
const GREETING_COLLATION: u16 = 255;

/// The errors of a login by a client that did not keep to the protocol.
const BROKEN_LOGIN: [u16; 6] = [1043, 1153, 1156, 1159, 1835, 4031];

/// A client as its socket shows it.
pub struct Peer {
    pub socket: Socket,
    pub connection_id: u64,
    /// `localhost` for the machine itself, else an IP address.
    pub host: String,
    pub port: u16,
}

/// Why a conversation is over.
enum End {
    /// The client left, or is not there any more.
    Gone,
    /// The client is told why.
    Told(SqlError),
    /// The client is told that its password is wrong, though it is right: the account is locked.
    Locked(SqlError),
    Failed(io::Error),
    /// TLS could not be agreed on.
    NoTls(io::Error),
}

impl End {
    /// What a login that ended like this came to.
    fn refusal(&self) -> Refusal {
        match self {
            End::Gone | End::Failed(_) => Refusal::Handshake,
            End::NoTls(_) => Refusal::Tls,
            End::Locked(_) => Refusal::AccountLocked,
            End::Told(error) if BROKEN_LOGIN.contains(&error.code) => Refusal::Handshake,
            End::Told(error) => Refusal::of(error.code, &error.message),
        }
    }
}

impl From<ReadError> for End {
    fn from(e: ReadError) -> End {
        match e {
            ReadError::Closed => End::Gone,
            ReadError::Idle => End::Told(errors::idle_too_long()),
            ReadError::Truncated => End::Told(errors::read_interrupted()),
            ReadError::TooLarge(_) => End::Told(errors::packet_too_large()),
            ReadError::NoMemory(_) => End::Told(errors::out_of_memory()),
            ReadError::OutOfOrder => End::Told(errors::packets_out_of_order()),
            ReadError::Io(e) => End::Failed(e),
        }
    }
}

impl From<io::Error> for End {
    fn from(e: io::Error) -> End {
        End::Failed(e)
    }
}

impl From<Failure> for End {
    fn from(failure: Failure) -> End {
        match failure {
            Failure::Refused(error) => End::Told(error),
            Failure::Locked(error) => End::Locked(error),
            Failure::Read(e) => e.into(),
            Failure::Write(e) => End::Failed(e),
        }
    }
}

/// Serves a client until it leaves; its slot is free again after that.
pub fn serve(shared: &Arc<Shared>, peer: Peer, mut slot: ConnectionSlot) {
    let _memory = tidemark_memory::begin_session();
    let transport = match Transport::new(peer.socket.clone(), shared.patience_at_login()) {
        Ok(transport) => transport,
        Err(e) => return log::debug!("connection {}: {e}", peer.connection_id),
    };
    let mut connection = Connection {
        shared: Arc::clone(shared),
        peer,
        channel: Channel::new(transport),
        input: Input::new(),
        commands: Commands::default(),
        nonce: Nonce::random(),
    };
    let hosts = shared.database.hosts();
    let mut session = match caught(|| connection.log_in(&mut slot)) {
        Ok(session) => session,
        Err(end) => {
            let counters = shared.database.counters();
            counters.aborted_connects.fetch_add(1, Ordering::Relaxed);
            let id = connection.peer.connection_id;
            let why = match &end {
                End::Told(error) => Some((error, "")),
                End::Locked(error) => Some((error, ", since the account is locked")),
                _ => None,
            };
            if let Some((error, why)) = why {
                let line = || format!("connection {id}: no login: {error}{why}");
                shared.refused.note(&connection.peer.host, line);
            }
            let errors_max = shared.database.variable_u64("max_connect_errors");
            hosts.failed(&connection.peer.host, end.refusal(), errors_max);
            return connection.end(end);
        }
    };
    hosts.succeeded(&connection.peer.host);
    connection.channel.transport.waits.count_for(session.serve_here());
    let (id, info) = (connection.peer.connection_id, &session.state().info);
    let tls = if connection.channel.transport.is_tls() {
        " by TLS"
    } else {
        ""
    };
    let line = || format!("connection {id}: {}@{} has logged in{tls}", info.user, info.host);
    shared.logged_in.note(&info.host, line);
    let ended = caught(|| connection.converse(&mut session));
    connection.count_traffic(&session);
    if let Err(end) = ended {
        if !matches!(end, End::Gone) {
            let counters = shared.database.counters();
            counters.aborted_clients.fetch_add(1, Ordering::Relaxed);
        }
        connection.end(end);
    }
    let id = connection.peer.connection_id;
    if catch_unwind(AssertUnwindSafe(move || drop(session))).is_err() {
        log::error!("connection {id}: ending its session panicked");
    }
}

/// Runs a part of the conversation; a panic in it becomes an error for the client.
fn caught<T>(part: impl FnOnce() -> Result<T, End>) -> Result<T, End> {
    catch_unwind(AssertUnwindSafe(part)).unwrap_or_else(|_| Err(End::Told(errors::internal())))
}

struct Connection {
    shared: Arc<Shared>,
    peer: Peer,
    channel: Channel,
    input: Input,
    commands: Commands,
    /// What the latest proof of a password was made with.
    nonce: Nonce,
}

impl Connection {
    fn log_in(&mut self, slot: &mut ConnectionSlot) -> Result<Session, End> {
        let tls = self.shared.tls.config();
        let ours = capability::of_server(tls.is_some());
        let greeting = Greeting {
            version: &self.shared.version,
            connection_id: self.peer.connection_id,
            nonce: &self.nonce,
            capabilities: ours,
            collation: GREETING_COLLATION,
            status: status::AUTOCOMMIT,
            plugin: &self.shared.greeting_plugin,
        };
        handshake::put_greeting(self.channel.out.begin(), &greeting);
        self.channel.out.end();
        self.channel.send()?;

        let mut packet = self.channel.read(&mut self.input, AUTH_PACKET_LEN_MAX)?.to_vec();
        if let Some(config) = tls
            && handshake::is_tls_request(&packet)
        {
            let early = self.input.take_buffered();
            let counters = self.shared.database.counters();
            counters.ssl_accepts.fetch_add(1, Ordering::Relaxed);
            let agreed = self.channel.transport.start_tls(config, early);
            agreed.map_err(End::NoTls)?;
            counters.ssl_finished_accepts.fetch_add(1, Ordering::Relaxed);
            packet = self.channel.read(&mut self.input, AUTH_PACKET_LEN_MAX)?.to_vec();
        }
        let login = Login::parse(&packet, ours).map_err(|_| End::Told(errors::bad_handshake()))?;
        self.channel.capabilities = login.capabilities;
        let demands_privacy = self
            .shared
            .database
            .variable("require_secure_transport")
            .as_deref()
            == Some("ON");
        if demands_privacy && !self.channel.transport.is_private() {
            return Err(End::Told(errors::insecure_transport()));
        }
        let info = self.authenticate(&login, false, &|| slot.is_over())?;
        let database = Arc::clone(&self.shared.database);
        let privileges = database.global_privileges(&info.account);
        if slot.interface() == Interface::Administrative
            && !privileges.contains(Privileges::SERVICE_CONNECTION_ADMIN)
        {
            return Err(End::Told(privilege_missing("SERVICE_CONNECTION_ADMIN")));
        }
        let is_administrator = privileges.intersects(Privileges::ADMINISTERS_CONNECTIONS);
        slot.establish(self.shared.max_connections(), is_administrator)
            .map_err(|error| {
                database
                    .counters()
                    .too_many_connections
                    .fetch_add(1, Ordering::Relaxed);
                End::Told(error)
            })?;
        let mut session = Session::connect(database, info).map_err(End::Told)?;
        session.run_init_connect().map_err(End::Told)?;
        self.greet(&session)?;
        Ok(session)
    }

    /// Checks who a client is, and makes what the session is told of it.
    /// `is_over` says whether it is still wanted.
    fn authenticate(
        &mut self,
        login: &Login,
        is_stale: bool,
        is_over: &dyn Fn() -> bool,
    ) -> Result<ConnectInfo, End> {
        let user = handshake::user_name(login.user);
        let socket = self.peer.socket.clone();
        let account = self.shared.database.account(&user, &self.peer.host);
        let attempt = Attempt {
            user: &user,
            host: &self.peer.host,
            plugin: login.plugin,
            proof: login.proof,
            is_stale,
            is_over: &|| is_over() || socket.is_left(),
        };
        self.shared.authenticator.check(
            &mut self.channel,
            &mut self.input,
            &mut self.nonce,
            account.as_ref(),
            &attempt,
        )?;
        // The account may have been changed while the client was asked: what it has proved is then worth nothing.
        let account = account.filter(|account| self.shared.database.is_current(account));
        let Some(account) = account else {
            return Err(End::Told(errors::access_denied(&user, &self.peer.host, true)));
        };
        let encryption = self.channel.transport.encryption();
        let password_expired = self.shared.database.is_password_expired(&account);
        if password_expired && !login.capabilities.has(Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS) {
            let disconnects = self.shared.database.variable("disconnect_on_expired_password");
            if disconnects.as_deref() != Some("OFF") {
                return Err(End::Told(errors::password_expired()));
            }
        }
        Ok(ConnectInfo {
            connection_id: self.peer.connection_id,
            user,
            host: self.peer.host.clone(),
            port: self.peer.port,
            account,
            database: login.database.map(command::text),
            capabilities: login.capabilities.0 as u64,
            collation: login.collation,
            encryption,
            attributes: self.attributes(login),
            password_expired,
            client: Some(Arc::new(Remote {
                socket: self.peer.socket.clone(),
                thread: thread::current().id(),
            })),
        })
    }

    /// What the client says of itself, as much as is kept.
    fn attributes(&self, login: &Login) -> Vec<(String, String)> {
        let (kept, all) = login.attributes();
        let counters = self.shared.database.counters();
        let len = login.attributes.len() as u64;
        counters.longest_attributes.fetch_max(len, Ordering::Relaxed);
        counters
            .cut_attributes
            .fetch_add(u64::from(!all), Ordering::Relaxed);
        kept
    }

    /// Tells the client that it is in.
    fn greet(&mut self, session: &Session) -> Result<(), End> {
        command::ok(&mut self.channel, session);
        self.channel.send()?;
        Ok(())
    }

    fn converse(&mut self, session: &mut Session) -> Result<(), End> {
        loop {
            self.count_traffic(session);
            self.adopt_timeouts(session)?;
            let len_max = session.max_allowed_packet();
            let packet = match self.channel.read_command(&mut self.input, len_max) {
                Ok(packet) => packet,
                Err(_) if session.is_killed() => return Err(End::Gone),
                Err(ReadError::TooLarge(left)) => {
                    return self.refuse_packet(&errors::packet_too_large(), left);
                }
                Err(ReadError::NoMemory(left)) => {
                    return self.refuse_packet(&errors::out_of_memory(), left);
                }
                Err(e) => return Err(e.into()),
            };
            session.arrived_at(self.channel.transport.waits.moment.take());
            let next = if packet.first() == Some(&CHANGE_USER) {
                if packet.len() > AUTH_PACKET_LEN_MAX {
                    return Err(End::Told(errors::malformed_packet()));
                }
                let packet = packet.to_vec();
                self.change_user(&packet[1..], session)?;
                Next::Command
            } else {
                self.commands.run(packet, &mut self.channel, session)
            };
            self.channel.transport.waits.moment = session.ended_at();
            if self.channel.is_broken() {
                return Err(End::Gone);
            }
            let over = next == Next::Close || session.is_killed();
            let collected = over || !self.input.has_packet() || self.channel.out.len() > COLLECTED_LEN_MAX;
            if collected && !self.channel.out.is_empty() {
                self.channel.send()?;
            }
            if over {
                return Err(End::Gone);
            }
        }
    }

    /// Says why a packet is not taken when the whole of it has come: its sender reads nothing before.
    fn refuse_packet(&mut self, error: &SqlError, left: Remainder) -> Result<(), End> {
        let channel = &mut self.channel;
        self.input
            .skip(&mut channel.transport, &mut channel.out.sequence, left)?;
        channel.error(error);
        channel.send()?;
        Err(End::Gone)
    }

    fn count_traffic(&mut self, session: &Session) {
        let (received, sent) = self.channel.transport.take_traffic();
        session.state().count(Counter::BytesReceived, received);
        session.state().count(Counter::BytesSent, sent);
    }

    /// COM_CHANGE_USER: another login on the same connection. A refusal ends the connection.
    fn change_user(&mut self, packet: &[u8], session: &mut Session) -> Result<(), End> {
        let login = Login::parse_change(packet, self.channel.capabilities)
            .map_err(|_| End::Told(errors::unknown_command()))?;
        // Clients differ in whether they answer the nonce of the greeting or the latest, so they get a new one.
        let is_stale = login.plugin.is_some() && !login.proof.is_empty();
        let info = self.authenticate(&login, is_stale, &|| session.is_killed())?;
        self.commands.forget();
        session.count_command(tidemark_sql::command::ADMIN);
        session.change_user(info).map_err(End::Told)?;
        self.greet(session)
    }

    fn adopt_timeouts(&mut self, session: &Session) -> Result<(), End> {
        let idle = Duration::from_secs(session.idle_timeout_s());
        let patience = self.channel.transport.patience();
        if patience.idle != idle {
            self.channel
                .transport
                .set_patience(Patience { idle, ..patience })?;
        }
        Ok(())
    }

    fn end(&mut self, end: End) {
        let id = self.peer.connection_id;
        match end {
            End::Gone => {}
            End::Failed(e) | End::NoTls(e) => log::debug!("connection {id}: {e}"),
            End::Told(error) | End::Locked(error) => {
                log::debug!("connection {id}: {error}");
                // A client that is told something out of turn reads it as the answer to its next command.
                self.channel.out.sequence = self.channel.out.sequence.max(1);
                self.channel.error(&error);
                if let Err(e) = self.channel.send() {
                    log::debug!("connection {id}: {e}");
                }
            }
        }
        self.peer.socket.close();
    }
}

/// A client as its session knows it.
struct Remote {
    socket: Socket,
    /// The one that serves it.
    thread: ThreadId,
}

impl Client for Remote {
    fn socket(&self) -> ClientSocket {
        self.socket.as_client()
    }

    /// A connection that kills itself can still send its answer.
    fn wake(&self) {
        if thread::current().id() == self.thread {
            self.socket.close_reading();
        } else {
            self.socket.close();
        }
    }

    fn is_gone(&self) -> bool {
        self.socket.is_left()
    }
}

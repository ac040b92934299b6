//! The gate: how many may log in at once, for how long, and how many may stay.
//!
//! ```text
//!            tidemark_max_logins                   max_connections, and one more
//!            connect_timeout for each              for an administrator
//!   accept ──────► logging in ─── establish ────► established ──────► closed
//!                      │
//!                      └── evicted for a new one: the oldest login of the host that has most of them
//! ```
//!
//! Logins and established sessions are bounded separately, so that clients that never finish their login take nothing
//! from those that do. When all logins are taken, a new one evicts the oldest login of the host that has most of them. So
//! an honest client is evicted only if the attacker uses the same host and opens `tidemark_max_logins` connections in
//! the time of one login.
//!
//! A login has one deadline, whatever it consists of: greeting, TLS, proof, another proof, the password itself. It is
//! enforced by a thread that closes the sockets of logins past it, so that no read or write can start the time anew.
//!
//! Whoever has just closed a connection may be back before that connection's thread has noticed. So a login that finds all
//! sessions taken waits a moment for one to end, before it is refused.
//!
//! The administrative interface (`admin_address`) has logins of its own, and no limit of established sessions.

use crate::client_log::ClientLog;
use crate::errors;
use crate::transport::Socket;
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidemark_sql::SqlError;
use tidemark_sql::network::limited_as;

/// How long a login waits for a session to end. Long enough for threads that only have to be scheduled to end theirs.
const FREED_WITHIN: Duration = Duration::from_millis(500);

/// The listener through which a client connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    Ordinary,
    Administrative,
}

/// The limits at the moment a client connects.
#[derive(Clone, Copy, Debug)]
pub struct GateLimits {
    /// `tidemark_max_logins`
    pub logins: usize,
    /// `connect_timeout`
    pub login_time: Duration,
    /// `max_connections`
    pub connections: usize,
}

#[derive(Default)]
pub struct Gate {
    state: Mutex<State>,
    /// A login has begun that may be the next to run out of time, or the server stops.
    watch: Condvar,
    /// An established session has ended.
    freed: Condvar,
    last_left: Condvar,
}

#[derive(Default)]
struct State {
    /// All clients that have a thread, by connection number.
    clients: HashMap<u64, Socket>,
    ordinary: InterfaceClients,
    administrative: InterfaceClients,
    /// By host, how many threads are left of logins that have come to nothing.
    ending: HashMap<Arc<str>, usize>,
    closed: bool,
}

/// The clients of one interface.
#[derive(Default)]
struct InterfaceClients {
    /// Unfinished logins, by deadline and connection number.
    logins: BTreeMap<Login, PendingLogin>,
    /// How many of them each host has.
    of_hosts: HashMap<Arc<str>, usize>,
    established: usize,
}

type Login = (Instant, u64);

struct PendingLogin {
    socket: Socket,
    host: Arc<str>,
    over: Arc<AtomicBool>,
}

impl PendingLogin {
    /// The login has come to nothing: its thread is to end.
    fn give_up(&self) {
        self.over.store(true, Ordering::Release);
        self.socket.close();
    }
}

impl InterfaceClients {
    fn begin(&mut self, login: Login, socket: Socket, host: &Arc<str>) -> Arc<AtomicBool> {
        *self.of_hosts.entry(Arc::clone(host)).or_default() += 1;
        let over = Arc::new(AtomicBool::new(false));
        let pending = PendingLogin {
            socket,
            host: Arc::clone(host),
            over: Arc::clone(&over),
        };
        self.logins.insert(login, pending);
        over
    }

    /// Takes a login out, if it is still there.
    fn end(&mut self, login: Login) -> Option<PendingLogin> {
        let pending = self.logins.remove(&login)?;
        count_down(&mut self.of_hosts, &pending.host);
        Some(pending)
    }

    /// The login to evict for a new one.
    fn to_evict(&self) -> Option<Login> {
        let (most, _) = self.of_hosts.iter().max_by_key(|(_, count)| **count)?;
        let mut logins = self.logins.iter();
        let (login, _) = logins.find(|(_, pending)| pending.host == *most)?;
        Some(*login)
    }
}

/// One less of a host.
fn count_down(counts: &mut HashMap<Arc<str>, usize>, host: &Arc<str>) {
    if let Some(count) = counts.get_mut(host) {
        *count -= 1;
        if *count == 0 {
            counts.remove(host);
        }
    }
}

impl State {
    /// Whether there are too many threads for one more of this host. The threads of logins that came to nothing end by
    /// themselves, a little later: until then they count, first of all against the host that has them.
    fn has_too_many_threads(&self, host: &str, limits: GateLimits) -> bool {
        let threads_max = limits.connections + 1 + 2 * limits.logins;
        let most = match self.ending.contains_key(host) {
            true => threads_max,
            false => threads_max + limits.logins,
        };
        self.clients.len() >= most
    }

    /// A login has come to nothing: its thread is to end.
    fn give_up(&mut self, interface: Interface, login: Login) {
        if let Some(pending) = self.clients_of(interface).end(login) {
            pending.give_up();
            *self.ending.entry(pending.host).or_default() += 1;
        }
    }

    fn clients_of(&mut self, interface: Interface) -> &mut InterfaceClients {
        match interface {
            Interface::Ordinary => &mut self.ordinary,
            Interface::Administrative => &mut self.administrative,
        }
    }
}

/// A client's slot, given back when it is dropped.
pub struct ConnectionSlot {
    gate: Arc<Gate>,
    interface: Interface,
    login: Login,
    host: Arc<str>,
    over: Arc<AtomicBool>,
    established: bool,
}

impl Gate {
    /// Admits a client to log in. Error 1040 if no more sessions can be established.
    pub fn admit(
        self: &Arc<Gate>,
        socket: &Socket,
        (host, connection_id): (&str, u64),
        interface: Interface,
        limits: GateLimits,
    ) -> Result<ConnectionSlot, SqlError> {
        let login = (Instant::now() + limits.login_time, connection_id);
        let host = &*limited_as(host);
        let mut state = self.state.lock();
        let full =
            state.ordinary.established > limits.connections || state.has_too_many_threads(host, limits);
        if full && interface == Interface::Ordinary {
            return Err(errors::too_many_connections());
        }
        state.clients.insert(connection_id, socket.clone());
        while state.clients_of(interface).logins.len() >= limits.logins.max(1)
            && let Some(other) = state.clients_of(interface).to_evict()
        {
            state.give_up(interface, other);
        }
        let clients_of = state.clients_of(interface);
        let host: Arc<str> = host.into();
        let over = clients_of.begin(login, socket.clone(), &host);
        let is_next = clients_of.logins.first_key_value().map(|(key, _)| *key) == Some(login);
        drop(state);
        if is_next {
            self.watch.notify_one();
        }
        Ok(ConnectionSlot {
            gate: Arc::clone(self),
            interface,
            login,
            host,
            over,
            established: false,
        })
    }

    /// Closes the sockets of logins past their deadline, until the gate is closed.
    pub fn watch_logins(&self, log: &ClientLog) {
        let mut state = self.state.lock();
        while !state.closed {
            let now = Instant::now();
            let mut next: Option<Instant> = None;
            for interface in [Interface::Ordinary, Interface::Administrative] {
                while let Some((&login, pending)) = state.clients_of(interface).logins.first_key_value() {
                    let (deadline, connection_id) = login;
                    if deadline > now {
                        next = Some(next.map_or(deadline, |other| other.min(deadline)));
                        break;
                    }
                    log.note(&pending.host, || {
                        format!("connection {connection_id}: the login took longer than connect_timeout")
                    });
                    state.give_up(interface, login);
                }
            }
            match next {
                Some(deadline) => {
                    self.watch.wait_until(&mut state, deadline);
                }
                None => self.watch.wait(&mut state),
            }
        }
    }

    /// Ends [`watch_logins`](Self::watch_logins).
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.watch.notify_all();
        self.freed.notify_all();
    }

    /// All clients that have a thread.
    pub fn clients(&self) -> Vec<(u64, Socket)> {
        let state = self.state.lock();
        let clients = state.clients.iter();
        clients.map(|(id, socket)| (*id, socket.clone())).collect()
    }

    /// Waits until all clients have ended. Returns how many have not by the deadline.
    pub fn wait_until_empty(&self, deadline: Instant) -> usize {
        let mut state = self.state.lock();
        while !state.clients.is_empty() {
            if self.last_left.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.clients.len()
    }
}

impl ConnectionSlot {
    pub fn interface(&self) -> Interface {
        self.interface
    }

    /// True once the login was evicted, or has run out of time.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// The client is authenticated: its login becomes a session. Error 1040 if `max_connections` are established, and still
    /// are after [`FREED_WITHIN`]; an administrator may have one more.
    pub fn establish(&mut self, connections: usize, is_administrator: bool) -> Result<(), SqlError> {
        let limit = match self.interface {
            Interface::Ordinary => connections + is_administrator as usize,
            Interface::Administrative => usize::MAX,
        };
        let deadline = Instant::now() + FREED_WITHIN;
        let mut is_late = false;
        let mut state = self.gate.state.lock();
        while state.clients_of(self.interface).established >= limit {
            if is_late || self.is_over() || state.closed {
                return Err(errors::too_many_connections());
            }
            is_late = self.gate.freed.wait_until(&mut state, deadline).timed_out();
        }
        let clients_of = state.clients_of(self.interface);
        clients_of.established += 1;
        clients_of.end(self.login);
        self.established = true;
        Ok(())
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock();
        state.clients.remove(&self.login.1);
        if self.is_over() {
            count_down(&mut state.ending, &self.host);
        }
        let clients_of = state.clients_of(self.interface);
        match self.established {
            true => {
                clients_of.established -= 1;
                self.gate.freed.notify_all();
            }
            false => drop(clients_of.end(self.login)),
        }
        if state.clients.is_empty() {
            self.gate.last_left.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_log;
    use std::io::{ErrorKind, Read};
    use std::os::unix::net::UnixStream;

    const LIMITS: GateLimits = GateLimits {
        logins: 3,
        login_time: Duration::from_secs(60),
        connections: 2,
    };

    fn pair() -> (Socket, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        (Socket::Unix(Arc::new(ours)), theirs)
    }

    fn is_closed(mut client: &UnixStream) -> bool {
        match client.read(&mut [0]) {
            Ok(n) => n == 0,
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::WouldBlock);
                false
            }
        }
    }

    fn connect(
        gate: &Arc<Gate>,
        id: u64,
        limits: GateLimits,
    ) -> (Result<ConnectionSlot, SqlError>, UnixStream) {
        let (socket, client) = pair();
        (
            gate.admit(&socket, ("far", id), Interface::Ordinary, limits),
            client,
        )
    }

    #[test]
    fn the_oldest_login_is_evicted_and_sessions_are_counted_apart() {
        let gate = Arc::new(Gate::default());
        let mut waiting: Vec<_> = (0..3).map(|id| connect(&gate, id, LIMITS)).collect();
        let (newcomer, client) = connect(&gate, 3, LIMITS);
        assert!(is_closed(&waiting[0].1) && !is_closed(&waiting[1].1));
        let mut newcomer = newcomer.unwrap();
        newcomer.establish(2, false).unwrap();
        assert!(!is_closed(&client));
        drop(newcomer);
        let mut established: Vec<ConnectionSlot> =
            waiting.drain(1..).map(|(slot, _)| slot.unwrap()).collect();
        assert!(
            established
                .iter_mut()
                .all(|slot| slot.establish(2, false).is_ok())
        );
        // Both sessions are taken: one more is an administrator's, and then there is none.
        let (mut slot, _client) = connect(&gate, 4, LIMITS);
        assert_eq!(slot.as_mut().unwrap().establish(2, false).unwrap_err().code, 1040);
        assert!(slot.as_mut().unwrap().establish(2, true).is_ok());
        let (refused, _client) = connect(&gate, 5, LIMITS);
        assert_eq!(refused.err().unwrap().code, 1040);
        let (socket, _client) = pair();
        let mut by_admin = gate
            .admit(&socket, ("far", 6), Interface::Administrative, LIMITS)
            .unwrap();
        assert!(by_admin.establish(2, false).is_ok());
        drop((slot, established, by_admin, waiting));
        assert_eq!(gate.wait_until_empty(Instant::now()), 0);
    }

    #[test]
    fn a_login_waits_for_a_session_that_is_about_to_end() {
        let gate = Arc::new(Gate::default());
        let (leaving, _leaving_client) = connect(&gate, 1, LIMITS);
        let mut leaving = leaving.unwrap();
        leaving.establish(1, false).unwrap();
        let (coming, _coming_client) = connect(&gate, 2, LIMITS);
        let mut coming = coming.unwrap();
        let waiting = std::thread::spawn(move || coming.establish(1, false).map(|()| coming));
        std::thread::sleep(Duration::from_millis(50));
        drop(leaving);
        let stays = waiting.join().unwrap().unwrap();
        // Nobody leaves any more.
        let (mut refused, _client) = connect(&gate, 3, LIMITS);
        assert_eq!(
            refused.as_mut().unwrap().establish(1, false).unwrap_err().code,
            1040
        );
        drop(stays);
    }

    #[test]
    fn the_host_with_most_logins_loses_one() {
        let gate = Arc::new(Gate::default());
        let from = |host, id| {
            let (socket, client) = pair();
            (
                gate.admit(&socket, (host, id), Interface::Ordinary, LIMITS),
                client,
            )
        };
        let honest = from("honest", 1);
        let many: Vec<_> = (2..9).map(|id| from("attacker", id)).collect();
        assert!(!is_closed(&honest.1));
        assert_eq!(many.iter().filter(|(_, client)| !is_closed(client)).count(), 2);
    }

    #[test]
    fn a_network_of_ipv6_is_one_host() {
        let gate = Arc::new(Gate::default());
        let from = |host: &str, id| {
            let (socket, client) = pair();
            (
                gate.admit(&socket, (host, id), Interface::Ordinary, LIMITS),
                client,
            )
        };
        let honest = from("2001:db8:0:1::1", 1);
        let many: Vec<_> = (2..9)
            .map(|id| from(&format!("2001:db8:0:2::{id}"), id))
            .collect();
        assert!(!is_closed(&honest.1));
        assert_eq!(many.iter().filter(|(_, client)| !is_closed(client)).count(), 2);
    }

    #[test]
    fn threads_that_are_ending_count_against_their_own_host() {
        let gate = Arc::new(Gate::default());
        let from = |host, id| {
            let (socket, client) = pair();
            let slot = gate.admit(&socket, (host, id), Interface::Ordinary, LIMITS);
            (slot, client)
        };
        let most = LIMITS.connections + 1 + 2 * LIMITS.logins;
        let mut many: Vec<_> = (0..20).map(|id| from("attacker", id)).collect();
        assert_eq!(many.iter().filter(|(slot, _)| slot.is_ok()).count(), most);
        let over = |slot: &Result<ConnectionSlot, SqlError>| slot.as_ref().is_ok_and(ConnectionSlot::is_over);
        assert_eq!(
            many.iter().filter(|(slot, _)| over(slot)).count(),
            most - LIMITS.logins
        );
        let (honest, _client) = from("honest", 100);
        assert!(honest.is_ok_and(|slot| !slot.is_over()));
        many.clear();
        assert!(gate.state.lock().ending.is_empty());
        assert!(from("attacker", 101).0.is_ok());
    }

    #[test]
    fn a_login_has_one_deadline() {
        let gate = Arc::new(Gate::default());
        let watching = Arc::clone(&gate);
        let log = ClientLog::new(client_log::REFUSED);
        let watch = std::thread::spawn(move || watching.watch_logins(&log));
        let brief = GateLimits {
            login_time: Duration::from_millis(50),
            ..LIMITS
        };
        let (slow, slow_client) = connect(&gate, 1, brief);
        let (done, done_client) = connect(&gate, 2, brief);
        let mut done = done.unwrap();
        done.establish(2, false).unwrap();
        while !is_closed(&slow_client) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!is_closed(&done_client));
        drop((slow, done));
        gate.close();
        watch.join().unwrap();
    }
}

//! The gate: how many may log in at once, for how long, and how many may stay.
//!
//! ```text
//!            tidemark_max_logins                 max_connections, and one more
//!            connect_timeout for each            for an administrator
//!   accept ──────► logging in ───── seat ──────► seated ──────► gone
//!                      │
//!                      └── one of the host that has most makes room for a newcomer: the one that began first
//! ```
//!
//! Those logging in and those logged in are bounded apart, so that clients that never finish their login take no place
//! from those that do. A client that comes while all places to log in are taken gets the place of another: of the host
//! that has most of them, the one that has been at it longest. To be put out, an honest client would have to come from
//! the attacker's own host and be slower than everybody who came after it: the attacker has to open
//! `tidemark_max_logins` connections in the time of one login.
//!
//! A login has one deadline, whatever it consists of: greeting, TLS, proof, another proof, the password itself. It is
//! kept from outside, by a thread that closes the sockets of those past it, so that no read or write on the way can
//! begin a time of its own.
//!
//! The administrative interface (`admin_address`) has places of its own to log in, and no limit of seats.

use crate::errors;
use crate::transport::Socket;
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidemark_sql::SqlError;

/// The way a client has come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interface {
    Ordinary,
    Administrative,
}

/// What bounds the clients at the moment one comes.
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
    last_left: Condvar,
}

#[derive(Default)]
struct State {
    /// Everybody who has a thread, by connection number.
    clients: HashMap<u64, Socket>,
    ordinary: Hall,
    administrative: Hall,
    closed: bool,
}

/// The clients of one interface.
#[derive(Default)]
struct Hall {
    /// Those logging in, by the end of their time and their number.
    logins: BTreeMap<Login, Waiting>,
    /// How many of them each host has.
    of_hosts: HashMap<Arc<str>, usize>,
    seated: usize,
}

type Login = (Instant, u64);

struct Waiting {
    socket: Socket,
    host: Arc<str>,
}

impl Hall {
    fn begin(&mut self, login: Login, socket: Socket, host: &str) {
        let host: Arc<str> = host.into();
        *self.of_hosts.entry(Arc::clone(&host)).or_default() += 1;
        self.logins.insert(login, Waiting { socket, host });
    }

    /// Takes a login out, if it is still there.
    fn end(&mut self, login: Login) -> Option<Socket> {
        let Waiting { socket, host } = self.logins.remove(&login)?;
        if let Some(count) = self.of_hosts.get_mut(&host) {
            *count -= 1;
            if *count == 0 {
                self.of_hosts.remove(&host);
            }
        }
        Some(socket)
    }

    /// The login that is to make room.
    fn to_put_out(&self) -> Option<Login> {
        let (most, _) = self.of_hosts.iter().max_by_key(|(_, count)| **count)?;
        let mut logins = self.logins.iter();
        let (login, _) = logins.find(|(_, waiting)| waiting.host == *most)?;
        Some(*login)
    }
}

impl State {
    fn hall(&mut self, interface: Interface) -> &mut Hall {
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
    seated: bool,
}

impl Gate {
    /// Lets a client in to log in. Error 1040 if nobody can be seated any more.
    pub fn admit(
        self: &Arc<Gate>,
        socket: &Socket,
        (host, connection_id): (&str, u64),
        interface: Interface,
        limits: GateLimits,
    ) -> Result<ConnectionSlot, SqlError> {
        let login = (Instant::now() + limits.login_time, connection_id);
        let mut state = self.state.lock();
        // Those put out end by themselves, but may take a moment: they are clients until then.
        let threads_max = limits.connections + 1 + 2 * limits.logins;
        let full = state.ordinary.seated > limits.connections || state.clients.len() >= threads_max;
        if full && interface == Interface::Ordinary {
            return Err(errors::too_many_connections());
        }
        state.clients.insert(connection_id, socket.clone());
        let hall = state.hall(interface);
        while hall.logins.len() >= limits.logins.max(1)
            && let Some(other) = hall.to_put_out()
        {
            hall.end(other).iter().for_each(Socket::close);
        }
        hall.begin(login, socket.clone(), host);
        let is_next = hall.logins.first_key_value().map(|(key, _)| *key) == Some(login);
        drop(state);
        if is_next {
            self.watch.notify_one();
        }
        Ok(ConnectionSlot {
            gate: Arc::clone(self),
            interface,
            login,
            seated: false,
        })
    }

    /// Closes the sockets of those whose time to log in is over, until the gate is closed.
    pub fn watch_logins(&self) {
        let mut state = self.state.lock();
        while !state.closed {
            let now = Instant::now();
            let mut next: Option<Instant> = None;
            for interface in [Interface::Ordinary, Interface::Administrative] {
                let hall = state.hall(interface);
                while let Some((&login, _)) = hall.logins.first_key_value() {
                    let (deadline, connection_id) = login;
                    if deadline > now {
                        next = Some(next.map_or(deadline, |other| other.min(deadline)));
                        break;
                    }
                    log::info!("connection {connection_id}: the login took longer than connect_timeout");
                    hall.end(login).iter().for_each(Socket::close);
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

    /// Ends the watch. Nobody comes in any more.
    pub fn close(&self) {
        self.state.lock().closed = true;
        self.watch.notify_all();
    }

    /// Everybody who has a thread.
    pub fn clients(&self) -> Vec<(u64, Socket)> {
        let state = self.state.lock();
        let clients = state.clients.iter();
        clients.map(|(id, socket)| (*id, socket.clone())).collect()
    }

    /// Waits until everybody is gone. Returns how many are not, by the deadline.
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

    /// The client has proved who it is: it leaves those logging in and takes a seat. Error 1040 if there is none for it;
    /// an administrator may take one more than the rest.
    pub fn sit(&mut self, connections: usize, is_administrator: bool) -> Result<(), SqlError> {
        let mut state = self.gate.state.lock();
        let hall = state.hall(self.interface);
        let limit = match self.interface {
            Interface::Ordinary => connections + is_administrator as usize,
            Interface::Administrative => usize::MAX,
        };
        if hall.seated >= limit {
            return Err(errors::too_many_connections());
        }
        hall.seated += 1;
        hall.end(self.login);
        self.seated = true;
        Ok(())
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = self.gate.state.lock();
        state.clients.remove(&self.login.1);
        let hall = state.hall(self.interface);
        match self.seated {
            true => hall.seated -= 1,
            false => drop(hall.end(self.login)),
        }
        if state.clients.is_empty() {
            self.gate.last_left.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    fn come(gate: &Arc<Gate>, id: u64, limits: GateLimits) -> (Result<ConnectionSlot, SqlError>, UnixStream) {
        let (socket, client) = pair();
        (
            gate.admit(&socket, ("far", id), Interface::Ordinary, limits),
            client,
        )
    }

    #[test]
    fn the_oldest_login_makes_room_and_seats_are_apart() {
        let gate = Arc::new(Gate::default());
        let mut waiting: Vec<_> = (0..3).map(|id| come(&gate, id, LIMITS)).collect();
        let (newcomer, client) = come(&gate, 3, LIMITS);
        assert!(is_closed(&waiting[0].1) && !is_closed(&waiting[1].1));
        let mut newcomer = newcomer.unwrap();
        newcomer.sit(2, false).unwrap();
        assert!(!is_closed(&client));
        drop(newcomer);
        let mut seated: Vec<ConnectionSlot> = waiting.drain(1..).map(|(slot, _)| slot.unwrap()).collect();
        assert!(seated.iter_mut().all(|slot| slot.sit(2, false).is_ok()));
        // Both seats are taken: the next may only be an administrator, and after it nobody.
        let (mut slot, _client) = come(&gate, 4, LIMITS);
        assert_eq!(slot.as_mut().unwrap().sit(2, false).unwrap_err().code, 1040);
        assert!(slot.as_mut().unwrap().sit(2, true).is_ok());
        let (refused, _client) = come(&gate, 5, LIMITS);
        assert_eq!(refused.err().unwrap().code, 1040);
        let (socket, _client) = pair();
        let mut by_admin = gate
            .admit(&socket, ("far", 6), Interface::Administrative, LIMITS)
            .unwrap();
        assert!(by_admin.sit(2, false).is_ok());
        drop((slot, seated, by_admin, waiting));
        assert_eq!(gate.wait_until_empty(Instant::now()), 0);
    }

    #[test]
    fn the_host_with_most_logins_makes_room() {
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
    fn a_login_has_one_deadline() {
        let gate = Arc::new(Gate::default());
        let watching = Arc::clone(&gate);
        let watch = std::thread::spawn(move || watching.watch_logins());
        let brief = GateLimits {
            login_time: Duration::from_millis(50),
            ..LIMITS
        };
        let (slow, slow_client) = come(&gate, 1, brief);
        let (done, done_client) = come(&gate, 2, brief);
        let mut done = done.unwrap();
        done.sit(2, false).unwrap();
        while !is_closed(&slow_client) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!is_closed(&done_client));
        drop((slow, done));
        gate.close();
        watch.join().unwrap();
    }
}

//! What the connections share: the database once it is open, whether it is ready, and how many connections there are.
//!
//! Clients that are silent keep nobody out: a new connection ends the oldest of the host that has most of those whose request has not
//! been read, or that do not close after their answer. A request is read as soon as it comes, so that one who asks at once is answered
//! however many there are who do not.

use crate::hub::Hub;
use parking_lot::{Condvar, Mutex};
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tidemark_database::Database;
use tidemark_database::network::host_of;

/// So many clients may be without an answer. One more ends the oldest of the host that has most of them.
const WAITING_MAX: usize = 64;
/// So many are answered at once, but for `/health` and `/ready`, for which there is always room.
const ANSWERING_MAX: usize = 64;
/// So many threads there may be. The threads of connections that were ended go by themselves, a little later.
const THREADS_MAX: usize = 4 * WAITING_MAX;

/// The connections there are.
#[derive(Default)]
struct Connections {
    threads: usize,
    last: u64,
    /// Those whose request has not been read, that ask for `/health` or `/ready`, or that have their answer; by their age.
    waiting: BTreeMap<u64, Client>,
    answering: usize,
}

#[derive(Clone)]
struct Client {
    host: IpAddr,
    stream: Arc<TcpStream>,
}

impl Connections {
    /// The oldest connection of the host that has most of them.
    fn to_end(&self) -> Option<u64> {
        let mut of_hosts = HashMap::<IpAddr, (usize, u64)>::new();
        for (number, client) in &self.waiting {
            of_hosts.entry(client.host).or_insert((0, *number)).0 += 1;
        }
        let most = of_hosts.into_values().max_by_key(|(count, _)| *count);
        most.map(|(_, oldest)| oldest)
    }
}

#[derive(Default)]
pub struct Shared {
    database: Mutex<Option<Arc<Database>>>,
    is_ready: AtomicBool,
    /// Only this machine can connect, so nobody has to say who it is.
    pub is_local: bool,
    /// Where samples come from.
    pub hub: Arc<Hub>,
    /// The listener is being closed.
    pub is_stopping: AtomicBool,
    connections: Mutex<Connections>,
    left: Condvar,
}

impl Shared {
    /// Before the database is open. `is_local`: only this machine can connect.
    pub fn new(is_local: bool) -> Shared {
        Shared {
            is_local,
            ..Shared::default()
        }
    }

    /// The server, between its start and its stop.
    pub fn database(&self) -> Option<Arc<Database>> {
        self.database.lock().clone()
    }

    /// Whether clients can connect to the database.
    pub fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Acquire)
    }

    /// The database is open, and clients can connect to it.
    pub fn attach(&self, database: Arc<Database>) {
        *self.database.lock() = Some(database);
        self.is_ready.store(true, Ordering::Release);
    }

    /// Clients cannot connect any more.
    pub fn not_ready(&self) {
        self.is_ready.store(false, Ordering::Release);
    }

    /// Lets go of the database.
    pub fn detach(&self) {
        *self.database.lock() = None;
    }

    /// A place for one more connection. Waits while there are too many threads; `None`: it did not help.
    pub fn admit(self: &Arc<Shared>, stream: Arc<TcpStream>, host: IpAddr, wait: Duration) -> Option<Place> {
        let deadline = Instant::now() + wait;
        let mut connections = self.connections.lock();
        while connections.waiting.len() >= WAITING_MAX
            && let Some(oldest) = connections.to_end()
            && let Some(ended) = connections.waiting.remove(&oldest)
        {
            // It is gone already if that fails.
            let _ = ended.stream.shutdown(Shutdown::Both);
        }
        while connections.threads >= THREADS_MAX {
            if self.left.wait_until(&mut connections, deadline).timed_out() {
                return None;
            }
        }
        connections.threads += 1;
        connections.last += 1;
        let number = connections.last;
        let client = Client {
            host: host_of(host),
            stream,
        };
        connections.waiting.insert(number, client.clone());
        Some(Place {
            shared: Arc::clone(self),
            number,
            client,
        })
    }

    /// Waits until the last connection is gone, but not longer than this.
    pub fn wait_until_left(&self, wait: Duration) {
        let deadline = Instant::now() + wait;
        let mut connections = self.connections.lock();
        while connections.threads > 0 && !self.left.wait_until(&mut connections, deadline).timed_out() {}
    }
}

/// A connection's place among those there may be; free again when it is dropped.
pub struct Place {
    shared: Arc<Shared>,
    number: u64,
    client: Client,
}

/// The right to be answered; given back when it is dropped, and another connection may end this one again.
pub struct Answering<'a>(&'a Place);

impl Place {
    /// What the connection shares with the others.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The request is read: from now on no other connection ends this one. `None`: too many are answered already.
    pub fn answer(&self) -> Option<Answering<'_>> {
        let mut connections = self.shared.connections.lock();
        if connections.answering >= ANSWERING_MAX {
            return None;
        }
        connections.waiting.remove(&self.number);
        connections.answering += 1;
        Some(Answering(self))
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        let mut connections = self.0.shared.connections.lock();
        connections.answering -= 1;
        connections.waiting.insert(self.0.number, self.0.client.clone());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut connections = self.shared.connections.lock();
        connections.waiting.remove(&self.number);
        connections.threads -= 1;
        drop(connections);
        self.shared.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::io::{ErrorKind, Read};
    use std::net::TcpListener;

    const WAIT: Duration = Duration::from_secs(5);

    /// The listener, and the server's ends, which the threads of connections keep.
    struct Clients(TcpListener, RefCell<Vec<Arc<TcpStream>>>);

    impl Clients {
        fn connect(&self, shared: &Arc<Shared>, host: [u8; 4]) -> (Place, TcpStream) {
            let client = TcpStream::connect(self.0.local_addr().unwrap()).unwrap();
            client.set_nonblocking(true).unwrap();
            let (ours, _) = self.0.accept().unwrap();
            let ours = Arc::new(ours);
            self.1.borrow_mut().push(Arc::clone(&ours));
            (shared.admit(ours, host.into(), WAIT).unwrap(), client)
        }
    }

    fn is_open(mut client: &TcpStream) -> bool {
        client
            .read(&mut [0])
            .is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    #[test]
    fn the_oldest_of_the_host_with_most_makes_room() {
        let shared = Arc::new(Shared::default());
        let clients = Clients(TcpListener::bind("127.0.0.1:0").unwrap(), RefCell::default());
        let (honest, kept) = clients.connect(&shared, [10, 0, 0, 1]);
        let answered = clients.connect(&shared, [10, 0, 0, 2]);
        let answering = answered.0.answer().unwrap();
        let silent: Vec<_> = (0..2 * WAITING_MAX)
            .map(|_| clients.connect(&shared, [10, 0, 0, 2]))
            .collect();
        assert!(is_open(&kept) && is_open(&answered.1));
        let open = silent.iter().filter(|(_, client)| is_open(client)).count();
        assert!(open < WAITING_MAX && is_open(&silent.last().unwrap().1), "{open}");
        assert_eq!(shared.connections.lock().waiting.len(), WAITING_MAX);
        drop(answering);
        drop((honest, answered, silent));
        shared.wait_until_left(WAIT);
        let connections = shared.connections.lock();
        assert_eq!((connections.threads, connections.answering), (0, 0));
    }

    #[test]
    fn answers_and_threads_are_bounded() {
        let shared = Arc::new(Shared::default());
        let clients = Clients(TcpListener::bind("127.0.0.1:0").unwrap(), RefCell::default());
        let places: Vec<_> = (0..ANSWERING_MAX + 1)
            .map(|_| clients.connect(&shared, [10, 0, 0, 1]))
            .collect();
        let answering: Vec<_> = places.iter().filter_map(|(place, _)| place.answer()).collect();
        assert_eq!(answering.len(), ANSWERING_MAX);
        drop(answering);
        assert!(places[0].0.answer().is_some());
        let more = THREADS_MAX - places.len();
        let more: Vec<_> = (0..more)
            .map(|_| clients.connect(&shared, [10, 0, 0, 1]))
            .collect();
        let ours = Arc::new(TcpStream::connect(clients.0.local_addr().unwrap()).unwrap());
        let none = shared.admit(ours, [10, 0, 0, 3].into(), Duration::from_millis(1));
        assert!(none.is_none() && !more.is_empty());
    }
}

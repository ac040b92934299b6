//! Whose password is hashed next.
//!
//! A wrong password costs milliseconds of a processor, and anybody may send one. So only a few are hashed at once; the
//! other logins wait for their turn. The next one is of the host for which least was hashed lately, the oldest of that
//! host: a host that sends wrong passwords waits behind all others, however many it sends. A host whose password is right
//! begins anew.
//!
//! A login that was evicted, has run out of time or whose client has left gives its turn up, before anything is hashed for
//! it.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tidemark_sql::network::limited_as;

/// How often a login that waits looks whether it is over.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// After this time half of what a host has taken is forgotten.
const HALF_LIFE: Duration = Duration::from_secs(1);
/// So many hosts are remembered.
const HOSTS_MAX: usize = 4096;

pub struct Provings {
    at_once: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: usize,
    /// In the order in which they came.
    waiting: Vec<Waiter>,
    /// What was hashed for each host lately.
    taken: HashMap<Arc<str>, u64>,
    halved: Option<Instant>,
}

struct Waiter {
    host: Arc<str>,
    thread: Thread,
    granted: Arc<AtomicBool>,
}

/// The right to hash; dropping it is the next one's turn.
pub struct Turn<'a> {
    provings: &'a Provings,
}

impl Default for Provings {
    /// Half of the processors are left to those who are in.
    fn default() -> Provings {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Provings::new((processors / 2).max(1))
    }
}

impl Provings {
    fn new(at_once: usize) -> Provings {
        Provings {
            at_once,
            state: Mutex::default(),
        }
    }

    /// Waits for a turn; `None` once `is_over` says that it is not wanted any more.
    pub fn wait(&self, host: &str, is_over: impl Fn() -> bool) -> Option<Turn<'_>> {
        if is_over() {
            return None;
        }
        let granted = Arc::new(AtomicBool::new(false));
        {
            let mut state = self.state.lock();
            state.waiting.push(Waiter {
                host: (&*limited_as(host)).into(),
                thread: thread::current(),
                granted: Arc::clone(&granted),
            });
            state.grant(self.at_once);
        }
        let turn = || Turn { provings: self };
        while !granted.load(Ordering::Acquire) {
            thread::park_timeout(LOOK_EVERY);
            if !granted.load(Ordering::Acquire) && is_over() {
                let mut state = self.state.lock();
                state
                    .waiting
                    .retain(|waiter| !Arc::ptr_eq(&waiter.granted, &granted));
                drop(state);
                // It may have been granted while the client was looked at.
                if granted.load(Ordering::Acquire) {
                    drop(turn());
                }
                return None;
            }
        }
        Some(turn())
    }

    /// A password from this host was right.
    pub fn succeeded(&self, host: &str) {
        self.state.lock().taken.remove(&*limited_as(host));
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.provings.state.lock();
        state.running -= 1;
        state.grant(self.provings.at_once);
    }
}

impl State {
    fn grant(&mut self, at_once: usize) {
        self.forget_half();
        while self.running < at_once
            && let Some(next) = self.next()
        {
            let waiter = self.waiting.remove(next);
            if self.taken.len() < HOSTS_MAX || self.taken.contains_key(&waiter.host) {
                *self.taken.entry(waiter.host).or_default() += 2;
            }
            self.running += 1;
            waiter.granted.store(true, Ordering::Release);
            waiter.thread.unpark();
        }
    }

    /// The oldest login of the host that has taken least.
    fn next(&self) -> Option<usize> {
        let taken = |waiter: &Waiter| self.taken.get(&waiter.host).copied().unwrap_or(0);
        let waiting = self.waiting.iter().enumerate();
        waiting.min_by_key(|(_, waiter)| taken(waiter)).map(|(at, _)| at)
    }

    fn forget_half(&mut self) {
        let now = Instant::now();
        let halved = *self.halved.get_or_insert(now);
        if now.saturating_duration_since(halved) >= HALF_LIFE {
            self.halved = Some(now);
            self.taken.values_mut().for_each(|taken| *taken /= 2);
            self.taken.retain(|_, taken| *taken > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn until(condition: impl Fn() -> bool) {
        let began = Instant::now();
        while !condition() {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not come");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_host_with_many_waiting_lets_the_others_go_first() {
        let provings = Arc::new(Provings::new(1));
        let first = provings.wait("attacker", || false).unwrap();
        let (order, seen) = mpsc::channel();
        let waits = |host: &'static str, many: usize| {
            let (provings, order) = (Arc::clone(&provings), order.clone());
            let waiting = provings.state.lock().waiting.len() + 1;
            let thread = thread::spawn({
                let provings = Arc::clone(&provings);
                move || {
                    let turn = provings.wait(host, || false).unwrap();
                    order.send(host).unwrap();
                    drop(turn);
                }
            });
            until(|| provings.state.lock().waiting.len() == waiting);
            assert!(waiting <= many);
            thread
        };
        let mut threads: Vec<_> = (0..20).map(|_| waits("attacker", 20)).collect();
        threads.push(waits("honest", 21));
        drop(first);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(seen.try_iter().next(), Some("honest"));
        assert_eq!(provings.state.lock().running, 0);
    }

    #[test]
    fn a_login_that_is_over_gives_its_turn_up() {
        let provings = Provings::new(1);
        assert!(provings.wait("gone", || true).is_none());
        let turn = provings.wait("a", || false).unwrap();
        let evicted = AtomicBool::new(false);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| provings.wait("b", || evicted.load(Ordering::SeqCst)).is_none());
            until(|| provings.state.lock().waiting.len() == 1);
            evicted.store(true, Ordering::SeqCst);
            assert!(waiting.join().unwrap());
        });
        assert!(provings.state.lock().waiting.is_empty());
        drop(turn);
        assert!(provings.wait("b", || false).is_some());
    }

    #[test]
    fn a_right_password_clears_a_host() {
        let provings = Provings::new(1);
        for _ in 0..5 {
            drop(provings.wait("a", || false));
        }
        assert_eq!(provings.state.lock().taken["a"], 10);
        provings.succeeded("a");
        assert!(provings.state.lock().taken.is_empty());
    }
}

//! Clients at once: each works on a thread of its own until it is to stop or something is wrong.

use super::scheduler;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Sessions of SQL run deep in a build without optimisation.
const STACK: usize = 16 << 20;

/// Why a client stops.
pub enum Stop {
    /// The power is off, or what it works on has stopped as it should.
    Over,
    /// What it was at could not be done, and is given up; it begins with something else.
    GivenUp,
    /// Something is wrong.
    Wrong(String),
}

impl From<String> for Stop {
    fn from(what: String) -> Stop {
        Stop::Wrong(what)
    }
}

/// What became of something that a client did.
pub type Done<T = ()> = Result<T, Stop>;

/// Does one thing after the other until `over` says so, or one of them.
pub fn until_over(over: &AtomicBool, mut step: impl FnMut() -> Done) -> Result<(), String> {
    while !over.load(Ordering::Relaxed) {
        match step() {
            Ok(()) | Err(Stop::GivenUp) => {}
            Err(Stop::Over) => return Ok(()),
            Err(Stop::Wrong(what)) => return Err(what),
        }
    }
    Ok(())
}

/// Makes a call, and notes in `longest_ms` how much of the world's time it took.
pub fn timed<T>(longest_ms: &AtomicU64, call: impl FnOnce() -> T) -> T {
    let (before, _) = scheduler::progress();
    let done = call();
    let took = scheduler::progress().0 - before;
    longest_ms.fetch_max((took * 1000.0) as u64, Ordering::Relaxed);
    done
}

/// Runs a client for each of the seeds, which is given its number, and `beside` on this thread, until all are done. All are
/// over once one has found something wrong.
pub fn run_clients(
    over: &AtomicBool,
    seeds: &[u64],
    client: impl Fn(u64, u64) -> Result<(), String> + Sync,
    beside: impl FnOnce(),
) -> Result<(), String> {
    let client = &client;
    std::thread::scope(|scope| {
        let spawn = |(n, &seed): (u64, &u64)| {
            let run = move || client(n, seed).inspect_err(|_| over.store(true, Ordering::Relaxed));
            let builder = std::thread::Builder::new().name(format!("client-{n}"));
            builder.stack_size(STACK).spawn_scoped(scope, run)
        };
        let clients: Vec<_> = (0..).zip(seeds).map(spawn).collect();
        beside();
        let mut done = Ok(());
        for client in clients {
            let client = client.map_err(|error| format!("no thread for a client: {error}"))?;
            done = done.and(client.join().map_err(|_| "a client has panicked".to_owned())?);
        }
        done
    })
}

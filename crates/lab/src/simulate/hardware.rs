//! What the simulated machines are made of: measured here where two cores can show it, else named assumptions.

use super::network::{Machine, Waking};
use crate::failure::Failure;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// A line that another core has modified: 109 cycles within a socket of the Xeon of 2013 at 2.13 GHz, 289 from the next one (David,
/// Guerraoui, Trigonakis, *Everything you always wanted to know about synchronization but were afraid to ask*, SOSP 2013).
pub(super) const NEAR_NS: f64 = 51.0;
pub(super) const FAR_NS: f64 = 136.0;
/// InnoDB's defaults: 30 rounds of 0 to 6 times 50 PAUSEs of 10 cycles.
pub(super) const SPIN_OF_INNODB_NS: f64 = 20_000.0;
/// This engine's mutexes: a few rounds, then they offer their core a few times.
const SPIN_NS: f64 = 3_000.0;
/// What the two threads of a core do, where one alone does 1: of OLTP (Marr et al., *Hyper-Threading technology architecture and
/// microarchitecture*, Intel Technology Journal, 2002).
pub(super) const BOTH_THREADS: f64 = 1.21;
/// Of the machines that nobody has described: cores of a socket.
const SOCKET: usize = 18;

/// The machine of figures that were measured: all cores on one socket.
pub(super) fn here(cores: usize, line_ns: f64, switch_ns: f64) -> Machine {
    Machine {
        cores,
        socket: cores,
        near_ns: line_ns,
        far_ns: line_ns,
        switch_ns,
        spin_ns: SPIN_NS,
        waking: Waking::One,
    }
}

/// One of so many cores that runs this engine.
pub(super) fn larger(cores: usize, switch_ns: f64) -> Machine {
    Machine {
        cores,
        socket: SOCKET,
        near_ns: NEAR_NS,
        far_ns: FAR_NS,
        switch_ns,
        spin_ns: SPIN_NS,
        waking: Waking::One,
    }
}

/// A study's: InnoDB's mutexes wake all that sleep, those of 5.0 as those that 5.7 is built with by default (MySQL's bug #52806).
pub(super) fn of_study(cores: usize, socket: usize, switch_ns: f64) -> Machine {
    Machine {
        socket,
        spin_ns: SPIN_OF_INNODB_NS,
        waking: Waking::All,
        ..larger(cores, switch_ns)
    }
}

/// Turns that two threads take in one batch, and batches. The fastest one counts: in others somebody else had a core.
const TURNS: u32 = 100;
const BATCHES: u32 = 200;
/// Then the other thread may want this core.
const SPINS_MAX: u32 = 5_000;

/// A line between two cores of this machine, nanoseconds: two threads take turns in writing it.
pub(super) fn line_ns() -> Result<f64, Failure> {
    let turn = AtomicU32::new(0);
    let play = |parity| {
        fastest_turn_ns(parity, |mine| {
            let mut spins = 0;
            while turn.load(Ordering::Acquire) != mine {
                spins += 1;
                match spins < SPINS_MAX {
                    true => std::hint::spin_loop(),
                    false => thread::yield_now(),
                }
            }
            turn.store(mine + 1, Ordering::Release);
        })
    };
    both(play)
}

/// Waking a thread until it runs, nanoseconds: two threads take turns in waking each other.
pub(super) fn switch_ns() -> Result<f64, Failure> {
    let (turn, changes) = (Mutex::new(0), Condvar::new());
    let play = |parity| {
        fastest_turn_ns(parity, |mine| {
            let turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            let mut turn = changes
                .wait_while(turn, |turn| *turn != mine)
                .unwrap_or_else(PoisonError::into_inner);
            *turn = mine + 1;
            changes.notify_one();
        })
    };
    both(play)
}

fn both(play: impl Fn(u32) -> f64 + Sync) -> Result<f64, Failure> {
    thread::scope(|scope| {
        let other = thread::Builder::new().spawn_scoped(scope, || play(1));
        other.map_err(Failure::no_thread)?;
        Ok(play(0))
    })
}

/// Takes all turns of one of two threads.
fn fastest_turn_ns(parity: u32, take: impl Fn(u32)) -> f64 {
    let batches = (0..BATCHES).map(|batch| {
        let since = Instant::now();
        (0..TURNS).for_each(|at| take(2 * (batch * TURNS + at) + parity));
        since.elapsed().as_nanos() as f64 / f64::from(2 * TURNS)
    });
    batches.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_take_turns() {
        for ns in [line_ns().unwrap(), switch_ns().unwrap()] {
            assert!(ns > 0.0 && ns.is_finite());
        }
    }
}

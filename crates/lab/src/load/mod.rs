//! The load generator: clients, each a connection and a thread, that run transactions as fast as they are answered or by a schedule.
//!
//! ```text
//!  connect, prepare   all clients ready   warm              measure            stop
//!  ─────────────────┼───────────────────┼─────────────────┼──────────────────┤
//!                     Load::start         nothing is kept   counts, latencies  Load::finish
//! ```
//!
//! Between two packets a client does nothing but draw numbers and note the time: no allocation, no lock (but the schedule's in an
//! open loop), and its own cache line to count in. So the generator takes little of the processor that it shares with a
//! server on the same machine.
//!
//! - [`oltp`]: sysbench's workloads, statement by statement.
//! - [`short`]: those of few statements.
//! - [`tpcc`]: TPC-C's transactions.
//! - [`sysbench`]: stock sysbench in this generator's place.
//! - [`tables`]: what they work on.
//! - [`arrivals`]: the schedule of an open loop, and why one wants it.
//! - [`random`]: the numbers that are drawn.

pub mod arrivals;
pub mod oltp;
pub mod random;
mod short;
pub(crate) mod sysbench;
pub mod tables;
pub mod tpcc;

use crate::client::{Breaker, Client, Error, Transient};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::level::Level;
use crate::server::Server;
use crate::server::process::Process;
use arrivals::Arrivals;
use crossbeam_utils::CachePadded;
use hdrhistogram::Histogram;
use oltp::{Oltp, OltpWorker};
use random::Random;
use short::{HotRow, Queue, ThreePoints};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tables::Tables;
use tpcc::TpccWorker;
use tpcc::schema::Size;

/// What a client's thread needs; 1,024 of them are no more than 256 MiB of addresses.
const STACK_LEN: usize = 256 << 10;
/// A client that hears nothing for so long gives up. Longer than any server waits for a row lock by default.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(90);
/// How long a measurement waits for its first transaction to end, if its own time is shorter.
const FIRST_END_MAX: Duration = Duration::from_secs(30);
/// How long clients have to finish what they are at when a load ends. Then their connections are cut.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// Latencies are kept in nanoseconds, to two digits.
const LATENCY_MAX_NS: u64 = 3_600_000_000_000;
const LATENCY_DIGITS: u8 = 2;
/// Of transactions that an open loop was too slow to begin, so many are counted.
const NOT_BEGUN_MAX: usize = 10_000_000;

/// The program that puts a load on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// This one.
    Own,
    /// Stock sysbench, for loads that it has scripts for.
    Sysbench,
}

/// What clients do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// One of sysbench's.
    Oltp(Oltp),
    /// BEGIN, three point selects, COMMIT.
    ThreePoints(Tables),
    /// Everybody updates one row.
    HotRow,
    /// The first so many clients add, the others take.
    Queue {
        /// Clients that add.
        producers: usize,
        /// The others pass over locked rows.
        skip_locked: bool,
    },
    /// TPC-C's.
    Tpcc(Size),
}

impl Workload {
    /// Makes the tables that it needs, unless they are there.
    pub fn prepare(&self, server: &Server, interrupt: &Interrupt) -> Result<(), Failure> {
        match self {
            Workload::Oltp(Oltp { tables, .. }) | Workload::ThreePoints(tables) => {
                tables.prepare(server, interrupt)
            }
            Workload::HotRow => tables::make(server, "hot", &HotRow::TABLE),
            Workload::Queue { .. } => tables::make(server, "queue", &Queue::table(server.dialect())),
            Workload::Tpcc(size) => size.prepare(server, interrupt),
        }
    }

    fn worker(&self, client: &mut Client, number: usize) -> Result<Box<dyn Worker>, Error> {
        let random = Random::new(seed(number));
        Ok(match self {
            Workload::Oltp(oltp) => Box::new(OltpWorker::new(client, oltp, random)?),
            &Workload::ThreePoints(tables) => Box::new(ThreePoints {
                tables,
                random,
                text: Vec::new(),
            }),
            Workload::HotRow => Box::new(HotRow),
            &Workload::Queue {
                producers,
                skip_locked,
            } => Box::new(match number < producers {
                true => Queue::Produce,
                false => Queue::Consume { skip_locked },
            }),
            &Workload::Tpcc(size) => Box::new(TpccWorker::new(size, number, random)),
        })
    }
}

/// Differs from run to run and from process to process, so that repeats are no repetitions of the same ids on warm pages, and no updates to
/// what a row holds already: an engine logs the difference, which is nothing then.
fn seed(number: usize) -> u64 {
    static RUNS: LazyLock<AtomicU64> =
        LazyLock::new(|| AtomicU64::new(RandomState::new().build_hasher().finish()));
    RUNS.fetch_add(1, Ordering::Relaxed) << 16 | number as u64
}

/// One client's part of a workload.
trait Worker {
    /// Runs one transaction. True if it counts.
    fn event(&mut self, client: &mut Client) -> Result<bool, Error>;

    /// True if it deletes rows and inserts them again, so that [`Transient::DuplicateKey`] may happen. To all others it is an error.
    fn reuses_keys(&self) -> bool {
        false
    }
}

/// When a client begins its next transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// When it has been answered.
    Closed,
    /// So many begin per second, among all clients.
    Open(f64),
}

/// A load to be put on a server.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// What clients do.
    pub workload: Workload,
    /// How many there are.
    pub clients: usize,
    /// The isolation level of their sessions; `None`: the server's default.
    pub level: Option<Level>,
    /// How fast.
    pub pace: Pace,
    /// What each client's program does before a statement; see [`Client::set_work`].
    pub work: Duration,
}

const PHASE_CONNECT: u8 = 0;
const PHASE_WARM: u8 = 1;
const PHASE_MEASURE: u8 = 2;
const PHASE_STOP: u8 = 3;

struct Shared {
    phase: AtomicU8,
    ready: AtomicUsize,
    /// Transactions of each client that count.
    counts: Vec<CachePadded<AtomicU64>>,
    /// As [`Transient::ALL`].
    retried: [AtomicU64; Transient::ALL.len()],
    failure: Mutex<Option<String>>,
    breakers: Mutex<Vec<Breaker>>,
    /// When the load began, and the schedule from then on.
    schedule: Mutex<Option<(Instant, Arrivals)>>,
    /// Clients that are ready sleep here until the load begins: a thousand that looked every now and then would take the
    /// processor from those that still connect.
    begun: Mutex<bool>,
    begins: Condvar,
}

impl Shared {
    fn new(clients: usize) -> Shared {
        Shared {
            phase: AtomicU8::new(PHASE_CONNECT),
            ready: AtomicUsize::new(0),
            counts: (0..clients).map(|_| CachePadded::default()).collect(),
            retried: Default::default(),
            failure: Mutex::new(None),
            breakers: Mutex::new(Vec::new()),
            schedule: Mutex::new(None),
            begun: Mutex::new(false),
            begins: Condvar::new(),
        }
    }

    fn set_phase(&self, phase: u8) {
        self.phase.store(phase, Ordering::Release);
        *lock(&self.begun) = true;
        self.begins.notify_all();
    }

    fn wait_for_begin(&self) {
        let begun = lock(&self.begun);
        let wait = self.begins.wait_while(begun, |begun| !*begun);
        drop(wait.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Nothing that is kept under these locks is broken by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a measurement found.
pub struct Measured {
    /// Transactions per second.
    pub tps: f64,
    /// From a transaction's beginning, in an open loop its intended one, to its last answer; nanoseconds.
    pub latency_ns: Histogram<u64>,
    /// Transactions of an open loop that should have begun and had found no client when the measurement ended.
    pub not_begun: Option<u64>,
    /// How often transactions were begun anew, by what they had met.
    pub retried: [(&'static str, u64); Transient::ALL.len()],
    /// Processor time of the server per transaction; `None` if it is not on this machine, or hidden from this user.
    pub server_cpu_us: Option<f64>,
    /// Processor time of this process per transaction.
    pub own_cpu_us: f64,
}

/// A load that runs.
pub struct Load {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<Histogram<u64>>>,
    interrupt: Interrupt,
}

impl Load {
    /// Connects all clients, then lets them begin.
    pub fn start(server: &Server, spec: &Spec, interrupt: &Interrupt) -> Result<Load, Failure> {
        let mut load = Load {
            shared: Arc::new(Shared::new(spec.clients)),
            threads: Vec::with_capacity(spec.clients),
            interrupt: interrupt.clone(),
        };
        for number in 0..spec.clients {
            let (shared, server, spec) = (Arc::clone(&load.shared), server.clone(), spec.clone());
            let thread = thread::Builder::new()
                .stack_size(STACK_LEN)
                .spawn(move || client(&shared, &server, &spec, number))
                .map_err(Failure::no_thread)?;
            load.threads.push(thread);
        }
        while load.shared.ready.load(Ordering::Acquire) < spec.clients {
            load.pause(Duration::from_millis(2))?;
        }
        if let Pace::Open(per_s) = spec.pace {
            let arrivals = Arrivals::new(per_s, seed(spec.clients));
            *lock(&load.shared.schedule) = Some((Instant::now(), arrivals));
        }
        load.shared.set_phase(PHASE_WARM);
        Ok(load)
    }

    /// Transactions that count, since the load began.
    pub fn count(&self) -> u64 {
        let counts = self.shared.counts.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Lets it run for so long. An error if a client fails, or the lab is to stop.
    pub fn pause(&self, time: Duration) -> Result<(), Failure> {
        self.interrupt.sleep_until(Instant::now() + time, || {
            match lock(&self.shared.failure).take() {
                Some(why) => Err(Failure::Because(why)),
                None => Ok(()),
            }
        })
    }

    /// Warms up, measures, and ends the load.
    pub fn measure(mut self, server: &Server, warm: Duration, time: Duration) -> Result<Measured, Failure> {
        self.pause(warm)?;
        let process = server.process();
        let cpu = |of: &Option<Process>| of.as_ref().and_then(Process::cpu_s);
        let own = Process::own();
        let before = (cpu(&process), own.cpu_s());
        let (begin, first) = (Instant::now(), self.count());
        self.shared.set_phase(PHASE_MEASURE);
        self.pause(time)?;
        // A rate needs one transaction, however slow the server and short the time.
        while self.count() == first && begin.elapsed() < FIRST_END_MAX {
            self.pause(Duration::from_millis(5))?;
        }
        let (taken, transactions) = (begin.elapsed(), self.count() - first);
        let end = begin + taken;
        let after = (cpu(&process), own.cpu_s());
        let mut latency_ns = self.finish()?;
        let not_begun = not_begun(&self.shared, end, &mut latency_ns);
        if transactions == 0 {
            return Err(Failure::because(format!(
                "no transaction has ended within {taken:.0?}"
            )));
        }
        let per_transaction =
            |before: Option<f64>, after: Option<f64>| Some((after? - before?) * 1e6 / transactions as f64);
        Ok(Measured {
            tps: transactions as f64 / taken.as_secs_f64(),
            latency_ns,
            not_begun,
            retried: Transient::ALL.map(|transient| {
                let count = &self.shared.retried[transient as usize];
                (transient.name(), count.load(Ordering::Relaxed))
            }),
            server_cpu_us: per_transaction(before.0, after.0),
            own_cpu_us: per_transaction(before.1, after.1).unwrap_or_default(),
        })
    }

    /// Ends the load: its latencies while it was measured, of all clients.
    pub fn finish(&mut self) -> Result<Histogram<u64>, Failure> {
        let mut all = latencies();
        for thread in self.stop() {
            let one = thread
                .join()
                .map_err(|_| Failure::because("a client of the load has panicked"))?;
            all.add(one).map_err(|e| Failure::Because(e.to_string()))?;
        }
        match lock(&self.shared.failure).take() {
            Some(why) => Err(Failure::Because(why)),
            None => Ok(all),
        }
    }

    /// All threads, which end now or have ended.
    fn stop(&mut self) -> Vec<JoinHandle<Histogram<u64>>> {
        self.shared.set_phase(PHASE_STOP);
        let deadline = Instant::now() + LAST_ANSWERS;
        while Instant::now() < deadline && self.threads.iter().any(|thread| !thread.is_finished()) {
            thread::sleep(Duration::from_millis(2));
        }
        lock(&self.shared.breakers).iter().for_each(Breaker::end);
        std::mem::take(&mut self.threads)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for thread in self.stop() {
            // Its failure is known, or of no interest any more.
            let _ = thread.join();
        }
    }
}

fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_MAX_NS, LATENCY_DIGITS)
        .expect("the bounds are constants that the histogram takes")
}

/// The thread of one client.
fn client(shared: &Shared, server: &Server, spec: &Spec, number: usize) -> Histogram<u64> {
    let mut seen = latencies();
    if let Err(e) = converse(shared, server, spec, number, &mut seen)
        // One that was cut off when the load ended is none that failed.
        && shared.phase.load(Ordering::Acquire) != PHASE_STOP
    {
        lock(&shared.failure).get_or_insert(e.to_string());
    }
    seen
}

fn converse(
    shared: &Shared,
    server: &Server,
    spec: &Spec,
    number: usize,
    seen: &mut Histogram<u64>,
) -> Result<(), Failure> {
    let mut client = server.connect()?;
    lock(&shared.breakers).push(client.breaker()?);
    if let Some(level) = spec.level {
        client.query(&client.dialect().set_level(level))?;
    }
    client.set_timeout(Some(SILENCE_MAX))?;
    client.set_work(spec.work);
    let mut worker = spec.workload.worker(&mut client, number)?;
    shared.ready.fetch_add(1, Ordering::AcqRel);
    shared.wait_for_begin();
    let is_open = matches!(spec.pace, Pace::Open(_));
    transact(shared, number, is_open, seen, || {
        match worker.event(&mut client) {
            Ok(counts) => Ok(Attempt::Done { counts }),
            Err(e) => {
                let transient = e
                    .transient()
                    .filter(|transient| *transient != Transient::DuplicateKey || worker.reuses_keys());
                let Some(transient) = transient else {
                    return Err(e.into());
                };
                client.run(b"ROLLBACK")?;
                Ok(Attempt::Again(transient))
            }
        }
    })
}

/// What came of an attempt at a transaction.
enum Attempt {
    Done {
        /// It is one that counts.
        counts: bool,
    },
    /// It has been rolled back, and is to be begun anew.
    Again(Transient),
}

/// Runs transactions until the load ends, each attempt by attempt until one is done.
///
/// A latency counts from the beginning of the first attempt, in an open loop from when that should have begun: what a transaction waits for
/// because it failed belongs to it. In an open loop one that should have begun while it was measured counts when it ends after that, too;
/// else a server that stands still in the end would not be seen to.
fn transact(
    shared: &Shared,
    number: usize,
    is_open: bool,
    seen: &mut Histogram<u64>,
    mut attempt: impl FnMut() -> Result<Attempt, Failure>,
) -> Result<(), Failure> {
    let count = &shared.counts[number];
    let mut begin = Instant::now();
    loop {
        if is_open {
            match next_arrival(shared) {
                Some(arrival) => begin = arrival,
                None => return Ok(()),
            }
        }
        let counts = loop {
            let transient = match attempt()? {
                Attempt::Done { counts } => break counts,
                Attempt::Again(transient) => transient,
            };
            match shared.phase.load(Ordering::Relaxed) {
                PHASE_STOP => return Ok(()),
                PHASE_MEASURE => {
                    shared.retried[transient as usize].fetch_add(1, Ordering::Relaxed);
                }
                _ => {}
            }
        };
        let end = Instant::now();
        if counts {
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        let phase = shared.phase.load(Ordering::Relaxed);
        if counts && (phase == PHASE_MEASURE || phase == PHASE_STOP && is_open) {
            seen.saturating_record((end - begin).as_nanos() as u64);
        }
        if phase == PHASE_STOP {
            return Ok(());
        }
        begin = end;
    }
}

/// The next moment of the schedule, which has come when this returns. `None`: the load ends.
fn next_arrival(shared: &Shared) -> Option<Instant> {
    let arrival = {
        let mut schedule = lock(&shared.schedule);
        let (begin, arrivals) = schedule.as_mut()?;
        *begin + arrivals.next()?
    };
    loop {
        if shared.phase.load(Ordering::Relaxed) == PHASE_STOP {
            return None;
        }
        let rest = arrival.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return Some(arrival);
        }
        thread::sleep(rest.min(Duration::from_millis(100)));
    }
}

/// How many transactions should have begun by the end of a measurement and had found no client. They have waited so long at least, which is
/// put to the latencies. `None` in a closed loop.
fn not_begun(shared: &Shared, end: Instant, seen: &mut Histogram<u64>) -> Option<u64> {
    let mut schedule = lock(&shared.schedule);
    let (begin, arrivals) = schedule.as_mut()?;
    let waits = arrivals
        .take(NOT_BEGUN_MAX)
        .map_while(|at| end.checked_duration_since(*begin + at));
    let mut count = 0;
    for wait in waits {
        seen.saturating_record(wait.as_nanos() as u64);
        count += 1;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that is being measured, with an open loop of so many transactions per second that has begun so long ago.
    fn measuring(per_s: f64, ago: Duration) -> Shared {
        let shared = Shared::new(1);
        let begin = Instant::now().checked_sub(ago).unwrap();
        *lock(&shared.schedule) = Some((begin, Arrivals::new(per_s, 1)));
        shared.set_phase(PHASE_MEASURE);
        shared
    }

    #[test]
    fn a_transaction_that_fails_keeps_its_place_in_the_schedule() {
        let shared = measuring(1000.0, Duration::ZERO);
        let mut seen = latencies();
        let mut attempts = 0;
        transact(&shared, 0, true, &mut seen, || {
            attempts += 1;
            Ok(match attempts {
                1 | 2 => {
                    thread::sleep(Duration::from_millis(30));
                    Attempt::Again(Transient::Deadlock)
                }
                3 => Attempt::Done { counts: true },
                _ => {
                    shared.set_phase(PHASE_STOP);
                    Attempt::Done { counts: false }
                }
            })
        })
        .unwrap();
        assert_eq!(attempts, 4);
        assert_eq!(
            shared.retried[Transient::Deadlock as usize].load(Ordering::Relaxed),
            2
        );
        assert_eq!((seen.len(), shared.counts[0].load(Ordering::Relaxed)), (1, 1));
        assert!(seen.max() >= 59_000_000, "{} ns", seen.max());
    }

    #[test]
    fn what_a_warm_up_begins_anew_is_not_counted() {
        let shared = Shared::new(1);
        shared.set_phase(PHASE_WARM);
        let mut attempts = 0;
        let mut attempt = || {
            attempts += 1;
            if attempts == 3 {
                shared.set_phase(PHASE_STOP);
            }
            Ok(Attempt::Again(Transient::Deadlock))
        };
        transact(&shared, 0, false, &mut latencies(), &mut attempt).unwrap();
        assert_eq!(attempts, 3, "it ends though nothing succeeds");
        assert_eq!(
            shared.retried[Transient::Deadlock as usize].load(Ordering::Relaxed),
            0
        );
    }

    #[test]
    fn a_server_that_stands_still_in_the_end_is_seen_by_an_open_loop() {
        let shared = measuring(1000.0, Duration::ZERO);
        let stall = Duration::from_millis(50);
        let stalled = |is_open, seen: &mut Histogram<u64>| {
            let attempt = || {
                thread::sleep(stall);
                shared.set_phase(PHASE_STOP);
                Ok(Attempt::Done { counts: true })
            };
            transact(&shared, 0, is_open, seen, attempt).unwrap();
        };
        let (mut open, mut closed) = (latencies(), latencies());
        stalled(true, &mut open);
        assert_eq!(open.len(), 1);
        let count = not_begun(&shared, Instant::now(), &mut open).unwrap();
        assert!(count > 10, "{count} of about 50");
        assert_eq!(open.len(), 1 + count);
        shared.set_phase(PHASE_MEASURE);
        stalled(false, &mut closed);
        assert_eq!(closed.len(), 0);
        assert_eq!(not_begun(&Shared::new(1), Instant::now(), &mut closed), None);
    }

    #[test]
    fn a_rate_beyond_reach_is_counted_to_a_bound() {
        let shared = measuring(1e9, Duration::from_secs(1));
        let mut seen = latencies();
        let count = not_begun(&shared, Instant::now(), &mut seen);
        assert_eq!(count, Some(NOT_BEGUN_MAX as u64));
    }
}

//! A closed queueing network, event by event: clients that go round and round, cores that run them, one latch.
//!
//! ```text
//!          ┌─────────────────────────────────────────────────────────────┐
//!          ▼                                                             │
//!  clients ──► away ──► run queue ──► cores 1…N ──► latch? ──► next step ┘
//!              (no core)                 ▲           │ taken by another
//!                                        │           ├─► spin, on the core
//!                                        └─ wake ◄───┴─► sleep, off the core
//! ```
//!
//! A client goes through a script, again and again. On a core it runs until it is away, or sleeps before the latch: nobody is taken off
//! its core. Whoever finds the latch taken spins for a while and then sleeps. On release the client that has spun longest takes it over. Of those
//! that sleep one is woken if none spins, or all of them, whoever takes the latch ([`Waking`]); until one that was woken runs, the latch is free for anybody,
//! so it may find it taken, and spin and sleep again.
//!
//! Times of running and being away are exponentially distributed, those under the latch are not: they follow from what is done there.
//! The same seed gives the same run.

use crate::load::random::Random;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// One step of a client's script. Times are nanoseconds, and means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// Without a core.
    Away(f64),
    /// On a core.
    Run(f64),
    /// Under the latch, on a core.
    Latched(Act),
}

/// What is done under the latch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// The transaction is entered into the books.
    Begin,
    /// It is struck off.
    End,
    /// A view is made from the books.
    View,
    /// A view is given back.
    Close,
}

/// How long an act takes under the latch, given the books, and whether the latch comes from another core.
pub(super) trait Books {
    /// Nanoseconds.
    fn hold_ns(&mut self, act: Act, comes_from_ns: f64) -> f64;
}

/// The hardware below, and the system's way with threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Machine {
    pub(super) cores: usize,
    /// Cores that share a socket.
    pub(super) socket: usize,
    /// A cache line that another core of the socket has written, and one of another socket.
    pub(super) near_ns: f64,
    pub(super) far_ns: f64,
    /// To wake a thread: for the one that wakes, until the other wants a core, and for that one on its core. Switches at statements
    /// are in what statements take.
    pub(super) switch_ns: f64,
    /// How long a thread spins before it sleeps.
    pub(super) spin_ns: f64,
    pub(super) waking: Waking,
}

/// Whom the release of a latch wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waking {
    /// The one that has slept longest, if none spins: this engine's mutexes.
    One,
    /// Everybody: a broadcast, as InnoDB's mutexes do it.
    All,
}

impl Machine {
    /// A line that is on one core, to another.
    fn between(&self, one: usize, other: usize) -> f64 {
        match one == other {
            true => 0.0,
            false if one / self.socket == other / self.socket => self.near_ns,
            false => self.far_ns,
        }
    }

    /// The same for a line that may be on any core.
    pub(super) fn anywhere_ns(&self) -> f64 {
        let all = (0..self.cores).map(|core| self.between(0, core));
        all.sum::<f64>() / self.cores as f64
    }
}

/// A run.
pub(super) struct Network<'a, B> {
    machine: Machine,
    script: &'a [Step],
    books: B,
    random: Random,
    now: u64,
    /// By moment, then in the order in which they were planned.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    planned: u64,
    clients: Vec<Client>,
    /// Cores that nobody is on.
    idle: Vec<usize>,
    /// Clients that want one.
    ready: VecDeque<usize>,
    latch: Latch,
    done: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A client has a reason to run again.
    Wakes(usize),
    /// It has done its step.
    Done(usize),
    /// It gives up spinning, unless this was a spin before.
    SpinEnds(usize, u64),
}

#[derive(Default)]
struct Client {
    at: usize,
    core: Option<usize>,
    /// What comes on top of its next time on a core: having been woken, having woken another.
    extra_ns: f64,
    /// Counts its spins.
    spin: u64,
}

#[derive(Default)]
struct Latch {
    holder: Option<usize>,
    /// The core that had it last.
    last_core: Option<usize>,
    spinning: VecDeque<usize>,
    sleeping: VecDeque<usize>,
}

/// Moments are counted in this part of a nanosecond.
const TICKS_PER_NS: f64 = 256.0;

impl<'a, B: Books> Network<'a, B> {
    /// All clients are at the beginning of the script, which has a step that takes time.
    pub(super) fn new(
        machine: Machine,
        clients: usize,
        script: &'a [Step],
        books: B,
        seed: u64,
    ) -> Network<'a, B> {
        let mut network = Network {
            machine,
            script,
            books,
            random: Random::new(seed),
            now: 0,
            events: BinaryHeap::new(),
            planned: 0,
            clients: (0..clients).map(|_| Client::default()).collect(),
            idle: (0..machine.cores).rev().collect(),
            ready: VecDeque::new(),
            latch: Latch::default(),
            done: 0,
        };
        (0..clients).for_each(|client| network.proceed(client));
        network
    }

    /// Rounds per second, after some that do not count.
    pub(super) fn rate_per_s(mut self, warm: u64, counted: u64) -> f64 {
        self.run_until(warm);
        let (begin, first) = (self.now, self.done);
        self.run_until(first + counted);
        (self.done - first) as f64 / ((self.now - begin) as f64 / TICKS_PER_NS / 1e9)
    }

    fn run_until(&mut self, done: u64) {
        while self.done < done {
            // Every client is in an event, ready, or waits for one that is.
            let Some(Reverse((at, _, event))) = self.events.pop() else {
                return;
            };
            self.now = at;
            match event {
                Event::Wakes(client) => self.proceed(client),
                Event::Done(client) => self.end_step(client),
                Event::SpinEnds(client, spin) => self.end_spin(client, spin),
            }
        }
    }

    fn plan(&mut self, ns: f64, event: Event) {
        self.planned += 1;
        let at = self.now + (ns * TICKS_PER_NS) as u64;
        self.events.push(Reverse((at, self.planned, event)));
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - fraction is above 0, so the logarithm is finite.
        -(1.0 - self.random.fraction()).ln() * mean
    }

    /// Begins the step that the client is at, if it can.
    fn proceed(&mut self, client: usize) {
        match self.script[self.clients[client].at] {
            Step::Away(mean) => {
                self.leave_core(client);
                let ns = self.exponential(mean);
                self.plan(ns, Event::Done(client));
            }
            Step::Run(mean) => {
                if self.take_core(client) {
                    let ns = self.exponential(mean) + std::mem::take(&mut self.clients[client].extra_ns);
                    self.plan(ns, Event::Done(client));
                }
            }
            Step::Latched(_) => {
                if self.take_core(client) {
                    // What it takes to be woken, and to wake another, does not pass under the latch.
                    match std::mem::take(&mut self.clients[client].extra_ns) {
                        extra if extra > 0.0 => self.plan(extra, Event::Wakes(client)),
                        _ => self.ask_for_latch(client),
                    }
                }
            }
        }
    }

    /// True if it is on a core. Else it stands in the queue, and proceeds when one is free.
    fn take_core(&mut self, client: usize) -> bool {
        if self.clients[client].core.is_some() {
            return true;
        }
        match self.idle.pop() {
            Some(core) => {
                self.clients[client].core = Some(core);
                true
            }
            None => {
                self.ready.push_back(client);
                false
            }
        }
    }

    fn leave_core(&mut self, client: usize) {
        let Some(core) = self.clients[client].core.take() else {
            return;
        };
        match self.ready.pop_front() {
            Some(next) => {
                self.clients[next].core = Some(core);
                // Not from here: it may leave its core at once.
                self.plan(0.0, Event::Wakes(next));
            }
            None => self.idle.push(core),
        }
    }

    fn ask_for_latch(&mut self, client: usize) {
        match self.latch.holder {
            None => self.take_latch(client, 0.0),
            Some(_) => {
                self.clients[client].spin += 1;
                let spin = self.clients[client].spin;
                self.latch.spinning.push_back(client);
                self.plan(self.machine.spin_ns, Event::SpinEnds(client, spin));
            }
        }
    }

    /// Takes the latch, which is released so late.
    fn take_latch(&mut self, client: usize, release_ns: f64) {
        self.latch.holder = Some(client);
        let state = &mut self.clients[client];
        state.spin += 1;
        let core = state.core.unwrap_or_default();
        let moved = self
            .latch
            .last_core
            .map_or(0.0, |last| self.machine.between(last, core));
        self.latch.last_core = Some(core);
        let Step::Latched(act) = self.script[state.at] else {
            return;
        };
        let ns = release_ns + self.books.hold_ns(act, moved);
        self.plan(ns, Event::Done(client));
    }

    fn end_spin(&mut self, client: usize, spin: u64) {
        if self.clients[client].spin != spin {
            return;
        }
        self.latch.spinning.retain(|other| *other != client);
        self.latch.sleeping.push_back(client);
        self.leave_core(client);
    }

    fn end_step(&mut self, client: usize) {
        if self.latch.holder == Some(client) {
            self.release_latch(client);
        }
        let state = &mut self.clients[client];
        state.at += 1;
        if state.at == self.script.len() {
            state.at = 0;
            self.done += 1;
        }
        self.proceed(client);
    }

    fn release_latch(&mut self, client: usize) {
        self.latch.holder = None;
        if let Some(next) = self.latch.spinning.pop_front() {
            // Those that spin have its line: it comes back to be written, and then goes on.
            self.take_latch(next, self.machine.anywhere_ns());
        }
        let is_taken = self.latch.holder.is_some();
        let count = match self.machine.waking {
            Waking::One => usize::from(!is_taken),
            Waking::All => usize::MAX,
        };
        self.wake(client, count.min(self.latch.sleeping.len()));
    }

    /// Wakes the first of those that sleep: a call of the system for the one that wakes, and a while until the others run.
    fn wake(&mut self, client: usize, count: usize) {
        if count > 0 {
            self.clients[client].extra_ns += self.machine.switch_ns;
        }
        for _ in 0..count {
            let Some(next) = self.latch.sleeping.pop_front() else {
                return;
            };
            self.clients[next].extra_ns += self.machine.switch_ns;
            self.plan(self.machine.switch_ns, Event::Wakes(next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every act takes so long.
    struct Fixed(f64);

    impl Books for Fixed {
        fn hold_ns(&mut self, _: Act, _: f64) -> f64 {
            self.0
        }
    }

    fn ideal(cores: usize) -> Machine {
        Machine {
            cores,
            socket: cores,
            near_ns: 0.0,
            far_ns: 0.0,
            switch_ns: 0.0,
            spin_ns: 0.0,
            waking: Waking::One,
        }
    }

    fn rate(machine: Machine, clients: usize, script: &[Step], hold: f64) -> f64 {
        Network::new(machine, clients, script, Fixed(hold), 7).rate_per_s(5_000, 100_000)
    }

    /// Clients that think and then want one of some servers, all exponential: the birth-death chain has a closed form (the machine
    /// repairman's problem).
    fn repairman_per_s(servers: usize, clients: usize, away_ns: f64, run_ns: f64) -> f64 {
        let mut weights = vec![1.0];
        for busy in 1..=clients {
            let arrive = (clients - busy + 1) as f64 / away_ns;
            let leave = busy.min(servers) as f64 / run_ns;
            weights.push(weights[busy - 1] * arrive / leave);
        }
        let all: f64 = weights.iter().sum();
        let served = |(waiting, weight): (usize, &f64)| waiting.min(servers) as f64 * weight / all;
        weights.iter().enumerate().map(served).sum::<f64>() / run_ns * 1e9
    }

    #[test]
    fn cores_are_those_of_the_machine_repairman() {
        for (cores, clients, away, run) in [
            (1, 1, 1000.0, 1000.0),
            (1, 5, 9000.0, 2000.0),
            (2, 4, 1000.0, 1000.0),
            (8, 16, 5000.0, 5000.0),
            (8, 40, 100.0, 5000.0),
        ] {
            let found = rate(ideal(cores), clients, &[Step::Away(away), Step::Run(run)], 0.0);
            let exact = repairman_per_s(cores, clients, away, run);
            assert!(
                (found / exact - 1.0).abs() < 0.015,
                "{cores} {clients}: {found} {exact}"
            );
        }
    }

    /// Mean value analysis of a queue with one server that clients visit, and are away from in between (Reiser, Lavenberg, 1980).
    fn mva_per_s(clients: usize, away_ns: f64, demand_ns: f64) -> f64 {
        let (mut queue, mut rate) = (0.0, 0.0);
        for count in 1..=clients {
            let time = demand_ns * (1.0 + queue);
            rate = count as f64 / (away_ns + time);
            queue = rate * time;
        }
        rate * 1e9
    }

    #[test]
    fn visits_add_up_as_in_mean_value_analysis() {
        let script = [
            Step::Away(4000.0),
            Step::Run(1500.0),
            Step::Away(3000.0),
            Step::Run(1500.0),
        ];
        for clients in [1, 3, 10] {
            let found = rate(ideal(1), clients, &script, 0.0);
            let exact = mva_per_s(clients, 7000.0, 3000.0);
            assert!((found / exact - 1.0).abs() < 0.015, "{clients}: {found} {exact}");
        }
    }

    #[test]
    fn a_latch_bounds_the_rate_and_one_that_is_rarely_taken_does_not() {
        let script = [Step::Away(1000.0), Step::Run(1000.0), Step::Latched(Act::View)];
        // One client waits for nobody: away, run, hold.
        let alone = rate(ideal(4), 1, &script, 500.0);
        assert!((alone / (1e9 / 2500.0) - 1.0).abs() < 0.01, "{alone}");
        // Asymptotic bounds: the latch, the cores, the clients; many clients come near the least of them.
        for (cores, clients, hold) in [(4, 64, 2000.0), (4, 64, 10.0), (16, 8, 300.0), (2, 3, 1000.0)] {
            let found = rate(ideal(cores), clients, &script, hold);
            let of_latch = 1e9 / hold;
            let of_cores = cores as f64 * 1e9 / (1000.0 + hold);
            let of_clients = clients as f64 * 1e9 / (2000.0 + hold);
            let bound = of_latch.min(of_cores).min(of_clients);
            assert!(found <= bound * 1.01, "{cores} {clients} {hold}: {found} {bound}");
            if clients == 64 {
                assert!(found >= bound * 0.97, "{cores} {clients} {hold}: {found} {bound}");
            }
        }
    }

    /// With as many cores as clients the latch is a queue with one server: between the closed forms for constant and exponential holds
    /// lies what is simulated.
    #[test]
    fn a_latch_is_a_queue_with_one_server() {
        let script = [Step::Away(3000.0), Step::Run(1000.0), Step::Latched(Act::View)];
        for clients in [2, 4, 8] {
            let found = rate(ideal(clients), clients, &script, 1000.0);
            let exponential = repairman_per_s(1, clients, 4000.0, 1000.0);
            let never_waiting = (clients as f64 * 1e9 / 5000.0).min(1e6);
            assert!(
                found > exponential * 0.99 && found < never_waiting,
                "{clients}: {exponential} {found} {never_waiting}"
            );
        }
    }

    /// The one that was woken needs a while to come, and meanwhile nobody has the latch; of many one comes soon.
    #[test]
    fn a_broadcast_leaves_the_latch_free_for_less_time() {
        let script = [Step::Run(4000.0), Step::Latched(Act::View)];
        let of = |waking, clients| {
            let machine = Machine {
                switch_ns: 1000.0,
                waking,
                ..ideal(4)
            };
            rate(machine, clients, &script, 2000.0)
        };
        assert!(of(Waking::All, 32) > of(Waking::One, 32) * 1.2);
        assert_eq!(of(Waking::All, 1), of(Waking::One, 1), "nobody sleeps");
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let script = [Step::Run(1000.0), Step::Latched(Act::View)];
        let machine = Machine {
            near_ns: 50.0,
            switch_ns: 1000.0,
            spin_ns: 300.0,
            ..ideal(3)
        };
        assert_eq!(rate(machine, 7, &script, 400.0), rate(machine, 7, &script, 400.0));
    }

    #[test]
    fn lines_are_nearer_within_a_socket() {
        let machine = Machine {
            near_ns: 50.0,
            far_ns: 150.0,
            socket: 2,
            ..ideal(4)
        };
        assert_eq!([0, 1, 2].map(|core| machine.between(0, core)), [0.0, 50.0, 150.0]);
        assert_eq!(machine.anywhere_ns(), 87.5);
        assert_eq!(ideal(1).anywhere_ns(), 0.0);
    }
}

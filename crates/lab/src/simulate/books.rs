//! What transactions do under an exhibit's latch, and for how long: the museum's exhibits as they are built here, and the machinery of the
//! studies' servers that they stand for.
//!
//! ```text
//!  hold = what was measured here:  a + b · (transactions in the books)
//!       + cache lines that move:   those of the latch, if it comes from another core;
//!                                  those of the list, if it has changed since it was read last
//! ```
//!
//! A list whose entries are linked is walked entry by entry: each is a line that its owner has written, and no miss begins before the
//! one in front of it has ended. A dense list is copied, eight entries a line, and a core has [`MISSES_AT_ONCE`] misses under way.

use super::network::{Act, Books, Machine, Step};
use crate::level::Level;

/// Line fill buffers of a core (Intel's optimization manual, from Nehalem on).
const MISSES_AT_ONCE: f64 = 10.0;
/// Of 8 bytes in a line.
const ENTRIES_OF_A_LINE: f64 = 8.0;

/// How views wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Latch {
    /// They do not.
    None,
    /// One after the other.
    Mutex,
    /// At the same time; what takes turns is the word that counts them.
    Shared,
}

/// Which transactions the list of open ones has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    Writers,
    Everybody,
}

/// How the books are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Dense,
    Linked,
}

/// A way to make a view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exhibit {
    pub(super) name: &'static str,
    /// Whose service times it has.
    pub(super) measured_as: &'static str,
    pub(super) latch: Latch,
    pub(super) listed: Listed,
    pub(super) layout: Layout,
    /// A view is used again if nobody came or went.
    pub(super) is_cached: bool,
    /// A view that is given back goes through the latch, too.
    pub(super) closes: bool,
    /// Lines that move with the latch: its word, and what everyone writes beside the list.
    pub(super) lines: f64,
}

const AS_BUILT: Exhibit = Exhibit {
    name: "",
    measured_as: "",
    latch: Latch::Mutex,
    listed: Listed::Writers,
    layout: Layout::Dense,
    is_cached: false,
    closes: false,
    lines: 2.0,
};

const fn built(name: &'static str, latch: Latch) -> Exhibit {
    Exhibit {
        name,
        measured_as: name,
        latch,
        ..AS_BUILT
    }
}

/// The museum, as it is built here.
pub(super) const EXHIBITS: [Exhibit; 8] = [
    built("tide", Latch::None),
    built("kernel_mutex", Latch::Mutex),
    built("trx_sys", Latch::Mutex),
    Exhibit {
        is_cached: true,
        ..built("cached_view", Latch::Mutex)
    },
    built("rw_trx_hash", Latch::None),
    built("commit_numbers", Latch::None),
    built("procarray", Latch::Shared),
    built("pruning_off", Latch::None),
];

/// MySQL 5.0: every open transaction is in the list, also one that only reads, as a struct of its own that its thread writes.
pub(super) const MYSQL_5_0: Exhibit = Exhibit {
    name: "MySQL 5.0",
    listed: Listed::Everybody,
    layout: Layout::Linked,
    ..built("kernel_mutex", Latch::Mutex)
};

/// MySQL 5.7: a dense list of writers. A view enters a list of views and leaves it (two neighbours), reads the oldest transaction that is
/// being numbered, and is closed under the mutex.
pub(super) const MYSQL_5_7: Exhibit = Exhibit {
    name: "MySQL 5.7",
    closes: true,
    lines: 5.0,
    ..built("trx_sys", Latch::Mutex)
};

/// What was measured of an exhibit: the price of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Price {
    /// What the engine does for a view whatever the exhibit.
    pub(super) outside_ns: f64,
    /// What the exhibit does, under its latch if it has one.
    pub(super) view_ns: f64,
    /// … for each transaction in the books.
    pub(super) entry_ns: f64,
}

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Work {
    /// Round trips to the server, BEGIN and COMMIT among them.
    pub(super) statements: usize,
    /// Those that read by a view, behind BEGIN.
    pub(super) reads: usize,
    /// Those that write come behind.
    pub(super) writes: bool,
    /// Processor time of the server and of the client, which share the cores, without views, of the whole transaction.
    pub(super) server_ns: f64,
    pub(super) client_ns: f64,
}

impl Exhibit {
    /// The steps of a transaction.
    pub(super) fn script(&self, work: &Work, level: Level, price: &Price, open: usize) -> Vec<Step> {
        let run = work.server_ns / work.statements as f64;
        let think = work.client_ns / work.statements as f64;
        let mut steps = Vec::new();
        let mut begun = false;
        for statement in 0..work.statements {
            // From client to server and back another thread goes on, and whoever waits for a core comes first.
            steps.extend([Step::Run(think), Step::Away(0.0), Step::Run(run)]);
            let is_read = (1..=work.reads).contains(&statement);
            let is_last = statement + 1 == work.statements;
            let begins = match self.listed {
                Listed::Everybody => statement == 0,
                Listed::Writers => work.writes && statement == work.reads + 1,
            };
            if begins {
                begun = true;
                self.put(&mut steps, Act::Begin);
            }
            if is_read && (level == Level::ReadCommitted || statement == 1) {
                self.put(&mut steps, Act::View);
                // Under a mutex it takes as long as the books say.
                let alone = match self.latch {
                    Latch::Mutex => 0.0,
                    Latch::None | Latch::Shared => price.view_ns + price.entry_ns * open as f64,
                };
                steps.push(Step::Run(price.outside_ns + alone));
                if self.closes && level == Level::ReadCommitted {
                    steps.push(Step::Latched(Act::Close));
                }
            }
            if is_last && begun {
                self.put(&mut steps, Act::End);
            }
            steps.push(Step::Away(0.0));
        }
        steps
    }

    fn put(&self, steps: &mut Vec<Step>, act: Act) {
        if self.latch != Latch::None {
            steps.push(Step::Latched(act));
        }
    }

    /// The books of a run, in which so many stand all the time.
    pub(super) fn books(&self, price: Price, open: usize, machine: &Machine) -> OpenBooks {
        OpenBooks {
            exhibit: *self,
            price,
            line_ns: machine.anywhere_ns(),
            listed: open,
            edition: 0,
            read: 0,
        }
    }
}

/// The books while transactions come and go.
pub(super) struct OpenBooks {
    exhibit: Exhibit,
    price: Price,
    /// A line that some other core has written.
    line_ns: f64,
    listed: usize,
    /// Grows when the list changes.
    edition: u64,
    /// The edition that was read last.
    read: u64,
}

impl OpenBooks {
    /// The list's lines, if they were written since it was read.
    fn list_ns(&self) -> f64 {
        let listed = self.listed as f64;
        match self.exhibit.layout {
            Layout::Linked => listed * self.line_ns,
            Layout::Dense => (listed / ENTRIES_OF_A_LINE / MISSES_AT_ONCE).ceil() * self.line_ns,
        }
    }
}

impl Books for OpenBooks {
    fn hold_ns(&mut self, act: Act, comes_from_ns: f64) -> f64 {
        let exhibit = self.exhibit;
        let moved = exhibit.lines * comes_from_ns;
        if exhibit.latch == Latch::Shared {
            return moved;
        }
        match act {
            Act::Begin => {
                self.listed += 1;
                self.edition += 1;
            }
            Act::End => {
                self.listed = self.listed.saturating_sub(1);
                self.edition += 1;
            }
            Act::Close => {}
            Act::View => {
                let is_changed = self.read != self.edition;
                self.read = self.edition;
                if exhibit.is_cached && !is_changed {
                    return moved + self.price.view_ns;
                }
                let list = match is_changed || exhibit.layout == Layout::Linked {
                    true => self.list_ns(),
                    false => 0.0,
                };
                return moved + self.price.view_ns + self.price.entry_ns * self.listed as f64 + list;
            }
        }
        moved + self.price.view_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::network::Waking;

    const PRICE: Price = Price {
        outside_ns: 0.0,
        view_ns: 100.0,
        entry_ns: 1.0,
    };

    fn machine() -> Machine {
        Machine {
            cores: 8,
            socket: 4,
            near_ns: 50.0,
            far_ns: 150.0,
            switch_ns: 0.0,
            spin_ns: 0.0,
            waking: Waking::One,
        }
    }

    #[test]
    fn read_committed_makes_a_view_for_each_statement_that_reads() {
        let work = Work {
            statements: 20,
            reads: 14,
            writes: true,
            server_ns: 2000.0,
            client_ns: 200.0,
        };
        let count = |exhibit: &Exhibit, level, act| {
            let steps = exhibit.script(&work, level, &PRICE, 0);
            steps.iter().filter(|step| **step == Step::Latched(act)).count()
        };
        let trx_sys = &EXHIBITS[2];
        assert_eq!(trx_sys.name, "trx_sys");
        assert_eq!(count(trx_sys, Level::RepeatableRead, Act::View), 1);
        assert_eq!(count(trx_sys, Level::ReadCommitted, Act::View), 14);
        assert_eq!(count(trx_sys, Level::ReadCommitted, Act::Begin), 1);
        assert_eq!(count(&MYSQL_5_7, Level::ReadCommitted, Act::Close), 14);
        assert_eq!(count(&EXHIBITS[0], Level::ReadCommitted, Act::View), 0);
        let run: f64 = EXHIBITS[0]
            .script(&work, Level::RepeatableRead, &PRICE, 0)
            .iter()
            .map(|step| match step {
                Step::Run(ns) => *ns,
                _ => 0.0,
            })
            .sum();
        assert!((run - 2300.0).abs() < 1e-6);
    }

    #[test]
    fn a_list_costs_by_its_layout_and_only_when_it_has_changed() {
        let mean = machine().anywhere_ns();
        let mut dense = EXHIBITS[2].books(PRICE, 160, &machine());
        assert_eq!(dense.hold_ns(Act::View, 0.0), 260.0);
        dense.hold_ns(Act::Begin, 0.0);
        dense.hold_ns(Act::End, 0.0);
        assert_eq!(dense.hold_ns(Act::View, 0.0), 260.0 + 2.0 * mean);
        assert_eq!(dense.hold_ns(Act::View, 50.0), 260.0 + 100.0);
        let mut linked = MYSQL_5_0.books(PRICE, 160, &machine());
        assert_eq!(linked.hold_ns(Act::View, 0.0), 260.0 + 160.0 * mean);
        let mut cached = EXHIBITS[3].books(PRICE, 160, &machine());
        assert_eq!(cached.hold_ns(Act::View, 0.0), 100.0);
        cached.hold_ns(Act::Begin, 0.0);
        assert!(cached.hold_ns(Act::View, 0.0) > 260.0);
    }
}

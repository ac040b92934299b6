//! The experiments: what was asked, what is measured, and how.
//!
//! An experiment is a text and a list of cells; a cell is one thing to measure on one server, at one level with one number of
//! clients, say. Most cells put a load on the server and count. The others have a file each:
//!
//! - [`hot_row`]: one row, updated while snapshots of it are held, second by second.
//! - [`queue`]: a table used as a queue beside a snapshot.
//! - [`open_writers`]: a load beside transactions that have written and stay open.
//! - [`meaning`]: what each level lets happen, by scripts of two sessions.
//! - [`tpcc`]: TPC-C's transactions, and whether its consistency conditions hold after them.
//! - [`waits`]: what the server's threads wait for, as it says itself.
//! - [`catalogue`]: all experiments, with the studies they come from.

pub mod catalogue;
mod hot_row;
mod meaning;
mod open_writers;
mod queue;
mod timeline;
pub mod tpcc;
mod waits;

use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::level::Level;
use crate::load::tables::Tables;
use crate::load::tpcc::schema::Size;
use crate::load::{Generator, Load, Measured, Pace, Spec, Workload, sysbench};
use crate::results::Found;
use crate::server::Server;
use std::fmt;
use std::time::Duration;

/// An experiment.
pub struct Experiment {
    /// Its name on the command line and in results.
    pub name: &'static str,
    /// Author and year of the study.
    pub study: &'static str,
    /// What it asks.
    pub question: &'static str,
    /// What is done, exactly.
    pub workload: &'static str,
    /// What was found then.
    pub found: &'static str,
    /// Its cells.
    pub cells: fn(&Scale) -> Vec<Cell>,
}

/// How large and how long cells are.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// The studies' numbers of clients, and as much time and data as figures to be quoted need.
    pub is_full: bool,
    /// Before anything is counted.
    pub warm: Duration,
    /// While it is.
    pub measure: Duration,
    /// How often each cell is measured.
    pub repeats: u32,
    /// Only cells of so many clients, if it says which.
    pub clients: Option<Vec<usize>>,
    /// Rows of a table, if it says how many.
    pub rows: Option<u32>,
    /// The load generator: the lab's own, or stock sysbench.
    pub generator: Generator,
}

impl Scale {
    /// For a look: all experiments on four servers within half an hour.
    pub fn quick() -> Scale {
        Scale {
            is_full: false,
            warm: Duration::from_millis(300),
            measure: Duration::from_millis(1200),
            repeats: 3,
            clients: None,
            rows: None,
            generator: Generator::Own,
        }
    }

    /// For figures.
    pub fn full() -> Scale {
        Scale {
            is_full: true,
            warm: Duration::from_secs(5),
            measure: Duration::from_secs(20),
            repeats: 5,
            clients: None,
            rows: None,
            generator: Generator::Own,
        }
    }

    /// One of two.
    fn pick<T>(&self, quick: T, full: T) -> T {
        match self.is_full {
            true => full,
            false => quick,
        }
    }

    fn clients(&self, quick: &[usize], full: &[usize]) -> Vec<usize> {
        match &self.clients {
            Some(clients) => clients.clone(),
            None => self.pick(quick, full).to_vec(),
        }
    }

    fn tables(&self, quick: Tables, full: Tables) -> Tables {
        let tables = self.pick(quick, full);
        Tables {
            rows: self.rows.unwrap_or(tables.rows),
            ..tables
        }
    }

    /// A moment of a time line that is so long at the usual lengths.
    fn stretch(&self, quick_s: u64, full_s: u64) -> Duration {
        let usual = if self.is_full {
            Scale::full()
        } else {
            Scale::quick()
        };
        let factor = self.measure.as_secs_f64() / usual.measure.as_secs_f64();
        Duration::from_secs_f64(self.pick(quick_s, full_s) as f64 * factor)
    }
}

/// As results have it: those of different scales are not compared. Repeats may become more.
impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pick("quick", "full"))?;
        let usual = if self.is_full {
            Scale::full()
        } else {
            Scale::quick()
        };
        if self.measure != usual.measure {
            write!(f, " seconds={}", self.measure.as_secs_f64())?;
        }
        if let Some(rows) = self.rows {
            write!(f, " rows={rows}")?;
        }
        match self.generator {
            Generator::Own => Ok(()),
            Generator::Sysbench => f.write_str(" client=sysbench"),
        }
    }
}

/// One thing to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// What it varies, as `level=RC clients=16`.
    pub label: String,
    work: Work,
}

#[derive(Clone, Debug, PartialEq)]
enum Work {
    Load(Spec),
    LoadWithWaits(Spec),
    /// Beside so many open transactions.
    OpenWriters(Spec, usize),
    HotRow {
        clients: usize,
    },
    Queue {
        skip_locked: bool,
    },
    Meaning(Level),
    Tpcc(Spec, Size),
}

impl Cell {
    fn load(label: String, workload: Workload, clients: usize, level: Level) -> Cell {
        Cell {
            label,
            work: Work::Load(spec(workload, clients, level)),
        }
    }

    /// The level whose price it measures.
    fn level(&self) -> Option<Level> {
        match &self.work {
            Work::Load(spec)
            | Work::LoadWithWaits(spec)
            | Work::OpenWriters(spec, _)
            | Work::Tpcc(spec, _) => spec.level,
            Work::HotRow { .. } | Work::Queue { .. } | Work::Meaning(_) => None,
        }
    }

    /// How long it takes, about.
    pub fn expected(&self, scale: &Scale) -> Duration {
        match &self.work {
            Work::Load(_) | Work::LoadWithWaits(_) | Work::OpenWriters(..) => scale.warm + scale.measure,
            Work::HotRow { .. } => hot_row::Times::new(scale).all(),
            Work::Queue { .. } => queue::Times::new(scale).all(),
            Work::Meaning(_) => Duration::from_secs(4),
            Work::Tpcc(..) => scale.warm + scale.measure + tpcc::check_time(scale),
        }
    }

    /// Why it cannot be measured with the scale's generator, if so.
    pub fn cannot(&self, scale: &Scale) -> Option<&'static str> {
        if scale.generator == Generator::Own {
            return None;
        }
        match &self.work {
            Work::Load(spec)
            | Work::LoadWithWaits(spec)
            | Work::OpenWriters(spec, _)
            | Work::Tpcc(spec, _) => sysbench::script(spec).err(),
            Work::HotRow { .. } => {
                Some("a snapshot is held beside the load, which is watched second by second")
            }
            Work::Queue { .. } => Some("no script of sysbench has a queue"),
            Work::Meaning(_) => Some("scripts of two sessions are no load"),
        }
    }

    /// Measures it once. Tables are made if they are not there.
    pub fn measure(&self, server: &Server, scale: &Scale, interrupt: &Interrupt) -> Result<Found, Failure> {
        if let Some(why) = self.level().and_then(|level| server.dialect().lacks(level)) {
            return Err(Failure::because(why));
        }
        match &self.work {
            Work::Load(spec) if scale.generator == Generator::Sysbench => {
                sysbench::measure(server, spec, scale.measure, interrupt)
            }
            Work::Load(spec) => Ok(found(&measure(server, spec, scale, interrupt)?)),
            Work::LoadWithWaits(spec) => {
                spec.workload.prepare(server, interrupt)?;
                let before = waits::read(server);
                let mut found = found(&measure(server, spec, scale, interrupt)?);
                found.waits = waits::since(&before, &waits::read(server));
                Ok(found)
            }
            Work::OpenWriters(spec, count) => {
                spec.workload.prepare(server, interrupt)?;
                let held = open_writers::hold(server, *count, interrupt)?;
                let found = found(&measure(server, spec, scale, interrupt)?);
                drop(held);
                Ok(found)
            }
            Work::HotRow { clients } => hot_row::measure(server, *clients, scale, interrupt),
            Work::Queue { skip_locked } => queue::measure(server, *skip_locked, scale, interrupt),
            Work::Meaning(level) => meaning::measure(server, *level, interrupt),
            Work::Tpcc(spec, size) => tpcc::measure(server, spec, *size, scale, interrupt),
        }
    }
}

fn spec(workload: Workload, clients: usize, level: Level) -> Spec {
    Spec {
        workload,
        clients,
        level: Some(level),
        pace: Pace::Closed,
        work: Duration::ZERO,
    }
}

fn measure(server: &Server, spec: &Spec, scale: &Scale, interrupt: &Interrupt) -> Result<Measured, Failure> {
    spec.workload.prepare(server, interrupt)?;
    Load::start(server, spec, interrupt)?.measure(server, scale.warm, scale.measure)
}

/// The figures of a load.
pub(crate) fn found(measured: &Measured) -> Found {
    let mut found = Found::default();
    let mut put = |name: &str, value: f64| found.values.insert(name.to_owned(), value);
    put("tps", measured.tps);
    for (name, quantile) in [
        ("p50_us", 0.5),
        ("p95_us", 0.95),
        ("p99_us", 0.99),
        ("p999_us", 0.999),
    ] {
        put(name, measured.latency_ns.value_at_quantile(quantile) as f64 / 1e3);
    }
    put("max_us", measured.latency_ns.max() as f64 / 1e3);
    put(
        "retried",
        measured.retried.iter().map(|(_, count)| *count as f64).sum(),
    );
    for (name, count) in measured.retried.iter().filter(|(_, count)| *count > 0) {
        put(name, *count as f64);
    }
    put("client_cpu_us", measured.own_cpu_us);
    if let Some(cpu) = measured.server_cpu_us {
        put("server_cpu_us", cpu);
    }
    if let Some(count) = measured.not_begun {
        put("not_begun", count as f64);
    }
    found
}

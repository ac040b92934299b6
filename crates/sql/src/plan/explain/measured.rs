//! What EXPLAIN ANALYZE has measured of a plan's operators.
//!
//! A plan is run as calls from one operator into the next, outermost first: a scan hands each row to what comes after it. So the
//! clock is read whenever the work goes from one operator to another, and the time since the last reading is that operator's own. What
//! is shown for an operator, as MySQL shows it, is its own time and that of all it reads from.

use crate::plan::{QueryPlan, SelectPlan};
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The parts of a plan's structures that are measured by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Of a table: the rows that are read.
    Read,
    /// Of a table: those that pass its conditions.
    Passed,
    /// Of a left join: the rows that it hands on.
    Joined,
    /// Of a query block: the rows that pass its condition.
    Filtered,
    /// Groups.
    Grouped,
    /// Rows in order.
    Sorted,
    /// Rows that the query hands on.
    Sent,
    /// A query's rows, kept.
    Kept,
}

/// Where an operator is measured: a structure of the plan, by its address, and the part of it.
pub type Meter = (usize, Stage);

/// The meter of a part of a structure.
pub fn meter<T>(of: &T, stage: Stage) -> Meter {
    (std::ptr::from_ref(of) as usize, stage)
}

/// One operator's figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// How often it was run.
    pub loops: u64,
    /// Rows over all of these.
    pub rows: u64,
    /// From the beginning to the first row, in milliseconds, on average.
    pub first_ms: f64,
    /// Its own work, all together, in milliseconds.
    pub own_ms: f64,
}

#[derive(Default)]
struct Count {
    loops: u64,
    rows: u64,
    began: Option<Instant>,
    to_first: Duration,
    own: Duration,
}

struct Running {
    /// Whose work is done now, the innermost last.
    stack: Vec<Meter>,
    since: Instant,
    counts: HashMap<Meter, Count>,
}

/// The figures of a plan's operators, as they run.
pub struct Measured(RefCell<Running>);

impl Measured {
    pub fn new() -> Measured {
        Measured(RefCell::new(Running {
            stack: Vec::new(),
            since: Instant::now(),
            counts: HashMap::new(),
        }))
    }

    /// An operator begins to run once more.
    pub fn begin(&self, meter: Meter) {
        let mut running = self.0.borrow_mut();
        let count = running.counts.entry(meter).or_default();
        count.loops += 1;
        count.began = Some(Instant::now());
    }

    /// What is done from now on is this operator's work, until [`leave`](Self::leave).
    pub fn enter(&self, meter: Meter) {
        let mut running = self.0.borrow_mut();
        running.settle();
        running.stack.push(meter);
    }

    pub fn leave(&self) {
        let mut running = self.0.borrow_mut();
        running.settle();
        running.stack.pop();
    }

    /// An operator has a row.
    pub fn row(&self, meter: Meter) {
        self.rows(meter, 1);
    }

    pub fn rows(&self, meter: Meter, rows: u64) {
        let mut running = self.0.borrow_mut();
        let count = running.counts.entry(meter).or_default();
        count.rows += rows;
        if rows > 0
            && let Some(began) = count.began.take()
        {
            count.to_first += began.elapsed();
        }
    }

    /// What was measured; `None` of an operator that was never run.
    pub fn of(&self, meter: Meter) -> Option<Figures> {
        let running = self.0.borrow();
        let count = running.counts.get(&meter).filter(|count| count.loops > 0)?;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        // A run without a row has its first where it ends.
        let open = count.began.map_or(Duration::ZERO, |_| count.own);
        Some(Figures {
            loops: count.loops,
            rows: count.rows,
            first_ms: ms(count.to_first + open) / count.loops as f64,
            own_ms: ms(count.own),
        })
    }
}

/// A query block runs, from when this is made until it is dropped: what is not the work of the tables below is its own, and
/// stands with the operator that does most of it.
pub struct Measuring<'m>(&'m Measured);

impl Measuring<'_> {
    pub fn of_block<'m>(measured: &'m Measured, plan: &QueryPlan, select: &SelectPlan) -> Measuring<'m> {
        for stage in [Stage::Sorted, Stage::Sent] {
            measured.begin(meter(plan, stage));
        }
        for stage in [Stage::Filtered, Stage::Grouped] {
            measured.begin(meter(select, stage));
        }
        measured.enter(match (&select.group, plan.order.is_empty()) {
            (_, false) => meter(plan, Stage::Sorted),
            (Some(_), true) => meter(select, Stage::Grouped),
            (None, true) => meter(plan, Stage::Sent),
        });
        Measuring(measured)
    }
}

impl Drop for Measuring<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Running {
    fn settle(&mut self) {
        let now = Instant::now();
        if let Some(meter) = self.stack.last() {
            self.counts.entry(*meter).or_default().own += now - self.since;
        }
        self.since = now;
    }
}

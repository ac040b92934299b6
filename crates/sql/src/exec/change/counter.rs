//! Where one INSERT takes its AUTO_INCREMENT values from, and how it keeps other transactions from taking theirs in between
//! (`innodb_autoinc_lock_mode`).
//!
//! The table's counter lives outside of transactions: what is taken is not given back. A statement that knows how many
//! rows it has takes as many values at once, also for rows in front that brought their own; one that does not
//! (INSERT … SELECT) takes 1, 2, 4, … as it goes along. Whether two statements may take turns at that is the mode:
//!
//! - 0, *traditional*: no. Each locks the counter (AUTO-INC) to its own end, and moves it on only by the rows it has
//!   really inserted.
//! - 1, *consecutive*: only those that do not know their number lock the counter. The others take their values in one
//!   step, and wait if another transaction has it locked.
//! - 2, *interleaved*: yes. The lock is never asked for.

use super::ChangeContext;
use crate::context::SessionState;
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::types::storage::int_range;
use crate::types::{SqlType, Val, Value};
use crate::variables::CounterMode;
use std::ops::Range;
use tidemark_engine::{Error, LockMode, LockWait, Sequence, Table};

/// A bulk insert takes at most so many values at once.
const TAKEN_AT_ONCE_MAX: u64 = 65_535;

pub struct Counter<'a> {
    run: ChangeContext<'a>,
    table: &'a Table,
    /// The values that the session gives out of the counter, as far as the column holds them.
    sequence: Sequence,
    /// How many rows there may be yet: all, until a value is taken, then those that have not gone in. `None`: it is not known.
    rows: Option<u64>,
    /// Taken, and not used yet.
    taken: Range<u64>,
    /// The value of the row at hand, if it is a generated one.
    generated: Option<u64>,
    /// How many a bulk insert takes next.
    next_take: u64,
    /// A value has been taken.
    has_taken: bool,
    /// A row brought the column's greatest value: there is none behind it.
    at_end: bool,
    locked: bool,
}

impl<'a> Counter<'a> {
    /// For a statement of so many rows, if that is known. `max` is the greatest value of the column.
    pub fn new(run: ChangeContext<'a>, table: &'a Table, max: u64, rows: Option<u64>) -> Counter<'a> {
        Counter {
            run,
            table,
            sequence: sequence(run.session, max),
            rows,
            taken: 0..0,
            generated: None,
            next_take: 1,
            has_taken: false,
            at_end: false,
            locked: false,
        }
    }

    fn mode(&self) -> CounterMode {
        self.run.session.settings.counter_mode
    }

    fn step(&self) -> u64 {
        self.sequence.step
    }

    /// Before the row at hand is given a value, if it is.
    pub fn begin_row(&mut self) {
        self.generated = None;
    }

    /// The last value of the sequence that the column holds.
    pub fn last(&self) -> u64 {
        self.sequence.last()
    }

    /// The next value, which may be beyond what the column holds.
    pub fn generate(&mut self) -> Result<u64> {
        let value = if self.mode() == CounterMode::Traditional {
            self.lock()?;
            self.table.auto_increment_next(self.sequence)?
        } else {
            if self.taken.is_empty() {
                self.take()?;
            }
            let value = self.taken.start;
            self.go_on_above(value);
            value
        };
        self.generated = Some(value);
        Ok(value)
    }

    fn is_bulk(&self) -> bool {
        self.rows.is_none()
    }

    fn take(&mut self) -> Result<()> {
        if self.at_end {
            return Err(Error::AutoIncrementExhausted.into());
        }
        let number = self.rows.unwrap_or(self.next_take);
        self.has_taken = true;
        self.next_take = (2 * self.next_take).min(TAKEN_AT_ONCE_MAX);
        let consecutive = self.mode() == CounterMode::Consecutive;
        if consecutive && self.is_bulk() {
            self.lock()?;
        }
        let mut first = None;
        if consecutive && !self.locked {
            let txn = self.run.txn.borrow();
            first = self
                .table
                .auto_increment_reserve_unlocked(&txn, number, self.sequence)?;
            drop(txn);
            if first.is_none() {
                self.lock()?;
            }
        }
        let first = match first {
            Some(first) => first,
            None => self.table.auto_increment_reserve(number, self.sequence)?,
        };
        self.taken = first..first.saturating_add(number.saturating_mul(self.step()));
        Ok(())
    }

    fn go_on_above(&mut self, value: u64) {
        let steps = (value - self.taken.start) / self.step() + 1;
        let next = self.taken.start.saturating_add(steps.saturating_mul(self.step()));
        self.taken.start = next.min(self.taken.end);
    }

    /// The row at hand brings a value of its own: those generated behind it are above that.
    pub fn given(&mut self, value: u64) {
        if self.taken.contains(&value) {
            self.go_on_above(value);
        } else if value >= self.taken.end {
            self.taken = 0..0;
        }
        self.at_end |= self.has_taken && value >= self.sequence.max;
    }

    /// The row at hand went in.
    pub fn went_in(&mut self) {
        if self.has_taken {
            self.rows = self.rows.map(|rows| rows - 1);
        }
    }

    /// The row at hand did not go in, and the statement goes on: the next row gets its value.
    pub fn give_back(&mut self) {
        self.at_end = false;
        if let Some(value) = self.generated.take()
            && self.mode() != CounterMode::Traditional
        {
            let end = self.taken.end.max(value.saturating_add(self.step()));
            self.taken = value..end;
        }
    }

    /// A row with this value is about to go in, and will be observed.
    pub fn announce(&self, value: u64) {
        let next = self.sequence.after(value);
        if next > self.table.auto_increment_peek() {
            self.run.txn.borrow_mut().carry_counter(self.table.id(), next);
        }
    }

    /// A row with this value is there: the counter goes on with the next one of the session's sequence.
    pub fn observe(&mut self, value: u64) -> Result<()> {
        match self.mode() {
            CounterMode::Interleaved => {}
            CounterMode::Consecutive if !self.is_bulk() && !self.locked => {
                let txn = self.run.txn.borrow();
                let done = self
                    .table
                    .auto_increment_observe_unlocked(&txn, value, self.sequence)?;
                drop(txn);
                if !done {
                    self.lock()?;
                }
            }
            CounterMode::Traditional | CounterMode::Consecutive => self.lock()?,
        }
        Ok(self.table.auto_increment_observe(value, self.sequence)?)
    }

    fn lock(&mut self) -> Result<()> {
        if !self.locked {
            let mut txn = self.run.txn.borrow_mut();
            self.locked = txn.lock_table(self.table, LockMode::AutoIncrement, LockWait::Wait)?;
        }
        Ok(())
    }
}

/// The AUTO_INCREMENT value among new values of a row, if a counter goes on after it.
pub fn counted_in(table: &TableDef, set: &[(usize, Value)]) -> Option<u64> {
    let mut set = set.iter();
    let (_, value) = set.find(|(column, _)| table.columns[*column].auto_increment)?;
    counted(value)
}

/// Moves a table's counter on where UPDATE, or a foreign key's ON UPDATE CASCADE, has given a row a value beyond: to the next number,
/// whatever steps the session takes.
pub fn observe_update((def, table): (&TableDef, &Table), value: Option<u64>) -> Result<()> {
    let Some(value) = value else {
        return Ok(());
    };
    let column = def.columns.iter().find(|column| column.auto_increment);
    let max = column.map_or(u64::MAX, |column| last_value(&column.ty));
    Ok(table.auto_increment_observe(value, Sequence::up_to(max))?)
}

/// An AUTO_INCREMENT value that a counter goes on after: one above 0.
pub fn counted(value: &Value) -> Option<u64> {
    match value {
        Val::Int(v) => u64::try_from(*v).ok().filter(|v| *v > 0),
        Val::UInt(v) => Some(*v).filter(|v| *v > 0),
        _ => None,
    }
}

/// The greatest value of an AUTO_INCREMENT column.
pub fn last_value(ty: &SqlType) -> u64 {
    u64::try_from(int_range(ty).1).unwrap_or(u64::MAX)
}

/// The values that a session gives out of a counter whose column ends at `max`.
pub fn sequence(session: &SessionState, max: u64) -> Sequence {
    Sequence {
        step: session.settings.auto_increment_increment.max(1),
        offset: session.settings.auto_increment_offset.max(1),
        max,
    }
}

/// The lock is the statement's, not the transaction's.
impl Drop for Counter<'_> {
    fn drop(&mut self) {
        if self.locked {
            let mut txn = self.run.txn.borrow_mut();
            txn.unlock_table(self.table, LockMode::AutoIncrement);
        }
    }
}

//! Rows that a statement has to hold: in memory up to its share, behind that in spools.
//!
//! A *spool* ([`tidemark_engine::Spool`]) is bytes in scratch pages of the engine: as long as the buffer pool has room for
//! them nothing is written to disk. A share is one of MySQL's variables, and each structure has one of its own, as there:
//!
//! ```text
//!                 share             past it
//!  [`Sorter`]     sort_buffer_size  the rows so far go out as a sorted run; in the end the runs are merged
//!  [`KeptRows`]   tmp_table_size    further rows go out in order; reading goes through both
//!  [`RowBuffer`]  tmp_table_size    further rows of a window's partition go out in order; any is read by its number
//!  [`Partitions`] tmp_table_size    GROUP BY, DISTINCT ([`Distinct`]), INTERSECT and EXCEPT ([`Counted`]): rows of keys
//!                                   that are not in memory go out by the key's hash, and each part is done by itself
//!                                   once the input has ended
//!  [`KeySet`]     tmp_table_size    a recursive DISTINCT: keys go out sorted, and are searched there
//!  [`KeyedRows`]  join_buffer_size  a hash join's table, IN's values: partitions by the key's hash go out, and are joined with
//!                                   those of the other side ([`Probing`]), or sorted by key and found by bisection
//! ```
//!
//! Shares are estimates of what the rows themselves take. The statement's budget (`error::memory`) holds over all of it.
//!
//! Sources: Knuth, *The Art of Computer Programming* 3, 5.4 (merging); Shapiro, *Join processing in database systems with
//! large main memories*, 1986 (partitions by hash).

mod codec;
mod counted;
mod distinct;
mod hashed_rows;
mod key_set;
mod keyed_rows;
mod merge;
mod partitions;
mod probing;
mod row_buffer;
mod rows;
mod run;
mod seeds;
mod sorter;

pub use counted::Counted;
pub use distinct::{Distinct, Novelty};
pub use hashed_rows::{HashedRows, Key};
pub use key_set::KeySet;
pub use keyed_rows::KeyedRows;
pub use partitions::Partitions;
pub use probing::{Met, Preserved, Probing, Sides, Taken};
pub use row_buffer::{Place, RowBuffer};
pub use rows::KeptRows;
pub use run::SortedRun;
pub use seeds::Seeds;
pub use sorter::Sorter;

use crate::context::{Counter, Process, SessionState};
use crate::error::memory::{check_memory, reserve_memory};
use crate::error::{Result, SqlError};
use crate::types::{Val, Value};
use tidemark_engine::{Engine, Spool};

/// Rows between two looks at whether the statement should end.
const CHECK_EVERY: usize = 256;

/// Where a statement puts rows aside, and what may end it meanwhile.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    engine: &'a Engine,
    process: &'a Process,
}

impl<'a> Room<'a> {
    /// For the statements of a session.
    pub fn of(session: &'a SessionState) -> Room<'a> {
        Room::new(session.database.engine(), &session.process)
    }

    /// Rows go to the engine's spools; the process is looked at every few rows.
    pub fn new(engine: &'a Engine, process: &'a Process) -> Room<'a> {
        Room { engine, process }
    }

    /// For a run of a sort, or another part of something.
    fn spool(&self) -> Spool {
        self.process.counters.add(Counter::CreatedTmpFiles, 1);
        self.engine.spool(&self.process.spools)
    }

    /// For the rest of a set of rows that does not fit in memory.
    fn spool_of_table(&self) -> Spool {
        self.process.counters.add(Counter::CreatedTmpDiskTables, 1);
        self.spool()
    }

    /// How much of its share a structure may take just now: when the server's memory is nearly spent, an eighth.
    #[inline]
    pub fn allows(&self, share: usize) -> usize {
        if tidemark_memory::is_tight() {
            share / 8
        } else {
            share
        }
    }

    /// An error if the statement was killed or has taken too much memory.
    pub fn check(&self) -> Result<()> {
        if self.process.is_interrupted() {
            return Err(SqlError::interrupted());
        }
        check_memory()
    }

    /// The same, at one call in [`CHECK_EVERY`].
    #[inline]
    pub fn check_at(&self, row: usize) -> Result<()> {
        if row.is_multiple_of(CHECK_EVERY) {
            self.check()?;
        }
        Ok(())
    }
}

/// What structures may hold in memory, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// `sort_buffer_size`
    pub sort: usize,
    /// `join_buffer_size`
    pub join: usize,
    /// `tmp_table_size`
    pub table: usize,
}

impl Shares {
    /// As the session's variables say.
    pub fn of(session: &SessionState) -> Shares {
        let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        Shares {
            sort: bytes(session.settings.sort_buffer_size),
            join: bytes(session.settings.join_buffer_size),
            table: bytes(session.settings.tmp_table_size),
        }
    }
}

/// About what a value takes beside its own size.
fn heap_bytes(value: &Val) -> usize {
    match value {
        Val::Str(text) | Val::Json(text) | Val::Member(_, text) if !text.is_empty() => text.len() + 16,
        _ => 0,
    }
}

/// About what a row of its own takes.
pub fn row_bytes(row: &[Value]) -> usize {
    size_of::<Vec<Value>>() + 16 + size_of_val(row) + row.iter().map(heap_bytes).sum::<usize>()
}

/// A copy of a row, if there is memory for it.
pub fn copied(row: &[Value]) -> Result<Vec<Value>> {
    let _room = reserve_memory(row_bytes(row))?;
    Ok(row.to_vec())
}

#[cfg(test)]
mod tests;

//! Statistics: what is known of the rows of a table, for the planner and for people.
//!
//! ```text
//!   ANALYZE TABLE ─────┐                     ┌─► kept in memory, by the table's id ──► planner
//!                      ├─► gather ─► put ────┤
//!   monitor::refresh ──┘   leaves,           └─► the catalog's space `statistics`, outside the definitions
//!   (a thread)             one at a time
//! ```
//!
//! Of each column: the share of NULLs, how many different values there are, the values that are found most often, and ends that
//! divide the others evenly; of each index, how many different values the first part has, the first two, and so on. They are
//! sampled: the leaf is the unit, and a table with few leaves is read whole. The newest versions of rows are looked at, without
//! a view and without locks.
//!
//! Histograms ([`crate::histogram`]) are made when a user asks for them, belong to a definition, and go before these. How many rows a
//! table has, and how many entries lie in a range of an index, the trees tell at any time, so that is not asked here.
//!
//! | file | idea |
//! |---|---|
//! | `column` | what is known of a column, and the shares that follow from it |
//! | `index` | what is known of an index |
//! | `values` | the values of a column, counted |
//! | `gather` | looks at leaves |
//! | `codec` | as bytes in the catalog |
//! | `store` | what is known of all tables, in memory and in the catalog |
//! | `thread` | a thread that works and sleeps; what it does is `monitor::refresh` |

mod codec;
mod column;
mod gather;
mod index;
mod store;
mod thread;
mod values;

pub use column::ColumnStatistics;
pub use gather::{SampleSize, gather};
pub use index::{IndexStatistics, key_columns};
pub use store::{Statistics, announce};
pub use thread::{Signal, Worker};

use crate::dictionary::{IndexDef, TableDef};
use tidemark_engine::TableId;

/// How well something is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Nothing is known: a constant stands for it.
    Guess,
    /// It was estimated from a sample.
    Sampled,
    /// All rows were looked at.
    Exact,
}

/// What is known of a table's rows.
#[derive(Clone, Debug, PartialEq)]
pub struct TableStatistics {
    /// The table.
    pub table: TableId,
    /// When they were gathered, in seconds since 1970.
    pub updated_s: u64,
    /// Rows.
    pub rows: f64,
    /// Leaves of the clustered index that were looked at.
    pub sampled_leaves: u64,
    /// Whether those were all.
    pub is_whole: bool,
    /// Of each index, the clustered one first; a table without a primary key has one all the same.
    pub indexes: Vec<IndexStatistics>,
    /// Of each column that was looked at.
    columns: Vec<ColumnStatistics>,
}

impl TableStatistics {
    /// How well the shares of its columns' values are known.
    pub fn confidence(&self) -> Confidence {
        match self.is_whole {
            true => Confidence::Exact,
            false => Confidence::Sampled,
        }
    }

    /// About how much memory they take.
    fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(ColumnStatistics::bytes);
        let indexes = self.indexes.iter().map(|index| 256 + 64 * index.columns.len());
        columns.chain(indexes).sum()
    }

    /// Of a table without columns and with indexes of so many bytes.
    #[cfg(test)]
    fn of_bytes(table: TableId, bytes: usize) -> TableStatistics {
        let index = IndexStatistics::of(None, vec![String::new(); bytes / 64], Vec::new(), 1);
        TableStatistics {
            table,
            updated_s: 0,
            rows: 0.0,
            sampled_leaves: 0,
            is_whole: false,
            indexes: vec![index],
            columns: Vec::new(),
        }
    }

    /// What is known of a column of the table's definition. `None` also if the column has another type than when it was looked at.
    pub fn column(&self, def: &TableDef, at: usize) -> Option<&ColumnStatistics> {
        let column = def.columns.get(at)?;
        let found = match self.columns.get(at) {
            Some(same) if same.name == column.name => Some(same),
            _ => self.columns.iter().find(|known| known.name == column.name),
        };
        found.filter(|known| known.ty == column.ty)
    }

    /// What is known of an index of the table's definition; `None` stands for the clustered one of a table without a primary key.
    pub fn index(&self, def: &TableDef, index: Option<&IndexDef>) -> Option<&IndexStatistics> {
        self.indexes.iter().find(|known| known.is_of(def, index))
    }
}

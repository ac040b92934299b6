//! Purge tasks, followed in batches.
//!
//! Tasks come in the order in which rows were changed, while the entries that they name lie all over their indexes:
//! followed one by one, each costs a descent or two, and a leaf that is in no cache. So purge gathers names from many
//! tasks, sorts them, and goes through each index once, a leaf at a time. Secondary indexes come first, for an entry
//! may need a check of its row. What is done with an entry is decided in `table::deleted`.

use crate::core::Core;
use crate::error::Result;
use crate::ids::{IndexNo, PageId};
use crate::mvcc::{self, Record};
use crate::table::{OUTSIDE, Table};
use std::cmp::Reverse;
use std::sync::Arc;

/// Upper limits of a batch: names gathered, and bytes of their keys.
const NAMES_MAX: usize = 1 << 16;
const BYTES_MAX: usize = 4 << 20;

#[derive(Default)]
pub(super) struct Batch {
    /// The tables that tasks have named and that are not dropped.
    tables: Vec<Arc<Table>>,
    keys: Vec<u8>,
    names: Vec<Name>,
}

/// An entry of an index, which is 0 for rows.
struct Name {
    table: u32,
    index: u32,
    /// The first eight bytes of the key as a number: most comparisons need no more.
    start: u64,
    from: u32,
    to: u32,
}

impl Batch {
    pub fn is_full(&self) -> bool {
        self.names.len() >= NAMES_MAX || self.keys.len() >= BYTES_MAX
    }

    /// Adds the entries that a task names.
    pub fn add(&mut self, core: &Core, task: &Record) -> Result<()> {
        let Some((at, table)) = self.table_of(core, task) else {
            // The chains of a dropped table go with its trees.
            return Ok(());
        };
        each_named(&table, task, &mut |index, key| {
            let from = self.keys.len() as u32;
            self.keys.extend_from_slice(key);
            self.names.push(Name {
                table: at as u32,
                index: index as u32,
                start: start_of(key),
                from,
                to: self.keys.len() as u32,
            });
            Ok(())
        })
    }

    fn table_of(&mut self, core: &Core, task: &Record) -> Option<(usize, Arc<Table>)> {
        let id = task.version.table;
        let known = self.tables.iter().rposition(|table| table.id() == id);
        let at = match known {
            Some(at) => at,
            None => {
                self.tables.push(core.catalog.table(id).ok()?);
                self.tables.len() - 1
            }
        };
        Some((at, self.tables[at].clone()))
    }

    /// Calls `f` with the names of each index, sorted, and empties the batch. An error in one index is returned after
    /// the others are done.
    pub fn drain(&mut self, f: &mut dyn FnMut(&Table, IndexNo, &[&[u8]]) -> Result<()>) -> Result<()> {
        let Batch { tables, keys, names } = self;
        let key = |name: &Name| &keys[name.from as usize..name.to as usize];
        names.sort_unstable_by(|a, b| {
            let place = |name: &Name| (name.table, Reverse(name.index), name.start);
            place(a).cmp(&place(b)).then_with(|| key(a).cmp(key(b)))
        });
        let same_index = |a: &Name, b: &Name| (a.table, a.index) == (b.table, b.index);
        let mut done = Ok(());
        for of_index in names.chunk_by(same_index) {
            let Name { table, index, .. } = of_index[0];
            let sorted: Vec<&[u8]> = of_index.iter().map(key).collect();
            done = done.and(f(&tables[table as usize], index as IndexNo, &sorted));
        }
        tables.clear();
        keys.clear();
        names.clear();
        done
    }
}

/// The first eight bytes of a key, as a number that orders as keys do.
fn start_of(key: &[u8]) -> u64 {
    let mut start = [0; 8];
    let len = key.len().min(start.len());
    start[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(start)
}

/// Calls `f` with the entries that a task names. The row is index 0.
fn each_named(table: &Table, task: &Record, f: &mut dyn FnMut(IndexNo, &[u8]) -> Result<()>) -> Result<()> {
    let version = &task.version;
    if version.flags & mvcc::ENTRY != 0 {
        // Index n has bit n − 1; no bit stands for the row.
        let n = (u64::BITS - version.indexes.leading_zeros()) as IndexNo;
        return match n < table.indexes.len() {
            true => f(n, &task.key),
            false => Ok(()),
        };
    }
    table.each_entry(&task.key, version.row_flags, &task.columns, version.indexes, f)?;
    match version.flags & mvcc::ROW {
        0 => Ok(()),
        _ => f(0, &task.key),
    }
}

/// Removes the batch's entries that every view sees deleted, and frees the chains (`outside`) of such rows.
pub(super) fn follow(core: &Core, batch: &mut Batch, outside: &[PageId]) -> Result<()> {
    let kernel = &core.kernel;
    let all_see = |writer| kernel.mvcc.all_see(writer);
    batch.drain(&mut |table, n, keys| table.remove_deleted(kernel, n, keys, &all_see))?;
    outside
        .iter()
        .try_for_each(|first| core.catalog.garbage.free_chain(*first, &all_see))
}

/// Removes the batch's entries, or moves them to the graveyards, as far as old views allow. Returns true if the tasks
/// need no further visit for that.
pub(super) fn follow_early(core: &Core, batch: &mut Batch) -> Result<bool> {
    let mut all = true;
    batch.drain(&mut |table, n, keys| {
        all &= table.bury_deleted(&core.kernel, n, keys)?;
        Ok(())
    })?;
    Ok(all)
}

/// The first pages of the overflow chains that a task's row may have left behind.
pub(super) fn outside_of(core: &Core, task: &Record) -> Vec<PageId> {
    let version = &task.version;
    if version.flags & mvcc::ROW == 0 || version.row_flags & OUTSIDE == 0 {
        return Vec::new();
    }
    // The chains of a dropped table go with its trees.
    core.catalog.table(version.table).map_or(Vec::new(), |table| {
        table.chains_of(version.row_flags, &task.columns)
    })
}

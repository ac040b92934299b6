//! What many hints name, put in order.
//!
//! Hints come in the order in which rows were changed, and the entries that they name lie all over their indexes: taken as
//! they come, each costs a descent or two, and a leaf that is in no cache. So purge gathers names from many hints, sorts
//! them, and goes through each index once, a leaf at a time. Secondary indexes come first, for an entry may be judged by
//! its row.

use crate::core::Core;
use crate::error::Result;
use crate::ids::TxnId;
use crate::mvcc::{self, Record};
use crate::table::{EntryHead, Head, IndexNo, Table};
use crate::tree::{LeafWrite, Node};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Names gathered, and bytes of them.
const NAMES_MAX: usize = 1 << 16;
const BYTES_MAX: usize = 4 << 20;
/// Entries seen to under one latch, and the time after which it is given to others: whom an old view wants may take a
/// read from disk to tell.
pub(super) const AT_ONCE: usize = 64;
pub(super) const HELD_MAX: Duration = Duration::from_micros(200);

#[derive(Default)]
pub(super) struct Batch {
    /// Those that are not dropped.
    tables: Vec<Arc<Table>>,
    keys: Vec<u8>,
    names: Vec<Name>,
}

/// An entry of an index; 0 is the rows'.
struct Name {
    table: u32,
    index: u32,
    /// How its key begins: most names need no closer look to be put in order.
    start: u64,
    from: u32,
    to: u32,
}

/// What is to become of an entry.
pub(super) enum Verdict {
    TakeOut,
    /// It has to stay for now. Its hint is kept, and followed again when no view is in the way.
    Later,
    /// Its leaf had to be let go of: ask again.
    AskAgain,
}

impl Batch {
    pub fn is_full(&self) -> bool {
        self.names.len() >= NAMES_MAX || self.keys.len() >= BYTES_MAX
    }

    /// Adds what a hint names.
    pub fn add(&mut self, core: &Core, hint: &Record) -> Result<()> {
        let Some((at, table)) = self.table_of(core, hint) else {
            // The chains of a dropped table go with its trees.
            return Ok(());
        };
        each_named(&table, hint, &mut |index, key| {
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

    fn table_of(&mut self, core: &Core, hint: &Record) -> Option<(usize, Arc<Table>)> {
        let id = hint.version.table;
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

    /// Calls `f` with the names of each index, sorted, and forgets them. Trouble with one index is reported when the others
    /// are done.
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

/// How a key begins, as a number that orders as keys do.
fn start_of(key: &[u8]) -> u64 {
    let mut start = [0; 8];
    let len = key.len().min(start.len());
    start[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(start)
}

/// Calls `f` with the entries that a hint names. The row is index 0.
fn each_named(table: &Table, hint: &Record, f: &mut dyn FnMut(IndexNo, &[u8]) -> Result<()>) -> Result<()> {
    let version = &hint.version;
    if version.flags & mvcc::ENTRY != 0 {
        // Index n has bit n − 1; no bit stands for the row.
        let n = (u64::BITS - version.indexes.leading_zeros()) as IndexNo;
        return match n < table.indexes.len() {
            true => f(n, &hint.key),
            false => Ok(()),
        };
    }
    table.each_entry(&hint.key, version.row_flags, &hint.columns, version.indexes, f)?;
    match version.flags & mvcc::ROW {
        0 => Ok(()),
        _ => f(0, &hint.key),
    }
}

/// Whether an entry is marked deleted, by a writer of whom `judged` is true.
pub(super) fn is_deleted(n: IndexNo, value: &[u8], judged: &dyn Fn(TxnId) -> bool) -> bool {
    let head = match n {
        0 => Head::of(value).entry(),
        _ => EntryHead::of(value),
    };
    head.is_deleted() && judged(head.writer)
}

/// Asks `f` what is to become of those entries, among sorted ones, that are marked deleted by a writer of whom `judged` is
/// true, and takes out what is to be taken out. Their leaf is held exclusively meanwhile.
pub(super) fn each_deleted<K: AsRef<[u8]>>(
    table: &Table,
    n: IndexNo,
    mut keys: &[K],
    judged: &dyn Fn(TxnId) -> bool,
    f: &mut dyn FnMut(&mut LeafWrite<'_>, usize, &[u8]) -> Result<Verdict>,
) -> Result<()> {
    let tree = &table.indexes[n].tree;
    // Keys that lie in the leaf: it covers the first of them.
    let within = |node: Node<'_>, keys: &[K]| match node.upper_fence() {
        [] => keys.len(),
        fence => keys.partition_point(|key| key.as_ref() < fence),
    };
    while let Some(first) = keys.first() {
        // A look first: often there is nothing to do, and nothing to write.
        let leaf = tree.read(first.as_ref())?;
        let here = &keys[..within(leaf.node(), keys)];
        let is_due = |key: &K| {
            let value = leaf.get(key.as_ref());
            value.is_some_and(|value| is_deleted(n, value, judged))
        };
        let Some(idle) = here.iter().position(is_due) else {
            keys = &keys[here.len()..];
            continue;
        };
        keys = &keys[idle..];
        drop(leaf);
        let first = keys[0].as_ref();
        let mut leaf = tree.write(first)?;
        let here = &keys[..within(leaf.node(), keys).min(AT_ONCE)];
        let (since, mut seen, mut any_out, mut failed) = (Instant::now(), 0, false, None);
        for key in here.iter().map(AsRef::as_ref) {
            if seen > 0 && since.elapsed() > HELD_MAX {
                break;
            }
            if let Ok(slot) = leaf.node().search(key)
                && is_deleted(n, leaf.node().value(slot), judged)
            {
                match f(&mut leaf, slot, key) {
                    Ok(Verdict::Later) => {}
                    Ok(Verdict::TakeOut) => {
                        leaf.remove(slot);
                        any_out = true;
                    }
                    Ok(Verdict::AskAgain) => break,
                    Err(error) => {
                        failed = Some(error);
                        break;
                    }
                }
            }
            seen += 1;
        }
        // Whatever failed: what was taken out before is out.
        let sparse = any_out && leaf.is_sparse();
        leaf.finish();
        if let Some(error) = failed {
            return Err(error);
        }
        if sparse {
            tree.merge(first)?;
        }
        keys = &keys[seen..];
    }
    Ok(())
}

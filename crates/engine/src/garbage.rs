//! The garbage list: trees and overflow chains that belong to no table, to be freed in the background.
//!
//! A tree is entered in the list by the mini-transaction that makes it, and removed by the transaction that gives it to
//! a table. Dropping is the reverse. So at any moment, a crash included, every tree either belongs to a table or is in
//! the list, and what is in the list when the engine starts is freed. A chain is entered by the transaction that makes
//! it obsolete, and freed once every view sees that transaction.
//!
//! ```text
//!  03 01 | index id u64   → root u32 | rows, if the tree is a clustered index, whose rows may have chains
//!  rows                   := FFFF u16 | versions u16 | of each: where the variable columns begin u32, how many there are u16
//!                            up to format 3: the table's columns, as in its definition
//!  03 02 | page u32       → the transaction u64 | index id u64 | next page to free u32
//! ```

use crate::bytes::ByteReader;
use crate::error::Result;
use crate::ids::{IndexId, PageId, TxnId};
use crate::schema::{Column, Shape, TableSchema, VariablePart};
use crate::store::Store;
use crate::system_tree::{SystemTree, chunk_key, damaged};
use crate::tree::{Tree, entry_size};
use crate::txn::Txn;
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;

const GARBAGE: u8 = 3;
const GARBAGE_TREE: u8 = 1;
const GARBAGE_CHAIN: u8 = 2;
/// Pages of a chain freed by one mini-transaction.
const CHAIN_STEP: usize = 256;

/// The garbage list. See the module's head.
pub(crate) struct Garbage {
    system: SystemTree,
    store: Arc<Store>,
    /// Trees in the list that a change of definitions is still making.
    claimed: Mutex<HashSet<IndexId>>,
}

/// A tree to be freed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GarbageTree {
    pub index: IndexId,
    pub root: PageId,
    /// How its rows are to be read, if it is a clustered index, whose rows may have chains.
    pub rows: Option<RowParts>,
}

/// Where the columns of variable length stand in the rows of a table, for each version of its definition: all that is needed to
/// find the chains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowParts(Vec<VariablePart>);

/// Where older formats have the number of a table's columns.
const PARTS: u16 = u16::MAX;

impl RowParts {
    /// Of the rows of a table.
    pub fn new(shape: &Shape) -> RowParts {
        let pasts = shape.pasts();
        let parts = pasts.iter().enumerate().map(|(version, past)| {
            let stored: Vec<Column> = past.stored.iter().map(|(column, _)| *column).collect();
            VariablePart::of(version, &stored)
        });
        RowParts(parts.collect())
    }

    /// Of the rows of a version.
    pub fn of(&self, version: usize) -> VariablePart {
        let newest = self.0.len() - 1;
        self.0[version.min(newest)]
    }

    pub fn have_variable_columns(&self) -> bool {
        self.0.iter().any(|part| part.count > 0)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(PARTS.to_le_bytes());
        out.extend((self.0.len() as u16).to_le_bytes());
        for part in &self.0 {
            out.extend(part.at.to_le_bytes());
            out.extend(part.count.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8]) -> Option<RowParts> {
        let mut r = ByteReader(bytes);
        if r.u16()? != PARTS {
            return TableSchema::decode(bytes).map(|schema| RowParts::new(&Shape::new(schema)));
        }
        let count = r.u16()?;
        let part = |_| {
            let (at, count) = (r.u32()?, r.u16()?);
            Some(VariablePart { at, count })
        };
        let parts: Vec<VariablePart> = (0..count).map(part).collect::<Option<_>>()?;
        (!parts.is_empty()).then_some(RowParts(parts))
    }
}

impl GarbageTree {
    fn encode(&self) -> Vec<u8> {
        let mut out = self.root.0.to_le_bytes().to_vec();
        if let Some(rows) = &self.rows {
            rows.encode(&mut out);
        }
        out
    }

    fn decode(index: IndexId, bytes: &[u8]) -> Option<GarbageTree> {
        let mut r = ByteReader(bytes);
        let root = PageId(r.u32()?);
        let rows = match r.0.is_empty() {
            true => None,
            false => Some(RowParts::decode(r.0)?),
        };
        Some(GarbageTree { index, root, rows })
    }
}

/// One entry, never in chunks, so that it is written by the mini-transaction that makes the tree.
fn tree_key(index: IndexId) -> Vec<u8> {
    [&[GARBAGE, GARBAGE_TREE][..], &index.0.to_be_bytes(), &[0, 0]].concat()
}

fn chain_key(page: PageId) -> Vec<u8> {
    [&[GARBAGE, GARBAGE_CHAIN][..], &page.0.to_be_bytes()].concat()
}

impl Garbage {
    pub fn new(store: Arc<Store>, system: SystemTree) -> Garbage {
        Garbage {
            system,
            store,
            claimed: Mutex::new(HashSet::new()),
        }
    }

    /// Puts a tree in the garbage list, or takes it out, as part of a transaction.
    pub fn put_tree(&self, txn: &mut Txn<'_>, garbage: &GarbageTree, present: bool) -> Result<()> {
        let value = present.then(|| garbage.encode());
        self.system
            .put_chunk(txn, &tree_key(garbage.index), value.as_deref())
            .map(|_| ())
    }

    /// Makes an empty tree, in the garbage list until a table takes it.
    pub fn create_tree(&self, index: IndexId, rows: Option<RowParts>) -> Result<GarbageTree> {
        self.claimed.lock().insert(index);
        let mut garbage = GarbageTree {
            index,
            root: PageId(0),
            rows,
        };
        let key = tree_key(index);
        let len = garbage.encode().len();
        loop {
            let mut leaf = self.system.tree().write(&key)?;
            let Err(slot) = leaf.node().search(&key) else {
                return Err(damaged("a new tree"));
            };
            if leaf.node().free_space() < entry_size(key.len(), len) {
                drop(leaf);
                self.system.tree().split(&key, len)?;
                continue;
            }
            leaf.mtr().reserve_pages(1)?;
            garbage.root = Tree::create(leaf.mtr(), index)?;
            let fits = leaf.insert(slot, &key, &garbage.encode());
            debug_assert!(fits.is_ok(), "there was room");
            leaf.finish();
            return Ok(garbage);
        }
    }

    /// Ends the claims on these trees: their definition is committed, or dropped.
    pub fn release_claims(&self, indexes: impl Iterator<Item = IndexId>) {
        let mut claimed = self.claimed.lock();
        indexes.for_each(|index| {
            claimed.remove(&index);
        });
    }

    /// All trees in the list, those still being made included.
    pub fn trees(&self) -> Result<Vec<GarbageTree>> {
        let all = self.system.read_all(&[GARBAGE, GARBAGE_TREE])?;
        let decode = |(key, value): &(Vec<u8>, Vec<u8>)| {
            let index = IndexId(u64::from_be_bytes(key.get(2..10)?.try_into().ok()?));
            GarbageTree::decode(index, value)
        };
        Ok(all.iter().filter_map(decode).collect())
    }

    /// The trees to be freed. The caller prevents changes of definitions from becoming visible meanwhile
    /// (`Catalog::committing`): one that takes a tree from the list is seen with its claim on it, or not at all, and
    /// one that has put a tree there has committed that.
    pub fn trees_to_free(&self) -> Result<Vec<GarbageTree>> {
        let mut trees = self.trees()?;
        let claimed = self.claimed.lock();
        trees.retain(|tree| !claimed.contains(&tree.index));
        Ok(trees)
    }

    /// Removes a tree from the list together with its root, the last page it has.
    pub fn forget_tree(&self, garbage: &GarbageTree) -> Result<()> {
        let key = tree_key(garbage.index);
        let mut leaf = self.system.tree().write(&key)?;
        if let Ok(slot) = leaf.node().search(&key) {
            leaf.free_pages(&[garbage.root])?;
            leaf.remove(slot);
            leaf.finish();
        }
        Ok(())
    }

    /// Enters chains that the transaction makes obsolete.
    pub fn add_chains(&self, txn: &mut Txn<'_>, pages: &[PageId], index: IndexId) -> Result<()> {
        for page in pages {
            let mut value = txn.id.0.to_le_bytes().to_vec();
            value.extend(index.0.to_le_bytes());
            value.extend(page.0.to_le_bytes());
            self.system
                .put_chunk(txn, &chunk_key(&chain_key(*page), 0), Some(&value))?;
        }
        Ok(())
    }

    /// Frees a chain if `passed` is true of the transaction that made it obsolete.
    pub fn free_chain(&self, first: PageId, passed: &dyn Fn(TxnId) -> bool) -> Result<()> {
        let key = chunk_key(&chain_key(first), 0);
        let mut pages = Vec::new();
        loop {
            let Some(value) = self.system.tree().read(&key)?.get(&key).map(<[u8]>::to_vec) else {
                return Ok(());
            };
            let mut r = ByteReader(&value);
            let (Some(txn), Some(index), Some(next)) = (r.u64(), r.u64(), r.u32()) else {
                return Err(damaged("a chain"));
            };
            if !passed(TxnId(txn)) {
                return Ok(());
            }
            pages.clear();
            let owner = Tree::new(self.store.clone(), IndexId(index), PageId(0));
            let listed = owner.overflow().pages(PageId(next), &mut pages);
            let step = pages.len().min(CHAIN_STEP);
            let mut leaf = self.system.tree().write(&key)?;
            let Ok(slot) = leaf.node().search(&key) else {
                return Ok(());
            };
            // Another thread may have freed the chain, and its first page may be that of a new one since.
            if leaf.node().value(slot) != value {
                continue;
            }
            listed?;
            leaf.free_pages(&pages[..step])?;
            match pages.get(step) {
                None => leaf.remove(slot),
                Some(next) => {
                    let fits = leaf.splice(slot, 16, 4, &next.0.to_le_bytes());
                    debug_assert!(fits.is_ok(), "the length stays");
                }
            }
            leaf.finish();
            if step == pages.len() {
                return Ok(());
            }
        }
    }

    /// The chains in the garbage list: first page and index.
    pub fn chains(&self) -> Result<Vec<(PageId, IndexId)>> {
        let all = self.system.read_all(&[GARBAGE, GARBAGE_CHAIN])?;
        let decode = |(key, value): &(Vec<u8>, Vec<u8>)| {
            let page = u32::from_be_bytes(key.get(2..6)?.try_into().ok()?);
            Some((PageId(page), IndexId(ByteReader(value.get(8..)?).u64()?)))
        };
        Ok(all.iter().filter_map(decode).collect())
    }
}

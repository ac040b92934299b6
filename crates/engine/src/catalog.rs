//! The catalog: a tree of its own that names all others.
//!
//! ```text
//!  01 | table id u64                     → definition: index ids, roots, schema
//!  02 | space 00 00 | key, escaped 00 00 → meta data of the floor above
//!  03 01 | index id u64                  → garbage: a tree to free
//!  03 02 | page u32                      → garbage: a chain to free
//!  04 | table id u64                     → auto-increment: the counter is not above this
//!  05                                    → the next table id, the next index id
//! ```
//!
//! Keys are big-endian. A value of any length is kept in chunks, under its key followed by the chunk's number.
//!
//! Changes of definitions are made by a transaction like any other, with undo notes, while holding `committing`; readers
//! of meta data hold it shared, so they see all of a change or nothing.
//!
//! *Garbage.* Whoever makes a tree puts it in the garbage list in the same mini-transaction; the transaction that gives
//! the tree a table takes it out. Dropping is the reverse. So whatever happens, every tree is either a table's or in the
//! list, and what is in the list when the engine starts is freed.

use crate::error::{Error, Result};
use crate::ids::{IndexId, PageId, TableId, TxnId};
use crate::log::TxnNote;
use crate::store::Store;
use crate::table::{Collator, Reader, Table, TableSchema, TableState, Undo};
use crate::transaction::Inner;
use crate::tree::{Full, Tree, entry_size};
use parking_lot::{Condvar, Mutex, RwLock};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The superblock's slot for the root of the catalog's tree.
const ROOT_SLOT: usize = 0;
const CATALOG_INDEX: IndexId = IndexId(1);
const FIRST_INDEX: u64 = 16;
const CHUNK_BYTES: usize = 3000;
/// Pages of a chain freed by one mini-transaction.
const CHAIN_STEP: usize = 256;

const TABLE: u8 = 1;
const META: u8 = 2;
const GARBAGE: u8 = 3;
const GARBAGE_TREE: u8 = 1;
const GARBAGE_CHAIN: u8 = 2;
const AUTO_INCREMENT: u8 = 4;
const NEXT_IDS: u8 = 5;

pub(crate) struct Catalog {
    pub tree: Tree,
    store: Arc<Store>,
    tables: RwLock<HashMap<TableId, Arc<Table>>>,
    /// Held exclusively while a change of definitions becomes visible.
    pub committing: RwLock<()>,
    next_table: AtomicU64,
    next_index: AtomicU64,
    /// Trees in the garbage list that a change of definitions is still making.
    claimed: Mutex<HashSet<IndexId>>,
    /// Whether somebody is changing definitions.
    busy: Mutex<bool>,
    idle: Condvar,
}

/// A table's definition as the catalog has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub schema: TableSchema,
    /// Ids and roots; the clustered index first.
    pub indexes: Vec<(IndexId, PageId)>,
}

/// A tree to be freed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GarbageTree {
    pub index: IndexId,
    pub root: PageId,
    /// The table's columns, if the tree is a clustered index, whose rows may have chains.
    pub schema: Option<TableSchema>,
}

impl Definition {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend((self.indexes.len() as u16).to_le_bytes());
        for (id, root) in &self.indexes {
            out.extend(id.0.to_le_bytes());
            out.extend(root.0.to_le_bytes());
        }
        self.schema.encode(&mut out);
        out
    }

    fn decode(bytes: &[u8]) -> Option<Definition> {
        let mut r = Reader(bytes);
        let count = r.u16()?;
        let indexes = (0..count)
            .map(|_| Some((IndexId(r.u64()?), PageId(r.u32()?))))
            .collect::<Option<Vec<_>>>()?;
        let schema = TableSchema::decode(r.0)?;
        (indexes.len() == schema.secondary.len() + 1).then_some(Definition { schema, indexes })
    }
}

impl GarbageTree {
    fn encode(&self) -> Vec<u8> {
        let mut out = self.root.0.to_le_bytes().to_vec();
        if let Some(schema) = &self.schema {
            schema.encode(&mut out);
        }
        out
    }

    fn decode(index: IndexId, bytes: &[u8]) -> Option<GarbageTree> {
        let mut r = Reader(bytes);
        let root = PageId(r.u32()?);
        let schema = if r.0.is_empty() {
            None
        } else {
            Some(TableSchema::decode(r.0)?)
        };
        Some(GarbageTree { index, root, schema })
    }
}

pub(crate) fn table_key(id: TableId) -> Vec<u8> {
    [&[TABLE][..], &id.0.to_be_bytes()].concat()
}

/// A single entry, so that it is made together with its tree.
fn garbage_tree_key(index: IndexId) -> Vec<u8> {
    [&[GARBAGE, GARBAGE_TREE][..], &index.0.to_be_bytes(), &[0, 0]].concat()
}

fn garbage_chain_key(page: PageId) -> Vec<u8> {
    [&[GARBAGE, GARBAGE_CHAIN][..], &page.0.to_be_bytes()].concat()
}

fn auto_increment_key(id: TableId) -> Vec<u8> {
    [&[AUTO_INCREMENT][..], &id.0.to_be_bytes()].concat()
}

pub(crate) fn next_ids_key() -> Vec<u8> {
    vec![NEXT_IDS]
}

fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for b in bytes {
        out.push(*b);
        if *b == 0 {
            out.push(0xff);
        }
    }
    out.extend([0, 0]);
}

fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut skip = false;
    for b in bytes {
        if !skip {
            out.push(*b);
        }
        skip = !skip && *b == 0;
    }
    out
}

pub(crate) fn meta_key(space: &str, key: &[u8]) -> Vec<u8> {
    let mut out = vec![META];
    escape(space.as_bytes(), &mut out);
    escape(key, &mut out);
    out
}

fn chunk_key(key: &[u8], chunk: u16) -> Vec<u8> {
    [key, &chunk.to_be_bytes()].concat()
}

fn damaged(what: &str) -> Error {
    Error::corrupt(None, format!("the catalog holds {what} that makes no sense"))
}

impl Catalog {
    /// Opens the catalog, or makes it.
    pub fn open(store: Arc<Store>) -> Result<Catalog> {
        let mut root = PageId(store.root(ROOT_SLOT)? as u32);
        if root == PageId(0) {
            let mut mtr = store.begin_mtr()?;
            mtr.reserve_pages(1)?;
            root = Tree::create(&mut mtr, CATALOG_INDEX)?;
            mtr.set_root(ROOT_SLOT, root.0 as u64)?;
            mtr.commit();
        }
        let tree = Tree::new(store.clone(), CATALOG_INDEX, root);
        Ok(Catalog {
            tree,
            store,
            tables: RwLock::new(HashMap::new()),
            committing: RwLock::new(()),
            next_table: AtomicU64::new(1),
            next_index: AtomicU64::new(FIRST_INDEX),
            claimed: Mutex::new(HashSet::new()),
            busy: Mutex::new(false),
            idle: Condvar::new(),
        })
    }

    /// Opens the tables there are, as of now.
    pub fn load(&self, collator: &Arc<dyn Collator>) -> Result<()> {
        if let Some(bytes) = self.read(&next_ids_key())? {
            let mut r = Reader(&bytes);
            let (Some(table), Some(index)) = (r.u64(), r.u64()) else {
                return Err(damaged("a counter"));
            };
            self.next_table.store(table, Ordering::Relaxed);
            self.next_index.store(index, Ordering::Relaxed);
        }
        for (key, value) in self.read_all(&[TABLE])? {
            let id = key
                .get(1..9)
                .and_then(|b| b.try_into().ok())
                .map(u64::from_be_bytes);
            let (Some(id), Some(definition)) = (id, Definition::decode(&value)) else {
                return Err(damaged("a table"));
            };
            let table = self.open_table(TableId(id), &definition, None, collator)?;
            self.next_table.fetch_max(id + 1, Ordering::Relaxed);
            for (index, _) in &definition.indexes {
                self.next_index.fetch_max(index.0 + 1, Ordering::Relaxed);
            }
            self.tables.write().insert(TableId(id), table);
        }
        for garbage in self.garbage_trees()? {
            self.next_index.fetch_max(garbage.index.0 + 1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Opens them anew, because an unfinished change of definitions was undone.
    pub fn reload(&self, collator: &Arc<dyn Collator>) -> Result<()> {
        self.tables.write().clear();
        self.load(collator)
    }

    /// A handle on a table, with the state of a former definition of it if there was one.
    pub fn open_table(
        &self,
        id: TableId,
        definition: &Definition,
        state: Option<Arc<TableState>>,
        collator: &Arc<dyn Collator>,
    ) -> Result<Arc<Table>> {
        let state = match state {
            Some(state) => state,
            None => {
                let key = auto_increment_key(id);
                let counter = self.read(&key)?.and_then(|b| Reader(&b).u64()).unwrap_or(1);
                Arc::new(TableState::new(self.tree.clone(), chunk_key(&key, 0), counter))
            }
        };
        let tree = |(index, root): &(IndexId, PageId)| Tree::new(self.store.clone(), *index, *root);
        let trees = definition.indexes.iter().map(tree).collect();
        Ok(Arc::new(Table::new(
            id,
            definition.schema.clone(),
            trees,
            state,
            collator.clone(),
        )))
    }

    pub fn table(&self, id: TableId) -> Result<Arc<Table>> {
        self.tables.read().get(&id).cloned().ok_or(Error::NoSuchTable)
    }

    pub fn tables(&self) -> Vec<Arc<Table>> {
        let mut tables: Vec<_> = self.tables.read().values().cloned().collect();
        tables.sort_by_key(|t| t.id());
        tables
    }

    /// Puts a table in the place of what had its id.
    pub fn replace_table(&self, id: TableId, table: Option<Arc<Table>>) {
        let mut tables = self.tables.write();
        let old = match table {
            Some(table) => tables.insert(id, table),
            None => tables.remove(&id),
        };
        if let Some(old) = old {
            old.close();
        }
    }

    pub fn new_table_id(&self) -> TableId {
        TableId(self.next_table.fetch_add(1, Ordering::Relaxed))
    }

    pub fn new_index_id(&self) -> IndexId {
        IndexId(self.next_index.fetch_add(1, Ordering::Relaxed))
    }

    pub fn next_ids(&self) -> Vec<u8> {
        let (table, index) = (
            self.next_table.load(Ordering::Relaxed),
            self.next_index.load(Ordering::Relaxed),
        );
        [table.to_le_bytes(), index.to_le_bytes()].concat()
    }

    /// The turn to change definitions; given back by [`Self::end_turn`].
    pub fn take_turn(&self) {
        let mut busy = self.busy.lock();
        while *busy {
            self.idle.wait(&mut busy);
        }
        *busy = true;
    }

    pub fn end_turn(&self) {
        *self.busy.lock() = false;
        self.idle.notify_one();
    }

    /// The value of a key.
    pub fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut found = self.read_all(key)?;
        Ok(found.pop().map(|(_, value)| value))
    }

    /// All keys that begin so, with their values. Keys of one kind never begin with one another.
    pub fn read_all(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut all: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut fence = Vec::new();
        let mut leaf = self.tree.read(prefix)?;
        let mut slot = leaf.node().search(prefix).unwrap_or_else(|slot| slot);
        loop {
            while slot < leaf.node().count() {
                let (key, value) = leaf.node().entry(slot);
                if !key.starts_with(prefix) {
                    return Ok(all);
                }
                let key = &key[..key.len().saturating_sub(2)];
                match all.last_mut() {
                    Some((last, whole)) if last == key => whole.extend_from_slice(value),
                    _ => all.push((key.to_vec(), value.to_vec())),
                }
                slot += 1;
            }
            match leaf.next(&mut fence)? {
                Some(next) => (leaf, slot) = next,
                None => return Ok(all),
            }
        }
    }

    pub fn meta_scan(&self, space: &str) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut prefix = vec![META];
        escape(space.as_bytes(), &mut prefix);
        let all = self.read_all(&prefix)?;
        Ok(all
            .into_iter()
            .map(|(k, v)| (unescape(&k[prefix.len()..k.len() - 2]), v))
            .collect())
    }

    /// Sets (or with `None` removes) a key, as part of a transaction.
    pub fn put(&self, t: &mut Inner, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        let chunks: Vec<&[u8]> = match value {
            None => Vec::new(),
            Some([]) => vec![&[]],
            Some(value) => value.chunks(CHUNK_BYTES).collect(),
        };
        for (n, chunk) in chunks.iter().enumerate() {
            self.put_chunk(t, &chunk_key(key, n as u16), Some(chunk))?;
        }
        let mut n = chunks.len();
        while self.put_chunk(t, &chunk_key(key, n as u16), None)? {
            n += 1;
        }
        Ok(())
    }

    /// Answers whether the key was there.
    fn put_chunk(&self, t: &mut Inner, key: &[u8], value: Option<&[u8]>) -> Result<bool> {
        loop {
            let mut leaf = self.tree.write(key)?;
            let found = leaf.node().search(key);
            let before = found.ok().map(|slot| leaf.node().value(slot).to_vec());
            let done = match (found, value) {
                (Ok(slot), Some(value)) => leaf.replace(slot, value),
                (Err(slot), Some(value)) => leaf.insert(slot, key, value),
                (Ok(slot), None) => {
                    leaf.remove(slot);
                    Ok(())
                }
                (Err(_), None) => return Ok(false),
            };
            match done {
                Ok(()) => {
                    t.buffers.note.clear();
                    Undo::Catalog {
                        key,
                        before: before.as_deref(),
                    }
                    .encode(&mut t.buffers.note);
                    leaf.mtr().note(TxnNote::Undo {
                        txn: t.id,
                        prev: t.last_undo,
                        payload: &t.buffers.note,
                    });
                    let lsn = leaf.finish();
                    t.wrote(lsn.start);
                    return Ok(before.is_some());
                }
                Err(Full) => {
                    drop(leaf);
                    self.tree.split(key, value.map_or(0, <[u8]>::len))?;
                }
            }
        }
    }

    /// Undoes one [`Self::put_chunk`].
    pub fn undo(&self, key: &[u8], before: Option<&[u8]>, clr: TxnNote<'_>) -> Result<()> {
        let tree = self.tree.urgent();
        loop {
            let mut leaf = tree.write(key)?;
            let done = match (leaf.node().search(key), before) {
                (Ok(slot), Some(value)) => leaf.replace(slot, value),
                (Err(slot), Some(value)) => leaf.insert(slot, key, value),
                (Ok(slot), None) => {
                    leaf.remove(slot);
                    Ok(())
                }
                (Err(_), None) => Ok(()),
            };
            match done {
                Ok(()) => {
                    leaf.mtr().note(clr);
                    leaf.finish();
                    return Ok(());
                }
                Err(Full) => {
                    drop(leaf);
                    tree.split(key, before.map_or(0, <[u8]>::len))?;
                }
            }
        }
    }

    /// Puts a tree in the garbage list, or takes it out, as part of a transaction.
    pub fn put_garbage_tree(&self, t: &mut Inner, garbage: &GarbageTree, present: bool) -> Result<()> {
        let value = present.then(|| garbage.encode());
        self.put_chunk(t, &garbage_tree_key(garbage.index), value.as_deref())
            .map(|_| ())
    }

    /// Makes an empty tree, in the garbage list until a table takes it.
    pub fn create_tree(&self, schema: Option<&TableSchema>) -> Result<GarbageTree> {
        let index = self.new_index_id();
        self.claimed.lock().insert(index);
        let mut garbage = GarbageTree {
            index,
            root: PageId(0),
            schema: schema.map(TableSchema::columns_only),
        };
        let key = garbage_tree_key(index);
        let len = garbage.encode().len();
        loop {
            let mut leaf = self.tree.write(&key)?;
            let Err(slot) = leaf.node().search(&key) else {
                return Err(damaged("a new tree"));
            };
            if leaf.node().free_space() < entry_size(key.len(), len) {
                drop(leaf);
                self.tree.split(&key, len)?;
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

    /// What becomes of these trees is in the catalog now.
    pub fn release_claims(&self, indexes: impl Iterator<Item = IndexId>) {
        let mut claimed = self.claimed.lock();
        indexes.for_each(|index| {
            claimed.remove(&index);
        });
    }

    /// A table's definition, as committed.
    pub fn definition(&self, id: TableId) -> Result<Option<Definition>> {
        match self.read(&table_key(id))? {
            Some(bytes) => Definition::decode(&bytes)
                .map(Some)
                .ok_or_else(|| damaged("a table")),
            None => Ok(None),
        }
    }

    /// The garbage list: trees that nobody has, and those that are still being made.
    pub fn garbage_trees(&self) -> Result<Vec<GarbageTree>> {
        let all = self.read_all(&[GARBAGE, GARBAGE_TREE])?;
        let decode = |(key, value): &(Vec<u8>, Vec<u8>)| {
            let index = IndexId(u64::from_be_bytes(key.get(2..10)?.try_into().ok()?));
            GarbageTree::decode(index, value)
        };
        Ok(all.iter().filter_map(decode).collect())
    }

    /// The trees to be freed. No change of definitions becomes visible meanwhile: one that takes a tree from the list is seen
    /// with its claim on it, or not at all, and one that has put a tree there has committed that.
    pub fn trees_to_free(&self) -> Result<Vec<GarbageTree>> {
        let _committed = self.committing.read();
        let mut trees = self.garbage_trees()?;
        let claimed = self.claimed.lock();
        trees.retain(|tree| !claimed.contains(&tree.index));
        Ok(trees)
    }

    /// The tree is freed but for its root: out of the list with it.
    pub fn forget_tree(&self, garbage: &GarbageTree) -> Result<()> {
        let key = garbage_tree_key(garbage.index);
        let mut leaf = self.tree.write(&key)?;
        if let Ok(slot) = leaf.node().search(&key) {
            leaf.free_pages(&[garbage.root])?;
            leaf.remove(slot);
            leaf.finish();
        }
        Ok(())
    }

    /// The transaction makes these chains obsolete.
    pub fn add_garbage_chains(&self, t: &mut Inner, pages: &[PageId], index: IndexId) -> Result<()> {
        for page in pages {
            let mut value = t.id.0.to_le_bytes().to_vec();
            value.extend(index.0.to_le_bytes());
            value.extend(page.0.to_le_bytes());
            self.put_chunk(t, &chunk_key(&garbage_chain_key(*page), 0), Some(&value))?;
        }
        Ok(())
    }

    /// Frees a chain if a transaction that `passed` made it obsolete.
    pub fn free_chain(&self, first: PageId, passed: &dyn Fn(TxnId) -> bool) -> Result<()> {
        let key = chunk_key(&garbage_chain_key(first), 0);
        let mut pages = Vec::new();
        loop {
            let Some(value) = self.tree.read(&key)?.get(&key).map(<[u8]>::to_vec) else {
                return Ok(());
            };
            let mut r = Reader(&value);
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
            let mut leaf = self.tree.write(&key)?;
            let Ok(slot) = leaf.node().search(&key) else {
                return Ok(());
            };
            // Another may have freed the chain, and its first page been that of a new one since.
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
    pub fn garbage_chains(&self) -> Result<Vec<(PageId, IndexId)>> {
        let all = self.read_all(&[GARBAGE, GARBAGE_CHAIN])?;
        let decode = |(key, value): &(Vec<u8>, Vec<u8>)| {
            let page = u32::from_be_bytes(key.get(2..6)?.try_into().ok()?);
            Some((PageId(page), IndexId(Reader(value.get(8..)?).u64()?)))
        };
        Ok(all.iter().filter_map(decode).collect())
    }

    /// Takes the counter of a dropped table out.
    pub fn forget_auto_increment(&self, t: &mut Inner, id: TableId) -> Result<()> {
        self.put(t, &auto_increment_key(id), None)
    }
}

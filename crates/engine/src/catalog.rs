//! The catalog: the tree that lists all other trees.
//!
//! ```text
//!  01 | table id u64                     → definition: index ids, roots, schema, history of its columns
//!  02 | space 00 00 | key, escaped 00 00 → meta data of the floor above
//!  03 01 | index id u64                  → garbage: a tree to free
//!  03 02 | page u32                      → garbage: a chain to free
//!  04 | table id u64                     → auto-increment: the counter, from where on notes count (`table/state.rs`)
//!  05                                    → the next table id, the next index id
//! ```
//!
//! Keys are big-endian. A value of any length is kept in chunks, under its key followed by the chunk's number.
//!
//! Definitions are changed by a transaction like any other, with undo notes, which holds `committing` while it commits;
//! readers of meta data hold it shared, so they see all of a change or nothing.

use crate::bytes::ByteReader;
use crate::error::{Error, Result};
use crate::garbage::{Garbage, GarbageTree, RowParts};
use crate::ids::{IndexId, Lsn, PageId, TableId};
use crate::lock::Interrupt;
use crate::schema::Shape;
use crate::store::Store;
use crate::system_tree::{SystemTree, chunk_key, damaged};
use crate::table::{Collator, Counters, StoredCounter, Table, TableState};
use crate::tree::Tree;
use crate::txn::Txn;
use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const FIRST_INDEX: u64 = 16;

const TABLE: u8 = 1;
const META: u8 = 2;
const AUTO_INCREMENT: u8 = 4;
const NEXT_IDS: u8 = 5;

/// How often a thread that waits for its turn looks whether it still wants it.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How a change of definitions waits for its turn.
#[derive(Clone)]
pub(crate) struct Patience {
    /// Ends the wait when it is killed.
    pub interrupt: Option<Arc<Interrupt>>,
    pub longest: Duration,
}

impl Patience {
    /// That of what must be done.
    pub const ENDLESS: Patience = Patience {
        interrupt: None,
        longest: Duration::MAX,
    };
}

pub(crate) struct Catalog {
    system: SystemTree,
    pub garbage: Arc<Garbage>,
    collator: Arc<dyn Collator>,
    store: Arc<Store>,
    tables: RwLock<HashMap<TableId, Arc<Table>>>,
    /// The definitions of the temporary tables among them, which are stored nowhere.
    temporary: Mutex<HashMap<TableId, Definition>>,
    /// Of the tables that are stored.
    pub counters: Arc<Counters>,
    /// Held exclusively while a change of definitions becomes visible.
    pub committing: RwLock<()>,
    next_table: AtomicU64,
    next_index: AtomicU64,
    /// True while a change of definitions is under way.
    busy: Mutex<bool>,
    idle: Condvar,
}

/// A table's definition as the catalog stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub shape: Shape,
    /// Ids and roots; the clustered index first.
    pub indexes: Vec<(IndexId, PageId)>,
}

impl Definition {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend((self.indexes.len() as u16).to_le_bytes());
        for (id, root) in &self.indexes {
            out.extend(id.0.to_le_bytes());
            out.extend(root.0.to_le_bytes());
        }
        self.shape.encode(&mut out);
        out
    }

    fn decode(bytes: &[u8]) -> Option<Definition> {
        let mut r = ByteReader(bytes);
        let count = r.u16()?;
        let indexes = (0..count)
            .map(|_| Some((IndexId(r.u64()?), PageId(r.u32()?))))
            .collect::<Option<Vec<_>>>()?;
        let shape = Shape::decode(r.0)?;
        (indexes.len() == shape.schema.secondary.len() + 1).then_some(Definition { shape, indexes })
    }
}

pub(crate) fn table_key(id: TableId) -> Vec<u8> {
    [&[TABLE][..], &id.0.to_be_bytes()].concat()
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

impl Catalog {
    /// Opens the catalog, or creates it in a new directory. Its tables are opened by [`Self::load`].
    pub fn open(store: Arc<Store>, collator: Arc<dyn Collator>) -> Result<Catalog> {
        let system = SystemTree::open(&store)?;
        Ok(Catalog {
            garbage: Arc::new(Garbage::new(store.clone(), system.clone())),
            system,
            collator,
            store,
            tables: RwLock::new(HashMap::new()),
            temporary: Mutex::default(),
            counters: Arc::default(),
            committing: RwLock::new(()),
            next_table: AtomicU64::new(1),
            next_index: AtomicU64::new(FIRST_INDEX),
            busy: Mutex::new(false),
            idle: Condvar::new(),
        })
    }

    /// Opens a handle for every table in the catalog.
    pub fn load(&self) -> Result<()> {
        if let Some(bytes) = self.system.read(&next_ids_key())? {
            let mut r = ByteReader(&bytes);
            let (Some(table), Some(index)) = (r.u64(), r.u64()) else {
                return Err(damaged("a counter"));
            };
            self.next_table.store(table, Ordering::Relaxed);
            self.next_index.store(index, Ordering::Relaxed);
        }
        for (key, value) in self.system.read_all(&[TABLE])? {
            let id = key
                .get(1..9)
                .and_then(|b| b.try_into().ok())
                .map(u64::from_be_bytes);
            let (Some(id), Some(definition)) = (id, Definition::decode(&value)) else {
                if self.store.force_recovery() > 0 {
                    ::log::error!("{}; it is left out", damaged("a table"));
                    continue;
                }
                return Err(damaged("a table"));
            };
            let table = self.open_table(TableId(id), &definition, None)?;
            // Views are younger than the engine.
            table.set_defined(Lsn::ZERO);
            self.next_table.fetch_max(id + 1, Ordering::Relaxed);
            for (index, _) in &definition.indexes {
                self.next_index.fetch_max(index.0 + 1, Ordering::Relaxed);
            }
            self.tables.write().insert(TableId(id), table);
        }
        for garbage in self.garbage.trees()? {
            self.next_index.fetch_max(garbage.index.0 + 1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Opens all tables again, after recovery has undone an unfinished change of definitions.
    pub fn reload(&self) -> Result<()> {
        self.tables.write().clear();
        self.load()
    }

    /// Makes a handle for a table that was not open, with counters of its own if it is given some.
    pub fn open_table(
        &self,
        id: TableId,
        definition: &Definition,
        state: Option<Arc<TableState>>,
    ) -> Result<Arc<Table>> {
        let state = match state {
            Some(state) => state,
            None => {
                let key = auto_increment_key(id);
                let stored = self.system.read(&key)?;
                let stored = stored.and_then(|bytes| StoredCounter::decode(&bytes));
                TableState::new(
                    self.system.tree().clone(),
                    chunk_key(&key, 0),
                    stored.unwrap_or(StoredCounter::NEW),
                    self.counters.clone(),
                )
            }
        };
        Ok(Arc::new(Table::new(
            id,
            definition.shape.clone(),
            self.trees_of(definition),
            state,
            self.collator.clone(),
            self.garbage.clone(),
        )))
    }

    /// Makes a handle for a table with another definition than `before`, of which it takes over what is in both.
    pub fn redefined(&self, before: &Table, definition: &Definition) -> Table {
        before.redefined(definition.shape.clone(), self.trees_of(definition))
    }

    fn trees_of(&self, definition: &Definition) -> Vec<Tree> {
        let trees = definition.indexes.iter();
        trees.map(|(index, root)| self.tree(*index, *root)).collect()
    }

    /// A handle on a tree.
    pub fn tree(&self, index: IndexId, root: PageId) -> Tree {
        Tree::new(self.store.clone(), index, root)
    }

    pub fn table(&self, id: TableId) -> Result<Arc<Table>> {
        self.tables.read().get(&id).cloned().ok_or(Error::NoSuchTable)
    }

    pub fn tables(&self) -> Vec<Arc<Table>> {
        let mut tables: Vec<_> = self.tables.read().values().cloned().collect();
        tables.sort_by_key(|t| t.id());
        tables
    }

    /// Replaces the open table of this id; `None` closes it.
    pub fn replace_table(&self, id: TableId, table: Option<Arc<Table>>) {
        let mut tables = self.tables.write();
        let is_dropped = table.is_none();
        let old = match table {
            Some(table) => tables.insert(id, table),
            None => tables.remove(&id),
        };
        if let Some(old) = old {
            old.close();
            if is_dropped {
                old.state.forget();
            }
        }
    }

    /// Makes a temporary table of this id known, or, with `None`, forgets it.
    pub fn replace_temporary(&self, id: TableId, new: Option<(Definition, Arc<Table>)>) {
        let (definition, table) = new.unzip();
        match definition {
            Some(definition) => self.temporary.lock().insert(id, definition),
            None => self.temporary.lock().remove(&id),
        };
        self.replace_table(id, table);
    }

    /// The temporary tables there are, by id, and the number of their columns.
    pub fn temporary_tables(&self) -> Vec<(TableId, usize)> {
        let tables = self.temporary.lock();
        let columns = tables
            .iter()
            .map(|(id, definition)| (*id, definition.shape.schema.columns.len()));
        let mut columns: Vec<_> = columns.collect();
        columns.sort();
        columns
    }

    pub fn new_table_id(&self) -> TableId {
        TableId(self.next_table.fetch_add(1, Ordering::Relaxed))
    }

    pub fn new_index_id(&self) -> IndexId {
        IndexId(self.next_index.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes an empty tree, which is in the garbage list until a table takes it.
    pub fn create_tree(&self, rows: Option<RowParts>) -> Result<GarbageTree> {
        self.garbage.create_tree(self.new_index_id(), rows)
    }

    /// The trees in the garbage list as of the last commit, without those being made.
    pub fn trees_to_free(&self) -> Result<Vec<GarbageTree>> {
        let _committed = self.committing.read();
        self.garbage.trees_to_free()
    }

    pub fn next_ids(&self) -> Vec<u8> {
        let (table, index) = (
            self.next_table.load(Ordering::Relaxed),
            self.next_index.load(Ordering::Relaxed),
        );
        [table.to_le_bytes(), index.to_le_bytes()].concat()
    }

    /// Waits until no other change of definitions is under way, and begins one. Ended by [`Self::end_turn`]. Errors
    /// [`Error::Interrupted`] and [`Error::LockWaitTimeout`], if it has to wait.
    pub fn take_turn(&self, patience: &Patience) -> Result<()> {
        let deadline = Instant::now().checked_add(patience.longest);
        let mut busy = self.busy.lock();
        while *busy {
            let look_at = Instant::now() + LOOK_EVERY;
            let wake_at = deadline.map_or(look_at, |deadline| deadline.min(look_at));
            self.idle.wait_until(&mut busy, wake_at);
            if let Some(interrupt) = &patience.interrupt {
                MutexGuard::unlocked(&mut busy, || interrupt.look());
                if interrupt.is_killed() {
                    // It may have been woken in another's place.
                    self.idle.notify_one();
                    return Err(Error::Interrupted);
                }
            }
            if *busy && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Err(Error::LockWaitTimeout);
            }
        }
        *busy = true;
        Ok(())
    }

    pub fn end_turn(&self) {
        *self.busy.lock() = false;
        self.idle.notify_one();
    }

    /// The system tree, for meta data of the layers above.
    pub fn system(&self) -> &SystemTree {
        &self.system
    }

    pub fn meta_scan(&self, space: &str) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut prefix = vec![META];
        escape(space.as_bytes(), &mut prefix);
        let all = self.system.read_all(&prefix)?;
        Ok(all
            .into_iter()
            .map(|(k, v)| (unescape(&k[prefix.len()..k.len() - 2]), v))
            .collect())
    }

    /// A table's definition, as committed.
    pub fn definition(&self, id: TableId) -> Result<Option<Definition>> {
        if let Some(definition) = self.temporary.lock().get(&id) {
            return Ok(Some(definition.clone()));
        }
        match self.system.read(&table_key(id))? {
            Some(bytes) => Definition::decode(&bytes)
                .map(Some)
                .ok_or_else(|| damaged("a table")),
            None => Ok(None),
        }
    }

    /// Removes the auto-increment counter of a dropped table.
    pub fn forget_auto_increment(&self, txn: &mut Txn<'_>, id: TableId) -> Result<()> {
        self.system.put(txn, &auto_increment_key(id), None)
    }
}

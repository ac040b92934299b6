//! The statistics of all tables: in memory, and in the catalog, from which they are read again after a restart.
//!
//! They are known by the number of the table, which is used once: a new table, or one whose rows were copied, has none. What is
//! known of a table that is gone is removed by the thread that gathers, so no change of definitions writes to their
//! space in the catalog, and gathering waits for none.

use super::thread::Worker;
use super::{TableStatistics, codec};
use crate::dictionary::TableDef;
use crate::error::Result;
use parking_lot::{Mutex, RwLock};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use tidemark_engine::{Engine, Error, Table, TableId};

/// The space of the catalog: by table number, what is known of it.
const SPACE: &str = "statistics";

/// Beyond so much memory, what is in the catalog is read from there when it is asked for.
const MEMORY_MAX: usize = 64 << 20;

/// What is known of the tables of a database.
#[derive(Default)]
pub struct Statistics {
    known: RwLock<Known>,
    /// Held while the catalog is written: one at a time writes to the space.
    writing: Mutex<()>,
    /// The thread that gathers.
    pub thread: Worker,
}

#[derive(Default)]
struct Known {
    tables: HashMap<TableId, Entry>,
    /// What those take that are in memory.
    bytes: usize,
}

struct Entry {
    rows: f64,
    bytes: usize,
    /// The catalog has them.
    is_stored: bool,
    in_memory: Option<Arc<TableStatistics>>,
}

impl Known {
    fn insert(&mut self, statistics: Arc<TableStatistics>, is_stored: bool) {
        self.remove(statistics.table);
        let bytes = statistics.bytes();
        self.make_room(bytes);
        self.bytes += bytes;
        let entry = Entry {
            rows: statistics.rows,
            bytes,
            is_stored,
            in_memory: Some(Arc::clone(&statistics)),
        };
        self.tables.insert(statistics.table, entry);
    }

    fn remove(&mut self, id: TableId) {
        if let Some(Entry {
            bytes,
            in_memory: Some(_),
            ..
        }) = self.tables.remove(&id)
        {
            self.bytes -= bytes;
        }
    }

    /// Forgets what is in the catalog, if there is no room for so many bytes more, until half of the room is free.
    fn make_room(&mut self, more: usize) {
        if self.bytes + more <= MEMORY_MAX {
            return;
        }
        for entry in self.tables.values_mut().filter(|entry| entry.is_stored) {
            if self.bytes + more <= MEMORY_MAX / 2 {
                break;
            }
            if entry.in_memory.take().is_some() {
                self.bytes -= entry.bytes;
            }
        }
    }
}

fn key(id: TableId) -> Vec<u8> {
    id.0.to_be_bytes().to_vec()
}

impl Statistics {
    /// Reads what the catalog has. What cannot be read is left out, and gathered again.
    pub fn load(engine: &Engine) -> Result<Statistics> {
        let mut known = Known::default();
        for (key, value) in engine.meta_scan(SPACE)? {
            let Ok(id) = <[u8; 8]>::try_from(key.as_slice()) else {
                continue;
            };
            let id = TableId(u64::from_be_bytes(id));
            match codec::decode(id, &value) {
                Ok(statistics) => known.insert(Arc::new(statistics), true),
                Err(error) => log::warn!("the statistics of table {} are left out: {}", id.0, error.message),
            }
        }
        Ok(Statistics {
            known: RwLock::new(known),
            ..Statistics::default()
        })
    }

    /// What is known of a table.
    pub fn of(&self, engine: &Engine, table: TableId) -> Option<Arc<TableStatistics>> {
        if let Some(found) = &self.known.read().tables.get(&table)?.in_memory {
            return Some(Arc::clone(found));
        }
        let stored = engine.meta_get(SPACE, &key(table)).ok()??;
        let read = Arc::new(codec::decode(table, &stored).ok()?);
        let mut known = self.known.write();
        // Meanwhile the statistics may have been removed, or replaced by newer ones.
        match known.tables.get(&table)?.in_memory.clone() {
            Some(newer) => Some(newer),
            None => {
                known.insert(Arc::clone(&read), true);
                Some(read)
            }
        }
    }

    /// How many rows a table had when its statistics were gathered.
    pub fn rows(&self, table: TableId) -> Option<f64> {
        Some(self.known.read().tables.get(&table)?.rows)
    }

    /// Takes in what was gathered. It is stored, unless it is to live with this server alone.
    pub fn put(
        &self,
        engine: &Engine,
        found: TableStatistics,
        is_stored: bool,
    ) -> Result<Arc<TableStatistics>> {
        let id = found.table;
        let _writing = self.writing.lock();
        let stored = is_stored.then(|| codec::encode(&found));
        let is_stored = match engine.note_meta(SPACE, &[(key(id), stored)]) {
            // What is known is good all the same.
            Err(Error::ReadOnly) => false,
            done => done.map(|()| is_stored)?,
        };
        let found = Arc::new(found);
        self.known.write().insert(Arc::clone(&found), is_stored);
        Ok(found)
    }

    /// Forgets tables that are gone.
    pub fn forget_dropped(&self, engine: &Engine) -> Result<()> {
        // Those that are known now were there before the tables that are there then.
        let known: Vec<TableId> = self.known.read().tables.keys().copied().collect();
        let there: HashSet<TableId> = engine.table_ids().into_iter().collect();
        let gone: Vec<TableId> = known.into_iter().filter(|id| !there.contains(id)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let _writing = self.writing.lock();
        let changes: Vec<_> = gone.iter().map(|id| (key(*id), None)).collect();
        match engine.note_meta(SPACE, &changes) {
            Err(Error::ReadOnly) => {}
            done => done?,
        }
        let mut known = self.known.write();
        gone.into_iter().for_each(|id| known.remove(id));
        Ok(())
    }
}

/// Has plans of before made again, and planners ask what is known rather than look at leaves themselves.
pub fn announce(table: &Table, def: &TableDef, statistics: &TableStatistics) {
    table.was_analysed();
    for index in &def.indexes {
        let Some(known) = statistics.index(def, Some(index)) else {
            continue;
        };
        for (parts, distinct) in (1..=known.own_parts).zip(&known.distinct) {
            table.suppose_records_per_key(index.number, parts, statistics.rows / distinct.max(1.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the catalog has gives way, what it has not stays.
    #[test]
    fn memory_is_bounded() {
        let mut known = Known::default();
        let of = |id: u64| {
            let table = TableId(id);
            Arc::new(TableStatistics::of_bytes(table, MEMORY_MAX / 10))
        };
        (0..4).for_each(|id| known.insert(of(id), false));
        (4..40).for_each(|id| known.insert(of(id), true));
        assert!(known.bytes <= MEMORY_MAX, "{}", known.bytes);
        let is_there = |id: u64| known.tables[&TableId(id)].in_memory.is_some();
        assert!((0..4).all(is_there) && is_there(39) && known.tables.len() == 40);
        (0..40).for_each(|id| known.remove(TableId(id)));
        assert_eq!(known.bytes, 0);
    }
}

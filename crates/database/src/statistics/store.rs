//! The statistics of all tables: in memory for whoever asks, and in the catalog, where they outlive a restart.
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

/// What is known of the tables of a database.
#[derive(Default)]
pub struct Statistics {
    known: RwLock<HashMap<TableId, Arc<TableStatistics>>>,
    /// Held while the catalog is written: one at a time writes to the space.
    writing: Mutex<()>,
    /// The thread that gathers.
    pub thread: Worker,
}

fn key(id: TableId) -> Vec<u8> {
    id.0.to_be_bytes().to_vec()
}

impl Statistics {
    /// Reads what the catalog has. What cannot be read is left out, and gathered again.
    pub fn load(engine: &Engine) -> Result<Statistics> {
        let mut known = HashMap::new();
        for (key, value) in engine.meta_scan(SPACE)? {
            let Ok(id) = <[u8; 8]>::try_from(key.as_slice()) else {
                continue;
            };
            let id = TableId(u64::from_be_bytes(id));
            match codec::decode(id, &value) {
                Ok(statistics) => drop(known.insert(id, Arc::new(statistics))),
                Err(error) => log::warn!("the statistics of table {} are left out: {}", id.0, error.message),
            }
        }
        Ok(Statistics {
            known: RwLock::new(known),
            ..Statistics::default()
        })
    }

    /// What is known of a table.
    pub fn of(&self, table: TableId) -> Option<Arc<TableStatistics>> {
        self.known.read().get(&table).cloned()
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
        match engine.note_meta(SPACE, &[(key(id), stored)]) {
            // What is known is good all the same.
            Err(Error::ReadOnly) => {}
            done => done?,
        }
        let found = Arc::new(found);
        self.known.write().insert(id, Arc::clone(&found));
        Ok(found)
    }

    /// Forgets tables that are gone.
    pub fn retain(&self, engine: &Engine, there: &HashSet<TableId>) -> Result<()> {
        let is_gone = |id: &TableId| !there.contains(id);
        let gone: Vec<TableId> = self.known.read().keys().copied().filter(is_gone).collect();
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
        gone.iter().for_each(|id| drop(known.remove(id)));
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

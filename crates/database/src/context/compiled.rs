//! What a session has compiled of stored programs, by their definitions. What it is, only the floor above knows.

use crate::accounts::Rights;
use crate::dictionary::ProgramDef;
use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Programs kept by a session: `stored_program_cache` by default. One that calls more starts over.
const PROGRAMS_MAX: usize = 256;

/// By the addresses of the definition and of the rights that it is executed with, both of which an entry keeps alive.
type Key = (usize, usize);

struct Entry {
    _def: Arc<ProgramDef>,
    _acting: Option<Arc<Rights>>,
    compiled: Arc<dyn Any + Send + Sync>,
}

/// See the module's head.
#[derive(Default)]
pub struct Compiled(RefCell<HashMap<Key, Entry>>);

fn key(def: &Arc<ProgramDef>, acting: Option<&Arc<Rights>>) -> Key {
    let acting = acting.map_or(0, |acting| Arc::as_ptr(acting).addr());
    (Arc::as_ptr(def).addr(), acting)
}

impl Compiled {
    /// Returns what was kept of a definition, compiled in the name of others if these rights are given.
    pub fn get(
        &self,
        def: &Arc<ProgramDef>,
        acting: Option<&Arc<Rights>>,
    ) -> Option<Arc<dyn Any + Send + Sync>> {
        let entries = self.0.borrow();
        let entry = entries.get(&key(def, acting))?;
        Some(Arc::clone(&entry.compiled))
    }

    /// Keeps what was compiled.
    pub fn put(
        &self,
        def: Arc<ProgramDef>,
        acting: Option<Arc<Rights>>,
        compiled: Arc<dyn Any + Send + Sync>,
    ) {
        let mut entries = self.0.borrow_mut();
        if entries.len() >= PROGRAMS_MAX {
            entries.clear();
        }
        let key = key(&def, acting.as_ref());
        entries.insert(
            key,
            Entry {
                _def: def,
                _acting: acting,
                compiled,
            },
        );
    }
}

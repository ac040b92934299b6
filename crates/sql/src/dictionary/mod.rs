//! The dictionary: names → definitions.

pub mod table;

pub use table::{
    CheckDef, ColumnDef, ColumnDefault, IndexDef, IndexPart, TableDef, TableOptions, names_equal,
};

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct Dictionary {
    epoch: AtomicU64,
}

impl Dictionary {
    /// Grows with every change of any definition: a cached plan that saw the same epoch is still right.
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }
}

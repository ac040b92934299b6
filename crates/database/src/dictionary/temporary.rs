//! The temporary tables of a session: names → definitions, above the dictionary.
//!
//! A statement's name means the session's temporary table of that name, if there is one, and else what the dictionary has under
//! it, table or view. Both are looked up in one place, `SessionState::table`; what MySQL looks up among permanent tables alone
//! (parents of foreign keys, the tables of a view, RENAME TABLE, everything about views) goes to the dictionary straight away, or
//! *hides* the temporary tables for as long as it plans.
//!
//! - **Definitions** are here and nowhere else: no catalogue entry, no name in the dictionary, no epoch of it that moves. So other
//!   sessions neither see the table nor plan anew for it, and CREATE and DROP TEMPORARY TABLE commit nothing. This session's kept
//!   plans are held against the map whenever [`TemporaryTables::version`] has moved: each table of a plan must still be what its
//!   name means.
//! - **Rows** are in a temporary table of the engine (`Engine::temporary_ddl`), with its transactions, undo and log: statements and
//!   transactions roll back as on any table. Making, changing and dropping the table writes the pages of its trees and nothing of
//!   the catalog, and waits for no disk. A crash leaves trees that no table has, which the next start frees.
//! - **Logged** are the changes of pages and rows, though nothing of them outlives the session: rollback reads its notes from the
//!   log, pages are written behind it, and a view sees a commit once that is synced. Not logged are definitions and the counter of
//!   AUTO_INCREMENT.
//! - **Locks.** One session uses the table, on one thread. It has no metadata lock: a permanent table of its name is not locked
//!   by statements that mean the temporary one, and LOCK TABLES and FLUSH TABLES WITH READ LOCK say nothing of it.
//! - **Rights.** CREATE TEMPORARY TABLES on the database makes it; nothing on the table is asked for afterwards.
//! - **Room** is given back by DROP, and by the session's end or reset. A table that is dropped within a transaction is kept, with
//!   no name, until the transaction has ended, for that may have rows of it to undo.

use super::TableDef;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use tidemark_engine::TableId;

/// One session's temporary tables. See the module's head.
#[derive(Default)]
pub struct TemporaryTables {
    tables: RefCell<Vec<Arc<TableDef>>>,
    /// Dropped in a transaction that has not ended.
    dropped: RefCell<Vec<TableId>>,
    version: Cell<u64>,
    hidden: Cell<usize>,
}

/// Until it is dropped, names mean permanent tables. From [`TemporaryTables::hide`].
pub struct Hidden<'t>(&'t TemporaryTables);

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        self.0.hidden.set(self.0.hidden.get() - 1);
    }
}

impl TemporaryTables {
    /// The table of this name. `None`: there is none, or they are hidden.
    #[inline]
    pub fn find(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        if self.hidden.get() > 0 {
            return None;
        }
        let tables = self.tables.borrow();
        let mut tables = tables.iter();
        tables
            .find(|table| table.name == name && table.schema == schema)
            .cloned()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tables.borrow().is_empty()
    }

    /// Grows with every change: plans made at the same version found the same tables.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.get()
    }

    /// Lets names mean permanent tables.
    pub fn hide(&self) -> Hidden<'_> {
        self.hidden.set(self.hidden.get() + 1);
        Hidden(self)
    }

    fn moved(&self) -> u64 {
        self.version.set(self.version.get() + 1);
        self.version.get()
    }

    /// Adds or replaces a table.
    pub(super) fn put(&self, mut table: TableDef) {
        self.remove(&table.schema, &table.name);
        table.version = self.moved();
        self.tables.borrow_mut().push(Arc::new(table));
    }

    /// Forgets a name; the engine's table is the caller's.
    pub(super) fn remove(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        self.moved();
        let mut tables = self.tables.borrow_mut();
        let at = tables
            .iter()
            .position(|table| table.name == name && table.schema == schema)?;
        Some(tables.remove(at))
    }

    /// Forgets a name and keeps the engine's table, to be dropped with [`TemporaryTables::take_dropped`].
    pub fn drop_later(&self, schema: &str, name: &str) {
        if let Some(table) = self.remove(schema, name) {
            self.dropped.borrow_mut().push(table.id);
        }
    }

    /// Has an engine's table dropped with those of [`TemporaryTables::drop_later`], which never had a name.
    pub fn drop_unnamed(&self, id: TableId) {
        self.dropped.borrow_mut().push(id);
    }

    /// The engine's tables that have lost their names, to be dropped now.
    pub fn take_dropped(&self) -> Vec<TableId> {
        self.dropped.take()
    }

    /// Forgets all names, and keeps the engine's tables like [`TemporaryTables::drop_later`].
    pub fn clear(&self) {
        self.moved();
        let mut dropped = self.dropped.borrow_mut();
        dropped.extend(self.tables.take().iter().map(|table| table.id));
    }

    /// Forgets the engine's tables too: a transaction that has not been undone has rows in them. The next start frees them.
    pub fn leave(&self) {
        self.clear();
        self.dropped.take();
    }
}

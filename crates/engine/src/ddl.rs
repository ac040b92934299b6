//! Changes of definitions. A [`Ddl`] is a transaction on the catalog: all of it happens at [`Ddl::commit`], or, if it is
//! dropped or the machine stops, none of it. The trees of dropped tables are freed in the background.
//!
//! Changes are collected first, and the trees that they need are built; those are in the garbage list until a table
//! takes them. The catalog itself is then changed by one short transaction.
//!
//! The caller ensures that no transaction uses the tables it changes (the SQL layer has metadata locks for that). One whose
//! rollback has failed may have lost what the caller ensures that by; its tables are refused here, since a change of
//! definitions would take what it has not committed for rows.
//!
//! *Temporary tables* are those whose trees are never taken out of the garbage list. They are claimed there as long as the table
//! is known, by a handle in memory: there is no catalogue entry, no transaction and no wait for the disk when one is made or
//! dropped, and changes of others are not waited for. Dropping one gives up the claim; what a crash leaves behind, unclaimed, the
//! next start frees as it frees the trees of a change that was not finished. The mini-transactions that make the trees and change
//! their rows are logged like any, since pages, rollback and savepoints depend on the log; what recovery would undo in a table
//! that is no longer known it passes over, as the tree goes whole.

use crate::build::{Builder, OnlineBuild};
use crate::catalog::{Catalog, Definition, Patience, meta_key, next_ids_key, table_key};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::garbage::{GarbageTree, RowParts};
use crate::ids::{IndexNo, Isolation, Lsn, PageId, TableId};
use crate::lock::Interrupt;
use crate::schema::{Column, Datum, Fate, IndexSchema, ROW_VERSIONS_MAX, RowBuf, Shape, Step, TableSchema};
use crate::system_tree::check_length;
use crate::table::{RowView, Table, TableState, stored_value};
use crate::transaction::Transaction;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The meta space of the names that tables were created with: name → table id.
pub(crate) const TABLE_NAMES: &str = "tidemark.table_names";

/// A change of definitions, from [`Engine::ddl`](crate::Engine::ddl). All of it happens at [`Ddl::commit`]; dropped before
/// that, none of it does. One at a time, but for what [`Ddl::let_others`] says.
pub struct Ddl {
    core: Arc<Core>,
    /// The tables are temporary ones, all of them.
    temporary: bool,
    /// No other DDL is under way but those of temporary tables.
    has_turn: bool,
    interrupt: Option<Arc<Interrupt>>,
    patience: Patience,
    meta: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    /// The tables as they will be after the commit; `None`: dropped.
    tables: HashMap<TableId, Option<New>>,
    /// Names given to tables by this DDL.
    named: HashMap<TableId, Vec<u8>>,
    /// Trees made by this DDL.
    made: Vec<GarbageTree>,
    /// Trees of tables and indexes that this DDL drops.
    dropped: Vec<GarbageTree>,
    /// Builds whose indexes become part of their tables.
    builds: Vec<OnlineBuild>,
}

/// A column that a table has after [`Ddl::change_columns`].
#[derive(Clone, Copy, Debug)]
pub enum NewColumn<'v> {
    /// The column that had this number.
    Kept(usize),
    /// A column that comes.
    Added {
        /// What it is.
        column: Column,
        /// The value that it has in the rows there are.
        value: Datum<'v>,
    },
}

/// A table made or changed by this DDL.
struct New {
    definition: Definition,
    table: Arc<Table>,
    /// Made by this DDL and therefore not visible to others, so rows can be copied into it without locks.
    is_empty_table: bool,
}

impl Ddl {
    pub(crate) fn new(core: Arc<Core>, temporary: bool) -> Result<Ddl> {
        Ddl::with_patience(core, temporary, Patience::ENDLESS)
    }

    pub(crate) fn with_patience(core: Arc<Core>, temporary: bool, patience: Patience) -> Result<Ddl> {
        if core.kernel.read_only {
            return Err(Error::ReadOnly);
        }
        if !temporary {
            core.catalog.take_turn(&patience)?;
        }
        Ok(Ddl {
            core,
            temporary,
            has_turn: !temporary,
            interrupt: patience.interrupt.clone(),
            patience,
            meta: BTreeMap::new(),
            tables: HashMap::new(),
            named: HashMap::new(),
            made: Vec::new(),
            dropped: Vec::new(),
            builds: Vec::new(),
        })
    }

    /// Long steps (building an index, copying rows) end early when this is killed.
    pub fn set_interrupt(&mut self, interrupt: Arc<Interrupt>) {
        self.interrupt = Some(interrupt);
    }

    /// Lets other DDLs go on while this one is at work on tables that none of those touches: for whatever takes long. The commit waits
    /// for its turn, if [`Ddl::take_turn`] has not.
    pub fn let_others(&mut self) {
        if std::mem::take(&mut self.has_turn) {
            self.core.catalog.end_turn();
        }
    }

    /// Waits for the turn after [`Ddl::let_others`]: what is read from now on is what the commit will change. Errors
    /// [`Error::Interrupted`] and [`Error::LockWaitTimeout`].
    pub fn take_turn(&mut self) -> Result<()> {
        if !self.has_turn && !self.temporary {
            self.core.catalog.take_turn(&self.patience)?;
            self.has_turn = true;
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        match &self.interrupt {
            Some(interrupt) if interrupt.is_killed() => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    fn make_tree(&mut self, rows: Option<RowParts>) -> Result<GarbageTree> {
        let tree = self.core.catalog.create_tree(rows)?;
        self.made.push(tree.clone());
        Ok(tree)
    }

    /// Creates an empty table and returns its id. Fails if the definition is not valid ([`TableSchema::validate`]).
    pub fn create_table(&mut self, schema: &TableSchema) -> Result<TableId> {
        schema.validate()?;
        let id = self.core.catalog.new_table_id();
        let shape = Shape::new(schema.clone());
        let mut indexes = Vec::new();
        for n in 0..=schema.secondary.len() {
            let tree = self.make_tree((n == 0).then(|| RowParts::new(&shape)))?;
            indexes.push((tree.index, tree.root));
        }
        let definition = Definition { shape, indexes };
        let state = self.temporary.then(|| Arc::new(TableState::in_memory()));
        let table = self.core.catalog.open_table(id, &definition, state)?;
        self.tables.insert(
            id,
            Some(New {
                definition,
                table,
                is_empty_table: true,
            }),
        );
        Ok(id)
    }

    /// [`Self::create_table`], to be found again by [`Engine::table_named`](crate::Engine::table_named). Fails if a table has
    /// the name already. A table without a name is found by its id alone; a caller that keeps names of its own, as the SQL
    /// floor does, needs none here.
    pub fn create_named_table(&mut self, name: &str, schema: &TableSchema) -> Result<TableId> {
        if self.meta_get(TABLE_NAMES, name.as_bytes())?.is_some() {
            return Err(Error::Unsupported("two tables of one name"));
        }
        let id = self.create_table(schema)?;
        self.give_name(id, name.as_bytes().to_vec())?;
        Ok(id)
    }

    /// The name that a table has, as this DDL has it.
    fn name_of(&self, table: TableId) -> Result<Option<Vec<u8>>> {
        if let Some(name) = self.named.get(&table) {
            return Ok(Some(name.clone()));
        }
        let id = table.0.to_le_bytes();
        for (name, value) in self.core.catalog.meta_scan(TABLE_NAMES)? {
            if value == id && self.meta_get(TABLE_NAMES, &name)?.is_some_and(|now| now == id) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn give_name(&mut self, table: TableId, name: Vec<u8>) -> Result<()> {
        self.put_meta(TABLE_NAMES, &name, &table.0.to_le_bytes())?;
        self.named.insert(table, name);
        Ok(())
    }

    /// Drops a table. [`Error::NoSuchTable`] if there is none of this id.
    pub fn drop_table(&mut self, table: TableId) -> Result<()> {
        let definition = self.definition(table)?;
        for n in 0..definition.indexes.len() {
            self.drop_tree(&definition, n);
        }
        if !self.temporary
            && let Some(name) = self.name_of(table)?
        {
            self.named.remove(&table);
            self.delete_meta(TABLE_NAMES, &name)?;
        }
        self.tables.insert(table, None);
        Ok(())
    }

    fn drop_tree(&mut self, definition: &Definition, n: IndexNo) {
        let (index, root) = definition.indexes[n];
        let rows = (n == 0).then(|| RowParts::new(&definition.shape));
        self.dropped.push(GarbageTree { index, root, rows });
    }

    fn definition(&self, table: TableId) -> Result<Definition> {
        match self.tables.get(&table) {
            Some(None) => Err(Error::NoSuchTable),
            Some(Some(new)) => Ok(new.definition.clone()),
            None => {
                self.core.refuse_unfinished(table)?;
                self.core.catalog.definition(table)?.ok_or(Error::NoSuchTable)
            }
        }
    }

    /// Gives a table a new definition; its rows and counters stay.
    fn redefine(&mut self, id: TableId, definition: Definition) -> Result<()> {
        check_length(definition.encode().len())?;
        let before = self.table(id)?;
        let table = Arc::new(self.core.catalog.redefined(&before, &definition));
        let is_empty_table = matches!(self.tables.get(&id), Some(Some(new)) if new.is_empty_table);
        self.tables.insert(
            id,
            Some(New {
                definition,
                table,
                is_empty_table,
            }),
        );
        Ok(())
    }

    /// Builds the index over the rows there are; it becomes the table's last. [`Error::DuplicateKey`] if it is unique
    /// and the rows are not.
    pub fn add_index(&mut self, table: TableId, index: &IndexSchema) -> Result<()> {
        let mut definition = self.definition(table)?;
        definition.shape.schema.secondary.push(index.clone());
        definition.shape.schema.validate()?;
        let tree = self.make_tree(None)?;
        definition.indexes.push((tree.index, tree.root));
        self.redefine(table, definition)?;
        let new = self.table(table)?;
        let n = new.indexes.len() - 1;
        let mut builder = Builder::new(&self.core.kernel, &new, n..n + 1);
        builder.index_rows(&|| self.check())?;
        builder.finish(&|| self.check())
    }

    /// Makes the indexes of a build the table's last ones. [`Error::DuplicateKey`] if one of them is unique and the rows are not. Whatever
    /// fails, the commit included: the build is given up.
    pub fn finish_build(&mut self, build: OnlineBuild) -> Result<()> {
        let table = build.table();
        self.core.refuse_unfinished(table)?;
        let mut definition = self.definition(table)?;
        build.verify(definition.indexes.len(), &|| self.check())?;
        for (index, tree) in build.indexes() {
            definition.shape.schema.secondary.push(index.clone());
            definition.indexes.push((tree.index, tree.root));
        }
        definition.shape.schema.validate()?;
        self.builds.push(build);
        self.redefine(table, definition)
    }

    /// Drops an index; those after it move up by one. Fails if the table has none of this number, and for the clustered index (0).
    pub fn drop_index(&mut self, table: TableId, index: IndexNo) -> Result<()> {
        let mut definition = self.definition(table)?;
        if index == 0 || index >= definition.indexes.len() {
            return Err(Error::Unsupported("dropping an index that is not there"));
        }
        self.drop_tree(&definition, index);
        // Purge tasks that have not been followed yet name indexes by their old numbers.
        self.core.kernel.mvcc.queue.flush_buffers();
        if self.core.kernel.mvcc.queue.len() > 0 {
            self.core.tasks_lost.store(true, Ordering::Relaxed);
        }
        definition.indexes.remove(index);
        definition.shape.schema.secondary.remove(index - 1);
        self.redefine(table, definition)
    }

    /// Gives a table these columns in this order, and leaves its rows as they are: a row of before shows a column that has come
    /// with the value given here, and one that has gone not at all. Views of before find the table changed
    /// ([`Error::DefinitionChanged`]). Fails if an index has a column that is to go, if a value is none of its column, and if
    /// this has been done [`ROW_VERSIONS_MAX`] times since the table was made.
    pub fn change_columns(&mut self, table: TableId, columns: &[NewColumn]) -> Result<()> {
        let mut definition = self.definition(table)?;
        if definition.shape.history.version() >= ROW_VERSIONS_MAX {
            return Err(Error::Unsupported(
                "so many changes of a table's columns beside its rows",
            ));
        }
        let before = &definition.shape.schema.columns;
        let mut step = Step {
            fates: before.iter().map(|column| Fate::Goes(*column)).collect(),
            comes: Vec::new(),
        };
        let mut after = Vec::with_capacity(columns.len());
        for (place, new) in columns.iter().enumerate() {
            let wrong = |what| Error::WrongValue { column: place, what };
            match new {
                NewColumn::Kept(number) => match step.fates.get_mut(*number) {
                    Some(fate @ Fate::Goes(_)) => {
                        *fate = Fate::Stays(place);
                        after.push(before[*number]);
                    }
                    Some(Fate::Stays(_)) => return Err(wrong("twice in one table")),
                    None => return Err(wrong("no such column")),
                },
                NewColumn::Added { column, value } => {
                    step.comes
                        .push((place, stored_value(column, *value).map_err(wrong)?));
                    after.push(*column);
                }
            }
        }
        definition.shape.take_step(after, step)?;
        self.redefine(table, definition)
    }

    /// Fills a table created here with the rows of another. `f` sets the new row's columns, which start out NULL.
    pub fn copy_rows(
        &mut self,
        from: TableId,
        to: TableId,
        f: &mut dyn FnMut(&RowView, &mut RowBuf) -> Result<()>,
    ) -> Result<u64> {
        match self.tables.get(&to) {
            Some(Some(new)) if new.is_empty_table => {}
            _ => return Err(Error::Unsupported("copying rows into a table that is not new")),
        }
        self.core.refuse_unfinished(from)?;
        let (from, to) = (self.table(from)?, self.table(to)?);
        let mut builder = Builder::new(&self.core.kernel, &to, 1..to.indexes.len());
        let rows = builder.copy_rows(&self.core.kernel, &from, f, &|| self.check())?;
        builder.finish(&|| self.check())?;
        Ok(rows)
    }

    /// A new, empty table of the same definition, and name, takes the old one's place; its id is returned.
    pub fn truncate(&mut self, table: TableId) -> Result<TableId> {
        let schema = self.definition(table)?.shape.schema;
        let name = match self.temporary {
            true => None,
            false => self.name_of(table)?,
        };
        self.drop_table(table)?;
        let id = self.create_table(&schema)?;
        if let Some(name) = name {
            self.give_name(id, name)?;
        }
        Ok(id)
    }

    /// The table as this DDL has it, for tables created or changed in it.
    pub fn table(&self, table: TableId) -> Result<Arc<Table>> {
        match self.tables.get(&table) {
            Some(None) => Err(Error::NoSuchTable),
            Some(Some(new)) => Ok(new.table.clone()),
            None => self.core.catalog.table(table),
        }
    }

    /// Sets a key of a meta space to a value. Fails if that is too long to be stored.
    pub fn put_meta(&mut self, space: &str, key: &[u8], value: &[u8]) -> Result<()> {
        check_length(value.len())?;
        self.meta.insert(meta_key(space, key), Some(value.to_vec()));
        Ok(())
    }

    /// Removes a key from a meta space.
    pub fn delete_meta(&mut self, space: &str, key: &[u8]) -> Result<()> {
        self.meta.insert(meta_key(space, key), None);
        Ok(())
    }

    /// Meta data as this DDL has it.
    pub fn meta_get(&self, space: &str, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let key = meta_key(space, key);
        match self.meta.get(&key) {
            Some(value) => Ok(value.clone()),
            None => self.core.catalog.system().read(&key),
        }
    }

    /// Makes all of it visible at once, and durable at the default durability.
    pub fn commit(mut self) -> Result<()> {
        if self.temporary {
            self.keep();
            return Ok(());
        }
        let core = self.core.clone();
        let catalog = &core.catalog;
        self.take_turn()?;
        // Held until the transaction has ended, either way.
        let visible = catalog.committing.write();
        let mut txn = Transaction::new(core.clone());
        txn.begin(Isolation::RepeatableRead, false);
        self.write_catalog(catalog, &mut txn)?;
        txn.commit()?;
        // The commit is below the tide by now, so every view to come knows it.
        let now = core.kernel.mvcc.tide();
        for (id, new) in self.tables.drain() {
            let table = new.map(|new| {
                new.table.set_defined(now);
                new.table
            });
            catalog.replace_table(id, table);
        }
        self.builds.drain(..).for_each(OnlineBuild::adopted);
        drop(visible);
        Ok(())
    }

    /// The commit of temporary tables: those made stay claimed, those dropped are given up. One that takes another's place has
    /// no past; a new one has an empty one.
    fn keep(&mut self) {
        let mut used: Vec<PageId> = Vec::new();
        let now = (!self.dropped.is_empty()).then(|| self.core.kernel.mvcc.tide());
        for (id, new) in self.tables.drain() {
            if let Some(new) = &new {
                new.table.set_defined(now.unwrap_or(Lsn::ZERO));
                used.extend(new.definition.indexes.iter().map(|(_, root)| *root));
            }
            let new = new.map(|new| (new.definition, new.table));
            self.core.catalog.replace_temporary(id, new);
        }
        self.made.retain(|tree| !used.contains(&tree.root));
        self.made.append(&mut self.dropped);
    }

    fn write_catalog(&self, catalog: &Catalog, txn: &mut Transaction) -> Result<()> {
        let txn = &mut txn.txn();
        let system = catalog.system();
        txn.start_write()?;
        for (key, value) in &self.meta {
            system.put(txn, key, value.as_deref())?;
        }
        let mut used: Vec<PageId> = Vec::new();
        for (id, new) in &self.tables {
            match new {
                Some(new) => {
                    system.put(txn, &table_key(*id), Some(&new.definition.encode()))?;
                    used.extend(new.definition.indexes.iter().map(|(_, root)| *root));
                }
                None => {
                    system.put(txn, &table_key(*id), None)?;
                    catalog.forget_auto_increment(txn, *id)?;
                }
            }
        }
        let built = self.builds.iter().flat_map(OnlineBuild::indexes);
        for tree in self.made.iter().chain(built.map(|(_, tree)| tree)) {
            if used.contains(&tree.root) {
                catalog.garbage.put_tree(txn, tree, false)?;
            }
        }
        for tree in &self.dropped {
            if !self.made.contains(tree) {
                catalog.garbage.put_tree(txn, tree, true)?;
            }
        }
        system.put(txn, &next_ids_key(), Some(&catalog.next_ids()))
    }
}

impl Drop for Ddl {
    /// Committed or not, what is in the garbage list now can be freed.
    fn drop(&mut self) {
        self.core
            .catalog
            .garbage
            .release_claims(self.made.iter().map(|tree| tree.index));
        self.let_others();
        if self.temporary && self.made.is_empty() {
            return;
        }
        self.core.reclaim.ring();
    }
}

//! The dictionary: names → definitions.
//!
//! All definitions stand in memory, behind one read-write lock that is held for a look-up, and in the engine's
//! catalog, where they are written by the same engine DDL that creates and drops the tables they describe: after a
//! crash there is never a name without a table or a table without a name. A [`DefinitionChange`] collects both sides; its
//! commit first makes the engine's side durable and then shows the new definitions and moves the epoch.
//!
//! Database and table names are case-sensitive, as in MySQL on Linux; column and index names are not.

pub(crate) mod codec;
mod program;
pub(crate) mod table;
pub mod temporary;
pub mod virtual_tables;

pub use crate::expr::names_equal;
pub use program::{ProgramDef, ProgramTree};
pub use table::{
    CheckDef, ColumnDef, ColumnDefault, ForeignKeyDef, GeneratedColumn, IndexDef, IndexPart, KEY_PARTS_MAX,
    ReferentialAction, SchemaDef, StatisticsOptions, TableDef, TableOptions, ViewDef,
};
pub use temporary::TemporaryTables;

use crate::error::{Result, SqlError};
use crate::histogram::{ColumnHistogram, Histogram};
use crate::mdl::{Locks, Namespace, ObjectKey};
use crate::parse::ast::ProgramKind;
use crate::types::Collation;
use parking_lot::RwLock;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tidemark_engine::{Ddl, Engine, Error, IndexSchema, OnlineBuild, Stored, TableId, TableSchema};

const SPACE_SCHEMA: &str = "schema";
const SPACE_TABLE: &str = "table";
/// Stored programs, by database, kind and name.
const SPACE_PROGRAM: &str = "program";
/// The histograms of tables' columns, by database, table and column.
const SPACE_HISTOGRAM: &str = "histogram";
/// The engine's tables that are being filled before they get a name.
const SPACE_UNFINISHED: &str = "unfinished";

/// Databases that are not stored.
pub const VIRTUAL_SCHEMAS: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// All definitions, in memory and in the engine's catalog. Shared by all sessions.
pub struct Dictionary {
    epoch: AtomicU64,
    names: RwLock<Definitions>,
    locks: Arc<Locks>,
}

/// Database and name of a table.
type TableName = (String, String);

#[derive(Default)]
struct Definitions {
    schemas: BTreeMap<String, Schema>,
    /// For each name that foreign keys lead to, the tables that have those. There need be no table of the name.
    children: HashMap<TableName, BTreeSet<TableName>>,
    /// How many definitions of tables were read or changed.
    opened: u64,
    /// The epoch of the last change that plans over any tables may depend on.
    changed_for_all: u64,
    /// The epochs at which handles of tables ceased to serve while their definitions stayed.
    reopened: HashMap<TableId, u64>,
}

impl Definitions {
    /// Adds or replaces a table; its database is there.
    fn put_table(&mut self, table: Arc<TableDef>) {
        self.opened += 1;
        self.remove_table(&table.schema, &table.name);
        let Some(schema) = self.schemas.get_mut(&table.schema) else {
            return;
        };
        for key in &table.foreign_keys {
            let parent = (key.parent_schema.clone(), key.parent.clone());
            let child = (table.schema.clone(), table.name.clone());
            self.children.entry(parent).or_default().insert(child);
        }
        schema.tables.insert(table.name.clone(), table);
    }

    /// Gives the tables the histograms that the catalog has. One that cannot be read is left out: nothing but speed depends
    /// on it.
    fn load_histograms(&mut self, engine: &Engine) -> Result<()> {
        for (key, value) in engine.meta_scan(SPACE_HISTOGRAM)? {
            let key = String::from_utf8_lossy(&key).into_owned();
            let mut parts = key.splitn(3, '\0');
            let mut part = || parts.next().unwrap_or_default();
            let (schema, name, column) = (part(), part(), part());
            let tables = self.schemas.get_mut(schema).map(|schema| &mut schema.tables);
            let Some(table) = tables.and_then(|tables| tables.get_mut(name)) else {
                continue;
            };
            let Some(at) = table.column(column) else { continue };
            match Histogram::parse(&value, &table.columns[at].ty) {
                Ok(histogram) => {
                    let column = column.to_owned();
                    let made = Arc::new(ColumnHistogram { column, histogram });
                    Arc::make_mut(table).histograms.push(made);
                }
                Err(error) => log::error!("the histogram of {schema}.{name}.{column} is left out: {error}"),
            }
        }
        Ok(())
    }

    /// Adds or replaces a program; its database is there.
    fn put_program(&mut self, program: Arc<ProgramDef>) {
        if let Some(schema) = self.schemas.get_mut(&program.schema) {
            let key = program.key();
            schema.programs.insert((program.kind, key.name), program);
        }
    }

    fn find(&self, schema: &str, name: &str) -> Option<&Arc<TableDef>> {
        self.schemas.get(schema)?.tables.get(name)
    }

    /// Whether plans that do not use a table depend on what it is, or becomes with a new definition: those over views, which contain
    /// their definitions, and over tables that foreign keys join with it.
    fn concerns_others(&self, schema: &str, name: &str, new: Option<&TableDef>) -> bool {
        let mut definitions = new.into_iter().chain(self.find(schema, name).map(|old| &**old));
        let key = || (schema.to_owned(), name.to_owned());
        definitions.any(|table| table.is_view() || !table.foreign_keys.is_empty())
            || !self.children.is_empty() && self.children.contains_key(&key())
    }

    fn remove(&mut self, key: &ObjectKey) {
        match key.namespace {
            Namespace::Schema => {
                self.schemas.remove(&key.schema);
            }
            Namespace::Table => self.remove_table(&key.schema, &key.name),
            Namespace::Program(kind) => {
                if let Some(schema) = self.schemas.get_mut(&key.schema) {
                    schema.programs.remove(&(kind, key.name.clone()));
                }
            }
            Namespace::Global | Namespace::Backup | Namespace::Application => {}
        }
    }

    fn remove_table(&mut self, schema: &str, name: &str) {
        let Some(tables) = self.schemas.get_mut(schema).map(|schema| &mut schema.tables) else {
            return;
        };
        let Some(old) = tables.remove(name) else { return };
        self.reopened.remove(&old.id);
        for key in &old.foreign_keys {
            let parent = (key.parent_schema.clone(), key.parent.clone());
            if let Some(children) = self.children.get_mut(&parent) {
                children.remove(&(schema.to_owned(), name.to_owned()));
                if children.is_empty() {
                    self.children.remove(&parent);
                }
            }
        }
    }
}

struct Schema {
    def: Arc<SchemaDef>,
    tables: BTreeMap<String, Arc<TableDef>>,
    /// By kind and name, as their keys have it.
    programs: BTreeMap<(ProgramKind, String), Arc<ProgramDef>>,
}

impl Schema {
    fn new(def: SchemaDef) -> Schema {
        Schema {
            def: Arc::new(def),
            tables: BTreeMap::new(),
            programs: BTreeMap::new(),
        }
    }
}

impl Dictionary {
    /// Reads all definitions from the catalog.
    pub fn load(engine: &Engine, locks: Arc<Locks>) -> Result<Dictionary> {
        let mut names = Definitions::default();
        for (key, value) in engine.meta_scan(SPACE_SCHEMA)? {
            let name = String::from_utf8_lossy(&key).into_owned();
            let def = codec::decode_schema(&name, &value)?;
            names.schemas.insert(name, Schema::new(def));
        }
        for (key, value) in engine.meta_scan(SPACE_TABLE)? {
            let key = String::from_utf8_lossy(&key).into_owned();
            let Some((schema, name)) = key.split_once('\0') else {
                return Err(SqlError::unknown(format!(
                    "The catalog holds a table under the strange key '{key}'"
                )));
            };
            match codec::decode_table(schema, name, &value, 1, &locks) {
                Err(error) if engine.force_recovery() > 0 => {
                    log::error!("table {schema}.{name} is left out: {}", error.message);
                }
                def => names.put_table(Arc::new(def?)),
            }
        }
        for (key, value) in engine.meta_scan(SPACE_PROGRAM)? {
            match program::decode(&key, &value) {
                Err(error) if engine.force_recovery() > 0 => {
                    log::error!("a stored program is left out: {}", error.message);
                }
                def => names.put_program(Arc::new(def?)),
            }
        }
        names.load_histograms(engine)?;
        Ok(Dictionary {
            epoch: AtomicU64::new(1),
            names: RwLock::new(names),
            locks,
        })
    }

    /// Drops the tables that were being filled when the server stopped. One that cannot be dropped stays, and keeps no other.
    /// Nothing can be dropped on a server that only reads.
    pub fn drop_unfinished(&self, engine: &Engine) -> Result<()> {
        if engine.force_recovery() > 0 {
            return Ok(());
        }
        for (key, _) in engine.meta_scan(SPACE_UNFINISHED)? {
            let Ok(id) = <[u8; 8]>::try_from(key.as_slice()) else {
                continue;
            };
            let ddl = match engine.ddl() {
                Err(Error::ReadOnly) => return Ok(()),
                ddl => ddl?,
            };
            let mut change = DefinitionChange {
                dictionary: self,
                ddl,
                edits: Vec::new(),
                temporary: None,
            };
            let dropped = change.drop_unfinished(TableId(u64::from_le_bytes(id)));
            if let Err(error) = dropped.and_then(|()| change.commit()) {
                log::error!("a table that was not finished stays: {error}");
            }
        }
        Ok(())
    }

    /// Grows with every change of any definition: a cached plan that saw the same epoch is right, one that saw another may
    /// [still be](Self::still_right).
    #[inline]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Whether a plan over these tables that was right at an earlier epoch still is: each is what its name means, and what has changed
    /// since is other tables, which have nothing to do with them. The epoch then becomes the present one.
    pub fn still_right<'t>(
        &self,
        epoch: &mut u64,
        tables: impl IntoIterator<Item = &'t Arc<TableDef>>,
    ) -> bool {
        let names = self.names.read();
        let made_at = *epoch;
        let is_same = |table: &Arc<TableDef>| {
            let now = names.find(&table.schema, &table.name);
            now.is_some_and(|now| Arc::ptr_eq(now, table))
                && names.reopened.get(&table.id).is_none_or(|at| *at <= made_at)
        };
        let right = names.changed_for_all <= made_at && tables.into_iter().all(is_same);
        if right {
            *epoch = self.epoch();
        }
        right
    }

    /// How many definitions of tables were read since the start, or made by statements.
    pub fn opened(&self) -> u64 {
        self.names.read().opened
    }

    /// The metadata locks of all names.
    pub fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    /// A database, stored or virtual. `None`: there is no such database.
    pub fn schema(&self, name: &str) -> Option<Arc<SchemaDef>> {
        if let Some(name) = virtual_schema(name) {
            return Some(Arc::new(SchemaDef {
                name: name.to_owned(),
                collation: match name {
                    "mysql" => Collation::DEFAULT,
                    _ => Collation::UTF8MB3_GENERAL_CI,
                },
            }));
        }
        let names = self.names.read();
        names.schemas.get(name).map(|schema| Arc::clone(&schema.def))
    }

    /// The stored table that the engine knows by this number.
    pub fn table_by_id(&self, id: TableId) -> Option<Arc<TableDef>> {
        let names = self.names.read();
        let mut tables = names.schemas.values().flat_map(|schema| schema.tables.values());
        tables.find(|table| table.id == id).cloned()
    }

    /// The stored databases' names and the virtual ones, sorted.
    pub fn schema_names(&self) -> Vec<String> {
        let names = self.names.read();
        let mut all: Vec<String> = names.schemas.keys().cloned().collect();
        all.extend(VIRTUAL_SCHEMAS.iter().map(|name| (*name).to_owned()));
        all.sort();
        all.dedup();
        all
    }

    /// A stored table. `None`: no such table, or no such database.
    pub fn find_table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        self.names.read().find(schema, name).cloned()
    }

    /// A stored table. Errors 1049 and 1146.
    pub fn table(&self, schema: &str, name: &str) -> Result<Arc<TableDef>> {
        let names = self.names.read();
        match names.schemas.get(schema) {
            None => Err(SqlError::unknown_database(schema)),
            Some(found) => found
                .tables
                .get(name)
                .cloned()
                .ok_or_else(|| SqlError::no_such_table(schema, name)),
        }
    }

    /// A stored table that is no view. Errors 1049, 1146 and 1347.
    pub fn base_table(&self, schema: &str, name: &str) -> Result<Arc<TableDef>> {
        let table = self.table(schema, name)?;
        match table.is_view() {
            true => Err(SqlError::wrong_object(schema, name, "BASE TABLE")),
            false => Ok(table),
        }
    }

    /// The stored tables and views of a database by name.
    pub fn tables(&self, schema: &str) -> Vec<Arc<TableDef>> {
        let names = self.names.read();
        match names.schemas.get(schema) {
            Some(schema) => schema.tables.values().cloned().collect(),
            None => Vec::new(),
        }
    }

    /// Returns a stored program; `None`: there is none of this kind and name.
    pub fn program(&self, kind: ProgramKind, schema: &str, name: &str) -> Option<Arc<ProgramDef>> {
        let key = ObjectKey::program(kind, schema, name);
        let names = self.names.read();
        names
            .schemas
            .get(schema)?
            .programs
            .get(&(kind, key.name))
            .cloned()
    }

    /// Returns the stored programs of a database, by kind and name.
    pub fn programs(&self, schema: &str) -> Vec<Arc<ProgramDef>> {
        let names = self.names.read();
        let found = names.schemas.get(schema);
        found.map_or_else(Vec::new, |schema| schema.programs.values().cloned().collect())
    }

    /// The tables with foreign keys that lead to a table, or to where there is none, by database and name.
    pub fn children(&self, schema: &str, name: &str) -> Vec<Arc<TableDef>> {
        let names = self.names.read();
        if names.children.is_empty() {
            return Vec::new();
        }
        let children = names.children.get(&(schema.to_owned(), name.to_owned()));
        let children = children.into_iter().flatten();
        children
            .filter_map(|(schema, name)| names.schemas.get(schema)?.tables.get(name).cloned())
            .collect()
    }

    /// Whether any foreign key leads to this name.
    pub fn has_children(&self, schema: &str, name: &str) -> bool {
        let names = self.names.read();
        let key = || (schema.to_owned(), name.to_owned());
        !names.children.is_empty() && names.children.contains_key(&key())
    }

    /// Begins a change of definitions; one runs at a time.
    pub fn change<'d>(&'d self, engine: &Engine) -> Result<DefinitionChange<'d>> {
        Ok(self.change_by(engine.ddl()?))
    }

    /// Begins a change of definitions by the engine's side of it.
    pub fn change_by(&self, ddl: Ddl) -> DefinitionChange<'_> {
        DefinitionChange {
            dictionary: self,
            ddl,
            edits: Vec::new(),
            temporary: None,
        }
    }

    /// What plans depend on beside definitions has changed: those of before are made anew.
    pub fn outdate_plans(&self) {
        let mut names = self.names.write();
        names.changed_for_all = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
    }

    /// Begins to build indexes of a table, which the session has for itself until that is done ([`Engine::build_indexes`]). Plans
    /// over it of before have handles that no longer serve, so they must be made again.
    pub fn build_indexes(
        &self,
        engine: &Engine,
        table: TableId,
        indexes: &[IndexSchema],
    ) -> Result<OnlineBuild> {
        let build = engine.build_indexes(table, indexes)?;
        let mut names = self.names.write();
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        names.reopened.insert(table, epoch);
        Ok(build)
    }

    /// Begins a change of a session's temporary tables, and of nothing else. Its names are those of `tables`.
    pub fn change_temporary<'d>(
        &'d self,
        engine: &Engine,
        tables: &'d TemporaryTables,
    ) -> Result<DefinitionChange<'d>> {
        Ok(DefinitionChange {
            dictionary: self,
            ddl: engine.temporary_ddl()?,
            edits: Vec::new(),
            temporary: Some(tables),
        })
    }
}

/// What is wrong with the stored definitions: those that do not decode, those of no database or of no table of the engine's, and
/// tables of the engine's without one.
pub fn faults(stored: &Stored<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut read = |space: &str| match stored.meta_scan(space) {
        Ok(found) => found,
        Err(error) => {
            faults.push(format!("definitions of kind '{space}': {error}"));
            Vec::new()
        }
    };
    let (schemas, tables, unfinished) = (read(SPACE_SCHEMA), read(SPACE_TABLE), read(SPACE_UNFINISHED));
    let programs = read(SPACE_PROGRAM);
    let text = |key: &[u8]| String::from_utf8_lossy(key).into_owned();
    let mut known: BTreeSet<TableId> = unfinished
        .iter()
        .filter_map(|(key, _)| Some(TableId(u64::from_le_bytes(key.as_slice().try_into().ok()?))))
        .collect();
    let mut names = BTreeSet::new();
    for (key, value) in &schemas {
        let name = text(key);
        if let Err(error) = codec::decode_schema(&name, value) {
            faults.push(format!("database {name}: {}", error.message));
        }
        names.insert(name);
    }
    let locks = Locks::default();
    for (key, value) in &tables {
        let key = text(key);
        let Some((schema, name)) = key.split_once('\0') else {
            faults.push(format!("a table stands under the strange key '{key}'"));
            continue;
        };
        if !names.contains(schema) {
            faults.push(format!("table {schema}.{name}: there is no such database"));
        }
        match codec::decode_table(schema, name, value, 1, &locks) {
            Err(error) => faults.push(format!("table {schema}.{name}: {}", error.message)),
            Ok(table) if table.is_view() => {}
            Ok(table) => {
                if !stored.tables.contains(&table.id) {
                    faults.push(format!("table {schema}.{name}: its rows are gone"));
                }
                if !known.insert(table.id) {
                    faults.push(format!("table {schema}.{name}: its rows are another's, too"));
                }
            }
        }
    }
    for (key, value) in &programs {
        match program::decode(key, value) {
            Err(error) => faults.push(format!("a stored program: {}", error.message)),
            Ok(program) if !names.contains(&program.schema) => faults.push(format!(
                "stored program {}.{}: there is no such database",
                program.schema, program.name
            )),
            Ok(_) => {}
        }
    }
    let lost = stored.tables.iter().filter(|id| !known.contains(id));
    faults.extend(lost.map(|id| format!("table {id} has rows, but no definition: its name is lost")));
    faults
}

/// The canonical name of a database that is not stored; these compare without case.
pub fn virtual_schema(name: &str) -> Option<&'static str> {
    VIRTUAL_SCHEMAS
        .into_iter()
        .find(|schema| schema.eq_ignore_ascii_case(name))
}

/// Whether all accounts may read the database's tables; what an account may not see is not among their rows.
pub fn is_open_schema(name: &str) -> bool {
    virtual_schema(name) == Some("information_schema")
}

/// The tables of `performance_schema` that all accounts may read.
const OPEN_TABLES: [&str; 10] = [
    "global_status",
    "global_variable_attributes",
    "global_variables",
    "persisted_variables",
    "processlist",
    "session_account_connect_attrs",
    "session_status",
    "session_variables",
    "variables_info",
    "variables_metadata",
];

/// Whether all accounts may read the table.
pub fn is_open_table(schema: &str, name: &str) -> bool {
    match virtual_schema(schema) {
        Some("information_schema") => true,
        Some("performance_schema") => OPEN_TABLES.iter().any(|open| open.eq_ignore_ascii_case(name)),
        _ => false,
    }
}

/// Whether every account is told that there is the database.
pub fn is_listed_schema(name: &str) -> bool {
    matches!(
        virtual_schema(name),
        Some("information_schema" | "performance_schema")
    )
}

/// What there is under a key.
enum Object {
    Schema(SchemaDef),
    Table(Box<TableDef>),
    Program(Arc<ProgramDef>),
}

enum Edit {
    Put(Object),
    Drop(ObjectKey),
}

/// Changes of names and tables that happen together or not at all. Dropped without commit, nothing has happened.
pub struct DefinitionChange<'d> {
    dictionary: &'d Dictionary,
    /// The engine's side of the change: creates and drops tables and indexes.
    pub ddl: Ddl,
    edits: Vec<Edit>,
    /// The session's names that change; `None`: those of the dictionary.
    temporary: Option<&'d TemporaryTables>,
}

fn table_key(schema: &str, name: &str) -> Vec<u8> {
    format!("{schema}\0{name}").into_bytes()
}

fn histogram_key(schema: &str, name: &str, column: &str) -> Vec<u8> {
    format!("{schema}\0{name}\0{column}").into_bytes()
}

impl DefinitionChange<'_> {
    /// Adds or replaces a database's definition.
    pub fn put_schema(&mut self, schema: SchemaDef) -> Result<()> {
        let has_programs = !self.dictionary.programs(&schema.name).is_empty();
        self.store_schema(&schema, has_programs)?;
        self.edits.push(Edit::Put(Object::Schema(schema)));
        Ok(())
    }

    fn store_schema(&mut self, schema: &SchemaDef, has_programs: bool) -> Result<()> {
        let value = codec::encode_schema(schema, has_programs);
        Ok(self.ddl.put_meta(SPACE_SCHEMA, schema.name.as_bytes(), &value)?)
    }

    /// Forgets a database; its tables and programs have been dropped by the same change.
    pub fn drop_schema(&mut self, name: &str) -> Result<()> {
        self.ddl.delete_meta(SPACE_SCHEMA, name.as_bytes())?;
        self.edits.push(Edit::Drop(ObjectKey::schema(name)));
        Ok(())
    }

    /// Adds or replaces the definition under its name. A table that comes to have the name counts the use of its rows anew.
    pub fn put_table(&mut self, table: TableDef) -> Result<()> {
        let before = self.dictionary.find_table(&table.schema, &table.name);
        if before.is_none_or(|before| before.id != table.id)
            && let Ok(stored) = self.ddl.table(table.id)
        {
            stored.forget_usage();
        }
        if self.temporary.is_none() {
            let value = codec::encode_table(&table);
            let key = table_key(&table.schema, &table.name);
            self.ddl.put_meta(SPACE_TABLE, &key, &value)?;
            self.delete_histograms(&table.schema, &table.name)?;
            for made in &table.histograms {
                let Some(at) = table.column(&made.column) else {
                    continue;
                };
                let text = made.histogram.text(&table.columns[at].ty);
                let key = histogram_key(&table.schema, &table.name, &made.column);
                self.ddl.put_meta(SPACE_HISTOGRAM, &key, text.as_bytes())?;
            }
        }
        self.edits.push(Edit::Put(Object::Table(Box::new(table))));
        Ok(())
    }

    /// Creates a table of the engine without a name, noted as unfinished: at the next start it is dropped.
    pub fn create_unfinished(&mut self, schema: &TableSchema) -> Result<TableId> {
        let id = self.ddl.create_table(schema)?;
        self.ddl.put_meta(SPACE_UNFINISHED, &id.0.to_le_bytes(), &[])?;
        Ok(id)
    }

    /// Strikes out the note of [`DefinitionChange::create_unfinished`]: the table gets a name by the same change.
    pub fn finish(&mut self, id: TableId) -> Result<()> {
        Ok(self.ddl.delete_meta(SPACE_UNFINISHED, &id.0.to_le_bytes())?)
    }

    /// Drops a table that is not to get a name.
    pub fn drop_unfinished(&mut self, id: TableId) -> Result<()> {
        self.finish(id)?;
        Ok(self.ddl.drop_table(id)?)
    }

    /// Forgets the name. The engine's table is the caller's to drop or to keep under another name.
    pub fn drop_table(&mut self, schema: &str, name: &str) -> Result<()> {
        if self.temporary.is_none() {
            self.ddl.delete_meta(SPACE_TABLE, &table_key(schema, name))?;
            self.delete_histograms(schema, name)?;
        }
        self.edits.push(Edit::Drop(ObjectKey::table(schema, name)));
        Ok(())
    }

    /// Adds or replaces a stored program.
    pub fn put_program(&mut self, program: ProgramDef) -> Result<()> {
        let key = program::catalog_key(&program.key(), program.kind);
        self.ddl
            .put_meta(SPACE_PROGRAM, &key, &program::encode(&program))?;
        if let Some(schema) = self.dictionary.schema(&program.schema) {
            self.store_schema(&schema, true)?;
        }
        self.edits.push(Edit::Put(Object::Program(Arc::new(program))));
        Ok(())
    }

    /// Forgets a stored program.
    pub fn drop_program(&mut self, program: &ProgramDef) -> Result<()> {
        let key = program.key();
        self.ddl
            .delete_meta(SPACE_PROGRAM, &program::catalog_key(&key, program.kind))?;
        self.edits.push(Edit::Drop(key));
        let is_last = self.dictionary.programs(&program.schema).len() == 1;
        match self.dictionary.schema(&program.schema) {
            Some(schema) if is_last => self.store_schema(&schema, false),
            _ => Ok(()),
        }
    }

    /// Forgets the histograms that the catalog has of a table.
    fn delete_histograms(&mut self, schema: &str, name: &str) -> Result<()> {
        for column in self.histograms_of(schema, name) {
            let key = histogram_key(schema, name, &column);
            self.ddl.delete_meta(SPACE_HISTOGRAM, &key)?;
        }
        Ok(())
    }

    /// The columns that have histograms, of the table that has the name at this point of the change.
    fn histograms_of(&self, schema: &str, name: &str) -> Vec<String> {
        let columns = |table: &TableDef| table.histograms.iter().map(|made| made.column.clone()).collect();
        for edit in self.edits.iter().rev() {
            match edit {
                Edit::Put(Object::Table(table)) if table.schema == schema && table.name == name => {
                    return columns(table);
                }
                Edit::Drop(key) if *key == ObjectKey::table(schema, name) => return Vec::new(),
                _ => {}
            }
        }
        let table = self.dictionary.find_table(schema, name);
        table.map_or(Vec::new(), |table| columns(&table))
    }

    /// Makes the change durable, then visible to statements that begin afterwards.
    pub fn commit(self) -> Result<()> {
        self.ddl.commit()?;
        if let Some(tables) = self.temporary {
            for edit in self.edits {
                match edit {
                    Edit::Put(Object::Table(table)) => tables.put(*table),
                    Edit::Drop(key) => drop(tables.remove(&key.schema, &key.name)),
                    Edit::Put(Object::Schema(_) | Object::Program(_)) => {}
                }
            }
            return Ok(());
        }
        if self.edits.is_empty() {
            return Ok(());
        }
        let mut names = self.dictionary.names.write();
        let version = self.dictionary.epoch.load(Ordering::Relaxed) + 1;
        for edit in self.edits {
            let for_all = match &edit {
                Edit::Put(Object::Table(table)) => {
                    names.concerns_others(&table.schema, &table.name, Some(&**table))
                }
                Edit::Drop(key) if key.namespace == Namespace::Table => {
                    names.concerns_others(&key.schema, &key.name, None)
                }
                Edit::Put(Object::Schema(_) | Object::Program(_)) | Edit::Drop(_) => true,
            };
            if for_all {
                names.changed_for_all = version;
            }
            match edit {
                Edit::Put(Object::Schema(def)) => match names.schemas.get_mut(&def.name) {
                    Some(schema) => schema.def = Arc::new(def),
                    None => {
                        names.schemas.insert(def.name.clone(), Schema::new(def));
                    }
                },
                Edit::Put(Object::Program(program)) => names.put_program(program),
                Edit::Put(Object::Table(mut table)) => {
                    table.version = version;
                    table.lock = self.dictionary.locks.table(&table.schema, &table.name);
                    names.put_table(Arc::new(*table));
                }
                Edit::Drop(key) => names.remove(&key),
            }
        }
        self.dictionary.epoch.store(version, Ordering::Release);
        Ok(())
    }
}

//! CREATE TABLE.

use super::foreign_key::{self, Shape};
use super::{DdlContext, check, check_table_name, column, generated, index};
use crate::accounts::Privileges;
use crate::context::answer::Answer;
use crate::context::state::clock_micros;
use crate::dictionary::{
    ColumnDef, DefinitionChange, ForeignKeyDef, IndexDef, StatisticsOptions, TableDef, TableOptions,
    names_equal,
};
use crate::error::{Result, SqlError, er};
use crate::expr::collation;
use crate::mdl::TableLock;
use crate::parse::ast::{self, CreateTable, IndexKind};
use crate::types::{Collation, SqlMode};
use crate::variables::EngineName;
use tidemark_engine::{TableId, failpoint};

impl DdlContext<'_> {
    pub(super) fn create_table(&self, create: &CreateTable) -> Result<Answer> {
        if create.temporary {
            return self.create_temporary(create);
        }
        let (schema, name) = self.may_create(create, Privileges::CREATE)?;
        let dictionary = self.state.database.dictionary();
        let database = dictionary
            .schema(schema)
            .ok_or_else(|| SqlError::unknown_database(schema))?;
        if !create.if_not_exists || dictionary.find_table(schema, name).is_none() {
            self.own_new_table(create, schema, name)?;
        }
        if self.is_taken(create, schema, name)? {
            return Ok(Answer::ok());
        }
        let table = match &create.like {
            Some(source) => self.table_like(source, name)?,
            None => self.define(create, schema, database.collation, Vec::new())?,
        };
        let mut table = self.placed(table, schema, name)?;
        let mut change = self.change()?;
        let engine_schema = index::table_schema(&table.columns, &table.indexes);
        table.id = change.ddl.create_table(&engine_schema)?;
        begin_counter(&change, create, table.id)?;
        change.put_table(table)?;
        failpoint::reach("definitions");
        change.commit()?;
        Ok(Answer::ok())
    }

    /// The database and name of a table that the account may make. Errors 1044, 1142, and 1235 for forms that are not there.
    pub(super) fn may_create<'c>(
        &'c self,
        create: &'c CreateTable,
        privileges: Privileges,
    ) -> Result<(&'c str, &'c str)> {
        let (schema, name) = self.target(&create.name)?;
        check_table_name(name)?;
        self.state.require_all(privileges, schema, name)?;
        if create.partitioned {
            return Err(SqlError::not_supported("PARTITION BY"));
        }
        Ok((schema, name))
    }

    /// Whether there is a table of the name, which IF NOT EXISTS makes a note of: otherwise error 1050.
    pub(super) fn is_taken(&self, create: &CreateTable, schema: &str, name: &str) -> Result<bool> {
        let dictionary = self.state.database.dictionary();
        if dictionary.find_table(schema, name).is_none() {
            return Ok(false);
        }
        if !create.if_not_exists {
            return Err(SqlError::table_exists(name));
        }
        self.note(SqlError::table_exists(name));
        Ok(true)
    }

    /// The definition under its name, if nothing that is there is in its way.
    pub(super) fn placed(&self, mut table: TableDef, schema: &str, name: &str) -> Result<TableDef> {
        self.require_primary(&table.indexes)?;
        self.names_are_free(schema, name, &table.options.checks)?;
        table.schema = schema.to_owned();
        table.name = name.to_owned();
        self.foreign_key_names_are_free(schema, name, &table.foreign_keys)?;
        self.adopt_children(Shape::of(&table))?;
        Ok(table)
    }

    /// Owns the name of a table to be made, those that it refers to, and those of the tables that wait for it.
    pub(super) fn own_new_table(&self, create: &CreateTable, schema: &str, name: &str) -> Result<()> {
        let children = self.state.database.dictionary().children(schema, name);
        let mut names = vec![(schema, name)];
        names.extend(self.parent_names(foreign_keys(create), schema)?);
        names.extend(
            children
                .iter()
                .map(|child| (child.schema.as_str(), child.name.as_str())),
        );
        self.own_tables(&names)
    }

    /// Error 3750 for a table without a primary key, where `sql_require_primary_key` asks for one.
    pub(super) fn require_primary(&self, indexes: &[IndexDef]) -> Result<()> {
        let has_primary = indexes
            .iter()
            .any(|index| names_equal(&index.name, index::PRIMARY));
        if has_primary || !self.state.settings.sql_require_primary_key {
            return Ok(());
        }
        Err(SqlError::new(
            er::TABLE_WITHOUT_PK,
            "Unable to create or change a table without a primary key, when the system variable \
             'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid this \
             message. Note that tables without a primary key can cause performance problems in row-based replication, \
             so please consult your DBA before changing this setting.",
        ))
    }

    /// A table of another's definition.
    pub(super) fn table_like(&self, source: &ast::ObjectName, new_name: &str) -> Result<TableDef> {
        let (schema, name) = self.target(source)?;
        self.state.require_in_part_of(Privileges::SELECT, source)?;
        let mut table = TableDef::clone(&*self.table(schema, name)?);
        table.histograms.clear();
        index::number(&mut table.indexes);
        table.options.checks = check::copied(&table.options.checks, new_name);
        table.options.created = now_s();
        table.foreign_keys.clear();
        table.temporary = false;
        Ok(table)
    }

    /// The definition of a new table, without its name. `selected` are the columns of the query that fills it.
    pub(super) fn define(
        &self,
        create: &CreateTable,
        schema: &str,
        database: Collation,
        selected: Vec<ColumnDef>,
    ) -> Result<TableDef> {
        let options = &create.options;
        self.check_engine(options, &create.name.name, true)?;
        let collation = collation(options.charset.as_deref(), options.collation.as_deref())?;
        let collation = collation.unwrap_or(database);
        if create.columns.is_empty() && selected.is_empty() {
            return Err(SqlError::new(
                er::TABLE_MUST_HAVE_COLUMNS,
                "A table must have at least 1 column",
            ));
        }
        let mut columns: Vec<ColumnDef> = Vec::with_capacity(create.columns.len());
        for written in &create.columns {
            columns.push(column::column(self.state, written, collation)?);
        }
        let mut columns = with_selected(columns, selected);
        let says_null = |column: &ColumnDef| {
            let mut written = create.columns.iter();
            written.any(|c| c.nullable == Some(true) && names_equal(&c.name, &column.name))
        };
        let explicit_null: Vec<bool> = columns.iter().map(says_null).collect();
        let mut indexes: Vec<IndexDef> = Vec::new();
        let mut places = Vec::new();
        let keys = keys_in_order(create);
        for (place, def) in &keys {
            let given = keys.iter().filter_map(|(_, other)| other.name.as_deref());
            let names: Vec<&str> = given
                .chain(indexes.iter().map(|index| index.name.as_str()))
                .collect();
            let def = self.functional_parts(def, &mut columns, &names)?;
            let index = index::index(&def, &mut columns, &explicit_null, &indexes)?;
            if let Some(note) = index::note_of_method(&def) {
                self.state.warnings.note(note);
            }
            let place_named = (schema, create.name.name.as_str());
            if let Some(warning) = index::warning_of_duplicate(&index, &indexes, place_named) {
                self.warn(warning);
            }
            indexes.push(index);
            places.push(*place);
        }
        let mut keys = define_foreign_keys(create, schema, &mut columns, (&mut indexes, &mut places))?;
        index::check_table(&columns, &indexes)?;
        index::arrange(&mut indexes, &columns);
        index::number(&mut indexes);
        foreign_key::sort(&mut keys);
        let child = Shape {
            schema,
            name: &create.name.name,
            columns: &columns,
            indexes: &indexes,
        };
        for key in &mut keys {
            self.join_parent(key, child)?;
        }
        let checks = check::checks(create)?;
        self.check_expressions(&columns, &indexes, &checks)?;
        foreign_key::check_checks(&keys, &columns, &checks)?;
        generated::check_foreign_keys(&keys, &columns)?;
        Ok(TableDef {
            lock: TableLock::private(),
            schema: String::new(),
            name: String::new(),
            id: TableId(0),
            version: 0,
            columns,
            indexes,
            options: TableOptions {
                collation,
                comment: table_comment(options, &create.name.name)?,
                row_format: options.row_format.clone().unwrap_or_default().to_uppercase(),
                created: now_s(),
                checks,
                statistics: of_options(options),
            },
            foreign_keys: keys,
            temporary: false,
            view: None,
            histograms: Vec::new(),
        })
    }

    /// Checks ENGINE= of a new table or one that is altered. In place of other engines InnoDB is used, with warning 1266; an unknown name
    /// is error 1286, or where substitution is allowed a warning.
    pub(super) fn check_engine(&self, options: &ast::TableOptions, table: &str, is_new: bool) -> Result<()> {
        let Some(engine) = &options.engine else {
            return Ok(());
        };
        match EngineName::of(engine) {
            EngineName::InnoDb => return Ok(()),
            EngineName::Substituted => {}
            EngineName::PerformanceSchema if is_new => {
                let text = "Invalid performance_schema usage.";
                return Err(SqlError::new(er::WRONG_PERFSCHEMA_USAGE, text));
            }
            EngineName::PerformanceSchema => {
                let text = format!("Table storage engine for '{table}' doesn't have this option");
                return Err(SqlError::new(er::ILLEGAL_HA, text));
            }
            EngineName::Unknown => {
                let unknown = SqlError::unknown_storage_engine(engine);
                if self.state.settings.sql_mode.has(SqlMode::NO_ENGINE_SUBSTITUTION) {
                    return Err(unknown);
                }
                self.warn(unknown);
                if !is_new {
                    return Ok(());
                }
            }
        }
        self.warn(SqlError::new(
            er::WARN_USING_OTHER_HANDLER,
            format!("Using storage engine InnoDB for table '{table}'"),
        ));
        Ok(())
    }
}

/// The columns of a table with a query: those that are only written, then the query's. A column of the query that is written
/// too is of the written type.
fn with_selected(written: Vec<ColumnDef>, selected: Vec<ColumnDef>) -> Vec<ColumnDef> {
    let is_selected = |column: &ColumnDef| {
        selected
            .iter()
            .any(|other| names_equal(&other.name, &column.name))
    };
    let (mut taken_over, mut columns): (Vec<_>, Vec<_>) = written.into_iter().partition(is_selected);
    for column in selected {
        let at = taken_over
            .iter()
            .position(|other| names_equal(&other.name, &column.name));
        columns.push(match at {
            Some(at) => {
                let mut written = taken_over.remove(at);
                written.name = column.name;
                written.explicit_collation |= written.ty.is_string() && !written.ty.is_binary_string();
                if written.comment.is_empty() {
                    written.comment = column.comment;
                }
                written
            }
            None => column,
        });
    }
    columns.append(&mut taken_over);
    columns
}

/// `AUTO_INCREMENT = n` of a new table.
pub(super) fn begin_counter(change: &DefinitionChange, create: &CreateTable, id: TableId) -> Result<()> {
    if let Some(start) = create.options.auto_increment.filter(|start| *start > 1) {
        change.ddl.table(id)?.auto_increment_set(start)?;
    }
    Ok(())
}

pub(super) fn now_s() -> u64 {
    (clock_micros() / 1_000_000) as u64
}

/// Error 1628.
pub(super) fn table_comment(options: &ast::TableOptions, table: &str) -> Result<String> {
    let comment = options.comment.clone().unwrap_or_default();
    if comment.chars().count() > 2048 {
        return Err(SqlError::new(
            er::TOO_LONG_TABLE_COMMENT,
            format!("Comment for table '{table}' is too long (max = 2048)"),
        ));
    }
    Ok(comment)
}

/// The keys written on a column, as table-level definitions.
pub(super) fn column_keys(column: &ast::ColumnDef) -> impl Iterator<Item = ast::IndexDef> {
    let primary = column.primary.then_some(IndexKind::Primary);
    let unique = column.unique.then_some(IndexKind::Unique);
    primary.into_iter().chain(unique).map(|kind| ast::IndexDef {
        kind,
        name: None,
        parts: vec![ast::IndexPart {
            column: column.name.clone(),
            length: None,
            descending: false,
            ordered: false,
            expression: None,
        }],
        comment: None,
        invisible: false,
        method: None,
    })
}

/// Where a key stands in CREATE TABLE, as far as the order of the indexes depends on it: the primary key before all, keys
/// written on columns, then the table's own, each behind the foreign keys in front of it.
type Place = (u8, usize, u8);

/// Keys of columns and of the table in order of appearance, the primary key before all, since it makes its columns
/// NOT NULL.
fn keys_in_order(create: &CreateTable) -> Vec<(Place, ast::IndexDef)> {
    let place = |group, at, def: &ast::IndexDef| match def.kind {
        IndexKind::Primary => (0, 0, 0),
        _ => (group, at, 1),
    };
    let mut keys = Vec::new();
    for (at, def) in create.columns.iter().enumerate() {
        keys.extend(column_keys(def).map(|key| (place(1, at, &key), key)));
    }
    for (at, def) in create.indexes.iter().enumerate() {
        keys.push((place(2, at, def), def.clone()));
    }
    keys.sort_by_key(|(place, _)| *place);
    keys
}

/// Foreign keys of columns and of the table, in order of appearance.
fn placed_foreign_keys(create: &CreateTable) -> impl Iterator<Item = (Place, &ast::ForeignKey)> {
    let columns = create.columns.iter().enumerate();
    let on_columns = columns.filter_map(|(at, column)| Some(((1, at, 0), column.references.as_ref()?)));
    let own = create.foreign_keys.iter();
    on_columns.chain(own.map(|key| ((2, key.indexes_before, 0), key)))
}

/// The foreign keys of a new table. The indexes that they need come to the others, each in its place.
fn define_foreign_keys(
    create: &CreateTable,
    schema: &str,
    columns: &mut [ColumnDef],
    (indexes, places): (&mut Vec<IndexDef>, &mut Vec<Place>),
) -> Result<Vec<ForeignKeyDef>> {
    let mut keys: Vec<ForeignKeyDef> = Vec::new();
    let mut next = 1;
    for (place, written) in placed_foreign_keys(create) {
        let child = Shape {
            schema,
            name: &create.name.name,
            columns,
            indexes,
        };
        let key = foreign_key::define(written, child, &keys, &mut next)?;
        if let Some(index) = foreign_key::generated_index(written, &key, columns, indexes)? {
            for at in (0..indexes.len()).rev() {
                if foreign_key::is_superseded(&indexes[at], &key.columns) {
                    indexes.remove(at);
                    places.remove(at);
                }
            }
            let at = places.partition_point(|other| *other <= place);
            indexes.insert(at, index);
            places.insert(at, place);
        }
        keys.push(key);
    }
    Ok(keys)
}

/// Whether a new table has foreign keys.
pub(super) fn has_foreign_keys(create: &CreateTable) -> bool {
    foreign_keys(create).next().is_some()
}

fn foreign_keys(create: &CreateTable) -> impl Iterator<Item = &ast::ForeignKey> {
    placed_foreign_keys(create).map(|(_, key)| key)
}

fn of_options(given: &ast::TableOptions) -> StatisticsOptions {
    let mut statistics = StatisticsOptions::default();
    statistics.take(given);
    statistics
}

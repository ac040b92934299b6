//! A definition being altered: what ALTER TABLE's actions are applied to. It remembers where each column and index came from.

use super::super::foreign_key::{self, Shape};
use super::super::{check, column, index};
use super::demands::Demands;
use crate::dictionary::{ColumnDef, ForeignKeyDef, IndexDef, TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::expr::collation as collation_of;
use crate::parse::ast::{self, AlterAction, AlterLock};
use crate::types::TypeKind;

/// A definition being altered.
pub(super) struct Draft {
    /// The table's name before.
    pub name: String,
    pub columns: Vec<ColumnDef>,
    /// For each column: its position in the old table, if it was there.
    pub origins: Vec<Option<usize>>,
    /// Which columns were given as NULL explicitly.
    pub explicit_null: Vec<bool>,
    pub indexes: Vec<IndexDef>,
    /// For each index: the engine's number of the old index it is, if it is one.
    pub index_origins: Vec<Option<usize>>,
    pub options: crate::dictionary::TableOptions,
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// The names of those among them that are new.
    pub new_foreign_keys: Vec<String>,
    pub auto_increment: Option<u64>,
    pub rename: Option<(String, String)>,
    /// A copy even if nothing asks for it: `ENGINE=InnoDB`, `FORCE`.
    pub rebuild: bool,
    /// The rows have to pass a CHECK that comes, or is enforced from now on: a copy tests them.
    pub tests_checks: bool,
    pub demands: Demands,
}

impl Draft {
    pub fn of(table: &TableDef, demands: Demands) -> Draft {
        Draft {
            columns: table.columns.clone(),
            origins: (0..table.columns.len()).map(Some).collect(),
            explicit_null: vec![false; table.columns.len()],
            indexes: table.indexes.clone(),
            index_origins: table.indexes.iter().map(|index| Some(index.number)).collect(),
            name: table.name.clone(),
            options: table.options.clone(),
            foreign_keys: table.foreign_keys.clone(),
            new_foreign_keys: Vec::new(),
            auto_increment: None,
            rename: None,
            rebuild: false,
            tests_checks: false,
            demands,
        }
    }

    /// The rows are copied whatever is changed, and no other session could be kept off them.
    pub fn copies_anyway(&mut self) {
        self.rebuild = true;
        self.demands.lock = AlterLock::Default;
    }

    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| !column.is_key_part() && names_equal(&column.name, name))
    }

    pub fn index(&self, name: &str) -> Option<usize> {
        self.indexes
            .iter()
            .position(|index| names_equal(&index.name, name))
    }

    pub fn shape<'a>(&'a self, schema: &'a str) -> Shape<'a> {
        Shape {
            schema,
            name: &self.name,
            columns: &self.columns,
            indexes: &self.indexes,
        }
    }

    /// The positions of columns that constraints keep.
    pub fn foreign_key_columns(&mut self) -> impl Iterator<Item = &mut usize> {
        self.foreign_keys.iter_mut().flat_map(|key| &mut key.columns)
    }

    /// Takes a column out, and out of the indexes; an index that loses its last column goes. No foreign key has it.
    pub fn remove_column(&mut self, at: usize) {
        self.columns.remove(at);
        self.origins.remove(at);
        self.explicit_null.remove(at);
        for i in (0..self.indexes.len()).rev() {
            let index = &mut self.indexes[i];
            let before = index.parts.len();
            index.parts.retain(|part| part.column != at);
            if index.parts.is_empty() {
                self.indexes.remove(i);
                self.index_origins.remove(i);
                continue;
            }
            if index.parts.len() != before {
                self.index_origins[i] = None;
            }
            for part in &mut index.parts {
                if part.column > at {
                    part.column -= 1;
                }
            }
        }
        for column in self.foreign_key_columns().filter(|column| **column > at) {
            *column -= 1;
        }
    }

    /// Whether nothing but the table's name differs from the old definition.
    pub fn same_but_for_the_name(&self, old: &TableDef) -> bool {
        format!("{:?}{:?}{:?}", self.columns, self.indexes, self.options)
            == format!("{:?}{:?}{:?}", old.columns, old.indexes, old.options)
            && self.foreign_keys == old.foreign_keys
            && self.auto_increment.is_none()
    }

    pub fn check(&self, name: &str) -> Option<usize> {
        let mut checks = self.options.checks.iter();
        checks.position(|check| names_equal(&check.name, name))
    }

    /// Adds a constraint, which the rows there are have to pass.
    pub fn add_check(&mut self, written: &ast::CheckDef, column: Option<&str>, old: &TableDef) -> Result<()> {
        let check = check::check(written, column, &old.name, &self.options.checks)?;
        self.options.checks.push(check);
        check::sort(&mut self.options.checks);
        self.tests_checks |= written.enforced;
        Ok(())
    }

    /// Takes the functional key parts out that no index has any more.
    pub fn drop_key_parts(&mut self) {
        for at in (0..self.columns.len()).rev() {
            let mut parts = self.indexes.iter().flat_map(|index| &index.parts);
            if self.columns[at].is_key_part() && !parts.any(|part| part.column == at) {
                self.remove_column(at);
            }
        }
    }

    /// Adds an index that is to be built.
    pub fn push_index(&mut self, index: IndexDef) {
        self.indexes.push(index);
        self.index_origins.push(None);
    }

    /// Adds an index made for a foreign key of these columns, in place of those that it makes superfluous. One of the same
    /// columns gets another name and is not built again.
    pub fn replace_generated(&mut self, index: IndexDef, columns: &[usize]) {
        let mut origin = None;
        for at in (0..self.indexes.len()).rev() {
            if foreign_key::is_superseded(&self.indexes[at], columns) {
                let same = self.indexes[at].parts.len() == index.parts.len();
                self.indexes.remove(at);
                let from = self.index_origins.remove(at);
                origin = origin.or(from.filter(|_| same));
            }
        }
        self.indexes.push(index);
        self.index_origins.push(origin);
    }

    /// Drops the indexes that were made for foreign keys and that a new one makes superfluous.
    pub fn drop_superseded_indexes(&mut self) {
        for at in (0..self.indexes.len()).rev() {
            let index = &self.indexes[at];
            let columns: Vec<usize> = index.parts.iter().map(|part| part.column).collect();
            let superseded = index.generated
                && self.index_origins[at].is_some()
                && (0..self.indexes.len()).any(|other| {
                    self.index_origins[other].is_none()
                        && self.indexes[other].can_serve(&columns)
                        && self.indexes[other].array_part(&self.columns).is_none()
                });
            if superseded {
                self.indexes.remove(at);
                self.index_origins.remove(at);
            }
        }
    }

    /// `DROP INDEX`; `PRIMARY` is the primary key.
    pub fn drop_index(&mut self, name: &str) -> Result<()> {
        let at = self.index(name).ok_or_else(|| SqlError::cannot_drop(name))?;
        self.indexes.remove(at);
        self.index_origins.remove(at);
        Ok(())
    }

    /// `RENAME INDEX`, all of them at once, so that names may be swapped. The indexes are those that stay.
    pub fn rename_indexes(&mut self, actions: &[AlterAction], table: &str) -> Result<()> {
        let renames = actions.iter().filter_map(|action| match action {
            AlterAction::RenameIndex { old, new } => Some((old, new)),
            _ => None,
        });
        let renames: Vec<(&String, &String)> = renames.collect();
        for (from, new) in &renames {
            column::check_identifier(new)?;
            if names_equal(from, index::PRIMARY) || names_equal(new, index::PRIMARY) {
                return Err(SqlError::new(
                    er::WRONG_NAME_FOR_INDEX,
                    format!("Incorrect index name '{from}'"),
                ));
            }
        }
        let mut found = vec![false; renames.len()];
        for index in &mut self.indexes {
            let at = (0..renames.len()).find(|at| !found[*at] && names_equal(renames[*at].0, &index.name));
            if let Some(at) = at {
                found[at] = true;
                index.name.clone_from(renames[at].1);
            }
        }
        match found.iter().position(|found| !found) {
            Some(at) => Err(no_such_key(renames[at].0, table)),
            None => Ok(()),
        }
    }

    /// Error 1061 if two indexes have one name, which renaming leads to.
    pub fn check_index_names(&self) -> Result<()> {
        for (at, index) in self.indexes.iter().enumerate() {
            let mut before = self.indexes[..at].iter();
            if before.any(|other| names_equal(&other.name, &index.name)) {
                return Err(SqlError::duplicate_key_name(&index.name));
            }
        }
        Ok(())
    }

    /// `CONVERT TO CHARACTER SET`: of the table and of every text column.
    pub fn convert_to(&mut self, charset: &str, collation: Option<&str>) -> Result<()> {
        let given = collation_of(Some(charset), collation)?;
        let collation = given.unwrap_or(self.options.collation);
        self.options.collation = collation;
        for column in &mut self.columns {
            if column.ty.is_string() && column.ty.kind != TypeKind::Json && !column.ty.is_binary_string() {
                column.ty.collation = collation;
                column.explicit_collation = false;
            }
        }
        Ok(())
    }

    /// `DROP CHECK`
    pub fn drop_check(&mut self, name: &str) -> Result<()> {
        let at = self.check(name).ok_or_else(|| check::not_found(name))?;
        self.options.checks.remove(at);
        Ok(())
    }

    /// `ALTER CHECK … [NOT] ENFORCED`; a check that is enforced from now on is held against the rows.
    pub fn enforce_check(&mut self, name: &str, enforced: bool) -> Result<()> {
        let at = self.check(name).ok_or_else(|| check::not_found(name))?;
        let check = &mut self.options.checks[at];
        self.tests_checks |= enforced && !check.enforced;
        check.enforced = enforced;
        Ok(())
    }

    /// `ALTER INDEX … VISIBLE | INVISIBLE`
    pub fn show_index(&mut self, name: &str, visible: bool, table: &str) -> Result<()> {
        let at = self.index(name).ok_or_else(|| no_such_key(name, table))?;
        if names_equal(name, index::PRIMARY) && !visible {
            return Err(index::invisible_primary());
        }
        self.indexes[at].visible = visible;
        Ok(())
    }

    /// Whether the primary key has a column.
    pub fn is_in_primary(&self, column: &str) -> bool {
        let primary = self.index(index::PRIMARY).map(|at| &self.indexes[at]);
        let named = self.column(column);
        primary.is_some_and(|index| index.parts.iter().any(|part| Some(part.column) == named))
    }
}

/// Error 1176.
pub(super) fn no_such_key(name: &str, table: &str) -> SqlError {
    SqlError::new(
        er::KEY_DOES_NOT_EXIST,
        format!("Key '{name}' doesn't exist in table '{table}'"),
    )
}

/// Error 1054 as ALTER words it.
pub(super) fn unknown_column_in(column: &str, table: &str) -> SqlError {
    SqlError::new(er::BAD_FIELD, format!("Unknown column '{column}' in '{table}'"))
}

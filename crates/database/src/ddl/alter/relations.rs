//! Foreign keys in ALTER TABLE: constraints that come and go, what constraints hold fast of either side, and what the tables
//! around the altered one have to learn.
//!
//! Two kinds of tables stand around it: those that it refers to, its *parents*, and those that refer to it, its *children*.
//! A parent is locked when a constraint is added, so that no transaction is at work on it that knows nothing of that; a
//! child, where its own definition changes: it names the parent and the parent's columns.

use super::super::DdlContext;
use super::super::foreign_key::{self, Moves, Shape};
use super::draft::Draft;
use crate::dictionary::{DefinitionChange, ForeignKeyDef, IndexDef, TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{self, AlterAction};
use std::sync::Arc;

/// The constraint that an action adds, be it with a column.
fn added(action: &AlterAction) -> Option<&ast::ForeignKey> {
    match action {
        AlterAction::AddForeignKey(key) => Some(key),
        AlterAction::AddColumn { column, .. }
        | AlterAction::ModifyColumn { column, .. }
        | AlterAction::ChangeColumn { column, .. } => column.references.as_ref(),
        _ => None,
    }
}

/// Whether `DROP CONSTRAINT` means one of the table's foreign keys.
pub(super) fn names_foreign_key(table: &TableDef, name: &str) -> bool {
    let mut keys = table.foreign_keys.iter();
    keys.any(|key| names_equal(&key.name, name))
}

/// Whether the children have to learn a new name: the table's, or one of a column's.
fn renames(actions: &[AlterAction]) -> bool {
    actions.iter().any(|action| match action {
        AlterAction::RenameTo(_) | AlterAction::RenameColumn { .. } => true,
        AlterAction::ChangeColumn { old, column, .. } => old != &column.name,
        _ => false,
    })
}

impl DdlContext<'_> {
    /// Owns the tables of ALTER TABLE, `names`, of which the first is altered, with the parents and children that it
    /// concerns.
    pub(super) fn own_with_relatives(&self, names: &[(&str, &str)], actions: &[AlterAction]) -> Result<()> {
        let (schema, name) = names[0];
        let target = names[names.len() - 1];
        let parents = self.parent_names(actions.iter().filter_map(added), schema)?;
        let dictionary = self.state.database.dictionary();
        let mut children: Vec<Arc<TableDef>> = Vec::new();
        if renames(actions) {
            children.extend(dictionary.children(schema, name));
            children.extend(dictionary.children(target.0, target.1));
        }
        let mut all = [names, &parents].concat();
        let children = children.iter();
        all.extend(children.map(|child| (child.schema.as_str(), child.name.as_str())));
        self.own_tables(&all)
    }

    /// `DROP FOREIGN KEY`, and `DROP CONSTRAINT` of one.
    pub(super) fn drop_foreign_key(&self, draft: &mut Draft, action: &AlterAction) -> Result<()> {
        let position = |draft: &Draft, name: &str| {
            let mut keys = draft.foreign_keys.iter();
            keys.position(|key| names_equal(&key.name, name))
        };
        match action {
            AlterAction::DropForeignKey(name) => {
                let at = position(draft, name).ok_or_else(|| SqlError::cannot_drop(name))?;
                draft.foreign_keys.remove(at);
            }
            AlterAction::DropConstraint(name) => {
                if let Some(at) = position(draft, name) {
                    draft.foreign_keys.remove(at);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the constraints that come with the statement, and the indexes that they need.
    pub(super) fn add_foreign_keys(
        &self,
        draft: &mut Draft,
        actions: &[AlterAction],
        old: &TableDef,
    ) -> Result<()> {
        let mut next = foreign_key::next_number(&old.name, &draft.foreign_keys);
        for written in actions.iter().filter_map(added) {
            let shape = draft.shape(&old.schema);
            let key = foreign_key::define(written, shape, &draft.foreign_keys, &mut next)?;
            let made = foreign_key::generated_index(written, &key, &mut draft.columns, &draft.indexes)?;
            if let Some(index) = made {
                draft.replace_generated(index, &key.columns);
            }
            draft.new_foreign_keys.push(key.name.clone());
            draft.foreign_keys.push(key);
        }
        let mut keys = std::mem::take(&mut draft.foreign_keys);
        let new = keys
            .iter_mut()
            .filter(|key| draft.new_foreign_keys.contains(&key.name));
        let joined = new.map(|key| self.join_parent(key, draft.shape(&old.schema)));
        let joined: Result<()> = joined.collect();
        foreign_key::sort(&mut keys);
        draft.foreign_keys = keys;
        joined
    }

    /// What the constraints of the altered table, and those that lead to it, need of it as it will be.
    pub(super) fn hold_relations(
        &self,
        draft: &mut Draft,
        old: &TableDef,
        target: (&str, &str),
    ) -> Result<()> {
        draft.drop_superseded_indexes();
        foreign_key::check_checks(&draft.foreign_keys, &draft.columns, &draft.options.checks)?;
        for key in &draft.foreign_keys {
            foreign_key::check_child(key, &draft.columns)?;
            let serves = |index: &IndexDef| {
                index.begins_with(&key.columns) && index.array_part(&draft.columns).is_none()
            };
            if !draft.indexes.iter().any(serves) {
                let was = old.foreign_keys.iter().find(|was| was.name == key.name);
                let gone = was.and_then(|was| old.index_of_columns(&was.columns));
                return Err(needed_index(gone));
            }
        }
        let dictionary = self.state.database.dictionary();
        for key in &draft.foreign_keys {
            // A parent that is there goes on being compatible.
            if !key.refers_to(&old.schema, &old.name)
                && let Some(parent) = self.find_base_table(&key.parent_schema, &key.parent)
            {
                self.hold(key, draft.shape(&old.schema), Shape::of(&parent), None)?;
            }
        }
        for child in dictionary.children(&old.schema, &old.name) {
            self.hold_child(draft, old, &child)?;
        }
        if target != (old.schema.as_str(), old.name.as_str()) {
            let (schema, name) = target;
            let parent = Shape {
                schema,
                name,
                ..draft.shape(schema)
            };
            self.adopt_children(parent)?;
        }
        draft.follow_renamed_columns(old);
        let moves = Moves::from([((old.schema.as_str(), old.name.as_str()), target)]);
        let keys = foreign_key::renamed(&draft.foreign_keys, &old.name, target.1, &moves)?;
        let free_of = if target.0 == old.schema {
            &old.name
        } else {
            target.1
        };
        self.foreign_key_names_are_free(target.0, free_of, &keys)
    }

    fn hold_child(&self, draft: &Draft, old: &TableDef, child: &TableDef) -> Result<()> {
        let own = child.schema == old.schema && child.name == old.name;
        let keys = match own {
            true => &draft.foreign_keys,
            false => &child.foreign_keys,
        };
        let shape = match own {
            true => draft.shape(&old.schema),
            false => Shape::of(child),
        };
        for key in keys.iter().filter(|key| key.refers_to(&old.schema, &old.name)) {
            if own && draft.new_foreign_keys.contains(&key.name) {
                continue;
            }
            // By the names that the referenced columns will have.
            let mut following = key.clone();
            for name in &mut following.parent_columns {
                let Some(was) = old.column(name) else { continue };
                match draft.origins.iter().position(|origin| *origin == Some(was)) {
                    Some(at) => name.clone_from(&draft.columns[at].name),
                    None => return Err(needed_column(name, key, &child.name)),
                }
            }
            self.hold(&following, shape, draft.shape(&old.schema), Some(old))?;
        }
        Ok(())
    }

    /// Holds an existing constraint against its parent; error 1553 if the parent, `before`, has lost the index.
    fn hold(
        &self,
        key: &ForeignKeyDef,
        child: Shape,
        parent: Shape,
        before: Option<&TableDef>,
    ) -> Result<()> {
        let mut rules = self.foreign_key_rules();
        // What was allowed when it was made stays so.
        rules.standard_keys = false;
        rules.collations = rules.checks;
        let held = foreign_key::check_parent(key, child, parent, rules);
        match (held, before) {
            (Err(error), Some(before)) if error.code == er::FK_NO_INDEX_PARENT => {
                let positions = key.parent_columns.iter().map(|name| parent.column(name));
                let positions: Vec<usize> = positions.flatten().collect();
                Err(needed_index(foreign_key::index_before(
                    before, parent, &positions,
                )))
            }
            // There was nothing to be held.
            (Err(error), None) if error.code != er::FK_INCOMPATIBLE_COLUMNS => Ok(()),
            (held, _) => held,
        }
    }

    /// Gives the children the parent's new name and those of its columns. `origins` says where the columns come from.
    pub(super) fn tell_children(
        &self,
        change: &mut DefinitionChange<'_>,
        old: &TableDef,
        new: &TableDef,
        origins: &[Option<usize>],
    ) -> Result<()> {
        let name_of = |name: &str| {
            let was = old.column(name)?;
            let at = origins.iter().position(|origin| *origin == Some(was))?;
            Some(new.columns[at].name.clone())
        };
        for child in self.state.database.dictionary().children(&old.schema, &old.name) {
            if child.schema == old.schema && child.name == old.name {
                continue;
            }
            let mut told = TableDef::clone(&child);
            let to_old = |key: &&mut ForeignKeyDef| key.refers_to(&old.schema, &old.name);
            for key in told.foreign_keys.iter_mut().filter(to_old) {
                key.parent_schema.clone_from(&new.schema);
                key.parent.clone_from(&new.name);
                for name in &mut key.parent_columns {
                    *name = name_of(name).unwrap_or_else(|| std::mem::take(name));
                }
            }
            if told.foreign_keys != child.foreign_keys {
                change.put_table(told)?;
            }
        }
        Ok(())
    }
}

impl Draft {
    /// Constraints of a table that refers to itself follow its columns' names.
    fn follow_renamed_columns(&mut self, old: &TableDef) {
        let (new, columns, origins) = (&self.new_foreign_keys, &self.columns, &self.origins);
        let keys = self
            .foreign_keys
            .iter_mut()
            .filter(|key| !new.contains(&key.name));
        for key in keys.filter(|key| key.refers_to(&old.schema, &old.name)) {
            for name in &mut key.parent_columns {
                let was = old.column(name);
                if let Some(at) = origins
                    .iter()
                    .position(|origin| origin.is_some() && *origin == was)
                {
                    name.clone_from(&columns[at].name);
                }
            }
        }
    }
}

/// Error 1829.
fn needed_column(column: &str, key: &ForeignKeyDef, child: &str) -> SqlError {
    SqlError::new(
        er::FK_COLUMN_CANNOT_DROP_CHILD,
        format!(
            "Cannot drop column '{column}': needed in a foreign key constraint '{}' of table '{child}'",
            key.name
        ),
    )
}

/// Error 1553.
fn needed_index(index: Option<&IndexDef>) -> SqlError {
    let name = index.map_or("", |index| &index.name);
    SqlError::new(
        er::DROP_INDEX_FK,
        format!("Cannot drop index '{name}': needed in a foreign key constraint"),
    )
}

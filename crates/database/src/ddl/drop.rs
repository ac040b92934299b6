//! DROP, TRUNCATE and RENAME TABLE.

use super::foreign_key::{Moves, Shape};
use super::{DdlContext, check, check_table_name, foreign_key};
use crate::accounts::{Privileges, table_denied};
use crate::context::answer::Answer;
use crate::dictionary::{TableDef, virtual_schema, virtual_tables};
use crate::error::{Result, SqlError, er};
use crate::information_schema;
use crate::parse::ast::ObjectName;
use std::collections::HashMap;
use std::sync::Arc;

impl DdlContext<'_> {
    pub(super) fn drop_tables(
        &self,
        tables: &[ObjectName],
        if_exists: bool,
        temporary: bool,
    ) -> Result<Answer> {
        let mut names = Vec::with_capacity(tables.len());
        for table in tables {
            let (schema, name) = self.target(table)?;
            if !temporary && self.temporary(schema, name).is_none() {
                self.state.require_table(Privileges::DROP, "DROP", schema, name)?;
            }
            if names.contains(&(schema, name)) {
                return Err(SqlError::not_unique_table(name));
            }
            names.push((schema, name));
        }
        let (own, names): (Vec<_>, Vec<_>) = names
            .into_iter()
            .partition(|(schema, name)| self.temporary(schema, name).is_some());
        if !temporary {
            self.own_tables(&names)?;
        }
        let (found, missing): (Vec<_>, Vec<_>) = names
            .iter()
            .partition(|(schema, name)| !temporary && self.find_base_table(schema, name).is_some());
        self.say_missing(&missing, if_exists)?;
        if !found.is_empty() {
            self.check_droppable(&found)?;
            let dictionary = self.state.database.dictionary();
            let mut change = self.change()?;
            for (schema, name) in found {
                change.ddl.drop_table(dictionary.base_table(schema, name)?.id)?;
                change.drop_table(schema, name)?;
            }
            change.commit()?;
        }
        self.drop_temporary(&own);
        Ok(Answer::ok())
    }

    /// Error 1051 for tables that are not there, or notes under IF EXISTS.
    fn say_missing(&self, names: &[(&str, &str)], if_exists: bool) -> Result<()> {
        let missing: Vec<String> = names
            .iter()
            .map(|(schema, name)| format!("{schema}.{name}"))
            .collect();
        if if_exists {
            missing
                .iter()
                .for_each(|name| self.note(SqlError::bad_table(name)));
            return Ok(());
        }
        match missing.is_empty() {
            true => Ok(()),
            false => Err(SqlError::bad_table(&missing.join(","))),
        }
    }

    pub(super) fn truncate(&self, table: &ObjectName) -> Result<Answer> {
        let (schema, name) = self.state.resolve(table)?;
        if virtual_schema(schema) == Some("performance_schema") {
            return self.begin_anew(schema, name);
        }
        let (schema, name) = self.target(table)?;
        if let Some(old) = self.temporary(schema, name) {
            return self.truncate_table(&old);
        }
        self.state.require_table(Privileges::DROP, "DROP", schema, name)?;
        let missing = || SqlError::no_such_table(schema, name);
        self.state.database.dictionary().table(schema, name)?;
        self.own_table(schema, name)?;
        let old = self.find_base_table(schema, name).ok_or_else(missing)?;
        self.check_truncatable(schema, name)?;
        self.truncate_table(&old)
    }

    /// TRUNCATE of a table of `performance_schema`. Error 1142 for those that cannot begin anew, whoever asks.
    fn begin_anew(&self, schema: &str, name: &str) -> Result<Answer> {
        virtual_tables::table(schema, name).ok_or_else(|| SqlError::no_such_table(schema, name))?;
        self.state.require_held(Privileges::DROP, schema, name)?;
        if information_schema::begin_anew(name, self.state) {
            return Ok(Answer::ok());
        }
        let account = self.state.account();
        Err(table_denied("DROP", &account.auth.user, &account.auth.host, name))
    }

    fn truncate_table(&self, old: &TableDef) -> Result<Answer> {
        let mut change = self.change_of(old)?;
        let id = change.ddl.truncate(old.id)?;
        change.put_table(TableDef { id, ..old.clone() })?;
        change.commit()?;
        Ok(Answer::ok())
    }

    /// The pairs are carried out left to right, so that `a TO tmp, b TO a, tmp TO b` swaps two tables.
    pub(super) fn rename_tables(&self, pairs: &[(ObjectName, ObjectName)]) -> Result<Answer> {
        let mut steps = Vec::with_capacity(pairs.len());
        let mut names = Vec::new();
        for (old, new) in pairs {
            let (old, new) = (self.target(old)?, self.target(new)?);
            check_table_name(new.1)?;
            let both = Privileges::ALTER.union(Privileges::DROP);
            self.state.require_all(both, old.0, old.1)?;
            let both = Privileges::CREATE.union(Privileges::INSERT);
            self.state.require_all(both, new.0, new.1)?;
            names.extend([old, new]);
            steps.push((old, new));
        }
        let dictionary = self.state.database.dictionary();
        let children = names
            .iter()
            .flat_map(|(schema, name)| dictionary.children(schema, name));
        let children: Vec<Arc<TableDef>> = children.collect();
        let children = children
            .iter()
            .map(|child| (child.schema.as_str(), child.name.as_str()));
        self.own_tables(&[names.as_slice(), &children.collect::<Vec<_>>()].concat())?;
        // What each name leads to after the steps so far; None: nothing.
        let mut now: HashMap<(&str, &str), Option<Arc<TableDef>>> = HashMap::new();
        for name in &names {
            now.insert(*name, dictionary.find_table(name.0, name.1));
        }
        let before = now.clone();
        for (old, new) in &steps {
            if dictionary.schema(new.0).is_none() {
                return Err(SqlError::unknown_database(new.0));
            }
            if now[new].is_some() {
                return Err(SqlError::table_exists(new.1));
            }
            let moved = now.insert(*old, None).flatten();
            let moved = moved.ok_or_else(|| SqlError::no_such_table(old.0, old.1))?;
            check_move(&moved, new.0)?;
            now.insert(*new, Some(moved));
        }
        let there = now
            .iter()
            .filter_map(|(name, table)| Some((*name, table.as_deref()?)));
        let moves: Moves = there
            .map(|(name, table)| ((table.schema.as_str(), table.name.as_str()), name))
            .collect();
        let mut change = self.change()?;
        for (name, table) in &now {
            match (table, &before[name]) {
                (None, Some(_)) => change.drop_table(name.0, name.1)?,
                (Some(table), was) => {
                    if was.is_none() {
                        let (schema, name) = *name;
                        self.adopt_children(Shape {
                            schema,
                            name,
                            ..Shape::of(table)
                        })?;
                    }
                    change.put_table(self.moved(table, *name, &moves)?)?
                }
                (None, None) => {}
            }
        }
        for (schema, name) in moves.keys() {
            for child in dictionary.children(schema, name) {
                if !moves.contains_key(&(child.schema.as_str(), child.name.as_str())) {
                    let mut told = TableDef::clone(&child);
                    told.foreign_keys =
                        foreign_key::renamed(&child.foreign_keys, &child.name, &child.name, &moves)?;
                    change.put_table(told)?;
                }
            }
        }
        change.commit()?;
        Ok(Answer::ok())
    }

    /// A table's definition under another name.
    fn moved(&self, table: &TableDef, (schema, name): (&str, &str), moves: &Moves) -> Result<TableDef> {
        let mut moved = TableDef::clone(table);
        moved.options.checks = check::renamed(&table.options.checks, &table.name, name);
        moved.foreign_keys = foreign_key::renamed(&table.foreign_keys, &table.name, name, moves)?;
        if schema != table.schema {
            self.foreign_key_names_are_free(schema, name, &moved.foreign_keys)?;
        }
        moved.schema = schema.to_owned();
        moved.name = name.to_owned();
        Ok(moved)
    }
}

/// Error 1450: a view stays in its database.
fn check_move(table: &TableDef, schema: &str) -> Result<()> {
    match table.is_view() && table.schema != schema {
        true => Err(SqlError::new(
            er::FORBID_SCHEMA_CHANGE,
            format!(
                "Changing schema from '{}' to '{schema}' is not allowed.",
                table.schema
            ),
        )),
        false => Ok(()),
    }
}

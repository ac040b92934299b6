//! ALTER TABLE, CREATE INDEX and DROP INDEX.
//!
//! The actions are applied to a draft of the definition that remembers where each column came from. What the draft
//! comes to decides how the table gets there: by its definition alone, by building and dropping indexes, or by a copy
//! of the rows into a new table; and that, what other sessions may do meanwhile.
//!
//! ```text
//!   draft ─► own the table ─► draft, if it has changed ─► way ─► demands met? ─► carry_out:  others are let in ─► build or copy ─► own it again ─► commit
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `draft` | a definition being altered |
//! | `merge` | the columns that the actions leave, and where |
//! | `columns` | what follows from columns that come or get another definition |
//! | `relations` | foreign keys, and the tables around |
//! | `way` | how the table gets from one definition to the next |
//! | `demands` | ALGORITHM and LOCK |
//! | `carry_out` | the way is gone |
//! | `copy` | rows, one by one, into a new table |

mod carry_out;
mod columns;
mod copy;
mod demands;
mod draft;
mod merge;
mod relations;
mod way;

use self::demands::Demands;
use self::draft::Draft;
use self::relations::names_foreign_key;
use super::create::{column_keys, table_comment};
use super::temporary::refuse_foreign_keys;
use super::{DdlContext, check, check_table_name, generated, index};
use crate::accounts::Privileges;
use crate::context::answer::Answer;
use crate::dictionary::{TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::expr::collation as collation_of;
use crate::parse::ast::{self, AlterAction, AlterTable, IndexKind, ObjectName};
use std::sync::Arc;

impl DdlContext<'_> {
    pub(in crate::ddl) fn create_index(
        &self,
        table: &ObjectName,
        def: &ast::IndexDef,
        demands: &[AlterAction],
        if_not_exists: bool,
    ) -> Result<Answer> {
        if if_not_exists && let Some(name) = &def.name {
            let (schema, table) = self.target(table)?;
            if self.table(schema, table)?.index(name).is_some() {
                self.note(SqlError::duplicate_key_name(name));
                return Ok(Answer::ok());
            }
        }
        let actions = [&[AlterAction::AddIndex(def.clone())], demands].concat();
        self.alter(table, &actions, Privileges::INDEX)
    }

    pub(in crate::ddl) fn drop_index(
        &self,
        table: &ObjectName,
        name: &str,
        demands: &[AlterAction],
    ) -> Result<Answer> {
        let action = if names_equal(name, index::PRIMARY) {
            AlterAction::DropPrimaryKey
        } else {
            AlterAction::DropIndex(name.to_owned())
        };
        self.alter(table, &[&[action], demands].concat(), Privileges::INDEX)
    }

    pub(in crate::ddl) fn alter_table(&self, alter: &AlterTable) -> Result<Answer> {
        let nothing = |action: &AlterAction| match action {
            AlterAction::Ignored(what) => !what.eq_ignore_ascii_case("FORCE"),
            AlterAction::Algorithm(_) | AlterAction::Lock(_) => true,
            _ => false,
        };
        if alter.actions.iter().all(nothing) {
            // `DISABLE KEYS` and its like: the table must be there, and that is all.
            let demands = Demands::of(&alter.actions)?;
            let (schema, name) = self.target(&alter.name)?;
            if self.temporary(schema, name).is_none() {
                self.state
                    .require_table(Privileges::ALTER, "ALTER", schema, name)?;
            }
            self.table(schema, name)?;
            demands.check_rename()?;
            if !demands.is_copy() {
                return Ok(Answer::ok());
            }
        }
        self.alter(&alter.name, &alter.actions, Privileges::ALTER)
    }

    /// Makes a table anew, as it is.
    pub(in crate::ddl) fn recreate(&self, table: &ObjectName) -> Result<()> {
        let force = [AlterAction::Ignored("FORCE".to_owned())];
        let both = Privileges::SELECT.union(Privileges::INSERT);
        self.alter(table, &force, both).map(|_| ())
    }

    fn alter(
        &self,
        table: &ObjectName,
        actions: &[AlterAction],
        mut privileges: Privileges,
    ) -> Result<Answer> {
        let demands = Demands::of(actions)?;
        let (schema, name) = self.target(table)?;
        if actions
            .iter()
            .any(|action| matches!(action, AlterAction::RenameTo(_)))
        {
            privileges = privileges.union(Privileges::DROP);
        }
        let is_temporary = self.temporary(schema, name).is_some();
        if !is_temporary {
            self.state.require_all(privileges, schema, name)?;
        }
        let before = self.table(schema, name)?;
        let mut names = vec![(schema, name)];
        for action in actions {
            if let AlterAction::RenameTo(new) = action {
                names.push(self.rename_target(schema, new)?);
            }
        }
        let target = names[names.len() - 1];
        // What cannot be done is refused at once, and nobody has to wait for it.
        let mut draft = self.draft(&before, demands, actions)?;
        match is_temporary {
            true => refuse_foreign_keys(actions)?,
            false => self.own_with_relatives(&names, actions)?,
        }
        let old = self.table(schema, name)?;
        let is_rename = |action: &AlterAction| {
            matches!(
                action,
                AlterAction::RenameTo(_) | AlterAction::Algorithm(_) | AlterAction::Lock(_)
            )
        };
        if actions.iter().all(is_rename) {
            demands.check_rename()?;
        }
        if !Arc::ptr_eq(&before, &old) {
            draft = self.draft(&old, demands, actions)?;
        }
        self.add_foreign_keys(&mut draft, actions, &old)?;
        draft.drop_key_parts();
        self.warn_of_duplicates(&draft, &old);
        self.retype_key_parts(&mut draft.columns)?;
        if is_temporary {
            draft.copies_anyway();
        } else {
            self.hold_relations(&mut draft, &old, target)?;
            let (schema, name) = target;
            let checks = check::renamed(&draft.options.checks, &old.name, name);
            self.names_are_free(schema, &old.name, &checks)?;
        }
        index::check_table(&draft.columns, &draft.indexes)?;
        self.check_expressions(&draft.columns, &draft.indexes, &draft.options.checks)?;
        generated::check_foreign_keys(&draft.foreign_keys, &draft.columns)?;
        if old.primary().is_some() {
            self.require_primary(&draft.indexes)?;
        }
        self.carry_out(&old, draft)
    }

    /// The definition with what the actions change of the table alone, in the order in which MySQL takes them: not the one written.
    fn draft(&self, old: &TableDef, demands: Demands, actions: &[AlterAction]) -> Result<Draft> {
        let mut draft = Draft::of(old, demands);
        for action in actions {
            self.apply_to_table(&mut draft, action, old)?;
        }
        // Constraints that go hold nothing fast, those that come find all columns and indexes there.
        for action in actions {
            self.drop_foreign_key(&mut draft, action)?;
            drop_check(&mut draft, action, old)?;
        }
        // Likewise indexes that go; one that is not there is told of after what is wrong with columns.
        let dropped: Vec<Result<()>> = actions
            .iter()
            .map(|action| drop_index(&mut draft, action, old))
            .collect();
        draft.drop_key_parts();
        self.merge_columns(&mut draft, actions, old)?;
        dropped.into_iter().collect::<Result<()>>()?;
        columns::fit_indexes(&mut draft, actions)?;
        draft.rename_indexes(actions, &old.name)?;
        for action in actions {
            self.apply_to_keys(&mut draft, action, old)?;
        }
        draft.check_index_names()?;
        Ok(draft)
    }

    /// Warning 1831 of each new index that is one before it with a name of its own.
    fn warn_of_duplicates(&self, draft: &Draft, old: &TableDef) {
        let named = (old.schema.as_str(), old.name.as_str());
        for (at, index) in draft.indexes.iter().enumerate() {
            if draft.index_origins[at].is_none()
                && let Some(warning) = index::warning_of_duplicate(index, &draft.indexes[..at], named)
            {
                self.warn(warning);
            }
        }
    }

    fn rename_target<'n>(&'n self, schema: &'n str, new: &'n ObjectName) -> Result<(&'n str, &'n str)> {
        match &new.schema {
            Some(_) => self.target(new),
            None => Ok((schema, &new.name)),
        }
    }

    /// What is of the table as a whole, and what columns that come take over from it.
    fn apply_to_table(&self, draft: &mut Draft, action: &AlterAction, old: &TableDef) -> Result<()> {
        match action {
            AlterAction::RenameTo(new) => self.rename_to(draft, new, old),
            AlterAction::Options(options) => self.set_options(draft, options, &old.name),
            AlterAction::ConvertTo { charset, collation } => draft.convert_to(charset, collation.as_deref()),
            AlterAction::Ignored(what) => {
                draft.rebuild |= what.eq_ignore_ascii_case("FORCE");
                Ok(())
            }
            AlterAction::Unsupported(what) => Err(SqlError::not_supported(what)),
            _ => Ok(()),
        }
    }

    /// Keys and checks that come, those of columns among them, and changes of those that stay.
    fn apply_to_keys(&self, draft: &mut Draft, action: &AlterAction, old: &TableDef) -> Result<()> {
        match action {
            AlterAction::AddColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. } => {
                for written in &column.checks {
                    draft.add_check(written, Some(&column.name), old)?;
                }
                let is_added = matches!(action, AlterAction::AddColumn { .. });
                for key in column_keys(column) {
                    if is_added || !(key.kind == IndexKind::Primary && draft.is_in_primary(&column.name)) {
                        self.add_index(draft, &key)?;
                    }
                }
                Ok(())
            }
            AlterAction::AddIndex(def) => self.add_index(draft, def),
            AlterAction::AddCheck(written) => draft.add_check(written, None, old),
            AlterAction::EnforceCheck { name, enforced } => draft.enforce_check(name, *enforced),
            AlterAction::ShowIndex { name, visible } => draft.show_index(name, *visible, &old.name),
            _ => Ok(()),
        }
    }

    /// `ADD INDEX`, with the columns of its functional parts.
    fn add_index(&self, draft: &mut Draft, def: &ast::IndexDef) -> Result<()> {
        let names: Vec<&str> = draft.indexes.iter().map(|index| index.name.as_str()).collect();
        let def = self.functional_parts(def, &mut draft.columns, &names)?;
        draft.origins.resize(draft.columns.len(), None);
        draft.explicit_null.resize(draft.columns.len(), false);
        let index = index::index(&def, &mut draft.columns, &draft.explicit_null, &draft.indexes)?;
        if let Some(note) = index::note_of_method(&def) {
            self.state.warnings.note(note);
        }
        draft.push_index(index);
        Ok(())
    }

    /// `RENAME TO`: the new name must be free, and the account may drop the old table and create the new one.
    fn rename_to(&self, draft: &mut Draft, new: &ObjectName, old: &TableDef) -> Result<()> {
        check_table_name(&new.name)?;
        let (schema, name) = self.rename_target(&old.schema, new)?;
        let dictionary = self.state.database.dictionary();
        if dictionary.schema(schema).is_none() {
            return Err(SqlError::unknown_database(schema));
        }
        let same = schema == old.schema && name == old.name;
        let is_taken = match old.temporary {
            true => self.temporary(schema, name).is_some(),
            false => dictionary.find_table(schema, name).is_some(),
        };
        if !same && is_taken {
            return Err(SqlError::table_exists(name));
        }
        let both = Privileges::CREATE.union(Privileges::INSERT);
        self.state.require_all(both, schema, name)?;
        draft.rename = Some((schema.to_owned(), name.to_owned()));
        Ok(())
    }

    /// `ENGINE = …`, `COMMENT = …` and the like.
    fn set_options(&self, draft: &mut Draft, options: &ast::TableOptions, table: &str) -> Result<()> {
        self.check_engine(options, table, false)?;
        draft.rebuild |= options.engine.is_some();
        let given = collation_of(options.charset.as_deref(), options.collation.as_deref())?;
        if let Some(collation) = given {
            // Columns keep theirs, which now differs from the table's.
            draft.options.collation = collation;
        }
        if options.comment.is_some() {
            draft.options.comment = table_comment(options, table)?;
        }
        if let Some(format) = &options.row_format {
            draft.options.row_format = format.to_uppercase();
        }
        draft.options.statistics.take(options);
        draft.auto_increment = options.auto_increment.or(draft.auto_increment);
        Ok(())
    }
}

/// `DROP CHECK`, or `DROP CONSTRAINT` of a check. Error 3940 for a constraint of any kind that is not there.
fn drop_check(draft: &mut Draft, action: &AlterAction, old: &TableDef) -> Result<()> {
    match action {
        AlterAction::DropCheck(name) => draft.drop_check(name),
        AlterAction::DropConstraint(name) if draft.check(name).is_some() => draft.drop_check(name),
        AlterAction::DropConstraint(name) if old.index(name).is_none() && !names_constraint(old, name) => {
            Err(SqlError::new(
                er::CONSTRAINT_NOT_FOUND,
                format!("Constraint '{name}' does not exist."),
            ))
        }
        _ => Ok(()),
    }
}

/// `DROP INDEX`, `DROP PRIMARY KEY`, or `DROP CONSTRAINT` of an index.
fn drop_index(draft: &mut Draft, action: &AlterAction, old: &TableDef) -> Result<()> {
    match action {
        AlterAction::DropIndex(name) => draft.drop_index(name),
        AlterAction::DropPrimaryKey => draft.drop_index(index::PRIMARY),
        AlterAction::DropConstraint(name) if names_constraint(old, name) => Ok(()),
        AlterAction::DropConstraint(name) => draft.drop_index(name),
        _ => Ok(()),
    }
}

/// Whether a foreign key or a check of the table has the name.
fn names_constraint(table: &TableDef, name: &str) -> bool {
    let mut checks = table.options.checks.iter();
    names_foreign_key(table, name) || checks.any(|check| names_equal(&check.name, name))
}

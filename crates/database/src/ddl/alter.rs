//! ALTER TABLE, CREATE INDEX and DROP INDEX.
//!
//! The actions are applied to a draft of the definition that remembers where each column came from. What the draft
//! comes to decides how the table gets there: by its definition alone, by building and dropping indexes, or by a copy
//! of the rows into a new table.

use super::alter_foreign_key::names_foreign_key;
use super::create::{column_key, now_s, table_comment};
use super::foreign_key::{Moves, Shape};
use super::temporary::refuse_foreign_keys;
use super::{DdlContext, check, check_table_name, column, default, foreign_key, generated, index};
use crate::accounts::Privileges;
use crate::context::answer::{Answer, Done};
use crate::dictionary::{ColumnDef, ColumnDefault, ForeignKeyDef, IndexDef, TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::expr::{Env, collation as collation_of};
use crate::parse::ast::{
    self, AlterAction, AlterAlgorithm, AlterLock, AlterTable, ColumnPosition, IndexKind, ObjectName,
};
use crate::types::assign::{assign, zero_value};
use crate::types::{DateTime, SqlType, TypeKind, Value};
use tidemark_engine::failpoint;

/// A definition being altered.
pub(super) struct Draft {
    /// The table's name before.
    name: String,
    pub columns: Vec<ColumnDef>,
    /// For each column: its position in the old table, if it was there.
    pub origins: Vec<Option<usize>>,
    /// Which columns were given as NULL explicitly.
    explicit_null: Vec<bool>,
    pub indexes: Vec<IndexDef>,
    /// For each index: the engine's number of the old index it is, if it is one.
    pub index_origins: Vec<Option<usize>>,
    pub options: crate::dictionary::TableOptions,
    pub foreign_keys: Vec<ForeignKeyDef>,
    /// The names of those among them that are new.
    pub new_foreign_keys: Vec<String>,
    pub auto_increment: Option<u64>,
    rename: Option<(String, String)>,
    /// A copy even if nothing asks for it: `ENGINE=InnoDB`, `FORCE`.
    rebuild: bool,
    algorithm: AlterAlgorithm,
    lock: AlterLock,
}

impl Draft {
    fn of(table: &TableDef) -> Draft {
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
            algorithm: AlterAlgorithm::Default,
            lock: AlterLock::Default,
        }
    }

    /// The rows are copied whatever is changed, and no other session could be kept off them.
    fn copies_anyway(&mut self) {
        self.rebuild = true;
        self.lock = AlterLock::Default;
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| !column.is_key_part() && names_equal(&column.name, name))
    }

    /// How many columns have names; functional key parts stand behind them.
    fn named_columns(&self) -> usize {
        self.columns.iter().filter(|column| !column.is_key_part()).count()
    }

    fn index(&self, name: &str) -> Option<usize> {
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
    fn foreign_key_columns(&mut self) -> impl Iterator<Item = &mut usize> {
        self.foreign_keys.iter_mut().flat_map(|key| &mut key.columns)
    }

    /// Puts a column at a place; indexes and foreign keys follow their columns.
    fn insert_column(&mut self, at: usize, column: ColumnDef, origin: Option<usize>, explicit_null: bool) {
        self.columns.insert(at, column);
        self.origins.insert(at, origin);
        self.explicit_null.insert(at, explicit_null);
        for part in self.indexes.iter_mut().flat_map(|index| &mut index.parts) {
            if part.column >= at {
                part.column += 1;
            }
        }
        for column in self.foreign_key_columns().filter(|column| **column >= at) {
            *column += 1;
        }
    }

    /// Takes a column out, and out of the indexes; an index that loses its last column goes. No foreign key has it.
    fn remove_column(&mut self, at: usize) {
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

    /// Moves a column.
    fn move_column(&mut self, from: usize, to: usize) {
        let follow = |position: usize| {
            if position == from {
                to
            } else if from < position && position <= to {
                position - 1
            } else if to <= position && position < from {
                position + 1
            } else {
                position
            }
        };
        let column = self.columns.remove(from);
        self.columns.insert(to, column);
        let origin = self.origins.remove(from);
        self.origins.insert(to, origin);
        let null = self.explicit_null.remove(from);
        self.explicit_null.insert(to, null);
        for part in self.indexes.iter_mut().flat_map(|index| &mut index.parts) {
            part.column = follow(part.column);
        }
        for column in self.foreign_key_columns() {
            *column = follow(*column);
        }
    }

    /// Whether nothing but the table's name differs from the old definition.
    fn same_but_for_the_name(&self, old: &TableDef) -> bool {
        format!("{:?}{:?}{:?}", self.columns, self.indexes, self.options)
            == format!("{:?}{:?}{:?}", old.columns, old.indexes, old.options)
            && self.foreign_keys == old.foreign_keys
            && self.auto_increment.is_none()
    }

    fn place(&self, position: &ColumnPosition) -> Result<usize> {
        match position {
            ColumnPosition::Last => Ok(self.named_columns()),
            ColumnPosition::First => Ok(0),
            ColumnPosition::After(name) => match self.column(name) {
                Some(at) => Ok(at + 1),
                None => Err(unknown_column(name)),
            },
        }
    }

    fn check(&self, name: &str) -> Option<usize> {
        let mut checks = self.options.checks.iter();
        checks.position(|check| names_equal(&check.name, name))
    }

    /// The rows there are have to pass a new constraint: a copy tests them.
    fn add_check(&mut self, written: &ast::CheckDef, column: Option<&str>, old: &TableDef) -> Result<()> {
        let check = check::check(written, column, &old.name, &self.options.checks)?;
        self.options.checks.push(check);
        check::sort(&mut self.options.checks);
        self.rebuild |= written.enforced;
        Ok(())
    }

    /// Errors 1845 and 1846 if the change is not made the way that was asked for. While rows are copied or an index is
    /// built, the table belongs to the statement alone; whatever else there is to do is done at once.
    fn check_demands(&self, in_place: bool) -> Result<()> {
        let builds = self.index_origins.contains(&None);
        match self.algorithm {
            AlterAlgorithm::Instant if !in_place => {
                return Err(not_by("ALGORITHM=INSTANT", "ALGORITHM=COPY"));
            }
            AlterAlgorithm::Instant if builds => {
                return Err(not_by("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE"));
            }
            AlterAlgorithm::Inplace if !in_place => {
                return Err(not_by("ALGORITHM=INPLACE", "ALGORITHM=COPY"));
            }
            _ => {}
        }
        let lock = match self.lock {
            AlterLock::None => "LOCK=NONE",
            AlterLock::Shared => "LOCK=SHARED",
            AlterLock::Default | AlterLock::Exclusive => return Ok(()),
        };
        let why = match (in_place, builds) {
            (true, false) => return Ok(()),
            (true, true) => "Nobody else uses the table while an index is built",
            (false, _) => "Nobody else uses the table while its rows are copied",
        };
        Err(SqlError::new(
            er::ALTER_OPERATION_NOT_SUPPORTED_REASON,
            format!("{lock} is not supported. Reason: {why}. Try LOCK=EXCLUSIVE."),
        ))
    }

    /// Takes the functional key parts out that no index has any more.
    fn drop_key_parts(&mut self) {
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
                    self.index_origins[other].is_none() && self.indexes[other].can_serve(&columns)
                });
            if superseded {
                self.indexes.remove(at);
                self.index_origins.remove(at);
            }
        }
    }

    /// `DROP COLUMN`
    fn drop_column(&mut self, name: &str) -> Result<()> {
        let at = self.column(name).ok_or_else(|| SqlError::cannot_drop(name))?;
        foreign_key::refuse_drop_of_column(&self.foreign_keys, &self.columns, at)?;
        if self.named_columns() == 1 {
            return Err(SqlError::new(
                er::CANT_REMOVE_ALL_FIELDS,
                "You can't delete all columns with ALTER TABLE; use DROP TABLE instead",
            ));
        }
        self.remove_column(at);
        Ok(())
    }

    /// `RENAME COLUMN`
    fn rename_column(&mut self, old: &str, new: &str) -> Result<()> {
        let at = self
            .column(old)
            .ok_or_else(|| unknown_column_in(old, &self.name))?;
        if self.column(new).is_some_and(|other| other != at) {
            return Err(SqlError::duplicate_column(new));
        }
        column::check_identifier(new)?;
        self.columns[at].name = new.to_owned();
        Ok(())
    }

    /// `DROP INDEX`; `PRIMARY` is the primary key.
    fn drop_index(&mut self, name: &str) -> Result<()> {
        let at = self.index(name).ok_or_else(|| SqlError::cannot_drop(name))?;
        self.indexes.remove(at);
        self.index_origins.remove(at);
        Ok(())
    }

    /// `RENAME INDEX`
    fn rename_index(&mut self, from: &str, new: &str, table: &str) -> Result<()> {
        let at = self.index(from).ok_or_else(|| no_such_key(from, table))?;
        if self.index(new).is_some_and(|other| other != at) {
            return Err(SqlError::duplicate_key_name(new));
        }
        column::check_identifier(new)?;
        if names_equal(from, index::PRIMARY) || names_equal(new, index::PRIMARY) {
            return Err(SqlError::new(
                er::WRONG_NAME_FOR_INDEX,
                format!("Incorrect index name '{from}'"),
            ));
        }
        self.indexes[at].name = new.to_owned();
        Ok(())
    }

    /// `CONVERT TO CHARACTER SET`: of the table and of every text column.
    fn convert_to(&mut self, charset: &str, collation: Option<&str>) -> Result<()> {
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
    fn drop_check(&mut self, name: &str) -> Result<()> {
        let at = self.check(name).ok_or_else(|| check::not_found(name))?;
        self.options.checks.remove(at);
        Ok(())
    }

    /// `ALTER CHECK … [NOT] ENFORCED`; a check that is enforced from now on is held against the rows.
    fn enforce_check(&mut self, name: &str, enforced: bool) -> Result<()> {
        let at = self.check(name).ok_or_else(|| check::not_found(name))?;
        let check = &mut self.options.checks[at];
        self.rebuild |= enforced && !check.enforced;
        check.enforced = enforced;
        Ok(())
    }

    /// `ALTER COLUMN … SET VISIBLE | INVISIBLE`
    fn show_column(&mut self, name: &str, visible: bool, table: &str) -> Result<()> {
        let at = self.column(name).ok_or_else(|| unknown_column_in(name, table))?;
        self.columns[at].invisible = !visible;
        Ok(())
    }

    /// `ALTER INDEX … VISIBLE | INVISIBLE`
    fn show_index(&mut self, name: &str, visible: bool, table: &str) -> Result<()> {
        let at = self.index(name).ok_or_else(|| no_such_key(name, table))?;
        if names_equal(name, index::PRIMARY) && !visible {
            return Err(index::invisible_primary());
        }
        self.indexes[at].visible = visible;
        Ok(())
    }

    /// `DROP CONSTRAINT`: a check, the primary key or a unique key.
    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        if self.check(name).is_some() {
            self.drop_check(name)
        } else if names_equal(name, index::PRIMARY) {
            self.drop_index(index::PRIMARY)
        } else if self.index(name).is_some() {
            self.drop_index(name)
        } else {
            Err(SqlError::new(
                er::CONSTRAINT_NOT_FOUND,
                format!("Constraint '{name}' does not exist."),
            ))
        }
    }
}

/// Error 1845.
fn not_by(demand: &str, instead: &str) -> SqlError {
    SqlError::new(
        er::ALTER_OPERATION_NOT_SUPPORTED,
        format!("{demand} is not supported for this operation. Try {instead}."),
    )
}

fn unknown_column(name: &str) -> SqlError {
    SqlError::new(er::BAD_FIELD, format!("Unknown column '{name}' in 'table'"))
}

impl DdlContext<'_> {
    pub(super) fn create_index(
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

    pub(super) fn drop_index(
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

    pub(super) fn alter_table(&self, alter: &AlterTable) -> Result<Answer> {
        let nothing = |action: &AlterAction| match action {
            AlterAction::Ignored(what) => !what.eq_ignore_ascii_case("FORCE"),
            AlterAction::Algorithm(_) | AlterAction::Lock(_) => true,
            _ => false,
        };
        if alter.actions.iter().all(nothing) {
            // `DISABLE KEYS` and its like: the table must be there, and that is all.
            let (schema, name) = self.target(&alter.name)?;
            if self.temporary(schema, name).is_none() {
                self.state
                    .require_table(Privileges::ALTER, "ALTER", schema, name)?;
            }
            self.table(schema, name)?;
            return Ok(Answer::ok());
        }
        self.alter(&alter.name, &alter.actions, Privileges::ALTER)
    }

    /// Makes a table anew, as it is.
    pub(super) fn recreate(&self, table: &ObjectName) -> Result<()> {
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
        self.table(schema, name)?;
        let mut names = vec![(schema, name)];
        for action in actions {
            if let AlterAction::RenameTo(new) = action {
                names.push(self.rename_target(schema, new)?);
            }
        }
        let target = names[names.len() - 1];
        match is_temporary {
            true => refuse_foreign_keys(actions)?,
            false => self.own_with_relatives(&names, actions)?,
        }
        let old = self.table(schema, name)?;
        let mut draft = Draft::of(&old);
        // Constraints that go hold nothing fast, those that come find all columns and indexes there.
        for action in actions {
            self.drop_foreign_key(&mut draft, action)?;
        }
        for action in actions {
            self.apply(&mut draft, action, &old)?;
        }
        self.add_foreign_keys(&mut draft, actions, &old)?;
        draft.drop_key_parts();
        self.hold_columns(&mut draft, actions)?;
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

    /// Sees to the constraints that name columns which go or get other names.
    fn hold_columns(&self, draft: &mut Draft, actions: &[AlterAction]) -> Result<()> {
        let table = &draft.name;
        let checks = &mut draft.options.checks;
        for action in actions {
            let gone = match action {
                AlterAction::DropColumn(name) => {
                    check::drop_column(checks, name)?;
                    name
                }
                AlterAction::RenameColumn { old, new } if !names_equal(old, new) => {
                    check::rename_column(checks, old)?;
                    old
                }
                AlterAction::ChangeColumn { old, column, .. } if !names_equal(old, &column.name) => {
                    check::rename_column(checks, old)?;
                    old
                }
                _ => continue,
            };
            generated::hold_column(&draft.columns, gone)?;
            default::hold_column(&draft.columns, table, gone)?;
        }
        Ok(())
    }

    fn rename_target<'n>(&'n self, schema: &'n str, new: &'n ObjectName) -> Result<(&'n str, &'n str)> {
        match &new.schema {
            Some(_) => self.target(new),
            None => Ok((schema, &new.name)),
        }
    }

    fn apply(&self, draft: &mut Draft, action: &AlterAction, old: &TableDef) -> Result<()> {
        match action {
            AlterAction::AddColumn { column, position } => self.add_column(draft, column, position, old),
            AlterAction::ModifyColumn { column, position } => {
                self.change_column(draft, &column.name, column, position.as_ref())
            }
            AlterAction::ChangeColumn {
                old,
                column,
                position,
            } => self.change_column(draft, old, column, position.as_ref()),
            AlterAction::DropColumn(name) => draft.drop_column(name),
            AlterAction::RenameColumn { old, new } => draft.rename_column(old, new),
            AlterAction::SetDefault { column, default } => {
                self.set_default(draft, column, default.as_ref(), &old.name)
            }
            AlterAction::ShowColumn { column, visible } => draft.show_column(column, *visible, &old.name),
            AlterAction::AddIndex(def) => self.add_index(draft, def),
            AlterAction::DropIndex(name) => draft.drop_index(name),
            AlterAction::DropPrimaryKey => draft.drop_index(index::PRIMARY),
            AlterAction::RenameIndex { old: from, new } => draft.rename_index(from, new, &old.name),
            AlterAction::RenameTo(new) => self.rename_to(draft, new, old),
            AlterAction::Options(options) => self.set_options(draft, options, &old.name),
            AlterAction::ConvertTo { charset, collation } => draft.convert_to(charset, collation.as_deref()),
            // These were the first to go, or are the last to come.
            AlterAction::AddForeignKey(_) | AlterAction::DropForeignKey(_) => Ok(()),
            AlterAction::AddCheck(written) => draft.add_check(written, None, old),
            AlterAction::DropCheck(name) => draft.drop_check(name),
            AlterAction::EnforceCheck { name, enforced } => draft.enforce_check(name, *enforced),
            AlterAction::ShowIndex { name, visible } => draft.show_index(name, *visible, &old.name),
            AlterAction::DropConstraint(name) if names_foreign_key(old, name) => Ok(()),
            AlterAction::DropConstraint(name) => draft.drop_constraint(name),
            AlterAction::Ignored(what) => {
                draft.rebuild |= what.eq_ignore_ascii_case("FORCE");
                Ok(())
            }
            AlterAction::Algorithm(algorithm) => {
                draft.algorithm = *algorithm;
                Ok(())
            }
            AlterAction::Lock(lock) => {
                draft.lock = *lock;
                Ok(())
            }
            AlterAction::Unsupported(what) => Err(SqlError::not_supported(what)),
        }
    }

    /// `ADD COLUMN`, with the key and the check that its definition holds.
    fn add_column(
        &self,
        draft: &mut Draft,
        column: &ast::ColumnDef,
        position: &ColumnPosition,
        old: &TableDef,
    ) -> Result<()> {
        if draft.column(&column.name).is_some() {
            return Err(SqlError::duplicate_column(&column.name));
        }
        let at = draft.place(position)?;
        if let Some(written) = &column.default {
            default::refuse_unsafe(&written.expr)?;
        }
        let def = column::column(self.state, column, draft.options.collation)?;
        draft.insert_column(at, def, None, column.nullable == Some(true));
        if let Some(written) = &column.check {
            draft.add_check(written, Some(&column.name), old)?;
        }
        if let Some(key) = column_key(column) {
            self.add_index(draft, &key)?;
        }
        Ok(())
    }

    /// `ADD INDEX`, with the columns of its functional parts.
    fn add_index(&self, draft: &mut Draft, def: &ast::IndexDef) -> Result<()> {
        let names: Vec<&str> = draft.indexes.iter().map(|index| index.name.as_str()).collect();
        let def = self.functional_parts(def, &mut draft.columns, &names)?;
        draft.origins.resize(draft.columns.len(), None);
        draft.explicit_null.resize(draft.columns.len(), false);
        let index = index::index(&def, &mut draft.columns, &draft.explicit_null, &draft.indexes)?;
        draft.push_index(index);
        Ok(())
    }

    /// `ALTER COLUMN … SET DEFAULT`; `None` is DROP DEFAULT.
    fn set_default(
        &self,
        draft: &mut Draft,
        column: &str,
        default: Option<&ast::DefaultValue>,
        table: &str,
    ) -> Result<()> {
        let at = draft
            .column(column)
            .ok_or_else(|| unknown_column_in(column, table))?;
        let target = &mut draft.columns[at];
        if target.generated.is_some() {
            return match default {
                Some(_) => Err(generated::wrong_usage("DEFAULT")),
                None => Ok(()),
            };
        }
        target.default = match default {
            Some(expr) => Some(column::default(self.state, &target.name, &target.ty, expr)?),
            None => None,
        };
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
        self.check_engine(options, table)?;
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
        draft.auto_increment = options.auto_increment.or(draft.auto_increment);
        Ok(())
    }

    fn change_column(
        &self,
        draft: &mut Draft,
        old: &str,
        written: &ast::ColumnDef,
        position: Option<&ColumnPosition>,
    ) -> Result<()> {
        let at = draft
            .column(old)
            .ok_or_else(|| unknown_column_in(old, &draft.name))?;
        if draft.column(&written.name).is_some_and(|other| other != at) {
            return Err(SqlError::duplicate_column(&written.name));
        }
        let mut def = column::column(self.state, written, draft.options.collation)?;
        if def.is_virtual() != draft.columns[at].is_virtual() {
            return Err(generated::unsupported("Changing the STORED status"));
        }
        let in_primary = |draft: &Draft| {
            let primary = draft.index(index::PRIMARY).map(|i| &draft.indexes[i]);
            primary.is_some_and(|index| index.parts.iter().any(|part| part.column == at))
        };
        if in_primary(draft) && def.ty.nullable {
            if written.nullable == Some(true) {
                return Err(SqlError::new(
                    er::PRIMARY_CANT_HAVE_NULL,
                    "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead",
                ));
            }
            def.ty.nullable = false;
            if matches!(&def.default, Some(ColumnDefault::Literal(v)) if v.is_null()) {
                def.default = None;
            }
        }
        // An index keeps its prefix only while the column is longer.
        for (i, index) in draft.indexes.iter_mut().enumerate() {
            for part in &mut index.parts {
                if part.column == at
                    && let Some(prefix) = part.prefix
                {
                    let whole = !def.ty.is_string() || (!def.ty.is_blob_or_text() && prefix >= def.ty.length);
                    if whole {
                        part.prefix = None;
                        draft.index_origins[i] = None;
                    }
                }
                if part.column == at && part.prefix.is_none() && def.ty.is_blob_or_text() {
                    return Err(SqlError::new(
                        er::BLOB_KEY_WITHOUT_LENGTH,
                        format!(
                            "BLOB/TEXT column '{}' used in key specification without a key length",
                            def.name
                        ),
                    ));
                }
            }
        }
        draft.columns[at] = def;
        draft.explicit_null[at] = written.nullable == Some(true);
        if let Some(key) = column_key(written)
            && !(key.kind == IndexKind::Primary && in_primary(draft))
        {
            self.add_index(draft, &key)?;
        }
        if let Some(position) = position {
            let mut to = draft.place(position)?;
            if matches!(position, ColumnPosition::After(name) if names_equal(name, &written.name)) {
                return Err(unknown_column(&written.name));
            }
            if to > at {
                to -= 1;
            }
            draft.move_column(at, to);
        }
        Ok(())
    }

    fn carry_out(&self, old: &TableDef, mut draft: Draft) -> Result<Answer> {
        let plain_columns = draft
            .origins
            .iter()
            .enumerate()
            .all(|(i, origin)| *origin == Some(i))
            && draft.columns.len() == old.columns.len()
            && draft
                .columns
                .iter()
                .zip(&old.columns)
                .all(|(new, old)| is_stored_alike(&new.ty, &old.ty))
            && keeps_generated(&draft.columns, &old.columns);
        let same_primary = primary_origin(&draft) == old.primary().map(|_| 0);
        let in_place = plain_columns && same_primary && !draft.rebuild;
        let tests_rows = !draft.new_foreign_keys.is_empty() && self.state.settings.foreign_key_checks;
        if tests_rows && matches!(draft.algorithm, AlterAlgorithm::Inplace | AlterAlgorithm::Instant) {
            return Err(foreign_key::needs_no_checks(draft.algorithm));
        }
        draft.check_demands(in_place)?;
        let mut table = TableDef {
            columns: draft.columns.clone(),
            options: draft.options.clone(),
            foreign_keys: draft.foreign_keys.clone(),
            ..old.clone()
        };
        let only_renames = in_place && draft.rename.is_some() && draft.same_but_for_the_name(old);
        let mut change = self.change_of(old)?;
        let done = if in_place {
            self.alter_indexes(&mut change, old, &mut draft)?;
            if let Some(next) = draft.auto_increment {
                let counter = change.ddl.table(old.id)?;
                counter.auto_increment_set(next.max(1))?;
            }
            Done {
                info: "Records: 0  Duplicates: 0  Warnings: 0".to_owned(),
                ..Done::default()
            }
        } else {
            index::arrange(&mut draft.indexes, &draft.columns);
            index::number(&mut draft.indexes);
            let (id, copied) = self.copy_table(&mut change, old, &draft)?;
            change.ddl.drop_table(old.id)?;
            table.id = id;
            table.options.created = now_s();
            let copied = if old.temporary || needs_copy_in_mysql(old, &draft) {
                copied
            } else {
                0
            };
            self.copied(copied)
        };
        table.indexes = draft.indexes;
        let done = match only_renames {
            true => Done::default(),
            false if tests_rows => {
                let rows = self.test_foreign_keys(&change, &table, &draft.new_foreign_keys)?;
                self.copied(rows)
            }
            false => done,
        };
        if let Some((schema, name)) = draft.rename
            && (schema != old.schema || name != old.name)
        {
            change.drop_table(&old.schema, &old.name)?;
            rename(&mut table, schema, name)?;
        }
        if !old.temporary {
            self.tell_children(&mut change, old, &table, &draft.origins)?;
        }
        change.put_table(table)?;
        failpoint::reach("definitions");
        change.commit()?;
        Ok(Answer::Ok(done))
    }

    /// What ALTER TABLE answers that has copied so many rows.
    fn copied(&self, rows: u64) -> Done {
        Done {
            affected_rows: rows,
            info: format!(
                "Records: {rows}  Duplicates: 0  Warnings: {}",
                self.state.warnings.count()
            ),
            ..Done::default()
        }
    }

    /// Drops and builds the secondary indexes that differ, and gives each its new number.
    fn alter_indexes(
        &self,
        change: &mut crate::dictionary::DefinitionChange<'_>,
        old: &TableDef,
        draft: &mut Draft,
    ) -> Result<()> {
        let kept = |number: usize| draft.index_origins.contains(&Some(number));
        let mut numbers: Vec<usize> = old
            .indexes
            .iter()
            .map(|index| index.number)
            .filter(|number| *number > 0)
            .collect();
        numbers.sort_unstable();
        // The engine numbers secondary indexes by position: dropping from the end leaves the others as they are.
        for number in numbers.iter().rev() {
            if !kept(*number) {
                change.ddl.drop_index(old.id, *number)?;
            }
        }
        let mut positions: Vec<usize> = numbers.into_iter().filter(|number| kept(*number)).collect();
        for i in 0..draft.indexes.len() {
            match draft.index_origins[i] {
                Some(0) => draft.indexes[i].number = 0,
                Some(number) => {
                    let at = positions.iter().position(|kept| *kept == number).unwrap_or(0);
                    draft.indexes[i].number = at + 1;
                }
                None => {
                    let built = change
                        .ddl
                        .add_index(old.id, &index::index_schema(&draft.indexes[i]));
                    built.map_err(|error| self.duplicate_in(old, &draft.indexes[i], error))?;
                    positions.push(usize::MAX);
                    draft.indexes[i].number = positions.len();
                }
            }
        }
        index::arrange(&mut draft.indexes, &draft.columns);
        Ok(())
    }
}

/// Gives a definition another name, and its constraints those that follow from it.
fn rename(table: &mut TableDef, schema: String, name: String) -> Result<()> {
    let moves = Moves::from([(
        (table.schema.as_str(), table.name.as_str()),
        (schema.as_str(), name.as_str()),
    )]);
    let keys = foreign_key::renamed(&table.foreign_keys, &table.name, &name, &moves)?;
    table.foreign_keys = keys;
    table.options.checks = check::renamed(&table.options.checks, &table.name, &name);
    table.schema = schema;
    table.name = name;
    Ok(())
}

/// Error 1176.
fn no_such_key(name: &str, table: &str) -> SqlError {
    SqlError::new(
        er::KEY_DOES_NOT_EXIST,
        format!("Key '{name}' doesn't exist in table '{table}'"),
    )
}

/// Error 1054 as ALTER words it.
fn unknown_column_in(column: &str, table: &str) -> SqlError {
    SqlError::new(er::BAD_FIELD, format!("Unknown column '{column}' in '{table}'"))
}

/// Where the draft's primary key comes from.
fn primary_origin(draft: &Draft) -> Option<usize> {
    let at = draft.index(index::PRIMARY)?;
    // A new primary key is not the old one, wherever that was.
    Some(draft.index_origins[at].unwrap_or(usize::MAX))
}

/// Whether MySQL would copy the rows one by one, and so count them: a column takes another type, or the primary key goes
/// without another in its place.
pub(super) fn needs_copy_in_mysql(old: &TableDef, draft: &Draft) -> bool {
    let retyped = draft.columns.iter().zip(&draft.origins).any(|(column, origin)| {
        let from = origin.map(|origin| &old.columns[origin].ty);
        !column.is_virtual()
            && from.is_some_and(|from| {
                !is_stored_alike(&column.ty, &from.clone().with_nullable(column.ty.nullable))
            })
    });
    let is_stored = |column: &ColumnDef| column.generated.as_ref().is_some_and(|g| g.stored);
    let computed = draft.columns.iter().zip(&draft.origins).any(|(column, origin)| {
        let before = origin.and_then(|origin| old.columns[origin].generated.as_ref());
        let comes = origin.is_none() && default::expression(column).is_some();
        comes || is_stored(column) && before != column.generated.as_ref()
    });
    retyped || computed || (old.primary().is_some() && draft.index(index::PRIMARY).is_none())
}

/// Whether no generated column gets other values, for columns that come one from the other: what they are computed from, and how,
/// is what it was. One that is generated no more keeps the values it has.
fn keeps_generated(new: &[ColumnDef], old: &[ColumnDef]) -> bool {
    let none = |columns: &[ColumnDef]| columns.iter().all(|column| column.generated.is_none());
    let expression = |column: &ColumnDef| column.generated.as_ref().map(|g| g.expression.clone());
    let same = |(new, old): (&ColumnDef, &ColumnDef)| new.ty == old.ty && expression(new) == expression(old);
    none(new) || new.iter().zip(old).all(same)
}

/// Whether values of the old type are values of the new one as they are stored, without reading them.
fn is_stored_alike(new: &SqlType, old: &SqlType) -> bool {
    if new == old {
        return true;
    }
    let longer = |new: &SqlType, old: &SqlType| {
        new.kind == TypeKind::VarChar
            && old.kind == TypeKind::VarChar
            && new.collation == old.collation
            && new.length >= old.length
    };
    let more_members = || {
        new.is_member()
            && new.kind == old.kind
            && new.collation == old.collation
            && new.members().starts_with(old.members())
            && new.engine_type() == old.engine_type()
    };
    let display_only = new.is_integer() && new.kind == old.kind && new.unsigned == old.unsigned;
    new.nullable == old.nullable
        && (longer(new, old) || more_members() || display_only && new.kind != TypeKind::Bit)
}

/// The value a new column has in rows that were there before it, or NULL for the time being: one whose default is an
/// expression gets its value from that, row by row.
pub(super) fn initial_value(column: &ColumnDef, now: &DateTime, env: &Env) -> Value {
    match &column.default {
        Some(ColumnDefault::Literal(value)) => value.clone(),
        Some(ColumnDefault::CurrentTimestamp) => {
            let now = assign(Value::DateTime(*now), &column.ty, &column.name, env);
            now.map_or(Value::Null, Value::into_owned)
        }
        Some(ColumnDefault::Expression(_)) => Value::Null,
        None if column.ty.nullable => Value::Null,
        None => zero_value(&column.ty),
    }
}

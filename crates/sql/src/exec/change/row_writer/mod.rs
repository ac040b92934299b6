//! The row writer: the one way in which statements change rows.
//!
//! INSERT, REPLACE, UPDATE, DELETE, LOAD DATA and CREATE TABLE … SELECT bring each row here, through whatever name, view or join they have
//! found it, and so do the cascades of foreign keys. What happens with a row, in MySQL's order:
//!
//! ```text
//!   before_insert, before_update   BEFORE hook → NOT NULL → generated columns → CHECK constraints and options
//!   insert, update, delete         foreign keys → engine → AFTER hook → counter of AUTO_INCREMENT
//! ```
//!
//! | statement | calls |
//! |---|---|
//! | INSERT | `before_insert`, `insert` |
//! | REPLACE | `before_insert`, `insert`; for each row in the way `make_way`, which deletes it, and `insert` again; `replace` for the last, where nothing acts on deletions |
//! | ON DUPLICATE KEY UPDATE | `before_insert`; for a row in the way `before_update`, `update` or `leave` |
//! | UPDATE | for each row that is found `before_update`, `update` or `leave` |
//! | DELETE | `delete`, before which the hook is called |
//! | a cascade | [`HookedTable`]'s `update` and `delete`: it is in the middle of foreign keys already, and nothing acts before it |
//!
//! A row that an UPDATE leaves as it is (`leave`) has been updated for triggers, though not for counters.
//!
//! *A row changes whole or not at all*, with its children, its entries in all indexes and what comes after it: if the second line fails with
//! an error that IGNORE passes over, what it has done is undone. What a hook did before stays done, as in MySQL.
//!
//! Invariant: a hook runs with no page latched and nothing of the transaction borrowed. So a row is locked and copied before it is changed.
//! That costs a second descent, which [`in_place`] saves: there rows are changed where they lie, by a call of the engine that shows them
//! under their latch. It serves exactly the targets that are [`latch_safe`](RowWriter::latch_safe), and those have no hooks.
//!
//! No other file calls what the engine has for changing rows (`tests/floors.py`): triggers, row events and partitions have one place
//! each.

mod hooked;
mod in_place;

pub use hooked::HookedTable;
pub use in_place::Judge;

use super::assignments::{Set, differs, evaluate_all, is_same};
use super::counter::{counted_in, observe_update};
use super::foreign_keys::Relations;
use super::generated::computed;
use super::rows::{Changed, Slots};
use super::{ChangeContext, is_ignorable};
use crate::dictionary::ColumnDef;
use crate::error::{Result, SqlError};
use crate::expr::Row;
use crate::plan::change::hooks::{After, Before, RowEvent};
use crate::plan::change::{Assignments, Target};
use crate::types::Value;
use crate::types::assign::zero_value;
use tidemark_engine::{Action, DuplicateLock, Error, IndexNo, Savepoint};

/// What changes the rows of a statement's target.
#[derive(Clone, Copy)]
pub struct RowWriter<'a> {
    target: &'a Target,
    run: ChangeContext<'a>,
}

/// What became of a row that was to be inserted.
pub enum Inserted {
    /// It is there.
    Done,
    /// It is not: the row with this primary key has its key in this index, and is locked.
    Duplicate { index: IndexNo, primary_key: Vec<u8> },
}

/// Why a row is updated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum UpdateBy {
    Update,
    /// ON DUPLICATE KEY UPDATE: what has one of its new keys is locked exclusively, and the statement sees to the counter itself.
    Duplicate,
}

impl<'a> RowWriter<'a> {
    /// For one statement.
    pub fn new(target: &'a Target, run: ChangeContext<'a>) -> RowWriter<'a> {
        RowWriter { target, run }
    }

    fn rows(&self) -> HookedTable<'a> {
        HookedTable::of_target(self.target, self.run)
    }

    /// What foreign keys ask of the target's rows; `None`: nothing.
    fn relations(&self) -> Option<Relations<'a>> {
        Relations::of(self.target.foreign_keys.as_deref(), self.run)
    }

    /// See [`Target::latch_safe`].
    pub fn latch_safe(&self, queries: bool) -> bool {
        self.target.latch_safe(queries)
    }

    /// True if anything but the engine hears of each row.
    pub fn has_hooks(&self) -> bool {
        self.target.hooks.is_some()
    }

    /// Whether REPLACE may make the new row of the old one: nothing refers to that, and nothing acts on deletions.
    pub fn may_replace(&self) -> bool {
        let refers = self.relations().is_some_and(|relations| relations.has_children());
        let hooks = self.target.hooks.as_deref();
        !refers && !hooks.is_some_and(|hooks| hooks.act_on(RowEvent::Delete))
    }

    /// Makes a row ready to be inserted, but for the value that AUTO_INCREMENT generates: this column is 0 for conditions until then.
    /// `null` gives what stands for NULL in another column that cannot be it, or the error that it is.
    pub fn before_insert(
        &self,
        row: &mut [Value],
        auto_increment: Option<usize>,
        null: &dyn Fn(usize) -> Result<Value>,
    ) -> Result<()> {
        let (target, ctx) = (self.target, self.run.env.ctx());
        if target.acts_before(RowEvent::Insert) {
            let nulls = self.nulls(row);
            self.rows().before(Before::Insert { new: row })?;
            for at in self
                .nulls(row)
                .into_iter()
                .filter(|at| Some(*at) != auto_increment)
            {
                row[at] = match nulls.contains(&at) {
                    true => null(at)?,
                    false => return Err(SqlError::bad_null(&target.def.columns[at].name)),
                };
            }
            for generated in target.generated.list() {
                row[generated.0] = computed(&target.def, generated, &Slots(row), &ctx)?;
            }
        }
        if !target.has_checks() {
            return Ok(());
        }
        let unset = auto_increment.filter(|column| row[*column].is_null());
        let zero = |column: usize| (column, zero_value(&target.def.columns[column].ty));
        let set: Vec<(usize, Value)> = unset.into_iter().map(zero).collect();
        let base = &Slots(row);
        target.check(&Changed { base, set: &set }, &ctx)
    }

    /// The columns that are NULL and cannot be. NULL that a statement gives may be replaced, outside strict mode; that of a hook is an error.
    fn nulls(&self, row: &[Value]) -> Vec<usize> {
        let columns = self.target.def.columns.iter().enumerate();
        let refuses = |(at, column): &(usize, &ColumnDef)| {
            row[*at].is_null() && !column.ty.nullable && column.generated.is_none()
        };
        columns.filter(refuses).map(|(at, _)| at).collect()
    }

    /// Has the value of the AUTO_INCREMENT column generated, and looks for the row's parents; see [`Relations::before_insert`].
    pub fn with_parents(
        &self,
        row: &mut [Value],
        generated: Option<usize>,
        generate: impl FnOnce(&mut [Value]) -> Result<()>,
    ) -> Result<()> {
        match self.relations() {
            None => generate(row),
            Some(relations) => relations.before_insert(row, generated, generate),
        }
    }

    /// Inserts a row whose values have their columns' types; `lock` is that of a row in its way.
    pub fn insert(&self, row: &[Value], lock: DuplicateLock) -> Result<Inserted> {
        let savepoint = self.run.txn.borrow_mut().savepoint();
        match self.rows().insert(row, lock) {
            Ok(()) => Ok(Inserted::Done),
            Err(Error::DuplicateKey { index, primary_key }) => {
                self.run.txn.borrow_mut().rollback_to(&savepoint)?;
                Ok(Inserted::Duplicate { index, primary_key })
            }
            Err(error) => self.undo_row(savepoint, error.into()),
        }
    }

    /// Makes a change of one row.
    fn whole<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let savepoint = self.run.txn.borrow_mut().savepoint();
        change().or_else(|error| self.undo_row(savepoint, error))
    }

    #[cold]
    fn undo_row<T>(&self, savepoint: Savepoint, error: SqlError) -> Result<T> {
        if is_ignorable(&error) {
            self.run.txn.borrow_mut().rollback_to(&savepoint)?;
        }
        Err(error)
    }

    /// Evaluates assignments for a row; returns whether it changes by them. See [`RowWriter::before_update`].
    pub fn assign(&self, assignments: &Assignments, row: &dyn Row, set: &mut Set) -> Result<bool> {
        evaluate_all(assignments, self.target, row, &self.run.env.ctx(), set)?;
        self.before_update(assignments, row, set)
    }

    /// Takes new values for a row, by column, and adds what follows from them; returns whether the row changes. Where hooks act, `set` is
    /// then what they have made of it.
    pub fn before_update(&self, assignments: &Assignments, row: &dyn Row, set: &mut Set) -> Result<bool> {
        match self.target.acts_before(RowEvent::Update) {
            false => assignments.follow_up(self.target, row, &self.run.env.ctx(), set),
            true => self.before_hooked_update(assignments, row, set),
        }
    }

    fn before_hooked_update(&self, assignments: &Assignments, row: &dyn Row, set: &mut Set) -> Result<bool> {
        let (target, ctx) = (self.target, self.run.env.ctx());
        let columns = &target.def.columns;
        if differs(row, set)? {
            assignments.set_now(target, &ctx, set);
            target.generate(&assignments.generated, row, &ctx, set)?;
        }
        let old = Changed { base: row, set: &[] }.copy(columns.len());
        let mut new = Changed { base: row, set }.copy(columns.len());
        let nulls = self.nulls(&new);
        self.rows().before(Before::Update {
            old: &old,
            new: &mut new,
        })?;
        for at in self.nulls(&new) {
            new[at] = match nulls.contains(&at) {
                true => target.null_refused(at, &ctx)?,
                false => return Err(SqlError::bad_null(&columns[at].name)),
            };
        }
        set.clear();
        for (at, value) in new.into_iter().enumerate() {
            if columns[at].generated.is_none() && !is_same(&old[at], &value)? {
                set.push((at, value));
            }
        }
        if set.is_empty() {
            return Ok(false);
        }
        let generated: Vec<usize> = target.generated.list().iter().map(|(at, _)| *at).collect();
        target.generate(&generated, row, &ctx, set)?;
        if target.has_checks() {
            target.check(&Changed { base: row, set }, &ctx)?;
        }
        Ok(true)
    }

    /// Changes a row that is locked, after those that refer to it. Returns whether it was there.
    pub fn update(&self, key: &[u8], old: &[Value], set: &[(usize, Value)], by: UpdateBy) -> Result<bool> {
        self.whole(|| self.update_with_children(key, old, set, by))
    }

    fn update_with_children(
        &self,
        key: &[u8],
        old: &[Value],
        set: &[(usize, Value)],
        by: UpdateBy,
    ) -> Result<bool> {
        let new = Changed {
            base: &Slots(old),
            set,
        };
        if let Some(relations) = self.relations() {
            relations.before_update(key, old, &new.copy(old.len()))?;
        }
        let found = self.rows().update(key, (old, set), by == UpdateBy::Duplicate);
        let found = found.map_err(|error| self.target.explain(error, &new))?;
        if found && by == UpdateBy::Update {
            let target = self.target;
            observe_update((&target.def, &target.table), counted_in(&target.def, set))?;
        }
        Ok(found)
    }

    /// Sees to a row that an update leaves as it is: `how` it stays locked. Returns whether it was there.
    pub fn leave(&self, key: &[u8], old: &[Value], how: Action) -> Result<bool> {
        debug_assert!(!matches!(how, Action::Update | Action::Delete));
        let found = self.rows().leave(key, how);
        let found = found.map_err(|error| self.explain(error))?;
        if found {
            self.rows().after(After::Update {
                old,
                new: old,
                written: false,
            })?;
        }
        Ok(found)
    }

    /// Makes the row of REPLACE of the one that is in its way, rather than remove that: less is to be undone and locked. Returns whether it
    /// changed; `None` if it is gone.
    pub fn replace(&self, key: &[u8], new: &[Value]) -> Result<Option<bool>> {
        if self.latch_safe(false) {
            return self.replace_in_place(key, new);
        }
        let Some(old) = self.lock(key)? else {
            return Ok(None);
        };
        let (old, rows) = (old.as_slice(), self.rows());
        let written = old != new;
        self.whole(|| {
            let found = match written {
                true => {
                    let set: Set = new.iter().cloned().enumerate().collect();
                    rows.write(key, &set, true)
                }
                false => rows.leave(key, Action::Keep),
            };
            if !found.map_err(|error| self.target.explain(error, &Slots(new)))? {
                return Ok(None);
            }
            rows.after(After::Replace { old, new, written })?;
            Ok(Some(written))
        })
    }

    /// Deletes a row that is locked, after those that refer to it; `new` is the one that REPLACE has in its place. Returns whether it was
    /// there.
    pub fn delete(&self, key: &[u8], old: &[Value], new: Option<&[Value]>) -> Result<bool> {
        if self.target.acts_before(RowEvent::Delete) {
            self.rows().before(Before::Delete { old })?;
        }
        self.whole(|| {
            if let Some(relations) = self.relations() {
                relations.before_delete(key, old, new)?;
            }
            self.rows().delete(key, old).map_err(|error| self.explain(error))
        })
    }

    /// Deletes a row that is in the way of REPLACE's. Returns whether it was there.
    pub fn make_way(&self, key: &[u8], new: &[Value]) -> Result<bool> {
        let refers = self.relations().is_some_and(|relations| relations.has_children());
        if !refers && !self.has_hooks() {
            return self
                .rows()
                .leave(key, Action::Delete)
                .map_err(|error| self.explain(error));
        }
        match self.lock(key)? {
            Some(old) => self.delete(key, &old, Some(new)),
            None => Ok(false),
        }
    }

    /// Locks a row exclusively and copies its newest version; `None` if it is gone.
    pub fn lock(&self, key: &[u8]) -> Result<Option<Vec<Value>>> {
        self.rows().lock(key).map_err(|error| self.explain(error))
    }

    fn explain(&self, error: tidemark_engine::Error) -> SqlError {
        SqlError::in_table(error, &self.target.def.name)
    }
}

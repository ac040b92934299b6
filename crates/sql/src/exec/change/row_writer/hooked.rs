//! The rows of one table as the engine changes them, each change followed by the hooks on the table.

use crate::dictionary::TableDef;
use crate::error::Result;
use crate::exec::change::ChangeContext;
use crate::exec::change::rows::{Changed, Slots, Stored};
use crate::plan::change::Target;
use crate::plan::change::foreign_keys::Node;
use crate::plan::change::hooks::{After, Before, HookContext, Origin, RowHooks};
use crate::types::storage::Scratch;
use crate::types::{TimeZone, Value};
use tidemark_engine::{Action, Datum, DuplicateLock, RowBuf, RowView, Table};

/// A table whose rows change, for one origin.
#[derive(Clone, Copy)]
pub struct HookedTable<'a> {
    def: &'a TableDef,
    table: &'a Table,
    hooks: Option<&'a RowHooks>,
    origin: Origin,
    run: ChangeContext<'a>,
}

impl<'a> HookedTable<'a> {
    /// For what a statement does to the rows of its target.
    pub fn of_target(target: &'a Target, run: ChangeContext<'a>) -> HookedTable<'a> {
        HookedTable {
            def: &target.def,
            table: &target.table,
            hooks: target.hooks.as_deref(),
            origin: Origin::Statement,
            run,
        }
    }

    /// For what foreign keys do to the rows of a table.
    pub fn of_child(node: &'a Node, run: ChangeContext<'a>) -> HookedTable<'a> {
        HookedTable {
            def: &node.def,
            table: &node.table,
            hooks: node.hooks.as_deref(),
            origin: Origin::Cascade,
            run,
        }
    }

    /// Calls the hooks that act before the row changes.
    pub fn before(&self, row: Before) -> Result<()> {
        let call = |hooks: &RowHooks| self.call(|context| hooks.before(context, row));
        self.hooks.map_or(Ok(()), call)
    }

    /// Calls the hooks: the row has changed.
    #[inline]
    pub fn after(&self, row: After) -> Result<()> {
        let call = |hooks: &RowHooks| self.call(|context| hooks.after(context, row));
        self.hooks.map_or(Ok(()), call)
    }

    #[cold]
    fn call(&self, f: impl FnOnce(HookContext) -> Result<()>) -> Result<()> {
        f(HookContext {
            session: self.run.session,
            txn: &mut self.run.txn.borrow_mut(),
            table: self.def,
            origin: self.origin,
        })
    }

    /// Inserts a row.
    pub fn insert(&self, row: &[Value], lock: DuplicateLock) -> tidemark_engine::Result<()> {
        const INLINE: usize = 24;
        if row.len() <= INLINE {
            let mut rooms: [Scratch; INLINE] = [[0; 32]; INLINE];
            let mut data = [Datum::Null; INLINE];
            self.store(row, &mut rooms, &mut data);
            self.put(&data[..row.len()], lock)?;
        } else {
            let mut rooms = vec![[0; 32]; row.len()];
            let mut data = vec![Datum::Null; row.len()];
            self.store(row, &mut rooms, &mut data);
            self.put(&data, lock)?;
        }
        Ok(self.after(After::Insert { new: row })?)
    }

    fn put(&self, data: &[Datum], lock: DuplicateLock) -> tidemark_engine::Result<()> {
        self.table.insert_with(&mut self.run.txn.borrow_mut(), data, lock)
    }

    fn store<'v>(&self, row: &'v [Value], rooms: &'v mut [Scratch], data: &mut [Datum<'v>]) {
        let zone = self.run.env.time_zone;
        let columns = self.def.columns.iter().zip(rooms).zip(data);
        for (value, ((column, room), datum)) in row.iter().zip(columns) {
            *datum = column.ty.store(value, zone, room);
        }
    }

    /// Gives columns of a row their new values. Returns whether it was there.
    pub fn update(
        &self,
        key: &[u8],
        (old, set): (&[Value], &[(usize, Value)]),
        duplicate: bool,
    ) -> tidemark_engine::Result<bool> {
        let found = self.write(key, set, duplicate)?;
        if found && self.hooks.is_some() {
            let new = Changed {
                base: &Slots(old),
                set,
            }
            .copy(old.len());
            self.after(After::Update {
                old,
                new: &new,
                written: true,
            })?;
        }
        Ok(found)
    }

    /// [`HookedTable::update`], of which hooks are not told. `duplicate`: what has one of the new keys is locked exclusively.
    pub fn write(
        &self,
        key: &[u8],
        set: &[(usize, Value)],
        duplicate: bool,
    ) -> tidemark_engine::Result<bool> {
        let mut write = |_: &RowView, buf: &mut RowBuf| {
            fill(self.def, set, buf, self.run.env.time_zone);
            Ok(Action::Update)
        };
        let txn = &mut **self.run.txn.borrow_mut();
        match duplicate {
            true => self.table.modify_duplicate(txn, key, &mut write),
            false => self.table.modify(txn, key, &mut write),
        }
    }

    /// Deletes a row. Returns whether it was there.
    pub fn delete(&self, key: &[u8], old: &[Value]) -> tidemark_engine::Result<bool> {
        let found = self.leave(key, Action::Delete)?;
        if found {
            self.after(After::Delete { old })?;
        }
        Ok(found)
    }

    /// Does to a row what needs no values. Returns whether it was there.
    pub fn leave(&self, key: &[u8], how: Action) -> tidemark_engine::Result<bool> {
        let txn = &mut **self.run.txn.borrow_mut();
        self.table.modify(txn, key, &mut |_, _| Ok(how))
    }

    /// Locks a row exclusively and copies its newest version; `None` if it is gone.
    pub fn lock(&self, key: &[u8]) -> tidemark_engine::Result<Option<Vec<Value>>> {
        let mut row = Vec::with_capacity(self.def.columns.len());
        let txn = &mut **self.run.txn.borrow_mut();
        let found = self.table.modify(txn, key, &mut |view, _| {
            let stored = Stored {
                def: self.def,
                view,
                zone: self.run.env.time_zone,
            };
            row.clear();
            stored.copy_to(&mut row);
            Ok(Action::Keep)
        })?;
        Ok(found.then_some(row))
    }
}

/// Writes changed columns into a row on its way to the page.
pub fn fill(def: &TableDef, set: &[(usize, Value)], buf: &mut RowBuf, zone: &TimeZone) {
    for (column, value) in set {
        let mut room: Scratch = [0; 32];
        buf.set(*column, def.columns[*column].ty.store(value, zone, &mut room));
    }
}

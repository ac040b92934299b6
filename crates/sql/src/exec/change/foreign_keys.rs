//! Foreign keys at work: a row that comes must have its parents, and a row that goes or changes its key takes its children
//! along, or stays.
//!
//! The row writer of a statement that touches foreign keys (`plan::change::foreign_keys`) brings its changes here row by row, before each is
//! made:
//!
//! ```text
//!   comes     every parent is there, or error 1452
//!   goes      each constraint of its children in turn: they are deleted or set to NULL, or if there are any error 1451
//!   changes   the same, children follow the new key; then every parent is there
//! ```
//!
//! *Locks.* All look-ups are locking reads of the newest rows. A parent is locked in shared mode until the transaction ends;
//! a transaction that deletes it, or changes its key, locks it exclusively before looking for children. So of an INSERT of a child
//! and a DELETE of its parent one waits for the other, whichever comes first, at every isolation level, and sees what
//! it has done. No read of this transaction's view is part of that.
//!
//! *Cascades* are changes like any other: of rows with their indexes, with savepoints around the statement, and with
//! foreign keys of their own. Children are locked and changed one after the other. They go depth first, at most [`DEPTH_MAX`] deep; one
//! that would update a table which is being updated further up is refused, since it might never end.
//!
//! *The order* is that of MySQL 9.6 and later: the statement's own row changes after its children, a row of a cascade before its
//! own. A cascade that comes around to the statement's own row passes over it, if that goes anyway, or is to have what the cascade would
//! give it.

use super::ChangeContext;
use super::assignments::Set;
use super::counter::{counted, observe_update};
use super::generated::computed;
use super::row_writer::HookedTable;
use super::rows::{Slots, Stored};
use crate::dictionary::{ForeignKeyDef, ReferentialAction, TableDef};
use crate::error::{Result, SqlError, er};
use crate::plan::change::ForeignKeys;
use crate::plan::change::foreign_keys::{ChildLink, ParentKey, ParentLink};
use crate::show::foreign_key_text;
use crate::types::storage::Scratch;
use crate::types::{SqlType, TypeKind, Val, Value};
use tidemark_engine::{
    Datum, Error, Flow, IndexNo, Keep, KeyRange, LockWait, RangeScan, Read, RowView, Table,
};

/// A cascade that has rows to change at this depth is refused.
const DEPTH_MAX: usize = 15;

/// A locking read of rows that must stay as they are.
const SHARED: Read = Read::Locking {
    exclusive: false,
    wait: LockWait::Wait,
};

/// The foreign keys that one statement touches.
#[derive(Clone, Copy)]
pub struct Relations<'a> {
    graph: &'a ForeignKeys,
    run: ChangeContext<'a>,
}

/// Where a cascade is.
#[derive(Clone, Copy)]
struct Step<'s> {
    node: usize,
    depth: usize,
    /// The constraint that led here; it holds by itself.
    via: Option<usize>,
    /// An UPDATE, of this node.
    updates: bool,
    /// The row of the target that the statement itself changes behind its children.
    own: Option<OwnRow<'s>>,
    up: Option<&'s Step<'s>>,
}

#[derive(Clone, Copy)]
struct OwnRow<'s> {
    primary_key: &'s [u8],
    /// What it becomes; `None`: it goes.
    new: Option<&'s [Value]>,
}

impl Step<'_> {
    const TARGET: Step<'static> = Step {
        node: 0,
        depth: 0,
        via: None,
        updates: false,
        own: None,
        up: None,
    };

    /// Whether a table is being updated here or further up.
    fn is_updating(&self, node: usize) -> bool {
        (self.updates && self.node == node) || self.up.is_some_and(|up| up.is_updating(node))
    }

    /// Whether a row is the statement's own, and becomes by itself what the step would make of it: gone, or with these values.
    fn is_done(&self, child: &Child, columns: &[usize], values: &[Value]) -> bool {
        let own = self
            .own
            .filter(|own| self.node == 0 && own.primary_key == child.primary_key);
        own.is_some_and(|own| match own.new {
            None => !self.updates,
            Some(new) => self.updates && columns.iter().zip(values).all(|(at, value)| new[*at] == *value),
        })
    }
}

/// A row that a cascade has locked.
struct Child {
    /// Its key in the index by which it was found.
    entry: Vec<u8>,
    primary_key: Vec<u8>,
    row: Vec<Value>,
}

impl<'a> Relations<'a> {
    /// `None`: there is nothing to be observed.
    pub fn of(graph: Option<&'a ForeignKeys>, run: ChangeContext<'a>) -> Option<Relations<'a>> {
        let graph = graph.filter(|_| run.session.settings.foreign_key_checks)?;
        Some(Relations { graph, run })
    }

    /// Whether rows of the target have children.
    pub fn has_children(&self) -> bool {
        !self.graph.nodes[0].children.is_empty()
    }

    /// A row is to be inserted, for whose column `generated` (NULL in it) a value is generated: behind the constraints that come
    /// before the first with this column, so that a row which they refuse uses none up. Error 1452.
    pub fn before_insert(
        &self,
        row: &mut [Value],
        generated: Option<usize>,
        generate: impl FnOnce(&mut [Value]) -> Result<()>,
    ) -> Result<()> {
        let node = &self.graph.nodes[0];
        let has_generated = |link: &ParentLink| {
            let columns = &node.def.foreign_keys[link.key].columns;
            generated.is_some_and(|column| columns.contains(&column))
        };
        let first = node.parents.iter().position(has_generated);
        let (before, behind) = node.parents.split_at(first.unwrap_or(node.parents.len()));
        self.check_parents(&node.def, before, None, row)?;
        generate(row)?;
        self.check_parents(&node.def, behind, None, row)
    }

    /// The row with this primary key is to be deleted, or, for REPLACE, to give way to a new one: its children refuse, with error
    /// 1451, or follow.
    pub fn before_delete(&self, primary_key: &[u8], old: &[Value], new: Option<&[Value]>) -> Result<()> {
        let own = OwnRow {
            primary_key,
            new: None,
        };
        let step = Step {
            own: Some(own),
            ..Step::TARGET
        };
        self.see_to_children(step, old, new, Event::Delete)
    }

    /// The row with this primary key is to be changed: its children refuse, with error 1451, or follow, and its new parents are there, or error 1452.
    pub fn before_update(&self, primary_key: &[u8], old: &[Value], new: &[Value]) -> Result<()> {
        let own = OwnRow {
            primary_key,
            new: Some(new),
        };
        let step = Step {
            updates: true,
            own: Some(own),
            ..Step::TARGET
        };
        self.see_to_update(step, old, new)
    }

    fn see_to_update(&self, step: Step, old: &[Value], new: &[Value]) -> Result<()> {
        self.see_to_children(step, old, Some(new), Event::Update)?;
        let node = &self.graph.nodes[step.node];
        let links = node.parents.iter().filter(|link| step.via != Some(link.key));
        self.check_parents(&node.def, links, Some(old), new)
    }

    /// Each constraint of which a row is the parent, if the row's key goes; of one table those that cascade first.
    fn see_to_children(&self, step: Step, old: &[Value], new: Option<&[Value]>, event: Event) -> Result<()> {
        let concerned =
            |link: &&ChildLink| new.is_none_or(|new| link.columns.iter().any(|at| old[*at] != new[*at]));
        let action = |link: &ChildLink| match event {
            Event::Delete => link.on_delete,
            Event::Update => link.on_update,
        };
        let links = &self.graph.nodes[step.node].children;
        for of_table in links.chunk_by(|a, b| a.child == b.child) {
            let (cascading, refusing): (Vec<_>, Vec<_>) = of_table
                .iter()
                .filter(concerned)
                .partition(|link| action(link).changes_children());
            for link in cascading {
                self.cascade(step, link, (old, new), event, action(link))?;
            }
            for link in refusing {
                self.refuse(step, link, old)?;
            }
        }
        Ok(())
    }

    /// Error 1452 if a parent is missing that the row did not have before.
    fn check_parents<'l>(
        &self,
        child: &TableDef,
        links: impl IntoIterator<Item = &'l ParentLink>,
        old: Option<&[Value]>,
        row: &[Value],
    ) -> Result<()> {
        for link in links {
            let columns = &child.foreign_keys[link.key].columns;
            let is_null = columns.iter().any(|at| row[*at].is_null());
            let as_before = old.is_some_and(|old| columns.iter().all(|at| old[*at] == row[*at]));
            if !is_null && !as_before && !self.has_parent(child, link, row)? {
                return Err(self.no_parent(child, link));
            }
        }
        Ok(())
    }

    fn has_parent(&self, child: &TableDef, link: &ParentLink, row: &[Value]) -> Result<bool> {
        let Some(parent) = &link.parent else {
            return Ok(false);
        };
        let columns = &child.foreign_keys[link.key].columns;
        let mut pairs = columns.iter().zip(&parent.columns);
        if parent.own && pairs.all(|(at, referenced)| row[*at] == row[*referenced]) {
            return Ok(true);
        }
        let mut values = Vec::with_capacity(columns.len());
        for (at, referenced) in columns.iter().zip(&parent.columns) {
            let to = &parent.def.columns[*referenced].ty;
            match fitted(&row[*at], &child.columns[*at].ty, to) {
                Some(value) => values.push((value, to)),
                None => return Ok(false),
            }
        }
        self.find_parent(parent, &values)
    }

    /// One search of the parent's index; what it finds stays locked.
    fn find_parent(&self, parent: &ParentKey, values: &[(Value, &SqlType)]) -> Result<bool> {
        let key = self.encode(&parent.table, parent.index, values)?;
        let txn = &mut **self.run.txn.borrow_mut();
        if parent.index == 0 && parent.whole {
            let found = parent.table.get(txn, 0, &key, SHARED, &mut |_| Ok(Keep::Locked));
            return found.map_err(|error| SqlError::in_table(error, &parent.def.name));
        }
        find_first(txn, &parent.table, parent.index, key).map_err(|e| SqlError::in_table(e, &parent.def.name))
    }

    fn encode(&self, table: &Table, index: IndexNo, values: &[(Value, &SqlType)]) -> Result<Vec<u8>> {
        const INLINE: usize = 16;
        let mut rooms: [Scratch; INLINE] = [[0; 32]; INLINE];
        let mut data = [Datum::Null; INLINE];
        let zone = self.run.env.time_zone;
        for ((datum, room), (value, ty)) in data.iter_mut().zip(&mut rooms).zip(values) {
            *datum = ty.store(value, zone, room);
        }
        let mut key = Vec::with_capacity(64);
        table.encode_key(index, &data[..values.len()], &mut key)?;
        Ok(key)
    }

    /// The key by which the children of a row are found; `None` if it can have none.
    fn children_key(&self, parent: &TableDef, link: &ChildLink, row: &[Value]) -> Result<Option<Vec<u8>>> {
        let child = &self.graph.nodes[link.child];
        let columns = &self.graph.child_key(link).columns;
        let mut values = Vec::with_capacity(columns.len());
        for (at, child_at) in link.columns.iter().zip(columns) {
            let to = &child.def.columns[*child_at].ty;
            match fitted(&row[*at], &parent.columns[*at].ty, to) {
                Some(Val::Null) | None => return Ok(None),
                Some(value) => values.push((value, to)),
            }
        }
        self.encode(&child.table, link.index, &values).map(Some)
    }

    /// Error 1451 if the row has a child by this link.
    fn refuse(&self, step: Step, link: &ChildLink, row: &[Value]) -> Result<()> {
        let child = &self.graph.nodes[link.child];
        let Some(key) = self.children_key(&self.graph.nodes[step.node].def, link, row)? else {
            return Ok(());
        };
        let txn = &mut **self.run.txn.borrow_mut();
        match find_first(txn, &child.table, link.index, key) {
            Ok(false) => Ok(()),
            Ok(true) => Err(self.has_child(link)),
            Err(error) => Err(SqlError::in_table(error, &child.def.name)),
        }
    }

    /// Deletes or changes the children of a row, one after the other.
    fn cascade(
        &self,
        step: Step,
        link: &ChildLink,
        (old, new): (&[Value], Option<&[Value]>),
        event: Event,
        action: ReferentialAction,
    ) -> Result<()> {
        let parent = &self.graph.nodes[step.node].def;
        let Some(key) = self.children_key(parent, link, old)? else {
            return Ok(());
        };
        let (range, columns) = (KeyRange::prefix(key), &self.graph.child_key(link).columns);
        let Some(mut child) = self.next_child(link, &range, None)? else {
            return Ok(());
        };
        if step.depth + 1 >= DEPTH_MAX {
            return Err(SqlError::new(
                er::FK_DEPTH_EXCEEDED,
                format!("Foreign key cascade delete/update exceeds max depth of {DEPTH_MAX}."),
            ));
        }
        let deletes = event == Event::Delete && action == ReferentialAction::Cascade;
        let below = Step {
            node: link.child,
            depth: step.depth + 1,
            via: Some(link.key),
            updates: !deletes,
            own: step.own,
            up: Some(&step),
        };
        let values = match (deletes, new) {
            (true, _) => Vec::new(),
            (false, Some(new)) if action == ReferentialAction::Cascade => {
                self.handed_down(step, link, new)?
            }
            (false, _) => vec![Val::Null; link.columns.len()],
        };
        loop {
            if !below.is_done(&child, columns, &values) {
                match deletes {
                    true => self.delete(below, &child)?,
                    false if step.is_updating(link.child) => return Err(self.has_child(link)),
                    false => self.update(below, link, &child, &values)?,
                }
            }
            child = match self.next_child(link, &range, Some(&child.entry))? {
                Some(next) => next,
                None => return Ok(()),
            };
        }
    }

    /// Locks and copies the next row that a cascade is to change.
    fn next_child(&self, link: &ChildLink, range: &KeyRange, after: Option<&[u8]>) -> Result<Option<Child>> {
        let run = self.run;
        let node = &self.graph.nodes[link.child];
        let scan = RangeScan::new(link.index, range).after(after);
        let mut found = None;
        let mut take = |view: &RowView| {
            let row = Stored {
                def: &node.def,
                view,
                zone: run.env.time_zone,
            };
            let mut kept = Vec::new();
            row.copy_to(&mut kept);
            found = Some(Child {
                entry: view.key().to_vec(),
                primary_key: view.primary_key().to_vec(),
                row: kept,
            });
            Ok((Keep::Locked, Flow::Stop))
        };
        let txn = &mut **run.txn.borrow_mut();
        let scanned = node.table.scan_to_change(txn, &scan, None, &mut take);
        scanned.map_err(|error| SqlError::in_table(error, &node.def.name))?;
        Ok(found)
    }

    /// The parent's new key, as the child's columns take it. Error 1451 if they cannot.
    fn handed_down(&self, step: Step, link: &ChildLink, new: &[Value]) -> Result<Vec<Value>> {
        let parent = &self.graph.nodes[step.node].def;
        let child = &self.graph.nodes[link.child].def;
        let columns = link.columns.iter().zip(&self.graph.child_key(link).columns);
        let value = |(at, child_at): (&usize, &usize)| {
            let to = &child.columns[*child_at].ty;
            let value = fitted(&new[*at], &parent.columns[*at].ty, to);
            value.filter(|value| to.nullable || !value.is_null())
        };
        let values: Option<Vec<Value>> = columns.map(value).collect();
        values.ok_or_else(|| self.has_child(link))
    }

    fn delete(&self, step: Step, child: &Child) -> Result<()> {
        let node = &self.graph.nodes[step.node];
        let deleted = HookedTable::of_child(node, self.run).delete(&child.primary_key, &child.row);
        deleted.map_err(|error| SqlError::in_table(error, &node.def.name))?;
        self.see_to_children(step, &child.row, None, Event::Delete)
    }

    fn update(&self, step: Step, link: &ChildLink, child: &Child, values: &[Value]) -> Result<()> {
        let node = &self.graph.nodes[step.node];
        let columns = &self.graph.child_key(link).columns;
        let mut new = child.row.clone();
        for (at, value) in columns.iter().zip(values) {
            new[*at] = value.clone();
        }
        let mut changed = columns.clone();
        changed.extend(node.generated.affected(columns));
        for generated in node.generated.list() {
            if changed.contains(&generated.0) {
                new[generated.0] = computed(&node.def, generated, &Slots(&new), &self.run.env.ctx())?;
            }
        }
        let set: Set = changed.iter().map(|at| (*at, new[*at].clone())).collect();
        let table = HookedTable::of_child(node, self.run);
        match table.update(&child.primary_key, (&child.row, &set), false) {
            Ok(_) => {
                let counter = columns.iter().find(|at| node.def.columns[**at].auto_increment);
                let value = counter.and_then(|at| counted(&new[*at]));
                observe_update((&node.def, &node.table), value)?;
                self.see_to_update(step, &child.row, &new)
            }
            Err(Error::DuplicateKey { index, .. }) => Err(self.duplicate_child(step, index, values)),
            Err(error) => Err(SqlError::in_table(error, &node.def.name)),
        }
    }

    /// Error 1452, or 1216 for an account that may not know of the parent.
    fn no_parent(&self, child: &TableDef, link: &ParentLink) -> SqlError {
        let key = &child.foreign_keys[link.key];
        let text = "Cannot add or update a child row: a foreign key constraint fails";
        match self.run.session.sees_table(&key.parent_schema, &key.parent) {
            true => SqlError::new(
                er::NO_REFERENCED_ROW_2,
                format!("{text} {}", constraint(child, key)),
            ),
            false => SqlError::new(er::NO_REFERENCED_ROW, text),
        }
    }

    /// Error 1451, or 1217 for an account that may not know of the child.
    fn has_child(&self, link: &ChildLink) -> SqlError {
        let (child, key) = (&self.graph.nodes[link.child].def, self.graph.child_key(link));
        let text = "Cannot delete or update a parent row: a foreign key constraint fails";
        match self.run.session.sees_table(&child.schema, &child.name) {
            true => SqlError::new(
                er::ROW_IS_REFERENCED_2,
                format!("{text} {}", constraint(child, key)),
            ),
            false => SqlError::new(er::ROW_IS_REFERENCED, text),
        }
    }

    /// Error 1761.
    fn duplicate_child(&self, step: Step, index: IndexNo, values: &[Value]) -> SqlError {
        let child = &self.graph.nodes[step.node].def;
        let parent = step.up.map_or("", |up| &self.graph.nodes[up.node].def.name);
        let record: Vec<String> = values
            .iter()
            .map(|value| String::from_utf8_lossy(&value.to_text()).into_owned())
            .collect();
        let name = child.index_by_number(index).map_or("", |index| &index.name);
        SqlError::new(
            er::FOREIGN_DUPLICATE_KEY_WITH_CHILD_INFO,
            format!(
                "Foreign key constraint for table '{parent}', record '{}' would lead to a duplicate entry in table '{}', \
                 key '{name}'",
                record.join("-"),
                child.name
            ),
        )
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Delete,
    Update,
}

/// A constraint as errors name it; what a child is told to become by default is nothing they know.
fn constraint(child: &TableDef, key: &ForeignKeyDef) -> String {
    let plain = |action| match action {
        ReferentialAction::SetDefault => ReferentialAction::NoAction,
        action => action,
    };
    let key = ForeignKeyDef {
        on_delete: plain(key.on_delete),
        on_update: plain(key.on_update),
        ..key.clone()
    };
    format!(
        "(`{}`.`{}`, {})",
        child.schema,
        child.name,
        foreign_key_text(&key, child)
    )
}

/// Locks the first row whose key begins so, if there is one.
fn find_first(
    txn: &mut tidemark_engine::Transaction,
    table: &Table,
    index: IndexNo,
    key: Vec<u8>,
) -> tidemark_engine::Result<bool> {
    let range = KeyRange::prefix(key);
    let scan = RangeScan::new(index, &range).covering(index != 0);
    let mut found = false;
    table.scan(txn, &scan, SHARED, &mut |_| {
        found = true;
        Ok((Keep::Locked, Flow::Stop))
    })?;
    Ok(found)
}

/// A value of one column as a value of another that compares alike; `None` if that has no such value.
fn fitted(value: &Value, from: &SqlType, to: &SqlType) -> Option<Value> {
    if from == to || value.is_null() {
        return Some(value.clone());
    }
    match (value, to.kind) {
        (Val::Str(text), TypeKind::Char | TypeKind::VarChar) => {
            let fits = to.collation.charset().char_count(text) <= to.length as usize;
            (from.collation == to.collation && fits).then(|| value.clone())
        }
        (Val::Str(_), _) => (from.collation == to.collation).then(|| value.clone()),
        // As in MySQL, which compares them as they are stored.
        (Val::Decimal(_), _) => {
            (from.engine_type() == to.engine_type() && from.scale == to.scale).then(|| value.clone())
        }
        _ => Some(value.clone()),
    }
}

//! Foreign keys at work: a row that comes must have its parents, and a row that goes or changes its key takes its children
//! along, or stays.
//!
//! A statement that touches foreign keys (`plan::change::foreign_keys`) brings its changes here row by row, before and after
//! each is made:
//!
//! ```text
//!   comes     before: every parent is there, or error 1452
//!   goes      before: no child refuses, or error 1451        after: children are deleted, or set to NULL
//!   changes   before: both                                    after: children follow, or are set to NULL
//! ```
//!
//! *Locks.* All look-ups are locking reads of the newest rows. A parent is locked in shared mode until the transaction ends;
//! a transaction that deletes it, or changes its key, locks it exclusively before looking for children. So of an INSERT of a child
//! and a DELETE of its parent one waits for the other, whichever comes first, at every isolation level, and sees what
//! it has done. No read of this transaction's view is part of that.
//!
//! *Cascades* are changes like any other: of rows with their indexes, with savepoints around the statement, and with
//! foreign keys of their own. They go depth first, at most [`DEPTH_MAX`] deep; one that would update a table which is being
//! updated further up is refused, since it might never end. As in MySQL 9.6 and later, a constraint is asked before the row
//! is changed; if others of the row cascade, after those, which may have removed what refuses, or brought the parent that
//! is missing.

use super::ChangeContext;
use super::generated::computed;
use super::rows::{Slots, Stored};
use crate::dictionary::{ForeignKeyDef, ReferentialAction, TableDef};
use crate::error::{Result, SqlError, er};
use crate::exec::spill::{KeptRows, Room, Shares};
use crate::plan::change::ForeignKeys;
use crate::plan::change::foreign_keys::{ChildLink, ParentKey, ParentLink};
use crate::show::foreign_key_text;
use crate::types::storage::Scratch;
use crate::types::{SqlType, TypeKind, Val, Value};
use tidemark_engine::{
    Action, Datum, Error, Flow, IndexNo, Keep, KeyRange, LockWait, RangeScan, Read, RowView, Table,
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
    up: Option<&'s Step<'s>>,
}

impl Step<'_> {
    const TARGET: Step<'static> = Step {
        node: 0,
        depth: 0,
        via: None,
        updates: false,
        up: None,
    };

    /// Whether a table is being updated here or further up.
    fn is_updating(&self, node: usize) -> bool {
        (self.updates && self.node == node) || self.up.is_some_and(|up| up.is_updating(node))
    }
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

    /// A row is to be inserted. Error 1452.
    pub fn before_insert(&self, row: &[Value]) -> Result<()> {
        self.check_parents(Step::TARGET, None, row)
    }

    /// A row is to be deleted, or, for REPLACE, to give way to a new one. Error 1451.
    pub fn before_delete(&self, old: &[Value], new: Option<&[Value]>) -> Result<()> {
        self.refuse_early(Step::TARGET, old, new, Event::Delete)
    }

    /// It has been deleted.
    pub fn after_delete(&self, old: &[Value], new: Option<&[Value]>) -> Result<()> {
        self.follow(Step::TARGET, old, new, Event::Delete)
    }

    /// A row is to be changed. Errors 1451 and 1452.
    pub fn before_update(&self, old: &[Value], new: &[Value]) -> Result<()> {
        self.refuse_early(Self::updating(), old, Some(new), Event::Update)?;
        self.check_early(Self::updating(), old, new)
    }

    /// It has been changed.
    pub fn after_update(&self, old: &[Value], new: &[Value]) -> Result<()> {
        self.follow(Self::updating(), old, Some(new), Event::Update)
    }

    /// Error 1452 before a row is changed, if its change does not cascade: in a circle the parent may follow.
    fn check_early(&self, step: Step, old: &[Value], new: &[Value]) -> Result<()> {
        match self.cascades(step, old, Some(new), Event::Update) {
            true => Ok(()),
            false => self.check_parents(step, Some(old), new),
        }
    }

    fn cascades(&self, step: Step, old: &[Value], new: Option<&[Value]>, event: Event) -> bool {
        let mut concerned = self.concerned(step, old, new, event);
        concerned.any(|(_, action)| action.changes_children())
    }

    fn updating() -> Step<'static> {
        Step {
            updates: true,
            ..Step::TARGET
        }
    }

    /// Error 1452 if a parent is missing that the row did not have before.
    fn check_parents(&self, step: Step, old: Option<&[Value]>, row: &[Value]) -> Result<()> {
        let node = &self.graph.nodes[step.node];
        for link in node.parents.iter().filter(|link| step.via != Some(link.key)) {
            let columns = &node.def.foreign_keys[link.key].columns;
            let is_null = columns.iter().any(|at| row[*at].is_null());
            let as_before = old.is_some_and(|old| columns.iter().all(|at| old[*at] == row[*at]));
            if !is_null && !as_before && !self.has_parent(&node.def, link, row)? {
                return Err(self.no_parent(&node.def, link));
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

    /// The links from a row to children that an event concerns: those whose key goes.
    fn concerned<'r>(
        &self,
        step: Step,
        old: &'r [Value],
        new: Option<&'r [Value]>,
        event: Event,
    ) -> impl Iterator<Item = (&'a ChildLink, ReferentialAction)> + use<'r, 'a> {
        let links = self.graph.nodes[step.node].children.iter();
        links.filter_map(move |link| {
            let stays = new.is_some_and(|new| link.columns.iter().all(|at| old[*at] == new[*at]));
            let action = match event {
                Event::Delete => link.on_delete,
                Event::Update => link.on_update,
            };
            (!stays).then_some((link, action))
        })
    }

    /// Error 1451 before a row is changed, if nothing that cascades could yet remove what refuses.
    fn refuse_early(&self, step: Step, old: &[Value], new: Option<&[Value]>, event: Event) -> Result<()> {
        let cascades = self.cascades(step, old, new, event);
        for (link, action) in self.concerned(step, old, new, event) {
            if !action.changes_children() && (!cascades || self.is_own_child(step, link, old)) {
                self.refuse(step, link, old)?;
            }
        }
        Ok(())
    }

    /// Whether a row is its own child.
    fn is_own_child(&self, step: Step, link: &ChildLink, row: &[Value]) -> bool {
        let columns = &self.graph.child_key(link).columns;
        let mut pairs = columns.iter().zip(&link.columns);
        link.child == step.node && pairs.all(|(at, referenced)| row[*at] == row[*referenced])
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

    /// Changes the children of a row that has gone or changed; then whatever is asked that was not before.
    fn follow(&self, step: Step, old: &[Value], new: Option<&[Value]>, event: Event) -> Result<()> {
        let mut cascades = false;
        for (link, action) in self.concerned(step, old, new, event) {
            if action.changes_children() {
                cascades = true;
                self.cascade(step, link, (old, new), event, action)?;
            }
        }
        if !cascades {
            return Ok(());
        }
        for (link, action) in self.concerned(step, old, new, event) {
            if !action.changes_children() {
                self.refuse(step, link, old)?;
            }
        }
        match (event, new) {
            (Event::Update, Some(new)) => self.check_parents(step, Some(old), new),
            _ => Ok(()),
        }
    }

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
        let children = self.collect(link, key)?;
        if children.is_empty() {
            return Ok(());
        }
        if step.depth + 1 >= DEPTH_MAX {
            return Err(SqlError::new(
                er::FK_DEPTH_EXCEEDED,
                format!("Foreign key cascade delete/update exceeds max depth of {DEPTH_MAX}."),
            ));
        }
        let deletes = event == Event::Delete && action == ReferentialAction::Cascade;
        if !deletes && step.is_updating(link.child) {
            return Err(self.has_child(link));
        }
        let below = Step {
            node: link.child,
            depth: step.depth + 1,
            via: Some(link.key),
            updates: !deletes,
            up: Some(&step),
        };
        let values = match (deletes, new) {
            (true, _) => Vec::new(),
            (false, Some(new)) if action == ReferentialAction::Cascade => {
                self.handed_down(step, link, new)?
            }
            (false, _) => vec![Val::Null; link.columns.len()],
        };
        children.for_each(&mut |row| {
            if let [Val::Str(key), row @ ..] = row {
                match deletes {
                    true => self.delete(below, key, row)?,
                    false => self.update(below, link, key, row, &values)?,
                }
            }
            Ok(true)
        })
    }

    /// Locks and copies the rows that a cascade is to change, each behind its primary key.
    fn collect(&self, link: &ChildLink, key: Vec<u8>) -> Result<KeptRows<'a>> {
        let run = self.run;
        let child = &self.graph.nodes[link.child];
        let mut rows = KeptRows::new(Room::of(run.session), Shares::of(run.session).table);
        let range = KeyRange::prefix(key);
        let scan = RangeScan::new(link.index, &range);
        let mut take = |view: &RowView| {
            let row = Stored {
                def: &child.def,
                view,
                zone: run.env.time_zone,
            };
            let mut kept = vec![Value::string(view.primary_key())];
            row.copy_to(&mut kept);
            rows.push(kept)?;
            Ok((Keep::Locked, Flow::Continue))
        };
        let txn = &mut **run.txn.borrow_mut();
        let scanned = child.table.scan_to_change(txn, &scan, None, &mut take);
        scanned.map_err(|error| SqlError::in_table(error, &child.def.name))?;
        Ok(rows)
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

    fn delete(&self, step: Step, key: &[u8], old: &[Value]) -> Result<()> {
        let node = &self.graph.nodes[step.node];
        self.refuse_early(step, old, None, Event::Delete)?;
        let found = {
            let txn = &mut **self.run.txn.borrow_mut();
            node.table.modify(txn, key, &mut |_, _| Ok(Action::Delete))
        };
        match found.map_err(|error| SqlError::in_table(error, &node.def.name))? {
            true => self.follow(step, old, None, Event::Delete),
            // Another branch of the cascade was faster.
            false => Ok(()),
        }
    }

    fn update(
        &self,
        step: Step,
        link: &ChildLink,
        key: &[u8],
        old: &[Value],
        values: &[Value],
    ) -> Result<()> {
        let node = &self.graph.nodes[step.node];
        let columns = &self.graph.child_key(link).columns;
        let mut new = old.to_vec();
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
        self.refuse_early(step, old, Some(&new), Event::Update)?;
        self.check_early(step, old, &new)?;
        let zone = self.run.env.time_zone;
        let found = {
            let txn = &mut **self.run.txn.borrow_mut();
            node.table.modify(txn, key, &mut |_, buf| {
                for at in &changed {
                    let mut room: Scratch = [0; 32];
                    buf.set(*at, node.def.columns[*at].ty.store(&new[*at], zone, &mut room));
                }
                Ok(Action::Update)
            })
        };
        match found {
            Ok(true) => self.follow(step, old, Some(&new), Event::Update),
            Ok(false) => Ok(()),
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

//! Tables and joins: where rows come from.
//!
//! A join is a nest of loops, written as calls: each source hands its rows to `next`, which runs the sources after it.
//! The row so far is one vector of slots that every table fills in at its place. Only the innermost source may hand out
//! rows that are still in their page, and only if what follows is safe under its latch.

use super::rows::{JoinedRow, LeafRow};
use super::{Exec, Flow, Scene};
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Expr, Row};
use crate::information_schema;
use crate::plan::{HashJoin, Input, Leaf, LeftJoin, Source};
use crate::types::Value;
use crate::types::sort::sort_key;
use std::collections::HashMap;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;
use tidemark_engine::{Keep, KeyRange, Read, RowView, Table};

/// Rows copied before the loops go on to the next table.
const BATCH_ROWS: usize = 256;

/// What a source hands on.
pub enum Step<'s> {
    Row(&'s mut Vec<Value>),
    /// In its page.
    Leaf(&'s LeafRow<'s>),
    /// No row, no latch: a chance to send what is full.
    Flush,
}

pub type Next<'n> = &'n mut dyn FnMut(Step) -> Result<Flow>;

/// A table's rows by the values of some expressions over it.
pub struct HashTable {
    rows: Vec<Vec<Value>>,
    by_key: HashMap<Vec<u8>, Vec<u32>>,
}

impl Exec<'_, '_> {
    /// Hands all rows of the source to `next`. `direct`: it takes rows in their pages.
    pub fn source(
        &self,
        source: &Source,
        row: &mut Vec<Value>,
        scene: Scene,
        direct: bool,
        next: Next,
    ) -> Result<Flow> {
        match source {
            Source::One => next(Step::Row(row)),
            Source::Leaf(leaf) => self.leaf(leaf, row, scene, direct, next),
            Source::Inner(list) => self.inner(list, row, scene, direct, next),
            Source::Left(join) => self.left_join(join, row, scene, next),
        }
    }

    fn inner(
        &self,
        list: &[Source],
        row: &mut Vec<Value>,
        scene: Scene,
        direct: bool,
        next: Next,
    ) -> Result<Flow> {
        let Some((first, rest)) = list.split_first() else {
            return next(Step::Row(row));
        };
        if rest.is_empty() {
            return self.source(first, row, scene, direct, next);
        }
        self.source(first, row, scene, false, &mut |step| match step {
            Step::Row(row) => self.inner(rest, row, scene, direct, next),
            other => next(other),
        })
    }

    fn left_join(&self, join: &LeftJoin, row: &mut Vec<Value>, scene: Scene, next: Next) -> Result<Flow> {
        let LeftJoin { left, right, filter } = join;
        let mut added = Vec::new();
        right.walk(&mut |_| {}, &mut |leaf| {
            added.extend(leaf.needed.iter().map(|column| leaf.base + column))
        });
        let passes = |row: &[Value]| match filter {
            Some(filter) => filter.is_true(&EvalCtx {
                row: &JoinedRow {
                    values: row,
                    outer: scene.outer,
                },
                env: scene.env,
            }),
            None => Ok(true),
        };
        self.source(left, row, scene, false, &mut |step| {
            let row = match step {
                Step::Row(row) => row,
                other => return next(other),
            };
            let mut matched = false;
            let flow = self.source(right, row, scene, false, &mut |step| match step {
                Step::Row(row) => {
                    matched = true;
                    if passes(row)? {
                        next(Step::Row(row))
                    } else {
                        Ok(Flow::Next)
                    }
                }
                other => next(other),
            })?;
            if flow == Flow::Stop || matched {
                return Ok(flow);
            }
            for slot in &added {
                row[*slot] = Value::Null;
            }
            if passes(row)? {
                next(Step::Row(row))
            } else {
                Ok(Flow::Next)
            }
        })
    }

    // -------------------------------------------------------------------------------------------- one table

    fn leaf(
        &self,
        leaf: &Leaf,
        row: &mut Vec<Value>,
        scene: Scene,
        direct: bool,
        next: Next,
    ) -> Result<Flow> {
        if let Some(hash) = &leaf.hash {
            return self.probe(leaf, hash, row, scene, next);
        }
        self.read_leaf(leaf, row, scene, direct && leaf.late_filter.is_none(), next)
    }

    /// All rows of a table that pass its filters.
    fn read_leaf(
        &self,
        leaf: &Leaf,
        row: &mut Vec<Value>,
        scene: Scene,
        direct: bool,
        next: Next,
    ) -> Result<Flow> {
        match &leaf.input {
            Input::Stored { def, table } => {
                let scan = Scan {
                    exec: self,
                    leaf,
                    def,
                    table,
                    scene,
                    direct,
                };
                scan.run(row, next)
            }
            Input::Virtual(def) => {
                let rows = information_schema::rows(def, self.session)?;
                self.kept(leaf, &rows, row, scene, next)
            }
            Input::Derived { query, .. } => {
                let rows = self.rows_for(*query, scene)?;
                self.kept(leaf, &rows, row, scene, next)
            }
        }
    }

    /// Rows that are in memory.
    fn kept(
        &self,
        leaf: &Leaf,
        rows: &[Vec<Value>],
        row: &mut Vec<Value>,
        scene: Scene,
        next: Next,
    ) -> Result<Flow> {
        for (n, values) in rows.iter().enumerate() {
            if n % BATCH_ROWS == 0 {
                self.check_interrupt()?;
            }
            row[leaf.base..leaf.base + values.len()].clone_from_slice(values);
            if !self.passes(leaf.filter.as_ref(), row, scene)? {
                continue;
            }
            if self.hand_on(leaf, row, scene, next)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Next)
    }

    fn passes(&self, filter: Option<&Expr>, row: &[Value], scene: Scene) -> Result<bool> {
        match filter {
            Some(filter) => {
                let row = JoinedRow {
                    values: row,
                    outer: scene.outer,
                };
                filter.is_true(&EvalCtx {
                    row: &row,
                    env: scene.env,
                })
            }
            None => Ok(true),
        }
    }

    /// A copied row goes through the late filter to the next source, and a full result is sent.
    fn hand_on(&self, leaf: &Leaf, row: &mut Vec<Value>, scene: Scene, next: Next) -> Result<Flow> {
        if !self.passes(leaf.late_filter.as_ref(), row, scene)? {
            return Ok(Flow::Next);
        }
        let flow = next(Step::Row(row))?;
        if flow == Flow::Pause {
            next(Step::Flush)?;
        }
        Ok(flow)
    }

    // ----------------------------------------------------------------------------------------------- hashing

    fn probe(
        &self,
        leaf: &Leaf,
        hash: &HashJoin,
        row: &mut Vec<Value>,
        scene: Scene,
        next: Next,
    ) -> Result<Flow> {
        let table = self.hash_table(leaf, hash, row.len(), scene)?;
        let all: Vec<u32>;
        let found: &[u32] = if hash.probe.is_empty() {
            all = (0..table.rows.len() as u32).collect();
            &all
        } else {
            let probe = JoinedRow {
                values: row,
                outer: scene.outer,
            };
            match key_of(
                &hash.probe,
                &EvalCtx {
                    row: &probe,
                    env: scene.env,
                },
            )? {
                Some(key) => table.by_key.get(&key).map_or(&[][..], Vec::as_slice),
                None => &[],
            }
        };
        for (n, at) in found.iter().enumerate() {
            if n % BATCH_ROWS == 0 {
                self.check_interrupt()?;
            }
            for (column, value) in leaf.needed.iter().zip(&table.rows[*at as usize]) {
                row[leaf.base + column] = value.clone();
            }
            if self.hand_on(leaf, row, scene, next)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        Ok(Flow::Next)
    }

    fn hash_table(&self, leaf: &Leaf, hash: &HashJoin, width: usize, scene: Scene) -> Result<Rc<HashTable>> {
        let key: *const Leaf = leaf;
        if let Some(table) = self.hashes.borrow().get(&key) {
            return Ok(Rc::clone(table));
        }
        let mut table = HashTable {
            rows: Vec::new(),
            by_key: HashMap::new(),
        };
        let mut depends = false;
        leaf.filter.iter().for_each(|filter| {
            depends |= filter
                .columns()
                .iter()
                .any(|slot| *slot >= crate::plan::scope::OUTER);
        });
        let mut room = vec![Value::Null; width];
        let late = leaf.late_filter.is_some();
        debug_assert!(!late || leaf.hash.is_some());
        self.read_plain(leaf, &mut room, scene, &mut |step| {
            let Step::Row(row) = step else {
                return Ok(Flow::Next);
            };
            if !hash.build.is_empty() {
                let built = JoinedRow {
                    values: row,
                    outer: scene.outer,
                };
                let Some(key) = key_of(
                    &hash.build,
                    &EvalCtx {
                        row: &built,
                        env: scene.env,
                    },
                )?
                else {
                    return Ok(Flow::Next);
                };
                table.by_key.entry(key).or_default().push(table.rows.len() as u32);
            }
            table
                .rows
                .push(leaf.needed.iter().map(|c| row[leaf.base + c].clone()).collect());
            Ok(Flow::Next)
        })?;
        let table = Rc::new(table);
        // A table filtered by an outer row serves that row only.
        let derived =
            matches!(&leaf.input, Input::Derived { query, .. } if !self.queries[*query].outer.is_empty());
        if !depends && !derived {
            self.hashes.borrow_mut().insert(key, Rc::clone(&table));
        }
        Ok(table)
    }

    /// The table's rows without the conditions that are tested after the join.
    fn read_plain(&self, leaf: &Leaf, row: &mut Vec<Value>, scene: Scene, next: Next) -> Result<Flow> {
        match &leaf.input {
            Input::Stored { def, table } => {
                let scan = Scan {
                    exec: self,
                    leaf,
                    def,
                    table,
                    scene,
                    direct: false,
                };
                scan.copied(row, false, next)
            }
            _ => {
                let rows = match &leaf.input {
                    Input::Derived { query, .. } => self.rows_for(*query, scene)?,
                    _ => Rc::new(match leaf.input.def() {
                        Some(def) => information_schema::rows(def, self.session)?,
                        None => Vec::new(),
                    }),
                };
                for values in rows.iter() {
                    row[leaf.base..leaf.base + values.len()].clone_from_slice(values);
                    if self.passes(leaf.filter.as_ref(), row, scene)? {
                        next(Step::Row(row))?;
                    }
                }
                Ok(Flow::Next)
            }
        }
    }
}

/// The sort keys of some expressions; `None` if one is NULL, which equals nothing.
fn key_of(exprs: &[Expr], ctx: &EvalCtx) -> Result<Option<Vec<u8>>> {
    let mut key = Vec::with_capacity(16);
    for expr in exprs {
        let value = expr.eval(ctx)?;
        if value.is_null() {
            return Ok(None);
        }
        sort_key(&value, &expr.ty, &mut key);
    }
    Ok(Some(key))
}

/// One reading of a stored table.
struct Scan<'s, 'a, 't> {
    exec: &'s Exec<'a, 't>,
    leaf: &'s Leaf,
    def: &'s Arc<TableDef>,
    table: &'s Table,
    scene: Scene<'s>,
    direct: bool,
}

impl Scan<'_, '_, '_> {
    fn read(&self) -> Read {
        match self.leaf.lock {
            Some((exclusive, wait)) => Read::Locking { exclusive, wait },
            None => self.exec.read,
        }
    }

    fn run(&self, row: &mut Vec<Value>, next: Next) -> Result<Flow> {
        if !self.direct {
            return self.copied(row, true, next);
        }
        let leaf = self.leaf;
        let steering = JoinedRow {
            values: row,
            outer: self.scene.outer,
        };
        let ctx = EvalCtx {
            row: &steering,
            env: self.scene.env,
        };
        let mut visit = |view: &RowView| -> Result<(Keep, Flow)> {
            let found = self.row(view, row);
            if let Some(filter) = &leaf.filter
                && !filter.is_true(&EvalCtx {
                    row: &found,
                    env: self.scene.env,
                })?
            {
                return Ok((self.rejected(None), Flow::Next));
            }
            Ok((Keep::Locked, next(Step::Leaf(&found))?))
        };
        // The first read decides between a point and ranges.
        if leaf.path.point {
            let mut key = Vec::with_capacity(40);
            match leaf.path.point_key(self.def, self.table, &ctx, &mut key)? {
                None => return Ok(Flow::Next),
                Some(true) => {
                    let mut flow = Flow::Next;
                    let found = self.table.get(
                        &mut self.exec.txn.borrow_mut(),
                        leaf.path.index,
                        &key,
                        self.read(),
                        &mut |view| {
                            let (keep, then) = visit(view)?;
                            flow = then;
                            Ok(keep)
                        },
                    );
                    found.map_err(|error| self.explain(error))?;
                    return self.after(flow, next);
                }
                Some(false) => {}
            }
        }
        let mut ranges = leaf.path.ranges(self.def, self.table, &ctx)?;
        if leaf.reverse {
            ranges.reverse();
        }
        for range in ranges {
            let mut rest = Some(range);
            while let Some(range) = rest.take() {
                let (flow, resume) = self.pass(&range, &mut |view| {
                    let found = self.row(view, row);
                    if let Some(filter) = &leaf.filter
                        && !filter.is_true(&EvalCtx {
                            row: &found,
                            env: self.scene.env,
                        })?
                    {
                        return Ok((self.rejected(Some(&range)), Flow::Next));
                    }
                    Ok((Keep::Locked, next(Step::Leaf(&found))?))
                })?;
                if self.after(flow, next)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
                rest = resume;
            }
        }
        Ok(Flow::Next)
    }

    fn after(&self, flow: Flow, next: Next) -> Result<Flow> {
        if flow == Flow::Pause {
            next(Step::Flush)?;
            return Ok(Flow::Next);
        }
        Ok(flow)
    }

    fn row<'r>(&'r self, view: &'r RowView<'r>, values: &'r [Value]) -> LeafRow<'r> {
        LeafRow {
            view,
            def: self.def,
            base: self.leaf.base,
            zone: self.scene.env.time_zone,
            values,
            outer: self.scene.outer,
        }
    }

    /// Rows are copied in batches and handed on when no latch is held.
    fn copied(&self, row: &mut Vec<Value>, late: bool, next: Next) -> Result<Flow> {
        let leaf = self.leaf;
        let width = leaf.needed.len();
        let mut batch: Vec<Value> = Vec::new();
        let mut count = 0usize;
        let ranges = {
            let steering = JoinedRow {
                values: row,
                outer: self.scene.outer,
            };
            let ctx = EvalCtx {
                row: &steering,
                env: self.scene.env,
            };
            let mut key = Vec::with_capacity(40);
            let point = if leaf.path.point {
                leaf.path.point_key(self.def, self.table, &ctx, &mut key)?
            } else {
                Some(false)
            };
            match point {
                None => return Ok(Flow::Next),
                Some(true) => {
                    let read = self.read();
                    let found = self.table.get(
                        &mut self.exec.txn.borrow_mut(),
                        leaf.path.index,
                        &key,
                        read,
                        &mut |view| {
                            let keep = self.take(view, row, None, &mut batch, &mut count)?;
                            Ok(keep)
                        },
                    );
                    found.map_err(|error| self.explain(error))?;
                    None
                }
                Some(false) => {
                    let mut ranges = leaf.path.ranges(self.def, self.table, &ctx)?;
                    if leaf.reverse {
                        ranges.reverse();
                    }
                    Some(ranges)
                }
            }
        };
        let mut deliver = |batch: &mut Vec<Value>, count: &mut usize, row: &mut Vec<Value>| -> Result<Flow> {
            let mut values = batch.drain(..);
            for _ in 0..std::mem::take(count) {
                for (column, value) in leaf.needed.iter().zip(values.by_ref().take(width)) {
                    row[leaf.base + column] = value;
                }
                let flow = if late {
                    self.exec.hand_on(leaf, row, self.scene, next)?
                } else {
                    next(Step::Row(row))?
                };
                if flow == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            Ok(Flow::Next)
        };
        let Some(ranges) = ranges else {
            return deliver(&mut batch, &mut count, row);
        };
        for range in ranges {
            let mut rest = Some(range);
            while let Some(range) = rest.take() {
                let (_, resume) = self.pass(&range, &mut |view| {
                    let keep = self.take(view, row, Some(&range), &mut batch, &mut count)?;
                    let full = count >= BATCH_ROWS;
                    Ok((keep, if full { Flow::Pause } else { Flow::Next }))
                })?;
                rest = resume;
                if rest.is_some() && deliver(&mut batch, &mut count, row)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            // Small ranges are delivered together, but what an index point found is not held back for long.
            if count >= BATCH_ROWS / 4 && deliver(&mut batch, &mut count, row)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
        }
        deliver(&mut batch, &mut count, row)
    }

    fn take(
        &self,
        view: &RowView,
        row: &[Value],
        range: Option<&KeyRange>,
        batch: &mut Vec<Value>,
        count: &mut usize,
    ) -> Result<Keep> {
        let found = self.row(view, row);
        if let Some(filter) = &self.leaf.filter
            && !filter.is_true(&EvalCtx {
                row: &found,
                env: self.scene.env,
            })?
        {
            return Ok(self.rejected(range));
        }
        let base = self.leaf.base;
        batch.extend(self.leaf.needed.iter().map(|column| match column {
            column if *column < self.def.columns.len() => found.column(base + column).into_owned(),
            _ => Value::string(view.primary_key()),
        }));
        *count += 1;
        Ok(Keep::Locked)
    }

    /// What becomes of the lock of a row that does not match. One that is found by a constant key (`range`: as a range of
    /// that one key) is read before there is a plan, and stays locked.
    fn rejected(&self, range: Option<&KeyRange>) -> Keep {
        let path = &self.leaf.path;
        let constant = self.leaf.lock.is_some()
            && match range {
                None => path.is_constant_point(),
                Some(range) => path.is_constant_key(self.def, range),
            };
        if constant { Keep::Locked } else { Keep::Release }
    }

    fn explain(&self, error: tidemark_engine::Error) -> SqlError {
        SqlError::in_table(error, &self.def.name)
    }

    /// One scan of a range, up to where the visitor stops it. If it paused, the second result is the rest of the range.
    fn pass(
        &self,
        range: &KeyRange,
        visit: &mut dyn FnMut(&RowView) -> Result<(Keep, Flow)>,
    ) -> Result<(Flow, Option<KeyRange>)> {
        let path = &self.leaf.path;
        let mut last = Flow::Next;
        let mut stopped_at = Vec::new();
        let read = self.read();
        let scanned = self.table.scan(
            &mut self.exec.txn.borrow_mut(),
            path.index,
            range,
            self.leaf.reverse,
            path.covering && path.index != 0,
            read,
            &mut |view| {
                let (keep, flow) = visit(view)?;
                last = flow;
                if flow == Flow::Next {
                    return Ok((keep, tidemark_engine::Flow::Continue));
                }
                if flow == Flow::Pause {
                    self.position(view, &mut stopped_at)?;
                }
                Ok((keep, tidemark_engine::Flow::Stop))
            },
        );
        scanned.map_err(|error| self.explain(error))?;
        if last != Flow::Pause {
            return Ok((last, None));
        }
        let mut rest = range.clone();
        if self.leaf.reverse {
            rest.upper = Bound::Excluded(stopped_at);
        } else {
            rest.lower = Bound::Excluded(stopped_at);
        }
        Ok((last, Some(rest)))
    }

    /// The whole key of a row in the index that is read.
    fn position(&self, view: &RowView, key: &mut Vec<u8>) -> Result<()> {
        let path = &self.leaf.path;
        if path.index != 0
            && let Some(index) = self.def.index_by_number(path.index)
        {
            let mut data = Vec::with_capacity(index.parts.len());
            for part in &index.parts {
                data.push(view.get(part.column));
            }
            self.table.encode_key(path.index, &data, key)?;
        }
        key.extend_from_slice(view.primary_key());
        Ok(())
    }
}

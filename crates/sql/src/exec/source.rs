//! Tables and joins: where rows come from.
//!
//! A join is a nest of loops, written as calls: each source hands its rows to `next`, which runs the sources after it.
//! The row so far is one vector of slots that every table fills in at its place. Only the innermost source may hand out
//! rows that are still in their page, and only if what follows is safe under its latch.

use super::counting::Scanned;
use super::rows::{JoinedRow, PageRow};
use super::spill::{KeptRows, KeyedRows, KeyedRowsBuilder};
use super::{Exec, QueryScope, ScanControl};
use crate::context::Counter;
use crate::dictionary::{ColumnDef, TableDef};
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Expr, Row};
use crate::information_schema;
use crate::plan::explain::measured::{Measured, Meter, Stage, meter};
use crate::plan::{HashJoin, Input, LeftJoin, RowSource, TableScan};
use crate::types::Value;
use crate::types::sort::KeyForm;
use std::borrow::Cow;
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;
use tidemark_engine::{IndexNo, Keep, KeyRange, RangeScan, Read, RowView, Table};

/// Rows copied before the loops go on to the next table.
const BATCH_ROWS: usize = 256;

/// What a source hands on.
pub enum Produced<'s> {
    Row(&'s mut Vec<Value>),
    /// In its page.
    PageRow(&'s PageRow<'s>),
    /// No row, no latch: a chance to send what is full.
    Flush,
}

pub type Next<'n> = &'n mut dyn FnMut(Produced) -> Result<ScanControl>;

/// Hands rows to what it is given.
type Scan<'s> = &'s mut dyn FnMut(Next) -> Result<ScanControl>;

/// Rows whose making is the work of `at`, but while what comes after has one of them.
fn measured_rows(measured: &Measured, at: Meter, rows: Scan, next: Next) -> Result<ScanControl> {
    measured.enter(at);
    let done = rows(&mut |produced| {
        measured.leave();
        let flow = next(produced);
        measured.enter(at);
        flow
    });
    measured.leave();
    done
}

/// A table that is read, once more.
fn measured_scan(measured: &Measured, scan: &TableScan, reads: Scan, next: Next) -> Result<ScanControl> {
    let (read, passed) = (meter(scan, Stage::Read), meter(scan, Stage::Passed));
    measured.begin(read);
    measured.begin(passed);
    measured_rows(measured, read, reads, &mut |produced| {
        if !matches!(produced, Produced::Flush) {
            measured.row(passed);
        }
        next(produced)
    })
}

impl<'a> Exec<'a, '_> {
    /// Hands all rows of the source to `next`. `direct`: it takes rows in their pages.
    pub fn source(
        &self,
        source: &RowSource,
        row: &mut Vec<Value>,
        scope: QueryScope,
        direct: bool,
        next: Next,
    ) -> Result<ScanControl> {
        match source {
            RowSource::One => {
                self.session.examine();
                next(Produced::Row(row))
            }
            RowSource::Table(scan) => match self.measured {
                None => self.scan(scan, row, scope, direct, next),
                // What takes time is to look up rows; their table is read once, see `hash_table`.
                Some(measured) if scan.hash.is_some() => {
                    let probes: Scan = &mut |next| self.scan(scan, row, scope, direct, next);
                    measured_rows(measured, meter(source, Stage::Joined), probes, next)
                }
                Some(measured) => {
                    let reads: Scan = &mut |next| self.scan(scan, row, scope, direct, next);
                    measured_scan(measured, scan, reads, next)
                }
            },
            RowSource::Inner(list) => {
                if let Some(measured) = self.measured {
                    list.iter()
                        .for_each(|part| measured.begin(meter(part, Stage::Joined)));
                }
                self.inner(list, row, scope, direct, next)
            }
            RowSource::Left(join) => self.left_join(join, row, scope, next),
        }
    }

    fn inner(
        &self,
        list: &[RowSource],
        row: &mut Vec<Value>,
        scope: QueryScope,
        direct: bool,
        next: Next,
    ) -> Result<ScanControl> {
        let Some((first, rest)) = list.split_first() else {
            return next(Produced::Row(row));
        };
        let joined = |produced: &Produced| {
            if let Some(measured) = self.measured
                && !matches!(produced, Produced::Flush)
            {
                measured.row(meter(first, Stage::Joined));
            }
        };
        if rest.is_empty() {
            if self.measured.is_none() {
                return self.source(first, row, scope, direct, next);
            }
            return self.source(first, row, scope, direct, &mut |produced| {
                joined(&produced);
                next(produced)
            });
        }
        self.source(first, row, scope, false, &mut |produced| {
            joined(&produced);
            match produced {
                Produced::Row(row) => self.inner(rest, row, scope, direct, next),
                other => next(other),
            }
        })
    }

    fn left_join(
        &self,
        join: &LeftJoin,
        row: &mut Vec<Value>,
        scope: QueryScope,
        next: Next,
    ) -> Result<ScanControl> {
        let LeftJoin { left, right, filter } = join;
        let joined = meter(&**right, Stage::Joined);
        if let Some(measured) = self.measured {
            measured.begin(joined);
        }
        let next: Next = &mut |produced| {
            if let Some(measured) = self.measured
                && !matches!(produced, Produced::Flush)
            {
                measured.row(joined);
            }
            next(produced)
        };
        let mut added = Vec::new();
        right.walk(&mut |_| {}, &mut |scan| {
            added.extend(scan.needed.iter().map(|column| scan.base + column))
        });
        let passes = |row: &[Value]| match filter {
            Some(filter) => filter.is_true(&EvalCtx {
                row: &JoinedRow {
                    values: row,
                    outer: scope.outer,
                },
                env: scope.env,
            }),
            None => Ok(true),
        };
        self.source(left, row, scope, false, &mut |produced| {
            let row = match produced {
                Produced::Row(row) => row,
                other => return next(other),
            };
            let mut matched = false;
            let flow = self.source(right, row, scope, false, &mut |produced| match produced {
                Produced::Row(row) => {
                    matched = true;
                    if passes(row)? {
                        next(Produced::Row(row))
                    } else {
                        Ok(ScanControl::Next)
                    }
                }
                other => next(other),
            })?;
            if flow == ScanControl::Stop || matched {
                return Ok(flow);
            }
            for slot in &added {
                row[*slot] = Value::Null;
            }
            if passes(row)? {
                next(Produced::Row(row))
            } else {
                Ok(ScanControl::Next)
            }
        })
    }

    // -------------------------------------------------------------------------------------------- one table

    fn scan(
        &self,
        scan: &TableScan,
        row: &mut Vec<Value>,
        scope: QueryScope,
        direct: bool,
        next: Next,
    ) -> Result<ScanControl> {
        if scan.gate.is_some() && !self.passes(scan.gate.as_ref(), row, scope)? {
            return Ok(ScanControl::Next);
        }
        if let Some(hash) = &scan.hash {
            return self.probe(scan, hash, row, scope, next);
        }
        self.read_table(scan, row, scope, direct && scan.late_filter.is_none(), next)
    }

    /// All rows of a table that pass its filters.
    fn read_table(
        &self,
        scan: &TableScan,
        row: &mut Vec<Value>,
        scope: QueryScope,
        direct: bool,
        next: Next,
    ) -> Result<ScanControl> {
        match &scan.input {
            Input::Stored { def, table } => {
                let reading = TableReading {
                    exec: self,
                    scan,
                    def,
                    table,
                    scope,
                    direct,
                };
                reading.run(row, next)
            }
            Input::Virtual(def) => {
                let mut more = ScanControl::Next;
                let mut n = 0;
                information_schema::for_each_row(def, self.session, &mut |values| {
                    if n % BATCH_ROWS == 0 {
                        self.check()?;
                    }
                    n += 1;
                    more = self.kept(scan, values, row, scope, next)?;
                    Ok(more != ScanControl::Stop)
                })?;
                Ok(more)
            }
            Input::Derived { query, lateral, .. } => {
                let mut more = ScanControl::Next;
                self.derived_rows(scan, (*query, *lateral), row, scope)?
                    .for_each(&mut |values| {
                        more = self.kept(scan, values, row, scope, next)?;
                        Ok(more != ScanControl::Stop)
                    })?;
                Ok(more)
            }
            Input::Json(plan) => {
                let mut more = ScanControl::Next;
                if let Some(document) = self.json_document(plan, row, scope)? {
                    self.json_rows(plan, &document, scope.env, &mut |values| {
                        more = self.kept(scan, values, row, scope, next)?;
                        Ok(more != ScanControl::Stop)
                    })?;
                }
                Ok(more)
            }
        }
    }

    /// The rows of a derived table; of a lateral one for the row so far.
    fn derived_rows(
        &self,
        scan: &TableScan,
        (query, lateral): (usize, bool),
        row: &[Value],
        scope: QueryScope,
    ) -> Result<Rc<KeptRows<'a>>> {
        let so_far = JoinedRow {
            values: row,
            outer: scope.outer,
        };
        let around: QueryScope = match lateral {
            true => QueryScope {
                env: scope.env,
                outer: Some(&so_far),
            },
            false => scope,
        };
        self.rows_for(query, around, Some(&scan.alias))
    }

    /// A row of the table was read.
    #[inline]
    fn note_read(&self, scan: &TableScan) {
        self.session.examine();
        if let Some(measured) = self.measured {
            measured.row(meter(scan, Stage::Read));
        }
    }

    /// A row that is in memory.
    fn kept(
        &self,
        scan: &TableScan,
        values: &[Value],
        row: &mut Vec<Value>,
        scope: QueryScope,
        next: Next,
    ) -> Result<ScanControl> {
        self.note_read(scan);
        row[scan.base..scan.base + values.len()].clone_from_slice(values);
        if !self.passes(scan.filter.as_ref(), row, scope)? {
            return Ok(ScanControl::Next);
        }
        match self.hand_on(scan, row, scope, next)? {
            ScanControl::Stop => Ok(ScanControl::Stop),
            _ => Ok(ScanControl::Next),
        }
    }

    fn passes(&self, filter: Option<&Expr>, row: &[Value], scope: QueryScope) -> Result<bool> {
        match filter {
            Some(filter) => {
                let row = JoinedRow {
                    values: row,
                    outer: scope.outer,
                };
                filter.is_true(&EvalCtx {
                    row: &row,
                    env: scope.env,
                })
            }
            None => Ok(true),
        }
    }

    /// A copied row goes through the late filter to the next source, and a full result is sent.
    fn hand_on(
        &self,
        scan: &TableScan,
        row: &mut Vec<Value>,
        scope: QueryScope,
        next: Next,
    ) -> Result<ScanControl> {
        if !self.passes(scan.late_filter.as_ref(), row, scope)? {
            return Ok(ScanControl::Next);
        }
        let flow = next(Produced::Row(row))?;
        if flow == ScanControl::Pause {
            next(Produced::Flush)?;
        }
        Ok(flow)
    }

    // ----------------------------------------------------------------------------------------------- hashing

    fn probe(
        &self,
        scan: &TableScan,
        hash: &HashJoin,
        row: &mut Vec<Value>,
        scope: QueryScope,
        next: Next,
    ) -> Result<ScanControl> {
        let table = self.hash_table(scan, hash, row.len(), scope)?;
        let probe = JoinedRow {
            values: row,
            outer: scope.outer,
        };
        let ctx = EvalCtx {
            row: &probe,
            env: scope.env,
        };
        let Some(key) = key_of(&hash.probe, &hash.forms, &ctx)? else {
            return Ok(ScanControl::Next);
        };
        let mut more = ScanControl::Next;
        table.lookup(&key, &mut |values| {
            for (column, value) in scan.needed.iter().zip(values) {
                row[scan.base + column] = value.clone();
            }
            more = self.hand_on(scan, row, scope, next)?;
            Ok(more != ScanControl::Stop)
        })?;
        Ok(match more {
            ScanControl::Stop => ScanControl::Stop,
            _ => ScanControl::Next,
        })
    }

    fn hash_table(
        &self,
        scan: &TableScan,
        hash: &HashJoin,
        width: usize,
        scope: QueryScope,
    ) -> Result<Rc<KeyedRows<'a>>> {
        let key: *const TableScan = scan;
        if let Some(table) = self.hashes.borrow().get(&key) {
            return Ok(Rc::clone(table));
        }
        let (room, shares, width_kept) = (self.room(), self.shares(), scan.needed.len());
        let mut table = match hash.build.is_empty() {
            true => KeyedRowsBuilder::keyless(room, shares, width_kept),
            false => KeyedRowsBuilder::new(room, shares, width_kept),
        };
        let mut depends = false;
        scan.filter.iter().for_each(|filter| {
            depends |= filter.columns().iter().any(|slot| *slot >= crate::expr::OUTER);
        });
        let mut room = vec![Value::Null; width];
        let late = scan.late_filter.is_some();
        debug_assert!(!late || scan.hash.is_some());
        let keep: Next = &mut |produced| {
            let Produced::Row(row) = produced else {
                return Ok(ScanControl::Next);
            };
            let built = JoinedRow {
                values: row,
                outer: scope.outer,
            };
            let ctx = EvalCtx {
                row: &built,
                env: scope.env,
            };
            if let Some(key) = key_of(&hash.build, &hash.forms, &ctx)? {
                let values = scan.needed.iter().map(|c| row[scan.base + c].clone());
                table.push(&key, values.collect())?;
            }
            Ok(ScanControl::Next)
        };
        match self.measured {
            None => self.read_plain(scan, &mut room, scope, keep)?,
            Some(measured) => {
                let reads: Scan = &mut |next| self.read_plain(scan, &mut room, scope, next);
                measured_scan(measured, scan, reads, keep)?
            }
        };
        let table = Rc::new(table.finish()?);
        // A table filtered by an outer row serves that row only, and so does one made of it.
        depends |= match &scan.input {
            Input::Derived { query, .. } => !self.queries[*query].outer.is_empty(),
            Input::Json(plan) => plan.reads_outer_row(),
            Input::Stored { .. } | Input::Virtual(_) => false,
        };
        if !depends {
            self.hashes.borrow_mut().insert(key, Rc::clone(&table));
        }
        Ok(table)
    }

    /// The table's rows without the conditions that are tested after the join.
    fn read_plain(
        &self,
        scan: &TableScan,
        row: &mut Vec<Value>,
        scope: QueryScope,
        next: Next,
    ) -> Result<ScanControl> {
        match &scan.input {
            Input::Stored { def, table } => {
                let reading = TableReading {
                    exec: self,
                    scan,
                    def,
                    table,
                    scope,
                    direct: false,
                };
                reading.copied(row, false, next)
            }
            Input::Derived { query, lateral, .. } => {
                self.derived_rows(scan, (*query, *lateral), row, scope)?
                    .for_each(&mut |values| {
                        self.plain(scan, values, row, scope, next)?;
                        Ok(true)
                    })?;
                Ok(ScanControl::Next)
            }
            Input::Json(plan) => {
                if let Some(document) = self.json_document(plan, row, scope)? {
                    self.json_rows(plan, &document, scope.env, &mut |values| {
                        self.plain(scan, values, row, scope, next)?;
                        Ok(true)
                    })?;
                }
                Ok(ScanControl::Next)
            }
            Input::Virtual(def) => {
                information_schema::for_each_row(def, self.session, &mut |values| {
                    self.plain(scan, values, row, scope, next)?;
                    Ok(true)
                })?;
                Ok(ScanControl::Next)
            }
        }
    }

    /// A row that is in memory, without those conditions.
    fn plain(
        &self,
        scan: &TableScan,
        values: &[Value],
        row: &mut Vec<Value>,
        scope: QueryScope,
        next: Next,
    ) -> Result<()> {
        self.note_read(scan);
        row[scan.base..scan.base + values.len()].clone_from_slice(values);
        if self.passes(scan.filter.as_ref(), row, scope)? {
            next(Produced::Row(row))?;
        }
        Ok(())
    }
}

/// The keys of some expressions; `None` if one is NULL, which equals nothing.
fn key_of(exprs: &[Expr], forms: &[KeyForm], ctx: &EvalCtx) -> Result<Option<Vec<u8>>> {
    let mut key = Vec::with_capacity(16);
    for (expr, form) in exprs.iter().zip(forms) {
        let value = expr.eval(ctx)?;
        if value.is_null() {
            return Ok(None);
        }
        form.push(&value, &mut key)?;
    }
    Ok(Some(key))
}

/// One reading of a stored table.
struct TableReading<'s, 'a, 't> {
    exec: &'s Exec<'a, 't>,
    scan: &'s TableScan,
    def: &'s Arc<TableDef>,
    table: &'s Table,
    scope: QueryScope<'s>,
    direct: bool,
}

impl TableReading<'_, '_, '_> {
    fn read(&self) -> Read {
        match self.scan.lock {
            Some((exclusive, wait)) => Read::Locking { exclusive, wait },
            None => self.exec.read,
        }
    }

    fn run(&self, row: &mut Vec<Value>, next: Next) -> Result<ScanControl> {
        if !self.direct {
            return self.copied(row, true, next);
        }
        let scan = self.scan;
        let so_far = JoinedRow {
            values: row,
            outer: self.scope.outer,
        };
        let ctx = EvalCtx {
            row: &so_far,
            env: self.scope.env,
        };
        let mut visit = |view: &RowView| -> Result<(Keep, ScanControl)> {
            let found = self.row(view, row);
            if let Some(filter) = &scan.filter
                && !filter.is_true(&EvalCtx {
                    row: &found,
                    env: self.scope.env,
                })?
            {
                return Ok((self.rejected(None), ScanControl::Next));
            }
            Ok((Keep::Locked, next(Produced::PageRow(&found))?))
        };
        // The first read decides between a point and ranges.
        if scan.path.point {
            let mut key = Vec::with_capacity(40);
            match scan.path.point_key(self.def, self.table, &ctx, &mut key)? {
                None => return Ok(ScanControl::Next),
                Some(true) => {
                    self.exec.session.count(Counter::HandlerReadKey, 1);
                    let mut flow = ScanControl::Next;
                    let found = self.table.get(
                        &mut self.exec.txn.borrow_mut(),
                        scan.path.index,
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
        let mut ranges = scan.path.ranges(self.def, self.table, &ctx)?;
        if scan.reverse {
            ranges.reverse();
        }
        let once = scan.path.once(self.def, &ranges);
        for range in &ranges {
            let (mut rest, mut resumed) = (Some(Cow::Borrowed(range)), false);
            while let Some(range) = rest.take() {
                let (flow, resume) = self.pass((&range, once), resumed, &mut |view| {
                    let found = self.row(view, row);
                    if let Some(filter) = &scan.filter
                        && !filter.is_true(&EvalCtx {
                            row: &found,
                            env: self.scope.env,
                        })?
                    {
                        return Ok((self.rejected(Some(&range)), ScanControl::Next));
                    }
                    Ok((Keep::Locked, next(Produced::PageRow(&found))?))
                })?;
                if self.after(flow, next)? == ScanControl::Stop {
                    return Ok(ScanControl::Stop);
                }
                (rest, resumed) = (resume.map(Cow::Owned), true);
            }
        }
        Ok(ScanControl::Next)
    }

    fn after(&self, flow: ScanControl, next: Next) -> Result<ScanControl> {
        if flow == ScanControl::Pause {
            next(Produced::Flush)?;
            return Ok(ScanControl::Next);
        }
        Ok(flow)
    }

    /// A row that was read.
    fn row<'r>(&'r self, view: &'r RowView<'r>, values: &'r [Value]) -> PageRow<'r> {
        self.exec.note_read(self.scan);
        PageRow {
            view,
            def: self.def,
            base: self.scan.base,
            zone: self.scope.env.time_zone,
            values,
            outer: self.scope.outer,
        }
    }

    /// Rows are copied in batches and handed on when no latch is held.
    fn copied(&self, row: &mut Vec<Value>, late: bool, next: Next) -> Result<ScanControl> {
        let scan = self.scan;
        let width = scan.needed.len();
        let mut batch: Vec<Value> = Vec::new();
        let mut count = 0usize;
        let ranges = {
            let so_far = JoinedRow {
                values: row,
                outer: self.scope.outer,
            };
            let ctx = EvalCtx {
                row: &so_far,
                env: self.scope.env,
            };
            let mut key = Vec::with_capacity(40);
            let point = if scan.path.point {
                scan.path.point_key(self.def, self.table, &ctx, &mut key)?
            } else {
                Some(false)
            };
            match point {
                None => return Ok(ScanControl::Next),
                Some(true) => {
                    self.exec.session.count(Counter::HandlerReadKey, 1);
                    let read = self.read();
                    let found = self.table.get(
                        &mut self.exec.txn.borrow_mut(),
                        scan.path.index,
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
                    let mut ranges = scan.path.ranges(self.def, self.table, &ctx)?;
                    if scan.reverse {
                        ranges.reverse();
                    }
                    Some(ranges)
                }
            }
        };
        let mut deliver =
            |batch: &mut Vec<Value>, count: &mut usize, row: &mut Vec<Value>| -> Result<ScanControl> {
                let mut values = batch.drain(..);
                for _ in 0..std::mem::take(count) {
                    for (column, value) in scan.needed.iter().zip(values.by_ref().take(width)) {
                        row[scan.base + column] = value;
                    }
                    let flow = if late {
                        self.exec.hand_on(scan, row, self.scope, next)?
                    } else {
                        next(Produced::Row(row))?
                    };
                    if flow == ScanControl::Stop {
                        return Ok(ScanControl::Stop);
                    }
                }
                Ok(ScanControl::Next)
            };
        let Some(ranges) = ranges else {
            return deliver(&mut batch, &mut count, row);
        };
        let once = scan.path.once(self.def, &ranges);
        for range in &ranges {
            let (mut rest, mut resumed) = (Some(Cow::Borrowed(range)), false);
            while let Some(range) = rest.take() {
                let (_, resume) = self.pass((&range, once), resumed, &mut |view| {
                    let keep = self.take(view, row, Some(&range), &mut batch, &mut count)?;
                    let full = count >= BATCH_ROWS;
                    Ok((
                        keep,
                        if full {
                            ScanControl::Pause
                        } else {
                            ScanControl::Next
                        },
                    ))
                })?;
                (rest, resumed) = (resume.map(Cow::Owned), true);
                if rest.is_some() && deliver(&mut batch, &mut count, row)? == ScanControl::Stop {
                    return Ok(ScanControl::Stop);
                }
            }
            // Small ranges are delivered together, but what an index point found is not held back for long.
            if count >= BATCH_ROWS / 4 && deliver(&mut batch, &mut count, row)? == ScanControl::Stop {
                return Ok(ScanControl::Stop);
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
        if let Some(filter) = &self.scan.filter
            && !filter.is_true(&EvalCtx {
                row: &found,
                env: self.scope.env,
            })?
        {
            return Ok(self.rejected(range));
        }
        let base = self.scan.base;
        batch.extend(self.scan.needed.iter().map(|column| match column {
            column if *column < self.def.columns.len() => found.column(base + column).into_owned(),
            _ => Value::string(view.primary_key()),
        }));
        *count += 1;
        Ok(Keep::Locked)
    }

    /// What becomes of the lock of a row that does not match. One that is found by a constant key (`range`: as a range of
    /// that one key) is read before there is a plan, and stays locked.
    fn rejected(&self, range: Option<&KeyRange>) -> Keep {
        let path = &self.scan.path;
        let constant = self.scan.lock.is_some()
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
    /// `resumed`: this is such a rest. `once`: see [`AccessPath::once`](crate::plan::access::AccessPath::once).
    fn pass(
        &self,
        (range, once): (&KeyRange, &[KeyRange]),
        resumed: bool,
        visit: &mut dyn FnMut(&RowView) -> Result<(Keep, ScanControl)>,
    ) -> Result<(ScanControl, Option<KeyRange>)> {
        let path = &self.scan.path;
        let mut last = ScanControl::Next;
        let mut stopped_at = Vec::new();
        let read = self.read();
        let before = self.exec.session.examined.get();
        let scan = RangeScan::new(path.index, range)
            .reverse(self.scan.reverse)
            .covering(path.covering && path.index != 0)
            .once(once)
            .by_rows(matches!(read, Read::Locking { .. }) && self.has_virtual_part());
        let scanned = self
            .table
            .scan(&mut self.exec.txn.borrow_mut(), &scan, read, &mut |view| {
                let (keep, flow) = visit(view)?;
                last = flow;
                if flow == ScanControl::Next {
                    return Ok((keep, tidemark_engine::Flow::Continue));
                }
                if flow == ScanControl::Pause {
                    self.position(view, &mut stopped_at)?;
                }
                Ok((keep, tidemark_engine::Flow::Stop))
            });
        scanned.map_err(|error| self.explain(error))?;
        let done = Scanned {
            table: self.table,
            path,
            reverse: self.scan.reverse,
            resumed,
            rows: self.exec.session.examined.get() - before,
            ended: last == ScanControl::Next,
        };
        done.count(self.exec.session);
        if last != ScanControl::Pause {
            return Ok((last, None));
        }
        let mut rest = range.clone();
        if self.scan.reverse {
            rest.upper = Bound::Excluded(stopped_at);
        } else {
            rest.lower = Bound::Excluded(stopped_at);
        }
        Ok((last, Some(rest)))
    }

    /// Whether the index has a virtual column. MySQL does not test the entries of such an index by themselves.
    fn has_virtual_part(&self) -> bool {
        let index = self.def.index_by_number(self.scan.path.index);
        let parts = index.into_iter().flat_map(|index| &index.parts);
        parts
            .map(|part| &self.def.columns[part.column])
            .any(ColumnDef::is_virtual)
    }

    /// The whole key of a row in the index that is read.
    fn position(&self, view: &RowView, key: &mut Vec<u8>) -> Result<()> {
        key_of_row(self.table, self.def, self.scan.path.index, view, key)
    }
}

/// Appends the whole key of a row in an index that is read.
pub(super) fn key_of_row(
    table: &Table,
    def: &TableDef,
    index: IndexNo,
    view: &RowView,
    key: &mut Vec<u8>,
) -> Result<()> {
    if let Some(entry) = view.entry_key() {
        key.extend_from_slice(entry);
        return Ok(());
    }
    if index != 0
        && let Some(parts) = def.index_by_number(index).map(|index| &index.parts)
    {
        let mut data = Vec::with_capacity(parts.len());
        for part in parts {
            data.push(view.get(part.column));
        }
        table.encode_key(index, &data, key)?;
    }
    key.extend_from_slice(view.primary_key());
    Ok(())
}

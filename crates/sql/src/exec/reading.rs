//! One reading of a stored table: by a key, by ranges of an index, by several indexes, or from group to group of one.
//!
//! ```text
//!   path ──▶ ranges of each index ──▶ passes over them ──▶ filter ──▶ rows in their pages, or copied in batches
//!                                       ▲      │
//!                                       └──────┘  the rest of a range, when a batch is full or a group is left (skip scans)
//! ```
//!
//! Rows may be handed on in their pages if what follows is safe under the latch (`direct`); those of an index merge, which have to be told
//! apart, and those of a skip scan are copied.

use super::counting::Scanned;
use super::rows::{JoinedRow, PageRow};
use super::source::{BATCH_ROWS, Next, Produced};
use super::spill::KeySet;
use super::{Exec, QueryScope, ScanControl};
use crate::context::Counter;
use crate::dictionary::{ColumnDef, IndexPart, TableDef};
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Row};
use crate::plan::TableScan;
use crate::plan::access::AccessPath;
use crate::plan::skip::Skip;
use crate::types::Value;
use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;
use tidemark_engine::{Datum, Flow, IndexNo, Keep, KeyRange, RangeScan, Read, RowView, Table};

/// See the module's head.
pub(super) struct TableReading<'s, 'a, 't> {
    pub exec: &'s Exec<'a, 't>,
    pub scan: &'s TableScan,
    pub def: &'s Arc<TableDef>,
    pub table: &'s Table,
    pub scope: QueryScope<'s>,
    /// What takes the rows takes them in their pages.
    pub direct: bool,
}

/// Rows that have been copied and not been handed on.
#[derive(Default)]
struct Batch<'a> {
    values: Vec<Value>,
    rows: usize,
    /// The primary keys of the rows that were handed on, if none of them is to be again.
    seen: Option<KeySet<'a>>,
    /// Those of the rows in the batch.
    keys: Vec<Vec<u8>>,
}

/// A group of entries that a skip scan has come to.
struct Group {
    /// How their keys begin.
    prefix: Vec<u8>,
    /// How those of them begin whose next part is NULL, if the least value of that is wanted.
    nulls: Option<Vec<u8>>,
    /// The next part of the first of them is NULL.
    is_null: bool,
}

/// One scan of a range of an index, or of the rest of one.
struct Pass<'p> {
    path: &'p AccessPath,
    range: &'p KeyRange,
    /// See [`AccessPath::once`].
    once: &'p [KeyRange],
    reverse: bool,
    /// It goes on where a pass before it has stopped.
    resumed: bool,
}

impl<'a> TableReading<'_, 'a, '_> {
    fn read(&self) -> Read {
        match self.scan.lock {
            Some((exclusive, wait)) => Read::Locking { exclusive, wait },
            None => self.exec.read,
        }
    }

    /// Hands on all rows that pass the filters, the late one only if `late` says so.
    pub fn run(&self, row: &mut Vec<Value>, late: bool, next: Next) -> Result<ScanControl> {
        let scan = self.scan;
        if !self.direct || scan.path.is_merged() || scan.path.skip.is_some() {
            return self.copied(row, late, next);
        }
        let so_far = self.so_far(row);
        let ctx = EvalCtx {
            row: &so_far,
            env: self.scope.env,
        };
        let mut visit = |view: &RowView| -> Result<(Keep, ScanControl)> {
            let found = self.row(view, row);
            if !self.passes(&found)? {
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
                let pass = Pass {
                    path: &scan.path,
                    range: &range,
                    once,
                    reverse: scan.reverse,
                    resumed,
                };
                let (flow, resume) = self.pass(&pass, &mut |view| {
                    let found = self.row(view, row);
                    if !self.passes(&found)? {
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
    pub fn copied(&self, row: &mut Vec<Value>, late: bool, next: Next) -> Result<ScanControl> {
        let path = &self.scan.path;
        let mut batch = Batch::default();
        if path.point {
            match self.copied_point(row, &mut batch)? {
                None => return Ok(ScanControl::Next),
                Some(true) => return self.deliver(&mut batch, row, late, next),
                Some(false) => {}
            }
        }
        if path.is_merged() {
            return self.merged(row, late, next);
        }
        let ranges = self.ranges(path, row)?;
        match path.skip {
            None => self.copied_ranges((path, &ranges), &mut batch, row, late, next),
            Some(skip) => self.skipping(skip, &ranges, row, late, next),
        }
    }

    /// Copies the row of a key, if there is one. `None` and `Some(false)`: as [`AccessPath::point_key`] says.
    fn copied_point(&self, row: &[Value], batch: &mut Batch) -> Result<Option<bool>> {
        let path = &self.scan.path;
        let so_far = self.so_far(row);
        let ctx = EvalCtx {
            row: &so_far,
            env: self.scope.env,
        };
        let mut key = Vec::with_capacity(40);
        let point = path.point_key(self.def, self.table, &ctx, &mut key)?;
        if point == Some(true) {
            self.exec.session.count(Counter::HandlerReadKey, 1);
            let read = self.read();
            let found = self.table.get(
                &mut self.exec.txn.borrow_mut(),
                path.index,
                &key,
                read,
                &mut |view| Ok(self.take(view, row, None, batch)?),
            );
            found.map_err(|error| self.explain(error))?;
        }
        Ok(point)
    }

    /// Whether a row passes the filter of the scan.
    #[inline]
    fn passes(&self, row: &PageRow) -> Result<bool> {
        match &self.scan.filter {
            Some(filter) => filter.is_true(&EvalCtx {
                row,
                env: self.scope.env,
            }),
            None => Ok(true),
        }
    }

    #[inline]
    fn so_far<'r>(&'r self, row: &'r [Value]) -> JoinedRow<'r> {
        JoinedRow {
            values: row,
            outer: self.scope.outer,
        }
    }

    /// The ranges of a path for the row so far, in the direction of the scan.
    fn ranges(&self, path: &AccessPath, row: &[Value]) -> Result<Vec<KeyRange>> {
        let so_far = self.so_far(row);
        let ctx = EvalCtx {
            row: &so_far,
            env: self.scope.env,
        };
        let mut ranges = path.ranges(self.def, self.table, &ctx)?;
        if self.scan.reverse {
            ranges.reverse();
        }
        Ok(ranges)
    }

    /// Hands on what is in a batch.
    fn deliver(
        &self,
        batch: &mut Batch,
        row: &mut Vec<Value>,
        late: bool,
        next: Next,
    ) -> Result<ScanControl> {
        let scan = self.scan;
        let mut values = batch.values.drain(..);
        let mut keys = batch.keys.drain(..);
        for _ in 0..std::mem::take(&mut batch.rows) {
            for (column, value) in scan.needed.iter().zip(values.by_ref().take(scan.needed.len())) {
                row[scan.base + column] = value;
            }
            if let (Some(seen), Some(key)) = (&mut batch.seen, keys.next())
                && !seen.insert(&key)?
            {
                continue;
            }
            let flow = match late {
                true => self.exec.hand_on(scan, row, self.scope, next)?,
                false => next(Produced::Row(row))?,
            };
            if flow == ScanControl::Stop {
                return Ok(ScanControl::Stop);
            }
        }
        Ok(ScanControl::Next)
    }

    /// All rows of some ranges, by way of a batch.
    fn copied_ranges(
        &self,
        (path, ranges): (&AccessPath, &[KeyRange]),
        batch: &mut Batch<'a>,
        row: &mut Vec<Value>,
        late: bool,
        next: Next,
    ) -> Result<ScanControl> {
        let once = path.once(self.def, ranges);
        for range in ranges {
            let (mut rest, mut resumed) = (Some(Cow::Borrowed(range)), false);
            while let Some(range) = rest.take() {
                let pass = Pass {
                    path,
                    range: &range,
                    once,
                    reverse: self.scan.reverse,
                    resumed,
                };
                let (_, resume) = self.pass(&pass, &mut |view| {
                    let keep = self.take(view, row, Some(&range), batch)?;
                    let flow = match batch.rows >= BATCH_ROWS {
                        true => ScanControl::Pause,
                        false => ScanControl::Next,
                    };
                    Ok((keep, flow))
                })?;
                (rest, resumed) = (resume.map(Cow::Owned), true);
                if rest.is_some() && self.deliver(batch, row, late, next)? == ScanControl::Stop {
                    return Ok(ScanControl::Stop);
                }
            }
            // Small ranges are delivered together, but what an index point found is not held back for long.
            if batch.rows >= BATCH_ROWS / 4 && self.deliver(batch, row, late, next)? == ScanControl::Stop {
                return Ok(ScanControl::Stop);
            }
        }
        self.deliver(batch, row, late, next)
    }

    /// The rows that any of several indexes leads to, each once. They are told apart by their primary keys, so that a row which another
    /// transaction changes between two locking reads is not passed over by both.
    fn merged(&self, row: &mut Vec<Value>, late: bool, next: Next) -> Result<ScanControl> {
        let mut batch = Batch {
            seen: Some(KeySet::new(self.exec.room(), self.exec.shares())),
            ..Batch::default()
        };
        let parts = self.scan.path.parts().iter();
        let parts = parts.map(|part| Ok((part, self.ranges(part, row)?)));
        for (part, ranges) in parts.collect::<Result<Vec<_>>>()? {
            if self.copied_ranges((part, &ranges), &mut batch, row, late, next)? == ScanControl::Stop {
                return Ok(ScanControl::Stop);
            }
        }
        Ok(ScanControl::Next)
    }

    // ------------------------------------------------------------------------------------------- skip scans

    /// Reads some ranges from group to group.
    fn skipping(
        &self,
        skip: Skip,
        ranges: &[KeyRange],
        row: &mut Vec<Value>,
        late: bool,
        next: Next,
    ) -> Result<ScanControl> {
        let mut batch = Batch::default();
        // A LIMIT may end the query after a few rows, so the first batches are small.
        let mut enough = 1;
        for range in ranges {
            let mut rest = range.clone();
            while let Some(group) = self.first_of(skip, (&rest, self.scan.reverse), row, &mut batch)? {
                self.ends_of(skip, &group, &rest, row, &mut batch)?;
                if skip.parts == 0 {
                    break;
                }
                match self.scan.reverse {
                    false => rest.lower = Bound::Excluded(group.prefix),
                    true => rest.upper = Bound::Excluded(group.prefix),
                }
                if batch.rows >= enough {
                    self.exec.check()?;
                    if self.deliver(&mut batch, row, late, next)? == ScanControl::Stop {
                        return Ok(ScanControl::Stop);
                    }
                    enough = (2 * enough).min(BATCH_ROWS);
                }
            }
        }
        self.deliver(&mut batch, row, late, next)
    }

    /// Copies the first row of a range that passes the filter; returns its group.
    fn first_of(
        &self,
        skip: Skip,
        (range, reverse): (&KeyRange, bool),
        row: &[Value],
        batch: &mut Batch,
    ) -> Result<Option<Group>> {
        let mut found = None;
        let pass = Pass {
            path: &self.scan.path,
            range,
            once: &[],
            reverse,
            resumed: false,
        };
        self.pass(&pass, &mut |view| {
            let before = batch.rows;
            let keep = self.take(view, row, Some(range), batch)?;
            if batch.rows == before {
                return Ok((keep, ScanControl::Next));
            }
            found = Some(self.group_of(skip, view)?);
            Ok((keep, ScanControl::Stop))
        })?;
        Ok(found)
    }

    /// Copies the rows of a group that have the wanted ends of the next part, as far as the first row does not.
    fn ends_of(
        &self,
        skip: Skip,
        group: &Group,
        rest: &KeyRange,
        row: &[Value],
        batch: &mut Batch,
    ) -> Result<()> {
        let Some(end) = self.index_part(skip.parts) else {
            return Ok(());
        };
        let reverse = self.scan.reverse;
        let least_is_first = end.descending == reverse;
        let whole = KeyRange::prefix(group.prefix.clone());
        if skip.least && (!least_is_first || group.is_null) {
            let range = match (&group.nulls, end.descending) {
                (None, _) => whole.clone(),
                (Some(nulls), false) => KeyRange {
                    lower: Bound::Excluded(nulls.clone()),
                    ..whole.clone()
                },
                (Some(nulls), true) => KeyRange {
                    upper: Bound::Excluded(nulls.clone()),
                    ..whole.clone()
                },
            };
            if let Some(range) = range.intersection(rest.clone()) {
                self.first_of(skip, (&range, reverse == least_is_first), row, batch)?;
            }
        }
        if skip.greatest
            && least_is_first
            && let Some(range) = whole.intersection(rest.clone())
        {
            self.first_of(skip, (&range, !reverse), row, batch)?;
        }
        Ok(())
    }

    fn index_part(&self, at: usize) -> Option<&IndexPart> {
        self.def.index_by_number(self.scan.path.index)?.parts.get(at)
    }

    /// The group of a row in the index.
    fn group_of(&self, skip: Skip, view: &RowView) -> Result<Group> {
        let index = self.scan.path.index;
        let parts = self
            .def
            .index_by_number(index)
            .into_iter()
            .flat_map(|index| &index.parts);
        let mut data: Vec<Datum> = parts.take(skip.parts).map(|part| view.get(part.column)).collect();
        let mut prefix = Vec::new();
        self.table.encode_key(index, &data, &mut prefix)?;
        let end = self
            .index_part(skip.parts)
            .filter(|part| skip.least && self.def.columns[part.column].ty.nullable);
        let Some(end) = end else {
            return Ok(Group {
                prefix,
                is_null: false,
                nulls: None,
            });
        };
        data.push(Datum::Null);
        let mut nulls = Vec::new();
        self.table.encode_key(index, &data, &mut nulls)?;
        Ok(Group {
            prefix,
            is_null: view.get(end.column).is_null(),
            nulls: Some(nulls),
        })
    }

    fn take(
        &self,
        view: &RowView,
        row: &[Value],
        range: Option<&KeyRange>,
        batch: &mut Batch,
    ) -> Result<Keep> {
        let found = self.row(view, row);
        if !self.passes(&found)? {
            return Ok(self.rejected(range));
        }
        let base = self.scan.base;
        batch
            .values
            .extend(self.scan.needed.iter().map(|column| match column {
                column if *column < self.def.columns.len() => found.column(base + column).into_owned(),
                _ => Value::string(view.primary_key()),
            }));
        if batch.seen.is_some() {
            batch.keys.push(view.primary_key().to_vec());
        }
        batch.rows += 1;
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

    /// One pass, up to where the visitor stops it. If it paused, the second result is the rest of the range.
    fn pass(
        &self,
        pass: &Pass,
        visit: &mut dyn FnMut(&RowView) -> Result<(Keep, ScanControl)>,
    ) -> Result<(ScanControl, Option<KeyRange>)> {
        let path = pass.path;
        let mut last = ScanControl::Next;
        let mut stopped_at = Vec::new();
        let read = self.read();
        let before = self.exec.session.examined.get();
        let scan = RangeScan::new(path.index, pass.range)
            .reverse(pass.reverse)
            .covering(path.covering && path.index != 0)
            .once(pass.once)
            .by_rows(matches!(read, Read::Locking { .. }) && self.has_virtual_part(path.index));
        let scanned = self
            .table
            .scan(&mut self.exec.txn.borrow_mut(), &scan, read, &mut |view| {
                let (keep, flow) = visit(view)?;
                last = flow;
                if flow == ScanControl::Next {
                    return Ok((keep, Flow::Continue));
                }
                if flow == ScanControl::Pause {
                    key_of_row(self.table, self.def, path.index, view, &mut stopped_at)?;
                }
                Ok((keep, Flow::Stop))
            });
        scanned.map_err(|error| self.explain(error))?;
        let done = Scanned {
            table: self.table,
            path,
            reverse: pass.reverse,
            resumed: pass.resumed,
            rows: self.exec.session.examined.get() - before,
            ended: last == ScanControl::Next,
        };
        done.count(self.exec.session);
        if last != ScanControl::Pause {
            return Ok((last, None));
        }
        let mut rest = pass.range.clone();
        if pass.reverse {
            rest.upper = Bound::Excluded(stopped_at);
        } else {
            rest.lower = Bound::Excluded(stopped_at);
        }
        Ok((last, Some(rest)))
    }

    /// Whether an index has a virtual column. MySQL does not test the entries of such an index by themselves.
    fn has_virtual_part(&self, index: IndexNo) -> bool {
        let index = self.def.index_by_number(index);
        let parts = index.into_iter().flat_map(|index| &index.parts);
        parts
            .map(|part| &self.def.columns[part.column])
            .any(ColumnDef::is_virtual)
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

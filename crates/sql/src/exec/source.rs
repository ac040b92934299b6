//! Tables and joins: where rows come from.
//!
//! A join is a nest of loops, written as calls: each source hands its rows to `next`, which runs the sources after it.
//! The row so far is one vector of slots that every table fills in at its place. Only the innermost source may hand out
//! rows that are still in their page, and only if what follows is safe under its latch.

use super::hash_join::Joining;
use super::reading::TableReading;
use super::rows::{JoinedRow, PageRow};
use super::spill::KeptRows;
use super::{Exec, QueryScope, ScanControl};
use crate::error::Result;
use crate::expr::{EvalCtx, Expr};
use crate::information_schema;
use crate::plan::explain::measured::{Measured, Meter, Stage, meter};
use crate::plan::{Input, LeftJoin, RowSource, TableScan};
use crate::types::Value;
use std::rc::Rc;

/// Rows copied before the loops go on to the next table.
pub(super) const BATCH_ROWS: usize = 256;

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
pub(super) type Scan<'s> = &'s mut dyn FnMut(Next) -> Result<ScanControl>;

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
pub(super) fn measured_scan(
    measured: &Measured,
    scan: &TableScan,
    reads: Scan,
    next: Next,
) -> Result<ScanControl> {
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
            RowSource::Table(_) if let Some(joining) = Joining::of(&[], source, false) => {
                // The row so far is looked up.
                let this: &mut dyn FnMut(&mut Vec<Value>, Next) -> Result<ScanControl> =
                    &mut |row, next| next(Produced::Row(row));
                self.hash_join(&joining, row, scope, this, next)
            }
            RowSource::Table(scan) => match self.measured {
                None => self.scan(scan, row, scope, direct, next),
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
                match self.finds_nothing(list, row.len(), scope)? {
                    true => Ok(ScanControl::Next),
                    false => self.inner(list, row, scope, direct, next),
                }
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
        let Some((last, before)) = list.split_last() else {
            return next(Produced::Row(row));
        };
        match self.measured {
            None => self.inner_last((before, last), row, scope, direct, next),
            Some(measured) => self.inner_last((before, last), row, scope, direct, &mut |produced| {
                if !matches!(produced, Produced::Flush) {
                    measured.row(meter(last, Stage::Joined));
                }
                next(produced)
            }),
        }
    }

    /// The rows of a join, and of what comes last in it.
    fn inner_last(
        &self,
        (before, last): (&[RowSource], &RowSource),
        row: &mut Vec<Value>,
        scope: QueryScope,
        direct: bool,
        next: Next,
    ) -> Result<ScanControl> {
        if before.is_empty() {
            return self.source(last, row, scope, direct, next);
        }
        if let Some(joining) = Joining::of(before, last, false) {
            let mut before = |row: &mut Vec<Value>, next: Next| self.inner(before, row, scope, false, next);
            return self.hash_join(&joining, row, scope, &mut before, next);
        }
        self.inner(before, row, scope, false, &mut |produced| match produced {
            Produced::Row(row) => self.source(last, row, scope, direct, next),
            other => next(other),
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
        if let Some(joining) = Joining::of(std::slice::from_ref(&**left), right, true) {
            let mut before = |row: &mut Vec<Value>, next: Next| self.source(left, row, scope, false, next);
            return self.hash_join(
                &joining,
                row,
                scope,
                &mut before,
                &mut |produced| match produced {
                    Produced::Row(row) if !passes(row)? => Ok(ScanControl::Next),
                    other => next(other),
                },
            );
        }
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
                reading.run(row, true, next)
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
    pub(super) fn derived_rows(
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
    pub(super) fn note_read(&self, scan: &TableScan) {
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

    pub(super) fn passes(&self, filter: Option<&Expr>, row: &[Value], scope: QueryScope) -> Result<bool> {
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
    pub(super) fn hand_on(
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
}

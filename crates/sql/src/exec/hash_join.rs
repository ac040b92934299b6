//! Hash joins: one side is kept in a table by key, the rows of the other are looked up there.
//!
//! ```text
//!   rows before the table          the table
//!   t1 ⋈ t2 ⋈ …                    t3
//!   looked up, one by one   ◀───   read once, kept        [`Side::Table`]
//!   kept                    ───▶   read once, looked up   [`Side::Before`]
//! ```
//!
//! Either side's rows are kept as the slots that are read of them. Rows that have to wait, since their partition of the table is not in
//! memory, come when all others have come ([`Probing`]).
//!
//! The table of [`Side::Table`] is made when there is a row to be looked up, and stays for the statement unless it depends on a row outside:
//! a join inside others, or in a subquery, is run again and again. From its second run on its rows do not wait but are looked up
//! where they are, for there may be few of them in each run.

use super::reading::TableReading;
use super::rows::JoinedRow;
use super::source::{Next, Produced, Scan, measured_scan};
use super::spill::{Key, KeyedRows, Met, Preserved, Probing, Sides, Taken};
use super::{Exec, QueryScope, ScanControl};
use crate::error::Result;
use crate::expr::{EvalCtx, Expr, OUTER, Row};
use crate::information_schema;
use crate::plan::explain::measured::{Meter, Stage, meter};
use crate::plan::{HashJoin, Input, RowSource, Side, TableScan};
use crate::types::sort::KeyForm;
use crate::types::{Val, Value};
use std::rc::Rc;

/// A hash table of so few rows is made before it is known that a row will be looked up in it.
const SMALL_TABLE_ROWS: f64 = 1000.0;

/// A join of a hashed table with the rows before it.
pub(super) struct Joining<'j> {
    scan: &'j TableScan,
    hash: &'j HashJoin,
    /// Rows before the table are wanted though none of its rows matches.
    outer: bool,
    /// The slots of the rows before it, and of its own.
    before: Vec<usize>,
    own: Vec<usize>,
    /// Where its work is measured.
    at: Meter,
}

impl<'j> Joining<'j> {
    /// The join of `part` with the rows of `before`, if `part` is a hashed table.
    pub fn of(before: &[RowSource], part: &'j RowSource, outer: bool) -> Option<Joining<'j>> {
        let RowSource::Table(scan) = part else {
            return None;
        };
        let hash = scan.hash.as_ref()?;
        let mut slots = Vec::new();
        let mut keep = |scan: &TableScan| slots.extend(scan.needed.iter().map(|column| scan.base + column));
        before
            .iter()
            .for_each(|source| source.walk(&mut |_| {}, &mut keep));
        Some(Joining {
            scan,
            hash,
            outer,
            before: slots,
            own: scan.needed.iter().map(|column| scan.base + column).collect(),
            at: meter(part, Stage::Joined),
        })
    }

    fn sides(&self) -> Sides<'_> {
        let (first, second, outer) = match self.hash.side {
            Side::Table => (&self.own, &self.before, Preserved::Second),
            Side::Before => (&self.before, &self.own, Preserved::First),
        };
        Sides {
            first,
            second,
            preserved: if self.outer { outer } else { Preserved::Neither },
        }
    }
}

impl<'a> Exec<'a, '_> {
    /// Joins the rows that `before` hands out with a hashed table.
    pub(super) fn hash_join(
        &self,
        joining: &Joining,
        row: &mut Vec<Value>,
        scope: QueryScope,
        before: &mut dyn FnMut(&mut Vec<Value>, Next) -> Result<ScanControl>,
        next: Next,
    ) -> Result<ScanControl> {
        // What comes after the join is no work of it.
        let next: Next = &mut |produced| {
            self.measured.inspect(|measured| measured.leave());
            let flow = next(produced);
            self.measured.inspect(|measured| measured.enter(joining.at));
            flow
        };
        match joining.hash.side {
            Side::Table => self.look_up_before(joining, row, scope, before, next),
            Side::Before => self.look_up_table(joining, row, scope, before, next),
        }
    }

    /// The table is kept.
    fn look_up_before(
        &self,
        joining: &Joining,
        row: &mut Vec<Value>,
        scope: QueryScope,
        before: &mut dyn FnMut(&mut Vec<Value>, Next) -> Result<ScanControl>,
        next: Next,
    ) -> Result<ScanControl> {
        let Joining { scan, hash, .. } = joining;
        let mut probing: Option<Probing> = None;
        let mut buffer = Vec::new();
        let flow = before(row, &mut |produced| {
            let row = match produced {
                Produced::Row(row) => row,
                other => return self.working(joining, || Ok(next(other)? != ScanControl::Stop)),
            };
            self.working(joining, || {
                let mut take = |row: &mut Vec<Value>, met| self.joined_row(scan, row, met, scope, next);
                let is_open = scan.gate.is_none() || self.passes(scan.gate.as_ref(), row, scope)?;
                if !is_open && !joining.outer {
                    return Ok(true);
                }
                if probing.is_none() {
                    probing = Some(self.probing(joining, row.len(), scope)?);
                }
                let Some(probing) = &mut probing else {
                    return Ok(true);
                };
                let key = match is_open {
                    true => key_over(&hash.probe, &hash.forms, &joined(row, scope), scope, &mut buffer)?,
                    false => None,
                };
                probing.probe(key, row, &mut take)
            })
        })?;
        match probing {
            Some(probing) if flow != ScanControl::Stop => self.working(joining, || {
                probing.finish(row, &mut |row, met| self.joined_row(scan, row, met, scope, next))
            }),
            _ => Ok(flow),
        }
    }

    /// The rows before the table are kept.
    fn look_up_table(
        &self,
        joining: &Joining,
        row: &mut Vec<Value>,
        scope: QueryScope,
        before: &mut dyn FnMut(&mut Vec<Value>, Next) -> Result<ScanControl>,
        next: Next,
    ) -> Result<ScanControl> {
        let Joining { scan, hash, .. } = joining;
        let mut kept = KeyedRows::new(self.room(), self.shares(), joining.before.len());
        let mut buffer = Vec::new();
        let flow = before(row, &mut |produced| {
            let row = match produced {
                Produced::Row(row) => row,
                other => return self.working(joining, || Ok(next(other)? != ScanControl::Stop)),
            };
            self.working(joining, || {
                let is_open = scan.gate.is_none() || self.passes(scan.gate.as_ref(), row, scope)?;
                let key = match is_open {
                    true => key_over(&hash.probe, &hash.forms, &joined(row, scope), scope, &mut buffer)?,
                    false => None,
                };
                if let Some(key) = key {
                    kept.push(key, &joined(row, scope), &joining.before)?;
                    kept.shrink()?;
                    return Ok(true);
                }
                if !joining.outer {
                    return Ok(true);
                }
                joining.own.iter().for_each(|slot| row[*slot] = Value::Null);
                Ok(self.joined_row(scan, row, Met::Alone, scope, next)?.more)
            })
        })?;
        if flow == ScanControl::Stop || kept.len() == 0 {
            return Ok(flow);
        }
        self.working(joining, || {
            let mut probing = Probing::new(Rc::new(kept), joining.sides(), false);
            let mut buffer = Vec::new();
            let flow = self.read_own(scan, row, scope, false, &mut |produced| {
                let Produced::Row(row) = produced else {
                    return next(produced);
                };
                let key = key_over(&hash.build, &hash.forms, &joined(row, scope), scope, &mut buffer)?;
                let more = probing.probe(key, row, &mut |row, met| {
                    self.joined_row(scan, row, met, scope, next)
                })?;
                Ok(if more {
                    ScanControl::Next
                } else {
                    ScanControl::Stop
                })
            })?;
            if flow == ScanControl::Stop {
                return Ok(false);
            }
            probing.finish(row, &mut |row, met| self.joined_row(scan, row, met, scope, next))
        })
    }

    /// Does some of a join's work, which says whether more rows are wanted.
    #[inline]
    fn working(&self, joining: &Joining, work: impl FnOnce() -> Result<bool>) -> Result<ScanControl> {
        self.measured.inspect(|measured| measured.enter(joining.at));
        let more = work();
        self.measured.inspect(|measured| measured.leave());
        Ok(match more? {
            true => ScanControl::Next,
            false => ScanControl::Stop,
        })
    }

    /// A joined row goes through the conditions that are tested after the join, and on.
    #[inline]
    fn joined_row(
        &self,
        scan: &TableScan,
        row: &mut Vec<Value>,
        met: Met,
        scope: QueryScope,
        next: Next,
    ) -> Result<Taken> {
        self.met.set(self.met.get() + 1);
        self.room().check_at(self.met.get())?;
        if met == Met::Both
            && scan.late_filter.is_some()
            && !self.passes(scan.late_filter.as_ref(), row, scope)?
        {
            return Ok(Taken {
                passed: false,
                more: true,
            });
        }
        let flow = next(Produced::Row(row))?;
        if flow == ScanControl::Pause {
            next(Produced::Flush)?;
        }
        Ok(Taken {
            passed: true,
            more: flow != ScanControl::Stop,
        })
    }

    /// Whether a join has no rows since one of its small hash tables has none: those are made before the first table is read.
    pub(super) fn finds_nothing(&self, list: &[RowSource], width: usize, scope: QueryScope) -> Result<bool> {
        for (at, part) in list.iter().enumerate().skip(1) {
            let RowSource::Table(scan) = part else { continue };
            let is_small = |hash: &HashJoin| hash.side == Side::Table && hash.rows <= SMALL_TABLE_ROWS;
            if scan.lock.is_some() || !scan.hash.as_ref().is_some_and(is_small) || self.depends(scan) {
                continue;
            }
            let place: *const TableScan = &**scan;
            let made = self.hashes.borrow().get(&place).map(Rc::clone);
            let table = match made {
                Some(table) => table,
                None => match Joining::of(&list[..at], part, false) {
                    Some(joining) => self.hash_table(&joining, width, scope)?.0,
                    None => continue,
                },
            };
            if table.len() == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Begins to look rows up in the table of a join.
    fn probing<'s>(&self, joining: &'s Joining, width: usize, scope: QueryScope) -> Result<Probing<'s, 'a>> {
        let (table, is_used) = self.hash_table(joining, width, scope)?;
        // A single row is looked up where there is nothing before the table in its join.
        let at_once = is_used || joining.hash.keeps_order || joining.before.is_empty();
        Ok(Probing::new(table, joining.sides(), at_once))
    }

    /// The table of a join, and whether it was used before.
    fn hash_table(
        &self,
        joining: &Joining,
        width: usize,
        scope: QueryScope,
    ) -> Result<(Rc<KeyedRows<'a>>, bool)> {
        let Joining { scan, hash, own, .. } = joining;
        let place: *const TableScan = *scan;
        if let Some(table) = self.hashes.borrow().get(&place) {
            return Ok((Rc::clone(table), true));
        }
        let mut table = KeyedRows::new(self.room(), self.shares(), own.len());
        let mut room = vec![Value::Null; width];
        let mut buffer = Vec::new();
        self.read_own(scan, &mut room, scope, true, &mut |produced| {
            let is_latched = matches!(produced, Produced::PageRow(_));
            let so_far;
            let row: &dyn Row = match produced {
                Produced::Row(row) => {
                    so_far = joined(row, scope);
                    &so_far
                }
                Produced::PageRow(row) => row,
                Produced::Flush => {
                    table.shrink()?;
                    return Ok(ScanControl::Next);
                }
            };
            if let Some(key) = key_over(&hash.build, &hash.forms, row, scope, &mut buffer)? {
                table.push(key, row, own)?;
            }
            // What goes out of memory does so under no latch.
            match is_latched {
                true if table.is_large() => return Ok(ScanControl::Pause),
                true => {}
                false => table.shrink()?,
            }
            Ok(ScanControl::Next)
        })?;
        let rows = Rc::new(table);
        if !self.depends(scan) {
            self.hashes.borrow_mut().insert(place, Rc::clone(&rows));
        }
        Ok((rows, false))
    }

    /// Whether a table serves one row outside only: it is filtered by that, or made of it.
    fn depends(&self, scan: &TableScan) -> bool {
        let mut filters = scan.filter.iter();
        filters.any(|filter| filter.columns().iter().any(|slot| *slot >= OUTER))
            || match &scan.input {
                Input::Derived { query, .. } => !self.queries[*query].outer.is_empty(),
                Input::Json(plan) => plan.reads_outer_row(),
                Input::Stored { .. } | Input::Virtual(_) => false,
            }
    }

    // ----------------------------------------------------------------------------------------- reading the table

    /// The rows of a hashed table that pass its own conditions. `direct`: they are taken in their pages.
    fn read_own(
        &self,
        scan: &TableScan,
        row: &mut Vec<Value>,
        scope: QueryScope,
        direct: bool,
        next: Next,
    ) -> Result<ScanControl> {
        match self.measured {
            None => self.read_plain(scan, row, scope, direct, next),
            Some(measured) => {
                let reads: Scan = &mut |next| self.read_plain(scan, row, scope, direct, next);
                measured_scan(measured, scan, reads, next)
            }
        }
    }

    /// The same, not measured.
    fn read_plain(
        &self,
        scan: &TableScan,
        row: &mut Vec<Value>,
        scope: QueryScope,
        direct: bool,
        next: Next,
    ) -> Result<ScanControl> {
        let mut flow = ScanControl::Next;
        match &scan.input {
            Input::Stored { def, table } => {
                // A row that may be changed has its primary key behind its columns, which is in no page row.
                let direct = direct && scan.needed.iter().all(|column| *column < def.columns.len());
                let reading = TableReading {
                    exec: self,
                    scan,
                    def,
                    table,
                    scope,
                    direct,
                };
                return match direct {
                    true => reading.run(row, false, next),
                    false => reading.copied(row, false, next),
                };
            }
            Input::Derived { query, lateral, .. } => {
                self.derived_rows(scan, (*query, *lateral), row, scope)?
                    .for_each(&mut |values| {
                        flow = self.plain(scan, values, row, scope, next)?;
                        Ok(flow != ScanControl::Stop)
                    })?;
            }
            Input::Json(plan) => {
                if let Some(document) = self.json_document(plan, row, scope)? {
                    self.json_rows(plan, &document, scope.env, &mut |values| {
                        flow = self.plain(scan, values, row, scope, next)?;
                        Ok(flow != ScanControl::Stop)
                    })?;
                }
            }
            Input::Virtual(def) => {
                information_schema::for_each_row(def, self.session, &mut |values| {
                    flow = self.plain(scan, values, row, scope, next)?;
                    Ok(flow != ScanControl::Stop)
                })?;
            }
        }
        Ok(flow)
    }

    /// A row that is in memory.
    fn plain(
        &self,
        scan: &TableScan,
        values: &[Value],
        row: &mut Vec<Value>,
        scope: QueryScope,
        next: Next,
    ) -> Result<ScanControl> {
        self.note_read(scan);
        row[scan.base..scan.base + values.len()].clone_from_slice(values);
        match self.passes(scan.filter.as_ref(), row, scope)? {
            true => next(Produced::Row(row)),
            false => Ok(ScanControl::Next),
        }
    }
}

fn joined<'r>(values: &'r [Value], scope: QueryScope<'r>) -> JoinedRow<'r> {
    JoinedRow {
        values,
        outer: scope.outer,
    }
}

/// The key of some expressions over a row, which may stand in `buffer`; `None` if one is NULL, which equals nothing.
#[inline]
fn key_over<'k>(
    exprs: &[Expr],
    forms: &[KeyForm],
    row: &dyn Row,
    scope: QueryScope,
    buffer: &'k mut Vec<u8>,
) -> Result<Option<Key<'k>>> {
    let ctx = EvalCtx { row, env: scope.env };
    key_of(forms, exprs.iter().map(|expr| expr.eval(&ctx)), buffer)
}

/// The key of some values, which may stand in `buffer`; `None` if one is NULL.
#[inline]
pub(super) fn key_of<'v, 'k>(
    forms: &[KeyForm],
    values: impl Iterator<Item = Result<Val<'v>>>,
    buffer: &'k mut Vec<u8>,
) -> Result<Option<Key<'k>>> {
    let is_integer = matches!(forms, [form] if form.is_integer());
    buffer.clear();
    for (form, value) in forms.iter().zip(values) {
        match value? {
            Val::Null => return Ok(None),
            Val::Int(value) if is_integer => {
                return Ok(Some(Key::Integer {
                    bits: value as u64,
                    is_negative: value < 0,
                }));
            }
            Val::UInt(bits) if is_integer => {
                return Ok(Some(Key::Integer {
                    bits,
                    is_negative: false,
                }));
            }
            value => form.push(&value, buffer)?,
        }
    }
    Ok(Some(match is_integer {
        true => Key::Bytes(buffer),
        false => Key::of(buffer),
    }))
}

//! The passes of UPDATE and DELETE over the rows of one table.
//!
//! *In place*: one pass; each row of the path is locked, tested and changed under its leaf's latch. *One by one*: likewise one after
//! the other, but a row is copied and its leaf released before it is changed. *Collected*: the first
//! pass locks and copies the rows that match, then they are sorted, cut and changed one by one by primary key. The plan says
//! which ([`Pass`]). Whichever it is, the row writer changes them.

use super::row_writer::{Judge, RowWriter, UpdateBy};
use super::rows::{Slots, Stored};
use super::{ChangeContext, is_ignorable};
use crate::context::Counter;
use crate::error::{Result, SqlError, er};
use crate::exec::counting::{Scanned, count_sort, reads_all_rows};
use crate::exec::spill::{KeptRows, KeySet, Room, Shares, Sorter, copied};
use crate::expr::{EvalCtx, Row};
use crate::plan::access::AccessPath;
use crate::plan::change::{Pass, RowSelection, Target};
use crate::types::sort::order_key;
use crate::types::{Val, Value};
use tidemark_engine::{Action, Flow, Keep, KeyRange, RangeScan, RowBuf, RowView};

/// What a statement does to the rows it touches.
pub trait RowChange {
    /// Decides about a row that satisfies the condition; remembers what is to be written.
    fn decide(&mut self, row: &dyn Row) -> Result<Action>;
    /// The row that was decided about was found, and now is as decided.
    fn done(&mut self);
    /// In place: writes what was decided.
    fn write(&mut self, buf: &mut RowBuf);
    /// In place: does what follows from the rows that are done, when no page is latched any more.
    fn settle(&mut self) -> Result<()> {
        Ok(())
    }
    /// In place: the error text for a change that met a duplicate key.
    fn explain(&mut self, error: tidemark_engine::Error) -> SqlError;

    /// The new values of the row that was decided about, by column.
    fn new_values(&self) -> &[(usize, Value)] {
        &[]
    }

    /// The row was found but could not be changed, which IGNORE makes a warning.
    fn passed_over(&mut self) {}
}

/// One statement's passes over the rows it selects.
pub struct ChangeScan<'a> {
    pub rows: &'a RowSelection,
    pub target: &'a Target,
    pub writer: RowWriter<'a>,
    pub run: ChangeContext<'a>,
}

impl<'a> ChangeScan<'a> {
    /// Applies a change to all rows, within the running statement.
    pub fn change(&self, change: &mut dyn RowChange) -> Result<()> {
        let run = self.run;
        if run.session.settings.sql_safe_updates && self.rows.path.is_full() && self.rows.limit.is_none() {
            return Err(SqlError::new(
                er::UPDATE_WITHOUT_KEY_IN_SAFE_MODE,
                "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column.",
            ));
        }
        let limit = self.limit()?;
        if limit == 0 {
            return Ok(());
        }
        if let Some(gate) = &self.rows.gate
            && !gate.is_true(&run.env.ctx())?
        {
            return Ok(());
        }
        match &self.rows.without_key {
            Some(error) if !run.session.settings.updatable_views_with_limit => return Err(error.clone()),
            Some(_) => run.env.warnings.note(SqlError::view_without_key()),
            None => {}
        }
        if reads_all_rows(&self.rows.path) {
            run.session.process.counters.add_no_index_used();
        }
        match self.rows.pass {
            Pass::InPlace => self.change_in_place(limit, change),
            Pass::OneByOne => self.change_one_by_one(limit, change),
            Pass::Collected => self.change_collected(limit, change),
        }
    }

    /// The ranges of the path, one after the other.
    fn ranges(&self, ctx: &EvalCtx) -> Result<Vec<KeyRange>> {
        self.ranges_of(&self.rows.path, ctx)
    }

    fn ranges_of(&self, path: &AccessPath, ctx: &EvalCtx) -> Result<Vec<KeyRange>> {
        let target = self.target;
        let mut ranges = path.ranges(&target.def, &target.table, ctx)?;
        if self.rows.reverse {
            ranges.reverse();
        }
        Ok(ranges)
    }

    fn limit(&self) -> Result<u64> {
        let run = self.run;
        let Some(limit) = &self.rows.limit else {
            return Ok(u64::MAX);
        };
        match limit.eval(&run.env.ctx())? {
            Val::Int(n) if n >= 0 => Ok(n as u64),
            Val::UInt(n) => Ok(n),
            _ => Err(SqlError::wrong_arguments("LIMIT")),
        }
    }

    fn matches(&self, row: &dyn Row) -> Result<bool> {
        let run = self.run;
        match &self.rows.filter {
            Some(filter) => filter.is_true(&run.env.ctx_with(row)),
            None => Ok(true),
        }
    }

    /// Whether a row that another transaction has locked matches as it was last committed.
    fn judge(&self, view: &RowView) -> tidemark_engine::Result<bool> {
        let (target, run) = (self.target, self.run);
        let row = Stored {
            def: &target.def,
            view,
            zone: run.env.time_zone,
        };
        Ok(self.matches(&row)?)
    }

    fn change_in_place(&self, mut left: u64, change: &mut dyn RowChange) -> Result<()> {
        let (target, run) = (self.target, self.run);
        let zone = run.env.time_zone;
        let mut visit = |view: &RowView, buf: &mut RowBuf| -> tidemark_engine::Result<(Action, Flow)> {
            let row = Stored {
                def: &target.def,
                view,
                zone,
            };
            run.session.examine();
            if !self.matches(&row)? {
                return Ok((Action::Skip, Flow::Continue));
            }
            let action = change.decide(&row)?;
            if action == Action::Update {
                change.write(buf);
            }
            change.done();
            left -= 1;
            Ok((action, if left == 0 { Flow::Stop } else { Flow::Continue }))
        };
        let result = self.visit_in_place(&mut visit);
        let settled = change.settle();
        result.map_err(|error| change.explain(error)).and(settled)
    }

    fn visit_in_place(
        &self,
        visit: &mut dyn FnMut(&RowView, &mut RowBuf) -> tidemark_engine::Result<(Action, Flow)>,
    ) -> tidemark_engine::Result<()> {
        let (target, run) = (self.target, self.run);
        let ctx = run.env.ctx();
        if self.rows.path.point && self.rows.path.index == 0 {
            let mut key = Vec::with_capacity(64);
            match self
                .rows
                .path
                .point_key(&target.def, &target.table, &ctx, &mut key)?
            {
                None => return Ok(()),
                Some(true) => {
                    run.session.count(Counter::HandlerReadKey, 1);
                    let mut one = |view: &RowView, buf: &mut RowBuf| Ok(visit(view, buf)?.0);
                    self.writer.visit(&key, &mut one)?;
                    return Ok(());
                }
                Some(false) => {}
            }
        }
        let mut stopped = false;
        let ranges = self.ranges(&ctx)?;
        let once = self.rows.path.once(&target.def, &ranges);
        for range in &ranges {
            if stopped {
                break;
            }
            let mut one = |view: &RowView, buf: &mut RowBuf| {
                let (action, flow) = visit(view, buf)?;
                stopped = flow == Flow::Stop;
                Ok((action, flow))
            };
            let before = run.session.examined.get();
            let index = self.rows.path.index;
            let scan = RangeScan::new(index, range).reverse(self.rows.reverse).once(once);
            let mut judge = |view: &RowView| self.judge(view);
            let judge: Option<Judge> = match self.rows.judges {
                true => Some(&mut judge),
                false => None,
            };
            self.writer.visit_range(&scan, judge, &mut one)?;
            self.count_scan(&self.rows.path, before, !stopped);
        }
        Ok(())
    }

    /// Counts a scan; `before` is how many rows had been examined when it began.
    fn count_scan(&self, path: &AccessPath, before: u64, ended: bool) {
        let session = self.run.session;
        let done = Scanned {
            table: &self.target.table,
            path,
            reverse: self.rows.reverse,
            resumed: false,
            rows: session.examined.get() - before,
            ended,
        };
        done.count(session);
    }

    fn change_collected(&self, limit: u64, change: &mut dyn RowChange) -> Result<()> {
        let rows = self.collect(limit)?;
        if self.rows.order_by.is_empty() {
            let mut left = limit;
            return rows.for_each(&mut |row| {
                self.change_collected_row(row, change)?;
                left -= 1;
                Ok(left > 0)
            });
        }
        let run = self.run;
        let (room, share) = (Room::of(run.session), Shares::of(run.session).sort);
        let mut sorter = Sorter::new(room, share, 1 + self.target.def.columns.len(), false, limit);
        rows.for_each(&mut |row| {
            let slots = Slots(&row[1..]);
            for key in &self.rows.order_by {
                let value = key.expr.eval(&run.env.ctx_with(&slots))?;
                order_key(&value, &key.expr.ty, key.descending, sorter.key())?;
            }
            sorter.push(row.iter().map(|value| Ok(value.borrowed())))?;
            Ok(true)
        })?;
        drop(rows);
        if let Some(trace) = run.trace {
            let def = &self.target.def;
            let keys = self.rows.order_by.iter().map(|key| (&key.expr, key.descending));
            trace.sorts_table(def, keys, sorter.told());
        }
        let sorted = sorter.finish(|row| {
            self.change_collected_row(row, change)?;
            Ok(true)
        })?;
        let path = &self.rows.path;
        count_sort(run.session, !path.is_full() && !path.is_one_key(), sorted as u64);
        Ok(())
    }

    /// Changes a row that was collected. Hooks are told of it as it is by now: the changes of rows before it may have led to it.
    fn change_collected_row(&self, row: &[Value], change: &mut dyn RowChange) -> Result<()> {
        let [Val::Str(key), ..] = row else {
            return Ok(());
        };
        if !self.writer.has_hooks() {
            return self.change_row(row, change);
        }
        let Some(now) = self.writer.lock(key)? else {
            return Ok(());
        };
        let mut row = vec![row[0].clone()];
        row.extend(now);
        self.change_row(&row, change)
    }

    /// Changes a row that is locked: its primary key, and behind it its columns.
    fn change_row(&self, row: &[Value], change: &mut dyn RowChange) -> Result<()> {
        let run = self.run;
        let [Val::Str(key), row @ ..] = row else {
            return Ok(());
        };
        let mut decided = false;
        let done = change.decide(&Slots(row)).and_then(|action| {
            decided = true;
            match action {
                Action::Delete => self.writer.delete(key, row, None),
                Action::Update => self
                    .writer
                    .update(key, row, change.new_values(), UpdateBy::Update),
                Action::Skip | Action::Keep | Action::Touch => self.writer.leave(key, row, action),
            }
        });
        match done {
            Ok(true) => change.done(),
            Ok(false) => {}
            Err(error) if self.rows.ignore && is_ignorable(&error) => {
                if decided || error.code == er::VIEW_CHECK_FAILED {
                    change.passed_over();
                }
                run.env.warnings.warn(error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn no_rows(&self) -> KeptRows<'a> {
        let session = self.run.session;
        KeptRows::new(Room::of(session), Shares::of(session).table)
    }

    /// Locks and copies the rows that match, each behind its primary key.
    fn collect(&self, limit: u64) -> Result<KeptRows<'a>> {
        // Of the rows of several indexes, some are there twice.
        let in_order = self.rows.order_by.is_empty() && !self.rows.path.is_merged();
        let enough = match in_order && !self.rows.filter_queries {
            true => limit,
            false => u64::MAX,
        };
        let mut rows = self.no_rows();
        for path in self.rows.path.parts() {
            if !self.collect_by(path, enough, &mut rows)? {
                break;
            }
        }
        if self.rows.path.is_merged() {
            rows = self.each_once(&rows)?;
        }
        if !self.rows.filter_queries {
            return Ok(rows);
        }
        let mut matching = self.no_rows();
        rows.for_each(&mut |row| {
            if self.matches(&Slots(&row[1..]))? {
                matching.push(copied(row)?)?;
            }
            Ok(true)
        })?;
        Ok(matching)
    }

    /// Adds the rows that one index leads to; returns whether there are not enough yet.
    fn collect_by(&self, path: &AccessPath, enough: u64, rows: &mut KeptRows<'a>) -> Result<bool> {
        let run = self.run;
        let ranges = self.ranges_of(path, &run.env.ctx())?;
        for range in &ranges {
            let before = run.session.examined.get();
            self.lock_rows((path, range, &ranges), None, &mut |_, row| {
                rows.push(row)?;
                Ok(match rows.len() as u64 >= enough {
                    true => Flow::Stop,
                    false => Flow::Continue,
                })
            })?;
            let stopped = rows.len() as u64 >= enough;
            self.count_scan(path, before, !stopped);
            if stopped {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows without those that came before by another index.
    fn each_once(&self, rows: &KeptRows) -> Result<KeptRows<'a>> {
        let session = self.run.session;
        let mut seen = KeySet::new(Room::of(session), Shares::of(session));
        let mut once = self.no_rows();
        rows.for_each(&mut |row| {
            if let Some(Val::Str(key)) = row.first()
                && seen.insert(key)?
            {
                once.push(copied(row)?)?;
            }
            Ok(true)
        })?;
        Ok(once)
    }

    fn change_one_by_one(&self, mut left: u64, change: &mut dyn RowChange) -> Result<()> {
        let run = self.run;
        let ranges = self.ranges(&run.env.ctx())?;
        for range in &ranges {
            let before = run.session.examined.get();
            let mut after: Option<Vec<u8>> = None;
            while left > 0 {
                let mut found = None;
                self.lock_rows(
                    (&self.rows.path, range, &ranges),
                    after.as_deref(),
                    &mut |view, row| {
                        found = Some((view.key().to_vec(), row));
                        Ok(Flow::Stop)
                    },
                )?;
                let Some((key, row)) = found else {
                    break;
                };
                after = Some(key);
                if !self.rows.filter_queries || self.matches(&Slots(&row[1..]))? {
                    self.change_row(&row, change)?;
                    left -= 1;
                }
            }
            self.count_scan(&self.rows.path, before, left > 0);
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Locks the rows of one of the ranges, from behind an entry on, and copies those that match, each behind its primary key, until `f`
    /// wants no more. A condition with queries is left to the caller.
    fn lock_rows(
        &self,
        (path, range, ranges): (&AccessPath, &KeyRange, &[KeyRange]),
        after: Option<&[u8]>,
        f: &mut dyn FnMut(&RowView, Vec<Value>) -> Result<Flow>,
    ) -> Result<()> {
        let (target, run) = (self.target, self.run);
        let mut take = |view: &RowView| {
            let row = Stored {
                def: &target.def,
                view,
                zone: run.env.time_zone,
            };
            run.session.examine();
            if !self.rows.filter_queries && !self.matches(&row)? {
                return Ok((Keep::Release, Flow::Continue));
            }
            let mut kept = vec![Value::string(view.primary_key())];
            row.copy_to(&mut kept);
            Ok((Keep::Locked, f(view, kept)?))
        };
        let mut judge = |view: &RowView| self.judge(view);
        let judge: Option<&mut dyn FnMut(&RowView) -> _> = match self.rows.judges {
            true => Some(&mut judge),
            false => None,
        };
        let scan = RangeScan::new(path.index, range)
            .reverse(self.rows.reverse)
            .once(path.once(&target.def, ranges))
            .after(after);
        let txn = &mut **run.txn.borrow_mut();
        let scanned = target.table.scan_to_change(txn, &scan, judge, &mut take);
        scanned.map_err(|error| SqlError::in_table(error, &target.def.name))
    }
}

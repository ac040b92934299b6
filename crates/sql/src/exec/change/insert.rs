//! INSERT and REPLACE.
//!
//! A row is built left to right, so that a value may use the columns before it; then it goes to the engine, which finds
//! duplicates. What happens then is the difference between the statements: an error, a warning (IGNORE), the old row's
//! removal (REPLACE) or its change (ON DUPLICATE KEY UPDATE). A row that did not go in leaves nothing behind: the row writer sees to that.
//!
//! The rows of a query are all read before the first is inserted, so that a table can be copied into itself.

use super::counter::{Counter, counted, last_value};
use super::row_writer::{Inserted, RowWriter, UpdateBy};
use super::rows::{Changed, Slots, Stored};
use super::{ChangeContext, Changes, is_ignorable};
use crate::context::ResultSink;
use crate::dictionary::ColumnDefault;
use crate::error::{Result, SqlError, er};
use crate::exec::{Exec, Purpose, QueryScope};
use crate::expr::{EvalCtx, Row, SessionInfo};
use crate::plan::OutputColumn;
use crate::plan::change::hooks::RowEvent;
use crate::plan::change::{Assignments, Given, InsertPlan, InsertSource, OnDuplicate, Target};
use crate::types::assign::{between_sets, zero_value};
use crate::types::{SqlMode, Val, Value};
use tidemark_engine::{Action, DuplicateLock};

/// Runs the statement. The environment must say `writes`, and be strict only without IGNORE.
/// `client` is asked for its file by LOAD DATA LOCAL.
pub fn run<'a>(plan: &'a InsertPlan, run: ChangeContext<'a>, client: &mut dyn ResultSink) -> Result<Changes> {
    run.session.told_insert_id.set(false);
    let column = plan.auto_increment.map(|column| &plan.target.def.columns[column]);
    let max = column.map_or(u64::MAX, |column| last_value(&column.ty));
    let mut work = InsertRun {
        plan,
        run,
        writer: RowWriter::new(&plan.target, run),
        outcome: Changes::default(),
        wrote: false,
        generated: None,
        copied: 0,
        changed: 0,
        skipped: 0,
        orphans: 0,
        refused: 0,
        counter: Counter::new(run, &plan.target.table, max, plan.known_rows()),
        carried: Vec::new(),
    };
    let rows = match &plan.source {
        InsertSource::File(source) => work.all_lines(source, client),
        source => work.all_rows(source),
    };
    if rows.is_err()
        && let Some(first) = work.outcome.generated_id
    {
        // What was generated for a row that went in is LAST_INSERT_ID(), also if a later row undoes the statement.
        run.session.set_last_insert_id(first);
    }
    work.finish(rows?)
}

/// The row that has the key, behind it the one that was to be inserted, and behind that the query's, of which `slots` are there.
struct OldAndNew<'r> {
    old: &'r dyn Row,
    new: &'r [Value],
    slots: &'r [usize],
    carried: &'r [Value],
    width: usize,
}

impl Row for OldAndNew<'_> {
    fn column(&self, slot: usize) -> Val<'_> {
        let found = match (slot.checked_sub(self.width), slot.checked_sub(2 * self.width)) {
            (None, _) => return self.old.column(slot),
            (Some(at), None) => self.new.get(at),
            (_, Some(slot)) => {
                let at = self.slots.iter().position(|carried| *carried == slot);
                at.and_then(|at| self.carried.get(at))
            }
        };
        found.map_or(Val::Null, Val::borrowed)
    }
}

/// One execution.
pub(super) struct InsertRun<'a> {
    pub(super) plan: &'a InsertPlan,
    pub(super) run: ChangeContext<'a>,
    writer: RowWriter<'a>,
    pub(super) outcome: Changes,
    /// A row went in or was changed.
    wrote: bool,
    /// What was generated for the row in hand.
    generated: Option<u64>,
    /// Rows inserted; rows replaced or updated; rows left out by IGNORE.
    pub(super) copied: u64,
    changed: u64,
    skipped: u64,
    /// Rows left out by IGNORE for want of a parent, or for a CHECK, which MySQL does not count as records.
    pub(super) orphans: u64,
    /// Rows left out because of a condition on them, by IGNORE.
    pub(super) refused: u64,
    counter: Counter<'a>,
    /// What the query in hand gives ON DUPLICATE KEY UPDATE beside the row.
    carried: Vec<Value>,
}

impl InsertRun<'_> {
    fn all_rows(&mut self, source: &InsertSource) -> Result<u64> {
        let plan = self.plan;
        match source {
            InsertSource::File(_) => Ok(0),
            InsertSource::Rows(rows) => {
                let mut values = Vec::with_capacity(plan.target.def.columns.len());
                for (at, row) in rows.iter().enumerate() {
                    self.run.env.row_number.set(at as u64 + 1);
                    self.build(row, &mut values)?;
                    self.put(&mut values)?;
                }
                Ok(rows.len() as u64)
            }
            InsertSource::Query(source) => {
                let run = self.run;
                let mut exec = Exec::new(run.session, run.txn, &source.queries, Purpose::Copy);
                exec.routines = &source.routines;
                exec.trace = run.trace;
                let mut env = run.session.env(&exec, run.env.params);
                env.strict = run.env.strict;
                env.writes = run.env.writes;
                let scope = QueryScope {
                    env: &env,
                    outer: None,
                };
                let rows = exec.rows_of(&source.query, scope, None)?;
                let total = rows.len() as u64;
                run.session.found_rows.set(total);
                let mut values = Vec::with_capacity(plan.target.def.columns.len());
                let mut at = 0;
                rows.for_each(&mut |row| {
                    self.run.env.row_number.set(at + 1);
                    self.build_from(row, &source.query.columns, &mut values)?;
                    self.carried.clear();
                    self.carried.extend_from_slice(&row[plan.columns.len()..]);
                    self.put(&mut values)?;
                    at += 1;
                    Ok(true)
                })?;
                Ok(total)
            }
        }
    }

    /// Before the values are evaluated: where one of them reads a column, it sees that column's constant default. So does
    /// a computed default that is asked for by its keyword.
    pub(super) fn begin(&self, values: &mut Vec<Value>) {
        let columns = &self.plan.target.def.columns;
        values.clear();
        if self.plan.reads_columns || self.plan.target.has_computed() {
            values.extend(columns.iter().map(|column| match &column.default {
                Some(ColumnDefault::Literal(value)) => value.clone(),
                _ => Val::Null,
            }));
        } else {
            values.resize(columns.len(), Val::Null);
        }
    }

    /// After them: columns without a value take their defaults. Those that are computed, generated ones too, come last, in order,
    /// since they may be computed from the others.
    pub(super) fn defaults(
        &self,
        given: &[usize],
        values: &mut [Value],
        default: impl Fn(&Target, usize, &[Value], &EvalCtx) -> Result<Value>,
    ) -> Result<()> {
        let (target, ctx) = (&self.plan.target, self.run.env.ctx());
        let mut computed = false;
        for at in 0..values.len() {
            if !given.contains(&at) {
                match target.is_computed(at) {
                    true => computed = true,
                    false => values[at] = default(target, at, values, &ctx)?,
                }
            }
        }
        let mut generated = target.generated.list().iter().peekable();
        for at in 0..values.len() {
            if let Some(column) = generated.next_if(|(column, _)| *column == at) {
                values[at] = super::generated::computed(&target.def, column, &Slots(values), &ctx)?;
            } else if computed && target.is_computed(at) && !given.contains(&at) {
                values[at] = default(target, at, values, &ctx)?;
            } else if !computed && generated.peek().is_none() {
                break;
            }
        }
        Ok(())
    }

    fn build(&mut self, row: &[Given], values: &mut Vec<Value>) -> Result<()> {
        let plan = self.plan;
        let columns: &[usize] = if row.is_empty() { &[] } else { &plan.columns };
        self.begin(values);
        for (given, &column) in row.iter().zip(columns) {
            values[column] = self.given_value(column, given, values)?;
        }
        self.defaults(columns, values, Target::default_or_zero)
    }

    /// A value written for a column, in the column's type; `values` are those of the row so far.
    pub(super) fn given_value(&self, column: usize, given: &Given, values: &[Value]) -> Result<Value> {
        match given {
            Given::Default => {
                let ctx = self.run.env.ctx();
                if Some(column) == self.plan.auto_increment
                    && self.run.env.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO)
                {
                    return Ok(zero_value(&self.plan.target.def.columns[column].ty));
                }
                self.plan.target.default_or_zero(column, values, &ctx)
            }
            Given::Value(expr) => {
                let slots = Slots(values);
                let ctx = self.run.env.ctx_with(&slots);
                let value = expr.eval(&ctx)?;
                Ok(self.converted(column, value)?.into_owned())
            }
        }
    }

    fn build_from(&mut self, row: &[Value], source: &[OutputColumn], values: &mut Vec<Value>) -> Result<()> {
        let plan = self.plan;
        self.begin(values);
        for ((value, of), &column) in row.iter().zip(source).zip(&plan.columns) {
            let to = &plan.target.def.columns[column];
            let value = between_sets(value.borrowed(), (&of.ty, &to.ty), &to.name, self.run.env)?;
            values[column] = self.converted(column, value)?.into_owned();
        }
        self.defaults(&plan.columns, values, Target::default_or_zero)
    }

    pub(super) fn converted<'v>(&self, column: usize, value: Val<'v>) -> Result<Val<'v>> {
        if value.is_null() && Some(column) == self.plan.auto_increment {
            return Ok(Val::Null);
        }
        let target = &self.plan.target;
        if value.is_null()
            && !target.def.columns[column].ty.nullable
            && self.is_single_row()
            && !self.plan.ignore
            && !target.acts_before(RowEvent::Insert)
        {
            // One row is not forgiven what several are, even outside strict mode.
            return Err(SqlError::bad_null(&target.def.columns[column].name));
        }
        target.assigned(column, value, RowEvent::Insert, &self.run.env.ctx())
    }

    fn is_single_row(&self) -> bool {
        matches!(&self.plan.source, InsertSource::Rows(rows) if rows.len() == 1)
    }

    /// The AUTO_INCREMENT column is NULL where a value is to be generated for it.
    fn clear_zero(&self, values: &mut [Value]) {
        if let Some(column) = self.plan.auto_increment
            && matches!(values[column], Val::Int(0) | Val::UInt(0))
            && !self.run.env.sql_mode.has(SqlMode::NO_AUTO_VALUE_ON_ZERO)
        {
            values[column] = Val::Null;
        }
    }

    /// Fills in the AUTO_INCREMENT column.
    fn generate(&mut self, values: &mut [Value]) -> Result<()> {
        let Some(column) = self.plan.auto_increment else {
            return Ok(());
        };
        if !values[column].is_null() {
            if let Some(value) = self.counter_value(values) {
                self.counter.given(value);
            }
            return Ok(());
        }
        let fixed = self.run.session.insert_id.replace(0);
        let value = match fixed {
            0 => self.counter.generate()?,
            fixed => fixed,
        };
        let def = &self.plan.target.def.columns[column];
        let value = match value > last_value(&def.ty) {
            true if self.run.env.strict => {
                let row = self.run.env.row_number.get();
                return Err(SqlError::out_of_range(&def.name, row));
            }
            // The last value is given again, which is a duplicate.
            true => self.counter.last(),
            false => value,
        };
        values[column] = match def.ty.unsigned {
            true => Val::UInt(value),
            false => Val::Int(value as i64),
        };
        self.generated = Some(value);
        Ok(())
    }

    /// The value of the AUTO_INCREMENT column, if the counter goes on after it.
    fn counter_value(&self, values: &[Value]) -> Option<u64> {
        counted(&values[self.plan.auto_increment?])
    }

    /// Whether an index is the one that the AUTO_INCREMENT column comes first in.
    fn is_counted_by(&self, index: usize) -> bool {
        let mut indexes = self.plan.target.def.indexes.iter();
        let first = indexes
            .find(|other| other.number == index)
            .and_then(|index| index.parts.first());
        first.is_some_and(|part| Some(part.column) == self.plan.auto_increment)
    }

    /// Notes the value of the AUTO_INCREMENT column that a row has now: the counter goes on after it, and a client is told of it.
    fn observe(&mut self, values: &[Value]) -> Result<()> {
        if let Some(value) = self.counter_value(values) {
            self.counter.observe(value)?;
        }
        match self.plan.auto_increment.map(|column| &values[column]) {
            // A negative value is told as the 64 bits that it is.
            Some(Val::Int(value)) if *value != 0 => self.outcome.last_insert_id = *value as u64,
            Some(Val::UInt(value)) if *value != 0 => self.outcome.last_insert_id = *value,
            _ => {}
        }
        Ok(())
    }

    pub(super) fn put(&mut self, values: &mut [Value]) -> Result<()> {
        self.counter.begin_row();
        self.generated = None;
        let plan = self.plan;
        let null = |column: usize| self.null_refused(column);
        let ready = self.writer.before_insert(values, plan.auto_increment, &null);
        match ready.and_then(|()| self.try_put(values)) {
            Err(error) if plan.ignore && is_ignorable(&error) => {
                let count = match error.code {
                    er::NO_REFERENCED_ROW | er::NO_REFERENCED_ROW_2 => &mut self.orphans,
                    er::VIEW_CHECK_FAILED | er::CHECK_CONSTRAINT_VIOLATED => &mut self.refused,
                    _ => &mut self.skipped,
                };
                *count += 1;
                self.run.env.warnings.warn(error);
                self.counter.give_back();
                Ok(())
            }
            other => other,
        }
    }

    /// What stands for NULL in a column that cannot be it, or the error that it is.
    fn null_refused(&self, column: usize) -> Result<Value> {
        let target = &self.plan.target;
        match self.is_single_row() && !self.plan.ignore {
            true => Err(SqlError::bad_null(&target.def.columns[column].name)),
            false => target.null_refused(column, &self.run.env.ctx()),
        }
    }

    fn try_put(&mut self, values: &mut [Value]) -> Result<()> {
        self.clear_zero(values);
        let (plan, run) = (self.plan, self.run);
        let target = &plan.target;
        let lock = match plan.on_duplicate {
            OnDuplicate::Fail => DuplicateLock::Shared,
            OnDuplicate::Replace | OnDuplicate::Update(_) => DuplicateLock::Exclusive,
        };
        let writer = self.writer;
        writer.with_parents(values, plan.auto_increment, |values| self.generate(values))?;
        let mut deleted = 0;
        loop {
            if let Some(value) = self.counter_value(values) {
                self.counter.announce(value);
            }
            let (index, primary_key) = match writer.insert(values, lock)? {
                Inserted::Done => break,
                Inserted::Duplicate { index, primary_key } => (index, primary_key),
            };
            if plan.is_bulk()
                && let Some(value) = self.counter_value(values)
            {
                // Of a bulk insert's rows also those count that do not go in.
                self.counter.observe(value)?;
            }
            if matches!(plan.on_duplicate, OnDuplicate::Replace) && target.seen.is_some() {
                match writer.lock(&primary_key)? {
                    Some(old) => target.check_seen(&Slots(&old), &run.env.ctx())?,
                    None => continue,
                }
            }
            match &plan.on_duplicate {
                // A counter at its end gives a value that is there: no reason to lose the row that has it.
                OnDuplicate::Replace if self.generated.is_some() && self.is_counted_by(index) => {
                    return Err(target.duplicate(index, &Slots(values)));
                }
                OnDuplicate::Fail => return Err(target.duplicate(index, &Slots(values))),
                OnDuplicate::Replace if writer.may_replace() && target.is_last_unique(index) => {
                    if let Some(changed) = writer.replace(&primary_key, values)? {
                        deleted += u64::from(changed);
                        break;
                    }
                }
                OnDuplicate::Replace => deleted += u64::from(writer.make_way(&primary_key, values)?),
                OnDuplicate::Update(assignments) => {
                    if let Some(changed) = self.update_old(assignments, &primary_key, values)? {
                        let found_rows = run.session.wants_found_rows();
                        // With IGNORE, duplicates are the rows that have changed nothing.
                        self.changed += u64::from(if plan.ignore {
                            !changed
                        } else {
                            changed || found_rows
                        });
                        self.counter.give_back();
                        self.outcome.affected_rows += if changed { 2 } else { u64::from(found_rows) };
                        return Ok(());
                    }
                }
            }
        }
        self.copied += 1;
        self.wrote = true;
        self.counter.went_in();
        // A value that was generated for a row which did not go in is not LAST_INSERT_ID().
        self.outcome.generated_id = self.outcome.generated_id.or(self.generated);
        self.changed += u64::from(deleted > 0);
        self.outcome.affected_rows += 1 + deleted;
        self.observe(values)
    }

    /// What assignments see, but for the old row.
    fn rows<'r>(&'r self, new: &'r [Value]) -> OldAndNew<'r> {
        let slots = match &self.plan.source {
            InsertSource::Query(source) => source.carried.as_slice(),
            _ => &[],
        };
        OldAndNew {
            old: &Slots(&[]),
            new,
            slots,
            carried: &self.carried,
            width: self.plan.target.def.columns.len(),
        }
    }

    /// Changes the row that has the key already. `None` if it is gone; otherwise whether it changed.
    fn update_old(&mut self, assignments: &Assignments, key: &[u8], new: &[Value]) -> Result<Option<bool>> {
        let done = match self.writer.latch_safe(assignments.has_subquery()) {
            true => self.update_in_place(assignments, key, new)?,
            false => self.update_locked(assignments, key, new)?,
        };
        let Some((changed, after)) = done else {
            return Ok(None);
        };
        self.observe(&after)?;
        self.wrote |= changed;
        Ok(Some(changed))
    }

    /// The same under the latch of its leaf. Returns whether it changed, and its values then.
    fn update_in_place(
        &self,
        assignments: &Assignments,
        key: &[u8],
        new: &[Value],
    ) -> Result<Option<(bool, Vec<Value>)>> {
        let (target, run) = (&self.plan.target, self.run);
        let width = target.def.columns.len();
        let rows = self.rows(new);
        let (mut set, mut after, mut changed) = (Vec::new(), Vec::new(), false);
        let result = self
            .writer
            .visit_whole(key, UpdateBy::Duplicate, &mut |view, buf| {
                let old = &Stored {
                    def: &target.def,
                    view,
                    zone: run.env.time_zone,
                };
                changed = self
                    .writer
                    .assign(assignments, &OldAndNew { old, ..rows }, &mut set)?;
                after = Changed { base: old, set: &set }.copy(width);
                self.writer.fill(&set, buf);
                Ok(if changed { Action::Update } else { Action::Keep })
            });
        let found = result.map_err(|error| target.explain(error, &Slots(&after)))?;
        Ok(found.then_some((changed, after)))
    }

    /// The same after it has been locked and copied.
    fn update_locked(
        &self,
        assignments: &Assignments,
        key: &[u8],
        new: &[Value],
    ) -> Result<Option<(bool, Vec<Value>)>> {
        let Some(old) = self.writer.lock(key)? else {
            return Ok(None);
        };
        let mut set = Vec::new();
        let rows = OldAndNew {
            old: &Slots(&old),
            ..self.rows(new)
        };
        let changed = self.writer.assign(assignments, &rows, &mut set)?;
        let found = match changed {
            true => self.writer.update(key, &old, &set, UpdateBy::Duplicate)?,
            false => self.writer.leave(key, &old, Action::Keep)?,
        };
        let after = Changed {
            base: &Slots(&old),
            set: &set,
        };
        Ok(found.then(|| (changed, after.copy(old.len()))))
    }

    fn finish(mut self, rows: u64) -> Result<Changes> {
        let session = self.run.session;
        if session.told_insert_id.get() {
            self.outcome.last_insert_id = session.last_insert_id.get();
        } else if !self.wrote {
            self.outcome.last_insert_id = 0;
        }
        if let Some(first) = self.outcome.generated_id {
            self.outcome.last_insert_id = first;
            session.set_last_insert_id(first);
        }
        if matches!(self.plan.source, InsertSource::File(_)) {
            self.outcome.info = self.load_info(rows);
        } else if !self.is_single_row() {
            let warnings = self.run.env.warnings.count();
            let duplicates = self.changed + self.skipped;
            let rows = rows - self.orphans - self.refused;
            self.outcome.info = format!("Records: {rows}  Duplicates: {duplicates}  Warnings: {warnings}");
        }
        Ok(self.outcome)
    }
}

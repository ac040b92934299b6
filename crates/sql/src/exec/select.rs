//! What happens to the rows of a source, and the set operations.

use super::counting::count_block;
use super::groups::Groups;
use super::output::{Collect, Converting, Output};
use super::rollup::Rollup;
use super::rows::{JoinedRow, WindowRow};
use super::source::Produced;
use super::spill::{Counted, Distinct, Novelty, copied};
use super::tail::{Tail, append_key};
use super::window::Windows;
use super::{Exec, QueryScope, ScanControl};
use crate::context::Counter;
use crate::error::depth::check_stack;
use crate::error::memory::check_memory;
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Row};
use crate::parse::ast::SetOp;
use crate::plan::explain::measured::{Measured, Measuring, Stage, meter};
use crate::plan::trace::run::Temporary;
use crate::plan::{QueryBody, QueryPlan, RowSource, SelectPlan, SetBranch};
use crate::types::{SqlType, Val, Value};

/// What hands its rows to a function, until that wants no more.
type RowsTo<'r> = &'r mut dyn FnMut(&mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()>;

/// The key of a row: error 3170 if there is no memory for it.
pub(super) fn row_key(row: &[Value], types: &[SqlType]) -> Result<Vec<u8>> {
    check_memory()?;
    let mut key = Vec::new();
    append_key(row, types, &mut key)?;
    Ok(key)
}

impl<'a> Exec<'a, '_> {
    /// Runs a query; returns how many rows it has, those beyond its limit included if it was asked to count them.
    pub fn query(&self, plan: &QueryPlan, scope: QueryScope, out: &mut dyn Output) -> Result<u64> {
        check_stack()?;
        self.check()?;
        let mut converting;
        let out: &mut dyn Output = match plan.converted.as_slice() {
            [] => out,
            exprs => {
                converting = Converting {
                    exprs,
                    env: scope.env,
                    out,
                };
                &mut converting
            }
        };
        match &plan.body {
            QueryBody::Select(select) => self.select(plan, select, scope, out),
            QueryBody::Set { first, rest } => {
                let types: Vec<SqlType> = plan.columns.iter().map(|c| c.ty.clone()).collect();
                let ctx = scope.env.ctx();
                let distinct = rest.last().is_some_and(|last| !last.all);
                let mut tail = Tail::new(self, plan, distinct, &ctx)?;
                self.set_operation(first, rest, &types, scope, &mut |row| {
                    Ok(tail.values(row, &types, &ctx, out)? != ScanControl::Stop)
                })?;
                tail.finish(out)
            }
            QueryBody::Recursive(recursion) => {
                let types: Vec<SqlType> = plan.columns.iter().map(|c| c.ty.clone()).collect();
                let ctx = scope.env.ctx();
                let mut tail = Tail::new(self, plan, false, &ctx)?;
                if !tail.is_empty() {
                    self.recursive(recursion, &plan.columns, scope, &mut |row| {
                        Ok(tail.values(row, &types, &ctx, out)? != ScanControl::Stop)
                    })?;
                }
                tail.finish(out)
            }
            QueryBody::Values(rows) => {
                let types: Vec<SqlType> = plan.columns.iter().map(|c| c.ty.clone()).collect();
                let outside = JoinedRow {
                    values: &[],
                    outer: scope.outer,
                };
                let ctx = EvalCtx {
                    row: &outside,
                    env: scope.env,
                };
                let mut tail = Tail::new(self, plan, false, &scope.env.ctx())?;
                for row in rows {
                    let values = row
                        .iter()
                        .map(|e| e.eval(&ctx).map(Val::into_owned))
                        .collect::<Result<Vec<_>>>()?;
                    if tail.values(&values, &types, &ctx, out)? == ScanControl::Stop {
                        break;
                    }
                }
                tail.finish(out)
            }
        }
    }

    /// Hands the rows of a set operation to `f`; those of a last operation that is DISTINCT with their duplicates.
    fn set_operation(
        &self,
        first: &QueryPlan,
        rest: &[SetBranch],
        types: &[SqlType],
        scope: QueryScope,
        f: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        if rest.iter().all(|branch| branch.op == SetOp::Union) {
            return self.union(first, rest, types, scope, f);
        }
        let Some((last, before)) = rest.split_last() else {
            return self.each_row(first, scope, f);
        };
        if before.is_empty() {
            return self.set_step(&mut |f| self.each_row(first, scope, f), last, types, scope, f);
        }
        // Produced by step, each over the rows that the one before has left.
        let mut rows = self.rows_of(first, scope, None)?;
        for branch in before {
            let mut next = self.no_rows();
            let mut step = |f: &mut dyn FnMut(&[Value]) -> Result<bool>| {
                self.set_step(&mut |f| rows.for_each(f), branch, types, scope, f)
            };
            let mut keep = |row: &[Value]| next.push(copied(row)?).map(|()| true);
            match branch.all {
                true => step(&mut keep)?,
                false => self.distinct(&mut step, types, &mut keep).map(|_| ())?,
            }
            rows = next;
        }
        self.set_step(&mut |f| rows.for_each(f), last, types, scope, f)
    }

    /// Hands the first of equal rows to `f`; returns whether it wants more.
    fn distinct(
        &self,
        rows: RowsTo,
        types: &[SqlType],
        f: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<bool> {
        self.session.count(Counter::CreatedTmpTables, 1);
        if let Some(trace) = self.trace {
            trace.creates_table(Temporary {
                name: None,
                columns: types.len(),
                grouped: true,
            });
        }
        let mut seen = Distinct::new(self.room(), self.shares().table);
        let mut more = true;
        rows(&mut |row| {
            let key = row_key(row, types)?;
            match seen.look(&key)? {
                Novelty::New => more = f(row)?,
                Novelty::Known => {}
                Novelty::Later => seen.put_aside(&key, row)?,
            }
            Ok(more)
        })?;
        Ok(more && seen.finish(&mut |row| f(row))?)
    }

    /// One operation: `left` hands over the rows before it.
    fn set_step(
        &self,
        left: RowsTo,
        branch: &SetBranch,
        types: &[SqlType],
        scope: QueryScope,
        f: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        if branch.op == SetOp::Union {
            let mut more = true;
            left(&mut |row| {
                more = f(row)?;
                Ok(more)
            })?;
            return if more {
                self.each_row(&branch.plan, scope, f)
            } else {
                Ok(())
            };
        }
        let mut right = Counted::new(self.room(), self.shares().table, branch.all);
        self.each_row(&branch.plan, scope, &mut |row| {
            right.add(&row_key(row, types)?)?;
            Ok(true)
        })?;
        let wanted = branch.op == SetOp::Intersect;
        let mut more = true;
        left(&mut |row| {
            if right.look(&row_key(row, types)?, row)? == Some(wanted) {
                more = f(row)?;
            }
            Ok(more)
        })?;
        if more {
            right.finish(&mut |row, there| if there == wanted { f(row) } else { Ok(true) })?;
        }
        Ok(())
    }

    /// A union of any number. What comes before the last DISTINCT is one set; what comes behind it is added as it is.
    fn union(
        &self,
        first: &QueryPlan,
        rest: &[SetBranch],
        types: &[SqlType],
        scope: QueryScope,
        f: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        let last_distinct = rest.iter().rposition(|branch| !branch.all);
        let plans: Vec<&QueryPlan> = std::iter::once(first)
            .chain(rest.iter().map(|branch| &branch.plan))
            .collect();
        // Where the last one is DISTINCT, the caller removes the duplicates of all.
        let set_len = last_distinct
            .filter(|at| at + 1 < rest.len())
            .map_or(0, |at| at + 2);
        let (set, others) = plans.split_at(set_len);
        let each = |plans: &[&QueryPlan], f: &mut dyn FnMut(&[Value]) -> Result<bool>| {
            let mut more = true;
            for plan in plans {
                if more {
                    self.each_row(plan, scope, &mut |row| {
                        more = f(row)?;
                        Ok(more)
                    })?;
                }
            }
            Ok(())
        };
        let more = set.is_empty() || self.distinct(&mut |f| each(set, f), types, f)?;
        if more { each(others, f) } else { Ok(()) }
    }

    pub(super) fn each_row(
        &self,
        plan: &QueryPlan,
        scope: QueryScope,
        f: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        self.query(plan, scope, &mut Collect::new(f)).map(|_| ())
    }

    /// Hands every row of a join to `f`, copied and whole.
    pub fn joined(
        &self,
        plan: &QueryPlan,
        scope: QueryScope,
        f: &mut dyn FnMut(&[Value]) -> Result<()>,
    ) -> Result<()> {
        let QueryBody::Select(select) = &plan.body else {
            return Err(SqlError::not_supported("a change of what is no join"));
        };
        count_block(self.session, &select.source);
        let mut row = vec![Value::Null; select.width];
        self.source(&select.source, &mut row, scope, false, &mut |produced| {
            let Produced::Row(row) = produced else {
                return Ok(ScanControl::Next);
            };
            let joined = JoinedRow {
                values: row,
                outer: scope.outer,
            };
            let ctx = EvalCtx {
                row: &joined,
                env: scope.env,
            };
            if let Some(filter) = &select.filter
                && !filter.is_true(&ctx)?
            {
                return Ok(ScanControl::Next);
            }
            f(row)?;
            Ok(ScanControl::Next)
        })?;
        Ok(())
    }

    fn select(
        &self,
        plan: &QueryPlan,
        select: &SelectPlan,
        scope: QueryScope,
        out: &mut dyn Output,
    ) -> Result<u64> {
        let _part = self.trace.map(|trace| trace.runs(select));
        let mut end = End::new(self, plan, select, scope)?;
        if end.tail.is_empty() {
            return Ok(0);
        }
        if let Some(having) = select.having.as_ref().filter(|_| select.having_first)
            && !having.is_true(&scope.env.ctx())?
        {
            return Ok(0);
        }
        count_block(self.session, &select.source);
        let _measuring = self
            .measured
            .map(|measured| Measuring::of_block(measured, plan, select));
        let mut row = vec![Value::Null; select.width];
        let mut grouped = Grouped::new(self, plan, select);
        let mut flow = ScanControl::Next;
        for (at, source) in sources(select).enumerate() {
            flow = self.source(source, &mut row, scope, select.latch_safe, &mut |produced| {
                let joined;
                let row: &dyn Row = match &produced {
                    Produced::Row(values) => {
                        joined = JoinedRow {
                            values: values.as_slice(),
                            outer: scope.outer,
                        };
                        &joined
                    }
                    Produced::PageRow(page_row) => *page_row,
                    Produced::Flush => {
                        out.flush()?;
                        return Ok(ScanControl::Next);
                    }
                };
                let ctx = EvalCtx { row, env: scope.env };
                if let Some(filter) = &select.filter
                    && !filter.is_true(&ctx)?
                {
                    return Ok(ScanControl::Next);
                }
                if let Some(measured) = self.measured {
                    measured.row(meter(select, Stage::Filtered));
                }
                grouped.take(at, &ctx, scope, &mut end, out)
            })?;
        }
        let stopped = match flow == ScanControl::Stop && !first_only(select) {
            true => true,
            false => grouped.finish(scope, &mut end, out)? == ScanControl::Stop,
        };
        end.finish(stopped, scope, out)
    }
}

/// What makes groups of rows, if anything does.
enum Grouped<'g, 'a> {
    No,
    Groups(Box<Groups<'g, 'a>>),
    Rollup(Box<Rollup<'g, 'a>>),
}

impl<'g, 'a> Grouped<'g, 'a> {
    fn new(exec: &Exec<'a, '_>, query: &'g QueryPlan, select: &'g SelectPlan) -> Grouped<'g, 'a> {
        match &select.group {
            None => Grouped::No,
            Some(group) if group.rollup.is_some() => {
                Grouped::Rollup(Box::new(Rollup::new(exec, query, select, group)))
            }
            Some(group) => {
                if !group.sorted && !group.keys.is_empty() {
                    exec.session.count(Counter::CreatedTmpTables, 1);
                    if let Some(trace) = exec.trace {
                        trace.creates_table(Temporary {
                            name: None,
                            columns: group.keep.len() + group.aggregates.len(),
                            grouped: true,
                        });
                    }
                }
                Grouped::Groups(Box::new(Groups::new(exec, select, group)))
            }
        }
    }

    /// Takes a row of the source of this number in; groups that it ends go on.
    #[inline]
    fn take(
        &mut self,
        source: usize,
        ctx: &EvalCtx,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let groups = match self {
            Grouped::No => return end.row(ctx, scope, out),
            Grouped::Rollup(rollup) => return rollup.take(ctx, scope, end, out),
            Grouped::Groups(groups) => groups,
        };
        if groups.plan().first_only {
            // The first value in index order is the least or greatest; NULLs count for neither.
            let arg = &groups.plan().aggregates[source].args[0];
            if arg.eval(ctx)?.is_null() {
                return Ok(ScanControl::Next);
            }
            groups.open(ctx.row);
            groups.update_in_hand(source, ctx)?;
            return Ok(ScanControl::Stop);
        }
        groups.take(ctx, scope, end, out)
    }

    /// The input has ended: the rest of the groups goes on.
    fn finish(self, scope: QueryScope, end: &mut End, out: &mut dyn Output) -> Result<ScanControl> {
        match self {
            Grouped::No => Ok(ScanControl::Next),
            Grouped::Groups(groups) => groups.finish(scope, end, out),
            Grouped::Rollup(rollup) => rollup.finish(scope, end, out),
        }
    }
}

/// What a block reads: its tables, or for each of several aggregates the table from an end.
fn sources(select: &SelectPlan) -> impl Iterator<Item = &RowSource> {
    let ends = select.group.iter().flat_map(|group| &group.ends);
    std::iter::once(&select.source).chain(ends)
}

/// Whether the scan stops at the first row, which is not the end of what is wanted.
fn first_only(select: &SelectPlan) -> bool {
    select.group.as_ref().is_some_and(|group| group.first_only)
}

/// The end of a query block, behind its filters and groups.
pub(super) struct End<'t, 'a> {
    select: &'t SelectPlan,
    windows: Option<Box<Windows<'t, 'a>>>,
    tail: Tail<'t, 'a>,
    measured: Option<&'a Measured>,
}

impl<'t, 'a> End<'t, 'a> {
    // Of every point select: made where it stays, and ended there.
    #[inline(always)]
    fn new(
        exec: &Exec<'a, '_>,
        plan: &'t QueryPlan,
        select: &'t SelectPlan,
        scope: QueryScope,
    ) -> Result<End<'t, 'a>> {
        let ctx = scope.env.ctx();
        let tail = Tail::new(exec, plan, select.distinct, &ctx)?;
        let windows = match &select.windows {
            Some(windows) => Some(Box::new(Windows::new(exec, plan, windows, &ctx)?)),
            None => None,
        };
        Ok(End {
            select,
            windows,
            tail,
            measured: exec.measured,
        })
    }

    /// Takes the row of `ctx`.
    #[inline]
    pub fn row(&mut self, ctx: &EvalCtx, scope: QueryScope, out: &mut dyn Output) -> Result<ScanControl> {
        if let Some(measured) = self.measured {
            measured.row(meter(self.select, Stage::Grouped));
        }
        match &mut self.windows {
            None => self.tail.row(&self.select.output, ctx, out),
            Some(windows) => {
                let (select, tail) = (self.select, &mut self.tail);
                let more = windows.take(ctx.row, scope, &mut |row| behind(row, select, tail, scope, out))?;
                Ok(if more {
                    ScanControl::Next
                } else {
                    ScanControl::Stop
                })
            }
        }
    }

    /// The input has ended, or no more of it is wanted. Returns what [`Tail::finish`] does.
    #[inline]
    fn finish(&mut self, stopped: bool, scope: QueryScope, out: &mut dyn Output) -> Result<u64> {
        if let Some(windows) = self.windows.take().filter(|_| !stopped) {
            let (select, tail) = (self.select, &mut self.tail);
            windows.finish(scope, &mut |row| behind(row, select, tail, scope, out))?;
        }
        self.tail.finish(out)
    }
}

/// Hands on a row that has the values of its window functions; returns whether more are wanted.
fn behind(
    row: &WindowRow,
    select: &SelectPlan,
    tail: &mut Tail,
    scope: QueryScope,
    out: &mut dyn Output,
) -> Result<bool> {
    let ctx = EvalCtx { row, env: scope.env };
    match tail.row(&select.output, &ctx, out)? {
        ScanControl::Stop => return Ok(false),
        ScanControl::Pause => out.flush()?,
        ScanControl::Next => {}
    }
    Ok(true)
}

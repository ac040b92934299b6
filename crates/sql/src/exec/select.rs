//! What happens to the rows of a source: grouping, distinctness, order, limit; and the set operations.

use super::output::{Collect, Output};
use super::rows::{GroupRow, JoinedRow};
use super::sorter::Sorter;
use super::source::Produced;
use super::{Exec, QueryScope, ScanControl};
use crate::error::depth::check_stack;
use crate::error::{Result, SqlError, er};
use crate::expr::{Accumulator, EvalCtx, Expr, Row};
use crate::parse::ast::SetOp;
use crate::plan::{GroupPlan, QueryBody, QueryPlan, Recursion, SelectPlan, SetBranch};
use crate::types::sort::sort_key;
use crate::types::{SqlType, Val, Value};
use std::collections::{HashMap, HashSet};

/// The end of every query: distinct rows, in order, within the limit, to the output.
struct Tail<'t> {
    plan: &'t QueryPlan,
    /// The rows met, if duplicates are to be left out here.
    distinct: Option<HashSet<Box<[u8]>>>,
    /// The key of a row in hand.
    key: Vec<u8>,
    sorter: Option<Sorter>,
    skip: u64,
    left: u64,
    /// Rows that would have come without the limit.
    found: u64,
}

impl<'t> Tail<'t> {
    fn new(plan: &'t QueryPlan, distinct: bool, ctx: &EvalCtx) -> Result<Tail<'t>> {
        let number = |e: &Option<Expr>, or: u64| match e {
            Some(e) => limit_of(e, ctx),
            None => Ok(or),
        };
        let skip = number(&plan.offset, 0)?;
        let left = number(&plan.limit, u64::MAX)?;
        // Rows sorted by all that they hold have their duplicates beside them.
        let by_all = distinct && plan.ordered_by_output && !plan.order.is_empty();
        let wanted = match plan.calc_found_rows {
            true => u64::MAX,
            false => skip.saturating_add(left),
        };
        let sorter = || Sorter::new(plan.columns.len(), by_all, wanted);
        Ok(Tail {
            plan,
            distinct: (distinct && !by_all).then(HashSet::new),
            key: Vec::new(),
            sorter: (!plan.order.is_empty()).then(sorter),
            skip,
            left,
            found: 0,
        })
    }

    /// Whether no row can be wanted at all.
    fn is_empty(&self) -> bool {
        self.left == 0 && !self.plan.calc_found_rows
    }

    /// Whether the row whose key is in hand has not been met, where that matters.
    fn is_new(&mut self) -> bool {
        match &mut self.distinct {
            Some(seen) if seen.contains(self.key.as_slice()) => false,
            Some(seen) => seen.insert(self.key.as_slice().into()),
            None => true,
        }
    }

    /// A row of the query, as expressions over the row of `ctx`.
    fn row(&mut self, exprs: &[Expr], ctx: &EvalCtx, out: &mut dyn Output) -> Result<ScanControl> {
        if self.distinct.is_some() {
            self.key.clear();
            output_key(exprs, ctx, &mut self.key)?;
            if !self.is_new() {
                return Ok(ScanControl::Next);
            }
        }
        self.found += 1;
        if let Some(sorter) = &mut self.sorter {
            match sorter.is_distinct() {
                true => output_key(exprs, ctx, sorter.key())?,
                false => order_key(self.plan, ctx, sorter.key())?,
            }
            sorter.push(exprs.iter().map(|e| e.eval(ctx).map(Val::into_owned)))?;
            return Ok(ScanControl::Next);
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(ScanControl::Next);
        }
        if self.left == 0 {
            return Ok(self.enough());
        }
        self.left -= 1;
        let flow = out.row(exprs, ctx)?;
        Ok(if self.left == 0 && flow == ScanControl::Next {
            self.enough()
        } else {
            flow
        })
    }

    fn enough(&self) -> ScanControl {
        if self.plan.calc_found_rows {
            ScanControl::Next
        } else {
            ScanControl::Stop
        }
    }

    /// A computed row.
    fn values(
        &mut self,
        row: &[Value],
        types: &[SqlType],
        ctx: &EvalCtx,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        if self.distinct.is_some() {
            self.key.clear();
            append_key(row, types, &mut self.key);
            if !self.is_new() {
                return Ok(ScanControl::Next);
            }
        }
        self.found += 1;
        if let Some(sorter) = &mut self.sorter {
            let slots = JoinedRow {
                values: row,
                outer: None,
            };
            let ctx = EvalCtx {
                row: &slots,
                env: ctx.env,
            };
            match sorter.is_distinct() {
                true => append_key(row, types, sorter.key()),
                false => order_key(self.plan, &ctx, sorter.key())?,
            }
            sorter.push(row.iter().cloned().map(Ok::<_, SqlError>))?;
            return Ok(ScanControl::Next);
        }
        self.deliver(row, out)
    }

    fn deliver(&mut self, row: &[Value], out: &mut dyn Output) -> Result<ScanControl> {
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(ScanControl::Next);
        }
        if self.left == 0 {
            return Ok(self.enough());
        }
        self.left -= 1;
        let flow = out.values(row)?;
        if flow == ScanControl::Pause {
            out.flush()?;
        }
        if flow == ScanControl::Stop || self.left == 0 {
            return Ok(if flow == ScanControl::Stop {
                ScanControl::Stop
            } else {
                self.enough()
            });
        }
        Ok(ScanControl::Next)
    }

    fn finish(mut self, out: &mut dyn Output) -> Result<u64> {
        if let Some(sorter) = self.sorter.take() {
            let sorted =
                sorter.finish(|row| Ok::<_, SqlError>(self.deliver(row, out)? != ScanControl::Stop))?;
            // Duplicates were counted in.
            self.found = self.found.min(sorted as u64);
        }
        Ok(self.found)
    }
}

/// Appends the key of all that a row shows.
fn output_key(exprs: &[Expr], ctx: &EvalCtx, key: &mut Vec<u8>) -> Result<()> {
    for expr in exprs {
        sort_key(&expr.eval(ctx)?, &expr.ty, key);
    }
    Ok(())
}

/// Appends the key by which a row is sorted.
fn order_key(plan: &QueryPlan, ctx: &EvalCtx, key: &mut Vec<u8>) -> Result<()> {
    for (expr, descending) in &plan.order {
        let from = key.len();
        sort_key(&expr.eval(ctx)?, &expr.ty, key);
        if *descending {
            key[from..].iter_mut().for_each(|b| *b = !*b);
        }
    }
    Ok(())
}

/// The value of LIMIT or OFFSET.
pub fn limit_of(e: &Expr, ctx: &EvalCtx) -> Result<u64> {
    match e.eval(ctx)? {
        Val::Int(n) if n >= 0 => Ok(n as u64),
        Val::UInt(n) => Ok(n),
        Val::Str(text) => {
            let number = std::str::from_utf8(&text)
                .ok()
                .and_then(|t| t.trim().parse().ok());
            number.ok_or_else(|| SqlError::wrong_arguments("LIMIT"))
        }
        _ => Err(SqlError::wrong_arguments("LIMIT")),
    }
}

fn append_key(row: &[Value], types: &[SqlType], key: &mut Vec<u8>) {
    row.iter()
        .zip(types)
        .for_each(|(value, ty)| sort_key(value, ty, key));
}

fn row_key(row: &[Value], types: &[SqlType]) -> Vec<u8> {
    let mut key = Vec::new();
    append_key(row, types, &mut key);
    key
}

/// The groups of a running query.
struct Groups<'g> {
    plan: &'g GroupPlan,
    by_key: HashMap<Vec<u8>, usize>,
    groups: Vec<Group>,
    key: Vec<u8>,
    current: Vec<u8>,
}

struct Group {
    first: Vec<Value>,
    accumulators: Vec<Accumulator>,
}

impl Group {
    fn new(plan: &GroupPlan, row: Option<&dyn Row>) -> Group {
        let kept = |slot: &usize| row.map_or(Value::Null, |row| row.column(*slot).into_owned());
        Group {
            first: plan.keep.iter().map(kept).collect(),
            accumulators: plan.aggregates.iter().map(|a| a.accumulator()).collect(),
        }
    }

    fn update(&mut self, plan: &GroupPlan, ctx: &EvalCtx) -> Result<()> {
        for (accumulator, aggregate) in self.accumulators.iter_mut().zip(&plan.aggregates) {
            accumulator.update(aggregate, ctx)?;
        }
        Ok(())
    }

    /// Hands the group on as a row.
    fn emit(
        self,
        plan: &GroupPlan,
        select: &SelectPlan,
        scope: QueryScope,
        tail: &mut Tail,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let ctx = scope.env.ctx();
        let finished = self
            .accumulators
            .into_iter()
            .zip(&plan.aggregates)
            .map(|(a, spec)| a.finish(spec, &ctx));
        let aggregates = finished.collect::<Result<Vec<_>>>()?;
        let row = GroupRow {
            keep: &plan.keep,
            first: &self.first,
            aggregates: &aggregates,
            outer: scope.outer,
        };
        let ctx = EvalCtx {
            row: &row,
            env: scope.env,
        };
        if let Some(having) = &select.having
            && !having.is_true(&ctx)?
        {
            return Ok(ScanControl::Next);
        }
        tail.row(&select.output, &ctx, out)
    }
}

impl<'g> Groups<'g> {
    fn new(plan: &'g GroupPlan) -> Groups<'g> {
        Groups {
            plan,
            by_key: HashMap::new(),
            groups: Vec::new(),
            key: Vec::new(),
            current: Vec::new(),
        }
    }

    /// Takes a row in. With sorted input, the group that it ends is returned.
    fn take(&mut self, row: &dyn Row, ctx: &EvalCtx) -> Result<Option<Group>> {
        let plan = self.plan;
        let mut ended = None;
        let at = if plan.keys.is_empty() {
            if self.groups.is_empty() {
                self.groups.push(Group::new(plan, Some(row)));
            }
            0
        } else {
            self.key.clear();
            for key in &plan.keys {
                sort_key(&key.eval(ctx)?, &key.ty, &mut self.key);
            }
            if plan.sorted {
                if self.groups.is_empty() || self.key != self.current {
                    ended = self.groups.pop();
                    self.groups.push(Group::new(plan, Some(row)));
                    std::mem::swap(&mut self.key, &mut self.current);
                }
                0
            } else if let Some(at) = self.by_key.get(&self.key) {
                *at
            } else {
                self.groups.push(Group::new(plan, Some(row)));
                self.by_key.insert(self.key.clone(), self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        self.groups[at].update(plan, ctx)?;
        Ok(ended)
    }
}

impl Exec<'_, '_> {
    /// Runs a query; answers how many rows it has, those beyond its limit included if it was asked to count them.
    pub fn query(&self, plan: &QueryPlan, scope: QueryScope, out: &mut dyn Output) -> Result<u64> {
        check_stack()?;
        self.check_interrupt()?;
        match &plan.body {
            QueryBody::Select(select) => self.select(plan, select, scope, out),
            QueryBody::Set { first, rest } => {
                let types: Vec<SqlType> = plan.columns.iter().map(|c| c.ty.clone()).collect();
                let ctx = scope.env.ctx();
                let distinct = rest.last().is_some_and(|last| !last.all);
                let mut tail = Tail::new(plan, distinct, &ctx)?;
                self.set_operation(first, rest, &types, scope, &mut |row| {
                    Ok(tail.values(row, &types, &ctx, out)? != ScanControl::Stop)
                })?;
                tail.finish(out)
            }
            QueryBody::Recursive(recursion) => {
                let types: Vec<SqlType> = plan.columns.iter().map(|c| c.ty.clone()).collect();
                let ctx = scope.env.ctx();
                let mut tail = Tail::new(plan, false, &ctx)?;
                self.recursive(recursion, &types, scope, &mut |row| {
                    Ok(tail.values(row, &types, &ctx, out)? != ScanControl::Stop)
                })?;
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
                let mut tail = Tail::new(plan, false, &scope.env.ctx())?;
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

    /// Each round's query reads the rows that the round before added.
    fn recursive(
        &self,
        recursion: &Recursion,
        types: &[SqlType],
        scope: QueryScope,
        f: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        let depth_max = self.session.settings.cte_max_recursion_depth;
        let mut seen = HashSet::new();
        let mut round = 0;
        loop {
            self.check_interrupt()?;
            let mut rows = Vec::new();
            let mut more = true;
            let query = if round == 0 {
                &recursion.seed
            } else {
                &recursion.step
            };
            self.query(
                query,
                scope,
                &mut Collect::new(|row: &[Value]| {
                    if recursion.all || seen.insert(row_key(row, types)) {
                        rows.push(row.to_vec());
                        more = f(row)?;
                    }
                    Ok(more)
                }),
            )?;
            if rows.is_empty() || !more {
                return Ok(());
            }
            if round > depth_max {
                return Err(SqlError::new(
                    er::CTE_MAX_RECURSION_DEPTH,
                    format!(
                        "Recursive query aborted after {round} iterations. Try increasing @@cte_max_recursion_depth to a \
                         larger value."
                    ),
                ));
            }
            round += 1;
            self.forget(recursion.working, rows);
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
        let mut rows = Vec::new();
        self.each_row(first, scope, &mut |row| {
            rows.push(row.to_vec());
            Ok(true)
        })?;
        for branch in before {
            self.check_interrupt()?;
            let (mut next, mut seen) = (Vec::new(), HashSet::new());
            self.set_step(
                &mut |f| rows.iter().try_for_each(|row| f(row).map(|_| ())),
                branch,
                types,
                scope,
                &mut |row| {
                    if branch.all || seen.insert(row_key(row, types)) {
                        next.push(row.to_vec());
                    }
                    Ok(true)
                },
            )?;
            rows = next;
        }
        let mut more = true;
        self.set_step(
            &mut |f| {
                rows.iter().try_for_each(|row| {
                    if more {
                        more = f(row)?;
                    }
                    Ok(())
                })
            },
            last,
            types,
            scope,
            f,
        )
    }

    /// One operation: `left` hands over the rows before it.
    fn set_step(
        &self,
        left: &mut dyn FnMut(&mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()>,
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
        // How often each row is on the right.
        let mut counts: HashMap<Vec<u8>, u64> = HashMap::new();
        self.each_row(&branch.plan, scope, &mut |row| {
            *counts.entry(row_key(row, types)).or_default() += 1;
            Ok(true)
        })?;
        left(&mut |row| {
            let count = counts.get_mut(&row_key(row, types)).filter(|count| **count > 0);
            let there = count.is_some();
            if let (Some(count), true) = (count, branch.all) {
                *count -= 1;
            }
            if there == (branch.op == SetOp::Intersect) {
                f(row)
            } else {
                Ok(true)
            }
        })
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
        // Where the last one is DISTINCT, the caller removes the duplicates of all.
        let own_set = last_distinct.filter(|at| at + 1 < rest.len());
        let mut seen = HashSet::new();
        let mut more = true;
        let plans = std::iter::once(first).chain(rest.iter().map(|branch| &branch.plan));
        for (at, plan) in plans.enumerate() {
            if !more {
                break;
            }
            let in_set = own_set.is_some_and(|last| at <= last + 1);
            self.each_row(plan, scope, &mut |row| {
                if !in_set || seen.insert(row_key(row, types)) {
                    more = f(row)?;
                }
                Ok(more)
            })?;
        }
        Ok(())
    }

    fn each_row(
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
        let mut tail = Tail::new(plan, select.distinct, &scope.env.ctx())?;
        if tail.is_empty() {
            return Ok(0);
        }
        let mut row = vec![Value::Null; select.width];
        let mut groups = select.group.as_ref().map(Groups::new);
        let mut ended = ScanControl::Next;
        let flow = self.source(
            &select.source,
            &mut row,
            scope,
            select.latch_safe,
            &mut |produced| {
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
                let Some(groups) = &mut groups else {
                    return tail.row(&select.output, &ctx, out);
                };
                if groups.plan.first_only {
                    // The first value in index order is the least or greatest; NULLs count for neither.
                    let arg = &groups.plan.aggregates[0].args[0];
                    if arg.eval(&ctx)?.is_null() {
                        return Ok(ScanControl::Next);
                    }
                    groups.take(row, &ctx)?;
                    return Ok(ScanControl::Stop);
                }
                match groups.take(row, &ctx)? {
                    Some(group) => {
                        ended = group.emit(groups.plan, select, scope, &mut tail, out)?;
                        Ok(ended)
                    }
                    None => Ok(ScanControl::Next),
                }
            },
        )?;
        if let Some(mut groups) = groups
            && (ended != ScanControl::Stop || flow != ScanControl::Stop)
        {
            if groups.groups.is_empty() && groups.plan.keys.is_empty() {
                groups.groups.push(Group::new(groups.plan, None));
            }
            for group in std::mem::take(&mut groups.groups) {
                match group.emit(groups.plan, select, scope, &mut tail, out)? {
                    ScanControl::Stop => break,
                    ScanControl::Pause => out.flush()?,
                    ScanControl::Next => {}
                }
            }
        }
        tail.finish(out)
    }
}

//! Window functions: rows go from pass to pass, each of which adds values to them.
//!
//! ```text
//!  row ──▶ sorter? ──▶ partition ──▶ row and values ──▶ sorter? ──▶ partition ──▶ … ──▶ the end of the query
//!            │           ▲
//!            ▼           │ each row with the key that it was sorted by: where that changes in its first part a
//!          runs (spill) ─┘ partition ends, where it changes in the rest a group of peers
//! ```
//!
//! A pass that sorts has all its rows before it hands out the first. One whose rows come in order already hands each on as
//! soon as the functions know enough of the rows behind it: [`partition`].

mod call;
mod frame;
mod partition;

use super::rows::{Slots, WindowRow};
use super::spill::Sorter;
use super::{Exec, QueryScope, Telling};
use crate::error::Result;
use crate::expr::{EvalCtx, Row};
use crate::plan::QueryPlan;
use crate::plan::window::{WindowPass, WindowPlan};
use crate::types::sort::{order_key, sort_key};
use crate::types::{Val, Value};
use partition::Partition;

/// What takes the rows; returns whether it wants more.
pub(super) type RowsTo<'s> = &'s mut dyn FnMut(&WindowRow) -> Result<bool>;

/// The window functions of a running query.
pub(super) struct Windows<'w, 'a> {
    plan: &'w WindowPlan,
    slots: Slots,
    passes: Vec<Pass<'w, 'a>>,
    row: Vec<Value>,
}

struct Pass<'w, 'a> {
    plan: &'w WindowPass,
    sorter: Option<Sorter<'a>>,
    key: Vec<u8>,
    partition: Partition<'w, 'a>,
    telling: Option<Telling<'w, 'a>>,
}

impl<'w, 'a> Windows<'w, 'a> {
    /// No rows yet. Error 3586 or 1210 if the number of a frame or a function is none that it can use.
    pub fn new(
        exec: &Exec<'a, '_>,
        query: &'w QueryPlan,
        plan: &'w WindowPlan,
        ctx: &EvalCtx,
    ) -> Result<Windows<'w, 'a>> {
        let calls = plan.passes.iter().flat_map(|pass| &pass.calls);
        let order: Vec<usize> = calls.map(|call| call.number).collect();
        let slots = Slots::new(&plan.keep, &order);
        let mut width = plan.keep.len();
        let mut passes = Vec::with_capacity(plan.passes.len());
        for pass in &plan.passes {
            let (room, shares) = (exec.room(), exec.shares());
            passes.push(Pass {
                plan: pass,
                sorter: pass
                    .sorts()
                    .then(|| Sorter::new(room, shares.sort, width, false, u64::MAX)),
                key: Vec::new(),
                partition: Partition::new((room, shares.table), pass, (&slots, width), ctx)?,
                telling: exec.telling(query),
            });
            width += pass.calls.len();
        }
        Ok(Windows {
            plan,
            slots,
            passes,
            row: Vec::new(),
        })
    }

    /// Takes a row in; returns whether more are wanted.
    pub fn take(&mut self, row: &dyn Row, scope: QueryScope, to: RowsTo) -> Result<bool> {
        let Some(first) = self.passes.first_mut() else {
            return Ok(true);
        };
        let kept = self.plan.keep.iter().map(|slot| row.column(*slot));
        if let Some(sorter) = &mut first.sorter {
            append_key(first.plan, row, scope, sorter.key())?;
            sorter.push(kept.map(Ok))?;
            return Ok(true);
        }
        self.row.clear();
        self.row.extend(kept.map(Val::into_owned));
        let row = WindowRow {
            slots: &self.slots,
            values: &self.row,
            fresh: &[],
            outer: scope.outer,
        };
        feed(&mut self.passes, &row, scope, to)
    }

    /// The input has ended: hands on the rows that wait.
    pub fn finish(mut self, scope: QueryScope, to: RowsTo) -> Result<()> {
        finish(&mut self.passes, &self.slots, scope, to)?;
        Ok(())
    }
}

/// Appends what a pass sorts a row by, and behind it how much of that is the partition's.
fn append_key(plan: &WindowPass, row: &dyn Row, scope: QueryScope, key: &mut Vec<u8>) -> Result<()> {
    let ctx = EvalCtx { row, env: scope.env };
    let from = key.len();
    for e in &plan.partition {
        sort_key(&e.eval(&ctx)?, &e.ty, key)?;
    }
    let partition = (key.len() - from) as u32;
    for (e, descending) in &plan.order {
        order_key(&e.eval(&ctx)?, &e.ty, *descending, key)?;
    }
    key.extend_from_slice(&partition.to_be_bytes());
    Ok(())
}

/// Hands a row to the first of some passes.
fn feed(passes: &mut [Pass], row: &WindowRow, scope: QueryScope, to: RowsTo) -> Result<bool> {
    let Some((pass, rest)) = passes.split_first_mut() else {
        return to(row);
    };
    if let Some(sorter) = &mut pass.sorter {
        append_key(pass.plan, row, scope, sorter.key())?;
        let values = row.values.iter().chain(row.fresh);
        sorter.push(values.map(|value| Ok(value.borrowed())))?;
        return Ok(true);
    }
    pass.key.clear();
    append_key(pass.plan, row, scope, &mut pass.key)?;
    let next = &mut |row: &WindowRow| feed(rest, row, scope, to);
    pass.partition.take(&pass.key, row, scope, next)
}

/// Ends the first of some passes, and then the others. Returns whether more rows were wanted.
fn finish(passes: &mut [Pass], slots: &Slots, scope: QueryScope, to: RowsTo) -> Result<bool> {
    let Some((pass, rest)) = passes.split_first_mut() else {
        return Ok(true);
    };
    let partition = &mut pass.partition;
    let mut more = true;
    if let Some(sorter) = pass.sorter.take() {
        if let Some(telling) = pass.telling {
            let partition = pass.plan.partition.iter().map(|key| (key, false));
            let order = pass.plan.order.iter().map(|(key, descending)| (key, *descending));
            telling.sorts(partition.chain(order), &sorter);
        }
        sorter.finish_with_keys(|key, values| {
            let row = WindowRow {
                slots,
                values,
                fresh: &[],
                outer: scope.outer,
            };
            more = partition.take(key, &row, scope, &mut |row| feed(rest, row, scope, to))?;
            Ok(more)
        })?;
    }
    let more = more && partition.end(slots, scope, &mut |row| feed(rest, row, scope, to))?;
    Ok(more && finish(rest, slots, scope, to)?)
}

/// A value as a window hands it on: the member of a list is its text.
fn handed_on(value: Val, text: bool) -> Value {
    match value {
        Val::Member(..) if text => Val::Str(value.into_text()).into_owned(),
        other => other.into_owned(),
    }
}

//! The end of every query: distinct rows, in order, within the limit, to the output.
//!
//! ```text
//!  row ──▶ distinct? ──▶ ordered? ──▶ OFFSET, LIMIT ──▶ output
//!            │  ▲           │  ▲
//!            ▼  │           ▼  │          past their shares (`spill`); what waits comes back when the
//!          partitions     sorter          input has ended
//! ```

use super::counting::count_sort;
use super::output::Output;
use super::rows::JoinedRow;
use super::spill::{Distinct, Novelty, Sorter};
use super::{Exec, ScanControl, Telling};
use crate::context::{Counter, SessionState};
use crate::error::{Result, SqlError};
use crate::expr::{EvalCtx, Expr, Node};
use crate::plan::QueryPlan;
use crate::plan::explain::measured::{Measured, Stage, meter};
use crate::plan::trace::run::Temporary;
use crate::types::sort::{self, sort_key};
use crate::types::{SqlType, Val, Value};

/// See the module's head.
pub(super) struct Tail<'t, 'a> {
    plan: &'t QueryPlan,
    session: &'a SessionState,
    /// If duplicates are to be left out here.
    distinct: Option<Box<Distinct<'a>>>,
    /// The key of a row in hand.
    key: Vec<u8>,
    sorter: Option<Box<Sorter<'a>>>,
    skip: u64,
    left: u64,
    /// Rows that have come, with those that the limit leaves out.
    found: u64,
    /// The limit and its offset; no limit if all rows are to be counted.
    wanted: u64,
    measured: Option<&'a Measured>,
    telling: Option<Telling<'t, 'a>>,
}

impl<'t, 'a> Tail<'t, 'a> {
    pub fn new(
        exec: &Exec<'a, '_>,
        plan: &'t QueryPlan,
        distinct: bool,
        ctx: &EvalCtx,
    ) -> Result<Tail<'t, 'a>> {
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
        let sorter = || {
            let (room, share) = (exec.room(), exec.shares().sort);
            Box::new(Sorter::new(room, share, plan.columns.len(), by_all, wanted))
        };
        let all = || {
            exec.session.count(Counter::CreatedTmpTables, 1);
            if let Some(trace) = exec.trace {
                trace.creates_table(Temporary {
                    name: None,
                    columns: plan.columns.len(),
                    grouped: true,
                });
            }
            Box::new(Distinct::new(exec.room(), exec.shares().table))
        };
        Ok(Tail {
            plan,
            session: exec.session,
            distinct: (distinct && !by_all).then(all),
            key: Vec::new(),
            sorter: (!plan.order.is_empty()).then(sorter),
            skip,
            left,
            found: 0,
            wanted,
            measured: exec.measured,
            telling: exec.telling(plan),
        })
    }

    /// Whether no row can be wanted at all.
    pub fn is_empty(&self) -> bool {
        self.left == 0 && !self.plan.calc_found_rows
    }

    /// A row of the query, as expressions over the row of `ctx`.
    pub fn row(&mut self, exprs: &[Expr], ctx: &EvalCtx, out: &mut dyn Output) -> Result<ScanControl> {
        if let Some(distinct) = &mut self.distinct {
            self.key.clear();
            output_key(exprs, ctx, &mut self.key)?;
            match distinct.look(&self.key)? {
                Novelty::New => {}
                Novelty::Known => return Ok(ScanControl::Next),
                Novelty::Later => {
                    let mut row = Vec::with_capacity(exprs.len() + 1);
                    if self.sorter.is_some() {
                        row.push(waiting_order_key(self.plan, ctx)?);
                    }
                    for expr in exprs {
                        row.push(expr.eval(ctx)?.into_owned());
                    }
                    distinct.put_aside(&self.key, &row)?;
                    return Ok(ScanControl::Next);
                }
            }
        }
        self.found += 1;
        if let Some(sorter) = &mut self.sorter {
            match sorter.is_distinct() {
                true => output_key(exprs, ctx, sorter.key())?,
                false => order_key(self.plan, ctx, sorter.key())?,
            }
            if sorter.is_behind() {
                // What is worked out may set a variable, or fail.
                for expr in exprs.iter().filter(|expr| !matches!(expr.node, Node::Column(_))) {
                    expr.eval(ctx)?;
                }
                sorter.pass_over()?;
                return Ok(ScanControl::Next);
            }
            sorter.push(exprs.iter().map(|e| e.eval(ctx)))?;
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
        self.note_sent();
        let flow = out.row(exprs, ctx)?;
        Ok(if self.left == 0 && flow == ScanControl::Next {
            self.enough()
        } else {
            flow
        })
    }

    #[inline]
    fn note_sent(&self) {
        if let Some(measured) = self.measured {
            measured.row(meter(self.plan, Stage::Sent));
        }
    }

    fn enough(&self) -> ScanControl {
        if self.plan.calc_found_rows {
            ScanControl::Next
        } else {
            ScanControl::Stop
        }
    }

    /// A computed row.
    pub fn values(
        &mut self,
        row: &[Value],
        types: &[SqlType],
        ctx: &EvalCtx,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let slots = JoinedRow {
            values: row,
            outer: None,
        };
        let ctx = EvalCtx {
            row: &slots,
            env: ctx.env,
        };
        if let Some(distinct) = &mut self.distinct {
            self.key.clear();
            append_key(row, types, &mut self.key)?;
            match distinct.look(&self.key)? {
                Novelty::New => {}
                Novelty::Known => return Ok(ScanControl::Next),
                Novelty::Later => {
                    let mut waiting = Vec::with_capacity(row.len() + 1);
                    if self.sorter.is_some() {
                        waiting.push(waiting_order_key(self.plan, &ctx)?);
                    }
                    waiting.extend_from_slice(row);
                    distinct.put_aside(&self.key, &waiting)?;
                    return Ok(ScanControl::Next);
                }
            }
        }
        self.found += 1;
        if let Some(sorter) = &mut self.sorter {
            match sorter.is_distinct() {
                true => append_key(row, types, sorter.key())?,
                false => order_key(self.plan, &ctx, sorter.key())?,
            }
            if sorter.is_behind() {
                sorter.pass_over()?;
                return Ok(ScanControl::Next);
            }
            sorter.push(row.iter().map(|value| Ok(value.borrowed())))?;
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
        self.note_sent();
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

    /// The input has ended. Returns how many rows the query has, without its offset, and without its limit if that was asked for: what
    /// FOUND_ROWS() says.
    #[inline]
    pub fn finish(&mut self, out: &mut dyn Output) -> Result<u64> {
        if self.distinct.is_none() && self.sorter.is_none() {
            return Ok(self.found.min(self.wanted));
        }
        self.finish_waiting(out)
    }

    /// Hands out the rows that wait.
    fn finish_waiting(&mut self, out: &mut dyn Output) -> Result<u64> {
        if let Some(distinct) = self.distinct.take() {
            distinct.finish(&mut |row| self.novel(row, out))?;
        }
        if let Some(sorter) = self.sorter.take() {
            if let Some(telling) = self.telling {
                let keys = self.plan.order.iter();
                telling.sorts(keys.map(|(key, descending)| (key, *descending)), &sorter);
            }
            let sorted = sorter.finish(|row| {
                self.session.examine();
                if let Some(measured) = self.measured {
                    measured.row(meter(self.plan, Stage::Sorted));
                }
                Ok(self.deliver(row, out)? != ScanControl::Stop)
            })?;
            count_sort(self.session, false, sorted as u64);
            // Duplicates were counted in.
            self.found = self.found.min(sorted as u64);
        }
        Ok(self.found.min(self.wanted))
    }

    /// A row that was put aside and turned out to be new; returns whether more are wanted.
    fn novel(&mut self, row: &mut Vec<Value>, out: &mut dyn Output) -> Result<bool> {
        if self.sorter.is_none() && self.left == 0 && self.enough() == ScanControl::Stop {
            return Ok(false);
        }
        self.found += 1;
        let Some(sorter) = &mut self.sorter else {
            return Ok(self.deliver(row, out)? != ScanControl::Stop);
        };
        let mut values = row.drain(..);
        if let Some(Val::Str(order)) = values.next() {
            sorter.key().extend_from_slice(&order);
        }
        sorter.push(values.map(Ok))?;
        Ok(true)
    }
}

/// Appends the key of all that a row shows.
fn output_key(exprs: &[Expr], ctx: &EvalCtx, key: &mut Vec<u8>) -> Result<()> {
    for expr in exprs {
        sort_key(&expr.eval(ctx)?, &expr.ty, key)?;
    }
    Ok(())
}

/// Appends the key by which a row is sorted.
fn order_key(plan: &QueryPlan, ctx: &EvalCtx, key: &mut Vec<u8>) -> Result<()> {
    for (expr, descending) in &plan.order {
        sort::order_key(&expr.eval(ctx)?, &expr.ty, *descending, key)?;
    }
    Ok(())
}

/// The same as a value, the first of a row that is put aside.
fn waiting_order_key(plan: &QueryPlan, ctx: &EvalCtx) -> Result<Value> {
    let mut key = Vec::new();
    order_key(plan, ctx, &mut key)?;
    Ok(Value::string(key))
}

/// Appends the key of a computed row.
pub(super) fn append_key(row: &[Value], types: &[SqlType], key: &mut Vec<u8>) -> Result<()> {
    let mut values = row.iter().zip(types);
    values.try_for_each(|(value, ty)| sort_key(value, ty, key))
}

/// The value of LIMIT or OFFSET.
pub(super) fn limit_of(e: &Expr, ctx: &EvalCtx) -> Result<u64> {
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

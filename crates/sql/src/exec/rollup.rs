//! GROUP BY … WITH ROLLUP: the groups of all keys, those of all but the last, and so on to the one of all rows.
//!
//! ```text
//!  rows in order of (a, b)     groups of (a, b)    of (a)          of ()
//!  1 x
//!  1 y          ──▶            1 x                                          a key changes: the groups that it is part of end,
//!  2 x          ──▶            1 y                 1 NULL                   those of most keys first
//!  (end)        ──▶            2 x                 2 NULL          NULL NULL
//! ```
//!
//! Each level is a grouping of its own over sorted input, with one group in hand, so that an aggregate is right at every level
//! whatever it is (DISTINCT, GROUP_CONCAT, variances).

use super::groups::Groups;
use super::output::Output;
use super::rows::JoinedRow;
use super::select::End;
use super::spill::Sorter;
use super::{Exec, QueryScope, ScanControl};
use crate::error::Result;
use crate::expr::{EvalCtx, Row};
use crate::plan::{GroupPlan, SelectPlan};
use crate::types::Value;
use crate::types::sort::order_key;

/// See the module's head.
pub(super) struct Rollup<'g, 'a> {
    select: &'g SelectPlan,
    plan: &'g GroupPlan,
    /// By the number of their keys.
    levels: Vec<Groups<'g, 'a>>,
    /// If the rows do not come in order.
    sorter: Option<Sorter<'a>>,
}

impl<'g, 'a> Rollup<'g, 'a> {
    /// No rows yet.
    pub fn new(exec: &Exec<'a, '_>, select: &'g SelectPlan, plan: &'g GroupPlan) -> Rollup<'g, 'a> {
        let level = |keys: usize| Groups::of_level(exec, select, plan, keys);
        let sorter = || {
            let (room, share) = (exec.room(), exec.shares().sort);
            Sorter::new(room, share, plan.slots.len(), false, u64::MAX)
        };
        Rollup {
            select,
            plan,
            levels: (0..=plan.keys.len()).map(level).collect(),
            sorter: (!plan.sorted).then(sorter),
        }
    }

    /// Takes a row in; the groups that it ends go on.
    pub fn take(
        &mut self,
        ctx: &EvalCtx,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let Some(sorter) = &mut self.sorter else {
            return self.feed(ctx, scope, end, out);
        };
        for key in &self.plan.keys {
            order_key(&key.eval(ctx)?, &key.ty, false, sorter.key())?;
        }
        let slots = self.plan.slots.iter();
        sorter.push(slots.map(|slot| Ok(ctx.row.column(*slot).into_owned())))?;
        Ok(ScanControl::Next)
    }

    fn feed(
        &mut self,
        ctx: &EvalCtx,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let mut flow = ScanControl::Next;
        for groups in self.levels.iter_mut().rev() {
            let Some(group) = groups.take(ctx.row, ctx)? else {
                continue;
            };
            match groups.emit(group, scope, end, out)? {
                ScanControl::Stop => return Ok(ScanControl::Stop),
                ScanControl::Pause => flow = ScanControl::Pause,
                ScanControl::Next => {}
            }
        }
        Ok(flow)
    }

    /// The input has ended: the rest of the groups goes on.
    pub fn finish(mut self, scope: QueryScope, end: &mut End, out: &mut dyn Output) -> Result<ScanControl> {
        let mut flow = ScanControl::Next;
        if let Some(sorter) = self.sorter.take() {
            let mut row = vec![Value::Null; self.select.width];
            sorter.finish(|values| {
                for (slot, value) in self.plan.slots.iter().zip(values) {
                    row[*slot].clone_from(value);
                }
                let row: &dyn Row = &JoinedRow {
                    values: &row,
                    outer: scope.outer,
                };
                flow = self.feed(&EvalCtx { row, env: scope.env }, scope, end, out)?;
                if flow == ScanControl::Pause {
                    out.flush()?;
                }
                Ok(flow != ScanControl::Stop)
            })?;
        }
        for groups in self.levels.into_iter().rev() {
            if flow != ScanControl::Stop {
                flow = groups.finish(scope, end, out)?;
            }
        }
        Ok(flow)
    }
}

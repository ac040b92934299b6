//! HANDLER … READ: rows of an index from one place on, and where the next READ goes on.
//!
//! ```text
//!   keys        1     3     3     7
//!                     ▲ = (3)           the first of equal keys
//!                           ▲ NEXT      the row behind it, whatever its key
//!               ▲ < (3)                 backwards
//! ```
//!
//! The place is the key of the row read last. A READ by another index, or FIRST and LAST, begins anew.

use super::reading::key_of_row;
use super::rows::PageRow;
use super::tail::limit_of;
use super::{Exec, Output, ScanControl, SinkOutput};
use crate::context::{Place, ResultSink};
use crate::error::{Result, SqlError};
use crate::expr::{Env, EvalCtx};
use crate::plan::handler::{HandlerPlan, KeyBound, Step};
use crate::types::assign::assign;
use crate::types::storage::Scratch;
use crate::types::{SqlType, Value, Warnings};
use std::ops::Bound;
use tidemark_engine::{Datum, Flow, Keep, KeyRange, RangeScan};

/// Sends the rows; returns how many there were.
pub fn run(plan: &HandlerPlan, exec: &Exec, env: &Env, out: &mut dyn ResultSink) -> Result<u64> {
    let session = exec.session;
    let ctx = env.ctx();
    let mut skip = match &plan.offset {
        Some(offset) => limit_of(offset, &ctx)?,
        None => 0,
    };
    let mut left = match &plan.limit {
        Some(limit) => limit_of(limit, &ctx)?,
        None => 1,
    };
    let types: Vec<SqlType> = plan.columns.iter().map(|column| column.ty.clone()).collect();
    let mut output = SinkOutput::new(out, types, session);
    if left == 0 {
        return Ok(0);
    }
    let place = session.handlers.borrow().find(&plan.name)?.place.clone();
    let Some((mut range, reverse)) = plan.range(place, env)? else {
        return Ok(0);
    };
    let index = plan.index.unwrap_or(0);
    let mut last: Option<Vec<u8>> = None;
    let mut full = true;
    while left > 0 && full {
        full = false;
        let scan = RangeScan::new(index, &range).reverse(reverse);
        let scanned = plan
            .table
            .scan(&mut exec.txn.borrow_mut(), &scan, exec.read, &mut |view| {
                session.examine();
                let key = last.get_or_insert_default();
                key.clear();
                key_of_row(&plan.table, &plan.def, index, view, key)?;
                let row = PageRow {
                    view,
                    def: &plan.def,
                    base: 0,
                    zone: env.time_zone,
                    values: &[],
                    outer: None,
                };
                let ctx = EvalCtx { row: &row, env };
                if let Some(filter) = &plan.filter
                    && !filter.is_true(&ctx)?
                {
                    return Ok((Keep::Release, Flow::Continue));
                }
                if skip > 0 {
                    skip -= 1;
                    return Ok((Keep::Locked, Flow::Continue));
                }
                left -= 1;
                full = output.row(&plan.output, &ctx)? == ScanControl::Pause;
                let flow = match full || left == 0 {
                    true => Flow::Stop,
                    false => Flow::Continue,
                };
                Ok((Keep::Locked, flow))
            });
        scanned.map_err(|error| SqlError::in_table(error, &plan.def.name))?;
        if full {
            output.flush()?;
            let key = last.clone().unwrap_or_default();
            match reverse {
                true => range.upper = Bound::Excluded(key),
                false => range.lower = Bound::Excluded(key),
            }
        }
    }
    let is_equal = matches!(plan.step, Step::Key(KeyBound::Equal, _));
    let place = match last {
        // The end of equal keys is not that of the index.
        Some(key) if left == 0 || is_equal => Place::Row(plan.index, key),
        _ => Place::End(plan.index, reverse),
    };
    session.handlers.borrow_mut().move_to(&plan.name, place);
    Ok(output.rows)
}

impl HandlerPlan {
    /// The keys to be read, and whether backwards; `None`: there are none.
    fn range(&self, place: Place, env: &Env) -> Result<Option<(KeyRange, bool)>> {
        let all = KeyRange::all();
        if let Place::End(index, reverse) = place
            && index == self.index
        {
            match (&self.step, reverse) {
                // Back from where there was nothing more.
                (Step::Next, true) => return Ok(Some((all, false))),
                (Step::Prev, false) => return Ok(Some((all, true))),
                (Step::Next | Step::Prev, _) => return Ok(None),
                (Step::First | Step::Last | Step::Key(..), _) => {}
            }
        }
        // Where it has been read to in the order at hand.
        let here = match place {
            Place::Row(index, key) if index == self.index => Some(key),
            _ => None,
        };
        Ok(match (&self.step, here) {
            (Step::First, _) | (Step::Next, None) => Some((all, false)),
            (Step::Last, _) | (Step::Prev, None) => Some((all, true)),
            (Step::Next, Some(key)) => Some((
                KeyRange {
                    lower: Bound::Excluded(key),
                    upper: Bound::Unbounded,
                },
                false,
            )),
            (Step::Prev, Some(key)) => Some((
                KeyRange {
                    lower: Bound::Unbounded,
                    upper: Bound::Excluded(key),
                },
                true,
            )),
            (Step::Key(how, values), _) => {
                let Some(key) = self.key(values, env)? else {
                    return Ok(None);
                };
                let from = |lower| KeyRange {
                    lower,
                    upper: Bound::Unbounded,
                };
                let to = |upper| KeyRange {
                    lower: Bound::Unbounded,
                    upper,
                };
                Some(match how {
                    KeyBound::Equal => (KeyRange::prefix(key), false),
                    KeyBound::From => (from(Bound::Included(key)), false),
                    KeyBound::Behind => (from(Bound::Excluded(key)), false),
                    KeyBound::UpTo => (to(Bound::Included(key)), true),
                    KeyBound::Before => (to(Bound::Excluded(key)), true),
                })
            }
        })
    }

    /// The beginning of a key, its values stored as in an INSERT that is not strict; `None`: no row has them.
    fn key(&self, values: &[crate::expr::Expr], env: &Env) -> Result<Option<Vec<u8>>> {
        let Some(index) = self.index.and_then(|index| self.def.index_by_number(index)) else {
            return Ok(None);
        };
        let silent = Warnings::default();
        let mut lenient = crate::types::Conversion::new(&silent, env.time_zone);
        lenient.sql_mode = env.sql_mode;
        lenient.strict = false;
        let mut stored: Vec<Value> = Vec::with_capacity(values.len());
        for (value, part) in values.iter().zip(&index.parts) {
            let column = &self.def.columns[part.column];
            let value = assign(value.eval(&env.ctx())?, &column.ty, &column.name, &lenient)?;
            if value.is_null() && !column.ty.nullable {
                return Ok(None);
            }
            stored.push(value.into_owned());
        }
        let mut rooms: Vec<Scratch> = vec![[0; 32]; stored.len()];
        let mut data: Vec<Datum> = Vec::with_capacity(stored.len());
        for ((value, part), room) in stored.iter().zip(&index.parts).zip(&mut rooms) {
            let column = &self.def.columns[part.column].ty;
            data.push(column.store(value, env.time_zone, room));
        }
        let mut key = Vec::new();
        self.table.encode_key(index.number, &data, &mut key)?;
        Ok(Some(key))
    }
}

//! What assignments make of a row.
//!
//! They are evaluated left to right, each seeing those before it, as MySQL does (in a join there is more to it, see
//! `joined`). If no column takes another value by them the row stays as it is; if one does, the columns that are ON UPDATE
//! CURRENT_TIMESTAMP and those that are generated follow, and the CHECK constraints are tested. A hook comes between
//! (`row_writer`).

use super::rows::Changed;
use super::target::now;
use crate::error::Result;
use crate::expr::{EvalCtx, Expr, Row};
use crate::plan::change::hooks::RowEvent;
use crate::plan::change::{Assignments, Target};
use crate::types::json::Json;
use crate::types::{Val, Value};

/// New values of a row, by column.
pub type Set = Vec<(usize, Value)>;

pub fn put(set: &mut Set, at: usize, value: Value) {
    match set.iter_mut().find(|(there, _)| *there == at) {
        Some(before) => before.1 = value,
        None => set.push((at, value)),
    }
}

/// Evaluates assignments for a row; `set` is then what they give to its columns.
pub fn evaluate_all(
    assignments: &Assignments,
    target: &Target,
    row: &dyn Row,
    ctx: &EvalCtx,
    set: &mut Set,
) -> Result<()> {
    set.clear();
    for (column, expr) in assignments.list() {
        let so_far = Changed { base: row, set };
        let value = evaluate(*column, expr, target, &so_far, ctx)?;
        put(set, *column, value);
    }
    Ok(())
}

/// Whether any of the values differs from the row's.
pub fn differs(row: &dyn Row, set: &Set) -> Result<bool> {
    for (column, value) in set {
        if !is_same(&row.column(*column), value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Assignments {
    /// Whether the values differ from the row's; if so, adds what follows from that.
    pub fn follow_up(&self, target: &Target, row: &dyn Row, ctx: &EvalCtx, set: &mut Set) -> Result<bool> {
        if !differs(row, set)? {
            return Ok(false);
        }
        self.set_now(target, ctx, set);
        target.generate(&self.generated, row, ctx, set)?;
        if target.has_checks() {
            target.check(&Changed { base: row, set }, ctx)?;
        }
        Ok(true)
    }

    /// Gives the columns that are ON UPDATE CURRENT_TIMESTAMP the current time.
    pub fn set_now(&self, target: &Target, ctx: &EvalCtx, set: &mut Set) {
        for &column in &self.on_update_now {
            put(set, column, now(ctx, target.def.columns[column].ty.scale));
        }
    }
}

/// Whether a value is what the row has already: a document that is equal to the new one, as `1` to `1.0`, stays.
pub fn is_same(old: &Val, new: &Value) -> Result<bool> {
    Ok(match (old, new) {
        (Val::Json(a), Val::Json(b)) => a == b || Json::of_stored(a)?.compare(&Json::of_stored(b)?).is_eq(),
        // Two instants of one local time differ.
        (Val::DateTime(a), Val::DateTime(b)) => a == b && a.repeated == b.repeated,
        _ => old == new,
    })
}

/// The value that an assignment gives to a column of a row.
pub fn evaluate(column: usize, expr: &Expr, target: &Target, row: &dyn Row, ctx: &EvalCtx) -> Result<Value> {
    let value = expr.eval(&ctx.env.ctx_with(row))?;
    Ok(target
        .assigned(column, value, RowEvent::Update, ctx)?
        .into_owned())
}

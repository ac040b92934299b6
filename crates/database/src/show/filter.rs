//! The LIKE and the WHERE of SHOW: conditions on rows that stand in memory.

use crate::context::bind_alone;
use crate::context::{ResultRows, SessionState};
use crate::error::Result;
use crate::expr::{LikePattern, NoSubqueries, Scope};
use crate::parse::ast;
use crate::types::{Collation, Value};

/// Keeps the rows for which a condition over their columns holds.
pub fn keep_where(rows: &mut ResultRows, condition: &ast::Expr, state: &SessionState) -> Result<()> {
    let scope = Scope::of_row(rows.columns.iter().map(|(name, ty)| (name, ty)));
    let bound = bind_alone(condition, &scope, "where clause", state, &[])?;
    let env = state.env(&NoSubqueries, &[]);
    let mut kept = Vec::with_capacity(rows.rows.len());
    for row in rows.rows.drain(..) {
        if bound.is_true(&env.ctx_with(&row))? {
            kept.push(row);
        }
    }
    rows.rows = kept;
    Ok(())
}

/// Keeps the rows of which a column is like a pattern.
pub fn keep_like(rows: &mut ResultRows, column: usize, pattern: &[u8]) -> Result<()> {
    let collation = rows
        .columns
        .get(column)
        .map_or(Collation::DEFAULT, |(_, ty)| ty.collation);
    let pattern = LikePattern::new(pattern, Some('\\'), collation)?;
    rows.rows.retain(|row| match row.get(column) {
        Some(Value::Null) | None => false,
        Some(value) => pattern.matches(&value.to_text()),
    });
    Ok(())
}

//! Expressions outside queries: the values of SET and KILL, and the WHERE of SHOW.

use super::SessionState;
use super::answer::Rows;
use crate::error::{Result, SqlError};
use crate::expr::like::LikePattern;
use crate::expr::{NoSubqueries, SessionInfo};
use crate::parse::ast;
use crate::plan::bind::{Binder, PlainHooks};
use crate::plan::scope::Scope;
use crate::types::{Collation, Value};

impl SessionState {
    /// The value of an expression without columns and subqueries.
    pub fn evaluate(&self, expr: &ast::Expr) -> Result<Value> {
        let ctx = self.bind_ctx();
        let binder = Binder {
            ctx: &ctx,
            session: self as &dyn SessionInfo,
            params: &[],
            clause: "field list",
        };
        let bound = binder.bind(expr, &Scope::default(), &mut PlainHooks)?;
        let env = self.env(&NoSubqueries, &[]);
        Ok(bound.eval(&env.ctx())?.into_owned())
    }

    /// Keeps the rows for which a condition over their columns holds.
    pub fn filter(&self, rows: &mut Rows, condition: &ast::Expr) -> Result<()> {
        let scope = Scope::of_row(rows.columns.iter().map(|(name, ty)| (name, ty)));
        let ctx = self.bind_ctx();
        let binder = Binder {
            ctx: &ctx,
            session: self as &dyn SessionInfo,
            params: &[],
            clause: "where clause",
        };
        let bound = binder.bind(condition, &scope, &mut PlainHooks)?;
        let env = self.env(&NoSubqueries, &[]);
        let mut kept = Vec::with_capacity(rows.rows.len());
        for row in rows.rows.drain(..) {
            if bound.is_true(&env.ctx_with(&row))? {
                kept.push(row);
            }
        }
        rows.rows = kept;
        Ok(())
    }

    /// Keeps the rows whose first column is like a pattern.
    pub fn filter_like(&self, rows: &mut Rows, pattern: &[u8]) -> Result<()> {
        let pattern = LikePattern::new(pattern, Some('\\'), Collation::UTF8MB4_GENERAL_CI);
        rows.rows.retain(|row| match row.first() {
            Some(Value::Null) | None => false,
            Some(value) => pattern.matches(&value.to_text()),
        });
        Ok(())
    }

    /// An integer argument.
    pub fn evaluate_u64(&self, expr: &ast::Expr, what: &str) -> Result<u64> {
        match self.evaluate(expr)? {
            Value::Int(v) if v >= 0 => Ok(v as u64),
            Value::UInt(v) => Ok(v),
            Value::Str(text) => {
                let text = String::from_utf8_lossy(&text);
                text.trim().parse().map_err(|_| SqlError::wrong_arguments(what))
            }
            _ => Err(SqlError::wrong_arguments(what)),
        }
    }
}

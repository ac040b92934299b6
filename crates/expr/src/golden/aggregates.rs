//! Aggregates over a small table, and over no row (after the bar).

use super::*;
use crate::bind::Hooks;
use crate::{Aggregate, build};
use std::collections::HashSet;
use tidemark_parse::ast::FunctionCall;
use tidemark_types::error::SqlError;

/// Turns each aggregate into a column of its result.
#[derive(Default)]
pub(super) struct Collect {
    found: Vec<Aggregate>,
}

/// Where the results stand, behind the columns.
const RESULTS: usize = 100;

impl Hooks for Collect {
    fn aggregate(&mut self, call: &FunctionCall, scope: &Scope, binder: &Binder) -> Result<Expr> {
        let aggregate = if call.star {
            Aggregate::count_rows()
        } else {
            let args = binder.bind_all(&call.args, scope, &mut PlainHooks)?;
            let aggregate = Aggregate::resolve(&call.name, args, call.distinct, binder.ctx);
            let aggregate = aggregate.ok_or_else(|| SqlError::unknown_function(&call.name))??;
            let order = call
                .order_by
                .iter()
                .map(|item| Ok((binder.bind(&item.expr, scope, &mut PlainHooks)?, item.descending)));
            aggregate.with_order(order.collect::<Result<_>>()?, call.separator.clone())
        };
        let column = build::column(RESULTS + self.found.len(), aggregate.ty.clone());
        self.found.push(aggregate);
        Ok(column)
    }
}

fn aggregated(expression: &str, scope: &Scope, rows: &[Vec<Value>]) -> String {
    with_env(SqlMode::DEFAULT, |env, session| {
        let ctx = BindCtx::default();
        let binder = Binder {
            ctx: &ctx,
            session,
            params: &[],
            clause: "field list",
        };
        let mut hooks = Collect { found: Vec::new() };
        let parsed = parse_expression(expression)?;
        let bound = binder.bind(&parsed, scope, &mut hooks)?;
        let mut result = vec![Value::Null; RESULTS];
        for aggregate in &hooks.found {
            let mut accumulator = aggregate.accumulator();
            let mut seen = HashSet::new();
            for row in rows {
                let ctx = env.ctx_with(row);
                if !aggregate.distinct {
                    accumulator.update(aggregate, &ctx)?;
                } else if let Some(inputs) = aggregate.read(&ctx)? {
                    let mut key = Vec::new();
                    inputs.key(aggregate, &mut key)?;
                    if seen.insert(key) {
                        accumulator.take(inputs, aggregate, env)?;
                    }
                }
            }
            result.push(accumulator.finish(aggregate, &env.ctx())?);
        }
        let value = bound.eval_owned(&env.ctx_with(&result))?;
        Ok(value_shown(value, &bound.ty))
    })
}

#[test]
fn aggregates_have_mysqls_answers() {
    let table = include_str!("../../testdata/aggregates.txt");
    let mut columns = Vec::new();
    let mut rows = Vec::new();
    let head = with_env(SqlMode::DEFAULT, |env, session| {
        for line in table.lines().take_while(|l| l.starts_with('#')) {
            let parts: Vec<&str> = line.split('|').collect();
            if parts[0] == "# columns" {
                columns = parts[1..]
                    .iter()
                    .map(|c| c.split_once(' ').map(|(n, t)| (n, type_named(t))).unwrap())
                    .collect();
                continue;
            }
            let values = parts[1..]
                .iter()
                .zip(&columns)
                .map(|(v, (_, ty))| stored(v, ty, env, session));
            rows.push(values.collect::<Result<Vec<Value>>>()?);
        }
        Ok(String::new())
    });
    assert_eq!((head.as_str(), rows.len()), ("", 5));
    let scope = scope_of(&columns);
    check(table, |expression| {
        let (all, none) = (
            aggregated(expression, &scope, &rows),
            aggregated(expression, &scope, &[]),
        );
        format!("{all} | {none}")
    });
}

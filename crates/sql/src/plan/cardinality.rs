//! How many rows a query in FROM or in an expression is expected to have, and how many different values its columns.
//!
//! Groups are as many as there are combinations of different values of their keys, but no more than rows; what is known of a column of a
//! table is known of it in a derived table, too.
//!
//! A query that has been lowered changes no more, so what was worked out of it is kept: queries that name others twice, which name others
//! twice, are as many as fit a statement.

use super::walk::has_subquery;
use super::{AGGREGATE, Input, Planner, QueryBody, QueryPlan, RowSource, SelectPlan};
use crate::expr::{Expr, Node};
use crate::parse::ast::SetOp;
use crate::types::Val;
use rustc_hash::FxHashMap;

/// How many different values an expression is taken to have of which nothing is known.
const VALUES_GUESS: f64 = 10.0;

/// The share of groups that are taken to pass HAVING.
const HAVING_GUESS: f64 = 0.3;

/// What has been worked out of queries by their numbers: what they cost, how many rows they have, and how many values each column.
#[derive(Default)]
pub(super) struct Estimates {
    pub costs: FxHashMap<usize, f64>,
    rows: FxHashMap<usize, Option<f64>>,
    values: FxHashMap<(usize, usize), Option<f64>>,
}

impl Planner<'_> {
    /// How many rows a numbered query is expected to have, if something is known of it: no more than its LIMIT lets through.
    pub(super) fn rows_of_query(&self, id: usize) -> Option<f64> {
        let query = self.lowered.get(id)?.as_ref()?;
        if let Some(rows) = self.estimates.borrow().rows.get(&id) {
            return *rows;
        }
        let rows = self.rows_of_lowered(query);
        self.estimates.borrow_mut().rows.insert(id, rows);
        rows
    }

    fn rows_of_lowered(&self, query: &QueryPlan) -> Option<f64> {
        let rows = self.rows_of_body(&query.body);
        let limit = query.limit.as_ref().zip(self.sample);
        let limit = limit.and_then(|(limit, sample)| limit.eval_owned(sample).ok());
        let most = match limit {
            Some(Val::Int(n)) => n as f64,
            Some(Val::UInt(n)) => n as f64,
            _ => return rows.map(|rows| rows.max(1.0)),
        };
        Some(rows.unwrap_or(super::join::UNKNOWN_ROWS).min(most).max(1.0))
    }

    fn rows_of_body(&self, body: &QueryBody) -> Option<f64> {
        match body {
            QueryBody::Select(select) => Some(self.rows_of_select(select)),
            QueryBody::Set { first, rest } => {
                let first = self.rows_of_body(&first.body)?;
                rest.iter().try_fold(first, |rows, branch| match branch.op {
                    SetOp::Union => Some(rows + self.rows_of_body(&branch.plan.body)?),
                    SetOp::Intersect | SetOp::Except => Some(rows),
                })
            }
            QueryBody::Values(rows) => Some(rows.len() as f64),
            QueryBody::Recursive(_) => None,
        }
    }

    fn rows_of_select(&self, select: &SelectPlan) -> f64 {
        let rows = self.rows_of_source(&select.source);
        let rows = match &select.group {
            Some(group) if group.keys.is_empty() => 1.0,
            Some(group) => self.different(&group.keys, &select.source, rows),
            None => rows,
        };
        let rows = match select.having.is_some() && select.group.is_some() {
            true => (rows * HAVING_GUESS).max(1.0),
            false => rows,
        };
        match select.distinct && select.group.is_none() {
            true => self.different(&select.output, &select.source, rows),
            false => rows,
        }
    }

    /// How many different combinations of values some expressions have among so many rows of a source.
    fn different(&self, exprs: &[Expr], source: &RowSource, rows: f64) -> f64 {
        let values = exprs
            .iter()
            .map(|e| self.values_in(e, source).unwrap_or(VALUES_GUESS));
        values.product::<f64>().min(rows).max(1.0)
    }

    /// How many different values an expression over the rows of a source has, if something is known of it.
    fn values_in(&self, e: &Expr, source: &RowSource) -> Option<f64> {
        match &e.node {
            Node::Column(slot) => self.values_of_slot(*slot, source),
            _ if has_subquery(e) => None,
            _ => {
                let columns = e.columns().into_iter();
                let values = columns.map(|slot| self.values_of_slot(slot, source));
                values
                    .collect::<Option<Vec<f64>>>()
                    .map(|values| values.into_iter().product())
            }
        }
    }

    fn values_of_slot(&self, slot: usize, source: &RowSource) -> Option<f64> {
        if slot >= AGGREGATE {
            return None;
        }
        let mut values = None;
        source.walk(&mut |_| {}, &mut |scan| {
            let Some(column) = slot
                .checked_sub(scan.base)
                .filter(|column| *column < scan.input.width())
            else {
                return;
            };
            values = match &scan.input {
                Input::Stored { def, .. } => {
                    let statistics = self.state.database.statistics_of(def.id);
                    statistics.and_then(|known| known.column(def, column)?.distinct())
                }
                Input::Derived { query, .. } => self.values_of_column(*query, column),
                Input::Virtual(_) | Input::Json(_) => None,
            };
        });
        values
    }

    /// How many different values a column of a numbered query has, if something is known of it.
    pub(super) fn values_of_column(&self, id: usize, column: usize) -> Option<f64> {
        let query = self.lowered.get(id)?.as_ref()?;
        if let Some(values) = self.estimates.borrow().values.get(&(id, column)) {
            return *values;
        }
        let values = self.values_in_lowered(query, self.rows_of_query(id)?, column);
        self.estimates.borrow_mut().values.insert((id, column), values);
        values
    }

    fn values_in_lowered(&self, query: &QueryPlan, rows: f64, column: usize) -> Option<f64> {
        let mut blocks = Vec::new();
        match &query.body {
            QueryBody::Select(select) => blocks.push(&**select),
            QueryBody::Set { first, rest } => {
                for body in std::iter::once(&first.body).chain(rest.iter().map(|branch| &branch.plan.body)) {
                    match body {
                        QueryBody::Select(select) => blocks.push(&**select),
                        _ => return None,
                    }
                }
            }
            QueryBody::Values(_) | QueryBody::Recursive(_) => return None,
        }
        let of_block = |select: &&SelectPlan| self.values_in(select.output.get(column)?, &select.source);
        let values = blocks.iter().map(of_block).collect::<Option<Vec<f64>>>()?;
        Some(values.into_iter().sum::<f64>().clamp(1.0, rows.max(1.0)))
    }
}

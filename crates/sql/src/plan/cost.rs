//! What a plan is expected to cost ([`prices`]): to choose between plans that differ in more than the order of a join.

use super::join::UNKNOWN_ROWS;
use super::prices;
use super::walk::has_subquery;
use super::{Input, Planner, QueryBody, QueryPlan, RowSource, Side, TableScan};
use crate::expr::{Expr, Node};
use crate::types::SqlType;

/// How many rounds a recursive query is taken to have.
const ROUNDS_GUESS: f64 = 10.0;

/// The cost of a source of rows, and how many there are.
#[derive(Clone, Copy)]
struct Cost {
    /// However often it is read.
    once: f64,
    /// Each time.
    each: f64,
    rows: f64,
}

impl Planner<'_> {
    /// Of a source and the conditions on its rows.
    pub(super) fn cost_of(&self, source: &RowSource, filter: Option<&Expr>) -> f64 {
        let cost = self.source_cost(source);
        let tests = self.tests_cost(filter);
        cost.once + cost.each + tests.once + cost.rows * tests.each
    }

    /// Of the subqueries in an expression that is evaluated on so many rows.
    pub(super) fn cost_of_values(&self, rows: f64, e: &Expr) -> f64 {
        let cost = self.tests_cost(Some(e));
        cost.once + rows * cost.each
    }

    /// The same until there are so many rows.
    pub(super) fn cost_of_first(&self, rows: f64, source: &RowSource, filter: Option<&Expr>) -> f64 {
        let cost = self.source_cost(source);
        let tests = self.tests_cost(filter);
        let share = (rows / cost.rows.max(1e-6)).min(1.0);
        cost.once + tests.once + (cost.each + cost.rows * tests.each) * share
    }

    /// How many rows a source is expected to have.
    pub(super) fn rows_of_source(&self, source: &RowSource) -> f64 {
        self.source_cost(source).rows
    }

    /// Of a numbered query each time it runs; one that has not been planned costs nothing.
    pub(super) fn query_cost(&self, id: usize) -> f64 {
        let Some(query) = self.lowered.get(id).and_then(Option::as_ref) else {
            return 0.0;
        };
        if let Some(cost) = self.estimates.borrow().costs.get(&id) {
            return *cost;
        }
        let cost = prices::QUERY + self.body_cost(query);
        self.estimates.borrow_mut().costs.insert(id, cost);
        cost
    }

    fn body_cost(&self, query: &QueryPlan) -> f64 {
        match &query.body {
            QueryBody::Select(select) => self.cost_of(&select.source, select.filter.as_ref()),
            QueryBody::Set { first, rest } => {
                let rest = rest.iter().map(|branch| self.body_cost(&branch.plan));
                self.body_cost(first) + rest.sum::<f64>()
            }
            QueryBody::Recursive(recursion) => {
                let steps = recursion.steps.iter().map(|step| self.body_cost(step));
                self.body_cost(&recursion.seed) + ROUNDS_GUESS * steps.sum::<f64>()
            }
            QueryBody::Values(rows) => rows.len() as f64 * prices::ROW,
        }
    }

    fn source_cost(&self, source: &RowSource) -> Cost {
        match source {
            RowSource::One => Cost {
                once: 0.0,
                each: 0.0,
                rows: 1.0,
            },
            RowSource::Table(scan) => self.scan_cost(scan),
            RowSource::Inner(list) => {
                let none = self.source_cost(&RowSource::One);
                list.iter().fold(none, |before, source| {
                    let next = self.source_cost(source);
                    Cost {
                        once: before.once + next.once,
                        each: before.each + before.rows * next.each,
                        rows: before.rows * next.rows,
                    }
                })
            }
            RowSource::Left(join) => {
                let (left, right) = (self.source_cost(&join.left), self.source_cost(&join.right));
                let tests = self.tests_cost(join.filter.as_ref());
                let rows = left.rows * right.rows.max(1.0);
                Cost {
                    once: left.once + right.once + tests.once,
                    each: left.each + left.rows * right.each + rows * tests.each,
                    rows,
                }
            }
        }
    }

    fn scan_cost(&self, scan: &TableScan) -> Cost {
        let tests = self.tests_cost(scan.late_filter.as_ref());
        let made = match &scan.input {
            Input::Derived {
                query,
                lateral: false,
                ..
            } => self.query_cost(*query) + prices::KEEP + scan.path.rows * prices::KEPT_ROW,
            _ => 0.0,
        };
        // What is hashed is read once.
        let (once, each) = match &scan.hash {
            Some(hash) => {
                let (own, before) = match hash.side {
                    Side::Table => (prices::HASH_BUILD, prices::HASH_PROBE),
                    Side::Before => (prices::HASH_PROBE, prices::HASH_BUILD),
                };
                let once = scan.path.cost + hash.rows * own;
                (once, before + scan.rows_out * prices::HASH_RETURN)
            }
            None => (0.0, scan.path.cost),
        };
        Cost {
            once: made + once + tests.once,
            each: each + scan.path.rows * tests.each,
            rows: scan.rows_out,
        }
    }

    /// Of the subqueries in conditions: those that read nothing of the row are run once.
    fn tests_cost(&self, filter: Option<&Expr>) -> Cost {
        let mut cost = Cost {
            once: 0.0,
            each: 0.0,
            rows: 0.0,
        };
        if !filter.is_some_and(has_subquery) {
            return cost;
        }
        filter.into_iter().for_each(|e| {
            e.walk(&mut |e| {
                if let Node::Subquery { id, .. } = &e.node {
                    match self.queries[*id].outer.is_empty() {
                        true => {
                            cost.once += self.query_cost(*id);
                            cost.each += prices::HASH_PROBE;
                        }
                        false => cost.each += self.query_cost(*id),
                    }
                }
            });
        });
        cost
    }

    /// Of a query of one column its type, and how many rows are expected.
    pub(super) fn query_values(&self, id: usize) -> Option<(SqlType, f64)> {
        match self.queries[id].columns.as_slice() {
            [column] => Some((column.ty.clone(), self.rows_of_query(id).unwrap_or(UNKNOWN_ROWS))),
            _ => None,
        }
    }
}

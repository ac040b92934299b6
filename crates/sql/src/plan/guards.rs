//! What must hold for a plan that is kept to serve again.
//!
//! A plan made over empty tables joins them in any order, and a table that was small may be read whole; so a plan that was made
//! for a table's size ends when the table has doubled or shrunk to half, or when its statistics are others. That is one load for each such
//! table at each run.
//!
//! A plan is made for values of its parameters, too: one value of a column may be that of most rows, another of none. Where the values decide,
//! the plan is guarded by *intervals*: as many rows as the planner expected of an index or of conditions, a quarter to four times that. Each
//! run asks the same index or the same statistics about its own values. Outside of the intervals another plan may be better, so the session
//! keeps several plans of one statement. See Lee and Zait, *Closing the query processing loop in Oracle 11g* (VLDB 2008), for cursors that
//! adapt in this way.
//!
//! A table whose row is found by a unique key is found so at any size and for any value, and costs nothing here.

use super::access::{AccessPath, Request, conjuncts, paths};
use super::change::{InsertSource, RowSelection, Target};
use super::dice::Dice;
use super::filter::counted;
use super::prices;
use super::spread::{Spread, together};
use super::statement::Body;
use super::walk::has_subquery;
use super::{Input, Planner, QueryPlan, TableScan};
use crate::context::SessionState;
use crate::dictionary::TableDef;
use crate::expr::{EvalCtx, Expr, NoSubqueries};
use crate::statistics::TableStatistics;
use crate::types::{Value, Warnings};
use std::cell::Cell;
use std::sync::Arc;
use tidemark_engine::{SizeRange, Table};

/// How many times more or fewer rows than expected are no reason for another plan.
const FACTOR: f64 = 4.0;
/// So few rows are always as good as none.
const FEW_ROWS: f64 = 10.0;
/// An index leads to the rows of any value if those of the most common one cost less than this share of reading the whole table.
const SHARE_OF_SCAN: f64 = 0.5;
/// Of how many indexes and tables the values are asked about; a statement with more is judged by the first ones.
const VALUES_MAX: usize = 8;

/// Whether a plan serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    Fits,
    /// It was made for other sizes of its tables.
    Outgrown,
    /// It was made for other values of its parameters.
    OtherValues,
}

/// What a plan was made for.
#[derive(Default)]
pub(super) struct Guards(Vec<Guard>);

enum Guard {
    Size(Arc<Table>, SizeRange),
    Values(Box<[Interval]>),
}

/// How many rows of a table were expected for the values of the parameters.
struct Interval {
    def: Arc<TableDef>,
    table: Arc<Table>,
    asked: Asked,
    from: f64,
    to: f64,
}

/// Where the number of rows comes from.
enum Asked {
    /// The index that leads to them.
    Index(AccessPath),
    /// Statistics of the columns that conditions are about.
    Statistics {
        base: usize,
        conditions: Vec<Expr>,
        known: Option<Arc<TableStatistics>>,
        rows: f64,
    },
}

/// One reading of a table, and what the planner chose it from.
struct Reading<'a> {
    def: &'a Arc<TableDef>,
    table: &'a Arc<Table>,
    base: usize,
    path: &'a AccessPath,
    needed: &'a [usize],
    filter: Option<&'a Expr>,
    /// There are other tables, or only the first rows are wanted: how many rows there are decides more than by which index they are found.
    is_one_of_many: bool,
}

impl Guards {
    /// Those of a statement with these subqueries and derived tables, planned for these values.
    pub fn of(planner: &Planner, (body, queries): (&Body, &[QueryPlan]), values: Option<&[Value]>) -> Guards {
        let mut guards = Guards::default();
        each_reading(body, queries, &mut |reading| guards.add_size(&reading));
        let Some(values) = values.filter(|values| !values.is_empty()) else {
            return guards;
        };
        // What is worth a warning is found when the statement runs.
        let unheard = Warnings::default();
        let mut env = planner.state.env(&NoSubqueries, values);
        env.conversion.warnings = &unheard;
        let ctx = env.ctx();
        let mut found = Vec::new();
        each_reading(body, queries, &mut |reading| {
            if found.len() < VALUES_MAX {
                reading.add_intervals(planner, &ctx, &mut found);
            }
        });
        if !found.is_empty() {
            guards.0.push(Guard::Values(found.into()));
        }
        guards
    }

    fn add_size(&mut self, reading: &Reading) {
        let is_known =
            |guard: &Guard| matches!(guard, Guard::Size(known, _) if Arc::ptr_eq(known, reading.table));
        if !reading.path.point && !self.0.iter().any(is_known) {
            self.0
                .push(Guard::Size(Arc::clone(reading.table), reading.table.size_now()));
        }
    }

    /// Whether the plan serves these values, now.
    #[inline]
    pub fn fit(&self, state: &SessionState, values: &[Value]) -> Fit {
        for guard in &self.0 {
            match guard {
                Guard::Size(table, size) if !table.has_size(size) => return Fit::Outgrown,
                Guard::Values(intervals) if !are_within(intervals, state, values) => return Fit::OtherValues,
                _ => {}
            }
        }
        Fit::Fits
    }
}

#[cold]
fn are_within(intervals: &[Interval], state: &SessionState, values: &[Value]) -> bool {
    let unheard = Warnings::default();
    let mut env = state.env(&NoSubqueries, values);
    env.conversion.warnings = &unheard;
    let ctx = env.ctx();
    intervals.iter().all(|interval| interval.has(&ctx))
}

/// Hands over each reading of a stored table.
fn each_reading(body: &Body, queries: &[QueryPlan], f: &mut dyn FnMut(Reading)) {
    let mut of_query = |query: &QueryPlan| query.each_reading(f);
    queries.iter().for_each(&mut of_query);
    match body {
        Body::Query(query) => of_query(query),
        Body::Insert(plan) => {
            if let InsertSource::Query(source) = &plan.source {
                of_query(&source.query);
                source.queries.iter().for_each(of_query);
            }
        }
        Body::Joined(plan) => of_query(&plan.join),
        Body::Update(plan) => f(Reading::of_change(&plan.rows, &plan.target)),
        Body::Delete(plan) => f(Reading::of_change(&plan.rows, &plan.target)),
        Body::Setup(_) | Body::Handler(_) | Body::Do(_) | Body::Explain(_) | Body::Analyze { .. } => {}
    }
}

impl QueryPlan {
    fn each_reading(&self, f: &mut dyn FnMut(Reading)) {
        let limited = self.limit.is_some();
        self.walk_blocks(&mut |_| {}, &mut |block, _| {
            let mut count = 0;
            block.walk(&mut |_| {}, &mut |_| count += 1);
            block.walk(&mut |_| {}, &mut |scan| {
                f_if_stored(scan, limited || count > 1, f);
            });
        });
    }
}

fn f_if_stored(scan: &TableScan, is_one_of_many: bool, f: &mut dyn FnMut(Reading)) {
    if let Input::Stored { def, table } = &scan.input {
        f(Reading {
            def,
            table,
            base: scan.base,
            path: &scan.path,
            needed: &scan.needed,
            filter: scan.filter.as_ref(),
            is_one_of_many,
        });
    }
}

impl<'a> Reading<'a> {
    fn of_change(rows: &'a RowSelection, target: &'a Target) -> Reading<'a> {
        Reading {
            def: &target.def,
            table: &target.table,
            base: 0,
            path: &rows.path,
            needed: &rows.columns_read,
            filter: rows.filter.as_ref(),
            is_one_of_many: rows.limit.is_some(),
        }
    }

    fn add_intervals(&self, planner: &Planner, ctx: &EvalCtx, out: &mut Vec<Interval>) {
        if self.path.point && (!self.is_one_of_many || self.path.is_constant()) {
            return;
        }
        let mut of_values = Vec::new();
        let asks = |path: &AccessPath| !path.is_full() && path.is_constant() && path.has_parameter();
        let conditions = self.own_conditions();
        let others = match conditions.is_empty() {
            true => Vec::new(),
            false => self.other_paths(planner, &conditions, ctx),
        };
        let others: Vec<AccessPath> = others.into_iter().filter(asks).collect();
        let is_best_anyway = !self.is_one_of_many && others.is_empty() && self.is_best_of_one(planner);
        if asks(self.path) && !self.path.point && !is_best_anyway {
            of_values.push(Asked::Index(self.path.clone()));
        }
        if self.is_one_of_many {
            let counted = |e: &Expr| others.iter().any(|path| counted(e, path, self.def, self.base));
            let left = conditions.iter().filter(|e| !counted(e));
            of_values.extend(self.asked_of_statistics(planner, left.map(|e| (*e).clone()).collect(), ctx));
        }
        of_values.extend(others.into_iter().map(Asked::Index));
        for asked in of_values {
            if let Some(rows) = asked.rows(self.def, self.table, ctx) {
                out.push(Interval {
                    def: Arc::clone(self.def),
                    table: Arc::clone(self.table),
                    asked,
                    from: if rows <= FEW_ROWS { 0.0 } else { rows / FACTOR },
                    to: rows.max(FEW_ROWS) * FACTOR,
                });
            }
        }
    }

    /// Whether the path is no worse than reading the whole table, whatever the values are.
    fn is_best_of_one(&self, planner: &Planner) -> bool {
        // Of the whole of a table its own order leads to a part at no greater cost, whatever the part.
        if self.path.index == 0 {
            return true;
        }
        let bounds = self.path.single_bounds();
        let (Some(part), None) = (bounds.equal.first(), &bounds.range) else {
            return false;
        };
        let index = self.def.index_by_number(self.path.index);
        let column = index
            .and_then(|index| index.parts.first())
            .map(|part| part.column);
        let statistics = planner.state.database.statistics_of(self.def.id);
        let known = statistics.as_deref().zip(column);
        let most =
            known.and_then(|(statistics, column)| statistics.column(self.def, column)?.equal_to_most());
        let costs = |most: f64| most * part.values.len() as f64 * self.path.row_cost() / prices::ROW;
        most.is_some_and(|most| costs(most) < SHARE_OF_SCAN)
    }

    /// The conditions left to be tested that depend on values and on this table alone.
    fn own_conditions(&self) -> Vec<&'a Expr> {
        let own = self.base..self.base + self.def.columns.len();
        let list = self.filter.map(conjuncts).unwrap_or_default();
        let depends = |e: &&Expr| {
            e.has_parameter() && !has_subquery(e) && e.columns().iter().all(|slot| own.contains(slot))
        };
        list.into_iter().filter(depends).collect()
    }

    /// The ways of reading the table by these conditions, which are not those of the way that was chosen.
    fn other_paths(&self, planner: &Planner, conditions: &[&Expr], ctx: &EvalCtx) -> Vec<AccessPath> {
        let Ok(generated) = planner.indexed_generated(self.def) else {
            return Vec::new();
        };
        let (dice, unused) = (Dice::new(0), Cell::new(false));
        let request = Request {
            def: self.def,
            table: self.table,
            base: self.base,
            conjuncts: conditions,
            needed: self.needed,
            known: &|_| false,
            fixed_query: &|_| false,
            query_values: &|_| None,
            allowed: None,
            forced: false,
            dice: &dice,
            merges: planner.state.settings.rewrites.index_merge,
            skips: false,
            locks: false,
            changes: false,
            statistics: None,
            rows: None,
            sample: Some(ctx),
            generated: &generated,
            on_literals: &unused,
            trace: None,
        };
        let found = paths(&request).unwrap_or_default();
        found
            .into_iter()
            .filter(|path| path.index != self.path.index || path.is_merged() || self.path.is_full())
            .collect()
    }

    /// The conditions of which the table's statistics tell how many rows they are true of.
    fn asked_of_statistics(
        &self,
        planner: &Planner,
        mut conditions: Vec<Expr>,
        ctx: &EvalCtx,
    ) -> Option<Asked> {
        let known = planner.state.database.statistics_of(self.def.id);
        let spread = Spread::new(self.def, known.as_deref(), self.base, Some(ctx), None)?;
        conditions.retain(|e| spread.share(e).is_some());
        (!conditions.is_empty()).then(|| Asked::Statistics {
            base: self.base,
            conditions,
            rows: self.table.estimate_rows() as f64,
            known,
        })
    }
}

impl Asked {
    /// How many rows there are; `None` if nothing tells.
    fn rows(&self, def: &TableDef, table: &Table, ctx: &EvalCtx) -> Option<f64> {
        match self {
            Asked::Index(path) => {
                let parts = path.parts().iter();
                parts
                    .map(|part| Some(part.expected(def, table, ctx).ok()?.rows))
                    .sum()
            }
            Asked::Statistics {
                base,
                conditions,
                known,
                rows,
            } => {
                let spread = Spread::new(def, known.as_deref(), *base, Some(ctx), None)?;
                let shares = conditions.iter().map(|e| spread.share(e));
                Some(together(&mut shares.collect::<Option<Vec<f64>>>()?) * rows)
            }
        }
    }
}

impl Interval {
    /// Whether the plan is right for the values of this execution. If they cannot be asked about, it says what is wrong with them.
    fn has(&self, ctx: &EvalCtx) -> bool {
        let rows = self.asked.rows(&self.def, &self.table, ctx);
        rows.is_none_or(|rows| (self.from..=self.to).contains(&rows))
    }
}

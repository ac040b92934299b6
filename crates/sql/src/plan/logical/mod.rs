//! What a statement means: its queries with all names resolved, before it is decided how they are done.
//!
//! Binding makes a [`Query`] of each query of a statement. Those that stand in expressions or in FROM have numbers, by which they are known
//! around them, and each has a higher one than those inside it. A block's row has a slot for each column of its tables, behind
//! each other as the tables were bound; a column of the row around a query is that of the row's own slot and [`OUTER`] for each query
//! between.
//!
//! ```text
//!   SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)
//!
//!   query 0   tables u (slots 0, 1, …)    filter  #0 = #OUTER+1
//!   whole     tables t (slots 0, 1, …)    filter  exists(query 0)    output #0
//! ```
//!
//! Nothing here depends on indexes, sizes or values. [`super::lower`] makes of it what is run.
//!
//! [`OUTER`]: crate::expr::OUTER

use super::from::{FromInput, FromTable, Tree};
use super::join::{conditions, conditions_mut};
use super::rollup::RollupPlan;
use super::window::WindowPass;
use super::{QueryBody, QueryPlan, SelectPlan};
use crate::expr::{Aggregate, BindCtx, Expr, Node, SubqueryKind};
use crate::parse::ast::{BlockAdvice, Denied};
use std::sync::Arc;
use tidemark_engine::LockWait;

/// A condition that subqueries have rows, in several forms of which one is done.
#[derive(Clone)]
pub(super) struct SemiJoin {
    /// As a test for which the subqueries run for each row.
    pub test: Expr,
    /// As a look-up among the values that a subquery gives, which runs once.
    pub values: Option<Expr>,
    /// As a join with those values.
    pub join: Option<JoinedValues>,
}

/// A table, whose slots are behind those of all others, and the conditions of the join with it.
#[derive(Clone)]
pub(super) struct JoinedValues {
    pub table: FromTable,
    pub on: Vec<Expr>,
}

/// A subquery that gives one value for each row, in another form: one query gives the values of all rows, and a row of the block finds its own.
#[derive(Clone)]
pub(super) struct ScalarJoin {
    /// The subquery, by its number. In the first form it runs for each row.
    pub query: usize,
    /// The query of all values, whose slots are behind those of all other tables; it has at most one row for each of the block.
    pub joined: JoinedValues,
    /// What the subquery gives, of the row with that table's, or with NULLs in its place.
    pub value: Expr,
}

/// One of the forms of a [`SemiJoin`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Test,
    Values,
    Join,
}

impl SemiJoin {
    /// The expressions of all forms.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let on = self.join.iter().flat_map(|join| &join.on);
        std::iter::once(&self.test).chain(&self.values).chain(on)
    }

    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let on = self.join.iter_mut().flat_map(|join| &mut join.on);
        std::iter::once(&mut self.test).chain(&mut self.values).chain(on)
    }
}

impl ScalarJoin {
    /// Puts the value in the place of the subquery.
    pub fn put_into(&self, e: &mut Expr) {
        match &e.node {
            Node::Subquery { id, kind, .. } if *id == self.query => {
                let value = match kind {
                    SubqueryKind::NotExists => Expr {
                        node: Node::Not(Box::new(self.value.clone())),
                        ..self.value.clone()
                    },
                    _ => self.value.clone(),
                };
                *e = Expr {
                    node: value.node,
                    ty: value.ty,
                    name: e.name.take(),
                };
            }
            _ => e.children_mut().into_iter().for_each(|e| self.put_into(e)),
        }
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.joined.on.iter().chain([&self.value])
    }

    fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.joined.on.iter_mut().chain([&mut self.value])
    }
}

/// A query as it is bound.
pub(super) type Query<'a> = QueryPlan<Block<'a>>;

/// A SELECT block with its names resolved.
pub(super) struct Block<'a> {
    /// Its number in the optimizer trace; 0 if there is none.
    pub number: u64,
    /// What its expressions are bound with.
    pub ctx: &'a BindCtx,
    pub tables: Vec<FromTable>,
    /// How each table's rows are locked: exclusively, and how to wait.
    pub locks: Vec<Option<(bool, LockWait)>>,
    /// The joins of the tables; `None`: there are no tables.
    pub tree: Option<Tree>,
    /// Slots of the joined row.
    pub width: usize,
    pub filter: Option<Expr>,
    /// Further conditions on its rows.
    pub semi_joins: Vec<SemiJoin>,
    /// Subqueries in its clauses that have another form.
    pub scalar_joins: Vec<ScalarJoin>,
    pub keys: Vec<Expr>,
    pub aggregates: Vec<Aggregate>,
    /// Averages of its groups are those of a query without GROUP BY, whose digits none of them loses.
    pub keeps_digits: bool,
    pub rollup: Option<RollupPlan>,
    pub having: Option<Expr>,
    pub windows: Vec<WindowPass>,
    pub output: Vec<Expr>,
    pub distinct: bool,
    /// True: descending. Without constants, which order nothing.
    pub order: Vec<(Expr, bool)>,
    /// What hints ask of how it is done.
    pub advice: Option<Arc<BlockAdvice>>,
    /// It has a LIMIT.
    pub limited: bool,
    /// What evaluates its rows has subqueries: none may be evaluated while a page is latched.
    pub frees_latches: bool,
}

impl Block<'_> {
    /// Whether a hint says that something is not to be done with one of its tables.
    pub fn denies(&self, what: Denied, table: &FromTable) -> bool {
        let advice = self.advice.iter();
        advice.into_iter().any(|advice| table.is_denied(advice, what))
    }

    pub fn has_windows(&self) -> bool {
        !self.windows.is_empty()
    }

    /// WITH ROLLUP
    pub fn has_totals(&self) -> bool {
        self.rollup.is_some()
    }

    pub fn is_grouped(&self) -> bool {
        !self.aggregates.is_empty() || !self.keys.is_empty()
    }

    /// What is evaluated for each row or group that is returned.
    pub fn results(&self) -> impl Iterator<Item = &Expr> {
        let order = self.order.iter().map(|(e, _)| e);
        let windows = self.windows.iter().flat_map(WindowPass::exprs);
        self.output.iter().chain(&self.having).chain(order).chain(windows)
    }

    /// The joins that are forms of its subqueries.
    pub fn joined(&self) -> impl Iterator<Item = &JoinedValues> {
        let tests = self
            .semi_joins
            .iter()
            .filter_map(|semi_join| semi_join.join.as_ref());
        tests.chain(self.scalar_joins.iter().map(|scalar| &scalar.joined))
    }

    /// Whether it assigns user variables, outside of the queries in it.
    pub fn assigns(&self) -> bool {
        let mut found = false;
        self.exprs()
            .for_each(|e| e.walk(&mut |e| found |= matches!(e.node, Node::AssignVar(..))));
        found
    }

    /// The expressions, not those inside of them, of all clauses.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let documents = self.tables.iter().filter_map(|table| match &table.input {
            FromInput::Json(plan) => Some(&plan.document),
            _ => None,
        });
        let inputs = self.aggregates.iter().flat_map(Aggregate::inputs);
        let joins = self.tree.iter().flat_map(conditions);
        let tests = self.semi_joins.iter().flat_map(SemiJoin::exprs);
        let values = self.scalar_joins.iter().flat_map(ScalarJoin::exprs);
        let rows = joins
            .chain(&self.filter)
            .chain(tests)
            .chain(values)
            .chain(&self.keys)
            .chain(inputs);
        rows.chain(self.results()).chain(documents)
    }
}

impl Block<'_> {
    /// Changes the expressions of all clauses.
    pub fn exprs_mut(&mut self, change: &mut dyn FnMut(&mut Expr)) {
        let mut joins = Vec::new();
        if let Some(tree) = &mut self.tree {
            conditions_mut(tree, &mut joins);
        }
        joins.into_iter().for_each(&mut *change);
        let rows = self.filter.iter_mut().chain(&mut self.keys);
        rows.for_each(&mut *change);
        let tests = self.semi_joins.iter_mut().flat_map(SemiJoin::exprs_mut);
        tests.for_each(&mut *change);
        let values = self.scalar_joins.iter_mut().flat_map(ScalarJoin::exprs_mut);
        values.for_each(&mut *change);
        let inputs = self.aggregates.iter_mut().flat_map(Aggregate::inputs_mut);
        inputs.for_each(&mut *change);
        let order = self.order.iter_mut().map(|(e, _)| e);
        let results = self.output.iter_mut().chain(&mut self.having).chain(order);
        results.for_each(&mut *change);
        let windows = self.windows.iter_mut().flat_map(WindowPass::exprs_mut);
        windows.for_each(&mut *change);
        for table in &mut self.tables {
            if let FromInput::Json(plan) = &mut table.input {
                let plan = Arc::get_mut(plan);
                debug_assert!(plan.is_some(), "a bound block is the only owner of its tables");
                plan.into_iter().for_each(|plan| change(&mut plan.document));
            }
        }
    }
}

/// A block of either kind, for what is said of the values that it gives.
pub(super) trait Selects {
    fn output(&self) -> &[Expr];
    fn output_mut(&mut self) -> &mut [Expr];
    fn is_distinct(&self) -> bool;
}

impl Selects for Block<'_> {
    fn output(&self) -> &[Expr] {
        &self.output
    }

    fn output_mut(&mut self) -> &mut [Expr] {
        &mut self.output
    }

    fn is_distinct(&self) -> bool {
        self.distinct
    }
}

impl Selects for SelectPlan {
    fn output(&self) -> &[Expr] {
        &self.output
    }

    fn output_mut(&mut self) -> &mut [Expr] {
        &mut self.output
    }

    fn is_distinct(&self) -> bool {
        self.distinct
    }
}

impl<S> QueryPlan<S> {
    /// Visits with `f` the expressions around the blocks of this query and those of VALUES, with all that is in them, and hands each block
    /// on with it.
    pub fn walk_blocks(&self, f: &mut dyn FnMut(&Expr), blocks: &mut dyn FnMut(&S, &mut dyn FnMut(&Expr))) {
        self.order.iter().for_each(|(e, _)| e.walk(f));
        self.limit.iter().chain(&self.offset).for_each(|e| e.walk(f));
        match &self.body {
            QueryBody::Select(block) => blocks(block, f),
            QueryBody::Set { first, rest } => {
                first.walk_blocks(f, blocks);
                rest.iter().for_each(|branch| branch.plan.walk_blocks(f, blocks));
            }
            QueryBody::Recursive(recursion) => {
                recursion.seed.walk_blocks(f, blocks);
                recursion
                    .steps
                    .iter()
                    .for_each(|step| step.walk_blocks(f, blocks));
            }
            QueryBody::Values(rows) => rows.iter().flatten().for_each(|e| e.walk(f)),
        }
    }
}

impl Query<'_> {
    /// Visits the expressions, with all that is in them, and the tables of this query, not those of the queries it refers to by number.
    pub fn walk(&self, f: &mut dyn FnMut(&Expr), tables: &mut dyn FnMut(&FromTable)) {
        self.walk_blocks(f, &mut |block, f| {
            block.exprs().for_each(|e| e.walk(f));
            block.tables.iter().for_each(&mut *tables);
        });
    }

    /// Whether it assigns user variables, outside of the queries that it refers to by number.
    pub fn assigns(&self) -> bool {
        let mut found = false;
        self.walk(
            &mut |e| found |= matches!(e.node, Node::AssignVar(..)),
            &mut |_| {},
        );
        found
    }

    /// What evaluates its rows has subqueries: no block may evaluate them while a page is latched.
    pub fn frees_latches(&mut self) {
        match &mut self.body {
            QueryBody::Select(block) => block.frees_latches = true,
            QueryBody::Set { first, rest } => {
                first.frees_latches();
                rest.iter_mut().for_each(|branch| branch.plan.frees_latches());
            }
            QueryBody::Recursive(recursion) => {
                recursion.seed.frees_latches();
                recursion.steps.iter_mut().for_each(Query::frees_latches);
            }
            QueryBody::Values(_) => {}
        }
    }
}

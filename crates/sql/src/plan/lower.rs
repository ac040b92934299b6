//! From what a statement means to how it is done: each bound block becomes one that is run.
//!
//! ```text
//!   Block          wish, source    Joined         which order would save a sort (groups, MIN and MAX, ORDER BY),
//!                 ─────────────▶                  and what the join order and the indexes made of it
//!
//!   Block, Joined  group, safe     SelectPlan
//!                 ─────────────▶
//! ```
//!
//! Queries are lowered in the order of their numbers, so those that a block reads are before it. Where a condition may be tested on each
//! row or be joined ([`super::rewrite`]), the block is planned in both ways, and the one that costs less is taken ([`super::cost`]).

use super::filter::is_steady;
use super::from::{FromInput, Tree};
use super::join::{JoinInput, Joined, conditions};
use super::logical::{Block, Form, Query, ScalarJoin, SemiJoin};
use super::order::{LIMIT_GUESS, OrderWish, sort_cost};
use super::walk::has_subquery;
use super::{
    AGGREGATE, GroupPlan, Planner, QueryBody, QueryPlan, Recursion, RowSource, SelectPlan, SetBranch,
};
use crate::error::Result;
use crate::expr::{AggFunc, Aggregate, Expr, Node, build};

/// A semijoin is joined if that costs less than this share: a row is tested where it is found, in the order of its table, and what a test
/// costs is known better than how many different values there are.
const CLEARLY_LESS: f64 = 0.7;
/// All groups are made if that costs less than this share: which rows ask for theirs is often a guess, and each that does not ask makes the other
/// form cheaper.
const MUCH_LESS: f64 = 0.25;

impl<'a> Planner<'a> {
    /// A query that stands by itself, behind all those that it refers to, when all of them have been rewritten.
    pub(super) fn lower(&mut self, mut query: Query<'a>) -> Result<QueryPlan> {
        self.rewrite(&mut query);
        self.lower_queries()?;
        self.lower_one(query)
    }

    /// Those that are known by numbers, as far as it has not been done.
    pub(super) fn lower_queries(&mut self) -> Result<()> {
        (0..self.queries.len()).try_for_each(|id| self.lower_query(id))
    }

    /// The numbered queries as they are run, which are the statement's from here on.
    pub(super) fn take_lowered(&mut self) -> Result<Vec<QueryPlan>> {
        self.lower_queries()?;
        self.queries.clear();
        self.estimates.take();
        let mut queries: Vec<QueryPlan> = self.lowered.drain(..).flatten().collect();
        if self.binder.ctx.assigns_variables.get() {
            mark_changing(&mut queries);
        }
        Ok(queries)
    }

    /// One of them.
    pub(super) fn lower_query(&mut self, id: usize) -> Result<()> {
        if self.lowered.len() <= id {
            self.lowered.resize_with(self.queries.len(), || None);
        }
        if self.lowered[id].is_none() {
            let query = self.queries[id].take();
            self.lowered[id] = Some(self.lower_one(query)?);
        }
        Ok(())
    }

    fn lower_one(&mut self, query: Query<'a>) -> Result<QueryPlan> {
        let mut order = query.order;
        let mut ordered_by_output = false;
        let body = match query.body {
            QueryBody::Select(block) => {
                let (select, left) = self.lower_block(*block)?;
                ordered_by_output = is_order_of(&left, &select.output);
                order = left;
                QueryBody::Select(Box::new(select))
            }
            QueryBody::Set { first, rest } => {
                let first = Box::new(self.lower_one(*first)?);
                let rest = rest.into_iter().map(|branch| {
                    Ok(SetBranch {
                        op: branch.op,
                        all: branch.all,
                        plan: self.lower_one(branch.plan)?,
                    })
                });
                let rest = rest.collect::<Result<_>>()?;
                QueryBody::Set { first, rest }
            }
            QueryBody::Recursive(recursion) => {
                let seed = Box::new(self.lower_one(*recursion.seed)?);
                let steps = recursion.steps.into_iter().map(|step| self.lower_one(step));
                QueryBody::Recursive(Recursion {
                    working: recursion.working,
                    all: recursion.all,
                    steps: steps.collect::<Result<_>>()?,
                    seed,
                })
            }
            QueryBody::Values(rows) => QueryBody::Values(rows),
        };
        Ok(QueryPlan {
            body,
            order,
            offset: query.offset,
            limit: query.limit,
            columns: query.columns,
            converted: query.converted,
            outer: query.outer,
            repeatable: query.repeatable,
            reads_changes: false,
            into: query.into,
            calc_found_rows: query.calc_found_rows,
            is_unveiled: query.is_unveiled,
            ordered_by_output,
            dependences: query.dependences,
        })
    }

    fn lower_block(&mut self, block: Block<'a>) -> Result<(SelectPlan, Vec<(Expr, bool)>)> {
        let around = std::mem::replace(&mut self.binder.ctx, block.ctx);
        let lowered = self.lower_in_context(block);
        self.binder.ctx = around;
        lowered
    }

    /// The block as it is run, and the order that is still to be made.
    fn lower_in_context(&mut self, mut block: Block<'a>) -> Result<(SelectPlan, Vec<(Expr, bool)>)> {
        let mut wish = block.wish();
        if self.state.settings.rewrites.skip_scan {
            wish.values = self.values_wish(&block);
        }
        self.trace_optimizes(&block);
        let (joined, ends) = match self.ends(&block)? {
            Some((first, others)) => (Ok(first), others),
            None => (self.cheapest_source(&mut block, &wish), Vec::new()),
        };
        if let Some(trace) = &self.trace {
            trace.optimized();
        }
        let mut joined = joined?;
        self.check_join_size(&joined.source)?;
        let ordered = joined.ordered && !(wish.is_none() && ends.is_empty());
        if ordered {
            joined.source.keep_order();
            block.rows_are_ordered();
        }
        // A pass that sorts keeps its rows; any other may hand out many at once, which needs room for them.
        let keeps = block.windows.first().is_none_or(|pass| !pass.ordered);
        let latch_safe = joined.filter.is_none() && block.is_latch_safe() && keeps && !block.frees_latches;
        let finished = block.finished();
        let group = block
            .is_grouped()
            .then(|| self.group_plan(&mut block, ordered, ends));
        if !block.distinct
            && let Some(last) = block.windows.last()
            && last.leaves_ordered(&block.order)
        {
            block.order.clear();
        }
        let passes = std::mem::take(&mut block.windows);
        let windows = self.window_plan(passes, &block.results().collect::<Vec<_>>(), finished);
        let select = SelectPlan {
            number: block.number,
            width: block.width,
            source: joined.source,
            filter: joined.filter,
            group,
            having_first: block
                .having
                .as_ref()
                .is_some_and(|e| e.columns().is_empty() && is_steady(e)),
            having: block.having,
            windows,
            output: block.output,
            distinct: block.distinct,
            latch_safe,
        };
        Ok((select, block.order))
    }

    /// Chooses the join order and the indexes, and in which forms a block's subqueries are done: each in turn in another form, if that is cheaper.
    /// Takes the block's tree and filter; what of the filter no table could apply comes back.
    fn cheapest_source(&mut self, block: &mut Block, wish: &OrderWish) -> Result<Joined> {
        let semi_joins = std::mem::take(&mut block.semi_joins);
        let scalar_joins = std::mem::take(&mut block.scalar_joins);
        let filter = block.filter.take();
        let tree = block.tree.take();
        if semi_joins.is_empty() && scalar_joins.is_empty() {
            let ordered = match may_be_ordered(block, wish) {
                Some(first) => self.ordered_source(block, (&tree, &filter), wish, first)?,
                None => None,
            };
            return match ordered {
                Some(joined) => Ok(joined),
                None => self.block_source(block, (tree, filter), (wish, None)),
            };
        }
        let choice = Choice {
            results: Results::of(block),
            tree,
            filter,
            semi_joins,
            scalar_joins,
        };
        choice
            .queries()
            .into_iter()
            .try_for_each(|id| self.lower_query(id))?;
        // What is told is what is considered for the plan that is taken.
        let trace = self.trace.take();
        let mut forms = choice.first_forms();
        let mut best = self.source_with(block, &choice, &forms, wish)?;
        let mut least = self.cost_with(block, &best);
        // A few rows that pass the tests are found before all that could be joined are.
        let stops_early = wish.limited
            && !block.distinct
            && !block.is_grouped()
            && (block.order.is_empty() || best.ordered);
        for at in (0..forms.len()).filter(|_| !stops_early) {
            for form in choice.other_forms(at) {
                let before = std::mem::replace(&mut forms[at], form);
                let other = self.source_with(block, &choice, &forms, wish)?;
                let cost = self.cost_with(block, &other);
                match cost < self.most_of(least, &best, choice.scalar_at(at)) {
                    true => (best, least) = (other, cost),
                    false => forms[at] = before,
                }
            }
        }
        self.trace = trace;
        match self.trace {
            Some(_) => best = self.source_with(block, &choice, &forms, wish)?,
            None => choice.put_results(block, &forms),
        }
        Ok(best)
    }

    /// The highest cost at which another form replaces one that costs `least`. For a scalar join, the cost that the join adds is held against
    /// the cost of running the subquery for each row.
    fn most_of(&self, least: f64, best: &Joined, scalar: Option<&ScalarJoin>) -> f64 {
        match scalar {
            None => least * CLEARLY_LESS,
            Some(scalar) => {
                let runs = self.rows_of_source(&best.source) * self.query_cost(scalar.query);
                least - runs * (1.0 - MUCH_LESS)
            }
        }
    }

    /// What a block costs whose rows come from a source, with the subqueries that are evaluated on each.
    fn cost_with(&self, block: &Block, joined: &Joined) -> f64 {
        let rows = self.rows_of_source(&joined.source);
        let inputs = block.aggregates.iter().flat_map(Aggregate::inputs);
        let values = block
            .results()
            .chain(inputs)
            .map(|e| self.cost_of_values(rows, e));
        let cost = self.cost_of(&joined.source, joined.filter.as_ref()) + values.sum::<f64>();
        self.dice.weigh(cost)
    }

    /// The joins with the table of the wanted order first, if few rows of them are wanted and that costs less than to sort all.
    fn ordered_source(
        &mut self,
        block: &Block,
        (tree, filter): (&Option<Tree>, &Option<Expr>),
        wish: &OrderWish,
        first: usize,
    ) -> Result<Option<Joined>> {
        // What is told is what is considered for the plan that is taken.
        let trace = self.trace.take();
        let plans = [None, Some(first)].map(|first| {
            let parts = (tree.clone(), filter.clone());
            self.block_source(block, parts, (wish, first))
        });
        self.trace = trace;
        let [best, ordered] = plans;
        let (best, ordered) = (best?, ordered?);
        if best.ordered || !ordered.ordered {
            return Ok(ordered.ordered.then_some(ordered));
        }
        let sorted =
            self.cost_of(&best.source, best.filter.as_ref()) + sort_cost(self.rows_of_source(&best.source));
        let few = self.cost_of_first(LIMIT_GUESS, &ordered.source, ordered.filter.as_ref());
        Ok((self.dice.weigh(few) < self.dice.weigh(sorted)).then_some(ordered))
    }

    /// The same where it has been decided in which forms subqueries are done; the block's results read what these give then.
    fn source_with(
        &self,
        block: &mut Block,
        choice: &Choice,
        forms: &[Form],
        wish: &OrderWish,
    ) -> Result<Joined> {
        let own = block.tables.len();
        let (of_semi, of_scalar) = forms.split_at(choice.semi_joins.len());
        let mut conditions: Vec<Expr> = choice.filter.iter().cloned().collect();
        let mut tree = choice.tree.clone();
        let mut list = Vec::new();
        for scalar in choice.scalars(of_scalar) {
            let right = Box::new(Tree::Table(block.tables.len()));
            block.tables.push(scalar.joined.table.clone());
            let on = scalar.joined.on.clone();
            tree = tree.map(|left| Tree::Left {
                left: Box::new(left),
                right,
                on,
            });
        }
        list.extend(tree);
        for (semi_join, form) in choice.semi_joins.iter().zip(of_semi) {
            match (form, &semi_join.join, &semi_join.values) {
                (Form::Join, Some(join), _) => {
                    list.push(Tree::Table(block.tables.len()));
                    block.tables.push(join.table.clone());
                    conditions.extend(join.on.iter().cloned());
                }
                (Form::Values, _, Some(values)) => conditions.push(values.clone()),
                _ => conditions.push(semi_join.test.clone()),
            }
        }
        block.locks.resize(block.tables.len(), None);
        for scalar in choice.scalars(of_scalar) {
            conditions.iter_mut().for_each(|e| scalar.put_into(e));
        }
        choice.put_results(block, forms);
        let tree = match list.len() {
            1 => list.pop(),
            _ => Some(Tree::Inner {
                list,
                on: Vec::new(),
                straight: false,
                hides: false,
            }),
        };
        let filter = match conditions.len() {
            0 => None,
            1 => conditions.pop(),
            _ => Some(build::and(conditions)),
        };
        let source = self.block_source(block, (tree, filter), (wish, None));
        block.tables.truncate(own);
        block.locks.truncate(own);
        source
    }

    /// Chooses the join order and the indexes of the block's tables, in a tree of its own and with a filter; what of the filter no
    /// table could apply comes back.
    fn block_source(
        &self,
        block: &Block,
        (mut tree, mut filter): (Option<Tree>, Option<Expr>),
        (wish, first): (&OrderWish, Option<usize>),
    ) -> Result<Joined> {
        self.test_arrays(&block.tables, tree.as_mut(), filter.as_mut())?;
        let mut needed = Vec::new();
        let inputs = block.aggregates.iter().flat_map(Aggregate::inputs);
        let all = block.results().chain(&block.keys).chain(&filter).chain(inputs);
        all.for_each(|e| self.slots_of(e, &mut needed));
        for condition in tree.iter().flat_map(conditions) {
            self.slots_of(condition, &mut needed);
        }
        self.slots_of_laterals(&block.tables, &mut needed);
        let input = JoinInput {
            tables: &block.tables,
            needed: &needed,
            wish,
            first,
            advice: block.advice.as_deref(),
            locks: &block.locks,
        };
        self.source(tree, filter, input)
    }

    /// The groups of a block, whose rows come in the order of its wish or in none; `ends`: see [`GroupPlan`]. Takes its keys and
    /// aggregates.
    fn group_plan(&self, block: &mut Block, ordered: bool, ends: Vec<RowSource>) -> GroupPlan {
        let first_only = block.first_only().is_some() || !ends.is_empty();
        let mut keep = Vec::new();
        // Keys of rows with totals are worked out once more.
        let keys = block.keys.iter().filter(|_| block.rollup.is_some());
        block
            .results()
            .chain(keys)
            .for_each(|e| self.slots_of(e, &mut keep));
        let mut slots = keep.clone();
        let inputs = block.aggregates.iter().flat_map(Aggregate::inputs);
        inputs.for_each(|e| self.slots_of(e, &mut slots));
        let quotient = block.quotient(ordered && !first_only);
        for aggregate in &mut block.aggregates {
            aggregate.quotient = quotient;
        }
        GroupPlan {
            keys: std::mem::take(&mut block.keys),
            aggregates: std::mem::take(&mut block.aggregates),
            rollup: block.rollup.take(),
            keep,
            slots,
            sorted: ordered && !first_only,
            first_only: first_only && ordered,
            ends,
        }
    }
}

/// Marks the queries whose result may change while the statement runs, since they, or subqueries in them, use user variables or call stored
/// functions.
fn mark_changing(queries: &mut [QueryPlan]) {
    loop {
        let mut found = None;
        for (id, query) in queries
            .iter()
            .enumerate()
            .filter(|(_, query)| !query.reads_changes)
        {
            let mut uses = false;
            let mut look = |e: &Expr| {
                uses |= match e.node {
                    Node::UserVar(_) | Node::AssignVar(..) | Node::Routine(_) => true,
                    Node::Subquery { id, .. } => queries[id].reads_changes,
                    _ => false,
                }
            };
            query.walk(&mut look, &mut |_| {});
            if uses {
                found = Some(id);
                break;
            }
        }
        match found {
            Some(id) => queries[id].reads_changes = true,
            None => return,
        }
    }
}

impl<'a> Query<'a> {
    /// Its body goes on; what those around it ask of it stays.
    pub(super) fn take(&mut self) -> Query<'a> {
        let stays = QueryPlan {
            outer: self.outer.clone(),
            repeatable: self.repeatable,
            ..QueryPlan::of(
                QueryBody::Values(Vec::new()),
                self.columns.iter().map(super::OutputColumn::copy).collect(),
            )
        };
        std::mem::replace(self, stays)
    }
}

impl Block<'_> {
    /// How many values a finished group has.
    pub(super) fn finished(&self) -> usize {
        let rollup = self.rollup.iter();
        self.aggregates.len() + rollup.map(|r| self.keys.len() + r.groupings.len()).sum::<usize>()
    }

    /// The column and direction whose first row is all that is wanted: of a MIN or MAX alone, without GROUP BY.
    fn first_only(&self) -> Option<(Expr, bool)> {
        match self.keys.is_empty() {
            true => min_max(&self.aggregates),
            false => None,
        }
    }

    /// The order of rows that would save a sort or a table of groups.
    fn wish(&self) -> OrderWish {
        match self.first_only() {
            Some(first) => OrderWish {
                order: vec![first],
                limited: true,
                ..OrderWish::default()
            },
            // Each level of totals is made of groups that come in the order of their keys.
            None if self.rollup.is_some() => OrderWish {
                order: self.keys.iter().map(|key| (key.clone(), false)).collect(),
                ..OrderWish::default()
            },
            None if self.is_grouped() => OrderWish {
                order: match self.is_ordered_by_keys() {
                    true => self.order.clone(),
                    false => Vec::new(),
                },
                together: self.keys.clone(),
                limited: self.limited
                    && self.having.is_none()
                    && !self.keys.is_empty()
                    && (self.order.is_empty() || self.is_ordered_by_keys()),
                distinct: true,
                values: None,
            },
            None => match self.windows.first() {
                Some(pass) => OrderWish {
                    order: owned(&pass.sort()),
                    ..OrderWish::default()
                },
                None => OrderWish {
                    order: self.order.clone(),
                    limited: self.limited,
                    distinct: self.distinct,
                    ..OrderWish::default()
                },
            },
        }
    }

    /// Whether groups that come in order of some of their keys are in the block's order.
    fn is_ordered_by_keys(&self) -> bool {
        let is_key = |e: &Expr| self.keys.iter().any(|key| key.same_as(e));
        self.windows.is_empty() && self.rollup.is_none() && self.order.iter().all(|(e, _)| is_key(e))
    }

    /// Takes note that rows arrive in the wished order, where that saves a sort.
    fn rows_are_ordered(&mut self) {
        if self.is_grouped() {
            if self.is_ordered_by_keys() {
                self.order.clear();
            }
            return;
        }
        match self.windows.first_mut() {
            Some(pass) => pass.ordered = true,
            None => self.order.clear(),
        }
    }

    /// Whether no expression that is evaluated while a page of the source is latched has a subquery.
    fn is_latch_safe(&self) -> bool {
        let inputs = self
            .keys
            .iter()
            .chain(self.aggregates.iter().flat_map(|a| &a.args));
        !self.results().chain(inputs).any(has_subquery)
    }
}

/// What of a block depends on the forms in which its subqueries are done: those of its semijoins come before those of its scalar joins.
struct Choice {
    tree: Option<Tree>,
    filter: Option<Expr>,
    results: Results,
    semi_joins: Vec<SemiJoin>,
    scalar_joins: Vec<ScalarJoin>,
}

/// The clauses other than WHERE whose subqueries may have another form.
struct Results {
    output: Vec<Expr>,
    order: Vec<(Expr, bool)>,
    aggregates: Vec<Aggregate>,
}

impl Results {
    fn of(block: &Block) -> Results {
        Results {
            output: block.output.clone(),
            order: block.order.clone(),
            aggregates: block.aggregates.clone(),
        }
    }
}

impl Choice {
    /// The numbers of the queries of all forms.
    fn queries(&self) -> Vec<usize> {
        let mut ids = Vec::new();
        let tests = self.semi_joins.iter().flat_map(SemiJoin::exprs);
        tests.for_each(|e| subqueries_in(e, &mut ids));
        let joins = self
            .semi_joins
            .iter()
            .filter_map(|semi_join| semi_join.join.as_ref());
        let values = self.scalar_joins.iter().map(|scalar| &scalar.joined);
        for join in joins.chain(values) {
            if let FromInput::Derived { query, .. } = &join.table.input {
                ids.push(*query);
            }
        }
        ids.extend(self.scalar_joins.iter().map(|scalar| scalar.query));
        ids
    }

    /// All as they are written.
    fn first_forms(&self) -> Vec<Form> {
        vec![Form::Test; self.semi_joins.len() + self.scalar_joins.len()]
    }

    /// The scalar join whose form stands at a place; `None`: it is that of a semijoin.
    fn scalar_at(&self, at: usize) -> Option<&ScalarJoin> {
        self.scalar_joins.get(at.checked_sub(self.semi_joins.len())?)
    }

    fn other_forms(&self, at: usize) -> Vec<Form> {
        match self.semi_joins.get(at) {
            Some(semi_join) => semi_join.other_forms().collect(),
            None => vec![Form::Join],
        }
    }

    /// The scalar joins that are joined.
    fn scalars<'c>(&'c self, forms: &'c [Form]) -> impl Iterator<Item = &'c ScalarJoin> {
        let pairs = self.scalar_joins.iter().zip(forms);
        pairs.filter_map(|(scalar, form)| (*form == Form::Join).then_some(scalar))
    }

    /// Has a block read what its subqueries give in these forms.
    fn put_results(&self, block: &mut Block, forms: &[Form]) {
        if self.scalar_joins.is_empty() {
            return;
        }
        block.output.clone_from(&self.results.output);
        block.order.clone_from(&self.results.order);
        block.aggregates.clone_from(&self.results.aggregates);
        for scalar in self.scalars(&forms[self.semi_joins.len()..]) {
            let order = block.order.iter_mut().map(|(e, _)| e);
            let inputs = block.aggregates.iter_mut().flat_map(Aggregate::inputs_mut);
            let all = block.output.iter_mut().chain(order).chain(inputs);
            all.for_each(|e| scalar.put_into(e));
        }
    }
}

impl SemiJoin {
    fn other_forms(&self) -> impl Iterator<Item = Form> {
        let values = self.values.is_some().then_some(Form::Values);
        values
            .into_iter()
            .chain(self.join.is_some().then_some(Form::Join))
    }
}

/// The table whose columns the wanted order of a join goes by, if the first rows in that are all that is wanted.
fn may_be_ordered(block: &Block, wish: &OrderWish) -> Option<usize> {
    if !wish.limited || block.tables.len() < 2 || block.is_grouped() || block.distinct {
        return None;
    }
    let mut tables = wish.order.iter().map(|(e, _)| match e.node {
        Node::Column(slot) if slot < AGGREGATE => Some(block.tables.partition_point(|t| t.base <= slot) - 1),
        _ => None,
    });
    let first = tables.next()??;
    tables.all(|table| table == Some(first)).then_some(first)
}

/// Whether an order is that of the output columns from left to right.
fn is_order_of(order: &[(Expr, bool)], output: &[Expr]) -> bool {
    let mut pairs = order.iter().zip(output);
    order.len() <= output.len() && pairs.all(|((e, descending), output)| !descending && e.same_as(output))
}

fn owned(order: &[(&Expr, bool)]) -> Vec<(Expr, bool)> {
    order
        .iter()
        .map(|(e, descending)| ((*e).clone(), *descending))
        .collect()
}

/// The column of a lone MIN or MAX, and whether its end is the last.
pub(super) fn min_max(aggregates: &[Aggregate]) -> Option<(Expr, bool)> {
    match aggregates {
        [one]
            if matches!(
                one.args.as_slice(),
                [Expr {
                    node: Node::Column(_),
                    ..
                }]
            ) =>
        {
            match one.func {
                AggFunc::Min => Some((one.args[0].clone(), false)),
                AggFunc::Max => Some((one.args[0].clone(), true)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Adds the numbers of the subqueries in an expression.
fn subqueries_in(e: &Expr, ids: &mut Vec<usize>) {
    e.walk(&mut |e| {
        if let Node::Subquery { id, .. } = &e.node {
            ids.push(*id);
        }
    });
}

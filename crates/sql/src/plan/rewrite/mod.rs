//! Rules that make of a bound query another one that has the same rows and costs less, before it is decided how it is done.
//!
//! [`RULES`] is the list, in the order in which they are applied. Each can be switched off by its name in `optimizer_switch`. The queries
//! of UPDATE and DELETE, and those in the values of an INSERT, are left as they are: there it counts which tables are read before the first
//! row changes. The query of INSERT … SELECT has ended by then, so it is rewritten as any other.
//!
//! - [`derived_merge`]: a derived table or common table becomes a part of the join that it stands in.
//! - [`outer_join_removal`]: an outer join that adds nothing is not made.
//! - [`having`]: conditions on keys of groups are tested before there are groups.
//! - [`condition_pushdown`]: a condition on a derived table is tested where its rows are found.
//! - [`scalar_join`]: a subquery that gives an aggregate for each row may become a join with all of these.
//! - [`semijoin`]: IN and EXISTS may become joins.

mod columns;
mod condition_pushdown;
mod derived_merge;
mod having;
mod outer_join_removal;
mod scalar_join;
mod semijoin;
mod verify;

use super::Planner;
use super::QueryBody;
use super::from::FromInput;
use super::logical::{Block, Query};
use crate::expr::{Expr, build};
use crate::variables::Rewrites;
use verify::{count_conditions, verify};

/// A rule: its name in `optimizer_switch`, whether it is on, and what it does.
struct Rule {
    name: &'static str,
    is_on: fn(&Rewrites) -> bool,
    apply: for<'a> fn(&mut Planner<'a>, &mut Query<'a>),
    /// It may leave conditions out.
    drops_conditions: bool,
    /// It is about queries in queries alone.
    is_nested: bool,
}

const RULES: [Rule; 6] = [
    Rule {
        name: "derived_merge",
        is_on: |rewrites| rewrites.derived_merge,
        apply: |planner, root| planner.merge_derived(root),
        drops_conditions: false,
        is_nested: true,
    },
    Rule {
        name: "outer_join_removal",
        is_on: |rewrites| rewrites.outer_join_removal,
        apply: |planner, root| planner.remove_outer_joins(root),
        drops_conditions: true,
        is_nested: false,
    },
    Rule {
        name: "having_pushdown",
        is_on: |rewrites| rewrites.having_pushdown,
        apply: |planner, root| planner.test_before_grouping(root),
        drops_conditions: false,
        is_nested: false,
    },
    Rule {
        name: "derived_condition_pushdown",
        is_on: |rewrites| rewrites.condition_pushdown,
        apply: |planner, root| planner.push_conditions(root),
        drops_conditions: false,
        is_nested: true,
    },
    Rule {
        name: "subquery_to_derived",
        is_on: |rewrites| rewrites.subquery_to_derived,
        apply: |planner, root| planner.join_scalar_subqueries(root),
        drops_conditions: false,
        is_nested: true,
    },
    Rule {
        name: "semijoin",
        is_on: |rewrites| rewrites.semijoin,
        apply: |planner, root| planner.join_subqueries(root),
        drops_conditions: false,
        is_nested: true,
    },
];

impl<'a> Planner<'a> {
    /// Applies the rules to a whole statement: a query, and those that are known by numbers.
    pub(super) fn rewrite(&mut self, root: &mut Query<'a>) {
        debug_assert!(
            self.lowered.is_empty(),
            "queries are rewritten before any is lowered"
        );
        let on = &self.state.settings.rewrites;
        let is_flat = self.queries.is_empty();
        for rule in RULES
            .iter()
            .filter(|rule| !(is_flat && rule.is_nested) && (rule.is_on)(on))
        {
            self.apply(rule, root);
        }
    }

    fn apply(&mut self, rule: &Rule, root: &mut Query<'a>) {
        if !cfg!(debug_assertions) {
            return (rule.apply)(self, root);
        }
        let before = count_conditions(self, root);
        (rule.apply)(self, root);
        verify(self, root, rule.name);
        let after = count_conditions(self, root);
        assert!(
            rule.drops_conditions || after >= before,
            "{}: {before} conditions have become {after}",
            rule.name
        );
    }

    /// Changes each query there is now, and takes note again of what all read if one says that it was changed.
    fn change_each(&mut self, root: &mut Query<'a>, change: impl Fn(&mut Self, &mut Query<'a>) -> bool) {
        let mut changed = false;
        for id in 0..self.queries.len() {
            changed |= self.with_query(id, &change);
        }
        changed |= change(self, root);
        if changed {
            self.settle_all(root);
        }
    }

    /// Adds a query that a rule has made of another, and that is the only one to read it; returns its number.
    fn add_form(&mut self, query: Query<'a>) -> usize {
        let id = self.queries.len();
        self.queries.push(query);
        self.forms.push(id);
        id
    }

    /// Works on a query of this number with all others at hand; those do not find it meanwhile.
    fn with_query<R>(&mut self, id: usize, work: impl FnOnce(&mut Self, &mut Query<'a>) -> R) -> R {
        let away = Query::of(QueryBody::Values(Vec::new()), Vec::new());
        let mut query = std::mem::replace(&mut self.queries[id], away);
        let done = work(self, &mut query);
        self.queries[id] = query;
        done
    }

    /// How often each query is named in FROM clauses.
    fn times_named(&self, root: &Query<'a>) -> Vec<usize> {
        let mut times = vec![0; self.queries.len()];
        for query in self.queries.iter().chain([root]) {
            query.walk(&mut |_| {}, &mut |table| {
                if let FromInput::Derived { query, .. } = &table.input {
                    times[*query] += 1;
                }
            });
        }
        times
    }

    /// Takes note again of what each query reads of the row around it.
    fn settle_all(&mut self, root: &mut Query<'a>) {
        for id in 0..self.queries.len() {
            self.with_query(id, |planner, query| planner.settle_reads(query));
        }
        self.settle_reads(root);
    }
}

impl<'a> Query<'a> {
    /// Hands on each block of this query but those of recursive steps, which read their table before all others.
    fn blocks_mut(&mut self, f: &mut dyn FnMut(&mut Block<'a>)) {
        match &mut self.body {
            QueryBody::Select(block) => f(block),
            QueryBody::Set { first, rest } => {
                first.blocks_mut(f);
                rest.iter_mut().for_each(|branch| branch.plan.blocks_mut(f));
            }
            QueryBody::Recursive(recursion) => recursion.seed.blocks_mut(f),
            QueryBody::Values(_) => {}
        }
    }
}

/// The conditions that all hold, as one; `None` of none.
fn all_of(mut conditions: Vec<Expr>) -> Option<Expr> {
    match conditions.len() {
        0 | 1 => conditions.pop(),
        _ => Some(build::and(conditions)),
    }
}

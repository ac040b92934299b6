//! Rules that make of a bound query another one that has the same rows and costs less, before it is decided how it is done.
//!
//! [`RULES`] is the list, in the order in which they are applied. Each can be switched off by its name in `optimizer_switch`. The queries
//! of UPDATE and DELETE, and those in the values of an INSERT, are left as they are: there it counts which tables are read before the first
//! row changes. The query of INSERT … SELECT has ended by then, so it is rewritten as any other.
//!
//! - [`derived_merge`]: a derived table or common table becomes a part of the join that it stands in.
//! - [`condition_pushdown`]: a condition on a derived table is tested where its rows are found.
//! - [`semijoin`]: IN and EXISTS may become joins.

mod columns;
mod condition_pushdown;
mod derived_merge;
mod semijoin;

use super::Planner;
use super::QueryBody;
use super::from::FromInput;
use super::logical::Query;
use crate::variables::Rewrites;

/// A rule: whether it is on, and what it does.
struct Rule {
    is_on: fn(&Rewrites) -> bool,
    apply: for<'a> fn(&mut Planner<'a>, &mut Query<'a>),
}

const RULES: [Rule; 3] = [
    Rule {
        is_on: |rewrites| rewrites.derived_merge,
        apply: |planner, root| planner.merge_derived(root),
    },
    Rule {
        is_on: |rewrites| rewrites.condition_pushdown,
        apply: |planner, root| planner.push_conditions(root),
    },
    Rule {
        is_on: |rewrites| rewrites.semijoin,
        apply: |planner, root| planner.join_subqueries(root),
    },
];

impl<'a> Planner<'a> {
    /// Applies the rules to a whole statement: a query, and those that are known by numbers.
    pub(super) fn rewrite(&mut self, root: &mut Query<'a>) {
        debug_assert!(
            self.lowered.is_empty(),
            "queries are rewritten before any is lowered"
        );
        // All rules are about queries in queries.
        if self.queries.is_empty() {
            return;
        }
        let on = &self.state.settings.rewrites;
        for rule in RULES.iter().filter(|rule| (rule.is_on)(on)) {
            (rule.apply)(self, root);
        }
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

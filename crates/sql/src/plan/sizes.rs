//! Whether the tables of a kept plan still have about the sizes that it was made for.
//!
//! A plan made over empty tables joins them in any order, and a table that was small may be read whole; so a plan that was made
//! for a table's size ends when the table has doubled or shrunk to half, or was analysed. That is one load for each such table at
//! each run. A table whose row is found by a unique key is found so at any size, and costs nothing.

use super::access::AccessPath;
use super::change::InsertSource;
use super::statement::Body;
use super::{Input, QueryPlan};
use std::sync::Arc;
use tidemark_engine::{SizeRange, Table};

/// The sizes of the tables that a plan was made for.
#[derive(Default)]
pub(super) struct Sizes(Vec<(Arc<Table>, SizeRange)>);

impl Sizes {
    /// Those of a statement with these subqueries and derived tables.
    pub fn of(body: &Body, queries: &[QueryPlan]) -> Sizes {
        let mut sizes = Sizes::default();
        queries.iter().for_each(|query| sizes.add_query(query));
        match body {
            Body::Query(query) => sizes.add_query(query),
            Body::Insert(plan) => {
                if let InsertSource::Query(source) = &plan.source {
                    sizes.add_query(&source.query);
                    source.queries.iter().for_each(|query| sizes.add_query(query));
                }
            }
            Body::Update(plan) => sizes.add(&plan.rows.path, &plan.target.table),
            Body::Delete(plan) => sizes.add(&plan.rows.path, &plan.target.table),
            Body::Joined(plan) => sizes.add_query(&plan.join),
            Body::Setup(_) | Body::Handler(_) | Body::Do(_) | Body::Explain(_) | Body::Analyze { .. } => {}
        }
        sizes
    }

    fn add_query(&mut self, query: &QueryPlan) {
        query.walk(&mut |_| {}, &mut |scan| {
            if let Input::Stored { table, .. } = &scan.input {
                self.add(&scan.path, table);
            }
        });
    }

    fn add(&mut self, path: &AccessPath, table: &Arc<Table>) {
        let is_known = |(known, _): &(Arc<Table>, SizeRange)| Arc::ptr_eq(known, table);
        if !path.point && !self.0.iter().any(is_known) {
            self.0.push((Arc::clone(table), table.size_now()));
        }
    }

    /// Whether all tables still have such sizes.
    #[inline]
    pub fn hold(&self) -> bool {
        self.0.iter().all(|(table, size)| table.has_size(size))
    }
}

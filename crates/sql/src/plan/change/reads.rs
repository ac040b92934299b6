//! The table that a statement changes is not read beside, by a subquery: what that would find depends on how far the statement
//! has come. What a derived table reads, by itself or by subqueries of its own, is read before, and allowed.
//!
//! Views read tables that the statement does not name, so MySQL has an error of its own for them, 1443, which names the view.

use super::target::Target;
use crate::error::{Result, SqlError, er};
use crate::expr::Node;
use crate::plan::Planner;
use crate::plan::from::{FromInput, FromTable};
use crate::plan::view::merged::Within;
use std::sync::Arc;
use tidemark_engine::TableId;

/// A table that a statement changes.
pub(super) struct ChangedTable<'t> {
    pub id: TableId,
    /// Its own name, or within a view the name that it has there.
    pub own_name: &'t str,
    /// What the statement calls it, or the view around it.
    pub name: &'t str,
    pub within: Option<&'t Arc<Within>>,
    pub verb: &'static str,
}

impl<'t> ChangedTable<'t> {
    pub fn of(target: &'t Target, verb: &'static str) -> ChangedTable<'t> {
        let within = target.seen.as_deref().map(|seen| &seen.view);
        ChangedTable {
            id: target.def.id,
            own_name: &target.def.name,
            name: within.map_or(&target.def.name, |view| &view.alias),
            within,
            verb,
        }
    }

    /// Errors 1093 and 1443; of what the view itself reads, 1288 and 1471.
    fn read_by(&self, reader: Option<&Arc<Within>>) -> SqlError {
        match (self.within, reader) {
            (Some(own), Some(reader)) if Arc::ptr_eq(own, reader) => {
                super::seen::not_changeable(self.name, self.verb)
            }
            (Some(own), Some(reader)) if !own.is(&reader.schema, &reader.name) => {
                SqlError::view_prevents(&reader.alias, self.verb, self.name)
            }
            (None, Some(reader)) => SqlError::view_prevents(&reader.alias, self.verb, self.name),
            (Some(_), None) => SqlError::view_prevents(self.name, self.verb, self.name),
            (None, None) | (Some(_), Some(_)) => SqlError::new(
                er::CANT_UPDATE_USED_TABLE,
                format!(
                    "You can't specify target table '{}' for update in FROM clause",
                    self.name
                ),
            ),
        }
    }
}

impl Planner<'_> {
    /// The error of [`ChangedTable::read_by`] if a subquery reads the table. `derived` are the derived tables of the FROM clause.
    pub(super) fn refuse_reads_of(&self, changed: &ChangedTable, derived: Vec<usize>) -> Result<()> {
        self.refuse_tables(derived, changed, |_| true)
    }

    /// The same for the values of an INSERT, where only a table of the target's name, and no alias, is refused.
    pub(super) fn refuse_reads_by_name(&self, changed: &ChangedTable) -> Result<()> {
        self.refuse_tables(Vec::new(), changed, |table| table.alias == changed.own_name)
    }

    fn refuse_tables(
        &self,
        mut derived: Vec<usize>,
        changed: &ChangedTable,
        refused: impl Fn(&FromTable) -> bool,
    ) -> Result<()> {
        for query in &self.queries {
            query.walk(&mut |_| {}, &mut |table| {
                if let FromInput::Derived { query, .. } = &table.input {
                    derived.push(*query);
                }
            });
        }
        // The subqueries of a derived table, and theirs.
        let mut at = 0;
        while let Some(id) = derived.get(at).copied() {
            at += 1;
            let mut inner = Vec::new();
            self.queries[id].walk(
                &mut |e| {
                    if let Node::Subquery { id, .. } = &e.node {
                        inner.push(*id);
                    }
                },
                &mut |_| {},
            );
            inner.retain(|id| !derived.contains(id));
            derived.append(&mut inner);
        }
        let mut error = None;
        let others = self.queries.iter().enumerate();
        for (_, query) in others.filter(|(id, _)| !derived.contains(id)) {
            query.walk(&mut |_| {}, &mut |table| {
                let reads = matches!(&table.input, FromInput::Stored { def, .. } if def.id == changed.id);
                if reads && refused(table) {
                    error.get_or_insert_with(|| changed.read_by(table.within.as_ref()));
                }
            });
        }
        match error {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

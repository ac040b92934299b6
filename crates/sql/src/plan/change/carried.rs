//! Columns of the tables that INSERT … SELECT reads, in ON DUPLICATE KEY UPDATE.
//!
//! They may be named where the query is one SELECT without groups, and are then as good as the target's: a name that both have is
//! ambiguous. The query is planned and the assignments are bound, with the query's tables in scope; if slots of these are read,
//! the query is planned once more and gives them as further columns, behind those that go into the target:
//!
//! ```text
//!   what assignments see     old row │ row to be inserted │ the query's own row
//!   what the query gives     values for the target's columns │ the slots that are carried
//! ```

use super::insert::SourceQuery;
use super::target::Target;
use crate::context::TableUse;
use crate::error::{Result, SqlError};
use crate::expr::{Expr, Node, ScopeTable, build};
use crate::parse::ast;
use crate::plan::logical::Block;
use crate::plan::{OutputColumn, Planner};
use crate::types::{ColumnMeta, SqlType};

/// What is asked of the query of an INSERT, and what it answers.
#[derive(Default)]
pub(in crate::plan) struct Carried {
    /// The slots of its row that it is to give.
    slots: Vec<usize>,
    /// The tables whose columns may be named; none where it has groups.
    tables: Vec<ScopeTable>,
}

impl Carried {
    /// The tables for a scope where the query's row stands behind so many slots.
    pub fn tables_behind(mut self, base: usize) -> Vec<ScopeTable> {
        for column in self.tables.iter_mut().flat_map(|table| &mut table.columns) {
            column.value = column.value.as_ref().map(|_| column.expr(base).into());
            column.slot += base;
        }
        self.tables
    }
}

impl Planner<'_> {
    /// Plans the query that INSERT reads from, whose columns ON DUPLICATE KEY UPDATE may name.
    pub(super) fn source_query_shown(
        &self,
        query: &ast::Query,
        slots: Vec<usize>,
    ) -> Result<(SourceQuery, Vec<TableUse>, Carried)> {
        let carried = Carried {
            slots: slots.clone(),
            tables: Vec::new(),
        };
        let mut shown = is_one_select(query).then_some(carried);
        let (mut source, uses) = self.source_query(query, &mut shown)?;
        source.carried = slots;
        Ok((source, uses, shown.unwrap_or_default()))
    }

    /// Adds what is to be carried to the output of the outermost block of the query; tells of the tables. Error 1235 for a slot whose type
    /// no column tells: each has its place behind the others.
    pub(in crate::plan) fn carry(
        &self,
        carried: &mut Carried,
        tables: &[ScopeTable],
        block: &mut Block,
        columns: &mut Vec<OutputColumn>,
    ) -> Result<()> {
        let results = self.state.results_collation();
        for slot in &carried.slots {
            let ty = type_of(*slot, tables)
                .ok_or_else(|| SqlError::not_supported("this column of a view in ON DUPLICATE KEY UPDATE"))?;
            columns.push(OutputColumn {
                name: String::new(),
                meta: ColumnMeta::of_expression("", &ty, results),
                ty: ty.clone(),
                default: Default::default(),
                origin: Default::default(),
            });
            block.output.push(build::column(*slot, ty));
        }
        carried.tables = tables.to_vec();
        Ok(())
    }

    /// The slots of the query's row that values read.
    pub(super) fn carried_slots<'e>(
        &self,
        values: impl Iterator<Item = &'e Expr>,
        target: &Target,
    ) -> Vec<usize> {
        let mut slots = Vec::new();
        values.for_each(|value| self.slots_of(value, &mut slots));
        let base = base_of(target);
        slots.retain_mut(|slot| {
            let is_of_query = *slot >= base;
            *slot = slot.saturating_sub(base);
            is_of_query
        });
        slots
    }
}

/// The query's row stands behind the old row and the new one.
pub(super) fn base_of(target: &Target) -> usize {
    2 * target.def.columns.len()
}

/// Whether a query is one block, which is nothing else but put in parentheses.
fn is_one_select(query: &ast::Query) -> bool {
    match &query.body {
        ast::QueryBody::Select(_) => true,
        ast::QueryBody::Query(inner) => {
            query.order_by.is_empty() && query.limit.is_none() && is_one_select(inner)
        }
        _ => false,
    }
}

/// The type of a slot: that of a column, or of what a column of a merged view is computed from.
fn type_of(slot: usize, tables: &[ScopeTable]) -> Option<SqlType> {
    let mut columns = tables.iter().flat_map(|table| &table.columns);
    let own = columns
        .clone()
        .find(|column| column.value.is_none() && column.slot == slot);
    if let Some(column) = own {
        return Some(column.ty.clone());
    }
    columns.find_map(|column| {
        let mut found = None;
        column.value.as_ref()?.walk(&mut |e| {
            if matches!(e.node, Node::Column(of) if of == slot) {
                found = Some(e.ty.clone());
            }
        });
        found
    })
}

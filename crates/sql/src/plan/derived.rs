//! Derived tables: queries whose rows are a table.

use super::from::{From, FromInput, FromTable, Tree};
use super::logical::Query;
use super::{Planner, QueryBody};
use crate::dictionary::names_equal;
use crate::error::{Result, SqlError, er};
use crate::expr::{Node, ScopeColumn, ScopeTable};
use crate::parse::ast;
use crate::types::{SqlType, TypeKind};

impl Planner<'_> {
    pub(super) fn derived(
        &mut self,
        query: &ast::Query,
        (alias, names): (&str, &[String]),
        lateral: bool,
        from: &mut From,
    ) -> Result<Tree> {
        let locks = std::mem::take(&mut self.locks);
        // Without LATERAL it sees what is around the query that it stands in, not its neighbours.
        let planned = match lateral {
            true => self.query(query, Some(&from.scope)),
            false => self.query(query, from.scope.outer),
        };
        self.locks = locks;
        self.queries.push(planned?);
        self.derived_leaf((self.queries.len() - 1, lateral), alias, names, from)
    }

    /// A query's result as a table.
    pub(super) fn derived_leaf(
        &mut self,
        (query, lateral): (usize, bool),
        alias: &str,
        names: &[String],
        from: &mut From,
    ) -> Result<Tree> {
        self.queries[query].fill_up();
        let plan = &self.queries[query];
        if !names.is_empty() && names.len() != plan.columns.len() {
            return Err(SqlError::new(
                er::VIEW_WRONG_LIST,
                "In definition of view, derived table or common table expression, SELECT list and column names list \
                 have different column counts",
            ));
        }
        let base = from.scope.width();
        let mut columns: Vec<ScopeColumn> = Vec::with_capacity(plan.columns.len());
        for (i, column) in plan.columns.iter().enumerate() {
            let name = names.get(i).unwrap_or(&column.name).clone();
            if columns.iter().any(|other| names_equal(&other.name, &name)) {
                return Err(SqlError::duplicate_column(&name));
            }
            let ty = type_in_table(plan, i);
            columns.push(ScopeColumn {
                name,
                ty,
                slot: base + i,
                hidden: false,
                merged: false,
                value: None,
                default: column.default.clone(),
            });
        }
        from.scope.add(ScopeTable {
            schema: None,
            alias: alias.to_string(),
            columns,
            readable: None,
        })?;
        from.see_last_table();
        let input = FromInput::Derived { query, lateral };
        Ok(from.add_leaf(FromTable {
            alias: alias.to_string(),
            locked_as: alias.to_string(),
            within: self.views.first().cloned(),
            rights: self.state.rights(),
            base,
            recursive: self.working_table(&input).map(str::to_owned),
            input,
            allowed: None,
            forced: false,
            apart: false,
        }))
    }
}

/// The type that a value selected by a query has as one of a table: a year that is computed is a number there.
pub(super) fn type_in_table(plan: &Query, column: usize) -> SqlType {
    let mut ty = plan.columns[column].ty.clone();
    let is_computed = match &plan.body {
        QueryBody::Select(select) => !matches!(select.output[column].node, Node::Column(_)),
        _ => false,
    };
    if ty.kind == TypeKind::Year && is_computed {
        ty.kind = TypeKind::Int;
        ty.zerofill = false;
    }
    ty
}

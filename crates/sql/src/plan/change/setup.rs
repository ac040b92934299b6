//! UPDATE of what `performance_schema` is set up with: `setup_consumers` and `setup_instruments`.
//!
//! Their rows are not stored. The statement is planned as the query of the rows that it means, with the new values behind their columns;
//! what it changes is turned on or off when all of them are known.

use crate::accounts::Privileges;
use crate::context::TableUse;
use crate::dictionary::{TableDef, names_equal};
use crate::error::{Result, SqlError};
use crate::information_schema::check_assigned;
use crate::mdl::Mode;
use crate::parse::ast::{self, SelectItem};
use crate::plan::{Planner, QueryPlan};
use std::sync::Arc;

/// UPDATE of one of these tables.
pub struct SetupPlan {
    pub table: Arc<TableDef>,
    /// All columns, and then the new values.
    pub query: QueryPlan,
    /// The columns that the new values are of.
    pub assigned: Vec<usize>,
}

fn item(expr: ast::Expr) -> SelectItem {
    SelectItem::Expr {
        expr,
        alias: None,
        text: String::new(),
    }
}

impl Planner<'_> {
    /// Error 1683 if it would change a name.
    pub(in crate::plan) fn update_setup(
        &mut self,
        update: &ast::Update,
        table: &ast::TableName,
        def: Arc<TableDef>,
    ) -> Result<SetupPlan> {
        self.state
            .require_held(Privileges::UPDATE, &def.schema, &def.name)?;
        let alias = table.alias.as_deref().unwrap_or(&def.name);
        let used = TableUse::new(Arc::clone(&def), Mode::Read, Privileges::UPDATE);
        self.add_use(used.named(alias))?;
        let column = |name: &str| {
            ast::Expr::Column(ast::ColumnName {
                schema: None,
                table: None,
                column: name.to_owned(),
            })
        };
        let mut items: Vec<SelectItem> = def.columns.iter().map(|of| item(column(&of.name))).collect();
        let mut assigned = Vec::new();
        for assignment in &update.assignments {
            let name = &assignment.column.column;
            let at = def.columns.iter().position(|of| names_equal(&of.name, name));
            let at = at.ok_or_else(|| SqlError::unknown_column(name, "field list"))?;
            check_assigned(&def, at)?;
            if matches!(assignment.value, ast::Expr::Default(_)) {
                return Err(SqlError::not_supported(
                    "DEFAULT as a value of performance_schema",
                ));
            }
            assigned.push(at);
            items.push(item(assignment.value.clone()));
        }
        let select = ast::Select {
            distinct: false,
            straight_join: false,
            calc_found_rows: false,
            max_execution_time_ms: None,
            items,
            from: vec![ast::TableRef::Table(table.clone())],
            filter: update.filter.clone(),
            group_by: Vec::new(),
            with_rollup: false,
            having: None,
            windows: Vec::new(),
        };
        let query = ast::Query {
            with: None,
            body: ast::QueryBody::Select(Box::new(select)),
            order_by: update.order_by.clone(),
            limit: update
                .limit
                .clone()
                .map(|count| ast::Limit { offset: None, count }),
            locks: Vec::new(),
            into: None,
        };
        Ok(SetupPlan {
            query: self.statement_query(&query)?,
            table: def,
            assigned,
        })
    }
}

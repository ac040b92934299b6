//! UPDATE, INSERT and DELETE of what `performance_schema` is set up with: `setup_consumers`, `setup_instruments`, `setup_actors`,
//! `setup_objects` and `threads`.
//!
//! Their rows are not stored. The statement is planned as the query of the rows that it means: of those that it changes, with the new
//! values behind their columns, or of those that it adds. What they are to be is done when they are known.

use crate::accounts::Privileges;
use crate::context::TableUse;
use crate::dictionary::{TableDef, names_equal};
use crate::error::{Result, SqlError};
use crate::information_schema::SetupTable;
use crate::mdl::Mode;
use crate::parse::ast::{self, SelectItem};
use crate::plan::{Planner, QueryPlan};
use std::sync::Arc;

/// A change of one of these tables.
pub struct SetupPlan {
    pub table: Arc<TableDef>,
    pub of: SetupTable,
    pub query: QueryPlan,
    pub change: SetupChange,
}

/// What becomes of the query's rows.
pub enum SetupChange {
    /// The row of all columns becomes one that has the values behind it in these columns.
    Update(Vec<usize>),
    /// It goes.
    Delete,
    /// The values are those of these columns of a new row.
    Insert(InsertedSetup),
}

/// The rows that INSERT adds.
pub struct InsertedSetup {
    pub columns: Vec<usize>,
    pub ignore: bool,
    /// One row of VALUES, of which nothing is said beyond that.
    pub is_single: bool,
}

/// The rows that UPDATE or DELETE is about.
struct Chosen<'a> {
    table: &'a ast::TableName,
    filter: &'a Option<ast::Expr>,
    order_by: &'a [ast::OrderItem],
    limit: &'a Option<ast::Expr>,
}

fn item(expr: ast::Expr) -> SelectItem {
    SelectItem::Expr {
        expr,
        alias: None,
        text: String::new(),
    }
}

fn column(name: &str) -> SelectItem {
    item(ast::Expr::Column(ast::ColumnName {
        schema: None,
        table: None,
        column: name.to_owned(),
    }))
}

/// Error 1054 if there is none of the name.
fn position(def: &TableDef, name: &str) -> Result<usize> {
    let at = def.columns.iter().position(|of| names_equal(&of.name, name));
    at.ok_or_else(|| SqlError::unknown_column(name, "field list"))
}

/// A value, or the column's default. Error 1235 for the default of a column of a table whose rows are always there.
fn value_of(of: SetupTable, column: usize, value: &ast::Expr) -> Result<ast::Expr> {
    match value {
        ast::Expr::Default(None) if of.takes_rows() => Ok(ast::Expr::Literal(ast::Literal::Str {
            bytes: of.default_of(column).into(),
            charset: None,
        })),
        ast::Expr::Default(_) => Err(SqlError::not_supported(
            "DEFAULT as a value of performance_schema",
        )),
        value => Ok(value.clone()),
    }
}

fn query(body: ast::QueryBody) -> ast::Query {
    ast::Query {
        with: None,
        body,
        order_by: Vec::new(),
        limit: None,
        locks: Vec::new(),
        into: None,
    }
}

impl Planner<'_> {
    /// The rows are read under the privilege to change them.
    fn use_setup(&mut self, def: &Arc<TableDef>, alias: Option<&str>, privilege: Privileges) -> Result<()> {
        self.state.require_held(privilege, &def.schema, &def.name)?;
        let used = TableUse::new(Arc::clone(def), Mode::Read, privilege);
        self.add_use(used.named(alias.unwrap_or(&def.name)))
    }

    pub(in crate::plan) fn update_setup(
        &mut self,
        update: &ast::Update,
        table: &ast::TableName,
        (def, of): (Arc<TableDef>, SetupTable),
    ) -> Result<SetupPlan> {
        self.use_setup(&def, table.alias.as_deref(), Privileges::UPDATE)?;
        let mut items: Vec<SelectItem> = def.columns.iter().map(|of| column(&of.name)).collect();
        let mut assigned = Vec::new();
        for assignment in &update.assignments {
            let at = position(&def, &assignment.column.column)?;
            assigned.push(at);
            items.push(item(value_of(of, at, &assignment.value)?));
        }
        let chosen = Chosen {
            table,
            filter: &update.filter,
            order_by: &update.order_by,
            limit: &update.limit,
        };
        Ok(SetupPlan {
            query: self.chosen(items, chosen)?,
            table: def,
            of,
            change: SetupChange::Update(assigned),
        })
    }

    pub(in crate::plan) fn delete_setup(
        &mut self,
        delete: &ast::Delete,
        table: &ast::TableName,
        (def, of): (Arc<TableDef>, SetupTable),
    ) -> Result<SetupPlan> {
        self.use_setup(&def, table.alias.as_deref(), Privileges::DELETE)?;
        let items = def.columns.iter().map(|of| column(&of.name)).collect();
        let chosen = Chosen {
            table,
            filter: &delete.filter,
            order_by: &delete.order_by,
            limit: &delete.limit,
        };
        Ok(SetupPlan {
            query: self.chosen(items, chosen)?,
            table: def,
            of,
            change: SetupChange::Delete,
        })
    }

    fn chosen(&mut self, items: Vec<SelectItem>, chosen: Chosen) -> Result<QueryPlan> {
        let select = ast::Select {
            distinct: false,
            straight_join: false,
            calc_found_rows: false,
            max_execution_time_ms: None,
            advice: None,
            items,
            from: vec![ast::TableRef::Table(chosen.table.clone())],
            filter: chosen.filter.clone(),
            group_by: Vec::new(),
            with_rollup: false,
            having: None,
            windows: Vec::new(),
        };
        let limit = chosen.limit.clone();
        let query = self.statement_query(&ast::Query {
            order_by: chosen.order_by.to_vec(),
            limit: limit.map(|count| ast::Limit { offset: None, count }),
            ..query(ast::QueryBody::Select(Box::new(select)))
        })?;
        self.lower(query)
    }

    /// INSERT and REPLACE. A row of names that are there is error 1022 in either, and whatever ON DUPLICATE KEY UPDATE says, as in MySQL.
    pub(in crate::plan) fn insert_setup(
        &mut self,
        insert: &ast::Insert,
        (def, of): (Arc<TableDef>, SetupTable),
    ) -> Result<SetupPlan> {
        self.use_setup(&def, None, Privileges::INSERT)?;
        let mut columns = Vec::with_capacity(def.columns.len());
        for name in &insert.columns {
            let at = position(&def, name)?;
            if columns.contains(&at) {
                return Err(SqlError::column_specified_twice(name));
            }
            columns.push(at);
        }
        if insert.columns.is_empty() {
            columns.extend(0..def.columns.len());
        }
        let source = match &insert.source {
            ast::InsertSource::Values(rows) => {
                let all_defaults = insert.columns.is_empty() && rows.iter().all(|row| row.is_empty());
                let rows = rows.iter().enumerate().map(|(at, row)| {
                    let defaults = vec![ast::Expr::Default(None); columns.len()];
                    let row = if all_defaults { &defaults } else { row };
                    if row.len() != columns.len() {
                        return Err(SqlError::column_count(at + 1));
                    }
                    let values = columns.iter().zip(row);
                    values
                        .map(|(column, value)| value_of(of, *column, value))
                        .collect()
                });
                &query(ast::QueryBody::Values(rows.collect::<Result<_>>()?))
            }
            ast::InsertSource::Query(query) => &**query,
        };
        let plan = self.statement_query(source)?;
        if plan.columns.len() != columns.len() {
            return Err(SqlError::column_count(1));
        }
        let is_single = matches!(&insert.source, ast::InsertSource::Values(rows) if rows.len() == 1);
        Ok(SetupPlan {
            query: self.lower(plan)?,
            table: def,
            of,
            change: SetupChange::Insert(InsertedSetup {
                columns,
                ignore: insert.ignore,
                is_single,
            }),
        })
    }
}

//! Plans CREATE TABLE … SELECT: first what columns the query gives the new table, then, once that is there, how its rows go in,
//! which is what INSERT … SELECT does.
//!
//! The two are planned apart, since the engine makes the table in between.

use super::foreign_keys::Event;
use super::insert::{InsertPlan, InsertSource, OnDuplicate};
use super::made_columns::made_columns;
use crate::context::{SessionState, TableUse};
use crate::ddl::create_filled::Unnamed;
use crate::dictionary::ColumnDef;
use crate::error::{Result, SqlError, er};
use crate::mdl::Mode;
use crate::parse::ast;
use crate::plan::statement::{Body, StatementPlan, plan_with};
use crate::types::Value;
use std::sync::Arc;

/// What the query of a new table comes to.
pub struct Selected {
    /// The columns that it gives the table.
    pub columns: Vec<ColumnDef>,
    /// The tables that it reads.
    pub uses: Vec<TableUse>,
}

/// Plans the query for the columns' sake. Errors are those of the query, and 1746 for one that locks rows to change them.
/// `table` is the new table's name.
pub fn selected(state: &SessionState, table: &str, query: &ast::Query, params: &[Value]) -> Result<Selected> {
    let mut columns = Vec::new();
    let plan = plan_with(state, params.into(), |planner, _| {
        let (source, uses) = planner.source_query(query, &mut None)?;
        columns = made_columns(state, &source.query, &uses);
        if let Some(locked) = uses.iter().find(|used| used.mode == Mode::Write) {
            return Err(SqlError::new(
                er::CANT_UPDATE_TABLE_IN_CREATE_TABLE_SELECT,
                format!(
                    "Can't update table '{}' while '{table}' is being created.",
                    locked.name()
                ),
            ));
        }
        planner.uses = uses;
        Ok(Body::Do(Vec::new()))
    })?;
    let uses = plan.uses().to_vec();
    Ok(Selected { columns, uses })
}

/// Plans how the rows of the query go into the table.
pub fn filling(
    state: &SessionState,
    create: &ast::CreateTable,
    query: &ast::Query,
    table: &Unnamed,
    params: &[Value],
) -> Result<Box<StatementPlan>> {
    plan_with(state, params.into(), |planner, _| {
        let mut target = planner.whole_target(Arc::clone(&table.def), Arc::clone(&table.table))?;
        let (source, uses) = planner.source_query(query, &mut None)?;
        let columns = table.columns_of(source.query.columns.len());
        target.refuse_generated(&columns)?;
        let on_duplicate = match create.duplicates {
            ast::Duplicates::Replace => OnDuplicate::Replace,
            ast::Duplicates::Fail | ast::Duplicates::Ignore => OnDuplicate::Fail,
        };
        let mut events = vec![Event::Insert];
        if let OnDuplicate::Replace = on_duplicate {
            events.push(Event::Delete);
        }
        target.add_hooks(&events);
        planner.add_foreign_keys(&mut target, &[Event::Insert])?;
        planner.uses.extend(uses);
        Ok(Body::Insert(Box::new(InsertPlan {
            columns,
            source: InsertSource::Query(Box::new(source)),
            on_duplicate,
            ignore: create.duplicates == ast::Duplicates::Ignore,
            auto_increment: target.def.auto_increment(),
            reads_columns: false,
            target,
        })))
    })
}

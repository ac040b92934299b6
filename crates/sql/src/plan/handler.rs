//! Plans HANDLER … READ: which index is read from where.

use super::from::FromInput;
use super::group::Finished;
use super::window::Windows;
use super::{OutputColumn, Planner};
use crate::dictionary::{IndexDef, TableDef};
use crate::error::{Result, SqlError, er};
use crate::expr::{Expr, Scope, build};
use crate::parse::ast::{self, BinaryOp, HandlerStep, SelectItem};
use std::sync::Arc;
use tidemark_engine::{IndexNo, Table};

/// HANDLER … READ.
pub struct HandlerPlan {
    /// The name that the table is open under.
    pub name: String,
    pub def: Arc<TableDef>,
    pub table: Arc<Table>,
    /// `None`: the table's own order.
    pub index: Option<IndexNo>,
    pub step: Step,
    pub filter: Option<Expr>,
    pub offset: Option<Expr>,
    /// `None`: one row.
    pub limit: Option<Expr>,
    pub output: Vec<Expr>,
    pub columns: Vec<OutputColumn>,
}

/// Where it reads.
pub enum Step {
    First,
    Next,
    Prev,
    Last,
    /// The first values of the index's key.
    Key(KeyBound, Vec<Expr>),
}

/// How keys compare with the one that is given. The last two are read backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyBound {
    Equal,
    From,
    Behind,
    UpTo,
    Before,
}

impl Planner<'_> {
    /// Error 1109 for a table that is not open, or is another by now: that closes it. 1176 and 1070 for the index, 1210 for values
    /// of its key that are not constant.
    pub(super) fn handler_read(&mut self, read: &ast::HandlerRead) -> Result<HandlerPlan> {
        let open = self.state.handlers.borrow().find(&read.name)?.clone();
        let name = ast::ObjectName {
            schema: Some(open.table.schema.clone()),
            name: open.table.name.clone(),
        };
        let now = self.state.table(&name).ok();
        if !now.is_some_and(|now| Arc::ptr_eq(&now, &open.table)) {
            let handlers = &self.state.handlers;
            handlers.borrow_mut().close(&read.name)?;
            handlers.borrow().find(&read.name)?;
        }
        let table = ast::TableRef::Table(ast::TableName {
            name,
            alias: Some(open.name.clone()),
            hints: Vec::new(),
            as_of: None,
        });
        let from = self.tables_of(&[table], None, false)?;
        let FromInput::Stored { def, table } = &from.tables[0].input else {
            return Err(SqlError::not_supported("HANDLER of a table of the server's own"));
        };
        let (def, table) = (Arc::clone(def), Arc::clone(table));
        let index = match &read.index {
            None => None,
            Some(index) => Some(def.index(index).ok_or_else(|| {
                SqlError::new(
                    er::KEY_DOES_NOT_EXIST,
                    format!("Key '{index}' doesn't exist in table '{}'", open.name),
                )
            })?),
        };
        let step = match &read.step {
            HandlerStep::First => Step::First,
            HandlerStep::Next => Step::Next,
            HandlerStep::Prev => Step::Prev,
            HandlerStep::Last => Step::Last,
            HandlerStep::Key(op, values) => self.key_step(*op, values, index, &from.scope)?,
        };
        let filter = match &read.filter {
            Some(filter) => Some(build::condition(self.condition(
                filter,
                &from.scope,
                "field list",
            )?)),
            None => None,
        };
        let (offset, limit) = self.limit_of(&read.limit)?;
        let all = [SelectItem::All];
        let items = self.items(&all, &from, (&mut Finished::default(), &mut Windows::default()))?;
        Ok(HandlerPlan {
            name: open.name,
            index: index.map(|index| index.number),
            step,
            filter,
            offset,
            limit,
            columns: self.output_columns(&items, &from, true),
            output: items.into_iter().map(|item| item.expr).collect(),
            def,
            table,
        })
    }

    fn key_step(
        &mut self,
        op: BinaryOp,
        values: &[ast::Expr],
        index: Option<&IndexDef>,
        scope: &Scope,
    ) -> Result<Step> {
        let parts = index.map_or(0, |index| index.parts.len());
        if values.len() > parts {
            return Err(SqlError::new(
                er::TOO_MANY_KEY_PARTS,
                format!("Too many key parts specified; max {parts} parts allowed"),
            ));
        }
        let wrong = || SqlError::wrong_arguments("HANDLER ... READ");
        let mut bound = Vec::with_capacity(values.len());
        for value in values {
            if matches!(value, ast::Expr::Default(_)) {
                return Err(wrong());
            }
            let value = self.condition(value, scope, "field list")?;
            if !value.is_constant() {
                return Err(wrong());
            }
            bound.push(value);
        }
        let how = match op {
            BinaryOp::Equal => KeyBound::Equal,
            BinaryOp::GreaterEqual => KeyBound::From,
            BinaryOp::Greater => KeyBound::Behind,
            BinaryOp::LessEqual => KeyBound::UpTo,
            _ => KeyBound::Before,
        };
        Ok(Step::Key(how, bound))
    }
}

//! SIGNAL, RESIGNAL and GET DIAGNOSTICS, in a body or by themselves.

use crate::ast::*;
use crate::lexer::{Op, TokenKind};
use crate::parser::Parser;
use tidemark_types::error::{Result, SqlError};

/// The items that SIGNAL can set.
const ITEMS: [(&str, SignalItem); 12] = [
    ("CLASS_ORIGIN", SignalItem::ClassOrigin),
    ("SUBCLASS_ORIGIN", SignalItem::SubclassOrigin),
    ("CONSTRAINT_CATALOG", SignalItem::ConstraintCatalog),
    ("CONSTRAINT_SCHEMA", SignalItem::ConstraintSchema),
    ("CONSTRAINT_NAME", SignalItem::ConstraintName),
    ("CATALOG_NAME", SignalItem::CatalogName),
    ("SCHEMA_NAME", SignalItem::SchemaName),
    ("TABLE_NAME", SignalItem::TableName),
    ("COLUMN_NAME", SignalItem::ColumnName),
    ("CURSOR_NAME", SignalItem::CursorName),
    ("MESSAGE_TEXT", SignalItem::MessageText),
    ("MYSQL_ERRNO", SignalItem::MysqlErrno),
];

impl Parser<'_> {
    /// Behind SIGNAL or RESIGNAL; RESIGNAL needs no condition.
    pub(crate) fn signal(&mut self, is_resignal: bool) -> Result<Box<Signal>> {
        let mut signal = Signal {
            state: None,
            items: Vec::new(),
        };
        if self.is("SQLSTATE") {
            signal.state = Some(self.sqlstate()?);
        } else if self.is_name() {
            signal.state = Some(self.state_of_condition()?);
        } else if !is_resignal {
            return self.error();
        }
        if self.accept("SET") {
            self.list(|p| p.signal_item(&mut signal.items))?;
        }
        Ok(Box::new(signal))
    }

    fn state_of_condition(&mut self) -> Result<[u8; 5]> {
        let name = self.name()?;
        let condition = self
            .program
            .as_ref()
            .and_then(|scope| scope.conditions.find(&name));
        match condition {
            Some(Condition::SqlState(state)) => Ok(*state),
            Some(_) => Err(SqlError::signal_of_number()),
            None => Err(SqlError::undefined_condition(&name)),
        }
    }

    /// `item = value`
    fn signal_item(&mut self, items: &mut Vec<(SignalItem, Expr)>) -> Result<()> {
        let Some((name, item)) = ITEMS.into_iter().find(|(name, _)| self.is(name)) else {
            return self.error();
        };
        self.advance();
        self.expect_op(Op::Eq)?;
        let value = self.plain_value()?;
        if items.iter().any(|(other, _)| *other == item) {
            return Err(SqlError::item_set_twice(name));
        }
        items.push((item, value));
        Ok(())
    }

    /// A literal, a variable of any kind, or the column of a trigger's row. Another column is an error when it is evaluated.
    fn plain_value(&mut self) -> Result<Expr> {
        match self.token().kind {
            TokenKind::At => self.variable_name().map(Expr::UserVar),
            TokenKind::AtAt => self.system_variable(),
            TokenKind::Word | TokenKind::Quoted if self.is_name() && !self.is_introducer() => {
                let mut parts = vec![self.name()?];
                while parts.len() < 3 && self.accept_op(Op::Dot) {
                    parts.push(self.any_name()?);
                }
                let column = parts.pop().unwrap_or_default();
                let table = parts.pop();
                self.resolve(ColumnName {
                    schema: parts.pop(),
                    table,
                    column,
                })
            }
            TokenKind::Word if !self.is_introducer() && !self.is_any(&["NULL", "TRUE", "FALSE"]) => {
                self.error()
            }
            TokenKind::Op(_) | TokenKind::End => self.error(),
            _ => self.simple(),
        }
    }

    /// Behind GET: `[CURRENT | STACKED] DIAGNOSTICS …`.
    pub(crate) fn get_diagnostics(&mut self) -> Result<Box<GetDiagnostics>> {
        let stacked = self.accept_any(&["CURRENT", "STACKED"]) == Some("STACKED");
        self.expect("DIAGNOSTICS")?;
        let what = match self.accept("CONDITION") {
            true => DiagnosticsItems::Condition {
                number: self.plain_value()?,
                items: self.list(Parser::condition_item)?,
            },
            false => DiagnosticsItems::Statement(self.list(Parser::statement_item)?),
        };
        Ok(Box::new(GetDiagnostics { stacked, what }))
    }

    fn statement_item(&mut self) -> Result<(Target, StatementItem)> {
        let target = self.diagnostics_target()?;
        match self.accept_any(&["NUMBER", "ROW_COUNT"]) {
            Some("NUMBER") => Ok((target, StatementItem::Number)),
            Some(_) => Ok((target, StatementItem::RowCount)),
            None => self.error(),
        }
    }

    fn condition_item(&mut self) -> Result<(Target, ConditionItem)> {
        let target = self.diagnostics_target()?;
        if self.accept("RETURNED_SQLSTATE") {
            return Ok((target, ConditionItem::ReturnedSqlstate));
        }
        let Some((_, item)) = ITEMS.into_iter().find(|(name, _)| self.is(name)) else {
            return self.error();
        };
        self.advance();
        Ok((target, ConditionItem::Signal(item)))
    }

    fn diagnostics_target(&mut self) -> Result<Target> {
        if self.token().kind != TokenKind::At && !self.is_name() {
            return self.error();
        }
        let target = self.target()?;
        self.expect_op(Op::Eq)?;
        Ok(target)
    }
}

//! INSERT, REPLACE, UPDATE, DELETE.

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError};

/// The query block of an INSERT, UPDATE or DELETE itself.
const FIRST_BLOCK: usize = 1;

impl Parser<'_> {
    pub(super) fn insert(&mut self, replace: bool) -> Result<Statement> {
        let hints = self.hints();
        self.apply_hints(hints, FIRST_BLOCK, &mut []);
        self.accept_any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY"]);
        let ignore = !replace && self.accept("IGNORE");
        self.accept("INTO");
        let table = self.object_name()?;
        if self.is("PARTITION") {
            return Err(SqlError::not_supported("PARTITION"));
        }
        let mut insert = Insert {
            replace,
            ignore,
            table,
            columns: Vec::new(),
            source: InsertSource::Values(Vec::new()),
            row_alias: None,
            on_duplicate: Vec::new(),
        };
        if self.is_op(Op::LParen) && !self.query_in_parens_follows() {
            insert.columns = self.in_parens(|p| {
                if p.is_op(Op::RParen) {
                    Ok(Vec::new())
                } else {
                    p.list(Parser::insert_column)
                }
            })?;
        }
        if self.accept("SET") {
            let assignments = self.list(Parser::assignment)?;
            let (columns, row) = assignments
                .into_iter()
                .map(|a| (a.column.column, a.value))
                .unzip();
            insert.columns = columns;
            insert.source = InsertSource::Values(vec![row]);
        } else if self.is_any(&["VALUES", "VALUE"]) && !self.is_ahead(1, "ROW") {
            self.advance();
            insert.source = InsertSource::Values(self.list(Parser::value_row)?);
        } else if self.is("VALUES") {
            self.advance();
            insert.source = InsertSource::Values(self.list(|p| {
                p.expect("ROW")?;
                p.value_row()
            })?);
        } else if self.is_any(&["SELECT", "WITH", "TABLE"]) || self.is_op(Op::LParen) {
            insert.source = InsertSource::Query(Box::new(self.source_query()?));
        } else {
            return self.error();
        }
        if self.accept("AS") {
            let alias = self.name()?;
            let columns = if self.is_op(Op::LParen) {
                self.in_parens(Parser::name_list)?
            } else {
                Vec::new()
            };
            insert.row_alias = Some((alias, columns));
        }
        if !replace && self.accept_all(&["ON", "DUPLICATE", "KEY", "UPDATE"]) {
            insert.on_duplicate = self.list(Parser::assignment)?;
        }
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// A column of the list, which may be qualified by its table.
    fn insert_column(&mut self) -> Result<String> {
        Ok(self.column_name()?.column)
    }

    fn value_row(&mut self) -> Result<Vec<Expr>> {
        self.in_parens(|p| {
            if p.is_op(Op::RParen) {
                Ok(Vec::new())
            } else {
                p.list(Parser::expr)
            }
        })
    }

    pub(super) fn assignment(&mut self) -> Result<Assignment> {
        let column = self.column_name()?;
        if !self.accept_op(Op::Eq) {
            self.expect_op(Op::Assign)?;
        }
        Ok(Assignment {
            column,
            value: self.expr()?,
        })
    }

    pub(super) fn update(&mut self, with: Option<With>) -> Result<Statement> {
        let hints = self.hints();
        self.accept("LOW_PRIORITY");
        let ignore = self.accept("IGNORE");
        let mut tables = self.list(Parser::table_ref)?;
        self.apply_hints(hints, FIRST_BLOCK, &mut tables);
        self.expect("SET")?;
        let assignments = self.list(Parser::assignment)?;
        let mut update = Update {
            with,
            ignore,
            tables,
            assignments,
            filter: None,
            order_by: Vec::new(),
            limit: None,
        };
        (update.filter, update.order_by, update.limit) = self.where_order_limit()?;
        Ok(Statement::Update(Box::new(update)))
    }

    fn where_order_limit(&mut self) -> Result<(Option<Expr>, Vec<OrderItem>, Option<Expr>)> {
        let filter = if self.accept("WHERE") {
            Some(self.expr()?)
        } else {
            None
        };
        let order = if self.accept_all(&["ORDER", "BY"]) {
            self.order_items()?
        } else {
            Vec::new()
        };
        let limit = if self.accept("LIMIT") {
            Some(self.limit_value()?)
        } else {
            None
        };
        Ok((filter, order, limit))
    }

    pub(super) fn delete(&mut self, with: Option<With>) -> Result<Statement> {
        let hints = self.hints();
        while self.accept_any(&["LOW_PRIORITY", "QUICK"]).is_some() {}
        let ignore = self.accept("IGNORE");
        let mut delete = Delete {
            with,
            ignore,
            targets: Vec::new(),
            from: Vec::new(),
            filter: None,
            order_by: Vec::new(),
            limit: None,
        };
        if !self.is("FROM") {
            // DELETE a, b FROM …
            delete.targets = self.list(Parser::delete_target)?;
            self.expect("FROM")?;
            delete.from = self.list(Parser::table_ref)?;
        } else {
            self.advance();
            if self.multi_table_delete_follows() {
                // DELETE FROM a, b USING …
                delete.targets = self.list(Parser::delete_target)?;
                self.expect("USING")?;
                delete.from = self.list(Parser::table_ref)?;
            } else {
                delete.from = vec![self.table_ref()?];
            }
        }
        self.apply_hints(hints, FIRST_BLOCK, &mut delete.from);
        (delete.filter, delete.order_by, delete.limit) = match delete.targets.is_empty() {
            true => self.where_order_limit()?,
            false if self.accept("WHERE") => (Some(self.expr()?), Vec::new(), None),
            false => (None, Vec::new(), None),
        };
        Ok(Statement::Delete(Box::new(delete)))
    }

    fn multi_table_delete_follows(&self) -> bool {
        (0..)
            .map(|i| (i, self.token_at(i)))
            .find_map(|(i, token)| match token.kind {
                TokenKind::Word if self.is_ahead(i, "USING") => Some(true),
                TokenKind::Word if self.is_ahead(i, "WHERE") => Some(false),
                TokenKind::Op(Op::LParen | Op::Semicolon) | TokenKind::End => Some(false),
                _ => None,
            })
            == Some(true)
    }

    fn delete_target(&mut self) -> Result<ObjectName> {
        let first = self.name()?;
        let mut name = ObjectName {
            schema: None,
            name: first,
        };
        if self.accept_op(Op::Dot) && !self.accept_op(Op::Star) {
            name = ObjectName {
                schema: Some(name.name),
                name: self.any_name()?,
            };
            if self.accept_op(Op::Dot) {
                self.expect_op(Op::Star)?;
            }
        }
        Ok(name)
    }
}

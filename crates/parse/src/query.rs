//! SELECT and all that surrounds it: WITH, UNION, joins, ORDER BY, LIMIT, locking clauses, INTO.

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use std::sync::Arc;
use tidemark_types::error::{Result, SqlError};

impl Parser<'_> {
    pub(super) fn query(&mut self) -> Result<Query> {
        self.query_or_source(false)
    }

    /// The query that fills a table. INTO behind its select list has no effect there, as in MySQL, and is an error elsewhere.
    pub(super) fn source_query(&mut self) -> Result<Query> {
        let mut query = self.query_or_source(true)?;
        let mut at = &mut query;
        loop {
            at.into = None;
            match &mut at.body {
                QueryBody::Query(inner) => at = inner,
                _ => return Ok(query),
            }
        }
    }

    fn query_or_source(&mut self, is_source: bool) -> Result<Query> {
        let level = self.enter()?;
        let with = if self.accept("WITH") {
            Some(self.with()?)
        } else {
            None
        };
        let out = self.query_inner(with, None, is_source)?;
        self.link()?;
        self.leave(level);
        Ok(out)
    }

    /// A query whose WITH has been read.
    pub(super) fn query_with(&mut self, with: With) -> Result<Query> {
        let level = self.enter()?;
        let out = self.query_inner(Some(with), None, false)?;
        self.link()?;
        self.leave(level);
        Ok(out)
    }

    /// What makes a query of one in parentheses that has been read: set operations, ORDER BY, LIMIT.
    pub(super) fn query_behind(&mut self, first: Query) -> Result<Query> {
        let out = self.query_inner(None, Some(QueryBody::Query(Box::new(first))), false)?;
        self.link()?;
        Ok(out)
    }

    /// Whether something stands here that [`Parser::query_behind`] reads.
    pub(super) fn query_goes_on(&self) -> bool {
        ["UNION", "EXCEPT", "INTERSECT", "ORDER", "LIMIT"]
            .iter()
            .any(|word| self.is(word))
    }

    /// `first` is the body's first operand, if it has been read.
    fn query_inner(
        &mut self,
        with: Option<With>,
        first: Option<QueryBody>,
        is_source: bool,
    ) -> Result<Query> {
        let mut early_into = None;
        let body = self.set_operations(first, &mut early_into)?;
        let mut query = Query {
            with,
            body,
            order_by: Vec::new(),
            limit: None,
            locks: Vec::new(),
            into: early_into,
        };
        if self.accept_all(&["ORDER", "BY"]) {
            query.order_by = self.order_items()?;
        }
        if self.accept("LIMIT") {
            query.limit = Some(self.limit()?);
        }
        if self.accept("PROCEDURE") {
            return Err(SqlError::not_supported("PROCEDURE ANALYSE"));
        }
        loop {
            if !is_source && self.accept("INTO") {
                query.into = Some(self.into()?);
            } else if let Some(lock) = self.lock_clause()? {
                query.locks.push(lock);
            } else {
                return Ok(query);
            }
        }
    }

    /// What stands behind WITH.
    pub(super) fn with(&mut self) -> Result<With> {
        let recursive = self.accept("RECURSIVE");
        let tables = self.list(|p| {
            let name = p.name()?;
            let columns = if p.is_op(Op::LParen) {
                p.in_parens(Parser::name_list)?
            } else {
                Vec::new()
            };
            p.expect("AS")?;
            let query = p.in_parens(Parser::query)?;
            Ok(Arc::new(CommonTable {
                recursive,
                name,
                columns,
                query,
            }))
        })?;
        Ok(With { tables })
    }

    fn set_operations(&mut self, first: Option<QueryBody>, into: &mut Option<Into>) -> Result<QueryBody> {
        let first = self.intersections(first, into)?;
        let mut rest = Vec::new();
        while let Some(word) = self.accept_any(&["UNION", "EXCEPT"]) {
            let op = if word == "UNION" {
                SetOp::Union
            } else {
                SetOp::Except
            };
            let all = self.all_or_distinct();
            let body = self.intersections(None, into)?;
            rest.push(SetOperand { op, all, body });
        }
        self.set_operation_of(first, rest)
    }

    fn intersections(&mut self, first: Option<QueryBody>, into: &mut Option<Into>) -> Result<QueryBody> {
        let level = self.enter()?;
        let first = match first {
            Some(first) => first,
            None => self.query_primary(into)?,
        };
        let mut rest = Vec::new();
        while self.accept("INTERSECT") {
            let all = self.all_or_distinct();
            let body = self.query_primary(into)?;
            let op = SetOp::Intersect;
            rest.push(SetOperand { op, all, body });
        }
        let out = self.set_operation_of(first, rest);
        self.leave(level);
        out
    }

    fn all_or_distinct(&mut self) -> bool {
        let all = self.accept("ALL");
        if !all {
            self.accept("DISTINCT");
        }
        all
    }

    fn set_operation_of(&mut self, first: QueryBody, rest: Vec<SetOperand>) -> Result<QueryBody> {
        if rest.is_empty() {
            return Ok(first);
        }
        self.link()?;
        let first = Box::new(first);
        Ok(QueryBody::SetOperation { first, rest })
    }

    fn query_primary(&mut self, into: &mut Option<Into>) -> Result<QueryBody> {
        let level = self.enter()?;
        let out = if self.is_op(Op::LParen) {
            let query = self.in_parens(Parser::query)?;
            QueryBody::Query(Box::new(query))
        } else {
            let tables_around = self.enter_select()?;
            let block = self.query_block(into)?;
            self.leave_select(tables_around);
            block
        };
        self.link()?;
        self.leave(level);
        Ok(out)
    }

    /// SELECT, VALUES or TABLE.
    fn query_block(&mut self, into: &mut Option<Into>) -> Result<QueryBody> {
        if self.accept("VALUES") {
            let rows = self.list(|p| {
                p.expect("ROW")?;
                p.in_parens(|p| p.list(Parser::expr))
            })?;
            return Ok(QueryBody::Values(rows));
        }
        if self.accept("TABLE") {
            let name = self.object_name()?;
            let table = TableRef::Table(TableName {
                name,
                alias: None,
                hints: Vec::new(),
                as_of: None,
            });
            let select = Select {
                items: vec![SelectItem::All],
                from: vec![table],
                ..Select::default()
            };
            return Ok(QueryBody::Select(Box::new(select)));
        }
        Ok(QueryBody::Select(Box::new(self.select(into)?)))
    }

    fn select(&mut self, into: &mut Option<Into>) -> Result<Select> {
        self.expect("SELECT")?;
        self.blocks += 1;
        let number = self.blocks;
        let hints = self.hints();
        let mut select = Select {
            straight_join: hints.fixed_order,
            max_execution_time_ms: hints.max_execution_time_ms,
            ..Select::default()
        };
        loop {
            match self.accept_any(&[
                "ALL",
                "DISTINCT",
                "DISTINCTROW",
                "HIGH_PRIORITY",
                "STRAIGHT_JOIN",
                "SQL_SMALL_RESULT",
                "SQL_BIG_RESULT",
                "SQL_BUFFER_RESULT",
                "SQL_NO_CACHE",
                "SQL_CACHE",
                "SQL_CALC_FOUND_ROWS",
            ]) {
                Some("DISTINCT" | "DISTINCTROW") => select.distinct = true,
                Some("STRAIGHT_JOIN") => select.straight_join = true,
                Some("SQL_CALC_FOUND_ROWS") => select.calc_found_rows = true,
                Some(_) => {}
                None => break,
            }
        }
        select.items = self.list(Parser::select_item)?;
        if self.accept("INTO") {
            *into = Some(self.into()?);
        }
        if self.accept("FROM") && !self.accept("DUAL") {
            select.from = self.list(Parser::table_ref)?;
        }
        select.advice = self.apply_hints(hints, number, &mut select.from);
        if self.accept("WHERE") {
            select.filter = Some(self.expr()?);
        }
        if self.accept_all(&["GROUP", "BY"]) {
            select.group_by = self.group_items(&mut select.with_rollup)?;
        }
        if self.accept("HAVING") {
            select.having = Some(self.expr()?);
        }
        if self.accept("WINDOW") {
            select.windows = self.named_windows()?;
        }
        Ok(select)
    }

    fn select_item(&mut self) -> Result<SelectItem> {
        if self.accept_op(Op::Star) {
            return Ok(SelectItem::All);
        }
        if let Some(name) = self.qualified_star()? {
            return Ok(SelectItem::AllOf(name));
        }
        let start = self.token().start;
        let expr = self.expr()?;
        let text = self.source_since(start);
        let alias = self.alias()?;
        Ok(SelectItem::Expr { expr, alias, text })
    }

    /// `t.*` or `s.t.*`
    fn qualified_star(&mut self) -> Result<Option<ObjectName>> {
        let dot = TokenKind::Op(Op::Dot);
        let star = TokenKind::Op(Op::Star);
        if !self.is_name() || self.token_at(1).kind != dot {
            return Ok(None);
        }
        let qualified = self.token_at(3).kind == dot && self.token_at(4).kind == star;
        if self.token_at(2).kind != star && !qualified {
            return Ok(None);
        }
        let name = if qualified {
            self.object_name()?
        } else {
            ObjectName {
                schema: None,
                name: self.name()?,
            }
        };
        self.advance();
        self.advance();
        Ok(Some(name))
    }

    pub(super) fn alias(&mut self) -> Result<Option<String>> {
        if self.accept("AS") {
            return if self.token().kind == TokenKind::Str || self.is_name() {
                self.name_or_string().map(Some)
            } else {
                self.error()
            };
        }
        if self.is_name() || self.token().kind == TokenKind::Str {
            return self.name_or_string().map(Some);
        }
        Ok(None)
    }

    pub(super) fn order_items(&mut self) -> Result<Vec<OrderItem>> {
        self.list(|p| {
            let expr = p.expr()?;
            let descending = p.accept("DESC");
            if !descending {
                p.accept("ASC");
            }
            Ok(OrderItem { expr, descending })
        })
    }

    /// What stands behind GROUP BY: `a, b [WITH ROLLUP]` or `ROLLUP (a, b)`.
    fn group_items(&mut self, rollup: &mut bool) -> Result<Vec<OrderItem>> {
        let item = |p: &mut Self| {
            let expr = p.expr()?;
            Ok(OrderItem {
                expr,
                descending: false,
            })
        };
        if self.is("ROLLUP") && self.token_at(1).kind == TokenKind::Op(Op::LParen) {
            self.advance();
            *rollup = true;
            return self.in_parens(|p| p.list(item));
        }
        let items = self.list(item)?;
        *rollup = self.accept_all(&["WITH", "ROLLUP"]);
        Ok(items)
    }

    /// What stands behind LIMIT.
    pub(super) fn limit(&mut self) -> Result<Limit> {
        let first = self.limit_value()?;
        if self.accept_op(Op::Comma) {
            return Ok(Limit {
                offset: Some(first),
                count: self.limit_value()?,
            });
        }
        let offset = if self.accept("OFFSET") {
            Some(self.limit_value()?)
        } else {
            None
        };
        Ok(Limit { offset, count: first })
    }

    /// A number, a parameter or a variable of the program around.
    pub(super) fn limit_value(&mut self) -> Result<Expr> {
        let token = self.token();
        match token.kind {
            TokenKind::Int => self.literal(token),
            TokenKind::Param => {
                self.advance();
                Ok(Expr::Param(self.next_param()))
            }
            _ => self.limit_variable(),
        }
    }

    fn into(&mut self) -> Result<Into> {
        if let Some(file) = self.file_written()? {
            return Ok(Into::File(Box::new(file)));
        }
        Ok(Into::Variables(self.list(Parser::target)?))
    }

    fn lock_clause(&mut self) -> Result<Option<LockClause>> {
        if self.accept_all(&["LOCK", "IN", "SHARE", "MODE"]) {
            return Ok(Some(LockClause {
                exclusive: false,
                of: Vec::new(),
                wait: LockWaitOption::Wait,
            }));
        }
        if !self.accept("FOR") {
            return Ok(None);
        }
        let exclusive = match self.accept_any(&["UPDATE", "SHARE"]) {
            Some(word) => word == "UPDATE",
            None => return self.error(),
        };
        let of = if self.accept("OF") {
            self.list(Parser::object_name)?
        } else {
            Vec::new()
        };
        let wait = if self.accept("NOWAIT") {
            LockWaitOption::NoWait
        } else if self.accept_all(&["SKIP", "LOCKED"]) {
            LockWaitOption::SkipLocked
        } else {
            LockWaitOption::Wait
        };
        Ok(Some(LockClause { exclusive, of, wait }))
    }
}

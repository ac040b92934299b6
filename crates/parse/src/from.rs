//! FROM: tables, joins, derived tables, index hints.

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError, er};

impl Parser<'_> {
    pub(super) fn table_ref(&mut self) -> Result<TableRef> {
        let level = self.enter()?;
        let out = self.joins();
        self.leave(level);
        out
    }

    fn joins(&mut self) -> Result<TableRef> {
        let mut left = self.table_factor()?;
        loop {
            let natural = self.accept("NATURAL");
            let kind = match self.join_kind(natural)? {
                Some(kind) => kind,
                None if natural => return self.error(),
                None => return Ok(left),
            };
            // `a JOIN b JOIN c ON … ON …`: the right side takes further joins that come before this one's ON.
            let mut right = self.table_factor()?;
            if !natural && kind != JoinKind::Straight || kind == JoinKind::Straight {
                while !self.is("ON") && !self.is("USING") && self.nested_join_follows() {
                    right = self.join_rest(right)?;
                }
            }
            let condition = if natural {
                JoinCondition::Natural
            } else {
                self.join_condition()?
            };
            if matches!(kind, JoinKind::Left | JoinKind::Right) && condition == JoinCondition::None {
                return self.error();
            }
            self.link()?;
            left = TableRef::Join(Box::new(Join {
                kind,
                left,
                right,
                condition,
            }));
        }
    }

    fn join_condition(&mut self) -> Result<JoinCondition> {
        if self.accept("ON") {
            return Ok(JoinCondition::On(self.expr()?));
        }
        if self.accept("USING") {
            return Ok(JoinCondition::Using(self.in_parens(Parser::name_list)?));
        }
        Ok(JoinCondition::None)
    }

    /// Whether the ON clauses after the joins that follow show that the next join nests to the right: there are then
    /// as many ON or USING in a row as joins before them.
    fn nested_join_follows(&self) -> bool {
        let (mut ahead, mut depth, mut joins) = (0, 0usize, 0usize);
        loop {
            let token = self.token_at(ahead);
            match token.kind {
                TokenKind::Op(Op::LParen | Op::LBrace) => depth += 1,
                TokenKind::Op(Op::RParen | Op::RBrace) if depth == 0 => return false,
                TokenKind::Op(Op::RParen | Op::RBrace) => depth -= 1,
                TokenKind::End | TokenKind::Op(Op::Semicolon) => return false,
                TokenKind::Op(Op::Comma) if depth == 0 => return false,
                TokenKind::Word if depth == 0 => {
                    if self.is_ahead(ahead, "JOIN") || self.is_ahead(ahead, "STRAIGHT_JOIN") {
                        joins += 1;
                    } else if self.is_ahead(ahead, "ON") || self.is_ahead(ahead, "USING") {
                        return self.two_conditions_follow(ahead, joins);
                    } else if ["WHERE", "GROUP", "ORDER", "LIMIT", "HAVING", "SET"]
                        .iter()
                        .any(|w| self.is_ahead(ahead, w))
                    {
                        return false;
                    }
                }
                _ => {}
            }
            ahead += 1;
        }
    }

    /// From the first ON: more conditions before the next join than that one join needs.
    fn two_conditions_follow(&self, mut ahead: usize, joins: usize) -> bool {
        let (mut depth, mut conditions) = (0usize, 0usize);
        loop {
            match self.token_at(ahead).kind {
                TokenKind::Op(Op::LParen | Op::LBrace) => depth += 1,
                TokenKind::Op(Op::RParen | Op::RBrace) if depth == 0 => break,
                TokenKind::Op(Op::RParen | Op::RBrace) => depth -= 1,
                TokenKind::End | TokenKind::Op(Op::Semicolon) => break,
                TokenKind::Word if depth == 0 => {
                    if self.is_ahead(ahead, "ON") || self.is_ahead(ahead, "USING") {
                        conditions += 1;
                    } else if ["JOIN", "STRAIGHT_JOIN", "WHERE", "GROUP", "ORDER", "LIMIT"]
                        .iter()
                        .any(|w| self.is_ahead(ahead, w))
                    {
                        break;
                    }
                }
                _ => {}
            }
            ahead += 1;
        }
        joins > 0 && conditions > joins
    }

    fn join_rest(&mut self, left: TableRef) -> Result<TableRef> {
        let Some(kind) = self.join_kind(false)? else {
            return self.error();
        };
        let right = self.table_factor()?;
        let condition = self.join_condition()?;
        self.link()?;
        Ok(TableRef::Join(Box::new(Join {
            kind,
            left,
            right,
            condition,
        })))
    }

    fn join_kind(&mut self, natural: bool) -> Result<Option<JoinKind>> {
        if !natural && self.accept("STRAIGHT_JOIN") {
            return Ok(Some(JoinKind::Straight));
        }
        let kind = match self.accept_any(&["JOIN", "INNER", "CROSS", "LEFT", "RIGHT"]) {
            Some("JOIN") => return Ok(Some(JoinKind::Inner)),
            Some("LEFT") => JoinKind::Left,
            Some("RIGHT") => JoinKind::Right,
            Some(_) => JoinKind::Inner,
            None => return Ok(None),
        };
        if kind != JoinKind::Inner {
            self.accept("OUTER");
        }
        self.expect("JOIN")?;
        Ok(Some(kind))
    }

    fn table_factor(&mut self) -> Result<TableRef> {
        if self.is("LATERAL") || self.query_in_parens_follows() && self.derived_follows() {
            let lateral = self.accept("LATERAL");
            self.count_table()?;
            let query = Box::new(self.in_parens(Parser::query)?);
            let Some(alias) = self.alias()? else {
                return Err(SqlError::new(
                    er::DERIVED_MUST_HAVE_ALIAS,
                    "Every derived table must have its own alias",
                ));
            };
            let columns = if self.is_op(Op::LParen) {
                self.in_parens(Parser::name_list)?
            } else {
                Vec::new()
            };
            return Ok(TableRef::Derived {
                query,
                alias,
                columns,
                lateral,
            });
        }
        if self.is_op(Op::LParen) {
            let mut list = self.in_parens(|p| p.list(Parser::table_ref))?;
            self.link()?;
            return Ok(if list.len() == 1 {
                list.remove(0)
            } else {
                TableRef::Nested(list)
            });
        }
        // ODBC's `{oj a LEFT OUTER JOIN b ON …}`
        if self.accept_op(Op::LBrace) {
            self.expect("OJ")?;
            let table = self.table_ref()?;
            self.expect_op(Op::RBrace)?;
            self.link()?;
            return Ok(table);
        }
        if self.is("JSON_TABLE") && self.token_at(1).kind == TokenKind::Op(Op::LParen) {
            self.count_table()?;
            return self.json_table();
        }
        self.count_table()?;
        let name = self.object_name()?;
        if self.is("PARTITION") {
            return Err(SqlError::not_supported("PARTITION"));
        }
        let as_of = self.as_of()?;
        let alias = self.alias()?;
        let mut hints = Vec::new();
        while let Some(hint) = self.index_hint()? {
            hints.push(hint);
        }
        Ok(TableRef::Table(TableName {
            name,
            alias,
            hints,
            as_of,
        }))
    }

    /// Tidemark's own: `AS OF TIMESTAMP expression`, `AS OF LSN expression`.
    fn as_of(&mut self) -> Result<Option<AsOf>> {
        if !self.is("AS") || !self.is_ahead(1, "OF") {
            return Ok(None);
        }
        self.advance();
        self.advance();
        if self.accept("LSN") {
            return Ok(Some(AsOf::Lsn(Box::new(self.expr()?))));
        }
        self.expect("TIMESTAMP")?;
        Ok(Some(AsOf::Time(Box::new(self.expr()?))))
    }

    /// A parenthesis that begins a query is a derived table unless more parentheses wrap a join.
    fn derived_follows(&self) -> bool {
        let mut ahead = 0;
        while self.token_at(ahead).kind == TokenKind::Op(Op::LParen) {
            ahead += 1;
        }
        if ahead == 1 {
            return true;
        }
        // `((SELECT …) AS a JOIN …)`: after the inner query's parenthesis comes a name.
        let mut depth = ahead;
        loop {
            match self.token_at(ahead).kind {
                TokenKind::Op(Op::LParen | Op::LBrace) => depth += 1,
                TokenKind::Op(Op::RParen) => {
                    depth -= 1;
                    if depth == 1 {
                        let next = self.token_at(ahead + 1).kind;
                        return next == TokenKind::Op(Op::RParen)
                            || ["UNION", "EXCEPT", "INTERSECT", "LIMIT", "ORDER"]
                                .iter()
                                .any(|word| self.is_ahead(ahead + 1, word));
                    }
                }
                TokenKind::End | TokenKind::Op(Op::Semicolon) => return true,
                _ => {}
            }
            ahead += 1;
        }
    }

    fn index_hint(&mut self) -> Result<Option<IndexHint>> {
        let kind = if self.is("USE") {
            IndexHintKind::Use
        } else if self.is("FORCE") {
            IndexHintKind::Force
        } else if self.is("IGNORE") {
            IndexHintKind::Ignore
        } else {
            return Ok(None);
        };
        if !self.is_ahead(1, "INDEX") && !self.is_ahead(1, "KEY") {
            return Ok(None);
        }
        self.advance();
        self.advance();
        if self.accept("FOR") && !self.accept("JOIN") {
            let _ = self.accept_all(&["ORDER", "BY"]) || self.accept_all(&["GROUP", "BY"]);
        }
        let indexes = self.in_parens(|p| {
            if p.is_op(Op::RParen) {
                Ok(Vec::new())
            } else {
                p.list(Parser::any_name)
            }
        })?;
        Ok(Some(IndexHint {
            kind,
            indexes,
            advice: None,
        }))
    }
}

//! The statements of a body: blocks, branches, loops, SET of variables, and statements of SQL between them.
//!
//! Each statement ends before its semicolon. The list that it stands in goes behind that, which is where the parser reads the tokens of
//! the next statement ([`Parser::next_in_body`]): no more of a body is kept as tokens than a statement.

use crate::ast::*;
use crate::lexer::{Op, TokenKind};
use crate::parser::Parser;
use tidemark_types::error::{Result, SqlError};

/// Values of SET that are words of the grammar.
const SET_WORDS: [&str; 5] = ["ON", "ALL", "BINARY", "ROW", "SYSTEM"];

/// Words that are names elsewhere, but no labels: statements and characteristics begin with them.
const NO_LABELS: [&str; 38] = [
    "ASCII",
    "BEGIN",
    "BYTE",
    "CACHE",
    "CHARSET",
    "CHECKSUM",
    "CLONE",
    "COMMENT",
    "COMMIT",
    "CONTAINS",
    "DEALLOCATE",
    "DO",
    "END",
    "EXECUTE",
    "FLUSH",
    "FOLLOWS",
    "HANDLER",
    "HELP",
    "IMPORT",
    "INSTALL",
    "LANGUAGE",
    "NO",
    "PRECEDES",
    "PREPARE",
    "REPAIR",
    "RESET",
    "RESTART",
    "ROLLBACK",
    "SAVEPOINT",
    "SHUTDOWN",
    "SIGNED",
    "SLAVE",
    "START",
    "STOP",
    "TRUNCATE",
    "UNICODE",
    "UNINSTALL",
    "XA",
];

impl Parser<'_> {
    /// One statement of a body. SET of several variables is several.
    pub(super) fn body_statement(&mut self) -> Result<Vec<BodyStatement>> {
        let level = self.enter()?;
        let mut out = Vec::new();
        match self.label_follows() {
            true => out.push(self.labelled()?),
            false => self.unlabelled(&mut out)?,
        }
        // A list and its statement.
        self.link()?;
        self.link()?;
        self.leave(level);
        Ok(out)
    }

    /// `statement; statement; …` up to one of the words, of which none begins a statement.
    fn statements(&mut self, ends: &[&'static str]) -> Result<Vec<BodyStatement>> {
        let mut out = Vec::new();
        loop {
            let level = self.enter()?;
            out.append(&mut self.body_statement()?);
            self.leave(level);
            self.end_of_item()?;
            if self.is_any(ends) {
                return Ok(out);
            }
        }
    }

    /// Goes behind the semicolon that ends a statement or a declaration.
    pub(super) fn end_of_item(&mut self) -> Result<()> {
        match self.is_op(Op::Semicolon) {
            true => self.next_in_body(),
            false => self.error(),
        }
    }

    /// True at a name that no statement begins with. A colon must follow.
    fn label_follows(&self) -> bool {
        let is_word = self.token().kind == TokenKind::Word;
        let is_statement = self.is_any(&NO_LABELS)
            || self.is_any(&["OPEN", "CLOSE"]) && self.token_at(1).kind != TokenKind::Op(Op::Colon);
        self.is_name() && !(is_word && is_statement)
    }

    /// `label: BEGIN | LOOP | WHILE | REPEAT … [label]`
    fn labelled(&mut self) -> Result<BodyStatement> {
        let name = self.name()?;
        self.expect_op(Op::Colon)?;
        let Some(word) = self.accept_any(&["BEGIN", "LOOP", "WHILE", "REPEAT"]) else {
            return self.error();
        };
        let label = self.scope().new_label(&name);
        let Some(label) = label else {
            return Err(SqlError::label_redefined(&name));
        };
        let statement = self.compound(word, Some(label))?;
        if self.is_name() {
            let end = self.name()?;
            if end.to_lowercase() != name.to_lowercase() {
                return Err(SqlError::end_label_mismatch(&end));
            }
        }
        Ok(statement)
    }

    /// Behind BEGIN, LOOP, WHILE or REPEAT.
    fn compound(&mut self, word: &str, label: Option<(String, Label)>) -> Result<BodyStatement> {
        let number = label.as_ref().map(|(_, number)| *number);
        let mark = self.scope().enter(label, word != "BEGIN");
        let statement = match word {
            "BEGIN" => BodyStatement::Block(Box::new(self.block(number)?)),
            "LOOP" => {
                let body = self.statements(&["END"])?;
                self.end_of("LOOP")?;
                BodyStatement::Loop { label: number, body }
            }
            "WHILE" => {
                let condition = self.expr()?;
                self.expect("DO")?;
                let body = self.statements(&["END"])?;
                self.end_of("WHILE")?;
                BodyStatement::While {
                    label: number,
                    condition,
                    body,
                }
            }
            _ => {
                let body = self.statements(&["UNTIL"])?;
                self.expect("UNTIL")?;
                let until = self.expr()?;
                self.end_of("REPEAT")?;
                BodyStatement::Repeat {
                    label: number,
                    body,
                    until,
                }
            }
        };
        self.scope().leave(&mark);
        Ok(statement)
    }

    fn end_of(&mut self, word: &str) -> Result<()> {
        self.expect("END")?;
        self.expect(word)
    }

    /// Behind BEGIN: declarations, statements, END.
    fn block(&mut self, label: Option<Label>) -> Result<Block> {
        let mut block = self.declarations()?;
        block.label = label;
        if !self.is("END") {
            block.body = self.statements(&["END"])?;
        }
        self.expect("END")?;
        Ok(block)
    }

    fn unlabelled(&mut self, out: &mut Vec<BodyStatement>) -> Result<()> {
        if let Some(word) = self.accept_any(&["BEGIN", "LOOP", "WHILE", "REPEAT"]) {
            out.push(self.compound(word, None)?);
            return Ok(());
        }
        if self.is("SET") && !self.special_set_follows() {
            return self.body_set(out);
        }
        let word = self.accept_any(&[
            "IF", "CASE", "LEAVE", "ITERATE", "RETURN", "OPEN", "FETCH", "CLOSE",
        ]);
        out.push(match word {
            Some("IF") => self.if_statement()?,
            Some("CASE") => self.case_statement()?,
            Some(word @ ("LEAVE" | "ITERATE")) => self.jump(word)?,
            Some("RETURN") => self.return_statement()?,
            Some("OPEN") => BodyStatement::Open(self.cursor_number()?),
            Some("FETCH") => self.fetch()?,
            Some(_) => BodyStatement::Close(self.cursor_number()?),
            None if self.is("HELP") => {
                self.statement()?;
                return Err(SqlError::not_in_programs("HELP"));
            }
            None => BodyStatement::Sql(Box::new(self.sql_statement(Parser::statement)?)),
        });
        Ok(())
    }

    // ---------------------------------------------------------------------------------------------- branches

    /// Behind IF.
    fn if_statement(&mut self) -> Result<BodyStatement> {
        let mut branches = Vec::new();
        loop {
            let condition = self.expr()?;
            self.expect("THEN")?;
            branches.push((condition, self.statements(&["ELSEIF", "ELSE", "END"])?));
            if !self.accept("ELSEIF") {
                break;
            }
        }
        let otherwise = match self.accept("ELSE") {
            true => self.statements(&["END"])?,
            false => Vec::new(),
        };
        self.end_of("IF")?;
        Ok(BodyStatement::If { branches, otherwise })
    }

    /// Behind CASE.
    fn case_statement(&mut self) -> Result<BodyStatement> {
        let operand = match self.is("WHEN") {
            true => None,
            false => Some(self.expr()?),
        };
        let mut branches = Vec::new();
        self.expect("WHEN")?;
        loop {
            let when = self.expr()?;
            self.expect("THEN")?;
            branches.push((when, self.statements(&["WHEN", "ELSE", "END"])?));
            if !self.accept("WHEN") {
                break;
            }
        }
        let otherwise = match self.accept("ELSE") {
            true => Some(self.statements(&["END"])?),
            false => None,
        };
        self.end_of("CASE")?;
        Ok(BodyStatement::Case {
            operand,
            branches,
            otherwise,
        })
    }

    fn jump(&mut self, word: &'static str) -> Result<BodyStatement> {
        let name = self.name()?;
        match (word, self.scope().label(&name)) {
            ("LEAVE", Some((label, _))) => Ok(BodyStatement::Leave(label)),
            ("ITERATE", Some((label, true))) => Ok(BodyStatement::Iterate(label)),
            _ => Err(SqlError::no_such_label(word, &name)),
        }
    }

    /// Behind RETURN.
    fn return_statement(&mut self) -> Result<BodyStatement> {
        let value = self.expr()?;
        let scope = self.scope();
        if scope.kind != ProgramKind::Function {
            return Err(SqlError::return_outside_function());
        }
        scope.returns = true;
        Ok(BodyStatement::Return(value))
    }

    // ----------------------------------------------------------------------------------------------- cursors

    fn cursor_number(&mut self) -> Result<usize> {
        let name = self.name()?;
        let cursor = self.scope().cursors.find(&name).copied();
        cursor.ok_or_else(|| SqlError::undefined_cursor(&name))
    }

    /// Behind FETCH: `[[NEXT] FROM] cursor INTO a, b`.
    fn fetch(&mut self) -> Result<BodyStatement> {
        if !self.accept_all(&["NEXT", "FROM"]) {
            self.accept("FROM");
        }
        let cursor = self.cursor_number()?;
        self.expect("INTO")?;
        let into = self.list(Parser::local_name)?;
        Ok(BodyStatement::Fetch { cursor, into })
    }

    // --------------------------------------------------------------------------------------------------- SET

    /// True if SET at the cursor is of something else than variables.
    fn special_set_follows(&self) -> bool {
        let assigns = matches!(self.token_at(2).kind, TokenKind::Op(Op::Eq | Op::Assign));
        let is_scope = ["GLOBAL", "SESSION", "LOCAL"]
            .iter()
            .any(|word| self.is_ahead(1, word));
        self.is_ahead(1, "PASSWORD")
            || self.is_ahead(1, "RESOURCE") && !assigns
            || self.is_ahead(1, "ROLE") && !assigns
            || self.is_ahead(1, "DEFAULT")
            || self.is_ahead(1, "TRANSACTION")
            || is_scope && self.is_ahead(2, "TRANSACTION")
    }

    fn body_set(&mut self, out: &mut Vec<BodyStatement>) -> Result<()> {
        self.expect("SET")?;
        loop {
            match self.local_assignment()? {
                Some(statement) => out.push(statement),
                None => {
                    let set = |p: &mut Self| Ok(Statement::Set(vec![p.set_item()?]));
                    out.push(BodyStatement::Sql(Box::new(self.sql_statement(set)?)));
                }
            }
            if !self.accept_op(Op::Comma) {
                return Ok(());
            }
        }
    }

    /// `variable = value` or `NEW.column = value`; `None`: what is assigned to is not of the program.
    fn local_assignment(&mut self) -> Result<Option<BodyStatement>> {
        if !self.is_name() {
            return Ok(None);
        }
        if self.is_any(&["GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"]) {
            let name = self.word_text(self.token_at(1));
            if self.local(&name).is_some() {
                self.advance();
                return self.error();
            }
            return Ok(None);
        }
        if self.token_at(1).kind == TokenKind::Op(Op::Dot) {
            return self.assignment_to_row();
        }
        if !matches!(self.token_at(1).kind, TokenKind::Op(Op::Eq | Op::Assign)) {
            return Ok(None);
        }
        let word_of_set = self.is_any(&["NAMES"]);
        let start = self.cursor();
        let name = self.name()?;
        let Some(slot) = self.local(&name) else {
            self.go_back(start);
            return Ok(None);
        };
        if word_of_set {
            return Err(SqlError::shadowing_variable(&name));
        }
        self.assign_sign()?;
        let value = match self.value_word() {
            Some(word) => Expr::str(word),
            None => self.set_expr()?,
        };
        Ok(Some(BodyStatement::Set { slot, value }))
    }

    /// `NEW.column = value` in a trigger.
    fn assignment_to_row(&mut self) -> Result<Option<BodyStatement>> {
        let Some((timing, event)) = self.scope().fires else {
            return Ok(None);
        };
        if !self.is_any(&["NEW", "OLD"]) {
            return Ok(None);
        }
        let is_new = self.is("NEW");
        self.advance();
        self.expect_op(Op::Dot)?;
        let column = self.any_name()?;
        if !is_new {
            return Err(SqlError::trigger_row_fixed("OLD", ""));
        }
        if event == TriggerEvent::Delete {
            return Err(SqlError::no_such_trigger_row("NEW", "DELETE"));
        }
        if timing == TriggerTiming::After {
            return Err(SqlError::trigger_row_fixed("NEW", "after "));
        }
        self.assign_sign()?;
        let value = match self.value_word() {
            Some(word) => Expr::str(word),
            None => self.set_expr()?,
        };
        Ok(Some(BodyStatement::SetNew { column, value }))
    }

    /// A value, which is not DEFAULT.
    fn set_expr(&mut self) -> Result<Expr> {
        match self.is("DEFAULT") {
            true => self.error(),
            false => self.expr(),
        }
    }

    /// A value that is a word of the grammar.
    fn value_word(&mut self) -> Option<&'static str> {
        let ends = matches!(
            self.token_at(1).kind,
            TokenKind::End | TokenKind::Op(Op::Comma | Op::Semicolon)
        );
        if !ends {
            return None;
        }
        self.accept_any(&SET_WORDS)
    }

    // --------------------------------------------------------------------------------------------------- SQL

    /// A statement of SQL, which ends before a semicolon, or what of SET is like one.
    fn sql_statement(&mut self, rule: impl FnOnce(&mut Self) -> Result<Statement>) -> Result<SqlStatement> {
        if self.at_end() {
            return self.error();
        }
        let start = self.token().start as usize;
        self.begin_statement();
        let statement = rule(self)?;
        let another_follows = matches!(statement, Statement::Set(_)) && self.is_op(Op::Comma);
        if !self.at_end() && !another_follows {
            return self.error();
        }
        let hints = self.take_statement_hints(&statement);
        let text = self.range_in_body(start);
        self.admit(&statement)?;
        Ok(SqlStatement {
            statement,
            hints,
            text,
        })
    }
}

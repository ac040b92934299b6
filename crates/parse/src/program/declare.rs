//! What a block begins with: DECLARE of variables and conditions, then of cursors, then of handlers.

use crate::ast::*;
use crate::lexer::{Op, TokenKind};
use crate::parser::Parser;
use tidemark_types::error::programs::Declared;
use tidemark_types::error::{Result, SqlError, er};

impl Parser<'_> {
    /// Reads the declarations at a block's begin. Errors 1337 and 1338: they are not in order.
    pub(super) fn declarations(&mut self) -> Result<Block> {
        let program = &self.scope().program;
        let (locals, cursors) = (program.locals.len(), program.cursors.len());
        let mut block = Block {
            locals: locals..locals,
            cursors: cursors..cursors,
            ..Block::default()
        };
        while self.accept("DECLARE") {
            if self.is_any(&["CONTINUE", "EXIT"]) {
                let handler = self.handler_declaration(&block.handlers)?;
                block.handlers.push(handler);
            } else if self.is_ahead(1, "CURSOR") {
                self.cursor_declaration()?;
                block.cursors.end = self.scope().program.cursors.len();
                if !block.handlers.is_empty() {
                    return Err(SqlError::cursor_after_handler());
                }
            } else {
                match self.is_ahead(1, "CONDITION") {
                    true => self.condition_declaration()?,
                    false => self.variable_declaration()?,
                }
                block.locals.end = self.scope().program.locals.len();
                if !block.cursors.is_empty() || !block.handlers.is_empty() {
                    return Err(SqlError::variable_after_cursor());
                }
            }
            self.end_of_item()?;
        }
        Ok(block)
    }

    /// `a, b type [DEFAULT value]`, behind DECLARE. The names are in sight behind the declaration.
    fn variable_declaration(&mut self) -> Result<()> {
        let names = self.list(Parser::name)?;
        let ty = self.program_type()?;
        let default = match self.accept("DEFAULT") {
            true => Some(self.expr()?),
            false => None,
        };
        for name in names {
            let local = Local {
                name: name.clone(),
                ty: ty.clone(),
                default: default.clone(),
            };
            if !self.scope().declare_variable(local) {
                return Err(SqlError::declared_twice(Declared::Variable, &name));
            }
        }
        Ok(())
    }

    /// `name CONDITION FOR SQLSTATE '…' | number`, behind DECLARE.
    fn condition_declaration(&mut self) -> Result<()> {
        let name = self.name()?;
        self.expect("CONDITION")?;
        self.expect("FOR")?;
        let condition = self.condition_value()?;
        match self.scope().declare_condition(&name, condition) {
            true => Ok(()),
            false => Err(SqlError::declared_twice(Declared::Condition, &name)),
        }
    }

    /// `name CURSOR FOR query`, behind DECLARE.
    fn cursor_declaration(&mut self) -> Result<()> {
        let name = self.name()?;
        self.expect("CURSOR")?;
        self.expect("FOR")?;
        let start = self.token().start as usize;
        self.begin_statement();
        let query = self.query()?;
        if query.into.is_some() {
            return Err(SqlError::cursor_into());
        }
        let cursor = Cursor {
            name: name.clone(),
            query,
            text: self.range_in_body(start),
        };
        match self.scope().declare_cursor(cursor) {
            true => Ok(()),
            false => Err(SqlError::declared_twice(Declared::Cursor, &name)),
        }
    }

    /// `CONTINUE | EXIT HANDLER FOR condition, … statement`, behind DECLARE.
    fn handler_declaration(&mut self, others: &[Handler]) -> Result<Handler> {
        let exits = self.accept_any(&["CONTINUE", "EXIT"]) == Some("EXIT");
        self.expect("HANDLER")?;
        self.expect("FOR")?;
        let mut conditions: Vec<Condition> = Vec::new();
        loop {
            let condition = self.handled_condition()?;
            let mut known = others
                .iter()
                .flat_map(|handler| &handler.conditions)
                .chain(&conditions);
            if known.any(|other| *other == condition) {
                return Err(SqlError::handler_twice());
            }
            conditions.push(condition);
            if !self.accept_op(Op::Comma) {
                break;
            }
        }
        let mark = self.scope().enter_handler();
        let body = self.body_statement()?;
        self.scope().leave(&mark);
        Ok(Handler {
            exits,
            conditions,
            body,
        })
    }

    fn handled_condition(&mut self) -> Result<Condition> {
        if self.accept_all(&["NOT", "FOUND"]) {
            return Ok(Condition::NotFound);
        }
        match self.accept_any(&["SQLWARNING", "SQLEXCEPTION"]) {
            Some("SQLWARNING") => return Ok(Condition::Warning),
            Some(_) => return Ok(Condition::Exception),
            None => {}
        }
        if !self.is_name() {
            return self.condition_value();
        }
        let name = self.name()?;
        let condition = self.scope().conditions.find(&name).cloned();
        condition.ok_or_else(|| SqlError::undefined_condition(&name))
    }

    /// `SQLSTATE [VALUE] '…'` or an error number.
    fn condition_value(&mut self) -> Result<Condition> {
        if self.is("SQLSTATE") {
            return self.sqlstate().map(Condition::SqlState);
        }
        if self.token().kind != TokenKind::Int {
            return self.error();
        }
        let written = self.word_text(self.token());
        match self.number()? {
            0 => Err(SqlError::new(
                er::TRUNCATED_WRONG_VALUE_IN_FUNCTION,
                format!("Incorrect CONDITION value: '{written}'"),
            )),
            // No error has a higher number.
            number => Ok(Condition::Error(u16::try_from(number).unwrap_or(u16::MAX))),
        }
    }

    /// `SQLSTATE [VALUE] '…'`. Error 1407: it is none, or that of success.
    pub(crate) fn sqlstate(&mut self) -> Result<[u8; 5]> {
        self.expect("SQLSTATE")?;
        self.accept("VALUE");
        let text = self.string()?;
        let is_state = |state: &[u8; 5]| {
            let letters = state.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
            letters && !state.starts_with(b"00")
        };
        match <[u8; 5]>::try_from(&text[..]).ok().filter(is_state) {
            Some(state) => Ok(state),
            None => Err(SqlError::bad_sqlstate(&String::from_utf8_lossy(&text))),
        }
    }
}

//! INTO OUTFILE and INTO DUMPFILE, LOAD DATA, and the clauses FIELDS and LINES.

use super::ast::*;
use super::expr::number_literal;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError, er};

impl FileFormat {
    /// Error 1083: what encloses fields, and what escapes, is one byte or nothing.
    pub fn check_marks(&self) -> Result<()> {
        match self.escaped.len() > 1 || self.enclosed.len() > 1 {
            true => Err(SqlError::new(
                er::WRONG_FIELD_TERMINATORS,
                "Field separator argument is not what is expected; check the manual",
            )),
            false => Ok(()),
        }
    }
}

impl Parser<'_> {
    /// Behind INTO, if it is a file.
    pub(super) fn file_written(&mut self) -> Result<Option<IntoFile>> {
        let Some(kind) = self.accept_any(&["OUTFILE", "DUMPFILE"]) else {
            return Ok(None);
        };
        let mut into = IntoFile {
            path: String::from_utf8_lossy(&self.string()?).into_owned(),
            dump: kind == "DUMPFILE",
            charset: None,
            format: FileFormat::default(),
        };
        if !into.dump {
            into.charset = self.file_charset()?;
            into.format = self.file_format()?;
        }
        Ok(Some(into))
    }

    /// Behind LOAD.
    pub(super) fn load(&mut self) -> Result<Statement> {
        if self.accept("XML") {
            return Err(SqlError::not_supported("LOAD XML"));
        }
        self.expect("DATA")?;
        self.accept_any(&["LOW_PRIORITY", "CONCURRENT"]);
        let local = self.accept("LOCAL");
        self.expect("INFILE")?;
        let path = String::from_utf8_lossy(&self.string()?).into_owned();
        let duplicates = self.duplicates();
        self.expect("INTO")?;
        self.expect("TABLE")?;
        let table = self.object_name()?;
        if self.is("PARTITION") {
            return Err(SqlError::not_supported("PARTITION"));
        }
        let mut load = LoadData {
            local,
            path,
            duplicates,
            table,
            charset: self.file_charset()?,
            format: self.file_format()?,
            skip: 0,
            fields: Vec::new(),
            set: Vec::new(),
        };
        if self.accept("IGNORE") {
            load.skip = self.number()?;
            if self.accept_any(&["LINES", "ROWS"]).is_none() {
                return self.error();
            }
        }
        if self.is_op(Op::LParen) {
            load.fields = self.in_parens(|p| match p.is_op(Op::RParen) {
                true => Ok(Vec::new()),
                false => p.list(Parser::load_field),
            })?;
        }
        if self.accept("SET") {
            load.set = self.list(Parser::assignment)?;
        }
        Ok(Statement::LoadData(Box::new(load)))
    }

    fn load_field(&mut self) -> Result<LoadField> {
        if self.token().kind == TokenKind::At {
            return self.variable_name().map(LoadField::Variable);
        }
        Ok(LoadField::Column(self.column_name()?.column))
    }

    fn file_charset(&mut self) -> Result<Option<String>> {
        if self.accept_all(&["CHARACTER", "SET"]) || self.accept("CHARSET") {
            return self.any_name().map(Some);
        }
        Ok(None)
    }

    /// `[FIELDS | COLUMNS …] [LINES …]`
    fn file_format(&mut self) -> Result<FileFormat> {
        let mut format = FileFormat::default();
        if self.accept_any(&["FIELDS", "COLUMNS"]).is_some() {
            let mut clauses = 0;
            while self.field_clause(&mut format)? {
                clauses += 1;
            }
            if clauses == 0 {
                return self.error();
            }
        }
        if self.accept("LINES") {
            let mut clauses = 0;
            while let Some(which) = self.accept_any(&["STARTING", "TERMINATED"]) {
                self.expect("BY")?;
                let text = self.mark()?;
                match which {
                    "STARTING" => format.line_start = text,
                    _ => format.line_end = text,
                }
                clauses += 1;
            }
            if clauses == 0 {
                return self.error();
            }
        }
        Ok(format)
    }

    /// What divides, encloses or escapes: a string, or the bytes of a hexadecimal or bit literal.
    fn mark(&mut self) -> Result<Vec<u8>> {
        if !matches!(self.token().kind, TokenKind::Hex | TokenKind::Bit) {
            return self.string();
        }
        let token = self.literal_token();
        match number_literal(token.kind, self.text(token))? {
            Literal::Hex(bytes) | Literal::Bit(bytes) => Ok(bytes),
            _ => self.error(),
        }
    }

    fn field_clause(&mut self, format: &mut FileFormat) -> Result<bool> {
        if self.accept("TERMINATED") {
            self.expect("BY")?;
            format.field_end = self.mark()?;
        } else if self.accept("OPTIONALLY") {
            self.expect("ENCLOSED")?;
            self.expect("BY")?;
            format.optionally = true;
            format.enclosed = self.mark()?;
        } else if self.accept("ENCLOSED") {
            self.expect("BY")?;
            format.enclosed = self.mark()?;
        } else if self.accept("ESCAPED") {
            self.expect("BY")?;
            format.escaped = self.mark()?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

//! INTO OUTFILE and INTO DUMPFILE, LOAD DATA, and the clauses FIELDS and LINES.

use super::ast::*;
use super::expr::number_literal;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::SqlMode;
use tidemark_types::error::{Result, SqlError, er};

impl FileFormat {
    /// Error 1083: what encloses fields, and what escapes, is nothing or one, as they are counted: in bytes, or in characters.
    pub fn check_marks(&self, count: impl Fn(&[u8]) -> usize) -> Result<()> {
        match count(&self.escaped) > 1 || count(&self.enclosed) > 1 {
            true => Err(SqlError::new(
                er::WRONG_FIELD_TERMINATORS,
                "Field separator argument is not what is expected; check the manual",
            )),
            false => Ok(()),
        }
    }

    /// Returns warning 1638 if something that divides, encloses or escapes is not ASCII: MySQL looks for its bytes alone.
    pub fn not_ascii(&self) -> Option<SqlError> {
        let marks = [
            &self.field_end,
            &self.enclosed,
            &self.escaped,
            &self.line_start,
            &self.line_end,
        ];
        (!marks.iter().all(|mark| mark.is_ascii())).then(|| {
            SqlError::new(
                er::WARN_NON_ASCII_SEPARATOR,
                "Non-ASCII separator arguments are not fully supported",
            )
        })
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
        self.accept("FROM");
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
        let given = self.accept_all(&["CHARACTER", "SET"])
            || self.accept_all(&["CHAR", "SET"])
            || self.accept("CHARSET");
        match given {
            true if self.is("DEFAULT") => self.error(),
            true => self.name_or_string().map(Some),
            false => Ok(None),
        }
    }

    /// `[FIELDS | COLUMNS …] [LINES …]`
    fn file_format(&mut self) -> Result<FileFormat> {
        let mut format = FileFormat::default();
        if self.mode.has(SqlMode::NO_BACKSLASH_ESCAPES) {
            format.escaped.clear();
        }
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

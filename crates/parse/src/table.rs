//! CREATE TABLE, and what a table is made of: columns, keys, constraints, options.

use super::TokenKind;
use super::ast::*;
use super::lexer::{Op, syntax_error};
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError, er};

impl Parser<'_> {
    // ----------------------------------------------------------------------------------------------- tables

    pub(super) fn create_table(&mut self, temporary: bool) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.object_name()?;
        let mut table = CreateTable {
            name,
            temporary,
            if_not_exists,
            columns: Vec::new(),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            checks: Vec::new(),
            options: TableOptions::default(),
            like: None,
            query: None,
            duplicates: Duplicates::Fail,
            partitioned: false,
        };
        if self.accept("LIKE") {
            table.like = Some(self.object_name()?);
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        if self.is_op(Op::LParen) && self.is_ahead(1, "LIKE") {
            table.like = Some(self.in_parens(|p| {
                p.advance();
                p.object_name()
            })?);
            return Ok(Statement::CreateTable(Box::new(table)));
        }
        if self.is_op(Op::LParen) && !self.query_in_parens_follows() {
            self.in_parens(|p| p.list(|p| p.table_element(&mut table)))?;
        }
        self.table_options(&mut table.options, true)?;
        if self.accept_all(&["PARTITION", "BY"]) {
            table.partitioned = true;
            while !self.at_end() {
                self.advance();
            }
        }
        table.duplicates = self.duplicates();
        let announced = table.duplicates != Duplicates::Fail;
        let announced = self.accept("AS") || announced;
        if self.is_any(&["SELECT", "WITH", "TABLE", "VALUES"]) || self.is_op(Op::LParen) {
            table.query = Some(Box::new(self.source_query()?));
        } else if announced {
            return self.error();
        }
        if table.columns.is_empty() && table.query.is_none() {
            return if self.at_end() {
                Err(SqlError::new(
                    er::TABLE_MUST_HAVE_COLUMNS,
                    "A table must have at least 1 column",
                ))
            } else {
                self.error()
            };
        }
        Ok(Statement::CreateTable(Box::new(table)))
    }

    /// IGNORE or REPLACE in front of rows.
    pub(super) fn duplicates(&mut self) -> Duplicates {
        match self.accept_any(&["IGNORE", "REPLACE"]) {
            Some("IGNORE") => Duplicates::Ignore,
            Some(_) => Duplicates::Replace,
            None => Duplicates::Fail,
        }
    }

    fn table_element(&mut self, table: &mut CreateTable) -> Result<()> {
        if let Some(index) = self.index_element()? {
            table.indexes.push(index);
            return Ok(());
        }
        if self.is_any(&["CONSTRAINT", "FOREIGN", "CHECK"]) {
            match self.constraint()? {
                AlterAction::AddIndex(index) => table.indexes.push(index),
                AlterAction::AddForeignKey(mut key) => {
                    key.indexes_before = table.indexes.len();
                    table.foreign_keys.push(key);
                }
                AlterAction::AddCheck(check) => table.checks.push(check),
                _ => return self.error(),
            }
            return Ok(());
        }
        let column = self.new_column_def()?;
        table.columns.push(column);
        Ok(())
    }

    /// PRIMARY KEY, UNIQUE, INDEX, KEY, FULLTEXT, SPATIAL as an element of a table.
    pub(super) fn index_element(&mut self) -> Result<Option<IndexDef>> {
        let kind = if self.accept_all(&["PRIMARY", "KEY"]) {
            IndexKind::Primary
        } else if self.accept("UNIQUE") {
            let _ = self.accept("INDEX") || self.accept("KEY");
            IndexKind::Unique
        } else if self.accept("FULLTEXT") {
            let _ = self.accept("INDEX") || self.accept("KEY");
            IndexKind::FullText
        } else if self.accept("SPATIAL") {
            let _ = self.accept("INDEX") || self.accept("KEY");
            IndexKind::Spatial
        } else if self.accept("INDEX") || self.accept("KEY") {
            IndexKind::Plain
        } else {
            return Ok(None);
        };
        self.index_rest(kind, None).map(Some)
    }

    fn index_rest(&mut self, kind: IndexKind, name: Option<String>) -> Result<IndexDef> {
        let mut index = IndexDef {
            kind,
            name,
            parts: Vec::new(),
            comment: None,
            invisible: false,
            method: None,
        };
        // `type` is a name here; the kind of the index may follow it as TYPE.
        if self.is_name() && !self.is("USING") {
            index.name = Some(self.name()?);
        }
        self.index_type(&mut index.method)?;
        index.parts = self.index_parts()?;
        self.index_options(&mut index)?;
        Ok(index)
    }

    pub(super) fn index_type(&mut self, method: &mut Option<IndexMethod>) -> Result<()> {
        if self.accept("USING") || self.accept("TYPE") {
            *method = Some(match self.any_name()?.eq_ignore_ascii_case("BTREE") {
                true => IndexMethod::BTree,
                false => IndexMethod::Other,
            });
        }
        Ok(())
    }

    pub(super) fn index_parts(&mut self) -> Result<Vec<IndexPart>> {
        self.in_parens(|p| p.list(Parser::index_part))
    }

    fn index_part(&mut self) -> Result<IndexPart> {
        let mut part = IndexPart {
            column: String::new(),
            length: None,
            descending: false,
            ordered: false,
            expression: None,
        };
        if self.is_op(Op::LParen) {
            part.expression = Some(self.in_parens(Parser::expr)?);
        } else {
            part.column = self.name()?;
            if self.is_op(Op::LParen) {
                part.length = Some(self.in_parens(Parser::number)?);
            }
        }
        part.descending = self.accept("DESC");
        part.ordered = part.descending | self.accept("ASC");
        Ok(part)
    }

    pub(super) fn index_options(&mut self, index: &mut IndexDef) -> Result<()> {
        loop {
            if self.accept("COMMENT") {
                index.comment = Some(self.string_text()?);
            } else if self.is("USING") || self.is("TYPE") {
                self.index_type(&mut index.method)?;
            } else if self.accept("KEY_BLOCK_SIZE") {
                self.accept_op(Op::Eq);
                self.number()?;
            } else if self.accept("INVISIBLE") {
                index.invisible = true;
            } else if self.accept("VISIBLE") {
            } else if self.accept_all(&["WITH", "PARSER"]) {
                self.name()?;
            } else {
                return Ok(());
            }
        }
    }

    /// `[CONSTRAINT [name]] PRIMARY KEY | UNIQUE | FOREIGN KEY | CHECK …`
    pub(super) fn constraint(&mut self) -> Result<AlterAction> {
        let mut name = None;
        if self.accept("CONSTRAINT") && self.is_name() {
            name = Some(self.name()?);
        }
        if self.accept_all(&["PRIMARY", "KEY"]) {
            return Ok(AlterAction::AddIndex(self.index_rest(IndexKind::Primary, name)?));
        }
        if self.accept("UNIQUE") {
            let _ = self.accept("INDEX") || self.accept("KEY");
            return Ok(AlterAction::AddIndex(self.index_rest(IndexKind::Unique, name)?));
        }
        if self.accept_all(&["FOREIGN", "KEY"]) {
            let own = if self.is_name() { Some(self.name()?) } else { None };
            let columns = self.in_parens(Parser::name_list)?;
            return Ok(AlterAction::AddForeignKey(self.references(name, own, columns)?));
        }
        if self.accept("CHECK") {
            return Ok(AlterAction::AddCheck(self.check(name)?));
        }
        self.error()
    }

    fn check(&mut self, name: Option<String>) -> Result<CheckDef> {
        self.expect_op(Op::LParen)?;
        let start = self.token().start;
        let expr = self.expr()?;
        let text = self.source_since(start);
        self.expect_op(Op::RParen)?;
        let enforced = !self.accept_all(&["NOT", "ENFORCED"]);
        self.accept("ENFORCED");
        Ok(CheckDef {
            name,
            expr,
            text,
            enforced,
        })
    }

    /// `REFERENCES table [(columns)] [MATCH how] [ON DELETE action] [ON UPDATE action]`, the last two in any order.
    fn references(
        &mut self,
        name: Option<String>,
        index: Option<String>,
        columns: Vec<String>,
    ) -> Result<ForeignKey> {
        self.expect("REFERENCES")?;
        let table = self.object_name()?;
        let referenced = if self.is_op(Op::LParen) {
            self.in_parens(Parser::name_list)?
        } else {
            Vec::new()
        };
        if self.accept("MATCH") && self.accept_any(&["FULL", "PARTIAL", "SIMPLE"]).is_none() {
            return self.error();
        }
        let (mut on_delete, mut on_update) = (None, None);
        while self.accept("ON") {
            let action = match (self.is("DELETE"), self.is("UPDATE")) {
                (true, _) => &mut on_delete,
                (_, true) => &mut on_update,
                _ => return self.error(),
            };
            if action.is_some() {
                return self.error();
            }
            self.advance();
            *action = Some(self.referential_action()?);
        }
        Ok(ForeignKey {
            name,
            index,
            columns,
            table,
            referenced,
            on_delete,
            on_update,
            indexes_before: 0,
        })
    }

    fn referential_action(&mut self) -> Result<String> {
        let (first, seconds): (&str, &[&str]) = match self.accept_any(&["RESTRICT", "CASCADE", "SET", "NO"]) {
            Some("SET") => ("SET", &["NULL", "DEFAULT"]),
            Some("NO") => ("NO", &["ACTION"]),
            Some(alone) => return Ok(alone.to_owned()),
            None => return self.error(),
        };
        match self.accept_any(seconds) {
            Some(second) => Ok(format!("{first} {second}")),
            None => self.error(),
        }
    }

    pub(super) fn column_def(&mut self) -> Result<ColumnDef> {
        let name = self.name()?;
        let serial = self.is("SERIAL");
        let ty = self.data_type()?;
        let mut column = ColumnDef {
            name,
            ty,
            nullable: serial.then_some(false),
            default: None,
            on_update: None,
            auto_increment: serial,
            primary: false,
            unique: serial,
            comment: None,
            invisible: false,
            generated: None,
            checks: Vec::new(),
            srid: false,
            engine_attribute: false,
            without_effect: Vec::new(),
            references: None,
        };
        self.collation_of_column(&mut column)?;
        if self.is("GENERATED") || self.is("AS") {
            if self.accept("GENERATED") {
                self.expect("ALWAYS")?;
            }
            self.expect("AS")?;
            let expr = self.in_parens(Parser::expr)?;
            let stored = self.accept_any(&["STORED", "VIRTUAL"]) == Some("STORED");
            column.generated = Some((expr, stored));
            if serial {
                return Err(SqlError::wrong_usage("SERIAL", "generated column"));
            }
        }
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    /// A column of CREATE TABLE or ADD COLUMN, which may refer to another table in the end.
    pub(super) fn new_column_def(&mut self) -> Result<ColumnDef> {
        let mut column = self.column_def()?;
        if self.is("REFERENCES") {
            column.references = Some(self.references(None, None, vec![column.name.clone()])?);
        }
        Ok(column)
    }

    fn collation_of_column(&mut self, column: &mut ColumnDef) -> Result<bool> {
        let found = self.accept("COLLATE");
        if found {
            column.ty.collation = Some(self.name_or_string()?.to_ascii_lowercase());
        }
        Ok(found)
    }

    fn column_attribute(&mut self, column: &mut ColumnDef) -> Result<bool> {
        if self.accept_all(&["NOT", "SECONDARY"]) {
            column.without_effect.push("NOT SECONDARY");
        } else if self.accept_all(&["NOT", "NULL"]) {
            column.nullable = Some(false);
        } else if self.accept("NULL") {
            column.nullable = Some(true);
        } else if self.accept("DEFAULT") {
            let is_clock = |e: &Expr| matches!(e, Expr::Function(call) if call.is_current_timestamp());
            column.default = Some(self.default_value(is_clock)?);
        } else if self.accept_all(&["ON", "UPDATE"]) {
            column.on_update = Some(self.simple()?);
        } else if self.accept("AUTO_INCREMENT") {
            column.auto_increment = true;
        } else if self.accept_all(&["PRIMARY", "KEY"]) || self.is("KEY") && self.accept("KEY") {
            column.primary = true;
        } else if self.accept("UNIQUE") {
            self.accept("KEY");
            column.unique = true;
        } else if self.accept_all(&["SERIAL", "DEFAULT", "VALUE"]) {
            (column.auto_increment, column.unique) = (true, true);
            column.nullable = Some(false);
        } else if self.accept("COMMENT") {
            column.comment = Some(self.string_text()?);
        } else if self.collation_of_column(column)? {
        } else if self.accept("INVISIBLE") {
            column.invisible = true;
        } else if self.accept("VISIBLE") {
            column.invisible = false;
        } else if self.column_clause_of_other_engines(column)? {
        } else if self.is("CONSTRAINT") || self.is("CHECK") {
            let mut name = None;
            if self.accept("CONSTRAINT") && self.is_name() {
                name = Some(self.name()?);
            }
            self.expect("CHECK")?;
            let check = self.check(name)?;
            column.checks.push(check);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn column_clause_of_other_engines(&mut self, column: &mut ColumnDef) -> Result<bool> {
        let (what, choices): (_, &[&str]) = if self.accept("COLUMN_FORMAT") {
            ("COLUMN_FORMAT", &["FIXED", "DYNAMIC", "DEFAULT"])
        } else if self.accept("STORAGE") {
            ("STORAGE", &["DISK", "MEMORY", "DEFAULT"])
        } else if self.accept("SRID") {
            self.number()?;
            column.srid = true;
            return Ok(true);
        } else if let Some(word) = self.accept_any(&["ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"]) {
            self.accept_op(Op::Eq);
            self.string_text()?;
            match word {
                "ENGINE_ATTRIBUTE" => column.engine_attribute = true,
                _ => column.without_effect.push("SECONDARY_ENGINE_ATTRIBUTE"),
            }
            return Ok(true);
        } else {
            return Ok(false);
        };
        match self.accept_any(choices) {
            Some("DEFAULT") => column.without_effect.retain(|clause| *clause != what),
            Some(_) => column.without_effect.push(what),
            None => return self.error(),
        }
        Ok(true)
    }

    /// A literal, which may have a sign; an expression in parentheses; or a call that `allows` takes.
    pub(super) fn default_value(&mut self, allows: fn(&Expr) -> bool) -> Result<DefaultValue> {
        let computed = self.is_op(Op::LParen);
        let signed = self.is_op(Op::Minus) || self.is_op(Op::Plus);
        let value_at = self.token_at(usize::from(signed)).start as usize;
        let expr = self.uncollated()?;
        let is_value = match &expr {
            Expr::Literal(_) => true,
            Expr::Unary {
                op: UnaryOp::Minus | UnaryOp::Plus,
                expr,
            } => matches!(
                **expr,
                Expr::Literal(Literal::Int(_) | Literal::Decimal(_) | Literal::Double(_))
            ),
            expr => allows(expr),
        };
        match computed || is_value {
            true => Ok(DefaultValue { expr, computed }),
            false => Err(syntax_error(self.sql, value_at)),
        }
    }

    pub(super) fn table_options(&mut self, options: &mut TableOptions, commas: bool) -> Result<()> {
        loop {
            if commas {
                self.accept_op(Op::Comma);
            }
            let default = self.accept("DEFAULT");
            if self.charset_words() {
                self.accept_op(Op::Eq);
                options.charset = Some(self.name_or_string()?.to_ascii_lowercase());
                continue;
            }
            if self.accept("COLLATE") {
                self.accept_op(Op::Eq);
                options.collation = Some(self.name_or_string()?.to_ascii_lowercase());
                continue;
            }
            if default {
                return self.error();
            }
            if !self.table_option(options)? {
                return Ok(());
            }
        }
    }

    /// `[=] {0 | 1 | DEFAULT}`
    fn on_off_or_default(&mut self) -> Result<Option<bool>> {
        self.accept_op(Op::Eq);
        if self.accept("DEFAULT") {
            return Ok(None);
        }
        let text = self.text(self.token());
        match self.token().kind {
            TokenKind::Int if text == b"0" || text == b"1" => {
                let is_on = text == b"1";
                self.advance();
                Ok(Some(is_on))
            }
            _ => self.error(),
        }
    }

    fn sample_pages(&mut self) -> Result<u16> {
        let token = self.token();
        let pages = self.number()?;
        match u16::try_from(pages) {
            Ok(pages) if pages > 0 => Ok(pages),
            _ => {
                let before = &self.sql[..token.start as usize];
                let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
                Err(SqlError::new(
                    er::PARSE_ERROR,
                    format!(
                        "The valid range for stats_sample_pages is [1, 65535]. Error near '{pages}' at line {line}"
                    ),
                ))
            }
        }
    }

    fn table_option(&mut self, options: &mut TableOptions) -> Result<bool> {
        const OTHERS: &[&str] = &[
            "MAX_ROWS",
            "MIN_ROWS",
            "AVG_ROW_LENGTH",
            "CHECKSUM",
            "DELAY_KEY_WRITE",
            "KEY_BLOCK_SIZE",
            "PACK_KEYS",
            "INSERT_METHOD",
            "COMPRESSION",
            "ENCRYPTION",
            "CONNECTION",
            "PASSWORD",
            "TABLESPACE",
            "AUTOEXTEND_SIZE",
            "ENGINE_ATTRIBUTE",
            "SECONDARY_ENGINE_ATTRIBUTE",
        ];
        if self.accept("ENGINE") || self.accept("TYPE") {
            self.accept_op(Op::Eq);
            options.engine = Some(self.name_or_string()?);
        } else if self.accept("AUTO_INCREMENT") {
            self.accept_op(Op::Eq);
            options.auto_increment = Some(self.number()?);
        } else if self.accept("COMMENT") {
            self.accept_op(Op::Eq);
            options.comment = Some(self.string_text()?);
        } else if self.accept("ROW_FORMAT") {
            self.accept_op(Op::Eq);
            options.row_format = Some(self.any_name()?.to_ascii_uppercase());
        } else if self.accept("STATS_PERSISTENT") {
            options.stats_persistent = Some(self.on_off_or_default()?);
        } else if self.accept("STATS_AUTO_RECALC") {
            options.stats_auto_recalc = Some(self.on_off_or_default()?);
        } else if self.accept("STATS_SAMPLE_PAGES") {
            self.accept_op(Op::Eq);
            options.stats_sample_pages = Some(match self.accept("DEFAULT") {
                true => None,
                false => Some(self.sample_pages()?),
            });
        } else if self.accept_all(&["DATA", "DIRECTORY"]) || self.accept_all(&["INDEX", "DIRECTORY"]) {
            self.accept_op(Op::Eq);
            options
                .others
                .push(("DIRECTORY".to_string(), self.string_text()?));
        } else if self.accept("UNION") {
            return Err(SqlError::not_supported("UNION table option"));
        } else if let Some(name) = self.accept_any(OTHERS) {
            self.accept_op(Op::Eq);
            let token = self.advance();
            options.others.push((name.to_string(), self.word_text(token)));
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

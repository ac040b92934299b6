//! CREATE, ALTER, DROP, RENAME, TRUNCATE of databases, tables and indexes.

use super::ast::*;
use super::lexer::{Kind, Op};
use super::parser::Parser;
use crate::error::{Result, SqlError, er};

fn unsupported(what: &str) -> Result<Statement> {
    Ok(Statement::Unsupported(what.to_string()))
}

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Result<Statement> {
        if self.accept_all(&["OR", "REPLACE"]) {
            return self.skip_unsupported("CREATE OR REPLACE VIEW");
        }
        if self.accept("DATABASE") || self.accept("SCHEMA") {
            return self.create_database();
        }
        let temporary = self.accept("TEMPORARY");
        if self.accept("TABLE") {
            return self.create_table(temporary);
        }
        if self.accept("USER") {
            return self.create_user();
        }
        let kind = match self.accept_any(&["UNIQUE", "FULLTEXT", "SPATIAL"]) {
            Some("UNIQUE") => IndexKind::Unique,
            Some("FULLTEXT") => IndexKind::FullText,
            Some(_) => IndexKind::Spatial,
            None => IndexKind::Plain,
        };
        if self.accept("INDEX") {
            return self.create_index(kind);
        }
        for what in [
            "VIEW",
            "PROCEDURE",
            "FUNCTION",
            "TRIGGER",
            "EVENT",
            "ROLE",
            "SERVER",
            "TABLESPACE",
        ] {
            if self.is(what) {
                return self.skip_unsupported(&format!("CREATE {what}"));
            }
        }
        if self.is_any(&["ALGORITHM", "DEFINER", "SQL", "AGGREGATE"]) {
            return self.skip_unsupported("CREATE of views and stored programs");
        }
        if self.is_any(&["LOGFILE", "UNDO", "RESOURCE"]) {
            return self.skip_unsupported("CREATE of tablespaces and resource groups");
        }
        self.error()
    }

    /// The rest of a statement that is not supported; its grammar does not matter.
    pub(super) fn skip_unsupported(&mut self, what: &str) -> Result<Statement> {
        while !self.at_end() {
            self.advance();
        }
        unsupported(what)
    }

    fn if_not_exists(&mut self) -> bool {
        self.accept_all(&["IF", "NOT", "EXISTS"])
    }

    pub(super) fn if_exists(&mut self) -> bool {
        self.accept_all(&["IF", "EXISTS"])
    }

    fn create_database(&mut self) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.name()?;
        let (charset, collation) = self.database_options()?;
        Ok(Statement::CreateDatabase {
            name,
            if_not_exists,
            charset,
            collation,
        })
    }

    fn database_options(&mut self) -> Result<(Option<String>, Option<String>)> {
        let (mut charset, mut collation) = (None, None);
        while !self.at_end() {
            self.accept("DEFAULT");
            if self.charset_words() {
                self.accept_op(Op::Eq);
                charset = Some(self.name_or_string()?.to_ascii_lowercase());
            } else if self.accept("COLLATE") {
                self.accept_op(Op::Eq);
                collation = Some(self.name_or_string()?.to_ascii_lowercase());
            } else if self.accept("ENCRYPTION") {
                self.accept_op(Op::Eq);
                self.string()?;
            } else {
                return self.error();
            }
        }
        Ok((charset, collation))
    }

    pub(super) fn charset_words(&mut self) -> bool {
        self.accept_all(&["CHARACTER", "SET"]) || self.accept_all(&["CHAR", "SET"]) || self.accept("CHARSET")
    }

    // ----------------------------------------------------------------------------------------------- tables

    fn create_table(&mut self, temporary: bool) -> Result<Statement> {
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
        let _ = self.accept("IGNORE") || self.accept("REPLACE");
        self.accept("AS");
        if self.is_any(&["SELECT", "WITH"]) || self.is_op(Op::LParen) {
            table.query = Some(Box::new(self.query()?));
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

    fn table_element(&mut self, table: &mut CreateTable) -> Result<()> {
        if let Some(index) = self.index_element()? {
            table.indexes.push(index);
            return Ok(());
        }
        if self.is_any(&["CONSTRAINT", "FOREIGN", "CHECK"]) {
            match self.constraint()? {
                AlterAction::AddIndex(index) => table.indexes.push(index),
                AlterAction::AddForeignKey(key) => table.foreign_keys.push(key),
                AlterAction::AddCheck(check) => table.checks.push(check),
                _ => return self.error(),
            }
            return Ok(());
        }
        let column = self.column_def()?;
        table.columns.push(column);
        Ok(())
    }

    /// PRIMARY KEY, UNIQUE, INDEX, KEY, FULLTEXT, SPATIAL as an element of a table.
    fn index_element(&mut self) -> Result<Option<IndexDef>> {
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
        };
        if self.is_name() && !(self.is("USING") || self.is("TYPE")) {
            index.name = Some(self.name()?);
        }
        self.index_type()?;
        index.parts = self.index_parts()?;
        self.index_options(&mut index)?;
        Ok(index)
    }

    fn index_type(&mut self) -> Result<()> {
        if self.accept("USING") || self.accept("TYPE") {
            self.any_name()?;
        }
        Ok(())
    }

    fn index_parts(&mut self) -> Result<Vec<IndexPart>> {
        self.in_parens(|p| p.list(Parser::index_part))
    }

    fn index_part(&mut self) -> Result<IndexPart> {
        let mut part = IndexPart {
            column: String::new(),
            length: None,
            descending: false,
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
        self.accept("ASC");
        Ok(part)
    }

    fn index_options(&mut self, index: &mut IndexDef) -> Result<()> {
        loop {
            if self.accept("COMMENT") {
                index.comment = Some(self.string_text()?);
            } else if self.is("USING") || self.is("TYPE") {
                self.index_type()?;
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
    fn constraint(&mut self) -> Result<AlterAction> {
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
            return Ok(AlterAction::AddForeignKey(
                self.references(name.or(own), columns)?,
            ));
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

    fn references(&mut self, name: Option<String>, columns: Vec<String>) -> Result<ForeignKey> {
        self.expect("REFERENCES")?;
        let table = self.object_name()?;
        let referenced = if self.is_op(Op::LParen) {
            self.in_parens(Parser::name_list)?
        } else {
            Vec::new()
        };
        let mut key = ForeignKey {
            name,
            columns,
            table,
            referenced,
            on_delete: None,
            on_update: None,
        };
        if self.accept("MATCH") {
            self.word_upper()?;
        }
        while self.accept("ON") {
            let deleting = match self.accept_any(&["DELETE", "UPDATE"]) {
                Some(word) => word == "DELETE",
                None => return self.error(),
            };
            let mut action = self.word_upper()?;
            if matches!(action.as_str(), "SET" | "NO") {
                action = format!("{action} {}", self.word_upper()?);
            }
            *(if deleting {
                &mut key.on_delete
            } else {
                &mut key.on_update
            }) = Some(action);
        }
        Ok(key)
    }

    fn column_def(&mut self) -> Result<ColumnDef> {
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
            key: serial.then_some(ColumnKey::Unique),
            comment: None,
            invisible: false,
            generated: None,
            check: None,
            references: None,
        };
        while self.column_attribute(&mut column)? {}
        Ok(column)
    }

    fn column_attribute(&mut self, column: &mut ColumnDef) -> Result<bool> {
        if self.accept_all(&["NOT", "NULL"]) {
            column.nullable = Some(false);
        } else if self.accept("NULL") {
            column.nullable = Some(true);
        } else if self.accept("DEFAULT") {
            column.default = Some(self.default_value()?);
        } else if self.accept_all(&["ON", "UPDATE"]) {
            column.on_update = Some(self.simple()?);
        } else if self.accept("AUTO_INCREMENT") {
            column.auto_increment = true;
        } else if self.accept_all(&["PRIMARY", "KEY"]) || self.is("KEY") && self.accept("KEY") {
            column.key = Some(ColumnKey::Primary);
        } else if self.accept("UNIQUE") {
            self.accept("KEY");
            column.key = Some(ColumnKey::Unique);
        } else if self.accept("COMMENT") {
            column.comment = Some(self.string_text()?);
        } else if self.accept("COLLATE") {
            column.ty.collation = Some(self.name_or_string()?.to_ascii_lowercase());
        } else if self.charset_words() {
            column.ty.charset = Some(self.name_or_string()?.to_ascii_lowercase());
        } else if self.accept("INVISIBLE") {
            column.invisible = true;
        } else if self.accept("VISIBLE") {
        } else if self.accept("COLUMN_FORMAT") || self.accept("STORAGE") {
            self.any_name()?;
        } else if self.is("GENERATED") || self.is("AS") {
            self.accept_all(&["GENERATED", "ALWAYS"]);
            self.expect("AS")?;
            let expr = self.in_parens(Parser::expr)?;
            let stored = self.accept("STORED");
            self.accept("VIRTUAL");
            column.generated = Some((expr, stored));
        } else if self.is("CONSTRAINT") || self.is("CHECK") {
            let mut name = None;
            if self.accept("CONSTRAINT") && self.is_name() {
                name = Some(self.name()?);
            }
            self.expect("CHECK")?;
            column.check = Some(self.check(name)?);
        } else if self.is("REFERENCES") {
            column.references = Some(self.references(None, vec![column.name.clone()])?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn default_value(&mut self) -> Result<Expr> {
        self.simple()
    }

    fn table_options(&mut self, options: &mut TableOptions, commas: bool) -> Result<()> {
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

    fn table_option(&mut self, options: &mut TableOptions) -> Result<bool> {
        const OTHERS: &[&str] = &[
            "MAX_ROWS",
            "MIN_ROWS",
            "AVG_ROW_LENGTH",
            "CHECKSUM",
            "DELAY_KEY_WRITE",
            "KEY_BLOCK_SIZE",
            "PACK_KEYS",
            "STATS_AUTO_RECALC",
            "STATS_PERSISTENT",
            "STATS_SAMPLE_PAGES",
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

    // ----------------------------------------------------------------------------------------------- indexes

    fn create_index(&mut self, kind: IndexKind) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.name()?;
        self.index_type()?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let parts = self.index_parts()?;
        let mut index = IndexDef {
            kind,
            name: Some(name),
            parts,
            comment: None,
            invisible: false,
        };
        self.index_options(&mut index)?;
        self.algorithm_and_lock()?;
        Ok(Statement::CreateIndex {
            table,
            index,
            if_not_exists,
        })
    }

    fn algorithm_and_lock(&mut self) -> Result<()> {
        while self.is_any(&["ALGORITHM", "LOCK"]) {
            self.advance();
            self.accept_op(Op::Eq);
            self.any_name()?;
            self.accept_op(Op::Comma);
        }
        Ok(())
    }

    // ------------------------------------------------------------------------------------------------- DROP

    pub(super) fn drop(&mut self) -> Result<Statement> {
        if self.accept("DATABASE") || self.accept("SCHEMA") {
            let if_exists = self.if_exists();
            return Ok(Statement::DropDatabase {
                name: self.name()?,
                if_exists,
            });
        }
        let temporary = self.accept("TEMPORARY");
        if self.accept("TABLE") || self.accept("TABLES") {
            let if_exists = self.if_exists();
            let tables = self.list(Parser::object_name)?;
            self.accept_any(&["RESTRICT", "CASCADE"]);
            return Ok(Statement::DropTable {
                tables,
                if_exists,
                temporary,
            });
        }
        if self.accept("VIEW") {
            let if_exists = self.if_exists();
            let views = self.list(Parser::object_name)?;
            self.accept_any(&["RESTRICT", "CASCADE"]);
            return Ok(Statement::DropView { views, if_exists });
        }
        if self.accept("INDEX") {
            let index = self.any_name()?;
            self.expect("ON")?;
            let table = self.object_name()?;
            self.algorithm_and_lock()?;
            return Ok(Statement::DropIndex { table, index });
        }
        if self.accept("USER") {
            let if_exists = self.if_exists();
            return Ok(Statement::DropUser {
                users: self.list(Parser::user_name)?,
                if_exists,
            });
        }
        if self.accept("PREPARE") {
            return Ok(Statement::Deallocate(self.name()?));
        }
        for what in [
            "PROCEDURE",
            "FUNCTION",
            "TRIGGER",
            "EVENT",
            "ROLE",
            "SERVER",
            "TABLESPACE",
        ] {
            if self.is(what) {
                return self.skip_unsupported(&format!("DROP {what}"));
            }
        }
        self.error()
    }

    // ------------------------------------------------------------------------------------------------ ALTER

    pub(super) fn alter(&mut self) -> Result<Statement> {
        if self.accept("DATABASE") || self.accept("SCHEMA") {
            let named = self.is_name() && !self.is_any(&["CHARSET", "ENCRYPTION"]);
            let name = if named { Some(self.name()?) } else { None };
            let (charset, collation) = self.database_options()?;
            return Ok(Statement::AlterDatabase {
                name,
                charset,
                collation,
            });
        }
        if self.accept("USER") {
            return self.alter_user();
        }
        if self.accept("TABLE") {
            let name = self.object_name()?;
            let actions = if self.at_end() {
                Vec::new()
            } else {
                self.list(Parser::alter_action)?
            };
            return Ok(Statement::AlterTable(Box::new(AlterTable { name, actions })));
        }
        if self.token().kind == Kind::Word {
            let what = self.word_upper()?;
            return self.skip_unsupported(&format!("ALTER {what}"));
        }
        self.error()
    }

    fn alter_action(&mut self) -> Result<AlterAction> {
        if self.accept("ADD") {
            return self.alter_add();
        }
        if self.accept("MODIFY") {
            self.accept("COLUMN");
            let column = self.column_def()?;
            return Ok(AlterAction::ModifyColumn {
                column,
                position: self.column_position()?,
            });
        }
        if self.accept("CHANGE") {
            self.accept("COLUMN");
            let old = self.name()?;
            let column = self.column_def()?;
            return Ok(AlterAction::ChangeColumn {
                old,
                column,
                position: self.column_position()?,
            });
        }
        if self.accept("DROP") {
            return self.alter_drop();
        }
        if self.accept("RENAME") {
            return self.alter_rename();
        }
        if self.accept("ALTER") {
            return self.alter_alter();
        }
        if self.accept_all(&["CONVERT", "TO"]) {
            if !self.charset_words() {
                return self.error();
            }
            let charset = self.name_or_string()?.to_ascii_lowercase();
            let collation = if self.accept("COLLATE") {
                Some(self.name_or_string()?.to_ascii_lowercase())
            } else {
                None
            };
            return Ok(AlterAction::ConvertTo { charset, collation });
        }
        if let Some(word) = self.accept_any(&["ENABLE", "DISABLE"]) {
            self.expect("KEYS")?;
            return Ok(AlterAction::Ignored(format!("{word} KEYS")));
        }
        if let Some(word) = self.accept_any(&["ALGORITHM", "LOCK"]) {
            self.accept_op(Op::Eq);
            self.any_name()?;
            return Ok(AlterAction::Ignored(word.to_string()));
        }
        if self.accept("FORCE") {
            return Ok(AlterAction::Ignored("FORCE".to_string()));
        }
        if self.accept_all(&["ORDER", "BY"]) {
            self.order_items()?;
            return Ok(AlterAction::Ignored("ORDER BY".to_string()));
        }
        if self.is_any(&[
            "PARTITION",
            "DISCARD",
            "IMPORT",
            "COALESCE",
            "REORGANIZE",
            "EXCHANGE",
            "REMOVE",
        ]) {
            let what = self.word_upper()?;
            while !self.at_end() {
                self.advance();
            }
            return Ok(AlterAction::Unsupported(format!("ALTER TABLE ... {what}")));
        }
        let mut options = TableOptions::default();
        self.table_options(&mut options, false)?;
        if options == TableOptions::default() {
            return self.error();
        }
        Ok(AlterAction::Options(options))
    }

    fn column_position(&mut self) -> Result<Option<ColumnPosition>> {
        if self.accept("FIRST") {
            return Ok(Some(ColumnPosition::First));
        }
        if self.accept("AFTER") {
            return Ok(Some(ColumnPosition::After(self.name()?)));
        }
        Ok(None)
    }

    fn alter_add(&mut self) -> Result<AlterAction> {
        if let Some(index) = self.index_element()? {
            return Ok(AlterAction::AddIndex(index));
        }
        if self.is_any(&["CONSTRAINT", "FOREIGN", "CHECK"]) {
            return self.constraint();
        }
        if self.is("PARTITION") {
            return Ok(AlterAction::Unsupported(
                "ALTER TABLE ... ADD PARTITION".to_string(),
            ));
        }
        self.accept("COLUMN");
        if self.is_op(Op::LParen) {
            // ADD COLUMN (a INT, b INT): the list goes on as further ADD actions.
            return Err(SqlError::not_supported("ADD COLUMN with a parenthesised list"));
        }
        let column = self.column_def()?;
        let position = self.column_position()?.unwrap_or(ColumnPosition::Last);
        Ok(AlterAction::AddColumn { column, position })
    }

    fn alter_drop(&mut self) -> Result<AlterAction> {
        if self.accept_all(&["PRIMARY", "KEY"]) {
            return Ok(AlterAction::DropPrimaryKey);
        }
        if self.accept_all(&["FOREIGN", "KEY"]) {
            return Ok(AlterAction::DropForeignKey(self.name()?));
        }
        if self.accept("INDEX") || self.accept("KEY") {
            return Ok(AlterAction::DropIndex(self.any_name()?));
        }
        if self.accept("CONSTRAINT") {
            return Ok(AlterAction::DropConstraint(self.any_name()?));
        }
        if self.accept("CHECK") {
            return Ok(AlterAction::DropCheck(self.any_name()?));
        }
        self.accept("COLUMN");
        Ok(AlterAction::DropColumn(self.name()?))
    }

    fn alter_rename(&mut self) -> Result<AlterAction> {
        if self.accept("COLUMN") {
            let old = self.name()?;
            self.expect("TO")?;
            return Ok(AlterAction::RenameColumn {
                old,
                new: self.name()?,
            });
        }
        if self.accept("INDEX") || self.accept("KEY") {
            let old = self.any_name()?;
            self.expect("TO")?;
            return Ok(AlterAction::RenameIndex {
                old,
                new: self.any_name()?,
            });
        }
        let _ = self.accept("TO") || self.accept("AS");
        Ok(AlterAction::RenameTo(self.object_name()?))
    }

    fn alter_alter(&mut self) -> Result<AlterAction> {
        if self.accept("INDEX") {
            let name = self.any_name()?;
            let visible = !self.accept("INVISIBLE");
            if visible {
                self.expect("VISIBLE")?;
            }
            return Ok(AlterAction::ShowIndex { name, visible });
        }
        if self.accept("CHECK") || self.accept("CONSTRAINT") {
            let name = self.any_name()?;
            let enforced = !self.accept("NOT");
            self.expect("ENFORCED")?;
            return Ok(AlterAction::EnforceCheck { name, enforced });
        }
        self.accept("COLUMN");
        let column = self.name()?;
        if self.accept_all(&["DROP", "DEFAULT"]) {
            return Ok(AlterAction::SetDefault {
                column,
                default: None,
            });
        }
        self.expect("SET")?;
        self.expect("DEFAULT")?;
        Ok(AlterAction::SetDefault {
            column,
            default: Some(self.default_value()?),
        })
    }

    pub(super) fn rename(&mut self) -> Result<Statement> {
        if self.accept("USER") {
            return Ok(Statement::RenameUser(self.list(|p| {
                let from = p.user_name()?;
                p.expect("TO")?;
                Ok((from, p.user_name()?))
            })?));
        }
        if !self.accept("TABLE") {
            self.expect("TABLES")?;
        }
        Ok(Statement::RenameTable(self.list(|p| {
            let from = p.object_name()?;
            p.expect("TO")?;
            Ok((from, p.object_name()?))
        })?))
    }
}

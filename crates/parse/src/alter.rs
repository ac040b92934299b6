//! ALTER TABLE and ALTER DATABASE.

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError, er};

impl Parser<'_> {
    /// `ALGORITHM=…` or `LOCK=…`. Errors 1800 and 1801 for one that is none.
    pub(super) fn alter_demand(&mut self) -> Result<Option<AlterAction>> {
        let Some(which) = self.accept_any(&["ALGORITHM", "LOCK"]) else {
            return Ok(None);
        };
        self.accept_op(Op::Eq);
        let word = self.any_name()?;
        let demand = match (which, word.to_ascii_uppercase().as_str()) {
            ("ALGORITHM", "DEFAULT") => AlterAction::Algorithm(AlterAlgorithm::Default),
            ("ALGORITHM", "INSTANT") => AlterAction::Algorithm(AlterAlgorithm::Instant),
            ("ALGORITHM", "INPLACE") => AlterAction::Algorithm(AlterAlgorithm::Inplace),
            ("ALGORITHM", "COPY") => AlterAction::Algorithm(AlterAlgorithm::Copy),
            ("LOCK", "DEFAULT") => AlterAction::Lock(AlterLock::Default),
            ("LOCK", "NONE") => AlterAction::Lock(AlterLock::None),
            ("LOCK", "SHARED") => AlterAction::Lock(AlterLock::Shared),
            ("LOCK", "EXCLUSIVE") => AlterAction::Lock(AlterLock::Exclusive),
            ("ALGORITHM", _) => {
                return Err(SqlError::new(
                    er::UNKNOWN_ALTER_ALGORITHM,
                    format!("Unknown ALGORITHM '{word}'"),
                ));
            }
            _ => {
                return Err(SqlError::new(
                    er::UNKNOWN_ALTER_LOCK,
                    format!("Unknown LOCK type '{word}'"),
                ));
            }
        };
        Ok(Some(demand))
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
        if let Some(view) = self.view(ViewForm::Alter)? {
            return Ok(view);
        }
        if let Some(program) = self.alter_program()? {
            return Ok(program);
        }
        if self.accept("TABLE") {
            let name = self.object_name()?;
            let actions = if self.at_end() {
                Vec::new()
            } else {
                self.list(Parser::alter_actions)?.into_iter().flatten().collect()
            };
            return Ok(Statement::AlterTable(Box::new(AlterTable { name, actions })));
        }
        if self.accept_all(&["INSTANCE", "RELOAD", "TLS"]) {
            if self.accept_all(&["FOR", "CHANNEL"]) && !self.accept("mysql_main") {
                return Err(SqlError::not_supported("TLS of another channel than mysql_main"));
            }
            let keep_on_error = !self.accept_all(&["NO", "ROLLBACK", "ON", "ERROR"]);
            return Ok(Statement::ReloadTls { keep_on_error });
        }
        if self.token().kind == TokenKind::Word && !self.is("TRIGGER") {
            let what = self.word_upper()?;
            return self.skip_unsupported(&format!("ALTER {what}"));
        }
        self.error()
    }

    /// One of the list; `ADD (…, …)` is several.
    fn alter_actions(&mut self) -> Result<Vec<AlterAction>> {
        if !self.accept("ADD") {
            return Ok(vec![self.alter_action()?]);
        }
        let column = self.accept("COLUMN");
        if self.is_op(Op::LParen) {
            return self.in_parens(|p| p.list(Parser::added_element));
        }
        let added = match column {
            true => self.added_column()?,
            false => self.alter_add()?,
        };
        Ok(vec![added])
    }

    fn alter_action(&mut self) -> Result<AlterAction> {
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
        if let Some(demand) = self.alter_demand()? {
            return Ok(demand);
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
        if let Some(added) = self.added_key()? {
            return Ok(added);
        }
        if self.is("PARTITION") {
            return Ok(AlterAction::Unsupported(
                "ALTER TABLE ... ADD PARTITION".to_string(),
            ));
        }
        self.added_column()
    }

    /// A column that may say where it goes.
    fn added_column(&mut self) -> Result<AlterAction> {
        let column = self.new_column_def()?;
        let position = self.column_position()?.unwrap_or(ColumnPosition::Last);
        Ok(AlterAction::AddColumn { column, position })
    }

    /// One of `ADD (…, …)`.
    fn added_element(&mut self) -> Result<AlterAction> {
        if let Some(added) = self.added_key()? {
            return Ok(added);
        }
        Ok(AlterAction::AddColumn {
            column: self.new_column_def()?,
            position: ColumnPosition::Last,
        })
    }

    fn added_key(&mut self) -> Result<Option<AlterAction>> {
        if let Some(index) = self.index_element()? {
            return Ok(Some(AlterAction::AddIndex(index)));
        }
        if self.is_any(&["CONSTRAINT", "FOREIGN", "CHECK"]) {
            return self.constraint().map(Some);
        }
        Ok(None)
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
        let column = self.name()?;
        // As MySQL does, which knows no difference.
        self.accept_any(&["RESTRICT", "CASCADE"]);
        Ok(AlterAction::DropColumn(column))
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
        if let Some(word) = self.accept_any(&["VISIBLE", "INVISIBLE"]) {
            let visible = word == "VISIBLE";
            return Ok(AlterAction::ShowColumn { column, visible });
        }
        self.expect("DEFAULT")?;
        Ok(AlterAction::SetDefault {
            column,
            default: Some(self.default_value(|_| false)?),
        })
    }
}

//! CREATE, ALTER, DROP, RENAME, TRUNCATE of databases, tables and indexes.

use super::ast::*;
use super::lexer::Op;
use super::parser::Parser;
use tidemark_types::error::Result;

fn unsupported(what: &str) -> Result<Statement> {
    Ok(Statement::Unsupported(what.to_string()))
}

impl Parser<'_> {
    pub(super) fn create(&mut self) -> Result<Statement> {
        if self.accept_all(&["OR", "REPLACE"]) {
            return match self.view(ViewForm::Replace)? {
                Some(view) => Ok(view),
                None => self.error(),
            };
        }
        if let Some(view) = self.view(ViewForm::Create)? {
            return Ok(view);
        }
        if let Some(program) = self.create_program()? {
            return Ok(program);
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
        if self.accept("ROLE") {
            return self.create_role();
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
        for what in ["SERVER", "TABLESPACE"] {
            if self.is(what) {
                return self.skip_unsupported(&format!("CREATE {what}"));
            }
        }
        if self.is("AGGREGATE") {
            return self.skip_unsupported("CREATE AGGREGATE FUNCTION");
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

    pub(super) fn if_not_exists(&mut self) -> bool {
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

    pub(super) fn database_options(&mut self) -> Result<(Option<String>, Option<String>)> {
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

    // ----------------------------------------------------------------------------------------------- indexes

    fn create_index(&mut self, kind: IndexKind) -> Result<Statement> {
        let if_not_exists = self.if_not_exists();
        let name = self.name()?;
        let mut method = None;
        self.index_type(&mut method)?;
        self.expect("ON")?;
        let table = self.object_name()?;
        let parts = self.index_parts()?;
        let mut index = IndexDef {
            kind,
            name: Some(name),
            parts,
            comment: None,
            invisible: false,
            method,
        };
        self.index_options(&mut index)?;
        Ok(Statement::CreateIndex {
            table,
            index,
            if_not_exists,
            demands: self.alter_demands()?,
        })
    }

    fn alter_demands(&mut self) -> Result<Vec<AlterAction>> {
        let mut demands = Vec::new();
        while let Some(demand) = self.alter_demand()? {
            demands.push(demand);
            self.accept_op(Op::Comma);
        }
        Ok(demands)
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
            let demands = self.alter_demands()?;
            return Ok(Statement::DropIndex {
                table,
                index,
                demands,
            });
        }
        if self.accept("USER") {
            let if_exists = self.if_exists();
            return Ok(Statement::DropUser {
                users: self.list(Parser::user_name)?,
                if_exists,
            });
        }
        if self.accept("ROLE") {
            return self.drop_role();
        }
        if self.accept("PREPARE") {
            return Ok(Statement::Deallocate(self.name()?));
        }
        if let Some(drop) = self.drop_program()? {
            return Ok(drop);
        }
        for what in ["SERVER", "TABLESPACE"] {
            if self.is(what) {
                return self.skip_unsupported(&format!("DROP {what}"));
            }
        }
        self.error()
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

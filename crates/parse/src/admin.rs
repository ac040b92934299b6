//! Statements about the session and the server: transactions, SET, PREPARE, SHOW, EXPLAIN, KILL, FLUSH, LOCK TABLES.

use super::ast::*;
use super::lexer::{Op, TokenKind};
use super::parse_query;
use super::parser::Parser;
use tidemark_types::error::{Result, SqlError};

impl Parser<'_> {
    /// Behind CLONE.
    fn clone_statement(&mut self) -> Result<Statement> {
        if self.is("INSTANCE") {
            return self.skip_unsupported("CLONE INSTANCE");
        }
        for word in ["LOCAL", "DATA", "DIRECTORY"] {
            self.expect(word)?;
        }
        self.accept_op(Op::Eq);
        let path = self.string()?;
        Ok(Statement::CloneLocal(String::from_utf8_lossy(&path).into_owned()))
    }

    /// `HELP topic`: the server has no texts about its statements, so what it finds is a result without rows.
    fn help(&mut self) -> Result<Statement> {
        match self.token().kind {
            TokenKind::Str | TokenKind::NationalStr => drop(self.string()?),
            _ => drop(self.name()?),
        }
        let nothing = parse_query("SELECT '' AS name, '' AS is_it_category LIMIT 0")?;
        Ok(Statement::Query(Box::new(nothing)))
    }

    /// A whole statement; the caller checks that nothing follows.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        if self.token().kind == TokenKind::End {
            return match self.is_commented() {
                true => Ok(Statement::Empty),
                false => Err(SqlError::empty_query()),
            };
        }
        if self.is_op(Op::LParen) || self.is_any(&["SELECT", "WITH", "VALUES", "TABLE"]) {
            return self.query_statement();
        }
        let token = self.token();
        if token.kind != TokenKind::Word {
            return self.error();
        }
        let word = self.word_text(token).to_ascii_uppercase();
        self.advance();
        match word.as_str() {
            "INSERT" => self.insert(false),
            "REPLACE" => self.insert(true),
            "LOAD" => self.load(),
            "UPDATE" => self.update(None),
            "DELETE" => self.delete(None),
            "DO" => Ok(Statement::Do(self.list(Parser::expr)?)),
            "EXPLAIN" | "DESCRIBE" | "DESC" => self.explain(),
            "BEGIN" => {
                self.accept("WORK");
                Ok(Statement::Begin(BeginOptions::default()))
            }
            "START" => self.start(),
            "COMMIT" => {
                self.accept("WORK");
                let (chain, release) = self.completion();
                Ok(Statement::Commit { chain, release })
            }
            "ROLLBACK" => self.rollback(),
            "SAVEPOINT" => Ok(Statement::Savepoint(self.name()?)),
            "RELEASE" => {
                self.expect("SAVEPOINT")?;
                Ok(Statement::ReleaseSavepoint(self.name()?))
            }
            "PREPARE" => self.prepare(),
            "EXECUTE" => self.execute(),
            "DEALLOCATE" => {
                self.expect("PREPARE")?;
                Ok(Statement::Deallocate(self.name()?))
            }
            "SET" => self.set(),
            "USE" => Ok(Statement::Use(self.name()?)),
            "SHOW" => self.show(),
            "KILL" => self.kill(),
            "FLUSH" => self.flush(),
            "SHUTDOWN" => Ok(Statement::Shutdown),
            "RESTART" => Ok(Statement::Restart),
            "HELP" => self.help(),
            "CLONE" => self.clone_statement(),
            "LOCK" => self.lock_tables(),
            "UNLOCK" => {
                if self.accept("INSTANCE") {
                    return Ok(Statement::UnlockInstance);
                }
                if !self.accept("TABLES") {
                    self.expect("TABLE")?;
                }
                Ok(Statement::UnlockTables)
            }
            "CREATE" => self.create(),
            "DROP" => self.drop(),
            "ALTER" => self.alter(),
            "RENAME" => self.rename(),
            "TRUNCATE" => {
                self.accept("TABLE");
                Ok(Statement::TruncateTable(self.object_name()?))
            }
            "ANALYZE" => self.maintenance(MaintenanceKind::Analyze),
            "OPTIMIZE" => self.maintenance(MaintenanceKind::Optimize),
            "CHECK" => self.maintenance(MaintenanceKind::Check),
            "REPAIR" => self.maintenance(MaintenanceKind::Repair),
            "CHECKSUM" => self.checksum(),
            "GRANT" => self.grant(),
            "REVOKE" => self.revoke(),
            "INSTALL" if self.accept("COMPONENT") => {
                Ok(Statement::InstallComponents(self.list(Parser::string_text)?))
            }
            "UNINSTALL" if self.accept("COMPONENT") => {
                Ok(Statement::UninstallComponents(self.list(Parser::string_text)?))
            }
            "RESET" if self.accept("PERSIST") => self.reset_persist(),
            "HANDLER" => self.handler(),
            "CALL" => self.call(),
            "SIGNAL" => Ok(Statement::Signal(self.signal(false)?)),
            "RESIGNAL" => Ok(Statement::Resignal(self.signal(true)?)),
            "GET" => Ok(Statement::GetDiagnostics(self.get_diagnostics()?)),
            "XA" | "INSTALL" | "UNINSTALL" | "RESET" | "PURGE" | "CHANGE" | "STOP" | "BINLOG" | "CACHE"
            | "IMPORT" => self.skip_unsupported(&word),
            _ => {
                self.step_back();
                self.error()
            }
        }
    }

    /// A query, or UPDATE or DELETE with common tables before it.
    fn query_statement(&mut self) -> Result<Statement> {
        if !self.accept("WITH") {
            return Ok(Statement::Query(Box::new(self.query()?)));
        }
        let with = self.with()?;
        match self.accept_any(&["UPDATE", "DELETE"]) {
            Some("UPDATE") => self.update(Some(with)),
            Some(_) => self.delete(Some(with)),
            None => Ok(Statement::Query(Box::new(self.query_with(with)?))),
        }
    }

    fn explain(&mut self) -> Result<Statement> {
        let mut analyze = false;
        let (mut format, mut into) = (None, None);
        loop {
            if self.accept("ANALYZE") {
                analyze = true;
            } else if self.is("FORMAT") && self.token_at(1).kind == TokenKind::Op(Op::Eq) {
                self.advance();
                self.advance();
                format = Some(match self.word_upper()?.as_str() {
                    "TRADITIONAL" => ExplainFormat::Traditional,
                    "TREE" => ExplainFormat::Tree,
                    "JSON" => ExplainFormat::Json,
                    _ => {
                        self.step_back();
                        return self.error();
                    }
                });
            } else if into.is_none() && self.is("INTO") && self.token_at(1).kind == TokenKind::At {
                self.advance();
                into = Some(self.variable_name()?);
            } else if self.is_any(&["EXTENDED", "PARTITIONS"]) && self.is_ahead(1, "SELECT") {
                self.advance();
            } else {
                break;
            }
        }
        let is_for_schema = self.is("FOR") && (self.is_ahead(1, "SCHEMA") || self.is_ahead(1, "DATABASE"));
        let schema = match is_for_schema {
            true => {
                self.advance();
                self.advance();
                Some(match self.token().kind {
                    TokenKind::Str => self.string_text()?,
                    _ => self.name()?,
                })
            }
            false => None,
        };
        if self.is_any(&[
            "SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "WITH", "TABLE", "VALUES",
        ]) || self.is_op(Op::LParen)
        {
            let statement = self.statement()?;
            return Ok(Statement::Explain(Box::new(Explain {
                format,
                analyze,
                into,
                schema,
                statement,
            })));
        }
        if schema.is_some() {
            return self.error();
        }
        if self.is("FOR") && self.is_ahead(1, "CONNECTION") {
            if analyze {
                return self.skip_unsupported("EXPLAIN ANALYZE FOR CONNECTION");
            }
            self.advance();
            self.advance();
            return Ok(Statement::ExplainConnection {
                id: self.number()?,
                into: into.is_some(),
                format,
            });
        }
        let table = self.object_name()?;
        let column = match self.token().kind {
            TokenKind::Str => Some(self.string_text()?),
            _ if self.is_name() => Some(self.name()?),
            _ => None,
        };
        Ok(Statement::Describe { table, column })
    }

    // -------------------------------------------------------------------------------------------- transactions

    fn start(&mut self) -> Result<Statement> {
        if self.is_any(&["REPLICA", "SLAVE", "GROUP_REPLICATION"]) {
            return self.skip_unsupported("START REPLICA");
        }
        self.expect("TRANSACTION")?;
        let mut options = BeginOptions::default();
        while !self.at_end() {
            if self.accept_all(&["WITH", "CONSISTENT", "SNAPSHOT"]) {
                options.consistent_snapshot = true;
            } else if options.read_only.is_some() {
                return self.error();
            } else if self.accept_all(&["READ", "ONLY"]) {
                options.read_only = Some(true);
            } else if self.accept_all(&["READ", "WRITE"]) {
                options.read_only = Some(false);
            } else {
                return self.error();
            }
            if !self.accept_op(Op::Comma) {
                break;
            }
        }
        Ok(Statement::Begin(options))
    }

    /// `AND [NO] CHAIN`, `[NO] RELEASE`
    fn completion(&mut self) -> (bool, bool) {
        let chain = self.accept_all(&["AND", "CHAIN"]);
        if !chain {
            self.accept_all(&["AND", "NO", "CHAIN"]);
        }
        let release = self.accept("RELEASE");
        if !release {
            self.accept_all(&["NO", "RELEASE"]);
        }
        (chain, release)
    }

    fn rollback(&mut self) -> Result<Statement> {
        self.accept("WORK");
        if self.accept("TO") {
            self.accept("SAVEPOINT");
            return Ok(Statement::RollbackTo(self.name()?));
        }
        let (chain, release) = self.completion();
        Ok(Statement::Rollback { chain, release })
    }

    fn prepare(&mut self) -> Result<Statement> {
        let name = self.name()?;
        self.expect("FROM")?;
        let source = match self.token().kind {
            TokenKind::At => PrepareSource::UserVar(self.variable_name()?),
            _ => PrepareSource::Text(self.string()?),
        };
        Ok(Statement::Prepare { name, source })
    }

    fn execute(&mut self) -> Result<Statement> {
        let name = self.name()?;
        let using = if self.accept("USING") {
            self.list(Parser::variable_name)?
        } else {
            Vec::new()
        };
        Ok(Statement::Execute { name, using })
    }

    // ------------------------------------------------------------------------------------------------- SET

    fn set(&mut self) -> Result<Statement> {
        if self.accept("PASSWORD") {
            return self.set_password();
        }
        if self.is("ROLE") && self.token_at(1).kind != TokenKind::Op(Op::Eq) {
            self.advance();
            return self.set_role();
        }
        if self.accept_all(&["DEFAULT", "ROLE"]) {
            return self.set_default_role();
        }
        if self.is("RESOURCE") {
            return self.skip_unsupported("SET RESOURCE GROUP");
        }
        let scope_words = ["GLOBAL", "SESSION", "LOCAL"];
        if self.is("TRANSACTION") || scope_words.iter().any(|w| self.is(w)) && self.is_ahead(1, "TRANSACTION")
        {
            let scope = self.scope_word();
            self.advance();
            return self.set_transaction(scope);
        }
        Ok(Statement::Set(self.list(Parser::set_item)?))
    }

    fn reset_persist(&mut self) -> Result<Statement> {
        let if_exists = self.if_exists();
        let name = match if_exists || !self.at_end() {
            true => Some(self.setting_name()?),
            false => None,
        };
        Ok(Statement::ResetPersist { if_exists, name })
    }

    /// A system variable's name in lower case, that of a component's with the component before it.
    fn setting_name(&mut self) -> Result<String> {
        let mut name = self.name()?;
        while self.accept_op(Op::Dot) {
            name = format!("{name}.{}", self.any_name()?);
        }
        Ok(name.to_ascii_lowercase())
    }

    fn scope_word(&mut self) -> Option<ScopeKeyword> {
        match self.accept_any(&["GLOBAL", "SESSION", "LOCAL", "PERSIST", "PERSIST_ONLY"])? {
            "GLOBAL" => Some(ScopeKeyword::Global),
            "SESSION" | "LOCAL" => Some(ScopeKeyword::Session),
            "PERSIST" => Some(ScopeKeyword::Persist),
            _ => Some(ScopeKeyword::PersistOnly),
        }
    }

    fn set_transaction(&mut self, scope: Option<ScopeKeyword>) -> Result<Statement> {
        let mut set = SetTransaction {
            scope,
            isolation: None,
            read_only: None,
        };
        let parts = self.list(|p| {
            if set.isolation.is_none() && p.accept_all(&["ISOLATION", "LEVEL"]) {
                set.isolation = Some(p.isolation_level()?);
            } else if set.read_only.is_some() {
                return p.error();
            } else if p.accept_all(&["READ", "ONLY"]) {
                set.read_only = Some(true);
            } else if p.accept_all(&["READ", "WRITE"]) {
                set.read_only = Some(false);
            } else {
                return p.error();
            }
            Ok(())
        })?;
        let _ = parts;
        Ok(Statement::SetTransaction(set))
    }

    fn isolation_level(&mut self) -> Result<IsolationLevel> {
        if self.accept_all(&["READ", "UNCOMMITTED"]) {
            Ok(IsolationLevel::ReadUncommitted)
        } else if self.accept_all(&["READ", "COMMITTED"]) {
            Ok(IsolationLevel::ReadCommitted)
        } else if self.accept_all(&["REPEATABLE", "READ"]) {
            Ok(IsolationLevel::RepeatableRead)
        } else if self.accept("SERIALIZABLE") {
            Ok(IsolationLevel::Serializable)
        } else {
            self.error()
        }
    }

    pub(super) fn set_item(&mut self) -> Result<SetItem> {
        if self.accept("NAMES") {
            let charset = if self.accept("DEFAULT") {
                None
            } else {
                Some(self.name_or_string()?)
            };
            let collation = if self.accept("COLLATE") {
                Some(self.name_or_string()?)
            } else {
                None
            };
            return Ok(SetItem::Names { charset, collation });
        }
        if self.charset_words() {
            let charset = if self.accept("DEFAULT") {
                None
            } else {
                Some(self.name_or_string()?)
            };
            return Ok(SetItem::CharacterSet(charset));
        }
        if self.token().kind == TokenKind::At {
            let name = self.variable_name()?;
            self.assign_sign()?;
            return Ok(SetItem::UserVar {
                name,
                value: self.expr()?,
            });
        }
        let at_signs = self.token().kind == TokenKind::AtAt;
        let (scope, name) = if at_signs {
            match self.system_variable()? {
                Expr::SysVar { scope, name } => (scope, name),
                _ => return self.error(),
            }
        } else {
            let scope = self.scope_word();
            (scope, self.setting_name()?)
        };
        self.assign_sign()?;
        let value = self.set_value()?;
        let of_transaction = matches!(
            name.as_str(),
            "transaction_isolation" | "transaction_read_only" | "tx_isolation" | "tx_read_only"
        );
        if at_signs && scope.is_none() && of_transaction {
            return Ok(SetItem::NextTransaction { name, value });
        }
        Ok(SetItem::Variable { scope, name, value })
    }

    pub(super) fn assign_sign(&mut self) -> Result<()> {
        if self.accept_op(Op::Eq) {
            Ok(())
        } else {
            self.expect_op(Op::Assign)
        }
    }

    /// A value where bare words (`ON`, `utf8mb4`, `READ-COMMITTED` must be quoted) are strings.
    fn set_value(&mut self) -> Result<Expr> {
        let next = self.token_at(1);
        let ends = matches!(
            next.kind,
            TokenKind::End | TokenKind::Op(Op::Comma | Op::Semicolon)
        );
        let token = self.token();
        if ends && token.kind == TokenKind::Word {
            let word = self.word_text(token);
            if self.local(&word).is_some() {
                return self.expr();
            }
            self.advance();
            return Ok(match word.to_ascii_uppercase().as_str() {
                "DEFAULT" => Expr::Default(None),
                "NULL" => Expr::Literal(Literal::Null),
                "TRUE" => Expr::Literal(Literal::Bool(true)),
                "FALSE" => Expr::Literal(Literal::Bool(false)),
                _ => Expr::str(&word),
            });
        }
        self.expr()
    }

    // ---------------------------------------------------------------------------------------- server matters

    fn kill(&mut self) -> Result<Statement> {
        let query_only = self.accept("QUERY");
        if !query_only {
            self.accept("CONNECTION");
        }
        Ok(Statement::Kill {
            id: self.expr()?,
            query_only,
        })
    }

    fn flush(&mut self) -> Result<Statement> {
        self.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        if self.is_any(&["TABLE", "TABLES"]) {
            return self.flush_tables();
        }
        let mut words = Vec::new();
        while !self.at_end() {
            let token = self.advance();
            words.push(self.word_text(token).to_ascii_uppercase());
        }
        if words.is_empty() {
            self.error()
        } else {
            Ok(Statement::Flush(words))
        }
    }

    /// `FLUSH TABLES [t, …] [WITH READ LOCK | FOR EXPORT]`
    fn flush_tables(&mut self) -> Result<Statement> {
        let word = self.word_upper()?;
        let named = self.is_name() && !self.is("WITH");
        let tables = if named {
            self.list(Parser::object_name)?
        } else {
            Vec::new()
        };
        if self.accept("WITH") {
            self.expect("READ")?;
            self.expect("LOCK")?;
            return Ok(match named {
                true => Statement::FlushTablesWithLock(tables),
                false => Statement::Flush(["TABLES", "WITH", "READ", "LOCK"].map(str::to_owned).to_vec()),
            });
        }
        if named && self.is("FOR") {
            return self.skip_unsupported("FLUSH TABLES … FOR EXPORT");
        }
        Ok(Statement::Flush(vec![word]))
    }

    fn lock_tables(&mut self) -> Result<Statement> {
        if self.accept("INSTANCE") {
            self.expect("FOR")?;
            self.expect("BACKUP")?;
            return Ok(Statement::LockInstance);
        }
        if !self.accept("TABLES") {
            self.expect("TABLE")?;
        }
        Ok(Statement::LockTables(self.list(|p| {
            let table = p.object_name()?;
            let named = p.is("AS") || p.is_name() && !p.is_any(&["LOCAL"]);
            let alias = if named { p.alias()? } else { None };
            p.accept("LOW_PRIORITY");
            let write = match p.accept_any(&["READ", "WRITE"]) {
                Some(word) => word == "WRITE",
                None => return p.error(),
            };
            p.accept("LOCAL");
            Ok(LockTable { table, alias, write })
        })?))
    }

    fn checksum(&mut self) -> Result<Statement> {
        let tables = self.tables_to_look_through()?;
        let quick = self.accept_any(&["QUICK", "EXTENDED"]) == Some("QUICK");
        Ok(Statement::ChecksumTable { tables, quick })
    }

    fn tables_to_look_through(&mut self) -> Result<Vec<ObjectName>> {
        if !self.accept("TABLE") {
            self.expect("TABLES")?;
        }
        self.list(Parser::object_name)
    }

    fn maintenance(&mut self, kind: MaintenanceKind) -> Result<Statement> {
        self.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        let tables = self.tables_to_look_through()?;
        if kind == MaintenanceKind::Analyze && self.is_any(&["UPDATE", "DROP"]) {
            return self.histogram(tables);
        }
        let options: &[&str] = match kind {
            MaintenanceKind::Check => &["QUICK", "FAST", "MEDIUM", "EXTENDED", "CHANGED"],
            MaintenanceKind::Repair => &["QUICK", "EXTENDED", "USE_FRM"],
            MaintenanceKind::Analyze | MaintenanceKind::Optimize => &[],
        };
        while self.accept_any(options).is_some()
            || kind == MaintenanceKind::Check && self.accept_all(&["FOR", "UPGRADE"])
        {}
        Ok(Statement::TableMaintenance { kind, tables })
    }

    /// Behind `ANALYZE TABLE` and the tables. A number of buckets that is none is error 1690, as in MySQL, and none of syntax.
    fn histogram(&mut self, tables: Vec<ObjectName>) -> Result<Statement> {
        let drops = self.accept("DROP");
        if !drops {
            self.expect("UPDATE")?;
        }
        self.expect("HISTOGRAM")?;
        self.expect("ON")?;
        let columns = self.list(Parser::name)?;
        let change = if drops {
            HistogramChange::Drop
        } else if self.accept_all(&["USING", "DATA"]) {
            HistogramChange::Take(self.string()?)
        } else {
            let buckets = match self.accept("WITH") {
                true => {
                    let buckets = self.number()?;
                    self.expect("BUCKETS")?;
                    Some(buckets)
                }
                false => None,
            };
            let auto_update = self.accept_all(&["AUTO", "UPDATE"]);
            if !auto_update {
                self.accept_all(&["MANUAL", "UPDATE"]);
            }
            HistogramChange::Make { buckets, auto_update }
        };
        Ok(Statement::Histogram {
            tables,
            columns,
            change,
        })
    }
}

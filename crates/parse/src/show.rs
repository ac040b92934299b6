//! SHOW in its many forms.

use super::ast::*;
use super::lexer::Op;
use super::parser::Parser;
use tidemark_types::error::Result;

impl Parser<'_> {
    pub(super) fn show(&mut self) -> Result<Statement> {
        let full = self.accept("FULL");
        let _ = self.accept("EXTENDED");
        for what in ["PROCEDURE", "FUNCTION"] {
            if self.is(what) && self.is_ahead(1, "CODE") {
                return self.skip_unsupported(&format!("SHOW {what} CODE"));
            }
        }
        let what = self.show_kind(full)?;
        let filter = if self.accept("LIKE") {
            ShowFilter::Like(self.string()?)
        } else if self.accept("WHERE") {
            ShowFilter::Where(self.expr()?)
        } else {
            ShowFilter::None
        };
        Ok(Statement::Show(Show { what, filter }))
    }

    fn schema_after_from(&mut self) -> Result<Option<String>> {
        if self.accept("FROM") || self.accept("IN") {
            self.name().map(Some)
        } else {
            Ok(None)
        }
    }

    /// `FROM table [FROM schema]`
    fn table_after_from(&mut self) -> Result<ObjectName> {
        if !self.accept("FROM") {
            self.expect("IN")?;
        }
        let mut table = self.object_name()?;
        if let Some(schema) = self.schema_after_from()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    fn scoped(&mut self) -> bool {
        self.accept_any(&["GLOBAL", "SESSION", "LOCAL"]) == Some("GLOBAL")
    }

    fn row_limit(&mut self) -> Result<Option<(u64, u64)>> {
        if !self.accept("LIMIT") {
            return Ok(None);
        }
        let first = self.number()?;
        if self.accept_op(Op::Comma) {
            return Ok(Some((first, self.number()?)));
        }
        Ok(Some((0, first)))
    }

    fn show_kind(&mut self, full: bool) -> Result<ShowKind> {
        if self.is_any(&["GLOBAL", "SESSION", "LOCAL"])
            && !self.is_ahead(1, "VARIABLES")
            && !self.is_ahead(1, "STATUS")
        {
            return self.error();
        }
        let global = self.scoped();
        if self.accept("COUNT") {
            self.in_parens(|p| p.expect_op(Op::Star))?;
            return Ok(match self.accept_any(&["WARNINGS", "ERRORS"]) {
                Some("WARNINGS") => ShowKind::CountWarnings,
                Some(_) => ShowKind::CountErrors,
                None => return self.error(),
            });
        }
        let word = self.word_upper()?;
        Ok(match word.as_str() {
            "DATABASES" | "SCHEMAS" => ShowKind::Databases,
            "TABLES" => ShowKind::Tables {
                schema: self.schema_after_from()?,
                full,
            },
            "TABLE" if self.accept("STATUS") => ShowKind::TableStatus {
                schema: self.schema_after_from()?,
            },
            "OPEN" if self.accept("TABLES") => ShowKind::OpenTables {
                schema: self.schema_after_from()?,
            },
            "COLUMNS" | "FIELDS" => ShowKind::Columns {
                table: self.table_after_from()?,
                full,
            },
            "INDEX" | "INDEXES" | "KEYS" => ShowKind::Index {
                table: self.table_after_from()?,
            },
            "CREATE" => return self.show_create(),
            "VARIABLES" => ShowKind::Variables { global },
            "STATUS" => ShowKind::Status { global },
            "PROCESSLIST" => ShowKind::ProcessList { full },
            "WARNINGS" => ShowKind::Warnings {
                limit: self.row_limit()?,
            },
            "ERRORS" => ShowKind::Errors {
                limit: self.row_limit()?,
            },
            "ENGINES" => ShowKind::Engines,
            "STORAGE" if self.accept("ENGINES") => ShowKind::Engines,
            "ENGINE" => ShowKind::EngineStatus {
                engine: self.any_name()?,
                what: self.word_upper()?,
            },
            "CHARSET" => ShowKind::Charset,
            "CHARACTER" if self.accept("SET") => ShowKind::Charset,
            "CHAR" if self.accept("SET") => ShowKind::Charset,
            "COLLATION" => ShowKind::Collation,
            "GRANTS" => {
                let user = match self.accept("FOR") {
                    true => Some(self.user_name()?),
                    false => None,
                };
                let using = match user.is_some() && self.accept("USING") {
                    true => self.role_list()?,
                    false => Vec::new(),
                };
                ShowKind::Grants { user, using }
            }
            "PRIVILEGES" => ShowKind::Privileges,
            "PLUGINS" => ShowKind::Plugins,
            "TRIGGERS" => ShowKind::Triggers {
                schema: self.schema_after_from()?,
            },
            "EVENTS" => ShowKind::Events {
                schema: self.schema_after_from()?,
            },
            "PROCEDURE" if self.accept("STATUS") => ShowKind::ProcedureStatus,
            "FUNCTION" if self.accept("STATUS") => ShowKind::FunctionStatus,
            "MASTER" if self.accept("STATUS") => ShowKind::MasterStatus,
            "BINARY" if self.accept("LOG") => {
                self.expect("STATUS")?;
                ShowKind::MasterStatus
            }
            "MASTER" | "BINARY" if self.accept("LOGS") => ShowKind::BinaryLogs,
            "REPLICA" | "SLAVE" if self.accept("STATUS") => ShowKind::ReplicaStatus {
                channel: self.for_channel()?,
            },
            "BINLOG" => {
                self.log_events()?;
                ShowKind::BinlogEvents
            }
            "RELAYLOG" => {
                self.log_events()?;
                ShowKind::RelaylogEvents {
                    channel: self.for_channel()?,
                }
            }
            "REPLICAS" => ShowKind::Replicas,
            "SLAVE" if self.accept("HOSTS") => ShowKind::Replicas,
            "PROFILES" => ShowKind::Profiles,
            "PROFILE" => self.show_profile()?,
            _ => {
                self.step_back();
                return self.error();
            }
        })
    }

    /// `EVENTS [IN 'file'] [FROM position] [LIMIT …]`: where there is no such log, it does not matter which of its events are asked for.
    fn log_events(&mut self) -> Result<()> {
        self.expect("EVENTS")?;
        if self.accept("IN") {
            self.string()?;
        }
        if self.accept("FROM") {
            self.number()?;
        }
        self.row_limit()?;
        Ok(())
    }

    /// `[FOR CHANNEL 'name']`
    fn for_channel(&mut self) -> Result<Option<String>> {
        match self.accept_all(&["FOR", "CHANNEL"]) {
            true => self.string_text().map(Some),
            false => Ok(None),
        }
    }

    /// Behind `SHOW PROFILE`.
    fn show_profile(&mut self) -> Result<ShowKind> {
        let mut columns = ProfileColumns::default();
        loop {
            let more = match self.accept_any(&[
                "ALL", "BLOCK", "CONTEXT", "CPU", "IPC", "MEMORY", "PAGE", "SOURCE", "SWAPS",
            ]) {
                Some("ALL") => ProfileColumns::ALL,
                Some("BLOCK") => {
                    self.expect("IO")?;
                    ProfileColumns::BLOCKS
                }
                Some("CONTEXT") => {
                    self.expect("SWITCHES")?;
                    ProfileColumns::SWITCHES
                }
                Some("CPU") => ProfileColumns::CPU,
                Some("IPC") => ProfileColumns::MESSAGES,
                Some("PAGE") => {
                    self.expect("FAULTS")?;
                    ProfileColumns::FAULTS
                }
                Some("SOURCE") => ProfileColumns::SOURCE,
                Some("SWAPS") => ProfileColumns::SWAPS,
                Some(_) => ProfileColumns::default(),
                None => break,
            };
            columns = columns.with(more);
            if !self.accept_op(Op::Comma) {
                break;
            }
        }
        let mut query = None;
        if self.accept("FOR") {
            self.expect("QUERY")?;
            query = Some(self.number()?);
        }
        let mut limit = self.row_limit()?;
        if let Some((_, count)) = limit
            && self.accept("OFFSET")
        {
            limit = Some((self.number()?, count));
        }
        Ok(ShowKind::Profile {
            columns,
            query,
            limit,
        })
    }

    fn show_create(&mut self) -> Result<ShowKind> {
        if let Some(program) = self.show_create_program()? {
            return Ok(program);
        }
        let word = self.word_upper()?;
        Ok(match word.as_str() {
            "TABLE" => ShowKind::CreateTable(self.object_name()?),
            "VIEW" => ShowKind::CreateView(self.object_name()?),
            "DATABASE" | "SCHEMA" => {
                let if_not_exists = self.accept_all(&["IF", "NOT", "EXISTS"]);
                ShowKind::CreateDatabase {
                    name: self.name()?,
                    if_not_exists,
                }
            }
            "USER" => ShowKind::CreateUser(self.user_name()?),
            _ => {
                self.step_back();
                return self.error();
            }
        })
    }
}

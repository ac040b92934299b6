//! What each kind of statement leads to.

use super::Session;
use super::guard::{Effect, effect_of};
use super::views;
use crate::context::ok_info;
use crate::context::{Answer, Done, ResultSink, SessionState, command, status};
use crate::ddl::server_tables;
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{Expr, MaintenanceKind, QueryBody, SelectItem, ShowKind, Statement};
use crate::statements::stages::Stage;
use crate::types::Value;

impl Session {
    /// Runs a parsed statement and sends its result.
    pub(super) fn run_statement(
        &mut self,
        statement: &Statement,
        params: &[Value],
        more: bool,
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        self.measure.kind.set(Some(command::of(statement)));
        if !keeps_diagnostics(statement) {
            self.clear_diagnostics();
        }
        self.carry_out(statement, params, more, out)
    }

    /// Runs a parsed statement; what was wrong with the one before is forgotten by now, if it is to be.
    pub(super) fn carry_out(
        &mut self,
        statement: &Statement,
        params: &[Value],
        more: bool,
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        if let Statement::ExplainConnection { into: true, .. } = statement {
            return Err(SqlError::new(
                er::EXPLAIN_INTO_FOR_CONNECTION_NOT_SUPPORTED,
                "EXPLAIN FOR CONNECTION does not support the INTO clause.",
            ));
        }
        if let Statement::ExplainConnection { id, format, .. } = statement {
            return self.explain_connection(*id, *format, more, out);
        }
        let is_of_dump = server_tables::is_of_dump(&self.state, statement);
        if matches!(statement, Statement::HandlerRead(_)) {
            self.refuse_handler_under_locks()?;
        }
        if is_planned(statement) && !is_of_dump {
            return self.in_own_schema(statement, |session| {
                session
                    .plan_and_run(statement, params.into(), more, out)
                    .map(drop)
            });
        }
        if let Statement::Execute { name, using } = statement {
            self.state.process.counters.add_command(command::of(statement));
            return self.execute_text(name, using, more, out);
        }
        let changes_password = matches!(
            statement,
            Statement::AlterUser { .. } | Statement::SetPassword { .. }
        );
        if !changes_password {
            self.require_fresh_password()?;
        }
        self.admit(match is_of_dump {
            true => Effect::Changes,
            false => effect_of(&self.state, statement),
        })?;
        self.state.process.counters.add_command(command::of(statement));
        self.state.stage(Stage::Executing);
        let answer = match is_of_dump {
            true => {
                self.before_implicit_commit(statement)?;
                server_tables::load(&self.state, statement)?
            }
            false => self.answer(statement, params)?,
        };
        if changes_state(statement) {
            self.state.note_state();
        }
        let dropped = match statement {
            Statement::DropDatabase { .. } => status::DB_DROPPED,
            _ => 0,
        };
        let status = self.status_with(more) | dropped;
        match answer {
            Answer::Ok(done) => {
                self.state.row_count.set(done.affected_rows as i64);
                out.ok(&ok_info(&self.state, &done, status))
            }
            Answer::Rows(rows) => {
                self.state.row_count.set(-1);
                self.state.sent.set(rows.rows.len() as u64);
                if counts_rows(statement) {
                    self.state.found_rows.set(rows.rows.len() as u64);
                }
                let warnings = match is_about_warnings(statement) {
                    true => 0,
                    false => self.state.warnings.count(),
                };
                rows.send(&self.state, warnings, status, out)
            }
        }
    }

    /// Everything that is not planned.
    fn answer(&mut self, statement: &Statement, params: &[Value]) -> Result<Answer> {
        if crate::ddl::temporary::is_of_temporary(&self.state, statement) {
            return self.change_temporary(statement, params);
        }
        if let Statement::CreateTable(create) = statement
            && let Some(query) = &create.query
        {
            self.before_implicit_commit(statement)?;
            self.check_locked_definitions(statement)?;
            let answer = self.create_filled(create, query, params)?;
            views::refresh(&self.state, statement);
            self.record();
            return Ok(answer);
        }
        if crate::ddl::is_ddl(statement) {
            self.before_implicit_commit(statement)?;
            if let Statement::Histogram {
                tables,
                columns,
                change,
            } = statement
            {
                let may = |table: &TableDef| self.check_locked_maintenance(MaintenanceKind::Analyze, table);
                return self.with_definitions(|state| {
                    crate::ddl::change_histograms(state, tables, columns, change, &may)
                });
            }
            if let Statement::TableMaintenance { kind, tables } = statement {
                let may = |table: &TableDef| self.check_locked_maintenance(*kind, table);
                let maintain = |state: &SessionState| crate::ddl::maintain(state, *kind, tables, &may);
                let is_temporary = |name| self.state.temporary_table(name).is_some();
                return match tables.iter().all(is_temporary) {
                    true => maintain(&self.state),
                    false => self.with_definitions(maintain),
                };
            }
            self.check_locked_definitions(statement)?;
            let answer = self.with_definitions(|state| {
                let answer = match statement {
                    Statement::CreateView(create) => views::create(state, create)?,
                    _ => crate::ddl::execute(state, statement)?,
                };
                views::refresh(state, statement);
                Ok(answer)
            })?;
            self.after_ddl(statement);
            self.record();
            return Ok(answer);
        }
        if crate::ddl::accounts::is_account_statement(statement) {
            self.before_implicit_commit(statement)?;
            let answer = self.with_definitions(|state| crate::ddl::accounts::execute(state, statement))?;
            self.record();
            let info = &mut self.state.info;
            // Its password may be a new one now.
            info.password_expired &= self.state.database.is_password_expired(&info.account);
            return Ok(answer);
        }
        match statement {
            Statement::ChecksumTable { tables, quick } => self.checksum(tables, *quick),
            Statement::Begin(options) => self.begin(options),
            Statement::Commit { chain, release } => self.commit(*chain, *release),
            Statement::Rollback { chain, release } => self.rollback(*chain, *release),
            Statement::Savepoint(name) => self.savepoint(name),
            Statement::RollbackTo(name) => self.rollback_to(name),
            Statement::ReleaseSavepoint(name) => self.release_savepoint(name),
            Statement::SetTransaction(set) => self.set_transaction(set),
            Statement::Set(items) => self.set(items, params),
            Statement::SetRole(choice) => crate::ddl::roles::choose(&self.state, choice),
            Statement::Use(name) => self.change_database(name).map(|()| Answer::ok()),
            Statement::Show(show) => crate::show::show(&self.state, show).map(Answer::Rows),
            Statement::Describe { table, column } => {
                crate::show::describe(&self.state, table, column.as_deref()).map(Answer::Rows)
            }
            Statement::Prepare { name, source } => self.prepare_text(name, source),
            Statement::Deallocate(name) => self.deallocate(name),
            Statement::Kill { id, query_only } => self.kill(id, *query_only),
            Statement::Flush(options) => self.flush(options),
            Statement::FlushTablesWithLock(tables) => self.flush_with_lock(tables),
            Statement::Shutdown => self.shutdown(),
            Statement::Restart => self.restart(),
            Statement::InstallComponents(names) => {
                self.commit_open()?;
                crate::ddl::components::install(&self.state, names)
            }
            Statement::UninstallComponents(names) => {
                self.commit_open()?;
                crate::ddl::components::uninstall(&self.state, names)
            }
            Statement::ResetPersist { if_exists, name } => self.reset_persist(*if_exists, name.as_deref()),
            Statement::CloneLocal(path) => self.clone_local(path),
            Statement::ReloadTls { keep_on_error } => self.reload_tls(*keep_on_error),
            Statement::LockTables(tables) => self.lock_tables(tables),
            Statement::UnlockTables => {
                self.unlock_tables_statement()?;
                Ok(Answer::Ok(Done::default()))
            }
            Statement::LockInstance => self.lock_instance(),
            Statement::UnlockInstance => self.unlock_instance(),
            Statement::HandlerOpen { table, alias } => self.open_handler(table, alias.as_deref()),
            Statement::HandlerClose(name) => self.close_handler(name),
            Statement::Empty => Ok(Answer::ok()),
            Statement::Unsupported(what) => Err(SqlError::not_supported(what)),
            Statement::CreateTrigger(_) => Err(SqlError::not_supported("CREATE TRIGGER")),
            Statement::CreateEvent(_) => Err(SqlError::not_supported("CREATE EVENT")),
            Statement::AlterEvent(_) => Err(SqlError::not_supported("ALTER EVENT")),
            Statement::Call(_) => Err(SqlError::not_supported("CALL")),
            Statement::Signal(_) => Err(SqlError::not_supported("SIGNAL")),
            Statement::Resignal(_) => Err(SqlError::not_supported("RESIGNAL")),
            Statement::GetDiagnostics(_) => Err(SqlError::not_supported("GET DIAGNOSTICS")),
            _ => Err(SqlError::not_supported("this statement")),
        }
    }

    pub(super) fn before_implicit_commit(&mut self, statement: &Statement) -> Result<()> {
        self.commit_open()?;
        self.forget_characteristics();
        let only_reads = matches!(statement, Statement::TableMaintenance { kind, .. } if *kind != MaintenanceKind::Optimize);
        if self.state.settings.read_only && !only_reads {
            return Err(SqlError::read_only_transaction());
        }
        Ok(())
    }

    /// Tells the server's log of a change of accounts or definitions, as the process list shows it: without passwords.
    fn record(&self) {
        let info = &self.state.info;
        self.state.process.with_current(|current| {
            let text = current.text();
            let text = String::from_utf8_lossy(&text);
            log::info!(
                "connection {} ({}@{}): {text}",
                info.connection_id,
                info.user,
                info.host
            );
        });
    }

    /// A dropped current database is no longer current.
    fn after_ddl(&mut self, statement: &Statement) {
        if let Statement::DropDatabase { name, .. } = statement
            && self.state.schema.as_deref() == Some(name)
        {
            self.state.schema = None;
            self.state.process.set_schema(None);
            self.state.note_schema();
            self.forget_meters();
            self.plans.clear();
        }
    }
}

/// Whether a statement that succeeded has changed something that is the session's alone. SET, USE and ALTER TABLE
/// say so themselves.
fn changes_state(statement: &Statement) -> bool {
    match statement {
        Statement::Prepare { .. } | Statement::Deallocate(_) => true,
        Statement::CreateTable(create) => create.temporary,
        Statement::DropTable { temporary, .. } => *temporary,
        _ => false,
    }
}

pub(super) fn is_planned(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Insert(_)
            | Statement::LoadData(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_)
            | Statement::Explain(_)
            | Statement::HandlerRead(_)
    )
}

/// Whether a statement shows the warnings of the one before, and has none itself.
fn is_about_warnings(statement: &Statement) -> bool {
    let Statement::Show(show) = statement else {
        return false;
    };
    matches!(
        show.what,
        ShowKind::Warnings { .. } | ShowKind::Errors { .. } | ShowKind::CountWarnings | ShowKind::CountErrors
    )
}

/// Whether FOUND_ROWS() counts the rows of a statement that is not planned: in MySQL those that are queries of INFORMATION_SCHEMA, not those
/// that the server writes by itself.
fn counts_rows(statement: &Statement) -> bool {
    let show = match statement {
        Statement::Show(show) => show,
        other => return matches!(other, Statement::Describe { .. }),
    };
    !matches!(
        show.what,
        ShowKind::Warnings { .. }
            | ShowKind::Errors { .. }
            | ShowKind::ProcessList { .. }
            | ShowKind::EngineStatus { .. }
            | ShowKind::Privileges
            | ShowKind::MasterStatus
            | ShowKind::BinaryLogs
            | ShowKind::ReplicaStatus { .. }
            | ShowKind::Replicas
            | ShowKind::RelaylogEvents { .. }
            | ShowKind::Profiles
            | ShowKind::Grants { .. }
            | ShowKind::CreateTable(_)
            | ShowKind::CreateView(_)
            | ShowKind::CreateDatabase { .. }
            | ShowKind::CreateUser(_)
            | ShowKind::CreateProgram { .. }
    )
}

/// SHOW WARNINGS and its like look at the diagnostics of the statement before.
pub(super) fn keeps_diagnostics(statement: &Statement) -> bool {
    match statement {
        Statement::Show(show) => matches!(
            show.what,
            ShowKind::Warnings { .. } | ShowKind::Errors { .. } | ShowKind::CountWarnings | ShowKind::CountErrors
        ),
        Statement::Query(query) => match &query.body {
            QueryBody::Select(select) if select.from.is_empty() => select.items.iter().any(|item| {
                matches!(
                    item,
                    SelectItem::Expr { expr: Expr::SysVar { name, .. }, .. }
                        if name.eq_ignore_ascii_case("warning_count") || name.eq_ignore_ascii_case("error_count")
                )
            }),
            _ => false,
        },
        _ => false,
    }
}

//! What each kind of statement leads to.

use super::Session;
use super::guard::{Effect, effect_of};
use super::views;
use crate::context::ok_info;
use crate::context::{Answer, Done, ResultSink, SessionState, command, status};
use crate::ddl::server_tables;
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use crate::exec::Receiver;
use crate::parse::ast::{Class, MaintenanceKind, Statement, StatementKind};
use crate::program::diagnostics;
use crate::statements::stages::Stage;
use crate::types::Value;

impl Session {
    /// Runs a parsed statement and sends its result.
    pub(super) fn run_statement(
        &mut self,
        statement: &Statement,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        self.measure.kind.set(Some(command::of(statement)));
        if !statement.facts().keeps_diagnostics {
            self.clear_diagnostics();
        }
        self.carry_out(statement, params, out)
    }

    /// Runs a parsed statement; what was wrong with the one before is forgotten by now, if it is to be.
    pub(super) fn carry_out(
        &mut self,
        statement: &Statement,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        if let Statement::ExplainConnection { into: true, .. } = statement {
            return Err(SqlError::new(
                er::EXPLAIN_INTO_FOR_CONNECTION_NOT_SUPPORTED,
                "EXPLAIN FOR CONNECTION does not support the INTO clause.",
            ));
        }
        if let Statement::ExplainConnection { id, format, .. } = statement {
            return self.explain_connection(*id, *format, out);
        }
        let is_of_dump = server_tables::is_of_dump(&self.state, statement);
        if matches!(statement, Statement::HandlerRead(_)) {
            self.refuse_handler_under_locks()?;
        }
        if statement.is_planned() && !is_of_dump {
            return self.in_own_schema(statement, |session| {
                session
                    .plan_and_run(statement, params.into(), &mut Receiver::Sink(out))
                    .map(drop)
            });
        }
        if let Statement::Execute { name, using } = statement {
            self.state.process.counters.add_command(command::of(statement));
            return self.execute_text(name, using, out);
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
        let warned_before = self.state.warnings.count();
        let answer = match (is_of_dump, statement) {
            (true, _) => {
                self.before_implicit_commit(statement)?;
                server_tables::load(&self.state, statement)?
            }
            (false, Statement::Call(called)) => self.call(called, params, out)?,
            (false, _) => self.answer(statement, params)?,
        };
        if statement.facts().changes_state {
            self.state.note_state();
        }
        let dropped = match statement {
            Statement::DropDatabase { .. } => status::DB_DROPPED,
            _ => 0,
        };
        let status = self.status() | dropped;
        match answer {
            Answer::Ok(done) => {
                self.state.row_count.set(done.affected_rows as i64);
                if self.is_in_program() {
                    return Ok(());
                }
                let mut info = ok_info(&self.state, &done, status);
                if statement.facts().keeps_diagnostics {
                    info.warnings = info.warnings.saturating_sub(warned_before);
                }
                out.ok(&info)
            }
            Answer::Rows(rows) => {
                self.state.row_count.set(-1);
                self.state.sent.set(rows.rows.len() as u64);
                if statement.facts().counts_rows {
                    self.state.found_rows.set(rows.rows.len() as u64);
                }
                let is_silent = statement.facts().keeps_diagnostics || self.is_in_program();
                let warnings = match is_silent {
                    true => 0,
                    false => self.state.warnings.count(),
                };
                rows.send(&self.state, warnings, status, out)
            }
        }
    }

    /// Everything that is not planned.
    fn answer(&mut self, statement: &Statement, params: &[Value]) -> Result<Answer> {
        match statement.facts().class {
            Class::Definitions => self.change_definitions(statement, params),
            Class::Accounts => self.change_accounts(statement),
            Class::Planned | Class::Other => self.carry_out_directly(statement, params),
        }
    }

    fn change_definitions(&mut self, statement: &Statement, params: &[Value]) -> Result<Answer> {
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
        Ok(answer)
    }

    fn change_accounts(&mut self, statement: &Statement) -> Result<Answer> {
        self.before_implicit_commit(statement)?;
        let answer = self.with_definitions(|state| crate::ddl::accounts::execute(state, statement))?;
        self.record();
        let info = &mut self.state.info;
        // Its password may be a new one now.
        info.password_expired &= self.state.database.is_password_expired(&info.account);
        Ok(answer)
    }

    /// What the session does itself, each kind in its own way.
    fn carry_out_directly(&mut self, statement: &Statement, params: &[Value]) -> Result<Answer> {
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
            Statement::Signal(signal) => self.signal(signal, params),
            Statement::Resignal(_) => Err(diagnostics::no_active_handler()),
            Statement::GetDiagnostics(get) => self.get_diagnostics(get, params),
            // Those of the other classes, and those that were carried out before.
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::LoadData(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Do(_)
            | Statement::Explain(_)
            | Statement::ExplainConnection { .. }
            | Statement::Execute { .. }
            | Statement::HandlerRead(_)
            | Statement::CreateDatabase { .. }
            | Statement::AlterDatabase { .. }
            | Statement::DropDatabase { .. }
            | Statement::CreateTable(_)
            | Statement::AlterTable(_)
            | Statement::DropTable { .. }
            | Statement::CreateView(_)
            | Statement::DropView { .. }
            | Statement::TruncateTable(_)
            | Statement::RenameTable(_)
            | Statement::CreateIndex { .. }
            | Statement::DropIndex { .. }
            | Statement::TableMaintenance { .. }
            | Statement::Histogram { .. }
            | Statement::CreateUser { .. }
            | Statement::AlterUser { .. }
            | Statement::DropUser { .. }
            | Statement::RenameUser(_)
            | Statement::SetPassword { .. }
            | Statement::Grant(_)
            | Statement::Revoke(_)
            | Statement::CreateRole { .. }
            | Statement::DropRole { .. }
            | Statement::CreateRoutine(_)
            | Statement::AlterRoutine(_)
            | Statement::Call(_)
            | Statement::DropProgram { .. }
            | Statement::GrantRoles(_)
            | Statement::RevokeRoles(_)
            | Statement::SetDefaultRole { .. } => Err(SqlError::not_supported("this statement")),
        }
    }

    pub(super) fn before_implicit_commit(&mut self, statement: &Statement) -> Result<()> {
        self.commit_open()?;
        self.forget_characteristics();
        let only_reads = matches!(
            statement.kind(),
            StatementKind::Analyze | StatementKind::Check | StatementKind::Repair
        );
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

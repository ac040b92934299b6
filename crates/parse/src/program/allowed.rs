//! Which statements may stand in a stored program.
//!
//! Some may stand in none (errors 1303, 1314, 1357, 1576). Functions and triggers, which are executed within a statement, may not commit,
//! nor send rows, nor prepare statements: that is said at the body's end, in MySQL's order, whichever came first in the text.

use crate::ast::*;
use crate::parser::Parser;
use tidemark_types::error::{Result, SqlError};

/// What a body has that a function or a trigger may not have.
#[derive(Default)]
pub(crate) struct Found {
    dynamic: bool,
    result: bool,
    sets_autocommit: bool,
    commits: bool,
    reset: bool,
    flush: bool,
}

impl Found {
    /// The error of a function's or a trigger's body.
    pub(super) fn error(&self, kind: ProgramKind) -> Result<()> {
        let what = match kind {
            ProgramKind::Function => "function",
            ProgramKind::Trigger => "trigger",
            ProgramKind::Procedure | ProgramKind::Event => return Ok(()),
        };
        if self.dynamic {
            Err(SqlError::not_in_functions("Dynamic SQL"))
        } else if self.result {
            Err(SqlError::no_result_from(what))
        } else if self.sets_autocommit {
            Err(SqlError::autocommit_in_function())
        } else if self.commits {
            Err(SqlError::commit_in_function())
        } else if self.reset {
            Err(SqlError::not_in_functions("RESET"))
        } else if self.flush {
            Err(SqlError::not_in_functions("FLUSH"))
        } else {
            Ok(())
        }
    }
}

impl Parser<'_> {
    /// Looks at a statement of a body: an error, if no program may have it.
    pub(super) fn admit(&mut self, statement: &Statement) -> Result<()> {
        if self.param_count() > 0 {
            return Err(SqlError::syntax("?", 1));
        }
        let found = &mut self.scope().found;
        match statement {
            Statement::Unsupported(what) => return Err(SqlError::not_supported(what)),
            Statement::Use(_) => return Err(SqlError::not_in_programs("USE")),
            Statement::LockTables(_) => return Err(SqlError::not_in_programs("LOCK")),
            Statement::UnlockTables => return Err(SqlError::not_in_programs("UNLOCK")),
            Statement::LoadData(_) => return Err(SqlError::not_in_programs("LOAD DATA")),
            Statement::TableMaintenance {
                kind: MaintenanceKind::Check,
                ..
            } => return Err(SqlError::not_in_programs("CHECK")),
            Statement::HandlerOpen { .. } | Statement::HandlerRead(_) | Statement::HandlerClose(_) => {
                return Err(SqlError::not_in_programs("HANDLER"));
            }
            Statement::CreateView(view) if view.form == ViewForm::Alter => {
                return Err(SqlError::not_in_programs("ALTER VIEW"));
            }
            Statement::DropProgram {
                kind: ProgramKind::Procedure,
                ..
            } => {
                return Err(SqlError::program_dropped_in_program("PROCEDURE"));
            }
            Statement::DropProgram {
                kind: ProgramKind::Function,
                ..
            } => {
                return Err(SqlError::program_dropped_in_program("FUNCTION"));
            }
            Statement::AlterRoutine(alter) => {
                return Err(SqlError::program_dropped_in_program(alter.kind.word()));
            }

            Statement::Query(query) => found.result |= query.into.is_none(),
            Statement::Explain(_)
            | Statement::ExplainConnection { .. }
            | Statement::Show(_)
            | Statement::Describe { .. }
            | Statement::ChecksumTable { .. } => found.result = true,
            Statement::TableMaintenance { .. } | Statement::Histogram { .. } => {
                found.result = true;
                found.commits = true;
            }
            Statement::Prepare { .. } | Statement::Deallocate(_) => found.dynamic = true,
            Statement::Execute { .. } => {
                found.dynamic = true;
                found.result = true;
            }
            Statement::Set(items) => {
                let sets_autocommit =
                    |item: &SetItem| matches!(item, SetItem::Variable { name, .. } if name == "autocommit");
                found.sets_autocommit |= items.iter().any(sets_autocommit);
            }
            // MySQL takes this for a variable, too.
            Statement::SetPassword { .. } => found.sets_autocommit = true,
            Statement::Flush(_) | Statement::FlushTablesWithLock(_) => found.flush = true,
            Statement::ResetPersist { .. } => found.reset = true,
            Statement::CreateTable(create) => found.commits |= !create.temporary,
            Statement::DropTable { temporary, .. } => found.commits |= !*temporary,
            other => found.commits |= commits(other),
        }
        Ok(())
    }
}

/// Returns true if a statement, none of those above, ends the transaction.
fn commits(statement: &Statement) -> bool {
    match statement {
        Statement::Begin(_)
        | Statement::Commit { .. }
        | Statement::Rollback { .. }
        | Statement::CreateDatabase { .. }
        | Statement::AlterDatabase { .. }
        | Statement::DropDatabase { .. }
        | Statement::AlterTable(_)
        | Statement::CreateView(_)
        | Statement::DropView { .. }
        | Statement::TruncateTable(_)
        | Statement::RenameTable(_)
        | Statement::CreateIndex { .. }
        | Statement::DropIndex { .. }
        | Statement::CreateUser { .. }
        | Statement::AlterUser { .. }
        | Statement::DropUser { .. }
        | Statement::RenameUser(_)
        | Statement::Grant(_)
        | Statement::Revoke(_)
        | Statement::CreateRole { .. }
        | Statement::DropRole { .. }
        | Statement::GrantRoles(_)
        | Statement::RevokeRoles(_)
        | Statement::DropProgram { .. }
        | Statement::CreateRoutine(_)
        | Statement::CreateTrigger(_)
        | Statement::CreateEvent(_)
        | Statement::AlterEvent(_)
        | Statement::ReloadTls { .. } => true,

        Statement::Empty
        | Statement::Query(_)
        | Statement::Insert(_)
        | Statement::LoadData(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Do(_)
        | Statement::Explain(_)
        | Statement::ExplainConnection { .. }
        | Statement::Savepoint(_)
        | Statement::RollbackTo(_)
        | Statement::ReleaseSavepoint(_)
        | Statement::SetTransaction(_)
        | Statement::Prepare { .. }
        | Statement::Execute { .. }
        | Statement::Deallocate(_)
        | Statement::Set(_)
        | Statement::Use(_)
        | Statement::Show(_)
        | Statement::Describe { .. }
        | Statement::Kill { .. }
        | Statement::ResetPersist { .. }
        | Statement::Flush(_)
        | Statement::FlushTablesWithLock(_)
        | Statement::HandlerOpen { .. }
        | Statement::HandlerRead(_)
        | Statement::HandlerClose(_)
        | Statement::LockTables(_)
        | Statement::UnlockTables
        | Statement::CreateTable(_)
        | Statement::DropTable { .. }
        | Statement::ChecksumTable { .. }
        | Statement::TableMaintenance { .. }
        | Statement::Histogram { .. }
        | Statement::SetPassword { .. }
        | Statement::SetDefaultRole { .. }
        | Statement::InstallComponents(_)
        | Statement::UninstallComponents(_)
        | Statement::CloneLocal(_)
        | Statement::LockInstance
        | Statement::UnlockInstance
        | Statement::Shutdown
        | Statement::Restart
        | Statement::SetRole(_)
        | Statement::AlterRoutine(_)
        | Statement::Call(_)
        | Statement::Signal(_)
        | Statement::Resignal(_)
        | Statement::GetDiagnostics(_)
        | Statement::Unsupported(_) => false,
    }
}

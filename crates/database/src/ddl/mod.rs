//! Statements that change definitions.
//!
//! Each takes the metadata locks it needs for itself alone, does all its work in one [`DefinitionChange`] of the dictionary
//! (which is one transaction on the engine's catalog), and commits it: after a crash the statement has happened
//! wholly or not at all. The session has committed its own transaction before.

pub mod accounts;
mod alter;
mod check;
pub mod checksum;
pub(crate) mod column;
pub mod components;
mod create;
pub mod create_filled;
mod database;
mod default;
mod drop;
mod foreign_key;
mod foreign_key_rows;
mod generated;
mod histogram;
mod index;
mod maintenance;
mod passwords;
pub(crate) mod program;
pub mod roles;
pub mod server_tables;
pub mod temporary;
pub mod view;

use crate::context::SessionState;
use crate::context::answer::Answer;
use crate::dictionary::{CheckDef, ColumnDef, DefinitionChange, IndexDef, TableDef, virtual_schema};
use crate::error::{Result, SqlError, er};
use crate::expr::{Binder, Expr, PlainHooks, Scope};
use crate::mdl::{Block, Mode, ObjectKey};
use crate::parse::ast::{HistogramChange, MaintenanceKind, ObjectName, Statement};
use crate::parse::parse_expression;
use std::sync::Arc;

/// Carries out a statement of [`Class::Definitions`], but for [`maintain`] and CREATE VIEW, whose query is to be planned: [`view`].
pub fn execute(state: &SessionState, statement: &Statement) -> Result<Answer> {
    let run = DdlContext::new(state);
    match statement {
        Statement::CreateDatabase {
            name,
            if_not_exists,
            charset,
            collation,
        } => run.create_database(name, *if_not_exists, charset.as_deref(), collation.as_deref()),
        Statement::AlterDatabase {
            name,
            charset,
            collation,
        } => run.alter_database(name.as_deref(), charset.as_deref(), collation.as_deref()),
        Statement::DropDatabase { name, if_exists } => run.drop_database(name, *if_exists),
        Statement::CreateTable(create) => run.create_table(create),
        Statement::AlterTable(alter) => run.alter_table(alter),
        Statement::DropTable {
            tables,
            if_exists,
            temporary,
        } => run.drop_tables(tables, *if_exists, *temporary),
        Statement::DropView { views, if_exists } => run.drop_views(views, *if_exists),
        Statement::CreateRoutine(create) => run.create_routine(create),
        Statement::AlterRoutine(alter) => run.alter_routine(alter),
        Statement::DropProgram {
            kind,
            name,
            if_exists,
        } => run.drop_program(*kind, name, *if_exists),
        Statement::TruncateTable(name) => run.truncate(name),
        Statement::RenameTable(pairs) => run.rename_tables(pairs),
        Statement::CreateIndex {
            table,
            index,
            if_not_exists,
            demands,
        } => run.create_index(table, index, demands, *if_not_exists),
        Statement::DropIndex {
            table,
            index,
            demands,
        } => run.drop_index(table, index, demands),
        _ => Err(SqlError::not_supported("this statement")),
    }
}

/// ANALYZE TABLE … UPDATE HISTOGRAM and DROP HISTOGRAM. `may` says whether the session's own locks allow it.
pub fn change_histograms(
    state: &SessionState,
    tables: &[ObjectName],
    columns: &[String],
    change: &HistogramChange,
    may: &dyn Fn(&TableDef) -> Result<()>,
) -> Result<Answer> {
    DdlContext::new(state).change_histograms(tables, columns, change, may)
}

/// ANALYZE, OPTIMIZE, CHECK or REPAIR TABLE. `may` says whether the session's own locks allow it.
pub fn maintain(
    state: &SessionState,
    kind: MaintenanceKind,
    tables: &[ObjectName],
    may: &dyn Fn(&TableDef) -> Result<()>,
) -> Result<Answer> {
    DdlContext::new(state).maintain(kind, tables, may)
}

/// One statement's run; the metadata locks it took end with it.
struct DdlContext<'a> {
    state: &'a SessionState,
    owned_before: usize,
    used_before: usize,
}

impl Drop for DdlContext<'_> {
    fn drop(&mut self) {
        let locks = &self.state.locks;
        locks.release_owned_after(self.owned_before);
        locks.release_used_after(self.used_before);
    }
}

impl<'a> DdlContext<'a> {
    fn new(state: &'a SessionState) -> DdlContext<'a> {
        DdlContext {
            state,
            owned_before: state.locks.owned_count(),
            used_before: state.locks.used_count(),
        }
    }

    /// Keeps other sessions off a table name, and the database from being dropped.
    fn own_table(&self, schema: &str, name: &str) -> Result<()> {
        let locks = &self.state.locks;
        let dictionary = self.state.database.dictionary();
        let database = dictionary.locks().lock(ObjectKey::schema(schema));
        let table = dictionary.locks().table(schema, name);
        self.state
            .with_wait_policy(|policy| locks.use_table(&database, Mode::Read, policy))?;
        self.state
            .with_wait_policy(|policy| locks.own(&table, Block::Definition, policy))
    }

    /// [`DdlContext::own_table`] for several, always in the same order.
    fn own_tables(&self, names: &[(&str, &str)]) -> Result<()> {
        let mut names = names.to_vec();
        names.sort_unstable();
        names.dedup();
        names
            .iter()
            .try_for_each(|(schema, name)| self.own_table(schema, name))
    }

    fn own_database(&self, schema: &str) -> Result<()> {
        let lock = self
            .state
            .database
            .dictionary()
            .locks()
            .lock(ObjectKey::schema(schema));
        self.state
            .with_wait_policy(|policy| self.state.locks.own(&lock, Block::Definition, policy))
    }

    /// The database and name of a table to be changed; a database that is not stored cannot be.
    fn target<'n>(&'n self, name: &'n ObjectName) -> Result<(&'n str, &'n str)> {
        let (schema, name) = self.state.resolve(name)?;
        if virtual_schema(schema).is_some() {
            return Err(self.state.database_denied(schema));
        }
        Ok((schema, name))
    }

    fn change(&self) -> Result<DefinitionChange<'a>> {
        Ok(self.state.database.dictionary().change_by(self.state.ddl()?))
    }

    fn note(&self, error: SqlError) {
        self.state.warnings.note(error);
    }

    fn warn(&self, error: SqlError) {
        self.state.warnings.warn(error);
    }

    /// An expression over a table's columns, whose names it may use.
    fn bind(&self, columns: &[ColumnDef], text: &str) -> Result<Expr> {
        self.bind_with(
            columns,
            text,
            "default value expression",
            |binder, parsed, scope| binder.bind(parsed, scope, &mut PlainHooks),
        )
    }

    /// The same of a generated column or a functional key part, in a clause that error texts name.
    fn bind_in(&self, columns: &[ColumnDef], text: &str, clause: &'static str) -> Result<Expr> {
        self.bind_with(columns, text, clause, |binder, parsed, scope| {
            binder.bind_generated(parsed, scope)
        })
    }

    fn bind_with(
        &self,
        columns: &[ColumnDef],
        text: &str,
        clause: &'static str,
        bind: impl FnOnce(&Binder, &crate::parse::ast::Expr, &Scope) -> Result<Expr>,
    ) -> Result<Expr> {
        static NO_NAME: String = String::new();
        let parsed = parse_expression(text)?;
        let scope = Scope::of_row(columns.iter().map(|column| match column.is_key_part() {
            true => (&NO_NAME, &column.ty),
            false => (&column.name, &column.ty),
        }));
        let ctx = self.state.bind_ctx();
        let binder = Binder {
            ctx: &ctx,
            session: self.state,
            params: &[],
            clause,
        };
        bind(&binder, &parsed, &scope)
    }

    /// The CHECK constraints that are enforced, by name.
    fn bind_checks(&self, columns: &[ColumnDef], checks: &[CheckDef]) -> Result<Vec<(String, Expr)>> {
        let mut bound = Vec::new();
        for check in checks {
            let expr = self.bind(columns, &check.expression)?;
            if check.enforced {
                bound.push((check.name.clone(), expr));
            }
        }
        Ok(bound)
    }

    /// Refuses generated columns, DEFAULT expressions and CHECKs that could not be evaluated later.
    fn check_expressions(
        &self,
        columns: &[ColumnDef],
        indexes: &[IndexDef],
        checks: &[CheckDef],
    ) -> Result<()> {
        self.check_generated(columns, indexes)?;
        for text in columns.iter().filter_map(default::expression) {
            self.bind(columns, text)?;
        }
        default::against_columns(columns)?;
        check::against_columns(checks, columns)?;
        self.bind_checks(columns, checks).map(drop)
    }

    /// A table that is no view, the session's temporary one first. Errors 1049, 1146 and 1347.
    fn table(&self, schema: &str, name: &str) -> Result<Arc<TableDef>> {
        if let Some(table) = self.temporary(schema, name) {
            return Ok(table);
        }
        self.state.database.dictionary().base_table(schema, name)
    }

    fn find_base_table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        let found = self.state.database.dictionary().find_table(schema, name);
        found.filter(|table| !table.is_view())
    }
}

/// Errors 1103 and 1059.
fn check_table_name(name: &str) -> Result<()> {
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::new(
            er::WRONG_TABLE_NAME,
            format!("Incorrect table name '{name}'"),
        ));
    }
    column::check_identifier(name)
}

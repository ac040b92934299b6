//! CREATE VIEW and ALTER VIEW, and what becomes of views when tables change.
//!
//! A view's definition has its columns, as they were when it was made: SHOW and `information_schema` look at them without
//! planning its query. So each change of tables is followed by a look at the views that name them, whose columns are stored
//! anew, or which are stored as invalid until their tables are there again.

use crate::context::{Answer, SessionState};
use crate::ddl::view::{self, ViewBody};
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError};
use crate::parse::ast::{CreateView, ObjectName, Statement};
use crate::plan::view::define::{refreshed, view_body};
use std::sync::Arc;

/// Makes or replaces a view.
pub(super) fn create(state: &SessionState, create: &CreateView) -> Result<Answer> {
    view::require_rights(state, create)?;
    if let Some(answer) = view::precheck(state, create)? {
        return Ok(answer);
    }
    let definer = view::definer(state, create.definer.as_ref())?;
    let body = view_body(state, create, definer)?;
    view::define(state, create, body)
}

/// Stores what a change of tables has made of the views that lead to them. A failure is the server's to tell: the statement has
/// been carried out.
pub(super) fn refresh(state: &SessionState, statement: &Statement) {
    let mut changed = changed(state, statement);
    let mut done: Vec<(String, String)> = Vec::new();
    // Views of views see each other's columns as they are stored.
    let _permanent = state.temporary.hide();
    while !changed.is_empty() {
        let views = dependents(state, &changed, &done);
        changed = views
            .iter()
            .map(|table| (table.schema.clone(), table.name.clone()))
            .collect();
        done.extend(changed.iter().cloned());
        let bodies = views.into_iter().filter_map(|table| {
            let view = table.view.clone()?;
            let body: ViewBody = refreshed(state, &table, &view)?;
            Some((table, body))
        });
        let stored = view::refresh(state, bodies.collect());
        if let Err(error) = stored {
            log::error!("the columns of views could not be stored: {error}");
            return;
        }
    }
}

/// The names that a statement has changed the tables of.
fn changed(state: &SessionState, statement: &Statement) -> Vec<(String, String)> {
    let named = |name: &ObjectName| {
        let resolved: Result<(&str, &str), SqlError> = state.resolve(name);
        resolved
            .ok()
            .map(|(schema, name)| (schema.to_owned(), name.to_owned()))
    };
    let names: Vec<&ObjectName> = match statement {
        Statement::CreateTable(create) => vec![&create.name],
        Statement::CreateView(create) => vec![&create.name],
        Statement::AlterTable(alter) => {
            let renamed = alter.actions.iter().filter_map(|action| match action {
                crate::parse::ast::AlterAction::RenameTo(new) => Some(new),
                _ => None,
            });
            std::iter::once(&alter.name).chain(renamed).collect()
        }
        Statement::DropTable { tables, .. } | Statement::DropView { views: tables, .. } => {
            tables.iter().collect()
        }
        Statement::RenameTable(pairs) => pairs.iter().flat_map(|(old, new)| [old, new]).collect(),
        Statement::DropDatabase { name, .. } => {
            let dictionary = state.database.dictionary();
            let all = dictionary.schema_names();
            let tables = all.iter().flat_map(|schema| dictionary.tables(schema));
            let views = tables.filter_map(|table| table.view.clone());
            let mut names: Vec<(String, String)> = views.flat_map(|view| view.tables.clone()).collect();
            names.retain(|(schema, _)| schema == name);
            return names;
        }
        _ => Vec::new(),
    };
    names.into_iter().filter_map(named).collect()
}

/// The views whose queries name one of these, without those that are done.
fn dependents(
    state: &SessionState,
    names: &[(String, String)],
    done: &[(String, String)],
) -> Vec<Arc<TableDef>> {
    let dictionary = state.database.dictionary();
    let schemas = dictionary.schema_names();
    let tables = schemas.iter().flat_map(|schema| dictionary.tables(schema));
    let depends = |table: &Arc<TableDef>| {
        let is_done = done
            .iter()
            .any(|(schema, name)| *schema == table.schema && *name == table.name);
        let mut named = table.view.iter().flat_map(|view| &view.tables);
        !is_done && named.any(|name| names.contains(name))
    };
    tables.filter(depends).collect()
}

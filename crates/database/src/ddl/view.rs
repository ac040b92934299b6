//! Definitions of views: which accounts may make them and in whose name, what is in the way, DROP VIEW.
//!
//! What a view's query means is for the planner, far above: it hands a [`ViewBody`] down, which is stored like a table's
//! definition, under the same names and metadata locks, with no table of the engine behind it.

use super::create::now_s;
use super::{DdlContext, check_table_name};
use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::context::answer::Answer;
use crate::dictionary::{ColumnDef, TableDef, TableOptions, ViewDef};
use crate::error::{Result, SqlError, er};
use crate::mdl::TableLock;
use crate::parse::ast::{CreateView, ObjectName, UserName, ViewForm};
use crate::types::Collation;
use std::sync::Arc;
use tidemark_engine::TableId;

/// What the planner has made of a view's query.
pub struct ViewBody {
    /// Its columns.
    pub columns: Vec<ColumnDef>,
    /// What makes it a view.
    pub view: ViewDef,
}

/// Returns the definer of a view or a program to be made: user and host. Error 1227 if the account may not make it in that name.
pub fn definer(state: &SessionState, written: Option<&UserName>) -> Result<(String, String)> {
    let own = &state.info.account;
    let own = (own.user.clone(), own.host.clone());
    let Some(definer) = written.filter(|definer| !definer.current) else {
        return Ok(own);
    };
    if own.0 == definer.user && own.1.eq_ignore_ascii_case(&definer.host) {
        return Ok(own);
    }
    state.require_global(
        Privileges::SET_ANY_DEFINER.union(Privileges::SUPER),
        "SUPER or SET_ANY_DEFINER",
    )?;
    let (user, host) = (&definer.user, &definer.host);
    if state.database.accounts.of_definer(user, host).is_none() {
        if !state.has_global(Privileges::ALLOW_NONEXISTENT_DEFINER.union(Privileges::SUPER)) {
            return Err(crate::accounts::privilege_missing("ALLOW_NONEXISTENT_DEFINER"));
        }
        state.warnings.note(no_such_definer(user, host));
    } else if state.database.is_system_user(user, host) && !state.has_global(Privileges::SYSTEM_USER) {
        return Err(crate::accounts::privilege_missing("SYSTEM_USER"));
    }
    Ok((user.clone(), host.clone()))
}

/// Error 1449.
pub fn no_such_definer(user: &str, host: &str) -> SqlError {
    SqlError::new(
        er::NO_SUCH_USER,
        format!("The user specified as a definer ('{user}'@'{host}') does not exist"),
    )
}

/// Errors 1142, 1046 and 1044 if the account may not make the view.
pub fn require_rights(state: &SessionState, create: &CreateView) -> Result<()> {
    let run = DdlContext::new(state);
    let (schema, name) = run.target(&create.name)?;
    check_table_name(name)?;
    state.require_table(Privileges::CREATE_VIEW, "CREATE VIEW", schema, name)?;
    if matches!(create.form, ViewForm::Replace | ViewForm::Alter) {
        state.require_table(Privileges::DROP, "DROP", schema, name)?;
    }
    Ok(())
}

/// What the statement leads to before its query is looked at: errors 1049, 1050, 1146 and 1347; `Some` if there is nothing to
/// do.
pub fn precheck(state: &SessionState, create: &CreateView) -> Result<Option<Answer>> {
    let (schema, name) = state.resolve(&create.name)?;
    let dictionary = state.database.dictionary();
    if dictionary.schema(schema).is_none() {
        return Err(SqlError::unknown_database(schema));
    }
    match (dictionary.find_table(schema, name), create.form) {
        (Some(_), ViewForm::Create) => Err(SqlError::table_exists(name)),
        (Some(_), ViewForm::CreateIfNotExists) => {
            state.warnings.note(SqlError::table_exists(name));
            Ok(Some(Answer::ok()))
        }
        (Some(table), _) if !table.is_view() => Err(SqlError::wrong_object(schema, name, "VIEW")),
        (None, ViewForm::Alter) => Err(SqlError::no_such_table(schema, name)),
        _ => Ok(None),
    }
}

/// Stores a view.
pub fn define(state: &SessionState, create: &CreateView, body: ViewBody) -> Result<Answer> {
    let run = DdlContext::new(state);
    let (schema, name) = run.target(&create.name)?;
    run.own_table(schema, name)?;
    if let Some(answer) = precheck(state, create)? {
        return Ok(answer);
    }
    let mut change = run.change()?;
    change.put_table(view_table((schema, name), body))?;
    change.commit()?;
    Ok(Answer::ok())
}

/// Stores what has become of views whose tables have changed: their columns, and whether they are valid.
pub fn refresh(state: &SessionState, views: Vec<(Arc<TableDef>, ViewBody)>) -> Result<()> {
    if views.is_empty() {
        return Ok(());
    }
    let run = DdlContext::new(state);
    let mut change = run.change()?;
    for (old, body) in views {
        let mut table = view_table((&old.schema, &old.name), body);
        table.options.created = old.options.created;
        change.put_table(table)?;
    }
    change.commit()
}

fn view_table((schema, name): (&str, &str), body: ViewBody) -> TableDef {
    TableDef {
        lock: TableLock::private(),
        schema: schema.to_owned(),
        name: name.to_owned(),
        id: TableId(0),
        version: 0,
        columns: body.columns,
        indexes: Vec::new(),
        options: TableOptions {
            collation: Collation::DEFAULT,
            comment: String::new(),
            row_format: String::new(),
            created: now_s(),
            checks: Vec::new(),
            statistics: Default::default(),
        },
        foreign_keys: Vec::new(),
        temporary: false,
        view: Some(Arc::new(body.view)),
        histograms: Vec::new(),
    }
}

impl DdlContext<'_> {
    /// DROP VIEW: all of the views, or none.
    pub(super) fn drop_views(&self, views: &[ObjectName], if_exists: bool) -> Result<Answer> {
        let mut names = Vec::with_capacity(views.len());
        for view in views {
            let (schema, name) = self.target(view)?;
            self.state.require_table(Privileges::DROP, "DROP", schema, name)?;
            names.push((schema, name));
        }
        self.own_tables(&names)?;
        let dictionary = self.state.database.dictionary();
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for (schema, name) in names {
            match dictionary.find_table(schema, name) {
                Some(table) if table.is_view() => found.push((schema, name)),
                Some(_) if if_exists => self.note(SqlError::wrong_object(schema, name, "VIEW")),
                Some(_) => return Err(SqlError::wrong_object(schema, name, "VIEW")),
                None => missing.push(format!("{schema}.{name}")),
            }
        }
        if !missing.is_empty() && !if_exists {
            return Err(SqlError::bad_table(&missing.join(",")));
        }
        for name in &missing {
            self.note(SqlError::bad_table(name));
        }
        if found.is_empty() {
            return Ok(Answer::ok());
        }
        found.sort_unstable();
        found.dedup();
        let mut change = self.change()?;
        for (schema, name) in found {
            change.drop_table(schema, name)?;
        }
        change.commit()?;
        Ok(Answer::ok())
    }
}

//! SHOW and DESCRIBE.
//!
//! Each builds its result in memory and then filters it by LIKE (on the first column) or WHERE. Column names and texts
//! are MySQL's, because clients look for them.

pub(crate) mod create;
#[cfg(test)]
mod definition_fuzz;
mod filter;
mod grants;
pub(crate) mod objects;
pub(crate) mod profile;
pub(crate) mod program;
pub(crate) mod server;
pub(crate) mod status;
pub(crate) mod view;

pub use create::foreign_key_text;

use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::context::answer::{ResultRows, bigint};
use crate::dictionary::is_open_schema;
use crate::error::{Result, SqlError};
use crate::parse::ast::{ObjectName, ProgramKind, Show, ShowFilter, ShowKind};
use crate::types::Value;
use status::StatusScope;
use std::borrow::Cow;

const LOG_EVENT_HEADINGS: &[&str] = &[
    "Log_name",
    "Pos",
    "Event_type",
    "Server_id",
    "End_log_pos",
    "Info",
];

const TRIGGER_HEADINGS: &[&str] = &[
    "Trigger",
    "Event",
    "Table",
    "Statement",
    "Timing",
    "Created",
    "sql_mode",
    "Definer",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];

const EVENT_HEADINGS: &[&str] = &[
    "Db",
    "Name",
    "Definer",
    "Time zone",
    "Type",
    "Execute at",
    "Interval value",
    "Interval field",
    "Starts",
    "Ends",
    "Status",
    "Originator",
    "character_set_client",
    "collation_connection",
    "Database Collation",
];

/// Error 1227.
fn require_replication_client(state: &SessionState) -> Result<()> {
    let either = Privileges::REPLICATION_CLIENT.union(Privileges::SUPER);
    state.require_global(either, "SUPER, REPLICATION CLIENT")
}

fn require_replication_slave(state: &SessionState) -> Result<()> {
    state.require_global(Privileges::REPLICATION_SLAVE, "REPLICATION SLAVE")
}

/// Error 3074 for every channel of replication that has a name.
fn refuse_channel(channel: Option<&str>) -> Result<()> {
    match channel {
        None | Some("") => Ok(()),
        Some(channel) => Err(SqlError::new(
            crate::error::er::REPLICA_CHANNEL_DOES_NOT_EXIST,
            format!("Replica channel '{channel}' does not exist."),
        )),
    }
}

/// What SHOW CREATE says of triggers and events, of which there are none.
fn missing_program(state: &SessionState, kind: ProgramKind, name: &ObjectName) -> Result<SqlError> {
    let (schema, name) = state.resolve(name)?;
    Ok(match kind {
        ProgramKind::Procedure => SqlError::program_missing("PROCEDURE", name),
        ProgramKind::Function => SqlError::program_missing("FUNCTION", name),
        ProgramKind::Trigger if state.database.dictionary().schema(schema).is_none() => {
            SqlError::unknown_database(schema)
        }
        ProgramKind::Trigger => SqlError::trigger_missing(),
        ProgramKind::Event => {
            state.require_database(Privileges::EVENT, schema)?;
            SqlError::event_missing(name)
        }
    })
}

/// Runs a SHOW statement.
pub fn show(state: &SessionState, show: &Show) -> Result<ResultRows> {
    if !matches!(show.filter, ShowFilter::None) && !takes_filter(&show.what) {
        let word = match &show.filter {
            ShowFilter::Like(_) => "LIKE",
            _ => "WHERE",
        };
        return Err(SqlError::syntax(word, 1));
    }
    let filter = in_capitals(state, show);
    let mut rows = rows(state, &show.what, &filter)?;
    match filter.as_ref() {
        ShowFilter::None => {}
        // MySQL looks for the database of this name without case, if that is the whole pattern.
        ShowFilter::Like(pattern)
            if matches!(show.what, ShowKind::Databases)
                && pattern.eq_ignore_ascii_case(b"information_schema") =>
        {
            filter::keep_like(&mut rows, named_in(&show.what), b"information_schema")?
        }
        ShowFilter::Like(pattern) => filter::keep_like(&mut rows, named_in(&show.what), pattern)?,
        ShowFilter::Where(condition) => filter::keep_where(&mut rows, condition, state)?,
    }
    Ok(rows)
}

/// The filter of SHOW; a pattern for the tables of `information_schema` in capitals, as their names are.
fn in_capitals<'a>(state: &SessionState, show: &'a Show) -> Cow<'a, ShowFilter> {
    let (ShowKind::Tables { schema, .. } | ShowKind::TableStatus { schema }) = &show.what else {
        return Cow::Borrowed(&show.filter);
    };
    let schema = schema.as_deref().or(state.current_schema().ok());
    match &show.filter {
        ShowFilter::Like(pattern) if schema.is_some_and(is_open_schema) => {
            Cow::Owned(ShowFilter::Like(pattern.to_ascii_uppercase()))
        }
        filter => Cow::Borrowed(filter),
    }
}

/// The column that LIKE is about.
fn named_in(what: &ShowKind) -> usize {
    match what {
        // Behind the database.
        ShowKind::OpenTables { .. } | ShowKind::ProcedureStatus | ShowKind::FunctionStatus => 1,
        _ => 0,
    }
}

/// Whether this SHOW may be followed by LIKE or WHERE.
fn takes_filter(what: &ShowKind) -> bool {
    !matches!(
        what,
        ShowKind::Engines
            | ShowKind::Plugins
            | ShowKind::Privileges
            | ShowKind::ProcessList { .. }
            | ShowKind::Warnings { .. }
            | ShowKind::Errors { .. }
            | ShowKind::CreateTable(_)
            | ShowKind::CreateView(_)
            | ShowKind::CreateDatabase { .. }
            | ShowKind::CreateProgram { .. }
            | ShowKind::BinlogEvents
            | ShowKind::RelaylogEvents { .. }
            | ShowKind::Replicas
            | ShowKind::Grants { .. }
    )
}

fn rows(state: &SessionState, what: &ShowKind, filter: &ShowFilter) -> Result<ResultRows> {
    match what {
        ShowKind::Databases => objects::databases(state, filter),
        ShowKind::Tables { schema, full } => objects::tables(state, schema.as_deref(), *full, filter),
        ShowKind::TableStatus { schema } => objects::table_status(state, schema.as_deref()),
        ShowKind::Columns { table, full } => objects::columns(state, table, *full),
        ShowKind::Index { table } => objects::indexes(state, table),
        ShowKind::CreateTable(name) => create::table(state, name),
        ShowKind::CreateView(name) => view::create_view(state, name),
        ShowKind::CreateDatabase { name, if_not_exists } => create::database(state, name, *if_not_exists),
        ShowKind::CreateUser(user) => grants::create_user(state, user),
        ShowKind::Variables { global } => Ok(server::variables(state, *global)),
        ShowKind::Status { global } => Ok(status::status(
            state,
            match *global {
                true => StatusScope::Global,
                false => StatusScope::Session,
            },
        )),
        ShowKind::ProcessList { full } => Ok(server::process_list(state, *full)),
        ShowKind::Warnings { limit } => Ok(server::diagnostics(state, false, *limit)),
        ShowKind::Errors { limit } => Ok(server::diagnostics(state, true, *limit)),
        ShowKind::CountWarnings => Ok(count("@@session.warning_count", state.warnings.count() as i64)),
        ShowKind::CountErrors => Ok(count("@@session.error_count", state.error_count.get() as i64)),
        ShowKind::Engines => Ok(server::engines()),
        ShowKind::EngineStatus { engine, what } => server::engine_status(state, engine, what),
        ShowKind::Charset => Ok(server::charsets()),
        ShowKind::Collation => Ok(server::collations()),
        ShowKind::Grants { user, using } => grants::grants(state, user.as_ref(), using),
        ShowKind::Privileges => Ok(server::privileges()),
        ShowKind::Plugins => Ok(server::plugins()),
        ShowKind::OpenTables { schema } => objects::open_tables(state, schema.as_deref()),
        ShowKind::Triggers { schema } => {
            objects::schema_or_current(state, schema.as_deref())?;
            Ok(ResultRows::of_text(TRIGGER_HEADINGS, 64))
        }
        ShowKind::Events { schema } => {
            let schema = match schema {
                Some(schema) => schema,
                None => state.current_schema()?,
            };
            state.require_database(Privileges::EVENT, schema)?;
            Ok(ResultRows::of_text(EVENT_HEADINGS, 64))
        }
        ShowKind::ProcedureStatus | ShowKind::FunctionStatus => {
            let kind = match what {
                ShowKind::ProcedureStatus => ProgramKind::Procedure,
                _ => ProgramKind::Function,
            };
            Ok(program::status(state, kind))
        }
        ShowKind::MasterStatus => {
            require_replication_client(state)?;
            let headings = [
                "File",
                "Position",
                "Binlog_Do_DB",
                "Binlog_Ignore_DB",
                "Executed_Gtid_Set",
            ];
            Ok(ResultRows::of_text(&headings, 64))
        }
        ShowKind::BinaryLogs => {
            require_replication_client(state)?;
            Err(SqlError::new(
                crate::error::er::NO_BINARY_LOGGING,
                "You are not using binary logging",
            ))
        }
        ShowKind::ReplicaStatus { channel } => {
            require_replication_client(state)?;
            refuse_channel(channel.as_deref())?;
            Ok(ResultRows::of_text(&["Replica_IO_State"], 64))
        }
        ShowKind::Replicas => {
            require_replication_slave(state)?;
            let headings = ["Server_Id", "Host", "Port", "Source_Id", "Replica_UUID"];
            Ok(ResultRows::of_text(&headings, 64))
        }
        ShowKind::BinlogEvents => {
            require_replication_slave(state)?;
            Ok(ResultRows::of_text(LOG_EVENT_HEADINGS, 64))
        }
        ShowKind::RelaylogEvents { channel } => {
            require_replication_slave(state)?;
            refuse_channel(channel.as_deref())?;
            Ok(ResultRows::of_text(LOG_EVENT_HEADINGS, 64))
        }
        ShowKind::CreateProgram {
            kind: kind @ (ProgramKind::Procedure | ProgramKind::Function),
            name,
        } => program::create_routine(state, *kind, name),
        ShowKind::CreateProgram { kind, name } => Err(missing_program(state, *kind, name)?),
        ShowKind::Profiles => Ok(profile::profiles(state)),
        ShowKind::Profile {
            columns,
            query,
            limit,
        } => Ok(profile::profile(state, *columns, *query, *limit)),
    }
}

/// The columns of [`show`]'s result, for a statement that is only prepared.
pub fn columns(state: &SessionState, show: &Show) -> Vec<crate::types::ColumnMeta> {
    match rows(state, &show.what, &ShowFilter::None) {
        Ok(rows) => metas(state, &rows),
        Err(_) => Vec::new(),
    }
}

/// The columns of DESCRIBE's result.
pub fn describe_columns(state: &SessionState) -> Vec<crate::types::ColumnMeta> {
    metas(state, &objects::column_headings(false))
}

fn metas(state: &SessionState, rows: &ResultRows) -> Vec<crate::types::ColumnMeta> {
    let results = state.results_collation();
    let columns = rows.columns.iter();
    columns
        .map(|(name, ty)| crate::types::ColumnMeta::of_expression(name, ty, results))
        .collect()
}

/// DESCRIBE, with the columns whose names match the LIKE pattern `column`; `None`: all.
pub fn describe(state: &SessionState, table: &ObjectName, column: Option<&str>) -> Result<ResultRows> {
    let mut rows = objects::columns(state, table, false)?;
    if let Some(pattern) = column {
        filter::keep_like(&mut rows, 0, pattern.as_bytes())?;
    }
    Ok(rows)
}

fn count(name: &str, count: i64) -> ResultRows {
    let mut rows = ResultRows::new(&[(name, bigint())]);
    rows.push(vec![Value::Int(count)]);
    rows
}

fn string(text: impl AsRef<str>) -> Value {
    Value::string(text.as_ref().as_bytes())
}

fn optional(text: Option<String>) -> Value {
    text.map_or(Value::Null, |text| Value::string(text.into_bytes()))
}

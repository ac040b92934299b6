//! The server itself, as `performance_schema` shows it: its TLS, the last lines of its log; its file of pages
//! (`information_schema.INNODB_TABLESPACES`); and what its compression
//! of pages does, which is not there (`information_schema.INNODB_CMP` and `INNODB_CMPMEM`).

use super::rows::require_process;
use super::statements::moment;
use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::context::error_log::{self, Logged, Priority};
use crate::error::Result;
use crate::types::Value;
use tidemark_engine::PAGE_SIZE;
use tidemark_engine::disk::counted::FileKind;

type Made = Result<Vec<Vec<Value>>>;

pub fn tls_channel(state: &SessionState) -> Made {
    let tls = state.database.tls.lock().clone();
    let [from, to] = tls.validity();
    let enabled = if tls.validity_s.is_some() { "Yes" } else { "No" };
    let mut properties = vec![("Enabled".to_owned(), enabled.to_owned())];
    let settings = tls.settings.into_iter();
    properties.extend(settings.map(|(name, value)| (format!("Current_tls_{name}"), value)));
    properties.push(("Ssl_server_not_after".to_owned(), to));
    properties.push(("Ssl_server_not_before".to_owned(), from));
    let row = |(name, value): (String, String)| {
        [
            Value::string("mysql_main"),
            Value::string(name),
            Value::string(value),
        ]
    };
    Ok(properties
        .into_iter()
        .map(|property| row(property).to_vec())
        .collect())
}

pub fn error_log(state: &SessionState) -> Made {
    let row = |line: &Logged| {
        let priority = match line.priority {
            Priority::Error => "Error",
            Priority::Warning => "Warning",
            Priority::Note => "Note",
        };
        let subsystem = if line.of_engine { "InnoDB" } else { "Server" };
        vec![
            moment(state, line.micros),
            Value::UInt(0),
            Value::string(priority),
            Value::Null,
            Value::string(subsystem),
            Value::string(line.message.as_str()),
        ]
    };
    Ok(error_log::with(|log| log.lines().map(row).collect()))
}

/// The one file that all tables share.
pub fn tablespaces(state: &SessionState) -> Made {
    const BLOCK: u64 = 4096;
    require_process(state)?;
    let bytes = state.database.engine().status().data_file_pages * PAGE_SIZE as u64;
    let version = crate::variables::VERSION.split('-').next().unwrap_or_default();
    Ok(vec![vec![
        Value::UInt(0),
        Value::string("innodb_system"),
        Value::UInt(0),
        Value::string("Any"),
        Value::UInt(PAGE_SIZE as u64),
        Value::UInt(0),
        Value::string("System"),
        Value::UInt(BLOCK),
        Value::UInt(bytes),
        Value::UInt(bytes),
        Value::UInt(0),
        Value::string(version),
        Value::UInt(1),
        Value::string("N"),
        Value::string("normal"),
    ]])
}

/// A row of zeros for each size that a compressed page could have.
pub fn compression(state: &SessionState) -> Made {
    require_process(state)?;
    let row = |size: i64| [size, 0, 0, 0, 0, 0].map(Value::Int).to_vec();
    Ok([1024, 2048, 4096, 8192, 16384].map(row).to_vec())
}

/// Where the log is, as programs that copy the data directory ask.
pub fn log_status(state: &SessionState) -> Made {
    state.require_global(Privileges::BACKUP_ADMIN, "BACKUP_ADMIN")?;
    let json = |text: String| Value::Json(text.into_bytes().into());
    let status = state.database.engine().status();
    let engines = format!(
        "{{\"InnoDB\": {{\"LSN\": {}, \"LSN_checkpoint\": {}}}}}",
        status.log_tail.0, status.checkpoint.0
    );
    Ok(vec![vec![
        Value::string(state.database.variable("server_uuid").unwrap_or_default()),
        json("{\"gtid_executed\": \"\"}".to_owned()),
        json("{\"channels\": []}".to_owned()),
        json(engines),
    ]])
}

/// The files of the log. Segment *n* holds the positions from *n* times its size on.
pub fn log_files(state: &SessionState) -> Made {
    let engine = state.database.engine();
    let status = engine.status();
    let files = engine.files().all().into_iter();
    let segments: Vec<(u64, String)> = files
        .filter(|file| file.kind == FileKind::Log)
        .filter_map(|file| Some((file.name.strip_prefix("redo-")?.parse().ok()?, file.name)))
        .collect();
    let size = status
        .log_files_bytes
        .checked_div(segments.len() as u64)
        .unwrap_or(0);
    let row = |(number, name): (u64, String)| {
        let [start, end] = [number * size, (number + 1) * size];
        vec![
            Value::Int(number as i64),
            Value::string(format!("./{name}")),
            Value::Int(start as i64),
            Value::Int(end as i64),
            Value::Int(size as i64),
            Value::Int(i64::from(end <= status.log_tail.0)),
            Value::Int(0),
        ]
    };
    Ok(segments.into_iter().map(row).collect())
}

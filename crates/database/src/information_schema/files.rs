//! The files of the data directory and what was asked of the operating system for them: `performance_schema.file_instances`,
//! `file_summary_by_event_name` and `file_summary_by_instance`. What is neither read nor written (a sync, room made or given back)
//! is MISC. Times are picoseconds.

use super::statements::picos;
use crate::context::SessionState;
use crate::error::Result;
use crate::types::Value;
use tidemark_engine::disk::counted::{FileKind, FileSums, FileUse};
use tidemark_engine::waits::WaitSum;

type Made = Result<Vec<Vec<Value>>>;

/// MySQL's name where it has such a file.
fn event_name(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Data => "wait/io/file/innodb/innodb_data_file",
        FileKind::Log => "wait/io/file/innodb/innodb_log_file",
        FileKind::Doublewrite => "wait/io/file/innodb/innodb_dblwr_file",
        FileKind::Scratch => "wait/io/file/innodb/innodb_temp_file",
        FileKind::Control => "wait/io/file/innodb/innodb_control_file",
    }
}

/// COUNT, then the sum, the least, the average and the most of the times.
pub(super) fn timed(sum: &WaitSum) -> [Value; 5] {
    let average = sum.nanos.checked_div(sum.count).unwrap_or(0);
    [
        Value::UInt(sum.count),
        picos(sum.nanos),
        picos(sum.least_nanos),
        picos(average),
        picos(sum.most_nanos),
    ]
}

/// The columns from COUNT_STAR on.
fn columns(sums: &FileSums) -> Vec<Value> {
    let mut misc = sums.syncs.times;
    misc.add(&sums.others.times);
    let mut all = misc;
    all.add(&sums.reads.times);
    all.add(&sums.writes.times);
    let mut row = timed(&all).to_vec();
    row.extend(timed(&sums.reads.times));
    row.push(Value::Int(sums.reads.bytes as i64));
    row.extend(timed(&sums.writes.times));
    row.push(Value::Int(sums.writes.bytes as i64));
    row.extend(timed(&misc));
    row
}

pub fn by_event_name(state: &SessionState) -> Made {
    let files = state.database.engine().files();
    let row = |kind: FileKind| {
        let mut row = vec![Value::string(event_name(kind))];
        row.extend(columns(&files.shown_of_kind(kind)));
        row
    };
    Ok(FileKind::ALL.map(row).to_vec())
}

/// The files with their whole names.
fn all(state: &SessionState) -> Vec<(Value, FileUse)> {
    let directory = state.database.variable("datadir").unwrap_or_default();
    let files = state.database.engine().files().all().into_iter();
    let named = |file: FileUse| (Value::string(format!("{directory}{}", file.name)), file);
    files.map(named).collect()
}

pub fn by_instance(state: &SessionState) -> Made {
    let row = |(at, (name, file)): (usize, (Value, FileUse))| {
        let mut row = vec![
            name,
            Value::string(event_name(file.kind)),
            Value::UInt(at as u64 + 1),
        ];
        row.extend(columns(&file.sums));
        row
    };
    Ok(all(state).into_iter().enumerate().map(row).collect())
}

pub fn instances(state: &SessionState) -> Made {
    let row = |(name, file): (Value, FileUse)| {
        vec![
            name,
            Value::string(event_name(file.kind)),
            Value::UInt(file.sums.open),
        ]
    };
    Ok(all(state).into_iter().map(row).collect())
}

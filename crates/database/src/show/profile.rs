//! SHOW PROFILES and SHOW PROFILE, and `information_schema.PROFILING`: the session's own last statements, while `profiling` is on.
//!
//! What the operating system counts (processor time, switches, faults, blocks) is NULL, as in a MySQL on a system that does not tell, and so
//! is where in the source a stage is.

use crate::context::SessionState;
use crate::context::answer::{ResultRows, bigint, text};
use crate::context::profile::Profile;
use crate::error::{SqlError, er};
use crate::parse::ast::ProfileColumns;
use crate::types::{Decimal, SqlType, Value};

/// What may be asked for beside status and duration, in MySQL's order.
const COLUMNS: [(ProfileColumns, &str); 14] = [
    (ProfileColumns::CPU, "CPU_user"),
    (ProfileColumns::CPU, "CPU_system"),
    (ProfileColumns::SWITCHES, "Context_voluntary"),
    (ProfileColumns::SWITCHES, "Context_involuntary"),
    (ProfileColumns::BLOCKS, "Block_ops_in"),
    (ProfileColumns::BLOCKS, "Block_ops_out"),
    (ProfileColumns::MESSAGES, "Messages_sent"),
    (ProfileColumns::MESSAGES, "Messages_received"),
    (ProfileColumns::FAULTS, "Page_faults_major"),
    (ProfileColumns::FAULTS, "Page_faults_minor"),
    (ProfileColumns::SWAPS, "Swaps"),
    (ProfileColumns::SOURCE, "Source_function"),
    (ProfileColumns::SOURCE, "Source_file"),
    (ProfileColumns::SOURCE, "Source_line"),
];

/// Seconds, to the microsecond.
fn seconds(nanos: u64) -> Value {
    Value::Decimal(Decimal::new(i128::from(nanos / 1000), 6))
}

fn kept(state: &SessionState) -> Vec<Profile> {
    state.profiler.profiles(state.settings.profiling_history_size)
}

fn warn(state: &SessionState, what: &str) {
    state.warnings.warn(SqlError::new(
        er::WARN_DEPRECATED_SYNTAX,
        format!("'{what}' is deprecated and will be removed in a future release. Please use Performance Schema instead"),
    ));
}

pub fn profiles(state: &SessionState) -> ResultRows {
    warn(state, "SHOW PROFILES");
    let mut rows = ResultRows::new(&[
        ("Query_ID", bigint()),
        ("Duration", SqlType::decimal(16, 8)),
        ("Query", text(300)),
    ]);
    for profile in kept(state) {
        rows.push(vec![
            Value::Int(profile.id as i64),
            // With eight places, as MySQL shows it.
            Value::Decimal(Decimal::new(i128::from(profile.nanos() / 10), 8)),
            Value::string(String::from_utf8_lossy(&profile.text).into_owned()),
        ]);
    }
    rows
}

/// The stages of a statement, the last one unless it is named; rows from an offset on, so many of them.
pub fn profile(
    state: &SessionState,
    columns: ProfileColumns,
    query: Option<u64>,
    limit: Option<(u64, u64)>,
) -> ResultRows {
    warn(state, "SHOW PROFILE");
    let shown: Vec<_> = COLUMNS
        .iter()
        .filter(|(group, _)| columns.has(*group))
        .map(|(_, name)| (*name, text(30)))
        .collect();
    let front = [("Status", text(30)), ("Duration", SqlType::decimal(9, 6))];
    let mut rows = ResultRows::new(&[&front[..], &shown[..]].concat());
    let profiles = kept(state);
    let found = match query {
        Some(id) => profiles.iter().find(|profile| profile.id == id),
        None => profiles.last(),
    };
    let (offset, count) = limit.unwrap_or((0, u64::MAX));
    let stages = found.map_or(&[][..], |profile| &profile.stages).iter();
    for stage in stages
        .skip(offset as usize)
        .take(usize::try_from(count).unwrap_or(usize::MAX))
    {
        let mut row = vec![Value::string(stage.name), seconds(stage.nanos)];
        row.resize(front.len() + shown.len(), Value::Null);
        rows.push(row);
    }
    rows
}

/// The rows of `information_schema.PROFILING`.
pub fn stages(state: &SessionState) -> Vec<Vec<Value>> {
    warn(state, "INFORMATION_SCHEMA.PROFILING");
    let mut rows = Vec::new();
    for profile in kept(state) {
        for (at, stage) in profile.stages.iter().enumerate() {
            let mut row = vec![
                Value::Int(profile.id as i64),
                // MySQL's first is 2, too.
                Value::Int(at as i64 + 2),
                Value::string(stage.name),
                seconds(stage.nanos),
            ];
            row.resize(4 + COLUMNS.len(), Value::Null);
            rows.push(row);
        }
    }
    rows
}

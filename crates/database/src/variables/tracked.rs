//! Which changes of a session its client wants to be told of: `session_track_…`.

use super::registry::find;
use super::values::Values;
use crate::error::{Result, SqlError, er};
use crate::types::Warnings;

const LIST: &str = "session_track_system_variables";

/// The names in a list of variables, as they are written.
fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn is_on(values: &Values, name: &str) -> bool {
    find(name).is_some_and(|at| values.get(at).as_bool())
}

/// `session_track_schema`
pub fn tracks_schema(values: &Values) -> bool {
    is_on(values, "session_track_schema")
}

/// `session_track_state_change`
pub fn tracks_state(values: &Values) -> bool {
    is_on(values, "session_track_state_change")
}

/// Whether `session_track_system_variables` lists a variable; `*` stands for all of them.
pub fn is_tracked(values: &Values, variable: &str) -> bool {
    find(LIST).is_some_and(|at| {
        let list = values.text(at);
        list.trim() == "*" || names(list).any(|name| name.eq_ignore_ascii_case(variable))
    })
}

/// A variable's name as `session_track_system_variables` spells it.
pub fn listed_name(values: &Values, variable: &str) -> String {
    let list = find(LIST).map(|at| values.text(at));
    let listed = list.and_then(|list| names(list).find(|name| name.eq_ignore_ascii_case(variable)));
    listed.unwrap_or(variable).to_owned()
}

/// Before `session_track_system_variables` is set: warning 1231 for each name that is no variable's, error 3026 for a
/// variable that is listed twice.
pub fn check_tracked(list: &str, warnings: &Warnings) -> Result<()> {
    if list.trim() == "*" {
        return Ok(());
    }
    let mut listed = std::collections::HashSet::new();
    for name in names(list) {
        let Some(at) = find(name) else {
            let text = format!("{name} is not a valid system variable and will be ignored.");
            warnings.warn(SqlError::new(er::WRONG_VALUE_FOR_VAR, text));
            continue;
        };
        if !listed.insert(at) {
            return Err(SqlError::new(
                er::DUP_LIST_ENTRY,
                format!("Duplicate entry '{}'.", name.to_ascii_lowercase()),
            ));
        }
    }
    Ok(())
}

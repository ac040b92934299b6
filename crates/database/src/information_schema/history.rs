//! `sys.tidemark_views`: the open read views, and what is kept for each alone. `sys.tidemark_history`: everything that holds back
//! old versions, and what would end that.

use super::locks::{Visible, optional, string};
use crate::context::SessionState;
use crate::error::Result;
use crate::monitor::history::{OpenView, age_s};
use crate::types::Value;

type Made = Result<Vec<Vec<Value>>>;

/// Id, user and host of a view's session.
fn session(view: &OpenView) -> [Value; 3] {
    let session = view.session.as_ref();
    [
        session.map_or(Value::Null, |session| Value::UInt(session.id)),
        optional(session.map(|session| &session.user)),
        optional(session.map(|session| &session.host)),
    ]
}

/// The views of sessions that this one may know of, oldest first.
fn open_views(state: &SessionState) -> Result<Vec<OpenView>> {
    let visible = Visible::new(state);
    let views = state.database.engine().views()?.into_iter();
    let seen = views.filter(|view| visible.sees(view.owner));
    Ok(seen.map(|view| OpenView::of(view, &visible.sessions)).collect())
}

pub fn views(state: &SessionState) -> Made {
    let row = |view: &OpenView| {
        let mut row = session(view).to_vec();
        row.extend([
            optional(
                view.session
                    .as_ref()
                    .and_then(|session| session.statement.as_ref()),
            ),
            Value::UInt(age_s(view.info.opened)),
            Value::UInt(view.info.lsn.0),
            Value::UInt(view.info.versions),
            Value::UInt(view.info.bytes),
            optional(view.opened_by.as_ref()),
        ]);
        row
    };
    Ok(open_views(state)?.iter().map(row).collect())
}

/// How a session lets go of its view.
fn end_of(view: &OpenView) -> String {
    match &view.session {
        None => "the end of its transaction".to_owned(),
        Some(session) if session.statement.is_some() => {
            format!("the end of its statement or transaction, or KILL {}", session.id)
        }
        Some(session) => format!("COMMIT or ROLLBACK there, or KILL {}", session.id),
    }
}

pub fn history(state: &SessionState) -> Made {
    super::rows::require_process(state)?;
    let mut rows = Vec::new();
    for view in open_views(state)? {
        let mut row = vec![string("read view")];
        row.extend(session(&view));
        row.extend([
            optional(view.opened_by.as_ref()),
            Value::UInt(age_s(view.info.opened)),
            Value::Null,
            Value::UInt(view.info.versions),
            Value::UInt(view.info.bytes),
            string(end_of(&view)),
        ]);
        rows.push(row);
    }
    let of_nobody = |reason: &str, age_s: u64, transactions, bytes, end: &str| {
        let mut row = vec![string(reason), Value::Null, Value::Null, Value::Null, Value::Null];
        row.extend([Value::UInt(age_s), transactions, Value::Null, bytes, string(end)]);
        row
    };
    let kept_s = state.database.variable_u64("innodb_undo_retention");
    if kept_s > 0 {
        let end = "SET GLOBAL innodb_undo_retention = 0";
        rows.push(of_nobody(
            "innodb_undo_retention",
            kept_s,
            Value::Null,
            Value::Null,
            end,
        ));
    }
    let status = state.database.engine().status();
    rows.push(of_nobody(
        "not purged yet",
        status.history_age_s as u64,
        Value::UInt(status.history_length),
        Value::UInt(status.version_bytes),
        "purge, once none of the above needs it",
    ));
    Ok(rows)
}

//! What old versions are kept, for which views, and for how long: the settings that bound history, and the warning when it
//! grows beyond them, which names the view that holds it back. The bound of what a statement puts aside is applied here, too.

use super::sessions_by_owner;
use crate::context::{Database, Process, SessionSnapshot};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};
use tidemark_engine::{HistoryExcess, HistoryLimits, ViewInfo};

/// Tells the engine what the variables say.
pub fn apply(database: &Database) {
    let globals = database.globals();
    let engine = database.engine();
    engine.set_history_limits(HistoryLimits {
        transactions: globals.u64("innodb_max_purge_lag"),
        bytes: globals.u64("tidemark_max_version_size"),
        delay_max: Duration::from_micros(globals.u64("innodb_max_purge_lag_delay")),
    });
    engine.set_bury_after(Duration::from_millis(globals.u64("tidemark_bury_after")));
    engine.set_spool_max(globals.u64("tidemark_max_spill_size"));
    engine.set_undo_retention(Duration::from_secs(globals.u64("innodb_undo_retention")));
}

/// Has the engine tell when history is too long.
pub fn watch(database: &Arc<Database>) {
    let seen: Weak<Database> = Arc::downgrade(database);
    let warn = move |excess: &HistoryExcess| {
        if let Some(database) = seen.upgrade() {
            warn(&database, excess);
        }
    };
    database.engine().set_on_history_excess(Some(Arc::new(warn)));
}

/// An open read view, and its session.
pub struct OpenView {
    /// What the engine knows of it.
    pub info: ViewInfo,
    /// The session that reads with it, unless that is gone by now.
    pub session: Option<SessionSnapshot>,
    /// The statement that opened it.
    pub opened_by: Option<String>,
}

impl OpenView {
    /// Puts the two together. `sessions` are those by the number of their transactions.
    pub fn of(info: ViewInfo, sessions: &HashMap<u64, Arc<Process>>) -> OpenView {
        let process = sessions.get(&info.owner);
        OpenView {
            info,
            session: process.map(|process| SessionSnapshot::of(process)),
            opened_by: process.and_then(|process| {
                process.with_current(|current| {
                    let opener = current.opener(info.lsn);
                    opener.map(|text| String::from_utf8_lossy(&text).into_owned())
                })
            }),
        }
    }
}

/// Whole seconds that a view has been open.
pub fn age_s(opened: SystemTime) -> u64 {
    opened.elapsed().map_or(0, |age| age.as_secs())
}

fn warn(database: &Database, excess: &HistoryExcess) {
    let held_by = match &excess.oldest {
        _ if excess.is_retained => "innodb_undo_retention keeps them".to_owned(),
        None => "no view is open: purge cannot keep up".to_owned(),
        Some(view) => {
            let sessions = sessions_by_owner(database);
            let age = age_s(view.opened);
            match sessions
                .get(&view.owner)
                .map(|process| SessionSnapshot::of(process))
            {
                Some(session) => format!(
                    "the oldest view has been open for {age} s, in connection {} of '{}'@'{}', {}",
                    session.id,
                    session.user,
                    session.host,
                    session
                        .statement
                        .map_or("which is idle".to_owned(), |text| format!("which runs: {text}")),
                ),
                None => format!("the oldest view has been open for {age} s"),
            }
        }
    };
    let text = format!(
        "{} transactions are not purged and {} bytes of old versions are kept, beyond innodb_max_purge_lag or \
         tidemark_max_version_size: writers are slowed down; {held_by}",
        excess.transactions, excess.bytes,
    );
    log::warn!("{text}");
    *database.history_warning.lock() = Some((SystemTime::now(), text));
}

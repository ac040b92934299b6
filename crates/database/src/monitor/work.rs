//! What the engine does by itself and takes long: as a stage of the server's own work, which the process list and `events_stages_…` show
//! among the sessions.

use crate::context::Database;
use crate::statements::long::Told;
use crate::statements::stages::Stage;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tidemark_engine::{LongWork, Tick, WorkProgress};

/// Work that is over sooner is not shown: a row in the process list is to be read.
const SHOWN_AFTER: Duration = Duration::from_secs(1);

/// Has the engine tell of its work.
pub fn watch(database: &Arc<Database>) {
    let seen: Weak<Database> = Arc::downgrade(database);
    database.engine().set_on_long_work(SHOWN_AFTER, move |progress| {
        if let Some(database) = seen.upgrade() {
            note(&database, progress);
        }
    });
}

/// The work is so far; `None`: it is over.
pub fn note(database: &Database, progress: Option<WorkProgress>) {
    let own = &database.own_work;
    let told = Told {
        session: own.id,
        setup: &database.setup,
        collected: database.setup.collected(own.watched()),
        long: &database.long_history,
    };
    let Some(WorkProgress { work, done, of, .. }) = progress else {
        own.clear_doing();
        return own.end(Tick::now(), None, None, told);
    };
    let stage = match work {
        LongWork::Freeing => Stage::Freeing,
        LongWork::Searching => Stage::Searching,
        LongWork::Sweeping => Stage::Sweeping,
    };
    if !own.with_current(|current| current.running) {
        own.begin("Daemon", b"", None);
    }
    own.enter_stage(Some(stage), Some((done, of)), told);
    own.set_doing(stage, done, of);
}

//! A hook on every table, which counts. Only in builds with assertions, and only if `TIDEMARK_COUNT_ROWS` is set.
//!
//! What the engine counts (`Handler_write`, `Handler_update`, `Handler_delete`) and what the hooks are told of must be the same, after
//! each statement: otherwise a row was changed past the row writer, or a hook was called for nothing. `./test counted_rows`
//! plays the golden scripts so. As all tables have hooks then, no row is changed in place: the scripts are held against the other way as well.

use super::{After, Before, HookContext, Origin, RowEvent, RowHook};
use crate::dictionary::TableDef;
use crate::error::{Result, SqlError, er};
use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use tidemark_engine::{RowCounts, Transaction};

thread_local! {
    /// What the hooks have been told of on this thread, which runs its statements from beginning to end.
    static TOLD: Cell<RowCounts> = const { Cell::new(RowCounts { inserted: 0, updated: 0, deleted: 0 }) };
}

struct Counting;

impl RowHook for Counting {
    fn acts_before(&self, _: RowEvent) -> bool {
        false
    }

    fn acts_on(&self, _: RowEvent) -> bool {
        false
    }

    fn before(&self, _: HookContext, _: Before) -> Result<()> {
        Ok(())
    }

    fn after(&self, context: HookContext, row: After) -> Result<()> {
        let mut told = TOLD.get();
        let width = context.table.columns.len();
        let has_all = match row {
            After::Insert { new } => new.len() == width,
            After::Delete { old } => old.len() == width,
            After::Update { old, new, .. } | After::Replace { old, new, .. } => {
                old.len() == width && new.len() == width
            }
        };
        match row {
            After::Insert { .. } => told.inserted += 1,
            After::Update { written, .. } | After::Replace { written, .. } => {
                told.updated += u64::from(written)
            }
            After::Delete { .. } => told.deleted += 1,
        }
        TOLD.set(told);
        match has_all {
            true => Ok(()),
            false => {
                let (table, origin) = (&context.table.name, context.origin);
                let session = context.session.info.connection_id;
                let text =
                    format!("the images of a row of {table} are not whole ({origin:?}, session {session})");
                Err(differs(text))
            }
        }
    }
}

/// The source of this hook.
pub fn hook_of(_: &TableDef, _: &[RowEvent], _: Origin) -> Option<Arc<dyn RowHook>> {
    is_on().then(|| Arc::new(Counting) as Arc<dyn RowHook>)
}

fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| std::env::var_os("TIDEMARK_COUNT_ROWS").is_some())
}

/// What had been counted when a statement began.
pub struct Begun {
    told: RowCounts,
    changed: RowCounts,
}

impl Begun {
    /// `None`: nothing is counted.
    pub fn new(txn: &Transaction) -> Option<Begun> {
        is_on().then(|| Begun {
            told: TOLD.get(),
            changed: txn.changed(),
        })
    }

    /// An error unless hooks and engine have counted the same since.
    pub fn check(&self, txn: &Transaction) -> Result<()> {
        let told = since(TOLD.get(), self.told);
        let changed = since(txn.changed(), self.changed);
        match told == changed {
            true => Ok(()),
            false => Err(differs(format!(
                "hooks were told of {told:?}, the engine made {changed:?}"
            ))),
        }
    }
}

fn since(now: RowCounts, before: RowCounts) -> RowCounts {
    RowCounts {
        inserted: now.inserted - before.inserted,
        updated: now.updated - before.updated,
        deleted: now.deleted - before.deleted,
    }
}

fn differs(text: String) -> SqlError {
    SqlError::new(er::UNKNOWN_ERROR, text)
}

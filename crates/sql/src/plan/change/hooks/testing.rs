//! Hooks that a test puts on tables by their names, for the statements of its own thread.

use super::{Origin, RowEvent, RowHook};
use crate::dictionary::TableDef;
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    static HOOKS: RefCell<Vec<(String, Arc<dyn RowHook>)>> = const { RefCell::new(Vec::new()) };
}

/// Puts a hook on the tables of a name whose statements are planned from now on.
pub fn put(table: &str, hook: Arc<dyn RowHook>) {
    HOOKS.with_borrow_mut(|hooks| hooks.push((table.to_owned(), hook)));
}

/// The source of these hooks.
pub fn hook_of(table: &TableDef, _: &[RowEvent], _: Origin) -> Option<Arc<dyn RowHook>> {
    HOOKS.with_borrow(|hooks| {
        let found = hooks.iter().find(|(name, _)| *name == table.name);
        found.map(|(_, hook)| Arc::clone(hook))
    })
}

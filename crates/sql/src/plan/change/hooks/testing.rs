//! Hooks that a test puts on tables by their names, for the statements of its own thread.

use super::{Origin, RowEvent, RowHook};
use crate::dictionary::TableDef;
use std::cell::RefCell;
use std::sync::Arc;

struct Put {
    table: String,
    origins: &'static [Origin],
    hook: Arc<dyn RowHook>,
}

thread_local! {
    static HOOKS: RefCell<Vec<Put>> = const { RefCell::new(Vec::new()) };
}

/// Puts a hook on the tables of a name, for changes of these origins that are planned from now on.
pub fn put(table: &str, origins: &'static [Origin], hook: Arc<dyn RowHook>) {
    let table = table.to_owned();
    HOOKS.with_borrow_mut(|hooks| hooks.push(Put { table, origins, hook }));
}

/// The source of these hooks.
pub fn hook_of(table: &TableDef, _: &[RowEvent], origin: Origin) -> Option<Arc<dyn RowHook>> {
    HOOKS.with_borrow(|hooks| {
        let mut of_table = hooks.iter().filter(|put| put.table == table.name);
        let found = of_table.find(|put| put.origins.contains(&origin));
        found.map(|put| Arc::clone(&put.hook))
    })
}

//! How much memory the server may take beside its buffer pool.

use crate::context::Database;

/// Tells the allocator what the variables say.
pub fn apply(database: &Database) {
    tidemark_memory::set_process_limit(database.globals().total_memory());
}

//! How much memory a statement may take: an error instead of a failed allocation, which would end the process.
//!
//! The allocator counts (`tidemark_memory`); what runs a statement calls [`check_memory`] wherever it keeps something for
//! each row, each node of a tree or each element, and [`reserve_memory`] before it makes one large text. Sorts, groups and
//! joins put their rows aside long before (`exec::spill` in the SQL crate); these limits are for everything else.

use super::interrupt::check_interrupt;
use super::{Result, SqlError, er};
use tidemark_memory::Exceeded;

pub use tidemark_memory::Reservation;

/// Texts shorter than this are made without asking.
pub const RESERVED_FROM: usize = 256 << 10;

/// Error 3170 if the running statement has taken more memory than it may, or than all have. Asked wherever work grows with a client's
/// data, and so error 1317, too, if the statement is [to end](super::interrupt).
#[inline]
pub fn check_memory() -> Result<()> {
    tidemark_memory::check()?;
    check_interrupt()
}

/// Error 3170 if there is no room for a text of so many bytes. What is returned is to be dropped once the text is there.
#[inline]
pub fn reserve_memory(bytes: usize) -> Result<Reservation> {
    if bytes < RESERVED_FROM {
        return Ok(Reservation::NONE);
    }
    Ok(tidemark_memory::reserve(bytes as u64)?)
}

impl From<Exceeded> for SqlError {
    #[cold]
    fn from(Exceeded(limit): Exceeded) -> SqlError {
        SqlError::new(
            er::CAPACITY_EXCEEDED,
            format!(
                "Memory capacity of {} bytes for '{}' exceeded. The statement was ended.",
                limit.bytes, limit.name
            ),
        )
    }
}

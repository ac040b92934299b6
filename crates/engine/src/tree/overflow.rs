//! Overflow chains: values too large for a leaf live in pages of their own.
//!
//! ```text
//!   0  common page header (type overflow)
//!  32  owning index   u64
//!  40  next page      u32   0 = last
//!  44  data length    u32
//!  64  data
//! ```
//!
//! A chain is written before the entry that names it and never changed: a new value is a new chain. So whoever read
//! the reference under a leaf latch may read the chain without one, as long as the entry, or a version of it that an
//! open view can see, keeps the chain from being freed.

use super::node::{PageBytes, TYPE_AT};
use crate::ids::PAGE_SIZE;

const INDEX_AT: usize = 32;
const NEXT_AT: usize = 40;
const LEN_AT: usize = 44;
const DATA_AT: usize = 64;
/// Bytes of a value that one overflow page takes.
pub const OVERFLOW_CAPACITY: usize = PAGE_SIZE - DATA_AT;

const OVERFLOW_TYPE: u8 = 4;

/// Makes the page one of an overflow chain.
pub(super) fn format(page: &mut PageBytes, next: u32, index: u64, data: &[u8]) {
    page[TYPE_AT] = OVERFLOW_TYPE;
    page[TYPE_AT + 1] = 0;
    page[INDEX_AT..INDEX_AT + 8].copy_from_slice(&index.to_le_bytes());
    page[NEXT_AT..NEXT_AT + 4].copy_from_slice(&next.to_le_bytes());
    page[LEN_AT..LEN_AT + 4].copy_from_slice(&(data.len() as u32).to_le_bytes());
    page[DATA_AT..DATA_AT + data.len()].copy_from_slice(data);
}

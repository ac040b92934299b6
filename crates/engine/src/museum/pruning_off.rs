//! The tide's view, with history kept while any view is older than it: what a long snapshot costs by itself.
//!
//! ```text
//!   row ─► v9 ─► v8 ─► v7 ─► … ─► v2 ─► v1     a view at v1 is open: v2 to v8 stay, though nobody needs them
//! ```
//!
//! All exhibits keep history so, as InnoDB, MariaDB and PostgreSQL do; this one changes nothing else. A view at v1 then walks all of
//! the list, newest first, and the more the longer it is held.
//!
//! Source: Zaitsev, *How long-running transactions kill MySQL performance*, 2015; Böttcher et al., VLDB 2019, for what the engine does
//! otherwise (`mvcc::chain`).

use super::{Exhibit, Snapshot};
use crate::ids::{Lsn, TxnId};

pub(super) struct PruningOff;

impl Exhibit for PruningOff {
    fn begin(&self, assign: &mut dyn FnMut() -> TxnId) -> TxnId {
        assign()
    }

    fn end(&self, _: TxnId, _: Lsn) {}

    fn open(&self, _: &mut Snapshot) {}

    fn sees(&self, _: &Snapshot, _: Lsn, _: TxnId, by_tide: &dyn Fn() -> bool) -> bool {
        by_tide()
    }
}

//! Multi-version concurrency: who wrote what when, and who still wants to see what was there before.
//!
//! `txns` maps ids to moments, `views` registers who looks at which moment and `copies` is what pruners know of that, `versions` keeps what rows were, in scratch
//! pages whose lives `generations` counts and that each session fills through its `buffer`, `chain` walks and prunes what
//! hangs below a row, `writers` knows who is writing, `queue` what waits for purge, `tides` which time was which moment,
//! `hot` which rows change most.

mod buffer;
mod chain;
#[cfg(test)]
mod chain_tests;
mod copies;
mod generations;
mod hot;
mod queue;
mod sync;
mod tides;
mod txns;
#[cfg(test)]
mod txns_tests;
mod versions;
mod views;
mod writers;

pub(crate) use buffer::VersionBuffer;
pub(crate) use chain::{Chain, Seen, ViewCopy, walk};
pub(crate) use copies::Need;
pub(crate) use generations::Generations;
pub use hot::HotRow;
pub(crate) use hot::HotRows;
pub(crate) use queue::{PageLife, PurgeItem, PurgeQueue};
pub(crate) use tides::{SAMPLE_EVERY, Tides};
pub(crate) use txns::Txns;
pub(crate) use versions::{
    Address, DELETED, ENTRY, LINKED, PURGE, ROW, Record, Version, Versions, record_len,
};
pub(crate) use views::{Past, SlotNo, View, Views};
pub(crate) use writers::Writers;

//! Multi-version concurrency: who wrote what when, and who still wants to see what was there before.
//!
//! `txns` maps ids to moments, `views` registers who looks at which moment, `versions` keeps what rows were, in scratch
//! pages whose lives `generations` counts, `chain` walks and prunes what hangs below a row, `writers` knows who is
//! writing, `queue` what waits for purge.

mod chain;
mod generations;
mod queue;
mod sync;
mod txns;
#[cfg(test)]
mod txns_tests;
mod versions;
mod views;
mod writers;

pub(crate) use chain::{Seen, ViewCopy, walk};
pub(crate) use generations::Generations;
pub(crate) use queue::PurgeQueue;
pub(crate) use txns::Txns;
pub(crate) use versions::{Address, DELETED, Hint, LINKED, PURGE, Version, VersionBuffer, Versions};
pub(crate) use views::{SlotNo, View, Views};
pub(crate) use writers::Writers;

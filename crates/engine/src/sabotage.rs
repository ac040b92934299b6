//! Isolation and recovery broken on purpose, to prove that the tests would notice.
//!
//! Compiled only with the feature `sabotage`, which no release has. The environment variable `TIDEMARK_SABOTAGE` then names
//! what is broken: `view` (a view shows whatever is committed), `gap` (no level locks gaps), `shared` (a shared lock keeps
//! no other transaction out), `undo` (what had not committed at a crash is left as it is), or something of the floor below
//! (`tidemark_pages::sabotage`).

pub(crate) use tidemark_pages::sabotage::breaks;

//! Isolation broken on purpose, to prove that the history checker would notice.
//!
//! Compiled only with the feature `sabotage`, which no release has. The environment variable `TIDEMARK_SABOTAGE` then names
//! what is broken: `view` (a view shows whatever is committed), `gap` (no level locks gaps), `shared` (a shared lock keeps
//! nobody out).

use std::sync::OnceLock;

pub(crate) fn breaks(what: &str) -> bool {
    static BROKEN: OnceLock<Option<String>> = OnceLock::new();
    BROKEN
        .get_or_init(|| std::env::var("TIDEMARK_SABOTAGE").ok())
        .as_deref()
        == Some(what)
}

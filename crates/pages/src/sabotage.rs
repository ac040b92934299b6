//! What keeps data safe broken on purpose, to prove that the tests would notice.
//!
//! Only with the feature `sabotage`, which no release has. The environment variable `TIDEMARK_SABOTAGE` then names what is
//! broken. On this floor:
//!
//! | name | what is left out |
//! |---|---|
//! | `commit` | the sync of the log at a commit |
//! | `page` | the log goes to disk before the pages that it speaks of |
//! | `checkpoint` | pages that are still dirty hold the checkpoint back |
//! | `doublewrite` | copies of pages before they go to their places |
//! | `stale` | of copies only those of the last batch count |
//! | `end` | damage in the log is told from its end |
//!
//! The engine's own are in its `sabotage.rs`.

/// Whether this is what is broken.
#[cfg(feature = "sabotage")]
pub fn breaks(what: &str) -> bool {
    use std::sync::OnceLock;
    static BROKEN: OnceLock<Option<String>> = OnceLock::new();
    BROKEN
        .get_or_init(|| std::env::var("TIDEMARK_SABOTAGE").ok())
        .as_deref()
        == Some(what)
}

/// Whether this is what is broken: nothing is.
#[cfg(not(feature = "sabotage"))]
#[inline(always)]
pub fn breaks(_: &str) -> bool {
    false
}

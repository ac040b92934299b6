//! Every interleaving, and every order the memory model allows, of the protocols that the pool and the log run without
//! locks: the latch, the frames, the dirty marks, the log's ring and group commit. The code checked is the crate's own:
//! its files, compiled here against *loom*'s atomics (`sync.rs`) instead of the real ones, in pools and logs of a few
//! words.
//!
//! Each model says what makes it fail; every such change was made once, and the model found it. What no model here would
//! find: the release fence of `lock_exclusive` left out; relaxed loads in `Ring::advance` and `announced` stored relaxed,
//! since loom gives every sequentially consistent access a full fence; the second look under the group's mutex left out;
//! the tide raised after `flushed`. These are argued for where they stand.

#![allow(
    clippy::absurd_extreme_comparisons,
    clippy::reversed_empty_ranges,
    reason = "the models do not spin: `sync.rs` makes the numbers of looks before a sleep zero"
)]

mod ids {
    pub use tidemark_pages::ids::*;
}

mod error {
    pub use tidemark_pages::{Error, Result};
}

mod threads {
    pub use tidemark_pages::threads::THREADS_MAX;
}

mod log;
mod pool;
mod sync;

/// So many switches between threads that neither had to make. Without a bound three threads take minutes.
fn within(switches: usize) -> loom::model::Builder {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(switches);
    model
}

fn model(how: loom::model::Builder, run: impl Fn() + Send + Sync + 'static) {
    how.check(run);
}

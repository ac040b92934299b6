//! How far the engine is with long work that it does by itself, told to an observer.

use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two calls of the observer.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Work in the background that may take minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongWork {
    /// The trees of tables and indexes that were dropped are freed.
    Freeing,
    /// After a crash: the file is searched for pages of tables that were never finished.
    Searching,
    /// After a crash: all trees are looked through for rows that were deleted before it.
    Sweeping,
}

/// How far such work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkProgress {
    /// Which work.
    pub work: LongWork,
    /// Pages seen to.
    pub done: u64,
    /// Of about so many.
    pub of: u64,
}

/// Called with how far work is, and with `None` when it is over.
pub(crate) type Observer = Box<dyn Fn(Option<WorkProgress>) + Send>;

/// Whoever is told of long work, and how long it must have gone on for that.
#[derive(Default)]
pub(crate) struct Watcher(Mutex<Option<(Duration, Arc<Mutex<Observer>>)>>);

impl Watcher {
    pub fn set(&self, after: Duration, observer: Observer) {
        *self.0.lock() = Some((after, Arc::new(Mutex::new(observer))));
    }

    /// Begins work on about so many pages.
    pub fn begin(&self, work: LongWork, of: u64) -> Watched<'_> {
        Watched {
            watcher: self,
            at: WorkProgress { work, done: 0, of },
            began: Instant::now(),
            told: None,
        }
    }

    fn tell(&self, began: Option<Instant>, at: Option<WorkProgress>) -> bool {
        // Called without the lock: the observer may take its time.
        let Some((after, observer)) = self.0.lock().clone() else {
            return false;
        };
        let is_long = began.is_none_or(|began| began.elapsed() >= after);
        if is_long {
            observer.lock()(at);
        }
        is_long
    }
}

/// Work under way. When it is dropped the work is over.
pub(crate) struct Watched<'w> {
    watcher: &'w Watcher,
    at: WorkProgress,
    began: Instant,
    /// When the observer was last told of it.
    told: Option<Instant>,
}

impl Watched<'_> {
    /// Another page is done.
    pub fn step(&mut self) {
        self.at.done += 1;
        // What was expected was a guess.
        self.at.of = self.at.of.max(self.at.done);
        let now = Instant::now();
        if self.told.is_none_or(|told| now - told >= TELL_EVERY)
            && self.watcher.tell(Some(self.began), Some(self.at))
        {
            self.told = Some(now);
        }
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if self.told.is_some() {
            self.watcher.tell(None, None);
        }
    }
}

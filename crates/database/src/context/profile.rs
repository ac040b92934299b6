//! What SHOW PROFILE tells: where the time of a session's last statements went, stage by stage.
//!
//! Only while `profiling` is on; else a statement pays a look at one cell. A stage's own time is what passed in it without what it waited
//! for: each kind of wait is a line of its own behind it, of the same clock and counters as `performance_schema`'s, so the lines of a
//! statement add up to its duration.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use tidemark_engine::Tick;
use tidemark_engine::waits::{Wait, Waits};

/// Of a statement's text so many bytes are kept.
const TEXT_MAX: usize = 300;

/// A part of a statement's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// What the session did.
    pub name: &'static str,
    /// For how long.
    pub nanos: u64,
}

/// A statement that is over.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Counts the session's profiles from 1 on.
    pub id: u64,
    /// The beginning of its text, as it may be shown.
    pub text: Vec<u8>,
    /// In order, each with what it waited for behind it.
    pub stages: Vec<Stage>,
}

impl Profile {
    /// All stages together.
    pub fn nanos(&self) -> u64 {
        self.stages.iter().map(|stage| stage.nanos).sum()
    }
}

/// The statement that runs.
struct Running {
    stages: Vec<Stage>,
    name: &'static str,
    since: Tick,
    waited: [u64; Wait::ALL.len()],
}

/// The profiles of a session. Its own thread alone comes here.
#[derive(Default)]
pub struct Profiler {
    is_on: Cell<bool>,
    running: RefCell<Option<Running>>,
    kept: RefCell<VecDeque<Profile>>,
    last: Cell<u64>,
}

impl Profiler {
    /// Whether a statement is being profiled.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// A statement begins. `waits` are the session's.
    pub fn begin(&self, waits: &Waits) {
        self.is_on.set(true);
        *self.running.borrow_mut() = Some(Running {
            stages: Vec::new(),
            name: "starting",
            since: Tick::now(),
            waited: Wait::ALL.map(|wait| waits.nanos(wait)),
        });
    }

    /// Another stage of it begins.
    pub fn enter(&self, name: &'static str, waits: &Waits) {
        if let Some(running) = &mut *self.running.borrow_mut() {
            running.close(waits);
            running.name = name;
        }
    }

    /// The statement is over, and kept with the others; the oldest beyond `most` are forgotten.
    pub fn end(&self, text: &[u8], waits: &Waits, most: usize) {
        let Some(mut running) = self.stop() else {
            return;
        };
        running.close(waits);
        self.last.set(self.last.get() + 1);
        self.kept.borrow_mut().push_back(Profile {
            id: self.last.get(),
            text: text[..text.len().min(TEXT_MAX)].to_vec(),
            stages: running.stages,
        });
        self.keep(most);
    }

    /// The statement at hand is not to be kept.
    pub fn discard(&self) {
        self.stop();
    }

    fn stop(&self) -> Option<Running> {
        self.is_on.set(false);
        self.running.borrow_mut().take()
    }

    fn keep(&self, most: usize) {
        let mut kept = self.kept.borrow_mut();
        let beyond = kept.len().saturating_sub(most);
        kept.drain(..beyond);
    }

    /// The last `most` of them, the oldest first.
    pub fn profiles(&self, most: usize) -> Vec<Profile> {
        self.keep(most);
        self.kept.borrow().iter().cloned().collect()
    }
}

impl Running {
    fn close(&mut self, waits: &Waits) {
        let now = Tick::now();
        let passed = now.nanos_since(self.since);
        let at = self.stages.len();
        let mut waited = 0;
        for (before, wait) in self.waited.iter_mut().zip(Wait::ALL) {
            let nanos = waits.nanos(wait);
            let more = nanos.saturating_sub(*before);
            *before = nanos;
            if more > 0 {
                waited += more;
                self.stages.push(Stage {
                    name: name_of(wait),
                    nanos: more,
                });
            }
        }
        self.stages.insert(
            at,
            Stage {
                name: self.name,
                nanos: passed.saturating_sub(waited),
            },
        );
        self.since = now;
    }
}

/// What SHOW PROFILE calls a wait: 30 characters at most.
fn name_of(wait: Wait) -> &'static str {
    match wait {
        Wait::PageLatch => "waiting for a page latch",
        Wait::PageRead => "reading pages",
        Wait::PageWrite => "writing pages",
        Wait::FreeFrame => "waiting for a free page frame",
        Wait::LogRoom => "waiting for room in the log",
        Wait::LogWrite => "writing the log",
        Wait::LogSync => "syncing the log",
        Wait::LogGroup => "waiting for another's commit",
        Wait::RowLock => "waiting for a row lock",
        Wait::PurgeLag => "waiting for purge",
        Wait::MetadataLock => "waiting for a metadata lock",
        Wait::ClientRead => "waiting for the client",
        Wait::ClientWrite => "sending to the client",
        #[cfg(feature = "museum")]
        Wait::KernelMutex | Wait::TrxSys | Wait::ProcArray => "waiting for the museum",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn stages_and_waits_add_up_and_the_last_are_kept() {
        let (profiler, waits) = (Profiler::default(), Waits::new());
        for n in 0..5 {
            profiler.begin(&waits);
            profiler.enter("executing", &waits);
            std::thread::sleep(Duration::from_millis(2));
            waits.add(Wait::RowLock, 1_000_000);
            profiler.end(format!("statement {n}").as_bytes(), &waits, 3);
        }
        let profiles = profiler.profiles(2);
        let ids: Vec<_> = profiles.iter().map(|profile| profile.id).collect();
        assert_eq!(ids, [4, 5]);
        let names: Vec<_> = profiles[0].stages.iter().map(|stage| stage.name).collect();
        assert_eq!(names, ["starting", "executing", "waiting for a row lock"]);
        assert_eq!(profiles[0].stages[2].nanos, 1_000_000);
        assert!(profiles[0].nanos() >= 2_000_000 && !profiler.is_on());
    }
}

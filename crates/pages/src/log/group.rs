//! Group commit by leader.
//!
//! Whoever first needs the log further on disk than it is leads: it writes what is complete, syncs, and publishes how
//! far the log is; a thread that comes meanwhile sleeps. When the leader has what it came for it hands the lead to one of the
//! sleepers not covered yet, first, so that the next write starts at once, and then wakes just those it has covered. One
//! client alone never pays for a thread hand-off; many share one sync.
//!
//! *No lost wake-ups.* Positions are published before the group's mutex is taken to collect the covered, and a newcomer
//! checks the positions under that mutex before it queues. So either it sees that it is covered, or the leader sees it.
//!
//! *Gaps.* The leader may need a record that another thread is still copying. It then announces itself, looks at the
//! links again, and sleeps; a thread that completes a record looks whether a leader announced itself. Both sides are
//! sequentially consistent, so one sees the other. A leader writes everything complete before it sleeps: the thread that
//! is still copying may itself be waiting for room in the ring, which only writing makes.

use super::Log;
use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::sync::{
    AtomicBool, AtomicU32, GAP_SPINS, Mutex, Ordering, Thread, Wait, current, park, park_timeout, spin_loop,
    thread_local, timed,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How far a position has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Stage {
    /// Everything before it is in the buffer.
    Complete,
    /// Everything before it is with the operating system.
    Written,
    /// Everything before it survives a power cut.
    Flushed,
}

#[derive(Default)]
pub(super) struct GroupCommit {
    queue: Mutex<Queue>,
    /// What is being written, for the leader.
    staging: Mutex<Vec<u8>>,
    gap: Gap,
}

#[derive(Default)]
struct Queue {
    led: bool,
    waiters: Vec<Waiter>,
    /// Emptied before every use; kept for its memory.
    covered: Vec<Arc<Sleeper>>,
}

struct Waiter {
    lsn: Lsn,
    stage: Stage,
    sleeper: Arc<Sleeper>,
}

/// One per thread.
struct Sleeper {
    state: AtomicU32,
    thread: Thread,
}

const ASLEEP: u32 = 0;
const COVERED: u32 = 1;
const LEAD: u32 = 2;

impl Sleeper {
    fn sleep(&self) -> u32 {
        loop {
            match self.state.load(Ordering::Acquire) {
                ASLEEP => park(),
                state => return state,
            }
        }
    }

    fn wake(&self, state: u32) {
        self.state.store(state, Ordering::Release);
        self.thread.unpark();
    }
}

thread_local! {
    static SLEEPER: Arc<Sleeper> =
        Arc::new(Sleeper { state: AtomicU32::new(ASLEEP), thread: current() });
}

/// Where a leader waits for a record being copied.
#[derive(Default)]
struct Gap {
    announced: AtomicBool,
    leader: Mutex<Option<Thread>>,
}

/// How often it is said that the log waits for room on the disk.
const SAY_FULL_EVERY: Duration = Duration::from_secs(30);

/// A leader's lone sleep; it is woken, so this only bounds what cannot happen.
const GAP_SLEEP: Duration = Duration::from_millis(100);

impl Log {
    #[inline]
    fn has_come(&self, lsn: Lsn, stage: Stage) -> bool {
        let at = match stage {
            Stage::Complete => self.ring.complete(),
            Stage::Written => self.written(),
            Stage::Flushed => self.flushed(),
        };
        at >= lsn
    }

    /// Returns when the log has come to this stage up to `lsn`.
    pub(super) fn wait_for(&self, lsn: Lsn, stage: Stage) -> Result<()> {
        if self.has_come(lsn, stage) {
            return Ok(());
        }
        self.check()?;
        let mut queue = self.group.queue.lock();
        if self.has_come(lsn, stage) {
            return Ok(());
        }
        if queue.led {
            self.count_wait();
            let sleeper = SLEEPER.with(Arc::clone);
            sleeper.state.store(ASLEEP, Ordering::Relaxed);
            queue.waiters.push(Waiter {
                lsn,
                stage,
                sleeper: sleeper.clone(),
            });
            drop(queue);
            if timed(Wait::LogGroup, || sleeper.sleep()) == COVERED {
                return if self.has_come(lsn, stage) {
                    Ok(())
                } else {
                    self.check()
                };
            }
        } else {
            queue.led = true;
            drop(queue);
        }
        let led = self.lead(lsn, stage);
        self.hand_over(true, led.is_err());
        led
    }

    /// Brings the log to where this thread needs it. Others wait meanwhile.
    fn lead(&self, lsn: Lsn, stage: Stage) -> Result<()> {
        let mut spins = 0;
        loop {
            self.check()?;
            let complete = self.ring.advance();
            if complete < lsn && spins < GAP_SPINS {
                spins += 1;
                spin_loop();
                continue;
            }
            let in_the_way = complete < lsn;
            if stage >= Stage::Written || in_the_way {
                self.write_out(complete)?;
            }
            if stage == Stage::Flushed && !in_the_way {
                self.sync_out()?;
            }
            if self.has_come(lsn, stage) {
                return Ok(());
            }
            self.hand_over(false, false);
            self.sleep_over_gap(complete);
        }
    }

    fn write_out(&self, to: Lsn) -> Result<()> {
        let from = self.written();
        if to <= from {
            return Ok(());
        }
        let mut staging = self.group.staging.lock();
        self.ring.copy_out(from, to, &mut staging);
        self.vouch(from, &mut staging);
        timed(Wait::LogWrite, || self.write_when_there_is_room(from, &staging))
            .map_err(|e| self.fail("writing the log", e))?;
        self.publish_written(to);
        Ok(())
    }

    /// A disk without room is waited for: the log has taken what was to be written, so the only other way out is to stop.
    /// What keeps this from being needed are the reservations (`undo_room.rs`).
    fn write_when_there_is_room(&self, from: Lsn, data: &[u8]) -> Result<()> {
        let mut said: Option<Instant> = None;
        loop {
            match self.segments.write(from, data) {
                Err(Error::DiskFull) if self.waits_for_room() => {}
                done => return done,
            }
            if said.is_none_or(|at| at.elapsed() > SAY_FULL_EVERY) {
                ::log::error!("the disk is full, and the log cannot be written; waiting for room");
                said = Some(Instant::now());
            }
            park_timeout(GAP_SLEEP);
        }
    }

    fn sync_out(&self) -> Result<()> {
        let (from, to) = (self.flushed(), self.written());
        if to <= from {
            return Ok(());
        }
        // A failed sync may have dropped what it should have written; trying again would only hide that.
        timed(Wait::LogSync, || self.segments.sync(from, to)).map_err(|e| self.fail("syncing the log", e))?;
        self.publish_flushed(to);
        Ok(())
    }

    /// Wakes those covered (all, if the log has failed); with `leave`, also gives up the lead.
    fn hand_over(&self, leave: bool, failed: bool) {
        let mut queue = self.group.queue.lock();
        let mut covered = std::mem::take(&mut queue.covered);
        queue.waiters.retain_mut(|waiter| {
            let stays = !failed && !self.has_come(waiter.lsn, waiter.stage);
            if !stays {
                covered.push(waiter.sleeper.clone());
            }
            stays
        });
        let mut next = None;
        if leave {
            // The one that needs most: its write and sync serve the others too.
            let most = queue
                .waiters
                .iter()
                .enumerate()
                .max_by_key(|(_, w)| w.stage)
                .map(|(i, _)| i);
            next = most.map(|i| queue.waiters.swap_remove(i).sleeper);
            queue.led = next.is_some();
        }
        drop(queue);
        if let Some(next) = next {
            next.wake(LEAD);
        }
        for sleeper in covered.drain(..) {
            sleeper.wake(COVERED);
        }
        self.group.queue.lock().covered = covered;
    }

    fn sleep_over_gap(&self, seen: Lsn) {
        let gap = &self.group.gap;
        *gap.leader.lock() = Some(current());
        gap.announced.store(true, Ordering::SeqCst);
        if self.ring.advance() == seen && self.check().is_ok() {
            park_timeout(GAP_SLEEP);
        }
        gap.announced.store(false, Ordering::SeqCst);
    }

    /// For a thread that completed a record: wakes a leader that waits for it.
    #[inline]
    pub(super) fn close_gap(&self) {
        if self.group.gap.announced.load(Ordering::SeqCst)
            && let Some(leader) = self.group.gap.leader.lock().take()
        {
            leader.unpark();
        }
    }
}

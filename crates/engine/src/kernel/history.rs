//! How much history there is, which view holds it back, and what happens when it is too much.
//!
//! History is unbounded unless a limit is set: `innodb_max_purge_lag` counts transactions whose work is not purged, and
//! a limit on bytes counts the pages of old versions. When a limit is passed, the observer is called, about once a
//! minute, with the oldest view. Then writers are slowed down, each change by a delay that grows with the excess, as
//! InnoDB does it: (lag ÷ limit − ½) × 10 ms, up to `innodb_max_purge_lag_delay`.

use super::Kernel;
use crate::error::Result;
use crate::ids::{Lsn, PAGE_SIZE};
use crate::mvcc::{self, TidePoint, View};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// How much history is too much; 0: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistoryLimits {
    /// Transactions that are not purged.
    pub transactions: u64,
    /// Pages of old versions, in bytes.
    pub bytes: u64,
    /// The longest delay of a change; 0: as long as the formula says.
    pub delay_max: Duration,
}

/// An open view, and what is kept for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewInfo {
    /// As in [`TransactionInfo`](crate::TransactionInfo).
    pub owner: u64,
    /// The log position it sees.
    pub lsn: Lsn,
    /// When it was first noticed: within a tenth of a second of when it was opened.
    pub opened: SystemTime,
    /// Versions that no other open view needs, and their bytes.
    pub versions: u64,
    /// The bytes of these versions.
    pub bytes: u64,
}

/// History has passed a limit.
#[derive(Clone, Copy, Debug)]
pub struct HistoryExcess {
    /// Transactions that are not purged.
    pub transactions: u64,
    /// Bytes of the pages of old versions.
    pub bytes: u64,
    /// The oldest view, with nothing counted.
    pub oldest: Option<ViewInfo>,
    /// History is kept on purpose (`innodb_undo_retention`), from before that view.
    pub is_retained: bool,
}

type Observer = Arc<dyn Fn(&HistoryExcess) + Send + Sync>;

/// Between two warnings.
const WARN_EVERY: Duration = Duration::from_secs(60);
/// No change waits longer, whatever the lag.
const DELAY_MAX: Duration = Duration::from_secs(1);
/// A view that has been the oldest for so long is an old one.
const BURY_AFTER: Duration = Duration::from_millis(100);
/// Interval at which the open views are listed.
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(crate) struct History {
    limits: Mutex<HistoryLimits>,
    delay_us: AtomicU64,
    retention_s: AtomicU64,
    bury_after: Mutex<Option<Duration>>,
    observer: Mutex<Option<Observer>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    looked: Option<Instant>,
    warned: Option<Instant>,
    /// By owner: the view, and when it was first seen.
    views: HashMap<u64, (Lsn, SystemTime)>,
}

impl History {
    pub fn set_limits(&self, limits: HistoryLimits) {
        *self.limits.lock() = limits;
    }

    pub fn set_observer(&self, observer: Option<Observer>) {
        *self.observer.lock() = observer;
    }

    pub fn retention(&self) -> Duration {
        Duration::from_secs(self.retention_s.load(Ordering::Relaxed))
    }

    pub fn set_retention(&self, retention: Duration) {
        self.retention_s.store(retention.as_secs(), Ordering::Relaxed);
    }

    /// How long a view must have been the oldest before entries deleted since are moved to the graveyards.
    pub fn bury_after(&self) -> Duration {
        self.bury_after.lock().unwrap_or(BURY_AFTER)
    }

    pub fn set_bury_after(&self, age: Duration) {
        *self.bury_after.lock() = Some(age);
    }

    /// How long the next change is to wait.
    #[inline]
    pub fn delay(&self) -> Duration {
        Duration::from_micros(self.delay_us.load(Ordering::Relaxed))
    }
}

impl Kernel {
    /// Measures history, sets the delay of changes, and warns if a limit is passed. Purge calls this in each round.
    pub fn watch_history(&self) {
        let history = &self.history;
        let mut state = history.state.lock();
        if state.looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
            return;
        }
        state.looked = Some(Instant::now());
        let now = SystemTime::now();
        let floor = self.mvcc.retention_floor();
        let open = self.open_views();
        let mut views = std::mem::take(&mut state.views);
        state.views = open
            .iter()
            .map(|(owner, view)| {
                let seen = views.remove(owner).filter(|(lsn, _)| *lsn == view.lsn);
                (*owner, seen.unwrap_or((view.lsn, now)))
            })
            .collect();
        let limits = *history.limits.lock();
        let (transactions, bytes) = (self.mvcc.queue.transactions(), self.version_bytes());
        let ratio = |lag: u64, limit: u64| {
            if limit == 0 {
                0.0
            } else {
                lag as f64 / limit as f64
            }
        };
        let ratio = ratio(transactions, limits.transactions).max(ratio(bytes, limits.bytes));
        if ratio <= 1.0 {
            history.delay_us.store(0, Ordering::Relaxed);
            return;
        }
        let delay = Duration::from_secs_f64(((ratio - 0.5) * 0.01).min(DELAY_MAX.as_secs_f64()));
        let delay = match limits.delay_max {
            Duration::ZERO => delay,
            most => delay.min(most),
        };
        // Warned of before any writer is slowed down.
        if state.warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            state.warned = Some(Instant::now());
            let oldest = open.iter().min_by_key(|(_, view)| view.lsn);
            let oldest = oldest.map(|(owner, view)| ViewInfo {
                owner: *owner,
                lsn: view.lsn,
                opened: state.views.get(owner).map_or(now, |(_, opened)| *opened),
                versions: 0,
                bytes: 0,
            });
            drop(state);
            let is_before = |floor: TidePoint| oldest.is_none_or(|view: ViewInfo| floor.lsn <= view.lsn);
            let is_retained = floor.is_some_and(is_before);
            warn(
                history,
                &HistoryExcess {
                    transactions,
                    bytes,
                    oldest,
                    is_retained,
                },
            );
        }
        history
            .delay_us
            .store(delay.as_micros() as u64, Ordering::Relaxed);
    }

    /// Bytes of the pages that old versions take.
    pub fn version_bytes(&self) -> u64 {
        let pages = self.store.status().scratch_pages as u64;
        pages.saturating_sub(self.spools.pages()) * PAGE_SIZE as u64
    }

    fn open_views(&self) -> Vec<(u64, View)> {
        let owners = self.owners.all();
        let views = owners
            .iter()
            .filter_map(|(owner, slot)| Some((owner.number, self.mvcc.views.get(*slot)?)));
        views.collect()
    }

    /// The open views, oldest first, with nothing counted.
    pub fn view_list(&self) -> Vec<ViewInfo> {
        self.sorted_views().into_iter().map(|(info, _)| info).collect()
    }

    fn sorted_views(&self) -> Vec<(ViewInfo, View)> {
        let mut open = self.open_views();
        open.sort_by_key(|(_, view)| view.lsn);
        let now = SystemTime::now();
        let state = self.history.state.lock();
        let opened = |owner: &u64, view: &View| match state.views.get(owner) {
            Some((lsn, opened)) if *lsn == view.lsn => *opened,
            _ => now,
        };
        let info = |(owner, view): (u64, View)| {
            let info = ViewInfo {
                owner,
                lsn: view.lsn,
                opened: opened(&owner, &view),
                versions: 0,
                bytes: 0,
            };
            (info, view)
        };
        open.into_iter().map(info).collect()
    }

    /// The open views, oldest first, with what is kept for each alone. Looks at every page of versions.
    pub fn view_infos(&self) -> Result<Vec<ViewInfo>> {
        let (mut infos, open): (Vec<ViewInfo>, Vec<View>) = self.sorted_views().into_iter().unzip();
        if open.is_empty() {
            return Ok(infos);
        }
        let versions = self.mvcc.versions();
        for page in self.mvcc.queue.pages() {
            let mut alive = |v: &mvcc::Version| v.flags & mvcc::LINKED != 0;
            for record in versions.records(page, 0, usize::MAX, &mut alive)? {
                let version = &record.version;
                let blind = open.partition_point(|view| !view.sees(version.superseder, &self.mvcc.txns));
                let with = open.partition_point(|view| !view.sees(version.writer, &self.mvcc.txns));
                if with + 1 == blind {
                    infos[with].versions += 1;
                    infos[with].bytes += mvcc::record_len(&record.key, &record.columns) as u64;
                }
            }
        }
        Ok(infos)
    }
}

fn warn(history: &History, excess: &HistoryExcess) {
    let observer = history.observer.lock().clone();
    match (observer, &excess.oldest) {
        (Some(observer), _) => observer(excess),
        (None, _) if excess.is_retained => ::log::warn!(
            "{} transactions are not purged, {} bytes of old versions are kept, on purpose",
            excess.transactions,
            excess.bytes
        ),
        (None, Some(view)) => {
            let open = view.opened.elapsed().unwrap_or_default().as_secs();
            ::log::warn!(
                "{} transactions are not purged, {} bytes of old versions are kept; transaction {} has had \
                 its view open for {open} s",
                excess.transactions,
                excess.bytes,
                view.owner
            );
        }
        (None, None) => ::log::warn!(
            "{} transactions are not purged, {} bytes of old versions are kept: purge cannot keep up",
            excess.transactions,
            excess.bytes
        ),
    }
}

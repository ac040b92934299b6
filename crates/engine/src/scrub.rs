//! Verifies the data file in the background, page by page and gently, so that damage is found before the page is needed and while
//! backups without it are still kept. What is found is told once, with the table that the page is of.
//!
//! One pass after the other. The rate is in pages a second; a page that was damaged and has been written again since is forgotten.

use crate::core::Core;
use crate::error::Result;
use crate::ids::{PageId, TableId};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// How often pages are read.
const TICK: Duration = Duration::from_millis(250);
/// Pages read at a time at most.
const CHUNK: usize = 64;
/// So many damaged pages are remembered, and told of.
const KNOWN_MAX: usize = 10_000;
/// Pages a second by default: half a mebibyte.
const RATE: u64 = 32;

/// A damaged page that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its number.
    pub page: PageId,
    /// The table that it is of, as far as what is left of it tells.
    pub table: Option<TableId>,
}

/// How far verifying is.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScrubStatus {
    /// Passes through the file that are complete.
    pub passes: u64,
    /// Where the present one is.
    pub position: PageId,
    /// Pages verified so far.
    pub verified: u64,
    /// Pages that are damaged.
    pub damaged: u64,
}

type Observer = Box<dyn Fn(&Damage) + Send + Sync>;

pub(crate) struct Scrub {
    rate: AtomicU64,
    next: AtomicU32,
    passes: AtomicU64,
    verified: AtomicU64,
    known: Mutex<BTreeSet<PageId>>,
    observer: RwLock<Option<Observer>>,
}

impl Default for Scrub {
    fn default() -> Scrub {
        Scrub {
            rate: AtomicU64::new(RATE),
            next: AtomicU32::new(0),
            passes: AtomicU64::new(0),
            verified: AtomicU64::new(0),
            known: Mutex::default(),
            observer: RwLock::default(),
        }
    }
}

impl Scrub {
    pub fn set_rate(&self, pages_per_s: u64) {
        self.rate.store(pages_per_s, Ordering::Relaxed);
    }

    pub fn set_observer(&self, observer: Observer) {
        *self.observer.write() = Some(observer);
    }

    pub fn status(&self) -> ScrubStatus {
        ScrubStatus {
            passes: self.passes.load(Ordering::Relaxed),
            position: PageId(self.next.load(Ordering::Relaxed)),
            verified: self.verified.load(Ordering::Relaxed),
            damaged: self.known.lock().len() as u64,
        }
    }

    /// Goes on until the engine stops.
    pub fn run(&self, core: &Core) {
        let mut owed = 0.0;
        while !core.background.is_stopped() {
            owed = (owed + self.rate.load(Ordering::Relaxed) as f64 * TICK.as_secs_f64()).min(1e6);
            while owed >= 1.0 && !core.background.is_stopped() {
                let most = (owed as usize).min(CHUNK);
                owed -= most as f64;
                if let Err(error) = self.step(core, most) {
                    ::log::error!("verifying pages on the disk: {error}");
                    owed = 0.0;
                }
            }
            std::thread::park_timeout(TICK);
        }
    }

    /// Verifies the next pages.
    pub fn step(&self, core: &Core, most: usize) -> Result<()> {
        let first = PageId(self.next.load(Ordering::Relaxed));
        let (count, damaged) = core.kernel.store.verify_on_disk(first, most)?;
        self.verified.fetch_add(count as u64, Ordering::Relaxed);
        let end = PageId(first.0 + count as u32);
        let is_last = count < most;
        self.next
            .store(if is_last { 0 } else { end.0 }, Ordering::Relaxed);
        if is_last {
            self.passes.fetch_add(1, Ordering::Relaxed);
        }
        let mut news = Vec::new();
        {
            let mut known = self.known.lock();
            let whole: Vec<PageId> = known.range(first..end).copied().collect();
            for page in whole {
                if damaged.iter().all(|found| found.page != page) {
                    known.remove(&page);
                }
            }
            for found in &damaged {
                if known.len() < KNOWN_MAX && known.insert(found.page) {
                    news.push(*found);
                }
            }
        }
        let tables = core.catalog.tables();
        for found in news {
            let owner = tables
                .iter()
                .find(|table| table.indexes.iter().any(|index| Some(index.id) == found.index));
            let damage = Damage {
                page: found.page,
                table: owner.map(|table| table.id()),
            };
            match &*self.observer.read() {
                Some(observer) => observer(&damage),
                None => ::log::error!("page {} is damaged on the disk: {:?}", damage.page, damage.table),
            }
        }
        Ok(())
    }
}

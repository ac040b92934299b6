//! The purge queue: pages of versions, each with the position that every view must have passed before it can be purged.
//!
//! An item is *fresh* until purge has examined it. If an old view holds it back, purge removes from its page the
//! versions that no view needs, and moves deleted entries that only old views need to the graveyards; then the item is
//! *held* until those views are closed. Pages that keep few live versions (*thin* ones) are in a list of their own.

use super::buffer::VersionBuffer;
use super::generations::Generations;
use crate::ids::{Lsn, PageId};
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// A scratch page and its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLife {
    pub id: PageId,
    pub generation: u32,
}

/// A page, or part of one, to be purged when every view sees `lsn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PurgeItem {
    pub lsn: Lsn,
    pub page: PageLife,
    /// Offset in the page of the first record whose purge task belongs to this item.
    pub from: usize,
    pub to: usize,
    /// The page is full, so it can be freed after this item.
    pub last: bool,
    /// Number of transactions whose ends this item stands for.
    pub transactions: u32,
}

#[derive(Default)]
pub(crate) struct PurgeQueue {
    fresh: Mutex<BinaryHeap<Reverse<Due>>>,
    held: Mutex<BinaryHeap<Reverse<Due>>>,
    /// In order of arrival: a page that cannot be emptied yet goes to the back, so that it does not block the others.
    thin: Mutex<VecDeque<PageLife>>,
    /// Number of transactions in the items.
    transactions: AtomicU64,
    /// The open sessions' buffers.
    buffers: Mutex<Vec<Weak<Mutex<VersionBuffer>>>>,
}

struct Due(PurgeItem);

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.0.lsn == other.0.lsn
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        self.0.lsn.cmp(&other.0.lsn)
    }
}

fn pop(items: &Mutex<BinaryHeap<Reverse<Due>>>, up_to: Lsn) -> Option<PurgeItem> {
    let mut items = items.lock();
    match items.peek() {
        Some(Reverse(due)) if due.0.lsn <= up_to => items.pop().map(|Reverse(due)| due.0),
        _ => None,
    }
}

impl PurgeQueue {
    pub fn push(&self, item: PurgeItem) {
        self.transactions
            .fetch_add(item.transactions.into(), Ordering::Relaxed);
        self.fresh.lock().push(Reverse(Due(item)));
    }

    /// Queues an item that purge has examined and that some view has not passed.
    pub fn hold(&self, item: PurgeItem) {
        self.transactions
            .fetch_add(item.transactions.into(), Ordering::Relaxed);
        self.held.lock().push(Reverse(Due(item)));
    }

    /// Takes the earliest item if every view has passed it (`oldest` is the oldest view).
    pub fn pop(&self, oldest: Lsn) -> Option<PurgeItem> {
        pop(&self.fresh, oldest)
            .or_else(|| pop(&self.held, oldest))
            .inspect(|item| self.left(item))
    }

    /// Takes the earliest fresh item if it is not later than `up_to`.
    pub fn pop_fresh(&self, up_to: Lsn) -> Option<PurgeItem> {
        pop(&self.fresh, up_to).inspect(|item| self.left(item))
    }

    fn left(&self, item: &PurgeItem) {
        self.transactions
            .fetch_sub(item.transactions.into(), Ordering::Relaxed);
    }

    pub fn report_thin(&self, page: PageLife) {
        self.thin.lock().push_back(page);
    }

    /// Takes up to `most` pages that were reported thin.
    pub fn take_thin(&self, most: usize) -> Vec<PageLife> {
        let mut thin = self.thin.lock();
        let most = most.min(thin.len());
        thin.drain(..most).collect()
    }

    pub fn add_buffer(&self, buffer: &Arc<Mutex<VersionBuffer>>) {
        let mut buffers = self.buffers.lock();
        // Those of sessions that are gone are looked for only where room runs out, or n sessions would cost n².
        if buffers.len() == buffers.capacity() {
            buffers.retain(|b| b.strong_count() > 0);
        }
        buffers.push(Arc::downgrade(buffer));
    }

    fn live_buffers(&self) -> Vec<Arc<Mutex<VersionBuffer>>> {
        self.buffers.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Queues what sessions have in their buffers and have not handed over yet.
    pub fn flush_buffers(&self) {
        for buffer in self.live_buffers() {
            if let Some(mut buffer) = buffer.try_lock() {
                buffer.flush(self);
            }
        }
    }

    /// Every page that holds versions.
    pub fn pages(&self) -> Vec<PageLife> {
        let of = |items: &Mutex<BinaryHeap<Reverse<Due>>>| {
            items
                .lock()
                .iter()
                .map(|Reverse(due)| due.0.page)
                .collect::<Vec<_>>()
        };
        let mut pages = of(&self.fresh);
        pages.extend(of(&self.held));
        pages.extend(
            self.live_buffers()
                .iter()
                .filter_map(|buffer| buffer.lock().page()),
        );
        pages.sort_unstable_by_key(|page| (page.id, page.generation));
        pages.dedup();
        pages
    }

    /// The end of the earliest transaction that is not purged yet.
    pub fn earliest(&self) -> Option<Lsn> {
        let first =
            |items: &Mutex<BinaryHeap<Reverse<Due>>>| items.lock().peek().map(|Reverse(due)| due.0.lsn);
        [first(&self.fresh), first(&self.held)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Number of queued items.
    pub fn len(&self) -> u64 {
        (self.fresh.lock().len() + self.held.lock().len()) as u64
    }

    /// Number of transactions not purged yet, not counting those still in sessions' buffers.
    pub fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }

    /// Removes thin pages that have been freed in the meantime.
    pub fn forget_dead(&self, generations: &Generations) {
        let alive = |page: &PageLife| generations.is_current(page.id, page.generation);
        self.held.lock().retain(|Reverse(due)| {
            let keep = alive(&due.0.page);
            if !keep {
                self.left(&due.0);
            }
            keep
        });
    }
}

//! What waits for purge: pages of versions, each with the moment that every view must have passed.
//!
//! An item is *fresh* until purge has looked at it. If an old view holds it back, purge takes out of its page what nobody
//! needs for all that, and moves out of the way what only old views need; then it is *held* until they are closed. Pages that
//! have become thin are listed apart.

use super::buffer::VersionBuffer;
use super::generations::Generations;
use crate::ids::{Lsn, PageId};
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// A scratch page in one of its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageLife {
    pub id: PageId,
    pub generation: u32,
}

/// A page, or part of one, that purge should look at when all views see `lsn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PurgeItem {
    pub lsn: Lsn,
    pub page: PageLife,
    /// Where the purge tasks stand.
    pub from: usize,
    pub to: usize,
    /// The page is full, and can go afterwards.
    pub last: bool,
    /// Transactions that ended with this item.
    pub transactions: u32,
}

#[derive(Default)]
pub(crate) struct PurgeQueue {
    fresh: Mutex<BinaryHeap<Reverse<Due>>>,
    held: Mutex<BinaryHeap<Reverse<Due>>>,
    /// The longest known first: who could not be emptied yet does not keep the others from it.
    thin: Mutex<VecDeque<PageLife>>,
    /// Transactions in the items.
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

    /// Purge has seen the item, and waits for the views to pass it.
    pub fn hold(&self, item: PurgeItem) {
        self.transactions
            .fetch_add(item.transactions.into(), Ordering::Relaxed);
        self.held.lock().push(Reverse(Due(item)));
    }

    /// The earliest item, if every view has passed it.
    pub fn pop(&self, oldest: Lsn) -> Option<PurgeItem> {
        pop(&self.fresh, oldest)
            .or_else(|| pop(&self.held, oldest))
            .inspect(|item| self.left(item))
    }

    /// The earliest fresh item, if it is not later than that.
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

    /// Some pages that were reported thin.
    pub fn take_thin(&self, most: usize) -> Vec<PageLife> {
        let mut thin = self.thin.lock();
        let most = most.min(thin.len());
        thin.drain(..most).collect()
    }

    pub fn add_buffer(&self, buffer: &Arc<Mutex<VersionBuffer>>) {
        let mut buffers = self.buffers.lock();
        buffers.retain(|b| b.strong_count() > 0);
        buffers.push(Arc::downgrade(buffer));
    }

    fn live_buffers(&self) -> Vec<Arc<Mutex<VersionBuffer>>> {
        self.buffers.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Collects what sessions have not handed over yet.
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

    /// Items that wait.
    pub fn len(&self) -> u64 {
        (self.fresh.lock().len() + self.held.lock().len()) as u64
    }

    /// Transactions whose work is not purged yet, about: those that purge has been told of.
    pub fn transactions(&self) -> u64 {
        self.transactions.load(Ordering::Relaxed)
    }

    /// Forgets pages that have ended otherwise.
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

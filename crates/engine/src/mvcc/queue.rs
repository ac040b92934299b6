//! What waits for purge: pages of versions, each with the moment that every view must have passed.

use super::versions::{PurgeItem, VersionBuffer};
use crate::ids::Lsn;
use parking_lot::Mutex;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};

#[derive(Default)]
pub(crate) struct PurgeQueue {
    items: Mutex<BinaryHeap<Reverse<Due>>>,
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

impl PurgeQueue {
    pub fn push(&self, item: PurgeItem) {
        self.items.lock().push(Reverse(Due(item)));
    }

    /// The earliest item, if every view has passed it.
    pub fn pop(&self, oldest: Lsn) -> Option<PurgeItem> {
        let mut items = self.items.lock();
        match items.peek() {
            Some(Reverse(due)) if due.0.lsn <= oldest => items.pop().map(|Reverse(due)| due.0),
            _ => None,
        }
    }

    pub fn add_buffer(&self, buffer: &Arc<Mutex<VersionBuffer>>) {
        let mut buffers = self.buffers.lock();
        buffers.retain(|b| b.strong_count() > 0);
        buffers.push(Arc::downgrade(buffer));
    }

    /// Collects what sessions have not handed over yet.
    pub fn flush_buffers(&self) {
        let buffers: Vec<_> = self.buffers.lock().iter().filter_map(Weak::upgrade).collect();
        for buffer in buffers {
            if let Some(mut buffer) = buffer.try_lock() {
                buffer.flush(&mut |item| self.push(item));
            }
        }
    }

    /// Items that wait.
    pub fn len(&self) -> u64 {
        self.items.lock().len() as u64
    }
}

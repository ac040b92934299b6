//! A session's version buffer: fills one scratch page after another, and queues each for purge when its transactions
//! have ended.

use super::hot;
use super::queue::{PageLife, PurgeItem, PurgeQueue};
use super::versions::{
    Address, CLOSED, LIVE_AT, PURGE, RECORDS_AT, STATE_AT, Version, Versions, record_len, write,
};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PAGE_SIZE};
use crate::pool::page_type;
use parking_lot::Mutex;

/// Where one session appends versions.
pub(crate) struct VersionBuffer {
    page: Option<PageLife>,
    end: usize,
    /// Offset in the page up to which its records have been queued for purge.
    told: usize,
    /// True if a record after `told` has a purge task.
    has_tasks: bool,
    /// Transactions that ended after the last item was queued.
    transactions: u32,
    /// Where the last transaction that used this buffer ended.
    ended: Lsn,
    /// Pages filled by the running transaction, to be queued at its end.
    full: Vec<PurgeItem>,
    running: bool,
    /// Pages filled in the buffer's life.
    filled: u32,
}

impl VersionBuffer {
    pub fn new() -> Mutex<VersionBuffer> {
        Mutex::new(VersionBuffer {
            page: None,
            end: 0,
            told: 0,
            has_tasks: false,
            transactions: 0,
            ended: Lsn::ZERO,
            full: Vec::new(),
            running: false,
            filled: 0,
        })
    }

    /// Appends a version.
    pub fn append(
        &mut self,
        to: &Versions,
        version: &Version,
        key: &[u8],
        columns: &[u8],
    ) -> Result<Address> {
        self.running = true;
        let len = record_len(key, columns);
        if RECORDS_AT + len > PAGE_SIZE {
            return Err(Error::RowTooLarge {
                bytes: len,
                max_bytes: PAGE_SIZE - RECORDS_AT,
            });
        }
        if self.page.is_some() && self.end + len > PAGE_SIZE {
            self.close(to)?;
        }
        let (mut guard, page) = match self.page {
            Some(page) => (to.store.pool().exclusive(page.id)?, page),
            None => {
                let guard = to.store.alloc_scratch(page_type::VERSIONS)?;
                let page = PageLife {
                    id: guard.id(),
                    generation: to.generations.begin(guard.id()),
                };
                self.page = Some(page);
                (self.end, self.told) = (RECORDS_AT, RECORDS_AT);
                (guard, page)
            }
        };
        let at = self.end;
        write(guard.scratch_mut(), at, version, key, columns);
        self.end += len;
        self.has_tasks |= version.flags & PURGE != 0;
        Ok(Address::new(page, at))
    }

    /// Closes the current page: no more is written to it.
    fn close(&mut self, to: &Versions) -> Result<()> {
        let Some(page) = self.page else {
            return Ok(());
        };
        let mut guard = to.store.pool().exclusive(page.id)?;
        self.page = None;
        guard.scratch_mut()[STATE_AT] = CLOSED;
        self.filled = self.filled.wrapping_add(1);
        if self.filled.is_multiple_of(hot::ONE_IN) {
            to.hot.sample(&guard);
        }
        if guard.u16_at(LIVE_AT) == 0 {
            to.free(guard);
        } else {
            let (from, to) = if self.has_tasks {
                (self.told, self.end)
            } else {
                (0, 0)
            };
            self.full.push(PurgeItem {
                lsn: Lsn::ZERO,
                page,
                from,
                to,
                last: true,
                transactions: std::mem::take(&mut self.transactions),
            });
        }
        self.has_tasks = false;
        Ok(())
    }

    /// Ends the running transaction, at `lsn`: queues the pages it filled.
    pub fn end_transaction(&mut self, lsn: Lsn, queue: &PurgeQueue) {
        self.running = false;
        self.ended = lsn;
        self.transactions += 1;
        for item in self.full.drain(..) {
            queue.push(PurgeItem { lsn, ..item });
        }
    }

    /// Ends a batch of versions that purge moved here. They belong to no running transaction; all their writers have
    /// ended by `lsn`.
    pub fn end_batch(&mut self, lsn: Lsn, queue: &PurgeQueue) {
        self.end_transaction(lsn, queue);
        self.transactions = 0;
        self.flush(queue);
    }

    /// Queues the work of ended transactions in the page being filled. Called by the purge thread from time to time.
    pub fn flush(&mut self, queue: &PurgeQueue) {
        if let Some(page) = self.page
            && !self.running
            && self.has_tasks
        {
            queue.push(PurgeItem {
                lsn: self.ended,
                page,
                from: self.told,
                to: self.end,
                last: false,
                transactions: std::mem::take(&mut self.transactions),
            });
            self.told = self.end;
            self.has_tasks = false;
        }
    }

    /// The page being filled, for statistics.
    pub fn page(&self) -> Option<PageLife> {
        self.page
    }

    /// Closes the buffer when its session ends.
    pub fn retire(&mut self, to: &Versions) -> Result<()> {
        self.close(to)?;
        let ended = self.ended;
        self.end_transaction(ended, to.queue);
        Ok(())
    }
}

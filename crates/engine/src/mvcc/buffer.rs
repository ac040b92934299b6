//! Where a session puts versions: one page after another, each told to purge when its transactions have ended.

use super::hot;
use super::queue::{PageLife, PurgeItem, PurgeQueue};
use super::versions::{
    Address, CLOSED, LIVE_AT, PURGE, RECORDS_AT, STATE_AT, Version, Versions, record_len, write,
};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PAGE_SIZE};
use crate::pool::page_type;
use parking_lot::Mutex;

/// A session's place to append versions.
pub(crate) struct VersionBuffer {
    page: Option<PageLife>,
    end: usize,
    /// Where in the page the work begins that purge has not been told of.
    told: usize,
    /// Whether there is any.
    has_tasks: bool,
    /// Transactions that ended and that purge has not been told of.
    transactions: u32,
    /// The last transaction that ended here.
    ended: Lsn,
    /// Pages that the running transaction has filled.
    full: Vec<PurgeItem>,
    running: bool,
    /// Pages filled.
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

    /// No more is written to the current page.
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

    /// The running transaction has ended, at this moment. What it filled goes to purge.
    pub fn end_transaction(&mut self, lsn: Lsn, queue: &PurgeQueue) {
        self.running = false;
        self.ended = lsn;
        self.transactions += 1;
        for item in self.full.drain(..) {
            queue.push(PurgeItem { lsn, ..item });
        }
    }

    /// What was appended is no transaction's work; all who had to do with it have ended by then.
    pub fn end_batch(&mut self, lsn: Lsn, queue: &PurgeQueue) {
        self.end_transaction(lsn, queue);
        self.transactions = 0;
        self.flush(queue);
    }

    /// Tells purge of the ended transactions' work in the page being filled; the purge thread calls this now and then.
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

    /// The page being filled, for who counts.
    pub fn page(&self) -> Option<PageLife> {
        self.page
    }

    /// The session ends.
    pub fn retire(&mut self, to: &Versions) -> Result<()> {
        self.close(to)?;
        let ended = self.ended;
        self.end_transaction(ended, to.queue);
        Ok(())
    }
}

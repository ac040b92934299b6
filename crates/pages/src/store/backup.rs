//! Copies a store that is running, without stopping any client.
//!
//! ```text
//!  hold the log from where recovery would begin now ──► copy `data`, page by page ──► flush the log: its end is E
//!      ──► copy the log up to E ──► read back and verify what was written ──► control, which makes it a directory
//! ```
//!
//! The copy is what a crash at E would have left: opening it recovers it, to the moment E. Pages are copied while they change,
//! so some are of one moment and some of another, as after a crash. What recovery needs is the same, too:
//!
//! - each page is whole. One that is read while it is being written is read again; of one that stays torn, because
//!   its place takes no writes, the pool has the content, if anything has.
//! - the log has every change since the control file that the copy gets was current. It was read at the beginning, so the
//!   pages read later hold at least what it promises; and the log from there on is held (`holds.rs`).
//! - no page is newer than E. A page goes to the disk after its log, and E was flushed after the last page was read.
//!
//! A page that is freed meanwhile may be given back to the file system and read as zeros, while changes of it from before still
//! stand in the log that the copy gets. So extents freed after the beginning are given back after the end.

use super::control::{Control, ControlFile};
use super::doublewrite;
use super::files::DATA;
use super::{LogHold, Store};
use crate::disk::{Access, Disk};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PAGE_SIZE, PageId};
use crate::log::{Log, Segments};
use crate::pool::PageBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What a backup says of itself, beside its data.
pub const BACKUP_INFO: &str = "backup";

/// How often a page that was being written is read again.
const READ_TRIES: u32 = 10;
/// Pages copied at a time: an extent, so that a free one is left out.
const CHUNK: usize = 64;
/// How long a copy sleeps before it asks again whether to go on.
const NAP: Duration = Duration::from_millis(50);
/// How many times as long as it works a copy without a bound rests while clients write: it takes a third of a processor and
/// of the disk's time from them, not all of one.
const REST: u32 = 2;

/// What a copy is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum CopyStage {
    /// Copying pages.
    #[default]
    Data,
    /// Copying the log.
    Log,
    /// Reading back what was written.
    Verify,
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, Default)]
pub struct CopyProgress {
    /// What it does.
    pub stage: CopyStage,
    /// Bytes of this stage that are done.
    pub done_bytes: u64,
    /// Bytes of this stage.
    pub total_bytes: u64,
}

/// How a copy is to be made.
pub struct CopyOptions<'c> {
    /// Bytes read or written in a second at most; 0: as fast as it goes beside what clients write.
    pub bytes_per_s: u64,
    /// Told now and then how far the copy is; an error ends it.
    pub progress: &'c dyn Fn(CopyProgress) -> Result<()>,
}

/// A copy that was made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copied {
    /// The moment that it is of.
    pub end: Lsn,
    /// Where recovery begins to read its log.
    pub log_from: Lsn,
    /// Pages of its `data`, free ones included.
    pub pages: u32,
    /// Bytes written.
    pub bytes: u64,
}

/// Keeps a copy from being faster than it may, and tells how far it is.
struct Pace<'c> {
    options: &'c CopyOptions<'c>,
    log: &'c Log,
    began: Instant,
    bytes: u64,
    at: CopyProgress,
    /// When it last went on, and where the log ended then.
    went_on: (Instant, Lsn),
}

impl<'c> Pace<'c> {
    fn new(options: &'c CopyOptions<'c>, log: &'c Log) -> Pace<'c> {
        Pace {
            options,
            log,
            began: Instant::now(),
            bytes: 0,
            at: CopyProgress::default(),
            went_on: (Instant::now(), log.tail()),
        }
    }

    fn begin(&mut self, stage: CopyStage, total_bytes: u64) -> Result<()> {
        self.at = CopyProgress {
            stage,
            done_bytes: 0,
            total_bytes,
        };
        (self.options.progress)(self.at)
    }

    /// So much of the stage is done, and so many bytes of it were moved.
    fn step(&mut self, done: u64, moved: u64) -> Result<()> {
        self.at.done_bytes += done;
        self.bytes += moved;
        (self.options.progress)(self.at)?;
        let rate = self.options.bytes_per_s;
        if rate == 0 {
            let (since, tail) = self.went_on;
            if self.log.tail() != tail {
                sleep((since.elapsed() * REST).min(NAP));
            }
            self.went_on = (Instant::now(), self.log.tail());
            return Ok(());
        }
        loop {
            let due = Duration::from_secs_f64(self.bytes as f64 / rate as f64);
            let Some(early) = due.checked_sub(self.began.elapsed()).filter(|d| !d.is_zero()) else {
                return Ok(());
            };
            sleep(early.min(NAP));
            (self.options.progress)(self.at)?;
        }
    }
}

impl Store {
    /// Copies the store to a disk on which there is nothing yet, as it is at the moment when the copy ends. What was written
    /// there before a failure stays, and is no data directory.
    pub fn back_up(&self, to: &Arc<dyn Disk>, options: &CopyOptions<'_>) -> Result<Copied> {
        if !to.list()?.is_empty() || !to.list_directories()?.is_empty() {
            return Err(Error::CannotOpen("the directory is not empty".into()));
        }
        // So that less of the log has to be copied, and read when the copy is opened.
        self.checkpoint()?;
        let (control, _hold) = self.hold_log();
        let mut pace = Pace::new(options, self.log());
        let pages = self.copy_pages(&**to, &mut pace)?;
        self.log().flush_all()?;
        let end = self.log().flushed();
        let log_bytes = end.0 - control.scan_from.0;
        pace.begin(CopyStage::Log, log_bytes)?;
        self.log()
            .segments()
            .copy(control.scan_from, end, &**to, &mut |bytes| {
                pace.step(bytes, 2 * bytes)
            })?;
        to.open(doublewrite::NAME, true, Access::Direct)?.sync()?;
        verify_pages(&**to, pages, &mut pace)?;
        verify_log(to.clone(), &control, self.log().segments().mark(), end)?;
        let copied = Copied {
            end,
            log_from: control.scan_from,
            pages,
            bytes: u64::from(pages) * PAGE_SIZE as u64 + log_bytes,
        };
        write_info(&**to, &copied)?;
        to.sync_dir()?;
        // Only now is it a data directory.
        let control = Control {
            clean: false,
            durable: end,
            ..control
        };
        ControlFile::create(&**to, &control)?;
        Ok(copied)
    }

    /// The control file as it is now, and the log held from where it says that recovery begins.
    pub(super) fn hold_log(&self) -> (Control, LogHold) {
        // While the lock is held no checkpoint moves on; the next one finds the hold.
        let locked = self.control.lock();
        (locked.1, self.holds.hold(locked.1.scan_from))
    }

    fn copy_pages(&self, to: &dyn Disk, pace: &mut Pace<'_>) -> Result<u32> {
        let count = self.space().allocated();
        let page_bytes = PAGE_SIZE as u64;
        pace.begin(CopyStage::Data, u64::from(count) * page_bytes)?;
        let file = to.open(DATA, true, Access::Direct)?;
        let mut chunk = PageBuf::batch(CHUNK);
        let mut first = 0;
        while first < count {
            // Extents are counted from page 1 on.
            let len = if first == 0 {
                1
            } else {
                CHUNK.min((count - first) as usize)
            };
            let pages = &mut chunk[..len];
            self.read_whole(PageId(first), pages)?;
            let offset = u64::from(first) * page_bytes;
            let bytes = (len * PAGE_SIZE) as u64;
            let is_blank = pages.iter().all(|page| page.lsn().is_zero());
            let mut moved = 0;
            if !is_blank || self.is_any_used(first, len)? {
                file.allocate(offset, bytes)?;
                file.write_at(PageBuf::bytes_of(pages), offset)?;
                moved = 2 * bytes;
            }
            pace.step(bytes, moved)?;
            first += len as u32;
        }
        file.truncate(u64::from(count) * page_bytes)?;
        file.sync()?;
        Ok(count)
    }

    fn is_any_used(&self, first: u32, len: usize) -> Result<bool> {
        for page in first..first + len as u32 {
            if self.is_used(PageId(page))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads pages from the disk, each of them whole.
    fn read_whole(&self, first: PageId, pages: &mut [PageBuf]) -> Result<()> {
        for (id, _) in self.read_settled(first, pages)? {
            self.read_from_pool(id, &mut pages[(id.0 - first.0) as usize])?;
        }
        Ok(())
    }

    /// Reads pages from the disk, those again that are being written. Returns those that are not whole even so, or not what was
    /// written there.
    pub(super) fn read_settled(
        &self,
        first: PageId,
        pages: &mut [PageBuf],
    ) -> Result<Vec<(PageId, PageBuf)>> {
        let data = self.space().file();
        let place = |page: PageId| u64::from(page.0) * PAGE_SIZE as u64;
        data.read_at(PageBuf::bytes_of_mut(pages), place(first))?;
        let mut torn = Vec::new();
        for (n, page) in pages.iter_mut().enumerate() {
            let id = PageId(first.0 + n as u32);
            let is_settled = |page: &PageBuf| {
                page.is_intact(id) && (self.pool().is_dirty(id) || self.pool().is_as_written(id, page))
            };
            let mut tries = 0;
            while !is_settled(page) && tries < READ_TRIES {
                sleep(Duration::from_millis(1 << tries.min(6)));
                tries += 1;
                data.read_at(PageBuf::bytes_of_mut(std::slice::from_mut(page)), place(id))?;
            }
            if !is_settled(page) {
                torn.push((id, page.duplicate()));
            }
        }
        Ok(torn)
    }

    /// A page that is not whole on the disk. What a free page holds does not matter.
    fn read_from_pool(&self, id: PageId, page: &mut PageBuf) -> Result<()> {
        if !self.is_used(id)? {
            page.fill(0);
            return Ok(());
        }
        let found = self.pool().shared(id)?;
        page.copy_from_slice(&found[..]);
        page.seal(id);
        Ok(())
    }
}

/// Reads the pages back: each must be as it was written.
fn verify_pages(to: &dyn Disk, count: u32, pace: &mut Pace<'_>) -> Result<()> {
    let bytes = u64::from(count) * PAGE_SIZE as u64;
    pace.begin(CopyStage::Verify, bytes)?;
    let file = to.open(DATA, false, Access::Direct)?;
    let mut chunk = PageBuf::batch(CHUNK);
    for first in (0..count).step_by(CHUNK) {
        let len = CHUNK.min((count - first) as usize);
        let pages = &mut chunk[..len];
        file.read_at(PageBuf::bytes_of_mut(pages), u64::from(first) * PAGE_SIZE as u64)?;
        for (n, page) in pages.iter().enumerate() {
            let id = PageId(first + n as u32);
            if !page.is_intact(id) {
                return Err(Error::corrupt(id, "the copy differs from what was written"));
            }
        }
        let bytes = (len * PAGE_SIZE) as u64;
        pace.step(bytes, bytes)?;
    }
    Ok(())
}

/// Reads the log back: record after record it must lead to its end.
fn verify_log(to: Arc<dyn Disk>, control: &Control, mark: crate::log::Mark, end: Lsn) -> Result<()> {
    let segments = Segments::open(to, control.segment_bytes, mark)?;
    let mut reader = segments.reader(control.scan_from).not_before(control.scan_epoch);
    while reader.position() < end {
        if reader.next()?.is_none() {
            return Err(Error::corrupt(
                None,
                format!("the copy of the log ends at {}, not at {end}", reader.position()),
            ));
        }
    }
    Ok(())
}

/// For people, and for restoring to a later moment.
fn write_info(to: &dyn Disk, copied: &Copied) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let text = format!(
        "end {}\nlog_from {}\ntaken_at_s {}\n",
        copied.end,
        copied.log_from,
        now.as_secs()
    );
    let file = to.open(BACKUP_INFO, true, Access::Buffered)?;
    file.write_at(text.as_bytes(), 0)?;
    Ok(file.sync()?)
}

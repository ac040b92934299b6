//! The log, kept beyond checkpoints, and restoring a copy to a later moment by it.
//!
//! An archive is a directory of the same segments that the log has, at the same positions, but none is ever used again. About
//! once a second what has become durable is appended to it; the log is held (`holds.rs`) until then, so that there is no gap.
//!
//! ```text
//!  archive     id, segment size, first position: text, made whole under another name and then given this one
//!  redo-NNNN   segments
//!  moments     text, a line per round: microseconds since 1970, and the position up to which the archive is certain then
//! ```
//!
//! The log is not held for ever: an archive that takes nothing for some seconds, or never returns from a write, is given up when the
//! log has grown to several times its capacity, and one that is merely too slow when the log has grown to many times. Each thread
//! that makes room in the log checks that, since the thread that archives may hang.
//!
//! A restored directory is a copy (`backup.rs`) whose log is that of the archive up to the moment wanted, with nothing behind
//! it: opening it recovers it to that moment. Records of the archive were durable, so whatever epoch they are of, none of
//! them was ever cut off. Restoring never changes the copy or the archive.

use super::Store;
use super::backup::BACKUP_INFO;
use super::control::{Control, ControlFile};
use super::doublewrite;
use super::files::DATA;
use super::holds::LogHold;
use crate::disk::{Access, Disk, File};
use crate::error::{Error, Result};
use crate::ids::{Lsn, PAGE_SIZE, PageId};
use crate::log::{LOG_START, Mark, Segments};
use crate::pool::PageBuf;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const STATE: &str = "archive";
const NEW_STATE: &str = "archive.new";
const MOMENTS: &str = "moments";
/// An archive that takes nothing is given up when it is behind by so many times the log's capacity.
const BEHIND_MAX: u64 = 4;
/// Any archive is given up when it is behind by so many times the log's capacity.
const BEHIND_MOST: u64 = 64;
/// An archive takes nothing if nothing was copied to it for so long.
const HANGS_AFTER: Duration = Duration::from_secs(10);
const CHUNK: usize = 64;

/// To which moment a copy is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// As far as the archive goes.
    End,
    /// Everything that ends at or before this position.
    Position(Lsn),
    /// What was durable at this time, in microseconds since 1970, to about a second.
    Time(u64),
}

/// An archive that is being written.
pub(super) struct LogArchive {
    disk: Arc<dyn Disk>,
    moments: Arc<dyn File>,
    moments_len: u64,
    /// It is certain up to here.
    to: Lsn,
}

/// From where on the log is held for the archive. Apart from the archive itself, which a thread has to itself while it writes.
#[derive(Default)]
pub(super) struct Archived {
    /// The archive is certain up to here; `None`: there is none.
    to: Option<Lsn>,
    /// `None`: it was given up.
    hold: Option<LogHold>,
    /// When something was copied last, or the archive had everything.
    moved_at: Option<Instant>,
    /// The log says already that the archive is behind.
    has_warned: bool,
}

impl Store {
    /// Appends to the archive what has become durable of the log, if there is an archive; to be called about once a second. One
    /// that takes nothing for so long that the log grows to several times its capacity is given up with an error of its own.
    pub fn archive_log(&self) -> Result<()> {
        let mut kept = self.archive.lock();
        let Some(archive) = &mut *kept else { return Ok(()) };
        let done = self.append_to(archive);
        self.bound_archive();
        if self.archived.lock().hold.is_none() {
            *kept = None;
        }
        done
    }

    /// Gives the archive up if it takes nothing while the log grows to several times its capacity, or is too slow by far, and warns before
    /// that.
    pub(super) fn bound_archive(&self) {
        let mut archived = self.archived.lock();
        let (Some(to), Some(_)) = (archived.to, &archived.hold) else {
            return;
        };
        let (behind, capacity) = (self.log().flushed().0.saturating_sub(to.0), self.log_capacity());
        let hangs = archived.moved_at.is_none_or(|at| at.elapsed() >= HANGS_AFTER);
        if behind > BEHIND_MAX * capacity && hangs || behind > BEHIND_MOST * capacity {
            archived.hold = None;
            ::log::error!(
                "the log is archived no more from position {to} on: the archive is {behind} bytes behind, and what is kept for \
                 it would fill the disk. Make a new backup, and give an empty directory"
            );
        } else if behind <= capacity / 2 {
            archived.has_warned = false;
        } else if behind > capacity && !std::mem::replace(&mut archived.has_warned, true) {
            ::log::warn!("the archive of the log is {behind} bytes behind it, which the log keeps for it");
        }
    }

    /// By how many bytes the archive is behind the log, also if it was given up; 0 if there is none.
    pub fn archive_behind(&self) -> u64 {
        let to = self.archived.lock().to;
        to.map_or(0, |to| self.log().flushed().0.saturating_sub(to.0))
    }

    fn append_to(&self, archive: &mut LogArchive) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let to = self.log().flushed();
        let moved = || self.archived.lock().moved_at = Some(Instant::now());
        if to <= archive.to {
            moved();
            return Ok(());
        }
        self.log()
            .segments()
            .copy(archive.to, to, &*archive.disk, &mut |_| {
                moved();
                Ok(())
            })?;
        archive.disk.sync_dir()?;
        // As long as the log was held, what was copied is what was there.
        if self.archived.lock().hold.is_none() {
            return Err(Error::Stopped("the archive was given up".into()));
        }
        let line = format!("{} {to}\n", now.as_micros());
        archive.moments.write_at(line.as_bytes(), archive.moments_len)?;
        archive.moments.sync()?;
        archive.moments_len += line.len() as u64;
        archive.to = to;
        let mut archived = self.archived.lock();
        archived.to = Some(to);
        archived.moved_at = Some(Instant::now());
        if archived.hold.is_some() {
            archived.hold = Some(self.holds.hold(to));
        }
        Ok(())
    }

    /// The archive on a disk; a new one where there is none. Fails if what is there is not of this log, or if the log has gone on
    /// without it.
    pub(super) fn open_archive(&self, disk: Arc<dyn Disk>) -> Result<LogArchive> {
        let control = self.control();
        let refused = |why: String| Err(Error::CannotOpen(format!("archive of the log: {why}")));
        let files = disk.list()?;
        if !State::is_whole(&*disk, &files)? {
            // Nothing was archived before it was certain, so there is nothing else.
            if files
                .iter()
                .any(|name| ![STATE, NEW_STATE, MOMENTS].contains(&name.as_str()))
            {
                return refused(format!("there are other files, and {STATE} is not whole"));
            }
            State::write(&*disk, &control)?;
        }
        let state = State::read(&*disk)?;
        state.check(&control)?;
        let moments = disk.open(MOMENTS, true, Access::Buffered)?;
        disk.sync_dir()?;
        let (lines, moments_len) = read_moments(&*moments)?;
        let (to, end) = (
            lines.last().map_or(state.from, |&(_, to)| to),
            self.log().flushed(),
        );
        if to > end {
            return refused(format!(
                "it goes up to position {to}, this log only up to {end}: it is of another life of this database. Give an \
                 empty directory"
            ));
        }
        if !self.log().segments().has(to) {
            return refused(format!(
                "it goes up to position {to}, and the log from there on is gone. Give an empty directory, and make a new \
                 backup"
            ));
        }
        *self.archived.lock() = Archived {
            to: Some(to),
            hold: Some(self.holds.hold(to)),
            moved_at: Some(Instant::now()),
            has_warned: false,
        };
        Ok(LogArchive {
            disk,
            moments,
            moments_len,
            to,
        })
    }
}

/// What an archive says of itself.
struct State {
    id: u64,
    segment_bytes: u64,
    from: Lsn,
}

impl State {
    /// Writes that of a new archive, which begins with what recovery may need of the log.
    fn write(disk: &dyn Disk, control: &Control) -> Result<()> {
        let text = format!(
            "id {}\nsegment_bytes {}\nfrom {}\n",
            control.id, control.segment_bytes, control.scan_from
        );
        let file = disk.open(NEW_STATE, true, Access::Buffered)?;
        file.truncate(0)?;
        file.write_at(text.as_bytes(), 0)?;
        file.sync()?;
        disk.rename(NEW_STATE, STATE)?;
        Ok(disk.sync_dir()?)
    }

    /// True if the file is there with its last line. A crash of a version that wrote it in place may have left part of it.
    fn is_whole(disk: &dyn Disk, files: &[String]) -> Result<bool> {
        if !files.iter().any(|name| name == STATE) {
            return Ok(false);
        }
        let file = disk.open(STATE, false, Access::Buffered)?;
        let mut bytes = vec![0; file.len()?.min(1 << 16) as usize];
        file.read_at(&mut bytes, 0)?;
        Ok(bytes.last() == Some(&b'\n') && State::read(disk).is_ok())
    }

    fn read(disk: &dyn Disk) -> Result<State> {
        let words = read_words(disk, STATE)?;
        let get = |name: &str| {
            let missing = || Error::CannotOpen(format!("{STATE} says nothing of {name}"));
            words.get(name).copied().ok_or_else(missing)
        };
        Ok(State {
            id: get("id")?,
            segment_bytes: get("segment_bytes")?,
            from: Lsn(get("from")?),
        })
    }

    fn check(&self, control: &Control) -> Result<()> {
        if (self.id, self.segment_bytes) == (control.id, control.segment_bytes) {
            return Ok(());
        }
        Err(Error::CannotOpen(
            "the archive is of another data directory".into(),
        ))
    }
}

/// The lines `name number` of a file.
fn read_words(disk: &dyn Disk, name: &str) -> Result<HashMap<String, u64>> {
    if !disk.list()?.iter().any(|found| found == name) {
        return Err(Error::CannotOpen(format!("{name} is missing")));
    }
    let file = disk.open(name, false, Access::Buffered)?;
    let mut bytes = vec![0; file.len()?.min(1 << 16) as usize];
    file.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(&bytes);
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs
        .filter_map(|(name, value)| Some((name.to_owned(), value.trim().parse().ok()?)))
        .collect())
}

/// The moments, and where the next line goes. A crash may have left half a line.
fn read_moments(file: &dyn File) -> Result<(Vec<(u64, Lsn)>, u64)> {
    let mut bytes = vec![0; file.len()? as usize];
    file.read_at(&mut bytes, 0)?;
    let (mut moments, mut len): (Vec<(u64, Lsn)>, usize) = (Vec::new(), 0);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let text = std::str::from_utf8(line)
            .ok()
            .and_then(|line| line.strip_suffix('\n'));
        let Some((time, to)) = text.and_then(|line| line.split_once(' ')) else {
            break;
        };
        let (Ok(time), Ok(to)) = (time.parse(), to.parse()) else {
            break;
        };
        if moments.last().is_some_and(|&(_, before)| before.0 > to) {
            break;
        }
        moments.push((time, Lsn(to)));
        len += line.len();
    }
    Ok((moments, len as u64))
}

/// Makes a data directory on `to`, where there is nothing yet, of a copy and, for a moment after it, an archive of its log.
/// Returns the moment that it is of.
pub fn restore(
    from: Arc<dyn Disk>,
    archive: Option<Arc<dyn Disk>>,
    to: Arc<dyn Disk>,
    until: Until,
) -> Result<Lsn> {
    if !to.list()?.is_empty() || !to.list_directories()?.is_empty() {
        return Err(Error::CannotOpen("the directory is not empty".into()));
    }
    let Some((_, control)) = ControlFile::open(&*from)? else {
        return Err(Error::CannotOpen("there is no control file in the backup".into()));
    };
    let end = read_words(&*from, BACKUP_INFO)?.get("end").copied().map(Lsn);
    let Some(end) = end.filter(|&end| control.durable == end && !control.clean) else {
        return Err(Error::CannotOpen(
            "the backup is not as it was made: a server was started there. Start it there again, or restore another".into(),
        ));
    };
    let wanted = match (&archive, until) {
        (None, Until::End) => end,
        (None, _) => {
            return Err(Error::CannotOpen(
                "a moment after the backup needs an archive of the log".into(),
            ));
        }
        (Some(archive), until) => end_wanted(&**archive, &control, end, until)?,
    };
    copy_data(&*from, &*to)?;
    let mark = Mark::new(control.id, control.mark_epoch);
    let segments = Segments::open(from, control.segment_bytes, mark)?;
    segments.copy(control.scan_from, end, &*to, &mut |_| Ok(()))?;
    if let Some(archive) = archive.filter(|_| wanted > end) {
        let kept = Segments::open(archive, control.segment_bytes, mark)?;
        kept.copy(end, wanted, &*to, &mut |_| Ok(()))?;
    }
    let log = Segments::open(to.clone(), control.segment_bytes, mark)?;
    let (cut, epoch) = cut(&log, &control, wanted)?;
    if cut < end {
        return Err(Error::corrupt(
            None,
            format!("the log of the backup ends at {cut}, not at {end}"),
        ));
    }
    to.open(doublewrite::NAME, true, Access::Direct)?.sync()?;
    to.sync_dir()?;
    let control = Control {
        durable: cut,
        epoch: control.epoch.max(epoch),
        ..control
    };
    ControlFile::create(&*to, &control)?;
    Ok(cut)
}

/// Up to where the archive's log is wanted.
fn end_wanted(archive: &dyn Disk, control: &Control, backup: Lsn, until: Until) -> Result<Lsn> {
    let state = State::read(archive)?;
    state.check(control)?;
    let moments = archive.open(MOMENTS, false, Access::Buffered)?;
    let (moments, _) = read_moments(&*moments)?;
    let last = moments.last().map_or(state.from, |&(_, to)| to);
    if state.from > backup {
        return Err(Error::CannotOpen(format!(
            "the archive begins at position {}, the backup is of {backup}: what was between is not there",
            state.from
        )));
    }
    let wanted = match until {
        Until::End => last.max(backup),
        Until::Position(position) => position,
        Until::Time(time) => {
            let known = moments.iter().rev().find(|&&(at, _)| at <= time);
            known.map_or(Lsn(0), |&(_, to)| to)
        }
    };
    if wanted < backup {
        return Err(Error::CannotOpen(format!(
            "the backup is of position {backup}, which is after the moment wanted: restore an earlier backup"
        )));
    }
    if wanted > last {
        return Err(Error::CannotOpen(format!(
            "the archive goes up to position {last} only"
        )));
    }
    Ok(wanted)
}

fn copy_data(from: &dyn Disk, to: &dyn Disk) -> Result<()> {
    let (source, target) = (
        from.open(DATA, false, Access::Direct)?,
        to.open(DATA, true, Access::Direct)?,
    );
    let count = source.len()? / PAGE_SIZE as u64;
    let mut chunk = PageBuf::batch(CHUNK);
    let mut first = 0;
    while first < count {
        let len = if first == 0 {
            1
        } else {
            (CHUNK as u64).min(count - first) as usize
        };
        let pages = &mut chunk[..len];
        let offset = first * PAGE_SIZE as u64;
        source.read_at(PageBuf::bytes_of_mut(pages), offset)?;
        for (n, page) in pages.iter().enumerate() {
            let id = PageId((first + n as u64) as u32);
            if !page.is_intact(id) {
                return Err(Error::corrupt(
                    id,
                    "the backup is damaged: the checksum does not fit the content",
                ));
            }
        }
        // What is left out has no room on the disk until it is used.
        if pages.iter().any(|page| !page.lsn().is_zero()) {
            target.allocate(offset, (len * PAGE_SIZE) as u64)?;
            target.write_at(PageBuf::bytes_of(pages), offset)?;
        }
        first += len as u64;
    }
    target.truncate(count * PAGE_SIZE as u64)?;
    Ok(target.sync()?)
}

/// Ends the log behind the last record that ends at or before `wanted`. Returns where that is, and the highest epoch of a
/// record.
fn cut(log: &Segments, control: &Control, wanted: Lsn) -> Result<(Lsn, u32)> {
    let mut reader = log
        .reader(control.scan_from.max(LOG_START))
        .not_before(control.scan_epoch);
    let (mut end, mut epoch) = (reader.position(), 0);
    while let Some(record) = reader.next()? {
        if record.end > wanted {
            break;
        }
        (end, epoch) = (record.end, record.epoch());
    }
    if end < wanted {
        log.write(end, &vec![0; (wanted.0 - end.0) as usize])?;
        log.sync(end, wanted)?;
    }
    Ok((end, epoch))
}

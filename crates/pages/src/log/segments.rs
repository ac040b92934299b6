//! The files of the log: segments of one size, numbered by the positions they hold.
//!
//! Segment *k* holds positions `k × size` up to `(k + 1) × size`, at the same offsets, without a header. Segments that
//! are not needed any more are renamed to be the next ones, up to the nominal capacity, and removed beyond it. Their old
//! content is no danger: a record is only one at its own position. New segments are written full of zeros before use,
//! so that a sync of the log need not write the file system's own journal.
//!
//! A segment's name is certain before the log goes there.

use super::LOG_START;
use super::reader::{AHEAD_MANY, Reader};
use super::record::{Mark, RECORD_HEADER};
use crate::disk::{Access, Disk, File, failed};
use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::sabotage;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

pub struct Segments {
    disk: Arc<dyn Disk>,
    size: u64,
    mark: Mark,
    files: Mutex<BTreeMap<u64, Arc<dyn File>>>,
    /// Held while segments come and go, which takes long; `files` is held only to look.
    changing: Mutex<Spares>,
}

/// Files that have room on the disk for a segment each, by their numbers: see `undo_room.rs`.
#[derive(Default)]
struct Spares(BTreeSet<u64>);

const PREFIX: &str = "redo-";
/// Spare files that are not wanted any more, but soon may be.
const SPARES_KEPT: u64 = 2;
const COPY_AT_ONCE: u64 = 1 << 20;

fn spare_name(number: u64) -> String {
    format!("{PREFIX}spare-{number:04}")
}

fn name(number: u64) -> String {
    format!("{PREFIX}{number:010}")
}

impl Segments {
    /// The segments found on the disk.
    pub fn open(disk: Arc<dyn Disk>, size: u64, mark: Mark) -> Result<Segments> {
        let mut files = BTreeMap::new();
        let mut spares = Spares::default();
        for found in disk.list()? {
            if let Some(number) = found
                .strip_prefix(PREFIX)
                .and_then(|n| n.strip_prefix("spare-"))
                .and_then(|n| n.parse().ok())
            {
                // Half a one is none.
                match disk.open(&found, false, Access::Buffered)?.len()? == size {
                    true => drop(spares.0.insert(number)),
                    false => disk.remove(&found)?,
                }
            }
            if let Some(number) = found.strip_prefix(PREFIX).and_then(|n| n.parse().ok()) {
                files.insert(number, disk.open(&found, false, Access::Buffered)?);
            }
        }
        Ok(Segments {
            disk,
            size,
            mark,
            files: Mutex::new(files),
            changing: Mutex::new(spares),
        })
    }

    /// The name of a segment that something was written to, whatever size segments have; `None` if there is none, or but
    /// the first one as it was made.
    pub fn first_in_use(disk: &dyn Disk) -> Result<Option<String>> {
        for found in disk.list()? {
            let Some(number) = found.strip_prefix(PREFIX).and_then(|n| n.parse::<u64>().ok()) else {
                continue;
            };
            let mut header = [0; RECORD_HEADER];
            disk.open(&found, false, Access::Buffered)?
                .read_at(&mut header, LOG_START.0)?;
            if number > 0 || header.iter().any(|&byte| byte != 0) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Removes segments, none of which [holds anything](Self::first_in_use).
    pub fn remove_unused(disk: &dyn Disk) -> Result<()> {
        let mut removed = false;
        for found in disk.list()? {
            if found
                .strip_prefix(PREFIX)
                .is_some_and(|number| number.parse::<u64>().is_ok())
            {
                disk.remove(&found)?;
                removed = true;
            }
        }
        if removed {
            disk.sync_dir()?;
        }
        Ok(())
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of all segments that there are.
    pub fn bytes(&self) -> u64 {
        self.files.lock().len() as u64 * self.size
    }

    pub fn set_mark(&mut self, mark: Mark) {
        self.mark = mark;
    }

    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// What a message calls a position.
    pub fn describe(&self, lsn: Lsn) -> String {
        let (number, offset) = (lsn.0 / self.size, lsn.0 % self.size);
        format!("{} at byte {offset} (log position {lsn})", name(number))
    }

    /// The name of the first segment from that of `from` on which is not there although one behind it is, or although the
    /// log goes up to `to` for certain.
    pub fn first_missing(&self, from: Lsn, to: Lsn) -> Option<String> {
        let files = self.files.lock();
        let last = files.last_key_value().map_or(0, |(&last, _)| last + 1);
        let mut numbers = from.0 / self.size..to.0.div_ceil(self.size).max(last);
        numbers.find(|number| !files.contains_key(number)).map(name)
    }

    /// The name and length of a segment that is shorter than segments are: from that of `from` on one that holds part of the log
    /// up to `to`, or one that is not the last. The last may be half made.
    pub fn first_short(&self, from: Lsn, to: Lsn) -> Result<Option<(String, u64)>> {
        let last = self.files.lock().last_key_value().map_or(0, |(&last, _)| last);
        for number in from.0 / self.size..to.0.div_ceil(self.size).max(last) {
            if let Some(file) = self.file(number)
                && file.len()? < self.size
            {
                return Ok(Some((name(number), file.len()?)));
            }
        }
        Ok(None)
    }

    /// Makes the last segment whole if it was only half made; the log, which ends at `end`, has not come to it.
    pub fn finish_last(&self, end: Lsn) -> Result<()> {
        let last = self
            .files
            .lock()
            .last_key_value()
            .map(|(&last, file)| (last, file.clone()));
        if let Some((last, file)) = last
            && last * self.size >= end.0
            && file.len()? < self.size
        {
            // Where there is no room it is made when it is wanted.
            self.files.lock().remove(&last);
            self.disk.remove(&name(last))?;
            self.disk.sync_dir()?;
        }
        Ok(())
    }

    /// Writes the records of a range again, to be synced: what was read may have been in the operating system's cache only. Nothing
    /// is written that is no record: a read that went wrong destroys none.
    pub fn write_again(&self, from: Lsn, to: Lsn) -> Result<()> {
        let mut reader = self.reader(from);
        let mut at = from;
        let mut buffer = Vec::new();
        while reader.position() < to {
            reader.next_before(to)?.put_to(&mut buffer);
            if buffer.len() as u64 >= COPY_AT_ONCE || reader.position() >= to {
                self.write(at, &buffer)?;
                at = reader.position();
                buffer.clear();
            }
        }
        Ok(())
    }

    /// Copies a range to the same positions of segments on another disk, making those that are not there, and syncs them; of an
    /// empty range, the segment in which it lies. `each` is told how many bytes came next.
    pub fn copy(
        &self,
        from: Lsn,
        to: Lsn,
        disk: &dyn Disk,
        each: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let mut buffer = vec![0; COPY_AT_ONCE.min(self.size) as usize];
        let mut at = from;
        loop {
            let number = at.0 / self.size;
            let end = to.0.min((number + 1) * self.size);
            let file = disk.open(&name(number), true, Access::Buffered)?;
            if file.len()? < self.size {
                file.allocate(0, self.size)?;
            }
            while at.0 < end {
                let part = &mut buffer[..(end - at.0).min(COPY_AT_ONCE) as usize];
                if !self.read(at, part)? {
                    return Err(Error::corrupt(None, format!("{} is missing", self.describe(at))));
                }
                file.write_at(part, at.0 % self.size)?;
                at.0 += part.len() as u64;
                each(part.len() as u64)?;
            }
            file.sync()?;
            if at >= to {
                return Ok(());
            }
        }
    }

    /// Whether the segment of a position is there.
    pub fn has(&self, lsn: Lsn) -> bool {
        self.file(lsn.0 / self.size).is_some()
    }

    fn file(&self, number: u64) -> Option<Arc<dyn File>> {
        self.files.lock().get(&number).cloned()
    }

    /// The parts of a range, by segment: number, offset in it, part of the range.
    fn parts(&self, lsn: Lsn, len: usize) -> impl Iterator<Item = (u64, u64, std::ops::Range<usize>)> {
        let size = self.size;
        let mut done = 0;
        std::iter::from_fn(move || {
            if done == len {
                return None;
            }
            let at = lsn.0 + done as u64;
            let take = (len - done).min((size - at % size) as usize);
            done += take;
            Some((at / size, at % size, done - take..done))
        })
    }

    /// Writes at this position, making segments if there are none yet.
    pub fn write(&self, lsn: Lsn, data: &[u8]) -> Result<()> {
        for (number, offset, part) in self.parts(lsn, data.len()) {
            let file = match self.file(number) {
                Some(file) => file,
                None => {
                    let mut spares = self.changing.lock();
                    match self.file(number) {
                        Some(file) => file,
                        None => match self.create(number) {
                            // What could be refused was refused before: this is urgent.
                            Err(Error::DiskFull) => self.create_of_spare(number, &mut spares)?,
                            created => created?,
                        },
                    }
                }
            };
            file.write_at(&data[part], offset)
                .map_err(|error| failed(&error, format!("writing {} at byte {offset}", name(number))))?;
        }
        Ok(())
    }

    pub fn sync(&self, from: Lsn, to: Lsn) -> Result<()> {
        if sabotage::breaks("commit") {
            return Ok(());
        }
        for number in from.0 / self.size..to.0.div_ceil(self.size) {
            if let Some(file) = self.file(number) {
                file.sync()
                    .map_err(|error| failed(&error, format!("syncing {}", name(number))))?;
            }
        }
        Ok(())
    }

    /// Reads at this position; false if part of it is in no segment.
    pub fn read(&self, lsn: Lsn, out: &mut [u8]) -> Result<bool> {
        for (number, offset, part) in self.parts(lsn, out.len()) {
            match self.file(number) {
                Some(file) => file
                    .read_at(&mut out[part], offset)
                    .map_err(|error| failed(&error, format!("reading {} at byte {offset}", name(number))))?,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Reads record after record from the one that begins at `lsn`.
    pub fn reader(&self, lsn: Lsn) -> Reader<'_> {
        Reader::new(self, lsn, AHEAD_MANY)
    }

    fn create(&self, number: u64) -> Result<Arc<dyn File>> {
        let file = self.disk.open(&name(number), true, Access::Buffered)?;
        if let Err(e) = self.fill(&*file) {
            // Half a segment would only take room that is missing already.
            let _ = self.disk.remove(&name(number));
            return Err(Error::from(e));
        }
        self.disk.sync_dir()?;
        self.files.lock().insert(number, file.clone());
        Ok(file)
    }

    /// Makes a spare file a segment, which needs no room on the disk.
    fn create_of_spare(&self, number: u64, spares: &mut Spares) -> Result<Arc<dyn File>> {
        let Some(&spare) = spares.0.last() else {
            return Err(Error::DiskFull);
        };
        let file = self.disk.open(&spare_name(spare), false, Access::Buffered)?;
        self.fill(&*file)?;
        spares.0.remove(&spare);
        self.disk.rename(&spare_name(spare), &name(number))?;
        self.disk.sync_dir()?;
        self.files.lock().insert(number, file.clone());
        Ok(file)
    }

    /// Sees to it that spare files have so many bytes of room, and, with `trim`, not much more. Says how many they have.
    pub fn spare(&self, bytes: u64, trim: bool) -> (u64, Result<()>) {
        let mut spares = self.changing.lock();
        let done = self.resize_spares(&mut spares, bytes.div_ceil(self.size), trim);
        (spares.0.len() as u64 * self.size, done)
    }

    fn resize_spares(&self, spares: &mut Spares, wanted: u64, trim: bool) -> Result<()> {
        let mut changed = false;
        while trim && spares.0.len() as u64 > wanted + SPARES_KEPT {
            let last = spares.0.pop_last().expect("there are some");
            self.disk.remove(&spare_name(last))?;
            changed = true;
        }
        while (spares.0.len() as u64) < wanted {
            let number = spares.0.last().map_or(0, |last| last + 1);
            let file = self.disk.open(&spare_name(number), true, Access::Buffered)?;
            if let Err(error) = file.allocate(0, self.size).and_then(|()| file.sync()) {
                let _ = self.disk.remove(&spare_name(number));
                return Err(Error::from(error));
            }
            spares.0.insert(number);
            changed = true;
        }
        if changed {
            self.disk.sync_dir()?;
        }
        Ok(())
    }

    fn fill(&self, file: &dyn File) -> io::Result<()> {
        file.allocate(0, self.size)?;
        let zeros = vec![0; self.size.min(1 << 20) as usize];
        let mut at = 0;
        while at < self.size {
            let len = (self.size - at).min(zeros.len() as u64);
            file.write_at(&zeros[..len as usize], at)?;
            at += len;
        }
        file.sync()
    }

    /// The first position after `from` that no segment holds.
    pub fn end(&self, from: Lsn) -> Lsn {
        let files = self.files.lock();
        let mut number = from.0 / self.size;
        while files.contains_key(&number) {
            number += 1;
        }
        Lsn(number * self.size)
    }

    /// Makes room up to `to`, if there is less. Segments wholly below `keep_from` are used for it first; of those left
    /// over, so many become next ones that the segments from `keep_from` on hold `nominal` bytes, and the rest goes. Spare files
    /// are used last, but for `reserved` bytes of them and one that the next reservations find.
    pub fn prepare(&self, keep_from: Lsn, tail: Lsn, to: Lsn, nominal: u64, reserved: u64) -> Result<()> {
        let mut spares = self.changing.lock();
        let first_kept = keep_from.0 / self.size;
        let mut free: Vec<u64> = self
            .files
            .lock()
            .range(..first_kept)
            .map(|(&number, _)| number)
            .collect();
        let mut next = self.end(tail).0 / self.size;
        let mut renamed = false;
        while let Some(number) = free.pop() {
            if next * self.size >= to.0 && (next - first_kept) * self.size >= nominal {
                free.push(number);
                break;
            }
            self.recycle(number, next)?;
            renamed = true;
            next += 1;
        }
        for number in free {
            // Forgotten first: a name that is gone must not be recycled.
            self.files.lock().remove(&number);
            self.disk.remove(&name(number))?;
            renamed = true;
        }
        if renamed {
            self.disk.sync_dir()?;
        }
        while next * self.size < to.0 {
            match self.create(next) {
                Err(Error::DiskFull) if (spares.0.len() as u64) * self.size >= reserved + 2 * self.size => {
                    self.create_of_spare(next, &mut spares)?;
                }
                created => drop(created?),
            }
            next += 1;
        }
        Ok(())
    }

    fn recycle(&self, number: u64, next: u64) -> Result<()> {
        self.disk.rename(&name(number), &name(next))?;
        // Certain before the map knows it, and so before the log can go there.
        self.disk.sync_dir()?;
        let mut files = self.files.lock();
        if let Some(file) = files.remove(&number) {
            files.insert(next, file);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;

    fn names(disk: &SimDisk) -> Vec<u64> {
        disk.list()
            .unwrap()
            .iter()
            .map(|n| n.strip_prefix(PREFIX).unwrap().parse().unwrap())
            .collect()
    }

    /// A copy whose checkpoint is at its end has no records, but a log.
    #[test]
    fn an_empty_range_is_copied_as_a_segment() {
        let (disk, other) = (SimDisk::new(1), SimDisk::new(2));
        let segments = Segments::open(Arc::new(disk), 4096, Mark::default()).unwrap();
        segments
            .prepare(Lsn(4096), Lsn(4096), Lsn(2 * 4096), 4 * 4096, 0)
            .unwrap();
        let at = Lsn(4096 + 800);
        segments.copy(at, at, &other, &mut |_| Ok(())).unwrap();
        assert_eq!(names(&other), [1]);
    }

    #[test]
    fn segments_are_made_recycled_and_removed() {
        let disk = SimDisk::new(1);
        let segments = Segments::open(Arc::new(disk.clone()), 4096, Mark::default()).unwrap();
        segments
            .prepare(Lsn(4096), Lsn(4096), Lsn(3 * 4096), 4 * 4096, 0)
            .unwrap();
        assert_eq!(names(&disk), [1, 2]);
        segments.write(Lsn(2 * 4096 - 3), b"across").unwrap();
        let mut out = [0; 6];
        assert!(segments.read(Lsn(2 * 4096 - 3), &mut out).unwrap());
        assert_eq!(&out, b"across");

        // A long transaction pins the log: it grows beyond its nominal size, and shrinks to it afterwards.
        segments
            .prepare(Lsn(4096), Lsn(9 * 4096), Lsn(10 * 4096), 4 * 4096, 0)
            .unwrap();
        assert_eq!(segments.end(Lsn(9 * 4096)), Lsn(10 * 4096));
        segments.write(Lsn(3 * 4096), &[1; 6 * 4096]).unwrap();
        segments
            .prepare(Lsn(9 * 4096), Lsn(9 * 4096 + 5), Lsn(11 * 4096), 4 * 4096, 0)
            .unwrap();
        assert_eq!(names(&disk), [9, 10, 11, 12]);
        assert!(!segments.read(Lsn(4096), &mut out).unwrap());
        let again = Segments::open(Arc::new(disk.restart()), 4096, Mark::default()).unwrap();
        assert_eq!(again.end(Lsn(9 * 4096)), Lsn(13 * 4096));
    }
}

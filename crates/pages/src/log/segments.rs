//! The files of the log: segments of one size, numbered by the positions they hold.
//!
//! Segment *k* holds positions `k × size` up to `(k + 1) × size`, at the same offsets, without a header. Segments that
//! are not needed any more are renamed to be the next ones, up to the nominal capacity, and removed beyond it. Their old
//! content is no danger: a record is only one at its own position. New segments are written full of zeros before use,
//! so that a sync of the log need not write the file system's own journal. Few of the files are open: see `open_segments.rs`.
//!
//! A segment's name is certain before the log goes there: one that was made or renamed is not in the map until the directory
//! has been synced. If that sync fails, the file is kept under its new name, and the sync is tried again by whatever needs a
//! segment next.

use super::LOG_START;
use super::open_segments::{OpenSegments, Segment, Use};
use super::reader::{AHEAD_MANY, Reader};
use super::record::{Mark, RECORD_HEADER};
use crate::disk::{Access, Disk, File, failed};
use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::sabotage;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::sync::Arc;

pub struct Segments {
    disk: Arc<dyn Disk>,
    size: u64,
    mark: Mark,
    files: OpenSegments,
    /// Held while segments come and go, which takes long.
    changing: Mutex<Changing>,
}

/// What only the thread sees that makes, renames and removes files.
#[derive(Default)]
struct Changing {
    /// Files that have room on the disk for a segment each, by their numbers: see `undo_room.rs`.
    spares: BTreeSet<u64>,
    /// Segments whose names are not certain yet.
    uncertain: BTreeMap<u64, Segment>,
    /// The directory has changed since its last sync.
    unsynced: bool,
}

const PREFIX: &str = "redo-";
/// Spare files that are not wanted any more, but soon may be.
const SPARES_KEPT: u64 = 2;
const COPY_AT_ONCE: u64 = 1 << 20;

fn spare_name(number: u64) -> String {
    format!("{PREFIX}spare-{number:04}")
}

pub(super) fn name(number: u64) -> String {
    format!("{PREFIX}{number:010}")
}

impl Segments {
    /// The segments found on the disk.
    pub fn open(disk: Arc<dyn Disk>, size: u64, mark: Mark) -> Result<Segments> {
        let mut files = BTreeMap::new();
        let mut changing = Changing::default();
        for found in disk.list()? {
            if let Some(number) = found
                .strip_prefix(PREFIX)
                .and_then(|n| n.strip_prefix("spare-"))
                .and_then(|n| n.parse().ok())
            {
                // Half a one is none.
                match disk.open(&found, false, Access::Buffered)?.len()? == size {
                    true => drop(changing.spares.insert(number)),
                    false => disk.remove(&found)?,
                }
            }
            if let Some(number) = found.strip_prefix(PREFIX).and_then(|n| n.parse().ok()) {
                files.insert(number, Segment::default());
            }
        }
        let segments = OpenSegments::new(disk.clone());
        segments.append(&mut files)?;
        Ok(Segments {
            disk,
            size,
            mark,
            files: segments,
            changing: Mutex::new(changing),
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
        self.files.len() as u64 * self.size
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
        let last = self.files.last().map_or(0, |last| last + 1);
        let missing = self.files.first_free(from.0 / self.size);
        (missing < to.0.div_ceil(self.size).max(last)).then(|| name(missing))
    }

    /// The name and length of a segment that is shorter than segments are: from that of `from` on one that holds part of the log
    /// up to `to`, or one that is not the last. The last may be half made.
    pub fn first_short(&self, from: Lsn, to: Lsn) -> Result<Option<(String, u64)>> {
        let last = self.files.last().unwrap_or(0);
        for number in from.0 / self.size..to.0.div_ceil(self.size).max(last) {
            if let Some(file) = self.files.file(number, Use::Read)?
                && file.len()? < self.size
            {
                return Ok(Some((name(number), file.len()?)));
            }
        }
        Ok(None)
    }

    /// Makes the last segment whole if it was only half made; the log, which ends at `end`, has not come to it.
    pub fn finish_last(&self, end: Lsn) -> Result<()> {
        if let Some(last) = self.files.last()
            && last * self.size >= end.0
            && let Some(file) = self.files.file(last, Use::Read)?
            && file.len()? < self.size
        {
            // Where there is no room it is made when it is wanted.
            self.files.remove(last);
            self.disk.remove(&name(last))?;
            self.disk.sync_dir()?;
        }
        Ok(())
    }

    /// Opens the segment of a position at which the log goes on, and the next ones.
    pub fn go_on(&self, at: Lsn) -> Result<()> {
        self.files.go_on(at.0 / self.size)
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
        self.files.has(lsn.0 / self.size)
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
            let file = match self.files.file(number, Use::Write)? {
                Some(file) => file,
                None => {
                    let mut changing = self.changing.lock();
                    match self.create(number, &mut changing) {
                        // What could be refused was refused before: this is urgent.
                        Err(Error::DiskFull) => self.create_of_spare(number, &mut changing)?,
                        created => created?,
                    };
                    self.files
                        .file(number, Use::Write)?
                        .ok_or_else(|| Error::corrupt(None, format!("{} is gone", name(number))))?
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
            if let Some(file) = self.files.file(number, Use::Sync)? {
                file.sync()
                    .map_err(|error| failed(&error, format!("syncing {}", name(number))))?;
            }
        }
        Ok(())
    }

    /// Reads at this position; false if part of it is in no segment.
    pub fn read(&self, lsn: Lsn, out: &mut [u8]) -> Result<bool> {
        for (number, offset, part) in self.parts(lsn, out.len()) {
            match self.files.file(number, Use::Read)? {
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

    /// Makes a segment, unless there is one.
    fn create(&self, number: u64, changing: &mut Changing) -> Result<()> {
        self.make_certain(changing)?;
        if self.files.has(number) {
            return Ok(());
        }
        let file = self.disk.open(&name(number), true, Access::Buffered)?;
        changing.unsynced = true;
        if let Err(e) = self.fill(&*file) {
            // Half a segment would only take room that is missing already.
            let _ = self.disk.remove(&name(number));
            return Err(Error::from(e));
        }
        changing.uncertain.insert(number, Segment::of(file));
        self.make_certain(changing)
    }

    /// Makes a spare file a segment, which needs no room on the disk.
    fn create_of_spare(&self, number: u64, changing: &mut Changing) -> Result<()> {
        let Some(&spare) = changing.spares.last() else {
            return Err(Error::DiskFull);
        };
        let file = self.disk.open(&spare_name(spare), false, Access::Buffered)?;
        self.fill(&*file)?;
        self.disk.rename(&spare_name(spare), &name(number))?;
        changing.spares.remove(&spare);
        changing.unsynced = true;
        changing.uncertain.insert(number, Segment::of(file));
        self.make_certain(changing)
    }

    /// Syncs the directory if it has changed. From then on the log may go to the segments that were made and renamed before.
    fn make_certain(&self, changing: &mut Changing) -> Result<()> {
        if changing.unsynced {
            self.disk
                .sync_dir()
                .map_err(|error| failed(&error, "syncing the directory of the log".into()))?;
            changing.unsynced = false;
            self.files.append(&mut changing.uncertain)?;
        }
        Ok(())
    }

    /// Sees to it that spare files have so many bytes of room, and, with `trim`, not much more. Says how many they have.
    pub fn spare(&self, bytes: u64, trim: bool) -> (u64, Result<()>) {
        let mut changing = self.changing.lock();
        let done = self.resize_spares(&mut changing, bytes.div_ceil(self.size), trim);
        (changing.spares.len() as u64 * self.size, done)
    }

    fn resize_spares(&self, changing: &mut Changing, wanted: u64, trim: bool) -> Result<()> {
        while trim && changing.spares.len() as u64 > wanted + SPARES_KEPT {
            let last = changing.spares.pop_last().expect("there are some");
            self.remove(&spare_name(last), changing)?;
        }
        while (changing.spares.len() as u64) < wanted {
            let number = changing.spares.last().map_or(0, |last| last + 1);
            let file = self.disk.open(&spare_name(number), true, Access::Buffered)?;
            changing.unsynced = true;
            if let Err(error) = file.allocate(0, self.size).and_then(|()| file.sync()) {
                let _ = self.disk.remove(&spare_name(number));
                return Err(Error::from(error));
            }
            changing.spares.insert(number);
        }
        self.make_certain(changing)
    }

    /// Removes a file, which may be gone already.
    fn remove(&self, name: &str, changing: &mut Changing) -> Result<()> {
        changing.unsynced = true;
        match self.disk.remove(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => Ok(done?),
        }
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
        Lsn(self.files.first_free(from.0 / self.size) * self.size)
    }

    /// Makes room up to `to`, if there is less. Segments wholly below `keep_from` are used for it first; of those left
    /// over, so many become next ones that the segments from `keep_from` on hold `nominal` bytes, and the rest goes. Spare files
    /// are used last, but for `reserved` bytes of them and one that the next reservations find.
    pub fn prepare(&self, keep_from: Lsn, tail: Lsn, to: Lsn, nominal: u64, reserved: u64) -> Result<()> {
        let mut changing = self.changing.lock();
        self.make_certain(&mut changing)?;
        let first_kept = keep_from.0 / self.size;
        let mut free = self.files.numbers(..first_kept);
        let mut next = self.end(tail).0 / self.size;
        while let Some(number) = free.pop() {
            if next * self.size >= to.0 && (next - first_kept) * self.size >= nominal {
                free.push(number);
                break;
            }
            if self.recycle(number, next, &mut changing)? {
                next += 1;
            }
        }
        for number in free {
            // Forgotten first: a name that is gone must not be recycled.
            self.files.remove(number);
            self.remove(&name(number), &mut changing)?;
        }
        self.make_certain(&mut changing)?;
        while next * self.size < to.0 {
            match self.create(next, &mut changing) {
                Err(Error::DiskFull)
                    if (changing.spares.len() as u64) * self.size >= reserved + 2 * self.size =>
                {
                    self.create_of_spare(next, &mut changing)?;
                }
                created => created?,
            }
            next += 1;
        }
        Ok(())
    }

    /// Gives a segment the name of a next one, under which it is known once the directory is synced. Returns false if it was gone.
    fn recycle(&self, number: u64, next: u64, changing: &mut Changing) -> Result<bool> {
        let renamed = self.disk.rename(&name(number), &name(next));
        let is_there = match renamed {
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            renamed => {
                renamed?;
                true
            }
        };
        changing.unsynced = true;
        let segment = self.files.remove(number);
        if let Some(segment) = segment.filter(|_| is_there) {
            changing.uncertain.insert(next, segment);
        }
        Ok(is_there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::{Call, Failing, Faults, SimDisk};
    use crate::log::open_segments::{AHEAD, OPEN_MAX};

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

    /// Whatever call fails once, and however: the next attempt succeeds, and the log goes to names that are certain only.
    #[test]
    fn a_directory_whose_sync_fails_is_synced_by_the_next_attempt() {
        for calls in [
            &[Call::SyncDir][..],
            &[Call::Open],
            &[Call::Rename],
            &[Call::Remove],
        ] {
            for (at, error) in (1..6).flat_map(|at| [(at, libc::EIO), (at, libc::EMFILE)]) {
                let disk = SimDisk::new(at);
                let segments = Segments::open(Arc::new(disk.clone()), 4096, Mark::default()).unwrap();
                segments
                    .prepare(Lsn(4096), Lsn(4096), Lsn(6 * 4096), 6 * 4096, 0)
                    .unwrap();
                disk.set_faults(Faults {
                    failing: Some(Failing {
                        calls,
                        at,
                        for_ever: false,
                        error,
                    }),
                    ..Faults::default()
                });
                let again = |to: u64, nominal: u64| {
                    let prepare =
                        || segments.prepare(Lsn(4 * 4096), Lsn(4 * 4096), Lsn(to), nominal * 4096, 0);
                    prepare().or_else(|_| prepare())
                };
                again(9 * 4096, 4).unwrap();
                let (_, spared) = segments.spare(4096, false);
                spared.or_else(|_| segments.spare(4096, false).1).unwrap();
                again(12 * 4096, 8).unwrap();
                let end = segments.end(Lsn(4 * 4096));
                assert!(end >= Lsn(12 * 4096), "{calls:?} {at}: {end}");
                segments
                    .write(Lsn(4 * 4096), &vec![7; (end.0 - 4 * 4096) as usize])
                    .unwrap();
                segments.sync(Lsn(4 * 4096), end).unwrap();
                let left = Segments::open(Arc::new(disk.restart()), 4096, Mark::default()).unwrap();
                assert_eq!(left.first_missing(Lsn(4 * 4096), end), None, "{calls:?} {at}");
            }
        }
    }

    /// A log that has grown to thousands of segments takes no more descriptors than a small one.
    #[test]
    fn few_of_many_segments_are_open() {
        const MANY: u64 = 500;
        let disk = SimDisk::new(1);
        let segments = Segments::open(Arc::new(disk.clone()), 4096, Mark::default()).unwrap();
        let open = || {
            let open = segments.files.open();
            assert!(open <= OPEN_MAX, "{open} are open");
            open
        };
        segments
            .prepare(Lsn(4096), Lsn(4096), Lsn(MANY * 4096), 4096, 0)
            .unwrap();
        assert_eq!((segments.files.len() as u64, open()), (MANY - 1, OPEN_MAX));
        let written = |at: u64| [(at / 500) as u8; 500];
        for at in (4096..(MANY - 1) * 4096).step_by(500) {
            segments.write(Lsn(at), &written(at)).unwrap();
            open();
        }
        segments.sync(Lsn(4096), segments.end(Lsn(4096))).unwrap();
        open();
        let check = |segments: &Segments| {
            let mut found = [0; 500];
            for at in (4096..(MANY - 1) * 4096).step_by(500) {
                assert!(segments.read(Lsn(at), &mut found).unwrap());
                assert_eq!(found, written(at), "at {at}");
            }
        };
        check(&segments);
        // Nothing can be opened any more, but the log goes on to the segments that are open ahead, at a start and after reading.
        let again = Segments::open(Arc::new(disk.clone()), 4096, Mark::default()).unwrap();
        again.go_on(Lsn(7 * 4096 + 4000)).unwrap();
        for segments in [&again, &segments] {
            segments.write(Lsn(7 * 4096 + 4000), &[0; 96]).unwrap();
            for number in 100..200 {
                assert!(segments.read(Lsn(number * 4096), &mut [0; 96]).unwrap());
            }
            disk.set_faults(Faults {
                failing: Some(Failing {
                    calls: &[Call::Open],
                    at: 1,
                    for_ever: true,
                    error: libc::EMFILE,
                }),
                ..Faults::default()
            });
            for number in 8..=7 + AHEAD {
                segments.write(Lsn(number * 4096), &[0; 96]).unwrap();
            }
            assert!(segments.write(Lsn((8 + AHEAD) * 4096), &[0; 96]).is_err());
            disk.set_faults(Faults::default());
            segments.write(Lsn((8 + AHEAD) * 4096), &[0; 96]).unwrap();
            assert!(segments.files.open() <= OPEN_MAX);
            for number in 7..=8 + AHEAD {
                let at = number * 4096 + if number == 7 { 4000 } else { 0 };
                segments.write(Lsn(at), &[9; 96]).unwrap();
            }
        }
        segments
            .prepare(Lsn(400 * 4096), Lsn(400 * 4096), Lsn(520 * 4096), 300 * 4096, 0)
            .unwrap();
        open();
        assert_eq!(segments.end(Lsn(400 * 4096)), Lsn(700 * 4096));
        let again = Segments::open(Arc::new(disk.restart()), 4096, Mark::default()).unwrap();
        assert_eq!(again.end(Lsn(400 * 4096)), Lsn(700 * 4096));
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

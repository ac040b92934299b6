//! A disk that counts: how often its files are read, written and synced, how many bytes, how long it takes, and what is under way.
//!
//! A file is counted under its name, which a rename changes, for as long as it is there. What files of one kind have counted
//! stays when they are removed. What is shown of them can begin anew ([`Files::begin_anew`]); the sums go on. Beside a request to the
//! operating system, two looks at the clock do not show.

use super::{Access, Disk, File, Part, Room};
use crate::waits::{Timed, Unseen, WaitSum};
use crate::{COUNTED, Tick};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Pages.
    Data,
    /// The redo log.
    Log,
    /// Copies of pages that are being written.
    Doublewrite,
    /// Pages that are void after a restart.
    Scratch,
    /// What a start reads first, and whatever else there is.
    Control,
}

impl FileKind {
    /// All of them, in the order of their values.
    pub const ALL: [FileKind; 5] = [
        FileKind::Data,
        FileKind::Log,
        FileKind::Doublewrite,
        FileKind::Scratch,
        FileKind::Control,
    ];

    fn of(name: &str) -> FileKind {
        match name {
            "data" => FileKind::Data,
            "doublewrite" => FileKind::Doublewrite,
            "scratch" => FileKind::Scratch,
            _ if name.starts_with("redo-") => FileKind::Log,
            _ => FileKind::Control,
        }
    }
}

/// Requests of one sort: how many, how long they took, how many bytes they moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// How many, and how long they took.
    pub times: WaitSum,
    /// Bytes read or written.
    pub bytes: u64,
    /// How many are under way.
    pub pending: u64,
}

impl Requests {
    fn add(&mut self, other: &Requests) {
        self.times.add(&other.times);
        self.bytes += other.bytes;
        self.pending += other.pending;
    }
}

/// What was done with a file, or with those of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSums {
    /// Reads.
    pub reads: Requests,
    /// Writes.
    pub writes: Requests,
    /// Syncs.
    pub syncs: Requests,
    /// What else is asked: lengths, room for what is to come, room given back.
    pub others: Requests,
    /// How often it is open.
    pub open: u64,
}

impl FileSums {
    /// Adds those of another file.
    pub fn add(&mut self, other: &FileSums) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        self.syncs.add(&other.syncs);
        self.others.add(&other.others);
        self.open += other.open;
    }
}

/// What was done with a file that is there.
#[derive(Clone, Debug)]
pub struct FileUse {
    /// Its name in the directory.
    pub name: String,
    /// What it is for.
    pub kind: FileKind,
    /// What was done with it.
    pub sums: FileSums,
}

#[derive(Default)]
struct Counter {
    times: Timed,
    bytes: AtomicU64,
    /// Of these, what is not shown.
    unseen: Unseen,
    unseen_bytes: AtomicU64,
    pending: AtomicU64,
}

impl Counter {
    fn run<T>(&self, bytes: usize, request: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if !COUNTED {
            return request();
        }
        self.pending.fetch_add(1, Ordering::Relaxed);
        let began = Tick::now();
        let done = request();
        self.times.add(Tick::now().nanos_since(began));
        self.pending.fetch_sub(1, Ordering::Relaxed);
        if done.is_ok() {
            self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        done
    }

    fn sum(&self) -> Requests {
        Requests {
            times: self.times.sum(),
            bytes: self.bytes.load(Ordering::Relaxed),
            pending: self.pending.load(Ordering::Relaxed),
        }
    }

    fn shown(&self) -> Requests {
        let unseen = self.unseen_bytes.load(Ordering::Relaxed);
        Requests {
            times: self.times.shown(&self.unseen),
            bytes: self.bytes.load(Ordering::Relaxed).saturating_sub(unseen),
            pending: self.pending.load(Ordering::Relaxed),
        }
    }

    fn begin_anew(&self) {
        self.times.begin_anew(&self.unseen);
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.unseen_bytes.store(bytes, Ordering::Relaxed);
    }
}

/// The counters of a file.
#[derive(Default)]
struct Counters {
    reads: Counter,
    writes: Counter,
    syncs: Counter,
    others: Counter,
    open: AtomicU64,
}

impl Counters {
    fn sums(&self) -> FileSums {
        self.each(Counter::sum)
    }

    fn shown(&self) -> FileSums {
        self.each(Counter::shown)
    }

    fn each(&self, of: fn(&Counter) -> Requests) -> FileSums {
        FileSums {
            reads: of(&self.reads),
            writes: of(&self.writes),
            syncs: of(&self.syncs),
            others: of(&self.others),
            open: self.open.load(Ordering::Relaxed),
        }
    }

    fn begin_anew(&self) {
        let all = [&self.reads, &self.writes, &self.syncs, &self.others];
        all.into_iter().for_each(Counter::begin_anew);
    }
}

/// The files of a disk, as they are used.
#[derive(Default)]
pub struct Files(Mutex<ByName>);

#[derive(Default)]
struct ByName {
    there: BTreeMap<String, Arc<Counters>>,
    /// By kind, those that are gone.
    gone: [FileSums; FileKind::ALL.len()],
    /// Of these, what is shown.
    gone_shown: [FileSums; FileKind::ALL.len()],
}

impl ByName {
    fn bury(&mut self, name: &str, counters: Option<Arc<Counters>>) {
        if let Some(counters) = counters {
            let kind = FileKind::of(name) as usize;
            let without_open = |sums: FileSums| FileSums { open: 0, ..sums };
            self.gone[kind].add(&without_open(counters.sums()));
            self.gone_shown[kind].add(&without_open(counters.shown()));
        }
    }
}

impl Files {
    /// Those that are there and were used, by name, with what is shown of each.
    pub fn all(&self) -> Vec<FileUse> {
        let files = self.0.lock();
        let used = |(name, counters): (&String, &Arc<Counters>)| FileUse {
            name: name.clone(),
            kind: FileKind::of(name),
            sums: counters.shown(),
        };
        files.there.iter().map(used).collect()
    }

    /// What is shown of all files of a kind, those that are gone too.
    pub fn shown_of_kind(&self, kind: FileKind) -> FileSums {
        let files = self.0.lock();
        let mut sums = files.gone_shown[kind as usize];
        for (name, counters) in &files.there {
            if FileKind::of(name) == kind {
                sums.add(&counters.shown());
            }
        }
        sums
    }

    /// What is shown begins anew.
    pub fn begin_anew(&self) {
        let mut files = self.0.lock();
        files.gone_shown = Default::default();
        files.there.values().for_each(|counters| counters.begin_anew());
    }

    /// What was done with all files of a kind, those that are gone too.
    pub fn of_kind(&self, kind: FileKind) -> FileSums {
        let files = self.0.lock();
        let mut sums = files.gone[kind as usize];
        for (name, counters) in &files.there {
            if FileKind::of(name) == kind {
                sums.add(&counters.sums());
            }
        }
        sums
    }
}

/// A disk whose use is counted.
pub struct Counted {
    disk: Arc<dyn Disk>,
    files: Arc<Files>,
}

impl Counted {
    /// Counts what is done with a disk from now on.
    pub fn new(disk: Arc<dyn Disk>) -> Counted {
        Counted {
            disk,
            files: Arc::default(),
        }
    }

    /// What is counted.
    pub fn files(&self) -> Arc<Files> {
        self.files.clone()
    }
}

impl Disk for Counted {
    fn open(&self, name: &str, create: bool, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(name, create, access)?;
        let counters = self
            .files
            .0
            .lock()
            .there
            .entry(name.to_owned())
            .or_default()
            .clone();
        counters.open.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(CountedFile { file, counters }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn list_directories(&self) -> io::Result<Vec<String>> {
        self.disk.list_directories()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)?;
        let mut files = self.files.0.lock();
        let counters = files.there.remove(name);
        files.bury(name, counters);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)?;
        let mut files = self.files.0.lock();
        if let Some(counters) = files.there.remove(from) {
            let replaced = files.there.insert(to.to_owned(), counters);
            files.bury(to, replaced);
        }
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.disk.sync_dir()
    }
}

struct CountedFile {
    file: Arc<dyn File>,
    counters: Arc<Counters>,
}

impl Drop for CountedFile {
    fn drop(&mut self) {
        self.counters.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl File for CountedFile {
    fn room(&self) -> io::Result<Option<Room>> {
        self.file.room()
    }

    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        self.counters
            .reads
            .run(out.len(), || self.file.read_at(out, offset))
    }

    fn read_parts_at(&self, parts: &mut [Part<'_>], offset: u64) -> io::Result<()> {
        let read = |part: &Part<'_>| match part {
            Part::Into(out) => out.len(),
            Part::Skip(_) => 0,
        };
        let bytes = parts.iter().map(read).sum();
        self.counters
            .reads
            .run(bytes, || self.file.read_parts_at(parts, offset))
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.counters
            .writes
            .run(data.len(), || self.file.write_at(data, offset))
    }

    fn sync(&self) -> io::Result<()> {
        self.counters.syncs.run(0, || self.file.sync())
    }

    fn len(&self) -> io::Result<u64> {
        self.counters.others.run(0, || self.file.len())
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.counters.others.run(0, || self.file.allocate(offset, len))
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.counters.others.run(0, || self.file.punch(offset, len))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.counters.others.run(0, || self.file.truncate(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;

    #[test]
    fn a_file_is_counted_under_its_name_and_by_its_kind_when_it_is_gone() {
        let disk = Counted::new(Arc::new(SimDisk::new(1)));
        let files = disk.files();
        let file = disk.open("redo-1", true, Access::Buffered).unwrap();
        file.write_at(b"water", 0).unwrap();
        file.sync().unwrap();
        disk.rename("redo-1", "redo-2").unwrap();
        file.read_at(&mut [0; 3], 1).unwrap();
        let [only] = &files.all()[..] else {
            panic!("one file")
        };
        assert_eq!((only.name.as_str(), only.kind), ("redo-2", FileKind::Log));
        let sums = only.sums;
        assert_eq!((sums.writes.bytes, sums.writes.times.count), (5, 1));
        assert_eq!((sums.reads.bytes, sums.reads.pending), (3, 0));
        assert_eq!((sums.syncs.times.count, sums.open), (1, 1));
        drop(file);
        disk.remove("redo-2").unwrap();
        assert!(files.all().is_empty());
        let kept = files.of_kind(FileKind::Log);
        assert_eq!((kept.writes.bytes, kept.open), (5, 0));
        assert_eq!(files.of_kind(FileKind::Data), FileSums::default());
    }
}

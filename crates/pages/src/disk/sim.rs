//! A disk in memory that fails on request, for tests.
//!
//! It keeps two states of everything: what a reader sees now, and what is certain. A power cut takes, for every
//! 512-byte sector written since the file's last sync, either of the two, at random; so writes are lost, reordered and
//! torn between sectors. Directory changes are a journal of which a random prefix survives, as on a journalling file
//! system. After the cut every call fails until [`SimDisk::restart`] hands out a disk with what was left.
//!
//! Everything random comes from one seed.

use super::{Access, Disk, File};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

const SECTOR: usize = 512;

/// Faults to come. Counters count down; `None` is never.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The power goes during the n-th write or sync from now.
    pub power_cut_in: Option<u64>,
    /// The n-th sync from now fails, and what it should have made certain stays uncertain.
    pub sync_failure_in: Option<u64>,
    /// A sync that fails takes what it should have made certain for written, as Linux does: it is read back as long as the
    /// disk runs, no later sync writes it, and it is gone when the power is.
    pub sync_failure_drops: bool,
    /// The n-th read from now fails.
    pub read_failure_in: Option<u64>,
    /// Bytes the disk can hold in all.
    pub capacity: Option<u64>,
    /// Writes to these bytes of this file fail.
    pub bad: Option<(String, std::ops::Range<u64>)>,
    /// The n-th write from now panics: what a bug in the caller would do.
    pub write_panics_in: Option<u64>,
    /// How long a sync takes.
    pub sync_takes: Duration,
}

/// A disk in memory. A clone is the same disk.
#[derive(Clone)]
pub struct SimDisk {
    shared: Arc<Mutex<State>>,
}

struct State {
    files: Vec<Contents>,
    names: BTreeMap<String, usize>,
    names_certain: BTreeMap<String, usize>,
    journal: Vec<Change>,
    faults: Faults,
    dead: bool,
    random: Random,
    syncs: u64,
}

#[derive(Clone, Default)]
struct Contents {
    now: Vec<u8>,
    certain: Vec<u8>,
    unsynced: BTreeSet<usize>,
    /// Where room was given back: begin and end.
    holes: BTreeMap<usize, usize>,
}

impl Contents {
    fn used(&self) -> u64 {
        let given_back: usize = self.holes.iter().map(|(start, end)| end - start).sum();
        (self.now.len() - given_back) as u64
    }
}

enum Change {
    Create(String, usize),
    Rename(String, String),
    Remove(String),
}

/// xorshift64*: small, seeded, and the same everywhere.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    /// A generator whose numbers follow from `seed`.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: &Change) {
    match change {
        Change::Create(name, file) => {
            names.insert(name.clone(), *file);
        }
        Change::Rename(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
        Change::Remove(name) => {
            names.remove(name);
        }
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}

impl State {
    fn alive(&self) -> io::Result<()> {
        if self.dead { Err(power_is_off()) } else { Ok(()) }
    }

    /// Counts down to the power cut; true if this is the operation during which it comes.
    fn cut_now(&mut self) -> bool {
        match &mut self.faults.power_cut_in {
            Some(0 | 1) => true,
            Some(n) => {
                *n -= 1;
                false
            }
            None => false,
        }
    }

    fn cut_power(&mut self) {
        self.dead = true;
        let keep = self.random.below(self.journal.len() as u64 + 1) as usize;
        for change in &self.journal[..keep] {
            apply(&mut self.names_certain, change);
        }
        self.journal.clear();
        self.names = self.names_certain.clone();
        for file in &mut self.files {
            let mut left = std::mem::take(&mut file.certain);
            if file.now.len() != left.len() && self.random.below(2) == 0 {
                left.resize(file.now.len(), 0);
            }
            for &sector in &file.unsynced {
                let (start, end) = (sector * SECTOR, ((sector + 1) * SECTOR).min(file.now.len()));
                if start < end && end <= left.len() && self.random.below(2) == 0 {
                    left[start..end].copy_from_slice(&file.now[start..end]);
                }
            }
            file.unsynced.clear();
            file.holes.clear();
            file.now = left.clone();
            file.certain = left;
        }
    }

    fn used(&self) -> u64 {
        self.names.values().map(|&f| self.files[f].used()).sum()
    }

    fn grow(&mut self, file: usize, len: usize) -> io::Result<()> {
        let have = self.files[file].now.len();
        if len > have {
            self.has_room_for(len - have)?;
            self.files[file].now.resize(len, 0);
        }
        Ok(())
    }

    fn is_bad(&self, file: usize, bytes: std::ops::Range<u64>) -> bool {
        let Some((name, bad)) = &self.faults.bad else {
            return false;
        };
        self.names.get(name) == Some(&file) && bytes.start < bad.end && bad.start < bytes.end
    }

    fn has_room_for(&self, more: usize) -> io::Result<()> {
        match self.faults.capacity {
            Some(most) if self.used() + more as u64 > most => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
            _ => Ok(()),
        }
    }

    fn write(&mut self, file: usize, data: &[u8], offset: usize) -> io::Result<()> {
        self.grow(file, offset + data.len())?;
        let contents = &mut self.files[file];
        contents.now[offset..offset + data.len()].copy_from_slice(data);
        if !data.is_empty() {
            contents
                .unsynced
                .extend(offset / SECTOR..=(offset + data.len() - 1) / SECTOR);
        }
        Ok(())
    }
}

impl SimDisk {
    /// An empty disk. `seed` decides what a power cut leaves of unsynced writes.
    pub fn new(seed: u64) -> SimDisk {
        SimDisk {
            shared: Arc::new(Mutex::new(State {
                files: Vec::new(),
                names: BTreeMap::new(),
                names_certain: BTreeMap::new(),
                journal: Vec::new(),
                faults: Faults::default(),
                dead: false,
                random: Random::new(seed),
                syncs: 0,
            })),
        }
    }

    /// Replaces the faults to come.
    pub fn set_faults(&self, faults: Faults) {
        self.shared.lock().faults = faults;
    }

    /// Cuts the power at once.
    pub fn cut_power(&self) {
        let mut state = self.shared.lock();
        if !state.dead {
            state.cut_power();
        }
    }

    /// True once the power is off: every call fails.
    pub fn is_dead(&self) -> bool {
        self.shared.lock().dead
    }

    /// Bytes that its files take.
    pub fn used(&self) -> u64 {
        self.shared.lock().used()
    }

    /// Bytes that a file takes.
    pub fn used_by(&self, name: &str) -> u64 {
        let state = self.shared.lock();
        state.names.get(name).map_or(0, |&file| state.files[file].used())
    }

    /// Syncs of files so far.
    pub fn syncs(&self) -> u64 {
        self.shared.lock().syncs
    }

    /// The disk as it is found when the power is back (cutting it first if it is on). The old one stays dead, so that
    /// threads of the past cannot write to the present.
    pub fn restart(&self) -> SimDisk {
        self.cut_power();
        let mut old = self.shared.lock();
        let seed = old.random.draw();
        let disk = SimDisk::new(seed);
        let mut state = disk.shared.lock();
        state.files = old.files.clone();
        state.names = old.names.clone();
        state.names_certain = old.names.clone();
        drop(state);
        disk
    }

    /// The process ends, and the machine goes on: what was written and not synced is still there to be read, and still
    /// uncertain. The old disk is dead, so that threads of the past cannot write to the present.
    pub fn kill(&self) -> SimDisk {
        let mut old = self.shared.lock();
        let disk = SimDisk::new(old.random.draw());
        let mut state = disk.shared.lock();
        state.files = std::mem::take(&mut old.files);
        state.names = std::mem::take(&mut old.names);
        state.names_certain = std::mem::take(&mut old.names_certain);
        state.journal = std::mem::take(&mut old.journal);
        old.dead = true;
        drop(state);
        disk
    }

    /// Flips one bit of what is stored, as a failing medium would.
    pub fn flip_bit(&self, name: &str, byte: usize, bit: u8) {
        let mut state = self.shared.lock();
        let file = state.names[name];
        let contents = &mut state.files[file];
        contents.now[byte] ^= 1 << bit;
        contents.certain = contents.now.clone();
    }
}

impl Disk for SimDisk {
    fn open(&self, name: &str, create: bool, _: Access) -> io::Result<Arc<dyn File>> {
        let mut state = self.shared.lock();
        state.alive()?;
        let file = match state.names.get(name) {
            Some(&file) => file,
            None if create => {
                let file = state.files.len();
                state.files.push(Contents::default());
                state.names.insert(name.to_owned(), file);
                state.journal.push(Change::Create(name.to_owned(), file));
                file
            }
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(Arc::new(SimFile {
            shared: self.shared.clone(),
            file,
        }))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.shared.lock();
        state.alive()?;
        Ok(state.names.keys().cloned().collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.alive()?;
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.journal.push(Change::Remove(name.to_owned()));
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.alive()?;
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        state.journal.push(Change::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.alive()?;
        state.journal.clear();
        state.names_certain = state.names.clone();
        Ok(())
    }
}

struct SimFile {
    shared: Arc<Mutex<State>>,
    file: usize,
}

impl File for SimFile {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.alive()?;
        if let Some(n) = &mut state.faults.read_failure_in {
            *n = n.saturating_sub(1);
            if *n == 0 {
                state.faults.read_failure_in = None;
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
        }
        let now = &state.files[self.file].now;
        let start = (offset as usize).min(now.len());
        let end = (offset as usize + out.len()).min(now.len());
        out[..end - start].copy_from_slice(&now[start..end]);
        out[end - start..].fill(0);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.alive()?;
        if state.is_bad(self.file, offset..offset + data.len() as u64) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        if let Some(n) = &mut state.faults.write_panics_in {
            *n = n.saturating_sub(1);
            if *n == 0 {
                state.faults.write_panics_in = None;
                drop(state);
                panic!("a fault that was asked for");
            }
        }
        state.write(self.file, data, offset as usize)?;
        if state.cut_now() {
            state.cut_power();
            return Err(power_is_off());
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let takes = self.shared.lock().faults.sync_takes;
        if !takes.is_zero() {
            std::thread::sleep(takes);
        }
        let mut state = self.shared.lock();
        state.alive()?;
        if state.cut_now() {
            state.cut_power();
            return Err(power_is_off());
        }
        if let Some(n) = &mut state.faults.sync_failure_in {
            *n = n.saturating_sub(1);
            if *n == 0 {
                state.faults.sync_failure_in = None;
                if state.faults.sync_failure_drops {
                    state.files[self.file].unsynced.clear();
                }
                return Err(io::Error::from_raw_os_error(libc::EIO));
            }
        }
        state.syncs += 1;
        let contents = &mut state.files[self.file];
        contents.certain.resize(contents.now.len(), 0);
        for sector in std::mem::take(&mut contents.unsynced) {
            let (start, end) = (sector * SECTOR, ((sector + 1) * SECTOR).min(contents.now.len()));
            if start < end {
                contents.certain[start..end].copy_from_slice(&contents.now[start..end]);
            }
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let state = self.shared.lock();
        state.alive()?;
        Ok(state.files[self.file].now.len() as u64)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.alive()?;
        let (start, end) = (offset as usize, (offset + len) as usize);
        let within = |hole: &(&usize, &usize)| *hole.0 >= start && *hole.1 <= end;
        let holes: Vec<(usize, usize)> = state.files[self.file]
            .holes
            .iter()
            .filter(within)
            .map(|(start, end)| (*start, *end))
            .collect();
        state.has_room_for(holes.iter().map(|(start, end)| end - start).sum())?;
        for (start, _) in holes {
            state.files[self.file].holes.remove(&start);
        }
        state.grow(self.file, end)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.alive()?;
        let end = ((offset + len) as usize).min(state.files[self.file].now.len());
        let start = (offset as usize).min(end);
        if start < end {
            state.files[self.file].holes.insert(start, end);
        }
        state.write(self.file, &vec![0; end - start], start)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.alive()?;
        let contents = &mut state.files[self.file];
        contents.now.resize(len as usize, 0);
        contents.holes.retain(|_, end| *end <= len as usize);
        if contents.certain.len() > len as usize {
            contents.certain.truncate(len as usize);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_synced_survives_a_power_cut_and_the_rest_may_not() {
        let (mut lost, mut kept, mut torn) = (0, 0, 0);
        for seed in 0..50 {
            let disk = SimDisk::new(seed);
            let file = disk.open("f", true, Access::Buffered).unwrap();
            disk.sync_dir().unwrap();
            file.write_at(&[1; 2 * SECTOR], 0).unwrap();
            file.sync().unwrap();
            file.write_at(&[2; 2 * SECTOR], 0).unwrap();
            let disk = disk.restart();
            assert!(file.write_at(&[3], 0).is_err(), "the old disk is dead");
            let mut out = [0; 2 * SECTOR];
            disk.open("f", false, Access::Buffered)
                .unwrap()
                .read_at(&mut out, 0)
                .unwrap();
            match (out[0], out[SECTOR]) {
                (1, 1) => lost += 1,
                (2, 2) => kept += 1,
                (1, 2) | (2, 1) => torn += 1,
                other => panic!("sectors of neither time: {other:?}"),
            }
            assert!(
                out[..SECTOR].iter().all(|&b| b == out[0]),
                "a sector is never torn"
            );
        }
        assert!(lost > 0 && kept > 0 && torn > 0);
    }

    #[test]
    fn names_survive_as_a_prefix_of_their_changes() {
        let (mut before, mut after) = (0, 0);
        for seed in 0..20 {
            let disk = SimDisk::new(seed);
            disk.open("a", true, Access::Buffered).unwrap();
            disk.sync_dir().unwrap();
            disk.rename("a", "b").unwrap();
            match disk.restart().list().unwrap().join(",").as_str() {
                "a" => before += 1,
                "b" => after += 1,
                other => panic!("neither name nor both: {other}"),
            }
        }
        assert!(before > 0 && after > 0);
    }

    #[test]
    fn faults_come_when_asked_for() {
        let disk = SimDisk::new(1);
        let file = disk.open("f", true, Access::Buffered).unwrap();
        disk.set_faults(Faults {
            capacity: Some(1024),
            sync_failure_in: Some(2),
            ..Faults::default()
        });
        assert_eq!(
            file.write_at(&[0; 1025], 0).unwrap_err().kind(),
            io::ErrorKind::StorageFull
        );
        file.write_at(&[7; 1024], 0).unwrap();
        file.sync().unwrap();
        assert!(file.sync().is_err());
        file.sync().unwrap();
        disk.flip_bit("f", 3, 0);
        let mut out = [0; 4];
        file.read_at(&mut out, 0).unwrap();
        assert_eq!(out, [7, 7, 7, 6]);
        disk.set_faults(Faults {
            power_cut_in: Some(1),
            ..Faults::default()
        });
        assert!(file.write_at(&[1], 0).is_err() && disk.is_dead());
    }
}

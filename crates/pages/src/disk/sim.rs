//! A disk in memory that fails on request, for tests.
//!
//! It keeps two states of everything: what a reader sees now, and what is certain. A power cut takes, for every
//! 512-byte sector written since the file's last sync, either of the two, at random; so writes are lost, reordered and
//! torn between sectors. Directory changes are a journal of which a random prefix survives, as on a journalling file
//! system. After the cut every call fails until [`SimDisk::restart`] hands out a disk with what was left.
//!
//! Everything random comes from one seed.

pub use super::faults::{Call, Failing, Faults, Harm};

use super::faults::is_due;
use super::{Access, Disk, File, Room};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

const SECTOR: usize = 512;
const PAGE: u64 = crate::ids::PAGE_SIZE as u64;

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
    calls: u64,
    harms: Vec<Harm>,
}

/// What a write does, if it does not do what it is told.
#[derive(Clone, Copy)]
enum Wrong {
    Lost,
    Misdirected,
    Short,
}

#[derive(Clone, Default)]
struct Contents {
    now: Vec<u8>,
    certain: Vec<u8>,
    /// Sectors of which a power cut leaves either state.
    unsynced: BTreeSet<usize>,
    /// Sectors that a failed sync took for written: a power cut takes them.
    dropped: BTreeSet<usize>,
    /// Where room was given back: begin and end.
    holes: BTreeMap<usize, usize>,
}

impl Contents {
    fn used(&self) -> u64 {
        let given_back: usize = self.holes.iter().map(|(start, end)| end - start).sum();
        (self.now.len() - given_back) as u64
    }

    /// Where a sector stands, as far as it is in both states.
    fn bytes_of(&self, sector: usize) -> std::ops::Range<usize> {
        let end = ((sector + 1) * SECTOR)
            .min(self.now.len())
            .min(self.certain.len());
        (sector * SECTOR).min(end)..end
    }

    /// What a power cut leaves becomes both states.
    fn lose_power(&mut self, random: &mut Random) {
        if self.now.len() != self.certain.len() {
            let written = random.below(2) == 0;
            let len = if written {
                self.now.len()
            } else {
                self.certain.len()
            };
            self.certain.resize(len, 0);
            self.now.resize(len, 0);
        }
        for sector in std::mem::take(&mut self.unsynced) {
            let bytes = self.bytes_of(sector);
            match random.below(2) == 0 {
                true => self.certain[bytes.clone()].copy_from_slice(&self.now[bytes]),
                false => self.now[bytes.clone()].copy_from_slice(&self.certain[bytes]),
            }
        }
        for sector in std::mem::take(&mut self.dropped) {
            let bytes = self.bytes_of(sector);
            self.now[bytes.clone()].copy_from_slice(&self.certain[bytes]);
        }
        self.holes.clear();
    }

    fn sync(&mut self) {
        self.certain.resize(self.now.len(), 0);
        for sector in std::mem::take(&mut self.unsynced) {
            let bytes = self.bytes_of(sector);
            self.certain[bytes.clone()].copy_from_slice(&self.now[bytes]);
        }
    }

    /// All of it is lost that was not certain, but goes on being read.
    fn drop_unsynced(&mut self) {
        self.dropped.append(&mut self.unsynced);
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

    /// Counts down to the power cut; if it comes now, this call is the last, and fails.
    fn survives(&mut self) -> io::Result<()> {
        if is_due(&mut self.faults.power_cut_in) {
            self.cut_power();
            return Err(power_is_off());
        }
        Ok(())
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
            file.lose_power(&mut self.random);
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
            for sector in offset / SECTOR..=(offset + data.len() - 1) / SECTOR {
                contents.dropped.remove(&sector);
                contents.unsynced.insert(sector);
            }
        }
        Ok(())
    }

    /// A part of a write that fails: so many of its first sectors.
    fn write_in_part(&mut self, file: usize, data: &[u8], offset: usize) {
        let sectors = self.random.below((data.len() / SECTOR) as u64 + 1) as usize;
        // There may be no room even for that.
        let _ = self.write(file, &data[..sectors * SECTOR], offset);
    }

    /// Whether this is a file that is to be harmed.
    fn may_harm(&self, file: usize) -> bool {
        self.name_of(file)
            .is_some_and(|name| name.starts_with(self.faults.harms))
    }

    fn name_of(&self, file: usize) -> Option<&String> {
        self.names.iter().find(|(_, f)| **f == file).map(|(name, _)| name)
    }

    /// What is wrong with this write, which is counted.
    fn goes_wrong(&mut self, file: usize) -> Option<Wrong> {
        let faults = &self.faults;
        let counters = [
            faults.write_lost_in,
            faults.write_misdirected_in,
            faults.write_short_in,
        ];
        if counters == [None; 3] || !self.may_harm(file) {
            return None;
        }
        if is_due(&mut self.faults.write_lost_in) {
            return Some(Wrong::Lost);
        }
        if is_due(&mut self.faults.write_misdirected_in) {
            return Some(Wrong::Misdirected);
        }
        is_due(&mut self.faults.write_short_in).then_some(Wrong::Short)
    }

    /// A write that says that it was done.
    fn write_wrongly(&mut self, file: usize, data: &[u8], offset: u64, wrong: Wrong) -> io::Result<()> {
        match wrong {
            Wrong::Lost => {
                self.harm(file, offset, data.len());
                Ok(())
            }
            Wrong::Misdirected => {
                self.harm(file, offset, data.len());
                let offset = self.astray(file, offset);
                self.harm(file, offset, data.len());
                self.write(file, data, offset as usize)
            }
            Wrong::Short => {
                let sectors = self.random.below((data.len() / SECTOR).max(1) as u64) as usize;
                let done = (sectors * SECTOR).min(data.len());
                self.harm(file, offset + done as u64, data.len() - done);
                self.write(file, &data[..done], offset as usize)
            }
        }
    }

    fn harm(&mut self, file: usize, offset: u64, len: usize) {
        let name = self.name_of(file).cloned().unwrap_or_default();
        self.harms.push(Harm {
            file: name,
            bytes: offset..offset + len as u64,
        });
    }

    /// Where a write that goes astray ends up: another page of the file.
    fn astray(&mut self, file: usize, offset: u64) -> u64 {
        let pages = (self.files[file].now.len() as u64 / PAGE).max(2);
        let to = self.random.below(pages - 1) * PAGE;
        if to >= offset { to + PAGE } else { to }
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
                calls: 0,
                harms: Vec::new(),
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

    /// Calls so far, those included that failed.
    pub fn calls(&self) -> u64 {
        self.shared.lock().calls
    }

    /// Writes so far that did not do what they said.
    pub fn harms(&self) -> Vec<Harm> {
        self.shared.lock().harms.clone()
    }

    /// The disk as it is found when the power is back (cutting it first if it is on). The old one stays dead, so that
    /// threads of the past cannot write to the present.
    pub fn restart(&self) -> SimDisk {
        self.cut_power();
        let mut old = self.shared.lock();
        let disk = SimDisk::new(old.random.draw());
        let mut state = disk.shared.lock();
        state.files = old.files.clone();
        state.names = old.names.clone();
        state.names_certain = old.names.clone();
        drop(state);
        disk
    }

    /// The process ends, and the machine goes on: what was written and not synced is still there to be read, and still
    /// uncertain. The old disk is dead and empty, so that threads of the past cannot write to the present.
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
        if let Some(certain) = contents.certain.get_mut(byte) {
            *certain = contents.now[byte];
        }
    }

    /// Counts a call; an error if the power is off, or if the call is to fail.
    fn begin(&self, call: Call) -> io::Result<MutexGuard<'_, State>> {
        begin(&self.shared, call)
    }
}

fn begin(shared: &Mutex<State>, call: Call) -> io::Result<MutexGuard<'_, State>> {
    let mut state = shared.lock();
    state.alive()?;
    state.calls += 1;
    state.faults.fails(call)?;
    Ok(state)
}

impl Disk for SimDisk {
    fn open(&self, name: &str, create: bool, _: Access) -> io::Result<Arc<dyn File>> {
        let mut state = self.begin(Call::Open)?;
        let file = match state.names.get(name) {
            Some(&file) => file,
            None if create => {
                let file = state.files.len();
                state.files.push(Contents::default());
                state.names.insert(name.to_owned(), file);
                state.journal.push(Change::Create(name.to_owned(), file));
                state.survives()?;
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
        let state = self.begin(Call::List)?;
        Ok(state.names.keys().cloned().collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.begin(Call::Remove)?;
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.journal.push(Change::Remove(name.to_owned()));
        state.survives()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.begin(Call::Rename)?;
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        state.journal.push(Change::Rename(from.to_owned(), to.to_owned()));
        state.survives()
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.begin(Call::SyncDir)?;
        state.survives()?;
        if !state.faults.syncs_lie {
            state.journal.clear();
            state.names_certain = state.names.clone();
        }
        Ok(())
    }
}

struct SimFile {
    shared: Arc<Mutex<State>>,
    file: usize,
}

impl SimFile {
    fn begin(&self, call: Call) -> io::Result<MutexGuard<'_, State>> {
        begin(&self.shared, call)
    }
}

impl File for SimFile {
    fn room(&self) -> io::Result<Option<Room>> {
        let state = self.shared.lock();
        Ok(state.faults.capacity.map(|total| Room {
            free: total.saturating_sub(state.used()),
            total,
        }))
    }

    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        let mut state = self.begin(Call::Read)?;
        if is_due(&mut state.faults.read_failure_in) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        let is_short = state.faults.read_short_in.is_some()
            && state.may_harm(self.file)
            && is_due(&mut state.faults.read_short_in);
        let now = &state.files[self.file].now;
        let start = (offset as usize).min(now.len());
        let end = (offset as usize + out.len()).min(now.len());
        out[..end - start].copy_from_slice(&now[start..end]);
        out[end - start..].fill(0);
        if is_short {
            let sectors = state.random.below((out.len() / SECTOR).max(1) as u64) as usize;
            out[sectors * SECTOR..].fill(0);
        }
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let mut state = match self.begin(Call::Write) {
            Ok(state) => state,
            Err(error) => {
                let mut state = self.shared.lock();
                if !state.dead {
                    state.write_in_part(self.file, data, offset as usize);
                }
                return Err(error);
            }
        };
        if state.is_bad(self.file, offset..offset + data.len() as u64) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        if is_due(&mut state.faults.write_panics_in) {
            drop(state);
            panic!("a fault that was asked for");
        }
        match state.goes_wrong(self.file) {
            Some(wrong) => state.write_wrongly(self.file, data, offset, wrong)?,
            None => state.write(self.file, data, offset as usize)?,
        }
        state.survives()
    }

    fn sync(&self) -> io::Result<()> {
        let takes = self.shared.lock().faults.sync_takes;
        if !takes.is_zero() {
            std::thread::sleep(takes);
        }
        let begun = self.begin(Call::Sync);
        if let Err(error) = begun {
            let mut state = self.shared.lock();
            if !state.dead && state.faults.sync_failure_drops {
                state.files[self.file].drop_unsynced();
            }
            return Err(error);
        }
        let mut state = begun?;
        state.survives()?;
        if is_due(&mut state.faults.sync_failure_in) {
            if state.faults.sync_failure_drops {
                state.files[self.file].drop_unsynced();
            }
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        state.syncs += 1;
        if !state.faults.syncs_lie {
            state.files[self.file].sync();
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        let state = self.begin(Call::Len)?;
        Ok(state.files[self.file].now.len() as u64)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut state = self.begin(Call::Allocate)?;
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
        state.grow(self.file, end)?;
        state.survives()
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut state = self.begin(Call::Punch)?;
        let end = ((offset + len) as usize).min(state.files[self.file].now.len());
        let start = (offset as usize).min(end);
        if start < end {
            state.files[self.file].holes.insert(start, end);
        }
        state.write(self.file, &vec![0; end - start], start)?;
        state.survives()
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let mut state = self.begin(Call::Truncate)?;
        let contents = &mut state.files[self.file];
        contents.now.resize(len as usize, 0);
        contents.holes.retain(|_, end| *end <= len as usize);
        if contents.certain.len() > len as usize {
            contents.certain.truncate(len as usize);
        }
        state.survives()
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

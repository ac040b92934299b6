//! A cache of writes that dies with the process: what was not synced is gone after `kill -9`, as after a power cut.
//!
//! Compiled only with the feature `sabotage`, which no release has: the operating system keeps what a killed process has
//! written, so that a sync that is missing would not show above the engine. `TIDEMARK_SABOTAGE=volatile` puts this between
//! the engine and the disk; `volatile,unsynced` also leaves out the syncs of the log, to show that the tests would notice.
//! Names are certain at once, and the scratch file, of which nothing is needed after a restart, is not kept here.

use super::blocks::{BLOCK, pieces};
use super::{Access, Disk, File};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

type Blocks = BTreeMap<u64, Box<[u8; BLOCK]>>;

/// A disk whose writes are in memory until they are synced.
pub struct Volatile {
    below: Arc<dyn Disk>,
    files: Mutex<HashMap<String, Arc<VolatileFile>>>,
    /// Syncs of the log do nothing.
    unsynced: bool,
}

impl Volatile {
    /// Before this disk, if the environment asks for it.
    pub fn before(below: Arc<dyn Disk>) -> Arc<dyn Disk> {
        let asked = std::env::var("TIDEMARK_SABOTAGE").unwrap_or_default();
        let asks = |what: &str| asked.split(',').any(|word| word == what);
        if !asks("volatile") {
            return below;
        }
        Arc::new(Volatile {
            below,
            files: Mutex::default(),
            unsynced: asks("unsynced"),
        })
    }
}

impl Disk for Volatile {
    fn open(&self, name: &str, create: bool, access: Access) -> io::Result<Arc<dyn File>> {
        if name == "scratch" {
            return self.below.open(name, create, access);
        }
        let mut files = self.files.lock();
        if let Some(file) = files.get(name) {
            return Ok(file.clone());
        }
        let file = Arc::new(VolatileFile {
            below: self.below.open(name, create, Access::Buffered)?,
            blocks: Mutex::default(),
            lies: self.unsynced && name.starts_with("redo-"),
        });
        files.insert(name.to_owned(), file.clone());
        Ok(file)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.below.list()
    }

    fn list_directories(&self) -> io::Result<Vec<String>> {
        self.below.list_directories()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.files.lock().remove(name);
        self.below.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files.lock();
        self.below.rename(from, to)?;
        match files.remove(from) {
            Some(file) => drop(files.insert(to.to_owned(), file)),
            None => drop(files.remove(to)),
        }
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.below.sync_dir()
    }
}

struct VolatileFile {
    below: Arc<dyn File>,
    blocks: Mutex<Blocks>,
    lies: bool,
}

impl VolatileFile {
    fn block(&self, blocks: &Blocks, number: u64, out: &mut [u8; BLOCK]) -> io::Result<()> {
        match blocks.get(&number) {
            Some(block) => *out = **block,
            None => self.below.read_at(out, number * BLOCK as u64)?,
        }
        Ok(())
    }

    fn change(&self, offset: u64, len: u64, mut fill: impl FnMut(&mut [u8], usize)) -> io::Result<()> {
        let mut blocks = self.blocks.lock();
        for piece in pieces(offset, len as usize) {
            let mut block = Box::new([0; BLOCK]);
            self.block(&blocks, piece.block, &mut block)?;
            fill(&mut block[piece.within], piece.of_range.start);
            blocks.insert(piece.block, block);
        }
        Ok(())
    }
}

impl File for VolatileFile {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        let blocks = self.blocks.lock();
        let mut block = [0; BLOCK];
        for piece in pieces(offset, out.len()) {
            self.block(&blocks, piece.block, &mut block)?;
            out[piece.of_range].copy_from_slice(&block[piece.within]);
        }
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.change(offset, data.len() as u64, |part, at| {
            part.copy_from_slice(&data[at..at + part.len()]);
        })
    }

    fn sync(&self) -> io::Result<()> {
        if self.lies {
            return Ok(());
        }
        let mut blocks = self.blocks.lock();
        for (number, block) in &*blocks {
            self.below.write_at(&block[..], number * BLOCK as u64)?;
        }
        blocks.clear();
        self.below.sync()
    }

    fn len(&self) -> io::Result<u64> {
        let blocks = self.blocks.lock();
        let written = blocks
            .last_key_value()
            .map_or(0, |(number, _)| (number + 1) * BLOCK as u64);
        Ok(self.below.len()?.max(written))
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.below.allocate(offset, len)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.change(offset, len, |part, _| part.fill(0))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.blocks
            .lock()
            .retain(|number, _| number * (BLOCK as u64) < len);
        self.below.truncate(len)
    }
}

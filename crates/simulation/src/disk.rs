//! The simulated disk, slowed down: each call takes some of the world's time, and is a moment at which another thread may
//! go on.

use super::scheduler::pause;
use std::io;
use std::sync::Arc;
use tidemark_engine::disk::sim::SimDisk;
use tidemark_engine::disk::{Access, Disk, File};

/// What calls take, in nanoseconds.
const LOOK: u64 = 2_000;
const READ: u64 = 20_000;
const WRITE: u64 = 20_000;
const SYNC: u64 = 200_000;

/// A disk whose calls take time.
pub struct SlowDisk(pub SimDisk);

impl Disk for SlowDisk {
    fn open(&self, name: &str, create: bool, access: Access) -> io::Result<Arc<dyn File>> {
        pause(LOOK);
        Ok(Arc::new(SlowFile(self.0.open(name, create, access)?)))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        pause(LOOK);
        self.0.list()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        pause(LOOK);
        self.0.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        pause(LOOK);
        self.0.rename(from, to)
    }

    fn sync_dir(&self) -> io::Result<()> {
        pause(SYNC);
        self.0.sync_dir()
    }
}

struct SlowFile(Arc<dyn File>);

impl File for SlowFile {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        pause(READ);
        self.0.read_at(out, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        pause(WRITE);
        self.0.write_at(data, offset)
    }

    fn sync(&self) -> io::Result<()> {
        // Before and after: what is synced is what was written when the sync takes effect, and that is learnt later.
        pause(SYNC);
        self.0.sync()?;
        pause(SYNC);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        pause(LOOK);
        self.0.len()
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        pause(WRITE);
        self.0.allocate(offset, len)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        pause(WRITE);
        self.0.punch(offset, len)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        pause(WRITE);
        self.0.truncate(len)
    }
}

//! The only floor that touches files.
//!
//! Two traits: [`real`] speaks to the operating system; [`sim`] keeps everything in memory and can lose power at any
//! write; [`claim`] says which directories are one's to take; [`overlay`] lets one work on a disk without changing it, [`counted`] counts its use, and `volatile`, for tests, loses what was not synced when the process dies. What is written is certain only after [`File::sync`]; a name that was created, renamed
//! or removed is certain only after [`Disk::sync_dir`]. Everything above is built on no more than that.

mod blocks;
pub mod claim;
pub mod counted;
pub mod faults;
pub mod overlay;
pub mod real;
pub mod sim;
#[cfg(feature = "sabotage")]
pub mod volatile;

use std::io;
use std::sync::Arc;

/// An error of a file, with what was being done.
pub(crate) fn failed(error: &io::Error, doing: String) -> io::Error {
    io::Error::new(error.kind(), format!("{doing}: {error}"))
}

/// How a file will be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Through the page cache.
    Buffered,
    /// Past the page cache, in whole aligned pages, where the file system can.
    Direct,
}

/// A directory of files.
pub trait Disk: Send + Sync {
    /// Opens `name`, creating it (empty) if asked to and it is not there.
    fn open(&self, name: &str, create: bool, access: Access) -> io::Result<Arc<dyn File>>;
    /// The names of all files, sorted.
    fn list(&self) -> io::Result<Vec<String>>;
    /// The names of the directories in it, sorted. An engine makes none.
    fn list_directories(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }
    /// Removes the file; [`sync_dir`](Self::sync_dir) makes that certain.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Gives the file a new name, replacing what had that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Makes creations, renames and removals certain.
    fn sync_dir(&self) -> io::Result<()>;
}

/// A stretch of a file that is read as one.
pub enum Part<'b> {
    /// Bytes to read, and where to.
    Into(&'b mut [u8]),
    /// So many unwanted bytes.
    Skip(usize),
}

/// Bytes of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Those that a file may still take.
    pub free: u64,
    /// All of them.
    pub total: u64,
}

/// An open file. It is used by many threads at once.
pub trait File: Send + Sync {
    /// The room where the file is; `None`: it is not known.
    fn room(&self) -> io::Result<Option<Room>> {
        Ok(None)
    }
    /// Reads all of `out`; what lies behind the end of the file reads as zeros.
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()>;
    /// Reads stretches that lie one behind the other.
    fn read_parts_at(&self, parts: &mut [Part<'_>], mut offset: u64) -> io::Result<()> {
        for part in parts {
            match part {
                Part::Into(out) => {
                    self.read_at(out, offset)?;
                    offset += out.len() as u64;
                }
                Part::Skip(len) => offset += *len as u64,
            }
        }
        Ok(())
    }
    /// Writes all of `data`; [`sync`](Self::sync) makes that certain.
    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()>;
    /// Makes what was written certain (`fdatasync`).
    fn sync(&self) -> io::Result<()>;
    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// True if the file's length is 0.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Sees to it that writes to this range cannot fail for want of room; the file grows to cover it.
    fn allocate(&self, offset: u64, len: u64) -> io::Result<()>;
    /// Gives the room of this range back; it reads as zeros afterwards.
    fn punch(&self, offset: u64, len: u64) -> io::Result<()>;
    /// Makes the file so long; what is added reads as zeros.
    fn truncate(&self, len: u64) -> io::Result<()>;
}

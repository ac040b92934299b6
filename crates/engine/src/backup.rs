//! Copies a running engine's data directory to another, which opens like one that a crash has left at that moment; and restores
//! such a copy, to a later moment by an archive of the log.

use crate::disk::Disk;
use crate::disk::real::RealDisk;
use crate::engine::{Engine, open_disk};
use crate::error::{Error, Result};
use crate::ids::Lsn;
use crate::store::{self, CopyOptions, CopyProgress};
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::Arc;

pub use crate::store::{Copied, Until};

impl Engine {
    /// Copies everything that is committed by the time this returns to a directory, which must be empty or not be there, while
    /// all work goes on. At most so many bytes are moved in a second; 0: as fast as it goes. `progress` is told how far the copy
    /// is, about every mebibyte; an error from it ends the copy. After any error there is nothing left of it.
    pub fn back_up(
        &self,
        to: &Path,
        bytes_per_s: u64,
        progress: &dyn Fn(CopyProgress) -> Result<()>,
    ) -> Result<Copied> {
        let was_there = to.exists();
        if was_there && fs::read_dir(to)?.next().is_some() {
            return Err(Error::CannotOpen(format!("{} is not empty", to.display())));
        }
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(to)?);
        let copied = self.back_up_to(&disk, bytes_per_s, progress);
        drop(disk);
        if copied.is_err() {
            // What cannot be removed is no data directory either: it has no control file.
            let _ = fs::remove_dir_all(to);
            if was_there {
                let _ = fs::create_dir(to);
            }
        }
        copied
    }

    /// Like [`Self::back_up`], to a disk on which there is nothing. What was written before an error stays there.
    pub fn back_up_to(
        &self,
        to: &Arc<dyn Disk>,
        bytes_per_s: u64,
        progress: &dyn Fn(CopyProgress) -> Result<()>,
    ) -> Result<Copied> {
        let ended = RefCell::new(None);
        let ask = |at: CopyProgress| {
            progress(at).map_err(|error| {
                *ended.borrow_mut() = Some(error);
                tidemark_pages::Error::Stopped("the copy was ended".into())
            })
        };
        let options = CopyOptions {
            bytes_per_s,
            progress: &ask,
        };
        let copied = self.store().back_up(to, &options);
        copied.map_err(|error| ended.take().unwrap_or_else(|| error.into()))
    }
}

impl Engine {
    /// Makes a data directory of a copy, which [`Engine::back_up`] made, and of what `archive` ([`Config::log_archive`]) has of the
    /// log after it, up to the moment wanted. Returns that moment. The copy and the archive stay as they are; after an error
    /// what was made is no data directory.
    pub fn restore(from: &Path, archive: Option<&Path>, to: &Path, until: Until) -> Result<Lsn> {
        for directory in [Some(from), archive].into_iter().flatten() {
            if !directory.is_dir() {
                return Err(Error::CannotOpen(format!(
                    "{} is no directory",
                    directory.display()
                )));
            }
        }
        if to.exists() && fs::read_dir(to)?.next().is_some() {
            return Err(Error::CannotOpen(format!("{} is not empty", to.display())));
        }
        let from: Arc<dyn Disk> = Arc::new(open_disk(from)?);
        // A server may be writing it.
        let archive = archive.map(|archive| -> Arc<dyn Disk> { Arc::new(RealDisk::unlocked(archive)) });
        Ok(store::restore(from, archive, Arc::new(open_disk(to)?), until)?)
    }
}

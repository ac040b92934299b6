//! A disk on top of another: what is written stays in memory, and the one below is only read.
//!
//! With it a data directory can be opened, recovered and examined as ever without a byte of it being changed.

use super::blocks::{BLOCK, pieces};
use super::{Access, Disk, File};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::Arc;

/// A disk whose changes stay in memory.
pub struct Overlay {
    below: Arc<dyn Disk>,
    /// Every name that was opened, created or removed (`None`) since.
    names: Mutex<BTreeMap<String, Option<Arc<OverlayFile>>>>,
}

impl Overlay {
    /// Begins with what is on `below`.
    pub fn new(below: Arc<dyn Disk>) -> Overlay {
        Overlay {
            below,
            names: Mutex::new(BTreeMap::new()),
        }
    }

    fn find(
        &self,
        names: &mut BTreeMap<String, Option<Arc<OverlayFile>>>,
        name: &str,
    ) -> io::Result<Arc<OverlayFile>> {
        match names.get(name) {
            Some(Some(file)) => Ok(file.clone()),
            Some(None) => Err(io::ErrorKind::NotFound.into()),
            None => {
                let below = self.below.open(name, false, Access::Buffered)?;
                let len = below.len()?;
                let state = FileState {
                    len,
                    below_len: len,
                    blocks: HashMap::new(),
                };
                let file = Arc::new(OverlayFile {
                    below: Some(below),
                    state: Mutex::new(state),
                });
                names.insert(name.to_owned(), Some(file.clone()));
                Ok(file)
            }
        }
    }
}

impl Disk for Overlay {
    fn open(&self, name: &str, create: bool, _: Access) -> io::Result<Arc<dyn File>> {
        let mut names = self.names.lock();
        match self.find(&mut names, name) {
            Err(e) if create && e.kind() == io::ErrorKind::NotFound => {
                let state = FileState {
                    len: 0,
                    below_len: 0,
                    blocks: HashMap::new(),
                };
                let file = Arc::new(OverlayFile {
                    below: None,
                    state: Mutex::new(state),
                });
                names.insert(name.to_owned(), Some(file.clone()));
                Ok(file)
            }
            found => Ok(found?),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let names = self.names.lock();
        let mut all = self.below.list()?;
        all.retain(|name| !names.contains_key(name));
        all.extend(
            names
                .iter()
                .filter(|(_, file)| file.is_some())
                .map(|(name, _)| name.clone()),
        );
        all.sort();
        Ok(all)
    }

    fn list_directories(&self) -> io::Result<Vec<String>> {
        self.below.list_directories()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut names = self.names.lock();
        self.find(&mut names, name)?;
        names.insert(name.to_owned(), None);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut names = self.names.lock();
        let file = self.find(&mut names, from)?;
        names.insert(from.to_owned(), None);
        names.insert(to.to_owned(), Some(file));
        Ok(())
    }

    fn sync_dir(&self) -> io::Result<()> {
        Ok(())
    }
}

struct OverlayFile {
    below: Option<Arc<dyn File>>,
    state: Mutex<FileState>,
}

struct FileState {
    len: u64,
    /// How much of the file below still counts.
    below_len: u64,
    blocks: HashMap<u64, Box<[u8; BLOCK]>>,
}

impl OverlayFile {
    /// The file's bytes in one block, from below if they were not written since.
    fn block(&self, state: &FileState, number: u64, out: &mut [u8; BLOCK]) -> io::Result<()> {
        if let Some(block) = state.blocks.get(&number) {
            *out = **block;
            return Ok(());
        }
        out.fill(0);
        let offset = number * BLOCK as u64;
        let len = state.below_len.saturating_sub(offset).min(BLOCK as u64) as usize;
        match &self.below {
            Some(below) if len > 0 => below.read_at(&mut out[..len], offset),
            _ => Ok(()),
        }
    }

    fn change(&self, offset: u64, len: u64, mut fill: impl FnMut(&mut [u8], usize)) -> io::Result<()> {
        let mut state = self.state.lock();
        for piece in pieces(offset, len as usize) {
            let mut block = Box::new([0; BLOCK]);
            self.block(&state, piece.block, &mut block)?;
            fill(&mut block[piece.within], piece.of_range.start);
            state.blocks.insert(piece.block, block);
        }
        Ok(())
    }
}

impl File for OverlayFile {
    fn read_at(&self, out: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.state.lock();
        let mut block = [0; BLOCK];
        for piece in pieces(offset, out.len()) {
            self.block(&state, piece.block, &mut block)?;
            out[piece.of_range].copy_from_slice(&block[piece.within]);
        }
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.change(offset, data.len() as u64, |part, at| {
            part.copy_from_slice(&data[at..at + part.len()])
        })?;
        self.allocate(offset, data.len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().len)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        state.len = state.len.max(offset + len);
        Ok(())
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.change(offset, len, |part, _| part.fill(0))
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        let old = self.state.lock().len;
        if len < old {
            let end = old.min(len.next_multiple_of(BLOCK as u64));
            self.change(len, end - len, |part, _| part.fill(0))?;
        }
        let mut state = self.state.lock();
        state.blocks.retain(|&number, _| number * (BLOCK as u64) < len);
        state.below_len = state.below_len.min(len);
        state.len = len;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::sim::SimDisk;

    #[test]
    fn what_is_written_is_read_back_and_nothing_changes_below() {
        let below = SimDisk::new(1);
        let file = below.open("a", true, Access::Buffered).unwrap();
        file.write_at(&[1; 10_000], 0).unwrap();
        below.open("b", true, Access::Buffered).unwrap();

        let overlay = Overlay::new(Arc::new(below.clone()));
        let over = overlay.open("a", false, Access::Direct).unwrap();
        over.write_at(&[2; 5000], 4000).unwrap();
        let mut out = vec![9; 12_000];
        over.read_at(&mut out, 0).unwrap();
        let expected = [vec![1; 4000], vec![2; 5000], vec![1; 1000], vec![0; 2000]].concat();
        assert_eq!(out, expected);
        over.truncate(4500).unwrap();
        over.allocate(0, 12_000).unwrap();
        over.read_at(&mut out, 0).unwrap();
        assert_eq!(out, [vec![1; 4000], vec![2; 500], vec![0; 7500]].concat());
        assert_eq!(over.len().unwrap(), 12_000);

        overlay.rename("a", "c").unwrap();
        overlay.remove("b").unwrap();
        overlay.open("d", true, Access::Buffered).unwrap();
        assert_eq!(overlay.list().unwrap(), ["c", "d"]);
        assert!(overlay.open("a", false, Access::Buffered).is_err());
        assert_eq!(below.list().unwrap(), ["a", "b"]);
        file.read_at(&mut out[..10_000], 0).unwrap();
        assert_eq!(out[..10_000], [1; 10_000]);
    }
}

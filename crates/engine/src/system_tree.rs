//! The system tree: a tree of keys and values of any length, changed by transactions with undo notes.
//!
//! The catalog keeps definitions, meta data and counters in it, and `garbage` the list of what is to be freed. Its root
//! stands in the superblock. A value is kept in chunks, each an entry of its own under the key followed by the chunk's
//! number, so that a definition may be longer than a page. Which keys there are stands in the head of `catalog`.
//!
//! No locks: a transaction that changes it (a change of definitions, or one that makes an overflow chain obsolete)
//! writes keys that no other transaction writes at the time.

use crate::error::{Error, Result};
use crate::ids::{IndexId, PageId};
use crate::log::TxnNote;
use crate::store::Store;
use crate::tree::{Full, Tree};
use crate::txn::{Txn, Undo, undo_bytes_of};
use std::sync::Arc;

/// The superblock's slot for the root.
const ROOT_SLOT: usize = 0;
const INDEX: IndexId = IndexId(1);
pub(crate) const CHUNK_BYTES: usize = 3000;
/// Chunks that a value may have: a chunk's number has two bytes.
const CHUNKS_MAX: usize = 1 << 16;
/// Bytes that a value may have.
pub(crate) const VALUE_BYTES_MAX: usize = CHUNKS_MAX * CHUNK_BYTES;

/// See the module's head. Clones are handles on the same tree.
#[derive(Clone)]
pub(crate) struct SystemTree {
    tree: Tree,
    passes_damage: bool,
}

/// The key of one chunk of a value.
pub(crate) fn chunk_key(key: &[u8], chunk: u16) -> Vec<u8> {
    [key, &chunk.to_be_bytes()].concat()
}

/// The key of a value and the number of the chunk, from the key of the chunk.
fn parts_of(chunk_key: &[u8]) -> Option<(&[u8], u16)> {
    let (key, number) = chunk_key.split_last_chunk::<2>()?;
    Some((key, u16::from_be_bytes(*number)))
}

/// Fails if a value is longer than chunks can be numbered.
pub(crate) fn check_length(bytes: usize) -> Result<()> {
    match bytes <= VALUE_BYTES_MAX {
        true => Ok(()),
        false => Err(Error::DefinitionTooLong {
            bytes,
            max_bytes: VALUE_BYTES_MAX,
        }),
    }
}

/// Verifies, entry by entry in the order of the tree, that values are whole: their chunks are numbered from 0 on, and none but
/// the last is shorter than a chunk.
#[derive(Default)]
pub(crate) struct Chunks {
    key: Vec<u8>,
    /// The number of the next chunk; `None` if there can be none.
    next: Option<u16>,
}

impl Chunks {
    /// Takes the next entry. An error if it does not follow the one before, or is not the first of its value.
    pub fn take(&mut self, chunk_key: &[u8], len: usize) -> Result<()> {
        let Some((key, number)) = parts_of(chunk_key) else {
            return Err(damaged("a key"));
        };
        let expected = match self.key == key {
            true => self.next,
            false => Some(0),
        };
        if key != self.key {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        self.next = match len == CHUNK_BYTES {
            true => number.checked_add(1),
            false => None,
        };
        match expected == Some(number) {
            true => Ok(()),
            false => Err(damaged("part of a value")),
        }
    }
}

/// The error for an entry that does not decode.
pub(crate) fn damaged(what: &str) -> Error {
    Error::corrupt(None, format!("the catalog holds {what} that makes no sense"))
}

impl SystemTree {
    /// Opens the tree, or creates it in a new directory.
    pub fn open(store: &Arc<Store>) -> Result<SystemTree> {
        let mut root = PageId(store.root(ROOT_SLOT)? as u32);
        if root == PageId(0) {
            let mut mtr = store.begin_mtr()?;
            mtr.hold_roots()?;
            mtr.reserve_pages(1)?;
            root = Tree::create(&mut mtr, INDEX)?;
            mtr.set_root(ROOT_SLOT, root.0 as u64)?;
            mtr.commit();
        }
        let tree = Tree::new(store.clone(), INDEX, root);
        Ok(SystemTree {
            tree,
            passes_damage: store.force_recovery() > 0,
        })
    }

    /// The tree itself, for entries that no transaction undoes.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The value of a key.
    pub fn read(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut found = self.read_all(key)?;
        Ok(found.pop().map(|(_, value)| value))
    }

    /// All keys that begin so, with their values. Keys of one kind never begin with one another. Fails if a value is not whole,
    /// unless what is damaged is to be passed over.
    pub fn read_all(&self, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut all: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut fence = Vec::new();
        let Some(mut leaf) = self.tree.read_from(prefix)? else {
            return Ok(all);
        };
        let mut slot = leaf.node().search(prefix).unwrap_or_else(|slot| slot);
        let mut chunks = Chunks::default();
        loop {
            while slot < leaf.node().count() {
                let (key, value) = leaf.node().entry(slot);
                if !key.starts_with(prefix) {
                    return Ok(all);
                }
                let whole = chunks.take(key, value.len());
                if !self.passes_damage {
                    whole?;
                }
                let key = &key[..key.len().saturating_sub(2)];
                match all.last_mut() {
                    Some((last, whole)) if last == key => whole.extend_from_slice(value),
                    _ => all.push((key.to_vec(), value.to_vec())),
                }
                slot += 1;
            }
            let next = match leaf.next(&mut fence) {
                Err(error) => self.tree.over_damage(&mut fence, error)?,
                next => next?,
            };
            match next {
                Some(next) => (leaf, slot) = next,
                None => return Ok(all),
            }
        }
    }

    /// Sets (or with `None` removes) a key, as part of a transaction. Nothing is written of a value that is too long.
    pub fn put(&self, txn: &mut Txn<'_>, key: &[u8], value: Option<&[u8]>) -> Result<()> {
        check_length(value.map_or(0, <[u8]>::len))?;
        let chunks: Vec<&[u8]> = match value {
            None => Vec::new(),
            Some([]) => vec![&[]],
            Some(value) => value.chunks(CHUNK_BYTES).collect(),
        };
        for (n, chunk) in chunks.iter().enumerate() {
            self.put_chunk(txn, &chunk_key(key, n as u16), Some(chunk))?;
        }
        for n in chunks.len()..CHUNKS_MAX {
            if !self.put_chunk(txn, &chunk_key(key, n as u16), None)? {
                break;
            }
        }
        Ok(())
    }

    /// Sets or removes one chunk, a single entry. Returns true if it was there.
    pub fn put_chunk(&self, txn: &mut Txn<'_>, key: &[u8], value: Option<&[u8]>) -> Result<bool> {
        loop {
            let mut leaf = self.tree.write(key)?;
            let found = leaf.node().search(key);
            let before = found.ok().map(|slot| leaf.node().value(slot).to_vec());
            let done = match (found, value) {
                (Ok(slot), Some(value)) => leaf.replace(slot, value),
                (Err(slot), Some(value)) => leaf.insert(slot, key, value),
                (Ok(slot), None) => {
                    leaf.remove(slot);
                    Ok(())
                }
                (Err(_), None) => return Ok(false),
            };
            match done {
                Ok(()) => {
                    txn.buffers.note.clear();
                    Undo::Catalog {
                        key,
                        before: before.as_deref(),
                    }
                    .encode(&mut txn.buffers.note);
                    leaf.mtr().note(TxnNote::Undo {
                        txn: txn.id,
                        prev: txn.last_undo,
                        payload: &txn.buffers.note,
                    });
                    let lsn = leaf.finish();
                    txn.wrote(lsn.start, undo_bytes_of(lsn));
                    return Ok(before.is_some());
                }
                Err(Full) => {
                    drop(leaf);
                    self.tree.split(key, value.map_or(0, <[u8]>::len))?;
                }
            }
        }
    }

    /// Undoes one [`Self::put_chunk`].
    pub fn undo(&self, key: &[u8], before: Option<&[u8]>, clr: TxnNote<'_>) -> Result<()> {
        let tree = self.tree.urgent();
        loop {
            let mut leaf = tree.write(key)?;
            let done = match (leaf.node().search(key), before) {
                (Ok(slot), Some(value)) => leaf.replace(slot, value),
                (Err(slot), Some(value)) => leaf.insert(slot, key, value),
                (Ok(slot), None) => {
                    leaf.remove(slot);
                    Ok(())
                }
                (Err(_), None) => Ok(()),
            };
            match done {
                Ok(()) => {
                    leaf.mtr().note(clr);
                    leaf.finish();
                    return Ok(());
                }
                Err(Full) => {
                    drop(leaf);
                    tree.split(key, before.map_or(0, <[u8]>::len))?;
                }
            }
        }
    }
}

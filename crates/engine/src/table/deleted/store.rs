//! The graveyard of an index: its tree of buried entries, and stretches of them copied out.
//!
//! The tree lies in scratch pages: it is not logged, spills under pressure, and is void after a restart, since no view
//! outlives one.
//!
//! ```text
//!  clustered:  key │ u64::MAX − number, big-endian  →  deleter u64 │ older u64
//!  secondary:  entry key                            →  deleter u64 [│ begin u64 │ end u64 │ stored columns]
//! ```
//!
//! A row may be buried several times; the numbers put the latest first, and each stands for the time between its insertion
//! and its deletion. A secondary entry is there once, with the validity interval of the version that was known when it was
//! buried.

use crate::error::Result;
use crate::ids::{IndexId, Lsn, TxnId};
use crate::mvcc::{Address, View};
use crate::store::Store;
use crate::tree::{Full, MAX_KEY_LEN, Node, Tree};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

const NUMBER_BYTES: usize = 8;
/// Bytes before the stored columns of a secondary entry that has a validity interval.
const ENTRY_HEAD: usize = 24;

pub(crate) struct Graveyard {
    store: Arc<Store>,
    index: IndexId,
    is_clustered: bool,
    tree: OnceLock<Tree>,
    making: Mutex<()>,
    /// Every deleter had ended by then.
    newest: AtomicU64,
    count: AtomicU64,
    number: AtomicU64,
}

/// The validity interval of a secondary entry: a view that sees `begin` but not `end` sees the version of the row that
/// `begin` wrote, which has the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity<B> {
    pub begin: TxnId,
    pub end: TxnId,
    /// The entry's stored columns in that version.
    pub stored: B,
}

impl Validity<Vec<u8>> {
    pub fn borrowed(&self) -> Validity<&[u8]> {
        Validity {
            begin: self.begin,
            end: self.end,
            stored: &self.stored,
        }
    }
}

/// More than this is not kept beside an entry.
pub(crate) const STORED_MAX: usize = 1024;

/// A buried entry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buried<'b> {
    /// As in the index.
    pub key: &'b [u8],
    pub deleter: TxnId,
    /// Of a row: the chain below the deletion.
    pub older: Address,
    /// Of a secondary entry.
    pub validity: Option<Validity<&'b [u8]>>,
    number: u64,
}

impl Buried<'_> {
    /// A row's entry together with its key, which the caller has.
    pub fn with_key<'k>(&self, key: &'k [u8]) -> Buried<'k> {
        debug_assert!(self.key == key && self.validity.is_none());
        Buried {
            key,
            deleter: self.deleter,
            older: self.older,
            validity: None,
            number: self.number,
        }
    }
}

/// Buried entries, copied out of their tree.
pub(crate) struct Stretch {
    is_clustered: bool,
    bytes: Vec<u8>,
    /// Where each entry's key as it stands in the tree ends, and where its value does.
    ends: Vec<(u32, u32)>,
}

/// Some entries of a stretch, those of one key for instance. The latest of a key comes first.
#[derive(Clone, Copy)]
pub(crate) struct SameKey<'b> {
    of: &'b Stretch,
    from: usize,
    to: usize,
    /// They were collected backwards.
    reverse: bool,
}

impl Stretch {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Takes in an entry as it lies in a leaf, its value behind its key.
    fn push(&mut self, cell: &[u8], key_len: usize) {
        let key_end = (self.bytes.len() + key_len) as u32;
        self.bytes.extend_from_slice(cell);
        self.ends.push((key_end, self.bytes.len() as u32));
    }

    /// The entry at a place, as it stands in the tree.
    #[inline]
    fn entry(&self, no: usize) -> (&[u8], &[u8]) {
        let start = no.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let (key_end, end) = self.ends[no];
        let (start, key_end, end) = (start as usize, key_end as usize, end as usize);
        (&self.bytes[start..key_end], &self.bytes[key_end..end])
    }

    #[inline]
    fn key(&self, no: usize) -> &[u8] {
        split_full(self.entry(no).0, self.is_clustered).0
    }

    /// All entries, in the order in which they were collected.
    pub fn iter(&self) -> impl Iterator<Item = Buried<'_>> {
        (0..self.ends.len()).map(|no| self.get(no))
    }

    #[inline]
    fn get(&self, no: usize) -> Buried<'_> {
        let (full, value) = self.entry(no);
        decode(full, value, self.is_clustered)
    }

    pub fn last_key(&self) -> Option<&[u8]> {
        self.ends.len().checked_sub(1).map(|last| self.key(last))
    }

    /// The entries of the same key as the one at a place, from there on.
    #[inline]
    pub fn group_at(&self, from: usize, reverse: bool) -> Option<SameKey<'_>> {
        if from >= self.ends.len() {
            return None;
        }
        let mut to = from + 1;
        // A secondary index has one of a key.
        while self.is_clustered && to < self.ends.len() && self.key(to) == self.key(from) {
            to += 1;
        }
        Some(SameKey {
            of: self,
            from,
            to,
            reverse,
        })
    }
}

impl<'b> SameKey<'b> {
    #[inline]
    pub fn key(&self) -> &'b [u8] {
        self.of.key(self.from)
    }

    /// The place behind it.
    pub fn end(&self) -> usize {
        self.to
    }

    #[inline]
    pub fn first(&self) -> Buried<'b> {
        self.of.get(if self.reverse { self.to - 1 } else { self.from })
    }

    pub fn iter(&self) -> impl Iterator<Item = Buried<'b>> + use<'b> {
        let SameKey {
            of,
            from,
            to,
            reverse,
        } = *self;
        (from..to).map(move |no| of.get(if reverse { from + to - 1 - no } else { no }))
    }
}

/// What stands in the tree of a clustered index's graveyard is a key and a number.
#[inline]
fn split_full(full: &[u8], is_clustered: bool) -> (&[u8], u64) {
    match full.split_last_chunk::<NUMBER_BYTES>() {
        Some((key, last)) if is_clustered => (key, u64::MAX - u64::from_be_bytes(*last)),
        _ => (full, 0),
    }
}

#[inline]
fn decode<'b>(full: &'b [u8], value: &'b [u8], is_clustered: bool) -> Buried<'b> {
    let word = |at: usize| {
        let bytes = value.get(at..at + 8).and_then(|b| b.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    };
    let (key, number) = split_full(full, is_clustered);
    let validity = (!is_clustered && value.len() >= ENTRY_HEAD).then(|| Validity {
        begin: TxnId(word(8)),
        end: TxnId(word(16)),
        stored: &value[ENTRY_HEAD..],
    });
    Buried {
        key,
        deleter: TxnId(word(0)),
        older: if is_clustered {
            Address(word(8))
        } else {
            Address::NONE
        },
        validity,
        number,
    }
}

impl Graveyard {
    /// Beside the index of this tree.
    pub fn new(of: &Tree, is_clustered: bool) -> Graveyard {
        Graveyard {
            store: of.store().clone(),
            index: of.index(),
            is_clustered,
            tree: OnceLock::new(),
            making: Mutex::new(()),
            newest: AtomicU64::new(0),
            count: AtomicU64::new(0),
            number: AtomicU64::new(0),
        }
    }

    /// Whether the view may want something of what is here.
    #[inline]
    pub fn concerns(&self, view: &View) -> bool {
        self.concerned(view.lsn)
    }

    /// Like [`Self::concerns`], for a view at this LSN.
    #[inline]
    pub fn concerned(&self, lsn: Lsn) -> bool {
        self.newest.load(Ordering::Acquire) > lsn.0
    }

    /// How many entries are buried here.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn tree(&self) -> Result<&Tree> {
        if let Some(tree) = self.tree.get() {
            return Ok(tree);
        }
        let _one = self.making.lock();
        if self.tree.get().is_none() {
            let _ = self.tree.set(Tree::scratch(&self.store, self.index)?);
        }
        Ok(self.tree.get().expect("it was made"))
    }

    fn full_key(&self, key: &[u8], number: u64) -> Vec<u8> {
        let mut full = key.to_vec();
        if self.is_clustered {
            full.extend_from_slice(&(u64::MAX - number).to_be_bytes());
        }
        full
    }

    /// Takes over a row that is about to be removed from its index and that no view at or after `ended` needs; `older`
    /// leads to its chain. Returns false if it cannot. The caller holds the row's leaf exclusively.
    pub fn bury_row(&self, key: &[u8], deleter: TxnId, older: Address, ended: Lsn) -> Result<bool> {
        self.bury(key, ended, &row_value(deleter, older))
    }

    /// Takes over a secondary entry that is about to be removed from its index and that no view at or after `ended`
    /// needs. Returns false if it cannot. The caller holds the entry's leaf exclusively.
    pub fn bury_entry(
        &self,
        key: &[u8],
        deleter: TxnId,
        validity: Option<Validity<&[u8]>>,
        ended: Lsn,
    ) -> Result<bool> {
        let mut value = deleter.0.to_le_bytes().to_vec();
        if let Some(Validity { begin, end, stored }) = validity {
            value.extend_from_slice(&begin.0.to_le_bytes());
            value.extend_from_slice(&end.0.to_le_bytes());
            value.extend_from_slice(stored);
        }
        self.bury(key, ended, &value)
    }

    fn bury(&self, key: &[u8], ended: Lsn, value: &[u8]) -> Result<bool> {
        if key.len() + NUMBER_BYTES > MAX_KEY_LEN {
            return Ok(false);
        }
        let tree = self.tree()?;
        self.newest.fetch_max(ended.0, Ordering::AcqRel);
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.put(tree, &self.full_key(key, number), value)?;
        Ok(true)
    }

    fn put(&self, tree: &Tree, full: &[u8], value: &[u8]) -> Result<()> {
        loop {
            let mut leaf = tree.write(full)?;
            let done = match leaf.node().search(full) {
                Ok(slot) => leaf.replace(slot, value),
                Err(slot) => leaf.insert(slot, full, value).inspect(|()| {
                    self.count.fetch_add(1, Ordering::Relaxed);
                }),
            };
            match done {
                Ok(()) => {
                    leaf.finish();
                    return Ok(());
                }
                Err(Full) => {
                    drop(leaf);
                    tree.split(full, value.len())?;
                }
            }
        }
    }

    /// The chain of a buried row begins elsewhere now. The caller holds the key's leaf exclusively.
    pub fn relink(&self, buried: &Buried<'_>, older: Address) -> Result<()> {
        let full = self.full_key(buried.key, buried.number);
        self.put(self.tree()?, &full, &row_value(buried.deleter, older))
    }

    /// Removes an entry that no view needs any more. The caller holds the key's leaf exclusively.
    pub fn forget(&self, buried: &Buried<'_>) -> Result<()> {
        if self
            .tree()?
            .delete(&self.full_key(buried.key, buried.number))?
            .is_some()
        {
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// A buffer for entries collected here.
    pub fn stretch(&self) -> Stretch {
        Stretch {
            is_clustered: self.is_clustered,
            bytes: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// All that is buried under a key, the latest first. The caller holds the key's leaf.
    pub fn under(&self, key: &[u8]) -> Result<Stretch> {
        let mut found = self.stretch();
        if self.count() > 0 {
            // No key begins with another.
            let behind = [key, &[0]].concat();
            let wanted = Wanted {
                lower: key,
                upper: Some(&behind),
                reverse: false,
                most: usize::MAX,
            };
            self.collect(&wanted, 0, &mut found)?;
        }
        Ok(found)
    }

    /// Collects about the first `most` entries whose keys lie at or above `lower` and below `upper`, or with `reverse` the
    /// last ones, backwards; all of one key together. Returns true if those are all there are. `steps` is how often a scan
    /// has asked before.
    pub fn collect(&self, wanted: &Wanted<'_>, steps: u32, found: &mut Stretch) -> Result<bool> {
        let Some(tree) = self.tree.get() else {
            return Ok(true);
        };
        let Wanted {
            lower,
            upper,
            reverse,
            ..
        } = *wanted;
        let mut fence = Vec::new();
        let (mut leaf, mut slots) = match (reverse, upper) {
            (false, _) => {
                let leaf = tree.read_in_scan(lower, steps)?;
                let from = leaf.node().search(lower).unwrap_or_else(|slot| slot);
                let count = leaf.node().count();
                (leaf, from..count)
            }
            (true, Some(upper)) => {
                let leaf = tree.read_below_in_scan(upper, steps)?;
                let to = leaf.node().search(upper).unwrap_or_else(|slot| slot);
                (leaf, 0..to)
            }
            (true, None) => {
                let leaf = tree.read_last()?;
                let count = leaf.node().count();
                (leaf, 0..count)
            }
        };
        loop {
            if steps > 0 {
                leaf.warm();
            }
            let taken = match self.is_clustered {
                true => take_rows(leaf.node(), slots, wanted, found),
                false => take_entries(leaf.node(), slots, wanted, found),
            };
            match taken {
                Taken::Leaf => {}
                Taken::Range => return Ok(true),
                Taken::Enough => return Ok(false),
            }
            let next = match reverse {
                false => leaf.next(&mut fence)?.map(|(leaf, from)| {
                    let count = leaf.node().count();
                    (leaf, from..count)
                }),
                true => leaf.previous(&mut fence)?.map(|(leaf, to)| (leaf, 0..to)),
            };
            match next {
                Some(next) => (leaf, slots) = next,
                None => return Ok(true),
            }
        }
    }
}

/// Which buried entries are asked for.
pub(crate) struct Wanted<'k> {
    pub lower: &'k [u8],
    /// `None`: to the end.
    pub upper: Option<&'k [u8]>,
    pub reverse: bool,
    /// About how many.
    pub most: usize,
}

/// What was taken of a leaf of a graveyard.
enum Taken {
    /// All of it, and more may follow.
    Leaf,
    /// The last of what was wanted.
    Range,
    /// As many as were wanted.
    Enough,
}

/// Keys of secondary entries stand in the graveyard as they are, so the bounds are places.
fn take_entries(node: Node<'_>, slots: Range<usize>, wanted: &Wanted<'_>, found: &mut Stretch) -> Taken {
    let Wanted {
        lower,
        upper,
        reverse,
        most,
    } = *wanted;
    let at = |key: &[u8]| node.search(key).unwrap_or_else(|slot| slot);
    let within = at(lower).max(slots.start)..upper.map_or(slots.end, at).min(slots.end);
    let room = most.saturating_sub(found.ends.len());
    let taken = match reverse {
        false => within.start..within.end.min(within.start + room),
        true => within.start.max(within.end.saturating_sub(room))..within.end,
    };
    let mut take = |slot| {
        let (cell, key_len) = node.cell(slot);
        found.push(cell, key_len);
    };
    match reverse {
        false => taken.clone().for_each(&mut take),
        true => taken.clone().rev().for_each(&mut take),
    }
    match reverse {
        _ if taken.len() < within.len() => Taken::Enough,
        false if within.end < slots.end => Taken::Range,
        true if within.start > slots.start => Taken::Range,
        _ => Taken::Leaf,
    }
}

/// Keys of rows have numbers behind them; those of one key stay together.
fn take_rows(node: Node<'_>, mut slots: Range<usize>, wanted: &Wanted<'_>, found: &mut Stretch) -> Taken {
    let reverse = wanted.reverse;
    while let Some(slot) = if reverse { slots.next_back() } else { slots.next() } {
        let (cell, full_len) = node.cell(slot);
        let key = split_full(&cell[..full_len], true).0;
        let above = key >= wanted.lower;
        let below = wanted.upper.is_none_or(|upper| key < upper);
        match (above, below, reverse) {
            (true, true, _) => {}
            // A key that `lower` only extends, or that `upper` does.
            (false, _, false) | (_, false, true) => continue,
            (_, false, false) | (false, _, true) => return Taken::Range,
        }
        if found.ends.len() >= wanted.most && found.last_key().is_some_and(|last| last != key) {
            return Taken::Enough;
        }
        found.push(cell, full_len);
    }
    Taken::Leaf
}

fn row_value(deleter: TxnId, older: Address) -> [u8; 16] {
    let mut value = [0; 16];
    value[..8].copy_from_slice(&deleter.0.to_le_bytes());
    value[8..].copy_from_slice(&older.0.to_le_bytes());
    value
}

impl Drop for Graveyard {
    fn drop(&mut self) {
        if let Some(tree) = self.tree.get() {
            // Its pages count against the pool until the engine is closed; there is no caller to return an error to.
            let _ = tree.free_scratch();
        }
    }
}

//! From a transaction's id to its moment in time.
//!
//! Ids are dense. An array holds, per id, the LSN at which its transaction ended: 0 while it is active. A commit stores
//! it *before* its record can be passed by the tide, so whoever reads a tide at or above that LSN finds it here.
//! Nothing else happens at commit: no row is touched, no list is edited.
//!
//! `settled` is the id below which everybody has ended at or before the tide. Rows of such writers are visible to every
//! view taken since, without a look-up. An id below it needs an entry here only for views that are older, so the array
//! lives in chunks that are recycled once no open view has the chunk between its own `low` and `high`: memory is bounded
//! by the open views and the running transactions, not by history.

use super::sync::{AtomicU32, AtomicU64, CHUNK_IDS, Ordering, PLACES_MAX};
use crate::ids::{Lsn, TxnId};
use parking_lot::Mutex;
use std::sync::OnceLock;

/// Chunk numbers are taken modulo this: so many chunks cannot be live at once.
const DIRECTORY: u64 = 1 << 24;
const DIRECTORY_PART: u64 = 1 << 12;

/// A cache line of its own.
#[repr(align(128))]
pub(crate) struct Padded<T>(pub T);

pub(crate) struct Txns {
    next: Padded<AtomicU64>,
    settled: Padded<AtomicU64>,
    settling: Mutex<()>,
    /// Chunk number → place + 1, 0 if there is none.
    directory: Box<[OnceLock<Box<[AtomicU32]>>]>,
    places: Box<[OnceLock<Box<[AtomicU64]>>]>,
    room: Mutex<Room>,
}

/// Which places hold chunks.
struct Room {
    free: Vec<u32>,
    used: u32,
    /// The live chunks, oldest first.
    live: Vec<u64>,
}

/// The ids a view must look up: those at or above `low` and below `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub low: u64,
    pub high: u64,
}

impl Txns {
    /// Every id below `next` has ended for good.
    pub fn new(next: TxnId) -> Txns {
        let next = next.0.max(1);
        Txns {
            next: Padded(AtomicU64::new(next)),
            settled: Padded(AtomicU64::new(next)),
            settling: Mutex::new(()),
            directory: (0..DIRECTORY / DIRECTORY_PART).map(|_| OnceLock::new()).collect(),
            places: (0..PLACES_MAX).map(|_| OnceLock::new()).collect(),
            room: Mutex::new(Room {
                free: Vec::new(),
                used: 0,
                live: Vec::new(),
            }),
        }
    }

    /// The id that the next writer will get.
    pub fn next(&self) -> TxnId {
        TxnId(self.next.0.load(Ordering::Acquire))
    }

    pub fn settled(&self) -> TxnId {
        TxnId(self.settled.0.load(Ordering::Acquire))
    }

    /// A new writer's id.
    pub fn assign(&self) -> TxnId {
        let id = self.next.0.fetch_add(1, Ordering::AcqRel);
        let entry = self.directory_entry(id / CHUNK_IDS);
        if entry.load(Ordering::Acquire) == 0 {
            self.add_chunk(id / CHUNK_IDS);
        }
        TxnId(id)
    }

    fn directory_entry(&self, chunk: u64) -> &AtomicU32 {
        let at = chunk % DIRECTORY;
        let part = self.directory[(at / DIRECTORY_PART) as usize]
            .get_or_init(|| (0..DIRECTORY_PART).map(|_| AtomicU32::new(0)).collect());
        &part[(at % DIRECTORY_PART) as usize]
    }

    #[cold]
    fn add_chunk(&self, chunk: u64) {
        let mut room = self.room.lock();
        let entry = self.directory_entry(chunk);
        if entry.load(Ordering::Acquire) != 0 {
            return;
        }
        let place = room.free.pop().unwrap_or_else(|| {
            room.used += 1;
            room.used - 1
        });
        let slots =
            self.places[place as usize].get_or_init(|| (0..CHUNK_IDS).map(|_| AtomicU64::new(0)).collect());
        slots.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
        room.live.push(chunk);
        entry.store(place + 1, Ordering::Release);
    }

    fn slot(&self, id: TxnId) -> Option<&AtomicU64> {
        match self.directory_entry(id.0 / CHUNK_IDS).load(Ordering::Acquire) {
            0 => None,
            place => Some(&self.places[place as usize - 1].get()?[(id.0 % CHUNK_IDS) as usize]),
        }
    }

    /// The transaction has ended, at this moment. For a commit: called before its record is published to the log.
    pub fn end(&self, id: TxnId, lsn: Lsn) {
        if let Some(slot) = self.slot(id) {
            slot.store(lsn.0, Ordering::Release);
        }
    }

    /// When the transaction ended, if it has. Right for ids in the window of a registered view and for ids at or above
    /// `settled`; any other may come out as either.
    #[inline]
    pub fn ended(&self, id: TxnId) -> Option<Lsn> {
        match self.slot(id)?.load(Ordering::Acquire) {
            0 => None,
            lsn => Some(Lsn(lsn)),
        }
    }

    /// Whether the transaction is still running. Right for every id ever assigned.
    #[inline]
    pub fn is_active(&self, id: TxnId) -> bool {
        // A chunk is recycled only when all of it is settled, so what was read counts unless the id is settled *now*.
        id >= self.settled() && self.ended(id).is_none() && id >= self.settled()
    }

    /// Advances `settled` as far as this tide allows.
    pub fn settle(&self, tide: Lsn) {
        let Some(_one) = self.settling.try_lock() else {
            return;
        };
        let start = self.settled();
        let next = self.next();
        let mut id = start;
        while id < next && self.ended(id).is_some_and(|lsn| lsn <= tide) {
            id.0 += 1;
        }
        if id > start {
            // Release: who reads this `settled` and then the tide reads one at least as high as ours.
            self.settled.0.store(id.0, Ordering::Release);
        }
    }

    /// Recycles the chunks that are settled and in nobody's window. A registered view, even a provisional one, must be
    /// among `windows` unless it registered after the caller read `settled`.
    pub fn recycle(&self, settled: TxnId, windows: &[Window]) {
        let mut room = self.room.lock();
        let Room { free, live, .. } = &mut *room;
        live.retain(|chunk| {
            let (from, to) = (chunk * CHUNK_IDS, (chunk + 1) * CHUNK_IDS);
            let needed = to > settled.0 || windows.iter().any(|w| w.low < to && from < w.high);
            if !needed {
                let entry = self.directory_entry(*chunk);
                free.push(entry.swap(0, Ordering::AcqRel) - 1);
            }
            needed
        });
    }

    /// Chunks in use, and chunks there is room for.
    #[cfg(test)]
    pub fn chunks(&self) -> (usize, usize) {
        let room = self.room.lock();
        (room.live.len(), room.used as usize)
    }
}

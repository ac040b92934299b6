//! From a transaction's id to its moment in time.
//!
//! Ids are dense. An array holds, per id, the LSN at which its transaction ended: 0 while it is active. A commit stores
//! it *before* its record can be passed by the tide, so a thread that reads a tide at or above that LSN finds it here.
//! Nothing else happens at commit: no row is touched, no list is edited.
//!
//! All transactions below the id `settled` ended at or before the tide. Rows of such writers are visible to every view
//! taken since, without a look-up. An id below it needs an entry here only for views that are older, so the array lives
//! in chunks that are recycled once no open view has the chunk between its own `low` and `high`.
//!
//! *A transaction that writes and then idles* holds `settled` back for as long as it is open, while others come and go by
//! the million. So a chunk all of whose ids have ended is *collapsed*, to one number: the latest of its ends. That number
//! stands for each of them, if no view tells them apart: none that is open lies at or after the earliest end and before the
//! latest, and none will be opened before the latest, which is not above the copy's horizon. What is left of history
//! then is one word for each chunk of ids.
//!
//! A recycled chunk's room is used again at once, so a look-up reads the chunk's word, the id's slot, and the word once
//! more. If the word is the same, the slot was the id's: before a room's slots are cleared for another chunk a fence
//! follows the change of the word, and a thread that reads a cleared slot, or what was stored there since, sees that
//! change.

use super::sync::{AtomicU64, CHUNK_IDS, Ordering, PLACES_MAX, fence};
use crate::ids::{Lsn, TxnId};
use crossbeam_utils::CachePadded;
use parking_lot::Mutex;
use std::sync::OnceLock;

/// Chunk numbers are taken modulo this: so many chunks cannot be live at once. A writer that comes while one is open that
/// is so many chunks old waits for its end.
const DIRECTORY: u64 = 1 << 26;
const DIRECTORY_PART: u64 = 1 << 13;

pub(crate) struct Txns {
    next: CachePadded<AtomicU64>,
    settled: CachePadded<AtomicU64>,
    settling: Mutex<()>,
    /// What is known of a chunk, by its number: see [`Word`].
    directory: Box<[OnceLock<Box<[AtomicU64]>>]>,
    places: Box<[OnceLock<Box<[AtomicU64]>>]>,
    room: Mutex<Room>,
}

/// Which places hold chunks.
struct Room {
    free: Vec<u32>,
    used: u32,
    /// The live chunks, oldest first.
    live: Vec<u64>,
    /// Of these, those that are not collapsed.
    open: Vec<OpenChunk>,
}

struct OpenChunk {
    number: u64,
    /// The earliest and the latest end, once all its ids have ended.
    ends: Option<(Lsn, Lsn)>,
}

/// What the directory says of a chunk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Nothing,
    /// The slots of this chunk are in this place.
    At {
        turn: u64,
        place: u32,
    },
    /// All its ids have ended, and their ends may be taken for this.
    Collapsed(Lsn),
}

impl Word {
    const PLACE_BITS: u32 = 20;

    fn of(word: u64) -> Word {
        match (word, word & 1) {
            (0, _) => Word::Nothing,
            (word, 0) => Word::At {
                turn: word >> (1 + Self::PLACE_BITS),
                place: (word >> 1) as u32 % (1 << Self::PLACE_BITS) - 1,
            },
            (word, _) => Word::Collapsed(Lsn(word >> 1)),
        }
    }

    fn bits(self) -> u64 {
        match self {
            Word::Nothing => 0,
            Word::At { turn, place } => (turn << Self::PLACE_BITS | (u64::from(place) + 1)) << 1,
            Word::Collapsed(lsn) => lsn.0 << 1 | 1,
        }
    }

    fn is_of(self, chunk: u64) -> bool {
        matches!(self, Word::At { turn, .. } if turn == chunk / DIRECTORY)
    }
}

/// The ids a view must look up: those at or above `low` and below `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub low: u64,
    pub high: u64,
}

impl Window {
    /// From `low` on, for ever.
    pub fn upwards(low: TxnId) -> Window {
        Window {
            low: low.0,
            high: u64::MAX,
        }
    }
}

impl Txns {
    /// Every id below `next` has ended for good.
    pub fn new(next: TxnId) -> Txns {
        let next = next.0.max(1);
        Txns {
            next: CachePadded::new(AtomicU64::new(next)),
            settled: CachePadded::new(AtomicU64::new(next)),
            settling: Mutex::new(()),
            directory: (0..DIRECTORY / DIRECTORY_PART).map(|_| OnceLock::new()).collect(),
            places: (0..PLACES_MAX).map(|_| OnceLock::new()).collect(),
            room: Mutex::new(Room {
                free: Vec::new(),
                used: 0,
                live: Vec::new(),
                open: Vec::new(),
            }),
        }
    }

    /// The id that the next writer will get.
    pub fn next(&self) -> TxnId {
        TxnId(self.next.load(Ordering::Acquire))
    }

    pub fn settled(&self) -> TxnId {
        TxnId(self.settled.load(Ordering::Acquire))
    }

    /// A new writer's id.
    pub fn assign(&self) -> TxnId {
        let id = self.next.fetch_add(1, Ordering::AcqRel);
        let chunk = id / CHUNK_IDS;
        if !Word::of(self.directory_entry(chunk).load(Ordering::Acquire)).is_of(chunk) {
            self.add_chunk(chunk);
        }
        TxnId(id)
    }

    fn directory_entry(&self, chunk: u64) -> &AtomicU64 {
        let at = chunk % DIRECTORY;
        let part = self.directory[(at / DIRECTORY_PART) as usize]
            .get_or_init(|| (0..DIRECTORY_PART).map(|_| AtomicU64::new(0)).collect());
        &part[(at % DIRECTORY_PART) as usize]
    }

    #[cold]
    fn add_chunk(&self, chunk: u64) {
        loop {
            let mut room = self.room.lock();
            let entry = self.directory_entry(chunk);
            let word = Word::of(entry.load(Ordering::Acquire));
            if word.is_of(chunk) {
                return;
            }
            if word == Word::Nothing
                && let Some(place) = room.take_place()
            {
                self.clear(place);
                room.live.push(chunk);
                room.open.push(OpenChunk {
                    number: chunk,
                    ends: None,
                });
                let turn = chunk / DIRECTORY;
                entry.store(Word::At { turn, place }.bits(), Ordering::Release);
                return;
            }
            drop(room);
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn clear(&self, place: u32) {
        let slots =
            self.places[place as usize].get_or_init(|| (0..CHUNK_IDS).map(|_| AtomicU64::new(0)).collect());
        // See the module's head: what is read of this place from now on proves that it was taken from another chunk.
        fence(Ordering::Release);
        slots.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
    }

    fn slots(&self, place: u32) -> Option<&[AtomicU64]> {
        self.places[place as usize].get().map(|slots| &**slots)
    }

    /// The transaction has ended, at this moment. For a commit: called before its record is published to the log.
    pub fn end(&self, id: TxnId, lsn: Lsn) {
        // The chunk of an id that is active is neither collapsed nor recycled.
        let word = Word::of(self.directory_entry(id.0 / CHUNK_IDS).load(Ordering::Acquire));
        if let Word::At { place, .. } = word
            && let Some(slots) = self.slots(place)
        {
            slots[(id.0 % CHUNK_IDS) as usize].store(lsn.0, Ordering::Release);
        }
    }

    /// When the transaction ended, if it has: exactly, or so that no view sees a difference. Right for ids in the window of
    /// a registered view and for ids at or above `settled`; any other may come out as either.
    #[inline]
    pub fn ended(&self, id: TxnId) -> Option<Lsn> {
        let entry = self.directory_entry(id.0 / CHUNK_IDS);
        loop {
            let word = entry.load(Ordering::Acquire);
            let place = match Word::of(word) {
                Word::Nothing => return None,
                Word::Collapsed(lsn) => return Some(lsn),
                Word::At { place, .. } => place,
            };
            let lsn = self.slots(place)?[(id.0 % CHUNK_IDS) as usize].load(Ordering::Acquire);
            if entry.load(Ordering::Relaxed) == word {
                return (lsn != 0).then_some(Lsn(lsn));
            }
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
            // All of a collapsed chunk has one end.
            let word = self.directory_entry(id.0 / CHUNK_IDS).load(Ordering::Acquire);
            id.0 = match Word::of(word) {
                Word::Collapsed(lsn) if lsn <= tide => (id.0 / CHUNK_IDS + 1) * CHUNK_IDS,
                _ => id.0 + 1,
            };
        }
        if id > start {
            // Release: a thread that reads this `settled` and then the tide reads a tide at least as high as ours.
            self.settled.store(id.0, Ordering::Release);
        }
    }

    /// Recycles the chunks that are settled and that no window needs. A registered view, even a provisional one, must
    /// be among `windows` unless it registered after the caller read `settled`.
    pub fn recycle(&self, settled: TxnId, windows: &[Window]) {
        let mut room = self.room.lock();
        let Room { free, live, open, .. } = &mut *room;
        let needed = |chunk: &u64| {
            let (from, to) = (chunk * CHUNK_IDS, (chunk + 1) * CHUNK_IDS);
            to > settled.0 || windows.iter().any(|w| w.low < to && from < w.high)
        };
        live.retain(|chunk| {
            let needed = needed(chunk);
            if !needed {
                let entry = self.directory_entry(*chunk);
                if let Word::At { place, .. } = Word::of(entry.swap(0, Ordering::AcqRel)) {
                    free.push(place);
                }
            }
            needed
        });
        open.retain(|chunk| needed(&chunk.number));
    }

    /// Collapses the chunks all of whose ids have ended by `horizon`. `apart` tells whether a view that is open lies at or
    /// after the first of two positions and before the second; views that it does not know are not below the horizon.
    pub fn collapse(&self, horizon: Lsn, apart: impl Fn(Lsn, Lsn) -> bool) {
        let mut room = self.room.lock();
        let Room { free, open, .. } = &mut *room;
        open.retain_mut(|chunk| {
            let entry = self.directory_entry(chunk.number);
            let Word::At { place, .. } = Word::of(entry.load(Ordering::Acquire)) else {
                return false;
            };
            chunk.ends = chunk.ends.or_else(|| self.ends_in(place));
            match chunk.ends {
                Some((first, last)) if last <= horizon && !apart(first, last) => {
                    entry.store(Word::Collapsed(last).bits(), Ordering::Release);
                    free.push(place);
                    false
                }
                _ => true,
            }
        });
    }

    /// The earliest and the latest end in a place; `None` if one of its ids has not ended.
    fn ends_in(&self, place: u32) -> Option<(Lsn, Lsn)> {
        let mut ends = (Lsn::MAX, Lsn::ZERO);
        for slot in self.slots(place)? {
            match slot.load(Ordering::Acquire) {
                0 => return None,
                lsn => ends = (ends.0.min(Lsn(lsn)), ends.1.max(Lsn(lsn))),
            }
        }
        Some(ends)
    }

    /// Chunks that are neither recycled nor collapsed, and chunks there is room for.
    #[cfg(test)]
    pub fn chunks(&self) -> (usize, usize) {
        let room = self.room.lock();
        (room.open.len(), room.used as usize)
    }
}

impl Room {
    fn take_place(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let place = self.used;
            self.used += ((place as usize) < PLACES_MAX) as u32;
            ((place as usize) < PLACES_MAX).then_some(place)
        })
    }
}

//! Reading an inner node that others may be changing at this moment.
//!
//! Optimistic descent (Leis, Haubenschild, Neumann, *Optimistic Lock Coupling*, 2019) reads inner nodes without a latch
//! and checks afterwards, by the page's version, whether what it read was true. Until then any byte may be half of
//! something: so every load here is an atomic or volatile one through a raw pointer, every offset is checked against
//! the page before it is followed, and no reference to the page's bytes is ever made. The result is just a number,
//! worthless until the version has been validated.

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::sync::atomic::{self, AtomicU8, AtomicU16, AtomicU64};

use super::node::{
    CELL_HEADER, COUNT_AT, GARBAGE_AT, HEAP_AT, INDEX_AT, LEVEL_AT, LSN_AT, PREFIX_AT, SLOT_SIZE, SLOTS_AT,
    TYPE_AT, Towards, head_of,
};
use crate::ids::PAGE_SIZE;

/// A page under an optimistic guard, for as long as that guard lives.
#[derive(Clone, Copy)]
pub struct RacyNode<'g> {
    base: *const u8,
    guard: PhantomData<&'g u8>,
}

/// Where a descent goes on: a child, and its slot among how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildRef {
    pub slot: usize,
    pub count: usize,
    pub child: u32,
}

/// What was read makes no sense: the page changed meanwhile.
#[derive(Debug, PartialEq, Eq)]
pub struct Torn;

#[allow(unsafe_code)]
impl<'g> RacyNode<'g> {
    /// # Safety
    /// `base` is 8-byte aligned and `PAGE_SIZE` bytes from there stay readable for as long as `'g` lasts.
    #[inline]
    pub unsafe fn new(base: *const u8) -> RacyNode<'g> {
        debug_assert!(base.cast::<u64>().is_aligned());
        RacyNode {
            base,
            guard: PhantomData,
        }
    }

    #[inline]
    fn u8(self, at: usize) -> u8 {
        assert!(at < PAGE_SIZE);
        // SAFETY: in bounds; writers race only in ways an atomic load tolerates on this byte.
        unsafe { (*self.base.add(at).cast::<AtomicU8>()).load(atomic::Ordering::Relaxed) }
    }

    #[inline]
    fn u16(self, at: usize) -> usize {
        assert!(at.is_multiple_of(2) && at < PAGE_SIZE - 1);
        // SAFETY: in bounds and, the base being aligned to 8, aligned.
        u16::from_le(unsafe { (*self.base.add(at).cast::<AtomicU16>()).load(atomic::Ordering::Relaxed) })
            as usize
    }

    #[inline]
    fn slot_bits(self, slot: usize) -> u64 {
        let at = SLOTS_AT + slot * SLOT_SIZE;
        assert!(at <= PAGE_SIZE - SLOT_SIZE);
        // SAFETY: in bounds, and aligned since slots start at a multiple of their size.
        u64::from_le(unsafe { (*self.base.add(at).cast::<AtomicU64>()).load(atomic::Ordering::Relaxed) })
    }

    #[inline]
    fn eight(self, at: usize) -> [u8; 8] {
        assert!(at <= PAGE_SIZE - 8);
        // SAFETY: in bounds; byte arrays have no alignment; a volatile read is done once and assumes nothing.
        unsafe { self.base.add(at).cast::<[u8; 8]>().read_volatile() }
    }

    #[inline]
    pub fn page_type(self) -> u8 {
        self.u8(TYPE_AT)
    }

    /// Of any page: where the log was at its latest change.
    pub fn lsn(self) -> u64 {
        u64::from_le_bytes(self.eight(LSN_AT))
    }

    /// Of a node: its tree.
    pub fn index(self) -> u64 {
        u64::from_le_bytes(self.eight(INDEX_AT))
    }

    /// Of a node: how many entries it has.
    pub fn entries(self) -> u64 {
        self.u16(COUNT_AT) as u64
    }

    /// Of a node: the bytes that entries and fences take. Of a torn one, any number up to a page.
    pub fn used_bytes(self) -> u64 {
        let heap = PAGE_SIZE.saturating_sub(self.u16(HEAP_AT));
        let slots = self.u16(COUNT_AT) * SLOT_SIZE;
        (heap.saturating_sub(self.u16(GARBAGE_AT)) + slots).min(PAGE_SIZE) as u64
    }

    #[inline]
    pub fn level(self) -> u8 {
        self.u8(LEVEL_AT)
    }

    fn compare(self, at: usize, len: usize, key: &[u8]) -> Ordering {
        let mut done = 0;
        let shared = len.min(key.len());
        while done + 8 <= shared && at + done + 8 <= PAGE_SIZE {
            let theirs = u64::from_be_bytes(self.eight(at + done));
            let ours = u64::from_be_bytes(key[done..done + 8].try_into().expect("eight bytes"));
            match theirs.cmp(&ours) {
                Ordering::Equal => done += 8,
                unequal => return unequal,
            }
        }
        while done < shared {
            match self.u8(at + done).cmp(&key[done]) {
                Ordering::Equal => done += 1,
                unequal => return unequal,
            }
        }
        len.cmp(&key.len())
    }

    /// The way down. A function of its own: it is long, and each descent calls it once for a level.
    #[inline(never)]
    pub fn step(self, towards: Towards<'_>) -> Result<ChildRef, Torn> {
        let count = self.u16(COUNT_AT);
        if count == 0 || count > (PAGE_SIZE - SLOTS_AT) / SLOT_SIZE {
            return Err(Torn);
        }
        let slot = match towards {
            Towards::Key(key) => self.first_above::<true>(key, count)? - 1,
            Towards::Below(key) => self.first_above::<false>(key, count)? - 1,
            Towards::End => count - 1,
        };
        Ok(ChildRef {
            slot,
            count,
            child: self.child(slot)?,
        })
    }

    /// The first entry but the 0th that is above `key`; unless `PASSES_EQUAL`, one that equals it counts as above.
    ///
    /// Which half the key lies in cannot be predicted, so it is computed and not branched on; that a head equals the key's is
    /// seldom, and then the rest of the keys decides.
    #[inline(always)]
    fn first_above<const PASSES_EQUAL: bool>(self, key: &[u8], count: usize) -> Result<usize, Torn> {
        let prefix = self.u16(PREFIX_AT);
        let head = head_of(key, prefix);
        let (mut low, mut len) = (1, count - 1);
        while len > 0 {
            let half = len / 2;
            let bits = self.slot_bits(low + half);
            let mut passes = (bits as u32) < head;
            if bits as u32 == head {
                let order = self.compare_rest(bits, key, prefix)?;
                passes = order == Ordering::Less || PASSES_EQUAL && order == Ordering::Equal;
            }
            low = if passes { low + half + 1 } else { low };
            len = if passes { len - half - 1 } else { half };
        }
        Ok(low)
    }

    /// How an entry's key compares to `key`, of which the first bytes, common to all of the node, are known to be equal.
    #[inline(never)]
    fn compare_rest(self, bits: u64, key: &[u8], prefix: usize) -> Result<Ordering, Torn> {
        let (offset, len) = ((bits >> 32) as u16 as usize, (bits >> 48) as usize);
        let at = offset + CELL_HEADER + prefix;
        let rest = key.get(prefix..).unwrap_or_default();
        if len < prefix || at + (len - prefix) > PAGE_SIZE {
            return Err(Torn);
        }
        Ok(self.compare(at, len - prefix, rest))
    }

    /// The child of an entry.
    #[inline]
    pub fn child(self, slot: usize) -> Result<u32, Torn> {
        let bits = self.slot_bits(slot);
        let (offset, len) = ((bits >> 32) as u16 as usize, (bits >> 48) as usize);
        let at = offset + CELL_HEADER + len;
        if at + 4 > PAGE_SIZE {
            return Err(Torn);
        }
        Ok(u32::from_le_bytes([
            self.u8(at),
            self.u8(at + 1),
            self.u8(at + 2),
            self.u8(at + 3),
        ]))
    }

    /// How many entries the node has, within reason.
    #[inline]
    pub fn count(self) -> usize {
        self.u16(COUNT_AT).min((PAGE_SIZE - SLOTS_AT) / SLOT_SIZE)
    }
}

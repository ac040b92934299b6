//! The slotted page of the tree: how keys and values lie in 16 KiB.
//!
//! ```text
//!   0  common page header (checksum, page id, LSN, type @16, level @17)
//!  32  index id         u64
//!  40  count            u16   entries
//!  42  heap             u16   lowest byte the heap uses; it grows down from the page's end
//!  44  garbage          u16   dead bytes inside the heap
//!  46  prefix           u16   bytes shared by both fences, hence by every key that may live here
//!  48  lower fence      u16 offset, u16 length   inclusive; empty = no lower bound
//!  52  upper fence      u16 offset, u16 length   exclusive; empty = no upper bound
//!  56  last, run        u16, u16   slot of the latest insert; how many inserts ran upwards before it
//!  60  reserved         u32
//!  64  slots            8 bytes each: key head u32 | cell offset u16 | key length u16
//!      …free…
//!      heap             cells: value length u16 | key | value; and the two fences
//! ```
//!
//! A slot's *head* is the four key bytes after the shared prefix as one big-endian number, zero-padded: most
//! comparisons of a binary search end inside the slot array. Equal heads fall back to the key bytes.
//!
//! The fences make a page self-describing (Graefe, *A Survey of B-Tree Locking Techniques*, 2010): a scan finds
//! its neighbour by searching for the fence, so there are no sibling pointers to maintain, and a checker compares
//! a page with its parent without looking further.
//!
//! In an inner node, entry `i` leads to the child that holds keys from its key (inclusive) to the next entry's;
//! the first entry's key is stored empty, the node's lower fence stands for it.
//!
//! Every change here is deterministic: redo repeats it on the same page with the same outcome.

use std::cmp::Ordering;

use crate::ids::PAGE_SIZE;

/// The bytes of one page.
pub type PageBytes = [u8; PAGE_SIZE];

pub const TYPE_AT: usize = 16;
pub const LEVEL_AT: usize = 17;
pub(super) const LSN_AT: usize = 8;
pub(super) const INDEX_AT: usize = 32;
pub(super) const COUNT_AT: usize = 40;
pub(super) const HEAP_AT: usize = 42;
pub(super) const GARBAGE_AT: usize = 44;
pub(super) const PREFIX_AT: usize = 46;
const LOWER_AT: usize = 48;
const UPPER_AT: usize = 52;
const LAST_AT: usize = 56;
const RUN_AT: usize = 58;
/// First byte of a tree page that belongs to the tree, not to every page.
const BODY_AT: usize = 32;
/// Bytes of a page that belong to the tree.
pub(super) const CONTENT: usize = PAGE_SIZE - BODY_AT;
pub(super) const SLOTS_AT: usize = 64;
pub(super) const SLOT_SIZE: usize = 8;
/// Bytes of a cell besides its key and value.
pub(super) const CELL_HEADER: usize = 2;

/// Longest key the tree takes.
pub const MAX_KEY_LEN: usize = 3500;
/// Largest key and value together. Two fences and one such entry always fit into a page, so a split always helps.
pub const MAX_ENTRY_LEN: usize = 8000;
const _: () = assert!(2 * MAX_KEY_LEN + MAX_ENTRY_LEN + CELL_HEADER + SLOT_SIZE + SLOTS_AT <= PAGE_SIZE);

/// Bytes a page has for slots, cells and fences.
pub const CAPACITY: usize = PAGE_SIZE - SLOTS_AT;

/// Bytes an entry takes in a page.
#[inline]
pub const fn entry_size(key_len: usize, value_len: usize) -> usize {
    SLOT_SIZE + CELL_HEADER + key_len + value_len
}

/// Where a descent is heading.
#[derive(Clone, Copy, Debug)]
pub enum Towards<'k> {
    /// The node that covers this key.
    Key(&'k [u8]),
    /// The node that covers the keys just below this one, which is not empty.
    Below(&'k [u8]),
    /// The last node.
    End,
}

/// The four bytes after the first `prefix` ones, as a number that compares like them.
#[inline]
pub(super) fn head_of(key: &[u8], prefix: usize) -> u32 {
    match key.get(prefix..) {
        Some([a, b, c, d, ..]) => u32::from_be_bytes([*a, *b, *c, *d]),
        Some(rest) => {
            let mut bytes = [0; 4];
            bytes[..rest.len()].copy_from_slice(rest);
            u32::from_be_bytes(bytes)
        }
        None => 0,
    }
}

#[inline]
pub fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut len = 0;
    for (x, y) in a.chunks_exact(8).zip(b.chunks_exact(8)) {
        let differs = word(x) ^ word(y);
        if differs != 0 {
            return len + differs.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + a[len..].iter().zip(&b[len..]).take_while(|(x, y)| x == y).count()
}

/// How many bytes two strings share at their ends.
pub fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut len = 0;
    for (x, y) in a.rchunks_exact(8).zip(b.rchunks_exact(8)) {
        let differs = word(x) ^ word(y);
        if differs != 0 {
            return len + differs.leading_zeros() as usize / 8;
        }
        len += 8;
    }
    let (a, b) = (&a[..a.len() - len], &b[..b.len() - len]);
    len + a
        .iter()
        .rev()
        .zip(b.iter().rev())
        .take_while(|(x, y)| x == y)
        .count()
}

/// The shortest key above `left` and not above `right`, for `left < right`: what a parent needs to tell them apart.
#[inline]
pub fn separator<'k>(left: &[u8], right: &'k [u8]) -> &'k [u8] {
    debug_assert!(left < right);
    &right[..common_prefix(left, right) + 1]
}

#[inline]
fn get_u16(page: &PageBytes, at: usize) -> usize {
    u16::from_le_bytes([page[at], page[at + 1]]) as usize
}

#[inline]
fn put_u16(page: &mut PageBytes, at: usize, value: usize) {
    debug_assert!(value <= u16::MAX as usize);
    page[at..at + 2].copy_from_slice(&(value as u16).to_le_bytes());
}

#[derive(Clone, Copy)]
struct Slot {
    head: u32,
    offset: usize,
    key_len: usize,
}

impl Slot {
    #[inline]
    fn decode(bits: u64) -> Slot {
        Slot {
            head: bits as u32,
            offset: (bits >> 32) as u16 as usize,
            key_len: (bits >> 48) as usize,
        }
    }

    #[inline]
    fn encode(self) -> u64 {
        u64::from(self.head) | (self.offset as u64) << 32 | (self.key_len as u64) << 48
    }
}

/// A tree page that cannot change while we look: its latch is held, or it is private.
#[derive(Clone, Copy)]
pub struct Node<'p> {
    page: &'p PageBytes,
}

impl<'p> Node<'p> {
    /// A view of the page, which is a tree page.
    #[inline]
    pub fn new(page: &'p PageBytes) -> Node<'p> {
        Node { page }
    }

    /// What the page holds; see [`page_type`](crate::pool::page_type).
    #[inline]
    pub fn page_type(self) -> u8 {
        self.page[TYPE_AT]
    }

    /// The level in the tree; 0 is a leaf.
    #[inline]
    pub fn level(self) -> u8 {
        self.page[LEVEL_AT]
    }

    /// True for a page of level 0.
    #[inline]
    pub fn is_leaf(self) -> bool {
        self.level() == 0
    }

    /// The number of the tree that the page belongs to.
    #[inline]
    pub fn index(self) -> u64 {
        u64::from_le_bytes(self.page[INDEX_AT..INDEX_AT + 8].try_into().expect("eight bytes"))
    }

    /// Entries in the page.
    #[inline]
    pub fn count(self) -> usize {
        get_u16(self.page, COUNT_AT)
    }

    /// The lowest key that belongs here; empty in the leftmost page of a level.
    #[inline]
    pub fn lower_fence(self) -> &'p [u8] {
        self.fence(LOWER_AT)
    }

    /// The lowest key that belongs to the next page; empty in the rightmost page of a level.
    #[inline]
    pub fn upper_fence(self) -> &'p [u8] {
        self.fence(UPPER_AT)
    }

    #[inline]
    fn fence(self, at: usize) -> &'p [u8] {
        let offset = get_u16(self.page, at);
        &self.page[offset..offset + get_u16(self.page, at + 2)]
    }

    /// Is `key` one that this page is responsible for?
    #[inline]
    pub fn covers(self, key: &[u8]) -> bool {
        let upper = self.upper_fence();
        self.lower_fence() <= key && (upper.is_empty() || key < upper)
    }

    #[inline]
    fn prefix(self) -> usize {
        get_u16(self.page, PREFIX_AT)
    }

    #[inline]
    fn slot(self, slot: usize) -> Slot {
        let at = SLOTS_AT + slot * SLOT_SIZE;
        Slot::decode(u64::from_le_bytes(
            self.page[at..at + SLOT_SIZE].try_into().expect("eight bytes"),
        ))
    }

    /// The key of an entry.
    #[inline]
    pub fn key(self, slot: usize) -> &'p [u8] {
        debug_assert!(slot < self.count());
        let slot = self.slot(slot);
        let at = slot.offset + CELL_HEADER;
        &self.page[at..at + slot.key_len]
    }

    /// The value of an entry.
    #[inline]
    pub fn value(self, slot: usize) -> &'p [u8] {
        self.entry(slot).1
    }

    /// The key and the value of an entry.
    #[inline]
    pub fn entry(self, slot: usize) -> (&'p [u8], &'p [u8]) {
        let (cell, key_len) = self.cell(slot);
        cell.split_at(key_len)
    }

    /// An entry as it lies there, the value behind the key; and the key's length.
    #[inline]
    pub fn cell(self, slot: usize) -> (&'p [u8], usize) {
        debug_assert!(slot < self.count());
        let slot = self.slot(slot);
        let at = slot.offset + CELL_HEADER;
        let cell = &self.page[at..at + slot.key_len + get_u16(self.page, slot.offset)];
        (cell, slot.key_len)
    }

    /// The child an inner node's entry leads to.
    #[inline]
    pub fn child(self, slot: usize) -> u32 {
        u32::from_le_bytes(self.value(slot).try_into().expect("a child is four bytes"))
    }

    /// `Ok(slot)` of the entry with this key, or `Err(slot)` where it would stand.
    #[inline]
    pub fn search(self, key: &[u8]) -> Result<usize, usize> {
        self.search_from(key, 0)
    }

    /// The search takes the key to begin with the shared prefix, and asks the entry it arrives at, whose bytes are
    /// needed anyway, whether that was right; the fences lie in a cache line of their own.
    #[inline]
    fn search_from(self, key: &[u8], first: usize) -> Result<usize, usize> {
        let prefix = self.prefix();
        let count = self.count();
        if key.len() >= prefix && count > first {
            let found = self.search_behind(key, prefix, first, count);
            let (Ok(near) | Err(near)) = found;
            if prefix == 0 || self.key(near.min(count - 1)).starts_with(&key[..prefix]) {
                return found;
            }
        }
        match key[..prefix.min(key.len())].cmp(&self.lower_fence()[..prefix]) {
            // Equal: there are no entries.
            Ordering::Less | Ordering::Equal => Err(first),
            Ordering::Greater => Err(count),
        }
    }

    /// Binary search by what follows the shared prefix.
    #[inline]
    fn search_behind(self, key: &[u8], prefix: usize, first: usize, count: usize) -> Result<usize, usize> {
        let head = head_of(key, prefix);
        let (mut low, mut high) = (first, count);
        while low < high {
            let middle = (low + high) / 2;
            let slot = self.slot(middle);
            let order = slot.head.cmp(&head).then_with(|| {
                let at = slot.offset + CELL_HEADER;
                self.page[at + prefix..at + slot.key_len].cmp(&key[prefix..])
            });
            match order {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    /// In an inner node: the entry whose child lies that way.
    #[inline]
    pub fn child_slot(self, towards: Towards<'_>) -> usize {
        match towards {
            Towards::Key(key) => match self.search_from(key, 1) {
                Ok(slot) => slot,
                Err(slot) => slot - 1,
            },
            Towards::Below(key) => match self.search_from(key, 1) {
                Ok(slot) | Err(slot) => slot - 1,
            },
            Towards::End => self.count() - 1,
        }
    }

    #[inline]
    fn slots_end(self) -> usize {
        SLOTS_AT + self.count() * SLOT_SIZE
    }

    /// Bytes between the slots and the heap.
    #[inline]
    fn gap(self) -> usize {
        get_u16(self.page, HEAP_AT) - self.slots_end()
    }

    /// Bytes that entries can still take, after a compaction if need be.
    #[inline]
    pub fn free_space(self) -> usize {
        self.gap() + get_u16(self.page, GARBAGE_AT)
    }

    /// Bytes that entries take, without the fences.
    #[inline]
    pub fn used_by_entries(self) -> usize {
        CAPACITY - self.free_space() - self.lower_fence().len() - self.upper_fence().len()
    }

    /// Bytes entry `slot` takes.
    #[inline]
    pub fn size_of(self, slot: usize) -> usize {
        let slot = self.slot(slot);
        entry_size(slot.key_len, get_u16(self.page, slot.offset))
    }

    /// How many inserts in a row went to the place just above the one before, ending at slot `.0`.
    #[inline]
    pub fn upward_run(self) -> (usize, usize) {
        (get_u16(self.page, LAST_AT), get_u16(self.page, RUN_AT))
    }

    /// The two stretches that make up the page's content: header and slots, then the heap.
    pub(super) fn stretches(self) -> (&'p [u8], &'p [u8]) {
        (
            &self.page[BODY_AT..self.slots_end()],
            &self.page[get_u16(self.page, HEAP_AT)..],
        )
    }

    /// Whether an entry with this key may stand at this slot.
    pub(super) fn has_place_for(self, slot: usize, key: &[u8]) -> bool {
        let count = self.count();
        if slot == 0 && !self.is_leaf() {
            return key.is_empty();
        }
        // The first entry of an inner node, whose key is empty, is below all.
        slot <= count
            && self.covers(key)
            && (slot == 0 || self.key(slot - 1) < key)
            && (slot == count || key < self.key(slot))
    }

    /// Whether the first `keep` entries can stand between these fences.
    pub(super) fn can_be_refenced(self, lower: &[u8], upper: &[u8], keep: usize) -> bool {
        if keep > self.count() || lower.len().max(upper.len()) > MAX_KEY_LEN {
            return false;
        }
        let first = usize::from(!self.is_leaf());
        let stands = |slot: usize| lower <= self.key(slot) && (upper.is_empty() || self.key(slot) < upper);
        let used: usize = (0..keep).map(|slot| self.size_of(slot)).sum();
        used + lower.len() + upper.len() <= CAPACITY && (keep <= first || stands(first) && stands(keep - 1))
    }

    /// Checks everything about the page that can be checked without its neighbours.
    pub fn check(self) -> Result<(), &'static str> {
        let count = self.count();
        let heap = get_u16(self.page, HEAP_AT);
        if count > CAPACITY / SLOT_SIZE || heap > PAGE_SIZE || self.slots_end() > heap {
            return Err("slots and heap overlap");
        }
        let mut used = 0;
        for at in [LOWER_AT, UPPER_AT] {
            let (offset, len) = (get_u16(self.page, at), get_u16(self.page, at + 2));
            if len > MAX_KEY_LEN || offset + len > PAGE_SIZE || (len > 0 && offset < heap) {
                return Err("a fence lies outside the heap");
            }
            used += len;
        }
        let (lower, upper) = (self.lower_fence(), self.upper_fence());
        if !upper.is_empty() && lower >= upper {
            return Err("the lower fence is not below the upper fence");
        }
        let prefix = if upper.is_empty() {
            0
        } else {
            common_prefix(lower, upper)
        };
        if self.prefix() != prefix {
            return Err("the shared prefix is not that of the fences");
        }
        let mut previous: Option<&[u8]> = None;
        for slot in 0..count {
            let Slot {
                head,
                offset,
                key_len,
            } = self.slot(slot);
            if offset < heap || offset + CELL_HEADER + key_len > PAGE_SIZE || key_len > MAX_KEY_LEN {
                return Err("an entry lies outside the heap");
            }
            let size = CELL_HEADER + key_len + get_u16(self.page, offset);
            if offset + size > PAGE_SIZE {
                return Err("a value reaches beyond the page");
            }
            used += size;
            let key = self.key(slot);
            if !self.is_leaf() && self.value(slot).len() != 4 {
                return Err("an inner node's entry is no child");
            }
            if !self.is_leaf() && slot == 0 {
                if key_len != 0 {
                    return Err("the first key of an inner node is not empty");
                }
                continue;
            }
            if !self.covers(key) {
                return Err("a key lies outside the fences");
            }
            if head != head_of(key, prefix) {
                return Err("a slot's head does not match its key");
            }
            if previous.is_some_and(|p| p >= key) {
                return Err("keys are out of order");
            }
            previous = Some(key);
        }
        if used + get_u16(self.page, GARBAGE_AT) != PAGE_SIZE - heap {
            return Err("the free-space account is wrong");
        }
        Ok(())
    }
}

/// A tree page that we may change.
pub struct NodeMut<'p> {
    page: &'p mut PageBytes,
}

impl<'p> NodeMut<'p> {
    pub fn new(page: &'p mut PageBytes) -> NodeMut<'p> {
        NodeMut { page }
    }

    #[inline]
    pub fn node(&self) -> Node<'_> {
        Node { page: self.page }
    }

    /// Makes the page an empty node.
    pub fn format(&mut self, page_type: u8, level: u8, index: u64, lower: &[u8], upper: &[u8]) {
        self.page[TYPE_AT] = page_type;
        self.page[LEVEL_AT] = level;
        self.page[INDEX_AT..INDEX_AT + 8].copy_from_slice(&index.to_le_bytes());
        self.clear(lower, upper);
    }

    /// Empties the page and gives it new fences.
    fn clear(&mut self, lower: &[u8], upper: &[u8]) {
        assert!(
            lower.len() <= MAX_KEY_LEN && upper.len() <= MAX_KEY_LEN,
            "fence too long"
        );
        self.page[COUNT_AT..SLOTS_AT].fill(0);
        put_u16(self.page, HEAP_AT, PAGE_SIZE);
        let prefix = if upper.is_empty() {
            0
        } else {
            common_prefix(lower, upper)
        };
        put_u16(self.page, PREFIX_AT, prefix);
        for (at, fence) in [(LOWER_AT, lower), (UPPER_AT, upper)] {
            let offset = self.push(&[fence]);
            put_u16(self.page, at, offset);
            put_u16(self.page, at + 2, fence.len());
        }
    }

    /// Writes the parts one after the other at the heap's lower end.
    fn push(&mut self, parts: &[&[u8]]) -> usize {
        let len: usize = parts.iter().map(|p| p.len()).sum();
        let offset = get_u16(self.page, HEAP_AT) - len;
        let mut at = offset;
        for part in parts {
            self.page[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        put_u16(self.page, HEAP_AT, offset);
        offset
    }

    fn put_slot(&mut self, slot: usize, entry: Slot) {
        let at = SLOTS_AT + slot * SLOT_SIZE;
        self.page[at..at + SLOT_SIZE].copy_from_slice(&entry.encode().to_le_bytes());
    }

    /// Appends an entry behind all others. The gap is known to hold it.
    fn append(&mut self, key: &[u8], value: &[&[u8]]) {
        let len: usize = value.iter().map(|v| v.len()).sum();
        let offset = match *value {
            [a] => self.push(&[&(len as u16).to_le_bytes(), key, a]),
            [a, b, c] => self.push(&[&(len as u16).to_le_bytes(), key, a, b, c]),
            _ => unreachable!("a value comes in one or three parts"),
        };
        let head = head_of(key, self.node().prefix());
        let count = self.node().count();
        self.put_slot(
            count,
            Slot {
                head,
                offset,
                key_len: key.len(),
            },
        );
        put_u16(self.page, COUNT_AT, count + 1);
    }

    /// Puts an entry at `slot`; false, and nothing changed, if it does not fit.
    #[must_use]
    pub fn insert(&mut self, slot: usize, key: &[u8], value: &[u8]) -> bool {
        let need = entry_size(key.len(), value.len());
        let count = self.node().count();
        assert!(slot <= count, "insert at slot {slot} of {count}");
        if need > self.node().free_space() {
            return false;
        }
        if need > self.node().gap() {
            self.compact();
        }
        let (last, run) = self.node().upward_run();
        let offset = self.push(&[&(value.len() as u16).to_le_bytes(), key, value]);
        let at = SLOTS_AT + slot * SLOT_SIZE;
        self.page
            .copy_within(at..SLOTS_AT + count * SLOT_SIZE, at + SLOT_SIZE);
        let head = head_of(key, self.node().prefix());
        self.put_slot(
            slot,
            Slot {
                head,
                offset,
                key_len: key.len(),
            },
        );
        put_u16(self.page, COUNT_AT, count + 1);
        let upwards = count > 0 && slot == last + 1;
        put_u16(
            self.page,
            RUN_AT,
            if upwards {
                (run + 1).min(u16::MAX as usize)
            } else {
                0
            },
        );
        put_u16(self.page, LAST_AT, slot);
        true
    }

    /// Room for a value of `len` bytes in place of the one at `slot`?
    pub fn replace_fits(node: Node<'_>, slot: usize, len: usize) -> bool {
        len <= node.value(slot).len() + node.free_space()
    }

    /// Replaces what lies between the first `keep_front` and the last `keep_back` bytes of a value; false, and
    /// nothing changed, if it does not fit.
    #[must_use]
    pub fn replace(&mut self, slot: usize, keep_front: usize, keep_back: usize, middle: &[u8]) -> bool {
        let entry = self.node().slot(slot);
        let old_len = get_u16(self.page, entry.offset);
        assert!(
            keep_front + keep_back <= old_len,
            "replace keeps more than there is"
        );
        let new_len = keep_front + middle.len() + keep_back;
        if !Self::replace_fits(self.node(), slot, new_len) {
            return false;
        }
        let old_cell = CELL_HEADER + entry.key_len + old_len;
        if new_len <= old_len {
            let value = entry.offset + CELL_HEADER + entry.key_len;
            let back = value + old_len - keep_back;
            if new_len < old_len {
                self.page
                    .copy_within(back..value + old_len, value + keep_front + middle.len());
                put_u16(self.page, entry.offset, new_len);
                let garbage = get_u16(self.page, GARBAGE_AT) + old_len - new_len;
                put_u16(self.page, GARBAGE_AT, garbage);
            }
            self.page[value + keep_front..value + keep_front + middle.len()].copy_from_slice(middle);
            return true;
        }
        let new_cell = CELL_HEADER + entry.key_len + new_len;
        if new_cell > self.node().gap() {
            let old = *self.page;
            let old = Node { page: &old };
            self.rebuild(
                old,
                old.lower_fence(),
                old.upper_fence(),
                old.count(),
                Some((slot, keep_front, keep_back, middle)),
            );
            return true;
        }
        let heap = get_u16(self.page, HEAP_AT);
        let offset = heap - new_cell;
        let value = entry.offset + CELL_HEADER + entry.key_len;
        self.page.copy_within(
            entry.offset + CELL_HEADER..value + keep_front,
            offset + CELL_HEADER,
        );
        self.page
            .copy_within(value + old_len - keep_back..value + old_len, heap - keep_back);
        let at = offset + CELL_HEADER + entry.key_len + keep_front;
        self.page[at..at + middle.len()].copy_from_slice(middle);
        put_u16(self.page, offset, new_len);
        put_u16(self.page, HEAP_AT, offset);
        put_u16(self.page, GARBAGE_AT, get_u16(self.page, GARBAGE_AT) + old_cell);
        self.put_slot(slot, Slot { offset, ..entry });
        true
    }

    pub fn remove(&mut self, slot: usize) {
        let count = self.node().count();
        assert!(slot < count, "remove slot {slot} of {count}");
        let entry = self.node().slot(slot);
        let cell = CELL_HEADER + entry.key_len + get_u16(self.page, entry.offset);
        if entry.offset == get_u16(self.page, HEAP_AT) {
            put_u16(self.page, HEAP_AT, entry.offset + cell);
        } else {
            put_u16(self.page, GARBAGE_AT, get_u16(self.page, GARBAGE_AT) + cell);
        }
        let at = SLOTS_AT + slot * SLOT_SIZE;
        self.page
            .copy_within(at + SLOT_SIZE..SLOTS_AT + count * SLOT_SIZE, at);
        put_u16(self.page, COUNT_AT, count - 1);
        put_u16(self.page, LAST_AT, 0);
        put_u16(self.page, RUN_AT, 0);
    }

    /// Keeps the first `keep` entries only and takes new fences.
    pub fn refence(&mut self, lower: &[u8], upper: &[u8], keep: usize) {
        let old = *self.page;
        self.rebuild(Node { page: &old }, lower, upper, keep, None);
    }

    fn compact(&mut self) {
        let old = *self.page;
        let node = Node { page: &old };
        self.rebuild(node, node.lower_fence(), node.upper_fence(), node.count(), None);
    }

    /// Writes the page anew from `old`, its former self: the first `keep` entries, one of them perhaps changed.
    fn rebuild(
        &mut self,
        old: Node<'_>,
        lower: &[u8],
        upper: &[u8],
        keep: usize,
        change: Option<(usize, usize, usize, &[u8])>,
    ) {
        assert!(keep <= old.count(), "keep {keep} of {}", old.count());
        self.clear(lower, upper);
        for slot in 0..keep {
            let (key, value) = old.entry(slot);
            match change {
                Some((changed, front, back, middle)) if changed == slot => {
                    self.append(key, &[&value[..front], middle, &value[value.len() - back..]]);
                }
                _ => self.append(key, &[value]),
            }
        }
        let (last, run) = old.upward_run();
        if last < keep {
            put_u16(self.page, LAST_AT, last);
            put_u16(self.page, RUN_AT, run);
        }
    }

    /// Appends entries `range` of another node, behind all of this one's; the caller has made sure they fit.
    pub fn append_from(&mut self, other: Node<'_>, range: std::ops::Range<usize>) {
        for slot in range {
            let (key, value) = other.entry(slot);
            self.append(key, &[value]);
        }
    }

    /// Appends entries; the caller has made sure they fit.
    pub fn append_all(&mut self, entries: &[(&[u8], &[u8])]) {
        for (key, value) in entries {
            self.append(key, &[value]);
        }
    }

    /// Appends one entry; false if it does not fit.
    #[must_use]
    pub fn push_entry(&mut self, key: &[u8], value: &[u8]) -> bool {
        if entry_size(key.len(), value.len()) > self.node().gap() {
            return false;
        }
        self.append(key, &[value]);
        true
    }

    /// Takes over another page's content, given as its [`Node::stretches`].
    pub(super) fn restore(&mut self, page_type: u8, level: u8, front: &[u8], heap: &[u8]) {
        self.page[TYPE_AT] = page_type;
        self.page[LEVEL_AT] = level;
        self.page[BODY_AT..BODY_AT + front.len()].copy_from_slice(front);
        self.page[PAGE_SIZE - heap.len()..].copy_from_slice(heap);
    }
}

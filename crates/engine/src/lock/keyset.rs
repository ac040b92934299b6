//! A sorted set of keys that takes a few bytes for each.
//!
//! Keys stand in blocks, in order. The first key of a block is kept whole; each further one is stored as the number of leading
//! bytes shared with the key before, and the rest (*front coding*: Witten, Moffat and Bell, *Managing Gigabytes*, 1999). A key
//! is looked for without decoding: of a key that shares more with the one before than that one shares with what is looked for,
//! nothing need be compared. What comes behind a new key in its block is moved, which is one reason why blocks are short.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// Coded bytes of a block beyond which a new one is begun.
const BLOCK_BYTES: usize = 192;

/// What a block takes beside its keys: its place in the map, and two allocations.
const BLOCK_OVERHEAD: usize = 112;

/// See the module's head.
#[derive(Default)]
pub(super) struct KeySet {
    /// By their first keys.
    blocks: BTreeMap<Vec<u8>, Block>,
    bytes: usize,
}

/// The keys behind the first one of a block: for each the leading bytes shared with the key before, the number of further bytes,
/// and these.
#[derive(Default)]
struct Block(Vec<u8>);

/// A coded key.
struct Entry {
    /// Where its code begins, and ends.
    start: usize,
    end: usize,
    shared: usize,
    /// Where its own bytes begin.
    rest: usize,
}

/// Where a key is, or belongs, in a block.
enum Place {
    /// It is this entry.
    At(Entry),
    /// In front of this entry, of whose own bytes it shares so many; it shares `before` bytes with the key before.
    InFront { before: usize, of: Entry, own: usize },
    /// Behind all, sharing so many bytes with the last.
    Behind { before: usize },
}

impl Block {
    fn entry(&self, start: usize) -> Option<Entry> {
        if start == self.0.len() {
            return None;
        }
        let mut at = start;
        let shared = take_number(&self.0, &mut at);
        let length = take_number(&self.0, &mut at);
        Some(Entry {
            start,
            end: at + length,
            shared,
            rest: at,
        })
    }

    /// Looks for a key that is greater than the first.
    fn seek(&self, first: &[u8], key: &[u8]) -> Place {
        let mut before = common(first, key);
        let mut at = 0;
        while let Some(entry) = self.entry(at) {
            at = entry.end;
            if entry.shared > before {
                continue;
            }
            if entry.shared < before {
                return Place::InFront {
                    before,
                    of: entry,
                    own: 0,
                };
            }
            let (own, wanted) = (&self.0[entry.rest..entry.end], &key[before..]);
            let shared = common(own, wanted);
            match (own.get(shared), wanted.get(shared)) {
                (None, None) => return Place::At(entry),
                (None, Some(_)) => before += shared,
                (Some(own), Some(wanted)) if own < wanted => before += shared,
                _ => {
                    return Place::InFront {
                        before,
                        of: entry,
                        own: shared,
                    };
                }
            }
        }
        Place::Behind { before }
    }

    /// Puts `key` in front of an entry: see [`Place::InFront`].
    fn insert(&mut self, key: &[u8], before: usize, of: Entry, own: usize) {
        let mut coded = Vec::new();
        put_entry(&mut coded, before, &key[before..]);
        put_entry(&mut coded, of.shared + own, &self.0[of.rest + own..of.end]);
        self.0.splice(of.start..of.end, coded);
    }

    /// Takes out `key`, which is this entry.
    fn remove(&mut self, key: &[u8], entry: &Entry) {
        let mut coded = Vec::new();
        let mut end = entry.end;
        if let Some(next) = self.entry(entry.end)
            && next.shared > entry.shared
        {
            let own = &self.0[next.rest..next.end];
            put_entry(
                &mut coded,
                entry.shared,
                &[&key[entry.shared..next.shared], own].concat(),
            );
            end = next.end;
        }
        self.0.splice(entry.start..end, coded);
    }

    /// Calls `f` with each key but the first, and where its code begins, until it breaks.
    fn each<B>(&self, first: &[u8], mut f: impl FnMut(usize, &[u8]) -> ControlFlow<B>) -> Option<B> {
        let mut key = first.to_vec();
        let mut at = 0;
        while let Some(entry) = self.entry(at) {
            key.truncate(entry.shared);
            key.extend_from_slice(&self.0[entry.rest..entry.end]);
            if let ControlFlow::Break(found) = f(entry.start, &key) {
                return Some(found);
            }
            at = entry.end;
        }
        None
    }

    fn footprint(&self, first: &[u8]) -> usize {
        BLOCK_OVERHEAD + first.len() + self.0.len()
    }
}

/// How many leading bytes two keys share.
fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn up_to(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Unbounded, Bound::Included(key))
}

fn put_entry(coded: &mut Vec<u8>, shared: usize, rest: &[u8]) {
    put_number(coded, shared);
    put_number(coded, rest.len());
    coded.extend_from_slice(rest);
}

fn put_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &[u8], at: &mut usize) -> usize {
    let (mut number, mut shift) = (0, 0);
    loop {
        let byte = bytes[*at];
        *at += 1;
        number |= ((byte & 0x7f) as usize) << shift;
        if byte < 0x80 {
            return number;
        }
        shift += 7;
    }
}

impl KeySet {
    /// The memory it takes, in bytes, nearly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        let Some((first, block)) = self.blocks.range::<[u8], _>(up_to(key)).next_back() else {
            return false;
        };
        first == key || matches!(block.seek(first, key), Place::At(_))
    }

    /// Adds a key; false if it was there.
    pub fn insert(&mut self, key: &[u8]) -> bool {
        let Some((first, block)) = self.blocks.range_mut::<[u8], _>(up_to(key)).next_back() else {
            self.insert_in_front(key);
            return true;
        };
        if first == key {
            return false;
        }
        let is_full = block.0.len() > BLOCK_BYTES;
        let footprint = block.footprint(first);
        match block.seek(first, key) {
            Place::At(_) => return false,
            Place::Behind { .. } if is_full => {
                block.0.shrink_to_fit();
                self.begin_block(key, Block::default());
                return true;
            }
            Place::Behind { before } => put_entry(&mut block.0, before, &key[before..]),
            Place::InFront { before, of, own } => block.insert(key, before, of, own),
        }
        self.bytes = self.bytes + block.footprint(first) - footprint;
        if is_full {
            let first = first.clone();
            self.split(&first);
        }
        true
    }

    /// Adds a key that is smaller than all others.
    fn insert_in_front(&mut self, key: &[u8]) {
        let first = self.blocks.first_entry();
        let Some(entry) = first.filter(|entry| entry.get().0.len() <= BLOCK_BYTES) else {
            self.begin_block(key, Block::default());
            return;
        };
        let (first, mut block) = entry.remove_entry();
        self.bytes -= block.footprint(&first);
        let shared = common(key, &first);
        let mut coded = Vec::new();
        put_entry(&mut coded, shared, &first[shared..]);
        block.0.splice(0..0, coded);
        self.begin_block(key, block);
    }

    fn begin_block(&mut self, first: &[u8], block: Block) {
        self.bytes += block.footprint(first);
        self.blocks.insert(first.to_vec(), block);
    }

    /// Moves the keys of the second half of a block to one of their own.
    fn split(&mut self, first: &[u8]) {
        let mut block = self.take(first);
        let middle = block.each(first, |at, key| match at > block.0.len() / 2 {
            true => ControlFlow::Break((at, key.to_vec())),
            false => ControlFlow::Continue(()),
        });
        if let Some((at, middle)) = middle {
            let mut high = block.0.split_off(at);
            let own = Block(high.clone()).entry(0).map_or(0, |entry| entry.end);
            high.drain(..own);
            self.begin_block(&middle, Block(high));
        }
        self.begin_block(first, block);
    }

    /// Removes a key; false if it was not there.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let Some((first, block)) = self.blocks.range_mut::<[u8], _>(up_to(key)).next_back() else {
            return false;
        };
        if first == key {
            let mut block = self.take(key);
            // It then begins with the next.
            if let Some(entry) = block.entry(0) {
                let next = [&key[..entry.shared], &block.0[entry.rest..entry.end]].concat();
                block.0.drain(..entry.end);
                self.begin_block(&next, block);
            }
            return true;
        }
        let footprint = block.footprint(first);
        let Place::At(entry) = block.seek(first, key) else {
            return false;
        };
        block.remove(key, &entry);
        self.bytes = self.bytes + block.footprint(first) - footprint;
        true
    }

    fn take(&mut self, first: &[u8]) -> Block {
        let block = self.blocks.remove(first).expect("found a moment ago");
        self.bytes -= block.footprint(first);
        block
    }

    /// Calls `f` with each key in order until it breaks.
    pub fn each<B>(&self, mut f: impl FnMut(&[u8]) -> ControlFlow<B>) -> Option<B> {
        self.blocks.iter().find_map(|(first, block)| match f(first) {
            ControlFlow::Break(found) => Some(found),
            ControlFlow::Continue(()) => block.each(first, |_, key| f(key)),
        })
    }

    /// The greatest key.
    pub fn last(&self) -> Option<Vec<u8>> {
        let (first, block) = self.blocks.last_key_value()?;
        let mut last = first.clone();
        block.each(first, |_, key| {
            last.clear();
            last.extend_from_slice(key);
            ControlFlow::<()>::Continue(())
        });
        Some(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;
    use std::collections::BTreeSet;

    /// The set and its model after `steps` of adding and removing keys that `key` makes.
    fn play(seed: u64, steps: usize, key: impl Fn(&mut Random) -> Vec<u8>) {
        let mut random = Random(seed);
        let (mut set, mut model) = (KeySet::default(), BTreeSet::new());
        let mut recent = Vec::new();
        for step in 0..steps {
            let key = key(&mut random);
            match random.below(4) {
                0 => assert_eq!(set.remove(&key), model.remove(&key), "{key:?}"),
                1 if !recent.is_empty() => {
                    assert_eq!(set.remove(&recent), model.remove(&recent), "{recent:?}")
                }
                _ => assert_eq!(set.insert(&key), model.insert(key.clone()), "{key:?}"),
            }
            assert_eq!(set.contains(&key), model.contains(&key), "{key:?}");
            recent = key;
            if step % 64 == 0 {
                let mut keys = Vec::new();
                set.each(|key| {
                    keys.push(key.to_vec());
                    ControlFlow::<()>::Continue(())
                });
                assert!(keys.iter().eq(&model));
                assert_eq!(set.last(), model.last().cloned());
                let bytes: usize = set
                    .blocks
                    .iter()
                    .map(|(first, block)| block.footprint(first))
                    .sum();
                assert_eq!(set.bytes(), bytes);
            }
        }
    }

    #[test]
    fn it_is_a_set() {
        for seed in 0..20 {
            play(seed, 3_000, |random| random.below(2_000).to_be_bytes().to_vec());
            play(seed, 3_000, |random| {
                let most = if random.below(9) == 0 { 300 } else { 6 };
                let length = random.below(most);
                (0..length).map(|_| b'a' + random.below(3) as u8).collect()
            });
        }
    }

    #[test]
    fn a_key_takes_a_few_bytes_however_they_come() {
        let count = 100_000u64;
        let key = |n: u64| (n * 3).to_be_bytes();
        let mut random = Random(1);
        let mut shuffled: Vec<u64> = (0..count).collect();
        (1..count)
            .rev()
            .for_each(|n| shuffled.swap(n as usize, random.below(n + 1) as usize));
        let upwards = (0..count).collect();
        let downwards = (0..count).rev().collect();
        for (order, most) in [(upwards, 7), (downwards, 7), (shuffled, 10)] {
            let mut set = KeySet::default();
            let order: Vec<u64> = order;
            order.iter().for_each(|n| assert!(set.insert(&key(*n))));
            assert!(
                order
                    .iter()
                    .all(|n| set.contains(&key(*n)) && !set.contains(&(n * 3 + 1).to_be_bytes()))
            );
            assert!(set.bytes() as u64 <= most * count, "{} bytes", set.bytes());
        }
    }
}

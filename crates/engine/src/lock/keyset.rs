//! A sorted set of keys that takes a few bytes for each.
//!
//! Keys stand in blocks, in order. The first key of a block is kept whole, as is the last; each key in between and the last
//! are stored as the number of leading bytes shared with the key before, and the rest (*front coding*: Witten, Moffat and
//! Bell, *Managing Gigabytes*, 1999). Scans add keys in order, so adding behind the last key of a block writes a few bytes;
//! anything else rewrites one block, which is why blocks are short.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

/// Coded bytes of a block beyond which a new one is begun.
const BLOCK_BYTES: usize = 512;

/// What a block takes beside its keys: its node in the map, and three allocations.
const BLOCK_OVERHEAD: usize = 176;

/// See the module's head.
#[derive(Default)]
pub(super) struct KeySet {
    /// By their first keys.
    blocks: BTreeMap<Vec<u8>, Block>,
    count: usize,
    bytes: usize,
}

/// The keys behind the first one of a block.
#[derive(Default)]
struct Block {
    /// For each key: leading bytes shared with the key before, number of further bytes, these.
    coded: Vec<u8>,
    /// The last key; empty while the first is the only one.
    last: Vec<u8>,
}

impl Block {
    /// The block of `keys` but the first of them.
    fn of(keys: &[&[u8]]) -> Block {
        let mut block = Block::default();
        for pair in keys.windows(2) {
            block.push(pair[0], pair[1]);
        }
        block.last = keys[1..].last().map_or(Vec::new(), |last| last.to_vec());
        block
    }

    /// Codes `key`, which comes behind `before`. The caller keeps `last` right.
    fn push(&mut self, before: &[u8], key: &[u8]) {
        let shared = before.iter().zip(key).take_while(|(a, b)| a == b).count();
        put_number(&mut self.coded, shared);
        put_number(&mut self.coded, key.len() - shared);
        self.coded.extend_from_slice(&key[shared..]);
    }

    /// Calls `f` with each key but the first, and where its code begins, until it breaks.
    fn each<B>(&self, first: &[u8], mut f: impl FnMut(usize, &[u8]) -> ControlFlow<B>) -> Option<B> {
        let mut key = first.to_vec();
        let mut at = 0;
        while at < self.coded.len() {
            let start = at;
            let shared = take_number(&self.coded, &mut at);
            let rest = take_number(&self.coded, &mut at);
            key.truncate(shared);
            key.extend_from_slice(&self.coded[at..at + rest]);
            at += rest;
            if let ControlFlow::Break(found) = f(start, &key) {
                return Some(found);
            }
        }
        None
    }

    fn footprint(&self, first: &[u8]) -> usize {
        BLOCK_OVERHEAD + first.len() + self.last.len() + self.coded.len()
    }
}

fn up_to(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Unbounded, Bound::Included(key))
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

/// The keys of a block, laid out one behind the other.
struct Flat {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Flat {
    fn of(first: &[u8], block: &Block) -> Flat {
        let mut flat = Flat {
            bytes: first.to_vec(),
            ends: vec![first.len()],
        };
        block.each(first, |_, key| {
            flat.bytes.extend_from_slice(key);
            flat.ends.push(flat.bytes.len());
            ControlFlow::<()>::Continue(())
        });
        flat
    }

    fn keys(&self) -> Vec<&[u8]> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, end)| &self.bytes[start..*end])
            .collect()
    }
}

impl KeySet {
    /// How many keys there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.count
    }

    /// The memory it takes, in bytes, nearly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The first key of the block that has `key`, if any has.
    fn block_of(&self, key: &[u8]) -> Option<(&Vec<u8>, &Block)> {
        let (first, block) = self.blocks.range::<[u8], _>(up_to(key)).next_back()?;
        let found = first == key
            || block.last == key
            || key < block.last.as_slice()
                && block.each(first, |_, at| match at >= key {
                    true => ControlFlow::Break(at == key),
                    false => ControlFlow::Continue(()),
                }) == Some(true);
        found.then_some((first, block))
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.block_of(key).is_some()
    }

    /// Adds a key; false if it was there.
    pub fn insert(&mut self, key: &[u8]) -> bool {
        if self.append(key) {
            return true;
        }
        if self.contains(key) {
            return false;
        }
        let before = self.blocks.range::<[u8], _>(up_to(key)).next_back();
        let Some(first) = before
            .or_else(|| self.blocks.first_key_value())
            .map(|(first, _)| first.clone())
        else {
            self.put(&[key]);
            return true;
        };
        let block = self.take(&first);
        let flat = Flat::of(&first, &block);
        let mut keys = flat.keys();
        keys.insert(keys.partition_point(|at| *at < key), key);
        let (low, high) = match block.coded.len() > BLOCK_BYTES {
            true => keys.split_at(keys.len() / 2),
            false => (&keys[..], &[][..]),
        };
        self.put(low);
        if !high.is_empty() {
            self.put(high);
        }
        true
    }

    /// Adds a key that comes behind the last one of its block.
    fn append(&mut self, key: &[u8]) -> bool {
        let Some((first, block)) = self.blocks.range_mut::<[u8], _>(up_to(key)).next_back() else {
            return false;
        };
        let last = if block.coded.is_empty() {
            first
        } else {
            &block.last
        };
        if key <= last.as_slice() {
            return false;
        }
        if block.coded.len() > BLOCK_BYTES {
            block.coded.shrink_to_fit();
            self.put(&[key]);
            return true;
        }
        self.bytes -= block.footprint(first);
        let last = if block.coded.is_empty() {
            first.clone()
        } else {
            std::mem::take(&mut block.last)
        };
        block.push(&last, key);
        block.last = last;
        block.last.clear();
        block.last.extend_from_slice(key);
        self.bytes += block.footprint(first);
        self.count += 1;
        true
    }

    /// Removes a key; false if it was not there.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let Some((first, block)) = self.block_of(key) else {
            return false;
        };
        let first = first.clone();
        if first == key && block.coded.is_empty() {
            self.take(&first);
        } else if block.last == key {
            self.pop(&first);
        } else {
            let block = self.take(&first);
            let flat = Flat::of(&first, &block);
            let mut keys = flat.keys();
            keys.retain(|at| *at != key);
            self.put(&keys);
        }
        true
    }

    /// Removes the last key, which is not the only one, of the block that begins with `first`.
    fn pop(&mut self, first: &[u8]) {
        let block = self.blocks.get_mut(first).expect("found a moment ago");
        self.bytes -= block.footprint(first);
        let (mut before, mut start) = (first.to_vec(), 0);
        block.each(first, |at, key| {
            if key == block.last {
                start = at;
                return ControlFlow::Break(());
            }
            before.clear();
            before.extend_from_slice(key);
            ControlFlow::Continue(())
        });
        block.coded.truncate(start);
        block.last = if start == 0 { Vec::new() } else { before };
        self.bytes += block.footprint(first);
        self.count -= 1;
    }

    fn take(&mut self, first: &[u8]) -> Block {
        let block = self.blocks.remove(first).expect("found a moment ago");
        self.bytes -= block.footprint(first);
        let mut count = 1;
        block.each(first, |_, _| {
            count += 1;
            ControlFlow::<()>::Continue(())
        });
        self.count -= count;
        block
    }

    fn put(&mut self, keys: &[&[u8]]) {
        let block = Block::of(keys);
        self.bytes += block.footprint(keys[0]);
        self.count += keys.len();
        self.blocks.insert(keys[0].to_vec(), block);
    }

    /// Calls `f` with each key in order until it breaks.
    pub fn each<B>(&self, mut f: impl FnMut(&[u8]) -> ControlFlow<B>) -> Option<B> {
        self.blocks.iter().find_map(|(first, block)| match f(first) {
            ControlFlow::Break(found) => Some(found),
            ControlFlow::Continue(()) => block.each(first, |_, key| f(key)),
        })
    }

    /// The greatest key.
    pub fn last(&self) -> Option<&[u8]> {
        let (first, block) = self.blocks.last_key_value()?;
        Some(if block.coded.is_empty() {
            first
        } else {
            &block.last
        })
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
            assert_eq!(set.len(), model.len());
            recent = key;
            if step % 64 == 0 {
                let mut keys = Vec::new();
                set.each(|key| {
                    keys.push(key.to_vec());
                    ControlFlow::<()>::Continue(())
                });
                assert!(keys.iter().eq(&model));
                assert_eq!(set.last(), model.last().map(Vec::as_slice));
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
        for (order, most) in [(upwards, 6), (downwards, 12), (shuffled, 12)] {
            let mut set = KeySet::default();
            let order: Vec<u64> = order;
            order.iter().for_each(|n| assert!(set.insert(&key(*n))));
            assert_eq!(set.len() as u64, count);
            assert!(set.bytes() as u64 <= most * count, "{} bytes", set.bytes());
        }
    }
}

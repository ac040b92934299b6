//! Rows in memory, found by key: one piece of memory for all rows, one for the keys, and no allocation for a row or a look-up.
//!
//! ```text
//!  buckets   │ entry │ none │ entry │ …                     by the hash of the key
//!  entries   │ tag │ next of the bucket │ key │ first row │ last row │ …      one for each key
//!  keys      │ length │ bytes │ …                           of keys that are no integer
//!  rows      │ next row of the key │ length │ row, encoded │ …              in the order in which they came
//! ```
//!
//! A key that is one integer is a number of 64 bits, and stands in its entry. Others are bytes that are equal if the keys are, as of
//! [`KeyForm`](crate::types::sort::KeyForm).

use super::codec::{decode_at, encode_at};
use super::seeds::Seeds;
use crate::error::Result;
use crate::error::memory::reserve_memory;
use crate::expr::Row;
use crate::types::Value;

/// No entry, no row.
pub const NONE: u32 = u32::MAX;

/// What stands before a row.
const ROW_HEAD: usize = 8;

/// What the tag of an entry says of its key in its last bits.
const KINDS: u32 = 0b11;

/// The key of a row.
#[derive(Clone, Copy)]
pub enum Key<'k> {
    /// One integer. A negative one has the bits of its two's complement.
    Integer {
        bits: u64,
        is_negative: bool,
    },
    Bytes(&'k [u8]),
}

impl<'k> Key<'k> {
    /// A key of bytes. A short one is a number, too; so it is not for a table whose keys are integers as well.
    #[inline]
    pub fn of(bytes: &'k [u8]) -> Key<'k> {
        match bytes.len() {
            len @ ..8 => {
                let mut word = [0; 8];
                word[..len].copy_from_slice(bytes);
                word[7] = len as u8;
                Key::Integer {
                    bits: u64::from_le_bytes(word),
                    is_negative: false,
                }
            }
            _ => Key::Bytes(bytes),
        }
    }

    fn kind(self) -> u8 {
        match self {
            Key::Integer { is_negative, .. } => u8::from(is_negative),
            Key::Bytes(_) => 2,
        }
    }

    #[inline]
    pub fn hash(self, seeds: Seeds) -> u64 {
        match self {
            Key::Integer { bits, .. } => seeds.of_word(bits),
            Key::Bytes(bytes) => seeds.of_bytes(bytes),
        }
    }

    /// Writes it as bytes, in place of what `out` held: different ones for different keys.
    pub fn write(self, out: &mut Vec<u8>) {
        out.clear();
        out.push(self.kind());
        match self {
            Key::Integer { bits, .. } => out.extend_from_slice(&bits.to_le_bytes()),
            Key::Bytes(bytes) => out.extend_from_slice(bytes),
        }
    }

    /// What was written.
    pub fn read(written: &'k [u8]) -> Key<'k> {
        match written.split_first() {
            Some((2, bytes)) => Key::Bytes(bytes),
            Some((kind, bits)) => Key::Integer {
                bits: bits.try_into().map_or(0, u64::from_le_bytes),
                is_negative: *kind == 1,
            },
            None => Key::Bytes(&[]),
        }
    }
}

/// What is known of one key.
#[derive(Clone, Copy)]
struct Entry {
    /// Bits of the hash, and the kind of the key.
    tag: u32,
    /// The next entry of the bucket.
    next: u32,
    /// The integer, or where the bytes are.
    key: u64,
    /// Where its rows are.
    first: u32,
    last: u32,
}

/// See the module's head.
pub struct HashedRows {
    pub seeds: Seeds,
    buckets: Vec<u32>,
    entries: Vec<Entry>,
    keys: Vec<u8>,
    rows: Vec<u8>,
    /// How many rows there are.
    len: usize,
}

impl HashedRows {
    /// No rows.
    pub fn new(seeds: Seeds) -> HashedRows {
        HashedRows {
            seeds,
            buckets: Vec::new(),
            entries: Vec::new(),
            keys: Vec::new(),
            rows: Vec::new(),
            len: 0,
        }
    }

    /// How many rows there are, or of a set how many keys.
    pub fn len(&self) -> usize {
        self.len.max(self.entries.len())
    }

    /// Whether there are rows, not keys alone.
    pub fn has_rows(&self) -> bool {
        self.len > 0
    }

    /// About what it takes.
    pub fn bytes(&self) -> usize {
        let table = size_of_val(self.buckets.as_slice()) + size_of_val(self.entries.as_slice());
        table + self.keys.len() + self.rows.len()
    }

    /// Whether there are numbers for another row and key.
    pub fn has_place(&self) -> bool {
        self.rows.len() + ROW_HEAD < NONE as usize && self.entries.len() < NONE as usize
    }

    /// Adds a row that is in the slots of `row`. Returns false, and has not added it, if there are no more numbers for its place.
    pub fn push(&mut self, key: Key, row: &dyn Row, slots: &[usize]) -> Result<bool> {
        let at = self.rows.len();
        self.rows.extend_from_slice(&[0; ROW_HEAD]);
        encode_at(row, slots, &mut self.rows)?;
        self.link(key, at)
    }

    /// The same of a row that is encoded.
    pub fn push_encoded(&mut self, key: Key, row: &[u8]) -> Result<bool> {
        let _room = reserve_memory(row.len())?;
        let at = self.rows.len();
        self.rows.extend_from_slice(&[0; ROW_HEAD]);
        self.rows.extend_from_slice(row);
        self.link(key, at)
    }

    /// Adds a key without a row.
    pub fn insert(&mut self, key: Key) -> Result<bool> {
        if !self.has_place() {
            return Ok(false);
        }
        let hash = key.hash(self.seeds);
        if self.find(key, hash) == NONE {
            self.add(key, hash)?;
        }
        Ok(true)
    }

    /// The number of a key, if it is there: how many keys came before it.
    #[inline]
    pub fn number(&self, key: Key) -> Option<usize> {
        let number = self.find(key, key.hash(self.seeds));
        (number != NONE).then_some(number as usize)
    }

    /// Gives the row that begins at `at`, the last one, to its key.
    fn link(&mut self, key: Key, at: usize) -> Result<bool> {
        let bytes = self.rows.len() - at - ROW_HEAD;
        if !self.has_place() {
            self.rows.truncate(at);
            return Ok(false);
        }
        self.rows[at..at + 4].copy_from_slice(&NONE.to_le_bytes());
        self.rows[at + 4..at + ROW_HEAD].copy_from_slice(&(bytes as u32).to_le_bytes());
        let hash = key.hash(self.seeds);
        let entry = match self.find(key, hash) {
            NONE => self.add(key, hash)?,
            entry => entry,
        };
        let entry = &mut self.entries[entry as usize];
        match entry.last {
            NONE => entry.first = at as u32,
            last => self.rows[last as usize..][..4].copy_from_slice(&(at as u32).to_le_bytes()),
        }
        entry.last = at as u32;
        self.len += 1;
        Ok(true)
    }

    /// Adds the entry of a key; returns its number.
    fn add(&mut self, key: Key, hash: u64) -> Result<u32> {
        if self.entries.len() == self.buckets.len() {
            self.grow();
        }
        let bits = match key {
            Key::Integer { bits, .. } => bits,
            Key::Bytes(bytes) => {
                let _room = reserve_memory(bytes.len())?;
                let at = self.keys.len() as u64;
                self.keys.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                self.keys.extend_from_slice(bytes);
                at
            }
        };
        let number = self.entries.len() as u32;
        let bucket = self.bucket(hash);
        self.entries.push(Entry {
            tag: tag(key, hash),
            next: self.buckets[bucket],
            key: bits,
            first: NONE,
            last: NONE,
        });
        self.buckets[bucket] = number;
        Ok(number)
    }

    /// Twice the buckets.
    fn grow(&mut self) {
        let len = (2 * self.buckets.len()).max(16);
        self.buckets.clear();
        self.buckets.resize(len, NONE);
        for number in 0..self.entries.len() {
            let entry = self.entries[number];
            let bucket = self.bucket(self.key_of(&entry).hash(self.seeds));
            self.entries[number].next = self.buckets[bucket];
            self.buckets[bucket] = number as u32;
        }
    }

    /// By other bits of a hash than tags and partitions.
    #[inline]
    fn bucket(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.buckets.len() - 1)
    }

    fn key_of(&self, entry: &Entry) -> Key<'_> {
        match entry.tag & KINDS {
            2 => Key::Bytes(self.bytes_of(entry.key)),
            kind => Key::Integer {
                bits: entry.key,
                is_negative: kind == 1,
            },
        }
    }

    fn bytes_of(&self, at: u64) -> &[u8] {
        let rest = &self.keys[at as usize..];
        let (len, rest) = rest.split_first_chunk().unwrap_or((&[0; 4], &[]));
        &rest[..u32::from_le_bytes(*len) as usize]
    }

    /// The entry of a key whose hash this is, or [`NONE`].
    #[inline]
    fn find(&self, key: Key, hash: u64) -> u32 {
        if self.buckets.is_empty() {
            return NONE;
        }
        let wanted = tag(key, hash);
        let mut number = self.buckets[self.bucket(hash)];
        while let Some(entry) = self.entries.get(number as usize) {
            let is_equal = entry.tag == wanted
                && match key {
                    Key::Integer { bits, .. } => entry.key == bits,
                    Key::Bytes(bytes) => self.bytes_of(entry.key) == bytes,
                };
            if is_equal {
                return number;
            }
            number = entry.next;
        }
        NONE
    }

    /// Whether there is such a key.
    #[inline]
    pub fn contains(&self, key: Key) -> bool {
        self.find(key, key.hash(self.seeds)) != NONE
    }

    /// Where the first row of a key is, whose hash this is; [`NONE`] if it has none.
    #[inline]
    pub fn first(&self, key: Key, hash: u64) -> u32 {
        let entry = self.entries.get(self.find(key, hash) as usize);
        entry.map_or(NONE, |entry| entry.first)
    }

    /// The row at a place, encoded, and where the next one of its key is.
    #[inline]
    pub fn row(&self, at: u32) -> (&[u8], u32) {
        let record = &self.rows[at as usize..];
        let (head, rest) = record.split_first_chunk::<ROW_HEAD>().unwrap_or((&[0; 8], &[]));
        let head = u64::from_le_bytes(*head);
        (&rest[..(head >> 32) as usize], head as u32)
    }

    /// Reads the row at a place into the slots of `row`; returns where the next one of its key is.
    #[inline]
    pub fn read(&self, at: u32, row: &mut [Value], slots: &[usize]) -> Result<u32> {
        let (encoded, next) = self.row(at);
        decode_at(encoded, row, slots)?;
        Ok(next)
    }

    /// The places of all rows, in the order in which they came.
    pub fn places(&self) -> impl Iterator<Item = u32> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let now = at;
            let (row, _) = (now < self.rows.len()).then(|| self.row(now as u32))?;
            at += ROW_HEAD + row.len();
            Some(now as u32)
        })
    }

    /// Hands each key and its rows to `f`, those of a key in the order in which they came.
    pub fn for_each(&self, f: &mut dyn FnMut(Key, &[u8]) -> Result<()>) -> Result<()> {
        for entry in &self.entries {
            let key = self.key_of(entry);
            if entry.first == NONE {
                f(key, &[])?;
            }
            let mut at = entry.first;
            while at != NONE {
                let (row, next) = self.row(at);
                f(key, row)?;
                at = next;
            }
        }
        Ok(())
    }
}

#[inline]
fn tag(key: Key, hash: u64) -> u32 {
    hash as u32 & !KINDS | u32::from(key.kind())
}

/// The rows of a table that have been met, by their places: a bit for each eight bytes, for no row is shorter.
#[derive(Default)]
pub struct Marks(Vec<u64>);

impl Marks {
    pub fn set(&mut self, at: u32) {
        self.set_row(at as usize / ROW_HEAD);
    }

    pub fn has(&self, at: u32) -> bool {
        self.has_row(at as usize / ROW_HEAD)
    }

    /// The same of rows that have numbers.
    pub fn set_row(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub fn has_row(&self, number: usize) -> bool {
        let marks = self.0.get(number / 64).copied().unwrap_or(0);
        marks & 1 << (number % 64) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::rows::JoinedRow;

    fn joined(values: &[Value]) -> JoinedRow<'_> {
        JoinedRow { values, outer: None }
    }

    fn find(rows: &HashedRows, key: Key) -> Vec<Value> {
        let mut found = Vec::new();
        let mut row = vec![Value::Null; 3];
        let mut at = rows.first(key, key.hash(rows.seeds));
        while at != NONE {
            at = rows.read(at, &mut row, &[2]).unwrap();
            found.push(row[2].clone());
        }
        assert_eq!(rows.contains(key), !found.is_empty());
        found
    }

    fn integer(value: i64) -> Key<'static> {
        Key::Integer {
            bits: value as u64,
            is_negative: value < 0,
        }
    }

    #[test]
    fn integers_are_told_apart_from_those_of_the_same_bits() {
        let mut rows = HashedRows::new(Seeds::new());
        let greatest = Key::Integer {
            bits: u64::MAX,
            is_negative: false,
        };
        for (key, value) in [(integer(-1), 1u64), (greatest, 2), (integer(-1), 3)] {
            assert!(rows.push(key, &joined(&[Value::UInt(value)]), &[0]).unwrap());
        }
        assert_eq!(find(&rows, integer(-1)), [Value::UInt(1), Value::UInt(3)]);
        assert_eq!(find(&rows, greatest), [Value::UInt(2)]);
        assert_eq!(find(&rows, integer(1)), []);
    }

    #[test]
    fn each_key_has_its_rows_in_the_order_in_which_they_came() {
        let mut rows = HashedRows::new(Seeds::new());
        let text = |n: u64| format!("key {}", n % 300).into_bytes();
        for n in 0..5000u64 {
            let row = [Value::Null, Value::UInt(n), Value::string("not kept")];
            rows.push(Key::of(&text(n)), &joined(&row), &[1]).unwrap();
        }
        for n in 0..400 {
            let expected = (0..5000).filter(|m| n < 300 && m % 300 == n).map(Value::UInt);
            let key = format!("key {n}").into_bytes();
            assert_eq!(find(&rows, Key::of(&key)), expected.collect::<Vec<_>>());
        }
        assert_eq!(rows.places().count(), 5000);
        let mut seen = 0;
        rows.for_each(&mut |_, _| {
            seen += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, 5000);
    }

    #[test]
    fn a_written_key_is_read_back() {
        let mut written = Vec::new();
        for key in [integer(-7), integer(7), Key::Bytes(b""), Key::Bytes(b"\x01abc")] {
            key.write(&mut written);
            let read = Key::read(&written);
            assert_eq!(read.kind(), key.kind());
            let mut rows = HashedRows::new(Seeds::new());
            rows.insert(key).unwrap();
            assert!(rows.contains(read));
            assert_eq!(rows.len(), 1);
        }
    }

    #[test]
    fn short_keys_differ_as_their_bytes_do() {
        let mut rows = HashedRows::new(Seeds::new());
        let keys: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"a", b"a\0", b"1234567", b"12345678"];
        for (n, key) in keys.iter().enumerate() {
            assert_eq!(rows.number(Key::of(key)), None);
            rows.insert(Key::of(key)).unwrap();
            assert_eq!(rows.number(Key::of(key)), Some(n));
        }
    }

    #[test]
    fn marks_are_of_one_row_each() {
        let mut rows = HashedRows::new(Seeds::new());
        for n in 0..1000 {
            let slots: &[usize] = if n % 3 == 0 { &[] } else { &[0] };
            rows.push(integer(n), &joined(&[Value::Null]), slots).unwrap();
        }
        let mut marks = Marks::default();
        let places: Vec<u32> = rows.places().collect();
        places.iter().step_by(2).for_each(|at| marks.set(*at));
        for (n, at) in places.iter().enumerate() {
            assert_eq!(marks.has(*at), n % 2 == 0, "{n}");
        }
    }
}

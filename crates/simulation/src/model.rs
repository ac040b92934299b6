//! What must be there: every row that was written, the transaction that wrote it, and how that ended.
//!
//! A row bears the number of the transaction that wrote it. Each transaction enters its writes just before it calls commit,
//! while it still holds its locks: so each row's writes stand in the order of their commits. The call then returns, and the
//! transaction is *certain*; or the power goes, and it is *in doubt*. After a start the tables must hold the certain ones and
//! some of those in doubt; of these, each that another one which is there has built on or that a read has seen.

use std::collections::{BTreeMap, BTreeSet};
use tidemark_engine::{Datum, RowView, TableId};

/// A row of the simulation's tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The primary key.
    pub id: i64,
    /// The transaction that wrote it.
    pub writer: u64,
    /// Indexed.
    pub k: Option<i64>,
    /// Indexed, unique.
    pub u: Option<i64>,
    /// Short, long, or so long that it stands outside the row.
    pub c: Text,
}

/// Bytes that follow from a number, which they begin with, and their count; so that they need not be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// How many.
    pub len: usize,
    /// What they follow from; 0 of those that are none of ours.
    pub number: u64,
}

impl Text {
    /// A text of so many bytes.
    pub fn new(len: usize, number: u64) -> Text {
        let number = if len < 8 { 1 } else { number | 1 };
        Text { len, number }
    }

    /// Its bytes.
    pub fn bytes(self) -> Vec<u8> {
        let words = self.len.div_ceil(8) as u64;
        let mut bytes: Vec<u8> = (0..words).flat_map(|n| self.word(n)).collect();
        bytes.truncate(self.len);
        bytes
    }

    fn word(self, n: u64) -> [u8; 8] {
        let factor = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        self.number.wrapping_mul(factor).to_le_bytes()
    }

    /// The text that has these bytes.
    pub fn of(bytes: &[u8]) -> Text {
        let number = bytes.first_chunk().map_or(1, |first| u64::from_le_bytes(*first));
        let text = Text::new(bytes.len(), number);
        let is_ours = bytes
            .chunks(8)
            .zip(0..)
            .all(|(chunk, n)| text.word(n).starts_with(chunk));
        Text {
            number: if is_ours { text.number } else { 0 },
            ..text
        }
    }
}

impl Row {
    /// The row as the engine takes it, with the bytes of its text and of its spare columns.
    pub fn datums<'t>(&self, text: &'t [u8], spares: &'t Spares) -> Vec<Datum<'t>> {
        let int = |value: Option<i64>| value.map_or(Datum::Null, Datum::Int);
        let mut datums = vec![
            Datum::Int(self.id),
            Datum::UInt(self.writer),
            int(self.k),
            int(self.u),
            Datum::Bytes(text),
        ];
        datums.extend(spares.iter().flatten().map(|bytes| Datum::Bytes(bytes)));
        datums
    }

    /// The row as the engine shows it.
    pub fn of(view: &RowView) -> Row {
        Row {
            id: view.get(0).as_int().unwrap_or(i64::MIN),
            writer: view.get(1).as_uint().unwrap_or(0),
            k: view.get(2).as_int(),
            u: view.get(3).as_int(),
            c: Text::of(view.get(4).as_bytes().unwrap_or_default()),
        }
    }
}

/// The rows of a table.
pub type Rows = BTreeMap<i64, Row>;

/// Columns that come and go beside the rows.
pub const SPARES: usize = 2;

/// What a row has in its spare columns; `None`: the table does not have that one.
pub type Spares = [Option<Vec<u8>>; SPARES];

/// What a table is at one moment of its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its number.
    pub table: TableId,
    /// Its secondary indexes.
    pub indexes: usize,
    /// Columns that it has beside those of every table, where SQL makes it.
    pub columns: usize,
    /// Of each spare column the number that was drawn when it came, between those of the transactions before and after; 0: it is
    /// not there.
    pub spares: [u64; SPARES],
}

impl Shape {
    /// As it is kept in the catalog.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.table.0.to_be_bytes().to_vec();
        bytes.push(self.indexes as u8);
        bytes.push(self.columns as u8);
        bytes.extend(self.spares.iter().flat_map(|came| came.to_be_bytes()));
        bytes
    }

    /// What rows of before a spare column came have in it: at times so long that it stands outside the row once that is written.
    pub fn spare_of_before(&self, n: usize) -> Option<Vec<u8>> {
        let came = self.spares[n];
        (came > 0).then(|| Text::new(if came.is_multiple_of(3) { 5_000 } else { 20 }, came).bytes())
    }

    /// The spare columns of a row by its writer.
    pub fn spares_by(&self, writer: u64) -> Spares {
        std::array::from_fn(|n| match self.spares[n] {
            0 => None,
            came if writer < came => self.spare_of_before(n),
            _ => Some(Text::new(if writer.is_multiple_of(5) { 6_000 } else { 10 }, writer).bytes()),
        })
    }

    /// What the catalog keeps.
    pub fn from_bytes(bytes: &[u8]) -> Option<Shape> {
        let (table, rest) = bytes.split_first_chunk::<8>()?;
        let (&[indexes, columns], came) = rest.split_first_chunk::<2>()?;
        let mut spares = [0; SPARES];
        for (n, came) in came.chunks_exact(8).enumerate() {
            *spares.get_mut(n)? = u64::from_be_bytes(came.try_into().ok()?);
        }
        Some(Shape {
            table: TableId(u64::from_be_bytes(*table)),
            indexes: usize::from(indexes),
            columns: usize::from(columns),
            spares,
        })
    }
}

/// A table and all that was written to it and still matters.
#[derive(Clone, Default)]
pub struct Slot {
    /// What the table is; `None` before the first.
    pub shape: Option<Shape>,
    /// A definition that is being committed, and whether the table is empty with it.
    pub pending: Option<(Shape, bool)>,
    /// Of each row its writes in the order of their commits; `None`: deleted.
    rows: BTreeMap<i64, Vec<(u64, Option<Row>)>>,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// It called commit, and that has not returned.
    InDoubt,
    /// As above, and a read has seen what it wrote.
    Seen,
    /// The commit was acknowledged.
    Certain,
}

/// Everything that must be there.
#[derive(Clone, Default)]
pub struct Model {
    /// The tables.
    pub slots: Vec<Slot>,
    ends: BTreeMap<u64, End>,
    last: u64,
    /// Commits that were acknowledged.
    pub commits: u64,
}

/// What a transaction has written: slot and id to the row, or none.
pub type Writes = BTreeMap<(usize, i64), Option<Row>>;

impl Model {
    /// A number for a transaction.
    pub fn number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The row as the last committer left it.
    pub fn latest(&self, slot: usize, id: i64) -> Option<Row> {
        let writes = self.slots[slot].rows.get(&id)?;
        writes.last().and_then(|(_, row)| row.clone())
    }

    /// The ids of rows from one id up to another, as the last committers left them.
    pub fn ids(&self, slot: usize, from: i64, to: i64) -> BTreeSet<i64> {
        let rows = self.slots[slot].rows.range(from..to);
        rows.filter(|(_, writes)| writes.last().is_some_and(|(_, row)| row.is_some()))
            .map(|(id, _)| *id)
            .collect()
    }

    /// A transaction is about to commit, and still holds its locks.
    pub fn enter(&mut self, txn: u64, writes: &Writes) {
        self.ends.insert(txn, End::InDoubt);
        for ((slot, id), row) in writes {
            let history = self.slots[*slot].rows.entry(*id).or_default();
            history.push((txn, row.clone()));
        }
    }

    /// It did not commit, and has let no lock go meanwhile.
    pub fn take_back(&mut self, txn: u64, writes: &Writes) {
        self.ends.remove(&txn);
        for (slot, id) in writes.keys() {
            if let Some(history) = self.slots[*slot].rows.get_mut(id) {
                history.retain(|(writer, _)| *writer != txn);
            }
        }
    }

    /// The commit was acknowledged.
    pub fn acknowledge(&mut self, txn: u64, writes: &Writes) {
        self.ends.insert(txn, End::Certain);
        self.commits += 1;
        for (slot, id) in writes.keys() {
            let history = self.slots[*slot].rows.get_mut(id).expect("it was entered");
            let last = history
                .iter()
                .rposition(|(writer, _)| self.ends.get(writer) == Some(&End::Certain));
            // What a certain one replaced is certain too, and of no interest any more.
            for (writer, _) in history.drain(..last.unwrap_or(0)) {
                self.ends
                    .entry(writer)
                    .and_modify(|end| *end = (*end).max(End::Seen));
            }
        }
    }

    /// A consistent read has shown what this transaction wrote. Fails if it should not have.
    pub fn saw(&mut self, writer: u64) -> Result<(), String> {
        match self.ends.get_mut(&writer) {
            Some(end) => {
                *end = (*end).max(End::Seen);
                Ok(())
            }
            None => Err(format!(
                "a view shows what {writer} wrote, which has not committed"
            )),
        }
    }

    /// A definition was committed.
    pub fn define(&mut self, slot: usize, shape: Shape, empty: bool) {
        let slot = &mut self.slots[slot];
        slot.shape = Some(shape);
        slot.pending = None;
        if empty {
            slot.rows.clear();
        }
    }

    /// Holds what a start has found against what may be there, and goes on from it. Of each slot: its definition and rows.
    pub fn settle(&mut self, found: &[(Shape, Rows)]) -> Result<(), String> {
        for (n, (shape, _)) in found.iter().enumerate() {
            let slot = &self.slots[n];
            match slot.pending {
                Some((pending, empty)) if pending == *shape => self.define(n, pending, empty),
                _ if slot.shape == Some(*shape) => self.slots[n].pending = None,
                _ => {
                    return Err(format!(
                        "table {n} is {shape:?}, but must be {:?} or {:?}",
                        slot.shape, slot.pending
                    ));
                }
            }
        }
        let doubtful: Vec<u64> = self.of_end(End::InDoubt);
        let certain: BTreeSet<u64> = self
            .of_end(End::Seen)
            .into_iter()
            .chain(self.of_end(End::Certain))
            .collect();
        let mut best: Option<Vec<String>> = None;
        for chosen in 0..1u32 << doubtful.len() {
            let there = |txn: u64| {
                let among = doubtful.iter().position(|&other| other == txn);
                certain.contains(&txn) || txn == 0 || among.is_some_and(|n| chosen & (1 << n) != 0)
            };
            let wrong = self.differences(found, &there);
            if wrong.is_empty() {
                self.go_on_from(found);
                return Ok(());
            }
            if best.as_ref().is_none_or(|best| wrong.len() < best.len()) {
                best = Some(wrong);
            }
        }
        let wrong = best.unwrap_or_default();
        Err(format!(
            "{} differences, with any of {doubtful:?} in doubt:\n  {}",
            wrong.len(),
            wrong[..wrong.len().min(20)].join("\n  ")
        ))
    }

    fn of_end(&self, end: End) -> Vec<u64> {
        self.ends
            .iter()
            .filter(|(_, e)| **e == end)
            .map(|(txn, _)| *txn)
            .collect()
    }

    fn differences(&self, found: &[(Shape, Rows)], there: &dyn Fn(u64) -> bool) -> Vec<String> {
        let mut wrong = Vec::new();
        for (n, (_, rows)) in found.iter().enumerate() {
            let histories = &self.slots[n].rows;
            for (id, history) in histories {
                let last = history.iter().rposition(|(writer, _)| there(*writer));
                if let Some((writer, _)) = history[..last.unwrap_or(0)]
                    .iter()
                    .find(|(writer, _)| !there(*writer))
                {
                    wrong.push(format!(
                        "table {n} row {id}: {writer} is not there, but what was built on it"
                    ));
                }
                let expected = last.and_then(|at| history[at].1.as_ref());
                if expected != rows.get(id) {
                    wrong.push(format!(
                        "table {n} row {id}: {} for {}",
                        show(rows.get(id)),
                        show(expected)
                    ));
                }
            }
            let strange = rows.values().filter(|row| !histories.contains_key(&row.id));
            wrong
                .extend(strange.map(|row| format!("table {n} row {}: {} for none", row.id, show(Some(row)))));
        }
        wrong
    }

    fn go_on_from(&mut self, found: &[(Shape, Rows)]) {
        for (slot, (_, rows)) in self.slots.iter_mut().zip(found) {
            slot.rows = rows
                .values()
                .map(|row| (row.id, vec![(row.writer, Some(row.clone()))]))
                .collect();
        }
        let there = found.iter().flat_map(|(_, rows)| rows.values());
        self.ends = there.map(|row| (row.writer, End::Certain)).collect();
    }
}

fn show(row: Option<&Row>) -> String {
    match row {
        Some(row) => format!(
            "one of {} (k {:?}, u {:?}, {} bytes)",
            row.writer, row.k, row.u, row.c.len
        ),
        None => "none".into(),
    }
}

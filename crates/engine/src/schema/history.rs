//! How the rows of a table came to have their columns: the changes of columns that left the rows as they were.
//!
//! A row is stored under the *version* of the definition that it was written by: 0 of a table as it was created, one more for
//! each change. A step leads from one version to the next: it says what becomes of each column there was, and which value a
//! column that comes has in the rows of before. From the columns of today the steps are followed back.
//!
//! ```text
//!  history := nothing, if no change has left the rows | steps u16 | step of version 0, of version 1, …
//!  step    := columns before u16 | of each: its place after u16, or FFFF and the column | columns that come u16 | of each: value
//!  value   := place u16 | length u32, or FFFF FFFF for NULL | bytes as they stand in a row
//! ```
//!
//! The columns that come stand in the order of their places; together with those that stay they are all columns after.

use super::{Column, decode_column, encode_column};
use crate::bytes::ByteReader;
use std::sync::Arc;

/// How many times columns of a table can come and go while its rows stay; MySQL allows as many.
pub const ROW_VERSIONS_MAX: usize = 255;

/// A value as it stands in a row; `None`: NULL.
pub(crate) type StoredValue = Option<Arc<[u8]>>;

const GONE: u16 = u16::MAX;
const NULL: u32 = u32::MAX;

/// What a step does to a column that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has this place afterwards.
    Stays(usize),
    /// It is dropped; the rows still have it.
    Goes(Column),
}

/// From the columns of one version to those of the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Of each column before, in order.
    pub fates: Vec<Fate>,
    /// The columns that come: place afterwards, and value in the rows of before.
    pub comes: Vec<(usize, StoredValue)>,
}

/// The steps from the table as it was created to the table as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    pub steps: Vec<Step>,
}

/// How rows of one version have the columns of today.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Past {
    /// The columns as rows of the version have them, each with its number today; `None`: dropped since.
    pub stored: Vec<(Column, Option<usize>)>,
    /// The columns of today that rows of the version lack, by number, and their values.
    pub lacking: Vec<(usize, StoredValue)>,
}

impl Past {
    pub fn of_today(columns: &[Column]) -> Past {
        Past {
            stored: (0..).zip(columns).map(|(i, column)| (*column, Some(i))).collect(),
            lacking: Vec::new(),
        }
    }

    /// Of the version before; `None` if the step does not lead to this one.
    fn before(&self, step: &Step) -> Option<Past> {
        let mut reached = vec![false; self.stored.len()];
        let mut reach = |place: usize| {
            let free = reached.get_mut(place).filter(|reached| !**reached);
            free.map(|reached| *reached = true)
        };
        let mut past = Past {
            stored: Vec::with_capacity(step.fates.len()),
            lacking: self.lacking.clone(),
        };
        for fate in &step.fates {
            past.stored.push(match *fate {
                Fate::Goes(column) => (column, None),
                Fate::Stays(place) => {
                    reach(place)?;
                    self.stored[place]
                }
            });
        }
        for (place, value) in &step.comes {
            reach(*place)?;
            let (column, now) = self.stored[*place];
            let fits = match value {
                None => column.nullable,
                Some(bytes) => column.ty.fixed_len().is_none_or(|len| len == bytes.len()),
            };
            if !fits {
                return None;
            }
            past.lacking.extend(now.map(|now| (now, value.clone())));
        }
        reached.iter().all(|reached| *reached).then_some(past)
    }
}

impl History {
    /// The version of rows that are written today.
    pub fn version(&self) -> usize {
        self.steps.len()
    }

    /// How rows of each version, 0 first, have these columns, which the table has today. `None` if the steps do not lead to them.
    pub fn pasts(&self, columns: &[Column]) -> Option<Vec<Past>> {
        let mut pasts = vec![Past::of_today(columns)];
        for step in self.steps.iter().rev() {
            let before = pasts[pasts.len() - 1].before(step)?;
            pasts.push(before);
        }
        pasts.reverse();
        Some(pasts)
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        if self.steps.is_empty() {
            return;
        }
        out.extend((self.steps.len() as u16).to_le_bytes());
        for step in &self.steps {
            out.extend((step.fates.len() as u16).to_le_bytes());
            for fate in &step.fates {
                match fate {
                    Fate::Stays(place) => out.extend((*place as u16).to_le_bytes()),
                    Fate::Goes(column) => {
                        out.extend(GONE.to_le_bytes());
                        encode_column(column, out);
                    }
                }
            }
            out.extend((step.comes.len() as u16).to_le_bytes());
            for (place, value) in &step.comes {
                out.extend((*place as u16).to_le_bytes());
                let len = value.as_ref().map_or(NULL, |bytes| bytes.len() as u32);
                out.extend(len.to_le_bytes());
                out.extend_from_slice(value.as_deref().unwrap_or_default());
            }
        }
    }

    /// The history of a table that has these columns today, from its encoding; `None` if the bytes are none.
    pub fn decode(bytes: &[u8], columns: &[Column]) -> Option<History> {
        let mut r = ByteReader(bytes);
        let count = match bytes.is_empty() {
            true => 0,
            false => r.u16()? as usize,
        };
        if count > ROW_VERSIONS_MAX {
            return None;
        }
        let mut steps = Vec::new();
        for _ in 0..count {
            let fates = (0..r.u16()?).map(|_| match r.u16()? {
                GONE => decode_column(&mut r).map(Fate::Goes),
                place => Some(Fate::Stays(place as usize)),
            });
            let fates = fates.collect::<Option<Vec<_>>>()?;
            let comes = (0..r.u16()?).map(|_| {
                let place = r.u16()? as usize;
                let value = match r.u32()? {
                    NULL => None,
                    len => Some(Arc::from(r.take(len as usize)?)),
                };
                Some((place, value))
            });
            let comes = comes.collect::<Option<Vec<_>>>()?;
            steps.push(Step { fates, comes });
        }
        let history = History { steps };
        history.pasts(columns)?;
        Some(history)
    }
}

/// Where the columns of variable length stand in the rows of one version: enough to find those that stand outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VariablePart {
    /// Where the fixed columns end and the end offsets begin.
    pub at: u32,
    /// How many columns of variable length there are.
    pub count: u16,
}

/// Bit of an end offset: the column stands outside the row.
pub(crate) const COLUMN_OUTSIDE: u16 = 0x8000;

impl VariablePart {
    /// Of rows with these columns. Those of a version above 0 begin with its number.
    pub fn of(version: usize, columns: &[Column]) -> VariablePart {
        let nullable = columns.iter().filter(|c| c.nullable).count();
        let fixed = columns.iter().filter_map(|column| column.ty.fixed_len());
        let fixed: usize = fixed.sum();
        VariablePart {
            at: (usize::from(version > 0) + nullable.div_ceil(8) + fixed) as u32,
            count: columns.iter().filter(|c| c.ty.fixed_len().is_none()).count() as u16,
        }
    }

    /// Where the variable columns' bytes begin.
    #[inline]
    pub fn base(&self) -> usize {
        self.at as usize + 2 * self.count as usize
    }

    /// The bytes and outside mark of the `ordinal`-th variable column. Damaged offsets give an empty column, never a
    /// panic: the page's checksum is what notices damage.
    #[inline]
    pub fn get<'a>(&self, row: &'a [u8], ordinal: usize) -> (&'a [u8], bool) {
        let end_at = |o: usize| {
            let at = self.at as usize + 2 * o;
            row.get(at..at + 2)
                .map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
        };
        let base = self.base();
        let start = if ordinal == 0 {
            0
        } else {
            end_at(ordinal - 1) & !COLUMN_OUTSIDE
        } as usize;
        let end = end_at(ordinal);
        (
            row.get(base + start..base + (end & !COLUMN_OUTSIDE) as usize)
                .unwrap_or(&[]),
            end & COLUMN_OUTSIDE != 0,
        )
    }

    /// The columns that stand outside the row, by ordinal, and their references.
    pub fn outside<'a>(&self, row: &'a [u8]) -> impl Iterator<Item = (usize, &'a [u8])> + 'a {
        let part = *self;
        (0..part.count as usize).filter_map(move |ordinal| {
            let (bytes, outside) = part.get(row, ordinal);
            outside.then_some((ordinal, bytes))
        })
    }
}

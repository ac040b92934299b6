//! What stands in an array or object, by number and by name.

use super::view::View;
use super::{damaged, kind};
use crate::error::Result;

/// The values of an array, or the names and values of an object, one after the other: bytes between the ends that the table has.
#[derive(Clone, Copy)]
struct Pieces<'a> {
    bytes: &'a [u8],
    /// Where the table begins, and the last piece ends.
    table: usize,
    /// Bytes of an end.
    width: usize,
}

/// Reads a number of 1, 2 or 4 bytes.
#[inline]
fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    Some(match width {
        1 => usize::from(*bytes.get(at)?),
        2 => usize::from(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?)),
        _ => u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?) as usize,
    })
}

impl<'a> Pieces<'a> {
    /// Returns the pieces of a container whose kind begins at `first`, and how many elements of so many pieces they are.
    #[inline]
    fn of(bytes: &'a [u8], first: u8, pieces_each: usize) -> Result<(Pieces<'a>, usize)> {
        let form = bytes.first().map_or(u8::MAX, |kind| kind.wrapping_sub(first));
        let width = match form {
            0..=2 => 1 << form,
            _ => return Err(damaged()),
        };
        let found = || {
            let end = bytes.len().checked_sub(width)?;
            let count = number(bytes, end, width)?;
            let table = end.checked_sub(count.checked_mul(pieces_each * width)?)?;
            let pieces = Pieces { bytes, table, width };
            (table >= 1).then_some((pieces, count))
        };
        found().ok_or_else(damaged)
    }

    /// Returns a piece. There must be so many.
    #[inline]
    fn get(self, at: usize) -> Result<&'a [u8]> {
        let found = || {
            let end_at = self.table + at * self.width;
            let start = match at {
                0 => 1,
                _ => number(self.bytes, end_at - self.width, self.width)?,
            };
            let end = number(self.bytes, end_at, self.width)?;
            let piece = self.bytes.get(start..end)?;
            (end <= self.table).then_some(piece)
        };
        found().ok_or_else(damaged)
    }
}

/// The elements of an array.
#[derive(Clone, Copy)]
pub struct List<'a> {
    pieces: Pieces<'a>,
    count: usize,
}

impl<'a> List<'a> {
    #[inline]
    pub(super) fn of(bytes: &'a [u8]) -> Result<List<'a>> {
        let (pieces, count) = Pieces::of(bytes, kind::ARRAY, 1)?;
        Ok(List { pieces, count })
    }

    /// Returns the number of elements.
    pub fn len(self) -> usize {
        self.count
    }

    /// Returns an element; `None` if there are not so many.
    #[inline]
    pub fn get(self, at: usize) -> Result<Option<View<'a>>> {
        match at < self.count {
            true => self.pieces.get(at).map(|bytes| Some(View::of(bytes))),
            false => Ok(None),
        }
    }

    /// Returns the elements of a range, which must be within the array.
    pub fn range(self, range: std::ops::Range<usize>) -> impl Iterator<Item = Result<View<'a>>> {
        range.map(move |at| self.pieces.get(at).map(View::of))
    }

    /// Returns the elements in order.
    pub fn iter(self) -> impl Iterator<Item = Result<View<'a>>> {
        self.range(0..self.count)
    }
}

/// The members of an object.
#[derive(Clone, Copy)]
pub struct Members<'a> {
    pieces: Pieces<'a>,
    count: usize,
}

impl<'a> Members<'a> {
    #[inline]
    pub(super) fn of(bytes: &'a [u8]) -> Result<Members<'a>> {
        let (pieces, count) = Pieces::of(bytes, kind::OBJECT, 2)?;
        Ok(Members { pieces, count })
    }

    /// Returns the number of members.
    pub fn len(self) -> usize {
        self.count
    }

    /// Returns the member of this name.
    #[inline]
    pub fn named(self, name: &str) -> Result<Option<View<'a>>> {
        let wanted = (name.len(), name.as_bytes());
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.pieces.get(2 * middle)?;
            match (found.len(), found).cmp(&wanted) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    return self.pieces.get(2 * middle + 1).map(|bytes| Some(View::of(bytes)));
                }
            }
        }
        Ok(None)
    }

    /// Returns names and values in order.
    pub fn iter(self) -> impl Iterator<Item = Result<(&'a str, View<'a>)>> {
        (0..self.count).map(move |at| {
            let name = std::str::from_utf8(self.pieces.get(2 * at)?).map_err(|_| damaged())?;
            Ok((name, View::of(self.pieces.get(2 * at + 1)?)))
        })
    }

    /// Returns the values in the order of the names.
    pub fn values(self) -> impl Iterator<Item = Result<View<'a>>> {
        (0..self.count).map(move |at| self.pieces.get(2 * at + 1).map(View::of))
    }
}

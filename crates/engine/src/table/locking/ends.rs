//! What keeps the ends of a range as they are.
//!
//! A scan locks something at the first entry that is not in its range any more, for only there does the range's last gap
//! end. What, depends on how it finds out that the entry lies beyond:
//!
//! | range | where gaps are locked | where they are not |
//! |---|---|---|
//! | equality | the gap | nothing |
//! | of the clustered index | the gap; nothing behind the very row that the range ends with, unless it is the last of all | the row, until it is seen to lie beyond; an UPDATE passes over what others have locked |
//! | of another, if the index tells (a query) | the entry and its gap | the entry, until then |
//! | … if the row must be looked at (a change, or `FOR UPDATE` of what the index covers) | the entry and its gap, and its row | both, until then |
//!
//! What is marked deleted cannot tell: the scan locks it and looks at the next. If nothing comes next, a scan whose range is not
//! tested against entries stops without the supremum: that the last entry lies behind the range is seen at the end of its page.

use super::super::entry::{EntryHead, Head};
use super::super::schema::IndexNo;
use super::super::{Keep, Table};
use super::{Course, Got, Step};
use crate::error::Result;
use crate::ids::TxnId;
use crate::lock::{SUPREMUM, Want};
use crate::transaction::Inner;
use crate::tree::{LeafRead, LeafWrite, NextLeaf, Node};

impl Table {
    pub(super) fn lock_gap(&self, t: &mut Inner, course: &Course<'_>, key: &[u8], writer: TxnId) {
        let locks = &self.indexes[course.n].locks;
        t.lock_gap(course.core, locks, key, course.lock.mode, writer);
    }

    /// Locks the upper end of a range, at an entry behind it.
    pub(super) fn lock_beyond(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Step> {
        let n = course.n;
        if course.gaps && (course.shape.equality || n == 0) {
            self.lock_gap(t, course, key, self.writer(n, value));
            return Ok(Step::Stop);
        }
        if course.shape.equality {
            return Ok(Step::Stop);
        }
        if n == 0 && course.judge.is_some() {
            // Locked for a moment, if nobody else has it.
            let (locks, writer) = (&self.indexes[0].locks, self.writer(0, value));
            if !t.is_locked(course.core, locks, key, writer) {
                t.note_write(course.core, locks, key);
            }
            return Ok(Step::Stop);
        }
        let want = Want::scanned(course.lock.mode, course.gaps);
        let fresh = match self.get_lock(t, course, n, key, want, self.writer(n, value))? {
            Got::Wait(lock) => return Ok(Step::Wait(lock)),
            Got::Skipped => return Ok(Step::Over),
            Got::Held { fresh } => fresh,
        };
        let mut is_row = !self.is_deleted(n, value);
        if is_row && n != 0 && course.lock.looks_at_rows() {
            let primary_key = &key[self.entries[n - 1].primary_at(key)..];
            is_row = false;
            let row = self.lock_row_of(t, course, primary_key, &mut |_| {
                is_row = true;
                Ok(Keep::Release)
            })?;
            match row {
                Got::Wait(lock) => {
                    course.fresh = fresh.then(|| key.to_vec());
                    return Ok(Step::Wait(lock));
                }
                Got::Skipped => return Ok(Step::Over),
                Got::Held { fresh: false } => return Ok(if is_row { Step::Stop } else { Step::Over }),
                Got::Held { fresh: true } => {}
            }
        }
        course.let_go(self, t, n, key, want, fresh);
        Ok(if is_row { Step::Stop } else { Step::Over })
    }

    /// The same at the lower end, for who comes down; `found` says whether there was a row. An equality without any stops
    /// at the gap.
    pub(super) fn lock_before(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        value: &[u8],
        found: bool,
    ) -> Result<Step> {
        if course.shape.equality && !found {
            if course.gaps {
                self.lock_gap(t, course, key, self.writer(course.n, value));
            }
            return Ok(Step::Stop);
        }
        let want = Want::scanned(course.lock.mode, course.gaps);
        let fresh = match self.get_lock(t, course, course.n, key, want, self.writer(course.n, value))? {
            Got::Wait(lock) => return Ok(Step::Wait(lock)),
            Got::Skipped => return Ok(Step::Stop),
            Got::Held { fresh } => fresh,
        };
        match (course.n, course.shape.equality) {
            // The row is read before it turns out not to be meant, and stays locked.
            (0, _) => {}
            (n, true) if !EntryHead::of(value).is_deleted() => {
                let primary_key = &key[self.entries[n - 1].primary_at(key)..];
                let row = self.lock_row_of(t, course, primary_key, &mut |_| Ok(Keep::Locked))?;
                if let Got::Wait(lock) = row {
                    return Ok(Step::Wait(lock));
                }
            }
            (n, _) => course.let_go(self, t, n, key, want, fresh),
        }
        Ok(Step::Stop)
    }

    fn writer(&self, n: IndexNo, value: &[u8]) -> TxnId {
        match n {
            0 => Head::of(value).writer,
            _ => EntryHead::of(value).writer,
        }
    }

    fn is_deleted(&self, n: IndexNo, value: &[u8]) -> bool {
        match n {
            0 => Head::of(value).is_deleted(),
            _ => EntryHead::of(value).is_deleted(),
        }
    }
}

/// A leaf in hand that the next can be reached from.
pub(in crate::table) trait Latched<'t> {
    fn node(&self) -> Node<'_>;
    fn next(&self) -> Result<NextLeaf<'t>>;
}

impl<'t> Latched<'t> for LeafRead<'t> {
    fn node(&self) -> Node<'_> {
        LeafRead::node(self)
    }
    fn next(&self) -> Result<NextLeaf<'t>> {
        Ok(self.next_held()?)
    }
}

impl<'t> Latched<'t> for LeafWrite<'t> {
    fn node(&self) -> Node<'_> {
        LeafWrite::node(self)
    }
    fn next(&self) -> Result<NextLeaf<'t>> {
        Ok(self.next_held()?)
    }
}

/// Calls `f` with the first key at or behind a slot of the leaf, and its writer, or the supremum, while all leaves up to it are latched.
/// Answers false if they could not be latched from here: let go and come again.
pub(in crate::table) fn key_behind<'t>(
    leaf: &dyn Latched<'t>,
    slot: usize,
    f: &mut dyn FnMut(&[u8], TxnId),
) -> Result<bool> {
    let node = leaf.node();
    if slot < node.count() {
        let (key, value) = node.entry(slot);
        // A row's value begins like an entry's.
        f(key, EntryHead::of(value).writer);
        return Ok(true);
    }
    match leaf.next()? {
        NextLeaf::Leaf(next) => key_behind(&next, 0, f),
        NextLeaf::End => {
            f(SUPREMUM, TxnId::NONE);
            Ok(true)
        }
        NextLeaf::Busy => Ok(false),
    }
}

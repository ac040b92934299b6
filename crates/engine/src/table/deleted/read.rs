//! Reading in an old view: what stands in an index and what is in its graveyard, as one.
//!
//! A scan continues here from the first leaf on at which its view is found to be older than something buried. It takes the
//! index leaf by leaf, and for the keys that the leaf covers, with the leaf in hand, what is buried among them: a stretch at
//! a time, so that no leaf is held for long if little is left in the index and much beside it.

use super::super::entry::{EntryHead, stored_of};
use super::super::reader::{Reader, ScanRange};
use super::super::row::RowView;
use super::super::{Flow, Table};
use super::store::{Buried, SameKey, Wanted};
use crate::error::{Error, Result};
use crate::ids::TxnId;
use crate::mvcc::{Seen, View};
use crate::txn::Txn;

/// Buried entries that a long scan takes at a time: about as many as there may be beside those of a leaf.
pub(in crate::table) const STRETCH: usize = 512;
/// And one that may soon have enough.
pub(in crate::table) const STRETCH_MIN: usize = 64;

/// What a scan finds under a key.
pub(in crate::table) enum Candidate<'a> {
    /// An entry of the index, key and value. It shadows what is buried under the same key.
    InIndex(&'a [u8], &'a [u8]),
    /// What is buried under a key of which the index has no entry that shadows it; the latest first.
    Deleted(SameKey<'a>),
}

/// What a secondary entry tells by itself. The table stands in the folder's head.
pub(in crate::table) enum Visibility<'a> {
    /// By this key and with these stored columns.
    Visible(&'a [u8], &'a [u8]),
    Hidden,
    /// The row must be checked for whether its visible version has the entry of this key.
    NeedsRowCheck(&'a [u8]),
}

impl Reader<'_> {
    /// Decides a secondary entry by itself, as far as that is possible.
    #[inline]
    pub fn entry_visibility<'a>(&self, candidate: &Candidate<'a>) -> Visibility<'a> {
        use Visibility::{Hidden, NeedsRowCheck, Visible};
        let has_written = self.own != TxnId::NONE;
        let buried = match *candidate {
            Candidate::InIndex(key, value) => {
                let head = EntryHead::of(value);
                return match (self.sees(head.writer), head.is_deleted(), head.inserter) {
                    (true, false, _) => Visible(key, stored_of(value)),
                    (true, true, _) if has_written && head.writer == self.own => NeedsRowCheck(key),
                    (true, true, _) => Hidden,
                    (false, _, Some(_)) if has_written => NeedsRowCheck(key),
                    (false, _, None) => NeedsRowCheck(key),
                    (false, true, Some(inserter)) if self.sees(inserter) => Visible(key, stored_of(value)),
                    (false, _, Some(_)) => Hidden,
                };
            }
            Candidate::Deleted(group) => group.first(),
        };
        if self.sees(buried.deleter) {
            return Hidden;
        }
        match buried.validity {
            Some(v) if !has_written && self.sees(v.begin) && !self.sees(v.end) => {
                Visible(buried.key, v.stored)
            }
            _ => NeedsRowCheck(buried.key),
        }
    }

    /// True if a secondary entry of this value shadows deleted entries stored for the same key. One that was freshly inserted
    /// after what is seen does not; but a transaction that has written checks the row in any case.
    #[inline]
    pub fn shadows(&self, value: &[u8]) -> bool {
        let head = EntryHead::of(value);
        self.own != TxnId::NONE || head.inserter.is_none_or(|inserter| self.sees(inserter))
    }

    /// Shows the version of a buried row that the view sees, if there is one. The caller holds the leaf of the key.
    pub fn deleted_row(
        &self,
        view: &View,
        key: &[u8],
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        let graveyard = &self.table.indexes[0].graveyard;
        if !graveyard.concerns(view) {
            return Ok(false);
        }
        let buried = graveyard.under(key)?;
        self.any_deleted_row(view, &mut buried.iter(), buffer, f)
    }

    /// Like [`Self::deleted_row`], for entries of one key that were collected before, the latest first.
    pub fn any_deleted_row<'b>(
        &self,
        view: &View,
        buried: &mut dyn Iterator<Item = Buried<'b>>,
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        let mvcc = &self.kernel.mvcc;
        for row in buried {
            if view.sees(row.deleter, &mvcc.txns) {
                return Ok(false);
            }
            // No version here is the reader's own: the transaction that deleted the row has ended.
            match mvcc.walk(view, TxnId::NONE, row.older, buffer)? {
                Seen::Nothing => return Ok(false),
                Seen::Row { flags } => return self.show(row.key, flags, buffer, f),
                Seen::Unborn => {}
            }
        }
        Ok(false)
    }

    /// Calls `f` with everything in the range, of the index and of its graveyard, in order. Entries of the index that do not
    /// shadow (`shadows` of their value is false) are passed over: where nearly all are, as in an index whose rows have all
    /// moved, they cost next to nothing. `stretch` is how many buried entries to take at a time.
    pub fn scan_both(
        &self,
        mut range: ScanRange,
        stretch: usize,
        shadows: &dyn Fn(&[u8]) -> bool,
        f: &mut dyn FnMut(Candidate<'_>) -> Result<Flow>,
    ) -> Result<()> {
        let index = &self.table.indexes[range.index];
        let (span, reverse) = (&mut range.span, range.reverse);
        let mut found = index.graveyard.stretch();
        for steps in 0.. {
            self.check()?;
            let leaf = match (reverse, &span.upper) {
                (false, _) => index.tree.read_in_scan(&span.lower, steps)?,
                (true, Some(upper)) => index.tree.read_below_in_scan(upper, steps)?,
                (true, None) => index.tree.read_last()?,
            };
            leaf.warm();
            let node = leaf.node();
            // The part of the span that the leaf covers.
            let lower = span.lower.as_slice().max(node.lower_fence());
            let fence = Some(node.upper_fence()).filter(|fence| !fence.is_empty());
            let upper = match (span.upper.as_deref(), fence) {
                (Some(upper), Some(fence)) => Some(upper.min(fence)),
                (upper, fence) => upper.or(fence),
            };
            found.clear();
            let wanted = Wanted {
                lower,
                upper,
                reverse,
                most: stretch,
            };
            let all = index.graveyard.collect(&wanted, steps, &mut found)?;
            // Not more of the leaf than of what is buried.
            let last = found.last_key().filter(|_| !all).map(<[u8]>::to_vec);
            let at = |key: &[u8]| node.search(key).unwrap_or_else(|slot| slot);
            let behind = |key: &[u8]| node.search(key).map_or_else(|slot| slot, |slot| slot + 1);
            let whole = at(lower)..upper.map_or(node.count(), at);
            let mut slots = match (&last, reverse) {
                (None, _) => whole,
                (Some(last), false) => whole.start..behind(last),
                (Some(last), true) => at(last)..whole.end,
            };
            let mut buried = found.group_at(0, reverse);
            while let Some(slot) = if reverse { slots.next_back() } else { slots.next() } {
                let (key, value) = node.entry(slot);
                if !shadows(value) {
                    continue;
                }
                while let Some(group) = buried {
                    let order = group.key().cmp(key);
                    let order = if reverse { order.reverse() } else { order };
                    if order.is_gt() {
                        break;
                    }
                    buried = found.group_at(group.end(), reverse);
                    if order.is_lt() && f(Candidate::Deleted(group))? == Flow::Stop {
                        return Ok(());
                    }
                }
                if f(Candidate::InIndex(key, value))? == Flow::Stop {
                    return Ok(());
                }
            }
            while let Some(group) = buried {
                buried = found.group_at(group.end(), reverse);
                if f(Candidate::Deleted(group))? == Flow::Stop {
                    return Ok(());
                }
            }
            let more = match (last, reverse) {
                (Some(last), _) => {
                    span.go_on_after(&last, reverse);
                    true
                }
                (None, false) => {
                    let fence = node.upper_fence().to_vec();
                    !fence.is_empty() && span.go_on_at(&fence, false)
                }
                (None, true) => {
                    let fence = node.lower_fence().to_vec();
                    !fence.is_empty() && fence > span.lower && span.go_on_at(&fence, true)
                }
            };
            if !more {
                break;
            }
        }
        Ok(())
    }
}

impl Table {
    /// With snapshot isolation on, a row that has changed since the view must be neither locked nor changed
    /// ([`Error::RecordChanged`]). That includes rows deleted since, of which only the graveyard may know: checks that no
    /// row within these bounds, which the transaction has locked, is among them.
    pub(in crate::table) fn check_none_buried(
        &self,
        txn: &Txn<'_>,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<()> {
        const AT_A_TIME: usize = 64;
        let graveyard = &self.indexes[0].graveyard;
        let Some(view) = txn.view_to_keep().filter(|view| graveyard.concerns(view)) else {
            return Ok(());
        };
        let txns = &txn.kernel.mvcc.txns;
        let mut lower = lower.to_vec();
        let mut found = graveyard.stretch();
        loop {
            found.clear();
            let wanted = Wanted {
                lower: &lower,
                upper,
                reverse: false,
                most: AT_A_TIME,
            };
            let all = graveyard.collect(&wanted, 0, &mut found)?;
            if found.iter().any(|buried| !view.sees(buried.deleter, txns)) {
                return Err(Error::RecordChanged);
            }
            match found.last_key() {
                Some(last) if !all => {
                    lower.clear();
                    lower.extend_from_slice(last);
                    lower.push(0);
                }
                _ => return Ok(()),
            }
        }
    }

    /// Like [`Self::check_none_buried`], for one key.
    pub(in crate::table) fn check_not_buried(&self, txn: &Txn<'_>, key: &[u8]) -> Result<()> {
        if txn.view_to_keep().is_none() {
            return Ok(());
        }
        let mut end = key.to_vec();
        end.push(0);
        self.check_none_buried(txn, key, Some(&end))
    }
}

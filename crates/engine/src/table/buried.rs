//! Reading in an old view: what stands in an index and what is buried beside it, as one.
//!
//! A scan goes on here from the first leaf on at which its view is found to be older than something buried. It takes
//! the index leaf by leaf, and for the keys that the leaf covers, with the leaf in hand, what is buried among them: a
//! stretch at a time, so that no leaf is held for long if little is left in the index and much beside it.

use super::graveyard::{Buried, Group};
use super::range::Span;
use super::row::RowView;
use super::schema::IndexNo;
use super::{Flow, Table};
use crate::core::Core;
use crate::error::Result;
use crate::ids::TxnId;
use crate::mvcc::{Seen, View, walk};
use crate::transaction::Inner;

/// Buried entries that a long scan takes at a time: about as many as there may be beside those of a leaf.
pub(super) const STRETCH: usize = 512;
/// And one that may soon have enough.
pub(super) const STRETCH_MIN: usize = 64;

/// What a scan of both comes to.
pub(super) enum Met<'a> {
    /// An entry of the index, key and value. It speaks for what is buried under the same key, too.
    Entry(&'a [u8], &'a [u8]),
    /// What is buried under a key of which the index has no entry that speaks.
    Buried(Group<'a>),
}

impl Table {
    /// Shows the version of a row that the view sees, if it was buried. The caller holds the leaf of the key.
    pub(super) fn see_buried(
        &self,
        core: &Core,
        view: &View,
        key: &[u8],
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        let graveyard = &self.indexes[0].graveyard;
        if !graveyard.concerns(view) {
            return Ok(false);
        }
        let buried = graveyard.under(key)?;
        self.see_any_of(core, view, &mut buried.iter(), buffer, f)
    }

    /// The same of what was found already.
    pub(super) fn see_any_of<'b>(
        &self,
        core: &Core,
        view: &View,
        buried: &mut dyn Iterator<Item = Buried<'b>>,
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        for row in buried {
            if view.sees(row.deleter, &core.txns) {
                return Ok(false);
            }
            // Nobody's own: whoever deleted it has ended.
            let own = TxnId::NONE;
            match walk(&core.versions(), &core.txns, view, own, row.older, buffer)? {
                Seen::Nothing => return Ok(false),
                Seen::Row { flags } => return self.show(row.key, flags, buffer, f),
                Seen::Unborn => {}
            }
        }
        Ok(false)
    }

    /// Calls `f` with everything in the span, of the index and of what is buried beside it, in order. Entries of whose
    /// values `speaks` is not true are passed over: where nearly all are, as in an index whose rows have all moved, they
    /// cost next to nothing. `stretch` is how many buried entries to take at a time.
    pub(super) fn scan_both(
        &self,
        t: &Inner,
        n: IndexNo,
        mut span: Span,
        reverse: bool,
        stretch: usize,
        speaks: &dyn Fn(&[u8]) -> bool,
        f: &mut dyn FnMut(Met<'_>) -> Result<Flow>,
    ) -> Result<()> {
        let index = &self.indexes[n];
        let mut found = index.graveyard.stretch();
        for steps in 0.. {
            t.check()?;
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
            let all = index
                .graveyard
                .collect(lower, upper, reverse, steps, stretch, &mut found)?;
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
                if !speaks(value) {
                    continue;
                }
                while let Some(group) = buried {
                    let order = group.key().cmp(key);
                    let order = if reverse { order.reverse() } else { order };
                    if order.is_gt() {
                        break;
                    }
                    buried = found.group_at(group.end(), reverse);
                    if order.is_lt() && f(Met::Buried(group))? == Flow::Stop {
                        return Ok(());
                    }
                }
                if f(Met::Entry(key, value))? == Flow::Stop {
                    return Ok(());
                }
            }
            while let Some(group) = buried {
                buried = found.group_at(group.end(), reverse);
                if f(Met::Buried(group))? == Flow::Stop {
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

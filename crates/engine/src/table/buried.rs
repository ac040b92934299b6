//! Reading in an old view: what stands in an index and what is buried beside it, as one.
//!
//! A scan goes on here from the first leaf on at which its view is found to be older than something buried. It takes
//! the index leaf by leaf, and for the keys that the leaf covers, with the leaf in hand, what is buried among them: a
//! stretch at a time, so that no leaf is held for long if little is left in the index and much beside it.

use super::graveyard::Buried;
use super::range::Span;
use super::row::RowView;
use super::schema::IndexNo;
use super::{Flow, Table};
use crate::core::Core;
use crate::error::Result;
use crate::ids::TxnId;
use crate::mvcc::{Seen, View, walk};
use crate::transaction::Inner;

/// Buried entries taken at a time.
const STRETCH: usize = 256;

/// What a scan of both comes to.
pub(super) enum Met<'a> {
    /// An entry of the index, key and value, and what is buried under the same key.
    Entry(&'a [u8], &'a [u8], &'a [Buried]),
    /// What is buried under a key that the index has no entry of: the latest first.
    Buried(&'a [Buried]),
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
    pub(super) fn see_any_of(
        &self,
        core: &Core,
        view: &View,
        buried: &mut dyn Iterator<Item = &Buried>,
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
                Seen::Row { flags } => return self.show(&row.key, flags, buffer, f),
                Seen::Unborn => {}
            }
        }
        Ok(false)
    }

    /// Calls `f` with everything in the span, of the index and of what is buried beside it, in order.
    pub(super) fn scan_both(
        &self,
        t: &Inner,
        n: IndexNo,
        mut span: Span,
        reverse: bool,
        f: &mut dyn FnMut(Met<'_>) -> Result<Flow>,
    ) -> Result<()> {
        let index = &self.indexes[n];
        let mut found = Vec::new();
        for steps in 0.. {
            t.check()?;
            let leaf = match (reverse, &span.upper) {
                (false, _) => index.tree.read_in_scan(&span.lower, steps)?,
                (true, Some(upper)) => index.tree.read_below_in_scan(upper, steps)?,
                (true, None) => index.tree.read_last()?,
            };
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
                .collect(lower, upper, reverse, steps, STRETCH, &mut found)?;
            // Not more of the leaf than of what is buried.
            let last = found.last().filter(|_| !all).map(|b| b.key.clone());
            let at = |key: &[u8]| node.search(key).unwrap_or_else(|slot| slot);
            let behind = |key: &[u8]| node.search(key).map_or_else(|slot| slot, |slot| slot + 1);
            let whole = at(lower)..upper.map_or(node.count(), at);
            let mut slots = match (&last, reverse) {
                (None, _) => whole,
                (Some(last), false) => whole.start..behind(last),
                (Some(last), true) => at(last)..whole.end,
            };
            if reverse {
                // Backwards by key, but the latest of a key first.
                found
                    .chunk_by_mut(|a, b| a.key == b.key)
                    .for_each(<[Buried]>::reverse);
            }
            let mut buried = found.chunk_by(|a, b| a.key == b.key).peekable();
            loop {
                let slot = match reverse {
                    _ if slots.is_empty() => None,
                    false => Some(slots.start),
                    true => Some(slots.end - 1),
                };
                let order = match (slot, buried.peek()) {
                    (None, None) => break,
                    (Some(_), None) => std::cmp::Ordering::Less,
                    (None, Some(_)) => std::cmp::Ordering::Greater,
                    (Some(slot), Some(rows)) => {
                        let order = node.key(slot).cmp(&rows[0].key);
                        if reverse { order.reverse() } else { order }
                    }
                };
                let flow = match slot {
                    Some(slot) if order.is_le() => {
                        if reverse {
                            slots.end -= 1;
                        } else {
                            slots.start += 1;
                        }
                        let under = if order.is_eq() { buried.next() } else { None };
                        let (key, value) = node.entry(slot);
                        f(Met::Entry(key, value, under.unwrap_or_default()))?
                    }
                    _ => match buried.next() {
                        Some(rows) => f(Met::Buried(rows))?,
                        None => Flow::Continue,
                    },
                };
                if flow == Flow::Stop {
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

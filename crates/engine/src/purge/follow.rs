//! Following hints: what they name is taken out, if nobody can see it any more; or moved out of the way, if nobody but an
//! old view can.
//!
//! *Gone.* The entry is marked deleted, by a writer whom every view sees.
//!
//! *Wanted by nobody.* Some view does not see who deleted the entry, but none needs it: of a row, pruning leaves nothing of
//! its chain; of a secondary entry, no version of its row that is needed has it. A queue's rows, born and deleted between
//! two old views, go at once.
//!
//! *Wanted by the old.* The entry goes to the graveyard beside its index.
//!
//! Both latches are taken in the order in which readers take them, secondary leaf and then clustered leaf, so whoever
//! looks sees the entry in one place.

use super::batch::{Batch, Verdict, each_deleted};
use crate::core::Core;
use crate::error::Result;
use crate::ids::{PageId, TxnId};
use crate::mvcc::{self, Address, Chain, Record};
use crate::table::{EntryHead, Head, IndexNo, OUTSIDE, Table, Wanted, Witness, first_page};
use crate::tree::LeafWrite;

/// Takes out what the batch names and every view sees deleted, and frees the chains that stood outside such rows.
pub(super) fn follow(core: &Core, batch: &mut Batch, outside: &[PageId]) -> Result<()> {
    let all_see = |writer| core.view_copy.certainly_all_see(writer, &core.txns);
    batch.drain(&mut |table, n, keys| remove(core, table, n, keys, &all_see))?;
    outside
        .iter()
        .try_for_each(|first| core.catalog.free_chain(*first, &all_see))
}

/// What may be left behind outside a row that a hint names: the chains' first pages.
pub(super) fn outside_of(core: &Core, hint: &Record) -> Vec<PageId> {
    let version = &hint.version;
    if version.flags & mvcc::ROW == 0 || version.row_flags & OUTSIDE == 0 {
        return Vec::new();
    }
    // The chains of a dropped table go with its trees.
    core.catalog.table(version.table).map_or(Vec::new(), |table| {
        let outside = table.layout.outside(&hint.columns);
        outside.filter_map(|(_, r)| first_page(r)).collect()
    })
}

/// Moves what the batch names out of the way, or out, as far as old views allow. Answers whether the hints have done their
/// work with that.
pub(super) fn follow_early(core: &Core, batch: &mut Batch) -> Result<bool> {
    let ended = |writer| core.view_copy.with(|copy| copy.knows_end_of(writer, &core.txns));
    let mut all = true;
    batch.drain(&mut |table, n, keys| {
        each_deleted(table, n, keys, &ended, &mut |leaf, slot, key| {
            let verdict = match n {
                0 => bury_row(core, table, leaf, slot, key)?,
                n => bury_entry(core, table, n, leaf, slot, key)?,
            };
            all &= !matches!(verdict, Verdict::Later);
            Ok(verdict)
        })
    })?;
    Ok(all)
}

/// Takes out, of some entries in order, those that are marked deleted by a writer of whom `gone` is true. Their locks are
/// handed on.
pub(super) fn remove<K: AsRef<[u8]>>(
    core: &Core,
    table: &Table,
    n: IndexNo,
    keys: &[K],
    gone: &dyn Fn(TxnId) -> bool,
) -> Result<()> {
    each_deleted(table, n, keys, gone, &mut |leaf, slot, _| {
        Ok(match table.hand_on_locks(core, n, leaf, slot, None)? {
            true => Verdict::TakeOut,
            false => Verdict::AskAgain,
        })
    })
}

fn bury_row(
    core: &Core,
    table: &Table,
    leaf: &mut LeafWrite<'_>,
    slot: usize,
    key: &[u8],
) -> Result<Verdict> {
    if !table.hand_on_locks(core, 0, leaf, slot, None)? {
        return Ok(Verdict::AskAgain);
    }
    let head = Head::of(leaf.node().value(slot));
    let chain = prune(core, head.writer, head.older)?;
    if chain.first != Address::NONE {
        let now = core.view_copy.with(|copy| copy.horizon());
        let graveyard = &table.indexes[0].graveyard;
        if !graveyard.bury_row(key, head.writer, chain.first, now)? {
            relink(core, leaf, slot, &head, &chain)?;
            return Ok(Verdict::Later);
        }
    }
    // It is buried: the leaf must lose it, whatever becomes of what nobody needs.
    let _ = core.versions().discard_until(head.older, chain.dropped_until);
    Ok(Verdict::TakeOut)
}

fn bury_entry(
    core: &Core,
    table: &Table,
    n: IndexNo,
    leaf: &mut LeafWrite<'_>,
    slot: usize,
    key: &[u8],
) -> Result<Verdict> {
    let wanted = table.who_wants(core, n, key, leaf.node().value(slot))?;
    if matches!(wanted, Wanted::Now) {
        // Somebody is about to bring it back, or fails before he does.
        return Ok(Verdict::Later);
    }
    if !table.hand_on_locks(core, n, leaf, slot, None)? {
        return Ok(Verdict::AskAgain);
    }
    if let Wanted::ByOldViews(witness) = &wanted {
        let deleter = EntryHead::of(leaf.node().value(slot)).writer;
        let now = core.view_copy.with(|copy| copy.horizon());
        let graveyard = &table.indexes[n].graveyard;
        let witness = witness.as_ref().map(Witness::borrowed);
        if !graveyard.bury_entry(key, deleter, witness, now)? {
            return Ok(Verdict::Later);
        }
    }
    Ok(Verdict::TakeOut)
}

/// Has a row lead to what is left of its chain.
pub(super) fn relink(
    core: &Core,
    leaf: &mut LeafWrite<'_>,
    slot: usize,
    head: &Head,
    chain: &Chain,
) -> Result<()> {
    if chain.first != head.older {
        leaf.put_unlogged(slot, Head::OLDER_AT, &chain.first.0.to_le_bytes());
    }
    let versions = core.versions();
    versions.discard_until(head.older, chain.dropped_until)
}

/// Prunes the chain of a row whose leaf the caller holds exclusively.
pub(super) fn prune(core: &Core, writer: TxnId, older: Address) -> Result<Chain> {
    let tide = || core.tide();
    let versions = core.versions();
    core.view_copy
        .prune(&versions, &core.views, &core.txns, tide, writer, older)
}

//! Following a hint: what it names is taken out, if nobody can see it any more; or moved out of the way, if nobody but an
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

use crate::core::Core;
use crate::error::Result;
use crate::ids::TxnId;
use crate::mvcc::{self, Address, Chain, Record};
use crate::table::{EntryHead, Head, IndexNo, OUTSIDE, Table, Wanted, Witness, first_page};
use crate::tree::LeafWrite;

/// Calls `f` with the entries that a hint names, secondary ones first. The row is index 0.
fn each_named(table: &Table, hint: &Record, f: &mut dyn FnMut(IndexNo, &[u8]) -> Result<()>) -> Result<()> {
    let version = &hint.version;
    if version.flags & mvcc::ENTRY != 0 {
        // Index n has bit n − 1; no bit stands for the row.
        let n = (u64::BITS - version.indexes.leading_zeros()) as IndexNo;
        return match n < table.indexes.len() {
            true => f(n, &hint.key),
            false => Ok(()),
        };
    }
    table.each_entry(&hint.key, version.row_flags, &hint.columns, version.indexes, f)?;
    match version.flags & mvcc::ROW {
        0 => Ok(()),
        _ => f(0, &hint.key),
    }
}

/// Follows a hint whose time has come: every view sees the transaction that left it.
pub(super) fn follow(core: &Core, hint: &Record) -> Result<()> {
    // The chains of a dropped table go with its trees.
    let Ok(table) = core.catalog.table(hint.version.table) else {
        return Ok(());
    };
    let all_see = |writer| core.view_copy.certainly_all_see(writer, &core.txns);
    each_named(&table, hint, &mut |n, key| {
        remove_if(core, &table, n, key, &all_see)
    })?;
    if hint.version.flags & mvcc::ROW != 0 && hint.version.row_flags & OUTSIDE != 0 {
        let firsts: Vec<_> = table
            .layout
            .outside(&hint.columns)
            .filter_map(|(_, r)| first_page(r))
            .collect();
        for first in firsts {
            core.catalog.free_chain(first, &all_see)?;
        }
    }
    Ok(())
}

/// Follows a hint that an old view holds back. Answers whether nothing is left to be done about it.
pub(super) fn follow_early(core: &Core, hint: &Record) -> Result<bool> {
    let Ok(table) = core.catalog.table(hint.version.table) else {
        return Ok(true);
    };
    each_named(&table, hint, &mut |n, key| match n {
        0 => bury_row(core, &table, key),
        n => bury_entry(core, &table, n, key),
    })?;
    // What stands outside a row is kept until every view has passed.
    Ok(hint.version.row_flags & OUTSIDE == 0)
}

pub(super) fn is_gone(n: IndexNo, value: &[u8], gone: &dyn Fn(TxnId) -> bool) -> bool {
    let head = match n {
        0 => Head::of(value).entry(),
        _ => EntryHead::of(value),
    };
    head.is_deleted() && gone(head.writer)
}

/// Takes an entry out that is marked deleted by a writer of whom `gone` is true. Its locks are handed on.
pub(super) fn remove_if(
    core: &Core,
    table: &Table,
    n: IndexNo,
    key: &[u8],
    gone: &dyn Fn(TxnId) -> bool,
) -> Result<()> {
    while let Some((leaf, slot)) = deleted_entry(table, n, key, gone)? {
        if table.hand_on_locks(core, n, &leaf, slot, None)? {
            return take_out(table, n, leaf, slot, key);
        }
    }
    Ok(())
}

/// The leaf and slot of an entry that is marked deleted by a writer of whom `judged` is true.
fn deleted_entry<'t>(
    table: &'t Table,
    n: IndexNo,
    key: &[u8],
    judged: &dyn Fn(TxnId) -> bool,
) -> Result<Option<(LeafWrite<'t>, usize)>> {
    let tree = &table.indexes[n].tree;
    // A look first: most often there is nothing to do, and nothing to write.
    if !tree
        .read(key)?
        .get(key)
        .is_some_and(|value| is_gone(n, value, judged))
    {
        return Ok(None);
    }
    let leaf = tree.write(key)?;
    Ok(match leaf.node().search(key) {
        Ok(slot) if is_gone(n, leaf.node().value(slot), judged) => Some((leaf, slot)),
        _ => None,
    })
}

/// Takes an entry out of its index.
fn take_out(table: &Table, n: IndexNo, mut leaf: LeafWrite<'_>, slot: usize, key: &[u8]) -> Result<()> {
    leaf.remove(slot);
    let sparse = leaf.is_sparse();
    leaf.finish();
    if sparse {
        table.indexes[n].tree.merge(key)?;
    }
    Ok(())
}

fn bury_row(core: &Core, table: &Table, key: &[u8]) -> Result<()> {
    let ended = |writer| core.view_copy.with(|copy| copy.knows_end_of(writer, &core.txns));
    while let Some((leaf, slot)) = deleted_entry(table, 0, key, &ended)? {
        if !table.hand_on_locks(core, 0, &leaf, slot, None)? {
            continue;
        }
        let head = Head::of(leaf.node().value(slot));
        let chain = prune(core, head.writer, head.older)?;
        if chain.first != Address::NONE {
            let now = core.view_copy.with(|copy| copy.horizon);
            let graveyard = &table.indexes[0].graveyard;
            if !graveyard.bury_row(key, head.writer, chain.first, now)? {
                return relink(core, leaf, slot, &head, &chain);
            }
        }
        let versions = core.versions();
        versions.discard_until(head.older, chain.dropped_until)?;
        return take_out(table, 0, leaf, slot, key);
    }
    Ok(())
}

/// Has a row lead to what is left of its chain.
pub(super) fn relink(
    core: &Core,
    mut leaf: LeafWrite<'_>,
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

fn bury_entry(core: &Core, table: &Table, n: IndexNo, key: &[u8]) -> Result<()> {
    let ended = |writer| core.view_copy.with(|copy| copy.knows_end_of(writer, &core.txns));
    while let Some((leaf, slot)) = deleted_entry(table, n, key, &ended)? {
        let wanted = table.who_wants(core, n, key, leaf.node().value(slot))?;
        if matches!(wanted, Wanted::Now) {
            return Ok(());
        }
        if !table.hand_on_locks(core, n, &leaf, slot, None)? {
            continue;
        }
        if let Wanted::ByOldViews(witness) = &wanted {
            let deleter = EntryHead::of(leaf.node().value(slot)).writer;
            let now = core.view_copy.with(|copy| copy.horizon);
            let graveyard = &table.indexes[n].graveyard;
            let witness = witness.as_ref().map(Witness::borrowed);
            if !graveyard.bury_entry(key, deleter, witness, now)? {
                return Ok(());
            }
        }
        return take_out(table, n, leaf, slot, key);
    }
    Ok(())
}

/// Prunes the chain of a row whose leaf the caller holds exclusively.
pub(super) fn prune(core: &Core, writer: TxnId, older: Address) -> Result<Chain> {
    let tide = || core.tide();
    let versions = core.versions();
    core.view_copy
        .prune(&versions, &core.views, &core.txns, tide, writer, older)
}

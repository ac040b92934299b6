//! Clearing graveyards: what was buried for old views goes when they do. Until one of them has gone, all that is buried stays
//! wanted, and nobody looks through it, however much it is.

use super::follow::prune;
use crate::core::Core;
use crate::error::Result;
use crate::ids::Lsn;
use crate::mvcc::{Address, Need};
use crate::table::{Buried, IndexNo, Table, Wanted};

/// Entries looked at between two latches.
const STRETCH: usize = 256;

/// How many entries are buried.
pub(crate) fn count(core: &Core) -> u64 {
    let tables = core.catalog.tables();
    let indexes = tables.iter().flat_map(|table| &table.indexes);
    indexes.map(|index| index.graveyard.count()).sum()
}

/// Looks through the graveyards in which a view had a part that is gone, and takes away what no view wants any more.
pub(super) fn clear(core: &Core) -> Result<()> {
    let gone = core.view_copy.take_oldest_closed();
    let cleared = clear_of(core, gone);
    if cleared.is_err() {
        core.view_copy.put_oldest_closed(gone);
    }
    cleared
}

fn clear_of(core: &Core, gone: Lsn) -> Result<()> {
    let mut cleared = Ok(());
    for table in core.catalog.tables() {
        // Rows last: a secondary entry is judged by its row.
        for n in (0..table.indexes.len()).rev() {
            let graveyard = &table.indexes[n].graveyard;
            if graveyard.count() > 0 && graveyard.concerned(gone) {
                // Trouble with one keeps no other from being cleared.
                cleared = cleared.and(clear_one(core, &table, n));
            }
        }
    }
    cleared
}

fn clear_one(core: &Core, table: &Table, n: IndexNo) -> Result<()> {
    let graveyard = &table.indexes[n].graveyard;
    let mut from = Vec::new();
    let mut found = graveyard.stretch();
    for steps in 0.. {
        found.clear();
        let all = graveyard.collect(&from, None, false, steps, STRETCH, &mut found)?;
        for buried in found.iter() {
            match n {
                0 => clear_row(core, table, &buried)?,
                n => clear_entry(core, table, n, &buried)?,
            }
        }
        match found.last_key() {
            Some(last) if !all && !core.background.is_stopped() => {
                from.clear();
                from.extend_from_slice(last);
                from.push(0);
            }
            _ => break,
        }
    }
    Ok(())
}

fn clear_row(core: &Core, table: &Table, buried: &Buried<'_>) -> Result<()> {
    let graveyard = &table.indexes[0].graveyard;
    let _leaf = table.indexes[0].tree.write(buried.key)?;
    let chain = prune(core, buried.deleter, buried.older)?;
    if chain.first == Address::NONE {
        graveyard.forget(buried)?;
    } else if chain.first != buried.older {
        graveyard.relink(buried, chain.first)?;
    }
    let versions = core.versions();
    versions.discard_until(buried.older, chain.dropped_until)
}

fn clear_entry(core: &Core, table: &Table, n: IndexNo, buried: &Buried<'_>) -> Result<()> {
    let all_see = core.view_copy.certainly_all_see(buried.deleter, &core.txns);
    // Most often its witness says that it stays, and nothing else need be looked at.
    if !all_see
        && let Some(witness) = &buried.witness
        && core.view_copy.with(|copy| {
            let need = copy.need(witness.from, witness.until, &core.txns);
            matches!(need, Need::By(_) | Need::Unknown)
        })
    {
        return Ok(());
    }
    let _leaf = table.indexes[n].tree.write(buried.key)?;
    if all_see || matches!(table.who_wants_by_row(core, n, buried.key)?, Wanted::ByNobody) {
        table.indexes[n].graveyard.forget(buried)?;
    }
    Ok(())
}

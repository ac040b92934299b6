//! Clearing graveyards: what was buried for old views goes when they do.

use super::follow::prune;
use crate::core::Core;
use crate::error::Result;
use crate::mvcc::Address;
use crate::table::{IndexNo, Table, Wanted};

pub(super) use crate::table::Buried;

/// Entries looked at between two latches.
const STRETCH: usize = 256;

/// How many entries are buried.
pub(crate) fn count(core: &Core) -> u64 {
    let tables = core.catalog.tables();
    let indexes = tables.iter().flat_map(|table| &table.indexes);
    indexes.map(|index| index.graveyard.count()).sum()
}

/// Looks through all graveyards, and takes away what no view wants any more.
pub(super) fn clear(core: &Core) -> Result<()> {
    for table in core.catalog.tables() {
        // Rows last: a secondary entry is judged by its row.
        for n in (0..table.indexes.len()).rev() {
            if table.indexes[n].graveyard.count() > 0 {
                clear_one(core, &table, n)?;
            }
        }
    }
    Ok(())
}

fn clear_one(core: &Core, table: &Table, n: IndexNo) -> Result<()> {
    let graveyard = &table.indexes[n].graveyard;
    let mut from = Vec::new();
    let mut found = Vec::new();
    for steps in 0.. {
        found.clear();
        let all = graveyard.collect(&from, None, false, steps, STRETCH, &mut found)?;
        for buried in &found {
            match n {
                0 => clear_row(core, table, buried)?,
                n => clear_entry(core, table, n, buried)?,
            }
        }
        match found.last() {
            Some(last) if !all && !core.background.is_stopped() => {
                from.clear();
                from.extend_from_slice(&last.key);
                from.push(0);
            }
            _ => break,
        }
    }
    Ok(())
}

fn clear_row(core: &Core, table: &Table, buried: &Buried) -> Result<()> {
    let graveyard = &table.indexes[0].graveyard;
    let _leaf = table.indexes[0].tree.write(&buried.key)?;
    let chain = prune(core, buried.deleter, buried.older)?;
    if chain.first == Address::NONE {
        graveyard.forget(buried)?;
    } else if chain.first != buried.older {
        graveyard.relink(buried, chain.first)?;
    }
    let versions = core.versions();
    versions.discard_until(buried.older, chain.dropped_until)
}

fn clear_entry(core: &Core, table: &Table, n: IndexNo, buried: &Buried) -> Result<()> {
    let all_see = core.view_copy.certainly_all_see(buried.deleter, &core.txns);
    let _leaf = table.indexes[n].tree.write(&buried.key)?;
    if all_see || matches!(table.who_wants(core, n, &buried.key)?, Wanted::ByNobody) {
        table.indexes[n].graveyard.forget(buried)?;
    }
    Ok(())
}

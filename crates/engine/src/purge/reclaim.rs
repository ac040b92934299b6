//! What a former run left: entries marked deleted whose hints are lost, trees and chains that nobody has.

use super::batch::is_deleted;
use super::follow::remove;
use crate::catalog::GarbageTree;
use crate::core::Core;
use crate::error::Result;
use crate::ids::{IndexId, PageId, TxnId};
use crate::table::{DELETED, Head, IndexNo, OUTSIDE, RowLayout, Table, first_page, row_of};
use crate::tree::{Tree, overflow_owner};
use std::sync::Arc;

/// Takes out all entries that were left marked deleted when the engine stopped: by writers below `below`.
pub(crate) fn sweep(core: &Core, below: TxnId) -> Result<()> {
    let gone = |writer: TxnId| writer < below;
    if core.background.is_stopped() {
        return Ok(());
    }
    for table in core.catalog.tables() {
        for n in (0..table.indexes.len()).rev() {
            let mut from = Vec::new();
            loop {
                if core.background.is_stopped() {
                    return Ok(());
                }
                let (keys, next) = gone_in_leaf(&table, n, &from, &gone)?;
                remove(core, &table, n, &keys, &gone)?;
                match next {
                    Some(next) => from = next,
                    None => break,
                }
            }
        }
    }
    core.set_needs_sweep(false)
}

/// The keys of one leaf that can go, and where the next leaf begins.
fn gone_in_leaf(
    table: &Table,
    n: IndexNo,
    from: &[u8],
    gone: &dyn Fn(TxnId) -> bool,
) -> Result<(Vec<Vec<u8>>, Option<Vec<u8>>)> {
    let leaf = table.indexes[n].tree.read(from)?;
    let node = leaf.node();
    let entries = (0..node.count()).map(|slot| node.entry(slot));
    let keys = entries
        .filter(|(_, value)| is_deleted(n, value, gone))
        .map(|(key, _)| key.to_vec())
        .collect();
    let fence = node.upper_fence();
    Ok((keys, (!fence.is_empty()).then(|| fence.to_vec())))
}

/// Frees the trees that no table has. After a crash, a table may have been in the making, with
/// columns written outside rows that were not: those are searched for.
pub(crate) fn reclaim(core: &Core, after_crash: bool) -> Result<()> {
    for garbage in core.catalog.trees_to_free()? {
        free_tree(core, &garbage, after_crash)?;
        if core.background.is_stopped() {
            return Ok(());
        }
    }
    Ok(())
}

/// Frees every chain whose obsoleting transaction has ended for good: at the start, before there are any views.
pub(crate) fn reclaim_chains(core: &Core) -> Result<()> {
    for (first, _) in core.catalog.garbage_chains()? {
        core.catalog.free_chain(first, &|_| true)?;
    }
    Ok(())
}

fn free_tree(core: &Core, garbage: &GarbageTree, after_crash: bool) -> Result<()> {
    let tree = Tree::new(Arc::clone(&core.store), garbage.index, garbage.root);
    let layout = garbage
        .schema
        .as_ref()
        .map(|schema| RowLayout::new(&schema.columns));
    tree.free_all(|_, value, firsts| {
        // The chains of a deleted row are in the list by themselves.
        let flags = Head::of(value).flags;
        if let Some(layout) = &layout
            && flags & OUTSIDE != 0
            && flags & DELETED == 0
        {
            firsts.extend(layout.outside(row_of(value)).filter_map(|(_, r)| first_page(r)));
        }
    })?;
    for (first, index) in core.catalog.garbage_chains()? {
        if index == garbage.index {
            core.catalog.free_chain(first, &|_| true)?;
        }
    }
    if after_crash && layout.is_some_and(|layout| !layout.variables.is_empty()) {
        free_strays(core, garbage.index)?;
    }
    core.catalog.forget_tree(garbage)
}

/// Frees the overflow pages of an index that has no rows any more.
fn free_strays(core: &Core, index: IndexId) -> Result<()> {
    let store = &core.store;
    for page in (1..store.file_pages()).map(PageId) {
        if !store.is_used(page)? {
            continue;
        }
        let owner = overflow_owner(&**store.pool().shared(page)?);
        if owner == Some(index) {
            let mut mtr = store.begin_mtr()?;
            mtr.free_page(page)?;
            mtr.commit();
        }
    }
    Ok(())
}

//! Frees what an earlier run left behind: entries marked deleted whose purge tasks are lost, trees and chains that no
//! table has.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::garbage::{GarbageTree, RowParts};
use crate::ids::{IndexId, PageId, TxnId};
use crate::table::{DELETED, Head, OUTSIDE, first_page, row_of, row_version};
use crate::tree::{Tree, overflow_owner};
use std::collections::HashSet;
use std::sync::Arc;

/// Removes all entries that were marked deleted when the engine stopped, by writers below the id `below`.
pub(super) fn sweep(core: &Core, below: TxnId) -> Result<()> {
    let gone = |writer: TxnId| writer < below;
    if core.background.is_stopped() {
        return Ok(());
    }
    for table in core.catalog.tables() {
        // Nothing of a former run is in an index that is being built.
        for n in (0..=table.schema().secondary.len()).rev() {
            let mut from = Vec::new();
            loop {
                if core.background.is_stopped() {
                    return Ok(());
                }
                let (keys, next) = table.deleted_in_leaf(n, &from, &gone)?;
                match table.remove_deleted(&core.kernel, n, &keys, &gone) {
                    // The definition has changed, and with it perhaps the number of the index: from the beginning.
                    Err(Error::TableGone) => return sweep(core, below),
                    done => done?,
                }
                match next {
                    Some(next) => from = next,
                    None => break,
                }
            }
        }
    }
    core.set_needs_sweep(false)
}

/// Frees the trees that no table has. After a crash, a table may have been under construction, with overflow pages
/// written for rows that never got into its tree; or it may have been a temporary one, with rows whose overflow pages recovery
/// has freed, as their transaction had not ended. So with `after_crash` rows are not asked for theirs: they are searched for.
pub(super) fn reclaim(core: &Core, after_crash: bool) -> Result<()> {
    let mut done = Ok(());
    let mut emptied = Vec::new();
    for garbage in core.catalog.trees_to_free()? {
        // One that is damaged keeps no other from being freed.
        match free_tree(core, &garbage, after_crash) {
            Ok(false) => return done,
            Ok(true) if after_crash && may_have_strays(&garbage) => emptied.push(garbage),
            Ok(true) => done = done.and(core.catalog.garbage.forget_tree(&garbage)),
            Err(error) => done = done.and(Err(error)),
        }
    }
    if free_strays(core, &emptied)? {
        for garbage in &emptied {
            done = done.and(core.catalog.garbage.forget_tree(garbage));
        }
    }
    done
}

/// Frees every chain in the garbage list whose obsoleting transaction has ended for good. Called at the start, before
/// there are any views. A chain that is damaged stays in the list: it is no reason not to start.
pub(crate) fn reclaim_chains(core: &Core) -> Result<()> {
    for (first, index) in core.catalog.garbage.chains()? {
        match core.catalog.garbage.free_chain(first, &|_| true) {
            Err(error @ (Error::Corrupt { .. } | Error::DiskFull)) => {
                ::log::error!("freeing pages of index {index} from page {first} on failed: {error}");
            }
            done => done?,
        }
    }
    Ok(())
}

/// Frees the pages of a tree but for its root. Returns false if the engine stops before its end: the next start goes on.
fn free_tree(core: &Core, garbage: &GarbageTree, after_crash: bool) -> Result<bool> {
    let go_on = || !core.background.is_stopped();
    let tree = Tree::new(Arc::clone(&core.kernel.store), garbage.index, garbage.root);
    let chains = |_: &[u8], value: &[u8], firsts: &mut Vec<PageId>| {
        // The chains of a deleted row are in the list by themselves.
        let flags = Head::of(value).flags;
        if let Some(rows) = &garbage.rows
            && !after_crash
            && flags & OUTSIDE != 0
            && flags & DELETED == 0
        {
            let row = row_of(value);
            let outside = rows.of(row_version(flags, row)).outside(row);
            firsts.extend(outside.filter_map(|(_, r)| first_page(r)));
        }
    };
    if !tree.free_all(chains, go_on)? {
        return Ok(false);
    }
    for (first, index) in core.catalog.garbage.chains()? {
        if index == garbage.index {
            core.catalog.garbage.free_chain(first, &|_| true)?;
            if !go_on() {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether the tree's rows may have had columns outside.
fn may_have_strays(tree: &GarbageTree) -> bool {
    tree.rows.as_ref().is_some_and(RowParts::have_variable_columns)
}

/// Frees the overflow pages of trees that have no rows any more, in one pass over the file. Returns false if the engine stops
/// before its end.
fn free_strays(core: &Core, trees: &[GarbageTree]) -> Result<bool> {
    let owners: HashSet<IndexId> = trees.iter().map(|tree| tree.index).collect();
    if owners.is_empty() {
        return Ok(true);
    }
    let store = &core.kernel.store;
    for page in (1..store.file_pages()).map(PageId) {
        if core.background.is_stopped() {
            return Ok(false);
        }
        if !store.is_used(page)? {
            continue;
        }
        let owner = overflow_owner(&**store.pool().shared(page)?);
        if owner.is_some_and(|owner| owners.contains(&owner)) {
            let mut mtr = store.begin_mtr()?;
            mtr.free_page(page)?;
            mtr.commit();
        }
    }
    Ok(true)
}

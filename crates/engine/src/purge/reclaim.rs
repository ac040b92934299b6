//! Frees what an earlier run left behind: entries marked deleted whose purge tasks are lost, trees and chains that no
//! table has; and, while the engine runs, the trees of what is dropped.
//!
//! A large tree, and the sweep after a crash, take minutes. So this has a thread beside purge's, lest history grow meanwhile. The
//! two may meet:
//!
//! - *In a tree that is freed.* Nobody uses it: its table was dropped, or has another handle without it, before it is listed
//!   ([`Catalog::trees_to_free`](crate::catalog::Catalog::trees_to_free)). But a round of purge that had begun before may still work with
//!   a handle that it looked up then. Therefore freeing waits, once it has the list, until the round under way is over; those that
//!   come later look tables up anew and do not find it.
//! - *In a tree that is swept.* Both look for entries that are marked deleted by a writer that all views see, and remove them under
//!   the latch of their leaf: whoever comes second finds nothing. Purge's own threads meet in the same way.
//! - *In a chain.* [`Garbage::free_chain`](crate::garbage::Garbage::free_chain) compares what it has read with what is there once its
//!   entry in the list is latched.
//!
//! What is stopped in the middle, by the engine's end or a crash, is smaller and still in the list; the sweep's mark in the superblock
//! goes away when all of it is done.

use super::{Purge, report};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::garbage::{GarbageTree, RowParts};
use crate::ids::{IndexId, PageId, TxnId};
use crate::progress::{LongWork, Watched};
use crate::table::{DELETED, Head, OUTSIDE, first_page, row_of, row_version};
use crate::tree::{Tree, overflow_owner};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

impl Purge {
    /// Frees what is to be freed until the engine stops. With `sweep_below`, first removes the entries that writers below that
    /// id left marked deleted.
    pub fn run_reclaim(&self, sweep_below: Option<TxnId>) {
        let core = &*self.core;
        report("freeing", self.reclaim(sweep_below.is_some()));
        if let Some(below) = sweep_below {
            // The sweep is the last step: its completion says that nothing of the crash is left.
            report("sweeping", sweep(core, below));
        }
        while !core.background.is_stopped() {
            core.reclaim.wait(Duration::MAX);
            if !core.background.is_stopped() {
                report("freeing", self.reclaim(false));
            }
        }
    }

    /// Frees the trees that no table has. After a crash, a table may have been under construction, with overflow pages
    /// written for rows that never got into its tree; or it may have been a temporary one, with rows whose overflow pages
    /// recovery has freed, as their transaction had not ended. So with `after_crash` rows are not asked for theirs: they are
    /// searched for.
    fn reclaim(&self, after_crash: bool) -> Result<()> {
        let core = &*self.core;
        let trees = core.catalog.trees_to_free()?;
        // See the module's head.
        drop(self.rounds.lock());
        let mut done = Ok(());
        let mut emptied = Vec::new();
        let leaves = |tree: &GarbageTree| tree_of(core, tree).estimate_leaves().unwrap_or(1);
        let mut watched = core
            .watcher
            .begin(LongWork::Freeing, trees.iter().map(leaves).sum());
        for garbage in trees {
            // One that is damaged keeps no other from being freed.
            match free_tree(core, &garbage, after_crash, &mut watched) {
                Ok(false) => return done,
                Ok(true) if after_crash && may_have_strays(&garbage) => emptied.push(garbage),
                Ok(true) => done = done.and(core.catalog.garbage.forget_tree(&garbage)),
                Err(error) => done = done.and(Err(error)),
            }
        }
        drop(watched);
        if free_strays(core, &emptied)? {
            for garbage in &emptied {
                done = done.and(core.catalog.garbage.forget_tree(garbage));
            }
        }
        done
    }
}

/// Removes all entries that were marked deleted when the engine stopped, by writers below the id `below`.
pub(super) fn sweep(core: &Core, below: TxnId) -> Result<()> {
    let gone = |writer: TxnId| writer < below;
    if core.background.is_stopped() {
        return Ok(());
    }
    let tables = core.catalog.tables();
    let trees = tables.iter().flat_map(|table| table.indexes.iter());
    let leaves = trees.map(|index| index.tree.estimate_leaves().unwrap_or(1)).sum();
    let mut watched = core.watcher.begin(LongWork::Sweeping, leaves);
    for table in tables {
        // Nothing of a former run is in an index that is being built.
        for n in (0..=table.schema().secondary.len()).rev() {
            let mut from = Vec::new();
            loop {
                if core.background.is_stopped() {
                    return Ok(());
                }
                watched.step();
                let (keys, next) = table.deleted_in_leaf(n, &from, &gone)?;
                match table.remove_deleted(&core.kernel, n, &keys, &gone) {
                    // The definition has changed, and with it perhaps the number of the index: from the beginning.
                    Err(Error::TableGone) => {
                        drop(watched);
                        return sweep(core, below);
                    }
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

fn tree_of(core: &Core, garbage: &GarbageTree) -> Tree {
    Tree::new(Arc::clone(&core.kernel.store), garbage.index, garbage.root)
}

/// Frees the pages of a tree but for its root. Returns false if the engine stops before its end: the next start goes on.
fn free_tree(
    core: &Core,
    garbage: &GarbageTree,
    after_crash: bool,
    watched: &mut Watched<'_>,
) -> Result<bool> {
    let mut go_on = || {
        watched.step();
        !core.background.is_stopped()
    };
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
    if !tree_of(core, garbage).free_all(chains, &mut go_on)? {
        return Ok(false);
    }
    for (first, index) in core.catalog.garbage.chains()? {
        if index == garbage.index {
            core.catalog.garbage.free_chain(first, &|_| true)?;
            if core.background.is_stopped() {
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
    let pages = store.file_pages();
    let mut watched = core.watcher.begin(LongWork::Searching, pages.into());
    for page in (1..pages).map(PageId) {
        watched.step();
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

//! The background thread: removes what nobody can see any more, and frees what nobody can reach.
//!
//! A transaction that deleted a row, or moved an entry, has left a hint (`mvcc::versions`). Once every view sees it, purge
//! looks at the entries that the hint names. One that is marked deleted, by a writer whom every view sees, is gone for
//! everybody, and is taken out; any other has become somebody else's business, who has left a hint of his own. So hints
//! may be followed in any order, twice, or about rows that have changed since.
//!
//! Versions do not outlive the engine, and hints with them: after an unclean stop a sweep goes once through all trees.

use crate::catalog::GarbageTree;
use crate::core::Core;
use crate::error::Result;
use crate::ids::{IndexId, Lsn, PageId, TxnId};
use crate::mvcc::{self, Record};
use crate::table::{DELETED, EntryHead, Head, IndexNo, OUTSIDE, RowLayout, Table, first_page, row_of};
use crate::tree::{Tree, overflow_owner};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(50);
const SECOND: Duration = Duration::from_secs(1);

/// Runs until the bell says stop.
pub(crate) fn run(core: &Core, sweep_below: Option<TxnId>) {
    let mut flushed = Instant::now();
    report("freeing", reclaim(core, sweep_below.is_some()));
    if let Some(below) = sweep_below {
        // Last: it is what says that nothing of the crash is left.
        report("sweeping", sweep(core, below));
    }
    while !core.background.is_stopped() {
        report("purging", purge(core).map(|_| ()));
        if core.reclaim.swap(false, Ordering::AcqRel) {
            report("freeing", reclaim(core, false));
        }
        if flushed.elapsed() >= SECOND {
            // For commits that did not wait to be durable, and for rollbacks, whose end nobody waits for.
            let log = core.store.log();
            if log.flushed() < log.tail() {
                report("flushing the log", log.flush_all());
            }
            flushed = Instant::now();
        }
        core.background.wait(PAUSE);
    }
}

/// Trouble here is nobody's statement: say so and try again later.
fn report(doing: &str, done: Result<()>) {
    if let Err(error) = done {
        eprintln!("tidemark: {doing} failed: {error}");
    }
}

/// Follows all hints whose time has come. Answers whether there were any.
pub(crate) fn purge(core: &Core) -> Result<bool> {
    core.txns.settle(core.tide());
    core.purge.flush_buffers();
    let oldest = core.view_copy.refresh_with(
        &core.views,
        &core.txns,
        || core.tide(),
        |copy| {
            core.txns.recycle(copy.settled, &copy.windows);
            copy.oldest()
        },
    );
    let mut any = false;
    while let Some(item) = core.purge.pop(oldest) {
        any = true;
        let versions = core.versions();
        let hints = versions.records(item.page, item.from, item.to, &mut |v| v.flags & mvcc::PURGE != 0)?;
        for hint in hints {
            follow(core, &hint)?;
        }
        versions.finish(&item)?;
    }
    Ok(any)
}

/// What no view is older than.
pub(crate) fn oldest_view(core: &Core) -> Lsn {
    core.view_copy
        .refresh_with(&core.views, &core.txns, || core.tide(), |copy| copy.oldest())
}

fn follow(core: &Core, hint: &Record) -> Result<()> {
    // The chains of a dropped table go with its trees.
    let Ok(table) = core.catalog.table(hint.version.table) else {
        return Ok(());
    };
    let all_see = |writer| core.view_copy.certainly_all_see(writer, &core.txns);
    let version = &hint.version;
    if version.flags & mvcc::ENTRY != 0 {
        // Index n has bit n − 1; no bit stands for the row.
        let n = (u64::BITS - version.indexes.leading_zeros()) as IndexNo;
        return match n < table.indexes.len() {
            true => remove_if_gone(&table, n, &hint.key, &all_see),
            false => Ok(()),
        };
    }
    table.each_entry(
        &hint.key,
        version.row_flags,
        &hint.columns,
        version.indexes,
        &mut |n, key| remove_if_gone(&table, n, key, &all_see),
    )?;
    if version.flags & mvcc::ROW == 0 {
        return Ok(());
    }
    remove_if_gone(&table, 0, &hint.key, &all_see)?;
    if version.row_flags & OUTSIDE != 0 {
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

/// Takes an entry out that is marked deleted for everybody.
fn remove_if_gone(table: &Table, n: IndexNo, key: &[u8], all_see: &dyn Fn(TxnId) -> bool) -> Result<()> {
    let tree = &table.indexes[n].tree;
    // A look first: most often there is nothing to do, and nothing to write.
    if !tree
        .read(key)?
        .get(key)
        .is_some_and(|value| is_gone(n, value, all_see))
    {
        return Ok(());
    }
    let mut leaf = tree.write(key)?;
    let Ok(slot) = leaf.node().search(key) else {
        return Ok(());
    };
    if !is_gone(n, leaf.node().value(slot), all_see) {
        return Ok(());
    }
    leaf.remove(slot);
    let sparse = leaf.is_sparse();
    leaf.finish();
    if sparse {
        tree.merge(key)?;
    }
    Ok(())
}

fn is_gone(n: IndexNo, value: &[u8], all_see: &dyn Fn(TxnId) -> bool) -> bool {
    match n {
        0 => {
            let head = Head::of(value);
            head.is_deleted() && all_see(head.writer)
        }
        _ => {
            let head = EntryHead::of(value);
            head.is_deleted() && all_see(head.writer)
        }
    }
}

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
                for key in keys {
                    remove_if_gone(&table, n, &key, &gone)?;
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
        .filter(|(_, value)| is_gone(n, value, gone))
        .map(|(key, _)| key.to_vec())
        .collect();
    let fence = node.upper_fence();
    Ok((keys, (!fence.is_empty()).then(|| fence.to_vec())))
}

/// Frees the trees in the garbage list, which no table has. After a crash, a table may have been in the making, with
/// columns written outside rows that were not: those are searched for.
pub(crate) fn reclaim(core: &Core, after_crash: bool) -> Result<()> {
    for garbage in core.catalog.garbage_trees()? {
        // What a definition being made still holds is not garbage yet.
        if core.catalog.is_claimed(garbage.index) {
            continue;
        }
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

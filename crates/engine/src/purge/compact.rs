//! Space follows what is needed, not what was written.
//!
//! Rows written at the same time by one session share pages. If an old view keeps one version of each hundred, it would
//! keep all the pages. So a page that purge comes to while an old view holds it back is looked through: versions that
//! nobody needs are pruned from their chains; and if little of the page is alive then, or later, that little is moved to
//! a page of purge's own.
//!
//! A version is moved by whoever holds the leaf of its row exclusively, like everything that concerns a chain: what led to
//! the old place, be it the row, a younger version, or a buried row, leads to the new one before the latch goes.

use crate::core::Core;
use crate::error::Result;
use crate::mvcc::{self, Address, Need, PageLife, Record, Version, VersionBuffer};
use crate::table::{AT_ONCE, Buried, HELD_MAX, Head, Table, relink};
use crate::tree::LeafWrite;
use parking_lot::Mutex;
use std::time::Instant;

/// Prunes what nobody needs from the chains that lead into the page.
pub(super) fn look_through(core: &Core, page: PageLife) -> Result<()> {
    // The copy first, then the page, as those do who prune a chain.
    let records = core.kernel.mvcc.view_copy.with(|copy| {
        let mut garbage = |v: &Version| {
            let need = || copy.need(v.writer, v.superseder, &core.kernel.mvcc.txns);
            v.flags & mvcc::LINKED != 0 && matches!(need(), Need::None | Need::AllPassed)
        };
        core.kernel
            .mvcc
            .versions()
            .records(page, 0, usize::MAX, &mut garbage)
    })?;
    let mut rest = &records[..];
    while let [first, others @ ..] = rest {
        let need = need_of(core, first);
        rest = match (need, core.catalog.table(first.version.table)) {
            (Need::None, Ok(table)) => &rest[prune_in_leaf(core, &table, rest)?..],
            // Somebody who was just looking for the past came and went, or has come.
            (Need::By(_) | Need::Unknown, Ok(_)) => others,
            // No way down a chain leads beyond a version that everybody sees.
            (Need::AllPassed, _) | (_, Err(_)) => {
                core.kernel.mvcc.versions().discard(first.address)?;
                others
            }
        };
    }
    Ok(())
}

fn need_of(core: &Core, record: &Record) -> Need {
    let Version {
        writer, superseder, ..
    } = record.version;
    core.kernel.mvcc.need(writer, superseder)
}

/// Prunes the chains that the first of the versions belong to, as many as are of rows in one leaf: who writes many rows
/// writes neighbours. Answers how many, at least one.
fn prune_in_leaf(core: &Core, table: &Table, records: &[Record]) -> Result<usize> {
    let mut leaf = table.indexes[0].tree.write(&records[0].key)?;
    let (since, mut done) = (Instant::now(), 0);
    for record in records.iter().take(AT_ONCE) {
        let is_neighbour = || {
            record.version.table == table.id()
                && leaf.node().covers(&record.key)
                && matches!(need_of(core, record), Need::None)
        };
        if done > 0 && (since.elapsed() > HELD_MAX || !is_neighbour()) {
            break;
        }
        // Several versions of a hot row: the first has had the whole chain pruned.
        let is_pruned = done > 0 && records[done - 1].key == record.key;
        if !is_pruned && let Ok(slot) = leaf.node().search(&record.key) {
            let head = Head::of(leaf.node().value(slot));
            let chain = core.kernel.mvcc.prune(head.writer, head.older)?;
            relink(&core.kernel, &mut leaf, slot, &head, &chain)?;
        }
        done += 1;
    }
    Ok(done)
}

/// Moves what lives in a thin page. Answers false if it is too early.
pub(super) fn move_out(core: &Core, page: PageLife, to: &Mutex<VersionBuffer>) -> Result<bool> {
    let versions = core.kernel.mvcc.versions();
    if !versions.is_thin(page)? {
        return Ok(true);
    }
    let mut alive = |v: &Version| v.flags & (mvcc::LINKED | mvcc::PURGE) != 0;
    let records = versions.records(page, 0, usize::MAX, &mut alive)?;
    // The new page will go when every view has passed this, so all that made the versions must have ended by then.
    let now = core.kernel.mvcc.view_copy.with(|copy| {
        let ended = |r: &Record| copy.knows_end_of(r.version.superseder, &core.kernel.mvcc.txns);
        records.iter().all(ended).then_some(copy.horizon())
    });
    let Some(now) = now else {
        return Ok(false);
    };
    let moved = records
        .iter()
        .try_for_each(|record| move_record(core, record, to));
    to.lock().end_batch(now, &core.kernel.mvcc.queue);
    moved.map(|()| true)
}

fn move_record(core: &Core, record: &Record, to: &Mutex<VersionBuffer>) -> Result<()> {
    let versions = core.kernel.mvcc.versions();
    let append = |version: &Version| to.lock().append(&versions, version, &record.key, &record.columns);
    let drop_old = || {
        versions.discard(record.address)?;
        versions.forget_task(record.address)
    };
    let Ok(table) = core.catalog.table(record.version.table) else {
        return drop_old();
    };
    if record.version.flags & mvcc::LINKED == 0 {
        append(&record.version)?;
        return drop_old();
    }
    let mut leaf = table.indexes[0].tree.write(&record.key)?;
    // As it is now: what hangs below may have changed.
    let Some(mut version) = versions.read(record.address, None)? else {
        return Ok(());
    };
    match find_link(core, &table, &leaf, record)? {
        Some(link) => {
            let new = append(&version)?;
            link.lead_to(core, &table, &mut leaf, new)?;
        }
        // No chain leads to it any more; a task may remain.
        None => {
            version.flags &= !mvcc::LINKED;
            if version.flags & mvcc::PURGE != 0 {
                append(&version)?;
            }
        }
    }
    drop_old()
}

/// What leads to a version.
enum Link<'b> {
    Row(usize),
    Version(Address),
    Buried(Buried<'b>),
}

impl Link<'_> {
    fn lead_to(self, core: &Core, table: &Table, leaf: &mut LeafWrite<'_>, new: Address) -> Result<()> {
        match self {
            Link::Row(slot) => {
                leaf.put_unlogged(slot, Head::OLDER_AT, &new.0.to_le_bytes());
                Ok(())
            }
            Link::Version(version) => core.kernel.mvcc.versions().relink(version, new),
            Link::Buried(buried) => table.indexes[0].graveyard.relink(&buried, new),
        }
    }
}

/// Finds what leads to a version of the row whose leaf is held.
fn find_link<'r>(
    core: &Core,
    table: &Table,
    leaf: &LeafWrite<'_>,
    record: &'r Record,
) -> Result<Option<Link<'r>>> {
    let versions = core.kernel.mvcc.versions();
    let follow = |first: Link<'r>, from: Address| -> Result<Option<Link<'r>>> {
        let (mut link, mut at) = (first, from);
        while at != Address::NONE {
            if at == record.address {
                return Ok(Some(link));
            }
            let Some(version) = versions.read(at, None)? else {
                break;
            };
            (link, at) = (Link::Version(at), version.older);
        }
        Ok(None)
    };
    if let Ok(slot) = leaf.node().search(&record.key) {
        let head = Head::of(leaf.node().value(slot));
        // Below a writer whom every view sees nothing counts, and of a former run nothing means anything.
        if !core.kernel.mvcc.all_see(head.writer)
            && let Some(link) = follow(Link::Row(slot), head.older)?
        {
            return Ok(Some(link));
        }
    }
    for buried in table.indexes[0].graveyard.under(&record.key)?.iter() {
        let link = Link::Buried(buried.with_key(&record.key));
        if let Some(link) = follow(link, buried.older)? {
            return Ok(Some(link));
        }
    }
    Ok(None)
}

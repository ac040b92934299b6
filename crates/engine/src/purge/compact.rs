//! Compaction of version pages: the space they take follows what is needed, not what was written.
//!
//! Rows written at the same time by one session share pages. If an old view keeps one version of each hundred, it would
//! keep all the pages. So when purge comes to a page that an old view holds back, it examines the page's records:
//! versions that no view needs are pruned from their chains; and if little of the page is alive then, or later, the
//! rest is moved to a page of purge's own.
//!
//! A version is moved only while the leaf of its row is latched exclusively, as for every change of a chain: the
//! pointer to the old place, be it in the row, in a younger version or in a row in the graveyard, is changed before the
//! latch is released.

use crate::core::Core;
use crate::error::Result;
use crate::mvcc::{self, Address, Need, PageLife, Record, Version, VersionBuffer};
use crate::table::{AT_ONCE, Buried, HELD_MAX, Head, Table, relink};
use crate::tree::LeafWrite;
use parking_lot::Mutex;
use std::time::Instant;

/// Prunes the chains of those versions in the page that no view needs.
pub(super) fn look_through(core: &Core, page: PageLife) -> Result<()> {
    // The view copy is locked before the page, as pruners do.
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
            // A view of the past was opened since, or may be at this moment.
            (Need::By(_) | Need::Unknown, Ok(_)) => others,
            // Never reached by a reader: no walk down a chain goes beyond a version that every view sees.
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

/// Prunes the chains of the first of these versions, for as many of them as belong to rows of one leaf: rows written by
/// one session at a time are often neighbours. Returns how many versions that were, at least one.
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

/// Moves the live records of a thin page elsewhere. Returns false if a transaction that wrote to it has not ended yet.
pub(super) fn move_out(core: &Core, page: PageLife, to: &Mutex<VersionBuffer>) -> Result<bool> {
    let versions = core.kernel.mvcc.versions();
    if !versions.is_thin(page)? {
        return Ok(true);
    }
    let mut alive = |v: &Version| v.flags & (mvcc::LINKED | mvcc::PURGE) != 0;
    let records = versions.records(page, 0, usize::MAX, &mut alive)?;
    // The new page is freed when every view has passed `now`, so all writers of these versions must have ended by then.
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
    // Read again, now under the latch: what hangs below may have changed.
    let Some(mut version) = versions.read(record.address, None)? else {
        return Ok(());
    };
    match find_link(core, &table, &leaf, record)? {
        Some(link) => {
            let new = append(&version)?;
            link.lead_to(core, &table, &mut leaf, new)?;
        }
        // No chain leads to the version any more; its purge task may remain.
        None => {
            version.flags &= !mvcc::LINKED;
            if version.flags & mvcc::PURGE != 0 {
                append(&version)?;
            }
        }
    }
    drop_old()
}

/// The pointer that leads to a version.
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

/// Finds the pointer to a version of a row. The caller has latched the row's leaf.
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
        // A version below a writer that every view sees is out of reach, and a pointer left by an earlier run is
        // meaningless.
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

//! Taking deleted entries out: which views need one, and what becomes of it.
//!
//! | the entry is | then it |
//! |---|---|
//! | deleted by a writer that every view sees | is removed |
//! | needed by no view, though some do not see which transaction deleted it: of a row, pruning leaves nothing of its chain; of a secondary entry, no version of its row that is needed has it | is removed: a queue's rows, inserted and deleted between two old views, go at once |
//! | needed by old views alone | goes to the graveyard |
//! | in the graveyard, and its last view is closed | is removed there |
//!
//! Both latches are taken in the order in which readers take them, secondary leaf and then clustered leaf, so a reader that looks
//! finds the entry in one place.

use super::super::building::{Access, Building};
use super::super::entry::{self, EntryHead, Head};
use super::super::outside::Outside;
use super::super::row::RowView;
use super::super::secondary::VERSIONS_MAX;
use super::super::{Index, Table};
use super::store::{Buried, STORED_MAX, Validity, Wanted};
use crate::error::Result;
use crate::ids::{IndexNo, TxnId};
use crate::kernel::Kernel;
use crate::mvcc::{self, Address, Chain, Need, Version};
use crate::tree::{LeafWrite, Node};
use std::time::{Duration, Instant};

/// Entries seen to under one latch, and the time after which it is released for others: finding out which views need an
/// entry may take a read from disk.
pub(crate) const AT_ONCE: usize = 64;
pub(crate) const HELD_MAX: Duration = Duration::from_micros(200);
/// Buried entries looked at between two latches.
const STRETCH: usize = 256;

/// Which views still need an entry that is marked deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Needed {
    /// The row has it again.
    Now,
    ByOldViews(Option<Validity<Vec<u8>>>),
    ByNone,
}

/// What is to become of a deleted entry.
pub(crate) enum Removal {
    Remove,
    /// A view still needs it. Its purge task is kept, and followed again when no view is in the way.
    Later,
    /// Its leaf had to be released: to be asked about again.
    Retry,
}

/// A deleted entry in its leaf, which is held exclusively.
pub(crate) struct InLeaf<'l, 't> {
    leaf: &'l mut LeafWrite<'t>,
    slot: usize,
    key: &'l [u8],
}

/// True if an entry is marked deleted, by a writer for which `due` is true.
fn is_due(n: IndexNo, value: &[u8], due: &dyn Fn(TxnId) -> bool) -> bool {
    let head = match n {
        0 => Head::of(value).entry(),
        _ => EntryHead::of(value),
    };
    head.is_deleted() && due(head.writer)
}

/// Makes a row lead to what is left of its chain, and discards the versions that were cut out.
pub(crate) fn relink(
    kernel: &Kernel,
    leaf: &mut LeafWrite<'_>,
    slot: usize,
    head: &Head,
    chain: &Chain,
) -> Result<()> {
    if chain.first != head.older {
        leaf.put_unlogged(slot, Head::OLDER_AT, &chain.first.0.to_le_bytes());
    }
    let versions = kernel.mvcc.versions();
    versions.discard_until(head.older, chain.dropped_until)
}

impl Table {
    /// Removes those entries, of some in order, that are marked deleted by a writer for which `gone` is true. Their locks are
    /// handed on.
    pub(crate) fn remove_deleted<K: AsRef<[u8]>>(
        &self,
        kernel: &Kernel,
        n: IndexNo,
        keys: &[K],
        gone: &dyn Fn(TxnId) -> bool,
    ) -> Result<()> {
        self.each_deleted(n, keys, gone, &mut |at| {
            Ok(match self.hand_on_locks(kernel, n, at.leaf, at.slot, None)? {
                true => Removal::Remove,
                false => Removal::Retry,
            })
        })
    }

    /// Removes or buries those entries, of some in order, whose deleter's end the copy of the open views knows, as far as old
    /// views allow. Returns true if none had to stay.
    pub(crate) fn bury_deleted(&self, kernel: &Kernel, n: IndexNo, keys: &[&[u8]]) -> Result<bool> {
        let ended = |writer| kernel.mvcc.knows_end_of(writer);
        let mut all = true;
        self.each_deleted(n, keys, &ended, &mut |at| {
            let removal = match n {
                0 => self.bury_row(kernel, at)?,
                n => self.bury_entry(kernel, n, at)?,
            };
            all &= !matches!(removal, Removal::Later);
            Ok(removal)
        })?;
        Ok(all)
    }

    /// The keys of one leaf that [`Self::remove_deleted`] would remove, and where the next leaf begins.
    pub(crate) fn deleted_in_leaf(
        &self,
        n: IndexNo,
        from: &[u8],
        gone: &dyn Fn(TxnId) -> bool,
    ) -> Result<(Vec<Vec<u8>>, Option<Vec<u8>>)> {
        let leaf = self.indexes[n].tree.read(from)?;
        let node = leaf.node();
        let entries = (0..node.count()).map(|slot| node.entry(slot));
        let keys = entries
            .filter(|(_, value)| is_due(n, value, gone))
            .map(|(key, _)| key.to_vec())
            .collect();
        let fence = node.upper_fence();
        Ok((keys, (!fence.is_empty()).then(|| fence.to_vec())))
    }

    /// Asks `f` what is to become of those entries, among sorted ones, that are marked deleted by a writer for which `due` is
    /// true, and removes what is to be removed. Their leaf is held exclusively meanwhile.
    fn each_deleted<K: AsRef<[u8]>>(
        &self,
        n: IndexNo,
        mut keys: &[K],
        due: &dyn Fn(TxnId) -> bool,
        f: &mut dyn FnMut(InLeaf<'_, '_>) -> Result<Removal>,
    ) -> Result<()> {
        let Index { tree, building, .. } = &self.indexes[n];
        // Keys that lie in the leaf: it covers the first of them.
        let within = |node: Node<'_>, keys: &[K]| match node.upper_fence() {
            [] => keys.len(),
            fence => keys.partition_point(|key| key.as_ref() < fence),
        };
        while let Some(first) = keys.first() {
            // What purge passes over in an index that is being filled, the builder sees to when it is filled.
            let access = building.as_deref().map(Building::enter);
            if let Some(access) = &access
                && access.as_ref().is_none_or(Access::is_filling)
            {
                return Ok(());
            }
            // A look first: often there is nothing to do, and nothing to write.
            let leaf = tree.read(first.as_ref())?;
            let here = &keys[..within(leaf.node(), keys)];
            let due_here = |key: &K| {
                let value = leaf.get(key.as_ref());
                value.is_some_and(|value| is_due(n, value, due))
            };
            let Some(idle) = here.iter().position(due_here) else {
                keys = &keys[here.len()..];
                continue;
            };
            keys = &keys[idle..];
            drop(leaf);
            let first = keys[0].as_ref();
            let mut leaf = tree.write(first)?;
            // A delete through a newer handle latches this leaf later, so what was found due is right. But rows buried from now
            // on would go to the old handle's graveyard, and locks to its lock lists, which no reader looks at any more.
            self.check_open()?;
            let here = &keys[..within(leaf.node(), keys).min(AT_ONCE)];
            let (since, mut seen, mut any_out, mut failed) = (Instant::now(), 0, false, None);
            for key in here.iter().map(AsRef::as_ref) {
                if seen > 0 && since.elapsed() > HELD_MAX {
                    break;
                }
                if let Ok(slot) = leaf.node().search(key)
                    && is_due(n, leaf.node().value(slot), due)
                {
                    let at = InLeaf {
                        leaf: &mut leaf,
                        slot,
                        key,
                    };
                    match f(at) {
                        Ok(Removal::Later) => {}
                        Ok(Removal::Remove) => {
                            leaf.remove(slot);
                            any_out = true;
                        }
                        Ok(Removal::Retry) => break,
                        Err(error) => {
                            failed = Some(error);
                            break;
                        }
                    }
                }
                seen += 1;
            }
            // Whatever failed: what was taken out before is out.
            let sparse = any_out && leaf.is_sparse();
            leaf.finish();
            if let Some(error) = failed {
                return Err(error);
            }
            if sparse {
                tree.merge(first)?;
            }
            keys = &keys[seen..];
        }
        Ok(())
    }

    fn bury_row(&self, kernel: &Kernel, at: InLeaf<'_, '_>) -> Result<Removal> {
        let InLeaf { leaf, slot, key } = at;
        if !self.hand_on_locks(kernel, 0, leaf, slot, None)? {
            return Ok(Removal::Retry);
        }
        let head = Head::of(leaf.node().value(slot));
        let chain = kernel.mvcc.prune(head.writer, head.older)?;
        if chain.first != Address::NONE {
            let now = kernel.mvcc.horizon();
            let graveyard = &self.indexes[0].graveyard;
            if !graveyard.bury_row(key, head.writer, chain.first, now)? {
                relink(kernel, leaf, slot, &head, &chain)?;
                return Ok(Removal::Later);
            }
        }
        // It is buried: the leaf must lose it, whatever becomes of what no view needs.
        let _ = kernel
            .mvcc
            .versions()
            .discard_until(head.older, chain.dropped_until);
        Ok(Removal::Remove)
    }

    fn bury_entry(&self, kernel: &Kernel, n: IndexNo, at: InLeaf<'_, '_>) -> Result<Removal> {
        let InLeaf { leaf, slot, key } = at;
        let needed = self.needed_by(kernel, n, key, leaf.node().value(slot))?;
        if matches!(needed, Needed::Now) {
            // A transaction is about to bring it back, or fails before it does.
            return Ok(Removal::Later);
        }
        if !self.hand_on_locks(kernel, n, leaf, slot, None)? {
            return Ok(Removal::Retry);
        }
        if let Needed::ByOldViews(validity) = &needed {
            let deleter = EntryHead::of(leaf.node().value(slot)).writer;
            let now = kernel.mvcc.horizon();
            let graveyard = &self.indexes[n].graveyard;
            let validity = validity.as_ref().map(Validity::borrowed);
            if !graveyard.bury_entry(key, deleter, validity, now)? {
                return Ok(Removal::Later);
            }
        }
        Ok(Removal::Remove)
    }

    /// Which views need an entry that was marked deleted by a transaction that has ended. The caller holds its leaf
    /// exclusively.
    fn needed_by(&self, kernel: &Kernel, n: IndexNo, key: &[u8], value: &[u8]) -> Result<Needed> {
        let head = EntryHead::of(value);
        let Some(begin) = head.inserter else {
            return self.needed_by_row_check(kernel, n, key);
        };
        let end = head.writer;
        match kernel.mvcc.need(begin, end) {
            Need::AllPassed | Need::None => Ok(Needed::ByNone),
            Need::By(_) | Need::Unknown => {
                let stored = Some(entry::stored_of(value)).filter(|s| s.len() <= STORED_MAX);
                let stored = stored.map(<[u8]>::to_vec);
                Ok(Needed::ByOldViews(stored.map(|stored| Validity {
                    begin,
                    end,
                    stored,
                })))
            }
        }
    }

    /// Like [`Self::needed_by`], for an entry that does not tell it by itself: looks through the versions of its row. The
    /// caller holds the leaf where the entry would stand.
    fn needed_by_row_check(&self, kernel: &Kernel, n: IndexNo, entry_key: &[u8]) -> Result<Needed> {
        let primary_key = &entry_key[self.entries[n - 1].primary_at(entry_key)..];
        let clustered = &self.indexes[0];
        let has = |flags: u8, row: &[u8]| -> Result<bool> {
            let outside = Outside::of(self, flags, row);
            let has = self.has_entry(n, &RowView::row(primary_key, row, &outside), entry_key)?;
            outside.check().map(|()| has)
        };
        let leaf = clustered.tree.read(primary_key)?;
        // Each chain, and the writer above it.
        let mut chains = Vec::new();
        if let Some(value) = leaf.get(primary_key) {
            let head = Head::of(value);
            if !head.is_deleted() && has(head.flags, entry::row_of(value))? {
                return Ok(Needed::Now);
            }
            chains.push((head.writer, head.older));
        }
        let buried = clustered.graveyard.under(primary_key)?;
        chains.extend(buried.iter().map(|b| (b.deleter, b.older)));
        let (mut columns, mut walked) = (Vec::new(), 0);
        for (mut superseder, mut at) in chains {
            while at != Address::NONE {
                walked += 1;
                let need = |version: &Version| kernel.mvcc.need(version.writer, superseder);
                if kernel.mvcc.all_see(superseder) {
                    break;
                }
                let Some(version) = kernel.mvcc.versions().read(at, Some(&mut columns))? else {
                    break;
                };
                let needed = matches!(need(&version), Need::By(_) | Need::Unknown);
                let is_row = version.flags & mvcc::DELETED == 0;
                if walked > VERSIONS_MAX {
                    return Ok(Needed::ByOldViews(None));
                }
                if needed && is_row && has(version.row_flags, &columns)? {
                    let stored = self.stored_from(n, primary_key, version.row_flags, &columns)?;
                    return Ok(Needed::ByOldViews(stored.map(|stored| Validity {
                        begin: version.writer,
                        end: superseder,
                        stored,
                    })));
                }
                (superseder, at) = (version.writer, version.older);
            }
        }
        Ok(Needed::ByNone)
    }

    /// What an entry of this row stores beside its key; `None` if that is much.
    fn stored_from(&self, n: IndexNo, primary_key: &[u8], flags: u8, row: &[u8]) -> Result<Option<Vec<u8>>> {
        let outside = Outside::of(self, flags, row);
        let view = RowView::row(primary_key, row, &outside);
        let mut stored = Vec::new();
        self.entries[n - 1].encode_stored(|c| view.get(c), &mut stored)?;
        outside.check()?;
        Ok((stored.len() <= STORED_MAX).then_some(stored))
    }

    /// How many deleted entries the table's graveyards hold.
    pub(crate) fn buried_entries(&self) -> u64 {
        self.indexes.iter().map(|index| index.graveyard.count()).sum()
    }

    /// Looks through the graveyard of an index and removes what no view needs any more. Ends early when `stopped`.
    pub(crate) fn clear_graveyard(
        &self,
        kernel: &Kernel,
        n: IndexNo,
        stopped: &dyn Fn() -> bool,
    ) -> Result<()> {
        let graveyard = &self.indexes[n].graveyard;
        let mut from = Vec::new();
        let mut found = graveyard.stretch();
        for steps in 0.. {
            found.clear();
            let wanted = Wanted {
                lower: &from,
                upper: None,
                reverse: false,
                most: STRETCH,
            };
            let all = graveyard.collect(&wanted, steps, &mut found)?;
            for buried in found.iter() {
                match n {
                    0 => self.clear_row(kernel, &buried)?,
                    n => self.clear_entry(kernel, n, &buried)?,
                }
            }
            match found.last_key() {
                Some(last) if !all && !stopped() => {
                    from.clear();
                    from.extend_from_slice(last);
                    from.push(0);
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn clear_row(&self, kernel: &Kernel, buried: &Buried<'_>) -> Result<()> {
        let Index { tree, graveyard, .. } = &self.indexes[0];
        let _leaf = tree.write(buried.key)?;
        let chain = kernel.mvcc.prune(buried.deleter, buried.older)?;
        if chain.first == Address::NONE {
            graveyard.forget(buried)?;
        } else if chain.first != buried.older {
            graveyard.relink(buried, chain.first)?;
        }
        let versions = kernel.mvcc.versions();
        versions.discard_until(buried.older, chain.dropped_until)
    }

    fn clear_entry(&self, kernel: &Kernel, n: IndexNo, buried: &Buried<'_>) -> Result<()> {
        let Index {
            tree,
            graveyard,
            building,
            ..
        } = &self.indexes[n];
        let access = building.as_deref().map(Building::enter);
        if let Some(None) = access {
            // Nobody reads an index that was abandoned.
            return graveyard.forget(buried);
        }
        let all_see = kernel.mvcc.all_see(buried.deleter);
        // Most often its validity interval says that it stays, and nothing else need be looked at.
        if !all_see
            && let Some(validity) = &buried.validity
            && let Need::By(_) | Need::Unknown = kernel.mvcc.need(validity.begin, validity.end)
        {
            return Ok(());
        }
        let _leaf = tree.write(buried.key)?;
        if all_see || matches!(self.needed_by_row_check(kernel, n, buried.key)?, Needed::ByNone) {
            graveyard.forget(buried)?;
        }
        Ok(())
    }
}

//! The scan cursor of a locking read: where the scan is, what it locks, and how it moves from entry to entry.

use super::super::range::Span;
use super::super::{Flow, RangeScan, Table};
use super::target::Target;
use super::{Locking, Matches, Visit, key_behind};
use crate::error::Result;
use crate::ids::{IndexNo, TxnId};
use crate::lock::{KeyRun, LockKey, LockType, SUPREMUM};
use crate::tree::{NextLeaf, Node};
use crate::txn::Txn;

/// The state of one locking scan.
pub(super) struct Cursor<'c, 'k, 'm> {
    pub table: &'c Table,
    pub txn: &'c mut Txn<'k>,
    pub n: IndexNo,
    pub scan: &'c RangeScan<'c>,
    pub lock: Locking,
    /// Gaps are locked, too.
    pub gaps: bool,
    pub reverse: bool,
    /// What the range looks for.
    pub target: Target,
    /// What is left of the range.
    pub span: Span,
    /// Decides whether a clustered row that another transaction has locked is worth waiting for, by its last committed
    /// version.
    pub matches: Option<Matches<'m>>,
    /// The entry locked last if its lock was new and its row is still to be examined: the lock may yet be released.
    pub fresh: Option<Vec<u8>>,
    /// The run of neighbouring entries locked with their gaps.
    pub run: KeyRun,
}

/// What the cursor does after an entry.
pub(super) enum Move {
    /// To the next, after the row was shown, or was found marked deleted in the clustered index itself.
    Next,
    /// To the next: what stands here is no row of the range, or was skipped.
    Skip,
    Stop,
    /// Release the latches, wait, and come back to this entry.
    Wait(LockKey),
    /// Release the latches and hand the key over.
    HandOver,
}

/// The outcome of locking an entry or a row.
pub(super) enum LockOutcome {
    /// `fresh`: it may be released.
    Held {
        fresh: bool,
    },
    Skipped,
    Wait(LockKey),
}

impl Table {
    /// Locks and visits the rows of a range.
    pub(in crate::table) fn scan_locking(
        &self,
        txn: &mut Txn<'_>,
        scan: &RangeScan<'_>,
        lock: Locking,
        matches: Option<Matches<'_>>,
        mut visit: Visit<'_>,
    ) -> Result<()> {
        let Some(span) = scan.span() else {
            return Ok(());
        };
        let target = self.target(scan.index, scan.range);
        if scan.after.is_some() && (target.unique || target.whole) {
            // There is no other entry.
            return Ok(());
        }
        let all = txn.snapshot_isolation.then(|| span.clone());
        let gaps = txn.locks_gaps();
        let mut cursor = Cursor {
            table: self,
            txn,
            n: scan.index,
            scan,
            lock,
            gaps,
            reverse: scan.reverse,
            target,
            span,
            matches,
            fresh: None,
            run: KeyRun::default(),
        };
        match scan.reverse {
            false => cursor.up(&mut visit)?,
            true => cursor.down(&mut visit)?,
        }
        match all {
            Some(all) if scan.index == 0 => self.check_none_buried(txn, &all.lower, all.upper.as_deref()),
            _ => Ok(()),
        }
    }
}

impl Cursor<'_, '_, '_> {
    fn up(&mut self, visit: &mut Visit<'_>) -> Result<()> {
        let tree = &self.table.indexes[self.n].tree;
        // True once the row that the range may end with has been locked, deleted or not: then nothing behind it need be
        // locked.
        let mut at_last = self.scan.after.is_some_and(|key| self.is_last(key));
        // True if the last entry visited lies behind the range.
        let mut beyond = false;
        'descend: loop {
            self.txn.check_locking()?;
            let mut leaf = tree.read(&self.span.lower)?;
            let mut slot = leaf.node().search(&self.span.lower).unwrap_or_else(|slot| slot);
            loop {
                // The keys of this leaf before `slot` are done with.
                let start = slot;
                while slot < leaf.node().count() {
                    let (key, value) = leaf.node().entry(slot);
                    beyond = self
                        .span
                        .upper
                        .as_ref()
                        .is_some_and(|upper| key >= upper.as_slice());
                    let step = match beyond {
                        true if at_last => Move::Stop,
                        true => self.lock_beyond(key, value)?,
                        false => self.step(key, value, visit)?,
                    };
                    match step {
                        Move::Next => {
                            at_last = self.is_last(key);
                            slot += 1;
                        }
                        Move::Skip => slot += 1,
                        Move::Stop => return Ok(()),
                        Move::HandOver => {
                            let key = key.to_vec();
                            drop(leaf);
                            if self.hand_over(&key, visit)? == Flow::Stop {
                                return Ok(());
                            }
                            at_last = self.is_last(&key);
                            self.span.go_on_after(&key, false);
                            continue 'descend;
                        }
                        Move::Wait(lock) => {
                            self.span.come_back_to(key, false);
                            drop(leaf);
                            self.txn.wait(&lock)?;
                            continue 'descend;
                        }
                    }
                }
                self.txn.check_locking()?;
                match leaf.next_held()? {
                    NextLeaf::Leaf(next) => {
                        self.span.go_on_at(leaf.node().upper_fence(), false);
                        (leaf, slot) = (next, 0);
                    }
                    NextLeaf::End => {
                        if self.gaps && (self.lock.tests_entries || !beyond) {
                            self.lock_gap(SUPREMUM, TxnId::NONE);
                        }
                        return Ok(());
                    }
                    NextLeaf::Busy => {
                        self.pass(leaf.node(), start, slot);
                        continue 'descend;
                    }
                }
            }
        }
    }

    fn down(&mut self, visit: &mut Visit<'_>) -> Result<()> {
        let tree = &self.table.indexes[self.n].tree;
        let mut found = self.scan.after.is_some();
        let mut begun = found || !self.gaps;
        'descend: loop {
            self.txn.check_locking()?;
            let leaf = match &self.span.upper {
                Some(upper) => tree.read_below(upper)?,
                None => tree.read_last()?,
            };
            let node = leaf.node();
            let end = self.span.upper.as_ref().map_or(node.count(), |upper| {
                node.search(upper).unwrap_or_else(|slot| slot)
            });
            if !begun {
                begun = key_behind(&leaf, end, &mut |key, writer| self.lock_gap(key, writer))?;
                if !begun {
                    continue 'descend;
                }
            }
            for slot in (0..end).rev() {
                let (key, value) = node.entry(slot);
                let step = match key < self.span.lower.as_slice() {
                    true => self.lock_before(key, value, found)?,
                    false => self.step(key, value, visit)?,
                };
                match step {
                    Move::Next => found = true,
                    Move::Skip => {}
                    Move::Stop => return Ok(()),
                    Move::HandOver => {
                        found = true;
                        let key = key.to_vec();
                        drop(leaf);
                        if self.hand_over(&key, visit)? == Flow::Stop {
                            return Ok(());
                        }
                        self.span.go_on_after(&key, true);
                        continue 'descend;
                    }
                    Move::Wait(lock) => {
                        self.span.come_back_to(key, true);
                        drop(leaf);
                        self.txn.wait(&lock)?;
                        continue 'descend;
                    }
                }
            }
            if node.lower_fence().is_empty() {
                return Ok(());
            }
            self.span.upper = Some(node.lower_fence().to_vec());
        }
    }

    /// Whether a range that locks gaps ends with this row.
    fn is_last(&self, key: &[u8]) -> bool {
        self.gaps && self.target.last.as_deref() == Some(key)
    }

    /// Continues behind the keys of a leaf that are done with.
    fn pass(&mut self, node: Node<'_>, start: usize, slot: usize) {
        if slot > start {
            self.span.go_on_after(node.key(slot - 1), false);
        }
    }

    /// Releases a lock that turned out not to be needed, where gaps are not locked.
    pub(super) fn let_go(&self, n: IndexNo, key: &[u8], want: LockType, fresh: bool) {
        if fresh && !self.gaps {
            let locks = &self.txn.kernel.locks;
            locks.release(&self.txn.owner, &self.table.indexes[n].locks, key, want);
        }
    }
}

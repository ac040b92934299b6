//! Locking reads: which locks a scan takes, and in which order.
//!
//! They are InnoDB's. Under REPEATABLE READ and above a scan locks every entry it meets with the gap in front of it, so
//! that nothing can appear where it has been; under READ COMMITTED, entries alone, and those that turn out not to match
//! are let go. In detail:
//!
//! | what is looked for | locked |
//! |---|---|
//! | all parts of a unique key, and it is there | the entry alone |
//! | … and it is not | the gap where it would stand |
//! | equality of the leading parts | every entry with its gap, and the gap behind them |
//! | a range | every entry with its gap, and what lies behind: see [`ends`] |
//! | … of the clustered index, from a row that is there | that row alone |
//! | a range, backwards | the gap behind it, every entry with its gap, and the entry before the range |
//!
//! An entry of a secondary index is locked before its row, and its row alone; a shared read that the index covers leaves
//! the row unlocked. What is marked deleted is locked like anything else: it is where its gap is.
//!
//! *A wait* ends where it began: the scan goes on at the entry it waited for, or behind it if that is gone, and does not
//! look again at what lies before. Who waits for a gap keeps others out of it, so nothing that should have been met can
//! have appeared there; where gaps are not locked, it may.
//!
//! *Nothing appears in between.* A scan that locks gaps goes from leaf to leaf with the left one in hand, and locks the
//! first entry of the right one before it lets go: an insert at the end of the left leaf comes before it and is seen, or
//! after it and finds the lock. Backwards no hand is needed: the gap between two leaves is locked, at the right one's
//! first entry, before the left one is looked at.
//!
//! | file | idea |
//! |---|---|
//! | `shape` | what a range looks for, as far as locks depend on it |
//! | `step` | one entry and its row |
//! | `committed` | rows that others have locked, judged as they were committed |
//! | `ends` | what keeps the ends of a range as they are |
//! | `point` | one row by its whole clustered key |
//! | `agree` | snapshot isolation: no lock on what has changed since the view |

mod agree;
mod committed;
mod ends;
mod point;
mod shape;
mod step;

pub(super) use ends::key_behind;

use super::range::Span;
use super::row::RowView;
use super::schema::IndexNo;
use super::{Flow, Keep, KeyRange, LockWait, Table};
use crate::core::Core;
use crate::error::Result;
use crate::ids::TxnId;
use crate::lock::{LockKey, LockMode, Run, SUPREMUM, Want};
use crate::transaction::Inner;
use crate::tree::{NextLeaf, Node};
use shape::Shape;

/// What is done with a locked row.
pub(super) enum Visit<'f> {
    /// It is shown, under the latches of its leaf and of its entry's.
    Show(&'f mut dyn FnMut(&RowView) -> Result<(Keep, Flow)>),
    /// Its key (of the index that is scanned) is handed over, with no latch held. A clustered row has not been locked yet
    /// where no gaps are.
    Key(&'f mut dyn FnMut(&mut Inner, &[u8]) -> Result<(Keep, Flow)>),
}

/// Whether a row matches.
pub(super) type Judge<'f> = &'f mut dyn FnMut(&RowView) -> Result<bool>;

/// How a locking read asks for its locks.
#[derive(Clone, Copy)]
pub(super) struct Locking {
    pub mode: LockMode,
    pub wait: LockWait,
    /// The index alone can answer.
    pub covering: bool,
    /// Whether an entry is in the range is known from the index, before its row is locked.
    pub tests_entries: bool,
}

impl Locking {
    /// Whether the row of an entry is locked to find out that it lies behind the range.
    fn looks_at_rows(&self) -> bool {
        !(self.tests_entries || self.covering && self.mode == LockMode::Shared)
    }
}

/// One scan on its way.
struct Course<'c> {
    core: &'c Core,
    n: IndexNo,
    lock: Locking,
    gaps: bool,
    reverse: bool,
    shape: Shape,
    span: Span,
    /// Judges a clustered row that somebody else has locked, as it was last committed: whether it is worth waiting for.
    judge: Option<Judge<'c>>,
    /// The entry that has just been locked at once, while its row is still to be looked at.
    fresh: Option<Vec<u8>>,
    /// The entries locked with their gaps, one beside the other.
    run: Run,
}

/// Where a scan goes from an entry.
enum Step {
    /// On, after the row was shown, or was found to be marked as deleted in the clustered index itself.
    On,
    /// On: what stands here is no row of the range, or was passed over.
    Over,
    Stop,
    /// Let go of the latches, wait, and come back to this entry.
    Wait(LockKey),
    /// Let go of the latches and hand the key over.
    Found,
}

/// How locking an entry or a row turned out.
enum Got {
    /// `fresh`: it may be let go.
    Held {
        fresh: bool,
    },
    Skipped,
    Wait(LockKey),
}

impl Table {
    /// Locks and visits the rows of a range.
    pub(super) fn scan_locking<'c>(
        &self,
        core: &'c Core,
        t: &mut Inner,
        n: IndexNo,
        range: &KeyRange,
        reverse: bool,
        lock: Locking,
        judge: Option<Judge<'c>>,
        mut visit: Visit<'_>,
    ) -> Result<()> {
        let Some(span) = Span::of(range) else {
            return Ok(());
        };
        let all = t.snapshot_isolation.then(|| span.clone());
        let mut course = Course {
            core,
            n,
            lock,
            gaps: t.locks_gaps(),
            reverse,
            shape: self.shape(n, range),
            span,
            judge,
            fresh: None,
            run: Run::default(),
        };
        match reverse {
            false => self.scan_up(t, &mut course, &mut visit)?,
            true => self.scan_down(t, &mut course, &mut visit)?,
        }
        match all {
            Some(all) if n == 0 => self.check_none_buried(core, t, &all.lower, all.upper.as_deref()),
            _ => Ok(()),
        }
    }

    fn scan_up(&self, t: &mut Inner, course: &mut Course<'_>, visit: &mut Visit<'_>) -> Result<()> {
        let tree = &self.indexes[course.n].tree;
        // Whether the row that the range may end with has been locked, dead or alive: then there is nothing behind it to be locked.
        let mut at_last = false;
        // Whether the last entry that was met lies behind the range.
        let mut beyond = false;
        'descend: loop {
            t.check()?;
            let mut leaf = tree.read(&course.span.lower)?;
            let mut slot = leaf.node().search(&course.span.lower).unwrap_or_else(|slot| slot);
            loop {
                // The keys of this leaf before `slot` are done with.
                let start = slot;
                while slot < leaf.node().count() {
                    let (key, value) = leaf.node().entry(slot);
                    beyond = course
                        .span
                        .upper
                        .as_ref()
                        .is_some_and(|upper| key >= upper.as_slice());
                    let step = match beyond {
                        true if at_last => Step::Stop,
                        true => self.lock_beyond(t, course, key, value)?,
                        false => self.step(t, course, key, value, visit)?,
                    };
                    match step {
                        Step::On => {
                            at_last = course.is_last(key);
                            slot += 1;
                        }
                        Step::Over => slot += 1,
                        Step::Stop => return Ok(()),
                        Step::Found => {
                            let key = key.to_vec();
                            drop(leaf);
                            if self.hand_over(t, course, &key, visit)? == Flow::Stop {
                                return Ok(());
                            }
                            at_last = course.is_last(&key);
                            course.span.go_on_after(&key, false);
                            continue 'descend;
                        }
                        Step::Wait(lock) => {
                            course.span.come_back_to(key, false);
                            drop(leaf);
                            t.wait(course.core, &lock)?;
                            continue 'descend;
                        }
                    }
                }
                t.check()?;
                match leaf.next_held()? {
                    NextLeaf::Leaf(next) => {
                        course.span.go_on_at(leaf.node().upper_fence(), false);
                        (leaf, slot) = (next, 0);
                    }
                    NextLeaf::End => {
                        if course.gaps && (course.lock.tests_entries || !beyond) {
                            self.lock_gap(t, course, SUPREMUM, TxnId::NONE);
                        }
                        return Ok(());
                    }
                    NextLeaf::Busy => {
                        course.pass(leaf.node(), start, slot);
                        continue 'descend;
                    }
                }
            }
        }
    }

    fn scan_down(&self, t: &mut Inner, course: &mut Course<'_>, visit: &mut Visit<'_>) -> Result<()> {
        let tree = &self.indexes[course.n].tree;
        let mut begun = !course.gaps;
        let mut found = false;
        'descend: loop {
            t.check()?;
            let leaf = match &course.span.upper {
                Some(upper) => tree.read_below(upper)?,
                None => tree.read_last()?,
            };
            let node = leaf.node();
            let end = course.span.upper.as_ref().map_or(node.count(), |upper| {
                node.search(upper).unwrap_or_else(|slot| slot)
            });
            if !begun {
                begun = key_behind(&leaf, end, &mut |key, writer| {
                    self.lock_gap(t, course, key, writer)
                })?;
                if !begun {
                    continue 'descend;
                }
            }
            for slot in (0..end).rev() {
                let (key, value) = node.entry(slot);
                let step = match key < course.span.lower.as_slice() {
                    true => self.lock_before(t, course, key, value, found)?,
                    false => self.step(t, course, key, value, visit)?,
                };
                match step {
                    Step::On => found = true,
                    Step::Over => {}
                    Step::Stop => return Ok(()),
                    Step::Found => {
                        found = true;
                        let key = key.to_vec();
                        drop(leaf);
                        if self.hand_over(t, course, &key, visit)? == Flow::Stop {
                            return Ok(());
                        }
                        course.span.go_on_after(&key, true);
                        continue 'descend;
                    }
                    Step::Wait(lock) => {
                        course.span.come_back_to(key, true);
                        drop(leaf);
                        t.wait(course.core, &lock)?;
                        continue 'descend;
                    }
                }
            }
            if node.lower_fence().is_empty() {
                return Ok(());
            }
            course.span.upper = Some(node.lower_fence().to_vec());
        }
    }
}

impl Course<'_> {
    /// Whether a range that locks gaps ends with this row.
    fn is_last(&self, key: &[u8]) -> bool {
        self.gaps && self.shape.last.as_deref() == Some(key)
    }

    /// Goes on behind the keys of a leaf that are done with.
    fn pass(&mut self, node: Node<'_>, start: usize, slot: usize) {
        if slot > start {
            self.span.go_on_after(node.key(slot - 1), false);
        }
    }

    /// Lets go of a lock that turned out not to be needed, where gaps are not locked.
    fn let_go(&self, table: &Table, t: &Inner, n: IndexNo, key: &[u8], want: Want, fresh: bool) {
        if fresh && !self.gaps {
            self.core.locks.release(&t.owner, table.indexes[n].id, key, want);
        }
    }
}

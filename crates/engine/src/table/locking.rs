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
//! | a range | every entry with its gap, and what lies behind: in the clustered index the gap, in another also the entry |
//! | … of the clustered index, from a row that is there | that row alone; with `<=`, nothing behind a row that is there |
//! | a range, backwards | the gap behind it, every entry with its gap, and the entry before the range |
//!
//! An entry of a secondary index is locked before its row, and its row alone; a shared read that the index covers leaves
//! the row unlocked. What is marked deleted is locked like anything else: it is where its gap is.
//!
//! *Nothing appears in between.* A scan that locks gaps goes from leaf to leaf with the left one in hand, and locks the
//! first entry of the right one before it lets go: an insert at the end of the left leaf comes before it and is seen, or
//! after it and finds the lock. Backwards no hand is needed: the gap between two leaves is locked, at the right one's
//! first entry, before the left one is looked at.

use super::entry::{EntryHead, Head, row_of, stored_of};
use super::outside::Outside;
use super::range::Span;
use super::row::RowView;
use super::schema::IndexNo;
use super::{Flow, Keep, KeyRange, LockWait, Table};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::ids::TxnId;
use crate::lock::{LockKey, LockKind, LockMode, Run, SUPREMUM, Want};
use crate::mvcc::{self, Address};
use crate::transaction::{Inner, RowLock};
use crate::tree::{LeafRead, NextLeaf, Node};
use std::ops::Bound;

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
}

/// What a range looks for, as far as locks depend on it.
struct Shape {
    /// The leading parts are given.
    equality: bool,
    /// All parts of a unique key are given.
    unique: bool,
    /// The whole entry is given, with the clustered key.
    whole: bool,
    /// The clustered row that a range begins with.
    first: Option<Vec<u8>>,
    /// The clustered row that a range ends with.
    last: Option<Vec<u8>>,
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
    On,
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
    fn shape(&self, n: IndexNo, range: &KeyRange) -> Shape {
        let equality = match (&range.lower, &range.upper) {
            (Bound::Included(a), Bound::Included(b)) if a == b => Some(a),
            _ => None,
        };
        let clustered = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(key) if n == 0 && equality.is_none() && self.is_whole_key(0, key) => {
                Some(key.clone())
            }
            _ => None,
        };
        Shape {
            equality: equality.is_some(),
            unique: equality.is_some_and(|key| self.is_unique_key(n, key)),
            whole: equality.is_some_and(|key| self.is_whole_key(n, key)),
            first: clustered(&range.lower),
            last: clustered(&range.upper),
        }
    }

    /// Whether these are all parts of the entry's key.
    fn is_whole_key(&self, n: IndexNo, key: &[u8]) -> bool {
        match n {
            0 if self.schema.primary.is_none() => key.len() == super::ROW_ID_BYTES,
            0 => self.parts_in(&self.primary, key) == Some(self.primary.len()),
            n => {
                let layout = &self.entries[n - 1];
                match self.schema.primary {
                    Some(_) => self.parts_in(&layout.parts, key) == Some(layout.parts.len()),
                    None => {
                        let own = layout
                            .parts
                            .iter()
                            .try_fold(0, |at, p| Some(at + p.skip(&key[at..])?));
                        own.is_some_and(|own| key.len() == own + super::ROW_ID_BYTES)
                    }
                }
            }
        }
    }

    /// Whether these are all parts of a key that no two rows share.
    fn is_unique_key(&self, n: IndexNo, key: &[u8]) -> bool {
        match n {
            0 => self.is_whole_key(0, key),
            n => {
                let layout = &self.entries[n - 1];
                self.schema.secondary[n - 1].unique
                    && self.parts_in(&layout.parts, key) == Some(layout.own)
                    && !layout.has_null(key)
            }
        }
    }

    /// How many whole parts a key has; `None` if it ends within one, or goes on behind them.
    fn parts_in(&self, parts: &[super::KeyPartCodec], key: &[u8]) -> Option<usize> {
        let mut at = 0;
        for (i, part) in parts.iter().enumerate() {
            if at == key.len() {
                return Some(i);
            }
            at += part.skip(&key[at..])?;
        }
        (at == key.len()).then_some(parts.len())
    }

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

    /// With snapshot isolation on: that no row within these bounds, which are locked by now, was deleted since the view
    /// and has been put out of the way already.
    pub(super) fn check_none_buried(
        &self,
        core: &Core,
        t: &Inner,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<()> {
        const AT_A_TIME: usize = 64;
        let graveyard = &self.indexes[0].graveyard;
        let Some(view) = t.view_to_keep().filter(|view| graveyard.concerns(view)) else {
            return Ok(());
        };
        let mut lower = lower.to_vec();
        let mut found = Vec::new();
        loop {
            found.clear();
            let all = graveyard.collect(&lower, upper, false, 0, AT_A_TIME, &mut found)?;
            if found.iter().any(|buried| !view.sees(buried.deleter, &core.txns)) {
                return Err(Error::RecordChanged);
            }
            match found.last() {
                Some(last) if !all => {
                    lower.clear();
                    lower.extend_from_slice(&last.key);
                    lower.push(0);
                }
                _ => return Ok(()),
            }
        }
    }

    /// The same for one key.
    pub(super) fn check_not_buried(&self, core: &Core, t: &Inner, key: &[u8]) -> Result<()> {
        if t.view_to_keep().is_none() {
            return Ok(());
        }
        let mut end = key.to_vec();
        end.push(0);
        self.check_none_buried(core, t, key, Some(&end))
    }

    fn scan_up(&self, t: &mut Inner, course: &mut Course<'_>, visit: &mut Visit<'_>) -> Result<()> {
        let tree = &self.indexes[course.n].tree;
        // Whether the row that the range may end with has been met.
        let mut at_last = false;
        'descend: loop {
            t.check()?;
            let mut leaf = tree.read(&course.span.lower)?;
            let mut slot = leaf.node().search(&course.span.lower).unwrap_or_else(|slot| slot);
            loop {
                // The keys of this leaf before `slot` are done with.
                let start = slot;
                while slot < leaf.node().count() {
                    let (key, value) = leaf.node().entry(slot);
                    let beyond = course
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
                            at_last = course.shape.last.as_deref() == Some(key);
                            slot += 1;
                        }
                        Step::Stop => return Ok(()),
                        Step::Found => {
                            let key = key.to_vec();
                            drop(leaf);
                            if self.hand_over(t, course, &key, visit)? == Flow::Stop {
                                return Ok(());
                            }
                            at_last = course.shape.last.as_deref() == Some(&key);
                            course.span.go_on_after(&key, false);
                            continue 'descend;
                        }
                        Step::Wait(lock) => {
                            course.pass(leaf.node(), start, slot);
                            drop(leaf);
                            t.wait(course.core, &lock)?;
                            continue 'descend;
                        }
                    }
                }
                if at_last && course.span.upper.is_some() {
                    return Ok(());
                }
                t.check()?;
                match leaf.next_held()? {
                    NextLeaf::Leaf(next) => {
                        course.span.go_on_at(leaf.node().upper_fence(), false);
                        (leaf, slot) = (next, 0);
                    }
                    NextLeaf::End => {
                        if course.gaps {
                            self.lock_gap(t, course, SUPREMUM);
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
                begun = key_behind(&leaf, end, &mut |key| self.lock_gap(t, course, key))?;
                if !begun {
                    continue 'descend;
                }
            }
            for slot in (0..end).rev() {
                let (key, value) = node.entry(slot);
                let step = match key < course.span.lower.as_slice() {
                    true => self.lock_before(t, course, key, value)?,
                    false => self.step(t, course, key, value, visit)?,
                };
                match step {
                    Step::On => {}
                    Step::Stop => return Ok(()),
                    Step::Found => {
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

    /// Locks one entry of the range and visits it.
    fn step(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        value: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<Step> {
        if course.n == 0 {
            return self.step_clustered(t, course, key, value, visit);
        }
        let head = EntryHead::of(value);
        let alone = course.shape.unique && !head.is_deleted();
        let gaps = course.gaps && !alone;
        let want = Want::scanned(course.lock.mode, gaps);
        let fresh = match self.get_lock(t, course, course.n, key, want, head.writer)? {
            Got::Held { fresh } => fresh,
            Got::Skipped => return Ok(Step::On),
            Got::Wait(lock) => return Ok(Step::Wait(lock)),
        };
        if head.is_deleted() {
            course.let_go(self, t, course.n, key, want, fresh);
            return Ok(Step::On);
        }
        let last = course.shape.unique || course.shape.whole;
        let then = |flow| match (flow, last) {
            (Flow::Continue, false) => Step::On,
            _ => Step::Stop,
        };
        let Visit::Show(show) = visit else {
            // Until its row is looked at, what becomes of the lock is open.
            course.fresh = fresh.then(|| key.to_vec());
            return Ok(Step::Found);
        };
        let layout = &self.entries[course.n - 1];
        if course.lock.covering && course.lock.mode == LockMode::Shared {
            let (keep, flow) = show(&RowView::entry(layout, key, stored_of(value)))?;
            if keep == Keep::Release {
                course.let_go(self, t, course.n, key, want, fresh);
            }
            return Ok(then(flow));
        }
        let primary_key = &key[layout.primary_at(key)..];
        let (n, mut flow) = (course.n, Flow::Continue);
        let row = self.lock_row_of(t, course, primary_key, &mut |row| {
            // It was locked by its entry, and may have moved on before that.
            if !self.has_entry(n, row, key)? {
                return Ok(Keep::Release);
            }
            let keep;
            (keep, flow) = show(row)?;
            Ok(keep)
        })?;
        match row {
            Got::Held { fresh: false } => {}
            Got::Held { fresh: true } | Got::Skipped => {
                course.let_go(self, t, course.n, key, want, fresh);
            }
            Got::Wait(lock) => {
                course.fresh = fresh.then(|| key.to_vec());
                return Ok(Step::Wait(lock));
            }
        }
        Ok(then(flow))
    }

    fn step_clustered(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        value: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<Step> {
        let head = Head::of(value);
        let alone = course.shape.unique || (!course.reverse && course.shape.first.as_deref() == Some(key));
        let want = Want::scanned(course.lock.mode, course.gaps && !alone);
        let then = |flow, unique| match (flow, unique) {
            (Flow::Continue, false) => Step::On,
            _ => Step::Stop,
        };
        if !self.is_worth_waiting_for(t, course, key, value)? {
            return Ok(Step::On);
        }
        if !course.gaps && matches!(visit, Visit::Key(_)) {
            return Ok(Step::Found);
        }
        let fresh = match self.get_lock(t, course, 0, key, want, head.writer)? {
            Got::Held { fresh } => fresh,
            Got::Skipped => return Ok(then(Flow::Continue, course.shape.unique)),
            Got::Wait(lock) => return Ok(Step::Wait(lock)),
        };
        self.check_unchanged(course.core, t, head.writer)?;
        if head.is_deleted() {
            course.let_go(self, t, 0, key, want, fresh);
            return Ok(then(Flow::Continue, course.shape.unique));
        }
        let Visit::Show(show) = visit else {
            return Ok(Step::Found);
        };
        let row = row_of(value);
        let outside = Outside::of(&self.indexes[0].tree, &self.layout, head.flags, row);
        let (keep, flow) = show(&RowView::row(&self.layout, key, row, &outside))?;
        outside.check()?;
        if keep == Keep::Release {
            course.let_go(self, t, 0, key, want, fresh);
        }
        Ok(then(flow, course.shape.unique))
    }

    /// A *semi-consistent* read: where gaps are not locked, an update that meets a locked row looks at it as it was last
    /// committed, and waits for it only if it matches so.
    fn is_worth_waiting_for(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool> {
        let Some(judge) = course
            .judge
            .as_mut()
            .filter(|_| !course.gaps && !course.shape.unique)
        else {
            return Ok(true);
        };
        let (core, index) = (course.core, &self.indexes[0]);
        let head = Head::of(value);
        if !t.is_locked(core, &index.locks, key, head.writer) {
            return Ok(true);
        }
        let mut row = std::mem::take(&mut t.buffers.version);
        row.clear();
        let mut flags = None;
        if !core.txns.is_active(head.writer) {
            row.extend_from_slice(row_of(value));
            flags = (!head.is_deleted()).then_some(head.flags);
        } else if head.older != Address::NONE
            && let Some(version) = core.versions().read(head.older, Some(&mut row))?
        {
            flags = (version.flags & mvcc::DELETED == 0).then_some(version.row_flags);
        }
        let mut matches = Ok(false);
        if let Some(flags) = flags {
            let outside = Outside::of(&index.tree, &self.layout, flags, &row);
            matches = judge(&RowView::row(&self.layout, key, &row, &outside));
            outside.check()?;
        }
        t.buffers.version = row;
        matches
    }

    /// Hands a key over, with no latch held.
    fn hand_over(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        visit: &mut Visit<'_>,
    ) -> Result<Flow> {
        let Visit::Key(hand_over) = visit else {
            unreachable!("a row that is shown is not handed over");
        };
        let fresh = course.n != 0 && course.fresh.take().is_some();
        let (keep, flow) = hand_over(t, key)?;
        if keep == Keep::Release && course.n != 0 {
            course.let_go(self, t, course.n, key, Want::record(course.lock.mode), fresh);
        }
        if course.shape.unique || course.shape.whole {
            return Ok(Flow::Stop);
        }
        Ok(flow)
    }

    /// Locks the row of an entry and shows it. `fresh`: it was let go again, and so may the entry be.
    fn lock_row_of(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        key: &[u8],
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<Got> {
        // Nobody who holds a clustered leaf waits for a secondary one, so this cannot be a deadlock.
        let leaf = self.indexes[0].tree.read(key)?;
        let Some(value) = leaf.get(key) else {
            return Ok(Got::Held { fresh: true });
        };
        let head = Head::of(value);
        let want = Want::record(course.lock.mode);
        let fresh = match self.get_lock(t, course, 0, key, want, head.writer)? {
            Got::Held { fresh } => fresh,
            other => return Ok(other),
        };
        self.check_unchanged(course.core, t, head.writer)?;
        let mut keep = Keep::Release;
        if !head.is_deleted() {
            let row = row_of(value);
            let outside = Outside::of(&self.indexes[0].tree, &self.layout, head.flags, row);
            keep = f(&RowView::row(&self.layout, key, row, &outside))?;
            outside.check()?;
        }
        if keep == Keep::Release {
            course.let_go(self, t, 0, key, want, fresh);
        }
        Ok(Got::Held {
            fresh: keep == Keep::Release,
        })
    }

    /// Asks for the lock of an entry, or of its row if `n` is 0.
    fn get_lock(
        &self,
        t: &mut Inner,
        course: &mut Course<'_>,
        n: IndexNo,
        key: &[u8],
        want: Want,
        writer: TxnId,
    ) -> Result<Got> {
        let index = &self.indexes[n];
        let fresh = n == course.n && course.fresh.take().is_some_and(|fresh| fresh == key);
        let in_run = n == course.n && want.kind == LockKind::NextKey;
        let (core, lock) = (course.core, course.lock);
        let asked = match in_run {
            true => t.lock_in_run(
                core,
                &index.locks,
                key,
                lock.mode,
                writer,
                lock.wait,
                &mut course.run,
            ),
            false => t.lock(core, &index.locks, key, want, writer, lock.wait),
        };
        match asked {
            RowLock::Held { new } => Ok(Got::Held { fresh: new || fresh }),
            RowLock::Busy if course.lock.wait == LockWait::Skip => Ok(Got::Skipped),
            RowLock::Busy => Err(Error::LockNoWait),
            RowLock::Wait(lock) => Ok(Got::Wait(lock)),
        }
    }

    /// A gap lock is never waited for.
    fn lock_gap(&self, t: &mut Inner, course: &Course<'_>, key: &[u8]) {
        let locks = &self.indexes[course.n].locks;
        let want = Want::gap(course.lock.mode);
        t.lock(course.core, locks, key, want, TxnId::NONE, LockWait::Wait);
    }

    /// Locks what keeps the end of a range as it is: at the first entry that is not in it any more.
    fn lock_beyond(&self, t: &mut Inner, course: &mut Course<'_>, key: &[u8], value: &[u8]) -> Result<Step> {
        if course.gaps && (course.shape.equality || course.n == 0) {
            self.lock_gap(t, course, key);
            return Ok(Step::Stop);
        }
        if course.shape.equality {
            return Ok(Step::Stop);
        }
        // That the entry is not in the range is found out when it has been locked.
        let want = Want::scanned(course.lock.mode, course.gaps);
        match self.get_lock(t, course, course.n, key, want, self.writer(course.n, value))? {
            Got::Wait(lock) => Ok(Step::Wait(lock)),
            Got::Skipped => Ok(Step::Stop),
            Got::Held { fresh } => {
                course.let_go(self, t, course.n, key, want, fresh);
                Ok(Step::Stop)
            }
        }
    }

    /// The same at the lower end, for who comes down.
    fn lock_before(&self, t: &mut Inner, course: &mut Course<'_>, key: &[u8], value: &[u8]) -> Result<Step> {
        let want = Want::scanned(course.lock.mode, course.gaps);
        let fresh = match self.get_lock(t, course, course.n, key, want, self.writer(course.n, value))? {
            Got::Wait(lock) => return Ok(Step::Wait(lock)),
            Got::Skipped => return Ok(Step::Stop),
            Got::Held { fresh } => fresh,
        };
        match (course.n, course.shape.equality) {
            // The row is read before it turns out not to be meant, and stays locked.
            (0, _) => {}
            (n, true) if !EntryHead::of(value).is_deleted() => {
                let primary_key = &key[self.entries[n - 1].primary_at(key)..];
                let row = self.lock_row_of(t, course, primary_key, &mut |_| Ok(Keep::Locked))?;
                if let Got::Wait(lock) = row {
                    return Ok(Step::Wait(lock));
                }
            }
            (n, _) => course.let_go(self, t, n, key, want, fresh),
        }
        Ok(Step::Stop)
    }

    fn writer(&self, n: IndexNo, value: &[u8]) -> TxnId {
        match n {
            0 => Head::of(value).writer,
            _ => EntryHead::of(value).writer,
        }
    }

    /// Locks one row by its whole clustered key and shows it. Answers whether there is one (that could be locked).
    pub(super) fn lock_point(
        &self,
        core: &Core,
        t: &mut Inner,
        key: &[u8],
        lock: Locking,
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<bool> {
        let index = &self.indexes[0];
        let want = Want::record(lock.mode);
        loop {
            t.check()?;
            let leaf = index.tree.read(key)?;
            let slot = match leaf.node().search(key) {
                Ok(slot) => slot,
                Err(slot) => {
                    let gap = Want::gap(lock.mode);
                    let done = !t.locks_gaps()
                        || key_behind(&leaf, slot, &mut |next| {
                            t.lock(core, &index.locks, next, gap, TxnId::NONE, LockWait::Wait);
                        })?;
                    if done {
                        drop(leaf);
                        self.check_not_buried(core, t, key)?;
                        return Ok(false);
                    }
                    continue;
                }
            };
            let value = leaf.node().value(slot);
            let head = Head::of(value);
            let fresh = match t.lock(core, &index.locks, key, want, head.writer, lock.wait) {
                RowLock::Held { new } => new && !t.locks_gaps(),
                RowLock::Busy if lock.wait == LockWait::Skip => return Ok(false),
                RowLock::Busy => return Err(Error::LockNoWait),
                RowLock::Wait(wait) => {
                    drop(leaf);
                    t.wait(core, &wait)?;
                    continue;
                }
            };
            self.check_unchanged(core, t, head.writer)?;
            let mut keep = Keep::Release;
            if !head.is_deleted() {
                let row = row_of(value);
                let outside = Outside::of(&index.tree, &self.layout, head.flags, row);
                keep = f(&RowView::row(&self.layout, key, row, &outside))?;
                outside.check()?;
            }
            if fresh && keep == Keep::Release {
                core.locks.release(&t.owner, index.id, key, want);
            }
            return Ok(!head.is_deleted());
        }
    }
}

impl Course<'_> {
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

/// A leaf in hand that the next can be reached from.
pub(super) trait Latched<'t> {
    fn node(&self) -> Node<'_>;
    fn next(&self) -> Result<NextLeaf<'t>>;
}

impl<'t> Latched<'t> for LeafRead<'t> {
    fn node(&self) -> Node<'_> {
        LeafRead::node(self)
    }
    fn next(&self) -> Result<NextLeaf<'t>> {
        self.next_held()
    }
}

impl<'t> Latched<'t> for crate::tree::LeafWrite<'t> {
    fn node(&self) -> Node<'_> {
        crate::tree::LeafWrite::node(self)
    }
    fn next(&self) -> Result<NextLeaf<'t>> {
        self.next_held()
    }
}

/// Calls `f` with the first key at or behind a slot of the leaf, or the supremum, while all leaves up to it are latched.
/// Answers false if they could not be latched from here: let go and come again.
pub(super) fn key_behind<'t>(leaf: &dyn Latched<'t>, slot: usize, f: &mut dyn FnMut(&[u8])) -> Result<bool> {
    let node = leaf.node();
    if slot < node.count() {
        f(node.key(slot));
        return Ok(true);
    }
    match leaf.next()? {
        NextLeaf::Leaf(next) => key_behind(&next, 0, f),
        NextLeaf::End => {
            f(SUPREMUM);
            Ok(true)
        }
        NextLeaf::Busy => Ok(false),
    }
}

//! Reading rows.
//!
//! A *consistent* read takes no lock and waits for nobody: it finds the leaf, and judges each entry by its writer. One
//! that the view sees is shown where it lies in the page; otherwise the row's chain leads to the version that the view
//! sees. A *locking* read is about the newest version, and holds its lock (see `locking`).
//!
//! Through a secondary index, an entry whose writer the view sees stands for its row. Any other is judged by the row: the
//! version that the view sees must still have this very entry, or the row is met under another key.

use super::buried::{Met, STRETCH, STRETCH_MIN};
use super::entry::{EntryHead, Head, row_of, stored_of};
use super::locking::{Judge, Locking, Visit};
use super::outside::Outside;
use super::range::Span;
use super::row::RowView;
use super::schema::IndexNo;
use super::write::Came;
use super::{Flow, Keep, KeyRange, LockWait, Read, Table};
use crate::core::Core;
use crate::error::Result;
use crate::ids::TxnId;
use crate::lock::LockMode;
use crate::mvcc::{Seen, walk};
use crate::transaction::{Inner, Sight};
use crate::tree::LeafRead;
use std::sync::atomic::Ordering;

pub(super) type Show<'f> = &'f mut dyn FnMut(&RowView) -> Result<(Keep, Flow)>;

/// Entries of a secondary index looked up at a time: few at first, for those who want only the first.
const BATCH_FIRST: usize = 4;
const BATCH_MAX: usize = 256;

/// Entries copied out of a secondary leaf.
#[derive(Default)]
struct Batch {
    keys: Vec<u8>,
    /// Where each key ends, and whether its row must be asked whether it still has the entry.
    entries: Vec<(usize, bool)>,
}

impl Batch {
    fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
    }

    fn push(&mut self, key: &[u8], doubtful: bool) {
        self.keys.extend_from_slice(key);
        self.entries.push((self.keys.len(), doubtful));
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let mut start = 0;
        self.entries.iter().map(move |(end, doubtful)| {
            let key = &self.keys[start..*end];
            start = *end;
            (key, *doubtful)
        })
    }
}

/// What a secondary entry tells about itself.
enum Judged<'a> {
    /// It is there, by this key and with these stored columns.
    There(&'a [u8], &'a [u8]),
    Not,
    /// The row must be asked whether it has the entry.
    Doubtful(&'a [u8]),
}

/// Judges a secondary entry by itself, as far as that goes.
///
/// What the view does not see, the entry knows only of others' writes: that it was born since the view, or whose version
/// it stood for when it was buried. A transaction that has written sees its own version of a row above all others, so it
/// asks the row; also where it marked the entry deleted itself, for that is what undoing an insert leaves, too.
#[inline]
fn judge<'a>(core: &Core, sight: Sight, own: TxnId, met: &Met<'a>) -> Judged<'a> {
    let has_written = own != TxnId::NONE;
    let buried = match *met {
        Met::Entry(key, value) => {
            let head = EntryHead::of(value);
            return match (sight.sees(head.writer, own, core), head.is_deleted(), head.born) {
                (true, false, _) => Judged::There(key, stored_of(value)),
                (true, true, _) if has_written && head.writer == own => Judged::Doubtful(key),
                (true, true, _) => Judged::Not,
                (false, _, Some(_)) if has_written => Judged::Doubtful(key),
                (false, _, None) => Judged::Doubtful(key),
                (false, true, Some(born)) if sight.sees(born, own, core) => {
                    Judged::There(key, stored_of(value))
                }
                (false, _, Some(_)) => Judged::Not,
            };
        }
        Met::Buried(group) => group.first(),
    };
    if sight.sees(buried.deleter, own, core) {
        return Judged::Not;
    }
    match buried.witness {
        Some(w) if !has_written && sight.sees(w.from, own, core) && !sight.sees(w.until, own, core) => {
            Judged::There(buried.key, w.stored)
        }
        _ => Judged::Doubtful(buried.key),
    }
}

/// Whether a secondary entry of this value speaks for its key, rather than what may be buried there. One that was born
/// after what is seen does not; but who has written asks the row in any case.
#[inline]
fn speaks(core: &Core, sight: Sight, own: TxnId, value: &[u8]) -> bool {
    let head = EntryHead::of(value);
    own != TxnId::NONE || head.born.is_none_or(|born| sight.sees(born, own, core))
}

impl Sight {
    #[inline]
    fn sees(&self, writer: TxnId, own: TxnId, core: &Core) -> bool {
        match self {
            Sight::Latest => true,
            Sight::View(view) => (writer == own && own != TxnId::NONE) || view.sees(writer, &core.txns),
        }
    }
}

impl Table {
    pub(super) fn get_row(
        &self,
        core: &Core,
        t: &mut Inner,
        index: IndexNo,
        key: &[u8],
        read: Read,
        f: &mut dyn FnMut(&RowView) -> Result<Keep>,
    ) -> Result<bool> {
        t.check()?;
        self.check_open()?;
        if index == 0 {
            return match read {
                Read::Consistent => {
                    let sight = t.sight(core)?;
                    self.check_known(sight)?;
                    let own = t.id;
                    self.see_row(core, sight, own, key, &mut t.buffers.version, &mut |row| {
                        f(row).map(|_| true)
                    })
                }
                Read::Locking { exclusive, wait } => {
                    self.intend(core, t, exclusive)?;
                    self.lock_point(core, t, key, locking(exclusive, wait, false, true), f)
                }
            };
        }
        let mut found = false;
        let range = KeyRange::prefix(key);
        self.scan_rows(core, t, index, &range, false, false, read, &mut |row| {
            found = true;
            Ok((f(row)?, Flow::Stop))
        })?;
        Ok(found)
    }

    /// Shows the version of a row that is seen, if there is one, and answers what `f` does; else false.
    #[inline]
    fn see_row(
        &self,
        core: &Core,
        sight: Sight,
        own: TxnId,
        key: &[u8],
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        let leaf = self.indexes[0].tree.read(key)?;
        match (leaf.node().search(key), sight) {
            (Ok(slot), _) => self.see_value(core, sight, own, key, leaf.node().value(slot), buffer, f),
            (Err(_), Sight::View(view)) => self.see_buried(core, &view, key, buffer, f),
            (Err(_), Sight::Latest) => Ok(false),
        }
    }

    /// The same for a clustered value whose leaf is latched.
    #[inline]
    fn see_value(
        &self,
        core: &Core,
        sight: Sight,
        own: TxnId,
        key: &[u8],
        value: &[u8],
        buffer: &mut Vec<u8>,
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        let head = Head::of(value);
        if sight.sees(head.writer, own, core) {
            if head.is_deleted() {
                return Ok(false);
            }
            return self.show(key, head.flags, row_of(value), f);
        }
        let Sight::View(view) = sight else {
            return Ok(false);
        };
        match walk(&core.versions(), &core.txns, &view, own, head.older, buffer)? {
            Seen::Nothing => Ok(false),
            Seen::Unborn => self.see_buried(core, &view, key, buffer, f),
            Seen::Row { flags } => self.show(key, flags, buffer, f),
        }
    }

    #[inline]
    pub(super) fn show(
        &self,
        key: &[u8],
        flags: u8,
        row: &[u8],
        f: &mut dyn FnMut(&RowView) -> Result<bool>,
    ) -> Result<bool> {
        let outside = Outside::of(&self.indexes[0].tree, &self.layout, flags, row);
        let shown = f(&RowView::row(&self.layout, key, row, &outside))?;
        outside.check()?;
        Ok(shown)
    }

    pub(super) fn scan_rows(
        &self,
        core: &Core,
        t: &mut Inner,
        index: IndexNo,
        range: &KeyRange,
        reverse: bool,
        covering: bool,
        read: Read,
        f: Show<'_>,
    ) -> Result<()> {
        t.check()?;
        self.check_open()?;
        let Some(span) = Span::of(range) else {
            return Ok(());
        };
        if read == Read::Consistent {
            self.check_known(t.sight(core)?)?;
        }
        let mut buffer = std::mem::take(&mut t.buffers.version);
        let done = match (index, read) {
            (0, Read::Consistent) => self.scan_clustered(core, t, span, reverse, &mut buffer, f),
            (n, Read::Locking { exclusive, wait }) => {
                self.intend(core, t, exclusive)?;
                let lock = locking(exclusive, wait, covering, !covering);
                self.scan_locking(core, t, n, range, reverse, lock, None, Visit::Show(f))
            }
            (n, Read::Consistent) if covering => {
                self.scan_covering(core, t, n, span, reverse, &mut buffer, f)
            }
            (n, Read::Consistent) => self.scan_secondary(core, t, n, span, reverse, &mut buffer, f),
        };
        t.buffers.version = buffer;
        done
    }

    /// Calls `f` with every leaf that has entries of the span, and the slots that are in it. Answers what is left of the
    /// span where something is buried that who sees with `sight` may want.
    fn leaves(
        &self,
        t: &Inner,
        index: IndexNo,
        span: &Span,
        reverse: bool,
        sight: Sight,
        f: &mut dyn FnMut(&LeafRead<'_>, std::ops::Range<usize>) -> Result<Flow>,
    ) -> Result<Option<Span>> {
        let tree = &self.indexes[index].tree;
        let mut fence = Vec::new();
        let at = |leaf: &LeafRead<'_>, key: &[u8]| leaf.node().search(key).unwrap_or_else(|slot| slot);
        let mut leaf = match (reverse, &span.upper) {
            (false, _) => tree.read(&span.lower)?,
            (true, Some(upper)) => tree.read_below(upper)?,
            (true, None) => tree.read_last()?,
        };
        // A leaf that was merged with its neighbour holds entries that were met already.
        let mut met: Option<usize> = None;
        loop {
            if let Sight::View(view) = &sight
                && self.indexes[index].graveyard.concerns(view)
            {
                let mut rest = span.clone();
                if met.is_some() {
                    rest.go_on_at(&fence, reverse);
                }
                return Ok(Some(rest));
            }
            let mut from = at(&leaf, &span.lower);
            let mut to = span
                .upper
                .as_ref()
                .map_or(leaf.node().count(), |upper| at(&leaf, upper));
            match (met, reverse) {
                (Some(met), false) => from = from.max(met),
                (Some(met), true) => to = to.min(met),
                (None, _) => {}
            }
            if from < to && f(&leaf, from..to)? == Flow::Stop {
                return Ok(None);
            }
            t.check()?;
            let next = match reverse {
                false if to < leaf.node().count() => None,
                false => leaf.next(&mut fence)?,
                true if from > 0 => None,
                true => leaf.previous(&mut fence)?,
            };
            match next {
                Some((next, slot)) => (leaf, met) = (next, Some(slot)),
                None => return Ok(None),
            }
            let beyond = match reverse {
                false => span.upper.as_ref().is_some_and(|upper| fence >= *upper),
                true => fence <= span.lower,
            };
            if beyond {
                return Ok(None);
            }
        }
    }

    fn scan_clustered(
        &self,
        core: &Core,
        t: &mut Inner,
        span: Span,
        reverse: bool,
        buffer: &mut Vec<u8>,
        f: Show<'_>,
    ) -> Result<()> {
        let (sight, own) = (t.sight(core)?, t.id);
        let mut rows = 0;
        let mut see = |met: Met| {
            let mut flow = Flow::Continue;
            let show: &mut dyn FnMut(&RowView) -> Result<bool> = &mut |row| {
                rows += 1;
                flow = f(row)?.1;
                Ok(true)
            };
            match (met, sight) {
                (Met::Entry(key, value), _) => {
                    self.see_value(core, sight, own, key, value, buffer, show)?;
                }
                (Met::Buried(buried), Sight::View(view)) => {
                    self.see_any_of(core, &view, &mut buried.iter(), buffer, show)?;
                }
                (Met::Buried(_), Sight::Latest) => {}
            }
            Ok(flow)
        };
        let mut done = self.leaves(t, 0, &span, reverse, sight, &mut |leaf, slots| {
            in_order(slots, reverse, &mut |slot| {
                let (key, value) = leaf.node().entry(slot);
                see(Met::Entry(key, value))
            })
        });
        if let Ok(Some(rest)) = &mut done {
            let rest = rest.clone();
            done = self
                .scan_both(t, 0, rest, reverse, STRETCH, &|_| true, &mut see)
                .map(|()| None);
        }
        core.counters.own().rows_read.fetch_add(rows, Ordering::Relaxed);
        done.map(|_| ())
    }

    /// Entries that the view sees are shown as they lie; the row is asked only about the others.
    fn scan_covering(
        &self,
        core: &Core,
        t: &mut Inner,
        n: IndexNo,
        span: Span,
        reverse: bool,
        buffer: &mut Vec<u8>,
        f: Show<'_>,
    ) -> Result<()> {
        let (sight, own) = (t.sight(core)?, t.id);
        let layout = &self.entries[n - 1];
        let mut rows = 0;
        let mut see = |met: Met| {
            let mut flow = Flow::Continue;
            let mut show = |key: &[u8], stored: &[u8]| {
                rows += 1;
                Ok(f(&RowView::entry(layout, key, stored))?.1)
            };
            let key = match judge(core, sight, own, &met) {
                Judged::There(key, stored) => return show(key, stored),
                Judged::Not => return Ok(flow),
                Judged::Doubtful(key) => key,
            };
            // Nobody who holds a clustered leaf waits for a secondary one, so this cannot be a deadlock.
            let primary_key = &key[layout.primary_at(key)..];
            self.see_row(core, sight, own, primary_key, buffer, &mut |row| {
                if self.has_entry(n, row, key)? {
                    rows += 1;
                    flow = f(row)?.1;
                }
                Ok(true)
            })?;
            Ok(flow)
        };
        let mut done = self.leaves(t, n, &span, reverse, sight, &mut |leaf, slots| {
            in_order(slots, reverse, &mut |slot| {
                let (key, value) = leaf.node().entry(slot);
                see(Met::Entry(key, value))
            })
        });
        if let Ok(Some(rest)) = &mut done {
            let rest = rest.clone();
            let speaks = |value: &[u8]| speaks(core, sight, own, value);
            done = self
                .scan_both(t, n, rest, reverse, STRETCH, &speaks, &mut see)
                .map(|()| None);
        }
        core.counters.own().rows_read.fetch_add(rows, Ordering::Relaxed);
        done.map(|_| ())
    }

    /// Copies some entries out of the leaf, lets go of it, and looks their rows up.
    fn scan_secondary(
        &self,
        core: &Core,
        t: &mut Inner,
        n: IndexNo,
        mut span: Span,
        reverse: bool,
        buffer: &mut Vec<u8>,
        f: Show<'_>,
    ) -> Result<()> {
        let sight = t.sight(core)?;
        let layout = &self.entries[n - 1];
        let mut batch = Batch::default();
        let mut size = BATCH_FIRST;
        loop {
            self.next_batch(core, t, n, &span, reverse, sight, size, &mut batch)?;
            for (key, doubtful) in batch.iter() {
                let primary_key = &key[layout.primary_at(key)..];
                let mut flow = Flow::Continue;
                self.see_row(core, sight, t.id, primary_key, buffer, &mut |row| {
                    if !doubtful || self.has_entry(n, row, key)? {
                        flow = f(row)?.1;
                    }
                    Ok(true)
                })?;
                if flow == Flow::Stop {
                    return Ok(());
                }
            }
            core.counters
                .own()
                .rows_read
                .fetch_add(batch.entries.len() as u64, Ordering::Relaxed);
            let Some((last, _)) = batch.iter().last() else {
                return Ok(());
            };
            if batch.entries.len() < size {
                return Ok(());
            }
            span.go_on_after(last, reverse);
            size = (size * 4).min(BATCH_MAX);
        }
    }

    /// The next entries of the span that may lead to rows: those that are seen, and those whose row must be asked.
    fn next_batch(
        &self,
        core: &Core,
        t: &Inner,
        n: IndexNo,
        span: &Span,
        reverse: bool,
        sight: Sight,
        size: usize,
        batch: &mut Batch,
    ) -> Result<()> {
        batch.clear();
        let own = t.id;
        let mut take = |met: Met| {
            match judge(core, sight, own, &met) {
                // A dirty read may meet an entry whose row has moved on already.
                Judged::There(key, _) => batch.push(key, matches!(sight, Sight::Latest)),
                Judged::Not => {}
                Judged::Doubtful(key) => batch.push(key, true),
            }
            Ok(if batch.entries.len() < size {
                Flow::Continue
            } else {
                Flow::Stop
            })
        };
        let rest = self.leaves(t, n, span, reverse, sight, &mut |leaf, slots| {
            in_order(slots, reverse, &mut |slot| {
                let (key, value) = leaf.node().entry(slot);
                take(Met::Entry(key, value))
            })
        })?;
        match rest {
            Some(rest) => {
                let speaks = |value: &[u8]| speaks(core, sight, own, value);
                let stretch = size.clamp(STRETCH_MIN, STRETCH);
                self.scan_both(t, n, rest, reverse, stretch, &speaks, &mut take)
            }
            None => Ok(()),
        }
    }

    fn intend(&self, core: &Core, t: &mut Inner, exclusive: bool) -> Result<()> {
        let mode = match exclusive {
            true => LockMode::IntentionExclusive,
            false => LockMode::IntentionShared,
        };
        t.intend(core, &self.locks, mode)
    }

    pub(super) fn scan_rows_to_change<'c>(
        &self,
        core: &'c Core,
        t: &mut Inner,
        n: IndexNo,
        range: &KeyRange,
        reverse: bool,
        judge: Option<Judge<'c>>,
        f: Show<'_>,
    ) -> Result<()> {
        t.check()?;
        self.check_open()?;
        self.intend(core, t, true)?;
        let lock = locking(true, LockWait::Wait, false, false);
        self.scan_locking(core, t, n, range, reverse, lock, judge, Visit::Show(f))
    }

    /// [`Table::modify`] for each row of a range.
    pub(super) fn modify_rows<'c>(
        &self,
        core: &'c Core,
        t: &mut Inner,
        n: IndexNo,
        range: &KeyRange,
        reverse: bool,
        judge: Option<Judge<'c>>,
        f: &mut dyn FnMut(&RowView, &mut super::RowBuf) -> Result<(super::Action, Flow)>,
    ) -> Result<()> {
        t.start_write_to(core, &self.locks)?;
        self.check_open()?;
        let lock = locking(true, LockWait::Wait, false, false);
        let mut modify = |t: &mut Inner, key: &[u8]| {
            let mut done = (Keep::Release, Flow::Continue);
            let (primary_key, came) = match n {
                0 if t.locks_gaps() => (key, Came::Locked),
                0 => (key, Came::ByKey),
                n => (&key[self.entries[n - 1].primary_at(key)..], Came::Through(n, key)),
            };
            self.modify_row(core, t, primary_key, came, &mut |row, buf| {
                let (action, flow) = f(row, buf)?;
                let keep = match action {
                    super::Action::Skip => Keep::Release,
                    _ => Keep::Locked,
                };
                done = (keep, flow);
                Ok(action)
            })?;
            Ok(done)
        };
        self.scan_locking(core, t, n, range, reverse, lock, judge, Visit::Key(&mut modify))
    }
}

fn locking(exclusive: bool, wait: LockWait, covering: bool, tests_entries: bool) -> Locking {
    let mode = if exclusive {
        LockMode::Exclusive
    } else {
        LockMode::Shared
    };
    Locking {
        mode,
        wait,
        covering,
        tests_entries,
    }
}

#[inline]
fn in_order(
    mut slots: std::ops::Range<usize>,
    reverse: bool,
    f: &mut dyn FnMut(usize) -> Result<Flow>,
) -> Result<Flow> {
    while let Some(slot) = if reverse { slots.next_back() } else { slots.next() } {
        if f(slot)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

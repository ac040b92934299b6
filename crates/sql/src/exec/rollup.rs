//! GROUP BY … WITH ROLLUP: the groups of all keys, those of all but the last, and so on to the one of all rows.
//!
//! ```text
//!  rows in order of (a, b)     groups of (a, b)    of (a)          of ()
//!  1 x
//!  1 y          ──▶            1 x                                          a key changes: the groups that it is part of end,
//!  2 x          ──▶            1 y                 1 NULL                   those of most keys first
//!  (end)        ──▶            2 x                 2 NULL          NULL NULL
//! ```
//!
//! Rows come in order, and each level has one group in hand: it ends when one of its keys changes. What it takes depends on how each aggregate
//! merges ([`Merging`]): groups that end at the finer level, or parts of the finest one, or rows.
//!
//! Rows that come in no order are grouped by all keys in a hash table, if all aggregates merge. So a row is looked at once, and it is
//! groups that are sorted. When the table is full, its groups go to the sorter and it begins anew: parts of one group
//! meet again in order of their keys, the earlier one first. If hardly two rows were of one group, then or among the first rows, those that follow go to the
//! sorter as they are. If some aggregates do not merge (DISTINCT, GROUP_CONCAT), all rows do.

use super::groups::{Group, Groups};
use super::output::Output;
use super::rows::{Slots, WindowRow};
use super::select::End;
use super::spill::Sorter;
use super::{Exec, QueryScope, ScanControl, Telling};
use crate::error::Result;
use crate::expr::{EvalCtx, Merging};
use crate::plan::{GroupPlan, QueryPlan, SelectPlan};
use crate::types::sort::{order_key, sort_key};
use crate::types::{Val, Value};

/// Of fewer rows than these in two groups, grouping them before they are sorted costs more than it saves.
const ROWS_OF_TWO_GROUPS: usize = 3;

/// If of so many rows at first more than 15 in 16 are of different groups, hardly two of all rows are of one.
const FIRST_ROWS: usize = 32_768;

/// See the module's head.
pub(super) struct Rollup<'g, 'a> {
    plan: &'g GroupPlan,
    levels: Levels<'g, 'a>,
    waiting: Waiting<'g, 'a>,
    telling: Option<Telling<'g, 'a>>,
}

/// What comes in no order and waits to be sorted.
enum Waiting<'g, 'a> {
    /// Nothing: rows come in order.
    No,
    Rows(Box<Sorter<'a>>),
    Parts(Box<Parts<'g, 'a>>),
}

impl<'g, 'a> Rollup<'g, 'a> {
    /// No rows yet.
    pub fn new(
        exec: &Exec<'a, '_>,
        query: &'g QueryPlan,
        select: &'g SelectPlan,
        plan: &'g GroupPlan,
    ) -> Rollup<'g, 'a> {
        let merge = |ways: &[Merging]| plan.aggregates.iter().all(|a| ways.contains(&a.merging()));
        let level = |keys: usize| Groups::of_level(exec, select, plan, keys);
        Rollup {
            plan,
            levels: Levels {
                plan,
                groups: (0..=plan.keys.len()).map(level).collect(),
                states: plan.aggregates.is_empty() || !merge(&[Merging::Numbers, Merging::No]),
                rows_to_all: !merge(&[Merging::States]),
                keys: Keys::new(plan),
                key: Vec::new(),
                before: Vec::new(),
                slots: Slots::new(&plan.slots, &[]),
            },
            waiting: match plan.sorted {
                true => Waiting::No,
                false if merge(&[Merging::States, Merging::Numbers]) => {
                    Waiting::Parts(Box::new(Parts::new(exec, select, plan)))
                }
                false => Waiting::Rows(Box::new(sorter(exec, plan.slots.len()))),
            },
            telling: exec.telling(query),
        }
    }

    /// Takes a row in; the groups that it ends go on.
    pub fn take(
        &mut self,
        ctx: &EvalCtx,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        match &mut self.waiting {
            Waiting::No => return self.levels.take(ctx, scope, end, out),
            Waiting::Rows(sorter) => {
                self.levels.keys.append(ctx, sorter.key())?;
                let slots = self.plan.slots.iter();
                sorter.push(slots.map(|slot| Ok(ctx.row.column(*slot))))?;
            }
            Waiting::Parts(parts) => parts.take(ctx, scope)?,
        }
        Ok(ScanControl::Next)
    }

    /// The input has ended: the rest of the groups goes on.
    pub fn finish(self, scope: QueryScope, end: &mut End, out: &mut dyn Output) -> Result<ScanControl> {
        let Rollup {
            plan,
            mut levels,
            telling,
            ..
        } = self;
        let tell = |sorter: &Sorter| {
            if let Some(telling) = telling {
                telling.sorts(plan.keys.iter().map(|key| (key, false)), sorter);
            }
        };
        let mut flow = ScanControl::Next;
        match self.waiting {
            Waiting::No => {}
            Waiting::Rows(sorter) => {
                tell(&sorter);
                sorter.finish_with_keys(|key, values| {
                    flow = levels.take_values(key, values, scope, end, out)?;
                    go_on(flow, out)
                })?;
            }
            Waiting::Parts(mut parts) => {
                parts.put_aside(scope)?;
                tell(&parts.sorter);
                parts.sorter.finish_with_keys(|key, part| {
                    let values = &part[1..];
                    flow = match part[0] {
                        Value::Null => levels.take_values(key, values, scope, end, out)?,
                        _ => levels.take_part(key, &Group::of_values(plan, values), scope, end, out)?,
                    };
                    go_on(flow, out)
                })?;
            }
        }
        match flow {
            ScanControl::Stop => Ok(ScanControl::Stop),
            _ => levels.finish(scope, end, out),
        }
    }
}

/// Groups of all keys that wait to be sorted, and rows among them.
struct Parts<'g, 'a> {
    finest: Groups<'g, 'a>,
    /// How many rows the groups in memory have taken in, and whether those are all.
    rows: usize,
    first: bool,
    /// Rows are not grouped any more.
    direct: bool,
    /// Groups and rows: a mark, which a row has as NULL, and behind it the values.
    sorter: Sorter<'a>,
    keys: Keys<'g>,
}

impl<'g, 'a> Parts<'g, 'a> {
    fn new(exec: &Exec<'a, '_>, select: &'g SelectPlan, plan: &'g GroupPlan) -> Parts<'g, 'a> {
        let width = 1 + Group::width(plan).max(plan.slots.len());
        Parts {
            finest: Groups::of_parts(exec, select, plan),
            rows: 0,
            first: true,
            direct: false,
            sorter: sorter(exec, width),
            keys: Keys::new(plan),
        }
    }

    fn take(&mut self, ctx: &EvalCtx, scope: QueryScope) -> Result<()> {
        if !self.direct {
            let taken = self.finest.take_in_memory(ctx.row, ctx)?;
            self.rows += usize::from(taken);
            let groups = self.finest.len();
            if !taken {
                self.direct = 2 * self.rows < ROWS_OF_TWO_GROUPS * groups;
                self.first = false;
            } else if self.first && self.rows == FIRST_ROWS {
                self.direct = 16 * groups > 15 * self.rows;
            }
            if self.direct || !taken {
                self.put_aside(scope)?;
                self.rows = 0;
            }
            if taken {
                return Ok(());
            }
        }
        let plan = self.finest.plan();
        self.keys.append(ctx, self.sorter.key())?;
        let slots = plan.slots.iter();
        self.push(Value::Null, slots.map(|slot| ctx.row.column(*slot)))
    }

    /// Gives the groups in memory to the sorter.
    fn put_aside(&mut self, scope: QueryScope) -> Result<()> {
        let plan = self.finest.plan();
        for group in self.finest.take_out() {
            let row = &group.row(plan, scope);
            let ctx = EvalCtx { row, env: scope.env };
            self.keys.append(&ctx, self.sorter.key())?;
            self.push(Value::TRUE, group.values())?;
        }
        Ok(())
    }

    /// Gives a row or a group to the sorter, which has its key.
    fn push<'v>(&mut self, mark: Value, values: impl Iterator<Item = Val<'v>>) -> Result<()> {
        self.sorter.push(std::iter::once(mark).chain(values).map(Ok))
    }
}

fn sorter<'a>(exec: &Exec<'a, '_>, width: usize) -> Sorter<'a> {
    Sorter::new(exec.room(), exec.shares().sort, width, false, u64::MAX)
}

/// The keys of rows as bytes, in the order of rows:
///
/// ```text
///  first key │ second key │ … │ where each but the last ends, u32
/// ```
///
/// No key is the beginning of another, so the ends decide nothing between rows, and where two rows begin to differ tells how many
/// of their first keys are the same.
struct Keys<'g> {
    plan: &'g GroupPlan,
    ends: Vec<u32>,
}

impl<'g> Keys<'g> {
    fn new(plan: &'g GroupPlan) -> Keys<'g> {
        Keys {
            plan,
            ends: Vec::new(),
        }
    }

    /// Appends those of the row of `ctx`.
    fn append(&mut self, ctx: &EvalCtx, out: &mut Vec<u8>) -> Result<()> {
        let from = out.len();
        self.ends.clear();
        for key in &self.plan.keys {
            if out.len() > from {
                self.ends.push((out.len() - from) as u32);
            }
            let value = key.eval(ctx)?;
            // Documents of one length are in no order, but rows of one group are to be neighbours.
            if matches!(value, Val::Json(_)) {
                order_key(&value, &key.ty, false, out)?;
            }
            sort_key(&value, &key.ty, out)?;
        }
        for end in &self.ends {
            out.extend_from_slice(&end.to_be_bytes());
        }
        Ok(())
    }

    /// How many of the first keys two rows have both.
    fn shared(&self, a: &[u8], b: &[u8]) -> usize {
        let (keys, same) = (self.plan.keys.len(), same_at_first(a, b));
        if same == a.len() && same == b.len() {
            return keys;
        }
        let ends = a[a.len() - 4 * (keys - 1)..].as_chunks().0.iter();
        ends.take_while(|end| u32::from_be_bytes(**end) as usize <= same)
            .count()
    }
}

/// How many of the first bytes are the same.
fn same_at_first(a: &[u8], b: &[u8]) -> usize {
    let mut same = 0;
    for (a, b) in a.as_chunks().0.iter().zip(b.as_chunks().0) {
        let differ = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if differ != 0 {
            return same + (differ.trailing_zeros() / 8) as usize;
        }
        same += 8;
    }
    let rest = a[same..].iter().zip(&b[same..]);
    same + rest.take_while(|(a, b)| a == b).count()
}

/// Whether more is wanted of what is sorted.
fn go_on(flow: ScanControl, out: &mut dyn Output) -> Result<bool> {
    if flow == ScanControl::Pause {
        out.flush()?;
    }
    Ok(flow != ScanControl::Stop)
}

/// The groupings, by the number of their keys.
struct Levels<'g, 'a> {
    plan: &'g GroupPlan,
    groups: Vec<Groups<'g, 'a>>,
    /// A level takes the groups that end at the finer one: for some aggregates.
    states: bool,
    /// Not the finest level alone takes rows: for some aggregates all do.
    rows_to_all: bool,
    keys: Keys<'g>,
    /// The keys of a row, and of the row before.
    key: Vec<u8>,
    before: Vec<u8>,
    /// Where the values of a row that was put aside stand.
    slots: Slots,
}

impl Levels<'_, '_> {
    /// Takes a row that comes in order; the groups that it ends go on.
    fn take(
        &mut self,
        ctx: &EvalCtx,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        self.key.clear();
        self.keys.append(ctx, &mut self.key)?;
        let shared = self.keys.shared(&self.key, &self.before);
        std::mem::swap(&mut self.key, &mut self.before);
        let flow = self.end_above(shared, scope, end, out)?;
        add(&mut self.groups, self.rows_to_all, ctx)?;
        Ok(flow)
    }

    /// Takes a row that was put aside, as it comes in order of the key.
    fn take_values(
        &mut self,
        key: &[u8],
        values: &[Value],
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let flow = self.turn_to(key, scope, end, out)?;
        let row = &WindowRow {
            slots: &self.slots,
            values,
            fresh: &[],
            outer: scope.outer,
        };
        let ctx = EvalCtx { row, env: scope.env };
        add(&mut self.groups, self.rows_to_all, &ctx)?;
        Ok(flow)
    }

    /// Takes a part of a group of the finest level, as it comes in order of the key.
    fn take_part(
        &mut self,
        key: &[u8],
        part: &Group,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let flow = self.turn_to(key, scope, end, out)?;
        let finest = self.groups.len() - 1;
        self.groups[finest].merge_in_hand(part, &[Merging::States, Merging::Numbers], scope)?;
        if self.rows_to_all {
            let mut coarser = self.groups[..finest].iter_mut();
            coarser.try_for_each(|groups| groups.merge_in_hand(part, &[Merging::Numbers], scope))?;
        }
        Ok(flow)
    }

    /// Ends the groups that a row of such keys is not part of.
    fn turn_to(
        &mut self,
        key: &[u8],
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let shared = self.keys.shared(key, &self.before);
        if shared == self.plan.keys.len() {
            return Ok(ScanControl::Next);
        }
        self.before.clear();
        self.before.extend_from_slice(key);
        self.end_above(shared, scope, end, out)
    }

    /// Ends the groups of more than so many keys: those of most keys first.
    fn end_above(
        &mut self,
        keys: usize,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let mut flow = ScanControl::Next;
        for level in (keys + 1..self.groups.len()).rev() {
            let (coarser, finer) = self.groups.split_at_mut(level);
            let Some(group) = finer[0].in_hand() else {
                continue;
            };
            if self.states {
                coarser[level - 1].merge_in_hand(group, &[Merging::States], scope)?;
            }
            match finer[0].end(scope, end, out)? {
                ScanControl::Stop => return Ok(ScanControl::Stop),
                ScanControl::Pause => flow = ScanControl::Pause,
                ScanControl::Next => {}
            }
        }
        Ok(flow)
    }

    /// No more comes: the groups in hand go on. That of all rows is there even if there are none.
    fn finish(mut self, scope: QueryScope, end: &mut End, out: &mut dyn Output) -> Result<ScanControl> {
        let flow = self.end_above(0, scope, end, out)?;
        match go_on(flow, out)? {
            true => self.groups.swap_remove(0).finish(scope, end, out),
            false => Ok(flow),
        }
    }
}

/// Takes a row into the groups in hand, the last of which are of the finest level. An aggregate reads it once: of all levels, or of the
/// finest alone if the coarser ones take what that has come to.
fn add(groups: &mut [Groups], rows_to_all: bool, ctx: &EvalCtx) -> Result<()> {
    let Some((finest, coarser)) = groups.split_last_mut() else {
        return Ok(());
    };
    finest.open(ctx.row);
    if rows_to_all {
        coarser.iter_mut().for_each(|groups| groups.open(ctx.row));
    }
    for (n, aggregate) in finest.plan().aggregates.iter().enumerate() {
        match aggregate.merging() {
            Merging::States => finest.update_in_hand(n, ctx)?,
            Merging::Numbers => {
                if let Some(number) = aggregate.number(ctx)? {
                    finest.add_number(n, number);
                    coarser.iter_mut().for_each(|groups| groups.add_number(n, number));
                }
            }
            Merging::No => {
                finest.update_in_hand(n, ctx)?;
                let mut coarser = coarser.iter_mut();
                coarser.try_for_each(|groups| groups.update_in_hand(n, ctx))?;
            }
        }
    }
    Ok(())
}

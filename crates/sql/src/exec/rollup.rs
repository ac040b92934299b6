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
use super::rows::JoinedRow;
use super::select::End;
use super::spill::Sorter;
use super::{Exec, QueryScope, ScanControl};
use crate::error::Result;
use crate::expr::{EvalCtx, Merging};
use crate::plan::{GroupPlan, SelectPlan};
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
    pub fn new(exec: &Exec<'a, '_>, select: &'g SelectPlan, plan: &'g GroupPlan) -> Rollup<'g, 'a> {
        let merge = |ways: &[Merging]| plan.aggregates.iter().all(|a| ways.contains(&a.merging()));
        let level = |keys: usize| Groups::of_level(exec, select, plan, keys);
        Rollup {
            plan,
            levels: Levels {
                plan,
                groups: (0..=plan.keys.len()).map(level).collect(),
                rows_to_all: !merge(&[Merging::States]),
                key: Key::default(),
                current: Key::default(),
                sorted: None,
                row: vec![Value::Null; select.width],
            },
            waiting: match plan.sorted {
                true => Waiting::No,
                false if merge(&[Merging::States, Merging::Numbers]) => {
                    Waiting::Parts(Box::new(Parts::new(exec, select, plan)))
                }
                false => Waiting::Rows(Box::new(sorter(exec, plan.slots.len()))),
            },
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
                append_key(self.plan, ctx, sorter)?;
                let slots = self.plan.slots.iter();
                sorter.push(slots.map(|slot| Ok(ctx.row.column(*slot))))?;
            }
            Waiting::Parts(parts) => parts.take(ctx, scope)?,
        }
        Ok(ScanControl::Next)
    }

    /// The input has ended: the rest of the groups goes on.
    pub fn finish(self, scope: QueryScope, end: &mut End, out: &mut dyn Output) -> Result<ScanControl> {
        let Rollup { plan, mut levels, .. } = self;
        let mut flow = ScanControl::Next;
        match self.waiting {
            Waiting::No => {}
            Waiting::Rows(sorter) => {
                sorter.finish_with_keys(|key, values| {
                    flow = levels.take_values(key, values, scope, end, out)?;
                    go_on(flow, out)
                })?;
            }
            Waiting::Parts(mut parts) => {
                parts.put_aside(scope)?;
                parts.sorter.finish_with_keys(|key, part| {
                    let values = &part[1..];
                    flow = match part[0] {
                        Value::Null => {
                            levels.take_part(key, &Group::of_values(plan, values), scope, end, out)?
                        }
                        _ => levels.take_values(key, values, scope, end, out)?,
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
    /// Groups and rows: a mark, which a group has as NULL, and behind it the values.
    sorter: Sorter<'a>,
    width: usize,
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
            width,
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
        append_key(plan, ctx, &mut self.sorter)?;
        let slots = plan.slots.iter();
        self.push(Value::Int(1), slots.map(|slot| ctx.row.column(*slot)))
    }

    /// Gives the groups in memory to the sorter.
    fn put_aside(&mut self, scope: QueryScope) -> Result<()> {
        let plan = self.finest.plan();
        for group in self.finest.take_out() {
            let row = &group.row(plan, scope);
            append_key(plan, &EvalCtx { row, env: scope.env }, &mut self.sorter)?;
            self.push(Value::Null, group.values())?;
        }
        Ok(())
    }

    /// Gives a row or a group to the sorter, which has its key.
    fn push<'v>(&mut self, mark: Value, values: impl Iterator<Item = Val<'v>>) -> Result<()> {
        let values = std::iter::once(mark).chain(values);
        let filled = values.chain(std::iter::repeat(Val::Null));
        self.sorter.push(filled.take(self.width).map(Ok))
    }
}

fn sorter<'a>(exec: &Exec<'a, '_>, width: usize) -> Sorter<'a> {
    Sorter::new(exec.room(), exec.shares().sort, width, false, u64::MAX)
}

/// Appends the row's keys to the sorter's.
fn append_key(plan: &GroupPlan, ctx: &EvalCtx, sorter: &mut Sorter) -> Result<()> {
    for key in &plan.keys {
        let value = key.eval(ctx)?;
        order_key(&value, &key.ty, false, sorter.key())?;
        // Documents of one length are in no order, but rows of one group are to be neighbours.
        if matches!(value, Val::Json(_)) {
            sort_key(&value, &key.ty, sorter.key())?;
        }
    }
    Ok(())
}

/// Whether more is wanted of what is sorted.
fn go_on(flow: ScanControl, out: &mut dyn Output) -> Result<bool> {
    if flow == ScanControl::Pause {
        out.flush()?;
    }
    Ok(flow != ScanControl::Stop)
}

/// The keys of a row, one after the other.
#[derive(Default)]
struct Key {
    bytes: Vec<u8>,
    /// Where each begins.
    starts: Vec<usize>,
}

impl Key {
    fn read(&mut self, plan: &GroupPlan, ctx: &EvalCtx) -> Result<()> {
        self.bytes.clear();
        self.starts.clear();
        for key in &plan.keys {
            self.starts.push(self.bytes.len());
            sort_key(&key.eval(ctx)?, &key.ty, &mut self.bytes)?;
        }
        Ok(())
    }

    /// How many of the first keys both have.
    fn shared(&self, other: &Key) -> usize {
        let pairs = self.bytes.iter().zip(&other.bytes);
        let same = pairs.take_while(|(a, b)| a == b).count();
        match same == self.bytes.len() && same == other.bytes.len() {
            true => self.starts.len(),
            // No key is the beginning of another.
            false => self
                .starts
                .partition_point(|start| *start <= same)
                .saturating_sub(1),
        }
    }
}

/// The groupings, by the number of their keys.
struct Levels<'g, 'a> {
    plan: &'g GroupPlan,
    groups: Vec<Groups<'g, 'a>>,
    /// Not the finest level alone takes rows: for some aggregates all do.
    rows_to_all: bool,
    /// A row's keys, and those of the row before.
    key: Key,
    current: Key,
    /// What the row before was sorted by, if rows were.
    sorted: Option<Vec<u8>>,
    /// A row of the input that was put aside.
    row: Vec<Value>,
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
        let flow = self.turn_to(ctx, scope, end, out)?;
        self.add(ctx)?;
        Ok(flow)
    }

    /// Takes a row into the groups in hand.
    fn add(&mut self, ctx: &EvalCtx) -> Result<()> {
        let takes = match self.rows_to_all {
            true => 0,
            false => self.groups.len() - 1,
        };
        let mut takes = self.groups[takes..].iter_mut();
        takes.try_for_each(|groups| groups.take_in_hand(ctx.row, ctx))
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
        let mut row = std::mem::take(&mut self.row);
        for (slot, value) in self.plan.slots.iter().zip(values) {
            row[*slot].clone_from(value);
        }
        let joined = JoinedRow {
            values: &row,
            outer: scope.outer,
        };
        let ctx = EvalCtx {
            row: &joined,
            env: scope.env,
        };
        let flow = match self.is_of_row_before(key) {
            true => ScanControl::Next,
            false => self.turn_to(&ctx, scope, end, out)?,
        };
        self.add(&ctx)?;
        self.row = row;
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
        let row = &part.row(self.plan, scope);
        let flow = match self.is_of_row_before(key) {
            true => ScanControl::Next,
            false => self.turn_to(&EvalCtx { row, env: scope.env }, scope, end, out)?,
        };
        let finest = self.groups.len() - 1;
        self.groups[finest].merge_in_hand(part, &[Merging::States, Merging::Numbers], scope)?;
        if self.rows_to_all {
            let mut coarser = self.groups[..finest].iter_mut();
            coarser.try_for_each(|groups| groups.merge_in_hand(part, &[Merging::Numbers], scope))?;
        }
        Ok(flow)
    }

    /// Whether the key is that of the row before, so that no group ends.
    fn is_of_row_before(&mut self, key: &[u8]) -> bool {
        let same = self.sorted.as_deref() == Some(key);
        if !same {
            let sorted = self.sorted.get_or_insert_default();
            sorted.clear();
            sorted.extend_from_slice(key);
        }
        same
    }

    /// Ends the groups that a row is not part of.
    fn turn_to(
        &mut self,
        ctx: &EvalCtx,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        self.key.read(self.plan, ctx)?;
        let shared = self.key.shared(&self.current);
        std::mem::swap(&mut self.key, &mut self.current);
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
            let Some(group) = self.groups[level].end(scope.env)? else {
                continue;
            };
            self.groups[level - 1].merge_in_hand(&group, &[Merging::States], scope)?;
            match self.groups[level].emit(group, scope, end, out)? {
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

//! GROUP BY: rows taken into the group of their key.
//!
//! Where the input comes in order of the key there is one group at a time. Otherwise groups stand in a hash table; once
//! they take their share of memory, rows of further keys are put aside by the hash of the key, the slots that anything
//! reads of them, and each part is grouped by itself when the input has ended.
//!
//! What aggregates with DISTINCT take in is made distinct for all groups at once: the key of a value begins with the number
//! of its group and of the aggregate. Values that have to wait are taken in before their group ends.
//!
//! A ROLLUP (`rollup`) has such groups for each of its levels, and in place of rows may give a level the groups of a finer one.

use super::output::Output;
use super::rows::{GroupRow, JoinedRow};
use super::select::End;
use super::spill::{Distinct, HashedRows, Key, Novelty, Partitions, Room, Seeds, row_bytes};
use super::{Exec, QueryScope, ScanControl};
use crate::error::Result;
use crate::expr::{Accumulator, Aggregate, Env, EvalCtx, Expr, Inputs, Merging, Row};
use crate::plan::rollup::RollupPlan;
use crate::plan::{GroupPlan, SelectPlan};
use crate::types::sort::sort_key;
use crate::types::{Val, Value};

/// About what a group takes beside its key and values.
const ENTRY_BYTES: usize = 128;

/// The groups of a running query.
pub(super) struct Groups<'g, 'a> {
    select: &'g SelectPlan,
    plan: &'g GroupPlan,
    /// The keys that make a group: all, or at a level of a ROLLUP the first ones.
    keys: &'g [Expr],
    /// Rows come with equal keys together.
    sorted: bool,
    /// Numbers the groups by their keys.
    by_key: HashedRows,
    /// Those that rows are taken into, or the room of the one in hand.
    groups: Vec<Group>,
    /// Some group has a row.
    begun: bool,
    key: Vec<u8>,
    /// With sorted input, the key of the group in hand.
    current: Vec<u8>,
    room: Room<'a>,
    share: usize,
    bytes: usize,
    /// How often the input has been parted, and the rows that are put aside once more.
    level: u32,
    later: Option<Partitions<'a>>,
    /// The values that aggregates with DISTINCT have taken in, and the key of one.
    values: Distinct<'a>,
    value_key: Vec<u8>,
    /// Each group is a part of one.
    parts: bool,
    /// What the aggregates of a group have come to, and behind them what its row has in a ROLLUP.
    finished: Vec<Value>,
}

#[derive(Default)]
pub(super) struct Group {
    first: Vec<Value>,
    accumulators: Vec<Accumulator>,
}

impl Group {
    /// Of what was put aside by [`Group::values`].
    pub fn of_values(plan: &GroupPlan, values: &[Value]) -> Group {
        let (first, states) = values.split_at(plan.keep.len());
        let states = states
            .as_chunks::<{ Accumulator::VALUES }>()
            .0
            .iter()
            .zip(&plan.aggregates);
        Group {
            first: first.to_vec(),
            accumulators: states
                .map(|(state, spec)| Accumulator::of_values(spec, state.clone()))
                .collect(),
        }
    }

    /// How many [`Group::values`] are.
    pub fn width(plan: &GroupPlan) -> usize {
        plan.keep.len() + plan.aggregates.len() * Accumulator::VALUES
    }

    /// All of it as values, if it is a part whose aggregates can all be merged.
    pub fn values(self) -> impl Iterator<Item = Value> {
        let states = self.accumulators.into_iter();
        self.first
            .into_iter()
            .chain(states.flat_map(|state| state.to_values()))
    }

    /// What is known of it before its aggregates are finished.
    pub fn row<'r>(&'r self, plan: &'r GroupPlan, scope: QueryScope<'r>) -> GroupRow<'r> {
        GroupRow {
            keep: &plan.keep,
            first: &self.first,
            aggregates: &[],
            outer: scope.outer,
        }
    }

    /// Has a first row, in place of those that have gone on. A part of a group is begun as such ([`Aggregate::part`]).
    fn begin(&mut self, plan: &GroupPlan, row: Option<&dyn Row>, part: bool) {
        let kept = |slot: &usize| row.map_or(Value::Null, |row| row.column(*slot).into_owned());
        self.first.clear();
        self.first.extend(plan.keep.iter().map(kept));
        // Those of a group that has gone on have begun anew.
        if self.accumulators.is_empty() {
            let state = if part {
                Aggregate::part
            } else {
                Aggregate::accumulator
            };
            self.accumulators.extend(plan.aggregates.iter().map(state));
        }
    }

    fn bytes(&self) -> usize {
        ENTRY_BYTES + row_bytes(&self.first) + size_of_val(self.accumulators.as_slice())
    }
}

impl<'g, 'a> Groups<'g, 'a> {
    /// No groups yet of a query that groups as `plan` says.
    pub fn new(exec: &Exec<'a, '_>, select: &'g SelectPlan, plan: &'g GroupPlan) -> Groups<'g, 'a> {
        Groups::at_level(select, plan, (exec.room(), exec.shares().table), 0)
    }

    /// The same at the level of a ROLLUP that has so many keys, which has one group in hand.
    pub fn of_level(
        exec: &Exec<'a, '_>,
        select: &'g SelectPlan,
        plan: &'g GroupPlan,
        keys: usize,
    ) -> Groups<'g, 'a> {
        Groups {
            keys: &plan.keys[..keys],
            ..Groups::new(exec, select, plan)
        }
    }

    /// The same whose groups are put aside, and merged into others.
    pub fn of_parts(exec: &Exec<'a, '_>, select: &'g SelectPlan, plan: &'g GroupPlan) -> Groups<'g, 'a> {
        Groups {
            parts: true,
            ..Groups::new(exec, select, plan)
        }
    }

    fn at_level(
        select: &'g SelectPlan,
        plan: &'g GroupPlan,
        (room, share): (Room<'a>, usize),
        level: u32,
    ) -> Groups<'g, 'a> {
        Groups {
            select,
            plan,
            keys: &plan.keys,
            sorted: plan.sorted,
            by_key: HashedRows::new(Seeds::new()),
            groups: Vec::new(),
            begun: false,
            key: Vec::new(),
            current: Vec::new(),
            room,
            share,
            bytes: 0,
            level,
            later: None,
            values: Distinct::new(room, share),
            value_key: Vec::new(),
            parts: false,
            finished: Vec::new(),
        }
    }

    /// What the groups are made by.
    pub fn plan(&self) -> &'g GroupPlan {
        self.plan
    }

    /// Takes a row in. With sorted input, the group that it ends goes on.
    pub fn take(
        &mut self,
        ctx: &EvalCtx,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let mut flow = ScanControl::Next;
        if !self.keys.is_empty() {
            self.read_key(ctx)?;
            if !self.sorted {
                self.take_by_key(ctx.row, ctx)?;
                return Ok(flow);
            }
            if self.key != self.current {
                flow = self.end(scope, end, out)?;
                if flow == ScanControl::Stop {
                    return Ok(flow);
                }
                std::mem::swap(&mut self.key, &mut self.current);
            }
        }
        self.open(ctx.row);
        self.update(0, ctx)?;
        Ok(flow)
    }

    /// Has a group in hand, if need be one of which this is the first row.
    #[inline]
    pub fn open(&mut self, row: &dyn Row) {
        if !self.begun {
            self.begin_in_hand(Some(row));
        }
    }

    fn begin_in_hand(&mut self, row: Option<&dyn Row>) {
        self.begun = true;
        if self.groups.is_empty() {
            self.groups.push(Group::default());
        }
        self.groups[0].begin(self.plan, row, self.parts);
    }

    /// Takes into one of the aggregates of the group in hand what a row gives it.
    pub fn update_in_hand(&mut self, n: usize, ctx: &EvalCtx) -> Result<()> {
        self.update_aggregate(0, n, &self.plan.aggregates[n], ctx)
    }

    /// The same, where that is a number.
    #[inline]
    pub fn add_number(&mut self, n: usize, number: f64) {
        self.groups[0].accumulators[n].add_number(number);
    }

    /// The group in hand, if there is one.
    pub fn in_hand(&self) -> Option<&Group> {
        self.groups.first().filter(|_| self.begun)
    }

    /// Takes all rows of a part, or of a group that has more keys, into the one in hand, as far as aggregates merge in one of some ways.
    pub fn merge_in_hand(&mut self, finer: &Group, ways: &[Merging], scope: QueryScope) -> Result<()> {
        self.open(&finer.row(self.plan, scope));
        let sums = self.groups[0].accumulators.iter_mut().zip(&finer.accumulators);
        for ((sum, part), aggregate) in sums.zip(&self.plan.aggregates) {
            if ways.contains(&aggregate.merging()) {
                sum.merge(part, aggregate, scope.env)?;
            }
        }
        Ok(())
    }

    /// The group in hand has all its rows: it goes on, if there is one, and another may begin in its room.
    pub fn end(&mut self, scope: QueryScope, end: &mut End, out: &mut dyn Output) -> Result<ScanControl> {
        if !self.begun {
            return Ok(ScanControl::Next);
        }
        self.take_waiting(scope.env)?;
        self.begun = false;
        self.emit(0, scope, end, out)
    }

    /// Takes a row into its group among those in memory, in whatever order rows come. Returns false, and has not taken it, if it
    /// would be the first of its group and there is no more room.
    pub fn take_in_memory(&mut self, row: &dyn Row, ctx: &EvalCtx) -> Result<bool> {
        self.read_key(ctx)?;
        let at = match self.by_key.number(Key::of(&self.key)) {
            Some(at) => at,
            None if self.is_full() => return Ok(false),
            None => self.add(row)?,
        };
        self.update(at, ctx)?;
        Ok(true)
    }

    /// How many groups are in memory.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// The groups in memory, in the order in which they came; none are left.
    pub fn take_out(&mut self) -> Vec<Group> {
        self.by_key = HashedRows::new(Seeds::new());
        (self.begun, self.bytes) = (false, 0);
        std::mem::take(&mut self.groups)
    }

    /// Works out the row's key.
    fn read_key(&mut self, ctx: &EvalCtx) -> Result<()> {
        self.key.clear();
        for key in self.keys {
            sort_key(&key.eval(ctx)?, &key.ty, &mut self.key)?;
        }
        Ok(())
    }

    /// Takes a row in whose key was worked out.
    fn take_by_key(&mut self, row: &dyn Row, ctx: &EvalCtx) -> Result<()> {
        let at = match self.by_key.number(Key::of(&self.key)) {
            Some(at) => at,
            None => {
                if self.later.is_none() && self.is_full() {
                    self.later = Partitions::new(self.room, self.level);
                }
                if let Some(later) = &mut self.later {
                    let slots = self.plan.slots.iter();
                    let values: Vec<Value> = slots.map(|slot| row.column(*slot).into_owned()).collect();
                    return later.push(&self.key, &values);
                }
                self.add(row)?
            }
        };
        self.update(at, ctx)
    }

    fn is_full(&self) -> bool {
        self.bytes > self.room.allows(self.share) || !self.by_key.has_place()
    }

    /// Adds the group of the row's key; returns where it is.
    fn add(&mut self, row: &dyn Row) -> Result<usize> {
        self.room.check_at(self.groups.len())?;
        let mut group = Group::default();
        group.begin(self.plan, Some(row), self.parts);
        self.begun = true;
        self.bytes += group.bytes() + self.key.len();
        let at = self.groups.len();
        self.groups.push(group);
        self.by_key.insert(Key::of(&self.key))?;
        Ok(at)
    }

    /// Takes a row into a group.
    fn update(&mut self, at: usize, ctx: &EvalCtx) -> Result<()> {
        for (n, aggregate) in self.plan.aggregates.iter().enumerate() {
            let held = self.groups[at].accumulators[n].held_bytes();
            self.update_aggregate(at, n, aggregate, ctx)?;
            self.bytes = (self.bytes + self.groups[at].accumulators[n].held_bytes()).saturating_sub(held);
        }
        Ok(())
    }

    /// Takes into one of a group's aggregates what a row gives it.
    fn update_aggregate(&mut self, at: usize, n: usize, aggregate: &Aggregate, ctx: &EvalCtx) -> Result<()> {
        match aggregate.distinct {
            true => self.update_distinct(at, n, aggregate, ctx),
            false => self.groups[at].accumulators[n].update(aggregate, ctx),
        }
    }

    fn update_distinct(&mut self, at: usize, n: usize, aggregate: &Aggregate, ctx: &EvalCtx) -> Result<()> {
        let Some(inputs) = aggregate.read(ctx)? else {
            return Ok(());
        };
        let key = &mut self.value_key;
        key.clear();
        key.extend_from_slice(&(at as u64).to_be_bytes());
        key.extend_from_slice(&(n as u32).to_be_bytes());
        inputs.key(aggregate, key)?;
        match self.values.look(key)? {
            Novelty::New => self.groups[at].accumulators[n].take(inputs, aggregate, ctx.env),
            Novelty::Known => Ok(()),
            Novelty::Later => {
                let mut row = vec![Val::UInt(at as u64), Val::UInt(n as u64)];
                row.extend(inputs.into_row());
                self.values.put_aside(key, &row)
            }
        }
    }

    /// Takes in the values that had to wait; for groups that have all their rows.
    fn take_waiting(&mut self, env: &Env) -> Result<()> {
        if !self.plan.aggregates.iter().any(|aggregate| aggregate.distinct) {
            return Ok(());
        }
        let none = Distinct::new(self.room, self.share);
        let (plan, groups) = (self.plan, &mut self.groups);
        std::mem::replace(&mut self.values, none).finish(&mut |row| {
            let mut values = row.drain(..);
            let (Some(Val::UInt(at)), Some(Val::UInt(n))) = (values.next(), values.next()) else {
                return Ok(true);
            };
            let (at, n) = (at as usize, n as usize);
            if let Some(inputs) = Inputs::of_row(values) {
                groups[at].accumulators[n].take(inputs, &plan.aggregates[n], env)?;
            }
            Ok(true)
        })?;
        Ok(())
    }

    /// The input has ended: all groups go on as rows.
    pub fn finish(mut self, scope: QueryScope, end: &mut End, out: &mut dyn Output) -> Result<ScanControl> {
        if !self.begun && self.keys.is_empty() {
            self.begin_in_hand(None);
        }
        self.take_waiting(scope.env)?;
        let groups = if self.begun { self.groups.len() } else { 0 };
        for at in 0..groups {
            self.room.check_at(at)?;
            match self.emit(at, scope, end, out)? {
                ScanControl::Stop => return Ok(ScanControl::Stop),
                ScanControl::Pause => out.flush()?,
                ScanControl::Next => {}
            }
        }
        (self.groups, self.by_key) = (Vec::new(), HashedRows::new(Seeds::new()));
        let later = self.later.take();
        let mut row = vec![Value::Null; self.select.width];
        for mut part in later.into_iter().flat_map(Partitions::into_parts) {
            let place = (self.room, self.share);
            let mut groups = Groups::at_level(self.select, self.plan, place, part.level);
            let mut values = Vec::new();
            while part.next(&mut groups.key, &mut values)? {
                for (slot, value) in self.plan.slots.iter().zip(values.drain(..)) {
                    row[*slot] = value;
                }
                let row = JoinedRow {
                    values: &row,
                    outer: scope.outer,
                };
                let ctx = EvalCtx {
                    row: &row,
                    env: scope.env,
                };
                groups.take_by_key(&row, &ctx)?;
            }
            if groups.finish(scope, end, out)? == ScanControl::Stop {
                return Ok(ScanControl::Stop);
            }
        }
        Ok(ScanControl::Next)
    }

    /// Hands a group on as a row; it has no rows then.
    fn emit(
        &mut self,
        at: usize,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let (plan, finished, group) = (self.plan, &mut self.finished, &mut self.groups[at]);
        finished.clear();
        let ctx = scope.env.ctx();
        for (accumulator, spec) in group.accumulators.iter_mut().zip(&plan.aggregates) {
            finished.push(accumulator.finish(spec, &ctx)?);
        }
        let begun = group.row(plan, scope);
        if let Some(rollup) = &plan.rollup {
            add_keys(rollup, (self.keys, plan.keys.len()), &begun, scope, finished)?;
        }
        let row = &GroupRow {
            aggregates: finished,
            ..begun
        };
        let ctx = EvalCtx { row, env: scope.env };
        match &self.select.having {
            Some(having) if !having.is_true(&ctx)? => Ok(ScanControl::Next),
            _ => end.row(&ctx, scope, out),
        }
    }
}

/// Adds what a row of a ROLLUP has behind its aggregates: its keys, NULL in place of those of `all` that its level has not, and what
/// GROUPING() says of them.
fn add_keys(
    rollup: &RollupPlan,
    (keys, all): (&[Expr], usize),
    row: &GroupRow,
    scope: QueryScope,
    finished: &mut Vec<Value>,
) -> Result<()> {
    let ctx = EvalCtx { row, env: scope.env };
    for key in keys {
        finished.push(key.eval(&ctx)?.into_owned());
    }
    finished.resize(finished.len() + all - keys.len(), Value::Null);
    for args in &rollup.groupings {
        let bits = args
            .iter()
            .fold(0, |bits, key| bits << 1 | i64::from(*key >= keys.len()));
        finished.push(Value::Int(bits));
    }
    Ok(())
}

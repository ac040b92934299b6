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
use super::spill::{Distinct, Novelty, Partitions, Room, row_bytes};
use super::{Exec, QueryScope, ScanControl};
use crate::error::Result;
use crate::expr::{Accumulator, Aggregate, Env, EvalCtx, Expr, Inputs, Merging, Row};
use crate::plan::rollup::RollupPlan;
use crate::plan::{GroupPlan, SelectPlan};
use crate::types::sort::sort_key;
use crate::types::{Val, Value};
use std::collections::HashMap;

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
    by_key: HashMap<Box<[u8]>, usize>,
    groups: Vec<Group>,
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
    /// A level of a ROLLUP to which a finer one hands its groups: rows are taken in only for what cannot be merged by states.
    coarse: bool,
    /// A group that has gone on, whose room the next one has.
    spare: Group,
    /// What the aggregates of a group have come to.
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
            coarse: keys < plan.keys.len(),
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
            by_key: HashMap::new(),
            groups: Vec::new(),
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
            coarse: false,
            spare: Group::default(),
            finished: Vec::new(),
        }
    }

    /// A group of which this is the first row.
    fn begin(&mut self, row: Option<&dyn Row>) -> Group {
        let mut group = std::mem::take(&mut self.spare);
        let kept = |slot: &usize| row.map_or(Value::Null, |row| row.column(*slot).into_owned());
        group.first.extend(self.plan.keep.iter().map(kept));
        let aggregates = self.plan.aggregates.iter();
        let state = |aggregate: &Aggregate| match self.parts {
            true => aggregate.part(),
            false => aggregate.accumulator(),
        };
        group.accumulators.extend(aggregates.map(state));
        group
    }

    /// What the groups are made by.
    pub fn plan(&self) -> &'g GroupPlan {
        self.plan
    }

    /// Takes a row in. With sorted input, the group that it ends is returned.
    pub fn take(&mut self, row: &dyn Row, ctx: &EvalCtx) -> Result<Option<Group>> {
        if self.keys.is_empty() {
            self.take_in_hand(row, ctx)?;
            return Ok(None);
        }
        self.read_key(ctx)?;
        if !self.sorted {
            self.take_by_key(row, ctx)?;
            return Ok(None);
        }
        let mut ended = None;
        if self.groups.is_empty() || self.key != self.current {
            ended = self.end(ctx.env)?;
            std::mem::swap(&mut self.key, &mut self.current);
        }
        self.take_in_hand(row, ctx)?;
        Ok(ended)
    }

    /// Takes a row into the one group in hand, whatever its key.
    pub fn take_in_hand(&mut self, row: &dyn Row, ctx: &EvalCtx) -> Result<()> {
        if self.groups.is_empty() {
            let group = self.begin(Some(row));
            self.groups.push(group);
        }
        self.update(0, ctx)
    }

    /// Takes all rows of a part, or of a group that has more keys, into the one in hand, as far as aggregates merge in one of some ways.
    pub fn merge_in_hand(&mut self, finer: &Group, ways: &[Merging], scope: QueryScope) -> Result<()> {
        if self.groups.is_empty() {
            let group = self.begin(Some(&finer.row(self.plan, scope)));
            self.groups.push(group);
        }
        let sums = self.groups[0].accumulators.iter_mut().zip(&finer.accumulators);
        for ((sum, part), aggregate) in sums.zip(&self.plan.aggregates) {
            if ways.contains(&aggregate.merging()) {
                sum.merge(part, aggregate, scope.env)?;
            }
        }
        Ok(())
    }

    /// The group in hand, which has all its rows.
    pub fn end(&mut self, env: &Env) -> Result<Option<Group>> {
        self.take_waiting(env)?;
        Ok(self.groups.pop())
    }

    /// Takes a row into its group among those in memory, in whatever order rows come. Returns false, and has not taken it, if it
    /// would be the first of its group and there is no more room.
    pub fn take_in_memory(&mut self, row: &dyn Row, ctx: &EvalCtx) -> Result<bool> {
        self.read_key(ctx)?;
        let at = match self.by_key.get(self.key.as_slice()) {
            Some(at) => *at,
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
        self.by_key.clear();
        self.bytes = 0;
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
        let at = match self.by_key.get(self.key.as_slice()) {
            Some(at) => *at,
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
        self.bytes > self.room.allows(self.share)
    }

    /// Adds the group of the row's key; returns where it is.
    fn add(&mut self, row: &dyn Row) -> Result<usize> {
        self.room.check_at(self.groups.len())?;
        let group = self.begin(Some(row));
        self.bytes += group.bytes() + self.key.len();
        let at = self.groups.len();
        self.groups.push(group);
        self.by_key.insert(self.key.as_slice().into(), at);
        Ok(at)
    }

    /// Takes a row into a group.
    fn update(&mut self, at: usize, ctx: &EvalCtx) -> Result<()> {
        for (n, aggregate) in self.plan.aggregates.iter().enumerate() {
            if self.coarse && aggregate.merging() == Merging::States {
                continue;
            }
            let held = self.groups[at].accumulators[n].held_bytes();
            match aggregate.distinct {
                true => self.update_distinct(at, n, aggregate, ctx)?,
                false => self.groups[at].accumulators[n].update(aggregate, ctx)?,
            }
            self.bytes = (self.bytes + self.groups[at].accumulators[n].held_bytes()).saturating_sub(held);
        }
        Ok(())
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
        if self.groups.is_empty() && self.keys.is_empty() {
            let group = self.begin(None);
            self.groups.push(group);
        }
        self.take_waiting(scope.env)?;
        for (n, group) in std::mem::take(&mut self.groups).into_iter().enumerate() {
            self.room.check_at(n)?;
            match self.emit(group, scope, end, out)? {
                ScanControl::Stop => return Ok(ScanControl::Stop),
                ScanControl::Pause => out.flush()?,
                ScanControl::Next => {}
            }
        }
        self.by_key = HashMap::new();
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

    /// Adds what a row of a ROLLUP has behind its aggregates: its keys, and what GROUPING() says of them.
    fn add_keys(
        &self,
        rollup: &RollupPlan,
        row: &GroupRow,
        scope: QueryScope,
        finished: &mut Vec<Value>,
    ) -> Result<()> {
        let ctx = EvalCtx { row, env: scope.env };
        for key in self.keys {
            finished.push(key.eval(&ctx)?.into_owned());
        }
        let there = self.keys.len();
        finished.resize(finished.len() + self.plan.keys.len() - there, Value::Null);
        for args in &rollup.groupings {
            let bits = args
                .iter()
                .fold(0, |bits, key| bits << 1 | i64::from(*key >= there));
            finished.push(Value::Int(bits));
        }
        Ok(())
    }

    /// Hands a group on as a row.
    pub fn emit(
        &mut self,
        mut group: Group,
        scope: QueryScope,
        end: &mut End,
        out: &mut dyn Output,
    ) -> Result<ScanControl> {
        let ctx = scope.env.ctx();
        let mut aggregates = std::mem::take(&mut self.finished);
        aggregates.clear();
        for (accumulator, spec) in group.accumulators.drain(..).zip(&self.plan.aggregates) {
            aggregates.push(accumulator.finish(spec, &ctx)?);
        }
        let begun = group.row(self.plan, scope);
        if let Some(rollup) = &self.plan.rollup {
            self.add_keys(rollup, &begun, scope, &mut aggregates)?;
        }
        let row = GroupRow {
            aggregates: &aggregates,
            ..begun
        };
        let ctx = EvalCtx {
            row: &row,
            env: scope.env,
        };
        let flow = match &self.select.having {
            Some(having) if !having.is_true(&ctx)? => ScanControl::Next,
            _ => end.row(&ctx, scope, out)?,
        };
        self.finished = aggregates;
        group.first.clear();
        self.spare = group;
        Ok(flow)
    }
}

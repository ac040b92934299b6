//! A window function at work: its value for one row after the other of a partition.

use super::frame::Frame;
use super::partition::{At, Layout};
use crate::error::Result;
use crate::exec::rows::Slots;
use crate::exec::spill::{Place, Room, RowBuffer};
use crate::expr::{Accumulator, AggFunc, Aggregate, Env, EvalCtx, WindowFunc};
use crate::plan::window::WindowCall;
use crate::types::{Val, Value};
use std::collections::VecDeque;
use std::ops::Range;

/// The rows of a partition that have come.
pub(super) struct View<'v, 'a> {
    pub rows: &'v RowBuffer<'a>,
    /// These are all.
    pub ended: bool,
    /// Where the number of a row's group of peers stands.
    pub group: usize,
    pub env: &'v Env<'v>,
    pub room: Room<'a>,
}

impl View<'_, '_> {
    /// The number of a row's group of peers.
    pub fn group_of(&self, number: u64, place: &mut Place) -> Result<u64> {
        match self.rows.row(number, place)?.get(self.group) {
            Some(Val::UInt(group)) => Ok(*group),
            _ => Ok(0),
        }
    }

    /// A number of rows that have come, or all of them if there are fewer; `None` if more may come.
    pub fn reached(&self, rows: u64) -> Option<u64> {
        match rows <= self.rows.len() {
            true => Some(rows),
            false => self.ended.then(|| self.rows.len()),
        }
    }
}

/// See the module's head.
pub(super) struct Call<'w> {
    plan: &'w WindowCall,
    func: &'w WindowFunc,
    /// The n of NTILE, LAG, LEAD and NTH_VALUE.
    n: u64,
    /// Where its arguments stand in a buffered row.
    args: Range<usize>,
    frame: Frame,
    /// The group of peers of the row before, the number of its first row, and how many there were before it.
    peers: Option<(u64, u64, u64)>,
    over: OverFrame<'w>,
    /// The row asked for last.
    asked: u64,
    place: Place,
    own_place: Place,
}

impl<'w> Call<'w> {
    /// Errors 1210 and 3586 if a number is none that the function or its frame can use.
    pub fn new(
        plan: &'w WindowCall,
        slots: &Slots,
        layout: &mut Layout<'w>,
        ctx: &EvalCtx,
    ) -> Result<Call<'w>> {
        let function = &plan.function;
        let places: Vec<usize> = match function.args.as_slice() {
            [one] => vec![layout.place(slots, one, one.ty.is_member() && function.ty.is_string())],
            more => more
                .iter()
                .map(|e| layout.add(e, e.ty.is_member() && function.ty.is_string()))
                .collect(),
        };
        let from = places.first().copied().unwrap_or(0);
        let frame = Frame::new(&plan.frame, slots, layout, ctx)?;
        Ok(Call {
            plan,
            func: &function.func,
            n: function.number(ctx)?,
            args: from..from + places.len(),
            over: OverFrame::new(&function.func, !frame.grows()),
            frame,
            peers: None,
            asked: 0,
            place: Place::default(),
            own_place: Place::default(),
        })
    }

    /// Whether its value needs no other row than the row itself, in order.
    pub fn streams(&self) -> bool {
        self.plan.streams()
    }

    /// Whether it has no value before the whole partition is there.
    pub fn waits_for_all(&self) -> bool {
        match self.func {
            WindowFunc::PercentRank | WindowFunc::CumeDist | WindowFunc::Ntile => true,
            WindowFunc::FirstValue
            | WindowFunc::LastValue
            | WindowFunc::NthValue
            | WindowFunc::Aggregate(_) => self.frame.ends_with_partition(),
            _ => false,
        }
    }

    /// Whether a value takes time in proportion to the rows of its frame, so that one row is reason enough to look whether the
    /// statement should end.
    pub fn is_slow(&self) -> bool {
        match self.func {
            WindowFunc::Aggregate(aggregate) => {
                matches!(aggregate.func, AggFunc::JsonArray | AggFunc::JsonObject)
            }
            _ => false,
        }
    }

    /// A new partition.
    pub fn reset(&mut self) {
        self.peers = None;
        self.asked = 0;
        self.frame.reset();
        self.over = OverFrame::new(self.func, !self.frame.grows());
    }

    /// The value where [`Call::streams`].
    pub fn streamed(&mut self, at: At, row: &[Value], env: &Env) -> Result<Value> {
        let (first, groups) = self.peers_of(at.number, at.group);
        match self.func {
            WindowFunc::RowNumber => Ok(Val::UInt(at.number + 1)),
            WindowFunc::Rank => Ok(Val::UInt(first + 1)),
            WindowFunc::Aggregate(aggregate) => {
                self.over.add(aggregate, &row[self.args.clone()], env)?;
                self.over.result(aggregate, env)
            }
            _ => Ok(Val::UInt(groups + 1)),
        }
    }

    /// The first row of the group of peers, and how many groups there were before.
    fn peers_of(&mut self, number: u64, group: u64) -> (u64, u64) {
        let (_, first, groups) = match self.peers {
            Some(known) if known.0 == group => known,
            Some((_, _, groups)) => (group, number, groups + 1),
            None => (group, number, 0),
        };
        self.peers = Some((group, first, groups));
        (first, groups)
    }

    /// The value for a row; rows are asked for in order. `None`: it depends on rows that have not come yet.
    pub fn value(&mut self, number: u64, view: &View) -> Result<Option<Value>> {
        self.asked = number;
        match self.func {
            WindowFunc::RowNumber => Ok(Some(Val::UInt(number + 1))),
            WindowFunc::Rank | WindowFunc::DenseRank | WindowFunc::PercentRank => {
                let group = view.group_of(number, &mut self.own_place)?;
                let (first, groups) = self.peers_of(number, group);
                Ok(Some(match self.func {
                    WindowFunc::Rank => Val::UInt(first + 1),
                    WindowFunc::DenseRank => Val::UInt(groups + 1),
                    _ => Val::Double(first as f64 / (view.rows.len() - 1).max(1) as f64),
                }))
            }
            WindowFunc::CumeDist => self.cume_dist(number, view).map(Some),
            WindowFunc::Ntile => Ok(Some(Val::UInt(bucket(number, view.rows.len(), self.n)))),
            WindowFunc::Lag => {
                let of = number.checked_sub(self.n);
                self.of_row(of, number, view).map(Some)
            }
            WindowFunc::Lead => {
                let of = number.saturating_add(self.n);
                match (of < view.rows.len(), view.ended) {
                    (true, _) => self.of_row(Some(of), number, view).map(Some),
                    (false, true) => self.of_row(None, number, view).map(Some),
                    (false, false) => Ok(None),
                }
            }
            WindowFunc::FirstValue | WindowFunc::NthValue | WindowFunc::LastValue => {
                let Some((from, to)) = self.frame.of(number, view)? else {
                    return Ok(None);
                };
                let of = match self.func {
                    WindowFunc::LastValue => to.saturating_sub(1),
                    _ => from.saturating_add(self.n - 1),
                };
                self.nth((from..to).contains(&of).then_some(of), view).map(Some)
            }
            WindowFunc::Aggregate(aggregate) => {
                let Some(frame) = self.frame.of(number, view)? else {
                    return Ok(None);
                };
                let args = self.args.clone();
                self.over.move_to(frame, aggregate, args, view)?;
                self.over.result(aggregate, view.env).map(Some)
            }
        }
    }

    fn cume_dist(&mut self, number: u64, view: &View) -> Result<Value> {
        let group = view.group_of(number, &mut self.own_place)?;
        if self.peers.is_none_or(|(known, ..)| known != group) {
            let mut behind = number + 1;
            while behind < view.rows.len() && view.group_of(behind, &mut self.place)? == group {
                behind += 1;
            }
            self.peers = Some((group, number, behind));
        }
        let behind = self.peers.map_or(0, |(_, _, behind)| behind);
        Ok(Val::Double(behind as f64 / view.rows.len() as f64))
    }

    /// The value of the row that LAG or LEAD looks at, or the default of the row itself.
    fn of_row(&mut self, of: Option<u64>, number: u64, view: &View) -> Result<Value> {
        Ok(match of {
            Some(of) => view.rows.row(of, &mut self.place)?[self.args.start].clone(),
            None if self.args.len() > 1 => {
                view.rows.row(number, &mut self.own_place)?[self.args.start + 1].clone()
            }
            None => Val::Null,
        })
    }

    /// The value of a row of the frame. That of a frame which begins with the partition is kept: the row may be far back.
    fn nth(&mut self, of: Option<u64>, view: &View) -> Result<Value> {
        let Some(of) = of else {
            return Ok(Val::Null);
        };
        if let Some((known, value)) = &self.over.kept
            && *known == of
        {
            return Ok(value.clone());
        }
        let value = view.rows.row(of, &mut self.place)?[self.args.start].clone();
        self.over.kept = Some((of, value.clone()));
        Ok(value)
    }

    /// Rows before this number it will not read.
    pub fn needed_from(&self) -> u64 {
        match self.func {
            WindowFunc::Lag => self.asked.saturating_sub(self.n),
            WindowFunc::FirstValue | WindowFunc::NthValue if self.frame.grows() => match self.over.kept {
                Some(_) => self.frame.to(),
                None => 0,
            },
            WindowFunc::LastValue if self.frame.grows() => self.frame.to().saturating_sub(1),
            WindowFunc::FirstValue | WindowFunc::NthValue | WindowFunc::LastValue => {
                self.frame.from().min(self.frame.to().saturating_sub(1))
            }
            WindowFunc::Aggregate(_) if self.frame.grows() => self.frame.to(),
            WindowFunc::Aggregate(_) => self.frame.from().min(self.over.taken.start),
            _ => u64::MAX,
        }
    }
}

/// Which of `n` buckets of nearly the same size a row is in, the larger ones first.
fn bucket(number: u64, rows: u64, n: u64) -> u64 {
    let (size, larger) = (rows / n, rows % n);
    let in_larger = larger * (size + 1);
    match number < in_larger {
        true => number / (size + 1) + 1,
        false => larger + (number - in_larger) / size.max(1) + 1,
    }
}

/// An aggregate over the rows of a frame, which moves.
struct OverFrame<'w> {
    state: Option<Accumulator>,
    /// The rows that have been taken in and not out again.
    taken: Range<u64>,
    /// Of MIN and MAX: rows whose values none behind them in the frame beats, from the best on.
    best: VecDeque<(u64, Value)>,
    /// The result over the rows taken in, if it is known; of functions of one row, which one and its value.
    result: Option<Value>,
    kept: Option<(u64, Value)>,
    /// The frame does not begin with the partition.
    slides: bool,
    aggregate: Option<&'w Aggregate>,
    place: Place,
}

impl<'w> OverFrame<'w> {
    fn new(func: &'w WindowFunc, slides: bool) -> OverFrame<'w> {
        let aggregate = match func {
            WindowFunc::Aggregate(aggregate) => Some(aggregate),
            _ => None,
        };
        OverFrame {
            state: aggregate.map(Aggregate::accumulator),
            taken: 0..0,
            best: VecDeque::new(),
            result: None,
            kept: None,
            slides,
            aggregate,
            place: Place::default(),
        }
    }

    /// Takes a row in.
    fn add(&mut self, aggregate: &Aggregate, args: &[Value], env: &Env) -> Result<()> {
        self.result = None;
        match &mut self.state {
            Some(state) => state.take_row(args, aggregate, env),
            None => Ok(()),
        }
    }

    /// The result over the rows taken in.
    fn result(&mut self, aggregate: &Aggregate, env: &Env) -> Result<Value> {
        if let Some(known) = &self.result {
            return Ok(known.clone());
        }
        let result = match &self.state {
            Some(state) => state.result(aggregate, &env.ctx())?,
            None => Val::Null,
        };
        self.result = Some(result.clone());
        Ok(result)
    }

    /// Takes in and out what the next frame has and lacks.
    fn move_to(
        &mut self,
        (from, to): (u64, u64),
        aggregate: &Aggregate,
        args: Range<usize>,
        view: &View,
    ) -> Result<()> {
        if from == self.taken.start && to == self.taken.end {
            return Ok(());
        }
        if self.slides && matches!(aggregate.func, AggFunc::Min | AggFunc::Max) {
            return self.slide_best((from, to), aggregate, args.start, view);
        }
        let slides = from > self.taken.start;
        if slides && (from >= self.taken.end || !aggregate.is_reversible()) {
            self.state = self.aggregate.map(Aggregate::accumulator);
            self.taken = from..from;
        }
        self.result = None;
        for number in self.taken.start..from {
            let row = view.rows.row(number, &mut self.place)?;
            if let Some(state) = &mut self.state {
                state.take_row_out(&row[args.clone()], view.env)?;
            }
        }
        for number in self.taken.end..to {
            view.room.check_at(number as usize)?;
            let row = view.rows.row(number, &mut self.place)?;
            if let Some(state) = &mut self.state {
                state.take_row(&row[args.clone()], aggregate, view.env)?;
            }
        }
        self.taken = from..to;
        Ok(())
    }

    /// The same of MIN and MAX.
    fn slide_best(
        &mut self,
        (from, to): (u64, u64),
        aggregate: &Aggregate,
        arg: usize,
        view: &View,
    ) -> Result<()> {
        while self.best.front().is_some_and(|(number, _)| *number < from) {
            self.best.pop_front();
        }
        for number in self.taken.end.max(from)..to {
            view.room.check_at(number as usize)?;
            let value = &view.rows.row(number, &mut self.place)?[arg];
            if value.is_null() {
                continue;
            }
            while let Some((_, last)) = self.best.back()
                && aggregate.beats(value, last, view.env)?
            {
                self.best.pop_back();
            }
            self.best.push_back((number, value.clone()));
        }
        self.taken = from..to;
        let best = self.best.front().map(|(_, value)| value.clone());
        self.result = Some(best.unwrap_or_default());
        Ok(())
    }
}

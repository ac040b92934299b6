//! Which rows of its partition a function sees from a row.
//!
//! From row to row neither end of a frame goes back, so that each is a number which moves forward, over the whole partition
//! once. An end that depends on rows which have not come yet is not known: the caller asks again.

use super::call::View;
use super::partition::Layout;
use crate::error::{Result, SqlError};
use crate::exec::rows::Slots;
use crate::exec::spill::Place;
use crate::expr::{Env, EvalCtx, Expr, compare_values};
use crate::plan::window;
use crate::plan::window::{FrameEnd, illegal_frame_end};
use crate::types::{CmpKind, Val, Value};
use std::cmp::Ordering;

/// One end of a frame, with the numbers of this execution.
#[derive(Clone, Copy)]
enum End {
    Unbounded,
    Row,
    /// So many rows before, or behind.
    Before(u64),
    Behind(u64),
    Peer,
    /// The bound's place in a buffered row, and how it is compared with keys.
    Value(usize, CmpKind),
}

/// The frame of one function on its way through a partition.
pub(super) struct Frame {
    start: End,
    end: End,
    /// Where the key stands that bounds are compared with, and whether it descends.
    key: Option<(usize, bool)>,
    /// The frame of the row asked for last: its first row, and the one behind its last.
    from: u64,
    to: u64,
    /// The group of peers of that row, and its first row.
    group: Option<(u64, u64)>,
    from_place: Place,
    to_place: Place,
    row_place: Place,
}

impl Frame {
    /// Error 3586 if a distance is none.
    pub fn new<'w>(
        plan: &'w window::Frame,
        slots: &Slots,
        layout: &mut Layout<'w>,
        ctx: &EvalCtx,
    ) -> Result<Frame> {
        let mut end = |end: &'w FrameEnd| -> Result<End> {
            Ok(match end {
                FrameEnd::Unbounded => End::Unbounded,
                FrameEnd::Row => End::Row,
                FrameEnd::Peer => End::Peer,
                FrameEnd::Rows { preceding, distance } => {
                    match (rows(distance, &plan.window, ctx)?, preceding) {
                        (n, true) => End::Before(n),
                        (n, false) => End::Behind(n),
                    }
                }
                FrameEnd::Value {
                    distance,
                    bound,
                    kind,
                } => {
                    check_distance(distance, &plan.window, ctx)?;
                    End::Value(layout.add(bound, false), *kind)
                }
            })
        };
        let (start, end) = (end(&plan.start)?, end(&plan.end)?);
        let key = plan.key.as_ref();
        Ok(Frame {
            start,
            end,
            key: key.map(|(key, descending)| (layout.place(slots, key, false), *descending)),
            from: 0,
            to: 0,
            group: None,
            from_place: Place::default(),
            to_place: Place::default(),
            row_place: Place::default(),
        })
    }

    /// Whether it begins with the partition.
    pub fn grows(&self) -> bool {
        matches!(self.start, End::Unbounded)
    }

    /// Whether it ends with the partition.
    pub fn ends_with_partition(&self) -> bool {
        matches!(self.end, End::Unbounded)
    }

    /// The first row of the frame asked for last: no later one begins before it.
    pub fn from(&self) -> u64 {
        self.from
    }

    /// The row behind the frame asked for last.
    pub fn to(&self) -> u64 {
        self.to
    }

    /// A new partition.
    pub fn reset(&mut self) {
        (self.from, self.to, self.group) = (0, 0, None);
    }

    /// The frame of a row: its first row, and the one behind its last. `None`: it depends on rows that have not come yet.
    pub fn of(&mut self, number: u64, view: &View) -> Result<Option<(u64, u64)>> {
        if matches!(self.start, End::Peer) || matches!(self.end, End::Peer) {
            let group = view.group_of(number, &mut self.row_place)?;
            if self.group.is_none_or(|(known, _)| known != group) {
                self.group = Some((group, number));
            }
        }
        let Some(to) = self.end_of(number, view)? else {
            return Ok(None);
        };
        let Some(from) = self.start_of(number, view)? else {
            return Ok(None);
        };
        (self.from, self.to) = (from, to.max(from));
        Ok(Some((self.from, self.to)))
    }

    fn start_of(&mut self, number: u64, view: &View) -> Result<Option<u64>> {
        Ok(match self.start {
            End::Unbounded => Some(0),
            End::Row => Some(number),
            End::Before(n) => Some(number.saturating_sub(n)),
            End::Behind(n) => view.reached(number.saturating_add(n)),
            End::Peer => Some(self.group.map_or(number, |(_, first)| first)),
            End::Value(bound, kind) => {
                let mut at = self.from;
                let key = Key::of(self.key, bound, kind);
                let bound = key.bound(number, view, &mut self.row_place)?;
                while at < view.rows.len()
                    && key.order(at, &bound, view, &mut self.from_place)? == Ordering::Less
                {
                    view.room.check_at(at as usize)?;
                    at += 1;
                }
                (self.from) = at;
                (at < view.rows.len() || view.ended).then_some(at)
            }
        })
    }

    fn end_of(&mut self, number: u64, view: &View) -> Result<Option<u64>> {
        Ok(match self.end {
            End::Unbounded => view.ended.then(|| view.rows.len()),
            End::Row => Some(number + 1),
            End::Before(n) => Some((number + 1).saturating_sub(n)),
            End::Behind(n) => view.reached(number.saturating_add(1).saturating_add(n)),
            End::Peer => {
                let group = self.group.map_or(0, |(group, _)| group);
                let mut at = self.to.max(number + 1);
                while at < view.rows.len() && view.group_of(at, &mut self.to_place)? <= group {
                    at += 1;
                }
                self.to = at;
                (at < view.rows.len() || view.ended).then_some(at)
            }
            End::Value(bound, kind) => {
                let mut at = self.to;
                let key = Key::of(self.key, bound, kind);
                let bound = key.bound(number, view, &mut self.row_place)?;
                while at < view.rows.len()
                    && key.order(at, &bound, view, &mut self.to_place)? != Ordering::Greater
                {
                    view.room.check_at(at as usize)?;
                    at += 1;
                }
                self.to = at;
                (at < view.rows.len() || view.ended).then_some(at)
            }
        })
    }
}

/// How keys are compared with a bound.
#[derive(Clone, Copy)]
struct Key {
    at: usize,
    bound: usize,
    descending: bool,
    kind: CmpKind,
}

impl Key {
    fn of(key: Option<(usize, bool)>, bound: usize, kind: CmpKind) -> Key {
        let (at, descending) = key.unwrap_or((bound, false));
        Key {
            at,
            bound,
            descending,
            kind,
        }
    }

    /// The bound that a row has.
    fn bound(&self, number: u64, view: &View, place: &mut Place) -> Result<Value> {
        Ok(view.rows.row(number, place)?[self.bound].clone())
    }

    /// Whether a row comes before the bound in the partition's order, or behind it. NULL comes before all values.
    fn order(&self, number: u64, bound: &Value, view: &View, place: &mut Place) -> Result<Ordering> {
        let key = &view.rows.row(number, place)?[self.at];
        let order = match (key, bound) {
            (Val::Null, Val::Null) => Ordering::Equal,
            (Val::Null, _) => Ordering::Less,
            (_, Val::Null) => Ordering::Greater,
            _ => compare_values(self.kind, key, bound, view.env)?.unwrap_or(Ordering::Equal),
        };
        Ok(if self.descending { order.reverse() } else { order })
    }
}

/// The number of rows that `n PRECEDING` names.
fn rows(distance: &Expr, window: &str, ctx: &EvalCtx) -> Result<u64> {
    match distance.eval(ctx)? {
        Val::Int(n) if n >= 0 => Ok(n as u64),
        Val::UInt(n) => Ok(n),
        // As large as no partition is.
        Val::Decimal(n) if n.scale() == 0 && !n.is_negative() => Ok(u64::MAX),
        Val::Str(_) | Val::Decimal(_) | Val::Double(_) if !distance.is_constant() => {
            Err(SqlError::wrong_arguments("EXECUTE"))
        }
        _ => Err(illegal_frame_end(window)),
    }
}

/// Error 3586 for a distance that is negative or NULL.
fn check_distance(distance: &Expr, window: &str, ctx: &EvalCtx) -> Result<()> {
    let fits = match distance.eval(ctx)? {
        Val::Null => false,
        Val::Str(text) => !text.trim_ascii_start().starts_with(b"-"),
        other => !is_negative(&other, ctx.env)?,
    };
    if fits {
        Ok(())
    } else {
        Err(illegal_frame_end(window))
    }
}

fn is_negative(value: &Val, env: &Env) -> Result<bool> {
    Ok(value.to_f64(env)? < 0.0)
}

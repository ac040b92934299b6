//! The partition in hand: its rows as far as they are still needed, and the functions over them.
//!
//! A row of the buffer is what came in, and behind that what the functions read of it, evaluated once:
//!
//! ```text
//!  │ kept slots, values of earlier passes │ arguments that are no plain columns │ frame keys and bounds │ group of peers │
//! ```
//!
//! A row goes on as soon as every function has its value, which may take none of the rows behind it (ROW_NUMBER, LAG, ROWS …
//! CURRENT ROW), some (LEAD, a group of peers, FOLLOWING), or all (NTILE, UNBOUNDED FOLLOWING). What no function looks back at
//! is dropped, so that a partition of any length takes no more memory than its frames do. Where all functions need nothing but
//! the row itself there is no buffer at all.

use super::call::{Call, View};
use super::{RowsTo, handed_on};
use crate::error::Result;
use crate::exec::QueryScope;
use crate::exec::rows::{Slots, WindowRow};
use crate::exec::spill::{Place, Room, RowBuffer};
use crate::expr::{EvalCtx, Expr, Node};
use crate::plan::window::WindowPass;
use crate::types::Value;

/// What is known of a row's place among those before it.
#[derive(Clone, Copy)]
pub(super) struct At {
    /// Its number in the partition.
    pub number: u64,
    /// The number of its group of peers.
    pub group: u64,
}

/// See the module's head.
pub(super) struct Partition<'w, 'a> {
    room: Room<'a>,
    calls: Vec<Call<'w>>,
    layout: Layout<'w>,
    /// The statement may have to end at any row, not only at one in many.
    slow: bool,
    /// Each row goes on at once.
    streams: bool,
    /// No row goes on before the last has come.
    waits_for_all: bool,
    rows: RowBuffer<'a>,
    /// The key of the row before, if the partition has begun.
    key: Vec<u8>,
    started: bool,
    /// The place of the row that came last.
    last: At,
    /// The next row to go on.
    next: u64,
    row: Vec<Value>,
    values: Vec<Value>,
    place: Place,
}

/// What stands where in a buffered row.
pub(super) struct Layout<'w> {
    slots_len: usize,
    /// Evaluated on each row and kept behind it; true: the member of a list becomes its text.
    inputs: Vec<(&'w Expr, bool)>,
    /// Where the number of the group of peers stands.
    pub group: usize,
}

impl<'w> Layout<'w> {
    /// The place of an expression's value in a buffered row: that of a column which is there, or a new one.
    pub fn place(&mut self, slots: &Slots, e: &'w Expr, text: bool) -> usize {
        if let Node::Column(slot) = e.node
            && let Some(at) = slots.place(slot)
            && at < self.slots_len
            && !text
        {
            return at;
        }
        self.add(e, text)
    }

    /// A new place behind the last.
    pub fn add(&mut self, e: &'w Expr, text: bool) -> usize {
        self.inputs.push((e, text));
        self.slots_len + self.inputs.len() - 1
    }
}

impl<'w, 'a> Partition<'w, 'a> {
    /// Before the first row of a pass, whose rows have `slots_len` values.
    pub fn new(
        (room, share): (Room<'a>, usize),
        pass: &'w WindowPass,
        (slots, slots_len): (&Slots, usize),
        ctx: &EvalCtx,
    ) -> Result<Partition<'w, 'a>> {
        let mut layout = Layout {
            slots_len,
            inputs: Vec::new(),
            group: 0,
        };
        let calls = pass
            .calls
            .iter()
            .map(|call| Call::new(call, slots, &mut layout, ctx));
        let calls = calls.collect::<Result<Vec<_>>>()?;
        layout.group = slots_len + layout.inputs.len();
        Ok(Partition {
            room,
            slow: calls.iter().any(Call::is_slow),
            streams: calls.iter().all(Call::streams),
            waits_for_all: calls.iter().any(Call::waits_for_all),
            calls,
            rows: RowBuffer::new(room, share, layout.group + 1),
            layout,
            key: Vec::new(),
            started: false,
            last: At { number: 0, group: 0 },
            next: 0,
            row: Vec::new(),
            values: Vec::new(),
            place: Place::default(),
        })
    }

    /// Takes a row, whose key ends with the length of the partition's part of it. Returns whether more are wanted.
    pub fn take(&mut self, key: &[u8], row: &WindowRow, scope: QueryScope, to: RowsTo) -> Result<bool> {
        if !self.started || self.key != key {
            let length = key.last_chunk().map_or(0, |n| u32::from_be_bytes(*n)) as usize;
            let same = self.started && self.key.get(..length) == key.get(..length);
            if !same && !self.end(row.slots, scope, to)? {
                return Ok(false);
            }
            if same {
                self.last.group += 1;
            }
            self.key.clear();
            self.key.extend_from_slice(key);
            self.started = true;
        }
        self.room
            .check_at(if self.slow { 0 } else { self.last.number as usize })?;
        self.row.clear();
        let ctx = EvalCtx { row, env: scope.env };
        if self.streams {
            return self.stream(row, &ctx, to);
        }
        self.row.extend(row.values.iter().chain(row.fresh).cloned());
        for (e, text) in &self.layout.inputs {
            self.row.push(handed_on(e.eval(&ctx)?, *text));
        }
        self.row.push(Value::UInt(self.last.group));
        self.rows.push(&mut self.row)?;
        self.last.number += 1;
        if self.waits_for_all {
            return Ok(true);
        }
        self.advance(false, row.slots, scope, to)
    }

    /// A row whose values need no other.
    fn stream(&mut self, row: &WindowRow, ctx: &EvalCtx, to: RowsTo) -> Result<bool> {
        let mut values = row.values;
        if !row.fresh.is_empty() || !self.layout.inputs.is_empty() {
            self.row.extend(row.values.iter().chain(row.fresh).cloned());
            for (e, text) in &self.layout.inputs {
                self.row.push(handed_on(e.eval(ctx)?, *text));
            }
            values = &self.row;
        }
        self.values.clear();
        for call in &mut self.calls {
            self.values.push(call.streamed(self.last, values, ctx.env)?);
        }
        self.last.number += 1;
        to(&WindowRow {
            values: &values[..self.layout.slots_len],
            fresh: &self.values,
            ..*row
        })
    }

    /// The partition has all its rows: those that wait go on, and another may begin.
    pub fn end(&mut self, slots: &Slots, scope: QueryScope, to: RowsTo) -> Result<bool> {
        let more = self.streams || self.advance(true, slots, scope, to)?;
        self.rows.clear();
        self.calls.iter_mut().for_each(Call::reset);
        self.values.clear();
        self.last = At { number: 0, group: 0 };
        self.next = 0;
        self.started = false;
        Ok(more)
    }

    /// Hands on the rows for which every function has its value. `ended`: there are no more rows.
    fn advance(&mut self, ended: bool, slots: &Slots, scope: QueryScope, to: RowsTo) -> Result<bool> {
        let view = View {
            rows: &self.rows,
            ended,
            group: self.layout.group,
            env: scope.env,
            room: self.room,
        };
        while self.next < view.rows.len() {
            self.room
                .check_at(if self.slow { 0 } else { self.next as usize })?;
            // Those that had their value when a later one had not have kept it.
            for call in &mut self.calls[self.values.len()..] {
                match call.value(self.next, &view)? {
                    Some(value) => self.values.push(value),
                    None => break,
                }
            }
            if self.values.len() < self.calls.len() {
                break;
            }
            let row = view.rows.row(self.next, &mut self.place)?;
            let more = to(&WindowRow {
                slots,
                values: &row[..self.layout.slots_len],
                fresh: &self.values,
                outer: scope.outer,
            })?;
            self.values.clear();
            self.next += 1;
            if !more {
                return Ok(false);
            }
        }
        let needed = self.calls.iter().map(Call::needed_from).min();
        self.rows.drop_before(needed.unwrap_or(self.next).min(self.next));
        Ok(true)
    }
}

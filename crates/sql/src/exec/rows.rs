//! The rows that expressions read while a query runs.

use crate::dictionary::TableDef;
use crate::expr::{OUTER, Row};
use crate::plan::{AGGREGATE, WINDOW};
use crate::types::{TimeZone, Val, Value};
use tidemark_engine::RowView;

fn outside(outer: Option<&dyn Row>, slot: usize) -> Val<'_> {
    outer.map_or(Val::Null, |row| row.column(slot - OUTER))
}

/// The joined row so far.
pub struct JoinedRow<'a> {
    pub values: &'a [Value],
    pub outer: Option<&'a dyn Row>,
}

impl Row for JoinedRow<'_> {
    fn column(&self, slot: usize) -> Val<'_> {
        match self.values.get(slot) {
            Some(value) => value.borrowed(),
            None if slot >= OUTER => outside(self.outer, slot),
            None => Val::Null,
        }
    }
}

/// A row in its page behind the joined row so far.
pub struct PageRow<'a> {
    pub view: &'a RowView<'a>,
    pub def: &'a TableDef,
    pub base: usize,
    pub zone: &'a TimeZone,
    pub values: &'a [Value],
    pub outer: Option<&'a dyn Row>,
}

impl Row for PageRow<'_> {
    #[inline]
    fn column(&self, slot: usize) -> Val<'_> {
        let column = slot.wrapping_sub(self.base);
        match self.def.columns.get(column) {
            Some(def) => def.ty.load(self.view.get(column), self.zone),
            None => JoinedRow {
                values: self.values,
                outer: self.outer,
            }
            .into_column(slot),
        }
    }
}

impl<'a> JoinedRow<'a> {
    fn into_column(self, slot: usize) -> Val<'a> {
        match self.values.get(slot) {
            Some(value) => value.borrowed(),
            None if slot >= OUTER => outside(self.outer, slot),
            None => Val::Null,
        }
    }
}

/// Where each slot stands among the values of a row on its way through window functions, or of one that was put aside.
pub struct Slots {
    columns: Vec<Option<usize>>,
    finished: Vec<Option<usize>>,
    windows: Vec<Option<usize>>,
}

impl Slots {
    /// The kept slots come first, then the values of window functions in the order of `windows`.
    pub fn new(kept: &[usize], windows: &[usize]) -> Slots {
        let mut slots = Slots {
            columns: Vec::new(),
            finished: Vec::new(),
            windows: Vec::new(),
        };
        let all = kept.iter().copied().chain(windows.iter().map(|n| WINDOW + n));
        for (at, slot) in all.enumerate() {
            let (list, slot) = match slot {
                WINDOW.. => (&mut slots.windows, slot - WINDOW),
                AGGREGATE.. => (&mut slots.finished, slot - AGGREGATE),
                _ => (&mut slots.columns, slot),
            };
            if list.len() <= slot {
                list.resize(slot + 1, None);
            }
            list[slot] = Some(at);
        }
        slots
    }

    /// The place of a slot's value.
    pub fn place(&self, slot: usize) -> Option<usize> {
        let found = match slot {
            WINDOW.. => self.windows.get(slot - WINDOW),
            AGGREGATE.. => self.finished.get(slot - AGGREGATE),
            _ => self.columns.get(slot),
        };
        found.copied().flatten()
    }
}

/// A row on its way through window functions: what was kept of it, and the values worked out for it.
#[derive(Clone, Copy)]
pub struct WindowRow<'a> {
    pub slots: &'a Slots,
    pub values: &'a [Value],
    /// What comes behind `values`.
    pub fresh: &'a [Value],
    pub outer: Option<&'a dyn Row>,
}

impl Row for WindowRow<'_> {
    fn column(&self, slot: usize) -> Val<'_> {
        if slot >= OUTER {
            return outside(self.outer, slot);
        }
        let Some(at) = self.slots.place(slot) else {
            return Val::Null;
        };
        let value = match at.checked_sub(self.values.len()) {
            None => self.values.get(at),
            Some(at) => self.fresh.get(at),
        };
        value.map_or(Val::Null, Val::borrowed)
    }
}

/// A group: what was kept of its first row, and its aggregates.
pub struct GroupRow<'a> {
    pub keep: &'a [usize],
    pub first: &'a [Value],
    pub aggregates: &'a [Value],
    pub outer: Option<&'a dyn Row>,
}

impl Row for GroupRow<'_> {
    fn column(&self, slot: usize) -> Val<'_> {
        if slot >= OUTER {
            return outside(self.outer, slot);
        }
        if slot >= AGGREGATE {
            return self
                .aggregates
                .get(slot - AGGREGATE)
                .map_or(Val::Null, Val::borrowed);
        }
        let at = self.keep.iter().position(|kept| *kept == slot);
        at.and_then(|at| self.first.get(at))
            .map_or(Val::Null, Val::borrowed)
    }
}

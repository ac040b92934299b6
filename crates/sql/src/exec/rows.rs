//! The rows that expressions read while a query runs.

use crate::dictionary::TableDef;
use crate::expr::{OUTER, Row};
use crate::plan::AGGREGATE;
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

//! Rows as expressions see them: values, a row in its page, and either with some columns changed.

use crate::dictionary::TableDef;
use crate::expr::Row;
use crate::types::{TimeZone, Val, Value};
use tidemark_engine::RowView;

/// A row with some columns changed.
pub struct Changed<'r> {
    pub base: &'r dyn Row,
    pub set: &'r [(usize, Value)],
}

impl Row for Changed<'_> {
    fn column(&self, slot: usize) -> Val<'_> {
        match self.set.iter().find(|(column, _)| *column == slot) {
            Some((_, value)) => value.borrowed(),
            None => self.base.column(slot),
        }
    }
}

impl Changed<'_> {
    pub fn copy(&self, width: usize) -> Vec<Value> {
        (0..width).map(|slot| self.column(slot).into_owned()).collect()
    }
}

/// A row of values, by slot.
pub struct Slots<'r>(pub &'r [Value]);

impl Row for Slots<'_> {
    fn column(&self, slot: usize) -> Val<'_> {
        self.0.get(slot).map_or(Val::Null, Val::borrowed)
    }
}

/// A row in the page, by slot.
pub struct Stored<'r> {
    pub def: &'r TableDef,
    pub view: &'r RowView<'r>,
    pub zone: &'r TimeZone,
}

impl Row for Stored<'_> {
    fn column(&self, slot: usize) -> Val<'_> {
        match self.def.columns.get(slot) {
            Some(column) => column.ty.load(self.view.get(slot), self.zone),
            None => Val::Null,
        }
    }
}

impl Stored<'_> {
    /// Appends all columns, copied out of the page.
    pub fn copy_to(&self, out: &mut Vec<Value>) {
        let columns = 0..self.def.columns.len();
        out.extend(columns.map(|slot| self.column(slot).into_owned()));
    }
}

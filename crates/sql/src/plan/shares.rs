//! The share of rows that pass the conditions on a table that is joined.
//!
//! Conditions on the table alone are asked of what is known of its columns ([`super::spread`]), equalities with other tables of what is
//! known of both sides: common values meet each other, and of others the side with fewer is taken to be among those of the other.

use super::filter::{counted, selectivity};
use super::from::FromInput;
use super::join::{Condition, Joiner, own_slot};
use super::sampled::SampledRows;
use super::spread::{Spread, together};
use super::{Input, TableScan};
use crate::dictionary::IndexDef;
use crate::expr::{CmpOp, Expr, Node};
use crate::statistics::TableStatistics;
use crate::types::{TypeKind, Value};
use std::rc::Rc;
use std::sync::Arc;

impl<'j> Joiner<'j, '_> {
    /// The share of the rows found by a table's path that pass the conditions left to be tested: each that the path does not count itself,
    /// and of those that say the same columns are equal one.
    pub(super) fn share(
        &self,
        pool: &[Condition],
        rest: &[&Condition],
        scan: &TableScan,
        spread: Option<&Spread>,
    ) -> f64 {
        let by_path = |c: &Condition| match &scan.input {
            Input::Stored { def, .. } => counted(&c.expr, &scan.path, def, scan.base),
            _ => false,
        };
        let mut classes: Vec<usize> = pool
            .iter()
            .filter(|c| by_path(c))
            .filter_map(|c| c.class)
            .collect();
        let mut share = 1.0;
        let mut known = Vec::new();
        for condition in rest.iter().filter(|c| !by_path(c)) {
            match condition.class {
                Some(class) if classes.contains(&class) => continue,
                class => classes.extend(class),
            }
            let of_parts = |share: f64| (share / condition.share_of_parts).min(1.0);
            match spread.and_then(|spread| spread.share(&condition.expr)) {
                Some(share) => known.push(of_parts(share)),
                None => {
                    let joined = self.share_of_equality(&condition.expr);
                    share *= of_parts(joined.unwrap_or_else(|| selectivity(&condition.expr, None)));
                }
            }
        }
        // What an index was bounded by counts as one of the conditions on the table.
        let of_path = spread.and_then(|_| share_of_path(scan));
        match of_path.filter(|_| !known.is_empty()) {
            Some(of_path) => {
                known.push(of_path);
                share * together(&mut known) / of_path
            }
            None => share * together(&mut known),
        }
    }

    /// The share of rows for which an equality is true, if it is known how many values one of its sides has: those of the side with
    /// fewer are taken to be among those of the other.
    pub(super) fn share_of_equality(&self, e: &Expr) -> Option<f64> {
        let Node::Compare(CmpOp::Eq, _, sides) = &e.node else {
            return None;
        };
        self.share_of_common(&sides[0], &sides[1]).or_else(|| {
            let slots = sides.iter().filter_map(own_slot);
            let values = slots.filter_map(|slot| self.values_of(slot));
            values.reduce(f64::max).map(|values| 1.0 / values.max(1.0))
        })
    }

    /// The share of the pairs of rows of two columns that have the same value, if statistics tell of both.
    fn share_of_common(&self, left: &Expr, right: &Expr) -> Option<f64> {
        let (left, right) = (own_slot(left)?, own_slot(right)?);
        let (of_left, of_right) = (self.table_of(left), self.table_of(right));
        let (left_known, right_known) = (self.statistics_of(of_left)?, self.statistics_of(of_right)?);
        let column = |at: usize, slot: usize| match &self.input.tables[at].input {
            FromInput::Stored { def, .. } => Some((def, slot.checked_sub(self.input.tables[at].base)?)),
            _ => None,
        };
        let ((left_def, left), (right_def, right)) = (column(of_left, left)?, column(of_right, right)?);
        left_known
            .column(left_def, left)?
            .joined(right_known.column(right_def, right)?)
    }

    /// How many times more combinations than usual pass an equality with a small table, whose rows that pass its own conditions are
    /// looked at: their keys may be common in the other table, or seldom.
    pub(super) fn skew(&self, e: &Expr, pool: &[Condition]) -> Option<f64> {
        let Node::Compare(CmpOp::Eq, _, sides) = &e.node else {
            return None;
        };
        let [left, right] = &**sides;
        let is_alike = left.ty.kind == right.ty.kind && left.ty.collation == right.ty.collation;
        // What is known of TIMESTAMPs is known of them in UTC.
        if !is_alike || left.ty.kind == TypeKind::Timestamp {
            return None;
        }
        let (left, right) = (own_slot(left)?, own_slot(right)?);
        let share = self
            .share_of_passing(left, right, pool)
            .or_else(|| self.share_of_passing(right, left, pool))?;
        Some(share / self.share_of_equality(e)?)
    }

    /// The share of the pairs that have the same value of the rows of a small table which pass its own conditions and all of another.
    fn share_of_passing(&self, small: usize, other: usize, pool: &[Condition]) -> Option<f64> {
        let (at, other_at) = (self.table_of(small), self.table_of(other));
        let own = pool.iter().filter(|c| c.tables == [at] && !c.late);
        let own: Vec<&Expr> = own.map(|c| &c.expr).collect();
        if own.is_empty() {
            return None;
        }
        let FromInput::Stored { def, .. } = &self.input.tables[other_at].input else {
            return None;
        };
        let statistics = self.statistics_of(other_at)?;
        let column = statistics.column(def, other - self.input.tables[other_at].base)?;
        let rows = self.rows_of(at)?;
        let keys = rows.values_passing(&own, small - self.input.tables[at].base)?;
        let shares = keys.iter().map(|key| match key {
            Value::Null => Some(0.0),
            key => column.equal(key),
        });
        let met: f64 = shares.sum::<Option<f64>>()?;
        (met > 0.0).then(|| met / keys.len() as f64)
    }

    /// Rows of a table on which conditions may be tested, if it is joined and has statistics. A table that is still being loaded has none, and its
    /// plans end when they come.
    pub(super) fn rows_of(&self, at: usize) -> Option<Rc<SampledRows<'j>>> {
        let from = &self.input.tables[at];
        let FromInput::Stored { def, table } = &from.input else {
            return None;
        };
        let sample = self.planner.sample.filter(|_| !self.slots_tested.is_empty())?;
        self.statistics_of(at)?;
        let mut rows = self.rows.borrow_mut();
        let rows = rows.entry(at).or_insert_with(|| {
            Rc::new(SampledRows::new(
                (def, table),
                from.base,
                &self.slots_tested,
                sample,
            ))
        });
        Some(Rc::clone(rows))
    }

    /// What is known of the rows of a table.
    pub(super) fn statistics_of(&self, at: usize) -> Option<Arc<TableStatistics>> {
        let FromInput::Stored { def, .. } = &self.input.tables[at].input else {
            return None;
        };
        let database = &self.planner.state.database;
        let mut statistics = self.statistics.borrow_mut();
        statistics
            .entry(at)
            .or_insert_with(|| database.statistics_of(def.id))
            .clone()
    }

    /// How many different values a column has, if an index begins with it, or statistics tell.
    fn values_of(&self, slot: usize) -> Option<f64> {
        if let Some(known) = self.values.borrow().get(&slot) {
            return *known;
        }
        let at = self.table_of(slot);
        let from = &self.input.tables[at];
        let values = match &from.input {
            FromInput::Stored { def, table } => {
                let begins = |index: &&IndexDef| {
                    let part = &index.parts[0];
                    from.base + part.column == slot
                        && part.prefix.is_none()
                        && def.array_part(index).is_none()
                };
                let index = def.indexes.iter().find(begins);
                let by_index = index.map(|index| {
                    table.estimate_rows() as f64 / table.records_per_key(index.number, 1).max(1.0)
                });
                by_index.or_else(|| {
                    let column = slot.checked_sub(from.base)?;
                    self.statistics_of(at)?.column(def, column)?.distinct()
                })
            }
            FromInput::Derived { query, .. } => {
                let column = slot.checked_sub(from.base);
                column.and_then(|column| self.planner.values_of_column(*query, column))
            }
            FromInput::Virtual(_) | FromInput::Json(_) => None,
        };
        self.values.borrow_mut().insert(slot, values);
        values
    }
}

/// The share of its table's rows that a scan finds by constants.
fn share_of_path(scan: &TableScan) -> Option<f64> {
    let Input::Stored { table, .. } = &scan.input else {
        return None;
    };
    let path = &scan.path;
    let is_bounded = !path.is_full() && path.skip.is_none() && path.is_constant();
    let share = path.rows / table.estimate_rows().max(1) as f64;
    (is_bounded && share > 0.0).then_some(share.min(1.0))
}

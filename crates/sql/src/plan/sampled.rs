//! Rows of a table that are looked at while a join of it is planned.
//!
//! Of some conditions statistics tell nothing: a pattern, a comparison of two columns. In a join a guess of theirs decides which table is read
//! first, and may be wrong by a factor of a thousand. So such conditions are tested on some rows, spread over the table's leaves, without
//! a view and without locks, as statistics are gathered. Of a table that is small all rows are looked at, and then it is known, too, which
//! keys join it with others (dynamic sampling; Leis et al., *Cardinality Estimation Done Right*, CIDR 2017).
//!
//! Only [quiet](is_quiet) conditions are tested: nobody notices that they were. What is found changes estimates, never rows.

use super::condition_order::is_quiet;
use super::filter::selectivity;
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::expr::{EvalCtx, Expr, OUTER, Row};
use crate::types::{Val, Value};
use std::cell::{OnceCell, RefCell};
use tidemark_engine::{LeafSample, Table};

/// Leaves that are looked at, and rows: a table with no more rows is looked at as a whole.
const LEAVES: usize = 8;
const ROWS_MAX: usize = 512;

/// A table of which rows may be looked at.
pub(crate) struct SampledRows<'a> {
    def: &'a TableDef,
    table: &'a Table,
    /// The slot of its first column.
    base: usize,
    /// The columns that conditions read, by their positions, ascending.
    columns: Vec<usize>,
    /// With the values of this execution.
    sample: &'a EvalCtx<'a>,
    rows: OnceCell<Rows>,
    /// Shares that were asked for.
    shares: RefCell<Vec<(Expr, Option<f64>)>>,
}

struct Rows {
    /// Of each row the columns that conditions read.
    rows: Vec<Vec<Value>>,
    is_whole: bool,
}

/// A row as a condition sees it.
struct SampledRow<'a> {
    base: usize,
    columns: &'a [usize],
    values: &'a [Value],
}

impl Row for SampledRow<'_> {
    fn column(&self, slot: usize) -> Val<'_> {
        let at = slot
            .checked_sub(self.base)
            .and_then(|column| self.columns.binary_search(&column).ok());
        at.map_or(Val::Null, |at| self.values[at].borrowed())
    }
}

impl<'a> SampledRows<'a> {
    /// Of a table whose first column has the slot `base`; `slots`: those that conditions of the statement read.
    pub fn new(
        (def, table): (&'a TableDef, &'a Table),
        base: usize,
        slots: &[usize],
        sample: &'a EvalCtx<'a>,
    ) -> SampledRows<'a> {
        let own = slots.iter().filter_map(|slot| slot.checked_sub(base));
        let mut columns: Vec<usize> = own.filter(|column| *column < def.columns.len()).collect();
        columns.sort_unstable();
        columns.dedup();
        SampledRows {
            def,
            table,
            base,
            columns,
            sample,
            rows: OnceCell::new(),
            shares: RefCell::default(),
        }
    }

    /// The share of rows that pass a condition on this table alone; `None` if it is not one that may be tested.
    pub fn share(&self, e: &Expr) -> Option<f64> {
        if !self.may_test(e) {
            return None;
        }
        if let Some((_, share)) = self.shares.borrow().iter().find(|(other, _)| other.same_as(e)) {
            return *share;
        }
        let share = self.tested(e);
        self.shares.borrow_mut().push((e.clone(), share));
        share
    }

    fn tested(&self, e: &Expr) -> Option<f64> {
        let Rows { rows, is_whole } = self.rows();
        let passing = self.passing(&[e])?.len() as f64;
        let looked_at = rows.len() as f64;
        Some(match is_whole {
            true => passing.max(0.5) / looked_at.max(1.0),
            // What was guessed counts as one row more, so that few rows which all pass, or of which none does, do not say too much.
            false => (passing + selectivity(e, None)) / (looked_at + 1.0),
        })
    }

    /// The values of a column in the rows that pass all of some conditions, if all rows of the table are known, and what passes.
    pub fn values_passing(&self, conditions: &[&Expr], column: usize) -> Option<Vec<&Value>> {
        let is_small = self.table.estimate_rows() as usize <= ROWS_MAX;
        if !is_small || !conditions.iter().all(|e| self.may_test(e)) || !self.rows().is_whole {
            return None;
        }
        let at = self.columns.binary_search(&column).ok()?;
        let passing = self.passing(conditions)?;
        Some(passing.into_iter().map(|row| &row[at]).collect())
    }

    fn passing(&self, conditions: &[&Expr]) -> Option<Vec<&Vec<Value>>> {
        let passes = |values: &Vec<Value>| -> Result<bool> {
            let row = SampledRow {
                base: self.base,
                columns: &self.columns,
                values,
            };
            let ctx = EvalCtx {
                row: &row,
                env: self.sample.env,
            };
            for condition in conditions {
                if !condition.is_true(&ctx)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        let mut passing = Vec::new();
        for row in &self.rows().rows {
            if passes(row).ok()? {
                passing.push(row);
            }
        }
        Some(passing)
    }

    /// Whether a condition is one on this table alone whose test nobody notices.
    fn may_test(&self, e: &Expr) -> bool {
        let is_own = |slot: &usize| {
            *slot < OUTER
                && slot
                    .checked_sub(self.base)
                    .is_some_and(|column| self.columns.binary_search(&column).is_ok())
        };
        let slots = e.columns();
        let is_bound = !(self.sample.env.unbound && e.has_parameter());
        !slots.is_empty() && slots.iter().all(is_own) && is_bound && is_quiet(e)
    }

    fn rows(&self) -> &Rows {
        // Where rows cannot be read, nothing is known of them; whoever reads them for the statement says why.
        let nothing = Rows {
            rows: Vec::new(),
            is_whole: false,
        };
        self.rows.get_or_init(|| self.read().unwrap_or(nothing))
    }

    fn read(&self) -> Result<Rows> {
        let of_each = match self.table.estimate_rows() as usize <= ROWS_MAX {
            true => ROWS_MAX,
            false => ROWS_MAX / LEAVES,
        };
        let zone = self.sample.env.time_zone;
        let (mut rows, mut is_whole) = (Vec::new(), true);
        let mut leaves = LeafSample::scattered(LEAVES);
        loop {
            let mut of_leaf = 0;
            let seen = self.table.sample_rows(&mut leaves, &mut |row, _| {
                of_leaf += 1;
                let datums = self.columns.iter().map(|column| (column, row.get(*column)));
                let values = datums.map(|(column, datum)| {
                    Some(self.def.columns[*column].ty.load(datum?, zone).into_owned())
                });
                match values
                    .collect::<Option<Vec<Value>>>()
                    .filter(|_| of_leaf <= of_each)
                {
                    Some(values) => rows.push(values),
                    None => is_whole = false,
                }
                Ok(())
            })?;
            if seen.is_none() {
                break;
            }
        }
        is_whole &= leaves.is_whole();
        Ok(Rows { rows, is_whole })
    }
}

//! WITH RECURSIVE.
//!
//! The rows of the seed, then those that the steps make of them, are one growing table. Each step reads it from where it stopped,
//! and what it adds meanwhile too, until it has read all; then the next one goes on. When all have read all, there is no more:
//!
//! ```text
//!   seed │ 1            │ step a: n + 2 while n < 4 │ step b: n * 10 while n < 4 │ step a     step b
//!   rows │ 1            │ 3, 5                      │ 10, 30                     │ (none)     (none)
//!   read │ a: 0, b: 0   │ a: 3, b: 0                │ a: 3, b: 5                 │ a: 5, b: 5
//! ```
//!
//! A round of a step reads the rows that were there when it began. `cte_max_recursion_depth` bounds the rounds of each.

use super::select::row_key;
use super::spill::{KeptRows, KeySet, copied};
use super::{Exec, QueryScope};
use crate::error::{Result, SqlError, er};
use crate::plan::{OutputColumn, Recursion};
use crate::types::assign::assign;
use crate::types::{SqlType, Val, Value};
use std::rc::Rc;

/// The table, as far as its steps have still to read it.
struct Growing<'g, 'a> {
    types: &'g [SqlType],
    /// The keys of all rows; `None`: equal rows stay.
    seen: Option<KeySet<'a>>,
    /// For each step the rows that it has not read.
    unread: Vec<KeptRows<'a>>,
    /// Whether more rows are wanted.
    more: bool,
}

impl Growing<'_, '_> {
    /// Adds a row that is new, and hands it to `f`; returns whether more are wanted.
    fn add(&mut self, row: &[Value], f: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<bool> {
        if let Some(seen) = &mut self.seen
            && !seen.insert(&row_key(row, self.types)?)?
        {
            return Ok(self.more);
        }
        for rows in &mut self.unread {
            rows.push(copied(row)?)?;
        }
        self.more = f(row)?;
        Ok(self.more)
    }

    fn is_done(&self) -> bool {
        !self.more || self.unread.iter().all(KeptRows::is_empty)
    }
}

impl<'a> Exec<'a, '_> {
    /// Hands the rows of a recursive table to `f`, until it wants no more. Error 3636 beyond `cte_max_recursion_depth`.
    pub(super) fn recursive(
        &self,
        recursion: &Recursion,
        columns: &[OutputColumn],
        scope: QueryScope,
        f: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<()> {
        // Values are as strict as those that are written to a table.
        let mut env = self.session.env(self, scope.env.params);
        env.unbound = scope.env.unbound;
        env.strict = scope.env.strict;
        env.writes = true;
        let scope = QueryScope {
            env: &env,
            outer: scope.outer,
        };
        let types: Vec<SqlType> = columns.iter().map(|column| column.ty.clone()).collect();
        let mut table = Growing {
            types: &types,
            seen: (!recursion.all).then(|| KeySet::new(self.room(), self.shares())),
            unread: recursion.steps.iter().map(|_| self.no_rows()).collect(),
            more: true,
        };
        self.each_row(&recursion.seed, scope, &mut |row| table.add(row, f))?;
        let depth_max = self.session.settings.cte_max_recursion_depth;
        let mut rounds = vec![0; recursion.steps.len()];
        let mut stored = Vec::with_capacity(columns.len());
        while !table.is_done() {
            for (at, step) in recursion.steps.iter().enumerate() {
                while table.more && !table.unread[at].is_empty() {
                    self.check()?;
                    rounds[at] += 1;
                    if rounds[at] > depth_max {
                        return Err(too_deep(rounds[at]));
                    }
                    let rows = std::mem::replace(&mut table.unread[at], self.no_rows());
                    self.results.borrow_mut().insert(recursion.working, Rc::new(rows));
                    self.each_row(step, scope, &mut |row| {
                        stored.clear();
                        for (value, column) in row.iter().zip(columns) {
                            let value = assign(value.borrowed(), &column.ty, &column.name, scope.env)?;
                            stored.push(Val::into_owned(value));
                        }
                        table.add(&stored, f)
                    })?;
                }
            }
        }
        Ok(())
    }
}

fn too_deep(rounds: u64) -> SqlError {
    SqlError::new(
        er::CTE_MAX_RECURSION_DEPTH,
        format!(
            "Recursive query aborted after {rounds} iterations. Try increasing @@cte_max_recursion_depth to a larger value."
        ),
    )
}

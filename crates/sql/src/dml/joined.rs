//! UPDATE and DELETE of the rows that a join finds.
//!
//! The join is run to its end first, locking the rows of the tables that change; of each row it meets, the primary key
//! and the new values are kept, the first time only. Then the changes are made, so no change can be met by the join.
//!
//! A table's assignments are evaluated left to right. Those to the table that the join reads first see what stands
//! before them, and so do the other tables': MySQL changes such a row as it is read. The assignments to other tables
//! see the rows as they were.

use super::assignments::{Assignments, Set, evaluate, put};
use super::rows::{Changed, Slots, Stored};
use super::target::Target;
use super::{Outcome, Run, is_ignorable, update};
use crate::error::{Result, SqlError, er};
use crate::exec::{Exec, Scene};
use crate::plan::QueryPlan;
use crate::types::{Val, Value};
use std::collections::HashSet;
use tidemark_engine::Action;

/// A table whose rows change.
pub struct JoinedTarget {
    pub target: Target,
    /// Where its columns begin in the joined row.
    pub base: usize,
    pub deed: Deed,
}

pub enum Deed {
    Delete,
    Update(JoinedUpdate),
}

/// What an UPDATE does to one of its tables.
pub struct JoinedUpdate {
    /// Their values are over the joined row.
    pub assignments: Assignments,
    /// The assignments see those before them.
    pub as_read: bool,
}

pub struct JoinedPlan {
    /// The join; its body is a SELECT without output.
    pub join: QueryPlan,
    pub targets: Vec<JoinedTarget>,
    pub ignore: bool,
    /// A table that changes is read without an index, which safe updates refuse.
    pub full_scan: bool,
}

/// What is to become of a table's rows.
#[derive(Default)]
struct Collected {
    met: HashSet<Vec<u8>>,
    changes: Vec<(Vec<u8>, Set)>,
}

#[derive(Default)]
struct Counts {
    matched: u64,
    changed: u64,
}

impl JoinedTarget {
    /// The slot that holds the row's primary key as the engine knows it; NULL in a row that an outer join added.
    pub fn key_slot(&self) -> usize {
        self.base + self.target.def.columns.len()
    }
}

impl JoinedPlan {
    fn updates(&self) -> bool {
        self.targets.iter().any(|t| matches!(t.deed, Deed::Update(_)))
    }

    pub fn run(&self, exec: &Exec, run: Run) -> Result<Outcome> {
        if self.full_scan && run.session.settings.sql_safe_updates {
            return Err(SqlError::new(
                er::UPDATE_WITHOUT_KEY_IN_SAFE_MODE,
                "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column.",
            ));
        }
        let collected = self.collect(exec, run)?;
        let mut counts = Counts::default();
        for (target, collected) in self.targets.iter().zip(collected) {
            for (key, set) in collected.changes {
                self.apply(target, &key, set, run, &mut counts)?;
            }
        }
        let Counts { matched, changed } = counts;
        Ok(match self.updates() {
            true => update::outcome(run, matched, changed),
            false => Outcome {
                affected_rows: changed,
                ..Outcome::default()
            },
        })
    }

    fn collect(&self, exec: &Exec, run: Run) -> Result<Vec<Collected>> {
        let mut collected: Vec<Collected> = self.targets.iter().map(|_| Collected::default()).collect();
        // The new values, by slot, of the row that the table read first is at.
        let mut new: Set = Vec::new();
        let mut new_of = Vec::new();
        let scene = Scene {
            env: run.env,
            outer: None,
        };
        exec.joined(&self.join, scene, &mut |row| {
            for (target, collected) in self.targets.iter().zip(&mut collected) {
                let Val::Str(key) = &row[target.key_slot()] else {
                    continue;
                };
                if collected.met.contains(key.as_ref()) {
                    continue;
                }
                let key = key.to_vec();
                let mut set = Vec::new();
                if let Deed::Update(update) = &target.deed {
                    run.env.row_number.set(collected.changes.len() as u64 + 1);
                    if update.as_read || new_of != key_of_first(&self.targets, row) {
                        new.clear();
                    }
                    for (column, expr) in update.assignments.list() {
                        let so_far = Changed {
                            base: &Slots(row),
                            set: &new,
                        };
                        let value = evaluate(*column, expr, &target.target, &so_far, &run.env.ctx())?;
                        if update.as_read {
                            put(&mut new, target.base + column, value.clone());
                        }
                        put(&mut set, *column, value);
                    }
                    if update.as_read {
                        new_of.clone_from(&key);
                    }
                }
                collected.met.insert(key.clone());
                collected.changes.push((key, set));
            }
            Ok(())
        })?;
        Ok(collected)
    }

    fn apply(
        &self,
        target: &JoinedTarget,
        key: &[u8],
        set: Set,
        run: Run,
        counts: &mut Counts,
    ) -> Result<()> {
        let savepoint = run.txn.borrow_mut().savepoint();
        match self.change(target, key, set, run) {
            Ok(Some(changed)) => {
                counts.matched += 1;
                counts.changed += u64::from(changed);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if self.ignore && is_ignorable(&error) => {
                run.txn.borrow_mut().rollback_to(&savepoint)?;
                run.env.warnings.warn(error);
                counts.matched += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Changes a row that is locked already; whether it was changed, `None` if it is gone.
    fn change(&self, target: &JoinedTarget, key: &[u8], mut set: Set, run: Run) -> Result<Option<bool>> {
        let JoinedTarget { target, deed, .. } = target;
        let ctx = run.env.ctx();
        let mut after = Vec::new();
        let mut changed = false;
        let txn = &mut **run.txn.borrow_mut();
        let found = target.table.modify(txn, key, &mut |view, buf| {
            let Deed::Update(update) = deed else {
                changed = true;
                return Ok(Action::Delete);
            };
            let row = Stored {
                def: &target.def,
                view,
                zone: run.env.time_zone,
            };
            changed = update.assignments.follow_up(target, &row, &ctx, &mut set)?;
            if !changed {
                return Ok(Action::Keep);
            }
            if update.assignments.touches_unique() {
                after = Changed {
                    base: &row,
                    set: &set,
                }
                .copy(target.def.columns.len());
            }
            target.write(&set, buf, run.env.time_zone);
            Ok(Action::Update)
        });
        let found = found.map_err(|error| target.explain(error, &Slots(&after)))?;
        Ok(found.then_some(changed))
    }
}

/// The key of the row that the table read first stands at, if its changes are seen as it is read.
fn key_of_first(targets: &[JoinedTarget], row: &[Value]) -> Vec<u8> {
    let first = targets
        .iter()
        .find(|target| matches!(&target.deed, Deed::Update(update) if update.as_read));
    match first.map(|target| &row[target.key_slot()]) {
        Some(Val::Str(key)) => key.to_vec(),
        _ => Vec::new(),
    }
}

//! UPDATE and DELETE of the rows that a join finds.
//!
//! The join is run to its end first, locking the rows of the tables that change; of each row it meets, the primary key
//! and the new values are kept, the first time only. Then the changes are made, so no change can be met by the join.
//!
//! A table's assignments are evaluated left to right. Those to the table that the join reads first see what stands
//! before them, and so do the other tables': MySQL changes such a row as it is read. The assignments to other tables
//! see the rows as they were.

use super::assignments::{Set, evaluate, put};
use super::counter::{counted_in, observe_update};
use super::row_writer::{RowWriter, UpdateBy};
use super::rows::{Changed, Slots, Stored};
use super::target::now;
use super::{ChangeContext, Changes, is_ignorable, update};
use crate::error::{Result, SqlError, er};
use crate::exec::spill::{KeptRows, Room, Shares};
use crate::exec::{Exec, QueryScope};
use crate::plan::change::joined::JoinedUpdate;
use crate::plan::change::{JoinedAction, JoinedPlan, JoinedTarget};
use crate::types::{Val, Value};
use std::collections::HashSet;
use tidemark_engine::Action;

/// What is to become of a table's rows.
struct Collected<'a> {
    met: HashSet<Box<[u8]>>,
    /// Of each row the primary key, and behind it, in turn, the columns that change and their new values.
    changes: KeptRows<'a>,
    /// Rows that IGNORE leaves as they are: a view would not show what they would become.
    left: u64,
}

/// A table whose rows are being changed.
struct Table<'a> {
    of: &'a JoinedTarget,
    writer: RowWriter<'a>,
    /// The assignments have been evaluated, so that a row may be changed under its latch.
    in_place: bool,
}

#[derive(Default)]
struct Counts {
    matched: u64,
    changed: u64,
}

/// Runs the statement; `exec` has its queries.
pub fn run<'a>(plan: &'a JoinedPlan, exec: &Exec, run: ChangeContext<'a>) -> Result<Changes> {
    run.session.told_insert_id.set(false);
    JoinedRun { plan, run }.run(exec)
}

/// One execution.
struct JoinedRun<'a> {
    plan: &'a JoinedPlan,
    run: ChangeContext<'a>,
}

impl<'a> JoinedRun<'a> {
    fn run(&self, exec: &Exec) -> Result<Changes> {
        let (plan, run) = (self.plan, self.run);
        if plan.full_scan && run.session.settings.sql_safe_updates {
            return Err(SqlError::new(
                er::UPDATE_WITHOUT_KEY_IN_SAFE_MODE,
                "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column.",
            ));
        }
        let collected = self.collect(exec)?;
        let mut counts = Counts::default();
        for (target, collected) in plan.targets.iter().zip(collected) {
            let writer = RowWriter::new(&target.target, run);
            let table = Table {
                of: target,
                writer,
                in_place: writer.latch_safe(false),
            };
            counts.matched += collected.left;
            collected.changes.for_each(&mut |row| {
                if let [Val::Str(key), changes @ ..] = row {
                    let column_and_value = |pair: &[Value]| match pair {
                        [Val::UInt(column), value] => Some((*column as usize, value.clone())),
                        _ => None,
                    };
                    let set = changes.chunks(2).filter_map(column_and_value).collect();
                    self.apply(&table, key, set, &mut counts)?;
                }
                Ok(true)
            })?;
        }
        let Counts { matched, changed } = counts;
        Ok(match plan.updates() {
            true => update::outcome(run, matched, changed),
            false => Changes {
                affected_rows: changed,
                ..Changes::default()
            },
        })
    }

    fn nothing(&self) -> Collected<'a> {
        let session = self.run.session;
        Collected {
            met: HashSet::new(),
            changes: KeptRows::new(Room::of(session), Shares::of(session).table),
            left: 0,
        }
    }

    fn collect(&self, exec: &Exec) -> Result<Vec<Collected<'a>>> {
        let (plan, run) = (self.plan, self.run);
        let mut collected: Vec<Collected> = plan.targets.iter().map(|_| self.nothing()).collect();
        // The new values, by slot, of the row that the table read first is at.
        let mut new: Set = Vec::new();
        let mut new_of = Vec::new();
        let scope = QueryScope {
            env: run.env,
            outer: None,
        };
        exec.joined(&plan.join, scope, &mut |row| {
            for (target, collected) in plan.targets.iter().zip(&mut collected) {
                let Val::Str(key) = &row[target.key_slot()] else {
                    continue;
                };
                if collected.met.contains(key.as_ref()) {
                    continue;
                }
                let key = key.to_vec();
                let mut set = Vec::new();
                if let JoinedAction::Update(update) = &target.action {
                    run.env.row_number.set(collected.changes.len() as u64 + 1);
                    if update.as_read || new_of != key_of_first(&plan.targets, row) {
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
                        self.follow(target, update, row, &set, &mut new)?;
                        new_of.clone_from(&key);
                    }
                    if let Err(error) = self.test(target, update, row, &set) {
                        if !plan.ignore || !is_ignorable(&error) {
                            return Err(error);
                        }
                        run.env.warnings.warn(error);
                        if update.as_read {
                            new.clear();
                        }
                        collected.met.insert(key.as_slice().into());
                        collected.left += 1;
                        continue;
                    }
                }
                collected.met.insert(key.as_slice().into());
                let mut kept = vec![Value::string(key)];
                for (column, value) in set {
                    kept.extend([Value::UInt(column as u64), value]);
                }
                collected.changes.push(kept)?;
            }
            Ok(())
        })?;
        Ok(collected)
    }

    /// Adds to the new values, by slot, those of the generated columns that follow from what is set: later assignments see them.
    fn follow(
        &self,
        target: &JoinedTarget,
        update: &JoinedUpdate,
        row: &[Value],
        set: &Set,
        new: &mut Set,
    ) -> Result<()> {
        let generated = &update.assignments.generated;
        if generated.is_empty() {
            return Ok(());
        }
        let mut own = set.clone();
        let before = Slots(&row[target.base..]);
        target
            .target
            .generate(generated, &before, &self.run.env.ctx(), &mut own)?;
        for (column, value) in own.split_off(set.len()) {
            put(new, target.base + column, value);
        }
        Ok(())
    }

    /// Error 1369 if a row changes and the view that the change goes through would not show it any more.
    fn test(&self, target: &JoinedTarget, update: &JoinedUpdate, row: &[Value], set: &Set) -> Result<()> {
        let Some(check) = &update.check else {
            return Ok(());
        };
        let ctx = self.run.env.ctx();
        let before = &row[target.base..];
        if set.iter().all(|(column, value)| before[*column] == *value) {
            return Ok(());
        }
        let mut after = set.clone();
        for &column in &update.assignments.on_update_now {
            put(
                &mut after,
                column,
                now(&ctx, target.target.def.columns[column].ty.scale),
            );
        }
        let generated = &update.assignments.generated;
        target
            .target
            .generate(generated, &Slots(before), &ctx, &mut after)?;
        after.iter_mut().for_each(|(column, _)| *column += target.base);
        let base = &Slots(row);
        check.test(&Changed { base, set: &after }, &ctx)
    }

    fn apply(&self, table: &Table, key: &[u8], mut set: Set, counts: &mut Counts) -> Result<()> {
        let run = self.run;
        let done = match table.in_place {
            true => self.change_in_place(table, key, &mut set),
            false => self.change(table, key, &mut set),
        };
        match done {
            Ok(Some(changed)) => {
                counts.matched += 1;
                counts.changed += u64::from(changed);
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) if self.plan.ignore && is_ignorable(&error) => {
                run.env.warnings.warn(error);
                counts.matched += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Changes a row that is locked already; whether it was changed, `None` if it is gone.
    fn change(&self, table: &Table, key: &[u8], set: &mut Set) -> Result<Option<bool>> {
        let writer = table.writer;
        let Some(old) = writer.lock(key)? else {
            return Ok(None);
        };
        let JoinedAction::Update(update) = &table.of.action else {
            return Ok(writer.delete(key, &old, None)?.then_some(true));
        };
        let changes = writer.before_update(&update.assignments, &Slots(&old), set)?;
        let found = match changes {
            true => writer.update(key, &old, set, UpdateBy::Update)?,
            false => writer.leave(key, &old, Action::Keep)?,
        };
        Ok(found.then_some(changes))
    }

    /// The same under the latch of its leaf.
    fn change_in_place(&self, table: &Table, key: &[u8], set: &mut Set) -> Result<Option<bool>> {
        let (writer, run) = (table.writer, self.run);
        let JoinedTarget { target, action, .. } = table.of;
        let (mut after, mut changed) = (Vec::new(), false);
        let found = writer.visit_whole(key, UpdateBy::Update, &mut |view, buf| {
            let JoinedAction::Update(update) = action else {
                changed = true;
                return Ok(Action::Delete);
            };
            let row = Stored {
                def: &target.def,
                view,
                zone: run.env.time_zone,
            };
            changed = writer.before_update(&update.assignments, &row, set)?;
            if !changed {
                return Ok(Action::Keep);
            }
            if update.assignments.touches_unique() {
                after = Changed { base: &row, set }.copy(target.def.columns.len());
            }
            writer.fill(set, buf);
            Ok(Action::Update)
        });
        let found = found.map_err(|error| target.explain(error, &Slots(&after)))?;
        if found && changed {
            observe_update((&target.def, &target.table), counted_in(&target.def, set))?;
        }
        Ok(found.then_some(changed))
    }
}

/// The key of the row that the table read first stands at, if its changes are seen as it is read.
fn key_of_first(targets: &[JoinedTarget], row: &[Value]) -> Vec<u8> {
    let first = targets
        .iter()
        .find(|target| matches!(&target.action, JoinedAction::Update(update) if update.as_read));
    match first.map(|target| &row[target.key_slot()]) {
        Some(Val::Str(key)) => key.to_vec(),
        _ => Vec::new(),
    }
}

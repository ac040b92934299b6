//! UPDATE of what `performance_schema` is set up with: the rows are collected, and then what they say is turned on or off.

use super::update::outcome;
use super::{ChangeContext, Changes};
use crate::error::Result;
use crate::exec::{Collect, Exec, QueryScope};
use crate::information_schema::Change;
use crate::plan::change::SetupPlan;
use crate::types::Value;

/// Runs the statement. After an error nothing is changed.
pub fn run(plan: &SetupPlan, exec: &Exec, run: ChangeContext) -> Result<Changes> {
    let columns = plan.table.columns.len();
    let (mut changes, mut matched) = (Vec::new(), 0);
    let mut collect = Collect::new(|row: &[Value]| {
        matched += 1;
        let (before, values) = row.split_at(columns);
        let mut after = before.to_vec();
        for (at, value) in plan.assigned.iter().zip(values) {
            after[*at] = value.clone();
        }
        let change = Change::of(&plan.table, &after, matched)?;
        let now = Change::of(&plan.table, before, matched)?;
        if (change.enabled, change.timed) != (now.enabled, now.timed) {
            changes.push(change);
        }
        Ok(true)
    });
    let scope = QueryScope {
        env: run.env,
        outer: None,
    };
    exec.query(&plan.query, scope, &mut collect)?;
    for change in &changes {
        change.apply(&plan.table, run.session);
    }
    Ok(outcome(run, matched, changes.len() as u64))
}

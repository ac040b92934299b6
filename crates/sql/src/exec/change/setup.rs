//! UPDATE, INSERT and DELETE of what `performance_schema` is set up with: the rows are gathered, and then what they say is done.
//!
//! As in MySQL each row is by itself: after an error those before it are as the statement wants them.

use super::update::outcome;
use super::{ChangeContext, Changes};
use crate::error::{Result, SqlError};
use crate::exec::{Collect, Exec, QueryScope};
use crate::information_schema::{Change, apply};
use crate::plan::change::{InsertedSetup, SetupChange, SetupPlan};
use crate::types::Value;

/// So many changes are gathered before they are carried out.
const GATHERED_MAX: usize = 1000;

struct Run<'a> {
    plan: &'a SetupPlan,
    run: ChangeContext<'a>,
    rows: u64,
    done: u64,
    gathered: Vec<Change>,
}

/// Runs the statement.
pub fn run<'a>(plan: &'a SetupPlan, exec: &Exec, run: ChangeContext<'a>) -> Result<Changes> {
    let mut setup = Run {
        plan,
        run,
        rows: 0,
        done: 0,
        gathered: Vec::new(),
    };
    let scope = QueryScope {
        env: run.env,
        outer: None,
    };
    let mut collect = Collect::new(|row: &[Value]| setup.gather(row));
    let read = exec.query(&plan.query, scope, &mut collect);
    setup.carry_out()?;
    read?;
    Ok(setup.outcome())
}

impl Run<'_> {
    fn ignores(&self) -> bool {
        matches!(&self.plan.change, SetupChange::Insert(insert) if insert.ignore)
    }

    fn gather(&mut self, row: &[Value]) -> Result<bool> {
        self.rows += 1;
        match self.change(row) {
            Ok(change) => self.gathered.extend(change),
            Err(error) if self.ignores() => self.run.env.warnings.warn(error),
            Err(error) => return Err(error),
        }
        if self.gathered.len() == GATHERED_MAX {
            self.carry_out()?;
        }
        Ok(true)
    }

    fn change(&self, row: &[Value]) -> Result<Option<Change>> {
        let SetupPlan { table, of, .. } = self.plan;
        match &self.plan.change {
            SetupChange::Delete => Ok(Some(Change::delete(*of, row))),
            SetupChange::Update(assigned) => {
                let (before, values) = row.split_at(table.columns.len());
                let mut after = before.to_vec();
                for (at, value) in assigned.iter().zip(values) {
                    after[*at] = value.clone();
                }
                Change::update(table, before, (assigned, &after), self.rows)
            }
            SetupChange::Insert(InsertedSetup { columns, .. }) => {
                let defaults = (0..table.columns.len()).map(|column| Value::string(of.default_of(column)));
                let mut new: Vec<Value> = defaults.collect();
                for (at, value) in columns.iter().zip(row) {
                    new[*at] = value.clone();
                }
                Change::insert(table, *of, &new, self.rows).map(Some)
            }
        }
    }

    fn carry_out(&mut self) -> Result<()> {
        let changes = std::mem::take(&mut self.gathered);
        let (ignores, warnings) = (self.ignores(), self.run.env.warnings);
        let failed = |error: SqlError| match ignores {
            true => {
                warnings.warn(error);
                Ok(())
            }
            false => Err(error),
        };
        self.done += apply(self.plan.of, changes, self.run.session, failed)?;
        Ok(())
    }

    fn outcome(&self) -> Changes {
        let (rows, done) = (self.rows, self.done);
        match &self.plan.change {
            SetupChange::Update(_) => outcome(self.run, rows, done),
            SetupChange::Delete => Changes {
                affected_rows: done,
                ..Changes::default()
            },
            SetupChange::Insert(insert) => Changes {
                affected_rows: done,
                info: match insert.is_single {
                    true => String::new(),
                    false => format!(
                        "Records: {rows}  Duplicates: {}  Warnings: {}",
                        rows - done,
                        self.run.env.warnings.count()
                    ),
                },
                ..Changes::default()
            },
        }
    }
}

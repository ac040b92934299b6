//! Carries an alteration out, once it is known what it comes to.
//!
//! What takes long is done beside other sessions, as far as the way and LOCK allow: they are let in while indexes are built,
//! rows copied or tested, and kept off again before anything is committed. Until then the statement remains the only one that may
//! change the definition, and what it has made is not to be seen: if it fails or is killed, or cannot be alone again in time, that is
//! thrown away.

use super::super::create::now_s;
use super::super::foreign_key::{self, Moves};
use super::super::{DdlContext, check, index};
use super::columns::initial_value;
use super::demands::Demands;
use super::draft::Draft;
use super::way::Way;
use crate::context::answer::{Answer, Done};
use crate::dictionary::{DefinitionChange, IndexDef, TableDef};
use crate::error::Result;
use crate::expr::NoSubqueries;
use crate::mdl::Block;
use crate::statements::stages::Stage;
use crate::types::Value;
use std::time::{Duration, Instant};
use tidemark_engine::{BuildProgress, BuildStage, Error, IndexSchema, NewColumn, OnlineBuild, failpoint};

/// Indexes that an online build can have beside those of the table; MySQL allows no more in all.
const INDEXES_MAX: usize = 64;
/// How often a build looks whether its client is still there.
const LOOK_EVERY: Duration = Duration::from_millis(200);

impl DdlContext<'_> {
    /// Makes the draft the table's definition. Errors 1845 and 1846 if that cannot be done the way that the statement demands.
    pub(super) fn carry_out(&self, old: &TableDef, mut draft: Draft) -> Result<Answer> {
        let row_versions = self.state.database.engine().table(old.id)?.row_versions();
        let tests_rows = self.state.settings.foreign_key_checks;
        let way = Way::of(old, &draft, tests_rows, row_versions);
        draft.demands.check(&way, old)?;
        self.refuse_zero_dates(old, &draft)?;
        let mut table = TableDef {
            columns: draft.columns.clone(),
            options: draft.options.clone(),
            foreign_keys: draft.foreign_keys.clone(),
            ..old.clone()
        };
        table.keep_histograms_of(old);
        let only_renames = !way.copies && draft.rename.is_some() && draft.same_but_for_the_name(old);
        let mut change;
        let done = if way.copies {
            change = self.change_of(old)?;
            index::arrange(&mut draft.indexes, &draft.columns);
            index::number(&mut draft.indexes);
            change.ddl.let_others();
            let copied = self.beside_others(old, &draft.demands, &way, || {
                self.copy_table(&mut change, old, &draft)
            });
            let (id, copied) = copied?;
            change.ddl.take_turn()?;
            change.ddl.drop_table(old.id)?;
            table.id = id;
            table.options.created = now_s();
            let counts = old.temporary || way.copies_in_mysql;
            self.copied(if counts { copied } else { 0 })
        } else {
            let build = self.build_indexes(old, &draft, &way)?;
            change = self.change_of(old)?;
            self.alter_indexes(&mut change, old, &mut draft, build)?;
            if way.changes_columns {
                self.change_columns(&mut change, old, &draft)?;
            }
            if let Some(next) = draft.auto_increment {
                let counter = change.ddl.table(old.id)?;
                counter.auto_increment_set(next.max(self.counter_above_rows(old)?))?;
            }
            self.copied(0)
        };
        table.indexes = draft.indexes;
        let done = match only_renames {
            true => Done::default(),
            false if way.tests_rows => {
                change.ddl.let_others();
                let rows = self.beside_others(old, &draft.demands, &way, || {
                    self.test_foreign_keys(&change, &table, &draft.new_foreign_keys)
                });
                let rows = rows?;
                change.ddl.take_turn()?;
                self.copied(rows)
            }
            false => done,
        };
        if let Some((schema, name)) = draft.rename
            && (schema != old.schema || name != old.name)
        {
            change.drop_table(&old.schema, &old.name)?;
            rename(&mut table, schema, name)?;
        }
        if !old.temporary {
            self.tell_children(&mut change, old, &table, &draft.origins)?;
        }
        change.put_table(table)?;
        failpoint::reach("definitions");
        change.commit()?;
        Ok(Answer::Ok(done))
    }

    /// What ALTER TABLE answers that has copied so many rows.
    fn copied(&self, rows: u64) -> Done {
        Done {
            affected_rows: rows,
            info: format!(
                "Records: {rows}  Duplicates: 0  Warnings: {}",
                self.state.warnings.count()
            ),
            ..Done::default()
        }
    }

    /// Does something that takes long while other sessions use the table, as far as the way and LOCK allow.
    fn beside_others<T>(
        &self,
        old: &TableDef,
        demands: &Demands,
        way: &Way,
        f: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let locks = &self.state.locks;
        let admitted = demands.admitted(way).filter(|_| !old.temporary);
        let Some(admitted) = admitted else {
            return f();
        };
        locks.admit(&old.lock, admitted);
        let done = f()?;
        self.state
            .with_wait_policy(|policy| locks.own(&old.lock, Block::Definition, policy))?;
        Ok(done)
    }

    /// Builds the indexes that come, beside the table's users. `None`: there are none, or so many that they are to be built while
    /// nobody uses the table.
    fn build_indexes(&self, old: &TableDef, draft: &Draft, way: &Way) -> Result<Option<OnlineBuild>> {
        let new: Vec<IndexSchema> = new_indexes(draft).map(index::index_schema).collect();
        if new.is_empty() || old.indexes.len() + new.len() > INDEXES_MAX {
            return Ok(None);
        }
        let database = &self.state.database;
        let mut build = database
            .dictionary()
            .build_indexes(database.engine(), old.id, &new)?;
        self.beside_others(old, &draft.demands, way, || {
            self.run_build(&mut build)?;
            failpoint::reach("build");
            Ok(())
        })?;
        Ok(Some(build))
    }

    /// Fills the indexes. The process list says how far that is; KILL ends it.
    fn run_build(&self, build: &mut OnlineBuild) -> Result<()> {
        let (state, process) = (self.state, &self.state.process);
        let (mut shown, mut looked) = (None, Instant::now());
        let mut progress = |at: BuildProgress| {
            let now = (at.stage, at.percent());
            if shown.replace(now) != Some(now) {
                let stage = match at.stage {
                    BuildStage::Reading => Stage::AlterRead,
                    BuildStage::Inserting => Stage::AlterInsert,
                    BuildStage::Checking => Stage::AlterCheck,
                };
                state.progress(stage, at.done, at.of);
            }
            if looked.elapsed() >= LOOK_EVERY {
                process.end_if_abandoned();
                looked = Instant::now();
            }
            match process.is_interrupted() {
                true => Err(Error::Interrupted),
                false => Ok(()),
            }
        };
        let built = match build.owner() {
            Some(owner) => process.beside(owner, || build.run(&mut progress)),
            None => build.run(&mut progress),
        };
        state.end_progress();
        Ok(built?)
    }

    /// Lets columns come, go and change places beside the rows.
    fn change_columns(&self, change: &mut DefinitionChange<'_>, old: &TableDef, draft: &Draft) -> Result<()> {
        let settings = &self.state.settings;
        let now = settings.time_zone.local(self.state.now_micros.get(), 6);
        let mut env = self.state.env(&NoSubqueries, &[]);
        env.writes = true;
        let values = draft
            .columns
            .iter()
            .map(|column| initial_value(column, &now, &env));
        let values: Vec<Value> = values.collect();
        let mut scratches = vec![[0; 32]; values.len()];
        let columns = draft.columns.iter().zip(&draft.origins);
        let columns: Vec<NewColumn> = columns
            .zip(values.iter().zip(&mut scratches))
            .map(|((column, origin), (value, scratch))| match origin {
                Some(origin) => NewColumn::Kept(*origin),
                None => NewColumn::Added {
                    column: index::engine_column(column),
                    value: column.ty.store(value, &settings.time_zone, scratch),
                },
            })
            .collect();
        Ok(change.ddl.change_columns(old.id, &columns)?)
    }

    /// Drops the secondary indexes that go, adds those that come, which `build` has built or nobody has, and gives each its new number.
    fn alter_indexes(
        &self,
        change: &mut DefinitionChange<'_>,
        old: &TableDef,
        draft: &mut Draft,
        build: Option<OnlineBuild>,
    ) -> Result<()> {
        let kept = |number: usize| draft.index_origins.contains(&Some(number));
        let mut numbers: Vec<usize> = old
            .indexes
            .iter()
            .map(|index| index.number)
            .filter(|number| *number > 0)
            .collect();
        numbers.sort_unstable();
        // The engine numbers secondary indexes by position: dropping from the end leaves the others as they are.
        for number in numbers.iter().rev() {
            if !kept(*number) {
                change.ddl.drop_index(old.id, *number)?;
            }
        }
        let positions: Vec<usize> = numbers.into_iter().filter(|number| kept(*number)).collect();
        let mut next = positions.len();
        for (index, origin) in draft.indexes.iter_mut().zip(&draft.index_origins) {
            index.number = match origin {
                Some(0) => 0,
                Some(number) => positions.iter().position(|kept| kept == number).unwrap_or(0) + 1,
                None => {
                    next += 1;
                    next
                }
            };
        }
        change.ddl.let_others();
        let added = match build {
            Some(build) => change.ddl.finish_build(build),
            None => new_indexes(draft).map(index::index_schema).try_for_each(|index| {
                failpoint::reach("build");
                change.ddl.add_index(old.id, &index)
            }),
        };
        let added = added.and_then(|()| change.ddl.take_turn());
        added.map_err(|error| match &error {
            Error::DuplicateKey { index: number, .. } => {
                match draft.indexes.iter().find(|index| index.number == *number) {
                    Some(index) => self.duplicate_in(old, index, error),
                    None => error.into(),
                }
            }
            _ => error.into(),
        })?;
        index::arrange(&mut draft.indexes, &draft.columns);
        Ok(())
    }
}

/// The indexes that are to be built.
fn new_indexes(draft: &Draft) -> impl Iterator<Item = &IndexDef> {
    let indexes = draft.indexes.iter().zip(&draft.index_origins);
    indexes
        .filter(|(_, origin)| origin.is_none())
        .map(|(index, _)| index)
}

/// Gives a definition another name, and its constraints those that follow from it.
fn rename(table: &mut TableDef, schema: String, name: String) -> Result<()> {
    let moves = Moves::from([(
        (table.schema.as_str(), table.name.as_str()),
        (schema.as_str(), name.as_str()),
    )]);
    let keys = foreign_key::renamed(&table.foreign_keys, &table.name, &name, &moves)?;
    table.foreign_keys = keys;
    table.options.checks = check::renamed(&table.options.checks, &table.name, &name);
    table.schema = schema;
    table.name = name;
    Ok(())
}

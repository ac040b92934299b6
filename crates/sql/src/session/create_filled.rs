//! CREATE TABLE … SELECT: the query is planned for its columns, the table made, its rows put in, and then it gets its name.
//!
//! The rows go in by the session's transaction, which holds nothing else: the statement has committed what was open, and
//! commits by itself. So KILL, lock waits and deadlocks are those of any change of rows. A temporary table commits nothing: its
//! rows are a statement of the transaction that is open.

use super::Session;
use super::locked::using_definitions;
use crate::context::{Answer, Discard, Done, SessionState};
use crate::ddl::create_filled::{NewTable, Unnamed};
use crate::ddl::temporary;
use crate::error::{Result, SqlError, er};
use crate::exec::{self, Outcome, Receiver};
use crate::parse::ast::{CreateTable, Query};
use crate::plan::StatementPlan;
use crate::plan::change::filling::{Selected, filling, selected};
use crate::types::Value;
use tidemark_engine::Transaction;

/// How often the query is planned anew because a definition changed under it.
const REPLANS_MAX: usize = 20;

impl Session {
    pub(super) fn create_filled(
        &mut self,
        create: &CreateTable,
        query: &Query,
        params: &[Value],
    ) -> Result<Answer> {
        let (state, txn) = (&self.state, &mut self.txn);
        let has_instance = self.transaction.instance.is_some();
        let created = using_definitions(state, has_instance, || run(state, txn, create, query, params));
        if self.txn.is_active() {
            // It could not be rolled back.
            self.abandon_transaction();
        }
        created
    }

    /// CREATE TEMPORARY TABLE … SELECT.
    pub(super) fn create_temporary_filled(
        &mut self,
        create: &CreateTable,
        query: &Query,
        params: &[Value],
    ) -> Result<Answer> {
        let Some(schema) = temporary::may_create(&self.state, create)? else {
            return Ok(Answer::ok());
        };
        let selected = with_tables(&self.state, create, query, params);
        let made = selected.and_then(|selected| {
            let mut uses = selected.uses.iter().filter(|used| !used.table.temporary);
            uses.try_for_each(|used| self.check_locked_tables(used))?;
            temporary::make_unnamed(&self.state, create, &schema, selected.columns)
        });
        let table = match made {
            Ok(table) => table,
            Err(error) => {
                self.after_failed_lock(&error);
                return Err(error);
            }
        };
        let filled = self.fill_temporary(create, query, params, &table);
        let published = filled.and_then(|done| temporary::publish(&self.state, &table).map(|()| done));
        if let Err(error) = &published {
            self.after_failed_lock(error);
            temporary::discard(&self.state, &table);
        }
        published.map(Answer::Ok)
    }

    fn fill_temporary(
        &mut self,
        create: &CreateTable,
        query: &Query,
        params: &[Value],
        table: &Unnamed,
    ) -> Result<Done> {
        let plan = filling(&self.state, create, query, table, params)?;
        let start = self.begin_statement(&plan)?;
        let result = run_unseen(&plan, &self.state, &mut self.txn, params);
        self.end_statement(start, result).map(done)
    }
}

fn run(
    state: &SessionState,
    txn: &mut Transaction,
    create: &CreateTable,
    query: &Query,
    params: &[Value],
) -> Result<Answer> {
    let new = NewTable::allowed(state, create)?;
    if new.is_taken(|| tables_are_there(state, create, query, params))? {
        return Ok(Answer::ok());
    }
    new.own()?;
    let selected = with_tables(state, create, query, params)?;
    if new.is_taken(|| Ok(()))? {
        return Ok(Answer::ok());
    }
    let table = new.make(selected.columns)?;
    let filled = filling(state, create, query, &table.unnamed, params)
        .and_then(|plan| fill(state, txn, &plan, params));
    let published = filled.and_then(|done| table.publish().map(|()| done));
    if published.is_err() && !txn.is_active() {
        table.discard();
    }
    published.map(Answer::Ok)
}

/// Of the query's errors, those about the tables that it names: MySQL opens them before it looks at the new table.
fn tables_are_there(
    state: &SessionState,
    create: &CreateTable,
    query: &Query,
    params: &[Value],
) -> Result<()> {
    const OPENING: [u16; 4] = [
        er::NO_SUCH_TABLE,
        er::BAD_DB,
        er::TABLEACCESS_DENIED,
        er::DBACCESS_DENIED,
    ];
    match selected(state, &create.name.name, query, params) {
        Err(error) if OPENING.contains(&error.code) => Err(error),
        _ => Ok(()),
    }
}

/// Plans the query and takes its tables' metadata locks; again if a definition changed between the two.
fn with_tables(
    state: &SessionState,
    create: &CreateTable,
    query: &Query,
    params: &[Value],
) -> Result<Selected> {
    let dictionary = state.database.dictionary();
    for _ in 0..REPLANS_MAX {
        let epoch = dictionary.epoch();
        let selected = selected(state, &create.name.name, query, params)?;
        for used in selected
            .uses
            .iter()
            .filter(|used| !used.table.is_virtual() && !used.table.temporary)
        {
            state.with_wait_policy(|policy| state.locks.use_table(&used.table.lock, used.mode, policy))?;
        }
        if dictionary.epoch() == epoch {
            return Ok(selected);
        }
    }
    Err(SqlError::new(
        er::TABLE_DEF_CHANGED,
        "Table definition has changed, please retry transaction",
    ))
}

/// Runs the plan in a transaction of its own; after an error nothing of it is left.
fn fill(state: &SessionState, txn: &mut Transaction, plan: &StatementPlan, params: &[Value]) -> Result<Done> {
    let settings = &state.settings;
    txn.set_lock_wait_timeout(settings.row_lock_wait_timeout);
    txn.set_snapshot_isolation(settings.snapshot_isolation);
    txn.begin(settings.isolation, false);
    txn.statement_begin();
    let done = run_unseen(plan, state, txn, params).and_then(|done| {
        txn.commit()?;
        Ok(done)
    });
    if done.is_err() && txn.is_active() {
        txn.rollback()?;
    }
    done.map(self::done)
}

/// Runs the plan, which is no query to FOUND_ROWS().
fn run_unseen(
    plan: &StatementPlan,
    state: &SessionState,
    txn: &mut Transaction,
    params: &[Value],
) -> Result<Outcome> {
    let found_rows = state.found_rows.get();
    let outcome = exec::run(
        plan,
        (state, txn),
        params,
        &mut Receiver::Sink(&mut Discard),
        None,
    );
    state.found_rows.set(found_rows);
    outcome
}

fn done(outcome: Outcome) -> Done {
    match outcome {
        Outcome::Rows(_) => Done::default(),
        Outcome::Done {
            affected_rows,
            last_insert_id,
            info,
        } => Done {
            affected_rows,
            last_insert_id,
            info,
        },
    }
}

//! Runs a planned statement.

use super::change::{self, ChangeContext, Changes};
use super::handler;
use super::outfile::FileOutput;
use super::past::one_moment;
use super::{Collect, Exec, Output, Purpose, QueryScope, SinkOutput};
use crate::accounts::Privileges;
use crate::context::{ResultSink, SessionState};
use crate::error::{Result, SqlError, er};
use crate::expr::{Env, SessionInfo};
#[cfg(debug_assertions)]
use crate::plan::change::hooks::counted::Begun;
use crate::plan::explain::measured::Measured;
use crate::plan::explain::{self, Explanation, explain};
use crate::plan::file_form::FileForm;
use crate::plan::program::ValueUse;
use crate::plan::statement::{Body, HIDDEN_VARIABLE, StatementPlan};
use crate::plan::trace::{Finished, Tracer};
use crate::plan::{Destination, QueryPlan};
use crate::types::{SqlType, Value};
use std::cell::RefCell;
use tidemark_engine::{Isolation, Moment, Transaction};

/// What running a plan came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Columns and so many rows went to the sink. The session commits and then ends the result.
    Rows(u64),
    /// A data change. The session commits and then sends OK.
    Done {
        affected_rows: u64,
        /// The first generated AUTO_INCREMENT value, or the last given one; 0 for none.
        last_insert_id: u64,
        info: String,
    },
}

/// What takes the result of a plan.
pub enum Receiver<'o> {
    /// The client, or what stands for it.
    Sink(&'o mut dyn ResultSink),
    /// The program that the query is a unit of: the types of the columns and a row, until it wants no more.
    Rows(&'o mut dyn FnMut(&[SqlType], &[Value]) -> Result<bool>),
    /// The program that the expression is a unit of, which was planned as DO.
    Value { used: ValueUse, value: &'o mut Value },
}

impl Receiver<'_> {
    /// Returns the sink. Error 1235 where a program takes rows or a value, and the statement has none.
    fn sink(&mut self) -> Result<&mut dyn ResultSink> {
        match self {
            Receiver::Sink(out) => Ok(&mut **out),
            Receiver::Rows(_) | Receiver::Value { .. } => {
                Err(SqlError::not_supported("this statement in place of a query"))
            }
        }
    }
}

/// Runs a plan. It neither commits nor rolls back: after an error the session undoes the statement. It sends columns and
/// rows, but neither the end of the result nor an OK. `around`: what the rows are for that the statement outside reads, for one inside it.
pub fn run(
    plan: &StatementPlan,
    (state, txn): (&SessionState, &mut Transaction),
    params: &[Value],
    out: &mut Receiver,
    around: Option<Purpose>,
) -> Result<Outcome> {
    #[cfg(debug_assertions)]
    if let Some(counted) = Begun::new(txn) {
        let done = run_plan(plan, (state, txn), params, out, around);
        return counted.check(txn).and(done);
    }
    run_plan(plan, (state, txn), params, out, around)
}

fn run_plan(
    plan: &StatementPlan,
    (state, txn): (&SessionState, &mut Transaction),
    params: &[Value],
    out: &mut Receiver,
    around: Option<Purpose>,
) -> Result<Outcome> {
    if plan.calls_programs() {
        return using(plan, state, || run_noted(plan, (state, txn), params, out, around));
    }
    run_noted(plan, (state, txn), params, out, around)
}

/// Runs something while the tables of a plan are noted as in use: no program that it calls changes them.
fn using<T>(plan: &StatementPlan, state: &SessionState, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let before = state.busy.borrow().len();
    let tables = plan.uses().iter().map(|used| used.table.id);
    state.busy.borrow_mut().extend(tables);
    let done = run();
    state.busy.borrow_mut().truncate(before);
    done
}

fn run_noted(
    plan: &StatementPlan,
    (state, txn): (&SessionState, &mut Transaction),
    params: &[Value],
    out: &mut Receiver,
    around: Option<Purpose>,
) -> Result<Outcome> {
    let settings = &state.settings.trace;
    let begun = match settings.enabled {
        true => state.traces.borrow_mut().resume(settings),
        false => None,
    };
    let around = around.unwrap_or_else(|| purpose(plan));
    let Some((has_steps, room)) = begun else {
        return run_traced(plan, (state, txn), params, out, around, None);
    };
    let trace = Tracer::resumed(*settings, room, has_steps);
    let done = run_traced(plan, (state, txn), params, out, around, Some(&trace));
    let Finished { text, missing, .. } = trace.finish();
    state.traces.borrow_mut().go_on(&text, missing);
    done
}

/// The same, told to the statement's optimizer trace, if it has one.
fn run_traced(
    plan: &StatementPlan,
    (state, txn): (&SessionState, &mut Transaction),
    params: &[Value],
    out: &mut Receiver,
    purpose: Purpose,
    trace: Option<&Tracer>,
) -> Result<Outcome> {
    tidemark_engine::failpoint::reach("execute");
    if let Body::Query(query) = &plan.body
        && let Some(at) = one_moment(&plan.moments, state, params)?
    {
        return run_in_past(plan, query, at, state, params, (out, trace));
    }
    let txn = RefCell::new(txn);
    let measured = matches!(plan.body, Body::Analyze { .. }).then(Measured::new);
    let mut exec = Exec::new(state, &txn, &plan.queries, purpose);
    exec.routines = &plan.routines;
    exec.measured = measured.as_ref();
    exec.trace = trace;
    let mut env = state.env(&exec, params);
    env.writes = plan.writes()
        || matches!(
            out,
            Receiver::Value {
                used: ValueUse::Assigned,
                ..
            }
        );
    env.strict &= !plan.ignores();
    for date in &plan.dates {
        date.check(&env.ctx())?;
    }
    let run = ChangeContext {
        session: state,
        txn: &txn,
        env: &env,
        trace,
    };
    match &plan.body {
        Body::Query(query) => select(plan, query, &exec, &env, out),
        Body::Insert(plan) => Ok(changed(state, change::insert::run(plan, run, out.sink()?)?)),
        Body::Update(plan) => Ok(changed(state, change::update::run(plan, run)?)),
        Body::Delete(plan) => Ok(changed(state, change::delete::run(plan, run)?)),
        Body::Joined(plan) => {
            state.found_rows.set(0);
            Ok(changed(state, change::joined::run(plan, &exec, run)?))
        }
        Body::Setup(plan) => Ok(changed(state, change::setup::run(plan, &exec, run)?)),
        Body::Handler(read) => {
            let out = out.sink()?;
            out.columns(plan.columns().unwrap_or(&[]))?;
            Ok(Outcome::Rows(handler::run(read, &exec, &env, out)?))
        }
        Body::Do(list) => {
            if let (Receiver::Value { value, .. }, [expr]) = (out, list.as_slice()) {
                **value = expr.eval(&env.ctx())?.into_owned();
                return Ok(Outcome::Rows(0));
            }
            for expr in list {
                expr.eval(&env.ctx())?;
            }
            // DO is a query of one row.
            state.found_rows.set(1);
            Ok(Outcome::Done {
                affected_rows: 0,
                last_insert_id: 0,
                info: String::new(),
            })
        }
        Body::Explain(rows) => explained(plan, rows, state, out.sink()?),
        Body::Analyze { body, form, into } => {
            let scope = QueryScope {
                env: &env,
                outer: None,
            };
            if let Body::Query(query) = &**body {
                exec.query(query, scope, &mut Collect::new(|_: &[Value]| Ok(true)))?;
            }
            let rows = explain(body, &plan.queries, *form, measured.as_ref()).into_variable(into.clone());
            explained(plan, &rows, state, out.sink()?)
        }
    }
}

fn explained(
    plan: &StatementPlan,
    explanation: &Explanation,
    state: &SessionState,
    out: &mut dyn ResultSink,
) -> Result<Outcome> {
    if let Some(variable) = &explanation.into {
        let document = explanation.rows().first().and_then(|row| row.first());
        state.set_user_variable(variable, document.cloned().unwrap_or(Value::Null))?;
        return Ok(Outcome::Done {
            affected_rows: 0,
            last_insert_id: 0,
            info: String::new(),
        });
    }
    out.columns(plan.columns().unwrap_or(&[]))?;
    let mut output = SinkOutput::new(out, explain::types(explanation.form()), state);
    for row in explanation.rows() {
        output.values(row)?;
    }
    Ok(Outcome::Rows(output.rows))
}

/// What the rows that it reads are for.
fn purpose(plan: &StatementPlan) -> Purpose {
    match &plan.body {
        // The value of SET.
        Body::Query(query) if is_value_of_set(query) => Purpose::Write,
        Body::Query(_) | Body::Setup(_) | Body::Handler(_) | Body::Explain(_) | Body::Analyze { .. } => {
            Purpose::Result
        }
        Body::Update(_) => Purpose::Copy,
        Body::Insert(_) | Body::Delete(_) | Body::Joined(_) | Body::Do(_) => Purpose::Write,
    }
}

fn is_value_of_set(query: &QueryPlan) -> bool {
    match &query.into {
        Destination::Variables(names) => names.iter().any(|name| name == HIDDEN_VARIABLE),
        Destination::Client | Destination::File(_) => false,
    }
}

/// Runs a query in a view of the past, beside the session's own transaction.
fn run_in_past(
    plan: &StatementPlan,
    query: &QueryPlan,
    at: Moment,
    state: &SessionState,
    params: &[Value],
    (out, trace): (&mut Receiver, Option<&Tracer>),
) -> Result<Outcome> {
    let mut past = state.database.engine().transaction();
    past.begin(Isolation::RepeatableRead, true);
    let done = state.process.beside(past.owner(), || {
        past.see_past(at)?;
        let txn = RefCell::new(&mut past);
        let mut exec = Exec::new(state, &txn, &plan.queries, Purpose::Result);
        exec.routines = &plan.routines;
        exec.trace = trace;
        let env = state.env(&exec, params);
        select(plan, query, &exec, &env, out)
    });
    past.rollback()?;
    done
}

fn select(
    plan: &StatementPlan,
    query: &QueryPlan,
    exec: &Exec,
    env: &Env,
    out: &mut Receiver,
) -> Result<Outcome> {
    let scope = QueryScope { env, outer: None };
    let session = exec.session;
    match &query.into {
        Destination::Client => {}
        Destination::Variables(names) => return into_variables(query, names, exec, scope),
        Destination::File(form) => return into_file(query, form, exec, scope),
    }
    let types: Vec<SqlType> = query.columns.iter().map(|c| c.ty.clone()).collect();
    let out = match out {
        Receiver::Sink(out) => &mut **out,
        Receiver::Rows(each) => {
            let mut handed = 0;
            let mut collect = Collect::new(|row: &[Value]| {
                handed += 1;
                each(&types, row)
            });
            let found = exec.query(query, scope, &mut collect)?;
            session.found_rows.set(found);
            return Ok(Outcome::Rows(handed));
        }
        Receiver::Value { .. } => return Err(SqlError::not_supported("a query as an expression")),
    };
    out.columns(plan.columns().unwrap_or(&[]))?;
    let mut output = SinkOutput::new(out, types, session);
    let found = exec.query(query, scope, &mut output)?;
    let sent = output.rows;
    session.found_rows.set(found);
    Ok(Outcome::Rows(sent))
}

fn into_file(query: &QueryPlan, form: &FileForm, exec: &Exec, scope: QueryScope) -> Result<Outcome> {
    let session = exec.session;
    session.require_global(Privileges::FILE, "FILE")?;
    let mut output = FileOutput::create(session, form)?;
    form.warn(session);
    let found = exec.query(query, scope, &mut output)?;
    let affected_rows = output.finish()?;
    session.found_rows.set(found);
    Ok(Outcome::Done {
        affected_rows,
        last_insert_id: 0,
        info: String::new(),
    })
}

fn into_variables(query: &QueryPlan, names: &[String], exec: &Exec, scope: QueryScope) -> Result<Outcome> {
    let mut row: Option<Vec<Value>> = None;
    let mut collect = Collect::new(|values: &[Value]| {
        if row.is_some() {
            return Err(SqlError::too_many_rows());
        }
        row = Some(values.to_vec());
        Ok(true)
    });
    let found = exec.query(query, scope, &mut collect)?;
    if !is_value_of_set(query) {
        exec.session.found_rows.set(found);
    }
    let affected_rows = row.is_some() as u64;
    match row {
        Some(row) => {
            for (name, value) in names.iter().zip(row) {
                exec.session.set_user_variable(name, value)?;
            }
        }
        None => exec.session.warnings.warn(SqlError::new(
            er::SP_FETCH_NO_DATA,
            "No data - zero rows fetched, selected, or processed",
        )),
    }
    Ok(Outcome::Done {
        affected_rows,
        last_insert_id: 0,
        info: String::new(),
    })
}

/// Tells the session what a data change did.
fn changed(session: &SessionState, done: Changes) -> Outcome {
    if let Some(id) = done.generated_id {
        session.last_insert_id.set(id);
    }
    Outcome::Done {
        affected_rows: done.affected_rows,
        last_insert_id: done.last_insert_id,
        info: done.info,
    }
}

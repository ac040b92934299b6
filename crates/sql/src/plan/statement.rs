//! Whole statements: from their syntax to something the session runs as often as it likes.

use super::bind::Binder;
use super::explain;
use super::group::BlockHooks;
use super::past::{AsOf, one_moment};
use super::{Input, Planner, QueryPlan};
use crate::accounts::Privileges;
use crate::context::planned::{HIDDEN_VARIABLE, Outcome, Planned, TableUse};
use crate::context::{ResultSink, SessionState};
use crate::dictionary::virtual_schema;
use crate::dml::target::Target;
use crate::dml::{self, DeletePlan, InsertPlan, JoinedPlan, QueryPlanner, RowSource, Run, UpdatePlan};
use crate::error::{Result, SqlError, er};
use crate::exec::{Collect, Exec, Output, Purpose, Scene, SinkOutput};
use crate::expr::{Env, EvalCtx, Expr, NoSubqueries, Node, build};
use crate::mdl::Mode;
use crate::parse::ast::{self, Statement, TableRef};
use crate::types::{ColumnMeta, SqlType, Value};
use std::cell::RefCell;
use std::sync::Arc;
use tidemark_engine::{Isolation, Moment, TableId, Transaction};

/// Plans a query, a data change, DO or EXPLAIN. The parameters lend their types; a statement that is only prepared has
/// none yet.
pub fn plan(statement: &Statement, state: &SessionState, params: &[Value]) -> Result<Box<dyn Planned>> {
    let ctx = state.bind_ctx();
    let mut env = state.env(&NoSubqueries, params);
    env.unbound = params.is_empty();
    let sample = env.ctx();
    let mut planner = Planner {
        state,
        binder: Binder {
            ctx: &ctx,
            session: state,
            params,
            clause: "field list",
        },
        queries: Vec::new(),
        uses: Vec::new(),
        common: Vec::new(),
        working: Vec::new(),
        selects: 0,
        keyed: false,
        locks: Vec::new(),
        moments: Vec::new(),
        sample: Some(&sample),
    };
    let body = planner.body(statement, &sample)?;
    let moments = planner.moments(matches!(body, Body::Query(_) | Body::Explain(_)))?;
    let columns = match &body {
        Body::Query(query) if query.into.is_empty() => {
            Some(query.columns.iter().map(|column| column.meta.clone()).collect())
        }
        Body::Explain(rows) => Some(rows.columns(state)),
        _ => None,
    };
    let Planner {
        queries, mut uses, ..
    } = planner;
    // A table that is used in two ways is locked in the stronger way first.
    uses.sort_by_key(|used| std::cmp::Reverse(used.mode));
    let mut planned = PlannedStatement {
        body,
        queries,
        uses,
        columns,
        signature: params.iter().map(std::mem::discriminant).collect(),
        one_shot: false,
        moments,
    };
    planned.one_shot = planned.uses_variables();
    Ok(Box::new(planned))
}

enum Body {
    Query(Box<QueryPlan>),
    Insert(Box<InsertPlan>),
    Update(Box<UpdatePlan>),
    Delete(Box<DeletePlan>),
    /// UPDATE or DELETE of joined tables.
    Joined(Box<JoinedPlan>),
    Do(Vec<Expr>),
    Explain(explain::Rows),
}

struct PlannedStatement {
    body: Body,
    queries: Vec<QueryPlan>,
    uses: Vec<TableUse>,
    columns: Option<Vec<ColumnMeta>>,
    /// The kinds of the parameters' values.
    signature: Vec<std::mem::Discriminant<Value>>,
    /// User variables lent their types.
    one_shot: bool,
    /// All tables are read as they were then, which each of them says.
    moments: Vec<AsOf>,
}

impl Planner<'_> {
    fn body(&mut self, statement: &Statement, sample: &EvalCtx) -> Result<Body> {
        Ok(match statement {
            Statement::Query(query) => Body::Query(Box::new(self.whole_query(query)?)),
            Statement::Insert(insert) => Body::Insert(Box::new(self.insert(insert)?)),
            Statement::Update(update) => match update.tables.as_slice() {
                [TableRef::Table(table)] if table.as_of.is_none() => {
                    Body::Update(Box::new(self.update(update, table, sample)?))
                }
                _ => Body::Joined(Box::new(self.joined_update(update)?)),
            },
            Statement::Delete(delete) => match delete.from.as_slice() {
                [TableRef::Table(table)] if delete.targets.is_empty() && table.as_of.is_none() => {
                    Body::Delete(Box::new(self.delete(delete, table, sample)?))
                }
                _ => Body::Joined(Box::new(self.joined_delete(delete)?)),
            },
            Statement::Do(list) => Body::Do(self.plain_list(list)?),
            Statement::Explain(explain) => {
                if explain.analyze {
                    return Err(SqlError::not_supported("EXPLAIN ANALYZE"));
                }
                let body = self.body(&explain.statement, sample)?;
                Body::Explain(self.explained(&body, explain.format)?)
            }
            _ => return Err(SqlError::not_supported("planning of this statement")),
        })
    }

    /// A query that is a statement by itself: without a LIMIT it has that of `sql_select_limit`.
    fn whole_query(&mut self, query: &ast::Query) -> Result<QueryPlan> {
        let mut plan = self.query(query, None)?;
        let limit = self.state.settings.sql_select_limit;
        if limit != u64::MAX && plan.limit.is_none() {
            plan.limit = Some(build::number_literal(&limit.to_string())?);
        }
        Ok(plan)
    }

    fn target(
        &mut self,
        name: &ast::ObjectName,
        alias: Option<&str>,
        privileges: Privileges,
    ) -> Result<Target> {
        let def = self.state.table(name)?;
        let used = TableUse::new(Arc::clone(&def), Mode::Write, privileges);
        self.uses.push(used.named(alias.unwrap_or(&def.name)));
        if virtual_schema(&def.schema).is_some() {
            return Err(self.state.database_denied(&def.schema));
        }
        let table = self.state.database.engine().table(def.id)?;
        Target::new(def, table, &self.binder)
    }

    fn insert(&mut self, insert: &ast::Insert) -> Result<InsertPlan> {
        let mut privileges = Privileges::INSERT;
        if insert.replace {
            privileges = privileges.union(Privileges::DELETE);
        }
        if !insert.on_duplicate.is_empty() {
            privileges = privileges.union(Privileges::UPDATE);
        }
        let target = self.target(&insert.table, None, privileges)?;
        let sources = Sources {
            state: self.state,
            binder: self.binder,
            sample: self.sample,
            uses: RefCell::new(Vec::new()),
        };
        let binder = self.binder;
        let (id, name) = (target.def.id, target.def.name.clone());
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            aliases: &[],
            alias_first: false,
        };
        let plan = InsertPlan::new(insert, target, &binder, &sources, &mut hooks)?;
        self.refuse_reads_of(id, &name, Vec::new())?;
        self.uses.extend(sources.uses.into_inner());
        Ok(plan)
    }

    fn update(
        &mut self,
        update: &ast::Update,
        table: &ast::TableName,
        sample: &EvalCtx,
    ) -> Result<UpdatePlan> {
        let target = self.target(
            &table.name,
            table.alias.as_deref(),
            Privileges::UPDATE.union(Privileges::SELECT),
        )?;
        let binder = self.binder;
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            aliases: &[],
            alias_first: false,
        };
        let (id, name) = (target.def.id, target.def.name.clone());
        let plan = UpdatePlan::new(update, table, target, &binder, &mut hooks, sample)?;
        self.refuse_reads_of(id, &name, Vec::new())?;
        Ok(plan)
    }

    fn delete(
        &mut self,
        delete: &ast::Delete,
        table: &ast::TableName,
        sample: &EvalCtx,
    ) -> Result<DeletePlan> {
        let mut privileges = Privileges::DELETE;
        if delete.filter.is_some() {
            privileges = privileges.union(Privileges::SELECT);
        }
        let target = self.target(&table.name, table.alias.as_deref(), privileges)?;
        let binder = self.binder;
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            aliases: &[],
            alias_first: false,
        };
        let (id, name) = (target.def.id, target.def.name.clone());
        let plan = DeletePlan::new(delete, table, target, &binder, &mut hooks, sample)?;
        self.refuse_reads_of(id, &name, Vec::new())?;
        Ok(plan)
    }

    /// Error 1093 if a subquery reads the table that is changed. What a derived table reads is read before.
    /// `derived` are those of the FROM clause.
    pub(super) fn refuse_reads_of(&self, target: TableId, name: &str, mut derived: Vec<usize>) -> Result<()> {
        for query in &self.queries {
            query.walk(&mut |_| {}, &mut |leaf| {
                if let Input::Derived { query, .. } = &leaf.input {
                    derived.push(*query);
                }
            });
        }
        let mut reads = false;
        for (_, query) in self
            .queries
            .iter()
            .enumerate()
            .filter(|(id, _)| !derived.contains(id))
        {
            query.walk(&mut |_| {}, &mut |leaf| {
                reads |= matches!(&leaf.input, Input::Stored { def, .. } if def.id == target);
            });
        }
        if reads {
            return Err(SqlError::new(
                1093,
                format!("You can't specify target table '{name}' for update in FROM clause"),
            ));
        }
        Ok(())
    }

    fn explained(&self, body: &Body, format: ast::ExplainFormat) -> Result<explain::Rows> {
        let mut explainer = explain::Explainer::new(format, &self.queries)?;
        match body {
            Body::Query(query) => explainer.query(query),
            Body::Insert(insert) => explainer.change("INSERT", &insert.target.def, None),
            Body::Update(update) => explainer.change("UPDATE", &update.target.def, Some(update.rows.path())),
            Body::Delete(delete) => explainer.change("DELETE", &delete.target.def, Some(delete.rows.path())),
            Body::Joined(joined) => explainer.query(&joined.join),
            Body::Do(_) | Body::Explain(_) => {}
        }
        Ok(explainer.finish())
    }
}

// ------------------------------------------------------------------------------------------- INSERT … SELECT

/// Plans the queries that INSERT reads from.
struct Sources<'a> {
    state: &'a SessionState,
    binder: Binder<'a>,
    sample: Option<&'a EvalCtx<'a>>,
    uses: RefCell<Vec<TableUse>>,
}

struct Source {
    query: QueryPlan,
    queries: Vec<QueryPlan>,
}

impl QueryPlanner for Sources<'_> {
    fn query(&self, query: &ast::Query) -> Result<Arc<dyn RowSource>> {
        let mut planner = Planner {
            state: self.state,
            binder: self.binder,
            queries: Vec::new(),
            uses: Vec::new(),
            common: Vec::new(),
            working: Vec::new(),
            selects: 0,
            keyed: false,
            locks: Vec::new(),
            moments: Vec::new(),
            sample: self.sample,
        };
        let query = planner.query(query, None)?;
        planner.moments(false)?;
        self.uses.borrow_mut().extend(planner.uses);
        Ok(Arc::new(Source {
            query,
            queries: planner.queries,
        }))
    }
}

impl RowSource for Source {
    fn width(&self) -> usize {
        self.query.columns.len()
    }

    /// The rows are all read before the first is handed out: what is done with them may change what is read.
    fn rows(&self, run: Run, f: &mut dyn FnMut(&[Value]) -> Result<()>) -> Result<()> {
        let exec = Exec::new(run.session, run.txn, &self.queries, Purpose::Copy);
        let mut env = run.session.env(&exec, run.env.params);
        env.strict = run.env.strict;
        env.writes = run.env.writes;
        let mut rows = Vec::new();
        let mut collect = Collect::new(|row: &[Value]| {
            rows.push(row.to_vec());
            Ok(true)
        });
        exec.query(
            &self.query,
            Scene {
                env: &env,
                outer: None,
            },
            &mut collect,
        )?;
        rows.iter().try_for_each(|row| f(row))
    }
}

// -------------------------------------------------------------------------------------------------- running

impl PlannedStatement {
    /// What the rows that it reads are for.
    fn purpose(&self) -> Purpose {
        match &self.body {
            // The value of SET.
            Body::Query(query) if query.into.iter().any(|name| name == HIDDEN_VARIABLE) => Purpose::Write,
            Body::Query(_) | Body::Explain(_) => Purpose::Answer,
            Body::Update(_) => Purpose::Copy,
            Body::Insert(_) | Body::Delete(_) | Body::Joined(_) | Body::Do(_) => Purpose::Write,
        }
    }

    fn uses_variables(&self) -> bool {
        let mut found = false;
        let mut look = |e: &Expr| found |= matches!(e.node, Node::UserVar(_) | Node::AssignVar(..));
        for query in &self.queries {
            query.walk(&mut look, &mut |_| {});
        }
        match &self.body {
            Body::Query(query) => query.walk(&mut look, &mut |_| {}),
            Body::Do(list) => list.iter().for_each(|e| e.walk(&mut look)),
            // What they are stored as is their columns' affair.
            _ => {}
        }
        found
    }

    fn select(&self, query: &QueryPlan, exec: &Exec, env: &Env, out: &mut dyn ResultSink) -> Result<Outcome> {
        let scene = Scene { env, outer: None };
        let session = exec.session;
        if !query.into.is_empty() {
            return into_variables(query, exec, scene);
        }
        out.columns(self.columns.as_deref().unwrap_or(&[]))?;
        let types: Vec<SqlType> = query.columns.iter().map(|c| c.ty.clone()).collect();
        let mut output = SinkOutput::new(out, types, session);
        let found = exec.query(query, scene, &mut output)?;
        let sent = output.rows;
        session
            .found_rows
            .set(if query.calc_found_rows { found } else { sent });
        Ok(Outcome::Rows(sent))
    }
}

/// Tells the session what a data change did.
fn changed(session: &SessionState, done: dml::Outcome) -> Outcome {
    if let Some(id) = done.generated_id {
        session.last_insert_id.set(id);
    }
    Outcome::Done {
        affected_rows: done.affected_rows,
        last_insert_id: done.last_insert_id,
        info: done.info,
    }
}

fn into_variables(query: &QueryPlan, exec: &Exec, scene: Scene) -> Result<Outcome> {
    let mut row: Option<Vec<Value>> = None;
    let mut collect = Collect::new(|values: &[Value]| {
        if row.is_some() {
            return Err(SqlError::new(
                er::TOO_MANY_ROWS,
                "Result consisted of more than one row",
            ));
        }
        row = Some(values.to_vec());
        Ok(true)
    });
    exec.query(query, scene, &mut collect)?;
    use crate::expr::SessionInfo;
    let affected_rows = row.is_some() as u64;
    match row {
        Some(row) => {
            for (name, value) in query.into.iter().zip(row) {
                exec.session.set_user_variable(name, value);
            }
        }
        None => exec.session.warnings.warn(SqlError::new(
            1329,
            "No data - zero rows fetched, selected, or processed",
        )),
    }
    Ok(Outcome::Done {
        affected_rows,
        last_insert_id: 0,
        info: String::new(),
    })
}

impl PlannedStatement {
    /// Runs a query in a view of the past, beside the session's own transaction.
    fn run_in_past(
        &self,
        at: Moment,
        query: &QueryPlan,
        state: &SessionState,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<Outcome> {
        let mut past = state.database.engine().transaction();
        past.begin(Isolation::RepeatableRead, true);
        let done = state.process.beside(past.owner(), || {
            past.see_past(at)?;
            let txn = RefCell::new(&mut past);
            let exec = Exec::new(state, &txn, &self.queries, Purpose::Answer);
            let env = state.env(&exec, params);
            self.select(query, &exec, &env, out)
        });
        past.rollback()?;
        done
    }
}

impl Planned for PlannedStatement {
    fn uses(&self) -> &[TableUse] {
        &self.uses
    }

    fn columns(&self) -> Option<&[ColumnMeta]> {
        self.columns.as_deref()
    }

    fn writes(&self) -> bool {
        matches!(
            self.body,
            Body::Insert(_) | Body::Update(_) | Body::Delete(_) | Body::Joined(_)
        )
    }

    fn is_query(&self) -> bool {
        matches!(self.body, Body::Query(_))
    }

    fn needs_read_write(&self) -> bool {
        let locks = |used: &TableUse| used.mode == Mode::Write && !used.table.is_virtual();
        !matches!(self.body, Body::Explain(_)) && (self.writes() || self.uses.iter().any(locks))
    }

    fn fits(&self, params: &[Value]) -> bool {
        !self.one_shot
            && self.signature.len() == params.len()
            && params
                .iter()
                .zip(&self.signature)
                .all(|(value, kind)| value.is_null() || std::mem::discriminant(value) == *kind)
    }

    fn run(
        &self,
        state: &SessionState,
        txn: &mut Transaction,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<Outcome> {
        if let Body::Query(query) = &self.body
            && let Some(at) = one_moment(&self.moments, state, params)?
        {
            return self.run_in_past(at, query, state, params, out);
        }
        let txn = RefCell::new(txn);
        let exec = Exec::new(state, &txn, &self.queries, self.purpose());
        let mut env = state.env(&exec, params);
        let ignores = match &self.body {
            Body::Insert(plan) => plan.ignores(),
            Body::Update(plan) => plan.ignores(),
            Body::Delete(plan) => plan.ignores(),
            Body::Joined(plan) => plan.ignore,
            _ => false,
        };
        env.writes = self.writes();
        env.strict &= !ignores;
        let run = Run {
            session: state,
            txn: &txn,
            env: &env,
        };
        match &self.body {
            Body::Query(query) => self.select(query, &exec, &env, out),
            Body::Insert(plan) => Ok(changed(state, plan.run(run)?)),
            Body::Update(plan) => Ok(changed(state, plan.run(run)?)),
            Body::Delete(plan) => Ok(changed(state, plan.run(run)?)),
            Body::Joined(plan) => Ok(changed(state, plan.run(&exec, run)?)),
            Body::Do(list) => {
                for expr in list {
                    expr.eval(&env.ctx())?;
                }
                Ok(Outcome::Done {
                    affected_rows: 0,
                    last_insert_id: 0,
                    info: String::new(),
                })
            }
            Body::Explain(rows) => {
                out.columns(self.columns.as_deref().unwrap_or(&[]))?;
                let mut output = SinkOutput::new(out, rows.types(), state);
                for row in rows.rows() {
                    output.values(row)?;
                }
                Ok(Outcome::Rows(output.rows))
            }
        }
    }
}

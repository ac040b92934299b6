//! Whole statements: from their syntax to a plan that the executor runs as often as its parameters fit.
//!
//! The session parses a statement, has it planned, which checks its privileges, takes the metadata locks of the tables the
//! plan uses, opens or continues the transaction, has the plan run, and commits or rolls back. A plan that was made for
//! definitions that have changed since is made anew.

use super::change::{
    DeletePlan, InsertPlan, InsertSource, JoinedAction, JoinedPlan, JoinedTarget, OnDuplicate, SetupPlan,
    Target, UpdatePlan,
};
use super::explain;
use super::guards::{Fit, Guards};
use super::handler::HandlerPlan;
use super::logical::Query;
use super::past::AsOf;
use super::program::StoredFunction;
use super::trace::{Finished, Tracer};
use super::view::Contexts;
use super::{Destination, Planner, QueryPlan};
use crate::accounts::{Privileges, table_denied};
use crate::context::SessionState;
use crate::context::TableUse;
use crate::context::traces::Trace;
use crate::dictionary::{TableDef, virtual_schema};
use crate::error::{Result, SqlError, er};
use crate::expr::{
    Binder, DateConstant, EvalCtx, Expr, NoSubqueries, Node, ParamPlace, Parameters, Params, build,
};
use crate::information_schema::SetupTable;
use crate::mdl::Mode;
use crate::parse::ast::{self, Statement, TableRef};
use crate::types::{ColumnMeta, Value};
use std::sync::Arc;
use tidemark_engine::Table;

/// The user variable that SET reads a value into that only a query can give; no client can name it.
pub const HIDDEN_VARIABLE: &str = "\0value";

/// What a statement does.
pub enum Body {
    Query(Box<QueryPlan>),
    Insert(Box<InsertPlan>),
    Update(Box<UpdatePlan>),
    Delete(Box<DeletePlan>),
    /// UPDATE or DELETE of joined tables.
    Joined(Box<JoinedPlan>),
    /// UPDATE of the switches of `performance_schema`.
    Setup(Box<SetupPlan>),
    Handler(Box<HandlerPlan>),
    Do(Vec<Expr>),
    Explain(explain::Explanation),
    /// EXPLAIN ANALYZE: the statement is run, and its operators shown with what was measured.
    Analyze {
        body: Box<Body>,
        form: explain::Form,
        /// The user variable that gets the result.
        into: Option<String>,
    },
}

/// A statement ready to run, as often as its parameters fit. It holds no values and no session's state.
pub struct StatementPlan {
    pub body: Body,
    /// Its subqueries and derived tables, by the numbers that expressions know them by.
    pub queries: Vec<QueryPlan>,
    /// The stored functions that it calls, by the numbers that expressions know them by.
    pub routines: Vec<Arc<dyn StoredFunction>>,
    calls_programs: bool,
    uses: Vec<TableUse>,
    columns: Option<Vec<ColumnMeta>>,
    /// The kinds of the parameters' values.
    signature: Vec<std::mem::Discriminant<Value>>,
    /// User variables lent their types, or it is good for these values alone.
    one_shot: bool,
    /// It is a program's, whose variables are its parameters: they keep their types.
    has_locals: bool,
    depends_on_literals: bool,
    is_unsafe: bool,
    deprecated: Vec<SqlError>,
    /// What it was made for.
    guards: Guards,
    /// It was made for values of which nothing is known.
    pub is_typical: bool,
    /// All tables are read as they were then, which each of them says.
    pub moments: Vec<AsOf>,
    /// Texts that stand beside dates: each must be one.
    pub dates: Vec<DateConstant>,
    /// The types of its parameters, if it was planned without values: as many as have one.
    pub places: Vec<ParamPlace>,
}

/// Plans a query, a data change, DO or EXPLAIN. The parameters lend their types; a statement that is only prepared has
/// none yet.
pub fn plan(statement: &Statement, state: &SessionState, params: Params) -> Result<Box<StatementPlan>> {
    let planned = plan_with(state, params, |planner, sample| planner.body(statement, sample))?;
    // What is good for these values alone is planned with them.
    let params = match params.typical && planned.one_shot {
        true => Params {
            typical: false,
            ..params
        },
        false => return Ok(planned),
    };
    plan_with(state, params, |planner, sample| planner.body(statement, sample))
}

/// Plans a statement whose body `make` plans.
pub(super) fn plan_with(
    state: &SessionState,
    params: Params,
    make: impl FnOnce(&mut Planner, &EvalCtx) -> Result<Body>,
) -> Result<Box<StatementPlan>> {
    let mut ctx = state.bind_ctx();
    ctx.parameters = match (params.derives, params.locals) {
        (true, _) => Parameters::deriving(),
        (false, []) => Parameters::known(params.places),
        (false, locals) => Parameters::of_locals(locals),
    };
    let (is_typical, has_locals) = (params.typical, !params.locals.is_empty());
    let params = params.values;
    let known = Some(params).filter(|_| !is_typical);
    let mut env = state.env(&NoSubqueries, known.unwrap_or_default());
    env.unbound = env.params.is_empty();
    let sample = env.ctx();
    let binder = Binder {
        ctx: &ctx,
        session: state,
        params,
        clause: "field list",
    };
    let contexts = Contexts::default();
    let mut planner = Planner::new(state, binder, Some(&sample), &contexts);
    planner.begin_trace();
    let body = make(&mut planner, &sample).and_then(|body| planner.lower_queries().map(|()| body));
    planner.end_trace();
    let body = match body {
        Ok(body) => body,
        Err(error) => {
            if is_of_groups(&error) {
                // MySQL looks at the groups of a query when all its conditions are known.
                ctx.dates.take().iter().try_for_each(|date| date.check(&sample))?;
            }
            return Err(error);
        }
    };
    for warning in ctx.warnings.take() {
        state.warnings.warn(warning);
    }
    let is_query = matches!(body, Body::Query(_));
    let reads = is_query || matches!(body, Body::Explain(_) | Body::Analyze { .. });
    let moments = planner.moments(reads)?;
    let queries = planner.take_lowered()?;
    let columns = match &body {
        Body::Query(query) if matches!(query.into, Destination::Client) => {
            Some(query.columns.iter().map(|column| column.meta.clone()).collect())
        }
        Body::Handler(handler) => Some(handler.columns.iter().map(|column| column.meta.clone()).collect()),
        Body::Explain(rows) if rows.into.is_none() => Some(explain::columns(rows.form(), state)),
        Body::Analyze { form, into: None, .. } => Some(explain::columns(*form, state)),
        _ => None,
    };
    let guards = Guards::of(&planner, (&body, &queries), known);
    let mut uses = planner.uses;
    // A table that is used in two ways is locked in the stronger way first.
    uses.sort_by_key(|used| std::cmp::Reverse(used.mode));
    let calls_programs = !planner.routines.is_empty() || reads_by_programs(&body);
    // It shows them.
    let explains = matches!(body, Body::Explain(_) | Body::Analyze { .. });
    let is_unsafe = ctx.is_unsafe.get() || contexts.are_unsafe() || goes_by_order(&body);
    let mut planned = StatementPlan {
        guards,
        is_typical,
        body,
        queries,
        calls_programs,
        routines: planner.routines,
        uses,
        columns,
        signature: params.iter().map(std::mem::discriminant).collect(),
        one_shot: false,
        has_locals,
        depends_on_literals: ctx.depends_on_literals.get() || contexts.depend_on_literals() || explains,
        is_unsafe,
        deprecated: ctx.deprecated.take(),
        moments,
        dates: [ctx.dates.take(), contexts.dates()].concat(),
        places: ctx.parameters.found(),
    };
    planned.one_shot = planned.uses_variables() || ctx.depends_on_values.get();
    Ok(Box::new(planned))
}

/// Whether the query that INSERT reads from calls stored functions.
fn reads_by_programs(body: &Body) -> bool {
    match body {
        Body::Insert(plan) => {
            matches!(&plan.source, InsertSource::Query(source) if !source.routines.is_empty())
        }
        _ => false,
    }
}

/// Whether the order in which rows are found decides what is changed.
fn goes_by_order(body: &Body) -> bool {
    match body {
        Body::Insert(plan) => {
            let settles = plan.ignore || !matches!(plan.on_duplicate, OnDuplicate::Fail);
            settles && matches!(plan.source, InsertSource::Query(_))
        }
        Body::Update(plan) => plan.ignore,
        Body::Joined(plan) => {
            let updates = |target: &JoinedTarget| matches!(target.action, JoinedAction::Update(_));
            plan.ignore && plan.targets.iter().any(updates)
        }
        _ => false,
    }
}

/// Whether it is about what stands beside aggregates or the keys of GROUP BY.
fn is_of_groups(error: &SqlError) -> bool {
    matches!(
        error.code,
        er::MIX_OF_GROUP_FUNC_AND_FIELDS | er::WRONG_FIELD_WITH_GROUP
    )
}

impl<'a> Planner<'a> {
    /// Begins the statement's optimizer trace, if the session wants one.
    fn begin_trace(&mut self) {
        let settings = &self.state.settings.trace;
        if !settings.enabled {
            return;
        }
        let traces = self.state.traces.borrow();
        if let Some(room) = traces.room(settings) {
            let left = room.saturating_sub(traces.statement().len() as u64);
            self.trace = Some(Tracer::new(*settings, left));
        }
    }

    /// Keeps it, but for that of a statement that reads traces.
    fn end_trace(&mut self) {
        let settings = &self.state.settings.trace;
        let reads_traces = |used: &TableUse| used.table.is_virtual() && used.table.name == "OPTIMIZER_TRACE";
        if !settings.enabled || self.uses.iter().any(reads_traces) {
            return;
        }
        let mut traces = self.state.traces.borrow_mut();
        let Some(trace) = self.trace.take() else {
            return traces.skip();
        };
        if self.require_sight_of_views().is_err() {
            let hidden = Trace {
                query: String::new(),
                text: String::new(),
                missing: 0,
                has_steps: false,
                closing: 0,
                hidden: true,
            };
            return traces.add(hidden, settings);
        }
        let Finished {
            text,
            mut missing,
            has_steps,
            closing,
        } = trace.finish();
        let mut query = traces.statement().to_owned();
        // A statement that does not fit is not kept in part.
        if query.len() as u64 > traces.room(settings).unwrap_or(0) {
            missing += query.len() as u64;
            query.clear();
        }
        let trace = Trace {
            query,
            text,
            missing,
            has_steps,
            closing,
            hidden: false,
        };
        traces.add(trace, settings);
    }

    fn body(&mut self, statement: &Statement, sample: &EvalCtx) -> Result<Body> {
        Ok(match statement {
            Statement::Query(query) => {
                let query = self.whole_query(query)?;
                Body::Query(Box::new(self.lower(query)?))
            }
            Statement::Insert(insert) => match self.setup_rows(&insert.table)? {
                Some(table) => Body::Setup(Box::new(self.insert_setup(insert, table)?)),
                None => Body::Insert(Box::new(self.insert(insert)?)),
            },
            Statement::LoadData(load) => Body::Insert(Box::new(self.load(load)?)),
            Statement::Update(update) => {
                self.with_common(update.with.as_ref(), |planner| match update.tables.as_slice() {
                    [TableRef::Table(table)] if planner.is_stored(table) => {
                        match planner.setup_table(&table.name)? {
                            Some(setup) => {
                                let plan = planner.update_setup(update, table, setup)?;
                                Ok(Body::Setup(Box::new(plan)))
                            }
                            None => planner.update(update, table, sample),
                        }
                    }
                    tables => {
                        let from = planner.keyed_tables(tables)?;
                        let joined = planner.joined_update(update, from)?;
                        Ok(Body::Joined(Box::new(joined)))
                    }
                })?
            }
            Statement::Delete(delete) => {
                self.with_common(delete.with.as_ref(), |planner| match delete.from.as_slice() {
                    [TableRef::Table(table)] if delete.targets.is_empty() && planner.is_stored(table) => {
                        match planner.setup_rows(&table.name)? {
                            Some(setup) => {
                                let plan = planner.delete_setup(delete, table, setup)?;
                                Ok(Body::Setup(Box::new(plan)))
                            }
                            None => {
                                let plan = planner.delete(delete, table, sample)?;
                                Ok(Body::Delete(Box::new(plan)))
                            }
                        }
                    }
                    [TableRef::Table(table)]
                        if delete.targets.is_empty() && planner.is_common(&table.name) =>
                    {
                        let name = table.alias.as_ref().unwrap_or(&table.name.name);
                        Err(SqlError::non_updatable(name, "DELETE"))
                    }
                    _ => Ok(Body::Joined(Box::new(planner.joined_delete(delete)?))),
                })?
            }
            Statement::HandlerRead(read) => Body::Handler(Box::new(self.handler_read(read)?)),
            Statement::Do(list) => Body::Do(self.plain_list(list)?),
            Statement::Explain(explain) => {
                let form = self.explain_form(explain)?;
                self.explains = true;
                let body = self.body(&explain.statement, sample)?;
                self.require_sight_of_views()?;
                match (&body, explain.analyze) {
                    (Body::Query(_), true) => Body::Analyze {
                        body: Box::new(body),
                        form,
                        into: explain.into.clone(),
                    },
                    (_, true) => {
                        return Err(SqlError::not_supported(
                            "EXPLAIN ANALYZE of a statement that is no query",
                        ));
                    }
                    (_, false) => {
                        let queries = self.take_lowered()?;
                        let rows = explain::explain(&body, &queries, form, None);
                        Body::Explain(rows.into_variable(explain.into.clone()))
                    }
                }
            }
            _ => return Err(SqlError::not_supported("planning of this statement")),
        })
    }

    /// The table, if it is one of the switches of `performance_schema`.
    fn setup_table(&self, name: &ast::ObjectName) -> Result<Option<(Arc<TableDef>, SetupTable)>> {
        let (schema, _) = self.state.resolve(name)?;
        if virtual_schema(schema) != Some("performance_schema") {
            return Ok(None);
        }
        let def = self.state.table(name)?;
        Ok(SetupTable::of(&def).map(|of| (def, of)))
    }

    /// The same, if rows can be added to it and removed.
    fn setup_rows(&self, name: &ast::ObjectName) -> Result<Option<(Arc<TableDef>, SetupTable)>> {
        let table = self.setup_table(name)?;
        Ok(table.filter(|(_, of)| of.takes_rows()))
    }

    /// Whether a name means a table or view as it is now.
    fn is_stored(&self, table: &ast::TableName) -> bool {
        table.as_of.is_none() && !self.is_common(&table.name)
    }

    /// Error 1345 if a plan would show what is below a view to an account that may not see it: that needs SHOW VIEW on the
    /// view, and SELECT on what it names, as the account's own rights.
    fn require_sight_of_views(&self) -> Result<()> {
        let hidden = |used: &TableUse| {
            let may = |privilege| {
                let held = self
                    .state
                    .require_in_part(privilege, &used.table.schema, &used.table.name);
                held.is_ok()
            };
            used.table.view.is_some() && !may(Privileges::SHOW_VIEW)
                || used.through_view && !may(Privileges::SELECT)
        };
        match self.uses.iter().any(hidden) {
            true => Err(SqlError::new(
                er::VIEW_NO_EXPLAIN,
                "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table",
            )),
            false => Ok(()),
        }
    }

    /// A query that is a statement by itself: without a LIMIT it has that of `sql_select_limit`.
    fn whole_query(&mut self, query: &ast::Query) -> Result<Query<'a>> {
        let mut plan = self.statement_query(query)?;
        let limit = self.state.settings.sql_select_limit;
        if limit != u64::MAX && plan.limit.is_none() {
            plan.limit = Some(build::number_literal(&limit.to_string())?);
        }
        Ok(plan)
    }

    /// A table that a statement changes.
    pub(super) fn table_target(
        &mut self,
        def: Arc<TableDef>,
        alias: Option<&str>,
        privileges: Privileges,
    ) -> Result<Target> {
        let used = TableUse::new(Arc::clone(&def), Mode::Write, privileges);
        self.add_use(used.named(alias.unwrap_or(&def.name)))?;
        match virtual_schema(&def.schema) {
            None => {}
            // What it counts cannot be set or switched off, whoever asks.
            Some("performance_schema") => {
                let (info, names) = (&self.state.info, privileges.names_of_denial().join(", "));
                return Err(table_denied(&names, &info.user, &info.host, &def.name));
            }
            Some(_) => return Err(self.state.database_denied(&def.schema)),
        }
        let table = self.state.database.engine().table(def.id)?;
        self.whole_target(def, table)
    }

    /// A table to be changed, with what the account may do with its columns.
    pub(super) fn whole_target(&self, def: Arc<TableDef>, table: Arc<Table>) -> Result<Target> {
        let mut target = Target::new(def, table, &self.binder)?;
        let allowed = |privilege| self.state.allowed_columns(privilege, &target.def);
        (target.readable, target.insertable, target.updatable) = (
            allowed(Privileges::SELECT),
            allowed(Privileges::INSERT),
            allowed(Privileges::UPDATE),
        );
        Ok(target)
    }

    /// The form that EXPLAIN answers in: the one that is written, else that of `explain_format`. Error 1235 for one that is not
    /// there; 6006 and 6007 for one that does not go into a variable, 6412 for one that does not show what was measured.
    fn explain_form(&self, explain: &ast::Explain) -> Result<explain::Form> {
        use ast::ExplainFormat::{Json, Traditional, Tree};
        let settings = &self.state.settings;
        let name = match explain.format {
            Some(Traditional) => "TRADITIONAL",
            Some(Tree) => "TREE",
            Some(Json) | None => "JSON",
        };
        match (&explain.into, explain.format) {
            (Some(_), None) => {
                return Err(SqlError::new(
                    er::EXPLAIN_INTO_IMPLICIT_FORMAT_NOT_SUPPORTED,
                    "EXPLAIN INTO does not support implicit FORMAT.",
                ));
            }
            (Some(_), Some(Traditional | Tree)) => {
                return Err(SqlError::new(
                    er::EXPLAIN_INTO_FORMAT_NOT_SUPPORTED,
                    format!("EXPLAIN INTO does not support FORMAT={name}."),
                ));
            }
            _ => {}
        }
        let format = match (explain.format, explain.analyze) {
            (Some(format), _) => format,
            (None, true) if settings.explain_format == Traditional => Tree,
            (None, _) => settings.explain_format,
        };
        Ok(match (format, settings.explain_json_version) {
            (Traditional, _) if explain.analyze => {
                return Err(SqlError::not_supported("EXPLAIN ANALYZE with TRADITIONAL format"));
            }
            (Json, 1) if explain.analyze => {
                return Err(SqlError::new(
                    er::EXPLAIN_ANALYZE_JSON_FORMAT_VERSION_NOT_SUPPORTED,
                    "EXPLAIN ANALYZE does not support FORMAT=JSON with explain_json_format_version=1.",
                ));
            }
            (Traditional, _) => explain::Form::Table,
            (Tree, _) => explain::Form::Tree,
            (Json, 1) => explain::Form::Blocks,
            (Json, _) => explain::Form::Operators,
        })
    }
}

impl StatementPlan {
    /// All tables, virtual ones too, each once per privilege needed.
    pub fn uses(&self) -> &[TableUse] {
        &self.uses
    }

    /// The columns of the result; `None` for a statement without rows.
    pub fn columns(&self) -> Option<&[ColumnMeta]> {
        self.columns.as_deref()
    }

    /// Warns a client that has written it that some of it is going to be removed.
    #[inline]
    pub fn warn_of_deprecated(&self, state: &SessionState) {
        for warning in &self.deprecated {
            state.warnings.warn(warning.clone());
        }
    }

    /// Whether it may do something else on another server that has the same rows, as MySQL sees it.
    pub fn is_unsafe(&self) -> bool {
        self.is_unsafe
    }

    /// Whether it changes rows: not allowed in a READ ONLY transaction.
    pub fn writes(&self) -> bool {
        matches!(
            self.body,
            Body::Insert(_) | Body::Update(_) | Body::Delete(_) | Body::Joined(_)
        )
    }

    /// Whether it says IGNORE: errors in single rows become warnings.
    pub fn ignores(&self) -> bool {
        match &self.body {
            Body::Insert(plan) => plan.ignore,
            Body::Update(plan) => plan.ignore,
            Body::Delete(plan) => plan.ignore,
            Body::Joined(plan) => plan.ignore,
            Body::Query(_)
            | Body::Setup(_)
            | Body::Handler(_)
            | Body::Do(_)
            | Body::Explain(_)
            | Body::Analyze { .. } => false,
        }
    }

    /// Whether it is a SELECT or its like: `max_execution_time` holds for those alone.
    pub fn is_query(&self) -> bool {
        matches!(self.body, Body::Query(_)) || self.is_analyzed()
    }

    /// Whether it runs a statement only to show what was measured: EXPLAIN ANALYZE.
    pub fn is_analyzed(&self) -> bool {
        matches!(self.body, Body::Analyze { .. })
    }

    /// Error 1792 in a READ ONLY transaction: it writes, or locks rows as if it would.
    pub fn needs_read_write(&self) -> bool {
        let joins = matches!(&self.body, Body::Joined(plan) if plan.updates());
        let locks = |used: &TableUse| {
            (used.mode == Mode::Write || joins) && !used.table.is_virtual() && !used.table.temporary
        };
        !matches!(self.body, Body::Explain(_)) && self.uses.iter().any(locks)
    }

    /// Whether it changes rows of permanent tables.
    pub fn writes_permanent(&self) -> bool {
        self.writes() && self.needs_read_write()
    }

    /// Whether the plan serves these parameters, which may be of other types than those it was made with.
    pub fn fits(&self, params: &[Value]) -> bool {
        !self.one_shot && self.signature.len() == params.len() && (self.has_locals || self.has_kinds(params))
    }

    fn has_kinds(&self, params: &[Value]) -> bool {
        let mut kinds = params.iter().zip(&self.signature);
        kinds.all(|(value, kind)| value.is_null() || std::mem::discriminant(value) == *kind)
    }

    /// Whether it calls stored functions: statements run inside it, which may change rows.
    #[inline]
    pub fn calls_programs(&self) -> bool {
        self.calls_programs
    }

    /// The one expression of DO, as which an expression of a program is planned.
    pub fn value(&self) -> Option<&Expr> {
        match &self.body {
            Body::Do(list) => list.first().filter(|_| list.len() == 1),
            _ => None,
        }
    }

    /// [`value`](Self::value), if it needs nothing but parameters: no query, no function of the user's, no constant date to be checked.
    pub fn plain_value(&self) -> Option<&Expr> {
        let is_plain = self.queries.is_empty() && self.dates.is_empty() && !self.calls_programs();
        self.value().filter(|_| is_plain)
    }

    /// Whether it is still right for its tables, and right for these values.
    #[inline]
    pub fn fit(&self, state: &SessionState, params: &[Value]) -> Fit {
        self.guards.fit(state, params)
    }

    /// Whether other literals in place of the parameters could make another plan.
    pub fn depends_on_literals(&self) -> bool {
        self.depends_on_literals
    }

    fn uses_variables(&self) -> bool {
        let mut found = false;
        let mut look = |e: &Expr| found |= matches!(e.node, Node::UserVar(_) | Node::AssignVar(..));
        for query in &self.queries {
            query.walk(&mut look, &mut |_| {});
        }
        match &self.body {
            Body::Query(query) => query.walk(&mut look, &mut |_| {}),
            Body::Setup(setup) => setup.query.walk(&mut look, &mut |_| {}),
            Body::Analyze { .. } => return true,
            Body::Do(list) => list.iter().for_each(|e| e.walk(&mut look)),
            // What they are stored as is their columns' affair.
            _ => {}
        }
        found
    }
}

//! Statements kept for later: over the binary protocol, or by PREPARE … FROM.
//!
//! The syntax tree is kept, and with it the plan, which is made anew when a definition or the kinds of the parameters
//! have changed.

use super::measure::About;
use super::{Prepared, Session};
use crate::context::{Answer, Counter, Database, Process, ResultSink, SessionState, command};
use crate::dictionary::TableDef;
use crate::error::memory::{Reservation, check_memory, reserve_memory};
use crate::error::{Result, SqlError, er};
use crate::exec::Receiver;
use crate::expr::{NoSubqueries, ParamPlace, Params, SessionInfo};
use crate::parse::ast::{PrepareSource, Statement, StatementHints};
use crate::parse::{expect_single, parse_shape, trim};
use crate::plan::kept::Kept;
use crate::plan::ready::ReadyPlan;
use crate::statements::Meter;
use crate::statements::prepared::Instance;
use crate::types::{Collation, ColumnMeta, Value};
use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tidemark_engine::{COUNTED, Tick};
use tidemark_memory::hold;

#[derive(Default)]
pub(super) struct Statements {
    /// Boxed, as each is taken out while it runs. The numbers are given here, one after the other, so a cheap hash spreads them; by what it closes a client could only
    /// slow down itself.
    pub binary: FxHashMap<u32, Box<PreparedStatement>>,
    text: HashMap<String, PreparedStatement>,
    last_id: u32,
}

pub(super) struct PreparedStatement {
    statement: Arc<Statement>,
    hints: Option<Arc<StatementHints>>,
    pub param_count: usize,
    plans: Kept,
    parameters: ParamTypes,
    /// The text, for the process list and its digest.
    about: About,
    /// Where what it does over the binary protocol is counted.
    meter: Option<Meter>,
    counted: Counted,
}

/// The types that the parameters of a statement have by their places; none for a statement that is not planned.
#[derive(Default)]
struct ParamTypes {
    places: Vec<ParamPlace>,
    /// True if the statement changes rows, and ignores no errors, so that a value that cannot be converted is one.
    is_strict: bool,
    /// The stored tables that they may come from.
    tables: Vec<Arc<TableDef>>,
    /// The dictionary's epoch at which they were derived, or found to be right.
    epoch: u64,
    /// The version of the session's temporary tables then.
    temporary_at: u64,
}

impl ParamTypes {
    /// Returns those of so many parameters.
    fn of(ready: &ReadyPlan, count: usize) -> ParamTypes {
        let mut places = ready.plan.places.clone();
        places.resize(count, ParamPlace::default());
        ParamTypes {
            places,
            is_strict: ready.plan.writes() && !ready.plan.ignores(),
            tables: ready.stored_tables().cloned().collect(),
            epoch: ready.epoch(),
            temporary_at: ready.temporary_at,
        }
    }

    /// True if no definition that they may come from has changed since.
    #[inline]
    fn are_right(&mut self, state: &SessionState) -> bool {
        let dictionary = state.database.dictionary();
        self.places.is_empty()
            || self.temporary_at == state.temporary.version()
                && (self.epoch == dictionary.epoch() || dictionary.still_right(&mut self.epoch, &self.tables))
    }

    /// True if one of these values is to be bound as something else.
    #[inline]
    fn convert(&self, params: &[Value]) -> bool {
        self.places
            .iter()
            .zip(params)
            .any(|(place, value)| place.converts(value))
    }
}

/// A prepared statement among those of all sessions (`max_prepared_stmt_count`), until this is dropped; and where others see it.
struct Counted {
    database: Arc<Database>,
    listed: Option<(Arc<Process>, Arc<Instance>)>,
}

impl Counted {
    /// Error 1461 if there are as many as there may be.
    fn new(database: &Arc<Database>) -> Result<Counted> {
        let max = database.variable_u64("max_prepared_stmt_count");
        let count = &database.counters().prepared;
        let counted = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            (count < max).then_some(count + 1)
        });
        match counted {
            Ok(_) => Ok(Counted {
                database: Arc::clone(database),
                listed: None,
            }),
            Err(_) => Err(SqlError::new(
                er::MAX_PREPARED_STMT_COUNT_REACHED,
                format!("Can't create more than max_prepared_stmt_count statements (current value: {max})"),
            )),
        }
    }
}

impl PreparedStatement {
    /// Shows it to others; it has taken so long to prepare.
    fn list(&mut self, state: &SessionState, (id, name): (u32, Option<&str>), nanos: u64) {
        let event = state.process.with_current(|current| current.history.next_id());
        let text = Arc::clone(&self.about.text);
        let instance = Instance::new(id.into(), name.map(str::to_owned), text, (event, nanos));
        let instance = Arc::new(instance);
        state.process.list_prepared(&instance);
        self.about.run = Some(Arc::clone(&instance));
        self.counted.listed = Some((Arc::clone(&state.process), instance));
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.database.counters().prepared.fetch_sub(1, Ordering::Relaxed);
        if let Some((process, instance)) = &self.listed {
            process.unlist_prepared(instance.id);
        }
    }
}

impl Statements {
    fn next_id(&mut self) -> u32 {
        self.last_id = self.last_id.wrapping_add(1).max(1);
        self.last_id
    }
}

impl Session {
    fn parse_one(&self, sql: &[u8]) -> Result<PreparedStatement> {
        let sql = trim(sql);
        let mode = self.state.settings.sql_mode;
        let parsed = parse_shape(sql, 0, mode, self.state.settings.default_week_format, &[])?;
        expect_single(sql, parsed.next, mode)?;
        self.measure.kind.set(Some(command::of(&parsed.statement)));
        if let Statement::Unsupported(what) = parsed.statement {
            return Err(SqlError::not_supported(what));
        }
        if !parsed.statement.facts().prepared {
            return Err(SqlError::new(
                er::UNSUPPORTED_PS,
                "This command is not supported in the prepared statement protocol yet",
            ));
        }
        if matches!(parsed.statement, Statement::Kill { .. }) && parsed.param_count > 0 {
            return Err(SqlError::new(
                er::DYNAMIC_PARAMETERS_IN_DML_ONLY,
                "Dynamic parameters can only be used in DML statements.",
            ));
        }
        hold(sql.len() as u64)?;
        let counted = Counted::new(&self.state.database)?;
        const PARAMS_MAX: usize = 65_535;
        if parsed.param_count > PARAMS_MAX {
            return Err(SqlError::new(
                er::PS_MANY_PARAM,
                "Prepared statement contains too many placeholders",
            ));
        }
        Ok(PreparedStatement {
            statement: Arc::new(parsed.statement),
            hints: parsed.hints.map(Arc::from),
            param_count: parsed.param_count,
            plans: Kept::default(),
            parameters: ParamTypes::default(),
            about: About {
                verb: "EXECUTE",
                text: sql.into(),
                run: None,
            },
            meter: None,
            counted,
        })
    }

    pub(super) fn prepare_binary(&mut self, sql: &[u8]) -> Result<Prepared> {
        self.state.begin_memory();
        self.state.read_clock();
        self.clear_diagnostics();
        self.state.process.counters.add_command(command::STMT_PREPARE);
        self.measure_statement();
        let prepared = self.prepare_new(sql);
        let about = About {
            verb: "PREPARE",
            text: sql.into(),
            run: None,
        };
        let parsed = self.measure.kind.get();
        let meter = parsed.and_then(|_| self.meter_about(&about, command::COM_PREPARE));
        self.tell(command::COM_PREPARE, meter.as_ref(), prepared.as_ref().err(), sql);
        let mut prepared = prepared.inspect_err(|error| self.note_error(error))?;
        let columns = self.columns_of(&prepared);
        let id = self.statements.next_id();
        prepared.list(&self.state, (id, None), self.measure.took_nanos());
        let results = self.state.results_collation();
        let of_texts = results.unwrap_or(Collation::DEFAULT);
        let param = |at: usize| {
            let place = prepared.parameters.places.get(at).copied().unwrap_or_default();
            ColumnMeta::of_expression("?", &place.kind.sql_type(of_texts), results)
        };
        let answer = Prepared {
            id,
            params: (0..prepared.param_count).map(param).collect(),
            columns,
            warnings: self.state.warnings.count(),
        };
        self.statements.binary.insert(id, Box::new(prepared));
        Ok(answer)
    }

    /// Parses, and plans what is planned, so that errors are found now.
    fn prepare_new(&mut self, sql: &[u8]) -> Result<PreparedStatement> {
        let mut prepared = self.parse_one(sql)?;
        if !prepared.statement.is_planned() {
            return Ok(prepared);
        }
        if self.state.settings.trace.enabled {
            self.state.traces.borrow_mut().begin(&prepared.about.text);
        }
        let unbound = Params::of_prepared(prepared.param_count);
        let mut ready = match prepared.hints.clone() {
            None => self.in_own_schema(&prepared.statement, |session| {
                session.ready(&prepared.statement, unbound)
            })?,
            Some(hints) => self.with_hints(&hints, |session| {
                session.in_own_schema(&prepared.statement, |session| {
                    session.ready(&prepared.statement, unbound)
                })
            })?,
        };
        // Planned without parameters; whether it serves some is for the plan to say.
        ready.fresh = prepared.param_count == 0;
        ready.plan.warn_of_deprecated(&self.state);
        prepared.parameters = ParamTypes::of(&ready, prepared.param_count);
        prepared.plans.add(ready);
        // What is kept is there now: tree, plan and text.
        hold(0)?;
        Ok(prepared)
    }

    fn columns_of(&self, prepared: &PreparedStatement) -> Vec<ColumnMeta> {
        if let Some(ready) = &prepared.plans.current {
            return ready.plan.columns().unwrap_or_default().to_vec();
        }
        match &*prepared.statement {
            Statement::Show(show) => crate::show::columns(&self.state, show),
            Statement::Describe { .. } => crate::show::describe_columns(&self.state),
            _ => Vec::new(),
        }
    }

    pub(super) fn execute_binary(
        &mut self,
        id: u32,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        let Some(mut prepared) = self.statements.binary.remove(&id) else {
            return Err(SqlError::unknown_statement(id));
        };
        self.show_command("Execute", &prepared.about.text);
        if let Some(meter) = prepared.meter.as_ref().filter(|_| COUNTED) {
            meter.approach();
        }
        self.measure_statement();
        self.state.process.counters.add_command(command::STMT_EXECUTE);
        self.is_binary = true;
        let result = self.execute_prepared(&mut prepared, params, out);
        self.is_binary = false;
        let PreparedStatement { about, meter, .. } = &mut *prepared;
        self.tell_prepared((id, about), meter, result.as_ref().err());
        self.statements.binary.insert(id, prepared);
        self.finish_statement();
        result
    }

    fn execute_prepared(
        &mut self,
        prepared: &mut PreparedStatement,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        self.begin_question();
        if params.len() != prepared.param_count {
            return Err(SqlError::wrong_arguments("EXECUTE"));
        }
        if !prepared.parameters.are_right(&self.state) {
            self.derive_again(prepared);
        }
        match prepared.parameters.convert(params) {
            false => self.run_prepared(prepared, params, false, out),
            true => self.run_converted(prepared, params, out),
        }
    }

    /// Runs it with what the values are converted to. What the conversion warns of is kept.
    #[cold]
    fn run_converted(
        &mut self,
        prepared: &mut PreparedStatement,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        self.clear_diagnostics();
        let converted = self
            .converted(prepared, params)
            .inspect_err(|error| self.note_error(error))?;
        self.run_prepared(prepared, &converted, true, out)
    }

    /// Runs it with these values. `warned`: the diagnostics are this execution's already.
    #[inline(always)]
    fn run_prepared(
        &mut self,
        prepared: &mut PreparedStatement,
        params: &[Value],
        warned: bool,
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        let statement = Arc::clone(&prepared.statement);
        let given = Params {
            values: params,
            places: &prepared.parameters.places,
            ..Params::default()
        };
        if self.state.settings.trace.enabled {
            self.state.traces.borrow_mut().begin(&prepared.about.text);
        }
        self.measure.is_reprepared.set(false);
        let result = if let Some(hints) = prepared.hints.clone() {
            if !warned {
                self.clear_diagnostics();
            }
            self.with_hints(&hints, |session| match statement.is_planned() {
                true => session.in_own_schema(&statement, |session| {
                    session.run_kept(&mut prepared.plans, &statement, given, &mut Receiver::Sink(out))
                }),
                false => session.carry_out(&statement, params, out),
            })
        } else if statement.is_planned() {
            if !warned {
                self.clear_diagnostics();
            }
            self.in_own_schema(&statement, |session| {
                session.run_kept(&mut prepared.plans, &statement, given, &mut Receiver::Sink(out))
            })
        } else {
            self.run_statement(&statement, params, out)
        };
        if self.measure.is_reprepared.get()
            && let Some(instance) = &prepared.about.run
        {
            instance.reprepared();
        }
        result.inspect_err(|error| self.note_error(error))
    }

    /// Derives the types of the parameters again, after a definition that they come from has changed. If the statement cannot be planned any
    /// more, its execution says why.
    #[cold]
    fn derive_again(&mut self, prepared: &mut PreparedStatement) {
        let unbound = Params::of_prepared(prepared.param_count);
        let ready = self.in_own_schema(&prepared.statement, |session| {
            session.ready(&prepared.statement, unbound)
        });
        if let Ok(ready) = ready {
            prepared.parameters = ParamTypes::of(&ready, prepared.param_count);
        }
    }

    /// The values to bind in place of those that were sent.
    #[cold]
    fn converted(&self, prepared: &PreparedStatement, params: &[Value]) -> Result<Vec<Value>> {
        let mut env = self.state.env(&NoSubqueries, &[]);
        env.writes = prepared.parameters.is_strict;
        let mut converted = Vec::with_capacity(params.len());
        for (at, value) in params.iter().enumerate() {
            let place = prepared.parameters.places.get(at).copied().unwrap_or_default();
            let _room = match value {
                Value::Str(text) => reserve_memory(text.len())?,
                _ => Reservation::NONE,
            };
            converted.push(place.convert(value.clone(), &env)?);
            check_memory()?;
        }
        Ok(converted)
    }

    pub(super) fn prepare_text(&mut self, name: &str, source: &PrepareSource) -> Result<Answer> {
        let text = match source {
            PrepareSource::Text(text) => text.clone(),
            PrepareSource::UserVar(variable) => match self.state.user_variable(variable) {
                None | Some(Value::Null) => b"NULL".to_vec(),
                Some(value) => value.to_text().into_owned(),
            },
        };
        self.state.process.counters.add_command(command::STMT_PREPARE);
        let key = name.to_lowercase();
        self.statements.text.remove(&key);
        let prepared = self.prepare_new(&text);
        let about = About {
            verb: "PREPARE",
            text: text.into(),
            run: None,
        };
        self.measure.is_about(command::PREPARE_SQL, about);
        let mut prepared = prepared?;
        let nanos = Tick::now().nanos_since(self.measure.began());
        let id = self.statements.next_id();
        prepared.list(&self.state, (id, Some(name)), nanos);
        self.statements.text.insert(key, prepared);
        let info = "Statement prepared".to_owned();
        Ok(Answer::Ok(crate::context::Done {
            info,
            ..Default::default()
        }))
    }

    pub(super) fn execute_text(
        &mut self,
        name: &str,
        using: &[String],
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        let key = name.to_lowercase();
        let unknown = || {
            SqlError::new(
                er::UNKNOWN_STMT_HANDLER,
                format!("Unknown prepared statement handler ({name}) given to EXECUTE"),
            )
        };
        let mut prepared = self.statements.text.remove(&key).ok_or_else(unknown)?;
        let about = prepared.about.clone();
        self.state.process.counters.add_command(command::STMT_EXECUTE);
        let params = self.values_of(using);
        let result = params.and_then(|params| self.execute_prepared(&mut prepared, &params, out));
        for parameter in std::mem::take(&mut self.out_parameters) {
            if let Some(name) = using.get(parameter.at) {
                self.state.set_user_variable(name, parameter.value)?;
            }
        }
        self.statements.text.insert(key, prepared);
        self.measure.is_about(command::EXECUTE_SQL, about);
        result
    }

    /// The values of user variables. Error 3170 where they are more than may be taken.
    fn values_of(&self, names: &[String]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(names.len());
        for name in names {
            let value = self.state.user_variable(name).unwrap_or(Value::Null);
            check_memory()?;
            values.push(value);
        }
        Ok(values)
    }

    pub(super) fn deallocate(&mut self, name: &str) -> Result<Answer> {
        match self.statements.text.remove(&name.to_lowercase()) {
            Some(prepared) => {
                self.state.process.counters.add_command(command::STMT_CLOSE);
                let about = About {
                    verb: "DEALLOCATE",
                    text: Arc::clone(&prepared.about.text),
                    run: None,
                };
                self.measure.is_about(command::DEALLOC_SQL, about);
                Ok(Answer::ok())
            }
            None => Err(SqlError::new(
                er::UNKNOWN_STMT_HANDLER,
                format!("Unknown prepared statement handler ({name}) given to DEALLOCATE PREPARE"),
            )),
        }
    }

    fn begin_question(&mut self) {
        if !self.is_in_program() {
            self.state.count(Counter::Questions, 1);
            self.state.note_statement();
            self.state.begin_memory();
        }
        self.state.read_clock();
    }

    /// What plans depend on has changed.
    pub(super) fn forget_plans(&mut self) {
        self.state.planning_changes();
        self.plans.clear();
        self.forget_meters();
        for prepared in self
            .statements
            .binary
            .values_mut()
            .map(|prepared| &mut **prepared)
            .chain(self.statements.text.values_mut())
        {
            prepared.plans.forget();
        }
    }

    /// The current database has changed, to which meters belong, or how texts are read.
    pub(super) fn forget_meters(&mut self) {
        self.measure.forget_meters();
        self.statements
            .binary
            .values_mut()
            .for_each(|prepared| prepared.meter = None);
    }
}

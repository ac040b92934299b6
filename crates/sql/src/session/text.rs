//! A text of statements, one after the other: each is recognised by its shape and run from a cached plan, or parsed.

use super::Session;
use super::run::Ran;
use crate::context::{Counter, ResultSink, capability};
use crate::ddl::server_tables;
use crate::error::{Result, SqlError, er};
use crate::exec::Receiver;
use crate::expr::Params;
use crate::monitor::refused::{self, Refused};
use crate::parse::{Parsed, expect_single, parse_shape};
use crate::plan::ready::ReadyPlan;
use crate::statements::Meter;
use crate::statements::setup::Consumer;
use crate::types::Value;
use std::ops::Range;
use tidemark_engine::{COUNTED, failpoint};

/// Errors of what a statement means as a whole, which is looked at when the constants of its conditions have been.
const OF_WHOLE_STATEMENT: [u16; 10] = [
    er::WRONG_FIELD_WITH_GROUP,
    er::MIX_OF_GROUP_FUNC_AND_FIELDS,
    er::CANT_UPDATE_USED_TABLE,
    er::COLLATION_CHARSET_MISMATCH,
    er::CANT_AGGREGATE_2COLLATIONS,
    er::CANT_AGGREGATE_3COLLATIONS,
    er::CANT_AGGREGATE_NCOLLATIONS,
    er::WINDOW_RANGE_FRAME_ORDER_TYPE,
    er::WINDOW_RANGE_FRAME_NUMERIC_TYPE,
    er::WINDOW_RANGE_FRAME_TEMPORAL_TYPE,
];

impl Session {
    pub(super) fn run_text(&mut self, sql: &[u8], out: &mut dyn ResultSink) -> Result<()> {
        let mut start = 0;
        loop {
            self.count_question();
            self.measure_statement();
            let ran = self.run_next(sql, start, out);
            let end = *ran.as_ref().unwrap_or(&sql.len());
            self.tell_rest(sql, start, end, ran.as_ref().err());
            let next = ran.inspect_err(|error| self.note_error(error))?;
            if next >= sql.len() {
                return Ok(());
            }
            out.texts_in(self.state.settings.character_set_results);
            start = next;
            if self.state.process.is_interrupted() {
                return Err(SqlError::interrupted());
            }
        }
    }

    fn count_question(&mut self) {
        self.state.count(Counter::Questions, 1);
        self.state.statement_id.set(self.state.statement_id.get() + 1);
        self.state.note_statement();
        self.state.read_clock();
        self.state.begin_memory();
    }

    pub(super) fn note_error(&self, error: &SqlError) {
        self.state.fail(error);
        if matches!(error.code, er::LOCK_WAIT_TIMEOUT | er::LOCK_DEADLOCK) {
            self.note_refused(error.code);
        }
        if self.state.collected().has(Consumer::Global) {
            let (process, micros) = (&self.state.process, self.state.now_micros.get());
            process.errors.add(error.code, micros);
            let account = process.counted_as.lock();
            self.state.database.errors.add(&account, error.code, micros);
        }
    }

    /// Adds to the error of a lock that was not granted what was in its way.
    #[cold]
    fn note_refused(&self, code: u16) {
        let refused = match code {
            er::LOCK_DEADLOCK => self.state.process.take_deadlock().map(Refused::Deadlock),
            _ => Some(Refused::Row(self.txn.take_refused())),
        };
        let definition = self.state.locks.take_refused();
        let refused = match definition.is_empty() {
            true => refused,
            false => Some(Refused::Definition(definition)),
        };
        if let Some(text) = refused.and_then(|refused| refused::explain(&self.state, code, &refused)) {
            self.state.warnings.note(SqlError::new(code, text));
        }
    }

    pub(super) fn clear_diagnostics(&self) {
        self.state.clear();
    }

    /// Runs the statement that begins at `start`; returns where the next one begins.
    fn run_next(&mut self, sql: &[u8], start: usize, out: &mut dyn ResultSink) -> Result<usize> {
        failpoint::reach("parse");
        let mode = self.state.settings.sql_mode;
        let week_format = self.state.settings.default_week_format;
        let traces = self.state.settings.trace.enabled;
        if !traces && self.is_well_formed(sql) && self.plans.shape.scan(sql, start, mode) {
            let next = self.following(sql, self.plans.shape.next())?;
            announce(sql, start..next, out);
            self.plans.shape.values(sql, mode, &mut self.plans.values);
            if let Some(&at) = self.plans.index.get(self.plans.shape.key())
                && let Some(mut ready) = self.plans.plans[at].current.take()
            {
                self.clear_diagnostics();
                if let Some(meter) = ready.meter.as_ref().filter(|_| COUNTED) {
                    meter.approach();
                }
                ready.plan.warn_of_deprecated(&self.state);
                let values = std::mem::take(&mut self.plans.values);
                self.state.params_are_literals.set(true);
                let ran = self.run_ready(&mut ready, &values, &mut Receiver::Sink(out));
                self.state.params_are_literals.set(false);
                self.plans.values = values;
                if matches!(ran, Ok(Ran::Done) | Err(_)) {
                    self.tell_ready(&mut ready, ran.as_ref().err(), sql, start..next);
                }
                if let Some(kept) = self.plans.plans.get_mut(at) {
                    kept.current = Some(ready);
                }
                match ran? {
                    Ran::Done => return Ok(next),
                    Ran::OtherValues if self.run_other_at(at, sql, start..next, out)? => return Ok(next),
                    Ran::OtherValues => {}
                    Ran::Stale => {
                        self.plans.plans[at].forget();
                        self.plans.index.remove(self.plans.shape.key());
                    }
                }
            }
            let refused = self.plans.refused.contains(self.plans.shape.key());
            let shaped = || parse_shape(sql, start, mode, week_format, self.plans.shape.offsets()).ok();
            if let Some(parsed) = (!refused).then(shaped).flatten()
                && !parsed.needs_literal
                && parsed.statement.is_planned()
                && !parsed.statement.facts().keeps_diagnostics
                && !server_tables::is_of_dump(&self.state, &parsed.statement)
                && self.run_shaped(&parsed, out)?
            {
                return Ok(next);
            }
        }
        let parsed =
            parse_shape(sql, start, mode, week_format, &[]).inspect_err(|_| self.clear_diagnostics())?;
        let next = self.following(sql, parsed.next)?;
        if parsed.param_count > 0 {
            return Err(SqlError::syntax("?", 1));
        }
        announce(sql, start..next, out);
        if traces {
            self.state.traces.borrow_mut().begin(&sql[start..parsed.next]);
        }
        match &parsed.hints {
            None => self.run_statement(&parsed.statement, &[], out)?,
            Some(hints) => {
                self.clear_diagnostics();
                self.with_hints(hints, |session| session.carry_out(&parsed.statement, &[], out))?
            }
        }
        Ok(next)
    }

    /// Takes note of a statement, the text in `range`, that was run by a plan that is kept.
    #[inline(always)]
    fn tell_ready(
        &mut self,
        ready: &mut ReadyPlan,
        error: Option<&SqlError>,
        sql: &[u8],
        range: Range<usize>,
    ) {
        if ready.meter.as_ref().is_none_or(Meter::is_stale) {
            ready.meter = self.meter(sql, range.start, ready.command);
        }
        self.tell(ready.command, ready.meter.as_ref(), error, &sql[range]);
    }

    /// Runs the statement, the text in `range`, by another plan of its shape, which is kept at `at`, than the current one. Returns false,
    /// with nothing done, if there is none for its literals; then none is kept that no longer serves.
    #[cold]
    fn run_other_at(
        &mut self,
        at: usize,
        sql: &[u8],
        range: Range<usize>,
        out: &mut dyn ResultSink,
    ) -> Result<bool> {
        let mut kept = std::mem::take(&mut self.plans.plans[at]);
        let Some(current) = kept.current.as_mut() else {
            return Ok(false);
        };
        let values = std::mem::take(&mut self.plans.values);
        self.state.params_are_literals.set(true);
        let ran = self.run_other((current, &mut kept.others), &values, &mut Receiver::Sink(out));
        self.state.params_are_literals.set(false);
        self.plans.values = values;
        if matches!(ran, Ok(Ran::Done) | Err(_)) {
            self.tell_ready(current, ran.as_ref().err(), sql, range);
        }
        match ran {
            Ok(Ran::Stale) => {
                self.plans.index.remove(self.plans.shape.key());
            }
            _ => {
                if let Some(slot) = self.plans.plans.get_mut(at) {
                    *slot = kept;
                }
            }
        }
        Ok(matches!(ran?, Ran::Done))
    }

    /// Whether the character sets of client and connection have all that is in a text. If not, the client is warned of the literals when they are
    /// bound, so that no plan is kept for another time.
    #[inline]
    fn is_well_formed(&self, sql: &[u8]) -> bool {
        let settings = &self.state.settings;
        let (client, charset) = (
            settings.character_set_client,
            settings.collation_connection.charset(),
        );
        charset.can_write(sql) && (client == charset || client.can_write(sql))
    }

    /// Where the statement after the one that ends at `end` begins; the text's length if there is none. The text has been
    /// trimmed, so whatever follows has a result of its own, comments too. Only a client that has announced several
    /// statements may send them: for others comments are ignored, and a second statement is error 1064.
    fn following(&self, sql: &[u8], end: usize) -> Result<usize> {
        if end < sql.len() && self.state.info.capabilities & capability::MULTI_STATEMENTS == 0 {
            expect_single(sql, end, self.state.settings.sql_mode)
                .inspect_err(|_| self.clear_diagnostics())?;
            return Ok(sql.len());
        }
        Ok(end)
    }

    /// Plans a statement whose literals are parameters, runs the plan and keeps it. Returns false, with nothing done, if the
    /// plan depends on what the literals are.
    fn run_shaped(&mut self, parsed: &Parsed, out: &mut dyn ResultSink) -> Result<bool> {
        self.clear_diagnostics();
        let values = std::mem::take(&mut self.plans.values);
        self.state.params_are_literals.set(true);
        let result = self.plan_shaped(parsed, &values, out);
        self.state.params_are_literals.set(false);
        self.plans.values = values;
        let Some(ready) = result? else {
            self.plans.refuse();
            return Ok(false);
        };
        self.plans.add(ready);
        Ok(true)
    }

    fn plan_shaped(
        &mut self,
        parsed: &Parsed,
        values: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<Option<ReadyPlan>> {
        let params = Params {
            typical: self.plans.wants_typical(),
            ..values.into()
        };
        let mut ready = match self.ready(&parsed.statement, params) {
            // That a literal beside a date is none is an error before those.
            Err(error) if OF_WHOLE_STATEMENT.contains(&error.code) => return Ok(None),
            ready => ready.inspect_err(|_| self.count_failed(&parsed.statement))?,
        };
        if ready.plan.depends_on_literals() {
            return Ok(None);
        }
        ready.plan.warn_of_deprecated(&self.state);
        let out = &mut Receiver::Sink(out);
        match self.run_ready(&mut ready, values, out)? {
            Ran::Done => Ok(Some(ready)),
            Ran::Stale | Ran::OtherValues => {
                self.plan_and_run_again(&parsed.statement, params, out).map(Some)
            }
        }
    }
}

/// Says to the sink whether the statement in `range` is followed by another of the text. One that is alone pays nothing for it.
#[inline]
fn announce(sql: &[u8], range: Range<usize>, out: &mut dyn ResultSink) {
    let more = range.end < sql.len();
    if more || range.start > 0 {
        out.more_follows(more);
    }
}

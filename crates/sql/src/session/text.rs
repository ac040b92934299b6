//! A text of statements, one after the other: each is recognised by its shape and run from a cached plan, or parsed.

use super::Session;
use super::dispatch::{is_planned, keeps_diagnostics};
use super::run::Ran;
use crate::context::{ResultSink, capability};
use crate::error::{Result, SqlError};
use crate::expr::WarningLevel;
use crate::parse::ast::Statement;
use crate::parse::{Parsed, parse, parse_shape};
use std::sync::atomic::Ordering;

impl Session {
    pub(super) fn run_text(&mut self, sql: &[u8], out: &mut dyn ResultSink) -> Result<()> {
        let mut start = 0;
        loop {
            self.count_question();
            let next = self
                .run_next(sql, start, out)
                .inspect_err(|error| self.note_error(error))?;
            if next >= sql.len() {
                return Ok(());
            }
            start = next;
            if self.state.process.is_interrupted() {
                return Err(SqlError::interrupted());
            }
        }
    }

    fn count_question(&mut self) {
        self.state
            .database
            .counters()
            .traffic
            .own()
            .questions
            .fetch_add(1, Ordering::Relaxed);
        self.state.statement_id.set(self.state.statement_id.get() + 1);
        self.state.read_clock();
    }

    pub(super) fn note_error(&self, error: &SqlError) {
        self.state.warnings.push(WarningLevel::Error, error.clone());
        self.state.error_count.set(self.state.error_count.get() + 1);
        self.state.row_count.set(-1);
    }

    pub(super) fn clear_diagnostics(&self) {
        self.state.warnings.clear();
        self.state.error_count.set(0);
    }

    /// Runs the statement that begins at `start`; answers where the next one begins.
    fn run_next(&mut self, sql: &[u8], start: usize, out: &mut dyn ResultSink) -> Result<usize> {
        let mode = self.state.settings.sql_mode;
        if self.plans.shape.scan(sql, start, mode) {
            let next = self.plans.shape.next();
            self.check_multi(sql, next)?;
            self.plans.shape.values(sql, mode, &mut self.plans.values);
            if let Some(&at) = self.plans.index.get(self.plans.shape.key())
                && let Some(mut ready) = self.plans.plans[at].take()
            {
                self.clear_diagnostics();
                let values = std::mem::take(&mut self.plans.values);
                let ran = self.run_ready(&mut ready, &values, next < sql.len(), out);
                self.plans.values = values;
                if let Some(slot) = self.plans.plans.get_mut(at) {
                    *slot = Some(ready);
                }
                if let Ran::Done = ran? {
                    return Ok(next);
                }
                self.plans.plans[at] = None;
                self.plans.index.remove(self.plans.shape.key());
            }
            let parsed = parse_shape(sql, start, mode, self.plans.shape.offsets());
            if let Ok(parsed) = parsed
                && !parsed.needs_literal
                && is_planned(&parsed.statement)
                && !keeps_diagnostics(&parsed.statement)
            {
                self.run_shaped(&parsed, next < sql.len(), out)?;
                return Ok(next);
            }
        }
        let parsed = parse(sql, start, mode)?;
        self.check_multi(sql, parsed.next)?;
        if parsed.param_count > 0 {
            return Err(SqlError::syntax("?", 1));
        }
        let more = parsed.next < sql.len();
        if matches!(parsed.statement, Statement::Empty) {
            // Nothing but comments: fine after a statement, an error by itself.
            if start == 0 && !more {
                self.clear_diagnostics();
                return Err(SqlError::empty_query());
            }
            return Ok(parsed.next);
        }
        self.run_statement(&parsed.statement, more, out)?;
        Ok(parsed.next)
    }

    /// A second statement needs the client's leave.
    fn check_multi(&self, sql: &[u8], next: usize) -> Result<()> {
        if next < sql.len() && self.state.info.capabilities & capability::MULTI_STATEMENTS == 0 {
            let rest = String::from_utf8_lossy(&sql[next..]);
            if !rest.trim().is_empty() {
                return Err(SqlError::syntax(rest.trim_start(), 1));
            }
        }
        Ok(())
    }

    /// Plans a statement whose literals are parameters, runs the plan and keeps it.
    fn run_shaped(&mut self, parsed: &Parsed, more: bool, out: &mut dyn ResultSink) -> Result<()> {
        self.clear_diagnostics();
        let values = std::mem::take(&mut self.plans.values);
        let result = self.plan_and_run(&parsed.statement, &values, more, out);
        self.plans.values = values;
        let ready = result?;
        self.plans.add(ready);
        Ok(())
    }
}

//! What each statement did, told to its digest, its kind and the session's history when it is over.
//!
//! A planned statement that runs again brings its meter along, so that nothing is normalised, looked up or locked for it; see
//! `statements` in the crate below. Others are normalised each time, but for short ones (`COMMIT`), whose meters are kept by their
//! texts. The clock is read once more than it was anyhow only between the statements of one text.

use super::Session;
use crate::context::{CountedBefore, command};
use crate::error::SqlError;
use crate::expr::digest_hash;
use crate::parse::{conceal, digest_text};
use crate::statements::history::Ended;
use crate::statements::{Figures, Meter};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Texts up to this length have their meters kept.
const SHORT: usize = 32;
/// So many of them.
const METERS_MAX: usize = 64;

/// What PREPARE, EXECUTE and DEALLOCATE are about: their digest is the prepared statement's, behind this word.
#[derive(Clone)]
pub(super) struct About {
    pub verb: &'static str,
    pub text: Arc<[u8]>,
}

/// The statement at hand, as far as it is measured.
pub(super) struct Measure {
    began: Instant,
    lock_nanos: u64,
    examined: u64,
    counted: CountedBefore,
    /// Its kind, once it is parsed.
    pub kind: Cell<Option<usize>>,
    about: RefCell<Option<About>>,
    /// It has been told of.
    told: bool,
    short: HashMap<Box<[u8]>, Meter>,
    /// The last statement of the command.
    last: Option<Ended>,
}

impl Default for Measure {
    fn default() -> Measure {
        Measure {
            began: Instant::now(),
            lock_nanos: 0,
            examined: 0,
            counted: CountedBefore::default(),
            kind: Cell::new(None),
            about: RefCell::new(None),
            told: false,
            short: HashMap::new(),
            last: None,
        }
    }
}

impl Measure {
    /// The statement at hand is about a prepared one.
    pub fn is_about(&self, kind: usize, about: About) {
        self.kind.set(Some(kind));
        *self.about.borrow_mut() = Some(about);
    }

    /// Meters are of the database that they were made in.
    pub fn forget_meters(&mut self) {
        self.short.clear();
    }
}

impl Session {
    /// A command begins.
    #[inline]
    pub(super) fn measure_command(&mut self, began: Instant) {
        self.measure.began = began;
        self.measure.lock_nanos = 0;
        self.measure.examined = 0;
    }

    /// A statement of it begins.
    #[inline]
    pub(super) fn measure_statement(&mut self) {
        let measure = &mut self.measure;
        measure.told = false;
        measure.kind.set(None);
        self.state.sent.set(0);
    }

    /// A statement is over: what it did is told to its meter. `text` is all of it.
    #[inline]
    pub(super) fn tell(&mut self, kind: usize, meter: Option<&Meter>, error: Option<&SqlError>, text: &[u8]) {
        let now = Instant::now();
        let state = &self.state;
        let measure = &mut self.measure;
        let lock_nanos = state.waited_for_locks().as_nanos() as u64;
        let examined = state.examined.get();
        let failed = error.is_some();
        let figures = Figures {
            nanos: now.saturating_duration_since(measure.began).as_nanos() as u64,
            lock_nanos: lock_nanos - measure.lock_nanos,
            errors: u64::from(failed),
            warnings: u64::from(state.warnings.count()),
            affected: if failed {
                0
            } else {
                state.row_count.get().max(0) as u64
            },
            sent: if failed { 0 } else { state.sent.get() },
            examined: examined - measure.examined,
            rare: state.process.counters.of_statement(&mut measure.counted),
        };
        (measure.lock_nanos, measure.examined) = (lock_nanos, examined);
        measure.told = true;
        if let Some(sums) = state.process.kinds.of(kind) {
            sums.add(&figures);
        }
        if let Some(meter) = meter {
            meter.add(&figures, state.now_micros.get(), || conceal(text).into_owned());
        }
        measure.last = Some(Ended {
            kind,
            digest: meter.map_or(0, Meter::digest_id),
            began: measure.began,
            figures,
            has_rows: state.row_count.get() == -1,
            error: error.map(|error| Box::new(error.clone())),
        });
        measure.began = now;
    }

    /// A statement is over that may not have been told of: one that had no plan at hand, or that failed.
    #[inline]
    pub(super) fn tell_rest(&mut self, sql: &[u8], start: usize, end: usize, error: Option<&SqlError>) {
        if !self.measure.told {
            self.tell_unplanned(sql, start, end, error);
        }
        if end < sql.len()
            && error.is_none()
            && let Some(ended) = self.measure.last.take()
        {
            self.state.process.end_one_of_several(ended, &sql[start..end]);
        }
    }

    #[inline(never)]
    fn tell_unplanned(&mut self, sql: &[u8], start: usize, end: usize, error: Option<&SqlError>) {
        let text = &sql[start..end.max(start)];
        let about = self.measure.about.take();
        let Some(kind) = self.measure.kind.get() else {
            return self.tell(command::ERROR, None, error, text);
        };
        let kept = self.measure.short.remove(text).filter(|meter| !meter.is_stale());
        let meter = match (kept, &about) {
            (_, Some(about)) => self.meter_about(about),
            (Some(meter), None) => Some(meter),
            (None, None) => self.meter(sql, start),
        };
        let text = about.as_ref().map_or(text, |about| &about.text);
        let is_short = about.is_none() && text.len() <= SHORT && self.measure.short.len() < METERS_MAX;
        self.tell(kind, meter.as_ref(), error, text);
        if let Some(meter) = meter.filter(|_| is_short) {
            self.measure.short.insert(text.into(), meter);
        }
        // The history has the text of the prepared statement, not of what ran it.
        if let Some(about) = about
            && let Some(ended) = self.measure.last.take()
        {
            self.state.process.end_one_of_several(ended, &about.text);
        }
    }

    /// A prepared statement has run.
    #[inline]
    pub(super) fn tell_prepared(
        &mut self,
        about: &About,
        meter: &mut Option<Meter>,
        error: Option<&SqlError>,
    ) {
        if meter.as_ref().is_none_or(Meter::is_stale) {
            *meter = self.meter_about(about);
        }
        self.tell(command::COM_EXECUTE, meter.as_ref(), error, &about.text);
    }

    /// What is kept of the last statement of a command that is over.
    #[inline]
    pub(super) fn take_last(&mut self) -> Option<Ended> {
        self.measure.last.take()
    }

    /// When the last statement was over.
    #[inline]
    pub(super) fn told_at(&self) -> Instant {
        self.measure.began
    }

    /// The meter of the statement that begins at `start`. None of a text that is no statement.
    pub(super) fn meter(&self, sql: &[u8], start: usize) -> Option<Meter> {
        let mode = self.state.settings.sql_mode;
        let text = digest_text(sql, start, mode, self.state.digest_length_max()).ok()?;
        self.meter_of(&text)
    }

    pub(super) fn meter_about(&self, about: &About) -> Option<Meter> {
        let mode = self.state.settings.sql_mode;
        let text = digest_text(&about.text, 0, mode, self.state.digest_length_max()).ok()?;
        self.meter_of(&format!("{} {text}", about.verb))
    }

    fn meter_of(&self, text: &str) -> Option<Meter> {
        let hash = digest_hash(text);
        let schema = self.state.schema.as_deref();
        (!text.is_empty()).then(|| self.state.database.digests.meter(schema, text, hash))
    }
}

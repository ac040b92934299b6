//! What each statement did, told to its digest, its kind and the session's history when it is over.
//!
//! A planned statement that runs again brings its meter along, so that nothing is normalised, looked up or locked for it; see
//! `statements` in the crate below. Others are normalised each time, but for short ones (`COMMIT`), whose meters are kept by their
//! texts. The clock is read once more than it was anyhow only between the statements of one text.

use super::Session;
use crate::context::command;
use crate::error::SqlError;
use crate::expr::digest_hash;
use crate::parse::{conceal, digest_text};
use crate::spans::{Parent, Span};
use crate::statements::Meter;
use crate::statements::history::Ended;
use crate::statements::prepared::Instance;
use crate::statements::setup::{Collected, Consumer, Counted, Instrument};
use crate::statements::transactions::Over;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_engine::{COUNTED, Tick};

/// Texts up to this length have their meters kept.
const SHORT: usize = 32;
/// So many of them.
const METERS_MAX: usize = 64;

/// What PREPARE, EXECUTE and DEALLOCATE are about: their digest is the prepared statement's, behind this word.
#[derive(Clone)]
pub(super) struct About {
    pub verb: &'static str,
    pub text: Arc<[u8]>,
    /// The prepared statement that has been run.
    pub run: Option<Arc<Instance>>,
}

/// The statement at hand, as far as it is measured.
pub(super) struct Measure {
    /// When the command that comes next has arrived, if that is known.
    pub arrived: Option<Tick>,
    /// When the command's last statement ended, until something else is done.
    pub just_ended: Option<Tick>,
    command_began: Tick,
    /// When the statement at hand began, or, behind it, when it ended.
    began: Tick,
    lock_nanos: u64,
    examined: u64,
    /// Its kind, once it is parsed.
    pub kind: Cell<Option<usize>>,
    about: RefCell<Option<About>>,
    /// A prepared statement has been planned anew.
    pub is_reprepared: Cell<bool>,
    /// It has been told of.
    told: bool,
    short: HashMap<Box<[u8]>, Meter>,
    /// What was told of last.
    ended: Ended,
    /// The prepared statement that has its text, if it is the command itself that runs one.
    text_of: Option<NonZeroU64>,
    /// The history has it already, or is not to have it.
    is_kept: bool,
    /// A transaction that ended with the statement that was told of last.
    over: Option<Over>,
}

impl Default for Measure {
    fn default() -> Measure {
        let now = Tick::now();
        Measure {
            arrived: None,
            just_ended: None,
            command_began: now,
            began: now,
            lock_nanos: 0,
            examined: 0,
            kind: Cell::new(None),
            about: RefCell::new(None),
            is_reprepared: Cell::new(false),
            told: false,
            short: HashMap::new(),
            ended: Ended::none(),
            text_of: None,
            is_kept: true,
            over: None,
        }
    }
}

impl Measure {
    /// How long what was told of last took, in nanoseconds.
    pub fn took_nanos(&self) -> u64 {
        self.ended.figures.nanos
    }

    /// When the statement at hand began.
    pub fn began(&self) -> Tick {
        self.began
    }

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

/// What is asked for of a statement.
struct Asked {
    is_counted: bool,
    is_timed: bool,
    /// It is summed by its digest.
    by_digest: bool,
    /// The session's last statements have it.
    is_kept: bool,
}

impl Asked {
    const ALL: Asked = Asked {
        is_counted: true,
        is_timed: true,
        by_digest: true,
        is_kept: true,
    };

    #[cold]
    fn of(collected: Collected, counted: Counted) -> Asked {
        let is_counted = counted.is_enabled() && collected.has(Consumer::Global);
        Asked {
            is_counted,
            is_timed: counted.is_timed(),
            by_digest: is_counted && collected.has(Consumer::Digests),
            is_kept: is_counted && collected.has(Consumer::StatementsCurrent),
        }
    }
}

/// A statement of several in one text, without what separates it from the others.
fn own_text(sql: &[u8], start: usize, end: usize) -> &[u8] {
    let text = sql[start..end.max(start)].trim_ascii_start();
    text.strip_suffix(b";").unwrap_or(text)
}

impl Session {
    /// A command begins.
    #[inline]
    pub(super) fn measure_command(&mut self, began: Tick) {
        self.measure.just_ended = None;
        self.measure.text_of = None;
        self.measure.command_began = began;
        self.measure.began = began;
        self.measure.lock_nanos = self.state.lock_nanos();
        self.measure.examined = 0;
    }

    /// From the command's beginning to the end of its last statement, in nanoseconds.
    #[inline]
    pub(super) fn command_nanos(&self) -> u64 {
        let measure = &self.measure;
        measure.began.nanos_since(measure.command_began)
    }

    /// A statement of it begins.
    #[inline]
    pub(super) fn measure_statement(&mut self) {
        let measure = &mut self.measure;
        measure.told = false;
        measure.kind.set(None);
        self.state.sent.set(0);
        if self.state.settings.profiling {
            self.state.profiler.begin(&self.state.process.waits);
        }
    }

    /// A statement that was profiled is over. What shows profiles, or has switched them off, is not kept.
    fn end_profile(&self, kind: usize, text: &[u8]) {
        let state = &self.state;
        if !state.settings.profiling || command::is_of_profiles(kind) {
            return state.profiler.discard();
        }
        let most = state.settings.profiling_history_size;
        state.profiler.end(&conceal(text), &state.process.waits, most);
    }

    /// A statement is over: what it did is told to its meter. `text` is all of it. Returns true if the meter has counted it.
    pub(super) fn tell(
        &mut self,
        kind: usize,
        meter: Option<&Meter>,
        error: Option<&SqlError>,
        text: &[u8],
    ) -> bool {
        self.tell_inline(kind, meter, error, text)
    }

    /// [`Session::tell`] as a part of what calls it, for prepared statements.
    #[inline(always)]
    fn tell_inline(
        &mut self,
        kind: usize,
        meter: Option<&Meter>,
        error: Option<&SqlError>,
        text: &[u8],
    ) -> bool {
        if !COUNTED {
            return true;
        }
        let now = Tick::now();
        let (state, measure) = (&self.state, &mut self.measure);
        let (lock_nanos, examined) = (state.lock_nanos(), state.examined.get());
        let affected = state.row_count.get();
        let ended = &mut measure.ended;
        ended.kind = kind;
        ended.began = measure.began;
        ended.has_rows = affected == -1;
        // Each where it stays: put together first, they would be moved.
        let figures = &mut ended.figures;
        figures.nanos = now.nanos_since(measure.began);
        figures.lock_nanos = lock_nanos - measure.lock_nanos;
        figures.warnings = u64::from(state.warnings.count());
        figures.affected = affected.max(0) as u64;
        figures.sent = state.sent.get();
        figures.examined = examined - measure.examined;
        figures.errors = 0;
        (measure.lock_nanos, measure.examined) = (lock_nanos, examined);
        if error.is_some() || ended.is_unusual() || state.process.counters.is_touched() {
            ended.begin_unusual(error);
            state.process.counters.of_statement(&mut ended.figures.rare);
        }
        let collected = state.collected();
        let asked = match collected.is_usual() {
            true => Asked::ALL,
            false => Asked::of(
                collected,
                state.database.setup.counted(Instrument::Statement(kind)),
            ),
        };
        if !asked.is_timed {
            (ended.figures.nanos, ended.figures.lock_nanos) = (0, 0);
        }
        let is_counted = asked.is_counted;
        let counting = meter.filter(|_| asked.by_digest);
        match counting {
            Some(meter) => {
                ended.digest = meter.digest_id();
                meter.add(&ended.figures, state.now_micros.get(), text);
            }
            None => {
                ended.digest = meter.filter(|_| !is_counted).map_or(0, Meter::digest_id);
                if is_counted {
                    state.process.kinds.add(kind, &ended.figures);
                }
            }
        }
        measure.told = true;
        measure.is_kept = !asked.is_kept;
        measure.began = now;
        if self.state.profiler.is_on() || self.state.database.spans.is_on() {
            self.tell_others(kind, meter, error, text);
        }
        counting.is_some()
    }

    /// Profiles and traces have what was told.
    #[cold]
    fn tell_others(&self, kind: usize, meter: Option<&Meter>, error: Option<&SqlError>, text: &[u8]) {
        if self.state.profiler.is_on() {
            self.end_profile(kind, text);
        }
        if self.state.database.spans.is_on() {
            self.send_span(meter, error, text);
        }
    }

    /// The statement that was told of is sent as a span, if its client asks for that.
    fn send_span(&self, meter: Option<&Meter>, error: Option<&SqlError>, text: &[u8]) {
        // A client that sends the attribute says by it, too, that the trace is not recorded.
        let parent = match self.state.query_attributes.find("traceparent") {
            Some(header) => header.and_then(Parent::of_header),
            None => Parent::of_text(text),
        };
        let Some(parent) = parent else {
            return;
        };
        let (state, ended) = (&self.state, &self.measure.ended);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos() as u64);
        let figures = &ended.figures;
        let name = command::event_name(ended.kind);
        state.database.spans.send(Span {
            parent,
            operation: name.rsplit('/').next().unwrap_or_default().to_owned(),
            schema: state.schema.clone(),
            text: meter.and_then(Meter::text).map(str::to_owned),
            began_nanos: now.saturating_sub(figures.nanos),
            ended_nanos: now,
            lock_nanos: figures.lock_nanos,
            examined: figures.examined,
            sent: figures.sent,
            affected: figures.affected,
            error: error.map(|error| (error.code, error.message.clone())),
            connection: state.info.connection_id,
        });
    }

    /// A transaction is over, which is told at the end of the command, with its last statement.
    #[inline]
    pub(super) fn transaction_over(&mut self, over: Over) {
        if !COUNTED {
            return;
        }
        self.tell_transaction();
        self.measure.over = Some(over);
    }

    /// What was said to be over is not, since its commit has failed.
    #[cold]
    pub(super) fn transaction_not_over(&mut self) {
        self.measure.over = None;
    }

    /// A transaction that ended outside of a statement.
    #[inline]
    pub(super) fn tell_transaction(&mut self) {
        if let Some(over) = &self.measure.over {
            let at = self.measure.began;
            self.state.process.end_transaction(over, at, self.state.told());
            self.measure.over = None;
        }
    }

    /// A statement is over that may not have been told of: one that had no plan at hand, or that failed.
    #[inline]
    pub(super) fn tell_rest(&mut self, sql: &[u8], start: usize, end: usize, error: Option<&SqlError>) {
        if !COUNTED {
            return;
        }
        if !self.measure.told {
            self.tell_unplanned(sql, start, end, error);
        }
        if start > 0 || end < sql.len() {
            self.keep(own_text(sql, start, end));
        }
    }

    #[inline(never)]
    fn tell_unplanned(&mut self, sql: &[u8], start: usize, end: usize, error: Option<&SqlError>) {
        let text = own_text(sql, start, end);
        let about = self.measure.about.take();
        let Some(kind) = self.measure.kind.get() else {
            self.tell(command::ERROR, None, error, text);
            return;
        };
        let kept = self
            .measure
            .short
            .remove(text)
            .filter(|meter| !meter.is_stale() && meter.kind() == kind);
        let meter = match (kept, &about) {
            (_, Some(about)) => self.meter_about(about, kind),
            (Some(meter), None) => Some(meter),
            (None, None) => self.meter(sql, start, kind),
        };
        let text = about.as_ref().map_or(text, |about| &about.text);
        let is_short = about.is_none() && text.len() <= SHORT && self.measure.short.len() < METERS_MAX;
        self.tell(kind, meter.as_ref(), error, text);
        if let Some(meter) = meter.filter(|_| is_short) {
            self.measure.short.insert(text.into(), meter);
        }
        // The history has the text of the prepared statement, not of what ran it.
        if let Some(about) = about {
            if let Some(instance) = &about.run {
                instance.executed(&self.measure.ended.figures);
            }
            self.keep(&about.text);
        }
    }

    /// The prepared statement of this number has run.
    #[inline]
    pub(super) fn tell_prepared(
        &mut self,
        (id, about): (u32, &About),
        meter: &mut Option<Meter>,
        error: Option<&SqlError>,
    ) {
        if !COUNTED {
            return;
        }
        if meter.as_ref().is_none_or(Meter::is_stale) {
            let new = self.meter_about(about, command::COM_EXECUTE);
            *meter = match &about.run {
                Some(instance) => new.map(|meter| meter.of_instance(instance)),
                None => new,
            };
        }
        self.measure.text_of = NonZeroU64::new(id.into());
        let is_metered = self.tell_inline(command::COM_EXECUTE, meter.as_ref(), error, &about.text);
        if !is_metered && let Some(instance) = &about.run {
            instance.executed(&self.measure.ended.figures);
        }
    }

    /// Puts what was told of last into the history, with a text of its own, and the transaction that ended with it.
    fn keep(&mut self, text: &[u8]) {
        self.tell_transaction();
        let measure = &mut self.measure;
        if !std::mem::replace(&mut measure.is_kept, true) {
            self.state
                .process
                .end_one_of_several(&mut measure.ended, text, self.state.told());
        }
    }

    /// The command is over: the process list says so, and the history has its last statement.
    #[inline]
    pub(super) fn end_command(&mut self) {
        let measure = &mut self.measure;
        let is_kept = std::mem::replace(&mut measure.is_kept, true);
        let ended = (!is_kept).then_some((&mut measure.ended, measure.text_of));
        let (over, told) = (measure.over.as_ref(), self.state.told());
        self.state.process.end(measure.began, ended, over, told);
        measure.over = None;
        measure.just_ended = COUNTED.then_some(measure.began);
    }

    /// The meter of the statement that begins at `start`. None of a text that is no statement.
    pub(super) fn meter(&self, sql: &[u8], start: usize, kind: usize) -> Option<Meter> {
        let mode = self.state.settings.sql_mode;
        let text = digest_text(sql, start, mode, self.state.digest_length_max()).ok()?;
        self.meter_of(&text, kind)
    }

    pub(super) fn meter_about(&self, about: &About, kind: usize) -> Option<Meter> {
        let mode = self.state.settings.sql_mode;
        let text = digest_text(&about.text, 0, mode, self.state.digest_length_max()).ok()?;
        self.meter_of(&format!("{} {text}", about.verb), kind)
    }

    fn meter_of(&self, text: &str, kind: usize) -> Option<Meter> {
        if text.is_empty() {
            return None;
        }
        let schema = self.state.schema.as_deref();
        let counted = (&self.state.process.kinds, kind);
        let digests = &self.state.database.digests;
        Some(digests.meter(counted, schema, text, digest_hash(text)))
    }
}

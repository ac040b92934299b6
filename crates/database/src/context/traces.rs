//! The optimizer traces that a session keeps, for `information_schema.OPTIMIZER_TRACE`: why its last statements were planned as they were.
//!
//! Which are kept: with an `optimizer_trace_offset` of 0 or more, the `optimizer_trace_limit` from that one on, counted from when either was set;
//! with one below 0 the last so many, of which the first `optimizer_trace_limit` are shown. All texts together take
//! `optimizer_trace_max_mem_size` bytes; of what does not fit only the length is known.

use crate::variables::TraceSettings;
use std::collections::VecDeque;

/// A trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The statement.
    pub query: String,
    /// What the planner has considered, as JSON.
    pub text: String,
    /// Bytes for which there was no room.
    pub missing: u64,
    /// There are steps in it.
    pub has_steps: bool,
    /// So many of its last bytes, those missing included, close it.
    pub closing: u64,
    /// The statement reads something that the account may not look into: neither is shown.
    pub hidden: bool,
}

impl Trace {
    fn len(&self) -> u64 {
        (self.query.len() + self.text.len()) as u64
    }
}

/// The traces of a session.
#[derive(Debug, Default)]
pub struct Traces {
    /// The text of the statement at hand, while statements are traced.
    statement: String,
    kept: VecDeque<Trace>,
    /// How many there were since the kept ones were chosen.
    seen: u64,
    /// The last one is of the statement at hand, and goes on when that runs.
    goes_on: bool,
}

impl Traces {
    /// A statement is about to be planned.
    pub fn begin(&mut self, statement: &[u8]) {
        self.statement = String::from_utf8_lossy(statement).into_owned();
        self.goes_on = false;
    }

    /// The statement at hand.
    pub fn statement(&self) -> &str {
        &self.statement
    }

    /// How many bytes the next trace may have, its statement included; `None`: it is not to be kept.
    pub fn room(&self, settings: &TraceSettings) -> Option<u64> {
        let left = match u64::try_from(settings.offset) {
            Ok(from) if self.seen < from || self.seen - from >= settings.limit => return None,
            Ok(_) => 0,
            Err(_) => self.leaving(settings),
        };
        let taken: u64 = self.kept.iter().skip(left).map(Trace::len).sum();
        Some(settings.memory_max.saturating_sub(taken))
    }

    /// How many of the oldest the next one drives out, where the last are kept.
    fn leaving(&self, settings: &TraceSettings) -> usize {
        let most = settings.offset.unsigned_abs();
        (self.kept.len() as u64 + 1).saturating_sub(most) as usize
    }

    /// A statement that was not to be kept.
    pub fn skip(&mut self) {
        self.seen += 1;
    }

    /// Keeps one for which there is [room](Traces::room).
    pub fn add(&mut self, trace: Trace, settings: &TraceSettings) {
        self.seen += 1;
        if settings.offset < 0 {
            let left = self.leaving(settings);
            self.kept.drain(..left.min(self.kept.len()));
        }
        self.goes_on = !trace.hidden;
        self.kept.push_back(trace);
    }

    /// The statement at hand is about to run. Returns whether its trace has steps, and how many bytes those may have that follow; `None`:
    /// it has no trace, or has run.
    pub fn resume(&mut self, settings: &TraceSettings) -> Option<(bool, u64)> {
        if !std::mem::take(&mut self.goes_on) {
            return None;
        }
        let taken: u64 = self.kept.iter().map(Trace::len).sum();
        let trace = self.kept.back()?;
        // Of a text that is cut nothing more is shown.
        let room = match trace.missing {
            0 => settings.memory_max.saturating_sub(taken - trace.closing),
            _ => 0,
        };
        Some((trace.has_steps, room))
    }

    /// Goes on with the last trace: this stands in place of what closes it.
    pub fn go_on(&mut self, text: &str, missing: u64) {
        let Some(trace) = self.kept.back_mut() else { return };
        match trace.missing {
            0 => {
                trace.text.truncate(trace.text.len() - trace.closing as usize);
                trace.text.push_str(text);
                trace.missing = missing;
            }
            before => trace.missing = (before + missing).saturating_sub(trace.closing),
        }
    }

    /// Those that are shown.
    pub fn shown(&self, settings: &TraceSettings) -> impl Iterator<Item = &Trace> {
        self.kept
            .iter()
            .take(settings.limit.try_into().unwrap_or(usize::MAX))
    }

    /// Begins anew.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.seen = 0;
        self.goes_on = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(offset: i64, limit: u64) -> TraceSettings {
        TraceSettings {
            enabled: true,
            offset,
            limit,
            memory_max: 20,
            ..TraceSettings::default()
        }
    }

    fn run(traces: &mut Traces, settings: &TraceSettings, statements: std::ops::Range<u32>) {
        for n in statements {
            match traces.room(settings) {
                None => traces.skip(),
                Some(_) => {
                    let trace = Trace {
                        query: n.to_string(),
                        text: "{}".to_owned(),
                        missing: 0,
                        has_steps: false,
                        closing: 0,
                        hidden: false,
                    };
                    traces.add(trace, settings);
                }
            }
        }
    }

    fn shown(traces: &Traces, settings: &TraceSettings) -> Vec<String> {
        traces.shown(settings).map(|trace| trace.query.clone()).collect()
    }

    #[test]
    fn those_are_kept_that_offset_and_limit_say() {
        for (offset, limit, kept) in [
            (-1, 1, &["8"][..]),
            (-3, 2, &["6", "7"]),
            (-3, 9, &["6", "7", "8"]),
            (0, 2, &["0", "1"]),
            (2, 3, &["2", "3", "4"]),
            (8, 3, &["8"]),
            (9, 1, &[]),
            (0, 0, &[]),
            (i64::MIN, 2, &["0", "1"]),
        ] {
            let (mut traces, settings) = (Traces::default(), settings(offset, limit));
            run(&mut traces, &settings, 0..9);
            assert_eq!(shown(&traces, &settings), kept, "{offset}, {limit}");
        }
    }

    #[test]
    fn all_share_one_room() {
        let (mut traces, settings) = (Traces::default(), settings(-3, 3));
        assert_eq!(traces.room(&settings), Some(20));
        run(&mut traces, &settings, 0..2);
        assert_eq!(traces.room(&settings), Some(14));
        assert_eq!(traces.room(&settings), Some(14), "to ask drives nothing out");
        run(&mut traces, &settings, 2..3);
        assert_eq!(traces.room(&settings), Some(14));
        traces.clear();
        assert_eq!(traces.room(&settings), Some(20));
    }
}

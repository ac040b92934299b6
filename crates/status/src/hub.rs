//! One sampler for everybody who looks at the page.
//!
//! A thread takes a sample about once a second while there is a viewer, and sleeps while there is none. What it makes is text
//! already, shared by all viewers, so that ten of them cost little more than one.

use crate::figures::Figures;
use crate::picture::{Painter, unix_ms};
use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tidemark_database::Database;

/// More viewers than these are refused.
const VIEWERS_MAX: usize = 32;
const SAMPLE_EVERY: Duration = Duration::from_secs(1);
const SAMPLE_EVERY_MAX: Duration = Duration::from_secs(10);
/// The first sample after a pause compares with figures of so long before.
const FIRST_AFTER: Duration = Duration::from_millis(250);
/// A sample is followed by a rest of so many times its own length.
const REST: u32 = 100;
/// How many samples a new viewer is shown of the time before it came.
const PAST_MAX: usize = 60;

/// How long this thread has had a processor. Time in which others had it counts for nothing: on a machine with much to do a page
/// is wanted most. Zero where the system does not say.
fn processor_time() -> Duration {
    let said = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = said.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

#[derive(Default)]
pub struct Hub {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    viewers: usize,
    /// Counts the samples.
    number: u64,
    latest: Option<Arc<str>>,
    past: VecDeque<(u64, Value)>,
    is_stopping: bool,
}

/// What has come for a viewer.
pub enum Next {
    /// An event.
    Event(Arc<str>),
    /// None in that time.
    Nothing,
    /// There will be none any more: the server stops.
    End,
}

/// Somebody who looks; there is one less when this is dropped.
pub struct Viewer {
    hub: Arc<Hub>,
    seen: u64,
}

impl Hub {
    /// One more viewer; `None`: there are too many.
    pub fn view(self: &Arc<Hub>) -> Option<Viewer> {
        let mut state = self.state.lock();
        if state.viewers >= VIEWERS_MAX || state.is_stopping {
            return None;
        }
        state.viewers += 1;
        self.changed.notify_all();
        let hub = Arc::clone(self);
        Some(Viewer {
            hub,
            seen: state.number,
        })
    }

    /// Ends the sampler, and tells all viewers.
    pub fn stop(&self) {
        self.state.lock().is_stopping = true;
        self.changed.notify_all();
    }

    /// The sampler: until [`Hub::stop`].
    pub fn run(&self, database: &Database) {
        while self.wait_for_viewers() {
            let mut painter = Painter::default();
            let mut before = Figures::of(database);
            let mut rest = FIRST_AFTER;
            while self.rest(rest) {
                let began = processor_time();
                let now = Figures::of(database);
                let picture = painter.paint(database, &now, &before);
                self.publish(picture);
                before = now;
                let spent = processor_time().saturating_sub(began);
                rest = (spent * REST).clamp(SAMPLE_EVERY, SAMPLE_EVERY_MAX);
            }
        }
    }

    /// True once there is a viewer, false if this is to end.
    fn wait_for_viewers(&self) -> bool {
        let mut state = self.state.lock();
        while state.viewers == 0 && !state.is_stopping {
            self.changed.wait(&mut state);
        }
        !state.is_stopping
    }

    /// Waits; false if nobody looks any more.
    fn rest(&self, rest: Duration) -> bool {
        let deadline = Instant::now() + rest;
        let mut state = self.state.lock();
        while state.viewers > 0 && !state.is_stopping {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                return true;
            }
        }
        false
    }

    fn publish(&self, mut picture: Value) {
        let at_ms = unix_ms(SystemTime::now());
        picture["at_ms"] = json!(at_ms);
        let text = format!("event: sample\ndata: {picture}\n\n");
        let mut state = self.state.lock();
        state.number += 1;
        state.latest = Some(text.into());
        state.past.push_back((at_ms, picture["rates"].take()));
        if state.past.len() > PAST_MAX {
            state.past.pop_front();
        }
        self.changed.notify_all();
    }
}

impl Viewer {
    /// What was sampled before the viewer came, as an event.
    pub fn past(&self) -> String {
        let state = self.hub.state.lock();
        let past = state
            .past
            .iter()
            .map(|(at_ms, rates)| json!({"at_ms": at_ms, "rates": rates}));
        format!("event: past\ndata: {}\n\n", Value::Array(past.collect()))
    }

    /// Waits for the next event.
    pub fn next(&mut self, wait: Duration) -> Next {
        let deadline = Instant::now() + wait;
        let mut state = self.hub.state.lock();
        while state.number == self.seen && !state.is_stopping {
            if self.hub.changed.wait_until(&mut state, deadline).timed_out() {
                return Next::Nothing;
            }
        }
        self.seen = state.number;
        match state.latest.clone() {
            Some(event) if !state.is_stopping => Next::Event(event),
            _ => Next::End,
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.hub.state.lock().viewers -= 1;
        self.hub.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn viewers_are_counted_and_bounded() {
        let hub = Arc::new(Hub::default());
        let viewers: Vec<_> = (0..VIEWERS_MAX).map(|_| hub.view().unwrap()).collect();
        assert!(hub.view().is_none());
        drop(viewers);
        let mut viewer = hub.view().unwrap();
        hub.publish(json!({"rates": {"statements": 1.0}}));
        let Next::Event(event) = viewer.next(SAMPLE_EVERY) else {
            panic!("there is an event");
        };
        assert!(matches!(viewer.next(Duration::from_millis(1)), Next::Nothing));
        assert!(event.starts_with("event: sample\ndata: {") && event.contains("\"statements\":1.0"));
        assert!(viewer.past().contains("\"statements\":1.0"));
        hub.stop();
        assert!(matches!(viewer.next(SAMPLE_EVERY), Next::End) && hub.view().is_none());
    }
}

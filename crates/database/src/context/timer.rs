//! `max_execution_time`: ends queries that run too long. And ends those that say nothing while they run, if their client has left.
//!
//! One thread per server, started by the first query that has a limit, sleeps until the next alarm is due and then
//! interrupts that session's statement as KILL QUERY would. An alarm goes off under the mutex under which it is taken
//! back, so that once [`Alarm::stop`] has returned it cannot hit the statement after.

use super::process::Process;
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Timer {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By when they are due, and a number that tells apart those due together.
    due: BTreeMap<(Instant, u64), Due>,
    next: u64,
    running: bool,
    closed: bool,
}

/// What is done when the time has come.
enum Due {
    /// The statement ends.
    Limit(Weak<Process>),
    /// The session ends if its client has left, as long as there is the [`Watch`].
    Look(Weak<Process>, Weak<()>),
}

/// How often a client is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The session's client is looked after until this is dropped.
pub struct Watch {
    _lives: Arc<()>,
}

/// A query's limit.
pub struct Alarm {
    shared: Arc<Shared>,
    key: (Instant, u64),
    process: Arc<Process>,
}

impl Timer {
    /// The session's statement is to end after so much time.
    pub fn start(&self, process: &Arc<Process>, limit: Duration) -> Alarm {
        Alarm {
            shared: Arc::clone(&self.shared),
            key: self.add(limit, Due::Limit(Arc::downgrade(process))),
            process: Arc::clone(process),
        }
    }

    /// The session is to end once its client has left.
    pub fn watch_client(&self, process: &Arc<Process>) -> Watch {
        let lives = Arc::new(());
        self.add(
            LOOK_EVERY,
            Due::Look(Arc::downgrade(process), Arc::downgrade(&lives)),
        );
        Watch { _lives: lives }
    }

    fn add(&self, after: Duration, due: Due) -> (Instant, u64) {
        let mut state = self.shared.state.lock();
        let key = state.add(after, due);
        if !state.running {
            state.running = true;
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("statement-timer".to_owned());
            state.running = thread.spawn(move || watch(&shared)).is_ok();
        }
        self.shared.changed.notify_one();
        key
    }
}

impl State {
    fn add(&mut self, after: Duration, due: Due) -> (Instant, u64) {
        let key = (Instant::now() + after, self.next);
        self.next += 1;
        self.due.insert(key, due);
        key
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.changed.notify_one();
    }
}

impl Alarm {
    /// The statement is over; whether the alarm has gone off.
    pub fn stop(self) -> bool {
        let pending = self.shared.state.lock().due.remove(&self.key).is_some();
        if !pending {
            self.process.forget_interrupt();
        }
        !pending
    }
}

fn watch(shared: &Shared) {
    let mut state = shared.state.lock();
    while !state.closed {
        match state.due.first_key_value() {
            None => shared.changed.wait(&mut state),
            Some((&(at, _), _)) if at > Instant::now() => {
                shared.changed.wait_until(&mut state, at);
            }
            Some(_) => match state.due.pop_first() {
                Some((_, Due::Limit(process))) => {
                    if let Some(process) = process.upgrade() {
                        process.kill(true);
                    }
                }
                Some((_, Due::Look(process, lives))) => {
                    if let (Some(looked_after), Some(_)) = (process.upgrade(), lives.upgrade()) {
                        looked_after.end_if_abandoned();
                        state.add(LOOK_EVERY, Due::Look(process, lives));
                    }
                }
                None => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_engine::Interrupt;

    #[test]
    fn an_alarm_goes_off_once_and_only_while_its_statement_runs() {
        let timer = Timer::default();
        let interrupt = Arc::new(Interrupt::default());
        let process = Arc::new(Process::new(
            1,
            "u",
            "h".to_owned(),
            1,
            Arc::clone(&interrupt),
            None,
        ));
        process.begin("Query", b"SELECT 1", None);
        let alarm = timer.start(&process, Duration::from_secs(1000));
        assert!(!alarm.stop());
        assert!(!process.is_interrupted());

        let alarm = timer.start(&process, Duration::from_millis(1));
        while !process.is_interrupted() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(alarm.stop());
        assert!(!process.is_interrupted(), "the next statement is not meant");
    }
}

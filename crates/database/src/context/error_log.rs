//! The last lines of the server's log, for `performance_schema.error_log`. The program that writes the log tells them here too; they are
//! of the process, as the log is.

use parking_lot::Mutex;
use std::collections::VecDeque;

/// So many bytes of messages are kept at most.
const BYTES_MAX: usize = 1 << 20;

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Something is wrong.
    Error,
    /// Something may be wrong.
    Warning,
    /// Something is so.
    Note,
}

/// A line of the log.
#[derive(Clone, Debug)]
pub struct Logged {
    /// In microseconds since 1970 UTC; two lines never have the same moment.
    pub micros: i64,
    /// How much it matters.
    pub priority: Priority,
    /// It is of the engine.
    pub of_engine: bool,
    /// The message.
    pub message: String,
}

/// What is kept of the log.
#[derive(Default)]
pub struct ErrorLog {
    lines: VecDeque<Logged>,
    bytes: usize,
    expired: u64,
    last_micros: i64,
}

static LOG: Mutex<ErrorLog> = Mutex::new(ErrorLog {
    lines: VecDeque::new(),
    bytes: 0,
    expired: 0,
    last_micros: 0,
});

impl ErrorLog {
    fn put(&mut self, mut line: Logged) {
        line.micros = line.micros.max(self.last_micros + 1);
        self.last_micros = line.micros;
        self.bytes += line.message.len();
        self.lines.push_back(line);
        while self.bytes > BYTES_MAX
            && let Some(old) = self.lines.pop_front()
        {
            self.bytes -= old.message.len();
            self.expired += 1;
        }
    }

    /// The lines that are kept, oldest first.
    pub fn lines(&self) -> impl Iterator<Item = &Logged> {
        self.lines.iter()
    }

    /// Bytes of their messages.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many lines are kept no more.
    pub fn expired(&self) -> u64 {
        self.expired
    }

    /// When the last line was written, in microseconds since 1970 UTC; 0: none was.
    pub fn last_micros(&self) -> i64 {
        self.last_micros
    }
}

/// A line was written to the log.
pub fn note(line: Logged) {
    LOG.lock().put(line);
}

/// Does something with what is kept.
pub fn with<T>(f: impl FnOnce(&ErrorLog) -> T) -> T {
    f(&LOG.lock())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_lines_give_way_and_moments_differ() {
        let mut log = ErrorLog::default();
        for n in 0..5 {
            log.put(Logged {
                micros: 7,
                priority: Priority::Note,
                of_engine: false,
                message: n.to_string().repeat(BYTES_MAX / 4),
            });
        }
        assert_eq!((log.lines().count(), log.expired()), (4, 1));
        assert!(log.bytes() <= BYTES_MAX);
        let moments: Vec<i64> = log.lines().map(|line| line.micros).collect();
        assert_eq!((moments, log.last_micros()), (vec![8, 9, 10, 11], 11));
    }
}

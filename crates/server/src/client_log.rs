//! Lines in the server's log that single clients cause: at most so many a second from one host, and from all together.
//!
//! A stranger who can write the log can fill the disk with it, or have the lines that matter scroll away. What is left
//! out is counted by host, and the count is logged with the next line after that second, or when the server stops.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tidemark_sql::network::limited_as;

const WINDOW: Duration = Duration::from_secs(1);
/// So many hosts are told of by name when a second is over; the others are summed.
const HOSTS_NAMED_MAX: usize = 8;
/// So many hosts are counted apart in one second; the others count as one.
const HOSTS_MAX: usize = 256;

/// How many lines a second may have.
#[derive(Clone, Copy, Debug)]
pub struct LinesMax {
    pub of_host: u64,
    pub of_all: u64,
}

/// Lines about logins that came to nothing: anybody can cause them.
pub const REFUSED: LinesMax = LinesMax {
    of_host: 10,
    of_all: 50,
};
/// Lines about logins that succeeded. They are counted apart, so that refused ones cannot hide them.
pub const LOGGED_IN: LinesMax = LinesMax {
    of_host: 100,
    of_all: 400,
};

pub struct ClientLog {
    max: LinesMax,
    state: Mutex<Window>,
}

#[derive(Default)]
struct Window {
    since: Option<Instant>,
    written: u64,
    hosts: BTreeMap<String, Lines>,
}

#[derive(Default)]
struct Lines {
    written: u64,
    left_out: u64,
}

impl ClientLog {
    pub fn new(max: LinesMax) -> ClientLog {
        ClientLog {
            max,
            state: Mutex::default(),
        }
    }

    /// Logs a line that a client of this host causes, if the second still has room for it.
    pub fn note(&self, host: &str, line: impl FnOnce() -> String) {
        let (may, over) = self.count(host, Instant::now());
        log_left_out(over);
        if may {
            log::info!("{}", line());
        }
    }

    /// Logs how much was left out since the last line.
    pub fn flush(&self) {
        log_left_out(self.state.lock().end());
    }

    /// Whether a line may be written at this moment, and what was left out of a second that is over.
    fn count(&self, host: &str, now: Instant) -> (bool, Vec<(String, u64)>) {
        let mut state = self.state.lock();
        let is_over = |since: Instant| now.saturating_duration_since(since) >= WINDOW;
        let over = match state.since {
            Some(since) if !is_over(since) => Vec::new(),
            _ => state.end(),
        };
        let window = &mut *state;
        window.since.get_or_insert(now);
        let host = &*limited_as(host);
        let host = match window.hosts.len() < HOSTS_MAX || window.hosts.contains_key(host) {
            true => host,
            false => "other hosts",
        };
        let lines = window.hosts.entry(host.to_owned()).or_default();
        let may = lines.written < self.max.of_host && window.written < self.max.of_all;
        lines.written += u64::from(may);
        lines.left_out += u64::from(!may);
        window.written += u64::from(may);
        (may, over)
    }
}

impl Window {
    /// Ends the second, and returns how many lines of each host were left out in it.
    fn end(&mut self) -> Vec<(String, u64)> {
        let ended = std::mem::take(self);
        let left_out = ended
            .hosts
            .into_iter()
            .map(|(host, lines)| (host, lines.left_out));
        left_out.filter(|(_, count)| *count > 0).collect()
    }
}

fn log_left_out(mut hosts: Vec<(String, u64)>) {
    hosts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others: u64 = hosts.iter().skip(HOSTS_NAMED_MAX).map(|(_, count)| count).sum();
    for (host, count) in hosts.iter().take(HOSTS_NAMED_MAX) {
        log::info!("{count} more lines about clients of {host} are left out");
    }
    if others > 0 {
        let count = hosts.len() - HOSTS_NAMED_MAX;
        log::info!("{others} more lines about clients of {count} other hosts are left out");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: LinesMax = LinesMax {
        of_host: 3,
        of_all: 5,
    };

    #[test]
    fn lines_are_bounded_by_host_and_in_all_and_what_is_left_out_is_counted() {
        let log = ClientLog::new(MAX);
        let begin = Instant::now();
        let written = |host: &str, lines: usize, ms: u64| {
            let at = begin + Duration::from_millis(ms);
            (0..lines).filter(|_| log.count(host, at).0).count()
        };
        assert_eq!(written("a", 10, 0), 3);
        assert_eq!(written("b", 10, 500), 2, "the second has five lines");
        let (may, over) = log.count("b", begin + WINDOW);
        assert!(may);
        assert_eq!(over, [("a".to_owned(), 7), ("b".to_owned(), 8)]);
        assert_eq!(written("b", 10, 1001), 2);
        assert_eq!(log.state.lock().end(), [("b".to_owned(), 8)]);
    }

    #[test]
    fn hosts_that_are_counted_are_bounded() {
        let log = ClientLog::new(MAX);
        let now = Instant::now();
        for n in 0..10 * HOSTS_MAX {
            log.count(&n.to_string(), now);
        }
        let hosts = log.state.lock().end();
        assert!(hosts.len() <= HOSTS_MAX + 1);
        let left_out: u64 = hosts.iter().map(|(_, count)| count).sum();
        assert_eq!(left_out, 10 * HOSTS_MAX as u64 - MAX.of_all);
    }
}

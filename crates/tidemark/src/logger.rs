//! The server's log: one line per event on standard error, with its time.

use log::{Level, LevelFilter, Log, Metadata, Record};

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("tidemark")
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            let word = match record.level() {
                Level::Error => "Error",
                Level::Warn => "Warning",
                _ => "Note",
            };
            let now = jiff::Timestamp::now();
            eprintln!("{now:.6} [{word}] {}", record.args());
        }
    }

    fn flush(&self) {}
}

/// Begins to write the log. A second call changes nothing.
pub fn start() {
    if log::set_logger(&Stderr).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

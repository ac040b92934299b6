//! The server's log (`log_error`): one line per event with its time, on standard error or in a file.
//!
//! A file is opened anew by FLUSH LOGS and SIGHUP, so that it can be moved away.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

struct Logger {
    /// `None`: standard error.
    path: Option<PathBuf>,
    file: Mutex<Option<File>>,
}

fn open(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o640)
        .open(path)
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Info && metadata.target().starts_with("tidemark")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let word = match record.level() {
            Level::Error => "Error",
            Level::Warn => "Warning",
            _ => "Note",
        };
        let line = format!("{:.6} [{word}] {}\n", jiff::Timestamp::now(), record.args());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A log that cannot be written to is no reason to stop.
        let _ = match &mut *file {
            Some(file) => file.write_all(line.as_bytes()),
            None => io::stderr().write_all(line.as_bytes()),
        };
    }

    /// Opens the file anew.
    fn flush(&self) {
        let Some(path) = &self.path else { return };
        match open(path) {
            Ok(opened) => *self.file.lock().unwrap_or_else(PoisonError::into_inner) = Some(opened),
            Err(e) => log::error!("{} cannot be opened anew: {e}", path.display()),
        }
    }
}

/// Begins to write the log: to standard error, or to the end of a file. A second call changes nothing.
pub fn start(path: Option<PathBuf>) -> io::Result<()> {
    let file = path.as_ref().map(open).transpose()?;
    let logger = Logger {
        path,
        file: Mutex::new(file),
    };
    if log::set_boxed_logger(Box::new(logger)).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
    Ok(())
}

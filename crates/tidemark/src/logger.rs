//! The server's log (`log_error`): one line per event with its time, on standard error or in a file.
//!
//! Everything that the server says while it runs goes there, why it ends too. Where the log is a file, its starting, stopping and failing is
//! said on the terminal as well ([`tell`], [`tell_failure`]).
//!
//! A file is opened anew by FLUSH LOGS, FLUSH ERROR LOGS and SIGHUP, so that it can be moved away. A line is text as MySQL's traditional log
//! has it, or a JSON object with the names of MySQL's `log_sink_json`. In both the message is made printable first.

use log::{Level, LevelFilter, Log, Metadata, Record};
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, PoisonError};
use tidemark_sql::error_log::{self, Logged, Priority};

/// What a line looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Time, kind and message.
    #[default]
    Text,
    /// An object.
    Json,
}

impl Format {
    /// The format of that name; `None`: there is none.
    pub fn by_name(name: &str) -> Option<Format> {
        match name {
            "text" => Some(Format::Text),
            "json" => Some(Format::Json),
            _ => None,
        }
    }

    fn line(self, time: &str, level: Level, message: &str) -> String {
        let (priority, label) = match level {
            Level::Error => (1, "Error"),
            Level::Warn => (2, "Warning"),
            _ => (3, "Note"),
        };
        match self {
            Format::Text => format!("{time} [{label}] {message}\n"),
            Format::Json => {
                let object = json!({
                    "time": time,
                    "prio": priority,
                    "label": label,
                    "subsystem": "Server",
                    "msg": message,
                });
                format!("{object}\n")
            }
        }
    }
}

/// Where the log goes, once it has begun: true of a file, false of standard error.
static IN_A_FILE: OnceLock<bool> = OnceLock::new();

/// Says that something has come about, in the log and, where that is a file, to whoever looks at the terminal.
pub fn tell(message: &str) {
    log::info!("{message}");
    if IN_A_FILE.get() == Some(&true) {
        // Whoever started the server may have stopped reading, which is no reason to fail.
        let _ = writeln!(io::stdout(), "{message}");
    }
}

/// Says why the process ends.
pub fn tell_failure(message: &str) {
    if IN_A_FILE.get().is_some() {
        log::error!("{message}");
    }
    if IN_A_FILE.get() != Some(&false) {
        eprintln!("tidemark: {message}");
    }
}

struct Logger {
    format: Format,
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
        let time = format!("{:.6}", jiff::Timestamp::now());
        let message = record.args().to_string();
        let message = match record.target() {
            error_log::LINES => error_log::printable_lines(&message),
            _ => error_log::printable(&message),
        };
        let line = self.format.line(&time, record.level(), &message);
        error_log::note(Logged {
            micros: jiff::Timestamp::now().as_microsecond(),
            priority: match record.level() {
                Level::Error => Priority::Error,
                Level::Warn => Priority::Warning,
                _ => Priority::Note,
            },
            of_engine: ["tidemark_engine", "tidemark_pages"]
                .iter()
                .any(|engine| record.target().starts_with(engine)),
            message,
        });
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
pub fn start(path: Option<PathBuf>, format: Format) -> io::Result<()> {
    let file = path.as_ref().map(open).transpose()?;
    let in_a_file = file.is_some();
    let logger = Logger {
        format,
        path,
        file: Mutex::new(file),
    };
    if log::set_boxed_logger(Box::new(logger)).is_ok() {
        log::set_max_level(LevelFilter::Info);
        let _ = IN_A_FILE.set(in_a_file);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_json_is_one_line_whatever_the_message() {
        let line = Format::Json.line("2026-01-02T03:04:05.000006Z", Level::Warn, "a \"b\"\nc");
        assert_eq!(line.matches('\n').count(), 1);
        let object: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(
            (&object["msg"], &object["label"]),
            (&json!("a \"b\"\nc"), &json!("Warning"))
        );
        assert_eq!(
            (&object["prio"], &object["time"]),
            (&json!(2), &json!("2026-01-02T03:04:05.000006Z"))
        );
        let line = Format::Text.line("2026-01-02T03:04:05.000006Z", Level::Error, "no");
        assert_eq!(line, "2026-01-02T03:04:05.000006Z [Error] no\n");
    }
}

//! The general log and the slow query log: files in the form of MySQL's, which mysqldumpslow and pt-query-digest read.
//!
//! ```text
//! 2026-11-22T17:09:14.123456Z      8 Query    SELECT 1              general_log
//!
//! # Time: 2026-11-22T17:09:14.123456Z                               slow_query_log: what took long_query_time or more
//! # User@Host: app[app] @ localhost []  Id:     8
//! # Query_time: 0.500123  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 10
//! use shop;
//! SET timestamp=1795367353;
//! SELECT SLEEP(0.5);
//! ```
//!
//! Statements are written as the process list shows them: passwords are `<secret>`. Whether a log is on is one load for a
//! statement; the files are appended to under a mutex each. An entry that cannot be written is lost, and the server's log
//! says so once.

use super::error_log::printable;
use super::own_files::is_own;
use super::process::Current;
use super::state::SessionState;
use crate::error::{Result, SqlError};
use crate::parse::conceal;
use crate::variables::Globals;
use jiff::Timestamp;
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Both logs.
#[derive(Default)]
pub struct Logs {
    general: Log,
    slow: Log,
}

#[derive(Default)]
struct Log {
    on: AtomicBool,
    /// How often the file was opened.
    opened: AtomicU64,
    file: Mutex<Option<File>>,
}

/// The variables that the logs follow.
const VARIABLES: [&str; 5] = [
    "general_log",
    "general_log_file",
    "slow_query_log",
    "slow_query_log_file",
    "log_output",
];

impl Log {
    #[inline]
    fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    fn set(&self, path: Option<&Path>) -> io::Result<()> {
        let file = path.map(open).transpose()?;
        self.on.store(file.is_some(), Ordering::SeqCst);
        self.opened
            .fetch_add(u64::from(file.is_some()), Ordering::Relaxed);
        *self.file.lock() = file;
        Ok(())
    }

    fn write(&self, entry: &[u8]) {
        let mut file = self.file.lock();
        if let Some(open) = &mut *file
            && let Err(e) = open.write_all(entry)
        {
            log::error!("a log of statements cannot be written any more: {e}");
            *file = None;
            self.on.store(false, Ordering::SeqCst);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o640)
        .open(path)?;
    let version = crate::variables::VERSION;
    writeln!(file, "tidemark, Version: {version} (Tidemark). started with:")?;
    writeln!(file, "Tcp port: 0  Unix socket: (null)")?;
    writeln!(file, "Time                 Id Command    Argument")?;
    Ok(file)
}

impl Logs {
    /// Opens and closes the files as the variables say. An error names the first file that cannot be opened; its log is off then,
    /// and the other one as its variables say.
    pub fn adopt(&self, globals: &Globals) -> Result<()> {
        let text = |name: &str| {
            globals
                .by_name(name)
                .map(|setting| setting.to_string())
                .unwrap_or_default()
        };
        let to_files = text("log_output").split(',').any(|place| place == "FILE");
        let datadir = PathBuf::from(text("datadir"));
        let mut adopted = Ok(());
        for (log, switch, name) in [
            (&self.general, "general_log", "general_log_file"),
            (&self.slow, "slow_query_log", "slow_query_log_file"),
        ] {
            let path = (to_files && text(switch) == "ON").then(|| datadir.join(text(name)));
            let set = match path.as_deref() {
                Some(path) if is_own(&datadir, path) => {
                    Err(io::Error::other("it is a file of the server's own"))
                }
                path => log.set(path),
            };
            if let Err(e) = set {
                log.on.store(false, Ordering::SeqCst);
                *log.file.lock() = None;
                adopted = adopted.and(Err(SqlError::unknown(format!(
                    "Could not use {} for logging: {e}",
                    text(name)
                ))));
            }
        }
        adopted
    }

    /// True if the log that a variable switches is written.
    pub fn is_on(&self, switch: &str) -> bool {
        match switch {
            "general_log" => self.general.is_on(),
            _ => self.slow.is_on(),
        }
    }

    /// How many of the files are open.
    pub fn open_files(&self) -> usize {
        let logs = [&self.general, &self.slow];
        logs.iter().filter(|log| log.is_on()).count()
    }

    /// How often a file was opened.
    pub fn opened_files(&self) -> u64 {
        let logs = [&self.general, &self.slow];
        logs.iter().map(|log| log.opened.load(Ordering::Relaxed)).sum()
    }

    /// Whether the logs are to adopt a change of this variable.
    pub fn follow(&self, variable: &str) -> bool {
        VARIABLES.contains(&variable)
    }

    /// Whether statements that took long are to be written.
    #[inline]
    pub fn slow_is_on(&self) -> bool {
        self.slow.is_on()
    }

    /// Writes a command to the general log, if that is on.
    #[inline]
    pub fn command(&self, state: &SessionState, command: &str, argument: &[u8]) {
        if self.general.is_on() && !state.settings.sql_log_off {
            let mut entry = format!(
                "{:.6}\t{:5} {command}\t",
                Timestamp::now(),
                state.info.connection_id
            )
            .into_bytes();
            entry.extend_from_slice(&conceal(argument));
            entry.push(b'\n');
            self.general.write(&entry);
        }
    }

    /// Writes a statement that took long to the slow query log, if it has read as many rows as the session asks for.
    pub fn slow(&self, state: &SessionState, current: &Current, took: Duration) {
        let examined = state.examined.get();
        if examined < state.settings.min_examined_row_limit {
            return;
        }
        let info = &state.info;
        let address = if info.port == 0 { "" } else { info.host.as_str() };
        let host = if info.host == "localhost" { "localhost" } else { "" };
        let sent = match state.row_count.get() {
            -1 => state.found_rows.get(),
            _ => 0,
        };
        let mut entry = format!(
            "# Time: {:.6}\n# User@Host: {}[{}] @ {host} [{}]  Id: {:5}\n# Query_time: {:.6}  Lock_time: {:.6} Rows_sent: {sent}  Rows_examined: {examined}\n",
            Timestamp::now(),
            printable(&info.account.user),
            printable(&info.user),
            if host.is_empty() { address } else { "" },
            info.connection_id,
            took.as_secs_f64(),
            state.waited_for_locks().as_secs_f64(),
        );
        if let Some(schema) = &state.schema {
            entry += &format!("use {};\n", printable(schema));
        }
        entry += &format!(
            "SET timestamp={};\n",
            Timestamp::now().as_second() - took.as_secs() as i64
        );
        let mut entry = entry.into_bytes();
        entry.extend_from_slice(&current.text());
        entry.extend_from_slice(b";\n");
        self.slow.write(&entry);
    }
}

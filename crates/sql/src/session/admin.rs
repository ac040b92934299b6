//! USE, KILL, FLUSH, SHUTDOWN, CLONE.

use super::Session;
use super::argument::connection_number;
use super::locked::active_locks;
use crate::accounts::Privileges;
use crate::context::Answer;
use crate::dictionary::virtual_schema;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::{Expr, LockTable, ObjectName};
use crate::statements::stages::Stage;
use std::cell::Cell;
use std::path::{Component, Path};
use std::sync::atomic::Ordering;
use tidemark_engine::{CopyProgress, CopyStage};

impl Session {
    pub(super) fn change_database(&mut self, name: &str) -> Result<()> {
        let state = &self.state;
        let dictionary = state.database.dictionary();
        // Before the look-up: an account that holds nothing there is not told whether there is one.
        if !state.sees_database(name) {
            return Err(state.database_denied(name));
        }
        let Some(schema) = dictionary.schema(name) else {
            return Err(SqlError::unknown_database(name));
        };
        let name = schema.name.clone();
        self.state.process.set_schema(Some(&name));
        self.state.values.set_database_collation(schema.collation);
        if self.state.schema.as_deref() != Some(&name) {
            self.state.schema = Some(name);
            self.forget_meters();
            self.plans.clear();
        }
        self.state.note_schema();
        self.state.note_state();
        Ok(())
    }

    pub(super) fn kill(&mut self, id: &Expr, query_only: bool) -> Result<Answer> {
        let id = connection_number(id, &self.state)?;
        let process = self.state.database.sessions.lock().get(&id).cloned();
        let process = process.ok_or_else(|| {
            let message = format!("Unknown thread id: {id}");
            SqlError::new(er::NO_SUCH_THREAD, message)
        })?;
        let own = self.state.is_own(&process);
        let (user, host) = process.account();
        let above = self.state.database.is_system_user(&user, &host)
            && !self.state.has_global(Privileges::SYSTEM_USER);
        if !own && (above || !self.state.has_global(Privileges::ADMINISTERS_CONNECTIONS)) {
            let message = format!("You are not owner of thread {id}");
            return Err(SqlError::new(er::KILL_DENIED, message));
        }
        self.state.database.kill(id, query_only)?;
        if id == self.state.info.connection_id {
            self.killed_itself = !query_only;
            return Err(SqlError::interrupted());
        }
        Ok(Answer::ok())
    }

    /// SHUTDOWN: the server around the database is asked to stop, which ends this session too.
    pub(super) fn shutdown(&mut self) -> Result<Answer> {
        self.state.require_global(Privileges::SHUTDOWN, "SHUTDOWN")?;
        log::info!("Shutdown by {}@{}", self.state.info.user, self.state.info.host);
        self.state.database.request_shutdown()?;
        Ok(Answer::ok())
    }

    /// RESTART: error 3707, since nobody is there who would start the server again.
    pub(super) fn restart(&mut self) -> Result<Answer> {
        self.state.require_global(Privileges::SHUTDOWN, "SHUTDOWN")?;
        Err(SqlError::new(
            er::RESTART_SERVER_FAILED,
            "Restart server failed (mysqld is not managed by supervisor process).",
        ))
    }

    /// CLONE LOCAL: copies the data directory while the server runs. KILL ends it and leaves nothing of the copy.
    pub(super) fn clone_local(&mut self, path: &str) -> Result<Answer> {
        self.state
            .require_global(Privileges::BACKUP_ADMIN, "BACKUP_ADMIN")?;
        let to = Path::new(path);
        let wrong = || {
            SqlError::new(
                er::TRUNCATED_WRONG_VALUE_IN_FUNCTION,
                format!("Incorrect path value: '{path}'"),
            )
        };
        let database = &self.state.database;
        let datadir = database.globals().by_name("datadir");
        let datadir = datadir.map(|datadir| datadir.to_string()).unwrap_or_default();
        // Directories that are not there yet are made, so what counts is where the first that is there leads.
        let is_plain = to.components().all(|part| part != Component::ParentDir);
        if !to.is_absolute() || !is_plain || to.parent().is_none() {
            return Err(wrong());
        }
        if to.exists() {
            return Err(SqlError::database_exists(path));
        }
        let existing = to.ancestors().find(|above| above.exists()).unwrap_or(to);
        let within = Path::new(&datadir).canonicalize().map_err(|_| wrong())?;
        if existing.canonicalize().map_err(|_| wrong())?.starts_with(within) {
            return Err(SqlError::new(
                er::PATH_IN_DATADIR,
                format!("Path is within the current data directory '{path}'"),
            ));
        }
        let mib_per_s = database.globals().u64("clone_max_data_bandwidth");
        let shown = Cell::new(None);
        let progress = |at: CopyProgress| {
            let percent = (at.done_bytes * 100).checked_div(at.total_bytes).unwrap_or(100);
            if shown.replace(Some((at.stage, percent))) != Some((at.stage, percent)) {
                let stage = match at.stage {
                    CopyStage::Data => Stage::CopyPages,
                    CopyStage::Log => Stage::CopyLog,
                    CopyStage::Verify => Stage::CopyVerify,
                };
                self.state.progress(stage, at.done_bytes, at.total_bytes);
            }
            match self.state.process.is_interrupted() {
                true => Err(tidemark_engine::Error::Interrupted),
                false => Ok(()),
            }
        };
        let copied = database.engine().back_up(to, mib_per_s << 20, &progress);
        self.state.end_progress();
        let copied = copied?;
        log::info!(
            "copied {} pages to {path}, as of log position {}",
            copied.pages,
            copied.end
        );
        Ok(Answer::ok())
    }

    /// ALTER INSTANCE RELOAD TLS: connections to come begin with the files and names that the variables give now.
    pub(super) fn reload_tls(&mut self, keep_on_error: bool) -> Result<Answer> {
        self.state
            .require_global(Privileges::CONNECTION_ADMIN, "CONNECTION_ADMIN")?;
        self.state.database.reload_tls(keep_on_error)?;
        Ok(Answer::ok())
    }

    pub(super) fn flush(&mut self, options: &[String]) -> Result<Answer> {
        let parts: Vec<&[String]> = options.split(|word| word == ",").collect();
        for part in &parts {
            let (either, names) = flush_needs(part.first().map_or("", String::as_str));
            self.state.require_global(either, names)?;
        }
        self.commit_open()?;
        for part in parts {
            self.flush_one(part)?;
        }
        Ok(Answer::ok())
    }

    /// FLUSH TABLES t, … WITH READ LOCK: the tables are locked as by LOCK TABLES.
    pub(super) fn flush_with_lock(&mut self, tables: &[ObjectName]) -> Result<Answer> {
        let (either, names) = flush_needs("TABLES");
        self.state.require_global(either, names)?;
        if self.transaction.locked.tables.is_some() {
            return Err(active_locks());
        }
        let mut locks = Vec::with_capacity(tables.len());
        for name in tables {
            let (schema, table) = self.state.resolve(name)?;
            if virtual_schema(schema).is_some() {
                return Err(self.state.database_denied(schema));
            }
            // A temporary table is nobody else's: it is the permanent one of its name that is meant.
            let found = self.state.database.dictionary().find_table(schema, table);
            let found = found.ok_or_else(|| SqlError::no_such_table(schema, table))?;
            if found.is_view() {
                return Err(SqlError::new(
                    er::WRONG_OBJECT,
                    format!("'{schema}.{table}' is not BASE TABLE"),
                ));
            }
            locks.push(LockTable {
                table: name.clone(),
                alias: None,
                write: false,
            });
        }
        let flushes = &self.state.database.counters().flushes;
        flushes.fetch_add(1, Ordering::Relaxed);
        self.lock_tables(&locks)
    }

    fn flush_one(&mut self, option: &[String]) -> Result<()> {
        let first = option.first().map_or("", String::as_str);
        let all = option.join(" ");
        if first.starts_with("TABLE") {
            self.state
                .database
                .counters()
                .flushes
                .fetch_add(1, Ordering::Relaxed);
        }
        match first {
            "TABLES" | "TABLE" if all == format!("{first} WITH READ LOCK") => {
                self.lock_everything()?;
            }
            "TABLES" | "TABLE" => self.check_locked_flush()?,
            "HOSTS" => self.state.database.hosts().forget(),
            "USER_RESOURCES" => self.state.database.resources.forget(),
            // They hold at once; only under `skip_grant_tables` do they begin to.
            "PRIVILEGES" => self.state.database.accounts.enforce(),
            "LOGS" | "ERROR" | "GENERAL" | "SLOW" => self.state.database.flush_logs()?,
            "STATUS" => {
                let database = &self.state.database;
                database.count_anew(&self.state.process);
                database
                    .counters()
                    .begin_status(database.session_count() as u64, database.uptime_s());
            }
            "LOCAL" | "NO_WRITE_TO_BINLOG" | "ENGINE" | "BINARY" | "OPTIMIZER_COSTS" => {}
            other => return Err(SqlError::not_supported(format!("FLUSH {other}"))),
        }
        Ok(())
    }
}

/// The privileges of which one allows a FLUSH, and how error 1227 names them.
fn flush_needs(option: &str) -> (Privileges, &'static str) {
    let (own, names) = match option {
        "TABLES" | "TABLE" => (Privileges::FLUSH_TABLES, "RELOAD or FLUSH_TABLES"),
        "STATUS" => (Privileges::FLUSH_STATUS, "RELOAD or FLUSH_STATUS"),
        "PRIVILEGES" => (Privileges::FLUSH_PRIVILEGES, "RELOAD or FLUSH_PRIVILEGES"),
        "USER_RESOURCES" => (Privileges::FLUSH_USER_RESOURCES, "RELOAD or FLUSH_USER_RESOURCES"),
        "OPTIMIZER_COSTS" => (
            Privileges::FLUSH_OPTIMIZER_COSTS,
            "RELOAD or FLUSH_OPTIMIZER_COSTS",
        ),
        _ => (Privileges::NONE, "RELOAD"),
    };
    (own.union(Privileges::RELOAD), names)
}

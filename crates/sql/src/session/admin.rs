//! USE, KILL, FLUSH, SHUTDOWN.

use super::Session;
use super::argument::evaluate_u64;
use crate::accounts::Privileges;
use crate::context::Answer;
use crate::error::{Result, SqlError, er};
use crate::parse::ast::Expr;

impl Session {
    pub(super) fn change_database(&mut self, name: &str) -> Result<()> {
        let state = &self.state;
        let dictionary = state.database.dictionary();
        let Some(schema) = dictionary.schema(name) else {
            return Err(SqlError::unknown_database(name));
        };
        if !state.sees_database(&schema.name) {
            return Err(state.database_denied(name));
        }
        let name = schema.name.clone();
        self.state.process.set_schema(Some(&name));
        self.state.values.set_database_collation(schema.collation);
        if self.state.schema.as_deref() != Some(&name) {
            self.state.schema = Some(name);
            self.plans.clear();
        }
        Ok(())
    }

    pub(super) fn kill(&mut self, id: &Expr, query_only: bool) -> Result<Answer> {
        let id = evaluate_u64(id, "KILL", &self.state)?;
        let process = self.state.database.sessions.lock().get(&id).cloned();
        let process = process.ok_or_else(|| {
            let message = format!("Unknown thread id: {id}");
            SqlError::new(er::NO_SUCH_THREAD, message)
        })?;
        let own = process.user().0 == self.state.info.user;
        if !own && !self.state.has_global(Privileges::ADMINISTERS_CONNECTIONS) {
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

    /// SHUTDOWN and COM_SHUTDOWN: the server around the database is asked to stop, which ends this session too.
    pub(super) fn shutdown(&mut self) -> Result<Answer> {
        self.state.require_global(Privileges::SHUTDOWN, "SHUTDOWN")?;
        log::info!("Shutdown by {}@{}", self.state.info.user, self.state.info.host);
        self.state.database.request_shutdown()?;
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
        self.state
            .require_global(Privileges::RELOAD.union(Privileges::SUPER), "RELOAD")?;
        self.commit_open()?;
        let first = options.first().map_or("", String::as_str);
        let all = options.join(" ");
        match first {
            "TABLES" | "TABLE" if all == format!("{first} WITH READ LOCK") => self.lock_everything(),
            "TABLES" | "TABLE" if all.contains("READ LOCK") || all.contains("FOR EXPORT") => Err(
                SqlError::not_supported("FLUSH TABLES of single tables WITH READ LOCK or FOR EXPORT"),
            ),
            "HOSTS" => {
                self.state.database.hosts().forget();
                Ok(Answer::ok())
            }
            "USER_RESOURCES" => {
                self.state.database.resources.forget();
                Ok(Answer::ok())
            }
            // They hold at once; only under `skip_grant_tables` do they begin to.
            "PRIVILEGES" => {
                self.state.database.accounts.enforce();
                Ok(Answer::ok())
            }
            "LOGS" | "ERROR" | "GENERAL" | "SLOW" => {
                log::logger().flush();
                self.state.database.logs.adopt(self.state.database.globals())?;
                Ok(Answer::ok())
            }
            "TABLES" | "TABLE" | "STATUS" | "LOCAL" | "NO_WRITE_TO_BINLOG" | "ENGINE" | "BINARY"
            | "OPTIMIZER_COSTS" => Ok(Answer::ok()),
            other => Err(SqlError::not_supported(format!("FLUSH {other}"))),
        }
    }
}

//! EXPLAIN FOR CONNECTION: the plan of the statement that another session runs at this moment.
//!
//! No plan is published for others to read: that would cost every statement, also where nobody asks. The statement is planned
//! anew, from its text, in the database that the other session is in. So the account that asks needs what the statement
//! needs, and the plan is that of this moment, under this session's variables.

use super::Session;
use crate::accounts::Privileges;
use crate::context::{Done, ResultSink, ok_info};
use crate::ddl::accounts::access_denied;
use crate::error::{Result, SqlError, er};
use crate::exec::Receiver;
use crate::expr::Params;
use crate::parse::ast::{Explain, ExplainFormat, Statement};
use crate::parse::parse_shape;
use std::sync::Arc;

/// What another session runs, and in which database.
type Running = (Vec<u8>, Option<String>);

impl Session {
    /// Explains what the session of this number runs; an OK without rows if it runs nothing. Error 1094 if there is no such
    /// session, 1045 if this account may not see it, 3012 if what it runs has no plan.
    pub(super) fn explain_connection(
        &mut self,
        id: u64,
        format: Option<ExplainFormat>,
        out: &mut dyn ResultSink,
    ) -> Result<()> {
        let Some((text, schema)) = self.running_in(id)? else {
            let status = self.status();
            return out.ok(&ok_info(&self.state, &Done::default(), status));
        };
        let settings = &self.state.settings;
        let parsed = parse_shape(&text, 0, settings.sql_mode, settings.default_week_format, &[])
            .map_err(|_| unexplained())?;
        if parsed.next < text.len() {
            return Err(SqlError::not_supported(
                "EXPLAIN FOR CONNECTION of one of several statements",
            ));
        }
        if parsed.param_count > 0 {
            return Err(SqlError::not_supported(
                "EXPLAIN FOR CONNECTION of a prepared statement with parameters",
            ));
        }
        let has_plan = matches!(
            parsed.statement,
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_)
        );
        if !has_plan || id == self.state.info.connection_id {
            return Err(unexplained());
        }
        let explain = Statement::Explain(Box::new(Explain {
            format,
            analyze: false,
            into: None,
            schema: None,
            statement: parsed.statement,
        }));
        let own = std::mem::replace(&mut self.state.schema, schema);
        let explained = self.plan_and_run(&explain, Params::default(), &mut Receiver::Sink(out));
        self.state.schema = own;
        explained.map(drop)
    }

    fn running_in(&self, id: u64) -> Result<Option<Running>> {
        let process = self.state.database.sessions.lock().get(&id).map(Arc::clone);
        let process = process.ok_or_else(|| {
            let message = format!("Unknown thread id: {id}");
            SqlError::new(er::NO_SUCH_THREAD, message)
        })?;
        if !self.state.is_own(&process) && !self.state.has_global(Privileges::PROCESS) {
            return Err(access_denied(&self.state));
        }
        Ok(process.with_current(|current| {
            current
                .running
                .then(|| (current.statement().to_vec(), current.schema.clone()))
        }))
    }
}

fn unexplained() -> SqlError {
    SqlError::new(
        er::EXPLAIN_NOT_SUPPORTED,
        "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE",
    )
}

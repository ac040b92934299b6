//! Stored functions: a body that runs inside the statement that calls it, and gives a value.
//!
//! What a function has done is undone when an error leaves it. It belongs to the statement around it, so that it cannot bring settings of its
//! own along: one that was made under another `sql_mode`, or in another database than the current one, is refused.

use super::frame::Frame;
use super::routine::Routine;
use super::run::run;
use crate::context::{Discard, SessionState};
use crate::error::{Result, SqlError, er};
use crate::expr::NoSubqueries;
use crate::parse::ast::{ObjectName, ProgramKind};
use crate::plan::program::{Library, ProgramHost, StoredFunction};
use crate::types::assign::assign;
use crate::types::{SqlType, Value};
use std::sync::Arc;

/// The functions of the catalog, for a session's statements.
pub struct Functions;

impl Library for Functions {
    fn function(
        &self,
        state: &SessionState,
        schema: &str,
        name: &str,
    ) -> Result<Option<Arc<dyn StoredFunction>>> {
        let kind = ProgramKind::Function;
        if state.database.dictionary().program(kind, schema, name).is_none() {
            return Ok(None);
        }
        let name = ObjectName {
            schema: Some(schema.to_owned()),
            name: name.to_owned(),
        };
        Ok(Some(Routine::find(state, kind, &name)?))
    }
}

impl StoredFunction for Routine {
    fn returns(&self) -> &SqlType {
        self.value_type()
    }

    fn call(&self, host: &mut dyn ProgramHost, arguments: Vec<Value>) -> Result<Value> {
        if arguments.len() != self.modes.len() {
            return Err(SqlError::new(
                er::SP_WRONG_NO_OF_ARGS,
                format!(
                    "Incorrect number of arguments for FUNCTION {}; expected {}, got {}",
                    self.full_name(),
                    self.modes.len(),
                    arguments.len()
                ),
            ));
        }
        self.require_same_settings(host.state())?;
        let _running = self.begin_function()?;
        let mut frame = Frame::new(&self.code);
        for (slot, value) in arguments.into_iter().enumerate() {
            frame.assign(slot, value, host.state())?;
        }
        let before = host.savepoint();
        let ran = self.in_context(host, |host| run(&mut frame, host, &mut Discard));
        if let (Err(error), Some(before)) = (&ran, &before)
            && host.may_handle(error)
        {
            host.rollback_to(before)?;
        }
        ran?;
        let value = frame.returned.take().ok_or_else(|| {
            let text = format!("FUNCTION {} ended without RETURN", self.def.name);
            SqlError::new(er::SP_NORETURNEND, text)
        })?;
        let mut env = host.state().env(&NoSubqueries, &[]);
        env.writes = true;
        Ok(assign(value, self.value_type(), &format!("{}()", self.def.name), &env)?.into_owned())
    }
}

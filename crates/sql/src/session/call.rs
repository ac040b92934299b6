//! CALL as a client sends it.
//!
//! The arguments are the statement's own expressions; an OUT or INOUT parameter goes into a user variable, or for a prepared statement into
//! one of its parameters. By EXECUTE … USING these are user variables, too; over the binary protocol the client gets them as one more result,
//! which says so (SERVER_PS_OUT_PARAMS).

use super::Session;
use crate::context::{Answer, Done, ResultSink, SessionState, status};
use crate::error::Result;
use crate::exec::{Output, SinkOutput};
use crate::expr::SessionInfo;
use crate::parse::ast::{Call, Expr};
use crate::plan::program::ProgramHost;
use crate::program::call::{Arguments, call};
use crate::types::{ColumnMeta, SqlType, Value};

/// An OUT or INOUT parameter that stands for a parameter of the statement.
pub(super) struct OutParameter {
    /// The parameter of the statement.
    pub at: usize,
    /// The parameter of the procedure.
    name: String,
    ty: SqlType,
    pub value: Value,
}

/// The arguments of a client's CALL.
struct OfClient<'a> {
    exprs: &'a [Expr],
    values: Vec<Value>,
    out: Vec<OutParameter>,
}

impl Arguments for OfClient<'_> {
    fn count(&self) -> usize {
        self.exprs.len()
    }

    fn is_variable(&self, at: usize) -> bool {
        matches!(self.exprs[at], Expr::UserVar(_) | Expr::Param(_))
    }

    fn value(&mut self, at: usize, _: &mut dyn ProgramHost) -> Result<Value> {
        Ok(std::mem::replace(&mut self.values[at], Value::Null))
    }

    fn put(
        &mut self,
        at: usize,
        value: Value,
        (name, ty): (&str, &SqlType),
        state: &SessionState,
    ) -> Result<()> {
        match &self.exprs[at] {
            Expr::UserVar(name) => state.set_user_variable(name, value),
            Expr::Param(number) => {
                self.out.push(OutParameter {
                    at: *number,
                    name: name.to_owned(),
                    ty: ty.clone(),
                    value,
                });
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Session {
    /// Runs a procedure. What its last statement has changed is what CALL has changed.
    pub(super) fn call(
        &mut self,
        called: &Call,
        params: &[Value],
        out: &mut dyn ResultSink,
    ) -> Result<Answer> {
        let values = called.args.iter().map(|arg| self.value_of(arg, params));
        let mut args = OfClient {
            values: values.collect::<Result<_>>()?,
            exprs: &called.args,
            out: Vec::new(),
        };
        self.host(out, |host, out| call(host, &called.name, &mut args, out))?;
        match self.is_binary && !args.out.is_empty() {
            true => self.send_out_parameters(&args.out, out)?,
            false => self.out_parameters = args.out,
        }
        let affected_rows = u64::try_from(self.state.row_count.get()).unwrap_or(0);
        Ok(Answer::Ok(Done {
            affected_rows,
            ..Done::default()
        }))
    }

    /// Sends the values of OUT and INOUT parameters as a result of one row.
    fn send_out_parameters(&mut self, parameters: &[OutParameter], out: &mut dyn ResultSink) -> Result<()> {
        let state = &self.state;
        let results = state.results_collation();
        let columns = parameters
            .iter()
            .map(|parameter| ColumnMeta::of_expression(&parameter.name, &parameter.ty, results));
        let row: Vec<Value> = parameters
            .iter()
            .map(|parameter| parameter.value.clone())
            .collect();
        let types = parameters.iter().map(|parameter| parameter.ty.clone()).collect();
        let more = out.more_follows(true);
        out.columns(&columns.collect::<Vec<_>>())?;
        SinkOutput::new(out, types, state).values(&row)?;
        let status = self.status() | status::PS_OUT_PARAMS;
        out.end_rows(self.state.warnings.count(), status, &[])?;
        out.more_follows(more);
        Ok(())
    }
}

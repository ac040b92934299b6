//! An expression of a body, bound once: a variable in it is a parameter of the type that it was declared with.
//!
//! Most expressions (`i < 10`, `CONCAT(a, 'x')`) need nothing but the variables and the session's settings, and are evaluated here. What
//! has a subquery, or calls a stored function, is a unit of the [host](crate::plan::program::ProgramHost).

use crate::context::SessionState;
use crate::error::Result;
use crate::expr::{Binder, Expr, NoSubqueries, Parameters, PlainHooks, Scope, is_function};
use crate::parse::ast;
use crate::plan::program::{Locals, ProgramHost, Unit, ValueUse};
use crate::types::{SqlType, Value};
use parking_lot::Mutex;
use std::sync::Arc;

/// An expression and what was bound of it.
pub struct Formula {
    syntax: ast::Expr,
    /// It is evaluated by the host.
    unit: Option<Unit>,
    /// It names user variables, whose types may differ the next time.
    varies: bool,
    /// It calls functions, some of which tell the time.
    calls: bool,
    /// With the number of the settings that it was bound under.
    bound: Mutex<Option<(u64, Arc<Expr>)>>,
}

impl Formula {
    pub fn new(syntax: ast::Expr) -> Formula {
        let needs_host = any(&syntax, &|e| match e {
            ast::Expr::Function(call) => call.schema.is_some() || !is_function(&call.name),
            other => other.query().is_some(),
        });
        Formula {
            unit: needs_host.then(|| Unit::expression(syntax.clone())),
            calls: any(&syntax, &|e| matches!(e, ast::Expr::Function(_))),
            varies: any(&syntax, &|e| {
                matches!(e, ast::Expr::UserVar(_) | ast::Expr::AssignVar { .. })
            }),
            syntax,
            bound: Mutex::new(None),
        }
    }

    /// Returns its value, of the type that it has by itself. What is assigned has to be right in strict mode.
    pub fn value(&self, host: &mut dyn ProgramHost, locals: Locals, used: ValueUse) -> Result<Value> {
        if let Some(unit) = &self.unit {
            return host.evaluate(unit, locals, used);
        }
        let bound = self.bound(host, locals.types)?;
        let state = host.state();
        self.tell_time(host);
        let mut env = state.env(&NoSubqueries, locals.values);
        env.writes = used == ValueUse::Assigned;
        Ok(bound.eval(&env.ctx())?.into_owned())
    }

    /// Returns true if it is true; false for NULL.
    pub fn is_true(&self, host: &mut dyn ProgramHost, locals: Locals) -> Result<bool> {
        if let Some(unit) = &self.unit {
            let value = host.evaluate(unit, locals, ValueUse::Tested)?;
            let env = host.state().env(&NoSubqueries, &[]);
            return Ok(value.truth(&env)?.unwrap_or(false));
        }
        let bound = self.bound(host, locals.types)?;
        self.tell_time(host);
        let env = host.state().env(&NoSubqueries, locals.values);
        bound.is_true(&env.ctx())
    }

    /// Returns the type that it has with variables of these types; `None` if only the host knows.
    pub fn type_of(&self, host: &mut dyn ProgramHost, types: &[SqlType]) -> Result<Option<SqlType>> {
        match self.unit {
            Some(_) => Ok(None),
            None => Ok(Some(self.bound(host, types)?.ty.clone())),
        }
    }

    /// Forgets what was bound: a variable has another type now.
    pub fn forget(&self, state: &SessionState) {
        *self.bound.lock() = None;
        if let Some(unit) = &self.unit {
            drop(unit.take_plans(state));
        }
    }

    /// Each statement of a procedure has its own time; a function has that of the statement around it.
    fn tell_time(&self, host: &dyn ProgramHost) {
        if self.calls && !host.is_nested() {
            host.state().read_clock();
        }
    }

    fn bound(&self, host: &mut dyn ProgramHost, types: &[SqlType]) -> Result<Arc<Expr>> {
        let state = host.state();
        let now = state.planned_for.get();
        if let Some((at, bound)) = &*self.bound.lock()
            && *at == now
        {
            return Ok(Arc::clone(bound));
        }
        let mut ctx = state.bind_ctx();
        ctx.parameters = Parameters::of_locals(types);
        let binder = Binder {
            ctx: &ctx,
            session: state,
            params: &[],
            clause: "field list",
        };
        let bound = Arc::new(binder.bind(&self.syntax, &Scope::default(), &mut PlainHooks)?);
        for warning in ctx.warnings.take() {
            state.warnings.warn(warning);
        }
        if !self.varies {
            *self.bound.lock() = Some((now, Arc::clone(&bound)));
        }
        Ok(bound)
    }
}

/// Returns true if the test holds for an expression or one below it.
fn any(e: &ast::Expr, test: &dyn Fn(&ast::Expr) -> bool) -> bool {
    test(e) || e.children().into_iter().any(|child| any(child, test))
}

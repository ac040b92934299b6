//! Binding: from an expression's syntax to one that can be evaluated.
//!
//! Names become slots of the row ([`Scope`]), literals become values, and every operator is given its types through
//! [`build`]. What means different things in different statements (aggregates, subqueries, `VALUES(c)`, `DEFAULT`)
//! is asked of [`Hooks`], which the planner of each statement implements.

mod rows;

use super::digits::Asked;
use super::func::{call as call_function, cast_as_array, is_function};
use super::scope::Scope;
use super::window::misplaced_window_function;
use crate::{
    Aggregate, ArithOp, BindCtx, BitOp, CmpOp, Expr, IntervalUnit, Node, Quantifier, SessionInfo,
    SubqueryKind, VarScope, build,
};
use tidemark_parse::ast::{self, BinaryOp, FunctionCall, Literal, Query, UnaryOp};
use tidemark_types::error::depth::check_stack;
use tidemark_types::error::memory::check_memory;
use tidemark_types::error::{Result, SqlError, er};
use tidemark_types::{Charset, Collation, Derivation, SqlType, TypeKind, Value};

/// The parts of an expression whose meaning depends on the statement around it.
pub trait Hooks {
    /// An aggregate function; the default is error 1111.
    fn aggregate(&mut self, call: &FunctionCall, scope: &Scope, binder: &Binder) -> Result<Expr> {
        let _ = (call, scope, binder);
        Err(SqlError::invalid_group_function())
    }

    /// A function with OVER; the default is error 3593.
    fn window(&mut self, call: &FunctionCall, scope: &Scope, binder: &Binder) -> Result<Expr> {
        let _ = (scope, binder);
        Err(misplaced_window_function(&call.name))
    }

    /// `GROUPING(…)`; the default is error 1111.
    fn grouping(&mut self, call: &FunctionCall, scope: &Scope, binder: &Binder) -> Result<Expr> {
        let _ = (call, scope, binder);
        Err(SqlError::invalid_group_function())
    }

    /// Plans a subquery that may refer to `scope`; returns its number and its columns' types.
    fn subquery(&mut self, query: &Query, scope: &Scope, binder: &Binder) -> Result<(usize, Vec<SqlType>)> {
        let _ = (query, scope, binder);
        Err(SqlError::not_supported("a subquery in this place"))
    }

    /// A call of a stored function, by the name of its schema, if one is written, and its own; `None`: there is no such function.
    fn routine(&mut self, schema: Option<&str>, name: &str, args: Vec<Expr>) -> Result<Option<Expr>> {
        let _ = (schema, name, args);
        Ok(None)
    }

    /// Which digits a bound expression goes on with, that of averages below it: see [`digits`](crate::digits).
    fn settle(&mut self, e: &mut Expr, asked: Asked) {
        let _ = (e, asked);
    }

    /// `VALUES(column)`; outside ON DUPLICATE KEY UPDATE it is NULL.
    fn inserted(&mut self, column: &ast::ColumnName, scope: &Scope, binder: &Binder) -> Result<Expr> {
        let _ = (column, scope, binder);
        Ok(build::null())
    }

    /// `DEFAULT(column)`, or the bare word where the statement gives it a meaning.
    fn default_of(
        &mut self,
        column: Option<&ast::ColumnName>,
        scope: &Scope,
        binder: &Binder,
    ) -> Result<Expr> {
        match column {
            Some(column) => scope.default_of(column, binder.clause),
            None => Err(SqlError::not_supported("DEFAULT in this place")),
        }
    }

    /// A name that means something other than the scope's columns (an alias in HAVING or ORDER BY).
    fn name(&mut self, name: &ast::ColumnName, scope: &Scope, binder: &Binder) -> Option<Result<Expr>> {
        let _ = (name, scope, binder);
        None
    }
}

/// For expressions without any of it.
pub struct PlainHooks;

impl Hooks for PlainHooks {}

/// What binding needs to know of the statement and its session.
#[derive(Clone, Copy)]
pub struct Binder<'a> {
    /// What types depend on besides the operands.
    pub ctx: &'a BindCtx,
    /// The session, for the types of user variables and the current database.
    pub session: &'a dyn SessionInfo,
    /// The parameters of this execution; a plan is good for others of the same types.
    pub params: &'a [Value],
    /// The clause that error texts name.
    pub clause: &'static str,
}

/// Whether a system variable is one that a statement takes to other servers with it.
fn is_safe_variable(name: &str) -> bool {
    const SAFE: [&str; 21] = [
        "auto_increment_increment",
        "auto_increment_offset",
        "character_set_client",
        "character_set_connection",
        "character_set_database",
        "character_set_server",
        "collation_connection",
        "collation_database",
        "collation_server",
        "default_collation_for_utf8mb4",
        "foreign_key_checks",
        "identity",
        "last_insert_id",
        "lc_time_names",
        "pseudo_thread_id",
        "rand_seed1",
        "rand_seed2",
        "sql_auto_is_null",
        "time_zone",
        "timestamp",
        "unique_checks",
    ];
    SAFE.iter().any(|safe| safe.eq_ignore_ascii_case(name))
}

impl<'a> Binder<'a> {
    /// The same binder, with error texts that name `clause`.
    pub fn in_clause(self, clause: &'static str) -> Binder<'a> {
        Binder { clause, ..self }
    }

    /// Recursion passes here at every level, so that this and the functions of the operators that applications nest keep
    /// their frames small: the others stand in [`Binder::other`].
    pub fn bind(&self, e: &ast::Expr, scope: &Scope, hooks: &mut dyn Hooks) -> Result<Expr> {
        check_stack()?;
        check_memory()?;
        match e {
            ast::Expr::Binary { op, left, right } => self.binary(*op, left, right, scope, hooks),
            ast::Expr::Chain { first, rest } => self.chain(first, rest, scope, hooks),
            ast::Expr::And(list) => Ok(build::and(self.conditions(list, scope, hooks)?)),
            ast::Expr::Or(list) => Ok(build::or(self.conditions(list, scope, hooks)?)),
            ast::Expr::Not(e) => self.not(e, scope, hooks),
            ast::Expr::Unary { op, expr } => self.unary(*op, expr, scope, hooks),
            ast::Expr::Function(call) => {
                let bound = self.function(call, scope, hooks);
                bound.map_err(|error| named_as_written(call, error))
            }
            ast::Expr::Case {
                operand,
                whens,
                otherwise,
            } => self.case(operand.as_deref(), whens, otherwise.as_deref(), scope, hooks),
            _ => self.other(e, scope, hooks),
        }
    }

    /// Binds what a generated column or a functional key part is computed by; the latter may be a typed array.
    pub fn bind_generated(&self, e: &ast::Expr, scope: &Scope) -> Result<Expr> {
        match e {
            ast::Expr::Cast { expr, ty } if ty.array => {
                let ty = array_target(ty, self.ctx)?;
                Ok(cast_as_array(self.bind(expr, scope, &mut PlainHooks)?, ty))
            }
            _ => self.bind(e, scope, &mut PlainHooks),
        }
    }

    #[inline(never)]
    fn unary(&self, op: UnaryOp, e: &ast::Expr, scope: &Scope, hooks: &mut dyn Hooks) -> Result<Expr> {
        let mut operand = self.bind(e, scope, hooks)?;
        match op {
            UnaryOp::Plus => Ok(operand),
            UnaryOp::Minus => build::neg(operand, self.ctx),
            UnaryOp::BitNot => {
                self.ctx.settle_mask(&mut operand);
                Ok(build::bit_not(operand))
            }
            UnaryOp::Binary => build::cast(operand, SqlType::varbinary(u32::MAX), self.ctx),
        }
    }

    #[inline(never)]
    fn case(
        &self,
        operand: Option<&ast::Expr>,
        whens: &[(ast::Expr, ast::Expr)],
        otherwise: Option<&ast::Expr>,
        scope: &Scope,
        hooks: &mut dyn Hooks,
    ) -> Result<Expr> {
        let operand = operand.map(|e| self.bind(e, scope, hooks)).transpose()?;
        let mut bound = Vec::with_capacity(whens.len());
        for (when, then) in whens {
            let when = self.bind(when, scope, hooks)?;
            bound.push((when, self.bind(then, scope, hooks)?));
        }
        let otherwise = otherwise.map(|e| self.bind(e, scope, hooks)).transpose()?;
        build::case(operand, bound, otherwise, self.ctx)
    }

    #[inline(never)]
    fn other(&self, e: &ast::Expr, scope: &Scope, hooks: &mut dyn Hooks) -> Result<Expr> {
        let ctx = self.ctx;
        let mut sub = |e: &ast::Expr| self.bind(e, scope, hooks);
        Ok(match e {
            ast::Expr::Literal(literal) => self.literal(literal)?,
            ast::Expr::Param(at) => {
                let ty = match self.params.get(*at) {
                    Some(value) => ctx.parameters.type_of(*at, value, ctx.collation_connection),
                    None => Some(SqlType::varchar(0, ctx.collation_connection)),
                };
                let ty = ty.unwrap_or_else(|| build::type_of_value(&self.params[*at], ctx));
                build::param(*at, ty)
            }
            ast::Expr::Local(slot) => build::local(*slot, ctx.parameters.local(*slot)?),
            ast::Expr::Transition { new, column } => {
                let row = if *new { "NEW" } else { "OLD" };
                return Err(SqlError::not_supported(format!("{row}.{column} in this place")));
            }
            ast::Expr::Column(name) => match hooks.name(name, scope, self) {
                Some(found) => found?,
                None => scope.resolve(name, self.clause)?,
            },
            ast::Expr::UserVar(name) => {
                build::user_variable(name, self.session.user_variable(name).as_ref(), ctx)
            }
            ast::Expr::SysVar {
                scope: var_scope,
                name,
            } => {
                let var_scope = match var_scope {
                    None => VarScope::Any,
                    Some(ast::ScopeKeyword::Session) => VarScope::Session,
                    Some(_) => VarScope::Global,
                };
                let current = self.session.system_variable(var_scope, name)?;
                if !is_safe_variable(name) {
                    ctx.is_unsafe.set(true);
                }
                build::system_variable(var_scope, name, &current, ctx)
            }
            ast::Expr::AssignVar { name, value } => {
                ctx.assigns_variables.set(true);
                build::assign_variable(name, sub(value)?)
            }
            ast::Expr::IsNull { expr, negated } => build::is_null(sub(expr)?, *negated),
            ast::Expr::IsTruth { expr, truth, negated } => match truth {
                Some(truth) => build::is_truth(sub(expr)?, *truth, *negated),
                None => build::is_null(sub(expr)?, *negated),
            },
            ast::Expr::Between {
                expr,
                low,
                high,
                negated,
            } => build::between(sub(expr)?, sub(low)?, sub(high)?, *negated, ctx)?,
            ast::Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated, scope, hooks)?,
            ast::Expr::InQuery { expr, query, negated } => {
                let kind = match negated {
                    false => SubqueryKind::Quantified(CmpOp::Eq, Quantifier::Any),
                    true => SubqueryKind::Quantified(CmpOp::Ne, Quantifier::All),
                };
                let operands = self.operands(expr, query, scope, hooks)?;
                self.subquery(kind, operands, query, scope, hooks)?
            }
            ast::Expr::Exists(query) => {
                self.subquery(SubqueryKind::Exists, Vec::new(), query, scope, hooks)?
            }
            ast::Expr::Subquery(query) => {
                self.subquery(value_kind(query), Vec::new(), query, scope, hooks)?
            }
            ast::Expr::Quantified { op, all, left, query } => {
                let quantifier = if *all { Quantifier::All } else { Quantifier::Any };
                let is_membership =
                    matches!((op, all), (BinaryOp::Equal, false) | (BinaryOp::NotEqual, true));
                if matches!(**left, ast::Expr::Row(_)) && !is_membership {
                    return Err(SqlError::operand_columns(1));
                }
                let operands = self.operands(left, query, scope, hooks)?;
                let op = comparison(*op).ok_or_else(|| SqlError::not_supported(op.text()))?;
                self.subquery(
                    SubqueryKind::Quantified(op, quantifier),
                    operands,
                    query,
                    scope,
                    hooks,
                )?
            }
            ast::Expr::Like {
                expr,
                pattern,
                escape,
                negated,
            } => {
                let escape = match escape.as_deref() {
                    None => None,
                    Some(ast::Expr::Literal(Literal::Str { bytes, .. })) => {
                        Some(String::from_utf8_lossy(bytes).into_owned())
                    }
                    Some(_) => return Err(SqlError::wrong_arguments("ESCAPE")),
                };
                build::like(sub(expr)?, sub(pattern)?, escape.as_deref(), *negated, ctx)?
            }
            ast::Expr::Regexp {
                expr,
                pattern,
                negated,
            } => build::regexp(sub(expr)?, sub(pattern)?, *negated, ctx)?,
            ast::Expr::Cast { ty, .. } if ty.array => return Err(array_out_of_place()),
            ast::Expr::Cast { expr, ty } => build::cast(sub(expr)?, cast_target(ty, ctx)?, ctx)?,
            ast::Expr::ConvertUsing { expr, charset } => {
                build::convert_using(sub(expr)?, charset_named(charset)?, ctx)?
            }
            ast::Expr::Collate { expr, collation } => {
                let named =
                    Collation::by_name(collation).ok_or_else(|| SqlError::unknown_collation(collation))?;
                build::collate(sub(expr)?, named, ctx)?
            }
            ast::Expr::Interval { .. } => return Err(SqlError::not_supported("INTERVAL in this place")),
            ast::Expr::Row(_) => return Err(SqlError::operand_columns(1)),
            ast::Expr::Binary { .. }
            | ast::Expr::Chain { .. }
            | ast::Expr::And(_)
            | ast::Expr::Or(_)
            | ast::Expr::Not(_)
            | ast::Expr::Unary { .. }
            | ast::Expr::Function(_)
            | ast::Expr::Case { .. } => self.bind(e, scope, hooks)?,
            ast::Expr::Values(column) => {
                let inserted = hooks.inserted(column, scope, self)?;
                if !matches!(inserted.node, Node::Literal(_)) {
                    ctx.deprecate(
                        "'VALUES function'",
                        "Please use an alias (INSERT INTO ... VALUES (...) AS alias) and replace VALUES(col) in the ON \
                         DUPLICATE KEY UPDATE clause with alias.col instead",
                    );
                }
                inserted
            }
            ast::Expr::Default(column) => hooks.default_of(column.as_ref(), scope, self)?,
            ast::Expr::Unsupported(what) => return Err(SqlError::not_supported(what)),
        })
    }

    fn literal(&self, literal: &Literal) -> Result<Expr> {
        let ctx = self.ctx;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(match literal {
            Literal::Null => build::null(),
            Literal::Bool(b) => build::bool_literal(*b),
            Literal::Int(n) => match i64::try_from(*n) {
                Ok(n) => build::int_literal(n),
                Err(_) => build::number_literal(&n.to_string())?,
            },
            Literal::Decimal(digits) => build::number_literal(digits)?,
            Literal::Double(value) => build::value_literal(Value::Double(*value), ctx),
            Literal::Str { bytes, charset: None } => build::string_literal(bytes.clone(), ctx),
            Literal::Str {
                bytes,
                charset: Some(charset),
            } => {
                // The bytes as the client has sent them: the statement's text has been converted.
                let sent = ctx.character_set_client.encode(bytes);
                let bytes = sent.unwrap_or_else(|| bytes.clone());
                build::introduced_literal(bytes, charset_named(charset)?)?
            }
            Literal::Hex(bytes) => build::hex_literal(bytes.clone()),
            Literal::Bit(bits) => build::hex_literal(bits.clone()),
            Literal::Date(s) => build::temporal_literal(TypeKind::Date, &text(s.as_bytes()), ctx)?,
            Literal::Time(s) => build::temporal_literal(TypeKind::Time, &text(s.as_bytes()), ctx)?,
            Literal::Timestamp(s) => build::temporal_literal(TypeKind::DateTime, &text(s.as_bytes()), ctx)?,
        })
    }

    fn binary(
        &self,
        op: BinaryOp,
        left: &ast::Expr,
        right: &ast::Expr,
        scope: &Scope,
        hooks: &mut dyn Hooks,
    ) -> Result<Expr> {
        if let Some(comparison) = comparison(op)
            && (rows::is_of_several(left) || rows::is_of_several(right))
        {
            return self.compare_rows(comparison, left, right, scope, hooks);
        }
        let (a, b) = (self.bind(left, scope, hooks)?, self.bind(right, scope, hooks)?);
        self.operator(op, a, b)
    }

    fn operator(&self, op: BinaryOp, a: Expr, b: Expr) -> Result<Expr> {
        if let Some(comparison) = comparison(op) {
            return build::compare(comparison, a, b, self.ctx);
        }
        let (mut a, mut b) = (a, b);
        match op {
            BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight => self.ctx.settle_bits(&mut a, &mut b),
            BinaryOp::Xor => [&mut a, &mut b]
                .into_iter()
                .for_each(|e| self.ctx.settle_truth(e)),
            _ => {}
        }
        match op {
            BinaryOp::Add => build::arith(ArithOp::Add, a, b, self.ctx),
            BinaryOp::Subtract => build::arith(ArithOp::Sub, a, b, self.ctx),
            BinaryOp::Multiply => build::arith(ArithOp::Mul, a, b, self.ctx),
            BinaryOp::Divide => build::arith(ArithOp::Div, a, b, self.ctx),
            BinaryOp::IntDivide => build::arith(ArithOp::IntDiv, a, b, self.ctx),
            BinaryOp::Modulo => build::arith(ArithOp::Mod, a, b, self.ctx),
            BinaryOp::BitAnd => build::bit(BitOp::And, a, b),
            BinaryOp::BitOr => build::bit(BitOp::Or, a, b),
            BinaryOp::BitXor => build::bit(BitOp::Xor, a, b),
            BinaryOp::ShiftLeft => build::bit(BitOp::ShiftLeft, a, b),
            BinaryOp::ShiftRight => build::bit(BitOp::ShiftRight, a, b),
            _ => Ok(build::xor(a, b)),
        }
    }

    /// A long chain of operators: each step stands by itself, with the value of the steps before as its left operand.
    fn chain(
        &self,
        first: &ast::Expr,
        rest: &[(BinaryOp, ast::Expr)],
        scope: &Scope,
        hooks: &mut dyn Hooks,
    ) -> Result<Expr> {
        let mut steps = Vec::with_capacity(rest.len() + 1);
        steps.push(self.bind(first, scope, hooks)?);
        for (op, right) in rest {
            let right = self.bind(right, scope, hooks)?;
            let before = build::previous(&steps[steps.len() - 1].ty);
            steps.push(self.operator(*op, before, right)?);
        }
        Ok(build::chain(steps))
    }

    /// [`Binder::bind`] for each of a list.
    pub fn bind_all(&self, list: &[ast::Expr], scope: &Scope, hooks: &mut dyn Hooks) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.bind(e, scope, hooks)).collect()
    }

    fn conditions(&self, list: &[ast::Expr], scope: &Scope, hooks: &mut dyn Hooks) -> Result<Vec<Expr>> {
        let mut bound = self.bind_all(list, scope, hooks)?;
        bound.iter_mut().for_each(|e| self.ctx.settle_truth(e));
        Ok(bound)
    }

    /// NOT before BETWEEN is NOT BETWEEN, in which bounds that are equal are no equality.
    fn not(&self, e: &ast::Expr, scope: &Scope, hooks: &mut dyn Hooks) -> Result<Expr> {
        match e {
            ast::Expr::Between {
                expr,
                low,
                high,
                negated,
            } => {
                let mut part = |e| self.bind(e, scope, hooks);
                build::between(part(expr)?, part(low)?, part(high)?, !negated, self.ctx)
            }
            _ => {
                let mut e = self.bind(e, scope, hooks)?;
                self.ctx.settle_truth(&mut e);
                Ok(build::not(e))
            }
        }
    }

    fn subquery(
        &self,
        kind: SubqueryKind,
        operands: Vec<Expr>,
        query: &Query,
        scope: &Scope,
        hooks: &mut dyn Hooks,
    ) -> Result<Expr> {
        let (id, columns) = hooks.subquery(query, scope, self)?;
        let wanted = match kind {
            SubqueryKind::Exists | SubqueryKind::NotExists => columns.len(),
            SubqueryKind::Scalar | SubqueryKind::Condition => 1,
            SubqueryKind::Quantified(..) | SubqueryKind::Row(_) => operands.len(),
        };
        if columns.len() != wanted {
            return Err(SqlError::operand_columns(wanted));
        }
        let equal = SubqueryKind::Quantified(CmpOp::Eq, Quantifier::Any);
        let unequal = SubqueryKind::Quantified(CmpOp::Ne, Quantifier::All);
        // A constant that is selected for each row is compared as any other; where NULL is as good as false, and of a comparison of
        // constants, only the extreme is asked.
        let is_tested = |select: &ast::Select, operand: &Expr| match kind {
            kind if kind == equal || kind == unequal => true,
            SubqueryKind::Quantified(CmpOp::Eq | CmpOp::Ne, _) => !select.from.is_empty(),
            SubqueryKind::Quantified(..) => {
                !select.from.is_empty() && !operand.columns().is_empty() && self.clause == "field list"
            }
            _ => false,
        };
        if let ast::QueryBody::Select(select) = &query.body
            && select.having.is_none()
        {
            for (operand, item) in operands.iter().zip(&select.items) {
                let ast::SelectItem::Expr { expr, .. } = item else {
                    continue;
                };
                if !is_tested(select, operand) {
                    continue;
                }
                match expr {
                    ast::Expr::Literal(literal) => {
                        build::check_date(&self.literal(literal)?, operand, self.ctx)?;
                    }
                    call if operand.ty.has_date() && is_call_of_literals(call) => {
                        let call = self.bind(call, scope, hooks)?;
                        build::check_date_call(&call, operand, self.ctx)?;
                    }
                    _ => {}
                }
            }
        }
        build::subquery(
            id,
            kind,
            operands,
            (&columns, finds_columns(&query.body)),
            self.ctx,
        )
    }

    fn function(&self, call: &FunctionCall, scope: &Scope, hooks: &mut dyn Hooks) -> Result<Expr> {
        if let Some(schema) = &call.schema {
            let name = format!("{schema}.{}", call.name);
            if call.over.is_none() && !call.star && is_function(&name) {
                return call_function(&name, self.bind_all(&call.args, scope, hooks)?, self.ctx);
            }
            let args = self.bind_all(&call.args, scope, hooks)?;
            let found = hooks.routine(Some(schema), &call.name, args)?;
            return found.ok_or_else(|| SqlError::not_supported(format!("stored function {name}")));
        }
        if call.over.is_some() {
            return hooks.window(call, scope, self);
        }
        if call.name == "GROUPING" {
            return hooks.grouping(call, scope, self);
        }
        if call.star || Aggregate::is_aggregate(&call.name) {
            return hooks.aggregate(call, scope, self);
        }
        let unit_named = |e: &ast::Expr| match e {
            ast::Expr::Literal(Literal::Str { bytes, .. }) => interval_unit(&String::from_utf8_lossy(bytes)),
            _ => Err(SqlError::wrong_parameters(&call.name)),
        };
        match (call.name.as_str(), call.args.as_slice()) {
            (
                "DATE_ADD" | "ADDDATE" | "DATE_SUB" | "SUBDATE",
                [date, ast::Expr::Interval { value, unit }],
            ) => {
                let negate = matches!(call.name.as_str(), "DATE_SUB" | "SUBDATE");
                let (date, amount) = (self.bind(date, scope, hooks)?, self.bind(value, scope, hooks)?);
                build::date_add(date, amount, interval_unit(unit)?, negate, self.ctx)
            }
            ("ADDDATE" | "SUBDATE", [date, days]) => {
                let negate = call.name == "SUBDATE";
                let (date, days) = (self.bind(date, scope, hooks)?, self.bind(days, scope, hooks)?);
                build::date_add(date, days, IntervalUnit::Day, negate, self.ctx)
            }
            ("EXTRACT", [unit, e]) => {
                build::extract(unit_named(unit)?, self.bind(e, scope, hooks)?, self.ctx)
            }
            ("TRIM", [direction, what, text]) => {
                let name = match direction {
                    ast::Expr::Literal(Literal::Str { bytes, .. }) if bytes == b"LEADING" => "trim_leading",
                    ast::Expr::Literal(Literal::Str { bytes, .. }) if bytes == b"TRAILING" => "trim_trailing",
                    _ => "trim_both",
                };
                let (what, text) = (self.bind(what, scope, hooks)?, self.bind(text, scope, hooks)?);
                call_function(name, vec![text, what], self.ctx)
            }
            (name, args) if !is_function(name) && self.session.database().is_some() => {
                let args = self.bind_all(args, scope, hooks)?;
                // What is no native function could only be a stored one of the current database.
                let schema = self.session.database().unwrap_or_default();
                let unknown = || SqlError::unknown_function(&format!("{schema}.{name}"));
                hooks.routine(None, name, args)?.ok_or_else(unknown)
            }
            (name, args) => call_function(name, self.bind_all(args, scope, hooks)?, self.ctx),
        }
    }
}

/// An error about a function's name has it as the client wrote it.
#[cold]
fn named_as_written(call: &FunctionCall, error: SqlError) -> SqlError {
    let written = call.spelling.spell(&call.name);
    match error.code {
        er::WRONG_PARAMCOUNT_TO_NATIVE_FCT
            if error
                .message
                .eq_ignore_ascii_case(&SqlError::parameter_count(&call.name).message) =>
        {
            SqlError::parameter_count(&written)
        }
        er::SP_DOES_NOT_EXIST => {
            let end = format!("{} does not exist", call.name);
            match error.message.strip_suffix(&end) {
                Some(start) if start.ends_with([' ', '.']) => SqlError {
                    message: format!("{start}{written} does not exist"),
                    ..error
                },
                _ => error,
            }
        }
        _ => error,
    }
}

/// What a subquery in place of a value is: a condition if it selects one from no table.
fn value_kind(query: &Query) -> SubqueryKind {
    let ast::QueryBody::Select(select) = &query.body else {
        return SubqueryKind::Scalar;
    };
    match select.items.as_slice() {
        [ast::SelectItem::Expr { expr, .. }] if select.from.is_empty() => match expr {
            ast::Expr::Subquery(query) => value_kind(query),
            expr if expr.is_condition() => SubqueryKind::Condition,
            _ => SubqueryKind::Scalar,
        },
        _ => SubqueryKind::Scalar,
    }
}

fn comparison(op: BinaryOp) -> Option<CmpOp> {
    Some(match op {
        BinaryOp::Equal => CmpOp::Eq,
        BinaryOp::NullSafeEqual => CmpOp::NullSafeEq,
        BinaryOp::NotEqual => CmpOp::Ne,
        BinaryOp::Less => CmpOp::Lt,
        BinaryOp::LessEqual => CmpOp::Le,
        BinaryOp::Greater => CmpOp::Gt,
        BinaryOp::GreaterEqual => CmpOp::Ge,
        _ => return None,
    })
}

fn interval_unit(name: &str) -> Result<IntervalUnit> {
    IntervalUnit::by_name(name).ok_or_else(|| SqlError::not_supported(format!("interval unit {name}")))
}

fn charset_named(name: &str) -> Result<Charset> {
    Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))
}

/// The type that CAST and CONVERT name.
/// Error 1235 for a typed array that is not the whole of a key part.
pub fn array_out_of_place() -> SqlError {
    SqlError::not_supported(
        "Use of CAST( .. AS .. ARRAY) outside of functional index in CREATE(non-SELECT)/ALTER TABLE or in general expressions",
    )
}

/// The type of a typed array; errors 1235.
fn array_target(ty: &ast::TypeName, ctx: &BindCtx) -> Result<SqlType> {
    const LENGTH_MAX: u64 = 512;
    let unsupported = |what: &str| {
        Err(SqlError::not_supported(format!(
            "CAST-ing data to array of {what}"
        )))
    };
    let target = match ty.name.as_str() {
        "CHAR" | "VARCHAR" | "NCHAR" if ty.charset.is_some() || ty.binary => {
            return Err(SqlError::not_supported(
                "specifying charset for multi-valued index",
            ));
        }
        "CHAR" | "VARCHAR" | "NCHAR" | "BINARY" | "VARBINARY" if ty.length.is_none_or(|n| n > LENGTH_MAX) => {
            return unsupported("char/binary BLOBs");
        }
        "CHAR" | "VARCHAR" | "NCHAR" => {
            let collation = Collation::UTF8MB4_0900_BIN;
            cast_target(ty, ctx)?.with_collation(collation, Derivation::Implicit)
        }
        "JSON" | "YEAR" | "FLOAT" | "DOUBLE" => return unsupported(&ty.name),
        "REAL" => return unsupported("DOUBLE"),
        _ => cast_target(ty, ctx)?,
    };
    Ok(target.array())
}

fn cast_target(ty: &ast::TypeName, ctx: &BindCtx) -> Result<SqlType> {
    let length = ty.length.map(|n| n.min(u32::MAX as u64) as u32);
    let fsp = ty.length.unwrap_or(0).min(6) as u8;
    Ok(match ty.name.as_str() {
        "BIGINT" | "INT" if ty.unsigned => SqlType::bigint_unsigned(),
        "BIGINT" | "INT" => SqlType::bigint(),
        "CHAR" | "VARCHAR" | "NCHAR" => {
            let collation = match &ty.charset {
                Some(charset) => charset_named(charset)?.default_collation(),
                None if ty.binary => ctx.collation_connection.charset().bin_collation(),
                None => ctx.collation_connection,
            };
            SqlType::varchar(length.unwrap_or(u32::MAX), collation)
                .with_collation(collation, Derivation::Implicit)
        }
        "BINARY" | "VARBINARY" => SqlType::varbinary(length.unwrap_or(u32::MAX)),
        "DATE" => SqlType::date(),
        "TIME" => SqlType::time(fsp),
        "DATETIME" | "TIMESTAMP" => SqlType::datetime(fsp),
        "DECIMAL" => SqlType::decimal(length.unwrap_or(10), ty.decimals.unwrap_or(0).min(30) as u8),
        "FLOAT" if length.unwrap_or(0) <= 24 => SqlType::new(TypeKind::Float),
        "DOUBLE" | "REAL" | "FLOAT" => SqlType::double(),
        "YEAR" => SqlType::new(TypeKind::Year),
        "JSON" => SqlType::new(TypeKind::Json).with_collation(Collation::UTF8MB4_BIN, Derivation::Implicit),
        other => return Err(SqlError::not_supported(format!("CAST to {other}"))),
    })
}

/// Returns true if all that a query finds are columns, row by row.
fn finds_columns(body: &ast::QueryBody) -> bool {
    let is_column = |item: &ast::SelectItem| {
        matches!(
            item,
            ast::SelectItem::Expr {
                expr: ast::Expr::Column(_),
                ..
            }
        )
    };
    match body {
        ast::QueryBody::Select(select) => {
            select.group_by.is_empty() && select.having.is_none() && select.items.iter().all(is_column)
        }
        ast::QueryBody::SetOperation { first, rest } => {
            finds_columns(first) && rest.iter().all(|operand| finds_columns(&operand.body))
        }
        ast::QueryBody::Query(query) => finds_columns(&query.body),
        ast::QueryBody::Values(_) => false,
    }
}

/// Whether it is a call of a function whose arguments are literals, or such calls.
fn is_call_of_literals(e: &ast::Expr) -> bool {
    let is_fixed = |arg: &ast::Expr| {
        matches!(arg, ast::Expr::Literal(_) | ast::Expr::Param(_)) || is_call_of_literals(arg)
    };
    match e {
        ast::Expr::Function(call) => {
            let is_plain = call.schema.is_none() && call.over.is_none() && !call.star;
            is_plain && !Aggregate::is_aggregate(&call.name) && call.args.iter().all(is_fixed)
        }
        _ => false,
    }
}

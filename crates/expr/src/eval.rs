//! The evaluator.

use super::env::{EvalCtx, Linked};
use super::node::{CmpOp, Expr, Node, Quantifier, SubqueryKind};
use super::pieces::made;
use super::{arith, cast, compare, interval, json, like, print};
use std::borrow::Cow;
use tidemark_types::error::depth::check_stack;
use tidemark_types::error::{Result, SqlError};
use tidemark_types::{CmpKind, TypeKind, Val, Value};

impl Expr {
    /// The value for the row of `ctx`. Borrows from the row, the literals and the parameters where it can. That of a column, which
    /// most expressions that are evaluated row by row are, costs no call but the row's.
    #[inline]
    pub fn eval<'a>(&'a self, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
        match &self.node {
            Node::Column(slot) => Ok(ctx.row.column(*slot)),
            _ => self.eval_node(ctx),
        }
    }

    fn eval_node<'a>(&'a self, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
        if !matches!(self.node, Node::Literal(_) | Node::Column(_) | Node::Param(_)) {
            check_stack()?;
        }
        match &self.node {
            Node::Literal(value) => Ok(value.borrowed()),
            Node::Column(slot) => Ok(ctx.row.column(*slot)),
            Node::Param(index) => match ctx.env.params.get(*index) {
                Some(value) => Ok(value.borrowed()),
                None if ctx.env.unbound => Ok(Val::Null),
                None => Err(SqlError::wrong_arguments("EXECUTE")),
            },
            Node::UserVar(name) => Ok(ctx.env.session.user_variable(name).unwrap_or(Val::Null)),
            Node::AssignVar(name, e) => {
                // A variable holds no document, but its text.
                let value = match e.eval(ctx)? {
                    document @ Val::Json(_) => Val::Str(document.checked_text()?).into_owned(),
                    other => other.into_owned(),
                };
                ctx.env.session.set_user_variable(name, value.clone())?;
                Ok(value)
            }
            Node::SystemVar(scope, name) => ctx.env.session.system_variable(*scope, name),
            Node::Previous => Ok(ctx.row.previous()),
            Node::Chain(steps) => chain(steps, ctx),
            Node::Neg(e) => arith::neg(e, &self.ty, ctx),
            Node::Arith(op, kind, pair) => arith::arith(*op, *kind, pair, &self.ty, ctx),
            Node::Bit(op, pair) => arith::bit(*op, pair, ctx),
            Node::BitNot(e) => match e.eval(ctx)? {
                Val::Null => Ok(Val::Null),
                Val::Str(bytes) if self.ty.is_string() => {
                    Ok(Val::string(bytes.iter().map(|b| !b).collect::<Vec<u8>>()))
                }
                value => Ok(Val::UInt(!value.to_operand_bits(ctx.env)?)),
            },
            Node::Case {
                operand,
                whens,
                otherwise,
            } => {
                let branch = choose(operand, whens, ctx)?.or(otherwise.as_deref());
                match branch {
                    Some(e) => cast::to_kind(e.eval(ctx)?, &self.ty, ctx.env),
                    None => Ok(Val::Null),
                }
            }
            Node::Cast(e) => cast_of(self, e, ctx),
            Node::Retype(e) => match e.eval(ctx)? {
                Val::Null => Ok(Val::Null),
                value => Ok(Val::Str(value.checked_text()?)),
            },
            Node::Digits { value, .. } => Ok(match value.eval(ctx)? {
                Val::Decimal(number) => Val::Decimal(number.round(self.ty.scale)),
                other => other,
            }),
            Node::DateAdd { unit, negate, args } => interval::date_add(args, *unit, *negate, &self.ty, ctx),
            Node::Extract(unit, e) => interval::extract(*unit, e, ctx),
            Node::Call(def, args) => (def.eval)(args, &self.ty, ctx),
            Node::Routine(routine) => {
                let args = routine.args.iter().map(|arg| Ok(arg.eval(ctx)?.into_owned()));
                ctx.env.subqueries.call(routine.id, args.collect::<Result<_>>()?)
            }
            Node::Subquery {
                id,
                kind: SubqueryKind::Scalar | SubqueryKind::Condition,
                ..
            } => {
                let row = ctx.env.subqueries.row(*id, ctx)?;
                Ok(row.and_then(|r| r.into_iter().next()).unwrap_or(Val::Null))
            }
            Node::Compare(..)
            | Node::And(_)
            | Node::Or(_)
            | Node::Xor(_)
            | Node::Not(_)
            | Node::IsNull(_)
            | Node::IsTruth(..)
            | Node::Between { .. }
            | Node::In { .. }
            | Node::Like { .. }
            | Node::Regexp { .. }
            | Node::Subquery { .. } => Ok(match self.eval_bool(ctx)? {
                None => Val::Null,
                Some(b) => Val::bool(b),
            }),
        }
    }

    /// As a condition: `None` is UNKNOWN. Makes no value where the operator allows.
    pub fn eval_bool<'a>(&'a self, ctx: &EvalCtx<'a>) -> Result<Option<bool>> {
        check_stack()?;
        match &self.node {
            Node::Compare(op, kind, pair) => compare::compare_exprs(*op, *kind, pair, ctx),
            Node::And(list) => {
                let mut unknown = false;
                for e in list {
                    match e.eval_bool(ctx)? {
                        Some(false) => return Ok(Some(false)),
                        Some(true) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(true) })
            }
            Node::Or(list) => {
                let mut unknown = false;
                for e in list {
                    match e.eval_bool(ctx)? {
                        Some(true) => return Ok(Some(true)),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                Ok(if unknown { None } else { Some(false) })
            }
            Node::Xor(pair) => {
                let (a, b) = (pair[0].eval_bool(ctx)?, pair[1].eval_bool(ctx)?);
                Ok(a.zip(b).map(|(a, b)| a != b))
            }
            Node::Not(e) => Ok(e.eval_bool(ctx)?.map(|b| !b)),
            Node::IsNull(e) => Ok(Some(e.eval(ctx)?.is_null())),
            Node::IsTruth(e, truth) => Ok(Some(e.eval_bool(ctx)? == Some(*truth))),
            Node::Between {
                negated,
                low,
                high,
                args,
            } => Ok(compare::between(args, *low, *high, ctx)?.map(|b| b != *negated)),
            Node::In {
                negated,
                value,
                list,
                set,
            } => Ok(compare::in_list(value, list, set, ctx)?.map(|b| b != *negated)),
            Node::Like {
                negated,
                collation,
                escape,
                args,
                pattern,
            } => Ok(like::like(args, pattern.as_ref(), *escape, *collation, ctx)?.map(|b| b != *negated)),
            Node::Regexp {
                negated,
                collation,
                args,
                cache,
            } => Ok(like::regexp(args, *collation, cache, ctx)?.map(|b| b != *negated)),
            Node::Subquery { id, kind, operands } if !kind.is_value() => {
                subquery_test(*id, *kind, operands, ctx)
            }
            _ => self.eval(ctx)?.truth(ctx.env),
        }
    }

    /// Whether a row passes this as its WHERE condition.
    pub fn is_true<'a>(&'a self, ctx: &EvalCtx<'a>) -> Result<bool> {
        if let Node::And(list) = &self.node {
            for e in list {
                if !e.is_true(ctx)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        Ok(self.eval_bool(ctx)? == Some(true))
    }

    /// The value of an expression that needs no row, owned.
    pub fn eval_owned(&self, ctx: &EvalCtx) -> Result<Value> {
        // Shortening the context's lifetime lets the expression be borrowed only here.
        fn owned<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Value> {
            Ok(e.eval(ctx)?.into_owned())
        }
        owned(self, ctx)
    }
}

/// A cast of `e`; of a document the scalar in it, about which a complaint names where it comes from. Error 1690 for a FLOAT or DOUBLE that
/// its type does not hold.
fn cast_of<'a>(whole: &'a Expr, e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Val<'a>> {
    let to = &whole.ty;
    if to.kind == TypeKind::Json && (e.is_condition() || json::is_opaque(&e.ty) || e.ty.is_numeric()) {
        return json::part(e, ctx)?.map_or(Ok(Val::Null), |part| Val::json(&part));
    }
    let mut value = e.eval(ctx)?;
    if matches!(value, Val::Json(_)) {
        value = json::scalar(value, e, to, ctx.env)?;
    }
    let value = cast::cast(value, &e.ty, to, ctx.env)?;
    match value {
        Val::Float(v) if !v.is_finite() => Err(float_overflow(whole, ctx)),
        Val::Double(v) if !v.is_finite() => Err(float_overflow(whole, ctx)),
        value => Ok(value),
    }
}

#[cold]
fn float_overflow(cast: &Expr, ctx: &EvalCtx) -> SqlError {
    SqlError::value_out_of_range("DOUBLE", &print::operand(cast, ctx.env))
}

/// The value of the last step.
fn chain<'a>(steps: &[Expr], ctx: &EvalCtx<'a>) -> Result<Value> {
    // Each step's context lives no longer than the value that it links to.
    fn step<'a>(e: &'a Expr, ctx: &EvalCtx<'a>, previous: &'a Linked<'a>) -> Result<Value> {
        let linked = EvalCtx {
            row: previous,
            env: ctx.env,
        };
        Ok(e.eval(&linked)?.into_owned())
    }
    let mut previous = Value::Null;
    for e in steps {
        let linked = Linked {
            row: ctx.row,
            previous,
        };
        previous = step(e, ctx, &linked)?;
    }
    Ok(previous)
}

/// The first branch whose condition holds.
fn choose<'a>(
    operand: &'a Option<Box<Expr>>,
    whens: &'a [(CmpKind, Expr, Expr)],
    ctx: &EvalCtx<'a>,
) -> Result<Option<&'a Expr>> {
    let Some(operand) = operand else {
        for (_, when, then) in whens {
            if when.is_true(ctx)? {
                return Ok(Some(then));
            }
        }
        return Ok(None);
    };
    let value = operand.eval(ctx)?;
    for (kind, when, then) in whens {
        if compare::holds(CmpOp::Eq, *kind, &value, &when.eval(ctx)?, ctx.env)? == Some(true) {
            return Ok(Some(then));
        }
    }
    Ok(None)
}

fn subquery_test<'a>(
    id: usize,
    kind: SubqueryKind,
    operands: &'a [(CmpKind, Expr)],
    ctx: &EvalCtx<'a>,
) -> Result<Option<bool>> {
    let subqueries = ctx.env.subqueries;
    match kind {
        SubqueryKind::Exists => Ok(Some(subqueries.exists(id, ctx)?)),
        SubqueryKind::NotExists => Ok(Some(!subqueries.exists(id, ctx)?)),
        SubqueryKind::Scalar | SubqueryKind::Condition => Ok(None),
        SubqueryKind::Row(op) => {
            let left = evaluate(operands, ctx)?;
            match subqueries.row(id, ctx)? {
                Some(row) => compare_row(op, operands, &left, &row, ctx),
                // No row equals none, not even one of NULLs.
                None => Ok((op == CmpOp::NullSafeEq).then_some(false)),
            }
        }
        SubqueryKind::Quantified(op, quantifier) => {
            let left = evaluate(operands, ctx)?;
            let lookup = matches!(
                (op, quantifier),
                (CmpOp::Eq, Quantifier::Any) | (CmpOp::Ne, Quantifier::All)
            );
            if lookup && let Some(found) = subqueries.contains(id, &left, operands, ctx)? {
                return Ok(found.map(|found| found == (op == CmpOp::Eq)));
            }
            // ANY ends at the first that holds, ALL at the first that does not.
            let decisive = quantifier == Quantifier::Any;
            let mut result = Some(!decisive);
            subqueries.for_each(id, ctx, &mut |row| {
                match compare_row(op, operands, &left, row, ctx)? {
                    Some(holds) if holds == decisive => {
                        result = Some(decisive);
                        return Ok(false);
                    }
                    Some(_) => {}
                    None => result = None,
                }
                Ok(true)
            })?;
            Ok(result)
        }
    }
}

fn evaluate<'a>(operands: &'a [(CmpKind, Expr)], ctx: &EvalCtx<'a>) -> Result<Vec<Val<'a>>> {
    operands.iter().map(|(_, e)| e.eval(ctx)).collect()
}

fn compare_row(
    op: CmpOp,
    operands: &[(CmpKind, Expr)],
    left: &[Val],
    right: &[Value],
    ctx: &EvalCtx,
) -> Result<Option<bool>> {
    let pairs = operands.iter().map(|(kind, _)| *kind).zip(left.iter().zip(right));
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq | CmpOp::Ne => {
            let each = if op == CmpOp::Ne { CmpOp::Eq } else { op };
            let mut equal = Some(true);
            for (kind, (a, b)) in pairs {
                match compare::holds(each, kind, a, b, ctx.env)? {
                    Some(false) => {
                        equal = Some(false);
                        break;
                    }
                    Some(true) => {}
                    None => equal = None,
                }
            }
            Ok(equal.map(|e| e != (op == CmpOp::Ne)))
        }
        _ => {
            let last = left.len().saturating_sub(1);
            for (i, (kind, (a, b))) in pairs.enumerate() {
                match compare::compare_values(kind, a, b, ctx.env)? {
                    None => return Ok(None),
                    Some(order) if order.is_eq() && i < last => {}
                    Some(order) => return Ok(Some(op.accepts(order))),
                }
            }
            Ok(None)
        }
    }
}

/// Evaluates an argument as the bytes that its text has in its character set; `None` is NULL.
pub(crate) fn bytes<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<Cow<'a, [u8]>>> {
    let charset = e.ty.collation.charset();
    let Some(text) = text(e, ctx)? else {
        return Ok(None);
    };
    match charset.encode(&text) {
        Some(encoded) if e.ty.is_string() => made(Cow::Owned(encoded)).map(Some),
        _ => Ok(Some(text)),
    }
}

/// Evaluates an argument as text; `None` is NULL.
pub(crate) fn text<'a>(e: &'a Expr, ctx: &EvalCtx<'a>) -> Result<Option<Cow<'a, [u8]>>> {
    let value = e.eval(ctx)?;
    match value.is_null() {
        true => Ok(None),
        false => made(value.checked_text()?).map(Some),
    }
}

//! The expressions of a view's query: names in full, and MySQL's form of what is written.

use super::canonical::{Canonical, Naming};
use super::names::Names;
use crate::error::depth::check_stack;
use crate::error::{Result, SqlError, er};
use crate::expr::Aggregate;
use crate::parse::ast::*;

/// Returns true for two rows of as many fields.
fn are_rows(left: &Expr, right: &Expr) -> bool {
    matches!((left, right), (Expr::Row(left), Expr::Row(right)) if left.len() == right.len())
}

/// Pairs the fields of two operands, those of an inner row in its place.
fn add_pairs<'e>(left: &'e Expr, right: &'e Expr, pairs: &mut Vec<(&'e Expr, &'e Expr)>) -> Result<()> {
    check_stack()?;
    match (left, right) {
        (Expr::Row(a), Expr::Row(b)) if a.len() == b.len() => {
            let mut fields = a.iter().zip(b);
            fields.try_for_each(|(left, right)| add_pairs(left, right, pairs))
        }
        _ => {
            pairs.push((left, right));
            Ok(())
        }
    }
}

/// Error 1350.
pub(super) fn variable_clause() -> SqlError {
    SqlError::new(er::VIEW_SELECT_CLAUSE, "View's SELECT contains a 'INTO' clause")
}

fn call(name: &str, args: Vec<Expr>) -> Expr {
    Expr::Function(Box::new(FunctionCall::plain(name, args)))
}

pub(super) fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::Binary {
        op,
        left: Box::new(left),
        right: Box::new(right),
    }
}

fn negated(op: BinaryOp) -> Option<BinaryOp> {
    use BinaryOp::*;
    Some(match op {
        Equal => NotEqual,
        NotEqual => Equal,
        Less => GreaterEqual,
        LessEqual => Greater,
        Greater => LessEqual,
        GreaterEqual => Less,
        _ => return None,
    })
}

/// The same test with the opposite outcome.
fn flipped(e: &Expr) -> Option<Expr> {
    let mut e = e.clone();
    match &mut e {
        Expr::IsNull { negated, .. }
        | Expr::IsTruth { negated, .. }
        | Expr::Between { negated, .. }
        | Expr::InList { negated, .. }
        | Expr::InQuery { negated, .. }
        | Expr::Like { negated, .. }
        | Expr::Regexp { negated, .. } => *negated = !*negated,
        _ => return None,
    }
    Some(e)
}

impl Canonical<'_, '_> {
    pub(super) fn list(&mut self, list: &[Expr], names: &Names) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.expr(e, names)).collect()
    }

    pub(super) fn boxed(&mut self, e: &Expr, names: &Names) -> Result<Box<Expr>> {
        self.expr(e, names).map(Box::new)
    }

    fn value_query(&mut self, query: &Query, names: &Names) -> Result<Box<Query>> {
        self.query(query, Some(names), Naming::Given).map(Box::new)
    }

    /// An expression where a truth value is wanted.
    pub(super) fn condition(&mut self, e: &Expr, names: &Names) -> Result<Expr> {
        let written = self.expr(e, names)?;
        Ok(match e.is_condition() {
            true => written,
            false => binary(BinaryOp::NotEqual, Expr::int(0), written),
        })
    }

    fn conditions(&mut self, list: &[Expr], names: &Names) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.condition(e, names)).collect()
    }

    pub(super) fn expr(&mut self, e: &Expr, names: &Names) -> Result<Expr> {
        check_stack()?;
        Ok(match e {
            Expr::Literal(literal) => Expr::Literal(self.literal(literal)),
            Expr::Param(_)
            | Expr::Local(_)
            | Expr::Transition { .. }
            | Expr::UserVar(_)
            | Expr::SysVar { .. }
            | Expr::AssignVar { .. } => {
                return Err(SqlError::view_of_variable());
            }
            Expr::Column(name) => names.column(name)?,
            Expr::Binary { op, left, right } => self.binary(*op, left, right, names)?,
            Expr::Chain { first, rest } => {
                let first = self.boxed(first, names)?;
                let rest = rest.iter().map(|(op, e)| Ok((*op, self.expr(e, names)?)));
                Expr::Chain {
                    first,
                    rest: rest.collect::<Result<_>>()?,
                }
            }
            Expr::And(list) => Expr::And(self.conditions(list, names)?),
            Expr::Or(list) => Expr::Or(self.conditions(list, names)?),
            Expr::Not(e) => self.not(e, names)?,
            Expr::Function(call) => self.function(call, names)?,
            Expr::Case {
                operand,
                whens,
                otherwise,
            } => Expr::Case {
                operand: operand.as_ref().map(|e| self.boxed(e, names)).transpose()?,
                whens: whens
                    .iter()
                    .map(|(when, then)| Ok((self.expr(when, names)?, self.expr(then, names)?)))
                    .collect::<Result<_>>()?,
                otherwise: otherwise.as_ref().map(|e| self.boxed(e, names)).transpose()?,
            },
            Expr::Row(list) => Expr::Row(self.list(list, names)?),
            Expr::Interval { value, unit } => Expr::Interval {
                value: self.boxed(value, names)?,
                unit: unit.clone(),
            },
            Expr::Unsupported(what) => return Err(SqlError::not_supported(what)),
            Expr::InQuery { .. } | Expr::Exists(_) | Expr::Subquery(_) | Expr::Quantified { .. } => {
                self.with_query(e, names)?
            }
            _ => self.test_or_conversion(e, names)?,
        })
    }

    #[inline(never)]
    fn with_query(&mut self, e: &Expr, names: &Names) -> Result<Expr> {
        Ok(match e {
            Expr::InQuery { expr, query, negated } => Expr::InQuery {
                expr: self.boxed(expr, names)?,
                query: self.value_query(query, names)?,
                negated: *negated,
            },
            Expr::Exists(query) => Expr::Exists(Box::new(self.existence(query, names)?)),
            Expr::Subquery(query) => Expr::Subquery(self.value_query(query, names)?),
            Expr::Quantified { op, all, left, query } => {
                let (left, query) = (self.boxed(left, names)?, self.value_query(query, names)?);
                let is_in = matches!((op, all), (BinaryOp::Equal, false) | (BinaryOp::NotEqual, true));
                if !is_in {
                    return Ok(Expr::Quantified {
                        op: *op,
                        all: *all,
                        left,
                        query,
                    });
                }
                let found = Expr::InQuery {
                    expr: left,
                    query,
                    negated: false,
                };
                if *all { Expr::Not(Box::new(found)) } else { found }
            }
            _ => return Err(SqlError::view_of_variable()),
        })
    }

    /// `EXISTS (SELECT * …)` is `exists(select 1 …)`.
    fn existence(&mut self, query: &Query, names: &Names) -> Result<Query> {
        let mut query = query.clone();
        if let QueryBody::Select(select) = &mut query.body
            && matches!(select.items.as_slice(), [SelectItem::All])
        {
            select.items = vec![SelectItem::Expr {
                expr: Expr::int(1),
                alias: None,
                text: "1".to_owned(),
            }];
        }
        self.query(&query, Some(names), Naming::Given)
    }

    fn binary(&mut self, op: BinaryOp, left: &Expr, right: &Expr, names: &Names) -> Result<Expr> {
        let is_spelled_out = matches!(op, BinaryOp::Equal | BinaryOp::NotEqual | BinaryOp::NullSafeEqual);
        if is_spelled_out && are_rows(left, right) {
            let mut pairs = Vec::new();
            add_pairs(left, right, &mut pairs)?;
            let pairs = pairs.into_iter();
            let pairs = pairs.map(|(left, right)| self.binary(op, left, right, names));
            let pairs = pairs.collect::<Result<_>>()?;
            return Ok(match op {
                BinaryOp::NotEqual => Expr::Or(pairs),
                _ => Expr::And(pairs),
            });
        }
        Ok(match op {
            BinaryOp::Xor => binary(op, self.condition(left, names)?, self.condition(right, names)?),
            _ => binary(op, self.expr(left, names)?, self.expr(right, names)?),
        })
    }

    /// The negation of an expression, which the comparisons in it take in.
    fn not(&mut self, e: &Expr, names: &Names) -> Result<Expr> {
        check_stack()?;
        let flipped = match e {
            Expr::Not(e) => return self.condition(e, names),
            Expr::And(list) => {
                let list = list.iter().map(|e| self.not(e, names));
                return Ok(Expr::Or(list.collect::<Result<_>>()?));
            }
            Expr::Or(list) => {
                let list = list.iter().map(|e| self.not(e, names));
                return Ok(Expr::And(list.collect::<Result<_>>()?));
            }
            Expr::Binary { op, left, right } => negated(*op).map(|op| Expr::Binary {
                op,
                left: left.clone(),
                right: right.clone(),
            }),
            Expr::Quantified { .. } => None,
            e => flipped(e),
        };
        match flipped {
            Some(flipped) => self.expr(&flipped, names),
            None if e.is_condition() => Ok(Expr::Not(self.boxed(e, names)?)),
            None => Ok(binary(BinaryOp::Equal, Expr::int(0), self.expr(e, names)?)),
        }
    }

    fn function(&mut self, written: &FunctionCall, names: &Names) -> Result<Expr> {
        let names = &match Aggregate::is_aggregate(&written.name) {
            true => names.within(),
            false => *names,
        };
        let mut args = self.list(&written.args, names)?;
        match (written.name.as_str(), args.len()) {
            ("JSON_VALUE", _) => return Err(SqlError::not_supported("JSON_VALUE in a view")),
            ("MOD", 2) => {
                let right = args.pop().unwrap_or(Expr::int(0));
                let left = args.pop().unwrap_or(Expr::int(0));
                return Ok(binary(BinaryOp::Modulo, left, right));
            }
            ("ISNULL", 1) => {
                return Ok(Expr::IsNull {
                    expr: Box::new(args.remove(0)),
                    negated: false,
                });
            }
            _ => {}
        }
        let order_by = self.sort_keys(&written.order_by, names)?;
        let over = match &written.over {
            Some(Over::Window(window)) => Some(Over::Window(Box::new(self.window(window, names)?))),
            over => over.clone(),
        };
        Ok(Expr::Function(Box::new(FunctionCall {
            args,
            order_by,
            over,
            ..written.clone()
        })))
    }

    fn sort_keys(&mut self, order: &[OrderItem], names: &Names) -> Result<Vec<OrderItem>> {
        let order = order.iter().map(|item| {
            Ok(OrderItem {
                expr: self.expr(&item.expr, names)?,
                descending: item.descending,
            })
        });
        order.collect()
    }

    /// What stands behind OVER, or in the WINDOW clause.
    pub(super) fn window(&mut self, window: &Window, names: &Names) -> Result<Window> {
        let mut bound = |bound: &FrameBound| -> Result<FrameBound> {
            Ok(match bound {
                FrameBound::Preceding(e) => FrameBound::Preceding(self.expr(e, names)?),
                FrameBound::Following(e) => FrameBound::Following(self.expr(e, names)?),
                other => other.clone(),
            })
        };
        let frame = match &window.frame {
            None => None,
            Some(frame) => Some(Frame {
                unit: frame.unit,
                start: bound(&frame.start)?,
                end: bound(&frame.end)?,
            }),
        };
        Ok(Window {
            base: window.base.clone(),
            partition_by: self.list(&window.partition_by, names)?,
            order_by: self.sort_keys(&window.order_by, names)?,
            frame,
        })
    }

    /// IS, BETWEEN, IN, LIKE, REGEXP; casts and collations.
    #[inline(never)]
    fn test_or_conversion(&mut self, e: &Expr, names: &Names) -> Result<Expr> {
        Ok(match e {
            Expr::Unary { op, expr } => match op {
                UnaryOp::Plus => self.expr(expr, names)?,
                op => Expr::Unary {
                    op: *op,
                    expr: self.boxed(expr, names)?,
                },
            },
            Expr::IsNull { expr, negated } => Expr::IsNull {
                expr: self.boxed(expr, names)?,
                negated: *negated,
            },
            Expr::IsTruth { expr, truth, negated } => Expr::IsTruth {
                expr: Box::new(self.condition(expr, names)?),
                truth: *truth,
                negated: *negated,
            },
            Expr::Between {
                expr,
                low,
                high,
                negated,
            } => Expr::Between {
                expr: self.boxed(expr, names)?,
                low: self.boxed(low, names)?,
                high: self.boxed(high, names)?,
                negated: *negated,
            },
            Expr::InList { expr, list, negated } if list.len() == 1 => {
                let op = if *negated {
                    BinaryOp::NotEqual
                } else {
                    BinaryOp::Equal
                };
                self.binary(op, expr, &list[0], names)?
            }
            Expr::InList { expr, list, negated } => Expr::InList {
                expr: self.boxed(expr, names)?,
                list: self.list(list, names)?,
                negated: *negated,
            },
            Expr::Like {
                expr,
                pattern,
                escape,
                negated,
            } => {
                let like = Expr::Like {
                    expr: self.boxed(expr, names)?,
                    pattern: self.boxed(pattern, names)?,
                    escape: escape.as_ref().map(|e| self.boxed(e, names)).transpose()?,
                    negated: false,
                };
                if *negated { Expr::Not(Box::new(like)) } else { like }
            }
            Expr::Regexp {
                expr,
                pattern,
                negated,
            } => {
                let args = vec![self.expr(expr, names)?, self.expr(pattern, names)?];
                let found = call("REGEXP_LIKE", args);
                if *negated {
                    Expr::Not(Box::new(found))
                } else {
                    found
                }
            }
            Expr::Cast { expr, ty } => self.cast(expr, ty, names)?,
            Expr::ConvertUsing { expr, charset } => Expr::ConvertUsing {
                expr: self.boxed(expr, names)?,
                charset: charset.clone(),
            },
            Expr::Collate { expr, collation } => Expr::Collate {
                expr: self.boxed(expr, names)?,
                collation: collation.clone(),
            },
            Expr::Default(Some(name)) => match names.column(name)? {
                Expr::Column(name) => Expr::Default(Some(name)),
                _ => return Err(SqlError::not_supported("DEFAULT of this column in a view")),
            },
            _ => return Err(SqlError::not_supported("this expression in a view")),
        })
    }

    fn cast(&mut self, e: &Expr, ty: &TypeName, names: &Names) -> Result<Expr> {
        let mut ty = ty.clone();
        if ty.name == "CHAR" && ty.charset.is_none() && !ty.binary {
            let own = self.planner.binder.ctx.collation_connection;
            ty.charset = Some(own.charset().name().to_owned());
        }
        Ok(Expr::Cast {
            expr: self.boxed(e, names)?,
            ty,
        })
    }

    /// A text with an introducer is stored in the bytes that the client has sent, any other as UTF-8.
    fn literal(&self, literal: &Literal) -> Literal {
        let client = self.planner.binder.ctx.character_set_client;
        let mut literal = literal.clone();
        if let Literal::Str {
            bytes,
            charset: Some(_),
        } = &mut literal
            && let Some(sent) = client.encode(bytes)
        {
            *bytes = sent;
        }
        literal
    }
}

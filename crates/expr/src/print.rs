//! Expressions as error texts and plans show them.
//!
//! What comes out is SQL, with parentheses around every operation, as MySQL writes it in the same places. It is for people: text that
//! is parsed again, that of views and generated columns, is written from the syntax tree.

use super::env::Env;
use super::func::{self, ArrayTest};
use super::node::{BitOp, Expr, IntervalUnit, Node, Quantifier, SubqueryKind, VarScope};
use tidemark_types::{Val, Value};

/// Writes expressions.
pub struct Printer<'p> {
    /// What a slot of the row is called; beside it the name that the expression has for it, as in `` `db`.`t`.`c` ``.
    pub column: &'p dyn Fn(usize, Option<&str>) -> String,
    /// What the subquery of this number is called.
    pub subquery: &'p dyn Fn(usize) -> String,
    /// The values of parameters that are literals of the statement's text; the others are shown as `?`.
    pub literals: &'p [Value],
    /// Negative numbers are shown as what is written, the negation of a literal: `-(5)`.
    pub negations: bool,
}

/// As error texts name columns and subqueries.
fn plain<'p>(env: &Env<'p>) -> Printer<'p> {
    Printer {
        column: &|slot, name| match name {
            Some(name) => name.to_owned(),
            None => format!("column {}", slot + 1),
        },
        subquery: &|_| "(select ...)".to_owned(),
        literals: if env.params_are_literals { env.params } else { &[] },
        negations: true,
    }
}

/// `(a op b)`, in an error text.
pub(crate) fn binary(left: &Expr, op: &str, right: &Expr, env: &Env) -> String {
    plain(env).binary(left, op, right)
}

/// An expression in an error text.
pub(crate) fn operand(e: &Expr, env: &Env) -> String {
    plain(env).expr(e)
}

/// The call of a function, in an error text.
pub(crate) fn call(name: &str, args: &[Expr], env: &Env) -> String {
    plain(env).call(name, args)
}

/// The sum of a date and an interval, in an error text.
pub(crate) fn sum(date: &Expr, amount: &Expr, unit: IntervalUnit, negate: bool, env: &Env) -> String {
    let (date, amount, sign) = (operand(date, env), operand(amount, env), sign_of(negate));
    format!("({date} {sign} interval {amount} {})", unit_name(unit))
}

fn literal(value: &Val) -> String {
    match value {
        Val::Null => "NULL".to_owned(),
        Val::Str(text) => format!("'{}'", String::from_utf8_lossy(text)),
        Val::Date(_) | Val::Time(_) | Val::DateTime(_) => {
            format!("'{}'", String::from_utf8_lossy(&value.to_text()))
        }
        _ => String::from_utf8_lossy(&value.to_text()).into_owned(),
    }
}

fn is_negative(value: &Val) -> bool {
    match value {
        Val::Int(v) => *v < 0,
        Val::Double(v) => *v < 0.0,
        Val::Decimal(v) => v.is_negative(),
        _ => false,
    }
}

fn sign_of(negate: bool) -> char {
    if negate { '-' } else { '+' }
}

impl Printer<'_> {
    /// An expression.
    pub fn expr(&self, e: &Expr) -> String {
        self.within(e, "...")
    }

    /// An expression; `before` is what its chain's earlier steps are.
    fn within(&self, e: &Expr, before: &str) -> String {
        let of = |inner: &Expr| self.within(inner, before);
        let not = |negated: bool| if negated { "not " } else { "" };
        let all = |list: &[Expr], between: &str| -> String {
            let parts: Vec<String> = list.iter().map(of).collect();
            parts.join(between)
        };
        match &e.node {
            Node::Literal(value) if self.negations && is_negative(value) => {
                format!("-({})", literal(value).trim_start_matches('-'))
            }
            Node::Literal(value) => literal(value),
            Node::Column(slot) => (self.column)(*slot, e.name.as_deref()),
            Node::Param(index) => match self.literals.get(*index) {
                Some(value) => literal(value),
                None => "?".to_owned(),
            },
            Node::UserVar(name) => format!("(@`{name}`)"),
            Node::AssignVar(name, value) => format!("(@`{name}`:={})", of(value)),
            Node::SystemVar(scope, name) => match scope {
                VarScope::Any => format!("@@{name}"),
                VarScope::Session => format!("@@session.{name}"),
                VarScope::Global => format!("@@global.{name}"),
            },
            Node::Chain(steps) => {
                let mut so_far = before.to_owned();
                for step in steps {
                    so_far = self.within(step, &so_far);
                }
                so_far
            }
            Node::Previous => before.to_owned(),
            Node::Neg(inner) => format!("-({})", of(inner)),
            Node::Arith(op, _, pair) => format!("({} {} {})", of(&pair[0]), op.symbol(), of(&pair[1])),
            Node::Bit(op, pair) => format!("({} {} {})", of(&pair[0]), bit_symbol(*op), of(&pair[1])),
            Node::BitNot(inner) => format!("~({})", of(inner)),
            Node::Compare(op, _, pair) => format!("({} {} {})", of(&pair[0]), op.symbol(), of(&pair[1])),
            Node::And(list) => format!("({})", all(list, " and ")),
            Node::Or(list) => format!("({})", all(list, " or ")),
            Node::Xor(pair) => format!("({} xor {})", of(&pair[0]), of(&pair[1])),
            Node::Not(inner) => match &inner.node {
                Node::IsNull(inner) => format!("({} is not null)", of(inner)),
                _ => format!("(not({}))", of(inner)),
            },
            Node::IsNull(inner) => format!("({} is null)", of(inner)),
            Node::IsTruth(inner, truth) => format!("({} is {truth})", of(inner)),
            Node::Between { negated, args, .. } => {
                let [value, low, high] = &**args;
                format!(
                    "({} {}between {} and {})",
                    of(value),
                    not(*negated),
                    of(low),
                    of(high)
                )
            }
            Node::In {
                negated, value, list, ..
            } => {
                let list: Vec<String> = list.iter().map(|(_, e)| of(e)).collect();
                format!("({} {}in ({}))", of(value), not(*negated), list.join(","))
            }
            Node::Like { negated, args, .. } => match negated {
                false => format!("({} like {})", of(&args[0]), of(&args[1])),
                true => format!("(not(({} like {})))", of(&args[0]), of(&args[1])),
            },
            Node::Regexp { negated, args, .. } => match negated {
                false => format!("regexp_like({},{})", of(&args[0]), of(&args[1])),
                true => format!("(not(regexp_like({},{})))", of(&args[0]), of(&args[1])),
            },
            Node::Case {
                operand,
                whens,
                otherwise,
            } => {
                let mut text = "(case".to_owned();
                operand.iter().for_each(|e| text += &format!(" {}", of(e)));
                for (_, when, then) in whens {
                    text += &format!(" when {} then {}", of(when), of(then));
                }
                otherwise.iter().for_each(|e| text += &format!(" else {}", of(e)));
                text + " end)"
            }
            Node::Call(def, args) if ArrayTest::of(e).is_some() => {
                let document = format!("json'{}'", of_text(&args[2]));
                match def.name {
                    "member of" => format!("{document} member of ({})", of(&args[0])),
                    name => format!("{name}({},{document})", of(&args[0])),
                }
            }
            // What has no function of this name stands around an operand for its type alone.
            Node::Call(def, args) if args.len() == 1 && !func::is_function(def.name) => match def.name {
                "cast_as_json" => format!("cast({} as json)", of(&args[0])),
                _ => of(&args[0]),
            },
            Node::Call(def, args) => format!("{}({})", def.name, all(args, ",")),
            Node::Cast(inner) => format!("cast({} as {})", of(inner), cast_name(e)),
            Node::Retype(inner) | Node::Digits { value: inner, .. } => of(inner),
            Node::DateAdd { unit, negate, args } => {
                let sign = sign_of(*negate);
                format!(
                    "({} {sign} interval {} {})",
                    of(&args[0]),
                    of(&args[1]),
                    unit_name(*unit)
                )
            }
            Node::Extract(unit, inner) => format!("extract({} from {})", unit_name(*unit), of(inner)),
            Node::Routine(routine) => {
                let args: Vec<String> = routine.args.iter().map(of).collect();
                format!("{}({})", routine.name, args.join(","))
            }
            Node::Subquery { id, kind, operands } => {
                let query = (self.subquery)(*id);
                let operands: Vec<String> = operands.iter().map(|(_, e)| of(e)).collect();
                let left = match operands.as_slice() {
                    [one] => one.clone(),
                    several => format!("({})", several.join(",")),
                };
                match kind {
                    SubqueryKind::Scalar | SubqueryKind::Condition => query,
                    SubqueryKind::Exists => format!("exists{query}"),
                    SubqueryKind::NotExists => format!("(not(exists{query}))"),
                    SubqueryKind::Row(op) => format!("({left} {} {query})", op.symbol()),
                    SubqueryKind::Quantified(op, quantifier) => {
                        let word = match quantifier {
                            Quantifier::Any => "any",
                            Quantifier::All => "all",
                        };
                        format!("({left} {} {word} {query})", op.symbol())
                    }
                }
            }
        }
    }

    /// `(a op b)`
    pub fn binary(&self, left: &Expr, op: &str, right: &Expr) -> String {
        format!("({} {op} {})", self.expr(left), self.expr(right))
    }

    /// The call of a function.
    pub fn call(&self, name: &str, args: &[Expr]) -> String {
        let args: Vec<String> = args.iter().map(|e| self.expr(e)).collect();
        format!("{name}({})", args.join(","))
    }
}

fn bit_symbol(op: BitOp) -> &'static str {
    match op {
        BitOp::And => "&",
        BitOp::Or => "|",
        BitOp::Xor => "^",
        BitOp::ShiftLeft => "<<",
        BitOp::ShiftRight => ">>",
    }
}

fn unit_name(unit: IntervalUnit) -> String {
    let mut name = String::new();
    for letter in format!("{unit:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// A literal text as it is.
fn of_text(e: &Expr) -> String {
    match &e.node {
        Node::Literal(value) => String::from_utf8_lossy(&value.to_text()).into_owned(),
        _ => String::new(),
    }
}

fn cast_name(e: &Expr) -> String {
    match (e.ty.is_integer(), e.ty.unsigned) {
        (true, true) => "unsigned".to_string(),
        (true, false) => "signed".to_string(),
        _ => e.ty.to_string(),
    }
}

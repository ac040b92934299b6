//! The hidden digits of AVG: those that it has beyond the scale of its type.
//!
//! AVG of integers and decimals is displayed with `div_precision_increment` digits more than its argument has, but MySQL computes with
//! more of the quotient. Decimal arithmetic and comparisons use it as [`Decimal::div`](tidemark_types::Decimal::div) returns it, cut at
//! a group of nine digits; floating-point operations use the sum as a double divided by the count. So AVG of 1, 2 and 4 is 2.3333, but
//! `AVG(n) * 100` is 233.3333, `AVG(n) = 2.3333` is false and `SQRT(AVG(n))` is the root of 7/3. The result of an operation is rounded to
//! its own scale: `(AVG(n) + 1) * 3` is 9.9999. IF, CASE, NULLIF and a scalar subquery return the value that they choose unrounded.
//!
//! The slot of a finished aggregate holds the unrounded value, and so does the result of such a subquery. Which form an operand
//! needs depends on the operation above it, so [`settle`] decides it once for the complete expression: where the displayed value is
//! needed, it wraps the operand in a [`Node::Digits`], which rounds; for a double, it replaces the slot by that of the same average
//! finished as a double.

use super::build::{self, expr, null};
use super::node::{Expr, Node, NumKind};
use tidemark_types::{CmpKind, SqlType, TypeKind};

/// The operands that may have hidden digits.
pub trait Leaves {
    /// Whether a slot holds an average that has.
    fn is_average(&self, slot: usize) -> bool;
    /// The slot of the same average as a double.
    fn as_double(&mut self, slot: usize) -> usize;
    /// Whether a column of a subquery has; if so, the subquery returns it unrounded from now on.
    fn unveil(&mut self, id: usize, column: usize) -> bool;
}

/// The form in which an operation needs an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Rounded to the scale of its type, as it is displayed.
    Shown,
    /// The text of that.
    Text,
    /// An unrounded decimal, for arithmetic, comparisons and storage.
    Exact,
    /// A double.
    Double,
}

impl Asked {
    fn is_for_people(self) -> bool {
        matches!(self, Asked::Shown | Asked::Text)
    }
}

/// Decides the form of each operand in a complete expression, which itself is needed as `asked`.
pub fn settle(e: &mut Expr, asked: Asked, leaves: &mut dyn Leaves) {
    hand_down(e, asked, leaves);
}

/// The value rounded to the scale of its type. `more`: it has hidden digits, for operations that need the unrounded value.
pub fn veiled(e: Expr, more: bool) -> Expr {
    let ty = e.ty.clone();
    expr(
        ty,
        Node::Digits {
            more,
            value: Box::new(e),
        },
    )
}

/// Removes the rounding from a result. Returns whether it has hidden digits.
pub fn unveil(e: &mut Expr) -> bool {
    match &mut e.node {
        Node::Digits { more: true, value } => {
            *e = std::mem::replace(value, null());
            unveil(e);
            true
        }
        _ if e.ty.kind == TypeKind::Decimal => {
            let mut any = false;
            for branch in e.branches() {
                any |= unveil(branch);
            }
            any
        }
        _ => false,
    }
}

fn veil(e: &mut Expr, more: bool) {
    let value = std::mem::replace(e, null());
    *e = veiled(value, more);
}

/// As [`settle`]; returns whether the value is unrounded afterwards.
fn hand_down(e: &mut Expr, asked: Asked, leaves: &mut dyn Leaves) -> bool {
    match &mut e.node {
        Node::Column(slot) if leaves.is_average(*slot) => {
            if asked == Asked::Double {
                *e = build::column(leaves.as_double(*slot), SqlType::double());
                return false;
            }
            return choose(e, asked);
        }
        Node::Subquery { id, kind, .. }
            if kind.is_value() && e.ty.kind == TypeKind::Decimal && leaves.unveil(*id, 0) =>
        {
            return choose(e, asked);
        }
        Node::Digits { more: true, value } => {
            let mut value = std::mem::replace(value.as_mut(), null());
            let as_double = asked == Asked::Double;
            hand_down(&mut value, if as_double { asked } else { Asked::Exact }, leaves);
            *e = value;
            return choose(e, asked);
        }
        Node::Digits { more: false, value } => {
            hand_down(value, Asked::Shown, leaves);
            return false;
        }
        Node::Subquery { id, operands, .. } => {
            for (column, (kind, _)) in operands.iter().enumerate() {
                if !compared_as(*kind).is_for_people() {
                    leaves.unveil(*id, column);
                }
            }
        }
        _ => {}
    }
    if e.is_choice() {
        return choice(e, asked, leaves);
    }
    let mut has_more = false;
    let asks = asks_of(e);
    for (at, child) in e.children_mut().into_iter().enumerate() {
        has_more |= hand_down(child, asks.of(at), leaves);
    }
    if !has_more || e.ty.kind != TypeKind::Decimal {
        return false;
    }
    match &e.node {
        Node::Call(def, _) if def.name == "nullif" => choose(e, asked),
        // What is computed has its own digits, and no others for those above it.
        _ => {
            veil(e, false);
            false
        }
    }
}

/// Rounds a value that has hidden digits, unless the unrounded one is needed. Returns whether it is.
fn choose(e: &mut Expr, asked: Asked) -> bool {
    if asked.is_for_people() {
        veil(e, true);
    }
    !asked.is_for_people()
}

/// IF and CASE: the branches have the form of the result, the conditions that of a comparison.
fn choice(e: &mut Expr, asked: Asked, leaves: &mut dyn Leaves) -> bool {
    let asked = match e.ty.kind {
        TypeKind::Decimal => asked,
        // As a text it is the text of what it chooses.
        _ if e.ty.is_float() && asked != Asked::Text => Asked::Double,
        _ => Asked::Text,
    };
    let mut has_more = false;
    for branch in e.branches() {
        has_more |= hand_down(branch, asked, leaves);
    }
    match &mut e.node {
        Node::Case { operand, whens, .. } => {
            let kind = whens.first().map_or(CmpKind::Int, |(kind, ..)| *kind);
            if let Some(operand) = operand {
                hand_down(operand, compared_as(kind), leaves);
            }
            for (kind, when, _) in whens {
                let asked = match operand {
                    Some(_) => compared_as(*kind),
                    None => Asked::Exact,
                };
                hand_down(when, asked, leaves);
            }
        }
        Node::Call(_, args) => {
            hand_down(&mut args[0], Asked::Exact, leaves);
        }
        _ => {}
    }
    has_more && e.ty.kind == TypeKind::Decimal
}

/// The forms in which an operation needs its operands.
enum Asks {
    /// The same of all.
    All(Asked),
    /// Of the first ones each its own; of the others nothing but the text.
    Each(Vec<Asked>),
}

impl Asks {
    fn of(&self, at: usize) -> Asked {
        match self {
            Asks::All(asked) => *asked,
            Asks::Each(list) => list.get(at).copied().unwrap_or(Asked::Text),
        }
    }
}

fn asks_of(e: &Expr) -> Asks {
    Asks::All(match &e.node {
        Node::Arith(_, NumKind::Double, _) | Node::Bit(..) | Node::BitNot(_) => Asked::Double,
        Node::Arith(..) => Asked::Exact,
        Node::Neg(_) | Node::Cast(_) => asked_by_type(e),
        Node::Compare(_, kind, _) => compared_as(*kind),
        Node::Between { low, high, .. } => {
            let (low, high) = (compared_as(*low), compared_as(*high));
            let value = if low == high { low } else { Asked::Exact };
            return Asks::Each(vec![value, low, high]);
        }
        Node::In { list, .. } => {
            let kinds = list.iter().map(|(kind, _)| compared_as(*kind));
            let value = match list.first() {
                Some((kind, _)) => compared_as(*kind),
                None => Asked::Exact,
            };
            return Asks::Each(std::iter::once(value).chain(kinds).collect());
        }
        Node::Subquery { operands, .. } => {
            return Asks::Each(operands.iter().map(|(kind, _)| compared_as(*kind)).collect());
        }
        Node::And(_) | Node::Or(_) | Node::Xor(_) | Node::Not(_) | Node::IsNull(_) | Node::IsTruth(..) => {
            Asked::Exact
        }
        Node::AssignVar(..) | Node::DateAdd { .. } => Asked::Exact,
        Node::Call(def, _) => match def.name {
            "abs" | "ceil" | "floor" | "round" | "truncate" | "ifnull" | "coalesce" | "greatest"
            | "least" | "nullif" | "any_value" => asked_by_type(e),
            "timestampadd" => return Asks::Each(vec![Asked::Text, Asked::Exact]),
            "sign" | "format" | "field" | "interval" | "json_array" | "json_object" | "json_array_append"
            | "json_array_insert" | "json_insert" | "json_replace" | "json_set" => Asked::Exact,
            _ if e.ty.is_float() => Asked::Double,
            _ => Asked::Text,
        },
        _ => Asked::Text,
    })
}

/// The form that the operation's own type needs.
fn asked_by_type(e: &Expr) -> Asked {
    match e.ty.kind {
        TypeKind::Decimal | TypeKind::Json => Asked::Exact,
        _ if e.ty.is_float() => Asked::Double,
        _ if e.ty.is_integer() => Asked::Exact,
        _ => Asked::Text,
    }
}

fn compared_as(kind: CmpKind) -> Asked {
    match kind {
        CmpKind::Int | CmpKind::Decimal | CmpKind::Number | CmpKind::Json => Asked::Exact,
        CmpKind::Double => Asked::Double,
        _ => Asked::Text,
    }
}

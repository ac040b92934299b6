//! The digits that AVG has and does not show.
//!
//! AVG of integers and decimals is shown with `div_precision_increment` digits more than its argument has, but it is a quotient, and MySQL
//! goes on with more of it: a decimal beside it meets the quotient as [`Decimal::div`](tidemark_types::Decimal::div) makes it, cut at
//! a group of nine digits, and a double the sum through the number. So AVG of 1, 2 and 4 is 2.3333, but `AVG(n) * 100` is 233.3333,
//! `AVG(n) = 2.3333` is false and `SQRT(AVG(n))` is that of 7/3. What is computed of it has the digits of its own type: `(AVG(n) + 1) * 3`
//! is 9.9999. IF, CASE, NULLIF and a subquery that is a value hand on what they choose with all of its digits.
//!
//! A finished aggregate is a slot of the row, and so is a result of such a subquery. Who asks which digits of it is settled
//! once, when an expression is whole: [`settle`] puts a [`Node::Digits`] around each of them, by what is above it.

use super::build::{self, expr, null};
use super::node::{Expr, Node, NumKind};
use tidemark_types::{CmpKind, SqlType, TypeKind};

/// What has digits that it does not show.
pub trait Leaves {
    /// Whether a slot is an average that has.
    fn is_average(&self, slot: usize) -> bool;
    /// The slot of the same average as a double.
    fn as_double(&mut self, slot: usize) -> usize;
    /// Whether a column of a subquery has; if so, it hands them on from now on.
    fn unveil(&mut self, id: usize, column: usize) -> bool;
}

/// As what a value is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// As it is shown.
    Shown,
    /// As the text that it is shown as.
    Text,
    /// As a decimal, to compute with, to compare or to keep.
    Exact,
    /// As a double.
    Double,
}

impl Asked {
    fn is_for_people(self) -> bool {
        matches!(self, Asked::Shown | Asked::Text)
    }
}

/// Settles which digits the expression and all in it are asked for.
pub fn settle(e: &mut Expr, asked: Asked, leaves: &mut dyn Leaves) {
    hand_down(e, asked, leaves);
}

/// A value that shows the digits of its type; with `more` digits it is computed with, where somebody asks for them.
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

/// A result that is shown hands on all of its digits from now on. Returns whether it has more than those of its type.
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

/// Returns whether the value has more digits than its type from now on.
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

/// Of a value that has more digits than its type: those that are asked for.
fn choose(e: &mut Expr, asked: Asked) -> bool {
    if asked.is_for_people() {
        veil(e, true);
    }
    !asked.is_for_people()
}

/// IF and CASE: the alternatives are asked for what they are, the conditions are compared.
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

/// What an operation asks of its operands.
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

/// What is a number asks for numbers like itself.
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

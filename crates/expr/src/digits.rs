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

use super::node::{Expr, Node, NumKind};
use tidemark_types::{CmpKind, TypeKind};

/// What has digits that it does not show, and how many a decimal beside it meets; `None`: it is nothing of that kind.
pub trait Leaves {
    /// Of a finished aggregate, by its slot.
    fn average(&self, slot: usize) -> Option<u8>;
    /// Of a column of a subquery, which has all its digits from now on.
    fn subquery(&mut self, id: usize, column: usize) -> Option<u8>;
}

/// As what a value is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// As it is shown: a result, a text.
    Shown,
    /// As a decimal, to compute with or to compare.
    Exact,
    /// As a double.
    Double,
}

/// Settles which digits the expression and all in it are asked for.
pub fn settle(e: &mut Expr, asked: Asked, leaves: &mut dyn Leaves) {
    hand_down(e, asked, leaves);
}

/// A result that is shown is from now on one to compute with. Returns how many digits it has; `None`: those that it shows.
pub fn unveil(e: &mut Expr) -> Option<u8> {
    match &mut e.node {
        Node::Digits { shown, computed, .. } if *computed > e.ty.scale => {
            *shown = false;
            Some(*computed)
        }
        _ if e.ty.kind == TypeKind::Decimal => e.branches().into_iter().filter_map(unveil).max(),
        _ => None,
    }
}

/// A value that shows the digits of its type, and has more to compute with.
pub fn veiled(mut e: Expr, computed: u8) -> Expr {
    cover(&mut e, computed, true);
    e
}

/// Returns how many digits the value has, if those are more than its type tells.
fn hand_down(e: &mut Expr, asked: Asked, leaves: &mut dyn Leaves) -> Option<u8> {
    let digits = match &mut e.node {
        Node::Column(slot) => leaves.average(*slot),
        Node::Subquery { id, kind, .. } if kind.is_value() && e.ty.kind == TypeKind::Decimal => {
            leaves.subquery(*id, 0)
        }
        _ => None,
    };
    if let Some(computed) = digits {
        return match asked {
            Asked::Shown => veil(e, computed),
            Asked::Exact => {
                cover(e, computed, false);
                Some(computed)
            }
            Asked::Double => Some(computed),
        };
    }
    if let Node::Digits {
        shown,
        computed,
        value,
    } = &mut e.node
    {
        let computed = *computed;
        if computed <= e.ty.scale {
            return None;
        }
        *shown = asked == Asked::Shown;
        if asked == Asked::Double {
            *e = std::mem::replace(value, super::build::null());
        }
        return (asked != Asked::Shown).then_some(computed);
    }
    if let Node::Subquery { id, operands, .. } = &e.node {
        for (column, (kind, _)) in operands.iter().enumerate() {
            if compared_as(*kind) != Asked::Shown {
                leaves.subquery(*id, column);
            }
        }
    }
    if e.is_choice() {
        return choice(e, asked, leaves);
    }
    let mut most = None;
    let asks = asks_of(e);
    for (at, child) in e.children_mut().into_iter().enumerate() {
        let digits = hand_down(child, asks.of(at), leaves);
        most = most.max(digits);
    }
    let computed = most.filter(|_| e.ty.kind == TypeKind::Decimal)?;
    match (&e.node, asked) {
        (Node::Call(def, _), Asked::Exact | Asked::Double) if def.name == "nullif" => Some(computed),
        (Node::Call(def, _), Asked::Shown) if def.name == "nullif" => veil(e, computed),
        // What is computed has its own digits, and no others for those above it.
        _ => veil(e, 0),
    }
}

/// IF and CASE: the alternatives are asked for what they are, the conditions are compared.
fn choice(e: &mut Expr, asked: Asked, leaves: &mut dyn Leaves) -> Option<u8> {
    let asked = match e.ty.kind {
        TypeKind::Decimal => asked,
        _ if e.ty.is_float() => Asked::Double,
        _ => Asked::Shown,
    };
    let of_branches = e
        .branches()
        .into_iter()
        .map(|branch| hand_down(branch, asked, leaves));
    let most = of_branches.max().flatten();
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
    most.filter(|_| e.ty.kind == TypeKind::Decimal)
}

/// Shows the digits of the type.
fn veil(e: &mut Expr, computed: u8) -> Option<u8> {
    cover(e, computed, true);
    None
}

fn cover(e: &mut Expr, computed: u8, shown: bool) {
    let ty = e.ty.clone();
    let value = Box::new(std::mem::replace(e, super::build::null()));
    *e = super::build::expr(
        ty,
        Node::Digits {
            shown,
            computed,
            value,
        },
    );
}

/// What an operation asks of its operands.
enum Asks {
    /// The same of all.
    All(Asked),
    /// Of the first ones each its own; of the others nothing but what is shown.
    Each(Vec<Asked>),
}

impl Asks {
    fn of(&self, at: usize) -> Asked {
        match self {
            Asks::All(asked) => *asked,
            Asks::Each(list) => list.get(at).copied().unwrap_or(Asked::Shown),
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
            "timestampadd" => return Asks::Each(vec![Asked::Shown, Asked::Exact]),
            "sign" | "format" | "field" | "interval" | "json_array" | "json_object" | "json_array_append"
            | "json_array_insert" | "json_insert" | "json_replace" | "json_set" => Asked::Exact,
            _ if e.ty.is_float() => Asked::Double,
            _ => Asked::Shown,
        },
        _ => Asked::Shown,
    })
}

/// What is a number asks for numbers like itself.
fn asked_by_type(e: &Expr) -> Asked {
    match e.ty.kind {
        TypeKind::Decimal | TypeKind::Json => Asked::Exact,
        _ if e.ty.is_float() => Asked::Double,
        _ if e.ty.is_integer() => Asked::Exact,
        _ => Asked::Shown,
    }
}

fn compared_as(kind: CmpKind) -> Asked {
    match kind {
        CmpKind::Int | CmpKind::Decimal | CmpKind::Number | CmpKind::Json => Asked::Exact,
        CmpKind::Double => Asked::Double,
        _ => Asked::Shown,
    }
}

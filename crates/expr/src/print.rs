//! Expressions as error texts show them.

use super::node::{Expr, Node};
use tidemark_types::Val;

/// `(a op b)`
pub(crate) fn binary(left: &Expr, op: &str, right: &Expr) -> String {
    format!("({} {op} {})", operand(left), operand(right))
}

pub(crate) fn operand(e: &Expr) -> String {
    match &e.node {
        Node::Literal(Val::Null) => "NULL".to_string(),
        Node::Literal(Val::Str(s)) => format!("'{}'", String::from_utf8_lossy(s)),
        Node::Literal(v) => String::from_utf8_lossy(&v.to_text()).into_owned(),
        Node::Column(slot) => match &e.name {
            Some(name) => name.to_string(),
            None => format!("column {}", slot + 1),
        },
        Node::Param(_) => "?".to_string(),
        Node::UserVar(name) => format!("(@`{name}`)"),
        Node::Neg(inner) => format!("-({})", operand(inner)),
        Node::Arith(op, _, pair) => binary(&pair[0], op.symbol(), &pair[1]),
        Node::Compare(op, _, pair) => binary(&pair[0], op.symbol(), &pair[1]),
        Node::Call(def, args) => call(def.name, args),
        Node::Cast(inner) => format!("cast({} as {})", operand(inner), cast_name(e)),
        Node::Retype(inner) => operand(inner),
        Node::Previous => "...".to_string(),
        _ => "expression".to_string(),
    }
}

fn cast_name(e: &Expr) -> String {
    match (e.ty.is_integer(), e.ty.unsigned) {
        (true, true) => "unsigned".to_string(),
        (true, false) => "signed".to_string(),
        _ => e.ty.to_string(),
    }
}

pub(crate) fn call(name: &str, args: &[Expr]) -> String {
    let args: Vec<String> = args.iter().map(operand).collect();
    format!("{name}({})", args.join(","))
}

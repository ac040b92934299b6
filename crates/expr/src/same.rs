//! Equal expressions: the one definition, structural, of when two bound expressions compute the same value of the same row.
//!
//! Two expressions are equal if they are the same operation, on equal operands, with the same properties and the same type. The type
//! counts at every node, because results depend on it: `a COLLATE utf8mb4_bin` and `a COLLATE utf8mb4_general_ci` have the same
//! bytes and other orders, a cast converts to its own type, and an arithmetic result is rounded to its scale. Three things do not
//! count: whether a value may be NULL (an outer join decides that), the derivation of a collation (it has done its work when the operators
//! above were typed), and [`Expr::name`].
//!
//! - A column is its slot, whatever its type says: it is read, not computed.
//! - A parameter equals itself alone, never a literal: its value is not known. A plan that could use more says that it depends on
//!   its literals, and the statement is planned with them.
//! - A subquery equals itself alone.
//! - Variables and volatile calls equal those of the same spelling, as in MySQL: `GROUP BY RAND(b)` groups `SELECT RAND(b)`. Code that
//!   computes only one of two equal expressions asks for volatility by itself.
//!
//! What is derived from other properties (a compiled pattern, a sorted list) is not compared. [`PartialEq`], [`Eq`] and
//! [`Hash`] of [`Expr`] are this definition, so expressions can be keys of maps.

use super::node::{ArithOp, BitOp, CmpOp, Expr, IntervalUnit, Node, NumKind, SubqueryKind, VarScope};
use std::fmt::Write;
use std::hash::{Hash, Hasher};
use tidemark_types::{CmpKind, Collation, SqlType, TypeKind, Value};

/// All properties of a node besides its operands and its type.
#[derive(PartialEq, Eq, Hash)]
enum Properties<'e> {
    Literal(Constant<'e>),
    Column(usize),
    Param(usize),
    UserVar(&'e str),
    AssignVar(&'e str),
    SystemVar(VarScope, &'e str),
    Chain,
    Previous,
    Neg,
    Arith(ArithOp, NumKind),
    Bit(BitOp),
    BitNot,
    Compare(CmpOp, CmpKind),
    And,
    Or,
    Xor,
    Not,
    IsNull,
    IsTruth(bool),
    Between(bool, CmpKind, CmpKind),
    In(bool, Vec<CmpKind>),
    Like(bool, Collation, Option<char>),
    Regexp(bool, Collation),
    /// Whether there is an operand, the kinds of comparison, and whether there is an ELSE.
    Case(bool, Vec<CmpKind>, bool),
    Cast,
    Retype,
    Digits(bool),
    DateAdd(IntervalUnit, bool),
    Extract(IntervalUnit),
    Call(&'static str, usize),
    Routine(usize),
    Subquery(usize, SubqueryKind, Vec<CmpKind>),
}

/// A value, equal to one of the same kind with the same digits: `1.0` is not `1.00`, and NaN equals itself.
#[derive(PartialEq, Eq, Hash)]
enum Constant<'e> {
    Null,
    Bytes(&'e [u8]),
    Json(&'e [u8]),
    Member(u64, &'e [u8]),
    Number(u8, u64),
    Printed(String),
}

/// All of a type that its values depend on.
#[derive(PartialEq, Eq, Hash)]
struct ValueType<'e> {
    kind: TypeKind,
    unsigned: bool,
    zerofill: bool,
    length: u32,
    scale: u8,
    collation: Collation,
    members: Option<&'e [String]>,
    array: bool,
}

impl<'e> ValueType<'e> {
    fn of(ty: &'e SqlType) -> ValueType<'e> {
        let SqlType {
            kind,
            unsigned,
            zerofill,
            nullable: _,
            length,
            scale,
            collation,
            derivation: _,
            members,
            array,
        } = ty;
        ValueType {
            kind: *kind,
            unsigned: *unsigned,
            zerofill: *zerofill,
            length: *length,
            scale: *scale,
            collation: *collation,
            members: members.as_deref(),
            array: *array,
        }
    }
}

impl<'e> Constant<'e> {
    fn of(value: &'e Value) -> Constant<'e> {
        match value {
            Value::Null => Constant::Null,
            Value::Str(bytes) => Constant::Bytes(bytes),
            Value::Json(bytes) => Constant::Json(bytes),
            Value::Member(number, text) => Constant::Member(*number, text),
            Value::Int(v) => Constant::Number(0, v.cast_unsigned()),
            Value::UInt(v) => Constant::Number(1, *v),
            Value::Float(v) => Constant::Number(2, u64::from(v.to_bits())),
            Value::Double(v) => Constant::Number(3, v.to_bits()),
            Value::Decimal(v) => Constant::Printed(format!("{v} {}", v.scale())),
            Value::Date(_) | Value::Time(_) | Value::DateTime(_) => {
                let mut text = String::new();
                let printed = write!(text, "{value:?}");
                debug_assert!(printed.is_ok(), "a String takes all that is written");
                Constant::Printed(text)
            }
        }
    }
}

impl<'e> Properties<'e> {
    /// The properties of a node whose slots are moved by `shift`.
    fn of(node: &'e Node, shift: usize) -> Properties<'e> {
        match node {
            Node::Literal(value) => Properties::Literal(Constant::of(value)),
            Node::Column(slot) => Properties::Column(slot + shift),
            Node::Param(number) => Properties::Param(*number),
            Node::UserVar(name) => Properties::UserVar(name),
            Node::AssignVar(name, _) => Properties::AssignVar(name),
            Node::SystemVar(scope, name) => Properties::SystemVar(*scope, name),
            Node::Chain(_) => Properties::Chain,
            Node::Previous => Properties::Previous,
            Node::Neg(_) => Properties::Neg,
            Node::Arith(op, kind, _) => Properties::Arith(*op, *kind),
            Node::Bit(op, _) => Properties::Bit(*op),
            Node::BitNot(_) => Properties::BitNot,
            Node::Compare(op, kind, _) => Properties::Compare(*op, *kind),
            Node::And(_) => Properties::And,
            Node::Or(_) => Properties::Or,
            Node::Xor(_) => Properties::Xor,
            Node::Not(_) => Properties::Not,
            Node::IsNull(_) => Properties::IsNull,
            Node::IsTruth(_, truth) => Properties::IsTruth(*truth),
            Node::Between {
                negated, low, high, ..
            } => Properties::Between(*negated, *low, *high),
            Node::In { negated, list, .. } => Properties::In(*negated, kinds(list)),
            Node::Like {
                negated,
                collation,
                escape,
                ..
            } => Properties::Like(*negated, *collation, *escape),
            Node::Regexp {
                negated, collation, ..
            } => Properties::Regexp(*negated, *collation),
            Node::Case {
                operand,
                whens,
                otherwise,
            } => {
                let kinds = whens.iter().map(|(kind, ..)| *kind).collect();
                Properties::Case(operand.is_some(), kinds, otherwise.is_some())
            }
            Node::Cast(_) => Properties::Cast,
            Node::Retype(_) => Properties::Retype,
            Node::Digits { more, .. } => Properties::Digits(*more),
            Node::DateAdd { unit, negate, .. } => Properties::DateAdd(*unit, *negate),
            Node::Extract(unit, _) => Properties::Extract(*unit),
            // Functions without a line in the table share names: their address tells them apart.
            Node::Call(function, _) => Properties::Call(function.name, std::ptr::from_ref(*function).addr()),
            Node::Routine(routine) => Properties::Routine(routine.id),
            Node::Subquery { id, kind, operands } => Properties::Subquery(*id, *kind, kinds(operands)),
        }
    }
}

fn kinds(list: &[(CmpKind, Expr)]) -> Vec<CmpKind> {
    list.iter().map(|(kind, _)| *kind).collect()
}

/// Whether the type of a node belongs to what it computes: a column is read, and NULL has no other value in another type.
fn counts_type(node: &Node) -> bool {
    !matches!(node, Node::Column(_) | Node::Previous)
}

impl Expr {
    /// Returns true if both compute the same value of the same row; see the head of this file.
    pub fn same_as(&self, other: &Expr) -> bool {
        self.same_moved(other, 0)
    }

    /// Returns true if `other` is this expression with each slot moved by `shift`.
    pub fn same_moved(&self, other: &Expr, shift: usize) -> bool {
        if Properties::of(&self.node, shift) != Properties::of(&other.node, 0) {
            return false;
        }
        if counts_type(&self.node) && ValueType::of(&self.ty) != ValueType::of(&other.ty) {
            return false;
        }
        let (left, right) = (self.children(), other.children());
        let is_path = |at: usize| at > 0 && matches!(&self.node, Node::Call(f, _) if f.has_paths);
        left.len() == right.len()
            && left
                .iter()
                .zip(&right)
                .enumerate()
                .all(|(at, (a, b))| a.same_moved(b, shift) || is_path(at) && same_text(a, b))
    }
}

/// Returns true for two literals of the same bytes.
fn same_text(a: &Expr, b: &Expr) -> bool {
    match (&a.node, &b.node) {
        (Node::Literal(a), Node::Literal(b)) => Constant::of(a) == Constant::of(b),
        _ => false,
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Expr) -> bool {
        self.same_as(other)
    }
}

impl Eq for Expr {}

impl Hash for Expr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Properties::of(&self.node, 0).hash(state);
        // Paths in documents may be equal in spite of their types.
        if counts_type(&self.node) && !matches!(self.node, Node::Literal(_)) {
            ValueType::of(&self.ty).hash(state);
        }
        self.children().into_iter().for_each(|child| child.hash(state));
    }
}

#[cfg(test)]
mod tests;

//! What a path becomes: a plan.
//!
//! A plan is an SQL expression over a row of a few values, each of which is worked out from the document: the text of a set of nodes, their number, a comparison
//! with each of them. So arithmetic, comparisons and functions are SQL's own, with its kinds of numbers, its collations and its warnings, as they are in MySQL,
//! which makes items of its expressions. A predicate is a plan of its own, whose context is the node that it judges.

use super::words::Axis;
use crate::node::Expr;

/// A set of nodes.
#[derive(Clone, Debug)]
pub(crate) enum Nodes {
    Root,
    /// The node that a predicate judges.
    Context,
    /// From each node of a set along an axis to those of a name; `None` is any.
    Step(Box<Nodes>, Axis, Option<Box<[u8]>>),
    /// Those of a set for which a condition holds.
    Where(Box<Nodes>, Box<Plan>),
    /// The one at the place in its context that a number says.
    Nth(Box<Nodes>, Box<Plan>),
    Union(Box<Nodes>, Box<Nodes>),
}

/// A value of a plan's row.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    /// What the nodes hold, with blanks between.
    Text(Nodes),
    Count(Nodes),
    Sum(Nodes),
    /// There is one node, exactly, as MySQL has it.
    IsOne(Nodes),
    /// The place of the node that a predicate judges.
    Position,
    /// One of the texts that [`Slot::Any`] goes through, which stands behind it.
    Each,
    /// Whether a comparison with the slot before it holds for a text right below one of the nodes.
    Any(Nodes, Box<Expr>),
}

/// An expression and the row that it is over.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub slots: Vec<Slot>,
    pub expr: Expr,
}

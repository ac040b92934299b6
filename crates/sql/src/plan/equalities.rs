//! Conditions that follow from those of a join.
//!
//! - Columns that are said to be equal are a *class*: from `a = b AND b = c` follows `a = c`, from `a = b AND a = 5` also `b = 5`.
//!   So tables can be looked up in orders that the conditions as written do not allow. What follows is tested where no equality of
//!   the same column with what is there is written; of a class one equality alone counts in the estimates of a table. After
//!   the equivalence classes of PostgreSQL (`optimizer/README`).
//! - What all branches of an OR have in common stands before it: `(a AND b) OR (a AND c)` is `a AND (b OR c)`.
//! - If each branch of an OR says something of a table alone, one of these is true of the table's row: it is tested as soon as the
//!   table is read. The whole then counts for what it refuses beyond its parts. After `orclauses.c` of PostgreSQL.
//!
//! All of this is done with [quiet](is_quiet) conditions alone, as they are then tested for other rows than written.

use super::AGGREGATE;
use super::access::conjuncts;
use super::condition_order::{converts_nothing, is_quiet};
use super::filter::selectivity;
use super::join::{Condition, Joiner};
use crate::expr::{CmpOp, Expr, Node, OUTER, build};
use crate::types::CmpKind;

/// Columns of larger classes are not compared with each other.
const MEMBERS_MAX: usize = 16;

/// Columns that are equal by comparisons of one kind.
struct Class {
    kind: CmpKind,
    members: Vec<Expr>,
    /// A constant that one of them equals.
    constant: Option<Expr>,
    /// The members that are compared with constants.
    fixed: Vec<Expr>,
    /// Some of those constants are others.
    differ: bool,
}

impl Class {
    fn has(&self, kind: CmpKind, column: &Expr) -> bool {
        self.kind == kind
            && self
                .members
                .iter()
                .any(|member| slot_of(member) == slot_of(column))
    }
}

/// The slot of a column of this query's tables.
fn slot_of(e: &Expr) -> Option<usize> {
    match e.node {
        Node::Column(slot) if slot < AGGREGATE => Some(slot),
        _ => None,
    }
}

/// The sides of an equality that is transitive.
fn equality(e: &Expr) -> Option<(CmpKind, &Expr, &Expr)> {
    match &e.node {
        Node::Compare(CmpOp::Eq, kind, sides) if is_quiet(e) => Some((*kind, &sides[0], &sides[1])),
        _ => None,
    }
}

/// Whether an operand is the same for all rows of the query.
fn is_constant(e: &Expr) -> bool {
    match e.node {
        Node::Column(slot) => slot >= OUTER,
        _ => matches!(e.node, Node::Literal(_) | Node::Param(_)),
    }
}

impl Joiner<'_, '_> {
    /// Adds the conditions that follow from those of the pool.
    pub(super) fn complete(&self, pool: &mut Vec<Condition>) {
        self.add_parts_of_or(pool);
        let classes = classes(pool.iter().map(|condition| &condition.expr));
        if classes.is_empty() {
            return;
        }
        let mut more = Vec::new();
        for (at, class) in classes.iter().enumerate() {
            for condition in &mut *pool {
                if let Some((kind, a, b)) = equality(&condition.expr)
                    && (class.has(kind, a) || class.has(kind, b))
                {
                    condition.class = Some(at);
                }
            }
            for (a, b) in class.pairs() {
                let is_equality = |condition: &&Condition| {
                    equality(&condition.expr).is_some_and(|(kind, x, y)| {
                        kind == class.kind && (x.same_as(a) && y.same_as(b) || x.same_as(b) && y.same_as(a))
                    })
                };
                let follows = build_equality(class.kind, a, b);
                let condition = self.classify(&follows);
                // Columns of one table are compared where they are written to be.
                let joins = condition.tables.len() > 1 || is_constant(b);
                if joins && !pool.iter().any(|condition| is_equality(&condition)) {
                    more.push(Condition {
                        class: Some(at),
                        follows: true,
                        ..condition
                    });
                }
            }
        }
        // Of columns that all equal a constant nothing more need be said.
        pool.retain(|condition| {
            let is_said = |(kind, a, b): (CmpKind, &Expr, &Expr)| {
                let is_fixed = |class: &&Class| class.constant.is_some() && !class.differ;
                let mut fixed = classes.iter().filter(is_fixed);
                fixed.any(|class| class.has(kind, a) && class.has(kind, b))
            };
            condition.tables.len() < 2 || !equality(&condition.expr).is_some_and(is_said)
        });
        pool.extend(more);
    }

    /// Adds what each OR over several tables says of single ones.
    fn add_parts_of_or(&self, pool: &mut Vec<Condition>) {
        let mut more = Vec::new();
        for condition in &mut *pool {
            let Node::Or(branches) = &condition.expr.node else {
                continue;
            };
            if condition.tables.len() < 2 || !is_quiet(&condition.expr) {
                continue;
            }
            let branches: Vec<Vec<Condition>> = branches
                .iter()
                .map(|branch| conjuncts(branch).into_iter().map(|e| self.classify(e)).collect())
                .collect();
            for at in &condition.tables {
                let own = |branch: &Vec<Condition>| {
                    let of_table = branch.iter().filter(|part| part.tables == [*at]);
                    let list: Vec<Expr> = of_table.map(|part| part.expr.clone()).collect();
                    (!list.is_empty()).then(|| all_of(list))
                };
                let Some(parts) = branches.iter().map(own).collect::<Option<Vec<Expr>>>() else {
                    continue;
                };
                let part = self.classify(&build::or(parts));
                condition.share_of_parts *= selectivity(&part.expr, None);
                more.push(part);
            }
        }
        pool.extend(more);
    }
}

impl Class {
    /// The equalities that hold: of each member with the constant, or of each with each other.
    fn pairs(&self) -> Vec<(&Expr, &Expr)> {
        if let Some(constant) = &self.constant {
            let is_fixed = |member: &Expr| self.fixed.iter().any(|fixed| slot_of(fixed) == slot_of(member));
            let others = self.members.iter().filter(|member| !is_fixed(member));
            return others.map(|member| (member, constant)).collect();
        }
        if self.members.len() > MEMBERS_MAX {
            return Vec::new();
        }
        let with_later = |(at, member)| {
            let later = self.members.iter().skip(at + 1);
            later.map(move |other| (member, other))
        };
        self.members.iter().enumerate().flat_map(with_later).collect()
    }
}

/// The classes of the equalities between columns.
fn classes<'e>(conditions: impl Iterator<Item = &'e Expr> + Clone) -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    let equalities = || conditions.clone().filter_map(equality);
    for (kind, a, b) in equalities() {
        if slot_of(a).is_none() || slot_of(b).is_none() || slot_of(a) == slot_of(b) {
            continue;
        }
        let mut class = Class {
            kind,
            members: vec![a.clone(), b.clone()],
            constant: None,
            fixed: Vec::new(),
            differ: false,
        };
        classes.retain_mut(|other| {
            let joins = other.has(kind, a) || other.has(kind, b);
            if joins {
                let new = |e: &Expr| slot_of(e) != slot_of(a) && slot_of(e) != slot_of(b);
                class.members.extend(other.members.drain(..).filter(new));
            }
            !joins
        });
        classes.push(class);
    }
    for (kind, a, b) in equalities() {
        for (column, value) in [(a, b), (b, a)] {
            if is_constant(value)
                && let Some(class) = classes.iter_mut().find(|class| class.has(kind, column))
                && class
                    .members
                    .iter()
                    .all(|member| converts_nothing(kind, &member.ty, &value.ty))
            {
                let constant = class.constant.get_or_insert_with(|| value.clone());
                class.differ |= !constant.same_as(value);
                class.fixed.push(column.clone());
            }
        }
    }
    classes
}

fn build_equality(kind: CmpKind, a: &Expr, b: &Expr) -> Expr {
    build::compare_as(CmpOp::Eq, kind, a.clone(), b.clone())
}

/// The comparisons of columns with constants that follow from conditions of which all hold.
pub(super) fn constants_that_follow<'e>(conditions: impl Iterator<Item = &'e Expr> + Clone) -> Vec<Expr> {
    let is_own = |e: &Expr| !matches!(e.node, Node::Column(_));
    let classes = classes(conditions);
    let fixed = classes
        .iter()
        .filter(|class| class.constant.as_ref().is_some_and(is_own));
    let pairs = fixed.flat_map(|class| {
        class
            .pairs()
            .into_iter()
            .map(|(a, b)| build_equality(class.kind, a, b))
    });
    pairs.collect()
}

fn all_of(mut list: Vec<Expr>) -> Expr {
    match list.len() {
        1 => list.remove(0),
        _ => build::and(list),
    }
}

/// The conjuncts of a condition, those that stand in each branch of an OR apart from it.
pub(super) fn factored(filter: &Expr) -> Vec<Expr> {
    conjuncts(filter).into_iter().flat_map(factor).collect()
}

fn factor(e: &Expr) -> Vec<Expr> {
    let Node::Or(branches) = &e.node else {
        return vec![e.clone()];
    };
    if !is_quiet(e) {
        return vec![e.clone()];
    }
    let branches: Vec<Vec<&Expr>> = branches.iter().map(conjuncts).collect();
    let in_all = |e: &&Expr| {
        branches
            .iter()
            .all(|branch| branch.iter().any(|other| e.same_as(other)))
    };
    let mut common: Vec<Expr> = branches[0].iter().copied().filter(in_all).cloned().collect();
    if common.is_empty() {
        return vec![e.clone()];
    }
    let rest = |branch: &Vec<&Expr>| -> Vec<Expr> {
        let own = branch
            .iter()
            .filter(|e| !common.iter().any(|other| e.same_as(other)));
        own.map(|e| (*e).clone()).collect()
    };
    let rests: Vec<Vec<Expr>> = branches.iter().map(rest).collect();
    // A branch that says no more than all others is true where these are.
    if rests.iter().all(|rest| !rest.is_empty()) {
        common.push(build::or(rests.into_iter().map(all_of).collect()));
    }
    common
}

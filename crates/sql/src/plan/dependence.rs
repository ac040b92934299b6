//! Functional dependence: which columns of a joined row follow from which others.
//!
//! All rows that agree in the columns of a unique key agree in all columns of its table; those that `WHERE a = b` leaves agree in
//! `a` if they agree in `b`. From such [`Rule`]s follows what ONLY_FULL_GROUP_BY lets a grouped query read beside its keys. The
//! rules are the SQL standard's (SQL:2016, 4.25), as far as MySQL goes:
//!
//! | where | rule |
//! |---|---|
//! | unique key of columns that are never NULL, or that a condition keeps from being NULL | key → all columns of the table |
//! | generated column | the columns that it is computed from → it |
//! | `a = b` that holds for all rows | a → b, b → a |
//! | `a = constant` | nothing → a |
//! | `r = x` in ON of an outer join, r on its inner side | x and all columns of the outer side that ON names → r |
//! | derived table | what holds in its query, of its columns |
//! | groups | keys → all that is said of a group |
//!
//! A derived table hands its rules on with columns that it does not show: `SELECT id, a + 1` shows `a + 1`, and `a` is what it follows
//! from. Such columns have numbers from [`HIDDEN`] on.

use super::access::conjuncts;
use super::from::{From, FromInput, Tree};
use super::generated::GeneratedColumns;
use super::join::inner_conditions;
use super::walk::has_subquery;
use super::{AGGREGATE, Planner};
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::expr::{CmpOp, Expr, Node, OUTER, Volatility};
use std::collections::HashSet;

/// Numbers from here on are columns that are not of the row.
const HIDDEN: usize = 1 << 40;

/// More rules than these a derived table does not hand on.
const RULES_MAX: usize = 5_000;

/// Rows that agree in all of `from` agree in all of `to`.
#[derive(Clone)]
struct Rule {
    from: Vec<usize>,
    to: Vec<usize>,
}

/// What holds of the rows of a FROM clause.
#[derive(Default)]
pub(super) struct Dependences {
    rules: Vec<Rule>,
    /// How many hidden columns they name.
    hidden: usize,
}

/// What holds of the rows of a query, whose columns are numbered from 0.
pub struct Exported {
    rules: Vec<Rule>,
    hidden: usize,
}

impl Dependences {
    fn add(&mut self, from: Vec<usize>, to: Vec<usize>) {
        if !to.is_empty() {
            self.rules.push(Rule { from, to });
        }
    }

    fn add_both(&mut self, a: usize, b: usize) {
        self.add(vec![a], vec![b]);
        self.add(vec![b], vec![a]);
    }

    /// All that follows from these columns.
    pub fn closure(&self, from: impl IntoIterator<Item = usize>) -> HashSet<usize> {
        let mut known: HashSet<usize> = from.into_iter().collect();
        let mut rest: Vec<&Rule> = self.rules.iter().collect();
        loop {
            let before = rest.len();
            rest.retain(|rule| {
                let holds = rule.from.iter().all(|slot| known.contains(slot));
                if holds {
                    known.extend(&rule.to);
                }
                !holds
            });
            if rest.len() == before {
                return known;
            }
        }
    }

    /// The rules of a stored table that begins at a slot. `is_known` says which of its slots no row has NULL in.
    fn add_table(&mut self, def: &TableDef, base: usize, is_known: impl Fn(usize) -> bool) {
        let whole: Vec<usize> = (base..base + def.columns.len()).collect();
        for index in def.indexes.iter().filter(|index| index.unique) {
            let decides = index.parts.iter().all(|part| {
                part.prefix.is_none()
                    && (!def.columns[part.column].ty.nullable || is_known(base + part.column))
            });
            if decides {
                let key = index.parts.iter().map(|part| base + part.column);
                self.add(key.collect(), whole.clone());
            }
        }
    }

    /// The rules of a derived table that begins at a slot.
    fn add_derived(&mut self, exported: &Exported, base: usize) {
        let hidden = self.hidden;
        let moved = |slots: &[usize]| {
            let slots = slots.iter().map(|slot| match slot.checked_sub(HIDDEN) {
                Some(at) => HIDDEN + hidden + at,
                None => base + slot,
            });
            slots.collect()
        };
        for rule in &exported.rules {
            self.add(moved(&rule.from), moved(&rule.to));
        }
        self.hidden += exported.hidden;
    }
}

/// What a query block is, for those around it.
pub(super) struct Shown<'b> {
    pub output: &'b [Expr],
    pub keys: &'b [Expr],
    /// It has one row for each group of rows.
    pub grouped: bool,
    /// Its tables could join those of the query around it.
    pub merges: bool,
}

impl Planner<'_> {
    /// What holds of the rows of a FROM clause of which a filter leaves some.
    pub(super) fn dependences(&self, from: &From, filter: Option<&Expr>) -> Result<Dependences> {
        let mut found = Dependences::default();
        let mut conditions: Vec<&Expr> = filter.into_iter().flat_map(parts_of).collect();
        for condition in from.tree.iter().flat_map(inner_conditions) {
            conditions.extend(parts_of(condition));
        }
        let known: Vec<usize> = conditions.iter().flat_map(|c| never_null(c)).collect();
        for condition in &conditions {
            self.add_condition(condition, &[], &|_| true, &mut found);
        }
        for table in &from.tables {
            match &table.input {
                FromInput::Stored { def, .. } => {
                    found.add_table(def, table.base, |slot| known.contains(&slot));
                    if def.has_generated() {
                        for (column, e) in GeneratedColumns::of(def, &self.binder)?.list() {
                            let computed = e.columns().into_iter().map(|slot| slot + table.base);
                            found.add(computed.collect(), vec![table.base + column]);
                        }
                    }
                }
                FromInput::Derived { query, .. } => {
                    if let Some(exported) = &self.queries[*query].dependences {
                        found.add_derived(exported, table.base);
                    }
                }
                FromInput::Virtual(_) | FromInput::Json(_) => {}
            }
        }
        if let Some(tree) = &from.tree {
            self.add_outer_joins(tree, from, &[], &mut found);
        }
        Ok(found)
    }

    /// The rules of ON of the outer joins in a tree. `strong`: what decides which rows of an inner side there are.
    fn add_outer_joins(&self, tree: &Tree, from: &From, strong: &[usize], found: &mut Dependences) {
        match tree {
            Tree::Table(_) => {}
            Tree::Inner { list, on, .. } => {
                if !strong.is_empty() {
                    for condition in on.iter().flat_map(parts_of) {
                        self.add_condition(condition, strong, &|_| true, found);
                    }
                }
                list.iter()
                    .for_each(|tree| self.add_outer_joins(tree, from, strong, found));
            }
            Tree::Left { left, right, on } => {
                self.add_outer_joins(left, from, strong, found);
                if on.iter().any(|e| has_subquery(e) || !is_steady(e)) {
                    return;
                }
                let inner: Vec<std::ops::Range<usize>> = right
                    .tables()
                    .into_iter()
                    .map(|at| {
                        let table = &from.tables[at];
                        let width = match &table.input {
                            FromInput::Stored { def, .. } | FromInput::Virtual(def) => def.columns.len(),
                            FromInput::Derived { query, .. } => self.queries[*query].columns.len(),
                            FromInput::Json(table) => table.columns.len(),
                        };
                        table.base..table.base + width
                    })
                    .collect();
                let is_inner = |slot: usize| inner.iter().any(|range| range.contains(&slot));
                let mut deciding = strong.to_vec();
                for e in on {
                    deciding.extend(
                        e.columns()
                            .into_iter()
                            .filter(|slot| *slot < AGGREGATE && !is_inner(*slot)),
                    );
                }
                for condition in on.iter().flat_map(parts_of) {
                    self.add_condition(condition, &deciding, &is_inner, found);
                }
                self.add_outer_joins(right, from, &deciding, found);
            }
        }
    }

    /// The rules of a condition that holds once `strong` is given, of the slots that `target` takes.
    fn add_condition(
        &self,
        condition: &Expr,
        strong: &[usize],
        target: &dyn Fn(usize) -> bool,
        found: &mut Dependences,
    ) {
        let mut follows = |column: &Expr, other: &Expr| {
            let Node::Column(slot) = column.node else { return };
            if slot >= AGGREGATE || !target(slot) {
                return;
            }
            let mut from = strong.to_vec();
            match other.node {
                Node::Column(other) if other < AGGREGATE => from.push(other),
                _ if self.is_fixed(other) => {}
                _ => return,
            }
            found.add(from, vec![slot]);
        };
        match &condition.node {
            Node::Compare(CmpOp::Eq, _, sides) => {
                follows(&sides[0], &sides[1]);
                follows(&sides[1], &sides[0]);
            }
            Node::In {
                negated: false,
                value,
                list,
                ..
            } if list.len() == 1 => follows(value, &list[0].1),
            Node::Not(inner) => self.add_negated(inner, strong, target, found),
            _ => {}
        }
    }

    /// The rules of a condition that does not hold: a column that is false is 0, and none of several is true.
    fn add_negated(
        &self,
        condition: &Expr,
        strong: &[usize],
        target: &dyn Fn(usize) -> bool,
        found: &mut Dependences,
    ) {
        match &condition.node {
            Node::Compare(CmpOp::Ne, kind, sides) => {
                let equal = Expr {
                    node: Node::Compare(CmpOp::Eq, *kind, sides.clone()),
                    ..condition.clone()
                };
                self.add_condition(&equal, strong, target, found);
            }
            Node::Column(slot) if *slot < AGGREGATE && target(*slot) => {
                found.add(strong.to_vec(), vec![*slot]);
            }
            Node::Or(parts) => parts
                .iter()
                .for_each(|part| self.add_negated(part, strong, target, found)),
            _ => {}
        }
    }

    /// Whether an expression has one value for all rows.
    fn is_fixed(&self, e: &Expr) -> bool {
        let mut slots = Vec::new();
        self.slots_of(e, &mut slots);
        slots.is_empty() && is_steady(e)
    }

    /// The rules of a query block that the query around it can go by; `None`: there are none.
    pub(super) fn exported(&self, found: Dependences, width: usize, shown: &Shown) -> Option<Exported> {
        let (rules, hidden) = (found.rules, found.hidden);
        let inner = |slot: usize| match slot.checked_sub(HIDDEN) {
            Some(at) => HIDDEN + width + at,
            None => HIDDEN + slot,
        };
        let moved = |slots: &[usize]| slots.iter().map(|slot| inner(*slot)).collect::<Vec<_>>();
        let mut out = Dependences {
            rules: rules
                .iter()
                .map(|rule| Rule {
                    from: moved(&rule.from),
                    to: moved(&rule.to),
                })
                .collect(),
            hidden: width + hidden,
        };
        let mut keys = Vec::with_capacity(shown.keys.len());
        for key in shown.keys {
            keys.push(match key.node {
                Node::Column(slot) if slot < AGGREGATE => inner(slot),
                _ => {
                    out.hidden += 1;
                    HIDDEN + out.hidden - 1
                }
            });
        }
        let all: Vec<usize> = (0..shown.output.len()).collect();
        for (at, e) in shown.output.iter().enumerate() {
            if let Some(key) = shown.keys.iter().position(|key| key.same_as(e)) {
                out.add_both(at, keys[key]);
                continue;
            }
            match e.node {
                Node::Column(slot) if slot < AGGREGATE => {
                    out.add_both(at, inner(slot));
                    continue;
                }
                _ if shown.grouped => continue,
                _ => {}
            }
            let mut slots = Vec::new();
            self.slots_of(e, &mut slots);
            let is_plain = e.columns().iter().all(|slot| !(AGGREGATE..OUTER).contains(slot));
            match (slots.is_empty(), is_plain && is_steady(e)) {
                (true, true) if shown.merges => out.add(Vec::new(), vec![at]),
                (true, false) if shown.merges && is_plain => out.add(Vec::new(), vec![at]),
                (true, true) => all
                    .iter()
                    .filter(|other| **other != at)
                    .for_each(|other| out.add(vec![*other], vec![at])),
                (false, true) => out.add(moved(&slots), vec![at]),
                // The value of a window function follows from the whole row.
                (_, false) if is_steady(e) => out.add((0..width).map(inner).collect(), vec![at]),
                _ => {}
            }
        }
        if shown.grouped && !keys.is_empty() {
            out.add(keys, all);
        }
        (out.rules.len() <= RULES_MAX).then_some(Exported {
            rules: out.rules,
            hidden: out.hidden,
        })
    }
}

/// The conditions that all hold where this one does.
fn parts_of(condition: &Expr) -> Vec<&Expr> {
    conjuncts(condition)
        .into_iter()
        .flat_map(|part| match &part.node {
            // `(a, b) IN ((1, 2))`
            Node::Or(only) if only.len() == 1 => parts_of(&only[0]),
            _ => vec![part],
        })
        .collect()
}

/// Whether an expression has the same value whenever it is computed of the same row.
fn is_steady(e: &Expr) -> bool {
    let mut steady = true;
    e.walk(&mut |e| {
        steady &= match &e.node {
            Node::Call(def, _) => def.volatility != Volatility::Volatile,
            Node::UserVar(_) | Node::AssignVar(..) | Node::Routine(_) => false,
            _ => true,
        }
    });
    steady
}

/// The columns that are not NULL where a condition is true.
fn never_null(condition: &Expr) -> Vec<usize> {
    let columns = |list: &[&Expr]| {
        let slots = list.iter().filter_map(|e| match e.node {
            Node::Column(slot) => Some(slot),
            _ => None,
        });
        slots.collect()
    };
    match &condition.node {
        Node::Compare(op, _, sides) if *op != CmpOp::NullSafeEq => columns(&[&sides[0], &sides[1]]),
        Node::Between {
            args, negated: false, ..
        } => columns(&[&args[0]]),
        Node::In {
            value,
            negated: false,
            ..
        } => columns(&[value]),
        Node::Like { args, .. } => columns(&[&args[0]]),
        Node::Not(inner) => match &inner.node {
            Node::IsNull(e) => columns(&[e]),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

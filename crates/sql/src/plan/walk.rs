//! Through all that a plan evaluates: its expressions and its tables; which columns of a row, and of the rows around a
//! query, are read.

use super::Planner;
use super::from::{FromInput, FromTable};
use super::index_bounds::IndexBounds;
use super::logical::Query;
use super::window::WindowPass;
use super::{AGGREGATE, Input, QueryPlan, RowSource, SelectPlan, TableScan};
use crate::expr::{Expr, Node, OUTER, Volatility};

impl Planner<'_> {
    /// Adds the slots of this block's row that an expression reads, in subqueries too.
    pub(super) fn slots_of(&self, e: &Expr, out: &mut Vec<usize>) {
        e.walk(&mut |e| match &e.node {
            Node::Column(slot) => add_own(*slot, out),
            Node::Subquery { id, .. } => self.slots_around(*id, out),
            _ => {}
        });
    }

    /// Adds the slots of this block's row that LATERAL derived tables and JSON_TABLEs among its tables read.
    pub(super) fn slots_of_laterals<'f>(
        &self,
        tables: impl IntoIterator<Item = &'f FromTable>,
        out: &mut Vec<usize>,
    ) {
        for table in tables {
            match &table.input {
                FromInput::Derived { query, lateral: true } => self.slots_around(*query, out),
                FromInput::Json(plan) => self.slots_of(&plan.document, out),
                _ => {}
            }
        }
    }

    /// Adds the slots of the row just around a query that it reads.
    pub(super) fn slots_around(&self, query: usize, out: &mut Vec<usize>) {
        let around = self.queries[query].outer.iter();
        around.for_each(|slot| add_own(*slot, out));
    }

    /// Whether a query gives the same, and changes nothing, when it is evaluated again for the same rows around it.
    pub(super) fn is_repeatable(&self, query: usize) -> bool {
        self.queries[query].repeatable
    }

    /// Takes note of what a query that has just been bound, and the queries in it, read of the row around it, and whether it is repeatable:
    /// none of them calls a volatile function or assigns a variable.
    pub(super) fn settle_reads(&self, query: &mut Query) {
        let (mut outer, mut repeatable) = (Vec::new(), true);
        let mut add = |slot: usize| {
            if !outer.contains(&slot) {
                outer.push(slot);
            }
        };
        let further = |slot: &usize| slot.checked_sub(OUTER);
        let mut derived = Vec::new();
        query.walk(
            &mut |e| match &e.node {
                Node::Column(slot) if *slot >= OUTER => add(*slot - OUTER),
                Node::Call(function, _) => repeatable &= function.volatility != Volatility::Volatile,
                Node::AssignVar(..) | Node::Routine(_) => repeatable = false,
                Node::Subquery { id, .. } => {
                    let inner = &self.queries[*id];
                    inner.outer.iter().filter_map(further).for_each(&mut add);
                    repeatable &= inner.repeatable;
                }
                _ => {}
            },
            &mut |table| {
                if let FromInput::Derived { query, lateral } = &table.input {
                    derived.push((*query, *lateral));
                }
            },
        );
        for (id, lateral) in derived {
            let inner = &self.queries[id];
            repeatable &= inner.repeatable;
            match lateral {
                true => inner.outer.iter().filter_map(further).for_each(&mut add),
                false => inner.outer.iter().copied().for_each(&mut add),
            }
        }
        (query.outer, query.repeatable) = (outer, repeatable);
    }
}

/// A slot of the block's own row that is not there yet.
fn add_own(slot: usize, out: &mut Vec<usize>) {
    if slot < AGGREGATE && !out.contains(&slot) {
        out.push(slot);
    }
}

/// Whether an expression runs statements, by a subquery or a stored function: it needs the transaction, and is not evaluated while a page is
/// latched.
pub fn has_subquery(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.node, Node::Subquery { .. } | Node::Routine(_)));
    found
}

impl QueryPlan {
    /// Visits the expressions and the scanned tables of this query, not those of the queries it refers to by number.
    pub fn walk(&self, f: &mut dyn FnMut(&Expr), scans: &mut dyn FnMut(&TableScan)) {
        self.walk_blocks(f, &mut |select, f| select.walk(f, scans));
    }
}

impl SelectPlan {
    /// Visits its expressions and scanned tables.
    pub(super) fn walk(&self, f: &mut dyn FnMut(&Expr), scans: &mut dyn FnMut(&TableScan)) {
        self.source.walk(f, scans);
        self.output
            .iter()
            .chain(&self.filter)
            .chain(&self.having)
            .for_each(|e| e.walk(f));
        let passes = self.windows.iter().flat_map(|windows| &windows.passes);
        passes.flat_map(WindowPass::exprs).for_each(|e| e.walk(f));
        if let Some(group) = &self.group {
            group.ends.iter().for_each(|source| source.walk(f, scans));
            group.keys.iter().for_each(|e| e.walk(f));
            for aggregate in &group.aggregates {
                aggregate.args.iter().for_each(|e| e.walk(f));
                aggregate.order_by.iter().for_each(|(e, _)| e.walk(f));
            }
        }
    }
}

impl RowSource {
    pub fn walk(&self, f: &mut dyn FnMut(&Expr), scans: &mut dyn FnMut(&TableScan)) {
        match self {
            RowSource::One => {}
            RowSource::Table(scan) => {
                scans(scan);
                if let Input::Json(plan) = &scan.input {
                    plan.document.walk(f);
                }
                scan.gate
                    .iter()
                    .chain(&scan.filter)
                    .chain(&scan.late_filter)
                    .for_each(|e| e.walk(f));
                let bounds = scan.path.all_bounds().flat_map(IndexBounds::values);
                bounds.for_each(|v| v.expr.walk(f));
                if let Some(hash) = &scan.hash {
                    hash.build.iter().chain(&hash.probe).for_each(|e| e.walk(f));
                }
            }
            RowSource::Inner(list) => list.iter().for_each(|source| source.walk(f, scans)),
            RowSource::Left(join) => {
                join.left.walk(f, scans);
                join.right.walk(f, scans);
                join.filter.iter().for_each(|e| e.walk(f));
            }
        }
    }
}

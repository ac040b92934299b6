//! Checks bound queries after each rule, in builds with debug assertions: what a rule has broken ends the statement where it is broken, with the
//! rule's name, not where wrong rows are found later.
//!
//! - A column is one of a table of its block, or a finished aggregate or window of it, and has that column's kind of type.
//! - A query has a higher number than those inside it, but for the queries of forms that rules have added, which stand in no other.
//! - No condition is lost: there are no fewer than before, unless the rule says that it takes some away.

use crate::expr::{Expr, Node, OUTER};
use crate::plan::access::conjuncts;
use crate::plan::derived::type_in_table;
use crate::plan::from::{FromInput, FromTable};
use crate::plan::join::conditions;
use crate::plan::logical::{Block, Query};
use crate::plan::{AGGREGATE, Planner, QueryBody, WINDOW};
use crate::types::TypeKind;
use std::collections::HashSet;

/// The queries of a statement at work.
struct Verifier<'v, 'a> {
    planner: &'v Planner<'a>,
    rule: &'static str,
    /// Those that read nothing around them, which are looked at once.
    done: HashSet<usize>,
}

/// How many conditions there are in all queries.
pub(super) fn count_conditions(planner: &Planner, root: &Query) -> usize {
    let mut count = 0;
    for query in planner.queries.iter().chain([root]) {
        query.walk_blocks(&mut |_| {}, &mut |block, _| {
            let joins = block.tree.iter().flat_map(conditions);
            let all = joins.chain(&block.filter).chain(&block.having);
            count += all.map(|e| conjuncts(e).len()).sum::<usize>() + block.semi_joins.len();
        });
    }
    count
}

/// Panics if queries are not what binding would have made of them.
pub(super) fn verify(planner: &Planner, root: &Query, rule: &'static str) {
    let mut verifier = Verifier {
        planner,
        rule,
        done: HashSet::new(),
    };
    verifier.query(root, usize::MAX, &mut Vec::new());
}

impl<'v> Verifier<'v, '_> {
    fn query(&mut self, query: &'v Query, number: usize, around: &mut Vec<&'v Block<'v>>) {
        match &query.body {
            QueryBody::Select(block) => self.block(block, number, around),
            QueryBody::Set { first, rest } => {
                self.query(first, number, around);
                rest.iter()
                    .for_each(|branch| self.query(&branch.plan, number, around));
                for (e, _) in &query.order {
                    self.result(e, query);
                }
            }
            QueryBody::Recursive(recursion) => {
                self.query(&recursion.seed, number, around);
                recursion
                    .steps
                    .iter()
                    .for_each(|step| self.query(step, number, around));
            }
            QueryBody::Values(_) => {}
        }
        query.converted.iter().for_each(|e| self.result(e, query));
    }

    /// An expression over the columns of a query.
    fn result(&self, e: &Expr, query: &Query) {
        let is_known = |slot: &usize| *slot >= OUTER || *slot < query.columns.len();
        assert!(
            e.columns().iter().all(is_known),
            "{}: an expression over the results of a query reads another column",
            self.rule
        );
    }

    fn block(&mut self, block: &'v Block<'v>, number: usize, around: &mut Vec<&'v Block<'v>>) {
        let added = block.joined().map(|joined| &joined.table);
        for table in block.tables.iter().chain(added) {
            if let FromInput::Derived { query, lateral } = table.input {
                let is_added = !block.tables.iter().any(|own| own.base == table.base);
                let number = if is_added { usize::MAX } else { number };
                match lateral {
                    true => {
                        self.with_block(block, around, |this, around| this.numbered(query, number, around))
                    }
                    false => self.numbered(query, number, around),
                }
            }
        }
        self.with_block(block, around, |this, around| {
            for e in block.exprs() {
                this.expression(e, number, around);
            }
        });
    }

    fn with_block(
        &mut self,
        block: &'v Block<'v>,
        around: &mut Vec<&'v Block<'v>>,
        check: impl FnOnce(&mut Self, &mut Vec<&'v Block<'v>>),
    ) {
        around.push(block);
        check(self, around);
        around.pop();
    }

    fn numbered(&mut self, id: usize, number: usize, around: &mut Vec<&'v Block<'v>>) {
        let query = &self.planner.queries[id];
        if query.outer.is_empty() && !self.done.insert(id) {
            return;
        }
        // Forms that rules have added come after all that stand in other queries.
        let is_form = self.planner.forms.contains(&id);
        assert!(
            id < number || is_form,
            "{}: query {id} stands in query {number}",
            self.rule
        );
        let inside = if is_form { usize::MAX } else { id };
        self.query(query, inside, around);
    }

    fn expression(&mut self, e: &'v Expr, number: usize, around: &mut Vec<&'v Block<'v>>) {
        match &e.node {
            Node::Column(slot) => self.column(e, *slot, around),
            Node::Subquery { id, .. } => self.numbered(*id, number, around),
            _ => {}
        }
        for child in e.children() {
            self.expression(child, number, around);
        }
    }

    fn column(&self, e: &Expr, slot: usize, around: &[&Block]) {
        let (depth, slot) = (slot / OUTER, slot % OUTER);
        // Rows around a whole statement are those of a change.
        let Some(block) = around.len().checked_sub(depth + 1).map(|at| around[at]) else {
            return;
        };
        let rule = self.rule;
        match slot {
            0..AGGREGATE => {
                let kind = self.kind_of(block, slot);
                let Some(kind) = kind else {
                    panic!("{rule}: no table of the block has slot {slot}");
                };
                assert!(
                    kind == e.ty.kind,
                    "{rule}: slot {slot} is a {kind:?} and read as a {:?}",
                    e.ty.kind
                );
            }
            AGGREGATE..WINDOW => assert!(
                slot - AGGREGATE < block.finished(),
                "{rule}: the block has no aggregate {}",
                slot - AGGREGATE
            ),
            _ => {}
        }
    }

    /// The kind of type of a slot; `None`: no table has it.
    fn kind_of(&self, block: &Block, slot: usize) -> Option<TypeKind> {
        let added = block.joined().map(|joined| &joined.table);
        let tables = block
            .tables
            .iter()
            .chain(added)
            .filter(|table| table.base <= slot);
        let table = tables.max_by_key(|table| table.base)?;
        self.column_kind(table, slot - table.base)
    }

    fn column_kind(&self, table: &FromTable, column: usize) -> Option<TypeKind> {
        match &table.input {
            FromInput::Stored { def, .. } | FromInput::Virtual(def) => match column == def.columns.len() {
                // The row's primary key, where rows may change.
                true => Some(TypeKind::VarChar),
                false => Some(def.columns.get(column)?.ty.kind),
            },
            FromInput::Derived { query, .. } => {
                let query = &self.planner.queries[*query];
                (column < query.columns.len()).then(|| type_in_table(query, column).kind)
            }
            FromInput::Json(plan) => Some(plan.columns.get(column)?.ty.kind),
        }
    }
}

//! Conditions on documents that multi-valued indexes serve.
//!
//! `value MEMBER OF (document)`, `JSON_OVERLAPS` and `JSON_CONTAINS` ask for elements of an array. Where an index has the array that
//! is cast from this very document, they are put to the array instead, as in MySQL: there `DATE'2020-01-01'` is found in
//! `["2020-01-01"]`, which is a string in the document. The test stays a condition like any other, and the bounds of the index
//! come from the elements that it asks for. A row that passes has one of them, so it has an entry in the index, and any scan of
//! the ranges of all of them finds it, maybe several times ([`RangeScan::once`](tidemark_engine::RangeScan::once)). No other
//! condition may go by such an index: of an empty array it has no entry.
//!
//! Which elements that are must be known when the statement is planned, since it decides whether the array can stand for the
//! document at all: a string is in no array of numbers. A plan that was made so is good for these values of its parameters alone.

use super::from::{FromInput, FromTable, Tree};
use super::generated::GeneratedColumns;
use super::{Planner, join};
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::expr::{BindCtx, EvalCtx, Expr, Node, Volatility, array_test};
use tidemark_engine::IndexNo;

/// A table of the statement, as far as its arrays are asked for.
pub(super) struct ArrayTable<'t> {
    pub def: &'t TableDef,
    /// The slot of its first column.
    pub base: usize,
    pub generated: &'t GeneratedColumns,
    /// Indexes that may be used; `None`: all.
    pub allowed: Option<&'t [IndexNo]>,
}

/// Puts tests of arrays in place of tests of the documents that they are cast from.
pub(super) struct ArrayTests<'t> {
    pub tables: Vec<ArrayTable<'t>>,
    /// With the values of this execution; `None` if there are none yet.
    pub sample: Option<&'t EvalCtx<'t>>,
    pub ctx: &'t BindCtx,
}

impl ArrayTable<'_> {
    /// Whether an index that may be used has the column among its parts.
    fn is_served(&self, column: usize) -> bool {
        self.def.indexes.iter().any(|index| {
            index.visible
                && self.allowed.is_none_or(|list| list.contains(&index.number))
                && index.parts.iter().any(|part| part.column == column)
        })
    }
}

impl ArrayTests<'_> {
    /// Of a condition: of all that is joined by AND and OR.
    pub fn substitute(&self, e: &mut Expr) {
        match &mut e.node {
            Node::And(list) | Node::Or(list) => list.iter_mut().for_each(|e| self.substitute(e)),
            Node::Call(function, args) if args.len() == 2 => {
                let orders: &[(usize, usize)] = match function.name {
                    "member of" => &[(1, 0)],
                    "json_overlaps" => &[(0, 1), (1, 0)],
                    "json_contains" => &[(0, 1)],
                    _ => return,
                };
                let mut tests = orders.iter().filter_map(|(document, given)| {
                    self.test(function.name, &args[*document], &args[*given])
                });
                if let Some(test) = tests.next() {
                    *e = test;
                }
            }
            _ => {}
        }
    }

    fn test(&self, name: &str, document: &Expr, given: &Expr) -> Option<Expr> {
        if !is_constant(given) {
            return None;
        }
        let (table, column) = self.tables.iter().find_map(|table| {
            let arrays = table
                .generated
                .arrays_of(document, table.base, &self.ctx.depends_on_literals);
            let served = arrays.into_iter().find(|column| table.is_served(*column));
            served.map(|column| (table, column))
        })?;
        let mut of_parameters = false;
        given.walk(&mut |e| of_parameters |= matches!(e.node, Node::Param(_)));
        if of_parameters {
            self.ctx.depends_on_literals.set(true);
            self.ctx.depends_on_values.set(true);
        }
        let sample = self
            .sample
            .filter(|sample| !(of_parameters && sample.env.unbound))?;
        let array = Expr {
            ty: table.def.columns[column].ty.clone(),
            node: Node::Column(table.base + column),
            name: None,
        };
        // An error is that of the condition as it stands, which is evaluated then.
        let value = given.eval(sample).ok()?;
        array_test(name, array, &value, given, sample.env)
    }
}

/// Whether the value is the same for all rows, and does not come from other rows.
fn is_constant(e: &Expr) -> bool {
    let mut constant = true;
    e.walk(&mut |e| {
        constant &= match &e.node {
            Node::Column(_) | Node::Subquery { .. } | Node::Routine(_) | Node::AssignVar(..) => false,
            Node::Call(function, _) => function.volatility != Volatility::Volatile,
            _ => true,
        }
    });
    constant
}

impl Planner<'_> {
    /// Puts tests of arrays in place of tests of documents, in WHERE and in the conditions of joins.
    pub(super) fn test_arrays(
        &self,
        tables: &[FromTable],
        tree: Option<&mut Tree>,
        filter: Option<&mut Expr>,
    ) -> Result<()> {
        let mut stored = Vec::new();
        for table in tables {
            if let FromInput::Stored { def, .. } = &table.input
                && def.columns.iter().any(|column| column.ty.array)
            {
                stored.push((table, def, self.indexed_generated(def)?));
            }
        }
        if stored.is_empty() {
            return Ok(());
        }
        let tests = ArrayTests {
            tables: stored
                .iter()
                .map(|(table, def, generated)| ArrayTable {
                    def,
                    base: table.base,
                    generated,
                    allowed: table.allowed.as_deref(),
                })
                .collect(),
            sample: self.sample,
            ctx: self.binder.ctx,
        };
        let mut conditions: Vec<&mut Expr> = filter.into_iter().collect();
        tree.into_iter()
            .for_each(|tree| join::conditions_mut(tree, &mut conditions));
        conditions.into_iter().for_each(|e| tests.substitute(e));
        Ok(())
    }
}

//! What the optimizer trace is told of joins and of the tables in them. Nothing here decides anything.

use super::access::paths;
use super::from::{FromInput, FromTable, Tree};
use super::join::{Condition, Joiner, Reading, inner_conditions};
use super::trace::Tracer;
use super::{Input, TableScan};
use crate::error::Result;
use crate::plan::access::conjuncts;

impl Tree {
    /// How many left joins there are.
    pub(super) fn left_joins(&self) -> usize {
        match self {
            Tree::Table(_) => 0,
            Tree::Inner { list, .. } => list.iter().map(Tree::left_joins).sum(),
            Tree::Left { left, right, .. } => 1 + left.left_joins() + right.left_joins(),
        }
    }

    /// The tables for whose rows NULLs may stand.
    fn nullable(&self, tables: &mut Vec<usize>) {
        match self {
            Tree::Table(_) => {}
            Tree::Inner { list, .. } => list.iter().for_each(|tree| tree.nullable(tables)),
            Tree::Left { left, right, .. } => {
                left.nullable(tables);
                tables.extend(right.tables());
            }
        }
    }
}

impl Joiner<'_, '_> {
    pub(super) fn orders_told(&self) -> Option<&Tracer> {
        self.planner.trace.as_ref().filter(|trace| trace.tells_orders())
    }

    fn aliases(&self, tables: &[usize]) -> Vec<String> {
        let alias = |at: &usize| self.input.tables[*at].alias.clone();
        tables.iter().map(alias).collect()
    }

    /// The tables there are, and what each by itself comes to.
    pub(super) fn tell_tables(&self, trace: &Tracer, tree: &Tree, pool: &[Condition]) -> Result<()> {
        let mut nullable = Vec::new();
        tree.nullable(&mut nullable);
        let described = self.input.tables.iter().enumerate().map(|(at, table)| {
            let mut slots = Vec::new();
            self.planner.slots_of_laterals([table], &mut slots);
            let mut before: Vec<usize> = slots.into_iter().map(|slot| self.table_of(slot)).collect();
            before.sort_unstable();
            before.dedup();
            (table.alias.clone(), nullable.contains(&at), before)
        });
        trace.dependencies(&described.collect::<Vec<_>>());
        let of_joins = inner_conditions(tree).into_iter().flat_map(conjuncts);
        let mut conditions: Vec<Condition> = of_joins.map(|e| self.classify(e)).collect();
        conditions.extend_from_slice(pool);
        trace.estimates_rows();
        for (at, table) in self.input.tables.iter().enumerate() {
            self.tell_rows(trace, at, table, &conditions)?;
        }
        trace.end_list();
        Ok(())
    }

    fn tell_rows(
        &self,
        trace: &Tracer,
        at: usize,
        table: &FromTable,
        conditions: &[Condition],
    ) -> Result<()> {
        let is_own = |c: &&Condition| !c.tables.is_empty() && c.tables.iter().all(|other| *other == at);
        let own: Vec<Condition> = conditions.iter().filter(is_own).cloned().collect();
        let scan = self.scan(at, &own, &[], Reading::Best)?;
        if !matches!(table.input, FromInput::Stored { .. }) {
            trace.plain_table(&table.alias, scan.path.rows, scan.path.cost);
            return Ok(());
        }
        let own: Vec<&Condition> = own.iter().collect();
        self.with_request(&scan, table, &own, &[], |request| {
            trace.ranges(&table.alias, request, &paths(request)?, &scan.path);
            Ok(())
        })
    }

    /// Tells which orders are considered while one is looked for.
    pub(super) fn tell_orders<R>(&self, search: impl FnOnce() -> R) -> R {
        let Some(trace) = &self.planner.trace else {
            return search();
        };
        if !trace.tells_orders() {
            trace.orders_untold();
            return search();
        }
        trace.considers_orders();
        let found = search();
        trace.end_list();
        found
    }

    /// An item is about to be looked at, behind those that are there.
    pub(super) fn tell_next(&self, there: &[usize], item: &Tree) {
        if let Some(trace) = self.orders_told() {
            let first = item.tables()[0];
            trace.considers_table(&self.aliases(there), &self.input.tables[first].alias);
        }
    }

    /// It has been looked at: rows of the join with it and what they cost, and whether it is taken.
    pub(super) fn tell_step(&self, scan: &TableScan, (rows, cost): (f64, f64), is_chosen: bool) {
        if let Some(trace) = self.orders_told() {
            self.tell_plain_path(trace, scan);
            trace.considered_table(scan, rows, cost);
            trace.judged_table(is_chosen);
        }
    }

    /// A table whose place is fixed: what there is to choose from.
    pub(super) fn tell_only_table(&self, at: usize, pool: &[Condition], known: &[usize]) -> Result<()> {
        let Some(trace) = self.orders_told() else {
            return Ok(());
        };
        trace.considers_orders();
        trace.considers_table(&self.aliases(known), &self.input.tables[at].alias);
        let scan = self.scan(at, pool, known, Reading::Best)?;
        self.tell_plain_path(trace, &scan);
        trace.considered_table(&scan, scan.rows_out, scan.path.cost);
        trace.judged_table(true);
        trace.end_list();
        Ok(())
    }

    fn tell_plain_path(&self, trace: &Tracer, scan: &TableScan) {
        if !matches!(scan.input, Input::Stored { .. }) {
            trace.only_path(scan.path.rows, scan.path.cost);
        }
    }

    /// How a table is read in the end: in this way, if one was chosen, otherwise in the wanted order if that can be. If there is one, it is
    /// told what came of that.
    pub(super) fn final_scan(
        &self,
        at: usize,
        pool: &[Condition],
        known: &[usize],
        reading: Reading,
    ) -> Result<TableScan> {
        let ordered = match reading {
            Reading::Ordered(ordered) if !self.input.wish.order.is_empty() => ordered,
            reading => return self.scan(at, pool, known, reading),
        };
        let Some(trace) = self.planner.trace.as_ref() else {
            return self.scan(at, pool, known, Reading::Ordered(ordered));
        };
        let without = self.scan(at, pool, known, Reading::Best)?;
        let scan = self.scan(at, pool, known, Reading::Ordered(ordered))?;
        trace.ordered(&scan, *ordered, scan.path.index != without.path.index);
        Ok(scan)
    }
}

//! A query block as it is bound, as text: what the optimizer trace begins with.

use super::explain::Names;
use super::from::{FromInput, FromTable, Tree};
use super::logical::Block;
use super::{OutputColumn, Planner};
use crate::expr::Expr;

impl Planner<'_> {
    /// Tells the trace, if there is one, what a block is.
    pub(super) fn trace_prepared(&self, block: &Block, columns: &[OutputColumn]) {
        let Some(trace) = &self.trace else { return };
        trace.prepared(block.number, &text(block, columns, &self.trace_names(block)));
    }

    /// Tells it that the joins of a block are about to be considered.
    pub(super) fn trace_optimizes(&self, block: &Block) {
        let Some(trace) = &self.trace else { return };
        trace.optimizes(block.number, self.trace_names(block));
    }

    fn trace_names(&self, block: &Block) -> Names {
        let mut names = Names::quoted_of_from(&block.tables, &self.queries);
        names.add_aggregates(&block.aggregates);
        names
    }
}

fn text(block: &Block, columns: &[OutputColumn], names: &Names) -> String {
    let items = block.output.iter().zip(columns);
    let items = items.map(|(e, column)| format!("{} AS {}", names.expr(e), ticked(&column.name)));
    let items: Vec<String> = items.collect();
    let distinct = if block.distinct { "distinct " } else { "" };
    let mut text = format!("select {distinct}{}", items.join(","));
    if let Some(tree) = &block.tree {
        text += &format!(" from {}", joins(tree, &block.tables, names));
    }
    if let Some(filter) = &block.filter {
        text += &format!(" where {}", names.expr(filter));
    }
    if !block.keys.is_empty() {
        text += &format!(" group by {}", names.list(&block.keys));
    }
    if let Some(having) = &block.having {
        text += &format!(" having {}", names.expr(having));
    }
    if !block.order.is_empty() {
        let key = |(e, descending): &(Expr, bool)| match descending {
            false => names.expr(e),
            true => format!("{} desc", names.expr(e)),
        };
        let keys: Vec<String> = block.order.iter().map(key).collect();
        text += &format!(" order by {}", keys.join(","));
    }
    text
}

fn joins(tree: &Tree, tables: &[FromTable], names: &Names) -> String {
    let on = |conditions: &[Expr]| match conditions.is_empty() {
        true => String::new(),
        false => {
            let parts: Vec<String> = conditions.iter().map(|e| names.expr(e)).collect();
            format!(" on({})", parts.join(" and "))
        }
    };
    match tree {
        Tree::Table(at) => table(&tables[*at]),
        Tree::Inner {
            list,
            on: own,
            straight,
            ..
        } => {
            let between = if *straight { " straight_join " } else { " join " };
            let parts: Vec<String> = list.iter().map(|part| joins(part, tables, names)).collect();
            format!("({}{})", parts.join(between), on(own))
        }
        Tree::Left { left, right, on: own } => {
            format!(
                "({} left join {}{})",
                joins(left, tables, names),
                joins(right, tables, names),
                on(own)
            )
        }
    }
}

fn table(table: &FromTable) -> String {
    let alias = ticked(&table.alias);
    match &table.input {
        FromInput::Stored { def, .. } | FromInput::Virtual(def) if def.name != table.alias => {
            format!("{} {alias}", ticked(&def.name))
        }
        FromInput::Stored { .. } | FromInput::Virtual(_) => alias,
        FromInput::Derived { .. } => format!("(...) {alias}"),
        FromInput::Json(_) => format!("json_table(...) {alias}"),
    }
}

fn ticked(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

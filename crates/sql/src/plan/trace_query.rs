//! A query block as it is bound, as text: what the optimizer trace begins with.

use super::Planner;
use super::block::Block;
use super::explain::Names;
use super::from::{From, FromInput, FromTable, Tree};
use crate::expr::Expr;
use crate::parse::ast;

impl Planner<'_> {
    /// Tells the trace, if there is one, what the query of this number is, and that its joins are about to be considered.
    pub(super) fn trace_prepared(&self, number: u64, select: &ast::Select, from: &From, block: &Block) {
        let Some(trace) = &self.trace else { return };
        let mut names = Names::quoted_of_from(&from.tables, &self.queries);
        names.add_aggregates(&block.aggregates);
        trace.prepared(number, &text(select, from, block, &names));
        trace.optimizes(number, names);
    }
}

fn text(select: &ast::Select, from: &From, block: &Block, names: &Names) -> String {
    let items = block.output.iter().zip(&block.columns);
    let items = items.map(|(e, column)| format!("{} AS {}", names.expr(e), ticked(&column.name)));
    let items: Vec<String> = items.collect();
    let distinct = if select.distinct { "distinct " } else { "" };
    let mut text = format!("select {distinct}{}", items.join(","));
    if let Some(tree) = &from.tree {
        text += &format!(" from {}", joins(tree, from, names));
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

fn joins(tree: &Tree, from: &From, names: &Names) -> String {
    let on = |conditions: &[Expr]| match conditions.is_empty() {
        true => String::new(),
        false => {
            let parts: Vec<String> = conditions.iter().map(|e| names.expr(e)).collect();
            format!(" on({})", parts.join(" and "))
        }
    };
    match tree {
        Tree::Table(at) => table(&from.tables[*at]),
        Tree::Inner {
            list,
            on: own,
            straight,
        } => {
            let between = if *straight { " straight_join " } else { " join " };
            let parts: Vec<String> = list.iter().map(|part| joins(part, from, names)).collect();
            format!("({}{})", parts.join(between), on(own))
        }
        Tree::Left { left, right, on: own } => {
            format!(
                "({} left join {}{})",
                joins(left, from, names),
                joins(right, from, names),
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

//! What a plan's slots are called in EXPLAIN: columns by their tables' aliases, finished aggregates and window functions by what
//! they compute.

use crate::dictionary::TableDef;
use crate::expr::print::Printer;
use crate::expr::{Aggregate, Expr};
use crate::plan::from::{FromInput, FromTable};
use crate::plan::window::WindowCall;
use crate::plan::{AGGREGATE, Input, QueryBody, QueryPlan, SelectPlan, TableScan, WINDOW};
use std::cell::RefCell;
use std::collections::HashMap;

/// How columns are named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// By table and column, in quotes only where they need them.
    Plain,
    /// In quotes.
    Quoted,
    /// In quotes, of stored tables with their databases.
    Full,
}

/// The names of the slots of one query block.
pub struct Names {
    style: Style,
    slots: HashMap<usize, String>,
    /// Under which number the tree shows a subquery.
    subqueries: RefCell<HashMap<usize, u64>>,
}

impl Names {
    fn of_slots(slots: HashMap<usize, String>) -> Names {
        Names {
            style: Style::Plain,
            slots,
            subqueries: RefCell::default(),
        }
    }

    /// The tree shows a subquery under this number.
    pub fn number(&self, subquery: usize, number: u64) {
        self.subqueries.borrow_mut().insert(subquery, number);
    }

    /// Of a SELECT, and of what its expressions read.
    pub fn of_select(select: &SelectPlan, queries: &[QueryPlan]) -> Names {
        Names::of_slots(HashMap::new()).with_select(select, queries)
    }

    /// The same with databases, all in quotes.
    pub fn full_of_select(select: &SelectPlan, queries: &[QueryPlan]) -> Names {
        let names = Names {
            style: Style::Full,
            ..Names::of_slots(HashMap::new())
        };
        names.with_select(select, queries)
    }

    /// The same in quotes, without databases.
    pub fn quoted_of_select(select: &SelectPlan, queries: &[QueryPlan]) -> Names {
        let names = Names {
            style: Style::Quoted,
            ..Names::of_slots(HashMap::new())
        };
        names.with_select(select, queries)
    }

    /// Of columns that are called so.
    pub fn of_columns<'c>(names: impl Iterator<Item = &'c str>) -> Names {
        let quoted = names.map(|name| format!("`{}`", name.replace('`', "``")));
        Names::of_slots(quoted.enumerate().collect())
    }

    fn with_select(self, select: &SelectPlan, queries: &[QueryPlan]) -> Names {
        let mut names = self;
        select
            .source
            .walk(&mut |_| {}, &mut |scan| names.add_table(scan, queries));
        if let Some(group) = &select.group {
            names.add_aggregates(&group.aggregates);
            // With totals the keys stand behind the aggregates.
            if group.rollup.is_some() {
                for (n, key) in group.keys.iter().enumerate() {
                    let name = format!("rollup_group_item({},{n})", names.expr(key));
                    names.slots.insert(AGGREGATE + group.aggregates.len() + n, name);
                }
            }
        }
        for call in select
            .windows
            .iter()
            .flat_map(|windows| &windows.passes)
            .flat_map(|pass| &pass.calls)
        {
            let name = names.window_call(call);
            names.slots.insert(WINDOW + call.number, name);
        }
        names
    }

    /// None, before tables are known.
    pub fn of_nothing() -> Names {
        Names::of_slots(HashMap::new())
    }

    /// Of the tables of a FROM clause, in quotes.
    pub(in crate::plan) fn quoted_of_from<S>(tables: &[FromTable], queries: &[QueryPlan<S>]) -> Names {
        let mut slots = HashMap::new();
        for table in tables {
            let put = |slots: &mut HashMap<usize, String>, n: usize, column: &str| {
                slots.insert(table.base + n, full(None, &table.alias, column));
            };
            match &table.input {
                FromInput::Stored { def, .. } | FromInput::Virtual(def) => {
                    for (n, column) in def.columns.iter().enumerate() {
                        match column.key_part_expression() {
                            Some(part) => drop(slots.insert(table.base + n, part.to_owned())),
                            None => put(&mut slots, n, &column.name),
                        }
                    }
                }
                FromInput::Derived { query, .. } => {
                    let columns = queries[*query].columns.iter().enumerate();
                    columns.for_each(|(n, column)| put(&mut slots, n, &column.name));
                }
                FromInput::Json(plan) => {
                    let columns = plan.columns.iter().enumerate();
                    columns.for_each(|(n, column)| put(&mut slots, n, &column.name));
                }
            }
        }
        Names {
            style: Style::Quoted,
            ..Names::of_slots(slots)
        }
    }

    /// Adds what finished aggregates are called.
    pub fn add_aggregates(&mut self, aggregates: &[Aggregate]) {
        for (n, aggregate) in aggregates.iter().enumerate() {
            let name = self.aggregate(aggregate);
            self.slots.insert(AGGREGATE + n, name);
        }
    }

    /// Of the result of a query, whose order is over its columns.
    pub fn of_result(plan: &QueryPlan) -> Names {
        let columns = plan.columns.iter().enumerate();
        Names::of_slots(
            columns
                .map(|(slot, column)| (slot, quoted(&column.name)))
                .collect(),
        )
    }

    /// What a query's order is over.
    pub fn of_order(plan: &QueryPlan, queries: &[QueryPlan]) -> Names {
        match &plan.body {
            QueryBody::Select(select) => Names::of_select(select, queries),
            _ => Names::of_result(plan),
        }
    }

    /// Of a table's columns, from the first slot on.
    pub fn of_table(def: &TableDef) -> Names {
        let columns = def.columns.iter().enumerate();
        let name = |column: &str| format!("{}.{}", quoted(&def.name), quoted(column));
        Names::of_slots(columns.map(|(slot, column)| (slot, name(&column.name))).collect())
    }

    /// The same with the database, all in quotes.
    pub fn full_of_table(def: &TableDef) -> Names {
        let columns = def.columns.iter().enumerate();
        let name = |column: &str| full(Some(&def.schema), &def.name, column);
        Names {
            style: Style::Full,
            ..Names::of_slots(columns.map(|(slot, column)| (slot, name(&column.name))).collect())
        }
    }

    fn add_table(&mut self, scan: &TableScan, queries: &[QueryPlan]) {
        let alias = quoted(&scan.alias);
        let style = self.style;
        let schema = scan.input.def().map(|def| def.schema.as_str());
        let slots = &mut self.slots;
        let mut put = |n: usize, name: String| drop(slots.insert(scan.base + n, name));
        let of_column = |column: &str| match style {
            Style::Plain => format!("{alias}.{}", quoted(column)),
            Style::Quoted => full(None, &scan.alias, column),
            Style::Full => full(schema, &scan.alias, column),
        };
        match &scan.input {
            Input::Stored { def, .. } | Input::Virtual(def) => {
                for (n, column) in def.columns.iter().enumerate() {
                    let part = column.key_part_expression().map(str::to_owned);
                    put(n, part.unwrap_or_else(|| of_column(&column.name)));
                }
            }
            Input::Derived { query, .. } => {
                let columns = queries[*query].columns.iter().enumerate();
                columns.for_each(|(n, column)| put(n, of_column(&column.name)));
            }
            Input::Json(plan) => {
                let columns = plan.columns.iter().enumerate();
                columns.for_each(|(n, column)| put(n, of_column(&column.name)));
            }
        }
    }

    pub fn expr(&self, e: &Expr) -> String {
        let printer = Printer {
            column: &|slot, name| self.column(slot, name),
            subquery: &|id| match self.subqueries.borrow().get(&id) {
                Some(number) => format!("(select #{number})"),
                None => "(select ...)".to_owned(),
            },
            literals: &[],
            negations: false,
        };
        printer.expr(e)
    }

    pub fn list<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> String {
        let exprs: Vec<String> = exprs.into_iter().map(|e| self.expr(e)).collect();
        exprs.join(", ")
    }

    fn column(&self, slot: usize, name: Option<&str>) -> String {
        match (self.slots.get(&slot), name) {
            (Some(known), _) => known.clone(),
            (None, Some(name)) if self.style == Style::Full => name.to_owned(),
            // Of a query around this one: without its database, as the others.
            (None, Some(name)) => {
                let parts: Vec<&str> = name.trim_matches('`').split("`.`").collect();
                let from = parts.len().saturating_sub(2);
                let parts: Vec<String> = parts[from..].iter().map(|part| quoted(part)).collect();
                parts.join(".")
            }
            (None, None) => format!("column {}", slot + 1),
        }
    }

    pub fn aggregate(&self, aggregate: &Aggregate) -> String {
        let distinct = if aggregate.distinct { "distinct " } else { "" };
        let args = match aggregate.args.is_empty() {
            true => "0".to_owned(),
            false => self.list(&aggregate.args).replace(", ", ","),
        };
        format!("{}({distinct}{args})", aggregate.func.name())
    }

    fn window_call(&self, call: &WindowCall) -> String {
        let args: Vec<String> = call.function.args.iter().map(|e| self.expr(e)).collect();
        format!("{}({})", call.function.name(), args.join(","))
    }
}

/// A column with its table and database, in quotes.
fn full(schema: Option<&str>, table: &str, column: &str) -> String {
    let parts = schema.into_iter().chain([table, column]);
    let parts: Vec<String> = parts
        .map(|part| format!("`{}`", part.replace('`', "``")))
        .collect();
    parts.join(".")
}

/// A name, in quotes only if it needs them.
pub fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    match !name.is_empty() && name.chars().all(plain) {
        true => name.to_owned(),
        false => format!("`{}`", name.replace('`', "``")),
    }
}

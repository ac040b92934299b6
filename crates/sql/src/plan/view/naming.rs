//! What the columns of a view's query are called, and the clauses that call them so.

use crate::dictionary::names_equal;
use crate::error::{Result, SqlError};
use crate::parse::ast::*;
use crate::plan::query::ordinal;

/// The most characters of a column's name.
const NAME_MAX: usize = 64;

/// The name of an item that has one, and what it stands for.
pub(super) fn named(item: &SelectItem) -> Option<(String, Expr)> {
    match item {
        SelectItem::Expr {
            expr,
            alias: Some(alias),
            ..
        } => Some((alias.clone(), expr.clone())),
        _ => None,
    }
}

/// What is in parentheses, if nothing else is.
pub(super) fn bare(body: &QueryBody) -> &QueryBody {
    match body {
        QueryBody::Query(inner)
            if inner.order_by.is_empty() && inner.limit.is_none() && inner.with.is_none() =>
        {
            bare(&inner.body)
        }
        body => body,
    }
}

/// The items of the SELECTs that a query's columns come from, the one that names them first.
fn selects(body: &mut QueryBody) -> Vec<&mut Select> {
    match body {
        QueryBody::Select(select) => vec![select],
        QueryBody::Query(query) => selects(&mut query.body),
        QueryBody::Values(_) => Vec::new(),
        QueryBody::SetOperation { first, rest } => {
            let rest = rest.iter_mut().map(|operand| &mut operand.body);
            std::iter::once(&mut **first)
                .chain(rest)
                .flat_map(selects)
                .collect()
        }
    }
}

/// Gives each column its name.
pub(super) fn name_columns(query: &mut Query) {
    for select in selects(&mut query.body) {
        for item in &mut select.items {
            if let SelectItem::Expr { alias, text, .. } = item {
                alias.get_or_insert_with(|| text.clone());
            }
        }
    }
}

/// Gives columns that are called by their text other names where those are taken, or cannot be names. Error 1060 for two
/// columns whose names were given.
pub(super) fn rename_columns(query: &mut Query) -> Result<()> {
    let mut selects = selects(&mut query.body);
    let Some(items) = selects.first_mut().map(|select| &mut select.items) else {
        return Ok(());
    };
    let is_name = |text: &str| !text.is_empty() && !text.ends_with(' ') && text.chars().count() <= NAME_MAX;
    for at in 0..items.len() {
        let SelectItem::Expr { alias, text, .. } = &items[at] else {
            continue;
        };
        let taken = |name: &str| {
            items.iter().enumerate().any(|(other, item)| match item {
                SelectItem::Expr {
                    alias: Some(alias), ..
                } => other != at && names_equal(alias, name),
                _ => false,
            })
        };
        let renamed = match alias {
            Some(name) if taken(name) => return Err(SqlError::duplicate_column(name)),
            Some(_) => continue,
            None if !is_name(text) => format!("Name_exp_{}", at + 1),
            None if taken(text) => format!("Name_exp_{text}"),
            None => text.clone(),
        };
        if let SelectItem::Expr { alias, .. } = &mut items[at] {
            *alias = Some(renamed);
        }
    }
    Ok(())
}

/// The names of the columns of a query that has been written out.
pub(super) fn column_names(body: &QueryBody) -> Vec<String> {
    match body {
        QueryBody::Select(select) => select
            .items
            .iter()
            .map(|item| match item {
                SelectItem::Expr { text, alias, .. } => alias.clone().unwrap_or_else(|| text.clone()),
                _ => String::new(),
            })
            .collect(),
        QueryBody::SetOperation { first, .. } => column_names(first),
        QueryBody::Query(query) => column_names(&query.body),
        QueryBody::Values(rows) => {
            let columns = rows.first().map_or(0, Vec::len);
            (0..columns).map(|at| format!("column_{at}")).collect()
        }
    }
}

/// ORDER BY of a union: its columns by name.
pub(super) fn order_of_names(order: &[OrderItem], names: &[String]) -> Result<Vec<OrderItem>> {
    let mut out = Vec::new();
    for item in order {
        let by_number = ordinal(&item.expr).map(|n| names.get((n as usize).wrapping_sub(1)));
        let name = match (&item.expr, by_number) {
            (_, Some(Some(name))) => name,
            (_, Some(None)) => return Err(SqlError::unknown_column("", "order clause")),
            (Expr::Column(column), None) => names
                .iter()
                .find(|name| names_equal(name, &column.column))
                .ok_or_else(|| SqlError::unknown_column(&column.to_string(), "order clause"))?,
            _ => {
                return Err(SqlError::not_supported(
                    "an expression in ORDER BY of a UNION in a view",
                ));
            }
        };
        out.push(OrderItem {
            expr: Expr::Column(ColumnName {
                schema: None,
                table: None,
                column: name.clone(),
            }),
            descending: item.descending,
        });
    }
    Ok(out)
}

//! A view's query as text: what the dictionary keeps, and what SHOW CREATE VIEW prints. Names are qualified, `*` is written out,
//! each column has its name behind AS, as the planner has made the tree; the parser reads the text again to the same tree.

use crate::ast::*;
use crate::print::{Style, ViewStyle, column_type, identifier, list, write_expr};
use std::fmt::Write;

/// How a view's query is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewText {
    /// As the dictionary keeps it, and SHOW CREATE VIEW prints it: tables with their databases.
    Whole,
    /// As SHOW CREATE VIEW prints it where all tables are in the current database: without.
    Short,
    /// As `information_schema.VIEWS` has it: without the character sets of literals.
    Listed,
}

/// The query as text.
pub fn query(query: &Query, text: ViewText) -> String {
    let style = Style::View(ViewStyle {
        schemas: text != ViewText::Short,
        introducers: text != ViewText::Listed,
    });
    let mut out = String::new();
    write_query(query, style, &mut out);
    out
}

fn names(columns: &[String], out: &mut String) {
    if !columns.is_empty() {
        let columns: Vec<String> = columns.iter().map(|name| identifier(name)).collect();
        let _ = write!(out, " ({})", columns.join(","));
    }
}

fn write_query(query: &Query, style: Style, out: &mut String) {
    if let Some(with) = &query.with {
        out.push_str("with ");
        if with.tables.iter().any(|table| table.recursive) {
            out.push_str("recursive ");
        }
        for (at, table) in with.tables.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "" });
            out.push_str(&identifier(&table.name));
            names(&table.columns, out);
            out.push_str(" as (");
            write_query(&table.query, style, out);
            out.push(')');
        }
        out.push(' ');
    }
    write_body(&query.body, style, out);
    order(&query.order_by, " order by ", style, out);
    if let Some(limit) = &query.limit {
        out.push_str(" limit ");
        if let Some(offset) = &limit.offset {
            write_expr(offset, style, out);
            out.push(',');
        }
        write_expr(&limit.count, style, out);
    }
}

fn order(items: &[OrderItem], words: &str, style: Style, out: &mut String) {
    for (at, item) in items.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { words });
        write_expr(&item.expr, style, out);
        if item.descending {
            out.push_str(" desc");
        }
    }
}

fn write_body(body: &QueryBody, style: Style, out: &mut String) {
    match body {
        QueryBody::Select(select) => write_select(select, style, out),
        QueryBody::SetOperation { first, rest } => {
            write_operand(first, style, out);
            for operand in rest {
                let word = match operand.op {
                    SetOp::Union => "union",
                    SetOp::Intersect => "intersect",
                    SetOp::Except => "except",
                };
                let all = if operand.all { " all" } else { "" };
                let _ = write!(out, " {word}{all} ");
                write_operand(&operand.body, style, out);
            }
        }
        QueryBody::Values(rows) => {
            for (at, row) in rows.iter().enumerate() {
                out.push_str(if at > 0 { ",row(" } else { "values row(" });
                list(row, ",", style, out);
                out.push(')');
            }
        }
        QueryBody::Query(query) => {
            out.push('(');
            write_query(query, style, out);
            out.push(')');
        }
    }
}

fn write_operand(body: &QueryBody, style: Style, out: &mut String) {
    match body {
        QueryBody::SetOperation { .. } => {
            out.push('(');
            write_body(body, style, out);
            out.push(')');
        }
        body => write_body(body, style, out),
    }
}

fn write_select(select: &Select, style: Style, out: &mut String) {
    out.push_str("select ");
    let mut advice = Vec::new();
    write_advice(&select.from, &mut advice);
    if !advice.is_empty() {
        let _ = write!(out, "/*+ {} */ ", advice.join(" "));
    }
    if select.distinct {
        out.push_str("distinct ");
    }
    if select.straight_join {
        out.push_str("straight_join ");
    }
    for (at, item) in select.items.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        match item {
            SelectItem::All => out.push('*'),
            SelectItem::AllOf(name) => {
                let _ = write!(out, "{}.*", identifier(&name.name));
            }
            SelectItem::Expr { expr, alias, .. } => {
                write_expr(expr, style, out);
                if let Some(alias) = alias {
                    let _ = write!(out, " AS {}", identifier(alias));
                }
            }
        }
    }
    if !select.from.is_empty() {
        out.push_str(" from ");
        match matches!(style, Style::View(style) if !style.introducers) {
            true => write_listed(&flattened(&select.from), style, out),
            false => write_tables(&select.from, style, out),
        }
    } else if select.filter.is_some() {
        out.push_str(" from DUAL ");
    }
    if let Some(filter) = &select.filter {
        out.push_str(" where ");
        write_expr(filter, style, out);
    }
    order(&select.group_by, " group by ", style, out);
    if select.with_rollup {
        out.push_str(" with rollup");
    }
    if let Some(having) = &select.having {
        out.push_str(" having ");
        write_expr(having, style, out);
    }
    for (at, window) in select.windows.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { " window " });
        let _ = write!(out, "{} AS ", identifier(&window.name));
        write_window(&window.window, style, out);
    }
    if !select.windows.is_empty() {
        out.push(' ');
    }
}

/// What stands behind the parenthesis of a call.
pub(crate) fn write_over(over: &Over, style: Style, out: &mut String) {
    out.push_str(" OVER ");
    match over {
        Over::Name(name) => out.push_str(&identifier(name)),
        Over::Window(window) => {
            write_window(window, style, out);
            out.push(' ');
        }
    }
}

fn write_window(window: &Window, style: Style, out: &mut String) {
    out.push('(');
    if let Some(base) = &window.base {
        let _ = write!(out, "{} ", identifier(base));
    }
    if !window.partition_by.is_empty() {
        out.push_str("PARTITION BY ");
        list(&window.partition_by, ",", style, out);
        out.push(' ');
    }
    if !window.order_by.is_empty() {
        order(&window.order_by, "ORDER BY ", style, out);
        out.push(' ');
    }
    if let Some(frame) = &window.frame {
        out.push_str(match frame.unit {
            FrameUnit::Rows => "ROWS BETWEEN ",
            FrameUnit::Range => "RANGE BETWEEN ",
        });
        write_bound(&frame.start, style, out);
        out.push_str(" AND ");
        write_bound(&frame.end, style, out);
    }
    out.push(')');
}

fn write_bound(bound: &FrameBound, style: Style, out: &mut String) {
    match bound {
        FrameBound::UnboundedPreceding => out.push_str("UNBOUNDED PRECEDING"),
        FrameBound::UnboundedFollowing => out.push_str("UNBOUNDED FOLLOWING"),
        FrameBound::CurrentRow => out.push_str("CURRENT ROW"),
        FrameBound::Preceding(e) => {
            write_expr(e, style, out);
            out.push_str(" PRECEDING");
        }
        FrameBound::Following(e) => {
            write_expr(e, style, out);
            out.push_str(" FOLLOWING");
        }
    }
}

/// Tables joined from the left: `((a join b) join c)`.
fn write_tables(tables: &[TableRef], style: Style, out: &mut String) {
    for _ in 1..tables.len() {
        out.push('(');
    }
    for (at, table) in tables.iter().enumerate() {
        out.push_str(if at > 0 { " join " } else { "" });
        write_table(table, style, out);
        out.push_str(if at > 0 { ")" } else { "" });
    }
}

/// The tables that are joined without a condition.
fn flattened(tables: &[TableRef]) -> Vec<&TableRef> {
    let mut out = Vec::new();
    for table in tables {
        match table {
            TableRef::Nested(list) => out.extend(flattened(list)),
            TableRef::Join(join) if join.kind == JoinKind::Inner && join.condition == JoinCondition::None => {
                out.extend(flattened(std::slice::from_ref(&join.left)));
                out.extend(flattened(std::slice::from_ref(&join.right)));
            }
            table => out.push(table),
        }
    }
    out
}

fn write_listed(tables: &[&TableRef], style: Style, out: &mut String) {
    for (at, table) in tables.iter().enumerate() {
        out.push_str(if at > 0 { " join " } else { "" });
        write_table(table, style, out);
    }
}

fn write_table(table: &TableRef, style: Style, out: &mut String) {
    match table {
        TableRef::Table(table) => {
            if let (Some(schema), Style::View(ViewStyle { schemas: true, .. })) = (&table.name.schema, style)
            {
                let _ = write!(out, "{}.", identifier(schema));
            }
            out.push_str(&identifier(&table.name.name));
            if let Some(alias) = &table.alias {
                let _ = write!(out, " {}", identifier(alias));
            }
            for hint in table.hints.iter().filter(|hint| hint.advice.is_none()) {
                write_hint(hint, out);
            }
        }
        TableRef::Derived {
            query,
            alias,
            columns,
            lateral,
        } => {
            out.push_str(if *lateral { "lateral (" } else { "(" });
            write_query(query, style, out);
            let _ = write!(out, ") {}", identifier(alias));
            names(columns, out);
        }
        TableRef::JsonTable(table) => {
            out.push_str("json_table(");
            write_expr(&table.document, style, out);
            out.push_str(", ");
            write_json_rows(&table.rows, style, out);
            let _ = write!(out, ") {}", identifier(&table.alias));
        }
        TableRef::Nested(list) => write_tables(list, style, out),
        TableRef::Join(join) => {
            out.push('(');
            write_table(&join.left, style, out);
            out.push_str(match join.kind {
                JoinKind::Inner => " join ",
                JoinKind::Straight => " straight_join ",
                JoinKind::Left => " left join ",
                JoinKind::Right => " right join ",
            });
            write_table(&join.right, style, out);
            if let JoinCondition::On(condition) = &join.condition {
                out.push_str(" on(");
                write_expr(condition, style, out);
                out.push(')');
            }
            out.push(')');
        }
    }
}

/// `'$[*]' columns (…)`
fn write_json_rows(rows: &JsonRows, style: Style, out: &mut String) {
    write_expr(&rows.path, style, out);
    out.push_str(" columns (");
    for (at, column) in rows.columns.iter().enumerate() {
        out.push_str(if at > 0 { ", " } else { "" });
        write_json_column(column, style, out);
    }
    out.push(')');
}

fn write_json_column(column: &JsonTableColumn, style: Style, out: &mut String) {
    match column {
        JsonTableColumn::Ordinality { name } => {
            let _ = write!(out, "{} for ordinality", identifier(name));
        }
        JsonTableColumn::Exists { name, ty, path } => {
            let _ = write!(out, "{} {} exists path ", identifier(name), column_type(ty));
            write_expr(path, style, out);
        }
        JsonTableColumn::Path {
            name,
            ty,
            path,
            on_empty,
            on_error,
        } => {
            let _ = write!(out, "{} {} path ", identifier(name), column_type(ty));
            write_expr(path, style, out);
            for (otherwise, when) in [(on_empty, " on empty"), (on_error, " on error")] {
                match otherwise {
                    None => continue,
                    Some(JsonOtherwise::Null) => out.push_str(" null"),
                    Some(JsonOtherwise::Error) => out.push_str(" error"),
                    Some(JsonOtherwise::Default(default)) => {
                        out.push_str(" default ");
                        write_expr(default, style, out);
                    }
                }
                out.push_str(when);
            }
        }
        JsonTableColumn::Nested(rows) => {
            out.push_str("nested path ");
            write_json_rows(rows, style, out);
        }
    }
}

/// The optimizer hints that name indexes of the tables.
fn write_advice(tables: &[TableRef], out: &mut Vec<String>) {
    for table in tables {
        match table {
            TableRef::Table(table) => {
                for hint in &table.hints {
                    let Some(advice) = &hint.advice else { continue };
                    let indexes = hint.indexes.iter().map(|name| format!(" {}", identifier(name)));
                    let indexes: Vec<String> = indexes.collect();
                    out.push(format!("{}({}{})", advice.hint, advice.path, indexes.join(",")));
                }
            }
            TableRef::Join(join) => {
                write_advice(std::slice::from_ref(&join.left), out);
                write_advice(std::slice::from_ref(&join.right), out);
            }
            TableRef::Nested(nested) => write_advice(nested, out),
            TableRef::Derived { .. } | TableRef::JsonTable(_) => {}
        }
    }
}

fn write_hint(hint: &IndexHint, out: &mut String) {
    let word = match hint.kind {
        IndexHintKind::Use => "USE",
        IndexHintKind::Force => "FORCE",
        IndexHintKind::Ignore => "IGNORE",
    };
    let indexes = hint.indexes.iter();
    let indexes = indexes.map(|name| match name.eq_ignore_ascii_case("PRIMARY") {
        true => "PRIMARY".to_owned(),
        false => identifier(name),
    });
    let indexes: Vec<String> = indexes.collect();
    let _ = write!(out, " {word} INDEX ({})", indexes.join(","));
}

/// An expression with a query in it.
pub(crate) fn write_query_in(expr: &Expr, style: Style, out: &mut String) {
    match expr {
        Expr::InQuery { expr, query, negated } => {
            write_expr(expr, style, out);
            out.push_str(if *negated { " not in (" } else { " in (" });
            write_query(query, style, out);
            out.push(')');
        }
        Expr::Exists(query) => {
            out.push_str("exists(");
            write_query(query, style, out);
            out.push(')');
        }
        Expr::Subquery(query) => {
            out.push('(');
            write_query(query, style, out);
            out.push(')');
        }
        Expr::Quantified { op, all, left, query } => {
            write_expr(left, style, out);
            let word = if *all { "all" } else { "any" };
            let _ = write!(out, " {} {word} (", op.text());
            write_query(query, style, out);
            out.push(')');
        }
        _ => out.push('?'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_query;

    #[test]
    fn a_query_is_read_back_as_it_was_printed() {
        for text in [
            "select `d`.`t`.`a` AS `a`,(`d`.`t`.`b` + 1) AS `b` from `d`.`t` where (`d`.`t`.`a` > 1) order by `d`.`t`.`b` \
             desc limit 2,3",
            "select `x`.`a` AS `a` from ((`d`.`t` `x` join `d`.`u` on((`x`.`a` = `d`.`u`.`a`))) left join `d`.`t` on((1 = 2)))",
            "with `c` (`q`) as (select 1 AS `1`) select `c`.`q` AS `q` from `c` union all (select 2 AS `2` limit 1)",
            "select (`t`.`d` + interval 1 day) AS `i`,trim(leading 'x' from `t`.`b`) AS `t`,timestampdiff(DAY,`t`.`d`,now()) \
             AS `n`,group_concat(distinct `t`.`b` order by `t`.`a` DESC separator '-') AS `g`,count(0) AS `c`,exists(select \
             1 from `d`.`u`) AS `e`,`t`.`a` not in (select `d`.`u`.`k` from `d`.`u`) AS `q` from `d`.`t`",
            "values row(1,2),row(3,4)",
            "select `j`.`n` AS `n` from (`d`.`t` join json_table(`d`.`t`.`a`, '$[*]' columns (`n` for ordinality, `e` int exists path \
             '$.e', nested path '$.\"it\\'s\"' columns (`w` varchar(10) character set latin1 path '$' default '\"x\"' on empty error \
             on error, `d` decimal(5,2) unsigned path '$' null on error, `m` enum('a','b''c') character set utf8mb4 collate \
             utf8mb4_bin path '$'))) `j`)",
        ] {
            let tree = parse_query(text).unwrap();
            assert_eq!(query(&tree, ViewText::Whole), text);
        }
    }
}

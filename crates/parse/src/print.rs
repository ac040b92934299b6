//! An expression back as SQL text: the form that SHOW CREATE TABLE prints of DEFAULT (…) and CHECK (…), and that the
//! parser reads again to the same tree. In a view's query ([`view_text`](crate::view_text)) names are qualified and literals
//! stand as they were written.

use crate::ast::{ColumnName, Expr, Literal, TypeName, UnaryOp};
use crate::call_text::write_call;
use crate::view_text;
use std::fmt::Write;

/// Where an expression stands, which decides how it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// In a table's definition.
    Definition,
    /// In a view's query.
    View(ViewStyle),
}

/// What a view's text says and what it leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewStyle {
    /// Names of tables say their database.
    pub schemas: bool,
    /// Literals say the character set that was written in front of them.
    pub introducers: bool,
}

/// The expression as SHOW CREATE TABLE prints it.
pub fn expr(expr: &Expr) -> String {
    let mut out = String::new();
    write_expr(expr, Style::Definition, &mut out);
    out
}

/// `'text'` with quotes and control characters escaped as MySQL prints them.
pub fn quoted(text: &str) -> String {
    with_quotes(text, "''")
}

/// `'text'` in an expression, where MySQL escapes a quote that it doubles elsewhere.
pub fn escaped(text: &str) -> String {
    with_quotes(text, "\\'")
}

fn with_quotes(text: &str, quote: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    for c in text.chars() {
        match c {
            '\'' => out.push_str(quote),
            '\\' => out.push_str("\\\\"),
            '\0' => out.push_str("\\0"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            _ => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// `` `name` ``
pub fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

pub(crate) fn list(items: &[Expr], separator: &str, style: Style, out: &mut String) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        write_expr(item, style, out);
    }
}

fn column(name: &ColumnName, style: Style) -> String {
    match (&name.table, &name.schema, style) {
        (Some(table), Some(schema), Style::View(ViewStyle { schemas: true, .. })) => format!(
            "{}.{}.{}",
            identifier(schema),
            identifier(table),
            identifier(&name.column)
        ),
        (Some(table), _, Style::View(_)) => format!("{}.{}", identifier(table), identifier(&name.column)),
        // A definition names columns of its own table only.
        _ => identifier(&name.column),
    }
}

pub(crate) fn write_expr(expr: &Expr, style: Style, out: &mut String) {
    match expr {
        Expr::Literal(literal) => write_literal(literal, style, out),
        Expr::Column(name) => out.push_str(&column(name, style)),
        Expr::Unary { op, expr } => {
            out.push_str(match op {
                UnaryOp::Minus => "-",
                UnaryOp::Plus => "",
                UnaryOp::BitNot => "~",
                UnaryOp::Binary => "cast(",
            });
            match op {
                UnaryOp::Binary => {
                    write_expr(expr, style, out);
                    out.push_str(" as char charset binary)");
                }
                _ => {
                    out.push('(');
                    write_expr(expr, style, out);
                    out.push(')');
                }
            }
        }
        Expr::Binary { op, left, right } => {
            out.push('(');
            write_expr(left, style, out);
            let _ = write!(out, " {} ", op.text());
            write_expr(right, style, out);
            out.push(')');
        }
        // Without the parentheses of each step: a chain of any length is read back as one.
        Expr::Chain { first, rest } => {
            out.push('(');
            write_expr(first, style, out);
            for (op, right) in rest {
                let _ = write!(out, " {} ", op.text());
                write_expr(right, style, out);
            }
            out.push(')');
        }
        Expr::And(items) | Expr::Or(items) => {
            out.push('(');
            list(
                items,
                if matches!(expr, Expr::And(_)) {
                    " and "
                } else {
                    " or "
                },
                style,
                out,
            );
            out.push(')');
        }
        Expr::Not(inner) if matches!((style, &**inner), (Style::View(_), Expr::Exists(_))) => {
            out.push_str("(not ");
            write_expr(inner, style, out);
            out.push(')');
        }
        Expr::Not(inner) => {
            out.push_str("(not(");
            write_expr(inner, style, out);
            out.push_str("))");
        }
        Expr::IsNull { expr, negated } => {
            out.push('(');
            write_expr(expr, style, out);
            out.push_str(if *negated { " is not null)" } else { " is null)" });
        }
        Expr::IsTruth { expr, truth, negated } => {
            out.push('(');
            write_expr(expr, style, out);
            let not = if *negated { "not " } else { "" };
            let truth = match truth {
                Some(true) => "true",
                Some(false) => "false",
                None => "unknown",
            };
            let _ = write!(out, " is {not}{truth})");
        }
        Expr::Between {
            expr,
            low,
            high,
            negated,
        } => {
            out.push('(');
            write_expr(expr, style, out);
            out.push_str(if *negated { " not between " } else { " between " });
            write_expr(low, style, out);
            out.push_str(" and ");
            write_expr(high, style, out);
            out.push(')');
        }
        Expr::InList {
            expr,
            list: items,
            negated,
        } => {
            out.push('(');
            write_expr(expr, style, out);
            out.push_str(if *negated { " not in (" } else { " in (" });
            list(items, ",", style, out);
            out.push_str("))");
        }
        Expr::Like {
            expr,
            pattern,
            escape,
            negated,
        } => {
            out.push('(');
            write_expr(expr, style, out);
            out.push_str(if *negated { " not like " } else { " like " });
            write_expr(pattern, style, out);
            if let Some(escape) = escape {
                out.push_str(" escape ");
                write_expr(escape, style, out);
            }
            out.push(')');
        }
        Expr::Regexp {
            expr,
            pattern,
            negated,
        } => {
            out.push('(');
            write_expr(expr, style, out);
            out.push_str(if *negated { " not regexp " } else { " regexp " });
            write_expr(pattern, style, out);
            out.push(')');
        }
        Expr::Case {
            operand,
            whens,
            otherwise,
        } => {
            out.push_str("(case");
            if let Some(operand) = operand {
                out.push(' ');
                write_expr(operand, style, out);
            }
            for (when, then) in whens {
                out.push_str(" when ");
                write_expr(when, style, out);
                out.push_str(" then ");
                write_expr(then, style, out);
            }
            if let Some(otherwise) = otherwise {
                out.push_str(" else ");
                write_expr(otherwise, style, out);
            }
            out.push_str(" end)");
        }
        Expr::Cast { expr, ty } => {
            out.push_str("cast(");
            write_expr(expr, style, out);
            let _ = write!(out, " as {})", type_name(ty, style));
        }
        Expr::ConvertUsing { expr, charset } if matches!(&**expr, Expr::Function(call) if call.name == "CHAR" && call.schema.is_none()) =>
        {
            write_expr(expr, style, out);
            out.pop();
            let _ = write!(out, " using {charset})");
        }
        Expr::ConvertUsing { expr, charset } => {
            out.push_str("convert(");
            write_expr(expr, style, out);
            let _ = write!(out, " using {charset})");
        }
        Expr::Collate { expr, collation } => {
            out.push('(');
            write_expr(expr, style, out);
            let _ = write!(out, " collate {collation})");
        }
        Expr::Function(call) => {
            write_call(call, style, out);
            if let Some(over) = &call.over {
                view_text::write_over(over, style, out);
            }
        }
        Expr::Interval { value, unit } => {
            out.push_str("interval ");
            write_expr(value, style, out);
            let _ = write!(out, " {}", unit.to_lowercase());
        }
        Expr::Row(items) => {
            out.push('(');
            list(items, ",", style, out);
            out.push(')');
        }
        Expr::UserVar(name) => {
            let _ = write!(out, "@{}", identifier(name));
        }
        Expr::SysVar { name, .. } => {
            let _ = write!(out, "@@{name}");
        }
        Expr::Default(Some(name)) => {
            let _ = write!(out, "default({})", column(name, style));
        }
        // What remains stands in views, or in none: that has been refused (`check.rs`), but for parameters.
        _ => view_text::write_query_in(expr, style, out),
    }
}

fn write_literal(literal: &Literal, style: Style, out: &mut String) {
    let hex = |bytes: &[u8], out: &mut String| {
        out.push_str("0x");
        for byte in bytes {
            let _ = write!(out, "{byte:02X}");
        }
    };
    match literal {
        Literal::Null => out.push_str("NULL"),
        Literal::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Literal::Int(v) => {
            let _ = write!(out, "{v}");
        }
        Literal::Decimal(text) => out.push_str(text),
        Literal::Double(v) => {
            let _ = write!(out, "{v:e}");
        }
        Literal::Str { bytes, charset } => match std::str::from_utf8(bytes) {
            Ok(text) => {
                match (style, charset) {
                    (Style::Definition, _) => {
                        let _ = write!(out, "_{}", charset.as_deref().unwrap_or("utf8mb4"));
                    }
                    (Style::View(style), Some(charset)) if style.introducers => {
                        let _ = write!(out, "_{charset}");
                    }
                    (Style::View(_), _) => {}
                }
                out.push_str(&escaped(text));
            }
            Err(_) => hex(bytes, out),
        },
        Literal::Hex(bytes) | Literal::Bit(bytes) => hex(bytes, out),
        Literal::Date(text) => {
            let _ = write!(out, "DATE{}", quoted(text));
        }
        Literal::Time(text) => {
            let _ = write!(out, "TIME{}", quoted(text));
        }
        Literal::Timestamp(text) => {
            let _ = write!(out, "TIMESTAMP{}", quoted(text));
        }
    }
}

fn type_name(ty: &TypeName, style: Style) -> String {
    let mut text = ty.name.to_lowercase();
    if ty.name == "BIGINT" {
        let name = if ty.unsigned { "unsigned" } else { "signed" };
        return format!("{name}{}", array(ty));
    }
    match (ty.length, ty.decimals) {
        (Some(length), Some(decimals)) => {
            let space = if ty.array { " " } else { "" };
            let _ = write!(text, "({length},{space}{decimals})");
        }
        (Some(length), None) => {
            let _ = write!(text, "({length})");
        }
        _ => {}
    }
    if ty.unsigned && ty.name != "UNSIGNED" {
        text.push_str(" unsigned");
    }
    match (&ty.charset, style) {
        (Some(charset), _) => {
            let _ = write!(text, " charset {charset}");
        }
        (None, Style::Definition) if ty.name == "CHAR" && !ty.binary && !ty.array => {
            text.push_str(" charset utf8mb4");
        }
        _ => {}
    }
    text + array(ty)
}

fn array(ty: &TypeName) -> &'static str {
    if ty.array { " array" } else { "" }
}

/// A column's type with its attributes.
pub(crate) fn column_type(ty: &TypeName) -> String {
    let mut text = ty.name.to_lowercase();
    let is_integer = matches!(
        ty.name.as_str(),
        "TINYINT" | "SMALLINT" | "MEDIUMINT" | "INT" | "BIGINT"
    );
    let length = match (ty.name.as_str(), ty.length) {
        ("TINYINT", Some(1)) => Some(1),
        _ if is_integer && !ty.zerofill => None,
        ("BIT" | "CHAR" | "BINARY", None) => Some(1),
        ("YEAR", _) => None,
        (_, length) => length,
    };
    match (length, ty.decimals) {
        (Some(length), Some(decimals)) => {
            let _ = write!(text, "({length},{decimals})");
        }
        (Some(length), None) => {
            let _ = write!(text, "({length})");
        }
        _ => {}
    }
    if !ty.members.is_empty() {
        let members = ty
            .members
            .iter()
            .map(|member| quoted(&String::from_utf8_lossy(member)));
        let _ = write!(text, "({})", members.collect::<Vec<_>>().join(","));
    }
    if ty.unsigned {
        text.push_str(" unsigned");
    }
    if ty.zerofill {
        text.push_str(" zerofill");
    }
    if let Some(charset) = &ty.charset {
        let _ = write!(text, " character set {charset}");
    }
    if let Some(collation) = &ty.collation {
        let _ = write!(text, " collate {collation}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::BinaryOp;

    #[test]
    fn expressions_are_parenthesised_and_names_quoted() {
        let tree = Expr::And(vec![
            Expr::Binary {
                op: BinaryOp::Greater,
                left: Box::new(Expr::Column(ColumnName {
                    schema: None,
                    table: None,
                    column: "a`b".to_owned(),
                })),
                right: Box::new(Expr::int(0)),
            },
            Expr::Not(Box::new(Expr::str("it's"))),
        ]);
        assert_eq!(expr(&tree), "((`a``b` > 0) and (not(_utf8mb4'it\\'s')))");
    }
}

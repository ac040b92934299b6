//! A function's call as SQL text: under the name that MySQL prints, and with the words that some calls have between their
//! arguments. The parser reads it again to the same tree.

use crate::ast::{Expr, FunctionCall, Literal};
use crate::print::{Style, escaped, list, write_expr};
use std::fmt::Write;

/// The call without its window.
pub(crate) fn write_call(call: &FunctionCall, style: Style, out: &mut String) {
    if write_with_words(call, style, out) {
        return;
    }
    out.push_str(&printed_name(&call.name).to_lowercase());
    out.push('(');
    if call.distinct {
        out.push_str("distinct ");
    }
    if call.star {
        out.push('0');
    }
    list(&call.args, ",", style, out);
    out.push(')');
}

/// The name under which MySQL prints a function.
fn printed_name(name: &str) -> &str {
    match name {
        "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP" => "NOW",
        "CURRENT_DATE" => "CURDATE",
        "CURRENT_TIME" => "CURTIME",
        "SCHEMA" => "DATABASE",
        "SESSION_USER" | "SYSTEM_USER" => "USER",
        "LCASE" => "LOWER",
        "UCASE" => "UPPER",
        "SUBSTRING" | "MID" => "SUBSTR",
        "POWER" => "POW",
        "CEIL" => "CEILING",
        "OCTET_LENGTH" => "LENGTH",
        "CHARACTER_LENGTH" => "CHAR_LENGTH",
        "DAY" => "DAYOFMONTH",
        "STDDEV" | "STDDEV_POP" => "STD",
        "VAR_POP" => "VARIANCE",
        "SHA" => "SHA1",
        other => other,
    }
}

/// A keyword, which the parser keeps as a literal.
fn unit(literal: &Expr) -> Option<String> {
    match literal {
        Expr::Literal(Literal::Str { bytes, .. }) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

/// A call that is more than a name and a list in parentheses. False: this one is not.
fn write_with_words(call: &FunctionCall, style: Style, out: &mut String) -> bool {
    match (call.name.as_str(), call.args.as_slice()) {
        ("DATE_ADD" | "DATE_SUB", [date, amount]) => {
            out.push('(');
            write_expr(date, style, out);
            out.push_str(if call.name == "DATE_ADD" { " + " } else { " - " });
            write_expr(amount, style, out);
            out.push(')');
        }
        ("TIMESTAMPADD", [kind, amount, date]) => {
            let Some(kind) = unit(kind) else { return false };
            out.push('(');
            write_expr(date, style, out);
            out.push_str(" + interval ");
            write_expr(amount, style, out);
            let _ = write!(out, " {})", kind.to_lowercase());
        }
        ("TIMESTAMPDIFF" | "GET_FORMAT", [kind, rest @ ..]) => {
            let Some(kind) = unit(kind) else { return false };
            let _ = write!(out, "{}({kind},", call.name.to_lowercase());
            list(rest, ",", style, out);
            out.push(')');
        }
        ("EXTRACT", [kind, from]) => {
            let Some(kind) = unit(kind) else { return false };
            let _ = write!(out, "extract({} from ", kind.to_lowercase());
            write_expr(from, style, out);
            out.push(')');
        }
        ("MEMBER OF", [value, array]) => {
            write_expr(value, style, out);
            out.push_str(" member of (");
            write_expr(array, style, out);
            out.push(')');
        }
        ("TRIM", [side, what, from]) => {
            let Some(side) = unit(side) else { return false };
            let _ = write!(out, "trim({} ", side.to_lowercase());
            write_expr(what, style, out);
            out.push_str(" from ");
            write_expr(from, style, out);
            out.push(')');
        }
        ("GROUP_CONCAT", args) => {
            out.push_str(if call.distinct {
                "group_concat(distinct "
            } else {
                "group_concat("
            });
            list(args, ",", style, out);
            for (at, item) in call.order_by.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { " order by " });
                write_expr(&item.expr, style, out);
                out.push_str(if item.descending { " DESC" } else { " ASC" });
            }
            let separator = call.separator.as_deref().unwrap_or(b",");
            let _ = write!(
                out,
                " separator {})",
                escaped(&String::from_utf8_lossy(separator))
            );
        }
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::parse_expression;
    use crate::print::expr;

    #[test]
    fn a_call_is_read_back_as_it_was_printed() {
        for text in [
            "(`d` + interval 1 day)",
            "(`d` - interval (`a` + 1) hour)",
            "timestampdiff(DAY,`d`,now())",
            "get_format(DATE,_utf8mb4'ISO')",
            "extract(year from `d`)",
            "trim(leading _utf8mb4'x' from `b`)",
            "substr(`b`,2)",
            "(1 member of (`j`) and is_uuid(`b`))",
        ] {
            assert_eq!(expr(&parse_expression(text).unwrap()), text);
        }
    }
}

//! Through a syntax tree: what stands right below an expression, and which tables a query names.

use super::{Expr, FrameBound, JoinCondition, Over, Query, QueryBody, Select, SelectItem, TableRef, Window};

impl Expr {
    /// The expressions right below this one; those of a subquery and of a window are not among them.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Literal(_)
            | Expr::Param(_)
            | Expr::Column(_)
            | Expr::Local(_)
            | Expr::Transition { .. }
            | Expr::UserVar(_)
            | Expr::SysVar { .. }
            | Expr::Exists(_)
            | Expr::Subquery(_)
            | Expr::Values(_)
            | Expr::Default(_)
            | Expr::Unsupported(_) => Vec::new(),
            Expr::AssignVar { value: expr, .. }
            | Expr::Unary { expr, .. }
            | Expr::Not(expr)
            | Expr::IsNull { expr, .. }
            | Expr::IsTruth { expr, .. }
            | Expr::InQuery { expr, .. }
            | Expr::Quantified { left: expr, .. }
            | Expr::Cast { expr, .. }
            | Expr::ConvertUsing { expr, .. }
            | Expr::Collate { expr, .. }
            | Expr::Interval { value: expr, .. } => vec![expr],
            Expr::Binary { left, right, .. } => vec![left, right],
            Expr::Chain { first, rest } => std::iter::once(&**first)
                .chain(rest.iter().map(|(_, right)| right))
                .collect(),
            Expr::And(items) | Expr::Or(items) | Expr::Row(items) => items.iter().collect(),
            Expr::Between { expr, low, high, .. } => vec![expr, low, high],
            Expr::InList { expr, list, .. } => std::iter::once(&**expr).chain(list).collect(),
            Expr::Like {
                expr,
                pattern,
                escape,
                ..
            } => [&**expr, pattern].into_iter().chain(escape.as_deref()).collect(),
            Expr::Regexp { expr, pattern, .. } => vec![expr, pattern],
            Expr::Case {
                operand,
                whens,
                otherwise,
            } => {
                let whens = whens.iter().flat_map(|(when, then)| [when, then]);
                operand
                    .as_deref()
                    .into_iter()
                    .chain(whens)
                    .chain(otherwise.as_deref())
                    .collect()
            }
            Expr::Function(call) => call
                .args
                .iter()
                .chain(call.order_by.iter().map(|item| &item.expr))
                .collect(),
        }
    }

    /// The query that this expression is made of; `None`: it is no subquery.
    pub fn query(&self) -> Option<&Query> {
        match self {
            Expr::Exists(query)
            | Expr::Subquery(query)
            | Expr::InQuery { query, .. }
            | Expr::Quantified { query, .. } => Some(query),
            _ => None,
        }
    }

    fn names_table(&self, name: &str) -> bool {
        let over = match self {
            Expr::Function(call) => match &call.over {
                Some(Over::Window(window)) => window.names_table(name),
                _ => false,
            },
            _ => false,
        };
        over || self.query().is_some_and(|query| query.names_table(name))
            || self.children().into_iter().any(|child| child.names_table(name))
    }
}

impl Query {
    /// Whether the query, or any in it, has a table in FROM that this name, without a database, means where the query stands. A
    /// common table of the name hides it.
    pub fn names_table(&self, name: &str) -> bool {
        for table in self.with.iter().flat_map(|with| &with.tables) {
            let means_itself = table.recursive && table.name == name;
            if !means_itself && table.query.names_table(name) {
                return true;
            }
            if table.name == name {
                return false;
            }
        }
        self.body.names_table(name) || self.order_by.iter().any(|item| item.expr.names_table(name))
    }
}

impl QueryBody {
    /// [`Query::names_table`] of a query without WITH.
    pub fn names_table(&self, name: &str) -> bool {
        match self {
            QueryBody::Select(select) => select.names_table(name),
            QueryBody::SetOperation { first, rest } => {
                first.names_table(name) || rest.iter().any(|operand| operand.body.names_table(name))
            }
            QueryBody::Values(rows) => rows.iter().flatten().any(|e| e.names_table(name)),
            QueryBody::Query(query) => query.names_table(name),
        }
    }
}

impl Select {
    fn names_table(&self, name: &str) -> bool {
        let item = |item: &SelectItem| match item {
            SelectItem::Expr { expr, .. } => expr.names_table(name),
            SelectItem::All | SelectItem::AllOf(_) => false,
        };
        self.from.iter().any(|table| table.names_table(name))
            || self.items.iter().any(item)
            || self
                .filter
                .iter()
                .chain(&self.having)
                .any(|e| e.names_table(name))
            || self.group_by.iter().any(|item| item.expr.names_table(name))
            || self.windows.iter().any(|named| named.window.names_table(name))
    }
}

impl Window {
    fn names_table(&self, name: &str) -> bool {
        let bound = |bound: &FrameBound| match bound {
            FrameBound::Preceding(e) | FrameBound::Following(e) => e.names_table(name),
            FrameBound::UnboundedPreceding | FrameBound::CurrentRow | FrameBound::UnboundedFollowing => false,
        };
        self.partition_by.iter().any(|e| e.names_table(name))
            || self.order_by.iter().any(|item| item.expr.names_table(name))
            || self
                .frame
                .iter()
                .any(|frame| bound(&frame.start) || bound(&frame.end))
    }
}

impl TableRef {
    fn names_table(&self, name: &str) -> bool {
        match self {
            TableRef::Table(table) => table.name.schema.is_none() && table.name.name == name,
            TableRef::Derived { query, .. } => query.names_table(name),
            TableRef::JsonTable(table) => table.document.names_table(name),
            TableRef::Join(join) => {
                let on = match &join.condition {
                    JoinCondition::On(condition) => condition.names_table(name),
                    JoinCondition::None | JoinCondition::Using(_) | JoinCondition::Natural => false,
                };
                on || join.left.names_table(name) || join.right.names_table(name)
            }
            TableRef::Nested(list) => list.iter().any(|table| table.names_table(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_query;

    #[test]
    fn a_name_is_found_wherever_it_stands_unless_it_is_hidden() {
        let names = |text: &str| parse_query(text).unwrap().names_table("c");
        for text in [
            "SELECT 1 FROM c",
            "SELECT 1 FROM a JOIN (b, c) ON 1",
            "SELECT (SELECT 1 FROM c)",
            "SELECT 1 FROM a JOIN b ON EXISTS (SELECT 1 FROM c)",
            "SELECT 1 WHERE 1 + (2 IN (SELECT 1 FROM c))",
            "SELECT 1 UNION (SELECT 2 ORDER BY (SELECT 1 FROM c))",
            "SELECT SUM(1) OVER (ORDER BY (SELECT 1 FROM c)) FROM a",
            "SELECT 1 FROM (SELECT 1 FROM c) AS d",
            "WITH c AS (SELECT 1 FROM c) SELECT 1",
            "WITH b AS (SELECT 1 FROM c), c AS (SELECT 1) SELECT 1 FROM c",
            "VALUES ROW((SELECT 1 FROM c))",
        ] {
            assert!(names(text), "{text}");
        }
        for text in [
            "SELECT 1 FROM d.c",
            "SELECT c FROM a AS c",
            "WITH c AS (SELECT 1) SELECT 1 FROM c",
            "WITH RECURSIVE c AS (SELECT 1 UNION SELECT 2 FROM c) SELECT 1 FROM c",
        ] {
            assert!(!names(text), "{text}");
        }
    }
}

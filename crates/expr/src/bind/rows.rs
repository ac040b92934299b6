//! Rows in comparisons and in IN: `(a, (b, c)) = (1, (2, 3))`.
//!
//! Rows of one shape are paired field by field, those of an inner row in its place. A nested row is so bound as the flat row of its fields,
//! and what looks for bounds of indexes finds the same comparisons in both. A subquery of several columns has no fields before it is
//! evaluated: beside a row it is a condition of its own.

use super::*;

/// What is compared with each other, left and right as written.
enum Pair<'e> {
    /// Two values.
    Values(&'e ast::Expr, &'e ast::Expr),
    /// A row and a subquery of as many columns, which is the left one if `is_left`.
    Query {
        row: &'e [ast::Expr],
        query: &'e Query,
        is_left: bool,
    },
}

/// Pairs the fields of two operands. Error 1241 with the left one's columns where the right one has not as many.
fn pair_up<'e>(left: &'e ast::Expr, right: &'e ast::Expr, pairs: &mut Vec<Pair<'e>>) -> Result<()> {
    check_stack()?;
    match (left, right) {
        (ast::Expr::Row(a), ast::Expr::Row(b)) if a.len() == b.len() => {
            let mut fields = a.iter().zip(b);
            return fields.try_for_each(|(left, right)| pair_up(left, right, pairs));
        }
        (ast::Expr::Row(row), ast::Expr::Subquery(query)) => {
            check_flat(row, query)?;
            pairs.push(Pair::Query {
                row,
                query,
                is_left: false,
            });
        }
        (ast::Expr::Row(row), _) => return Err(SqlError::operand_columns(row.len())),
        (ast::Expr::Subquery(query), _) => match (columns_written(query), right) {
            (Some(1), ast::Expr::Row(_)) => return Err(SqlError::operand_columns(1)),
            (None, ast::Expr::Row(row)) => pairs.push(Pair::Query {
                row,
                query,
                is_left: true,
            }),
            (Some(columns), ast::Expr::Row(row)) if row.len() == columns => {
                if row.iter().any(is_row) {
                    return Err(SqlError::operand_columns(1));
                }
                pairs.push(Pair::Query {
                    row,
                    query,
                    is_left: true,
                });
            }
            (Some(columns @ 2..), ast::Expr::Subquery(other)) if columns_written(other) == Some(columns) => {
                return Err(SqlError::not_supported(
                    "comparison of two subqueries of several columns",
                ));
            }
            (Some(columns @ 2..), _) => return Err(SqlError::operand_columns(columns)),
            _ => pairs.push(Pair::Values(left, right)),
        },
        (_, ast::Expr::Row(_)) => return Err(SqlError::operand_columns(1)),
        _ => pairs.push(Pair::Values(left, right)),
    }
    Ok(())
}

fn is_row(e: &ast::Expr) -> bool {
    matches!(e, ast::Expr::Row(_))
}

/// Error 1241 for a row within a row beside a subquery, whose columns are values.
fn check_flat(row: &[ast::Expr], query: &Query) -> Result<()> {
    let inner = row.iter().find_map(|field| match field {
        ast::Expr::Row(inner) => Some(inner.len()),
        _ => None,
    });
    match (inner, columns_written(query)) {
        (None, _) => Ok(()),
        (Some(_), Some(columns)) if columns != row.len() => Err(SqlError::operand_columns(row.len())),
        (Some(inner), _) => Err(SqlError::operand_columns(inner)),
    }
}

/// Returns how many columns a query has, if its text says it.
fn columns_written(query: &Query) -> Option<usize> {
    let mut body = &query.body;
    loop {
        match body {
            ast::QueryBody::SetOperation { first, .. } => body = first,
            ast::QueryBody::Query(query) => body = &query.body,
            ast::QueryBody::Values(rows) => return rows.first().map(Vec::len),
            ast::QueryBody::Select(select) => {
                let is_value = |item: &ast::SelectItem| matches!(item, ast::SelectItem::Expr { .. });
                return select.items.iter().all(is_value).then_some(select.items.len());
            }
        }
    }
}

/// Returns true if an operand of a comparison has several columns, as far as its text says.
pub(super) fn is_of_several(e: &ast::Expr) -> bool {
    match e {
        ast::Expr::Row(_) => true,
        ast::Expr::Subquery(query) => columns_written(query).is_some_and(|columns| columns > 1),
        _ => false,
    }
}

impl Binder<'_> {
    /// Binds a comparison of which an operand is a row, or a subquery of several columns.
    #[inline(never)]
    pub(super) fn compare_rows(
        &self,
        op: CmpOp,
        left: &ast::Expr,
        right: &ast::Expr,
        scope: &Scope,
        hooks: &mut dyn Hooks,
    ) -> Result<Expr> {
        let mut pairs = Vec::new();
        pair_up(left, right, &mut pairs)?;
        if let Some(values) = values_of(&pairs) {
            let (left, right): (Vec<_>, Vec<_>) = values.into_iter().unzip();
            let left = self.bind_each(&left, scope, hooks)?;
            let right = self.bind_each(&right, scope, hooks)?;
            return build::compare_rows(op, left, right, self.ctx);
        }
        let is_ordered = !matches!(op, CmpOp::Eq | CmpOp::NullSafeEq | CmpOp::Ne);
        if is_ordered && pairs.len() > 1 {
            return Err(SqlError::not_supported(
                "order of rows with subqueries of several columns",
            ));
        }
        let mut conditions = Vec::with_capacity(pairs.len());
        for pair in pairs {
            conditions.push(self.compare_pair(op, pair, scope, hooks)?);
        }
        Ok(match op {
            CmpOp::Ne => build::or(conditions),
            _ => build::and(conditions),
        })
    }

    fn compare_pair(&self, op: CmpOp, pair: Pair, scope: &Scope, hooks: &mut dyn Hooks) -> Result<Expr> {
        match pair {
            Pair::Values(left, right) => {
                let (left, right) = (self.bind(left, scope, hooks)?, self.bind(right, scope, hooks)?);
                build::compare(op, left, right, self.ctx)
            }
            Pair::Query { row, query, is_left } => {
                let op = if is_left { op.flipped() } else { op };
                let row = self.bind_all(row, scope, hooks)?;
                self.subquery(SubqueryKind::Row(op), row, query, scope, hooks)
            }
        }
    }

    /// Binds `expr [NOT] IN (list)`.
    pub(super) fn in_list(
        &self,
        expr: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        scope: &Scope,
        hooks: &mut dyn Hooks,
    ) -> Result<Expr> {
        if !is_of_several(expr) {
            let value = self.bind(expr, scope, hooks)?;
            let list = self.bind_all(list, scope, hooks)?;
            return build::in_list(value, list, negated, self.ctx);
        }
        let mut fields = Vec::new();
        let mut rows = Vec::with_capacity(list.len());
        for candidate in list {
            let mut pairs = Vec::new();
            pair_up(expr, candidate, &mut pairs)?;
            let Some(values) = values_of(&pairs) else {
                return Err(SqlError::not_supported(
                    "subqueries of several columns in a list of rows",
                ));
            };
            let (left, right): (Vec<_>, Vec<_>) = values.into_iter().unzip();
            fields = left;
            rows.push(right);
        }
        let row = self.bind_each(&fields, scope, hooks)?;
        let rows = rows.iter().map(|row| self.bind_each(row, scope, hooks));
        let rows = rows.collect::<Result<_>>()?;
        build::in_rows(row, rows, negated, self.ctx)
    }

    /// Binds the left operand of a comparison with the rows of a query: a row constructor's fields, or the one expression.
    pub(super) fn operands(
        &self,
        e: &ast::Expr,
        query: &Query,
        scope: &Scope,
        hooks: &mut dyn Hooks,
    ) -> Result<Vec<Expr>> {
        match e {
            ast::Expr::Row(fields) => {
                check_flat(fields, query)?;
                self.bind_all(fields, scope, hooks)
            }
            one => Ok(vec![self.bind(one, scope, hooks)?]),
        }
    }

    fn bind_each(&self, list: &[&ast::Expr], scope: &Scope, hooks: &mut dyn Hooks) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.bind(e, scope, hooks)).collect()
    }
}

/// Returns the pairs if all are of values.
fn values_of<'e>(pairs: &[Pair<'e>]) -> Option<Vec<(&'e ast::Expr, &'e ast::Expr)>> {
    let values = pairs.iter().map(|pair| match pair {
        Pair::Values(left, right) => Some((*left, *right)),
        Pair::Query { .. } => None,
    });
    values.collect()
}

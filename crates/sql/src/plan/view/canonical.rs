//! A view's query with everything written out that names could come to mean otherwise: tables with their databases, columns with
//! their tables, the columns that `*` stands for, a name for each column of the result. The form is the one that MySQL
//! prints: conditions are comparisons, negations stand where they end up, functions go by one of their names.
//!
//! The tree is walked with the planner's own scopes: each FROM clause is planned, which finds its tables and their columns,
//! and with them names are looked up as the planner looks them up ([`super::names`]). Here are queries and their tables;
//! [`super::expressions`] has what stands in them, [`super::naming`] what their columns are called.

use super::expressions::variable_clause;
use super::names::{Aliases, Names, Walk, using};
use super::naming::{bare, column_names, name_columns, named, order_of_names, rename_columns};
use crate::error::depth::check_stack;
use crate::error::{Result, SqlError};
use crate::expr::{Scope, column_type};
use crate::parse::ast::*;
use crate::plan::Planner;
use crate::plan::common::Parts;
use crate::plan::join_clause::common_names;
use crate::plan::query::ordinal;
use crate::types::TypeKind;
use std::sync::Arc;

/// Walks a query; collects what it names.
pub(super) struct Canonical<'p, 'a> {
    pub(super) planner: &'p mut Planner<'a>,
    /// The tables and views that are named, each once, in the order in which they are met.
    pub tables: Vec<(String, String)>,
    /// Some rows come from an outer join.
    pub outer_join: bool,
}

/// Whether the columns of a query have names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// All of them: tables are made of it.
    All,
    /// Those that were given one: it is a value.
    Given,
}

impl<'p, 'a> Canonical<'p, 'a> {
    pub fn new(planner: &'p mut Planner<'a>) -> Canonical<'p, 'a> {
        Canonical {
            planner,
            tables: Vec::new(),
            outer_join: false,
        }
    }

    /// The query that a view is made of. Its columns all have names, no two of them the same unless `named`: then the view
    /// has other names for them.
    pub fn whole(&mut self, query: &Query, named: bool) -> Result<Query> {
        let mut written = self.query(query, None, Naming::All)?;
        if !named {
            rename_columns(&mut written)?;
        }
        name_columns(&mut written);
        Ok(written)
    }

    /// The query of a table.
    fn table_query(&mut self, query: &Query, outer: Option<&Names>) -> Result<Query> {
        let mut written = self.query(query, outer, Naming::All)?;
        name_columns(&mut written);
        Ok(written)
    }

    pub(super) fn query(&mut self, query: &Query, outer: Option<&Names>, naming: Naming) -> Result<Query> {
        check_stack()?;
        if query.into.is_some() {
            return Err(variable_clause());
        }
        let common = self.planner.common.len();
        let written = self.query_with(query, outer, naming);
        self.planner.common.truncate(common);
        written
    }

    fn query_with(&mut self, query: &Query, outer: Option<&Names>, naming: Naming) -> Result<Query> {
        let mut tables = Vec::new();
        for table in query.with.iter().flat_map(|with| &with.tables) {
            let body = self.common_table(table)?;
            tables.push(Arc::new(CommonTable {
                query: body,
                ..CommonTable::clone(table)
            }));
            self.planner.common.push(Arc::clone(table));
        }
        let (body, order_by) = match bare(&query.body) {
            QueryBody::Select(select) => {
                let (select, order) = self.select(select, &query.order_by, outer, naming)?;
                (QueryBody::Select(Box::new(select)), order)
            }
            body => {
                let body = self.body(body, outer, naming)?;
                let order = order_of_names(&query.order_by, &column_names(&body))?;
                (body, order)
            }
        };
        let nothing = Names {
            scope: &Scope::default(),
            whole: &[],
            items: &[],
            keys: &[],
            aliases: Aliases::Never,
            outer: None,
        };
        let limit = match &query.limit {
            None => None,
            Some(limit) => Some(Limit {
                offset: limit
                    .offset
                    .as_ref()
                    .map(|e| self.expr(e, &nothing))
                    .transpose()?,
                count: self.expr(&limit.count, &nothing)?,
            }),
        };
        let is_bare = order_by.is_empty() && limit.is_none() && tables.is_empty();
        if let (QueryBody::Query(inner), true) = (&body, is_bare) {
            return Ok(Query::clone(inner));
        }
        Ok(Query {
            with: (!tables.is_empty()).then_some(With { tables }),
            body,
            order_by,
            limit,
            locks: Vec::new(),
            into: None,
        })
    }

    /// The query of a common table, which may name itself.
    fn common_table(&mut self, table: &CommonTable) -> Result<Query> {
        let Some(parts) = Parts::of(table)? else {
            return self.table_query(&table.query, None);
        };
        let (tables, outer_join) = (&mut self.tables, &mut self.outer_join);
        self.planner.name_working(table, &parts, |planner| {
            let mut inner = Canonical {
                planner,
                tables: std::mem::take(tables),
                outer_join: *outer_join,
            };
            let written = inner.table_query(&table.query, None);
            (*tables, *outer_join) = (inner.tables, inner.outer_join);
            written
        })
    }

    fn body(&mut self, body: &QueryBody, outer: Option<&Names>, naming: Naming) -> Result<QueryBody> {
        check_stack()?;
        Ok(match body {
            QueryBody::Select(select) => {
                QueryBody::Select(Box::new(self.select(select, &[], outer, naming)?.0))
            }
            QueryBody::Query(_) if matches!(bare(body), QueryBody::Select(_)) => {
                self.body(bare(body), outer, naming)?
            }
            QueryBody::Query(query) => QueryBody::Query(Box::new(self.query(query, outer, naming)?)),
            QueryBody::Values(rows) => {
                let names = Names {
                    scope: &Scope::inside(outer.map(|outer| outer.scope)),
                    whole: &[],
                    items: &[],
                    keys: &[],
                    aliases: Aliases::Never,
                    outer,
                };
                let rows = rows.iter().map(|row| self.list(row, &names));
                QueryBody::Values(rows.collect::<Result<_>>()?)
            }
            QueryBody::SetOperation { first, rest } => {
                let first = Box::new(self.body(first, outer, naming)?);
                let mut operands = Vec::with_capacity(rest.len());
                for (at, operand) in rest.iter().enumerate() {
                    // Duplicates that a later UNION takes out need not stay until then.
                    let later = &rest[at..];
                    let all_unions = later.iter().all(|operand| operand.op == SetOp::Union);
                    let distinct = all_unions && later.iter().any(|operand| !operand.all);
                    operands.push(SetOperand {
                        op: operand.op,
                        all: operand.all && !distinct,
                        body: self.body(&operand.body, outer, naming)?,
                    });
                }
                QueryBody::SetOperation {
                    first,
                    rest: operands,
                }
            }
        })
    }

    fn select(
        &mut self,
        select: &Select,
        order_by: &[OrderItem],
        outer: Option<&Names>,
        naming: Naming,
    ) -> Result<(Select, Vec<OrderItem>)> {
        let from =
            self.planner
                .tables_of(&select.from, outer.map(|outer| outer.scope), select.straight_join)?;
        let mut walk = Walk {
            scope: &from.scope,
            outer,
            whole: Vec::new(),
            merged: Vec::new(),
        };
        let tables = select.from.iter().map(|table| self.table(table, &mut walk));
        let tables: Vec<TableRef> = tables.collect::<Result<_>>()?;
        let whole = walk.whole;
        let mut names = Names {
            scope: &from.scope,
            whole: &whole,
            items: &[],
            keys: &[],
            aliases: Aliases::Never,
            outer,
        };
        let items = self.items(&select.items, &from.star, &names, naming)?;
        let named: Vec<(String, Expr)> = items.iter().filter_map(named).collect();
        let filter = self.optional_condition(select.filter.as_ref(), &names)?;
        let mut windows = Vec::with_capacity(select.windows.len());
        for window in &select.windows {
            windows.push(NamedWindow {
                name: window.name.clone(),
                window: self.window(&window.window, &names)?,
            });
        }
        names.items = &named;
        names.aliases = Aliases::Last;
        let group_by = self.order(&select.group_by, &items, &names)?;
        let keys: Vec<Expr> = group_by.iter().map(|key| key.expr.clone()).collect();
        names.keys = &keys;
        names.aliases = Aliases::First;
        let having = self.optional_condition(select.having.as_ref(), &names)?;
        names.keys = &[];
        let order_by = self.order(order_by, &items, &names)?;
        let select = Select {
            items,
            from: tables,
            filter,
            group_by,
            having,
            windows,
            ..select.clone()
        };
        Ok((select, order_by))
    }

    fn optional_condition(&mut self, e: Option<&Expr>, names: &Names) -> Result<Option<Expr>> {
        e.map(|e| self.condition(e, names)).transpose()
    }

    // ------------------------------------------------------------------------------------------------- tables

    fn table(&mut self, table: &TableRef, walk: &mut Walk) -> Result<TableRef> {
        Ok(match table {
            TableRef::Table(named) => TableRef::Table(self.named_table(named, walk)?),
            TableRef::Derived {
                query,
                alias,
                columns,
                lateral,
            } => {
                let query = match lateral {
                    true => self.table_query(query, Some(&walk.names_so_far(&walk.scope_so_far())))?,
                    false => self.table_query(query, walk.outer)?,
                };
                walk.whole.push(false);
                TableRef::Derived {
                    query: Box::new(query),
                    alias: alias.clone(),
                    columns: columns.clone(),
                    lateral: *lateral,
                }
            }
            TableRef::JsonTable(table) => {
                let table = self.json_table(table, walk)?;
                walk.whole.push(false);
                TableRef::JsonTable(Box::new(table))
            }
            TableRef::Nested(list) => {
                let list = list.iter().map(|table| self.table(table, walk));
                TableRef::Nested(list.collect::<Result<_>>()?)
            }
            TableRef::Join(join) => TableRef::Join(Box::new(self.join(join, walk)?)),
        })
    }

    fn json_table(&mut self, table: &JsonTable, walk: &Walk) -> Result<JsonTable> {
        let so_far = walk.scope_so_far();
        let names = walk.names_so_far(&so_far);
        Ok(JsonTable {
            document: self.expr(&table.document, &names)?,
            rows: self.json_rows(&table.rows, &names)?,
            alias: table.alias.clone(),
        })
    }

    fn json_rows(&mut self, rows: &JsonRows, names: &Names) -> Result<JsonRows> {
        let columns = rows.columns.iter().map(|column| {
            Ok(match column {
                JsonTableColumn::Ordinality { name } => JsonTableColumn::Ordinality { name: name.clone() },
                JsonTableColumn::Exists { name, ty, path } => JsonTableColumn::Exists {
                    name: name.clone(),
                    ty: self.json_column_type(name, ty)?,
                    path: self.expr(path, names)?,
                },
                JsonTableColumn::Path {
                    name,
                    ty,
                    path,
                    on_empty,
                    on_error,
                } => JsonTableColumn::Path {
                    name: name.clone(),
                    ty: self.json_column_type(name, ty)?,
                    path: self.expr(path, names)?,
                    on_empty: self.json_otherwise(on_empty.as_ref(), names)?,
                    on_error: self.json_otherwise(on_error.as_ref(), names)?,
                },
                JsonTableColumn::Nested(rows) => JsonTableColumn::Nested(self.json_rows(rows, names)?),
            })
        });
        Ok(JsonRows {
            columns: columns.collect::<Result<_>>()?,
            path: self.expr(&rows.path, names)?,
        })
    }

    /// A text's type says its character set, and its collation if that is not the character set's own.
    fn json_column_type(&mut self, name: &str, ty: &TypeName) -> Result<TypeName> {
        let (resolved, _) = column_type(name, ty, self.planner.binder.ctx.collation_connection)?;
        let mut ty = ty.clone();
        if resolved.is_string() && !resolved.is_binary_string() && resolved.kind != TypeKind::Json {
            let charset = resolved.collation.charset();
            ty.charset = Some(charset.name().to_owned());
            let own = charset.default_collation() == resolved.collation;
            ty.collation = (!own).then(|| resolved.collation.name().to_owned());
            ty.binary = false;
        }
        Ok(ty)
    }

    fn json_otherwise(
        &mut self,
        written: Option<&JsonOtherwise>,
        names: &Names,
    ) -> Result<Option<JsonOtherwise>> {
        Ok(match written {
            Some(JsonOtherwise::Default(e)) => Some(JsonOtherwise::Default(self.boxed(e, names)?)),
            other => other.cloned(),
        })
    }

    fn named_table(&mut self, named: &TableName, walk: &mut Walk) -> Result<TableName> {
        if named.as_of.is_some() {
            return Err(SqlError::not_supported("AS OF in a view"));
        }
        if self.planner.is_common(&named.name) {
            walk.whole.push(false);
            return Ok(named.clone());
        }
        let (schema, name) = self.planner.state.resolve(&named.name)?;
        let used = (schema.to_owned(), name.to_owned());
        let alias = named.alias.clone().filter(|alias| *alias != *name);
        walk.whole.push(alias.is_none());
        if !self.tables.contains(&used) {
            self.tables.push(used);
        }
        Ok(TableName {
            name: ObjectName {
                schema: Some(schema.to_owned()),
                name: name.to_owned(),
            },
            alias,
            hints: named.hints.clone(),
            as_of: None,
        })
    }

    fn join(&mut self, join: &Join, walk: &mut Walk) -> Result<Join> {
        // A RIGHT JOIN is a LEFT JOIN whose sides have been exchanged, to the planner too.
        let (left, right, kind) = match join.kind {
            JoinKind::Right => (&join.right, &join.left, JoinKind::Left),
            kind => (&join.left, &join.right, kind),
        };
        let first = walk.whole.len();
        let left = self.table(left, walk)?;
        let middle = walk.whole.len();
        let right = self.table(right, walk)?;
        let end = walk.whole.len();
        self.outer_join |= kind == JoinKind::Left;
        let condition = match &join.condition {
            JoinCondition::None => JoinCondition::None,
            JoinCondition::On(condition) => {
                let scope = Scope {
                    tables: walk.scope.tables[first..end].to_vec(),
                    outer: walk.scope.outer,
                    ..Scope::default()
                };
                let names = Names {
                    scope: &scope,
                    whole: &walk.whole[first..end],
                    items: &[],
                    keys: &[],
                    aliases: Aliases::Never,
                    outer: walk.outer,
                };
                JoinCondition::On(self.condition(condition, &names)?)
            }
            JoinCondition::Using(columns) => using(walk, columns, (first, middle, end))?,
            JoinCondition::Natural => {
                let scope = walk.before_merging();
                let mut part = Scope::default();
                part.tables.extend_from_slice(&scope.tables[..end]);
                let columns = common_names(&part, first, middle);
                using(walk, &columns, (first, middle, end))?
            }
        };
        Ok(Join {
            kind,
            left,
            right,
            condition,
        })
    }

    // -------------------------------------------------------------------------------------------- select list

    /// The items. Those that are called by their text have no alias yet.
    fn items(
        &mut self,
        items: &[SelectItem],
        star: &[(usize, usize)],
        names: &Names,
        naming: Naming,
    ) -> Result<Vec<SelectItem>> {
        let mut out = Vec::new();
        for item in items {
            match item {
                SelectItem::All => out.extend(star.iter().map(|at| names.starred(*at, naming))),
                SelectItem::AllOf(table) => {
                    let at = names
                        .scope
                        .tables
                        .iter()
                        .position(|known| known.answers_to(table.schema.as_deref(), Some(&table.name)));
                    let at = at.ok_or_else(|| SqlError::bad_table(&table.to_string()))?;
                    let columns = names.scope.tables[at].columns.iter().enumerate();
                    let shown = columns
                        .filter(|(_, column)| (!column.hidden || column.merged) && !column.is_nameless());
                    out.extend(shown.map(|(column, _)| names.starred((at, column), naming)));
                }
                SelectItem::Expr { expr, alias, text } => {
                    let name = self.planner.item_name(expr, alias.as_deref(), text);
                    let written = self.expr(expr, names)?;
                    let is_column = naming == Naming::All && matches!(expr, Expr::Column(_));
                    out.push(SelectItem::Expr {
                        expr: written,
                        alias: alias.clone().or_else(|| is_column.then(|| name.clone())),
                        text: name,
                    });
                }
            }
        }
        Ok(out)
    }

    /// The items of GROUP BY or ORDER BY.
    fn order(&mut self, order: &[OrderItem], items: &[SelectItem], names: &Names) -> Result<Vec<OrderItem>> {
        let mut out = Vec::with_capacity(order.len());
        for item in order {
            let expr = match ordinal(&item.expr) {
                Some(n) => {
                    let at = usize::try_from(n).unwrap_or(usize::MAX).wrapping_sub(1);
                    match items.get(at) {
                        Some(SelectItem::Expr { expr, .. }) if !matches!(expr, Expr::Literal(_)) => {
                            expr.clone()
                        }
                        _ => item.expr.clone(),
                    }
                }
                // Within an expression columns come first.
                None => match item.expr {
                    Expr::Column(_) => self.expr(&item.expr, names)?,
                    _ => self.expr(&item.expr, &names.within())?,
                },
            };
            out.push(OrderItem {
                expr,
                descending: item.descending,
            });
        }
        Ok(out)
    }
}

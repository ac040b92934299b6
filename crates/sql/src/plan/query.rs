//! Queries: the select list, grouping, order and limit of a block; UNION, INTERSECT and EXCEPT of blocks.

use super::from::{From, FromInput, FromTable};
use super::group::{BlockHooks, Determined};
use super::join::OrderWish;
use super::scope::{OUTER, Scope};
use super::steer::Steering;
use super::{
    AGGREGATE, DEPTH_MAX, GroupPlan, Input, Leaf, OutputColumn, Planner, QueryBody, QueryPlan, SelectPlan,
    Source,
};
use crate::dictionary::{TableDef, names_equal};
use crate::error::{Result, SqlError, er};
use crate::expr::{AggFunc, Aggregate, CmpOp, Expr, Node, build};
use crate::parse::ast::{self, Literal, OrderItem, Query, SelectItem};
use crate::parse::lexer::{Kind, Lexer, unquote};
use crate::types::meta::flag;
use crate::types::{ColumnMeta, SqlMode, SqlType};

/// An item of the select list.
struct Item {
    expr: Expr,
    name: String,
    /// Whether the name was given by AS.
    alias: bool,
}

impl Planner<'_> {
    /// Plans a query in the scope around it.
    pub fn query(&mut self, query: &Query, outer: Option<&Scope>) -> Result<QueryPlan> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(SqlError::not_supported("query nested this deeply"));
        }
        let (common, locks) = (self.common.len(), self.locks.clone());
        let keyed = std::mem::take(&mut self.keyed);
        if let Some(with) = &query.with {
            self.common.extend(with.tables.iter().cloned());
        }
        let planned = self.query_body(query, outer);
        self.common.truncate(common);
        (self.locks, self.keyed) = (locks, keyed);
        self.depth -= 1;
        let mut plan = planned?;
        if let Some(ast::Into::Variables(names)) = &query.into {
            if names.len() != plan.columns.len() {
                return Err(SqlError::select_column_count());
            }
            plan.into = names.clone();
        }
        plan.outer = self.outer_slots(&plan);
        Ok(plan)
    }

    fn query_body(&mut self, query: &Query, outer: Option<&Scope>) -> Result<QueryPlan> {
        if !query.locks.is_empty() {
            self.locks.clone_from(&query.locks);
        }
        let (offset, limit) = match &query.limit {
            None => (None, None),
            Some(limit) => {
                let offset = limit.offset.as_ref().map(|e| self.plain(e)).transpose()?;
                (offset, Some(self.plain(&limit.count)?))
            }
        };
        let mut plan = match &query.body {
            ast::QueryBody::Select(select) => self.select(select, query, outer, limit.as_ref())?,
            ast::QueryBody::Query(inner) => {
                let inner = self.query(inner, outer)?;
                if query.order_by.is_empty() && limit.is_none() {
                    return Ok(inner);
                }
                let columns = inner.columns.iter().map(OutputColumn::copy).collect();
                // A query around a query: a union of one.
                let nothing = QueryPlan::of(QueryBody::Values(Vec::new()), Vec::new());
                let body = QueryBody::Set {
                    op: ast::SetOp::Union,
                    all: true,
                    left: Box::new(inner),
                    right: Box::new(nothing),
                };
                QueryPlan::of(body, columns)
            }
            ast::QueryBody::SetOperation { op, all, left, right } => {
                self.set_operation(*op, *all, left, right, outer)?
            }
            ast::QueryBody::Values(rows) => self.values(rows, outer)?,
        };
        if !matches!(query.body, ast::QueryBody::Select(_)) {
            plan.order = self.order_of_columns(&query.order_by, &plan.columns)?;
        }
        plan.offset = offset;
        plan.limit = limit;
        Ok(plan)
    }

    fn bare(&mut self, body: &ast::QueryBody, outer: Option<&Scope>) -> Result<QueryPlan> {
        let query = Query {
            with: None,
            body: body.clone(),
            order_by: Vec::new(),
            limit: None,
            locks: Vec::new(),
            into: None,
        };
        self.query(&query, outer)
    }

    fn set_operation(
        &mut self,
        op: ast::SetOp,
        all: bool,
        left: &ast::QueryBody,
        right: &ast::QueryBody,
        outer: Option<&Scope>,
    ) -> Result<QueryPlan> {
        let mut left = self.bare(left, outer)?;
        let mut right = self.bare(right, outer)?;
        if left.columns.len() != right.columns.len() {
            return Err(SqlError::select_column_count());
        }
        let results = self.state.results_collation();
        let mut columns = Vec::new();
        for (i, (a, b)) in left.columns.iter().zip(&right.columns).enumerate() {
            let ty = build::common_type(&[&a.ty, &b.ty], "UNION", self.binder.ctx)?;
            let meta = ColumnMeta::of_expression(&a.name, &ty, results);
            columns.push(OutputColumn {
                name: a.name.clone(),
                ty,
                meta,
            });
            debug_assert!(i < left.columns.len());
        }
        self.convert_output(&mut left, &columns)?;
        self.convert_output(&mut right, &columns)?;
        let body = QueryBody::Set {
            op,
            all,
            left: Box::new(left),
            right: Box::new(right),
        };
        Ok(QueryPlan::of(body, columns))
    }

    /// Makes a branch of a union give the common types.
    fn convert_output(&self, plan: &mut QueryPlan, columns: &[OutputColumn]) -> Result<()> {
        let ctx = self.binder.ctx;
        let convert = |e: &mut Expr, ty: &SqlType| -> Result<()> {
            if e.ty.kind != ty.kind || e.ty.scale != ty.scale || e.ty.unsigned != ty.unsigned {
                let old = std::mem::replace(e, build::null());
                *e = build::cast(old, ty.clone(), ctx)?;
            }
            Ok(())
        };
        match &mut plan.body {
            QueryBody::Select(select) => {
                for (e, column) in select.output.iter_mut().zip(columns) {
                    convert(e, &column.ty)?;
                }
            }
            QueryBody::Set { left, right, .. } => {
                self.convert_output(left, columns)?;
                self.convert_output(right, columns)?;
            }
            QueryBody::Recursive { .. } => {}
            QueryBody::Values(rows) => {
                for row in rows {
                    for (e, column) in row.iter_mut().zip(columns) {
                        convert(e, &column.ty)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A common table: recursive if it names itself.
    pub(super) fn common_table(
        &mut self,
        table: &ast::CommonTable,
        outer: Option<&Scope>,
    ) -> Result<QueryPlan> {
        if !mentions(&table.query, &table.name) {
            return self.query(&table.query, outer);
        }
        let ast::QueryBody::SetOperation {
            op: ast::SetOp::Union,
            all,
            left,
            right,
        } = &table.query.body
        else {
            return Err(SqlError::new(
                3573,
                format!(
                    "Recursive Common Table Expression '{}' should contain a UNION",
                    table.name
                ),
            ));
        };
        if !table.query.order_by.is_empty() || table.query.limit.is_some() {
            return Err(SqlError::not_supported(
                "ORDER BY or LIMIT in a recursive common table expression",
            ));
        }
        let seed = self.bare(left, outer)?;
        let mut columns: Vec<OutputColumn> = seed.columns.iter().map(OutputColumn::copy).collect();
        for (column, name) in columns.iter_mut().zip(&table.columns) {
            column.name.clone_from(name);
        }
        columns.iter_mut().for_each(|column| column.ty.nullable = true);
        let stand_in = columns.iter().map(OutputColumn::copy).collect();
        self.queries
            .push(QueryPlan::of(QueryBody::Values(Vec::new()), stand_in));
        let working = self.queries.len() - 1;
        self.working.push((table.name.clone(), working));
        let step = self.bare(right, outer);
        self.working.pop();
        let mut step = step?;
        if step.columns.len() != columns.len() {
            return Err(SqlError::select_column_count());
        }
        self.convert_output(&mut step, &columns)?;
        let body = QueryBody::Recursive {
            working,
            all: *all,
            seed: Box::new(seed),
            step: Box::new(step),
        };
        let mut plan = QueryPlan::of(body, columns);
        plan.outer = self.outer_slots(&plan);
        Ok(plan)
    }

    fn values(&mut self, rows: &[Vec<ast::Expr>], outer: Option<&Scope>) -> Result<QueryPlan> {
        let scope = Scope::inside(outer);
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
        for row in rows {
            let row = row
                .iter()
                .map(|e| self.condition(e, &scope, "field list"))
                .collect::<Result<Vec<_>>>()?;
            if bound.first().is_some_and(|first| first.len() != row.len()) {
                return Err(SqlError::column_count(bound.len() + 1));
            }
            bound.push(row);
        }
        let results = self.state.results_collation();
        let mut columns = Vec::new();
        for i in 0..bound.first().map_or(0, Vec::len) {
            let types: Vec<&SqlType> = bound.iter().map(|row| &row[i].ty).collect();
            let ty = build::common_type(&types, "VALUES", self.binder.ctx)?;
            let name = format!("column_{i}");
            let meta = ColumnMeta::of_expression(&name, &ty, results);
            columns.push(OutputColumn { name, ty, meta });
        }
        let mut plan = QueryPlan::of(QueryBody::Values(bound), Vec::new());
        self.convert_output(&mut plan, &columns)?;
        plan.columns = columns;
        Ok(plan)
    }

    /// ORDER BY of a union: its columns by name or number.
    fn order_of_columns(
        &mut self,
        order: &[OrderItem],
        columns: &[OutputColumn],
    ) -> Result<Vec<(Expr, bool)>> {
        let mut scope = Scope::default();
        let columns = columns
            .iter()
            .enumerate()
            .map(|(slot, column)| super::scope::ScopeColumn {
                name: column.name.clone(),
                ty: column.ty.clone(),
                slot,
                hidden: false,
                merged: false,
            });
        scope.tables.push(super::scope::ScopeTable {
            schema: None,
            alias: String::new(),
            columns: columns.collect(),
        });
        let mut out = Vec::new();
        for item in order {
            let expr = match ordinal(&item.expr) {
                Some(n) => {
                    let column = n
                        .checked_sub(1)
                        .and_then(|at| scope.tables[0].columns.get(at as usize));
                    let column =
                        column.ok_or_else(|| SqlError::unknown_column(&n.to_string(), "order clause"))?;
                    build::column(column.slot, column.ty.clone())
                }
                None => self.condition(&item.expr, &scope, "order clause")?,
            };
            out.push((expr, item.descending));
        }
        Ok(out)
    }

    // ---------------------------------------------------------------------------------------- expressions

    /// An expression without columns.
    pub(super) fn plain(&mut self, e: &ast::Expr) -> Result<Expr> {
        self.condition(e, &Scope::default(), "field list")
    }

    pub(super) fn plain_list(&mut self, list: &[ast::Expr]) -> Result<Vec<Expr>> {
        list.iter().map(|e| self.plain(e)).collect()
    }

    /// An expression without aggregates.
    pub(super) fn condition(&mut self, e: &ast::Expr, scope: &Scope, clause: &'static str) -> Result<Expr> {
        let binder = self.binder.in_clause(clause);
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: None,
            aliases: &[],
            alias_first: false,
        };
        binder.bind(e, scope, &mut hooks)
    }

    // --------------------------------------------------------------------------------------------- select

    fn select(
        &mut self,
        select: &ast::Select,
        query: &Query,
        outer: Option<&Scope>,
        limit: Option<&Expr>,
    ) -> Result<QueryPlan> {
        if select.with_rollup {
            return Err(SqlError::not_supported("GROUP BY ... WITH ROLLUP"));
        }
        let mut from = self.tables_of(&select.from, outer, select.straight_join)?;
        self.check_locks(&query.locks, &from)?;
        let filter = match &select.filter {
            Some(filter) => Some(self.condition(filter, &from.scope, "where clause")?),
            None => None,
        };
        let mut aggregates = Vec::new();
        let items = self.items(&select.items, &from, &mut aggregates)?;
        let aliases: Vec<(String, Expr)> = items
            .iter()
            .filter(|item| item.alias)
            .map(|item| (item.name.clone(), item.expr.clone()))
            .collect();
        let keys = self.group_keys(&select.group_by, &from.scope, &items, &aliases)?;
        let mut clause = |planner: &mut Self, e: &ast::Expr, clause| {
            let binder = planner.binder.in_clause(clause);
            let mut hooks = BlockHooks {
                planner,
                aggregates: Some(&mut aggregates),
                aliases: &aliases,
                alias_first: true,
            };
            binder.bind(e, &from.scope, &mut hooks)
        };
        let having = match &select.having {
            Some(having) => Some(clause(self, having, "having clause")?),
            None => None,
        };
        let mut order = Vec::new();
        for item in &query.order_by {
            let expr = match ordinal(&item.expr) {
                Some(n) => item_at(&items, n, "order clause")?.expr.clone(),
                None => clause(self, &item.expr, "order clause")?,
            };
            if !expr.is_constant() {
                order.push((expr, item.descending));
            }
        }
        let grouped = !aggregates.is_empty() || !keys.is_empty();
        if grouped && self.binder.ctx.sql_mode.has(SqlMode::ONLY_FULL_GROUP_BY) {
            check_grouping(&keys, filter.as_ref(), &from, &items, having.as_ref(), &order)?;
        }
        let columns = self.output_columns(&items, &from);
        let output: Vec<Expr> = items.into_iter().map(|item| item.expr).collect();
        // HAVING without groups filters rows.
        let (filter, having) = match (grouped, filter, having) {
            (false, Some(filter), Some(having)) => (Some(build::and(vec![filter, having])), None),
            (false, None, having) => (having, None),
            (_, filter, having) => (filter, having),
        };
        let mut needed = Vec::new();
        {
            let mut all: Vec<&Expr> = output.iter().chain(&keys).chain(&filter).chain(&having).collect();
            all.extend(order.iter().map(|(e, _)| e));
            all.extend(
                aggregates
                    .iter()
                    .flat_map(|a| a.args.iter().chain(a.order_by.iter().map(|(e, _)| e))),
            );
            all.iter().for_each(|e| self.slots_of(e, &mut needed));
            for condition in from.tree.iter().flat_map(super::join::conditions) {
                self.slots_of(condition, &mut needed);
            }
        }
        let first_only = grouped && keys.is_empty() && min_max(&aggregates).is_some();
        let wish = match (first_only, min_max(&aggregates)) {
            (true, Some((column, descending))) => OrderWish {
                order: vec![(column, descending)],
                limited: true,
            },
            _ if grouped => OrderWish {
                order: keys.iter().map(|key| (key.clone(), false)).collect(),
                limited: false,
            },
            _ => OrderWish {
                order: order.clone(),
                limited: limit.is_some() && !select.distinct,
            },
        };
        let width = from.scope.width();
        let tree = from.tree.take();
        let lock_of: Vec<_> = from.tables.iter().map(|t| self.lock_of(&t.alias)).collect();
        let joined = self.source(tree, &from.tables, filter, &needed, &wish, &lock_of)?;
        let ordered = joined.ordered && !wish.order.is_empty();
        let group = grouped.then(|| {
            let mut keep = Vec::new();
            output
                .iter()
                .chain(&having)
                .for_each(|e| self.slots_of(e, &mut keep));
            order.iter().for_each(|(e, _)| self.slots_of(e, &mut keep));
            GroupPlan {
                keys,
                aggregates,
                keep,
                sorted: ordered && !first_only,
                first_only: first_only && ordered,
            }
        });
        if ordered && group.is_none() {
            order.clear();
        }
        let safe = |e: &Expr| !has_subquery(e);
        let latch_safe = output.iter().chain(&having).all(safe)
            && order.iter().all(|(e, _)| safe(e))
            && joined.filter.is_none()
            && group.as_ref().is_none_or(|g| {
                g.keys.iter().all(safe) && g.aggregates.iter().all(|a| a.args.iter().all(safe))
            });
        let select_plan = SelectPlan {
            width,
            source: joined.source,
            filter: joined.filter,
            group,
            having,
            output,
            distinct: select.distinct,
            latch_safe,
        };
        let mut plan = QueryPlan::of(QueryBody::Select(Box::new(select_plan)), columns);
        plan.ordered_by_output = plan.has_order_of_output(&order);
        plan.order = order;
        plan.calc_found_rows = select.calc_found_rows;
        Ok(plan)
    }

    fn items(
        &mut self,
        items: &[SelectItem],
        from: &From,
        aggregates: &mut Vec<Aggregate>,
    ) -> Result<Vec<Item>> {
        let mut out = Vec::new();
        for item in items {
            match item {
                SelectItem::All => {
                    if from.scope.tables.is_empty() {
                        return Err(SqlError::new(er::NO_TABLES_USED, "No tables used"));
                    }
                    for &(table, column) in &from.star {
                        let column = &from.scope.tables[table].columns[column];
                        out.push(Item {
                            expr: build::column(column.slot, column.ty.clone()),
                            name: column.name.clone(),
                            alias: false,
                        });
                    }
                }
                SelectItem::AllOf(name) => {
                    let found = from
                        .scope
                        .tables
                        .iter()
                        .find(|t| t.answers_to(name.schema.as_deref(), Some(&name.name)));
                    let table = found.ok_or_else(|| SqlError::bad_table(&name.to_string()))?;
                    for column in &table.columns {
                        out.push(Item {
                            expr: build::column(column.slot, column.ty.clone()),
                            name: column.name.clone(),
                            alias: false,
                        });
                    }
                }
                SelectItem::Expr { expr, alias, text } => {
                    let binder = self.binder.in_clause("field list");
                    let mut hooks = BlockHooks {
                        planner: self,
                        aggregates: Some(aggregates),
                        aliases: &[],
                        alias_first: false,
                    };
                    let bound = binder.bind(expr, &from.scope, &mut hooks)?;
                    let name = match (alias, expr) {
                        (Some(alias), _) => alias.clone(),
                        (None, ast::Expr::Column(column)) => column.column.clone(),
                        (None, ast::Expr::Literal(Literal::Str { .. })) => self.string_name(text),
                        (
                            None,
                            ast::Expr::Unary {
                                op: ast::UnaryOp::Plus,
                                ..
                            },
                        ) => text.trim_start_matches(['+', ' ']).to_string(),
                        (None, _) => text.clone(),
                    };
                    out.push(Item {
                        expr: bound,
                        name,
                        alias: alias.is_some(),
                    });
                }
            }
        }
        Ok(out)
    }

    /// A string names its column by what it says; of several in a row the first does.
    fn string_name(&self, text: &str) -> String {
        let mode = self.binder.ctx.sql_mode;
        let mut lexer = Lexer::new(text.as_bytes(), 0, mode);
        loop {
            match lexer.token() {
                Ok(token) if matches!(token.kind, Kind::Str | Kind::NationalStr) => {
                    let prefix = (token.kind == Kind::NationalStr) as usize;
                    let raw = &text.as_bytes()[token.start as usize + prefix..token.end as usize];
                    return String::from_utf8_lossy(&unquote(raw, mode)).into_owned();
                }
                // An introducer.
                Ok(token) if token.kind == Kind::Word => {}
                _ => return text.to_string(),
            }
        }
    }

    fn group_keys(
        &mut self,
        group_by: &[OrderItem],
        scope: &Scope,
        items: &[Item],
        aliases: &[(String, Expr)],
    ) -> Result<Vec<Expr>> {
        let mut keys = Vec::new();
        for item in group_by {
            let key = match (&item.expr, ordinal(&item.expr)) {
                (_, Some(n)) => item_at(items, n, "group statement")?.expr.clone(),
                // A column comes before an alias of the same name.
                (ast::Expr::Column(name), _) if scope.find(name, "group statement")?.is_none() => {
                    match aliases.iter().find(|(alias, _)| names_equal(alias, &name.column)) {
                        Some((_, expr)) if name.table.is_none() => expr.clone(),
                        _ => self.condition(&item.expr, scope, "group statement")?,
                    }
                }
                _ => self.condition(&item.expr, scope, "group statement")?,
            };
            if key.columns().iter().any(|slot| (AGGREGATE..OUTER).contains(slot)) {
                return Err(SqlError::invalid_group_function());
            }
            keys.push(key);
        }
        Ok(keys)
    }

    fn output_columns(&self, items: &[Item], from: &From) -> Vec<OutputColumn> {
        let results = self.state.results_collation();
        let column = |item: &Item| {
            let table = match item.expr.node {
                Node::Column(slot) => from
                    .tables
                    .iter()
                    .zip(&from.scope.tables)
                    .rev()
                    .find(|(t, _)| t.base <= slot),
                _ => None,
            };
            let meta = match (&item.expr.node, table) {
                (Node::Column(slot), Some((table, _))) if *slot < AGGREGATE => {
                    column_meta(table, slot - table.base, item, results)
                }
                _ => ColumnMeta::of_expression(&item.name, &item.expr.ty, results),
            };
            OutputColumn {
                name: item.name.clone(),
                ty: item.expr.ty.clone(),
                meta,
            }
        };
        items.iter().map(column).collect()
    }

    // ---------------------------------------------------------------------------------------------- slots

    /// Adds the slots of this block's row that an expression reads, in subqueries too.
    pub(super) fn slots_of(&self, e: &Expr, out: &mut Vec<usize>) {
        let mut add = |slot: usize| {
            if slot < AGGREGATE && !out.contains(&slot) {
                out.push(slot);
            }
        };
        e.walk(&mut |e| match &e.node {
            Node::Column(slot) => add(*slot),
            Node::Subquery { id, .. } => self.queries[*id]
                .outer
                .iter()
                .filter(|slot| **slot < OUTER)
                .for_each(|slot| add(*slot)),
            _ => {}
        });
    }

    /// The slots of the row around a query that it and the queries in it read.
    fn outer_slots(&self, plan: &QueryPlan) -> Vec<usize> {
        let mut out = Vec::new();
        let mut add = |slot: usize| {
            if !out.contains(&slot) {
                out.push(slot);
            }
        };
        plan.walk(
            &mut |e| match &e.node {
                Node::Column(slot) if *slot >= OUTER => add(*slot - OUTER),
                Node::Subquery { id, .. } => {
                    let deeper = &self.queries[*id].outer;
                    deeper
                        .iter()
                        .filter(|slot| **slot >= OUTER)
                        .for_each(|slot| add(*slot - OUTER));
                }
                _ => {}
            },
            &mut |_| {},
        );
        let mut derived = Vec::new();
        plan.walk(&mut |_| {}, &mut |leaf| {
            if let Input::Derived { query, .. } = &leaf.input {
                derived.extend(self.queries[*query].outer.iter().copied());
            }
        });
        derived.into_iter().for_each(add);
        out
    }
}

pub(super) fn has_subquery(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| found |= matches!(e.node, Node::Subquery { .. }));
    found
}

/// Whether the FROM clauses of a query name a table.
fn mentions(query: &Query, name: &str) -> bool {
    fn in_ref(table: &ast::TableRef, name: &str) -> bool {
        match table {
            ast::TableRef::Table(t) => t.name.schema.is_none() && t.name.name == name,
            ast::TableRef::Derived { query, .. } => mentions(query, name),
            ast::TableRef::Join(join) => in_ref(&join.left, name) || in_ref(&join.right, name),
            ast::TableRef::Nested(list) => list.iter().any(|t| in_ref(t, name)),
        }
    }
    fn in_body(body: &ast::QueryBody, name: &str) -> bool {
        match body {
            ast::QueryBody::Select(select) => select.from.iter().any(|t| in_ref(t, name)),
            ast::QueryBody::SetOperation { left, right, .. } => in_body(left, name) || in_body(right, name),
            ast::QueryBody::Values(_) => false,
            ast::QueryBody::Query(query) => mentions(query, name),
        }
    }
    in_body(&query.body, name)
}

/// The number an ORDER BY or GROUP BY item is, if it is one.
fn ordinal(e: &ast::Expr) -> Option<u64> {
    match e {
        ast::Expr::Literal(Literal::Int(n)) => Some(*n),
        _ => None,
    }
}

fn item_at<'i>(items: &'i [Item], n: u64, clause: &str) -> Result<&'i Item> {
    let at = n.checked_sub(1).and_then(|at| items.get(at as usize));
    at.ok_or_else(|| SqlError::unknown_column(&n.to_string(), clause))
}

/// The column of a lone MIN or MAX, and whether its end is the last.
fn min_max(aggregates: &[Aggregate]) -> Option<(Expr, bool)> {
    match aggregates {
        [one]
            if matches!(
                one.args.as_slice(),
                [Expr {
                    node: Node::Column(_),
                    ..
                }]
            ) =>
        {
            match one.func {
                AggFunc::Min => Some((one.args[0].clone(), false)),
                AggFunc::Max => Some((one.args[0].clone(), true)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn column_meta(
    table: &FromTable,
    column: usize,
    item: &Item,
    results: crate::types::Collation,
) -> ColumnMeta {
    let def: &TableDef = match &table.input {
        FromInput::Stored { def, .. } | FromInput::Virtual(def) => def,
        FromInput::Derived { .. } => {
            let mut meta = ColumnMeta::of_expression(&item.name, &item.expr.ty, results);
            meta.table = table.alias.clone();
            return meta;
        }
    };
    let column_def = &def.columns[column];
    let names = (item.name.as_str(), column_def.name.as_str());
    let ty = &item.expr.ty;
    let mut meta = ColumnMeta::of_column(&def.schema, (&table.alias, &def.name), names, ty, results);
    meta.flags |= key_flags(def, column);
    meta
}

/// The flags that say what part a column has in its table's keys.
pub fn key_flags(def: &TableDef, column: usize) -> u16 {
    let mut flags = 0;
    for index in &def.indexes {
        if index.parts.first().is_some_and(|part| part.column == column) {
            flags |= match (index.unique, index.parts.len()) {
                _ if index.number == 0 => flag::PRI_KEY,
                (true, 1) => flag::UNIQUE_KEY,
                _ => flag::MULTIPLE_KEY,
            };
        } else if index.number == 0 && index.parts.iter().any(|part| part.column == column) {
            flags |= flag::PRI_KEY;
        }
    }
    let column = &def.columns[column];
    if column.auto_increment {
        flags |= flag::AUTO_INCREMENT;
    }
    if column.default.is_none() && !column.auto_increment {
        flags |= flag::NO_DEFAULT_VALUE;
    }
    if column.on_update_now {
        flags |= flag::ON_UPDATE_NOW;
    }
    flags
}

fn check_grouping(
    keys: &[Expr],
    filter: Option<&Expr>,
    from: &From,
    items: &[Item],
    having: Option<&Expr>,
    order: &[(Expr, bool)],
) -> Result<()> {
    let mut conditions: Vec<&Expr> = filter.into_iter().flat_map(super::access::conjuncts).collect();
    for condition in from.tree.iter().flat_map(super::join::inner_conditions) {
        conditions.extend(super::access::conjuncts(condition));
    }
    conditions.retain(|c| matches!(c.node, Node::Compare(CmpOp::Eq, ..)));
    let mut unique = Vec::new();
    for table in &from.tables {
        if let FromInput::Stored { def, .. } = &table.input {
            let whole: Vec<usize> = (0..def.columns.len()).map(|i| table.base + i).collect();
            for index in &def.indexes {
                let keys = index
                    .parts
                    .iter()
                    .all(|p| p.prefix.is_none() && !def.columns[p.column].ty.nullable);
                if index.unique && keys {
                    let parts = index.parts.iter().map(|p| table.base + p.column).collect();
                    unique.push((parts, whole.clone()));
                }
            }
        }
    }
    let determined = Determined::new(keys, &conditions, &unique, &from.scope);
    for (n, item) in items.iter().enumerate() {
        determined.check(&item.expr, n + 1, "SELECT list")?;
    }
    if let Some(having) = having {
        determined.check(having, 1, "HAVING clause")?;
    }
    for (n, (e, _)) in order.iter().enumerate() {
        determined.check(e, n + 1, "ORDER BY clause")?;
    }
    Ok(())
}

impl OutputColumn {
    fn copy(&self) -> OutputColumn {
        OutputColumn {
            name: self.name.clone(),
            ty: self.ty.clone(),
            meta: self.meta.clone(),
        }
    }
}

impl QueryPlan {
    pub(super) fn of(body: QueryBody, columns: Vec<OutputColumn>) -> QueryPlan {
        QueryPlan {
            body,
            order: Vec::new(),
            offset: None,
            limit: None,
            columns,
            outer: Vec::new(),
            into: Vec::new(),
            calc_found_rows: false,
            ordered_by_output: false,
        }
    }

    fn has_order_of_output(&self, order: &[(Expr, bool)]) -> bool {
        let QueryBody::Select(select) = &self.body else {
            return false;
        };
        let same = |a: &Expr, b: &Expr| format!("{:?}", a.node) == format!("{:?}", b.node);
        order.len() <= select.output.len()
            && order
                .iter()
                .zip(&select.output)
                .all(|((e, descending), output)| !descending && same(e, output))
    }

    /// Visits the expressions and the leaves of this query, not those of the queries it refers to by number.
    pub fn walk(&self, f: &mut dyn FnMut(&Expr), leaves: &mut dyn FnMut(&Leaf)) {
        self.order.iter().for_each(|(e, _)| e.walk(f));
        self.limit.iter().chain(&self.offset).for_each(|e| e.walk(f));
        match &self.body {
            QueryBody::Select(select) => select.walk(f, leaves),
            QueryBody::Set { left, right, .. } => {
                left.walk(f, leaves);
                right.walk(f, leaves);
            }
            QueryBody::Recursive { seed, step, .. } => {
                seed.walk(f, leaves);
                step.walk(f, leaves);
            }
            QueryBody::Values(rows) => rows.iter().flatten().for_each(|e| e.walk(f)),
        }
    }
}

impl SelectPlan {
    fn walk(&self, f: &mut dyn FnMut(&Expr), leaves: &mut dyn FnMut(&Leaf)) {
        self.source.walk(f, leaves);
        self.output
            .iter()
            .chain(&self.filter)
            .chain(&self.having)
            .for_each(|e| e.walk(f));
        if let Some(group) = &self.group {
            group.keys.iter().for_each(|e| e.walk(f));
            for aggregate in &group.aggregates {
                aggregate.args.iter().for_each(|e| e.walk(f));
                aggregate.order_by.iter().for_each(|(e, _)| e.walk(f));
            }
        }
    }
}

impl Source {
    pub fn walk(&self, f: &mut dyn FnMut(&Expr), leaves: &mut dyn FnMut(&Leaf)) {
        match self {
            Source::One => {}
            Source::Leaf(leaf) => {
                leaves(leaf);
                leaf.filter
                    .iter()
                    .chain(&leaf.late_filter)
                    .for_each(|e| e.walk(f));
                let steering = leaf.path.steerings.iter().flat_map(Steering::values);
                steering.for_each(|v| v.expr.walk(f));
                if let Some(hash) = &leaf.hash {
                    hash.build.iter().chain(&hash.probe).for_each(|e| e.walk(f));
                }
            }
            Source::Inner(list) => list.iter().for_each(|source| source.walk(f, leaves)),
            Source::Left { left, right, filter } => {
                left.walk(f, leaves);
                right.walk(f, leaves);
                filter.iter().for_each(|e| e.walk(f));
            }
        }
    }
}

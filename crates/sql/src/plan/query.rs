//! Queries are bound: ORDER BY and LIMIT around blocks ([`super::block`]); UNION, INTERSECT and EXCEPT of them; VALUES.

use super::file_form::FileForm;
use super::group::{Aliases, BlockHooks, Finished};
use super::logical::{self, Selects};
use super::walk::has_subquery;
use super::{Destination, Origin, OutputColumn, Planner, QueryBody, QueryPlan, SetBranch};
use crate::accounts::Privileges;
use crate::error::depth::check_stack;
use crate::error::interrupt::check_interrupt;
use crate::error::{Result, SqlError, er};
use crate::expr::digits::Asked;
use crate::expr::{DefaultOf, Expr, Node, Scope, build, check_comparable};
use crate::parse::ast::{self, Literal, OrderItem, Query};
use crate::types::{ColumnMeta, SqlType, TypeKind};

impl<'a> Planner<'a> {
    /// Plans a query in the scope around it. Error 3954 for one that says where its rows go.
    pub(super) fn query(&mut self, query: &Query, outer: Option<&Scope>) -> Result<logical::Query<'a>> {
        if query.into.is_some() {
            return Err(SqlError::misplaced_into());
        }
        self.query_with_into(query, outer)
    }

    /// Plans a query that is a statement by itself, and may say where its rows go.
    pub(super) fn statement_query(&mut self, query: &Query) -> Result<logical::Query<'a>> {
        if matches!(query.into, Some(ast::Into::File(_))) {
            self.state.require_global(Privileges::FILE, "FILE")?;
        }
        let mut plan = self.query_with_into(query, None)?;
        match &query.into {
            None => {}
            Some(ast::Into::Variables(names)) if names.len() != plan.columns.len() => {
                return Err(SqlError::select_column_count());
            }
            Some(ast::Into::Variables(targets)) => {
                let names = targets.iter().map(|target| match target {
                    ast::Target::UserVar(name) => Some(name.clone()),
                    ast::Target::Local(_) => None,
                });
                // What goes into variables of a program is taken by the program.
                if let Some(names) = names.collect() {
                    plan.into = Destination::Variables(names);
                }
                plan.unveil_all();
            }
            Some(ast::Into::File(file)) => {
                plan.into = Destination::File(Box::new(FileForm::new(file, &plan.columns)?));
            }
        }
        Ok(plan)
    }

    /// Plans a query, whatever it says of its rows.
    fn query_with_into(&mut self, query: &Query, outer: Option<&Scope>) -> Result<logical::Query<'a>> {
        let mut plan = self.with_common(query.with.as_ref(), |planner| {
            planner.nested(|planner| planner.query_body(query, outer))
        })?;
        self.settle_reads(&mut plan);
        Ok(plan)
    }

    /// Plans a query inside another: what belongs to the one around it is put aside.
    pub(super) fn nested(
        &mut self,
        plan: impl FnOnce(&mut Self) -> Result<logical::Query<'a>>,
    ) -> Result<logical::Query<'a>> {
        check_stack()?;
        check_interrupt()?;
        let (locks, keyed) = (self.locks.clone(), std::mem::take(&mut self.keyed));
        let null_extended = std::mem::take(&mut self.null_extended);
        let planned = plan(self);
        (self.locks, self.keyed, self.null_extended) = (locks, keyed, null_extended);
        planned
    }

    fn query_body(&mut self, query: &Query, outer: Option<&Scope>) -> Result<logical::Query<'a>> {
        if !query.locks.is_empty() {
            self.locks.clone_from(&query.locks);
        }
        let (offset, limit) = self.limit_of(&query.limit)?;
        let mut plan = match &query.body {
            ast::QueryBody::Select(select) => {
                self.select(select, (&query.order_by, &query.locks), outer, limit.as_ref())?
            }
            ast::QueryBody::Query(inner) => {
                let mut inner = self.query(inner, outer)?;
                if query.order_by.is_empty() && limit.is_none() {
                    return Ok(inner);
                }
                let columns = inner.columns.iter().map(OutputColumn::copy).collect();
                let dependences = inner.dependences.take();
                let calc_found_rows = inner.calc_found_rows;
                // A query around a query: a union of one.
                let body = QueryBody::Set {
                    first: Box::new(inner),
                    rest: Vec::new(),
                };
                QueryPlan {
                    dependences,
                    calc_found_rows,
                    ..QueryPlan::of(body, columns)
                }
            }
            ast::QueryBody::SetOperation { first, rest } => self.set_operation(first, rest, outer)?,
            ast::QueryBody::Values(rows) => self.values(rows, outer)?,
        };
        if !matches!(query.body, ast::QueryBody::Select(_)) {
            plan.order = self.order_of_columns(&query.order_by, &plan.columns)?;
            if plan.order.iter().any(|(e, _)| has_subquery(e)) {
                plan.frees_latches();
            }
        }
        plan.offset = offset;
        plan.limit = limit;
        Ok(plan)
    }

    /// A query of a set operation.
    pub(super) fn branch(
        &mut self,
        body: &ast::QueryBody,
        outer: Option<&Scope>,
    ) -> Result<logical::Query<'a>> {
        let mut plan = self.nested(|planner| match body {
            ast::QueryBody::Select(select) => planner.select(select, (&[], &[]), outer, None),
            ast::QueryBody::Query(inner) => planner.query(inner, outer),
            ast::QueryBody::SetOperation { first, rest } => planner.set_operation(first, rest, outer),
            ast::QueryBody::Values(rows) => planner.values(rows, outer),
        })?;
        self.settle_reads(&mut plan);
        Ok(plan)
    }

    /// Queries joined from left to right. Those that MySQL makes one operation of have their types in common; what it makes an
    /// operation of its own is a query with types of its own, which are then joined with those that follow.
    pub(super) fn set_operation(
        &mut self,
        first: &ast::QueryBody,
        rest: &[ast::SetOperand],
        outer: Option<&Scope>,
    ) -> Result<logical::Query<'a>> {
        let one = own_part(rest);
        let mut first = match one {
            0 => self.branch(first, outer)?,
            _ => {
                let mut plan = self.nested(|planner| planner.set_operation(first, &rest[..one], outer))?;
                self.settle_reads(&mut plan);
                plan
            }
        };
        let rest = &rest[one..];
        if rest.is_empty() {
            return Ok(first);
        }
        let mut branches = Vec::with_capacity(rest.len());
        let mut types: Vec<SqlType> = first.columns.iter().map(|column| column.ty.clone()).collect();
        for operand in rest {
            let plan = self.branch(&operand.body, outer)?;
            if plan.columns.len() != types.len() {
                return Err(SqlError::select_column_count());
            }
            for (ty, column) in types.iter_mut().zip(&plan.columns) {
                *ty = build::common_type(&[ty, &column.ty], "UNION", self.binder.ctx)?;
            }
            branches.push(SetBranch {
                op: operand.op,
                all: operand.all,
                plan,
            });
        }
        // Rows are compared in most of them.
        if types.iter().any(|ty| check_comparable(ty, "UNION").is_err()) {
            return Err(SqlError::illegal_mix_many("UNION"));
        }
        let results = self.state.results_collation();
        let named = first.columns.iter().zip(types);
        let columns: Vec<OutputColumn> = named
            .map(|(column, ty)| OutputColumn {
                name: column.name.clone(),
                meta: ColumnMeta::of_expression(&column.name, &ty, results),
                ty,
                origin: Origin::default(),
                default: DefaultOf::Missing,
            })
            .collect();
        self.convert_output(&mut first, &columns)?;
        for branch in &mut branches {
            self.convert_output(&mut branch.plan, &columns)?;
        }
        let calc_found_rows = first.calc_found_rows;
        let body = QueryBody::Set {
            first: Box::new(first),
            rest: branches,
        };
        Ok(QueryPlan {
            calc_found_rows,
            ..QueryPlan::of(body, columns)
        })
    }

    /// Makes a branch of a union give the common types.
    pub(super) fn convert_output(&self, plan: &mut logical::Query, columns: &[OutputColumn]) -> Result<()> {
        let ctx = self.binder.ctx;
        convert_behind_distinct(plan, columns);
        let convert = |e: &mut Expr, ty: &SqlType| -> Result<()> {
            let is_encoded =
                ty.is_string() && e.ty.is_string() && ty.is_binary_string() != e.ty.is_binary_string();
            // The value of a branch has digits of its own, and that of a BINARY is filled up.
            let has_branches =
                e.ty.kind == TypeKind::Decimal && (e.is_choice() || matches!(e.node, Node::Column(_)));
            let is_filled = ty.kind == TypeKind::Char && ty.is_binary_string();
            let is_short = is_filled && (e.ty.length != ty.length || !matches!(e.node, Node::Column(_)));
            let differs = e.ty.kind != ty.kind || e.ty.scale != ty.scale || e.ty.unsigned != ty.unsigned;
            if differs || is_encoded || has_branches || is_short {
                let old = std::mem::replace(e, build::null());
                *e = build::as_column(old, ty, ctx)?;
            }
            Ok(())
        };
        each_output(plan, &mut |at, e| convert(e, &columns[at].ty))
    }

    fn values(&mut self, rows: &[Vec<ast::Expr>], outer: Option<&Scope>) -> Result<logical::Query<'a>> {
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
            columns.push(OutputColumn {
                name,
                ty,
                meta,
                origin: Origin::default(),
                default: DefaultOf::Missing,
            });
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
        let scope = Scope::of_row(columns.iter().map(|column| (&column.name, &column.ty)));
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
                None => self.order_of_column(&item.expr, &scope, out.len() + 1)?,
            };
            out.push((expr, item.descending));
        }
        Ok(out)
    }

    /// The `n`-th expression of a union's ORDER BY. Errors 1250 for a column of a table, and 3028 for an aggregate.
    fn order_of_column(&mut self, e: &ast::Expr, scope: &Scope, n: usize) -> Result<Expr> {
        let binder = self.binder.in_clause("order clause");
        let mut finished = Finished::default();
        let mut hooks = BlockHooks {
            planner: self,
            aggregates: Some(&mut finished),
            windows: None,
            aliases: Aliases::NONE,
        };
        let is_name = matches!(e, ast::Expr::Column(_));
        let bound = match is_name {
            true => binder.bind(e, scope, &mut hooks),
            // Within an expression the first column of a name is meant.
            false => binder.bind(e, &scope.with_first_names(), &mut hooks),
        };
        let mut bound = bound.map_err(|error| match qualifier(e) {
            Some(table) if error.code == er::BAD_FIELD => table_not_allowed(table),
            _ => error,
        })?;
        if !finished.aggregates.is_empty() {
            return Err(SqlError::new(
                er::AGGREGATE_ORDER_FOR_UNION,
                format!(
                    "Expression #{n} of ORDER BY contains aggregate function and applies to a UNION, EXCEPT or INTERSECT"
                ),
            ));
        }
        self.settle_digits(&mut bound, Asked::Exact);
        Ok(bound)
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
            windows: None,
            aliases: Aliases::NONE,
        };
        let mut bound = binder.bind(e, scope, &mut hooks)?;
        self.settle_digits(&mut bound, Asked::Exact);
        Ok(bound)
    }
}

/// The first table that an expression names, outside its subqueries.
fn qualifier(e: &ast::Expr) -> Option<&str> {
    match e {
        ast::Expr::Column(name) => name.table.as_deref(),
        _ => e.children().into_iter().find_map(qualifier),
    }
}

/// Error 1250.
fn table_not_allowed(table: &str) -> SqlError {
    SqlError::new(
        er::TABLENAME_NOT_ALLOWED_HERE,
        format!("Table '{table}' from one of the SELECTs cannot be used in global ORDER clause"),
    )
}

/// The number an ORDER BY or GROUP BY item is, if it is one.
pub(super) fn ordinal(e: &ast::Expr) -> Option<u64> {
    match e {
        ast::Expr::Literal(Literal::Int(n)) => Some(*n),
        _ => None,
    }
}

/// Equal rows are told by their own types, in which values may differ that are equal in the types of `columns`: a query that leaves some
/// out converts those that are left.
fn convert_behind_distinct<S: Selects>(plan: &mut QueryPlan<S>, columns: &[OutputColumn]) {
    let is_distinct = match &mut plan.body {
        QueryBody::Select(select) => select.is_distinct(),
        QueryBody::Set { first, rest } => {
            let all = |branch: &SetBranch<S>| branch.op == ast::SetOp::Union && branch.all;
            let is_distinct = !rest.iter().all(all);
            if !is_distinct {
                convert_behind_distinct(first, columns);
                rest.iter_mut()
                    .for_each(|branch| convert_behind_distinct(&mut branch.plan, columns));
            }
            is_distinct
        }
        QueryBody::Recursive(_) | QueryBody::Values(_) => false,
    };
    let mut pairs = plan.columns.iter().zip(columns);
    if is_distinct && plan.converted.is_empty() && pairs.any(|(own, common)| own.ty.kind != common.ty.kind) {
        let own = plan.columns.iter().enumerate();
        plan.converted = own
            .map(|(at, column)| build::column(at, column.ty.clone()))
            .collect();
    }
}

/// Changes each expression that gives a column's values, in every branch; it is told which column.
pub(super) fn each_output<S: Selects>(
    plan: &mut QueryPlan<S>,
    change: &mut impl FnMut(usize, &mut Expr) -> Result<()>,
) -> Result<()> {
    let mut change_row = |row: &mut [Expr]| row.iter_mut().enumerate().try_for_each(|(at, e)| change(at, e));
    if !plan.converted.is_empty() {
        return change_row(&mut plan.converted);
    }
    match &mut plan.body {
        QueryBody::Select(select) => change_row(select.output_mut()),
        QueryBody::Set { first, rest } => {
            each_output(first, change)?;
            rest.iter_mut()
                .try_for_each(|branch| each_output(&mut branch.plan, change))
        }
        QueryBody::Recursive(_) => Ok(()),
        QueryBody::Values(rows) => rows.iter_mut().try_for_each(|row| change_row(row)),
    }
}

impl OutputColumn {
    pub(super) fn copy(&self) -> OutputColumn {
        OutputColumn {
            name: self.name.clone(),
            ty: self.ty.clone(),
            meta: self.meta.clone(),
            origin: self.origin.clone(),
            default: self.default.clone(),
        }
    }
}

impl<S> QueryPlan<S> {
    pub(super) fn of(body: QueryBody<S>, columns: Vec<OutputColumn>) -> QueryPlan<S> {
        QueryPlan {
            body,
            order: Vec::new(),
            offset: None,
            limit: None,
            columns,
            converted: Vec::new(),
            outer: Vec::new(),
            repeatable: false,
            reads_changes: false,
            into: Destination::Client,
            calc_found_rows: false,
            is_unveiled: false,
            ordered_by_output: false,
            dependences: None,
        }
    }
}

/// How many of the operands, from the first, are an operation of their own before the others. MySQL goes on with an operation as long as it
/// stays the same, but ends one that has left out equal rows before UNION ALL, and INTERSECT ALL after each operand.
fn own_part(rest: &[ast::SetOperand]) -> usize {
    let mut start = 0;
    // Of the operands from `start` to the one that is looked at.
    let (mut op, mut any_distinct) = match rest.first() {
        Some(first) => (first.op, !first.all),
        None => return 0,
    };
    for (at, next) in rest.iter().enumerate().skip(1) {
        let ends = match next.op {
            next_op if next_op != op => true,
            ast::SetOp::Union => next.all && any_distinct,
            ast::SetOp::Intersect => next.all && !any_distinct,
            ast::SetOp::Except => false,
        };
        if ends {
            start = at;
            (op, any_distinct) = (next.op, false);
        }
        any_distinct |= !next.all;
    }
    start
}

//! Common tables (WITH), recursive ones among them.
//!
//! A common table is planned where it is named first. If it reads nothing of the rows around it, further references share that
//! plan, and so its rows.
//!
//! ```text
//! WITH RECURSIVE c (n) AS (  SELECT 1   UNION ALL   SELECT n + 1 FROM c WHERE n < 3  )
//!                            seeds                  steps: those that name c
//! ```
//!
//! While a step is planned its own table is a [`Working`] one, which stands for the rows that the step has not read yet. A step
//! reads it once, in its own FROM clause, before all other tables, so that rows leave a step in the order in which they were
//! made; it neither groups nor sorts. That is what SQL allows, and with MySQL's errors.

use super::change::widen_text;
use super::from::{From, FromInput, Tree};
use super::logical::{self, Selects};
use super::query::each_output;
use super::{OutputColumn, Planner, QueryBody, QueryPlan, Recursion};
use crate::error::{Result, SqlError, er};
use crate::expr::{Expr, Node, Scope, build, check_comparable};
use crate::parse::ast::{self, CommonTable, Query, SetOp, SetOperand};
use crate::types::{Collation, ColumnMeta, Derivation, SqlType, TypeKind};
use std::collections::HashSet;
use std::sync::Arc;

/// A recursive table while its own query is planned.
pub(super) struct Working {
    name: String,
    /// The query that stands for the rows before.
    query: usize,
    /// How many common tables its query sees: those behind them are of its own WITH and hide it.
    common: usize,
    /// At how many SELECTs inside each other it may be named, once; `None`: anywhere, its errors have been told.
    level: Option<usize>,
    named: bool,
}

/// A recursive table's query, taken apart.
pub(super) struct Parts<'t> {
    first: &'t ast::QueryBody,
    /// The seeds behind the first.
    seeds: &'t [SetOperand],
    steps: Vec<&'t ast::QueryBody>,
    /// Equal rows all stay.
    all: bool,
    limit: &'t Option<ast::Limit>,
}

impl<'t> Parts<'t> {
    /// `None`: the table does not name itself. Errors 3573, 3574 and 4114, and 1235 for what MySQL does not do either.
    pub fn of(table: &'t CommonTable) -> Result<Option<Parts<'t>>> {
        if !table.recursive || !table.query.names_table(&table.name) {
            return Ok(None);
        }
        let query = Bare::of(&table.query);
        let ast::QueryBody::SetOperation { first, rest } = query.body else {
            return Err(requires_union(&table.name));
        };
        if rest.last().is_some_and(|last| last.op != SetOp::Union) {
            return Err(requires_union(&table.name));
        }
        let names_itself = |body: &ast::QueryBody| body.names_table(&table.name);
        let middle = rest.iter().position(|operand| names_itself(&operand.body));
        let (seeds, recursive) = rest.split_at(middle.unwrap_or(rest.len()));
        let mut operands = Vec::with_capacity(recursive.len());
        for operand in recursive {
            if operand.op != SetOp::Union {
                return Err(not_a_union());
            }
            flatten(&operand.body, operand.all, &table.name, &mut operands)?;
        }
        if names_itself(first) || operands.is_empty() || !operands.iter().all(|(body, _)| names_itself(body))
        {
            return Err(SqlError::new(
                er::CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST,
                format!(
                    "Recursive Common Table Expression '{}' should have one or more non-recursive query blocks followed \
                     by one or more recursive ones",
                    table.name
                ),
            ));
        }
        if !query.order_by.is_empty() {
            return Err(SqlError::not_supported(
                "ORDER BY over UNION in recursive Common Table Expression",
            ));
        }
        let all = operands.last().is_none_or(|(_, all)| *all);
        if all && operands.iter().any(|(_, all)| !all) {
            return Err(SqlError::not_supported(
                "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
            ));
        }
        Ok(Some(Parts {
            first,
            seeds,
            steps: operands.into_iter().map(|(body, _)| body).collect(),
            all,
            limit: query.limit,
        }))
    }
}

/// A query without the parentheses around all of it.
struct Bare<'q> {
    body: &'q ast::QueryBody,
    order_by: &'q [ast::OrderItem],
    limit: &'q Option<ast::Limit>,
}

impl<'q> Bare<'q> {
    fn of(query: &'q Query) -> Bare<'q> {
        let mut bare = Bare {
            body: &query.body,
            order_by: &query.order_by,
            limit: &query.limit,
        };
        while let ast::QueryBody::Query(inner) = bare.body
            && (bare.is_whole() || inner.order_by.is_empty() && inner.limit.is_none())
            && inner.with.is_none()
        {
            if bare.is_whole() {
                (bare.order_by, bare.limit) = (&inner.order_by, &inner.limit);
            }
            bare.body = &inner.body;
        }
        bare
    }

    /// It says nothing of order and limit.
    fn is_whole(&self) -> bool {
        self.order_by.is_empty() && self.limit.is_none()
    }
}

/// The operands of a UNION, with those of one in parentheses. Errors 4114 and 1235 for what names the recursive table and is no
/// operand of the one UNION.
fn flatten<'t>(
    body: &'t ast::QueryBody,
    all: bool,
    name: &str,
    out: &mut Vec<(&'t ast::QueryBody, bool)>,
) -> Result<()> {
    let (inner, is_whole) = match body {
        ast::QueryBody::Query(query) => {
            let inner = Bare::of(query);
            (inner.body, inner.is_whole())
        }
        body => (body, true),
    };
    let ast::QueryBody::SetOperation { first, rest } = inner else {
        out.push((body, all));
        return Ok(());
    };
    if !inner.names_table(name) {
        out.push((body, all));
        return Ok(());
    }
    if rest.iter().any(|operand| operand.op != SetOp::Union) {
        return Err(not_a_union());
    }
    if !is_whole || all && rest.iter().any(|operand| !operand.all) {
        return Err(SqlError::not_supported(
            "right nested recursive query blocks, in Common Table Expression",
        ));
    }
    flatten(first, all, name, out)?;
    rest.iter()
        .try_for_each(|operand| flatten(&operand.body, all, name, out))
}

/// Error 3573.
fn requires_union(name: &str) -> SqlError {
    SqlError::new(
        er::CTE_RECURSIVE_REQUIRES_UNION,
        format!("Recursive Common Table Expression '{name}' should contain a UNION"),
    )
}

/// Error 4114.
fn not_a_union() -> SqlError {
    SqlError::new(
        er::CTE_RECURSIVE_NOT_UNION,
        "Recursive table reference in EXCEPT or INTERSECT operand is not allowed.",
    )
}

impl<'a> Planner<'a> {
    /// Plans something that sees the common tables of a WITH.
    pub(super) fn with_common<T>(
        &mut self,
        with: Option<&ast::With>,
        plan: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.common.len();
        let mut names = HashSet::new();
        for table in with.iter().flat_map(|with| &with.tables) {
            if !names.insert(table.name.as_str()) {
                self.common.truncate(before);
                return Err(SqlError::not_unique_table(&table.name));
            }
            self.common.push(Arc::clone(table));
        }
        let planned = plan(self);
        self.common.truncate(before);
        planned
    }

    /// Whether a name means a common table.
    pub(super) fn is_common(&self, name: &ast::ObjectName) -> bool {
        name.schema.is_none()
            && (self.common.iter().any(|common| common.name == name.name)
                || self.working.iter().any(|working| working.name == name.name))
    }

    /// A common table that a name means; `None`: it means none.
    pub(super) fn common_leaf(&mut self, named: &ast::TableName, from: &mut From) -> Result<Option<Tree>> {
        if !self.is_common(&named.name) {
            return Ok(None);
        }
        if named.as_of.is_some() {
            return Err(SqlError::not_supported("AS OF of a common table expression"));
        }
        let name = &named.name.name;
        let alias = named.alias.as_ref().unwrap_or(name);
        let at = self.common.iter().rposition(|common| common.name == *name);
        let working = self.working.iter().rposition(|working| working.name == *name);
        let common = match (at, working) {
            (at, Some(working)) if at.is_none_or(|at| at < self.working[working].common) => {
                let query = self.refer_to(working)?;
                return self.derived_leaf((query, false), alias, &[], from).map(Some);
            }
            (Some(at), _) => at,
            (None, _) => return Ok(None),
        };
        let table = Arc::clone(&self.common[common]);
        let query = self.common_query(common, &table, from.scope.outer)?;
        self.derived_leaf((query, false), alias, &table.columns, from)
            .map(Some)
    }

    /// The query of a common table, planned here if no plan of it can be shared.
    fn common_query(&mut self, at: usize, table: &Arc<CommonTable>, outer: Option<&Scope>) -> Result<usize> {
        let is_it = |(other, _): &&(Arc<CommonTable>, usize)| Arc::ptr_eq(other, table);
        if let Some((_, query)) = self.planned_common.iter().find(is_it) {
            return Ok(*query);
        }
        self.count_expanded()?;
        // The query sees only the tables defined before it.
        let later = self.common.split_off(at);
        let locks = std::mem::take(&mut self.locks);
        let uses = self.uses.len();
        let planned = self.common_table(table, outer);
        self.locks = locks;
        self.common.extend(later);
        let plan = planned?;
        // A temporary table is read once in a statement, also where a common table is named twice.
        let reads_temporary = self.uses[uses..].iter().any(|used| used.table.temporary);
        let shared = plan.outer.is_empty() && !reads_temporary;
        self.queries.push(plan);
        let query = self.queries.len() - 1;
        if shared {
            self.planned_common.push((Arc::clone(table), query));
        }
        Ok(query)
    }

    /// A common table: recursive if it names itself.
    fn common_table(&mut self, table: &CommonTable, outer: Option<&Scope>) -> Result<logical::Query<'a>> {
        let Some(parts) = Parts::of(table)? else {
            return self.query(&table.query, outer);
        };
        if table.query.into.is_some() {
            return Err(SqlError::misplaced_into());
        }
        let common = self.common.len();
        let mut plan = self.with_common(table.query.with.as_ref(), |planner| {
            planner.recursive(table, &parts, common, outer)
        })?;
        self.settle_reads(&mut plan);
        Ok(plan)
    }

    fn recursive(
        &mut self,
        table: &CommonTable,
        parts: &Parts,
        common: usize,
        outer: Option<&Scope>,
    ) -> Result<logical::Query<'a>> {
        let (offset, limit) = self.limit_of(parts.limit)?;
        let (seed, columns) = self.seed(table, parts, outer)?;
        let working = self.stand_in(&columns);
        let mut steps = Vec::with_capacity(parts.steps.len());
        for step in &parts.steps {
            self.working.push(Working {
                name: table.name.clone(),
                query: working,
                common,
                level: Some(self.selects + 1),
                named: false,
            });
            let planned = self.branch(step, outer);
            self.working.pop();
            let mut planned = planned?;
            if planned.columns.len() != columns.len() {
                return Err(SqlError::select_column_count());
            }
            each_output(&mut planned, &mut |at, e| {
                let kept = std::mem::replace(e, build::null());
                *e = build::in_set_of_column(kept, &columns[at].ty);
                Ok(())
            })?;
            steps.push(planned);
        }
        // All rows are texts of the same column, which is asked only when each query is known to be right.
        let is_mix = |column: &OutputColumn| check_comparable(&column.ty, "UNION").is_err();
        if columns.iter().any(is_mix) {
            return Err(SqlError::illegal_mix_many("UNION"));
        }
        let body = QueryBody::Recursive(Recursion {
            working,
            all: parts.all,
            seed: Box::new(seed),
            steps,
        });
        let mut plan = QueryPlan::of(body, columns);
        (plan.offset, plan.limit) = (offset, limit);
        Ok(plan)
    }

    /// The seeds as one query, and the table's columns, whose types are theirs.
    fn seed(
        &mut self,
        table: &CommonTable,
        parts: &Parts,
        outer: Option<&Scope>,
    ) -> Result<(logical::Query<'a>, Vec<OutputColumn>)> {
        let mut seed = self.nested(|planner| planner.set_operation(parts.first, parts.seeds, outer))?;
        let results = self.state.results_collation();
        let mut columns: Vec<OutputColumn> = seed.columns.iter().map(OutputColumn::copy).collect();
        for (column, name) in columns.iter_mut().zip(&table.columns) {
            column.name.clone_from(name);
        }
        if let QueryBody::Select(select) = &seed.body {
            for (column, e) in columns.iter_mut().zip(select.output()) {
                column.ty = of_cast(e).unwrap_or_else(|| column.ty.clone());
            }
        }
        for column in &mut columns {
            if column.ty.kind == TypeKind::Null {
                // NULL, whose collation gives way to any other.
                column.ty = SqlType::varchar(0, Collation::BINARY)
                    .with_collation(Collation::BINARY, Derivation::Ignorable);
            }
            if column.ty.is_string() && !column.ty.is_member() && column.ty.kind != TypeKind::Json {
                widen_text(&mut column.ty);
            }
            // A small number may lead to a large one.
            if column.ty.kind == TypeKind::BigInt {
                column.ty.length = SqlType::new(TypeKind::BigInt).length;
            }
            // A fraction has a digit before its point.
            if column.ty.kind == TypeKind::Decimal && column.ty.length == u32::from(column.ty.scale) {
                column.ty.length += 1;
            }
            column.meta = ColumnMeta::of_expression(&column.name, &column.ty, results);
            column.ty.nullable = true;
        }
        self.convert_output(&mut seed, &columns)?;
        Ok((seed, columns))
    }

    /// A query without rows that has these columns: by its number a step is given its rows.
    fn stand_in(&mut self, columns: &[OutputColumn]) -> usize {
        let columns = columns.iter().map(OutputColumn::copy).collect();
        self.queries.push(QueryPlan {
            repeatable: true,
            ..QueryPlan::of(QueryBody::Values(Vec::new()), columns)
        });
        self.queries.len() - 1
    }

    /// For a look at a recursive table's query that has been planned: its name means its columns.
    pub(super) fn name_working<T>(
        &mut self,
        table: &CommonTable,
        parts: &Parts,
        look: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let common = self.common.len();
        let seed = self.with_common(table.query.with.as_ref(), |planner| {
            planner.seed(table, parts, None)
        });
        let (_, columns) = seed?;
        let query = self.stand_in(&columns);
        self.working.push(Working {
            name: table.name.clone(),
            query,
            common,
            level: None,
            named: false,
        });
        let looked = look(self);
        self.working.pop();
        looked
    }

    /// The query that a working table's name means. Error 3577 if it may not be named here, or has been named before.
    fn refer_to(&mut self, at: usize) -> Result<usize> {
        let selects = self.selects;
        let working = &mut self.working[at];
        if working
            .level
            .is_some_and(|level| level != selects || working.named)
        {
            return Err(SqlError::new(
                er::CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE,
                format!(
                    "In recursive query block of Recursive Common Table Expression '{}', the recursive table must be \
                     referenced only once, and not in any subquery",
                    working.name
                ),
            ));
        }
        working.named = true;
        Ok(working.query)
    }

    /// The recursive table that a table of FROM is, while a step of it is planned.
    pub(super) fn working_table(&self, input: &FromInput) -> Option<&str> {
        let FromInput::Derived { query, .. } = input else {
            return None;
        };
        let working = self.working.iter().rfind(|working| working.query == *query);
        working
            .filter(|working| working.level.is_some())
            .map(|working| working.name.as_str())
    }

    /// Errors 3575 and 1235 for a SELECT that reads a recursive table and groups, sorts or limits its rows.
    pub(super) fn check_step(
        &self,
        select: &ast::Select,
        from: &From,
        grouped: bool,
        limited: bool,
    ) -> Result<()> {
        let Some(name) = from.tables.iter().find_map(|table| table.recursive.as_deref()) else {
            return Ok(());
        };
        if grouped {
            return Err(SqlError::new(
                er::CTE_RECURSIVE_FORBIDS_AGGREGATION,
                format!(
                    "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions in \
                     recursive query block"
                ),
            ));
        }
        if limited || select.distinct {
            return Err(SqlError::not_supported(
                "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
            ));
        }
        Ok(())
    }

    /// LIMIT: the rows to be skipped, and those wanted.
    pub(super) fn limit_of(&mut self, limit: &Option<ast::Limit>) -> Result<(Option<Expr>, Option<Expr>)> {
        let Some(limit) = limit else {
            return Ok((None, None));
        };
        self.binder.ctx.is_unsafe.set(true);
        let mut offset = limit.offset.as_ref().map(|e| self.plain(e)).transpose()?;
        let mut count = self.plain(&limit.count)?;
        let numbers = offset.iter_mut().chain([&mut count]);
        numbers.for_each(|e| self.binder.ctx.settle_limit(e));
        Ok((offset, Some(count)))
    }
}

/// Error 3576 for a recursive table that cannot be the first of a join.
pub(super) fn not_first(name: &str) -> SqlError {
    SqlError::new(
        er::CTE_RECURSIVE_FORBIDDEN_JOIN_ORDER,
        format!(
            "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must neither be in \
             the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints"
        ),
    )
}

/// The type of the column of a recursive table that a cast to a text makes: as long as what is cast, if the cast does not say how
/// long, and bytes of rows that follow are not filled up.
fn of_cast(e: &Expr) -> Option<SqlType> {
    let Node::Cast(inner) = &e.node else {
        return None;
    };
    let length = match e.ty.length {
        u32::MAX if inner.ty.is_blob_or_text() || inner.ty.is_float() || inner.ty.kind == TypeKind::Json => {
            return None;
        }
        u32::MAX if e.ty.is_binary_string() && inner.ty.is_string() => {
            let longest = inner.ty.collation.charset().max_bytes();
            inner.ty.display_length().saturating_mul(longest)
        }
        u32::MAX => inner.ty.display_length(),
        length => length,
    };
    let is_text = matches!(e.ty.kind, TypeKind::Char | TypeKind::VarChar);
    is_text.then(|| {
        let ty = SqlType::varchar(length, e.ty.collation);
        ty.with_collation(e.ty.collation, e.ty.derivation)
            .with_nullable(e.ty.nullable)
    })
}

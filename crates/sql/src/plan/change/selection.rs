//! Chooses how an UPDATE or DELETE of one table finds its rows: the index, the order, and whether rows are changed as they are
//! found.
//!
//! Rows are changed in the pass that finds them if the order is the path's and the change moves no row within the index (a row
//! moved ahead would be met again, the Halloween problem): *in place*, while the row is latched, if that is safe
//! ([`Target::latch_safe`]) and no row that fails is to be undone alone (IGNORE), *one by one* otherwise. They are *collected* first if the
//! pass cannot change them.
//!
//! Where an index gives the wanted order it is read in that, from either end, and no further than LIMIT says: `DELETE …
//! ORDER BY id LIMIT 1` takes one row off a queue and locks no other.

use super::reads::ChangedTable;
use super::target::Target;
use crate::error::{Result, SqlError};
use crate::expr::{Binder, EvalCtx, Expr, Scope, build};
use crate::parse::ast;
use crate::plan::access::{AccessPath, Request, conjuncts};
use crate::plan::condition_order::cheap_first;
use crate::plan::filter::{is_steady, selectivity};
use crate::plan::generated::GeneratedColumns;
use crate::plan::group::BlockHooks;
use crate::plan::hints::hints;
use crate::plan::multi_valued::{ArrayTable, ArrayTests};
use crate::plan::order::{Direction, OrderWish, choose_in_order};
use crate::plan::walk::has_subquery;
use crate::plan::zero_dates::with_zero_dates;

/// A table of fewer rows whose rows are locked is read as a whole only where no index helps.
pub(in crate::plan) const SMALL_TABLE_ROWS: u64 = 100;

/// One expression of ORDER BY.
pub struct ChangeOrder {
    pub expr: Expr,
    pub descending: bool,
}

/// When the rows that are found are changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Pass {
    /// As they are found, each under the latch of its leaf.
    InPlace,
    /// As they are found, each before the next is looked for.
    OneByOne,
    /// When all have been found.
    Collected,
}

/// The rows of one table that a statement touches.
pub struct RowSelection {
    pub path: AccessPath,
    pub reverse: bool,
    /// Conditions that name no column: evaluated once, and if they do not hold no row is read, and none is locked.
    pub gate: Option<Expr>,
    pub filter: Option<Expr>,
    /// What they are sorted by; nothing if the path gives them in the order wanted.
    pub order_by: Vec<ChangeOrder>,
    pub limit: Option<Expr>,
    pub pass: Pass,
    /// LIMIT goes by a view without a key: this error, or a note if `updatable_views_with_limit` allows it.
    pub without_key: Option<SqlError>,
    /// An UPDATE in no order: under READ COMMITTED and below, rows that others have locked are judged before they are
    /// waited for.
    pub judges: bool,
    pub filter_queries: bool,
    pub ignore: bool,
    /// The columns that say which rows, and in which order; and the primary key of those whose places are remembered before they
    /// are changed.
    pub columns_read: Vec<usize>,
}

/// The clauses that say which.
pub struct Clauses<'a> {
    /// What the statement does, as errors name it.
    pub verb: &'static str,
    pub table: &'a ast::TableName,
    pub filter: Option<&'a ast::Expr>,
    pub order_by: &'a [ast::OrderItem],
    pub limit: Option<&'a ast::Expr>,
    pub ignore: bool,
    /// The columns that the statement may change.
    pub written: &'a [usize],
    /// What it assigns to them runs queries.
    pub queries: bool,
    pub warnings: &'a crate::types::Warnings,
}

impl RowSelection {
    /// Binds the clauses and chooses the index that the rows are found by.
    pub(in crate::plan) fn plan(
        clauses: Clauses,
        target: &Target,
        binder: &Binder,
        hooks: &mut BlockHooks,
        sample: &EvalCtx,
    ) -> Result<RowSelection> {
        let mut scope = Scope::default();
        scope.add(target.scope_table(clauses.table.alias.as_deref()))?;
        let own = match clauses.filter {
            Some(filter) => {
                let filter = binder.in_clause("where clause").bind(filter, &scope, hooks)?;
                let not_null = |slot: usize| {
                    let column = target.def.columns.get(slot)?;
                    (!column.ty.nullable).then_some(false)
                };
                Some(with_zero_dates(filter, &not_null, binder.ctx)?)
            }
            None => None,
        };
        let seen = target.seen.as_deref().and_then(|seen| seen.filter.clone());
        let conditions: Vec<Expr> = seen.into_iter().chain(own).collect();
        let mut filter = match conditions.len() {
            0 | 1 => conditions.into_iter().next(),
            _ => Some(build::and(conditions)),
        };
        let mut wish = OrderWish {
            limited: clauses.limit.is_some(),
            ..OrderWish::default()
        };
        for item in clauses.order_by {
            let expr = binder.in_clause("order clause").bind(&item.expr, &scope, hooks)?;
            wish.order.push((expr, item.descending));
        }
        let limit = match clauses.limit {
            Some(limit) => {
                binder.ctx.is_unsafe.set(true);
                let mut limit = binder.bind(limit, &Scope::default(), hooks)?;
                binder.ctx.settle_limit(&mut limit);
                Some(limit)
            }
            None => None,
        };
        let needed: Vec<usize> = (0..target.def.columns.len()).collect();
        let alias = clauses.table.alias.as_ref().unwrap_or(&target.def.name);
        // A view has no indexes to be named, which has been told already.
        let hinted = match target.seen {
            Some(_) => &[],
            None => clauses.table.hints.as_slice(),
        };
        let (allowed, forced) = hints(hinted, &target.def, alias, clauses.warnings)?;
        let generated = GeneratedColumns::indexed(&target.def, binder)?;
        if let Some(filter) = &mut filter {
            let arrays = ArrayTests {
                tables: vec![ArrayTable {
                    def: &target.def,
                    base: 0,
                    generated: &generated,
                    allowed: allowed.as_deref(),
                }],
                sample: Some(sample),
                ctx: binder.ctx,
            };
            arrays.substitute(filter);
        }
        if hooks.planner.state.settings.rewrites.semijoin
            && let Some(whole) = filter.take()
        {
            filter = Some(looked_up_by_keys(whole, target, hooks));
        }
        let (gate, filter) = match filter {
            Some(filter) => gated(&filter),
            None => (None, None),
        };
        let filter_queries = filter.as_ref().is_some_and(has_subquery);
        let tests = filter.as_ref().map(conjuncts).unwrap_or_default();
        // What the queries read is looked at while they are as they were bound; how many values they have is known of their plans.
        hooks
            .planner
            .refuse_reads_of(&ChangedTable::of(target, clauses.verb), Vec::new())?;
        hooks.planner.lower_queries()?;
        // It locks what it reads: in a small table, the fewest rows.
        let forced = forced || target.table.estimate_rows() < SMALL_TABLE_ROWS;
        let statistics = hooks.planner.state.database.statistics_of(target.def.id);
        let request = Request {
            trace: None,
            statistics: statistics.as_deref(),
            rows: None,
            def: &target.def,
            table: &target.table,
            base: 0,
            conjuncts: &tests,
            needed: &needed,
            known: &|_| false,
            fixed_query: &|id| hooks.planner.queries[id].outer.is_empty() && hooks.planner.is_repeatable(id),
            query_values: &|id| hooks.planner.query_values(id),
            allowed: allowed.as_deref(),
            forced,
            dice: &hooks.planner.dice,
            merges: hooks.planner.state.settings.rewrites.index_merge,
            skips: false,
            locks: true,
            changes: true,
            sample: Some(sample),
            generated: &generated,
            on_literals: &binder.ctx.depends_on_literals,
        };
        let (path, direction) = choose_in_order(&request, &wish)?;
        let filter = filter.map(|filter| cheap_first(filter, |e| selectivity(e, None)));
        let ordering = wish.order.iter().map(|(expr, _)| expr);
        let mut columns_read: Vec<usize> = filter.iter().chain(ordering).flat_map(Expr::columns).collect();
        let mut order_by = Vec::new();
        if direction.is_none() {
            for (expr, descending) in wish.order {
                order_by.push(ChangeOrder { expr, descending });
            }
        }
        // The rows of several indexes are known when all have been found.
        let moves = path.is_merged() || target.moves(clauses.written, path.index);
        let in_place = target.latch_safe(clauses.queries || filter_queries) && !clauses.ignore;
        // As in MySQL an order is one to be sorted by, unless a DELETE stops at its LIMIT.
        let in_order = clauses.order_by.is_empty() || clauses.written.is_empty() && limit.is_some();
        let pass = match order_by.is_empty() && !moves {
            true if in_place => Pass::InPlace,
            true if in_order => Pass::OneByOne,
            _ => Pass::Collected,
        };
        if !order_by.is_empty() || (moves && !path.point) {
            let primary = target.def.primary().into_iter().flat_map(|index| &index.parts);
            columns_read.extend(primary.map(|part| part.column));
        }
        Ok(RowSelection {
            path,
            reverse: direction == Some(Direction::Backwards),
            gate,
            filter,
            order_by,
            without_key: limit.as_ref().and_then(|_| without_key(target, clauses.written)),
            limit,
            pass,
            judges: !clauses.written.is_empty() && clauses.order_by.is_empty() && !filter_queries,
            filter_queries,
            ignore: clauses.ignore,
            columns_read,
        })
    }
}

/// The condition with those tests of EXISTS by keys that an index of the target leads to.
fn looked_up_by_keys(filter: Expr, target: &Target, hooks: &mut BlockHooks) -> Expr {
    let leads = |column: usize| {
        let mut indexes = target.def.indexes.iter().filter(|index| index.visible);
        indexes.any(|index| index.parts[0].column == column && index.parts[0].prefix.is_none())
    };
    let mut changed = false;
    let tests = conjuncts(&filter).into_iter().map(|test| {
        let by_key = hooks.planner.look_up_by_key(test, leads);
        changed |= by_key.is_some();
        by_key.unwrap_or_else(|| test.clone())
    });
    let mut tests: Vec<Expr> = tests.collect();
    match (changed, tests.len()) {
        (false, _) => filter,
        (true, 1) => tests.remove(0),
        (true, _) => build::and(tests),
    }
}

/// A condition as what can be tested before a row is read, and the rest.
fn gated(filter: &Expr) -> (Option<Expr>, Option<Expr>) {
    let is_gate = |e: &&Expr| e.columns().is_empty() && is_steady(e);
    let (gates, rest): (Vec<&Expr>, Vec<&Expr>) = conjuncts(filter).into_iter().partition(is_gate);
    let all = |list: Vec<&Expr>| match list.len() {
        0 | 1 => list.first().map(|e| (*e).clone()),
        _ => Some(build::and(list.into_iter().cloned().collect())),
    };
    (all(gates), all(rest))
}

/// Error 1288, if the statement goes through a view that has no key of its table.
fn without_key(target: &Target, written: &[usize]) -> Option<SqlError> {
    let seen = target.seen.as_deref().filter(|seen| !seen.has_key)?;
    let verb = if written.is_empty() { "DELETE" } else { "UPDATE" };
    Some(SqlError::non_updatable(&seen.view.alias, verb))
}

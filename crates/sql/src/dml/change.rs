//! Which rows an UPDATE or DELETE touches, and the passes over them.
//!
//! *In place*: one pass; each row of the path is locked, tested and changed under its leaf's latch. It needs expressions
//! that run no queries, no order but the path's, and an index that the change does not move rows in (a row moved ahead would
//! be met again, the Halloween problem). *Collected* otherwise: the first pass locks and copies the rows that match, then
//! they are sorted, cut and changed one by one by primary key.
//!
//! Where an index gives the wanted order it is read in that, from either end, and no further than LIMIT says: `DELETE …
//! ORDER BY id LIMIT 1` takes one row off a queue and locks no other.

use super::rows::{Slots, Stored};
use super::target::{Target, scope_table};
use super::{Run, has_subquery, is_ignorable};
use crate::error::{Result, SqlError, er};
use crate::expr::compare::order_values;
use crate::expr::types::cmp_kind;
use crate::expr::{CmpKind, EvalCtx, Expr, Row};
use crate::parse::ast;
use crate::plan::access::{AccessPath, Request, conjuncts};
use crate::plan::bind::{Binder, Hooks};
use crate::plan::from::hints;
use crate::plan::order::{Direction, OrderWish, choose_in_order};
use crate::plan::scope::Scope;
use crate::types::{Val, Value};
use std::cmp::Ordering;
use tidemark_engine::{Action, Flow, Keep, KeyRange, RowBuf, RowView};

/// A table of fewer rows is read as a whole only where no index helps.
const SMALL_TABLE_ROWS: u64 = 100;

/// What a statement does to the rows it touches.
pub trait Change {
    /// Decides about a row that satisfies the condition; remembers what is to be written.
    fn decide(&mut self, row: &dyn Row) -> Result<Action>;
    /// Writes what was decided.
    fn write(&mut self, buf: &mut RowBuf);
    /// The error text for a change that met a duplicate key.
    fn explain(&mut self, error: tidemark_engine::Error) -> SqlError;
    /// The row that was decided about was found, and now is as decided.
    fn done(&mut self);

    /// The row was found but could not be changed, which IGNORE makes a warning.
    fn passed_over(&mut self) {}
}

/// One expression of ORDER BY.
struct SortKey {
    expr: Expr,
    kind: CmpKind,
    descending: bool,
}

/// The rows of one table that a statement touches.
pub struct Rows {
    path: AccessPath,
    reverse: bool,
    filter: Option<Expr>,
    /// What they are sorted by; nothing if the path gives them in the order wanted.
    order_by: Vec<SortKey>,
    limit: Option<Expr>,
    in_place: bool,
    /// An UPDATE in no order: under READ COMMITTED and below, rows that others have locked are judged before they are
    /// waited for.
    judges: bool,
    filter_queries: bool,
    ignore: bool,
    columns_read: Vec<usize>,
}

/// The clauses that say which.
pub struct Clauses<'a> {
    pub table: &'a ast::TableName,
    pub filter: Option<&'a ast::Expr>,
    pub order_by: &'a [ast::OrderItem],
    pub limit: Option<&'a ast::Expr>,
    pub ignore: bool,
}

impl Rows {
    /// `written` are the columns that the statement may change; `plain` says that its own expressions run no queries.
    pub fn plan(
        clauses: Clauses,
        target: &Target,
        binder: &Binder,
        hooks: &mut dyn Hooks,
        written: &[usize],
        plain: bool,
        sample: &EvalCtx,
    ) -> Result<Rows> {
        let mut scope = Scope::default();
        scope.add(scope_table(&target.def, clauses.table.alias.as_deref(), 0))?;
        let filter = match clauses.filter {
            Some(filter) => Some(binder.in_clause("where clause").bind(filter, &scope, hooks)?),
            None => None,
        };
        let mut wish = OrderWish {
            order: Vec::new(),
            limited: clauses.limit.is_some(),
        };
        for item in clauses.order_by {
            let expr = binder.in_clause("order clause").bind(&item.expr, &scope, hooks)?;
            wish.order.push((expr, item.descending));
        }
        let limit = match clauses.limit {
            Some(limit) => Some(binder.bind(limit, &Scope::default(), hooks)?),
            None => None,
        };
        let filter_queries = filter.as_ref().is_some_and(has_subquery);
        let tests = filter.as_ref().map(conjuncts).unwrap_or_default();
        let needed: Vec<usize> = (0..target.def.columns.len()).collect();
        let alias = clauses.table.alias.as_ref().unwrap_or(&target.def.name);
        let (allowed, forced) = hints(&clauses.table.hints, &target.def, alias)?;
        // It locks what it reads: in a small table, the fewest rows.
        let forced = forced || target.table.estimate_rows() < SMALL_TABLE_ROWS;
        let request = Request {
            def: &target.def,
            table: &target.table,
            base: 0,
            conjuncts: &tests,
            needed: &needed,
            known: &|_| false,
            fixed_query: &|_| false,
            allowed: allowed.as_deref(),
            forced,
            sample: Some(sample),
        };
        let (path, direction) = choose_in_order(&request, &wish)?;
        let ordering = wish.order.iter().map(|(expr, _)| expr);
        let mut columns_read: Vec<usize> = filter.iter().chain(ordering).flat_map(Expr::columns).collect();
        let mut order_by = Vec::new();
        if direction.is_none() {
            for (expr, descending) in wish.order {
                let kind = cmp_kind(&expr, &expr, "order by", binder.ctx)?;
                order_by.push(SortKey {
                    expr,
                    kind,
                    descending,
                });
            }
        }
        let moves = target.moves(written, path.index);
        let in_place = order_by.is_empty() && plain && !filter_queries && !clauses.ignore && !moves;
        if !order_by.is_empty() || (moves && !path.point) {
            let primary = target.def.primary().into_iter().flat_map(|index| &index.parts);
            columns_read.extend(primary.map(|part| part.column));
        }
        Ok(Rows {
            path,
            reverse: direction == Some(Direction::Backwards),
            filter,
            order_by,
            limit,
            in_place,
            judges: !written.is_empty() && clauses.order_by.is_empty() && !filter_queries,
            filter_queries,
            ignore: clauses.ignore,
            columns_read,
        })
    }

    /// Every row, in storage order: what TRUNCATE-like statements see.
    pub fn is_full_scan(&self) -> bool {
        self.path.is_full()
    }

    pub fn path(&self) -> &AccessPath {
        &self.path
    }

    /// The columns that say which rows, and in which order; and the primary key of those whose places are remembered before they
    /// are changed.
    pub fn columns_read(&self) -> &[usize] {
        &self.columns_read
    }

    /// Applies a change to all rows, within the running statement.
    pub fn change(&self, target: &Target, run: Run, change: &mut dyn Change) -> Result<()> {
        if run.session.settings.sql_safe_updates && self.path.is_full() && self.limit.is_none() {
            return Err(SqlError::new(
                er::UPDATE_WITHOUT_KEY_IN_SAFE_MODE,
                "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column.",
            ));
        }
        let limit = self.limit(run)?;
        if limit == 0 {
            return Ok(());
        }
        match self.in_place {
            true => self.change_in_place(target, run, limit, change),
            false => self.change_collected(target, run, limit, change),
        }
    }

    /// The ranges of the path, one after the other.
    fn ranges(&self, target: &Target, ctx: &EvalCtx) -> Result<Vec<KeyRange>> {
        let mut ranges = self.path.ranges(&target.def, &target.table, ctx)?;
        if self.reverse {
            ranges.reverse();
        }
        Ok(ranges)
    }

    fn limit(&self, run: Run) -> Result<u64> {
        let Some(limit) = &self.limit else {
            return Ok(u64::MAX);
        };
        match limit.eval(&run.env.ctx())? {
            Val::Int(n) if n >= 0 => Ok(n as u64),
            Val::UInt(n) => Ok(n),
            _ => Err(SqlError::wrong_arguments("LIMIT")),
        }
    }

    fn matches(&self, row: &dyn Row, run: Run) -> Result<bool> {
        match &self.filter {
            Some(filter) => filter.is_true(&run.env.ctx_with(row)),
            None => Ok(true),
        }
    }

    /// Whether a row that somebody else has locked matches as it was last committed.
    fn judge(&self, target: &Target, run: Run, view: &RowView) -> tidemark_engine::Result<bool> {
        let row = Stored {
            def: &target.def,
            view,
            zone: run.env.time_zone,
        };
        Ok(self.matches(&row, run)?)
    }

    fn change_in_place(
        &self,
        target: &Target,
        run: Run,
        mut left: u64,
        change: &mut dyn Change,
    ) -> Result<()> {
        let zone = run.env.time_zone;
        let mut visit = |view: &RowView, buf: &mut RowBuf| -> tidemark_engine::Result<(Action, Flow)> {
            let row = Stored {
                def: &target.def,
                view,
                zone,
            };
            if !self.matches(&row, run)? {
                return Ok((Action::Skip, Flow::Continue));
            }
            let action = change.decide(&row)?;
            if action == Action::Update {
                change.write(buf);
            }
            change.done();
            left -= 1;
            Ok((action, if left == 0 { Flow::Stop } else { Flow::Continue }))
        };
        let result = self.visit_in_place(target, run, &mut visit);
        result.map_err(|error| change.explain(error))
    }

    fn visit_in_place(
        &self,
        target: &Target,
        run: Run,
        visit: &mut dyn FnMut(&RowView, &mut RowBuf) -> tidemark_engine::Result<(Action, Flow)>,
    ) -> tidemark_engine::Result<()> {
        let ctx = run.env.ctx();
        let txn = &mut **run.txn.borrow_mut();
        if self.path.point && self.path.index == 0 {
            let mut key = Vec::with_capacity(64);
            match self.path.point_key(&target.def, &target.table, &ctx, &mut key)? {
                None => return Ok(()),
                Some(true) => {
                    let mut one = |view: &RowView, buf: &mut RowBuf| Ok(visit(view, buf)?.0);
                    target.table.modify(txn, &key, &mut one)?;
                    return Ok(());
                }
                Some(false) => {}
            }
        }
        let mut stopped = false;
        for range in self.ranges(target, &ctx)? {
            if stopped {
                break;
            }
            let mut one = |view: &RowView, buf: &mut RowBuf| {
                let (action, flow) = visit(view, buf)?;
                stopped = flow == Flow::Stop;
                Ok((action, flow))
            };
            let (table, index) = (&target.table, self.path.index);
            match self.judges {
                true => {
                    let mut judge = |view: &RowView| self.judge(target, run, view);
                    table.update_range(txn, index, &range, &mut judge, &mut one)?;
                }
                false => table.modify_range(txn, index, &range, self.reverse, &mut one)?,
            }
        }
        Ok(())
    }

    fn change_collected(&self, target: &Target, run: Run, limit: u64, change: &mut dyn Change) -> Result<()> {
        let mut rows = self.collect(target, run, limit)?;
        self.sort(&mut rows, run)?;
        rows.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        for (key, row) in rows {
            let action = match change.decide(&Slots(&row)) {
                Ok(action) => action,
                Err(error) if self.ignore && is_ignorable(&error) => {
                    run.env.warnings.warn(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let savepoint = run.txn.borrow_mut().savepoint();
            let result = {
                let mut txn = run.txn.borrow_mut();
                target.table.modify(&mut txn, &key, &mut |_, buf| {
                    if action == Action::Update {
                        change.write(buf);
                    }
                    Ok(action)
                })
            };
            match result.map_err(|error| change.explain(error)) {
                Ok(found) if found => change.done(),
                Ok(_) => {}
                Err(error) if self.ignore && is_ignorable(&error) => {
                    run.txn.borrow_mut().rollback_to(&savepoint)?;
                    run.env.warnings.warn(error);
                    change.passed_over();
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Locks and copies the rows that match, with their primary keys.
    fn collect(&self, target: &Target, run: Run, limit: u64) -> Result<Vec<(Vec<u8>, Vec<Value>)>> {
        let zone = run.env.time_zone;
        let enough = match self.order_by.is_empty() && !self.filter_queries {
            true => limit,
            false => u64::MAX,
        };
        let mut rows: Vec<(Vec<u8>, Vec<Value>)> = Vec::new();
        for range in &self.ranges(target, &run.env.ctx())? {
            let mut take = |view: &RowView| {
                let row = Stored {
                    def: &target.def,
                    view,
                    zone,
                };
                if !self.filter_queries && !self.matches(&row, run)? {
                    return Ok((Keep::Release, Flow::Continue));
                }
                rows.push((view.primary_key().to_vec(), row.copy()));
                let flow = if rows.len() as u64 >= enough {
                    Flow::Stop
                } else {
                    Flow::Continue
                };
                Ok((Keep::Locked, flow))
            };
            let txn = &mut **run.txn.borrow_mut();
            let (table, index) = (&target.table, self.path.index);
            let mut judge = |view: &RowView| self.judge(target, run, view);
            let judge: Option<&mut dyn FnMut(&RowView) -> _> = match self.judges {
                true => Some(&mut judge),
                false => None,
            };
            let scanned = table.scan_to_change(txn, index, range, self.reverse, judge, &mut take);
            scanned.map_err(|error| SqlError::in_table(error, &target.def.name))?;
            if rows.len() as u64 >= enough {
                break;
            }
        }
        if self.filter_queries {
            let mut matching = Vec::with_capacity(rows.len());
            for (key, row) in rows {
                if self.matches(&Slots(&row), run)? {
                    matching.push((key, row));
                }
            }
            rows = matching;
        }
        Ok(rows)
    }

    fn sort(&self, rows: &mut Vec<(Vec<u8>, Vec<Value>)>, run: Run) -> Result<()> {
        if self.order_by.is_empty() {
            return Ok(());
        }
        let mut keyed = Vec::with_capacity(rows.len());
        for (key, row) in rows.drain(..) {
            let mut sort_key = Vec::with_capacity(self.order_by.len());
            for key in &self.order_by {
                sort_key.push(key.expr.eval(&run.env.ctx_with(&Slots(&row)))?.into_owned());
            }
            keyed.push((sort_key, key, row));
        }
        keyed.sort_by(|(a, ..), (b, ..)| {
            let pairs = a.iter().zip(b).zip(&self.order_by);
            let orders = pairs.map(|((a, b), key)| {
                // Values of one type always compare.
                let order = order_values(a, b, key.kind, run.env).unwrap_or(Ordering::Equal);
                if key.descending { order.reverse() } else { order }
            });
            orders.fold(Ordering::Equal, Ordering::then)
        });
        rows.extend(keyed.into_iter().map(|(_, key, row)| (key, row)));
        Ok(())
    }
}

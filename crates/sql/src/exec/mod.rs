//! Execution of planned queries: rows are pushed from their tables through the plan into a result.
//!
//! A table's rows are handed out by the engine while it holds the latch of a leaf page. What follows may run right there
//! as long as it reads no other row: filters, projection into the result's buffer, aggregates, the collection of what is
//! to be sorted. Where it may not (a join goes on to another table, an expression holds a subquery), the rows are copied
//! in batches first, and the scan goes on after each batch where it stopped.
//!
//! - [`source`]: tables and joins; [`hash_join`]: one side looked up in the other; [`json_table`]: rows of a document.
//! - [`select`]: a query block, and the set operations; [`recursion`]: WITH RECURSIVE; [`groups`]: GROUP BY, [`rollup`]: with totals; [`window`]: window functions; [`tail`]:
//!   distinctness, order, limit.
//! - [`output`]: where rows go, [`outfile`]: into a file; [`spill`]: where they wait, past what may be in memory.
//! - [`handler`]: HANDLER … READ; [`statement`]: whole statements; [`nested`]: statements inside them; [`change`]: INSERT, UPDATE and DELETE; [`past`]: AS OF.

mod change;
mod counting;
mod groups;
mod handler;
mod hash_join;
mod json_table;
pub mod nested;
mod outfile;
pub mod output;
mod past;
mod reading;
mod recursion;
mod rollup;
mod rows;
mod select;
mod source;
mod spill;
pub mod statement;
mod tail;
mod window;

pub use output::{Collect, Output, SinkOutput};
pub use statement::{Outcome, Receiver, run};

use crate::context::{Counter, SessionState};
use crate::error::{Result, SqlError};
use crate::expr::{Env, EvalCtx, Expr, Row, Subqueries};
use crate::plan::explain::measured::{Measured, Stage, meter};
use crate::plan::program::StoredFunction;
use crate::plan::trace::Tracer;
use crate::plan::trace::run::Part;
use crate::plan::{QueryPlan, TableScan};
use crate::types::sort::KeyForm;
use crate::types::{CmpKind, Val, Value};
use hash_join::key_of;
use spill::{KeptRows, KeyedRows, Room, Shares, Sorter, copied};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use tidemark_engine::{Isolation, LockWait, Read, Transaction};

/// What becomes of the scan that delivered a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanControl {
    Next,
    /// No more rows are wanted.
    Stop,
    /// Go on after [`Output::flush`], which must not be called under a latch.
    Pause,
}

/// What the rows are for that a statement reads without a locking clause. Rows that decide what is written are locked in
/// shared mode, as InnoDB does, so that the statement would do the same if it were repeated at its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// They are the result: locked in a SERIALIZABLE transaction of more than one statement.
    Result,
    /// INSERT … SELECT, REPLACE … SELECT, UPDATE: locked from REPEATABLE READ on.
    Copy,
    /// Everything else that is no SELECT: locked at every level.
    Write,
}

/// What queries see of the statement around them: the environment, and the row outside.
#[derive(Clone, Copy)]
pub struct QueryScope<'a> {
    pub env: &'a Env<'a>,
    pub outer: Option<&'a dyn Row>,
}

/// The queries of a running statement. The result of a subquery that does not depend on the outer row, nor on user variables that the
/// statement sets, is kept.
pub struct Exec<'a, 't> {
    pub session: &'a SessionState,
    pub txn: &'a RefCell<&'t mut Transaction>,
    queries: &'a [QueryPlan],
    /// The stored functions that it calls.
    routines: &'a [Arc<dyn StoredFunction>],
    /// What the rows are for that it reads without a locking clause.
    purpose: Purpose,
    results: RefCell<HashMap<usize, Rc<KeptRows<'a>>>>,
    sets: RefCell<HashMap<usize, Rc<ValueSet<'a>>>>,
    hashes: RefCell<HashMap<*const TableScan, Rc<KeyedRows<'a>>>>,
    /// Rows that hash joins have put together: few rows give many, of which none may pass.
    met: Cell<usize>,
    /// How plain reads are done.
    read: Read,
    /// EXPLAIN ANALYZE: where the operators are measured.
    measured: Option<&'a Measured>,
    /// Where it is told what is done; `None`: the statement is not traced.
    trace: Option<&'a Tracer>,
    /// The subqueries that have run, if they are told of.
    told: RefCell<HashSet<usize>>,
}

/// Where it is told what becomes of the rows of a query.
#[derive(Clone, Copy)]
struct Telling<'q, 'a> {
    trace: &'a Tracer,
    query: &'q QueryPlan,
    queries: &'a [QueryPlan],
}

impl Telling<'_, '_> {
    /// What a sorter holds is about to be sorted.
    fn sorts<'e>(&self, keys: impl Iterator<Item = (&'e Expr, bool)>, sorter: &Sorter) {
        self.trace.sorts(self.query, self.queries, keys, sorter.told());
    }
}

/// The rows of a subquery without NULLs, by the sort keys of their columns.
struct ValueSet<'a> {
    keys: KeyedRows<'a>,
    is_empty: bool,
    /// There are others.
    has_null: bool,
}

impl<'a, 't> Exec<'a, 't> {
    pub fn new(
        session: &'a SessionState,
        txn: &'a RefCell<&'t mut Transaction>,
        queries: &'a [QueryPlan],
        purpose: Purpose,
    ) -> Exec<'a, 't> {
        let isolation = txn.borrow().isolation();
        let locks = match (purpose, isolation) {
            (Purpose::Result, Isolation::Serializable) => session.in_transaction.get(),
            (Purpose::Result, _) => false,
            (Purpose::Copy, _) => isolation >= Isolation::RepeatableRead,
            (Purpose::Write, _) => true,
        };
        let read = if locks {
            Read::Locking {
                exclusive: false,
                wait: LockWait::Wait,
            }
        } else {
            Read::Consistent
        };
        Exec {
            session,
            txn,
            queries,
            routines: &[],
            purpose,
            results: RefCell::default(),
            sets: RefCell::default(),
            hashes: RefCell::default(),
            met: Cell::default(),
            read,
            measured: None,
            trace: None,
            told: RefCell::default(),
        }
    }

    fn telling<'q>(&self, query: &'q QueryPlan) -> Option<Telling<'q, 'a>> {
        Some(Telling {
            trace: self.trace?,
            query,
            queries: self.queries,
        })
    }

    /// A subquery of an expression is told of until the part is dropped.
    fn tell_subquery(&self, id: usize) -> Option<Part<'a>> {
        let trace = self.trace?;
        let is_first = self.told.borrow_mut().insert(id);
        Some(match is_first || trace.repeats_subqueries() {
            true => trace.runs_subquery(&self.queries[id]),
            false => trace.silence(),
        })
    }

    /// Whether the result of a subquery of an expression is the same for all rows, and kept.
    fn keeps(&self, id: usize) -> bool {
        let query = &self.queries[id];
        query.outer.is_empty() && !query.reads_changes
    }

    /// Runs a subquery of an expression.
    fn subquery(&self, id: usize, scope: QueryScope, out: &mut dyn Output) -> Result<u64> {
        let _part = self.tell_subquery(id);
        self.query(&self.queries[id], scope, out)
    }

    /// The rows of a subquery of an expression that does not depend on the row around it.
    fn subquery_rows(&self, id: usize, env: &Env) -> Result<Rc<KeptRows<'a>>> {
        let is_new = || !self.results.borrow().contains_key(&id);
        let _part = self
            .trace
            .filter(|_| is_new())
            .and_then(|_| self.tell_subquery(id));
        self.kept_rows(id, env, None)
    }

    /// An error if the statement was killed or has taken too much memory.
    fn check(&self) -> Result<()> {
        self.room().check()
    }

    fn room(&self) -> Room<'a> {
        Room::of(self.session)
    }

    fn shares(&self) -> Shares {
        Shares::of(self.session)
    }

    /// No rows yet, to be kept.
    fn no_rows(&self) -> KeptRows<'a> {
        KeptRows::new(self.room(), self.shares().table)
    }

    /// The rows of a query that does not depend on an outer row.
    fn kept_rows(&self, id: usize, env: &Env, name: Option<&str>) -> Result<Rc<KeptRows<'a>>> {
        if let Some(rows) = self.results.borrow().get(&id) {
            return Ok(Rc::clone(rows));
        }
        let rows = Rc::new(self.rows_of(&self.queries[id], QueryScope { env, outer: None }, name)?);
        self.results.borrow_mut().insert(id, Rc::clone(&rows));
        Ok(rows)
    }

    /// All rows of a query, which the statement may have a name for.
    pub fn rows_of(&self, query: &QueryPlan, scope: QueryScope, name: Option<&str>) -> Result<KeptRows<'a>> {
        self.session.count(Counter::CreatedTmpTables, 1);
        let _part = self.trace.map(|trace| trace.materializes(query, name));
        let kept = meter(query, Stage::Kept);
        if let Some(measured) = self.measured {
            measured.begin(kept);
            measured.enter(kept);
        }
        let mut rows = self.no_rows();
        let mut collect = Collect::new(|row: &[Value]| {
            rows.push(copied(row)?)?;
            Ok(true)
        });
        self.query(query, scope, &mut collect)?;
        if let Some(measured) = self.measured {
            measured.leave();
            measured.rows(kept, rows.len() as u64);
        }
        Ok(rows)
    }

    fn value_set(&self, id: usize, forms: &[KeyForm], env: &Env) -> Result<Rc<ValueSet<'a>>> {
        if let Some(set) = self.sets.borrow().get(&id) {
            return Ok(Rc::clone(set));
        }
        let (mut is_empty, mut has_null) = (true, false);
        let mut keys = KeyedRows::new(self.room(), self.shares(), 0);
        let mut buffer = Vec::new();
        self.subquery_rows(id, env)?.for_each(&mut |row| {
            if row.iter().any(Val::is_null) {
                has_null = true;
                return Ok(true);
            }
            is_empty = false;
            let values = row.iter().map(|value| Ok(value.borrowed()));
            if let Some(key) = key_of(forms, values, &mut buffer)? {
                keys.insert(key)?;
            }
            Ok(true)
        })?;
        let set = Rc::new(ValueSet {
            keys,
            is_empty,
            has_null,
        });
        self.sets.borrow_mut().insert(id, Rc::clone(&set));
        Ok(set)
    }

    /// The rows of a derived table for an outer row.
    fn rows_for(&self, id: usize, scope: QueryScope, name: Option<&str>) -> Result<Rc<KeptRows<'a>>> {
        let query = &self.queries[id];
        if query.outer.is_empty() {
            self.kept_rows(id, scope.env, name)
        } else {
            Ok(Rc::new(self.rows_of(query, scope, name)?))
        }
    }
}

impl Subqueries for Exec<'_, '_> {
    fn call(&self, id: usize, arguments: Vec<Value>) -> Result<Value> {
        self.call_function(id, arguments)
    }

    fn row(&self, id: usize, ctx: &EvalCtx) -> Result<Option<Vec<Value>>> {
        if self.keeps(id) {
            let rows = self.subquery_rows(id, ctx.env)?;
            return match rows.len() {
                0 => Ok(None),
                1 => Ok(rows.first().map(<[Value]>::to_vec)),
                _ => Err(SqlError::subquery_rows()),
            };
        }
        let mut found: Option<Vec<Value>> = None;
        let mut collect = Collect::new(|row: &[Value]| {
            if found.is_some() {
                return Err(SqlError::subquery_rows());
            }
            found = Some(row.to_vec());
            Ok(true)
        });
        self.subquery(
            id,
            QueryScope {
                env: ctx.env,
                outer: Some(ctx.row),
            },
            &mut collect,
        )?;
        Ok(found)
    }

    fn exists(&self, id: usize, ctx: &EvalCtx) -> Result<bool> {
        if self.keeps(id)
            && let Some(rows) = self.results.borrow().get(&id)
        {
            return Ok(!rows.is_empty());
        }
        let mut first = None;
        let mut collect = Collect::new(|row: &[Value]| {
            first = Some(row.to_vec());
            Ok(false)
        });
        self.subquery(
            id,
            QueryScope {
                env: ctx.env,
                outer: Some(ctx.row),
            },
            &mut collect,
        )?;
        let found = first.is_some();
        if self.keeps(id) {
            let mut rows = self.no_rows();
            first.into_iter().try_for_each(|row| rows.push(row))?;
            self.results.borrow_mut().insert(id, Rc::new(rows));
        }
        Ok(found)
    }

    fn contains(
        &self,
        id: usize,
        values: &[Val],
        operands: &[(CmpKind, Expr)],
        ctx: &EvalCtx,
    ) -> Result<Option<Option<bool>>> {
        if !self.keeps(id) {
            return Ok(None);
        }
        let columns = operands.iter().zip(&self.queries[id].columns);
        let forms = columns.map(|((kind, operand), column)| KeyForm::of(*kind, &operand.ty, &column.ty));
        let Some(forms) = forms.collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let set = self.value_set(id, &forms, ctx.env)?;
        if set.is_empty && !set.has_null {
            return Ok(Some(Some(false)));
        }
        // Rows of several columns may differ in one of them, whatever stands for the NULL of another.
        let is_one = forms.len() == 1;
        if values.iter().any(Val::is_null) {
            return Ok(is_one.then_some(None));
        }
        let mut buffer = Vec::new();
        let key = key_of(
            &forms,
            values.iter().map(|value| Ok(value.borrowed())),
            &mut buffer,
        )?;
        let found = key.map_or(Ok(false), |key| set.keys.contains(key))?;
        Ok(match found || !set.has_null {
            true => Some(Some(found)),
            false => is_one.then_some(None),
        })
    }

    fn for_each(&self, id: usize, ctx: &EvalCtx, f: &mut dyn FnMut(&[Value]) -> Result<bool>) -> Result<()> {
        if self.keeps(id) {
            return self.subquery_rows(id, ctx.env)?.for_each(f);
        }
        let mut collect = Collect::new(f);
        self.subquery(
            id,
            QueryScope {
                env: ctx.env,
                outer: Some(ctx.row),
            },
            &mut collect,
        )?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;

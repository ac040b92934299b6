//! `x IN (SELECT k …)` and `EXISTS (SELECT … WHERE k = x)` as a join with the different values of `k`:
//!
//! ```text
//!   SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.a AND u.x > 5)
//!   SELECT t.* FROM t JOIN (SELECT DISTINCT k FROM u WHERE x > 5) s ON s.k = t.a
//! ```
//!
//! Each row of the block finds at most one such value, so its rows stay as many as they are. Whether it is cheaper to test each row or to
//! join depends on the indexes: the block keeps both, and [`super::super::lower`] takes the one that costs less. MySQL calls this a semijoin by
//! materialization (`semijoin`).
//!
//! It is done where the condition stands alone in WHERE, where all that the subquery reads of the row around it stands in such equalities,
//! and where two values that equal the same one are equal to each other.

use super::columns::within;
use crate::expr::{CmpOp, Expr, Node, OUTER, Quantifier, SubqueryKind, Volatility, build};
use crate::plan::access::conjuncts;
use crate::plan::filter::is_steady;
use crate::plan::from::{FromInput, FromTable};
use crate::plan::logical::{Block, Query, SemiJoin};
use crate::plan::walk::has_subquery;
use crate::plan::{Origin, OutputColumn, Planner, QueryBody};
use crate::types::sort::KeyForm;
use crate::types::{CmpKind, ColumnMeta, SqlType};
use std::sync::Arc;

/// Most conditions of a block that are looked at: each has the block planned once more.
const SEMI_JOINS_MAX: usize = 4;

/// A subquery taken apart: pairs of what is compared, outside and inside, and the conditions that read nothing of the row outside.
struct Parts {
    pairs: Vec<(CmpKind, Expr, Expr)>,
    rest: Vec<Expr>,
}

impl<'a> Planner<'a> {
    pub(super) fn join_subqueries(&mut self, root: &mut Query<'a>) {
        let mut joined = false;
        for id in 0..self.queries.len() {
            joined |= self.with_query(id, |planner, query| planner.join_within(query));
        }
        joined |= self.join_within(root);
        if joined {
            self.settle_all(root);
        }
    }

    /// Returns whether some subquery may be joined.
    fn join_within(&mut self, query: &mut Query<'a>) -> bool {
        match &mut query.body {
            QueryBody::Select(block) => self.join_into(block),
            QueryBody::Set { first, rest } => {
                let mut joined = self.join_within(first);
                for branch in rest {
                    joined |= self.join_within(&mut branch.plan);
                }
                joined
            }
            // A step reads its table before all others.
            QueryBody::Recursive(recursion) => self.join_within(&mut recursion.seed),
            QueryBody::Values(_) => false,
        }
    }

    fn join_into(&mut self, block: &mut Block<'a>) -> bool {
        let may_join = block.tree.as_ref().is_some_and(|tree| !tree.is_straight())
            && block.tables.iter().all(|table| table.recursive.is_none())
            && block.filter.iter().any(has_subquery);
        let Some(filter) = block.filter.take_if(|_| may_join) else {
            return false;
        };
        let mut left = Vec::new();
        for conjunct in conjuncts(&filter) {
            let room = block.semi_joins.len() < SEMI_JOINS_MAX;
            match room.then(|| self.semi_join(conjunct, block)).flatten() {
                Some(semi_join) => block.semi_joins.push(semi_join),
                None => left.push(conjunct.clone()),
            }
        }
        block.filter = match left.len() {
            0 => None,
            1 => left.pop(),
            _ => Some(build::and(left)),
        };
        !block.semi_joins.is_empty()
    }

    fn semi_join(&mut self, test: &Expr, block: &mut Block<'a>) -> Option<SemiJoin> {
        let Node::Subquery { id, kind, operands } = &test.node else {
            return None;
        };
        let query = &self.queries[*id];
        let QueryBody::Select(inner) = &query.body else {
            return None;
        };
        let is_plain = query.limit.is_none()
            && query.offset.is_none()
            && !query.calc_found_rows
            && !inner.is_grouped()
            && !inner.has_windows()
            && inner.having.is_none()
            && inner.tree.is_some()
            && inner.semi_joins.is_empty()
            && inner.locks.iter().all(Option::is_none);
        let mut parts = Some(Parts {
            pairs: Vec::new(),
            rest: Vec::new(),
        })
        .filter(|_| is_plain)?;
        match kind {
            SubqueryKind::Exists => {}
            SubqueryKind::Quantified(CmpOp::Eq, Quantifier::Any) => {
                for ((kind, outside), column) in operands.iter().zip(&inner.output) {
                    parts.pairs.push((*kind, outside.clone(), column.clone()));
                }
            }
            _ => return None,
        }
        for conjunct in inner.filter.iter().flat_map(conjuncts) {
            match self.equality_with_outside(conjunct) {
                Some(pair) => parts.pairs.push(pair),
                None => parts.rest.push(conjunct.clone()),
            }
        }
        let may_join = !parts.pairs.is_empty()
            && parts.pairs.iter().all(is_one_to_one)
            && parts.rest.iter().all(|e| self.reads_nothing_outside(e))
            && self.reads_nothing_around(inner);
        may_join.then(|| self.joined_with(test, &parts, *id, block))
    }

    /// The two sides of an equality, if one is of the row outside and the other of the rows inside: the former as it is outside.
    fn equality_with_outside(&self, e: &Expr) -> Option<(CmpKind, Expr, Expr)> {
        let Node::Compare(CmpOp::Eq, kind, sides) = &e.node else {
            return None;
        };
        let [left, right] = &**sides;
        let is_outside = |e: &Expr| {
            let columns = e.columns();
            !columns.is_empty()
                && columns.iter().all(|slot| (OUTER..2 * OUTER).contains(slot))
                && is_steady(e)
        };
        let (outside, inside) = match (is_outside(left), is_outside(right)) {
            (true, false) => (left, right),
            (false, true) => (right, left),
            _ => return None,
        };
        Some((*kind, within(outside, OUTER)?, inside.clone()))
    }

    /// Whether an expression of a query reads no row but that of the query's tables, and gives the same each time.
    fn reads_nothing_outside(&self, e: &Expr) -> bool {
        let mut nothing = true;
        e.walk(&mut |e| {
            nothing &= match &e.node {
                Node::Column(slot) => *slot < OUTER,
                Node::Call(function, _) => function.volatility != Volatility::Volatile,
                Node::UserVar(_) | Node::AssignVar(..) => false,
                Node::Subquery { id, .. } => {
                    let query = &self.queries[*id];
                    query.repeatable && query.outer.iter().all(|slot| *slot < OUTER)
                }
                _ => true,
            }
        });
        nothing
    }

    /// The same of the tables of a block and the conditions of their joins.
    fn reads_nothing_around(&self, block: &Block) -> bool {
        let joins = block.tree.iter().flat_map(crate::plan::join::conditions);
        let mut tables = block.tables.iter().map(|table| match &table.input {
            FromInput::Stored { .. } | FromInput::Virtual(_) => true,
            FromInput::Derived { query, .. } => {
                let query = &self.queries[*query];
                table.recursive.is_none() && query.repeatable && query.outer.is_empty()
            }
            FromInput::Json(_) => false,
        });
        joins.into_iter().all(|e| self.reads_nothing_outside(e)) && tables.all(|nothing| nothing)
    }

    /// The subquery's different values as a table behind the block's own.
    fn joined_with(&mut self, test: &Expr, parts: &Parts, id: usize, block: &mut Block<'a>) -> SemiJoin {
        let results = self.state.results_collation();
        let columns = parts.pairs.iter().map(|(_, _, inside)| OutputColumn {
            name: name_of(inside),
            meta: ColumnMeta::of_expression("", &inside.ty, results),
            ty: inside.ty.clone(),
            origin: Origin::default(),
            default: Default::default(),
        });
        let columns: Vec<OutputColumn> = columns.collect();
        let values = self.with_query(id, |_, query| match &query.body {
            QueryBody::Select(inner) => Some(inner.values(parts)),
            _ => None,
        });
        let base = block.width;
        block.width += columns.len();
        let pairs = parts.pairs.iter().enumerate();
        let on = pairs.map(|(at, (kind, outside, inside))| {
            let column = build::column(base + at, inside.ty.clone().with_nullable(true));
            build::compare_as(CmpOp::Eq, *kind, outside.clone(), column)
        });
        let on = on.collect();
        let query = self.queries.len();
        if let Some(values) = values {
            let mut values = Query::of(QueryBody::Select(Box::new(values)), columns);
            self.settle_reads(&mut values);
            self.queries.push(values);
        }
        let name = format!("<subquery{}>", id + 2);
        SemiJoin {
            test: test.clone(),
            on,
            table: FromTable {
                locked_as: name.clone(),
                alias: name,
                base,
                input: FromInput::Derived {
                    query,
                    lateral: false,
                },
                within: None,
                rights: Arc::clone(&block.tables[0].rights),
                allowed: None,
                forced: false,
                apart: false,
                recursive: None,
            },
        }
    }
}

impl<'a> Block<'a> {
    /// A block that gives each combination of the values that are compared once.
    fn values(&self, parts: &Parts) -> Block<'a> {
        let rest = parts.rest.clone();
        Block {
            number: self.number,
            ctx: self.ctx,
            tables: self.tables.clone(),
            locks: self.locks.clone(),
            tree: self.tree.clone(),
            width: self.width,
            filter: (!rest.is_empty()).then(|| build::and(rest)),
            semi_joins: Vec::new(),
            keys: Vec::new(),
            aggregates: Vec::new(),
            rollup: None,
            having: None,
            windows: Vec::new(),
            output: parts.pairs.iter().map(|(_, _, inside)| inside.clone()).collect(),
            distinct: true,
            order: Vec::new(),
            limited: false,
            frees_latches: self.frees_latches,
        }
    }
}

/// What a plan calls a value: by its column, if it is one.
fn name_of(e: &Expr) -> String {
    let column = e.name.as_deref().and_then(|name| name.rsplit('`').nth(1));
    column.unwrap_or("value").to_owned()
}

/// Whether two values inside that equal the same value outside are equal to each other as values of their own type, which decides
/// what DISTINCT leaves out.
fn is_one_to_one((kind, outside, inside): &(CmpKind, Expr, Expr)) -> bool {
    let own = |ty: &SqlType| match kind {
        CmpKind::Int | CmpKind::Decimal | CmpKind::DateTime | CmpKind::Time => true,
        CmpKind::Str(collation) => ty.collation == *collation && !ty.is_member(),
        CmpKind::Double | CmpKind::Number | CmpKind::Json | CmpKind::Member => false,
    };
    let is_own = inside.columns().iter().all(|slot| *slot < OUTER);
    is_own
        && own(&inside.ty)
        && is_steady(outside)
        && is_steady(inside)
        && KeyForm::of(*kind, &outside.ty, &inside.ty).is_some()
}

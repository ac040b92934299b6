//! `x IN (SELECT k …)` and `EXISTS (SELECT … WHERE k = x)` as a join with the different values of `k`:
//!
//! ```text
//!   SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.a AND u.x > 5)
//!   SELECT t.* FROM t JOIN (SELECT DISTINCT k FROM u WHERE x > 5) s ON s.k = t.a
//! ```
//!
//! Each row of the block finds at most one such value, so its rows stay as many as they are. MySQL calls this a semijoin by materialization
//! (`semijoin`). Instead of joining, each row may be looked up among the values: this also serves NOT EXISTS, and EXISTS inside an OR.
//! Whether it is cheaper to run the subquery for each row, to look up, or to join depends on the indexes: the block keeps all forms, and
//! [`super::super::lower`] takes the one that costs less.
//!
//! It is done for conditions in WHERE, where all that the subquery reads of the row around it stands in such equalities,
//! and where two values that equal the same one are equal to each other. It is joined where it stands alone.

use super::columns::within;
use crate::expr::{CmpOp, Expr, Node, OUTER, Quantifier, SubqueryKind, Volatility, build};
use crate::parse::ast::{BlockAdvice, Denied};
use crate::plan::access::conjuncts;
use crate::plan::filter::is_steady;
use crate::plan::from::{FromInput, FromTable};
use crate::plan::logical::{Block, JoinedValues, Query, SemiJoin};
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
        self.change_each(root, |planner, query| planner.join_within(query));
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

    /// The forms of a condition; `None` if there is but one.
    fn semi_join(&mut self, test: &Expr, block: &mut Block<'a>) -> Option<SemiJoin> {
        let Node::Subquery { id, kind, operands } = &test.node else {
            let mut values = test.clone();
            return self.looks_up(&mut values).then(|| SemiJoin {
                test: test.clone(),
                values: Some(values),
                join: None,
            });
        };
        let parts = self.parts(*id, *kind, operands)?;
        let is_exists = matches!(kind, SubqueryKind::Exists | SubqueryKind::NotExists);
        let is_fixed = self.queries[*id].outer.is_empty();
        let query = self.values_of(test, &parts, *id);
        Some(SemiJoin {
            test: test.clone(),
            // An IN that reads nothing of the row is a look-up as it is.
            values: (is_exists || !is_fixed).then(|| looked_up(test, &parts, query)),
            join: (*kind != SubqueryKind::NotExists).then(|| self.joined_with(&parts, (*id, query), block)),
        })
    }

    /// `EXISTS (SELECT … WHERE k = x)` as `x IN (SELECT k …)`, where `x` is a column that an index leads to: the condition of a change, whose rows
    /// are found, and locked, by the index then. Of a condition that stands alone, NULL is as good as false.
    pub(in crate::plan) fn look_up_by_key(
        &mut self,
        test: &Expr,
        leads: impl Fn(usize) -> bool,
    ) -> Option<Expr> {
        let Node::Subquery {
            id,
            kind: SubqueryKind::Exists,
            operands,
        } = &test.node
        else {
            return None;
        };
        let parts = self.parts(*id, SubqueryKind::Exists, operands)?;
        let is_key = |e: &Expr| matches!(e.node, Node::Column(slot) if leads(slot));
        match parts.pairs.as_slice() {
            [(_, outside, _)] if is_key(outside) => {
                let query = self.values_of(test, &parts, *id);
                Some(found_in(test, &parts, query))
            }
            _ => None,
        }
    }

    /// Makes look-ups of the tests with EXISTS in a condition; returns whether there are any.
    fn looks_up(&mut self, e: &mut Expr) -> bool {
        if let Node::Subquery { id, kind, operands } = &e.node
            && matches!(kind, SubqueryKind::Exists | SubqueryKind::NotExists)
            && let Some(parts) = self.parts(*id, *kind, operands)
        {
            let query = self.values_of(e, &parts, *id);
            *e = looked_up(e, &parts, query);
            return true;
        }
        let mut any = false;
        for child in e.children_mut() {
            any |= self.looks_up(child);
        }
        any
    }

    /// A subquery taken apart, if what it reads of the row outside can be compared with its values.
    fn parts(&self, id: usize, kind: SubqueryKind, operands: &[(CmpKind, Expr)]) -> Option<Parts> {
        let query = &self.queries[id];
        let QueryBody::Select(inner) = &query.body else {
            return None;
        };
        let mut within = inner.semi_joins.iter().flat_map(SemiJoin::exprs);
        let is_denied = |advice: &Arc<BlockAdvice>| advice.denies(Denied::Semijoin, "");
        let is_plain = query.limit.is_none()
            && !inner.advice.as_ref().is_some_and(is_denied)
            && query.offset.is_none()
            && !query.calc_found_rows
            && !inner.is_grouped()
            && !inner.has_windows()
            && inner.having.is_none()
            && inner.tree.is_some()
            && within.all(|e| self.reads_nothing_outside(e))
            && inner.locks.iter().all(Option::is_none);
        let mut parts = Some(Parts {
            pairs: Vec::new(),
            rest: Vec::new(),
        })
        .filter(|_| is_plain)?;
        match kind {
            SubqueryKind::Exists | SubqueryKind::NotExists => {}
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
        may_join.then_some(parts)
    }

    /// The two sides of an equality, if one is of the row outside and the other of the rows inside: the former as it is outside.
    fn equality_with_outside(&self, e: &Expr) -> Option<(CmpKind, Expr, Expr)> {
        match self.comparison_with_outside(e)? {
            (CmpOp::Eq, kind, outside, inside) => Some((kind, outside, inside)),
            _ => None,
        }
    }

    /// The parts of a comparison `inside op outside`, however it is written, as [`Planner::equality_with_outside`] has those of an equality.
    pub(super) fn comparison_with_outside(&self, e: &Expr) -> Option<(CmpOp, CmpKind, Expr, Expr)> {
        let Node::Compare(op, kind, sides) = &e.node else {
            return None;
        };
        let [left, right] = &**sides;
        let is_outside = |e: &Expr| {
            let columns = e.columns();
            !columns.is_empty()
                && columns.iter().all(|slot| (OUTER..2 * OUTER).contains(slot))
                && is_steady(e)
        };
        let (op, outside, inside) = match (is_outside(left), is_outside(right)) {
            (true, false) => (op.flipped(), left, right),
            (false, true) => (*op, right, left),
            _ => return None,
        };
        Some((op, *kind, within(outside, OUTER)?, inside.clone()))
    }

    /// Whether an expression of a query reads no row but that of the query's tables, and gives the same each time.
    pub(super) fn reads_nothing_outside(&self, e: &Expr) -> bool {
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
    pub(super) fn reads_nothing_around(&self, block: &Block) -> bool {
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

    /// The query of the different values of a subquery.
    fn values_of(&mut self, test: &Expr, parts: &Parts, id: usize) -> usize {
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
            QueryBody::Select(inner) => Some(inner.values(test, parts)),
            _ => None,
        });
        if let Some(values) = values {
            let mut values = Query::of(QueryBody::Select(Box::new(values)), columns);
            self.settle_reads(&mut values);
            return self.add_form(values);
        }
        self.queries.len() - 1
    }

    /// The query of its values as a table behind the block's own.
    fn joined_with(&self, parts: &Parts, (id, query): (usize, usize), block: &mut Block<'a>) -> JoinedValues {
        let base = block.width;
        block.width += parts.pairs.len();
        let pairs = parts.pairs.iter().enumerate();
        let on = pairs.map(|(at, (kind, outside, inside))| {
            let column = build::column(base + at, inside.ty.clone().with_nullable(true));
            build::compare_as(CmpOp::Eq, *kind, outside.clone(), column)
        });
        let on = on.collect();
        JoinedValues {
            on,
            table: subquery_table(id, query, base, block),
        }
    }
}

/// The query of what a subquery gives, by the numbers of both, as a table behind a block's own.
pub(super) fn subquery_table(id: usize, query: usize, base: usize, block: &Block) -> FromTable {
    let name = format!("<subquery{}>", id + 2);
    FromTable {
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
    }
}

/// What is compared outside in the values of a query: `(x, y) IN (…)`.
fn found_in(test: &Expr, parts: &Parts, query: usize) -> Expr {
    let operands = parts
        .pairs
        .iter()
        .map(|(kind, outside, _)| (*kind, outside.clone()));
    Expr {
        node: Node::Subquery {
            id: query,
            kind: SubqueryKind::Quantified(CmpOp::Eq, Quantifier::Any),
            operands: operands.collect(),
        },
        ..test.clone()
    }
}

/// The test as a look-up among the values of a query: `(x, y) IN (…) IS TRUE`, since a test with EXISTS is never NULL. Rows with NULLs, which
/// equal none, are not looked up: they would have to be compared one by one.
fn looked_up(test: &Expr, parts: &Parts, query: usize) -> Expr {
    let with = |node| Expr { node, ..test.clone() };
    let found = found_in(test, parts, query);
    let mut conditions: Vec<Expr> = match parts.pairs.len() {
        1 => Vec::new(),
        _ => parts
            .pairs
            .iter()
            .filter_map(|(_, outside, _)| not_null(outside, test))
            .collect(),
    };
    conditions.push(found);
    let found = match conditions.len() {
        1 => conditions.remove(0),
        _ => with(Node::And(conditions)),
    };
    let is_found = with(Node::IsTruth(Box::new(found), true));
    match &test.node {
        Node::Subquery {
            kind: SubqueryKind::NotExists,
            ..
        } => with(Node::Not(Box::new(is_found))),
        _ => is_found,
    }
}

impl<'a> Block<'a> {
    /// A block that gives each combination of the values that are compared in a test once; of several, those without NULLs.
    fn values(&self, test: &Expr, parts: &Parts) -> Block<'a> {
        let mut rest = parts.rest.clone();
        if parts.pairs.len() > 1 {
            rest.extend(
                parts
                    .pairs
                    .iter()
                    .filter_map(|(_, _, inside)| not_null(inside, test)),
            );
        }
        Block {
            number: self.number,
            ctx: self.ctx,
            tables: self.tables.clone(),
            locks: self.locks.clone(),
            tree: self.tree.clone(),
            width: self.width,
            filter: (!rest.is_empty()).then(|| build::and(rest)),
            semi_joins: self.semi_joins.clone(),
            scalar_joins: self.scalar_joins.clone(),
            keys: Vec::new(),
            aggregates: Vec::new(),
            keeps_digits: false,
            rollup: None,
            having: None,
            windows: Vec::new(),
            output: parts.pairs.iter().map(|(_, _, inside)| inside.clone()).collect(),
            distinct: true,
            order: Vec::new(),
            advice: self.advice.clone(),
            limited: false,
            frees_latches: self.frees_latches,
        }
    }
}

/// `e IS NOT NULL`, if it may be NULL; a condition like another.
pub(super) fn not_null(e: &Expr, like: &Expr) -> Option<Expr> {
    let with = |node| Expr { node, ..like.clone() };
    let is_null = with(Node::IsNull(Box::new(e.clone())));
    e.ty.nullable.then(|| with(Node::Not(Box::new(is_null))))
}

/// What a plan calls a value: by its column, if it is one.
pub(super) fn name_of(e: &Expr) -> String {
    let column = e.name.as_deref().and_then(|name| name.rsplit('`').nth(1));
    column.unwrap_or("value").to_owned()
}

/// Whether two values inside that equal the same value outside are equal to each other as values of their own type, which decides
/// what DISTINCT leaves out.
pub(super) fn is_one_to_one((kind, outside, inside): &(CmpKind, Expr, Expr)) -> bool {
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

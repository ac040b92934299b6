//! A subquery that gives one value for each row, an aggregate of the rows that have something in common with it, as a join with the query of
//! all such values, which groups once:
//!
//! ```text
//!   SELECT * FROM t WHERE t.v < (SELECT AVG(u.v) FROM u WHERE u.k = t.k)
//!   SELECT t.* FROM t LEFT JOIN (SELECT u.k, AVG(u.v) AS value FROM u WHERE u.k IS NOT NULL GROUP BY u.k) s ON s.k = t.k WHERE t.v < s.value
//!
//!   SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.v <> t.v)
//!   SELECT t.* FROM t LEFT JOIN (SELECT u.k, MIN(u.v) AS a, MAX(u.v) AS b FROM u GROUP BY u.k) s ON s.k = t.k WHERE s.a <> t.v OR s.b <> t.v
//! ```
//!
//! Each row finds one group at most, so error 1242 cannot arise and the rows stay as many as they are. Where there is none, the value is that of
//! no rows: NULL, but 0 of COUNT. MySQL does the same (`subquery_to_derived`, off by default there), whatever it costs. Here the block keeps both forms, and
//! [`super::super::lower`] takes the one that costs less: few rows, or an index on `u.k`, make the subquery cheaper that runs for each row. A
//! condition that refuses NULL makes the outer join an inner one, as it does of any.
//!
//! All groups are made, also those that no row asks for, so it is done only where none of that can warn or fail. All that the subquery reads of the
//! row around it stands in equalities, of values that are grouped as they are compared.

use super::all_of;
use super::semijoin::{is_one_to_one, name_of, not_null, subquery_table};
use crate::expr::{
    AggFunc, Aggregate, ArithOp, CmpOp, Expr, Node, NullWhen, NumKind, OUTER, SubqueryKind, build,
};
use crate::parse::ast::Denied;
use crate::plan::access::conjuncts;
use crate::plan::join::conditions;
use crate::plan::logical::{Block, JoinedValues, Query, ScalarJoin};
use crate::plan::strict::is_null;
use crate::plan::{AGGREGATE, Origin, OutputColumn, Planner, QueryBody};
use crate::types::{CmpKind, ColumnMeta, SqlType, TypeKind, Value};

/// Most subqueries of a block that are looked at: each has the block planned once more.
const SCALAR_JOINS_MAX: usize = 4;

/// A subquery in an expression of a block.
#[derive(Clone)]
struct Found {
    id: usize,
    kind: SubqueryKind,
    ty: SqlType,
    /// It stands in WHERE.
    is_condition: bool,
}

/// A subquery taken apart.
struct Parts {
    /// What is compared, outside and inside.
    pairs: Vec<(CmpKind, Expr, Expr)>,
    /// `inside op outside` of other comparisons with the row outside.
    others: Vec<(CmpOp, CmpKind, Expr, Expr)>,
    rest: Vec<Expr>,
}

/// What the groups of a subquery have, and what is made of it outside.
struct Values {
    aggregates: Vec<Aggregate>,
    /// Over the groups.
    output: Vec<Expr>,
    /// Of the columns that these become, which begin at a slot.
    value: Box<dyn Fn(usize) -> Expr>,
}

impl<'a> Planner<'a> {
    pub(super) fn join_scalar_subqueries(&mut self, root: &mut Query<'a>) {
        self.change_each(root, |planner, query| planner.join_scalars_within(query));
    }

    /// Returns whether some subquery has another form.
    fn join_scalars_within(&mut self, query: &mut Query<'a>) -> bool {
        let mut joined = false;
        query.blocks_mut(&mut |block| joined |= self.join_scalars_into(block));
        joined
    }

    fn join_scalars_into(&mut self, block: &mut Block<'a>) -> bool {
        let may_join = block.tree.as_ref().is_some_and(|tree| !tree.is_straight())
            && block.tables.iter().all(|table| table.recursive.is_none())
            && block.locks.iter().all(Option::is_none);
        if !may_join {
            return false;
        }
        for found in block.replaceable() {
            if block.scalar_joins.len() < SCALAR_JOINS_MAX
                && let Some(scalar_join) = self.scalar_join(&found, block)
            {
                block.scalar_joins.push(scalar_join);
            }
        }
        !block.scalar_joins.is_empty()
    }

    /// The other form of a subquery; `None` if there is none.
    fn scalar_join(&mut self, found: &Found, block: &mut Block<'a>) -> Option<ScalarJoin> {
        let id = found.id;
        let query = &self.queries[id];
        let QueryBody::Select(inner) = &query.body else {
            return None;
        };
        let is_plain = query.limit.is_none()
            && query.offset.is_none()
            && !query.calc_found_rows
            && query.repeatable
            && !(inner.advice.iter()).any(|advice| advice.denies(Denied::Semijoin, ""))
            && inner.keys.is_empty()
            && inner.rollup.is_none()
            && !inner.has_windows()
            && inner.having.is_none()
            && inner.tree.is_some()
            && inner.semi_joins.is_empty()
            && inner.locks.iter().all(Option::is_none);
        let parts = is_plain.then(|| self.parts_of_groups(inner)).flatten()?;
        let values = match found.kind {
            SubqueryKind::Scalar => self.aggregated(inner, &parts, &found.ty)?,
            // As a condition by itself it has other forms (see `semijoin`).
            _ if found.is_condition && parts.others.is_empty() => return None,
            _ => self.compared(inner, &parts, &found.ty)?,
        };
        let base = block.width;
        block.width += parts.pairs.len() + values.output.len();
        let first = base + parts.pairs.len();
        let on = parts
            .pairs
            .iter()
            .enumerate()
            .map(|(at, (kind, outside, inside))| {
                let column = build::column(base + at, inside.ty.clone().with_nullable(true));
                build::compare_as(CmpOp::Eq, *kind, outside.clone(), column)
            });
        let on = on.collect();
        let value = (values.value)(first);
        let groups = inner.groups(&parts, values);
        let query = self.add_query(groups);
        Some(ScalarJoin {
            query: id,
            joined: JoinedValues {
                on,
                table: subquery_table(id, query, base, block),
            },
            value,
        })
    }

    /// A subquery taken apart, if it can be grouped by what it compares with the row outside, and no group warns or fails.
    fn parts_of_groups(&self, inner: &Block) -> Option<Parts> {
        let mut parts = Parts {
            pairs: Vec::new(),
            others: Vec::new(),
            rest: Vec::new(),
        };
        for conjunct in inner.filter.iter().flat_map(conjuncts) {
            match self.comparison_with_outside(conjunct) {
                Some((CmpOp::Eq, kind, outside, inside)) => parts.pairs.push((kind, outside, inside)),
                Some(other) => parts.others.push(other),
                None => parts.rest.push(conjunct.clone()),
            }
        }
        let others = parts.others.iter();
        let others: Vec<_> = others
            .map(|(_, kind, a, b)| (*kind, a.clone(), b.clone()))
            .collect();
        let mut pairs = parts.pairs.iter().chain(&others);
        let mut joins = inner.tree.iter().flat_map(conditions);
        let may_group = !parts.pairs.is_empty()
            && pairs.all(|pair| self.is_grouped_as_compared(pair))
            && parts
                .rest
                .iter()
                .all(|e| self.reads_nothing_outside(e) && self.is_silent(e))
            && joins.all(|e| self.is_silent(e))
            && inner.scalar_joins.is_empty()
            && self.reads_nothing_around(inner);
        may_group.then_some(parts)
    }

    /// Returns true if two values inside are of one group just if they equal the same values outside. Of TIMESTAMP they may be two hours that have
    /// one name.
    fn is_grouped_as_compared(&self, pair: &(CmpKind, Expr, Expr)) -> bool {
        let (_, outside, inside) = pair;
        is_one_to_one(pair)
            && inside.ty.kind != TypeKind::Timestamp
            && self.gives_silently(outside)
            && self.gives_silently(inside)
    }

    /// The values of a subquery that selects an aggregate.
    fn aggregated(&self, inner: &Block, parts: &Parts, ty: &SqlType) -> Option<Values> {
        let [output] = inner.output.as_slice() else {
            return None;
        };
        let is_own = |slot: &usize| (AGGREGATE..OUTER).contains(slot);
        let may_group = inner.is_grouped()
            && parts.others.is_empty()
            && !output.columns().is_empty()
            && output.columns().iter().all(is_own)
            && self.gives_silently(output)
            && output.ty.kind == ty.kind
            && !matches!(ty.kind, TypeKind::Year | TypeKind::Bit)
            && inner
                .aggregates
                .iter()
                .all(|aggregate| self.is_grouped_silently(aggregate));
        if !may_group {
            return None;
        }
        let of_none = |slot: usize| of_no_rows(&inner.aggregates[slot - AGGREGATE]);
        let ty = ty.clone().with_nullable(true);
        let empty = (!is_null(output, &|slot| of_none(slot) == Value::Null)).then(|| {
            let mut empty = output.clone();
            put_constants(&mut empty, &of_none);
            empty
        });
        let of_group = build::column(0, ty.clone());
        let key = parts.pairs.last()?.2.clone();
        Some(Values {
            aggregates: inner.aggregates.clone(),
            output: vec![output.clone()],
            value: Box::new(move |slot| {
                let found = column_at(&of_group, slot);
                match &empty {
                    None => found,
                    Some(empty) => Expr {
                        node: Node::Case {
                            operand: None,
                            // What is compared with the row outside is NULL in no group.
                            whens: vec![(CmpKind::Int, is_missing(&key, slot), empty.clone())],
                            otherwise: Some(Box::new(found)),
                        },
                        ty: ty.clone(),
                        name: None,
                    },
                }
            }),
        })
    }

    /// The values that say whether a group has a row that compares so with the row outside.
    fn compared(&self, inner: &Block, parts: &Parts, ty: &SqlType) -> Option<Values> {
        if inner.is_grouped() {
            return None;
        }
        let ty = ty.clone();
        let key = parts.pairs.last()?.2.clone();
        let Some((op, kind, outside, inside)) = parts.others.first().cloned() else {
            return Some(Values {
                aggregates: Vec::new(),
                output: Vec::new(),
                value: Box::new(move |slot| Expr {
                    node: Node::Not(Box::new(is_missing(&key, slot))),
                    ty: ty.clone(),
                    name: None,
                }),
            });
        };
        let ends: &[&str] = match op {
            CmpOp::Lt | CmpOp::Le => &["min"],
            CmpOp::Gt | CmpOp::Ge => &["max"],
            CmpOp::Ne => &["min", "max"],
            CmpOp::Eq | CmpOp::NullSafeEq => return None,
        };
        let ends = ends.iter().map(|name| {
            let found = Aggregate::resolve(name, vec![inside.clone()], false, inner.ctx);
            found.and_then(|found| found.ok())
        });
        let aggregates: Vec<Aggregate> = ends.collect::<Option<_>>().filter(|_| parts.others.len() == 1)?;
        let columns = aggregates.iter().enumerate();
        let output: Vec<Expr> = columns
            .map(|(at, aggregate)| build::column(AGGREGATE + at, aggregate.ty.clone()))
            .collect();
        let of_group = output.clone();
        Some(Values {
            aggregates,
            output,
            value: Box::new(move |slot| {
                let ends = of_group.iter().enumerate();
                let tests = ends
                    .map(|(at, end)| build::compare_as(op, kind, column_at(end, slot + at), outside.clone()));
                let found = either(tests.collect());
                Expr {
                    node: Node::IsTruth(Box::new(found), true),
                    ty: ty.clone(),
                    name: None,
                }
            }),
        })
    }

    /// Adds a query that stands in no other so far.
    fn add_query(&mut self, block: Block<'a>) -> usize {
        let results = self.state.results_collation();
        let columns = block.output.iter().map(|e| OutputColumn {
            name: name_of(e),
            meta: ColumnMeta::of_expression("", &e.ty, results),
            ty: e.ty.clone(),
            origin: Origin::default(),
            default: Default::default(),
        });
        let columns = columns.collect();
        let mut query = Query::of(QueryBody::Select(Box::new(block)), columns);
        self.settle_reads(&mut query);
        self.add_form(query)
    }

    /// Returns true if an aggregate of more rows than are asked for neither warns nor fails, and is the same in whatever order they come.
    fn is_grouped_silently(&self, aggregate: &Aggregate) -> bool {
        let takes = |ty: &SqlType| match aggregate.func {
            AggFunc::CountRows | AggFunc::Count => true,
            AggFunc::Min | AggFunc::Max => ty.kind != TypeKind::Json && !ty.is_member(),
            AggFunc::Sum | AggFunc::Avg => ty.is_numeric(),
            AggFunc::StdPop | AggFunc::StdSamp | AggFunc::VarPop | AggFunc::VarSamp => ty.is_numeric(),
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => ty.is_integer(),
            AggFunc::GroupConcat | AggFunc::JsonArray | AggFunc::JsonObject => false,
        };
        aggregate.order_by.is_empty()
            && aggregate
                .args
                .iter()
                .all(|e| takes(&e.ty) && self.reads_nothing_outside(e) && self.gives_silently(e))
    }

    /// Returns true if a value of any row is computed without a warning and without an error.
    fn gives_silently(&self, e: &Expr) -> bool {
        match &e.node {
            Node::Column(_) | Node::Literal(_) | Node::Param(_) => true,
            Node::Retype(inner) | Node::Digits { value: inner, .. } => self.gives_silently(inner),
            Node::Arith(op @ (ArithOp::Add | ArithOp::Sub | ArithOp::Mul), kind, sides) => {
                let is_exact = |e: &Expr| e.ty.is_integer() || e.ty.kind == TypeKind::Decimal;
                let fits = match kind {
                    NumKind::Decimal => sides.iter().all(is_exact),
                    NumKind::Int => {
                        let is_signed = sides.iter().all(|e| !e.ty.unsigned);
                        sides.iter().all(is_short) && (is_signed || *op != ArithOp::Sub)
                    }
                    NumKind::Double => false,
                };
                fits && sides.iter().all(|e| self.gives_silently(e))
            }
            Node::Call(function, args) if function.null_when == NullWhen::AllArguments => {
                args.iter().all(|e| self.gives_silently(e))
            }
            Node::Case {
                operand: None,
                whens,
                otherwise,
            } => {
                let mut whens = whens.iter();
                whens.all(|(_, when, then)| self.is_silent(when) && self.gives_silently(then))
                    && otherwise.as_deref().is_none_or(|e| self.gives_silently(e))
            }
            _ => self.is_silent(e),
        }
    }
}

impl<'a> Block<'a> {
    /// The subqueries whose places are all where the row of all tables is at hand.
    fn replaceable(&self) -> Vec<Found> {
        let is_each_row = !self.is_grouped() && !self.has_windows();
        let results = self.output.iter().chain(self.order.iter().map(|(e, _)| e));
        let results = results.filter(|_| is_each_row);
        let inputs = self.aggregates.iter().flat_map(Aggregate::inputs);
        let mut places = subqueries_of(self.filter.iter(), true);
        places.extend(subqueries_of(results.chain(inputs), false));
        let all = subqueries_of(self.exprs(), false);
        let times = |list: &[Found], id: usize| list.iter().filter(|other| other.id == id).count();
        let mut found: Vec<Found> = places.clone();
        found.retain(|one| times(&places, one.id) == times(&all, one.id));
        found.sort_by_key(|one| one.id);
        found.dedup_by_key(|one| one.id);
        found
    }

    /// The block of all groups of a subquery's rows.
    fn groups(&self, parts: &Parts, values: Values) -> Block<'a> {
        let insides = || parts.pairs.iter().map(|(_, _, inside)| inside.clone());
        let like = build::and(Vec::new());
        let others = parts.others.iter().map(|(_, _, _, inside)| inside.clone());
        let mut rest = parts.rest.clone();
        rest.extend(
            insides()
                .chain(others)
                .filter_map(|inside| not_null(&inside, &like)),
        );
        Block {
            number: self.number,
            ctx: self.ctx,
            tables: self.tables.clone(),
            locks: self.locks.clone(),
            tree: self.tree.clone(),
            width: self.width,
            filter: all_of(rest),
            semi_joins: Vec::new(),
            scalar_joins: Vec::new(),
            keys: insides().collect(),
            aggregates: values.aggregates,
            keeps_digits: true,
            rollup: None,
            having: None,
            windows: Vec::new(),
            output: insides().chain(values.output).collect(),
            distinct: false,
            order: Vec::new(),
            advice: self.advice.clone(),
            limited: false,
            frees_latches: self.frees_latches,
        }
    }
}

fn subqueries_of<'e>(exprs: impl Iterator<Item = &'e Expr>, is_condition: bool) -> Vec<Found> {
    let mut found = Vec::new();
    exprs.for_each(|e| {
        e.walk(&mut |e| {
            if let Node::Subquery {
                id,
                kind: kind @ (SubqueryKind::Scalar | SubqueryKind::Exists | SubqueryKind::NotExists),
                ..
            } = &e.node
            {
                found.push(Found {
                    id: *id,
                    kind: *kind,
                    ty: e.ty.clone(),
                    is_condition,
                });
            }
        });
    });
    found
}

/// One of the conditions holds; there are one or two.
fn either(mut tests: Vec<Expr>) -> Expr {
    match tests.len() {
        1 => tests.remove(0),
        _ => build::or(tests),
    }
}

/// The value of an aggregate of no rows.
fn of_no_rows(aggregate: &Aggregate) -> Value {
    match aggregate.func {
        AggFunc::CountRows | AggFunc::Count => Value::Int(0),
        AggFunc::BitOr | AggFunc::BitXor => Value::UInt(0),
        AggFunc::BitAnd => Value::UInt(u64::MAX),
        _ => Value::Null,
    }
}

/// Puts constants in the place of aggregates.
fn put_constants(e: &mut Expr, value: &dyn Fn(usize) -> Value) {
    if let Node::Column(slot) = e.node {
        *e = build::typed_literal(e.ty.clone(), value(slot));
        return;
    }
    e.children_mut().into_iter().for_each(|e| put_constants(e, value));
}

/// A column like another, at a slot.
fn column_at(like: &Expr, slot: usize) -> Expr {
    build::column(slot, like.ty.clone().with_nullable(true))
}

/// Whether there is no group, by the last of its keys, which stand before its values and are NULL in no group.
fn is_missing(key: &Expr, values: usize) -> Expr {
    Expr {
        node: Node::IsNull(Box::new(column_at(key, values - 1))),
        ty: SqlType::boolean(),
        name: None,
    }
}

/// Whether a product of two such numbers is one of 64 bits.
fn is_short(e: &Expr) -> bool {
    let is_short = matches!(
        e.ty.kind,
        TypeKind::TinyInt | TypeKind::SmallInt | TypeKind::MediumInt | TypeKind::Int
    );
    is_short || matches!(e.node, Node::Literal(Value::Int(n)) if i32::try_from(n).is_ok())
}

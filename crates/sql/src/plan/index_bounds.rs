//! Bounds of an index: what sargable predicates allow of its keys, and the key ranges that come of it.
//!
//! A comparison of a column with something that is known before the table is read is *sargable* (usable as a search argument)
//! on an index that begins with the column: equalities on the first parts, then one range on the next. The bounds are kept as
//! expressions; the key ranges are made from their values when the statement runs. A condition `a OR b` gives several bounds
//! of one index, whose ranges are united. After Selinger et al., *Access Path Selection in a Relational Database Management
//! System*, SIGMOD 1979.

use super::access::Request;
use crate::dictionary::{IndexDef, IndexPart, TableDef};
use crate::error::Result;
use crate::expr::{ArrayTest, CmpOp, EvalCtx, Expr, LikePattern, Node, Quantifier, SubqueryKind};
use crate::types::key_bound::{KeyBound, key_bound};
use crate::types::storage::Scratch;
use crate::types::{CmpKind, Collation, Conversion, SqlType, TypeKind, Val, Value, Warnings};
use std::ops::Bound;
use tidemark_engine::{Datum, KeyRange, Table};

/// Most key ranges that IN lists multiply to; beyond that the later ones only filter.
const RANGES_MAX: usize = 10_000;

/// A value that bounds an index part, and how the column is compared with it.
#[derive(Clone, Debug)]
pub struct KeyValue {
    pub kind: CmpKind,
    pub expr: Expr,
}

/// `column = v`, `column IN (…)`, `column IS NULL`.
#[derive(Clone, Debug)]
pub struct EqualPart {
    pub values: Vec<KeyValue>,
    pub null: bool,
    /// The values are those of a subquery; then there are no others.
    pub query: Option<Box<KeyQuery>>,
}

/// `column IN (SELECT …)`, where the subquery reads nothing of the table.
#[derive(Clone, Debug)]
pub struct KeyQuery {
    pub id: usize,
    /// How the column is compared with its values.
    pub kind: CmpKind,
    /// The condition.
    pub test: Expr,
    /// How many values are expected.
    pub rows: f64,
}

/// Most values of a subquery that are looked for one by one; beyond that they only filter.
const QUERY_VALUES_MAX: usize = 100_000;

/// `low < column < high`, true: the bound itself is in; and `column LIKE pattern`.
#[derive(Clone, Debug, Default)]
pub struct RangePart {
    pub lower: Option<(KeyValue, bool)>,
    pub upper: Option<(KeyValue, bool)>,
    pub like: Option<LikePart>,
}

/// A pattern, of which what stands before its first wildcard bounds the texts that match.
#[derive(Clone, Debug)]
pub struct LikePart {
    pub pattern: KeyValue,
    pub escape: Option<char>,
    pub collation: Collation,
}

/// Longer heads of patterns bound no better, and keys are only so long.
const HEAD_BYTES_MAX: usize = 512;

/// Equalities on the first parts of an index, and maybe a range on the next.
#[derive(Clone, Debug, Default)]
pub struct IndexBounds {
    pub equal: Vec<EqualPart>,
    pub range: Option<RangePart>,
}

impl IndexBounds {
    /// No bounds: the index is read from end to end.
    pub const NONE: &IndexBounds = &IndexBounds {
        equal: Vec::new(),
        range: None,
    };

    pub fn is_none(&self) -> bool {
        self.equal.is_empty() && self.range.is_none()
    }

    /// How many parts of the index are bounded.
    pub fn parts(&self) -> usize {
        self.equal.len() + self.range.is_some() as usize
    }

    /// The expressions it compares with.
    pub fn values(&self) -> impl Iterator<Item = &KeyValue> {
        let equal = self.equal.iter().flat_map(|part| &part.values);
        let ends = self
            .range
            .iter()
            .flat_map(|range| range.lower.iter().chain(&range.upper));
        let patterns = self.range.iter().flat_map(|range| &range.like);
        let values = equal.chain(ends.map(|(value, _)| value));
        values.chain(patterns.map(|like| &like.pattern))
    }

    /// How many values its equalities multiply to.
    pub fn combinations(&self) -> f64 {
        let of = |part: &EqualPart| match &part.query {
            Some(query) => query.rows.max(1.0),
            None => part.values.len().max(1) as f64,
        };
        self.equal.iter().map(of).product()
    }

    /// The subqueries whose values it compares with.
    pub fn queries(&self) -> impl Iterator<Item = &KeyQuery> {
        self.equal.iter().filter_map(|part| part.query.as_deref())
    }

    /// How many of the equalities bound the key ranges whatever their values are: each has an exact place in the index, and
    /// together they multiply to few enough. Behind another one, [`ranges`](Self::ranges) may have to leave off.
    pub fn certain_parts(&self, def: &TableDef, index: &IndexDef) -> usize {
        let mut combinations = 1;
        let parts = index.parts.iter().zip(&self.equal);
        let certain = parts.take_while(|(part, equal)| {
            let column = &def.columns[part.column].ty;
            combinations *= equal.values.len() + equal.null as usize;
            let mut values = equal.values.iter();
            combinations <= RANGES_MAX
                && equal.query.is_none()
                && values.all(|v| has_exact_place(v.kind, column, &v.expr.ty))
        });
        certain.count()
    }

    /// Adds the key ranges for the values of this execution.
    pub fn ranges(
        &self,
        def: &TableDef,
        table: &Table,
        index: &IndexDef,
        ctx: &EvalCtx,
        ranges: &mut Vec<KeyRange>,
    ) -> Result<()> {
        let mut prefixes: Vec<Vec<Value>> = vec![Vec::new()];
        let mut all_bound = true;
        for (part, equal) in index.parts.iter().zip(&self.equal) {
            let column = &def.columns[part.column].ty;
            let Some(values) = equal.stored(column, ctx)? else {
                all_bound = false;
                break;
            };
            let most = match equal.query {
                Some(_) => QUERY_VALUES_MAX,
                None => RANGES_MAX,
            };
            if prefixes.len() * values.len() > most {
                all_bound = false;
                break;
            }
            let extended = prefixes.iter().flat_map(|prefix| {
                values.iter().map(|value| {
                    let mut longer = prefix.clone();
                    longer.push(value.clone());
                    longer
                })
            });
            prefixes = extended.collect();
        }
        ranges.reserve(prefixes.len());
        for mut prefix in prefixes {
            let range = match &self.range {
                Some(range) if all_bound => range.key_range(&mut prefix, def, table, index, ctx)?,
                _ => {
                    let mut key = Vec::with_capacity(32);
                    encode(def, table, index, &prefix, ctx, &mut key)?;
                    Some(if key.is_empty() {
                        KeyRange::all()
                    } else {
                        KeyRange::prefix(key)
                    })
                }
            };
            ranges.extend(range);
        }
        Ok(())
    }
}

impl Request<'_> {
    /// The bounds that the conjuncts put on an index.
    pub fn index_bounds(&self, index: &IndexDef) -> IndexBounds {
        let mut bounds = IndexBounds::default();
        for part in &index.parts {
            if let Some(values) = self.equal_part(part.column) {
                bounds.equal.push(values);
                if part.prefix.is_some() {
                    break;
                }
            } else {
                bounds.range = self.range_part(part);
                break;
            }
        }
        // The rows whose arrays are empty have no entry in a multi-valued index.
        match self.def.array_part(index) {
            Some(array) if bounds.equal.len() <= array => IndexBounds::default(),
            _ => bounds,
        }
    }

    /// Whether it is the column, or the expression that the column is generated by.
    pub fn is_column(&self, e: &Expr, column: usize) -> bool {
        match e.node {
            Node::Column(slot) => {
                slot == self.base + column || self.generated.is(column, e, self.base, self.on_literals)
            }
            _ => self.generated.is(column, e, self.base, self.on_literals),
        }
    }

    /// Whether the value is there before the table is read.
    fn is_known(&self, e: &Expr) -> bool {
        let mut known = true;
        e.walk(&mut |e| {
            known &= match &e.node {
                Node::Column(slot) => (self.known)(*slot),
                Node::Subquery { id, .. } => (self.fixed_query)(*id),
                // It may run statements, and bounds are worked out while the table is being read.
                Node::AssignVar(..) | Node::Routine(_) => false,
                Node::Call(f, _) => f.volatility != crate::expr::Volatility::Volatile,
                _ => true,
            }
        });
        known
    }

    fn equal_part(&self, column: usize) -> Option<EqualPart> {
        let one = |kind: CmpKind, expr: &Expr, null| EqualPart {
            values: vec![KeyValue {
                kind,
                expr: expr.clone(),
            }],
            null,
            query: None,
        };
        let mut best: Option<EqualPart> = None;
        for conjunct in self.conjuncts {
            let found = match &conjunct.node {
                Node::Compare(CmpOp::Eq, kind, sides) => self
                    .other_side(sides, column)
                    .map(|(value, _)| one(*kind, value, false)),
                Node::Compare(CmpOp::NullSafeEq, kind, sides) => self
                    .other_side(sides, column)
                    .map(|(value, _)| one(*kind, value, value.ty.nullable)),
                Node::IsNull(e) if self.is_column(e, column) => Some(EqualPart {
                    values: Vec::new(),
                    null: true,
                    query: None,
                }),
                Node::In {
                    negated: false,
                    value,
                    list,
                    ..
                } if self.is_column(value, column) && list.iter().all(|(_, e)| self.is_known(e)) => {
                    let values = list.iter().map(|(kind, e)| KeyValue {
                        kind: *kind,
                        expr: e.clone(),
                    });
                    Some(EqualPart {
                        values: values.collect(),
                        null: false,
                        query: None,
                    })
                }
                Node::Subquery { id, kind, operands } => {
                    self.query_part(conjunct, (*id, *kind, operands), column)
                }
                _ => self.array_part(conjunct, column),
            };
            let Some(found) = found else { continue };
            if !found
                .values
                .iter()
                .all(|v| is_sargable(v.kind, &self.def.columns[column].ty, &v.expr.ty))
            {
                continue;
            }
            let length = |part: &EqualPart| match part.query {
                Some(_) => usize::MAX,
                None => part.values.len(),
            };
            if best.as_ref().is_none_or(|best| length(&found) < length(best)) {
                best = Some(found);
            }
        }
        best
    }

    /// The values of a subquery of which the column must have one.
    fn query_part(
        &self,
        test: &Expr,
        (id, kind, operands): (usize, SubqueryKind, &[(CmpKind, Expr)]),
        column: usize,
    ) -> Option<EqualPart> {
        let SubqueryKind::Quantified(CmpOp::Eq, Quantifier::Any) = kind else {
            return None;
        };
        let [(kind, operand)] = operands else {
            return None;
        };
        if !self.is_column(operand, column) || !(self.fixed_query)(id) {
            return None;
        }
        let (ty, rows) = (self.query_values)(id)?;
        is_sargable(*kind, &self.def.columns[column].ty, &ty).then(|| EqualPart {
            values: Vec::new(),
            null: false,
            query: Some(Box::new(KeyQuery {
                id,
                kind: *kind,
                test: test.clone(),
                rows,
            })),
        })
    }

    /// The elements of which an array must have one.
    fn array_part(&self, conjunct: &Expr, column: usize) -> Option<EqualPart> {
        let test = ArrayTest::of(conjunct).filter(|test| self.is_column(test.array, column))?;
        let element = self.def.columns[column].ty.element();
        // None is asked for of every array: the empty one, too, has them all.
        let wanted = Some(test.wanted()).filter(|wanted| !wanted.is_empty())?;
        let values = wanted.into_iter().map(|value| KeyValue {
            kind: CmpKind::Json,
            expr: Expr {
                ty: element.clone(),
                node: Node::Literal(value),
                name: None,
            },
        });
        Some(EqualPart {
            values: values.collect(),
            null: false,
            query: None,
        })
    }

    /// The side of a comparison that is not the column, and whether the column is on the right.
    fn other_side<'e>(&self, sides: &'e [Expr; 2], column: usize) -> Option<(&'e Expr, bool)> {
        let [left, right] = sides;
        if self.is_column(left, column) && self.is_known(right) {
            Some((right, false))
        } else if self.is_column(right, column) && self.is_known(left) {
            Some((left, true))
        } else {
            None
        }
    }

    fn range_part(&self, index_part: &IndexPart) -> Option<RangePart> {
        let column = index_part.column;
        let ty = &self.def.columns[column].ty;
        let mut part = RangePart::default();
        let in_order = |kind| match kind {
            // Members are in the order of their numbers, not of their labels.
            CmpKind::Str(collation) if index_part.prefix.is_some() => collation.cut_texts_keep_order(),
            CmpKind::Str(_) => !ty.is_member(),
            _ => true,
        };
        let sargable = |kind, value: &Expr| in_order(kind) && is_sargable(kind, ty, &value.ty);
        for conjunct in self.conjuncts {
            match &conjunct.node {
                Node::Compare(op, kind, sides) => {
                    let side = self.other_side(sides, column);
                    let Some((value, turned)) = side.filter(|(value, _)| sargable(*kind, value)) else {
                        continue;
                    };
                    let op = if turned { op.flipped() } else { *op };
                    let value = KeyValue {
                        kind: *kind,
                        expr: value.clone(),
                    };
                    match op {
                        CmpOp::Gt => part.lower.get_or_insert((value, false)),
                        CmpOp::Ge => part.lower.get_or_insert((value, true)),
                        CmpOp::Lt => part.upper.get_or_insert((value, false)),
                        CmpOp::Le => part.upper.get_or_insert((value, true)),
                        _ => continue,
                    };
                }
                Node::Between {
                    negated: false,
                    low,
                    high,
                    args,
                } => {
                    let [value, from, to] = &**args;
                    if !self.is_column(value, column) {
                        continue;
                    }
                    if sargable(*low, from) && self.is_known(from) {
                        part.lower.get_or_insert((
                            KeyValue {
                                kind: *low,
                                expr: from.clone(),
                            },
                            true,
                        ));
                    }
                    if sargable(*high, to) && self.is_known(to) {
                        part.upper.get_or_insert((
                            KeyValue {
                                kind: *high,
                                expr: to.clone(),
                            },
                            true,
                        ));
                    }
                }
                Node::Like {
                    negated: false,
                    collation,
                    escape,
                    args,
                    ..
                } => {
                    let [value, pattern] = &**args;
                    let same_order = ty.is_string() && !ty.is_member() && ty.collation == *collation;
                    if !same_order || !self.is_column(value, column) || !self.is_known(pattern) {
                        continue;
                    }
                    part.like.get_or_insert(LikePart {
                        pattern: KeyValue {
                            kind: CmpKind::Str(*collation),
                            expr: pattern.clone(),
                        },
                        escape: *escape,
                        collation: *collation,
                    });
                }
                _ => {}
            }
        }
        (part.lower.is_some() || part.upper.is_some() || part.like.is_some()).then_some(part)
    }
}

/// Whether a comparison of this kind with a column of this type can go by the order of an index.
fn is_sargable(kind: CmpKind, column: &SqlType, value: &SqlType) -> bool {
    let is_moment = column.has_date() || column.kind == TypeKind::Time;
    match kind {
        CmpKind::Json => column.array,
        _ if column.array => false,
        // Nothing compares with NULL.
        _ if value.kind == TypeKind::Null => true,
        CmpKind::Int => column.is_integer() || column.is_member() || is_moment,
        CmpKind::Decimal | CmpKind::Number => {
            column.is_integer() || column.kind == TypeKind::Decimal || is_moment
        }
        CmpKind::Double => !column.is_string() || column.is_member(),
        CmpKind::Str(collation) => {
            (column.is_string() || column.is_member()) && column.collation == collation
        }
        CmpKind::DateTime => is_moment,
        CmpKind::Time => column.kind == TypeKind::Time,
        CmpKind::Member => column.is_member(),
    }
}

/// Whether every value of a type has an exact place, or none, in an index on a column that it is compared with as `kind`
/// says.
pub fn has_exact_place(kind: CmpKind, column: &SqlType, value: &SqlType) -> bool {
    match kind {
        CmpKind::Json => column.array,
        CmpKind::Int => column.is_integer() && value.is_integer(),
        CmpKind::Str(c) => {
            column.is_string() && !column.is_member() && value.is_string() && column.collation == c
        }
        _ => false,
    }
}

/// The stored form of a value a column is compared with.
#[inline]
pub fn bound_of(value: &Val, kind: CmpKind, column: &SqlType, ctx: &EvalCtx) -> KeyBound {
    match (value, column.kind) {
        (Val::Int(v), TypeKind::Int) if !column.unsigned && i32::try_from(*v).is_ok() => {
            KeyBound::Exact(Val::Int(*v))
        }
        (Val::Int(v), TypeKind::BigInt) if !column.unsigned => KeyBound::Exact(Val::Int(*v)),
        _ => {
            // The comparison says what is lost, of each row.
            let unheard = Warnings::default();
            let mut env = Conversion::new(&unheard, ctx.env.time_zone);
            (env.sql_mode, env.strict, env.now_micros) = (ctx.env.sql_mode, false, ctx.env.now_micros);
            key_bound(value, kind, column, &env)
        }
    }
}

/// Appends the key of the index's first columns.
fn encode(
    def: &TableDef,
    table: &Table,
    index: &IndexDef,
    values: &[Value],
    ctx: &EvalCtx,
    key: &mut Vec<u8>,
) -> Result<()> {
    with_data(def, index, values, ctx, |data| {
        table.encode_key(index.number, data, key)
    })
}

/// Appends the key of the index's first columns and a value of the next.
fn encode_next(
    def: &TableDef,
    table: &Table,
    index: &IndexDef,
    (values, next): (&mut Vec<Value>, Value),
    ctx: &EvalCtx,
    key: &mut Vec<u8>,
) -> Result<()> {
    values.push(next);
    let encoded = encode(def, table, index, values, ctx, key);
    values.pop();
    encoded
}

/// Appends how the keys begin of the index's first columns and a next one whose key begins with some bytes.
fn encode_head(
    def: &TableDef,
    table: &Table,
    index: &IndexDef,
    (values, head): (&[Value], &[u8]),
    ctx: &EvalCtx,
    key: &mut Vec<u8>,
) -> Result<()> {
    with_data(def, index, values, ctx, |data| {
        table.encode_key_head(index.number, data, head, key)
    })
}

/// Hands over the values of the index's first columns as the engine has them.
fn with_data(
    def: &TableDef,
    index: &IndexDef,
    values: &[Value],
    ctx: &EvalCtx,
    take: impl FnOnce(&[Datum]) -> tidemark_engine::Result<()>,
) -> Result<()> {
    let mut rooms: [Scratch; 16] = [[0; 32]; 16];
    let mut data = [Datum::Null; 16];
    for (((value, part), room), datum) in values.iter().zip(&index.parts).zip(&mut rooms).zip(&mut data) {
        *datum = def.columns[part.column].ty.store(value, ctx.env.time_zone, room);
    }
    take(&data[..values.len()])?;
    Ok(())
}

impl EqualPart {
    /// The stored forms of the values; `None` if one of them is no bound.
    fn stored(&self, column: &SqlType, ctx: &EvalCtx) -> Result<Option<Vec<Value>>> {
        let mut stored = Vec::with_capacity(self.values.len() + 1);
        if self.null && column.nullable {
            stored.push(Val::Null);
        }
        for bounds in &self.values {
            let given = bounds.expr.eval(ctx)?;
            if given.is_null() {
                continue;
            }
            match bound_of(&given, bounds.kind, column, ctx) {
                KeyBound::Exact(value) => stored.push(value),
                KeyBound::Between(_) => {}
                KeyBound::Unusable => return Ok(None),
            }
        }
        match &self.query {
            Some(query) if !query.add_stored(column, ctx, &mut stored)? => Ok(None),
            _ => Ok(Some(stored)),
        }
    }
}

impl KeyQuery {
    /// Adds the stored forms of the values; returns false if one of them is no bound, or if there are too many.
    fn add_stored(&self, column: &SqlType, ctx: &EvalCtx, stored: &mut Vec<Value>) -> Result<bool> {
        let mut bounds_all = true;
        ctx.env.subqueries.for_each(self.id, ctx, &mut |row| {
            let Some(given) = row.first().filter(|value| !value.is_null()) else {
                return Ok(true);
            };
            match bound_of(given, self.kind, column, ctx) {
                KeyBound::Exact(value) => stored.push(value),
                KeyBound::Between(_) => {}
                KeyBound::Unusable => bounds_all = false,
            }
            bounds_all &= stored.len() <= QUERY_VALUES_MAX;
            Ok(bounds_all)
        })?;
        Ok(bounds_all)
    }
}

/// An end of a range over stored values.
enum End {
    /// The condition cannot be true.
    Nothing,
    Open,
    /// True: the value itself is in.
    At(Value, bool),
}

impl RangePart {
    fn key_range(
        &self,
        prefix: &mut Vec<Value>,
        def: &TableDef,
        table: &Table,
        index: &IndexDef,
        ctx: &EvalCtx,
    ) -> Result<Option<KeyRange>> {
        let part = &index.parts[prefix.len()];
        let column = &def.columns[part.column].ty;
        let is_cut = part.prefix.is_some();
        let lower = end_of(self.lower.as_ref(), true, (column, is_cut), ctx)?;
        let upper = end_of(self.upper.as_ref(), false, (column, is_cut), ctx)?;
        let lower = match lower {
            // NULLs come first and no comparison is true of them.
            End::Open if column.nullable => End::At(Val::Null, false),
            other => other,
        };
        let mut bound = |end| -> Result<Option<Bound<Vec<u8>>>> {
            let mut key = Vec::with_capacity(32);
            Ok(match end {
                End::Nothing => None,
                End::Open => {
                    encode(def, table, index, prefix, ctx, &mut key)?;
                    Some(if key.is_empty() {
                        Bound::Unbounded
                    } else {
                        Bound::Included(key)
                    })
                }
                End::At(value, inclusive) => {
                    encode_next(def, table, index, (prefix, value), ctx, &mut key)?;
                    Some(if inclusive {
                        Bound::Included(key)
                    } else {
                        Bound::Excluded(key)
                    })
                }
            })
        };
        let (Some(lower), Some(upper)) = (bound(lower)?, bound(upper)?) else {
            return Ok(None);
        };
        let range = match part.descending {
            false => KeyRange { lower, upper },
            true => KeyRange {
                lower: upper,
                upper: lower,
            },
        };
        let Some(like) = &self.like else {
            return Ok(Some(range));
        };
        Ok(match like.key_range(prefix, def, table, index, ctx)? {
            Some(matching) => range.intersection(matching),
            None => None,
        })
    }
}

impl LikePart {
    /// The keys of the texts that may match; `None` if no text matches.
    fn key_range(
        &self,
        prefix: &mut Vec<Value>,
        def: &TableDef,
        table: &Table,
        index: &IndexDef,
        ctx: &EvalCtx,
    ) -> Result<Option<KeyRange>> {
        let pattern = self.pattern.expr.eval(ctx)?;
        if pattern.is_null() {
            return Ok(None);
        }
        let (head, is_whole) = LikePattern::new(&pattern.to_text(), self.escape, self.collation)?.head();
        let mut key = Vec::with_capacity(64);
        if is_whole && self.collation.has_keys_of_characters() && head.len() <= HEAD_BYTES_MAX {
            encode_next(def, table, index, (prefix, Val::Str(head.into())), ctx, &mut key)?;
            return Ok(Some(KeyRange::prefix(key)));
        }
        let chars = index.parts[prefix.len()]
            .prefix
            .map_or(usize::MAX, |chars| chars as usize);
        let charset = self.collation.charset();
        let head = &head[..charset.prefix_len(&head, chars)];
        let mut bytes = Vec::with_capacity(64);
        self.collation.sort_key_head(head, &mut bytes);
        bytes.truncate(HEAD_BYTES_MAX);
        encode_head(def, table, index, (prefix, &bytes), ctx, &mut key)?;
        Ok(Some(KeyRange::prefix(key)))
    }
}

/// `is_cut`: the index has only a prefix of the column, and a text on either side of the bound may have the same.
fn end_of(
    bound: Option<&(KeyValue, bool)>,
    is_lower: bool,
    (column, is_cut): (&SqlType, bool),
    ctx: &EvalCtx,
) -> Result<End> {
    let Some((bounds, inclusive)) = bound else {
        return Ok(End::Open);
    };
    let given = bounds.expr.eval(ctx)?;
    if given.is_null() {
        return Ok(End::Nothing);
    }
    Ok(match (bound_of(&given, bounds.kind, column, ctx), is_lower) {
        (KeyBound::Exact(value), _) => End::At(value, *inclusive || is_cut),
        // Above the value below it; up to and with the value below it.
        (KeyBound::Between(Some(below)), true) => End::At(below, false),
        (KeyBound::Between(Some(below)), false) => End::At(below, true),
        (KeyBound::Between(None), true) => End::Open,
        (KeyBound::Between(None), false) => End::Nothing,
        (KeyBound::Unusable, _) => End::Open,
    })
}

//! Access paths: how the rows of one table that satisfy a condition are found.
//!
//! A condition is taken apart at its ANDs. Comparisons of a column with something that is known before the table is read
//! (a constant, a parameter, a column of a table read earlier, the outer row) can steer an index: equalities on its first
//! columns, then one range on the next. What steers is remembered as expressions; key ranges are made from their values
//! when the statement runs, so one plan serves all parameters. The whole condition is still tested on every row found:
//! a path may only find too much, never too little.

use crate::dictionary::{IndexDef, TableDef};
use crate::error::Result;
use crate::expr::{CmpKind, CmpOp, EvalCtx, Expr, Node};
use crate::types::storage::{KeyBound, Scratch, key_bound};
use crate::types::{SqlType, TypeKind, Val, Value};
use std::ops::Bound;
use tidemark_engine::{Datum, IndexNo, KeyRange, Table};

/// Most key ranges that IN lists multiply to; beyond that the later ones only filter.
const RANGES_MAX: usize = 10_000;
/// What fetching a row through a secondary index costs, in entries of a scan.
const LOOKUP_COST: f64 = 3.0;
/// What descending to a range costs.
const DESCENT_COST: f64 = 0.5;
/// What a scan of the whole table costs besides its rows: all of them are locked if the read locks, so that even in a
/// small table an index that leads to fewer is better.
const FULL_SCAN_COST: f64 = 10.0;

/// A value that steers an index, and how the column is compared with it.
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
}

/// `low < column < high`; true: the bound itself is in.
#[derive(Clone, Debug, Default)]
pub struct RangePart {
    pub lower: Option<(KeyValue, bool)>,
    pub upper: Option<(KeyValue, bool)>,
}

/// How an index is used: equalities on its first parts, and maybe a range on the next.
#[derive(Clone, Debug)]
pub struct AccessPath {
    pub index: IndexNo,
    pub equal: Vec<EqualPart>,
    pub range: Option<RangePart>,
    /// At most one row: all parts of a unique index equal one value each.
    pub point: bool,
    /// The index alone answers for all columns needed.
    pub covering: bool,
    /// Rows and cost as estimated when planned.
    pub rows: f64,
    pub cost: f64,
}

/// What there is to know about the table that is to be read.
pub struct Request<'a> {
    pub def: &'a TableDef,
    pub table: &'a Table,
    /// The slot of its first column.
    pub base: usize,
    /// The conjuncts of the condition.
    pub conjuncts: &'a [&'a Expr],
    /// The columns that the statement needs, by position in the table.
    pub needed: &'a [usize],
    /// Slots whose values are known before the table is read.
    pub known: &'a dyn Fn(usize) -> bool,
    /// Subqueries, by number, that read nothing of the rows around them: their value is known before the table is read.
    pub fixed_query: &'a dyn Fn(usize) -> bool,
    /// Indexes that may be used; `None`: all.
    pub allowed: Option<&'a [IndexNo]>,
    /// A full scan only where no index helps (FORCE INDEX).
    pub forced: bool,
    /// With the values of this execution for better estimates; `None` where earlier tables' rows are needed.
    pub sample: Option<&'a EvalCtx<'a>>,
}

/// The conjuncts of a condition.
pub fn conjuncts(filter: &Expr) -> Vec<&Expr> {
    match &filter.node {
        Node::And(list) => list.iter().flat_map(conjuncts).collect(),
        _ => vec![filter],
    }
}

/// All ways of reading the table that make sense, the full scan first.
pub fn paths(request: &Request) -> Result<Vec<AccessPath>> {
    let rows = (request.table.estimate_rows() as f64).max(1.0);
    let mut found = vec![AccessPath {
        index: 0,
        equal: Vec::new(),
        range: None,
        point: false,
        covering: true,
        rows,
        cost: FULL_SCAN_COST + if request.forced { rows * 1000.0 } else { rows },
    }];
    for index in &request.def.indexes {
        let allowed = request.allowed.is_none_or(|list| list.contains(&index.number));
        if !allowed || !index.visible {
            continue;
        }
        if let Some(path) = request.path(index, rows)? {
            found.push(path);
        }
    }
    Ok(found)
}

/// The cheapest way of reading the table.
pub fn choose(request: &Request) -> Result<AccessPath> {
    let all = paths(request)?;
    let best = all.into_iter().reduce(|best, path| {
        // A point is a point: no estimate beats it.
        let better = (path.point && !best.point) || (path.point == best.point && path.cost < best.cost);
        if better { path } else { best }
    });
    Ok(best.expect("the full scan is always there"))
}

impl Request<'_> {
    fn path(&self, index: &IndexDef, table_rows: f64) -> Result<Option<AccessPath>> {
        let covering = self.table.covers(index.number, self.needed);
        let mut equal = Vec::new();
        let mut range = None;
        for part in &index.parts {
            let column = &self.def.columns[part.column].ty;
            if let Some(values) = self.equal_part(part.column) {
                equal.push(values);
                if part.prefix.is_some() {
                    break;
                }
            } else {
                // A prefix of a text does not order as the text; an ENUM orders by number, not by label.
                if part.prefix.is_none() && !column.is_member() {
                    range = self.range_part(part.column);
                }
                break;
            }
        }
        if equal.is_empty() && range.is_none() && !(covering && index.number != 0) {
            return Ok(None);
        }
        let single = equal
            .iter()
            .all(|part: &EqualPart| part.values.len() == 1 && !part.null);
        let whole = index.unique && index.parts.iter().all(|part| part.prefix.is_none());
        let mut path = AccessPath {
            index: index.number,
            point: whole && single && equal.len() == index.parts.len(),
            covering,
            rows: table_rows,
            cost: 0.0,
            equal,
            range,
        };
        self.estimate(&mut path, index, table_rows)?;
        Ok(Some(path))
    }

    fn estimate(&self, path: &mut AccessPath, index: &IndexDef, table_rows: f64) -> Result<()> {
        let mut descents = 1.0;
        path.rows = if path.point {
            1.0
        } else if let (Some(ctx), false) = (self.sample, path.is_full() || path.runs_queries()) {
            let ranges = path.ranges(self.def, self.table, ctx)?;
            descents = ranges.len() as f64;
            // Of many ranges a few are looked at.
            let some = ranges.len().div_ceil(10).max(1);
            let sampled: Vec<_> = ranges.iter().step_by(some).collect();
            let sum: u64 = sampled
                .iter()
                .map(|r| self.table.estimate_range(path.index, r))
                .sum();
            sum as f64 * descents / sampled.len().max(1) as f64
        } else if path.is_full() {
            table_rows
        } else {
            descents = path
                .equal
                .iter()
                .map(|part| part.values.len().max(1) as f64)
                .product();
            let per_key = match path.equal.len() {
                0 => table_rows,
                n if index.unique && n == index.parts.len() => 1.0,
                n => self.table.records_per_key(path.index, n),
            };
            per_key * descents * if path.range.is_some() { 0.3 } else { 1.0 }
        };
        let row_cost = match path.index {
            0 => 1.0,
            _ if path.covering => 0.8,
            _ => LOOKUP_COST,
        };
        path.cost = descents * DESCENT_COST + path.rows * row_cost;
        Ok(())
    }

    fn is_column(&self, e: &Expr, column: usize) -> bool {
        matches!(e.node, Node::Column(slot) if slot == self.base + column)
    }

    /// Whether the value is there before the table is read.
    fn is_known(&self, e: &Expr) -> bool {
        let mut known = true;
        e.walk(&mut |e| {
            known &= match &e.node {
                Node::Column(slot) => (self.known)(*slot),
                Node::Subquery { id, .. } => (self.fixed_query)(*id),
                Node::AssignVar(..) => false,
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
        };
        let mut best: Option<EqualPart> = None;
        for conjunct in self.conjuncts {
            let found = match &conjunct.node {
                Node::Compare(CmpOp::Eq, kind, sides) => self
                    .other_side(sides, column)
                    .map(|(value, _)| one(*kind, value, false)),
                Node::Compare(CmpOp::NullSafeEq, kind, sides) => {
                    let (value, _) = self.other_side(sides, column)?;
                    Some(one(*kind, value, value.ty.nullable))
                }
                Node::IsNull(e) if self.is_column(e, column) => Some(EqualPart {
                    values: Vec::new(),
                    null: true,
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
                    })
                }
                _ => None,
            };
            let Some(found) = found else { continue };
            if !found
                .values
                .iter()
                .all(|v| can_steer(v.kind, &self.def.columns[column].ty))
            {
                continue;
            }
            if best
                .as_ref()
                .is_none_or(|best| found.values.len() < best.values.len())
            {
                best = Some(found);
            }
        }
        best
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

    fn range_part(&self, column: usize) -> Option<RangePart> {
        let mut part = RangePart::default();
        let steers = |kind| can_steer(kind, &self.def.columns[column].ty);
        for conjunct in self.conjuncts {
            match &conjunct.node {
                Node::Compare(op, kind, sides) if steers(*kind) => {
                    let Some((value, turned)) = self.other_side(sides, column) else {
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
                    if steers(*low) && self.is_known(from) {
                        part.lower.get_or_insert((
                            KeyValue {
                                kind: *low,
                                expr: from.clone(),
                            },
                            true,
                        ));
                    }
                    if steers(*high) && self.is_known(to) {
                        part.upper.get_or_insert((
                            KeyValue {
                                kind: *high,
                                expr: to.clone(),
                            },
                            true,
                        ));
                    }
                }
                _ => {}
            }
        }
        (part.lower.is_some() || part.upper.is_some()).then_some(part)
    }
}

/// Whether a comparison of this kind with a column of this type can go by the order of an index.
fn can_steer(kind: CmpKind, column: &SqlType) -> bool {
    match kind {
        CmpKind::Int | CmpKind::Decimal => column.is_integer() || column.kind == TypeKind::Decimal,
        CmpKind::Double => column.is_integer() || column.kind == TypeKind::Double,
        CmpKind::Str(collation) => {
            (column.is_string() || column.is_member()) && column.collation == collation
        }
        CmpKind::DateTime => column.has_date(),
        CmpKind::Time => column.kind == TypeKind::Time,
        CmpKind::Member => column.is_member(),
    }
}

/// The stored form of a value a column is compared with.
fn bound_of(value: &Val, kind: CmpKind, column: &SqlType, ctx: &EvalCtx) -> KeyBound {
    match (value, column.kind) {
        (Val::Int(v), TypeKind::Int) if !column.unsigned && i32::try_from(*v).is_ok() => {
            KeyBound::Exact(Val::Int(*v))
        }
        (Val::Int(v), TypeKind::BigInt) if !column.unsigned => KeyBound::Exact(Val::Int(*v)),
        _ => key_bound(value, kind, column, ctx.env.time_zone),
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
    let mut rooms: [Scratch; 16] = [[0; 32]; 16];
    let mut data = [Datum::Null; 16];
    for (((value, part), room), datum) in values.iter().zip(&index.parts).zip(&mut rooms).zip(&mut data) {
        *datum = def.columns[part.column].ty.store(value, ctx.env.time_zone, room);
    }
    table.encode_key(index.number, &data[..values.len()], key)?;
    Ok(())
}

impl AccessPath {
    /// Whether its bounds are answers of subqueries.
    fn runs_queries(&self) -> bool {
        let equal = self.equal.iter().flat_map(|part| &part.values);
        let range = self
            .range
            .iter()
            .flat_map(|range| range.lower.iter().chain(&range.upper));
        equal.chain(range.map(|(value, _)| value)).any(|value| {
            let mut found = false;
            value
                .expr
                .walk(&mut |e| found |= matches!(e.node, Node::Subquery { .. }));
            found
        })
    }

    /// Reads the index from end to end.
    pub fn is_full(&self) -> bool {
        self.equal.is_empty() && self.range.is_none()
    }

    fn index_def<'d>(&self, def: &'d TableDef) -> Option<&'d IndexDef> {
        def.index_by_number(self.index)
    }

    /// For a [`point`](AccessPath::point): its key, for the values of this execution. `None` means that no row can match
    /// (a NULL, or a value the column cannot hold); `Some(false)` that a value does not steer after all and the path
    /// must be read by [`ranges`](AccessPath::ranges).
    pub fn point_key(
        &self,
        def: &TableDef,
        table: &Table,
        ctx: &EvalCtx,
        key: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        key.clear();
        let Some(index) = self.index_def(def) else {
            return Ok(Some(false));
        };
        let mut rooms: [Scratch; 16] = [[0; 32]; 16];
        let mut values: [Value; 16] = [const { Val::Null }; 16];
        for ((part, equal), value) in index.parts.iter().zip(&self.equal).zip(&mut values) {
            let steering = &equal.values[0];
            let given = steering.expr.eval(ctx)?;
            if given.is_null() {
                return Ok(None);
            }
            match bound_of(&given, steering.kind, &def.columns[part.column].ty, ctx) {
                KeyBound::Exact(v) => *value = v,
                KeyBound::Between(_) => return Ok(None),
                KeyBound::Unusable => return Ok(Some(false)),
            }
        }
        let mut data = [Datum::Null; 16];
        let count = self.equal.len();
        for (((value, part), room), datum) in values.iter().zip(&index.parts).zip(&mut rooms).zip(&mut data) {
            *datum = def.columns[part.column].ty.store(value, ctx.env.time_zone, room);
        }
        table.encode_key(self.index, &data[..count], key)?;
        Ok(Some(true))
    }

    /// The key ranges for the values of this execution, disjoint and ascending.
    pub fn ranges(&self, def: &TableDef, table: &Table, ctx: &EvalCtx) -> Result<Vec<KeyRange>> {
        let Some(index) = self.index_def(def) else {
            return Ok(vec![KeyRange::all()]);
        };
        let mut prefixes: Vec<Vec<Value>> = vec![Vec::new()];
        let mut steering = true;
        for (part, equal) in index.parts.iter().zip(&self.equal) {
            let column = &def.columns[part.column].ty;
            let Some(values) = equal.stored(column, ctx)? else {
                steering = false;
                break;
            };
            if prefixes.len() * values.len() > RANGES_MAX {
                steering = false;
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
        let mut ranges = Vec::with_capacity(prefixes.len());
        for mut prefix in prefixes {
            let range = match &self.range {
                Some(range) if steering => range.key_range(&mut prefix, def, table, index, ctx)?,
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
        if ranges.len() > 1 {
            let start = |range: &KeyRange| match &range.lower {
                Bound::Included(key) | Bound::Excluded(key) => key.clone(),
                Bound::Unbounded => Vec::new(),
            };
            ranges.sort_by_cached_key(start);
            ranges.dedup();
        }
        Ok(ranges)
    }
}

impl EqualPart {
    /// The stored forms of the values; `None` if one of them does not steer.
    fn stored(&self, column: &SqlType, ctx: &EvalCtx) -> Result<Option<Vec<Value>>> {
        let mut stored = Vec::with_capacity(self.values.len() + 1);
        if self.null && column.nullable {
            stored.push(Val::Null);
        }
        for steering in &self.values {
            let given = steering.expr.eval(ctx)?;
            if given.is_null() {
                continue;
            }
            match bound_of(&given, steering.kind, column, ctx) {
                KeyBound::Exact(value) => stored.push(value),
                KeyBound::Between(_) => {}
                KeyBound::Unusable => return Ok(None),
            }
        }
        Ok(Some(stored))
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
        let lower = end_of(self.lower.as_ref(), true, column, ctx)?;
        let upper = end_of(self.upper.as_ref(), false, column, ctx)?;
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
                    prefix.push(value);
                    let encoded = encode(def, table, index, prefix, ctx, &mut key);
                    prefix.pop();
                    encoded?;
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
        Ok(Some(match part.descending {
            false => KeyRange { lower, upper },
            true => KeyRange {
                lower: upper,
                upper: lower,
            },
        }))
    }
}

fn end_of(bound: Option<&(KeyValue, bool)>, is_lower: bool, column: &SqlType, ctx: &EvalCtx) -> Result<End> {
    let Some((steering, inclusive)) = bound else {
        return Ok(End::Open);
    };
    let given = steering.expr.eval(ctx)?;
    if given.is_null() {
        return Ok(End::Nothing);
    }
    Ok(match (bound_of(&given, steering.kind, column, ctx), is_lower) {
        (KeyBound::Exact(value), _) => End::At(value, *inclusive),
        // Above the value below it; up to and with the value below it.
        (KeyBound::Between(Some(below)), true) => End::At(below, false),
        (KeyBound::Between(Some(below)), false) => End::At(below, true),
        (KeyBound::Between(None), true) => End::Open,
        (KeyBound::Between(None), false) => End::Nothing,
        (KeyBound::Unusable, _) => End::Open,
    })
}

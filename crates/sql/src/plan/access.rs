//! Access paths: how the rows of one table that satisfy a condition are found.
//!
//! A condition is taken apart at its ANDs. Comparisons of a column with something that is known before the table is read
//! (a constant, a parameter, a column of a table read earlier, the outer row) can bound an index (see [`super::index_bounds`]).
//! If a conjunct is an OR, each of its branches, together with the other conjuncts, may bound the same index another way, or an index of
//! its own: then the rows that any of them leads to are read, each once (an *index merge*).
//! Bounds are kept as expressions, so one plan serves all parameters. The whole condition is still tested on
//! every row found: a path may only find too much, never too little.

use super::dice::Dice;
use super::generated::GeneratedColumns;
use super::index_bounds::{EqualPart, IndexBounds, bound_of};
use super::prices;
use super::sampled::SampledRows;
use super::skip::Skip;
use super::trace::Tracer;
use crate::dictionary::{IndexDef, KEY_PARTS_MAX, TableDef};
use crate::error::Result;
use crate::expr::{EvalCtx, Expr, Node};
use crate::statistics::TableStatistics;
use crate::types::key_bound::KeyBound;
use crate::types::storage::Scratch;
use crate::types::{SqlType, Val, Value};
use std::cell::Cell;
use std::ops::Bound;
use tidemark_engine::{Datum, IndexNo, KeyRange, Table};

/// How an index is used.
#[derive(Clone, Debug)]
pub struct AccessPath {
    pub index: IndexNo,
    /// Its bounds: none, or those of each branch of an OR, none of which is without effect.
    pub bounds: Vec<IndexBounds>,
    /// At most one row: all parts of a unique index equal one value each.
    pub point: bool,
    /// The index alone has all columns needed.
    pub covering: bool,
    /// Of the entries that begin with the same values a few are read; `None`: all are.
    pub skip: Option<Skip>,
    /// The paths of an index merge, of which this one has the first index: the rows that any of them finds are read, each once.
    pub merged: Vec<AccessPath>,
    /// Rows and cost as estimated when planned, of all of them.
    pub rows: f64,
    pub cost: f64,
}

/// What the values of an execution lead to.
pub(super) struct Expected {
    pub rows: f64,
    pub descents: f64,
}

/// What there is to know about the table that is to be read.
#[derive(Clone, Copy)]
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
    /// Of a subquery of one column its type, and how many values are expected.
    pub query_values: &'a dyn Fn(usize) -> Option<(SqlType, f64)>,
    /// Indexes that may be used; `None`: all.
    pub allowed: Option<&'a [IndexNo]>,
    /// A full scan only where no index helps (FORCE INDEX).
    pub forced: bool,
    /// Weighs the costs of what there is to choose from.
    pub dice: &'a Dice,
    /// The rows of several indexes may be merged.
    pub merges: bool,
    /// A row that satisfies the conjuncts passes: no other condition is tested behind the table, so one row may stand for a group.
    pub skips: bool,
    /// The rows are locked as they are read.
    pub locks: bool,
    /// The rows are to be changed: they are not looked for in the whole of an index that happens to have all columns, as in MySQL.
    pub changes: bool,
    /// What is known of its rows.
    pub statistics: Option<&'a TableStatistics>,
    /// Some of them, on which conditions may be tested.
    pub rows: Option<&'a SampledRows<'a>>,
    /// With the values of this execution for better estimates.
    pub sample: Option<&'a EvalCtx<'a>>,
    /// Generated columns that conditions on their expressions may go by.
    pub generated: &'a GeneratedColumns,
    /// Becomes true if the choice depends on the literals of the statement.
    pub on_literals: &'a Cell<bool>,
    /// Is told what there is to choose from.
    pub trace: Option<&'a Tracer>,
}

/// The conjuncts of a condition.
pub fn conjuncts(filter: &Expr) -> Vec<&Expr> {
    match &filter.node {
        Node::And(list) => list.iter().flat_map(conjuncts).collect(),
        _ => vec![filter],
    }
}

/// What it costs to read a whole table.
pub fn full_scan_cost(rows: f64) -> f64 {
    prices::SCAN + rows * prices::ROW
}

/// All ways of reading the table that make sense, the full scan first.
pub fn paths(request: &Request) -> Result<Vec<AccessPath>> {
    let rows = (request.table.estimate_rows() as f64).max(1.0);
    let cost = full_scan_cost(if request.forced { rows * 1000.0 } else { rows });
    let mut found = vec![AccessPath::full(0, true, rows, cost + request.lock_cost(rows))];
    for index in &request.def.indexes {
        if !request.may_use(index) {
            continue;
        }
        if let Some(path) = request.path(index, rows)? {
            found.push(path);
        }
        for path in request.paths_by_or(index, rows) {
            found.push(path?);
        }
    }
    if request.merges {
        found.extend(request.merged_paths(rows)?);
    }
    Ok(found)
}

/// The cheapest way of reading the table.
pub fn choose(request: &Request) -> Result<AccessPath> {
    let mut all = match request.points()? {
        points if points.is_empty() => paths(request)?,
        points => points,
    };
    let mut best = 0;
    let mut least = f64::INFINITY;
    for (at, path) in all.iter().enumerate() {
        let cost = request.dice.weigh(path.cost);
        // A point is a point: no estimate beats it.
        let is_point = |path: &AccessPath| path.point && !request.dice.is_thrown();
        let (is_one, best_is) = (is_point(path), is_point(&all[best]));
        if (is_one && !best_is) || (is_one == best_is && cost < least) {
            (best, least) = (at, cost);
        }
    }
    if let Some(trace) = request.trace {
        trace.paths(request, &all, best);
    }
    Ok(all.swap_remove(best))
}

impl Request<'_> {
    /// Whether the index is to be seen and hints do not forbid it.
    pub fn may_use(&self, index: &IndexDef) -> bool {
        index.visible && self.allowed.is_none_or(|list| list.contains(&index.number))
    }

    /// What it costs to lock so many rows, if they are locked.
    pub fn lock_cost(&self, rows: f64) -> f64 {
        match self.locks {
            true => rows * prices::LOCK,
            false => 0.0,
        }
    }

    /// The ways to one row at most. None of the others need be looked at, unless they are to be shown, or taken all the same.
    fn points(&self) -> Result<Vec<AccessPath>> {
        let mut found = Vec::new();
        if self.trace.is_some() || self.dice.is_thrown() {
            return Ok(found);
        }
        for index in &self.def.indexes {
            if !index.unique || !self.may_use(index) {
                continue;
            }
            let mut path = self.by_bounds(index, self.index_bounds(index), 1.0);
            if path.point {
                self.estimate(&mut path, index, 1.0)?;
                found.push(path);
            }
        }
        Ok(found)
    }

    fn path(&self, index: &IndexDef, table_rows: f64) -> Result<Option<AccessPath>> {
        let bounds = self.index_bounds(index);
        if bounds.is_none() {
            let covering = self.table.covers(index.number, self.needed);
            if !covering || index.number == 0 || self.changes {
                return Ok(None);
            }
            let mut path = AccessPath::full(index.number, covering, table_rows, 0.0);
            self.estimate(&mut path, index, table_rows)?;
            return Ok(Some(path));
        }
        let mut path = self.by_bounds(index, bounds, table_rows);
        self.estimate(&mut path, index, table_rows)?;
        Ok(Some(path))
    }

    /// The path by bounds of an index; what it costs is not known yet.
    fn by_bounds(&self, index: &IndexDef, bounds: IndexBounds, table_rows: f64) -> AccessPath {
        let single = |part: &EqualPart| part.values.len() == 1 && !part.null;
        let whole = index.unique && index.parts.iter().all(|part| part.prefix.is_none());
        AccessPath {
            index: index.number,
            point: whole && bounds.equal.iter().all(single) && bounds.equal.len() == index.parts.len(),
            covering: self.table.covers(index.number, self.needed),
            skip: None,
            merged: Vec::new(),
            rows: table_rows,
            cost: 0.0,
            bounds: vec![bounds],
        }
    }

    /// A path for each conjunct that is an OR whose branches all bound the index.
    fn paths_by_or(&self, index: &IndexDef, table_rows: f64) -> impl Iterator<Item = Result<AccessPath>> {
        (0..self.conjuncts.len()).filter_map(move |at| {
            let Node::Or(branches) = &self.conjuncts[at].node else {
                return None;
            };
            let bounds = |branch: &Expr| {
                let together = self.with_branch(at, branch);
                let request = Request {
                    conjuncts: &together,
                    ..*self
                };
                Some(request.index_bounds(index)).filter(|bounds| !bounds.is_none())
            };
            let bounds = branches.iter().map(bounds).collect::<Option<_>>()?;
            Some(self.bounded(index, bounds, table_rows))
        })
    }

    /// The conjuncts with one branch of an OR in its place.
    fn with_branch<'e>(&'e self, at: usize, branch: &'e Expr) -> Vec<&'e Expr> {
        let others = self.conjuncts.iter().enumerate().filter(|(n, _)| *n != at);
        let others = others.map(|(_, conjunct)| *conjunct);
        conjuncts(branch).into_iter().chain(others).collect()
    }

    /// A path by these bounds of an index.
    fn bounded(&self, index: &IndexDef, bounds: Vec<IndexBounds>, table_rows: f64) -> Result<AccessPath> {
        let mut path = AccessPath {
            index: index.number,
            bounds,
            point: false,
            covering: self.table.covers(index.number, self.needed),
            skip: None,
            merged: Vec::new(),
            rows: table_rows,
            cost: 0.0,
        };
        self.estimate(&mut path, index, table_rows)?;
        Ok(path)
    }

    /// An index merge for each conjunct that is an OR whose branches all bound some index, though no index is bounded by all.
    fn merged_paths(&self, table_rows: f64) -> Result<Vec<AccessPath>> {
        let mut found = Vec::new();
        for (at, conjunct) in self.conjuncts.iter().enumerate() {
            let Node::Or(branches) = &conjunct.node else {
                continue;
            };
            found.extend(self.merged_path(at, branches, table_rows)?);
        }
        Ok(found)
    }

    fn merged_path(&self, at: usize, branches: &[Expr], table_rows: f64) -> Result<Option<AccessPath>> {
        let mut parts: Vec<(&IndexDef, Vec<IndexBounds>)> = Vec::new();
        for branch in branches {
            let together = self.with_branch(at, branch);
            let request = Request {
                conjuncts: &together,
                ..*self
            };
            let Some((index, bounds)) = request.cheapest_bounds(table_rows)? else {
                return Ok(None);
            };
            match parts.iter_mut().find(|(other, _)| other.number == index) {
                Some((_, all)) => all.push(bounds),
                None => parts.extend(self.def.index_by_number(index).map(|index| (index, vec![bounds]))),
            }
        }
        if parts.len() < 2 {
            return Ok(None);
        }
        let parts = parts.into_iter();
        let parts = parts.map(|(index, bounds)| self.bounded(index, bounds, table_rows));
        let merged = parts.collect::<Result<Vec<_>>>()?;
        let sum = |of: fn(&AccessPath) -> f64| merged.iter().map(of).sum::<f64>();
        let (rows, cost) = (sum(|path| path.rows).min(table_rows), sum(|path| path.cost));
        Ok(merged.first().cloned().map(|first| AccessPath {
            rows,
            cost: cost + rows * prices::MERGE,
            point: false,
            merged,
            ..first
        }))
    }

    /// The bounds by which the conjuncts lead to the rows at the least cost, and their index.
    fn cheapest_bounds(&self, table_rows: f64) -> Result<Option<(IndexNo, IndexBounds)>> {
        let mut least = f64::INFINITY;
        let mut best = None;
        for index in self.def.indexes.iter().filter(|index| self.may_use(index)) {
            if self.def.array_part(index).is_some() {
                continue;
            }
            let Some(mut path) = self.path(index, table_rows)?.filter(|path| !path.is_full()) else {
                continue;
            };
            if path.cost < least {
                least = path.cost;
                best = path.bounds.pop().map(|bounds| (index.number, bounds));
            }
        }
        Ok(best)
    }

    fn estimate(&self, path: &mut AccessPath, index: &IndexDef, table_rows: f64) -> Result<()> {
        let mut descents = 1.0;
        let known = self
            .sample
            .filter(|ctx| !(ctx.env.unbound && path.has_parameter()));
        path.rows = if path.point {
            1.0
        } else if let (Some(ctx), false) = (known, path.is_full() || path.waits_for_rows()) {
            let expected = path.expected(self.def, self.table, ctx)?;
            descents = expected.descents;
            expected.rows
        } else if path.is_full() {
            table_rows
        } else {
            descents = path.bounds.iter().map(IndexBounds::combinations).sum();
            let rows = path.bounds.iter().map(|bounds| {
                let per_key = match bounds.equal.len() {
                    0 => table_rows,
                    n if index.unique && n == index.parts.len() => 1.0,
                    n => self.table.records_per_key(path.index, n),
                };
                per_key * bounds.combinations() * if bounds.range.is_some() { 0.3 } else { 1.0 }
            });
            rows.sum::<f64>().min(table_rows)
        };
        path.cost = descents * prices::DESCENT + path.rows * path.row_cost() + self.lock_cost(path.rows);
        Ok(())
    }
}

impl AccessPath {
    /// Reads an index from end to end.
    pub fn full(index: IndexNo, covering: bool, rows: f64, cost: f64) -> AccessPath {
        AccessPath {
            index,
            bounds: Vec::new(),
            point: false,
            covering,
            skip: None,
            merged: Vec::new(),
            rows,
            cost,
        }
    }

    pub fn is_full(&self) -> bool {
        self.bounds.is_empty()
    }

    /// Returns true if it is an index merge.
    pub fn is_merged(&self) -> bool {
        !self.merged.is_empty()
    }

    /// The paths of an index merge, or itself alone.
    pub fn parts(&self) -> &[AccessPath] {
        match self.is_merged() {
            true => &self.merged,
            false => std::slice::from_ref(self),
        }
    }

    /// The bounds of all of its indexes.
    pub fn all_bounds(&self) -> impl Iterator<Item = &IndexBounds> {
        self.parts().iter().flat_map(|path| &path.bounds)
    }

    /// What a row costs that is read by it.
    pub(super) fn row_cost(&self) -> f64 {
        match self.index {
            0 => prices::ROW,
            _ if self.covering => prices::ENTRY,
            _ => prices::LOOKUP,
        }
    }

    /// Returns true if its bounds differ from one execution to the next.
    pub(super) fn has_parameter(&self) -> bool {
        let mut values = self.all_bounds().flat_map(IndexBounds::values);
        values.any(|value| value.expr.has_parameter())
    }

    /// How many rows the values of an execution lead to, and by how many descents. Of an index merge, by its first index.
    pub(super) fn expected(&self, def: &TableDef, table: &Table, ctx: &EvalCtx) -> Result<Expected> {
        let ranges = self.ranges(def, table, ctx)?;
        // Of many ranges a few are looked at.
        let some = ranges.len().div_ceil(10).max(1);
        let sampled = ranges.iter().step_by(some);
        let looked_at = sampled.len().max(1) as f64;
        let sum: u64 = sampled.map(|r| table.estimate_range(self.index, r)).sum();
        let descents = ranges.len() as f64;
        Ok(Expected {
            rows: sum as f64 * descents / looked_at,
            descents,
        })
    }

    /// One value for each part of its key that it goes by.
    pub fn is_one_key(&self) -> bool {
        let bounds = self.single_bounds();
        let one_value = |part: &EqualPart| part.values.len() + part.null as usize == 1;
        self.bounds.len() == 1
            && !self.is_merged()
            && bounds.range.is_none()
            && bounds.equal.iter().all(one_value)
    }

    /// The ranges of the path that show a row once, though it may have entries in several of them: in a multi-valued index, and unless one key
    /// is all that it looks for.
    pub fn once<'r>(&self, def: &TableDef, ranges: &'r [KeyRange]) -> &'r [KeyRange] {
        let index = self.index_def(def);
        match index.and_then(|index| def.array_part(index)) {
            Some(_) if !self.is_one_key() => ranges,
            _ => &[],
        }
    }

    /// What is true of every row it finds: its bounds, unless there are several.
    pub fn single_bounds(&self) -> &IndexBounds {
        match self.bounds.as_slice() {
            [only] if !self.is_merged() => only,
            _ => IndexBounds::NONE,
        }
    }

    /// Whether a range it makes, without depending on other tables, is one whole key of a unique index: `BETWEEN 1 AND 1`.
    pub fn is_constant_key(&self, def: &TableDef, range: &KeyRange) -> bool {
        let Some(index) = self.index_def(def).filter(|index| index.unique) else {
            return false;
        };
        let whole =
            matches!((&range.lower, &range.upper), (Bound::Included(a), Bound::Included(b)) if a == b);
        let bounds = self.single_bounds();
        let equal = bounds
            .equal
            .iter()
            .all(|part| part.values.len() == 1 && !part.null);
        whole && equal && bounds.parts() == index.parts.len() && self.is_constant()
    }

    /// A point whose key depends on no other table.
    pub fn is_constant_point(&self) -> bool {
        self.point && self.is_constant()
    }

    /// Its bounds depend on no row.
    pub fn is_constant(&self) -> bool {
        !self.waits_for_rows()
    }

    /// Whether its bounds are not known before the statement runs: results of subqueries, and columns of rows.
    fn waits_for_rows(&self) -> bool {
        let mut values = self.all_bounds().flat_map(IndexBounds::values);
        self.runs_queries() || values.any(|value| !value.expr.columns().is_empty())
    }

    /// Whether its bounds are results of subqueries.
    fn runs_queries(&self) -> bool {
        let has_query = self.all_bounds().any(|bounds| bounds.queries().next().is_some());
        has_query
            || self.all_bounds().flat_map(IndexBounds::values).any(|value| {
                let mut found = false;
                value
                    .expr
                    .walk(&mut |e| found |= matches!(e.node, Node::Subquery { .. } | Node::Routine(_)));
                found
            })
    }

    fn index_def<'d>(&self, def: &'d TableDef) -> Option<&'d IndexDef> {
        def.index_by_number(self.index)
    }

    /// For a [`point`](AccessPath::point): its key, for the values of this execution. `None` means that no row can match
    /// (a NULL, or a value the column cannot hold); `Some(false)` that a value is no bound after all and the path
    /// must be read by [`ranges`](AccessPath::ranges).
    pub fn point_key(
        &self,
        def: &TableDef,
        table: &Table,
        ctx: &EvalCtx,
        key: &mut Vec<u8>,
    ) -> Result<Option<bool>> {
        // Most keys are short, and arrays for sixteen parts cost more than the rest of the look-up of one.
        match self.single_bounds().equal.len() {
            0..=2 => self.key_of_up_to::<2>(def, table, ctx, key),
            _ => self.key_of_up_to::<KEY_PARTS_MAX>(def, table, ctx, key),
        }
    }

    /// [`point_key`](AccessPath::point_key) of at most `N` parts.
    fn key_of_up_to<const N: usize>(
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
        let mut rooms: [Scratch; N] = [[0; 32]; N];
        let mut values: [Value; N] = [const { Val::Null }; N];
        for ((part, equal), value) in index
            .parts
            .iter()
            .zip(&self.single_bounds().equal)
            .zip(&mut values)
        {
            let bounds = &equal.values[0];
            let given = bounds.expr.eval(ctx)?;
            if given.is_null() {
                return Ok(None);
            }
            match bound_of(&given, bounds.kind, &def.columns[part.column].ty, ctx) {
                KeyBound::Exact(v) => *value = v,
                KeyBound::Between(_) => return Ok(None),
                KeyBound::Unusable => return Ok(Some(false)),
            }
        }
        let mut data = [Datum::Null; N];
        let count = self.single_bounds().equal.len();
        for (((value, part), room), datum) in values.iter().zip(&index.parts).zip(&mut rooms).zip(&mut data) {
            *datum = def.columns[part.column].ty.store(value, ctx.env.time_zone, room);
        }
        table.encode_key(self.index, &data[..count], key)?;
        Ok(Some(true))
    }

    /// The key ranges for the values of this execution, disjoint and ascending. Of an index merge, those of its first index.
    pub fn ranges(&self, def: &TableDef, table: &Table, ctx: &EvalCtx) -> Result<Vec<KeyRange>> {
        let Some(index) = self.index_def(def) else {
            return Ok(vec![KeyRange::all()]);
        };
        let mut ranges = Vec::new();
        match self.bounds.as_slice() {
            [] => ranges.push(KeyRange::all()),
            all => {
                for bounds in all {
                    bounds.ranges(def, table, index, ctx, &mut ranges)?;
                }
            }
        }
        Ok(match ranges.len() {
            0 | 1 => ranges,
            _ => KeyRange::union(ranges),
        })
    }
}

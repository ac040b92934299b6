//! Joins, and the way each table is read.
//!
//! Conditions are tested as soon as the tables they name are there, and bound indexes where they can; so do those that follow from
//! them ([`super::equalities`]). Inner joins are put in a good order, and it is chosen how each table is read in it
//! ([`super::enumerate`]). A left join whose WHERE condition refuses the NULLs it would add is an inner one.

use super::access::{AccessPath, Request, choose, conjuncts, full_scan_cost};
use super::barrier::{Barriers, leaks_last};
use super::change::selection::SMALL_TABLE_ROWS;
use super::common::not_first;
use super::condition_order::in_order;
use super::enumerate::{Step, Way};
use super::equalities::factored;
use super::filter::{absorbed, is_never, is_steady, selectivity};
use super::from::{FromInput, FromTable, Tree};
use super::json_table::EXPECTED_ROWS;
use super::order::{Direction, OrderWish, choose_in_order};
use super::sampled::SampledRows;
use super::spread::Spread;
use super::strict::is_not_true;
use super::walk::has_subquery;
use super::{AGGREGATE, HashJoin, Input, LeftJoin, Planner, RowSource, Side, TableScan, prices};
use crate::error::{Result, SqlError, er};
use crate::expr::{CmpOp, Expr, Node, OUTER, build};
use crate::parse::ast::{BlockAdvice, Denied};
use crate::statistics::TableStatistics;
use crate::types::sort::KeyForm;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use tidemark_engine::LockWait;

pub(super) struct Joined {
    pub source: RowSource,
    /// What must be tested when the row is whole.
    pub filter: Option<Expr>,
    /// Rows come in the order wished for.
    pub ordered: bool,
}

/// A condition and the tables it names.
#[derive(Clone)]
pub(super) struct Condition {
    pub expr: Expr,
    pub tables: Vec<usize>,
    pub late: bool,
    /// The class of columns that it says are equal, by its number in the pool.
    pub class: Option<usize>,
    /// It follows from others, so it need not be tested with another of its class.
    pub follows: bool,
    /// The share of rows that pass other conditions which follow from it and are tested before it; 1 if there are none.
    pub share_of_parts: f64,
    /// In how many barriers it is written.
    pub depth: usize,
    /// It must not be tested on rows that a barrier around none of it hides.
    pub leaks: bool,
}

/// The tables to join, and what is wanted of the join.
#[derive(Clone, Copy)]
pub(super) struct JoinInput<'j> {
    pub tables: &'j [FromTable],
    /// The slots that are read after the join.
    pub needed: &'j [usize],
    pub wish: &'j OrderWish,
    /// The table that is to be read first, if any is.
    pub first: Option<usize>,
    /// What hints ask of the join.
    pub advice: Option<&'j BlockAdvice>,
    /// How each table's rows are locked: exclusively, and how to wait.
    pub locks: &'j [Option<(bool, LockWait)>],
}

pub(super) struct Joiner<'j, 'a> {
    pub planner: &'j Planner<'a>,
    pub input: JoinInput<'j>,
    pub barriers: Barriers,
    /// Of slots that were asked about: how many different values their columns have, if an index or statistics tell.
    pub values: RefCell<HashMap<usize, Option<f64>>>,
    /// Of tables that were asked about, what is known of them.
    pub statistics: RefCell<HashMap<usize, Option<Arc<TableStatistics>>>>,
    /// The slots that conditions read, if there are several tables.
    pub slots_tested: Vec<usize>,
    /// Of tables that were asked about, rows on which conditions may be tested.
    pub rows: RefCell<HashMap<usize, Rc<SampledRows<'j>>>>,
}

/// How a table is to be read.
pub(super) enum Reading<'r> {
    /// In the way that costs least by itself.
    Best,
    /// The same in the wanted order, if that can be; becomes true if it is.
    Ordered(&'r mut bool),
    /// In a way that was chosen.
    By(&'r Way),
}

/// What is around a part of a join.
#[derive(Clone, Copy)]
struct Around<'k> {
    /// The tables that are there before it, and how many combinations of their rows it is read for.
    known: &'k [usize],
    rows: f64,
    /// How many barriers there are.
    depth: usize,
}

/// How many rows a table is taken to have of which nothing is known.
pub(super) const UNKNOWN_ROWS: f64 = 100.0;

/// The share of rows that is worth waiting for.
const CLEARLY_FEWER: f64 = 0.5;

/// No table is taken to have fewer rows that pass: where none are expected, what is read for them still counts.
pub(super) const ROWS_MIN: f64 = 1e-6;

/// All join conditions of a tree.
pub(super) fn conditions(tree: &Tree) -> Vec<&Expr> {
    match tree {
        Tree::Table(_) => Vec::new(),
        Tree::Inner { list, on, .. } => on.iter().chain(list.iter().flat_map(conditions)).collect(),
        Tree::Left { left, right, on } => on
            .iter()
            .chain(conditions(left))
            .chain(conditions(right))
            .collect(),
    }
}

/// The same, to be changed.
pub(super) fn conditions_mut<'t>(tree: &'t mut Tree, all: &mut Vec<&'t mut Expr>) {
    match tree {
        Tree::Table(_) => {}
        Tree::Inner { list, on, .. } => {
            all.extend(on);
            list.iter_mut().for_each(|tree| conditions_mut(tree, all));
        }
        Tree::Left { left, right, on } => {
            all.extend(on);
            conditions_mut(left, all);
            conditions_mut(right, all);
        }
    }
}

/// Those that hold for every row of the result.
pub(super) fn inner_conditions(tree: &Tree) -> Vec<&Expr> {
    match tree {
        Tree::Table(_) => Vec::new(),
        Tree::Inner { list, on, .. } => on.iter().chain(list.iter().flat_map(inner_conditions)).collect(),
        Tree::Left { left, .. } => inner_conditions(left),
    }
}

impl Planner<'_> {
    /// The slots that conditions of a join of so many tables read.
    fn slots_tested(&self, tree: &Tree, filter: Option<&Expr>, tables: usize) -> Vec<usize> {
        let mut slots = Vec::new();
        if tables > 1 {
            let conditions = conditions(tree).into_iter().chain(filter);
            conditions.for_each(|e| self.slots_of(e, &mut slots));
        }
        slots
    }

    pub(super) fn source(
        &self,
        tree: Option<Tree>,
        filter: Option<Expr>,
        input: JoinInput,
    ) -> Result<Joined> {
        let Some(tree) = tree else {
            return Ok(Joined {
                source: RowSource::One,
                filter,
                ordered: false,
            });
        };
        let joiner = Joiner {
            planner: self,
            input,
            barriers: Barriers::of(&tree),
            values: RefCell::default(),
            statistics: RefCell::default(),
            slots_tested: self.slots_tested(&tree, filter.as_ref(), input.tables.len()),
            rows: RefCell::default(),
        };
        let pool: Vec<Condition> = filter
            .iter()
            .flat_map(factored)
            .map(|c| joiner.classify(&c))
            .collect();
        let given = self.trace.as_ref().map(|_| tree.left_joins());
        let tree = joiner.simplify(tree, &pool);
        if let Some(trace) = &self.trace {
            let made_inner = given.is_some_and(|given| given > tree.left_joins());
            trace.conditions(filter.as_ref(), made_inner);
            joiner.tell_tables(trace, &tree, &pool)?;
        }
        joiner.check_first(&tree)?;
        let (pool, whole): (Vec<_>, Vec<_>) = pool.into_iter().partition(|c| !c.tables.is_empty() || !c.late);
        let mut ordered = false;
        let around = Around {
            known: &[],
            rows: 1.0,
            depth: 0,
        };
        let source = joiner.build(tree, pool, around, Some(&mut ordered))?;
        if let Some(trace) = &self.trace {
            trace.attached(filter.as_ref(), &source);
        }
        let filter = (!whole.is_empty()).then(|| build::and(whole.into_iter().map(|c| c.expr).collect()));
        Ok(Joined {
            source,
            filter,
            ordered,
        })
    }
}

impl Planner<'_> {
    /// Error 1104 if a join is expected to look at more rows than MAX_JOIN_SIZE.
    pub(super) fn check_join_size(&self, source: &RowSource) -> Result<()> {
        let limit = self.state.settings.max_join_size;
        if limit != u64::MAX && !self.explains && source.expected().0 > limit as f64 {
            return Err(SqlError::new(
                er::TOO_BIG_SELECT,
                "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET SQL_BIG_SELECTS=1 or \
                 SET MAX_JOIN_SIZE=# if the SELECT is okay",
            ));
        }
        Ok(())
    }
}

impl RowSource {
    /// The combinations of rows that are expected to be looked at, and those that are expected to come out.
    fn expected(&self) -> (f64, f64) {
        match self {
            RowSource::One => (0.0, 1.0),
            RowSource::Table(scan) => (scan.path.rows, scan.rows_out),
            RowSource::Inner(list) => list.iter().fold((0.0, 1.0), |(seen, out), source| {
                let (more, each) = source.expected();
                (seen + out * more, out * each)
            }),
            RowSource::Left(join) => {
                let ((seen, out), (more, each)) = (join.left.expected(), join.right.expected());
                (seen + out * more, out * each.max(1.0))
            }
        }
    }
}

impl Joiner<'_, '_> {
    pub(super) fn table_of(&self, slot: usize) -> usize {
        self.input.tables.partition_point(|t| t.base <= slot) - 1
    }

    pub(super) fn classify(&self, expr: &Expr) -> Condition {
        let mut slots = Vec::new();
        self.planner.slots_of(expr, &mut slots);
        let mut tables: Vec<usize> = slots.into_iter().map(|slot| self.table_of(slot)).collect();
        tables.sort_unstable();
        tables.dedup();
        Condition {
            expr: expr.clone(),
            tables,
            late: has_subquery(expr),
            class: None,
            follows: false,
            share_of_parts: 1.0,
            depth: 0,
            leaks: !self.barriers.is_empty() && self.leaks(expr),
        }
    }

    /// Turns left joins into inner ones where a condition refuses the rows they add.
    fn simplify(&self, tree: Tree, pool: &[Condition]) -> Tree {
        match tree {
            Tree::Table(at) => Tree::Table(at),
            Tree::Inner {
                list,
                on,
                straight,
                hides,
            } => {
                let mut all = pool.to_vec();
                all.extend(on.iter().flat_map(conjuncts).map(|c| self.classify(c)));
                let list = list.into_iter().map(|t| self.simplify(t, &all)).collect();
                Tree::Inner {
                    list,
                    on,
                    straight,
                    hides,
                }
            }
            Tree::Left { left, right, on } => {
                let inner = right.tables();
                if pool.iter().any(|c| self.refuses_nulls(&c.expr, &inner)) {
                    let list = vec![*left, *right];
                    return self.simplify(
                        Tree::Inner {
                            list,
                            on,
                            straight: false,
                            hides: false,
                        },
                        pool,
                    );
                }
                let left = Box::new(self.simplify(*left, pool));
                let right = Box::new(self.simplify(*right, &[]));
                Tree::Left { left, right, on }
            }
        }
    }

    /// The recursive table among those of a tree, whose rows are read before all others.
    pub(super) fn recursive_in(&self, tree: &Tree) -> Option<&str> {
        let mut tables = tree.tables().into_iter();
        tables.find_map(|at| self.input.tables[at].recursive.as_deref())
    }

    /// Error 3576 for a recursive table that cannot be read before all others.
    fn check_first(&self, tree: &Tree) -> Result<()> {
        match tree {
            Tree::Table(_) => Ok(()),
            Tree::Inner { list, straight, .. } => {
                let late = list.iter().skip(1).find_map(|item| self.recursive_in(item));
                match late.filter(|_| *straight) {
                    Some(name) => Err(not_first(name)),
                    None => list.iter().try_for_each(|item| self.check_first(item)),
                }
            }
            Tree::Left { left, right, .. } => match self.recursive_in(right) {
                Some(name) => Err(not_first(name)),
                None => self.check_first(left),
            },
        }
    }

    /// Whether the condition is false or unknown when the columns of these tables are NULL.
    fn refuses_nulls(&self, e: &Expr, tables: &[usize]) -> bool {
        is_not_true(e, &|slot| {
            slot < AGGREGATE && tables.contains(&self.table_of(slot))
        })
    }

    // ---------------------------------------------------------------------------------------------- building

    /// A source for the tree that tests all the conditions of the pool, given what is around it.
    fn build(
        &self,
        tree: Tree,
        mut pool: Vec<Condition>,
        around: Around,
        ordered: Option<&mut bool>,
    ) -> Result<RowSource> {
        match tree {
            Tree::Table(_) => self.inner(vec![tree], pool, around, false, ordered),
            Tree::Inner { .. } => {
                let mut items = Vec::new();
                let mut straight = false;
                self.flatten(tree, around.depth, (&mut items, &mut pool, &mut straight));
                self.inner(items, pool, around, straight, ordered)
            }
            Tree::Left { left, right, on } => {
                let mut there = left.tables();
                let depth = self.barriers.around(&[there.clone(), right.tables()].concat());
                there.extend_from_slice(around.known);
                let is_left = |c: &Condition| {
                    c.tables.iter().all(|t| there.contains(t)) && !self.barriers.hold_back(c, &there)
                };
                let (before, after): (Vec<_>, Vec<_>) = pool.into_iter().partition(is_left);
                let on = on.iter().flat_map(conjuncts);
                let on = on.map(|c| self.classify_in(depth, c)).collect();
                let around = Around { depth, ..around };
                let left = Box::new(self.build(*left, before, around, ordered)?);
                let around = Around {
                    known: &there,
                    rows: around.rows * self.planner.rows_of_source(&left),
                    depth,
                };
                let right = Box::new(self.build(*right, on, around, None)?);
                let mut after: Vec<&Condition> = after.iter().collect();
                leaks_last(&mut after);
                let filter = (!after.is_empty()).then(|| all_of(after));
                Ok(RowSource::Left(LeftJoin { left, right, filter }))
            }
        }
    }

    fn classify_in(&self, depth: usize, e: &Expr) -> Condition {
        Condition {
            depth,
            ..self.classify(e)
        }
    }

    fn flatten(
        &self,
        tree: Tree,
        depth: usize,
        (items, pool, fixed): (&mut Vec<Tree>, &mut Vec<Condition>, &mut bool),
    ) {
        match tree {
            Tree::Inner {
                list,
                on,
                straight,
                hides,
            } => {
                let depth = depth + hides as usize;
                *fixed |= straight;
                pool.extend(on.iter().flat_map(factored).map(|c| self.classify_in(depth, &c)));
                for tree in list {
                    self.flatten(tree, depth, (&mut *items, &mut *pool, &mut *fixed));
                }
            }
            other => items.push(other),
        }
    }

    fn inner(
        &self,
        items: Vec<Tree>,
        mut pool: Vec<Condition>,
        around: Around,
        straight: bool,
        mut ordered: Option<&mut bool>,
    ) -> Result<RowSource> {
        self.complete(&mut pool);
        if let [Tree::Table(at)] = items[..] {
            self.tell_only_table(at, &pool, around.known)?;
        }
        let steps = self.order(&items, &pool, (around.known, around.rows), straight)?;
        let rows_after: Vec<Option<f64>> = steps.iter().map(|step| step.rows).collect();
        let mut items: Vec<Option<Tree>> = items.into_iter().map(Some).collect();
        let mut there = around.known.to_vec();
        let mut rows = around.rows;
        let mut list = Vec::new();
        for (number, Step { item: at, way, .. }) in steps.into_iter().enumerate() {
            let is_last_of_few = !fewer_later(&rows_after[number..]);
            let Some(item) = items[at].take() else { continue };
            let inside = item.tables();
            let mut with = there.clone();
            with.extend(&inside);
            let ready = |c: &Condition| {
                c.tables.iter().all(|t| with.contains(t))
                    && !self.barriers.hold_back(c, &with)
                    && (is_last_of_few || !self.may_wait(c))
            };
            let (mine, rest): (Vec<_>, Vec<_>) = pool.into_iter().partition(ready);
            pool = rest;
            // Only the first table can set the order of the whole.
            let ordered = if list.is_empty() { ordered.take() } else { None };
            let source = match item {
                Tree::Table(at) => {
                    let reading = match (&way, ordered) {
                        (Some(way), _) => Reading::By(way),
                        (None, Some(ordered)) => Reading::Ordered(ordered),
                        (None, None) => Reading::Best,
                    };
                    RowSource::Table(Box::new(self.final_scan(at, &mine, &there, reading)?))
                }
                item => {
                    let around = Around {
                        known: &there,
                        rows,
                        depth: 0,
                    };
                    self.build(item, mine, around, ordered)?
                }
            };
            rows *= self.planner.rows_of_source(&source);
            list.push(source);
            there = with;
        }
        Ok(match list.len() {
            1 => list.remove(0),
            _ => RowSource::Inner(list),
        })
    }

    /// Whether a condition runs a query for each row, which may be done for fewer rows when other tables have been joined.
    fn may_wait(&self, condition: &Condition) -> bool {
        let mut runs = false;
        condition.expr.walk(&mut |e| {
            if let Node::Subquery { id, .. } = &e.node {
                runs |= !self.planner.queries[*id].outer.is_empty();
            }
        });
        runs && self.barriers.is_empty() && self.input.locks.iter().all(Option::is_none)
    }

    // --------------------------------------------------------------------------------------------- one table

    pub(super) fn scan(
        &self,
        at: usize,
        pool: &[Condition],
        known: &[usize],
        reading: Reading,
    ) -> Result<TableScan> {
        let table = &self.input.tables[at];
        let put_last = |c: &Condition| self.barriers.put_last(c, at);
        let (mut late, early): (Vec<&Condition>, Vec<&Condition>) =
            pool.iter().partition(|c| c.late || put_last(c));
        if !self.barriers.is_empty() {
            leaks_last(&mut late);
        }
        let input = match &table.input {
            FromInput::Stored { def, table } => Input::Stored {
                def: Arc::clone(def),
                table: Arc::clone(table),
            },
            FromInput::Virtual(def) => Input::Virtual(Arc::clone(def)),
            FromInput::Derived { query, lateral } => {
                let types = self.planner.queries[*query]
                    .columns
                    .iter()
                    .map(|c| c.ty.clone())
                    .collect();
                Input::Derived {
                    query: *query,
                    types,
                    lateral: *lateral,
                }
            }
            FromInput::Json(plan) => Input::Json(Arc::clone(plan)),
        };
        let end = table.base + input.width();
        let needed: Vec<usize> = self
            .input
            .needed
            .iter()
            .filter(|s| (table.base..end).contains(s))
            .map(|s| s - table.base)
            .collect();
        let keyed = matches!(table.input, FromInput::Stored { .. }) && self.input.needed.contains(&end);
        let keyed = keyed && self.table_of(end) == at;
        let kept = |rows: f64| AccessPath::full(0, true, rows, rows * prices::KEPT_ROW);
        let mut scan = TableScan {
            alias: table.alias.clone(),
            base: table.base,
            needed,
            path: match &table.input {
                FromInput::Json(_) => kept(EXPECTED_ROWS),
                FromInput::Derived { query, .. } => {
                    let rows = self.planner.rows_of_query(*query).unwrap_or(UNKNOWN_ROWS);
                    kept(rows)
                }
                _ => kept(UNKNOWN_ROWS),
            },
            reverse: false,
            gate: None,
            never: false,
            filter: None,
            late_filter: (!late.is_empty()).then(|| all_of(late.iter().copied())),
            lock: self.input.locks[at],
            hash: None,
            rows_out: UNKNOWN_ROWS,
            input,
        };
        let mut rest: Vec<&Condition> = early;
        let way = match reading {
            Reading::By(way) => Some(way),
            _ => None,
        };
        let hashed = way.and_then(|way| way.path()?.1);
        if let Input::Stored { def, .. } = &scan.input {
            let def = Arc::clone(def);
            let bounds = |c: &&Condition| self.barriers.may_bound(c, at, known);
            let all: Vec<&Condition> = pool.iter().filter(bounds).collect();
            if keyed {
                // The rows themselves are locked and changed, so an index alone is no shorter way.
                scan.needed = (0..def.columns.len()).collect();
            }
            (scan.path, scan.reverse) = match way.and_then(Way::path) {
                Some((path, _)) => (path.clone(), false),
                None => self.path(&scan, table, (&all, known), reading)?,
            };
            rest.retain(|c| !absorbed(&c.expr, &scan.path, &def, scan.base));
            let late: Vec<&Condition> = late
                .into_iter()
                .filter(|c| !absorbed(&c.expr, &scan.path, &def, scan.base))
                .collect();
            scan.late_filter = (!late.is_empty()).then(|| all_of(late.iter().copied()));
        }
        let (gates, mut rest): (Vec<&Condition>, Vec<&Condition>) = rest
            .into_iter()
            .partition(|c| !c.tables.contains(&at) && is_steady(&c.expr));
        let (statistics, rows) = (self.statistics_of(at), self.rows_of(at));
        let spread = match &table.input {
            FromInput::Stored { def, .. } => {
                let (statistics, rows) = (statistics.as_deref(), rows.as_deref());
                Spread::new(def, statistics, table.base, self.planner.sample, rows)
            }
            _ => None,
        };
        rest.retain(|c| !c.follows || !self.is_said_before(c, pool, at));
        let share = self.share(pool, &rest, &scan, spread.as_ref());
        let rows_out = way.map_or(scan.path.rows * share, |way| way.rows_out);
        scan.rows_out = rows_out.max(ROWS_MIN);
        if !gates.is_empty() {
            scan.never = gates.iter().any(|c| is_never(&c.expr, self.planner.sample));
            scan.gate = Some(all_of(gates));
        }
        if keyed {
            scan.needed.push(scan.input.width());
        }
        if let Some(hashed) = hashed {
            self.hash(&mut scan, at, hashed, &mut rest)?;
        }
        let rest = in_order(rest, |c| &c.expr, |c| selectivity(&c.expr, spread.as_ref()));
        scan.filter = (!rest.is_empty()).then(|| all_of(rest.iter().copied()));
        Ok(scan)
    }

    /// Whether a condition of the pool before this one says of a class that the same column of a table is in it.
    fn is_said_before(&self, condition: &Condition, pool: &[Condition], at: usize) -> bool {
        let column = |c: &Condition| match &c.expr.node {
            Node::Compare(_, _, sides) => {
                let mut slots = sides.iter().filter_map(own_slot);
                slots.find(|slot| self.table_of(*slot) == at)
            }
            _ => None,
        };
        let before = pool.iter().take_while(|other| !std::ptr::eq(*other, condition));
        let mut of_class = before.filter(|other| other.class.is_some() && other.class == condition.class);
        of_class.any(|other| column(other) == column(condition))
    }

    fn path(
        &self,
        scan: &TableScan,
        from: &FromTable,
        (early, known): (&[&Condition], &[usize]),
        reading: Reading,
    ) -> Result<(AccessPath, bool)> {
        self.with_request(scan, from, early, known, |request| {
            let wish = self.input.wish;
            let ordered = match reading {
                Reading::Ordered(ordered) if !wish.is_none() || wish.values.is_some() => ordered,
                _ => return Ok((self.as_ordered(choose(request)?, from, request), false)),
            };
            let (path, direction) = choose_in_order(request, wish)?;
            *ordered = direction.is_some();
            let path = self.as_ordered(path, from, request);
            Ok((path, direction == Some(Direction::Backwards)))
        })
    }

    /// The path with its cost among other tables. That a small table whose rows are locked is not read whole if an index helps decides
    /// how it is read, and that it comes behind derived tables, of whose rows little is known; not its place among stored ones.
    fn as_ordered(&self, path: AccessPath, from: &FromTable, request: &Request) -> AccessPath {
        let is_stored = |table: &FromTable| matches!(table.input, FromInput::Stored { .. });
        let is_raised = request.forced && !from.forced && path.is_full();
        match is_raised && self.input.tables.iter().all(is_stored) {
            true => AccessPath {
                cost: full_scan_cost(path.rows),
                ..path
            },
            false => path,
        }
    }

    /// Asks something of a stored table that is about to be read behind those that are known.
    pub(super) fn with_request<R>(
        &self,
        scan: &TableScan,
        from: &FromTable,
        conditions: &[&Condition],
        known: &[usize],
        ask: impl FnOnce(&Request) -> Result<R>,
    ) -> Result<R> {
        let Input::Stored { def, table } = &scan.input else {
            return Err(SqlError::not_supported("an index of a table that is not stored"));
        };
        let at = self.table_of(scan.base);
        let (statistics, rows) = (self.statistics_of(at), self.rows_of(at));
        let conjuncts: Vec<&Expr> = conditions.iter().map(|c| &c.expr).collect();
        // It locks what it reads: of a small table, the fewest rows.
        let locks = scan.lock.is_some();
        let denies = |what| (self.input.advice).is_some_and(|advice| from.is_denied(advice, what));
        let is_known =
            |slot: usize| slot >= OUTER || slot < AGGREGATE && known.contains(&self.table_of(slot));
        ask(&Request {
            def,
            table,
            base: scan.base,
            conjuncts: &conjuncts,
            needed: &scan.needed,
            known: &is_known,
            fixed_query: &|id| {
                let outer = &self.planner.queries[id].outer;
                outer.iter().all(|slot| is_known(*slot)) && self.planner.is_repeatable(id)
            },
            query_values: &|id| self.planner.query_values(id),
            allowed: from.allowed.as_deref(),
            forced: from.forced || locks && table.estimate_rows() < SMALL_TABLE_ROWS,
            dice: &self.planner.dice,
            merges: self.planner.state.settings.rewrites.index_merge && !denies(Denied::IndexMerge),
            skips: scan.late_filter.is_none() && !denies(Denied::SkipScan),
            locks,
            changes: false,
            statistics: statistics.as_deref(),
            rows: rows.as_deref(),
            sample: self.planner.sample,
            generated: &*self.planner.indexed_generated(def)?,
            on_literals: &self.planner.binder.ctx.depends_on_literals,
            trace: self.planner.trace.as_ref(),
        })
    }

    /// Prepares a table to be met by hashing, so many rows of it: its own conditions are tested as the hash table
    /// is built, equalities with what is known become keys, others are tested on the joined row.
    fn hash(
        &self,
        scan: &mut TableScan,
        at: usize,
        (rows, side): (f64, Side),
        rest: &mut Vec<&Condition>,
    ) -> Result<()> {
        let mut hash = HashJoin {
            rows,
            build: Vec::new(),
            probe: Vec::new(),
            forms: Vec::new(),
            side,
            keeps_order: false,
        };
        let (own, joint): (Vec<&Condition>, Vec<&Condition>) = rest
            .iter()
            .copied()
            .partition(|c| c.tables.iter().all(|t| *t == at));
        let mut others = Vec::new();
        for condition in joint {
            match self.hash_key(&condition.expr, at) {
                Some((build, probe, form)) => {
                    hash.build.push(build);
                    hash.probe.push(probe);
                    hash.forms.push(form);
                }
                None => others.push(condition.expr.clone()),
            }
        }
        others.extend(scan.late_filter.take());
        scan.late_filter = (!others.is_empty()).then(|| build::and(others));
        *rest = own;
        scan.hash = Some(hash);
        Ok(())
    }

    /// The sides of an equality between this table and others, if there is a form of keys for them.
    pub(super) fn hash_key(&self, e: &Expr, at: usize) -> Option<(Expr, Expr, KeyForm)> {
        let Node::Compare(CmpOp::Eq, kind, sides) = &e.node else {
            return None;
        };
        let form = KeyForm::of(*kind, &sides[0].ty, &sides[1].ty)?;
        let tables = |e: &Expr| self.classify(e).tables;
        let (left, right) = (tables(&sides[0]), tables(&sides[1]));
        if left == [at] && !right.contains(&at) {
            Some((sides[0].clone(), sides[1].clone(), form))
        } else if right == [at] && !left.contains(&at) {
            Some((sides[1].clone(), sides[0].clone(), form))
        } else {
            None
        }
    }
}

/// Whether there are expected to be clearly fewer rows after a later step than after the first of these.
fn fewer_later(rows_after: &[Option<f64>]) -> bool {
    let Some((Some(now), later)) = rows_after.split_first() else {
        return false;
    };
    later.iter().flatten().any(|rows| *rows < now * CLEARLY_FEWER)
}

/// The slot of a column of this query's tables.
pub(super) fn own_slot(e: &Expr) -> Option<usize> {
    match e.node {
        Node::Column(slot) if slot < AGGREGATE => Some(slot),
        _ => None,
    }
}

fn all_of<'c>(list: impl IntoIterator<Item = &'c Condition>) -> Expr {
    let mut list: Vec<Expr> = list.into_iter().map(|c| c.expr.clone()).collect();
    if list.len() == 1 {
        list.remove(0)
    } else {
        build::and(list)
    }
}

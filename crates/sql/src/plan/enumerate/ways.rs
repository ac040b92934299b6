//! How an item can be read behind others, what that costs, and of which others it must know the rows.
//!
//! A table is read by an index whose bounds are values of the tables before it, for each combination of their rows; as a whole, or what
//! constants bound of it, as often; or once, into a hash table in which each combination is looked up. Its paths are asked for with
//! the rows of no other item, of each single one that conditions lead to it from, and of all: each path says itself whose values it
//! is bounded by. (MySQL's hypergraph optimizer and PostgreSQL call these parameterized paths.)

use super::graph::{Graph, Item};
use super::{Set, members, only};
use crate::error::Result;
use crate::expr::OUTER;
use crate::plan::access::{AccessPath, paths};
use crate::plan::from::{FromInput, Tree};
use crate::plan::join::{self, Condition, Joiner};
use crate::plan::{Input, Side, TableScan, prices};

/// A way of reading an item.
#[derive(Clone)]
pub(in crate::plan) struct Way {
    /// The items whose rows it must know.
    pub(super) given: Set,
    pub(super) reading: Reading,
    /// Rows expected for each combination of the rows before it, when it has its place in an order.
    pub rows_out: f64,
    /// What it costs however often it is read, and each time.
    once: f64,
    each: f64,
}

/// How it is read.
#[derive(Clone)]
pub(super) enum Reading {
    /// A table, by a path.
    Path(AccessPath),
    /// A table: its rows by a path, of which so many pass, and those before it. One side is kept in a hash table.
    Hash(AccessPath, f64, Side),
    /// Several tables, as they are built.
    Tree,
}

impl Way {
    fn by(path: AccessPath, given: Set) -> Way {
        Way {
            given,
            each: path.cost,
            once: 0.0,
            rows_out: path.rows,
            reading: Reading::Path(path),
        }
    }

    /// Reading along a path that finds so many times more rows each time than expected.
    fn along(path: AccessPath, given: Set, skew: f64) -> Way {
        let beyond_descent = (path.cost - prices::DESCENT).max(0.0);
        let path = AccessPath {
            rows: path.rows * skew,
            cost: path.cost + beyond_descent * (skew - 1.0),
            ..path
        };
        Way::by(path, given)
    }

    /// Reading into a hash table what a path finds, of which so many rows pass.
    fn hashed(path: AccessPath, rows: f64) -> Way {
        Way {
            given: 0,
            once: path.cost + rows * prices::HASH_BUILD,
            each: prices::HASH_PROBE,
            rows_out: path.rows,
            reading: Reading::Hash(path, rows, Side::Table),
        }
    }

    /// Keeping the rows before the table in the hash table, and looking up in it what a path finds.
    fn hashed_before(path: AccessPath, rows: f64) -> Way {
        Way {
            given: 0,
            once: path.cost + rows * prices::HASH_PROBE,
            each: prices::HASH_BUILD,
            rows_out: path.rows,
            reading: Reading::Hash(path, rows, Side::Before),
        }
    }

    /// The path of a table, and how many rows of it are hashed, if they are, and on which side.
    pub fn path(&self) -> Option<(&AccessPath, Option<(f64, Side)>)> {
        match &self.reading {
            Reading::Path(path) => Some((path, None)),
            Reading::Hash(path, rows, side) => Some((path, Some((*rows, *side)))),
            Reading::Tree => None,
        }
    }

    /// What it costs once, and for all of so many combinations, of each of which so many rows come out; `has_key`: they are looked up in
    /// a hash table by something.
    pub(super) fn cost(&self, combinations: f64, out: f64, has_key: bool) -> (f64, f64) {
        let each = match &self.reading {
            Reading::Hash(..) if has_key => self.each + out * prices::HASH_RETURN,
            Reading::Hash(_, rows, _) => rows * prices::TEST,
            _ => self.each,
        };
        (self.once, combinations * each)
    }

    /// The same in its place in an order.
    pub(super) fn with_rows(&self, rows_out: f64) -> Way {
        Way {
            rows_out,
            ..self.clone()
        }
    }

    fn is_hashed(&self) -> bool {
        matches!(self.reading, Reading::Hash(..))
    }

    /// Whether no row comes out before all of those before it have been read.
    pub(super) fn waits(&self) -> bool {
        matches!(self.reading, Reading::Hash(_, _, Side::Before))
    }

    /// Whether it reads a whole table.
    pub(super) fn is_full(&self) -> bool {
        matches!(&self.reading, Reading::Path(path) if path.is_full())
    }

    fn is_bounded(&self) -> bool {
        matches!(&self.reading, Reading::Path(path) if !path.is_full())
    }
}

impl Item {
    /// Whether rows of items that are there can be looked up in a hash table of this one by something.
    pub fn has_key(&self, there: Set) -> bool {
        self.keys.iter().any(|others| others & !there == 0)
    }

    /// The share of a table's rows that an index finds by a row of other items.
    pub fn share_found(&self, given: Set) -> Option<f64> {
        let rows = self.ways.first()?.path()?.0.rows.max(1.0);
        let found = self
            .ways
            .iter()
            .filter(|way| way.given == given && way.is_bounded());
        let found = found.filter_map(|way| Some(way.path()?.0.rows));
        found.reduce(f64::min).map(|found| (found / rows).min(1.0))
    }

    /// The ways that there are when the rows of some items are known; `is_first`: it is read once.
    pub fn ways_behind(&self, there: Set, is_first: bool) -> impl Iterator<Item = (usize, &Way)> {
        let is_usable = move |way: &Way| way.given & !there == 0;
        // A table that is locked as it is read is not read as a whole where an index leads to its rows.
        let is_led = self.locked && self.ways.iter().any(|way| is_usable(way) && way.is_bounded());
        let ways = self.ways.iter().enumerate();
        let (is_kept, has_key) = (self.kept && !is_first, self.has_key(there));
        ways.filter(move |(_, way)| {
            is_usable(way)
                && (!is_led || way.is_bounded())
                && (!is_kept || way.is_hashed())
                && (!way.waits() || has_key && !is_first)
        })
    }
}

impl Joiner<'_, '_> {
    /// An item with the ways of reading it.
    pub(super) fn item(&self, graph: &Graph, at: usize, item: Item) -> Result<Item> {
        match &graph.trees[at] {
            Tree::Table(table) => self.table_item(graph, (at, *table), item),
            tree => self.tree_item(graph, (at, tree), item),
        }
    }

    fn table_item(&self, graph: &Graph, (at, table): (usize, usize), mut item: Item) -> Result<Item> {
        let own = self.ready(graph, table, graph.known);
        let scan = self.scan(table, &own, graph.known, join::Reading::Best)?;
        let from = &self.input.tables[table];
        item.rows = scan.rows_out;
        item.locked = from.forced || scan.lock.is_some();
        let mut alone = Way::by(scan.path.clone(), 0);
        if let FromInput::Derived { query, lateral: true } = &from.input {
            alone.each += self.planner.query_cost(*query);
        }
        item.ways.push(alone);
        // A hash table is made of what is found without a row of another.
        let hashed = match graph.known.is_empty() {
            true => (scan.path.clone(), scan.rows_out),
            false => {
                let alone: Vec<Condition> = own.into_iter().filter(|c| c.tables == [table]).collect();
                let scan = self.scan(table, &alone, &[], join::Reading::Best)?;
                (scan.path, scan.rows_out)
            }
        };
        if hashed.0.is_constant() && !from.is_made_anew() {
            item.ways.push(Way::hashed(hashed.0.clone(), hashed.1));
            if self.may_keep_before(graph) {
                item.ways.push(Way::hashed_before(hashed.0, hashed.1));
            }
            item.keys = self.keys(graph, (at, table));
            item.kept = !matches!(scan.input, Input::Stored { .. });
        }
        if matches!(scan.input, Input::Stored { .. }) {
            let singles = members(item.named).map(only);
            let all = (item.named.count_ones() > 1).then_some(item.named);
            for there in singles.chain(all) {
                for way in self.ways_with(graph, (at, table), &scan, there)? {
                    item.add(way);
                }
            }
        }
        Ok(item)
    }

    /// Whether the rows before a table may be kept in its place. Not for each row of a left join, nor where the query runs again for another
    /// row around it, since a hash table of the table serves all of these; nor where rows are changed in the order they are found in.
    fn may_keep_before(&self, graph: &Graph) -> bool {
        let is_correlated = |c: &Condition| c.expr.columns().iter().any(|slot| *slot >= OUTER);
        graph.known.is_empty()
            && self.input.locks.iter().all(Option::is_none)
            && !graph.pool.iter().any(is_correlated)
    }

    /// Of each equality by which a hash table of a table can be made, the items on its other side.
    fn keys(&self, graph: &Graph, (at, table): (usize, usize)) -> Vec<Set> {
        let of_table = graph.pool.iter().filter(|c| c.tables.contains(&table) && !c.late);
        let keys = of_table.filter(|c| self.hash_key(&c.expr, table).is_some());
        keys.map(|c| graph.set_of(&c.tables) & !only(at)).collect()
    }

    /// The ways to read a table by values of some of the items that are there.
    fn ways_with(
        &self,
        graph: &Graph,
        (at, table): (usize, usize),
        scan: &TableScan,
        there: Set,
    ) -> Result<Vec<Way>> {
        let known = graph.tables(there);
        let all = self.ready(graph, table, &known);
        let bounds = |c: &&Condition| {
            self.barriers
                .may_bound(c, table, &graph.tables(graph.all() & !only(at)))
        };
        let conditions: Vec<&Condition> = all.iter().filter(bounds).collect();
        let found = self.with_request(scan, &self.input.tables[table], &conditions, &known, paths)?;
        let bounded = found.into_iter().filter(|path| !path.is_full());
        let ways = bounded.map(|path| {
            let mut slots = Vec::new();
            let values = path.all_bounds().flat_map(|bounds| bounds.values());
            values.for_each(|value| self.planner.slots_of(&value.expr, &mut slots));
            let queries = path.all_bounds().flat_map(|bounds| bounds.queries());
            queries.for_each(|query| self.planner.slots_around(query.id, &mut slots));
            let tables: Vec<usize> = slots.into_iter().map(|slot| self.table_of(slot)).collect();
            let is_read = |item: &usize| graph.trees[*item].tables().iter().any(|t| tables.contains(t));
            let given = members(there)
                .filter(is_read)
                .fold(0, |set, item| set | only(item));
            let skew = graph.skew(at, given);
            Way::along(path, given, skew)
        });
        Ok(ways.filter(|way| way.given != 0).collect())
    }

    /// The conditions that can be tested on a table when others are there, those on the others alone left out.
    pub(super) fn ready(&self, graph: &Graph, table: usize, known: &[usize]) -> Vec<Condition> {
        let mut with = known.to_vec();
        with.push(table);
        let is_ready = |c: &&Condition| {
            c.tables.contains(&table)
                && c.tables.iter().all(|t| with.contains(t))
                && !self.barriers.hold_back(c, &with)
        };
        graph.pool.iter().filter(is_ready).cloned().collect()
    }

    /// Several tables that are read one behind the other, as their tree says.
    fn tree_item(&self, graph: &Graph, (at, tree): (usize, &Tree), mut item: Item) -> Result<Item> {
        for there in std::iter::once(0).chain(members(item.joined).map(only)) {
            let mut reads = Reads {
                there: graph.tables(there),
                once: 0.0,
                each: 0.0,
            };
            let rows = self.read_tree(tree, graph.pool, 1.0, &mut reads)?;
            if there == 0 {
                item.rows = rows;
            }
            item.ways.push(Way {
                given: there,
                once: reads.once,
                each: reads.each,
                rows_out: rows,
                reading: Reading::Tree,
            });
        }
        debug_assert!(!item.ways.is_empty(), "item {at} can be read");
        Ok(item)
    }

    /// About what a tree of joins costs, and how many rows come out for each of those before it.
    fn read_tree(&self, tree: &Tree, pool: &[Condition], rows: f64, reads: &mut Reads) -> Result<f64> {
        let with = |on: &[crate::expr::Expr]| {
            let on = on.iter().flat_map(crate::plan::access::conjuncts);
            on.map(|e| self.classify(e)).collect::<Vec<_>>()
        };
        match tree {
            Tree::Table(table) => {
                let mut there = reads.there.clone();
                there.push(*table);
                let is_ready = |c: &&Condition| {
                    c.tables.contains(table)
                        && c.tables.iter().all(|t| there.contains(t))
                        && !self.barriers.hold_back(c, &there)
                };
                let ready: Vec<Condition> = pool.iter().filter(is_ready).cloned().collect();
                let scan = self.scan(*table, &ready, &reads.there, join::Reading::Best)?;
                let cost = scan.path.cost;
                match scan.path.is_full() && rows > 1.0 {
                    true => {
                        reads.once += cost + scan.path.rows * prices::HASH_BUILD;
                        reads.each += rows * prices::HASH_PROBE;
                    }
                    false => reads.each += rows * cost,
                }
                reads.there = there;
                Ok(rows * scan.rows_out)
            }
            Tree::Inner { list, on, .. } => {
                let pool = [with(on).as_slice(), pool].concat();
                let mut rows = rows;
                for tree in list {
                    rows = self.read_tree(tree, &pool, rows, reads)?;
                }
                Ok(rows)
            }
            Tree::Left { left, right, on } => {
                let rows = self.read_tree(left, pool, rows, reads)?;
                let out = self.read_tree(right, &with(on), rows, reads)?;
                Ok(rows.max(out))
            }
        }
    }
}

/// What has been read of a tree of joins.
struct Reads {
    /// The tables that are there.
    there: Vec<usize>,
    once: f64,
    each: f64,
}

impl Item {
    /// Adds a way, unless there is one as good by the same index with no more.
    fn add(&mut self, way: Way) {
        let index = |way: &Way| way.path().map(|(path, _)| (path.index, path.is_merged()));
        let is_covered = |other: &Way| {
            index(other) == index(&way)
                && other.given & !way.given == 0
                && other.each <= way.each
                && other.is_bounded()
        };
        if !self.ways.iter().any(is_covered) {
            self.ways.push(way);
        }
    }
}

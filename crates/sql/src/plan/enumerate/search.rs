//! The search for the cheapest order.
//!
//! ```text
//!   {}  ──▶  {a} {b} {c}  ──▶  {a,b} {b,c}  ──▶  {a,b,c}        orders of the same items: the cheapest stays
//! ```
//!
//! An item that no condition leads to from those before it waits as long as another can come, unless what comes of it is a few rows: tables
//! of a row or two may be crossed to bound an index of a larger one. Of sets with equally many items the cheapest [`KEPT_MAX`] go on,
//! which are all if there are ten items or fewer. Of more items fewer go on, so that the search takes time in proportion to their number.

use super::graph::Graph;
use super::ways::Reading;
use super::{ITEMS_MAX, Set, Step, members, only};
use crate::error::Result;
use crate::plan::from::Tree;
use crate::plan::join::{Condition, Joiner};
use crate::plan::order::LIMIT_GUESS;
use rustc_hash::FxHashMap;

/// Most sets of one size that go on: there are 252 sets of five of ten items.
const KEPT_MAX: usize = 252;

/// Most sets that go on of all sizes together, if there are more items than ten.
const KEPT_OF_ALL: usize = 2000;

/// Most rows of items that are crossed though others could come first.
const CROSSED_MAX: f64 = 20.0;

/// For at least so many rows a whole table is taken to be read that is read for each.
const ROWS_FEARED: f64 = 2.0;

/// The best order of a set of items so far.
struct Ordered {
    set: Set,
    cost: f64,
    /// The last item, the way it is read, and where the order before it stands among those of one item less.
    last: Option<(usize, usize, usize)>,
}

/// What is asked of an order.
pub(super) struct Asked {
    /// The item that comes first.
    first: Option<usize>,
    /// Which share of what is read costs, as there are enough rows then.
    share: f64,
}

fn as_written(trees: &[Tree]) -> Vec<Step> {
    (0..trees.len())
        .map(|item| Step {
            item,
            way: None,
            rows: None,
        })
        .collect()
}

impl Joiner<'_, '_> {
    /// The order in which the items are joined behind tables that are known, of so many combinations, and how each is read.
    pub(in crate::plan) fn order(
        &self,
        trees: &[Tree],
        pool: &[Condition],
        (known, known_rows): (&[usize], f64),
        straight: bool,
    ) -> Result<Vec<Step>> {
        if known.is_empty() && trees.len() == 1 || trees.len() > ITEMS_MAX {
            return Ok(as_written(trees));
        }
        let mut after = self.read_before(trees);
        if straight {
            (0..trees.len()).for_each(|item| after[item] |= only(item) - 1);
        }
        if trees.len() == 1 {
            return self.search((trees, pool), (known, known_rows), after);
        }
        self.tell_orders(|| self.search((trees, pool), (known, known_rows), after))
    }

    fn search(
        &self,
        (trees, pool): (&[Tree], &[Condition]),
        known: (&[usize], f64),
        after: Vec<Set>,
    ) -> Result<Vec<Step>> {
        let mut graph = Graph::of(self, (trees, pool), known, after)?;
        let read_before: Vec<Set> = graph.items.iter().map(|item| item.after).collect();
        let asked = self.asked_before(trees);
        for (item, asked) in graph.items.iter_mut().zip(&asked) {
            item.after |= asked;
        }
        if let Some(steps) = self.cheapest(&graph)? {
            return Ok(steps);
        }
        // What hints ask may contradict itself, or what must be there before a table.
        for (item, after) in graph.items.iter_mut().zip(read_before) {
            item.after = after;
        }
        Ok(self.cheapest(&graph)?.unwrap_or_else(|| as_written(trees)))
    }

    /// The cheapest order of all items, if there is one in which each comes behind those that must be there before it.
    fn cheapest(&self, graph: &Graph) -> Result<Option<Vec<Step>>> {
        let item_of = |table: usize| graph.trees.iter().position(|tree| tree.tables().contains(&table));
        let recursive = graph
            .trees
            .iter()
            .position(|tree| self.recursive_in(tree).is_some());
        let wished = self.input.first.and_then(item_of);
        let wish = self.input.wish;
        let stops_early = wish.limited && (wish.is_none() || wished.is_some());
        let asked = Asked {
            first: recursive.or(wished),
            share: match stops_early {
                true => (LIMIT_GUESS / graph.rows(graph.all())).min(1.0),
                false => 1.0,
            },
        };
        let mut levels = vec![vec![Ordered {
            set: 0,
            cost: 0.0,
            last: None,
        }]];
        for size in 0..graph.items.len() {
            let next = self.extend(graph, &levels[size], &asked);
            levels.push(next);
        }
        let steps = self.steps(graph, &levels);
        if let Some(steps) = &steps {
            self.tell_search(graph, steps, &asked)?;
        }
        Ok(steps)
    }

    /// The best orders of one item more.
    fn extend(&self, graph: &Graph, orders: &[Ordered], asked: &Asked) -> Vec<Ordered> {
        let mut found: FxHashMap<Set, Ordered> = FxHashMap::default();
        for (before, order) in orders.iter().enumerate() {
            let there = order.set;
            let can_come = |item: &usize| self.can_come(graph, *item, there, asked);
            let ready: Vec<usize> = members(graph.all() & !there).filter(can_come).collect();
            let is_joined = |item: usize| graph.items[item].joined & there != 0;
            let some_joined = there == 0 || ready.iter().any(|item| is_joined(*item));
            for item in ready {
                let rows = graph.rows_with(there, item);
                if there != 0 && some_joined && !is_joined(item) && rows > CROSSED_MAX * graph.known_rows {
                    continue;
                }
                let Some((way, cost)) = self.cheapest_way(graph, item, there, asked) else {
                    continue;
                };
                let cost = order.cost + cost;
                let set = there | only(item);
                if found.get(&set).is_none_or(|best| cost < best.cost) {
                    let last = Some((item, way, before));
                    found.insert(set, Ordered { set, cost, last });
                }
            }
        }
        let mut orders: Vec<Ordered> = found.into_values().collect();
        // The order of a map is another each time, that of a plan is not.
        orders.sort_by(|a, b| a.cost.total_cmp(&b.cost).then(a.set.cmp(&b.set)));
        orders.truncate(match graph.items.len() {
            0..=10 => KEPT_MAX,
            many => (KEPT_OF_ALL / many).min(KEPT_MAX),
        });
        orders
    }

    /// Whether an item may come behind those that are there.
    pub(super) fn can_come(&self, graph: &Graph, item: usize, there: Set, asked: &Asked) -> bool {
        graph.items[item].after & !there == 0
            && (there != 0
                || asked.first.is_none_or(|first| first == item)
                || self.is_late(graph, asked.first))
            && (self.barriers.is_empty() || self.is_let_in(&graph.trees[item], &graph.tables(there)))
    }

    /// Whether the item that is to come first cannot.
    fn is_late(&self, graph: &Graph, first: Option<usize>) -> bool {
        first.is_some_and(|first| graph.items[first].after != 0)
    }

    /// Which way of reading an item costs least behind those that are there, and what.
    pub(super) fn cheapest_way(
        &self,
        graph: &Graph,
        item: usize,
        there: Set,
        asked: &Asked,
    ) -> Option<(usize, f64)> {
        let rows = graph.rows(there);
        let out = graph.rows_with(there, item) / rows;
        let item = &graph.items[item];
        let has_key = item.has_key(there);
        let is_first = there == 0 && graph.known.is_empty();
        let costs = item.ways_behind(there, is_first).map(|(number, way)| {
            // Where one row is expected there may be two, and a whole table is read again.
            let times = match way.is_full() && !is_first {
                true => rows.max(ROWS_FEARED),
                false => rows,
            };
            let (once, all) = way.cost(times, out, has_key);
            let (once, all) = match way.waits() {
                true => (once + all, 0.0),
                false => (once, all),
            };
            (number, self.planner.dice.weigh(once + all * asked.share))
        });
        costs.min_by(|(_, a), (_, b)| a.total_cmp(b))
    }

    /// The steps of the best order of all items.
    fn steps(&self, graph: &Graph, levels: &[Vec<Ordered>]) -> Option<Vec<Step>> {
        let mut steps = Vec::with_capacity(graph.items.len());
        let mut at = 0;
        for size in (1..levels.len()).rev() {
            let (item, way, before) = levels[size].get(at)?.last?;
            let there = levels[size - 1].get(before)?.set;
            steps.push(self.step(graph, item, way, there));
            at = before;
        }
        steps.reverse();
        Some(steps)
    }

    fn step(&self, graph: &Graph, item: usize, way: usize, there: Set) -> Step {
        let way = &graph.items[item].ways[way];
        let is_first = there == 0 && graph.known.is_empty();
        let is_table = !matches!(way.reading, Reading::Tree);
        Step {
            item,
            rows: Some(graph.rows_with(there, item)),
            // How the first of all is read may depend on a wanted order.
            way: (is_table && !is_first)
                .then(|| way.with_rows(graph.rows_with(there, item) / graph.rows(there))),
        }
    }
}

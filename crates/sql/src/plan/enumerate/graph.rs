//! What joins the items of an inner join, and how many rows any set of them is expected to have.
//!
//! A condition over several items is an edge between them, with the share of their combinations that pass it. The rows of a set are the
//! product of its items' own rows and of the shares of the edges inside it:
//!
//! - Of edges that say the same columns are equal ([`equalities`](crate::plan::equalities)) one counts for each item but the first, the one
//!   that lets most pass: with `a = b AND b = c` also `a = c` is an edge, which refuses nothing more.
//! - Several equalities between the same two items are seldom independent. Where an index of either begins with all their columns, it
//!   tells how many combinations are equal in all.

use super::{ITEMS_MAX, Set, only, ways::Way};
use crate::error::Result;
use crate::expr::{CmpOp, Expr, Node};
use crate::plan::filter::selectivity;
use crate::plan::from::{FromInput, Tree};
use crate::plan::join::{Condition, Joiner, ROWS_MIN, own_slot};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::HashMap;

/// The items to join, and the conditions between them.
pub(super) struct Graph<'g> {
    pub trees: &'g [Tree],
    pub pool: &'g [Condition],
    /// The tables that are there before all items, and how many combinations of their rows the join is read for.
    pub known: &'g [usize],
    pub known_rows: f64,
    pub items: Vec<Item>,
    /// Of each table of the block.
    item_of: Vec<Option<usize>>,
    edges: Vec<Edge>,
    /// How many times more combinations of two items pass than their edges say one by one.
    together: Vec<(Set, f64)>,
    rows: RefCell<FxHashMap<Set, f64>>,
}

pub(super) struct Item {
    /// The items that must be there before it.
    pub after: Set,
    /// The items that conditions lead to it from.
    pub joined: Set,
    /// The items that it has conditions with.
    pub named: Set,
    /// Those conditions.
    edges: Vec<usize>,
    /// Its rows that pass its own conditions.
    pub rows: f64,
    /// Of its equalities by which a hash table can be made, the items whose rows are looked up in that.
    pub keys: Vec<Set>,
    /// Its rows are in no tree, so behind others they are kept by a hash table.
    pub kept: bool,
    /// Its rows are locked as they are read, or an index must be used.
    pub locked: bool,
    pub ways: Vec<Way>,
}

/// A condition over several items.
struct Edge {
    items: Set,
    share: f64,
    /// Nothing is known of its share.
    is_guess: bool,
    class: Option<usize>,
    /// How many times more pass than usual, as far as that is known of the rows that meet here.
    skew: f64,
}

/// Returns true if few rows of each of its tables are expected to satisfy a condition together with a row of the others. An OR does that
/// unless it lets most combinations pass of what its branches say of each table alone.
fn leads(condition: &Condition) -> bool {
    match &condition.expr.node {
        Node::Compare(op, ..) => matches!(op, CmpOp::Eq | CmpOp::NullSafeEq),
        Node::Between { negated, .. } | Node::In { negated, .. } => !negated,
        Node::Or(_) => condition.share_of_parts == 1.0,
        _ => false,
    }
}

impl<'g> Graph<'g> {
    /// The items with those that must be there before each.
    pub fn of(
        joiner: &Joiner,
        (trees, pool): (&'g [Tree], &'g [Condition]),
        (known, known_rows): (&'g [usize], f64),
        after: Vec<Set>,
    ) -> Result<Graph<'g>> {
        debug_assert!(trees.len() <= ITEMS_MAX);
        let mut item_of = vec![None; joiner.input.tables.len()];
        for (at, tree) in trees.iter().enumerate() {
            tree.tables()
                .into_iter()
                .for_each(|table| item_of[table] = Some(at));
        }
        let mut graph = Graph {
            item_of,
            trees,
            pool,
            known,
            known_rows,
            items: Vec::with_capacity(trees.len()),
            edges: Vec::new(),
            together: Vec::new(),
            rows: RefCell::default(),
        };
        let (mut joined, mut named) = (vec![0; trees.len()], vec![0; trees.len()]);
        for condition in pool {
            let items = graph.set_of(&condition.tables);
            if items.count_ones() < 2 {
                continue;
            }
            for item in super::members(items) {
                named[item] |= items & !only(item);
                if leads(condition) {
                    joined[item] |= items & !only(item);
                }
            }
            if !condition.late {
                let known = joiner.known_share(&condition.expr);
                let skew = joiner.skew(&condition.expr, pool).unwrap_or(1.0);
                graph.edges.push(Edge {
                    items,
                    share: (joiner.share_of_join(condition) * skew).min(1.0),
                    is_guess: known.is_none(),
                    class: condition.class,
                    skew,
                });
            }
        }
        graph.find_together(joiner);
        for (at, after) in after.into_iter().enumerate() {
            let (joined, named) = (joined[at], named[at]);
            let mut item = joiner.item(&graph, at, Item::new(after, joined, named))?;
            let edges = graph.edges.iter().enumerate();
            let of_item = edges.filter(|(_, edge)| edge.items & only(at) != 0);
            item.edges = of_item.map(|(edge, _)| edge).collect();
            graph.items.push(item);
        }
        graph.ask_indexes();
        Ok(graph)
    }

    /// The items of some tables.
    pub fn set_of(&self, tables: &[usize]) -> Set {
        let items = tables.iter().filter_map(|table| self.item_of[*table]);
        items.fold(0, |set, item| set | only(item))
    }

    /// All items.
    pub fn all(&self) -> Set {
        (0..self.trees.len()).fold(0, |set, item| set | only(item))
    }

    /// The tables of a set of items, and those that are there before all.
    pub fn tables(&self, set: Set) -> Vec<usize> {
        let mut tables = self.known.to_vec();
        super::members(set).for_each(|item| tables.extend(self.trees[item].tables()));
        tables
    }

    /// How many times more rows of an item than usual are found by a row of another, if one edge alone leads there.
    pub fn skew(&self, item: usize, given: Set) -> f64 {
        let pair = only(item) | given;
        let mut edges = self.edges.iter().filter(|edge| edge.items == pair);
        match (edges.next(), edges.next()) {
            (Some(edge), None) => edge.skew,
            _ => 1.0,
        }
    }

    /// Takes for the share of an edge of which nothing is known that of the rows which an index finds by it.
    fn ask_indexes(&mut self) {
        for edge in self.edges.iter_mut().filter(|edge| edge.is_guess) {
            let by_index = super::members(edge.items).filter_map(|item| {
                let given = edge.items & !only(item);
                self.items[item].share_found(given)
            });
            if let Some(share) = by_index.reduce(f64::min) {
                edge.share = share;
            }
        }
    }

    /// How many combinations of the rows of a set's items pass the conditions between them and before.
    pub fn rows(&self, set: Set) -> f64 {
        if let Some(rows) = self.rows.borrow().get(&set) {
            return *rows;
        }
        let mut there = 0;
        let mut rows = self.known_rows;
        for item in super::members(set) {
            rows = self.rows_with(there, item);
            there |= only(item);
        }
        rows
    }

    /// The same of a set and one item more.
    pub fn rows_with(&self, there: Set, item: usize) -> f64 {
        let set = there | only(item);
        if let Some(rows) = self.rows.borrow().get(&set) {
            return *rows;
        }
        let rows = self.rows(there) * self.items[item].rows * self.share_behind(item, there);
        let rows = rows.max(ROWS_MIN);
        self.rows.borrow_mut().insert(set, rows);
        rows
    }

    /// The share of an item's combinations with those that are there which pass the conditions between them.
    fn share_behind(&self, item: usize, there: Set) -> f64 {
        let with = there | only(item);
        let is_new = |set: Set| set & only(item) != 0 && set & !with == 0;
        let mut share = 1.0;
        let mut classes: Vec<(usize, f64)> = Vec::new();
        let of_item = self.items[item].edges.iter().map(|edge| &self.edges[*edge]);
        for edge in of_item.filter(|edge| is_new(edge.items)) {
            match edge.class {
                None => share *= edge.share,
                Some(class) => match classes.iter_mut().find(|(other, _)| *other == class) {
                    Some((_, most)) => *most = most.max(edge.share),
                    None => classes.push((class, edge.share)),
                },
            }
        }
        share *= classes.iter().map(|(_, share)| share).product::<f64>();
        let together = self.together.iter().filter(|(pair, _)| is_new(*pair));
        let more = together.map(|(_, more)| *more).fold(1.0, f64::max);
        (share * more).min(1.0)
    }

    /// Looks for indexes that begin with the columns of several equalities between two items.
    fn find_together(&mut self, joiner: &Joiner) {
        let mut pairs: HashMap<Set, Vec<(&Expr, f64)>> = HashMap::new();
        for condition in self.pool.iter().filter(|condition| !condition.late) {
            let Node::Compare(CmpOp::Eq, _, sides) = &condition.expr.node else {
                continue;
            };
            let [Some(left), Some(right)] = [own_slot(&sides[0]), own_slot(&sides[1])] else {
                continue;
            };
            let items = [left, right].map(|slot| self.item_of[joiner.table_of(slot)]);
            if let [Some(left), Some(right)] = items
                && left != right
            {
                let pair = pairs.entry(only(left) | only(right)).or_default();
                pair.push((&condition.expr, joiner.share_of_join(condition)));
            }
        }
        for (pair, equalities) in pairs.into_iter().filter(|(_, list)| list.len() > 1) {
            let alone: f64 = equalities.iter().map(|(_, share)| share).product();
            let tables = equalities.iter().flat_map(|(e, _)| joiner.classify(e).tables);
            let mut tables: Vec<usize> = tables.collect();
            tables.sort_unstable();
            tables.dedup();
            let of_table = |table: usize| joiner.share_by_index(table, &equalities);
            // The side with more different combinations decides.
            let by_index = tables.into_iter().filter_map(of_table).reduce(f64::min);
            if let Some(share) = by_index.filter(|share| *share > alone) {
                self.together.push((pair, share / alone.max(f64::MIN_POSITIVE)));
            }
        }
    }
}

impl Item {
    fn new(after: Set, joined: Set, named: Set) -> Item {
        Item {
            after,
            joined,
            named,
            edges: Vec::new(),
            rows: 1.0,
            keys: Vec::new(),
            kept: false,
            locked: false,
            ways: Vec::new(),
        }
    }
}

impl Joiner<'_, '_> {
    /// The share of the combinations of its tables' rows that pass a condition.
    fn share_of_join(&self, condition: &Condition) -> f64 {
        let share = self.known_share(&condition.expr);
        let share = share.unwrap_or_else(|| selectivity(&condition.expr, None));
        (share / condition.share_of_parts).min(1.0)
    }

    /// The same, if something is known of it.
    fn known_share(&self, e: &Expr) -> Option<f64> {
        let each = |list: &[Expr]| {
            list.iter()
                .map(|e| self.known_share(e))
                .collect::<Option<Vec<f64>>>()
        };
        match &e.node {
            Node::Or(list) => Some(1.0 - each(list)?.into_iter().map(|share| 1.0 - share).product::<f64>()),
            Node::And(list) => Some(each(list)?.into_iter().product()),
            _ => self.share_of_equality(e),
        }
    }

    /// The share of combinations that are equal in all of several columns, by the longest beginning of an index of one of the tables that
    /// has only such columns.
    fn share_by_index(&self, table: usize, equalities: &[(&Expr, f64)]) -> Option<f64> {
        let from = &self.input.tables[table];
        let FromInput::Stored { def, table } = &from.input else {
            return None;
        };
        let side_of = |e: &Expr, column: usize| match &e.node {
            Node::Compare(_, _, sides) => sides
                .iter()
                .any(|side| own_slot(side) == Some(from.base + column)),
            _ => false,
        };
        let mut best: Option<(usize, f64)> = None;
        for index in def.indexes.iter().filter(|index| def.array_part(index).is_none()) {
            let equals = |column: usize| equalities.iter().any(|(e, _)| side_of(e, column));
            let parts = index
                .parts
                .iter()
                .take_while(|part| part.prefix.is_none() && equals(part.column));
            let columns: Vec<usize> = parts.map(|part| part.column).collect();
            if columns.len() < 2 || best.is_some_and(|(parts, _)| parts >= columns.len()) {
                continue;
            }
            let rows = (table.estimate_rows() as f64).max(1.0);
            let share = table.records_per_key(index.number, columns.len()).max(1.0) / rows;
            let is_inside = |e: &Expr| columns.iter().any(|column| side_of(e, *column));
            let others = equalities.iter().filter(|(e, _)| !is_inside(e));
            let others: f64 = others.map(|(_, share)| share).product();
            best = Some((columns.len(), share * others));
        }
        best.map(|(_, share)| share)
    }
}

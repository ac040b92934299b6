//! Reading a table in a wanted order, so that nothing need be sorted.
//!
//! An index gives the order if its parts, those left out that equal one value, are the wanted columns one after the other, all
//! in its own direction or all against it. Rows that are only to come together in groups may have the columns of the group in any order and
//! direction. Where a LIMIT follows, an index in the right order may be better than the cheapest
//! path even if it leads through more rows: reading stops as soon as there are enough, and locking with it. Where a few rows of each
//! group are all that is wanted, an index may lead from one group to the next ([`super::skip`]).

use super::access::{AccessPath, Request, choose, paths};
use super::filter::{absorbed, counted, selectivity};
use super::prices;
use super::skip::{ValuesWish, skips};
use super::spread::Spread;
use crate::dictionary::IndexDef;
use crate::error::Result;
use crate::expr::{Expr, Node, OUTER};

/// The order in which rows are wanted, and whether only the first few.
#[derive(Default)]
pub(crate) struct OrderWish {
    /// True: descending.
    pub order: Vec<(Expr, bool)>,
    /// Rows that are equal in these, and in what is before them in the order, are to come together.
    pub together: Vec<Expr>,
    /// Only the first few rows are wanted.
    pub limited: bool,
    /// Of rows that are equal in these orders one counts.
    pub distinct: bool,
    /// Not every row is wanted, but the different values of some columns.
    pub values: Option<ValuesWish>,
}

impl OrderWish {
    /// Whether any order will do.
    pub fn is_none(&self) -> bool {
        self.order.is_empty() && self.together.is_empty()
    }
}

/// Which way an index is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forwards,
    Backwards,
}

/// How many rows a LIMIT is taken to ask for.
pub(super) const LIMIT_GUESS: f64 = 10.0;

/// What it costs to sort rows.
pub(super) fn sort_cost(rows: f64) -> f64 {
    rows * rows.max(2.0).log2() * prices::COMPARISON
}

/// The best way of reading a table whose rows are wanted in an order, and the direction in which it gives them so; none if
/// they are still to be sorted.
pub(crate) fn choose_in_order(
    request: &Request,
    wish: &OrderWish,
) -> Result<(AccessPath, Option<Direction>)> {
    let best = choose(request)?;
    let spread = Spread::new(
        request.def,
        request.statistics,
        request.base,
        request.sample,
        request.rows,
    );
    let skips = match &wish.values {
        Some(values) if request.skips => skips(request, values, wish, spread.as_ref())?,
        _ => Vec::new(),
    };
    let given = gives_order(&best, request, wish);
    let in_order = given.as_ref().map(|given| given.direction);
    if in_order.is_some() && skips.is_empty() {
        return Ok((best, in_order));
    }
    // Rows that come together save a table of groups, which is never worth more rows.
    let cost = match &given {
        Some(given) if wish.limited => {
            best.cost * share_looked_at(&best, given, request, wish, spread.as_ref())
        }
        None if wish.limited && wish.together.is_empty() => best.cost + sort_cost(best.rows),
        _ => best.cost,
    };
    let (mut least, mut chosen) = (request.dice.weigh(cost), (best, in_order));
    if wish.limited {
        for path in limited_paths(request, wish)? {
            let Some(given) = gives_order(&path, request, wish) else {
                continue;
            };
            let cost = path.cost * share_looked_at(&path, &given, request, wish, spread.as_ref());
            let cost = request.dice.weigh(cost);
            if cost < least {
                (least, chosen) = (cost, (path, Some(given.direction)));
            }
        }
    }
    for (path, cost) in skips {
        let cost = request.dice.weigh(cost);
        if cost < least {
            let given = gives_order(&path, request, wish).map(|given| given.direction);
            (least, chosen) = (cost, (path, given));
        }
    }
    Ok(chosen)
}

/// The ways of reading a table that may be in a wanted order: from end to end of each index, too.
fn limited_paths(request: &Request, wish: &OrderWish) -> Result<Vec<AccessPath>> {
    let def = request.def;
    let mut candidates = paths(request)?;
    if wish.is_none() {
        return Ok(candidates);
    }
    let rows = request.table.estimate_rows() as f64;
    let has_all_rows = |index: &&IndexDef| request.may_use(index) && def.array_part(index).is_none();
    for index in def.indexes.iter().filter(has_all_rows) {
        let covering = request.table.covers(index.number, request.needed);
        let cost = match index.number == 0 || covering {
            true => rows * prices::ROW,
            false => rows * prices::LOOKUP,
        };
        let cost = cost + request.lock_cost(rows);
        candidates.push(AccessPath::full(index.number, covering, rows, cost));
    }
    Ok(candidates)
}

/// The share of a path's rows that is looked at until there are enough.
fn share_looked_at(
    path: &AccessPath,
    given: &Given,
    request: &Request,
    wish: &OrderWish,
    spread: Option<&Spread>,
) -> f64 {
    let (def, base) = (request.def, request.base);
    let rest = request
        .conjuncts
        .iter()
        .filter(|c| !absorbed(c, path, def, base) && !counted(c, path, def, base));
    let share: f64 = rest.map(|c| selectivity(c, spread)).product();
    let each = match wish.distinct && given.parts > 0 {
        true => request.table.records_per_key(path.index, given.parts).max(1.0),
        false => 1.0,
    };
    let looked = (LIMIT_GUESS * each / share.max(1e-6)).min(path.rows.max(1.0));
    looked / path.rows.max(1.0)
}

/// How a path gives rows in an order.
pub(super) struct Given {
    pub direction: Direction,
    /// The parts of the index that it goes by.
    parts: usize,
}

/// Whether a path gives rows in the order, and in which direction it must be read for that.
pub(super) fn gives_order(path: &AccessPath, request: &Request, wish: &OrderWish) -> Option<Given> {
    if path.is_merged() {
        return wish.is_none().then_some(Given {
            direction: Direction::Forwards,
            parts: 0,
        });
    }
    let (def, base) = (request.def, request.base);
    if path.point {
        // One row at most is in any order of its own values. Of those of a table read for it there may be many.
        let columns = base..base + def.columns.len();
        let own = |e: &Expr| {
            let mut own = true;
            e.walk(&mut |e| {
                own &= match &e.node {
                    Node::Column(slot) => *slot >= OUTER || columns.contains(slot),
                    Node::Subquery { .. } | Node::Routine(_) => false,
                    _ => true,
                }
            });
            own
        };
        let mut all = wish.order.iter().map(|(e, _)| e).chain(&wish.together);
        return all.all(own).then_some(Given {
            direction: Direction::Forwards,
            parts: 0,
        });
    }
    let index = def.index_by_number(path.index)?;
    let primary = def
        .primary()
        .filter(|_| path.index != 0)
        .map_or(&[][..], |index| &index.parts);
    let parts: Vec<_> = index.parts.iter().chain(primary).collect();
    let fixed: Vec<usize> = index
        .parts
        .iter()
        .zip(&path.single_bounds().equal)
        .filter(|(_, equal)| equal.values.len() + equal.null as usize == 1)
        .map(|(part, _)| part.column)
        .collect();
    let column_of = |e: &Expr| match e.node {
        Node::Column(slot) => slot.checked_sub(base).filter(|c| *c < def.columns.len()),
        // The expression of a generated column orders as the column does.
        _ => parts
            .iter()
            .map(|part| part.column)
            .find(|column| request.is_column(e, *column)),
    };
    let mut at = 0;
    let mut found = None;
    for (e, descending) in &wish.order {
        let column = column_of(e)?;
        if fixed.contains(&column) {
            continue;
        }
        while at < parts.len() && fixed.contains(&parts[at].column) {
            at += 1;
        }
        // Behind the whole key of a row there is nothing left to order, in this table.
        if at == parts.len() && def.primary().is_some() {
            continue;
        }
        let part = parts.get(at)?;
        let member = def.columns[column].ty.is_member();
        if part.column != column || part.prefix.is_some() || member {
            return None;
        }
        let direction = match *descending == part.descending {
            true => Direction::Forwards,
            false => Direction::Backwards,
        };
        if *found.get_or_insert(direction) != direction {
            return None;
        }
        at += 1;
    }
    let mut left = Vec::new();
    for e in &wish.together {
        let column = column_of(e)?;
        if !fixed.contains(&column) && !left.contains(&column) {
            left.push(column);
        }
    }
    let ordered = &wish.order;
    left.retain(|column| !ordered.iter().any(|(e, _)| column_of(e) == Some(*column)));
    while !left.is_empty() {
        while at < parts.len() && fixed.contains(&parts[at].column) {
            at += 1;
        }
        if at == parts.len() && def.primary().is_some() {
            break;
        }
        let part = parts.get(at)?;
        let place = left.iter().position(|column| *column == part.column);
        left.swap_remove(place.filter(|_| part.prefix.is_none())?);
        at += 1;
    }
    Some(Given {
        direction: found.unwrap_or(Direction::Forwards),
        parts: at.min(index.parts.len()),
    })
}

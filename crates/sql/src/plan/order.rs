//! Reading a table in a wanted order, so that nothing need be sorted.
//!
//! An index gives the order if its parts, those left out that equal one value, are the wanted columns one after the other, all
//! in its own direction or all against it. Where a LIMIT follows, an index in the right order may be better than the cheapest
//! path even if it leads through more rows: reading stops as soon as there are enough, and locking with it.

use super::access::{AccessPath, LOOKUP_COST, Request, choose, paths};
use super::filter::{absorbed, counted, selectivity};
use super::spread::Spread;
use crate::dictionary::IndexDef;
use crate::error::Result;
use crate::expr::{Expr, Node, OUTER};

/// The order in which rows are wanted, and whether only the first few.
pub(crate) struct OrderWish {
    /// True: descending.
    pub order: Vec<(Expr, bool)>,
    pub limited: bool,
}

/// Which way an index is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Forwards,
    Backwards,
}

/// What it costs to sort a row, for each comparison.
const SORT_COST: f64 = 0.3;
/// How many rows a LIMIT is taken to ask for.
const LIMIT_GUESS: f64 = 10.0;

/// The best way of reading a table whose rows are wanted in an order, and the direction in which it gives them so; none if
/// they are still to be sorted.
pub(crate) fn choose_in_order(
    request: &Request,
    wish: &OrderWish,
) -> Result<(AccessPath, Option<Direction>)> {
    let (def, base) = (request.def, request.base);
    let best = choose(request)?;
    if let Some(direction) = gives_order(&best, request, &wish.order) {
        return Ok((best, Some(direction)));
    }
    if !wish.limited {
        return Ok((best, None));
    }
    let mut candidates = paths(request)?;
    let rows = request.table.estimate_rows() as f64;
    let has_all_rows = |index: &&IndexDef| request.may_use(index) && def.array_part(index).is_none();
    for index in def.indexes.iter().filter(has_all_rows) {
        let covering = request.table.covers(index.number, request.needed);
        let cost = match index.number == 0 || covering {
            true => rows,
            false => rows * LOOKUP_COST,
        };
        candidates.push(AccessPath::full(index.number, covering, rows, cost));
    }
    let spread = Spread::new(def, base, request.sample, request.on_literals);
    let mut least = best.cost + best.rows * best.rows.max(2.0).log2() * SORT_COST;
    let mut chosen = (best, None);
    for path in candidates {
        let Some(direction) = gives_order(&path, request, &wish.order) else {
            continue;
        };
        let rest = request
            .conjuncts
            .iter()
            .filter(|c| !absorbed(c, &path, def, base) && !counted(c, &path, def, base));
        let share: f64 = rest.map(|c| selectivity(c, spread.as_ref())).product();
        let looked = (LIMIT_GUESS / share.max(1e-6)).min(path.rows.max(1.0));
        let cost = path.cost * looked / path.rows.max(1.0);
        if cost < least {
            least = cost;
            chosen = (path, Some(direction));
        }
    }
    Ok(chosen)
}

/// Whether a path gives rows in the order, and in which direction it must be read for that.
fn gives_order(path: &AccessPath, request: &Request, order: &[(Expr, bool)]) -> Option<Direction> {
    let (def, base) = (request.def, request.base);
    if path.point {
        // One row at most is in any order of its own values. Of those of a table read for it there may be many.
        let columns = base..base + def.columns.len();
        let own = |e: &Expr| {
            let mut own = true;
            e.walk(&mut |e| {
                own &= match &e.node {
                    Node::Column(slot) => *slot >= OUTER || columns.contains(slot),
                    Node::Subquery { .. } => false,
                    _ => true,
                }
            });
            own
        };
        return order.iter().all(|(e, _)| own(e)).then_some(Direction::Forwards);
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
    let mut at = 0;
    let mut found = None;
    for (e, descending) in order {
        let column = match e.node {
            Node::Column(slot) => slot.checked_sub(base).filter(|c| *c < def.columns.len())?,
            // The expression of a generated column orders as the column does.
            _ => parts
                .iter()
                .map(|part| part.column)
                .find(|column| request.is_column(e, *column))?,
        };
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
    Some(found.unwrap_or(Direction::Forwards))
}

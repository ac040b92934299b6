//! Skip scans: reading a few rows of each group of an index, and jumping over the others.
//!
//! `SELECT a, MIN(b), MAX(b) FROM t GROUP BY a` asks of an index `(a, b)` for the first and the last entry with each `a`, and `SELECT
//! DISTINCT a` for any one of them. A block can be read so if what it gives depends on nothing but which values of some columns
//! there are ([`ValuesWish`]): those columns, in any order, are the first parts of an index, and at most one more column is asked for its
//! least and greatest value, the next part.
//!
//! The rows that are found are grouped and made distinct like any others, so more of them than need be are no harm: each range of a path
//! may have rows of the same group. Where rows of the group do not satisfy the conditions, the first that does is looked for.

use super::access::{AccessPath, Request, paths};
use super::filter::{absorbed, counted, is_steady, selectivity};
use super::from::FromInput;
use super::logical::Block;
use super::order::{LIMIT_GUESS, OrderWish};
use super::prices;
use super::spread::Spread;
use super::{AGGREGATE, Planner};
use crate::dictionary::{IndexDef, IndexPart};
use crate::error::Result;
use crate::expr::{AggFunc, Aggregate, Expr, Node};
use crate::types::{SqlType, TypeKind};

/// All that a block asks of the rows of its only table.
pub(crate) struct ValuesWish {
    /// The slots of the columns whose different values, together, are wanted.
    slots: Vec<usize>,
    end: Option<End>,
}

/// Of the rows with the same values of them, also those with the ends of another column.
#[derive(Clone, Copy)]
struct End {
    slot: usize,
    least: bool,
    greatest: bool,
}

/// Which entries of an index are read of those that begin with the same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skip {
    /// So many parts have the values that make a group.
    pub parts: usize,
    /// The least value of the next part is wanted, NULL left out.
    pub least: bool,
    /// Its greatest value is wanted.
    pub greatest: bool,
}

impl Skip {
    /// How many parts of the index it goes by.
    pub fn parts_read(self) -> usize {
        self.parts + usize::from(self.least || self.greatest)
    }
}

impl Planner<'_> {
    /// What a block asks of its rows, if that is no more than which values there are.
    pub(super) fn values_wish(&self, block: &Block) -> Option<ValuesWish> {
        let asks = block.tables.len() == 1
            && block.semi_joins.is_empty()
            && block.scalar_joins.is_empty()
            && block.locks[0].is_none()
            && !block.has_windows()
            && !block.has_totals()
            && (block.distinct || block.is_grouped())
            && block.filter.iter().all(is_steady);
        if !asks {
            return None;
        }
        let mut wish = ValuesWish {
            slots: Vec::new(),
            end: None,
        };
        for aggregate in &block.aggregates {
            match ends_of(aggregate) {
                Some(end) => wish.add_end(end)?,
                None if aggregate.distinct => aggregate
                    .inputs()
                    .try_for_each(|e| self.add(&mut wish, block, e))?,
                None => return None,
            }
        }
        let mut shown = block.keys.iter().chain(block.results());
        shown.try_for_each(|e| self.add(&mut wish, block, e))?;
        // Its least value is found by the groups themselves.
        wish.end = wish.end.filter(|end| !wish.slots.contains(&end.slot));
        Some(wish)
    }

    /// Adds the columns of an expression, which has one value for all rows with equal values of them.
    fn add(&self, wish: &mut ValuesWish, block: &Block, e: &Expr) -> Option<()> {
        let mut slots = Vec::new();
        self.slots_of(e, &mut slots);
        let table = &block.tables[0];
        let FromInput::Stored { def, .. } = &table.input else {
            return None;
        };
        let is_plain = matches!(e.node, Node::Column(_));
        for slot in slots {
            let column = slot.checked_sub(table.base).and_then(|at| def.columns.get(at))?;
            let is_exact = tells_apart(&column.ty) && is_steady(e);
            if !is_plain && !is_exact {
                return None;
            }
            if !wish.slots.contains(&slot) {
                wish.slots.push(slot);
            }
        }
        (is_plain || is_steady(e)).then_some(())
    }
}

/// Whether values of a type that are equal are the same.
fn tells_apart(ty: &SqlType) -> bool {
    ty.is_integer()
        || matches!(
            ty.kind,
            TypeKind::Date | TypeKind::DateTime | TypeKind::Time | TypeKind::Year
        )
}

/// The end that MIN or MAX of a column asks for.
fn ends_of(aggregate: &Aggregate) -> Option<End> {
    let [
        Expr {
            node: Node::Column(slot),
            ..
        },
    ] = aggregate.args.as_slice()
    else {
        return None;
    };
    let (least, greatest) = (aggregate.func == AggFunc::Min, aggregate.func == AggFunc::Max);
    (*slot < AGGREGATE && (least || greatest)).then_some(End {
        slot: *slot,
        least,
        greatest,
    })
}

impl ValuesWish {
    fn add_end(&mut self, end: End) -> Option<()> {
        match &mut self.end {
            None => self.end = Some(end),
            Some(before) if before.slot == end.slot => {
                before.least |= end.least;
                before.greatest |= end.greatest;
            }
            Some(_) => return None,
        }
        Some(())
    }

    /// How an index is read for it, if it leads from group to group.
    fn skip(&self, request: &Request, index: &IndexDef) -> Option<Skip> {
        let is_of = |part: &IndexPart, slot: usize| {
            let column = &request.def.columns[part.column];
            request.base + part.column == slot && part.prefix.is_none() && !column.ty.is_member()
        };
        let is_wanted = |part: &IndexPart| self.slots.iter().any(|slot| is_of(part, *slot));
        let parts = match self
            .slots
            .iter()
            .map(|slot| index.parts.iter().position(|part| is_of(part, *slot)))
            .max()
        {
            Some(last) => last? + 1,
            None => 0,
        };
        let has_all = self
            .slots
            .iter()
            .all(|slot| index.parts[..parts].iter().any(|part| is_of(part, *slot)));
        // A part between them that is not wanted only makes more groups.
        debug_assert!(parts == 0 || is_wanted(&index.parts[parts - 1]));
        let skip = match self.end {
            None => Skip {
                parts,
                least: false,
                greatest: false,
            },
            Some(end) => {
                index.parts.get(parts).filter(|part| is_of(part, end.slot))?;
                Skip {
                    parts,
                    least: end.least,
                    greatest: end.greatest,
                }
            }
        };
        (has_all
            && request.def.array_part(index).is_none()
            && index.parts[..parts].iter().all(|part| part.prefix.is_none()))
        .then_some(skip)
    }
}

/// The ways to read a table from group to group, and what each costs.
pub(super) fn skips(
    request: &Request,
    values: &ValuesWish,
    wish: &OrderWish,
    spread: Option<&Spread>,
) -> Result<Vec<(AccessPath, f64)>> {
    let (def, base) = (request.def, request.base);
    let mut found = Vec::new();
    let bounded = paths(request)?;
    for index in def.indexes.iter().filter(|index| request.may_use(index)) {
        let Some(skip) = values.skip(request, index) else {
            continue;
        };
        let rows = request.table.estimate_rows() as f64;
        let covering = request.table.covers(index.number, request.needed);
        let whole = AccessPath::full(index.number, covering, rows, rows);
        let own = bounded
            .iter()
            .filter(|path| path.index == index.number && !path.is_full() && !path.is_merged());
        for path in own.chain([&whole]).filter(|path| !path.point) {
            let each = match skip.parts {
                0 => path.rows,
                parts => request.table.records_per_key(index.number, parts).max(1.0),
            };
            let groups = (path.rows / each).max(1.0);
            let rest = request
                .conjuncts
                .iter()
                .filter(|c| !absorbed(c, path, def, base) && !counted(c, path, def, base));
            let share: f64 = rest.map(|c| selectivity(c, spread)).product();
            let looked = (1.0 / share.max(1e-6)).min(each) * path.row_cost();
            let ends = 1.0 + skip.least as u8 as f64 + skip.greatest as u8 as f64;
            let cost = groups * ends * (prices::JUMP + looked);
            let limited = match wish.limited {
                true => (LIMIT_GUESS / share.max(1e-6) / groups).min(1.0),
                false => 1.0,
            };
            let path = AccessPath {
                skip: Some(skip),
                rows: groups * ends,
                cost,
                ..path.clone()
            };
            // Only groups in the wanted order may be the last that are read.
            let is_ordered = wish.limited && super::order::gives_order(&path, request, wish).is_some();
            found.push((path, if is_ordered { cost * limited } else { cost }));
        }
    }
    Ok(found)
}

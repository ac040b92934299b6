//! The order of an inner join, and how each of its tables is read behind those before it.
//!
//! ```text
//!   items, conditions     graph     which items are joined by what, how many rows any set of them has
//!                        ───────▶
//!   graph                 ways      how an item can be read, and of which others it must know the rows for that
//!                        ───────▶
//!   graph, ways           search    the cheapest order, a way for each of its items
//!                        ───────▶
//! ```
//!
//! An item is a table, or a left join whose tables stay together. Orders are built from the first item on, one more at a time: of the
//! orders of the same items the cheapest is kept, as what they cost further on is the same (dynamic programming over sets, Selinger
//! et al., *Access path selection in a relational database management system*, SIGMOD 1979). It is the same because the rows of a set of
//! items are estimated from its conditions alone, whatever order they were joined in.
//!
//! - [`graph`]: items, conditions between them, rows of sets.
//! - [`ways`]: by an index with values of which items; as a whole; from a hash table.
//! - [`search`]: over sets of items.
//! - [`asked`]: what hints and syntax ask of the order; [`told`]: what the optimizer trace is told.

mod asked;
mod graph;
mod search;
mod told;
mod ways;

pub(super) use ways::Way;

/// A set of items, by their numbers.
type Set = u64;

/// Most items whose order is searched: as many as fit a [`Set`].
const ITEMS_MAX: usize = 64;

/// What is joined next, and how it is read; `None`: as it is built by itself.
pub(super) struct Step {
    pub item: usize,
    pub way: Option<Way>,
    /// Combinations of rows expected when it has been joined, if the order was searched.
    pub rows: Option<f64>,
}

/// The set of a single item.
fn only(item: usize) -> Set {
    1 << item
}

/// The items of a set.
fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..ITEMS_MAX).filter(move |item| set & only(*item) != 0)
}

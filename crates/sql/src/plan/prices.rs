//! What the steps of the executor take: the units of which the cost of a plan is added up.
//!
//! A cost is the processor time that a plan is expected to take, in microseconds, with all pages in memory; EXPLAIN shows it so. Where a
//! price names a line of `bench/operators.py`, it is a rounded measurement of that operator in a release build, and the program is run again
//! when the operator changes: those of hash joins are older than the joins are now. A price that names none is chosen, not measured.

/// From nanoseconds to the unit of costs.
const fn ns(time: f64) -> f64 {
    time / 1000.0
}

/// A row of a scan of the clustered index (`clustered_scan`).
pub(super) const ROW: f64 = ns(100.0);
/// An entry of an index that has all that is needed (`covering_scan`).
pub(super) const ENTRY: f64 = ns(80.0);
/// A row behind an entry of another index, which is looked for from the root of the clustered one on (`secondary_to_row`, less the
/// descent).
pub(super) const LOOKUP: f64 = ns(500.0);
/// A descent to a range of an index (`primary_many`, less the row).
pub(super) const DESCENT: f64 = ns(400.0);
/// To begin to read a whole table. More than it takes, so that a small table is read by an index that leads to fewer rows.
pub(super) const SCAN: f64 = ns(1000.0);
/// To lock a row, and that others may wait for it.
pub(super) const LOCK: f64 = ns(300.0);
/// To see whether a row has been found by another index of a merge.
pub(super) const MERGE: f64 = ns(50.0);
/// To go on from a group of entries to the next in a skip scan, besides its rows.
pub(super) const JUMP: f64 = ns(1200.0);
/// Each comparison of a sort (`sort`).
pub(super) const COMPARISON: f64 = ns(30.0);
/// To put a row into a hash table (`hash_join`, of the side that is kept).
pub(super) const HASH_BUILD: f64 = ns(150.0);
/// To look a row up in one (the same, of the other side).
pub(super) const HASH_PROBE: f64 = ns(60.0);
/// To hand on a row that was found in one.
pub(super) const HASH_RETURN: f64 = ns(30.0);
/// To test a combination of rows.
pub(super) const TEST: f64 = ns(50.0);
/// To begin a subquery, besides its rows.
pub(super) const QUERY: f64 = ns(2000.0);
/// To keep the rows of a derived table, besides what each takes.
pub(super) const KEEP: f64 = ns(1000.0);
/// To keep one of them and read it again.
pub(super) const KEPT_ROW: f64 = ns(100.0);

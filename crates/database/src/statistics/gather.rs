//! Looks at the leaves of a table, one at a time.
//!
//! Between two leaves anything may happen, also that the table is dropped: the caller reads the leaf (`look`) under what locks it needs, and may
//! wait between two. If the table is redefined meanwhile the sample is given up.

use super::TableStatistics;
use super::column::ColumnStatistics;
use super::index::{IndexStatistics, key_columns};
use super::values::{Sampled, Values};
use crate::accounts::now_s;
use crate::dictionary::{IndexDef, TableDef};
use crate::error::Result;
use crate::types::TimeZone;
use tidemark_engine::{LeafSample, PrefixSample, Table};

/// Leaves of the clustered index whose rows are looked at, for each page that the settings name.
const ROW_LEAVES: u64 = 16;
/// Leaves of each index whose keys are looked at, likewise.
const KEY_LEAVES: u64 = 4;
const LEAVES_MAX: u64 = 65_536;
/// Beyond so much memory no further leaf is looked at.
const MEMORY_MAX: usize = 32 << 20;
/// Common values and ends that are kept of all columns together, and of each.
const KEPT_MAX: usize = 8_000;
const KEPT_OF_COLUMN: std::ops::RangeInclusive<usize> = 8..=100;

/// How much of a table is looked at.
#[derive(Clone, Copy, Debug)]
pub struct SampleSize {
    rows: usize,
    keys: usize,
}

impl SampleSize {
    /// By `innodb_stats_persistent_sample_pages`, or what stands in its place.
    pub fn of_pages(pages: u64) -> SampleSize {
        let leaves = |each: u64| pages.saturating_mul(each).clamp(1, LEAVES_MAX) as usize;
        SampleSize {
            rows: leaves(ROW_LEAVES),
            keys: leaves(KEY_LEAVES),
        }
    }
}

/// Calls its argument with the table's handle, once it may be used; an error if it cannot be any more.
pub type Look<'l> = &'l mut dyn FnMut(&mut dyn FnMut(&Table) -> Result<()>) -> Result<()>;

/// Gathers the statistics of a table. `look` is called for each leaf.
pub fn gather(def: &TableDef, size: SampleSize, look: Look) -> Result<TableStatistics> {
    let _room = crate::error::memory::reserve_memory(MEMORY_MAX)?;
    let rows = Rows::gather(def, size, look)?;
    let clustered = std::iter::once(def.primary());
    let secondary = def.indexes.iter().filter(|index| index.number > 0);
    let indexes: Result<Vec<IndexStatistics>> = clustered
        .chain(secondary.map(Some))
        .map(|index| of_index(def, index, size, rows.rows, look))
        .collect();
    Ok(TableStatistics {
        table: def.id,
        updated_s: now_s(),
        rows: rows.rows,
        sampled_leaves: rows.leaves,
        is_whole: rows.is_whole,
        indexes: indexes?,
        columns: rows.columns,
    })
}

/// What the rows say.
struct Rows {
    rows: f64,
    leaves: u64,
    is_whole: bool,
    columns: Vec<ColumnStatistics>,
}

impl Rows {
    fn gather(def: &TableDef, size: SampleSize, look: Look) -> Result<Rows> {
        let columns = def.columns.iter();
        let mut columns: Vec<Values> = columns
            .map(|column| Values::new(&column.name, &column.ty))
            .collect();
        let mut sample = LeafSample::scattered(size.rows);
        let (mut count, mut weighted, mut stood_for) = (0u64, 0.0, 0.0);
        let mut is_over = false;
        while !is_over && columns.iter().map(Values::bytes).sum::<usize>() <= MEMORY_MAX {
            look(&mut |table| {
                let leaf = sample.visited() as u32;
                let weight = table.sample_rows(&mut sample, &mut |row, weight| {
                    count += 1;
                    weighted += weight;
                    for (at, (column, values)) in def.columns.iter().zip(&mut columns).enumerate() {
                        let value = row.get(at).map(|datum| column.ty.load(datum, &TimeZone::UTC));
                        values.take(value.as_ref(), leaf, weight)?;
                    }
                    Ok(())
                })?;
                stood_for += weight.unwrap_or(0.0);
                is_over = weight.is_none();
                Ok(())
            })?;
        }
        let visited = sample.visited() as f64;
        let is_whole = sample.is_whole();
        let scale = size.rows as f64 / visited.max(1.0);
        let rows = if is_whole { count as f64 } else { weighted * scale };
        let sampled = Sampled {
            rows,
            share: visited / (stood_for * scale).max(visited).max(1.0),
            is_whole,
            most: (KEPT_MAX / columns.len().max(1)).clamp(*KEPT_OF_COLUMN.start(), *KEPT_OF_COLUMN.end()),
        };
        Ok(Rows {
            rows,
            leaves: sample.visited() as u64,
            is_whole,
            columns: columns
                .into_iter()
                .map(|values| values.finish(&sampled))
                .collect(),
        })
    }
}

/// What an index says; `rows`: those of the table.
fn of_index(
    def: &TableDef,
    index: Option<&IndexDef>,
    size: SampleSize,
    rows: f64,
    look: Look,
) -> Result<IndexStatistics> {
    let number = index.map_or(0, |index| index.number);
    let keys = key_columns(def, index);
    let mut sample = PrefixSample::new(keys.iter().map(|(_, parts)| *parts), size.keys);
    let mut is_over = false;
    while !is_over {
        look(&mut |table| {
            is_over = !table.sample_keys(number, &mut sample)?;
            Ok(())
        })?;
    }
    let (mut per_key, mut leaves) = (Vec::new(), 0);
    look(&mut |table| {
        per_key = table.records_per_prefix(number, &sample)?;
        leaves = table.estimate_leaves(number);
        Ok(())
    })?;
    // All that tells entries apart tells all rows apart, but for NULLs in a unique index.
    if let Some(whole) = per_key
        .last_mut()
        .filter(|_| index.is_none_or(|index| !index.unique))
    {
        *whole = 1.0;
    }
    let distinct = per_key.into_iter().map(|rows_of_key| rows / rows_of_key.max(1.0));
    let columns = keys.into_iter().map(|(name, _)| name).collect();
    let sampled_leaves = sample.leaves() as u64;
    Ok(IndexStatistics {
        sampled_leaves,
        ..IndexStatistics::of(index, columns, distinct.collect(), leaves)
    })
}

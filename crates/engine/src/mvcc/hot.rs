//! Statistics of the rows that change most and of the longest chains, by sampling outside the statements' own work.
//!
//! An update of a row leaves a version, so a page full of versions is a record of what its session changed lately. When
//! a session has filled a page, one of [`ONE_IN`] is examined: rows with more than one version in it are counted, and
//! rows with a long chain are noted. Counts are halved every [`HALVED_EVERY`], so that they describe the last seconds,
//! and there are never more than [`ROWS_MAX`] rows.

use super::versions::{ENTRY, each_in};
use crate::ids::TableId;
use crate::pool::PageBuf;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// One in so many filled pages is examined.
pub(super) const ONE_IN: u32 = 4;
const HALVED_EVERY: Duration = Duration::from_secs(10);
const ROWS_MAX: usize = 256;
/// A chain of at least this many versions is noted, however seldom its row changes.
const LONG: u32 = 8;

/// A row that is changed often, or has many versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotRow {
    /// The table.
    pub table: TableId,
    /// Its key in the clustered index.
    pub key: Vec<u8>,
    /// Changes in the last ten to twenty seconds, estimated.
    pub updates: u64,
    /// How many old versions it had when it was last looked at.
    pub versions: u32,
}

#[derive(Default)]
pub(crate) struct HotRows(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    rows: HashMap<(TableId, Vec<u8>), Count>,
    halved: Option<Instant>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    updates: u64,
    versions: u32,
}

impl HotRows {
    /// Examines a page that is full of versions.
    pub fn sample(&self, page: &PageBuf) {
        let mut seen: HashMap<(TableId, &[u8]), Count> = HashMap::new();
        each_in(page, &mut |version, key| {
            // A change counts whether its version is still needed or was pruned since; a mere purge task does not.
            if version.flags & ENTRY == 0 && version.writer != version.superseder {
                let count = seen.entry((version.table, key)).or_default();
                count.updates += 1;
                count.versions = version.below + 1;
            }
        });
        seen.retain(|_, count| count.updates > 1 || count.versions >= LONG);
        let mut counts = self.0.lock();
        counts.fade(Instant::now());
        for ((table, key), count) in seen {
            let row = counts.rows.entry((table, key.to_vec())).or_default();
            row.updates += count.updates * u64::from(ONE_IN);
            row.versions = count.versions;
        }
        while counts.rows.len() > ROWS_MAX {
            counts.halve();
        }
    }

    /// The rows with the most changes; between equals, those with the longest chains.
    pub fn hottest(&self, most: usize) -> Vec<HotRow> {
        let mut counts = self.0.lock();
        counts.fade(Instant::now());
        let rows = counts.rows.iter().map(|((table, key), count)| HotRow {
            table: *table,
            key: key.clone(),
            updates: count.updates,
            versions: count.versions,
        });
        let mut rows: Vec<HotRow> = rows.collect();
        rows.sort_by_key(|row| std::cmp::Reverse((row.updates, row.versions)));
        rows.truncate(most);
        rows
    }

    /// Versions in the longest chain seen lately.
    pub fn longest_chain(&self) -> u32 {
        let mut counts = self.0.lock();
        counts.fade(Instant::now());
        counts
            .rows
            .values()
            .map(|count| count.versions)
            .max()
            .unwrap_or(0)
    }
}

impl Counts {
    fn fade(&mut self, now: Instant) {
        let halved = *self.halved.get_or_insert(now);
        let periods = now.duration_since(halved).as_secs() / HALVED_EVERY.as_secs();
        for _ in 0..periods.min(u64::BITS.into()) {
            self.halve();
        }
        self.halved = Some(halved + HALVED_EVERY * periods as u32);
    }

    fn halve(&mut self) {
        self.rows.retain(|_, count| {
            count.updates /= 2;
            count.updates > 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TxnId;
    use crate::mvcc::versions::{LINKED, PURGE, RECORDS_AT, record_len, write};
    use crate::mvcc::{Address, Version};

    fn page(keys: &[(&[u8], u32)]) -> Box<PageBuf> {
        let records: Vec<_> = keys
            .iter()
            .map(|(key, below)| (*key, *below, LINKED, 1))
            .collect();
        page_of(&records)
    }

    /// Records of a key, versions below, flags and the writer of what transaction 2 replaced.
    fn page_of(records: &[(&[u8], u32, u8, u64)]) -> Box<PageBuf> {
        let mut page = PageBuf::zeroed();
        let mut at = RECORDS_AT;
        for (key, below, flags, writer) in records {
            let version = Version {
                flags: *flags,
                row_flags: 0,
                writer: TxnId(*writer),
                superseder: TxnId(2),
                older: Address::NONE,
                table: TableId(7),
                indexes: 0,
                pruner_mark: 0,
                below: *below,
            };
            write(&mut page, at, &version, key, b"columns");
            at += record_len(key, b"columns");
        }
        page
    }

    #[test]
    fn rows_that_stand_out_are_counted_and_fade() {
        let hot = HotRows::default();
        for _ in 0..10 {
            hot.sample(&page(&[
                (b"hot", 0),
                (b"cold", 0),
                (b"hot", 1),
                (b"hot", 2),
                (b"long", 40),
            ]));
        }
        let rows = hot.hottest(10);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (&row.key[..], row.updates, row.versions))
            .collect();
        assert_eq!(shown, [(&b"hot"[..], 120, 3), (b"long", 40, 41)]);
        assert_eq!((hot.hottest(1).len(), hot.longest_chain()), (1, 41));
        {
            let mut counts = hot.0.lock();
            let now = Instant::now();
            counts.fade(now + HALVED_EVERY * 3);
            assert_eq!(counts.rows.values().map(|count| count.updates).max(), Some(15));
            counts.fade(now + HALVED_EVERY * 10_000);
            assert!(counts.rows.is_empty());
        }
        let many: Vec<[u8; 4]> = (0..100u32).map(u32::to_be_bytes).collect();
        for round in 0..8u8 {
            let keys: Vec<Vec<u8>> = many.iter().map(|key| [&[round], &key[..]].concat()).collect();
            let twice: Vec<(&[u8], u32)> = keys.iter().chain(&keys).map(|key| (&key[..], 0)).collect();
            hot.sample(&page(&twice[..150]));
            hot.sample(&page(&twice[..150]));
        }
        assert!(hot.0.lock().rows.len() <= ROWS_MAX);
    }

    /// Beside an old view nearly all versions of a hot row have been pruned by the time its page is full.
    #[test]
    fn changes_count_whatever_became_of_their_versions() {
        let hot = HotRows::default();
        let (pruned, task, own) = (0, ENTRY | PURGE, 2);
        hot.sample(&page_of(&[
            (b"row", 1, pruned, 1),
            (b"row", 1, pruned, 1),
            (b"row", 2, LINKED, 1),
            (b"entry", 0, task, 1),
            (b"entry", 0, task, 1),
            (b"again", 0, PURGE, own),
            (b"again", 0, PURGE, own),
        ]));
        let rows = hot.hottest(10);
        let shown: Vec<_> = rows
            .iter()
            .map(|row| (&row.key[..], row.updates, row.versions))
            .collect();
        assert_eq!(shown, [(&b"row"[..], 3 * u64::from(ONE_IN), 3)]);
    }
}

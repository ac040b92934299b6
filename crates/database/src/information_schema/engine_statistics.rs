//! What is known of tables and their indexes ([`crate::statistics`]), as InnoDB tells of it: `mysql.innodb_table_stats` and
//! `mysql.innodb_index_stats`.
//!
//! A table of which nothing was gathered yet is shown as InnoDB shows one that was just made, with what its trees tell now.

use super::engine_tables::base_tables;
use super::rows::string;
use crate::context::SessionState;
use crate::dictionary::{IndexDef, TableDef};
use crate::error::Result;
use crate::monitor::refresh::is_persistent;
use crate::show::objects::at_time;
use crate::statistics::{IndexStatistics, TableStatistics, key_columns};
use crate::types::Value;
use std::sync::Arc;
use tidemark_engine::{PAGE_SIZE, Table};

type Made = Result<Vec<Vec<Value>>>;

/// A table whose statistics outlive a restart.
struct Shown {
    def: Arc<TableDef>,
    stored: Arc<Table>,
    known: Option<Arc<TableStatistics>>,
}

fn shown(state: &SessionState) -> impl Iterator<Item = Shown> {
    let database = &state.database;
    let persistent = base_tables(state).filter(move |def| is_persistent(database, def));
    persistent.filter_map(move |def| {
        Some(Shown {
            stored: database.engine().table(def.id).ok()?,
            known: database.statistics_of(def.id),
            def,
        })
    })
}

impl Shown {
    fn updated(&self, state: &SessionState) -> Value {
        let known = self.known.as_ref().map(|known| known.updated_s);
        at_time(state, known.unwrap_or(self.def.options.created))
    }

    /// The clustered index first; `None`: it has no name.
    fn indexes(&self) -> impl Iterator<Item = Option<&IndexDef>> {
        let secondary = self.def.indexes.iter().filter(|index| index.number > 0);
        std::iter::once(self.def.primary()).chain(secondary.map(Some))
    }

    fn index(&self, index: Option<&IndexDef>) -> IndexStatistics {
        let known = self.known.as_ref();
        let known = known.and_then(|known| known.index(&self.def, index));
        known.cloned().unwrap_or_else(|| self.of_now(index))
    }

    /// What the index's tree tells now.
    fn of_now(&self, index: Option<&IndexDef>) -> IndexStatistics {
        let number = index.map_or(0, |index| index.number);
        let rows = self.stored.estimate_rows() as f64;
        let columns: Vec<String> = key_columns(&self.def, index)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        let own_parts = index.map_or(0, |index| index.parts.len());
        let distinct = (1..=columns.len()).map(|parts| match parts > own_parts {
            true => rows,
            false => rows / self.stored.records_per_key(number, parts).max(1.0),
        });
        let distinct = distinct.collect();
        IndexStatistics::of(index, columns, distinct, self.stored.estimate_leaves(number))
    }
}

pub fn tables(state: &SessionState) -> Made {
    let row = |shown: Shown| {
        let (clustered, others) = match &shown.known {
            Some(known) => {
                let mut pages = known.indexes.iter().map(|index| index.pages);
                (pages.next().unwrap_or(1), pages.sum::<u64>())
            }
            None => {
                let (clustered, others) = shown.stored.size_bytes();
                (clustered / PAGE_SIZE as u64, others / PAGE_SIZE as u64)
            }
        };
        let rows = match &shown.known {
            Some(known) => known.rows.round() as u64,
            None => shown.stored.estimate_rows(),
        };
        vec![
            string(&shown.def.schema),
            string(&shown.def.name),
            shown.updated(state),
            Value::UInt(rows),
            Value::UInt(clustered),
            Value::UInt(others),
        ]
    };
    Ok(self::shown(state).map(row).collect())
}

pub fn indexes(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for shown in self::shown(state) {
        let mut indexes: Vec<IndexStatistics> = shown.indexes().map(|index| shown.index(index)).collect();
        indexes.sort_by(|a, b| a.name.cmp(&b.name));
        for index in &indexes {
            let mut add = |name: String, value: u64, sampled: Value, what: String| {
                rows.push(vec![
                    string(&shown.def.schema),
                    string(&shown.def.name),
                    string(&index.name),
                    shown.updated(state),
                    string(name),
                    Value::UInt(value),
                    sampled,
                    string(what),
                ]);
            };
            for (at, distinct) in index.distinct.iter().enumerate() {
                let name = format!("n_diff_pfx{:02}", at + 1);
                let columns = index.columns[..=at].join(",");
                add(
                    name,
                    distinct.round() as u64,
                    Value::UInt(index.sampled_leaves),
                    columns,
                );
            }
            let leaves = "Number of leaf pages in the index".to_owned();
            add("n_leaf_pages".to_owned(), index.leaves, Value::Null, leaves);
            let pages = "Number of pages in the index".to_owned();
            add("size".to_owned(), index.pages, Value::Null, pages);
        }
    }
    Ok(rows)
}

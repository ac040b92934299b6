//! The engine's tables, indexes and pool as InnoDB's are told of in `information_schema`: `INNODB_TABLES`, `INNODB_INDEXES`,
//! `INNODB_FIELDS`, `INNODB_TABLESTATS`, `INNODB_DATAFILES`, `INNODB_TABLESPACES_BRIEF`, `INNODB_BUFFER_POOL_STATS`.
//!
//! All tables are in one file, which stands for InnoDB's system tablespace, number 0. An index has the number of the tree that it is.

use super::rows::{in_database, require_process, stored_tables, string};
use crate::context::SessionState;
use crate::dictionary::TableDef;
use crate::error::Result;
use crate::show::create::next_auto_increment;
use crate::show::objects::row_format;
use crate::types::Value;
use std::sync::Arc;
use tidemark_engine::PAGE_SIZE;
use tidemark_engine::disk::counted::FileKind;

type Made = Result<Vec<Vec<Value>>>;

/// Columns that InnoDB adds to each table: row id, transaction, undo record. A row here carries the last two.
const HIDDEN_COLUMNS: i64 = 3;

/// Base tables, not views.
pub(super) fn base_tables(state: &SessionState) -> impl Iterator<Item = Arc<TableDef>> {
    stored_tables(state).filter(|table| table.view.is_none())
}

pub fn tables(state: &SessionState) -> Made {
    require_process(state)?;
    let engine = state.database.engine();
    let row = |table: Arc<TableDef>| {
        let row_versions = engine.table(table.id).map_or(0, |stored| stored.row_versions());
        vec![
            Value::UInt(table.id.0),
            string(in_database(&table.schema, &table.name)),
            Value::Int(33),
            Value::Int(table.columns.len() as i64 + HIDDEN_COLUMNS),
            Value::Int(0),
            string(row_format(&table)),
            Value::UInt(0),
            string("System"),
            Value::Int(0),
            Value::Int(row_versions as i64),
        ]
    };
    Ok(base_tables(state).map(row).collect())
}

/// An index of a table as InnoDB has it: each table has a clustered one, named or not.
pub(super) struct Listed {
    pub id: u64,
    root: u64,
    pub name: String,
    /// InnoDB's number for its kind.
    kind: i64,
    /// The columns of its key.
    key: Vec<usize>,
    is_clustered: bool,
}

/// InnoDB's numbers of kinds of indexes; the sum of what holds.
const CLUSTERED: i64 = 1;
const UNIQUE: i64 = 2;

pub(super) fn indexes_of(state: &SessionState, table: &TableDef) -> Vec<Listed> {
    let Ok(stored) = state.database.engine().table(table.id) else {
        return Vec::new();
    };
    let trees = stored.trees().into_iter().enumerate();
    let listed = trees.map(|(number, (id, root))| {
        let def = table.index_by_number(number);
        let is_clustered = number == 0;
        let parts = def.map_or(&[][..], |index| &index.parts);
        let unique = if def.is_some_and(|index| index.unique) {
            UNIQUE
        } else {
            0
        };
        Listed {
            id: id.0,
            root: u64::from(root.0),
            name: def.map_or("GEN_CLUST_INDEX".to_owned(), |index| index.name.clone()),
            kind: unique + if is_clustered { CLUSTERED } else { 0 },
            key: parts.iter().map(|part| part.column).collect(),
            is_clustered,
        }
    });
    listed.collect()
}

/// Entries hold the key, and then the rest of the row, or of its primary key.
fn fields(table: &TableDef, index: &Listed) -> usize {
    if index.is_clustered {
        let hidden = if index.key.is_empty() {
            HIDDEN_COLUMNS
        } else {
            HIDDEN_COLUMNS - 1
        };
        return table.columns.len() + hidden as usize;
    }
    let Some(primary) = table.primary() else {
        return index.key.len() + 1;
    };
    let beside = primary
        .parts
        .iter()
        .filter(|part| !index.key.contains(&part.column));
    index.key.len() + beside.count()
}

pub fn indexes(state: &SessionState) -> Made {
    require_process(state)?;
    let mut rows = Vec::new();
    for table in base_tables(state) {
        for index in indexes_of(state, &table) {
            rows.push(vec![
                Value::UInt(index.id),
                string(&index.name),
                Value::UInt(table.id.0),
                Value::Int(index.kind),
                Value::Int(fields(&table, &index) as i64),
                Value::Int(index.root as i64),
                Value::Int(0),
                Value::Int(50),
            ]);
        }
    }
    Ok(rows)
}

pub fn key_fields(state: &SessionState) -> Made {
    require_process(state)?;
    let mut rows = Vec::new();
    for table in base_tables(state) {
        for index in indexes_of(state, &table) {
            for (at, column) in index.key.iter().enumerate() {
                rows.push(vec![
                    string(index.id.to_string()),
                    string(&table.columns[*column].name),
                    Value::UInt(at as u64),
                ]);
            }
        }
    }
    Ok(rows)
}

pub fn statistics(state: &SessionState) -> Made {
    require_process(state)?;
    let engine = state.database.engine();
    let row = |table: Arc<TableDef>| {
        let stored = engine.table(table.id).ok()?;
        let (data, secondary) = stored.size_bytes();
        Some(vec![
            Value::UInt(table.id.0),
            string(in_database(&table.schema, &table.name)),
            string("Initialized"),
            Value::UInt(stored.estimate_rows()),
            Value::UInt(data / PAGE_SIZE as u64),
            Value::UInt(secondary / PAGE_SIZE as u64),
            Value::UInt(0),
            Value::UInt(next_auto_increment(state, &table).unwrap_or(0)),
            Value::Int(Arc::strong_count(&table) as i64),
        ])
    };
    Ok(base_tables(state).filter_map(row).collect())
}

/// As `INNODB_TABLESPACES` names the file.
const FILE: &str = "innodb_system";

pub fn data_files(state: &SessionState) -> Made {
    require_process(state)?;
    Ok(vec![vec![string("0"), string(path(state))]])
}

pub fn tablespaces_brief(state: &SessionState) -> Made {
    require_process(state)?;
    let row = [
        string("0"),
        string(FILE),
        string(path(state)),
        string("0"),
        string("System"),
    ];
    Ok(vec![row.to_vec()])
}

/// The file of pages, below the data directory.
fn path(state: &SessionState) -> String {
    let files = state.database.engine().files().all();
    let data = files.into_iter().find(|file| file.kind == FileKind::Data);
    format!("./{}", data.map_or(String::new(), |file| file.name))
}

pub fn pool(state: &SessionState) -> Made {
    require_process(state)?;
    let status = state.database.engine().status();
    let missed = (status.pool_reads.saturating_sub(status.pool_reads_ahead) * 1000)
        .checked_div(status.page_requests)
        .unwrap_or(0);
    let mut row = vec![Value::UInt(0); 32];
    let mut put = |at: usize, value: u64| row[at] = Value::UInt(value);
    put(1, status.pool_pages_total);
    put(2, status.pool_pages_free);
    put(3, status.pool_pages_data);
    put(5, status.pool_pages_dirty);
    put(14, status.pool_reads);
    put(15, status.pages_created);
    put(16, status.pool_pages_written);
    put(20, status.page_requests);
    put(21, 1000 - missed.min(1000));
    put(24, status.pool_reads_ahead);
    for rate in [12, 13, 17, 18, 19, 26, 27] {
        row[rate] = Value::Double(0.0);
    }
    Ok(vec![row])
}

//! The pages of the pool as InnoDB's are told of: `information_schema.INNODB_BUFFER_PAGE`, `INNODB_BUFFER_PAGE_LRU` and
//! `INNODB_CACHED_INDEXES`.
//!
//! A pool may have a million pages. Their rows are made one at a time while they are read and never stand together; beside them
//! there is a name for each index. The walk goes frame by frame and holds no latch and no lock, so it stops nobody, and what it tells is of many
//! moments: a page that moves meanwhile may be met twice or not at all. A page that another thread changes as the walk comes by has its number alone.
//!
//! The order of `INNODB_BUFFER_PAGE_LRU` is that in which the clock's hand comes by: it goes round and takes what was not used since. Such a page is old here.
//! Pages do not remember when they were used: ACCESS_TIME is 0.

use super::engine_tables::{base_tables, indexes_of};
use super::rows::{require_process, string};
use crate::context::SessionState;
use crate::error::Result;
use crate::types::Value;
use std::collections::{BTreeMap, HashMap};
use tidemark_engine::{IndexId, PageId, PageInPool, page_type};

/// What takes the rows; false ends the walk.
pub type TakeRow<'t> = &'t mut dyn FnMut(&[Value]) -> Result<bool>;

/// InnoDB's number of the tablespace of temporary tables.
const TEMPORARY_SPACE: u64 = 4_294_967_293;

/// By their trees, how tables and indexes are called.
type Names = HashMap<IndexId, (Value, Value)>;

fn names(state: &SessionState) -> Names {
    let mut names = HashMap::new();
    for table in base_tables(state) {
        let quoted = |name: &str| name.replace('`', "``");
        let of_table = string(format!("`{}`.`{}`", quoted(&table.schema), quoted(&table.name)));
        for index in indexes_of(state, &table) {
            names.insert(IndexId(index.id), (of_table.clone(), string(&index.name)));
        }
    }
    names
}

/// InnoDB's word for what a page holds.
fn kind(page: &PageInPool) -> &'static str {
    match page.content.map(|content| content.page_type) {
        Some(page_type::SUPERBLOCK) => "FILE_SPACE_HEADER",
        Some(page_type::BITMAP) => "EXTENT_DESCRIPTOR",
        Some(page_type::TREE) => "INDEX",
        Some(page_type::OVERFLOW) => "BLOB",
        Some(page_type::VERSIONS) => "UNDO_LOG",
        Some(page_type::FREE) => "ALLOCATED",
        _ => "UNKNOWN",
    }
}

/// The columns from SPACE to COMPRESSED_SIZE, which both tables have.
fn described(page: &PageInPool, names: &Names) -> Vec<Value> {
    let number = page.page.0;
    let (space, number) = match page.page.is_scratch() {
        true => (TEMPORARY_SPACE, number - PageId::SCRATCH_FIRST),
        false => (0, number),
    };
    let content = page.content;
    let index = content.and_then(|content| content.index);
    let (table, index) = index
        .and_then(|index| names.get(&index).cloned())
        .unwrap_or((Value::Null, Value::Null));
    let of_content = |value: Option<u64>| Value::UInt(value.unwrap_or(0));
    vec![
        Value::UInt(space),
        Value::UInt(number.into()),
        string(kind(page)),
        Value::UInt(0),
        Value::UInt(page.users.into()),
        string("NO"),
        of_content(content.map(|content| content.newest_change)),
        Value::UInt(page.oldest_change),
        Value::UInt(0),
        table,
        index,
        of_content(content.map(|content| content.entries)),
        of_content(content.map(|content| content.bytes)),
        Value::UInt(0),
    ]
}

/// A frame without a page.
const NONE: PageInPool = PageInPool {
    page: PageId(0),
    users: 0,
    is_old: false,
    oldest_change: 0,
    content: None,
};

pub fn buffer_page(state: &SessionState, take: TakeRow) -> Result<()> {
    require_process(state)?;
    let (engine, names) = (state.database.engine(), names(state));
    for frame in 0..engine.pool_frames() {
        let page = engine.page_in_frame(frame);
        let described = described(page.as_ref().unwrap_or(&NONE), &names);
        let mut row = vec![Value::UInt(0), Value::UInt(frame as u64)];
        row.extend(described);
        row.extend([
            string(if page.is_some() { "FILE_PAGE" } else { "NOT_USED" }),
            string("IO_NONE"),
            string(yes(page.is_some_and(|page| page.is_old))),
            Value::UInt(0),
            string("NO"),
        ]);
        if !take(&row)? {
            break;
        }
    }
    Ok(())
}

pub fn buffer_page_lru(state: &SessionState, take: TakeRow) -> Result<()> {
    require_process(state)?;
    let (engine, names) = (state.database.engine(), names(state));
    let (frames, hand) = (engine.pool_frames(), engine.pool_hand());
    let mut position = 0;
    for frame in (hand..frames).chain(0..hand) {
        let Some(page) = engine.page_in_frame(frame) else {
            continue;
        };
        let mut row = vec![Value::UInt(0), Value::UInt(position)];
        row.extend(described(&page, &names));
        row.extend([
            string("NO"),
            string("IO_NONE"),
            string(yes(page.is_old)),
            Value::UInt(0),
        ]);
        position += 1;
        if !take(&row)? {
            break;
        }
    }
    Ok(())
}

pub fn cached_indexes(state: &SessionState, take: TakeRow) -> Result<()> {
    require_process(state)?;
    let engine = state.database.engine();
    let mut pages: BTreeMap<IndexId, u64> = BTreeMap::new();
    for frame in 0..engine.pool_frames() {
        let content = engine.page_in_frame(frame).and_then(|page| page.content);
        if let Some(index) = content.and_then(|content| content.index) {
            *pages.entry(index).or_default() += 1;
        }
    }
    for (index, count) in pages {
        if !take(&[Value::UInt(0), Value::UInt(index.0), Value::UInt(count)])? {
            break;
        }
    }
    Ok(())
}

fn yes(is: bool) -> &'static str {
    if is { "YES" } else { "NO" }
}

//! SHOW for databases, tables, columns and indexes.

use super::create::{escaped, extra, next_auto_increment, plain_default, statistics_options, visible_table};
use super::{optional, string};
use crate::accounts::Privileges;
use crate::context::SessionState;
use crate::context::answer::{ResultRows, bigint, caseless_name, exact_name, text};
use crate::dictionary::{ColumnDef, IndexDef, IndexPart, TableDef, is_open_schema, virtual_schema};
use crate::error::{Result, SqlError};
use crate::parse::ast::{ObjectName, ShowFilter};
use crate::types::{SqlType, TypeKind, Value};
use std::sync::Arc;

/// `Database`, or `Database (pattern)` as MySQL heads a filtered list.
fn heading(base: &str, filter: &ShowFilter) -> String {
    match filter {
        ShowFilter::Like(pattern) => format!("{base} ({})", String::from_utf8_lossy(pattern)),
        _ => base.to_owned(),
    }
}

pub fn databases(state: &SessionState, filter: &ShowFilter) -> Result<ResultRows> {
    let mut rows = ResultRows::new(&[(&heading("Database", filter), exact_name(64))]);
    for name in state.database.dictionary().schema_names() {
        if state.lists_database(&name) {
            rows.push(vec![string(name)]);
        }
    }
    Ok(rows)
}

/// The tables of a database that the account may see, by name.
pub fn visible_tables(state: &SessionState, schema: &str) -> Vec<Arc<TableDef>> {
    if let Some(schema) = virtual_schema(schema) {
        let mut tables = crate::dictionary::virtual_tables::tables(schema);
        tables.retain(|table| state.sees_table(&table.schema, &table.name));
        return tables;
    }
    let mut tables = state.database.dictionary().tables(schema);
    tables.retain(|table| state.sees_table(&table.schema, &table.name));
    tables
}

/// The database that a SHOW names, or the current one. Errors 1046 and 1049.
fn existing_or_current<'a>(state: &'a SessionState, schema: Option<&'a str>) -> Result<&'a str> {
    let schema = match schema {
        Some(schema) => schema,
        None => state.current_schema()?,
    };
    match state.database.dictionary().schema(schema) {
        Some(_) => Ok(schema),
        None => Err(SqlError::unknown_database(schema)),
    }
}

/// Likewise, and error 1044 if the account holds nothing there.
pub fn schema_or_current<'a>(state: &'a SessionState, schema: Option<&'a str>) -> Result<&'a str> {
    let schema = existing_or_current(state, schema)?;
    if !state.sees_database(schema) {
        return Err(state.database_denied(schema));
    }
    Ok(schema)
}

pub fn tables(
    state: &SessionState,
    schema: Option<&str>,
    full: bool,
    filter: &ShowFilter,
) -> Result<ResultRows> {
    let schema = schema_or_current(state, schema)?;
    let shown = virtual_schema(schema).unwrap_or(schema);
    let heading = heading(&format!("Tables_in_{shown}"), filter);
    let mut rows = if full {
        ResultRows::new(&[(&heading, exact_name(64)), ("Table_type", exact_name(11))])
    } else {
        ResultRows::new(&[(&heading, exact_name(64))])
    };
    for table in visible_tables(state, schema) {
        let mut row = vec![string(&table.name)];
        if full {
            row.push(string(table_type(&table)));
        }
        rows.push(row);
    }
    Ok(rows)
}

pub fn table_type(table: &TableDef) -> &'static str {
    if table.is_view() {
        "VIEW"
    } else if is_open_schema(&table.schema) {
        "SYSTEM VIEW"
    } else {
        "BASE TABLE"
    }
}

/// SHOW OPEN TABLES: of all databases unless one is named. Every table is open from the moment when it is known.
pub fn open_tables(state: &SessionState, schema: Option<&str>) -> Result<ResultRows> {
    let schemas = match schema {
        Some(_) => vec![existing_or_current(state, schema)?.to_owned()],
        None => state.database.dictionary().schema_names(),
    };
    let mut rows = ResultRows::new(&[
        ("Database", exact_name(64)),
        ("Table", exact_name(64)),
        ("In_use", bigint()),
        ("Name_locked", bigint()),
    ]);
    let tables = schemas.iter().flat_map(|schema| visible_tables(state, schema));
    for table in tables.filter(|table| !table.is_virtual()) {
        rows.push(vec![
            string(&table.schema),
            string(&table.name),
            Value::Int(0),
            Value::Int(0),
        ]);
    }
    Ok(rows)
}

/// Figures of a table for SHOW TABLE STATUS and information_schema.TABLES.
struct Figures {
    rows: u64,
    average: u64,
    data_bytes: u64,
    index_bytes: u64,
    /// All tables share one file, and what is free in it.
    free_bytes: u64,
}

fn figures(state: &SessionState, table: &TableDef) -> Figures {
    let Ok(stored) = state.database.engine().table(table.id) else {
        return Figures {
            rows: 0,
            average: 0,
            data_bytes: 0,
            index_bytes: 0,
            free_bytes: 0,
        };
    };
    let rows = stored.estimate_rows();
    let (data_bytes, index_bytes) = stored.size_bytes();
    Figures {
        rows,
        average: data_bytes.checked_div(rows).unwrap_or(0),
        data_bytes,
        index_bytes,
        free_bytes: state.database.engine().free_bytes(),
    }
}

/// Seconds since 1970 as the session's date and time.
pub fn at_time(state: &SessionState, seconds: u64) -> Value {
    if seconds == 0 {
        return Value::Null;
    }
    let micros = (seconds as i64).saturating_mul(1_000_000);
    Value::DateTime(state.settings.time_zone.local(micros, 0))
}

/// What SHOW TABLE STATUS and information_schema.TABLES tell of a stored table, from its engine to its comment.
pub fn status_of(state: &SessionState, table: &TableDef) -> [Value; 17] {
    if table.is_view() {
        let mut row = [const { Value::Null }; 17];
        row[10] = at_time(state, table.options.created);
        row[16] = match super::view::valid_view(table) {
            Ok(()) => string("VIEW"),
            Err(error) => string(error.message),
        };
        return row;
    }
    let figures = figures(state, table);
    [
        string("InnoDB"),
        Value::Int(10),
        string(row_format(table)),
        Value::UInt(figures.rows),
        Value::UInt(figures.average),
        Value::UInt(figures.data_bytes),
        Value::UInt(0),
        Value::UInt(figures.index_bytes),
        Value::UInt(figures.free_bytes),
        next_auto_increment(state, table).map_or(Value::Null, Value::UInt),
        at_time(state, table.options.created),
        Value::Null,
        Value::Null,
        string(table.options.collation.name()),
        Value::Null,
        string(create_options(table)),
        string(&table.options.comment),
    ]
}

pub fn table_status(state: &SessionState, schema: Option<&str>) -> Result<ResultRows> {
    let schema = schema_or_current(state, schema)?;
    let unsigned = SqlType::bigint_unsigned;
    let time = || SqlType::new(TypeKind::DateTime);
    let mut rows = ResultRows::new(&[
        ("Name", exact_name(64)),
        ("Engine", text(64)),
        ("Version", bigint()),
        ("Row_format", exact_name(10)),
        ("Rows", unsigned()),
        ("Avg_row_length", unsigned()),
        ("Data_length", unsigned()),
        ("Max_data_length", unsigned()),
        ("Index_length", unsigned()),
        ("Data_free", unsigned()),
        ("Auto_increment", unsigned()),
        ("Create_time", time()),
        ("Update_time", time()),
        ("Check_time", time()),
        ("Collation", text(64)),
        ("Checksum", bigint()),
        ("Create_options", text(256)),
        ("Comment", text(2048)),
    ]);
    for table in visible_tables(state, schema) {
        let mut row = vec![string(&table.name)];
        row.extend(status_of(state, &table));
        rows.push(row);
    }
    Ok(rows)
}

/// As `information_schema` names it.
pub fn row_format(table: &TableDef) -> String {
    match table.options.row_format.as_str() {
        "" | "DEFAULT" => "Dynamic".to_owned(),
        format => {
            let (first, rest) = format.split_at(1);
            format!("{first}{}", rest.to_lowercase())
        }
    }
}

fn create_options(table: &TableDef) -> String {
    let format = match table.options.row_format.as_str() {
        "" | "DEFAULT" => None,
        format => Some(format!("row_format={format}")),
    };
    let statistics = statistics_options(table).rev();
    let statistics = statistics.map(|(name, value)| format!("{name}={value}"));
    format.into_iter().chain(statistics).collect::<Vec<_>>().join(" ")
}

pub fn column_headings(full: bool) -> ResultRows {
    let field = ("Field", caseless_name(1024));
    let [ty, key, default, comment] =
        ["Type", "Key", "Default", "Comment"].map(|heading| (heading, exact_name(1024)));
    let [null, extra] = ["Null", "Extra"].map(|heading| (heading, text(1024)));
    if full {
        let [collation, privileges] = ["Collation", "Privileges"].map(|heading| (heading, text(1024)));
        return ResultRows::new(&[
            field, ty, collation, null, key, default, extra, privileges, comment,
        ]);
    }
    ResultRows::new(&[field, ty, null, key, default, extra])
}

pub fn columns(state: &SessionState, name: &ObjectName, full: bool) -> Result<ResultRows> {
    let table = visible_table(state, name)?;
    super::view::valid_view(&table)?;
    let mut rows = column_headings(full);
    for (position, column) in table.named_columns() {
        let held = state.on_column(&table, &column.name);
        if held.is_empty() {
            continue;
        }
        let null = if column.ty.nullable { "YES" } else { "NO" };
        let mut row = vec![string(&column.name), string(column.ty.to_string())];
        if full {
            row.push(optional(collation_name(column)));
        }
        row.extend([
            string(null),
            string(key(&table, position)),
            optional(plain_default(column)),
            match extra(column) {
                // MySQL has the columns of temporary tables from elsewhere.
                nothing if table.temporary && nothing.is_empty() => Value::Null,
                extra => string(extra),
            },
        ]);
        if full {
            row.extend([string(privileges_text(held)), string(&column.comment)]);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// Privileges on a column as SHOW FULL COLUMNS lists them.
pub fn privileges_text(set: Privileges) -> String {
    let names: Vec<&str> = set.names().collect();
    names.join(",").to_lowercase()
}

/// The collation of a text column.
pub fn collation_name(column: &ColumnDef) -> Option<String> {
    let text = column.ty.is_string() && column.ty.kind != TypeKind::Json && !column.ty.is_binary_string();
    text.then(|| column.ty.collation.name().to_owned())
}

/// The Key column: how a column takes part in indexes.
pub fn key(table: &TableDef, position: usize) -> &'static str {
    let leads = |index: &IndexDef| index.parts.first().is_some_and(|part| part.column == position);
    let in_index = |index: &IndexDef| index.parts.iter().any(|part| part.column == position);
    if table.shown_as_primary().is_some_and(in_index) {
        return "PRI";
    }
    let leading: Vec<&IndexDef> = table.indexes.iter().filter(|index| leads(index)).collect();
    if leading.iter().any(|index| index.unique && index.parts.len() == 1) {
        "UNI"
    } else if leading.is_empty() {
        ""
    } else {
        "MUL"
    }
}

pub fn indexes(state: &SessionState, name: &ObjectName) -> Result<ResultRows> {
    let table = visible_table(state, name)?;
    let mut rows = ResultRows::new(&[
        ("Table", exact_name(64)),
        ("Non_unique", bigint()),
        ("Key_name", caseless_name(64)),
        ("Seq_in_index", SqlType::bigint_unsigned()),
        ("Column_name", caseless_name(64)),
        ("Collation", text(1)),
        ("Cardinality", bigint()),
        ("Sub_part", bigint()),
        ("Packed", text(10)),
        ("Null", text(3)),
        ("Index_type", exact_name(11)),
        ("Comment", text(8)),
        ("Index_comment", exact_name(2048)),
        ("Visible", text(3)),
        ("Expression", exact_name(1024)),
    ]);
    for part in index_parts(state, &table) {
        rows.push(part);
    }
    Ok(rows)
}

/// A row for each part of each index, with the columns of SHOW INDEX. An account that has privileges on columns alone is shown
/// the parts that are of these.
pub fn index_parts(state: &SessionState, table: &TableDef) -> Vec<Vec<Value>> {
    let parts = table
        .indexes
        .iter()
        .flat_map(|index| index.parts.iter().enumerate().map(move |part| (index, part)));
    let row = |(index, (sequence, part)): (&IndexDef, (usize, &IndexPart))| {
        let column = &table.columns[part.column];
        let prefix = part.prefix.map(|prefix| Value::Int(prefix as i64));
        vec![
            string(&table.name),
            Value::Int(!index.unique as i64),
            string(&index.name),
            Value::UInt(sequence as u64 + 1),
            match column.is_key_part() {
                true => Value::Null,
                false => string(&column.name),
            },
            string(if part.descending { "D" } else { "A" }),
            Value::Int(cardinality(state, table, index, sequence + 1)),
            prefix.unwrap_or(Value::Null),
            Value::Null,
            string(if column.ty.nullable { "YES" } else { "" }),
            string("BTREE"),
            string(""),
            string(&index.comment),
            string(if index.visible { "YES" } else { "NO" }),
            optional(column.key_part_expression().map(escaped)),
        ]
    };
    let whole = state.holds_on_table(table);
    let parts = parts.filter(|(_, (_, part))| {
        let column = &table.columns[part.column].name;
        whole || !state.on_column(table, column).is_empty()
    });
    parts.map(row).collect()
}

/// About how many values the first parts of an index have: what was gathered, or what its tree tells now.
fn cardinality(state: &SessionState, table: &TableDef, index: &IndexDef, parts: usize) -> i64 {
    let Ok(stored) = state.database.engine().table(table.id) else {
        return 0;
    };
    let known = state.database.statistics_of(table.id);
    let known = known.as_ref().and_then(|known| known.index(table, Some(index)));
    if let Some(distinct) = known.and_then(|known| known.distinct.get(parts - 1)) {
        return distinct.round() as i64;
    }
    let per_key = stored.records_per_key(index.number, parts).max(1.0);
    (stored.estimate_rows() as f64 / per_key).round() as i64
}

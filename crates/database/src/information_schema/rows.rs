//! The rows of the virtual tables.

use crate::accounts::{Account, Level, Privileges, privilege};
use crate::context::SessionState;
use crate::dictionary::{ColumnDef, ForeignKeyDef, ReferentialAction, TableDef};
use crate::error::Result;
use crate::show::create::{escaped, extra, plain_default};
use crate::show::objects::{
    collation_name, index_parts, key, privileges_text, status_of, table_type, visible_tables,
};
use crate::show::server;
use crate::show::status::{self, StatusScope};
use crate::show::view::listed;
use crate::types::{Charset, Collation, SqlType, TypeKind, Value};
use crate::variables::Setting;
use std::sync::Arc;
use tidemark_engine::TableId;

type Made = Result<Vec<Vec<Value>>>;

pub(super) fn string(text: impl AsRef<str>) -> Value {
    Value::string(text.as_ref().as_bytes())
}

fn optional(text: Option<String>) -> Value {
    text.map_or(Value::Null, |text| Value::string(text.into_bytes()))
}

pub(super) fn yes(condition: bool) -> Value {
    string(if condition { "YES" } else { "NO" })
}

pub(super) fn catalog() -> Value {
    string("def")
}

/// All tables that the account may see, virtual ones too.
fn all_tables(state: &SessionState) -> Vec<Arc<TableDef>> {
    let names = state.database.dictionary().schema_names();
    names
        .iter()
        .flat_map(|schema| visible_tables(state, schema))
        .collect()
}

pub fn schemata(state: &SessionState) -> Made {
    let dictionary = state.database.dictionary();
    let mut rows = Vec::new();
    for name in dictionary.schema_names() {
        if !state.lists_database(&name) {
            continue;
        }
        let Some(schema) = dictionary.schema(&name) else {
            continue;
        };
        rows.push(vec![
            catalog(),
            string(&name),
            string(schema.collation.charset().name()),
            string(schema.collation.name()),
            Value::Null,
            string("NO"),
        ]);
    }
    Ok(rows)
}

pub fn tables(state: &SessionState) -> Made {
    let row = |table: Arc<TableDef>| {
        let mut row = vec![
            catalog(),
            string(&table.schema),
            string(&table.name),
            string(table_type(&table)),
        ];
        if table.is_virtual() {
            // Or `mariadb-dump` takes them for views, and leaves out their rows.
            let engine = match table.schema.as_str() {
                "mysql" if table.name.ends_with("_log") => string("CSV"),
                "mysql" => string("InnoDB"),
                _ => Value::Null,
            };
            row.extend([engine, Value::Int(10)]);
            row.resize(20, Value::Null);
            row.push(string(""));
            return row;
        }
        row.extend(status_of(state, &table));
        row
    };
    Ok(all_tables(state).into_iter().map(row).collect())
}

/// `varchar`, `int`: a type's name alone.
fn data_type(ty: &SqlType) -> String {
    let text = ty.to_string();
    let end = text.find(['(', ' ']).unwrap_or(text.len());
    text[..end].to_owned()
}

/// Lengths in characters and in bytes.
fn text_lengths(ty: &SqlType) -> (Value, Value) {
    if !ty.is_string() || ty.kind == TypeKind::Json {
        return (Value::Null, Value::Null);
    }
    let per_character = ty.collation.charset().max_bytes() as i64;
    let length = ty.length as i64;
    match ty.kind {
        // Of a TEXT the bytes are known: of the characters, how many there are if all take the fewest.
        _ if ty.is_blob_or_text() => {
            let least = ty.collation.charset().min_bytes() as i64;
            (Value::Int(length / least), Value::Int(length))
        }
        _ => (Value::Int(length), Value::Int(length * per_character)),
    }
}

/// Precision and scale of numbers.
fn numeric(ty: &SqlType) -> (Value, Value) {
    let precision = match ty.kind {
        TypeKind::TinyInt => 3,
        TypeKind::SmallInt => 5,
        TypeKind::MediumInt => 7,
        TypeKind::Int => 10,
        TypeKind::BigInt if ty.unsigned => 20,
        TypeKind::BigInt => 19,
        TypeKind::Bit => return (Value::UInt(ty.length as u64), Value::Null),
        TypeKind::Decimal => return (Value::UInt(ty.length as u64), Value::UInt(ty.scale as u64)),
        TypeKind::Float | TypeKind::Double => {
            if ty.scale != SqlType::NOT_FIXED {
                return (Value::UInt(ty.length as u64), Value::UInt(ty.scale as u64));
            }
            let precision = if ty.kind == TypeKind::Float { 12 } else { 22 };
            return (Value::UInt(precision), Value::Null);
        }
        _ => return (Value::Null, Value::Null),
    };
    (Value::UInt(precision), Value::UInt(0))
}

fn fraction(ty: &SqlType) -> Value {
    match ty.kind {
        TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp => Value::UInt(ty.scale as u64),
        _ => Value::Null,
    }
}

/// What there is to say of a type: DATA_TYPE, lengths, precision, scale and fraction, then character set and collation.
pub(super) struct TypeColumns {
    pub columns: Vec<Value>,
    pub collation: [Value; 2],
}

impl TypeColumns {
    /// Returns that of a type.
    pub fn of(ty: &SqlType) -> TypeColumns {
        let (characters, bytes) = text_lengths(ty);
        let (precision, scale) = numeric(ty);
        let has_collation = ty.is_string() && ty.kind != TypeKind::Json && !ty.is_binary_string();
        TypeColumns {
            columns: vec![
                string(data_type(ty)),
                characters,
                bytes,
                precision,
                scale,
                fraction(ty),
            ],
            collation: match has_collation {
                true => [string(ty.collation.charset().name()), string(ty.collation.name())],
                false => [Value::Null, Value::Null],
            },
        }
    }
}

fn column_row(table: &TableDef, position: usize, column: &ColumnDef, held: Privileges) -> Vec<Value> {
    let ty = &column.ty;
    let generated = column.generated.as_ref();
    let (characters, bytes) = text_lengths(ty);
    let (precision, scale) = numeric(ty);
    let collation = collation_name(column);
    let charset = collation
        .as_ref()
        .map(|_| ty.collation.charset().name().to_owned());
    vec![
        catalog(),
        string(&table.schema),
        string(&table.name),
        string(&column.name),
        Value::UInt(position as u64 + 1),
        optional(plain_default(column)),
        yes(ty.nullable),
        string(data_type(ty)),
        characters,
        bytes,
        precision,
        scale,
        fraction(ty),
        optional(charset),
        optional(collation),
        string(ty.to_string()),
        string(key(table, position)),
        string(extra(column)),
        string(privileges_text(held)),
        string(&column.comment),
        string(
            generated
                .map(|generated| escaped(&generated.expression))
                .unwrap_or_default(),
        ),
        Value::Null,
    ]
}

pub fn columns(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for table in all_tables(state) {
        for (position, column) in table.named_columns() {
            let held = state.on_column(&table, &column.name);
            if !held.is_empty() {
                rows.push(column_row(&table, position, column, held));
            }
        }
    }
    Ok(rows)
}

/// The stored tables that the account may see.
pub(super) fn stored_tables(state: &SessionState) -> impl Iterator<Item = Arc<TableDef>> {
    all_tables(state).into_iter().filter(|table| !table.is_virtual())
}

pub fn views(state: &SessionState) -> Made {
    let tables = all_tables(state).into_iter();
    let listed = |table: Arc<TableDef>| Some(listed(state, &table, table.view.as_deref()?));
    Ok(tables.filter_map(listed).collect())
}

pub fn view_table_usage(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for table in all_tables(state) {
        let used = table.view.iter().flat_map(|view| &view.tables);
        for (schema, name) in used.filter(|(schema, name)| state.sees_table(schema, name)) {
            rows.push(vec![
                catalog(),
                string(&table.schema),
                string(&table.name),
                catalog(),
                string(schema),
                string(name),
            ]);
        }
    }
    Ok(rows)
}

pub fn statistics(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for table in stored_tables(state) {
        for mut part in index_parts(state, &table) {
            // STATISTICS has the schema of the table, and that of the index, before their names.
            part.insert(2, string(&table.schema));
            part.splice(0..0, [catalog(), string(&table.schema)]);
            rows.push(part);
        }
    }
    Ok(rows)
}

pub fn column_statistics(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for table in stored_tables(state) {
        for made in &table.histograms {
            let Some(at) = table.column(&made.column) else {
                continue;
            };
            if state.on_column(&table, &made.column).is_empty() {
                continue;
            }
            rows.push(vec![
                string(&table.schema),
                string(&table.name),
                string(&made.column),
                Value::Json(made.histogram.text(&table.columns[at].ty).into_bytes().into()),
            ]);
        }
    }
    Ok(rows)
}

pub fn key_column_usage(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for table in stored_tables(state) {
        for index in table.indexes.iter().filter(|index| index.unique) {
            for (sequence, part) in index.parts.iter().enumerate() {
                if table.columns[part.column].is_key_part() {
                    continue;
                }
                if state
                    .on_column(&table, &table.columns[part.column].name)
                    .is_empty()
                {
                    continue;
                }
                rows.push(vec![
                    catalog(),
                    string(&table.schema),
                    string(&index.name),
                    catalog(),
                    string(&table.schema),
                    string(&table.name),
                    string(&table.columns[part.column].name),
                    Value::UInt(sequence as u64 + 1),
                    Value::Null,
                    Value::Null,
                    Value::Null,
                    Value::Null,
                ]);
            }
        }
        for key in &table.foreign_keys {
            for (at, (column, referenced)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                let position = Value::UInt(at as u64 + 1);
                rows.push(vec![
                    catalog(),
                    string(&table.schema),
                    string(&key.name),
                    catalog(),
                    string(&table.schema),
                    string(&table.name),
                    string(&table.columns[*column].name),
                    position.clone(),
                    position,
                    string(&key.parent_schema),
                    string(&key.parent),
                    string(referenced),
                ]);
            }
        }
    }
    Ok(rows)
}

/// The unique index that a foreign key refers to; `None`: no such table, or no such index.
fn unique_constraint(state: &SessionState, key: &ForeignKeyDef) -> Option<String> {
    let dictionary = state.database.dictionary();
    let parent = dictionary.find_table(&key.parent_schema, &key.parent)?;
    let columns = key.parent_columns.iter().map(|name| parent.column(name));
    let columns: Vec<usize> = columns.collect::<Option<_>>()?;
    let index = parent.parent_key(&columns)?;
    let whole = index.unique && index.parts.len() == columns.len();
    whole.then(|| index.name.clone())
}

pub fn referential_constraints(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for table in stored_tables(state) {
        for key in &table.foreign_keys {
            rows.push(vec![
                catalog(),
                string(&table.schema),
                string(&key.name),
                catalog(),
                string(&key.parent_schema),
                optional(unique_constraint(state, key)),
                string("NONE"),
                string(key.on_update.as_sql()),
                string(key.on_delete.as_sql()),
                string(&table.name),
                string(&key.parent),
            ]);
        }
    }
    Ok(rows)
}

/// `database/name`, as InnoDB names tables and constraints.
pub(super) fn in_database(schema: &str, name: &str) -> String {
    format!("{schema}/{name}")
}

pub fn innodb_foreign(state: &SessionState) -> Made {
    require_process(state)?;
    let mut rows = Vec::new();
    for table in stored_tables(state) {
        for key in &table.foreign_keys {
            let bit = |action, shift: u64| match action {
                ReferentialAction::Cascade => 1 << shift,
                ReferentialAction::SetNull => 2 << shift,
                _ => 0,
            };
            let no_action = |action, bit| u64::from(action == ReferentialAction::NoAction) * bit;
            let kind = bit(key.on_delete, 0)
                | bit(key.on_update, 2)
                | no_action(key.on_delete, 16)
                | no_action(key.on_update, 32);
            rows.push(vec![
                string(in_database(&table.schema, &key.name)),
                string(in_database(&table.schema, &table.name)),
                string(in_database(&key.parent_schema, &key.parent)),
                Value::Int(key.columns.len() as i64),
                Value::UInt(kind),
            ]);
        }
    }
    Ok(rows)
}

/// The temporary tables of all sessions. Three columns of each are InnoDB's own.
pub fn innodb_temp_table_info(state: &SessionState) -> Made {
    require_process(state)?;
    let tables = state.database.engine().temporary_tables().into_iter();
    let row = |(id, columns): (TableId, usize)| {
        vec![
            Value::UInt(id.0),
            string(format!("#sql_{}", id.0)),
            Value::UInt(columns as u64 + 3),
            Value::UInt(0),
        ]
    };
    Ok(tables.map(row).collect())
}

pub fn innodb_foreign_cols(state: &SessionState) -> Made {
    require_process(state)?;
    let mut rows = Vec::new();
    for table in stored_tables(state) {
        for key in &table.foreign_keys {
            for (at, (column, referenced)) in key.columns.iter().zip(&key.parent_columns).enumerate() {
                rows.push(vec![
                    string(in_database(&table.schema, &key.name)),
                    string(&table.columns[*column].name),
                    string(referenced),
                    Value::UInt(at as u64 + 1),
                ]);
            }
        }
    }
    Ok(rows)
}

pub fn table_constraints(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for table in stored_tables(state) {
        let mut push = |name: &str, kind: &str, enforced: bool| {
            rows.push(vec![
                catalog(),
                string(&table.schema),
                string(name),
                string(&table.schema),
                string(&table.name),
                string(kind),
                yes(enforced),
            ]);
        };
        for index in table.indexes.iter().filter(|index| index.unique) {
            let kind = if index.number == 0 {
                "PRIMARY KEY"
            } else {
                "UNIQUE"
            };
            push(&index.name, kind, true);
        }
        for key in &table.foreign_keys {
            push(&key.name, "FOREIGN KEY", true);
        }
        for check in &table.options.checks {
            push(&check.name, "CHECK", check.enforced);
        }
    }
    Ok(rows)
}

pub fn check_constraints(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    // A constraint may name columns that the account is not shown.
    for table in stored_tables(state).filter(|table| state.holds_on_table(table)) {
        for check in &table.options.checks {
            rows.push(vec![
                catalog(),
                string(&table.schema),
                string(&check.name),
                string(&check.expression),
            ]);
        }
    }
    Ok(rows)
}

pub fn engines(_: &SessionState) -> Made {
    Ok(server::engines().rows)
}

pub fn character_sets(_: &SessionState) -> Made {
    let row = |charset: Charset| {
        vec![
            string(charset.name()),
            string(charset.default_collation().name()),
            string(charset.description()),
            Value::UInt(charset.max_bytes() as u64),
        ]
    };
    Ok(Charset::all().into_iter().map(row).collect())
}

pub fn collations(_: &SessionState) -> Made {
    Ok(server::collation_rows())
}

pub fn collation_applicability(_: &SessionState) -> Made {
    let row = |collation: Collation| vec![string(collation.name()), string(collation.charset().name())];
    Ok(Collation::all().map(row).collect())
}

pub fn processlist(state: &SessionState) -> Made {
    Ok(server::counted_processes(state, true))
}

/// That of `performance_schema`, which says besides what executes statements.
pub fn processes(state: &SessionState) -> Made {
    let mut rows = server::processes(state, true);
    rows.iter_mut().for_each(|row| row.push(string("PRIMARY")));
    Ok(rows)
}

pub fn plugins(_: &SessionState) -> Made {
    let rows = server::plugins().rows;
    let row = |shown: Vec<Value>| {
        let description = match &*shown[0].to_text() {
            b"mysql_native_password" => "Native MySQL authentication",
            b"caching_sha2_password" => "Caching sha2 authentication",
            _ => "Supports transactions, row-level locking, and foreign keys",
        };
        vec![
            shown[0].clone(),
            string("1.0"),
            shown[1].clone(),
            shown[2].clone(),
            string("2.1"),
            Value::Null,
            Value::Null,
            string("Tidemark"),
            string(description),
            shown[4].clone(),
            string("FORCE"),
        ]
    };
    Ok(rows.into_iter().map(row).collect())
}

/// One row for each stored table: none has partitions.
pub fn partitions(state: &SessionState) -> Made {
    let stored = all_tables(state).into_iter().filter(|table| !table.is_virtual());
    let row = |table: Arc<TableDef>| {
        // ENGINE, VERSION, ROW_FORMAT, six numbers from TABLE_ROWS on, AUTO_INCREMENT, three times.
        let status = status_of(state, &table);
        let mut row = vec![catalog(), string(&table.schema), string(&table.name)];
        row.resize(13, Value::Null);
        row.extend_from_slice(&status[3..9]);
        row.extend_from_slice(&status[10..13]);
        row.extend([Value::Null, string(""), string(""), Value::Null]);
        row
    };
    Ok(stored.map(row).collect())
}

/// There is one file, and this does not tell of it.
pub fn files(state: &SessionState) -> Made {
    require_process(state)?;
    Ok(Vec::new())
}

/// Error 1227.
pub fn require_process(state: &SessionState) -> Result<()> {
    state.require_global(Privileges::PROCESS, "PROCESS")
}

pub(super) fn visible_accounts(state: &SessionState) -> Vec<Arc<Account>> {
    let own = state.account();
    let rights = state.rights();
    match rights.on_database("mysql").contains(Privileges::SELECT) {
        true => state.database.accounts.all(),
        false => vec![own],
    }
}

/// One row per privilege of a set; USAGE if it has none and `usage` is wanted.
fn privilege_rows(set: Privileges, level: Level, usage: bool, front: &[Value]) -> Vec<Vec<Value>> {
    let grantable = yes(set.contains(Privileges::GRANT_OPTION));
    let plain = set.without(Privileges::GRANT_OPTION.union(Privileges::ALL_DYNAMIC));
    let row = |name: &str| {
        let mut row = front.to_vec();
        row.extend([string(name), grantable.clone()]);
        row
    };
    if plain.is_empty() {
        return if usage { vec![row("USAGE")] } else { Vec::new() };
    }
    privilege::ALL
        .iter()
        .filter(|(one, _, _)| plain.contains(*one) && Privileges::all(level).contains(*one))
        .map(|(_, name, _)| row(name))
        .collect()
}

pub fn user_privileges(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for account in visible_accounts(state) {
        let front = [string(account.quoted()), catalog()];
        rows.extend(privilege_rows(account.global, Level::Global, true, &front));
        rows.extend(account.global.dynamic_names().map(|name| {
            let grantable = account.grantable.dynamic_names().any(|of| of == name);
            let mut row = front.to_vec();
            row.extend([string(name), yes(grantable)]);
            row
        }));
    }
    Ok(rows)
}

pub fn schema_privileges(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for account in visible_accounts(state) {
        for (schema, set) in &account.databases {
            let front = [string(account.quoted()), catalog(), string(schema)];
            rows.extend(privilege_rows(*set, Level::Database, false, &front));
        }
    }
    Ok(rows)
}

pub fn table_privileges(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for account in visible_accounts(state) {
        for ((schema, name), set) in &account.tables {
            let front = [string(account.quoted()), catalog(), string(schema), string(name)];
            rows.extend(privilege_rows(*set, Level::Table, false, &front));
        }
    }
    Ok(rows)
}

pub fn column_privileges(state: &SessionState) -> Made {
    let mut rows = Vec::new();
    for account in visible_accounts(state) {
        for ((schema, name), columns) in &account.columns {
            let on_table = account.tables.get(&(schema.clone(), name.clone()));
            let grantable = on_table.is_some_and(|set| set.contains(Privileges::GRANT_OPTION));
            for privilege in Privileges::ON_COLUMNS.names() {
                let granted = columns
                    .iter()
                    .filter(|(_, set)| set.names().any(|name| name == privilege));
                rows.extend(granted.map(|(column, _)| {
                    vec![
                        string(account.quoted()),
                        catalog(),
                        string(schema),
                        string(name),
                        string(column),
                        string(privilege),
                        yes(grantable),
                    ]
                }));
            }
        }
    }
    Ok(rows)
}

fn variables(state: &SessionState, global: bool) -> Made {
    let row = |(name, at): (&'static str, usize)| {
        let value = match state.variable_setting(at, global) {
            Setting::Null => Value::Null,
            setting => string(setting.to_string()),
        };
        vec![string(name), value]
    };
    Ok(state
        .database
        .listed_variables(global)
        .into_iter()
        .map(row)
        .collect())
}

pub fn global_variables(state: &SessionState) -> Made {
    variables(state, true)
}

/// Values kept for the next start (`SET PERSIST`).
pub fn persisted_variables(state: &SessionState) -> Made {
    let kept = crate::variables::persist::kept(state.database.engine())?;
    let row = |(name, value)| vec![string(name), string(value)];
    Ok(kept.into_iter().map(row).collect())
}

pub fn session_variables(state: &SessionState) -> Made {
    variables(state, false)
}

pub fn global_status(state: &SessionState) -> Made {
    Ok(status_rows(state, StatusScope::Global))
}

pub fn session_status(state: &SessionState) -> Made {
    Ok(status_rows(state, StatusScope::Session))
}

fn status_rows(state: &SessionState, scope: StatusScope) -> Vec<Vec<Value>> {
    let values = status::values(state, scope).into_iter();
    values
        .map(|(name, value)| vec![string(name), string(value)])
        .collect()
}

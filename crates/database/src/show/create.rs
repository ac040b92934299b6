//! SHOW CREATE TABLE and SHOW CREATE DATABASE: byte for byte as MySQL writes them.

use super::string;
use crate::context::SessionState;
use crate::context::answer::{ResultRows, text};
use crate::dictionary::{ColumnDef, ColumnDefault, ForeignKeyDef, IndexDef, ReferentialAction, TableDef};
use crate::error::{Result, SqlError};
use crate::parse::ast::ObjectName;
use crate::parse::print::{identifier, quoted};
use crate::types::convert::{format_double_fixed, format_float_fixed};
use crate::types::{Collation, SqlType, TypeKind, Value};
use std::fmt::Write;
use std::sync::Arc;

pub fn table(state: &SessionState, name: &ObjectName) -> Result<ResultRows> {
    let (schema, written) = state.resolve(name)?;
    if state.temporary.find(schema, written).is_none() && !state.holds_on(schema, written) {
        let info = &state.info;
        return Err(crate::accounts::table_denied(
            "SHOW", &info.user, &info.host, written,
        ));
    }
    let table = state.table(name)?;
    if table.is_view() {
        return super::view::create_view(state, name);
    }
    let mut rows = ResultRows::new(&[("Table", text(64)), ("Create Table", text(1024))]);
    rows.push(vec![string(&table.name), string(table_text(state, &table))]);
    Ok(rows)
}

pub fn database(state: &SessionState, name: &str, if_not_exists: bool) -> Result<ResultRows> {
    if !state.sees_database(name) {
        let info = &state.info;
        return Err(crate::accounts::database_denied(&info.user, &info.host, name));
    }
    let schema = state
        .database
        .dictionary()
        .schema(name)
        .ok_or_else(|| SqlError::unknown_database(name))?;
    let mut out = String::from("CREATE DATABASE ");
    if if_not_exists {
        out.push_str("/*!32312 IF NOT EXISTS*/ ");
    }
    let collation = schema.collation;
    let _ = write!(
        out,
        "{} /*!40100 DEFAULT CHARACTER SET {}{} */ /*!80016 DEFAULT ENCRYPTION='N' */",
        identifier(&schema.name),
        collation.charset().name(),
        collate(collation)
    );
    let mut rows = ResultRows::new(&[("Database", text(64)), ("Create Database", text(1024))]);
    rows.push(vec![string(&schema.name), string(out)]);
    Ok(rows)
}

/// ` COLLATE x` where MySQL prints it: any but a character set's default, and utf8mb4's default too.
fn collate(collation: Collation) -> String {
    let charset = collation.charset();
    if collation == charset.default_collation() && collation != Collation::DEFAULT {
        return String::new();
    }
    format!(" COLLATE {}", collation.name())
}

/// The statement that makes the table.
pub fn table_text(state: &SessionState, table: &TableDef) -> String {
    let temporary = if table.temporary { "TEMPORARY " } else { "" };
    let mut out = format!("CREATE {temporary}TABLE {} (\n", identifier(&table.name));
    let mut items: Vec<String> = table
        .named_columns()
        .map(|(_, column)| column_text(column, table))
        .collect();
    items.extend(table.indexes.iter().map(|index| index_text(index, table)));
    items.extend(table.foreign_keys.iter().map(|key| foreign_key_text(key, table)));
    for check in &table.options.checks {
        let not = if check.enforced {
            ""
        } else {
            " /*!80016 NOT ENFORCED */"
        };
        items.push(format!(
            "CONSTRAINT {} CHECK ({}){not}",
            identifier(&check.name),
            check.expression
        ));
    }
    for (i, item) in items.iter().enumerate() {
        let comma = if i + 1 < items.len() { "," } else { "" };
        let _ = writeln!(out, "  {item}{comma}");
    }
    out.push_str(") ENGINE=InnoDB");
    if let Some(next) = next_auto_increment(state, table).filter(|next| *next > 1) {
        let _ = write!(out, " AUTO_INCREMENT={next}");
    }
    let options = &table.options;
    let collation = options.collation;
    let _ = write!(out, " DEFAULT CHARSET={}", collation.charset().name());
    if collation != collation.charset().default_collation() || collation == Collation::DEFAULT {
        let _ = write!(out, " COLLATE={}", collation.name());
    }
    for (name, value) in statistics_options(table) {
        let _ = write!(out, " {}={value}", name.to_uppercase());
    }
    if !options.row_format.is_empty() && options.row_format != "DEFAULT" {
        let _ = write!(out, " ROW_FORMAT={}", options.row_format);
    }
    if !options.comment.is_empty() {
        let _ = write!(out, " COMMENT={}", quoted(&options.comment));
    }
    out
}

/// What a table says of its statistics, by the names of the options.
pub fn statistics_options(table: &TableDef) -> impl DoubleEndedIterator<Item = (&'static str, u16)> {
    let said = table.options.statistics;
    let options = [
        ("stats_persistent", said.persistent.map(u16::from)),
        ("stats_auto_recalc", said.auto_recalc.map(u16::from)),
        ("stats_sample_pages", said.sample_pages),
    ];
    options
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
}

/// `CONSTRAINT name FOREIGN KEY …`, as SHOW CREATE TABLE and errors write it.
pub fn foreign_key_text(key: &ForeignKeyDef, child: &TableDef) -> String {
    fn list<'n>(names: impl Iterator<Item = &'n String>) -> String {
        names.map(|name| identifier(name)).collect::<Vec<_>>().join(", ")
    }
    let mut out = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES ",
        identifier(&key.name),
        list(key.columns.iter().map(|at| &child.columns[*at].name))
    );
    if key.parent_schema != child.schema {
        let _ = write!(out, "{}.", identifier(&key.parent_schema));
    }
    let _ = write!(
        out,
        "{} ({})",
        identifier(&key.parent),
        list(key.parent_columns.iter())
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if action != ReferentialAction::NoAction {
            let _ = write!(out, " ON {event} {}", action.as_sql());
        }
    }
    out
}

/// The next value of the table's counter, if it has one.
pub fn next_auto_increment(state: &SessionState, table: &TableDef) -> Option<u64> {
    table.auto_increment()?;
    let stored = state.database.engine().table(table.id).ok()?;
    Some(stored.auto_increment_peek())
}

fn column_text(column: &ColumnDef, table: &TableDef) -> String {
    let ty = &column.ty;
    let mut out = format!("{} {}", identifier(&column.name), ty);
    if has_charset(ty) {
        let default = table.options.collation;
        if ty.collation != default || column.explicit_collation {
            let _ = write!(out, " CHARACTER SET {}", ty.collation.charset().name());
        }
        let primary = ty.collation == ty.collation.charset().default_collation();
        let modern = ty.collation == Collation::DEFAULT && default != Collation::DEFAULT;
        if !primary || column.explicit_collation || modern {
            let _ = write!(out, " COLLATE {}", ty.collation.name());
        }
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        let _ = write!(out, " GENERATED ALWAYS AS ({}) {kind}", generated.expression);
    }
    if !ty.nullable {
        out.push_str(" NOT NULL");
    } else if ty.kind == TypeKind::Timestamp {
        out.push_str(" NULL");
    }
    match default_text(column) {
        Some(default) => {
            let _ = write!(out, " DEFAULT {default}");
        }
        None if column.auto_increment => out.push_str(" AUTO_INCREMENT"),
        None => {}
    }
    if column.on_update_now {
        let _ = write!(out, " ON UPDATE {}", current_timestamp(ty));
    }
    if column.invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", quoted(&column.comment));
    }
    out
}

fn has_charset(ty: &SqlType) -> bool {
    ty.is_string() && ty.kind != TypeKind::Json && !ty.is_binary_string()
}

fn current_timestamp(ty: &SqlType) -> String {
    match ty.scale {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        fsp => format!("CURRENT_TIMESTAMP({fsp})"),
    }
}

/// What stands after DEFAULT; `None`: nothing does. BLOB and TEXT columns do not say that they default to NULL.
fn default_text(column: &ColumnDef) -> Option<String> {
    let is_json = column.ty.kind == TypeKind::Json;
    match column.default.as_ref()? {
        ColumnDefault::Literal(Value::Null) if column.ty.is_blob_or_text() && !is_json => None,
        ColumnDefault::Literal(Value::Null) => Some("NULL".to_owned()),
        ColumnDefault::Literal(value) if column.ty.kind == TypeKind::Bit => Some(bits(value)),
        ColumnDefault::Literal(value) if column.ty.is_binary_string() => Some(binary(value)),
        ColumnDefault::Literal(value) => Some(quoted(&literal(value, &column.ty))),
        ColumnDefault::CurrentTimestamp => Some(current_timestamp(&column.ty)),
        ColumnDefault::Expression(text) => Some(format!("({text})")),
    }
}

fn bits(value: &Value) -> String {
    match value {
        Value::UInt(v) => format!("b'{v:b}'"),
        Value::Int(v) => format!("b'{v:b}'"),
        other => quoted(&String::from_utf8_lossy(&other.to_text())),
    }
}

/// A binary default prints as text if it is text, else as hex.
fn binary(value: &Value) -> String {
    let bytes = value.to_text();
    match std::str::from_utf8(&bytes) {
        Ok(text) => quoted(text),
        Err(_) => {
            let mut out = String::from("0x");
            for byte in bytes.iter() {
                let _ = write!(out, "{byte:02X}");
            }
            out
        }
    }
}

fn literal(value: &Value, ty: &SqlType) -> String {
    match value {
        Value::Float(v) => format_float_fixed(*v, ty.scale),
        Value::Double(v) => format_double_fixed(*v, ty.scale),
        _ => String::from_utf8_lossy(&value.to_text()).into_owned(),
    }
}

/// The default as information_schema and SHOW COLUMNS have it: without quotes.
pub fn plain_default(column: &ColumnDef) -> Option<String> {
    match column.default.as_ref()? {
        ColumnDefault::Literal(Value::Null) => None,
        ColumnDefault::Literal(value) if column.ty.kind == TypeKind::Bit => Some(bits(value)),
        ColumnDefault::Literal(value) => Some(literal(value, &column.ty)),
        ColumnDefault::CurrentTimestamp => Some(current_timestamp(&column.ty)),
        ColumnDefault::Expression(text) => Some(escaped(text)),
    }
}

/// An expression as `information_schema` has it.
pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// `auto_increment`, `DEFAULT_GENERATED`, `STORED GENERATED`, `on update …`: the Extra column.
pub fn extra(column: &ColumnDef) -> String {
    let mut parts = Vec::new();
    if column.auto_increment {
        parts.push("auto_increment".to_owned());
    }
    if matches!(
        column.default,
        Some(ColumnDefault::CurrentTimestamp | ColumnDefault::Expression(_))
    ) {
        parts.push("DEFAULT_GENERATED".to_owned());
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        parts.push(format!("{kind} GENERATED"));
    }
    if column.on_update_now {
        parts.push(format!("on update {}", current_timestamp(&column.ty)));
    }
    if column.invisible {
        parts.push("INVISIBLE".to_owned());
    }
    parts.join(" ")
}

fn index_text(index: &IndexDef, table: &TableDef) -> String {
    let mut out = match index {
        _ if index.number == 0 => "PRIMARY KEY".to_owned(),
        _ if index.unique => format!("UNIQUE KEY {}", identifier(&index.name)),
        _ => format!("KEY {}", identifier(&index.name)),
    };
    out.push_str(" (");
    for (i, part) in index.parts.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        let column = &table.columns[part.column];
        match column.key_part_expression() {
            Some(expression) => {
                let _ = write!(out, "({expression})");
            }
            None => out.push_str(&identifier(&column.name)),
        }
        if let Some(prefix) = part.prefix {
            let _ = write!(out, "({prefix})");
        }
        if part.descending {
            out.push_str(" DESC");
        }
    }
    out.push(')');
    if index.says_btree {
        out.push_str(" USING BTREE");
    }
    if !index.comment.is_empty() {
        let _ = write!(out, " COMMENT {}", quoted(&index.comment));
    }
    if !index.visible {
        out.push_str(" /*!80000 INVISIBLE */");
    }
    out
}

/// The table, if the account may look at it at all. Error 1142 if not, whether or not there is one.
pub fn visible_table(state: &SessionState, name: &ObjectName) -> Result<Arc<TableDef>> {
    let (schema, written) = state.resolve(name)?;
    if let Some(table) = state.temporary.find(schema, written) {
        return Ok(table);
    }
    state.require_describe(schema, written)?;
    state.table(name)
}

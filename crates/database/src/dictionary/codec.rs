//! Definitions as bytes, as they stand in the engine's catalog.
//!
//! A definition is a version byte and fields in a fixed order: numbers as LEB128, strings with their length before
//! them, lists with their count. A field is only ever added at the end, under a new version. A definition is written under
//! the lowest version that has all it says, so that an older program reads what it can know.
//!
//! | version | added |
//! |---|---|
//! | 1 | |
//! | 2 | a table's foreign keys |
//! | 3 | views |
//! | 4 | generated columns: for each, its position, flags (1 STORED, 2 functional key part) and expression |
//! | 5 | the type of a column may be an array's (8 of its flags): a part of a multi-valued index |
//! | 6 | what the table says of its statistics: for each option 0 if nothing is said, else what is said and 1 |
//! | 7 | of a database: it has stored programs, which an older program would leave behind when it drops the database |
//!
//! The flag of an index that USING BTREE was written (8) has no version: it came with a version of the whole format.

use super::table::{
    CheckDef, ColumnDef, ColumnDefault, ForeignKeyDef, GeneratedColumn, IndexDef, IndexPart,
    ReferentialAction, SchemaDef, StatisticsOptions, TableDef, TableOptions, ViewDef,
};
use crate::error::{Result, SqlError};
use crate::mdl::Locks;
use crate::parse::ast::{CheckOption, ViewAlgorithm};
use crate::types::{Collation, Date, DateTime, Decimal, Derivation, SqlType, Time, TypeKind, Value};
use tidemark_engine::TableId;

const VERSION: u8 = 1;
const VERSION_FOREIGN_KEYS: u8 = 2;
const VERSION_VIEWS: u8 = 3;
const VERSION_GENERATED: u8 = 4;
const VERSION_ARRAYS: u8 = 5;
const VERSION_STATISTICS: u8 = 6;
const VERSION_PROGRAMS: u8 = 7;

#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn u8(&mut self, v: u8) {
        self.0.push(v);
    }

    pub fn bool(&mut self, v: bool) {
        self.0.push(v as u8);
    }

    pub fn u64(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.0.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.0.push(v as u8);
    }

    pub fn f64(&mut self, v: f64) {
        self.0.extend_from_slice(&v.to_le_bytes());
    }

    pub fn bytes(&mut self, v: &[u8]) {
        self.u64(v.len() as u64);
        self.0.extend_from_slice(v);
    }

    pub fn str(&mut self, v: &str) {
        self.bytes(v.as_bytes());
    }

    fn value(&mut self, v: &Value) {
        match v {
            Value::Null => self.u8(0),
            Value::Int(v) => {
                self.u8(1);
                self.u64(*v as u64);
            }
            Value::UInt(v) => {
                self.u8(2);
                self.u64(*v);
            }
            Value::Float(v) => {
                self.u8(3);
                self.u64(v.to_bits() as u64);
            }
            Value::Double(v) => {
                self.u8(4);
                self.u64(v.to_bits());
            }
            Value::Decimal(v) => {
                self.u8(5);
                self.str(&v.to_string());
            }
            Value::Str(_) | Value::Json(_) => {
                self.u8(6);
                self.bytes(&v.to_text());
            }
            Value::Date(v) => {
                self.u8(7);
                self.u64(v.pack());
            }
            Value::Time(v) => {
                self.u8(8);
                self.u64(v.micros as u64);
                self.u8(v.fsp);
            }
            Value::DateTime(v) => {
                self.u8(9);
                self.u64(v.pack());
                self.u8(v.fsp);
            }
            Value::Member(n, text) => {
                self.u8(10);
                self.u64(*n);
                self.bytes(text);
            }
        }
    }

    pub fn sql_type(&mut self, ty: &SqlType) {
        let kind = KINDS.iter().position(|kind| *kind == ty.kind).unwrap_or(0);
        self.u8(kind as u8);
        let flags = ty.unsigned as u8 | (ty.zerofill as u8) << 1 | (ty.nullable as u8) << 2;
        self.u8(flags | (ty.array as u8) << 3);
        self.u64(ty.length as u64);
        self.u8(ty.scale);
        self.u64(ty.collation.id() as u64);
        self.u64(ty.members().len() as u64);
        for member in ty.members() {
            self.str(member);
        }
    }
}

/// The order is part of the format.
const KINDS: [TypeKind; 24] = [
    TypeKind::Null,
    TypeKind::TinyInt,
    TypeKind::SmallInt,
    TypeKind::MediumInt,
    TypeKind::Int,
    TypeKind::BigInt,
    TypeKind::Float,
    TypeKind::Double,
    TypeKind::Decimal,
    TypeKind::Bit,
    TypeKind::Year,
    TypeKind::Date,
    TypeKind::Time,
    TypeKind::DateTime,
    TypeKind::Timestamp,
    TypeKind::Char,
    TypeKind::VarChar,
    TypeKind::TinyText,
    TypeKind::Text,
    TypeKind::MediumText,
    TypeKind::LongText,
    TypeKind::Enum,
    TypeKind::Set,
    TypeKind::Json,
];

/// The order is part of the format.
const ACTIONS: [ReferentialAction; 5] = [
    ReferentialAction::NoAction,
    ReferentialAction::Restrict,
    ReferentialAction::Cascade,
    ReferentialAction::SetNull,
    ReferentialAction::SetDefault,
];

/// The order is part of the format.
const ALGORITHMS: [ViewAlgorithm; 3] = [
    ViewAlgorithm::Undefined,
    ViewAlgorithm::Merge,
    ViewAlgorithm::Temptable,
];

/// The order is part of the format.
const CHECK_OPTIONS: [CheckOption; 3] = [CheckOption::None, CheckOption::Local, CheckOption::Cascaded];

pub struct Reader<'a> {
    bytes: &'a [u8],
    what: &'a str,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], what: &'a str) -> Reader<'a> {
        Reader { bytes, what }
    }

    fn damaged(&self) -> SqlError {
        SqlError::unknown(format!("The stored definition of {} is damaged", self.what))
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.bytes.len() {
            return Err(self.damaged());
        }
        let (head, tail) = self.bytes.split_at(n);
        self.bytes = tail;
        Ok(head)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn bool(&mut self) -> Result<bool> {
        Ok(self.u8()? != 0)
    }

    pub fn u64(&mut self) -> Result<u64> {
        let mut v = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            v |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(v);
            }
        }
        Err(self.damaged())
    }

    pub fn f64(&mut self) -> Result<f64> {
        let bytes = self.take(8)?.try_into().map_err(|_| self.damaged())?;
        Ok(f64::from_le_bytes(bytes))
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let n = self.u64()?;
        self.take(usize::try_from(n).map_err(|_| self.damaged())?)
    }

    pub fn str(&mut self) -> Result<String> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.damaged())
    }

    pub fn list<T>(&mut self, mut f: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let n = self.u64()?;
        (0..n).map(|_| f(self)).collect()
    }

    fn value(&mut self) -> Result<Value> {
        Ok(match self.u8()? {
            0 => Value::Null,
            1 => Value::Int(self.u64()? as i64),
            2 => Value::UInt(self.u64()?),
            3 => Value::Float(f32::from_bits(self.u64()? as u32)),
            4 => Value::Double(f64::from_bits(self.u64()?)),
            5 => {
                let text = self.str()?;
                Value::Decimal(Decimal::parse(&text).ok_or_else(|| self.damaged())?)
            }
            6 => Value::string(self.bytes()?),
            7 => Value::Date(Date::unpack(self.u64()?)),
            8 => Value::Time(Time::new(self.u64()? as i64, self.u8()?)),
            9 => Value::DateTime(DateTime::unpack(self.u64()?, self.u8()?)),
            10 => Value::Member(self.u64()?, self.bytes()?.to_vec().into()),
            _ => return Err(self.damaged()),
        })
    }

    pub fn sql_type(&mut self) -> Result<SqlType> {
        let kind = self.u8()? as usize;
        let kind = *KINDS.get(kind).ok_or_else(|| self.damaged())?;
        let flags = self.u8()?;
        let mut ty = SqlType::new(kind);
        ty.unsigned = flags & 1 != 0;
        ty.zerofill = flags & 2 != 0;
        ty.nullable = flags & 4 != 0;
        ty.array = flags & 8 != 0;
        ty.length = self.u64()? as u32;
        ty.scale = self.u8()?;
        let collation = self.u64()?;
        let collation = u16::try_from(collation).ok().and_then(Collation::from_id);
        ty.collation = collation.ok_or_else(|| self.damaged())?;
        ty.derivation = if ty.is_string() {
            Derivation::Implicit
        } else {
            Derivation::Numeric
        };
        let members = self.list(|r| r.str())?;
        if !members.is_empty() {
            ty.members = Some(members.into());
        }
        Ok(ty)
    }

    pub fn collation(&mut self) -> Result<Collation> {
        let id = self.u64()?;
        let collation = u16::try_from(id).ok().and_then(Collation::from_id);
        collation.ok_or_else(|| self.damaged())
    }
}

pub fn encode_schema(schema: &SchemaDef, has_programs: bool) -> Vec<u8> {
    let mut w = Writer::default();
    w.u8(if has_programs { VERSION_PROGRAMS } else { VERSION });
    w.u64(schema.collation.id() as u64);
    w.0
}

pub fn decode_schema(name: &str, bytes: &[u8]) -> Result<SchemaDef> {
    let mut r = Reader::new(bytes, name);
    version(&mut r, VERSION_PROGRAMS)?;
    Ok(SchemaDef {
        name: name.to_owned(),
        collation: r.collation()?,
    })
}

/// The version that a definition is written under, which is not above `newest`.
fn version(r: &mut Reader, newest: u8) -> Result<u8> {
    match r.u8()? {
        known if (VERSION..=newest).contains(&known) => Ok(known),
        other => Err(SqlError::unknown(format!(
            "The stored definition of {} has format {other}, which this version does not know",
            r.what
        ))),
    }
}

/// Schema and name are the key it is stored under; the version is given when it is loaded.
pub fn encode_table(table: &TableDef) -> Vec<u8> {
    let mut w = Writer::default();
    let version = match &table.view {
        Some(_) => VERSION_VIEWS,
        None if table.options.statistics != StatisticsOptions::default() => VERSION_STATISTICS,
        None if table.columns.iter().any(|column| column.ty.array) => VERSION_ARRAYS,
        None if table.has_generated() => VERSION_GENERATED,
        None if !table.foreign_keys.is_empty() => VERSION_FOREIGN_KEYS,
        None => VERSION,
    };
    w.u8(version);
    w.u64(table.id.0);
    w.u64(table.columns.len() as u64);
    for column in &table.columns {
        w.str(&column.name);
        w.sql_type(&column.ty);
        match &column.default {
            None => w.u8(0),
            Some(ColumnDefault::Literal(value)) => {
                w.u8(1);
                w.value(value);
            }
            Some(ColumnDefault::CurrentTimestamp) => w.u8(2),
            Some(ColumnDefault::Expression(text)) => {
                w.u8(3);
                w.str(text);
            }
        }
        w.u8(column.on_update_now as u8
            | (column.auto_increment as u8) << 1
            | (column.invisible as u8) << 2
            | (column.explicit_collation as u8) << 3);
        w.str(&column.comment);
    }
    w.u64(table.indexes.len() as u64);
    for index in &table.indexes {
        w.str(&index.name);
        w.u64(index.number as u64);
        w.u8(index.unique as u8
            | (index.visible as u8) << 1
            | (index.generated as u8) << 2
            | (index.says_btree as u8) << 3);
        w.str(&index.comment);
        w.u64(index.parts.len() as u64);
        for part in &index.parts {
            w.u64(part.column as u64);
            w.u64(part.prefix.map_or(0, |prefix| prefix as u64));
            w.bool(part.descending);
        }
    }
    let options = &table.options;
    w.u64(options.collation.id() as u64);
    w.str(&options.comment);
    w.str(&options.row_format);
    w.u64(options.created);
    w.u64(options.checks.len() as u64);
    for check in &options.checks {
        w.str(&check.name);
        w.str(&check.expression);
        w.bool(check.enforced);
    }
    if version != VERSION {
        encode_foreign_keys(&mut w, &table.foreign_keys);
    }
    if version >= VERSION_GENERATED {
        encode_generated(&mut w, &table.columns);
    }
    if version >= VERSION_STATISTICS {
        let said = options.statistics;
        let switches = [said.persistent, said.auto_recalc].map(|switch| switch.map(u64::from));
        for option in switches.into_iter().chain([said.sample_pages.map(u64::from)]) {
            w.u64(option.map_or(0, |said| said + 1));
        }
    }
    if let Some(view) = &table.view {
        encode_view(&mut w, view);
    }
    w.0
}

fn encode_view(w: &mut Writer, view: &ViewDef) {
    let number = |known: Option<usize>| known.unwrap_or(0) as u8;
    w.str(&view.text);
    w.u64(view.names.len() as u64);
    for name in &view.names {
        w.str(name);
    }
    w.u8(number(
        ALGORITHMS.iter().position(|known| *known == view.algorithm),
    ));
    w.str(&view.definer.0);
    w.str(&view.definer.1);
    w.u8(view.invoker as u8
        | (view.updatable as u8) << 1
        | (view.valid as u8) << 2
        | (view.mergeable as u8) << 3);
    w.u8(number(
        CHECK_OPTIONS.iter().position(|known| *known == view.check),
    ));
    w.u64(view.collation.id() as u64);
    w.u64(view.client.id() as u64);
    w.u64(view.tables.len() as u64);
    for (schema, name) in &view.tables {
        w.str(schema);
        w.str(name);
    }
}

fn decode_view(r: &mut Reader) -> Result<ViewDef> {
    let text = r.str()?;
    let names = r.list(|r| r.str())?;
    let number = r.u8()? as usize;
    let algorithm = *ALGORITHMS.get(number).ok_or_else(|| r.damaged())?;
    let definer = (r.str()?, r.str()?);
    let flags = r.u8()?;
    let number = r.u8()? as usize;
    Ok(ViewDef {
        text,
        names,
        algorithm,
        definer,
        invoker: flags & 1 != 0,
        updatable: flags & 2 != 0,
        valid: flags & 4 != 0,
        mergeable: flags & 8 != 0,
        check: *CHECK_OPTIONS.get(number).ok_or_else(|| r.damaged())?,
        collation: r.collation()?,
        client: r.collation()?,
        tables: r.list(|r| Ok((r.str()?, r.str()?)))?,
    })
}

fn encode_foreign_keys(w: &mut Writer, keys: &[ForeignKeyDef]) {
    w.u64(keys.len() as u64);
    for key in keys {
        w.str(&key.name);
        w.u64(key.columns.len() as u64);
        for column in &key.columns {
            w.u64(*column as u64);
        }
        w.str(&key.parent_schema);
        w.str(&key.parent);
        w.u64(key.parent_columns.len() as u64);
        for column in &key.parent_columns {
            w.str(column);
        }
        for action in [key.on_delete, key.on_update] {
            let number = ACTIONS.iter().position(|known| *known == action).unwrap_or(0);
            w.u8(number as u8);
        }
    }
}

fn decode_foreign_keys(r: &mut Reader, columns: usize) -> Result<Vec<ForeignKeyDef>> {
    let action = |r: &mut Reader| {
        let number = r.u8()? as usize;
        ACTIONS.get(number).copied().ok_or_else(|| r.damaged())
    };
    r.list(|r| {
        Ok(ForeignKeyDef {
            name: r.str()?,
            columns: r.list(|r| match r.u64()? as usize {
                column if column < columns => Ok(column),
                _ => Err(r.damaged()),
            })?,
            parent_schema: r.str()?,
            parent: r.str()?,
            parent_columns: r.list(|r| r.str())?,
            on_delete: action(r)?,
            on_update: action(r)?,
        })
    })
}

fn encode_generated(w: &mut Writer, columns: &[ColumnDef]) {
    let columns = columns.iter().enumerate();
    let generated = columns.filter_map(|(at, column)| Some((at, column.generated.as_ref()?)));
    let generated: Vec<(usize, &GeneratedColumn)> = generated.collect();
    w.u64(generated.len() as u64);
    for (at, generated) in generated {
        w.u64(at as u64);
        w.u8(generated.stored as u8 | (generated.key_part as u8) << 1);
        w.str(&generated.expression);
    }
}

fn decode_generated(r: &mut Reader, columns: &mut [ColumnDef]) -> Result<()> {
    let generated = r.list(|r| {
        let at = r.u64()? as usize;
        let flags = r.u8()?;
        let generated = GeneratedColumn {
            expression: r.str()?,
            stored: flags & 1 != 0,
            key_part: flags & 2 != 0,
        };
        Ok((at, generated))
    })?;
    for (at, generated) in generated {
        let column = columns.get_mut(at).ok_or_else(|| r.damaged())?;
        column.generated = Some(generated);
    }
    Ok(())
}

fn decode_index(r: &mut Reader, columns: usize) -> Result<IndexDef> {
    let name = r.str()?;
    let number = r.u64()? as usize;
    let flags = r.u8()?;
    let comment = r.str()?;
    let parts = r.list(|r| {
        let column = r.u64()? as usize;
        if column >= columns {
            return Err(r.damaged());
        }
        let prefix = r.u64()? as u32;
        Ok(IndexPart {
            column,
            prefix: (prefix > 0).then_some(prefix),
            descending: r.bool()?,
        })
    })?;
    Ok(IndexDef {
        name,
        number,
        unique: flags & 1 != 0,
        visible: flags & 2 != 0,
        comment,
        generated: flags & 4 != 0,
        says_btree: flags & 8 != 0,
        parts,
    })
}

pub fn decode_table(schema: &str, name: &str, bytes: &[u8], version: u64, locks: &Locks) -> Result<TableDef> {
    let what = format!("{schema}.{name}");
    let mut r = Reader::new(bytes, &what);
    let written = self::version(&mut r, VERSION_STATISTICS)?;
    let id = TableId(r.u64()?);
    let mut columns = r.list(|r| {
        let name = r.str()?;
        let ty = r.sql_type()?;
        let default = match r.u8()? {
            0 => None,
            1 => Some(ColumnDefault::Literal(r.value()?)),
            2 => Some(ColumnDefault::CurrentTimestamp),
            3 => Some(ColumnDefault::Expression(r.str()?)),
            _ => return Err(r.damaged()),
        };
        let flags = r.u8()?;
        Ok(ColumnDef {
            name,
            ty,
            default,
            on_update_now: flags & 1 != 0,
            auto_increment: flags & 2 != 0,
            invisible: flags & 4 != 0,
            explicit_collation: flags & 8 != 0,
            comment: r.str()?,
            generated: None,
        })
    })?;
    let indexes = r.list(|r| decode_index(r, columns.len()))?;
    let mut options = TableOptions {
        collation: r.collation()?,
        comment: r.str()?,
        row_format: r.str()?,
        created: r.u64()?,
        checks: r.list(|r| {
            Ok(CheckDef {
                name: r.str()?,
                expression: r.str()?,
                enforced: r.bool()?,
            })
        })?,
        statistics: StatisticsOptions::default(),
    };
    let foreign_keys = match written {
        VERSION => Vec::new(),
        _ => decode_foreign_keys(&mut r, columns.len())?,
    };
    if written >= VERSION_GENERATED {
        decode_generated(&mut r, &mut columns)?;
    }
    if written >= VERSION_STATISTICS {
        let [persistent, auto_recalc, pages] = [r.u64()?, r.u64()?, r.u64()?].map(|said| said.checked_sub(1));
        options.statistics = StatisticsOptions {
            persistent: persistent.map(|said| said != 0),
            auto_recalc: auto_recalc.map(|said| said != 0),
            sample_pages: pages.and_then(|pages| u16::try_from(pages).ok()),
        };
    }
    let view = match written {
        VERSION_VIEWS => Some(decode_view(&mut r)?.into()),
        _ => None,
    };
    Ok(TableDef {
        lock: locks.table(schema, name),
        schema: schema.to_owned(),
        name: name.to_owned(),
        id,
        version,
        columns,
        indexes,
        options,
        foreign_keys,
        temporary: false,
        view,
        histograms: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_definition_survives_storage() {
        let locks = Locks::default();
        let members: std::sync::Arc<[String]> = vec!["a".to_owned(), "b".to_owned()].into();
        let types = [
            (SqlType::new(TypeKind::Int).unsigned(), Some(Value::UInt(7))),
            (
                SqlType::decimal(10, 2),
                Some(Value::Decimal(Decimal::new(-105, 2))),
            ),
            (SqlType::new(TypeKind::Json), Some(Value::Null)),
            (
                SqlType::new(TypeKind::Enum).with_members(members),
                Some(Value::Member(2, b"b".to_vec().into())),
            ),
            (SqlType::varbinary(16), Some(Value::string(vec![0u8, 255]))),
            (SqlType::datetime(3), None),
        ];
        let columns: Vec<ColumnDef> = types
            .into_iter()
            .enumerate()
            .map(|(i, (ty, default))| ColumnDef {
                name: format!("c{i}"),
                ty,
                default: default.map(ColumnDefault::Literal),
                on_update_now: i == 5,
                auto_increment: i == 0,
                invisible: false,
                explicit_collation: i == 4,
                comment: "it's".to_owned(),
                generated: None,
            })
            .collect();
        let mut table = TableDef {
            lock: locks.table("s", "t"),
            schema: "s".to_owned(),
            name: "t".to_owned(),
            id: TableId(77),
            version: 3,
            columns,
            indexes: vec![IndexDef {
                name: "PRIMARY".to_owned(),
                number: 0,
                unique: true,
                visible: true,
                says_btree: false,
                comment: String::new(),
                generated: false,
                parts: vec![IndexPart {
                    column: 4,
                    prefix: Some(10),
                    descending: true,
                }],
            }],
            options: TableOptions {
                collation: Collation::LATIN1_SWEDISH_CI,
                comment: "c".to_owned(),
                row_format: String::new(),
                created: 1,
                checks: vec![CheckDef {
                    name: "t_chk_1".to_owned(),
                    expression: "(`c0` > 0)".to_owned(),
                    enforced: true,
                }],
                statistics: StatisticsOptions::default(),
            },
            foreign_keys: Vec::new(),
            temporary: false,
            view: None,
            histograms: Vec::new(),
        };
        let survives = |table: &TableDef, version: u8| {
            let bytes = encode_table(table);
            assert_eq!(bytes[0], version);
            let back = decode_table("s", "t", &bytes, 3, &locks).unwrap();
            assert_eq!(format!("{table:?}"), format!("{back:?}"));
            bytes
        };
        // What an older program has written.
        survives(&table, VERSION);
        table.foreign_keys.push(ForeignKeyDef {
            name: "t_ibfk_1".to_owned(),
            columns: vec![0, 1],
            parent_schema: "o".to_owned(),
            parent: "p".to_owned(),
            parent_columns: vec!["a".to_owned(), "b".to_owned()],
            on_delete: ReferentialAction::SetNull,
            on_update: ReferentialAction::Cascade,
        });
        survives(&table, VERSION_FOREIGN_KEYS);
        table.columns[3].generated = Some(GeneratedColumn {
            expression: "(`c0` + 1)".to_owned(),
            stored: true,
            key_part: false,
        });
        let bytes = survives(&table, VERSION_GENERATED);
        for cut in 0..bytes.len() {
            assert!(
                decode_table("s", "t", &bytes[..cut], 3, &locks).is_err(),
                "cut at {cut}"
            );
        }
        table.columns[3].ty = SqlType::bigint_unsigned().array();
        survives(&table, VERSION_ARRAYS);
        table.options.statistics = StatisticsOptions {
            persistent: Some(false),
            auto_recalc: None,
            sample_pages: Some(65_535),
        };
        survives(&table, VERSION_STATISTICS);
        // A view has none.
        table.options.statistics = StatisticsOptions::default();
        table.columns[3].generated = None;
        table.view = Some(Arc::new(ViewDef {
            text: "select 1 AS `1`".to_owned(),
            names: vec!["c0".to_owned()],
            algorithm: ViewAlgorithm::Temptable,
            definer: ("u".to_owned(), "%".to_owned()),
            invoker: true,
            check: CheckOption::Cascaded,
            updatable: false,
            valid: true,
            mergeable: true,
            collation: Collation::LATIN1_SWEDISH_CI,
            client: Collation::DEFAULT,
            tables: vec![("s".to_owned(), "t".to_owned())],
        }));
        let bytes = encode_table(&table);
        let back = decode_table("s", "t", &bytes, 3, &locks).unwrap();
        assert_eq!(format!("{table:?}"), format!("{back:?}"));
        for cut in 0..bytes.len() {
            assert!(
                decode_table("s", "t", &bytes[..cut], 3, &locks).is_err(),
                "cut at {cut}"
            );
        }
    }
}

//! CHECKSUM TABLE, with MySQL's numbers: the sum of the CRC-32s of all rows, so that their order does not matter. What is
//! summed up of a row is its form in MySQL's memory:
//!
//! ```text
//!   null bits │ a value behind the other, those of NULL too
//!
//!   null bits   one for each column that may be NULL, from the lowest bit on; in a table without VARCHAR, TEXT and their
//!               kind one more stands in front. What is left of the last byte, and that bit, are ones
//!   integers    little-endian                      FLOAT, DOUBLE   as they are
//!   CHAR        filled up with spaces to as many   texts, BIT      their bytes, in the column's character set
//!               bytes as its characters may take   DECIMAL         groups of nine digits
//!   DATE        little-endian                      DATETIME, TIME  big-endian fields, then the fraction
//!   NULL        the column's default, or the type's zero
//! ```

use crate::context::answer::{bigint, text};
use crate::context::{ResultRows, SessionState};
use crate::dictionary::{ColumnDef, ColumnDefault, TableDef};
use crate::error::{Result, SqlError};
use crate::types::{DateTime, SqlType, Time, TimeZone, TypeKind, Val, assign};
use tidemark_engine::{Datum, Flow, Keep, KeyRange, RangeScan, Read, Transaction};

/// The answer to CHECKSUM TABLE without rows; of each table it has the name and the checksum.
pub fn empty_answer() -> ResultRows {
    ResultRows::new(&[("Table", text(512)), ("Checksum", bigint())])
}

/// The checksum of a table's rows, as a transaction reads them.
pub fn sum_rows(state: &SessionState, table: &TableDef, txn: &mut Transaction, read: Read) -> Result<u32> {
    let stored = state.database.engine().table(table.id)?;
    let form = RecordForm::new(table);
    let (mut sum, mut count) = (0u32, 0u64);
    stored.scan(txn, &RangeScan::new(0, &KeyRange::all()), read, &mut |row| {
        count += 1;
        if count.is_multiple_of(1024) && state.process.is_interrupted() {
            return Err(SqlError::interrupted().into());
        }
        sum = sum.wrapping_add(form.sum(|at| row.get(at)));
        Ok((Keep::Release, Flow::Continue))
    })?;
    Ok(sum)
}

/// A table's rows in MySQL's form.
struct RecordForm<'t> {
    table: &'t TableDef,
    /// The bit of the first column that may be NULL.
    first_bit: usize,
    null_bytes: usize,
    /// What stands for NULL, by column.
    nulls: Vec<Vec<u8>>,
}

impl RecordForm<'_> {
    fn new(table: &TableDef) -> RecordForm<'_> {
        let is_varying = |ty: &SqlType| ty.kind == TypeKind::VarChar || ty.is_blob_or_text();
        let first_bit = !table.columns.iter().any(|column| is_varying(&column.ty)) as usize;
        let nullable = table.columns.iter().filter(|column| column.ty.nullable).count();
        RecordForm {
            table,
            first_bit,
            null_bytes: (first_bit + nullable).div_ceil(8),
            nulls: table.columns.iter().map(null_form).collect(),
        }
    }

    /// The CRC-32 of a row.
    fn sum<'r>(&self, datum: impl Fn(usize) -> Datum<'r>) -> u32 {
        let mut record = vec![0xFF; self.null_bytes];
        let mut bit = self.first_bit;
        for (at, column) in self.table.columns.iter().enumerate() {
            let value = column.ty.load(datum(at), &TimeZone::UTC);
            if column.ty.nullable {
                if !value.is_null() {
                    record[bit / 8] &= !(1 << (bit % 8));
                }
                bit += 1;
            }
            match value.is_null() {
                true => record.extend_from_slice(&self.nulls[at]),
                false => put(&value, &column.ty, &mut record),
            }
        }
        crc32fast::hash(&record)
    }
}

fn null_form(column: &ColumnDef) -> Vec<u8> {
    let ty = &column.ty;
    let mut out = Vec::new();
    match &column.default {
        Some(ColumnDefault::Literal(value)) if !value.is_null() => put(value, ty, &mut out),
        _ if ty.kind == TypeKind::Enum => out.resize(1 + (ty.members().len() > 255) as usize, 0),
        _ if ty.is_blob_or_text() && ty.kind != TypeKind::Json => {}
        _ => put(&assign::zero_value(ty), ty, &mut out),
    }
    out
}

/// Bytes of the fraction of a second.
fn fraction_len(ty: &SqlType) -> usize {
    ty.scale.div_ceil(2) as usize
}

/// Appends a value of a column of this type.
fn put(value: &Val, ty: &SqlType, out: &mut Vec<u8>) {
    match value {
        Val::Null => {}
        Val::Int(v) => put_int(*v as u64, ty, out),
        Val::UInt(v) => put_int(*v, ty, out),
        Val::Float(v) => out.extend_from_slice(&v.to_le_bytes()),
        Val::Double(v) if ty.kind == TypeKind::Float => out.extend_from_slice(&(*v as f32).to_le_bytes()),
        Val::Double(v) => out.extend_from_slice(&v.to_le_bytes()),
        Val::Decimal(v) => v.store(ty.length, ty.scale, out),
        Val::Str(_) | Val::Json(_) => put_text(&value.to_text(), ty, out),
        Val::Member(number, _) => {
            let len = match (ty.kind, ty.members().len()) {
                (TypeKind::Enum, members) => 1 + (members > 255) as usize,
                (_, members) => match members.div_ceil(8) {
                    len @ 0..=4 => len.max(1),
                    _ => 8,
                },
            };
            out.extend_from_slice(&number.to_le_bytes()[..len]);
        }
        Val::Date(d) => {
            let packed = (d.year as u32) << 9 | (d.month as u32) << 5 | d.day as u32;
            out.extend_from_slice(&packed.to_le_bytes()[..3]);
        }
        Val::DateTime(t) => put_datetime(t, ty, out),
        Val::Time(t) => put_time(t, ty, out),
    }
}

fn put_int(value: u64, ty: &SqlType, out: &mut Vec<u8>) {
    let len = match ty.kind {
        TypeKind::Year => {
            out.push(value.saturating_sub(1900) as u8);
            return;
        }
        TypeKind::Bit => {
            let len = ty.length.div_ceil(8).clamp(1, 8) as usize;
            out.extend_from_slice(&value.to_be_bytes()[8 - len..]);
            return;
        }
        TypeKind::TinyInt => 1,
        TypeKind::SmallInt => 2,
        TypeKind::MediumInt => 3,
        TypeKind::Int => 4,
        _ => 8,
    };
    out.extend_from_slice(&value.to_le_bytes()[..len]);
}

fn put_text(text: &[u8], ty: &SqlType, out: &mut Vec<u8>) {
    let charset = ty.collation.charset();
    let start = out.len();
    match charset.encode(text) {
        Some(encoded) => out.extend_from_slice(&encoded),
        None => out.extend_from_slice(text),
    }
    if ty.kind == TypeKind::Char {
        let filler = if ty.is_binary_string() { 0 } else { b' ' };
        out.resize(start + ty.length as usize * charset.max_bytes() as usize, filler);
    }
}

fn put_fraction(micros: u32, ty: &SqlType, out: &mut Vec<u8>) {
    let len = fraction_len(ty);
    let units = micros / [1_000_000, 10_000, 100, 1][len.min(3)];
    out.extend_from_slice(&units.to_be_bytes()[4 - len..]);
}

fn put_datetime(t: &DateTime, ty: &SqlType, out: &mut Vec<u8>) {
    if ty.kind == TypeKind::Timestamp {
        let seconds = match t.is_zero() {
            true => 0,
            false => TimeZone::UTC.instant(*t).div_euclid(1_000_000) as u32,
        };
        out.extend_from_slice(&seconds.to_be_bytes());
    } else {
        let day = (t.date.year as u64 * 13 + t.date.month as u64) << 5 | t.date.day as u64;
        let clock = (t.hour as u64) << 12 | (t.minute as u64) << 6 | t.second as u64;
        let packed = (day << 17 | clock) | 1 << 39;
        out.extend_from_slice(&packed.to_be_bytes()[3..]);
    }
    put_fraction(t.micro, ty, out);
}

/// Fields and fraction as one number, above or below the middle of the range.
fn put_time(t: &Time, ty: &SqlType, out: &mut Vec<u8>) {
    let len = fraction_len(ty);
    let (seconds, micros) = (t.micros.abs() / 1_000_000, t.micros.abs() % 1_000_000);
    let fields = (seconds / 3600) << 12 | (seconds / 60 % 60) << 6 | (seconds % 60);
    let units = micros / [1_000_000, 10_000, 100, 1][len.min(3)];
    let magnitude = fields << (8 * len) | units;
    let middle = 0x80_0000i64 << (8 * len);
    let packed = if t.micros < 0 {
        middle - magnitude
    } else {
        middle + magnitude
    };
    out.extend_from_slice(&packed.to_be_bytes()[5 - len..]);
}

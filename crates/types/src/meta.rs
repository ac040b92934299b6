//! What the protocol tells a client about a result column or a parameter.

use super::collation::{Charset, Collation};
use super::sql_type::{SqlType, TypeKind};

/// Column flags of the protocol.
pub mod flag {
    /// It cannot be NULL.
    pub const NOT_NULL: u16 = 1;
    /// It is part of the primary key.
    pub const PRI_KEY: u16 = 2;
    /// It is a unique key.
    pub const UNIQUE_KEY: u16 = 4;
    /// It begins an index that is not unique.
    pub const MULTIPLE_KEY: u16 = 8;
    /// A BLOB or TEXT.
    pub const BLOB: u16 = 16;
    /// It is unsigned.
    pub const UNSIGNED: u16 = 32;
    /// It is filled up with zeros.
    pub const ZEROFILL: u16 = 64;
    /// Its collation is binary.
    pub const BINARY: u16 = 128;
    /// An ENUM.
    pub const ENUM: u16 = 256;
    /// It is AUTO_INCREMENT.
    pub const AUTO_INCREMENT: u16 = 512;
    /// A TIMESTAMP that is set to the current time by itself.
    pub const TIMESTAMP: u16 = 1024;
    /// A SET.
    pub const SET: u16 = 2048;
    /// It has no default.
    pub const NO_DEFAULT_VALUE: u16 = 4096;
    /// It is ON UPDATE CURRENT_TIMESTAMP.
    pub const ON_UPDATE_NOW: u16 = 8192;
    /// It is part of some index.
    pub const PART_KEY: u16 = 16384;
}

/// Type bytes of the protocol.
pub mod wire {
    /// TINYINT
    pub const TINY: u8 = 1;
    /// SMALLINT
    pub const SHORT: u8 = 2;
    /// INT
    pub const LONG: u8 = 3;
    /// FLOAT
    pub const FLOAT: u8 = 4;
    /// DOUBLE
    pub const DOUBLE: u8 = 5;
    /// NULL
    pub const NULL: u8 = 6;
    /// TIMESTAMP
    pub const TIMESTAMP: u8 = 7;
    /// BIGINT
    pub const LONGLONG: u8 = 8;
    /// MEDIUMINT
    pub const INT24: u8 = 9;
    /// DATE
    pub const DATE: u8 = 10;
    /// TIME
    pub const TIME: u8 = 11;
    /// DATETIME
    pub const DATETIME: u8 = 12;
    /// YEAR
    pub const YEAR: u8 = 13;
    /// VARCHAR and VARBINARY, as documents call them.
    pub const VARCHAR: u8 = 15;
    /// BIT
    pub const BIT: u8 = 16;
    /// JSON
    pub const JSON: u8 = 245;
    /// DECIMAL
    pub const NEWDECIMAL: u8 = 246;
    /// MEDIUMBLOB, as documents call what is computed.
    pub const MEDIUM_BLOB: u8 = 250;
    /// LONGBLOB, as documents call what is computed.
    pub const LONG_BLOB: u8 = 251;
    /// All BLOB and TEXT types.
    pub const BLOB: u8 = 252;
    /// VARCHAR, VARBINARY
    pub const VAR_STRING: u8 = 253;
    /// CHAR, BINARY, ENUM, SET
    pub const STRING: u8 = 254;
}

/// A column definition packet in fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMeta {
    /// The database of the column.
    pub db: String,
    /// The alias of the table.
    pub table: String,
    /// The table's own name.
    pub org_table: String,
    /// The alias of the column.
    pub name: String,
    /// The column's own name.
    pub org_name: String,
    /// Collation id; 63 for everything that is not text.
    pub charset: u16,
    /// Bytes the widest value needs.
    pub length: u32,
    /// One of [`wire`].
    pub type_byte: u8,
    /// Several of [`flag`].
    pub flags: u16,
    /// Digits behind the point; 31 where they vary.
    pub decimals: u8,
}

impl ColumnMeta {
    /// Of an expression: no table, no original name. `results` is the collation text is sent in
    /// (`character_set_results`); `None`: each text in its own.
    pub fn of_expression(name: &str, ty: &SqlType, results: Option<Collation>) -> ColumnMeta {
        ColumnMeta {
            db: String::new(),
            table: String::new(),
            org_table: String::new(),
            name: name.to_string(),
            org_name: String::new(),
            charset: charset_of(ty, results),
            length: byte_length(ty, results),
            type_byte: type_byte(ty),
            flags: flags_of(ty),
            decimals: decimals_of(ty),
        }
    }

    /// Of a table's column; key and auto-increment flags are the caller's to add.
    pub fn of_column(
        db: &str,
        table: (&str, &str),
        name: (&str, &str),
        ty: &SqlType,
        results: Option<Collation>,
    ) -> Self {
        ColumnMeta {
            db: db.to_string(),
            table: table.0.to_string(),
            org_table: table.1.to_string(),
            org_name: name.1.to_string(),
            // A stored number is not called binary, and a stored text has no decimals.
            flags: if ty.is_numeric() {
                flags_of(ty) & !flag::BINARY
            } else {
                flags_of(ty)
            },
            decimals: if ty.is_string() { 0 } else { decimals_of(ty) },
            ..ColumnMeta::of_expression(name.0, ty, results)
        }
    }
}

impl SqlType {
    /// Bytes the widest value needs in the type's own character set.
    pub fn byte_width(&self) -> u32 {
        byte_length(self, None)
    }
}

fn charset_of(ty: &SqlType, results: Option<Collation>) -> u16 {
    if ty.kind == TypeKind::Json || !ty.is_string() || ty.is_binary_string() {
        return Collation::BINARY.id();
    }
    results.unwrap_or(ty.collation).id()
}

fn byte_length(ty: &SqlType, results: Option<Collation>) -> u32 {
    let binary = ty.is_binary_string();
    let results = results.unwrap_or(ty.collation);
    match ty.kind {
        TypeKind::Json => u32::MAX,
        // A text of no declared length is as long as a column could be.
        TypeKind::VarChar if ty.length == u32::MAX => 262_140,
        TypeKind::Char | TypeKind::VarChar | TypeKind::Enum | TypeKind::Set if !binary => {
            ty.length.saturating_mul(results.charset().max_bytes())
        }
        TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText if !binary => {
            ty.length.saturating_mul(results.charset().max_bytes())
        }
        TypeKind::Bit => ty.length,
        _ => ty.display_length(),
    }
}

/// The protocol's type byte.
pub fn type_byte(ty: &SqlType) -> u8 {
    use TypeKind::*;
    match ty.kind {
        Null => wire::NULL,
        TinyInt => wire::TINY,
        SmallInt => wire::SHORT,
        MediumInt => wire::INT24,
        Int => wire::LONG,
        BigInt => wire::LONGLONG,
        Float => wire::FLOAT,
        Double => wire::DOUBLE,
        Decimal => wire::NEWDECIMAL,
        Bit => wire::BIT,
        Year => wire::YEAR,
        Date => wire::DATE,
        Time => wire::TIME,
        DateTime => wire::DATETIME,
        Timestamp => wire::TIMESTAMP,
        Char | Enum | Set => wire::STRING,
        VarChar => wire::VAR_STRING,
        TinyText | Text | MediumText | LongText => wire::BLOB,
        Json => wire::JSON,
    }
}

fn flags_of(ty: &SqlType) -> u16 {
    let mut flags = 0;
    let mut set = |condition: bool, flag: u16| flags |= if condition { flag } else { 0 };
    set(!ty.nullable, flag::NOT_NULL);
    set(ty.unsigned, flag::UNSIGNED);
    set(ty.zerofill, flag::ZEROFILL);
    set(ty.is_blob_or_text(), flag::BLOB);
    set(ty.kind == TypeKind::Enum, flag::ENUM);
    set(ty.kind == TypeKind::Set, flag::SET);
    let binary = ty.is_binary_string()
        || ty.is_temporal()
        || ty.kind == TypeKind::Json
        || ty.collation.is_code_point();
    let number = ty.is_numeric() && ty.kind != TypeKind::Bit;
    set(binary || number || ty.kind == TypeKind::Null, flag::BINARY);
    flags
}

fn decimals_of(ty: &SqlType) -> u8 {
    match ty.kind {
        TypeKind::Null => 0,
        _ if ty.is_string() => SqlType::NOT_FIXED,
        _ => ty.scale,
    }
}

impl Charset {
    /// Bytes of the shortest character.
    pub fn min_bytes(self) -> u32 {
        match self {
            Charset::Wide(form) => form.unit() as u32,
            _ => 1,
        }
    }

    /// Bytes of the longest character.
    #[inline]
    pub fn max_bytes(self) -> u32 {
        match self {
            Charset::Utf8mb4 => 4,
            Charset::Utf8mb3 => 3,
            Charset::Wide(form) => form.max_bytes(),
            Charset::Bytes(_) | Charset::Ascii | Charset::Binary => 1,
        }
    }
}

//! A column as written → a column as it is: its type, its default, its flags, with MySQL's refusals.

use crate::context::SessionState;
use crate::dictionary::{ColumnDef, ColumnDefault};
use crate::error::{Result, SqlError, er};
use crate::expr::NoSubqueries;
use crate::parse::ast::{self, DefaultValue, Expr, Literal, TypeName, UnaryOp};
use crate::types::{Charset, Collation, Decimal, Derivation, SqlType, TypeKind, Value, assign};

/// Longest row that columns other than BLOB and TEXT may make, in bytes.
const ROW_BYTES_MAX: u64 = 65_535;
const SET_MEMBERS_MAX: usize = 64;
const ENUM_MEMBERS_MAX: usize = 65_535;

/// The collation that a character set and a collation name, either or both given, stand for.
pub fn collation(charset: Option<&str>, collation: Option<&str>) -> Result<Option<Collation>> {
    let charset = match charset {
        Some(name) => Some(Charset::by_name(name).ok_or_else(|| SqlError::unknown_charset(name))?),
        None => None,
    };
    let Some(name) = collation else {
        return Ok(charset.map(Charset::default_collation));
    };
    let found = Collation::by_name(name).ok_or_else(|| SqlError::unknown_collation(name))?;
    match charset {
        Some(charset) if charset != found.charset() => {
            Err(SqlError::collation_charset_mismatch(found.name(), charset.name()))
        }
        _ => Ok(Some(found)),
    }
}

/// A column's type; `table` is the collation of columns that name none. The second value: a collation was written.
pub fn column_type(name: &str, ty: &TypeName, table: Collation) -> Result<(SqlType, bool)> {
    use TypeKind::*;
    let given = collation(ty.charset.as_deref(), ty.collation.as_deref())?;
    let text_collation = match given {
        Some(collation) if ty.binary && ty.collation.is_none() => collation.charset().bin_collation(),
        Some(collation) => collation,
        None if ty.binary => table.charset().bin_collation(),
        None => table,
    };
    let length = |default: u64| ty.length.unwrap_or(default);
    let mut sql = match ty.name.as_str() {
        "TINYINT" => integer(TinyInt, ty, 4, 3),
        "SMALLINT" => integer(SmallInt, ty, 6, 5),
        "MEDIUMINT" => integer(MediumInt, ty, 9, 8),
        "INT" | "INTEGER" => integer(Int, ty, 11, 10),
        "BIGINT" => integer(BigInt, ty, 20, 20),
        "BOOL" | "BOOLEAN" => SqlType::new(TinyInt).with_length(1),
        "SERIAL" => SqlType::new(BigInt).unsigned(),
        "FLOAT" => float(name, ty)?,
        "DOUBLE" | "REAL" | "DOUBLE PRECISION" => double(name, ty)?,
        "DECIMAL" | "NUMERIC" | "DEC" | "FIXED" => decimal(name, ty)?,
        "BIT" => {
            let bits = length(1).max(1);
            if bits > 64 {
                return Err(SqlError::new(
                    er::TOO_BIG_DISPLAYWIDTH,
                    format!("Display width out of range for column '{name}' (max = 64)"),
                ));
            }
            SqlType::new(Bit).with_length(bits as u32)
        }
        "YEAR" => SqlType::new(Year),
        "DATE" => SqlType::new(Date),
        "TIME" => SqlType::new(Time).with_fsp(fsp(name, ty)?),
        "DATETIME" => SqlType::new(DateTime).with_fsp(fsp(name, ty)?),
        "TIMESTAMP" => SqlType::new(Timestamp).with_fsp(fsp(name, ty)?),
        "CHAR" | "CHARACTER" | "NCHAR" => string(Char, name, length(1), 255, text_collation)?,
        "BINARY" => string(Char, name, length(1), 255, Collation::BINARY)?,
        "VARCHAR" | "NVARCHAR" | "VARBINARY" => {
            let collation = if ty.name == "VARBINARY" {
                Collation::BINARY
            } else {
                text_collation
            };
            let Some(length) = ty.length else {
                return Err(SqlError::syntax("", 1));
            };
            let max = ROW_BYTES_MAX / collation.charset().max_bytes() as u64;
            string(VarChar, name, length, max, collation)?
        }
        "TINYTEXT" => text(TinyText, text_collation),
        "TEXT" => text(sized_text(ty.length, text_collation), text_collation),
        "MEDIUMTEXT" | "LONG" | "LONG VARCHAR" => text(MediumText, text_collation),
        "LONGTEXT" => text(LongText, text_collation),
        "TINYBLOB" => text(TinyText, Collation::BINARY),
        "BLOB" => text(sized_text(ty.length, Collation::BINARY), Collation::BINARY),
        "MEDIUMBLOB" | "LONG VARBINARY" => text(MediumText, Collation::BINARY),
        "LONGBLOB" => text(LongText, Collation::BINARY),
        "JSON" => text(Json, Collation::UTF8MB4_BIN),
        "ENUM" => members(Enum, name, ty, text_collation)?,
        "SET" => members(Set, name, ty, text_collation)?,
        other => return Err(SqlError::not_supported(format!("{other} columns"))),
    };
    if ty.unsigned && sql.is_numeric() {
        sql.unsigned = true;
    }
    if ty.zerofill && sql.is_numeric() {
        sql.unsigned = true;
        sql.zerofill = true;
    }
    let explicit =
        ty.collation.is_some() || (ty.charset.is_some() && sql.is_string() && !sql.is_binary_string());
    Ok((sql, explicit))
}

fn integer(kind: TypeKind, ty: &TypeName, signed: u32, unsigned: u32) -> SqlType {
    let width = if ty.unsigned || ty.zerofill {
        unsigned
    } else {
        signed
    };
    let written = ty
        .length
        .filter(|length| ty.zerofill || (kind == TypeKind::TinyInt && *length == 1));
    SqlType::new(kind).with_length(written.map_or(width, |length| length.min(255) as u32))
}

fn float(name: &str, ty: &TypeName) -> Result<SqlType> {
    match (ty.length, ty.decimals) {
        (Some(precision), None) if precision > 53 => Err(SqlError::new(
            er::WRONG_FIELD_SPEC,
            format!("Incorrect column specifier for column '{name}'"),
        )),
        (Some(precision), None) if precision > 24 => Ok(SqlType::new(TypeKind::Double)),
        (_, None) => Ok(SqlType::new(TypeKind::Float)),
        _ => fixed(TypeKind::Float, name, ty),
    }
}

fn double(name: &str, ty: &TypeName) -> Result<SqlType> {
    match ty.decimals {
        None => Ok(SqlType::new(TypeKind::Double)),
        Some(_) => fixed(TypeKind::Double, name, ty),
    }
}

/// FLOAT(M,D) and DOUBLE(M,D).
fn fixed(kind: TypeKind, name: &str, ty: &TypeName) -> Result<SqlType> {
    let (precision, scale) = (ty.length.unwrap_or(0), ty.decimals.unwrap_or(0));
    if scale > 30 {
        return Err(SqlError::too_big_scale(scale, name, 30));
    }
    if precision > 255 {
        return Err(SqlError::new(
            er::TOO_BIG_DISPLAYWIDTH,
            format!("Display width out of range for column '{name}' (max = 255)"),
        ));
    }
    if scale > precision {
        return Err(SqlError::scale_exceeds_precision(name));
    }
    let mut sql = SqlType::new(kind).with_length(precision as u32);
    sql.scale = scale as u8;
    Ok(sql)
}

fn decimal(name: &str, ty: &TypeName) -> Result<SqlType> {
    let precision = match ty.length {
        None | Some(0) => 10,
        Some(precision) => precision,
    };
    let scale = ty.decimals.unwrap_or(0);
    if scale > 30 {
        return Err(SqlError::too_big_scale(scale, name, 30));
    }
    if precision > 65 {
        return Err(SqlError::too_big_precision(precision, name, 65));
    }
    if scale > precision {
        return Err(SqlError::scale_exceeds_precision(name));
    }
    Ok(SqlType::decimal(precision as u32, scale as u8))
}

fn fsp(name: &str, ty: &TypeName) -> Result<u8> {
    match ty.length.unwrap_or(0) {
        fsp @ 0..=6 => Ok(fsp as u8),
        fsp => Err(SqlError::too_big_precision(fsp, name, 6)),
    }
}

fn string(kind: TypeKind, name: &str, length: u64, max: u64, collation: Collation) -> Result<SqlType> {
    if length > max {
        return Err(SqlError::too_big_column_length(name, max as u32));
    }
    let mut sql = SqlType::new(kind).with_length(length as u32);
    sql.collation = collation;
    sql.derivation = Derivation::Implicit;
    Ok(sql)
}

fn text(kind: TypeKind, collation: Collation) -> SqlType {
    let mut sql = SqlType::new(kind);
    sql.collation = collation;
    sql.derivation = Derivation::Implicit;
    sql
}

/// `TEXT(n)` is the smallest of the four that holds n characters.
fn sized_text(length: Option<u64>, collation: Collation) -> TypeKind {
    let bytes = length.map(|n| n.saturating_mul(collation.charset().max_bytes() as u64));
    match bytes {
        None | Some(0) => TypeKind::Text,
        Some(1..=255) => TypeKind::TinyText,
        Some(256..=65_535) => TypeKind::Text,
        Some(65_536..=16_777_215) => TypeKind::MediumText,
        Some(_) => TypeKind::LongText,
    }
}

fn members(kind: TypeKind, name: &str, ty: &TypeName, collation: Collation) -> Result<SqlType> {
    let mut members: Vec<String> = Vec::with_capacity(ty.members.len());
    for bytes in &ty.members {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end_matches(' ').to_owned();
        if members
            .iter()
            .any(|other| other.to_lowercase() == text.to_lowercase())
            && !collation.is_code_point()
        {
            let kind = if kind == TypeKind::Enum { "ENUM" } else { "SET" };
            return Err(SqlError::new(
                er::DUPLICATED_VALUE_IN_TYPE,
                format!("Column '{name}' has duplicated value '{text}' in {kind}"),
            ));
        }
        if kind == TypeKind::Set && text.contains(',') {
            return Err(SqlError::new(
                er::ILLEGAL_VALUE_FOR_TYPE,
                format!("Illegal set '{text}' value found during parsing"),
            ));
        }
        members.push(text);
    }
    let max = if kind == TypeKind::Set {
        SET_MEMBERS_MAX
    } else {
        ENUM_MEMBERS_MAX
    };
    if members.len() > max {
        return Err(SqlError::new(
            er::TOO_BIG_SET,
            format!("Too many strings for column {name} and SET"),
        ));
    }
    let mut sql = SqlType::new(kind).with_members(members.into());
    sql.collation = collation;
    Ok(sql)
}

/// A column definition; key flags of the table are the caller's to apply (a primary key is NOT NULL).
pub fn column(state: &SessionState, def: &ast::ColumnDef, table: Collation) -> Result<ColumnDef> {
    let name = def.name.as_str();
    check_identifier(name)?;
    if name.is_empty() || name.ends_with(' ') {
        return Err(SqlError::new(
            er::WRONG_COLUMN_NAME,
            format!("Incorrect column name '{name}'"),
        ));
    }
    if def.generated.is_some() {
        return Err(SqlError::not_supported("generated columns"));
    }
    let (mut ty, explicit_collation) = column_type(name, &def.ty, table)?;
    let serial = def.ty.name == "SERIAL";
    ty.nullable = def.nullable.unwrap_or(true) && !serial && !def.auto_increment;
    if def.key == Some(ast::ColumnKey::Primary) {
        ty.nullable = false;
    }
    let auto_increment = def.auto_increment || serial;
    if auto_increment
        && !(ty.is_integer() && ty.kind != TypeKind::Bit && ty.kind != TypeKind::Year || ty.is_float())
    {
        return Err(SqlError::new(
            er::WRONG_FIELD_SPEC,
            format!("Incorrect column specifier for column '{name}'"),
        ));
    }
    let default = match &def.default {
        Some(_) if auto_increment => return Err(SqlError::invalid_default(name)),
        Some(written) => Some(default(state, name, &ty, written)?),
        None if auto_increment || !ty.nullable => None,
        None => Some(ColumnDefault::Literal(Value::Null)),
    };
    let on_update_now = match &def.on_update {
        Some(expr) => {
            if current_timestamp(expr) != Some(ty.scale) || !is_clock_type(&ty) {
                return Err(SqlError::new(
                    er::INVALID_ON_UPDATE,
                    format!("Invalid ON UPDATE clause for '{name}' column"),
                ));
            }
            true
        }
        None => false,
    };
    let comment = def.comment.clone().unwrap_or_default();
    if comment.chars().count() > 1024 {
        return Err(SqlError::new(
            er::TOO_LONG_FIELD_COMMENT,
            format!("Comment for field '{name}' is too long (max = 1024)"),
        ));
    }
    Ok(ColumnDef {
        name: name.to_owned(),
        ty,
        default,
        on_update_now,
        auto_increment,
        invisible: def.invisible,
        explicit_collation,
        comment,
    })
}

fn is_clock_type(ty: &SqlType) -> bool {
    matches!(ty.kind, TypeKind::DateTime | TypeKind::Timestamp)
}

/// The precision of CURRENT_TIMESTAMP and its synonyms.
fn current_timestamp(expr: &Expr) -> Option<u8> {
    let Expr::Function(call) = expr else {
        return None;
    };
    let clock = matches!(
        call.name.as_str(),
        "NOW" | "CURRENT_TIMESTAMP" | "LOCALTIME" | "LOCALTIMESTAMP"
    );
    if !clock {
        return None;
    }
    match call.args.as_slice() {
        [] => Some(0),
        [Expr::Literal(Literal::Int(fsp))] => u8::try_from(*fsp).ok(),
        _ => None,
    }
}

/// A DEFAULT clause. A literal is converted to the column's type at once; what stands in parentheses is an expression that
/// INSERT evaluates.
pub fn default(
    state: &SessionState,
    name: &str,
    ty: &SqlType,
    written: &DefaultValue,
) -> Result<ColumnDefault> {
    let DefaultValue {
        expr: written,
        computed,
    } = written;
    if *computed {
        super::default::refuse(written, name)?;
        return Ok(ColumnDefault::Expression(crate::parse::print::expr(written)));
    }
    if let Some(fsp) = current_timestamp(written) {
        if is_clock_type(ty) {
            if fsp != ty.scale {
                return Err(SqlError::invalid_default(name));
            }
            return Ok(ColumnDefault::CurrentTimestamp);
        }
        return Err(SqlError::invalid_default(name));
    }
    let Some(value) = literal(written, ty) else {
        super::default::refuse(written, name)?;
        return Ok(ColumnDefault::Expression(crate::parse::print::expr(written)));
    };
    if value.is_null() {
        if !ty.nullable {
            return Err(SqlError::invalid_default(name));
        }
        return Ok(ColumnDefault::Literal(Value::Null));
    }
    if ty.is_blob_or_text() {
        return Err(SqlError::new(
            er::BLOB_CANT_HAVE_DEFAULT,
            format!("BLOB, TEXT, GEOMETRY or JSON column '{name}' can't have a default value"),
        ));
    }
    let mut env = state.env(&NoSubqueries, &[]);
    env.writes = true;
    env.strict = true;
    match assign::assign(value, ty, name, &env) {
        Ok(value) => Ok(ColumnDefault::Literal(value.into_owned())),
        Err(_) => Err(SqlError::invalid_default(name)),
    }
}

/// The value of a literal, or `None` if the expression is something else.
fn literal(expr: &Expr, ty: &SqlType) -> Option<Value> {
    Some(match expr {
        Expr::Literal(literal) => match literal {
            Literal::Null => Value::Null,
            Literal::Bool(b) => Value::Int(*b as i64),
            Literal::Int(v) => match i64::try_from(*v) {
                Ok(v) => Value::Int(v),
                Err(_) => Value::UInt(*v),
            },
            Literal::Decimal(text) => Value::Decimal(Decimal::parse(text)?),
            Literal::Double(v) => Value::Double(*v),
            Literal::Str { bytes, .. } => Value::string(bytes.clone()),
            Literal::Date(text) | Literal::Time(text) | Literal::Timestamp(text) => {
                Value::string(text.as_bytes())
            }
            Literal::Hex(bytes) | Literal::Bit(bytes) if ty.is_string() => Value::string(bytes.clone()),
            Literal::Hex(bytes) | Literal::Bit(bytes) => Value::UInt(
                bytes
                    .iter()
                    .rev()
                    .take(8)
                    .rev()
                    .fold(0, |n, b| n << 8 | *b as u64),
            ),
        },
        Expr::Unary {
            op: UnaryOp::Minus,
            expr,
        } => match literal(expr, ty)? {
            Value::Int(v) => Value::Int(v.checked_neg()?),
            Value::UInt(v) if v == i64::MIN.unsigned_abs() => Value::Int(i64::MIN),
            Value::Decimal(v) => Value::Decimal(v.neg()),
            Value::Double(v) => Value::Double(-v),
            _ => return None,
        },
        Expr::Unary {
            op: UnaryOp::Plus,
            expr,
        } => literal(expr, ty)?,
        _ => return None,
    })
}

/// Error 1059.
pub fn check_identifier(name: &str) -> Result<()> {
    if name.chars().count() > 64 {
        return Err(SqlError::new(
            er::TOO_LONG_IDENT,
            format!("Identifier name '{name}' is too long"),
        ));
    }
    Ok(())
}

/// Bytes a column counts for in the limit on rows, as MySQL reckons it.
pub fn row_bytes(ty: &SqlType) -> u64 {
    use TypeKind::*;
    let characters = ty.length as u64 * ty.collation.charset().max_bytes() as u64;
    match ty.kind {
        Null => 0,
        TinyInt | Year => 1,
        SmallInt => 2,
        MediumInt | Date => 3,
        Int | Float => 4,
        BigInt | Double => 8,
        Decimal => crate::types::Decimal::storage_len(ty.length, ty.scale) as u64,
        Bit => (ty.length as u64).div_ceil(8),
        Time => 3 + (ty.scale as u64).div_ceil(2),
        DateTime => 5 + (ty.scale as u64).div_ceil(2),
        Timestamp => 4 + (ty.scale as u64).div_ceil(2),
        Char => characters,
        VarChar => characters + if characters > 255 { 2 } else { 1 },
        TinyText => 9,
        Text => 10,
        MediumText => 11,
        LongText | Json => 12,
        Enum => {
            if ty.members().len() > 255 {
                2
            } else {
                1
            }
        }
        Set => match ty.members().len().div_ceil(8) {
            bytes @ 0..=4 => bytes as u64,
            _ => 8,
        },
    }
}

/// Error 1118.
pub fn check_row_size(columns: &[ColumnDef]) -> Result<()> {
    let bytes: u64 = columns.iter().map(|column| row_bytes(&column.ty)).sum();
    if bytes > ROW_BYTES_MAX {
        return Err(SqlError::new(
            er::TOO_BIG_ROWSIZE,
            "Row size too large. The maximum row size for the used table type, not counting BLOBs, is 65535. This \
             includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(name: &str, length: Option<u64>, decimals: Option<u64>) -> TypeName {
        TypeName {
            name: name.to_owned(),
            length,
            decimals,
            ..TypeName::default()
        }
    }

    fn print(ty: &TypeName) -> String {
        match column_type("c", ty, Collation::DEFAULT) {
            Ok((ty, _)) => ty.to_string(),
            Err(error) => error.code.to_string(),
        }
    }

    #[test]
    fn types_are_normalised_and_bounded_as_in_mysql() {
        assert_eq!(print(&ty("INT", Some(5), None)), "int");
        assert_eq!(print(&ty("TINYINT", Some(1), None)), "tinyint(1)");
        assert_eq!(print(&ty("DECIMAL", None, None)), "decimal(10,0)");
        assert_eq!(print(&ty("DECIMAL", Some(66), Some(2))), "1426");
        assert_eq!(print(&ty("DECIMAL", Some(2), Some(5))), "1427");
        assert_eq!(print(&ty("FLOAT", Some(30), None)), "double");
        assert_eq!(print(&ty("FLOAT", Some(7), Some(3))), "float(7,3)");
        assert_eq!(print(&ty("DATETIME", Some(7), None)), "1426");
        assert_eq!(print(&ty("VARCHAR", Some(20_000), None)), "1074");
        assert_eq!(print(&ty("VARBINARY", Some(20_000), None)), "varbinary(20000)");
        assert_eq!(print(&ty("TEXT", Some(100), None)), "text");
        assert_eq!(print(&ty("BLOB", Some(100), None)), "tinyblob");
        assert_eq!(print(&ty("CHAR", Some(256), None)), "1074");
        assert_eq!(print(&ty("POINT", None, None)), "1235");
        let binary = TypeName {
            charset: Some("binary".to_owned()),
            ..ty("VARCHAR", Some(10), None)
        };
        assert_eq!(print(&binary), "varbinary(10)");
    }

    #[test]
    fn charset_and_collation_must_agree() {
        assert_eq!(
            collation(Some("latin1"), None),
            Ok(Some(Collation::LATIN1_SWEDISH_CI))
        );
        assert_eq!(
            collation(Some("latin1"), Some("utf8mb4_bin")).unwrap_err().code,
            1253
        );
        assert_eq!(collation(Some("klingon"), None).unwrap_err().code, 1115);
        assert_eq!(collation(None, Some("klingon_ci")).unwrap_err().code, 1273);
    }
}

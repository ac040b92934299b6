//! Typed arrays: what `CAST(document AS type ARRAY)` makes of a document, and how it is stored.
//!
//! An array's elements become values of one type, as strictly as in a column, whatever the SQL mode is; a scalar is an array of itself.
//! They are kept in order, each once, as a list of the engine ([`Element`]), of which a multi-valued index has an entry for each
//! element. So equal elements are equal bytes. A type is an array's by [`SqlType::array`]; its other attributes are those of
//! the elements.
//!
//! The limits are MySQL's, where all elements of a row must fit into a part of an undo page.

use super::Json;
use super::convert::Unfit;
use crate::assign::assign;
use crate::error::{Result, SqlError, er};
use crate::sort::sort_key;
use crate::{Conversion, Decimal, SqlType, TimeZone, TypeKind, Val, Value, Warnings};
use std::collections::HashSet;
use tidemark_engine::{Datum, Element};

/// Bytes that the elements of a row may take in all, with [`OVERHEAD`] for each.
const ROOM: usize = 16_062;
const OVERHEAD: usize = 2;
/// Elements of a row that may be texts or bytes, and bytes of them: so many would fit if each were of one byte.
const TEXTS_MAX: usize = ROOM / (1 + OVERHEAD);

/// The elements of a document as values of an array's type, in order and each once. The errors name no index yet: see
/// [`in_index`].
pub fn elements(document: &Json, ty: &SqlType, env: &Conversion) -> Result<Vec<Value>> {
    let given = match document {
        Json::Object(_) => return Err(SqlError::not_supported("CAST-ing JSON OBJECT type to array")),
        Json::Array(elements) => elements.as_slice(),
        scalar => std::slice::from_ref(scalar),
    };
    let ty = ty.element();
    let mut keyed = Vec::with_capacity(given.len());
    for json in given {
        let value = element(json, &ty, env)?;
        let mut key = Vec::new();
        sort_key(&value, &ty, &mut key)?;
        keyed.push((key, value));
    }
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    keyed.dedup_by(|(a, _), (b, _)| a == b);
    let values: Vec<Value> = keyed.into_iter().map(|(_, value)| value).collect();
    check_room(&values, &ty)?;
    Ok(values)
}

/// An element of an array as a value of this type.
fn element(json: &Json, ty: &SqlType, env: &Conversion) -> Result<Value> {
    match json {
        Json::Null => Err(invalid()),
        Json::Array(_) | Json::Object(_) => Err(SqlError::new(
            er::WRONG_MVI_VALUE,
            "Cannot store an array or an object in a scalar key part of the index ''.",
        )),
        _ if ty.is_integer() => {
            let wide = fitting(json.to_int())?;
            let (low, high) = crate::storage::int_range(ty);
            match (low..=high).contains(&wide) {
                true if ty.unsigned => Ok(Val::UInt(wide as u64)),
                true => Ok(Val::Int(wide as i64)),
                false => Err(out_of_range(env)),
            }
        }
        _ if ty.kind == TypeKind::Decimal => {
            let exact = fitting(json.to_decimal())?.ok_or_else(invalid)?.round(ty.scale);
            let max = Decimal::max_value(ty.length, ty.scale);
            match exact > max || exact < max.neg() {
                true => Err(out_of_range(env)),
                false => Ok(Val::Decimal(exact)),
            }
        }
        _ if ty.is_string() => {
            let text = json.form();
            let length = match ty.collation.is_binary() {
                true => text.len(),
                false => text.chars().count(),
            };
            match length > ty.length as usize {
                true => Err(SqlError::new(
                    er::FUNCTIONAL_INDEX_DATA_IS_TOO_LONG,
                    "Data too long for functional index ''.",
                )),
                false => Ok(Val::string(text)),
            }
        }
        _ => moment(json, ty, env),
    }
}

/// An element as a date or time.
fn moment(json: &Json, ty: &SqlType, env: &Conversion) -> Result<Value> {
    let given = match json {
        Json::String(text) => Val::str(text),
        Json::Date(v) => Val::Date(*v),
        Json::Time(v) => Val::Time(*v),
        Json::DateTime(v) => Val::DateTime(*v),
        number => Val::string(number.to_string()),
    };
    let unheard = Warnings::default();
    let strict = Conversion {
        warnings: &unheard,
        sql_mode: env.sql_mode,
        strict: true,
        writes: true,
        now_micros: env.now_micros,
        ..Conversion::new(&unheard, env.time_zone)
    };
    match assign(given, ty, "", &strict) {
        Ok(value) if !value.is_null() => Ok(value.into_owned()),
        _ => Err(SqlError::new(
            er::FUNCTIONAL_INDEX_DATA_TRUNCATED,
            format!(
                "Data truncated for functional index '' at row {}",
                env.row_number.get()
            ),
        )),
    }
}

fn invalid() -> SqlError {
    SqlError::new(
        er::INVALID_JSON_VALUE_FOR_FUNC_INDEX,
        "Invalid JSON value for CAST for functional index ''.",
    )
}

fn out_of_range(env: &Conversion) -> SqlError {
    SqlError::new(
        er::FUNCTIONAL_INDEX_VALUE_OUT_OF_RANGE,
        format!(
            "Value is out of range for functional index '' at row {}",
            env.row_number.get()
        ),
    )
}

fn fitting<T>((value, unfit): (T, Option<Unfit>)) -> Result<T> {
    match unfit {
        None => Ok(value),
        Some(Unfit::Invalid) => Err(invalid()),
        Some(Unfit::OutOfRange) => Err(SqlError::new(
            er::JSON_VALUE_OUT_OF_RANGE_FOR_FUNC_INDEX,
            "Out of range JSON value for CAST for functional index ''.",
        )),
    }
}

/// Errors 3905 and 3906.
fn check_room(values: &[Value], ty: &SqlType) -> Result<()> {
    let most = match ty.kind {
        _ if ty.is_string() => TEXTS_MAX,
        _ if ty.is_integer() => ROOM / (8 + OVERHEAD),
        TypeKind::Decimal => ROOM / (Decimal::storage_len(ty.length, ty.scale) + OVERHEAD),
        TypeKind::DateTime => ROOM / (5 + (ty.scale as usize).div_ceil(2) + OVERHEAD),
        _ => ROOM / (3 + (ty.scale as usize).div_ceil(2) + OVERHEAD),
    };
    if values.len() > most {
        let message = format!(
            "Exceeded max number of values per record for multi-valued index '' by {} value(s).",
            values.len() - most
        );
        return Err(SqlError::new(er::EXCEEDED_MV_KEYS_NUM, message));
    }
    let bytes: usize = values
        .iter()
        .map(|value| match value {
            Val::Str(text) => text.len(),
            _ => 0,
        })
        .sum();
    if bytes > TEXTS_MAX {
        let message = format!(
            "Exceeded max total length of values per record for multi-valued index '' by {} bytes.",
            bytes - TEXTS_MAX
        );
        return Err(SqlError::new(er::EXCEEDED_MV_KEYS_SPACE, message));
    }
    Ok(())
}

/// An error of [`elements`], with the name of the index that has the array among its parts.
pub fn in_index(error: SqlError, index: &str) -> SqlError {
    match error.code {
        er::INVALID_JSON_VALUE_FOR_FUNC_INDEX
        | er::JSON_VALUE_OUT_OF_RANGE_FOR_FUNC_INDEX
        | er::FUNCTIONAL_INDEX_VALUE_OUT_OF_RANGE
        | er::FUNCTIONAL_INDEX_DATA_TRUNCATED
        | er::FUNCTIONAL_INDEX_DATA_IS_TOO_LONG
        | er::WRONG_MVI_VALUE
        | er::EXCEEDED_MV_KEYS_NUM
        | er::EXCEEDED_MV_KEYS_SPACE => {
            SqlError::new(error.code, error.message.replacen("''", &format!("'{index}'"), 1))
        }
        _ => error,
    }
}

/// The stored form of an array of this type with these elements.
pub fn list(values: &[Value], ty: &SqlType) -> Vec<u8> {
    let mut list = Vec::new();
    let ty = ty.element();
    if let Some(element) = Element::of(ty.engine_type()) {
        for value in values {
            let mut scratch = [0; 32];
            // Elements have the array's type and its length at most, so each can be stored.
            element.push(ty.store(value, &TimeZone::UTC, &mut scratch), &mut list);
        }
    }
    list
}

fn data<'l>(list: &'l [u8], ty: &SqlType) -> impl Iterator<Item = Datum<'l>> + use<'l> {
    let element = Element::of(ty.element().engine_type());
    element.into_iter().flat_map(move |element| element.values(list))
}

/// The elements of a stored array.
pub fn values(list: &[u8], ty: &SqlType) -> Vec<Value> {
    let element = ty.element();
    data(list, ty)
        .map(|datum| element.load(datum, &TimeZone::UTC).into_owned())
        .collect()
}

/// A stored array as a document.
pub fn document(list: &[u8], ty: &SqlType) -> Json {
    let json = |value: Value| match value {
        Val::Int(v) => Json::Int(v),
        Val::UInt(v) => Json::UInt(v),
        Val::Decimal(v) => Json::Decimal(v.to_string()),
        Val::Date(v) => Json::Date(v),
        Val::Time(v) => Json::Time(v),
        Val::DateTime(v) => Json::DateTime(v),
        other => Json::String(String::from_utf8_lossy(&other.to_text()).into_owned()),
    };
    Json::Array(values(list, ty).into_iter().map(json).collect())
}

/// Whether a stored array has any of the elements of another of its type, or all of them.
pub fn has(array: &[u8], wanted: &[u8], ty: &SqlType, all: bool) -> bool {
    let key = |datum: Datum<'_>| match datum {
        Datum::Bytes(bytes) => bytes.to_vec(),
        number => number
            .as_int()
            .map_or_else(
                || number.as_uint().map(u64::to_le_bytes),
                |v| Some(v.to_le_bytes()),
            )
            .map_or_else(Vec::new, Vec::from),
    };
    let there: HashSet<Vec<u8>> = data(array, ty).map(key).collect();
    let mut wanted = data(wanted, ty).map(key);
    match all {
        true => wanted.all(|value| there.contains(&value)),
        false => wanted.any(|value| there.contains(&value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collation;

    fn array(document: &str, ty: SqlType) -> std::result::Result<String, u16> {
        let warnings = Warnings::default();
        let env = Conversion::new(&warnings, &TimeZone::UTC);
        let ty = ty.array();
        let json = Json::parse(document).unwrap();
        let values = elements(&json, &ty, &env).map_err(|error| error.code)?;
        Ok(super::document(&list(&values, &ty), &ty).to_string())
    }

    #[test]
    fn elements_are_sorted_values_of_one_type() {
        let unsigned = SqlType::bigint_unsigned;
        assert_eq!(
            array("[3, 1, \"2\", 1.4, true]", unsigned()).unwrap(),
            "[1, 2, 3]"
        );
        assert_eq!(array("7", unsigned()).unwrap(), "[7]");
        assert_eq!(array("[]", unsigned()).unwrap(), "[]");
        let text = |length| SqlType::varchar(length, Collation::UTF8MB4_0900_BIN);
        assert_eq!(
            array("[\"b\", \"B\", 1.5, \"b\"]", text(3)).unwrap(),
            "[\"1.5\", \"B\", \"b\"]"
        );
        assert_eq!(
            array("[1.234, 2]", SqlType::decimal(5, 2)).unwrap(),
            "[1.23, 2.00]"
        );
        assert_eq!(
            array("[20200103, \"2020-1-2\"]", SqlType::date()).unwrap(),
            "[\"2020-01-02\", \"2020-01-03\"]"
        );
    }

    #[test]
    fn what_is_none_is_refused() {
        let unsigned = SqlType::bigint_unsigned;
        assert_eq!(array("[1, null]", unsigned()), Err(3903));
        assert_eq!(array("[\"a\"]", unsigned()), Err(3903));
        assert_eq!(array("[1e30]", unsigned()), Err(3904));
        assert_eq!(array("[-1]", unsigned()), Err(3752));
        assert_eq!(array("[[1]]", unsigned()), Err(3908));
        assert_eq!(array("{}", unsigned()), Err(1235));
        assert_eq!(array("[\"2020-02-30\"]", SqlType::date()), Err(3751));
        assert_eq!(array("[\"abcd\"]", SqlType::varbinary(3)), Err(3907));
        let many: Vec<String> = (0..1607).map(|n| n.to_string()).collect();
        assert_eq!(array(&format!("[{}]", many.join(",")), unsigned()), Err(3905));
        let long = format!("[\"{}\",\"{}\"]", "a".repeat(3000), "b".repeat(3000));
        assert_eq!(array(&long, SqlType::varbinary(4000)), Err(3906));
    }

    #[test]
    fn an_array_has_elements() {
        let ty = SqlType::bigint().array();
        let of = |values: &[i64]| list(&values.iter().map(|v| Val::Int(*v)).collect::<Vec<_>>(), &ty);
        let array = of(&[-1, 2, 3]);
        assert!(has(&array, &of(&[5, 2]), &ty, false) && !has(&array, &of(&[5, 2]), &ty, true));
        assert!(has(&array, &of(&[3, -1]), &ty, true) && !has(&array, &of(&[]), &ty, false));
    }
}

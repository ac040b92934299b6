//! A part of a document as the value of a column, as JSON_TABLE stores it.
//!
//! Numbers take the number in the document, all others its text, and what the assignment to a column refuses in strict mode is
//! no value, whatever the mode is. But a text may go on behind a date or time.

use super::Json;
use crate::assign::assign;
use crate::error::{Result, SqlError, er};
use crate::meta::wire;
use crate::temporal::parse;
use crate::{Conversion, SqlType, TypeKind, Val, Value};

impl Json {
    /// The value of a column of this type and name. `env` is strict and writes. Error 3666 for arrays and objects, 3155 and 3156
    /// for what is no such number, else those of an assignment. `null` is NULL.
    pub fn column_value(&self, ty: &SqlType, column: &str, env: &Conversion) -> Result<Value> {
        let value = match self {
            Json::Null => return Ok(Val::Null),
            _ if ty.kind == TypeKind::Json => return Val::json(self),
            Json::Array(_) | Json::Object(_) => {
                let message =
                    format!("Can't store an array or an object in the scalar JSON_TABLE column '{column}'");
                return Err(SqlError::new(er::WRONG_JSON_TABLE_VALUE, message));
            }
            Json::String(text) if ty.is_string() || ty.is_temporal() => {
                return text_value(text.as_bytes(), ty, column, env);
            }
            Json::Opaque(wire::BIT, _) if ty.is_string() => {
                return text_value(self.form().as_bytes(), ty, column, env);
            }
            Json::Opaque(_, bytes) if ty.is_string() => return text_value(bytes, ty, column, env),
            _ if ty.is_string() || ty.is_temporal() => {
                return text_value(self.form().as_bytes(), ty, column, env);
            }
            number => number.scalar(ty, column, env)?.unwrap_or(Val::Null),
        };
        Ok(assign(value, ty, column, env)?.into_owned())
    }
}

fn text_value(text: &[u8], ty: &SqlType, column: &str, env: &Conversion) -> Result<Value> {
    let refused = match assign(Val::str(text), ty, column, env) {
        Ok(value) if !(ty.is_temporal() && text.is_empty()) => return Ok(value.into_owned()),
        Ok(_) => return Err(SqlError::data_truncated(column, 1)),
        Err(error) => error,
    };
    let begins_with_one = match ty.kind {
        TypeKind::Time => parse::time(text).is_some(),
        _ if ty.is_temporal() => parse::datetime(text, env.sql_mode).is_some_and(|read| read.truncated),
        _ => false,
    };
    if !begins_with_one {
        return Err(refused);
    }
    // What was read is in order if nothing but the rest of the text is complained of.
    let complaints = crate::Warnings::default();
    let lenient = Conversion {
        sql_mode: env.sql_mode,
        strict: false,
        now_micros: env.now_micros,
        ..Conversion::new(&complaints, env.time_zone)
    };
    let value = assign(Val::str(text), ty, column, &lenient)?.into_owned();
    let only_cut = complaints
        .to_vec()
        .iter()
        .all(|c| c.code == er::WARN_DATA_TRUNCATED);
    if !only_cut {
        return Err(refused);
    }
    env.warnings.warn(refused);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TimeZone, Warnings};

    /// What becomes of a document in a column, and how many complaints there are.
    fn stored(document: &str, ty: SqlType) -> String {
        let warnings = Warnings::default();
        let mut env = Conversion::new(&warnings, &TimeZone::UTC);
        env.writes = true;
        match Json::parse(document).unwrap().column_value(&ty, "c", &env) {
            Ok(value) => format!(
                "{} {}",
                String::from_utf8_lossy(&value.to_text()),
                warnings.count()
            ),
            Err(error) => error.code.to_string(),
        }
    }

    #[test]
    fn numbers_fit_or_are_none() {
        let tiny = || SqlType::new(TypeKind::TinyInt);
        assert_eq!(stored("2.5", tiny()), "2 0");
        assert_eq!(stored("true", tiny()), "1 0");
        assert_eq!(stored("300", tiny()), "1264");
        assert_eq!(stored("-1", tiny().unsigned()), "1264");
        assert_eq!(stored("\"5x\"", tiny()), "3156");
        assert_eq!(stored("1e30", tiny()), "3155");
        assert_eq!(stored("\"\"", SqlType::double()), "0 0");
        assert_eq!(stored("[1]", tiny()), "3666");
    }

    #[test]
    fn texts_and_dates_are_read_from_the_text() {
        let char3 = || SqlType::varchar(3, crate::Collation::DEFAULT);
        assert_eq!(stored("2.5", char3()), "2.5 0");
        assert_eq!(stored("true", char3()), "1406");
        assert_eq!(
            stored("\"a  \"", SqlType::varchar(2, crate::Collation::DEFAULT)),
            "a  1"
        );
        assert_eq!(stored("20200102", SqlType::date()), "2020-01-02 0");
        assert_eq!(stored("\"2020-01-02x\"", SqlType::date()), "2020-01-02 1");
        assert_eq!(stored("\"2020-13-01\"", SqlType::date()), "1292");
        assert_eq!(stored("\"2020-00-01x\"", SqlType::date()), "1292");
        assert_eq!(stored("\"\"", SqlType::time(0)), "1265");
        assert_eq!(stored("{}", SqlType::new(TypeKind::Json)), "{} 0");
    }
}

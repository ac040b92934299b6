//! The value of one system variable, and what values its kind allows.

use super::engine_name::EngineName;
use super::registry::{Def, Kind, VariableScope};
use super::switches;
use crate::error::{Result, SqlError, er};
use crate::types::{Charset, Collation, Locale, SqlMode, TimeZone, Value};
use std::fmt;
use std::sync::Arc;

/// The value of a system variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// NULL, for variables that allow it.
    Null,
    /// Of [`Kind::Bool`].
    Bool(bool),
    /// Of [`Kind::Int`].
    Int(i64),
    /// Of [`Kind::Uint`].
    Uint(u64),
    /// Of [`Kind::Float`].
    Float(f64),
    /// Of all other kinds.
    Text(Arc<str>),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Null => f.write_str("NULL"),
            Setting::Bool(on) => f.write_str(if *on { "ON" } else { "OFF" }),
            Setting::Int(v) => v.fmt(f),
            Setting::Uint(v) => v.fmt(f),
            Setting::Float(v) => write!(f, "{v:.6}"),
            Setting::Text(v) => f.write_str(v),
        }
    }
}

impl Setting {
    /// A text.
    pub fn text(text: impl Into<Arc<str>>) -> Setting {
        Setting::Text(text.into())
    }

    /// The value of `@@name`.
    pub fn to_value(&self) -> Value {
        match self {
            Setting::Null => Value::Null,
            Setting::Bool(on) => Value::Int(*on as i64),
            Setting::Int(v) => Value::Int(*v),
            Setting::Uint(v) => Value::UInt(*v),
            Setting::Float(v) => Value::Double(*v),
            Setting::Text(v) => Value::string(v.as_bytes()),
        }
    }

    /// As a number: 1 and 0 for ON and OFF; 0 for a text, NULL, and anything negative.
    pub fn as_u64(&self) -> u64 {
        match self {
            Setting::Uint(v) => *v,
            Setting::Int(v) => (*v).max(0) as u64,
            Setting::Bool(v) => *v as u64,
            Setting::Float(v) => *v as u64,
            Setting::Null | Setting::Text(_) => 0,
        }
    }

    /// Whether it is ON, or a number other than 0.
    pub fn as_bool(&self) -> bool {
        self.as_u64() != 0
    }

    /// From an option file or the command line: numbers may end in K, M, G or T.
    pub fn parse(def: &Def, text: &str) -> Result<Setting> {
        Ok(Setting::parse_within(def, text)?.0)
    }

    /// [`Setting::parse`], and whether the value had to be cut to the bounds.
    pub fn parse_within(def: &Def, text: &str) -> Result<(Setting, bool)> {
        let wrong = || SqlError::wrong_value_for_variable(def.name, text);
        let value = match def.kind {
            Kind::Uint { .. } | Kind::Int { .. } | Kind::Float { .. } => {
                let (digits, factor) = match text.chars().last() {
                    Some('k' | 'K') => (&text[..text.len() - 1], 1u64 << 10),
                    Some('m' | 'M') => (&text[..text.len() - 1], 1 << 20),
                    Some('g' | 'G') => (&text[..text.len() - 1], 1 << 30),
                    Some('t' | 'T') => (&text[..text.len() - 1], 1 << 40),
                    _ => (text, 1),
                };
                if let Ok(n) = digits.parse::<u64>() {
                    Value::UInt(n.checked_mul(factor).ok_or_else(wrong)?)
                } else if let (Ok(n), 1) = (digits.parse::<i64>(), factor) {
                    Value::Int(n)
                } else if let (Kind::Float { .. }, Ok(n)) = (def.kind, digits.parse::<f64>()) {
                    Value::Double(n)
                } else {
                    return Err(wrong());
                }
            }
            // An option without a value switches something on.
            Kind::Bool if text.is_empty() => Value::Int(1),
            Kind::Bool if is_one_of(text, &["TRUE", "YES"]) => Value::Int(1),
            Kind::Bool if is_one_of(text, &["FALSE", "NO"]) => Value::Int(0),
            Kind::Bool | Kind::Enum(_) if text.parse::<u64>().is_ok() => {
                Value::UInt(text.parse().unwrap_or(0))
            }
            Kind::NullableText | Kind::Charset { nullable: true, .. } if text == "NULL" => Value::Null,
            _ => Value::string(text),
        };
        Setting::check(def, &value)
    }

    /// The switches of a variable, of which some are on, as words set them. Error 1231 names the words from the first wrong one on.
    pub fn switched(def: &Def, names: &[&str], now: &str, words: &str) -> Result<Setting> {
        let all = switches::parse(names, def.default, now, words);
        let wrong = |words| SqlError::wrong_value_for_variable(def.name, words);
        Ok(Setting::text(all.map_err(wrong)?))
    }

    /// A value for the variable, and whether it had to be cut to the bounds.
    pub fn check(def: &Def, value: &Value) -> Result<(Setting, bool)> {
        let text = || String::from_utf8_lossy(&value.to_text()).into_owned();
        let wrong_value = || {
            let text = if value.is_null() {
                "NULL".to_owned()
            } else {
                text()
            };
            SqlError::wrong_value_for_variable(def.name, &text)
        };
        let wrong_type = || SqlError::wrong_type_for_variable(def.name);
        let integer = match value {
            Value::Int(v) => Some(*v as i128),
            Value::UInt(v) => Some(*v as i128),
            _ => None,
        };
        let is_fraction = matches!(value, Value::Double(_) | Value::Float(_) | Value::Decimal(_));
        let exact = |setting| Ok((setting, false));
        match def.kind {
            Kind::Bool => match (integer, value) {
                (Some(0), _) => exact(Setting::Bool(false)),
                (Some(1), _) => exact(Setting::Bool(true)),
                (None, Value::Str(_)) => match text().to_ascii_uppercase().as_str() {
                    "ON" => exact(Setting::Bool(true)),
                    "OFF" => exact(Setting::Bool(false)),
                    _ => Err(wrong_value()),
                },
                _ if is_fraction => Err(wrong_type()),
                _ => Err(wrong_value()),
            },
            Kind::Uint { min, max } => {
                let given = integer.ok_or_else(wrong_type)?;
                let cut = given.clamp(min as i128, max as i128);
                Ok((Setting::Uint(cut as u64), cut != given))
            }
            Kind::Int { min, max } => {
                let given = integer.ok_or_else(wrong_type)?;
                let cut = given.clamp(min as i128, max as i128);
                Ok((Setting::Int(cut as i64), cut != given))
            }
            Kind::Float { min, max } => {
                let given = match value {
                    Value::Double(v) => *v,
                    Value::Float(v) => *v as f64,
                    Value::Decimal(v) => v.to_f64(),
                    _ => integer.ok_or_else(wrong_type)? as f64,
                };
                let cut = given.clamp(min, max);
                Ok((Setting::Float(cut), cut != given))
            }
            Kind::Enum(names) => {
                let found = match integer {
                    Some(n) => usize::try_from(n).ok().and_then(|n| names.get(n)),
                    None if is_fraction => return Err(wrong_type()),
                    None if value.is_null() => None,
                    None => names.iter().find(|name| name.eq_ignore_ascii_case(&text())),
                };
                exact(Setting::text(*found.ok_or_else(wrong_value)?))
            }
            Kind::Flags(between, names) => {
                let text = text();
                let mut parts = text.split(between).filter(|part| !part.is_empty());
                if !parts.all(|part| names.iter().any(|name| name.eq_ignore_ascii_case(part))) {
                    return Err(wrong_value());
                }
                exact(Setting::text(text))
            }
            Kind::Switches(names) => {
                let switched = match (integer, value) {
                    (Some(bits), _) => switches::of_bits(names, bits).ok_or_else(wrong_value)?,
                    (None, Value::Null) => return Err(wrong_value()),
                    _ if is_fraction => return Err(wrong_type()),
                    (None, _) => return exact(Setting::switched(def, names, def.default, &text())?),
                };
                exact(Setting::text(switched))
            }
            Kind::Text | Kind::NullableText => match value {
                Value::Str(_) => exact(Setting::text(text())),
                Value::Null if def.kind == Kind::NullableText => exact(Setting::Null),
                Value::Null => Err(wrong_value()),
                _ => Err(wrong_type()),
            },
            Kind::Charset { nullable, sent } => match value {
                Value::Null if nullable => exact(Setting::Null),
                Value::Null => Err(wrong_value()),
                Value::Str(_) => {
                    let charset =
                        Charset::by_name(&text()).ok_or_else(|| SqlError::unknown_charset(&text()))?;
                    if sent && charset.is_for_texts_only() {
                        return Err(wrong_value());
                    }
                    exact(Setting::text(charset.name()))
                }
                Value::Int(_) | Value::UInt(_) => Err(SqlError::unknown_charset(&text())),
                _ => Err(wrong_type()),
            },
            Kind::Collation => match value {
                Value::Null => Err(wrong_value()),
                Value::Str(_) => {
                    let found = Collation::by_name(&text());
                    let collation = found.ok_or_else(|| SqlError::unknown_collation(&text()))?;
                    exact(Setting::text(collation.name()))
                }
                _ => Err(wrong_type()),
            },
            Kind::Engine => match value {
                Value::Str(_) => match EngineName::of(&text()) {
                    EngineName::InnoDb | EngineName::Substituted => exact(Setting::text("InnoDB")),
                    _ => Err(SqlError::unknown_storage_engine(&text())),
                },
                Value::Null => Err(wrong_value()),
                _ => Err(wrong_type()),
            },
            Kind::Locale => match (integer, value) {
                (Some(number), _) => {
                    let found = usize::try_from(number).ok().and_then(|at| Locale::all().get(at));
                    let locale = found.ok_or_else(|| SqlError::unknown_locale(&text()))?;
                    exact(Setting::text(locale.name))
                }
                (None, Value::Str(_)) => {
                    let found = Locale::by_name(&text());
                    let locale = found.ok_or_else(|| SqlError::unknown_locale(&text()))?;
                    exact(Setting::text(locale.name))
                }
                (None, Value::Null) => Err(wrong_value()),
                _ => Err(wrong_type()),
            },
            Kind::SqlMode => match (integer, value) {
                (Some(bits), _) => {
                    let bits = u64::try_from(bits).map_err(|_| wrong_value())?;
                    exact(Setting::text(SqlMode(bits).to_string()))
                }
                (None, Value::Str(_)) => exact(Setting::text(SqlMode::parse(&text())?.to_string())),
                _ if is_fraction => Err(wrong_type()),
                _ => Err(wrong_value()),
            },
            Kind::TimeZone => match value {
                Value::Str(_) => exact(Setting::text(TimeZone::parse(&text())?.name())),
                Value::Null => Err(wrong_value()),
                _ => Err(wrong_type()),
            },
        }
    }
}

/// Variables that cannot be set while the server runs, but are read after those that SET PERSIST has kept. Others are needed before
/// the data is open, where they are kept.
const KEPT_FOR_THE_START: &[&str] = &[
    "disconnect_on_expired_password",
    "innodb_autoinc_lock_mode",
    "innodb_rollback_on_timeout",
    "max_digest_length",
    "performance_schema_digests_size",
    "thread_stack",
];

/// Whether SET PERSIST_ONLY may keep a value of the variable.
pub fn check_kept(def: &Def) -> Result<()> {
    match def.dynamic || KEPT_FOR_THE_START.contains(&def.name) {
        true if def.scope == VariableScope::Session => check_settable(def, true),
        true => Ok(()),
        false => Err(SqlError::new(
            er::INCORRECT_GLOBAL_LOCAL_VAR,
            format!("Variable '{}' is a non persistent read only variable", def.name),
        )),
    }
}

/// Whether a variable may be set in this scope, and is not read-only.
pub fn check_settable(def: &Def, global: bool) -> Result<()> {
    if !def.dynamic {
        return Err(SqlError::new(
            er::INCORRECT_GLOBAL_LOCAL_VAR,
            format!("Variable '{}' is a read only variable", def.name),
        ));
    }
    match (def.scope, global) {
        (VariableScope::Global, false) => Err(SqlError::new(
            er::GLOBAL_VARIABLE,
            format!(
                "Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL",
                def.name
            ),
        )),
        (VariableScope::Session, true) => Err(SqlError::new(
            er::LOCAL_VARIABLE,
            format!(
                "Variable '{}' is a SESSION variable and can't be used with SET GLOBAL",
                def.name
            ),
        )),
        _ => Ok(()),
    }
}

fn is_one_of(text: &str, words: &[&str]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::{DEFS, find};

    fn check(name: &str, value: Value) -> Result<(Setting, bool)> {
        Setting::check(&DEFS[find(name).unwrap()], &value)
    }

    #[test]
    fn values_are_checked_as_mysql_does() {
        assert_eq!(
            check("autocommit", Value::string("off")),
            Ok((Setting::Bool(false), false))
        );
        assert_eq!(check("autocommit", Value::Int(2)).unwrap_err().code, 1231);
        assert_eq!(
            check("max_connections", Value::string("x")).unwrap_err().code,
            1232
        );
        assert_eq!(
            check("max_connections", Value::Int(0)),
            Ok((Setting::Uint(1), true))
        );
        assert_eq!(
            check("collation_server", Value::string("x")).unwrap_err().code,
            1273
        );
        assert_eq!(
            check("character_set_client", Value::string("x"))
                .unwrap_err()
                .code,
            1115
        );
        assert_eq!(
            check("lc_time_names", Value::string("DE_at")),
            Ok((Setting::text("de_AT"), false))
        );
        assert_eq!(
            check("default_storage_engine", Value::string("myisam")),
            Ok((Setting::text("InnoDB"), false))
        );
        let unknown = check("default_storage_engine", Value::string("x"));
        assert_eq!(unknown.unwrap_err().code, 1286);
        assert_eq!(check("lc_time_names", Value::Int(111)).unwrap_err().code, 1649);
        assert_eq!(check("sql_mode", Value::string("x")).unwrap_err().code, 1231);
        assert_eq!(
            check("sql_mode", Value::Int(4)),
            Ok((Setting::text("ANSI_QUOTES"), false))
        );
        assert_eq!(
            check("transaction_isolation", Value::string("read-committed")),
            Ok((Setting::text("READ-COMMITTED"), false))
        );
        let def = &DEFS[find("innodb_buffer_pool_size").unwrap()];
        assert_eq!(Setting::parse(def, "2G"), Ok(Setting::Uint(2 << 30)));
        assert!(Setting::parse(def, "many").is_err());
    }

    #[test]
    fn scopes_are_kept_apart() {
        let def = |name| &DEFS[find(name).unwrap()];
        assert_eq!(
            check_settable(def("max_connections"), false).unwrap_err().code,
            1229
        );
        assert_eq!(
            check_settable(def("warning_count"), false).unwrap_err().code,
            1238
        );
        assert_eq!(check_settable(def("timestamp"), true).unwrap_err().code, 1228);
        assert!(check_settable(def("sql_mode"), true).is_ok());
    }
}

//! System variables: their values, for the server and for each session.
//!
//! A session starts with a copy of the server's values and changes its own. What statements need all the time (mode,
//! collations, isolation level, limits) is kept decoded in [`Settings`], derived anew whenever a variable changes, so
//! that no statement looks anything up by name.

pub mod persist;
pub mod registry;

pub use registry::{DEFS, Def, Kind, OLD_OPTION_NAMES, Scope, find, listed};

use crate::error::{Result, SqlError, er};
use crate::types::{Charset, Collation, SqlMode, TimeZone, Value};
use parking_lot::RwLock;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tidemark_engine::Isolation;

pub const VERSION: &str = concat!("8.4.0-tidemark-", env!("CARGO_PKG_VERSION"));

pub(crate) const SQL_MODE: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                                   ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// The value of a system variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Arc<str>),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Null => f.write_str("NULL"),
            Setting::Bool(on) => f.write_str(if *on { "ON" } else { "OFF" }),
            Setting::Int(v) => v.fmt(f),
            Setting::Uint(v) => v.fmt(f),
            // Floating variables print six digits in SHOW, except the clock.
            Setting::Float(0.0) => f.write_str("0"),
            Setting::Float(v) => write!(f, "{v:.6}"),
            Setting::Text(v) => f.write_str(v),
        }
    }
}

impl Setting {
    pub fn text(text: impl Into<Arc<str>>) -> Setting {
        Setting::Text(text.into())
    }

    /// As `@@name` answers it.
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

    pub fn as_u64(&self) -> u64 {
        match self {
            Setting::Uint(v) => *v,
            Setting::Int(v) => (*v).max(0) as u64,
            Setting::Bool(v) => *v as u64,
            Setting::Float(v) => *v as u64,
            Setting::Null | Setting::Text(_) => 0,
        }
    }

    pub fn as_bool(&self) -> bool {
        self.as_u64() != 0
    }

    /// From an option file or the command line: numbers may end in K, M, G or T.
    pub fn parse(def: &Def, text: &str) -> Result<Setting> {
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
            Kind::Bool | Kind::Enum(_) if text.parse::<u64>().is_ok() => {
                Value::UInt(text.parse().unwrap_or(0))
            }
            Kind::NullableText | Kind::Charset { nullable: true } if text == "NULL" => Value::Null,
            _ => Value::string(text),
        };
        Ok(Setting::check(def, &value)?.0)
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
        let exact = |setting| Ok((setting, false));
        match def.kind {
            Kind::Bool => match (integer, value) {
                (Some(0), _) => exact(Setting::Bool(false)),
                (Some(1), _) => exact(Setting::Bool(true)),
                (None, Value::Str(_)) => match text().to_ascii_uppercase().as_str() {
                    "ON" | "TRUE" | "YES" => exact(Setting::Bool(true)),
                    "OFF" | "FALSE" | "NO" => exact(Setting::Bool(false)),
                    _ => Err(wrong_value()),
                },
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
                    None if value.is_null() => None,
                    None => names.iter().find(|name| name.eq_ignore_ascii_case(&text())),
                };
                exact(Setting::text(*found.ok_or_else(wrong_value)?))
            }
            Kind::Flags(names) => {
                let text = text();
                let mut parts = text.split(',').filter(|part| !part.is_empty());
                if !parts.all(|part| names.iter().any(|name| name.eq_ignore_ascii_case(part))) {
                    return Err(wrong_value());
                }
                exact(Setting::text(text))
            }
            Kind::Text | Kind::NullableText => match value {
                Value::Str(_) => exact(Setting::text(text())),
                Value::Null if def.kind == Kind::NullableText => exact(Setting::Null),
                Value::Null => Err(wrong_value()),
                _ => Err(wrong_type()),
            },
            Kind::Charset { nullable } => match value {
                Value::Null if nullable => exact(Setting::Null),
                Value::Null => Err(wrong_value()),
                Value::Str(_) => {
                    let charset =
                        Charset::by_name(&text()).ok_or_else(|| SqlError::unknown_charset(&text()))?;
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
            Kind::SqlMode => match (integer, value) {
                (Some(bits), _) => {
                    let bits = u64::try_from(bits).map_err(|_| wrong_value())?;
                    exact(Setting::text(SqlMode(bits).to_string()))
                }
                (None, Value::Str(_)) => exact(Setting::text(SqlMode::parse(&text())?.to_string())),
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

/// The positions of the variables that the code below looks at.
macro_rules! positions {
    ($($constant:ident = $name:literal;)*) => {
        $(fn $constant() -> usize {
            static AT: std::sync::LazyLock<usize> =
                std::sync::LazyLock::new(|| find($name).expect(concat!($name, " is in the registry")));
            *AT
        })*
    };
}

positions! {
    at_sql_mode = "sql_mode";
    at_time_zone = "time_zone";
    at_collation_connection = "collation_connection";
    at_character_set_client = "character_set_client";
    at_character_set_connection = "character_set_connection";
    at_character_set_results = "character_set_results";
    at_character_set_server = "character_set_server";
    at_collation_server = "collation_server";
    at_character_set_database = "character_set_database";
    at_collation_database = "collation_database";
    at_transaction_isolation = "transaction_isolation";
    at_transaction_read_only = "transaction_read_only";
    at_autocommit = "autocommit";
    at_completion_type = "completion_type";
    at_innodb_lock_wait_timeout = "innodb_lock_wait_timeout";
    at_lock_wait_timeout = "lock_wait_timeout";
    at_innodb_snapshot_isolation = "innodb_snapshot_isolation";
    at_max_allowed_packet = "max_allowed_packet";
    at_max_error_count = "max_error_count";
    at_group_concat_max_len = "group_concat_max_len";
    at_div_precision_increment = "div_precision_increment";
    at_sql_select_limit = "sql_select_limit";
    at_sql_safe_updates = "sql_safe_updates";
    at_auto_increment_increment = "auto_increment_increment";
    at_auto_increment_offset = "auto_increment_offset";
    at_innodb_autoinc_lock_mode = "innodb_autoinc_lock_mode";
    at_innodb_table_locks = "innodb_table_locks";
    at_cte_max_recursion_depth = "cte_max_recursion_depth";
    at_max_execution_time = "max_execution_time";
    at_sql_auto_is_null = "sql_auto_is_null";
    at_foreign_key_checks = "foreign_key_checks";
    at_unique_checks = "unique_checks";
    at_timestamp = "timestamp";
    at_wait_timeout = "wait_timeout";
    at_interactive_timeout = "interactive_timeout";
}

/// `innodb_autoinc_lock_mode`: which statements have an AUTO_INCREMENT counter to themselves until they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterMode {
    /// All that insert.
    Traditional,
    /// Those that do not know how many rows they insert.
    Consecutive,
    /// None.
    Interleaved,
}

/// What statements need of the variables, decoded.
#[derive(Clone, Debug)]
pub struct Settings {
    pub sql_mode: SqlMode,
    pub time_zone: Arc<TimeZone>,
    pub collation_connection: Collation,
    pub character_set_client: Charset,
    /// `None`: results are sent as they are stored.
    pub character_set_results: Option<Charset>,
    pub isolation: Isolation,
    pub read_only: bool,
    pub autocommit: bool,
    /// 0 plain, 1 CHAIN, 2 RELEASE.
    pub completion_type: u8,
    pub row_lock_wait_timeout: Duration,
    pub lock_wait_timeout: Duration,
    pub snapshot_isolation: bool,
    pub max_allowed_packet: u64,
    pub max_error_count: usize,
    pub group_concat_max_len: u64,
    pub div_precision_increment: u8,
    pub sql_select_limit: u64,
    pub sql_safe_updates: bool,
    pub sql_auto_is_null: bool,
    pub auto_increment_increment: u64,
    pub auto_increment_offset: u64,
    pub counter_mode: CounterMode,
    /// LOCK TABLES locks for the engine, too.
    pub table_locks: bool,
    pub cte_max_recursion_depth: u64,
    pub max_execution_time_ms: u64,
    pub foreign_key_checks: bool,
    pub unique_checks: bool,
    /// `SET timestamp`: what NOW() answers, in microseconds; 0 for the clock.
    pub timestamp_micros: i64,
    pub wait_timeout_s: u64,
    pub interactive_timeout_s: u64,
}

impl Settings {
    pub fn idle_timeout_s(&self, interactive: bool) -> u64 {
        if interactive {
            self.interactive_timeout_s
        } else {
            self.wait_timeout_s
        }
    }
}

/// All variables' values, by position in [`DEFS`].
#[derive(Clone, Debug)]
pub struct Values(Vec<Setting>);

impl Values {
    fn defaults() -> Values {
        let parse = |def: &Def| Setting::parse(def, def.default).unwrap_or(Setting::Null);
        Values(DEFS.iter().map(parse).collect())
    }

    pub fn get(&self, at: usize) -> &Setting {
        &self.0[at]
    }

    fn text(&self, at: usize) -> &str {
        match &self.0[at] {
            Setting::Text(text) => text,
            _ => "",
        }
    }

    pub fn settings(&self) -> Settings {
        let uint = |at: usize| self.0[at].as_u64();
        let charset = |at: usize| Charset::by_name(self.text(at));
        Settings {
            sql_mode: SqlMode::parse(self.text(at_sql_mode())).unwrap_or_default(),
            time_zone: Arc::new(TimeZone::parse(self.text(at_time_zone())).unwrap_or(TimeZone::UTC)),
            collation_connection: Collation::by_name(self.text(at_collation_connection()))
                .unwrap_or(Collation::DEFAULT),
            character_set_client: charset(at_character_set_client()).unwrap_or(Charset::Utf8mb4),
            character_set_results: charset(at_character_set_results()),
            isolation: isolation_by_name(self.text(at_transaction_isolation())),
            read_only: uint(at_transaction_read_only()) != 0,
            autocommit: uint(at_autocommit()) != 0,
            completion_type: match self.text(at_completion_type()) {
                "CHAIN" => 1,
                "RELEASE" => 2,
                _ => 0,
            },
            row_lock_wait_timeout: Duration::from_secs(uint(at_innodb_lock_wait_timeout())),
            lock_wait_timeout: Duration::from_secs(uint(at_lock_wait_timeout())),
            snapshot_isolation: uint(at_innodb_snapshot_isolation()) != 0,
            max_allowed_packet: uint(at_max_allowed_packet()),
            max_error_count: uint(at_max_error_count()) as usize,
            group_concat_max_len: uint(at_group_concat_max_len()),
            div_precision_increment: uint(at_div_precision_increment()) as u8,
            sql_select_limit: uint(at_sql_select_limit()),
            sql_safe_updates: uint(at_sql_safe_updates()) != 0,
            sql_auto_is_null: uint(at_sql_auto_is_null()) != 0,
            auto_increment_increment: uint(at_auto_increment_increment()),
            auto_increment_offset: uint(at_auto_increment_offset()),
            counter_mode: match uint(at_innodb_autoinc_lock_mode()) {
                0 => CounterMode::Traditional,
                1 => CounterMode::Consecutive,
                _ => CounterMode::Interleaved,
            },
            table_locks: uint(at_innodb_table_locks()) != 0,
            cte_max_recursion_depth: uint(at_cte_max_recursion_depth()),
            max_execution_time_ms: uint(at_max_execution_time()),
            foreign_key_checks: uint(at_foreign_key_checks()) != 0,
            unique_checks: uint(at_unique_checks()) != 0,
            wait_timeout_s: uint(at_wait_timeout()),
            interactive_timeout_s: uint(at_interactive_timeout()),
            timestamp_micros: match self.0[at_timestamp()] {
                Setting::Float(seconds) => (seconds * 1e6) as i64,
                _ => 0,
            },
        }
    }

    /// Sets one variable and those that follow it: a collation its character set, and the reverse.
    pub fn put(&mut self, at: usize, setting: Setting) {
        let pairs = [
            (at_character_set_connection(), at_collation_connection()),
            (at_character_set_server(), at_collation_server()),
            (at_character_set_database(), at_collation_database()),
        ];
        for (charset_at, collation_at) in pairs {
            let Setting::Text(name) = &setting else { continue };
            if at == charset_at {
                let charset = Charset::by_name(name).unwrap_or(Charset::Utf8mb4);
                self.0[collation_at] = Setting::text(charset.default_collation().name());
            } else if at == collation_at {
                let collation = Collation::by_name(name).unwrap_or(Collation::DEFAULT);
                self.0[charset_at] = Setting::text(collation.charset().name());
            }
        }
        self.0[at] = setting;
    }

    /// `SET NAMES`.
    pub fn set_names(&mut self, collation: Collation) {
        let charset = Setting::text(collation.charset().name());
        self.0[at_character_set_client()] = charset.clone();
        self.0[at_character_set_results()] = charset.clone();
        self.0[at_character_set_connection()] = charset;
        self.0[at_collation_connection()] = Setting::text(collation.name());
    }

    /// `SET CHARACTER SET`: the connection takes the database's collation.
    pub fn set_character_set(&mut self, charset: Charset) {
        let name = Setting::text(charset.name());
        self.0[at_character_set_client()] = name.clone();
        self.0[at_character_set_results()] = name;
        self.0[at_character_set_connection()] = self.0[at_character_set_database()].clone();
        self.0[at_collation_connection()] = self.0[at_collation_database()].clone();
    }

    pub fn set_database_collation(&mut self, collation: Collation) {
        self.0[at_character_set_database()] = Setting::text(collation.charset().name());
        self.0[at_collation_database()] = Setting::text(collation.name());
    }

    pub fn server_collation(&self) -> Collation {
        Collation::by_name(self.text(at_collation_server())).unwrap_or(Collation::DEFAULT)
    }
}

pub fn isolation_by_name(name: &str) -> Isolation {
    match name {
        "READ-UNCOMMITTED" => Isolation::ReadUncommitted,
        "READ-COMMITTED" => Isolation::ReadCommitted,
        "SERIALIZABLE" => Isolation::Serializable,
        _ => Isolation::RepeatableRead,
    }
}

pub fn isolation_name(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ-UNCOMMITTED",
        Isolation::ReadCommitted => "READ-COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE-READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

/// The server's values.
pub struct Globals {
    values: RwLock<Values>,
}

impl Default for Globals {
    fn default() -> Self {
        Globals {
            values: RwLock::new(Values::defaults()),
        }
    }
}

impl Globals {
    pub fn get(&self, at: usize) -> Setting {
        self.values.read().get(at).clone()
    }

    pub fn by_name(&self, name: &str) -> Option<Setting> {
        find(name).map(|at| self.get(at))
    }

    pub fn u64(&self, name: &str) -> u64 {
        self.by_name(name).map_or(0, |setting| setting.as_u64())
    }

    pub fn put(&self, at: usize, setting: Setting) {
        self.values.write().put(at, setting);
    }

    /// Sets a variable that the server itself knows at start: `port`, `hostname`, …
    pub fn put_by_name(&self, name: &str, text: &str) -> Result<()> {
        let at = find(name).ok_or_else(|| SqlError::unknown_system_variable(name))?;
        self.put(at, Setting::parse(&DEFS[at], text)?);
        Ok(())
    }

    /// The values a new session starts with.
    pub fn session_values(&self) -> Values {
        let mut values = self.values.read().clone();
        values.set_database_collation(values.server_collation());
        values
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
        (Scope::Global, false) => Err(SqlError::new(
            er::GLOBAL_VARIABLE,
            format!(
                "Variable '{}' is a GLOBAL variable and should be set with SET GLOBAL",
                def.name
            ),
        )),
        (Scope::Session, true) => Err(SqlError::new(
            er::LOCAL_VARIABLE,
            format!(
                "Variable '{}' is a SESSION variable and can't be used with SET GLOBAL",
                def.name
            ),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_collation_brings_its_character_set_along() {
        let globals = Globals::default();
        let mut values = globals.session_values();
        values.put(at_collation_connection(), Setting::text("latin1_bin"));
        assert_eq!(values.text(at_character_set_connection()), "latin1");
        values.put(at_character_set_connection(), Setting::text("utf8mb4"));
        assert_eq!(
            values.settings().collation_connection,
            Collation::UTF8MB4_0900_AI_CI
        );
        values.set_names(Collation::UTF8MB4_GENERAL_CI);
        assert_eq!(
            values.settings().collation_connection,
            Collation::UTF8MB4_GENERAL_CI
        );
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

//! `sql_mode`: how forgiving a session is. Bit values are MySQL's.

use crate::error::SqlError;
use std::fmt;

/// The modes that are set, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SqlMode(pub u64);

macro_rules! modes {
    ($($name:ident = $bit:literal;)*) => {
        impl SqlMode {
            $(#[doc = concat!("`", stringify!($name), "`")]
            pub const $name: SqlMode = SqlMode(1 << $bit);)*
        }
        const NAMES: &[(&str, SqlMode)] = &[$((stringify!($name), SqlMode::$name)),*];
    };
}

modes! {
    REAL_AS_FLOAT = 0;
    PIPES_AS_CONCAT = 1;
    ANSI_QUOTES = 2;
    IGNORE_SPACE = 3;
    ONLY_FULL_GROUP_BY = 5;
    NO_UNSIGNED_SUBTRACTION = 6;
    NO_DIR_IN_CREATE = 7;
    ANSI = 18;
    NO_AUTO_VALUE_ON_ZERO = 19;
    NO_BACKSLASH_ESCAPES = 20;
    STRICT_TRANS_TABLES = 21;
    STRICT_ALL_TABLES = 22;
    NO_ZERO_IN_DATE = 23;
    NO_ZERO_DATE = 24;
    ALLOW_INVALID_DATES = 25;
    ERROR_FOR_DIVISION_BY_ZERO = 26;
    TRADITIONAL = 27;
    HIGH_NOT_PRECEDENCE = 29;
    NO_ENGINE_SUBSTITUTION = 30;
    PAD_CHAR_TO_FULL_LENGTH = 31;
    TIME_TRUNCATE_FRACTIONAL = 32;
}

impl SqlMode {
    /// MySQL's default.
    pub const DEFAULT: SqlMode = SqlMode(
        Self::ONLY_FULL_GROUP_BY.0
            | Self::STRICT_TRANS_TABLES.0
            | Self::NO_ZERO_IN_DATE.0
            | Self::NO_ZERO_DATE.0
            | Self::ERROR_FOR_DIVISION_BY_ZERO.0
            | Self::NO_ENGINE_SUBSTITUTION.0,
    );

    /// Whether all of these modes are set.
    #[inline]
    pub fn has(self, mode: SqlMode) -> bool {
        self.0 & mode.0 != 0
    }

    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES: all tables here are transactional.
    #[inline]
    pub fn strict(self) -> bool {
        self.has(Self::STRICT_TRANS_TABLES) || self.has(Self::STRICT_ALL_TABLES)
    }

    /// Reads a comma separated list of names; the combination modes bring their parts along.
    pub fn parse(text: &str) -> Result<SqlMode, SqlError> {
        let mut mode = 0;
        for name in text.split(',').map(str::trim).filter(|n| !n.is_empty()) {
            let found = NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
            let (_, bit) = found.ok_or_else(|| SqlError::wrong_value_for_variable("sql_mode", name))?;
            mode |= bit.0;
        }
        Ok(SqlMode(mode).expanded())
    }

    fn expanded(self) -> SqlMode {
        let mut m = self.0;
        if self.has(Self::ANSI) {
            m |= Self::REAL_AS_FLOAT.0
                | Self::PIPES_AS_CONCAT.0
                | Self::ANSI_QUOTES.0
                | Self::IGNORE_SPACE.0
                | Self::ONLY_FULL_GROUP_BY.0;
        }
        if self.has(Self::TRADITIONAL) {
            m |= Self::STRICT_TRANS_TABLES.0
                | Self::STRICT_ALL_TABLES.0
                | Self::NO_ZERO_IN_DATE.0
                | Self::NO_ZERO_DATE.0
                | Self::ERROR_FOR_DIVISION_BY_ZERO.0
                | Self::NO_ENGINE_SUBSTITUTION.0;
        }
        SqlMode(m)
    }
}

impl Default for SqlMode {
    fn default() -> Self {
        SqlMode::DEFAULT
    }
}

impl fmt::Display for SqlMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (name, bit) in NAMES {
            if self.has(*bit) {
                if !first {
                    f.write_str(",")?;
                }
                first = false;
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_reads_as_mysql_prints_it() {
        let text = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,\
                    ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
        assert_eq!(SqlMode::DEFAULT.to_string(), text);
        assert_eq!(SqlMode::parse(text), Ok(SqlMode::DEFAULT));
        assert_eq!(SqlMode::parse("bogus").unwrap_err().code, 1231);
        assert!(SqlMode::parse("traditional").unwrap().strict());
        assert!(!SqlMode::parse("").unwrap().strict());
    }
}

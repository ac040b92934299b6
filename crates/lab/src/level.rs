//! The four isolation levels.

use std::fmt;

/// An isolation level of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// READ UNCOMMITTED.
    ReadUncommitted,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

impl Level {
    /// From the weakest to the strongest.
    pub const ALL: [Level; 4] = [
        Level::ReadUncommitted,
        Level::ReadCommitted,
        Level::RepeatableRead,
        Level::Serializable,
    ];

    /// RU, RC, RR or SER.
    pub fn short(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "RU",
            Level::ReadCommitted => "RC",
            Level::RepeatableRead => "RR",
            Level::Serializable => "SER",
        }
    }

    /// From its short name.
    pub fn of_short(name: &str) -> Option<Level> {
        Level::ALL
            .into_iter()
            .find(|level| level.short().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::ReadUncommitted => "READ UNCOMMITTED",
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        })
    }
}

//! The names of storage engines, in `ENGINE=` and `default_storage_engine`. There is one engine, which answers to some of them.

/// What the name of a storage engine stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineName {
    /// The engine that there is.
    InnoDb,
    /// An engine of MySQL or MariaDB in whose place InnoDB is used, with warning 1266.
    Substituted,
    /// The engine of `performance_schema`, which has no other tables.
    PerformanceSchema,
    /// No engine, or one that does something with rows that InnoDB does not, such as to forget them.
    Unknown,
}

const NAMES: [(EngineName, &[&str]); 3] = [
    (EngineName::InnoDb, &["InnoDB", "INNOBASE", "Tidemark"]),
    (
        EngineName::Substituted,
        &[
            "MyISAM",
            "MEMORY",
            "HEAP",
            "CSV",
            "ARCHIVE",
            "MRG_MYISAM",
            "MERGE",
            "Aria",
            "RocksDB",
            "TokuDB",
        ],
    ),
    (EngineName::PerformanceSchema, &["PERFORMANCE_SCHEMA"]),
];

impl EngineName {
    /// Reads a name, in any case; spaces at its end do not count.
    pub fn of(name: &str) -> EngineName {
        let name = name.trim_end_matches(' ');
        let is_it = |known: &&str| known.eq_ignore_ascii_case(name);
        let found = NAMES.iter().find(|(_, names)| names.iter().any(&is_it));
        found.map_or(EngineName::Unknown, |(meaning, _)| *meaning)
    }
}

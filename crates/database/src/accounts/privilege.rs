//! Privileges as sets of bits, with MySQL's names and order.
//!
//! The lower half of a set holds the static privileges, which older tools see as columns of `mysql.user`; the upper half
//! the dynamic ones, which have names with underscores, exist on the global level only, and each stand for a part of what
//! SUPER used to allow. A name that is neither is no privilege.

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Privileges(pub u128);

/// Where the dynamic privileges begin.
const DYNAMIC: u32 = 64;

macro_rules! privileges {
    ($($constant:ident = $bit:literal $name:literal $levels:literal;)*) => {
        impl Privileges {
            $(#[doc = concat!("The privilege `", $name, "`.")]
            pub const $constant: Privileges = Privileges(1 << $bit);)*
        }
        /// Every privilege in the order SHOW GRANTS lists them: set, name, and the levels it can be granted on
        /// (`g`lobal, `d`atabase, `t`able).
        pub const ALL: &[(Privileges, &str, &str)] = &[$((Privileges::$constant, $name, $levels)),*];
    };
}

privileges! {
    SELECT = 0 "SELECT" "gdt";
    INSERT = 1 "INSERT" "gdt";
    UPDATE = 2 "UPDATE" "gdt";
    DELETE = 3 "DELETE" "gdt";
    CREATE = 4 "CREATE" "gdt";
    DROP = 5 "DROP" "gdt";
    RELOAD = 6 "RELOAD" "g";
    SHUTDOWN = 7 "SHUTDOWN" "g";
    PROCESS = 8 "PROCESS" "g";
    FILE = 9 "FILE" "g";
    REFERENCES = 10 "REFERENCES" "gdt";
    INDEX = 11 "INDEX" "gdt";
    ALTER = 12 "ALTER" "gdt";
    SHOW_DATABASES = 13 "SHOW DATABASES" "g";
    SUPER = 14 "SUPER" "g";
    CREATE_TEMPORARY_TABLES = 15 "CREATE TEMPORARY TABLES" "gd";
    LOCK_TABLES = 16 "LOCK TABLES" "gd";
    EXECUTE = 17 "EXECUTE" "gd";
    REPLICATION_SLAVE = 18 "REPLICATION SLAVE" "g";
    REPLICATION_CLIENT = 19 "REPLICATION CLIENT" "g";
    CREATE_VIEW = 20 "CREATE VIEW" "gdt";
    SHOW_VIEW = 21 "SHOW VIEW" "gdt";
    CREATE_ROUTINE = 22 "CREATE ROUTINE" "gd";
    ALTER_ROUTINE = 23 "ALTER ROUTINE" "gd";
    CREATE_USER = 24 "CREATE USER" "g";
    EVENT = 25 "EVENT" "gd";
    TRIGGER = 26 "TRIGGER" "gdt";
    CREATE_TABLESPACE = 27 "CREATE TABLESPACE" "g";
    CREATE_ROLE = 28 "CREATE ROLE" "g";
    DROP_ROLE = 29 "DROP ROLE" "g";
    GRANT_OPTION = 40 "GRANT OPTION" "gdt";
}

/// The level of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// `ON *.*`
    Global,
    /// `ON db.*`
    Database,
    /// `ON db.table`
    Table,
}

impl Level {
    fn letter(self) -> char {
        match self {
            Level::Global => 'g',
            Level::Database => 'd',
            Level::Table => 't',
        }
    }
}

/// The dynamic privileges, in the order SHOW GRANTS lists them; a set's bit [`DYNAMIC`] + n is the n-th. Appended to, never
/// reordered: stored accounts have these bits.
const DYNAMIC_NAMES: &[&str] = &[
    "ALLOW_NONEXISTENT_DEFINER",
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "CREATE_SPATIAL_REFERENCE_SYSTEM",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "OPTIMIZE_LOCAL_TABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "TRANSACTION_GTID_TAG",
    "XA_RECOVER_ADMIN",
];

const fn dynamic(name: &str) -> Privileges {
    let mut at = 0;
    while at < DYNAMIC_NAMES.len() {
        if same(DYNAMIC_NAMES[at].as_bytes(), name.as_bytes()) {
            return Privileges(1 << (DYNAMIC + at as u32));
        }
        at += 1;
    }
    panic!("no such dynamic privilege")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

impl Privileges {
    /// Copies the server's data.
    pub const BACKUP_ADMIN: Privileges = dynamic("BACKUP_ADMIN");
    /// Connects past `max_connections`, ends other accounts' sessions, and works in `offline_mode` and `read_only`.
    pub const CONNECTION_ADMIN: Privileges = dynamic("CONNECTION_ADMIN");
    /// Keeps a second password for its own account.
    pub const APPLICATION_PASSWORD_ADMIN: Privileges = dynamic("APPLICATION_PASSWORD_ADMIN");
    /// Connects to the administrative port, `admin_port`.
    pub const SERVICE_CONNECTION_ADMIN: Privileges = dynamic("SERVICE_CONNECTION_ADMIN");
    /// Grants and takes away every role.
    pub const ROLE_ADMIN: Privileges = dynamic("ROLE_ADMIN");
    /// FLUSH TABLES.
    pub const FLUSH_TABLES: Privileges = dynamic("FLUSH_TABLES");
    /// FLUSH STATUS.
    pub const FLUSH_STATUS: Privileges = dynamic("FLUSH_STATUS");
    /// FLUSH PRIVILEGES.
    pub const FLUSH_PRIVILEGES: Privileges = dynamic("FLUSH_PRIVILEGES");
    /// FLUSH USER_RESOURCES.
    pub const FLUSH_USER_RESOURCES: Privileges = dynamic("FLUSH_USER_RESOURCES");
    /// FLUSH OPTIMIZER_COSTS.
    pub const FLUSH_OPTIMIZER_COSTS: Privileges = dynamic("FLUSH_OPTIMIZER_COSTS");
    /// SET of a session's variables that are restricted.
    pub const SESSION_VARIABLES_ADMIN: Privileges = dynamic("SESSION_VARIABLES_ADMIN");
    /// Applies what another server has written.
    pub const REPLICATION_APPLIER: Privileges = dynamic("REPLICATION_APPLIER");
    /// SET PERSIST_ONLY.
    pub const PERSIST_RO_VARIABLES_ADMIN: Privileges = dynamic("PERSIST_RO_VARIABLES_ADMIN");
    /// An account that has it can be changed only by one that has it, too.
    pub const SYSTEM_USER: Privileges = dynamic("SYSTEM_USER");
    /// SET_ANY_DEFINER
    pub const SET_ANY_DEFINER: Privileges = dynamic("SET_ANY_DEFINER");
    /// The texts of stored routines of others are seen.
    pub const SHOW_ROUTINE: Privileges = dynamic("SHOW_ROUTINE");
    /// ALLOW_NONEXISTENT_DEFINER
    pub const ALLOW_NONEXISTENT_DEFINER: Privileges = dynamic("ALLOW_NONEXISTENT_DEFINER");
    /// SET GLOBAL and SET PERSIST.
    pub const SYSTEM_VARIABLES_ADMIN: Privileges = dynamic("SYSTEM_VARIABLES_ADMIN");
    /// Those that can be granted on single columns.
    pub const ON_COLUMNS: Privileges = Privileges(
        Privileges::SELECT.0 | Privileges::INSERT.0 | Privileges::UPDATE.0 | Privileges::REFERENCES.0,
    );
    /// The first six.
    const DATA_AND_DEFINITIONS: Privileges = Privileges(
        Privileges::SELECT.0
            | Privileges::INSERT.0
            | Privileges::UPDATE.0
            | Privileges::DELETE.0
            | Privileges::CREATE.0
            | Privileges::DROP.0,
    );
    /// Either is enough for what only administrators of connections may.
    pub const ADMINISTERS_CONNECTIONS: Privileges =
        Privileges(Privileges::SUPER.0 | Privileges::CONNECTION_ADMIN.0);
    /// Every dynamic privilege.
    pub const ALL_DYNAMIC: Privileges = Privileges(((1 << DYNAMIC_NAMES.len()) - 1) << DYNAMIC);

    /// The empty set, which SHOW GRANTS calls USAGE.
    pub const NONE: Privileges = Privileges(0);

    /// `ALL PRIVILEGES` on a level, which is everything but GRANT OPTION.
    pub fn all(level: Level) -> Privileges {
        let on_level = ALL
            .iter()
            .filter(|(set, _, levels)| levels.contains(level.letter()) && *set != Privileges::GRANT_OPTION);
        let all = Privileges(on_level.fold(0, |all, (set, _, _)| all | set.0));
        match level {
            Level::Global => all.union(Privileges::ALL_DYNAMIC),
            Level::Database | Level::Table => all,
        }
    }

    /// The privilege of this upper-case name that may be granted on the level. `None`: no such privilege;
    /// `Some(None)`: not on this level.
    pub fn by_name(name: &str, level: Level) -> Option<Option<Privileges>> {
        if DYNAMIC_NAMES.contains(&name) {
            return Some((level == Level::Global).then(|| dynamic(name)));
        }
        let (set, _, levels) = ALL.iter().find(|(_, n, _)| *n == name)?;
        Some(levels.contains(level.letter()).then_some(*set))
    }

    /// Whether all privileges of `other` are in this set.
    pub fn contains(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any privilege of `other` is in this set.
    pub fn intersects(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }

    /// The privileges in either set.
    pub fn union(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    /// The privileges in both sets.
    pub fn intersection(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }

    /// The privileges of this set that are not in `other`.
    pub fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    /// Whether there is no privilege in the set.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names of the static privileges in the set, in the order of SHOW GRANTS.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let granted = ALL.iter().filter(move |(one, _, _)| self.contains(*one));
        granted.map(|(_, name, _)| *name)
    }

    /// The names of the static privileges in the set as error 1142 lists them: GRANT OPTION is `GRANT`, behind DROP.
    pub fn names_of_denial(self) -> Vec<&'static str> {
        let first = self.intersection(Privileges::DATA_AND_DEFINITIONS);
        let mut names: Vec<&str> = first.names().collect();
        if self.contains(Privileges::GRANT_OPTION) {
            names.push("GRANT");
        }
        names.extend(self.without(first).without(Privileges::GRANT_OPTION).names());
        names
    }

    /// The names of the dynamic privileges in the set.
    pub fn dynamic_names(self) -> impl Iterator<Item = &'static str> {
        let names = DYNAMIC_NAMES.iter().enumerate();
        names.filter_map(move |(at, name)| (self.0 >> (DYNAMIC + at as u32) & 1 == 1).then_some(*name))
    }

    /// As SHOW GRANTS writes the static privileges of the set on a level, without GRANT OPTION.
    pub fn text(self, level: Level) -> String {
        let plain = self.without(Privileges::GRANT_OPTION.union(Privileges::ALL_DYNAMIC));
        if plain.is_empty() {
            return "USAGE".to_owned();
        }
        if plain == Privileges::all(level) && level != Level::Global {
            return "ALL PRIVILEGES".to_owned();
        }
        let names: Vec<&str> = ALL
            .iter()
            .filter(|(set, _, _)| plain.contains(*set))
            .map(|(_, name, _)| *name)
            .collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_bound_what_can_be_granted() {
        assert_eq!(
            Privileges::by_name("SELECT", Level::Table),
            Some(Some(Privileges::SELECT))
        );
        assert_eq!(Privileges::by_name("SUPER", Level::Database), Some(None));
        assert_eq!(Privileges::by_name("FLY", Level::Global), None);
        assert_eq!(Privileges::by_name("NO_SUCH_THING", Level::Global), None);
        assert_eq!(Privileges::by_name("BACKUP_ADMIN", Level::Database), Some(None));
        assert!(!Privileges::all(Level::Global).contains(Privileges::GRANT_OPTION));
        assert_eq!(
            Privileges::all(Level::Database).text(Level::Database),
            "ALL PRIVILEGES"
        );
        assert_eq!(
            Privileges::SELECT.union(Privileges::DROP).text(Level::Global),
            "SELECT, DROP"
        );
        assert_eq!(Privileges::NONE.text(Level::Table), "USAGE");
        let backup = Privileges::by_name("BACKUP_ADMIN", Level::Global)
            .flatten()
            .unwrap();
        assert!(!backup.intersects(Privileges::SUPER));
        assert_eq!(backup.text(Level::Global), "USAGE");
        assert_eq!(backup.dynamic_names().collect::<Vec<_>>(), ["BACKUP_ADMIN"]);
        assert_eq!(
            Privileges::ALL_DYNAMIC.dynamic_names().count(),
            DYNAMIC_NAMES.len()
        );
    }
}

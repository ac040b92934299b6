//! Privileges as sets of bits, with MySQL's names and order.

/// A set of privileges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Privileges(pub u64);

macro_rules! privileges {
    ($($constant:ident = $bit:literal $name:literal $levels:literal;)*) => {
        impl Privileges {
            $(pub const $constant: Privileges = Privileges(1 << $bit);)*
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
    Global,
    Database,
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

impl Privileges {
    pub const NONE: Privileges = Privileges(0);

    /// `ALL PRIVILEGES` on a level, which is everything but GRANT OPTION.
    pub fn all(level: Level) -> Privileges {
        let on_level = ALL
            .iter()
            .filter(|(set, _, levels)| levels.contains(level.letter()) && *set != Privileges::GRANT_OPTION);
        Privileges(on_level.fold(0, |all, (set, _, _)| all | set.0))
    }

    /// The privilege of this upper-case name that may be granted on the level. `None`: no such privilege;
    /// `Some(None)`: not on this level.
    pub fn by_name(name: &str, level: Level) -> Option<Option<Privileges>> {
        let (set, _, levels) = ALL.iter().find(|(_, n, _)| *n == name)?;
        Some(levels.contains(level.letter()).then_some(*set))
    }

    pub fn contains(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }

    pub fn intersects(self, other: Privileges) -> bool {
        self.0 & other.0 != 0
    }

    pub fn union(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    pub fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// As SHOW GRANTS writes the set on a level, without GRANT OPTION.
    pub fn text(self, level: Level) -> String {
        let plain = self.without(Privileges::GRANT_OPTION);
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
    }
}

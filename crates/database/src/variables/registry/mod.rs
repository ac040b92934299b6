//! The system variables there are: the one list from which SET, SHOW, `@@name`, the command line and `my.cnf` work.
//!
//! A variable that clients and configurations know but that has nothing to act on here is listed with what it would
//! mean ([`Role::Unused`]): it can be set and read back, with a warning that it does nothing. One that promises what is not
//! kept here has one value ([`Role::Fixed`]); one that says whether something is there which is not has one value, too, but option
//! files may say another ([`Role::Absent`]). Whatever else is in the list has a reader.
//!
//! What option files may have that is no variable here is in `foreign`.

mod engine;
mod foreign;
mod others;
mod server;
mod session;

pub use foreign::{Fate, fate};

use super::setting::Setting;
use Kind::*;
use VariableScope::*;

/// Which values a variable has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableScope {
    /// One, the server's.
    Global,
    /// One per session, with a fixed default.
    Session,
    /// The server's, which new sessions begin with, and one per session.
    Both,
}

/// The values a variable takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// ON and OFF, 1 and 0.
    Bool,
    /// An unsigned integer; values out of the bounds are moved to the nearest bound, with a warning.
    Uint {
        /// Least value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// A signed integer, with bounds like an unsigned one's.
    Int {
        /// Least value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// A fraction, with bounds like an integer's.
    Float {
        /// Least value.
        min: f64,
        /// Largest value.
        max: f64,
    },
    /// One of these words, given by name in any case, or by position.
    Enum(&'static [&'static str]),
    /// Some of these words, with this character between them.
    Flags(char, &'static [&'static str]),
    /// These words, each with `=on` or `=off`, separated by commas.
    Switches(&'static [&'static str]),
    /// Any text.
    Text,
    /// Text or NULL, for file names and the like.
    NullableText,
    /// The name of a character set.
    Charset {
        /// NULL is allowed: no conversion.
        nullable: bool,
        /// It is what clients send, in which statements are read.
        sent: bool,
    },
    /// The name of a collation.
    Collation,
    /// The name of a storage engine, which is InnoDB in the end.
    Engine,
    /// The name of a locale, or its number.
    Locale,
    /// A comma separated list of SQL modes.
    SqlMode,
    /// `SYSTEM`, or an offset such as `+02:00`.
    TimeZone,
}

/// What `ssl_cipher` may name: the ciphers of TLS 1.2 that are spoken, by OpenSSL's names.
pub const CIPHERS: &[&str] = &[
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-CHACHA20-POLY1305",
];

/// What `tls_ciphersuites` may name: the ciphers of TLS 1.3.
pub const CIPHER_SUITES: &[&str] = &[
    "TLS_AES_256_GCM_SHA384",
    "TLS_AES_128_GCM_SHA256",
    "TLS_CHACHA20_POLY1305_SHA256",
];

/// A system variable.
#[derive(Clone, Copy, Debug)]
pub struct Def {
    /// Lower case, as SHOW VARIABLES lists it.
    pub name: &'static str,
    /// Which values it has.
    pub scope: VariableScope,
    /// Can be set while the server runs.
    pub dynamic: bool,
    /// The values it takes.
    pub kind: Kind,
    /// The value at start if no option gives one, as text.
    pub default: &'static str,
    /// What becomes of its value.
    pub role: Role,
}

/// What becomes of a variable's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is read by what it is about.
    Read,
    /// It says what is so, and is not to be set.
    Fact,
    /// It could be otherwise in MySQL, but is as the default says here, or as the members of its kind say: another value
    /// is refused.
    Fixed,
    /// It says that something is not here, for the reason given: an option file that says otherwise is warned of and changes nothing, and
    /// SET to another value is refused.
    Absent(&'static str),
    /// It acts on something that is not here, for the reason given: it can be set, with a warning.
    Unused(&'static str),
}

impl Def {
    /// Why setting it does nothing, if that is so.
    pub fn unused(&self) -> Option<&'static str> {
        match self.role {
            Role::Unused(why) | Role::Absent(why) => Some(why),
            _ => None,
        }
    }

    /// Whether a value is one that it may not have here.
    pub fn refuses(&self, setting: &Setting) -> bool {
        let bound = match self.role {
            Role::Fact | Role::Absent(_) => true,
            Role::Fixed => !matches!(self.kind, Kind::Enum(_)),
            Role::Read | Role::Unused(_) => false,
        };
        bound && Setting::parse(self, self.default).as_ref() != Ok(setting)
    }
}

const fn def(
    name: &'static str,
    scope: VariableScope,
    dynamic: bool,
    kind: Kind,
    default: &'static str,
) -> Def {
    Def {
        name,
        scope,
        dynamic,
        kind,
        default,
        role: Role::Read,
    }
}

const fn fact(name: &'static str, scope: VariableScope, kind: Kind, default: &'static str) -> Def {
    Def {
        role: Role::Fact,
        ..def(name, scope, false, kind, default)
    }
}

const fn fixed(name: &'static str, scope: VariableScope, kind: Kind, default: &'static str) -> Def {
    Def {
        role: Role::Fixed,
        ..def(name, scope, true, kind, default)
    }
}

const fn unused(
    name: &'static str,
    scope: VariableScope,
    kind: Kind,
    default: &'static str,
    why: &'static str,
) -> Def {
    Def {
        name,
        scope,
        dynamic: true,
        kind,
        default,
        role: Role::Unused(why),
    }
}

const fn absent(
    name: &'static str,
    scope: VariableScope,
    dynamic: bool,
    kind: Kind,
    default: &'static str,
    why: &'static str,
) -> Def {
    Def {
        role: Role::Absent(why),
        ..def(name, scope, dynamic, kind, default)
    }
}

const fn uint(min: u64, max: u64) -> Kind {
    Uint { min, max }
}

/// Up to the largest 64-bit number.
const fn from(min: u64) -> Kind {
    Uint { min, max: u64::MAX }
}

const NO_BINLOG: &str = "there is no binary log";
const NO_REPLICATION: &str = "there is no replication";
const NO_OTHER_ENGINES: &str = "there is one storage engine";
const NO_OPTIMIZER: &str = "the optimizer does not use it";
const NO_FULL_TEXT: &str = "there are no full-text indexes";
const NO_FILES: &str = "Tidemark keeps its files its own way";
const NO_BUFFERS: &str = "the executor does not use this buffer";
const NO_LOG: &str = "there is no such log";
const NO_POOL_TUNING: &str = "the buffer pool does not work that way";

const GROUPS: [&[Def]; 4] = [server::DEFS, engine::DEFS, session::DEFS, others::DEFS];

static ALL: [Def; count(&GROUPS)] = join(&GROUPS);

/// All variables. One is meant by its position here.
pub static DEFS: &[Def] = &ALL;

const fn count(groups: &[&[Def]]) -> usize {
    let (mut sum, mut group) = (0, 0);
    while group < groups.len() {
        sum += groups[group].len();
        group += 1;
    }
    sum
}

const fn join<const N: usize>(groups: &[&[Def]]) -> [Def; N] {
    let mut all = [groups[0][0]; N];
    let (mut group, mut at) = (0, 0);
    while group < groups.len() {
        let mut i = 0;
        while i < groups[group].len() {
            all[at] = groups[group][i];
            (at, i) = (at + 1, i + 1);
        }
        group += 1;
    }
    all
}

/// The variables that the optimizer hint SET_VAR can set.
pub const HINTABLE: &[&str] = &[
    "auto_increment_increment",
    "auto_increment_offset",
    "big_tables",
    "bulk_insert_buffer_size",
    "cte_max_recursion_depth",
    "default_table_encryption",
    "default_tmp_storage_engine",
    "div_precision_increment",
    "end_markers_in_json",
    "eq_range_index_dive_limit",
    "foreign_key_checks",
    "group_concat_max_len",
    "insert_id",
    "internal_tmp_mem_storage_engine",
    "join_buffer_size",
    "lock_wait_timeout",
    "max_error_count",
    "max_execution_time",
    "max_heap_table_size",
    "max_join_size",
    "max_length_for_sort_data",
    "max_points_in_geometry",
    "max_seeks_for_key",
    "max_sort_length",
    "optimizer_max_subgraph_pairs",
    "optimizer_prune_level",
    "optimizer_search_depth",
    "optimizer_switch",
    "range_alloc_block_size",
    "range_optimizer_max_mem_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "select_into_buffer_size",
    "select_into_disk_sync",
    "select_into_disk_sync_delay",
    "set_operations_buffer_size",
    "sort_buffer_size",
    "sql_auto_is_null",
    "sql_big_selects",
    "sql_buffer_result",
    "sql_mode",
    "sql_require_primary_key",
    "sql_safe_updates",
    "sql_select_limit",
    "time_zone",
    "timestamp",
    "tmp_table_size",
    "unique_checks",
    "updatable_views_with_limit",
    "windowing_use_high_precision",
];

/// Second names of variables, known to MySQL before 8.0 and to MariaDB, and so to older drivers.
const ALIASES: [(&str, &str); 2] = [
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
];

/// Older names, which option files may still use.
pub const OLD_OPTION_NAMES: [(&str, &str); 4] = [
    ("default_time_zone", "time_zone"),
    ("default_character_set", "character_set_server"),
    ("character_set", "character_set_server"),
    ("collation", "collation_server"),
];

/// The position of a variable in [`DEFS`], by a name of it in any case.
pub fn find(name: &str) -> Option<usize> {
    use std::collections::HashMap;
    use std::sync::LazyLock;
    static INDEX: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
        let mut index: HashMap<_, _> = DEFS.iter().enumerate().map(|(i, def)| (def.name, i)).collect();
        index.extend(ALIASES.map(|(alias, name)| (alias, index[name])));
        index
    });
    if let Some(at) = INDEX.get(name) {
        return Some(*at);
    }
    INDEX.get(name.to_ascii_lowercase().as_str()).copied()
}

/// The variables of the server or of a session, by their names and positions in [`DEFS`], in the order of names.
pub fn listed(global: bool) -> Vec<(&'static str, usize)> {
    let names = DEFS.iter().map(|def| def.name);
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    let mut listed: Vec<_> = names
        .chain(aliases)
        .filter_map(|name| Some((name, find(name)?)))
        .filter(|(_, at)| !global || DEFS[*at].scope != Session)
        .collect();
    listed.sort_unstable();
    listed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::Setting;

    /// Each connection is a thread; some more work in the background.
    #[test]
    fn no_more_connections_can_be_allowed_than_the_engine_takes_threads() {
        let at = find("max_connections").unwrap();
        let Kind::Uint { max, .. } = DEFS[at].kind else {
            panic!("a number");
        };
        assert!(max + 10_000 < u64::from(tidemark_engine::THREADS_MAX));
    }

    /// The sources of the server, but for the registry itself and tests.
    fn sources(dir: &std::path::Path, out: &mut String) {
        for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            if path.is_dir() && !matches!(name.as_str(), "registry" | "tests" | "benches" | "target") {
                sources(&path, out);
            } else if name.ends_with(".rs") && !name.contains("tests") {
                out.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
    }

    /// The names in backticks of the paragraph of docs/compatibility.md that begins with `start`.
    fn listed_in_docs(start: &str) -> Vec<String> {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let page = std::fs::read_to_string(root.join("docs/compatibility.md")).unwrap();
        let paragraph = page.split("\n\n").find(|paragraph| paragraph.starts_with(start));
        let quoted = paragraph
            .expect("the paragraph is there")
            .split('`')
            .skip(1)
            .step_by(2);
        let mut names: Vec<String> = quoted.map(str::to_owned).collect();
        names.sort();
        names
    }

    fn of_role(role: impl Fn(Role) -> bool) -> Vec<String> {
        let mut names: Vec<String> = DEFS
            .iter()
            .filter(|def| role(def.role))
            .map(|def| def.name.to_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn every_variable_has_a_reader_or_is_listed_as_one_without() {
        let mut text = String::new();
        sources(
            &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(".."),
            &mut text,
        );
        for def in DEFS.iter().filter(|def| def.role == Role::Read) {
            assert!(
                text.contains(&format!("\"{}\"", def.name)),
                "nobody reads {}",
                def.name
            );
        }
        let unused = of_role(|role| matches!(role, Role::Unused(_) | Role::Absent(_)));
        assert_eq!(unused, listed_in_docs("These have no meaning here"));
        assert_eq!(
            of_role(|role| role == Role::Fixed),
            listed_in_docs("These are as they are")
        );
    }

    #[test]
    fn every_default_is_a_value_of_its_variable() {
        let mut names = std::collections::HashSet::new();
        for def in DEFS {
            assert!(names.insert(def.name), "{} twice", def.name);
            let value = Setting::parse(def, def.default).unwrap();
            assert_eq!(value.to_string(), def.default, "{}", def.name);
        }
        assert_eq!(find("AUTOCOMMIT"), find("autocommit"));
        for (_, name) in OLD_OPTION_NAMES {
            assert!(find(name).is_some(), "{name}");
        }
        assert!(find("no_such_thing").is_none());
    }
}

//! The options a server is started with, from the command line and `my.cnf`, checked against the registry of system
//! variables before anything is opened: a name that is not there or a value out of its bounds ends the start.

use crate::error::Result;
use crate::variables::{
    DEFS, EngineName, Fate, Globals, Kind, OLD_OPTION_NAMES, Role, Setting, fate, find, spelling_distance,
};
use std::path::PathBuf;

/// Options that stand for others.
const SHORT_FOR: [(&str, &[(&str, &str)]); 1] = [(
    "ansi",
    &[("sql_mode", "ANSI"), ("transaction_isolation", "SERIALIZABLE")],
)];

/// What a server is started with: where the data lives, and the system variables given on the command line or in
/// `my.cnf`, already checked against the registry.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the database's files are.
    pub datadir: PathBuf,
    /// Nothing on the disk is changed.
    pub discard_changes: bool,
    /// The variables given, by position in the registry; a later one overrides an earlier one.
    pub(super) given: Vec<(usize, Setting)>,
    warnings: Vec<String>,
}

/// The highest level of `innodb_force_recovery`.
pub const FORCE_RECOVERY_MAX: u8 = 6;

impl Options {
    /// `innodb_force_recovery`.
    pub(super) fn force_recovery(&self, globals: &Globals) -> u8 {
        (globals.u64("innodb_force_recovery") as u8).min(FORCE_RECOVERY_MAX)
    }

    /// Nothing but where the data lives.
    pub fn new(datadir: PathBuf) -> Options {
        Options {
            datadir,
            discard_changes: false,
            given: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The options of `name = value` pairs, each as [`Options::add`] takes it.
    pub fn from_pairs(
        datadir: PathBuf,
        pairs: impl IntoIterator<Item = (String, Option<String>)>,
    ) -> Result<Options, String> {
        let mut options = Options::new(datadir);
        for (name, value) in pairs {
            options.add(&name, value)?;
        }
        Ok(options)
    }

    /// Adds an option (dashes or underscores, `loose-` allowed, K/M/G suffixes). A name that is no system variable's, a value
    /// that is none of it, out of its bounds or not to be had here is an error that names it.
    pub fn add(&mut self, written: &str, value: Option<String>) -> Result<(), String> {
        let name = written
            .trim_start_matches("--")
            .replace('-', "_")
            .to_ascii_lowercase();
        let (loose, name) = match name.strip_prefix("loose_") {
            Some(rest) => (true, rest.to_owned()),
            None => (false, name),
        };
        if let Some((_, meant)) = SHORT_FOR.iter().find(|(short, _)| *short == name) {
            let mut each = meant.iter();
            return each.try_for_each(|(name, value)| self.add(name, Some((*value).to_owned())));
        }
        let has_value = value.is_some();
        let mut value = value.unwrap_or_default();
        let old = OLD_OPTION_NAMES.iter().find(|(old, _)| *old == name);
        let mut found = find(old.map_or(name.as_str(), |(_, new)| new));
        if found.is_none() {
            // `skip-x` and `disable-x` switch x off, `enable-x` switches it on.
            for (prefix, on) in [("skip_", "OFF"), ("disable_", "OFF"), ("enable_", "ON")] {
                if let Some(rest) = name.strip_prefix(prefix) {
                    found = find(rest);
                    value = on.to_owned();
                }
            }
        }
        let Some(at) = found else {
            if let Some((name, fate)) = foreign(&name, has_value, &mut value) {
                return self.meet(name, fate, &value);
            }
            let message = match has_value {
                true => format!("unknown variable '{written}={value}'"),
                false => format!("unknown option '{written}'"),
            };
            if loose {
                self.warnings.push(format!("{message} is ignored"));
                return Ok(());
            }
            return Err(match nearest(&name) {
                _ if written.contains(char::is_whitespace) => {
                    format!("{message}; a value follows its option after '='")
                }
                Some(near) => format!("{message}; did you mean '{near}'?"),
                None => message,
            });
        };
        let def = &DEFS[at];
        if value.is_empty() && !has_value && def.kind != Kind::Bool && matches!(def.role, Role::Read) {
            return Err(format!("'{}' needs a value", def.name));
        }
        self.take(at, &value)
    }

    /// Takes an option of MySQL's that is no variable here, with a warning, or refuses it.
    fn meet(&mut self, name: &str, fate: Fate, value: &str) -> Result<(), String> {
        let is_off = matches!(
            value.to_ascii_uppercase().as_str(),
            "0" | "OFF" | "FALSE" | "NO" | ""
        );
        match fate {
            Fate::Refused(why) => return Err(format!("'{name}' is not supported: {why}")),
            Fate::OnlyOff(why) if !is_off => return Err(format!("'{name}' cannot be {value}: {why}")),
            Fate::OnlyOn(why) if is_off => return Err(format!("'{name}' cannot be OFF: {why}")),
            Fate::OnlyOff(why) | Fate::OnlyOn(why) | Fate::Ignored(why) => {
                self.warnings
                    .push(format!("'{name}' is accepted but does nothing: {why}"));
            }
        }
        Ok(())
    }

    fn take(&mut self, at: usize, value: &str) -> Result<(), String> {
        let def = &DEFS[at];
        if let Some(why) = def.unused() {
            self.warnings
                .push(format!("'{}' is accepted but does nothing: {why}", def.name));
            // It stays what it is, whatever the option file wants.
            if matches!(def.role, Role::Absent(_)) {
                return Ok(());
            }
        }
        let (setting, cut) = Setting::parse_within(def, value).map_err(|error| error.message)?;
        if def.kind == Kind::Engine && EngineName::of(value) == EngineName::Substituted {
            self.warnings
                .push(format!("'{}' is {setting}: there is no {value} here", def.name));
        }
        if cut && def.unused().is_none() {
            return Err(format!(
                "'{}' cannot be {value}: the nearest that it can be is {setting}",
                def.name
            ));
        }
        if def.refuses(&setting) {
            return Err(format!(
                "'{}' cannot be {setting}: it is {} here",
                def.name, def.default
            ));
        }
        self.given.push((at, setting));
        Ok(())
    }

    /// What the log should say at start: options that are accepted but have nothing to act on.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The value given for a variable, if any.
    pub fn get(&self, name: &str) -> Option<String> {
        let at = find(name)?;
        let found = self.given.iter().rev().find(|(given, _)| *given == at);
        found.map(|(_, setting)| setting.to_string())
    }

    /// The value given for a variable, or its default.
    pub fn get_or_default(&self, name: &str) -> Option<String> {
        let at = find(name)?;
        Some(self.get(name).unwrap_or_else(|| DEFS[at].default.to_owned()))
    }

    /// `innodb_redo_log_capacity` in bytes, or what the older pair of options comes to.
    pub(super) fn log_capacity(&self, globals: &Globals) -> u64 {
        let old = self.get("innodb_log_file_size").is_some();
        if old && self.get("innodb_redo_log_capacity").is_none() {
            return globals.u64("innodb_log_file_size") * globals.u64("innodb_log_files_in_group");
        }
        globals.u64("innodb_redo_log_capacity")
    }
}

/// The variable whose name is least different from a mistyped one, if it is not too different.
fn nearest(written: &str) -> Option<&'static str> {
    let names = DEFS
        .iter()
        .map(|def| (spelling_distance(written, def.name), def.name));
    let (distance, name) = names.min()?;
    (distance <= 2 + written.len() / 8).then_some(name)
}

/// An option of MySQL's that is no variable here: its name, without what switches it on or off, which becomes its value.
fn foreign<'n>(name: &'n str, has_value: bool, value: &mut String) -> Option<(&'n str, Fate)> {
    if let Some(fate) = fate(name) {
        if !has_value {
            *value = "ON".to_owned();
        }
        return Some((name, fate));
    }
    for (prefix, on) in [("skip_", "OFF"), ("disable_", "OFF"), ("enable_", "ON")] {
        if let Some(rest) = name.strip_prefix(prefix)
            && let Some(fate) = fate(rest)
        {
            *value = on.to_owned();
            return Some((rest, fate));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Result<Options, String> {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.to_string(), Some(value.to_string())));
        Options::from_pairs(PathBuf::from("data"), pairs)
    }

    #[test]
    fn the_configuration_of_the_2010_study_is_accepted() {
        let options = options(&[
            ("innodb_buffer_pool_size", "2000M"),
            ("innodb_log_file_size", "100M"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_thread_concurrency", "0"),
            ("max_connections", "2000"),
            ("table_cache", "2000"),
            ("innodb-max-dirty-pages-pct", "80"),
            ("transaction_isolation", "READ-COMMITTED"),
        ])
        .unwrap();
        assert_eq!(
            options.get("innodb_buffer_pool_size").unwrap(),
            (2000u64 << 20).to_string()
        );
        assert_eq!(
            options
                .get("transaction-isolation".replace('-', "_").as_str())
                .unwrap(),
            "READ-COMMITTED"
        );
        assert_eq!(options.warnings().len(), 2);
        assert!(options.warnings()[1].contains("table_cache"));
    }

    #[test]
    fn unknown_options_are_errors_unless_loose() {
        assert!(
            options(&[("inodb_buffer_pool_size", "1G")])
                .unwrap_err()
                .contains("inodb_buffer_pool_size")
        );
        let mistyped = options(&[("inodb-bufer_pool_size", "1G")]).unwrap_err();
        assert!(
            mistyped.ends_with("did you mean 'innodb_buffer_pool_size'?"),
            "{mistyped}"
        );
        assert!(options(&[("max_connections", "many")]).is_err());
        let alone = |name: &str| Options::from_pairs("data".into(), [(name.to_owned(), None)]).unwrap_err();
        assert_eq!(alone("port"), "'port' needs a value");
        assert_eq!(alone("sokcet"), "unknown option 'sokcet'; did you mean 'socket'?");
        assert!(alone("port 3411").ends_with("after '='"));
        let loose = options(&[("loose-inodb_buffer_pool_size", "1G"), ("skip-log-bin", "")]).unwrap();
        assert_eq!(loose.warnings().len(), 2);
    }

    #[test]
    fn what_cannot_be_had_ends_the_start() {
        for (name, value) in [
            ("port", "99999"),
            ("lower_case_table_names", "1"),
            ("innodb_read_only", "ON"),
            ("event_scheduler", "ON"),
            ("innodb_page_size", "4096"),
        ] {
            let refused = options(&[(name, value)]).unwrap_err();
            assert!(refused.contains(name), "{refused}");
        }
        for (name, value) in [
            ("lower_case_table_names", "0"),
            ("event_scheduler", "DISABLED"),
            ("log-bin", "mysql-bin"),
            ("default-time-zone", "+02:00"),
            ("skip-name-resolve", ""),
            ("skip-grant-tables", ""),
            ("gtid_mode", "ON"),
            ("ansi", ""),
        ] {
            assert!(options(&[(name, value)]).is_ok(), "{name}");
        }
    }
}

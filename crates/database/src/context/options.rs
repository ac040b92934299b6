//! The options a server is started with, from the command line and `my.cnf`, checked against the registry of system
//! variables before anything is opened: a name that is not there or a value out of its bounds ends the start.

use crate::error::Result;
use crate::variables::{DEFS, Globals, OLD_OPTION_NAMES, Setting, find};
use std::path::PathBuf;

/// The option whose value is a file's name, while its variable is ON or OFF.
const TAKES_A_NAME: &str = "log_bin";

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
            let message = format!("unknown variable '{written}={value}'");
            if loose {
                self.warnings.push(format!("{message} is ignored"));
                return Ok(());
            }
            return Err(match nearest(&name) {
                Some(near) => format!("{message}; did you mean '{near}'?"),
                None => message,
            });
        };
        self.take(at, &value)
    }

    fn take(&mut self, at: usize, value: &str) -> Result<(), String> {
        let def = &DEFS[at];
        if let Some(why) = def.unused() {
            self.warnings
                .push(format!("'{}' is accepted but does nothing: {why}", def.name));
            if def.name == TAKES_A_NAME {
                return Ok(());
            }
        }
        let (setting, cut) = Setting::parse_within(def, value).map_err(|error| error.message)?;
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
    let names = DEFS.iter().map(|def| (distance(written, def.name), def.name));
    let (distance, name) = names.min()?;
    (distance <= 2 + written.len() / 8).then_some(name)
}

/// Levenshtein's: how many letters must be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + (x != y) as usize;
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
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
        ] {
            assert!(options(&[(name, value)]).is_ok(), "{name}");
        }
    }
}

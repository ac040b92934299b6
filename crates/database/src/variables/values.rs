//! All variables' values: the server's, and each session's, which begin as a copy of the server's.
//!
//! Character sets and collations come in pairs: setting one sets the other.

use super::positions::*;
use super::registry::{DEFS, Def, find};
use super::setting::Setting;
use crate::error::{Result, SqlError};
use crate::types::{Charset, Collation};
use parking_lot::RwLock;

/// All variables' values, by position in [`DEFS`].
#[derive(Clone, Debug)]
pub struct Values(Vec<Setting>);

impl Values {
    fn defaults() -> Values {
        let parse = |def: &Def| Setting::parse(def, def.default).unwrap_or(Setting::Null);
        Values(DEFS.iter().map(parse).collect())
    }

    /// The value of the variable at a position of [`DEFS`].
    pub fn get(&self, at: usize) -> &Setting {
        &self.0[at]
    }

    pub(super) fn text(&self, at: usize) -> &str {
        match &self.0[at] {
            Setting::Text(text) => text,
            _ => "",
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
        if at == at_max_join_size() {
            self.0[at_sql_big_selects()] = Setting::Bool(setting == Setting::Uint(u64::MAX));
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

    /// `collation_database` and its character set, which follow the current database.
    pub fn set_database_collation(&mut self, collation: Collation) {
        self.0[at_character_set_database()] = Setting::text(collation.charset().name());
        self.0[at_collation_database()] = Setting::text(collation.name());
    }

    /// `collation_server`, the default of new databases.
    pub fn server_collation(&self) -> Collation {
        Collation::by_name(self.text(at_collation_server())).unwrap_or(Collation::DEFAULT)
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
    /// The server's value of the variable at a position of [`DEFS`].
    pub fn get(&self, at: usize) -> Setting {
        self.values.read().get(at).clone()
    }

    /// The server's value of a variable; `None`: there is no such variable.
    pub fn by_name(&self, name: &str) -> Option<Setting> {
        find(name).map(|at| self.get(at))
    }

    /// The server's value of a variable as a number; 0 for a text, NULL, or an unknown name.
    pub fn u64(&self, name: &str) -> u64 {
        self.by_name(name).map_or(0, |setting| setting.as_u64())
    }

    /// What all of the server but the buffer pool may take of memory.
    pub fn total_memory(&self) -> tidemark_memory::Limit {
        self.values.read().total_memory()
    }

    /// Sets the server's value at a position, and the values that follow it.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}

//! INSTALL COMPONENT: which parts that need not be there are, kept in the engine's catalog so that they are there again after
//! a restart. `validate_password` brings its variables, `query_attributes` the function `mysql_query_attribute_string`.

use super::database::Database;
use super::state::{SessionState, clock_micros};
use crate::accounts::strength::{Dictionary, Policy, PolicyLevel};
use crate::error::{Result, SqlError};
use crate::variables::{DEFS, find, listed};
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidemark_engine::{Ddl, Engine};

const SPACE: &str = "component";
const VARIABLES: &str = "validate_password.";

/// A part that need not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// Demands something of passwords.
    ValidatePassword,
    /// Lets statements read their query attributes.
    QueryAttributes,
}

impl Component {
    /// All there are.
    pub const ALL: [Component; 2] = [Component::ValidatePassword, Component::QueryAttributes];

    /// The name that INSTALL COMPONENT is given.
    pub fn urn(self) -> &'static str {
        match self {
            Component::ValidatePassword => "file://component_validate_password",
            Component::QueryAttributes => "file://component_query_attributes",
        }
    }

    /// The one of this name.
    pub fn of_urn(urn: &str) -> Option<Component> {
        Component::ALL
            .into_iter()
            .find(|component| component.urn() == urn)
    }
}

/// A dictionary, and from where and when it was read.
#[derive(Clone, Default)]
struct Words {
    file: String,
    read_micros: i64,
    words: Arc<Dictionary>,
}

/// The components that are installed.
#[derive(Default)]
pub struct Components {
    /// By position in [`Component::ALL`].
    installed: [AtomicBool; Component::ALL.len()],
    words: RwLock<Words>,
}

impl Components {
    /// Those that were installed before a restart.
    pub(super) fn load(engine: &Engine) -> Result<Components> {
        let components = Components::default();
        for (name, _) in engine.meta_scan(SPACE)? {
            let urn = std::str::from_utf8(&name).unwrap_or_default();
            if let Some(component) = Component::of_urn(urn) {
                components.installed[component as usize].store(true, Ordering::Release);
            }
        }
        Ok(components)
    }

    /// Whether a component is there.
    pub fn is_installed(&self, component: Component) -> bool {
        self.installed[component as usize].load(Ordering::Acquire)
    }

    /// Whether passwords are validated.
    pub fn validates_passwords(&self) -> bool {
        self.is_installed(Component::ValidatePassword)
    }

    /// Installs some, or removes them.
    pub fn set_installed(&self, mut ddl: Ddl, components: &[Component], on: bool) -> Result<()> {
        for component in components {
            match on {
                true => ddl.put_meta(SPACE, component.urn().as_bytes(), b"")?,
                false => ddl.delete_meta(SPACE, component.urn().as_bytes())?,
            }
        }
        ddl.commit()?;
        for component in components {
            self.installed[*component as usize].store(on, Ordering::Release);
        }
        Ok(())
    }

    /// Whether there is a variable of this name, as far as components tell.
    pub fn have_variable(&self, name: &str) -> bool {
        self.validates_passwords() || !name.starts_with(VARIABLES)
    }

    /// The dictionary of the file, read anew if it is another than before. One that cannot be read has no words.
    fn dictionary(&self, file: &str) -> Words {
        if let known = self.words.read()
            && known.file == file
            && known.read_micros > 0
        {
            return known.clone();
        }
        let text = match file.is_empty() {
            true => String::new(),
            false => std::fs::read(file).map_or_else(
                |error| {
                    log::warn!("validate_password: {file} cannot be read: {error}");
                    String::new()
                },
                |bytes| String::from_utf8_lossy(&bytes).into_owned(),
            ),
        };
        let words = Words {
            file: file.to_owned(),
            read_micros: clock_micros(),
            words: Arc::new(Dictionary::of(&text)),
        };
        *self.words.write() = words.clone();
        words
    }
}

impl Database {
    /// The position of a variable. Error 1193 for one that is not there, or only with a component.
    pub fn find_variable(&self, name: &str) -> Result<usize> {
        find(name)
            .filter(|at| self.components.have_variable(DEFS[*at].name))
            .ok_or_else(|| SqlError::unknown_system_variable(name))
    }

    /// [`listed`], without those of components that are not installed.
    pub fn listed_variables(&self, global: bool) -> Vec<(&'static str, usize)> {
        let mut names = listed(global);
        names.retain(|(name, _)| self.components.have_variable(name));
        names
    }

    /// When the dictionary was read, in microseconds since 1970, and how many words it has; `None` without the component.
    pub fn password_dictionary(&self) -> Option<(i64, usize)> {
        let file = self.variable("validate_password.dictionary_file");
        self.components.validates_passwords().then(|| {
            let words = self.components.dictionary(&file.unwrap_or_default());
            (words.read_micros, words.words.len())
        })
    }

    /// Sees that `validate_password.length` leaves room for what else is demanded.
    pub fn keep_password_length(&self) -> Result<()> {
        let number = |name| self.variable_u64(name) as usize;
        let least = Policy::length_min(
            number("validate_password.number_count"),
            number("validate_password.special_char_count"),
            number("validate_password.mixed_case_count"),
        );
        if number("validate_password.length") < least {
            self.globals()
                .put_by_name("validate_password.length", &least.to_string())?;
        }
        Ok(())
    }
}

impl SessionState {
    /// What is demanded of the passwords that this session sets; `None` without the component.
    pub fn password_policy(&self) -> Option<(Policy, Arc<Dictionary>)> {
        let database = &self.database;
        if !database.components.validates_passwords() {
            return None;
        }
        let text = |name| database.variable(name).unwrap_or_default();
        let number = |name| database.variable_u64(name) as usize;
        let names = match text("validate_password.check_user_name").as_str() {
            "ON" => vec![self.info.user.clone(), self.info.account.user.clone()],
            _ => Vec::new(),
        };
        let policy = Policy {
            level: match text("validate_password.policy").as_str() {
                "LOW" => PolicyLevel::Low,
                "STRONG" => PolicyLevel::Strong,
                _ => PolicyLevel::Medium,
            },
            length: number("validate_password.length"),
            mixed_case: number("validate_password.mixed_case_count"),
            numbers: number("validate_password.number_count"),
            special: number("validate_password.special_char_count"),
            changed_pct: number("validate_password.changed_characters_percentage"),
            names,
        };
        let words = database
            .components
            .dictionary(&text("validate_password.dictionary_file"));
        Some((policy, words.words))
    }
}
